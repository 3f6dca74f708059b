#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""seed.py OUT FILE... - inputs for the fuzzers to start from

Writes every blob of FILE with each generation's selector to OUT/fuzz_blob, and every
payload that can be cut out of a current blob to OUT/fuzz_payload with each kind's selector.
"""
import os
import struct
import sys


def payloads(blob):
    """The payloads of a current blob, by a reader that knows nothing else."""
    at = 8
    (rows,) = struct.unpack_from("<Q", blob, at)
    at += 8 + 8 * rows
    (children,) = struct.unpack_from("<Q", blob, at)
    at += 8 + 8 * children
    for _ in range(rows - 1):
        (n,) = struct.unpack_from("<Q", blob, at)
        kind = blob[at + 8 : at + 8 + n]
        at += 8 + n
        if kind == b"_lib":
            continue
        (n,) = struct.unpack_from("<Q", blob, at)
        yield kind, blob[at + 8 : at + 8 + n]
        at += 8 + n


def main(out, files):
    for sub in ("fuzz_blob", "fuzz_payload", "fuzz_relax_vm"):
        os.makedirs(os.path.join(out, sub), exist_ok=True)
    for number, name in enumerate(files):
        blob = open(name, "rb").read()
        for gen in range(3):
            with open(f"{out}/fuzz_blob/{number}-{gen}", "wb") as f:
                f.write(bytes([gen]) + blob)
        try:
            cut = list(payloads(blob))
        except (struct.error, OverflowError):  # of another generation
            continue
        for i, (name, payload) in enumerate(cut):
            for kind in range(64):
                with open(f"{out}/fuzz_payload/{number}-{i}-{kind}", "wb") as f:
                    f.write(bytes([kind, 2]) + payload)
            if name == b"relax.VMExecutable":
                with open(f"{out}/fuzz_relax_vm/{number}-{i}", "wb") as f:
                    f.write(payload)


main(sys.argv[1], sys.argv[2:])
