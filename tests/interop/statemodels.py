# SPDX-License-Identifier: Apache-2.0
"""A decoder as MLC-LLM makes them, small and with random weights: a paged cache, and kernels of TIR."""
import inspect

import tvm
from tvm import relax
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import op
from tvm.relax.frontend.nn.llm.kv_cache import RopeMode, TIRPagedKVCache

# TVM 0.27 on: windows of layers have a size, and layers share keys.
IS_NEW = "layer_sliding_window_size" in inspect.signature(TIRPagedKVCache.__init__).parameters
VOCABULARY, HIDDEN, LAYERS, HEADS, KV_HEADS, HEAD_DIM = 96, 32, 3, 4, 2, 16


class Attention(nn.Module):
    def __init__(self, layer):
        self.layer = layer
        self.qkv = nn.Linear(HIDDEN, (HEADS + 2 * KV_HEADS) * HEAD_DIM, bias=False)
        self.out = nn.Linear(HEADS * HEAD_DIM, HIDDEN, bias=False)

    def forward(self, x, cache):
        b, s, _ = x.shape
        qkv = op.reshape(self.qkv(x), (b, s, HEADS + 2 * KV_HEADS, HEAD_DIM))
        y = cache.attention_with_fused_qkv(self.layer, qkv, HEADS, HEAD_DIM ** -0.5)
        return self.out(op.reshape(y, (b, s, HEADS * HEAD_DIM)))


class Block(nn.Module):
    def __init__(self, layer):
        self.attention = Attention(layer)
        self.norm1 = nn.RMSNorm(HIDDEN, -1, 1e-5, bias=False)
        self.norm2 = nn.RMSNorm(HIDDEN, -1, 1e-5, bias=False)
        self.up = nn.Linear(HIDDEN, 4 * HIDDEN, bias=False)
        self.down = nn.Linear(2 * HIDDEN, HIDDEN, bias=False)

    def forward(self, x, cache):
        x = x + self.attention(self.norm1(x), cache)
        gate, up = op.split(self.up(self.norm2(x)), 2, axis=-1)
        return x + self.down(op.silu(gate) * up)


class Decoder(nn.Module):
    """The functions that an engine calls. rope, kinds and window are of the cache."""

    def __init__(self, rope=RopeMode.NORMAL, kinds="mha", window=1024, target=None, dtype="float32"):
        self.rope, self.kinds, self.window = rope, kinds, window
        self.target, self.cache_dtype = target or tvm.target.Target("llvm"), dtype
        self.embedding = nn.Embedding(VOCABULARY, HIDDEN)
        self.blocks = nn.ModuleList([Block(i) for i in range(LAYERS)])
        self.norm = nn.RMSNorm(HIDDEN, -1, 1e-5, bias=False)
        self.head = nn.Linear(HIDDEN, VOCABULARY, bias=False)

    def embed(self, tokens):
        return self.embedding(tokens)

    def hidden(self, x, cache):
        for block in self.blocks:
            x = block(x, cache)
        return self.norm(x)

    def prefill(self, x, cache):
        def last(t):
            s, h = t.shape[1], t.shape[2]
            return tvm.te.compute((1, 1, h), lambda i, _, k: t[i, s - 1, k], name="last")
        x = op.tensor_expr_op(last, "last", [self.hidden(x, cache)])
        return self.head(x), cache

    def decode(self, x, cache):
        return self.head(self.hidden(x, cache)), cache

    def batch_prefill(self, x, positions, cache):
        x = op.take(self.hidden(x, cache), positions, axis=1)
        return self.head(x), cache

    def batch_decode(self, x, cache):
        return self.head(self.hidden(x, cache)), cache

    def apart(self, q, k, v, cache):
        """Attention of new tokens, to pages, and both with keys of another layer."""
        scale = HEAD_DIM ** -0.5
        own, own_lse = cache.self_attention(1, q, k, v, scale)
        far, far_lse = cache.cross_attention(1, q, HEAD_DIM, scale)
        both = cache.attention_with_shared_kv(1, q, k, v, scale) if IS_NEW else own
        return own, own_lse, far, far_lse, both, cache.get_query_positions(q.shape[1])

    def softmax_with_temperature(self, logits, temperature):
        return op.softmax(logits / op.reshape(temperature, (temperature.shape[0], 1, 1)), axis=-1)

    def create_paged_kv_cache(self, max_batch_size, max_total_seq_len, prefill_chunk_size, page_size,
                              support_sliding_window):
        return TIRPagedKVCache(
            attn_kind=self.kinds, max_batch_size=max_batch_size,
            max_total_seq_len=max_total_seq_len, prefill_chunk_size=prefill_chunk_size,
            page_size=page_size, support_sliding_window=support_sliding_window,
            layer_partition=relax.ShapeExpr([0, LAYERS]), num_hidden_layers=LAYERS,
            num_attention_heads=HEADS, num_key_value_heads=KV_HEADS, qk_head_dim=HEAD_DIM,
            v_head_dim=HEAD_DIM, mla_original_qk_head_dim=0, mla_original_v_head_dim=0,
            rope_mode=self.rope, rope_scale=1, rope_theta=10000, rope_scaling={},
            rope_ext_factors=getattr(relax, "prim_value", getattr(relax, "PrimValue", None))(0),
            rotary_dim=HEAD_DIM, enable_disaggregation=False, dtype=self.cache_dtype,
            target=self.target, **({"layer_sliding_window_size": self.window} if IS_NEW else {}))

    def spec(self):
        def tensor(*shape, dtype="float32"):
            return nn.spec.Tensor(list(shape), dtype)
        cache, mode = nn.spec.Object(object_type=nn_cache()), {
            "param_mode": "packed", "effect_mode": "none"}
        plain = {"param_mode": "none", "effect_mode": "none"}
        return nn.spec.ModuleSpec.from_raw({
            "embed": {"tokens": tensor("n", dtype="int32"), "$": mode},
            "prefill": {"x": tensor(1, "n", HIDDEN), "cache": cache, "$": mode},
            "decode": {"x": tensor(1, 1, HIDDEN), "cache": cache, "$": mode},
            "batch_prefill": {"x": tensor(1, "n", HIDDEN), "positions": tensor("b", dtype="int32"),
                              "cache": cache, "$": mode},
            "batch_decode": {"x": tensor("b", 1, HIDDEN), "cache": cache, "$": mode},
            "apart": {"q": tensor(1, "n", HEADS, HEAD_DIM), "k": tensor(1, "n", KV_HEADS, HEAD_DIM),
                      "v": tensor(1, "n", KV_HEADS, HEAD_DIM), "cache": cache, "$": plain},
            "softmax_with_temperature": {"logits": tensor("b", 1, VOCABULARY),
                                         "temperature": tensor("b"), "$": plain},
            "create_paged_kv_cache": {
                "max_batch_size": int, "max_total_seq_len": int, "prefill_chunk_size": int,
                "page_size": int, "support_sliding_window": int, "$": plain},
        }, self)


def nn_cache():
    from tvm.relax.frontend.nn.llm.kv_cache import PagedKVCache
    return PagedKVCache


def decoder(rng, **options):
    """The module, and its weights in order."""
    model = Decoder(**options)
    module, named = model.export_tvm(spec=model.spec())
    weights = [(rng.standard_normal([int(x) for x in p.shape]) * 0.15).astype("float32")
               for _, p in named]
    return module, weights


@relax.expr_functor.mutator
class SwapTrees(relax.expr_functor.PyExprMutator):
    """TVM's list of kernels for the CPU has those of trees in the other order than its cache takes them."""

    def visit_call_(self, call):
        call = self.visit_expr_post_order(call)
        name = getattr(call.args[0], "global_symbol", "") if call.args else ""
        if name != "vm.builtin.paged_attention_kv_cache_create":
            return call
        args = list(call.args)  # the first is the builtin
        args[21], args[22] = args[22], args[21]
        types = call.ty_args if hasattr(call, "ty_args") else call.sinfo_args  # before TVM 0.26
        return relax.Call(call.op, args, call.attrs, types)


def with_trees(module):
    """The module, its kernels for trees of tokens where the cache looks for them."""
    mutator = SwapTrees(module)
    function = mutator.visit_expr(module["create_paged_kv_cache"])
    mutator.builder_.update_func(module.get_global_var("create_paged_kv_cache"), function)
    return mutator.builder_.get()
