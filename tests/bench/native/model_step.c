/* SPDX-License-Identifier: Apache-2.0 */
/* model_step LIBRARY FUNCTION STEPS LENGTHS EXTENT... - what a step of a model costs here
 *
 * Loads LIBRARY and calls FUNCTION with one float32 tensor of the EXTENTs; `n` among them stands
 * for 1 to LENGTHS in turn. Prints: nanoseconds of loading, resident KiB then, nanoseconds of the
 * first call, of the median call, of the median of its kernels called bare, with the same arguments
 * in the same order, and resident KiB at the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "executor/executor.h"
#include "executor/plan/internal/plans.h"
#include "executor/relax/internal/relax.h"
#include "library/internal/library.h"
#include "runtime/library.h"

enum { WARMUP_MAX = 1000 };

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *times, size_t count)
{
	qsort(times, count, sizeof *times, compare);
	return times[count / 2];
}

static void need(enum mpk_code code, const struct mpk_error *err)
{
	if (code == MPK_OK)
		return;
	(void)fprintf(stderr, "model_step: %s\n", err->text);
	exit(1);
}

static long resident(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long pages = 0;

	if (f) {
		if (fscanf(f, "%*d %ld", &pages) != 1)
			pages = 0;
		(void)fclose(f);
	}
	return pages * 4;
}

/* One input of each length. */
static struct mpk_value *make_inputs(char **extents, size_t ndim, int64_t lengths)
{
	static const struct mpk_dtype f32 = { MPK_DTYPE_FLOAT, 32, 1 };
	struct mpk_value *inputs = calloc((size_t)lengths, sizeof *inputs);
	struct mpk_error err = { 0 };

	for (int64_t n = 1; n <= lengths; n++) {
		int64_t shape[8];
		struct mpk_tensor *t;

		for (size_t i = 0; i < ndim; i++)
			shape[i] = strcmp(extents[i], "n") == 0 ? n : atoll(extents[i]);
		need(mpk_tensor_create(f32, shape, ndim, MPK_STORAGE_PRIVATE, &t, &err), &err);
		for (uint64_t i = 0; i < mpk_tensor_count(t); i++)
			((float *)t->dl.data)[i] = (float)(i % 13) * 0.1f - 0.5f;
		inputs[n - 1] = mpk_value_of_tensor(t);
	}
	return inputs;
}

static double time_step(struct mpk_function *f, const struct mpk_value *input)
{
	struct mpk_args args = { input, NULL, 1 };
	struct mpk_value result = { 0 };
	struct mpk_error err = { 0 };
	double start = now();

	need(mpk_function_call(f, &args, &result, &err), &err);
	mpk_value_drop(&result);
	return now() - start;
}

static size_t warmup_of(size_t steps)
{
	return steps < WARMUP_MAX ? steps / 2 : WARMUP_MAX;
}

static double time_steps(struct mpk_function *f, const struct mpk_value *inputs, size_t lengths,
			 size_t steps)
{
	size_t warmup = warmup_of(steps);
	double *times = calloc(steps, sizeof *times);

	for (size_t i = 0; i < warmup + steps; i++) {
		double taken = time_step(f, &inputs[i % lengths]);

		if (i >= warmup)
			times[i - warmup] = taken;
	}
	return median(times, steps);
}

/* The kernels of the plan that ran last, in a row. */
static double time_kernels(const struct mpk_plan_tape *tape)
{
	double start = now();

	for (size_t i = 0; i < tape->step_count; i++) {
		const struct mpk_packed *p = &tape->steps[i].packed;
		struct mpk_ffi_any result = { 0 };

		(void)MPK_CODE(mpk_ffi_safe_call, tape->steps[i].function->address)(
			NULL, p->cells, (int32_t)p->count, &result);
	}
	return now() - start;
}

static const struct mpk_plan_tape *tape_run_last(const struct mpk_plans *plans)
{
	const struct mpk_plan *last = NULL;

	for (size_t i = 0; i < MPK_PLANS_MAX; i++)
		if (plans->items[i] && (!last || plans->items[i]->used > last->used))
			last = plans->items[i];
	return last ? last->tape : NULL;
}

/* Each after a step, whose arguments are then in place. */
static double time_bare(struct mpk_relax_vm *vm, struct mpk_function *f,
			const struct mpk_value *inputs, size_t lengths, size_t steps)
{
	size_t warmup = warmup_of(steps);
	double *times = calloc(steps, sizeof *times);

	for (size_t i = 0; i < warmup + steps; i++) {
		const struct mpk_plan_tape *tape;
		struct mpk_context before;

		(void)time_step(f, &inputs[i % lengths]);
		tape = tape_run_last(vm->plans);
		if (!tape)
			return 0;
		before = mpk_context_swap(vm->program->base.context);
		if (i >= warmup)
			times[i - warmup] = time_kernels(tape);
		(void)mpk_context_swap(before);
	}
	return median(times, steps);
}

int main(int argc, char **argv)
{
	struct mpk_error err = { 0 };
	struct mpk_runtime *runtime;
	struct mpk_library_file *file;
	struct mpk_library *library;
	struct mpk_function *f;

	if (argc < 5)
		return 2;
	size_t steps = (size_t)atoll(argv[3]), lengths = (size_t)atoll(argv[4]);
	double start = now();

	need(mpk_library_file_open(argv[1], (struct mpk_span){ 0 }, NULL, &file, &err), &err);
	struct mpk_runtime_options runtime_options = { 0 };

	need(mpk_runtime_create(&runtime_options, &runtime, &err), &err);
	need(mpk_executors_add(runtime, &err), &err);
	need(mpk_library_open(runtime, mpk_library_file_code(file), &library, &err), &err);
	need(mpk_library_find(library, argv[2], &f, &err), &err);
	double loaded = now() - start;
	long loaded_size = resident();
	struct mpk_value *inputs = make_inputs(argv + 5, (size_t)argc - 5, (int64_t)lengths);
	double first = time_step(f, &inputs[0]), step = time_steps(f, inputs, lengths, steps);
	struct mpk_relax_vm *vm = (struct mpk_relax_vm *)mpk_node_machine(
		(const struct mpk_node_module *)mpk_library_root(library));

	printf("%.0f %ld %.0f %.0f %.0f %ld\n", loaded, loaded_size, first, step,
	       time_bare(vm, f, inputs, lengths, steps), resident());
	return 0;
}
