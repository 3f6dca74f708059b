/* SPDX-License-Identifier: Apache-2.0 */
/* our declarations of HIP's runtime against those of ROCm, where its header is here */
#include <check.h>
#include <stdio.h>

#if __has_include(<hip/hip_runtime_api.h>)
#define HAVE_ROCM 1
#define __HIP_PLATFORM_AMD__ 1
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wundef"
#include <hip/hip_runtime_api.h>
#pragma GCC diagnostic pop
#include <hip/hip_version.h>
#undef hipGetDeviceProperties /* HIP 6 says another function by that name */
#endif
#include "device/internal/hip_abi.h"
#include "skip.h"

#ifdef HAVE_ROCM
/* Enums and handles have other names there than in our rows, which are CUDA's: below is each prototype as our rows take
 * it to be, and that what crosses a call has the size of theirs. */
#define SAME_VALUE(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
SAME_VALUE(MPK_HIP_MAX_BLOCK_X, hipDeviceAttributeMaxBlockDimX);
SAME_VALUE(MPK_HIP_MAX_BLOCK_X + 1, hipDeviceAttributeMaxBlockDimY);
SAME_VALUE(MPK_HIP_MAX_BLOCK_X + 2, hipDeviceAttributeMaxBlockDimZ);
SAME_VALUE(MPK_HIP_MAX_GRID_X, hipDeviceAttributeMaxGridDimX);
SAME_VALUE(MPK_HIP_MAX_GRID_X + 1, hipDeviceAttributeMaxGridDimY);
SAME_VALUE(MPK_HIP_MAX_GRID_X + 2, hipDeviceAttributeMaxGridDimZ);
SAME_VALUE(MPK_HIP_MAX_THREADS_PER_BLOCK, hipDeviceAttributeMaxThreadsPerBlock);
SAME_VALUE(MPK_HIP_MULTIPROCESSORS, hipDeviceAttributeMultiprocessorCount);
SAME_VALUE(MPK_HIP_MAX_SHARED_PER_BLOCK, hipDeviceAttributeMaxSharedMemoryPerBlock);
SAME_VALUE(MPK_CU_FUNC_MAX_THREADS, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME_VALUE(MPK_CU_FUNC_SHARED_BYTES, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME_VALUE(MPK_CU_SUCCESS, hipSuccess);
SAME_VALUE(MPK_CU_INVALID_VALUE, hipErrorInvalidValue);
SAME_VALUE(MPK_CU_OUT_OF_MEMORY, hipErrorOutOfMemory);
SAME_VALUE(MPK_HIP_INSUFFICIENT_DRIVER, hipErrorInsufficientDriver);
SAME_VALUE(MPK_HIP_INVALID_DEVICE_FUNCTION, hipErrorInvalidDeviceFunction);
SAME_VALUE(MPK_CU_NO_DEVICE, hipErrorNoDevice);
SAME_VALUE(MPK_CU_INVALID_IMAGE, hipErrorInvalidImage);
SAME_VALUE(MPK_CU_NO_BINARY_FOR_GPU, hipErrorNoBinaryForGpu);
SAME_VALUE(MPK_HIP_INVALID_KERNEL_FILE, hipErrorInvalidKernelFile);
SAME_VALUE(MPK_HIP_SHARED_OBJECT_INIT_FAILED, hipErrorSharedObjectInitFailed);
SAME_VALUE(MPK_CU_NOT_FOUND, hipErrorNotFound);
SAME_VALUE(MPK_CU_ILLEGAL_ADDRESS, hipErrorIllegalAddress);
SAME_VALUE(MPK_CU_LAUNCH_OUT_OF_RESOURCES, hipErrorLaunchOutOfResources);
SAME_VALUE(MPK_CU_ASSERT, hipErrorAssert);
SAME_VALUE(MPK_CU_LAUNCH_FAILED, hipErrorLaunchFailure);
SAME_VALUE(MPK_CU_COOPERATIVE_TOO_LARGE, hipErrorCooperativeLaunchTooLarge);
SAME_VALUE(MPK_HIP_NOT_SUPPORTED, hipErrorNotSupported);
#if HIP_VERSION_MAJOR >= 6
SAME_VALUE(MPK_HIP_ARCH_OFF_R0600, offsetof(hipDeviceProp_t, gcnArchName));
#else
SAME_VALUE(MPK_HIP_ARCH_OFF_OLD, offsetof(hipDeviceProp_t, gcnArchName));
#endif
_Static_assert(sizeof(hipDeviceProp_t) <= MPK_HIP_PROPERTIES_BYTES, "room");
_Static_assert(sizeof(((hipDeviceProp_t *)0)->gcnArchName) == MPK_HIP_ARCH_BYTES, "name");

/* What crosses a call: numbers by size, pointers alike; each of theirs stands beside what our row has. */
_Static_assert(sizeof(hipError_t) == sizeof(unsigned), "status");
_Static_assert(sizeof(hipDevice_t) == sizeof(int), "device");
_Static_assert(sizeof(hipDeviceptr_t) == sizeof(unsigned long long), "address");
_Static_assert(sizeof(hipDeviceAttribute_t) == sizeof(unsigned), "attribute");
_Static_assert(sizeof(hipFunction_attribute) == sizeof(unsigned), "attribute");
_Static_assert(sizeof(hipModule_t) == sizeof(void *), "module");
_Static_assert(sizeof(hipFunction_t) == sizeof(void *), "function");
_Static_assert(sizeof(hipStream_t) == sizeof(void *), "stream");

#define SAME_TYPE(function, type)                                                                  \
	_Static_assert(_Generic(&(function), type: 1, default: 0), #function)
SAME_TYPE(hipInit, hipError_t (*)(unsigned));
SAME_TYPE(hipDriverGetVersion, hipError_t (*)(int *));
SAME_TYPE(hipGetErrorName, const char *(*)(hipError_t));
SAME_TYPE(hipGetDeviceCount, hipError_t (*)(int *));
SAME_TYPE(hipDeviceGet, hipError_t (*)(hipDevice_t *, int));
SAME_TYPE(hipDeviceGetName, hipError_t (*)(char *, int, hipDevice_t));
SAME_TYPE(hipDeviceTotalMem, hipError_t (*)(size_t *, hipDevice_t));
SAME_TYPE(hipDeviceGetAttribute, hipError_t (*)(int *, hipDeviceAttribute_t, int));
SAME_TYPE(hipSetDevice, hipError_t (*)(int));
SAME_TYPE(hipStreamSynchronize, hipError_t (*)(hipStream_t));
SAME_TYPE(hipMalloc, hipError_t (*)(void **, size_t));
SAME_TYPE(hipFree, hipError_t (*)(void *));
SAME_TYPE(hipMemcpyHtoD, hipError_t (*)(hipDeviceptr_t, void *, size_t));
SAME_TYPE(hipMemcpyDtoH, hipError_t (*)(void *, hipDeviceptr_t, size_t));
SAME_TYPE(hipMemcpyDtoDAsync, hipError_t (*)(hipDeviceptr_t, hipDeviceptr_t, size_t, hipStream_t));
SAME_TYPE(hipModuleLoadDataEx,
	  hipError_t (*)(hipModule_t *, const void *, unsigned, hipJitOption *, void **));
SAME_TYPE(hipModuleUnload, hipError_t (*)(hipModule_t));
SAME_TYPE(hipModuleGetFunction, hipError_t (*)(hipFunction_t *, hipModule_t, const char *));
SAME_TYPE(hipFuncGetAttribute, hipError_t (*)(int *, hipFunction_attribute, hipFunction_t));
SAME_TYPE(hipModuleLaunchKernel,
	  hipError_t (*)(hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			 unsigned, hipStream_t, void **, void **));
#if HIP_VERSION_MAJOR >= 6
SAME_TYPE(hipModuleLaunchCooperativeKernel,
	  hipError_t (*)(hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			 unsigned, hipStream_t, void **));
#endif
#endif

START_TEST(declarations_are_rocms)
{
#ifdef HAVE_ROCM
	printf("compared with HIP %d.%d\n", HIP_VERSION_MAJOR, HIP_VERSION_MINOR);
	ck_assert_int_ge(HIP_VERSION_MAJOR, 5);
#else
	SKIP_TEST(
		"hip/hip_runtime_api.h is not installed (libamdhip64-dev); nothing to compare with");
#endif
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hip_abi");
	TCase *tc = tcase_create("hip_abi");
	SRunner *r = srunner_create(s);

	tcase_add_test(tc, declarations_are_rocms);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
