/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - a call by its plan: patch addresses, call kernels */
#include <stdlib.h>

#include "executor/plan/inside.h"
#include "runtime/devices.h"

/* The tensors among the arguments, in the order of the recorder. */
struct inputs {
	struct mpk_tensor *few[32], **items;
	size_t count;
};

static void collect(const struct mpk_value *v, struct inputs *in)
{
	if (v->kind == MPK_VALUE_TENSOR)
		in->items[in->count++] = v->tensor;
	for (size_t i = 0; v->kind == MPK_VALUE_ARRAY && i < v->array->count; i++)
		collect(&v->array->items[i], in);
}

/* --- memory -------------------------------------------------------------------------------- */

/* What the caller still has from the call before is his; else it is used again. */
static enum mpk_code fresh_result(const struct mpk_plan_places *places, struct mpk_plan_storage *s,
				  struct mpk_error *err)
{
	if (s->kept && s->kept->bytes >= s->bytes &&
	    atomic_load_explicit(&s->kept->refs, memory_order_acquire) == 1)
		return MPK_OK;
	mpk_storage_drop(s->kept);
	s->kept = NULL;
	return mpk_allocator_storage(places->allocators[s->device], s->bytes, &s->kept, err);
}

/* Sets *moved when a storage lies elsewhere than its tensors say. */
static enum mpk_code find_memory(struct mpk_plans *plans, struct mpk_plan_tape *t, bool *moved,
				 struct mpk_error *err)
{
	for (size_t i = 0; i < t->storage_count; i++) {
		struct mpk_plan_storage *s = &t->storages[i];
		void *data;

		if (s->is_result) {
			MPK_TRY(fresh_result(&plans->places, s, err));
			data = s->kept->data;
		} else if (s->first != UINT32_MAX) {
			MPK_TRY(mpk_plans_fill_slot(plans, s->slot, s->bytes, err));
			data = plans->slots[s->slot].storage->data;
		} else {
			continue;
		}
		*moved |= data != s->data;
		s->data = data;
	}
	return MPK_OK;
}

static void patch(const struct mpk_plan_tape *t, const struct inputs *in, bool moved)
{
	for (size_t i = 0; i < t->tensor_count; i++) {
		struct mpk_dltensor *dl = t->tensors[i].dl;
		uint32_t index = t->tensors[i].index;

		if (t->tensors[i].source == MPK_PLAN_INPUT) {
			dl->data = in->items[index]->dl.data;
			dl->byte_offset = in->items[index]->dl.byte_offset;
		} else if (moved && t->tensors[i].source == MPK_PLAN_STORAGE) {
			dl->data = t->storages[index].data;
		}
	}
}

/* --- steps --------------------------------------------------------------------------------- */

static enum mpk_code run_step(struct mpk_plans *plans, const struct mpk_plan_tape *t,
			      const struct mpk_plan_step *s, struct mpk_error *err)
{
	struct mpk_value none = { 0 };

	switch ((enum mpk_plan_action)s->action) {
	case MPK_PLAN_KERNEL:
		return mpk_packed_call(&s->packed, s->function->address, NULL, err);
	case MPK_PLAN_COPY:
		return mpk_devices_copy(plans->places.devices, t->tensors[s->from].dl,
					t->tensors[s->to].dl, s->bytes, err);
	case MPK_PLAN_FUNCTION:
		break;
	}
	MPK_TRY(mpk_function_call(s->function, &(struct mpk_args){ s->values, NULL, s->count },
				  &none, err));
	mpk_value_drop(&none);
	return MPK_OK;
}

/* --- the result ---------------------------------------------------------------------------- */

static enum mpk_code make_result(const struct mpk_plan_tape *tape, const struct inputs *in,
				 const struct mpk_value *v, struct mpk_value *out,
				 struct mpk_error *err)
{
	const struct mpk_plan_tensor *t;
	struct mpk_storage *storage = NULL;
	struct mpk_tensor *made;

	if (v->kind == MPK_VALUE_ARRAY) {
		MPK_TRY(mpk_value_of_array(v->array->count, out, err));
		out->array->tag = v->array->tag;
		for (size_t i = 0; i < v->array->count; i++)
			MPK_TRY(make_result(tape, in, &v->array->items[i], &out->array->items[i],
					    err));
		return MPK_OK;
	}
	if (!mpk_recording_is_number(v)) {
		*out = mpk_value_hold(*v);
		return MPK_OK;
	}
	t = &tape->tensors[v->integer];
	if (t->source == MPK_PLAN_INPUT)
		storage = in->items[t->index]->storage;
	else if (t->source == MPK_PLAN_CONSTANT)
		storage = tape->recording->tensors[v->integer].tensor->storage;
	else
		storage = tape->storages[t->index].kept;
	MPK_TRY(mpk_tensor_wrap(t->dl, storage, &made, err));
	*out = mpk_value_of_tensor(made);
	return MPK_OK;
}

static enum mpk_code run(struct mpk_plans *plans, const struct mpk_plan *plan,
			 const struct inputs *in, struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_plan_tape *t = plan->tape;
	bool moved = false;

	if (t->current != plan)
		mpk_plan_load(plan);
	MPK_TRY(find_memory(plans, t, &moved, err));
	patch(t, in, moved);
	for (size_t i = 0; i < t->step_count; i++)
		MPK_TRY(run_step(plans, t, &t->steps[i], err));
	return make_result(t, in, &plan->result, result, err);
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
		collect(&args[i], &in);
	plans->stats.replayed++;
	code = run(plans, plan, &in, result, err);
	if (in.items != in.few)
		free(in.items);
	return code;
}
