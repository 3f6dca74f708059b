#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""seed_origin.py - libraries with notes of a signature and provenance that a stranger wrote

  seed_origin.py DIR LIBRARY    LIBRARY: ELF, 64 bits, little-endian; DIR receives one file for each idea

Control characters, damage, too many, too long. tests/cli/minspect/hostile-origin says what comes out.
"""
import json
import os
import struct
import sys

SEAL, MADE = 0x6d706b01, 0x6d706b02


def add(library, *notes):
    """The library with these notes, each (type, text), in sections of their own at its end."""
    data = bytearray(library)
    shoff, shentsize, shnum = (struct.unpack_from("<Q", data, 40)[0],
                               *struct.unpack_from("<HH", data, 58))
    table = data[shoff:shoff + shnum * shentsize]
    for kind, text in notes:
        data += bytes(-len(data) % 4)
        size = 12 + 8 + len(text) + -len(text) % 4
        table += struct.pack("<IIQQQQIIQQ", 1, 7, 0, 0, len(data), size, 0, 0, 4, 0)
        data += struct.pack("<III", 6, len(text), kind) + b"mpack\0\0\0" + text
        data += bytes(-len(text) % 4)
    data += bytes(-len(data) % 8)
    struct.pack_into("<Q", data, 40, len(data))
    struct.pack_into("<H", data, 60, len(table) // shentsize)
    return data + table


def made(**more):
    return json.dumps(dict({"type": "mpack-provenance", "version": 1, "tools": [], "options": [],
                            "inputs": []}, **more)).encode() + b"\0"


def ideas(library):
    ugly = "\x1b[31m\u202e\u0007\u009b\n</script>"
    yield "ugly", add(library, (MADE, made(
        tools=[{"name": ugly, "version": ugly}] * 9, options=[ugly],
        inputs=[{"name": ugly, "bytes": "18446744073709551615", "sha256": "0" * 64}])))
    yield "cut", add(library, (MADE, made()[:-9]))
    yield "deep", add(library, (MADE, b"[" * 20000))
    yield "twice", add(library, (MADE, made()), (MADE, made()))
    yield "long", add(library, (MADE, made(options=["x" * 2000000])))
    yield "surrogate", add(library, (MADE, made().replace(
        b'"tools": []', b'"tools": [{"name": "\\ud800", "version": "1"}]')))
    seal = add(library, (SEAL, bytes([1, 1, 0, 0]) + b"\x1b" * 128))
    yield "seal", seal
    yield "seals", add(library, *[(SEAL, bytes([1, 1, 0, 0]) + bytes(range(128)))] * 2)
    yield "short", add(library, (SEAL, b"\1\1"))
    yield "newer", add(library, (SEAL, bytes([2, 1, 0, 0]) + bytes(range(128))))
    yield "empty", add(library, (SEAL, bytes(132)), (MADE, bytes(40)))
    huge = bytearray(seal)  # the size of its text leaves the file
    struct.pack_into("<I", huge, huge.rindex(b"mpack\0\0\0\1\1") - 8, 0xfffffff0)
    yield "huge", huge


def main():
    folder, library = sys.argv[1:]
    with open(library, "rb") as file:
        data = file.read()
    os.makedirs(folder, exist_ok=True)
    for name, content in ideas(data):
        with open(os.path.join(folder, name + ".so"), "wb") as file:
            file.write(content)


main()
