/* SPDX-License-Identifier: Apache-2.0 */
/* The table is made (globals.def); which option of TVM's build brings what the wheels lack is read in its
 * CMake files. */
#include "compat/release.h"

#include <stdio.h>
#include <string.h>

#include "base/vec.h"

enum {
	FFI = 1 << 0,
	T25 = 1 << 1,
	T26 = 1 << 2,
	T27 = 1 << 3,
	P25 = 1 << 4,
	P26 = 1 << 5,
	P27 = 1 << 6,
	C25 = 1 << 7,
	C26 = 1 << 8,
	C27 = 1 << 9,
};

struct row {
	const char *name;
	uint16_t where;
};

static const struct row rows[] = {
#define G(name, where) { name, where },
#include "compat/globals.def"
#undef G
};

/* Where a release's functions come from. */
static const struct wheel {
	unsigned minor;
	uint16_t libraries, python, cuda;
} wheels[] = {
	{ MPK_TVM_FFI, FFI, 0, 0 },
	{ 25, T25, P25, C25 },
	{ 26, T26, P26, C26 },
	{ 27, T27, P27, C27 },
};

/* Beginnings of names, and what TVM's build needs to register such. */
static const struct {
	const char *prefix, *option;
} options[] = {
	{ "device_api.cuda", "USE_CUDA" },
	{ "device_api.hexagon", "USE_HEXAGON" },
	{ "device_api.metal", "USE_METAL" },
	{ "device_api.opencl", "USE_OPENCL" },
	{ "device_api.rocm", "USE_ROCM" },
	{ "device_api.vulkan", "USE_VULKAN" },
	{ "runtime.CUBLASJSONRuntimeCreate", "USE_CUBLAS" },
	{ "runtime.DNNLJSONRuntimeCreate", "USE_DNNL" },
	{ "runtime.ExampleNPUJSONRuntimeCreate", "USE_EXAMPLE_NPU_RUNTIME" },
	{ "runtime.HIPBLASJSONRuntimeCreate", "USE_HIPBLAS" },
	{ "runtime.clml_runtime_create", "USE_CLML_GRAPH_EXECUTOR" },
	{ "runtime.cuDNNJSONRuntimeCreate", "USE_CUDNN" },
	{ "runtime.disco.nccl", "USE_NCCL" },
	{ "runtime.disco.nvshmem", "USE_NVSHMEM" },
	{ "runtime.nnapi_runtime_create", "USE_NNAPI_RUNTIME" },
	{ "runtime.tensorrt_runtime_create", "USE_TENSORRT_RUNTIME" },
	{ "tvm.contrib.amx.", "USE_MKL" },
	{ "tvm.contrib.cblas.", "USE_BLAS" },
	{ "tvm.contrib.cublas.", "USE_CUBLAS" },
	{ "tvm.contrib.cublaslt.", "USE_CUBLAS" },
	{ "tvm.contrib.cudnn.", "USE_CUDNN" },
	{ "tvm.contrib.curand.", "USE_CURAND" },
	{ "tvm.contrib.dnnl.", "USE_DNNL" },
	{ "tvm.contrib.hipblas.", "USE_HIPBLAS" },
	{ "tvm.contrib.hipblaslt.", "USE_HIPBLAS" },
	{ "tvm.contrib.miopen.", "USE_MIOPEN" },
	{ "tvm.contrib.mkl.", "USE_MKL" },
	{ "tvm.contrib.mps.", "USE_MPS" },
	{ "tvm.contrib.nnpack.", "USE_NNPACK" },
	{ "tvm.contrib.rocblas.", "USE_ROCBLAS" },
	{ "tvm.contrib.thrust.", "USE_THRUST" },
};

static int globals_by_name(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static unsigned where_is(struct mpk_span name)
{
	char text[128]; /* all names are shorter */
	const struct row key = { .name = text };
	size_t at;

	if (name.len >= sizeof text || (name.len && memchr(name.data, 0, name.len)))
		return 0;
	memcpy(text, name.data ? (const char *)name.data : "", name.len);
	text[name.len] = 0;
	at = mpk_lower_bound(rows, MPK_ARRAY_COUNT(rows), sizeof *rows, &key, globals_by_name);
	return at < MPK_ARRAY_COUNT(rows) && strcmp(rows[at].name, text) == 0 ? rows[at].where : 0;
}

static const struct wheel *wheel_of(const struct mpk_release *release)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(wheels); i++)
		if (wheels[i].minor == release->minor)
			return &wheels[i];
	return NULL;
}

static void set_releases(unsigned where, char *out, size_t size)
{
	const struct wheel *have[MPK_ARRAY_COUNT(wheels)];
	size_t count = 0, n = 0;

	out[0] = 0;
	for (size_t i = 1; i < MPK_ARRAY_COUNT(wheels); i++)
		if (where & (wheels[i].libraries | wheels[i].python | wheels[i].cuda))
			have[count++] = &wheels[i];
	for (size_t i = 0; i < count && n < size; i++) {
		const char *between = !i ? "TVM " : i + 1 < count ? ", " : " and ";

		n += (size_t)snprintf(out + n, size - n, "%s0.%u", between, have[i]->minor);
	}
}

static const char *option_of(struct mpk_span name)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(options); i++)
		if (mpk_span_starts(name, options[i].prefix))
			return options[i].option;
	return NULL;
}

enum mpk_global_state mpk_release_global(const struct mpk_release *release, struct mpk_span name,
					 struct mpk_global_info *info)
{
	const struct wheel *wheel = wheel_of(release);
	unsigned where = where_is(name);

	if (info) {
		*info = (struct mpk_global_info){
			.option = option_of(name),
			.is_pythons =
				where & (P25 | P26 | P27) && !(where & (FFI | T25 | T26 | T27)),
		};
		set_releases(where, info->releases, sizeof info->releases);
	}
	if (!wheel)
		return MPK_GLOBAL_UNKNOWN;
	return where & wheel->libraries ? MPK_GLOBAL_THERE
	       : where & wheel->python  ? MPK_GLOBAL_PYTHON
	       : where & wheel->cuda    ? MPK_GLOBAL_SIDECAR
					: MPK_GLOBAL_MISSING;
}
