/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c - trees of tokens: several continuations of a sequence in one forward pass
 *
 * An application that guesses tokens lets the model look at all guesses at once: a tree, whose nodes see
 * their ancestors. Each node gets its number in depth-first order and the one after its last descendant, so
 * that a kernel knows ancestors by two comparisons. Afterwards one path is committed: its tokens
 * move to where they belong, and all others go.
 */
#include <stdlib.h>

#include "executor/state/internal/paged.h"

/* --- taking ------------------------------------------------------------------------------------- */

static enum mpk_code check_nodes(const struct mpk_paged *c, const struct mpk_sequence *s,
				 const int64_t *parents, int64_t count, struct mpk_error *err)
{
	int64_t known = (int64_t)s->parents.count;

	MPK_TRY(mpk_state_check(
		known <= c->blocks.items[s->last].length, err,
		"the tree of tokens is larger than the last block of its sequence"));
	MPK_TRY(mpk_state_check(known + count <= MPK_PAGED_TREE_MAX, err,
				"a tree of %lld tokens; at most %d", (long long)(known + count),
				MPK_PAGED_TREE_MAX));
	for (int64_t i = 0; i < count; i++)
		MPK_TRY(mpk_state_check(parents[i] >= -1 && parents[i] < known + i, err,
					"token %lld of a tree cannot have parent %lld",
					(long long)(known + i), (long long)parents[i]));
	return MPK_OK;
}

enum mpk_code mpk_paged_check_tree(const struct mpk_paged *c, struct mpk_sequence *const *sequences,
				   const struct mpk_kv_batch *batch, struct mpk_error *err)
{
	size_t at = 0;

	MPK_TRY(mpk_state_check(c->attention[0] != MPK_ATTENTION_MLA, err,
				"caches of MLA take no trees of tokens"));
	MPK_TRY(mpk_state_check(!c->slides, err,
				"caches with sliding windows take no trees of tokens"));
	MPK_TRY(mpk_state_check(c->rope != MPK_ROPE_INLINE, err,
				"caches with inline rotary embedding take no trees of tokens"));
	for (size_t i = 0; i < batch->count; i++) {
		MPK_TRY(mpk_state_check((uint64_t)batch->lengths[i] <= batch->parent_count - at,
					err, "a tree of %zu tokens for more new ones",
					batch->parent_count));
		MPK_TRY(check_nodes(c, sequences[i], batch->parents + at, batch->lengths[i], err));
		at += (size_t)batch->lengths[i];
		for (size_t k = 0; k < i; k++)
			MPK_TRY(mpk_state_check(batch->ids[k] != batch->ids[i], err,
						"sequence \"%lld\" has two trees of tokens",
						(long long)batch->ids[i]));
	}
	return mpk_state_check(at == batch->parent_count, err,
			       "a tree of %zu tokens for %zu new ones", batch->parent_count, at);
}

/* Depths, and whether each node is the child of the one before it. */
static enum mpk_code measure(struct mpk_sequence *s, struct mpk_error *err)
{
	s->depths.count = 0;
	s->is_chain = true;
	s->is_committed = false;
	for (size_t i = 0; i < s->parents.count; i++) {
		int32_t parent = s->parents.items[i];

		s->is_chain &= parent == (int32_t)i - 1;
		mpk_ints_push(&s->depths, parent < 0 ? 0 : s->depths.items[parent] + 1);
		if (s->depths.failed)
			return mpk_fail_nomem(err);
	}
	return MPK_OK;
}

/* Parents come before children, so sizes are known from the end, and numbers from the begin. */
static void put_order(const struct mpk_ints *parents, struct mpk_ints *out)
{
	int32_t sizes[MPK_PAGED_TREE_MAX], next[MPK_PAGED_TREE_MAX + 1];

	for (size_t i = 0; i < parents->count; i++)
		sizes[i] = 1;
	for (size_t i = parents->count; i-- > 0;)
		if (parents->items[i] >= 0)
			sizes[parents->items[i]] += sizes[i];
	next[0] = 0; /* of roots */
	for (size_t i = 0; i < parents->count; i++) {
		int32_t *place = &next[parents->items[i] + 1], number = *place;

		*place += sizes[i];
		next[i + 1] = number + 1;
		mpk_ints_push(out, number);
		mpk_ints_push(out, number + sizes[i]);
	}
}

/* A sequence's tree is on the level of its last block, when that has it already; else on the first. */
static bool is_on_level(const struct mpk_paged *c, const struct mpk_sequence *s,
			const struct mpk_ints *trace, size_t depth)
{
	if (!c->pass.appends_first)
		return true;
	return (depth < trace->count && trace->items[depth] == s->last) ||
	       (depth + 1 == MPK_PAGED_DEPTHS && trace->count > MPK_PAGED_DEPTHS);
}

static enum mpk_code take_level(struct mpk_paged *c, struct mpk_sequence *const *sequences,
				const struct mpk_kv_batch *batch,
				const struct mpk_paged_trace *traces, size_t depth,
				struct mpk_error *err)
{
	struct mpk_paged_level *level = &c->pass.levels[depth];
	bool is_chain = true;
	size_t at = 0;

	level->tree_ends.count = level->tree.count = 0;
	mpk_ints_push(&level->tree_ends, 0);
	for (size_t i = 0; i < batch->count; at += (size_t)batch->lengths[i++]) {
		struct mpk_sequence *s = sequences[i];

		if (is_on_level(c, s, &traces[i].blocks, depth)) {
			for (int64_t k = 0; k < batch->lengths[i]; k++)
				mpk_ints_push(&s->parents, (int32_t)batch->parents[at + (size_t)k]);
			if (s->parents.failed)
				return mpk_fail_nomem(err);
			MPK_TRY(measure(s, err));
			put_order(&s->parents, &level->tree);
			is_chain &= s->is_chain;
		}
		mpk_ints_push(&level->tree_ends, (int32_t)level->tree.count / 2);
	}
	/* what TVM does, too: a level says nothing of those before it */
	for (size_t d = 0; d < MPK_PAGED_DEPTHS; d++)
		c->pass.levels[d].is_chain = true;
	level->is_chain = is_chain;
	return level->tree.failed || level->tree_ends.failed ? mpk_fail_nomem(err) : MPK_OK;
}

enum mpk_code mpk_paged_take_tree(struct mpk_paged *c, struct mpk_sequence *const *sequences,
				  const struct mpk_kv_batch *batch,
				  const struct mpk_paged_trace *traces, struct mpk_error *err)
{
	size_t levels = c->pass.appends_first ? c->pass.depth_count : 1;

	for (size_t d = 0; d < levels; d++)
		MPK_TRY(take_level(c, sequences, batch, traces, d, err));
	return MPK_OK;
}

/* --- committing ---------------------------------------------------------------------------------- */

/* A commit, checked: for each sequence the node at which its path ends. */
struct commit {
	const struct mpk_shape *ids, *leaves;
	struct mpk_ints ends, from, to; /* moves before each sequence; places */
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

/* The path's tokens go to the begin of the tree, but for those that are there. */
static enum mpk_code put_moves(const struct mpk_paged *c, struct commit *m, size_t i,
			       const struct mpk_sequence *s, struct mpk_error *err)
{
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
					"node %d is none of the last forward pass", (int)from));
		mpk_ints_push(&m->from, c->pass.places.items[first + from]);
		mpk_ints_push(&m->to, c->pass.places.items[first + k]);
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
		MPK_TRY(put_moves(c, m, i, s, err));
		mpk_ints_push(&m->ends, (int32_t)m->from.count);
	}
	if (m->ends.failed || m->from.failed || m->to.failed)
		return mpk_fail_nomem(err);
	return compact(c, m, err);
}

/* What was not accepted is taken back. */
static enum mpk_code settle(struct mpk_paged *c, const struct commit *m, struct mpk_error *err)
{
	for (size_t i = 0; i < m->ids->ndim; i++) {
		int64_t leaf = m->leaves->extents[i], id = m->ids->extents[i];
		struct mpk_sequence *s;
		int64_t kept;

		MPK_TRY(mpk_blocks_get(&c->blocks, id, &s, err));
		kept = leaf == -1 ? 0 : s->depths.items[leaf] + 1;
		if (c->pass.counts.items[i] > kept)
			MPK_TRY(mpk_blocks_pop(&c->blocks, id, c->pass.counts.items[i] - kept,
					       err));
		MPK_TRY(mpk_blocks_get(&c->blocks, id, &s, err));
		s->is_committed = true;
		s->parents.count = s->depths.count = 0;
	}
	return MPK_OK;
}

enum mpk_code mpk_paged_commit(struct mpk_paged *c, const struct mpk_shape *ids,
			       const struct mpk_shape *leaves, struct mpk_error *err)
{
	struct commit m = { .ids = ids, .leaves = leaves };
	enum mpk_code rc;
	bool is_chain;

	MPK_TRY(check_commit(c, &m, &is_chain, err));
	rc = is_chain ? MPK_OK : move_all(c, &m, err);
	mpk_ints_fini(&m.ends);
	mpk_ints_fini(&m.from);
	mpk_ints_fini(&m.to);
	MPK_TRY(rc);
	return settle(c, &m, err);
}
