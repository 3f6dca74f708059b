/* SPDX-License-Identifier: Apache-2.0 */
/* closure.c - builtins that make and call functions
 *
 * A closure is a function like any other, so callers need not know about it. Captured values are
 * appended to the arguments, as in TVM (VMClosure::BindLastArgs), because the compiler puts
 * captured variables last. */
#include <stdlib.h>
#include <string.h>

#include "executor/relax/internal/relax.h"
#include "runtime/runtime.h"

/* A closure: a function with values that are appended to the arguments of each call. */
struct closure {
	struct mpk_function base;
	struct mpk_function *target;
	size_t captured_count;
	struct mpk_value captured[];
};

/* Calls with the arguments of both lists, one after the other. */
static enum mpk_code call_with(struct mpk_function *f, const struct mpk_value *first,
			       size_t first_count, const struct mpk_value *second,
			       size_t second_count, struct mpk_value *result, struct mpk_error *err)
{
	size_t count = first_count + second_count;
	struct mpk_value few[16], *values = few;
	enum mpk_code code;

	if (count > MPK_ARRAY_COUNT(few))
		values = malloc(count * sizeof *values);
	if (!values)
		return mpk_fail_nomem(err);
	if (first_count)
		memcpy(values, first, first_count * sizeof *values);
	if (second_count)
		memcpy(values + first_count, second, second_count * sizeof *values);
	code = mpk_function_call(f, &(struct mpk_args){ values, NULL, count }, result, err);
	if (values != few)
		free(values);
	return code;
}

static enum mpk_code call_closure(struct mpk_function *self, const struct mpk_args *args,
				  struct mpk_value *result, struct mpk_error *err)
{
	struct closure *c = (struct closure *)self;

	return call_with(c->target, args->values, args->count, c->captured, c->captured_count,
			 result, err);
}

static void destroy_closure(struct mpk_function *self)
{
	struct closure *c = (struct closure *)self;

	for (size_t i = 0; i < c->captured_count; i++)
		mpk_value_drop(&c->captured[i]);
	mpk_function_drop(c->target);
	free(c);
}

/* An argument that must be a function; borrowed. */
static enum mpk_code function_arg(const char *name, const struct mpk_value *args, size_t i,
				  struct mpk_function **out, struct mpk_error *err)
{
	if (args[i].kind != MPK_VALUE_FUNCTION)
		return mpk_relax_raise(err, "TypeError",
				       "%s: argument %zu must be a function, not %s", name, i,
				       mpk_value_kind_name(args[i].kind));
	*out = args[i].function;
	return MPK_OK;
}

static enum mpk_code make_closure(const struct mpk_value *args, size_t count,
				  struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.make_closure";
	struct mpk_function *target;
	struct closure *c;

	MPK_TRY(mpk_relax_arity(name, count, 1, SIZE_MAX, err));
	MPK_TRY(function_arg(name, args, 0, &target, err));
	c = calloc(1, sizeof *c + (count - 1) * sizeof c->captured[0]);
	if (!c)
		return mpk_fail_nomem(err);
	c->base = (struct mpk_function){
		.refs = 1,
		.name = target->name,
		.call = call_closure,
		.destroy = destroy_closure,
	};
	c->target = mpk_function_hold(target);
	c->captured_count = count - 1;
	for (size_t i = 1; i < count; i++)
		c->captured[i - 1] = mpk_value_hold(args[i]);
	*result = mpk_value_of_function(&c->base);
	return MPK_OK;
}

/* invoke_closure(machine, function, arguments...). The machine is not needed, because functions
 * here are bound to theirs; applications that call the builtin by name have none. */
static enum mpk_code invoke_closure(const struct mpk_value *args, size_t count,
				    struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.invoke_closure";
	const size_t at = !count || args[0].kind != MPK_VALUE_FUNCTION;
	struct mpk_function *f;

	MPK_TRY(mpk_relax_arity(name, count, at + 1, SIZE_MAX, err));
	MPK_TRY(function_arg(name, args, at, &f, err));
	return mpk_function_call(f, &(struct mpk_args){ args + at + 1, NULL, count - at - 1 },
				 result, err);
}

/* call_tir_dyn(function, tensors..., shape) passes each extent as a separate argument. */
static enum mpk_code call_tir_dyn(const struct mpk_value *args, size_t count,
				  struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.call_tir_dyn";
	struct mpk_value few[MPK_TENSOR_NDIM_MAX], *extents = few;
	const struct mpk_shape *shape;
	struct mpk_function *f;
	enum mpk_code code;

	MPK_TRY(mpk_relax_arity(name, count, 2, SIZE_MAX, err));
	MPK_TRY(function_arg(name, args, 0, &f, err));
	if (args[count - 1].kind != MPK_VALUE_SHAPE)
		return mpk_relax_raise(err, "TypeError", "%s: the last argument must be a shape",
				       name);
	/* extents are passed as single integers, which is what kernels take */
	shape = args[count - 1].shape;
	if (shape->ndim > MPK_ARRAY_COUNT(few))
		extents = malloc(shape->ndim * sizeof *extents);
	MPK_TRY_ALLOC(extents, err);
	for (size_t i = 0; i < shape->ndim; i++)
		extents[i] = mpk_value_of_int(shape->extents[i]);
	code = call_with(f, args + 1, count - 2, extents, shape->ndim, result, err);
	if (extents != few)
		free(extents);
	return code;
}

/* Capturing a GPU's launches in a graph is only an optimisation; calling the function is always
 * correct. */
static enum mpk_code run_or_capture(const struct mpk_value *args, size_t count,
				    struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.cuda_graph.run_or_capture";
	struct mpk_function *f;

	MPK_TRY(mpk_relax_arity(name, count, 4, 5, err));
	MPK_TRY(function_arg(name, args, 1, &f, err));
	if (args[2].kind != MPK_VALUE_ARRAY)
		return mpk_relax_raise(err, "TypeError", "%s: argument 2 must be a tuple", name);
	return mpk_function_call(
		f, &(struct mpk_args){ args[2].array->items, NULL, args[2].array->count }, result,
		err);
}

/* Calls the function that makes the storages of a launch graph; there is no graph to keep them for. */
static enum mpk_code get_cached_alloc(const struct mpk_value *args, size_t count,
				      struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.cuda_graph.get_cached_alloc";
	struct mpk_function *f;

	MPK_TRY(mpk_relax_arity(name, count, 3, 3, err));
	MPK_TRY(function_arg(name, args, 1, &f, err));
	return mpk_function_call(f, &(struct mpk_args){ 0 }, result, err);
}

/* Arguments: (nothing, name of a global function, line, arguments...). The function gets the line
 * and the arguments. */
static enum mpk_code invoke_debug_func(const struct mpk_value *args, size_t count,
				       struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.invoke_debug_func";
	struct mpk_runtime *runtime = mpk_context_get().runtime;
	struct mpk_value returned = { 0 };
	struct mpk_function *f = NULL;

	(void)result;
	MPK_TRY(mpk_relax_arity(name, count, 3, SIZE_MAX, err));
	if (args[0].kind != MPK_VALUE_NONE || args[1].kind != MPK_VALUE_STR ||
	    args[2].kind != MPK_VALUE_STR)
		return mpk_relax_raise(err, "TypeError", "%s: wrong arguments", name);
	if (runtime)
		MPK_TRY(mpk_runtime_find_global(runtime, args[1].text->data, &f, err));
	if (!f)
		return mpk_relax_raise(err, "ValueError",
				       "%s: there is no global function '%s' in this program", name,
				       args[1].text->data);
	MPK_TRY(mpk_function_call(f, &(struct mpk_args){ args + 2, NULL, count - 2 }, &returned,
				  err));
	mpk_value_drop(&returned);
	return MPK_OK;
}

static const struct mpk_relax_builtin rows[] = {
#define MPK_ROW_closure(...) __VA_ARGS__,
#include "executor/relax/family.def"
};
const struct mpk_relax_builtins mpk_relax_closure_builtins = { rows, MPK_ARRAY_COUNT(rows) };
