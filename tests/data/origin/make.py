#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make.py - a signed library with provenance, made without mpack: from the words of tvm-blob(5), by objcopy
and openssl. The private key is thrown away, so each run gives another library."""
import hashlib
import json
import pathlib
import struct
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def string(b):
    return struct.pack(">I", len(b)) + b


def note(kind, text):
    return struct.pack("<III", 6, len(text), kind) + b"mpack\0\0\0" + text + bytes(-len(text) % 4)


def main():
    out = HERE / "signed.so"
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)

        def run(*command):
            return subprocess.run([str(c) for c in command], check=True, capture_output=True).stdout
        run("openssl", "genpkey", "-algorithm", "ed25519", "-out", work / "key")
        (HERE / "key.pub").write_bytes(run("openssl", "pkey", "-in", work / "key", "-pubout"))
        key = run("openssl", "pkey", "-in", work / "key", "-pubout", "-outform", "DER")[-32:]
        made = {"type": "mpack-provenance", "version": 1,
                "tools": [{"name": "mpack", "version": "0.1.0 (commit 000000000000)"}],
                "options": ["--emit=so"],
                "inputs": [{"name": "a.cl", "bytes": 3, "sha256": hashlib.sha256(b"abc").hexdigest()}]}
        seal = struct.pack("<BBH", 1, 1, 0) + key
        seal += hashlib.sha256(string(b"ssh-ed25519") + string(key)).digest() + bytes(64)
        (work / "made").write_bytes(note(0x6d706b02, json.dumps(made).encode() + b"\0"))
        (work / "seal").write_bytes(note(0x6d706b01, seal))
        run("objcopy", "--add-section", f".note.mpack.provenance={work}/made",
            "--add-section", f".note.mpack.signature={work}/seal",
            HERE.parent / "formats" / "01_opencl_scale.so", out)
        data = bytearray(out.read_bytes())
        at = data.index(seal) + 68
        message = (b"SSHSIG" + string(b"mpack-library-v1") + string(b"") + string(b"sha256")
                   + string(hashlib.sha256(data).digest()))
        (work / "message").write_bytes(message)
        data[at:at + 64] = run("openssl", "pkeyutl", "-sign", "-rawin", "-inkey", work / "key",
                               "-in", work / "message")
        out.write_bytes(data)



main()
