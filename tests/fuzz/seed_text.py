#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""seed_text.py - inputs of the targets that read text: (target, name, bytes)"""

VALUES = ["5", "2.5", "true", "none", "str=a", "bytes=00ff", "i8=-1", "2x3xf32=1,2,3,4,5,6", "4xf16=rand:7",
          "3xbool=1,0,1", "shape=2,3", "dtype=float32", "cpu:0", "4xf32", "x=2xi64=1,2", "[1,2,[3]]", "4xf32=zeros",
          "8x16x4xf32{texture}=rand", "ignored", "2x2xf32=[[1 2][3 4]]", "[]f32=1.5", "device=cuda:0", "4xi4=-8,7,0,1",
          "3xf8e4m3fn=1,2,448", "2xbf16=inf,nan", "4xu8=0x10"]

LAUNCH = ["A: float32[n]", "B: out float32[n, (m + 1) / 2]", "s: optional in int8x4[]", "n: int32", "x: inout bfloat16[n * 4]"]
EXPRESSIONS = ["(n + 127) / 128", "min(n, 4) * max(m, -1) % ceildiv(n, 3)", "9223372036854775807 + 1", "((((n))))", "-n"]

MANIFESTS = {
    "plain": """[package]
name = "a"
[[module]]
id = "k"
kind = "opencl"
format = "cl"
data = "k.cl"
[[module.function]]
name = "add"
args = ["handle", "handle", "int32"]
launch = ["blockIdx.x", "threadIdx.x"]
""",
    "launch": """[package]
name = "a"
abi = "ffi"
[[module]]
id = "k"
kind = "cuda"
format = "ptx"
data = "k.ptx"
[[module.function]]
name = "add"
args = ["handle", "handle", "int32"]
launch = ["blockIdx.x", "threadIdx.x"]
[[function]]
name = "add"
params = ["a: in float32[n]", "b: out float32[n]"]
kernel = "k.add"
args = ["a", "b", "n"]
grid = ["(n + 127) / 128"]
block = [128]
""",
    "steps": """[package]
name = "a"
abi = "legacy"
root = "h"
[[module]]
id = "k"
kind = "opencl"
format = "cl"
data = "k.cl"
[[module.function]]
name = "add"
args = ["handle", "handle", "int32"]
launch = ["blockIdx.x"]
[[module.function]]
name = "twice"
args = ["handle", "float32"]
launch = ["blockIdx.x", "tir.use_dyn_shared_memory"]
[[module]]
id = "h"
kind = "host"
sources = ["h.c"]
imports = ["k"]
[[function]]
name = "both"
params = ["a: in float32[n, 4]", "b: out float32[n, 4]", "s: float32"]
temps = ["t: float32[n]"]
steps = [
  { kernel = "k.add", args = ["a", "t", "n"], grid = ["n"], block = [1] },
  { kernel = "k.twice", args = ["b", "s"], grid = [1, "n"], block = [64], shared = "n * 4" },
]
""",
    "payload": """[package]
name = "a"
keep_order = true
[[module]]
id = "m"
kind = "coreml"
payload = "p.bin"
imports = ["n"]
[[module]]
id = "n"
kind = "unknown.kind"
payload = "p.bin"
""",
}

CASES = """[defaults]
atol = 1e-5
timeout = 3
[[case]]
name = "adds"
run = "addone"
args = [{ input = "4xf32=1,2,3,4" }, { out = "4xf32" }]
expect = ["4xf32=2,3,4,5"]
[[case]]
run = "k"
args = [{ input = "5" }]
raises = "expected"
grid = ["1", "2"]
block = ["64"]
repeat = 3
[[case]]
run = "b"
skip = "why"
"""

TOML = ["a = 1\nb = [1, 2.5, true, \"x\\u00e9\"]\n", "[a.b]\nc = 1979-05-27T07:32:00Z\n[[d]]\ne = { f = '''\nx''' }\n[[d]]\n",
        "k = 0x7f\ni = inf\nn = -nan\nt = 07:32:00.5\nd = 1979-05-27\nl = 1979-05-27T07:32:00\n", "\"\" = 1\n'a.b'.c = \"\"\"\n\\\n  x\"\"\"\n"]

PUBLIC = b"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f me\n"
PEM = (b"-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n-----END PUBLIC KEY-----\n")
SECRET_PEM = (b"-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f\n"
              b"-----END PRIVATE KEY-----\n")
PROVENANCE = (b'{"type":"mpack-provenance","version":1,"tools":[{"name":"mpack","version":"1.0"}],"options":["--emit=so"],'
              b'"inputs":[{"name":"mpack.toml","bytes":120,"sha256":"' + b"0a" * 32 + b'"}]}')
SYMBOLS = ["_Z3addPfS_i", "_ZN2ns5scaleIfLi4EEEvPT_PKS1_m", "_ZN12_GLOBAL__N_13addERK6float4DF16_", "_Z1fPVKcz", "_Z1gIJfdEEvDpT_"]


def openssh():
    """A private key in OpenSSH's format whose parts have the lengths that they must have."""
    import base64
    import struct

    def text(data):
        return struct.pack(">I", len(data)) + data

    key = bytes(range(32))
    public = text(b"ssh-ed25519") + text(key)
    private = struct.pack(">II", 5, 5) + text(b"ssh-ed25519") + text(key) + text(bytes(32) + key) + text(b"me")
    private += bytes(range(1, 1 + -len(private) % 8))
    made = b"openssh-key-v1\0" + text(b"none") + text(b"none") + text(b"") + struct.pack(">I", 1) + text(public) + text(private)
    code = base64.b64encode(made)
    lines = b"\n".join(code[i:i + 70] for i in range(0, len(code), 70))
    return b"-----BEGIN OPENSSH PRIVATE KEY-----\n" + lines + b"\n-----END OPENSSH PRIVATE KEY-----\n"


def ideas():
    for i, text in enumerate(VALUES):
        for out in (0, 1):
            yield "fuzz_value", f"{i}-{out}", bytes([out]) + text.encode()
    for i, text in enumerate(LAUNCH):
        yield "fuzz_launch", f"p{i}", b"\0" + text.encode()
    for i, text in enumerate(EXPRESSIONS):
        yield "fuzz_launch", f"e{i}", b"\1" + text.encode()
    for name, text in MANIFESTS.items():
        yield "fuzz_manifest", name, text.encode()
        yield "fuzz_toml", name, text.encode()
    yield "fuzz_cases", "cases", CASES.encode()
    for i, text in enumerate(TOML):
        yield "fuzz_toml", str(i), text.encode()
    for name, text in (("line", PUBLIC), ("pem", PEM), ("both", PUBLIC + PUBLIC)):
        yield "fuzz_key", name, b"\1" + text
    for name, text in (("secret", SECRET_PEM), ("openssh", openssh())):
        yield "fuzz_key", name, b"\0" + text
    yield "fuzz_provenance", "made", PROVENANCE
    for i, text in enumerate(SYMBOLS):
        yield "fuzz_itanium", str(i), text.encode()
