#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make.py - two_calls.so: a compiled model of the Relax VM of two calls, linked without a C library, by TVM 0.27;
two_calls.as_text: the same model as byte code
"""
import subprocess

import numpy
import tvm
from tvm import relax


def link(out, files, **_):
    subprocess.run(["gcc", "-shared", "-nostdlib", "-s", "-Wl,-z,noseparate-code,-z,norelro,--build-id=none", "-o", out,
                    *files], check=True)


def model():
    tensor = getattr(relax, "TensorStructInfo", None) or relax.TensorType
    x = relax.Var("x", tensor((2, 4), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit(relax.op.negative(x))
            out = builder.emit_output(relax.op.add(y, relax.const(numpy.ones((2, 4), "float32"))))
        builder.emit_func_output(out)
    return builder.get()


target = tvm.target.Target({"kind": "llvm", "mcpu": "x86-64"})
relax.build(model(), target=target, exec_mode="compiled").export_library("two_calls.so", fcompile=link)
with open("two_calls.as_text", "w", encoding="ascii") as text:
    text.write(relax.build(model(), target=target).as_text())
