/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_create.c - the builtins of recurrent states: making one, reading and writing its values
 *
 * Kernels of the model read and write values of a batch, by the two tables that begin_forward made.
 */
#include <stdlib.h>
#include <string.h>

#include "executor/state/internal/rnn.h"

/* --- making one ------------------------------------------------------------------------------------ */

static const char create_name[] = "vm.builtin.rnn_state_create";

static enum mpk_code take_numbers(struct mpk_rnn *r, const struct mpk_value *args,
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
	/* a bound for what is kept for each, before anything of theirs is allocated */
	return mpk_state_check(r->layer_count <= (1 << 20) / (int64_t)inits->count, err,
			       "%lld layers of %zu values", (long long)r->layer_count,
			       inits->count);
}

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

static enum mpk_code take_values(struct mpk_rnn *r, const struct mpk_value *args,
				 struct mpk_error *err)
{
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
	return MPK_OK;
}

static enum mpk_code make_storages(struct mpk_rnn *r, struct mpk_error *err)
{
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

static enum mpk_code fill_state(struct mpk_rnn *r, const struct mpk_value *args,
				struct mpk_error *err)
{
	MPK_TRY(take_numbers(r, args, err));
	MPK_TRY(take_values(r, args, err));
	return make_storages(r, err);
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
	mpk_kv_init(&r->base, &mpk_rnn_ops, "relax.vm.RNNState");
	made.object = &r->base.object;
	rc = fill_state(r, args, err);
	if (rc != MPK_OK)
		mpk_value_drop(&made);
	else
		*result = made;
	return rc;
}

/* --- reading and writing ----------------------------------------------------------------------------- */

static enum mpk_code storage_at(const struct mpk_rnn *r, const char *name,
				const struct mpk_value *args, size_t *out, int64_t *state,
				struct mpk_error *err)
{
	int64_t layer;

	MPK_TRY(mpk_relax_int(name, args, 1, &layer, err));
	MPK_TRY(mpk_relax_int(name, args, 2, state, err));
	MPK_TRY(mpk_state_check(layer >= 0 && layer < r->layer_count && *state >= 0 &&
					*state < r->state_count,
				err, "%s: the state has no value %lld in layer %lld", name,
				(long long)*state, (long long)layer));
	*out = (size_t)(layer * r->state_count + *state);
	return MPK_OK;
}

/* Both kernels take the storage, two tables and the values of the batch. */
static enum mpk_code call_kernel(struct mpk_rnn *r, const char *name, const struct mpk_value *args,
				 bool sets, struct mpk_error *err)
{
	struct mpk_tensor *t;
	int64_t state;
	size_t at;

	MPK_TRY(storage_at(r, name, args, &at, &state, err));
	MPK_TRY(mpk_relax_tensor(name, args, 3, &t, err));
	MPK_TRY(mpk_state_check(r->batch && r->slots && !r->is_stale, err,
				"%s: no forward pass of the state began since it changed", name));
	const struct mpk_value list[] = { mpk_value_of_tensor(r->storages[at]),
					  mpk_value_of_tensor(r->slots),
					  mpk_value_of_tensor(r->rings), args[3] };

	return mpk_state_call(sets ? r->sets[state] : r->gets[state], "a recurrent state", list, 4,
			      err);
}

static enum mpk_code rnn_get(const struct mpk_value *args, size_t count, struct mpk_value *result,
			     struct mpk_error *err)
{
	static const char name[] = "vm.builtin.rnn_state_get";
	struct mpk_kv_state *s;

	(void)result;
	MPK_TRY(mpk_kv_enter(name, args, count, 4, 4, &mpk_rnn_ops, &s, err));
	return mpk_kv_leave(s, call_kernel((struct mpk_rnn *)s, name, args, false, err));
}

static enum mpk_code rnn_set(const struct mpk_value *args, size_t count, struct mpk_value *result,
			     struct mpk_error *err)
{
	static const char name[] = "vm.builtin.rnn_state_set";
	struct mpk_kv_state *s;
	enum mpk_code rc;

	MPK_TRY(mpk_kv_enter(name, args, count, 4, 4, &mpk_rnn_ops, &s, err));
	rc = mpk_kv_leave(s, call_kernel((struct mpk_rnn *)s, name, args, true, err));
	if (rc == MPK_OK)
		*result = mpk_value_hold(args[0]);
	return rc;
}

static enum mpk_code copy_value(struct mpk_rnn *r, const char *name, const struct mpk_value *args,
				struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_rnn_sequence *s;
	struct mpk_tensor *made;
	int64_t state, id;
	enum mpk_code rc;
	size_t at;

	MPK_TRY(storage_at(r, name, args, &at, &state, err));
	MPK_TRY(mpk_relax_int(name, args, 3, &id, err));
	MPK_TRY(mpk_rnn_get(r, id, &s, err));
	const struct mpk_dltensor *dl = &r->inits[state]->dl;

	MPK_TRY(mpk_state_empty(dl->dtype, dl->shape, (size_t)dl->ndim, r->where, &made, err));
	rc = mpk_state_copy(mpk_rnn_slot(r, at, s->slot, s->at),
			    (struct mpk_state_bytes){ made, 0, made->bytes }, err);
	if (rc != MPK_OK)
		mpk_tensor_drop(made);
	else
		*result = mpk_value_of_tensor(made);
	return rc;
}

static enum mpk_code rnn_debug(const struct mpk_value *args, size_t count, struct mpk_value *result,
			       struct mpk_error *err)
{
	static const char name[] = "vm.builtin.rnn_state_debug_get";
	struct mpk_kv_state *s;

	MPK_TRY(mpk_kv_enter(name, args, count, 4, 4, &mpk_rnn_ops, &s, err));
	return mpk_kv_leave(s, copy_value((struct mpk_rnn *)s, name, args, result, err));
}

static const struct mpk_relax_builtin rows[] = {
#define MPK_ROW_rnn(...) __VA_ARGS__,
#include "executor/relax/family.def"
};
const struct mpk_relax_builtins mpk_relax_rnn_builtins = { rows, MPK_ARRAY_COUNT(rows) };
