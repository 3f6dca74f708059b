/* SPDX-License-Identifier: Apache-2.0 */
/* What callers give to a program of the Relay VM: inputs by name and by place, values that become
 * tensors, memory that kernels cannot take, and constants that are bound after loading */
#include "relay_made.h"
#include "session/call.h"

/* out = in + 1 for one float; the input must lie as compiled code takes it for granted */
static int add_one(union mpk_tvm_value *args, int *codes, int count, union mpk_tvm_value *result,
		   int *result_code, void *resource)
{
	const struct mpk_dltensor *in = args[0].v_handle, *out = args[1].v_handle;

	(void)codes, (void)result, (void)result_code, (void)resource;
	if (count != 2 || (uintptr_t)in->data % 64 || in->byte_offset ||
	    !mpk_dltensor_is_compact(in))
		return -1;
	for (int64_t i = 0; i < in->shape[0]; i++)
		((float *)out->data)[i] = ((const float *)in->data)[i] + 1;
	return 0;
}

static const struct made_kernel kernels[] = {
	{ .name = "add_one", .compiled = add_one },
	{ .name = NULL },
};

static struct program p;
static struct model m;
static struct mpk_error err;

/* --- constants ----------------------------------------------------------------------------- */

/* main(x): return (w0, w1, w2) of which the first two are bound after loading */
static void late_program(void)
{
	program_init(&p, MPK_RELAY_14);
	(void)function(&p, "main", 5, "x");
	load(&p, late_const(&p, "w0"), 1);
	load(&p, late_const(&p, "w1"), 2);
	load(&p, float_const(&p, 1, 30), 3);
	OP(&p, MPK_RELAY_ALLOC_ADT, 0, 3, 4, 1, 2, 3);
	RET(&p, 4);
	(void)function(&p, "without", 2, "x");
	RET(&p, 0);
}

START_TEST(unbound_constants_are_named)
{
	struct mpk_value x = float_tensor(1, 1), result;

	late_program();
	model_open(&m, &p, kernels);
	ck_assert_int_eq(model_call(&m, "main", &x, 1, &result, &err), MPK_E_LOAD);
	ck_assert_text(err, "'main' needs 2 constants");
	ck_assert_text(err, "w0, w1");
	ck_assert_ok(model_call(&m, "without", &x, 1, &result, &err), err);
	mpk_value_drop(&result);
	mpk_value_drop(&x);
	model_close(&m);
}
END_TEST

/* Bound before a function is looked up; names of a file of all parameters may be too many. */
START_TEST(constants_are_bound_after_loading)
{
	struct mpk_value x = float_tensor(1, 1),
			 w[2] = { float_tensor(2, 10), float_tensor(3, 20) };
	struct mpk_dltensor shifted = w[1].tensor->dl;
	struct mpk_relay_binding bindings[] = {
		{ mpk_span_str("w0"), w[1].tensor },
		{ mpk_span_str("nobody"), w[0].tensor },
		{ mpk_span_str("w0"), w[0].tensor },
		{ mpk_span_str("w1"), NULL },
	};
	int64_t two = 2;

	/* the last two of three: such an address is not for kernels */
	shifted.byte_offset = sizeof(float);
	shifted.shape = &two;
	ck_assert_ok(mpk_tensor_wrap(&shifted, w[1].tensor->storage, &bindings[3].tensor, &err),
		     err);
	late_program();
	model_open(&m, &p, kernels);
	ck_assert_ok(mpk_relay_bind(m.root, bindings, 4, &err), err);
	mpk_tensor_drop(bindings[3].tensor);
	mpk_value_drop(&w[0]);
	mpk_value_drop(&w[1]);
	for (int i = 0; i < 4; i++) {
		struct mpk_value result;

		ck_assert_ok(model_call(&m, "main", &x, 1, &result, &err), err);
		ck_assert_float_eq(float_at(&result.array->items[0], 1), 11);
		ck_assert_float_eq(float_at(&result.array->items[1], 1), 22);
		ck_assert_uint_eq(result.array->items[1].tensor->dl.byte_offset, 0);
		ck_assert_float_eq(float_at(&result.array->items[2], 0), 30);
		mpk_value_drop(&result);
	}
	ck_assert_int_eq(mpk_relay_bind(m.root, bindings, 0, &err), MPK_E_CONFLICT);
	ck_assert_int_eq(mpk_relay_bind(m.root->imports[0], bindings, 0, &err), MPK_E_USAGE);
	mpk_value_drop(&x);
	model_close(&m);
}
END_TEST

/* --- inputs -------------------------------------------------------------------------------- */

/* main(a, b, c) returns them as a tuple */
static void tuple_program(void)
{
	program_init(&p, MPK_RELAY_14);
	(void)function(&p, "main", 4, "a b c");
	OP(&p, MPK_RELAY_ALLOC_ADT, 0, 3, 3, 0, 1, 2);
	RET(&p, 3);
}

static enum mpk_code call_named(const struct mpk_value *args, const char *const *names,
				size_t count, struct mpk_value *result)
{
	struct mpk_span spans[8];
	struct mpk_function *f = NULL;
	enum mpk_code code;

	for (size_t i = 0; i < count; i++)
		spans[i] = mpk_span_str(names[i]);
	ck_assert_ok(model_find(&m, "main", &f, &err), err);
	ck_assert(f->takes_names);
	*result = (struct mpk_value){ 0 };
	code = mpk_function_call(f, &(struct mpk_args){ args, spans, count }, result, &err);
	if (code != MPK_OK) /* the text ends at the fact; minspect adds what helps */
		ck_assert_ptr_null(strstr(err.text, "--"));
	if (code == MPK_E_USAGE)
		mpk_hint_add_call(f->signature, &err);
	mpk_function_drop(f);
	return code;
}

static const struct {
	const char *names[4];
	size_t count;
	const char *order; /* which argument each parameter gets; or what is said */
} named[] = {
	{ { "", "", "" }, 3, "012" },
	{ { "c", "b", "a" }, 3, "210" },
	{ { "c", "", "" }, 3, "120" },
	{ { "", "a", "" }, 3, "102" },
	{ { "a", "", "a" }, 3, "input 'a' is given twice" },
	{ { "a", "bb", "c" }, 3, "no input 'bb' (did you mean 'b'?); call it with --input a=" },
	{ { "a", "quite else", "c" }, 3, "no input 'quite else'; call it with" },
	{ { "a", "b" }, 2, "input 'c' is missing" },
	{ { "", "", "", "" }, 4, "4 values for 3 inputs" },
};

START_TEST(inputs_have_names_and_places)
{
	struct mpk_value args[4], result;

	for (int i = 0; i < 4; i++)
		args[i] = float_tensor(1, (float)i);
	tuple_program();
	model_open(&m, &p, kernels);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(named); i++) {
		enum mpk_code code = call_named(args, named[i].names, named[i].count, &result);

		if (strlen(named[i].order) > 3) {
			ck_assert_int_eq(code, MPK_E_USAGE);
			ck_assert_text(err, named[i].order);
			continue;
		}
		ck_assert_ok(code, err);
		for (size_t k = 0; k < 3; k++)
			ck_assert_float_eq(float_at(&result.array->items[k], 0),
					   (float)(named[i].order[k] - '0'));
		mpk_value_drop(&result);
	}
	for (int i = 0; i < 4; i++)
		mpk_value_drop(&args[i]);
	model_close(&m);
}
END_TEST

/* Numbers and bools become tensors of the types that TVM's own callers use; what Relay has no value
 * for is refused by the name of its parameter. */
START_TEST(values_become_tensors)
{
	struct mpk_value args[3] = { mpk_value_of_int(5), mpk_value_of_float(1.5),
				     mpk_value_of_bool(true) };
	struct mpk_value result, text;
	const struct mpk_value *items;

	tuple_program();
	model_open(&m, &p, kernels);
	ck_assert_ok(model_call(&m, "main", args, 3, &result, &err), err);
	items = result.array->items;
	ck_assert(mpk_dtype_equal(items[0].tensor->dl.dtype, i32));
	ck_assert_int_eq(*(int32_t *)items[0].tensor->dl.data, 5);
	ck_assert(mpk_dtype_equal(items[1].tensor->dl.dtype, f32));
	ck_assert_float_eq(float_at(&items[1], 0), 1.5F);
	ck_assert(mpk_dtype_equal(items[2].tensor->dl.dtype, (struct mpk_dtype){ 1, 1, 1 }));
	ck_assert_int_eq(*(uint8_t *)items[2].tensor->dl.data, 1);
	mpk_value_drop(&result);
	args[0].type = i64;
	ck_assert_ok(model_call(&m, "main", args, 3, &result, &err), err);
	ck_assert_int_eq(number_at(&result.array->items[0], 0), 5);
	mpk_value_drop(&result);
	ck_assert_ok(mpk_value_of_text(MPK_VALUE_STR, mpk_span_str("x"), &text, &err), err);
	args[1] = text;
	ck_assert_int_eq(model_call(&m, "main", args, 3, &result, &err), MPK_E_USAGE);
	ck_assert_text(err, "input 'b' of main takes a tensor, not str");
	mpk_value_drop(&text);
	model_close(&m);
}
END_TEST

/* main(x): y = x + 1, by a kernel that takes aligned and compact memory for granted */
START_TEST(inputs_are_made_fit_for_kernels)
{
	struct mpk_value x = float_tensor(40, 1), result;
	int64_t shape = 10, strides[] = { 1, 3 }, dense = 1;

	program_init(&p, MPK_RELAY_14);
	(void)function(&p, "main", 4, "x");
	floats(&p, 10, 2);
	CALL(&p, "add_one", 0, 2);
	RET(&p, 2);
	model_open(&m, &p, kernels);
	for (int round = 0; round < 4; round++)
		for (size_t way = 0; way < 4; way++) {
			struct mpk_dltensor dl = x.tensor->dl;
			struct mpk_value view = { .kind = MPK_VALUE_TENSOR };
			size_t from = way == 0 ? 0 : 2;

			dl.shape = &shape;
			dl.strides = way == 3 ? &strides[1] : &dense;
			if (way == 1)
				dl.byte_offset = 2 * sizeof(float);
			else
				dl.data = (float *)dl.data + from;
			ck_assert_ok(mpk_tensor_wrap(&dl, x.tensor->storage, &view.tensor, &err),
				     err);
			ck_assert_ok(model_call(&m, "main", &view, 1, &result, &err), err);
			ck_assert_float_eq(float_at(&result, 9),
					   (float)(2 + from + (way == 3 ? 27 : 9)));
			mpk_value_drop(&result);
			mpk_value_drop(&view);
		}
	mpk_value_drop(&x);
	model_close(&m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("relay_inputs");
	TCase *tc = tcase_create("relay_inputs");
	SRunner *r = srunner_create(s);

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, unbound_constants_are_named);
	tcase_add_test(tc, constants_are_bound_after_loading);
	tcase_add_test(tc, inputs_have_names_and_places);
	tcase_add_test(tc, values_become_tensors);
	tcase_add_test(tc, inputs_are_made_fit_for_kernels);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
