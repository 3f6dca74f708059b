/* SPDX-License-Identifier: Apache-2.0 */
/* shape.c - builtins that check types and shapes and compute extents
 *
 * Symbolic extents live in a heap: an int64 tensor in host memory, one for each call of a function
 * with symbolic shapes. match_shape stores extents there, kernels named shape_func derive others,
 * make_shape reads them. The codes are TVM's (MatchShapeCode, MakeShapeCode). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "executor/relax/internal/relax.h"

enum match_code { MATCH_IMMEDIATE = 0, MATCH_STORE = 1, MATCH_ANY = 2, MATCH_LOAD = 3 };
enum make_code { MAKE_IMMEDIATE = 0, MAKE_LOAD = 1 };

/* Returns the last argument: a text for messages, from the compiler. */
static const char *context_of(const struct mpk_value *args, size_t count)
{
	const struct mpk_value *last = count ? &args[count - 1] : NULL;

	return last && last->kind == MPK_VALUE_STR ? last->text->data : "";
}

/* --- the heap ------------------------------------------------------------------------------ */

static enum mpk_code alloc_shape_heap(const struct mpk_value *args, size_t count,
				      struct mpk_value *result, struct mpk_error *err)
{
	static const struct mpk_dtype i64 = { MPK_DTYPE_INT, 64, 1 };
	static const char name[] = "vm.builtin.alloc_shape_heap";
	struct mpk_relax_vm *vm;
	struct mpk_tensor *heap;
	struct mpk_storage *storage;
	int64_t slots;

	MPK_TRY(mpk_relax_arity(name, count, 2, 2, err));
	MPK_TRY(mpk_relax_machine(name, args, &vm, err));
	MPK_TRY(mpk_relax_int(name, args, 1, &slots, err));
	if (slots < 0 || slots > MPK_RELAX_HEAP_MAX)
		return mpk_relax_raise(err, "ValueError", "%s: %" PRId64 " slots", name, slots);
	MPK_TRY(mpk_allocator_storage(vm->allocators[mpk_relax_vm_host(vm)],
				      (uint64_t)slots * sizeof(int64_t), &storage, err));
	/* a slot that is read before it was matched must be 0 */
	memset(storage->data, 0, (size_t)slots * sizeof(int64_t));
	enum mpk_code code = mpk_tensor_view(storage, 0, i64, &slots, 1, &heap, err);

	mpk_storage_drop(storage);
	if (code == MPK_OK)
		*result = mpk_value_of_tensor(heap);
	return code;
}

/* Returns a slot of the heap; byte code may pass any value as the heap. */
static enum mpk_code shape_slot_of(const struct mpk_value *heap, int64_t index, int64_t **out,
				   struct mpk_error *err)
{
	const struct mpk_dltensor *dl = heap->kind == MPK_VALUE_TENSOR ? &heap->tensor->dl : NULL;

	if (!dl || dl->ndim != 1 || dl->dtype.code != MPK_DTYPE_INT || dl->dtype.bits != 64 ||
	    !mpk_dldevice_is_host(dl->device))
		return mpk_relax_raise(err, "TypeError", "a shape heap is needed, not %s",
				       mpk_value_kind_name(heap->kind));
	if (index < 0 || index >= dl->shape[0])
		return mpk_relax_raise(err, "IndexError",
				       "slot %" PRId64 " of a shape heap of %" PRId64, index,
				       dl->shape[0]);
	*out = (int64_t *)mpk_dltensor_data(dl) + index;
	return MPK_OK;
}

/* --- matching ------------------------------------------------------------------------------ */

struct match {
	const struct mpk_value *heap;
	int64_t code, operand;
	int64_t got;
	const char *context;
	const char *what; /* such as "dimension 2" */
};

/* Begins the message with the compiler's text, if there is one. */
static enum mpk_code mismatch(const struct match *m, int64_t expected, struct mpk_error *err)
{
	return mpk_relax_raise(err, "RuntimeError", "%s%s%s is %" PRId64 ", expected %" PRId64,
			       m->context, m->context[0] ? ": " : "", m->what, m->got, expected);
}

static enum mpk_code match_one(const struct match *m, struct mpk_error *err)
{
	int64_t *slot;

	switch (m->code) {
	case MATCH_IMMEDIATE:
		return m->got == m->operand ? MPK_OK : mismatch(m, m->operand, err);
	case MATCH_STORE:
		MPK_TRY(shape_slot_of(m->heap, m->operand, &slot, err));
		*slot = m->got;
		return MPK_OK;
	case MATCH_ANY:
		return MPK_OK;
	case MATCH_LOAD:
		MPK_TRY(shape_slot_of(m->heap, m->operand, &slot, err));
		return m->got == *slot ? MPK_OK : mismatch(m, *slot, err);
	default:
		return mpk_relax_raise(err, "InternalError", "match code %" PRId64 " is not known",
				       m->code);
	}
}

/* Gets the extents of a tensor or shape. */
static bool extents_of(const struct mpk_value *v, const int64_t **extents, size_t *ndim)
{
	if (v->kind == MPK_VALUE_TENSOR) {
		*extents = v->tensor->dl.shape;
		*ndim = (size_t)v->tensor->dl.ndim;
	} else if (v->kind == MPK_VALUE_SHAPE) {
		*extents = v->shape->extents;
		*ndim = v->shape->ndim;
	} else {
		return false;
	}
	return true;
}

static enum mpk_code match_shape(const struct mpk_value *args, size_t count,
				 struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.match_shape";
	struct match m = { .context = context_of(args, count) };
	const int64_t *extents;
	char what[48];
	int64_t wanted;
	size_t ndim;

	(void)result;
	MPK_TRY(mpk_relax_arity(name, count, 4, SIZE_MAX, err));
	MPK_TRY(mpk_relax_int(name, args, 2, &wanted, err));
	if (!extents_of(&args[0], &extents, &ndim))
		return mpk_relax_raise(err, "TypeError", "%s%sexpected a tensor or shape, got %s",
				       m.context, m.context[0] ? ": " : "",
				       mpk_value_kind_name(args[0].kind));
	/* the arguments are a code and an operand for each extent, then the text */
	if (wanted < 0 || (uint64_t)wanted > (count - 4) / 2)
		return mpk_relax_raise(err, "InternalError", "%s: %" PRId64 " dimensions", name,
				       wanted);
	if (ndim != (size_t)wanted)
		return mpk_relax_raise(err, "RuntimeError",
				       "%s%sexpected %" PRId64 " dimensions, got %zu", m.context,
				       m.context[0] ? ": " : "", wanted, ndim);
	m.heap = &args[1];
	m.what = what;
	for (size_t i = 0; i < ndim; i++) {
		MPK_TRY(mpk_relax_int(name, args, 3 + 2 * i, &m.code, err));
		MPK_TRY(mpk_relax_int(name, args, 4 + 2 * i, &m.operand, err));
		m.got = extents[i];
		(void)snprintf(what, sizeof what, "dimension %zu", i);
		MPK_TRY(match_one(&m, err));
	}
	return MPK_OK;
}

/* As match_shape, for one integer. */
static enum mpk_code match_prim_value(const struct mpk_value *args, size_t count,
				      struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.match_prim_value";
	struct match m = { .context = context_of(args, count), .what = "the value" };

	(void)result;
	MPK_TRY(mpk_relax_arity(name, count, 5, 5, err));
	MPK_TRY(mpk_relax_int(name, args, 0, &m.got, err));
	MPK_TRY(mpk_relax_int(name, args, 2, &m.code, err));
	MPK_TRY(mpk_relax_int(name, args, 3, &m.operand, err));
	m.heap = &args[1];
	return match_one(&m, err);
}

/* --- making -------------------------------------------------------------------------------- */

/* Computes an extent from its code: a number, or a slot of the heap. */
static enum mpk_code make_one(const struct mpk_value *heap, int64_t code, int64_t operand,
			      int64_t *out, struct mpk_error *err)
{
	int64_t *slot;

	if (code == MAKE_IMMEDIATE) {
		*out = operand;
		return MPK_OK;
	}
	if (code != MAKE_LOAD)
		return mpk_relax_raise(err, "InternalError", "make code %" PRId64 " is not known",
				       code);
	MPK_TRY(shape_slot_of(heap, operand, &slot, err));
	*out = *slot;
	return MPK_OK;
}

static enum mpk_code make_shape(const struct mpk_value *args, size_t count,
				struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.make_shape";
	MPK_CLEANUP(mpk_value_drop) struct mpk_value v = { 0 };
	int64_t ndim, code, operand;

	MPK_TRY(mpk_relax_arity(name, count, 2, SIZE_MAX, err));
	MPK_TRY(mpk_relax_int(name, args, 1, &ndim, err));
	if (ndim < 0 || (uint64_t)ndim > (count - 2) / 2)
		return mpk_relax_raise(err, "InternalError", "%s: %" PRId64 " dimensions", name,
				       ndim);
	MPK_TRY(mpk_value_of_shape(NULL, (size_t)ndim, &v, err));
	for (size_t i = 0; i < (size_t)ndim; i++) {
		MPK_TRY(mpk_relax_int(name, args, 2 + 2 * i, &code, err));
		MPK_TRY(mpk_relax_int(name, args, 3 + 2 * i, &operand, err));
		MPK_TRY(make_one(&args[0], code, operand, &v.shape->extents[i], err));
	}
	*result = v;
	v.kind = MPK_VALUE_NONE;
	return MPK_OK;
}

static enum mpk_code make_prim_value(const struct mpk_value *args, size_t count,
				     struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.make_prim_value";
	int64_t code, operand, value;

	MPK_TRY(mpk_relax_arity(name, count, 3, 3, err));
	MPK_TRY(mpk_relax_int(name, args, 1, &code, err));
	MPK_TRY(mpk_relax_int(name, args, 2, &operand, err));
	MPK_TRY(make_one(&args[0], code, operand, &value, err));
	*result = mpk_value_of_int(value);
	return MPK_OK;
}

static enum mpk_code shape_of(const struct mpk_value *args, size_t count, struct mpk_value *result,
			      struct mpk_error *err)
{
	static const char name[] = "vm.builtin.shape_of";
	struct mpk_tensor *t;

	MPK_TRY(mpk_relax_arity(name, count, 1, 1, err));
	MPK_TRY(mpk_relax_tensor(name, args, 0, &t, err));
	return mpk_value_of_shape(t->dl.shape, (size_t)t->dl.ndim, result, err);
}

/* --- checks -------------------------------------------------------------------------------- */

static enum mpk_code shape_wrong_type(const struct mpk_value *args, size_t count,
				      const char *wanted, struct mpk_error *err)
{
	const char *context = context_of(args, count);

	return mpk_relax_raise(err, "TypeError", "%s%sexpected %s, got %s", context,
			       context[0] ? ": " : "", wanted, mpk_value_kind_name(args[0].kind));
}

/* The void type means "any" up to 0.25, null from 0.26 on; bool was uint1 up to 0.22. */
static bool is_dtype(const struct mpk_value *wanted, struct mpk_dtype got)
{
	if (wanted->kind != MPK_VALUE_DTYPE || wanted->dtype.code == MPK_DTYPE_HANDLE)
		return true;
	return mpk_dtype_equal(wanted->dtype, got) ||
	       (mpk_dtype_is_bool(wanted->dtype) && mpk_dtype_is_bool(got));
}

static enum mpk_code check_tensor_info(const struct mpk_value *args, size_t count,
				       struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.check_tensor_info";
	static const struct mpk_value any = { .kind = MPK_VALUE_NONE };
	const char *context = context_of(args, count);
	char want[MPK_DTYPE_TEXT], got[MPK_DTYPE_TEXT];
	int64_t ndim;

	(void)result;
	MPK_TRY(mpk_relax_arity(name, count, 3, 4, err));
	if (args[0].kind != MPK_VALUE_TENSOR)
		return shape_wrong_type(args, count, "a tensor", err);
	MPK_TRY(mpk_relax_int(name, args, 1, &ndim, err));
	const struct mpk_dltensor *dl = &args[0].tensor->dl;
	/* with three arguments there is no type, and any is accepted */
	const struct mpk_value *dtype = count == 4 ? &args[2] : &any;

	if (ndim != -1 && ndim != dl->ndim)
		return mpk_relax_raise(err, "ValueError",
				       "%s%sexpected %" PRId64 " dimensions, got %d", context,
				       context[0] ? ": " : "", ndim, dl->ndim);
	if (!is_dtype(dtype, dl->dtype))
		return mpk_relax_raise(err, "ValueError", "%s%sexpected type %s, got %s", context,
				       context[0] ? ": " : "", mpk_dtype_print(dtype->dtype, want),
				       mpk_dtype_print(dl->dtype, got));
	return MPK_OK;
}

/* -1 accepts any number, as in checks of ranks. */
static enum mpk_code check_size(const char *name, const struct mpk_value *args, size_t count,
				size_t got, struct mpk_error *err)
{
	const char *context = context_of(args, count);
	int64_t wanted;

	MPK_TRY(mpk_relax_int(name, args, 1, &wanted, err));
	if (wanted == -1 || (wanted >= 0 && (size_t)wanted == got))
		return MPK_OK;
	return mpk_relax_raise(err, "ValueError", "%s%sexpected length %" PRId64 ", got %zu",
			       context, context[0] ? ": " : "", wanted, got);
}

static enum mpk_code check_shape_info(const struct mpk_value *args, size_t count,
				      struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.check_shape_info";

	(void)result;
	MPK_TRY(mpk_relax_arity(name, count, 3, 3, err));
	if (args[0].kind != MPK_VALUE_SHAPE)
		return shape_wrong_type(args, count, "a shape", err);
	return check_size(name, args, count, args[0].shape->ndim, err);
}

static enum mpk_code check_tuple_info(const struct mpk_value *args, size_t count,
				      struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.check_tuple_info";

	(void)result;
	MPK_TRY(mpk_relax_arity(name, count, 3, 3, err));
	if (args[0].kind != MPK_VALUE_ARRAY)
		return shape_wrong_type(args, count, "a tuple", err);
	return check_size(name, args, count, args[0].array->count, err);
}

static enum mpk_code check_prim_value_info(const struct mpk_value *args, size_t count,
					   struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.check_prim_value_info";
	char text[MPK_DTYPE_TEXT];
	bool is_integer, is_real;

	(void)result;
	MPK_TRY(mpk_relax_arity(name, count, 3, 3, err));
	is_integer = args[0].kind == MPK_VALUE_INT || args[0].kind == MPK_VALUE_BOOL;
	is_real = is_integer || args[0].kind == MPK_VALUE_FLOAT;
	if (args[1].kind != MPK_VALUE_DTYPE)
		return mpk_relax_raise(err, "TypeError", "%s: argument 1 must be a type", name);
	switch (args[1].dtype.code) {
	case MPK_DTYPE_INT:
	case MPK_DTYPE_UINT:
	case MPK_DTYPE_BOOL:
		if (is_integer)
			return MPK_OK;
		break;
	case MPK_DTYPE_FLOAT:
		if (is_real)
			return MPK_OK;
		break;
	case MPK_DTYPE_HANDLE:
		if (args[0].kind == MPK_VALUE_OPAQUE || args[0].kind == MPK_VALUE_NONE)
			return MPK_OK;
		break;
	default:
		break;
	}
	return shape_wrong_type(args, count, mpk_dtype_print(args[1].dtype, text), err);
}

static enum mpk_code check_func_info(const struct mpk_value *args, size_t count,
				     struct mpk_value *result, struct mpk_error *err)
{
	(void)result;
	MPK_TRY(mpk_relax_arity("vm.builtin.check_func_info", count, 2, 2, err));
	return args[0].kind == MPK_VALUE_FUNCTION
		       ? MPK_OK
		       : shape_wrong_type(args, count, "a function", err);
}

static enum mpk_code check_string_info(const struct mpk_value *args, size_t count,
				       struct mpk_value *result, struct mpk_error *err)
{
	MPK_TRY(mpk_relax_arity("vm.builtin.check_string_info", count, 2, 2, err));
	(void)result;
	if (args[0].kind == MPK_VALUE_STR)
		return MPK_OK;
	return mpk_relax_raise(err, "TypeError", "%s expect a string, not %s",
			       args[1].kind == MPK_VALUE_STR ? args[1].text->data : "",
			       mpk_value_kind_name(args[0].kind));
}

static const struct mpk_relax_builtin rows[] = {
#define MPK_ROW_shape(...) __VA_ARGS__,
#include "executor/relax/family.def"
};
const struct mpk_relax_builtins mpk_relax_shape_builtins = { rows, MPK_ARRAY_COUNT(rows) };
