"""A checkpoint read by twenty lines of Python: names, shapes, values, metadata. Argument: the program dump_checkpoint.
Exits with 77 (skipped) if numpy is not installed."""
import os, subprocess, sys, tempfile

try:
    import numpy as np
except ImportError as missing:
    print(f"Python reads a checkpoint: IGNORE: {missing}\n1 Tests 0 Failures 1 Ignored")
    sys.exit(77)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden"))
sys.dont_write_bytecode = True
from safetensors_read import read

FILE_ORDER = {"0": None, "1": (3, 2, 0, 1), "2": (1, 0)}  # of memory's axes, by cp_layout
failed = tests = 0


def check(sentence, good, found=""):
    global failed, tests
    tests, failed = tests + 1, failed + (not good)
    print(f"{sentence}: {'PASS' if good else f'FAIL: {found}'}")


with tempfile.TemporaryDirectory() as folder:
    lines = subprocess.run([sys.argv[1], folder], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    arrays, metadata = read(os.path.join(folder, "run.safetensors"))
    entries = [line.split() for line in lines]
    memory = {name: np.load(os.path.join(folder, f"{i}.npy")) for i, (name, layout) in enumerate(entries)}
    expected = {name: memory[name].transpose(FILE_ORDER[layout]) if FILE_ORDER[layout] else memory[name]
                for name, layout in entries}

check("the names are those of the model", len(lines) > 20 and set(expected) ==
      {name for name in arrays if not name.startswith("couplet.")}, sorted(arrays))
shapes = {name: (arrays[name].shape, a.shape) for name, a in expected.items() if arrays[name].shape != a.shape}
check("the shapes are in PyTorch's order", not shapes and arrays["stem.weight"].shape == (16, 2, 3, 3), shapes)
values = [name for name, a in expected.items() if not np.array_equal(arrays[name], a)]
check("every value is there to the last bit", not values and np.any(arrays["stem.weight"] != 0), values)
check("the optimizer and the random stream are there too", arrays["couplet.optim.weight_decay"] == 0.25 and
      arrays["couplet.optim.stem.weight.m"].shape == (3, 3, 2, 16) and arrays["couplet.noise.key"].shape == (2,))
check("metadata is there", metadata["note"] == '"quoted" and \u00e9' and '"head":"hybrid"' in metadata["couplet"],
      metadata)
print(f"{tests} Tests {failed} Failures 0 Ignored")
sys.exit(failed > 0)
