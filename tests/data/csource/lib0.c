// tvm target: {"kind":"c","tag":"","keys":["cpu"]}
#define TVM_EXPORTS
#include "tvm/ffi/extra/c_env_api.h"
#include "tvm/runtime/base.h"
#include "tvm/runtime/c_backend_api.h"
#include "tvm/ffi/c_api.h"
#include <math.h>
#include <stdbool.h>
void* __tvm_ffi__library_ctx = NULL;
static void* __tvm_set_device_packed = NULL;
static void* vadd_kernel_packed = NULL;
#ifdef __cplusplus
extern "C"
#endif
TVM_DLL int32_t __tvm_ffi_vadd(void* self_handle, void* args, int32_t num_args, void* result);
#ifdef __cplusplus
extern "C"
#endif
TVM_DLL int32_t __tvm_ffi_vadd(void* self_handle, void* args, int32_t num_args, void* result) {
  TVMFFIAny stack[6];
  void* stack_ffi_any = (void*)((void*)stack);
  if (!((num_args == 3))) {
    const char* __tvm_assert_parts[6] = {"Expected ", "3", " arguments", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`"};
    TVMFFIErrorSetRaisedFromCStrParts("TypeError", __tvm_assert_parts, 6);
    return -1;
  }
  if (!(!(args == NULL))) {
    const char* __tvm_assert_parts[4] = {"args pointer is NULL", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`"};
    TVMFFIErrorSetRaisedFromCStrParts("TypeError", __tvm_assert_parts, 4);
    return -1;
  }
  int32_t A_type_index = (((TVMFFIAny*)args)[0].type_index);
  if (!(((((A_type_index == 0) || (A_type_index == 4)) || (A_type_index == 7)) || (A_type_index >= 64)))) {
    const char* __tvm_assert_parts[6] = {"Mismatched type on argument #", "0", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected ", "Tensor"};
    TVMFFIErrorSetRaisedFromCStrParts("TypeError", __tvm_assert_parts, 6);
    return -1;
  }
  void* condval;
  if (A_type_index == 70) {
    condval = ((void*)((char*)(((TVMFFIAny*)args)[0].v_ptr) + 24));
  } else {
    condval = (((TVMFFIAny*)args)[0].v_ptr);
  }
  void* A_handle = (void*)condval;
  int32_t B_type_index = (((TVMFFIAny*)args)[1].type_index);
  if (!(((((B_type_index == 0) || (B_type_index == 4)) || (B_type_index == 7)) || (B_type_index >= 64)))) {
    const char* __tvm_assert_parts[6] = {"Mismatched type on argument #", "1", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected ", "Tensor"};
    TVMFFIErrorSetRaisedFromCStrParts("TypeError", __tvm_assert_parts, 6);
    return -1;
  }
  void* condval_1;
  if (B_type_index == 70) {
    condval_1 = ((void*)((char*)(((TVMFFIAny*)args)[1].v_ptr) + 24));
  } else {
    condval_1 = (((TVMFFIAny*)args)[1].v_ptr);
  }
  void* B_handle = (void*)condval_1;
  int32_t C_type_index = (((TVMFFIAny*)args)[2].type_index);
  if (!(((((C_type_index == 0) || (C_type_index == 4)) || (C_type_index == 7)) || (C_type_index >= 64)))) {
    const char* __tvm_assert_parts[6] = {"Mismatched type on argument #", "2", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected ", "Tensor"};
    TVMFFIErrorSetRaisedFromCStrParts("TypeError", __tvm_assert_parts, 6);
    return -1;
  }
  void* condval_2;
  if (C_type_index == 70) {
    condval_2 = ((void*)((char*)(((TVMFFIAny*)args)[2].v_ptr) + 24));
  } else {
    condval_2 = (((TVMFFIAny*)args)[2].v_ptr);
  }
  void* C_handle = (void*)condval_2;
  if (!(!(A_handle == NULL))) {
    const char* __tvm_assert_parts[6] = {"Mismatched type on argument #", "0", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected ", "Tensor"};
    TVMFFIErrorSetRaisedFromCStrParts("TypeError", __tvm_assert_parts, 6);
    return -1;
  }
  if (!((1 == (((DLTensor*)A_handle)[0].ndim)))) {
    const char* __tvm_assert_parts[8] = {"Mismatched ", "A", ".ndim on argument #", "0", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected ", "1"};
    TVMFFIErrorSetRaisedFromCStrParts("ValueError", __tvm_assert_parts, 8);
    return -1;
  }
  if (!(((((((DLTensor*)A_handle)[0].dtype.code) == (uint8_t)2) && ((((DLTensor*)A_handle)[0].dtype.bits) == (uint8_t)32)) && ((((DLTensor*)A_handle)[0].dtype.lanes) == (uint16_t)1)))) {
    const char* __tvm_assert_parts[8] = {"Mismatched ", "A", ".dtype on argument #", "0", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected ", "float32"};
    TVMFFIErrorSetRaisedFromCStrParts("TypeError", __tvm_assert_parts, 8);
    return -1;
  }
  int64_t* vadd_A_shape = (int64_t*)(((DLTensor*)A_handle)[0].shape);
  int64_t* vadd_A_strides = (int64_t*)(((DLTensor*)A_handle)[0].strides);
  if (!(((((DLTensor*)A_handle)[0].device.device_type) == 4))) {
    const char* __tvm_assert_parts[8] = {"Mismatched ", "A", ".device_type on argument #", "0", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected ", "opencl"};
    TVMFFIErrorSetRaisedFromCStrParts("ValueError", __tvm_assert_parts, 8);
    return -1;
  }
  int32_t dev_id = (((DLTensor*)A_handle)[0].device.device_id);
  if (!(!(B_handle == NULL))) {
    const char* __tvm_assert_parts[6] = {"Mismatched type on argument #", "1", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected ", "Tensor"};
    TVMFFIErrorSetRaisedFromCStrParts("TypeError", __tvm_assert_parts, 6);
    return -1;
  }
  if (!((1 == (((DLTensor*)B_handle)[0].ndim)))) {
    const char* __tvm_assert_parts[8] = {"Mismatched ", "B", ".ndim on argument #", "1", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected ", "1"};
    TVMFFIErrorSetRaisedFromCStrParts("ValueError", __tvm_assert_parts, 8);
    return -1;
  }
  if (!(((((((DLTensor*)B_handle)[0].dtype.code) == (uint8_t)2) && ((((DLTensor*)B_handle)[0].dtype.bits) == (uint8_t)32)) && ((((DLTensor*)B_handle)[0].dtype.lanes) == (uint16_t)1)))) {
    const char* __tvm_assert_parts[8] = {"Mismatched ", "B", ".dtype on argument #", "1", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected ", "float32"};
    TVMFFIErrorSetRaisedFromCStrParts("TypeError", __tvm_assert_parts, 8);
    return -1;
  }
  int64_t* vadd_B_shape = (int64_t*)(((DLTensor*)B_handle)[0].shape);
  int64_t* vadd_B_strides = (int64_t*)(((DLTensor*)B_handle)[0].strides);
  if (!(((((DLTensor*)B_handle)[0].device.device_type) == 4))) {
    const char* __tvm_assert_parts[8] = {"Mismatched ", "B", ".device_type on argument #", "1", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected ", "opencl"};
    TVMFFIErrorSetRaisedFromCStrParts("ValueError", __tvm_assert_parts, 8);
    return -1;
  }
  if (!(!(C_handle == NULL))) {
    const char* __tvm_assert_parts[6] = {"Mismatched type on argument #", "2", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected ", "Tensor"};
    TVMFFIErrorSetRaisedFromCStrParts("TypeError", __tvm_assert_parts, 6);
    return -1;
  }
  if (!((1 == (((DLTensor*)C_handle)[0].ndim)))) {
    const char* __tvm_assert_parts[8] = {"Mismatched ", "C", ".ndim on argument #", "2", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected ", "1"};
    TVMFFIErrorSetRaisedFromCStrParts("ValueError", __tvm_assert_parts, 8);
    return -1;
  }
  if (!(((((((DLTensor*)C_handle)[0].dtype.code) == (uint8_t)2) && ((((DLTensor*)C_handle)[0].dtype.bits) == (uint8_t)32)) && ((((DLTensor*)C_handle)[0].dtype.lanes) == (uint16_t)1)))) {
    const char* __tvm_assert_parts[8] = {"Mismatched ", "C", ".dtype on argument #", "2", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected ", "float32"};
    TVMFFIErrorSetRaisedFromCStrParts("TypeError", __tvm_assert_parts, 8);
    return -1;
  }
  int64_t* vadd_C_shape = (int64_t*)(((DLTensor*)C_handle)[0].shape);
  int64_t* vadd_C_strides = (int64_t*)(((DLTensor*)C_handle)[0].strides);
  if (!(((((DLTensor*)C_handle)[0].device.device_type) == 4))) {
    const char* __tvm_assert_parts[8] = {"Mismatched ", "C", ".device_type on argument #", "2", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected ", "opencl"};
    TVMFFIErrorSetRaisedFromCStrParts("ValueError", __tvm_assert_parts, 8);
    return -1;
  }
  if (!(vadd_A_strides == NULL)) {
    if (!((1 == ((int32_t)(((int64_t*)vadd_A_strides)[0]))))) {
      const char* __tvm_assert_parts[7] = {"Mismatched ", "A", ".strides on argument #", "0", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected to be compact array"};
      TVMFFIErrorSetRaisedFromCStrParts("ValueError", __tvm_assert_parts, 7);
      return -1;
    }
  }
  if (!(!(((float*)(((DLTensor*)A_handle)[0].data)) == NULL))) {
    const char* __tvm_assert_parts[6] = {"A", " data pointer is NULL on argument #", "0", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected non-NULL data pointer"};
    TVMFFIErrorSetRaisedFromCStrParts("ValueError", __tvm_assert_parts, 6);
    return -1;
  }
  if (!(vadd_B_strides == NULL)) {
    if (!((1 == ((int32_t)(((int64_t*)vadd_B_strides)[0]))))) {
      const char* __tvm_assert_parts[7] = {"Mismatched ", "B", ".strides on argument #", "1", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected to be compact array"};
      TVMFFIErrorSetRaisedFromCStrParts("ValueError", __tvm_assert_parts, 7);
      return -1;
    }
  }
  if (!((dev_id == (((DLTensor*)B_handle)[0].device.device_id)))) {
    const char* __tvm_assert_parts[8] = {"Mismatched ", "B.device_id", " on argument #", "1", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected to match ", "A.device_id"};
    TVMFFIErrorSetRaisedFromCStrParts("ValueError", __tvm_assert_parts, 8);
    return -1;
  }
  if (!(!(((float*)(((DLTensor*)B_handle)[0].data)) == NULL))) {
    const char* __tvm_assert_parts[6] = {"B", " data pointer is NULL on argument #", "1", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected non-NULL data pointer"};
    TVMFFIErrorSetRaisedFromCStrParts("ValueError", __tvm_assert_parts, 6);
    return -1;
  }
  if (!(vadd_C_strides == NULL)) {
    if (!((1 == ((int32_t)(((int64_t*)vadd_C_strides)[0]))))) {
      const char* __tvm_assert_parts[7] = {"Mismatched ", "C", ".strides on argument #", "2", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected to be compact array"};
      TVMFFIErrorSetRaisedFromCStrParts("ValueError", __tvm_assert_parts, 7);
      return -1;
    }
  }
  if (!((dev_id == (((DLTensor*)C_handle)[0].device.device_id)))) {
    const char* __tvm_assert_parts[8] = {"Mismatched ", "C.device_id", " on argument #", "2", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected to match ", "A.device_id"};
    TVMFFIErrorSetRaisedFromCStrParts("ValueError", __tvm_assert_parts, 8);
    return -1;
  }
  if (!(!(((float*)(((DLTensor*)C_handle)[0].data)) == NULL))) {
    const char* __tvm_assert_parts[6] = {"C", " data pointer is NULL on argument #", "2", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected non-NULL data pointer"};
    TVMFFIErrorSetRaisedFromCStrParts("ValueError", __tvm_assert_parts, 6);
    return -1;
  }
  if (!((((int32_t)(((int64_t*)vadd_A_shape)[0])) == 64))) {
    const char* __tvm_assert_parts[8] = {"Invalid ", "A.shape[0]", " on argument #", "0", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected ", "64"};
    TVMFFIErrorSetRaisedFromCStrParts("ValueError", __tvm_assert_parts, 8);
    return -1;
  }
  if (!(((uint64_t)0ULL == (((DLTensor*)A_handle)[0].byte_offset)))) {
    const char* __tvm_assert_parts[8] = {"Invalid ", "A.byte_offset", " on argument #", "0", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected ", "0"};
    TVMFFIErrorSetRaisedFromCStrParts("ValueError", __tvm_assert_parts, 8);
    return -1;
  }
  if (!((((int32_t)(((int64_t*)vadd_B_shape)[0])) == 64))) {
    const char* __tvm_assert_parts[8] = {"Invalid ", "B.shape[0]", " on argument #", "1", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected ", "64"};
    TVMFFIErrorSetRaisedFromCStrParts("ValueError", __tvm_assert_parts, 8);
    return -1;
  }
  if (!(((uint64_t)0ULL == (((DLTensor*)B_handle)[0].byte_offset)))) {
    const char* __tvm_assert_parts[8] = {"Invalid ", "B.byte_offset", " on argument #", "1", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected ", "0"};
    TVMFFIErrorSetRaisedFromCStrParts("ValueError", __tvm_assert_parts, 8);
    return -1;
  }
  if (!((((int32_t)(((int64_t*)vadd_C_shape)[0])) == 64))) {
    const char* __tvm_assert_parts[8] = {"Invalid ", "C.shape[0]", " on argument #", "2", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected ", "64"};
    TVMFFIErrorSetRaisedFromCStrParts("ValueError", __tvm_assert_parts, 8);
    return -1;
  }
  if (!(((uint64_t)0ULL == (((DLTensor*)C_handle)[0].byte_offset)))) {
    const char* __tvm_assert_parts[8] = {"Invalid ", "C.byte_offset", " on argument #", "2", " when calling:\n  `", "vadd(A: Tensor([64], float32), B: Tensor([64], float32), C: Tensor([64], float32))", "`,\n  expected ", "0"};
    TVMFFIErrorSetRaisedFromCStrParts("ValueError", __tvm_assert_parts, 8);
    return -1;
  }
  float* A = ((float*)((float*)(((DLTensor*)A_handle)[0].data)));
  float* B = ((float*)((float*)(((DLTensor*)B_handle)[0].data)));
  float* C = ((float*)((float*)(((DLTensor*)C_handle)[0].data)));
  (((TVMFFIAny*)stack_ffi_any)[0].type_index) = 1;
  (((TVMFFIAny*)stack_ffi_any)[0].zero_padding) = 0;
  (((TVMFFIAny*)stack_ffi_any)[0].v_int64) = ((int64_t)4);
  (((TVMFFIAny*)stack_ffi_any)[1].type_index) = 1;
  (((TVMFFIAny*)stack_ffi_any)[1].zero_padding) = 0;
  (((TVMFFIAny*)stack_ffi_any)[1].v_int64) = ((int64_t)dev_id);
  (((TVMFFIAny*)stack_ffi_any)[2].type_index) = 0;
  (((TVMFFIAny*)stack_ffi_any)[2].zero_padding) = 0;
  (((TVMFFIAny*)stack_ffi_any)[2].v_int64) = (int64_t)0;
  if (__tvm_set_device_packed == NULL) {
    if (TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, "__tvm_set_device", &__tvm_set_device_packed) != 0) {
      return -1;
    }
  }
  TVMFFIAny result_1;
  result_1.type_index = kTVMFFINone;
  result_1.zero_padding = 0;
  result_1.v_int64 = 0;
  if (TVMFFIFunctionCall(__tvm_set_device_packed, (TVMFFIAny*) stack_ffi_any, 2, &result_1) != 0) {
    return -1;
  }
  if (A == NULL) {
    (((TVMFFIAny*)stack_ffi_any)[0].type_index) = 0;
  } else {
    (((TVMFFIAny*)stack_ffi_any)[0].type_index) = 4;
  }
  (((TVMFFIAny*)stack_ffi_any)[0].zero_padding) = 0;
  (((TVMFFIAny*)stack_ffi_any)[0].v_int64) = 0;
  (((TVMFFIAny*)stack_ffi_any)[0].v_ptr) = A;
  if (B == NULL) {
    (((TVMFFIAny*)stack_ffi_any)[1].type_index) = 0;
  } else {
    (((TVMFFIAny*)stack_ffi_any)[1].type_index) = 4;
  }
  (((TVMFFIAny*)stack_ffi_any)[1].zero_padding) = 0;
  (((TVMFFIAny*)stack_ffi_any)[1].v_int64) = 0;
  (((TVMFFIAny*)stack_ffi_any)[1].v_ptr) = B;
  if (C == NULL) {
    (((TVMFFIAny*)stack_ffi_any)[2].type_index) = 0;
  } else {
    (((TVMFFIAny*)stack_ffi_any)[2].type_index) = 4;
  }
  (((TVMFFIAny*)stack_ffi_any)[2].zero_padding) = 0;
  (((TVMFFIAny*)stack_ffi_any)[2].v_int64) = 0;
  (((TVMFFIAny*)stack_ffi_any)[2].v_ptr) = C;
  (((TVMFFIAny*)stack_ffi_any)[3].type_index) = 1;
  (((TVMFFIAny*)stack_ffi_any)[3].zero_padding) = 0;
  (((TVMFFIAny*)stack_ffi_any)[3].v_int64) = ((int64_t)2);
  (((TVMFFIAny*)stack_ffi_any)[4].type_index) = 1;
  (((TVMFFIAny*)stack_ffi_any)[4].zero_padding) = 0;
  (((TVMFFIAny*)stack_ffi_any)[4].v_int64) = ((int64_t)32);
  (((TVMFFIAny*)stack_ffi_any)[5].type_index) = 0;
  (((TVMFFIAny*)stack_ffi_any)[5].zero_padding) = 0;
  (((TVMFFIAny*)stack_ffi_any)[5].v_int64) = (int64_t)0;
  if (vadd_kernel_packed == NULL) {
    if (TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, "vadd_kernel", &vadd_kernel_packed) != 0) {
      return -1;
    }
  }
  TVMFFIAny result_2;
  result_2.type_index = kTVMFFINone;
  result_2.zero_padding = 0;
  result_2.v_int64 = 0;
  if (TVMFFIFunctionCall(vadd_kernel_packed, (TVMFFIAny*) stack_ffi_any, 5, &result_2) != 0) {
    return -1;
  }
  return 0;
}

// CodegenC: NOTE: Auto-generated entry function
#ifdef __cplusplus
extern "C"
#endif
TVM_DLL int32_t __tvm_ffi_main(void* self, void* args,int num_args, void* result) {
  return __tvm_ffi_vadd(self, args, num_args, result);
}
