/* SPDX-License-Identifier: Apache-2.0 */
/* Models in libmpk-run: opened, found, given sessions, closed, in every order */
#include <pthread.h>

#include "run_models.h"
#include "tensor/tensor.h"

/* --- models ----------------------------------------------------------------------------------- */

/* By path and from memory at once, twice each; all are there while all are called. */
START_TEST(models_give_what_tvm_computed)
{
	const struct model *m = &models[_i];
	mpkr_model *opened[4];
	mpkr_function *f[4];
	struct mpk_span file;

	NEED_FIXTURES;
	file = fixture_load(m->path);
	for (int i = 0; i < 4; i++) {
		if (i % 2)
			ck_ok(mpkr_open_memory(file.data, file.len, NULL, &opened[i], &err));
		else
			ck_ok(mpkr_open(data_path(m->path), NULL, &opened[i], &err));
		f[i] = find_or_skip(m, opened[i]);
		if (!f[i])
			SKIP_TEST("%s", err.text);
	}
	for (int round = 0; round < 4; round++)
		for (int i = 0; i < 4; i++)
			call_model(m, f[i], (round + i) % 2 == 0);
	for (int i = 0; i < 4; i++) {
		mpkr_drop(f[i]);
		mpkr_close(opened[i]);
		for (int k = i + 1; k < 4; k++)
			call_model(m, f[k], true);
	}
	fixture_free(file);
}
END_TEST

/* Whatever is closed first, a function keeps its model, and a result its memory. */
START_TEST(results_outlive_functions_and_models)
{
	const struct model *m = &models[_i];
	struct mpkr_result *results[3];
	const struct mpkr_tensor *in[3];
	struct array arrays[3];
	mpkr_model *model;
	mpkr_function *f, *other;
	size_t n = count_names(m->in), count;

	NEED_FIXTURES;
	ck_ok(mpkr_open(data_path(m->path), NULL, &model, &err));
	f = find_or_skip(m, model);
	if (!f)
		SKIP_TEST("%s", err.text);
	mpkr_close(model);
	for (size_t i = 0; i < n; i++) {
		array_load(&arrays[i], m->in[i], true);
		in[i] = &arrays[i].tensor;
	}
	ck_ok(mpkr_call(f, in, n, results, 3, &count, &err));
	for (size_t i = 0; i < count; i++) {
		/* DLPack 1.0, which the header names: rows follow each other, the last extent is the fastest */
		ck_assert_uint_eq(results[i]->version.major, 1);
		ck_assert_uint_eq(results[i]->version.minor, 0);
		ck_assert_uint_eq(results[i]->flags, 0);
		ck_assert_uint_eq(results[i]->tensor.byte_offset, 0);
		ck_assert_int_eq(results[i]->tensor.device.device_type, 1);
		for (int32_t k = results[i]->tensor.ndim, stride = 1; k-- > 0;) {
			ck_assert_int_eq(results[i]->tensor.strides[k], stride);
			stride *= (int32_t)results[i]->tensor.shape[k];
		}
	}
	/* neither a later call nor another session writes to them */
	ck_ok(mpkr_session(f, &other, &err));
	for (size_t i = 0; i < n; i++)
		memset(arrays[i].data, 0, arrays[i].npy.data.len);
	for (int i = 0; i < 6; i++) {
		struct mpkr_result *more[3];
		size_t more_count;

		ck_ok(mpkr_call(i % 2 ? f : other, in, n, more, 3, &more_count, &err));
		ck_assert_uint_eq(more_count, count);
		for (size_t k = 0; k < count; k++) {
			ck_assert_ptr_ne(more[k]->tensor.data, results[k]->tensor.data);
			mpkr_free(more[k]);
		}
	}
	mpkr_drop(f);
	mpkr_drop(other);
	for (size_t i = 0; i < n; i++)
		array_free(&arrays[i]);
	for (size_t i = 0; i < count; i++) {
		check_result(results[i], m->out[i]);
		results[i]->deleter(results[i]);
	}
}
END_TEST

/* --- what functions say of themselves --------------------------------------------------------- */

START_TEST(functions_are_listed)
{
	mpkr_model *model;
	mpkr_function *f;
	struct mpkr_type t;

	NEED_FIXTURES;
	ck_ok(mpkr_open(data_path("relax/gelu_dyn.so"), NULL, &model, &err));
	ck_assert_uint_gt(mpkr_function_count(model), 1);
	ck_assert_str_eq(mpkr_function_name(model, 0), "forward");
	ck_assert_ptr_nonnull(strstr(mpkr_function_signature(model, 0), "forward(x: f32["));
	ck_assert_ptr_nonnull(strstr(mpkr_function_signature(model, 1), "(...)"));
	ck_assert_ptr_null(mpkr_function_name(model, mpkr_function_count(model)));
	ck_assert_ptr_null(mpkr_function_signature(model, mpkr_function_count(model)));
	ck_ok(mpkr_find(model, NULL, &f, &err));
	ck_ok(mpkr_input(f, 0, &t));
	ck_assert_int_eq(t.kind, MPKR_KIND_TENSOR);
	ck_assert_str_eq(t.name, "x");
	ck_assert_int_eq(t.dtype.code, MPKR_DTYPE_FLOAT);
	ck_assert_int_eq(t.dtype.bits, 32);
	ck_assert_int_eq(t.ndim, 2);
	ck_assert_int_eq(t.shape[0], -1);
	ck_assert_int_eq(t.shape[1], 24);
	ck_assert_int_eq(mpkr_input(f, 1, &t), MPKR_E_NOT_FOUND);
	ck_ok(mpkr_output(f, 0, &t));
	ck_assert_int_eq(t.ndim, 2);
	ck_assert_int_eq(mpkr_output(f, 1, &t), MPKR_E_NOT_FOUND);
	ck_fails(mpkr_expect(f, 0, MPKR_KIND_NUMBER, &err), MPKR_E_USAGE, "the file says");
	ck_ok(mpkr_expect(f, 0, MPKR_KIND_TENSOR, &err));
	mpkr_drop(f);
	mpkr_close(model);
	ck_assert_uint_eq(mpkr_version(), MPKR_VERSION);
}
END_TEST

/* --- parameters ------------------------------------------------------------------------------- */

static void store_params(const char *path, const struct array *a, const char *name)
{
	struct mpk_span names[] = { mpk_span_str(name) }, flat;
	const struct mpk_tensor_record tensor = { .dtype = a->npy.dtype,
						  .ndim = a->npy.ndim,
						  .shape = a->npy.shape,
						  .data = a->npy.data };
	const struct mpk_params params = { .names = { names, 1 }, .tensors = &tensor };
	struct mpk_arena arena = { 0 };
	struct mpk_rope rope = mpk_rope_of(&arena);
	FILE *out = fopen(path, "wb");

	mpk_params_write(&rope, &params);
	ck_assert_int_eq(mpk_rope_flat(&rope, &flat, NULL), MPK_OK);
	ck_assert_uint_eq(fwrite(flat.data, 1, flat.len, out), flat.len);
	ck_assert_int_eq(fclose(out), 0);
	mpk_arena_fini(&arena);
}

static void store_safetensors(const char *path, const struct array *a, const char *name)
{
	FILE *out = fopen(path, "wb");
	uint64_t len = a->npy.data.len;
	char head[256];

	ck_assert_uint_eq(a->npy.ndim, 2);
	(void)snprintf(
		head, sizeof head,
		"{\"%s\":{\"dtype\":\"F32\",\"shape\":[%lld,%lld],\"data_offsets\":[0,%llu]}}",
		name, (long long)a->npy.shape[0], (long long)a->npy.shape[1],
		(unsigned long long)len);
	len = strlen(head);
	for (int i = 0; i < 8; i++)
		ck_assert_int_ne(fputc((int)(len >> 8 * i & 255), out), EOF);
	ck_assert_int_ge(fputs(head, out), 0);
	ck_assert_uint_eq(fwrite(a->npy.data.data, 1, a->npy.data.len, out), a->npy.data.len);
	ck_assert_int_eq(fclose(out), 0);
}

/* An input that a file gives is no input any more. */
START_TEST(bound_parameters_are_no_inputs)
{
	static const char *const paths[] = { "legacy/mlp_llvm.so", "legacy/mlp_aot.so",
					     "legacy/mlp_vm.so" };
	char file[] = "/tmp/mpk-params-XXXXXX";
	struct array data, extra;
	const struct mpkr_tensor *in[1] = { &data.tensor };
	struct mpkr_result *r[2];
	struct mpkr_type t;
	mpkr_model *model;
	mpkr_function *f;
	size_t count;

	NEED_FIXTURES;
	ck_assert_int_eq(close(mkstemp(file)), 0);
	array_load(&data, "legacy/mlp.data.npy", true);
	array_load(&extra, "legacy/mlp.extra.npy", true);
	(_i ? store_params : store_safetensors)(file, &extra, "extra");
	ck_ok(mpkr_open(data_path(paths[_i]), NULL, &model, &err));
	ck_fails(mpkr_bind_params(model, "/no/such", &err), MPKR_E_IO, "/no/such");
	ck_fails(mpkr_bind_params(model, "tests/data/relax/gelu.so", &err), MPKR_E_CORRUPT, "");
	ck_ok(mpkr_bind_params(model, file, &err));
	ck_assert_int_eq(unlink(file), 0);
	ck_ok(mpkr_find(model, NULL, &f, &err));
	ck_fails(mpkr_bind_params(model, file, &err), MPKR_E_USAGE, "before a function");
	ck_ok(mpkr_input(f, 0, &t));
	ck_assert_str_eq(t.name, "data");
	ck_assert_int_eq(mpkr_input(f, 1, &t), MPKR_E_NOT_FOUND);
	ck_ok(mpkr_call(f, in, 1, r, 2, &count, &err));
	ck_assert_uint_eq(count, 2);
	check_result(r[0], "legacy/mlp_llvm.out0.npy");
	check_result(r[1], "legacy/mlp_llvm.out1.npy");
	for (int i = 0; i < 2; i++)
		mpkr_free(r[i]);
	mpkr_drop(f);
	mpkr_close(model);
	array_free(&data);
	array_free(&extra);
}
END_TEST

/* Weights of packed.so are one tuple, those of plain.so inputs of their own; files have their names or numbers. */
START_TEST(weights_without_names_of_inputs)
{
	static const struct {
		const char *model, *file;
	} rows[] = {
		{ "relax/packed.so", "tests/data/relax/packed.weights.npz" },
		{ "relax/packed.so", "tests/data/relax/packed.numbered.npz" },
		{ "relax/plain.so", "tests/data/relax/packed.weights.npz" },
		{ "relax/plain.so", "tests/data/relax/packed.numbered.npz" },
	};
	struct array ids;
	const struct mpkr_tensor *in[1] = { &ids.tensor };
	struct mpkr_result *r;
	mpkr_model *model;
	mpkr_function *f;
	size_t count = 99;

	NEED_FIXTURES;
	array_load(&ids, "relax/packed.in0.npy", true);
	ck_ok(mpkr_open(data_path(rows[_i].model), NULL, &model, &err));
	/* a tuple without names takes whatever fits */
	if (_i > 1)
		ck_fails(
			mpkr_bind_weights(model, "tests/data/relax/packed.wrong.npz", &count, &err),
			MPKR_E_USAGE,
			"packed.wrong.npz: no tensor of the file is an input of the model");
	ck_assert_msg(_i < 2 || (strstr(err.text, "it has other.0, other.1") &&
				 strstr(err.text, "inputs are ids")),
		      "%s", err.text);
	ck_assert_uint_eq(count, 99);
	ck_ok(mpkr_bind_weights(model, rows[_i].file, &count, &err));
	ck_assert_uint_eq(count, 4);
	ck_ok(mpkr_find(model, "forward", &f, &err));
	ck_assert_int_eq(mpkr_input(f, 1, &(struct mpkr_type){ 0 }), MPKR_E_NOT_FOUND);
	for (int i = 0; i < 2; i++) {
		ck_ok(mpkr_call(f, in, 1, &r, 1, &count, &err));
		check_result(r, "relax/packed.out0.npy");
		mpkr_free(r);
	}
	mpkr_drop(f);
	mpkr_close(model);
	array_free(&ids);
}
END_TEST

/* Two inputs whose extents are two, though the program calls both n. */
START_TEST(extents_of_one_name_are_two)
{
	static const char *const paths[] = { "relax/same_extents.so",
					     "relax/same_extents_compiled.so" };
	const float a[8] = { 0 }, b[3] = { 1, 2, 3 };
	const int64_t a_shape[2] = { 2, 4 }, b_shape[1] = { 3 };
	struct mpkr_tensor x = mpkr_tensor_on_host(a, MPKR_DTYPE_FLOAT, 32, 2, a_shape);
	struct mpkr_tensor y = mpkr_tensor_on_host(b, MPKR_DTYPE_FLOAT, 32, 1, b_shape);
	const struct mpkr_tensor *in[2] = { &x, &y };
	struct mpkr_result *r[2];
	mpkr_function *f;
	size_t count;

	NEED_FIXTURES;
	f = find_in(paths[_i], "main");
	ck_ok(mpkr_call(f, in, 2, r, 2, &count, &err));
	ck_assert_uint_eq(count, 2);
	ck_assert_float_eq(((float *)r[0]->tensor.data)[7], 1);
	ck_assert_int_eq(r[1]->tensor.shape[0], 3);
	ck_assert_float_eq(((float *)r[1]->tensor.data)[2], -3);
	for (int i = 0; i < 2; i++)
		mpkr_free(r[i]);
	mpkr_drop(f);
}
END_TEST

/* --- threads and time ------------------------------------------------------------------------- */

struct worker {
	const struct model *m;
	mpkr_function *f;
	struct array in[3];
	size_t failures;
};

/* No assertions: they belong to the main thread. */
static void *call_often(void *arg)
{
	struct worker *w = arg;
	size_t n = count_names(w->m->in), count;
	const struct mpkr_tensor *in[3];
	struct mpkr_result *first[3] = { NULL }, *r[3];

	for (size_t i = 0; i < n; i++)
		in[i] = &w->in[i].tensor;
	w->failures = mpkr_call(w->f, in, n, first, 3, &count, NULL) != MPKR_OK;
	for (int i = 0; i < 300 && !w->failures; i++) {
		if (mpkr_call(w->f, in, n, r, 3, &count, NULL) != MPKR_OK) {
			w->failures++;
			break;
		}
		for (size_t k = 0; k < count; k++) {
			w->failures +=
				*(float *)r[k]->tensor.data != *(float *)first[k]->tensor.data;
			mpkr_free(r[k]);
		}
	}
	for (size_t k = 0; k < 3 && first[k]; k++)
		mpkr_free(first[k]);
	return NULL;
}

/* Two threads with a session each, and two that share one. */
START_TEST(sessions_side_by_side)
{
	const struct model *m = &models[_i];
	struct worker workers[4];
	pthread_t threads[4];
	mpkr_model *model;

	NEED_FIXTURES;
	ck_ok(mpkr_open(data_path(m->path), NULL, &model, &err));
	workers[0].f = find_or_skip(m, model);
	if (!workers[0].f)
		SKIP_TEST("%s", err.text);
	ck_ok(mpkr_session(workers[0].f, &workers[1].f, &err));
	ck_ok(mpkr_session(workers[1].f, &workers[2].f, &err));
	workers[3].f = workers[2].f;
	mpkr_close(model);
	for (int i = 0; i < 4; i++) {
		workers[i].m = m;
		for (size_t k = 0; k < count_names(m->in); k++)
			array_load(&workers[i].in[k], m->in[k], i % 2);
		ck_assert_int_eq(pthread_create(&threads[i], NULL, call_often, &workers[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
		ck_assert_uint_eq(workers[i].failures, 0);
		for (size_t k = 0; k < count_names(m->in); k++)
			array_free(&workers[i].in[k]);
	}
	call_model(m, workers[1].f, true);
	for (int i = 0; i < 3; i++)
		mpkr_drop(workers[i].f);
}
END_TEST

static long resident_pages(void)
{
	long all, resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	ck_assert_int_eq(fscanf(f, "%ld %ld", &all, &resident), 2);
	fclose(f);
	return resident;
}

/* Inputs that are copied, and a result that is kept over the next call. */
START_TEST(many_calls_take_no_more_memory)
{
	const struct model *m = &models[_i];
	struct array in[3];
	const struct mpkr_tensor *ins[3];
	struct mpkr_result *kept[3] = { NULL }, *r[3];
	size_t n = count_names(m->in), count;
	long before = 0;
	mpkr_function *f;

	NEED_FIXTURES;
	f = find_in(m->path, m->function);
	for (size_t i = 0; i < n; i++) {
		array_load(&in[i], m->in[i], false);
		ins[i] = &in[i].tensor;
	}
	for (int i = 0; i < 20000; i++) {
		ck_ok(mpkr_call(f, ins, n, r, 3, &count, &err));
		for (size_t k = 0; k < count; k++) {
			mpkr_free(kept[k]);
			kept[k] = r[k];
		}
		if (i == 1000)
			before = resident_pages();
	}
	/* a sanitizer keeps what was freed */
	if (!MPK_IS_SANITIZED)
		ck_assert_int_le(resident_pages(), before + 64);
	for (size_t k = 0; k < count; k++) {
		check_result(kept[k], m->out[k]);
		mpkr_free(kept[k]);
	}
	for (size_t i = 0; i < n; i++)
		array_free(&in[i]);
	mpkr_drop(f);
}
END_TEST

/* --- errors ----------------------------------------------------------------------------------- */

START_TEST(files_that_are_none)
{
	struct mpkr_options options = { .size = sizeof options };
	mpkr_model *model = (mpkr_model *)&err;

	ck_fails(mpkr_open("/no/such.so", NULL, &model, &err), MPKR_E_IO, "/no/such.so");
	ck_fails(mpkr_open("tests/data/README.md", NULL, &model, &err), MPKR_E_LOAD, "README.md");
	ck_fails(mpkr_open("tests/data/objects/host.arm64.o", NULL, &model, &err), MPKR_E_LOAD,
		 "host.arm64.o");
	ck_fails(mpkr_open(NULL, NULL, &model, &err), MPKR_E_USAGE, "NULL");
	ck_fails(mpkr_open_memory("\177ELF", 4, NULL, &model, &err), MPKR_E_CORRUPT, "");
	options.size = 4;
	ck_fails(mpkr_open("x", &options, &model, &err), MPKR_E_USAGE, "4 bytes");
	options.size = sizeof options + 64;
	options.flags = 8;
	ck_fails(mpkr_open("x", &options, &model, &err), MPKR_E_USAGE, "flags");
	options.flags = 0;
	options.device.device_type = 77;
	ck_fails(mpkr_open("x", &options, &model, &err), MPKR_E_USAGE, "type 77");
	options.device.device_type = MPKR_DEVICE_CPU;
	ck_fails(mpkr_open("/no/such.so", &options, &model, &err), MPKR_E_IO, "/no/such.so");
	/* an error that nobody asks for; *model is as it was */
	ck_assert_int_eq(mpkr_open("/no/such.so", NULL, &model, NULL), MPKR_E_IO);
	ck_assert_ptr_eq(model, &err);
	mpkr_close(NULL);
	mpkr_drop(NULL);
	mpkr_free(NULL);
}
END_TEST

/* A caller of the first release has fewer options, and what lies after them is his own. */
START_TEST(options_grow)
{
	struct mpkr_options options = { .size = sizeof options, .tvm_ffi = "/no/such" };
	const char *path = data_path("ffi/ffi_cpp.so");
	mpkr_model *model = NULL;

	NEED_FIXTURES;
	ck_fails(mpkr_open(path, &options, &model, &err), MPKR_E_LOAD,
		 "the one named cannot be opened: /no/such");
	options.size = offsetof(struct mpkr_options, tvm_ffi);
	if (mpkr_open(path, &options, &model, &err) != MPKR_OK)
		ck_assert_ptr_nonnull(strstr(err.text, "libtvm_ffi.so, looked for in"));
	mpkr_close(model);
}
END_TEST

START_TEST(devices_that_are_not_there)
{
	struct mpkr_options options = { .size = sizeof options,
					.device = { MPKR_DEVICE_CUDA, 4321 } };
	mpkr_model *model;
	mpkr_function *f;

	NEED_FIXTURES;
	ck_ok(mpkr_open(data_path("relax/gelu.so"), &options, &model, &err));
	ck_fails(mpkr_find(model, "forward", &f, &err), MPKR_E_DEVICE, "");
	/* it is listed all the same */
	ck_assert_str_eq(mpkr_function_name(model, 0), "forward");
	ck_assert_str_eq(mpkr_function_signature(model, 0), "forward(...)");
	mpkr_close(model);
}
END_TEST

/* What is cut off is refused, by path and from memory, before anything of it runs. */
START_TEST(files_that_are_cut_off)
{
	const struct model *m = &models[_i];
	struct mpk_span file;
	struct guarded g;
	mpkr_model *model;

	NEED_FIXTURES;
	file = fixture_load(m->path);
	g = guarded_create(file.len);
	for (size_t len = 0; len < file.len; len += 1 + len / 7) {
		struct mpk_span cut = guarded_put(&g, mpk_span_of(file.data, len));
		int code = mpkr_open_memory(cut.data, cut.len, NULL, &model, &err);

		/* a section table behind all that is loaded may be missing */
		if (code == MPKR_OK) {
			ck_assert_uint_gt(len, file.len / 2);
			mpkr_close(model);
			continue;
		}
		ck_assert_msg(code == MPKR_E_LOAD || code == MPKR_E_CORRUPT, "%d: %s", code,
			      err.text);
	}
	guarded_free(&g);
	fixture_free(file);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("run_library");
	TCase *tc = tcase_create("mpk/run.h");
	int count = (int)MPK_ARRAY_COUNT(models);

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, models_give_what_tvm_computed, 0, count);
	tcase_add_loop_test(tc, results_outlive_functions_and_models, 0, count);
	tcase_add_test(tc, functions_are_listed);
	tcase_add_loop_test(tc, bound_parameters_are_no_inputs, 0, 3);
	tcase_add_loop_test(tc, weights_without_names_of_inputs, 0, 4);
	tcase_add_loop_test(tc, extents_of_one_name_are_two, 0, 2);
	tcase_add_loop_test(tc, sessions_side_by_side, 0, count);
	tcase_add_loop_test(tc, many_calls_take_no_more_memory, 0, 7);
	tcase_add_test(tc, files_that_are_none);
	tcase_add_test(tc, options_grow);
	tcase_add_test(tc, devices_that_are_not_there);
	tcase_add_loop_test(tc, files_that_are_cut_off, 0, 7);
	suite_add_tcase(s, tc);

	SRunner *runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
