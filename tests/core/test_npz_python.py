"""Files of numpy are read correctly, and numpy reads Couplet's files. Argument: the program copy_npz, which reads a file and
writes its arrays to another. Exits with 77 (skipped) if numpy is not installed."""
import os, subprocess, sys, tempfile, zipfile

try:
    import numpy as np
except ImportError as missing:
    print(f"numpy and npz files: IGNORE: {missing}\n1 Tests 0 Failures 1 Ignored")
    sys.exit(77)

failed = tests = 0
random = np.random.default_rng(1)
TYPES = ["?", "u1", "i1", "<u2", ">i2", "<i4", ">u4", "<i8", ">u8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8"]
SHAPES = [(), (0,), (1,), (7,), (3, 0, 2), (2, 3), (5, 4, 3), (2, 3, 4, 5), (2, 1, 3, 1, 2), (6, 28, 28)]


def check(sentence, good, found=""):
    global failed, tests
    tests, failed = tests + 1, failed + (not good)
    print(f"{sentence}: {'PASS' if good else f'FAIL: {found}'}")


def some(dtype, shape, order):
    values = random.integers(0, 2 if dtype == "?" else 100, shape)
    return np.asarray(np.array(values).astype(dtype), order=order)


def through_a_pipe(path, **arrays):
    """Like a program that writes to a pipe."""
    class Pipe:
        def __init__(self, file):
            self.file = file

        def write(self, data):
            return self.file.write(data)

        def flush(self):
            self.file.flush()

    with open(path, "wb") as file, zipfile.ZipFile(Pipe(file), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            with archive.open(name + ".npy", "w") as entry:
                np.lib.format.write_array(entry, array)


arrays = {f"{dtype.strip('<>?')}_{i}_{k}_{order}": some(dtype, shape, order)
          for i, dtype in enumerate(TYPES) for k, shape in enumerate(SHAPES) for order in "CF"}
with tempfile.TemporaryDirectory() as folder:
    given, made, again = (os.path.join(folder, name) for name in ("given.npz", "made.npz", "again.npz"))
    for writer, write in (("savez", np.savez), ("savez_compressed", np.savez_compressed), ("a pipe", through_a_pipe)):
        for wide in ([], ["wide"]):
            write(given, **arrays)
            run = subprocess.run([sys.argv[1], given, made, *wide], stderr=subprocess.PIPE, text=True)
            what = f"{writer}'s file, copied to {'ZIP64' if wide else 'zip'},"
            check(f"{what} is read and written", run.returncode == 0, run.stderr)
            if run.returncode != 0:
                continue
            found = np.load(made)
            bad = [name for name, array in arrays.items() if found[name].dtype != array.dtype.newbyteorder("=") or
                   found[name].shape != array.shape or not np.array_equal(found[name], array)]
            check(f"{what} has the same arrays in the same order", not bad and found.files == list(arrays), bad[:5])
            check(f"{what} passes Python's own test", zipfile.ZipFile(made).testzip() is None)
            subprocess.run([sys.argv[1], given, again, *wide], check=True)
            with open(made, "rb") as a, open(again, "rb") as b:
                check(f"{what} is always written as the same bytes", a.read() == b.read())
print(f"{tests} Tests {failed} Failures 0 Ignored")
sys.exit(failed > 0)
