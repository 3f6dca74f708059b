/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - .npy arrays: the three header versions, and the element types that have a dtype */
#include "npy/npy.h"

#include "base/cursor.h"
#include "base/num.h"
#include "npy/internal/header.h"
#include "text/escape.h"

static const char magic[] = "\x93NUMPY";
enum { MAGIC_LEN = 6 };

bool mpk_npy_is(struct mpk_span bytes)
{
	return bytes.len >= MAGIC_LEN && memcmp(bytes.data, magic, MAGIC_LEN) == 0;
}

struct letter {
	char letter;
	uint8_t code;
	const char *bytes; /* the sizes it comes in */
};

static const struct letter letters[] = {
	{ 'b', MPK_DTYPE_BOOL, "1" },    { 'i', MPK_DTYPE_INT, "1248" },
	{ 'u', MPK_DTYPE_UINT, "1248" }, { 'f', MPK_DTYPE_FLOAT, "1248" },
	{ 'c', MPK_DTYPE_COMPLEX, "8" }, { 'V', MPK_DTYPE_HANDLE, "12348" },
};

static const struct mpk_dtype float8_e5m2 = { 12, 8, 1 };

static enum mpk_code refuse(struct mpk_span descr, struct mpk_error *err)
{
	return mpk_fail(
		err, MPK_E_UNSUPPORTED,
		"elements of NumPy type '%s'; supported are bool, integers, floats and complex64",
		MPK_QUOTE(descr));
}

/* "<f4": byte order, letter, bytes of one element. */
static enum mpk_code read_dtype(struct mpk_span descr, struct mpk_npy *out, struct mpk_error *err)
{
	static const char orders[] = "<>|=";
	uint64_t bytes;
	struct mpk_span digits;

	if (descr.len < 3 || !memchr(orders, descr.data[0], sizeof orders - 1) ||
	    !mpk_span_sub(descr, 2, descr.len - 2, &digits) || !mpk_parse_u64(digits, &bytes))
		return refuse(descr, err);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(letters); i++) {
		const struct letter *l = &letters[i];

		if ((uint8_t)l->letter != descr.data[1] || digits.len != 1 ||
		    !strchr(l->bytes, digits.data[0]))
			continue;
		out->is_opaque = l->letter == 'V';
		if (l->letter == 'f' && bytes == 1) {
			/* ml_dtypes calls this one of its types a float, and no other */
			out->dtype = float8_e5m2;
			return MPK_OK;
		}
		out->is_big = descr.data[0] == '>' && bytes > 1 && !out->is_opaque;
		out->dtype = (struct mpk_dtype){ l->code, (uint8_t)(bytes * 8), 1 };
		return MPK_OK;
	}
	return refuse(descr, err);
}

static enum mpk_code read_length(struct mpk_cursor *c, uint64_t *out, struct mpk_error *err)
{
	uint8_t major, minor;
	uint16_t short_len;
	uint32_t long_len;

	MPK_TRY(mpk_read_u8(c, "version", &major, err));
	MPK_TRY(mpk_read_u8(c, "version", &minor, err));
	if (major < 1 || major > 3 || minor != 0)
		return mpk_fail_offset(err, MPK_E_UNSUPPORTED, "npy", MAGIC_LEN,
				       "format version %u.%u; 1.0 to 3.0 are known", major, minor);
	if (major == 1) {
		MPK_TRY(mpk_read_u16(c, "header length", &short_len, err));
		*out = short_len;
	} else {
		MPK_TRY(mpk_read_u32(c, "header length", &long_len, err));
		*out = long_len;
	}
	return MPK_OK;
}

static enum mpk_code count_bytes(const struct mpk_npy *npy, uint64_t *out, struct mpk_error *err)
{
	uint64_t bytes = mpk_dtype_bytes(npy->dtype);

	for (size_t i = 0; i < npy->ndim; i++)
		if (npy->shape[i] == 0)
			bytes = 0;
	for (size_t i = 0; i < npy->ndim; i++)
		if (!mpk_mul_u64(bytes, (uint64_t)npy->shape[i], &bytes))
			return mpk_fail(err, MPK_E_CORRUPT,
					"the shape in the header has more than 2^64 bytes");
	*out = bytes;
	return MPK_OK;
}

/* Fortran order matters only when two dimensions are longer than 1. */
static bool is_order_relevant(const struct mpk_npy_header *h)
{
	unsigned wide = 0;

	for (size_t i = 0; i < h->ndim; i++)
		wide += h->shape[i] != 1;
	return wide > 1;
}

enum mpk_code mpk_npy_read(struct mpk_span bytes, struct mpk_npy *out, struct mpk_error *err)
{
	struct mpk_cursor c = mpk_cursor_of(bytes, 0, "npy");
	struct mpk_npy npy = { 0 };
	struct mpk_npy_header header;
	struct mpk_span text;
	uint64_t len, size;

	if (!mpk_npy_is(bytes))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "npy", 0,
				       "not an .npy file: the magic bytes are missing");
	c.pos = MAGIC_LEN;
	MPK_TRY(read_length(&c, &len, err));

	uint64_t text_off = mpk_cursor_offset(&c);
	MPK_TRY(mpk_read_bytes(&c, "header", len, &text, err));
	MPK_TRY(mpk_npy_header_parse(text, text_off, &header, err));
	if (header.is_fortran && is_order_relevant(&header))
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"the array is in Fortran order; save it with numpy.ascontiguousarray");
	npy.ndim = header.ndim;
	memcpy(npy.shape, header.shape, sizeof npy.shape);
	MPK_TRY(read_dtype(header.descr, &npy, err));
	MPK_TRY(count_bytes(&npy, &size, err));
	npy.data_off = mpk_cursor_offset(&c);
	MPK_TRY(mpk_read_bytes(&c, "array data", size, &npy.data, err));
	*out = npy;
	return MPK_OK;
}
