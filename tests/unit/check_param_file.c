/* SPDX-License-Identifier: Apache-2.0 */
/* Files of named tensors, and which of them a call needs */
#include "assert_error.h"
#include "harness.h"
#include "library/internal/library.h"
#include "npy/npy.h"
#include "tensor/tensor.h"
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
	ck_assert_ok(mpk_param_file_open(path, mpk_npz_read, &file, &err), err);
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
	ck_assert_ok(mpk_param_file_open("w.params", mpk_npz_read, &file, &err), err);
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
	ck_assert_int_eq(mpk_param_file_open("no", mpk_npz_read, &file, &err), MPK_E_IO);
	run("echo no parameters here >text");
	ck_assert_int_eq(mpk_param_file_open("text", mpk_npz_read, &file, &err), MPK_E_CORRUPT);
	ck_assert_str_eq(err.at.file, "text");
	store("twice", &p);
	ck_assert_int_eq(mpk_param_file_open("twice", mpk_npz_read, &file, &err), MPK_E_CORRUPT);
	ck_assert_text(err, "two tensors are named 'w'");
	p.names.count = 1;
	r[0].dtype = (struct mpk_dtype){ MPK_DTYPE_INT, 4, 1 };
	r[0].shape = &three;
	r[0].data = mpk_span_of("", 0);
	store("half", &p);
	ck_assert_ok(mpk_param_file_open("half", mpk_npz_read, &file, &err), err);
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
	ck_assert_ok(mpk_param_file_open("packed", mpk_npz_read, &file, &err), err);
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

/* --- weights of others -------------------------------------------------------------------------- */

/* Each holds the tensors of tests/data/weights/make.py. */
static const char *const weight_files[] = { "weights/small.safetensors", "weights/small.gguf",
					    "weights/model.safetensors.index.json",
					    "weights/cache/tensor-cache.json" };

static void expect_text(const char *name, bool is_for_kernels, const char *text)
{
	struct mpk_tensor *t = tensor(name, is_for_kernels);
	struct mpk_value v = { .kind = MPK_VALUE_TENSOR, .tensor = t };
	struct mpk_strbuf out = { 0 };

	mpk_value_print(&out, &v, 0);
	ck_assert_str_eq(mpk_strbuf_text(&out), text);
	mpk_strbuf_fini(&out);
	mpk_tensor_drop(t);
}

START_TEST(weights_of_others)
{
	open_fixture(weight_files[_i]);
	ck_assert_uint_ge(mpk_param_file_count(file), 3);
	for (int place = 0; place < 2; place++) {
		expect_text("a", place,
			    "3x4xf32=[[0 0.25 0.5 0.75][1 1.25 1.5 1.75][2 2.25 2.5 2.75]]");
		expect_text("b", place, "2xi64=7 -8");
		expect_text("c", place, "3xf16=1.5 -2.5 3");
	}
	mpk_param_file_drop(file);
}
END_TEST

/* An element of TVM's cache is the upper half of a float. */
START_TEST(halves_become_floats)
{
	open_fixture("weights/cache-bf16/tensor-cache.json");
	expect_text(
		"a", true,
		"3x4xf32=[[0.001953125 0.25195312 0.5 0.75][1 1.25 1.5 1.75][2 2.25 2.5 2.75]]");
	mpk_param_file_drop(file);
	open_fixture("weights/cache-bf16/tensor-cache-b16.json");
	expect_text("a", false,
		    "3x4xbf16=[[0.00195 0.252 0.5 0.75][1 1.25 1.5 1.75][2 2.25 2.5 2.75]]");
	mpk_param_file_drop(file);
}
END_TEST

START_TEST(quantized_ones_are_named)
{
	struct mpk_tensor *t;
	size_t index;

	open_fixture("weights/small.gguf");
	ck_assert(mpk_param_file_find(file, mpk_span_str("q"), &index));
	ck_assert_int_eq(mpk_param_file_tensor(file, index, true, &t, &err), MPK_E_UNSUPPORTED);
	ck_assert_text(err, "tensor 'q' is quantized as Q8_0");
	mpk_param_file_drop(file);
}
END_TEST

static enum mpk_code open_text(const char *path, const char *text)
{
	write_file(path, text);
	return mpk_param_file_open(path, mpk_npz_read, &file, &err);
}

START_TEST(shards_that_are_not_there)
{
	workdir_enter();
	ck_assert_int_eq(open_text("model.safetensors.index.json",
				   "{\"weight_map\": {\"a\": \"gone.safetensors\"}}"),
			 MPK_E_IO);
	ck_assert_text(err, "cannot open");
	ck_assert_int_eq(open_text("i.json", "{\"weight_map\": {\"a\": \"../x.safetensors\"}}"),
			 MPK_E_CORRUPT);
	ck_assert_text(err, "leads out of the folder");
	write_file("s.bin", "1234");
	ck_assert_int_eq(
		open_text(
			"tensor-cache.json",
			"{\"records\": [{\"dataPath\": \"s.bin\", \"records\": [{\"name\": \"a\", "
			"\"shape\": [2], \"dtype\": \"float32\", \"format\": \"raw\", "
			"\"nbytes\": 8, \"byteOffset\": 0}]}]}"),
		MPK_E_CORRUPT);
	ck_assert_text(err, "tensor 'a' ends at 8, and its file at 4");
	ck_assert_int_eq(open_text("i.json", "{\"weight_map\": {\"a\": \"s.bin\"}}"),
			 MPK_E_UNSUPPORTED);
	ck_assert_text(err, "s.bin: this is no file of weights");
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

static struct mpk_arena choices;

static enum mpk_code choose(const struct mpk_span *names, size_t count,
			    const struct mpk_run_choice **out, size_t *chosen)
{
	const struct mpk_run_given given = { .params = file, .names = names, .count = count };

	return mpk_run_choose(&given, &model, &choices, out, chosen, &err);
}

START_TEST(a_file_gives_what_the_call_does_not)
{
	const struct mpk_span none[3] = { { 0 } }, first[3] = { NAME("p0") };
	const struct mpk_run_choice *chosen;
	size_t count, index;

	open_fixture("legacy/mlp_llvm.params");
	/* p0 for an input, p1 in place of the library's own; x and y by position */
	ck_assert_ok(choose(NULL, 2, &chosen, &count), err);
	ck_assert_uint_eq(count, 2);
	ck_assert(mpk_span_is(chosen[0].input->name, "p0"));
	ck_assert(mpk_param_file_find(file, mpk_span_str("p0"), &index));
	ck_assert_uint_eq(chosen[0].indices[0], index);
	ck_assert(mpk_span_is(chosen[1].input->name, "p1"));
	ck_assert_ok(choose(none, 2, &chosen, &count), err);
	/* the call's own value comes first */
	ck_assert_ok(choose(first, 3, &chosen, &count), err);
	ck_assert_uint_eq(count, 1);
	ck_assert(mpk_span_is(chosen[0].input->name, "p1"));
	mpk_param_file_drop(file);
}
END_TEST

START_TEST(all_that_lacks_is_named)
{
	const struct mpk_run_choice *chosen;
	size_t count;

	open_fixture("legacy/mlp_llvm.params");
	ck_assert_int_eq(choose(NULL, 0, &chosen, &count), MPK_E_USAGE);
	ck_assert_text(err, "nor the call gives: x, y");
	ck_assert_int_eq(choose(NULL, 1, &chosen, &count), MPK_E_USAGE);
	ck_assert_text(err, "nor the call gives: y");
	ck_assert_int_eq(choose(NULL, 3, &chosen, &count), MPK_E_USAGE);
	ck_assert_text(err, "3 values without a name for 2 inputs");
	mpk_param_file_drop(file);
	mpk_arena_fini(&choices);
}
END_TEST

/* --- inputs that are weights ---------------------------------------------------------------------- */

static const int64_t a_shape[] = { 3, 4 }, b_shape[] = { 2 }, wrong_shape[] = { 4, 3 };
static const struct mpk_dtype i64 = { MPK_DTYPE_INT, 64, 1 };

#define TENSOR(dtype_, shape_, ndim_)                                                              \
	{ .kind = MPK_TYPE_TENSOR, .dtype = dtype_, .ranked = true, .ndim = ndim_, .shape = shape_ }

static enum mpk_code choose_for(const struct mpk_param *takes, size_t takes_count, size_t given,
				const struct mpk_run_choice **out, size_t *chosen)
{
	const struct mpk_signature m = { .inputs = takes, .input_count = takes_count };
	const struct mpk_run_given call = { .params = file, .count = given };

	return mpk_run_choose(&call, &m, &choices, out, chosen, &err);
}

/* x by position; the tuple takes the file's tensors in their order. */
START_TEST(a_tuple_takes_all)
{
	struct mpk_param fields[3] = { { .type = TENSOR(f32, a_shape, 2) },
				       { .type = TENSOR(i64, b_shape, 1) },
				       { .type = { .kind = MPK_TYPE_ANY } } };
	struct mpk_param takes[2] = {
		{ .name = NAME("x") },
		{ .name = NAME("params"),
		  .type = { .kind = MPK_TYPE_TUPLE, .fields = fields, .field_count = 3 } }
	};
	const struct mpk_run_choice *chosen;
	size_t count;

	open_fixture("weights/cache/tensor-cache.json");
	ck_assert_ok(choose_for(takes, 2, 1, &chosen, &count), err);
	ck_assert_uint_eq(count, 1);
	ck_assert(mpk_span_is(chosen[0].input->name, "params"));
	ck_assert_uint_eq(chosen[0].count, 3);
	for (size_t i = 0; i < 3; i++)
		ck_assert_uint_eq(chosen[0].indices[i], i);
	/* fields of other names, of which the file has not as many tensors */
	takes[1].type.field_count = 2;
	ck_assert_int_eq(choose_for(takes, 2, 1, &chosen, &count), MPK_E_USAGE);
	ck_assert_text(err, "nor the call gives: params; it also has: a, b, c");
	/* the name of a field counts more than its place */
	fields[0] = (struct mpk_param){ .name = NAME("b"), .type = TENSOR(i64, b_shape, 1) };
	fields[1] = (struct mpk_param){ .name = NAME("a"), .type = TENSOR(f32, a_shape, 2) };
	ck_assert_ok(choose_for(takes, 2, 1, &chosen, &count), err);
	ck_assert_uint_eq(chosen[0].indices[0], 1);
	ck_assert_uint_eq(chosen[0].indices[1], 0);
	mpk_param_file_drop(file);
	mpk_arena_fini(&choices);
}
END_TEST

START_TEST(all_that_does_not_fit_is_named)
{
	const struct mpk_param takes[] = { { .name = NAME("a"),
					     .type = TENSOR(f32, wrong_shape, 2) },
					   { .name = NAME("b"), .type = TENSOR(f32, b_shape, 1) },
					   { .name = NAME("w"), .type = TENSOR(f32, b_shape, 1) } };
	const struct mpk_run_choice *chosen;
	size_t count;

	open_fixture("weights/small.safetensors");
	ck_assert_int_eq(choose_for(takes, 3, 0, &chosen, &count), MPK_E_USAGE);
	ck_assert_text(
		err,
		"nor the call gives: w; tensors that are not what the inputs take: a is "
		"float32[3, 4], not float32[4, 3]; b is int64[2], not float32[2]; it also has: c");
	mpk_param_file_drop(file);
	mpk_arena_fini(&choices);
}
END_TEST

/* As torch.export names the parameters of a module. */
START_TEST(exported_names)
{
	static const char document[] =
		"{\"fc.weight\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
		"\"fc.bias\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]},"
		"\"a.b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[2,3]},"
		"\"a_b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[3,4]}}";
	const struct mpk_param takes[] = { { .name = NAME("p_fc_weight") },
					   { .name = NAME("b_fc_bias") } };
	const struct mpk_param unclear[] = { { .name = NAME("p_a_b") } };
	const struct mpk_run_choice *chosen;
	uint64_t len = sizeof document - 1;
	size_t count;
	FILE *f;

	workdir_enter();
	f = fopen("w.safetensors", "wb");
	ck_assert_ptr_nonnull(f);
	for (int i = 0; i < 8; i++)
		(void)fputc((int)(len >> 8 * i & 255), f);
	(void)fwrite(document, 1, (size_t)len, f);
	(void)fwrite("1234", 1, 4, f);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_ok(mpk_param_file_open("w.safetensors", mpk_npz_read, &file, &err), err);
	ck_assert_ok(choose_for(takes, 2, 0, &chosen, &count), err);
	ck_assert_uint_eq(count, 2);
	ck_assert_uint_eq(chosen[0].indices[0], 0);
	ck_assert_uint_eq(chosen[1].indices[0], 1);
	ck_assert_int_eq(choose_for(unclear, 1, 0, &chosen, &count), MPK_E_USAGE);
	mpk_param_file_drop(file);
	mpk_arena_fini(&choices);
	workdir_leave();
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
	tcase_add_loop_test(tc, weights_of_others, 0, (int)MPK_ARRAY_COUNT(weight_files));
	tcase_add_test(tc, halves_become_floats);
	tcase_add_test(tc, quantized_ones_are_named);
	tcase_add_test(tc, shards_that_are_not_there);
	tcase_add_test(tc, a_tuple_takes_all);
	tcase_add_test(tc, all_that_does_not_fit_is_named);
	tcase_add_test(tc, exported_names);
	tcase_add_test(tc, a_file_gives_what_the_call_does_not);
	tcase_add_test(tc, all_that_lacks_is_named);
	suite_add_tcase(s, tc);

	SRunner *runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
