/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - signatures as people read them, and as a call that can be pasted into a shell */
#include "signature/signature.h"

#include <inttypes.h>

#include "text/escape.h"
#include "text/phrase.h"

/* --- Signatures as people read them --- */

/* --- types --------------------------------------------------------------------------------- */

static void signature_text_put_extents(const struct mpk_type *t, struct mpk_strbuf *out)
{
	mpk_strbuf_putc(out, '[');
	if (!t->ranked)
		mpk_strbuf_puts(out, "...");
	for (size_t i = 0; i < t->ndim; i++) {
		struct mpk_span symbol = mpk_type_symbol(t, i);

		mpk_strbuf_puts(out, i ? ", " : "");
		if (symbol.len)
			mpk_escape(out, symbol);
		else
			mpk_strbuf_printf(out, "%" PRId64, t->shape[i]);
	}
	mpk_strbuf_putc(out, ']');
}

/* A class of scalars without a width: what the writer of a file knew is that it is an integer. */
static const char *class_name(struct mpk_dtype t)
{
	return !t.lanes                    ? "scalar"
	       : t.code == MPK_DTYPE_INT   ? "int"
	       : t.code == MPK_DTYPE_FLOAT ? "float"
					   : "scalar";
}

/* A dtype as TVM spells it, or as a value is typed. */
typedef const char *spelling(struct mpk_dtype t, char out[MPK_DTYPE_TEXT]);

static void put_dtype(const struct mpk_type *t, const char *any, spelling *spell,
		      struct mpk_strbuf *out)
{
	char type[MPK_DTYPE_TEXT];

	mpk_strbuf_puts(out, t->dtype.bits ? spell(t->dtype, type) : any);
}

static void signature_text_put_type(const struct mpk_type *t, spelling *spell,
				    struct mpk_strbuf *out);

static void put_fields(const struct mpk_type *t, spelling *spell, struct mpk_strbuf *out)
{
	mpk_strbuf_putc(out, '(');
	for (size_t i = 0; i < t->field_count; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		signature_text_put_type(&t->fields[i].type, spell, out);
	}
	mpk_strbuf_putc(out, ')');
}

static void signature_text_put_type(const struct mpk_type *t, spelling *spell,
				    struct mpk_strbuf *out)
{
	switch (t->kind) {
	case MPK_TYPE_ANY:
		mpk_strbuf_puts(out, "any value");
		break;
	case MPK_TYPE_TENSOR:
		put_dtype(t, "tensor", spell, out);
		signature_text_put_extents(t, out);
		if (t->scope)
			mpk_strbuf_printf(out, "{%s}", *t->scope ? t->scope : "image");
		break;
	case MPK_TYPE_SHAPE:
		mpk_strbuf_puts(out, "shape");
		signature_text_put_extents(t, out);
		break;
	case MPK_TYPE_SCALAR:
		put_dtype(t, class_name(t->dtype), spell, out);
		break;
	case MPK_TYPE_TUPLE:
		put_fields(t, spell, out);
		break;
	case MPK_TYPE_FUNCTION:
		mpk_strbuf_puts(out, "function");
		break;
	case MPK_TYPE_STRING:
		mpk_strbuf_puts(out, "str");
		break;
	case MPK_TYPE_NAMED:
		mpk_escape(out, t->title);
		break;
	}
}

void mpk_type_text(const struct mpk_type *t, struct mpk_strbuf *out)
{
	signature_text_put_type(t, mpk_dtype_print, out);
}

/* --- signatures ---------------------------------------------------------------------------- */

static void signature_text_put_params(const struct mpk_param *list, size_t count,
				      struct mpk_strbuf *out)
{
	for (size_t i = 0; list && i < count; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		mpk_escape(out, list[i].name);
		if (list[i].type.kind == MPK_TYPE_ANY && list[i].name.len)
			continue;
		mpk_strbuf_puts(out, list[i].name.len ? ": " : "");
		signature_text_put_type(&list[i].type, mpk_dtype_print_short, out);
	}
	mpk_strbuf_putc(out, ')');
}

void mpk_signature_text(const struct mpk_signature *s, struct mpk_strbuf *out)
{
	mpk_escape(out, s->name);
	mpk_strbuf_puts(out, s->named_inputs && !s->inputs ? "(..." : "(");
	signature_text_put_params(s->inputs, s->input_count, out);
	if (!s->outputs_known)
		return;
	mpk_strbuf_puts(out, " -> (");
	signature_text_put_params(s->outputs, s->output_count, out);
}

const char *mpk_signature_use_text(unsigned index)
{
	static const char *const texts[] = { "weights by name", "random numbers" };

	return index < MPK_ARRAY_COUNT(texts) ? texts[index] : NULL;
}

/* Signatures as calls to paste
 *
 * A call is printed so that it works as it is: symbolic extents get one size for each name, the
 * smallest power of two that leaves no extent empty, as "n // 4" would be for n being 1. */

enum { SIZE_MAX_TRIED = 1024 }; /* of a name */

/* --- sizes ----------------------------------------------------------------------------- */

static bool symbol_size(struct mpk_span symbol, int64_t others, int64_t *out)
{
	const struct mpk_extent_values values = { .others = others };

	if (mpk_span_is(symbol, "?")) {
		*out = 1;
		return true;
	}
	return !mpk_span_is(symbol, "_") && mpk_extent_compute(symbol, &values, out);
}

static bool leaves_none_empty(const struct mpk_signature *s, int64_t others)
{
	int64_t size;

	for (size_t i = 0; i < s->input_count; i++) {
		const struct mpk_type *t = &s->inputs[i].type;

		for (size_t d = 0; d < t->ndim; d++) {
			struct mpk_span symbol = mpk_type_symbol(t, d);

			if (symbol.len && symbol_size(symbol, others, &size) && size <= 0)
				return false;
		}
	}
	return true;
}

static int64_t choose_size(const struct mpk_signature *s)
{
	for (int64_t size = 1; size <= SIZE_MAX_TRIED; size *= 2)
		if (leaves_none_empty(s, size))
			return size;
	return 1;
}

/* Whether a scalar of this name is an extent of some tensor. */
static bool is_extent(const struct mpk_signature *s, struct mpk_span name)
{
	for (size_t i = 0; i < s->input_count; i++) {
		const struct mpk_type *t = &s->inputs[i].type;

		for (size_t d = 0; d < t->ndim; d++)
			if (mpk_span_equal(mpk_type_symbol(t, d), name))
				return true;
	}
	return false;
}

/* --- values ---------------------------------------------------------------------------- */

/* What is written, and what its names are. */
struct writer {
	const struct mpk_signature *signature;
	int64_t size; /* of every symbolic name */
	struct mpk_strbuf *out;
};

static void put_extent(const struct writer *w, const struct mpk_type *t, size_t d)
{
	struct mpk_span symbol = mpk_type_symbol(t, d);
	int64_t size = t->shape[d];

	if (symbol.len && !symbol_size(symbol, w->size, &size))
		mpk_strbuf_puts(w->out, "EXTENT");
	else
		mpk_strbuf_printf(w->out, "%" PRId64, size);
}

/* Types whose elements have a text form, so that there are random ones. */
static bool has_random(struct mpk_dtype t)
{
	if (t.lanes != 1)
		return false;
	switch (t.code) {
	case MPK_DTYPE_INT:
	case MPK_DTYPE_UINT:
	case MPK_DTYPE_FLOAT:
		return t.bits >= 8 || t.bits == 1;
	case MPK_DTYPE_BFLOAT:
	case MPK_DTYPE_BOOL:
		return true;
	default:
		return false;
	}
}

static void put_call_dtype(const struct writer *w, const struct mpk_type *t)
{
	char type[MPK_DTYPE_TEXT];

	mpk_strbuf_puts(w->out, t->dtype.bits ? mpk_dtype_print_short(t->dtype, type) : "TYPE");
}

static void signature_text_put_tensor(const struct writer *w, const struct mpk_type *t, bool is_out)
{
	bool whole = t->ranked && t->dtype.bits;

	mpk_strbuf_puts(w->out, t->ranked ? "" : "SHAPEx");
	for (size_t d = 0; d < t->ndim; d++) {
		put_extent(w, t, d);
		mpk_strbuf_putc(w->out, 'x');
	}
	mpk_strbuf_puts(w->out, whole && !t->ndim ? "[]" : "");
	put_call_dtype(w, t);
	if (t->scope)
		mpk_strbuf_printf(w->out, "{%s}", *t->scope ? t->scope : "SCOPE");
	if (!is_out && (!whole || has_random(t->dtype)))
		mpk_strbuf_puts(w->out, whole ? "=rand" : "=VALUES");
}

static void put_scalar(const struct writer *w, const struct mpk_param *p)
{
	const struct mpk_dtype t = p->type.dtype;
	bool is_size = p->name.len && is_extent(w->signature, p->name);

	if (t.code == MPK_DTYPE_HANDLE && t.bits) {
		mpk_strbuf_puts(w->out, "none");
	} else if (t.code == MPK_DTYPE_BOOL && t.bits) {
		mpk_strbuf_puts(w->out, "true");
	} else if (!t.bits) {
		mpk_strbuf_puts(w->out, !t.lanes                    ? "VALUE"
					: t.code == MPK_DTYPE_FLOAT ? "1.0"
								    : "");
		if (t.lanes && t.code != MPK_DTYPE_FLOAT)
			mpk_strbuf_printf(w->out, "%" PRId64, is_size ? w->size : 1);
	} else {
		put_call_dtype(w, &p->type);
		mpk_strbuf_printf(w->out, "=%" PRId64, is_size ? w->size : 1);
	}
}

static void signature_text_put_value(const struct writer *w, const struct mpk_param *p, bool is_out)
{
	const struct mpk_type *t = &p->type;

	switch (t->kind) {
	case MPK_TYPE_ANY:
	case MPK_TYPE_FUNCTION:
		mpk_strbuf_puts(w->out, "SHAPExTYPE=VALUES");
		break;
	case MPK_TYPE_STRING:
		mpk_strbuf_puts(w->out, "str=TEXT");
		break;
	case MPK_TYPE_NAMED:
		mpk_strbuf_puts(w->out, t->optional ? "none" : "VALUE");
		break;
	case MPK_TYPE_TENSOR:
		signature_text_put_tensor(w, t, is_out);
		break;
	case MPK_TYPE_SHAPE:
		mpk_strbuf_puts(w->out, t->ranked ? "shape=" : "shape=EXTENTS");
		for (size_t d = 0; d < t->ndim; d++) {
			mpk_strbuf_puts(w->out, d ? "," : "");
			put_extent(w, t, d);
		}
		break;
	case MPK_TYPE_SCALAR:
		put_scalar(w, p);
		break;
	case MPK_TYPE_TUPLE:
		mpk_strbuf_putc(w->out, '(');
		for (size_t i = 0; i < t->field_count; i++) {
			mpk_strbuf_puts(w->out, i ? "; " : "");
			signature_text_put_value(w, &t->fields[i], false);
		}
		mpk_strbuf_putc(w->out, ')');
		break;
	}
}

/* What a function fills is its last tensor, by custom; nothing in a file says so. */
static size_t filled(const struct mpk_signature *s)
{
	for (size_t i = s->fills_inputs ? s->input_count : 0; i > 0; i--)
		if (s->inputs[i - 1].type.kind == MPK_TYPE_TENSOR)
			return i - 1;
	return s->input_count;
}

void mpk_signature_options(const struct mpk_signature *s, struct mpk_strbuf *out)
{
	struct mpk_strbuf word = { 0 };
	const struct writer w = { s, choose_size(s), &word };

	if (s->named_inputs && !s->inputs)
		mpk_strbuf_puts(out, " --input NAME=SHAPExTYPE=VALUES");
	for (size_t i = 0; s->inputs && i < s->input_count; i++) {
		bool is_out = i == filled(s);

		word.len = 0;
		if (s->named_inputs && s->inputs[i].name.len) {
			mpk_strbuf_put_span(&word, s->inputs[i].name);
			mpk_strbuf_putc(&word, '=');
		}
		signature_text_put_value(&w, &s->inputs[i], is_out);
		mpk_strbuf_puts(out, is_out ? " --out " : " --input ");
		mpk_put_word(out, mpk_span_of(word.data, word.len));
	}
	out->failed |= word.failed;
	mpk_strbuf_fini(&word);
}
