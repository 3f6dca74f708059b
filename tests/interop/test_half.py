# SPDX-License-Identifier: Apache-2.0
"""lib/ground/base/half.h against NumPy (binary16) and ml_dtypes (bfloat16), which TVM uses too.

The header is compiled as standalone libraries have it: pasted, with no include path. Libraries
differ in the payload of a NaN only: NumPy keeps the upper bits of it, ml_dtypes and ours none.
"""
import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from conftest import ROOT

ml_dtypes = pytest.importorskip("ml_dtypes")

LOOPS = """
#define WIDEN(name) void name##_all(const uint16_t *in, float *out, size_t n) \\
    { for (size_t i = 0; i < n; i++) out[i] = mpk_##name##_to_f32(in[i]); }
#define NARROW(name) void to_##name##_all(const double *in, uint16_t *out, size_t n) \\
    { for (size_t i = 0; i < n; i++) out[i] = mpk_f64_to_##name(in[i]); }
WIDEN(f16) WIDEN(bf16) NARROW(f16) NARROW(bf16)
"""
TYPES = [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)]


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    cc = shutil.which("cc") or pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("half")
    source = folder / "half.c"
    source.write_text((ROOT / "lib/ground/base/half.h").read_text() + LOOPS)
    subprocess.run([cc, "-O2", "-fPIC", "-shared", "-o", folder / "half.so", source], check=True)
    return ctypes.CDLL(str(folder / "half.so"))


def convert(ours, name, values, kind):
    values = np.ascontiguousarray(values)
    out = np.empty(values.shape, kind)
    getattr(ours, name)(values.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p),
                        ctypes.c_size_t(values.size))
    return out


@pytest.mark.parametrize("name, kind", TYPES)
def test_all_65536_values_back(ours, name, kind):
    bits = np.arange(65536, dtype=np.uint16)
    got = convert(ours, f"{name}_all", bits, np.float32)
    want = bits.view(kind).astype(np.float32)
    nan = np.isnan(want)
    assert np.array_equal(got.view(np.uint32)[~nan], want.view(np.uint32)[~nan])
    assert np.isnan(got[nan]).all()
    assert np.array_equal(np.signbit(got), bits >= 0x8000)


def samples(kind):
    """Random doubles of every size, floats, every number of the type, and what lies beside ties."""
    random = np.random.default_rng(2026)
    with np.errstate(all="ignore"):
        any_double = random.integers(0, 2**64, 600_000, np.uint64).view(np.float64)
        floats = random.integers(0, 2**32, 600_000, np.uint32).view(np.float32).astype(np.float64)
        exponents = np.ldexp(random.uniform(1, 2, 400_000), random.integers(-150, 130, 400_000))
        numbers = np.arange(0x7f80 if kind != np.float16 else 0x7c00, dtype=np.uint16).view(kind).astype(np.float64)
        ties = (numbers[1:] + numbers[:-1]) / 2
        return np.concatenate([any_double, floats, exponents, -exponents, numbers, ties, -ties,
                               np.nextafter(ties, 0), np.nextafter(ties, np.inf)])


@pytest.mark.parametrize("name, kind", TYPES)
def test_two_million_numbers_forth(ours, name, kind):
    values = samples(kind)
    if name == "bf16":
        # ml_dtypes goes through float, which rounds doubles twice; tests/unit/check_half.c, which
        # knows the exact answer, judges those
        with np.errstate(all="ignore"):
            values = values.astype(np.float32).astype(np.float64)
    with np.errstate(all="ignore"):
        want = values.astype(kind)
    got = convert(ours, f"to_{name}_all", values, np.uint16)
    nan = np.isnan(values)
    assert len(values) > 1_000_000
    assert np.array_equal(got[~nan], want.view(np.uint16)[~nan])
    assert np.isnan(got[nan].view(kind).astype(np.float32)).all()
    assert np.array_equal(got[nan] >= 0x8000, np.signbit(values[nan]))
