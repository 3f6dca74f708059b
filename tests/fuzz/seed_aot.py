#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""seed_aot.py OUT - inputs for fuzz_aot_executor to start from: metadata of models, pointers apart"""
import os
import struct
import sys

FLOAT32 = struct.pack("<BBH", 2, 32, 1)


class Region:
    """Bytes of a library's data, and the places in them that are pointers."""

    def __init__(self):
        self.data, self.links = bytearray(88), []

    def put(self, data):
        self.data += bytes(-len(self.data) % 8)
        at = len(self.data)
        self.data += data
        return at

    def link(self, slot, target):
        self.links.append((slot // 8, target))

    def tensors(self, slot, tensors):
        """[(name, shape)] as the list that the metadata has at slot."""
        made = [(self.put(name.encode() + b"\0"), self.put(struct.pack(f"<{len(s)}q", *s)), len(s))
                for name, s in tensors]
        at = self.put(bytes(32 * len(made)))
        for i, (name, shape, ndim) in enumerate(made):
            struct.pack_into("<q4s", self.data, at + 32 * i + 16, ndim, FLOAT32)
            self.link(at + 32 * i, name)
            self.link(at + 32 * i + 8, shape)
        struct.pack_into("<q", self.data, slot + 8, len(made))
        self.link(slot, at)

    def constants(self, slot, constants):
        """[(offset, numbers)]"""
        made = []
        for offset, numbers in constants:
            content = struct.pack(f"<{len(numbers)}f", *numbers)
            record = struct.pack("<QQiii", 0xDD5E40F096B4A13F, 0, 1, 0, 1) + FLOAT32 + struct.pack(
                "<qq", len(numbers), len(content)) + content
            made.append((offset, len(record), self.put(record)))
        at, name = self.put(bytes(32 * len(made))), self.put(b"constant\0")
        for i, (offset, length, record) in enumerate(made):
            struct.pack_into("<qq", self.data, at + 32 * i + 8, offset, length)
            self.link(at + 32 * i, name)
            self.link(at + 32 * i + 24, record)
        struct.pack_into("<q", self.data, slot + 8, len(made))
        self.link(slot, at)


def seed(inputs, outputs, workspaces=(), constants=(), flags=0):
    r = Region()
    struct.pack_into("<q", r.data, 0, 1)
    r.tensors(8, inputs)
    r.tensors(24, outputs)
    r.tensors(40, workspaces)
    r.constants(56, constants)
    r.link(72, r.put(b"fuzz\0"))
    return bytes([flags, len(r.links)]) + b"".join(
        struct.pack("<HH", *link) for link in r.links) + bytes(r.data)


def main(out):
    out = os.path.join(out, "fuzz_aot_executor")
    os.makedirs(out, exist_ok=True)
    row = ("x", [4])
    seeds = {
        "plain": seed([row], [("y", [4])]),
        "params": seed([row, ("w", [4])], [("y", [2, 2]), ("z", [])], flags=1),
        "pools": seed([row], [("y", [4])], [("pool", [64]), ("more", [0])],
                      [(0, [1.0, 2.0]), (16, [3.0])]),
    }
    for name, data in seeds.items():
        with open(f"{out}/{name}", "wb") as f:
            f.write(data)


main(sys.argv[1])
