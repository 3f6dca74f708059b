/* SPDX-License-Identifier: Apache-2.0 */
/* Models of every executor, loaded, run and unloaded a thousand times, and several at once: neither
 * memory nor descriptors nor mappings may grow, and no thread may meet another. The files are TVM's. */
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>

#include "executor/executor.h"
#include "kinds.h"
#include "library/internal/library.h"
#include "module_made.h"
#include "npy/npy.h"
#include "program/model.h"
#include "runtime/library.h"
#include "skip.h"
#include "value/tensor.h"

enum { CYCLES = 1000, WARM = 1000, THREAD_CYCLES = 100, VALUES_MAX = 2 };

struct fixture {
	const char *folder, *file, *function;
	const char *inputs[VALUES_MAX], *outputs[VALUES_MAX];
};

static const struct fixture fixtures[] = {
	{ "relax", "gelu_dyn", "forward", { "gelu_dyn.in0" }, { "gelu_dyn.out0" } },
	{ "relax",
	  "twoout_dyn",
	  "forward",
	  { "twoout_dyn.in0" },
	  { "twoout_dyn.out0", "twoout_dyn.out1" } },
	{ "legacy",
	  "mlp_llvm",
	  "default",
	  { "mlp.data", "mlp.extra" },
	  { "mlp_llvm.out0", "mlp_llvm.out1" } },
	{ "legacy",
	  "mlp_aot",
	  "default",
	  { "mlp.data", "mlp.extra" },
	  { "mlp_llvm.out0", "mlp_llvm.out1" } },
	{ "legacy",
	  "mlp_vm",
	  "main",
	  { "mlp.data", "mlp.extra" },
	  { "mlp_llvm.out0", "mlp_llvm.out1" } },
};

/* --- a model ------------------------------------------------------------------------------- */

struct model {
	const struct fixture *fixture;
	struct mpk_host_code code; /* opened many times */
	void (*release)(void *owner);
	struct mpk_runtime_options options;
	struct mpk_value inputs[VALUES_MAX], outputs[VALUES_MAX];
	size_t input_count, output_count;
};

static size_t read_tensors(const struct fixture *f, const char *const *names, struct mpk_value *out)
{
	struct mpk_error err = { 0 };
	size_t count = 0;

	for (; count < VALUES_MAX && names[count]; count++) {
		struct mpk_span file;
		struct mpk_npy npy;
		char path[128];

		(void)snprintf(path, sizeof path, "%s/%s.npy", f->folder, names[count]);
		file = fixture_load(path);
		ck_assert_ok(mpk_npy_read(file, &npy, &err), err);
		ck_assert_ok(mpk_tensor_create(npy.dtype, npy.shape, npy.ndim, MPK_STORAGE_PRIVATE,
					       &out[count].tensor, &err),
			     err);
		out[count].kind = MPK_VALUE_TENSOR;
		memcpy(out[count].tensor->dl.data, npy.data.data, (size_t)out[count].tensor->bytes);
		fixture_free(file);
	}
	return count;
}

static void model_open(struct model *m, const struct fixture *f)
{
	struct mpk_library_file *file;
	struct mpk_error err = { 0 };
	char path[4100];

	*m = (struct model){ .fixture = f };
	(void)snprintf(path, sizeof path, "tests/data/%s/%s.so", f->folder, f->file);
	ck_assert_ok(mpk_library_file_open(path, (struct mpk_span){ 0 }, NULL, &file, &err), err);
	m->code = *mpk_library_file_code(file);
	m->release = m->code.release;
	m->code.release = NULL;
	m->input_count = read_tensors(f, f->inputs, m->inputs);
	m->output_count = read_tensors(f, f->outputs, m->outputs);
}

static void model_close(struct model *m)
{
	for (size_t i = 0; i < VALUES_MAX; i++) {
		mpk_value_drop(&m->inputs[i]);
		mpk_value_drop(&m->outputs[i]);
	}
	m->release(m->code.owner);
}

/* Whether a result is what is expected. Check's assertions are for the main thread. */
static bool is_right(const struct mpk_value *result, const struct model *m)
{
	for (size_t i = 0; i < m->output_count; i++) {
		const struct mpk_value *got = result;
		const struct mpk_tensor *want = m->outputs[i].tensor;

		if (result->kind == MPK_VALUE_ARRAY)
			got = &result->array->items[i];
		if (got->kind != MPK_VALUE_TENSOR || got->tensor->bytes != want->bytes)
			return false;
		for (uint64_t k = 0; k < mpk_tensor_count(want); k++) {
			float a = ((float *)got->tensor->dl.data)[k];
			float b = ((float *)want->dl.data)[k];

			if (!(a - b < 1e-5F && b - a < 1e-5F))
				return false;
		}
	}
	return true;
}

static bool call(struct mpk_library *library, const struct model *m, struct mpk_error *err)
{
	const struct mpk_args args = { m->inputs, NULL, m->input_count };
	struct mpk_function *f = NULL;
	bool right = mpk_library_find(library, m->fixture->function, &f, err) == MPK_OK;

	/* as byte code, recorded, by its plan */
	for (int i = 0; right && i < 3; i++) {
		struct mpk_value result = { 0 };

		right = mpk_function_call(f, &args, &result, err) == MPK_OK && is_right(&result, m);
		mpk_value_drop(&result);
	}
	mpk_function_drop(f);
	return right;
}

/* Load, run, unload. */
static bool cycle(const struct model *m, struct mpk_error *err)
{
	struct mpk_library *library = NULL;
	struct mpk_runtime *runtime = NULL;
	bool right;

	if (mpk_runtime_create(&m->options, &runtime, err) != MPK_OK)
		return false;
	right = mpk_executors_add(runtime, err) == MPK_OK &&
		mpk_library_open(runtime, &m->code, &library, err) == MPK_OK &&
		call(library, m, err);
	mpk_library_close(library);
	mpk_runtime_destroy(runtime);
	return right;
}

/* --- what is held -------------------------------------------------------------------------- */

struct held {
	size_t heap, descriptors, mappings;
};

static size_t count_entries(const char *path)
{
	DIR *d = opendir(path);
	size_t count = 0;

	ck_assert_ptr_nonnull(d);
	while (readdir(d))
		count++;
	closedir(d);
	return count;
}

/* Of files: those of memory are malloc's matter. */
static size_t count_mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	size_t count = 0;
	int c;

	ck_assert_ptr_nonnull(f);
	for (bool path = false; (c = fgetc(f)) != EOF; path = c != '\n' && (path || c == '/'))
		count += c == '\n' && path;
	fclose(f);
	return count;
}

static struct held held_now(void)
{
	struct held h = { .descriptors = count_entries("/proc/self/fd"),
			  .mappings = count_mappings() };
/* a sanitizer has its own heap, whose leaks it tells itself when the test ends */
#ifdef __GLIBC__ /* since 2.33, which all that we build on have */
	struct mallinfo2 info = mallinfo2();

	h.heap = info.uordblks + info.hblkhd;
#endif
	return h;
}

static struct held after(struct model *m, int cycles)
{
	struct mpk_error err = { 0 };

	for (int i = 0; i < cycles; i++)
		ck_assert_msg(cycle(m, &err), "cycle %d: %s", i, err.text);
	return held_now();
}

/* Malloc's caches fill up slowly, which is what the first thousand are for, and take a piece more now
 * and then. But the smallest piece that it gives out takes 32 bytes: one that each cycle left behind
 * would be more than this in every thousand. */
START_TEST(a_thousand_times)
{
	struct held before, now;
	struct model m;
	int rounds = 0;

	if (!FIXTURES_RUN_HERE)
		SKIP_TEST("the models are libraries for x86-64");
	model_open(&m, &fixtures[_i]);
	now = after(&m, WARM);
	do {
		before = now;
		now = after(&m, CYCLES);
		ck_assert_uint_eq(now.descriptors, before.descriptors);
		ck_assert_uint_eq(now.mappings, before.mappings);
	} while (now.heap >= before.heap + 24 * CYCLES && ++rounds < 3);
	ck_assert_msg(rounds < 3, "%zu bytes, then %zu", before.heap, now.heap);
	model_close(&m);
}
END_TEST

/* --- at once ------------------------------------------------------------------------------- */

struct worker {
	struct model model;
	struct mpk_error err;
	pthread_t thread;
	int cycles; /* that went well */
};

static void *work(void *arg)
{
	struct worker *w = arg;

	while (w->cycles < THREAD_CYCLES && cycle(&w->model, &w->err))
		w->cycles++;
	return NULL;
}

/* A model a thread, of all executors, each loaded and unloaded while the others run. */
START_TEST(several_at_once)
{
	static struct worker workers[MPK_ARRAY_COUNT(fixtures)];

	if (!FIXTURES_RUN_HERE)
		SKIP_TEST("the models are libraries for x86-64");
	for (size_t i = 0; i < MPK_ARRAY_COUNT(fixtures); i++)
		model_open(&workers[i].model, &fixtures[i]);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(fixtures); i++)
		ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(fixtures); i++)
		ck_assert_int_eq(pthread_join(workers[i].thread, NULL), 0);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(fixtures); i++) {
		ck_assert_msg(workers[i].cycles == THREAD_CYCLES, "%s: %s", fixtures[i].file,
			      workers[i].err.text);
		model_close(&workers[i].model);
	}
}
END_TEST

/* What lists a library goes by the role of a kind, what runs it by the executors. */
START_TEST(each_kind_of_model_has_an_executor)
{
	const struct mpk_kind *k;

	for (size_t i = 0; (k = &mpk_kinds[i])->name; i++)
		ck_assert_msg(mpk_model_is_kind(mpk_span_str(k->name)) ==
				      mpk_executors_have(mpk_span_str(k->name)),
			      "%s", k->name);
	ck_assert(mpk_model_is_kind(mpk_span_str("VMExecutable")));
	ck_assert(!mpk_model_is_kind(mpk_span_str("nobody")));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("model_cycles");
	TCase *tc = tcase_create("model_cycles");
	SRunner *r = srunner_create(s);

	tcase_set_timeout(tc, 300);
	tcase_add_loop_test(tc, a_thousand_times, 0, MPK_ARRAY_COUNT(fixtures));
	tcase_add_test(tc, each_kind_of_model_has_an_executor);
	tcase_add_test(tc, several_at_once);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
