/* SPDX-License-Identifier: Apache-2.0 */
/* Values of libmpk-run: objects, tuples and tensors that one call gives and the next one takes */
#include "run_models.h"

static mpkr_model *open_model(const char *path)
{
	mpkr_model *model;

	ck_ok(mpkr_open(data_path(path), NULL, &model, &err));
	return model;
}

static mpkr_function *find(mpkr_model *model, const char *name)
{
	mpkr_function *f;

	ck_ok(mpkr_find(model, name, &f, &err));
	return f;
}

/* Calls by name, and what comes back. */
static mpkr_value *call(mpkr_model *model, const char *name, const struct mpkr_arg *in, size_t n)
{
	mpkr_function *f = find(model, name);
	mpkr_value *out;

	ck_ok(mpkr_call_value(f, in, n, &out, &err));
	mpkr_drop(f);
	return out;
}

static mpkr_value *number(mpkr_model *model, int64_t n)
{
	struct mpkr_tensor t = mpkr_tensor_on_host(&n, MPKR_DTYPE_INT, 64, 0, NULL);
	mpkr_value *v;

	ck_ok(mpkr_value_make(model, MPKR_KIND_NUMBER, &t, &v, &err));
	return v;
}

static mpkr_value *shape(mpkr_model *model, const int64_t *extents, int64_t count)
{
	struct mpkr_tensor t = mpkr_tensor_on_host(extents, MPKR_DTYPE_INT, 64, 1, &count);
	mpkr_value *v;

	ck_ok(mpkr_value_make(model, MPKR_KIND_SHAPE, &t, &v, &err));
	return v;
}

/* A cache with rows of two numbers, which is filled and read in calls of their own. */
static mpkr_value *make_cache(mpkr_model *model, const struct mpkr_tensor *rows)
{
	const int64_t extents[2] = { 4, 2 };
	mpkr_value *room = shape(model, extents, 2), *none_filled = number(model, 0), *cache;
	struct mpkr_arg in[3] = { { .tensor = rows }, { .value = room }, { .value = none_filled } };

	cache = call(model, "vm.builtin.attention_kv_cache_create", in, 3);
	mpkr_value_drop(room);
	mpkr_value_drop(none_filled);
	return cache;
}

START_TEST(caches_cross_calls)
{
	static const float rows[3][2] = { { 1, 2 }, { 3, 4 }, { 5, 6 } };
	const int64_t first[2] = { 1, 2 }, all[2] = { 3, 2 };
	struct mpkr_tensor one = mpkr_tensor_on_host(rows, MPKR_DTYPE_FLOAT, 32, 2, first);
	struct mpkr_tensor three = mpkr_tensor_on_host(rows, MPKR_DTYPE_FLOAT, 32, 2, all);
	struct mpkr_arg in[2];
	mpkr_value *cache, *same, *room, *view;
	struct mpkr_result *r;
	mpkr_model *model;

	NEED_FIXTURES;
	model = open_model("relax/gelu.so");
	cache = make_cache(model, &one);
	ck_assert_int_eq(mpkr_value_kind(cache), MPKR_KIND_OBJECT);
	ck_assert_str_eq(mpkr_value_type(cache), "relax.vm.AttentionKVCacheLegacy");
	ck_assert_uint_eq(mpkr_value_count(cache), 0);
	ck_fails(mpkr_value_tensor(cache, 0, &r, &err), MPKR_E_UNSUPPORTED, "no tensor: object");
	/* the object itself is passed, so the second call goes on where the first one ended */
	in[0] = (struct mpkr_arg){ .value = cache };
	in[1] = (struct mpkr_arg){ .tensor = &three };
	same = call(model, "vm.builtin.attention_kv_cache_append", in, 2);
	mpkr_value_drop(cache);
	in[0].value = same;
	in[1].tensor = &one;
	mpkr_value_drop(call(model, "vm.builtin.attention_kv_cache_append", in, 2));
	room = shape(model, (const int64_t[2]){ 4, 2 }, 2);
	in[1] = (struct mpkr_arg){ .value = room };
	view = call(model, "vm.builtin.attention_kv_cache_view", in, 2);
	mpkr_close(model);
	/* everything is good until it is dropped, in any order */
	mpkr_value_drop(same);
	mpkr_value_drop(room);
	ck_assert_int_eq(mpkr_value_kind(view), MPKR_KIND_TENSOR);
	ck_ok(mpkr_value_tensor(view, MPKR_DEVICE_CPU, &r, &err));
	mpkr_value_drop(view);
	for (int i = 0; i < 6; i++)
		ck_assert_float_eq(((float *)r->tensor.data)[i], (float)(i + 1));
	ck_assert_float_eq(((float *)r->tensor.data)[6], 1);
	mpkr_free(r);
}
END_TEST

/* What a model gives goes into a model again, without a copy, and what mpkr_call gives is the same. */
START_TEST(tensors_and_tuples_cross_calls)
{
	const struct model *m = &models[2]; /* two results */
	struct mpkr_result *first, *again, *plain[2];
	const struct mpkr_tensor *tensors[1];
	mpkr_value *both, *item;
	struct array x;
	mpkr_function *f;
	size_t count;

	NEED_FIXTURES;
	f = find_in(m->path, m->function);
	array_load(&x, m->in[0], true);
	tensors[0] = &x.tensor;
	ck_ok(mpkr_call(f, tensors, 1, plain, 2, &count, &err));
	ck_ok(mpkr_call_value(f, (struct mpkr_arg[]){ { .tensor = &x.tensor } }, 1, &both, &err));
	ck_assert_int_eq(mpkr_value_kind(both), MPKR_KIND_TUPLE);
	ck_assert_uint_eq(mpkr_value_count(both), 2);
	for (size_t i = 0; i < 2; i++) {
		ck_ok(mpkr_value_item(both, i, &item, &err));
		ck_ok(mpkr_value_tensor(item, 0, &first, &err));
		check_result(first, m->out[i]);
		/* the memory of the value itself, on which a second call lays nothing */
		ck_ok(mpkr_value_tensor(item, 0, &again, &err));
		ck_assert_ptr_eq(again->tensor.data, first->tensor.data);
		ck_assert_ptr_ne(first->tensor.data, plain[i]->tensor.data);
		mpkr_free(again);
		mpkr_value_drop(item);
		mpkr_free(first);
		mpkr_free(plain[i]);
	}
	ck_fails(mpkr_value_item(both, 2, &item, &err), MPKR_E_NOT_FOUND, "no item 2");
	ck_fails(mpkr_value_tensor(both, 0, &first, &err), MPKR_E_USAGE, "no tensor: array");
	ck_fails(mpkr_call_value(f, (struct mpkr_arg[]){ { .value = both } }, 1, &item, &err),
		 MPKR_E_USAGE, "takes float32");
	mpkr_value_drop(both);
	array_free(&x);
	mpkr_drop(f);
}
END_TEST

/* A value in place of a tensor: the same result, and no second copy of it. */
START_TEST(values_are_used_where_they_lie)
{
	const struct model *m = &models[_i];
	struct mpkr_arg in[3];
	struct array arrays[3];
	struct mpkr_result *r;
	mpkr_value *made[3], *out, *item;
	mpkr_model *model;
	mpkr_function *f;
	size_t n = count_names(m->in);

	NEED_FIXTURES;
	model = open_model(m->path);
	f = find_or_skip(m, model);
	if (!f)
		SKIP_TEST("%s", err.text);
	for (size_t i = 0; i < n; i++) {
		array_load(&arrays[i], m->in[i], false);
		ck_ok(mpkr_value_make(model, MPKR_KIND_TENSOR, &arrays[i].tensor, &made[i], &err));
		array_free(&arrays[i]);
		in[i] = (struct mpkr_arg){ .value = made[i] };
	}
	for (int round = 0; round < 2; round++) {
		ck_ok(mpkr_call_value(f, in, n, &out, &err));
		if (mpkr_value_kind(out) == MPKR_KIND_TUPLE) {
			ck_ok(mpkr_value_item(out, 0, &item, &err));
			mpkr_value_drop(out);
			out = item;
		}
		ck_ok(mpkr_value_tensor(out, 0, &r, &err));
		check_result(r, m->out[0]);
		mpkr_free(r);
		mpkr_value_drop(out);
	}
	ck_fails(mpkr_call_value(f, in, n + 1, &out, &err), MPKR_E_USAGE,
		 n == 1 ? "2 inputs" : "3");
	ck_fails(mpkr_call_value(f, in, n - 1, &out, &err), MPKR_E_USAGE,
		 n == 1 ? "0 inputs" : "1");
	for (size_t i = 0; i < n; i++)
		mpkr_value_drop(made[i]);
	mpkr_drop(f);
	mpkr_close(model);
}
END_TEST

START_TEST(what_is_made)
{
	static const double half = 0.5;
	static const int64_t two = 2;
	const int64_t three[1] = { 3 };
	struct mpkr_tensor f = mpkr_tensor_on_host(&half, MPKR_DTYPE_FLOAT, 64, 0, NULL);
	struct mpkr_tensor s = mpkr_tensor_on_host("abc", MPKR_DTYPE_UINT, 8, 1, three);
	struct mpkr_tensor i = mpkr_tensor_on_host(&two, MPKR_DTYPE_INT, 64, 0, NULL);
	mpkr_value *v, *none, *tuple, *item;
	struct mpkr_result *r;
	mpkr_model *model;

	NEED_FIXTURES;
	model = open_model("relax/gelu.so");
	ck_ok(mpkr_value_make(model, MPKR_KIND_NUMBER, &f, &v, &err));
	ck_assert_int_eq(mpkr_value_kind(v), MPKR_KIND_NUMBER);
	ck_assert_str_eq(mpkr_value_type(v), "float");
	ck_ok(mpkr_value_tensor(v, 0, &r, &err));
	ck_assert_double_eq(*(double *)r->tensor.data, 0.5);
	mpkr_free(r);
	ck_ok(mpkr_value_make(model, MPKR_KIND_NONE, NULL, &none, &err));
	ck_assert_int_eq(mpkr_value_kind(none), MPKR_KIND_NONE);
	ck_assert_int_eq(mpkr_value_kind(NULL), MPKR_KIND_NONE);
	const struct mpkr_arg parts[4] = {
		{ .tensor = &s }, { .value = v }, { .value = none }, { NULL, NULL }
	};

	ck_ok(mpkr_value_tuple(model, parts, 4, &tuple, &err));
	ck_assert_uint_eq(mpkr_value_count(tuple), 4);
	ck_ok(mpkr_value_item(tuple, 1, &item, &err));
	ck_assert_int_eq(mpkr_value_kind(item), MPKR_KIND_NUMBER);
	mpkr_value_drop(item);
	ck_ok(mpkr_value_item(tuple, 3, &item, &err));
	ck_assert_int_eq(mpkr_value_kind(item), MPKR_KIND_NONE);
	mpkr_value_drop(item);
	mpkr_value_drop(tuple);
	mpkr_value_drop(v);
	ck_ok(mpkr_value_make(model, MPKR_KIND_TEXT, &s, &v, &err));
	ck_assert_str_eq(mpkr_value_type(v), "str");
	mpkr_value_drop(v);
	mpkr_value_drop(none);
	mpkr_value_drop(NULL);
	/* what is refused */
	ck_fails(mpkr_value_make(model, MPKR_KIND_TUPLE, &i, &v, &err), MPKR_E_USAGE, "a kind of");
	ck_fails(mpkr_value_make(model, MPKR_KIND_SHAPE, &i, &v, &err), MPKR_E_USAGE, "a shape");
	ck_fails(mpkr_value_make(model, MPKR_KIND_NUMBER, &s, &v, &err), MPKR_E_USAGE, "a number");
	ck_fails(mpkr_value_make(model, MPKR_KIND_TENSOR, NULL, &v, &err), MPKR_E_USAGE, "NULL");
	ck_fails(mpkr_value_make(NULL, MPKR_KIND_TENSOR, &i, &v, &err), MPKR_E_USAGE, "NULL");
	ck_fails(mpkr_value_tuple(model, parts, (size_t)1 << 21, &v, &err), MPKR_E_USAGE,
		 "at most");
	i.device.device_type = MPKR_DEVICE_CUDA;
	ck_fails(mpkr_value_make(model, MPKR_KIND_TENSOR, &i, &v, &err), MPKR_E_USAGE,
		 "not in host memory");
	mpkr_close(model);
}
END_TEST

START_TEST(values_of_other_models)
{
	const struct model *m = &models[0];
	mpkr_model *one, *other;
	mpkr_value *v, *out;
	mpkr_function *f;
	struct array x;

	NEED_FIXTURES;
	one = open_model(m->path);
	other = open_model(m->path);
	array_load(&x, m->in[0], true);
	ck_ok(mpkr_value_make(other, MPKR_KIND_TENSOR, &x.tensor, &v, &err));
	f = find(one, m->function);
	const struct mpkr_arg in[1] = { { .value = v } }, both[1] = { { &x.tensor, v } };

	ck_fails(mpkr_call_value(f, in, 1, &out, &err), MPKR_E_USAGE, "value of another model");
	ck_fails(mpkr_value_tuple(one, in, 1, &out, &err), MPKR_E_USAGE, "value of another model");
	ck_fails(mpkr_call_value(f, both, 1, &out, &err), MPKR_E_USAGE, "a tensor and a value");
	ck_fails(mpkr_call_value(NULL, in, 1, &out, &err), MPKR_E_USAGE, "NULL");
	ck_fails(mpkr_call_value(f, NULL, 1, &out, &err), MPKR_E_USAGE, "NULL");
	ck_fails(mpkr_call_value(f, in, 1, NULL, &err), MPKR_E_USAGE, "NULL");
	ck_fails(mpkr_value_item(v, 0, &out, &err), MPKR_E_NOT_FOUND, "0 items");
	ck_fails(mpkr_value_item(NULL, 0, &out, &err), MPKR_E_USAGE, "NULL");
	ck_fails(mpkr_value_tensor(v, MPKR_DEVICE_OPENCL, NULL, &err), MPKR_E_USAGE, "NULL");
	mpkr_value_drop(v);
	array_free(&x);
	mpkr_drop(f);
	mpkr_close(one);
	mpkr_close(other);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("run_values");
	TCase *tc = tcase_create("mpk/run.h");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, caches_cross_calls);
	tcase_add_test(tc, tensors_and_tuples_cross_calls);
	tcase_add_loop_test(tc, values_are_used_where_they_lie, 0, (int)MPK_ARRAY_COUNT(models));
	tcase_add_test(tc, what_is_made);
	tcase_add_test(tc, values_of_other_models);
	suite_add_tcase(s, tc);

	SRunner *runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
