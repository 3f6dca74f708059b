/* SPDX-License-Identifier: Apache-2.0 */
/* What the Relax VM tells observers: which tensors an operator fills, calls within calls, and that a run
 * which is looked at is no other than one that is not */
#include "executor/executor.h"
#include "executor/plan/plan.h"
#include "executor/relax/internal/relax.h"
#include "relax_made.h"
#include "runtime/observer.h"
#include "text/escape.h"
#include "value/parse.h"

static const struct mpk_dtype f32 = { MPK_DTYPE_FLOAT, 32, 1 };
static struct mpk_error err;
static struct made program;
static struct model m;

/* --- kernels -------------------------------------------------------------------------------- */

static enum mpk_code add(const struct mpk_args *args, struct mpk_value *result, struct mpk_error *e)
{
	float *data[3];

	(void)result, (void)e;
	for (size_t i = 0; i < 3; i++)
		data[i] = mpk_dltensor_data(&args->values[i].tensor->dl);
	data[2][0] = data[0][0] + data[1][0];
	return MPK_OK;
}

static enum mpk_code work_in_place(const struct mpk_args *args, struct mpk_value *result,
				   struct mpk_error *e)
{
	(void)result, (void)e;
	((float *)mpk_dltensor_data(&args->values[0].tensor->dl))[0] = 100;
	return MPK_OK;
}

/* a tensor of its own */
static enum mpk_code make(const struct mpk_args *args, struct mpk_value *result,
			  struct mpk_error *e)
{
	struct mpk_tensor *t;

	(void)args;
	MPK_TRY(mpk_tensor_create(f32, NULL, 0, MPK_STORAGE_PRIVATE, &t, e));
	*result = mpk_value_of_tensor(t);
	return MPK_OK;
}

static enum mpk_code fail_always(const struct mpk_args *args, struct mpk_value *result,
				 struct mpk_error *e)
{
	(void)args, (void)result;
	return mpk_fail(e, MPK_E_RAISED, "ValueError: this kernel fails");
}

static const struct made_kernel kernels[] = {
	{ .name = "add", .call = add },
	{ .name = "in_place", .call = work_in_place },
	{ .name = "make", .call = make },
	{ .name = "fail", .call = fail_always },
	{ .name = NULL },
};

/* --- an observer that writes down what it is told ------------------------------------------- */

struct writer {
	struct mpk_observer base;
	struct mpk_strbuf text;
	const char *fails_at; /* the end of an operator; NULL: of none */
};

static struct writer writer;

/* "add(%0 c1 =%2) " with the results marked; builtins in brackets */
static void put(const struct mpk_operator *op, const char *sign)
{
	static const char *const places[] = { "_", "%", "c", "t" };
	struct mpk_strbuf *out = &writer.text;

	mpk_strbuf_printf(out, "%s%s(", sign, MPK_QUOTE(op->name));
	for (size_t i = 0; i < op->count; i++) {
		const struct mpk_operand *o = &op->operands[i];

		mpk_strbuf_printf(out, "%s%s%s", i ? " " : "", o->is_result ? "=" : "",
				  places[o->place.kind]);
		if (o->place.kind != MPK_PLACE_NONE)
			mpk_strbuf_printf(out, "%d", (int)o->place.number);
	}
	mpk_strbuf_puts(out, ") ");
}

static enum mpk_code write_begin(struct mpk_observer *self, const struct mpk_operator *op,
				 struct mpk_error *e)
{
	(void)self, (void)e;
	if (op->kind == MPK_OPERATOR_BUILTIN && mpk_span_is(op->name, "vm.builtin.invoke_closure"))
		put(op, "[");
	return MPK_OK;
}

static enum mpk_code write_end(struct mpk_observer *self, const struct mpk_operator *op,
			       const struct mpk_value *result, struct mpk_error *e)
{
	(void)self;
	if (op->kind == MPK_OPERATOR_KERNEL)
		put(op, "");
	else if (mpk_span_is(op->name, "vm.builtin.invoke_closure"))
		mpk_strbuf_puts(&writer.text, "] ");
	if (op->kind == MPK_OPERATOR_KERNEL && result->kind != MPK_VALUE_NONE)
		mpk_strbuf_printf(&writer.text, "-> %d ", (int)op->to.number);
	if (writer.fails_at && mpk_span_is(op->name, writer.fails_at))
		return mpk_fail(e, MPK_E_RANGE, "enough");
	return MPK_OK;
}

static enum mpk_code write_control(struct mpk_observer *self, const struct mpk_operator *op,
				   struct mpk_error *e)
{
	(void)self, (void)e;
	put(op, "/");
	return MPK_OK;
}

static void open_program(void)
{
	model_open(&m, &program, kernels);
	writer = (struct writer){
		.base = { .begin = write_begin, .end = write_end, .control = write_control }
	};
	mpk_runtime_set_observers(m.runtime, &writer.base);
}

static struct mpk_value one(float value)
{
	static const int64_t extent = 1;
	struct mpk_tensor *t = NULL;

	ck_assert_ok(mpk_tensor_create(f32, &extent, 1, MPK_STORAGE_PRIVATE, &t, &err), err);
	((float *)t->dl.data)[0] = value;
	return mpk_value_of_tensor(t);
}

/* Calls f(1) and says what the observer wrote. */
static const char *watch(const char *function)
{
	struct mpk_value x = one(1), result = { 0 };

	mpk_strbuf_fini(&writer.text);
	ck_assert_ok(model_call(&m, function, &x, 1, &result, &err), err);
	mpk_value_drop(&result);
	mpk_value_drop(&x);
	return mpk_strbuf_text(&writer.text);
}

static void close_program(void)
{
	mpk_runtime_set_observers(m.runtime, NULL);
	mpk_strbuf_fini(&writer.text);
	model_close(&m);
}

/* --- programs ------------------------------------------------------------------------------- */

static const int64_t extents[] = { 1 }, sizes[] = { 4 };
static int64_t storage_f, tensor_f, null_f, bytes, shape, u8, type, global;

static void begin_program(void)
{
	memset(&program, 0, sizeof program);
	storage_f = made_packed(&program, "vm.builtin.alloc_storage");
	tensor_f = made_packed(&program, "vm.builtin.alloc_tensor");
	null_f = made_packed(&program, "vm.builtin.null_value");
	bytes = made_const(&program, (struct mpk_relax_const){ .kind = MPK_RELAX_SHAPE,
							       .u.shape = mpk_span_of(sizes, 8) });
	shape = made_const(&program,
			   (struct mpk_relax_const){ .kind = MPK_RELAX_SHAPE,
						     .u.shape = mpk_span_of(extents, 8) });
	u8 = made_const(&program, (struct mpk_relax_const){ .kind = MPK_RELAX_DTYPE,
							    .u.dtype = { 1, 8, 1 } });
	type = made_const(&program,
			  (struct mpk_relax_const){ .kind = MPK_RELAX_DTYPE, .u.dtype = f32 });
	global = made_const(&program,
			    (struct mpk_relax_const){ .kind = MPK_RELAX_STRING,
						      .u.string = mpk_span_str("global") });
}

/* register to: a tensor in a storage, which is in the register behind it */
static void alloc(int64_t to)
{
	CALL(&program, to + 1, storage_f, REG(VM), CONST(bytes), INT(0), CONST(u8), CONST(global));
	CALL(&program, to, tensor_f, REG(to + 1), INT(0), CONST(shape), CONST(type));
}

/* --- tests ---------------------------------------------------------------------------------- */

/* What was allocated is filled by the first that gets it, in whatever place it stands; afterwards it
 * is read. */
START_TEST(new_tensors_are_results)
{
	int64_t add_f;

	begin_program();
	add_f = made_packed(&program, "add");
	(void)made_function(&program, "f", 1, 6);
	alloc(1);
	alloc(3);
	CALL(&program, VOID, add_f, REG(0), REG(0), REG(3));
	CALL(&program, VOID, add_f, REG(3), REG(0), REG(1));
	CALL(&program, VOID, add_f, REG(1), REG(1), REG(3));
	RET(&program, REG(3));
	open_program();
	/* the third has no new one: it might fill any */
	ck_assert_str_eq(watch("f"), "add(%0 %0 =%3) add(%3 %0 =%1) add(=%1 =%1 =%3) /return(%3) ");
	close_program();
}
END_TEST

/* A tensor that nobody used went; another may get its address, and is read. */
START_TEST(an_address_that_comes_back_is_no_new_tensor)
{
	int64_t add_f, reshape_f;

	begin_program();
	add_f = made_packed(&program, "add");
	reshape_f = made_packed(&program, "vm.builtin.reshape");
	(void)made_function(&program, "f", 1, 8);
	alloc(1);
	CALL0(&program, 1, null_f);
	CALL(&program, 1, reshape_f, REG(0), CONST(shape));
	alloc(3);
	CALL(&program, VOID, add_f, REG(1), REG(0), REG(3));
	RET(&program, REG(3));
	open_program();
	ck_assert_str_eq(watch("f"), "add(%1 %0 =%3) /return(%3) ");
	close_program();
}
END_TEST

START_TEST(functions_without_new_tensors)
{
	int64_t in_place_f, make_f;

	begin_program();
	in_place_f = made_packed(&program, "in_place");
	make_f = made_packed(&program, "make");
	(void)made_function(&program, "f", 1, 3);
	CALL(&program, VOID, in_place_f, REG(0), CONST(shape), INT(5));
	CALL(&program, 1, make_f, REG(0));
	RET(&program, REG(1));
	open_program();
	/* what returns its result fills nothing */
	ck_assert_str_eq(watch("f"), "in_place(=%0 c1 _) make(%0) -> 1 /return(%1) ");
	close_program();
}
END_TEST

/* Symbolic extents are no results, nor is what computes them a kernel with any. */
START_TEST(heaps_are_no_results)
{
	int64_t heap_f, in_place_f;

	begin_program();
	heap_f = made_packed(&program, "vm.builtin.alloc_shape_heap");
	in_place_f = made_packed(&program, "in_place");
	(void)made_function(&program, "f", 1, 3);
	CALL(&program, 1, heap_f, REG(VM), INT(2));
	CALL(&program, VOID, in_place_f, REG(1));
	CALL(&program, VOID, in_place_f, REG(1));
	RET(&program, REG(0));
	open_program();
	ck_assert_str_eq(watch("f"), "in_place(%1) in_place(%1) /return(%0) ");
	close_program();
}
END_TEST

/* call_tir_dyn is the kernel that it calls; a closure has what it calls within; calls of byte code go
 * elsewhere. */
START_TEST(calls_within_calls)
{
	int64_t add_f, dyn_f, invoke_f, g;

	begin_program();
	add_f = made_packed(&program, "add");
	dyn_f = made_packed(&program, "vm.builtin.call_tir_dyn");
	invoke_f = made_packed(&program, "vm.builtin.invoke_closure");
	g = made_function(&program, "g", 1, 4);
	alloc(1);
	CALL(&program, VOID, dyn_f, FUNC(add_f), REG(0), REG(0), REG(1), CONST(shape));
	RET(&program, REG(1));
	(void)made_function(&program, "f", 1, 4);
	CALL(&program, 1, g, REG(0));
	CALL(&program, 2, invoke_f, REG(VM), FUNC(g), REG(1));
	GOTO(&program, 1);
	RET(&program, REG(2));
	open_program();
	ck_assert_str_eq(watch("f"),
			 "/g(%0) add(%0 %0 =%1 c1) /return(%1) "
			 "[vm.builtin.invoke_closure(_ _ %1) add(%0 %0 =%1 c1) /return(%1) ] "
			 "/goto() /return(%2) ");
	close_program();
}
END_TEST

/* A run that is looked at is neither recorded nor replayed, and leaves the plans as they were. */
START_TEST(observed_runs_go_step_by_step)
{
	const struct mpk_relax_vm *vm;
	struct mpk_value x = one(3), result = { 0 };
	int64_t add_f;

	begin_program();
	add_f = made_packed(&program, "add");
	(void)made_function(&program, "f", 1, 4);
	alloc(1);
	CALL(&program, VOID, add_f, REG(0), REG(0), REG(1));
	RET(&program, REG(1));
	open_program();
	for (int i = 0; i < 8; i++) {
		mpk_runtime_set_observers(m.runtime, i % 2 ? &writer.base : NULL);
		ck_assert_ok(model_call(&m, "f", &x, 1, &result, &err), err);
		ck_assert_float_eq(((float *)mpk_dltensor_data(&result.tensor->dl))[0], 6);
		mpk_value_drop(&result);
	}
	vm = (struct mpk_relax_vm *)mpk_node_machine((const struct mpk_node_module *)m.root);
	ck_assert_uint_eq(mpk_plans_get_stats(vm->plans).recorded, 1);
	ck_assert_uint_eq(mpk_plans_get_stats(vm->plans).replayed, 2);
	ck_assert_uint_eq(mpk_plans_get_stats(vm->plans).unplannable, 0);
	mpk_value_drop(&x);
	close_program();
}
END_TEST

/* What fails has no end; an observer that fails ends the run, and the machine goes on afterwards. */
START_TEST(failures_end_the_run)
{
	struct mpk_value x = one(1), result = { 0 };
	int64_t fail_f, make_f;

	begin_program();
	fail_f = made_packed(&program, "fail");
	make_f = made_packed(&program, "make");
	(void)made_function(&program, "f", 1, 3);
	CALL(&program, 1, make_f, REG(0));
	CALL(&program, VOID, fail_f, REG(1));
	RET(&program, REG(1));
	(void)made_function(&program, "g", 1, 3);
	CALL(&program, 1, make_f, REG(0));
	RET(&program, REG(1));
	open_program();
	ck_assert_int_eq(model_call(&m, "f", &x, 1, &result, &err), MPK_E_RAISED);
	ck_assert_str_eq(mpk_strbuf_text(&writer.text), "make(%0) -> 1 ");
	writer.fails_at = "make";
	ck_assert_int_eq(model_call(&m, "g", &x, 1, &result, &err), MPK_E_RANGE);
	ck_assert_int_eq(result.kind, MPK_VALUE_NONE);
	writer.fails_at = NULL;
	ck_assert_str_eq(watch("g"), "make(%0) -> 1 /return(%1) ");
	mpk_value_drop(&x);
	close_program();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("observe_relax");
	TCase *tc = tcase_create("the Relax VM under observation");

	tcase_add_test(tc, new_tensors_are_results);
	tcase_add_test(tc, an_address_that_comes_back_is_no_new_tensor);
	tcase_add_test(tc, functions_without_new_tensors);
	tcase_add_test(tc, heaps_are_no_results);
	tcase_add_test(tc, calls_within_calls);
	tcase_add_test(tc, observed_runs_go_step_by_step);
	tcase_add_test(tc, failures_end_the_run);
	suite_add_tcase(s, tc);

	SRunner *runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
