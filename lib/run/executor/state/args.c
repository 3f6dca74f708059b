/* SPDX-License-Identifier: Apache-2.0 */
/* args.c - arguments of the builtins of states, checked for their kind, and builtins that are not here
 *
 * Some builtins of TVM need what is not here, and say what. A model that names one loads and runs as far as it does not
 * call it.
 */
#include "executor/state/internal/state.h"

static enum mpk_code state_wrong_kind(const char *name, const struct mpk_value *args, size_t i,
				      const char *wanted, struct mpk_error *err)
{
	return mpk_relax_raise(err, "TypeError", "%s: argument %zu must be %s, not %s", name, i,
			       wanted, mpk_value_kind_name(args[i].kind));
}

enum mpk_code mpk_state_real(const char *name, const struct mpk_value *args, size_t i, double *out,
			     struct mpk_error *err)
{
	switch (args[i].kind) {
	case MPK_VALUE_FLOAT:
		*out = args[i].real;
		return MPK_OK;
	case MPK_VALUE_INT:
		*out = (double)args[i].integer;
		return MPK_OK;
	case MPK_VALUE_BOOL:
		*out = args[i].boolean;
		return MPK_OK;
	case MPK_VALUE_NONE:
	case MPK_VALUE_STR:
	case MPK_VALUE_BYTES:
	case MPK_VALUE_SHAPE:
	case MPK_VALUE_DTYPE:
	case MPK_VALUE_DEVICE:
	case MPK_VALUE_TENSOR:
	case MPK_VALUE_STORAGE:
	case MPK_VALUE_ARRAY:
	case MPK_VALUE_OPAQUE:
	case MPK_VALUE_FUNCTION:
	case MPK_VALUE_MODULE:
	case MPK_VALUE_OBJECT:
	case MPK_VALUE_KIND_COUNT:
		break;
	}
	return state_wrong_kind(name, args, i, "a number", err);
}

enum mpk_code mpk_state_shape(const char *name, const struct mpk_value *args, size_t i,
			      const struct mpk_shape **out, struct mpk_error *err)
{
	if (args[i].kind != MPK_VALUE_SHAPE)
		return state_wrong_kind(name, args, i, "a shape", err);
	*out = args[i].shape;
	return MPK_OK;
}

enum mpk_code mpk_state_function(const char *name, const struct mpk_value *args, size_t i,
				 struct mpk_function **out, struct mpk_error *err)
{
	if (args[i].kind != MPK_VALUE_FUNCTION)
		return state_wrong_kind(name, args, i, "a function", err);
	*out = args[i].function;
	return MPK_OK;
}

enum mpk_code mpk_state_array(const char *name, const struct mpk_value *args, size_t i,
			      struct mpk_array **out, struct mpk_error *err)
{
	if (args[i].kind != MPK_VALUE_ARRAY)
		return state_wrong_kind(name, args, i, "a tuple", err);
	*out = args[i].array;
	return MPK_OK;
}

enum mpk_code mpk_state_text(const char *name, const struct mpk_value *args, size_t i,
			     struct mpk_span *out, struct mpk_error *err)
{
	if (args[i].kind != MPK_VALUE_STR)
		return state_wrong_kind(name, args, i, "a string", err);
	*out = mpk_value_text_span(&args[i]);
	return MPK_OK;
}

enum mpk_code mpk_state_object(const char *name, const struct mpk_value *args, size_t i,
			       void (*release)(struct mpk_object *object), const char *type,
			       struct mpk_object **out, struct mpk_error *err)
{
	if (args[i].kind != MPK_VALUE_OBJECT || args[i].object->release != release)
		return mpk_relax_raise(
			err, "TypeError", "%s: argument %zu must be %s, not %s", name, i, type,
			args[i].kind == MPK_VALUE_OBJECT ? args[i].object->type
							 : mpk_value_kind_name(args[i].kind));
	*out = args[i].object;
	return MPK_OK;
}

/* --- builtins that are not here --------------------------------------------------------------- */

static enum mpk_code needs(struct mpk_error *err, const char *what)
{
	return mpk_fail(err, MPK_E_UNSUPPORTED, "this builtin needs %s", what);
}

#define ABSENT(function, what)                                                                     \
	static enum mpk_code function(const struct mpk_value *args, size_t count,                  \
				      struct mpk_value *result, struct mpk_error *err)             \
	{                                                                                          \
		(void)args;                                                                        \
		(void)count;                                                                       \
		(void)result;                                                                      \
		return needs(err, what);                                                           \
	}

ABSENT(absent_nvshmem,
       "NVSHMEM, by which caches of several processes send each other keys and values")
ABSENT(absent_pages, "page groups, in which TVM takes a cache from one process to another")
ABSENT(absent_python, "functions of Python, which are registered in TVM's own process")

static const struct mpk_relax_builtin rows[] = {
#define MPK_ROW_absent(...) __VA_ARGS__,
#include "executor/relax/family.def"
};

const struct mpk_relax_builtins mpk_relax_absent_builtins = { rows, MPK_ARRAY_COUNT(rows) };
