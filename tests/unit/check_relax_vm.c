/* SPDX-License-Identifier: Apache-2.0 */
/* The machine of the Relax VM: control flow, calls, plans and what byte code may not do. What its
 * builtins do: check_relax_builtins.c; whole models: tests/interop/test_relax_vm.py */
#include <stdatomic.h>

#include "executor/executor.h"
#include "executor/plan/plan.h"
#include "executor/relax/internal/relax.h"
#include "relax_made.h"
#include "session/call.h"

static const struct mpk_dtype f32 = { MPK_DTYPE_FLOAT, 32, 1 };

/* --- kernels ------------------------------------------------------------------------------- */

static atomic_int kernel_calls; /* threads call kernels, too */

static float *floats(const struct mpk_args *args, size_t i)
{
	return mpk_dltensor_data(&args->values[i].tensor->dl);
}

/* out = a + b, element by element */
static enum mpk_code add(const struct mpk_args *args, struct mpk_value *result,
			 struct mpk_error *err)
{
	kernel_calls++;
	if (args->count != 3 || args->values[0].kind != MPK_VALUE_TENSOR)
		return mpk_fail(err, MPK_E_RAISED, "TypeError: add takes three tensors");
	for (uint64_t i = 0; i < mpk_tensor_count(args->values[2].tensor); i++)
		floats(args, 2)[i] = floats(args, 0)[i] + floats(args, 1)[i];
	(void)result;
	return MPK_OK;
}

/* a[0] = 100: a kernel that writes into its input */
static enum mpk_code mark(const struct mpk_args *args, struct mpk_value *result,
			  struct mpk_error *err)
{
	(void)result;
	(void)err;
	floats(args, 0)[0] = 100;
	return MPK_OK;
}

/* a[0] = n, an extent that is passed beside the tensors */
static enum mpk_code count_of(const struct mpk_args *args, struct mpk_value *result,
			      struct mpk_error *err)
{
	(void)result;
	kernel_calls++;
	if (args->count != 3 || args->values[1].kind != MPK_VALUE_INT)
		return mpk_fail(err, MPK_E_RAISED, "TypeError: a tensor and two integers");
	floats(args, 0)[0] = (float)(args->values[1].integer * 100 + args->values[2].integer);
	return MPK_OK;
}

static enum mpk_code fail_always(const struct mpk_args *args, struct mpk_value *result,
				 struct mpk_error *err)
{
	(void)args;
	(void)result;
	return mpk_fail(err, MPK_E_RAISED, "ValueError: this kernel fails");
}

static const struct made_kernel kernels[] = {
	{ .name = "add", .call = add },
	{ .name = "mark", .call = mark },
	{ .name = "count_of", .call = count_of },
	{ .name = "fail", .call = fail_always },
	{ .name = NULL },
};

/* --- values -------------------------------------------------------------------------------- */

static struct mpk_value tensor_of(int64_t count, float value)
{
	struct mpk_tensor *t = NULL;
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_tensor_create(f32, &count, 1, MPK_STORAGE_PRIVATE, &t, &err), err);
	for (int64_t i = 0; i < count; i++)
		((float *)t->dl.data)[i] = value;
	return mpk_value_of_tensor(t);
}

static float first(const struct mpk_value *v)
{
	return ((float *)mpk_dltensor_data(&v->tensor->dl))[0];
}

static struct mpk_relax_const shape_const(const int64_t *extents, size_t ndim)
{
	return (struct mpk_relax_const){ .kind = MPK_RELAX_SHAPE,
					 .u.shape = mpk_span_of(extents, ndim * 8) };
}

static struct mpk_relax_const string_const(const char *s)
{
	return (struct mpk_relax_const){ .kind = MPK_RELAX_STRING, .u.string = mpk_span_str(s) };
}

static const int64_t sixteen = 16, four = 4;

/* f(x: f32[n]): y = x + x; z = y + x; return z; with two storages of 16 bytes. */
static void sum_program(struct made *m)
{
	int64_t add_f = made_packed(m, "add");
	int64_t storage = made_packed(m, "vm.builtin.alloc_storage");
	int64_t tensor = made_packed(m, "vm.builtin.alloc_tensor");
	int64_t null = made_packed(m, "vm.builtin.null_value");
	int64_t bytes = made_const(m, shape_const(&sixteen, 1));
	int64_t shape = made_const(m, shape_const(&four, 1));
	int64_t u8 = made_const(
		m, (struct mpk_relax_const){ .kind = MPK_RELAX_DTYPE, .u.dtype = { 1, 8, 1 } });
	int64_t type =
		made_const(m, (struct mpk_relax_const){ .kind = MPK_RELAX_DTYPE, .u.dtype = f32 });
	int64_t global = made_const(m, string_const("global"));

	(void)made_function(m, "f", 1, 5);
	CALL(m, 1, storage, REG(VM), CONST(bytes), INT(0), CONST(u8), CONST(global));
	CALL(m, 2, tensor, REG(1), INT(0), CONST(shape), CONST(type));
	CALL(m, VOID, add_f, REG(0), REG(0), REG(2));
	CALL(m, 3, storage, REG(VM), CONST(bytes), INT(0), CONST(u8), CONST(global));
	CALL(m, 4, tensor, REG(3), INT(0), CONST(shape), CONST(type));
	CALL0(m, 3, null);
	CALL(m, VOID, add_f, REG(2), REG(0), REG(4));
	CALL0(m, 2, null);
	RET(m, REG(4));
}

static struct mpk_plan_stats plan_stats(struct model *m)
{
	const struct mpk_relax_vm *vm =
		(struct mpk_relax_vm *)mpk_node_machine((const struct mpk_node_module *)m->root);

	return mpk_plans_get_stats(vm->plans);
}

/* --- plans --------------------------------------------------------------------------------- */

/* As byte code, recorded, replayed: the same numbers, and kernels are called each time. */
START_TEST(a_plan_gives_what_byte_code_gave)
{
	struct made program = { 0 };
	struct model m = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_value result;

	sum_program(&program);
	model_open(&m, &program, kernels);
	kernel_calls = 0;
	for (int i = 0; i < 10; i++) {
		struct mpk_value x = tensor_of(4, (float)i);

		ck_assert_ok(model_call(&m, "f", &x, 1, &result, &err), err);
		ck_assert_float_eq(first(&result), 3 * (float)i);
		ck_assert_int_eq(kernel_calls, 2 * (i + 1));
		mpk_value_drop(&result);
		mpk_value_drop(&x);
	}
	ck_assert_uint_eq(plan_stats(&m).recorded, 1);
	ck_assert_uint_eq(plan_stats(&m).replayed, 8);
	model_close(&m);
}
END_TEST

/* A result belongs to the caller until he drops it. */
START_TEST(a_held_result_is_not_overwritten)
{
	struct made program = { 0 };
	struct model m = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_value results[6];

	sum_program(&program);
	model_open(&m, &program, kernels);
	for (int i = 0; i < 6; i++) {
		struct mpk_value x = tensor_of(4, (float)i);

		ck_assert_ok(model_call(&m, "f", &x, 1, &results[i], &err), err);
		mpk_value_drop(&x);
	}
	for (int i = 0; i < 6; i++) {
		ck_assert_float_eq(first(&results[i]), 3 * (float)i);
		mpk_value_drop(&results[i]);
	}
	model_close(&m);
}
END_TEST

START_TEST(a_steady_state_allocates_nothing)
{
	struct made program = { 0 };
	struct model m = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_value x = tensor_of(4, 1), result;
	struct mpk_allocator *allocator = NULL;
	struct mpk_allocator_stats before, after;

	sum_program(&program);
	model_open(&m, &program, kernels);
	ck_assert_ok(mpk_devices_allocator(mpk_runtime_devices(m.runtime),
					   (struct mpk_dldevice){ MPK_DL_CPU, 0 }, &allocator,
					   &err),
		     err);
	for (int i = 0; i < 100; i++) {
		if (i == 10)
			before = mpk_allocator_get_stats(allocator);
		ck_assert_ok(model_call(&m, "f", &x, 1, &result, &err), err);
		mpk_value_drop(&result);
	}
	after = mpk_allocator_get_stats(allocator);
	ck_assert_uint_eq(after.given, before.given);
	ck_assert_uint_eq(after.held_bytes, before.held_bytes);
	mpk_value_drop(&x);
	model_close(&m);
}
END_TEST

/* g(x, y): z = x + y. Recorded with one tensor twice, called with two. */
START_TEST(one_tensor_twice_is_two_inputs)
{
	struct made program = { 0 };
	struct model m = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_value args[2], result;

	int64_t add_f = made_packed(&program, "add");
	(void)made_function(&program, "g", 3, 3);
	CALL(&program, VOID, add_f, REG(0), REG(1), REG(2));
	RET(&program, REG(2));
	model_open(&m, &program, kernels);
	for (int i = 0; i < 5; i++) {
		struct mpk_value three[3];

		args[0] = tensor_of(2, 1);
		args[1] = tensor_of(2, 10);
		three[0] = args[0];
		three[1] = i < 3 ? args[0] : args[1];
		three[2] = tensor_of(2, 0);
		ck_assert_ok(model_call(&m, "g", three, 3, &result, &err), err);
		ck_assert_float_eq(first(&result), i < 3 ? 2 : 11);
		ck_assert_float_eq(first(&three[2]), i < 3 ? 2 : 11);
		mpk_value_drop(&result);
		mpk_value_drop(&args[0]);
		mpk_value_drop(&args[1]);
		mpk_value_drop(&three[2]);
	}
	ck_assert_uint_eq(plan_stats(&m).replayed, 3);
	model_close(&m);
}
END_TEST

/* h(x): mark(x); return (x, x): the caller sees what the kernel wrote, and gets his tensor back. */
START_TEST(inputs_are_passed_by_reference)
{
	struct made program = { 0 };
	struct model m = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_value result;

	int64_t mark_f = made_packed(&program, "mark");
	int64_t tuple = made_packed(&program, "vm.builtin.make_tuple");
	(void)made_function(&program, "h", 1, 2);
	CALL(&program, VOID, mark_f, REG(0));
	CALL(&program, 1, tuple, REG(0), REG(0));
	RET(&program, REG(1));
	model_open(&m, &program, kernels);
	for (int i = 0; i < 4; i++) {
		struct mpk_value x = tensor_of(2, 1);

		ck_assert_ok(model_call(&m, "h", &x, 1, &result, &err), err);
		ck_assert_float_eq(first(&x), 100);
		ck_assert_uint_eq(result.array->count, 2);
		ck_assert_ptr_eq(mpk_dltensor_data(&result.array->items[1].tensor->dl),
				 mpk_dltensor_data(&x.tensor->dl));
		/* what came back keeps the memory of what was given */
		mpk_value_drop(&x);
		ck_assert_float_eq(first(&result.array->items[0]), 100);
		mpk_value_drop(&result);
	}
	ck_assert_uint_eq(plan_stats(&m).recorded, 1);
	model_close(&m);
}
END_TEST

/* c(x): if read_if_cond(x): return x else return x + x: what depends on content stays byte code. */
START_TEST(what_depends_on_content_has_no_plan)
{
	static const struct mpk_dtype i32 = { MPK_DTYPE_INT, 32, 1 };
	struct made program = { 0 };
	struct model m = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_value result, args[1];
	struct mpk_tensor *condition = NULL;

	int64_t read = made_packed(&program, "vm.builtin.read_if_cond");
	(void)made_function(&program, "c", 1, 2);
	CALL(&program, 1, read, REG(0));
	IF(&program, REG(1), 2);
	RET(&program, REG(0));
	RET(&program, REG(1));
	model_open(&m, &program, kernels);
	ck_assert_ok(mpk_tensor_create(i32, NULL, 0, MPK_STORAGE_PRIVATE, &condition, &err), err);
	args[0] = mpk_value_of_tensor(condition);
	for (int i = 0; i < 6; i++) {
		*(int32_t *)condition->dl.data = i % 2 ? 0x100 : 0;
		ck_assert_ok(model_call(&m, "c", args, 1, &result, &err), err);
		ck_assert_int_eq(result.kind, i % 2 ? MPK_VALUE_TENSOR : MPK_VALUE_BOOL);
		mpk_value_drop(&result);
	}
	ck_assert_uint_eq(plan_stats(&m).replayed, 0);
	ck_assert_uint_eq(plan_stats(&m).unplannable, 1); /* tried once, and never again */
	mpk_value_drop(&args[0]);
	model_close(&m);
}
END_TEST

/* More lengths than a machine keeps plans: right all the same, and the plans are bounded. */
START_TEST(many_shapes_stay_bounded)
{
	struct made program = { 0 };
	struct model m = { 0 };
	struct mpk_error err = { 0 };

	int64_t add_f = made_packed(&program, "add");
	(void)made_function(&program, "g", 2, 2);
	CALL(&program, VOID, add_f, REG(0), REG(0), REG(1));
	RET(&program, REG(1));
	model_open(&m, &program, kernels);
	for (int round = 0; round < 4; round++)
		for (int64_t n = 1; n <= 600; n++) {
			struct mpk_value args[] = { tensor_of(n, (float)n), tensor_of(n, 0) };
			struct mpk_value result;

			ck_assert_ok(model_call(&m, "g", args, 2, &result, &err), err);
			ck_assert_float_eq(first(&result), 2 * (float)n);
			ck_assert_int_eq(result.tensor->dl.shape[0], n);
			ck_assert_float_eq(((float *)result.tensor->dl.data)[n - 1], 2 * (float)n);
			mpk_value_drop(&result);
			mpk_value_drop(&args[0]);
			mpk_value_drop(&args[1]);
		}
	ck_assert_uint_le(plan_stats(&m).kept, 256);
	ck_assert_uint_gt(plan_stats(&m).replayed, 0);
	model_close(&m);
}
END_TEST

/* call_tir_dyn passes extents as integers: the plan does, too. */
START_TEST(extents_are_arguments)
{
	static const int64_t extents[] = { 5, 7 };
	struct made program = { 0 };
	struct model m = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_value arg, result = { 0 };

	int64_t dyn = made_packed(&program, "vm.builtin.call_tir_dyn");
	int64_t kernel = made_packed(&program, "count_of");
	int64_t shape = made_const(&program, shape_const(extents, 2));
	(void)made_function(&program, "f", 1, 1);
	CALL(&program, VOID, dyn, FUNC(kernel), REG(0), CONST(shape));
	RET(&program, REG(0));
	model_open(&m, &program, kernels);
	arg = tensor_of(2, 0);
	for (int i = 1; i <= 4; i++) {
		kernel_calls = 0;
		((float *)arg.tensor->dl.data)[0] = 0;
		ck_assert_ok(model_call(&m, "f", &arg, 1, &result, &err), err);
		ck_assert_float_eq(first(&result), 507);
		ck_assert_int_eq(kernel_calls, 1);
		mpk_value_drop(&result);
	}
	ck_assert_uint_eq(plan_stats(&m).replayed, 2);
	mpk_value_drop(&arg);
	model_close(&m);
}
END_TEST

START_TEST(a_device_that_the_model_has_not)
{
	struct made program = { 0 };
	struct model m = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_value result;

	int64_t storage = made_packed(&program, "vm.builtin.alloc_storage");
	int64_t bytes = made_const(&program, shape_const(&sixteen, 1));
	int64_t u8 = made_const(&program, (struct mpk_relax_const){ .kind = MPK_RELAX_DTYPE,
								    .u.dtype = { 1, 8, 1 } });
	(void)made_function(&program, "f", 0, 1);
	CALL(&program, 0, storage, REG(VM), CONST(bytes), INT(1), CONST(u8));
	RET(&program, REG(0));
	model_open(&m, &program, kernels);
	ck_assert_int_eq(model_call(&m, "f", NULL, 0, &result, &err), MPK_E_RAISED);
	ck_assert_text(err, "device 1 of 1: the model wants more devices");
	ck_assert_ptr_null(strstr(err.text, "--"));
	mpk_hint_add(&err);
	ck_assert_text(err, "more devices, name them with --device A,B");
	model_close(&m);
}
END_TEST

/* --- control flow -------------------------------------------------------------------------- */

/* count(n): if n: return count(n - 1)... by way of a closure: the depth has an end. */
START_TEST(recursion_without_end_is_an_error)
{
	struct made program = { 0 };
	struct model m = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_value arg = mpk_value_of_int(1), result;

	int64_t direct = made_function(&program, "direct", 1, 2);
	CALL(&program, 1, direct, REG(0));
	RET(&program, REG(1));
	int64_t invoke = made_packed(&program, "vm.builtin.invoke_closure");
	int64_t through = made_function(&program, "through", 1, 2);
	CALL(&program, 1, invoke, REG(VM), FUNC(through), REG(0));
	RET(&program, REG(1));
	model_open(&m, &program, kernels);
	ck_assert_int_eq(model_call(&m, "direct", &arg, 1, &result, &err), MPK_E_RAISED);
	ck_assert_text(err, "recursion without end");
	ck_assert_int_eq(model_call(&m, "through", &arg, 1, &result, &err), MPK_E_RAISED);
	ck_assert_text(err, "recursion without end");
	/* the machine is as good as before */
	ck_assert_int_eq(model_call(&m, "direct", &arg, 0, &result, &err), MPK_E_USAGE);
	ck_assert_text(err, "is missing");
	model_close(&m);
}
END_TEST

/* A closure appends what it captured; a function of the table is a value. */
START_TEST(closures_append_what_they_captured)
{
	struct made program = { 0 };
	struct model m = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_value args[2] = { mpk_value_of_int(1), mpk_value_of_int(2) }, result, pair;
	struct mpk_args call = { args, NULL, 1 };

	int64_t tuple = made_packed(&program, "vm.builtin.make_tuple");
	int64_t make = made_packed(&program, "vm.builtin.make_closure");
	int64_t both = made_function(&program, "both", 2, 3);
	CALL(&program, 2, tuple, REG(0), REG(1));
	RET(&program, REG(2));
	(void)made_function(&program, "close", 1, 2);
	CALL(&program, 1, make, FUNC(both), REG(0));
	RET(&program, REG(1));
	model_open(&m, &program, kernels);
	ck_assert_ok(model_call(&m, "close", &args[1], 1, &result, &err), err);
	ck_assert_int_eq(result.kind, MPK_VALUE_FUNCTION);
	ck_assert_ok(mpk_function_call(result.function, &call, &pair, &err), err);
	ck_assert_int_eq(pair.array->items[0].integer, 1);
	ck_assert_int_eq(pair.array->items[1].integer, 2);
	mpk_value_drop(&pair);
	/* the closure keeps the machine when everything else has gone */
	mpk_module_drop(m.root);
	m.root = NULL;
	ck_assert_ok(mpk_function_call(result.function, &call, &pair, &err), err);
	mpk_value_drop(&pair);
	mpk_value_drop(&result);
	model_close(&m);
}
END_TEST

START_TEST(an_error_leaves_the_machine_whole)
{
	struct made program = { 0 };
	struct model m = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_value x = tensor_of(4, 1), result;

	int64_t fail_f = made_packed(&program, "fail");
	int64_t inner = made_function(&program, "inner", 1, 1);
	CALL(&program, VOID, fail_f, REG(0));
	RET(&program, REG(0));
	(void)made_function(&program, "outer", 1, 2);
	CALL(&program, 1, inner, REG(0));
	RET(&program, REG(1));
	sum_program(&program);
	model_open(&m, &program, kernels);
	for (int i = 0; i < 5; i++) {
		ck_assert_int_eq(model_call(&m, "outer", &x, 1, &result, &err), MPK_E_RAISED);
		ck_assert_text(err, "ValueError: this kernel fails");
		ck_assert_ok(model_call(&m, "f", &x, 1, &result, &err), err);
		ck_assert_float_eq(first(&result), 3);
		mpk_value_drop(&result);
	}
	mpk_value_drop(&x);
	model_close(&m);
}
END_TEST

/* --- what is missing or broken ------------------------------------------------------------- */

START_TEST(missing_functions_are_named_for_those_who_need_them)
{
	struct made program = { 0 };
	struct model m = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_value result;

	int64_t cache = made_packed(&program, "vm.builtin.hexagon.dma_wait");
	int64_t nobody = made_packed(&program, "nobody_has_this");
	int64_t needs = made_function(&program, "needs", 0, 1);
	CALL0(&program, 0, cache);
	CALL0(&program, 0, nobody);
	RET(&program, REG(0));
	(void)made_function(&program, "calls", 0, 1);
	CALL0(&program, 0, needs);
	RET(&program, REG(0));
	(void)made_function(&program, "fine", 0, 1);
	RET(&program, VOID);
	model_open(&m, &program, kernels);
	ck_assert_int_eq(model_call(&m, "calls", NULL, 0, &result, &err), MPK_E_LOAD);
	ck_assert_text(err, "vm.builtin.hexagon.dma_wait, nobody_has_this");
	ck_assert_ok(model_call(&m, "fine", NULL, 0, &result, &err), err);
	ck_assert_int_eq(result.kind, MPK_VALUE_NONE);
	model_close(&m);
}
END_TEST

/* Programs that must be refused when they are loaded. */
static void open_broken(struct made *program, const char *why)
{
	struct model m = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_value result;

	model_open(&m, program, kernels);
	ck_assert_int_eq(model_call(&m, "f", NULL, 0, &result, &err), MPK_E_CORRUPT);
	ck_assert_text(err, why);
	model_close(&m);
}

START_TEST(broken_byte_code_is_refused)
{
	struct made p = { 0 };

	(void)made_function(&p, "f", 0, 1);
	RET(&p, REG(1));
	open_broken(&p, "register 1 does not exist");

	p = (struct made){ 0 };
	(void)made_function(&p, "f", 0, 1);
	CALL0(&p, 0, 7);
	RET(&p, REG(0));
	open_broken(&p, "function 7 does not exist");

	p = (struct made){ 0 };
	(void)made_function(&p, "f", 0, 1);
	CALL(&p, 0, 0, CONST(3));
	RET(&p, REG(0));
	open_broken(&p, "constant 3 does not exist");

	p = (struct made){ 0 };
	(void)made_function(&p, "f", 0, 1);
	GOTO(&p, 5);
	open_broken(&p, "jump target");

	p = (struct made){ 0 };
	(void)made_function(&p, "f", 0, 1);
	CALL0(&p, 0, 0);
	open_broken(&p, "does not end in a return");

	p = (struct made){ 0 };
	(void)made_function(&p, "f", 0, INT64_C(1) << 40);
	RET(&p, REG(0));
	open_broken(&p, "registers");

	p = (struct made){ 0 };
	(void)made_function(&p, "f", 3, 2);
	RET(&p, REG(0));
	open_broken(&p, "3 arguments");
}
END_TEST

/* Builtins get what the registers hold, whatever that is. */
START_TEST(wrong_kinds_are_errors)
{
	static const char *const names[] = {
		"vm.builtin.alloc_storage",      "vm.builtin.alloc_tensor",
		"vm.builtin.alloc_shape_heap",   "vm.builtin.match_shape",
		"vm.builtin.make_shape",         "vm.builtin.reshape",
		"vm.builtin.tuple_getitem",      "vm.builtin.invoke_closure",
		"vm.builtin.make_closure",       "vm.builtin.call_tir_dyn",
		"vm.builtin.to_device",          "vm.builtin.read_if_cond",
		"vm.builtin.tensor_to_shape",    "vm.builtin.shape_of",
		"vm.builtin.ensure_zero_offset", "vm.builtin.check_tensor_info",
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(names); i++) {
		struct made p = { 0 };
		struct model m = { 0 };
		struct mpk_error err = { 0 };
		struct mpk_value result;
		int64_t text = made_const(&p, string_const("text"));
		int64_t f = made_packed(&p, names[i]);

		(void)made_function(&p, "f", 0, 1);
		CALL(&p, 0, f, CONST(text), CONST(text), CONST(text), CONST(text));
		RET(&p, REG(0));
		(void)made_function(&p, "g", 0, 1);
		CALL0(&p, 0, f);
		RET(&p, REG(0));
		model_open(&m, &p, kernels);
		ck_assert_int_eq(model_call(&m, "f", NULL, 0, &result, &err), MPK_E_RAISED);
		ck_assert_int_eq(model_call(&m, "g", NULL, 0, &result, &err), MPK_E_RAISED);
		model_close(&m);
	}
}
END_TEST

/* --- two machines -------------------------------------------------------------------------- */

START_TEST(load_call_close_a_thousand_times)
{
	struct made program = { 0 };
	struct mpk_error err = { 0 };

	sum_program(&program);
	for (int i = 0; i < 1000; i++) {
		struct model m = { 0 };
		struct mpk_value x = tensor_of(4, 2), result;

		model_open(&m, &program, kernels);
		for (int call = 0; call < 3; call++) {
			ck_assert_ok(model_call(&m, "f", &x, 1, &result, &err), err);
			mpk_value_drop(&result);
		}
		mpk_value_drop(&x);
		model_close(&m);
	}
}
END_TEST

static void *run_many(void *model)
{
	struct mpk_error err = { 0 };
	intptr_t wrong = 0;

	for (int i = 0; i < 2000; i++) {
		struct mpk_value x = tensor_of(4, (float)i), result = { 0 };

		wrong += model_call(model, "f", &x, 1, &result, &err) != MPK_OK ||
			 first(&result) != 3 * (float)i;
		mpk_value_drop(&result);
		mpk_value_drop(&x);
	}
	return (void *)wrong;
}

/* One machine is used by one thread at a time, two machines by two. */
START_TEST(threads_do_not_meet)
{
	struct made program = { 0 };
	struct model models[2] = { 0 };
	pthread_t threads[4];

	sum_program(&program);
	model_open(&models[0], &program, kernels);
	model_open(&models[1], &program, kernels);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, run_many, &models[i % 2]), 0);
	for (int i = 0; i < 4; i++) {
		void *wrong;

		ck_assert_int_eq(pthread_join(threads[i], &wrong), 0);
		ck_assert_ptr_null(wrong);
	}
	model_close(&models[0]);
	model_close(&models[1]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("relax_vm");
	TCase *tc = tcase_create("relax_vm");
	SRunner *r = srunner_create(s);

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, a_device_that_the_model_has_not);
	tcase_add_test(tc, a_plan_gives_what_byte_code_gave);
	tcase_add_test(tc, a_held_result_is_not_overwritten);
	tcase_add_test(tc, a_steady_state_allocates_nothing);
	tcase_add_test(tc, one_tensor_twice_is_two_inputs);
	tcase_add_test(tc, inputs_are_passed_by_reference);
	tcase_add_test(tc, what_depends_on_content_has_no_plan);
	tcase_add_test(tc, many_shapes_stay_bounded);
	tcase_add_test(tc, extents_are_arguments);
	tcase_add_test(tc, recursion_without_end_is_an_error);
	tcase_add_test(tc, closures_append_what_they_captured);
	tcase_add_test(tc, an_error_leaves_the_machine_whole);
	tcase_add_test(tc, missing_functions_are_named_for_those_who_need_them);
	tcase_add_test(tc, broken_byte_code_is_refused);
	tcase_add_test(tc, wrong_kinds_are_errors);
	tcase_add_test(tc, load_call_close_a_thousand_times);
	tcase_add_test(tc, threads_do_not_meet);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
