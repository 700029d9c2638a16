"""Makes the small .npz files that tests/core/test_npz.c reads, by numpy and zipfile, and the first inputs of the fuzz targets.
Run it from anywhere; it writes npz_*.npz next to itself and seeds into ../fuzz/corpus. The same versions of Python and numpy give
the same bytes."""
import io, json, os, struct, zipfile, zlib
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
CORPUS = os.path.join(HERE, "..", "fuzz", "corpus")

C_ORDER = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 4
ARRAYS = {
    "train_images": (np.arange(2 * 5 * 4) % 7 * 30).astype(np.uint8).reshape(2, 5, 4),
    "train_labels": np.array([[3], [1]], np.uint8),
    "c_order": C_ORDER,
    "fortran": np.asfortranarray(C_ORDER),
    "big_endian": np.array([[1.5, -2.25], [3e300, 0]], ">f8"),
    "big_fortran": np.asfortranarray(np.array([[1, -2, 3], [4, 5, 1 << 40]], ">i8")),
    "scalar": np.array(-7, np.int32),
    "empty": np.zeros((0, 3), np.float64),
    "flags": np.array([True, False, True]),
    "half": np.array([0.5, -1.0], np.float16),
    "zeros": np.zeros(5000, np.int16),
}


def npy(array, **options):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, **options)
    return out.getvalue()


class Unseekable(io.BytesIO):
    """A stream that makes zipfile write data descriptors."""

    def seekable(self):
        return False

    def tell(self):
        raise io.UnsupportedOperation

    def seek(self, *_):
        raise io.UnsupportedOperation


def archive(entries, out=None, comment=b"", zip64=False, method=zipfile.ZIP_DEFLATED):
    out = out if out is not None else io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        for name, data in entries.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            with z.open(info, "w", force_zip64=zip64) as entry:
                entry.write(data)
        z.comment = comment
    return out.getvalue()


def save(name, data):
    with open(os.path.join(HERE, name), "wb") as file:
        file.write(data)
    return data


def by_numpy(write):
    out = io.BytesIO()
    write(out, **ARRAYS)
    return out.getvalue()


def seed(target, name, data):
    folder = os.path.join(CORPUS, target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "seed_" + name), "wb") as file:
        file.write(data)


entries = {name + ".npy": npy(array) for name, array in ARRAYS.items()}
save("npz_savez.npz", by_numpy(np.savez))
save("npz_compressed.npz", by_numpy(np.savez_compressed))
save("npz_descriptor.npz", archive(entries, Unseekable(), comment=b"a comment, PK\5\6 and all"))
one = {"one.npy": npy(np.arange(3, dtype=np.uint8))}

seed("zip", "stored", archive(one, method=zipfile.ZIP_STORED))
seed("zip", "deflated", archive(one))
seed("zip", "zip64", archive(one, zip64=True))
seed("zip", "descriptor", archive(one, Unseekable()))
seed("zip", "descriptor64", archive(one, Unseekable(), zip64=True))
seed("zip", "comment", archive(one, comment=b"PK\5\6"))
seed("zip", "two", archive({**one, "two.npy": npy(np.zeros(300))}))
seed("zip", "names", archive({"a/b.npy": b"", "\u00e9.txt": b"text", "c": b"c" * 100}))
seed("zip", "empty", archive({}))
# A ZIP64 end record, as in archives with 65535 entries.
plain = archive(one)
end = plain.rindex(b"PK\5\6")
count, size, offset = struct.unpack("<HII", plain[end + 10:end + 20])
wide = struct.pack("<IQHHIIQQQQ", 0x06064b50, 44, 45, 45, 0, 0, count, count, size, offset)
locator = struct.pack("<IIQI", 0x07064b50, 0, end, 1)
seed("zip", "end64", plain[:end] + wide + locator + struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF,
                                                                0xFFFFFFFF, 0))

text = b"".join(b"%d bottles of beer on the wall, " % i for i in range(40))
for level in (0, 1, 9):
    for name, strategy in (("plain", 0), ("huffman", 2), ("rle", 3), ("fixed", 4)):
        packer = zlib.compressobj(level, zlib.DEFLATED, -15, 9, strategy)
        seed("inflate", f"{name}{level}", packer.compress(text) + packer.flush())
seed("inflate", "zeros", zlib.compress(bytes(100000), 9)[2:-4])
seed("inflate", "blocks", (lambda p: p.compress(text) + p.flush(zlib.Z_FULL_FLUSH) + p.compress(text) + p.flush())
     (zlib.compressobj(9, zlib.DEFLATED, -15)))

for version in ((1, 0), (2, 0), (3, 0)):
    seed("npy", f"version{version[0]}", npy(np.arange(3, dtype=np.int16), version=version))
for name, array in ARRAYS.items():
    if array.nbytes < 500:
        seed("npy", name, npy(array))
seed("npy", "text", npy(np.array(["abc"])))
seed("npy", "records", npy(np.zeros(2, [("a", "<f4"), ("b", "<i4")])))
seed("npy", "objects", npy(np.array([None]), allow_pickle=True))


def tensors(entries, metadata=None):
    """The input format of fuzz_safetensors.c: the number of bytes after the header, the header, the elements."""
    header, data = {"__metadata__": metadata} if metadata else {}, b""
    for name, (dtype, array) in entries.items():
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    return bytes([len(data)]) + json.dumps(header).encode() + data


seed("safetensors", "one", tensors({"a": ("F32", np.ones((2, 3), np.float32))}))
seed("safetensors", "two", tensors({"a": ("I64", np.arange(3)), "b.c": ("U8", np.zeros(5, np.uint8))}, {"format": "pt"}))
seed("safetensors", "scalar", tensors({"": ("F64", np.array(1.5))}))
seed("safetensors", "none", tensors({}, {"couplet.format": "1", "couplet.crc32": "00000000"}))
seed("safetensors", "half", tensors({"h": ("BF16", np.zeros(2, np.uint16)), "e": ("F16", np.zeros((0, 4), np.float16))}))

for i, value in enumerate(['{"a":[1,2.5,-3e-7,true,false,null,"\\u00e9\\ud83d\\ude00\\n"],"b":{"c":{}}}', "[]", '"text"', "-0.0e+10",
                           "[[[[[[[[1]]]]]]]]", '{"a":1,"a":2}', "[1,]", "9223372036854775807", " \t\r\n1 ", "\ufeff{}"]):
    seed("json", f"{i}", value.encode())
