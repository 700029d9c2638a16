"""Couplet's models in PyTorch; needs only torch and numpy.

    import couplet_torch, numpy as np
    model = couplet_torch.load("runs/blood/selected.safetensors")
    posterior, energy = model.predict(np.load("bloodmnist.npz")["test_images"])   # raw inputs, as in the training's files

`model` is a torch.nn.Module in evaluation mode, with the tensor names of the file. For tensors as the network takes them (images
(N, C, H, W), numbers scaled by `model.prepare`) it has forward (the logits), posterior, class_energy and energy. `model.description` is
the file's description, and `model.about` what else it says: preprocessing, class names, temperature.

A wide ResNet's block is a pre-activation block. With act(n(x)) for norm and activation:
    layout jem:      conv2(act(norm2(conv1(act(norm1(x)))))) + shortcut(x)      stride on conv2 and shortcut
    layout classic:  the same with stride on conv1 and shortcut; where there is a shortcut, it takes act(norm1(x)) too
The shortcut is x itself where neither size nor channels change. After the last block: norm, activation, mean over all pixels.

`python3 couplet_torch.py FILE` lists the tensors and metadata of a safetensors file."""
import json
import struct
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

# ---- files ----

TYPES = {"BOOL": "?", "U8": "u1", "F16": "<f2", "F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8", "U32": "<u4", "U64": "<u8"}


def read(path):
    """The arrays of a safetensors file by name, and its metadata."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    metadata, arrays = header.pop("__metadata__", {}), {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        arrays[name] = np.frombuffer(data[first:last], TYPES[entry["dtype"]]).reshape(entry["shape"])
    return arrays, metadata


def save(path, tensors, description, about=None):
    """Writes tensors, such as a state_dict, with a model's description as a model file for `couplet predict`."""
    metadata = {"couplet": json.dumps(description)}
    if about:
        metadata["about"] = json.dumps(about)
    header, data = {"__metadata__": metadata}, b""
    for name, value in tensors.items():
        raw = value.detach().numpy().astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def load(path):
    """The model in a file of Couplet, or of `save`."""
    arrays, metadata = read(path)
    model = make(json.loads(metadata["couplet"]), json.loads(metadata.get("about", "{}")))
    tensors = {name: torch.tensor(array) for name, array in arrays.items() if not name.startswith("couplet.")}
    counters = {name: value for name, value in model.state_dict().items() if name.endswith("num_batches_tracked")}
    model.load_state_dict({**counters, **tensors})
    return model.eval()


def make(description, about=None):
    """A new model of that description."""
    model = NETS[description.get("model", "wrn")](description)
    model.head = Head(model.features, description)
    model.description, model.about = description, about or {}
    return model


# ---- heads ----

class Head(nn.Linear):
    """A linear layer and, of a hybrid head, a Gaussian for each class."""

    def __init__(self, features, description):
        super().__init__(features, description["classes"])
        self.kind = description.get("precision", "diagonal") if description.get("head") == "hybrid" else None
        self.generative = description.get("head", "softmax") != "softmax"
        if self.kind:
            size = {"spherical": 1, "diagonal": features, "full": features * (features + 1) // 2}[self.kind]
            self.mean = nn.Parameter(0.6 * torch.randn(self.out_features, features))
            self.precision = nn.Parameter(torch.zeros(size))
            if description.get("learn_prior"):
                self.prior = nn.Parameter(torch.zeros(self.out_features))

    def class_energy(self, z):
        """E(z; c), (N, classes)."""
        if not self.kind:
            return -self(z)
        apart = z[:, None] - self.mean
        if self.kind == "full":  # P = L L^T
            rows, columns = torch.tril_indices(self.in_features, self.in_features)
            diagonal = rows == columns
            entries = torch.where(diagonal, (self.precision * diagonal).exp(), self.precision)
            lower = z.new_zeros(self.in_features, self.in_features).index_put((rows, columns), entries)
            white = apart @ lower
        else:
            white = apart * (self.precision / 2).exp()
        energy = white.square().sum(2) / 2
        return energy - self.prior.log_softmax(0) if hasattr(self, "prior") else energy


class Model(nn.Module):
    """What all networks share. `encode` gives the features, (N, features)."""

    def forward(self, x):
        return self.head(self.encode(x))

    def posterior(self, x):
        return torch.softmax(self(x) / self.about.get("temperature", 1), 1)

    def class_energy(self, x):
        return self.head.class_energy(self.encode(x))

    def energy(self, x):
        """E(x) = -ln sum_c exp(-E(x; c)): the lower, the more usual is the input."""
        return -torch.logsumexp(-self.class_energy(x), 1)

    def prepare(self, inputs):
        """Inputs as the training's files have them (images with the channels last) as the network takes them."""
        known = self.about.get("input", {})
        low, high = known.get("range", (0, 255) if inputs.dtype == np.uint8 else (None, None))
        x = np.asarray(inputs, np.float64)
        if "mean" in known:
            x = (x - known["mean"]) / known["sd"]
        elif low is not None:
            x = (np.clip(x, low, high) - (low + high) / 2) / ((high - low) / 2)
        return self.arrange(torch.tensor(x, dtype=torch.get_default_dtype()))

    def arrange(self, x):
        return x

    @torch.no_grad()
    def predict(self, inputs, batch=64):
        """Posteriors (N, classes) and energies (N) of raw inputs as arrays; the energies are None for a softmax head."""
        posteriors, energies = [], []
        for first in range(0, len(inputs), batch):
            x = self.prepare(inputs[first:first + batch])
            posteriors.append(self.posterior(x).numpy())
            energies.append(self.energy(x).numpy() if self.head.generative else None)
        return np.concatenate(posteriors), np.concatenate(energies) if self.head.generative else None


# ---- networks ----

ACTIVATIONS = {"leaky": lambda x: F.leaky_relu(x, 0.2), "relu": F.relu, "swish": F.silu, "tanh": torch.tanh, "identity": lambda x: x}


class ChannelNorm(nn.LayerNorm):
    """A layer norm over the channels of each pixel."""

    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


NORMS = {"none": lambda channels: nn.Identity(), "batch": nn.BatchNorm2d, "layer": ChannelNorm,
         "group": lambda channels: nn.GroupNorm(8, channels)}


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride, norm, act, classic):
        super().__init__()
        self.norm1, self.norm2, self.act, self.classic = NORMS[norm](inputs), NORMS[norm](outputs), act, classic
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride if classic else 1, 1)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1 if classic else stride, 1)
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Conv2d(inputs, outputs, 1, stride)

    def forward(self, x):
        active = self.act(self.norm1(x))
        h = self.conv2(self.act(self.norm2(self.conv1(active))))
        return h + (self.shortcut(active if self.classic else x) if hasattr(self, "shortcut") else x)


class WideResNet(Model):
    def __init__(self, d):
        super().__init__()
        norm, inputs, self.act = d.get("norm", "none"), 16, ACTIVATIONS[d.get("activation", "leaky")]
        self.stem = nn.Conv2d(d.get("channels", 1), 16, 3, 1, 1)
        for stage in range(3):
            blocks, outputs = nn.Sequential(), (16 << stage) * d.get("width", 1)
            for b in range((d.get("depth", 10) - 4) // 6):
                stride = 2 if stage and not b else 1
                blocks.add_module(f"block{b}", Block(inputs, outputs, stride, norm, self.act, d.get("layout") == "classic"))
                inputs = outputs
            self.add_module(f"stage{stage}", blocks)
        self.norm, self.features = NORMS[norm](inputs), inputs

    def encode(self, x):
        x = self.stage2(self.stage1(self.stage0(self.stem(x))))
        return self.act(self.norm(x)).mean((2, 3))

    def arrange(self, x):
        return (x[..., None] if x.ndim == 3 else x).permute(0, 3, 1, 2)


class Perceptron(Model):
    def __init__(self, d):
        super().__init__()
        sizes, self.act = d["sizes"], ACTIVATIONS[d.get("activation", "leaky")]
        self.layers, self.features = len(sizes) - 1, sizes[-1]
        for i in range(self.layers):
            self.add_module(f"layer{i}", nn.Linear(sizes[i], sizes[i + 1]))

    def encode(self, x):
        x = x.flatten(1)
        for i in range(self.layers):
            x = self.act(getattr(self, f"layer{i}")(x))
        return x


class Lstm(Model, nn.LSTM):
    """The features are the last layer's final hidden state, of both directions."""

    def __init__(self, d):
        both = d.get("bidirectional", False)
        nn.LSTM.__init__(self, d["in"], d["hidden"], d.get("layers", 1), batch_first=True, bidirectional=both)
        self.features = d["hidden"] * (2 if both else 1)

    def encode(self, x):
        hidden = nn.LSTM.forward(self, x.flatten(2))[1][0]
        return torch.cat([hidden[-2], hidden[-1]], 1) if self.bidirectional else hidden[-1]


NETS = {"wrn": WideResNet, "mlp": Perceptron, "lstm": Lstm}

if __name__ == "__main__":
    arrays, metadata = read(sys.argv[1])
    for key, value in metadata.items():
        print(f"{key}: {value}")
    for name, value in arrays.items():
        print(f"{name:40} {value.dtype} {value.shape}")
