/* SPDX-License-Identifier: Apache-2.0 */
/* pass.c - the tables of a forward pass as tensors for kernels, made when the first kernel needs them
 *
 * Passes that only keep books (a test, a sequence that is given back at once) so cost no tensors. Scratch
 * memory is as large as the pass, not as large as a pass may be.
 */
#include <stdlib.h>

#include "executor/state/internal/paged.h"

static void drop_tensor(struct mpk_tensor **t)
{
	mpk_tensor_drop(*t);
	*t = NULL;
}

void mpk_paged_unsync(struct mpk_paged_pass *p)
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
	mpk_paged_unsync(p);
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
		mpk_paged_unsync(&c->pass);
	c->pass.is_synced = rc == MPK_OK;
	return rc;
}
