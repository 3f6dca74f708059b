# SPDX-License-Identifier: Apache-2.0
"""Models that TVM compiles now give TVM's own numbers, and their signatures are the models' own."""
import ctypes.util

import numpy
import pytest
import relaxlib
import relaxmodels
import relaxrun
import tvm
from tvm import relax

# What TVM itself does not compile, and what it says then.
NOT_COMPILED = {("0.25", "buckets"): "Expected integer argument as LHS of >>"}


@pytest.mark.parametrize("mode", relaxrun.MODES)
@pytest.mark.parametrize("model", relaxmodels.MODELS, ids=lambda m: m.__name__)
def test_model(model, mode, minspect, tmp_path):
    module, calls = model(numpy.random.default_rng(1))
    library = tmp_path / "model.so"
    expected = NOT_COMPILED.get((tvm.__version__[:4], model.__name__))
    if expected:
        with pytest.raises(Exception, match=expected):
            relaxrun.build(module, library, mode)
        return
    run = relaxrun.Calls(tmp_path, relaxrun.build(module, library, mode))
    for function, inputs, tag in calls:
        run.add(function, inputs, tag=tag)
    run.compare(minspect, library)
    relaxrun.compare_signatures(minspect, library, module, mode)


@pytest.mark.parametrize("mode", relaxrun.MODES)
@pytest.mark.parametrize("name", relaxlib.PROGRAMS)
def test_signature(name, mode, minspect, tmp_path):
    module, library = relaxlib.parse(relaxlib.PROGRAMS[name][0]), tmp_path / "model.so"
    relaxrun.build(module, library, mode)
    relaxrun.compare_signatures(minspect, library, module, mode)


def test_call_line_works(minspect, tmp_path):
    """The call that minspect prints for a function runs as it stands."""
    module, _ = relaxmodels.tuples(numpy.random.default_rng(1))
    library = tmp_path / "model.so"
    relaxrun.build(module, library)
    (line,) = [x for x in minspect("--functions", library).stdout.splitlines()
               if "minspect run swap" in x]
    words = line.split("minspect run swap ")[1].split(" ", 1)[1]
    assert words == "--input '(2xi8=rand; 1xbool=rand)'"
    said = minspect("--run", "swap", library, "--input", "(2xint8=rand; 1xbool=rand)").stdout
    assert [x.split("=")[0] for x in said.splitlines()] == ["1xbool", "2xi8"]


# --- where models come from ---------------------------------------------------------------------

def onnx_model(onnx):
    """Convolution, pooling, Gemm, Softmax, a branch on data, NonZero; dynamic in its batch."""
    helper, float32 = onnx.helper, onnx.TensorProto.FLOAT
    rng = numpy.random.default_rng(3)

    def constant(name, *shape):
        return onnx.numpy_helper.from_array(relaxmodels.normal(rng, *shape) * 0.3, name)

    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "w2", "b2"], ["g"], transB=1),
        helper.make_node("Softmax", ["g"], ["y"], axis=-1),
        helper.make_node("ReduceMean", ["g", "axes"], ["m"], keepdims=0),
    ]
    graph = helper.make_graph(
        nodes, "model", [helper.make_tensor_value_info("x", float32, ["batch", 2, 8, 8])],
        [helper.make_tensor_value_info("y", float32, ["batch", 5]),
         helper.make_tensor_value_info("m", float32, ["batch"])],
        [constant("w1", 4, 2, 3, 3), constant("b1", 4), constant("w2", 5, 64), constant("b2", 5),
         onnx.numpy_helper.from_array(numpy.array([1]), "axes")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    return model


@pytest.mark.parametrize("mode", relaxrun.MODES)
@pytest.mark.parametrize("bound", [True, False])
def test_onnx(bound, mode, minspect, tmp_path):
    onnx = pytest.importorskip("onnx")
    from tvm.relax.frontend.onnx import from_onnx

    module = from_onnx(onnx_model(onnx), keep_params_in_input=not bound)
    module, params = relax.frontend.detach_params(module)
    library = tmp_path / "model.so"
    run = relaxrun.Calls(tmp_path, relaxrun.build(module, library, mode))
    weights = [p.numpy() for p in params.get("main", [])]
    assert bool(weights) != bound
    for batch in (1, 3):
        x = relaxmodels.normal(numpy.random.default_rng(batch), batch, 2, 8, 8)
        run.add("main", [x, *weights])
    run.compare(minspect, library)
    relaxrun.compare_signatures(minspect, library, module, mode)


# --- devices ------------------------------------------------------------------------------------

OPENCL = [relaxmodels.transformer_bound, relaxmodels.convolution, relaxmodels.plain_cnn,
          relaxmodels.branches]


@pytest.mark.parametrize("model", OPENCL, ids=lambda m: m.__name__)
def test_opencl(model, minspect, tmp_path):
    """TVM's package has no OpenCL runtime: what its CPU code gives is what OpenCL has to give."""
    if not ctypes.util.find_library("OpenCL"):
        pytest.skip("no OpenCL library")
    module, calls = model(numpy.random.default_rng(1))
    run = relaxrun.Calls(tmp_path, relaxrun.build(module, tmp_path / "cpu.so"))
    for function, inputs, tag in calls:
        run.add(function, inputs, 1e-5, tag)
    library = tmp_path / "opencl.so"
    target = tvm.target.Target("opencl", host="llvm")
    relax.build(module, target=target).export_library(str(library))
    relaxrun.compare_signatures(minspect, library, module, "bytecode")
    run.compare(minspect, library, "--device", "opencl")


# --- what is not there --------------------------------------------------------------------------

MISSING = """
@I.ir_module
class Module:
    @R.function
    def with_it(x: R.Tensor((4,), "float32")):
        y = R.call_dps_packed("acme.conv", (x,), R.Tensor((4,), "float32"))
        return y

    @R.function
    def without_it(x: R.Tensor((4,), "float32")):
        y = R.add(x, x)
        return y
"""


@pytest.mark.parametrize("mode", relaxrun.MODES)
def test_missing_function_is_named(mode, minspect, tmp_path):
    library = tmp_path / "model.so"
    executable = relax.build(relaxlib.parse(MISSING), target="llvm", exec_mode=mode)
    executable.export_library(str(library))
    done = minspect("--run", "with_it", library, "--input", "4xf32=1", status=6)
    assert "acme.conv" in done.stderr
    minspect("--run", "without_it", library, "--input", "4xf32=1", "--expect", "4xf32=2")
