#include "executor/model_text.h"

#include <inttypes.h>

#include "text/escape.h"
#include "text/phrase.h"

void mpk_model_type_text(const struct mpk_model_tensor *t, struct mpk_strbuf *out)
{
	char type[MPK_DTYPE_TEXT];

	if (!t->typed) {
		mpk_strbuf_puts(out, "any value");
		return;
	}
	mpk_strbuf_printf(out, "%s[", mpk_dtype_print(t->dtype, type));
	for (size_t i = 0; i < t->ndim; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		if (t->symbols && t->symbols[i].len)
			mpk_escape(out, t->symbols[i]);
		else
			mpk_strbuf_printf(out, "%" PRId64, t->shape[i]);
	}
	mpk_strbuf_putc(out, ']');
}

/* "2x20xfloat32=rand" */
static void put_value(const struct mpk_model_tensor *t, struct mpk_strbuf *out)
{
	char type[MPK_DTYPE_TEXT];

	if (!t->typed) {
		mpk_strbuf_puts(out, "SHAPExTYPE=VALUES");
		return;
	}
	for (size_t i = 0; i < t->ndim; i++)
		mpk_strbuf_printf(out, "%" PRId64 "x",
				  t->symbols && t->symbols[i].len ? 1 : t->shape[i]);
	mpk_strbuf_printf(out, "%s%s=rand", t->ndim ? "" : "[]", mpk_dtype_print(t->dtype, type));
}

void mpk_model_options(const struct mpk_model *m, struct mpk_strbuf *out)
{
	struct mpk_strbuf word = { 0 };

	if (m->named_inputs && !m->inputs)
		mpk_strbuf_puts(out, " --input NAME=SHAPExTYPE=VALUES");
	for (size_t i = 0; m->inputs && i < m->input_count; i++) {
		word.len = 0;
		if (m->named_inputs && m->inputs[i].name.len) {
			mpk_strbuf_put_span(&word, m->inputs[i].name);
			mpk_strbuf_putc(&word, '=');
		}
		put_value(&m->inputs[i], &word);
		mpk_strbuf_puts(out, " --input ");
		mpk_put_word(out, mpk_span_of(word.data, word.len));
	}
	out->failed |= word.failed;
	mpk_strbuf_fini(&word);
}
