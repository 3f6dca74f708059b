# SPDX-License-Identifier: Apache-2.0
"""Kernels that Triton compiles here, as it would for a GPU, become libraries for plain tvm-ffi. The stand-in for CUDA's
driver shows what reaches the kernel; the kernels of tests/data/triton it can also run."""
import importlib.util
import json
import os
import subprocess
import sys
import textwrap

import pytest

from conftest import BIN, DATA

FAKES = os.path.join(BIN, "..", "tests", "fakes")
TRITON = importlib.util.find_spec("triton")

needs_triton = pytest.mark.skipif(TRITON is None, reason="triton is not installed")
needs_driver = pytest.mark.skipif(not os.path.exists(os.path.join(FAKES, "libcuda.so.1")),
                                  reason="the stand-in for CUDA's driver is not built (make fakes)")

PRELUDE = """
import os, sys
import numpy as np
import tvm_ffi
m = tvm_ffi.load_module(os.path.abspath(sys.argv[1]))

def raises(text, f, *args):
    try:
        f(*args)
    except Exception as e:
        assert text in str(e), (text, str(e))
    else:
        raise AssertionError("no error: " + text)
"""


def call(library, code, tmp_path):
    """Run code in a process of its own, in which the driver is the stand-in; its log."""
    log = tmp_path / "log"
    log.unlink(missing_ok=True)
    env = dict(os.environ, LD_LIBRARY_PATH=FAKES, FAKE_CUDA_LOG=str(log))
    done = subprocess.run([sys.executable, "-c", PRELUDE + textwrap.dedent(code), str(library)], env=env,
                          capture_output=True, text=True, timeout=120)
    # 86: the stand-in counts what a process never gave back, which a library that is never closed does
    assert done.returncode in (0, 86) and "Error" not in done.stderr, done.stdout + done.stderr
    return [line for line in log.read_text().splitlines() if line.startswith("cuLaunch")]


def build(mpack, folder, name, *options):
    library = folder / f"{name}.so"
    mpack("build", folder / f"{name}.cubin", "--meta", folder / f"{name}.json", "-o", library, "--force", *options)
    return library


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A folder with what this Triton makes of the kernels of tests/data/triton."""
    folder = tmp_path_factory.mktemp("triton")
    command = [sys.executable, str(DATA / "triton" / "kernels.py"), str(folder)]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    return folder


@needs_triton
def test_data_are_what_triton_writes(compiled):
    """The committed files are those of this release, but for its version and hashes."""
    for made in sorted(compiled.glob("*.json")):
        ours = json.loads((DATA / "triton" / made.name).read_text())
        theirs = json.loads(made.read_text())
        for key in ("name", "num_warps", "num_ctas", "shared", "global_scratch_size", "profile_scratch_size",
                    "launch_cooperative_grid", "launch_pdl", "tensordesc_meta"):
            assert ours[key] == theirs[key], key


@needs_triton
@needs_driver
def test_scalars_of_every_width(mpack, compiled, tmp_path):
    library = build(mpack, compiled, "record", "--grid", "1")
    log = call(library, """
        out = np.zeros(9)
        m.record(out, -5, -2**40, 0.1, 1e300, True, -7, -300, 1.5, -2.0)
        assert list(out) == [-5, -2.0**40, np.float32(0.1), 1e300, 1, -7, -300, 1.5, -2], out
        m.record(out, 2**31 - 1, 2**62, 3, 4, False, 127, 32767, 65504, 1e38)
        assert list(out[:8]) == [2**31 - 1, 2.0**62, 3, 4, 0, 127, 32767, 65504], out
        raises("128 does not fit int8", m.record, out, 0, 0, 0, 0, 0, 128, 0, 0, 0)
        raises("does not fit int32", m.record, out, 2**31, 0, 0, 0, 0, 0, 0, 0, 0)
        raises("expected float64, got float32", m.record, out.astype("f"), 0, 0, 0, 0, 0, 0, 0, 0, 0)
        raises("takes 10 arguments, got 1", m.record, out)
    """, tmp_path)
    assert log == ["cuLaunchKernel record grid=1,1,1 block=32,1,1 shared=0"] * 2


@needs_triton
@needs_driver
def test_tensors_of_any_shape(mpack, compiled, tmp_path):
    library = build(mpack, compiled, "scaled_add")
    log = call(library, """
        x, y = np.random.rand(2, 8, 16, 16).astype("f")
        out = np.zeros((2048,), "f")
        m.scaled_add(x, y, out, 2048, 0.5, 8, 1, 1)
        assert np.array_equal(out, (x + np.float32(0.5) * y).ravel())
        raises("'n': 2047 is no multiple of 16", m.scaled_add, x, y, out, 2047, 1, 8, 1, 1)
        raises("must be contiguous: stride of dimension 1 is 32, expected 16", m.scaled_add, x[:, ::2], y, out, 16, 1, 1, 1, 1)
        raises("expected a tensor, got int", m.scaled_add, 1, y, out, 16, 1, 1, 1, 1)
        m.scaled_add(x, y, out, 0, 1, 0, 1, 1)  # an empty grid
        m.scaled_add(x[:0], y[:0, ::2], out[:0], 16, 1, 1, 1, 1)  # empty tensors, of any strides
    """, tmp_path)
    assert log == ["cuLaunchKernel scaled_add grid=8,1,1 block=128,1,1 shared=0"]


@needs_triton
@needs_driver
def test_clusters_and_scratch_memory(mpack, compiled, tmp_path):
    log = call(build(mpack, compiled, "clustered"), """
        out = np.zeros(5, "int32")
        m.clustered(out, 5, 3, 1)
        assert list(out) == [2] * 5
    """, tmp_path)
    assert log == ["cuLaunchKernelEx clustered grid=10,3,1 block=128,1,1 shared=0 attributes 4=2,1,1 6=1,0,0 2=1,0,0"]
    log = call(build(mpack, compiled, "described"), """
        x = np.arange(32 * 16, dtype="float16").reshape(32, 16)
        out = np.zeros((16, 16), "float16")
        m.described(x, out, 32, 16, 2, 3, 1)
        assert np.array_equal(out, x[:16])
    """, tmp_path)
    assert log == ["cuLaunchKernel described grid=2,3,1 block=128,1,1 shared=520"]


@needs_triton
def test_a_cache_becomes_one_library(mpack, minspect, tmp_path):
    """Sizes of a block as an autotuner tries them: kernels of one name, each with its own code."""
    source = tmp_path / "k.py"
    source.write_text(textwrap.dedent("""
        import triton, triton.language as tl
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource
        @triton.jit
        def double(x, out, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
        for warps in (1, 2, 4, 8):
            for block in (64, 256):
                for t in ("*fp16", "*i64"):
                    triton.compile(ASTSource(double, {"x": t, "out": t, "n": "i32"}, constexprs={"BLOCK": block}),
                                   target=GPUTarget("cuda", 80, 32), options={"num_warps": warps})
    """))
    cache = tmp_path / "cache"
    subprocess.run([sys.executable, str(source)], check=True, capture_output=True, timeout=600,
                   env=dict(os.environ, TRITON_CACHE_DIR=str(cache)))
    library = tmp_path / "cache.so"
    mpack("build", cache, "-o", library)
    listed = minspect("functions", "--all", library).stdout
    names = [line.split("(")[0].strip() for line in listed.splitlines() if line.startswith("  double") and "x: " in line]
    assert sorted(names) == sorted(["double"] + [f"double_{i}" for i in range(2, 17)])
    cubins = [p.read_bytes() for p in cache.rglob("*.cubin")]
    blob = library.read_bytes()
    assert len(cubins) == 16 and all(c in blob for c in cubins)
