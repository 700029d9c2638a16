"""Files written by nibabel are read with the same values as by nibabel, in canonical order. Arguments: the program couplet, and `all` for
every case; without it every 23rd case is tested, which takes seconds. Exits with 77 (skipped) if nibabel is not installed."""
import json, os, subprocess, sys, tempfile, warnings

try:
    import numpy as np
    import nibabel
except ImportError as missing:
    print(f"nibabel and NIfTI files: IGNORE: {missing}\n1 Tests 0 Failures 1 Ignored")
    sys.exit(77)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden"))
sys.dont_write_bytecode = True
import make_nifti
warnings.filterwarnings("ignore")

couplet, every = sys.argv[1], 1 if "all" in sys.argv[2:] else 23
failed = tests = 0


def objections(folder, case):
    """What is wrong, or nothing."""
    path, values, letters = make_nifti.make(folder, case)
    out = os.path.join(folder, "out.npy")
    given = path.replace(".hdr", ".img") if case.turn % 2 else path  # either name of a pair will do
    run = subprocess.run([couplet, "data", given, "--npy", out, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if run.returncode != 0:
        return run.stderr
    info, found, affine = json.loads(run.stdout), np.load(out), nibabel.load(path).affine
    if found.dtype != np.float32 or found.shape != values.shape or info["shape"] != list(values.shape):
        return f"{found.dtype} {found.shape}, expected {values.shape}"
    if not np.array_equal(found, values):
        return f"{np.sum(found != values)} of {found.size} values differ"
    if info["orientation"] != letters or info["dtype"] != np.dtype(case.dtype).name:
        return f"{info['orientation']} {info['dtype']}, expected {letters}"
    spacing = np.empty(3)
    spacing[nibabel.io_orientation(affine)[:, 0].astype(int)] = nibabel.affines.voxel_sizes(affine)
    if not np.allclose(info["spacing"][:3], spacing[:len(info["spacing"])], rtol=1e-5):
        return f"spacing {info['spacing']}, expected {spacing}"
    return ""


for case in list(make_nifti.cases())[::every]:
    with tempfile.TemporaryDirectory() as folder:
        objection = objections(folder, case)
    tests += 1
    if objection:
        failed += 1
        print(f"{case} is read as nibabel reads it: FAIL: {objection}")
print(f"{tests - failed} files are read as nibabel reads them: PASS")
print(f"{tests} Tests {failed} Failures 0 Ignored")
sys.exit(failed > 0)
