"""NIfTI files of all kinds by nibabel, with the values that nibabel reads from them. tests/core/test_nifti_python.py compares them with
what `couplet data` reads. As a program it writes the few that tests/core/test_nifti.c reads, nifti_* next to itself, and the first inputs
of the fuzz targets into ../fuzz/corpus. The same versions of Python, numpy and nibabel give the same bytes."""
import collections, gzip, itertools, os, struct, zlib
import nibabel as nib
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
CORPUS = os.path.join(HERE, "..", "fuzz", "corpus")

TYPES = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"]
SHAPES = [(4, 3), (4, 3, 2), (4, 3, 2, 1), (3, 4, 2, 3), (2, 3, 4, 2, 3), (3, 2, 2, 1, 2), (1, 1, 1), (5, 1)]
CLASSES = {"1": nib.Nifti1Image, "2": nib.Nifti2Image, "pair1": nib.Nifti1Pair, "pair2": nib.Nifti2Pair}
FRAMES = ["sform", "qform", "both", "none"]
Case = collections.namedtuple("Case", "dtype order scaled shape container packed turn frame")


def turns():
    """The 48 orders and directions of axes, and oblique ones near each."""
    rng = np.random.default_rng(11)
    for order in itertools.permutations(range(3)):
        for signs in itertools.product([1, -1], repeat=3):
            exact = np.eye(3)[list(order)] * signs
            yield exact
            u, _, v = np.linalg.svd(exact + rng.normal(0, 0.3, (3, 3)))
            yield u @ v


TURNS = list(turns())


def cases():
    """Every type, byte order, scaling, shape and container; orientations and frames alternate."""
    products = itertools.product(TYPES, "<>", [False, True], SHAPES, CLASSES, [False, True])
    for i, product in enumerate(products):
        yield Case(*product, turn=i % len(TURNS), frame=FRAMES[i // 7 % 4])


def affine_of(turn):
    affine = np.eye(4)
    affine[:3, :3] = TURNS[turn] @ np.diag([1.0, 0.5, 2.5])
    affine[:3, 3] = [-90, 20.5, 7]
    return affine


def some_values(case):
    """Within the type's range and exact in it, including its largest and smallest value."""
    rng, dtype = np.random.default_rng(sum(case.shape)), np.dtype(case.dtype)
    if dtype.kind == "f":
        values = rng.normal(0, 100, case.shape).astype(dtype)
        values.flat[0] = 1e30
        return values
    info = np.iinfo(dtype)
    values = rng.integers(max(info.min, -1000), min(info.max, 1000), case.shape).astype(dtype)
    values.flat[0], values.flat[-1] = info.max, info.min
    return values


def patch(path, offset, data):
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rb") as file:
        bytes_ = bytearray(file.read())
    bytes_[offset:offset + len(data)] = data
    if path.endswith(".gz"):
        bytes_ = gzip.compress(bytes(bytes_), mtime=0)
    with open(path, "wb") as file:
        file.write(bytes_)


def make(folder, case):
    """Writes a file and returns its path (of a pair, the header's) and nibabel's values in canonical order."""
    cls, stored = CLASSES[case.container], some_values(case)
    header = cls.header_class(endianness=case.order)
    header.set_data_dtype(np.dtype(case.dtype).newbyteorder(case.order))
    image = cls(stored, affine_of(case.turn), header, dtype=np.dtype(case.dtype).newbyteorder(case.order))
    image.set_sform(image.affine, int(case.frame in ("sform", "both")))
    image.set_qform(image.affine if case.frame != "sform" else None, 2 * (case.frame in ("qform", "both")))
    pair = case.container.startswith("pair")
    path = os.path.join(folder, "volume" + (".hdr" if pair else ".nii") + (".gz" if case.packed else ""))
    nib.save(image, path)
    wide = cls.header_class.sizeof_hdr == 540
    if case.scaled:
        patch(path, 176 if wide else 112, struct.pack(case.order + ("dd" if wide else "ff"), 0.37, -12.5))
    if case.frame == "none":
        patch(path, 344 if wide else 252, struct.pack(case.order + ("ii" if wide else "hh"), 0, 0))
    return path, *expected(path)


def expected(path):
    """nibabel's results: values in canonical order as float32, and the letters of the file's axes. nibabel refuses to turn an image
with fewer than three axes, so such an image gets a third."""
    image = nib.load(path)
    values = image.get_fdata()
    solid = values.reshape(values.shape + (1,) * (3 - values.ndim))
    canonical = nib.apply_orientation(solid, nib.io_orientation(image.affine))
    if values.ndim >= 3:
        assert np.array_equal(canonical, nib.as_closest_canonical(image).get_fdata())
    while canonical.ndim > values.ndim and canonical.shape[-1] == 1:
        canonical = canonical[..., 0]
    with np.errstate(over="ignore"):
        return canonical.astype(np.float32), "".join(nib.aff2axcodes(image.affine))


def counted(shape):
    """Each value encodes its position in canonical order: x + 10 y + 100 z + 1000 t."""
    return sum(10**axis * np.arange(n).reshape([-1 if i == axis else 1 for i in range(len(shape))]) for axis, n in enumerate(shape))


def save_counted(name, cls, dtype, shape, letters, frame, scaling=None, tilt=np.eye(3)):
    """A canonical volume, saved with the axes given by the letters."""
    turned = nib.orientations.ornt_transform(nib.orientations.axcodes2ornt("RAS"), nib.orientations.axcodes2ornt(letters))
    canonical = counted(shape).astype(dtype)
    stored = nib.apply_orientation(canonical, turned)
    affine = np.eye(4)
    affine[:3, :3] = tilt @ np.diag([1.5, 2, 3])
    affine = affine @ nib.orientations.inv_ornt_aff(turned, shape[:3])
    header = cls.header_class(endianness=np.dtype(dtype).byteorder.replace("|", "<").replace("=", "<"))
    image = cls(stored, affine, header, dtype=dtype)
    image.set_sform(affine, int(frame == "sform"))
    image.set_qform(affine, int(frame == "qform"))
    path = os.path.join(HERE, name)
    nib.save(image, path)
    wide = cls.header_class.sizeof_hdr == 540
    if scaling:
        patch(path, 176 if wide else 112, struct.pack(image.header.endianness + ("dd" if wide else "ff"), *scaling))
    if path.endswith(".gz"):
        patch(path, 0, b"")  # without the time
    values, found = expected(path)
    slope, intercept = scaling or (1, 0)
    assert found == letters and np.array_equal(values, (slope * canonical.astype(float) + intercept).astype(np.float32))


def save_golden():
    a, b = 0.5, 0.3  # about two axes
    tilt = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
    tilt = tilt @ np.array([[1, 0, 0], [0, np.cos(b), -np.sin(b)], [0, np.sin(b), np.cos(b)]])
    save_counted("nifti_lps.nii.gz", nib.Nifti1Image, "<i2", (5, 4, 3), "LPS", "sform", (0.5, -3))
    save_counted("nifti_big_qform.nii.gz", nib.Nifti1Image, ">f8", (3, 4, 2), "PIR", "qform")
    save_counted("nifti_2.nii.gz", nib.Nifti2Image, ">u4", (2, 3, 4, 2), "SRA", "sform", (2, 1))
    save_counted("nifti_oblique.nii", nib.Nifti1Image, "<f4", (3, 2, 4), "ASL", "qform", tilt=tilt)
    save_pair()


def save_pair():
    """Two axes and neither sform nor qform: the first axis is assumed to point to the left."""
    image = nib.Nifti1Pair(counted((4, 3)).astype(np.uint8)[::-1], np.diag([-1.5, 2, 1, 1]))
    image.set_sform(None, 0), image.set_qform(None, 0)
    path = os.path.join(HERE, "nifti_pair.hdr")
    nib.save(image, path)
    patch(path, 252, bytes(4))
    values, letters = expected(path)
    assert letters == "LAS" and np.array_equal(values, counted((4, 3)))


def save_seeds():
    """For a fuzzer of volumes: raw files, since it changes the bytes and compresses them itself, and a few compressed ones."""
    folder = os.path.join(CORPUS, "nifti")
    os.makedirs(folder, exist_ok=True)
    for i, dtype in enumerate(TYPES):
        case = Case(dtype, "<>"[i % 2], i % 3 == 0, SHAPES[i % len(SHAPES)], "12"[i // 2 % 2], False, 7 * i, FRAMES[i % 4])
        path, *_ = make(folder, case)
        os.replace(path, os.path.join(folder, f"seed_{dtype}"))
    golden = {"seed_lps_gz": "nifti_lps.nii.gz", "seed_oblique": "nifti_oblique.nii", "seed_header": "nifti_pair.hdr"}
    contents = {name: open(os.path.join(HERE, source), "rb").read() for name, source in golden.items()}
    for name, seed in contents.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(seed)
    folder = os.path.join(CORPUS, "gzip")
    os.makedirs(folder, exist_ok=True)
    one, body = gzip.compress(b"to be or not to be", mtime=0), gzip.compress(b"that is the question", mtime=0)[10:]
    flags = b"\x1f\x8b\x08%c" + bytes(6)
    crc = flags % 2
    for name, seed in {
            "empty": gzip.compress(b"", mtime=0), "two_members": one + one, "padded": one + bytes(20), "garbage": one + b"more",
            "extra": flags % 4 + b"\3\0abc" + body, "name": flags % 8 + b"name\0" + body, "comment": flags % 16 + b"comment\0" + body,
            "header_crc": crc + struct.pack("<H", zlib.crc32(crc) & 0xFFFF) + body, "zeros": gzip.compress(bytes(5000), mtime=0),
            "cut": one[:-3], "volume": contents["seed_lps_gz"]}.items():
        with open(os.path.join(folder, "seed_" + name), "wb") as file:
            file.write(seed)


if __name__ == "__main__":
    save_golden()
    save_seeds()
