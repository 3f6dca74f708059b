/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.c - stored tensors: what the byte count must be is not what all releases wrote
 *
 * The layout is DLPack's DLTensor as NDArray::Save writes it (TVM, include/tvm/runtime/ndarray.h). Only
 * tensors of the CPU are stored; where one lived before is not kept. */
#include "tensor/tensor.h"

#include <inttypes.h>

#include "base/num.h"

#define MPK_TENSOR_MAGIC UINT64_C(0xDD5E40F096B4A13F)

/* --- Stored tensors: what the byte count must be is not what all releases wrote --- */

/* Products are checked in 64 bits; a dimension of zero makes no elements. */
static bool element_count(const int64_t *shape, size_t ndim, uint64_t *out)
{
	uint64_t n = 1;

	for (size_t i = 0; i < ndim; i++) {
		if (!mpk_mul_u64(n, (uint64_t)shape[i], &n) || n > INT64_MAX)
			return false;
	}
	*out = n;
	return true;
}

/* FORMAT.md 2: the rules of different releases, all of which wrote files */
static bool size_agrees(const struct mpk_tensor_record *t, uint64_t n, uint64_t size)
{
	uint64_t lanes = t->dtype.lanes ? t->dtype.lanes : 1, whole, bits;

	return (mpk_mul_u64(n, ((uint64_t)t->dtype.bits + 7) / 8, &whole) && whole == size) ||
	       (mpk_mul_u64(n, t->dtype.bits / 8, &whole) && whole == size) ||
	       (mpk_mul_u64(n, (t->dtype.bits * lanes + 7) / 8, &whole) && whole == size) ||
	       (mpk_mul_u64(n, t->dtype.bits * lanes, &bits) && bits / 8 + (bits % 8 != 0) == size);
}

/* A rank is bounded by the bytes left, before memory for it is taken. */
static enum mpk_code tensor_read_shape(struct mpk_cursor *c, struct mpk_arena *arena,
				       struct mpk_tensor_record *t, int32_t ndim,
				       struct mpk_error *err)
{
	uint64_t start = mpk_cursor_offset(c);
	int64_t *shape;

	if (ndim < 0 || (uint64_t)ndim > mpk_cursor_left(c) / 8)
		return mpk_fail_offset(err, MPK_E_CORRUPT, c->space, start - 8,
				       "tensor: %" PRId32
				       " dimensions do not fit in the %zu bytes left",
				       ndim, mpk_cursor_left(c));
	shape = mpk_arena_array(arena, (size_t)ndim, sizeof *shape);
	MPK_TRY_ALLOC(shape, err);
	for (int32_t i = 0; i < ndim; i++) {
		MPK_TRY(mpk_read_i64(c, "tensor shape", &shape[i], err));
		if (shape[i] < 0)
			return mpk_fail_offset(
				err, MPK_E_CORRUPT, c->space, mpk_cursor_offset(c) - 8,
				"tensor: dimension %" PRId32 " is %" PRId64, i, shape[i]);
	}
	t->shape = shape;
	t->ndim = (size_t)ndim;
	return MPK_OK;
}

/* The size is stored and follows from shape and type as well: they must agree by one of the
 * rules. */
static enum mpk_code tensor_read_data(struct mpk_cursor *c, struct mpk_tensor_record *t,
				      struct mpk_error *err)
{
	uint64_t start = mpk_cursor_offset(c), size, n;
	char text[MPK_DTYPE_TEXT];

	MPK_TRY(mpk_read_u64(c, "tensor size", &size, err));
	if (!element_count(t->shape, t->ndim, &n) || !size_agrees(t, n, size))
		return mpk_fail_offset(err, MPK_E_CORRUPT, c->space, start,
				       "tensor: %" PRIu64
				       " bytes are not what its shape and %s take",
				       size, mpk_dtype_print(t->dtype, text));
	t->data_off = mpk_cursor_offset(c);
	return mpk_read_bytes(c, "tensor data", size, &t->data, err);
}

/* Cursor and out change only when the whole tensor was read. */
enum mpk_code mpk_tensor_read(struct mpk_cursor *c, struct mpk_arena *arena,
			      struct mpk_tensor_record *out, struct mpk_error *err)
{
	struct mpk_tensor_record t = { 0 };
	struct mpk_cursor at = *c;
	uint64_t start = mpk_cursor_offset(c), magic;
	int32_t device, ndim;

	MPK_TRY(mpk_read_u64(&at, "tensor", &magic, err));
	if (magic != MPK_TENSOR_MAGIC)
		return mpk_fail_offset(err, MPK_E_CORRUPT, c->space, start,
				       "no tensor begins here: magic number %#" PRIx64, magic);
	MPK_TRY(mpk_read_u64(&at, "tensor", &t.reserved, err));
	MPK_TRY(mpk_read_i32(&at, "tensor device", &device, err));
	if (device != MPK_DL_CPU)
		return mpk_fail_offset(err, MPK_E_CORRUPT, c->space, start + 16,
				       "tensor: device type %" PRId32
				       ", but only the CPU's (1) is stored",
				       device);
	MPK_TRY(mpk_read_i32(&at, "tensor device", &t.device_id, err));
	MPK_TRY(mpk_read_i32(&at, "tensor rank", &ndim, err));
	MPK_TRY(mpk_dtype_read(&at, "tensor type", &t.dtype, err));
	MPK_TRY(tensor_read_shape(&at, arena, &t, ndim, err));
	MPK_TRY(tensor_read_data(&at, &t, err));
	*c = at;
	*out = t;
	return MPK_OK;
}

/* As it was read: reserved words and the number of the device are kept. */
void mpk_tensor_write(struct mpk_rope *r, const struct mpk_tensor_record *t)
{
	mpk_rope_put_u64(r, MPK_TENSOR_MAGIC);
	mpk_rope_put_u64(r, t->reserved);
	mpk_rope_put_u32(r, MPK_DL_CPU); /* the CPU, wherever the tensor lived */
	mpk_rope_put_u32(r, (uint32_t)t->device_id);
	mpk_rope_put_u32(r, (uint32_t)t->ndim);
	mpk_dtype_write(r, t->dtype);
	for (size_t i = 0; i < t->ndim; i++)
		mpk_rope_put_u64(r, (uint64_t)t->shape[i]);
	mpk_rope_put_u64(r, t->content ? t->content->len : t->data.len);
	if (t->content)
		mpk_rope_put_rope(r, t->content);
	else
		mpk_rope_put_view(r, t->data);
}
