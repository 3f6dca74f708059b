/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs of a call against what a model takes: each way to be wrong, and what is said of it. */
#include "assert_error.h"
#include "executor/machine.h"
#include "harness.h"
#include "session/call.h"
#include "signature/signature.h"

static const struct mpk_dtype f32 = { MPK_DTYPE_FLOAT, 32, 1 };
static const struct mpk_dtype i64 = { MPK_DTYPE_INT, 64, 1 };
static const int64_t matrix[] = { 2, 20 }, vector[] = { 12 }, rows[] = { -1, 8 };
static const struct mpk_span symbols[] = { { (const uint8_t *)"n", 1 }, { NULL, 0 } };
static const struct mpk_span square_symbols[] = { { (const uint8_t *)"n", 1 },
						  { (const uint8_t *)"n", 1 } };

static struct mpk_param tensor(const char *name, struct mpk_dtype dtype, const int64_t *shape,
			       size_t ndim)
{
	return (struct mpk_param){ mpk_span_str(name), mpk_type_tensor(dtype, shape, ndim, NULL) };
}

/* A value of that type and shape; the caller drops it. */
static struct mpk_value value(struct mpk_dtype dtype, const int64_t *shape, size_t ndim)
{
	struct mpk_error err = { 0 };
	struct mpk_tensor *t = NULL;

	ck_assert_ok(mpk_tensor_create(dtype, shape, ndim, MPK_STORAGE_PRIVATE, &t, &err), err);
	return mpk_value_of_tensor(t);
}

enum { DATA, EXTRA, WEIGHT, PLACES };

/* data: float32[2, 20], extra: int64[12], and a parameter weight: float32[12] */
static const struct mpk_signature *fixed_model(void)
{
	static struct mpk_param inputs[2], params[1];
	static struct mpk_signature m;

	inputs[DATA] = tensor("data", f32, matrix, 2);
	inputs[EXTRA] = tensor("extra", i64, vector, 1);
	params[0] = tensor("weight", f32, vector, 1);
	m = (struct mpk_signature){ .named_inputs = true,
				    .inputs = inputs,
				    .input_count = 2,
				    .params = params,
				    .param_count = 1 };
	return &m;
}

#define RIGHT "; call it with --input data=2x20xf32=rand --input extra=12xi64=rand"

/* What is said ends at the fact; minspect adds a call that is right, unless a name came twice. */
static enum mpk_code bind_with_hint(const struct mpk_signature *m, const struct mpk_args *args,
				    const struct mpk_value **bound, struct mpk_error *err)
{
	enum mpk_code code = mpk_signature_bind(m, args, bound, err);

	if (code == MPK_OK)
		return code;
	ck_assert_ptr_null(strstr(err->text, "--"));
	if (!strstr(err->text, "twice"))
		mpk_hint_add_call(m, err);
	return code;
}

/* --- names and positions -------------------------------------------------------------------- */

/* Which values (0 or 1) stand for data and extra, weight being left alone; -1: refused */
struct binding {
	const char *names[2];
	int data, extra;
	const char *said;
};

static const struct binding bindings[] = {
	{ { "", "" }, 0, 1, NULL },
	{ { "data", "extra" }, 0, 1, NULL },
	{ { "extra", "data" }, 1, 0, NULL },
	{ { "", "extra" }, 0, 1, NULL },
	{ { "extra", "" }, 1, 0, NULL },
	{ { "", "data" }, 1, 0, NULL },
	{ { "data", "data" }, -1, -1, "input 'data' is given twice" },
	{ { "data", "xtra" }, -1, -1, "no input 'xtra' (did you mean 'extra'?)" RIGHT },
	{ { "data", "waight" }, -1, -1, "no input 'waight' (did you mean 'weight'?)" RIGHT },
	{ { "data", "else" }, -1, -1, "no input 'else'" RIGHT },
	{ { "da\nta", "extra" }, -1, -1, "no input 'da\\nta' (did you mean 'data'?)" RIGHT },
};

START_TEST(names_and_positions)
{
	const struct binding *b = &bindings[_i];
	struct mpk_value m = value(f32, matrix, 2), v = value(i64, vector, 1);
	const struct mpk_value values[] = { b->data == 0 ? m : v, b->data == 0 ? v : m };
	const struct mpk_span names[] = { mpk_span_str(b->names[0]), mpk_span_str(b->names[1]) };
	const struct mpk_value *bound[PLACES];
	struct mpk_error err = { 0 };
	enum mpk_code code =
		bind_with_hint(fixed_model(), &(struct mpk_args){ values, names, 2 }, bound, &err);

	if (b->said) {
		ck_assert_int_eq(code, MPK_E_USAGE);
		ck_assert_str_eq(err.text, b->said);
	} else {
		ck_assert_ok(code, err);
		ck_assert_ptr_eq(bound[DATA], &values[b->data]);
		ck_assert_ptr_eq(bound[EXTRA], &values[b->extra]);
		ck_assert_ptr_null(bound[WEIGHT]);
	}
	mpk_value_drop(&m);
	mpk_value_drop(&v);
}
END_TEST

START_TEST(too_many_and_too_few)
{
	struct mpk_value m = value(f32, matrix, 2), v = value(i64, vector, 1),
			 w = value(f32, vector, 1);
	const struct mpk_value values[] = { m, v, w };
	const struct mpk_span weight[] = { { 0 }, { 0 }, mpk_span_str("weight") };
	const struct mpk_value *bound[PLACES];
	struct mpk_error err = { 0 };

	ck_assert_int_eq(
		bind_with_hint(fixed_model(), &(struct mpk_args){ values, NULL, 3 }, bound, &err),
		MPK_E_USAGE);
	ck_assert_str_eq(err.text, "3 values for 2 inputs" RIGHT);
	ck_assert_int_eq(
		bind_with_hint(fixed_model(), &(struct mpk_args){ values, NULL, 1 }, bound, &err),
		MPK_E_USAGE);
	ck_assert_str_eq(err.text, "input 'extra' is missing: int64[12]" RIGHT);
	ck_assert_int_eq(
		bind_with_hint(fixed_model(), &(struct mpk_args){ values, weight, 0 }, bound, &err),
		MPK_E_USAGE);
	ck_assert_str_eq(err.text, "input 'data' is missing: float32[2, 20]" RIGHT);
	/* a parameter is given by name or not at all */
	ck_assert_ok(
		bind_with_hint(fixed_model(), &(struct mpk_args){ values, weight, 3 }, bound, &err),
		err);
	ck_assert_ptr_eq(bound[WEIGHT], &values[2]);
	mpk_value_drop(&m);
	mpk_value_drop(&v);
	mpk_value_drop(&w);
}
END_TEST

START_TEST(a_model_without_inputs)
{
	static const struct mpk_signature none = { .named_inputs = true };
	struct mpk_value one = mpk_value_of_int(1);
	struct mpk_error err = { 0 };

	ck_assert_ok(bind_with_hint(&none, &(struct mpk_args){ 0 }, NULL, &err), err);
	ck_assert_int_eq(bind_with_hint(&none, &(struct mpk_args){ &one, NULL, 1 }, NULL, &err),
			 MPK_E_USAGE);
	ck_assert_str_eq(err.text, "1 value for 0 inputs; it takes no inputs");
}
END_TEST

/* --- types and shapes ----------------------------------------------------------------------- */

static enum mpk_code bind_data(struct mpk_value data, struct mpk_error *err)
{
	struct mpk_value v = value(i64, vector, 1);
	const struct mpk_value values[] = { data, v };
	const struct mpk_value *bound[PLACES];
	enum mpk_code code =
		bind_with_hint(fixed_model(), &(struct mpk_args){ values, NULL, 2 }, bound, err);

	mpk_value_drop(&data);
	mpk_value_drop(&v);
	return code;
}

START_TEST(types_and_shapes)
{
	static const int64_t other[] = { 2, 21 };
	static const struct mpk_dtype f64 = { MPK_DTYPE_FLOAT, 64, 1 };
	struct mpk_error err = { 0 };

	ck_assert_int_eq(bind_data(value(f32, other, 2), &err), MPK_E_USAGE);
	ck_assert_str_eq(err.text, "input 'data' takes float32[2, 20], not float32[2, 21]" RIGHT);
	ck_assert_int_eq(bind_data(value(f64, matrix, 2), &err), MPK_E_USAGE);
	ck_assert_str_eq(err.text, "input 'data' takes float32[2, 20], not float64[2, 20]" RIGHT);
	ck_assert_int_eq(bind_data(value(f32, matrix, 1), &err), MPK_E_USAGE);
	ck_assert_str_eq(err.text, "input 'data' takes float32[2, 20], not float32[2]" RIGHT);
	ck_assert_int_eq(bind_data(value(f32, matrix, 0), &err), MPK_E_USAGE);
	ck_assert_str_eq(err.text, "input 'data' takes float32[2, 20], not float32[]" RIGHT);
	ck_assert_int_eq(bind_data(mpk_value_of_int(5), &err), MPK_E_USAGE);
	ck_assert_str_eq(err.text, "input 'data' takes float32[2, 20], not int" RIGHT);
	ck_assert_ok(bind_data(value(f32, matrix, 2), &err), err);
}
END_TEST

/* Releases differ in what they call a bool. */
START_TEST(bools)
{
	static const struct mpk_dtype old = { MPK_DTYPE_UINT, 1, 1 },
				      new = { MPK_DTYPE_BOOL, 8, 1 };
	const struct mpk_param input = tensor("x", old, vector, 1);
	const struct mpk_signature m = { .inputs = &input, .input_count = 1 };
	const struct mpk_value *bound[1];
	struct mpk_value v = value(new, vector, 1);
	struct mpk_error err = { 0 };

	ck_assert_ok(bind_with_hint(&m, &(struct mpk_args){ &v, NULL, 1 }, bound, &err), err);
	mpk_value_drop(&v);
}
END_TEST

START_TEST(inputs_of_no_known_type_take_anything)
{
	const struct mpk_param input = { .name = mpk_span_str("x") };
	const struct mpk_signature m = { .inputs = &input, .input_count = 1 };
	const struct mpk_value v = mpk_value_of_bool(true);
	const struct mpk_value *bound[1];
	struct mpk_error err = { 0 };

	ck_assert_ok(bind_with_hint(&m, &(struct mpk_args){ &v, NULL, 1 }, bound, &err), err);
	ck_assert_int_eq(bind_with_hint(&m, &(struct mpk_args){ &v, NULL, 0 }, bound, &err),
			 MPK_E_USAGE);
	/* this model has names for its inputs, but takes none */
	ck_assert_str_eq(err.text, "input 'x' is missing: any value; call it with "
				   "--input SHAPExTYPE=VALUES");
}
END_TEST

/* --- symbolic extents ----------------------------------------------------------------------- */

struct symbolic {
	int64_t a[2], b[2], c[2];
	const char *said;
};

/* a: float32[n, 8], b: float32[n, 8], c: float32[n, n] */
static const struct symbolic symbolics[] = {
	{ { 3, 8 }, { 3, 8 }, { 3, 3 }, NULL },
	{ { 0, 8 }, { 0, 8 }, { 0, 0 }, NULL },
	{ { 3, 9 }, { 3, 8 }, { 3, 3 }, "input 'a' takes float32[n, 8], not float32[3, 9]; " },
	{ { 3, 8 },
	  { 4, 8 },
	  { 3, 3 },
	  "input 'b' takes float32[n, 8], n being 3, not float32[4, 8]; " },
	{ { 5, 8 },
	  { 5, 8 },
	  { 5, 3 },
	  "input 'c' takes float32[n, n], n being 5, not float32[5, 3]; " },
};

START_TEST(symbols_are_the_same_size_everywhere)
{
	const struct symbolic *s = &symbolics[_i];
	struct mpk_param inputs[] = { tensor("a", f32, rows, 2), tensor("b", f32, rows, 2),
				      tensor("c", f32, rows, 2) };
	const struct mpk_signature m = { .named_inputs = true, .inputs = inputs, .input_count = 3 };
	struct mpk_value values[] = { value(f32, s->a, 2), value(f32, s->b, 2),
				      value(f32, s->c, 2) };
	const struct mpk_value *bound[3];
	struct mpk_error err = { 0 };

	inputs[0].type.symbols = inputs[1].type.symbols = symbols;
	inputs[2].type.symbols = square_symbols;
	enum mpk_code code = bind_with_hint(&m, &(struct mpk_args){ values, NULL, 3 }, bound, &err);
	if (s->said) {
		ck_assert_int_eq(code, MPK_E_USAGE);
		ck_assert_text(err, s->said);
		ck_assert_text(err, "call it with --input a=1x8xf32=rand "
				    "--input b=1x8xf32=rand --input c=1x1xf32=rand");
	} else {
		ck_assert_ok(code, err);
	}
	for (int i = 0; i < 3; i++)
		mpk_value_drop(&values[i]);
}
END_TEST

/* --- the options ---------------------------------------------------------------------------- */

/* A name may hold anything; what is shown must not end the word in a shell. */
START_TEST(options_are_quoted)
{
	const struct mpk_param inputs[] = { tensor("it's $HOME", f32, matrix, 2),
					    tensor("scalar", i64, NULL, 0),
					    tensor("", i64, vector, 1) };
	const struct mpk_signature m = { .named_inputs = true, .inputs = inputs, .input_count = 3 };
	struct mpk_strbuf text = { 0 };

	mpk_signature_options(&m, &text);
	ck_assert_str_eq(mpk_strbuf_text(&text), " --input 'it'\\''s $HOME=2x20xf32=rand' "
						 "--input 'scalar=[]i64=rand' --input 12xi64=rand");
	mpk_strbuf_fini(&text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("model_inputs");
	TCase *tc = tcase_create("model_inputs");
	SRunner *r = srunner_create(s);

	tcase_add_loop_test(tc, names_and_positions, 0, (int)MPK_ARRAY_COUNT(bindings));
	tcase_add_test(tc, too_many_and_too_few);
	tcase_add_test(tc, a_model_without_inputs);
	tcase_add_test(tc, types_and_shapes);
	tcase_add_test(tc, bools);
	tcase_add_test(tc, inputs_of_no_known_type_take_anything);
	tcase_add_loop_test(tc, symbols_are_the_same_size_everywhere, 0,
			    (int)MPK_ARRAY_COUNT(symbolics));
	tcase_add_test(tc, options_are_quoted);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
