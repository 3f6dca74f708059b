/* SPDX-License-Identifier: Apache-2.0 */
/* print.c - values as text that mpk_value_parse reads again, as far as nothing is left out
 *
 * Tensors are printed with the brackets of their nesting and end in "..." after a limit. What
 * cannot be typed, a function or a module, is printed by its kind.
 */
#include "value/parse.h"

#include <inttypes.h>
#include <stdio.h>

#include "text/escape.h"
#include "value/element.h"
#include "value/function.h"

/* "f32", "i64", "bool", "bf16"; the long name where there is no short one */
static const char *dtype_short(struct mpk_dtype t, char out[MPK_DTYPE_TEXT])
{
	/* uint1, which TVM up to 0.22 has for it, too */
	return mpk_element_class(t) == MPK_ELEMENT_BOOL ? "bool" : mpk_dtype_print_short(t, out);
}

void mpk_tensor_print_type(struct mpk_strbuf *buf, const struct mpk_dltensor *dl)
{
	char name[MPK_DTYPE_TEXT];

	if (dl->ndim == 0)
		mpk_strbuf_puts(buf, "[]");
	for (int32_t i = 0; i < dl->ndim; i++)
		mpk_strbuf_printf(buf, "%" PRId64 "x", dl->shape[i]);
	mpk_strbuf_puts(buf, dtype_short(dl->dtype, name));
}

static void print_tensor(struct mpk_strbuf *buf, const struct mpk_tensor *t, size_t limit)
{
	struct mpk_scalars s = mpk_scalars_of(&t->dl);
	uint64_t shown = limit && limit < s.count ? limit : s.count;
	bool nested = s.ndim > 1 && s.count;
	uint8_t raw[MPK_SCALAR_MAX];

	mpk_tensor_print_type(buf, &t->dl);
	mpk_strbuf_putc(buf, '=');
	if (!mpk_dldevice_is_host(t->dl.device)) {
		mpk_strbuf_puts(buf, "(on another device)");
		return;
	}
	for (uint64_t i = 0; i < shown; i++) {
		size_t opened = nested ? mpk_scalars_edges(&s, i) : 0;

		if (nested && i)
			mpk_strbuf_fill(buf, ']', opened);
		if (i && !opened)
			mpk_strbuf_putc(buf, ' ');
		mpk_strbuf_fill(buf, '[', opened);
		mpk_element_print(buf, s.dtype, mpk_scalar_at(&s, i, raw));
	}
	if (shown < s.count)
		mpk_strbuf_puts(buf, " ...");
	else if (nested)
		mpk_strbuf_fill(buf, ']', (size_t)s.ndim);
}

static void print_shape(struct mpk_strbuf *buf, const struct mpk_shape *shape)
{
	mpk_strbuf_puts(buf, "shape=");
	for (size_t i = 0; i < shape->ndim; i++)
		mpk_strbuf_printf(buf, "%s%" PRId64, i ? "," : "", shape->extents[i]);
}

static void print_bytes(struct mpk_strbuf *buf, struct mpk_span s)
{
	mpk_strbuf_puts(buf, "bytes=");
	for (size_t i = 0; i < s.len; i++)
		mpk_strbuf_printf(buf, "%02x", s.data[i]);
}

static void print_device(struct mpk_strbuf *buf, struct mpk_dldevice d)
{
	const char *name = mpk_dl_device_name(d.type);

	if (name)
		mpk_strbuf_printf(buf, "device=%s:%" PRId32, name, d.id);
	else
		mpk_strbuf_printf(buf, "device=%" PRId32 ":%" PRId32, d.type, d.id);
}

static void print_number(struct mpk_strbuf *buf, const struct mpk_value *v)
{
	bool is_int = v->kind == MPK_VALUE_INT;
	struct mpk_dtype natural = { is_int ? MPK_DTYPE_INT : MPK_DTYPE_FLOAT, 64, 1 };
	struct mpk_dtype t = v->type.bits ? v->type : natural;
	struct mpk_element e = { .class = mpk_element_class(t),
				 .i = v->integer,
				 .u = (uint64_t)v->integer };
	uint8_t raw[8] = { 0 };
	char name[MPK_DTYPE_TEXT];

	if (!is_int)
		e.f = v->real;
	mpk_element_store(t, e, raw);
	mpk_strbuf_printf(buf, "%s=", dtype_short(t, name));
	mpk_element_print(buf, t, raw);
}

enum { NEST_MAX = 16 }; /* tuples within tuples that are printed with their items */

static void print_opaque(struct mpk_strbuf *buf, const struct mpk_value *v)
{
	/* addresses differ from run to run: the same call prints the same text */
	if (v->kind == MPK_VALUE_FUNCTION && v->function->name)
		mpk_strbuf_printf(buf, "(function %s)", MPK_QUOTE(mpk_span_str(v->function->name)));
	else if (v->kind == MPK_VALUE_OBJECT)
		mpk_strbuf_printf(buf, "(%s)", v->object->type);
	else
		mpk_strbuf_printf(buf, "(%s)", mpk_value_kind_name(v->kind));
}

static void print_one(struct mpk_strbuf *buf, const struct mpk_value *v, size_t limit)
{
	char name[MPK_DTYPE_TEXT];

	switch (v->kind) {
	case MPK_VALUE_NONE:
		mpk_strbuf_puts(buf, "none");
		break;
	case MPK_VALUE_BOOL:
		mpk_strbuf_puts(buf, v->boolean ? "true" : "false");
		break;
	case MPK_VALUE_INT:
	case MPK_VALUE_FLOAT:
		print_number(buf, v);
		break;
	case MPK_VALUE_STR:
		mpk_strbuf_puts(buf, "str=");
		mpk_escape(buf, mpk_value_text_span(v));
		break;
	case MPK_VALUE_BYTES:
		print_bytes(buf, mpk_value_text_span(v));
		break;
	case MPK_VALUE_SHAPE:
		print_shape(buf, v->shape);
		break;
	case MPK_VALUE_DTYPE:
		mpk_strbuf_printf(buf, "dtype=%s", mpk_dtype_print(v->dtype, name));
		break;
	case MPK_VALUE_DEVICE:
		print_device(buf, v->device);
		break;
	case MPK_VALUE_TENSOR:
		print_tensor(buf, v->tensor, limit);
		break;
	case MPK_VALUE_STORAGE:
	case MPK_VALUE_ARRAY:
	case MPK_VALUE_OPAQUE:
	case MPK_VALUE_FUNCTION:
	case MPK_VALUE_MODULE:
	case MPK_VALUE_OBJECT:
	case MPK_VALUE_KIND_COUNT:
		print_opaque(buf, v);
		break;
	}
}

/* Results are flattened before they are printed; an array within one is a list. */
static void print_nested(struct mpk_strbuf *buf, const struct mpk_value *v, size_t limit,
			 unsigned depth)
{
	if (v->kind != MPK_VALUE_ARRAY || depth == NEST_MAX) {
		print_one(buf, v, limit);
		return;
	}
	mpk_strbuf_putc(buf, '(');
	for (size_t i = 0; i < v->array->count; i++) {
		mpk_strbuf_puts(buf, i ? "; " : "");
		print_nested(buf, &v->array->items[i], limit, depth + 1);
	}
	mpk_strbuf_putc(buf, ')');
}

void mpk_value_print(struct mpk_strbuf *buf, const struct mpk_value *v, size_t limit)
{
	print_nested(buf, v, limit, 0);
}
