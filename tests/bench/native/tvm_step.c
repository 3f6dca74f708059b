/* SPDX-License-Identifier: Apache-2.0 */
/* tvm_step LIBTVM_FFI LIBTVM_RUNTIME LIBRARY FUNCTION STEPS LENGTHS EXTENT... - the same step in TVM
 *
 * TVM's own machine, called through the C API of tvm-ffi in the loop of model_step.c: no Python
 * is between. Prints the same figures, but for the kernels called bare: 0.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WARMUP_MAX = 1000, INT = 1, BOOL = 2, DLTENSOR = 7, RAW_STR = 8, OBJECT = 64 };

struct any {
	int32_t type;
	uint32_t pad;
	union {
		int64_t i;
		void *p;
		const char *s;
	} v;
};

struct dltensor {
	void *data;
	int32_t device_type, device_id, ndim;
	uint8_t code, bits;
	uint16_t lanes;
	int64_t *shape, *strides;
	uint64_t byte_offset;
};

struct bytes {
	const char *data;
	size_t size;
};

static int (*get_global)(const struct bytes *name, void **out);
static int (*call)(void *function, const struct any *args, int32_t count, struct any *result);
static int (*drop)(void *object);

static void *symbol(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (!found) {
		(void)fprintf(stderr, "tvm_step: no %s\n", name);
		exit(1);
	}
	return found;
}

static struct any call_or_die(void *f, const struct any *args, int32_t count)
{
	struct any result = { .type = 0 };

	if (call(f, args, count, &result) == 0)
		return result;
	(void)fprintf(stderr, "tvm_step: a call failed\n");
	exit(1);
}

static void *global(const char *name)
{
	struct bytes key = { name, strlen(name) };
	void *f = NULL;

	if (get_global(&key, &f) == 0 && f)
		return f;
	(void)fprintf(stderr, "tvm_step: no global function %s\n", name);
	exit(1);
}

static struct any text(const char *s)
{
	return (struct any){ .type = RAW_STR, .v = { .s = s } };
}

static struct any number(int type, int64_t i)
{
	return (struct any){ .type = type, .v = { .i = i } };
}

static void *function_of(struct any module, const char *name)
{
	struct any args[] = { module, text(name), number(BOOL, 1) };

	return call_or_die(global("ffi.ModuleGetFunction"), args, 3).v.p;
}

static void *load(const char *library, const char *function)
{
	struct any path = text(library),
		   device[] = { number(INT, 1), number(INT, 0), number(INT, 2) };
	struct any module = call_or_die(global("ffi.ModuleLoadFromFile"), &path, 1);
	struct any vm = call_or_die(function_of(module, "vm_load_executable"), NULL, 0);

	(void)call_or_die(function_of(vm, "vm_initialization"), device, 3);
	return function_of(vm, function);
}

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
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

static double time_step(void *f, const struct any *arg)
{
	double start = now();
	struct any result = call_or_die(f, arg, 1);

	if (result.type >= OBJECT)
		(void)drop(result.v.p);
	return now() - start;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
	void *ffi = argc > 6 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
	int64_t shape[8];
	int varying = -1;
	uint64_t count = 1;

	if (!ffi || !dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL)) {
		(void)fprintf(stderr, "tvm_step: %s\n", argc > 6 ? dlerror() : "usage");
		return 2;
	}
	get_global = (int (*)(const struct bytes *, void **))(uintptr_t)symbol(
		ffi, "TVMFFIFunctionGetGlobal");
	call = (int (*)(void *, const struct any *, int32_t, struct any *))(uintptr_t)symbol(
		ffi, "TVMFFIFunctionCall");
	drop = (int (*)(void *))(uintptr_t)symbol(ffi, "TVMFFIObjectDecRef");
	size_t steps = (size_t)atoll(argv[5]), lengths = (size_t)atoll(argv[6]);
	size_t warmup = steps < WARMUP_MAX ? steps / 2 : WARMUP_MAX;
	double start = now();
	void *f = load(argv[3], argv[4]);
	double loaded = now() - start;
	long loaded_size = resident();

	for (int i = 7; i < argc; i++) {
		if (strcmp(argv[i], "n") == 0)
			varying = i - 7;
		shape[i - 7] = varying == i - 7 ? (int64_t)lengths : atoll(argv[i]);
		count *= (uint64_t)shape[i - 7];
	}
	float *data = aligned_alloc(64, (count * 4 + 63) / 64 * 64);

	for (uint64_t i = 0; i < count; i++)
		data[i] = (float)(i % 13) * 0.1f - 0.5f;
	struct dltensor t = { .data = data,
			      .device_type = 1,
			      .ndim = argc - 7,
			      .code = 2,
			      .bits = 32,
			      .lanes = 1,
			      .shape = shape };
	struct any arg = { .type = DLTENSOR, .v = { .p = &t } };
	double *times = calloc(steps, sizeof *times);

	if (varying >= 0)
		shape[varying] = 1;
	double first = time_step(f, &arg);

	for (size_t i = 0; i < warmup + steps; i++) {
		if (varying >= 0)
			shape[varying] = 1 + (int64_t)(i % lengths);
		double taken = time_step(f, &arg);

		if (i >= warmup)
			times[i - warmup] = taken;
	}
	qsort(times, steps, sizeof *times, compare);
	printf("%.0f %ld %.0f %.0f 0 %ld\n", loaded, loaded_size, first, times[steps / 2],
	       resident());
	return 0;
}
