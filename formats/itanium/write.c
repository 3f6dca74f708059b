/* SPDX-License-Identifier: Apache-2.0 */
/* A type is spelt without substitutions first; those that end within it are looked up by that spelling, as the
 * ABI numbers types in the order in which they end. */
#include <stdlib.h>
#include <string.h>

#include "itanium/itanium.h"

enum { KNOWN_MAX = 64 };

struct writer {
	struct mpk_strbuf *out;
	struct mpk_strbuf known[KNOWN_MAX]; /* spellings */
	size_t count;
};

static void put_sequence(struct mpk_strbuf *out, size_t i)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	mpk_strbuf_putc(out, 'S');
	if (i > 36)
		mpk_strbuf_putc(out, digits[(i - 1) / 36]);
	if (i)
		mpk_strbuf_putc(out, digits[(i - 1) % 36]);
	mpk_strbuf_putc(out, '_');
}

/* False: not seen before; it is from now on, once its parts are written. */
static bool put_known(struct writer *w, struct mpk_span spelling)
{
	for (size_t i = 0; i < w->count; i++) {
		if (!mpk_span_equal(mpk_span_of(w->known[i].data, w->known[i].len), spelling))
			continue;
		put_sequence(w->out, i);
		return true;
	}
	return false;
}

static void itanium_write_remember(struct writer *w, struct mpk_span spelling)
{
	if (w->count == KNOWN_MAX)
		return; /* written in full from here on; no kernel has as many types */
	mpk_strbuf_put_span(&w->known[w->count++], spelling);
}

/* "PKf": a pointer and what it leads to are types of their own, and a class is. */
static void put_spelling(struct writer *w, struct mpk_span s)
{
	bool compound = s.data[0] == 'P' || s.data[0] == 'K';

	if (!compound && (s.data[0] < '0' || s.data[0] > '9')) {
		mpk_strbuf_put_span(w->out, s);
		return;
	}
	if (put_known(w, s))
		return;
	if (compound) {
		mpk_strbuf_putc(w->out, (char)s.data[0]);
		put_spelling(w, mpk_span_of(s.data + 1, s.len - 1));
	} else {
		mpk_strbuf_put_span(w->out, s);
	}
	itanium_write_remember(w, s);
}

static void itanium_put_name(struct mpk_strbuf *out, struct mpk_span name)
{
	mpk_strbuf_printf(out, "%zu", name.len);
	mpk_strbuf_put_span(out, name);
}

static void itanium_put_type(struct writer *w, const struct mpk_itanium_type *t)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf s = { 0 };

	for (unsigned i = 0; i < t->pointers; i++)
		mpk_strbuf_putc(&s, 'P');
	if (t->is_const && t->pointers)
		mpk_strbuf_putc(&s, 'K');
	if (t->builtin == 'H')
		mpk_strbuf_puts(&s, "DF16_");
	else if (t->builtin)
		mpk_strbuf_putc(&s, t->builtin);
	else
		itanium_put_name(&s, t->name);
	w->out->failed |= s.failed;
	if (!s.failed)
		put_spelling(w, mpk_span_of(s.data, s.len));
}

void mpk_itanium_write(const struct mpk_span *scopes, size_t scope_count,
		       const struct mpk_itanium_function *f, struct mpk_strbuf *out)
{
	struct writer w = { .out = out };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf scope = { 0 };

	mpk_strbuf_puts(out, scope_count ? "_ZN" : "_Z");
	for (size_t i = 0; i < scope_count; i++) {
		itanium_put_name(out, scopes[i]);
		/* no parameter can be one; it only has its number */
		mpk_strbuf_putc(&scope, '~');
		itanium_write_remember(&w, mpk_span_of(scope.data, scope.len));
	}
	itanium_put_name(out, f->name);
	mpk_strbuf_puts(out, scope_count ? "E" : "");
	for (size_t i = 0; i < f->param_count; i++)
		itanium_put_type(&w, &f->params[i]);
	mpk_strbuf_puts(out, f->param_count ? "" : "v");
	for (size_t i = 0; i < w.count; i++) {
		out->failed |= w.known[i].failed;
		mpk_strbuf_fini(&w.known[i]);
	}
}
