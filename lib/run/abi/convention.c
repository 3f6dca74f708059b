/* SPDX-License-Identifier: Apache-2.0 */
/* convention.c - calls of host code, whatever its convention: from values, or prepared
 *
 * A call from values allocates what its arguments need. Kernels of a model are called thousands of
 * times with tensors that stay where they are, so their arguments are laid out once (packed.h). The
 * lists are those that compiled functions of the Relax VM work on (any_list.h): how one looks is
 * ours, as that code names items by number alone.
 */
#include <stdlib.h>
#include <string.h>

#include "abi/any_list.h"
#include "abi/convention.h"
#include "abi/ffi_object.h"
#include "abi/internal/data.h"
#include "abi/packed.h"
#include "abi/raised.h"

/* The address has the type of its convention; nothing in it says so, the library's generation
 * does. */
enum mpk_code mpk_conv_call(enum mpk_convention conv, void *address, const struct mpk_args *args,
			    struct mpk_value *result, struct mpk_error *err)
{
	switch (conv) {
	case MPK_CONV_LEGACY:
		return mpk_legacy_call(MPK_CODE(mpk_tvm_function, address), args, result, err);
	case MPK_CONV_FFI021:
	case MPK_CONV_FFI:
		return mpk_ffi_call(
			&(struct mpk_ffi_code){ conv, MPK_CODE(mpk_ffi_safe_call, address), NULL },
			args, result, err);
	case MPK_CONV_NONE:
		break;
	}
	return mpk_fail(err, MPK_E_INTERNAL, "host code without a calling convention");
}

/* --- prepared arguments ---------------------------------------------------------------------- */

/* Legacy arguments are an array of 8-byte values and one of type codes; those of tvm-ffi are one
 * array of cells. */
size_t mpk_packed_bytes(enum mpk_convention conv, size_t count)
{
	size_t each = conv == MPK_CONV_LEGACY ? sizeof(union mpk_tvm_value) + sizeof(int)
					      : sizeof(struct mpk_ffi_any);

	return (count * each + 15) / 16 * 16;
}

/* All null at first: an argument that is not set must not be read as a pointer. */
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
static void set_packed(const struct mpk_packed *p, size_t i, int32_t ffi, int legacy,
		       union mpk_tvm_value bits)
{
	if (p->cells) {
		p->cells[i] = (struct mpk_ffi_any){ .type_index = ffi, .v_int64 = bits.v_int64 };
		return;
	}
	p->values[i] = bits;
	p->codes[i] = legacy;
}

/* The DLTensor is passed by its address: what is in it may change between calls. */
void mpk_packed_set_tensor(const struct mpk_packed *p, size_t i, struct mpk_dltensor *t)
{
	set_packed(p, i, MPK_FFI_DLTENSOR, MPK_TVM_DLTENSOR,
		   (union mpk_tvm_value){ .v_handle = t });
}

void mpk_packed_set_int(const struct mpk_packed *p, size_t i, int64_t value)
{
	set_packed(p, i, MPK_FFI_INT, MPK_TVM_INT, (union mpk_tvm_value){ .v_int64 = value });
}

/* Texts are passed as C strings, which need no object in either convention. */
enum mpk_code mpk_packed_set(const struct mpk_packed *p, size_t i, const struct mpk_value *v,
			     struct mpk_error *err)
{
	struct mpk_plain plain;

	if (mpk_plain_of(v, &plain))
		set_packed(p, i, plain.ffi, plain.legacy, plain.bits);
	else if (v->kind == MPK_VALUE_STR)
		set_packed(p, i, MPK_FFI_RAW_STR, MPK_TVM_STR,
			   (union mpk_tvm_value){ .v_str = v->text->data });
	else if (v->kind == MPK_VALUE_TENSOR)
		mpk_packed_set_tensor(p, i, &v->tensor->dl);
	else
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"a value of type %s cannot be passed in place",
				mpk_value_kind_name(v->kind));
	return MPK_OK;
}

/* The hot path of models: no allocation, no reference counted. */
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

/* --- lists ----------------------------------------------------------------------------------- */

struct mpk_any_list {
	enum mpk_convention conv;
	size_t count;
	struct mpk_ffi_any *cells;
	struct mpk_legacy_item *items;
};

/* One of the two arrays is made, and which one says the convention from then on. */
enum mpk_code mpk_any_list_create(enum mpk_convention conv, size_t count, struct mpk_any_list **out,
				  struct mpk_error *err)
{
	struct mpk_any_list *list = calloc(1, sizeof *list);

	MPK_TRY_ALLOC(list, err);
	list->conv = conv;
	list->count = count;
	if (conv == MPK_CONV_LEGACY)
		list->items = calloc(count + 1, sizeof *list->items);
	else
		list->cells = calloc(count + 1, sizeof *list->cells);
	if (!list->items && !list->cells) {
		free(list);
		return mpk_fail_nomem(err);
	}
	*out = list;
	return MPK_OK;
}

void mpk_any_list_destroy(struct mpk_any_list *list)
{
	if (!list)
		return;
	for (size_t i = 0; i < list->count; i++) {
		if (list->cells)
			mpk_ffi_any_drop(list->conv, &list->cells[i]);
		else
			mpk_value_drop(&list->items[i].value);
	}
	free(list->cells);
	free(list->items);
	free(list);
}

/* The old item goes first: a list never holds more than its count. */
enum mpk_code mpk_any_list_set(struct mpk_any_list *list, size_t i, const struct mpk_value *v,
			       struct mpk_error *err)
{
	if (list->cells) {
		mpk_ffi_any_drop(list->conv, &list->cells[i]);
		return mpk_ffi_encode(list->conv, v, &list->cells[i], err);
	}
	mpk_value_drop(&list->items[i].value);
	list->items[i].value = mpk_value_hold(*v);
	return MPK_OK;
}

enum mpk_code mpk_any_list_get(const struct mpk_any_list *list, size_t i, struct mpk_value *out,
			       struct mpk_error *err)
{
	if (list->cells)
		return mpk_ffi_decode(list->conv, &list->cells[i], MPK_LIFETIME_OWNED, out, err);
	*out = mpk_value_hold(list->items[i].value);
	return MPK_OK;
}

void *mpk_any_list_items(struct mpk_any_list *list)
{
	return list->cells ? (void *)list->cells : (void *)list->items;
}
