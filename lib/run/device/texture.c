/* SPDX-License-Identifier: Apache-2.0 */
/* texture.c - the image that a tensor with a memory scope is
 *
 * TVM folds the extents of a tensor into those of an image; the last one is the four channels of a
 * pixel. Two ways of folding exist: up to 0.22 into width and height, from 0.23 on into the layers
 * of an array, whose pixels have 128 or 64 bits whatever the elements are.
 */
#include <inttypes.h>

#include "base/num.h"
#include "device/device.h"
#include "text/escape.h"

/* The first extent of the width; those before it are the height and, in arrays, the layers. */
static enum mpk_code split_axis(const struct mpk_texture_tensor *t, size_t *out,
				struct mpk_error *err)
{
	if (t->ndim < 2)
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"a texture needs at least 2 dimensions, not %zu", t->ndim);
	if (mpk_span_is(t->scope, "global.texture"))
		*out = t->ndim - 2;
	else if (mpk_span_is(t->scope, "global.texture-weight"))
		*out = 1;
	else if (mpk_span_is(t->scope, "global.texture-nhwc"))
		*out = t->ndim == 3 && !t->is_array ? 1 : 2;
	else
		return mpk_fail(err, MPK_E_UNSUPPORTED, "unknown texture scope '%s'",
				MPK_QUOTE(t->scope));
	if (*out > t->ndim - 1 || (t->is_array && *out == 0))
		return mpk_fail(err, MPK_E_UNSUPPORTED, "a '%s' cannot have %zu dimensions",
				MPK_QUOTE(t->scope), t->ndim);
	return MPK_OK;
}

static bool product(const int64_t *shape, size_t from, size_t to, uint64_t *out)
{
	uint64_t value = 1;

	for (size_t i = from; i < to; i++)
		if (shape[i] <= 0 || !mpk_mul_u64(value, (uint64_t)shape[i], &value))
			return false;
	*out = value;
	return true;
}

/* In an array only the size of a pixel counts, and it is read as four floats. */
static enum mpk_code find_channel(const struct mpk_texture_tensor *t, struct mpk_dtype *out,
				  struct mpk_error *err)
{
	int64_t last = t->shape[t->ndim - 1];
	uint64_t bits =
		last > 0 && last <= 16 ? (uint64_t)last * t->dtype.bits * t->dtype.lanes : 0;

	*out = t->dtype;
	if (!t->is_array && last != 4)
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"the last dimension of a texture must be 4, not %" PRId64, last);
	if (!t->is_array)
		return MPK_OK;
	*out = (struct mpk_dtype){ MPK_DTYPE_FLOAT, bits == 128 ? 32 : 16, 1 };
	if (bits != 128 && bits != 64)
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"the last dimension of a texture must be 128 or 64 bits, not %" PRIu64
			" (%" PRId64 " elements of %u)",
			bits, last, (unsigned)t->dtype.bits);
	return MPK_OK;
}

enum mpk_code mpk_device_texture_of(const struct mpk_texture_tensor *t,
				    struct mpk_device_texture *out, struct mpk_error *err)
{
	struct mpk_device_texture texture = { 0 };
	size_t axis = 0, first = 0;

	MPK_TRY(split_axis(t, &axis, err));
	MPK_TRY(find_channel(t, &texture.channel, err));
	if (t->is_array)
		first = axis - 1;
	if ((t->is_array && !product(t->shape, 0, first, &texture.layers)) ||
	    !product(t->shape, first, axis, &texture.height) ||
	    !product(t->shape, axis, t->ndim - 1, &texture.width))
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"the texture's shape is empty or too large");
	*out = texture;
	return MPK_OK;
}
