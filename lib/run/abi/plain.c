/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/internal/plain.h"

bool mpk_plain_of(const struct mpk_value *v, struct mpk_plain *out)
{
	*out = (struct mpk_plain){ MPK_FFI_NONE, MPK_TVM_NULL, { .v_int64 = 0 } };
	switch (v->kind) {
	case MPK_VALUE_NONE:
		return true;
	case MPK_VALUE_BOOL:
		/* every legacy release takes an integer; the code for bool came with 0.18 */
		*out = (struct mpk_plain){ MPK_FFI_BOOL, MPK_TVM_INT, { .v_int64 = v->boolean } };
		return true;
	case MPK_VALUE_INT:
		*out = (struct mpk_plain){ MPK_FFI_INT, MPK_TVM_INT, { .v_int64 = v->integer } };
		return true;
	case MPK_VALUE_FLOAT:
		*out = (struct mpk_plain){ MPK_FFI_FLOAT, MPK_TVM_FLOAT, { .v_float64 = v->real } };
		return true;
	case MPK_VALUE_DTYPE:
		*out = (struct mpk_plain){ .ffi = MPK_FFI_DTYPE, .legacy = MPK_TVM_DTYPE };
		out->bits.v_type = v->dtype; /* four of eight bytes: the others stay zero */
		return true;
	case MPK_VALUE_DEVICE:
		*out = (struct mpk_plain){ MPK_FFI_DEVICE,
					   MPK_TVM_DEVICE,
					   { .v_device = v->device } };
		return true;
	case MPK_VALUE_OPAQUE:
		*out = (struct mpk_plain){ MPK_FFI_OPAQUE,
					   v->opaque ? MPK_TVM_HANDLE : MPK_TVM_NULL,
					   { .v_handle = v->opaque } };
		return true;
	case MPK_VALUE_STR:
	case MPK_VALUE_BYTES:
	case MPK_VALUE_SHAPE:
	case MPK_VALUE_TENSOR:
	case MPK_VALUE_STORAGE:
	case MPK_VALUE_ARRAY:
	case MPK_VALUE_FUNCTION:
	case MPK_VALUE_MODULE:
	case MPK_VALUE_OBJECT:
	case MPK_VALUE_KIND_COUNT:
		break;
	}
	return false;
}
