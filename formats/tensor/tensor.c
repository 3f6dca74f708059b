/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.c - stored tensors, and parameter files
 *
 * The layout is DLPack's DLTensor as NDArray::Save writes it (TVM, include/tvm/runtime/ndarray.h).
 * TVM stores tensors of the CPU only; the device that a tensor was on before is not stored.
 * Releases computed the byte count of small types differently.
 *
 * In parameter files, and in the lists of tensors in payloads of executors, names come first and
 * tensors after them, so the number of names limits the tensors before memory is allocated. Content
 * to write may be a rope, whose spans are copied from where they are. */
#include "tensor/tensor.h"

#include <inttypes.h>

#include "base/num.h"
#include "text/escape.h"

#define MPK_TENSOR_MAGIC UINT64_C(0xDD5E40F096B4A13F)

/* --- Tensors --- */

/* Products are checked in 64 bits; an extent of zero gives no elements. */
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

/* The rank is limited by the bytes left, before memory is allocated. */
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
	MPK_TRY_ARRAY(shape, arena, (size_t)ndim, err);
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

/* The byte count is stored and also follows from shape and type: they must agree by one of the
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

/* Cursor and *out change only after the whole tensor was read. */
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

/* Reserved words and the number of the device are written as they were read. */
void mpk_tensor_write(struct mpk_rope *r, const struct mpk_tensor_record *t)
{
	mpk_rope_put_u64(r, MPK_TENSOR_MAGIC);
	mpk_rope_put_u64(r, t->reserved);
	mpk_rope_put_u32(r, MPK_DL_CPU); /* always the CPU */
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

/* --- Parameter files, and the lists of tensors in them and in payloads of executors --- */

/* Both limits apply before memory is allocated: the number of names, and the bytes left. */
enum mpk_code mpk_tensors_read(struct mpk_cursor *c, struct mpk_strs names, uint64_t count,
			       struct mpk_arena *arena, const struct mpk_tensor_record **out,
			       struct mpk_error *err)
{
	struct mpk_tensor_record *tensors;

	if (count != names.count)
		return mpk_fail_offset(err, MPK_E_CORRUPT, c->space, mpk_cursor_offset(c),
				       "%" PRIu64 " tensors for %zu names", count, names.count);
	if (count > mpk_cursor_left(c) / MPK_TENSOR_MIN)
		return mpk_fail_offset(err, MPK_E_CORRUPT, c->space, mpk_cursor_offset(c),
				       "%" PRIu64 " tensors do not fit in the %zu bytes left",
				       count, mpk_cursor_left(c));
	MPK_TRY_ARRAY(tensors, arena, names.count, err);
	for (size_t i = 0; i < names.count; i++) {
		enum mpk_code code = mpk_tensor_read(c, arena, &tensors[i], err);

		if (code != MPK_OK) {
			mpk_error_prefix(err, "parameter \"%s\": ", MPK_QUOTE(names.items[i]));
			return code;
		}
	}
	*out = tensors;
	return MPK_OK;
}

/* Nothing may follow the last tensor: a file with appended bytes is not a parameter file. */
enum mpk_code mpk_params_read(struct mpk_span file, struct mpk_arena *arena, struct mpk_params *out,
			      struct mpk_error *err)
{
	struct mpk_cursor c = mpk_cursor_of(file, 0, "file");
	struct mpk_params p = { 0 };
	uint64_t magic, count;

	MPK_TRY(mpk_read_u64(&c, "parameter file", &magic, err));
	if (magic != MPK_PARAMS_MAGIC)
		return mpk_fail_offset(err, MPK_E_CORRUPT, c.space, 0,
				       "not a parameter file: magic number %#" PRIx64, magic);
	MPK_TRY(mpk_read_u64(&c, "parameter file", &p.reserved, err));
	MPK_TRY(mpk_read_strs(&c, "parameter names", arena, &p.names, err));
	MPK_TRY(mpk_read_u64(&c, "tensor count", &count, err));
	p.tensors_off = mpk_cursor_offset(&c);
	MPK_TRY(mpk_tensors_read(&c, p.names, count, arena, &p.tensors, err));
	if (mpk_cursor_left(&c))
		return mpk_fail_offset(err, MPK_E_CORRUPT, c.space, mpk_cursor_offset(&c),
				       "%zu bytes behind the last tensor", mpk_cursor_left(&c));
	*out = p;
	return MPK_OK;
}

/* A linear search, because callers look up few names. */
size_t mpk_params_find(const struct mpk_params *p, struct mpk_span name)
{
	size_t i = 0;

	while (i < p->names.count && !mpk_span_equal(p->names.items[i], name))
		i++;
	return i;
}

/* Content that was read and not changed is written as stored. */
void mpk_tensors_write(struct mpk_rope *r, const struct mpk_params *p)
{
	if (p->content) {
		mpk_rope_put_rope(r, p->content);
		return;
	}
	for (size_t i = 0; i < p->names.count; i++)
		mpk_tensor_write(r, &p->tensors[i]);
}

/* Writes the number of tensors twice; the second is the number of names. */
void mpk_params_write(struct mpk_rope *r, const struct mpk_params *p)
{
	mpk_rope_put_u64(r, MPK_PARAMS_MAGIC);
	mpk_rope_put_u64(r, p->reserved);
	mpk_rope_put_strs(r, p->names);
	mpk_rope_put_u64(r, p->names.count);
	mpk_tensors_write(r, p);
}
