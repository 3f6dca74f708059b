/* SPDX-License-Identifier: Apache-2.0 */
/* create.c - vm.builtin.paged_attention_kv_cache_create: makes a cache from the 28 arguments that
 * models pass
 *
 * Sizes come first, then the kernels, each with the name of its implementation. "tirx" ("tir"
 * before TVM 0.24) means functions of the model. FlashInfer's kernels use functions of that library
 * to plan their work, which a model only contains for NVIDIA's GPUs; a cache with these kernels is
 * refused. So is a cache that sends keys and values to other processes. */
#include <stdlib.h>

#include "executor/state/internal/paged.h"

enum { ARGUMENTS = 28 };

static const char create_name[] = "vm.builtin.paged_attention_kv_cache_create";

/* A sliding window moves keys, so their positions are only known when they are used. */
static enum mpk_code take_rope(struct mpk_paged *c, const struct mpk_value *args,
			       struct mpk_error *err)
{
	int64_t mode;

	MPK_TRY(mpk_relax_int(create_name, args, 8, &mode, err));
	MPK_TRY(mpk_state_check(mode >= MPK_ROPE_NONE && mode <= MPK_ROPE_INLINE, err,
				"rotary embedding of mode %lld", (long long)mode));
	c->rope = c->slides && mode != MPK_ROPE_NONE ? MPK_ROPE_INLINE : (enum mpk_paged_rope)mode;
	MPK_TRY(mpk_state_real(create_name, args, 9, &c->rope_scale, err));
	MPK_TRY(mpk_state_real(create_name, args, 10, &c->rope_theta, err));
	if (args[11].kind != MPK_VALUE_TENSOR)
		return MPK_OK;
	MPK_TRY(mpk_state_check(c->rope == MPK_ROPE_NORMAL, err,
				"factors of rotary embedding want its normal mode"));
	c->rope_factors = mpk_tensor_hold(args[11].tensor);
	return MPK_OK;
}

static enum mpk_code take_sizes(struct mpk_paged *c, const struct mpk_value *args,
				struct mpk_error *err)
{
	const struct mpk_shape *config, *parts, *kinds;
	struct mpk_tensor *init;
	int64_t sends;

	MPK_TRY(mpk_state_shape(create_name, args, 0, &config, err));
	MPK_TRY(mpk_state_shape(create_name, args, 1, &parts, err));
	MPK_TRY(mpk_state_shape(create_name, args, 6, &kinds, err));
	MPK_TRY(mpk_relax_int(create_name, args, 7, &sends, err));
	MPK_TRY(mpk_state_check(
		!sends, err,
		"a cache that sends keys and values to other processes needs NVSHMEM"));

	/* Numbers of tokens and pages have 32 bits, as in kernels. */
	const int64_t *e = config->extents;
	int64_t pages, page_size;

	MPK_TRY(mpk_state_check(config->ndim == 5 || config->ndim == 6, err,
				"a cache is configured by 5 or 6 numbers, not %zu", config->ndim));
	page_size = e[3];
	MPK_TRY(mpk_state_check(e[0] >= 0 && e[0] < INT32_MAX && e[1] >= 0 && e[1] < INT32_MAX &&
					page_size > 0 && page_size <= MPK_PAGED_PAGE_MAX &&
					e[2] >= 0,
				err, "a cache of %lld sequences and %lld tokens in pages of %lld",
				(long long)e[0], (long long)e[1], (long long)page_size));
	c->chunk = e[2];
	c->slides = e[4] != 0;
	c->layer_window = config->ndim == 6 ? e[5] : 1024;
	MPK_TRY(mpk_state_check(c->layer_window > 0 && c->layer_window < INT32_MAX, err,
				"layers with a window of %lld tokens", (long long)c->layer_window));
	/* one page for tokens that do not fill a page, and two for each sliding window */
	pages = (e[1] + page_size - 1) / page_size + 1 + (c->slides ? 2 * e[0] : 0);
	MPK_TRY(mpk_state_check(pages <= INT32_MAX / page_size, err,
				"a cache of %lld pages of %lld tokens", (long long)pages,
				(long long)page_size));
	c->blocks.page_size = (int32_t)page_size;
	c->blocks.page_count = (int32_t)pages;

	/* --- sizes ------------------------------------------------------------------------ */
	int64_t first = parts->ndim == 2 ? parts->extents[0] : -1;
	int64_t end = parts->ndim == 2 ? parts->extents[1] : -1;

	MPK_TRY(mpk_state_check(first >= 0 && end >= first && end < INT32_MAX &&
					end <= (int64_t)kinds->ndim && kinds->ndim,
				err, "layers %lld to %lld of %zu", (long long)first, (long long)end,
				kinds->ndim));
	c->layer_first = (int32_t)first;
	c->layer_count = (int32_t)(end - first);
	c->attention = calloc(kinds->ndim, sizeof *c->attention);
	MPK_TRY_ALLOC(c->attention, err);
	for (size_t i = 0; i < kinds->ndim; i++) {
		int64_t kind = kinds->extents[i];

		MPK_TRY(mpk_state_check(kind >= 0 && kind < MPK_ATTENTION_COUNT, err,
					"attention of kind %lld", (long long)kind));
		c->attention[i] = (uint8_t)kind;
		c->layers_slide |= kind == MPK_ATTENTION_SLIDING;
		c->has_heads |= kind == MPK_ATTENTION_MHA || kind == MPK_ATTENTION_SLIDING;
		MPK_TRY(mpk_state_check(kind != MPK_ATTENTION_MLA || !c->slides, err,
					"sliding windows are not for caches of MLA"));
	}

	int64_t *all[] = { &c->query_heads, &c->kv_heads, &c->qk_dim, &c->v_dim };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(all); i++) {
		MPK_TRY(mpk_relax_int(create_name, args, 2 + i, all[i], err));
		MPK_TRY(mpk_state_check(*all[i] > 0 && *all[i] < INT32_MAX, err,
					"%s: argument %zu is %lld", create_name, 2 + i,
					(long long)*all[i]));
	}

	MPK_TRY(take_rope(c, args, err));
	/* if layers have windows in the model, sequences have none */
	c->slides = c->slides && !c->layers_slide;
	MPK_TRY(mpk_relax_tensor(create_name, args, 12, &init, err));
	c->dtype = init->dl.dtype;
	c->where = init->dl.device;
	return MPK_OK;
}

/* --- kernels ------------------------------------------------------------------------------------- */

/* Reads ("tirx", function), or () if the model has no such kernel. */
static enum mpk_code take_attention_kernel(struct mpk_paged *c, const struct mpk_value *args,
					   size_t i, enum mpk_paged_kernel kernel,
					   struct mpk_error *err)
{
	struct mpk_array *pair;
	struct mpk_function *f;
	struct mpk_span by;

	MPK_TRY(mpk_state_array(create_name, args, i, &pair, err));
	if (!pair->count)
		return MPK_OK;
	MPK_TRY(mpk_state_text(create_name, pair->items, 0, &by, err));
	if (mpk_span_is(by, "flashinfer"))
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"the cache wants attention kernels of FlashInfer, which this program "
			"does not run: export the model with those of TIR");
	MPK_TRY(mpk_state_check(
		(mpk_span_is(by, "tirx") || mpk_span_is(by, "tir")) && pair->count == 2, err,
		"%s: argument %zu names no kernel that is known", create_name, i));
	MPK_TRY(mpk_state_function(create_name, pair->items, 1, &f, err));
	c->kernels[kernel] = mpk_function_hold(f);
	return MPK_OK;
}

/* --- the cache ----------------------------------------------------------------------------------- */

static enum mpk_code make_layer(struct mpk_paged *c, int32_t layer, struct mpk_error *err)
{
	enum mpk_attention kind = (enum mpk_attention)c->attention[c->layer_first + layer];
	const int64_t heads[] = { c->blocks.page_count, 2, c->kv_heads, c->blocks.page_size,
				  c->qk_dim };
	const int64_t mla[] = { c->blocks.page_count, c->blocks.page_size, c->qk_dim };

	if (kind == MPK_ATTENTION_MHA || kind == MPK_ATTENTION_SLIDING)
		return mpk_state_pages(c->dtype, heads, 5, c->where, &c->pages[layer], err);
	if (kind == MPK_ATTENTION_MLA)
		return mpk_state_pages(c->dtype, mla, 3, c->where, &c->pages[layer], err);
	return mpk_fail(err, MPK_E_UNSUPPORTED,
			"a cache for linear attention, which no model uses");
}

static enum mpk_code copy_page(struct mpk_blocks *b, int32_t from, int32_t to, int32_t tokens,
			       struct mpk_error *err)
{
	struct mpk_paged *c = (struct mpk_paged *)((char *)b - offsetof(struct mpk_paged, blocks));

	for (int32_t i = 0; i < c->layer_count; i++) {
		const struct mpk_value args[] = { mpk_value_of_tensor(c->pages[i]),
						  mpk_value_of_int(from), mpk_value_of_int(to),
						  mpk_value_of_int(tokens) };

		MPK_TRY(mpk_state_call(c->kernels[MPK_PAGED_COPY], "copying a page", args, 4, err));
	}
	return MPK_OK;
}

static enum mpk_code fill_cache(struct mpk_paged *c, const struct mpk_value *args,
				struct mpk_error *err)
{
	c->blocks.copy_page = copy_page;
	MPK_TRY(take_sizes(c, args, err));

	static const struct {
		uint8_t argument, kernel;
	} plain[] = { { 13, MPK_PAGED_APPEND }, { 14, MPK_PAGED_APPEND_MLA },
		      { 24, MPK_PAGED_SPLIT },  { 25, MPK_PAGED_COPY },
		      { 26, MPK_PAGED_DEBUG },  { 27, MPK_PAGED_COMPACT } };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(plain); i++)
		if (args[plain[i].argument].kind == MPK_VALUE_FUNCTION)
			c->kernels[plain[i].kernel] =
				mpk_function_hold(args[plain[i].argument].function);
	for (size_t i = 15; i <= 22; i++)
		MPK_TRY(take_attention_kernel(
			c, args, i, MPK_PAGED_RAGGED + (enum mpk_paged_kernel)(i - 15), err));

	struct mpk_array *all;
	struct mpk_function *f;

	MPK_TRY(mpk_state_array(create_name, args, 23, &all, err));
	MPK_TRY(mpk_state_check(all->count, err, "the model gave its cache no kernel for merging"));
	for (size_t i = 0; i < all->count && i < 2; i++) {
		MPK_TRY(mpk_state_function(create_name, all->items, i, &f, err));
		c->kernels[MPK_PAGED_MERGE + i] = mpk_function_hold(f);
	}

	c->pages = calloc((size_t)c->layer_count + 1, sizeof(struct mpk_tensor *));
	MPK_TRY_ALLOC(c->pages, err);
	for (int32_t i = 0; i < c->layer_count; i++)
		MPK_TRY(make_layer(c, i, err));
	return MPK_OK;
}

/* Some exports pass a 29th argument, which has no effect on the cache. */
static enum mpk_code kv_create(const struct mpk_value *args, size_t count, struct mpk_value *result,
			       struct mpk_error *err)
{
	struct mpk_value made = { .kind = MPK_VALUE_OBJECT };
	struct mpk_paged *c;
	enum mpk_code rc;

	MPK_TRY(mpk_relax_arity(create_name, count, ARGUMENTS, ARGUMENTS + 1, err));
	c = calloc(1, sizeof *c);
	MPK_TRY_ALLOC(c, err);
	mpk_kv_init(&c->base, &mpk_paged_ops, "relax.vm.PagedAttentionKVCache");
	made.object = &c->base.object;
	rc = fill_cache(c, args, err);
	if (rc != MPK_OK)
		mpk_value_drop(&made);
	else
		*result = made;
	return rc;
}

static const struct mpk_relax_builtin rows[] = {
#define MPK_ROW_create(...) __VA_ARGS__,
#include "executor/relax/family.def"
};
const struct mpk_relax_builtins mpk_relax_create_builtins = { rows, MPK_ARRAY_COUNT(rows) };
