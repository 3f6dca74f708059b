/* SPDX-License-Identifier: Apache-2.0 */
/* libmpk-run with memory and threads of the caller: allocators that count, budgets, parallel loops, and what a model says
 * of its memory */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run_models.h"

/* --- an allocator that counts ------------------------------------------------------------------- */

static atomic_llong live, most, blocks; /* bytes now and at most; blocks now */
static atomic_int taken;                /* how often */

/* Stands before the memory. */
struct counted {
	size_t bytes, align;
};

static void *count_allocate(void *context, struct mpkr_device device, size_t bytes, size_t align)
{
	struct counted *c;
	void *memory;
	long long now;

	ck_assert_ptr_eq(context, &live);
	ck_assert_int_eq(device.device_type, MPKR_DEVICE_CPU);
	ck_assert_uint_gt(bytes, 0);
	ck_assert_msg(align >= 64 && (align & (align - 1)) == 0, "align %zu", align);
	if (posix_memalign(&memory, align, bytes + align) != 0)
		return NULL;
	memset(memory, 0xa5, bytes + align);
	c = memory;
	*c = (struct counted){ bytes, align };
	now = atomic_fetch_add(&live, (long long)bytes) + (long long)bytes;
	for (long long before = most; before < now;)
		if (atomic_compare_exchange_weak(&most, &before, now))
			break;
	atomic_fetch_add(&blocks, 1);
	atomic_fetch_add(&taken, 1);
	return (char *)memory + align;
}

static void count_release(void *context, struct mpkr_device device, void *data, size_t bytes)
{
	/* the alignment is not told again: each of a block's has its own head */
	struct counted *c = (struct counted *)(void *)((char *)data - 128);

	ck_assert_ptr_eq(context, &live);
	ck_assert_int_eq(device.device_type, MPKR_DEVICE_CPU);
	ck_assert_uint_eq(c->align, 128);
	ck_assert_uint_eq(c->bytes, bytes);
	atomic_fetch_sub(&live, (long long)bytes);
	atomic_fetch_sub(&blocks, 1);
	free(c);
}

static const struct mpkr_memory counting = { .size = sizeof counting,
					     .allocate = count_allocate,
					     .release = count_release,
					     .context = &live };

static void forget_counts(void)
{
	atomic_store(&live, 0);
	atomic_store(&most, 0);
	atomic_store(&blocks, 0);
	atomic_store(&taken, 0);
}

static struct mpkr_usage usage_of(mpkr_model *model)
{
	struct mpkr_usage u = { .size = sizeof u };

	ck_ok(mpkr_memory_now(model, MPKR_DEVICE_CPU, &u, &err));
	ck_assert_uint_eq(u.used_bytes,
			  u.weight_bytes + u.cache_bytes + u.scratch_bytes + u.kept_bytes);
	ck_assert_uint_le(u.used_bytes, u.most_bytes);
	return u;
}

/* All that a model takes comes from the caller, and goes back to him. */
START_TEST(memory_of_the_caller)
{
	const struct mpkr_options options = { .size = sizeof options, .host_memory = &counting };
	const struct model *m = &models[_i];
	struct mpkr_usage u;
	mpkr_model *model;
	mpkr_function *f;

	NEED_FIXTURES;
	if (m->on_device)
		SKIP_TEST("the device is another test's");
	forget_counts();
	ck_ok(mpkr_open(data_path(m->path), &options, &model, &err));
	ck_ok(mpkr_find(model, m->function, &f, &err));
	for (int i = 0; i < 5; i++)
		call_model(m, f, i % 2);
	u = usage_of(model);
	ck_assert_int_gt(taken, 0);
	ck_assert_uint_eq(u.used_bytes, (uint64_t)live);
	ck_assert_uint_eq(u.most_bytes, (uint64_t)most);
	mpkr_memory_trim(model);
	ck_assert_uint_eq(usage_of(model).kept_bytes, 0);
	call_model(m, f, true);
	mpkr_drop(f);
	mpkr_close(model);
	ck_assert_int_eq(blocks, 0);
	ck_assert_int_eq(live, 0);
}
END_TEST

/* Results outlive the model, and so does their memory. */
START_TEST(results_go_back_to_the_caller)
{
	const struct mpkr_options options = { .size = sizeof options, .host_memory = &counting };
	const struct mpkr_tensor *in[1];
	struct mpkr_result *result;
	struct array x;
	mpkr_model *model;
	mpkr_function *f;
	mpkr_value *value;
	size_t count;

	NEED_FIXTURES;
	forget_counts();
	array_load(&x, "relax/gelu.in0.npy", false);
	in[0] = &x.tensor;
	ck_ok(mpkr_open(data_path("relax/gelu.so"), &options, &model, &err));
	ck_ok(mpkr_find(model, "forward", &f, &err));
	ck_ok(mpkr_call(f, in, 1, &result, 1, &count, &err));
	ck_ok(mpkr_value_make(model, MPKR_KIND_TENSOR, &x.tensor, &value, &err));
	mpkr_drop(f);
	mpkr_close(model);
	check_result(result, "relax/gelu.out0.npy");
	ck_assert_int_ge(blocks, 2);
	mpkr_free(result);
	ck_assert_int_ge(blocks, 1);
	mpkr_value_drop(value);
	ck_assert_int_eq(blocks, 0);
	array_free(&x);
}
END_TEST

static int left; /* allocations until none is given any more */

static void *scarce_allocate(void *context, struct mpkr_device device, size_t bytes, size_t align)
{
	return left-- > 0 ? count_allocate(context, device, bytes, align) : NULL;
}

/* What the caller does not give is no memory, and nothing else. */
START_TEST(allocators_that_fail)
{
	const struct mpkr_memory scarce = { .size = sizeof scarce,
					    .allocate = scarce_allocate,
					    .release = count_release,
					    .context = &live };
	const struct mpkr_options options = { .size = sizeof options, .host_memory = &scarce };
	const struct model *m = &models[_i];
	const struct mpkr_tensor *in[3];
	struct mpkr_result *results[3];
	struct array arrays[3];
	size_t n = count_names(m->in), count;
	mpkr_model *model;
	mpkr_function *f;
	int failures = 0;

	NEED_FIXTURES;
	if (m->on_device)
		SKIP_TEST("the device is another test's");
	for (size_t i = 0; i < n; i++) {
		array_load(&arrays[i], m->in[i], false);
		in[i] = &arrays[i].tensor;
	}
	for (int given = 0;; given++) {
		int code;

		forget_counts();
		left = given;
		ck_ok(mpkr_open(data_path(m->path), &options, &model, &err));
		code = mpkr_find(model, m->function, &f, &err);
		if (code == MPKR_OK) {
			code = mpkr_call(f, in, n, results, 3, &count, &err);
			for (size_t i = 0; code == MPKR_OK && i < count; i++)
				mpkr_free(results[i]);
			if (code != MPKR_OK) {
				left = 1 << 20;
				call_model(m, f, true);
			}
			mpkr_drop(f);
		}
		mpkr_close(model);
		ck_assert_int_eq(blocks, 0);
		if (code == MPKR_OK)
			break;
		failures++;
		ck_assert_msg(code == MPKR_E_NO_MEMORY, "%d allocations: %d: %s", given, code,
			      err.text);
	}
	ck_assert_int_gt(failures, 0);
	for (size_t i = 0; i < n; i++)
		array_free(&arrays[i]);
}
END_TEST

/* --- budgets ---------------------------------------------------------------------------------------- */

/* Two calls with so many bytes. */
static int run_within(const struct model *m, uint64_t budget)
{
	const struct mpkr_memory memory = { .size = sizeof memory, .budget = budget };
	const struct mpkr_options options = { .size = sizeof options, .host_memory = &memory };
	size_t n = count_names(m->in), count;
	const struct mpkr_tensor *in[3];
	struct mpkr_result *results[3];
	struct array arrays[3];
	mpkr_model *model;
	mpkr_function *f;
	int code;

	for (size_t i = 0; i < n; i++) {
		array_load(&arrays[i], m->in[i], false);
		in[i] = &arrays[i].tensor;
	}
	ck_ok(mpkr_open(data_path(m->path), &options, &model, &err));
	code = mpkr_find(model, m->function, &f, &err);
	for (int k = 0; k < 2 && code == MPKR_OK; k++) {
		code = mpkr_call(f, in, n, results, 3, &count, &err);
		for (size_t i = 0; code == MPKR_OK && i < count; i++) {
			check_result(results[i], m->out[i]);
			mpkr_free(results[i]);
		}
		if (k == 1 || code != MPKR_OK)
			mpkr_drop(f);
	}
	ck_assert_uint_le(usage_of(model).most_bytes, budget);
	mpkr_close(model);
	for (size_t i = 0; i < n; i++)
		array_free(&arrays[i]);
	return code;
}

/* There is one number of bytes that does, and with one byte less it does not. */
START_TEST(a_byte_too_few)
{
	const struct model *m = &models[_i];
	uint64_t low = 0, high = 64 << 20; /* fails; does */

	NEED_FIXTURES;
	if (m->on_device)
		SKIP_TEST("the device is another test's");
	ck_assert_int_eq(run_within(m, high), MPKR_OK);
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;
		int code = run_within(m, middle);

		ck_assert_msg(code == MPKR_OK || code == MPKR_E_BUDGET, "%llu: %d: %s",
			      (unsigned long long)middle, code, err.text);
		if (code == MPKR_OK)
			high = middle;
		else
			low = middle;
	}
	ck_assert_uint_gt(high, 1);
	ck_assert_int_eq(run_within(m, high - 1), MPKR_E_BUDGET);
	ck_assert_ptr_nonnull(strstr(err.text, "budget"));
	ck_assert_int_eq(run_within(m, high), MPKR_OK);
}
END_TEST

/* Who asks for too much can go on with less. */
START_TEST(calls_after_one_that_was_too_large)
{
	const struct mpkr_memory memory = { .size = sizeof memory, .budget = 1 << 20 };
	const struct mpkr_options options = { .size = sizeof options, .host_memory = &memory };
	const struct model *m = &models[1];
	int64_t large[2] = { 1 << 20, 24 };
	static float rows[24];
	int64_t strides[2] = { 0, 1 };
	struct mpkr_tensor x = mpkr_tensor_on_host(rows, MPKR_DTYPE_FLOAT, 32, 2, large);
	const struct mpkr_tensor *in[1] = { &x };
	struct mpkr_result *result;
	struct mpkr_type t;
	mpkr_model *model;
	mpkr_function *f;
	mpkr_value *value;
	size_t count;

	NEED_FIXTURES;
	ck_assert_str_eq(m->path, "relax/gelu_dyn.so");
	ck_ok(mpkr_open(data_path(m->path), &options, &model, &err));
	ck_ok(mpkr_find(model, m->function, &f, &err));
	ck_ok(mpkr_input(f, 0, &t));
	ck_assert_int_eq(t.ndim, 2);
	large[1] = t.shape[1];
	x.strides = strides;
	ck_fails(mpkr_call(f, in, 1, &result, 1, &count, &err), MPKR_E_BUDGET, "budget of 1048576");
	ck_fails(mpkr_value_make(model, MPKR_KIND_TENSOR, &x, &value, &err), MPKR_E_BUDGET,
		 "budget");
	call_model(m, f, false);
	mpkr_drop(f);
	mpkr_close(model);
}
END_TEST

/* --- what is wrong ------------------------------------------------------------------------------------ */

START_TEST(options_that_make_no_sense)
{
	struct mpkr_memory memory = { 0 };
	struct mpkr_options options = { .size = sizeof options, .host_memory = &memory };
	struct mpkr_usage u = { 0 };
	struct mpkr_need need = { 0 };
	mpkr_model *model = NULL;

	NEED_FIXTURES;
	ck_fails(mpkr_open(data_path("relax/gelu.so"), &options, &model, &err), MPKR_E_USAGE,
		 "set its size");
	memory.size = sizeof memory;
	memory.allocate = count_allocate;
	ck_fails(mpkr_open(data_path("relax/gelu.so"), &options, &model, &err), MPKR_E_USAGE,
		 "one of allocate and release alone");
	memory.release = count_release;
	options.host_memory = NULL;
	options.device_memory = &memory;
	options.device.device_type = MPKR_DEVICE_OPENCL;
	ck_fails(mpkr_open(data_path("relax/gelu_opencl.so"), &options, &model, &err),
		 MPKR_E_UNSUPPORTED, "no address");
	options.device.device_type = MPKR_DEVICE_CPU;
	ck_ok(mpkr_open(data_path("relax/gelu.so"), &options, &model, &err));
	ck_fails(mpkr_memory_now(model, MPKR_DEVICE_CPU, &u, &err), MPKR_E_USAGE, "size");
	ck_fails(mpkr_memory_need(model, NULL, NULL, 0, &need, &err), MPKR_E_USAGE, "size");
	mpkr_memory_trim(NULL);
	mpkr_close(model);
	ck_assert_ptr_nonnull(model);
}
END_TEST

/* --- what a call will take -------------------------------------------------------------------------------- */

START_TEST(needs_before_a_call)
{
	struct mpkr_extent n = { "n", 0 };
	struct mpkr_need small = { .size = sizeof small }, large = { .size = sizeof large };
	struct mpkr_usage u;
	mpkr_model *model;
	mpkr_function *f;

	NEED_FIXTURES;
	ck_ok(mpkr_open(data_path("relax/gelu_dyn.so"), NULL, &model, &err));
	ck_ok(mpkr_find(model, "forward", &f, &err));
	n.name = mpkr_extent_name(f, 0, 0, 0);
	ck_assert_ptr_nonnull(n.name);
	n.extent = 4;
	ck_ok(mpkr_memory_need(model, "forward", &n, 1, &small, &err));
	n.extent = 400;
	ck_ok(mpkr_memory_need(model, NULL, &n, 1, &large, &err));
	ck_assert_uint_eq(large.input_bytes, 100 * small.input_bytes);
	ck_assert_uint_eq(large.result_bytes, 100 * small.result_bytes);
	ck_assert_uint_eq(large.cache_bytes, 0);
	ck_assert_uint_ge(large.need_bytes,
			  large.weight_bytes + large.input_bytes + large.result_bytes);
	n.extent = -1;
	ck_fails(mpkr_memory_need(model, "forward", &n, 1, &large, &err), MPKR_E_USAGE, "below 0");
	ck_fails(mpkr_memory_need(model, "backward", NULL, 0, &large, &err), MPKR_E_NOT_FOUND,
		 "'backward'");
	call_model(&models[1], f, true);
	u = usage_of(model);
	ck_assert_uint_gt(u.most_bytes, 0);
	mpkr_drop(f);
	mpkr_close(model);

	ck_ok(mpkr_open(data_path("legacy/mlp_llvm.so"), NULL, &model, &err));
	ck_ok(mpkr_memory_need(model, NULL, NULL, 0, &small, &err));
	ck_assert_uint_gt(small.scratch_bytes, 0);
	ck_assert_uint_gt(small.need_bytes, small.input_bytes);
	mpkr_close(model);
	ck_ok(mpkr_open(data_path("legacy/mlp_vm.so"), NULL, &model, &err));
	ck_fails(mpkr_memory_need(model, NULL, NULL, 0, &small, &err), MPKR_E_NOT_FOUND,
		 "does not tell");
	mpkr_close(model);
}
END_TEST

/* What byte code needs is told before it is found, and whether it is there. */
START_TEST(requirements_are_listed)
{
	struct mpkr_requirement r = { .size = sizeof r };
	const char *text = "as before";
	bool has_reshape = false, has_own = false;
	mpkr_model *model;
	size_t count = 0;

	NEED_FIXTURES;
	ck_ok(mpkr_open(data_path("relax/registered.so"), NULL, &model, &err));
	for (; mpkr_requirement_at(model, count, &r, &err) == MPKR_OK; count++) {
		ck_assert_int_eq(r.kind, MPKR_REQUIRES_FUNCTION);
		has_reshape |= strncmp(r.name, "vm.builtin.", 11) == 0 && r.is_met;
		has_own |= strcmp(r.name, "test.vm.identity") == 0 && !r.is_met;
	}
	ck_assert_int_eq(err.code, MPKR_E_NOT_FOUND);
	ck_assert(has_reshape && has_own);
	ck_fails(mpkr_metadata(model, &text, &err), MPKR_E_NOT_FOUND, "_metadata");
	ck_assert_str_eq(text, "as before");
	r.size = 0;
	ck_fails(mpkr_requirement_at(model, 0, &r, &err), MPKR_E_USAGE, "size");
	mpkr_close(model);
	r.size = sizeof r;
	ck_ok(mpkr_open(data_path("relax/gelu_opencl.so"), NULL, &model, &err));
	ck_ok(mpkr_requirement_at(model, 0, &r, &err));
	ck_assert_int_eq(r.kind, MPKR_REQUIRES_DEVICE);
	ck_assert_int_eq(r.device_type, MPKR_DEVICE_OPENCL);
	ck_assert_str_eq(r.name, "opencl");
	ck_assert_int_ne(r.is_met, 0);
	mpkr_close(model);
}
END_TEST

/* A graph and byte code of Relay name kernels of their file, and of nobody else; one that is another's is said. */
START_TEST(older_models_need_functions_too)
{
	static const char *const paths[] = { "legacy/mlp_llvm.so", "legacy/mlp_vm.so" };
	static const char key[] = "func_name\": \"tvmgen_default_fused_sum";
	struct mpkr_requirement r = { .size = sizeof r };
	mpkr_model *model;
	char *copy, *at;
	struct mpk_span file;

	NEED_FIXTURES;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(paths); i++) {
		ck_ok(mpkr_open(data_path(paths[i]), NULL, &model, &err));
		ck_fails(mpkr_requirement_at(model, 0, &r, &err), MPKR_E_NOT_FOUND,
			 "0 requirements");
		mpkr_close(model);
	}
	file = fixture_load("legacy/mlp_llvm.so");
	copy = malloc(file.len);
	ck_assert_ptr_nonnull(copy);
	memcpy(copy, file.data, file.len);
	at = memmem(copy, file.len, key, sizeof key - 1);
	ck_assert_ptr_nonnull(at);
	at[sizeof key - 2] = 'x';
	ck_ok(mpkr_open_memory(copy, file.len, NULL, &model, &err));
	ck_ok(mpkr_requirement_at(model, 0, &r, &err));
	ck_assert_int_eq(r.kind, MPKR_REQUIRES_FUNCTION);
	ck_assert_str_eq(r.name, "tvmgen_default_fused_sux");
	ck_assert_int_eq(r.is_met, 0);
	ck_fails(mpkr_requirement_at(model, 1, &r, &err), MPKR_E_NOT_FOUND, "1 requirements");
	mpkr_close(model);
	free(copy);
	fixture_free(file);
}
END_TEST

/* A caller of this release, and the library of a later one, or the other way round. */
START_TEST(structs_of_other_releases)
{
	union {
		struct mpkr_usage usage;
		unsigned char bytes[2 * sizeof(struct mpkr_usage)];
	} out;
	mpkr_model *model;

	NEED_FIXTURES;
	ck_ok(mpkr_open(data_path("relax/gelu.so"), NULL, &model, &err));
	memset(&out, 0x5a, sizeof out);
	out.usage.size = offsetof(struct mpkr_usage, used_bytes);
	ck_ok(mpkr_memory_now(model, MPKR_DEVICE_CPU, &out.usage, &err));
	ck_assert_uint_eq(out.usage.weight_bytes, 0);
	ck_assert_uint_eq(out.usage.used_bytes, UINT64_C(0x5a5a5a5a5a5a5a5a));
	out.usage.size = sizeof out;
	ck_ok(mpkr_memory_now(model, MPKR_DEVICE_CPU, &out.usage, &err));
	ck_assert_uint_eq(out.usage.used_bytes, 0);
	ck_assert_uint_eq(out.bytes[sizeof out.usage], 0x5a);
	mpkr_close(model);
}
END_TEST

/* --- parallel loops of the caller ---------------------------------------------------------------------- */

static atomic_int loops, tasks;

static void serial_for(void *context, size_t count, void (*task)(void *argument, size_t i),
		       void *argument)
{
	ck_assert_ptr_eq(context, &loops);
	atomic_fetch_add(&loops, 1);
	for (size_t i = count; i-- > 0;) {
		atomic_fetch_add(&tasks, 1);
		task(argument, i);
	}
}

struct work {
	void (*task)(void *argument, size_t i);
	void *argument;
	size_t i;
};

static void *work_in_thread(void *argument)
{
	const struct work *w = argument;

	w->task(w->argument, w->i);
	return NULL;
}

static void threaded_for(void *context, size_t count, void (*task)(void *argument, size_t i),
			 void *argument)
{
	struct work works[16];
	pthread_t threads[16];

	ck_assert_ptr_eq(context, &loops);
	ck_assert_uint_le(count, 16);
	atomic_fetch_add(&loops, 1);
	for (size_t i = 0; i < count; i++) {
		works[i] = (struct work){ task, argument, i };
		ck_assert_int_eq(pthread_create(&threads[i], NULL, work_in_thread, &works[i]), 0);
	}
	for (size_t i = 0; i < count; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	atomic_fetch_add(&tasks, (int)count);
}

static void run_loops(struct mpkr_options *options)
{
	mpkr_model *model;
	mpkr_function *f;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(models); i++) {
		if (models[i].on_device)
			continue;
		ck_ok(mpkr_open(data_path(models[i].path), options, &model, &err));
		ck_ok(mpkr_find(model, models[i].function, &f, &err));
		for (int k = 0; k < 3; k++)
			call_model(&models[i], f, k % 2);
		mpkr_drop(f);
		mpkr_close(model);
	}
}

START_TEST(loops_on_threads_of_the_caller)
{
	struct mpkr_options options = { .size = sizeof options,
					.threads = 5,
					.parallel_for = serial_for,
					.parallel_context = &loops };

	NEED_FIXTURES;
	run_loops(&options);
	ck_assert_int_gt(loops, 0);
	ck_assert_int_eq(tasks, 5 * loops);
	loops = tasks = 0;
	options.parallel_for = threaded_for;
	options.host_memory = &counting;
	forget_counts();
	run_loops(&options);
	ck_assert_int_gt(loops, 0);
	ck_assert_int_eq(tasks, 5 * loops);
	ck_assert_int_eq(blocks, 0);
	loops = 0;
	options.threads = 1;
	run_loops(&options);
	ck_assert_int_eq(loops, 0);
}
END_TEST

/* --- threads and processes --------------------------------------------------------------------------- */

static void *use_session(void *argument)
{
	mpkr_function *own;

	if (mpkr_session(argument, &own, NULL) != MPKR_OK)
		return argument;
	for (int i = 0; i < 200; i++)
		call_model(&models[0], own, i % 2);
	mpkr_drop(own);
	return NULL;
}

START_TEST(sessions_and_children)
{
	const struct mpkr_options options = { .size = sizeof options, .host_memory = &counting };
	pthread_t threads[4];
	mpkr_model *model;
	mpkr_function *f;
	int status;
	pid_t child;

	NEED_FIXTURES;
	forget_counts();
	ck_ok(mpkr_open(data_path(models[0].path), &options, &model, &err));
	ck_ok(mpkr_find(model, models[0].function, &f, &err));
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, use_session, f), 0);
	for (int i = 0; i < 4; i++) {
		void *failed;

		ck_assert_int_eq(pthread_join(threads[i], &failed), 0);
		ck_assert_ptr_null(failed);
	}
	ck_assert_uint_eq(usage_of(model).used_bytes, (uint64_t)live);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (!child) {
		call_model(&models[0], f, true);
		mpkr_drop(f);
		mpkr_close(model);
		_exit(blocks == 0 && live == 0 ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	call_model(&models[0], f, false);
	mpkr_drop(f);
	mpkr_close(model);
	ck_assert_int_eq(blocks, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("run_caller");
	TCase *tc = tcase_create("mpk/run.h");
	int count = (int)MPK_ARRAY_COUNT(models);

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, memory_of_the_caller, 0, count);
	tcase_add_test(tc, results_go_back_to_the_caller);
	tcase_add_loop_test(tc, allocators_that_fail, 0, count);
	tcase_add_loop_test(tc, a_byte_too_few, 0, count);
	tcase_add_test(tc, calls_after_one_that_was_too_large);
	tcase_add_test(tc, options_that_make_no_sense);
	tcase_add_test(tc, needs_before_a_call);
	tcase_add_test(tc, requirements_are_listed);
	tcase_add_test(tc, older_models_need_functions_too);
	tcase_add_test(tc, structs_of_other_releases);
	tcase_add_test(tc, loops_on_threads_of_the_caller);
	tcase_add_test(tc, sessions_and_children);
	suite_add_tcase(s, tc);

	SRunner *runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
