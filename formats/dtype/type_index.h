/* SPDX-License-Identifier: Apache-2.0 */
/* type_index.h - the type of a value in a call, in the numbers of each generation
 *
 * The numbers are in packed arguments, in objects and in the constants of Relax executables. */
#ifndef MPK_FORMATS_DTYPE_TYPE_INDEX_H
#define MPK_FORMATS_DTYPE_TYPE_INDEX_H

/* TVM 0.2 - 0.20: type codes */
enum mpk_tvm_code {
	MPK_TVM_INT = 0,
	MPK_TVM_UINT = 1,
	MPK_TVM_FLOAT = 2,
	MPK_TVM_HANDLE = 3,
	MPK_TVM_NULL = 4,
	MPK_TVM_DTYPE = 5,
	MPK_TVM_DEVICE = 6,
	MPK_TVM_DLTENSOR = 7,
	MPK_TVM_OBJECT = 8,
	MPK_TVM_MODULE = 9,
	MPK_TVM_FUNCTION = 10,
	MPK_TVM_STR = 11,
	MPK_TVM_BYTES = 12,
	MPK_TVM_NDARRAY = 13,
	MPK_TVM_BOOL = 15, /* from 0.18 on */
};

/* tvm-ffi: type indices that TVM 0.21 and 0.22 number alike */
enum mpk_ffi_type {
	MPK_FFI_NONE = 0,
	MPK_FFI_INT = 1,
	MPK_FFI_BOOL = 2,
	MPK_FFI_FLOAT = 3,
	MPK_FFI_OPAQUE = 4,
	MPK_FFI_DTYPE = 5,
	MPK_FFI_DEVICE = 6,
	MPK_FFI_DLTENSOR = 7,
	MPK_FFI_RAW_STR = 8,
	MPK_FFI_BYTE_ARRAY = 9,
	MPK_FFI_RVALUE = 10,
	MPK_FFI_SMALL_STR = 11,
	MPK_FFI_SMALL_BYTES = 12, /* from 0.22 on */
	MPK_FFI_OBJECT = 64,
	MPK_FFI_STR = 65,
	MPK_FFI_BYTES = 66,
	MPK_FFI_ERROR = 67,
	MPK_FFI_FUNCTION = 68,
	MPK_FFI_MODULE = 73,
	MPK_FFI_STORAGE = 128, /* vm.Storage; numbers above 127 are assigned at run time */
	MPK_FFI_STATE = 129,   /* caches and states of models; an object of this project */
};

/* The four types that 0.21 and 0.22 number differently. */
enum mpk_ffi_container_type {
	MPK_FFI_SHAPE = 69, /* 0.22 on */
	MPK_FFI_TENSOR = 70,
	MPK_FFI_ARRAY = 71,
	MPK_FFI_MAP = 72,

	MPK_FFI021_ARRAY = 69, /* 0.21 */
	MPK_FFI021_MAP = 70,
	MPK_FFI021_SHAPE = 71,
	MPK_FFI021_TENSOR = 72,
};

#endif
