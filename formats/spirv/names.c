/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - what the SPIR-V specification calls the numbers that a module declares about itself
 *
 * Of the tables in its section 3, "Binary Form", those of execution models, addressing models, memory
 * models and capabilities. An unknown number is no error: the specification grows, and vendors have
 * ranges of their own.
 */
#include "spirv/spirv.h"

#include "base/compiler.h"

struct spirv_name {
	uint32_t number;
	const char *text; /* NULL ends a table */
};

static const struct spirv_name model_names[] = {
	{ 0, "Vertex" },
	{ 1, "TessellationControl" },
	{ 2, "TessellationEvaluation" },
	{ 3, "Geometry" },
	{ 4, "Fragment" },
	{ 5, "GLCompute" },
	{ 6, "Kernel" },
	{ 0, NULL },
};

static const struct spirv_name addressing_names[] = {
	{ 0, "Logical" },    { 1, "Physical32" },
	{ 2, "Physical64" }, { 5348, "PhysicalStorageBuffer64" },
	{ 0, NULL },
};

static const struct spirv_name memory_names[] = {
	{ 0, "Simple" }, { 1, "GLSL450" }, { 2, "OpenCL" }, { 3, "Vulkan" }, { 0, NULL },
};

/* Those that compute kernels ask for; rendering has many more. */
static const struct spirv_name capability_names[] = {
	{ 0, "Matrix" },
	{ 1, "Shader" },
	{ 4, "Addresses" },
	{ 5, "Linkage" },
	{ 6, "Kernel" },
	{ 7, "Vector16" },
	{ 8, "Float16Buffer" },
	{ 9, "Float16" },
	{ 10, "Float64" },
	{ 11, "Int64" },
	{ 12, "Int64Atomics" },
	{ 13, "ImageBasic" },
	{ 14, "ImageReadWrite" },
	{ 15, "ImageMipmap" },
	{ 17, "Pipes" },
	{ 18, "Groups" },
	{ 19, "DeviceEnqueue" },
	{ 20, "LiteralSampler" },
	{ 21, "AtomicStorage" },
	{ 22, "Int16" },
	{ 38, "GenericPointer" },
	{ 39, "Int8" },
	{ 58, "SubgroupDispatch" },
	{ 59, "NamedBarrier" },
	{ 60, "PipeStorage" },
	{ 61, "GroupNonUniform" },
	{ 62, "GroupNonUniformVote" },
	{ 63, "GroupNonUniformArithmetic" },
	{ 64, "GroupNonUniformBallot" },
	{ 65, "GroupNonUniformShuffle" },
	{ 66, "GroupNonUniformShuffleRelative" },
	{ 67, "GroupNonUniformClustered" },
	{ 68, "GroupNonUniformQuad" },
	{ 4433, "StorageBuffer16BitAccess" },
	{ 4434, "UniformAndStorageBuffer16BitAccess" },
	{ 4435, "StoragePushConstant16" },
	{ 4436, "StorageInputOutput16" },
	{ 4441, "VariablePointersStorageBuffer" },
	{ 4442, "VariablePointers" },
	{ 4448, "StorageBuffer8BitAccess" },
	{ 4449, "UniformAndStorageBuffer8BitAccess" },
	{ 4450, "StoragePushConstant8" },
	{ 5345, "VulkanMemoryModel" },
	{ 5346, "VulkanMemoryModelDeviceScope" },
	{ 5347, "PhysicalStorageBufferAddresses" },
	{ 5357, "CooperativeMatrixNV" },
	{ 6016, "DotProductInputAll" },
	{ 6017, "DotProductInput4x8Bit" },
	{ 6018, "DotProductInput4x8BitPacked" },
	{ 6019, "DotProduct" },
	{ 0, NULL },
};

const char *mpk_spirv_name(enum mpk_spirv_table table, uint32_t number)
{
	static const struct spirv_name *const tables[] = {
		[MPK_SPIRV_MODEL] = model_names,
		[MPK_SPIRV_CAPABILITY] = capability_names,
		[MPK_SPIRV_ADDRESSING] = addressing_names,
		[MPK_SPIRV_MEMORY] = memory_names,
	};

	for (const struct spirv_name *n = tables[table]; n->text; n++)
		if (n->number == number)
			return n->text;
	return NULL;
}
