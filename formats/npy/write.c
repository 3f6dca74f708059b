/* SPDX-License-Identifier: Apache-2.0 */
/* write.c - .npy headers as numpy writes them, to the byte, room for growth included */
#include "npy/npy.h"

#include <inttypes.h>

#include "base/strbuf.h"

/* numpy leaves room for the first extent to grow to this many digits */
enum { GROWTH_DIGITS = 21, ALIGN = 64, PREAMBLE = 10 };

enum { FIRST_SMALL_FLOAT = 7, FLOAT8_E5M2 = 12 }; /* of DLPack's type codes */

static const char *kind_letter(struct mpk_dtype t)
{
	switch (t.code) {
	case MPK_DTYPE_INT:
		return "i";
	case MPK_DTYPE_UINT:
		return "u";
	case MPK_DTYPE_FLOAT:
		return t.bits > 8 ? "f" : NULL;
	case MPK_DTYPE_COMPLEX:
		return "c";
	case MPK_DTYPE_HANDLE:
		return t.bits == 8 ? "V" : NULL;
	case MPK_DTYPE_BFLOAT:
		return "V";
	case FLOAT8_E5M2:
		return "f";
	default:
		return t.code >= FIRST_SMALL_FLOAT ? "V" : NULL;
	}
}

static enum mpk_code put_descr(struct mpk_strbuf *buf, struct mpk_dtype t, struct mpk_error *err)
{
	const char *letter = kind_letter(t);
	size_t bytes = mpk_dtype_bytes(t);
	char name[MPK_DTYPE_TEXT];

	if (mpk_dtype_is_bool(t)) {
		mpk_strbuf_puts(buf, "|b1");
		return MPK_OK;
	}
	if (!letter || t.lanes != 1 || t.bits % 8 || (bytes & (bytes - 1)))
		return mpk_fail(err, MPK_E_UNSUPPORTED, "NumPy has no type for %s",
				mpk_dtype_print(t, name));
	/* ml_dtypes gives its types an order of bytes, also where they have one only */
	bool has_order = bytes > 1 || t.code == MPK_DTYPE_HANDLE || t.code >= FIRST_SMALL_FLOAT;

	mpk_strbuf_printf(buf, "%c%s%zu", has_order ? '<' : '|', letter, bytes);
	return MPK_OK;
}

static void put_shape(struct mpk_strbuf *buf, const int64_t *shape, size_t ndim)
{
	mpk_strbuf_putc(buf, '(');
	for (size_t i = 0; i < ndim; i++)
		mpk_strbuf_printf(buf, "%s%" PRId64, i ? ", " : "", shape[i]);
	mpk_strbuf_puts(buf, ndim == 1 ? ",)" : ")");
}

static void pad(struct mpk_strbuf *buf, const int64_t *shape, size_t ndim)
{
	struct mpk_strbuf first = { 0 };

	if (ndim) {
		mpk_strbuf_printf(&first, "%" PRId64, shape[0]);
		for (size_t i = first.len; i < GROWTH_DIGITS; i++)
			mpk_strbuf_putc(buf, ' ');
		mpk_strbuf_fini(&first);
	}
	while (!buf->failed && (PREAMBLE + buf->len + 1) % ALIGN)
		mpk_strbuf_putc(buf, ' ');
	mpk_strbuf_putc(buf, '\n');
}

enum mpk_code mpk_npy_write_header(struct mpk_rope *rope, struct mpk_dtype dtype,
				   const int64_t *shape, size_t ndim, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf buf = { 0 };

	if (ndim > MPK_NPY_NDIM_MAX)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "NumPy has at most %d dimensions",
				MPK_NPY_NDIM_MAX);
	mpk_strbuf_puts(&buf, "{'descr': '");
	MPK_TRY(put_descr(&buf, dtype, err));
	mpk_strbuf_puts(&buf, "', 'fortran_order': False, 'shape': ");
	put_shape(&buf, shape, ndim);
	mpk_strbuf_puts(&buf, ", }");
	pad(&buf, shape, ndim);
	MPK_TRY(mpk_strbuf_status(&buf, err));

	/* the NUL behind the text is the minor version */
	mpk_rope_put_bytes(rope, mpk_span_of("\x93NUMPY\x01", 8));
	mpk_rope_put_u16(rope, (uint16_t)buf.len);
	mpk_rope_put_bytes(rope, mpk_span_of(buf.data, buf.len));
	return mpk_rope_status(rope, err);
}
