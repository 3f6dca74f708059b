/* SPDX-License-Identifier: Apache-2.0 */
/* relax.run.nonzero and relax.run.unique. What is expected is what NumPy 2.4 gives. */
#include <math.h>

#include "assert_error.h"
#include "base/strbuf.h"
#include "executor/relax/internal/relax.h"
#include "harness.h"
#include "value/element.h"

static const struct mpk_dtype f32 = { MPK_DTYPE_FLOAT, 32, 1 }, i8 = { MPK_DTYPE_INT, 8, 1 },
			      u64 = { MPK_DTYPE_UINT, 64, 1 }, b8 = { MPK_DTYPE_BOOL, 8, 1 },
			      f8 = { MPK_DTYPE_FLOAT, 8, 1 };

enum { DIMENSIONS = 3, ELEMENTS = 12 };

struct input {
	const struct mpk_dtype *type;
	size_t ndim;
	int64_t shape[DIMENSIONS];
	double elements[ELEMENTS];
};

static struct mpk_value tensor(const struct input *in)
{
	struct mpk_tensor *t = NULL;
	struct mpk_error err = { 0 };

	ck_assert_ok(
		mpk_tensor_create(*in->type, in->shape, in->ndim, MPK_STORAGE_PRIVATE, &t, &err),
		err);
	for (uint64_t i = 0; i < mpk_tensor_count(t); i++) {
		double x = in->elements[i];
		struct mpk_element e = { .class = mpk_element_class(*in->type), .f = x };

		/* of no use to a type of floating point, and undefined for what no integer is */
		if (fabs(x) < 0x1p63)
			e.i = (int64_t)x;
		e.u = (uint64_t)e.i;
		mpk_element_store(*in->type, e,
				  (uint8_t *)t->dl.data + i * mpk_dtype_bytes(*in->type));
	}
	return mpk_value_of_tensor(t);
}

/* "[2 3]1 2 3 4 5 6" and, of a tuple, one behind the other */
static void print(const struct mpk_value *v, struct mpk_strbuf *out)
{
	if (v->kind == MPK_VALUE_ARRAY) {
		for (size_t i = 0; i < v->array->count; i++)
			print(&v->array->items[i], out);
		return;
	}
	ck_assert_int_eq(v->kind, MPK_VALUE_TENSOR);
	mpk_strbuf_putc(out, '[');
	for (int32_t i = 0; i < v->tensor->dl.ndim; i++)
		mpk_strbuf_printf(out, "%s%d", i ? " " : "", (int)v->tensor->dl.shape[i]);
	mpk_strbuf_putc(out, ']');
	for (uint64_t i = 0; i < mpk_tensor_count(v->tensor); i++) {
		struct mpk_dtype t = v->tensor->dl.dtype;
		struct mpk_element e = mpk_element_load(t, (const uint8_t *)v->tensor->dl.data +
								   i * mpk_dtype_bytes(t));

		mpk_strbuf_printf(out, "%s%g", i ? " " : "",
				  e.class == MPK_ELEMENT_FLOAT  ? e.f
				  : e.class == MPK_ELEMENT_UINT ? (double)e.u
								: (double)e.i);
	}
}

static enum mpk_code call(const char *name, struct mpk_value *args, size_t count,
			  struct mpk_strbuf *out, struct mpk_error *err)
{
	const struct mpk_relax_builtin *b = mpk_relax_builtin_find(mpk_span_str(name));
	struct mpk_value result = { 0 };
	enum mpk_code code;

	ck_assert_ptr_nonnull(b);
	*err = (struct mpk_error){ 0 };
	code = b->call(args, count, &result, err);
	if (code == MPK_OK)
		print(&result, out);
	for (size_t i = 0; i < count; i++)
		mpk_value_drop(&args[i]);
	mpk_value_drop(&result);
	return code;
}

static const struct {
	struct input in;
	const char *positions;
} nonzeros[] = {
	{ { &f32, 2, { 2, 3 }, { 0, 1, 0, -2, 0, 3 } }, "[2 3]0 1 1 1 0 2" },
	{ { &f32, 1, { 3 }, { 0, -0.0, NAN } }, "[1 1]2" },
	{ { &i8, 1, { 4 }, { 0, 0, 0, 0 } }, "[1 0]" },
	{ { &b8, 3, { 1, 2, 2 }, { 1, 0, 0, 1 } }, "[3 2]0 0 0 1 0 1" },
	{ { &u64, 0, { 0 }, { 5 } }, "[1 1]0" },
	{ { &u64, 0, { 0 }, { 0 } }, "[1 0]" },
	{ { &f32, 2, { 0, 4 }, { 0 } }, "[2 0]" },
};

START_TEST(nonzero)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
	struct mpk_error err;

	ck_assert_ok(call("relax.run.nonzero", (struct mpk_value[]){ tensor(&nonzeros[_i].in) }, 1,
			  &out, &err),
		     err);
	ck_assert_str_eq(mpk_strbuf_text(&out), nonzeros[_i].positions);
}
END_TEST

enum { FLAT = 99 };

static const struct {
	struct input in;
	const char *flags; /* u: not sorted; i, v, c: index, inverse, counts */
	int64_t axis;
	const char *found;
} uniques[] = {
	{ { &f32, 1, { 6 }, { 3, 1, 3, 2, 1, 3 } }, "", FLAT, "[3]1 2 3" },
	{ { &f32, 1, { 6 }, { 3, 1, 3, 2, 1, 3 } }, "u", FLAT, "[3]3 1 2" },
	{ { &f32, 1, { 6 }, { 3, 1, 3, 2, 1, 3 } },
	  "ivc",
	  FLAT,
	  "[3]1 2 3[3]1 3 0[6]2 0 2 1 0 2[3]2 1 3" },
	{ { &f32, 1, { 6 }, { 3, 1, 3, 2, 1, 3 } },
	  "uivc",
	  FLAT,
	  "[3]3 1 2[3]0 1 3[6]0 1 0 2 1 0[3]3 2 1" },
	{ { &f32, 1, { 4 }, { NAN, -0.0, NAN, 0 } }, "c", FLAT, "[2]-0 nan[2]2 2" },
	{ { &f32, 1, { 4 }, { INFINITY, -INFINITY, -3, 1 } }, "", FLAT, "[4]-inf -3 1 inf" },
	{ { &i8, 2, { 2, 3 }, { 1, -2, 1, -2, 0, 1 } }, "v", FLAT, "[3]-2 0 1[6]2 0 2 0 1 2" },
	{ { &u64, 0, { 0 }, { 7 } }, "i", FLAT, "[1]7[1]0" },
	{ { &f32, 2, { 0, 4 }, { 0 } }, "vc", FLAT, "[0][0][0]" },
	/* rows and columns */
	{ { &i8, 2, { 4, 2 }, { 2, 1, 1, 2, 2, 1, 1, 1 } },
	  "ivc",
	  0,
	  "[3 2]1 1 1 2 2 1[3]3 1 0[4]2 1 2 0[3]1 1 2" },
	{ { &i8, 2, { 4, 2 }, { 2, 1, 1, 2, 2, 1, 1, 1 } }, "u", -2, "[3 2]2 1 1 2 1 1" },
	{ { &i8, 2, { 2, 4 }, { 2, 1, 2, 1, 1, 2, 1, 1 } }, "c", 1, "[2 3]1 1 2 1 2 1[3]1 1 2" },
	{ { &i8, 3, { 2, 2, 2 }, { 1, 2, 1, 2, 3, 4, 3, 4 } }, "", 1, "[2 1 2]1 2 3 4" },
	{ { &f32, 2, { 0, 4 }, { 0 } }, "v", 0, "[0 4][0]" },
	{ { &f32, 3, { 3, 0, 2 }, { 0 } }, "ivc", 0, "[1 0 2][1]0[3]0 0 0[1]3" },
	{ { &f32, 2, { 2, 0 }, { 0 } }, "ivc", 1, "[2 0][0][0][0]" },
};

static enum mpk_code call_unique(const struct input *in, const char *flags, int64_t axis,
				 struct mpk_strbuf *out, struct mpk_error *err)
{
	struct mpk_value args[] = { tensor(in),
				    mpk_value_of_bool(!strchr(flags, 'u')),
				    mpk_value_of_int(strchr(flags, 'i') != NULL),
				    mpk_value_of_int(strchr(flags, 'v') != NULL),
				    mpk_value_of_bool(strchr(flags, 'c') != NULL),
				    mpk_value_of_int(axis) };

	return call("relax.run.unique", args, axis == FLAT ? 5 : 6, out, err);
}

START_TEST(unique)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
	struct mpk_error err;

	ck_assert_ok(call_unique(&uniques[_i].in, uniques[_i].flags, uniques[_i].axis, &out, &err),
		     err);
	ck_assert_str_eq(mpk_strbuf_text(&out), uniques[_i].found);
}
END_TEST

START_TEST(axis_none)
{
	static const struct input in = { &i8, 2, { 1, 2 }, { 4, 4 } };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
	struct mpk_value args[] = { tensor(&in),         mpk_value_of_int(1), mpk_value_of_int(0),
				    mpk_value_of_int(0), mpk_value_of_int(0), { 0 } };
	struct mpk_error err;

	ck_assert_ok(call("relax.run.unique", args, 6, &out, &err), err);
	ck_assert_str_eq(mpk_strbuf_text(&out), "[1]4");
}
END_TEST

START_TEST(wrong_calls)
{
	static const struct input row = { &i8, 1, { 2 }, { 4, 4 } },
				  small = { &f8, 1, { 2 }, { 0 } };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
	struct mpk_error err;

	ck_assert_int_eq(call_unique(&row, "", 1, &out, &err), MPK_E_RAISED);
	ck_assert_text(err, "ValueError: relax.run.unique: axis 1 of 1 dimensions");
	ck_assert_int_eq(call_unique(&row, "", -2, &out, &err), MPK_E_RAISED);
	ck_assert_text(err, "ValueError: relax.run.unique: axis -2 of 1 dimensions");
	ck_assert_int_eq(call_unique(&row, "", INT64_MIN, &out, &err), MPK_E_RAISED);
	ck_assert_int_eq(call_unique(&small, "", FLAT, &out, &err), MPK_E_RAISED);
	ck_assert_text(err, "TypeError: relax.run.unique: a tensor of type float8");
	ck_assert_int_eq(
		call("relax.run.unique", (struct mpk_value[]){ tensor(&row) }, 1, &out, &err),
		MPK_E_RAISED);
	ck_assert_text(err, "TypeError: relax.run.unique got 1 arguments");
	ck_assert_int_eq(call("relax.run.nonzero", (struct mpk_value[]){ mpk_value_of_int(3) }, 1,
			      &out, &err),
			 MPK_E_RAISED);
	ck_assert_text(err, "TypeError: relax.run.nonzero: argument 0 must be a tensor, not int");
	ck_assert_uint_eq(out.len, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("relax_select");
	TCase *tc = tcase_create("relax_select");
	SRunner *r = srunner_create(s);

	tcase_add_loop_test(tc, nonzero, 0, MPK_ARRAY_COUNT(nonzeros));
	tcase_add_loop_test(tc, unique, 0, MPK_ARRAY_COUNT(uniques));
	tcase_add_test(tc, axis_none);
	tcase_add_test(tc, wrong_calls);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
