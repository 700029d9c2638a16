"""couplet_torch.py, with every network, norm and head, against the library. Argument: the program dump_export. Exits with 77
(skipped) if PyTorch or numpy is not installed."""
import os, pathlib, subprocess, sys, tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent.parent / "models"))
try:
    import numpy as np
    import couplet_torch
except ImportError as missing:
    print(f"couplet_torch agrees with the library: IGNORE: {missing}\n1 Tests 0 Failures 1 Ignored")
    sys.exit(77)

TOLERANCE = 1e-5
failed = tests = 0


def check(sentence, good, found=""):
    global failed, tests
    tests, failed = tests + 1, failed + (not good)
    print(f"{sentence}: {'PASS' if good else f'FAIL: {found}'}")


def gap(found, expected):
    if found is None or found.shape != expected.shape:
        return np.inf
    difference = (np.abs(found - expected) / np.maximum(1, np.abs(expected))).max()
    return np.inf if np.isnan(difference) else difference


with tempfile.TemporaryDirectory() as folder:
    def numbers(name, what, dtype="float32"):
        return np.fromfile(os.path.join(folder, f"{name}.{what}"), dtype)

    for line in subprocess.run([sys.argv[1], folder], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines():
        name, dtype, rank, *rest = line.split()
        row, (classes, generative) = [int(n) for n in rest[:int(rank)]], [int(n) for n in rest[int(rank):]]
        model = couplet_torch.load(os.path.join(folder, f"{name}.safetensors"))
        posterior, energy = model.predict(numbers(name, "x", dtype).reshape(-1, *row))
        gaps = [gap(posterior, numbers(name, "posterior").reshape(-1, classes))]
        if generative:
            gaps.append(gap(energy, numbers(name, "energy")))
        good = max(gaps) <= TOLERANCE and generative == (energy is not None)
        check(f"{name} (largest differences {', '.join(f'{g:.1e}' for g in gaps)})", good, gaps)

check("all networks were compared", tests > 30, tests)
print(f"{tests} Tests {failed} Failures 0 Ignored")
sys.exit(failed > 0)
