# SPDX-License-Identifier: Apache-2.0
"""Models as people have them, each a function that gives (module, [(function, inputs, tag)])."""
import numpy
import tvm
from relaxlib import parse
from relaxrun import Shape
from tvm import relax
from tvm.relax.frontend import nn

# What TVM 0.25 writes R.Prim("int64") is T.int64 later.
PRIM = 'R.Prim("{}")' if tvm.__version__.startswith("0.25") else "T.{}"


def normal(rng, *shape, dtype="float32"):
    return rng.standard_normal(shape).astype(dtype)


def integers(rng, *shape, dtype="int32", low=-9, high=10):
    return rng.integers(low, high, shape).astype(dtype)


def with_params(module, named, rng, scale=0.3):
    """Arrays for the parameters of a model of relax.frontend.nn."""
    return [(scale * normal(rng, *p.shape)).astype(p.dtype) for _, p in named]


# --- relax.frontend.nn -------------------------------------------------------------------------

class Attention(nn.Module):
    """A transformer block: attention over all positions, then two layers, both with a residual."""

    def __init__(self, width, heads):
        super().__init__()
        self.width, self.heads = width, heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def attention(self, x):
        batch, length, _ = x.shape
        each = self.width // self.heads
        parts = nn.split(self.qkv(x), 3, axis=-1)
        q, k, v = (nn.permute_dims(nn.reshape(p, (batch, length, self.heads, each)), [0, 2, 1, 3])
                   for p in parts)
        scores = nn.matmul(q, nn.permute_dims(k, [0, 1, 3, 2])) * (each ** -0.5)
        mixed = nn.matmul(nn.softmax(scores, axis=-1), v)
        mixed = nn.reshape(nn.permute_dims(mixed, [0, 2, 1, 3]), (batch, length, self.width))
        return self.out(mixed)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(nn.gelu(self.up(self.norm2(x))))


class Convolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2D(3, 8, 3, padding=1)
        self.conv2 = nn.Conv2D(8, 4, 3, stride=2)
        self.norm = nn.GroupNorm(2, 4)
        self.dense = nn.Linear(4 * 5 * 5, 10)

    def forward(self, x):
        y = nn.relu(self.conv1(x))
        y = nn.silu(self.norm(self.conv2(y)))
        return nn.softmax(self.dense(nn.reshape(y, (1, 4 * 5 * 5))), axis=-1)


def transformer(rng):
    """Dynamic batch and length; parameters are inputs."""
    spec = {"forward": {"x": nn.spec.Tensor(["batch", "length", 16], "float32")}}
    module, named = Attention(16, 4).export_tvm(spec=spec)
    params = with_params(module, named, rng)
    return module, [("forward", [normal(rng, b, n, 16), *params], "")
                    for b, n in ((1, 1), (2, 7), (3, 12))]


def transformer_bound(rng):
    """The same with its parameters in the file."""
    spec = {"forward": {"x": nn.spec.Tensor([1, "length", 16], "float32")}}
    module, named = Attention(16, 2).export_tvm(spec=spec)
    params = with_params(module, named, rng)
    bound = dict(zip((name for name, _ in named), params, strict=True))
    module = relax.transform.BindParams("forward", bound)(module)
    return module, [("forward", [normal(rng, 1, n, 16)], "") for n in (1, 5, 33)]


def convolution(rng):
    spec = {"forward": {"x": nn.spec.Tensor([1, 3, 12, 12], "float32")}}
    module, named = Convolution().export_tvm(spec=spec)
    return module, [("forward", [normal(rng, 1, 3, 12, 12), *with_params(module, named, rng)], "")]


# --- the block builder -------------------------------------------------------------------------

def cnn(rng, groups=2):
    """Convolutions, batch normalisation and pooling, with the parameters as constants."""
    builder, op = relax.BlockBuilder(), relax.op
    tensor = getattr(relax, "TensorStructInfo", None) or relax.TensorType
    x = relax.Var("x", tensor((2, 3, 16, 16), "float32"))

    def constant(*shape):
        return relax.const(0.2 * normal(rng, *shape))

    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit(op.nn.conv2d(x, constant(8, 3, 3, 3), padding=1))
            moments = (constant(8), constant(8), constant(8), relax.const(
                numpy.abs(normal(rng, 8)) + 1))
            y = builder.emit(op.nn.batch_norm(y, *moments, axis=1)[0])
            y = builder.emit(op.nn.relu(y))
            y = builder.emit(op.nn.max_pool2d(y, pool_size=2, strides=2))
            y = builder.emit(op.nn.conv2d(y, constant(8, 8 // groups, 3, 3), groups=groups))
            y = builder.emit(op.nn.avg_pool2d(y, pool_size=3))
            y = builder.emit(op.reshape(y, (2, 8 * 4 * 4)))
            y = builder.emit(op.matmul(y, constant(128, 5)))
            out = builder.emit_output(op.nn.log_softmax(y))
        builder.emit_func_output(out)
    return builder.get(), [("main", [normal(rng, 2, 3, 16, 16)], "")]


def plain_cnn(rng):
    """Without groups, for which TVM has no schedule on a GPU."""
    return cnn(rng, groups=1)


# --- control flow ------------------------------------------------------------------------------

LSTM = """
@I.ir_module
class Module:
    @R.function
    def cell(x: R.Tensor((1, 6), "float32"), h: R.Tensor((1, 5), "float32"),
             c: R.Tensor((1, 5), "float32"), w: R.Tensor((11, 20), "float32"),
             b: R.Tensor((20,), "float32")) -> R.Tuple(R.Tensor((1, 5), "float32"),
                                                       R.Tensor((1, 5), "float32")):
        joined = R.concat((x, h), axis=1)
        gates = R.add(R.matmul(joined, w), b)
        parts = R.split(gates, 4, axis=1)
        kept = R.multiply(R.sigmoid(parts[1]), c)
        added = R.multiply(R.sigmoid(parts[0]), R.tanh(parts[2]))
        next_c = R.add(kept, added)
        next_h = R.multiply(R.sigmoid(parts[3]), R.tanh(next_c))
        return (next_h, next_c)

    @R.function
    def loop(i: R.Tensor((), "int64"), xs: R.Tensor(("n", 6), "float32"),
             h: R.Tensor((1, 5), "float32"), c: R.Tensor((1, 5), "float32"),
             w: R.Tensor((11, 20), "float32"), b: R.Tensor((20,), "float32")
             ) -> R.Tuple(R.Tensor((1, 5), "float32"), R.Tensor((1, 5), "float32")):
        cls = Module
        n = T.int64()
        last = R.reshape(R.shape_to_tensor(R.shape([n])), R.shape([]))
        left = R.less(i, last)
        if left:
            x = R.expand_dims(R.take(xs, i, axis=0), axis=0)
            state = cls.cell(x, h, c, w, b)
            result = cls.loop(R.add(i, R.const(1, "int64")), xs, state[0], state[1], w, b)
        else:
            result = (h, c)
        return result
"""


def lstm(rng):
    """One cell, called once for each row of its input."""
    state = [normal(rng, 1, 5), normal(rng, 1, 5), normal(rng, 11, 20), normal(rng, 20)]
    return parse(LSTM), [
        ("loop", [numpy.array(0, "int64"), normal(rng, n, 6), *state], "") for n in (1, 4, 9)
    ] + [("cell", [normal(rng, 1, 6), *state], "")]


def branches(rng):
    """if within if, mutual recursion, a tuple out of a branch, a function used twice."""
    source = """
@I.ir_module
class Module:
    @R.function
    def even(i: R.Tensor((), "int32"), x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        cls = Module
        stop = R.less_equal(i, R.const(0, "int32"))
        if stop:
            r = R.add(x, x)
        else:
            r = cls.odd(R.subtract(i, R.const(1, "int32")), x)
        return r

    @R.function
    def odd(i: R.Tensor((), "int32"), x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        cls = Module
        r = cls.even(i, R.negative(x))
        return r

    @R.function
    def main(a: R.Tensor((), "bool"), b: R.Tensor((), "bool"), x: R.Tensor(("n",), "float32")):
        cls = Module
        if a:
            if b:
                r = cls.even(R.const(3, "int32"), x)
            else:
                r = R.exp(x)
        else:
            r = cls.odd(R.const(2, "int32"), x)
        return (r, x)
"""
    calls = [("main", [numpy.array(a), numpy.array(b), normal(rng, n)], "")
             for a in (True, False) for b in (True, False) for n in (1, 6)]
    calls += [("even", [numpy.array(i, "int32"), normal(rng, 4)], "") for i in (0, 1, 8)]
    return parse(source), calls


# --- values ------------------------------------------------------------------------------------

def tuples(rng):
    """Tuples in tuples, as inputs and as results, with symbols that only they name."""
    source = """
@I.ir_module
class Module:
    @R.function
    def main(t: R.Tuple(R.Tensor(("n", 4), "float32"),
                        R.Tuple(R.Tensor(("m",), "float32"), R.Tensor((), "float32")))):
        x = t[0]
        u = t[1]
        y = R.add(x, u[1])
        z = R.multiply(u[0], u[1])
        return ((y, z), (u, (x,)))

    @R.function
    def swap(t: R.Tuple(R.Tensor((2,), "int8"), R.Tensor(("k",), "bool"))):
        return (t[1], t[0])

    @R.function
    def same(t: R.Tuple(R.Tensor(("k",), "float32"), R.Tensor(("k",), "float32"))):
        return t

    @R.function
    def nothing(x: R.Tensor((2,), "float32")) -> R.Tuple():
        return R.tuple()

    @R.function
    def none() -> R.Tensor((2,), "float32"):
        r = R.add(R.const([1.0, 2.0], "float32"), R.const([3.0, 4.0], "float32"))
        return r
"""
    calls = [("main", [(normal(rng, n, 4), (normal(rng, m), normal(rng)))], "")
             for n, m in ((1, 2), (5, 3))]
    calls += [("swap", [(integers(rng, 2, dtype="int8"), integers(rng, 3) > 0)], ""),
              ("same", [(normal(rng, 3), normal(rng, 3))], ""),
              ("nothing", [normal(rng, 2)], ""), ("none", [], "")]
    return parse(source), calls


def symbols(rng):
    """Several symbols, sums and products of them, shapes and numbers as arguments and results."""
    source = """
@I.ir_module
class Module:
    @R.function
    def matmul(a: R.Tensor(("m", "k"), "float32"), b: R.Tensor(("k", "n"), "float32")):
        m, k, n = T.int64(), T.int64(), T.int64()
        c = R.matmul(a, b)
        return (c, R.shape([m + n, m * n, k // 2]))

    @R.function
    def concat(a: R.Tensor(("m", 3), "float32"), b: R.Tensor(("n", 3), "float32")):
        c = R.concat((a, b), axis=0)
        d = R.concat((c, a), axis=0)
        return d

    @R.function
    def reshape(s: R.Shape(["n", 2]), x: R.Tensor(("n", 6), "float32")):
        n = T.int64()
        y = R.reshape(x, (n * 3, 2))
        z = R.sqrt(R.abs(y))
        return z

    @R.function
    def full(s: R.Shape(["n", "m"]), x: R.Tensor((), "float32")):
        n, m = T.int64(), T.int64()
        y = R.full(R.shape([n, m + 1]), x, dtype="float32")
        return (y, s)

    @R.function
    def number(k: PRIM, x: R.Tensor(("n", 4), "float32")):
        y = R.add(x, x)
        return (y, k)

    @R.function
    def slice(x: R.Tensor(("n", 6), "float32")):
        n = T.int64()
        y = R.strided_slice(x, axes=[0, 1], begin=[1, 0], end=[n, 6], strides=[1, 2])
        return y
"""
    source = source.replace("PRIM", PRIM.format("int64"))
    calls = [("matmul", [normal(rng, m, k), normal(rng, k, n)], "")
             for m, k, n in ((1, 1, 1), (2, 5, 3), (7, 2, 9))]
    calls += [("concat", [normal(rng, 2, 3), normal(rng, 4, 3)], ""),
              ("reshape", [Shape((4, 2)), normal(rng, 4, 6)], ""),
              ("full", [Shape((3, 2)), normal(rng)], ""),
              ("number", [5, normal(rng, 3, 4)], ""),
              ("slice", [normal(rng, 5, 6)], "")]
    return parse(source), calls


def dtypes(rng):
    """One function for each type of element."""
    names = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
             "float16", "bfloat16", "float32", "float64"]
    lines, calls = ["@I.ir_module", "class Module:"], []
    for name in names:
        call = "R.logical_or(x, y)" if name == "bool" else "R.maximum(R.add(x, y), y)"
        lines += ["    @R.function",
                  f'    def {name}_(x: R.Tensor(("n", 3), "{name}"), y: R.Tensor((3,), "{name}")):',
                  f"        z = {call}", f'        w = R.astype(z, "float32")',
                  "        return (z, w)"]
        low = 0 if name.startswith("u") or name == "bool" else -9
        high = 2 if name == "bool" else 10
        to = getattr(__import__("ml_dtypes"), name) if name == "bfloat16" else name
        calls += [(f"{name}_", [integers(rng, n, 3, dtype=to, low=low, high=high),
                                integers(rng, 3, dtype=to, low=low, high=high)], "")
                  for n in (1, 4)]
    return parse("\n".join(lines)), calls


def scan(rng):
    """Running sums and products."""
    source = """
@I.ir_module
class Module:
    @R.function
    def scan(x: R.Tensor(("n", 4), "float32")):
        y = R.cumsum(x, axis=0)
        z = R.cumprod(x, axis=1)
        return (y, z)

    @R.function
    def scan_ints(x: R.Tensor((5, 4), "int32")):
        y = R.cumsum(x, axis=1, dtype="int64", exclusive=True)
        return y
"""
    return parse(source), [("scan", [normal(rng, 6, 4)], ""), ("scan", [normal(rng, 1, 4)], ""),
                           ("scan_ints", [integers(rng, 5, 4)], "")]


def order(rng):
    """Sorting, several orders in one function; test_contrib.py has each by itself."""
    source = """
@I.ir_module
class Module:
    @R.function
    def order(x: R.Tensor(("n", 7), "float32")):
        a = R.sort(x, axis=1)
        b = R.argsort(x, axis=0, descending=True, dtype="int64")
        c = R.topk(x, k=3, axis=1, ret_type="both", largest=True, dtype="int32")
        return (a, b, c[0], c[1])
"""
    return parse(source), [("order", [normal(rng, n, 7)], "") for n in (1, 5)]


def data_dependent(rng):
    """Operators whose results have as many elements as the data says; TVM leaves two to NumPy."""
    source = """
@I.ir_module
class Module:
    @R.function
    def nonzero(x: R.Tensor((3, 4), "int32")):
        y = R.nonzero(x)
        return y

    @R.function
    def unique(x: R.Tensor((9,), "int32")):
        y = R.unique(x, sorted=True)
        return y

    @R.function
    def unique_all(x: R.Tensor((9,), "int32")):
        y = R.unique(x, sorted=True, return_index=True, return_inverse=True, return_counts=True)
        return y

    @R.function
    def unique_unsorted(x: R.Tensor((9,), "int32")):
        y = R.unique(x, sorted=False, return_index=True, return_inverse=True, return_counts=True)
        return y

    @R.function
    def unique_rows(x: R.Tensor((8, 2), "float32")):
        y = R.unique(x, sorted=True, return_index=True, return_inverse=True, return_counts=True,
                     axis=0)
        return y

    @R.function
    def unique_columns(x: R.Tensor((2, 8), "int8")):
        y = R.unique(x, sorted=False, axis=-1)
        return y

    @R.function
    def pick(x: R.Tensor((6, 4), "float32"), i: R.Tensor(("n",), "int64")):
        y = R.take(x, i, axis=0)
        return y

    @R.function
    def cut(x: R.Tensor((8, 4), "float32"), b: R.Tensor((2,), "int64"), e: R.Tensor((2,), "int64"),
            s: R.Tensor((2,), "int64")):
        y = R.dynamic_strided_slice(x, b, e, s)
        return y
"""
    few = integers(rng, 9, low=0, high=4)
    calls = [("nonzero", [integers(rng, 3, 4, low=0, high=2)], ""),
             ("nonzero", [integers(rng, 3, 4, low=1, high=2)], ""),
             ("unique", [few], ""), ("unique_all", [few], ""),
             ("unique_unsorted", [few], ""),
             ("unique_rows", [integers(rng, 8, 2, low=-1, high=2, dtype="float32")], ""),
             ("unique_columns", [integers(rng, 2, 8, low=-1, high=2, dtype="int8")], ""),
             ("pick", [normal(rng, 6, 4), integers(rng, 3, dtype="int64", low=0, high=6)], ""),
             ("cut", [normal(rng, 8, 4), numpy.array([1, 0]), numpy.array([7, 4]),
                      numpy.array([2, 1])], "")]
    return parse(source), calls


def buckets(rng):
    """Where numbers belong among edges."""
    source = """
@I.ir_module
class Module:
    @R.function
    def buckets(x: R.Tensor((4, 4), "float32"), edges: R.Tensor((5,), "float32")):
        y = R.bucketize(x, edges, out_int32=True, right=False)
        return y
"""
    return parse(source), [("buckets", [normal(rng, 4, 4), numpy.sort(normal(rng, 5))], "")]


MODELS = [transformer, transformer_bound, convolution, cnn, lstm, branches, tuples, symbols, dtypes,
          scan, order, data_dependent, buckets]
