# SPDX-License-Identifier: Apache-2.0
"""C functions that mpack init found, called with NumPy's arrays through TVM's and tvm-ffi's own loaders."""
import shutil
import subprocess
import sys
import textwrap

import pytest

from conftest import DATA, run

SCRIPT = """
import sys
import numpy as np
if sys.argv[1] == "tvm":
    import tvm
import tvm_ffi

m = tvm_ffi.load_module(sys.argv[2])
rng = np.random.default_rng(1)
x = rng.random(100, dtype="f4")
y = np.zeros(100, "f4")
assert m.axpb(x, y, 2.5) is None
assert np.array_equal(y, np.float32(2.5) * x + 1)
dot = 0.0 # sum() of Python 3.12 and later is more exact than additions one by one
for v in x:
    dot += float(v) * float(v)
assert m.dot(x, x.astype("f8")) == dot
a = np.arange(6, dtype="i2").reshape(2, 3)
b = np.zeros((3, 2), "i2")
m.transpose(a, b)
assert np.array_equal(b, a.T)
d = np.arange(4, dtype="f8")
m.scale(d, 0.5)
assert d.tolist() == [0, 0.5, 1, 1.5]

values = [-128, 255, -32768, 65535, -2**31, 2**32 - 1, -2**63, 2**63 - 1, True]
out = np.zeros(11, "i8")
assert m.all(*values, 0.25, 2.5, out) == -2**63 + 1
assert out.tolist() == [int(v) for v in values] + [1, 20]
for name, value in {"i8": -3, "u8": 253, "i16": -3, "u16": 65533, "i32": -2, "u32": 2**32 - 3,
                    "u64": -3, "bool": False, "f32": -0.75, "f64": -0.375}.items():
    got = getattr(m, "give_" + name)(-3)
    assert got == value and type(got) is type(value), (name, got)
assert m.give_nothing() is None
y[:] = 7

def raises(kind, text, function, *args):
    try:
        function(*args)
    except kind as e:
        assert text in str(e), str(e)
    else:
        raise AssertionError("no error: " + text)

raises(RuntimeError, "axpb: C function 'axpb' returned -22", m.axpb, np.zeros(1001, "f4"),
       np.zeros(1001, "f4"), 1.0)
raises(ValueError, "argument 'y': dimension 0 is 99, expected n = 100", m.axpb, x, y[:99], 1.0)
raises(TypeError, "expected float32, got float64", m.axpb, x.astype("f8"), y, 1.0)
raises(ValueError, "must be contiguous", m.axpb, np.zeros(200, "f4")[::2], y, 1.0)
raises(ValueError, "expected 1 dimension, got 2", m.axpb, x.reshape(10, 10), y, 1.0)
raises(TypeError, "takes 3 arguments, got 2", m.axpb, x, y)
raises(ValueError, "128 does not fit int8", m.all, 128, *values[1:], 0.25, 2.5, out)
unaligned = np.frombuffer(bytearray(401), "u1")[1:].view("f4")
raises(ValueError, "not aligned to 4 bytes", m.axpb, unaligned, y, 1.0)
assert (y == 7).all()
m.axpb(np.zeros(0, "f4"), np.zeros(0, "f4"), 1.0)
"""

METADATA = """
import json, sys
import tvm_ffi
m = tvm_ffi.load_module(sys.argv[1])
def schema(name):
    return json.loads(json.loads(m["_metadata_" + name]())["type_schema"])["named_args"]
assert schema("axpb")["return"] == [{"type": "None"}]
assert [p["type"] for p in schema("axpb")["params"]] == ["DLTensor*", "DLTensor*", "float"]
assert schema("dot")["return"] == [{"type": "float"}]
assert schema("all")["return"] == [{"type": "int"}]
assert schema("give_bool")["return"] == [{"type": "bool"}]
"""


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    directory = tmp_path_factory.mktemp("cfunctions")
    shutil.copy(DATA / "launch" / "cfunctions.c", directory)
    text = run("mpack", "init", "cfunctions.c", cwd=directory).stdout
    (directory / "mpack.toml").write_text(text)
    return directory / "mpack.toml"


@pytest.mark.parametrize("runtime", ["tvm", "tvm-ffi"])
@pytest.mark.parametrize("via", ["llvm", "c"])
def test_under_the_real_loader(tmp_path, manifest, runtime, via):
    library = tmp_path / "out.so"
    run("mpack", "build", manifest, "-o", library, "--via", via)
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(SCRIPT), runtime, library],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_metadata(tmp_path, manifest):
    library = tmp_path / "out.so"
    run("mpack", "build", manifest, "-o", library)
    done = subprocess.run([sys.executable, "-c", METADATA, library], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
