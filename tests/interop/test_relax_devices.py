# SPDX-License-Identifier: Apache-2.0
"""Models on two devices, as TVM compiles them: each input is placed by itself.

TVM's package has no OpenCL runtime, so the numbers are NumPy's."""
import ctypes.util
import shlex

import numpy
import pytest
import relaxlib
import relaxrun
import tvm
from tvm import relax

# name -> the virtual devices in the order of their numbers, the annotations of x and y
MODELS = {
    "device_first": ("opencl", "llvm", ', "opencl"', ', "llvm"'),
    "host_first": ("llvm", "opencl", ', "opencl"', ', "llvm"'),
    "silent": ("opencl", "llvm", "", ""),
}
SOURCE = """
@I.ir_module
class Module:
    I.module_global_infos({{"vdevice": [I.vdevice("{0}", 0), I.vdevice("{1}", 0)]}})

    @R.function
    def main(x: R.Tensor((4,), "float32"{2}), y: R.Tensor((4,), "float32"{3})):
        with R.dataflow():
            a = R.to_vdevice(x, "opencl")
            b = R.add(a, a)
            c = R.to_vdevice(b, "llvm")
            d = R.multiply(c, y)
            R.output(d)
        return d

    @R.function
    def both(x: R.Tensor((4,), "float32"{3})):
        with R.dataflow():
            a = R.to_vdevice(x, "opencl")
            b = R.add(a, a)
            c = R.to_vdevice(b, "llvm")
            d = R.multiply(c, x)
            R.output(d)
        return d
"""
X, Y = [1, 2, 3, 4], [5, 6, 7, 8]


def compiled(model, mode, path):
    if not ctypes.util.find_library("OpenCL"):
        pytest.skip("no OpenCL library")
    target = tvm.target.Target("opencl", host="llvm")
    module = relaxlib.parse(SOURCE.format(*MODELS[model]))
    with target:
        module = relax.transform.RealizeVDevice()(module)
        module = relax.transform.LegalizeOps()(module)
        relax.build(module, target=target, exec_mode=mode).export_library(str(path))


def tensor(values):
    return "4xf32=" + ",".join(map(str, values))


@pytest.mark.parametrize("mode", relaxrun.MODES)
@pytest.mark.parametrize("model", MODELS)
def test_two_devices(model, mode, minspect, tmp_path):
    library = tmp_path / "model.so"
    compiled(model, mode, library)
    product = (2 * numpy.array(X) * numpy.array(Y)).tolist()
    square = (2 * numpy.array(X) * numpy.array(X)).tolist()
    for repeat in ("1", "3"):
        minspect("--run", "main", library, "--input", tensor(X), "--input", tensor(Y),
                 "--expect", tensor(product), "--repeat", repeat)
        minspect("--run", "both", library, "--input", tensor(X), "--expect", tensor(square),
                 "--repeat", repeat)
    # the call that is printed runs as it stands, once its values are filled in
    (line,) = [x for x in minspect("--functions", library).stdout.splitlines()
               if "minspect run main" in x]
    minspect(*shlex.split(line)[1:])


@pytest.mark.parametrize("mode", relaxrun.MODES)
def test_said(mode, minspect, tmp_path):
    """What the call says counts where it is right, and is refused, by name, where it is not."""
    library = tmp_path / "model.so"
    compiled("device_first", mode, library)
    call = ["--run", "main", library, "--input"]
    minspect(*call, tensor(X) + "@opencl", "--input", tensor(Y) + "@cpu")
    said = minspect(*call, tensor(X) + "@cpu", "--input", tensor(Y), status=2).stderr
    assert "its input 0, 'x', on opencl, and the call puts it on cpu" in said
    said = minspect(*call, tensor(X), "--input", tensor(Y) + "@opencl:0", status=2).stderr
    assert "its input 1, 'y', on cpu, and the call puts it on opencl" in said


FOUND = """
@I.ir_module
class Module:
    @R.function
    def nonzero(x: R.Tensor((3, 4), "int32")):
        y = R.add(x, x)
        z = R.nonzero(y)
        return z

    @R.function
    def unique(x: R.Tensor((3, 4), "int32")):
        y = R.add(x, x)
        z = R.unique(y)
        return z
"""


@pytest.mark.parametrize("mode", relaxrun.MODES)
def test_as_many_as_the_data_says(mode, minspect, tmp_path):
    """What NumPy does for TVM: elements are fetched from the device, and results are in host memory."""
    if not ctypes.util.find_library("OpenCL"):
        pytest.skip("no OpenCL library")
    target, library = tvm.target.Target("opencl", host="llvm"), tmp_path / "model.so"
    with target:
        relax.build(relaxlib.parse(FOUND), target=target, exec_mode=mode).export_library(str(library))
    x = numpy.random.default_rng(2).integers(0, 3, (3, 4)).astype("int32")
    text = "3x4xi32=" + ",".join(map(str, x.ravel()))
    for function, wanted in ("nonzero", numpy.stack(numpy.nonzero(x))), ("unique", numpy.unique(2 * x)):
        numpy.save(tmp_path / f"{function}.npy", wanted)
        minspect("--run", function, library, "--input", text, "--expect", f"@{tmp_path}/{function}.npy")
