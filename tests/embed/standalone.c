/* SPDX-License-Identifier: Apache-2.0 */
/* standalone.c - a model that carries its executor, called by dlopen alone: standalone LIBRARY FUNCTION ROWS COLUMNS */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "mpk/standalone.h"

/* To the byte DLPack's; a program that has dlpack.h takes its own. */
struct tensor {
	void *data;
	int32_t device_type, device_id, ndim;
	uint8_t code, bits;
	uint16_t lanes;
	int64_t *shape, *strides;
	uint64_t byte_offset;
};

static void print(const struct mpks_cell *result)
{
	const struct tensor *t = mpks_result(result);
	int64_t count = 1;
	double sum = 0;

	if (!t) {
		puts("no tensor");
		return;
	}
	for (int32_t i = 0; i < t->ndim; i++)
		count *= t->shape[i];
	for (int64_t i = 0; i < count; i++)
		sum += ((const float *)t->data)[i];
	printf("%" PRId64 " elements, sum %.4f\n", count, sum);
}

int main(int argc, char **argv)
{
	int64_t shape[2] = { argc > 3 ? atoi(argv[3]) : 1, argc > 4 ? atoi(argv[4]) : 1 };
	float *x = calloc((size_t)(shape[0] * shape[1]), sizeof *x);
	struct tensor in = { .data = x,
			     .device_type = 1,
			     .ndim = 2,
			     .code = 2,
			     .bits = 32,
			     .lanes = 1,
			     .shape = shape };
	struct mpks_cell arg = mpks_tensor(&in), out = { 0 }, item = { 0 };
	void *library = argc > 4 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	char symbol[64];

	if (!library || !x) {
		puts(argc > 4 ? dlerror() : "standalone LIBRARY FUNCTION ROWS COLUMNS");
		return 2;
	}
	(void)snprintf(symbol, sizeof symbol, "__tvm_ffi_%s", argv[2]);
	mpks_function *function = (mpks_function *)(uintptr_t)dlsym(library, symbol);
	mpks_error *error = (mpks_error *)(uintptr_t)dlsym(library, MPK_STANDALONE_ERROR);
	mpks_item *take = (mpks_item *)(uintptr_t)dlsym(library, MPK_STANDALONE_ITEM);
	mpks_drop *drop = (mpks_drop *)(uintptr_t)dlsym(library, MPK_STANDALONE_DROP);

	for (int64_t i = 0; i < shape[0] * shape[1]; i++)
		x[i] = (float)(i % 7) / 7;
	if (!function || function(NULL, &arg, 1, &out)) {
		puts(function ? error() : "no such function");
		return 1;
	}
	(void)dlclose(library); /* results stay good */
	if (out.type != MPKS_ARRAY)
		print(&out);
	for (unsigned long i = 0; out.type == MPKS_ARRAY && take(&out, i, &item) == 0; i++) {
		print(&item);
		drop(&item);
	}
	drop(&out);
	free(x);
	return 0;
}
