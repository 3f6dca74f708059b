# SPDX-License-Identifier: Apache-2.0
"""System libraries: an archive that mpack made, linked into a program that has the real
tvm-ffi, registers its blob and its launch functions at start-up, under their prefix."""
import os
import subprocess
import sys

import pytest

from conftest import DATA, run

SCRIPT = """
import ctypes
import sys
import numpy as np
import tvm_ffi
payloads = []
def load(data):
    payloads.append(len(data))
    return tvm_ffi.load_module(sys.argv[2])
tvm_ffi.register_global_func("ffi.Module.load_from_bytes.opencl", load, override=True)
ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
m = tvm_ffi.system_lib("net_")
assert len(payloads) == 1 and payloads[0] > 1000
assert [i.kind for i in m.imports] == ["library"]
try:
    m.saxpy(1.0, np.zeros(3, "f4"), np.zeros(3, "f4"))
except ValueError as e:
    assert "must be on opencl, is on cpu" in str(e)
else:
    raise AssertionError("a tensor on the CPU was taken")

# A tensor that says it is on the device: the call goes through the imports to the kernel.
class OnDevice:
    def __init__(self, array):
        self.array = array
    def __dlpack_device__(self):
        return (4, 0)
    def __dlpack__(self, **kwargs):
        capsule = self.array.__dlpack__()
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        managed = get(capsule, b"dltensor")
        ctypes.c_int32.from_address(managed + 8).value = 4
        return capsule
tvm_ffi.register_global_func("__tvm_set_device", lambda *args: None, override=True)
x, y = np.arange(3, dtype="f4"), np.ones(3, "f4")
m.saxpy(2.0, tvm_ffi.from_dlpack(OnDevice(x)), tvm_ffi.from_dlpack(OnDevice(y)))
kernels = tvm_ffi.load_module(sys.argv[2])
assert [kernels.launched(i) for i in range(2, 6)] == [2, 3, 1, 128]
"""


# In place of a device's module: it keeps what its kernel was called with.
KERNELS = """
#include <stdint.h>
struct any { int32_t type, pad; union { int64_t i; double f; void *p; }; };
#define FUNCTION(name) __attribute__((visibility("default"))) int __tvm_ffi_##name(void *self, \\
	const struct any *args, int32_t n, struct any *result)
static int64_t seen[6];
FUNCTION(saxpy)
{
	for (int i = 0; i < n && i < 6; i++)
		seen[i] = args[i].type == 3 ? (int64_t)args[i].f : args[i].i;
	return 0;
}
FUNCTION(launched)
{
	result->type = 1;
	result->i = seen[args[0].i];
	return 0;
}
"""


@pytest.mark.parametrize("via", ["llvm", "c"])
def test_linked_into_a_program(tmp_path, via):
    import tvm_ffi
    runtime = os.path.join(os.path.dirname(tvm_ffi.__file__), "lib")
    archive, program, kernels = (tmp_path / n for n in ("net.a", "program.so", "kernels.so"))
    run("mpack", "build", DATA / "launch" / "opencl.toml", "-o", archive, "--via", via,
        "--system-lib", "--prefix", "net_")
    (tmp_path / "kernels.c").write_text(KERNELS)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", kernels, tmp_path / "kernels.c"], check=True)
    subprocess.run(["cc", "-shared", "-o", program, "-Wl,--whole-archive", archive,
                    "-Wl,--no-whole-archive", f"-L{runtime}", "-ltvm_ffi",
                    f"-Wl,-rpath,{runtime}"], check=True)
    done = subprocess.run([sys.executable, "-c", SCRIPT, program, kernels],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
