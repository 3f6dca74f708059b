/* SPDX-License-Identifier: Apache-2.0 */
/* Executables of the Relay VM: what is refused when they are loaded, and that no byte code, however
 * broken, does more than fail */
#include <pthread.h>

#include "relay_made.h"

/* Sizes that no memory holds are an answer, not the end of the test. */
MPK_EXPORT const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

/* Reads the ends of all tensors and writes those of the last. */
static volatile uint8_t sink;

static int touch(union mpk_tvm_value *args, int *codes, int count, union mpk_tvm_value *result,
		 int *result_code, void *resource)
{
	(void)codes, (void)result, (void)result_code, (void)resource;
	for (int i = 0; i < count; i++) {
		const struct mpk_dltensor *t = args[i].v_handle;
		uint8_t *data = mpk_dltensor_data(t);
		uint64_t bytes;

		if (mpk_tensor_bytes_of(t->dtype, t->shape, (size_t)t->ndim, &bytes, NULL) !=
			    MPK_OK ||
		    !bytes)
			continue;
		sink = data[0] ^ data[bytes - 1];
		if (i == count - 1)
			data[0] = data[bytes - 1] = 1;
	}
	return 0;
}

/* out = in + 1 */
static int add_one(union mpk_tvm_value *args, int *codes, int count, union mpk_tvm_value *result,
		   int *result_code, void *resource)
{
	const struct mpk_dltensor *in = args[0].v_handle, *out = args[1].v_handle;

	(void)codes, (void)count, (void)result, (void)result_code, (void)resource;
	for (int64_t i = 0; i < in->shape[0]; i++)
		((float *)out->data)[i] = ((const float *)in->data)[i] + 1;
	return 0;
}

static const struct made_kernel kernels[] = {
	{ .name = "touch", .compiled = touch },
	{ .name = "add_one", .compiled = add_one },
	{ .name = NULL },
};

static struct program p;
static struct model m;
static struct mpk_error err;

/* --- what is missing ----------------------------------------------------------------------- */

START_TEST(missing_kernels_are_named_for_those_who_need_them)
{
	struct mpk_value x = float_tensor(1, 1), result;

	program_init(&p, MPK_RELAY_14);
	int64_t needs = function(&p, "needs", 2, "x");
	CALL(&p, "vm_mod_gone", 0);
	CALL(&p, "vm_mod_lost", 0);
	RET(&p, 0);
	(void)function(&p, "calls", 2, "x");
	OP(&p, MPK_RELAY_ALLOC_CLOSURE, needs, 0, 1);
	RET(&p, 0);
	(void)function(&p, "fine", 2, "x");
	RET(&p, 0);
	model_open(&m, &p, kernels);
	ck_assert_int_eq(model_call(&m, "calls", &x, 1, &result, &err), MPK_E_LOAD);
	ck_assert_text(err, "'calls' needs 2 functions");
	ck_assert_text(err, "vm_mod_gone, vm_mod_lost");
	ck_assert_ok(model_call(&m, "fine", &x, 1, &result, &err), err);
	mpk_value_drop(&result);
	mpk_value_drop(&x);
	model_close(&m);
}
END_TEST

/* --- broken byte code ---------------------------------------------------------------------- */

static void open_broken(enum mpk_code expected, const char *why)
{
	struct mpk_value result;

	model_open(&m, &p, kernels);
	ck_assert_int_eq(model_call(&m, "main", NULL, 0, &result, &err), expected);
	ck_assert_text(err, why);
	model_close(&m);
}

static void begin(void)
{
	program_init(&p, MPK_RELAY_14);
	(void)number_const(&p, 1);
	(void)packed(&p, "touch");
	(void)function(&p, "main", 4, "");
}

#define REFUSED(why, ...)                                                                          \
	do {                                                                                       \
		begin();                                                                           \
		OP(&p, __VA_ARGS__);                                                               \
		RET(&p, 0);                                                                        \
		open_broken(MPK_E_CORRUPT, why);                                                   \
	} while (0)

START_TEST(broken_byte_code_is_refused)
{
	REFUSED("register 4 does not exist", MPK_RELAY_MOVE, 0, 4);
	REFUSED("register -1 does not exist", MPK_RELAY_KILL_REGISTER, -1);
	REFUSED("constant 1 does not exist", MPK_RELAY_LOAD_CONST, 1, 0, 0);
	REFUSED("packed function 1 does not exist", MPK_RELAY_INVOKE_PACKED, 1, 0, 0);
	REFUSED("2 outputs among 1 arguments", MPK_RELAY_INVOKE_PACKED, 0, 1, 2, 0);
	REFUSED("-1 outputs among 1 arguments", MPK_RELAY_INVOKE_PACKED, 0, 1, -1, 0);
	REFUSED("function 1 does not exist", MPK_RELAY_INVOKE, 1, 0, 0);
	REFUSED("takes 0 arguments, not 1", MPK_RELAY_INVOKE, 0, 1, 0, 0);
	REFUSED("takes 0 arguments, not 1", MPK_RELAY_ALLOC_CLOSURE, 0, 1, 0, 0);
	REFUSED("jump target", MPK_RELAY_GOTO, 2);
	REFUSED("jump target", MPK_RELAY_GOTO, -1);
	REFUSED("jumps to itself", MPK_RELAY_GOTO, 0);
	REFUSED("jumps to itself", MPK_RELAY_IF, 0, 0, 1, 0);
	REFUSED("device 1 does not exist", MPK_RELAY_DEVICE_COPY, 0, 0, 1, 0);
	REFUSED("device -1 does not exist", MPK_RELAY_DEVICE_COPY, 0, -1, 0, 0);
	REFUSED("device 7 does not exist", MPK_RELAY_ALLOC_STORAGE, 0, 64, 2, 32, 1, 7, 0, 0);
	REFUSED("extent -4", MPK_RELAY_ALLOC_STORAGE, 0, 64, 2, 32, 1, 0, 1, 0, -4);
	REFUSED("extent -1", MPK_RELAY_ALLOC_TENSOR, 0, 0, 2, 32, 1, 1, 0, -1);
	REFUSED("no type has code 2, 0 bits", MPK_RELAY_ALLOC_TENSOR, 0, 0, 2, 0, 1, 1, 0, 1);
	REFUSED("no type has code 256", MPK_RELAY_ALLOC_TENSOR_REG, 0, 0, 0, 256, 32, 1, 0);
	REFUSED("field -1", MPK_RELAY_GET_FIELD, 0, -1, 0);
}
END_TEST

START_TEST(broken_functions_are_refused)
{
	int64_t many[8 + MPK_TENSOR_NDIM_MAX + 1] = { MPK_RELAY_ALLOC_TENSOR,  0, 0, 2, 32, 1,
						      MPK_TENSOR_NDIM_MAX + 1, 0 };

	begin();
	put_instr(&p, many, MPK_ARRAY_COUNT(many));
	RET(&p, 0);
	open_broken(MPK_E_CORRUPT, "33 dimensions");

	begin();
	open_broken(MPK_E_CORRUPT, "does not end in a return");

	begin();
	MOVE(&p, 0, 1);
	open_broken(MPK_E_CORRUPT, "does not end in a return");

	begin();
	RET(&p, 0);
	(void)snprintf(p.numbers[0][0], 24, "4000000000");
	p.info[0][1] = mpk_span_str(p.numbers[0][0]);
	open_broken(MPK_E_CORRUPT, "4000000000 registers");

	begin();
	RET(&p, 0);
	p.const_devices[0] = 1;
	open_broken(MPK_E_CORRUPT, "device 1 of constants 0 does not exist");

	program_init(&p, MPK_RELAY_14);
	(void)function(&p, "main", 4, "x y");
	RET(&p, 0);
	p.param_devices[0][1] = -1;
	open_broken(MPK_E_CORRUPT, "device -1 of parameters 1 does not exist");
	p.funcs[0].param_devices.len = 8;
	open_broken(MPK_E_CORRUPT, "devices of 1 parameters for 2");
	p.funcs[0].param_devices.len = 24;
	open_broken(MPK_E_CORRUPT, "devices of 3 parameters for 2");

	program_init(&p, MPK_RELAY_08);
	(void)number_const(&p, 1);
	(void)function(&p, "main", 4, "");
	RET(&p, 0);
	p.const_devices[0] = 99;
	open_broken(MPK_E_CORRUPT, "device 99 of constants 0 does not exist");

	begin();
	RET(&p, 0);
	p.devices[0].type = MPK_DL_OPENCL;
	open_broken(MPK_E_UNSUPPORTED, "scalars and shapes on a device of type 4");
}
END_TEST

/* Registers may hold anything: each instruction is given each kind of value. */
START_TEST(wrong_kinds_are_errors)
{
	static const int64_t ops[][10] = {
		{ 9, MPK_RELAY_ALLOC_TENSOR, 2, 2, 2, 32, 1, 1, 3, 1 },
		{ 8, MPK_RELAY_ALLOC_TENSOR_REG, 2, 2, 2, 2, 32, 1, 3 },
		{ 4, MPK_RELAY_GET_FIELD, 2, 1, 3 },
		{ 5, MPK_RELAY_IF, 2, 2, 1, 1 },
		{ 3, MPK_RELAY_GET_TAG, 2, 3 },
		{ 9, MPK_RELAY_ALLOC_STORAGE, 2, 64, 2, 32, 1, 0, 0, 3 },
		{ 3, MPK_RELAY_SHAPE_OF, 2, 3 },
		{ 4, MPK_RELAY_RESHAPE_TENSOR, 2, 2, 3 },
		{ 5, MPK_RELAY_DEVICE_COPY, 2, 0, 0, 3 },
		{ 4, MPK_RELAY_INVOKE_CLOSURE, 2, 0, 3 },
		{ 5, MPK_RELAY_INVOKE_PACKED, 0, 1, 1, 2 },
	};
	int refused = 0;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(ops); i++)
		for (int kind = 0; kind < 6; kind++) {
			struct mpk_value result;

			begin();
			if (kind == 1)
				storage(&p, 1, 2);
			else if (kind == 2)
				OP(&p, MPK_RELAY_ALLOC_ADT, 0, 1, 2, 1);
			else if (kind == 3)
				OP(&p, MPK_RELAY_ALLOC_CLOSURE, 0, 0, 2);
			else if (kind == 4)
				floats(&p, 4, 2);
			else if (kind == 5)
				CONSTI(&p, -5, 2);
			if (kind == 1) { /* its size, in front of it */
				p.instr_count = p.word_count = p.funcs[0].instr_count = 0;
				CONSTI(&p, 64, 1);
				storage(&p, 1, 2);
			}
			put_instr(&p, &ops[i][1], (size_t)ops[i][0]);
			RET(&p, 0);
			model_open(&m, &p, kernels);
			for (int call = 0; call < 3; call++)
				if (model_call(&m, "main", NULL, 0, &result, &err) == MPK_OK)
					mpk_value_drop(&result);
				else
					refused++;
			model_close(&m);
		}
	/* most pairs do not go together; those that do are tensors where tensors are wanted */
	ck_assert_int_gt(refused, 3 * 50);
}
END_TEST

/* Every word of a program that has all instructions, changed to what is likely to do harm; then it
 * is called, as byte code and by its plan. Nothing may happen but an error or a result. */
static void program_of_all(void)
{
	program_init(&p, MPK_RELAY_14);
	int64_t shape = number_const(&p, 4);
	p.const_shapes[shape][0] = 1;
	p.consts[shape].tensor.shape = p.const_shapes[shape];
	p.consts[shape].tensor.ndim = 1;
	int64_t inner = function(&p, "inner", 3, "a b");
	MOVE(&p, 1, 2);
	RET(&p, 2);
	(void)function(&p, "main", 12, "x n");
	load(&p, shape, 2);
	CONSTI(&p, 64, 3);
	storage(&p, 3, 4);
	CONSTI(&p, 16, 3);
	OP(&p, MPK_RELAY_ALLOC_TENSOR, 4, 3, 2, 32, 1, 1, 5, 4);
	CALL(&p, "touch", 0, 5);
	OP(&p, MPK_RELAY_ALLOC_TENSOR_REG, 4, 3, 2, 2, 32, 1, 6);
	OP(&p, MPK_RELAY_SHAPE_OF, 6, 7);
	OP(&p, MPK_RELAY_RESHAPE_TENSOR, 5, 7, 8);
	CALL(&p, "touch", 8, 6);
	OP(&p, MPK_RELAY_DEVICE_COPY, 6, 0, 0, 9);
	OP(&p, MPK_RELAY_ALLOC_ADT, -7, 2, 10, 9, 8);
	OP(&p, MPK_RELAY_GET_TAG, 10, 3);
	IF(&p, 3, 1, 2, 1);
	OP(&p, MPK_RELAY_GET_FIELD, 10, 1, 9);
	OP(&p, MPK_RELAY_ALLOC_CLOSURE, inner, 1, 11, 9);
	OP(&p, MPK_RELAY_INVOKE_CLOSURE, 11, 1, 9, 10);
	OP(&p, MPK_RELAY_INVOKE, inner, 2, 9, 0, 9);
	KILL(&p, 10);
	floats(&p, 3, 8);
	CALL(&p, "touch", 8, 5, 8);
	GOTO(&p, 2);
	OP(&p, MPK_RELAY_FATAL);
	RET(&p, 9);
}

static bool call_changed(void)
{
	struct mpk_value args[2] = { float_tensor(4, 1), number_tensor(3) }, result;
	struct mpk_function *f = NULL;
	bool all_fine = true;

	model_open(&m, &p, kernels);
	if (model_find(&m, "main", &f, &err) == MPK_OK) /* loops have an end, too */
		machine_of(&m)->step_limit = 1000;
	mpk_function_drop(f);
	for (int i = 0; i < 3; i++) {
		enum mpk_code code = model_call(&m, "main", args, 2, &result, &err);

		if (code == MPK_OK)
			mpk_value_drop(&result);
		else
			ck_assert_uint_gt(strlen(err.text), 0);
		all_fine &= code == MPK_OK;
	}
	model_close(&m);
	mpk_value_drop(&args[0]);
	mpk_value_drop(&args[1]);
	return all_fine;
}

START_TEST(changed_words_do_no_harm)
{
	static const int64_t harm[] = { -1,
					0,
					1,
					2,
					3,
					5,
					8,
					11,
					12,
					16,
					32,
					64,
					127,
					256,
					65536,
					INT32_MAX,
					INT64_C(1) << 32,
					INT64_C(1) << 40,
					INT64_MAX / 8,
					INT64_MAX,
					INT64_MIN };
	size_t fine = 0, words;

	program_of_all();
	words = p.word_count;
	ck_assert(call_changed());
	for (size_t at = 0; at < words; at++)
		for (size_t k = 0; k < MPK_ARRAY_COUNT(harm); k++) {
			int64_t old = p.words[at];

			p.words[at] = (int64_t)htole64((uint64_t)harm[k]);
			fine += call_changed();
			p.words[at] = old;
		}
	ck_assert_uint_gt(fine, 100);
	ck_assert_uint_lt(fine, words * MPK_ARRAY_COUNT(harm) / 2);
	/* and at random, several at a time */
	uint64_t random = 14;

	for (int i = 0; i < 5000; i++) {
		program_of_all();
		for (uint64_t n = random_below(&random, 4) + 1; n > 0; n--)
			p.words[random_below(&random, words)] =
				(int64_t)htole64(random_below(&random, 26) - 2);
		(void)call_changed();
	}
}
END_TEST

/* --- life ---------------------------------------------------------------------------------- */

START_TEST(load_call_close_a_thousand_times)
{
	program_of_all();
	for (int i = 0; i < 1000; i++)
		ck_assert(call_changed());
}
END_TEST

static void *run_many(void *model)
{
	intptr_t wrong = 0;

	for (int i = 0; i < 2000; i++) {
		struct mpk_value x = float_tensor(10, (float)i), result = { 0 };
		struct mpk_error why = { 0 };

		wrong += model_call(model, "main", &x, 1, &result, &why) != MPK_OK ||
			 float_at(&result, 9) != (float)i + 10;
		mpk_value_drop(&result);
		mpk_value_drop(&x);
	}
	return (void *)wrong;
}

/* One machine is used by one thread at a time, two machines by two. */
START_TEST(threads_do_not_meet)
{
	struct model models[2] = { 0 };
	pthread_t threads[4];

	program_init(&p, MPK_RELAY_14);
	(void)function(&p, "main", 4, "x");
	floats(&p, 10, 2);
	CALL(&p, "add_one", 0, 2);
	RET(&p, 2);
	model_open(&models[0], &p, kernels);
	model_open(&models[1], &p, kernels);
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
	Suite *s = suite_create("relay_load");
	TCase *tc = tcase_create("relay_load");
	SRunner *r = srunner_create(s);

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, missing_kernels_are_named_for_those_who_need_them);
	tcase_add_test(tc, broken_byte_code_is_refused);
	tcase_add_test(tc, broken_functions_are_refused);
	tcase_add_test(tc, wrong_kinds_are_errors);
	tcase_add_test(tc, changed_words_do_no_harm);
	tcase_add_test(tc, load_call_close_a_thousand_times);
	tcase_add_test(tc, threads_do_not_meet);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
