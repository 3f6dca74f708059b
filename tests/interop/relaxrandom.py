# SPDX-License-Identifier: Apache-2.0
"""Random Relax programs: several functions that call one another, symbolic shapes, tuples, branches,
loops by recursion, types of every kind. Many programs make one module, compiled at once."""
import random
from dataclasses import dataclass

import numpy

FLOATS, INTS = ("float32", "float64", "float16"), ("int32", "int64", "int8", "uint8")


@dataclass(frozen=True)
class Tensor:
    shape: tuple  # of "n", "m", numbers
    dtype: str

    def __str__(self):
        extents = ", ".join(f'"{e}"' if isinstance(e, str) else str(e) for e in self.shape)
        comma = "," if len(self.shape) == 1 else ""
        return f'R.Tensor(({extents}{comma}), "{self.dtype}")'


@dataclass(frozen=True)
class Tuple:
    fields: tuple

    def __str__(self):
        return f"R.Tuple({', '.join(map(str, self.fields))})"


COND = Tensor((), "bool")
COUNT = Tensor((), "int32")


@dataclass
class Function:
    name: str
    params: list
    result: object


class Body:
    """Statements of one function and the variables that they make."""

    def __init__(self, rng, helpers, params):
        self.rng, self.helpers, self.lines, self.count = rng, helpers, [], 0
        self.known = [(f"p{i}", t) for i, t in enumerate(params)]

    # --- variables ---

    def emit(self, value, made, indent=8):
        self.count += 1
        self.lines.append(f"{' ' * indent}v{self.count} = {value}")
        self.known.append((f"v{self.count}", made))
        return f"v{self.count}"

    def tensors(self, test=lambda t: True):
        return [(v, t) for v, t in self.known if isinstance(t, Tensor) and test(t)]

    def pick(self, test=lambda t: True):
        """A variable; recent ones more often."""
        found = self.tensors(test)
        return self.rng.choice(found[-6:] if self.rng.random() < 0.7 else found) if found else None

    def of_type(self, t):
        """Some value of type t: a variable, or one made for it."""
        if isinstance(t, Tuple):
            return "(" + ", ".join(self.of_type(f) for f in t.fields) + ",)"
        found = [v for v, other in self.known if other == t]
        if found and self.rng.random() < 0.9:
            return self.rng.choice(found)
        value = {"bool": "True"}.get(t.dtype, str(self.rng.randint(0, 3)))
        if not t.shape:
            return f'R.const({value}, "{t.dtype}")'
        extents = ", ".join(map(str, t.shape))
        filled = f'R.full(R.shape([{extents}]), R.const({value}, "{t.dtype}"), dtype="{t.dtype}")'
        return self.emit(filled, t)

    # --- statements ---

    def unary(self):
        v, t = self.pick(lambda t: t.dtype in FLOATS) or (None, None)
        if v:
            name = self.rng.choice(["tanh", "sigmoid", "negative", "abs", "nn.relu", "sin", "floor"])
            self.emit(f"R.{name}({v})", t)

    def binary(self):
        v, t = self.pick(lambda t: t.dtype != "bool") or (None, None)
        if not v:
            return
        name = self.rng.choice(["add", "subtract", "multiply", "maximum", "minimum"])
        other = self.of_type(t) if self.rng.random() < 0.8 else f'R.const(2, "{t.dtype}")'
        self.emit(f"R.{name}({v}, {other})", t)

    def compare(self):
        v, t = self.pick(lambda t: t.dtype != "bool") or (None, None)
        if v:
            name = self.rng.choice(["less", "greater_equal", "equal"])
            self.emit(f"R.{name}({v}, {self.of_type(t)})", Tensor(t.shape, "bool"))

    def where(self):
        v, t = self.pick(lambda t: t.dtype == "bool" and t.shape) or (None, None)
        if v:
            like = Tensor(t.shape, self.rng.choice(["float32", "int32"]))
            self.emit(f"R.where({v}, {self.of_type(like)}, {self.of_type(like)})", like)

    def logical(self):
        v, t = self.pick(lambda t: t.dtype == "bool") or (None, None)
        if v:
            self.emit(f"R.logical_{self.rng.choice(['and', 'or', 'xor'])}({v}, {self.of_type(t)})", t)

    def cast(self):
        v, t = self.pick() or (None, None)
        if v:  # a float beyond what an integer holds has no defined value
            to = self.rng.choice(FLOATS if t.dtype in FLOATS else FLOATS + INTS)
            self.emit(f'R.astype({v}, "{to}")', Tensor(t.shape, to))

    def reduce(self):
        v, t = self.pick(lambda t: t.shape and t.dtype in FLOATS + ("int32",)) or (None, None)
        if not v:
            return
        axis, keep = self.rng.randrange(len(t.shape)), self.rng.random() < 0.5
        shape = list(t.shape)
        shape[axis:axis + 1] = [1] if keep else []
        if isinstance(t.shape[axis], int) and self.rng.random() < 0.3:
            self.emit(f"R.argmax({v}, axis={axis}, keepdims={keep})", Tensor(tuple(shape), "int64"))
        else:
            name = self.rng.choice(["sum", "max", "min"])
            self.emit(f"R.{name}({v}, axis={axis}, keepdims={keep})", Tensor(tuple(shape), t.dtype))

    def matmul(self):
        v, t = self.pick(lambda t: len(t.shape) == 2 and t.dtype == "float32") or (None, None)
        if v:
            to = Tensor((t.shape[1], self.rng.choice([3, 4, "m"])), "float32")
            self.emit(f"R.matmul({v}, {self.of_type(to)})",
                      Tensor((t.shape[0], to.shape[1]), "float32"))

    def move(self):
        v, t = self.pick(lambda t: len(t.shape) == 2) or (None, None)
        if v:
            self.emit(f"R.permute_dims({v}, [1, 0])", Tensor(t.shape[::-1], t.dtype))

    def reshape(self):
        v, t = self.pick(lambda t: len(t.shape) == 2 and t.dtype != "bool") or (None, None)
        if not v:
            return
        a, b = t.shape
        flat = self.emit(f"R.reshape({v}, (({a}) * ({b}),))", None)
        self.emit(f"R.negative({flat})" if t.dtype in FLOATS else f"R.add({flat}, {flat})", None)
        self.emit(f"R.reshape(v{self.count}, ({a}, {b}))", t)

    def concat(self):
        v, t = self.pick(lambda t: t.shape and isinstance(t.shape[-1], int)) or (None, None)
        if v:
            axis = len(t.shape) - 1
            joined = self.emit(f"R.concat(({v}, {self.of_type(t)}), axis={axis})",
                               Tensor((*t.shape[:-1], 2 * t.shape[-1]), t.dtype))
            parts = self.emit(f"R.split({joined}, 2, axis={axis})", None)
            self.emit(f"{parts}[{self.rng.randrange(2)}]", t)

    def grow(self):
        """An extent that is an expression: of a result only, or cut back to what it was."""
        v, t = self.pick(lambda t: len(t.shape) == 2 and t.shape[0] == "n") or (None, None)
        if v:
            longer = self.emit(f"R.concat(({v}, {v}), axis=0)", None)
            self.emit(f"R.strided_slice({longer}, axes=[0], begin=[n], end=[n * 2])", None)
            self.emit(f"R.reshape(v{self.count}, (n, {t.shape[1]}))", t)

    def rows(self):
        v, t = self.pick(lambda t: len(t.shape) == 2 and isinstance(t.shape[1], int)
                         and t.dtype in ("float32", "int32")) or (None, None)
        if not v:
            return
        kind = self.rng.choice(["softmax", "cumsum", "sort", "argsort", "topk"])
        if kind == "softmax" and t.dtype == "float32":
            self.emit(f"R.nn.softmax({v})", t)
        elif kind == "cumsum":
            self.emit(f"R.cumsum({v}, axis=1)", t)
        elif kind == "sort":
            self.emit(f"R.sort({v}, axis=1)", t)
        elif kind == "argsort":
            self.emit(f'R.argsort({v}, axis=1, dtype="int32")', Tensor(t.shape, "int32"))
        elif kind == "topk":
            both = self.emit(f'R.topk({v}, k=2, axis=1, ret_type="both", dtype="int64")', None)
            self.emit(f"{both}[0]", Tensor((t.shape[0], 2), t.dtype))
            self.emit(f"{both}[1]", Tensor((t.shape[0], 2), "int64"))

    def tuple(self):
        (a, s), (b, t) = self.rng.choice(self.tensors()), self.rng.choice(self.tensors())
        made = self.emit(f"({a}, ({b}, {a}))", Tuple((s, Tuple((t, s)))))
        if self.rng.random() < 0.5:
            self.emit(f"{made}[1]", Tuple((t, s)))
            self.emit(f"v{self.count}[{0}]", t)

    def field(self):
        found = [(v, t) for v, t in self.known if isinstance(t, Tuple) and t.fields]
        if found:
            v, t = self.rng.choice(found)
            i = self.rng.randrange(len(t.fields))
            self.emit(f"{v}[{i}]", t.fields[i])

    def arguments(self, f):
        return ", ".join(self.of_type(t) for t in f.params)

    def call(self):
        if self.helpers:
            f = self.rng.choice(self.helpers)
            self.emit(f"cls.{f.name}({self.arguments(f)})", f.result)

    def branch(self):
        """Branches only call: TVM's memory plan lets one branch use the storage of the other."""
        if not self.helpers:
            return
        f = self.rng.choice(self.helpers)
        g = self.rng.choice([g for g in self.helpers if g.result == f.result])
        condition = self.of_type(COND)
        if condition.startswith("R."):
            condition = self.emit(condition, COND)
        first, second = self.arguments(f), self.arguments(g)
        self.count += 1
        v = f"v{self.count}"
        self.lines += [f"        if {condition}:", f"            {v} = cls.{f.name}({first})",
                       "        else:", f"            {v} = cls.{g.name}({second})"]
        self.known.append((v, f.result))

    def fill(self, length):
        kinds = [self.unary, self.unary, self.binary, self.binary, self.compare, self.where,
                 self.logical, self.cast, self.reduce, self.matmul, self.move, self.reshape,
                 self.concat, self.grow, self.rows, self.tuple, self.field, self.call, self.call,
                 self.branch]
        for _ in range(length):
            self.rng.choice(kinds)()
            self.known = [(v, t) for v, t in self.known if t is not None]


class Program:
    """One program: helpers, a loop, and main; all named after its number."""

    def __init__(self, seed):
        self.seed, self.rng, self.lines, self.functions = seed, random.Random(seed), [], []
        for i in range(self.rng.randint(1, 3)):
            self.helper(f"helper{seed}_{i}")
        self.loop(f"loop{seed}")
        self.main = self.entry(f"main{seed}")

    def tensor_type(self, dtypes=FLOATS[:1] * 4 + FLOATS + INTS):
        shape = self.rng.choice([("n", 4), ("n", 4), ("n", "m"), (4, 3), ("m",), (5,), ("m", 3, 2)])
        return Tensor(shape, self.rng.choice(dtypes))

    def params(self):
        """Every symbol has to be an extent of some input."""
        made = [Tensor(("n", "m"), "float32")]
        for _ in range(self.rng.randint(0, 2)):
            t = self.tensor_type()
            made.append(Tuple((t, self.tensor_type())) if self.rng.random() < 0.25 else t)
        if self.rng.random() < 0.5:
            made.append(COND)
        self.rng.shuffle(made)
        # a symbol is known behind the first tensor that has it
        return made

    def function(self, f, body, result):
        params = ", ".join(f"p{i}: {t}" for i, t in enumerate(f.params))
        returns = f" -> {f.result}" if f.result else ""
        self.lines += ["    @R.function", f"    def {f.name}({params}){returns}:",
                       "        n, m = T.int64(), T.int64()", "        cls = Module",
                       *body.lines, f"        return {result}", ""]
        self.functions.append(f)

    def helper(self, name):
        params = self.params()
        body = Body(self.rng, list(self.functions), params)
        body.fill(self.rng.randint(1, 4))
        result = Tuple((self.tensor_type(), self.tensor_type())) if self.rng.random() < 0.2 else \
            self.tensor_type(("float32",))
        value = body.emit(body.of_type(result), result)
        self.function(Function(name, params, result), body, value)

    def loop(self, name):
        """loop(count, x): x changed count times, by recursion."""
        t = Tensor(("n", "m"), "float32")
        f = Function(name, [COUNT, t], t)
        self.lines += [
            "    @R.function", f"    def {name}(p0: {COUNT}, p1: {t}) -> {t}:",
            "        cls = Module",
            '        stop = R.less_equal(p0, R.const(0, "int32"))',
            "        if stop:",
            f"            r = R.{self.rng.choice(['negative', 'tanh'])}(p1)",
            "        else:",
            '            i = R.subtract(p0, R.const(1, "int32"))',
            f"            x = R.{self.rng.choice(['sin', 'sigmoid'])}(p1)",
            f"            r = cls.{name}(i, x)",
            "        return r", ""]
        self.functions.append(f)

    def entry(self, name):
        params = self.params()
        body = Body(self.rng, list(self.functions), params)
        body.fill(self.rng.randint(4, 12))
        made = [v for v, _ in body.known]
        results = self.rng.sample(made, min(len(made), self.rng.randint(1, 4)))
        if self.rng.random() < 0.3:
            results.append("R.shape([n, m * 2, 7])")
        value = results[0] if len(results) == 1 else f"({', '.join(results)})"
        if len(results) > 2 and self.rng.random() < 0.5:
            value = f"({results[0]}, ({', '.join(results[1:])}))"
        f = Function(name, params, None)
        self.function(f, body, value)
        return f

    def inputs(self, n, m):
        """Values for main: few and small numbers, so that all types have room."""
        rng = numpy.random.default_rng(self.seed * 100 + n * 10 + m)

        def value(t):
            if isinstance(t, Tuple):
                return tuple(value(f) for f in t.fields)
            shape = [{"n": n, "m": m}.get(e, e) for e in t.shape]
            if t.dtype == "bool":
                return numpy.asarray(rng.integers(0, 2, shape) > 0)
            if t.dtype in FLOATS:
                return numpy.asarray(rng.standard_normal(shape)).astype(t.dtype)
            return numpy.asarray(rng.integers(0, 5, shape)).astype(t.dtype)

        return [value(t) for t in self.main.params]


def source(programs):
    lines = ["@I.ir_module", "class Module:"]
    for p in programs:
        lines += p.lines
    return "\n".join(lines)
