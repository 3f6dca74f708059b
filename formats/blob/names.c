/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - the symbols and functions of each generation, and modules as users name them: "/0/1",
 * or "#7" for modules that the root does not reach */
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/num.h"
#include "blob/blob.h"

/* FORMAT.md 2: symbol names of each generation */
static const struct mpk_generation_info generations[MPK_GENERATION_COUNT] = {
	[MPK_GEN_LEGACY] = {
		.abi = "legacy",
		.releases = "TVM 0.2 - 0.20",
		.blob_symbol = "__tvm_dev_mblob",
		.standalone_symbol = "__mpk_standalone_bin_legacy",
		.ctx_symbol = "__tvm_module_ctx",
		.function_prefix = "",
		.entry = "__tvm_main__",
		.register_symbol = "TVMBackendRegisterSystemLibSymbol",
	},
	[MPK_GEN_HYBRID] = {
		.abi = "ffi-0.21",
		.releases = "TVM 0.21",
		.blob_symbol = "__tvm_ffi_library_bin",
		.standalone_symbol = "__mpk_standalone_bin_021",
		.ctx_symbol = "__tvm_ffi_library_ctx",
		.function_prefix = "",
		.entry = "__tvm_main__",
		.register_symbol = "TVMBackendRegisterSystemLibSymbol",
	},
	[MPK_GEN_CURRENT] = {
		.abi = "ffi",
		.releases = "TVM 0.22 and later, tvm-ffi",
		.blob_symbol = "__tvm_ffi__library_bin",
		.standalone_symbol = "__mpk_standalone_bin",
		.ctx_symbol = "__tvm_ffi__library_ctx",
		.function_prefix = "__tvm_ffi_",
		.entry = "__tvm_ffi_main",
		.register_symbol = "TVMFFIEnvModRegisterSystemLibSymbol",
	},
};

const struct mpk_generation_info *mpk_generation_get(enum mpk_generation gen)
{
	return &generations[gen];
}

/* Returns how well a generation explains the bytes: 2 all of them, 1 up to an unknown kind, 0 not. */
static enum mpk_code explains(struct mpk_span blob, enum mpk_generation gen, int *score,
			      struct mpk_error *err)
{
	struct mpk_arena scratch MPK_CLEANUP(mpk_arena_fini) = { 0 };
	struct mpk_tree tree;
	enum mpk_code code = mpk_blob_read(blob, gen, &scratch, &tree, NULL);

	*score = 0;
	/* A failed allocation says nothing about the bytes. */
	if (code == MPK_E_NOMEM)
		return mpk_fail_nomem(err);
	if (code == MPK_OK)
		*score = tree.warning.code == MPK_OK && tree.used == tree.nbytes + 8 ? 2 : 1;
	return MPK_OK;
}

enum mpk_code mpk_blob_guess(struct mpk_span blob, enum mpk_generation *out, struct mpk_error *err)
{
	/* A blob that both older generations explain is taken for the older. Once one explains all bytes,
	 * the others are not tried: reading by a wrong rule may search the payloads. */
	static const enum mpk_generation order[] = { MPK_GEN_CURRENT, MPK_GEN_LEGACY,
						     MPK_GEN_HYBRID };
	int best = 0;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(order) && best < 2; i++) {
		int score;

		MPK_TRY(explains(blob, order[i], &score, err));
		if (score > best) {
			best = score;
			*out = order[i];
		}
	}
	if (best)
		return MPK_OK;
	return mpk_fail_offset(err, MPK_E_CORRUPT, "blob", 0,
			       "these bytes are no module blob of any TVM release");
}

/* Finds the importer with the lowest index, and the position of node among its children. */
static bool find_parent(const struct mpk_tree *tree, size_t node, size_t *parent, size_t *position)
{
	for (size_t i = 0; i < node; i++) {
		const struct mpk_node *n = &tree->nodes[i];

		for (size_t j = 0; j < n->child_count; j++) {
			if (n->children[j] == node) {
				*parent = i;
				*position = j;
				return true;
			}
		}
	}
	return false;
}

const char *mpk_tree_path(const struct mpk_tree *tree, size_t node, char *out, size_t size)
{
	size_t at = size - 1, parent, position;
	char step[32];

	out[at] = '\0';
	if (node == 0) {
		snprintf(out, size, "/");
		return out;
	}
	/* from the node to the root, so the text grows towards its beginning */
	for (;;) {
		bool up = node != 0 && find_parent(tree, node, &parent, &position);
		int n = up ? snprintf(step, sizeof step, "/%zu", position)
			   : snprintf(step, sizeof step, "#%zu", node);

		if (!up && node == 0)
			break;
		if ((size_t)n > at) {
			/* The text is at out + at; its beginning does not fit. */
			memmove(out, out + at, size - at);
			if (size - at < sizeof "...")
				snprintf(out, size, "...");
			else
				memset(out, '.', 3);
			return out;
		}
		at -= (size_t)n;
		memcpy(out + at, step, (size_t)n);
		if (!up)
			break;
		node = parent;
	}
	memmove(out, out + at, size - at);
	return out;
}

/* Reads one step of the path: digits up to the next slash or the end. */
static bool blob_take_step(struct mpk_span *path, uint64_t *out)
{
	struct mpk_span digits = mpk_span_of(path->data, 0);

	while (digits.len < path->len && path->data[digits.len] >= '0' &&
	       path->data[digits.len] <= '9')
		digits.len++;
	*path = mpk_span_of(path->data + digits.len, path->len - digits.len);
	return (path->len == 0 || path->data[0] == '/') && mpk_parse_u64(digits, out);
}

bool mpk_tree_find(const struct mpk_tree *tree, const char *path, size_t *node)
{
	struct mpk_span rest = mpk_span_str(path);
	uint64_t at = 0, step;

	if (rest.len == 0 || tree->count == 0)
		return false;
	if (rest.data[0] == '#') {
		rest = mpk_span_from(rest, 1);
		if (!blob_take_step(&rest, &at) || at >= tree->count)
			return false;
	} else if (mpk_span_is(rest, "/")) {
		rest.len = 0;
	}
	while (rest.len) {
		rest = mpk_span_from(rest, 1);
		if (!blob_take_step(&rest, &step) || step >= tree->nodes[at].child_count)
			return false;
		at = tree->nodes[at].children[step];
	}
	*node = (size_t)at;
	return true;
}
