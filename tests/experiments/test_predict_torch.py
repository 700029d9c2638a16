"""Compares couplet predict with PyTorch: wide ResNets with random weights and running statistics, exported by hand.
Argument: the couplet program. Exits with 77 (skipped) if PyTorch or numpy is not installed."""
import json, os, pathlib, struct, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "golden"))

try:
    import numpy as np, torch, torch.nn as nn
    from wide_resnet import WideResNet
except ImportError as missing:
    print(f"predict agrees with PyTorch: IGNORE: {missing}\n1 Tests 0 Failures 1 Ignored")
    sys.exit(77)

COUPLET, TOLERANCE = sys.argv[1], 1e-5
results = {"passed": 0, "failed": 0}


class Sequences(nn.LSTM):
    """An LSTM whose last hidden state goes through a linear head; the names of nn.LSTM stay at the top."""
    def __init__(self, inputs, hidden, classes):
        super().__init__(inputs, hidden, batch_first=True)
        self.head = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.head(super().forward(x)[1][0][-1])


def save(path, tensors, metadata):
    """safetensors: the header's length, a JSON header, the values."""
    header, data, at = {"__metadata__": metadata} if metadata else {}, b"", 0
    for name, value in tensors.items():
        raw = np.ascontiguousarray(value.numpy(), "<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [at, at + len(raw)]}
        data, at = data + raw, at + len(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def state(net):
    return {k: v for k, v in net.state_dict().items() if not k.endswith("num_batches_tracked")}


def run(*words):
    return subprocess.run([COUPLET, "predict", *words], capture_output=True, text=True, timeout=1800)


def check(sentence, good, found=""):
    results["passed" if good else "failed"] += 1
    print(f"{sentence}: {'PASS' if good else f'FAIL: {found}'}")


def compare(sentence, net, description, x, saved, *options):
    """x is PyTorch's input, saved is the array in the file."""
    with tempfile.TemporaryDirectory() as folder:
        model, batch, out = (os.path.join(folder, name) for name in ("m.safetensors", "x.npy", "p.npy"))
        save(model, state(net), {"couplet": json.dumps(description)})
        np.save(batch, saved)
        done = run(model, batch, "--out", out, *options)
        if done.returncode != 0:
            return check(sentence, False, done.stderr)
        with torch.no_grad():
            expected = torch.softmax(net.eval()(x), 1).numpy()
        found = np.load(out)
        gap = np.abs(found - expected).max() if found.shape == expected.shape else np.inf
        spread = np.abs(expected - expected.mean(0)).max()
        good = found.dtype == np.float32 and gap <= TOLERANCE and spread > 1e-3
        check(f"{sentence} (largest difference {gap:.1e}, spread {spread:.1e})", good,
              f"{found.dtype} {found.shape}, off by {gap}")


def random_net(depth, width, channels, classes, norm):
    net = WideResNet(depth, width, channels, classes, norm)
    for module in net.modules():
        if isinstance(module, (nn.BatchNorm2d, nn.GroupNorm)):
            module.weight.data.uniform_(0.5, 1.5)
            module.bias.data.uniform_(-0.5, 0.5)
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.uniform_(-0.5, 0.5)
            module.running_var.uniform_(0.5, 2)
    net.head.weight.data.mul_(8)
    return net


torch.manual_seed(7)
for depth, width, channels, classes, norm, n, h, w in [
        (10, 1, 1, 8, "none", 70, 28, 28), (10, 2, 3, 8, "batch", 9, 28, 28), (10, 2, 3, 11, "none", 5, 32, 32),
        (16, 1, 3, 2, "batch", 3, 28, 28), (16, 2, 1, 9, "batch", 4, 9, 13), (22, 1, 4, 3, "none", 2, 16, 8),
        (10, 4, 3, 8, "batch", 2, 28, 28), (10, 1, 3, 5, "group", 3, 12, 9)]:
    net = random_net(depth, width, channels, classes, norm)
    about = {"model": "wrn", "depth": depth, "width": width, "channels": channels, "classes": classes, "norm": norm,
             "head": "softmax"}
    x = torch.randn(n, channels, h, w)
    name = f"WRN-{depth}-{width}, norm {norm}, {n} images of {h}x{w}x{channels}"
    compare(f"{name} in PyTorch's layout", net, about, x, x.numpy())
    compare(f"{name} with the channels last", net, about, x, np.ascontiguousarray(x.permute(0, 2, 3, 1).numpy()),
            "--layout", "nhwc", "--batch", "2")

net = random_net(10, 1, 1, 4, "batch")
about = {"model": "wrn", "depth": 10, "width": 1, "channels": 1, "classes": 4, "norm": "batch", "head": "softmax"}
pixels = torch.randint(0, 256, (6, 1, 28, 28), dtype=torch.uint8)
scaled = pixels.float() / 127.5 - 1
compare("bytes are taken as pixels in [-1, 1]", net, about, scaled, pixels.numpy())
compare("gray images may come without an axis of channels", net, about, scaled, pixels[:, 0].numpy())
x = torch.randn(6, 1, 28, 28)
compare("float64 is taken as it is", net, about, x, x.double().numpy())
compare("big-endian floats are read too", net, about, x, x.numpy().astype(">f4"))

lstm = Sequences(3, 12, 4)
lstm.head.weight.data.mul_(8)
x = torch.randn(7, 11, 3)
about_lstm = {"model": "lstm", "in": 3, "hidden": 12, "classes": 4, "head": "softmax"}
compare("an LSTM reads sequences", lstm, about_lstm, x, x.numpy())

with tempfile.TemporaryDirectory() as folder:
    model, batch, out = (os.path.join(folder, name) for name in ("m.safetensors", "x.npy", "p.npy"))

    def refuses(sentence, saved, metadata, part, code=1, out=out, tensors=state(net)):
        save(model, tensors, metadata)
        np.save(batch, saved)
        done = run(model, batch, "--out", out)
        left = [name for name in os.listdir(folder) if name not in ("m.safetensors", "x.npy")]
        good = done.returncode == code and part in done.stderr and not left
        check(sentence, good, f"{done.returncode} {done.stderr} {left}")

    text, image = {"couplet": json.dumps(about)}, np.zeros((2, 1, 28, 28), "f4")
    refuses("a file without a description is refused", image, None, 'no key "couplet"')
    refuses("a wrong number of channels is refused", np.zeros((2, 3, 28, 28), "f4"), text, "(2, 3, 28, 28)")
    refuses("the other layout is suggested", np.zeros((2, 28, 28, 1), "f4"), text, "--layout nhwc")
    refuses("a wrong number of axes is refused", np.zeros((2, 784), "f4"), text, "(2, 784)")
    refuses("images that are too small are refused", np.zeros((2, 1, 7, 28), "f4"), text, ">= 8")
    refuses("integers are refused", np.zeros((2, 1, 28, 28), "i8"), text, "I64")
    refuses("a folder that is not there is named", image, text, "nowhere", out=os.path.join(folder, "nowhere", "p.npy"))
    other = {"couplet": json.dumps({**about, "classes": 5})}
    refuses("a description of another model is refused", image, other, "head")

print(f"{sum(results.values())} Tests {results['failed']} Failures 0 Ignored")
sys.exit(1 if results["failed"] else 0)
