# SPDX-License-Identifier: Apache-2.0
"""Relax programs by hand, one for each feature of the machine."""
import numpy
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

# name -> (source, [(function, [inputs])]); shapes with n are tried at several lengths
PROGRAMS = {
    "calls": ("""
@I.ir_module
class Module:
    @R.function
    def inner(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        y = R.multiply(x, x)
        return y

    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        cls = Module
        a = cls.inner(x)
        b = cls.inner(a)
        c = R.add(a, b)
        return c
""", [("main", ["n,4"]), ("inner", ["n,4"])]),
    "condition": ("""
@I.ir_module
class Module:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((3, 5), "float32")) -> R.Tensor((3, 5), "float32"):
        if c:
            y = R.add(x, x)
            r = R.nn.relu(y)
        else:
            r = R.negative(x)
        return r
""", [("main", ["true", "3,5"]), ("main", ["false", "3,5"])]),
    "recursion": ("""
@I.ir_module
class Module:
    @R.function
    def main(i: R.Tensor((), "int32"), x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        cls = Module
        stop = R.less_equal(i, R.const(0, "int32"))
        if stop:
            r = R.add(x, R.const(0, "float32"))
        else:
            j = R.subtract(i, R.const(1, "int32"))
            y = R.add(x, R.const(1, "float32"))
            r = cls.main(j, y)
        return r
""", [("main", ["int32:0", "2,3"]), ("main", ["int32:7", "2,3"]), ("main", ["int32:300", "2,3"])]),
    "tuples": ("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor((4,), "float32")):
        n = T.int64()
        a = R.add(x, y)
        t = ((a, y), x)
        u = t[0]
        v = u[0]
        w = R.sum(v, axis=1)
        out = (w, u, R.shape([n, n * 2]))
        return out
""", [("main", ["n,4", "4"])]),
    "same_twice": ("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        a = R.add(x, R.multiply(y, R.const(2, "float32")))
        return (a, x)
""", [("main", ["4", "4"])]),
    "reshape": ("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 6), "float32")) -> R.Tensor(("n * 3", 2), "float32"):
        n = T.int64()
        y = R.reshape(x, (n * 6,))
        z = R.reshape(y, (n * 3, 2))
        w = R.exp(z)
        return w
""", [("main", ["n,6"])]),
    "match_cast": ("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(ndim=2, dtype="float32")) -> R.Tensor(ndim=2, dtype="float32"):
        m, k = T.int64(), T.int64()
        y = R.match_cast(x, R.Tensor((m, k), "float32"))
        z = R.add(y, y)
        w = R.permute_dims(z, [1, 0])
        return w
""", [("main", ["n,3"]), ("main", ["2,n"])]),
    "shape_from_data": ("""
@I.ir_module
class Module:
    @R.function
    def main(s: R.Tensor((2,), "int64"), x: R.Tensor((12,), "float32")):
        h, w = T.int64(), T.int64()
        t = R.tensor_to_shape(s)
        u = R.match_cast(t, R.Shape([h, w]))
        y = R.reshape(x, (h, w))
        z = R.add(y, y)
        return z
""", [("main", ["int64:3,4", "12"]), ("main", ["int64:6,2", "12"])]),
    "empty": ("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        y = R.tanh(x)
        z = R.add(y, x)
        return z
""", [("main", ["0,4"]), ("main", ["n,4"])]),
    "returns_input": ("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "float32")):
        return (x, R.const([1, 2, 3], "float32"))
""", [("main", ["3"])]),
}


def parse(source):
    return tvm.script.from_source(source, {"I": I, "R": R, "T": T})


def array(spec, length, rng):
    """An input: "n,4" float32 of that shape, "true", "int64:3,4" those numbers."""
    if spec in ("true", "false"):
        return numpy.array(spec == "true")
    if ":" in spec:
        dtype, numbers = spec.split(":")
        values = [int(x) for x in numbers.split(",")]
        return numpy.array(values if "," in numbers else values[0], dtype=dtype)
    shape = [length if x == "n" else int(x) for x in spec.split(",")]
    return rng.standard_normal(shape).astype("float32")


def flatten(value):
    """The leaves of a result, as minspect prints them."""
    if hasattr(value, "numpy"):
        return [value.numpy()]
    if isinstance(value, tvm.runtime.ShapeTuple if hasattr(tvm.runtime, "ShapeTuple") else ()):
        return [tuple(value)]
    try:
        items = list(value)
    except TypeError:
        return [value]
    if items and all(isinstance(x, int) for x in items):
        return [tuple(items)]
    return [leaf for item in items for leaf in flatten(item)]


def build(source, path, **options):
    executable = relax.build(parse(source), target="llvm", **options)
    executable.export_library(str(path))
    return relax.VirtualMachine(executable, tvm.cpu())
