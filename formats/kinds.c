/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.c - the table of module kinds
 *
 * A row names its codec by the end of mpk_codec_<name>, which is in the codec's own folder, and
 * declares it too: a kind with a new layout is that one file and one row here, a kind that is a
 * list of fields (record/FORMAT.md) the row alone.
 */
#include "kinds.h"

#include "base/compiler.h"
#include "payload.h"

/* Fields of a record: a string, one that is worth a file of its own, names, a number. */
#define STR(name) { name, MPK_FIELD_STR, NULL }
#define FILE_AS(name, file) { name, MPK_FIELD_STR, file }
#define STRS(name) { name, MPK_FIELD_STRS, NULL }
#define I32(name) { name, MPK_FIELD_I32, NULL }
#define FIELDS(...)                                                                                \
	{                                                                                          \
		.fields = { __VA_ARGS__ },                                                         \
		.count = MPK_ARRAY_COUNT(((struct mpk_record_field[]){ __VA_ARGS__ })),            \
	}
#define RECORD(...) &(const struct mpk_record_schema)FIELDS(__VA_ARGS__)

static const struct mpk_record_schema json_runtime =
	FIELDS(STR("symbol"), FILE_AS("graph_json", "graph.json"), STRS("const_names"));
const struct mpk_record_schema mpk_schema_static_library =
	FIELDS(FILE_AS("data", "library.o"), STRS("func_names"));

#define NOW MPK_RELEASE_NOW

/* X(key in the blob, title, role, first release, last release, codec, schema or NULL)
 * rocm, hex: some builds name the module after its target rather than its runtime. */
#define KINDS(X)                                                                                   \
	X("_lib", "host code", HOST, 7, NOW, empty, NULL)                                          \
                                                                                                   \
	X("cuda", "CUDA kernels", DEVICE, 2, NOW, kernels, NULL)                                   \
	X("opencl", "OpenCL kernels", DEVICE, 2, NOW, kernels, NULL)                               \
	X("metal", "Metal kernels", DEVICE, 2, NOW, kernels, NULL)                                 \
	X("vulkan", "Vulkan shaders", DEVICE, 3, NOW, kernels, NULL)                               \
	X("hip", "ROCm kernels", DEVICE, 3, NOW, kernels, NULL)                                    \
	X("hsaco", "ROCm kernels", DEVICE, 2, NOW, kernels, NULL)                                  \
	X("rocm", "ROCm kernels", DEVICE, 2, 23, kernels, NULL)                                    \
	X("hexagon", "Hexagon library", DEVICE, 7, NOW, kernels, NULL)                             \
	X("hex", "Hexagon library", DEVICE, 7, 23, kernels, NULL)                                  \
	X("webgpu", "WebGPU kernels", DEVICE, 12, NOW, kernels, NULL)                              \
	X("nki", "Trainium kernels", DEVICE, 24, NOW, kernels, NULL)                               \
	X("aocl", "Intel FPGA kernels", DEVICE, 4, 19, kernels, NULL)                              \
	X("sdaccel", "Xilinx FPGA kernels", DEVICE, 4, 19, kernels, NULL)                          \
	X("opengl", "OpenGL shaders", DEVICE, 2, 6, kernels, NULL)                                 \
                                                                                                   \
	X("relax.VMExecutable", "Relax VM executable", EXECUTOR, 20, NOW, relax, NULL)             \
	X("relax.Executable", "Relax VM executable", EXECUTOR, 16, 19, relax, NULL)                \
	X("VMExecutable", "Relay VM executable", EXECUTOR, 8, 19, relay, NULL)                     \
	X("GraphExecutorFactory", "graph executor", EXECUTOR, 8, 19, graph, NULL)                  \
	X("GraphRuntimeFactory", "graph executor", EXECUTOR, 7, 7, graph, NULL)                    \
	X("AotExecutorFactory", "AOT executor", EXECUTOR, 9, 19, aot, NULL)                        \
                                                                                                   \
	X("const_loader", "constants", DATA, 9, NOW, consts, NULL)                                 \
	X("metadata", "constants", DATA, 7, 8, consts, NULL)                                       \
	X("metadata_module", "metadata", DATA, 9, 19, empty, NULL)                                 \
                                                                                                   \
	X("dnnl_json", "oneDNN graph", EXTERN, 7, NOW, record, &json_runtime)                      \
	X("arm_compute_lib", "Arm Compute Library graph", EXTERN, 7, 23, record, &json_runtime)    \
	X("bnns_json", "Apple BNNS graph", EXTERN, 8, 23, record, &json_runtime)                   \
	X("tensorrt", "TensorRT graph", EXTERN, 8, NOW, record, &json_runtime)                     \
	X("clml", "Adreno OpenCL ML graph", EXTERN, 9, NOW, record, &json_runtime)                 \
	X("cublas_json", "cuBLAS graph", EXTERN, 16, NOW, record, &json_runtime)                   \
	X("cudnn_json", "cuDNN graph", EXTERN, 16, NOW, record, &json_runtime)                     \
	X("msc_tensorrt", "TensorRT graph", EXTERN, 16, 23, record, &json_runtime)                 \
	X("hipblas_json", "hipBLAS graph", EXTERN, 18, NOW, record, &json_runtime)                 \
	X("nnapi", "Android NNAPI graph", EXTERN, 18, NOW, record, &json_runtime)                  \
	X("example_npu_json", "example graph", EXTERN, 24, NOW, record, &json_runtime)             \
	X("examplejson", "example graph", EXTERN, 6, 6, record,                                    \
	  RECORD(FILE_AS("graph_json", "graph.json")))                                             \
	X("ethos-n", "Arm Ethos-N networks", EXTERN, 7, 18, ethosn, NULL)                          \
	X("coreml", "Core ML model", EXTERN, 7, NOW, record,                                       \
	  RECORD(STR("symbol"), FILE_AS("model", "model.mlmodelc.bin")))                           \
	X("VitisAIRuntime", "Vitis AI model", EXTERN, 8, 19, record,                               \
	  RECORD(FILE_AS("runtime_module", "runtime_module.bin"), STR("export_path"),              \
		 STR("symbol"), STRS("const_names")))                                              \
	X("torch", "TorchScript module", EXTERN, 9, 19, record,                                    \
	  RECORD(STR("symbol"), FILE_AS("module", "module.pt")))                                   \
	X("mrvl_sim", "Marvell simulator model", EXTERN, 16, 23, record,                           \
	  RECORD(STR("symbol"), FILE_AS("nodes_json", "nodes.json"),                               \
		 FILE_AS("bin_code", "code.bin")))                                                 \
	X("mrvl_hw", "Marvell model", EXTERN, 19, 23, record,                                      \
	  RECORD(STR("symbol"), FILE_AS("nodes_json", "nodes.json"),                               \
		 FILE_AS("bin_code", "code.bin"), I32("num_inputs"), I32("num_outputs"),           \
		 I32("num_batches")))                                                              \
                                                                                                   \
	X("c", "C source", SOURCE, 14, NOW, record,                                                \
	  RECORD(FILE_AS("code", "code.c"), STR("fmt"), STRS("func_names"), STRS("const_vars")))   \
	X("static_library", "object code", SOURCE, 14, NOW, record, &mpk_schema_static_library)

#define DECLARE(key, title, role, first, last, codec, schema)                                      \
	extern const struct mpk_codec mpk_codec_##codec;
KINDS(DECLARE)

static const struct mpk_kind kinds[] = {
#define ROW(key, title, role, first, last, codec, schema)                                          \
	{ key, title, MPK_ROLE_##role, first, last, &mpk_codec_##codec, schema },
	KINDS(ROW)
};

const struct mpk_kind *mpk_kind_find(struct mpk_span name)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(kinds); i++) {
		if (mpk_span_is(name, kinds[i].name))
			return &kinds[i];
	}
	return NULL;
}

const struct mpk_kind *mpk_kind_at(size_t i)
{
	return i < MPK_ARRAY_COUNT(kinds) ? &kinds[i] : NULL;
}
