/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - the C layouts of both calling conventions (tvm-blob(5), Conventions), LP64 */
#ifndef MPK_ABI_INTERNAL_LAYOUT_H
#define MPK_ABI_INTERNAL_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "dtype/type_index.h"
#include "value/value.h"

/* What dlsym gives is an object pointer; ISO C knows no way from there to a function. */
#define MPK_CODE(type, address) ((type *)(uintptr_t)(address))

/* --- legacy: TVM 0.2 - 0.20 --------------------------------------------------------- */

union mpk_tvm_value {
	int64_t v_int64;
	double v_float64;
	void *v_handle;
	const char *v_str;
	struct mpk_dtype v_type;
	struct mpk_dldevice v_device;
};

struct mpk_tvm_bytes {
	const char *data;
	size_t size;
};

/* resource_handle came with 0.7; older functions ignore the arguments after their
 * third */
typedef int mpk_tvm_function(union mpk_tvm_value *args, int *codes, int count,
			     union mpk_tvm_value *result, int *result_code, void *resource);

/* --- tvm-ffi: TVM 0.21 and 0.22 on -------------------------------------------------- */

struct mpk_ffi_any {
	int32_t type_index;
	uint32_t small_len; /* of small strings and bytes; else 0 */
	union {
		int64_t v_int64;
		double v_float64;
		void *v_ptr;
		const char *v_c_str;
		struct mpk_dtype v_dtype;
		struct mpk_dldevice v_device;
		char v_bytes[8];
	};
};

struct mpk_ffi_bytes {
	const char *data;
	size_t size;
};

enum { MPK_FFI_SMALL_MAX = 7 };

/* Header of an object from 0.22 on, 24 bytes. */
struct mpk_ffi_object {
	uint64_t refs; /* low half strong, high half weak; all strong ones are one weak */
	int32_t type_index;
	uint32_t padding; /* of objects of ours MPK_FFI_KEPT or 0 */
	void (*deleter)(void *self, int flags);
};

/* Who lends an object again and again has a reference to it (mpk_ffi_lend). */
enum { MPK_FFI_KEPT = 0x6b657074 };

/* Header of an object of 0.21, 16 bytes. */
struct mpk_ffi021_object {
	int32_t type_index;
	int32_t refs;
	void (*deleter)(void *self);
};

enum { MPK_FFI_DELETE_STRONG = 1, MPK_FFI_DELETE_WEAK = 2 };

typedef int mpk_ffi_safe_call(void *self, const struct mpk_ffi_any *args, int32_t count,
			      struct mpk_ffi_any *result);

/* What follows the header. */
struct mpk_ffi_text_cell {
	const char *data;
	size_t size;
};

struct mpk_ffi_shape_cell {
	const int64_t *data;
	size_t size;
};

struct mpk_ffi_function_cell {
	mpk_ffi_safe_call *safe_call;
	void *cpp_call;              /* 0.22 on */
	struct mpk_function *target; /* ours: what is called; NULL once it is gone */
};

struct mpk_ffi_error_cell {
	struct mpk_ffi_bytes kind, message, backtrace;
	void (*update_backtrace)(void *self, const struct mpk_ffi_bytes *text, int32_t mode);
	void *cause_chain, *extra_context; /* tvm-ffi 0.1.8 on */
};

#endif
