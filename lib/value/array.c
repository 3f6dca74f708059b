/* SPDX-License-Identifier: Apache-2.0 */
#include "value/array.h"

#include <string.h>

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

static void swap_elements(struct mpk_tensor *t)
{
	size_t each = mpk_dtype_bytes(t->dl.dtype);
	/* the halves of a complex number are swapped one by one */
	size_t unit = t->dl.dtype.code == MPK_DTYPE_COMPLEX ? each / 2 : each;
	uint8_t *data = mpk_dltensor_data(&t->dl);

	for (uint64_t at = 0; at < t->bytes; at += unit) {
		for (size_t i = 0; i < unit / 2; i++) {
			uint8_t byte = data[at + i];

			data[at + i] = data[at + unit - 1 - i];
			data[at + unit - 1 - i] = byte;
		}
	}
}

enum mpk_code mpk_array_copy(const struct mpk_npy *npy, struct mpk_tensor **out,
			     struct mpk_error *err)
{
	MPK_TRY(mpk_tensor_create(npy->dtype, npy->shape, npy->ndim, MPK_STORAGE_PRIVATE, out,
				  err));
	if (!(*out)->bytes)
		return MPK_OK;
	memcpy(mpk_dltensor_data(&(*out)->dl), npy->data.data, (size_t)(*out)->bytes);
	if (npy->is_swapped)
		swap_elements(*out);
	return MPK_OK;
}
