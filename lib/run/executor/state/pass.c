/* SPDX-License-Identifier: Apache-2.0 */
/* pass.c - the page tables of a pass, by levels of shared blocks, and their tensors for kernels
 *
 * Sequences that begin alike share their first block. On the first level a kernel goes once over the
 * pages of a block for all sequences that have it, on the last over those of each sequence, with all
 * further blocks of it in a row. A block that is on no level of a sequence has no pages there.
 *
 * Tensors are made when the first kernel needs them, so that passes which only keep books (a test, a sequence that is
 * given back at once) cost none. Scratch memory is as large as the pass, not as large as a pass may be.
 */
#include <stdlib.h>

#include "executor/state/internal/paged.h"

/* --- levels ----------------------------------------------------------------------------------- */

#define MINIMUM(a, b) ((a) < (b) ? (a) : (b))

/* --- one block -------------------------------------------------------------------------------- */

/* What kernels see as one block: the last one of a row, and all their pages. */
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
			/* The last pages, as far as the window of sliding layers reaches. */
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

/* Neighbours with the same block are one, but where each sequence has its own kernel's turn. */
static void fill_level(struct mpk_paged *c, const struct mpk_paged_trace *traces, size_t depth)
{
	struct mpk_paged_level *level = &c->pass.levels[depth];
	bool joins = depth != MPK_PAGED_DEPTHS - 1 && !level->decodes;
	int32_t tokens = 0;

	/* --- a level
	 * ------------------------------------------------------------------------------------- */
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

enum mpk_code mpk_paged_levels(struct mpk_paged *c, const struct mpk_paged_trace *traces,
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

/* Lengths in last pages alone, or with where windows begin and what they keep. */
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
