/* SPDX-License-Identifier: Apache-2.0 */
/* query.c - builtins that ask a paged cache what it has, and those that say how a sequence goes on */
#include <string.h>

#include "executor/state/internal/paged.h"

static enum mpk_code enter(const char *name, const struct mpk_value *args, size_t count,
			   size_t want, struct mpk_paged **out, struct mpk_error *err)
{
	struct mpk_kv_state *s;

	MPK_TRY(mpk_kv_enter(name, args, count, want, want, &mpk_paged_ops, &s, err));
	*out = (struct mpk_paged *)s;
	return MPK_OK;
}

/* --- numbers ----------------------------------------------------------------------------------- */

static enum mpk_code kv_empty(const struct mpk_value *args, size_t count, struct mpk_value *result,
			      struct mpk_error *err)
{
	struct mpk_paged *c;

	MPK_TRY(enter("vm.builtin.attention_kv_cache_empty", args, count, 1, &c, err));
	*result = mpk_value_of_bool(!c->blocks.sequence_count &&
				    c->blocks.free_blocks.count == c->blocks.count &&
				    mpk_blocks_free_pages(&c->blocks) == c->blocks.page_count);
	return mpk_kv_leave(&c->base, MPK_OK);
}

static enum mpk_code kv_free_pages(const struct mpk_value *args, size_t count,
				   struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_paged *c;

	MPK_TRY(enter("vm.builtin.attention_kv_cache_get_num_available_pages", args, count, 1, &c,
		      err));
	*result = mpk_value_of_int(mpk_blocks_free_pages(&c->blocks));
	return mpk_kv_leave(&c->base, MPK_OK);
}

static enum mpk_code kv_total(const struct mpk_value *args, size_t count, struct mpk_value *result,
			      struct mpk_error *err)
{
	struct mpk_paged *c;
	int64_t total = 0;

	MPK_TRY(enter("vm.builtin.attention_kv_cache_get_total_sequence_length", args, count, 1, &c,
		      err));
	for (size_t i = 0; i < c->blocks.sequence_count; i++)
		total += c->blocks.sequences[i].length;
	*result = mpk_value_of_int(total);
	return mpk_kv_leave(&c->base, MPK_OK);
}

static enum mpk_code do_length(struct mpk_paged *c, const char *name, const struct mpk_value *args,
			       struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_sequence *s;
	int64_t id;

	MPK_TRY(mpk_relax_int(name, args, 1, &id, err));
	MPK_TRY(mpk_blocks_get(&c->blocks, id, &s, err));
	*result = mpk_value_of_int(s->length);
	return MPK_OK;
}

static enum mpk_code kv_length(const struct mpk_value *args, size_t count, struct mpk_value *result,
			       struct mpk_error *err)
{
	static const char name[] = "vm.builtin.attention_kv_cache_get_sequence_length";
	struct mpk_paged *c;

	MPK_TRY(enter(name, args, count, 2, &c, err));
	return mpk_kv_leave(&c->base, do_length(c, name, args, result, err));
}

static enum mpk_code kv_positions(const struct mpk_value *args, size_t count,
				  struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_paged *c;
	enum mpk_code rc;

	MPK_TRY(enter("vm.builtin.attention_kv_cache_get_query_positions", args, count, 1, &c,
		      err));
	rc = mpk_paged_sync(c, err);
	if (rc == MPK_OK)
		*result = mpk_value_of_tensor(mpk_tensor_hold(c->pass.t_query_positions));
	return mpk_kv_leave(&c->base, rc);
}

/* --- how a sequence goes on ---------------------------------------------------------------------- */

static enum mpk_code do_slide(struct mpk_paged *c, const char *name, const struct mpk_value *args,
			      struct mpk_error *err)
{
	int64_t id, window, kept, before;
	struct mpk_sequence *s;

	MPK_TRY(mpk_relax_int(name, args, 1, &id, err));
	MPK_TRY(mpk_relax_int(name, args, 2, &window, err));
	MPK_TRY(mpk_relax_int(name, args, 3, &kept, err));
	MPK_TRY(mpk_state_check(c->slides || c->layers_slide, err,
				"the cache was not made for sliding windows"));
	MPK_TRY(mpk_blocks_get(&c->blocks, id, &s, err));
	MPK_TRY(mpk_state_check(kept >= 0 && window > kept && window <= MPK_PAGED_WINDOW_MAX, err,
				"a window of %lld tokens that keeps the first %lld",
				(long long)window, (long long)kept));
	MPK_TRY(mpk_state_check(s->window == -1, err,
				"the window of sequence \"%lld\" slides already", (long long)id));
	/* blocks before the last one stay, so that they are kept in any case */
	before = s->length - c->blocks.items[s->last].length;
	s->sink = kept > before ? (int32_t)(kept - before) : 0;
	s->window = (int32_t)window;
	return MPK_OK;
}

static enum mpk_code kv_slide(const struct mpk_value *args, size_t count, struct mpk_value *result,
			      struct mpk_error *err)
{
	static const char name[] = "vm.builtin.attention_kv_cache_enable_sliding_window_for_seq";
	struct mpk_paged *c;

	(void)result;
	MPK_TRY(enter(name, args, count, 4, &c, err));
	return mpk_kv_leave(&c->base, do_slide(c, name, args, err));
}

static enum mpk_code do_commit(struct mpk_paged *c, const char *name, const struct mpk_value *args,
			       struct mpk_error *err)
{
	const struct mpk_shape *ids, *leaves;

	MPK_TRY(mpk_state_shape(name, args, 1, &ids, err));
	MPK_TRY(mpk_state_shape(name, args, 2, &leaves, err));
	return mpk_paged_commit(c, ids, leaves, err);
}

static enum mpk_code kv_commit(const struct mpk_value *args, size_t count, struct mpk_value *result,
			       struct mpk_error *err)
{
	static const char name[] = "vm.builtin.attention_kv_cache_commit_accepted_token_tree_nodes";
	struct mpk_paged *c;

	(void)result;
	MPK_TRY(enter(name, args, count, 3, &c, err));
	return mpk_kv_leave(&c->base, do_commit(c, name, args, err));
}

/* --- what it holds --------------------------------------------------------------------------------- */

/* Where the tokens of a range are, for a kernel. */
static enum mpk_code token_places(struct mpk_paged *c, int64_t id, int64_t from, int64_t to,
				  struct mpk_tensor **out, struct mpk_error *err)
{
	struct mpk_ints all = { 0 };
	struct mpk_sequence *s;
	enum mpk_code rc;

	MPK_TRY(mpk_blocks_get(&c->blocks, id, &s, err));
	MPK_TRY(mpk_state_check(from >= 0 && from < to && to <= s->length, err,
				"sequence \"%lld\" of %d tokens has none from %lld to %lld",
				(long long)id, (int)s->length, (long long)from, (long long)to));
	rc = mpk_blocks_places(&c->blocks, s, &all, err);
	if (rc == MPK_OK)
		rc = mpk_state_check((size_t)to <= all.count, err,
				     "the blocks of sequence \"%lld\" have %zu tokens",
				     (long long)id, all.count);
	if (rc == MPK_OK) {
		memmove(all.items, all.items + from, (size_t)(to - from) * sizeof *all.items);
		all.count = (size_t)(to - from);
		rc = mpk_state_ints(&all, 0, c->where, out, err);
	}
	mpk_ints_fini(&all);
	return rc;
}

/* Keys and values, or both in one: layers, tokens, heads, features. */
static enum mpk_code check_copy(const struct mpk_paged *c, const struct mpk_tensor *t, bool is_mla,
				int64_t tokens, struct mpk_error *err)
{
	const struct mpk_dltensor *dl = &t->dl;

	return mpk_state_check(
		dl->ndim == (is_mla ? 3 : 4) && dl->shape[0] == c->layer_count &&
			dl->shape[1] == tokens && (is_mla || dl->shape[2] == c->kv_heads) &&
			dl->shape[is_mla ? 2 : 3] == c->qk_dim,
		err, "keys and values of %d layers and %lld tokens want other shapes",
		(int)c->layer_count, (long long)tokens);
}

static enum mpk_code do_debug(struct mpk_paged *c, const char *name, const struct mpk_value *args,
			      bool is_mla, struct mpk_error *err)
{
	enum mpk_attention wanted = is_mla ? MPK_ATTENTION_MLA : MPK_ATTENTION_MHA;
	MPK_CLEANUP(mpk_value_drop) struct mpk_value places = { 0 };
	size_t outputs = is_mla ? 1 : 2;
	int64_t id, from, to;
	struct mpk_tensor *t;

	MPK_TRY(mpk_relax_int(name, args, 1, &id, err));
	MPK_TRY(mpk_relax_int(name, args, 2, &from, err));
	MPK_TRY(mpk_relax_int(name, args, 3, &to, err));
	for (size_t i = 0; i < outputs; i++) {
		MPK_TRY(mpk_relax_tensor(name, args, 4 + i, &t, err));
		MPK_TRY(check_copy(c, t, is_mla, to - from, err));
	}
	MPK_TRY(token_places(c, id, from, to, &places.tensor, err));
	places.kind = MPK_VALUE_TENSOR;
	for (int32_t i = 0; i < c->layer_count; i++) {
		const struct mpk_value layer = mpk_value_of_int(i);
		const struct mpk_value list[] = { mpk_value_of_tensor(c->pages[i]), places, args[4],
						  is_mla ? layer : args[5], layer };

		MPK_TRY(mpk_state_check(c->attention[c->layer_first + i] == wanted, err,
					"%s: layer %d has another kind of attention", name,
					(int)i));
		MPK_TRY(mpk_state_call(c->kernels[MPK_PAGED_DEBUG], "reading a sequence back", list,
				       is_mla ? 4 : 5, err));
	}
	return MPK_OK;
}

static enum mpk_code kv_debug(const struct mpk_value *args, size_t count, struct mpk_value *result,
			      struct mpk_error *err)
{
	static const char name[] = "vm.builtin.attention_kv_cache_debug_get_kv";
	struct mpk_paged *c;

	(void)result;
	MPK_TRY(enter(name, args, count, 6, &c, err));
	return mpk_kv_leave(&c->base, do_debug(c, name, args, false, err));
}

static enum mpk_code kv_debug_mla(const struct mpk_value *args, size_t count,
				  struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.attention_kv_cache_debug_get_kv_mla";
	struct mpk_paged *c;

	(void)result;
	MPK_TRY(enter(name, args, count, 5, &c, err));
	return mpk_kv_leave(&c->base, do_debug(c, name, args, true, err));
}

static const struct mpk_relax_builtin rows[] = {
#define MPK_ROW_query(...) __VA_ARGS__,
#include "executor/relax/family.def"
};
const struct mpk_relax_builtins mpk_relax_query_builtins = { rows, MPK_ARRAY_COUNT(rows) };
