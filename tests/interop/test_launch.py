# SPDX-License-Identifier: Apache-2.0
"""Launch functions under the real loaders, TVM's and tvm-ffi's, which find their kernels
among the imports. No device is here that these know, so the OpenCL module's loader is
a global function of the test that answers with a host library whose functions are the
kernels, and tensors say that they are on an OpenCL device while they lie in host memory."""
import shutil
import subprocess
import sys
import textwrap

import pytest

from conftest import DATA, run

KERNELS = r"""
#include <stdint.h>
struct any { int32_t type; uint32_t pad; union { int64_t i; double f; void *p; } v; };
#define EXPORT __attribute__((visibility("default")))

EXPORT int __tvm_ffi_saxpy(void *self, const struct any *a, int32_t n, struct any *result)
{
	enum { INT = 1, REAL = 3, POINTER = 4 };
	float *x = a[0].v.p, *y = a[1].v.p;

	(void)self;
	result->type = 0;
	if (n != 6 || a[0].type != POINTER || a[1].type != POINTER || a[2].type != REAL ||
	    a[3].type != INT || a[5].v.i != 128)
		return -1;
	for (int64_t i = 0; i < a[4].v.i * a[5].v.i && i < a[3].v.i; i++)
		y[i] = (float)a[2].v.f * x[i] + y[i];
	return 0;
}
"""

MANIFEST = """
[package]
name = "kernels"
[[module]]
id      = "host"
kind    = "host"
sources = ["kernels.c"]
"""

SCRIPT = """
import ctypes
import sys
import numpy as np
if sys.argv[1] == "tvm":
    import tvm
import tvm_ffi

OPENCL = 4

class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]

class DType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]

class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", Device), ("ndim", ctypes.c_int32),
                ("dtype", DType), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64)]

class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]

capsule = ctypes.pythonapi.PyCapsule_New
capsule.restype = ctypes.py_object
capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

class OnDevice:
    def __init__(self, array):
        self.array = array
        self.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        code = {"f": 2, "i": 0, "u": 1}[array.dtype.kind]
        self.managed = Managed(Tensor(array.ctypes.data, Device(OPENCL, 0), array.ndim,
                                      DType(code, array.dtype.itemsize * 8, 1), self.shape,
                                      None, 0), None, None)
    def __dlpack__(self, **options):
        return capsule(ctypes.addressof(self.managed), b"dltensor", None)
    def __dlpack_device__(self):
        return (OPENCL, 0)

keep = []
def on_device(array):
    keep.append(OnDevice(array))
    return tvm_ffi.from_dlpack(keep[-1])

devices = []
tvm_ffi.register_global_func("__tvm_set_device", lambda t, i: devices.append((t, i)), override=True)
tvm_ffi.register_global_func("ffi.Module.load_from_bytes.opencl",
                             lambda data: tvm_ffi.load_module(sys.argv[3]), override=True)
m = tvm_ffi.load_module(sys.argv[2])
f32 = np.float32
x = np.arange(300, dtype=f32)
y = np.ones(300, f32)
m.saxpy(2.5, on_device(x), on_device(y))
assert np.array_equal(y, f32(2.5) * x + 1)
assert devices == [(OPENCL, 0)]

def raises(kind, text, *args, function=m.saxpy):
    before = y.copy()
    try:
        function(*args)
    except kind as e:
        assert text in str(e), str(e)
    else:
        raise AssertionError("no error: " + text)
    assert np.array_equal(y, before)

raises(ValueError, "must be on opencl, is on cpu", 1.0, x, y)
raises(ValueError, "dimension 0 is 299, expected n = 300", 1.0, on_device(x), on_device(y[:299]))
raises(TypeError, "expected float32, got float64", 1.0, on_device(x.astype("f8")), on_device(y))
raises(TypeError, "takes 3 arguments", 1.0, on_device(x))
raises(ValueError, "300 does not fit int8", 300, on_device(x), on_device(y), function=m.first)
"""


FIRST = """
[[function]]
name   = "first"
kernel = "k.saxpy"
params = ["count: int8", "x: in float32[n]", "y: inout float32[n]"]
args   = ["x", "y", "1.0", "count"]
grid   = [1]
block  = [128]
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    directory = tmp_path_factory.mktemp("kernels")
    (directory / "kernels.c").write_text(KERNELS)
    (directory / "mpack.toml").write_text(MANIFEST)
    run("mpack", "build", directory / "mpack.toml", "-o", directory / "kernels.so")
    return directory / "kernels.so"


@pytest.mark.parametrize("runtime", ["tvm", "tvm-ffi"])
@pytest.mark.parametrize("via", ["llvm", "c"])
def test_under_the_real_loader(tmp_path, kernels, runtime, via):
    library = tmp_path / "launch.so"
    shutil.copy(DATA / "launch" / "kernels.cl", tmp_path)
    (tmp_path / "mpack.toml").write_text((DATA / "launch" / "opencl.toml").read_text() + FIRST)
    run("mpack", "build", tmp_path / "mpack.toml", "-o", library, "--via", via)
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(SCRIPT), runtime, library, kernels],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
