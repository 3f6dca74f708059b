/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - lays out the steps of a plan on a tape, and runs them: patches addresses, calls kernels */
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "base/vec.h"
#include "executor/plan/internal/plans.h"
#include "runtime/devices.h"
#include "runtime/stop.h"

/* --- Tapes: steps laid out for running, shared by plans that differ only in extents.
 *
 * A model may be called with a hundred lengths, each with its own plan. Their kernels and tensors
 * are the same; only a few hundred extents differ. If each plan had a complete copy, running plans
 * in turn would load all of it into the cache each time. So the steps of a plan lie in one block of
 * 64-bit words. Each word is of one sort: the same in all plans of the tape, free to differ between
 * plans, or set anew in each run. A new plan that has the same fixed words as an existing tape uses
 * this tape, and stores only the free words in which the tape's plans differ. */

enum sort {
	FIXED,
	INTERNAL, /* fixed: an address within the block, the same offset in each tape */
	FREE,
	VARIABLE, /* free, and the tape's plans differ in it, so it is one of the tape's variables */
	RUNTIME,  /* address of an input or a storage, set in each run */
};

enum { ALIGNMENT = 16 };

/* --- the block ----------------------------------------------------------------------------- */

/* Parts begin at multiples of 16 bytes, as argument cells and DLTensors require. */
static size_t room(size_t bytes)
{
	return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* In the block a DLTensor is followed by its shape and strides. */
static size_t extents_of(const struct mpk_dltensor *dl)
{
	return (size_t)dl->ndim * (dl->strides ? 2 : 1);
}

static size_t block_bytes(const struct mpk_recording *r)
{
	size_t bytes = room(r->step_count * sizeof(struct mpk_plan_step)) +
		       room(r->storage_count * sizeof(struct mpk_plan_storage)) +
		       room(r->tensor_count * sizeof(struct mpk_plan_tensor));

	for (size_t i = 0; i < r->tensor_count; i++)
		bytes += room(sizeof(struct mpk_dltensor) +
			      extents_of(&r->tensors[i].tensor->dl) * sizeof(int64_t));
	for (size_t i = 0; i < r->step_count; i++) {
		const struct mpk_recorded_step *s = &r->steps[i];

		if (s->action == MPK_PLAN_KERNEL)
			bytes += room(mpk_packed_bytes(s->function->convention, s->count));
		else
			bytes += room(s->count * sizeof(struct mpk_value));
	}
	return bytes;
}

static void *tape_take(struct mpk_plan_tape *t, size_t bytes, size_t *used)
{
	void *at = (uint8_t *)t->words + *used;

	*used += room(bytes);
	return at;
}

/* Sets the sort of the words at a member's address. */
static void mark(struct mpk_plan_tape *t, const void *at, size_t words, enum sort sort)
{
	size_t first = (size_t)((const uint8_t *)at - (const uint8_t *)t->words) / 8;

	memset(t->sorts + first, (int)sort, words);
}

static struct mpk_dltensor *lay_dltensor(struct mpk_plan_tape *t, const struct mpk_dltensor *from,
					 bool stays, size_t *used)
{
	size_t count = extents_of(from), ndim = (size_t)from->ndim;
	struct mpk_dltensor *dl = tape_take(t, sizeof *dl + count * sizeof(int64_t), used);
	int64_t *extents = (int64_t *)(void *)(dl + 1);

	*dl = *from;
	dl->shape = extents;
	if (ndim)
		memcpy(extents, from->shape, ndim * sizeof *extents);
	mark(t, &dl->shape, 1, INTERNAL);
	if (from->strides) {
		dl->strides = extents + ndim;
		if (ndim)
			memcpy(dl->strides, from->strides, ndim * sizeof *extents);
		mark(t, &dl->strides, 1, INTERNAL);
	}
	mark(t, extents, count, FREE);
	mark(t, &dl->byte_offset, 1, FREE);
	if (!stays) {
		dl->data = NULL;
		mark(t, &dl->data, 1, RUNTIME);
	}
	return dl;
}

/* --- steps --------------------------------------------------------------------------------- */

static bool lay_kernel(struct mpk_plan_tape *t, const struct mpk_recorded_step *from,
		       struct mpk_plan_step *to, size_t *used)
{
	enum mpk_convention conv = from->function->convention;
	void *memory = tape_take(t, mpk_packed_bytes(conv, from->count), used);
	struct mpk_packed p = mpk_packed_at(conv, memory, from->count);

	for (size_t i = 0; i < from->count; i++) {
		const struct mpk_value *v = &from->values[i];
		const void *bits = p.cells ? (void *)&p.cells[i].v_int64 : (void *)&p.values[i];

		if (mpk_recording_is_number(v)) {
			mpk_packed_set_tensor(&p, i, t->tensors[v->integer].dl);
			/* the address of a DLTensor on the tape: the same offset in every tape, but another number */
			mark(t, bits, 1, INTERNAL);
			continue;
		}
		/* a value that needs an object cannot lie in a block of words */
		if (mpk_packed_set(&p, i, v, NULL) != MPK_OK)
			return false;
		if (v->kind == MPK_VALUE_INT || v->kind == MPK_VALUE_FLOAT)
			mark(t, bits, 1, FREE);
	}
	to->packed.conv = p.conv; /* copied member by member, so that the padding stays zero */
	to->packed.count = p.count;
	to->packed.cells = p.cells;
	to->packed.values = p.values;
	to->packed.codes = p.codes;
	mark(t, &to->packed.cells, 1, p.cells ? INTERNAL : FIXED);
	mark(t, &to->packed.values, 1, p.values ? INTERNAL : FIXED);
	mark(t, &to->packed.codes, 1, p.codes ? INTERNAL : FIXED);
	return true;
}

static void lay_values(struct mpk_plan_tape *t, const struct mpk_recorded_step *from,
		       struct mpk_plan_step *to, size_t *used)
{
	struct mpk_value *values = tape_take(t, from->count * sizeof *values, used);

	for (size_t i = 0; i < from->count; i++) {
		const struct mpk_value *v = &from->values[i];

		values[i] = *v;
		if (!mpk_recording_is_number(v) &&
		    (v->kind == MPK_VALUE_INT || v->kind == MPK_VALUE_FLOAT))
			mark(t, &values[i].integer, 1, FREE);
	}
	to->values = values;
	to->count = (uint32_t)from->count;
	mark(t, &to->values, 1, INTERNAL);
}

static bool lay_steps(struct mpk_plan_tape *t, const struct mpk_recording *r, size_t *used)
{
	for (size_t i = 0; i < r->step_count; i++) {
		const struct mpk_recorded_step *from = &r->steps[i];
		struct mpk_plan_step *to = &t->steps[i];

		to->action = from->action;
		to->function = from->function;
		switch (from->action) {
		case MPK_PLAN_KERNEL:
			if (!lay_kernel(t, from, to, used))
				return false;
			break;
		case MPK_PLAN_FUNCTION:
			lay_values(t, from, to, used);
			break;
		case MPK_PLAN_COPY:
			to->from = from->from;
			to->to = from->to;
			to->bytes = r->tensors[from->from].tensor->bytes;
			mark(t, &to->bytes, 1, FREE);
			break;
		}
	}
	return true;
}

/* --- tapes --------------------------------------------------------------------------------- */

static void tape_free(struct mpk_plan_tape *t)
{
	for (size_t i = 0; i < t->storage_count; i++)
		mpk_storage_drop(t->storages[i].kept);
	mpk_recording_free(t->recording);
	free(t->words);
	free(t->sorts);
	free(t->variables);
	free(t);
}

static bool tape_fill(struct mpk_plan_tape *t, const struct mpk_recording *r)
{
	size_t used = 0, bytes = room(block_bytes(r));

	t->words = aligned_alloc(64, (bytes + 64) / 64 * 64);
	t->sorts = calloc(bytes / 8 + 1, 1);
	if (!t->words || !t->sorts)
		return false;
	memset(t->words, 0, bytes);
	t->word_count = bytes / 8;
	t->steps = tape_take(t, r->step_count * sizeof *t->steps, &used);
	t->storages = tape_take(t, r->storage_count * sizeof *t->storages, &used);
	t->tensors = tape_take(t, r->tensor_count * sizeof *t->tensors, &used);
	t->step_count = r->step_count;
	t->tensor_count = r->tensor_count;
	t->input_count = r->input_count;

	/* Sizes and slots differ from plan to plan; memory kept from the last call belongs to the tape. */
	for (size_t i = 0; i < r->storage_count; i++) {
		struct mpk_plan_storage *s = &t->storages[i];

		*s = r->storages[i];
		mark(t, &s->bytes, 1, FREE);
		mark(t, &s->slot, 1, FREE);
		mark(t, &s->kept, 1, RUNTIME);
		mark(t, &s->data, 1, RUNTIME);
	}

	t->storage_count = r->storage_count;

	for (size_t i = 0; i < r->tensor_count; i++) {
		const struct mpk_recorded_tensor *from = &r->tensors[i];
		struct mpk_plan_tensor *to = &t->tensors[i];

		to->source = from->source;
		to->index = from->index;
		to->dl = lay_dltensor(t, &from->tensor->dl, from->source == MPK_PLAN_CONSTANT,
				      &used);
		mark(t, &to->dl, 1, INTERNAL);
		if (from->source == MPK_PLAN_INPUT)
			mark(t, &to->dl->byte_offset, 1, RUNTIME);
	}

	return lay_steps(t, r, &used);
}

/* Takes over the recording, also on failure. */
static struct mpk_plan_tape *tape_of(struct mpk_recording *r)
{
	struct mpk_plan_tape *t = calloc(1, sizeof *t);

	if (!t) {
		mpk_recording_free(r);
		return NULL;
	}
	t->recording = r;
	if (tape_fill(t, r))
		return t;
	tape_free(t);
	return NULL;
}

/* Addresses within the block are equal if their offsets are. */
static bool is_same_word(const struct mpk_plan_tape *a, const struct mpk_plan_tape *b, size_t i)
{
	enum sort sort = a->sorts[i] == VARIABLE ? FREE : (enum sort)a->sorts[i];

	if (sort != (enum sort)b->sorts[i])
		return false;
	if (sort == INTERNAL)
		return a->words[i] - (uintptr_t)a->words == b->words[i] - (uintptr_t)b->words;
	return sort != FIXED || a->words[i] == b->words[i];
}

/* Whether a tape could run the plan of another tape. */
static bool can_share(const struct mpk_plan_tape *have, const struct mpk_plan_tape *made)
{
	if (have->word_count != made->word_count || have->step_count != made->step_count ||
	    have->tensor_count != made->tensor_count ||
	    have->storage_count != made->storage_count || have->input_count != made->input_count)
		return false;
	for (size_t i = 0; i < have->word_count; i++)
		if (!is_same_word(have, made, i))
			return false;
	return true;
}

/* --- plans --------------------------------------------------------------------------------- */

static bool tape_share(struct mpk_plan *plan, struct mpk_plan_tape *have,
		       const struct mpk_plan_tape *made)
{
	/* Makes variables of the words in which the existing plans differ from the new one. */
	/* the words of the first plan, which apply to all older plans that have no own value */
	for (size_t i = 0; i < have->variable_count; i++)
		mpk_plan_set_word(have, have->variables[i].word, have->variables[i].first);
	have->current = NULL;
	for (size_t i = 0; i < have->word_count; i++) {
		if (have->sorts[i] != FREE || have->words[i] == made->words[i])
			continue;
		if (!MPK_VEC_ROOM(have->variables, have->variable_count, have->variable_cap))
			return false;
		have->variables[have->variable_count++] =
			(struct mpk_plan_variable){ i, have->words[i] };
		have->sorts[i] = VARIABLE;
	}
	plan->values = calloc(have->variable_count + 1, sizeof *plan->values);
	if (!plan->values)
		return false;
	plan->value_count = have->variable_count;
	for (size_t i = 0; i < plan->value_count; i++)
		plan->values[i] = made->words[have->variables[i].word];
	return true;
}

/* Puts a plan on the first tape that fits, or adds its own tape to the machine. */
static bool find_tape(struct mpk_plans *plans, struct mpk_plan *plan, struct mpk_plan_tape *made)
{
	struct mpk_plan_tape *have = plans->tapes;

	while (have && !can_share(have, made))
		have = have->next;
	if (!have) {
		made->next = plans->tapes;
		plans->tapes = made;
		plan->tape = made;
		made->plans++;
		return true;
	}
	if (tape_share(plan, have, made)) {
		plan->tape = have;
		have->plans++;
	}
	tape_free(made);
	return plan->tape != NULL;
}

/* Frees the tape together with its last plan. */
static void drop_tape(struct mpk_plans *plans, const struct mpk_plan *plan)
{
	struct mpk_plan_tape *t = plan->tape, **at = &plans->tapes;

	if (t->current == plan)
		t->current = NULL;
	if (--t->plans)
		return;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	tape_free(t);
}

static void plan_free(struct mpk_plans *plans, struct mpk_plan *plan)
{
	if (!plan)
		return;
	if (plan->tape)
		drop_tape(plans, plan);
	free(plan->key.words);
	mpk_value_drop(&plan->result);
	free(plan->values);
	free(plan);
}

static struct mpk_plan *plan_make(struct mpk_plans *plans, struct mpk_recording *recording)
{
	struct mpk_plan *plan = calloc(1, sizeof *plan);
	struct mpk_plan_tape *made;

	if (!plan) {
		mpk_recording_free(recording);
		return NULL;
	}
	plan->key = recording->key;
	plan->result = recording->result;
	recording->key = (struct mpk_plan_key){ 0 };
	recording->result = (struct mpk_value){ 0 };
	made = tape_of(recording);
	if (!made || !find_tape(plans, plan, made)) {
		plan_free(plans, plan);
		return NULL;
	}
	return plan;
}

bool mpk_plan_replace(struct mpk_plans *plans, struct mpk_plan **place,
		      struct mpk_recording *recording)
{
	struct mpk_plan *plan = recording ? plan_make(plans, recording) : NULL;

	if (recording && !plan)
		return false;
	plan_free(plans, *place);
	*place = plan;
	return true;
}

/* The tensors among the arguments, in the recorder's order. */
struct inputs {
	struct mpk_tensor *few[32], **items;
	size_t count;
};

/* Depth first, like the recorder when it wrapped the arguments. */
static void plan_run_collect(const struct mpk_value *v, struct inputs *in)
{
	if (v->kind == MPK_VALUE_TENSOR)
		in->items[in->count++] = v->tensor;
	for (size_t i = 0; v->kind == MPK_VALUE_ARRAY && i < v->array->count; i++)
		plan_run_collect(&v->array->items[i], in);
}

/* --- memory -------------------------------------------------------------------------------- */

/* Reuses the memory of the previous call's result unless the caller still holds it. */
static enum mpk_code fresh_result(const struct mpk_plan_places *places, struct mpk_plan_storage *s,
				  struct mpk_error *err)
{
	if (s->kept && s->kept->bytes >= s->bytes && mpk_refs_is_only(&s->kept->refs))
		return MPK_OK;
	mpk_storage_drop(s->kept);
	s->kept = NULL;
	return mpk_allocator_storage(places->allocators[s->device], s->bytes, &s->kept, err);
}

/* Makes a slot hold at least that many bytes, to which nobody else has a reference. The slot's
 * address may change, so a call fills all its slots before it uses one. */
static enum mpk_code fill_slot(struct mpk_plans *plans, size_t slot, uint64_t bytes,
			       struct mpk_error *err)
{
	struct mpk_plan_slot *s = &plans->slots[slot];

	if (s->storage && s->storage->bytes >= bytes && mpk_refs_is_only(&s->storage->refs))
		return MPK_OK; /* otherwise a function kept a tensor of the previous call */
	mpk_storage_drop(s->storage);
	s->storage = NULL;
	return mpk_allocator_storage(plans->places.allocators[s->device], bytes, &s->storage, err);
}

/* Returns the memory of a storage in this call; NULL if no step uses it. */
static struct mpk_storage *memory_of(const struct mpk_plans *plans,
				     const struct mpk_plan_storage *s)
{
	if (s->is_result)
		return s->kept;
	return s->first == UINT32_MAX ? NULL : plans->slots[s->slot].storage;
}

/* Whether a storage has moved since its tensors were patched. */
static bool have_moved(const struct mpk_plans *plans, const struct mpk_plan_tape *t)
{
	bool moved = false;

	for (size_t i = 0; i < t->storage_count; i++) {
		const struct mpk_storage *memory = memory_of(plans, &t->storages[i]);

		if (!memory)
			continue;
		/* in a loop that calls the same plan nothing moves, so only inputs are patched */
		moved |= memory->data != t->storages[i].data;
		t->storages[i].data = memory->data;
	}
	return moved;
}

static void patch(const struct mpk_plan_tape *t, const struct inputs *in, bool moved)
{
	for (size_t i = 0; i < t->tensor_count; i++) {
		struct mpk_dltensor *dl = t->tensors[i].dl;
		uint32_t index = t->tensors[i].index;

		/* inputs may have other addresses in each call */
		if (t->tensors[i].source == MPK_PLAN_INPUT) {
			dl->data = in->items[index]->dl.data;
			dl->byte_offset = in->items[index]->dl.byte_offset;
		} else if (moved && t->tensors[i].source == MPK_PLAN_STORAGE) {
			dl->data = t->storages[index].data;
		}
	}
}

/* --- steps --------------------------------------------------------------------------------- */

/* State of one call of a plan. */
struct run {
	struct mpk_plans *plans;
	const struct mpk_plan_tape *tape;
	const struct inputs *in;
};

/* Makes an object of a tensor on the tape. The object holds its memory, so a function that keeps it
 * keeps the content. */
static enum mpk_code plan_run_make_tensor(const struct run *r, size_t index, struct mpk_value *out,
					  struct mpk_error *err)
{
	const struct mpk_plan_tensor *t = &r->tape->tensors[index];
	struct mpk_storage *storage = NULL;
	struct mpk_tensor *made;

	if (t->source == MPK_PLAN_INPUT)
		storage = r->in->items[t->index]->storage;
	else if (t->source == MPK_PLAN_CONSTANT)
		storage = r->tape->recording->tensors[index].tensor->storage;
	else
		storage = memory_of(r->plans, &r->tape->storages[t->index]);
	MPK_TRY(mpk_tensor_wrap(t->dl, storage, &made, err));
	*out = mpk_value_of_tensor(made);
	return MPK_OK;
}

/* Makes the argument values of a step: tensors' numbers are replaced by objects. */
static enum mpk_code make_arguments(const struct run *r, const struct mpk_plan_step *s,
				    struct mpk_value *out, struct mpk_error *err)
{
	for (size_t i = 0; i < s->count; i++) {
		if (mpk_recording_is_number(&s->values[i]))
			MPK_TRY(plan_run_make_tensor(r, (size_t)s->values[i].integer, &out[i],
						     err));
		else
			out[i] = mpk_value_hold(s->values[i]);
	}
	return MPK_OK;
}

static enum mpk_code run_step(const struct run *r, const struct mpk_plan_step *s,
			      struct mpk_error *err)
{
	const struct mpk_plan_tensor *tensors = r->tape->tensors;

	switch ((enum mpk_plan_action)s->action) {
	case MPK_PLAN_KERNEL:
		return mpk_packed_call(&s->packed, s->function->address, NULL, err);
	case MPK_PLAN_COPY:
		return mpk_devices_copy(r->plans->places.devices, tensors[s->from].dl,
					tensors[s->to].dl, s->bytes, err);
	case MPK_PLAN_FUNCTION:
		break;
	}

	struct mpk_value few[16] = { 0 }, *values = few, none = { 0 };
	enum mpk_code code;

	if (s->count > MPK_ARRAY_COUNT(few))
		values = calloc(s->count, sizeof *values);
	MPK_TRY_ALLOC(values, err);
	code = make_arguments(r, s, values, err);
	if (code == MPK_OK)
		code = mpk_function_call(s->function, &(struct mpk_args){ values, NULL, s->count },
					 &none, err);
	mpk_value_drop(&none); /* also after a failure: the remaining values are zero */
	for (size_t i = 0; i < s->count; i++)
		mpk_value_drop(&values[i]);
	if (values != few)
		free(values);
	return code;
}

/* --- the result ---------------------------------------------------------------------------- */

static enum mpk_code plan_run_make_result(const struct run *r, const struct mpk_value *v,
					  struct mpk_value *out, struct mpk_error *err)
{
	if (v->kind == MPK_VALUE_ARRAY) {
		MPK_TRY(mpk_value_of_array(v->array->count, out, err));
		out->array->tag = v->array->tag;
		for (size_t i = 0; i < v->array->count; i++)
			MPK_TRY(plan_run_make_result(r, &v->array->items[i], &out->array->items[i],
						     err));
		return MPK_OK;
	}
	if (mpk_recording_is_number(v))
		return plan_run_make_tensor(r, (size_t)v->integer, out, err);
	*out = mpk_value_hold(*v);
	return MPK_OK;
}

/* Writes this plan's values to the variables of the tape. */
static void load_words(const struct mpk_plan *plan)
{
	struct mpk_plan_tape *t = plan->tape;

	for (size_t i = 0; i < plan->value_count; i++)
		mpk_plan_set_word(t, t->variables[i].word, plan->values[i]);
	for (size_t i = plan->value_count; i < t->variable_count; i++)
		mpk_plan_set_word(t, t->variables[i].word, t->variables[i].first);
	t->current = plan;
}

static struct mpk_span step_name(const struct mpk_plan_step *s)
{
	return mpk_span_str(s->action == MPK_PLAN_COPY ? "copy" : s->function->name);
}

static enum mpk_code plan_run(struct mpk_plans *plans, const struct mpk_plan *plan,
			      const struct inputs *in, struct mpk_value *result,
			      struct mpk_error *err)
{
	struct mpk_plan_tape *t = plan->tape;
	const struct run r = { plans, t, in };
	struct mpk_stop *stop = mpk_stop_get();

	if (t->current != plan)
		load_words(plan);

	/* Gets memory for every storage before any is used: a slot that is too small for one of its
	 * storages moves. */
	for (size_t i = 0; i < t->storage_count; i++) {
		struct mpk_plan_storage *s = &t->storages[i];

		if (s->is_result)
			MPK_TRY(fresh_result(&plans->places, s, err));
		else if (s->first != UINT32_MAX)
			MPK_TRY(fill_slot(plans, s->slot, s->bytes, err));
	}

	patch(t, in, have_moved(plans, t));
	for (size_t i = 0; i < t->step_count; i++) {
		MPK_TRY(mpk_stop_check(stop, err));
		enum mpk_code code = run_step(&r, &t->steps[i], err);

		if (code != MPK_OK) {
			mpk_failed_note(stop, step_name(&t->steps[i]), (struct mpk_span){ 0 }, -1,
					i ? step_name(&t->steps[i - 1]) : (struct mpk_span){ 0 });
			return code;
		}
	}
	return plan_run_make_result(&r, &plan->result, result, err);
}

enum mpk_code mpk_plan_run(struct mpk_plans *plans, struct mpk_plan *plan,
			   const struct mpk_value *args, size_t count, struct mpk_value *result,
			   struct mpk_error *err)
{
	struct inputs in = { .items = in.few };
	enum mpk_code code;

	if (plan->tape->input_count > MPK_ARRAY_COUNT(in.few))
		in.items = malloc(plan->tape->input_count * sizeof(struct mpk_tensor *));
	if (!in.items)
		return mpk_fail_nomem(err);
	for (size_t i = 0; i < count; i++)
		plan_run_collect(&args[i], &in);
	plans->stats.replayed++;
	code = plan_run(plans, plan, &in, result, err);
	if (in.items != in.few)
		free(in.items);
	return code;
}
