# SPDX-License-Identifier: Apache-2.0
"""The kernels of this folder, and how they were compiled: python3 kernels.py DIR, with Triton 3.9.0.

No GPU is needed. Paths of the machine are taken out of what Triton writes; nothing else is changed.
"""
import json
import os
import pathlib
import re
import sys
import tempfile

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def scaled_add(x, y, out, n, alpha, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + alpha * tl.load(y + offsets, mask=mask), mask=mask)


@triton.jit
def record(out, a, b, c, d, e, f, g, h, k):
    """Its arguments, each as a double."""
    tl.store(out + 0, a.to(tl.float64))
    tl.store(out + 1, b.to(tl.float64))
    tl.store(out + 2, c.to(tl.float64))
    tl.store(out + 3, d)
    tl.store(out + 4, e.to(tl.float64))
    tl.store(out + 5, f.to(tl.float64))
    tl.store(out + 6, g.to(tl.float64))
    tl.store(out + 7, h.to(tl.float64))
    tl.store(out + 8, k.to(tl.float64))


@triton.jit
def clustered(out):
    tl.store(out + tl.program_id(0), tl.program_id(1))


@triton.jit
def described(x, out, rows, cols, BLOCK: tl.constexpr):
    """A descriptor that the device makes, in memory that the launcher gives it."""
    desc = tl.make_tensor_descriptor(x, [rows, cols], [cols, 1], [BLOCK, BLOCK])
    tile = desc.load([tl.program_id(0) * BLOCK, 0])
    i = tl.arange(0, BLOCK)
    tl.store(out + i[:, None] * BLOCK + i[None, :], tile)


ALIGNED = [["tt.divisibility", 16]]
KERNELS = [
    (scaled_add, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "alpha": "fp32"},
     {"BLOCK": 256}, {(0,): ALIGNED, (2,): ALIGNED, (3,): ALIGNED}, {}),
    (record, {"out": "*fp64", "a": "i32", "b": "i64", "c": "fp32", "d": "fp64", "e": "i1", "f": "i8", "g": "i16",
              "h": "fp16", "k": "bf16"}, {}, {}, {"num_warps": 1}),
    (clustered, {"out": "*i32"}, {}, {}, {"num_ctas": 2, "launch_cooperative_grid": True, "launch_pdl": True}),
    (described, {"x": "*fp16", "out": "*fp16", "rows": "i32", "cols": "i32"}, {"BLOCK": 16},
     {(0,): ALIGNED, (3,): ALIGNED}, {}),
]


def clean(text):
    """Without the folders of whoever compiled it."""
    return re.sub(r'"/[^"]*/([^"/]*)"', r'"\1"', text)


def compile_all(target=GPUTarget("cuda", 90, 32)):
    """(name, cubin, metadata, IR) of each kernel."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ.update(TRITON_CACHE_DIR=cache, TRITON_DISABLE_LINE_INFO="1")
        for fn, signature, constants, attributes, options in KERNELS:
            triton.compile(ASTSource(fn, signature, constexprs=constants, attrs=attributes), target=target,
                           options=options)
            name = fn.__name__
            cubin = next(pathlib.Path(cache).glob(f"*/{name}.cubin"))
            yield (name, cubin.read_bytes(), clean(cubin.with_suffix(".json").read_text()),
                   clean(cubin.with_suffix(".ttir").read_text()))


if __name__ == "__main__":
    for kernel, code, meta, ir in compile_all():
        out = pathlib.Path(sys.argv[1]) / kernel
        out.with_suffix(".cubin").write_bytes(code)
        out.with_suffix(".json").write_text(json.dumps(json.loads(meta), indent=1) + "\n")
        out.with_suffix(".ttir").write_text(ir)
