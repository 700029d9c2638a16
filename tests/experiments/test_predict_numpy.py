"""Compares couplet predict with couplet evaluate, to the last bit, and with numpy, for one set of images in four kinds of numbers.
Argument: the couplet program. Exits with 77 (skipped) if numpy is not installed."""
import csv, json, os, pathlib, struct, subprocess, sys, tempfile

try:
    import numpy as np
except ImportError as missing:
    print(f"predict agrees with numpy: IGNORE: {missing}\n1 Tests 0 Failures 1 Ignored")
    sys.exit(77)

COUPLET = os.path.abspath(sys.argv[1])
results = {"passed": 0, "failed": 0}


def check(sentence, good, found=""):
    results["passed" if good else "failed"] += 1
    print(f"{sentence}: {'PASS' if good else f'FAIL: {found}'}")


def couplet(*words):
    done = subprocess.run([COUPLET, *words], capture_output=True, text=True, timeout=1800)
    if done.returncode != 0:
        print(f"couplet {' '.join(words)}: FAIL: {done.stderr}\n1 Tests 1 Failures 0 Ignored")
        sys.exit(1)
    return done.stdout


def load(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    metadata = header.pop("__metadata__")
    return {name: np.frombuffer(data[slice(*e["data_offsets"])], {"F32": "<f4", "F64": "<f8"}[e["dtype"]]).reshape(e["shape"]).astype(float)
            for name, e in header.items()}, json.loads(metadata["about"])


def compute(path, pixels):
    """Posteriors and energies of a hybrid perceptron with one hidden layer."""
    t, about = load(path)
    low, high = about["input"]["range"]
    x = 2 * (np.clip(pixels.astype(float), low, high) - low) / (high - low) - 1
    z = x.reshape(len(x), -1) @ t["layer0.weight"].T + t["layer0.bias"]
    z = np.where(z > 0, z, 0.2 * z)
    logits = (z @ t["head.weight"].T + t["head.bias"]) / about["temperature"]
    e = np.exp(logits - logits.max(1, keepdims=True))
    energies = ((z[:, None] - t["head.mean"]) ** 2 * np.exp(t["head.precision"])).sum(2) / 2
    least = energies.min(1)
    return e / e.sum(1, keepdims=True), least - np.log(np.exp(least[:, None] - energies).sum(1))


os.chdir(tempfile.mkdtemp())
couplet("data", "phantom", "--npz", "phantom.npz")
full = np.load("phantom.npz")
few = {"train": 200, "val": 60, "test": 90}
data = {f"{s}_{k}": full[f"{s}_{k}"][:n] for s, n in few.items() for k in ("images", "labels")}
unit = {k: v.astype("f4") / 255 for k, v in data.items() if k.endswith("images")}
mean, sd = unit["train_images"].mean((0, 1, 2)), unit["train_images"].std((0, 1, 2))
kinds = {"uint8": data, "floats in [0, 1]": unit, "floats in [-1, 1]": {k: 2 * v - 1 for k, v in unit.items()},
         "z-scored floats": {k: (v - mean) / sd for k, v in unit.items()},
         "float64 in [0, 4095]": {k: v.astype("f8") * 4095 for k, v in unit.items()}}
for number, (kind, images) in enumerate(kinds.items()):
    name = f"set{number}"
    np.savez(f"{name}.npz", **{**data, **images})
    np.save(f"{name}.npy", images["test_images"])
    couplet("train", f"{name}.npz", "--preset", "quick", "--steps", "20", "--every", "10", "--labels", "5", "--buffer", "64", "--net", "mlp:sizes=24",
            "--out", name, "--quiet")
    couplet("evaluate", name, f"{name}.npz", "--out", f"{name}-test", "--quiet")
    expected = pathlib.Path(f"{name}-test", "predictions.csv").read_text()
    check(f"{kind}: predict writes what evaluate writes", couplet("predict", name, f"{name}.npz") == expected)
    check(f"{kind}: predict on an array, by the model's file, too",
          couplet("predict", f"{name}/selected.safetensors", f"{name}.npy") == expected)
    rows = list(csv.DictReader(expected.splitlines()))
    found = np.array([[float(v) for k, v in row.items() if k.startswith("p_")] for row in rows])
    posterior, energy = compute(f"{name}/selected.safetensors", images["test_images"])
    gap = np.abs(found - posterior).max()
    check(f"{kind}: the posteriors are numpy's (largest difference {gap:.1e})", gap < 1e-6 and len(found) == 90, gap)
    gap = (np.abs([float(row["energy"]) for row in rows] - energy) / np.maximum(1, np.abs(energy))).max()
    check(f"{kind}: the energies are numpy's (largest difference {gap:.1e})", gap < 1e-5, gap)
    couplet("predict", name, f"{name}.npy", "--out", "p.npy", "--quiet")
    check(f"{kind}: an npy file has the same posteriors", np.abs(np.load("p.npy") - found).max() < 1e-7)

rng = np.random.default_rng(1)
table = {}
for split, n in few.items():
    labels = np.arange(n) % 3
    table |= {f"{split}_labels": labels, f"{split}_x": (rng.normal(size=(n, 4)) + labels[:, None]) * [1, 10, 100, 1e3] + 500}
np.savez("table.npz", **table)
np.savez("cohort.npz", test_x=table["test_x"][:20])
couplet("train", "table.npz", "--preset", "quick", "--steps", "20", "--every", "10", "--labels", "5", "--buffer", "64", "--out", "table", "--quiet")
couplet("evaluate", "table", "table.npz", "--out", "table-test", "--quiet")
expected = pathlib.Path("table-test", "predictions.csv").read_text()
check("a table: predict writes what evaluate writes", couplet("predict", "table", "table.npz") == expected)
check("a table: rows of a cohort are standardized as in the training",
      couplet("predict", "table/selected.safetensors", "cohort.npz") == "".join(expected.splitlines(True)[:21]))

print(f"{sum(results.values())} Tests {results['failed']} Failures 0 Ignored")
sys.exit(1 if results["failed"] else 0)
