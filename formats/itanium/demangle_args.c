/* SPDX-License-Identifier: Apache-2.0 */
/* Template arguments and substitutions of a symbol, and what all of its readers use: numbers, names,
 * texts within their limits. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "itanium/internal/demangler.h"

static const struct mpk_demangle_type nothing = { .left = "", .right = "" };

/* --- reading ------------------------------------------------------------------------------------ */

const char *mpk_demangle_fail(struct mpk_demangler *d)
{
	d->failed = true;
	d->at = d->s.len;
	return "";
}

const char *mpk_demangle_text(struct mpk_demangler *d, const char *fmt, ...)
{
	const char *text;
	va_list ap;

	if (d->failed)
		return "";
	va_start(ap, fmt);
	text = mpk_arena_vprintf(&d->arena, fmt, ap);
	va_end(ap);
	if (!text)
		return mpk_demangle_fail(d);
	d->spent += strlen(text) + 1;
	return d->spent > DEMANGLE_TEXT ? mpk_demangle_fail(d) : text;
}

char mpk_demangle_peek(const struct mpk_demangler *d, size_t ahead)
{
	return d->s.len - d->at > ahead ? (char)d->s.data[d->at + ahead] : '\0';
}

bool mpk_demangle_accept(struct mpk_demangler *d, const char *text)
{
	size_t n = strlen(text);

	if (d->s.len - d->at < n || memcmp(d->s.data + d->at, text, n) != 0)
		return false;
	d->at += n;
	return true;
}

void mpk_demangle_remember(struct mpk_demangler *d, struct mpk_demangle_type t)
{
	if (d->known_count == DEMANGLE_SUBSTITUTIONS)
		(void)mpk_demangle_fail(d);
	else
		d->known[d->known_count++] = t;
}

size_t mpk_demangle_number(struct mpk_demangler *d)
{
	size_t n = 0;
	char c = mpk_demangle_peek(d, 0);

	if (c < '0' || c > '9')
		(void)mpk_demangle_fail(d);
	for (; c >= '0' && c <= '9'; d->at++, c = mpk_demangle_peek(d, 0))
		n = n < d->s.len ? n * 10 + (size_t)(c - '0') : n;
	return d->failed ? 0 : n;
}

const char *mpk_demangle_source_name(struct mpk_demangler *d)
{
	size_t n = mpk_demangle_number(d);
	struct mpk_span name;

	if (d->failed || !n || !mpk_span_sub(d->s, d->at, n, &name))
		return mpk_demangle_fail(d);
	d->at += n;
	return mpk_demangle_text(d, "%.*s", (int)name.len, (const char *)name.data);
}

/* "_", "0_", "A_" after an S: 0, 1, 11; after a T the digits are decimal. */
static size_t demangle_sequence(struct mpk_demangler *d, unsigned base)
{
	size_t n = 0;
	bool given = false;

	for (char c = mpk_demangle_peek(d, 0); c != '_';
	     c = mpk_demangle_peek(d, 0), given = true) {
		bool digit = c >= '0' && c <= '9';

		if (!digit && (base == 10 || c < 'A' || c > 'Z')) {
			(void)mpk_demangle_fail(d);
			return 0;
		}
		n = n * base + (size_t)(digit ? c - '0' : c - 'A' + 10);
		n = n < DEMANGLE_SUBSTITUTIONS ? n : DEMANGLE_SUBSTITUTIONS;
		d->at++;
	}
	d->at++;
	return n + given;
}

/* A pack in the place of a type: all of it, or in an expansion the element that this turn is of. */
static struct mpk_demangle_type pack_param(struct mpk_demangler *d,
					   const struct mpk_demangle_arg *pack)
{
	struct mpk_demangle_type t = nothing;

	if (!d->element)
		return pack->type;
	d->expanded = pack->count;
	if (*d->element < pack->count)
		t = pack->elements[*d->element].type;
	t.pack = pack;
	return t;
}

struct mpk_demangle_type mpk_demangle_substitution(struct mpk_demangler *d)
{
	static const struct {
		char code[2];
		const char *text;
	} rows[] = { { "a", "std::allocator" }, { "b", "std::basic_string" },
		     { "s", "std::string" },    { "i", "std::istream" },
		     { "o", "std::ostream" },   { "d", "std::iostream" } };
	size_t i;

	for (i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		if (mpk_demangle_accept(d, rows[i].code))
			return (struct mpk_demangle_type){ .left = rows[i].text, .right = "" };
	i = demangle_sequence(d, 36);
	if (!d->failed && i < d->known_count)
		return d->known[i].pack ? pack_param(d, d->known[i].pack) : d->known[i];
	(void)mpk_demangle_fail(d);
	return nothing;
}

/* --- template arguments --------------------------------------------------------------------------- */

struct mpk_demangle_type mpk_demangle_param(struct mpk_demangler *d)
{
	size_t i = demangle_sequence(d, 10);
	const struct mpk_demangle_arg *arg;

	if (d->failed || i >= d->arg_count) {
		(void)mpk_demangle_fail(d);
		return nothing;
	}
	arg = &d->args[i];
	return arg->is_pack ? pack_param(d, arg->type.pack) : arg->type;
}

/* "Lb1E" true, "Lj4E" 4u, "LN2ns1EE2E" (ns::E)2, "L_Z1fvE" f() */
static const char *arg_literal(struct mpk_demangler *d)
{
	static const char suffixes[][5] = { "i", "ju", "ll", "mul", "xll", "yull" };
	char code = mpk_demangle_peek(d, 0);
	struct mpk_demangle_type t;
	const char *sign;
	size_t begin;

	if (mpk_demangle_accept(d, "_Z"))
		return mpk_demangle_other(d);
	if (mpk_demangle_accept(d, "b0"))
		return "false";
	if (mpk_demangle_accept(d, "b1"))
		return "true";
	t = mpk_demangle_type_read(d);
	sign = mpk_demangle_accept(d, "n") ? "-" : "";
	begin = d->at;
	while (mpk_demangle_peek(d, 0) && mpk_demangle_peek(d, 0) != 'E')
		d->at++;
	const char *value = mpk_demangle_text(d, "%s%.*s", sign, (int)(d->at - begin),
					      (const char *)d->s.data + begin);

	for (size_t i = 0; i < MPK_ARRAY_COUNT(suffixes); i++)
		if (suffixes[i][0] == code)
			return mpk_demangle_text(d, "%s%s", value, suffixes[i] + 1);
	if (strchr("fde", code))
		return mpk_demangle_text(d, "(%s)[%s]", t.left, value);
	return mpk_demangle_text(d, "(%s%s)%s", t.left, t.right, value);
}

/* The few expressions that template arguments of kernels are: the address of a function, a literal, a
 * parameter. */
static const char *expression(struct mpk_demangler *d)
{
	if (mpk_demangle_accept(d, "ad"))
		return mpk_demangle_text(d, "&(%s)", expression(d));
	if (mpk_demangle_accept(d, "L")) {
		const char *text = arg_literal(d);

		return mpk_demangle_accept(d, "E") ? text : mpk_demangle_fail(d);
	}
	if (mpk_demangle_accept(d, "T"))
		return mpk_demangle_param(d).left;
	return mpk_demangle_fail(d);
}

static struct mpk_demangle_arg arg_read(struct mpk_demangler *d);

static struct mpk_demangle_arg pack_read(struct mpk_demangler *d)
{
	struct mpk_demangle_arg arg = { .is_pack = true }, *items, *kept;
	size_t cap = 0;

	items = NULL;
	while (!d->failed && !mpk_demangle_accept(d, "E")) {
		struct mpk_demangle_arg one = arg_read(d);

		if (arg.count == cap) {
			struct mpk_demangle_arg *more;

			cap = cap ? 2 * cap : 4;
			more = cap > DEMANGLE_ARGS ? NULL
						   : mpk_arena_array(&d->arena, cap, sizeof *more);
			if (!more) {
				(void)mpk_demangle_fail(d);
				break;
			}
			for (size_t i = 0; i < arg.count; i++)
				more[i] = items[i];
			items = more;
		}
		items[arg.count++] = one;
	}
	arg.elements = items;

	const char *text = "";

	for (size_t i = 0; i < arg.count; i++)
		text = mpk_demangle_text(d, "%s%s%s%s", text, *text ? ", " : "",
					 arg.elements[i].type.left, arg.elements[i].type.right);
	arg.type.left = text;

	arg.type.right = "";
	/* What refers to the pack lives longer than this. */
	kept = mpk_arena_keep(&d->arena, &arg, 1, sizeof arg);
	if (!kept)
		(void)mpk_demangle_fail(d);
	else
		kept->type.pack = kept;
	arg.type.pack = kept;
	return arg;
}

static struct mpk_demangle_arg arg_read(struct mpk_demangler *d)
{
	struct mpk_demangle_arg arg = { .type = nothing };

	if (++d->depth > DEMANGLE_DEPTH) {
		(void)mpk_demangle_fail(d);
	} else if (mpk_demangle_accept(d, "J")) {
		arg = pack_read(d);
	} else if (mpk_demangle_accept(d, "L") || mpk_demangle_accept(d, "X")) {
		bool is_literal = d->s.data[d->at - 1] == 'L';

		arg.type.left = is_literal ? arg_literal(d) : expression(d);
		if (!mpk_demangle_accept(d, "E"))
			(void)mpk_demangle_fail(d);
	} else {
		arg.type = mpk_demangle_type_read(d);
	}
	d->depth--;
	return arg;
}

const char *mpk_demangle_args(struct mpk_demangler *d, bool tag)
{
	const char *text = "";
	bool shown = !d->form.deepest || d->template_depth < d->form.deepest;

	if (tag)
		d->arg_count = 0;
	d->template_depth++;
	while (!d->failed && !mpk_demangle_accept(d, "E")) {
		struct mpk_demangle_arg arg = arg_read(d);

		if (tag && d->arg_count < DEMANGLE_ARGS)
			d->args[d->arg_count++] = arg;
		if (shown && *arg.type.left)
			text = mpk_demangle_text(d, "%s%s%s%s", text, *text ? ", " : "",
						 arg.type.left, arg.type.right);
	}
	d->template_depth--;
	return shown ? mpk_demangle_text(d, "<%s>", text) : "<...>";
}
