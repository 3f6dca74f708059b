/* SPDX-License-Identifier: Apache-2.0 */
/* attention.c - builtins with which a layer of a model computes attention in a paged cache
 *
 * Attention is computed by kernels of the model: one for new tokens among themselves, and one for
 * the pages of each level of blocks. The results are merged by the logarithms of their sums.
 * Kernels get tables in the same order as from TVM's caches. The model provides the tensors. Their
 * shapes are compared with the cache before a kernel is called, because kernels do not check them
 * and would write out of bounds. */
#include "executor/state/internal/paged.h"

/* The tensors for one layer's attention, from the arguments of a builtin. */
struct layer_call {
	int32_t layer; /* index in this cache, from 0 */
	enum mpk_attention attention;
	double scale;
	/* borrowed; NULL: the builtin has no such argument */
	struct mpk_tensor *q, *k, *v, *output, *lse;
};

/* The arguments of a kernel, in the order in which TVM's caches pass them. */
struct kernel_args {
	struct mpk_value items[16];
	size_t count;
};

static void put_value(struct kernel_args *k, struct mpk_value v)
{
	k->items[k->count++] = v;
}

static void put_tensor(struct kernel_args *k, struct mpk_tensor *t)
{
	put_value(k, t ? mpk_value_of_tensor(t) : (struct mpk_value){ 0 });
}

/* How kernels embed positions, and their scale. */
static void put_scales(struct kernel_args *k, enum mpk_paged_rope rope, double rope_scale,
		       double rope_theta, double scale)
{
	put_value(k, mpk_value_of_int(rope == MPK_ROPE_INLINE));
	put_value(k, mpk_value_of_float(rope_scale));
	put_value(k, mpk_value_of_float(rope_theta));
	put_value(k, mpk_value_of_float(scale));
}

/* --- new tokens among themselves -------------------------------------------------------------- */

static enum mpk_code attend_self(struct mpk_paged *c, const struct layer_call *a,
				 struct mpk_error *err)
{
	bool has_heads = a->attention == MPK_ATTENTION_MHA || a->attention == MPK_ATTENTION_SLIDING;
	const struct mpk_paged_pass *p = &c->pass;
	bool is_chain = p->levels[0].is_chain;
	struct kernel_args k = { .count = 0 };

	MPK_TRY(mpk_state_check(has_heads || is_chain, err,
				"caches of MLA take no trees of tokens"));
	put_tensor(&k, a->q);
	put_tensor(&k, p->t_ends);
	put_tensor(&k, a->k);
	put_tensor(&k, a->v);
	put_tensor(&k, p->t_ends);
	put_tensor(&k, p->t_query_positions);
	put_tensor(&k, is_chain ? p->t_starts : p->on_device[0].tree_ends);
	if (!is_chain)
		put_tensor(&k, p->on_device[0].tree);
	put_tensor(&k, a->output);
	put_tensor(&k, a->lse);
	if (is_chain)
		put_value(&k, mpk_value_of_int(1)); /* causal: no token sees later ones */
	put_scales(&k, has_heads ? c->rope : MPK_ROPE_NONE, c->rope_scale, c->rope_theta, a->scale);
	return mpk_state_call(c->kernels[is_chain ? MPK_PAGED_RAGGED : MPK_PAGED_TREE],
			      is_chain ? "attention of new tokens"
				       : "attention in a tree of tokens",
			      k.items, k.count, err);
}

/* --- pages ------------------------------------------------------------------------------------ */

/* One level of blocks, in the form that its kernel takes. */
struct level_call {
	const struct layer_call *call;
	const struct mpk_paged_level *level;
	const struct mpk_paged_tensors *t;
	struct mpk_tensor *page_ends, *pages, *lengths, *positions;
	double rope_scale, rope_theta;
	bool is_causal, slides;
	struct mpk_tensor *output, *lse;
};

static void put_pages(struct kernel_args *k, struct mpk_paged *c, const struct level_call *l)
{
	put_tensor(k, c->pages[l->call->layer]);
	put_tensor(k, l->page_ends);
	put_tensor(k, l->pages);
	put_tensor(k, l->lengths);
}

static void put_output(struct kernel_args *k, const struct level_call *l)
{
	put_tensor(k, l->output);
	put_tensor(k, l->lse);
}

static enum mpk_code call_pages(struct mpk_paged *c, const struct level_call *l,
				struct mpk_error *err)
{
	bool is_tree = c->pass.appends_first && !l->level->is_chain;
	bool decodes = l->level->decodes && !is_tree;
	enum mpk_paged_kernel kernel = l->slides ? MPK_PAGED_PREFILL_SLIDING : MPK_PAGED_PREFILL;
	const char *what = "attention to pages";
	struct kernel_args k = { .count = 0 };

	if (is_tree) {
		kernel = MPK_PAGED_TREE_PAGED;
		what = "attention of a tree of tokens to pages";
	} else if (decodes) {
		kernel = l->slides ? MPK_PAGED_DECODE_SLIDING : MPK_PAGED_DECODE;
		what = "attention of single tokens to pages";
	}
	put_tensor(&k, l->call->q);
	if (!decodes)
		put_tensor(&k, l->t->queries);
	put_pages(&k, c, l);
	put_tensor(&k, l->positions);
	put_tensor(&k, c->pass.t_query_positions);
	put_output(&k, l);
	if (!decodes && !is_tree)
		put_value(&k, mpk_value_of_int(l->is_causal));
	put_scales(&k, c->rope, l->rope_scale, l->rope_theta, l->call->scale);
	if (is_tree) {
		put_tensor(&k, l->t->tree_ends);
		put_tensor(&k, l->t->tree);
	}
	return mpk_state_call(c->kernels[kernel], what, k.items, k.count, err);
}

/* @count   number of attentions that output and lse already contain; increased here */
static enum mpk_code attend_levels(struct mpk_paged *c, const struct layer_call *a, bool is_causal,
				   size_t *count, struct mpk_error *err)
{
	for (size_t d = 0; d < c->pass.depth_count; d++) {
		/* A layer whose window is part of the model has its own rotary embedding. */
		const struct mpk_paged_tensors *t = &c->pass.on_device[d];
		bool layer_slides = a->attention == MPK_ATTENTION_SLIDING;

		struct level_call l = (struct level_call){
			.call = a,
			.level = &c->pass.levels[d],
			.t = t,
			.page_ends = layer_slides ? t->slid_ends : t->page_ends,
			.pages = layer_slides ? t->slid_pages : t->pages,
			.lengths = layer_slides ? t->slid_lengths : t->lengths,
			.positions = layer_slides ? t->slid_positions : t->positions,
			.rope_scale = layer_slides ? 1 : c->rope_scale,
			.rope_theta = layer_slides ? 10000 : c->rope_theta,
			.slides = c->slides || layer_slides,
		};

		if (!c->pass.levels[d].pages.count)
			continue;
		l.is_causal = is_causal;
		l.output = *count ? c->pass.output : a->output;
		l.lse = *count ? c->pass.lse : a->lse;
		if (a->attention == MPK_ATTENTION_MLA || a->attention == MPK_ATTENTION_LINEAR) {
			struct kernel_args k = { .count = 0 };

			MPK_TRY(mpk_state_check(l.level->is_chain, err,
						"caches of MLA take no trees of tokens"));
			put_tensor(&k, l.call->q);
			put_tensor(&k, l.t->queries);
			put_pages(&k, c, &l);
			put_output(&k, &l);
			put_value(&k, mpk_value_of_int(0));
			put_value(&k, mpk_value_of_float(l.call->scale));
			MPK_TRY(mpk_state_call(c->kernels[MPK_PAGED_MLA], "attention of MLA",
					       k.items, k.count, err));
		} else
			MPK_TRY(call_pages(c, &l, err));
		if ((*count)++) {
			struct kernel_args k = { .count = 0 };

			put_tensor(&k, a->output);
			put_tensor(&k, a->lse);
			put_tensor(&k, c->pass.output);
			put_tensor(&k, c->pass.lse);
			MPK_TRY(mpk_state_call(c->kernels[MPK_PAGED_MERGE],
					       "merging two attentions", k.items, k.count, err));
		}
	}
	return MPK_OK;
}

static enum mpk_code attend_both(struct mpk_paged *c, const struct layer_call *a,
				 struct mpk_error *err)
{
	struct layer_call call = *a;
	size_t count = 0;

	call.lse = c->pass.merged_lse;
	if (!c->pass.appends_first) {
		MPK_TRY(attend_self(c, &call, err));
		count++;
	}
	MPK_TRY(attend_levels(c, &call,
			      !c->pass.appends_first && a->attention == MPK_ATTENTION_SLIDING,
			      &count, err));
	return mpk_state_check(count, err, "a pass that attends to nothing");
}

/* --- arguments --------------------------------------------------------------------------------- */

/* Reads the number of a layer, counted among all layers of the model. */
static enum mpk_code take_layer(const struct mpk_paged *c, const struct mpk_kv_call *call,
				struct layer_call *a, struct mpk_error *err)
{
	int64_t layer;

	MPK_TRY(mpk_relax_int(call->name, call->args, 1, &layer, err));
	MPK_TRY(mpk_state_check(layer >= c->layer_first && layer - c->layer_first < c->layer_count,
				err, "the cache has no layer %lld", (long long)layer));
	a->layer = (int32_t)(layer - c->layer_first);
	a->attention = (enum mpk_attention)c->attention[layer];
	return MPK_OK;
}

/* Reads a tensor of the cache's type and the given shape; -1 allows any extent. */
static enum mpk_code take_rows(const struct mpk_paged *c, const struct mpk_kv_call *call, size_t i,
			       const int64_t shape[3], struct mpk_tensor **out,
			       struct mpk_error *err)
{
	const struct mpk_dltensor *dl;

	MPK_TRY(mpk_relax_tensor(call->name, call->args, i, out, err));
	dl = &(*out)->dl;
	MPK_TRY(mpk_state_check(mpk_dtype_equal(dl->dtype, c->dtype), err,
				"%s: argument %zu has another type than the cache", call->name, i));
	MPK_TRY(mpk_state_check(dl->ndim == 3, err, "%s: argument %zu has %d dimensions, not 3",
				call->name, i, (int)dl->ndim));
	for (size_t k = 0; k < 3; k++)
		MPK_TRY(mpk_state_check(shape[k] == -1 || dl->shape[k] == shape[k], err,
					"%s: extent %zu of argument %zu is %lld, not %lld",
					call->name, k, i, (long long)dl->shape[k],
					(long long)shape[k]));
	return MPK_OK;
}

static enum mpk_code take_lse(const struct mpk_paged *c, const struct mpk_kv_call *call, size_t i,
			      struct mpk_tensor **out, struct mpk_error *err)
{
	const struct mpk_dltensor *dl;

	MPK_TRY(mpk_relax_tensor(call->name, call->args, i, out, err));
	dl = &(*out)->dl;
	return mpk_state_check(dl->ndim == 2 && dl->shape[0] == c->pass.total &&
				       dl->shape[1] == c->query_heads,
			       err, "%s: argument %zu is no %dx%lld", call->name, i,
			       (int)c->pass.total, (long long)c->query_heads);
}

/* --- queries, keys and values in one tensor --------------------------------------------------- */

/* Selects the first rows, one for each token of the pass; the model may have padded the tensor. */
static enum mpk_code first_rows(struct mpk_tensor *t, int32_t rows, struct mpk_tensor **out,
				struct mpk_error *err)
{
	const int64_t shape[] = { rows, t->dl.shape[1], t->dl.shape[2] };

	if (t->dl.shape[0] == rows) {
		*out = mpk_tensor_hold(t);
		return MPK_OK;
	}
	return mpk_state_view(t, shape, 3, out, err);
}

static enum mpk_code append(struct mpk_paged *c, const struct layer_call *a, struct mpk_error *err)
{
	const struct mpk_value args[] = { mpk_value_of_tensor(c->pages[a->layer]),
					  mpk_value_of_tensor(c->pass.k),
					  mpk_value_of_tensor(c->pass.v),
					  mpk_value_of_tensor(c->pass.t_places) };

	return mpk_state_call(c->kernels[MPK_PAGED_APPEND], "appending keys and values", args, 4,
			      err);
}

static enum mpk_code split(struct mpk_paged *c, struct mpk_tensor *qkv, struct mpk_error *err)
{
	const struct mpk_value args[] = {
		mpk_value_of_tensor(qkv),
		mpk_value_of_tensor(c->pass.t_query_positions),
		mpk_value_of_tensor(c->pass.q),
		mpk_value_of_tensor(c->pass.k),
		mpk_value_of_tensor(c->pass.v),
		c->rope_factors ? mpk_value_of_tensor(c->rope_factors)
				: mpk_value_of_int(c->rope == MPK_ROPE_NORMAL),
	};

	return mpk_state_call(c->kernels[MPK_PAGED_SPLIT], "splitting queries, keys and values",
			      args, MPK_ARRAY_COUNT(args), err);
}

static enum mpk_code do_fused(struct mpk_kv_state *state, const struct mpk_kv_call *call,
			      struct mpk_error *err)
{
	struct mpk_paged *c = (struct mpk_paged *)state;
	const int64_t fused[] = { -1, c->query_heads + 2 * c->kv_heads, c->qk_dim };
	struct layer_call a = { 0 };
	struct mpk_tensor *qkv, *output;

	MPK_TRY(take_layer(c, call, &a, err));
	MPK_TRY(mpk_state_real(call->name, call->args, 2, &a.scale, err));
	MPK_TRY(mpk_state_check(a.attention == MPK_ATTENTION_MHA ||
					a.attention == MPK_ATTENTION_SLIDING,
				err, "%s: the layer has no multi-head attention", call->name));
	MPK_TRY(take_rows(c, call, 3, fused, &qkv, err));
	const int64_t out[] = { qkv->dl.shape[0], c->query_heads, c->qk_dim };

	MPK_TRY(take_rows(c, call, 4, out, &output, err));
	MPK_TRY(mpk_state_check(c->pass.is_begun, err, "%s: no forward pass of the cache began",
				call->name));
	MPK_TRY(mpk_state_check(c->pass.total <= qkv->dl.shape[0], err,
				"%s: %lld rows for a forward pass of %d tokens", call->name,
				(long long)qkv->dl.shape[0], (int)c->pass.total));

	MPK_CLEANUP(mpk_value_drop) struct mpk_value qkv_rows = { 0 }, output_rows = { 0 };

	MPK_TRY(mpk_paged_sync(c, err));
	MPK_TRY(first_rows(qkv, c->pass.total, &qkv_rows.tensor, err));
	qkv_rows.kind = MPK_VALUE_TENSOR;
	MPK_TRY(first_rows(output, c->pass.total, &output_rows.tensor, err));
	output_rows.kind = MPK_VALUE_TENSOR;
	a.q = c->pass.q;
	a.k = c->pass.k;
	a.v = c->pass.v;
	a.output = output_rows.tensor;
	MPK_TRY(split(c, qkv_rows.tensor, err));
	if (c->pass.appends_first)
		MPK_TRY(append(c, &a, err));
	MPK_TRY(attend_both(c, &a, err));
	return c->pass.appends_first ? MPK_OK : append(c, &a, err);
}

/* --- queries, keys and values in separate tensors --------------------------------------------- */

/* Layers without multi-head attention over all tokens use the same way as MLA. */
static void choose_plain(struct layer_call *a)
{
	if (a->attention != MPK_ATTENTION_MHA)
		a->attention = MPK_ATTENTION_MLA;
}

static enum mpk_code do_self(struct mpk_kv_state *state, const struct mpk_kv_call *call,
			     struct mpk_error *err)
{
	struct mpk_paged *c = (struct mpk_paged *)state;
	const int64_t shape[] = { c->pass.total, -1, -1 };
	struct layer_call a = { 0 };

	MPK_TRY(take_layer(c, call, &a, err));
	MPK_TRY(mpk_state_real(call->name, call->args, 2, &a.scale, err));
	MPK_TRY(take_rows(c, call, 3, shape, &a.q, err));
	MPK_TRY(take_rows(c, call, 4, shape, &a.k, err));
	MPK_TRY(take_rows(c, call, 5, shape, &a.v, err));
	MPK_TRY(take_rows(c, call, 6, shape, &a.output, err));
	MPK_TRY(take_lse(c, call, 7, &a.lse, err));
	choose_plain(&a);
	MPK_TRY(mpk_paged_sync(c, err));
	return attend_self(c, &a, err);
}

static enum mpk_code do_cross(struct mpk_kv_state *state, const struct mpk_kv_call *call,
			      struct mpk_error *err)
{
	struct mpk_paged *c = (struct mpk_paged *)state;
	const int64_t q[] = { c->pass.total, c->query_heads, c->qk_dim };
	const int64_t out[] = { c->pass.total, c->query_heads, c->v_dim };
	struct layer_call a = { 0 };
	size_t count = 0;

	MPK_TRY(take_layer(c, call, &a, err));
	MPK_TRY(mpk_state_real(call->name, call->args, 2, &a.scale, err));
	MPK_TRY(take_rows(c, call, 3, q, &a.q, err));
	MPK_TRY(take_rows(c, call, 4, out, &a.output, err));
	MPK_TRY(take_lse(c, call, 5, &a.lse, err));
	choose_plain(&a);
	MPK_TRY(mpk_paged_sync(c, err));
	return attend_levels(c, &a, false, &count, err);
}

/* Keys and values are those of another layer, which has already appended them. */
static enum mpk_code do_shared(struct mpk_kv_state *state, const struct mpk_kv_call *call,
			       struct mpk_error *err)
{
	struct mpk_paged *c = (struct mpk_paged *)state;
	const int64_t q[] = { c->pass.total, c->query_heads, c->qk_dim };
	const int64_t k[] = { c->pass.total, c->kv_heads, c->qk_dim };
	const int64_t v[] = { c->pass.total, c->kv_heads, c->v_dim };
	const int64_t out[] = { c->pass.total, c->query_heads, c->v_dim };
	struct layer_call a = { 0 };

	MPK_TRY(take_layer(c, call, &a, err));
	MPK_TRY(mpk_state_real(call->name, call->args, 2, &a.scale, err));
	MPK_TRY(mpk_state_check(a.attention == MPK_ATTENTION_MHA ||
					a.attention == MPK_ATTENTION_SLIDING,
				err, "%s: the layer has no multi-head attention", call->name));
	MPK_TRY(take_rows(c, call, 3, q, &a.q, err));
	MPK_TRY(take_rows(c, call, 4, k, &a.k, err));
	MPK_TRY(take_rows(c, call, 5, v, &a.v, err));
	MPK_TRY(take_rows(c, call, 6, out, &a.output, err));
	MPK_TRY(mpk_paged_sync(c, err));
	return attend_both(c, &a, err);
}

/* --- MLA ----------------------------------------------------------------------------------------- */

static enum mpk_code do_append_mla(struct mpk_kv_state *state, const struct mpk_kv_call *call,
				   struct mpk_error *err)
{
	struct mpk_paged *c = (struct mpk_paged *)state;
	struct layer_call a = { 0 };
	struct mpk_tensor *kv;

	MPK_TRY(take_layer(c, call, &a, err));
	MPK_TRY(mpk_state_check(a.attention == MPK_ATTENTION_MLA, err,
				"%s: the layer has no attention of MLA", call->name));
	MPK_TRY(mpk_relax_tensor(call->name, call->args, 2, &kv, err));
	MPK_TRY(mpk_state_check(mpk_dtype_equal(kv->dl.dtype, c->dtype) && kv->dl.ndim == 2 &&
					kv->dl.shape[0] <= c->pass.total &&
					kv->dl.shape[1] == c->qk_dim,
				err, "%s: argument 2 is not %dx%lld of the cache's type",
				call->name, (int)c->pass.total, (long long)c->qk_dim));
	MPK_TRY(mpk_paged_sync(c, err));
	const struct mpk_value to[] = { mpk_value_of_tensor(c->pages[a.layer]), call->args[2],
					mpk_value_of_tensor(c->pass.t_places) };

	MPK_TRY(mpk_state_call(c->kernels[MPK_PAGED_APPEND_MLA], "appending keys and values of MLA",
			       to, 3, err));
	*call->result = mpk_value_hold(call->args[0]);
	return MPK_OK;
}

static enum mpk_code do_merge(struct mpk_kv_state *state, const struct mpk_kv_call *call,
			      struct mpk_error *err)
{
	struct mpk_paged *c = (struct mpk_paged *)state;
	struct mpk_value pair = { 0 };
	struct mpk_tensor *t;

	for (size_t i = 1; i < 5; i++)
		MPK_TRY(mpk_relax_tensor(call->name, call->args, i, &t, err));
	MPK_TRY(mpk_state_call(c->kernels[MPK_PAGED_MERGE_MLA], "merging two attentions",
			       call->args + 1, 4, err));
	MPK_TRY(mpk_value_of_array(2, &pair, err));
	pair.array->items[0] = mpk_value_hold(call->args[1]);
	pair.array->items[1] = mpk_value_hold(call->args[2]);
	*call->result = pair;
	return MPK_OK;
}

MPK_KV_BUILTIN(kv_fused, "vm.builtin.attention_kv_cache_attention_with_fused_qkv", 5, 5,
	       &mpk_paged_ops, do_fused)
MPK_KV_BUILTIN(kv_self, "vm.builtin.attention_kv_cache_self_attention", 8, 8, &mpk_paged_ops,
	       do_self)
MPK_KV_BUILTIN(kv_cross, "vm.builtin.attention_kv_cache_cross_attention", 6, 6, &mpk_paged_ops,
	       do_cross)
MPK_KV_BUILTIN(kv_shared, "vm.builtin.attention_kv_cache_attention_with_shared_kv", 7, 7,
	       &mpk_paged_ops, do_shared)
MPK_KV_BUILTIN(kv_append_mla, "vm.builtin.attention_kv_cache_append_mla_kv", 3, 3, &mpk_paged_ops,
	       do_append_mla)
MPK_KV_BUILTIN(kv_merge, "vm.builtin.attention_kv_cache_merge_attn_output_inplace", 5, 5,
	       &mpk_paged_ops, do_merge)

static const struct mpk_relax_builtin rows[] = {
#define MPK_ROW_attention(...) __VA_ARGS__,
#include "executor/relax/family.def"
};
const struct mpk_relax_builtins mpk_relax_attention_builtins = { rows, MPK_ARRAY_COUNT(rows) };
