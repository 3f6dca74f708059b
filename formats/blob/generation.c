/* SPDX-License-Identifier: Apache-2.0 */
/* generation.c - what differs between the generations outside the blob: names and symbols */
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
