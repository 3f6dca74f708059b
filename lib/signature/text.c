/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - signatures as people read them, and as calls to paste */
#include <inttypes.h>

#include "signature/signature.h"
#include "text/escape.h"
#include "text/phrase.h"

/* --- types --------------------------------------------------------------------------------- */

static void put_extents(const struct mpk_type *t, struct mpk_strbuf *out)
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

static void put_dtype(const struct mpk_type *t, const char *any, struct mpk_strbuf *out)
{
	char type[MPK_DTYPE_TEXT];

	mpk_strbuf_puts(out, t->dtype.bits ? mpk_dtype_print(t->dtype, type) : any);
}

static void put_fields(const struct mpk_type *t, struct mpk_strbuf *out)
{
	mpk_strbuf_putc(out, '(');
	for (size_t i = 0; i < t->field_count; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		mpk_type_text(&t->fields[i].type, out);
	}
	mpk_strbuf_putc(out, ')');
}

void mpk_type_text(const struct mpk_type *t, struct mpk_strbuf *out)
{
	switch (t->kind) {
	case MPK_TYPE_ANY:
		mpk_strbuf_puts(out, "any value");
		break;
	case MPK_TYPE_TENSOR:
		put_dtype(t, "tensor", out);
		put_extents(t, out);
		break;
	case MPK_TYPE_SHAPE:
		mpk_strbuf_puts(out, "shape");
		put_extents(t, out);
		break;
	case MPK_TYPE_SCALAR:
		put_dtype(t, "scalar", out);
		break;
	case MPK_TYPE_TUPLE:
		put_fields(t, out);
		break;
	case MPK_TYPE_FUNCTION:
		mpk_strbuf_puts(out, "function");
		break;
	}
}

/* --- signatures ---------------------------------------------------------------------------- */

static void put_params(const struct mpk_param *list, size_t count, struct mpk_strbuf *out)
{
	for (size_t i = 0; list && i < count; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		mpk_escape(out, list[i].name);
		if (list[i].type.kind == MPK_TYPE_ANY && list[i].name.len)
			continue;
		mpk_strbuf_puts(out, list[i].name.len ? ": " : "");
		mpk_type_text(&list[i].type, out);
	}
	mpk_strbuf_putc(out, ')');
}

void mpk_signature_text(const struct mpk_signature *s, struct mpk_strbuf *out)
{
	mpk_escape(out, s->name);
	mpk_strbuf_puts(out, s->named_inputs && !s->inputs ? "(..." : "(");
	put_params(s->inputs, s->input_count, out);
	if (!s->outputs_known)
		return;
	mpk_strbuf_puts(out, " -> (");
	put_params(s->outputs, s->output_count, out);
}

/* --- calls --------------------------------------------------------------------------------- */

static void put_tensor_value(const struct mpk_type *t, struct mpk_strbuf *out)
{
	if (!t->ranked || !t->dtype.bits) {
		mpk_strbuf_puts(out, t->ranked ? "" : "SHAPEx");
		for (size_t i = 0; i < t->ndim; i++)
			mpk_strbuf_printf(out, "%" PRId64 "x",
					  mpk_type_symbol(t, i).len ? 1 : t->shape[i]);
		put_dtype(t, "TYPE", out);
		mpk_strbuf_puts(out, "=VALUES");
		return;
	}
	for (size_t i = 0; i < t->ndim; i++)
		mpk_strbuf_printf(out, "%" PRId64 "x", mpk_type_symbol(t, i).len ? 1 : t->shape[i]);
	mpk_strbuf_puts(out, t->ndim ? "" : "[]");
	put_dtype(t, "TYPE", out);
	mpk_strbuf_puts(out, "=rand");
}

static void put_shape_value(const struct mpk_type *t, struct mpk_strbuf *out)
{
	mpk_strbuf_puts(out, t->ranked ? "shape=" : "shape=EXTENTS");
	for (size_t i = 0; i < t->ndim; i++)
		mpk_strbuf_printf(out, "%s%" PRId64, i ? "," : "",
				  mpk_type_symbol(t, i).len ? 1 : t->shape[i]);
}

static void put_value(const struct mpk_type *t, struct mpk_strbuf *out)
{
	switch (t->kind) {
	case MPK_TYPE_ANY:
	case MPK_TYPE_FUNCTION:
		mpk_strbuf_puts(out, "SHAPExTYPE=VALUES");
		break;
	case MPK_TYPE_TENSOR:
		put_tensor_value(t, out);
		break;
	case MPK_TYPE_SHAPE:
		put_shape_value(t, out);
		break;
	case MPK_TYPE_SCALAR:
		put_dtype(t, "TYPE", out);
		mpk_strbuf_puts(out, "=VALUE");
		break;
	case MPK_TYPE_TUPLE:
		mpk_strbuf_putc(out, '(');
		for (size_t i = 0; i < t->field_count; i++) {
			mpk_strbuf_puts(out, i ? "; " : "");
			put_value(&t->fields[i].type, out);
		}
		mpk_strbuf_putc(out, ')');
		break;
	}
}

void mpk_signature_options(const struct mpk_signature *s, struct mpk_strbuf *out)
{
	struct mpk_strbuf word = { 0 };

	if (s->named_inputs && !s->inputs)
		mpk_strbuf_puts(out, " --input NAME=SHAPExTYPE=VALUES");
	for (size_t i = 0; s->inputs && i < s->input_count; i++) {
		word.len = 0;
		if (s->named_inputs && s->inputs[i].name.len) {
			mpk_strbuf_put_span(&word, s->inputs[i].name);
			mpk_strbuf_putc(&word, '=');
		}
		put_value(&s->inputs[i].type, &word);
		mpk_strbuf_puts(out, " --input ");
		mpk_put_word(out, mpk_span_of(word.data, word.len));
	}
	out->failed |= word.failed;
	mpk_strbuf_fini(&word);
}
