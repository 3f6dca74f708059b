/* SPDX-License-Identifier: Apache-2.0 */
/* launch_call LIBRARY - what the host part of a launch function costs
 *
 * Calls `saxpy` of tests/data/launch/opencl.toml with a runtime that does nothing: what is
 * left are argument checks, extents and the packing of the kernel call. Prints nanoseconds
 * of processor time a call.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { CALLS = 1000000, OPENCL = 4, FLOAT = 2, DLTENSOR = 7, REAL = 3 };

struct any {
	int32_t type;
	uint32_t pad;
	union {
		double f;
		void *p;
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

typedef int function(void *self, const struct any *args, int32_t count, struct any *result);

static int look_up(void *ctx, const char *name, void **out)
{
	(void)ctx;
	*out = (void *)(uintptr_t)name;
	return 0;
}

static int call(void *f, const struct any *args, int32_t count, struct any *result)
{
	(void)f;
	(void)args;
	(void)count;
	result->type = 0;
	return 0;
}

static void set(void *library, const char *name, void *value)
{
	void **slot = dlsym(library, name);

	if (slot)
		*slot = value;
}

int main(int argc, char **argv)
{
	void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	function *f = library ? (function *)(uintptr_t)dlsym(library, "__tvm_ffi_saxpy") : NULL;
	int64_t shape[1] = { 1000 };
	struct dltensor x = { .data = shape,
			      .device_type = OPENCL,
			      .ndim = 1,
			      .code = FLOAT,
			      .bits = 32,
			      .lanes = 1,
			      .shape = shape },
			y = x;
	struct any args[3] = { { .type = REAL, .v = { .f = 2 } },
			       { .type = DLTENSOR, .v = { .p = &x } },
			       { .type = DLTENSOR, .v = { .p = &y } } },
		   result = { .type = 0 };

	if (!f) {
		(void)fprintf(stderr, "%s\n", argc == 2 ? dlerror() : "usage: launch_call LIBRARY");
		return 2;
	}
	set(library, "__TVMFFIEnvModLookupFromImports", (void *)(uintptr_t)look_up);
	set(library, "__TVMFFIFunctionCall", (void *)(uintptr_t)call);
	clock_t start = clock();
	for (int i = 0; i < CALLS; i++)
		if (f(NULL, args, 3, &result) != 0)
			return 1;
	(void)printf("%.1f\n", (double)(clock() - start) / CLOCKS_PER_SEC * 1e9 / CALLS);
	return 0;
}
