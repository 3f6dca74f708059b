# SPDX-License-Identifier: Apache-2.0
"""Relax programs: a few by hand for every feature of the machine, and random ones."""
import random

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


class Generator:
    """A random program over tensors (n, 8) and (8, 8): straight code, branches, calls, tuples."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.count = 0

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def statement(self, indent, known, helpers):
        """One statement; returns its lines and adds the new variable to `known`."""
        pick = self.random.choice
        x, y, new = pick(known), pick(known), self.name()
        kind = pick(["unary", "unary", "binary", "binary", "matmul", "softmax", "reshape", "concat",
                     "transpose", "tuple", "sum", "call", "if"])
        pad = " " * indent
        if kind in ("call", "if") and not helpers:
            kind = "binary"
        if kind == "unary":
            lines = [f"{pad}{new} = R.{pick(['tanh', 'sigmoid', 'negative', 'abs', 'nn.relu'])}({x})"]
        elif kind == "binary":
            lines = [f"{pad}{new} = R.{pick(['add', 'subtract', 'multiply', 'maximum'])}({x}, {y})"]
        elif kind == "matmul":
            lines = [f"{pad}{new} = R.matmul({x}, w)"]
        elif kind == "softmax":
            lines = [f"{pad}{new} = R.nn.softmax({x})"]
        elif kind == "reshape":
            a = self.name()
            lines = [f"{pad}{a} = R.reshape({x}, (n * 8,))", f"{pad}{new} = R.reshape({a}, (n, 8))"]
        elif kind == "concat":
            a, b = self.name(), self.name()
            lines = [f"{pad}{a} = R.concat(({x}, {y}), axis=1)", f"{pad}{b} = R.split({a}, 2, axis=1)",
                     f"{pad}{new} = {b}[{self.random.randrange(2)}]"]
        elif kind == "transpose":
            a, b = self.name(), self.name()
            lines = [f"{pad}{a} = R.permute_dims({x}, [1, 0])", f"{pad}{b} = R.tanh({a})",
                     f"{pad}{new} = R.permute_dims({b}, [1, 0])"]
        elif kind == "tuple":
            a = self.name()
            lines = [f"{pad}{a} = ({x}, ({y}, {x}))", f"{pad}{new} = {a}[0]"]
        elif kind == "sum":
            a = self.name()
            lines = [f"{pad}{a} = R.sum({x}, axis=1, keepdims=True)", f"{pad}{new} = R.add({a}, {y})"]
        elif kind == "call":
            lines = [f"{pad}{new} = cls.{pick(helpers)}({x}, w, c)"]
        else:
            lines = self.branch(indent, list(known), helpers, new)
        known.append(new)
        return lines

    def branch(self, indent, known, helpers, new):
        """Branches call functions: TVM's memory plan lets one branch use the storage of the other."""
        pad, lines = " " * indent, []
        for word in ("if c:", "else:"):
            lines.append(pad + word)
            arguments = f"{self.random.choice(known)}, w, c"
            lines.append(f"{pad}    {new} = cls.{self.random.choice(helpers)}({arguments})")
        return lines

    def function(self, name, helpers, length):
        known = ["x"]
        lines = ["    @R.function",
                 f'    def {name}(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, 8), "float32"), '
                 'c: R.Tensor((), "bool")) -> R.Tensor(("n", 8), "float32"):',
                 "        n = T.int64()", "        cls = Module"]
        for _ in range(length):
            lines += self.statement(8, known, helpers)
        # every variable counts
        total = known[0]
        for variable in known[1:]:
            lines.append(f"        {self.name()} = R.add({total}, {variable})")
            total = f"v{self.count}"
        return lines + [f"        return {total}", ""]

    def program(self):
        lines = ["@I.ir_module", "class Module:"]
        helpers = []
        for i in range(self.random.randint(1, 3)):
            lines += self.function(f"helper{i}", list(helpers), self.random.randint(1, 3))
            helpers.append(f"helper{i}")
        lines += self.function("main", helpers, self.random.randint(3, 9))
        return "\n".join(lines)


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
