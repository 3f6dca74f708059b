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
"""


@pytest.mark.parametrize("via", ["llvm", "c"])
def test_linked_into_a_program(tmp_path, via):
    import tvm_ffi
    runtime = os.path.join(os.path.dirname(tvm_ffi.__file__), "lib")
    archive, program, kernels = (tmp_path / n for n in ("net.a", "program.so", "kernels.so"))
    run("mpack", "build", DATA / "launch" / "opencl.toml", "-o", archive, "--via", via,
        "--system-lib", "--prefix", "net_")
    run("mpack", "build", DATA / "launch" / "standalone.toml", "-o", kernels)
    subprocess.run(["cc", "-shared", "-o", program, "-Wl,--whole-archive", archive,
                    "-Wl,--no-whole-archive", f"-L{runtime}", "-ltvm_ffi",
                    f"-Wl,-rpath,{runtime}"], check=True)
    done = subprocess.run([sys.executable, "-c", SCRIPT, program, kernels],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
