# SPDX-License-Identifier: Apache-2.0
"""The package mpk: models of the fixtures against what TVM computed, errors, DLPack, threads, the answers of minspect."""
import gc
import inspect
import os
import pathlib
import pydoc
import threading

import numpy as np
import pytest

import mpk

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
RELAX, LEGACY = DATA / "relax", DATA / "legacy"


def load(name):
    return np.load(RELAX / f"{name}.npy")


@pytest.mark.parametrize("name, outputs", [("gelu", 1), ("gelu_dyn", 1), ("embed_dyn", 1), ("twoout_dyn", 2)])
def test_relax_models_give_what_tvm_gave(name, outputs):
    result = mpk.open(RELAX / f"{name}.so").forward(load(f"{name}.in0"))
    results = result if outputs > 1 else (result,)
    assert len(results) == outputs
    for i, given in enumerate(results):
        assert isinstance(given, np.ndarray)
        np.testing.assert_allclose(given, load(f"{name}.out{i}"), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name, function", [("mlp_llvm", "default"), ("mlp_vm", "main"), ("mlp_aot", "default")])
def test_models_of_tvm_018(name, function):
    data, extra = np.load(LEGACY / "mlp.data.npy"), np.load(LEGACY / "mlp.extra.npy")
    for i, given in enumerate(mpk.open(LEGACY / f"{name}.so")[function](data, extra)):
        np.testing.assert_allclose(given, np.load(LEGACY / f"mlp_llvm.out{i}.npy"), rtol=1e-5, atol=1e-6)


def test_any_layout_and_read_only_arrays():
    f, x = mpk.open(RELAX / "gelu.so").forward, load("gelu.in0")
    wanted = f(x)
    fixed = x.copy()
    fixed.flags.writeable = False
    for given in (np.asfortranarray(x), fixed, np.stack([x, x], -1)[..., 0], x[::-1][::-1]):
        assert np.array_equal(f(given), wanted)
    wanted[:] = 0  # a result is the caller's own
    assert np.array_equal(f(x), load("gelu.out0"))


class Exporter:
    """Somebody else's array: DLPack and nothing more."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **how):
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack_there_and_back_without_a_copy():
    f, x = mpk.open(RELAX / "gelu.so").forward, load("gelu.in0")
    result = f(Exporter(x))
    assert isinstance(result, mpk.Tensor)
    assert (result.shape, result.dtype, result.device) == ((4, 24), "float32", ("cpu", 0))
    arrays = [np.from_dlpack(result), np.asarray(result)]
    assert arrays[0].ctypes.data == arrays[1].ctypes.data
    del result
    gc.collect()
    assert all(np.array_equal(a, load("gelu.out0")) for a in arrays)
    arrays.clear()
    for version in (None, (1, 0)):
        capsule = f(Exporter(x)).__dlpack__(max_version=version)
        del capsule  # nobody took it


def test_bfloat16_and_float8_are_those_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    known, model = np.load(RELAX / "narrow.npz"), mpk.open(RELAX / "narrow.so")
    narrow = {"bfloat16": ml_dtypes.bfloat16, "float8": ml_dtypes.float8_e4m3fn}
    twice = model.twice(known["x"].astype(ml_dtypes.bfloat16))
    assert twice.dtype == ml_dtypes.bfloat16 and np.array_equal(twice.view(np.uint16), known["twice"])
    for name, kind in narrow.items():
        to, back = known[f"to_{name}"], known[f"from_{name}"]
        given = model[f"to_{name}"](known["x"])
        assert given.dtype == kind and np.array_equal(given.view(to.dtype), to)
        assert np.array_equal(model[f"from_{name}"](to.view(kind)), back)
        tensor = model[f"to_{name}"](Exporter(known["x"]))  # by DLPack, whose 1.0 has these types
        assert tensor.dtype == np.dtype(kind).name and tensor.numpy().dtype == np.asarray(tensor).dtype == kind
        assert np.array_equal(np.asarray(model[f"from_{name}"](tensor)), back)


def test_what_a_function_says_of_itself():
    model = mpk.open(RELAX / "gelu.so")
    f = model.forward
    assert f.__doc__ == f.signature == "forward(x: f32[4, 24]) -> (f32[4, 24])"
    assert [(t.name, t.kind, t.dtype, t.shape) for t in f.inputs] == [("x", "tensor", "float32", (4, 24))]
    assert f.outputs[0].shape == (4, 24)
    assert model.functions[0] == "forward" and "forward" in dir(model)
    assert model.forward is f
    assert str(inspect.signature(f)) == "(x: 'float32[4, 24]', /)"
    assert f.signature in pydoc.plain(pydoc.render_doc(f))


def test_errors_are_those_of_python():
    model = mpk.open(RELAX / "gelu.so")
    x = load("gelu.in0")
    with pytest.raises(ValueError, match=r"not float32\[3, 3\]"):
        model.forward(np.zeros((3, 3), np.float32))
    with pytest.raises(TypeError, match="2 inputs for 1"):
        model.forward(x, x)
    with pytest.raises(TypeError, match="object"):
        model.forward(object())
    for kind in ("text", 3, 2.5, True):
        with pytest.raises(TypeError, match=f"input 0 is a tensor: pass an array, not {type(kind).__name__}$"):
            model.forward(kind)
    with pytest.raises(TypeError, match="not none"):
        model.forward(None)
    with pytest.raises(ValueError, match="threads"):
        mpk.open(RELAX / "gelu.so", threads=-1)
    with pytest.raises(AttributeError, match="no function 'backward'"):
        model.backward(x)
    with pytest.raises(KeyError, match="no function 'backward'"):
        model["backward"]
    with pytest.raises(OSError, match="cannot open"):
        mpk.open(DATA / "no such file.so")
    with pytest.raises(mpk.Error):
        mpk.open(__file__)
    with pytest.raises(ValueError, match="a device is"):
        mpk.open(RELAX / "gelu.so", device="tpu")
    model.close()
    with pytest.raises(ValueError, match="closed"):
        model["forward"]


def test_functions_outlive_their_model():
    with mpk.open(RELAX / "gelu.so") as model:
        f = model.forward
    del model
    gc.collect()
    assert np.array_equal(f(load("gelu.in0")), load("gelu.out0"))


def test_sessions_run_side_by_side():
    f, x = mpk.open(RELAX / "gelu.so").forward, load("gelu.in0")
    wanted, wrong = f(x), []

    def work(session):
        for _ in range(500):
            if not np.array_equal(session(x), wanted):
                wrong.append(session)

    threads = [threading.Thread(target=work, args=(f.session(),)) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.parametrize("name, weights", [("packed", "weights"), ("packed", "numbered"), ("plain", "weights"),
                                           ("plain", "numbered")])
@pytest.mark.parametrize("is_compressed", [False, True])
def test_parameters_are_bound(name, weights, is_compressed, tmp_path):
    model = mpk.open(RELAX / f"{name}.so")
    path = RELAX / f"packed.{weights}.npz"
    with np.load(path) as arrays:
        names = arrays.files
        if is_compressed:
            path = tmp_path / "weights.npz"
            np.savez_compressed(path, **arrays)
    assert model.bind_params(path) == len(names)
    np.testing.assert_allclose(model.forward(load("packed.in0")), load("packed.out0"), rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError):
        model.bind_params(path)


def test_parameters_that_nobody_takes_are_refused():
    model = mpk.open(RELAX / "plain.so")
    with pytest.raises(ValueError):
        model.bind_params(RELAX / "packed.wrong.npz")


def test_answers_of_minspect():
    path = RELAX / "gelu.so"
    assert mpk.tree(path)["generation"] == "ffi"
    assert mpk.verify(path)["errors"] == 0
    assert mpk.check(path, tvm="0.27")["verdict"] == "loads"
    text = str(mpk.functions(path))
    assert "forward" in text and "layer_norm" in text
    with pytest.raises(mpk.ToolError) as why:
        mpk.tree(DATA / "no such file.so")
    assert why.value.status == 3 and "cannot open" in str(why.value)


def test_kernels_by_themselves():
    model = mpk.open(DATA / "cuda" / "saxpy_opencl.so")
    try:
        kernel = model.kernel("saxpy_kernel", grid=3, block=(256,))
    except mpk.Error as error:
        pytest.skip(str(error))
    assert [t.kind for t in kernel.inputs] == ["tensor", "tensor", "number", "number"]
    x, y = np.arange(600, dtype=np.float32), np.ones(600, np.float32)
    assert kernel(x, y, 2.0, 515) is None
    np.testing.assert_array_equal(y, np.where(x < 515, 2 * x + 1, 1))
    with pytest.raises(TypeError, match="takes 4 inputs, not 1"):
        kernel(x)
    with pytest.raises(ValueError, match="no axis blockIdx.y"):
        model.kernel("saxpy_kernel", grid=(1, 2))
    with pytest.raises(KeyError, match="did you mean"):
        model.kernel("saxpy_kernal")


def test_values_cross_calls():
    """A cache, as far as the library of this build has caches; and tuples, whatever the build."""
    model = mpk.open(RELAX / "twoout_dyn.so")
    x = load("twoout_dyn.in0")
    pair = model.tuple([x, 2, "text", mpk.shape(1, 2), None, model.tuple([])])
    assert isinstance(pair, mpk.Value) and pair.type == "array"
    with pytest.raises(ValueError, match="takes float32"):
        model.forward(pair)
    with pytest.raises(ValueError, match="another model"):
        mpk.open(RELAX / "gelu.so").forward(pair)
    try:
        create = model["vm.builtin.attention_kv_cache_create"]
    except KeyError:
        pytest.skip("this library was built without caches")
    rows = np.arange(8, dtype=np.float32).reshape(4, 2)
    cache = create(rows[:1], mpk.shape(4, 2), 0)
    assert isinstance(cache, mpk.Value) and "Cache" in cache.type
    for row in rows:
        cache = model["vm.builtin.attention_kv_cache_append"](cache, row[None])
    view = model["vm.builtin.attention_kv_cache_view"]
    model.close()
    np.testing.assert_array_equal(view(cache, mpk.shape(4, 2)), rows)


def test_tools_are_told_names():
    path = pathlib.Path(f"/tmp/perf-{os.getpid()}.map")
    path.unlink(missing_ok=True)
    mpk.open(RELAX / "gelu.so", by_path=True)
    assert not path.exists()
    model = mpk.open(RELAX / "gelu.so", perf_map=True)
    names = [line.split()[2] for line in path.read_text().splitlines()]
    path.unlink()
    assert "__tvm_ffi_gelu" in names
    assert model.forward(np.zeros((4, 24), "float32")).shape == (4, 24)


def test_memory_has_a_budget():
    x = load("gelu_dyn.in0")
    model = mpk.open(RELAX / "gelu_dyn.so")
    wanted = model.forward(x)
    used = model.memory_now()
    assert used["most_bytes"] >= used["used_bytes"] > 0
    del wanted
    model.memory_trim()
    assert model.memory_now()["kept_bytes"] == 0
    need = model.memory_need("forward", m=len(x)), model.memory_need(m=10 * len(x))
    assert need[1]["input_bytes"] > need[0]["input_bytes"] > 0
    with pytest.raises(KeyError):
        model.memory_need("backward")
    with pytest.raises(TypeError):
        model.memory_need(m="many")
    assert model.memory_now("cuda")["used_bytes"] == 0

    scarce = mpk.open(RELAX / "gelu_dyn.so", budget=64)
    with pytest.raises(mpk.BudgetError, match="budget of 64 bytes"):
        scarce.forward(x)
    assert issubclass(mpk.BudgetError, MemoryError)
    enough = mpk.open(RELAX / "gelu_dyn.so", budget=used["most_bytes"])
    np.testing.assert_allclose(enough.forward(x), load("gelu_dyn.out0"), rtol=1e-5, atol=1e-6)
    for wrong in 0, -1:
        with pytest.raises(ValueError):
            mpk.open(RELAX / "gelu_dyn.so", budget=wrong)


def test_operators_are_measured():
    x, model = load("gelu.in0"), mpk.open(RELAX / "gelu.so")
    model.profile_start()
    for _ in range(4):
        model.forward(x)
    rows = model.profile_stop()
    model.forward(x)
    assert [r["seconds"] for r in rows] == sorted((r["seconds"] for r in rows), reverse=True)
    assert sum(r["share"] for r in rows) == pytest.approx(1)
    assert all(r["calls"] % 4 == 0 and r["device"] == (1, 0) for r in rows)
    assert any(r["kind"] == "kernel" and "gelu" in r["name"] for r in rows)
    assert model.profile_stop() == rows
