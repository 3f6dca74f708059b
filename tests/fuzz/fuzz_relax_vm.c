/* SPDX-License-Identifier: Apache-2.0 */
/* Byte code that is loaded and run, with kernels that read all they are given and write their last
 * tensor: what a model of a stranger can make the machine do. */
#include <string.h>

#include "executor/executor.h"
#include "executor/relax/internal/relax.h"
#include "runtime.h"
#include "runtime/library.h"

enum { STEPS = 200, BYTES_MAX = 1 << 20 };

/* --- kernels of any name ------------------------------------------------------------------- */

static volatile uint8_t sink;

static enum mpk_code call(struct mpk_function *self, const struct mpk_args *args,
			  struct mpk_value *result, struct mpk_error *err)
{
	(void)self;
	(void)result;
	(void)err;
	for (size_t i = 0; i < args->count; i++) {
		const struct mpk_tensor *t = args->values[i].tensor;

		if (args->values[i].kind != MPK_VALUE_TENSOR || !mpk_dltensor_is_compact(&t->dl) ||
		    t->bytes > BYTES_MAX)
			continue;
		for (uint64_t k = 0; k < t->bytes; k++)
			sink ^= ((uint8_t *)mpk_dltensor_data(&t->dl))[k];
		if (i + 1 == args->count && t->bytes)
			memset(mpk_dltensor_data(&t->dl), 1, (size_t)t->bytes);
	}
	return MPK_OK;
}

static void destroy(struct mpk_function *self)
{
	free(self);
}

static bool accepts(struct mpk_span kind)
{
	return mpk_span_is(kind, "fuzz.kernels");
}

static enum mpk_code open_node(struct mpk_node_module *node, struct mpk_error *err)
{
	(void)node;
	(void)err;
	return MPK_OK;
}

static enum mpk_code find(struct mpk_node_module *node, const char *name, struct mpk_function **out,
			  struct mpk_error *err)
{
	struct mpk_function *f;

	(void)node;
	*out = NULL;
	if (strncmp(name, "vm.", 3) == 0 || strncmp(name, "runtime.", 8) == 0)
		return MPK_OK;
	f = calloc(1, sizeof *f);
	if (!f)
		return mpk_fail_nomem(err);
	*f = (struct mpk_function){ .refs = 1, .name = "kernel", .call = call, .destroy = destroy };
	*out = f;
	return MPK_OK;
}

static const struct mpk_loader kernels = { .accepts = accepts, .open = open_node, .find = find };

/* --- one program --------------------------------------------------------------------------- */

static struct mpk_value tensor(void)
{
	static const struct mpk_dtype f32 = { MPK_DTYPE_FLOAT, 32, 1 };
	static const int64_t shape[] = { 2, 3 };
	struct mpk_tensor *t;

	FUZZ_REQUIRE(mpk_tensor_create(f32, shape, 2, MPK_STORAGE_PRIVATE, &t, NULL) == MPK_OK);
	return mpk_value_of_tensor(t);
}

/* Three times: as byte code, recorded, by its plan. */
static void run(struct mpk_function *f, size_t count)
{
	struct mpk_value args[8];

	if (count > 8)
		return;
	for (size_t i = 0; i < count; i++)
		args[i] = tensor();
	for (int i = 0; i < 3; i++) {
		struct mpk_value result = { 0 };
		struct mpk_error err;

		if (mpk_function_call(f, &(struct mpk_args){ args, NULL, count }, &result, &err) ==
		    MPK_OK)
			mpk_value_drop(&result);
	}
	for (size_t i = 0; i < count; i++)
		mpk_value_drop(&args[i]);
}

static void run_all(struct mpk_module *root)
{
	struct mpk_node_module *node = (struct mpk_node_module *)root;
	struct mpk_module_search search = { 0 };
	struct mpk_function *f;
	struct mpk_error err;
	struct mpk_span name;

	/* a look-up makes the node ready */
	FUZZ_REQUIRE(mpk_module_find(root, "main", &f, &search, &err) == MPK_OK);
	mpk_function_drop(f);
	if (!node->is_open)
		return;
	for (size_t i = 0; i < 8 && mpk_relax_executor.name_at(node, i, &name); i++) {
		char text[64];
		size_t len = name.len < 63 ? name.len : 63;

		if (len)
			memcpy(text, name.data, len);
		text[len] = '\0';
		if (mpk_module_find(root, text, &f, &search, &err) != MPK_OK || !f)
			continue;
		/* a name that is no text of C may be found as a kernel */
		if (mpk_node_machine(node)) {
			((struct mpk_relax_vm *)mpk_node_machine(node))->step_limit = STEPS;
			for (size_t count = 0; count < 4; count++)
				run(f, count);
		}
		mpk_function_drop(f);
	}
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	size_t child = 1;
	struct mpk_node nodes[] = {
		{ .kind = mpk_span_str("relax.VMExecutable"),
		  .payload = bytes,
		  .children = &child,
		  .child_count = 1 },
		{ .kind = mpk_span_str("fuzz.kernels") },
	};
	struct mpk_tree tree = { .gen = MPK_GEN_CURRENT, .nodes = nodes, .count = 2 };
	struct mpk_host_code code = { .tree = &tree, .convention = MPK_CONV_FFI };
	struct mpk_module *root, *context;
	struct mpk_host *host;

	(void)arena;
	FUZZ_REQUIRE(mpk_host_create(fuzz_runtime(&kernels), &code, &host, NULL) == MPK_OK);
	FUZZ_REQUIRE(mpk_node_modules(host, &root, &context, NULL) == MPK_OK);
	mpk_host_drop(host);
	run_all(root);
	mpk_module_drop(root);
}
