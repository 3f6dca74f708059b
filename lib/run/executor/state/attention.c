/* SPDX-License-Identifier: Apache-2.0 */
/* attention.c - builtins by which a layer of a model asks a paged cache for attention
 *
 * The model gives tensors; shapes are checked against the cache before a kernel gets them, as kernels
 * that trust them write as far as the shapes say.
 */
#include "executor/state/internal/paged.h"

/* --- arguments --------------------------------------------------------------------------------- */

/* The number of a layer among all of the model's. */
static enum mpk_code take_layer(const struct mpk_paged *c, const char *name,
				const struct mpk_value *args, struct mpk_paged_call *a,
				struct mpk_error *err)
{
	int64_t layer;

	MPK_TRY(mpk_relax_int(name, args, 1, &layer, err));
	MPK_TRY(mpk_state_check(layer >= c->layer_first && layer - c->layer_first < c->layer_count,
				err, "the cache has no layer %lld", (long long)layer));
	a->layer = (int32_t)(layer - c->layer_first);
	a->attention = (enum mpk_attention)c->attention[layer];
	return MPK_OK;
}

/* A tensor of the cache's type and of this shape; -1: any extent. */
static enum mpk_code take_rows(const struct mpk_paged *c, const char *name,
			       const struct mpk_value *args, size_t i, const int64_t shape[3],
			       struct mpk_tensor **out, struct mpk_error *err)
{
	const struct mpk_dltensor *dl;

	MPK_TRY(mpk_relax_tensor(name, args, i, out, err));
	dl = &(*out)->dl;
	MPK_TRY(mpk_state_check(mpk_dtype_equal(dl->dtype, c->dtype), err,
				"%s: argument %zu has another type than the cache", name, i));
	MPK_TRY(mpk_state_check(dl->ndim == 3, err, "%s: argument %zu has %d dimensions, not 3",
				name, i, (int)dl->ndim));
	for (size_t k = 0; k < 3; k++)
		MPK_TRY(mpk_state_check(shape[k] == -1 || dl->shape[k] == shape[k], err,
					"%s: extent %zu of argument %zu is %lld, not %lld", name, k,
					i, (long long)dl->shape[k], (long long)shape[k]));
	return MPK_OK;
}

static enum mpk_code take_lse(const struct mpk_paged *c, const char *name,
			      const struct mpk_value *args, size_t i, struct mpk_tensor **out,
			      struct mpk_error *err)
{
	const struct mpk_dltensor *dl;

	MPK_TRY(mpk_relax_tensor(name, args, i, out, err));
	dl = &(*out)->dl;
	return mpk_state_check(dl->ndim == 2 && dl->shape[0] == c->pass.total &&
				       dl->shape[1] == c->query_heads,
			       err, "%s: argument %zu is no %dx%lld", name, i, (int)c->pass.total,
			       (long long)c->query_heads);
}

static enum mpk_code enter(const char *name, const struct mpk_value *args, size_t count,
			   size_t want, struct mpk_paged **out, struct mpk_error *err)
{
	struct mpk_kv_state *s;

	MPK_TRY(mpk_kv_enter(name, args, count, want, want, &mpk_paged_ops, &s, err));
	*out = (struct mpk_paged *)s;
	return MPK_OK;
}

/* --- queries, keys and values in one ------------------------------------------------------------- */

/* The first rows, as many as the pass has tokens; a model may have padded. */
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

static enum mpk_code append(struct mpk_paged *c, const struct mpk_paged_call *a,
			    struct mpk_error *err)
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

static enum mpk_code attend_fused(struct mpk_paged *c, struct mpk_paged_call *a,
				  struct mpk_tensor *qkv, struct mpk_tensor *output,
				  struct mpk_error *err)
{
	MPK_CLEANUP(mpk_value_drop) struct mpk_value qkv_rows = { 0 }, output_rows = { 0 };

	MPK_TRY(mpk_paged_sync(c, err));
	MPK_TRY(first_rows(qkv, c->pass.total, &qkv_rows.tensor, err));
	qkv_rows.kind = MPK_VALUE_TENSOR;
	MPK_TRY(first_rows(output, c->pass.total, &output_rows.tensor, err));
	output_rows.kind = MPK_VALUE_TENSOR;
	a->q = c->pass.q;
	a->k = c->pass.k;
	a->v = c->pass.v;
	a->output = output_rows.tensor;
	MPK_TRY(split(c, qkv_rows.tensor, err));
	if (c->pass.appends_first)
		MPK_TRY(append(c, a, err));
	MPK_TRY(mpk_paged_attend(c, MPK_PAGED_KEYS_BOTH, a, err));
	return c->pass.appends_first ? MPK_OK : append(c, a, err);
}

static enum mpk_code do_fused(struct mpk_paged *c, const char *name, const struct mpk_value *args,
			      struct mpk_error *err)
{
	const int64_t fused[] = { -1, c->query_heads + 2 * c->kv_heads, c->qk_dim };
	struct mpk_paged_call a = { 0 };
	struct mpk_tensor *qkv, *output;

	MPK_TRY(take_layer(c, name, args, &a, err));
	MPK_TRY(mpk_state_real(name, args, 2, &a.scale, err));
	MPK_TRY(mpk_state_check(a.attention == MPK_ATTENTION_MHA ||
					a.attention == MPK_ATTENTION_SLIDING,
				err, "%s: the layer has no multi-head attention", name));
	MPK_TRY(take_rows(c, name, args, 3, fused, &qkv, err));
	const int64_t out[] = { qkv->dl.shape[0], c->query_heads, c->qk_dim };

	MPK_TRY(take_rows(c, name, args, 4, out, &output, err));
	MPK_TRY(mpk_state_check(c->pass.is_begun && c->pass.total <= qkv->dl.shape[0], err,
				"%s: %lld rows for a forward pass of %d tokens", name,
				(long long)qkv->dl.shape[0], (int)c->pass.total));
	return attend_fused(c, &a, qkv, output, err);
}

static enum mpk_code kv_fused(const struct mpk_value *args, size_t count, struct mpk_value *result,
			      struct mpk_error *err)
{
	static const char name[] = "vm.builtin.attention_kv_cache_attention_with_fused_qkv";
	struct mpk_paged *c;

	(void)result;
	MPK_TRY(enter(name, args, count, 5, &c, err));
	return mpk_kv_leave(&c->base, do_fused(c, name, args, err));
}

/* --- one by one ---------------------------------------------------------------------------------- */

/* What has no multi-head attention over all tokens is attended to as MLA is. */
static void choose_plain(struct mpk_paged_call *a)
{
	if (a->attention != MPK_ATTENTION_MHA)
		a->attention = MPK_ATTENTION_MLA;
}

static enum mpk_code do_self(struct mpk_paged *c, const char *name, const struct mpk_value *args,
			     struct mpk_error *err)
{
	const int64_t shape[] = { c->pass.total, -1, -1 };
	struct mpk_paged_call a = { 0 };

	MPK_TRY(take_layer(c, name, args, &a, err));
	MPK_TRY(mpk_state_real(name, args, 2, &a.scale, err));
	MPK_TRY(take_rows(c, name, args, 3, shape, &a.q, err));
	MPK_TRY(take_rows(c, name, args, 4, shape, &a.k, err));
	MPK_TRY(take_rows(c, name, args, 5, shape, &a.v, err));
	MPK_TRY(take_rows(c, name, args, 6, shape, &a.output, err));
	MPK_TRY(take_lse(c, name, args, 7, &a.lse, err));
	choose_plain(&a);
	MPK_TRY(mpk_paged_sync(c, err));
	return mpk_paged_attend(c, MPK_PAGED_KEYS_NEW, &a, err);
}

static enum mpk_code kv_self(const struct mpk_value *args, size_t count, struct mpk_value *result,
			     struct mpk_error *err)
{
	static const char name[] = "vm.builtin.attention_kv_cache_self_attention";
	struct mpk_paged *c;

	(void)result;
	MPK_TRY(enter(name, args, count, 8, &c, err));
	return mpk_kv_leave(&c->base, do_self(c, name, args, err));
}

static enum mpk_code do_cross(struct mpk_paged *c, const char *name, const struct mpk_value *args,
			      struct mpk_error *err)
{
	const int64_t q[] = { c->pass.total, c->query_heads, c->qk_dim };
	const int64_t out[] = { c->pass.total, c->query_heads, c->v_dim };
	struct mpk_paged_call a = { 0 };

	MPK_TRY(take_layer(c, name, args, &a, err));
	MPK_TRY(mpk_state_real(name, args, 2, &a.scale, err));
	MPK_TRY(take_rows(c, name, args, 3, q, &a.q, err));
	MPK_TRY(take_rows(c, name, args, 4, out, &a.output, err));
	MPK_TRY(take_lse(c, name, args, 5, &a.lse, err));
	choose_plain(&a);
	MPK_TRY(mpk_paged_sync(c, err));
	return mpk_paged_attend(c, MPK_PAGED_KEYS_OLD, &a, err);
}

static enum mpk_code kv_cross(const struct mpk_value *args, size_t count, struct mpk_value *result,
			      struct mpk_error *err)
{
	static const char name[] = "vm.builtin.attention_kv_cache_cross_attention";
	struct mpk_paged *c;

	(void)result;
	MPK_TRY(enter(name, args, count, 6, &c, err));
	return mpk_kv_leave(&c->base, do_cross(c, name, args, err));
}

/* Keys and values are those of another layer, which has appended them. */
static enum mpk_code do_shared(struct mpk_paged *c, const char *name, const struct mpk_value *args,
			       struct mpk_error *err)
{
	const int64_t q[] = { c->pass.total, c->query_heads, c->qk_dim };
	const int64_t k[] = { c->pass.total, c->kv_heads, c->qk_dim };
	const int64_t v[] = { c->pass.total, c->kv_heads, c->v_dim };
	const int64_t out[] = { c->pass.total, c->query_heads, c->v_dim };
	struct mpk_paged_call a = { 0 };

	MPK_TRY(take_layer(c, name, args, &a, err));
	MPK_TRY(mpk_state_real(name, args, 2, &a.scale, err));
	MPK_TRY(mpk_state_check(a.attention == MPK_ATTENTION_MHA ||
					a.attention == MPK_ATTENTION_SLIDING,
				err, "%s: the layer has no multi-head attention", name));
	MPK_TRY(take_rows(c, name, args, 3, q, &a.q, err));
	MPK_TRY(take_rows(c, name, args, 4, k, &a.k, err));
	MPK_TRY(take_rows(c, name, args, 5, v, &a.v, err));
	MPK_TRY(take_rows(c, name, args, 6, out, &a.output, err));
	MPK_TRY(mpk_paged_sync(c, err));
	return mpk_paged_attend(c, MPK_PAGED_KEYS_BOTH, &a, err);
}

static enum mpk_code kv_shared(const struct mpk_value *args, size_t count, struct mpk_value *result,
			       struct mpk_error *err)
{
	static const char name[] = "vm.builtin.attention_kv_cache_attention_with_shared_kv";
	struct mpk_paged *c;

	(void)result;
	MPK_TRY(enter(name, args, count, 7, &c, err));
	return mpk_kv_leave(&c->base, do_shared(c, name, args, err));
}

/* --- MLA ----------------------------------------------------------------------------------------- */

static enum mpk_code do_append_mla(struct mpk_paged *c, const char *name,
				   const struct mpk_value *args, struct mpk_error *err)
{
	struct mpk_paged_call a = { 0 };
	struct mpk_tensor *kv;

	MPK_TRY(take_layer(c, name, args, &a, err));
	MPK_TRY(mpk_state_check(a.attention == MPK_ATTENTION_MLA, err,
				"%s: the layer has no attention of MLA", name));
	MPK_TRY(mpk_relax_tensor(name, args, 2, &kv, err));
	MPK_TRY(mpk_state_check(mpk_dtype_equal(kv->dl.dtype, c->dtype) && kv->dl.ndim == 2 &&
					kv->dl.shape[0] <= c->pass.total &&
					kv->dl.shape[1] == c->qk_dim,
				err, "%s: argument 2 is not %dx%lld of the cache's type", name,
				(int)c->pass.total, (long long)c->qk_dim));
	MPK_TRY(mpk_paged_sync(c, err));
	const struct mpk_value to[] = { mpk_value_of_tensor(c->pages[a.layer]), args[2],
					mpk_value_of_tensor(c->pass.t_places) };

	return mpk_state_call(c->kernels[MPK_PAGED_APPEND_MLA], "appending keys and values of MLA",
			      to, 3, err);
}

static enum mpk_code kv_append_mla(const struct mpk_value *args, size_t count,
				   struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.attention_kv_cache_append_mla_kv";
	struct mpk_paged *c;
	enum mpk_code rc;

	MPK_TRY(enter(name, args, count, 3, &c, err));
	rc = mpk_kv_leave(&c->base, do_append_mla(c, name, args, err));
	if (rc == MPK_OK)
		*result = mpk_value_hold(args[0]);
	return rc;
}

static enum mpk_code do_merge(struct mpk_paged *c, const char *name, const struct mpk_value *args,
			      struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_value pair = { 0 };
	struct mpk_tensor *t;

	for (size_t i = 1; i < 5; i++)
		MPK_TRY(mpk_relax_tensor(name, args, i, &t, err));
	MPK_TRY(mpk_state_call(c->kernels[MPK_PAGED_MERGE_MLA], "merging two attentions", args + 1,
			       4, err));
	MPK_TRY(mpk_value_of_array(2, &pair, err));
	pair.array->items[0] = mpk_value_hold(args[1]);
	pair.array->items[1] = mpk_value_hold(args[2]);
	*result = pair;
	return MPK_OK;
}

static enum mpk_code kv_merge(const struct mpk_value *args, size_t count, struct mpk_value *result,
			      struct mpk_error *err)
{
	static const char name[] = "vm.builtin.attention_kv_cache_merge_attn_output_inplace";
	struct mpk_paged *c;

	MPK_TRY(enter(name, args, count, 5, &c, err));
	return mpk_kv_leave(&c->base, do_merge(c, name, args, result, err));
}

static const struct mpk_relax_builtin rows[] = {
#define MPK_ROW_attention(...) __VA_ARGS__,
#include "executor/relax/family.def"
};
const struct mpk_relax_builtins mpk_relax_attention_builtins = { rows, MPK_ARRAY_COUNT(rows) };
