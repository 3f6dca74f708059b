# SPDX-License-Identifier: Apache-2.0
"""Standalone packages under plain tvm-ffi, which knows no cuda or opencl kind: launch
functions called from Python with NumPy arrays, on whatever OpenCL device is here."""
import subprocess
import sys
import textwrap

import pytest

from conftest import DATA

MANIFEST = DATA / "launch" / "standalone.toml"

# In a process of its own: tvm_ffi is loaded there without TVM beside it.
PRELUDE = """
import sys
import numpy as np
import tvm_ffi
f32 = np.float32
m = tvm_ffi.load_module(sys.argv[1])
rng = np.random.default_rng(7)

def raises(text, f, *args):
    before = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    try:
        f(*args)
    except Exception as e:
        assert text in str(e), (text, str(e))
    else:
        raise AssertionError("no error: " + text)
    for a, b in zip(args, before):
        assert not isinstance(a, np.ndarray) or np.array_equal(a, b, equal_nan=True)
"""

CASES = {
    "saxpy": """
        x = rng.standard_normal(1000).astype(f32)
        y = rng.standard_normal(1000).astype(f32)
        expected = f32(2.5) * x + y
        m.saxpy(2.5, x, y)
        assert np.array_equal(y, expected)
    """,
    "transpose": """
        a = rng.standard_normal((37, 53)).astype(f32)
        b = np.zeros((53, 37), f32)
        m.transpose(a, b)
        assert np.array_equal(b, a.T)
    """,
    "reduction in two steps": """
        def tree(v):
            parts = []
            for i in range(0, len(v), 256):
                s = np.zeros(256, f32)
                s[:len(v[i:i + 256])] = v[i:i + 256]
                step = 128
                while step:
                    s[:step] += s[step:2 * step]
                    step //= 2
                parts.append(s[0])
            return np.array(parts, f32)
        v = rng.standard_normal(50000).astype(f32)
        total = np.zeros(1, f32)
        m["sum"](v, total)
        assert total[0] == tree(tree(v))[0]
    """,
    "float16 and int64": """
        h = rng.standard_normal(300).astype(np.float16)
        g = np.zeros(300, np.float16)
        m.scale_half(h, g, 1.5)
        assert np.array_equal(g, (h.astype(f32) * f32(1.5)).astype(np.float16))
    """,
    "nothing to do": """
        m.saxpy(1, np.zeros(0, f32), np.zeros(0, f32))
        m.transpose(np.zeros((0, 5), f32), np.zeros((5, 0), f32))
    """,
    "wrong calls": """
        x = np.ones(10, f32)
        raises("dimension 0 is 9, expected n = 10", m.saxpy, 1.0, x, x[:9])
        raises("expected float32, got float64", m.saxpy, 1.0, x, x.astype(np.float64))
        raises("must be contiguous", m.saxpy, 1.0, np.ones(20, f32)[::2], x)
        raises("takes 3 arguments, got 2, when calling saxpy(alpha: float32", m.saxpy, 1.0, x)
        raises("expected a number (float32), got str", m.saxpy, "a", x, x)
        raises("expected a tensor of 1 dimension, got None", m.saxpy, 1.0, None, x)
        raises("expected 2 dimensions, got 1", m.transpose, x, x)
        raises("dimension 1 is 4, expected rows = 3", m.transpose, np.ones((3, 4), f32),
               np.ones((4, 4), f32))
    """,
    "a thousand calls": """
        x = np.ones(256, f32)
        y = np.zeros(256, f32)
        for i in range(1000):
            m.saxpy(1, x, y)
        assert np.all(y == 1000)
    """,
}


@pytest.fixture(scope="module", params=["llvm", "c"])
def library(request, tmp_path_factory):
    from conftest import run
    out = tmp_path_factory.mktemp("standalone") / "launch.so"
    run("mpack", "build", MANIFEST, "-o", out, "--via", request.param)
    return out


@pytest.mark.parametrize("case", CASES)
def test_under_plain_tvm_ffi(library, case):
    done = subprocess.run([sys.executable, "-c", PRELUDE + textwrap.dedent(CASES[case]), library],
                          capture_output=True, text=True, timeout=120)
    if "no OpenCL device" in done.stderr or "cannot open libOpenCL" in done.stderr:
        pytest.skip("no OpenCL device here")
    assert done.returncode == 0, done.stderr
