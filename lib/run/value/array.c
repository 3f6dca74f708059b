/* SPDX-License-Identifier: Apache-2.0 */
/* array.c - converts between tensors and the elements of NumPy files
 *
 * Elements in files are little-endian unless the file says otherwise. An element of less than a
 * byte takes a whole byte. NumPy writes types that it does not know as "V" and their size. */
#include "value/param_file.h"

#include <string.h>

#include "base/native.h"
#include "value/element.h"

/* NumPy writes unknown types as "V" and their size. The only such type of two bytes in use is
 * bfloat16. */
enum mpk_code mpk_array_settle(struct mpk_npy *npy, struct mpk_error *err)
{
	if (!npy->is_opaque)
		return MPK_OK;
	if (npy->dtype.bits != 16)
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"the elements are opaque; say what they are, as in 4x3xfloat8_e4m3fn=@FILE");
	npy->dtype = (struct mpk_dtype){ MPK_DTYPE_BFLOAT, 16, 1 };
	return MPK_OK;
}

/* Packs elements that take a byte each. */
static void pack_elements(struct mpk_tensor *t, const uint8_t *from)
{
	struct mpk_scalars s = mpk_scalars_of(&t->dl);

	for (uint64_t i = 0; i < s.count; i++)
		mpk_scalar_put(&s, i, from + i);
}

/* If the file has the other byte order, each number is reversed in place. */
enum mpk_code mpk_array_copy(const struct mpk_npy *npy, struct mpk_tensor **out,
			     struct mpk_error *err)
{
	MPK_TRY(mpk_tensor_create(npy->dtype, npy->shape, npy->ndim, MPK_STORAGE_PRIVATE, out,
				  err));
	if (!(*out)->bytes)
		return MPK_OK;
	if (npy->is_opaque && mpk_dtype_is_packed(npy->dtype)) {
		pack_elements(*out, npy->data.data);
		return MPK_OK;
	}
	uint8_t *data = mpk_dltensor_data(&(*out)->dl);

	memcpy(data, npy->data.data, (size_t)(*out)->bytes);
	if (npy->is_big != MPK_BIG_ENDIAN)
		mpk_native_swap(data, (size_t)(*out)->bytes,
				mpk_dtype_number_bytes((*out)->dl.dtype));
	return MPK_OK;
}

enum mpk_code mpk_array_write(const struct mpk_tensor *t, struct mpk_rope *rope,
			      struct mpk_error *err)
{
	struct mpk_scalars s = mpk_scalars_of(&t->dl);

	if (mpk_dtype_is_packed(s.dtype) && mpk_element_class(s.dtype) != MPK_ELEMENT_NONE) {
		/* one byte for each element, as in memory of ml_dtypes */
		static const struct mpk_dtype byte = { MPK_DTYPE_HANDLE, 8, 1 };
		uint8_t *bytes = mpk_arena_alloc(rope->arena, (size_t)s.count + 1),
			raw[MPK_SCALAR_MAX];

		MPK_TRY_ALLOC(bytes, err);
		for (uint64_t i = 0; i < s.count; i++)
			bytes[i] = *(const uint8_t *)mpk_scalar_at(&s, i, raw);
		MPK_TRY(mpk_npy_write_header(rope, byte, s.shape, (size_t)s.ndim, err));
		mpk_rope_put_view(rope, mpk_span_of(bytes, (size_t)s.count));
		return mpk_rope_status(rope, err);
	}
	MPK_TRY(mpk_npy_write_header(rope, s.dtype, s.shape, (size_t)s.ndim, err));

	/* The elements of a compact host tensor in the byte order of files, little-endian. On a big-endian
	 * machine they are reversed in memory of the rope's arena. */
	struct mpk_span numbers = mpk_tensor_span(t);

	if (MPK_BIG_ENDIAN && numbers.len && mpk_dtype_number_bytes(t->dl.dtype) > 1) {
		size_t unit = mpk_dtype_number_bytes(t->dl.dtype);
		uint8_t *turned = mpk_arena_alloc(rope->arena, numbers.len);

		MPK_TRY_ALLOC(turned, err);
		memcpy(turned, numbers.data, numbers.len);
		mpk_native_swap(turned, numbers.len, unit);
		numbers.data = turned;
	}
	mpk_rope_put_view(rope, numbers);
	return mpk_rope_status(rope, err);
}
