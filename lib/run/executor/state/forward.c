/* SPDX-License-Identifier: Apache-2.0 */
/* forward.c - a paged cache as a state with sequences; the beginning of its forward passes; trees
 * of tokens
 *
 * Memory for the new tokens of a pass is allocated either before or after the page tables are made.
 * If keys and values are appended before attention, attention over pages includes the tokens of the
 * pass. If attention among new tokens is computed separately, it only includes tokens of earlier
 * passes.
 *
 * An application that guesses tokens has the model evaluate all guesses at once, as a tree in which
 * each node sees its ancestors. Each node gets its number in depth-first order and the number after
 * its last descendant, so that a kernel recognises ancestors with two comparisons. */
#include <stdlib.h>

#include "executor/state/internal/paged.h"

/* --- The page tables of a pass, by levels of shared blocks, and their tensors for kernels.
 *
 * Sequences with the same beginning share their first block. On the first level, a kernel reads the
 * pages of a block once for all sequences that share it. On the last level it reads the pages of
 * each sequence, with all its further blocks in a row. If a sequence has no block on a level, it
 * has no pages there.
 *
 * Tensors are made when the first kernel needs them, so passes without kernels (a test, a sequence
 * that is removed at once) make none. Scratch memory is sized for the current pass, not for the
 * largest possible one. */

/* --- levels ----------------------------------------------------------------------------------- */

#define MINIMUM(a, b) ((a) < (b) ? (a) : (b))

/* --- one block -------------------------------------------------------------------------------- */

/* Blocks that kernels see as one: the last block of the row, and the pages of all. */
struct row {
	const struct mpk_block *first, *last;
	int64_t length; /* tokens */
	size_t pages;
};

static int32_t window_offset(const struct mpk_paged *c, int64_t length)
{
	if (length <= c->layer_window)
		return 0;
	return (int32_t)((length - c->layer_window) % c->blocks.page_size);
}

static int64_t window_pages(const struct mpk_paged *c, int64_t length)
{
	if (!length)
		return 0;
	return (window_offset(c, length) + MINIMUM(length, c->layer_window) + c->blocks.page_size -
		1) /
	       c->blocks.page_size;
}

static void put_nothing(const struct mpk_paged *c, struct mpk_paged_level *level)
{
	mpk_ints_push(&level->page_ends, (int32_t)level->pages.count);
	mpk_ints_push(&level->last_lengths, 0);
	mpk_ints_push(&level->offsets, 0);
	mpk_ints_push(&level->sinks, 0);
	mpk_ints_push(&level->positions, 0);
	if (!c->layers_slide)
		return;
	mpk_ints_push(&level->slid_ends, (int32_t)level->slid_pages.count);
	mpk_ints_push(&level->slid_positions, 0);
}

static void put_sequence(const struct mpk_paged *c, struct mpk_paged_level *level,
			 const struct mpk_paged_trace *trace, size_t depth)
{
	bool is_deepest = depth == MPK_PAGED_DEPTHS - 1;
	struct row r = { 0 };

	for (size_t i = depth; i < trace->blocks.count && (i == depth || is_deepest); i++) {
		const struct mpk_block *block = &c->blocks.items[trace->blocks.items[i]];

		if (i == depth)
			r.first = block;
		r.last = block;
		r.length += block->length;
		r.pages += block->pages.count;
		for (size_t k = 0; k < block->pages.count; k++)
			mpk_ints_push(&level->pages, block->pages.items[k]);
	}
	if (r.first) {
		int64_t in_window = r.length - r.last->sink + r.last->offset;

		mpk_ints_push(&level->page_ends, (int32_t)level->pages.count);
		mpk_ints_push(&level->last_lengths,
			      r.length ? (int32_t)((in_window - 1) % c->blocks.page_size + 1) : 0);
		mpk_ints_push(&level->offsets,
			      c->layers_slide ? window_offset(c, r.length) : r.last->offset);
		mpk_ints_push(&level->sinks, r.last->sink);
		mpk_ints_push(&level->positions, r.first->start);
		if (c->layers_slide && !level->pages.failed) {
			/* The last pages, as many as the window of sliding layers covers. */
			int64_t seen = MINIMUM((int64_t)r.pages, window_pages(c, r.length));
			int64_t from = r.first->start + r.length - c->layer_window;

			for (size_t i = level->pages.count - (size_t)seen; i < level->pages.count;
			     i++)
				mpk_ints_push(&level->slid_pages, level->pages.items[i]);
			mpk_ints_push(&level->slid_ends, (int32_t)level->slid_pages.count);
			mpk_ints_push(&level->slid_positions, from > 0 ? (int32_t)from : 0);
		}
	} else
		put_nothing(c, level);
}

static bool level_failed(const struct mpk_paged_level *level)
{
	return level->queries.failed || level->page_ends.failed || level->pages.failed ||
	       level->slid_ends.failed || level->slid_pages.failed || level->last_lengths.failed ||
	       level->offsets.failed || level->sinks.failed || level->positions.failed ||
	       level->slid_positions.failed;
}

/* Adjacent sequences with the same block share one entry, unless the kernel processes each sequence
 * separately. */
static void fill_level(struct mpk_paged *c, const struct mpk_paged_trace *traces, size_t depth)
{
	struct mpk_paged_level *level = &c->pass.levels[depth];
	bool joins = depth != MPK_PAGED_DEPTHS - 1 && !level->decodes;
	int32_t tokens = 0;

	/* --- a level ---------------------------------------------------------------------- */
	struct mpk_ints *all[] = { &level->queries,       &level->page_ends,  &level->pages,
				   &level->slid_ends,     &level->slid_pages, &level->last_lengths,
				   &level->offsets,       &level->sinks,      &level->positions,
				   &level->slid_positions };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(all); i++)
		all[i]->count = 0;
	mpk_ints_push(&level->queries, 0);
	mpk_ints_push(&level->page_ends, 0);
	mpk_ints_push(&level->slid_ends, 0);

	for (size_t i = 0; i < c->pass.counts.count; i++) {
		tokens += c->pass.counts.items[i];
		if (joins && i + 1 < c->pass.counts.count &&
		    mpk_paged_block_at(&traces[i], depth) ==
			    mpk_paged_block_at(&traces[i + 1], depth))
			continue;
		mpk_ints_push(&level->queries, tokens);
		put_sequence(c, level, &traces[i], depth);
	}
}

/* Fills the levels of the pass, except for trees
 * @traces  for each sequence of the pass, its blocks
 * Returns  MPK_OK; MPK_E_NOMEM */
static enum mpk_code paged_levels(struct mpk_paged *c, const struct mpk_paged_trace *traces,
				  struct mpk_error *err)
{
	for (size_t d = 0; d < c->pass.depth_count; d++) {
		fill_level(c, traces, d);
		if (level_failed(&c->pass.levels[d]))
			return mpk_fail_nomem(err);
	}
	return MPK_OK;
}

static void drop_tensor(struct mpk_tensor **t)
{
	mpk_tensor_drop(*t);
	*t = NULL;
}

static void unsync(struct mpk_paged_pass *p)
{
	struct mpk_tensor **own[] = { &p->t_starts, &p->t_query_positions,
				      &p->t_places, &p->t_ends,
				      &p->q,        &p->k,
				      &p->v,        &p->output,
				      &p->lse,      &p->merged_lse };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(own); i++)
		drop_tensor(own[i]);
	for (size_t d = 0; d < MPK_PAGED_DEPTHS; d++) {
		struct mpk_paged_tensors *t = &p->on_device[d];
		struct mpk_tensor **all[] = { &t->queries,      &t->page_ends,  &t->pages,
					      &t->slid_ends,    &t->slid_pages, &t->lengths,
					      &t->slid_lengths, &t->positions,  &t->slid_positions,
					      &t->tree_ends,    &t->tree };

		for (size_t i = 0; i < MPK_ARRAY_COUNT(all); i++)
			drop_tensor(all[i]);
	}
	p->is_synced = false;
}

static void level_fini(struct mpk_paged_level *l)
{
	struct mpk_ints *all[] = { &l->queries,    &l->page_ends,      &l->pages,     &l->slid_ends,
				   &l->slid_pages, &l->last_lengths,   &l->offsets,   &l->sinks,
				   &l->positions,  &l->slid_positions, &l->tree_ends, &l->tree };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(all); i++)
		mpk_ints_fini(all[i]);
}

void mpk_paged_pass_fini(struct mpk_paged_pass *p)
{
	unsync(p);
	for (size_t d = 0; d < MPK_PAGED_DEPTHS; d++)
		level_fini(&p->levels[d]);
	mpk_ints_fini(&p->counts);
	mpk_ints_fini(&p->starts);
	mpk_ints_fini(&p->query_positions);
	mpk_ints_fini(&p->places);
	mpk_ints_fini(&p->ends);
	free(p->ids);
	*p = (struct mpk_paged_pass){ 0 };
}

/* --- tables ------------------------------------------------------------------------------------ */

/* Writes the lengths in last pages; with sliding windows, also where windows begin and how many
 * tokens they keep. */
static enum mpk_code make_lengths(const struct mpk_paged *c, const struct mpk_paged_level *l,
				  bool with_windows, struct mpk_tensor **out, struct mpk_error *err)
{
	struct mpk_ints all = { 0 };
	enum mpk_code rc;

	if (!with_windows)
		return mpk_state_ints(&l->last_lengths, 0, c->where, out, err);
	for (size_t i = 0; i < l->last_lengths.count; i++)
		mpk_ints_push(&all, l->last_lengths.items[i]);
	for (size_t i = 0; i < l->offsets.count; i++)
		mpk_ints_push(&all, l->offsets.items[i]);
	for (size_t i = 0; i < l->sinks.count; i++)
		mpk_ints_push(&all, l->sinks.items[i]);
	rc = mpk_state_ints(&all, 3, c->where, out, err);
	mpk_ints_fini(&all);
	return rc;
}

static enum mpk_code sync_sliding(const struct mpk_paged *c, const struct mpk_paged_level *l,
				  struct mpk_paged_tensors *t, struct mpk_error *err)
{
	if (!c->layers_slide)
		return MPK_OK;
	MPK_TRY(mpk_state_ints(&l->slid_ends, 0, c->where, &t->slid_ends, err));
	MPK_TRY(mpk_state_ints(&l->slid_pages, 0, c->where, &t->slid_pages, err));
	MPK_TRY(make_lengths(c, l, true, &t->slid_lengths, err));
	return mpk_state_ints(&l->slid_positions, 0, c->where, &t->slid_positions, err);
}

static enum mpk_code sync_level(const struct mpk_paged *c, const struct mpk_paged_level *l,
				struct mpk_paged_tensors *t, struct mpk_error *err)
{
	MPK_TRY(mpk_state_ints(&l->queries, 0, c->where, &t->queries, err));
	MPK_TRY(mpk_state_ints(&l->page_ends, 0, c->where, &t->page_ends, err));
	MPK_TRY(mpk_state_ints(&l->pages, 0, c->where, &t->pages, err));
	MPK_TRY(make_lengths(c, l, c->slides, &t->lengths, err));
	MPK_TRY(mpk_state_ints(&l->positions, 0, c->where, &t->positions, err));
	MPK_TRY(sync_sliding(c, l, t, err));
	if (l->is_chain)
		return MPK_OK;
	MPK_TRY(mpk_state_ints(&l->tree_ends, 0, c->where, &t->tree_ends, err));
	return mpk_state_ints(&l->tree, (int64_t)l->tree.count / 2, c->where, &t->tree, err);
}

/* --- scratch ------------------------------------------------------------------------------------- */

static enum mpk_code scratch(const struct mpk_paged *c, int64_t heads, int64_t dim,
			     struct mpk_tensor **out, struct mpk_error *err)
{
	const int64_t shape[] = { c->pass.total, heads, dim };

	return mpk_state_empty(c->dtype, shape, 3, c->where, out, err);
}

static enum mpk_code sync_scratch(struct mpk_paged *c, struct mpk_error *err)
{
	static const struct mpk_dtype f32 = { MPK_DTYPE_FLOAT, 32, 1 };
	const int64_t lse[] = { c->pass.total, c->query_heads };
	struct mpk_paged_pass *p = &c->pass;

	if (c->has_heads) {
		MPK_TRY(scratch(c, c->query_heads, c->qk_dim, &p->q, err));
		MPK_TRY(scratch(c, c->kv_heads, c->qk_dim, &p->k, err));
		MPK_TRY(scratch(c, c->kv_heads, c->qk_dim, &p->v, err));
	}
	MPK_TRY(scratch(c, c->query_heads, c->v_dim, &p->output, err));
	MPK_TRY(mpk_state_empty(f32, lse, 2, c->where, &p->lse, err));
	return mpk_state_empty(f32, lse, 2, c->where, &p->merged_lse, err);
}

static enum mpk_code sync_all(struct mpk_paged *c, struct mpk_error *err)
{
	struct mpk_paged_pass *p = &c->pass;

	MPK_TRY(mpk_state_ints(&p->query_positions, 0, c->where, &p->t_query_positions, err));
	MPK_TRY(mpk_state_ints(&p->places, 0, c->where, &p->t_places, err));
	MPK_TRY(mpk_state_ints(&p->starts, 0, c->where, &p->t_starts, err));
	MPK_TRY(mpk_state_ints(&p->ends, 0, c->where, &p->t_ends, err));
	for (size_t d = 0; d < p->depth_count; d++)
		MPK_TRY(sync_level(c, &p->levels[d], &p->on_device[d], err));
	return sync_scratch(c, err);
}

enum mpk_code mpk_paged_sync(struct mpk_paged *c, struct mpk_error *err)
{
	enum mpk_code rc;

	MPK_TRY(mpk_state_check(c->pass.is_begun, err, "no forward pass of the cache began"));
	if (c->pass.is_synced)
		return MPK_OK;
	MPK_TRY(mpk_state_check(c->pass.total <= c->chunk, err,
				"a forward pass of %d tokens; the cache is made for %lld",
				(int)c->pass.total, (long long)c->chunk));
	rc = sync_all(c, err);
	if (rc != MPK_OK)
		unsync(&c->pass);
	c->pass.is_synced = rc == MPK_OK;
	return rc;
}

/* --- the cache ---------------------------------------------------------------------------------- */

/* Nothing is left to do at the end of a pass, because a device runs its kernels in order. */
static enum mpk_code paged_end(struct mpk_kv_state *s, struct mpk_error *err)
{
	(void)s;
	(void)err;
	return MPK_OK;
}

static void paged_destroy(struct mpk_kv_state *s)
{
	struct mpk_paged *c = (struct mpk_paged *)s;

	(void)mpk_paged_sequences.clear(s, NULL);
	for (int32_t i = 0; c->pages && i < c->layer_count; i++)
		mpk_tensor_drop(c->pages[i]);
	free(c->pages);
	free(c->attention);
	mpk_tensor_drop(c->rope_factors);
	for (size_t i = 0; i < MPK_PAGED_KERNEL_COUNT; i++)
		mpk_function_drop(c->kernels[i]);
}

/* --- trees of tokens -------------------------------------------------------------------------- */

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

/* Checks that the trees of tokens are supported
 * @sequences  number of sequences in the batch */
static enum mpk_code paged_check_tree(const struct mpk_paged *c,
				      struct mpk_sequence *const *sequences,
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

/* Computes the depth of each node, and whether each node is the child of the previous one. */
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

/* Parents precede their children, so sizes are computed from the end, and numbers from the
 * beginning. */
static void put_order(const struct mpk_ints *parents, struct mpk_ints *out)
{
	int32_t sizes[MPK_PAGED_TREE_MAX], next[MPK_PAGED_TREE_MAX + 1];

	for (size_t i = 0; i < parents->count; i++)
		sizes[i] = 1;
	for (size_t i = parents->count; i-- > 0;)
		if (parents->items[i] >= 0)
			sizes[parents->items[i]] += sizes[i];
	next[0] = 0; /* for roots */
	for (size_t i = 0; i < parents->count; i++) {
		int32_t *place = &next[parents->items[i] + 1], number = *place;

		*place += sizes[i];
		next[i + 1] = number + 1;
		mpk_ints_push(out, number);
		mpk_ints_push(out, number + sizes[i]);
	}
}

/* Whether the tree of a sequence belongs to a level: to the level of its last block if that already
 * contains the tree, else to the first. */
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
	/* as in TVM: a level does not depend on the levels before it */
	for (size_t d = 0; d < MPK_PAGED_DEPTHS; d++)
		c->pass.levels[d].is_chain = true;
	level->is_chain = is_chain;
	return level->tree.failed || level->tree_ends.failed ? mpk_fail_nomem(err) : MPK_OK;
}

/* --- the beginning of a pass ------------------------------------------------------------------ */

/* Temporary data until the tables of the pass are made. */
struct begin {
	const struct mpk_kv_batch *batch;
	struct mpk_sequence **sequences;
	struct mpk_paged_trace *traces;
	/* for each sequence, the length of its last block before the pass */
	int32_t *lengths_before;
};

/* Returns the maximum number of tokens in a pass: as many as fit in all pages, or with sliding
 *         windows, as many as the cache was made for. */
static int64_t most_tokens(const struct mpk_paged *c)
{
	int64_t room = (int64_t)c->blocks.page_count * c->blocks.page_size;
	int64_t most = c->chunk < MPK_PAGED_PASS_MAX ? c->chunk : MPK_PAGED_PASS_MAX;

	return c->slides && most > room ? most : room;
}

/* Returns the number of pages that a sequence needs when it grows, before its window slides. */
static int64_t pages_wanted(const struct mpk_paged *c, const struct mpk_sequence *s, int64_t count)
{
	const struct mpk_block *block = &c->blocks.items[s->last];
	int64_t used = (int64_t)block->length - block->sink + block->offset + count;
	int64_t more = (used + c->blocks.page_size - 1) / c->blocks.page_size -
		       (int64_t)block->pages.count;

	return more > 0 && !(c->slides && s->window != -1) ? more : 0;
}

/* Checks that all sequences of the batch fit, before anything is changed. */
static enum mpk_code check_batch(struct mpk_paged *c, struct begin *b, struct mpk_error *err)
{
	int64_t total = 0, pages = 0, most = most_tokens(c);

	MPK_TRY(mpk_state_check(b->batch->count, err, "a forward pass of no sequences"));
	for (size_t i = 0; i < b->batch->count; i++) {
		int64_t length = b->batch->lengths[i];

		MPK_TRY(mpk_blocks_get(&c->blocks, b->batch->ids[i], &b->sequences[i], err));
		MPK_TRY(mpk_state_check(length > 0, err,
					"sequence \"%lld\" cannot grow by %lld tokens",
					(long long)b->batch->ids[i], (long long)length));
		MPK_TRY(mpk_state_check(
			length <= most - total, err,
			"the cache is full: a forward pass of more than %lld tokens",
			(long long)most));
		MPK_TRY(mpk_state_check(length <= INT32_MAX - b->sequences[i]->length, err,
					"sequence \"%lld\" gets too long",
					(long long)b->batch->ids[i]));
		total += length;
		pages += pages_wanted(c, b->sequences[i], length);
		MPK_TRY(mpk_state_check(b->batch->parents || b->sequences[i]->is_committed, err,
					"the tree of tokens of sequence \"%lld\" is not committed",
					(long long)b->batch->ids[i]));
		MPK_TRY(mpk_state_check(
			c->blocks.items[b->sequences[i]->last].refs == 1, err,
			"the last block of sequence \"%lld\" is shared and cannot grow",
			(long long)b->batch->ids[i]));
	}
	return mpk_state_check(pages <= mpk_blocks_free_pages(&c->blocks), err,
			       "the cache is full: the forward pass wants %lld pages of %d",
			       (long long)pages, (int)mpk_blocks_free_pages(&c->blocks));
}

/* Records the state of each sequence before it grows. */
static enum mpk_code note_sequences(struct mpk_paged *c, struct begin *b, bool *decodes,
				    bool *has_tree, struct mpk_error *err)
{
	struct mpk_paged_pass *p = &c->pass;

	*decodes = true;
	*has_tree = false;
	p->ids = calloc(b->batch->count, sizeof *p->ids);
	MPK_TRY_ALLOC(p->ids, err);
	mpk_ints_push(&p->ends, 0);
	for (size_t i = 0; i < b->batch->count; i++) {
		struct mpk_sequence *s = b->sequences[i];
		int32_t count = (int32_t)b->batch->lengths[i];

		p->ids[i] = b->batch->ids[i];
		mpk_ints_push(&p->counts, count);
		p->total += count;
		mpk_ints_push(&p->ends, p->total);
		mpk_ints_push(&p->starts,
			      s->length - (s->is_committed ? 0 : (int32_t)s->parents.count));
		b->lengths_before[i] = c->blocks.items[s->last].length;
		mpk_blocks_trace(&c->blocks, s, &b->traces[i].blocks);
		if (b->traces[i].blocks.failed)
			return mpk_fail_nomem(err);
		s->length += count;
		*decodes &= count == 1;
		*has_tree |= !s->is_committed;
	}
	return p->counts.failed || p->ends.failed || p->starts.failed ? mpk_fail_nomem(err)
								      : MPK_OK;
}

static enum mpk_code grow_all(struct mpk_paged *c, const struct begin *b, struct mpk_error *err)
{
	for (size_t i = 0; i < b->batch->count; i++)
		MPK_TRY(mpk_blocks_grow(&c->blocks, b->sequences[i], c->pass.counts.items[i],
					c->slides, err));
	return MPK_OK;
}

/* Returns the place of a new token; -1 if it is outside of the sliding window. */
static enum mpk_code place_token(struct mpk_paged *c, const struct mpk_block *block, int32_t before,
				 int32_t from_end, int32_t number, struct mpk_error *err)
{
	int32_t at = block->length - from_end, place = -1;

	if (before + number < block->sink)
		MPK_TRY(mpk_blocks_place(&c->blocks, block, before + number, &place, err));
	else if (at >= block->sink)
		MPK_TRY(mpk_blocks_place(&c->blocks, block, at - block->sink + block->offset,
					 &place, err));
	mpk_ints_push(&c->pass.places, place);
	return MPK_OK;
}

static enum mpk_code place_tokens(struct mpk_paged *c, const struct begin *b, struct mpk_error *err)
{
	struct mpk_paged_pass *p = &c->pass;

	for (size_t i = 0; i < b->batch->count; i++) {
		const struct mpk_sequence *s = b->sequences[i];
		const struct mpk_block *block = &c->blocks.items[s->last];
		int32_t count = p->counts.items[i];

		for (int32_t k = 0; k < count; k++) {
			bool has_depth = s->depths.count >= (size_t)count;
			size_t node = s->depths.count - (size_t)count + (size_t)k;

			mpk_ints_push(&p->query_positions,
				      p->starts.items[i] + (has_depth ? s->depths.items[node] : k));
			MPK_TRY(place_token(c, block, b->lengths_before[i], count - k, k, err));
		}
	}
	return p->query_positions.failed || p->places.failed ? mpk_fail_nomem(err) : MPK_OK;
}

static int64_t page_count(const struct mpk_blocks *b, int32_t block)
{
	return block == -1 ? 0 : (int64_t)b->items[block].pages.count;
}

/* With one token for each sequence, a special kernel may be used, unless many sequences share their
 * pages. */
static bool level_decodes(const struct mpk_paged *c, const struct mpk_paged_trace *traces,
			  size_t depth)
{
	int64_t apart = 0, together = 0;

	for (size_t i = 0; i < c->pass.counts.count; i++) {
		int32_t block = mpk_paged_block_at(&traces[i], depth);

		apart += page_count(&c->blocks, block);
		if (i == 0 || block != mpk_paged_block_at(&traces[i - 1], depth))
			together += page_count(&c->blocks, block);
	}
	return together == 0 || (double)apart / (double)together < 32;
}

/* Chooses the number of levels, and which of them use the kernel for one token
 * @decodes  all sequences grow by one token */
static void paged_choose(struct mpk_paged *c, const struct mpk_paged_trace *traces, bool decodes)
{
	struct mpk_paged_pass *p = &c->pass;

	p->depth_count = 0;
	for (size_t i = 0; i < p->counts.count; i++)
		while (p->depth_count < traces[i].blocks.count && p->depth_count < MPK_PAGED_DEPTHS)
			p->depth_count++;
	for (size_t d = 0; d < p->depth_count; d++)
		p->levels[d].decodes = decodes && level_decodes(c, traces, d);
}

static enum mpk_code begin_pass(struct mpk_paged *c, struct begin *b, struct mpk_error *err)
{
	bool decodes, has_tree;

	b->sequences = calloc(b->batch->count + 1, sizeof(struct mpk_sequence *));
	b->traces = calloc(b->batch->count + 1, sizeof *b->traces);
	b->lengths_before = calloc(b->batch->count + 1, sizeof *b->lengths_before);
	MPK_TRY_ALLOC(b->sequences && b->traces && b->lengths_before, err);

	MPK_TRY(check_batch(c, b, err));
	if (b->batch->parents)
		MPK_TRY(paged_check_tree(c, b->sequences, b->batch, err));
	mpk_paged_pass_fini(&c->pass);
	MPK_TRY(note_sequences(c, b, &decodes, &has_tree, err));
	paged_choose(c, b->traces, decodes);
	c->pass.appends_first =
		(!c->slides && c->pass.levels[c->pass.depth_count - 1].decodes) || has_tree;
	if (b->batch->parents) {
		/* Copies the trees of a checked batch to sequences and levels. */
		size_t levels = c->pass.appends_first ? c->pass.depth_count : 1;

		for (size_t d = 0; d < levels; d++)
			MPK_TRY(take_level(c, b->sequences, b->batch, b->traces, d, err));
	} else {
		for (size_t i = 0; i < b->batch->count; i++) {
			struct mpk_sequence *s = b->sequences[i];

			s->is_chain = true;
			s->parents.count = s->depths.count = 0;
		}
		for (size_t d = 0; d < MPK_PAGED_DEPTHS; d++)
			c->pass.levels[d].is_chain = true;
	}
	if (c->pass.appends_first)
		MPK_TRY(grow_all(c, b, err));
	MPK_TRY(paged_levels(c, b->traces, err));
	if (!c->pass.appends_first)
		MPK_TRY(grow_all(c, b, err));
	MPK_TRY(place_tokens(c, b, err));
	c->pass.is_begun = true;
	return MPK_OK;
}

static enum mpk_code paged_begin(struct mpk_kv_state *s, const struct mpk_kv_batch *batch,
				 struct mpk_error *err)
{
	struct begin b = { .batch = batch };
	struct mpk_paged *c = (struct mpk_paged *)s;
	enum mpk_code rc = begin_pass(c, &b, err);

	/* end the previous pass, too: the model's next calls would be meant for this one */
	if (rc != MPK_OK)
		c->pass.is_begun = false;

	for (size_t i = 0; b.traces && i < b.batch->count; i++)
		mpk_ints_fini(&b.traces[i].blocks);
	free(b.sequences);
	free(b.traces);
	free(b.lengths_before);

	return rc;
}

const struct mpk_kv_ops mpk_paged_ops = {
	.save = mpk_paged_save,
	.load = mpk_paged_load,
	.sequences = &mpk_paged_sequences,
	.begin = paged_begin,
	.end = paged_end,
	.destroy = paged_destroy,
};
