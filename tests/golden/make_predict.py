#!/usr/bin/python3
"""Files as a user of PyTorch would export them, and PyTorch's results with them; needs PyTorch.

    /usr/bin/python3 tests/golden/make_predict.py

pytorch_NORM.safetensors     NORM none or batch: the whole state_dict of a WRN-10-1 (3 channels, 5 classes) in float32,
                             the counters of the batch norms too, with the description as metadata
pytorch_x.npy                four images (4,3,12,8): N, channels, rows, columns
pytorch_NORM_logits.npy, pytorch_NORM_posterior.npy   of these images in evaluation mode, computed in float64
"""
import json, os
import numpy as np
import torch
from wide_resnet import WideResNet

HERE, TYPES = os.path.dirname(os.path.abspath(__file__)), {"float32": "F32", "int64": "I64"}


def export(net, description, path):
    """By hand: the header's length, the header, the values; Debian has no package for it."""
    header, data = {"__metadata__": {"couplet": json.dumps(description)}}, b""
    for name, tensor in net.state_dict().items():
        array = tensor.numpy()
        header[name] = {"dtype": TYPES[array.dtype.name], "shape": list(array.shape),
                        "data_offsets": [len(data), len(data) + array.nbytes]}
        data += np.ascontiguousarray(array).tobytes()
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


torch.manual_seed(3)
torch.set_num_threads(1)
x = torch.randn(4, 3, 12, 8)
np.save(os.path.join(HERE, "pytorch_x.npy"), x.numpy())
for norm in ("none", "batch"):
    net = WideResNet(10, 1, 3, 5, norm)
    for step in range(20):  # moves the running statistics away from their start
        net(0.5 + 2 * torch.randn(8, 3, 12, 8))
    net.head.weight.data.mul_(8)  # posteriors that are not all alike
    export(net, {"model": "wrn", "depth": 10, "width": 1, "channels": 3, "classes": 5, "norm": norm, "head": "softmax"},
           os.path.join(HERE, f"pytorch_{norm}.safetensors"))
    with torch.no_grad():
        logits = net.eval().double()(x.double())
    np.save(os.path.join(HERE, f"pytorch_{norm}_logits.npy"), logits.numpy())
    np.save(os.path.join(HERE, f"pytorch_{norm}_posterior.npy"), logits.softmax(1).numpy())
    print(norm, logits.softmax(1).numpy().round(3).tolist())
