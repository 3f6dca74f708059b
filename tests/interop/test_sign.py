# SPDX-License-Identifier: Apache-2.0
"""Signed libraries: the real TVM and tvm-ffi load and call them like unsigned ones; OpenSSL finds
the same signature over the message that the manual page describes."""
import hashlib
import json
import shutil
import struct
import subprocess

import pytest

from conftest import DATA

openssl = pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "key.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", path], check=True)
    with open(tmp_path / "key.pub", "wb") as out:
        subprocess.run(["openssl", "pkey", "-in", path, "-pubout"], check=True, stdout=out)
    return path


def message(path, minspect):
    """What is signed, from the words of tvm-blob(5) alone, and the signature."""
    note = json.loads(minspect("--json", path).stdout)["files"][0]["signature"]
    data = bytearray(path.read_bytes())
    at = note["offset"]
    signature = bytes(data[at:at + 64])
    data[at:at + 64] = bytes(64)

    def string(b):
        return struct.pack(">I", len(b)) + b
    return (b"SSHSIG" + string(b"mpack-library-v1") + string(b"") + string(b"sha256")
            + string(hashlib.sha256(data).digest())), signature


@openssl
def test_openssl_verifies(tmp_path, mpack, minspect, key):
    library = tmp_path / "deploy.so"
    mpack("build", DATA / "example" / "mpack.toml", "-o", library, "--sign", key, "--provenance")
    text, signature = message(library, minspect)
    (tmp_path / "message").write_bytes(text)
    (tmp_path / "signature").write_bytes(signature)

    def verify():
        return subprocess.run(
            ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", tmp_path / "key.pub",
             "-in", tmp_path / "message", "-sigfile", tmp_path / "signature"],
            capture_output=True).returncode
    assert len(text) == 76 and verify() == 0
    (tmp_path / "message").write_bytes(text[:-1] + bytes([text[-1] ^ 1]))
    assert verify() != 0


@openssl
def test_openssl_signs(tmp_path, mpack, minspect, key):
    """A signature that another program made, in the note of ours, is taken."""
    library = tmp_path / "deploy.so"
    mpack("sign", DATA / "formats" / "01_opencl_scale.so", "-o", library, "--key", key)
    text, signature = message(library, minspect)
    (tmp_path / "message").write_bytes(text)
    theirs = subprocess.run(["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", key, "-in",
                             tmp_path / "message"], capture_output=True, check=True).stdout
    assert theirs == signature


@openssl
def test_tvm_loads(tmp_path, mpack, minspect, key):
    import numpy as np
    import tvm
    import tvm_ffi
    source = tmp_path / "exported.so"
    mod = tvm.compile(add_one(), target="llvm")
    mod.export_library(str(source))
    signed = tmp_path / "signed.so"
    mpack("sign", source, "-o", signed, "--key", key)
    minspect("--verify", "--pubkey", tmp_path / "key.pub", signed)
    minspect("--verify", "--pubkey", tmp_path / "key.pub", source, status=1)
    for load in (tvm.runtime.load_module, tvm_ffi.load_module):
        x = tvm.runtime.tensor(np.arange(4, dtype="float32"))
        y = tvm.runtime.tensor(np.zeros(4, dtype="float32"))
        load(str(signed))["add_one"](x, y)
        assert (y.numpy() == [1, 2, 3, 4]).all()


@openssl
def test_tvm_loads_what_mpack_built(tmp_path, mpack, key):
    import numpy as np
    import tvm
    import tvm_ffi
    library = tmp_path / "deploy.so"
    manifest = tmp_path / "mpack.toml"
    shutil.copy(DATA / "example" / "host.c", tmp_path)
    manifest.write_text('[package]\nname = "deploy"\n[[module]]\nid = "host"\nkind = "host"\n'
                        'sources = ["host.c"]\n')
    mpack("build", manifest, "-o", library, "--sign", key, "--provenance")
    for load in (tvm.runtime.load_module, tvm_ffi.load_module):
        x = tvm.runtime.tensor(np.arange(4, dtype="float32"))
        y = tvm.runtime.tensor(np.zeros(4, dtype="float32"))
        load(str(library))["addone"](x, y)
        assert (y.numpy() == [1, 2, 3, 4]).all()


def add_one():
    from tvm.script import ir as I, tirx as T

    @I.ir_module
    class Module:
        @T.prim_func
        def add_one(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
            T.func_attr({"global_symbol": "add_one"})
            for i in range(4):
                y[i] = x[i] + T.float32(1)
    return Module
