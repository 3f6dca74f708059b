/* SPDX-License-Identifier: Apache-2.0 */
#include "value/scalars.h"

#include <string.h>

#include "base/num.h"

/* uint1 is a bool of a byte in tensors of TVM up to 0.22: its vectors are left whole. */
static bool has_lanes(struct mpk_dtype t)
{
	return t.lanes > 1 && t.lanes < 0x8000 && !(t.code == MPK_DTYPE_UINT && t.bits == 1);
}

bool mpk_dtype_is_packed(struct mpk_dtype t)
{
	return t.bits % 8 && !mpk_dtype_is_bool(t) && (t.lanes == 1 || has_lanes(t));
}

bool mpk_dtype_size(struct mpk_dtype t, uint64_t count, uint64_t *bytes)
{
	uint64_t bits = (uint64_t)t.bits * (has_lanes(t) ? t.lanes : 1);

	if (!mpk_dtype_is_packed(t))
		return mpk_mul_u64(count, mpk_dtype_bytes(t), bytes);
	/* eight elements fill their bytes */
	if (!mpk_mul_u64(count / 8, bits, bytes))
		return false;
	*bytes += (count % 8 * bits + 7) / 8;
	return true;
}

struct mpk_scalars mpk_scalars_of(const struct mpk_dltensor *dl)
{
	struct mpk_scalars s = { .dtype = dl->dtype, .ndim = dl->ndim };

	if (mpk_dldevice_is_host(dl->device))
		s.data = mpk_dltensor_data(dl);
	if (dl->ndim)
		memcpy(s.shape, dl->shape, (size_t)dl->ndim * sizeof s.shape[0]);
	if (has_lanes(dl->dtype)) {
		s.dtype.lanes = 1;
		s.shape[s.ndim++] = dl->dtype.lanes;
	}
	s.count = mpk_dtype_bytes(dl->dtype) != 0; /* no bytes, nothing to look at */
	for (int32_t i = 0; i < s.ndim; i++)
		s.count *= (uint64_t)s.shape[i];
	return s;
}

/* Moves bits between a place that begins anywhere and one that begins with a byte. */
static void get_bits(const uint8_t *from, uint64_t at, unsigned bits, uint8_t *to)
{
	memset(to, 0, MPK_SCALAR_MAX);
	for (unsigned i = 0; i < bits; i++, at++)
		to[i / 8] |= (uint8_t)((from[at / 8] >> at % 8 & 1) << i % 8);
}

static void put_bits(uint8_t *to, uint64_t at, unsigned bits, const uint8_t *from)
{
	for (unsigned i = 0; i < bits; i++, at++) {
		uint8_t mask = (uint8_t)(1u << at % 8);

		to[at / 8] = (uint8_t)(from[i / 8] >> i % 8 & 1 ? to[at / 8] | mask
								: to[at / 8] & ~mask);
	}
}

const void *mpk_scalar_at(const struct mpk_scalars *s, uint64_t index, uint8_t raw[MPK_SCALAR_MAX])
{
	if (!mpk_dtype_is_packed(s->dtype))
		return s->data + index * mpk_dtype_bytes(s->dtype);
	get_bits(s->data, index * s->dtype.bits, s->dtype.bits, raw);
	return raw;
}

void mpk_scalar_put(const struct mpk_scalars *s, uint64_t index, const void *bytes)
{
	size_t each = mpk_dtype_bytes(s->dtype);

	if (mpk_dtype_is_packed(s->dtype))
		put_bits(s->data, index * s->dtype.bits, s->dtype.bits, bytes);
	else
		memcpy(s->data + index * each, bytes, each);
}
