/* SPDX-License-Identifier: Apache-2.0 */
/* device_kernels.h - function tables of kernels made by hand, for the tests of devices */
#ifndef MPK_TESTS_UNIT_DEVICE_KERNELS_H
#define MPK_TESTS_UNIT_DEVICE_KERNELS_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "assert_error.h"
#include "device/device.h"
#include "leaks.h"

struct table_row {
	const char *key;
	const char *types; /* "handle handle float32 int64" */
	const char *tags;  /* "blockIdx.x threadIdx.x" */
};

/* One module's table; big enough for all tests, nothing to free. */
struct table {
	struct mpk_kernels kernels;
	struct mpk_function_info functions[8];
	struct mpk_dtype types[8][20];
	struct mpk_span tags[8][20];
};

static inline size_t split_words(const char *text, struct mpk_span *words, size_t max)
{
	size_t count = 0;

	while (*text) {
		size_t len = strcspn(text, " ");

		ck_assert_uint_lt(count, max);
		words[count++] = mpk_span_of(text, len);
		text += len + (text[len] == ' ');
	}
	return count;
}

static inline void table_add(struct table *t, const struct table_row *row)
{
	struct mpk_span words[20];
	size_t i = t->kernels.function_count++, types = split_words(row->types, words, 20);

	for (size_t k = 0; k < types; k++)
		ck_assert_msg(mpk_dtype_parse(words[k], &t->types[i][k]), "type %s", row->types);
	t->functions[i] = (struct mpk_function_info){
		.key = mpk_span_str(row->key),
		.arg_types = t->types[i],
		.arg_count = types,
		.launch_tags = t->tags[i],
		.launch_tag_count = split_words(row->tags, t->tags[i], 20),
	};
	t->kernels.functions = t->functions;
}

/* A slot that holds a float argument. */
static inline uint64_t slot_of(double value)
{
	uint64_t slot;

	memcpy(&slot, &value, sizeof slot);
	return slot;
}

static inline uint64_t slot_at(const void *data)
{
	return (uint64_t)(uintptr_t)data;
}

/* Device memory filled with count floats: first, first + step, ... */
static inline void *floats_on(struct mpk_device *device, size_t count, float first, float step)
{
	float *host = calloc(count ? count : 1, sizeof *host);
	void *data = NULL;

	for (size_t i = 0; i < count; i++)
		host[i] = first + (float)i * step;
	ck_assert_int_eq(mpk_device_alloc(device, count * sizeof *host, &data, NULL), MPK_OK);
	ck_assert_int_eq(
		mpk_device_write(device, data, 0, mpk_span_of(host, count * sizeof *host), NULL),
		MPK_OK);
	free(host);
	return data;
}

static inline struct mpk_device_module *load_on(struct mpk_device *device, struct table *t)
{
	struct mpk_device_module *module = NULL;
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_device_load(device, &t->kernels, &module, &err), err);
	return module;
}

static inline struct mpk_device_kernel *kernel_of(struct mpk_device_module *module, const char *key)
{
	struct mpk_device_kernel *kernel = NULL;
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_device_get_kernel(module, mpk_span_str(key), &kernel, &err), err);
	return kernel;
}

#endif
