/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - signatures as people read them */
#include <inttypes.h>

#include "signature/signature.h"
#include "text/escape.h"

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

static void put_type(const struct mpk_type *t, spelling *spell, struct mpk_strbuf *out);

static void put_fields(const struct mpk_type *t, spelling *spell, struct mpk_strbuf *out)
{
	mpk_strbuf_putc(out, '(');
	for (size_t i = 0; i < t->field_count; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		put_type(&t->fields[i].type, spell, out);
	}
	mpk_strbuf_putc(out, ')');
}

static void put_type(const struct mpk_type *t, spelling *spell, struct mpk_strbuf *out)
{
	switch (t->kind) {
	case MPK_TYPE_ANY:
		mpk_strbuf_puts(out, "any value");
		break;
	case MPK_TYPE_TENSOR:
		put_dtype(t, "tensor", spell, out);
		put_extents(t, out);
		if (t->scope)
			mpk_strbuf_printf(out, "{%s}", *t->scope ? t->scope : "image");
		break;
	case MPK_TYPE_SHAPE:
		mpk_strbuf_puts(out, "shape");
		put_extents(t, out);
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
	put_type(t, mpk_dtype_print, out);
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
		put_type(&list[i].type, mpk_dtype_print_short, out);
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
