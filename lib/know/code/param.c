/* SPDX-License-Identifier: Apache-2.0 */
/* param.c - parameters of kernels, from the code and from the symbol
 *
 * Machine code has sizes and order, and sometimes shows which are pointers; a mangled C++ name has
 * types, but no sizes of classes. So the format's row sets what the code shows. The symbol adds the
 * rest, if the number of parameters and every size agree. If not, the symbol belongs to another
 * function and is ignored. */
#include "code/info.h"

#include <string.h>

#include "code/format.h"
#include "itanium/itanium.h"
#include "sourcecode/sourcecode.h"

/* Sets the type from the symbol, if the code does not show it. */
static void fill_gap(struct mpk_code_param *p, const struct mpk_itanium_type *t)
{
	bool known = mpk_itanium_dtype(t, &p->dtype);

	if (t->pointers) {
		p->kind = MPK_CODE_PARAM_BUFFER;
		p->read_only = t->is_const && t->pointers == 1;
		/* A pointer to pointers: the last type is not that of its elements. */
		if (t->pointers > 1)
			p->dtype = (struct mpk_dtype){ 0 };
	} else {
		struct mpk_source_code_param class;

		p->kind = known && t->lanes == 1 ? MPK_CODE_PARAM_NUMBER : MPK_CODE_PARAM_VALUE;
		mpk_source_code_param_read(t->name, &class);
		if (class.dtype.lanes > 1) /* "float2" is a class in CUDA. */
			p->dtype = class.dtype;
	}
}

/* Whether a type of the symbol may have the size in the code. Pointers have 8 bytes on every GPU
 * that is read here. A type without a dtype, such as a class, may have any size. */
static bool param_fits(const struct mpk_code_param *p, const struct mpk_itanium_type *t)
{
	struct mpk_dtype dtype;

	if (!p->bytes || t->pointers)
		return !p->bytes || p->bytes == 8;
	return !mpk_itanium_dtype(t, &dtype) || p->bytes * 8 == (uint64_t)dtype.bits * dtype.lanes;
}

/* A symbol that is not mangled is not an error: C functions have one. All sizes are compared before
 * anything is set, so that a symbol that fits in part changes nothing. */
static enum mpk_code ask_symbol(struct mpk_span symbol, struct mpk_code_param *list, size_t count,
				struct mpk_arena *arena, struct mpk_error *err)
{
	struct mpk_itanium_function f;
	enum mpk_code code;

	if (!mpk_itanium_is(symbol))
		return MPK_OK;
	code = mpk_itanium_read(symbol, arena, &f, NULL);
	if (code != MPK_OK)
		return code == MPK_E_NOMEM ? mpk_fail_nomem(err) : MPK_OK;
	if (f.param_count != count)
		return MPK_OK;
	for (size_t i = 0; i < count; i++)
		if (!param_fits(&list[i], &f.params[i]))
			return MPK_OK;
	for (size_t i = 0; i < count; i++)
		if (!list[i].text.len && list[i].kind != MPK_CODE_PARAM_LOCAL)
			fill_gap(&list[i], &f.params[i]);
	return MPK_OK;
}

/* Machine code gives the size of a value: one of 8 bytes may be an address, unless the type is a
 * vector. */
static void param_measure(struct mpk_code_param *p)
{
	if (p->kind != MPK_CODE_PARAM_VALUE || p->text.len)
		return;
	p->least_bytes = p->bytes;
	p->holds_address = !p->dtype.bits;
}

/* All formats use this function, so they treat a symbol alike. */
enum mpk_code mpk_code_info_params(const struct mpk_code_info *info, size_t kernel,
				   struct mpk_arena *arena, const struct mpk_code_param **out,
				   struct mpk_error *err)
{
	const struct mpk_code_kernel *k = &info->kernels[kernel];
	struct mpk_code_param *list = mpk_arena_array(arena, k->param_count, sizeof *list);

	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < k->param_count; i++) {
		if (info->format->param_bytes)
			list[i].bytes = info->format->param_bytes(info, kernel, i);
		if (info->format->param)
			info->format->param(info, kernel, i, &list[i]);
	}
	MPK_TRY(ask_symbol(k->name, list, k->param_count, arena, err));
	for (size_t i = 0; i < k->param_count; i++)
		param_measure(&list[i]);
	*out = list;
	return MPK_OK;
}

/* Runtimes pass values of 32 and 64 bits; the sign of 64-bit ones does not matter. */
static bool passes_number(struct mpk_dtype t, struct mpk_dtype *out)
{
	if (t.lanes != 1 || (t.bits != 32 && t.bits != 64) ||
	    (t.code != MPK_DTYPE_INT && t.code != MPK_DTYPE_UINT && t.code != MPK_DTYPE_FLOAT))
		return false;
	/* Integers of callers are int64; an unsigned one of 64 bits is passed with the same bits. */
	if (t.code == MPK_DTYPE_UINT && t.bits == 64)
		t.code = MPK_DTYPE_INT;
	*out = t;
	return true;
}

/* Returns the type that a launch function passes: a handle, or a number of 32 or 64 bits. */
bool mpk_code_info_argument(const struct mpk_code_param *p, struct mpk_dtype *out)
{
	struct mpk_dtype handle = { MPK_DTYPE_HANDLE, 64, 1 };

	switch (p->kind) {
	case MPK_CODE_PARAM_BUFFER:
	case MPK_CODE_PARAM_IMAGE:
		*out = handle;
		return true;
	case MPK_CODE_PARAM_NUMBER:
		return passes_number(p->dtype, out);
	case MPK_CODE_PARAM_UNKNOWN: /* 8 bytes are far more often an address than a number. */
		*out = p->dtype.bits   ? p->dtype
		       : p->bytes == 8 ? handle
				       : (struct mpk_dtype){ MPK_DTYPE_INT, 32, 1 };
		return p->bytes == 4 || p->bytes == 8;
	case MPK_CODE_PARAM_LOCAL:
	case MPK_CODE_PARAM_VALUE:
		break;
	}
	return false;
}

/* --- helpers for recognising formats --------------------------------------------------------- */

/* In this file and not in recognise.c, which uses the table of all rows: an application that
 * recognises CUDA code links only this file. */

enum { BEGINNING = 65536 }; /* bytes */

static struct mpk_span beginning(struct mpk_span s)
{
	return mpk_span_of(s.data, s.len < BEGINNING ? s.len : BEGINNING);
}

bool mpk_code_is_text(struct mpk_span bytes)
{
	/* A NUL at the end, or padding. A large file of zeros is not searched for the end of its text. */
	while (bytes.len && bytes.len <= BEGINNING && bytes.data[bytes.len - 1] == '\0')
		bytes.len--;
	bytes = beginning(bytes);
	for (size_t i = 0; i < bytes.len; i++)
		if (bytes.data[i] < ' ' && (bytes.data[i] < '\t' || bytes.data[i] > '\r'))
			return false;
	return bytes.len > 0;
}

bool mpk_code_has_word(struct mpk_span bytes, const char *word)
{
	struct mpk_span s = beginning(bytes);

	return s.len && memmem(s.data, s.len, word, strlen(word));
}

bool mpk_code_has_sign(const struct mpk_code_format *f, struct mpk_span bytes)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(f->magics) && f->magics[i]; i++)
		if (mpk_span_starts(bytes, f->magics[i]))
			return true;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(f->words) && f->words[i]; i++)
		if (mpk_code_has_word(bytes, f->words[i]))
			return true;
	return f->is && f->is(bytes);
}
