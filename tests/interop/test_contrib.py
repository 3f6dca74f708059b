# SPDX-License-Identifier: Apache-2.0
"""The global functions that kernels call: sorting, as TVM itself does it and as NumPy does."""
import numpy
import pytest
import tvm
import tvm_ffi
from tvm import relax
from tvm.relax import op

SHAPES = [((7,), 0), ((3, 11), 1), ((11, 3), 0), ((2, 9, 4), 1), ((2, 5, 40), -1)]
TYPES = ["float32", "float64", "int32", "int64", "float16"]


def numbers(rng, shape, dtype):
    """Few values, so that there are ties."""
    return rng.integers(-4, 5, shape).astype(dtype)


def compile_model(path, x, body):
    """main(x) of the operators that body emits, and TVM's machine for it."""
    builder = relax.BlockBuilder()
    var = relax.Var("x", relax.TensorType(x.shape, str(x.dtype)))
    with builder.function("main", [var]):
        with builder.dataflow():
            result = builder.emit_output(body(var))
        builder.emit_func_output(result)
    executable = relax.build(builder.get(), target="llvm")
    executable.export_library(str(path))
    return relax.VirtualMachine(executable, tvm.cpu())


def leaves(value):
    return [value.numpy()] if hasattr(value, "numpy") else [x.numpy() for x in value]


def compare(minspect, folder, x, body):
    """The same bytes as TVM's machine gives, as byte code and by its plan; what those are."""
    library = folder / "model.so"
    outputs = leaves(compile_model(library, x, body)["main"](tvm.runtime.tensor(x)))
    numpy.save(folder / "in.npy", x)
    expected = []
    for i, y in enumerate(outputs):
        numpy.save(folder / f"out{i}.npy", y)
        expected += ["--expect", f"@{folder}/out{i}.npy"]
    minspect("--run", "main", library, "--input", f"@{folder}/in.npy", *expected, "--atol", "0",
             "--rtol", "0", "--repeat", "4")
    return outputs


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape,axis", SHAPES)
def test_sort(shape, axis, dtype, minspect, tmp_path):
    x = numbers(numpy.random.default_rng(1), shape, dtype)
    (up,) = compare(minspect, tmp_path, x, lambda v: op.sort(v, axis=axis))
    assert (up == numpy.sort(x, axis=axis, kind="stable")).all()
    compare(minspect, tmp_path, x, lambda v: op.sort(v, axis=axis, descending=True))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("shape,axis", SHAPES)
def test_argsort(shape, axis, descending, dtype, minspect, tmp_path):
    x = numbers(numpy.random.default_rng(2), shape, "float32")
    (order,) = compare(minspect, tmp_path, x, lambda v: op.argsort(
        v, axis=axis, descending=descending, dtype=dtype))
    key = -x if descending else x
    assert (order == numpy.argsort(key, axis=axis, kind="stable")).all()


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("ret_type", ["both", "values", "indices"])
@pytest.mark.parametrize("shape,axis,k", [((7,), 0, 3), ((3, 11), 1, 11), ((2, 9, 4), 1, 1),
                                          ((2, 5, 400), -1, 5), ((6, 2), 0, -1)])
def test_topk(shape, axis, k, ret_type, largest, minspect, tmp_path):
    x = numbers(numpy.random.default_rng(3), shape, "float32")
    outputs = compare(minspect, tmp_path, x, lambda v: op.topk(
        v, k=k, axis=axis, ret_type=ret_type, largest=largest, dtype="int64"))
    count = shape[axis] if k < 1 else k
    order = numpy.argsort(-x if largest else x, axis=axis, kind="stable")
    order = numpy.take(order, numpy.arange(count), axis=axis)
    expected = {"values": [numpy.take_along_axis(x, order, axis)], "indices": [order]}
    expected["both"] = expected["values"] + expected["indices"]
    for got, wanted in zip(outputs, expected[ret_type], strict=True):
        assert (got == wanted).all()


def test_zeros_of_both_signs_keep_their_order(minspect, tmp_path):
    x = numpy.array([0.0, -0.0, 1, -0.0, 0.0, -1], "float32")
    for descending in (False, True):
        (order,) = compare(minspect, tmp_path, x, lambda v: op.argsort(
            v, axis=0, descending=descending, dtype="int32"))
        assert [i for i in order if x[i] == 0] == [0, 1, 3, 4]


def test_every_name_of_tvm_is_there(minspect, tmp_path):
    """What this TVM's own runtime has of these families."""
    names = [n for n in tvm_ffi.registry.list_global_func_names()
             if n.startswith(("tvm.contrib.sort.", "tvm.contrib.random."))]
    assert len(names) >= 8
    for name in names:
        kernel = tvm.tirx.call_packed(name)
        function = tvm.tirx.PrimFunc([], tvm.tirx.Evaluate(kernel)).with_attr("global_symbol", "f")
        tvm.compile(tvm.IRModule({"f": function}), target="llvm").export_library(
            str(tmp_path / "f.so"))
        said = minspect("--run", "f", tmp_path / "f.so", status=8).stderr
        assert f"TypeError: {name}: got 0 arguments" in said
