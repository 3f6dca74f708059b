/* SPDX-License-Identifier: Apache-2.0 */
/* query.c - builtins that ask for the contents of a paged cache, and builtins that change how a
 * sequence continues
 *
 * When a path of a tree of guessed tokens is committed, its tokens are moved to their final places,
 * and all other tokens are removed. */
#include <string.h>

#include "executor/state/internal/paged.h"

/* --- numbers ----------------------------------------------------------------------------------- */

static enum mpk_code do_empty(struct mpk_kv_state *state, const struct mpk_kv_call *call,
			      struct mpk_error *err)
{
	const struct mpk_paged *c = (const struct mpk_paged *)state;

	(void)err;
	*call->result = mpk_value_of_bool(
		!c->blocks.sequence_count && c->blocks.free_blocks.count == c->blocks.count &&
		mpk_blocks_free_pages(&c->blocks) == c->blocks.page_count);
	return MPK_OK;
}

static enum mpk_code do_free_pages(struct mpk_kv_state *state, const struct mpk_kv_call *call,
				   struct mpk_error *err)
{
	const struct mpk_paged *c = (const struct mpk_paged *)state;

	(void)err;
	*call->result = mpk_value_of_int(mpk_blocks_free_pages(&c->blocks));
	return MPK_OK;
}

static enum mpk_code do_total(struct mpk_kv_state *state, const struct mpk_kv_call *call,
			      struct mpk_error *err)
{
	const struct mpk_paged *c = (const struct mpk_paged *)state;
	int64_t total = 0;

	(void)err;
	for (size_t i = 0; i < c->blocks.sequence_count; i++)
		total += c->blocks.sequences[i].length;
	*call->result = mpk_value_of_int(total);
	return MPK_OK;
}

static enum mpk_code do_length(struct mpk_kv_state *state, const struct mpk_kv_call *call,
			       struct mpk_error *err)
{
	struct mpk_paged *c = (struct mpk_paged *)state;
	struct mpk_sequence *s;
	int64_t id;

	MPK_TRY(mpk_relax_int(call->name, call->args, 1, &id, err));
	MPK_TRY(mpk_blocks_get(&c->blocks, id, &s, err));
	*call->result = mpk_value_of_int(s->length);
	return MPK_OK;
}

static enum mpk_code do_positions(struct mpk_kv_state *state, const struct mpk_kv_call *call,
				  struct mpk_error *err)
{
	struct mpk_paged *c = (struct mpk_paged *)state;

	MPK_TRY(mpk_paged_sync(c, err));
	*call->result = mpk_value_of_tensor(mpk_tensor_hold(c->pass.t_query_positions));
	return MPK_OK;
}

/* --- trees ------------------------------------------------------------------------------------ */

/* A checked commit: for each sequence, the node at which its path ends. */
struct commit {
	const struct mpk_shape *ids, *leaves;
	struct mpk_ints ends, from, to; /* the moves before each sequence, and their places */
};

static enum mpk_code check_commit(const struct mpk_paged *c, const struct commit *m, bool *is_chain,
				  struct mpk_error *err)
{
	*is_chain = true;
	MPK_TRY(mpk_state_check(m->ids->ndim == m->leaves->ndim, err,
				"%zu ids of sequences and %zu nodes", m->ids->ndim,
				m->leaves->ndim));
	MPK_TRY(mpk_state_check(!m->ids->ndim ||
					(c->pass.is_begun && m->ids->ndim <= c->pass.counts.count),
				err, "the last forward pass had no such sequences"));
	for (size_t i = 0; i < m->ids->ndim; i++) {
		int64_t leaf = m->leaves->extents[i];
		struct mpk_sequence *s;

		MPK_TRY(mpk_blocks_get(&c->blocks, m->ids->extents[i], &s, err));
		MPK_TRY(mpk_state_check(
			c->pass.ids[i] == s->id, err,
			"sequence \"%lld\" is not where the last forward pass had it",
			(long long)s->id));
		MPK_TRY(mpk_state_check(
			leaf == -1 || !s->is_committed, err,
			"the tree of tokens of sequence \"%lld\" is committed already",
			(long long)s->id));
		MPK_TRY(mpk_state_check(leaf >= -1 && leaf < (int64_t)s->depths.count, err,
					"sequence \"%lld\" has no node %lld in its tree of tokens",
					(long long)s->id, (long long)leaf));
		*is_chain = s->is_chain;
	}
	return MPK_OK;
}

static enum mpk_code compact(struct mpk_paged *c, struct commit *m, struct mpk_error *err)
{
	struct mpk_tensor *ends = NULL, *moves = NULL;
	enum mpk_code rc = MPK_OK;
	int64_t count = (int64_t)m->from.count;

	if (!count)
		return MPK_OK;
	for (size_t i = 0; i < m->to.count; i++)
		mpk_ints_push(&m->from, m->to.items[i]);
	rc = mpk_state_ints(&m->ends, 0, c->where, &ends, err);
	if (rc == MPK_OK)
		rc = mpk_state_ints(&m->from, 2, c->where, &moves, err);
	for (int32_t i = 0; i < c->layer_count && rc == MPK_OK; i++)
		rc = mpk_state_call(
			c->kernels[MPK_PAGED_COMPACT], "the tokens of a tree that are kept",
			(struct mpk_value[]){ mpk_value_of_tensor(c->pages[i]),
					      mpk_value_of_tensor(ends), mpk_value_of_tensor(moves),
					      mpk_value_of_int((int64_t)c->pass.counts.count) },
			4, err);
	mpk_tensor_drop(ends);
	mpk_tensor_drop(moves);
	return rc;
}

static enum mpk_code move_all(struct mpk_paged *c, struct commit *m, struct mpk_error *err)
{
	mpk_ints_push(&m->ends, 0);
	for (size_t i = 0; i < m->ids->ndim; i++) {
		struct mpk_sequence *s;

		MPK_TRY(mpk_blocks_get(&c->blocks, m->ids->extents[i], &s, err));

		/* Move the path's tokens to the beginning of the tree, except those that are
		 * already there. */
		int32_t first = c->pass.ends.items[i], count = c->pass.counts.items[i];
		int32_t path[MPK_PAGED_TREE_MAX], length = 0;
		int64_t node = m->leaves->extents[i];

		for (; node != -1 && length < MPK_PAGED_TREE_MAX; node = s->parents.items[node])
			path[length++] = (int32_t)node;
		for (int32_t k = 0; k < length; k++) {
			int32_t from = path[length - 1 - k];

			if (from == k)
				continue;
			MPK_TRY(mpk_state_check(from < count, err,
						"node %d is none of the last forward pass",
						(int)from));
			mpk_ints_push(&m->from, c->pass.places.items[first + from]);
			mpk_ints_push(&m->to, c->pass.places.items[first + k]);
		}

		mpk_ints_push(&m->ends, (int32_t)m->from.count);
	}
	if (m->ends.failed || m->from.failed || m->to.failed)
		return mpk_fail_nomem(err);
	return compact(c, m, err);
}

/* --- how a sequence goes on ---------------------------------------------------------------------- */

static enum mpk_code do_slide(struct mpk_kv_state *state, const struct mpk_kv_call *call,
			      struct mpk_error *err)
{
	struct mpk_paged *c = (struct mpk_paged *)state;
	int64_t id, window, kept, before;
	struct mpk_sequence *s;

	MPK_TRY(mpk_relax_int(call->name, call->args, 1, &id, err));
	MPK_TRY(mpk_relax_int(call->name, call->args, 2, &window, err));
	MPK_TRY(mpk_relax_int(call->name, call->args, 3, &kept, err));
	MPK_TRY(mpk_state_check(c->slides || c->layers_slide, err,
				"the cache was not made for sliding windows"));
	MPK_TRY(mpk_blocks_get(&c->blocks, id, &s, err));
	MPK_TRY(mpk_state_check(kept >= 0 && window > kept && window <= MPK_PAGED_WINDOW_MAX, err,
				"a window of %lld tokens that keeps the first %lld",
				(long long)window, (long long)kept));
	MPK_TRY(mpk_state_check(s->window == -1, err,
				"the window of sequence \"%lld\" slides already", (long long)id));
	/* blocks before the last one remain, so they are always kept */
	before = s->length - c->blocks.items[s->last].length;
	s->sink = kept > before ? (int32_t)(kept - before) : 0;
	s->window = (int32_t)window;
	return MPK_OK;
}

static enum mpk_code do_commit(struct mpk_kv_state *state, const struct mpk_kv_call *call,
			       struct mpk_error *err)
{
	struct mpk_paged *c = (struct mpk_paged *)state;
	const struct mpk_shape *ids, *leaves;

	MPK_TRY(mpk_state_shape(call->name, call->args, 1, &ids, err));
	MPK_TRY(mpk_state_shape(call->name, call->args, 2, &leaves, err));

	/* Keep the path from the root to a leaf of each sequence's tree; -1 keeps no token. */
	struct commit m = { .ids = ids, .leaves = leaves };
	enum mpk_code rc;
	bool is_chain;

	MPK_TRY(check_commit(c, &m, &is_chain, err));
	rc = is_chain ? MPK_OK : move_all(c, &m, err);
	mpk_ints_fini(&m.ends);
	mpk_ints_fini(&m.from);
	mpk_ints_fini(&m.to);
	MPK_TRY(rc);

	/* Remove the tokens that were not accepted. */
	for (size_t i = 0; i < m.ids->ndim; i++) {
		int64_t leaf = m.leaves->extents[i], id = m.ids->extents[i];
		struct mpk_sequence *s;
		int64_t kept;

		MPK_TRY(mpk_blocks_get(&c->blocks, id, &s, err));
		kept = leaf == -1 ? 0 : s->depths.items[leaf] + 1;
		if (c->pass.counts.items[i] > kept)
			MPK_TRY(mpk_paged_sequences.pop(&c->base, id,
							c->pass.counts.items[i] - kept, err));
		MPK_TRY(mpk_blocks_get(&c->blocks, id, &s, err));
		s->is_committed = true;
		s->parents.count = s->depths.count = 0;
	}
	return MPK_OK;
}

/* Appends the places of a sequence's tokens, in order
 * Returns  as mpk_blocks_place */
static enum mpk_code blocks_places(const struct mpk_blocks *b, const struct mpk_sequence *s,
				   struct mpk_ints *out, struct mpk_error *err)
{
	struct mpk_ints trace = { 0 };
	enum mpk_code rc = MPK_OK;

	mpk_blocks_trace(b, s, &trace);
	for (size_t i = 0; i < trace.count && rc == MPK_OK; i++) {
		const struct mpk_block *block = &b->items[trace.items[i]];

		for (int32_t k = 0; k < block->length && rc == MPK_OK; k++) {
			int32_t place = 0;

			rc = mpk_blocks_place(b, block,
					      k < block->sink ? k : k - block->sink + block->offset,
					      &place, err);
			mpk_ints_push(out, place);
		}
	}
	if (rc == MPK_OK && (trace.failed || out->failed))
		rc = mpk_fail_nomem(err);
	mpk_ints_fini(&trace);
	return rc;
}

/* --- contents --------------------------------------------------------------------------------- */

/* Lists the places of a range of tokens, for a kernel. */
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
	rc = blocks_places(&c->blocks, s, &all, err);
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

static enum mpk_code do_debug(struct mpk_kv_state *state, const struct mpk_kv_call *call,
			      struct mpk_error *err)
{
	struct mpk_paged *c = (struct mpk_paged *)state;
	bool is_mla = call->count == 5; /* keys and values are in one tensor */
	enum mpk_attention wanted = is_mla ? MPK_ATTENTION_MLA : MPK_ATTENTION_MHA;
	MPK_CLEANUP(mpk_value_drop) struct mpk_value places = { 0 };
	size_t outputs = is_mla ? 1 : 2;
	int64_t id, from, to;
	struct mpk_tensor *t;

	MPK_TRY(mpk_relax_int(call->name, call->args, 1, &id, err));
	MPK_TRY(mpk_relax_int(call->name, call->args, 2, &from, err));
	MPK_TRY(mpk_relax_int(call->name, call->args, 3, &to, err));
	for (size_t i = 0; i < outputs; i++) {
		MPK_TRY(mpk_relax_tensor(call->name, call->args, 4 + i, &t, err));
		/* the subtraction cannot overflow; token_places refuses invalid positions */

		/* Extents of the keys and values, or of the tensor with both: layers, tokens,
		 * heads, features. */
		int64_t tokens = (int64_t)((uint64_t)to - (uint64_t)from);
		const struct mpk_dltensor *dl = &t->dl;

		MPK_TRY(mpk_state_check(
			dl->ndim == (is_mla ? 3 : 4) && dl->shape[0] == c->layer_count &&
				dl->shape[1] == tokens && (is_mla || dl->shape[2] == c->kv_heads) &&
				dl->shape[is_mla ? 2 : 3] == c->qk_dim,
			err, "keys and values of %d layers and %lld tokens want other shapes",
			(int)c->layer_count, (long long)tokens));
	}
	MPK_TRY(token_places(c, id, from, to, &places.tensor, err));
	places.kind = MPK_VALUE_TENSOR;
	for (int32_t i = 0; i < c->layer_count; i++) {
		const struct mpk_value layer = mpk_value_of_int(i);
		const struct mpk_value list[] = { mpk_value_of_tensor(c->pages[i]), places,
						  call->args[4], is_mla ? layer : call->args[5],
						  layer };

		MPK_TRY(mpk_state_check(c->attention[c->layer_first + i] == wanted, err,
					"%s: layer %d has another kind of attention", call->name,
					(int)i));
		MPK_TRY(mpk_state_call(c->kernels[MPK_PAGED_DEBUG], "reading a sequence back", list,
				       is_mla ? 4 : 5, err));
	}
	return MPK_OK;
}

MPK_KV_BUILTIN(kv_empty, "vm.builtin.attention_kv_cache_empty", 1, 1, &mpk_paged_ops, do_empty)
MPK_KV_BUILTIN(kv_free_pages, "vm.builtin.attention_kv_cache_get_num_available_pages", 1, 1,
	       &mpk_paged_ops, do_free_pages)
MPK_KV_BUILTIN(kv_total, "vm.builtin.attention_kv_cache_get_total_sequence_length", 1, 1,
	       &mpk_paged_ops, do_total)
MPK_KV_BUILTIN(kv_length, "vm.builtin.attention_kv_cache_get_sequence_length", 2, 2, &mpk_paged_ops,
	       do_length)
MPK_KV_BUILTIN(kv_positions, "vm.builtin.attention_kv_cache_get_query_positions", 1, 1,
	       &mpk_paged_ops, do_positions)
MPK_KV_BUILTIN(kv_slide, "vm.builtin.attention_kv_cache_enable_sliding_window_for_seq", 4, 4,
	       &mpk_paged_ops, do_slide)
MPK_KV_BUILTIN(kv_commit, "vm.builtin.attention_kv_cache_commit_accepted_token_tree_nodes", 3, 3,
	       &mpk_paged_ops, do_commit)
MPK_KV_BUILTIN(kv_debug, "vm.builtin.attention_kv_cache_debug_get_kv", 6, 6, &mpk_paged_ops,
	       do_debug)
MPK_KV_BUILTIN(kv_debug_mla, "vm.builtin.attention_kv_cache_debug_get_kv_mla", 5, 5, &mpk_paged_ops,
	       do_debug)

static const struct mpk_relax_builtin rows[] = {
#define MPK_ROW_query(...) __VA_ARGS__,
#include "executor/relax/family.def"
};

const struct mpk_relax_builtins mpk_relax_query_builtins = { rows, MPK_ARRAY_COUNT(rows) };
