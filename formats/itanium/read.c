/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - the types of parameters in symbols of C++ functions, by recursive descent; and symbols
 * for functions
 *
 * Symbols come from untrusted files: nesting, substitutions and lengths are limited, and an unknown
 * construct ends the reading, because a guess might be wrong. To write a type, it is spelt without
 * substitutions first. The types inside it are then looked up by that spelling, because the ABI
 * numbers types in the order in which they end. */
#include <stdlib.h>
#include <string.h>

#include "itanium/itanium.h"

enum { SUBSTITUTIONS_MAX = 64, ARGS_MAX = 16, PARAMS_MAX = 256, DEPTH_MAX = 16 };

struct parser {
	struct mpk_span s;
	size_t at;
	bool failed;
	unsigned depth;
	struct mpk_itanium_type known[SUBSTITUTIONS_MAX];
	size_t known_count;
	/* template arguments of the function, which T_, T0_ and so on refer to */
	struct mpk_itanium_type args[ARGS_MAX];
	size_t arg_count;
};

static char itanium_peek(const struct parser *p)
{
	return p->at < p->s.len ? (char)p->s.data[p->at] : '\0';
}

static bool accept(struct parser *p, const char *text)
{
	size_t n = strlen(text);

	if (p->s.len - p->at < n || memcmp(p->s.data + p->at, text, n) != 0)
		return false;
	p->at += n;
	return true;
}

static struct mpk_itanium_type itanium_fail(struct parser *p)
{
	p->failed = true;
	p->at = p->s.len;
	return (struct mpk_itanium_type){ 0 };
}

static struct mpk_itanium_type itanium_remember(struct parser *p, struct mpk_itanium_type t)
{
	if (p->known_count == SUBSTITUTIONS_MAX)
		(void)itanium_fail(p);
	else
		p->known[p->known_count++] = t;
	return t;
}

static size_t itanium_number(struct parser *p)
{
	size_t n = 0;

	if (!mpk_is_digit(itanium_peek(p)))
		(void)itanium_fail(p);
	for (; mpk_is_digit(itanium_peek(p)); p->at++)
		n = n < p->s.len ? n * 10 + (size_t)(itanium_peek(p) - '0') : n;
	return n;
}

/* The length comes first, so a name may have any bytes; it is compared with the symbol before the
 * name is read. */
static struct mpk_span source_name(struct parser *p)
{
	size_t n = itanium_number(p);
	struct mpk_span name;

	if (p->failed || !n || !mpk_span_sub(p->s, p->at, n, &name)) {
		(void)itanium_fail(p);
		return (struct mpk_span){ 0 };
	}
	p->at += n;
	return name;
}

/* A class has one lane; vectors give their lanes before the type. */
static struct mpk_itanium_type class_type(struct mpk_span name)
{
	return (struct mpk_itanium_type){ .name = name, .lanes = 1 };
}

static struct mpk_itanium_type type(struct parser *p);

/* Reads "_", "0_" or "A_" after an S or T: 0, 1 or 11. */
static size_t sequence(struct parser *p)
{
	size_t n = 0;
	bool given = false;

	for (char c = itanium_peek(p); c != '_'; c = itanium_peek(p), given = true) {
		if (!mpk_is_digit(c) && (c < 'A' || c > 'Z'))
			break;
		n = n * 36 + (size_t)(mpk_is_digit(c) ? c - '0' : c - 'A' + 10);
		n = n < SUBSTITUTIONS_MAX ? n : SUBSTITUTIONS_MAX;
		p->at++;
	}
	if (!accept(p, "_"))
		(void)itanium_fail(p);
	return n + given;
}

/* Reads a substitution after its 'S'. The abbreviations of std are classes. */
static struct mpk_itanium_type substitution(struct parser *p)
{
	size_t i;

	if (itanium_peek(p) >= 'a' && itanium_peek(p) <= 'z') {
		p->at++;
		return class_type(mpk_span_str("std"));
	}
	i = sequence(p);
	return i < p->known_count ? p->known[i] : itanium_fail(p);
}

/* @args    receives the types; NULL: skip them */
static size_t template_args(struct parser *p, struct mpk_itanium_type *args)
{
	struct mpk_itanium_type t;
	size_t n = 0;

	if (p->depth == DEPTH_MAX)
		(void)itanium_fail(p);
	p->depth++;
	while (!p->failed && !accept(p, "E")) {
		t = (struct mpk_itanium_type){ 0 };
		if (accept(p, "L")) {
			/* "Li128E": a value, which must be a number. */
			(void)type(p);
			(void)accept(p, "n");
			(void)itanium_number(p);
			if (!accept(p, "E"))
				(void)itanium_fail(p);
		} else if (accept(p, "J"))
			(void)template_args(p, NULL);
		else
			t = type(p);
		if (args && n < ARGS_MAX)
			args[n] = t;
		n++;
	}
	p->depth--;
	return n < ARGS_MAX ? n : ARGS_MAX;
}

/* Reads "N...E" and returns the last name; every part before it is numbered.
 * @is_template  receives whether it ends with template arguments */
static struct mpk_span nested(struct parser *p, struct mpk_itanium_type *args, bool *is_template)
{
	struct mpk_span last = { 0 };

	*is_template = false;
	while (itanium_peek(p) == 'K' || itanium_peek(p) == 'V' || itanium_peek(p) == 'r')
		p->at++;
	while (!p->failed && !accept(p, "E")) {
		bool numbered = false;

		*is_template = false;
		if (accept(p, "S")) {
			numbered = true; /* numbered already, or an abbreviation, which never is */
			last = substitution(p).name;
		} else if (accept(p, "I")) {
			size_t n = template_args(p, args);

			p->arg_count = args ? n : p->arg_count;
			*is_template = true;
		} else {
			(void)accept(p, "L");
			last = source_name(p);
		}
		if (!numbered && itanium_peek(p) != 'E')
			(void)itanium_remember(p, class_type(last));
	}
	return last;
}

/* Reads the name of a class. Template arguments after it make another type, with a number of its
 * own. */
static struct mpk_itanium_type class_name(struct parser *p)
{
	struct mpk_itanium_type t;
	bool is_template;

	if (accept(p, "N"))
		return itanium_remember(p, class_type(nested(p, NULL, &is_template)));
	(void)accept(p, "St");
	t = class_type(source_name(p));
	(void)itanium_remember(p, t);
	if (!accept(p, "I"))
		return t;
	(void)template_args(p, NULL);
	return itanium_remember(p, t);
}

/* Reads a type after its 'D'. */
static struct mpk_itanium_type extended(struct parser *p)
{
	struct mpk_itanium_type t = { .lanes = 1 };

	if (accept(p, "h") || accept(p, "F16_")) {
		t.builtin = 'H';
		return t;
	}
	if (accept(p, "F16b")) {
		t.builtin = 'B';
		return t;
	}
	if (accept(p, "v")) {
		size_t lanes = itanium_number(p);

		if (!accept(p, "_") || !lanes || lanes > 64)
			return itanium_fail(p);
		t = type(p);
		t.lanes = (unsigned)lanes;
		return itanium_remember(p, t);
	}
	return itanium_fail(p);
}

/* References are addresses in the parameters of a kernel, too. */
static struct mpk_itanium_type pointer(struct parser *p)
{
	struct mpk_itanium_type t = type(p);

	t.pointers++;
	return itanium_remember(p, t);
}

/* const is kept for the data behind a pointer; on the pointer itself it says nothing about the
 * data. */
static struct mpk_itanium_type qualified(struct parser *p)
{
	struct mpk_itanium_type t;
	bool is_const = false;

	for (char c = itanium_peek(p); c == 'r' || c == 'V' || c == 'K'; c = itanium_peek(p)) {
		is_const |= c == 'K';
		p->at++;
	}
	t = type(p);
	t.is_const |= is_const && !t.pointers;
	return itanium_remember(p, t);
}

/* The letters are those of the ABI, 5.1.5.2, "Builtin Types". */
static struct mpk_itanium_type builtin(struct parser *p)
{
	char c = itanium_peek(p);

	if (!c || !strchr("vwbcahstijlmxynofdeg", c))
		return itanium_fail(p);
	p->at++;
	return (struct mpk_itanium_type){ .builtin = c, .lanes = 1 };
}

/* "St" begins a name in namespace std; any other S is a substitution. */
static struct mpk_itanium_type type_here(struct parser *p)
{
	char c = itanium_peek(p);

	if (mpk_is_digit(c) || c == 'N' ||
	    (c == 'S' && p->at + 1 < p->s.len && p->s.data[p->at + 1] == 't'))
		return class_name(p);
	if (c == 'r' || c == 'V' || c == 'K')
		return qualified(p);
	if (accept(p, "P") || accept(p, "R") || accept(p, "O"))
		return pointer(p);
	if (accept(p, "D"))
		return extended(p);
	if (accept(p, "T")) {
		/* T_ and T0_ are arguments of the function's template. */
		size_t i = sequence(p);

		return i < p->arg_count ? itanium_remember(p, p->args[i]) : itanium_fail(p);
	}
	if (accept(p, "S")) {
		struct mpk_itanium_type t = substitution(p);

		if (accept(p, "I")) { /* a known template with other arguments */
			(void)template_args(p, NULL);
			return itanium_remember(p, t);
		}
		return t;
	}
	return builtin(p);
}

static struct mpk_itanium_type type(struct parser *p)
{
	struct mpk_itanium_type t;

	if (p->depth == DEPTH_MAX)
		return itanium_fail(p);
	p->depth++;
	t = type_here(p);
	p->depth--;
	return t;
}

/* Reads the name of the function. Without a scope it is numbered only as the name of a template. */
static struct mpk_span itanium_function_name(struct parser *p, bool *is_template)
{
	struct mpk_span name;

	(void)accept(p, "L");
	if (accept(p, "N"))
		return nested(p, p->args, is_template);
	name = source_name(p);
	*is_template = accept(p, "I");
	if (*is_template) {
		(void)itanium_remember(p, class_type(name));
		p->arg_count = template_args(p, p->args);
	}
	return name;
}

enum mpk_code mpk_itanium_read(struct mpk_span symbol, struct mpk_arena *arena,
			       struct mpk_itanium_function *out, struct mpk_error *err)
{
	struct parser p = { .s = symbol };
	struct mpk_itanium_type params[PARAMS_MAX];
	struct mpk_itanium_function f = { 0 };
	bool is_template = false;

	if (accept(&p, "_Z"))
		f.name = itanium_function_name(&p, &is_template);
	else
		(void)itanium_fail(&p);
	if (is_template)
		(void)type(&p); /* the return type */
	while (!p.failed && p.at < symbol.len && itanium_peek(&p) != '.' &&
	       f.param_count < PARAMS_MAX)
		params[f.param_count++] = type(&p);
	if (p.failed || !f.param_count || (p.at < symbol.len && itanium_peek(&p) != '.'))
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"'" MPK_SPAN_FMT "' is not the symbol of a kernel of C++",
				MPK_SPAN_ARG(symbol));
	/* A function without parameters has one of type void. */
	if (params[0].builtin == 'v' && !params[0].pointers)
		f.param_count = 0;
	f.params = mpk_arena_keep(arena, params, f.param_count, sizeof *params);
	MPK_TRY_ALLOC(f.params, err);
	*out = f;
	return MPK_OK;
}

bool mpk_itanium_dtype(const struct mpk_itanium_type *t, struct mpk_dtype *out)
{
	static const struct {
		char letter;
		uint8_t code, bits;
	} types[] = {
		{ 'b', MPK_DTYPE_BOOL, 8 },   { 'c', MPK_DTYPE_INT, 8 },
		{ 'a', MPK_DTYPE_INT, 8 },    { 'h', MPK_DTYPE_UINT, 8 },
		{ 's', MPK_DTYPE_INT, 16 },   { 't', MPK_DTYPE_UINT, 16 },
		{ 'i', MPK_DTYPE_INT, 32 },   { 'j', MPK_DTYPE_UINT, 32 },
		{ 'l', MPK_DTYPE_INT, 64 },   { 'x', MPK_DTYPE_INT, 64 },
		{ 'm', MPK_DTYPE_UINT, 64 },  { 'y', MPK_DTYPE_UINT, 64 },
		{ 'f', MPK_DTYPE_FLOAT, 32 }, { 'd', MPK_DTYPE_FLOAT, 64 },
		{ 'H', MPK_DTYPE_FLOAT, 16 }, { 'B', MPK_DTYPE_BFLOAT, 16 },
	};
	char letter = t->builtin;

	/* CUDA's 16-bit types are classes in its headers. */
	if (!letter && mpk_span_is(t->name, "__half"))
		letter = 'H';
	if (!letter && mpk_span_is(t->name, "__nv_bfloat16"))
		letter = 'B';
	for (size_t i = 0; letter && i < MPK_ARRAY_COUNT(types); i++) {
		if (types[i].letter != letter)
			continue;
		*out = (struct mpk_dtype){ types[i].code, types[i].bits, (uint16_t)t->lanes };
		return true;
	}
	return false;
}

/* --- writing --- */

struct writer {
	struct mpk_strbuf *out;
	struct mpk_strbuf known[SUBSTITUTIONS_MAX]; /* spellings of the numbered types */
	size_t count;
};

/* Writes a substitution if the spelling is known. Returns false if not; the caller numbers it after
 * writing its parts. */
static bool put_known(struct writer *w, struct mpk_span spelling)
{
	for (size_t i = 0; i < w->count; i++) {
		if (!mpk_span_equal(mpk_span_of(w->known[i].data, w->known[i].len), spelling))
			continue;

		struct mpk_strbuf *out = w->out;
		static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

		mpk_strbuf_putc(out, 'S');
		if (i > 36)
			mpk_strbuf_putc(out, digits[(i - 1) / 36]);
		if (i)
			mpk_strbuf_putc(out, digits[(i - 1) % 36]);
		mpk_strbuf_putc(out, '_');

		return true;
	}
	return false;
}

static void itanium_write_remember(struct writer *w, struct mpk_span spelling)
{
	if (w->count == SUBSTITUTIONS_MAX)
		return; /* further types are written in full; no kernel has as many */
	mpk_strbuf_put_span(&w->known[w->count++], spelling);
}

/* Writes a type. "PKf" has three: float, the const float, and the pointer; the last two are
 * numbered, and a class is. */
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
		put_spelling(w, mpk_span_from(s, 1));
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
		/* a scope is no type of a parameter, but takes a number */
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
