#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_models.py OUT BYTES - models by TVM for tests/bench/models.py

OUT/mlp.so, cnn.so, narrow.so (an MLP of width 8, dynamic batch), attention.so (dynamic length, width
32), wide.so (width 64) and large.so, whose one constant has BYTES. NAME-compiled.so: the same in exec_mode="compiled".
"""
import sys

import numpy
import tvm
from tvm import relax
from tvm.relax import op
from tvm.script import tirx

out, large_bytes = sys.argv[1], int(sys.argv[2])
random = numpy.random.default_rng(0)


def weight(*shape):
    return relax.const(random.standard_normal(shape).astype("float32") * 0.1)


def save(name, shape, body, mode="bytecode"):
    """forward(x) of a chain of operators; body takes a function that emits one, and x."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(shape, "float32"))
    with builder.function("forward", [x]):
        with builder.dataflow():
            result = builder.emit_output(body(builder.emit, x))
        builder.emit_func_output(result)
    suffix = "" if mode == "bytecode" else f"-{mode}"
    relax.build(builder.get(), target="llvm", exec_mode=mode).export_library(f"{out}/{name}{suffix}.so")


def mlp(emit, x):
    h = emit(op.nn.relu(emit(op.add(emit(op.matmul(x, weight(32, 64))), weight(64)))))
    return op.nn.softmax(emit(op.add(emit(op.matmul(h, weight(64, 10))), weight(10))))


def narrow(emit, x):
    for _ in range(3):
        x = emit(op.nn.relu(emit(op.add(emit(op.matmul(x, weight(8, 8))), weight(8)))))
    return op.nn.softmax(x)


def cnn(emit, x):
    for filters in ((8, 3, 3, 3), (16, 8, 3, 3)):
        x = emit(op.nn.relu(emit(op.nn.conv2d(x, weight(*filters), padding=1))))
        x = emit(op.nn.max_pool2d(x, (2, 2), (2, 2)))
    return op.nn.softmax(emit(op.matmul(emit(op.reshape(x, (1, 256))), weight(256, 10))))


def attention(d):
    """A transformer block with one head."""
    def body(emit, x):
        q, k, v = (emit(op.matmul(x, weight(d, d))) for _ in range(3))
        scores = emit(op.matmul(q, emit(op.permute_dims(k, [0, 2, 1]))))
        scores = emit(op.nn.softmax(emit(op.multiply(scores, relax.const(numpy.float32(d ** -0.5))))))
        h = emit(op.matmul(emit(op.matmul(scores, v)), weight(d, d)))
        one, zero = relax.const(numpy.ones(d, "float32")), relax.const(numpy.zeros(d, "float32"))
        h = emit(op.nn.layer_norm(emit(op.add(h, x)), one, zero, axes=[-1]))
        f = emit(op.nn.gelu(emit(op.matmul(h, weight(d, 2 * d)))))
        return op.add(h, emit(op.matmul(f, weight(2 * d, d))))
    return body


save("narrow", (tirx.Var("n", "int64"), 8), narrow)
for mode in ("bytecode", "compiled"):
    save("mlp", (4, 32), mlp, mode)
    save("cnn", (1, 3, 16, 16), cnn, mode)
    for name, width in (("attention", 32), ("wide", 64)):
        save(name, (1, tirx.Var("n", "int64"), width), attention(width), mode)
rows = large_bytes // 4096
constant = relax.const(random.random((rows, 1024), dtype="float32"))
save("large", (1024,), lambda emit, x: op.matmul(constant, x))
