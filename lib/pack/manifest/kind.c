/* SPDX-License-Identifier: Apache-2.0 */
/* kind.c - the kinds that a manifest builds from parts: one row each */
#include "manifest/kind.h"

#include "base/compiler.h"

#define DEVICE(name, key, ...)                                                                     \
	{                                                                                          \
		name, key, true, { __VA_ARGS__ },                                                  \
		{ { 0 } }                                                                          \
	}

static const struct mpk_manifest_kind kinds[] = {
	{ MPK_KIND_HOST, "", false, { 0 }, { { 0 } } },
	DEVICE("cuda", "cuda", "ptx", "cubin", "fatbin", "cuda"),
	DEVICE("opencl", "opencl", "cl", "xclbin", "awsxclbin", "aocx"),
	DEVICE("metal", "metal", "metal", "metallib"),
	DEVICE("vulkan", "vulkan", "vulkan"),
	DEVICE("hip", "hip", "hsaco", "hip"),
	/* TVM's name of the target; the module its code becomes is of kind hip */
	DEVICE("rocm", "hip", "hsaco", "hip"),
	DEVICE("hsaco", "hsaco", "hsaco"),
	DEVICE("webgpu", "webgpu", "wgsl"),
	DEVICE("hexagon", "hexagon", "so"),
	DEVICE("aocl", "aocl", "aocx"),
	DEVICE("sdaccel", "sdaccel", "xclbin", "awsxclbin"),
	{ "GraphExecutorFactory",
	  "GraphExecutorFactory",
	  false,
	  { 0 },
	  { { "name", false }, { "graph", true }, { "params", false } } },
	{ "GraphRuntimeFactory",
	  "GraphRuntimeFactory",
	  false,
	  { 0 },
	  { { "name", false }, { "graph", true }, { "params", false } } },
	{ "AotExecutorFactory",
	  "AotExecutorFactory",
	  false,
	  { 0 },
	  { { "name", false }, { "params", false } } },
	{ "metadata_module", "metadata_module", false, { 0 }, { { 0 } } },
};

const struct mpk_manifest_kind *mpk_manifest_kind_find(struct mpk_span name)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(kinds); i++)
		if (mpk_span_is(name, kinds[i].name))
			return &kinds[i];
	return NULL;
}

const struct mpk_manifest_kind *mpk_manifest_kind_at(size_t i)
{
	return i < MPK_ARRAY_COUNT(kinds) ? &kinds[i] : NULL;
}
