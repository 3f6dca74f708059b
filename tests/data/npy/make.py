#!/usr/bin/env python3
"""Writes the arrays beside this file, with NumPy: what formats/npy must read and write."""
import numpy as np
from numpy.lib import format as npformat

names = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 bool".split()
for name in names:
    np.save(f"{name}.npy", (np.arange(6) % 2 if name == "bool" else np.arange(6)).reshape(2, 3).astype(name))
np.save("scalar.npy", np.float32(1.5))
np.save("empty.npy", np.zeros((0, 3), "float32"))
np.save("vector.npy", np.arange(5, dtype="float32"))
np.save("big_endian.npy", np.arange(6).reshape(2, 3).astype(">f4"))
np.save("fortran.npy", np.asfortranarray(np.arange(6, dtype="float32").reshape(2, 3)))
np.save("opaque2.npy", np.array([0x3F80, 0x4000], "uint16").view("V2"))
np.save("object.npy", np.array([None, 1], dtype=object))
np.save("text.npy", np.array(["a", "b"]))
np.save("record.npy", np.zeros(2, dtype=[("x", "f4"), ("y", "i4")]))
for major in (2, 3):
    with open(f"version{major}.npy", "wb") as f:
        npformat.write_array(f, np.arange(6, dtype="float32").reshape(2, 3), (major, 0))
np.savez("pair.npz", x=np.arange(4, dtype="float32"), y=np.arange(3, dtype="int64"))
np.savez("one.npz", only=np.arange(4, dtype="float32"))
np.savez_compressed("packed.npz", x=np.arange(4, dtype="float32"))
