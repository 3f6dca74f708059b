# SPDX-License-Identifier: Apache-2.0
"""What Python can hand over and no model takes: refused with an exception, and nothing else."""
import gc
import os
import pathlib
import subprocess

import numpy as np
import pytest

import mpk

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
RELAX = DATA / "relax"


@pytest.fixture(name="model")
def _model():
    return mpk.open(RELAX / "gelu.so")


def test_integers_have_64_bits(model):
    make = model.tuple
    for good in (2**63 - 1, -2**63, np.int64(-2**63), np.uint64(2**63 - 1), True):
        assert make([good]).type == "array"
    for bad in (2**63, -2**63 - 1, 10**40, np.uint64(2**63), mpk.shape(1, 2**63), mpk.shape(-2**70)):
        with pytest.raises(OverflowError, match="no integer of 64 bits"):
            make([bad])
    with pytest.raises(TypeError):
        make([mpk.shape(1, "2")])
    with pytest.raises(OverflowError):
        model.kernel("x", grid=2**64)


def test_a_name_has_no_nul(model, tmp_path):
    with pytest.raises(ValueError, match="null byte"):
        mpk.open(str(RELAX / "gelu.so") + "\0.txt")
    with pytest.raises(ValueError, match="null byte"):
        model.bind_params(str(tmp_path / "a") + "\0b")
    with pytest.raises(KeyError, match="no function"):
        model["forward\0"]
    with pytest.raises(AttributeError):
        getattr(model, "forward\0")
    with pytest.raises(KeyError):
        model.kernel("forward\0")
    with pytest.raises(ValueError, match="NUL"):
        model.tuple(["a\0b"])
    with pytest.raises(UnicodeEncodeError):
        model.tuple(["\udc80"])
    with pytest.raises(TypeError):
        model[3]


class Interface:
    """Memory as somebody else describes it."""

    def __init__(self, array, **changed):
        self.array = array
        self.__array_interface__ = {**array.__array_interface__, **changed}


def test_interfaces_that_contradict_themselves(model):
    x = np.load(RELAX / "gelu.in0.npy")
    wanted = model.forward(x)
    assert np.array_equal(np.asarray(model.forward(Interface(x))), wanted)
    assert np.array_equal(np.asarray(model.forward(Interface(x, strides=(96, 4)))), wanted)
    address = x.ctypes.data
    for changed in ({"strides": (96,)}, {"strides": (96, 4, 4)}, {"strides": ()}, {"strides": (3, 1)}, {"strides": 4},
                    {"strides": (2**62, 2**62)}, {"shape": (2**62, 2**62)}, {"shape": (2**62, 2**62), "strides": (4, 4)},
                    {"shape": (4, -24)}, {"shape": 4}, {"shape": (1,) * 33}, {"shape": (4.0, 24)}, {"shape": (4, 2**64)},
                    {"typestr": "<f"}, {"typestr": ""}, {"typestr": "<f0"}, {"typestr": "<f4294967300"}, {"typestr": "<f-4"},
                    {"typestr": "<f4\0"}, {"typestr": "<V4"}, {"typestr": "|O8"}, {"typestr": ">f4"}, {"typestr": "<f16"},
                    {"typestr": 4}, {"typestr": None}, {"data": (0, False)}, {"data": (address,)}, {"data": None},
                    {"data": ("x", False)}, {"data": (2**70, False)}):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            model.forward(Interface(x, **changed))
    for missing in ("shape", "typestr", "data"):
        given = Interface(x)
        del given.__array_interface__[missing]
        with pytest.raises((TypeError, ValueError)):
            model.forward(given)
    for nothing in (None, [], "x", 3):
        given = Interface(x)
        given.__array_interface__ = nothing
        with pytest.raises(ValueError, match="no dict"):
            model.forward(given)


class Capsule:
    """What gives any object for DLPack's capsule."""

    def __init__(self, given):
        self.given = given

    def __dlpack__(self, **_):
        if isinstance(self.given, Exception):
            raise self.given
        return self.given

    def __dlpack_device__(self):
        return 1, 0


def test_capsules_that_are_none(model):
    x = np.load(RELAX / "gelu.in0.npy")
    used = x.__dlpack__()
    np.from_dlpack(Capsule(used))
    for given in (None, 3, "dltensor", used, RuntimeError("not today"), BufferError("no")):
        with pytest.raises((TypeError, RuntimeError, BufferError)):
            model.forward(Capsule(given))


def test_types_that_no_model_has(model):
    for given in (np.array(["a"]), np.array([object()]), np.zeros(3, "datetime64[s]"), np.zeros(2, ">f4"),
                  np.zeros(2, [("a", "i4")]), np.zeros(2, np.longdouble), {}, {1}, object(), 1j, model):
        with pytest.raises((TypeError, ValueError)):
            model.forward(given)
        with pytest.raises((TypeError, ValueError)):
            model.tuple([given])
    with pytest.raises(TypeError):
        model.forward(lambda: 0)
    nested = []
    for _ in range(100000):
        nested = [nested]
    with pytest.raises(RecursionError):
        model.tuple(nested)
    while nested:
        nested = nested[0]


def test_read_only_memory_is_not_written(tmp_path):
    """A host function writes to what it is given: to a copy, where that is read-only, and then says so."""
    function = mpk.open(RELAX / "gelu.so")["layer_norm"]
    x, one, zero = np.load(RELAX / "gelu.in0.npy"), np.ones(24, np.float32), np.zeros(24, np.float32)
    np.save(tmp_path / "out.npy", np.zeros((4, 24), np.float32))
    out = np.zeros((4, 24), np.float32)
    for fixed in (x, one, zero):
        fixed.flags.writeable = False
    function(x, one, zero, out)
    assert out.any()
    out[:] = 1
    mapped = np.load(tmp_path / "out.npy", mmap_mode="r")
    out.flags.writeable = False
    for given in (mapped, out[:], np.broadcast_to(np.float32(0), (4, 24))):
        kept = given.copy()
        with pytest.raises(ValueError, match="input 3 is a read-only array"):
            function(x, one, zero, given)
        assert np.array_equal(given, kept)
    assert (out == 1).all()


def test_a_failed_call_leaves_nothing_behind(model):
    other, x = mpk.open(RELAX / "gelu_dyn.so"), np.load(RELAX / "gelu.in0.npy")
    wanted = model.forward(x)
    for _ in range(3):
        with pytest.raises(ValueError):
            other.forward(np.zeros((3, 3), np.float32))
        with pytest.raises(KeyError, match="no function 'gone'"):
            other["gone"]
        with pytest.raises(TypeError):
            model.forward(object())
        assert np.array_equal(model.forward(x), wanted)
        with pytest.raises(KeyError, match="no function 'lost'"):
            model["lost"]


def test_errors_of_standalone_models(tmp_path, model):
    """A library that carries its executor says what is wrong, by the same exception as libmpk-run."""
    done = subprocess.run([mpk.program("mpack"), "build", str(RELAX / "gelu.so"), "--standalone", "-o", str(tmp_path / "s.so")],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    carried, x = mpk.open(tmp_path / "s.so"), np.load(RELAX / "gelu.in0.npy")
    for _ in range(2):
        for args in ((np.zeros((3, 3), np.float32),), (x.astype("i4"),), (x, x), (None,)):
            raised = []
            for m in (model, carried):
                with pytest.raises((TypeError, ValueError)) as why:
                    m.forward(*args)
                raised.append(str(why.value).partition(":")[0])
            assert raised[0] == raised[1] or args == (None,)
        assert np.array_equal(carried.forward(x), model.forward(x))
    # the linker keeps such a library, which is open from memory: those that come next are others
    carried.close()
    del carried, m, why
    gc.collect()
    for _ in range(3):
        opened = [mpk.open(RELAX / f"{name}.so") for name in ("gelu_dyn", "gelu", "twoout_dyn")]
        assert np.array_equal(opened[1].forward(x), model.forward(x))


def test_objects_come_from_calls_alone():
    for kind in (mpk.Tensor, mpk.Value, mpk.Function):
        with pytest.raises(TypeError):
            kind()
        with pytest.raises(TypeError):
            kind.__new__(kind)


def resident():
    with open("/proc/self/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_nothing_is_lost_in_100000_calls(model):
    f, x, pair = model.forward, np.load(RELAX / "gelu.in0.npy"), model.tuple([1, mpk.shape(2, 3)])
    wrong = np.zeros((3, 3), np.float32)

    def turn(i):
        f(x)
        if i % 4 == 0:
            for refused in (wrong, object(), Capsule(None)):
                with pytest.raises((TypeError, ValueError)):
                    f(refused)
            np.from_dlpack(f(Capsule(x.__dlpack__())))
            f(Capsule(x.__dlpack__(max_version=(1, 0)))).__dlpack__(max_version=(1, 0))
            model.tuple([x[:1], "text", 2.5, None, pair, mpk.shape(*range(70))])
            assert f.inputs and f.outputs and model.functions

    for i in range(2000):
        turn(i)
    gc.collect()
    before = resident()
    for i in range(50000):
        turn(i)
    gc.collect()
    assert resident() - before < 2 << 20
