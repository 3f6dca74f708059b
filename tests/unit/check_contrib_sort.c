/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting for kernels, against a selection that knows nothing of keys, over all types. Against TVM and
 * NumPy: tests/interop/test_contrib.py */
#include <math.h>

#include "abi/convention.h"
#include "contrib_call.h"
#include "executor/contrib/contrib.h"

/* --- an order that is told, not computed --------------------------------------------------- */

static bool is_nan(struct mpk_element e)
{
	return e.class == MPK_ELEMENT_FLOAT && isnan(e.f);
}

/* Whether a stands before b, as a and not as a key: NaN after all else. */
static bool precedes(struct mpk_element a, struct mpk_element b, bool ascend)
{
	if (is_nan(a) || is_nan(b))
		return !is_nan(a) && is_nan(b);
	if (a.class == MPK_ELEMENT_UINT)
		return ascend ? a.u < b.u : a.u > b.u;
	if (a.class == MPK_ELEMENT_FLOAT)
		return ascend ? a.f < b.f : a.f > b.f;
	return ascend ? a.i < b.i : a.i > b.i;
}

/* How many elements of its list stand before element k: its place in a stable order. */
static size_t rank_of(const struct mpk_value *in, size_t first, size_t step, size_t length,
		      size_t k, bool ascend)
{
	struct mpk_element e = at(in, first + k * step);
	size_t rank = 0;

	for (size_t i = 0; i < length; i++) {
		struct mpk_element other = at(in, first + i * step);

		rank += precedes(other, e, ascend) || (!precedes(e, other, ascend) && i < k);
	}
	return rank;
}

static const struct mpk_dtype types[] = {
	{ MPK_DTYPE_INT, 8, 1 },    { MPK_DTYPE_INT, 16, 1 },   { MPK_DTYPE_INT, 32, 1 },
	{ MPK_DTYPE_INT, 64, 1 },   { MPK_DTYPE_UINT, 8, 1 },   { MPK_DTYPE_UINT, 16, 1 },
	{ MPK_DTYPE_UINT, 32, 1 },  { MPK_DTYPE_UINT, 64, 1 },  { MPK_DTYPE_FLOAT, 16, 1 },
	{ MPK_DTYPE_FLOAT, 32, 1 }, { MPK_DTYPE_FLOAT, 64, 1 }, { MPK_DTYPE_BFLOAT, 16, 1 },
	{ MPK_DTYPE_BOOL, 8, 1 },   { MPK_DTYPE_UINT, 1, 1 },
};

/* Random bits: all values of small types, NaN and infinities of floats; and few values, for ties. */
static void fill(struct mpk_value *v, bool few)
{
	struct mpk_dtype type = v->tensor->dl.dtype;
	uint8_t *data = v->tensor->dl.data;

	for (size_t i = 0; i < v->tensor->bytes; i++)
		data[i] = (uint8_t)random_next(&seed_state);
	for (uint64_t i = 0; few && i < mpk_tensor_count(v->tensor); i++) {
		struct mpk_element e = { .class = mpk_element_class(type) };
		int64_t number = (int64_t)random_below(&seed_state, 7);

		e.i = number - (type.code == MPK_DTYPE_INT ? 3 : 0);
		e.u = (uint64_t)number;
		e.f = number == 6 ? (double)NAN : number == 2 ? -0.0 : (double)number - 2;
		mpk_element_store(type, e, data + i * mpk_dtype_bytes(type));
	}
	for (uint64_t i = 0; mpk_dtype_is_bool(type) && i < v->tensor->bytes; i++)
		data[i] &= 1;
}

static const struct {
	int64_t shape[4];
	size_t ndim;
} shapes[] = {
	{ { 1 }, 1 },        { { 50 }, 1 },    { { 200 }, 1 },
	{ { 3, 17 }, 2 },    { { 17, 3 }, 2 }, { { 2, 5, 4 }, 3 },
	{ { 2, 1, 33 }, 3 }, { { 0, 5 }, 2 },  { { 2, 3, 2, 3 }, 4 },
};

struct lists {
	size_t before, length, after;
};

static struct lists lists_of(const struct mpk_tensor *t, int axis)
{
	struct lists l = { 1, (size_t)t->dl.shape[axis], 1 };

	for (int i = 0; i < t->dl.ndim; i++)
		if (i != axis)
			*(i < axis ? &l.before : &l.after) *= (size_t)t->dl.shape[i];
	return l;
}

/* values and indices hold the first `some` of each list; extent is theirs along the axis. */
static void check_sorted(const struct mpk_value *in, struct lists l, const struct mpk_value *values,
			 const struct mpk_value *indices, size_t some, size_t extent, bool ascend)
{
	size_t each = mpk_dtype_bytes(in->tensor->dl.dtype);

	for (size_t i = 0; i < l.before; i++)
		for (size_t j = 0; j < l.after; j++)
			for (size_t k = 0; k < l.length; k++) {
				size_t first = i * l.length * l.after + j;
				size_t rank = rank_of(in, first, l.after, l.length, k, ascend);
				size_t to = (i * extent + rank) * l.after + j;

				if (rank >= some)
					continue;
				ck_assert_int_eq(index_at(indices, to), (int64_t)k);
				ck_assert_mem_eq((uint8_t *)values->tensor->dl.data + to * each,
						 (uint8_t *)in->tensor->dl.data +
							 (first + k * l.after) * each,
						 each);
			}
}

static void check_all(struct mpk_value *in, int axis, bool ascend)
{
	const struct mpk_dltensor *dl = &in->tensor->dl;
	struct lists l = lists_of(in->tensor, axis);
	struct mpk_value out[4] = { make(dl->dtype, dl->shape, (size_t)dl->ndim),
				    make(i32, dl->shape, (size_t)dl->ndim) };
	int64_t shape[4], some = (int64_t)l.length / 2 + 1;
	struct mpk_value both = text("both");
	/* an axis may count from the end; a direction may be an int or a bool */
	struct mpk_value from_end = INT(axis - dl->ndim), way = mpk_value_of_bool(ascend);

	ck_assert_ok(CALL("tvm.contrib.sort.sort", *in, out[0], INT(axis), way), err);
	ck_assert_ok(CALL("tvm.contrib.sort.argsort", *in, out[1], from_end, INT(ascend)), err);
	check_sorted(in, l, &out[0], &out[1], l.length, l.length, ascend);

	memcpy(shape, dl->shape, sizeof shape[0] * (size_t)dl->ndim);
	shape[axis] = some > (int64_t)l.length ? (int64_t)l.length : some;
	some = shape[axis];
	out[2] = make(dl->dtype, shape, (size_t)dl->ndim);
	out[3] = make(i64, shape, (size_t)dl->ndim);
	ck_assert_ok(CALL("tvm.contrib.sort.topk", *in, out[2], out[3], INT(some), INT(axis), both,
			  INT(ascend)),
		     err);
	if (some > 0)
		check_sorted(in, l, &out[2], &out[3], (size_t)some, (size_t)some, ascend);
	mpk_value_drop(&both);
	drop_all(out, 4);
}

START_TEST(every_type_is_sorted_along_every_axis)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(shapes); i++)
		for (int axis = 0; axis < (int)shapes[i].ndim; axis++)
			for (int way = 0; way < 4; way++) {
				struct mpk_value in =
					make(types[_i], shapes[i].shape, shapes[i].ndim);

				fill(&in, way & 1);
				check_all(&in, axis, way & 2);
				mpk_value_drop(&in);
			}
}
END_TEST

/* The few first of many are found without sorting all. */
START_TEST(the_few_first_of_many)
{
	static struct mpk_order_item items[5000], sorted[5000], scratch[5000];

	for (size_t some = 0; some <= 5000; some = some * 3 + 1) {
		for (size_t i = 0; i < 5000; i++)
			items[i] = (struct mpk_order_item){ random_below(&seed_state, 900), i };
		memcpy(sorted, items, sizeof sorted);
		mpk_order_sort(sorted, scratch, 5000, 5000);
		for (size_t i = 1; i < 5000; i++)
			ck_assert(sorted[i - 1].key < sorted[i].key ||
				  (sorted[i - 1].key == sorted[i].key &&
				   sorted[i - 1].index < sorted[i].index));
		mpk_order_sort(items, scratch, 5000, some);
		ck_assert_mem_eq(items, sorted, some * sizeof *items);
	}
}
END_TEST

/* NaN last in either direction; zeros of both signs are one value, in the order they came. */
START_TEST(nan_is_last_and_zeros_are_equal)
{
	struct mpk_value in = FLOATS(NAN, 2, -NAN, 0.0F, -0.0F, -INFINITY, INFINITY, 0.0F);
	struct mpk_value out = list_of(i32, 8);
	static const int32_t up[] = { 5, 3, 4, 7, 1, 6, 0, 2 }, down[] = { 6, 1, 3, 4, 7, 5, 0, 2 };

	ck_assert_ok(CALL("tvm.contrib.sort.argsort", in, out, INT(0), INT(1)), err);
	ck_assert_mem_eq(out.tensor->dl.data, up, sizeof up);
	ck_assert_ok(CALL("tvm.contrib.sort.argsort", in, out, INT(-1), INT(0)), err);
	ck_assert_mem_eq(out.tensor->dl.data, down, sizeof down);
	mpk_value_drop(&in);
	mpk_value_drop(&out);
}
END_TEST

/* --- topk ---------------------------------------------------------------------------------- */

/* k < 1 is the whole axis; of a k beyond the axis the rest of the output stays as it is. */
START_TEST(topk_gives_what_is_asked_for)
{
	struct mpk_value in = FLOATS(3, 1, 2, 3, 1), values = text("values"),
			 indices = text("indices"), both = text("both"), wrong = text("all");
	struct mpk_value out = list_of(f32, 2), all = list_of(f64, 5), more = list_of(i64, 7);
	static const char name[] = "tvm.contrib.sort.topk";

	ck_assert_ok(CALL(name, in, out, INT(2), INT(0), values, INT(1)), err);
	ck_assert_float_eq(((float *)out.tensor->dl.data)[1], 1);
	ck_assert_ok(CALL(name, in, all, INT(-1), INT(0), indices, INT(0)), err);
	for (size_t i = 0; i < 5; i++)
		ck_assert_int_eq(index_at(&all, i), ((const int64_t[]){ 0, 3, 2, 1, 4 })[i]);
	ck_assert_ok(CALL(name, in, all, INT(0), INT(0), indices, INT(1)), err);
	ck_assert_int_eq(index_at(&all, 0), 1);
	memset(more.tensor->dl.data, 0x55, (size_t)more.tensor->bytes);
	ck_assert_ok(CALL(name, in, more, INT(9), INT(0), indices, INT(0)), err);
	ck_assert_int_eq(index_at(&more, 4), 4);
	ck_assert_int_eq(index_at(&more, 5), 0x5555555555555555);
	/* values and indices of different sizes along the axis */
	ck_assert_ok(CALL(name, in, out, more, INT(2), INT(0), both, INT(0)), err);
	ck_assert_float_eq(((float *)out.tensor->dl.data)[1], 3);
	ck_assert_int_eq(index_at(&more, 1), 3);

	ck_assert_int_eq(CALL(name, in, out, INT(3), INT(0), values, INT(1)), MPK_E_RAISED);
	ck_assert_text(err, "an output of 2 elements for 1 lists of 3");
	ck_assert_int_eq(CALL(name, in, out, INT(2), INT(0), wrong, INT(1)), MPK_E_RAISED);
	ck_assert_int_eq(CALL(name, in, out, INT(2), INT(0), both, INT(1)), MPK_E_RAISED);
	ck_assert_int_eq(CALL(name, in, out, more, INT(2), INT(0), values, INT(1)), MPK_E_RAISED);
	ck_assert_int_eq(CALL(name, in, all, INT(2), INT(0), values, INT(1)), MPK_E_RAISED);
	ck_assert_text(err, "values of float64 out of float32");
	drop_all((struct mpk_value[]){ in, values, indices, both, wrong, out, all, more }, 8);
}
END_TEST

/* Only so many of each list are sorted; the others keep their places. */
START_TEST(nms_sorts_the_beginnings)
{
	const int64_t shape[] = { 2, 5 }, lists = 2, columns = 5;
	struct mpk_value in = make(f32, shape, 2), out = make(i32, shape, 2);
	struct mpk_value lengths = make(i32, &lists, 1), others = make(i32, &columns, 1);
	static const float numbers[] = { 3, 1, 2, 5, 4, 1, 2, 3, 4, 5 };
	static const int32_t down[] = { 0, 2, 1, 3, 4, 4, 3, 2, 1, 0 };
	static const int32_t up[] = { 1, 2, 0, 3, 4, 0, 1, 2, 3, 4 };
	static const int32_t columns_down[] = { 0, 1, 0, 0, 1, 1, 0, 1, 1, 0 };
	static const char name[] = "tvm.contrib.sort.argsort_nms";

	memcpy(in.tensor->dl.data, numbers, sizeof numbers);
	memcpy(lengths.tensor->dl.data, (const int32_t[]){ 3, 99 }, 8);
	ck_assert_ok(CALL(name, in, lengths, out, INT(1), INT(0)), err);
	ck_assert_mem_eq(out.tensor->dl.data, down, sizeof down);
	memcpy(lengths.tensor->dl.data, (const int32_t[]){ 3, -1 }, 8);
	ck_assert_ok(CALL(name, in, lengths, out, INT(-1), INT(1)), err);
	ck_assert_mem_eq(out.tensor->dl.data, up, sizeof up);
	memcpy(others.tensor->dl.data, (const int32_t[]){ 1, 2, 1, 0, 2 }, 20);
	ck_assert_ok(CALL(name, in, others, out, INT(0), INT(0)), err);
	ck_assert_mem_eq(out.tensor->dl.data, columns_down, sizeof columns_down);
	ck_assert_int_eq(CALL(name, in, others, out, INT(1), INT(0)), MPK_E_RAISED);
	ck_assert_text(err, "5 lengths for 2 lists");
	drop_all((struct mpk_value[]){ in, out, lengths, others }, 4);
}
END_TEST

START_TEST(what_cannot_be_sorted_is_an_error)
{
	const int64_t shape[] = { 3, 2 }, huge[] = { INT64_C(1) << 40, 0, INT64_C(1) << 40 };
	struct mpk_value in = make(f32, shape, 2), out = make(i32, shape, 2), few = list_of(i32, 2);
	struct mpk_value none = make(f32, huge, 3), to = make(i32, huge, 3), device = in;
	struct mpk_dltensor dl = in.tensor->dl;
	static const char name[] = "tvm.contrib.sort.argsort";

	ck_assert_int_eq(CALL(name, in, out, INT(2), INT(1)), MPK_E_RAISED);
	ck_assert_text(err, "ValueError: tvm.contrib.sort.argsort: axis 2 of a tensor of 2");
	ck_assert_int_eq(CALL(name, in, out, INT(-3), INT(1)), MPK_E_RAISED);
	ck_assert_int_eq(CALL(name, in, few, INT(0), INT(1)), MPK_E_RAISED);
	ck_assert_int_eq(CALL(name, in, out, INT(0)), MPK_E_RAISED);
	ck_assert_int_eq(CALL(name, in, out, INT(0), INT(1), INT(1)), MPK_E_RAISED);
	ck_assert_int_eq(CALL(name, in, INT(0), INT(0), INT(1)), MPK_E_RAISED);
	ck_assert_text(err, "argument 1 must be a tensor, not int");
	ck_assert_int_eq(CALL(name, in, out, FLOAT(0), INT(1)), MPK_E_RAISED);
	/* no elements, however many lists there would be */
	for (int axis = 0; axis < 3; axis++)
		ck_assert_ok(CALL(name, none, to, INT(axis), INT(1)), err);
	dl.device.type = MPK_DL_OPENCL;
	ck_assert_ok(mpk_tensor_wrap(&dl, NULL, &device.tensor, &err), err);
	ck_assert_int_eq(CALL(name, device, out, INT(0), INT(1)), MPK_E_RAISED);
	ck_assert_text(err, "argument 0 must be in host memory");
	drop_all((struct mpk_value[]){ in, out, few, none, to, device }, 6);
}
END_TEST

/* As module code of TVM 0.20 and older calls it: strings are C strings, bools are ints. */
START_TEST(legacy_code_calls_it)
{
	struct mpk_function *f = global_named(runtime, "tvm.contrib.sort.topk");
	struct mpk_value in = FLOATS(3, 1, 2), out = list_of(i32, 2);
	union mpk_tvm_value args[] = {
		{ .v_handle = &in.tensor->dl },
		{ .v_handle = &out.tensor->dl },
		{ .v_int64 = 2 },
		{ .v_int64 = 0 },
		{ .v_str = "indices" },
		{ .v_int64 = 1 },
	};
	int codes[] = { MPK_TVM_DLTENSOR, MPK_TVM_DLTENSOR, MPK_TVM_INT,
			MPK_TVM_INT,      MPK_TVM_STR,      MPK_TVM_INT };
	union mpk_tvm_value result = { 0 };
	int result_code = MPK_TVM_NULL;

	ck_assert_int_eq(mpk_legacy_enter(mpk_conv_handle(MPK_CONV_LEGACY, f), args, codes, 6,
					  &result, &result_code),
			 0);
	ck_assert_int_eq(index_at(&out, 0), 1);
	ck_assert_int_eq(index_at(&out, 1), 2);
	mpk_value_drop(&in);
	mpk_value_drop(&out);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("contrib_sort");
	TCase *tc = tcase_create("contrib_sort");
	SRunner *r = srunner_create(s);

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, every_type_is_sorted_along_every_axis, 0,
			    (int)MPK_ARRAY_COUNT(types));
	tcase_add_test(tc, the_few_first_of_many);
	tcase_add_test(tc, nan_is_last_and_zeros_are_equal);
	tcase_add_test(tc, topk_gives_what_is_asked_for);
	tcase_add_test(tc, nms_sorts_the_beginnings);
	tcase_add_test(tc, what_cannot_be_sorted_is_an_error);
	tcase_add_test(tc, legacy_code_calls_it);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
