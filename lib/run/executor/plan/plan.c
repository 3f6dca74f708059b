/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - the plans of one machine: their keys, their memory, and a call by one of them or for one
 *
 * A call is turned into a key, a list of words with all that a plan may depend on: the function, the
 * types, shapes and devices of tensors, the values of integers. The plans lie in a table of a few
 * places a hash, so that finding one costs the same however many lengths a model is called with, and
 * the table never grows: a new plan takes the place of the one that was used longest ago.
 *
 * Storages that no caller receives lie in slots, which all plans of a machine share. A recorded call
 * says from which step to which each storage is used, and storages whose times do not overlap may
 * have the same slot.
 */
#include "executor/plan/internal/plans.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* --- keys ----------------------------------------------------------------------------------- */

/* Keys are made for every call: room is asked for when it is missing, not each time. */
static bool plan_put_word(struct mpk_plan_key *key, int64_t word)
{
	if (key->count == key->cap &&
	    !mpk_vec_reserve(&key->words, &key->cap, key->count + 1, sizeof key->words[0]))
		return false;
	key->words[key->count++] = word;
	return true;
}

static bool plan_put_extents(struct mpk_plan_key *key, const int64_t *extents, size_t ndim)
{
	for (size_t i = 0; i < ndim; i++)
		if (!plan_put_word(key, extents[i]))
			return false;
	return true;
}

/* A type is four bytes: code, bits and lanes fit a word. */
static int64_t word_of(struct mpk_dtype type)
{
	int64_t word = 0;

	memcpy(&word, &type, sizeof type);
	return word;
}

/* Whether a tensor has the strides that ours have. One of one row is compact with any, and a kernel may
 * refuse some. */
static bool has_own_strides(const struct mpk_dltensor *dl)
{
	int64_t stride = 1;

	for (int32_t i = dl->ndim; i-- > 0;) {
		if (dl->strides[i] != stride)
			return false;
		if (__builtin_mul_overflow(stride, dl->shape[i], &stride))
			return false;
	}
	return true;
}

static bool plan_put_tensor(struct mpk_plan_key *key, const struct mpk_dltensor *dl)
{
	return dl->strides && has_own_strides(dl) &&
	       plan_put_word(key, word_of(dl->dtype) << 8 | dl->ndim) &&
	       plan_put_word(key, (int64_t)dl->device.type << 32 | dl->device.id) &&
	       plan_put_extents(key, dl->shape, (size_t)dl->ndim);
}

static bool plan_put_value(struct mpk_plan_key *key, const struct mpk_value *v, unsigned depth)
{
	if (depth == MPK_PLAN_NEST_MAX || !plan_put_word(key, v->kind))
		return false;
	switch (v->kind) {
	case MPK_VALUE_NONE:
		return true;
	case MPK_VALUE_BOOL:
		return plan_put_word(key, v->boolean);
	case MPK_VALUE_INT:
		return plan_put_word(key, word_of(v->type)) && plan_put_word(key, v->integer);
	case MPK_VALUE_SHAPE:
		return plan_put_word(key, (int64_t)v->shape->ndim) &&
		       plan_put_extents(key, v->shape->extents, v->shape->ndim);
	case MPK_VALUE_TENSOR:
		return plan_put_tensor(key, &v->tensor->dl);
	case MPK_VALUE_ARRAY:
		if (!plan_put_word(key, v->array->tag) ||
		    !plan_put_word(key, (int64_t)v->array->count))
			return false;
		for (size_t i = 0; i < v->array->count; i++)
			if (!plan_put_value(key, &v->array->items[i], depth + 1))
				return false;
		return true;
	case MPK_VALUE_FLOAT:
	case MPK_VALUE_STR:
	case MPK_VALUE_BYTES:
	case MPK_VALUE_DTYPE:
	case MPK_VALUE_DEVICE:
	case MPK_VALUE_STORAGE:
	case MPK_VALUE_OPAQUE:
	case MPK_VALUE_FUNCTION:
	case MPK_VALUE_MODULE:
	case MPK_VALUE_OBJECT:
	case MPK_VALUE_KIND_COUNT:
		break;
	}
	return false;
}

static bool plan_make_key(struct mpk_plan_key *key, size_t function, const struct mpk_value *args,
			  size_t count)
{
	uint64_t hash = UINT64_C(0x9e3779b97f4a7c15);

	key->count = 0;
	if (!plan_put_word(key, (int64_t)function))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!plan_put_value(key, &args[i], 0))
			return false;
	for (size_t i = 0; i < key->count; i++) {
		hash = (hash ^ (uint64_t)key->words[i]) * UINT64_C(0xbf58476d1ce4e5b9);
		/* a step of SplitMix64's finalizer for each word: neighbouring extents get
		 * hashes far apart */
		hash ^= hash >> 29;
	}
	key->hash = hash;
	return true;
}

static bool is_same_key(const struct mpk_plan_key *a, const struct mpk_plan_key *b)
{
	return a->hash == b->hash && a->count == b->count &&
	       memcmp(a->words, b->words, a->count * sizeof a->words[0]) == 0;
}

/* --- life ---------------------------------------------------------------------------------- */

struct mpk_plans *mpk_plans_create(const struct mpk_plan_places *places)
{
	struct mpk_plans *plans = calloc(1, sizeof *plans);

	if (plans)
		plans->places = *places;
	return plans;
}

void mpk_plans_destroy(struct mpk_plans *plans)
{
	if (!plans)
		return;
	for (size_t i = 0; i < MPK_PLANS_MAX; i++)
		(void)mpk_plan_replace(plans, &plans->items[i], NULL);
	for (size_t i = 0; i < plans->slot_count; i++)
		mpk_storage_drop(plans->slots[i].storage);
	free(plans->slots);
	free(plans->key.words);
	free(plans);
}

/* --- by key -------------------------------------------------------------------------------- */

/* A plan may be in one of a few places of its hash; the one used longest ago makes room. */
enum { WAYS = 4 };

/* The places of a hash. */
static struct mpk_plan **set_of(struct mpk_plans *plans, uint64_t hash)
{
	return &plans->items[hash % (MPK_PLANS_MAX / WAYS) * WAYS];
}

/* Whether a key came before; remembers it. The same few places of its hash, the latest first, so that
 * keys which share a place do not put each other out in turn. */
static bool came_before(struct mpk_plans *plans, uint64_t hash)
{
	uint64_t *set = &plans->seen[hash % (MPK_PLANS_SEEN / WAYS) * WAYS];
	int at = 0;

	while (at < WAYS - 1 && set[at] != hash)
		at++;
	bool before = set[at] == hash;

	for (; at > 0; at--)
		set[at] = set[at - 1];
	set[0] = hash;
	return before;
}

static struct mpk_plan *find_plan(struct mpk_plans *plans, size_t function,
				  const struct mpk_value *args, size_t count, bool *record)
{
	struct mpk_plan **set;

	*record = false;
	/* recording is dear: a function that had no plan once is not tried again */
	if (function < MPK_PLANS_FUNCTIONS && plans->unplannable >> function & 1)
		return NULL;
	if (!plan_make_key(&plans->key, function, args, count))
		return NULL;
	set = set_of(plans, plans->key.hash);
	for (int way = 0; way < WAYS; way++)
		if (set[way] && is_same_key(&set[way]->key, &plans->key)) {
			set[way]->used = ++plans->clock;
			return set[way];
		}
	*record = came_before(plans, plans->key.hash);
	return NULL;
}

struct mpk_plan_stats mpk_plans_get_stats(const struct mpk_plans *plans)
{
	struct mpk_plan_stats stats = plans->stats;

	for (const struct mpk_plan_tape *t = plans->tapes; t; t = t->next)
		stats.tapes++;
	return stats;
}

/* --- slots --------------------------------------------------------------------------------- */

static bool find_slot(struct mpk_plans *plans, size_t device, const bool *taken, size_t *out)
{
	size_t i = 0;

	while (i < plans->slot_count && (taken[i] || plans->slots[i].device != device))
		i++;
	if (i == plans->slot_count) {
		if (i == MPK_PLAN_SLOTS_MAX ||
		    !mpk_vec_reserve(&plans->slots, &plans->slot_cap, i + 1, sizeof *plans->slots))
			return false;
		plans->slots[plans->slot_count++] = (struct mpk_plan_slot){ .device = device };
	}
	*out = i;
	return true;
}

/* --- which storage lies in which slot ------------------------------------------------------- */

static int plan_larger_first(const void *a, const void *b)
{
	const struct mpk_plan_storage *const *x = a, *const *y = b;

	if ((*x)->bytes != (*y)->bytes)
		return (*x)->bytes > (*y)->bytes ? -1 : 1;
	return (*x > *y) - (*x < *y); /* in the order of their allocation */
}

/* Storages that are both alive at some step. */
static bool overlaps(const struct mpk_plan_storage *a, const struct mpk_plan_storage *b)
{
	return a->first <= b->last && b->first <= a->last;
}

/* The largest storages first, so that they share among themselves: a storage takes the first slot
 * that no storage alive at the same time has. */
static bool assign_slots(struct mpk_plans *plans, struct mpk_plan_storage **order, size_t count,
			 bool *taken)
{
	for (size_t i = 0; i < count; i++) {
		size_t slot;

		memset(taken, 0, MPK_PLAN_SLOTS_MAX * sizeof *taken);
		for (size_t k = 0; k < i; k++)
			taken[order[k]->slot] |= overlaps(order[i], order[k]);
		if (!find_slot(plans, order[i]->device, taken, &slot))
			return false;
		order[i]->slot = slot;
	}
	return true;
}

/* Give the storages of a recording slots; false when there are too many, or memory is out */
static bool plans_place(struct mpk_plans *plans, struct mpk_recording *r)
{
	struct mpk_plan_storage **order =
		calloc(r->storage_count + 1, sizeof(struct mpk_plan_storage *));
	bool *taken = calloc(MPK_PLAN_SLOTS_MAX, sizeof *taken);
	size_t count = 0;
	bool fits = order && taken;

	for (size_t i = 0; fits && i < r->storage_count; i++)
		/* results have memory of their own; what no step uses needs none */
		if (!r->storages[i].is_result && r->storages[i].first != UINT32_MAX)
			order[count++] = &r->storages[i];
	if (fits) {
		qsort(order, count, sizeof(struct mpk_plan_storage *), plan_larger_first);
		fits = assign_slots(plans, order, count, taken);
	}
	free(taken);
	free(order);
	return fits;
}

/* --- a call --------------------------------------------------------------------------------- */

/* The plan of a call that returned, in place of the one of its set that was used longest ago; a call that failed says
 * nothing about the next.
 * @recording  owned; NULL: it cannot be repeated */
static void keep_plan(struct mpk_plans *plans, size_t function, struct mpk_recording *recording)
{
	struct mpk_plan **place;
	bool is_free;

	if (recording && plans_place(plans, recording)) {
		/* The place of a set whose plan was used longest ago, or that has none. */
		struct mpk_plan **set = set_of(plans, recording->key.hash);
		struct mpk_plan **oldest = &set[0];

		for (int way = 0; way < WAYS && *oldest; way++)
			if (!set[way] || set[way]->used < (*oldest)->used)
				oldest = &set[way];
		place = oldest;

		is_free = !*place;
		if (mpk_plan_replace(plans, place, recording)) {
			(*place)->used = ++plans->clock;
			plans->stats.kept += is_free;
			plans->stats.recorded++;
			return;
		}
	} else {
		mpk_recording_free(recording);
	}
	plans->stats.unplannable++;
	if (function < MPK_PLANS_FUNCTIONS)
		plans->unplannable |= UINT64_C(1) << function;
}

/* --- the recording of a call ----------------------------------------------------------------- */

static void release_tensor(void *tensor)
{
	mpk_tensor_drop(tensor);
}

/* Tuples are copied, because the tensors in them are replaced and the caller's tuple must not
 * change. */
static bool wrap(struct mpk_recorder *r, struct mpk_value *v)
{
	struct mpk_value copy;

	if (v->kind == MPK_VALUE_TENSOR) {
		/* The same tensor over a storage that nobody else has. */
		struct mpk_storage *storage;
		struct mpk_tensor *wrapped;
		const struct mpk_tensor *t = v->tensor;
		enum mpk_code code;

		if (mpk_storage_wrap(t->dl.data, t->dl.byte_offset + t->bytes, t->dl.device,
				     mpk_tensor_hold(v->tensor), release_tensor, &storage,
				     NULL) != MPK_OK) {
			mpk_tensor_drop(v->tensor);
			return false;
		}
		mpk_record_origin(r, storage, MPK_ORIGIN_INPUT, r->plan->input_count++);
		code = mpk_tensor_wrap(&t->dl, storage, &wrapped, NULL);
		mpk_storage_drop(storage);
		if (code != MPK_OK)
			return false;
		mpk_value_drop(v);
		*v = mpk_value_of_tensor(wrapped);
		return true;
	}
	if (v->kind != MPK_VALUE_ARRAY)
		return true;
	if (mpk_value_of_array(v->array->count, &copy, NULL) != MPK_OK)
		return false;
	copy.array->tag = v->array->tag;
	for (size_t i = 0; i < v->array->count; i++) {
		copy.array->items[i] = mpk_value_hold(v->array->items[i]);
		if (!wrap(r, &copy.array->items[i]))
			r->failed = true;
	}
	mpk_value_drop(v);
	*v = copy;
	return !r->failed;
}

static bool copy_key(struct mpk_plan_key *to, const struct mpk_plan_key *from)
{
	*to = (struct mpk_plan_key){ .hash = from->hash };
	if (!mpk_vec_reserve(&to->words, &to->cap, from->count, sizeof to->words[0]))
		return false;
	memcpy(to->words, from->words, from->count * sizeof to->words[0]);
	to->count = from->count;
	return true;
}

/* The arguments are replaced by values of the same content in which every tensor has a storage of its own, so that one
 * tensor passed twice is two inputs. NULL: memory is out, the call goes on unrecorded, and they are as they were. */
static struct mpk_recorder *recorder_begin(struct mpk_plans *plans, struct mpk_value *args,
					   size_t count)
{
	struct mpk_recorder *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	r->plans = plans;
	r->plan = calloc(1, sizeof *r->plan);
	if (!r->plan || !copy_key(&r->plan->key, &plans->key)) {
		(void)mpk_recorder_end(r, NULL);
		return NULL;
	}
	for (size_t i = 0; i < count && !r->failed; i++)
		r->failed = !wrap(r, &args[i]);
	return r;
}

enum mpk_code mpk_plan_call(struct mpk_plans *plans, const struct mpk_plan_interpreter *interpreter,
			    size_t function, const struct mpk_value *args, size_t count,
			    struct mpk_value *result, struct mpk_error *err)
{
	bool record = false;
	struct mpk_plan *plan = find_plan(plans, function, args, count, &record);

	if (plan)
		return mpk_plan_run(plans, plan, args, count, result, err);
	if (record) {
		/* Inputs get storages of their own, so that the recorder tells them apart. */
		struct mpk_recorder **recorder = interpreter->recorder;
		struct mpk_value *own = calloc(count + 1, sizeof *own);
		enum mpk_code code;

		/* the recorder changes the list, so it gets one of its own */
		MPK_TRY_ALLOC(own, err);
		for (size_t i = 0; i < count; i++)
			own[i] = mpk_value_hold(args[i]);
		*recorder = recorder_begin(plans, own, count);
		code = interpreter->interpret(interpreter->machine, function, own, count, result,
					      err);
		if (*recorder) {
			struct mpk_recording *recording =
				mpk_recorder_end(*recorder, code == MPK_OK ? result : NULL);

			if (code == MPK_OK)
				keep_plan(plans, function, recording);
		}
		*recorder = NULL;
		for (size_t i = 0; i < count; i++)
			mpk_value_drop(&own[i]);
		free(own);
		return code;
	}
	return interpreter->interpret(interpreter->machine, function, args, count, result, err);
}
