# SPDX-License-Identifier: Apache-2.0
"""numpy_call.py - mpk/run.h from Python: ctypes for the calls, NumPy for the tensors

    python3 numpy_call.py LIBRARY MODEL FUNCTION INPUT.npy... -- OUTPUT.npy...

Calls the function and compares what it gives with the outputs.
"""
import ctypes as c
import sys

import numpy as np


class Tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device_type", c.c_int32), ("device_id", c.c_int32), ("ndim", c.c_int32),
                ("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16),
                ("shape", c.POINTER(c.c_int64)), ("strides", c.POINTER(c.c_int64)), ("byte_offset", c.c_uint64)]


class Result(c.Structure):
    pass


Result._fields_ = [("major", c.c_uint32), ("minor", c.c_uint32), ("ctx", c.c_void_p),
                   ("deleter", c.CFUNCTYPE(None, c.POINTER(Result))), ("flags", c.c_uint64), ("tensor", Tensor)]


class Error(c.Structure):
    _fields_ = [("code", c.c_int), ("text", c.c_char * 1020)]


CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
lib = c.CDLL(sys.argv[1])
error = Error()


def check(code):
    if code:
        raise RuntimeError(error.text.decode())


def tensor_of(array):
    """Any NumPy array, whatever its strides; keep it as long as the tensor."""
    shape = (c.c_int64 * array.ndim)(*array.shape)
    strides = (c.c_int64 * array.ndim)(*(s // array.itemsize for s in array.strides))
    return Tensor(array.ctypes.data, 1, 0, array.ndim, CODES[array.dtype.kind], array.itemsize * 8, 1, shape, strides, 0)


def array_of(result):
    """A view of the result's memory, which goes when the result is given back: copied here."""
    t = result.contents.tensor
    kind = {code: kind for kind, code in CODES.items()}[t.code]
    memory = (c.c_char * (int(np.prod(t.shape[:t.ndim])) * t.bits // 8)).from_address(t.data)
    made = np.frombuffer(memory, f"{kind}{t.bits // 8}").reshape(t.shape[:t.ndim]).copy()
    result.contents.deleter(result)
    return made


def call(function, arrays, room=8):
    tensors = [tensor_of(a) for a in arrays]
    pointers = (c.POINTER(Tensor) * len(tensors))(*map(c.pointer, tensors))
    results, count = (c.POINTER(Result) * room)(), c.c_size_t()
    check(lib.mpkr_call(function, pointers, c.c_size_t(len(tensors)), results, c.c_size_t(room), c.byref(count),
                        c.byref(error)))
    return [array_of(r) for r in results[:count.value]]


split = sys.argv.index("--")
inputs, outputs = ([np.load(f) for f in names] for names in (sys.argv[4:split], sys.argv[split + 1:]))
model, function = c.c_void_p(), c.c_void_p()
check(lib.mpkr_open(sys.argv[2].encode(), None, c.byref(model), c.byref(error)))
check(lib.mpkr_find(model, sys.argv[3].encode(), c.byref(function), c.byref(error)))
lib.mpkr_close(model)
for layout in (np.ascontiguousarray, np.asfortranarray):
    got = call(function, [layout(a) for a in inputs])
    assert len(got) == len(outputs)
    for g, want in zip(got, outputs):
        np.testing.assert_allclose(g, want, rtol=1e-5, atol=1e-6)
try:
    call(function, [])
    sys.exit("a call without inputs was not refused")
except RuntimeError as why:
    print(why)
lib.mpkr_drop(function)
print(len(outputs), "results as expected")
