/* SPDX-License-Identifier: Apache-2.0 */
/* generation.c - what differs between the generations outside the blob: names and symbols */
#include "base/compiler.h"
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

/* How well a generation explains the bytes: 2 all of them, 1 up to an unknown kind, 0 not. */
static enum mpk_code explains(struct mpk_span blob, enum mpk_generation gen, int *score,
			      struct mpk_error *err)
{
	struct mpk_arena scratch MPK_CLEANUP(mpk_arena_fini) = { 0 };
	struct mpk_tree tree;
	enum mpk_code code = mpk_blob_read(blob, gen, &scratch, &tree, NULL);

	*score = 0;
	/* that there was no memory says nothing about the bytes */
	if (code == MPK_E_NOMEM)
		return mpk_fail_nomem(err);
	if (code == MPK_OK)
		*score = tree.warning.code == MPK_OK && tree.used == tree.nbytes + 8 ? 2 : 1;
	return MPK_OK;
}

enum mpk_code mpk_blob_guess(struct mpk_span blob, enum mpk_generation *out, struct mpk_error *err)
{
	/* A blob that both older generations explain is the older one's. Once one explains
	 * all of it the others are not tried: reading by a wrong rule may search the payloads. */
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
