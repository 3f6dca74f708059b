/* The machine of the Relay VM: every instruction, control flow, data types, closures, dynamic shapes,
 * and that plans give what byte code gives. Loading, inputs and broken byte code: check_relay_load.c;
 * a whole model: check_relay_model.c */
#include "executor/plan/plan.h"
#include "relay_made.h"
#include "skip.h"

/* --- kernels, in the convention of TVM 0.8 to 0.19 ----------------------------------------- */

static int calls;

#define KERNEL(name)                                                                               \
	static int name(union mpk_tvm_value *args, int *codes, int count,                          \
			union mpk_tvm_value *result, int *result_code, void *resource)
#define UNUSED                                                                                     \
	((void)args, (void)codes, (void)result, (void)result_code, (void)resource, (void)count)
#define TENSOR(i) ((struct mpk_dltensor *)args[i].v_handle)
#define FLOATS(i) ((float *)mpk_dltensor_data(TENSOR(i)))
#define NUMBERS(i) ((int64_t *)mpk_dltensor_data(TENSOR(i)))

static int64_t elements(const struct mpk_dltensor *t)
{
	int64_t n = 1;

	for (int i = 0; i < t->ndim; i++)
		n *= t->shape[i];
	return n;
}

/* out = a + b; of b's one element where it has one */
KERNEL(add)
{
	UNUSED;
	calls++;
	if (count != 3 || codes[0] != MPK_TVM_DLTENSOR || TENSOR(2)->dtype.code != MPK_DTYPE_FLOAT)
		return -1;
	for (int64_t i = 0; i < elements(TENSOR(2)); i++)
		FLOATS(2)[i] = FLOATS(0)[i] + FLOATS(1)[elements(TENSOR(1)) == 1 ? 0 : i];
	return 0;
}

/* out[i] = a[i % n]: fills what it is given */
KERNEL(tile)
{
	UNUSED;
	calls++;
	for (int64_t i = 0; i < elements(TENSOR(1)); i++)
		FLOATS(1)[i] = FLOATS(0)[i % elements(TENSOR(0))];
	return 0;
}

/* arithmetic on single int64 */
KERNEL(decrement)
{
	UNUSED;
	calls++;
	*NUMBERS(1) = *NUMBERS(0) - 1;
	return 0;
}

KERNEL(is_zero)
{
	UNUSED;
	*(uint8_t *)mpk_dltensor_data(TENSOR(1)) = *NUMBERS(0) == 0;
	return 0;
}

/* shape functions and the kernels that make bytes of a shape */
static int shape_calls;

KERNEL(shape_func_double)
{
	UNUSED;
	shape_calls++;
	for (int64_t i = 0; i < elements(TENSOR(1)); i++)
		NUMBERS(1)[i] = 2 * NUMBERS(0)[i];
	return 0;
}

KERNEL(shape_func_same)
{
	UNUSED;
	shape_calls++;
	NUMBERS(1)[0] = *NUMBERS(0);
	return 0;
}

KERNEL(bytes_of)
{
	UNUSED;
	shape_calls++;
	*NUMBERS(1) = 4;
	for (int64_t i = 0; i < elements(TENSOR(0)); i++)
		*NUMBERS(1) *= NUMBERS(0)[i];
	return 0;
}

/* number(out): another one in each call */
KERNEL(draw)
{
	static int64_t drawn;

	UNUSED;
	*NUMBERS(0) = ++drawn;
	return 0;
}

/* how many arguments; whether each has the type of its place */
static int last_count;

KERNEL(note)
{
	UNUSED;
	calls++;
	last_count = count;
	for (int i = 0; i < count; i++)
		if (codes[i] != MPK_TVM_DLTENSOR)
			return -1;
	return 0;
}

KERNEL(refuse)
{
	UNUSED;
	return -1;
}

static const struct made_kernel kernels[] = {
	{ .name = "add", .compiled = add },
	{ .name = "tile", .compiled = tile },
	{ .name = "decrement", .compiled = decrement },
	{ .name = "is_zero", .compiled = is_zero },
	{ .name = "shape_func_double", .compiled = shape_func_double },
	{ .name = "shape_func_same", .compiled = shape_func_same },
	{ .name = "bytes_of", .compiled = bytes_of },
	{ .name = "draw", .compiled = draw },
	{ .name = "note", .compiled = note },
	{ .name = "fail", .compiled = refuse },
	{ .name = NULL },
};

static struct program p;
static struct model m;
static struct mpk_error err;

static struct mpk_plan_stats plan_stats(void)
{
	return mpk_plans_get_stats(machine_of(&m)->plans);
}

static struct mpk_value run(const struct mpk_value *args, size_t count)
{
	struct mpk_value result;

	ck_assert_ok(model_call(&m, "main", args, count, &result, &err), err);
	return result;
}

static void run_fails(const struct mpk_value *args, size_t count, const char *why)
{
	struct mpk_value result;

	ck_assert_int_eq(model_call(&m, "main", args, count, &result, &err), MPK_E_RAISED);
	ck_assert_text(err, why);
}

/* --- straight lines ------------------------------------------------------------------------ */

/* main(x): y = x + [1, 2, 3, 4]; z = y + x; return (z, y) */
static void sum_program(enum mpk_relay_layout layout)
{
	program_init(&p, layout);
	(void)function(&p, "main", 8, "x");
	load(&p, float_const(&p, 4, 1), 1);
	floats(&p, 4, 3);
	CALL(&p, "add", 0, 1, 3);
	floats(&p, 4, 5);
	CALL(&p, "add", 3, 0, 5);
	OP(&p, MPK_RELAY_ALLOC_ADT, 0, 2, 6, 5, 3);
	RET(&p, 6);
}

static void check_sum(float x, const struct mpk_value *result)
{
	ck_assert_int_eq(result->kind, MPK_VALUE_ARRAY);
	ck_assert_int_eq(result->array->tag, 0);
	ck_assert_uint_eq(result->array->count, 2);
	for (size_t i = 0; i < 4; i++) {
		float at = x + (float)i, y = at + 1 + (float)i;

		ck_assert_float_eq(float_at(&result->array->items[0], i), y + at);
		ck_assert_float_eq(float_at(&result->array->items[1], i), y);
	}
}

/* As byte code, recorded, replayed: the same numbers, and kernels are called each time. */
START_TEST(a_plan_gives_what_byte_code_gave)
{
	sum_program((enum mpk_relay_layout)_i);
	model_open(&m, &p, kernels);
	for (int i = 0; i < 10; i++) {
		struct mpk_value x = float_tensor(4, (float)i), result = run(&x, 1);

		check_sum((float)i, &result);
		ck_assert_int_eq(calls, 2 * (i + 1));
		mpk_value_drop(&result);
		mpk_value_drop(&x);
	}
	ck_assert_uint_eq(plan_stats().recorded, 1);
	ck_assert_uint_eq(plan_stats().replayed, 8);
	model_close(&m);
}
END_TEST

/* A result belongs to the caller until he drops it. */
START_TEST(a_held_result_is_not_overwritten)
{
	struct mpk_value results[6];

	sum_program(MPK_RELAY_14);
	model_open(&m, &p, kernels);
	for (int i = 0; i < 6; i++) {
		struct mpk_value x = float_tensor(4, (float)i);

		results[i] = run(&x, 1);
		mpk_value_drop(&x);
	}
	for (int i = 0; i < 6; i++) {
		check_sum((float)i, &results[i]);
		mpk_value_drop(&results[i]);
	}
	model_close(&m);
}
END_TEST

static struct mpk_allocator_stats allocator_stats(void)
{
	struct mpk_allocator *allocator = NULL;

	ck_assert_ok(mpk_devices_allocator(mpk_runtime_devices(m.runtime),
					   (struct mpk_dldevice){ MPK_DL_CPU, 0 }, &allocator,
					   &err),
		     err);
	return mpk_allocator_get_stats(allocator);
}

static struct mpk_allocator_stats steady_state(const struct mpk_value *arg)
{
	struct mpk_allocator_stats warm = { 0 };

	for (int i = 0; i < 100; i++) {
		if (i == 10)
			warm = allocator_stats();
		struct mpk_value result = run(arg, 1);

		mpk_value_drop(&result);
	}
	return warm;
}

/* By its plan a step asks for no memory; as byte code it gets back what it gave. */
START_TEST(a_steady_state_allocates_nothing)
{
	struct mpk_value x = float_tensor(4, 1), n = number_tensor(3);
	struct mpk_allocator_stats warm;

	sum_program(MPK_RELAY_14);
	model_open(&m, &p, kernels);
	warm = steady_state(&x);
	ck_assert_uint_eq(allocator_stats().given, warm.given);
	ck_assert_uint_eq(allocator_stats().held_bytes, warm.held_bytes);
	model_close(&m);

	/* main(n): a tensor of n floats: its shape is content, so it stays byte code */
	program_init(&p, MPK_RELAY_14);
	(void)function(&p, "main", 8, "n");
	CONSTI(&p, 8, 1);
	storage(&p, 1, 2);
	CONSTI(&p, 0, 1);
	OP(&p, MPK_RELAY_ALLOC_TENSOR, 2, 1, 0, 64, 1, 1, 3, 1);
	CALL(&p, "shape_func_same", 0, 3);
	CONSTI(&p, 64, 4);
	storage(&p, 4, 5);
	OP(&p, MPK_RELAY_ALLOC_TENSOR_REG, 5, 1, 3, 2, 32, 1, 6);
	RET(&p, 6);
	model_open(&m, &p, kernels);
	warm = steady_state(&n);
	ck_assert_uint_gt(allocator_stats().given, warm.given);
	ck_assert_uint_eq(allocator_stats().allocated, warm.allocated);
	ck_assert_uint_eq(allocator_stats().held_bytes, warm.held_bytes);
	ck_assert_uint_eq(plan_stats().replayed, 0);
	model_close(&m);
	mpk_value_drop(&x);
	mpk_value_drop(&n);
}
END_TEST

/* Two tensors in one storage, at bytes 0 and 64: the second has an offset, as TVM's have. */
START_TEST(tensors_share_a_storage)
{
	program_init(&p, MPK_RELAY_14);
	(void)function(&p, "main", 8, "x");
	CONSTI(&p, 128, 1);
	storage(&p, 1, 2);
	CONSTI(&p, 0, 3);
	OP(&p, MPK_RELAY_ALLOC_TENSOR, 2, 3, 2, 32, 1, 1, 4, 4);
	CONSTI(&p, 64, 3);
	OP(&p, MPK_RELAY_ALLOC_TENSOR, 2, 3, 2, 32, 1, 1, 5, 4);
	KILL(&p, 2);
	CALL(&p, "add", 0, 0, 4);
	CALL(&p, "add", 4, 0, 5);
	OP(&p, MPK_RELAY_ALLOC_ADT, 0, 2, 6, 4, 5);
	RET(&p, 6);
	model_open(&m, &p, kernels);
	for (int i = 0; i < 4; i++) {
		struct mpk_value x = float_tensor(4, (float)i), result = run(&x, 1);

		ck_assert_uint_eq(result.array->items[1].tensor->dl.byte_offset, 64);
		ck_assert_float_eq(float_at(&result.array->items[0], 3), 2 * (float)(i + 3));
		ck_assert_float_eq(float_at(&result.array->items[1], 3), 3 * (float)(i + 3));
		mpk_value_drop(&result);
		mpk_value_drop(&x);
	}
	ck_assert_uint_eq(plan_stats().replayed, 2);
	model_close(&m);
}
END_TEST

/* An input or a constant may be a result; it is the same memory. */
START_TEST(results_may_be_inputs_and_constants)
{
	program_init(&p, MPK_RELAY_14);
	(void)function(&p, "main", 3, "x");
	load(&p, float_const(&p, 2, 7), 1);
	OP(&p, MPK_RELAY_ALLOC_ADT, 0, 3, 2, 0, 1, 0);
	RET(&p, 2);
	model_open(&m, &p, kernels);
	for (int i = 0; i < 4; i++) {
		struct mpk_value x = float_tensor(4, 1), result = run(&x, 1);

		ck_assert_ptr_eq(result.array->items[0].tensor->dl.data, x.tensor->dl.data);
		mpk_value_drop(&x);
		ck_assert_float_eq(float_at(&result.array->items[2], 3), 4);
		ck_assert_float_eq(float_at(&result.array->items[1], 1), 8);
		mpk_value_drop(&result);
	}
	model_close(&m);
}
END_TEST

/* --- calls of kernels ---------------------------------------------------------------------- */

/* Tuples are taken apart, one level deep; a tuple within a tuple is no argument. */
START_TEST(tuples_become_arguments)
{
	struct mpk_value x = float_tensor(2, 1);

	program_init(&p, MPK_RELAY_14);
	(void)function(&p, "main", 6, "x");
	OP(&p, MPK_RELAY_ALLOC_ADT, 0, 3, 1, 0, 0, 0);
	OP(&p, MPK_RELAY_INVOKE_PACKED, packed(&p, "note"), 3, 1, 1, 0, 1);
	RET(&p, 0);
	(void)function(&p, "nested", 6, "x");
	OP(&p, MPK_RELAY_ALLOC_ADT, 0, 1, 1, 0);
	OP(&p, MPK_RELAY_ALLOC_ADT, 0, 2, 2, 0, 1);
	OP(&p, MPK_RELAY_INVOKE_PACKED, packed(&p, "note"), 1, 0, 2);
	RET(&p, 0);
	(void)function(&p, "many", 6, "x");
	OP(&p, MPK_RELAY_ALLOC_ADT, 0, 8, 1, 0, 0, 0, 0, 0, 0, 0, 0);
	OP(&p, MPK_RELAY_INVOKE_PACKED, packed(&p, "note"), 6, 0, 1, 1, 1, 1, 1, 1);
	RET(&p, 0);
	model_open(&m, &p, kernels);
	for (int i = 0; i < 4; i++) {
		struct mpk_value result = run(&x, 1);

		ck_assert_int_eq(last_count, 7);
		mpk_value_drop(&result);
		ck_assert_ok(model_call(&m, "many", &x, 1, &result, &err), err);
		ck_assert_int_eq(last_count, 48);
		mpk_value_drop(&result);
		ck_assert_int_eq(model_call(&m, "nested", &x, 1, &result, &err), MPK_E_RAISED);
		ck_assert_text(err, "TypeError: register 2 must hold a tensor");
	}
	mpk_value_drop(&x);
	model_close(&m);
}
END_TEST

/* A kernel whose one output has no elements is left out; with two it is called. */
START_TEST(empty_outputs_are_left_out)
{
	struct mpk_value x = float_tensor(2, 1);

	program_init(&p, MPK_RELAY_14);
	(void)function(&p, "main", 6, "x");
	floats(&p, 0, 2);
	CALL(&p, "note", 0, 2);
	RET(&p, 2);
	(void)function(&p, "two", 6, "x");
	floats(&p, 0, 2);
	OP(&p, MPK_RELAY_INVOKE_PACKED, packed(&p, "note"), 3, 2, 0, 2, 2);
	RET(&p, 2);
	model_open(&m, &p, kernels);
	for (int i = 0; i < 4; i++) {
		struct mpk_value result = run(&x, 1);

		ck_assert_int_eq(calls, i);
		ck_assert_uint_eq(result.tensor->bytes, 0);
		mpk_value_drop(&result);
		ck_assert_ok(model_call(&m, "two", &x, 1, &result, &err), err);
		ck_assert_int_eq(calls, i + 1);
		mpk_value_drop(&result);
	}
	mpk_value_drop(&x);
	model_close(&m);
}
END_TEST

/* What a kernel raises comes through all frames, and the machine is as good as before. */
START_TEST(an_error_leaves_the_machine_whole)
{
	struct mpk_value x = float_tensor(4, 1), result;

	sum_program(MPK_RELAY_14);
	int64_t inner = function(&p, "inner", 2, "x");
	OP(&p, MPK_RELAY_INVOKE_PACKED, packed(&p, "fail"), 1, 1, 0);
	RET(&p, 0);
	(void)function(&p, "outer", 3, "x");
	OP(&p, MPK_RELAY_INVOKE, inner, 1, 1, 0);
	RET(&p, 1);
	model_open(&m, &p, kernels);
	for (int i = 0; i < 5; i++) {
		ck_assert_int_eq(model_call(&m, "outer", &x, 1, &result, &err), MPK_E_RAISED);
		result = run(&x, 1);
		check_sum(1, &result);
		mpk_value_drop(&result);
	}
	mpk_value_drop(&x);
	model_close(&m);
}
END_TEST

/* --- control flow -------------------------------------------------------------------------- */

/* main(c, x): if c == 1: y = x + x else y = x; return y. Conditions of every width. */
START_TEST(branches_merge)
{
	static const struct mpk_dtype types[] = { { MPK_DTYPE_UINT, 1, 1 },
						  { MPK_DTYPE_INT, 8, 1 },
						  { MPK_DTYPE_INT, 16, 1 },
						  { MPK_DTYPE_INT, 32, 1 },
						  { MPK_DTYPE_INT, 64, 1 } };

	program_init(&p, MPK_RELAY_14);
	(void)function(&p, "main", 8, "c x");
	CONSTI(&p, 1, 2);
	IF(&p, 0, 2, 1, 9);
	floats(&p, 4, 4);
	CALL(&p, "add", 1, 1, 4);
	MOVE(&p, 4, 5);
	GOTO(&p, 2);
	MOVE(&p, 1, 5);
	RET(&p, 5);
	model_open(&m, &p, kernels);
	for (size_t t = 0; t < MPK_ARRAY_COUNT(types); t++)
		for (int i = 0; i < 8; i++) {
			struct mpk_value args[2] = { { .kind = MPK_VALUE_TENSOR },
						     float_tensor(4, 3) };
			struct mpk_value result;

			ck_assert_ok(mpk_tensor_create(types[t], NULL, 0, MPK_STORAGE_PRIVATE,
						       &args[0].tensor, &err),
				     err);
			*(uint8_t *)args[0].tensor->dl.data = (uint8_t)(i % 2);
			result = run(args, 2);
			ck_assert_float_eq(float_at(&result, 0), i % 2 ? 6 : 3);
			mpk_value_drop(&result);
			mpk_value_drop(&args[0]);
			mpk_value_drop(&args[1]);
		}
	ck_assert_uint_eq(plan_stats().replayed, 0);
	ck_assert_uint_eq(plan_stats().unplannable, 1); /* tried once, and never again */
	model_close(&m);
}
END_TEST

/* main(n, x): if n == 0: return x; return main(n - 1, x + 1) */
static void loop_program(void)
{
	program_init(&p, MPK_RELAY_14);
	int64_t self = function(&p, "main", 12, "n x");
	CONSTI(&p, 0, 2);
	IF(&p, 0, 2, 1, 2);
	RET(&p, 1);
	CONSTI(&p, 8, 3);
	storage(&p, 3, 4);
	CONSTI(&p, 0, 3);
	OP(&p, MPK_RELAY_ALLOC_TENSOR, 4, 3, 0, 64, 1, 0, 5);
	KILL(&p, 4);
	CALL(&p, "decrement", 0, 5);
	KILL(&p, 0);
	floats(&p, 4, 7);
	load(&p, float_const(&p, 1, 1), 8);
	CALL(&p, "add", 1, 8, 7);
	KILL(&p, 1);
	OP(&p, MPK_RELAY_INVOKE, self, 2, 9, 5, 7);
	RET(&p, 9);
}

/* Loops are recursion: frames lie in the machine, not on the native stack. */
START_TEST(loops_are_recursion)
{
	static const int64_t lengths[] = { 0, 1, 7, 100000 };

	loop_program();
	model_open(&m, &p, kernels);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(lengths); i++) {
		struct mpk_value args[2] = { number_tensor(lengths[i]), float_tensor(4, 5) };
		struct mpk_value result = run(args, 2);

		ck_assert_float_eq(float_at(&result, 1), 6 + (float)lengths[i]);
		mpk_value_drop(&result);
		mpk_value_drop(&args[0]);
		mpk_value_drop(&args[1]);
	}
	model_close(&m);
}
END_TEST

START_TEST(what_has_no_end_is_an_error)
{
	struct mpk_value x = float_tensor(4, 1), result;

	sum_program(MPK_RELAY_14);
	int64_t self = function(&p, "deep", 3, "x");
	OP(&p, MPK_RELAY_INVOKE, self, 1, 1, 0);
	RET(&p, 1);
	(void)function(&p, "round", 3, "x");
	MOVE(&p, 0, 1);
	GOTO(&p, -1);
	model_open(&m, &p, kernels);
	ck_assert_int_eq(model_call(&m, "deep", &x, 1, &result, &err), MPK_E_RAISED);
	ck_assert_text(err, "recursion without end");
	machine_of(&m)->step_limit = 1000000;
	ck_assert_int_eq(model_call(&m, "round", &x, 1, &result, &err), MPK_E_RAISED);
	ck_assert_text(err, "a loop without end");
	result = run(&x, 1);
	check_sum(1, &result);
	mpk_value_drop(&result);
	mpk_value_drop(&x);
	model_close(&m);
}
END_TEST

/* --- data types and closures --------------------------------------------------------------- */

enum { NIL = -2013265920, CONS = -2013265919 };

/* build(n, x, list): n times Cons(x, list)
 * sum(list, s): match list: Nil -> s; Cons(head, tail) -> sum(tail, s + head); else Fatal
 * main(n, x, zero) = sum(build(n, x, Nil), zero) */
static void list_program(void)
{
	program_init(&p, MPK_RELAY_14);
	int64_t build = function(&p, "build", 10, "n x list");
	CONSTI(&p, 0, 3);
	IF(&p, 0, 3, 1, 2);
	RET(&p, 2);
	CONSTI(&p, 8, 3);
	storage(&p, 3, 4);
	CONSTI(&p, 0, 3);
	OP(&p, MPK_RELAY_ALLOC_TENSOR, 4, 3, 0, 64, 1, 0, 5);
	CALL(&p, "decrement", 0, 5);
	OP(&p, MPK_RELAY_ALLOC_ADT, CONS, 2, 6, 1, 2);
	OP(&p, MPK_RELAY_INVOKE, build, 3, 7, 5, 1, 6);
	RET(&p, 7);

	int64_t sum = function(&p, "sum", 12, "list s");
	OP(&p, MPK_RELAY_GET_TAG, 0, 2);
	CONSTI(&p, NIL, 3);
	IF(&p, 2, 3, 1, 2);
	RET(&p, 1);
	CONSTI(&p, CONS, 3);
	IF(&p, 2, 3, 2, 1);
	OP(&p, MPK_RELAY_FATAL);
	OP(&p, MPK_RELAY_GET_FIELD, 0, 0, 4);
	OP(&p, MPK_RELAY_GET_FIELD, 0, 1, 5);
	floats(&p, 2, 7);
	CALL(&p, "add", 4, 1, 7);
	OP(&p, MPK_RELAY_INVOKE, sum, 2, 8, 5, 7);
	RET(&p, 8);

	(void)function(&p, "main", 8, "n x zero");
	OP(&p, MPK_RELAY_ALLOC_ADT, NIL, 0, 3);
	OP(&p, MPK_RELAY_INVOKE, build, 3, 4, 0, 1, 3);
	OP(&p, MPK_RELAY_INVOKE, sum, 2, 5, 4, 2);
	RET(&p, 5);
}

START_TEST(lists_are_built_and_matched)
{
	list_program();
	model_open(&m, &p, kernels);
	for (int64_t n = 0; n <= 50000; n = 10 * n + 5) {
		struct mpk_value args[3] = { number_tensor(n), float_tensor(2, 1),
					     float_tensor(2, 0) };
		struct mpk_value result = run(args, 3);

		ck_assert_float_eq(float_at(&result, 0), (float)n);
		ck_assert_float_eq(float_at(&result, 1), (float)(2 * n + 1));
		mpk_value_drop(&result);
		for (int i = 0; i < 3; i++)
			mpk_value_drop(&args[i]);
	}
	model_close(&m);
}
END_TEST

/* A caller passes a data type and gets one; a constructor that the match does not have is fatal. */
START_TEST(data_types_cross_the_boundary)
{
	struct mpk_value args[2] = { { 0 }, float_tensor(2, 0) }, list, result;

	list_program();
	model_open(&m, &p, kernels);
	for (int i = 0; i < 4; i++) {
		ck_assert_ok(mpk_value_of_array(2, &list, &err), err);
		list.array->tag = CONS;
		list.array->items[0] = float_tensor(2, 4);
		ck_assert_ok(mpk_value_of_array(0, &list.array->items[1], &err), err);
		list.array->items[1].array->tag = NIL;
		args[0] = list;
		ck_assert_ok(model_call(&m, "sum", args, 2, &result, &err), err);
		ck_assert_float_eq(float_at(&result, 1), 6);
		mpk_value_drop(&result);
		list.array->items[1].array->tag = 77;
		ck_assert_int_eq(model_call(&m, "sum", args, 2, &result, &err), MPK_E_RAISED);
		ck_assert_text(err, "a match has no case for this value (sum, instruction 6)");
		mpk_value_drop(&args[0]);
	}
	/* a tag is part of what a plan depends on: the recursion ends where the list does */
	ck_assert_uint_gt(plan_stats().replayed, 0);
	mpk_value_drop(&args[1]);

	struct mpk_value build[3] = { number_tensor(3), float_tensor(2, 1), { 0 } };

	ck_assert_ok(mpk_value_of_array(0, &build[2], &err), err);
	build[2].array->tag = NIL;
	ck_assert_ok(model_call(&m, "build", build, 3, &result, &err), err);
	ck_assert_int_eq(result.array->tag, CONS);
	ck_assert_int_eq(result.array->items[1].array->items[1].array->items[1].array->tag, NIL);
	mpk_value_drop(&result);
	for (int i = 0; i < 3; i++)
		mpk_value_drop(&build[i]);
	model_close(&m);
}
END_TEST

/* second(a, b) = b; main(x, y): f = second with x captured; return (f(y), f)
 * Captured values come before the arguments. */
START_TEST(captured_values_come_first)
{
	struct mpk_value args[2] = { float_tensor(2, 10), float_tensor(2, 20) }, result, again;

	program_init(&p, MPK_RELAY_14);
	int64_t second = function(&p, "second", 2, "a b");
	RET(&p, 1);
	(void)function(&p, "main", 8, "x y");
	OP(&p, MPK_RELAY_ALLOC_CLOSURE, second, 1, 2, 0);
	OP(&p, MPK_RELAY_INVOKE_CLOSURE, 2, 1, 3, 1);
	OP(&p, MPK_RELAY_ALLOC_ADT, 0, 2, 4, 3, 2);
	RET(&p, 4);
	model_open(&m, &p, kernels);
	for (int i = 0; i < 4; i++) {
		result = run(args, 2);
		ck_assert_float_eq(float_at(&result.array->items[0], 0), 20);
		/* the closure outlives the call, and is called from outside */
		struct mpk_value f = mpk_value_hold(result.array->items[1]);

		mpk_value_drop(&result);
		ck_assert_int_eq(f.kind, MPK_VALUE_FUNCTION);
		again = (struct mpk_value){ 0 };
		ck_assert_ok(mpk_function_call(f.function, &(struct mpk_args){ args, NULL, 1 },
					       &again, &err),
			     err);
		ck_assert_float_eq(float_at(&again, 0), 10);
		mpk_value_drop(&again);
		ck_assert_int_eq(mpk_function_call(f.function, &(struct mpk_args){ args, NULL, 2 },
						   &again, &err),
				 MPK_E_USAGE);
		ck_assert_text(err, "2 values for 1 input");
		mpk_value_drop(&f);
	}
	mpk_value_drop(&args[0]);
	mpk_value_drop(&args[1]);
	model_close(&m);
}
END_TEST

/* A closure in a closure in a closure...: freeing them does not recurse. */
START_TEST(closures_nest_deep)
{
	struct mpk_value x = float_tensor(1, 1), result;

	program_init(&p, MPK_RELAY_14);
	int64_t f = function(&p, "f", 1, "a");
	RET(&p, 0);
	(void)function(&p, "main", 2, "x");
	OP(&p, MPK_RELAY_ALLOC_CLOSURE, f, 1, 0, 0);
	GOTO(&p, -1);
	(void)function(&p, "pairs", 2, "x");
	OP(&p, MPK_RELAY_ALLOC_ADT, 0, 1, 0, 0);
	GOTO(&p, -1);
	model_open(&m, &p, kernels);
	ck_assert_ok(model_call(&m, "f", &x, 1, &result, &err), err);
	mpk_value_drop(&result);
	machine_of(&m)->step_limit = 1000000;
	run_fails(&x, 1, "a loop without end");
	ck_assert_int_eq(model_call(&m, "pairs", &x, 1, &result, &err), MPK_E_RAISED);
	mpk_value_drop(&x);
	model_close(&m);
}
END_TEST

/* --- dynamic shapes ------------------------------------------------------------------------ */

/* main(x): y = tile(x) of twice its length, sized as TVM's compiler does it. Registers 1 to 9. */
static void dynamic_program(void)
{
	program_init(&p, MPK_RELAY_14);
	(void)function(&p, "main", 12, "x");
	OP(&p, MPK_RELAY_SHAPE_OF, 0, 1);
	CONSTI(&p, 8, 2);
	storage(&p, 2, 3);
	CONSTI(&p, 0, 2);
	OP(&p, MPK_RELAY_ALLOC_TENSOR, 3, 2, 0, 64, 1, 1, 4, 1); /* the shape */
	KILL(&p, 3);
	CALL(&p, "shape_func_double", 1, 4);
	CONSTI(&p, 8, 2);
	storage(&p, 2, 3);
	CONSTI(&p, 0, 2);
	OP(&p, MPK_RELAY_ALLOC_TENSOR, 3, 2, 0, 64, 1, 0, 5); /* the bytes */
	KILL(&p, 3);
	CALL(&p, "bytes_of", 4, 5);
	storage(&p, 5, 6);
	OP(&p, MPK_RELAY_ALLOC_TENSOR_REG, 6, 2, 4, 2, 32, 1, 7);
	KILL(&p, 6);
	CALL(&p, "tile", 0, 7);
}

/* Shapes that follow from the inputs' are computed when a plan is recorded, not when it runs. */
START_TEST(shape_functions_are_left_out_of_plans)
{
	dynamic_program();
	RET(&p, 7);
	model_open(&m, &p, kernels);
	for (int round = 0; round < 5; round++) {
		shape_calls = 0;
		for (int64_t n = 1; n <= 20; n++) {
			struct mpk_value x = float_tensor(n, (float)round), result = run(&x, 1);

			ck_assert_int_eq(result.tensor->dl.shape[0], 2 * n);
			for (int64_t i = 0; i < 2 * n; i++)
				ck_assert_float_eq(float_at(&result, (size_t)i),
						   (float)(round + i % n));
			mpk_value_drop(&result);
			mpk_value_drop(&x);
		}
		ck_assert_int_eq(shape_calls, round < 2 ? 40 : 0);
	}
	ck_assert_uint_eq(plan_stats().recorded, 20);
	ck_assert_uint_eq(plan_stats().replayed, 60);
	model_close(&m);
}
END_TEST

/* A shape that is returned, or given to a kernel, is what it was; the caller's copy is his own. */
START_TEST(known_tensors_are_values_too)
{
	dynamic_program();
	CALL(&p, "decrement", 5, 1); /* writes over the shape of x, which is known */
	OP(&p, MPK_RELAY_ALLOC_ADT, 0, 2, 8, 1, 4);
	RET(&p, 8);
	(void)function(&p, "shape", 4, "x");
	OP(&p, MPK_RELAY_SHAPE_OF, 0, 1);
	RET(&p, 1);
	model_open(&m, &p, kernels);
	for (int i = 0; i < 6; i++) {
		struct mpk_value x = float_tensor(3, 1), result = run(&x, 1);

		ck_assert_int_eq(number_at(&result.array->items[0], 0), 23);
		ck_assert_int_eq(number_at(&result.array->items[1], 0), 6);
		mpk_value_drop(&result);
		ck_assert_ok(model_call(&m, "shape", &x, 1, &result, &err), err);
		ck_assert_int_eq(number_at(&result, 0), 3);
		*(int64_t *)result.tensor->dl.data = 1000; /* he may write it */
		mpk_value_drop(&result);
		mpk_value_drop(&x);
	}
	model_close(&m);
}
END_TEST

/* main(x): reshape x to the shape (length / 2 is not computed here: 2, 3), and back by what a tensor
 * says. The view is the input's memory. */
START_TEST(reshaped_tensors_are_views)
{
	struct mpk_value x = float_tensor(6, 1);

	program_init(&p, MPK_RELAY_14);
	p.const_numbers[0] = 2;
	p.const_numbers[1] = 3;
	int64_t shape = number_const(&p, 2);
	p.const_shapes[shape][0] = 2;
	p.consts[shape].tensor.shape = p.const_shapes[shape];
	p.consts[shape].tensor.ndim = 1;
	p.consts[shape].tensor.data.len = 16;
	(void)function(&p, "main", 6, "x");
	load(&p, shape, 1);
	OP(&p, MPK_RELAY_RESHAPE_TENSOR, 0, 1, 2);
	RET(&p, 2);
	(void)function(&p, "by_content", 6, "x s");
	OP(&p, MPK_RELAY_RESHAPE_TENSOR, 0, 1, 2);
	RET(&p, 2);
	model_open(&m, &p, kernels);
	for (int i = 0; i < 4; i++) {
		struct mpk_value result = run(&x, 1);

		ck_assert_int_eq(result.tensor->dl.ndim, 2);
		ck_assert_int_eq(result.tensor->dl.shape[1], 3);
		ck_assert_ptr_eq(result.tensor->dl.data, x.tensor->dl.data);
		mpk_value_drop(&result);
	}
	ck_assert_uint_eq(plan_stats().replayed, 2);

	/* out of content: another shape in each call, never a plan; too large is an error */
	for (int64_t n = 1; n <= 8; n++) {
		int64_t one = 1;
		struct mpk_value args[2] = { x, number_tensor(n) }, result;
		struct mpk_dltensor list = args[1].tensor->dl;
		struct mpk_tensor *t;

		list.ndim = 1;
		list.shape = &one;
		list.strides = NULL;
		ck_assert_ok(mpk_tensor_wrap(&list, args[1].tensor->storage, &t, &err), err);
		mpk_value_drop(&args[1]);
		args[1] = mpk_value_of_tensor(t);
		enum mpk_code code = model_call(&m, "by_content", args, 2, &result, &err);

		if (n <= 6) {
			ck_assert_ok(code, err);
			ck_assert_int_eq(result.tensor->dl.shape[0], n);
			mpk_value_drop(&result);
		} else {
			ck_assert_int_eq(code, MPK_E_RAISED);
			ck_assert_text(err, "a view of");
		}
		mpk_value_drop(&args[1]);
	}
	mpk_value_drop(&x);
	model_close(&m);
}
END_TEST

/* A kernel without inputs may give another number each time: its result is never taken as known. */
START_TEST(kernels_without_inputs_are_called)
{
	struct mpk_value x = float_tensor(1, 1);
	int64_t last = 0;

	program_init(&p, MPK_RELAY_14);
	(void)function(&p, "main", 6, "x");
	CONSTI(&p, 8, 1);
	storage(&p, 1, 2);
	CONSTI(&p, 0, 1);
	OP(&p, MPK_RELAY_ALLOC_TENSOR, 2, 1, 0, 64, 1, 0, 3);
	OP(&p, MPK_RELAY_INVOKE_PACKED, packed(&p, "draw"), 1, 1, 3);
	RET(&p, 3);
	model_open(&m, &p, kernels);
	for (int i = 0; i < 5; i++) {
		struct mpk_value result = run(&x, 1);

		ck_assert_int_gt(number_at(&result, 0), last);
		last = number_at(&result, 0);
		mpk_value_drop(&result);
	}
	ck_assert_uint_eq(plan_stats().replayed, 3);
	mpk_value_drop(&x);
	model_close(&m);
}
END_TEST

/* --- devices ------------------------------------------------------------------------------- */

/* main(x): y = copy of x on device 1; z = copy of y on device 0; w = z + x */
static void copy_program(int32_t type)
{
	program_init(&p, MPK_RELAY_14);
	p.devices[p.device_count++] = (struct mpk_relay_device){ .type = type };
	(void)function(&p, "main", 8, "x");
	OP(&p, MPK_RELAY_DEVICE_COPY, 0, 0, 1, 1);
	OP(&p, MPK_RELAY_DEVICE_COPY, 1, 1, 0, 2);
	floats(&p, 4, 4);
	CALL(&p, "add", 2, 0, 4);
	OP(&p, MPK_RELAY_ALLOC_ADT, 0, 2, 5, 4, 1);
	RET(&p, 5);
	(void)function(&p, "wrong", 8, "x");
	OP(&p, MPK_RELAY_DEVICE_COPY, 0, 1, 0, 1);
	RET(&p, 1);
}

static void check_copies(void)
{
	for (int i = 0; i < 5; i++) {
		struct mpk_value x = float_tensor(4, (float)i), result = run(&x, 1);

		ck_assert_float_eq(float_at(&result.array->items[0], 3), 2 * (float)(i + 3));
		ck_assert_ptr_ne(result.array->items[1].tensor->dl.data, x.tensor->dl.data);
		mpk_value_drop(&result);
		mpk_value_drop(&x);
	}
	ck_assert_uint_eq(plan_stats().replayed, 3);
}

START_TEST(copies_are_new_tensors)
{
	copy_program(MPK_DL_CPU);
	model_open(&m, &p, kernels);
	check_copies();
	model_close(&m);
}
END_TEST

/* Through OpenCL and back. The runtime's first device is OpenCL, so parameters come from the host. */
START_TEST(copies_go_to_devices_and_back)
{
	struct mpk_dldevice opencl = { MPK_DL_OPENCL, 0 };
	struct mpk_value x = float_tensor(4, 1), result;
	struct mpk_device *device;

	copy_program(MPK_DL_OPENCL);
	model_open(&m, &p, kernels);
	if (mpk_devices_get(mpk_runtime_devices(m.runtime), opencl, &device, &err) != MPK_OK) {
		mpk_value_drop(&x);
		model_close(&m);
		SKIP_TEST("%s", err.text);
	}
	ck_assert_int_eq(model_call(&m, "main", &x, 1, &result, &err), MPK_E_LOAD);
	ck_assert_text(err, "compiled for opencl and was given no such device");
	ck_assert_ok(mpk_runtime_set_devices(m.runtime, &opencl, 1, &err), err);
	check_copies();
	ck_assert_int_eq(model_call(&m, "wrong", &x, 1, &result, &err), MPK_E_RAISED);
	ck_assert_text(err,
		       "a copy from device 0 of type 4 finds its tensor on device 0 of type 1");
	mpk_value_drop(&x);
	model_close(&m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("relay_vm");
	TCase *tc = tcase_create("relay_vm");
	SRunner *r = srunner_create(s);

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, a_plan_gives_what_byte_code_gave, 0, MPK_RELAY_LAYOUTS);
	tcase_add_test(tc, a_held_result_is_not_overwritten);
	tcase_add_test(tc, a_steady_state_allocates_nothing);
	tcase_add_test(tc, tensors_share_a_storage);
	tcase_add_test(tc, results_may_be_inputs_and_constants);
	tcase_add_test(tc, tuples_become_arguments);
	tcase_add_test(tc, empty_outputs_are_left_out);
	tcase_add_test(tc, an_error_leaves_the_machine_whole);
	tcase_add_test(tc, branches_merge);
	tcase_add_test(tc, loops_are_recursion);
	tcase_add_test(tc, what_has_no_end_is_an_error);
	tcase_add_test(tc, lists_are_built_and_matched);
	tcase_add_test(tc, data_types_cross_the_boundary);
	tcase_add_test(tc, captured_values_come_first);
	tcase_add_test(tc, closures_nest_deep);
	tcase_add_test(tc, shape_functions_are_left_out_of_plans);
	tcase_add_test(tc, known_tensors_are_values_too);
	tcase_add_test(tc, reshaped_tensors_are_views);
	tcase_add_test(tc, kernels_without_inputs_are_called);
	tcase_add_test(tc, copies_are_new_tensors);
	tcase_add_test(tc, copies_go_to_devices_and_back);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
