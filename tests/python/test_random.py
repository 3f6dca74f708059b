# SPDX-License-Identifier: Apache-2.0
"""Whatever Python can pass, by chance and the same each time: arrays arrive as NumPy has them, all else is an exception."""
import os
import pathlib
import random

import numpy as np

import mpk

RELAX = pathlib.Path(__file__).resolve().parents[1] / "data" / "relax"
TYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "bool"]
ROUNDS = int(os.environ.get("MPK_PYTHON_ROUNDS", "1500"))


class Exported:
    """An array by one protocol alone."""

    def __init__(self, array, how):
        self.array = array
        if how == "interface":
            self.__array_interface__ = array.__array_interface__
        else:
            self.__dlpack__ = array.__dlpack__
            self.__dlpack_device__ = array.__dlpack_device__


def some_array(rng, numbers):
    kind = rng.choice(TYPES)
    shape = [rng.choice([0, 1, 1, 2, 3, 5, 17]) for _ in range(rng.randrange(5))]
    x = numbers.integers(0, 2 if kind == "bool" else 100, shape).astype(kind)
    for _ in range(rng.randrange(3)):
        how = rng.randrange(6)
        if how == 0:
            x = x.T
        elif how == 1 and x.ndim:
            x = x[::rng.choice([-1, 2, -2])]
        elif how == 2:
            x = np.asfortranarray(x)
        elif how == 3 and x.ndim < 4:
            x = np.broadcast_to(x, (2, *x.shape))
        elif how == 4:
            memory = np.zeros(x.nbytes + 64, np.uint8)
            at = rng.randrange(0, 64, x.itemsize)
            moved = memory[at:at + x.nbytes].view(x.dtype).reshape(x.shape)
            moved[...] = x
            x = moved
        elif how == 5:
            x = x[None]
    if rng.random() < 0.3:
        x = x.view()
        x.flags.writeable = False
    return x


def test_arrays_arrive_as_they_are():
    rng, numbers = random.Random(7), np.random.default_rng(7)
    reshape = mpk.open(RELAX / "gelu.so")["vm.builtin.reshape"]
    kinds = set()
    for _ in range(ROUNDS):
        x = some_array(rng, numbers)
        before = x.copy()
        how = rng.choice(["plain", "plain", "memoryview", "interface", "dlpack"])
        if how == "dlpack" and not x.flags.writeable:
            how = "interface"
        given = x if how == "plain" else memoryview(x) if how == "memoryview" else Exported(x, how)
        result = np.asarray(reshape(given, mpk.shape(*x.shape)))
        assert result.dtype == x.dtype and result.shape == x.shape and np.array_equal(result, before), (how, x.strides, x.dtype)
        assert np.array_equal(x, before)
        kinds.add((how, x.dtype.name, x.flags.c_contiguous, x.flags.writeable))
    assert len(kinds) > 60


def some_thing(rng, model, depth=0):
    """What somebody might pass."""
    x = np.ones((4, 24), np.float32)
    things = [None, True, 0, -1, 2**63, -2**200, 1.5, float("nan"), 1j, "", "forward", "a\0b", "\udc80", b"bytes", bytearray(3), x,
              x[:0], x.T, np.float32(1), np.int64(-1), np.uint64(2**64 - 1), np.array("text"), np.array([None]), memoryview(b"abc"),
              object(), int, len, mpk, model, model.forward, mpk.shape(), mpk.shape(1, 2), range(3), {}, {1}, iter([1]), ...,
              Exported(x, "interface"), Exported(x, "dlpack"), RELAX / "gelu.so", "/nonexistent\0", np.dtype("f4"), type("T", (), {})]
    if depth < 3 and rng.random() < 0.3:
        return rng.choice([list, tuple])(some_thing(rng, model, depth + 1) for _ in range(rng.randrange(4)))
    return rng.choice(things)


def test_nothing_ends_the_interpreter():
    rng = random.Random(11)
    model = mpk.open(RELAX / "gelu.so")
    x = np.load(RELAX / "gelu.in0.npy")
    wanted = model.forward(x)
    tensor, value = model.forward(Exported(x, "dlpack")), model.tuple([x])
    entries = [model.forward, model.forward.call_whole, model.tuple, mpk.shape, model.kernel, model.bind_params, model.__getitem__,
               mpk.open, mpk.Shape, mpk.unregister, mpk.Model, mpk.Tensor, mpk.Value, model.register,
               model["vm.builtin.reshape"], model["vm.builtin.shape_of"], tensor.__dlpack__, tensor.__array__,
               lambda *a: setattr(model.forward, *a), lambda *a: getattr(model, *a), lambda *a: getattr(tensor, *a),
               lambda *a: getattr(value, *a), lambda *a: model.kernel("k", grid=a, block=a),
               lambda *a: tensor.__dlpack__(max_version=a), lambda *a: tensor.__dlpack__(dl_device=a, stream=a),
               lambda *a: mpk.open(RELAX / "gelu.so", threads=a), lambda *a: mpk.open(RELAX / "gelu.so", stream=a)]
    refused = done = 0
    for _ in range(ROUNDS * 3):
        entry, args = rng.choice(entries), [some_thing(rng, model) for _ in range(rng.randrange(4))]
        try:
            entry(*args)
            done += 1
        except Exception:  # pylint: disable=broad-except
            refused += 1
    assert refused > ROUNDS and done > ROUNDS // 10
    assert np.array_equal(model.forward(x), wanted) and np.array_equal(np.asarray(tensor), wanted)
