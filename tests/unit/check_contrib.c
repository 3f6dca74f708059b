/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices and random numbers for kernels; sorting: check_contrib_sort.c */
#include <float.h>
#include <math.h>

#include "contrib_call.h"

/* --- products of matrices ------------------------------------------------------------------ */

enum { M = 4, K = 5, N = 3 };

static double number(const struct mpk_value *v, int64_t i)
{
	return at(v, (size_t)i).f;
}

static void check_product(struct mpk_dtype type, int transposes, int64_t batch_a, int64_t batch_b)
{
	bool ta = transposes & 1, tb = transposes & 2;
	const int64_t a_shape[] = { batch_a, ta ? K : M, ta ? M : K },
		      b_shape[] = { batch_b, tb ? N : K, tb ? K : N },
		      c_shape[] = { batch_a > batch_b ? batch_a : batch_b, M, N };
	struct mpk_value v[] = { make(type, a_shape, 3), make(type, b_shape, 3),
				 make(type, c_shape, 3) };

	for (int i = 0; i < 2; i++)
		for (uint64_t k = 0; k < mpk_tensor_count(v[i].tensor); k++)
			mpk_element_store(type,
					  (struct mpk_element){
						  .class = MPK_ELEMENT_FLOAT,
						  .f = (double)random_below(&seed_state, 9) - 4 },
					  (uint8_t *)v[i].tensor->dl.data +
						  k * mpk_dtype_bytes(type));
	memset(v[2].tensor->dl.data, 0xff, (size_t)v[2].tensor->bytes); /* NaN: not to be read */
	ck_assert_ok(CALL("tvm.contrib.cblas.batch_matmul", v[0], v[1], v[2], INT(ta),
			  mpk_value_of_bool(tb)),
		     err);
	for (int64_t b = 0; b < c_shape[0]; b++)
		for (int64_t i = 0; i < M; i++)
			for (int64_t j = 0; j < N; j++) {
				int64_t a0 = batch_a == 1 ? 0 : b * M * K,
					b0 = batch_b == 1 ? 0 : b * K * N;
				double sum = 0;

				for (int64_t k = 0; k < K; k++)
					sum += number(&v[0], a0 + (ta ? k * M + i : i * K + k)) *
					       number(&v[1], b0 + (tb ? j * K + k : k * N + j));
				ck_assert_double_eq(number(&v[2], (b * M + i) * N + j), sum);
			}
	drop_all(v, 3);
}

START_TEST(matrices_are_multiplied)
{
	for (int t = 0; t < 4; t++)
		for (int wide = 0; wide < 2; wide++) {
			check_product(wide ? f64 : f32, t, 1, 1);
			check_product(wide ? f64 : f32, t, 3, 3);
			check_product(wide ? f64 : f32, t, 1, 3);
			check_product(wide ? f64 : f32, t, 3, 1);
		}
}
END_TEST

/* c = alpha a b + beta c; a matrix may lie column by column; an inner extent of 0 gives zeros. */
START_TEST(products_are_scaled_and_added)
{
	const int64_t two[] = { 2, 2 }, none[] = { 2, 0 }, no_rows[] = { 0, 2 };
	struct mpk_value a = make(f32, two, 2), b = make(f32, two, 2), c = make(f32, two, 2);
	struct mpk_value left = make(f32, none, 2), right = make(f32, no_rows, 2), turned = a;
	struct mpk_dltensor dl;
	int64_t strides[] = { 1, 2 };
	static const char name[] = "tvm.contrib.mkl.matmul";
	float *got = c.tensor->dl.data;

	memcpy(a.tensor->dl.data, (const float[]){ 1, 2, 3, 4 }, 16);
	memcpy(b.tensor->dl.data, (const float[]){ 1, 1, 0, 1 }, 16);
	memcpy(got, (const float[]){ 10, 20, 30, 40 }, 16);
	ck_assert_ok(CALL(name, a, b, c, INT(0), INT(0), FLOAT(2), FLOAT(0.5)), err);
	ck_assert_mem_eq(got, ((const float[]){ 7, 16, 21, 34 }), 16);
	dl = a.tensor->dl;
	dl.strides = strides;
	ck_assert_ok(mpk_tensor_wrap(&dl, a.tensor->storage, &turned.tensor, &err), err);
	ck_assert_ok(CALL(name, turned, b, c, INT(0), INT(0)), err);
	ck_assert_mem_eq(got, ((const float[]){ 1, 4, 2, 6 }), 16);
	ck_assert_ok(CALL(name, turned, b, c, INT(1), INT(0)), err);
	ck_assert_mem_eq(got, ((const float[]){ 1, 3, 3, 7 }), 16);
	ck_assert_ok(CALL(name, left, right, c, INT(0), INT(0)), err);
	ck_assert_mem_eq(got, ((const float[]){ 0, 0, 0, 0 }), 16);

	ck_assert_int_eq(CALL(name, left, b, c, INT(0), INT(0)), MPK_E_RAISED);
	ck_assert_text(err, "1x2x0 times 1x2x2 is not 1x2x2");
	ck_assert_int_eq(CALL("tvm.contrib.cblas.batch_matmul", a, b, c, INT(0), INT(0)),
			 MPK_E_RAISED);
	ck_assert_text(err, "TypeError");
	ck_assert_int_eq(CALL(name, a, b, c, INT(0)), MPK_E_RAISED);
	drop_all((struct mpk_value[]){ a, b, c, left, right, turned }, 6);
}
END_TEST

/* --- random numbers ------------------------------------------------------------------------ */

static void moments(const struct mpk_value *v, double *mean, double *deviation, double *low,
		    double *high)
{
	uint64_t n = mpk_tensor_count(v->tensor);
	double sum = 0, squares = 0;

	*low = DBL_MAX;
	*high = -DBL_MAX;
	for (uint64_t i = 0; i < n; i++) {
		double x =
			at(v, i).class == MPK_ELEMENT_FLOAT ? at(v, i).f : (double)index_at(v, i);

		sum += x;
		squares += x * x;
		*low = x < *low ? x : *low;
		*high = x > *high ? x : *high;
	}
	*mean = sum / (double)n;
	*deviation = sqrt(squares / (double)n - *mean * *mean);
}

START_TEST(numbers_are_distributed_as_they_should)
{
	struct mpk_value reals = list_of(f32, 100000), wide = list_of(f64, 100000),
			 ints = list_of(i32, 100000);
	double mean, deviation, low, high;

	ck_assert_ok(CALL("tvm.contrib.random.uniform", FLOAT(-2), FLOAT(6), reals), err);
	moments(&reals, &mean, &deviation, &low, &high);
	ck_assert_double_eq_tol(mean, 2, 0.05);
	ck_assert_double_eq_tol(deviation, 8 / sqrt(12), 0.05);
	ck_assert_double_ge(low, -2);
	ck_assert_double_lt(low, -1.99);
	ck_assert_double_le(high, 6);
	ck_assert_double_gt(high, 5.99);

	ck_assert_ok(CALL("tvm.contrib.random.normal", FLOAT(3), FLOAT(2), wide), err);
	moments(&wide, &mean, &deviation, &low, &high);
	ck_assert_double_eq_tol(mean, 3, 0.05);
	ck_assert_double_eq_tol(deviation, 2, 0.05);
	ck_assert_double_lt(low, 3 - 3 * 2);
	ck_assert_double_gt(high, 3 + 3 * 2);

	ck_assert_ok(CALL("tvm.contrib.random.randint", INT(-5), INT(5), ints), err);
	moments(&ints, &mean, &deviation, &low, &high);
	ck_assert_double_eq_tol(mean, -0.5, 0.05);
	ck_assert_double_eq(low, -5);
	ck_assert_double_eq(high, 4);

	ck_assert_ok(CALL("tvm.contrib.random.random_fill", ints), err);
	moments(&ints, &mean, &deviation, &low, &high);
	ck_assert_double_eq(low, 1);
	ck_assert_double_eq(high, 9);
	ck_assert_ok(CALL("tvm.contrib.random.random_fill_for_measure", reals), err);
	drop_all((struct mpk_value[]){ reals, wide, ints }, 3);
}
END_TEST

/* The stream goes on from call to call and begins anew in each runtime; a seed names a stream. */
START_TEST(seeds_are_kept)
{
	struct mpk_value v[6];
	static const char name[] = "tvm.contrib.random.uniform";

	for (int i = 0; i < 6; i++)
		v[i] = list_of(f32, 64);
	ck_assert_ok(CALL(name, FLOAT(0), FLOAT(1), v[0]), err);
	ck_assert_ok(CALL(name, INT(1), INT(2), FLOAT(0), FLOAT(1), v[1]), err);
	ck_assert_ok(CALL(name, INT(0), INT(0), FLOAT(0), FLOAT(1), v[2]), err);
	ck_assert_ok(CALL(name, INT(1), INT(2), FLOAT(0), FLOAT(1), v[3]), err);
	ck_assert_mem_eq(v[1].tensor->dl.data, v[3].tensor->dl.data, 256);
	ck_assert_mem_ne(v[0].tensor->dl.data, v[2].tensor->dl.data, 256);
	ck_assert_ok(CALL(name, INT(2), INT(1), FLOAT(0), FLOAT(1), v[3]), err);
	ck_assert_mem_ne(v[1].tensor->dl.data, v[3].tensor->dl.data, 256);
	teardown();
	setup();
	ck_assert_ok(CALL(name, FLOAT(0), FLOAT(1), v[4]), err);
	ck_assert_ok(CALL(name, FLOAT(0), FLOAT(1), v[5]), err);
	ck_assert_mem_eq(v[0].tensor->dl.data, v[4].tensor->dl.data, 256);
	ck_assert_mem_eq(v[2].tensor->dl.data, v[5].tensor->dl.data, 256);
	ck_assert_ok(CALL("tvm.contrib.random.seed", INT(0)), err);
	ck_assert_ok(CALL(name, FLOAT(0), FLOAT(1), v[5]), err);
	ck_assert_mem_eq(v[0].tensor->dl.data, v[5].tensor->dl.data, 256);
	ck_assert_ok(CALL("tvm.contrib.random.seed", INT(5)), err);
	ck_assert_ok(CALL(name, FLOAT(0), FLOAT(1), v[5]), err);
	ck_assert_mem_ne(v[0].tensor->dl.data, v[5].tensor->dl.data, 256);
	drop_all(v, 6);
}
END_TEST

START_TEST(integers_stay_in_their_type)
{
	struct mpk_value bytes = list_of((struct mpk_dtype){ MPK_DTYPE_UINT, 8, 1 }, 4000),
			 words = list_of(i64, 4000), reals = list_of(f32, 4);
	double mean, deviation, low, high;
	static const char name[] = "tvm.contrib.random.randint";

	ck_assert_ok(CALL(name, INT(0), INT(256), bytes), err);
	moments(&bytes, &mean, &deviation, &low, &high);
	ck_assert_double_lt(low, 3);
	ck_assert_double_gt(high, 252);
	ck_assert_ok(CALL(name, INT(INT64_MIN), INT(INT64_MAX), words), err);
	moments(&words, &mean, &deviation, &low, &high);
	ck_assert_double_lt(low, -9e18);
	ck_assert_double_gt(high, 9e18);
	ck_assert_ok(CALL(name, INT(INT64_MAX - 1), INT(INT64_MAX), words), err);
	ck_assert_int_eq(index_at(&words, 0), INT64_MAX - 1);
	ck_assert_int_eq(CALL(name, INT(0), INT(257), bytes), MPK_E_RAISED);
	ck_assert_int_eq(CALL(name, INT(-1), INT(1), bytes), MPK_E_RAISED);
	ck_assert_int_eq(CALL(name, INT(5), INT(5), words), MPK_E_RAISED);
	ck_assert_text(err, "no integers from 5 below 5");
	ck_assert_int_eq(CALL(name, INT(0), INT(5), reals), MPK_E_RAISED);
	ck_assert_int_eq(CALL("tvm.contrib.random.uniform", FLOAT(0), FLOAT(1), words),
			 MPK_E_RAISED);
	ck_assert_text(err, "no such numbers of type int64");
	ck_assert_int_eq(CALL("tvm.contrib.random.uniform", INT(1), FLOAT(0), FLOAT(1), reals),
			 MPK_E_RAISED);
	drop_all((struct mpk_value[]){ bytes, words, reals }, 3);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("contrib");
	TCase *tc = tcase_create("contrib");
	SRunner *r = srunner_create(s);

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, matrices_are_multiplied);
	tcase_add_test(tc, products_are_scaled_and_added);
	tcase_add_test(tc, numbers_are_distributed_as_they_should);
	tcase_add_test(tc, seeds_are_kept);
	tcase_add_test(tc, integers_stay_in_their_type);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
