/* SPDX-License-Identifier: Apache-2.0 */
/* release.c - what each release of TVM and tvm-ffi loads and defines, and which pointers it sets
 *
 * Each table names its source: source code of the tags, or observed behaviour of wheels. With them
 * --check needs no installed runtime. Releases after MPK_RELEASE_NEWEST are not guessed. */
#include "compat/release.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kinds.h"

/* --- releases --------------------------------------------------------------------------- */

/* The version of the submodule 3rdparty/tvm-ffi at each tag; the newest wheels require later ones. */
static const struct {
	unsigned minor, ffi_patch;
	bool has_wheel;
} rows[] = {
	{ 22, 0, false }, { 23, 8, false }, { 24, 11, false },
	{ 25, 12, true }, { 26, 15, true }, { 27, 15, true },
};

static const char *const names[] = {
	"tvm-ffi",  NULL,       "TVM 0.2",  "TVM 0.3",  "TVM 0.4",  "TVM 0.5",  "TVM 0.6",
	"TVM 0.7",  "TVM 0.8",  "TVM 0.9",  "TVM 0.10", "TVM 0.11", "TVM 0.12", "TVM 0.13",
	"TVM 0.14", "TVM 0.15", "TVM 0.16", "TVM 0.17", "TVM 0.18", "TVM 0.19", "TVM 0.20",
	"TVM 0.21", "TVM 0.22", "TVM 0.23", "TVM 0.24", "TVM 0.25", "TVM 0.26", "TVM 0.27",
};
_Static_assert(MPK_ARRAY_COUNT(names) == MPK_RELEASE_NEWEST + 1, "a name for each release");

/* Releases before 0.21 read the legacy container, 0.21 reads the hybrid one, later releases read
 * that of tvm-ffi. */
static struct mpk_release release_of(unsigned minor)
{
	struct mpk_release r = { .minor = minor, .name = names[minor], .reads = MPK_GEN_CURRENT };

	if (minor == MPK_TVM_FFI) {
		r.ffi_patch = 15;
		r.has_wheel = true;
	} else if (minor < 22) {
		r.reads = minor == 21 ? MPK_GEN_HYBRID : MPK_GEN_LEGACY;
	}
	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		if (rows[i].minor != minor)
			continue;
		r.ffi_patch = rows[i].ffi_patch;
		r.has_wheel = rows[i].has_wheel;
	}
	return r;
}

/* Accepts "0.22", "v0.22.0" and "22". Anything after the minor number is ignored. */
bool mpk_release_parse(const char *text, struct mpk_release *out)
{
	unsigned long minor;
	char *end;

	if (strcmp(text, "ffi") == 0 || strcmp(text, "tvm-ffi") == 0) {
		*out = release_of(MPK_TVM_FFI);
		return true;
	}
	if (*text == 'v')
		text++;
	if (strncmp(text, "0.", 2) == 0)
		text += 2;
	if (*text < '0' || *text > '9')
		return false;
	minor = strtoul(text, &end, 10);
	if ((*end && *end != '.') || minor < 2 || minor > MPK_RELEASE_NEWEST)
		return false;
	*out = release_of((unsigned)minor);
	return true;
}

/* --- loaders of modules --------------------------------------------------------------------- */

/* Releases that register [runtime.]module.loadbinary_KIND or ffi.Module.load_from_bytes.KIND, and
 * the option of CMake for it; NULL: every build does. Kinds that TVM writes and never reads (aocl,
 * sdaccel, hex, nki) are left out. */
static const struct {
	const char *kind;
	struct mpk_loader_info info;
} loaders[] = {
	{ "const_loader", { NULL, 9, MPK_RELEASE_NOW } },
	{ "relax.VMExecutable", { NULL, 20, MPK_RELEASE_NOW } },
	{ "relax.Executable", { NULL, 16, 19 } },
	{ "static_library", { NULL, 14, MPK_RELEASE_NOW } },
	{ "c", { NULL, 14, MPK_RELEASE_NOW } },
	{ "VMExecutable", { NULL, 8, 19 } },
	{ "GraphExecutorFactory", { NULL, 8, 19 } },
	{ "GraphRuntimeFactory", { NULL, 7, 19 } },
	{ "AotExecutorFactory", { NULL, 9, 19 } },
	{ "metadata_module", { NULL, 9, 19 } },
	{ "metadata", { NULL, 7, 19 } },
	{ "cuda", { "USE_CUDA", 2, MPK_RELEASE_NOW } },
	{ "opencl", { "USE_OPENCL", 2, MPK_RELEASE_NOW } },
	{ "metal", { "USE_METAL", 2, MPK_RELEASE_NOW } },
	{ "vulkan", { "USE_VULKAN", 3, MPK_RELEASE_NOW } },
	{ "hip", { "USE_ROCM", 3, MPK_RELEASE_NOW } },
	{ "hsaco", { "USE_ROCM", 2, MPK_RELEASE_NOW } },
	{ "hexagon", { "USE_HEXAGON", 24, MPK_RELEASE_NOW } },
	{ "webgpu", { "the web runtime", 12, MPK_RELEASE_NOW } },
	{ "opengl", { "USE_OPENGL", 2, 6 } },
	{ "dnnl_json", { "USE_DNNL", 7, MPK_RELEASE_NOW } },
	{ "arm_compute_lib", { "USE_ARM_COMPUTE_LIB_GRAPH_EXECUTOR", 7, 23 } },
	{ "bnns_json", { "USE_BNNS", 8, 23 } },
	{ "tensorrt", { "USE_TENSORRT_RUNTIME", 8, MPK_RELEASE_NOW } },
	{ "msc_tensorrt", { "USE_TENSORRT_RUNTIME", 16, 23 } },
	{ "clml", { "USE_CLML_GRAPH_EXECUTOR", 9, MPK_RELEASE_NOW } },
	{ "cublas_json", { "USE_CUBLAS", 16, MPK_RELEASE_NOW } },
	{ "cudnn_json", { "USE_CUDNN", 16, MPK_RELEASE_NOW } },
	{ "hipblas_json", { "USE_HIPBLAS", 18, MPK_RELEASE_NOW } },
	{ "nnapi", { "USE_NNAPI_RUNTIME", 18, MPK_RELEASE_NOW } },
	{ "example_npu_json", { "USE_EXAMPLE_NPU_RUNTIME", 24, MPK_RELEASE_NOW } },
	{ "examplejson", { "USE_EXAMPLE_EXT_RUNTIME", 6, 6 } },
	{ "ethos-n", { "USE_ETHOSN", 7, 18 } },
	{ "coreml", { "USE_COREML", 7, MPK_RELEASE_NOW } },
	{ "VitisAIRuntime", { "USE_VITIS_AI", 8, 19 } },
	{ "torch", { "USE_PT_TVMDSOOP", 9, 19 } },
	{ "mrvl_sim", { "USE_MRVL", 16, 23 } },
	{ "mrvl_hw", { "USE_MRVL", 19, 23 } },
};

/* In the wheels of 0.25 to 0.27. Python opens the library, and ignores a failure. */
static const struct mpk_sidecar sidecars[] = {
	{ "cuda", "libtvm_runtime_cuda.so", { "libcuda.so.1", "libcudart.so.13", NULL } },
};

/* A loader may be in a separate library that is loaded with the runtime. */
const struct mpk_sidecar *mpk_release_sidecar(struct mpk_span kind)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(sidecars); i++)
		if (mpk_span_is(kind, sidecars[i].kind))
			return &sidecars[i];
	return NULL;
}

/* A loader under an option of CMake is in some builds only. For releases with wheels it is known
 * whether the wheel has it. */
static enum mpk_loader_state state_of(const struct mpk_release *release, struct mpk_span kind,
				      const struct mpk_loader_info *info)
{
	if (release->minor < info->first || release->minor > info->last)
		return MPK_LOADER_OTHER;
	if (!info->option)
		return MPK_LOADER_THERE;
	if (!release->has_wheel)
		return MPK_LOADER_BUILD;
	return mpk_release_sidecar(kind) ? MPK_LOADER_SIDECAR : MPK_LOADER_WHEEL;
}

/* No release ever loads a kind without a row: MPK_LOADER_NONE, which is not "not in this release". */
enum mpk_loader_state mpk_release_loader(const struct mpk_release *release, struct mpk_span kind,
					 struct mpk_loader_info *info)
{
	*info = (struct mpk_loader_info){ 0 };
	for (size_t i = 0; i < MPK_ARRAY_COUNT(loaders); i++) {
		if (!mpk_span_is(kind, loaders[i].kind))
			continue;
		*info = loaders[i].info;
		/* tvm-ffi has no loaders; they are TVM's */
		return release->minor == MPK_TVM_FFI ? MPK_LOADER_OTHER
						     : state_of(release, kind, info);
	}
	return MPK_LOADER_NONE;
}

/* --- symbols ---------------------------------------------------------------------------- */

/* Symbols of libtvm_ffi.so from 0.1.0 on; since: the first of the releases 0.1.0, 0.1.8, 0.1.11,
 * 0.1.12, 0.1.15 that has it. */
static const struct {
	const char *name;
	unsigned since;
} ffi_symbols[] = {
	{ "TVMFFIAnyViewToOwnedAny", 0 },
	{ "TVMFFIBacktrace", 0 },
	{ "TVMFFIBigIntFromByteArray", 15 },
	{ "TVMFFIBigIntGetContentByteArray", 15 },
	{ "TVMFFIBytesFromByteArray", 0 },
	{ "TVMFFIDataTypeFromString", 0 },
	{ "TVMFFIDataTypeToString", 0 },
	{ "TVMFFIEnvCheckSignals", 0 },
	{ "TVMFFIEnvGetDLPackManagedTensorAllocator", 0 },
	{ "TVMFFIEnvGetStream", 0 },
	{ "TVMFFIEnvModLookupFromImports", 0 },
	{ "TVMFFIEnvModRegisterContextSymbol", 0 },
	{ "TVMFFIEnvModRegisterSystemLibSymbol", 0 },
	{ "TVMFFIEnvRegisterCAPI", 0 },
	{ "TVMFFIEnvSetDLPackManagedTensorAllocator", 0 },
	{ "TVMFFIEnvSetStream", 0 },
	{ "TVMFFIEnvTensorAlloc", 0 },
	{ "TVMFFIErrorCreate", 0 },
	{ "TVMFFIErrorCreateWithCauseAndExtraContext", 8 },
	{ "TVMFFIErrorMoveFromRaised", 0 },
	{ "TVMFFIErrorSetRaised", 0 },
	{ "TVMFFIErrorSetRaisedFromCStr", 0 },
	{ "TVMFFIErrorSetRaisedFromCStrParts", 0 },
	{ "TVMFFIFunctionCall", 0 },
	{ "TVMFFIFunctionCreate", 0 },
	{ "TVMFFIFunctionGetGlobal", 0 },
	{ "TVMFFIFunctionSetGlobal", 0 },
	{ "TVMFFIFunctionSetGlobalFromMethodInfo", 0 },
	{ "TVMFFIGetCustomAllocator", 15 },
	{ "TVMFFIGetTypeAttrColumn", 0 },
	{ "TVMFFIGetTypeInfo", 0 },
	{ "TVMFFIGetVersion", 0 },
	{ "TVMFFIHandleDeinitOnce", 8 },
	{ "TVMFFIHandleInitOnce", 8 },
	{ "TVMFFIObjectCreateOpaque", 0 },
	{ "TVMFFIObjectDecRef", 0 },
	{ "TVMFFIObjectIncRef", 0 },
	{ "TVMFFISetCustomAllocator", 15 },
	{ "TVMFFIStringFromByteArray", 0 },
	{ "TVMFFITensorCreateUnsafeView", 8 },
	{ "TVMFFITensorFromDLPack", 0 },
	{ "TVMFFITensorFromDLPackVersioned", 0 },
	{ "TVMFFITensorToDLPack", 0 },
	{ "TVMFFITensorToDLPackVersioned", 0 },
	{ "TVMFFITypeGetOrAllocIndex", 0 },
	{ "TVMFFITypeKeyToIndex", 0 },
	{ "TVMFFITypeRegisterAttr", 0 },
	{ "TVMFFITypeRegisterField", 0 },
	{ "TVMFFITypeRegisterMetadata", 0 },
	{ "TVMFFITypeRegisterMethod", 0 },
};

/* Symbols that libtvm_runtime.so defines for compiled code (include/tvm/runtime/c_backend_api.h,
 * c_runtime_api.h of the releases). */
static const struct {
	const char *name;
	unsigned first, last;
} tvm_symbols[] = {
	{ "TVMBackendAllocWorkspace", 2, MPK_RELEASE_NOW },
	{ "TVMBackendFreeWorkspace", 2, MPK_RELEASE_NOW },
	{ "TVMBackendParallelLaunch", 2, MPK_RELEASE_NOW },
	{ "TVMBackendParallelBarrier", 2, MPK_RELEASE_NOW },
	{ "TVMBackendAnyListMoveFromPackedReturn", 21, MPK_RELEASE_NOW },
	{ "TVMBackendAnyListResetItem", 21, MPK_RELEASE_NOW },
	{ "TVMBackendAnyListSetPackedArg", 21, MPK_RELEASE_NOW },
	{ "TVMBackendGetFuncFromEnv", 2, 25 },
	{ "TVMBackendRunOnce", 2, 25 },
	{ "TVMBackendRegisterSystemLibSymbol", 2, 21 },
	{ "TVMBackendRegisterEnvCAPI", 2, 21 },
	{ "TVMFuncCall", 2, 20 },
	{ "TVMFuncGetGlobal", 2, 20 },
	{ "TVMAPISetLastError", 2, 20 },
	{ "TVMGetLastError", 2, 20 },
	{ "TVMModGetFunction", 2, 20 },
	{ "TVMSynchronize", 2, 20 },
};

/* A library that needs a symbol which the release lacks does not load. */
bool mpk_release_symbol(const struct mpk_release *release, const char *name)
{
	for (size_t i = 0; release->reads == MPK_GEN_CURRENT && i < MPK_ARRAY_COUNT(ffi_symbols);
	     i++)
		if (strcmp(name, ffi_symbols[i].name) == 0)
			return release->ffi_patch >= ffi_symbols[i].since;
	/* the symbols of the tvm-ffi in 0.21 are not known one by one */
	if (release->reads == MPK_GEN_HYBRID && strncmp(name, "TVMFFI", 6) == 0)
		return true;
	for (size_t i = 0; release->minor && i < MPK_ARRAY_COUNT(tvm_symbols); i++)
		if (strcmp(name, tvm_symbols[i].name) == 0)
			return release->minor >= tvm_symbols[i].first &&
			       release->minor <= tvm_symbols[i].last;
	return false;
}

/* Pointers of a module that libtvm_runtime.so sets, measured with 0.25, 0.26 and 0.27 and a library
 * that has all pointers. tvm-ffi alone sets none. */
static const struct {
	const char *name;
	unsigned first, last;
} filled[] = {
	{ "TVMBackendAllocWorkspace", 22, MPK_RELEASE_NOW },
	{ "TVMBackendFreeWorkspace", 22, MPK_RELEASE_NOW },
	{ "TVMBackendGetFuncFromEnv", 22, 25 },
	{ "TVMBackendParallelBarrier", 22, MPK_RELEASE_NOW },
	{ "TVMBackendParallelLaunch", 22, MPK_RELEASE_NOW },
	{ "TVMFFIEnvModLookupFromImports", 26, MPK_RELEASE_NOW },
	{ "TVMFFIErrorSetRaisedFromCStr", 22, MPK_RELEASE_NOW },
	{ "TVMFFIFunctionCall", 22, MPK_RELEASE_NOW },
	{ "TVMFFIHandleInitOnce", 26, MPK_RELEASE_NOW },
};

/* A pointer that is not set stays NULL, and a call through it ends the process. */
bool mpk_release_fills(const struct mpk_release *release, const char *name)
{
	if (release->reads != MPK_GEN_CURRENT)
		return mpk_release_symbol(release, name);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(filled); i++)
		if (strcmp(name, filled[i].name) == 0)
			return release->minor >= filled[i].first &&
			       release->minor <= filled[i].last;
	return false;
}

/* Whether a capital follows the prefix: "cuLaunchKernel", not "cut". */
static bool has_prefix(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(name, prefix, len) == 0 && name[len] >= 'A' && name[len] <= 'Z';
}

/* Returns the beginning of the nested name in a mangled symbol of a function, a variable, a table
 * or a guard; NULL: it has none. */
static const char *cxx_scope(const char *name)
{
	if (strncmp(name, "_Z", 2) != 0)
		return NULL;
	name += 2;
	if (name[0] && name[1] &&
	    ((name[0] == 'T' && strchr("VTIS", name[1])) || (name[0] == 'G' && name[1] == 'V')))
		name += 2;
	return *name == 'N' ? name + 1 + strspn(name + 1, "rVKRO") : NULL;
}

/* "TVMFFI" is before "TVM", its prefix. A prefix counts only if a capital follows, so that "cu"
 * does not match "cudaMalloc". C++ symbols of TVM are recognised by their namespaces. */
const char *mpk_symbol_owner(const char *name)
{
	static const struct {
		const char *prefix, *owner;
	} owners[] = {
		{ "TVMFFI", "tvm-ffi" },
		{ "TVMBackend", "TVM's runtime" },
		{ "TVM", "TVM's runtime" },
		{ "cuda", "the CUDA runtime (libcudart)" },
		{ "cublas", "cuBLAS" },
		{ "cudnn", "cuDNN" },
		{ "nccl", "NCCL" },
		{ "nvrtc", "NVRTC" },
		{ "__cuda", "the CUDA runtime (libcudart)" },
		{ "cufft", "cuFFT" },
		{ "curand", "cuRAND" },
		{ "cusolver", "cuSOLVER" },
		{ "cusparse", "cuSPARSE" },
		{ "hipblas", "hipBLAS" },
		{ "hipfft", "hipFFT" },
		{ "hiprand", "hipRAND" },
		{ "hipsolver", "hipSOLVER" },
		{ "hipsparse", "hipSPARSE" },
		{ "hip", "the HIP runtime (libamdhip64)" },
		{ "__hip", "the HIP runtime (libamdhip64)" },
		{ "miopen", "MIOpen" },
		{ "cu", "the CUDA driver (libcuda.so.1)" },
		{ "cl", "OpenCL (libOpenCL.so.1)" },
		{ "vk", "Vulkan (libvulkan.so.1)" },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(owners); i++)
		if (has_prefix(name, owners[i].prefix))
			return owners[i].owner;
	name = cxx_scope(name);
	return !name                               ? NULL
	       : strncmp(name, "3tvm3ffi", 8) == 0 ? "tvm-ffi"
	       : strncmp(name, "3tvm", 4) == 0     ? "TVM's runtime"
						   : NULL;
}
