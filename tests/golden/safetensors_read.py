"""Prints the contents of a safetensors file, and checks its checksum; needs only numpy. Usage: safetensors_read.py FILE"""
import json, sys, zlib
import numpy as np

TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U64": "<u8", "U32": "<u4", "BOOL": "?"}


def read(path):
    """The arrays by name, and the metadata."""
    data = open(path, "rb").read()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    metadata = header.pop("__metadata__", {})
    digits = metadata.get("couplet.crc32", "").encode()
    plain = data.replace(b'"couplet.crc32":"' + digits, b'"couplet.crc32":"00000000', 1)
    assert not digits or zlib.crc32(plain) == int(digits, 16), "the file is damaged"
    body = data[start:]
    return {name: np.frombuffer(body[slice(*info["data_offsets"])], TYPES[info["dtype"]]).reshape(info["shape"])
            for name, info in header.items()}, metadata


if __name__ == "__main__":
    for name, array in sorted(read(sys.argv[1])[0].items()):
        print(f"{name} {array.dtype}{list(array.shape)} {array.ravel()[:4]}")
