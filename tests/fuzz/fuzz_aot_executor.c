/* SPDX-License-Identifier: Apache-2.0 */
/* Models compiled ahead of time, whose libraries return any metadata, loaded and run by an entry that
 * reads and writes all it is given.
 *
 * Metadata are structures with pointers. The input is their bytes, after a list of places in them and of
 * what each points to: within the library's data, as no address of a run is that of the next. */
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "abi/internal/layout.h"
#include "executor/executor.h"
#include "executor/static/internal/static.h"
#include "factory/factory.h"
#include "fuzz.h"
#include "payload.h"
#include "runtime/library.h"
#include "value/tensor.h"

enum { REGION = 8192, MOST_BYTES = 1 << 20, MOST_INPUTS = 16 };

int LLVMFuzzerInitialize(int *argc, char ***argv);

/* --- the library --------------------------------------------------------------------------- */

static uint8_t *region;
static void *get_c_metadata;

/* Beside this program lies its library. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char self[PATH_MAX], path[PATH_MAX + 32];
	void *library;

	(void)argc;
	FUZZ_REQUIRE(realpath((*argv)[0], self) != NULL);
	(void)snprintf(path, sizeof path, "%s/aot_library.so", dirname(self));
	library = dlopen(path, RTLD_NOW);
	if (!library)
		(void)fprintf(stderr, "%s\n", dlerror());
	FUZZ_REQUIRE(library != NULL);
	region = dlsym(library, "region");
	get_c_metadata = dlsym(library, "get_c_metadata");
	FUZZ_REQUIRE(region && get_c_metadata);
	return 0;
}

static int entry(union mpk_tvm_value *args, int *codes, int count, union mpk_tvm_value *result,
		 int *result_code, void *resource)
{
	static volatile uint8_t sum;

	(void)codes, (void)result, (void)result_code, (void)resource;
	for (int i = 0; i < count; i++) {
		const struct mpk_dltensor *t = args[i].v_handle;
		uint8_t *at = mpk_dltensor_data(t);
		uint64_t bytes;

		FUZZ_REQUIRE(mpk_tensor_bytes_of(t->dtype, t->shape, (size_t)t->ndim, &bytes,
						 NULL) == MPK_OK);
		for (uint64_t k = 0; k < bytes && bytes <= MOST_BYTES; k++)
			sum ^= at[k];
		if (i + 1 == count && bytes <= MOST_BYTES && bytes)
			memset(at, 1, (size_t)bytes);
	}
	return 0;
}

/* --- the input ----------------------------------------------------------------------------- */

/* Fills the region; whether the payload is to have a parameter. */
static bool fill_region(const uint8_t *data, size_t size)
{
	size_t links, at;
	bool has_param;

	memset(region, 0, REGION);
	if (size < 2)
		return false;
	has_param = data[0] & 1;
	links = data[1];
	at = 2 + 4 * links;
	if (at > size)
		return has_param;
	memcpy(region, data + at, size - at < REGION ? size - at : REGION);
	for (size_t i = 0; i < links; i++) {
		uint16_t slot, target;
		uint8_t *pointer;

		memcpy(&slot, data + 2 + 4 * i, sizeof slot);
		memcpy(&target, data + 4 + 4 * i, sizeof target);
		pointer = region + target % (REGION + 1);
		memcpy(region + slot % (REGION / 8) * 8u, &pointer, sizeof pointer);
	}
	return has_param;
}

static struct mpk_span make_payload(bool has_param, struct mpk_arena *arena)
{
	static const int64_t four = 4;
	static const float zeros[4];
	static const struct mpk_span name = { (const uint8_t *)"w", 1 };
	static const struct mpk_tensor_record record = {
		.dtype = { MPK_DTYPE_FLOAT, 32, 1 },
		.shape = &four,
		.ndim = 1,
		.data = { (const uint8_t *)zeros, sizeof zeros },
	};
	const struct mpk_factory factory = {
		.params = { .names = { &name, has_param }, .tensors = &record },
		.module_name = mpk_span_str("default"),
	};
	struct mpk_rope rope = mpk_rope_of(arena);
	struct mpk_span flat;

	mpk_factory_write(&rope, &factory);
	FUZZ_REQUIRE(mpk_rope_flat(&rope, &flat, NULL) == MPK_OK);
	return flat;
}

/* --- a run --------------------------------------------------------------------------------- */

/* A tensor for each input that no parameter fills; false when they are many or large. */
static bool make_inputs(bool has_param, struct mpk_arena *arena, struct mpk_value *values,
			size_t *count)
{
	struct mpk_aot_metadata m;

	FUZZ_REQUIRE(mpk_aot_metadata_read(get_c_metadata, region, arena, &m, NULL) == MPK_OK);
	for (size_t i = 0; i < m.inputs.count; i++) {
		const struct mpk_aot_tensor *t = &m.inputs.items[i];
		uint64_t bytes;

		if (has_param && mpk_span_is(t->name, "w"))
			continue;
		FUZZ_REQUIRE(mpk_tensor_bytes_of(t->dtype, t->shape, t->ndim, &bytes, NULL) ==
			     MPK_OK);
		if (*count == MOST_INPUTS || bytes > MOST_BYTES ||
		    mpk_tensor_create(t->dtype, t->shape, t->ndim, MPK_STORAGE_PRIVATE,
				      &values[*count].tensor, NULL) != MPK_OK)
			return false;
		values[(*count)++].kind = MPK_VALUE_TENSOR;
	}
	return true;
}

static void run(struct mpk_function *f, bool has_param, struct mpk_arena *arena)
{
	struct mpk_value values[MOST_INPUTS] = { 0 };
	size_t count = 0;
	bool made = make_inputs(has_param, arena, values, &count);

	for (int round = 0; made && round < 2; round++) {
		struct mpk_value result = { 0 };
		struct mpk_error err;

		if (mpk_function_call(f, &(struct mpk_args){ values, NULL, count }, &result,
				      &err) == MPK_OK)
			mpk_value_drop(&result);
	}
	for (size_t i = 0; i < count; i++)
		mpk_value_drop(&values[i]);
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	static const size_t child = 1;
	bool has_param = fill_region(bytes.data, bytes.len);
	struct mpk_node nodes[] = {
		{ .kind = mpk_span_str("AotExecutorFactory"),
		  .payload = make_payload(has_param, arena),
		  .children = &child,
		  .child_count = 1 },
		{ .kind = mpk_span_str("_lib"), .is_lib = true },
	};
	const struct mpk_tree tree = { .gen = MPK_GEN_LEGACY, .nodes = nodes, .count = 2 };
	struct mpk_host_code code = { .tree = &tree, .convention = MPK_CONV_LEGACY };
	struct mpk_module_search search = { 0 };
	struct mpk_module *root, *context;
	struct mpk_runtime *runtime;
	struct mpk_host *host;
	struct mpk_function *f;

	FUZZ_REQUIRE(mpk_runtime_create_empty(&(struct mpk_runtime_options){ 0 }, &runtime, NULL) ==
		     MPK_OK);
	FUZZ_REQUIRE(mpk_runtime_add_loader(runtime, &mpk_aot_executor, NULL) == MPK_OK);
	FUZZ_REQUIRE(mpk_host_create(runtime, &code, &host, NULL) == MPK_OK);
	FUZZ_REQUIRE(mpk_host_register(host, "get_c_metadata", get_c_metadata));
	FUZZ_REQUIRE(mpk_host_register(host, "fuzz___tvm_main__", (void *)(uintptr_t)entry));
	FUZZ_REQUIRE(mpk_node_modules(host, &root, &context, NULL) == MPK_OK);
	mpk_host_drop(host);
	FUZZ_REQUIRE(mpk_module_find(root, "default", &f, &search, NULL) == MPK_OK);
	if (f)
		run(f, has_param, arena);
	mpk_function_drop(f);
	mpk_module_drop(root);
	mpk_runtime_destroy(runtime);
}
