/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - a call by its plan: patch addresses, call kernels */
#include <stdlib.h>

#include "base/lock.h"
#include "executor/plan/internal/plans.h"
#include "runtime/devices.h"
#include "runtime/stop.h"

/* The tensors among the arguments, in the order of the recorder. */
struct inputs {
	struct mpk_tensor *few[32], **items;
	size_t count;
};

/* Depth first, as the recorder numbered them when it wrapped the arguments. */
static void plan_run_collect(const struct mpk_value *v, struct inputs *in)
{
	if (v->kind == MPK_VALUE_TENSOR)
		in->items[in->count++] = v->tensor;
	for (size_t i = 0; v->kind == MPK_VALUE_ARRAY && i < v->array->count; i++)
		plan_run_collect(&v->array->items[i], in);
}

/* --- memory -------------------------------------------------------------------------------- */

/* What the caller still has from the call before is his; else it is used again. */
static enum mpk_code fresh_result(const struct mpk_plan_places *places, struct mpk_plan_storage *s,
				  struct mpk_error *err)
{
	if (s->kept && s->kept->bytes >= s->bytes && mpk_refs_is_only(&s->kept->refs))
		return MPK_OK;
	mpk_storage_drop(s->kept);
	s->kept = NULL;
	return mpk_allocator_storage(places->allocators[s->device], s->bytes, &s->kept, err);
}

/* Make a slot hold at least that many bytes which nobody else has. The memory may be another
 * afterwards, so a call fills all of its slots before it uses one. */
static enum mpk_code fill_slot(struct mpk_plans *plans, size_t slot, uint64_t bytes,
			       struct mpk_error *err)
{
	struct mpk_plan_slot *s = &plans->slots[slot];

	if (s->storage && s->storage->bytes >= bytes && mpk_refs_is_only(&s->storage->refs))
		return MPK_OK; /* else a function kept a tensor of the call before */
	mpk_storage_drop(s->storage);
	s->storage = NULL;
	return mpk_allocator_storage(plans->places.allocators[s->device], bytes, &s->storage, err);
}

/* Where a storage lies in this call; NULL: no step uses it. */
static struct mpk_storage *memory_of(const struct mpk_plans *plans,
				     const struct mpk_plan_storage *s)
{
	if (s->is_result)
		return s->kept;
	return s->first == UINT32_MAX ? NULL : plans->slots[s->slot].storage;
}

/* Whether a storage lies elsewhere than its tensors say. */
static bool have_moved(const struct mpk_plans *plans, const struct mpk_plan_tape *t)
{
	bool moved = false;

	for (size_t i = 0; i < t->storage_count; i++) {
		const struct mpk_storage *memory = memory_of(plans, &t->storages[i]);

		if (!memory)
			continue;
		/* in a loop that calls the same plan nothing moves, and no tensor is patched but
		 * the inputs */
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

		/* inputs may lie elsewhere in each call */
		if (t->tensors[i].source == MPK_PLAN_INPUT) {
			dl->data = in->items[index]->dl.data;
			dl->byte_offset = in->items[index]->dl.byte_offset;
		} else if (moved && t->tensors[i].source == MPK_PLAN_STORAGE) {
			dl->data = t->storages[index].data;
		}
	}
}

/* --- steps --------------------------------------------------------------------------------- */

/* What a call runs with. */
struct run {
	struct mpk_plans *plans;
	const struct mpk_plan_tape *tape;
	const struct inputs *in;
};

/* A tensor of the tape as an object that holds its memory: whoever keeps it keeps the content. */
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

/* Values of a step with objects in place of the tensors' numbers. */
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
	mpk_value_drop(&none); /* also after a failure: values that were not made are zero */
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

/* Makes the words of the tape those of this plan. */
static void load_words(const struct mpk_plan *plan)
{
	struct mpk_plan_tape *t = plan->tape;

	for (size_t i = 0; i < plan->value_count; i++)
		mpk_plan_set_word(t, t->variables[i].word, plan->values[i]);
	for (size_t i = plan->value_count; i < t->variable_count; i++)
		mpk_plan_set_word(t, t->variables[i].word, t->variables[i].first);
	t->current = plan;
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

	/* Memory for every storage, before any of it is used: a slot that is too small for one
	 * of the storages that share it moves. */
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
		MPK_TRY(run_step(&r, &t->steps[i], err));
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
