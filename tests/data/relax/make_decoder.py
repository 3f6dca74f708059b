# SPDX-License-Identifier: Apache-2.0
"""Writes decoder.so.gz, and prints the tokens that TVM makes of a prompt.

    PYTHONPATH=tests/interop python3 tests/data/relax/make_decoder.py         needs numpy, apache-tvm 0.27, strip, gzip

A language model as MLC-LLM makes them, with its weights in it: 32 tokens, one layer, a paged cache.
"""
import pathlib
import subprocess

import mlcmodels
import numpy
import relaxrun
import tvm
import tvm_ffi
from tvm import relax

KV = "vm.builtin.kv_state_"
path = pathlib.Path(__file__).parent / "decoder.so"
config = mlcmodels.Config(vocabulary=32, hidden=32, inner=32, layers=1, heads=2, kv_heads=1, head_dim=16,
                          quantization="q0f32", context=64, chunk=32, params="plain")
module, names, weights = mlcmodels.llama(numpy.random.default_rng(4), config)
for name in "batch_prefill", "batch_decode", "softmax_with_temperature":
    del module[name]
bound = {name: (weight * 32).round() / 32 for name, weight in zip(names, weights)}
for name in "embed", "prefill", "decode":
    module = relax.transform.BindParams(name, bound)(module)
machine = relaxrun.build(module, path, target=tvm.target.Target({"kind": "llvm", "opt-level": 2}))
subprocess.run(["strip", str(path)], check=True)
subprocess.run(["gzip", "-9nf", str(path)], check=True)

cache = machine["create_paged_kv_cache"](*[relaxrun.to_tvm(relaxrun.Shape([n])) for n in (1, 64, 32, 16, 0)])
call, tokens, function, made = tvm_ffi.get_global_func, [3, 1, 4, 1, 5], "prefill", []
call(KV + "add_sequence")(cache, 0)
for _ in range(12):
    call(KV + "begin_forward")(cache, relaxrun.to_tvm(relaxrun.Shape([0])), relaxrun.to_tvm(relaxrun.Shape([len(tokens)])))
    hidden = machine["embed"](relaxrun.to_tvm(numpy.array(tokens, "int32"))).numpy()
    logits, _ = machine[function](relaxrun.to_tvm(hidden[None]), cache)
    call(KV + "end_forward")(cache)
    tokens, function = [int(logits.numpy().reshape(-1).argmax())], "decode"
    made += tokens
print(*made)
