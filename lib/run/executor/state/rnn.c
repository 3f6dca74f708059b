/* SPDX-License-Identifier: Apache-2.0 */
/* rnn.c - the state of a recurrent model: the last few values of each state in each layer, for each
 * sequence
 *
 * Past values are in a ring buffer, so that steps can be undone. Kernels of the model read and
 * write the values of a batch. They get the slots of the batch as two tables, which begin_forward
 * makes. */
#include "executor/state/internal/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* --- sequences --------------------------------------------------------------------------------- */

static struct mpk_rnn_sequence *find_sequence(const struct mpk_rnn *r, int64_t id)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->sequences[i].id == id)
			return &r->sequences[i];
	return NULL;
}

static enum mpk_code rnn_sequence_of(const struct mpk_rnn *r, int64_t id,
				     struct mpk_rnn_sequence **out, struct mpk_error *err)
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

/* Frees all slots. Slots are allocated from the first one on. */
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
	if (!MPK_VEC_ROOM(r->sequences, r->count, r->cap))
		return mpk_fail_nomem(err);
	*slot = r->free_slots.count ? r->free_slots.items[r->free_slots.count - 1] : r->fresh;
	return MPK_OK;
}

/* Assigns the slot that take_slot found to the sequence. */
static void add_to_slots(struct mpk_rnn *r, struct mpk_rnn_sequence s)
{
	if (r->free_slots.count)
		r->free_slots.count--;
	else
		r->fresh++;
	r->sequences[r->count++] = s;
	r->is_stale = true;
}

/* Returns the bytes of a slot's ring, or of one value in it. */
static struct mpk_state_bytes rnn_slot(const struct mpk_rnn *r, size_t storage, int64_t slot,
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
				       rnn_slot(r, i, slot, 0), err));
	}
	add_to_slots(r, (struct mpk_rnn_sequence){ .id = id, .slot = slot });
	return MPK_OK;
}

static enum mpk_code rnn_remove(struct mpk_kv_state *s, int64_t id, struct mpk_error *err)
{
	struct mpk_rnn *r = (struct mpk_rnn *)s;
	struct mpk_rnn_sequence *gone;

	MPK_TRY(rnn_sequence_of(r, id, &gone, err));
	mpk_ints_push(&r->free_slots, gone->slot);
	if (r->free_slots.failed)
		return mpk_fail_nomem(err);
	*gone = r->sequences[--r->count];
	r->is_stale = true;
	return MPK_OK;
}

/* Ignores the position: the child gets all past values that are stored. */
static enum mpk_code rnn_fork(struct mpk_kv_state *s, int64_t parent, int64_t child, int64_t at,
			      struct mpk_error *err)
{
	struct mpk_rnn *r = (struct mpk_rnn *)s;
	struct mpk_rnn_sequence *from, made;
	int32_t slot;

	(void)at;
	MPK_TRY(rnn_sequence_of(r, parent, &from, err));
	MPK_TRY(take_slot(r, child, &slot, err));
	made = *find_sequence(r, parent);
	for (size_t i = 0; i < mpk_rnn_storages(r); i++)
		MPK_TRY(mpk_state_copy(rnn_slot(r, i, made.slot, -1), rnn_slot(r, i, slot, -1),
				       err));
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

	MPK_TRY(rnn_sequence_of(r, id, &q, err));
	MPK_TRY(mpk_state_check(count <= q->past, err,
				"sequence \"%lld\" can take %lld steps back, not %lld",
				(long long)id, (long long)q->past, (long long)count));
	q->past -= count;
	q->at = (int32_t)((q->at - count + r->history) % r->history);
	r->is_stale = true;
	return MPK_OK;
}

static enum mpk_code make_tables(struct mpk_rnn *r, struct mpk_error *err)
{
	struct mpk_ints slots = { 0 }, rings = { 0 };
	enum mpk_code rc = MPK_OK;

	drop_tables(r);
	for (size_t i = 0; i < r->batch && rc == MPK_OK; i++) {
		struct mpk_rnn_sequence *s;

		rc = rnn_sequence_of(r, r->ids[i], &s, err);
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

	/* --- passes ----------------------------------------------------------------------- */
	size_t at = 0;

	for (size_t i = 0; batch->parents && i < batch->count; i++)
		for (int64_t k = 0; k < batch->lengths[i]; k++, at++)
			MPK_TRY(mpk_state_check(
				at < batch->parent_count && batch->parents[at] == k - 1, err,
				"recurrent states take chains of tokens, no trees"));

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
	/* if the slots are unchanged, the previous tables stay valid, as in TVM */
	if (!r->is_stale && r->slots)
		return MPK_OK;
	MPK_TRY(make_tables(r, err));
	r->is_stale = false;
	return MPK_OK;
}

/* A pass with more than one token cannot be undone. */
static enum mpk_code rnn_end(struct mpk_kv_state *s, struct mpk_error *err)
{
	struct mpk_rnn *r = (struct mpk_rnn *)s;

	for (size_t i = 0; i < r->batch; i++) {
		struct mpk_rnn_sequence *q;

		MPK_TRY(rnn_sequence_of(r, r->ids[i], &q, err));
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

static const struct mpk_kv_sequences rnn_sequences = {
	.clear = rnn_clear, .add = rnn_add, .remove = rnn_remove, .fork = rnn_fork, .pop = rnn_pop
};
/* --- as bytes --------------------------------------------------------------------------------- */

static bool rnn_is_wanted(int64_t id, const int64_t *ids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (ids[i] == id)
			return true;
	return !ids;
}

/* Writes storages with their bytes, then sequences, then the slots of each sequence. */
static enum mpk_code rnn_save(const struct mpk_kv_state *state, const int64_t *ids, size_t count,
			      struct mpk_save *to, struct mpk_error *err)
{
	const struct mpk_rnn *r = (const struct mpk_rnn *)state;
	struct mpk_rnn_sequence *q;
	uint64_t wanted = 0;

	for (size_t i = 0; i < count; i++)
		MPK_TRY(rnn_sequence_of(r, ids[i], &q, err));
	mpk_save_u64(to, mpk_rnn_storages(r));
	mpk_save_u64(to, (uint64_t)r->history);
	for (size_t i = 0; i < mpk_rnn_storages(r); i++)
		mpk_save_u64(to, rnn_slot(r, i, 0, -1).count);
	for (size_t i = 0; i < r->count; i++)
		wanted += rnn_is_wanted(r->sequences[i].id, ids, count);
	mpk_save_u64(to, wanted);
	for (size_t i = 0; i < r->count; i++) {
		const struct mpk_rnn_sequence *s = &r->sequences[i];

		if (!rnn_is_wanted(s->id, ids, count))
			continue;
		mpk_save_u64(to, (uint64_t)s->id);
		mpk_save_u64(to, (uint64_t)s->past);
		mpk_save_u32(to, (uint32_t)s->at);
		for (size_t k = 0; k < mpk_rnn_storages(r); k++)
			MPK_TRY(mpk_save_memory(to, rnn_slot(r, k, s->slot, -1), err));
	}
	return MPK_OK;
}

static enum mpk_code rnn_load_one(struct mpk_rnn *r, struct mpk_load *from, struct mpk_error *err)
{
	struct mpk_rnn_sequence *s;
	int64_t id, past;
	int32_t at;

	MPK_TRY(mpk_read_i64(&from->cursor, "sequence", &id, err));
	MPK_TRY(mpk_read_i64(&from->cursor, "past", &past, err));
	MPK_TRY(mpk_read_i32(&from->cursor, "place", &at, err));
	if (past < 0 || past >= r->history || at < 0 || at >= r->history)
		return mpk_fail(err, MPK_E_CORRUPT,
				"saved sequence \"%lld\" does not hold together", (long long)id);
	MPK_TRY(rnn_add(&r->base, id, err));
	MPK_TRY(rnn_sequence_of(r, id, &s, err));
	s->past = past;
	s->at = at;
	for (size_t k = 0; k < mpk_rnn_storages(r); k++)
		MPK_TRY(mpk_load_memory(from, rnn_slot(r, k, s->slot, -1), err));
	return MPK_OK;
}

/* If one sequence cannot be restored, removes those that were. */
static enum mpk_code rnn_load(struct mpk_kv_state *state, struct mpk_load *from,
			      struct mpk_error *err)
{
	struct mpk_rnn *r = (struct mpk_rnn *)state;
	enum mpk_code code = MPK_OK, back = MPK_OK;
	size_t count, before = r->count;

	MPK_TRY(mpk_load_same(from, "storages", (int64_t)mpk_rnn_storages(r), err));
	MPK_TRY(mpk_load_same(from, "history", r->history, err));
	for (size_t i = 0; i < mpk_rnn_storages(r); i++)
		MPK_TRY(mpk_load_same(from, "bytes of a slot", (int64_t)rnn_slot(r, i, 0, -1).count,
				      err));
	MPK_TRY(mpk_read_count(&from->cursor, "sequences", 20, &count, err));
	for (size_t i = 0; i < count && code == MPK_OK; i++)
		code = rnn_load_one(r, from, err);
	if (code == MPK_OK && from->cursor.pos != from->cursor.bytes.len)
		code = mpk_fail(err, MPK_E_CORRUPT, "something follows the saved sequences");
	while (code != MPK_OK && r->count > before && back == MPK_OK)
		back = rnn_remove(state, r->sequences[r->count - 1].id, NULL);
	return code;
}

static const struct mpk_kv_ops rnn_ops = { .save = rnn_save,
					   .load = rnn_load,
					   .sequences = &rnn_sequences,
					   .begin = rnn_begin,
					   .end = rnn_end,
					   .destroy = rnn_destroy };

/* --- builtins ------------------------------------------------------------------------------------ */

static const char create_name[] = "vm.builtin.rnn_state_create";

static enum mpk_code take_value(struct mpk_rnn *r, const struct mpk_value *args, size_t i,
				struct mpk_error *err)
{
	struct mpk_tensor *init;
	struct mpk_function *f;

	MPK_TRY(mpk_relax_tensor(create_name, args[5].array->items, i, &init, err));
	if (!i)
		r->where = init->dl.device;
	MPK_TRY(mpk_state_check(init->dl.device.type == r->where.type &&
					init->dl.device.id == r->where.id,
				err, "values of a state on several devices"));
	MPK_TRY(mpk_state_check(mpk_dltensor_is_compact(&init->dl) &&
					init->dl.ndim <= MPK_TENSOR_NDIM_MAX - 2,
				err, "a value of a state with gaps"));
	r->inits[i] = mpk_tensor_hold(init);
	MPK_TRY(mpk_state_function(create_name, args[3].array->items, i, &f, err));
	r->gets[i] = mpk_function_hold(f);
	MPK_TRY(mpk_state_function(create_name, args[4].array->items, i, &f, err));
	r->sets[i] = mpk_function_hold(f);
	return MPK_OK;
}

static enum mpk_code fill_state(struct mpk_rnn *r, const struct mpk_value *args,
				struct mpk_error *err)
{
	struct mpk_array *inits;

	MPK_TRY(mpk_relax_int(create_name, args, 0, &r->layer_count, err));
	MPK_TRY(mpk_relax_int(create_name, args, 1, &r->slot_count, err));
	MPK_TRY(mpk_relax_int(create_name, args, 2, &r->history, err));
	MPK_TRY(mpk_state_array(create_name, args, 5, &inits, err));
	MPK_TRY(mpk_state_check(
		r->layer_count > 0 && r->layer_count < INT32_MAX && r->slot_count > 0 &&
			r->slot_count < INT32_MAX && r->history > 0 && r->history < INT32_MAX &&
			inits->count && inits->count < INT32_MAX,
		err, "a state of %lld layers, %lld sequences, %lld steps, %zu values",
		(long long)r->layer_count, (long long)r->slot_count, (long long)r->history,
		inits->count));
	/* limits the memory for each sequence before any is allocated */
	MPK_TRY(mpk_state_check(r->layer_count <= (1 << 20) / (int64_t)inits->count, err,
				"%lld layers of %zu values", (long long)r->layer_count,
				inits->count));

	size_t count = args[5].array->count;
	struct mpk_array *gets, *sets;

	MPK_TRY(mpk_state_array(create_name, args, 3, &gets, err));
	MPK_TRY(mpk_state_array(create_name, args, 4, &sets, err));
	MPK_TRY(mpk_state_check(gets->count == count && sets->count == count, err,
				"%zu and %zu kernels for %zu values of a state", gets->count,
				sets->count, count));
	r->gets = calloc(count, sizeof(struct mpk_function *));
	r->sets = calloc(count, sizeof(struct mpk_function *));
	r->inits = calloc(count, sizeof(struct mpk_tensor *));
	MPK_TRY_ALLOC(r->gets && r->sets && r->inits, err);
	r->state_count = (int64_t)count;
	for (size_t i = 0; i < count; i++)
		MPK_TRY(take_value(r, args, i, err));

	r->storages = calloc(mpk_rnn_storages(r), sizeof(struct mpk_tensor *));
	MPK_TRY_ALLOC(r->storages, err);
	for (size_t i = 0; i < mpk_rnn_storages(r); i++) {
		const struct mpk_dltensor *dl = &r->inits[i % (size_t)r->state_count]->dl;
		int64_t shape[MPK_TENSOR_NDIM_MAX] = { r->slot_count, r->history };

		memcpy(shape + 2, dl->shape, (size_t)dl->ndim * sizeof *shape);
		MPK_TRY(mpk_state_pages(dl->dtype, shape, (size_t)dl->ndim + 2, r->where,
					&r->storages[i], err));
	}
	return MPK_OK;
}

static enum mpk_code rnn_create(const struct mpk_value *args, size_t count,
				struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_value made = { .kind = MPK_VALUE_OBJECT };
	struct mpk_rnn *r;
	enum mpk_code rc;

	MPK_TRY(mpk_relax_arity(create_name, count, 6, 6, err));
	r = calloc(1, sizeof *r);
	MPK_TRY_ALLOC(r, err);
	mpk_kv_init(&r->base, &rnn_ops, "relax.vm.RNNState");
	made.object = &r->base.object;
	rc = fill_state(r, args, err);
	if (rc != MPK_OK)
		mpk_value_drop(&made);
	else
		*result = made;
	return rc;
}

static enum mpk_code storage_at(const struct mpk_rnn *r, const struct mpk_kv_call *call,
				size_t *out, int64_t *state, struct mpk_error *err)
{
	int64_t layer;

	MPK_TRY(mpk_relax_int(call->name, call->args, 1, &layer, err));
	MPK_TRY(mpk_relax_int(call->name, call->args, 2, state, err));
	MPK_TRY(mpk_state_check(layer >= 0 && layer < r->layer_count && *state >= 0 &&
					*state < r->state_count,
				err, "%s: the state has no value %lld in layer %lld", call->name,
				(long long)*state, (long long)layer));
	*out = (size_t)(layer * r->state_count + *state);
	return MPK_OK;
}

/* Both kernels take the storage, two tables and the values of the batch. */
static enum mpk_code call_kernel(const struct mpk_rnn *r, const struct mpk_kv_call *call, bool sets,
				 struct mpk_error *err)
{
	struct mpk_tensor *t;
	int64_t state;
	size_t at;

	MPK_TRY(storage_at(r, call, &at, &state, err));
	MPK_TRY(mpk_relax_tensor(call->name, call->args, 3, &t, err));
	MPK_TRY(mpk_state_check(r->batch && r->slots && !r->is_stale, err,
				"%s: no forward pass of the state began since it changed",
				call->name));
	const struct mpk_value list[] = { mpk_value_of_tensor(r->storages[at]),
					  mpk_value_of_tensor(r->slots),
					  mpk_value_of_tensor(r->rings), call->args[3] };

	return mpk_state_call(sets ? r->sets[state] : r->gets[state], "a recurrent state", list, 4,
			      err);
}

static enum mpk_code get_value(struct mpk_kv_state *state, const struct mpk_kv_call *call,
			       struct mpk_error *err)
{
	return call_kernel((struct mpk_rnn *)state, call, false, err);
}

static enum mpk_code set_value(struct mpk_kv_state *state, const struct mpk_kv_call *call,
			       struct mpk_error *err)
{
	MPK_TRY(call_kernel((struct mpk_rnn *)state, call, true, err));
	*call->result = mpk_value_hold(call->args[0]);
	return MPK_OK;
}

static enum mpk_code copy_value(struct mpk_kv_state *state, const struct mpk_kv_call *call,
				struct mpk_error *err)
{
	struct mpk_rnn *r = (struct mpk_rnn *)state;
	struct mpk_rnn_sequence *s;
	struct mpk_tensor *made;
	int64_t which, id;
	enum mpk_code rc;
	size_t at;

	MPK_TRY(storage_at(r, call, &at, &which, err));
	MPK_TRY(mpk_relax_int(call->name, call->args, 3, &id, err));
	MPK_TRY(rnn_sequence_of(r, id, &s, err));
	const struct mpk_dltensor *dl = &r->inits[which]->dl;

	MPK_TRY(mpk_state_empty(dl->dtype, dl->shape, (size_t)dl->ndim, r->where, &made, err));
	rc = mpk_state_copy(rnn_slot(r, at, s->slot, s->at),
			    (struct mpk_state_bytes){ made, 0, made->bytes }, err);
	if (rc != MPK_OK)
		mpk_tensor_drop(made);
	else
		*call->result = mpk_value_of_tensor(made);
	return rc;
}

MPK_KV_BUILTIN(rnn_get, "vm.builtin.rnn_state_get", 4, 4, &rnn_ops, get_value)
MPK_KV_BUILTIN(rnn_set, "vm.builtin.rnn_state_set", 4, 4, &rnn_ops, set_value)
MPK_KV_BUILTIN(rnn_debug, "vm.builtin.rnn_state_debug_get", 4, 4, &rnn_ops, copy_value)

static const struct mpk_relax_builtin rows[] = {
#define MPK_ROW_rnn(...) __VA_ARGS__,
#include "executor/relax/family.def"
};

const struct mpk_relax_builtins mpk_relax_rnn_builtins = { rows, MPK_ARRAY_COUNT(rows) };
