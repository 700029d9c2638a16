"""Prints what a safetensors file holds, and checks its checksum; needs numpy only. Usage: safetensors_read.py FILE"""
import json, sys, zlib
import numpy as np

TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
         "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?", "BF16": "<u2"}  # BF16: its bits


def read(path):
    """The arrays by name, and the metadata."""
    data = open(path, "rb").read()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    metadata = header.pop("__metadata__", {})
    if "couplet.crc32" in metadata:
        key, digits = b'"couplet.crc32":"', metadata["couplet.crc32"].encode()
        assert zlib.crc32(data.replace(key + digits, key + b"00000000", 1)) == int(digits, 16), "the file is damaged"
    arrays = {}
    for name, info in header.items():
        begin, end = info["data_offsets"]
        arrays[name] = np.frombuffer(data[start + begin:start + end], TYPES[info["dtype"]]).reshape(info["shape"])
    return arrays, metadata


if __name__ == "__main__":
    arrays, metadata = read(sys.argv[1])
    for key, value in sorted(metadata.items()):
        print(f"{key} = {value}")
    for name, array in sorted(arrays.items()):
        print(f"{name} {array.dtype}{list(array.shape)} {array.ravel()[:4]}")
