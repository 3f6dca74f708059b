/* SPDX-License-Identifier: Apache-2.0 */
/* rnn.c - the state of a recurrent model: for each sequence, each layer and each state the last few values
 *
 * Values of the past are a ring, so that steps can be taken back. What reads and writes values in batches are
 * kernels of the model; which slots a batch has, they get as two tables that begin_forward makes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "executor/state/internal/rnn.h"

/* --- sequences --------------------------------------------------------------------------------- */

static struct mpk_rnn_sequence *find_sequence(const struct mpk_rnn *r, int64_t id)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->sequences[i].id == id)
			return &r->sequences[i];
	return NULL;
}

enum mpk_code mpk_rnn_get(const struct mpk_rnn *r, int64_t id, struct mpk_rnn_sequence **out,
			  struct mpk_error *err)
{
	*out = find_sequence(r, id);
	return mpk_state_check(*out, err, "sequence \"%lld\" is not in the state", (long long)id);
}

static void drop_tables(struct mpk_rnn *r)
{
	mpk_tensor_drop(r->slots);
	mpk_tensor_drop(r->rings);
	r->slots = r->rings = NULL;
}

/* Slots are given out from the first one on. */
static enum mpk_code rnn_clear(struct mpk_kv_state *s, struct mpk_error *err)
{
	struct mpk_rnn *r = (struct mpk_rnn *)s;

	(void)err;
	r->count = r->batch = 0;
	r->is_stale = false;
	drop_tables(r);
	r->free_slots.count = 0;
	r->fresh = 0;
	return MPK_OK;
}

static enum mpk_code take_slot(struct mpk_rnn *r, int64_t id, int32_t *slot, struct mpk_error *err)
{
	MPK_TRY(mpk_state_check(!find_sequence(r, id), err,
				"sequence \"%lld\" is already in the state", (long long)id));
	MPK_TRY(mpk_state_check(r->free_slots.count || r->fresh < r->slot_count, err,
				"the state is full: all of its %lld slots are used",
				(long long)r->slot_count));
	if (!mpk_vec_reserve(&r->sequences, &r->cap, r->count + 1, sizeof *r->sequences))
		return mpk_fail_nomem(err);
	*slot = r->free_slots.count ? r->free_slots.items[r->free_slots.count - 1] : r->fresh;
	return MPK_OK;
}

/* The slot that take_slot found is the sequence's. */
static void add_to_slots(struct mpk_rnn *r, struct mpk_rnn_sequence s)
{
	if (r->free_slots.count)
		r->free_slots.count--;
	else
		r->fresh++;
	r->sequences[r->count++] = s;
	r->is_stale = true;
}

/* The bytes of a slot's ring, or of one value in it. */
struct mpk_state_bytes mpk_rnn_slot(const struct mpk_rnn *r, size_t storage, int64_t slot,
				    int64_t at)
{
	struct mpk_tensor *t = r->storages[storage];
	uint64_t bytes = t->bytes / (uint64_t)r->slot_count;
	struct mpk_state_bytes b = { t, (uint64_t)slot * bytes, bytes };

	if (at >= 0) {
		b.count = bytes / (uint64_t)r->history;
		b.offset += (uint64_t)at * b.count;
	}
	return b;
}

static enum mpk_code rnn_add(struct mpk_kv_state *s, int64_t id, struct mpk_error *err)
{
	struct mpk_rnn *r = (struct mpk_rnn *)s;
	int32_t slot;

	MPK_TRY(take_slot(r, id, &slot, err));
	for (size_t i = 0; i < mpk_rnn_storages(r); i++) {
		struct mpk_tensor *init = r->inits[i % (size_t)r->state_count];

		MPK_TRY(mpk_state_copy((struct mpk_state_bytes){ init, 0, init->bytes },
				       mpk_rnn_slot(r, i, slot, 0), err));
	}
	add_to_slots(r, (struct mpk_rnn_sequence){ .id = id, .slot = slot });
	return MPK_OK;
}

static enum mpk_code rnn_remove(struct mpk_kv_state *s, int64_t id, struct mpk_error *err)
{
	struct mpk_rnn *r = (struct mpk_rnn *)s;
	struct mpk_rnn_sequence *gone;

	MPK_TRY(mpk_rnn_get(r, id, &gone, err));
	mpk_ints_push(&r->free_slots, gone->slot);
	if (r->free_slots.failed)
		return mpk_fail_nomem(err);
	*gone = r->sequences[--r->count];
	r->is_stale = true;
	return MPK_OK;
}

/* The position is not looked at: all of the past that there is goes along. */
static enum mpk_code rnn_fork(struct mpk_kv_state *s, int64_t parent, int64_t child, int64_t at,
			      struct mpk_error *err)
{
	struct mpk_rnn *r = (struct mpk_rnn *)s;
	struct mpk_rnn_sequence *from, made;
	int32_t slot;

	(void)at;
	MPK_TRY(mpk_rnn_get(r, parent, &from, err));
	MPK_TRY(take_slot(r, child, &slot, err));
	made = *find_sequence(r, parent);
	for (size_t i = 0; i < mpk_rnn_storages(r); i++)
		MPK_TRY(mpk_state_copy(mpk_rnn_slot(r, i, made.slot, -1),
				       mpk_rnn_slot(r, i, slot, -1), err));
	made.id = child;
	made.slot = slot;
	add_to_slots(r, made);
	return MPK_OK;
}

static enum mpk_code rnn_pop(struct mpk_kv_state *s, int64_t id, int64_t count,
			     struct mpk_error *err)
{
	struct mpk_rnn *r = (struct mpk_rnn *)s;
	struct mpk_rnn_sequence *q;

	MPK_TRY(mpk_rnn_get(r, id, &q, err));
	MPK_TRY(mpk_state_check(count <= q->past, err,
				"sequence \"%lld\" can take %lld steps back, not %lld",
				(long long)id, (long long)q->past, (long long)count));
	q->past -= count;
	q->at = (int32_t)((q->at - count + r->history) % r->history);
	r->is_stale = true;
	return MPK_OK;
}

/* --- passes -------------------------------------------------------------------------------------- */

static enum mpk_code check_chains(const struct mpk_kv_batch *batch, struct mpk_error *err)
{
	size_t at = 0;

	for (size_t i = 0; batch->parents && i < batch->count; i++)
		for (int64_t k = 0; k < batch->lengths[i]; k++, at++)
			MPK_TRY(mpk_state_check(
				at < batch->parent_count && batch->parents[at] == k - 1, err,
				"recurrent states take chains of tokens, no trees"));
	return MPK_OK;
}

static enum mpk_code make_tables(struct mpk_rnn *r, struct mpk_error *err)
{
	struct mpk_ints slots = { 0 }, rings = { 0 };
	enum mpk_code rc = MPK_OK;

	drop_tables(r);
	for (size_t i = 0; i < r->batch && rc == MPK_OK; i++) {
		struct mpk_rnn_sequence *s;

		rc = mpk_rnn_get(r, r->ids[i], &s, err);
		if (rc != MPK_OK)
			break;
		mpk_ints_push(&slots, s->slot);
		mpk_ints_push(&rings, s->at);
	}
	if (rc == MPK_OK)
		rc = mpk_state_ints(&slots, 0, r->where, &r->slots, err);
	if (rc == MPK_OK)
		rc = mpk_state_ints(&rings, 0, r->where, &r->rings, err);
	mpk_ints_fini(&slots);
	mpk_ints_fini(&rings);
	return rc;
}

static enum mpk_code rnn_begin(struct mpk_kv_state *s, const struct mpk_kv_batch *batch,
			       struct mpk_error *err)
{
	size_t bytes = (batch->count + 1) * sizeof(int64_t);
	struct mpk_rnn *r = (struct mpk_rnn *)s;
	int64_t *ids, *lengths;

	MPK_TRY(check_chains(batch, err));
	MPK_TRY(mpk_state_check((uint64_t)batch->count <= (uint64_t)r->slot_count, err,
				"%zu sequences in a state of %lld", batch->count,
				(long long)r->slot_count));
	ids = malloc(bytes);
	lengths = malloc(bytes);
	if (!ids || !lengths) {
		free(ids);
		free(lengths);
		return mpk_fail_nomem(err);
	}
	if (batch->count) {
		memcpy(ids, batch->ids, bytes - sizeof *ids);
		memcpy(lengths, batch->lengths, bytes - sizeof *lengths);
	}
	free(r->ids);
	free(r->lengths);
	r->ids = ids;
	r->lengths = lengths;
	r->batch = batch->count;
	/* tables of unchanged slots stay those of the pass before, as in TVM */
	if (!r->is_stale && r->slots)
		return MPK_OK;
	MPK_TRY(make_tables(r, err));
	r->is_stale = false;
	return MPK_OK;
}

/* More than one token cannot be taken back. */
static enum mpk_code rnn_end(struct mpk_kv_state *s, struct mpk_error *err)
{
	struct mpk_rnn *r = (struct mpk_rnn *)s;

	for (size_t i = 0; i < r->batch; i++) {
		struct mpk_rnn_sequence *q;

		MPK_TRY(mpk_rnn_get(r, r->ids[i], &q, err));
		if (r->lengths[i] > 1)
			q->past = 0;
		else if (q->past < r->history - 1)
			q->past++;
		q->at = (int32_t)((q->at + 1) % r->history);
	}
	r->is_stale = true;
	return MPK_OK;
}

static void rnn_destroy(struct mpk_kv_state *s)
{
	struct mpk_rnn *r = (struct mpk_rnn *)s;

	for (int64_t i = 0; i < r->state_count; i++) {
		if (r->gets)
			mpk_function_drop(r->gets[i]);
		if (r->sets)
			mpk_function_drop(r->sets[i]);
		if (r->inits)
			mpk_tensor_drop(r->inits[i]);
	}
	for (size_t i = 0; r->storages && i < mpk_rnn_storages(r); i++)
		mpk_tensor_drop(r->storages[i]);
	drop_tables(r);
	free(r->gets);
	free(r->sets);
	free(r->inits);
	free(r->storages);
	free(r->sequences);
	free(r->ids);
	free(r->lengths);
	mpk_ints_fini(&r->free_slots);
}

const struct mpk_kv_ops mpk_rnn_ops = {
	.clear = rnn_clear,
	.add = rnn_add,
	.remove = rnn_remove,
	.fork = rnn_fork,
	.pop = rnn_pop,
	.begin = rnn_begin,
	.end = rnn_end,
	.destroy = rnn_destroy,
};
