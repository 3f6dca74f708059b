# SPDX-License-Identifier: Apache-2.0
"""What `minspect memory` computes of a call is what TVM allocates in it, within 2 percent.

TVM's virtual machine runs with its allocator that keeps nothing, in a process whose allocations a preloaded library counts.
"""
import json
import os
import shutil
import subprocess
import sys

import mlcmodels
import numpy
import pytest
import relaxrun
import tvm
from tvm import relax
from tvm.relax.frontend import nn

from conftest import DATA

COUNTER = r"""
#define _GNU_SOURCE
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t), __libc_free(void *);
static _Atomic long now, peak;
static void *add(void *p, long less)
{
	long n = p ? (long)malloc_usable_size(p) - less : 0, sum = atomic_fetch_add(&now, n) + n, most = peak;
	while (sum > most && !atomic_compare_exchange_weak(&peak, &most, sum))
		;
	return p;
}
void *malloc(size_t n) { return add(__libc_malloc(n), 0); }
void *calloc(size_t a, size_t b) { return add(__libc_calloc(a, b), 0); }
void *realloc(void *p, size_t n)
{
	long before = p ? (long)malloc_usable_size(p) : 0;
	return add(__libc_realloc(p, n), before);
}
void *memalign(size_t a, size_t n) { return add(__libc_memalign(a, n), 0); }
void *aligned_alloc(size_t a, size_t n) { return memalign(a, n); }
int posix_memalign(void **p, size_t a, size_t n) { return (*p = memalign(a, n)) ? 0 : 12; }
void free(void *p)
{
	if (p)
		atomic_fetch_sub(&now, (long)malloc_usable_size(p)), __libc_free(p);
}
long count_begin(void) { return peak = now; }
long count_peak(void) { return peak; }
long count_now(void) { return now; }
"""

# Calls a function twice and prints what the second call took: at its peak, and what it left.
MEASURE = r"""
import ctypes, json, sys
import numpy, tvm, tvm_ffi
from tvm import relax
counter = ctypes.CDLL(None)
for name in "count_begin", "count_peak", "count_now":
    getattr(counter, name).restype = ctypes.c_long
path, function, shapes, cached = json.loads(sys.argv[1])
machine = relax.VirtualMachine(tvm.runtime.load_module(path), tvm.cpu(), memory_cfg="naive")
args = [tvm.runtime.tensor(numpy.zeros(s, "float32")) for s in shapes]
sizes = [tvm_ffi.Shape([n]) for n in cached]
answer = {}
if cached:
    before = counter.count_now()
    cache = machine["create_paged_kv_cache"](*sizes)
    answer["cache"] = counter.count_now() - before
    call = tvm_ffi.get_global_func
    call("vm.builtin.kv_state_add_sequence")(cache, 0)
    args.append(cache)
for _ in range(2):
    if cached:
        call("vm.builtin.kv_state_begin_forward")(cache, tvm_ffi.Shape([0]), tvm_ffi.Shape([shapes[0][1]]))
    before = counter.count_begin()
    result = machine[function](*args)
    answer["peak"] = counter.count_peak() - before
    del result
    if cached:
        call("vm.builtin.kv_state_end_forward")(cache)
print(json.dumps(answer))
"""


@pytest.fixture(scope="module")
def counter(tmp_path_factory):
    if not shutil.which("cc"):
        pytest.skip("no C compiler for the library that counts allocations")
    folder = tmp_path_factory.mktemp("counter")
    (folder / "count.c").write_text(COUNTER)
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-w", "-o", "count.so", "count.c"], cwd=folder, check=True)
    return folder / "count.so"


def measure(counter, path, function, shapes, cached=()):
    env = dict(os.environ, LD_PRELOAD=str(counter), TVM_NUM_THREADS="1", OMP_NUM_THREADS="1")
    what = json.dumps([str(path), function, shapes, list(cached)])
    done = subprocess.run([sys.executable, "-c", MEASURE, what], capture_output=True, text=True, env=env, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def compute(minspect, path, function, extents):
    shapes = [word for name, n in extents.items() for word in ("--shape", f"{name}={n}")]
    (model,) = json.loads(minspect("memory", "--json", *shapes, path).stdout)["files"][0]["models"]
    return model, next(f for f in model["functions"] if f["name"] == function)


class Perceptron(nn.Module):
    def __init__(self):
        self.first, self.second = nn.Linear(64, 256), nn.Linear(256, 32)

    def forward(self, x):
        return self.second(nn.op.relu(self.first(x)))


class Convolution(nn.Module):
    def __init__(self):
        self.first = nn.Conv2D(3, 16, 3, padding=1)
        self.second, self.third = nn.Conv2D(16, 32, 3, stride=2, padding=1), nn.Conv2D(32, 32, 3, padding=1)

    def forward(self, x):
        x = nn.op.relu(self.second(nn.op.relu(self.first(x))))
        return nn.op.relu(self.third(x)) + x


class Layer(nn.Module):
    def __init__(self, width=64, heads=4):
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm = nn.RMSNorm(width, -1, bias=False)

    def forward(self, x):
        batch, n, width = x.shape
        each = width // self.heads
        parts = nn.op.split(self.qkv(self.norm(x)).reshape(batch, n, 3, self.heads, each), 3, axis=2)
        q, k, v = (p.reshape(batch, n, self.heads, each).permute_dims(0, 2, 1, 3) for p in parts)
        scores = nn.op.softmax(nn.op.matmul(q, k.permute_dims(0, 1, 3, 2)) / each**0.5, -1)
        x = x + self.out(nn.op.matmul(scores, v).permute_dims(0, 2, 1, 3).reshape(batch, n, width))
        return x + self.down(nn.op.gelu(self.up(self.norm(x))))


class Join(nn.Module):
    """Its result has an extent that no input has."""

    def __init__(self):
        self.layer = nn.Linear(64, 64)

    def forward(self, x, y):
        return self.layer(nn.op.concat([x, y], 0))


class Hourglass(nn.Module):
    """What was computed on the way down lives until the way up."""

    def __init__(self):
        self.begin, self.down = nn.Conv2D(3, 8, 3, padding=1), nn.Conv2D(8, 24, 3, stride=2, padding=1)
        self.inner, self.end = nn.Conv2D(24, 24, 3, padding=1), nn.Conv2D(32, 4, 3, padding=1)

    def forward(self, x):
        left = nn.op.silu(self.begin(x))
        inner = nn.op.silu(self.inner(nn.op.silu(self.down(left))))
        wide = nn.op.interpolate(inner, scale_factor=2.0, mode="nearest")
        return self.end(nn.op.concat([left, wide], 1))


class Experts(nn.Module):
    """Every expert is run, and a gate weighs what comes out."""

    def __init__(self, width=48, count=3):
        self.gate = nn.Linear(width, count)
        self.up = nn.ModuleList([nn.Linear(width, 5 * width) for _ in range(count)])
        self.down = nn.ModuleList([nn.Linear(5 * width, width) for _ in range(count)])

    def forward(self, x):
        gates = nn.op.split(nn.op.softmax(self.gate(x), -1), len(self.up), axis=1)
        outs = [down(nn.op.silu(up(x))) * gate for up, down, gate in zip(self.up, self.down, gates)]
        return outs[0] + outs[1] + outs[2] + x


MODELS = {
    "hourglass": (Hourglass, [["b", 3, 64, 48]], [[3, 3, 64, 48]], {"b": 3}),
    "experts": (Experts, [["n", 48]], [[1500, 48]], {"n": 1500}),
    "perceptron": (Perceptron, [["n", 64]], [[2000, 64]], {"n": 2000}),
    "convolution": (Convolution, [["b", 3, "h", 96]], [[2, 3, 57, 96]], {"b": 2, "h": 57}),
    "transformer": (Layer, [[1, "n", 64]], [[1, 300, 64]], {"n": 300}),
    "join": (Join, [["n", 64], ["m", 64]], [[3000, 64], [777, 64]], {"n": 3000, "m": 777}),
}


@pytest.mark.parametrize("name", MODELS)
def test_peak(name, tmp_path, minspect, counter):
    kind, inputs, shapes, extents = MODELS[name]
    spec = {x: nn.spec.Tensor(shape, "float32") for x, shape in zip("xy", inputs)}
    module, params = kind().export_tvm(spec={"forward": spec})
    rng = numpy.random.default_rng(1)
    bound = {key: rng.standard_normal([int(n) for n in p.shape]).astype(p.dtype) for key, p in params}
    module = relax.transform.BindParams("forward", bound)(module)
    tvm.compile(module, target=tvm.target.Target("llvm")).export_library(str(tmp_path / "model.so"))
    model, function = compute(minspect, tmp_path / "model.so", "forward", extents)
    assert function["unknown"] == 0, function["why"]
    assert function["input_bytes"] == sum(4 * numpy.prod(s) for s in shapes)
    assert model["weight_bytes"] >= sum(w.nbytes for w in bound.values())
    peak = measure(counter, tmp_path / "model.so", "forward", shapes)["peak"]
    assert abs(function["peak_bytes"] - peak) < 0.02 * peak, (function["peak_bytes"], peak)


def test_python(mpk, minspect):
    library = DATA / "relax/gelu_dyn.so"
    told = mpk.memory(library, m=77)
    assert told == json.loads(minspect("memory", "--json", "--shape", "m=77", library).stdout)["files"][0]
    assert told["models"][0]["functions"][0]["extents"] == [{"name": "m", "value": 77, "given": True}]


def test_cache(tmp_path, minspect, counter):
    """A cache takes its pages, and TVM some tensors of the size of a forward pass besides."""
    config = mlcmodels.Config(vocabulary=64, hidden=64, inner=256, layers=2, heads=4, kv_heads=2, head_dim=16,
                              quantization="q0f32", context=65536, chunk=256, params="plain")
    module, names, weights = mlcmodels.llama(numpy.random.default_rng(4), config)
    for name in "batch_prefill", "batch_decode", "softmax_with_temperature":
        del module[name]
    for name in "embed", "prefill", "decode":
        module = relax.transform.BindParams(name, dict(zip(names, weights)))(module)
    relaxrun.build(module, tmp_path / "model.so", target=tvm.target.Target("llvm"))
    sizes = {"max_batch_size": 2, "max_total_seq_len": 65536, "prefill_chunk_size": 256, "page_size": 16,
             "support_sliding_window": 0, "seq_len": 250}
    model, prefill = compute(minspect, tmp_path / "model.so", "prefill", sizes)
    assert prefill["unknown"] == 0, prefill["why"]
    pages = 65536 // 16 + 1
    assert model["cache_bytes"] == 2 * pages * 2 * 2 * 16 * 16 * 4
    got = measure(counter, tmp_path / "model.so", "prefill", [[1, 250, 64]], list(sizes.values())[:5])
    assert abs(prefill["peak_bytes"] - got["peak"]) < 0.02 * got["peak"], (prefill["peak_bytes"], got)
    assert model["cache_bytes"] < got["cache"]
