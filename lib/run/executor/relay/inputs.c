/* SPDX-License-Identifier: Apache-2.0 */
/* inputs.c - arguments of a caller as byte code and its kernels take them
 *
 * The program says for each parameter on which device it is to be, and kernels of TVM refuse memory that
 * is not compact, not aligned, or begins at an offset. What is right already is shared; anything else
 * is copied once, here, and not by each kernel that uses it. Numbers become tensors of rank 0, because
 * Relay has no other.
 */
#include "executor/relay/internal/relay.h"

#include <stdlib.h>
#include <string.h>

#include "executor/check.h"
#include "text/escape.h"
#include "value/element.h"

/* --- as kernels take them ------------------------------------------------------------------ */

/* Arrays within arrays, of a caller. */
enum { NEST_MAX = 256 };

/* TVM of these releases has one type for bool; arrays of others come with DLPack's. */
static bool is_dlpack_bool(struct mpk_dtype t)
{
	return t.code == MPK_DTYPE_BOOL && t.bits == 8;
}

/* On a device an offset is no obstacle: kernels there get it as it is. */
static bool kernels_take(const struct mpk_dltensor *dl)
{
	return mpk_dltensor_is_compact(dl) &&
	       (!mpk_dldevice_is_host(dl->device) ||
		(dl->byte_offset == 0 && (uintptr_t)dl->data % MPK_STORAGE_ALIGN == 0));
}

/* The same elements in memory of their own. */
static enum mpk_code copy_tensor(struct mpk_relay_vm *vm, struct mpk_tensor *t,
				 struct mpk_dldevice where, struct mpk_tensor **out,
				 struct mpk_error *err)
{
	struct mpk_tensor *from = NULL, *to = NULL;
	enum mpk_code code = MPK_OK;

	if (mpk_dldevice_is_host(t->dl.device) && !mpk_dltensor_is_compact(&t->dl))
		code = mpk_tensor_compact(t, &from, err);
	else if (!mpk_dltensor_is_compact(&t->dl))
		code = mpk_fail(err, MPK_E_UNSUPPORTED,
				"a tensor on a device whose rows are not contiguous");
	else
		from = mpk_tensor_hold(t);
	MPK_TRY(code);
	code = mpk_devices_empty(mpk_relay_vm_devices(vm), from, where, &to, err);
	if (code == MPK_OK)
		code = mpk_devices_copy(mpk_relay_vm_devices(vm), &from->dl, &to->dl, from->bytes,
					err);
	mpk_tensor_drop(from);
	if (code == MPK_OK)
		*out = to;
	else
		mpk_tensor_drop(to);
	return code;
}

/* The same memory under the type that TVM's kernels know. */
static enum mpk_code as_tvm_bool(struct mpk_tensor *t, struct mpk_tensor **out,
				 struct mpk_error *err)
{
	struct mpk_dltensor dl = t->dl;

	dl.dtype = (struct mpk_dtype){ MPK_DTYPE_UINT, 1, dl.dtype.lanes };
	return mpk_tensor_wrap(&dl, t->storage, out, err);
}

static enum mpk_code take_tensor(struct mpk_relay_vm *vm, struct mpk_tensor *t, uint32_t place,
				 struct mpk_tensor **out, struct mpk_error *err)
{
	struct mpk_tensor *taken;
	enum mpk_code code;

	if (!mpk_relay_place_is_plain(&vm->program->places[place]))
		return mpk_fail(err, MPK_E_UNSUPPORTED, "an input that is to be an image, '%s'",
				MPK_QUOTE(vm->program->places[place].scope));
	if (mpk_dldevice_equal(t->dl.device, vm->devices[place]) && kernels_take(&t->dl))
		taken = mpk_tensor_hold(t);
	else
		MPK_TRY(copy_tensor(vm, t, vm->devices[place], &taken, err));
	/* kernels of these releases compare with uint1 and refuse DLPack's bool */
	if (!is_dlpack_bool(t->dl.dtype)) {
		*out = taken;
		return MPK_OK;
	}
	code = as_tvm_bool(taken, out, err);
	mpk_tensor_drop(taken);
	return code;
}

/* A number as TVM's own callers pass it: of the type that was said, else of 32 bits. */
static enum mpk_code relay_inputs_take_number(struct mpk_relay_vm *vm, const struct mpk_value *v,
					      uint32_t place, struct mpk_tensor **out,
					      struct mpk_error *err)
{
	bool real = v->kind == MPK_VALUE_FLOAT;
	struct mpk_element e = { .i = v->integer, .u = (uint64_t)v->integer, .f = v->real };
	struct mpk_dtype type = { real ? MPK_DTYPE_FLOAT : MPK_DTYPE_INT, 32, 1 };
	struct mpk_tensor *t;
	enum mpk_code code;

	if (v->kind == MPK_VALUE_BOOL) {
		/* take_tensor turns it into what the kernels know */
		type = (struct mpk_dtype){ MPK_DTYPE_BOOL, 8, 1 };
		e.i = v->boolean;
	} else if (v->type.bits) {
		type = v->type;
	}
	e.class = mpk_element_class(type);
	MPK_TRY(mpk_tensor_create(type, NULL, 0, MPK_STORAGE_PRIVATE, &t, err));
	mpk_element_store(type, e, t->dl.data);
	code = take_tensor(vm, t, place, out, err);
	mpk_tensor_drop(t);
	return code;
}

/* Where a value belongs. */
struct target {
	struct mpk_relay_vm *vm;
	const struct mpk_relay_callee *callee;
	size_t param;
};

static enum mpk_code wrong_kind(const struct target *to, const char *what, struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_USAGE, "input '%s' of %s takes a tensor, not %s",
			MPK_QUOTE(to->callee->params.items[to->param]),
			MPK_QUOTE(mpk_span_str(to->callee->name)), what);
}

static enum mpk_code relay_inputs_take_value(const struct target *to, const struct mpk_value *v,
					     unsigned depth, struct mpk_value *out,
					     struct mpk_error *err);

static enum mpk_code take_array(const struct target *to, const struct mpk_array *array,
				unsigned depth, struct mpk_value *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_value_drop) struct mpk_value made = { 0 };

	/* a caller's tuples may be nested without end; this recursion may not */
	if (depth == NEST_MAX)
		return wrong_kind(to, "tuples nested too deep", err);
	MPK_TRY(mpk_value_of_array(array->count, &made, err));
	made.array->tag = array->tag;
	for (size_t i = 0; i < array->count; i++)
		MPK_TRY(relay_inputs_take_value(to, &array->items[i], depth + 1,
						&made.array->items[i], err));
	*out = made;
	made = (struct mpk_value){ 0 };
	return MPK_OK;
}

static enum mpk_code relay_inputs_take_value(const struct target *to, const struct mpk_value *v,
					     unsigned depth, struct mpk_value *out,
					     struct mpk_error *err)
{
	uint32_t place = to->callee->param_places[to->param];
	struct mpk_tensor *t;

	switch (v->kind) {
	case MPK_VALUE_TENSOR:
		MPK_TRY(take_tensor(to->vm, v->tensor, place, &t, err));
		*out = mpk_value_of_tensor(t);
		return MPK_OK;
	case MPK_VALUE_BOOL:
	case MPK_VALUE_INT:
	case MPK_VALUE_FLOAT:
		MPK_TRY(relay_inputs_take_number(to->vm, v, place, &t, err));
		*out = mpk_value_of_tensor(t);
		return MPK_OK;
	case MPK_VALUE_ARRAY:
		return take_array(to, v->array, depth, out, err);
	case MPK_VALUE_NONE:
	case MPK_VALUE_FUNCTION:
		*out = mpk_value_hold(*v);
		return MPK_OK;
	case MPK_VALUE_STR:
	case MPK_VALUE_BYTES:
	case MPK_VALUE_SHAPE:
	case MPK_VALUE_DTYPE:
	case MPK_VALUE_DEVICE:
	case MPK_VALUE_STORAGE:
	case MPK_VALUE_OPAQUE:
	case MPK_VALUE_MODULE:
	case MPK_VALUE_OBJECT:
	case MPK_VALUE_KIND_COUNT:
		break;
	}
	return wrong_kind(to, mpk_value_kind_name(v->kind), err);
}

enum mpk_code mpk_relay_inputs_take(struct mpk_relay_vm *vm, const struct mpk_relay_callee *c,
				    const struct mpk_value *args, struct mpk_value *out,
				    struct mpk_error *err)
{
	for (size_t i = 0; i < c->params.count; i++) {
		const struct target to = { vm, c, i };
		enum mpk_code code = relay_inputs_take_value(&to, &args[i], 0, &out[i], err);

		if (code == MPK_OK)
			continue;
		/* what was taken so far is given back: on failure nothing is owned */
		while (i-- > 0)
			mpk_value_drop(&out[i]);
		return code;
	}
	return MPK_OK;
}
