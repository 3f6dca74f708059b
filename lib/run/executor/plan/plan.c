/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - the plans of one machine: keys, memory, recording, and calls
 *
 * A call has a key: a list of words with everything that a plan may depend on: the function, the
 * types, shapes and devices of tensors, the values of integers. Plans lie in a hash table with a
 * few places for each hash, so that a lookup takes the same time for any number of plans. The table
 * never grows: a new plan replaces the least recently used one.
 *
 * Storages that no caller receives lie in slots, which all plans of a machine share. A recording
 * tells the first and the last step that uses each storage; storages whose lifetimes do not overlap
 * may share a slot. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "base/vec.h"
#include "executor/plan/internal/plans.h"

/* --- From the run of a call to a plan.
 *
 * The interpreter reports its steps (mpk_record_...), and the recorder notes kernels and copies.
 * For each tensor of a kernel it finds the storage and the storage's origin: an input, a constant,
 * memory that the call allocated, or a heap of symbolic extents. A tensor of unknown origin, such
 * as memory that a function allocated itself, ends the recording, because it may not exist in the
 * next call. */

/* --- where storages came from --------------------------------------------------------------- */

/* Open addressing: returns the entry of a storage, or the free entry where it belongs. The hash
 * drops the low bits of addresses, which are always 0. */
static struct mpk_origin_entry *entry_of(struct mpk_origin_entry *table, size_t cap,
					 const struct mpk_storage *s)
{
	size_t at = ((uintptr_t)s >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20 & (cap - 1);

	while (table[at].storage && table[at].storage != s)
		at = (at + 1) & (cap - 1);
	return &table[at];
}

static bool grow_origins(struct mpk_origins *o)
{
	size_t cap = o->cap ? 2 * o->cap : 64;
	struct mpk_origin_entry *table = calloc(cap, sizeof *table);

	if (!table)
		return false;
	for (size_t i = 0; i < o->cap; i++)
		if (o->items[i].storage)
			*entry_of(table, cap, o->items[i].storage) = o->items[i];
	free(o->items);
	o->items = table;
	o->cap = cap;
	return true;
}

/* Sets the origin of a storage; false if there is no memory. */
static bool origin_put(struct mpk_origins *o, const struct mpk_origin_entry *known)
{
	struct mpk_origin_entry *e;

	if (2 * o->count >= o->cap && !grow_origins(o))
		return false;
	e = entry_of(o->items, o->cap, known->storage);
	o->count += !e->storage;
	*e = *known;
	return true;
}

void mpk_record_origin(struct mpk_recorder *r, const struct mpk_storage *s, enum mpk_origin origin,
		       size_t index)
{
	const struct mpk_origin_entry known = { s, origin, (uint32_t)index };

	if (r && !r->failed && !origin_put(&r->origins, &known))
		r->failed = true;
}

/* Returns the origin of the storage that a tensor lies in. */
static struct mpk_origin_entry look_up(const struct mpk_recorder *r, const struct mpk_tensor *t)
{
	/* A tensor without a storage has MPK_ORIGIN_UNKNOWN. */
	if (!t->storage || !r->origins.cap)
		return (struct mpk_origin_entry){ 0 };
	return *entry_of(r->origins.items, r->origins.cap, t->storage);
}

/* --- tensors, each once ---------------------------------------------------------------------- */

/* Each step that makes a view makes a new tensor object, so two objects may be one tensor of the
 * plan. They are compared by type, shape and place. Merging them saves time in every call, when
 * addresses are patched. */

/* How many tensors to compare with: most tensors are used again by one of the next kernels. */
enum { LOOK_BACK = 64 };

static bool same_extents(const int64_t *a, const int64_t *b, int32_t ndim)
{
	if (!a || !b)
		return a == b;
	return ndim == 0 || memcmp(a, b, (size_t)ndim * sizeof *a) == 0;
}

/* Whether a tensor of the call is the same as one in the recording. */
static bool recording_is_same(const struct mpk_recorded_tensor *have, const struct mpk_tensor *t,
			      enum mpk_plan_source source, uint32_t index)
{
	const struct mpk_dltensor *a = &have->tensor->dl, *b = &t->dl;

	if (have->source != source || have->index != index || a->ndim != b->ndim ||
	    !mpk_dtype_equal(a->dtype, b->dtype) || a->byte_offset != b->byte_offset)
		return false;
	/* constants have no index, so their storages are compared */
	if (source == MPK_PLAN_CONSTANT && have->tensor->storage != t->storage)
		return false;
	return same_extents(a->shape, b->shape, a->ndim) &&
	       same_extents(a->strides, b->strides, a->ndim);
}

/* Copies a tensor's current content to host memory, because the call may free the tensor. */
static bool snapshot(const struct mpk_tensor *t, struct mpk_tensor **out)
{
	if (mpk_tensor_create(t->dl.dtype, t->dl.shape, (size_t)t->dl.ndim, MPK_STORAGE_PRIVATE,
			      out, NULL) != MPK_OK)
		return false;
	mpk_tensor_copy_from(*out, &t->dl);
	return true;
}

static bool recording_tensor(struct mpk_recording *r, const struct mpk_tensor *t,
			     enum mpk_plan_source source, uint32_t index, bool known, uint32_t *out)
{
	struct mpk_recorded_tensor made = { .source = source, .index = index };
	size_t oldest = r->tensor_count > LOOK_BACK ? r->tensor_count - LOOK_BACK : 0;

	for (size_t i = r->tensor_count; !known && i > oldest; i--)
		if (recording_is_same(&r->tensors[i - 1], t, source, index)) {
			*out = (uint32_t)(i - 1);
			return true;
		}
	if (!MPK_VEC_ROOM(r->tensors, r->tensor_count, r->tensor_cap))
		return false;
	/* inputs and tensors in slots get their addresses in each call */
	if (known ? !snapshot(t, &made.tensor)
		  : mpk_tensor_wrap(&t->dl, source == MPK_PLAN_CONSTANT ? t->storage : NULL,
				    &made.tensor, NULL) != MPK_OK)
		return false;
	*out = (uint32_t)r->tensor_count;
	r->tensors[r->tensor_count++] = made;
	return true;
}

void mpk_recording_free(struct mpk_recording *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->tensor_count; i++)
		mpk_tensor_drop(r->tensors[i].tensor);
	for (size_t i = 0; i < r->step_count; i++) {
		mpk_function_drop(r->steps[i].function);
		for (size_t k = 0; k < r->steps[i].count; k++)
			mpk_value_drop(&r->steps[i].values[k]);
		free(r->steps[i].values);
	}
	mpk_value_drop(&r->result);
	free(r->key.words);
	free(r->tensors);
	free(r->storages);
	free(r->steps);
	free(r);
}

/* --- what happens -------------------------------------------------------------------------- */

void mpk_record_nothing(struct mpk_recorder *r)
{
	if (r)
		r->failed = true;
}

void mpk_record_constant(struct mpk_recorder *r, const struct mpk_value *constant)
{
	if (r && constant->kind == MPK_VALUE_TENSOR)
		mpk_record_origin(r, constant->tensor->storage, MPK_ORIGIN_CONSTANT, 0);
}

/* Returns places->count if the machine does not have the device; then there is no plan. */
static size_t device_index(const struct mpk_plan_places *places, struct mpk_dldevice device)
{
	size_t i = 0;

	while (i < places->count && !mpk_dldevice_equal(places->where[i], device))
		i++;
	return i;
}

/* Whether a plan could allocate such a storage: it comes from an allocator (slots cannot hold
 * images), and only the step that made it has a reference. A storage with other references was
 * recorded before and keeps that record. */
static bool is_new(const struct mpk_storage *s)
{
	return mpk_allocator_owns(s) && mpk_refs_is_only(&s->refs);
}

static void add_storage(struct mpk_recorder *r, const struct mpk_storage *s)
{
	struct mpk_recording *p = r->plan;
	size_t device = device_index(&r->plans->places, s->device);

	if (device == r->plans->places.count ||
	    !MPK_VEC_ROOM(p->storages, p->storage_count, p->storage_cap)) {
		r->failed = true;
		return;
	}
	p->storages[p->storage_count] = (struct mpk_plan_storage){
		.bytes = s->bytes,
		.device = (uint32_t)device,
		.first = UINT32_MAX,
	};
	mpk_record_origin(r, s, MPK_ORIGIN_STORAGE, p->storage_count++);
}

/* Returns the number of a tensor of the call, adding the tensor if it is new. */
static bool add_tensor(struct mpk_recorder *r, const struct mpk_tensor *t, uint32_t *out)
{
	struct mpk_origin_entry k = look_up(r, t);

	switch (k.origin) {
	case MPK_ORIGIN_INPUT: /* an offset is counted from the beginning of the input */
		return recording_tensor(r->plan, t, MPK_PLAN_INPUT, k.index, false, out);
	case MPK_ORIGIN_CONSTANT:
	case MPK_ORIGIN_KNOWN:
		return recording_tensor(r->plan, t, MPK_PLAN_CONSTANT, k.index,
					k.origin == MPK_ORIGIN_KNOWN, out);
	case MPK_ORIGIN_STORAGE:
		return recording_tensor(r->plan, t, MPK_PLAN_STORAGE, k.index, false, out);
	case MPK_ORIGIN_UNKNOWN:
	case MPK_ORIGIN_HEAP:
		break;
	}
	return false;
}

/* Extends the lifetime of a tensor's storage to a step. A function that is not compiled code gets
 * an object and may keep it: then the memory must not be reused either. */
static void touch(struct mpk_recording *p, uint32_t tensor, size_t step)
{
	bool is_object = p->steps[step].action == MPK_PLAN_FUNCTION;
	const struct mpk_recorded_tensor *t = &p->tensors[tensor];
	struct mpk_plan_storage *s;

	if (t->source != MPK_PLAN_STORAGE)
		return;
	s = &p->storages[t->index];
	if (s->first == UINT32_MAX)
		s->first = (uint32_t)step;
	if (s->last != UINT32_MAX)
		s->last = is_object ? UINT32_MAX : (uint32_t)step;
}

static struct mpk_recorded_step *add_step(struct mpk_recorder *r)
{
	struct mpk_recording *p = r->plan;

	if (p->step_count == MPK_PLAN_STEPS_MAX ||
	    !MPK_VEC_ROOM(p->steps, p->step_count, p->step_cap))
		return NULL;
	p->steps[p->step_count] = (struct mpk_recorded_step){ 0 };
	return &p->steps[p->step_count++];
}

/* Whether a call works only on symbolic extents, which are then already known. Compilers generate
 * kernels for that; any other function might compute other numbers in the next call. */
static bool is_shape_function(const struct mpk_recorder *r, const struct mpk_function *function,
			      const struct mpk_value *args, size_t count)
{
	bool any = false;

	if (!function->address)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (args[i].kind != MPK_VALUE_TENSOR)
			continue;
		if (mpk_recorder_look(r, args[i].tensor) != MPK_RECORDED_HEAP)
			return false;
		any = true;
	}
	return any;
}

/* Whether a plan can keep a value: it is the same for the same key, or a tensor of the plan. */
static bool can_keep(const struct mpk_value *v)
{
	return v->kind == MPK_VALUE_NONE || v->kind == MPK_VALUE_BOOL || v->kind == MPK_VALUE_INT ||
	       v->kind == MPK_VALUE_FLOAT || v->kind == MPK_VALUE_DTYPE ||
	       v->kind == MPK_VALUE_DEVICE || v->kind == MPK_VALUE_STR ||
	       v->kind == MPK_VALUE_TENSOR;
}

static bool fill_step(struct mpk_recorder *r, struct mpk_recorded_step *s,
		      const struct mpk_value *args, size_t count)
{
	size_t at = r->plan->step_count - 1;

	s->values = calloc(count + 1, sizeof *s->values);
	if (!s->values)
		return false;
	s->count = count;
	for (size_t i = 0; i < count; i++) {
		uint32_t tensor;

		if (!can_keep(&args[i]))
			return false;
		if (args[i].kind != MPK_VALUE_TENSOR) {
			s->values[i] = mpk_value_hold(args[i]);
			continue;
		}
		if (!add_tensor(r, args[i].tensor, &tensor))
			return false;
		touch(r->plan, tensor, at);
		s->values[i] = mpk_recording_number(tensor);
	}
	return true;
}

void mpk_record_kernel(struct mpk_recorder *r, struct mpk_function *function,
		       const struct mpk_value *args, size_t count, const struct mpk_value *result)
{
	struct mpk_recorded_step *s;

	if (!r || r->failed ||
	    (result->kind == MPK_VALUE_NONE && is_shape_function(r, function, args, count)))
		return;
	s = result->kind == MPK_VALUE_NONE ? add_step(r) : NULL;
	if (!s) {
		r->failed = true;
		return;
	}
	/* code at an address is called with cells on the tape; other functions get objects */
	s->action = function->address ? MPK_PLAN_KERNEL : MPK_PLAN_FUNCTION;
	s->function = mpk_function_hold(function);
	r->failed = !fill_step(r, s, args, count);
}

void mpk_record_copy(struct mpk_recorder *r, const struct mpk_tensor *from,
		     const struct mpk_tensor *to)
{
	struct mpk_recorded_step *s;

	if (!r || r->failed)
		return;
	mpk_record_storage(r, to->storage);
	s = r->failed ? NULL : add_step(r);
	if (!s || !add_tensor(r, from, &s->from) || !add_tensor(r, to, &s->to)) {
		r->failed = true;
		return;
	}
	s->action = MPK_PLAN_COPY;
	touch(r->plan, s->from, r->plan->step_count - 1);
	touch(r->plan, s->to, r->plan->step_count - 1);
}

enum mpk_recorded mpk_recorder_look(const struct mpk_recorder *r, const struct mpk_tensor *t)
{
	struct mpk_origin_entry k = look_up(r, t);

	switch (k.origin) {
	case MPK_ORIGIN_CONSTANT:
	case MPK_ORIGIN_KNOWN:
		return MPK_RECORDED_KNOWN;
	case MPK_ORIGIN_HEAP:
		return MPK_RECORDED_HEAP;
	case MPK_ORIGIN_STORAGE:
		return r->plan->storages[k.index].first == UINT32_MAX ? MPK_RECORDED_UNTOUCHED
								      : MPK_RECORDED_OTHER;
	case MPK_ORIGIN_INPUT:
	case MPK_ORIGIN_UNKNOWN:
		break;
	}
	return MPK_RECORDED_OTHER;
}

void mpk_record_storage(struct mpk_recorder *r, const struct mpk_storage *storage)
{
	if (!r || r->failed)
		return;
	if (is_new(storage))
		add_storage(r, storage);
	else
		r->failed = true;
}

/* --- end ----------------------------------------------------------------------------------- */

/* Copies a result of known content, so that each call returns its own copy. */
static bool copy_out(struct mpk_recorder *r, const struct mpk_tensor *t, uint32_t *out)
{
	struct mpk_recorded_step *s = add_step(r);
	struct mpk_recording *p = r->plan;

	if (!s || !add_tensor(r, t, &s->from))
		return false;
	s->action = MPK_PLAN_COPY;
	/* later tensors in this storage belong to the new storage */
	add_storage(r, t->storage);
	/* the tensor is added again, because its storage is another one now */
	if (r->failed || !add_tensor(r, t, &s->to))
		return false;
	touch(p, s->to, p->step_count - 1);
	*out = s->to;
	return true;
}

/* Stores the result, with numbers in place of tensors. */
static bool take_result(struct mpk_recorder *r, const struct mpk_value *v, unsigned depth,
			struct mpk_value *out)
{
	uint32_t tensor;

	if (v->kind == MPK_VALUE_TENSOR) {
		bool own = look_up(r, v->tensor).origin == MPK_ORIGIN_KNOWN;

		if (!(own ? copy_out : add_tensor)(r, v->tensor, &tensor))
			return false;
		if (r->plan->tensors[tensor].source == MPK_PLAN_STORAGE)
			r->plan->storages[r->plan->tensors[tensor].index].is_result = true;
		*out = mpk_recording_number(tensor);
		return true;
	}
	if (v->kind != MPK_VALUE_ARRAY) {
		*out = mpk_value_hold(*v);
		return v->kind == MPK_VALUE_NONE || v->kind == MPK_VALUE_INT ||
		       v->kind == MPK_VALUE_BOOL || v->kind == MPK_VALUE_SHAPE;
	}
	if (depth == MPK_PLAN_NEST_MAX || mpk_value_of_array(v->array->count, out, NULL) != MPK_OK)
		return false;
	out->array->tag = v->array->tag;
	for (size_t i = 0; i < v->array->count; i++)
		if (!take_result(r, &v->array->items[i], depth + 1, &out->array->items[i]))
			return false;
	return true;
}

/* Ends a recording and frees r; the caller owns the returned recording.
 * @result  result of the call, or NULL if it failed
 * Returns  NULL: the call failed or cannot be repeated */
static struct mpk_recording *recorder_end(struct mpk_recorder *r, const struct mpk_value *result)
{
	struct mpk_recording *recording = NULL;

	if (result && !r->failed && take_result(r, result, 0, &r->plan->result)) {
		recording = r->plan;
		r->plan = NULL;
	}
	mpk_recording_free(r->plan);
	free(r->origins.items);
	free(r);
	return recording;
}

/* --- keys ----------------------------------------------------------------------------------- */

/* Keys are made for every call: memory is allocated only when the key outgrows it. */
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

/* The type is four bytes, so code, bits and lanes fit into a word. */
static int64_t word_of(struct mpk_dtype type)
{
	int64_t word = 0;

	memcpy(&word, &type, sizeof type);
	return word;
}

/* Whether a tensor's strides differ from the ones that this library computes. A tensor of one row
 * is compact with any strides, but a kernel may refuse some. */
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
		/* one step of SplitMix64's finalizer for each word gives neighbouring extents very different hashes */
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

/* Places for plans with the same hash; the least recently used plan is replaced. */
enum { WAYS = 4 };

/* Returns the places of a hash. */
static struct mpk_plan **set_of(struct mpk_plans *plans, uint64_t hash)
{
	return &plans->items[hash % (MPK_PLANS_MAX / WAYS) * WAYS];
}

/* Whether a key came before; remembers it. Each hash has a few places with the latest first, so
 * that keys with the same hash do not evict each other in turn. */
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
	/* recording is expensive, so a function that could not be planned once is not tried again */
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
		if (i == MPK_PLAN_SLOTS_MAX || !MPK_VEC_ROOM(plans->slots, i, plans->slot_cap))
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
	return (*x > *y) - (*x < *y); /* in the order of allocation */
}

/* Whether both storages are alive at some step. */
static bool overlaps(const struct mpk_plan_storage *a, const struct mpk_plan_storage *b)
{
	return a->first <= b->last && b->first <= a->last;
}

/* Assigns slots to the largest storages first, so that large storages share slots with each other.
 * A storage takes the first slot that no storage with an overlapping lifetime has. */
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

/* Assigns slots to the storages of a recording; false if there are too many slots or there is no
 * memory. */
static bool plans_place(struct mpk_plans *plans, struct mpk_recording *r)
{
	struct mpk_plan_storage **order =
		calloc(r->storage_count + 1, sizeof(struct mpk_plan_storage *));
	bool *taken = calloc(MPK_PLAN_SLOTS_MAX, sizeof *taken);
	size_t count = 0;
	bool fits = order && taken;

	for (size_t i = 0; fits && i < r->storage_count; i++)
		/* results have their own memory, and storages that no step uses need none */
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

/* Makes a plan from the recording of a successful call; it replaces the least recently used plan
 * with that hash. A failed call tells nothing about later ones.
 * @recording  owned; NULL: the call cannot be repeated */
static void keep_plan(struct mpk_plans *plans, size_t function, struct mpk_recording *recording)
{
	struct mpk_plan **place;
	bool is_free;

	if (recording && plans_place(plans, recording)) {
		/* Finds an empty place, or the place of the least recently used plan. */
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

/* Copies tuples, because their tensors are replaced and the caller's tuple must not change. */
static bool wrap(struct mpk_recorder *r, struct mpk_value *v)
{
	struct mpk_value copy;

	if (v->kind == MPK_VALUE_TENSOR) {
		/* A tensor over the same memory, with a storage object of its own. */
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

/* Begins a recording. The arguments are replaced by values with the same content in which every
 * tensor has its own storage object, so that a tensor passed twice counts as two inputs. Returns
 * NULL if there is no memory: the arguments are unchanged and the call is not recorded. */
static struct mpk_recorder *recorder_begin(struct mpk_plans *plans, struct mpk_value *args,
					   size_t count)
{
	struct mpk_recorder *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	r->plans = plans;
	r->plan = calloc(1, sizeof *r->plan);
	if (!r->plan || !copy_key(&r->plan->key, &plans->key)) {
		(void)recorder_end(r, NULL);
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
		/* Inputs get their own storage objects, so that the recorder can tell them apart. */
		struct mpk_recorder **recorder = interpreter->recorder;
		struct mpk_value *own = calloc(count + 1, sizeof *own);
		enum mpk_code code;

		/* the recorder changes the list of arguments, so it works on a copy */
		MPK_TRY_ALLOC(own, err);
		for (size_t i = 0; i < count; i++)
			own[i] = mpk_value_hold(args[i]);
		*recorder = recorder_begin(plans, own, count);
		code = interpreter->interpret(interpreter->machine, function, own, count, result,
					      err);
		if (*recorder) {
			struct mpk_recording *recording =
				recorder_end(*recorder, code == MPK_OK ? result : NULL);

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
