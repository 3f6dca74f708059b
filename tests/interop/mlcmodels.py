# SPDX-License-Identifier: Apache-2.0
"""Libraries as MLC-LLM makes them: weights quantized in groups, a paged cache, metadata as a function.

A weight of rows and columns is stored as MLC's formats q4f32_1 and q4f16_1 do it: eight numbers of four bits in each
uint32, the first one lowest, less seven, and a scale for each 32 columns. Kernels of TIR unpack them.
"""
import dataclasses
import json

import numpy
import tvm
from tvm import relax, te
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import op
from tvm.relax.frontend.nn.llm.kv_cache import PagedKVCache, RopeMode, TIRPagedKVCache

STRING = getattr(relax, "StringImm", getattr(tvm.ir, "StringImm", None))  # before TVM 0.27, and since then
TIR = getattr(tvm, "tirx", None) or tvm.tir
GROUP, PACKED, MIDDLE = 32, 8, 7  # columns of a scale; numbers of a word; what 0 is stored as


@dataclasses.dataclass
class Config:
    vocabulary: int = 320
    hidden: int = 64
    inner: int = 96
    layers: int = 2
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 32
    quantization: str = "q4f32_1"  # or q4f16_1, q0f32
    context: int = 512
    chunk: int = 128
    params: str = "packed"  # in one tuple; or "plain", each an input

    @property
    def dtype(self):
        return "float16" if "f16" in self.quantization else "float32"

    @property
    def packs(self):
        return self.quantization.startswith("q4")


LARGE = Config(vocabulary=16384, hidden=1024, inner=2816, layers=4, heads=16, kv_heads=4, head_dim=64)


def unpacked(words, scales, dtype, rows, columns):
    """What a weight is: computed where it is used."""
    def at(i, j):
        nibble = (words[i, j // PACKED] >> TIR.Cast("uint32", (j % PACKED) * 4)) & TIR.const(15, "uint32")
        return (nibble.astype(dtype) - TIR.const(MIDDLE, dtype)) * scales[i, j // GROUP]
    return te.compute((rows, columns), at, name="dequantize")


class Weight(nn.Module):
    """rows x columns, packed or as they are."""

    def __init__(self, config, rows, columns):
        self.config, self.rows, self.columns = config, rows, columns
        if config.packs:
            self.q_weight = nn.Parameter((rows, columns // PACKED), "uint32")
            self.q_scale = nn.Parameter((rows, columns // GROUP), config.dtype)
        else:
            self.weight = nn.Parameter((rows, columns), config.dtype)

    def tensor(self):
        if not self.config.packs:
            return self.weight
        return op.tensor_expr_op(lambda w, s: unpacked(w, s, self.config.dtype, self.rows, self.columns), "dequantize",
                                 [self.q_weight, self.q_scale])

    def times(self, x):
        return op.matmul(x, op.permute_dims(self.tensor()))


class Attention(nn.Module):
    def __init__(self, config, layer):
        self.config, self.layer = config, layer
        every = (config.heads + 2 * config.kv_heads) * config.head_dim
        self.qkv_proj = Weight(config, every, config.hidden)
        self.o_proj = Weight(config, config.hidden, config.heads * config.head_dim)

    def forward(self, x, cache):
        c = self.config
        b, s, _ = x.shape
        qkv = op.reshape(self.qkv_proj.times(x), (b, s, c.heads + 2 * c.kv_heads, c.head_dim))
        y = cache.attention_with_fused_qkv(self.layer, qkv, c.heads, c.head_dim ** -0.5)
        return self.o_proj.times(op.reshape(y, (b, s, c.heads * c.head_dim)))


class Block(nn.Module):
    def __init__(self, config, layer):
        self.self_attn = Attention(config, layer)
        self.input_layernorm = nn.RMSNorm(config.hidden, -1, 1e-5, bias=False, dtype=config.dtype)
        self.post_attention_layernorm = nn.RMSNorm(config.hidden, -1, 1e-5, bias=False, dtype=config.dtype)
        self.gate_up_proj = Weight(config, 2 * config.inner, config.hidden)
        self.down_proj = Weight(config, config.hidden, config.inner)

    def forward(self, x, cache):
        x = x + self.self_attn(self.input_layernorm(x), cache)
        gate, up = op.split(self.gate_up_proj.times(self.post_attention_layernorm(x)), 2, axis=-1)
        return x + self.down_proj.times(op.silu(gate) * up)


class Llama(nn.Module):
    """The functions that MLC's engine calls."""

    def __init__(self, config):
        self.config = config
        self.embed_tokens = Weight(config, config.vocabulary, config.hidden)
        self.layers = nn.ModuleList([Block(config, i) for i in range(config.layers)])
        self.norm = nn.RMSNorm(config.hidden, -1, 1e-5, bias=False, dtype=config.dtype)
        self.lm_head = Weight(config, config.vocabulary, config.hidden)

    def embed(self, input_ids):
        return op.take(self.embed_tokens.tensor(), input_ids, axis=0)

    def hidden(self, x, cache):
        for layer in self.layers:
            x = layer(x, cache)
        return self.norm(x)

    def logits(self, x):
        y = self.lm_head.times(x)
        return y if self.config.dtype == "float32" else op.astype(y, "float32")

    def prefill(self, input_embed, paged_kv_cache):
        def last(t):
            s, h = t.shape[1], t.shape[2]
            return te.compute((1, 1, h), lambda i, _, k: t[i, s - 1, k], name="last")
        x = op.tensor_expr_op(last, "index", [self.hidden(input_embed, paged_kv_cache)])
        return self.logits(x), paged_kv_cache

    def decode(self, input_embed, paged_kv_cache):
        return self.logits(self.hidden(input_embed, paged_kv_cache)), paged_kv_cache

    def batch_prefill(self, input_embeds, logit_positions, paged_kv_cache):
        x = op.take(self.hidden(input_embeds, paged_kv_cache), logit_positions, axis=1)
        return self.logits(x), paged_kv_cache

    def batch_decode(self, input_embeds, paged_kv_cache):
        return self.logits(self.hidden(input_embeds, paged_kv_cache)), paged_kv_cache

    def softmax_with_temperature(self, logits, temperature):
        return op.softmax(logits / op.reshape(temperature, (temperature.shape[0], 1, 1)), axis=-1)

    def create_paged_kv_cache(self, max_batch_size, max_total_seq_len, prefill_chunk_size, page_size, support_sliding_window):
        c = self.config
        return TIRPagedKVCache(
            attn_kind="mha", max_batch_size=max_batch_size, max_total_seq_len=max_total_seq_len,
            prefill_chunk_size=prefill_chunk_size, page_size=page_size, support_sliding_window=support_sliding_window,
            layer_partition=relax.ShapeExpr([0, c.layers]), num_hidden_layers=c.layers, num_attention_heads=c.heads,
            num_key_value_heads=c.kv_heads, qk_head_dim=c.head_dim, v_head_dim=c.head_dim, mla_original_qk_head_dim=0,
            mla_original_v_head_dim=0, rope_mode=RopeMode.NORMAL, rope_scale=1, rope_theta=10000, rope_scaling={},
            rope_ext_factors=getattr(relax, "prim_value", getattr(relax, "PrimValue", None))(0),
            rotary_dim=c.head_dim, enable_disaggregation=False, dtype=c.dtype, target=tvm.target.Target("llvm"))

    def spec(self):
        c = self.config

        def tensor(*shape, dtype=c.dtype):
            return nn.spec.Tensor(list(shape), dtype)
        cache, packed = nn.spec.Object(object_type=PagedKVCache), {"param_mode": c.params, "effect_mode": "none"}
        plain = {"param_mode": "none", "effect_mode": "none"}
        return nn.spec.ModuleSpec.from_raw({
            "embed": {"input_ids": tensor("seq_len", dtype="int32"), "$": packed},
            "prefill": {"input_embed": tensor(1, "seq_len", c.hidden), "paged_kv_cache": cache, "$": packed},
            "decode": {"input_embed": tensor(1, 1, c.hidden), "paged_kv_cache": cache, "$": packed},
            "batch_prefill": {"input_embeds": tensor(1, "seq_len", c.hidden), "logit_positions": tensor("batch_size", dtype="int32"),
                              "paged_kv_cache": cache, "$": packed},
            "batch_decode": {"input_embeds": tensor("batch_size", 1, c.hidden), "paged_kv_cache": cache, "$": packed},
            "softmax_with_temperature": {"logits": tensor("batch_size", 1, "vocab_size", dtype="float32"),
                                         "temperature": tensor("batch_size", dtype="float32"), "$": plain},
            "create_paged_kv_cache": {"max_batch_size": int, "max_total_seq_len": int, "prefill_chunk_size": int,
                                      "page_size": int, "support_sliding_window": int, "$": plain},
        }, self)


def metadata(config, params):
    """What MLC's compiler says of a library, by the names of its own pass."""
    return {
        "model_type": "llama", "quantization": config.quantization, "context_window_size": config.context,
        "sliding_window_size": -1, "attention_sink_size": -1, "prefill_chunk_size": config.chunk,
        "tensor_parallel_shards": 1, "pipeline_parallel_stages": 1, "disaggregation": False,
        "kv_state_kind": "kv_cache", "max_batch_size": 4,
        "params": [{"name": name, "shape": [int(x) for x in p.shape], "dtype": str(p.dtype), "preprocs": []}
                   for name, p in params],
        "memory_usage": {"prefill": 4 * config.chunk * config.inner, "decode": 4 * config.inner},
        "kv_cache": {"num_hidden_layers": config.layers, "num_attention_heads": config.heads,
                     "num_key_value_heads": config.kv_heads, "head_dim": config.head_dim},
    }


def add_metadata(module, text):
    """A function that returns it, as MLC's pass adds one."""
    builder = relax.BlockBuilder(module)
    with builder.function("_metadata", params=[]):
        builder.emit_func_output(STRING(text))
    return builder.finalize()


def random_weight(rng, shape, dtype):
    if dtype == "uint32":
        return rng.integers(0, 1 << 32, shape, dtype="uint32")
    if len(shape) == 1:
        return numpy.ones(shape, dtype)
    if shape[1] * GROUP > 0 and dtype != "uint32":
        return ((rng.random(shape) + 0.5) * 0.02).astype(dtype)
    raise AssertionError(shape)


def llama(rng, config=None):
    """The module, the names of its weights, and the weights in order."""
    config = config or Config()
    model = Llama(config)
    module, named = model.export_tvm(spec=model.spec())
    weights = []
    for name, p in named:
        shape = [int(x) for x in p.shape]
        if name.endswith(".weight") and len(shape) == 2:
            weights.append((rng.standard_normal(shape) * 0.1).astype(p.dtype))
        else:
            weights.append(random_weight(rng, shape, str(p.dtype)))
    module = add_metadata(module, json.dumps(metadata(config, named)))
    return module, [name for name, _ in named], weights
