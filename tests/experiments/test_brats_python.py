"""Compares couplet brats with an implementation of its rules in numpy and nibabel: the slices, their classes, splits and
pixels. Arguments: the program and draw_volumes, for a small tree that is drawn; or, by hand, the program and a folder of BraTS's
layout, then options such as --modality t1ce. Exits with 77 (skipped) if numpy or nibabel is not installed."""
import gzip, json, os, pathlib, re, shutil, subprocess, sys, tempfile

try:
    import nibabel
    import numpy as np
except ImportError as missing:
    print(f"couplet brats and nibabel: IGNORE: {missing}\n1 Tests 0 Failures 1 Ignored")
    sys.exit(77)

failed = tests = 0
SCANS = {"flair": "flair|t2f", "t1": "t1|t1n", "t1ce": "t1ce|t1gd|t1c", "t2": "t2|t2w", "seg": "seg"}


def check(sentence, good, found=""):
    global failed, tests
    tests, failed = tests + 1, failed + (not good)
    print(f"{sentence}: {'PASS' if good else f'FAIL: {found}'}")


def find(folder, scan):
    """Name of the subject -> path; the folders of this test have each scan once."""
    pattern = re.compile(rf"(.+)[_-](?:{SCANS[scan]})\.(?:nii|nii\.gz|hdr)", re.IGNORECASE)
    matches = [(pattern.fullmatch(p.name), p) for p in pathlib.Path(folder).rglob("*") if p.is_file()]
    return {m.group(1): p for m, p in matches if m}


def patient(name):
    for rule in (r"(BraTS-[a-z]+-\d+)-\d+", r"(TCGA[_-][a-z0-9]+[_-][a-z0-9]+)[_-]\d{8}", r"(.*_pat\d+)_\d+"):
        match = re.fullmatch(rule, name, re.IGNORECASE)
        if match:
            return match.group(1)
    return name


def volume(path):
    image = nibabel.as_closest_canonical(nibabel.load(path))
    return np.asarray(image.get_fdata(dtype=np.float64), np.float32), image.header.get_zooms()[:2]


def percentile(values, q):
    return np.sort(values)[int(q / 100 * (values.size - 1))]


def averages(lines, field, size):
    """Means of the columns of `lines`, in the middle of a field of that length, over `size` equal parts, by their integral."""
    count = lines.shape[1]
    integral = np.concatenate([np.zeros((lines.shape[0], 1)), np.cumsum(lines, 1)], 1)
    ends = np.linspace(0, field, size + 1) - (field - count) / 2
    at = np.array([np.interp(ends, np.arange(count + 1), row) for row in integral])
    return np.diff(at, axis=1) / (field / size)


def small(slice_, zooms, made):
    shown = slice_ if made["turn"] == 180 else slice_[::-1, ::-1]  # (x, y)
    side = max(n * z for n, z in zip(shown.shape, zooms))
    columns = averages(shown.T, side / zooms[0], made["size"])  # (y, new x)
    return averages(columns.T, side / zooms[1], made["size"]).T


def expected(folder, made):
    """Subject -> (labels of all slices, brain enough, images of them), by the rules in slices.h."""
    seg = find(folder, "seg")
    scans = [find(folder, scan) for scan in made["modality"]]
    low, high = made["percentiles"]
    for name in sorted(set(seg).intersection(*scans)):
        annotated = (volume(seg[name])[0] != 0).sum((0, 1))
        images, enough = [], None
        for paths in scans:
            values, zooms = volume(paths[name])
            finite = values[np.isfinite(values)]
            dark, bright = percentile(finite, 2), percentile(finite, 98)
            brain = np.isfinite(values) & (values > np.float32(dark + 0.15 * (float(bright) - float(dark))))
            median = percentile(finite, 50)
            if median > dark and 2 * (finite == median).sum() > finite.size:
                values = np.where(values == median, np.nan, values)
                brain = np.isfinite(values)
            a, b = (float(percentile(values[brain], q)) for q in (low, high))
            level = np.nan_to_num(np.clip((values.astype(float) - a) / (b - a), 0, 1))
            if enough is None:
                enough = 100 * brain.mean((0, 1)) >= made["brain"]
            images.append([255 * small(level[:, :, z], zooms, made) for z in np.flatnonzero(enough)])
        yield name, annotated >= made["tumor"], enough, np.stack(images, -1)


def compare(couplet, folder, *options):
    with tempfile.TemporaryDirectory() as work:
        file = os.path.join(work, "set.npz")
        printed = subprocess.run([couplet, "brats", folder, "--out", file, "--json", "--quiet", *options], capture_output=True, text=True)
        check(f"couplet brats {os.path.basename(folder)} {' '.join(options)} works", printed.returncode == 0, printed.stderr)
        if printed.returncode:
            return
        printed, set_ = json.loads(printed.stdout), dict(np.load(file))
    made = json.loads(bytes(set_["made"]))
    splits = ("train", "val", "test")
    names = {p["number"]: p["name"] for s in splits for p in made["patients"][s]}
    split_of = {p["name"]: s for s in splits for p in made["patients"][s]}
    where = {scan: s for s in splits for p in made["patients"][s] for scan in p["scans"]}
    check("every patient is in one split", len(split_of) == sum(len(made["patients"][s]) for s in splits) == len(names), split_of)
    check("patients are numbered in the order of their names", [names[i] for i in sorted(names)] == sorted(names.values()), names)
    of = {s: set(np.unique(set_[f"{s}_patients"])) for s in splits}
    check("no patient has slices in two splits",
          not (of["train"] & of["val"] or of["train"] & of["test"] or of["val"] & of["test"]), of)
    slices = tumor = little = kept_tumor = differing = pixels = 0
    worst, labels_fit, places_fit, scans_fit = 0, True, True, True
    taken = {s: np.zeros(len(set_[f"{s}_labels"]), bool) for s in splits}
    begin = dict.fromkeys(names, 0)
    for name, label, enough, images in expected(folder, made):
        split = where.get(name)
        scans_fit &= split is not None and patient(name) in split_of and split_of[patient(name)] == split
        if not scans_fit:
            break
        number = next(n for n, p in names.items() if p == patient(name))
        rows = np.flatnonzero(set_[f"{split}_patients"] == number)[begin[number]:][:enough.sum()]
        begin[number] += enough.sum()
        taken[split][rows] = True
        slices, tumor, little = slices + label.size, tumor + label.sum(), little + (~enough).sum()
        kept_tumor += label[enough].sum()
        places_fit &= np.array_equal(set_[f"{split}_slices"][rows], np.flatnonzero(enough))
        labels_fit &= np.array_equal(set_[f"{split}_labels"][rows, 0], label[enough])
        got = set_[f"{split}_images"][rows].astype(float)
        away = np.abs(got.reshape(images.shape) - images)
        worst, differing, pixels = max(worst, away.max()), differing + (away > 0.5001).sum(), pixels + away.size
    check("scans are in the split of their patient", scans_fit, where)
    check("the slices are those with enough brain", places_fit and all(t.all() for t in taken.values()))
    check("slices with tumor are those with annotated voxels", labels_fit)
    check("pixels equal those computed here, up to rounding", worst < 0.51 and differing == 0, f"{worst} off, {differing} of {pixels}")
    check("the counts are those of --json",
          printed["volumes"] == {"slices": slices, "tumor": tumor}
          and printed["little_brain"] == {"slices": little, "tumor": tumor - kept_tumor}
          and printed["all"] == {"patients": len(names), "slices": slices - little, "tumor": kept_tumor}, printed)
    for s in splits:
        check(f"so are those of {s}", printed["splits"][s] == {"patients": len(of[s]), "slices": taken[s].size,
                                                           "tumor": int(set_[f"{s}_labels"].sum())}, printed["splits"][s])
    print(f"{slices} slices, {tumor} with tumor; {little} with little brain, {tumor - kept_tumor} of them with tumor; "
          f"{pixels} pixels, at most {worst:.6f} from the exact value")


def draw(tool, folder):
    """Two scans of one patient and eight others, in different orientations, shapes and kinds of file."""
    names = ["BraTS-GLI-00000-000", "BraTS-GLI-00000-001", "BraTS20_Training_007", "TCGA_CS_4941_19960909", "brats_2013_pat0001_1",
             "brats_2013_pat0010_1", "f", "g", "h", "i"]
    for k, name in enumerate(names):
        os.mkdir(os.path.join(folder, name))
        orientation = ("RAS", "LPS", "PSR", "IRA")[k % 4]
        for scan in ("flair", "t1ce", "seg"):
            path = os.path.join(folder, name, f"{name}_{scan}.nii")
            subprocess.run([tool, path, scan, orientation, str(k), "40", str(44 + k), "21"], check=True)
            if k % 2:
                with open(path, "rb") as plain, gzip.open(path + ".gz", "wb") as packed:
                    shutil.copyfileobj(plain, packed)
                os.remove(path)


couplet, what = sys.argv[1:3]
if os.path.isdir(what):
    compare(couplet, what, *sys.argv[3:])
else:
    with tempfile.TemporaryDirectory() as tree:
        draw(what, tree)
        compare(couplet, tree)
        compare(couplet, tree, "--modality", "t1ce,flair", "--size", "13", "--brain", "25", "--tumor", "6", "--turn", "180", "--split",
                "2/1/1", "--percentiles", "5,90", "--seed", "3", "--threads", "1")
print(f"{tests} Tests {failed} Failures 0 Ignored")
sys.exit(failed > 0)
