#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""seed_inner.py OUT FILE... - inputs for fuzz_inner to start from

Writes every FILE of a known suffix to OUT/fuzz_inner, once for the reader of its format
and once for the one that finds the format out.
"""
import os
import sys

# the order of fuzz_inner.c
READERS = ["any", "a", "tar", "gz", "cubin", "fatbin", "ptx", "spv", "cu", "symbol", "dylib", "dll", "c", "hsaco", "bundle", "zip",
           "msgpack", "dwarf"]
SAME = {"o": "dylib", "obj": "dll", "npz": "zip"}


def main(out, files):
    out = os.path.join(out, "fuzz_inner")
    os.makedirs(out, exist_ok=True)
    with open(f"{out}/msgpack", "wb") as f:
        f.write(bytes([READERS.index("msgpack")]) + b"\x82\xa1a\x93\x01\xcd\x12\x34\xd9\x02ab\xa1b\x81\xc3\xcb" + bytes(8))
    for name in files:
        suffix = name.rsplit(".", 1)[-1]
        suffix = SAME.get(suffix, suffix)
        if suffix not in READERS:
            continue
        data = open(name, "rb").read()
        for reader in (0, READERS.index(suffix)):
            with open(f"{out}/{os.path.basename(name)}-{reader}", "wb") as f:
                f.write(bytes([reader]) + data)


main(sys.argv[1], sys.argv[2:])
