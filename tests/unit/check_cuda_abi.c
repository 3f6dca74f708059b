/* SPDX-License-Identifier: Apache-2.0 */
/* our declarations of the CUDA driver against those of NVIDIA's toolkit, where it is here */
#include <check.h>
#include <stdio.h>

#if __has_include(<cudaTypedefs.h>)
#define HAVE_TOOLKIT 1
#include <cudaTypedefs.h>
#define MPK_CU_LAUNCH_CONFIG CUlaunchConfig
#define mpk_cu_context CUctx_st
#define mpk_cu_module CUmod_st
#define mpk_cu_function CUfunc_st
#define mpk_cu_stream CUstream_st
#endif
#include "device/internal/cuda_abi.h"
#include "skip.h"

#ifdef HAVE_TOOLKIT
/* Every row: the type of our pointer is the type the toolkit gives for this version. */
#define SAME_TYPE(name, symbol, need, params, driver)                                              \
	_Static_assert(_Generic((((struct mpk_cuda_api *)0)->name),                                \
			       PFN_##name##_v##driver: 1,                                          \
			       default: 0),                                                        \
		       #name);
MPK_CUDA_SYMBOLS(SAME_TYPE)

#define SAME_FIELD(ours, theirs)                                                                   \
	_Static_assert(offsetof(struct mpk_cu_launch_config, ours) ==                              \
			       offsetof(CUlaunchConfig, theirs),                                   \
		       #theirs)
SAME_FIELD(grid_x, gridDimX);
SAME_FIELD(grid_y, gridDimY);
SAME_FIELD(grid_z, gridDimZ);
SAME_FIELD(block_x, blockDimX);
SAME_FIELD(block_y, blockDimY);
SAME_FIELD(block_z, blockDimZ);
SAME_FIELD(shared_bytes, sharedMemBytes);
SAME_FIELD(stream, hStream);
SAME_FIELD(attributes, attrs);
SAME_FIELD(attribute_count, numAttrs);
_Static_assert(sizeof(struct mpk_cu_launch_config) == sizeof(CUlaunchConfig), "config");
_Static_assert(sizeof(struct mpk_cu_launch_attribute) == sizeof(CUlaunchAttribute), "size");
_Static_assert(offsetof(struct mpk_cu_launch_attribute, value) ==
		       offsetof(CUlaunchAttribute, value),
	       "value");
_Static_assert(offsetof(CUlaunchAttributeValue, clusterDim.z) == 8, "cluster");
_Static_assert(offsetof(CUlaunchAttributeValue, cooperative) == 0, "flag");

#define SAME_VALUE(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
SAME_VALUE(MPK_CU_LAUNCH_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
SAME_VALUE(MPK_CU_LAUNCH_CLUSTER, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
SAME_VALUE(MPK_CU_LAUNCH_PROGRAMMATIC, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
#if CUDA_VERSION >= 12080
SAME_VALUE(MPK_CU_LAUNCH_PREFERRED_CLUSTER, CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION);
#endif
SAME_VALUE(MPK_CU_MAX_THREADS_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME_VALUE(MPK_CU_MAX_BLOCK_X, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
SAME_VALUE(MPK_CU_MAX_GRID_X, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
SAME_VALUE(MPK_CU_MAX_SHARED_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
SAME_VALUE(MPK_CU_MULTIPROCESSORS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME_VALUE(MPK_CU_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME_VALUE(MPK_CU_CAPABILITY_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME_VALUE(MPK_CU_MAX_SHARED_OPTIN, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME_VALUE(MPK_CU_FUNC_MAX_THREADS, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME_VALUE(MPK_CU_FUNC_SHARED_BYTES, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME_VALUE(MPK_CU_FUNC_MAX_DYNAMIC_SHARED, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME_VALUE(MPK_CU_FUNC_NON_PORTABLE_CLUSTER, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
SAME_VALUE(MPK_CU_JIT_INFO_LOG, CU_JIT_INFO_LOG_BUFFER);
SAME_VALUE(MPK_CU_JIT_INFO_LOG_BYTES, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);
SAME_VALUE(MPK_CU_JIT_ERROR_LOG, CU_JIT_ERROR_LOG_BUFFER);
SAME_VALUE(MPK_CU_JIT_ERROR_LOG_BYTES, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
#define SAME_STATUS(name) SAME_VALUE(MPK_CU_##name, CUDA_ERROR_##name)
SAME_STATUS(INVALID_VALUE);
SAME_STATUS(OUT_OF_MEMORY);
SAME_STATUS(STUB_LIBRARY);
SAME_STATUS(NO_DEVICE);
SAME_STATUS(INVALID_IMAGE);
SAME_STATUS(NO_BINARY_FOR_GPU);
SAME_STATUS(INVALID_PTX);
SAME_STATUS(UNSUPPORTED_PTX_VERSION);
SAME_STATUS(INVALID_SOURCE);
SAME_STATUS(NOT_FOUND);
SAME_STATUS(ILLEGAL_ADDRESS);
SAME_STATUS(LAUNCH_OUT_OF_RESOURCES);
SAME_STATUS(LAUNCH_TIMEOUT);
SAME_STATUS(ASSERT);
SAME_STATUS(ILLEGAL_INSTRUCTION);
SAME_STATUS(MISALIGNED_ADDRESS);
SAME_STATUS(LAUNCH_FAILED);
SAME_STATUS(SYSTEM_DRIVER_MISMATCH);
SAME_STATUS(INVALID_CLUSTER_SIZE);
SAME_VALUE(MPK_CU_COOPERATIVE_TOO_LARGE, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
#endif

START_TEST(declarations_are_the_toolkits)
{
#ifdef HAVE_TOOLKIT
	printf("compared with the toolkit's CUDA %d\n", CUDA_VERSION);
	ck_assert_int_ge(CUDA_VERSION, 12040);
#else
	SKIP_TEST("cudaTypedefs.h is not installed; nothing to compare with");
#endif
}
END_TEST

int main(void)
{
	Suite *s = suite_create("cuda_abi");
	TCase *tc = tcase_create("cuda_abi");
	SRunner *r = srunner_create(s);

	tcase_add_test(tc, declarations_are_the_toolkits);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
