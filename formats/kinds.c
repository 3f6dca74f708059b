#include "kinds.h"

#include "base/compiler.h"
#include "codecs.h"

#define NOW MPK_RELEASE_NOW
#define DEVICE(name, title, first, last)                                                           \
	{ name, title, MPK_ROLE_DEVICE, first, last, &mpk_codec_kernels, NULL }
#define EXECUTOR(name, title, first, last, codec)                                                  \
	{ name, title, MPK_ROLE_EXECUTOR, first, last, codec, NULL }
#define DATA(name, title, first, last, codec)                                                      \
	{ name, title, MPK_ROLE_DATA, first, last, codec, NULL }
#define RECORD(name, title, role, first, last, schema)                                             \
	{ name, title, role, first, last, &mpk_codec_record, schema }
#define EXTERN(name, title, first, last)                                                           \
	RECORD(name, title, MPK_ROLE_EXTERN, first, last, &mpk_schema_json_runtime)

static const struct mpk_kind kinds[] = {
	{ "_lib", "host code", MPK_ROLE_HOST, 7, NOW, &mpk_codec_empty, NULL },
	DEVICE("cuda", "CUDA kernels", 2, NOW),
	DEVICE("opencl", "OpenCL kernels", 2, NOW),
	DEVICE("metal", "Metal kernels", 2, NOW),
	DEVICE("vulkan", "Vulkan shaders", 3, NOW),
	DEVICE("hip", "ROCm kernels", 3, NOW),
	DEVICE("hsaco", "ROCm kernels", 2, NOW),
	/* Some builds name the module after the target rather than the runtime. */
	DEVICE("rocm", "ROCm kernels", 2, 23),
	DEVICE("hexagon", "Hexagon library", 7, NOW),
	DEVICE("hex", "Hexagon library", 7, 23),
	DEVICE("webgpu", "WebGPU kernels", 12, NOW),
	DEVICE("nki", "Trainium kernels", 24, NOW),
	DEVICE("aocl", "Intel FPGA kernels", 4, 19),
	DEVICE("sdaccel", "Xilinx FPGA kernels", 4, 19),
	DEVICE("opengl", "OpenGL shaders", 2, 6),

	EXECUTOR("relax.VMExecutable", "Relax VM executable", 20, NOW, &mpk_codec_relax),
	EXECUTOR("relax.Executable", "Relax VM executable", 16, 19, &mpk_codec_relax),
	EXECUTOR("VMExecutable", "Relay VM executable", 8, 19, &mpk_codec_relay),
	EXECUTOR("GraphExecutorFactory", "graph executor", 8, 19, &mpk_codec_graph),
	EXECUTOR("GraphRuntimeFactory", "graph executor", 7, 7, &mpk_codec_graph),
	EXECUTOR("AotExecutorFactory", "AOT executor", 9, 19, &mpk_codec_aot),

	DATA("const_loader", "constants", 9, NOW, &mpk_codec_consts),
	DATA("metadata", "constants", 7, 8, &mpk_codec_consts),
	DATA("metadata_module", "metadata", 9, 19, &mpk_codec_empty),

	EXTERN("dnnl_json", "oneDNN graph", 7, NOW),
	EXTERN("arm_compute_lib", "Arm Compute Library graph", 7, 23),
	EXTERN("bnns_json", "Apple BNNS graph", 8, 23),
	EXTERN("tensorrt", "TensorRT graph", 8, NOW),
	EXTERN("clml", "Adreno OpenCL ML graph", 9, NOW),
	EXTERN("cublas_json", "cuBLAS graph", 16, NOW),
	EXTERN("cudnn_json", "cuDNN graph", 16, NOW),
	EXTERN("msc_tensorrt", "TensorRT graph", 16, 23),
	EXTERN("hipblas_json", "hipBLAS graph", 18, NOW),
	EXTERN("nnapi", "Android NNAPI graph", 18, NOW),
	EXTERN("example_npu_json", "example graph", 24, NOW),
	RECORD("examplejson", "example graph", MPK_ROLE_EXTERN, 6, 6, &mpk_schema_example_json),
	{ "ethos-n", "Arm Ethos-N networks", MPK_ROLE_EXTERN, 7, 18, &mpk_codec_ethosn, NULL },
	RECORD("coreml", "Core ML model", MPK_ROLE_EXTERN, 7, NOW, &mpk_schema_coreml),
	RECORD("VitisAIRuntime", "Vitis AI model", MPK_ROLE_EXTERN, 8, 19, &mpk_schema_vitis_ai),
	RECORD("torch", "TorchScript module", MPK_ROLE_EXTERN, 9, 19, &mpk_schema_torch),
	RECORD("mrvl_sim", "Marvell simulator model", MPK_ROLE_EXTERN, 16, 23,
	       &mpk_schema_mrvl_sim),
	RECORD("mrvl_hw", "Marvell model", MPK_ROLE_EXTERN, 19, 23, &mpk_schema_mrvl_hw),

	RECORD("c", "C source", MPK_ROLE_SOURCE, 14, NOW, &mpk_schema_c),
	RECORD("static_library", "object code", MPK_ROLE_SOURCE, 14, NOW,
	       &mpk_schema_static_library),
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
