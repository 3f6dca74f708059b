# SPDX-License-Identifier: Apache-2.0
"""TVM's export_library through mpk.tvm: the same modules as TVM's own library, loaded and run by TVM."""
import json

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import relax as R

import mpk
import mpk.tvm


def compiled(target="llvm"):
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 64), "float32"))
    weights = np.random.default_rng(3).standard_normal((64, 32)).astype("float32")
    with bb.function("forward", [x]):
        with bb.dataflow():
            y = bb.emit(relax.op.matmul(x, relax.const(weights)))
            out = bb.emit_output(relax.op.nn.relu(y))
        bb.emit_func_output(out)
    return tvm.compile(bb.get(), target=target), weights


def modules(path):
    """Kind and size of each module, by its place in the tree."""
    found = []

    def walk(value):
        if isinstance(value, dict):
            if "kind" in value and "path" in value:
                found.append((value["path"], value["kind"], value.get("bytes"), value.get("xxh128")))
            for v in value.values():
                walk(v)
        elif isinstance(value, list):
            for v in value:
                walk(v)

    walk(json.loads(json.dumps(mpk.tree(path))))
    return found


@pytest.mark.parametrize("how", ["both", "fcompile alone"])
def test_the_library_is_that_of_tvm(tmp_path, how):
    executable, weights = compiled()
    executable.export_library(str(tmp_path / "tvm.so"))
    more = {"fpack_imports": mpk.tvm.fpack_imports} if how == "both" else {}
    executable.export_library(str(tmp_path / "mpk.so"), fcompile=mpk.tvm.fcompile, **more)
    assert modules(tmp_path / "mpk.so") == modules(tmp_path / "tvm.so") != []
    assert mpk.verify(tmp_path / "mpk.so")["errors"] == 0
    x = np.random.default_rng(4).standard_normal((4, 64)).astype("float32")
    vm = relax.VirtualMachine(tvm.runtime.load_module(str(tmp_path / "mpk.so")), tvm.cpu())
    given = vm["forward"](tvm.runtime.tensor(x)).numpy()
    np.testing.assert_allclose(given, np.maximum(x @ weights, 0), rtol=1e-4, atol=1e-4)
    assert np.array_equal(mpk.open(tmp_path / "mpk.so").forward(x), given)


def test_what_the_compiler_says_is_raised(tmp_path):
    executable, _ = compiled()
    with pytest.raises((RuntimeError, mpk.ToolError), match="no-such-flag|unrecognized"):
        executable.export_library(str(tmp_path / "mpk.so"), fcompile=mpk.tvm.fcompile,
                                  fpack_imports=mpk.tvm.fpack_imports, options=["-fno-such-flag"])
    assert not (tmp_path / "mpk.so").exists()


@pytest.mark.parametrize("mode", ["bytecode", "compiled"])
def test_shapes_are_tuples_where_the_file_says_so(tmp_path, mode):
    bb = relax.BlockBuilder()
    n = tvm.tirx.Var("n", "int64")
    s, x = relax.Var("s", R.Shape([n, 2])), relax.Var("x", R.Tensor((n * 2,), "float32"))
    with bb.function("forward", [s, x]):
        bb.emit_func_output(bb.emit(relax.op.reshape(x, relax.ShapeExpr([n, 2]))))
    relax.build(bb.get(), target="llvm", exec_mode=mode).export_library(str(tmp_path / "shape.so"))
    forward, x = mpk.open(tmp_path / "shape.so").forward, np.arange(6, dtype=np.float32)
    for given in ((3, 2), [3, 2], (np.int64(3), 2), mpk.shape(3, 2)):
        assert np.array_equal(forward(given, x), x.reshape(3, 2))
    # the library knows the extents of byte code; those of compiled code are compared by the model
    with pytest.raises(ValueError if mode == "bytecode" else RuntimeError):
        forward((4, 2), x)
    with pytest.raises(TypeError, match="integer scalar"):
        forward((3, x), x)


def test_the_machine_takes_functions_and_shows_calls():
    @R.function
    def main(x: R.Tensor((4,), "float32"), callback: R.Callable([R.Tensor((4,), "float32")], R.Tuple([]))):
        y = R.add(x, x)
        _ = callback(y)
        return y

    machine = mpk.tvm.VirtualMachine(relax.build(tvm.IRModule({"main": main}), "llvm"), tvm.cpu())
    x, seen, calls = tvm.runtime.tensor(np.arange(4, dtype="float32")), [], []
    assert np.array_equal(machine["main"](x, seen.append).numpy(), x.numpy() * 2)
    assert np.array_equal(seen[0].numpy(), x.numpy() * 2)  # as TVM's, and good afterwards

    def instrument(func, name, before_run, ret_val, *args):
        calls.append((name, before_run, ret_val))
        if name == "add" and before_run:
            out = tvm.runtime.tensor(np.zeros(4, "float32"))
            func(*args[:-1], out)  # while the model calls
            seen.append(out.numpy())
            return 1  # it is not called

    machine.set_instrument(instrument)
    machine["main"](x, seen.append)
    machine.set_instrument(None)
    assert ("add", True, None) in calls and not any(c[:2] == ("add", False) for c in calls)
    assert np.array_equal(seen[1], x.numpy() * 2)
    assert machine.imports[0].implements_function("add")
