"""Writes a golden file: named float64 and int64 arrays as safetensors, byte for byte the same on every run."""
import json
import os

import numpy as np

TYPES = {"float64": "F64", "int64": "I64"}


def synthetic(name, *shape):
    """Numbers that need not be stored: a hash of the name and the index, +-(1/8 + k/2^15) with k < 2^16, exact in float
    and the same in golden_synthetic of tests/support/golden.c."""
    hash_ = 0x811C9DC5
    for byte in name.encode():
        hash_ = (hash_ ^ byte) * 0x01000193 & 0xFFFFFFFF
    count = int(np.prod(shape, dtype=np.int64))
    x = np.arange(count, dtype=np.uint32) * np.uint32(0x9E3779B9) + np.uint32(hash_)
    x = (x ^ x >> np.uint32(16)) * np.uint32(0x7FEB352D)
    x = (x ^ x >> np.uint32(15)) * np.uint32(0x846CA68B)
    x = x ^ x >> np.uint32(16)
    size = 0.125 + (x >> np.uint32(16)) / 32768.0
    return np.where(x & np.uint32(1), -size, size).reshape(shape)


def representable(array):
    """Rounded to float, so that the float and the double build have equal inputs."""
    return np.asarray(array, np.float32).astype(np.float64)


class GoldenFile:
    def __init__(self):
        self.entries = {}

    def add(self, name, array):
        assert name not in self.entries, name
        array = np.array(array, order="C")
        self.entries[name] = array.astype(np.int64 if array.dtype.kind in "iu" else np.float64)

    def write(self, file_name, about):
        """Into this script's folder."""
        header, offset = {"__metadata__": {"about": about}}, 0
        for name, array in self.entries.items():
            header[name] = {"dtype": TYPES[array.dtype.name], "shape": list(array.shape),
                            "data_offsets": [offset, offset + array.nbytes]}
            offset += array.nbytes
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), file_name), "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for array in self.entries.values():
                file.write(array.astype(array.dtype.newbyteorder("<")).tobytes())
        print(f"{file_name}: {len(self.entries)} arrays, {8 + len(text) + offset} bytes")
