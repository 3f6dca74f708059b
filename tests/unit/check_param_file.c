/* SPDX-License-Identifier: Apache-2.0 */
/* Files of named tensors, and which of them a call needs */
#include "assert_error.h"
#include "harness.h"
#include "npy/npy.h"
#include "params/params.h"
#include "session/internal/session.h"
#include "value/param_file.h"
#include "value/parse.h"
#include "workdir.h"

static struct mpk_error err;
static struct mpk_param_file *file;

static const struct mpk_dtype f32 = { MPK_DTYPE_FLOAT, 32, 1 };

static void open_fixture(const char *name)
{
	char path[256];

	(void)snprintf(path, sizeof path, "tests/data/%s", name);
	ck_assert_ok(mpk_param_file_open(path, &file, &err), err);
}

static struct mpk_tensor *tensor(const char *name, bool is_for_kernels)
{
	struct mpk_tensor *t = NULL;
	size_t index;

	ck_assert(mpk_param_file_find(file, mpk_span_str(name), &index));
	ck_assert_ok(mpk_param_file_tensor(file, index, is_for_kernels, &t, &err), err);
	return t;
}

static void store(const char *path, const struct mpk_params *p)
{
	struct mpk_arena a = { 0 };
	struct mpk_rope rope = mpk_rope_of(&a);
	struct mpk_span flat;
	FILE *out = fopen(path, "wb");

	ck_assert_ptr_nonnull(out);
	mpk_params_write(&rope, p);
	ck_assert_ok(mpk_rope_flat(&rope, &flat, &err), err);
	ck_assert_uint_eq(fwrite(flat.data, 1, flat.len, out), flat.len);
	ck_assert_int_eq(fclose(out), 0);
	mpk_arena_fini(&a);
}

/* Written by TVM. */
START_TEST(params_of_tvm)
{
	struct mpk_tensor *kernel, *view;
	size_t index;

	open_fixture("legacy/mlp_llvm.params");
	ck_assert(!mpk_param_file_find(file, mpk_span_str("p"), &index));
	kernel = tensor("p1", true);
	view = tensor("p1", false);
	ck_assert(mpk_dtype_equal(kernel->dl.dtype, f32));
	ck_assert_uint_eq((uintptr_t)mpk_dltensor_data(&kernel->dl) % MPK_STORAGE_ALIGN, 0);
	ck_assert_uint_eq(kernel->bytes, view->bytes);
	ck_assert_mem_eq(mpk_dltensor_data(&kernel->dl), mpk_dltensor_data(&view->dl),
			 (size_t)kernel->bytes);
	/* tensors keep what they lie in */
	mpk_param_file_drop(file);
	ck_assert_int_eq(((const uint8_t *)mpk_dltensor_data(&view->dl))[0],
			 ((const uint8_t *)mpk_dltensor_data(&kernel->dl))[0]);
	mpk_tensor_drop(kernel);
	mpk_tensor_drop(view);
}
END_TEST

/* Stored and compressed members; names are those of the arrays. */
START_TEST(arrays_of_numpy)
{
	static const char *const names[] = { "npy/pair.npz", "npy/packed.npz" };
	struct mpk_zip_member *members;
	struct mpk_arena a = { 0 };
	struct mpk_span bytes = fixture_load(names[_i]);
	size_t count;

	ck_assert_ok(mpk_npz_list(bytes, &a, &members, &count, &err), err);
	ck_assert_uint_ge(count, 1);
	open_fixture(names[_i]);
	for (size_t i = 0; i < count; i++) {
		struct mpk_tensor *got = NULL, *want = NULL;
		char spec[512];

		(void)snprintf(spec, sizeof spec, "tests/data/%s:%.*s", names[_i],
			       (int)members[i].name.len, (const char *)members[i].name.data);
		ck_assert_ok(mpk_tensor_load_file(spec, NULL, &want, &err), err);
		ck_assert_ok(mpk_param_file_tensor(file, i, true, &got, &err), err);
		ck_assert_uint_eq(got->bytes, want->bytes);
		ck_assert_mem_eq(mpk_dltensor_data(&got->dl), mpk_dltensor_data(&want->dl),
				 (size_t)got->bytes);
		mpk_tensor_drop(got);
		mpk_tensor_drop(want);
	}
	mpk_param_file_drop(file);
	mpk_arena_fini(&a);
	fixture_free(bytes);
}
END_TEST

/* Large aligned content is used where it lies; what is written there stays with us. */
START_TEST(large_tensors_are_not_copied)
{
	enum { COUNT = 1 << 18 };
	static const float zeros[COUNT];
	static const int64_t shape = COUNT;
	const struct mpk_span name = mpk_span_str("w");
	struct mpk_tensor_record r = {
		.dtype = f32, .shape = &shape, .ndim = 1, .data = mpk_span_of(zeros, sizeof zeros)
	};
	struct mpk_params p = { .names = { &name, 1 }, .tensors = &r };
	struct mpk_tensor *a, *b;

	workdir_enter();
	store("w.params", &p);
	ck_assert_ok(mpk_param_file_open("w.params", &file, &err), err);
	ck_assert_str_eq(mpk_param_file_path(file), "w.params");
	a = tensor("w", false);
	b = tensor("w", false);
	ck_assert_ptr_eq(mpk_dltensor_data(&a->dl), mpk_dltensor_data(&b->dl));
	mpk_tensor_drop(b);
	b = tensor("w", true); /* of this file no tensor is aligned */
	ck_assert_ptr_ne(mpk_dltensor_data(&a->dl), mpk_dltensor_data(&b->dl));
	((float *)mpk_dltensor_data(&b->dl))[0] = 1;
	ck_assert_mem_eq(mpk_dltensor_data(&a->dl), zeros, sizeof zeros[0]); /* at any address */
	mpk_tensor_drop(a);
	mpk_tensor_drop(b);
	mpk_param_file_drop(file);
	workdir_leave();
}
END_TEST

START_TEST(files_that_are_none)
{
	static const int64_t shape = 1, three = 3;
	const struct mpk_span names[] = { mpk_span_str("w"), mpk_span_str("w") };
	struct mpk_tensor_record r[2] = {
		{ .dtype = f32, .shape = &shape, .ndim = 1, .data = mpk_span_of("abcd", 4) },
		{ .dtype = f32, .shape = &shape, .ndim = 1, .data = mpk_span_of("abcd", 4) },
	};
	struct mpk_params p = { .names = { names, 2 }, .tensors = r };

	workdir_enter();
	ck_assert_int_eq(mpk_param_file_open("no", &file, &err), MPK_E_IO);
	run("echo no parameters here >text");
	ck_assert_int_eq(mpk_param_file_open("text", &file, &err), MPK_E_CORRUPT);
	ck_assert_str_eq(err.at.file, "text");
	store("twice", &p);
	ck_assert_int_eq(mpk_param_file_open("twice", &file, &err), MPK_E_CORRUPT);
	ck_assert_text(err, "two tensors are named 'w'");
	p.names.count = 1;
	r[0].dtype = (struct mpk_dtype){ MPK_DTYPE_INT, 4, 1 };
	r[0].shape = &three;
	r[0].data = mpk_span_of("", 0);
	store("half", &p);
	ck_assert_ok(mpk_param_file_open("half", &file, &err), err);
	struct mpk_tensor *t;

	ck_assert_int_eq(mpk_param_file_tensor(file, 0, true, &t, &err), MPK_E_UNSUPPORTED);
	ck_assert_str_eq(err.at.file, "half");
	mpk_param_file_drop(file);
	workdir_leave();
}
END_TEST

/* Three elements of 4 bits: their two bytes, and a byte for each, as TVM writes them: packed first, and
 * then what stood behind. */
START_TEST(packed_elements)
{
	static const int64_t three = 3;
	const struct mpk_span name = mpk_span_str("w");
	struct mpk_tensor_record r = { .dtype = { MPK_DTYPE_INT, 4, 1 },
				       .shape = &three,
				       .ndim = 1,
				       .data = mpk_span_of("\x21\x43zz", 2 + (size_t)_i) };
	struct mpk_params p = { .names = { &name, 1 }, .tensors = &r };
	struct mpk_tensor *t;

	workdir_enter();
	store("packed", &p);
	ck_assert_ok(mpk_param_file_open("packed", &file, &err), err);
	for (int in_place = 0; in_place < 2; in_place++) {
		ck_assert_ok(mpk_param_file_tensor(file, 0, in_place, &t, &err), err);
		ck_assert_uint_eq(t->bytes, 2);
		ck_assert_mem_eq(mpk_dltensor_data(&t->dl), "\x21\x43", 2);
		mpk_tensor_drop(t);
	}
	mpk_param_file_drop(file);
	workdir_leave();
}
END_TEST

/* --- for a call ----------------------------------------------------------------------------- */

#define NAME(text) { (const uint8_t *)(text), sizeof(text) - 1 }

static const struct mpk_param inputs[] = { { .name = NAME("p0") },
					   { .name = NAME("x") },
					   { .name = NAME("y") } };
static const struct mpk_param own[] = { { .name = NAME("p1") } };
static const struct mpk_signature model = {
	.inputs = inputs, .input_count = 3, .params = own, .param_count = 1
};

static enum mpk_code choose(const struct mpk_span *names, size_t count,
			    struct mpk_param_choice **out, size_t *chosen)
{
	struct mpk_value values[4] = { 0 };
	struct mpk_call call = {
		.function = "f", .args = values, .names = names, .arg_count = count, .params = file
	};

	return mpk_params_choose(&call, &model, out, chosen, &err);
}

START_TEST(a_file_gives_what_the_call_does_not)
{
	const struct mpk_span none[3] = { { 0 } }, first[3] = { NAME("p0") };
	struct mpk_param_choice *chosen;
	size_t count, index;

	open_fixture("legacy/mlp_llvm.params");
	/* p0 for an input, p1 in place of the library's own; x and y by position */
	ck_assert_ok(choose(NULL, 2, &chosen, &count), err);
	ck_assert_uint_eq(count, 2);
	ck_assert(mpk_span_is(chosen[0].name, "p0"));
	ck_assert(mpk_param_file_find(file, mpk_span_str("p0"), &index));
	ck_assert_uint_eq(chosen[0].index, index);
	ck_assert(mpk_span_is(chosen[1].name, "p1"));
	free(chosen);
	ck_assert_ok(choose(none, 2, &chosen, &count), err);
	free(chosen);
	/* the call's own value comes first */
	ck_assert_ok(choose(first, 3, &chosen, &count), err);
	ck_assert_uint_eq(count, 1);
	ck_assert(mpk_span_is(chosen[0].name, "p1"));
	free(chosen);
	mpk_param_file_drop(file);
}
END_TEST

START_TEST(all_that_lacks_is_named)
{
	struct mpk_param_choice *chosen;
	struct mpk_call call = { .function = "f" };
	size_t count;

	open_fixture("legacy/mlp_llvm.params");
	ck_assert_int_eq(choose(NULL, 0, &chosen, &count), MPK_E_USAGE);
	ck_assert_text(err, "nor the call gives: x, y");
	ck_assert_int_eq(choose(NULL, 1, &chosen, &count), MPK_E_USAGE);
	ck_assert_text(err, "nor the call gives: y");
	ck_assert_int_eq(choose(NULL, 3, &chosen, &count), MPK_E_USAGE);
	ck_assert_text(err, "3 values without a name for 2 inputs");
	ck_assert_int_eq(mpk_params_choose(&call, NULL, &chosen, &count, &err), MPK_E_USAGE);
	ck_assert_text(err, "'f' is no model");
	mpk_param_file_drop(file);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("param_file");
	TCase *tc = tcase_create("files of named tensors");

	tcase_add_test(tc, params_of_tvm);
	tcase_add_loop_test(tc, arrays_of_numpy, 0, 2);
	tcase_add_test(tc, large_tensors_are_not_copied);
	tcase_add_test(tc, files_that_are_none);
	tcase_add_loop_test(tc, packed_elements, 0, 2);
	tcase_add_test(tc, a_file_gives_what_the_call_does_not);
	tcase_add_test(tc, all_that_lacks_is_named);
	suite_add_tcase(s, tc);

	SRunner *runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
