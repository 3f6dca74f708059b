# SPDX-License-Identifier: Apache-2.0
"""minspect --run gives what TVM's own machine gives, for models that TVM compiled just now."""
import os

import numpy
import pytest
import relaxlib
import relaxrun
import tvm

MODES = ["bytecode", "compiled"]


def compare(minspect, machine, library, function, inputs, folder):
    """Run it in both and compare to the last bit: once as byte code, then as a recorded plan."""
    values = relaxlib.flatten(machine[function](*[tvm.runtime.tensor(x) for x in inputs]))
    arguments, expected = [], []
    for i, x in enumerate(inputs):
        numpy.save(folder / f"in{i}.npy", x)
        arguments += ["--input", f"@{folder}/in{i}.npy"]
    for i, y in enumerate(values):
        if isinstance(y, tuple):
            expected += ["--expect", "shape=" + ",".join(map(str, y))]
            continue
        numpy.save(folder / f"out{i}.npy", y)
        expected += ["--expect", f"@{folder}/out{i}.npy"]
    for repeat in (1, 4):
        minspect("--run", function, library, *arguments, *expected, "--atol", "0", "--rtol", "0",
                 "--repeat", repeat)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", relaxlib.PROGRAMS)
def test_program(name, mode, minspect, tmp_path):
    source, calls = relaxlib.PROGRAMS[name]
    library, rng = tmp_path / "model.so", numpy.random.default_rng(0)
    try:
        machine = relaxlib.build(source, library, exec_mode=mode)
    except Exception as error:  # what TVM itself cannot compile in this mode is no test of ours
        if mode == "compiled":
            pytest.skip(f"TVM does not compile it so: {str(error).splitlines()[-1][:80]}")
        raise
    for function, specs in calls:
        lengths = (1, 5) if any("n" in s.split(",") for s in specs) else (0,)
        for length in lengths:
            inputs = [relaxlib.array(s, length, rng) for s in specs]
            compare(minspect, machine, library, function, inputs, tmp_path)


def test_wrong_inputs_are_refused(minspect, tmp_path):
    library = tmp_path / "model.so"
    relaxlib.build(relaxlib.PROGRAMS["tuples"][0], library)
    for inputs in (["3x4xf32"], ["3x5xf32", "4xf32"], ["3x4xf32", "4xi32"], ["3x4xf32", "1x4xf32"],
                   ["i64=1", "4xf32"], ["3x4xf32", "4xf32", "4xf32"]):
        arguments = [word for v in inputs for word in ("--input", v)]
        done = minspect("--run", "main", library, *arguments, status=2)
        assert "call it with --input 1x4xf32=rand --input 4xf32=rand" in done.stderr


def kernels_of(machine, function, inputs, skip):
    """What TVM's machine computes, kernel by kernel: names, and the tensors that each was given."""
    calls = []

    def instrument(_, symbol, before_run, __, *args):
        symbol = str(symbol)
        dynamic = symbol == "vm.builtin.call_tir_dyn"
        if before_run or symbol in skip or symbol.startswith("shape_func") or \
                (symbol.startswith("vm.builtin.") and not dynamic):
            return
        calls.append(("*" if dynamic else symbol,
                      [a.numpy() for a in args if isinstance(a, tvm.runtime.Tensor)]))

    machine.set_instrument(instrument)
    machine[function](*[tvm.runtime.tensor(x) for x in inputs])
    return calls


@pytest.mark.parametrize("name", relaxlib.PROGRAMS)
def test_a_dump_is_what_kernels_compute(name, minspect, tmp_path):
    """Each result of --dump is what TVM's machine has in that kernel's tensors, and --compare agrees."""
    source, calls = relaxlib.PROGRAMS[name]
    library, rng = tmp_path / "model.so", numpy.random.default_rng(0)
    machine = relaxlib.build(source, library)
    for i, (function, specs) in enumerate(calls):
        inputs = [relaxlib.array(s, 3, rng) for s in specs]
        arguments = []
        for k, x in enumerate(inputs):
            numpy.save(tmp_path / f"in{k}.npy", x)
            arguments += ["--input", f"@{tmp_path}/in{k}.npy"]
        wanted = kernels_of(machine, function, inputs, {f for f, _ in calls} | {"inner"})
        folder = tmp_path / f"dump{i}"
        if not wanted:
            continue
        minspect("--run", function, library, *arguments, "--dump", folder)
        files = sorted(os.listdir(folder))
        assert len({f.split("-")[0] for f in files}) == len(wanted), (files, [w[0] for w in wanted])
        for number, (symbol, tensors) in enumerate(wanted):
            mine = [f for f in files if f.startswith(f"{number:04}-")]
            assert symbol == "*" or mine[0].split("-")[1].startswith(symbol), (mine, symbol)
            results = [numpy.load(folder / f) for f in mine]
            assert any(numpy.array_equal(r, tensors[-1], equal_nan=True) for r in results), mine
            for r in results:
                assert any(numpy.array_equal(r, t, equal_nan=r.dtype.kind == "f") for t in tensors), mine
        minspect("--run", function, library, *arguments, "--compare", folder)


def long_shapes():
    """Shapes as values: a constant, one made of an extent, one read from a tensor, one written to a tensor."""
    numbers = ", ".join(str(i * 7) for i in range(100))
    return f"""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 2), "float32"), s: R.Tensor((70,), "int64"), given: R.Shape(ndim=45)):
        n = T.int64()
        made = R.shape([n, {numbers}, n * 2])
        read = R.tensor_to_shape(s)
        written = R.shape_to_tensor(R.shape([n, {numbers}]))
        return (made, R.shape([{numbers}]), read, written, given)
"""


@pytest.mark.parametrize("mode", MODES)
def test_shapes_are_no_ranks(mode, minspect, tmp_path):
    """A shape that is a value may be longer than the rank of any tensor."""
    library = tmp_path / "model.so"
    machine = relaxrun.build(relaxlib.parse(long_shapes()), library, mode)
    calls, rng = relaxrun.Calls(tmp_path, machine), numpy.random.default_rng(0)
    for length in 1, 3:
        calls.add("main", [rng.random((length, 2)).astype("float32"), rng.integers(0, 1 << 40, 70),
                           relaxrun.Shape(range(45))])
    calls.compare(minspect, library)
