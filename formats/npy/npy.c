/* SPDX-License-Identifier: Apache-2.0 */
/* npy.c - .npy files: a Python dict literal with type and shape, then the elements
 *
 * Headers of versions 1 to 3 are read, with keys in any order, because other programs than numpy
 * write such files. Written headers have exactly numpy's bytes, with its space for growth, so that
 * a file can be compared with one of numpy.save. Element types that numpy lacks are stored as numpy
 * stores those of ml_dtypes: as void or as another type of the same size. */
#include "npy/npy.h"

#include <inttypes.h>
#include <string.h>

#include "base/cursor.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "text/escape.h"

struct mpk_npy_header {
	struct mpk_span descr; /* "<f4"; a view */
	bool is_fortran;
	size_t ndim;
	int64_t shape[MPK_NPY_NDIM_MAX];
};

/* --- The header text of an .npy file: a Python dict literal with three keys. --- */

struct literal {
	struct mpk_span text;
	size_t pos;
	uint64_t base; /* offset of the text in the file */
};

static enum mpk_code npy_bad(const struct literal *l, const char *what, struct mpk_error *err)
{
	return mpk_fail_offset(err, MPK_E_CORRUPT, "npy", l->base + l->pos,
			       "the header is not the dict that numpy writes: expected %s", what);
}

/* Blanks may be between any two tokens. */
static int npy_peek(struct literal *l)
{
	static const char blanks[] = " \t\r\n";

	while (l->pos < l->text.len && memchr(blanks, l->text.data[l->pos], sizeof blanks - 1))
		l->pos++;
	return l->pos < l->text.len ? l->text.data[l->pos] : -1;
}

static bool npy_take(struct literal *l, char c)
{
	if (npy_peek(l) != (uint8_t)c)
		return false;
	l->pos++;
	return true;
}

static enum mpk_code npy_read_string(struct literal *l, struct mpk_span *out, struct mpk_error *err)
{
	int quote = npy_peek(l);

	if (quote != '\'' && quote != '"')
		return npy_bad(l, "a quoted text", err);

	const uint8_t *start = l->text.data + l->pos + 1;
	const uint8_t *end = memchr(start, quote, l->text.len - l->pos - 1);
	if (!end)
		return npy_bad(l, "a closing quote", err);
	*out = mpk_span_of(start, (size_t)(end - start));
	l->pos += out->len + 2;
	return MPK_OK;
}

static bool npy_take_word(struct literal *l, const char *word)
{
	size_t n = strlen(word);

	(void)npy_peek(l);
	if (l->text.len - l->pos < n || memcmp(l->text.data + l->pos, word, n) != 0)
		return false;
	l->pos += n;
	return true;
}

static enum mpk_code npy_read_extent(struct literal *l, int64_t *out, struct mpk_error *err)
{
	size_t start;

	(void)npy_peek(l);
	start = l->pos;
	while (l->pos < l->text.len && l->text.data[l->pos] >= '0' && l->text.data[l->pos] <= '9')
		l->pos++;
	if (!mpk_parse_i64(mpk_span_of(l->text.data + start, l->pos - start), out))
		return npy_bad(l, "an extent", err);
	(void)npy_take_word(l, "L"); /* Python 2 wrote long integers with an L */
	return MPK_OK;
}

enum { HAS_DESCR = 1, HAS_ORDER = 2, HAS_SHAPE = 4, HAS_ALL = 7 };

static enum mpk_code npy_read_entry(struct literal *l, struct mpk_npy_header *out, unsigned *seen,
				    struct mpk_error *err)
{
	struct mpk_span key;

	MPK_TRY(npy_read_string(l, &key, err));
	if (!npy_take(l, ':'))
		return npy_bad(l, "':'", err);
	if (mpk_span_is(key, "descr")) {
		*seen |= HAS_DESCR;

		if (npy_peek(l) == '[')
			return mpk_fail_offset(err, MPK_E_UNSUPPORTED, "npy", l->base + l->pos,
					       "an array of records; save its fields one by one");
		return npy_read_string(l, &out->descr, err);
	}
	if (mpk_span_is(key, "fortran_order")) {
		*seen |= HAS_ORDER;

		out->is_fortran = npy_take_word(l, "True");
		if (!out->is_fortran && !npy_take_word(l, "False"))
			return npy_bad(l, "True or False", err);
		return MPK_OK;
	}
	if (mpk_span_is(key, "shape")) {
		*seen |= HAS_SHAPE;

		if (!npy_take(l, '('))
			return npy_bad(l, "a tuple", err);
		out->ndim = 0;
		while (!npy_take(l, ')')) {
			if (out->ndim == MPK_NPY_NDIM_MAX)
				return mpk_fail_offset(err, MPK_E_UNSUPPORTED, "npy",
						       l->base + l->pos, "more than %d dimensions",
						       MPK_NPY_NDIM_MAX);
			MPK_TRY(npy_read_extent(l, &out->shape[out->ndim], err));
			out->ndim++;
			if (!npy_take(l, ',') && npy_peek(l) != ')')
				return npy_bad(l, "',' or ')'", err);
		}
		return MPK_OK;
	}
	return mpk_fail_offset(err, MPK_E_CORRUPT, "npy", l->base + l->pos,
			       "the header has a key '%s' that numpy does not write",
			       MPK_QUOTE(key));
}

/* Parses the dict: keys in any order, each of the three required
 * @base    offset of text in the file, for errors
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_UNSUPPORTED (records, rank) */
static enum mpk_code npy_header_parse(struct mpk_span text, uint64_t base,
				      struct mpk_npy_header *out, struct mpk_error *err)
{
	struct literal l = { .text = text, .base = base };
	struct mpk_npy_header header = { 0 };
	unsigned seen = 0;

	if (!npy_take(&l, '{'))
		return npy_bad(&l, "'{'", err);
	while (!npy_take(&l, '}')) {
		MPK_TRY(npy_read_entry(&l, &header, &seen, err));
		if (!npy_take(&l, ',') && npy_peek(&l) != '}')
			return npy_bad(&l, "',' or '}'", err);
	}
	if (seen != HAS_ALL)
		return npy_bad(&l, "the keys descr, fortran_order and shape", err);
	*out = header;
	return MPK_OK;
}

/* --- .npy arrays: the three header versions, and the element types that have a dtype --- */

static const char magic[] = "\x93NUMPY";
enum { MAGIC_LEN = 6 };

/* The magic number begins with a byte that is in no text. */
bool mpk_npy_is(struct mpk_span bytes)
{
	return bytes.len >= MAGIC_LEN && memcmp(bytes.data, magic, MAGIC_LEN) == 0;
}

struct letter {
	char letter;
	uint8_t code;
	const char *bytes; /* the allowed sizes */
};

static const struct letter letters[] = {
	{ 'b', MPK_DTYPE_BOOL, "1" },    { 'i', MPK_DTYPE_INT, "1248" },
	{ 'u', MPK_DTYPE_UINT, "1248" }, { 'f', MPK_DTYPE_FLOAT, "1248" },
	{ 'c', MPK_DTYPE_COMPLEX, "8" }, { 'V', MPK_DTYPE_HANDLE, "12348" },
};

static const struct mpk_dtype float8_e5m2 = { 12, 8, 1 };

static enum mpk_code npy_refuse(struct mpk_span descr, struct mpk_error *err)
{
	return mpk_fail(
		err, MPK_E_UNSUPPORTED,
		"elements of NumPy type '%s'; supported are bool, integers, floats and complex64",
		MPK_QUOTE(descr));
}

/* "<f4": byte order, letter, bytes of an element. */
static enum mpk_code read_dtype(struct mpk_span descr, struct mpk_npy *out, struct mpk_error *err)
{
	static const char orders[] = "<>|=";
	uint64_t bytes;
	struct mpk_span digits;

	if (descr.len < 3 || !memchr(orders, descr.data[0], sizeof orders - 1) ||
	    !mpk_span_sub(descr, 2, descr.len - 2, &digits) || !mpk_parse_u64(digits, &bytes))
		return npy_refuse(descr, err);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(letters); i++) {
		const struct letter *l = &letters[i];

		if ((uint8_t)l->letter != descr.data[1] || digits.len != 1 ||
		    !strchr(l->bytes, digits.data[0]))
			continue;
		out->is_opaque = l->letter == 'V';
		if (l->letter == 'f' && bytes == 1) {
			/* ml_dtypes gives only this one of its types the letter of a float */
			out->dtype = float8_e5m2;
			return MPK_OK;
		}
		out->is_big = descr.data[0] == '>' && bytes > 1 && !out->is_opaque;
		out->dtype = (struct mpk_dtype){ l->code, (uint8_t)(bytes * 8), 1 };
		return MPK_OK;
	}
	return npy_refuse(descr, err);
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

/* Fortran order matters only if two dimensions are longer than 1. */
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
	MPK_TRY(npy_header_parse(text, text_off, &header, err));
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

/* --- .npy headers as numpy writes them, to the byte, room for growth included --- */

/* numpy leaves space for the first extent to grow to this many digits */
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
	/* ml_dtypes gives its types a byte order even if they have one byte */
	bool has_order = bytes > 1 || t.code == MPK_DTYPE_HANDLE || t.code >= FIRST_SMALL_FLOAT;

	mpk_strbuf_printf(buf, "%c%s%zu", has_order ? '<' : '|', letter, bytes);
	return MPK_OK;
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

	mpk_strbuf_putc(&buf, '(');
	for (size_t i = 0; i < ndim; i++)
		mpk_strbuf_printf(&buf, "%s%" PRId64, i ? ", " : "", shape[i]);
	mpk_strbuf_puts(&buf, ndim == 1 ? ",)" : ")");

	mpk_strbuf_puts(&buf, ", }");

	struct mpk_strbuf first = { 0 };

	if (ndim) {
		mpk_strbuf_printf(&first, "%" PRId64, shape[0]);
		for (size_t i = first.len; i < GROWTH_DIGITS; i++)
			mpk_strbuf_putc(&buf, ' ');
		mpk_strbuf_fini(&first);
	}
	while (!buf.failed && (PREAMBLE + buf.len + 1) % ALIGN)
		mpk_strbuf_putc(&buf, ' ');
	mpk_strbuf_putc(&buf, '\n');
	MPK_TRY(mpk_strbuf_status(&buf, err));

	/* the NUL after the text is the minor version */
	mpk_rope_put_bytes(rope, mpk_span_of("\x93NUMPY\x01", 8));
	mpk_rope_put_u16(rope, (uint16_t)buf.len);
	mpk_rope_put_bytes(rope, mpk_span_of(buf.data, buf.len));
	return mpk_rope_status(rope, err);
}
