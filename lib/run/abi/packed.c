/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/packed.h"

#include <string.h>

#include "abi/convention.h"
#include "abi/ffi_object.h"
#include "abi/internal/plain.h"
#include "abi/raised.h"

size_t mpk_packed_bytes(enum mpk_convention conv, size_t count)
{
	size_t each = conv == MPK_CONV_LEGACY ? sizeof(union mpk_tvm_value) + sizeof(int)
					      : sizeof(struct mpk_ffi_any);

	return (count * each + 15) / 16 * 16;
}

struct mpk_packed mpk_packed_at(enum mpk_convention conv, void *memory, size_t count)
{
	struct mpk_packed p = { .conv = conv, .count = count };

	memset(memory, 0, mpk_packed_bytes(conv, count));
	if (conv != MPK_CONV_LEGACY) {
		p.cells = memory;
		return p;
	}
	p.values = memory;
	p.codes = (int *)(void *)(p.values + count);
	for (size_t i = 0; i < count; i++)
		p.codes[i] = MPK_TVM_NULL;
	return p;
}

/* One argument: the number that each family of conventions has for its kind, and its bits. */
static void set(const struct mpk_packed *p, size_t i, int32_t ffi, int legacy,
		union mpk_tvm_value bits)
{
	if (p->cells) {
		p->cells[i] = (struct mpk_ffi_any){ .type_index = ffi, .v_int64 = bits.v_int64 };
		return;
	}
	p->values[i] = bits;
	p->codes[i] = legacy;
}

void mpk_packed_set_tensor(const struct mpk_packed *p, size_t i, struct mpk_dltensor *t)
{
	set(p, i, MPK_FFI_DLTENSOR, MPK_TVM_DLTENSOR, (union mpk_tvm_value){ .v_handle = t });
}

void mpk_packed_set_int(const struct mpk_packed *p, size_t i, int64_t value)
{
	set(p, i, MPK_FFI_INT, MPK_TVM_INT, (union mpk_tvm_value){ .v_int64 = value });
}

enum mpk_code mpk_packed_set(const struct mpk_packed *p, size_t i, const struct mpk_value *v,
			     struct mpk_error *err)
{
	struct mpk_plain plain;

	if (mpk_plain_of(v, &plain))
		set(p, i, plain.ffi, plain.legacy, plain.bits);
	else if (v->kind == MPK_VALUE_STR)
		set(p, i, MPK_FFI_RAW_STR, MPK_TVM_STR,
		    (union mpk_tvm_value){ .v_str = v->text->data });
	else if (v->kind == MPK_VALUE_TENSOR)
		mpk_packed_set_tensor(p, i, &v->tensor->dl);
	else
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"a value of type %s cannot be passed in place",
				mpk_value_kind_name(v->kind));
	return MPK_OK;
}

enum mpk_code mpk_packed_call(const struct mpk_packed *p, void *address, struct mpk_value *result,
			      struct mpk_error *err)
{
	struct mpk_value got = { 0 };
	enum mpk_code code;

	if (p->cells)
		code = mpk_ffi_call_cells(
			&(struct mpk_ffi_code){ p->conv, MPK_CODE(mpk_ffi_safe_call, address),
						NULL },
			p->cells, p->count, &got, err);
	else
		code = mpk_legacy_call_values(MPK_CODE(mpk_tvm_function, address), p->values,
					      p->codes, p->count, &got, err);
	if (result)
		*result = got;
	else
		mpk_value_drop(&got);
	return code;
}
