#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""seed_image.py OUT FILE... - inputs for fuzz_image, fuzz_value and fuzz_wire to start from

OUT/fuzz_image gets every FILE, OUT/fuzz_value a value of each form of the grammar, OUT/fuzz_wire a
reply with a number, a text and a tensor in it.
"""
import os
import struct
import sys

VALUES = ["5", "2.5", "true", "none", "str=a", "bytes=00ff", "i8=-1", "2x3xf32=1,2,3,4,5,6", "4xf16=rand:7",
          "3xbool=1,0,1", "shape=2,3", "dtype=float32", "cpu:0", "4xf32", "x=2xi64=1,2", "[1,2,[3]]", "4xf32=zeros",
          "8x16x4xf32{texture}=rand", "ignored"]


def put(out, target, name, data):
    folder = os.path.join(out, target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)


def main(out, files):
    for name in files:
        put(out, "fuzz_image", os.path.basename(name), open(name, "rb").read())
    for i, text in enumerate(VALUES):
        for out_flag in (0, 1):
            put(out, "fuzz_value", f"{i}-{out_flag}", bytes([out_flag]) + text.encode())
    npy = b"\x93NUMPY\x01\x00" + struct.pack("<H", 54) + b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}"
    put(out, "fuzz_value", "npy", b"\x02" + npy.ljust(65, b" ") + b"\n" + bytes(8))
    for kind in range(16):
        head = struct.pack("<IIQQ", kind, 0x00012002, 1, 0x00012002)
        put(out, "fuzz_wire", str(kind), head + struct.pack("<q", 2) + bytes(96))


main(sys.argv[1], sys.argv[2:])
