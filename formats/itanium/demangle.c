/* SPDX-License-Identifier: Apache-2.0 */
/* Demangles a symbol: its names and template arguments. Types are in demangle_type.c. A parser by
 * descent that makes texts; symbols come from strangers, so levels, steps, substitutions and the
 * bytes of all texts are bounded, and what is not known ends the reading. */
#include "itanium/itanium.h"

#include <string.h>

#include "itanium/internal/demangler.h"

static const struct {
	char code[3];
	const char *text;
} operators[] = {
	{ "nw", " new" }, { "na", " new[]" }, { "dl", " delete" }, { "da", " delete[]" },
	{ "ps", "+" },    { "ng", "-" },      { "ad", "&" },       { "de", "*" },
	{ "co", "~" },    { "pl", "+" },      { "mi", "-" },       { "ml", "*" },
	{ "dv", "/" },    { "rm", "%" },      { "an", "&" },       { "or", "|" },
	{ "eo", "^" },    { "aS", "=" },      { "pL", "+=" },      { "mI", "-=" },
	{ "mL", "*=" },   { "dV", "/=" },     { "rM", "%=" },      { "aN", "&=" },
	{ "oR", "|=" },   { "eO", "^=" },     { "ls", "<<" },      { "rs", ">>" },
	{ "lS", "<<=" },  { "rS", ">>=" },    { "eq", "==" },      { "ne", "!=" },
	{ "lt", "<" },    { "gt", ">" },      { "le", "<=" },      { "ge", ">=" },
	{ "ss", "<=>" },  { "nt", "!" },      { "aa", "&&" },      { "oo", "||" },
	{ "pp", "++" },   { "mm", "--" },     { "cm", "," },       { "pm", "->*" },
	{ "pt", "->" },   { "cl", "()" },     { "ix", "[]" },      { "qu", "?" },
};

/* --- unqualified names ------------------------------------------------------------------------ */

/* The class that a constructor is of: the last name of its scope, without template arguments. */
static const char *class_of(struct mpk_demangler *d, const char *scope)
{
	const char *begin = scope, *end = NULL;
	int depth = 0;

	for (const char *c = scope; *c; c++) {
		depth += *c == '<' || *c == '(';
		if (depth == 1 && (*c == '<' || *c == '('))
			end = c;
		depth -= *c == '>' || *c == ')';
		if (depth == 0 && c[0] == ':' && c[1] == ':') {
			begin = c + 2;
			end = NULL;
		}
	}
	return mpk_demangle_text(
		d, "%.*s", (int)(end && end > begin ? end - begin : (long)strlen(begin)), begin);
}

/* The number of one of several lambdas or types without a name: "_" is the first. */
static size_t discriminator(struct mpk_demangler *d)
{
	size_t n = 1;

	if (mpk_is_digit(mpk_demangle_peek(d, 0)))
		n = mpk_demangle_number(d) + 2;
	if (!mpk_demangle_accept(d, "_"))
		(void)mpk_demangle_fail(d);
	return n;
}

static const char *unnamed(struct mpk_demangler *d)
{
	const char *params;

	if (mpk_demangle_accept(d, "Ut"))
		return mpk_demangle_text(d, "{unnamed type#%zu}", discriminator(d));
	if (!mpk_demangle_accept(d, "Ul"))
		return mpk_demangle_fail(d);
	params = mpk_demangle_list(d);
	if (!mpk_demangle_accept(d, "E"))
		return mpk_demangle_fail(d);
	return mpk_demangle_text(d, "{lambda(%s)#%zu}", params, discriminator(d));
}

static const char *operator_name(struct mpk_demangler *d)
{
	if (mpk_demangle_accept(d, "cv")) {
		struct mpk_demangle_type t = mpk_demangle_type_read(d);

		return mpk_demangle_text(d, "operator %s%s", t.left, t.right);
	}
	if (mpk_demangle_accept(d, "li"))
		return mpk_demangle_text(d, "operator\"\" %s", mpk_demangle_source_name(d));
	for (size_t i = 0; i < MPK_ARRAY_COUNT(operators); i++)
		if (mpk_demangle_accept(d, operators[i].code))
			return mpk_demangle_text(d, "operator%s", operators[i].text);
	return mpk_demangle_fail(d);
}

static const char *unqualified(struct mpk_demangler *d, const char *scope)
{
	char c = mpk_demangle_peek(d, 0), next = mpk_demangle_peek(d, 1);
	const char *name;

	if (c == 'L' && mpk_is_digit(next))
		d->at++;
	if (mpk_is_digit(mpk_demangle_peek(d, 0))) {
		name = mpk_demangle_source_name(d);
		if (strncmp(name, "_GLOBAL__N", 10) == 0)
			name = "(anonymous namespace)";
	} else if ((c == 'C' || c == 'D') && mpk_is_digit(next)) {
		d->at += 2;
		name = mpk_demangle_text(d, "%s%s", c == 'D' ? "~" : "", class_of(d, scope));
	} else if (c == 'U') {
		name = unnamed(d);
	} else {
		name = operator_name(d);
	}
	while (mpk_demangle_accept(d, "B"))
		name = mpk_demangle_text(d, "%s[abi:%s]", name, mpk_demangle_source_name(d));
	return name;
}

/* --- names ------------------------------------------------------------------------------------- */

static const char *scoped(struct mpk_demangler *d, const char *scope, const char *name)
{
	return *scope ? mpk_demangle_text(d, "%s::%s", scope, name) : name;
}

/* "operator<" and "<" stay two words. */
static const char *with_args(struct mpk_demangler *d, const char *name, bool tag)
{
	const char *args = mpk_demangle_args(d, tag);
	size_t len = strlen(name);

	return mpk_demangle_text(d, len && name[len - 1] == '<' ? "%s %s" : "%s%s", name, args);
}

/* A part of a nested name, appended to what is before it. What ends it is not numbered here. */
static const char *nested_part(struct mpk_demangler *d, const char *scope,
			       struct mpk_demangle_name *name, bool tag)
{
	bool numbered = true;

	name->is_template = false;
	if (mpk_demangle_accept(d, "St")) {
		scope = "std";
		numbered = false;
	} else if (mpk_demangle_accept(d, "S")) {
		scope = mpk_demangle_substitution(d).left;
		numbered = false;
	} else if (mpk_demangle_accept(d, "T")) {
		scope = mpk_demangle_param(d).left;
	} else if (mpk_demangle_accept(d, "I")) {
		scope = with_args(d, scope, tag);
		name->is_template = true;
	} else {
		char c = mpk_demangle_peek(d, 0), next = mpk_demangle_peek(d, 1);

		scope = scoped(d, scope, unqualified(d, scope));
		/* Constructors and conversions have no return type, even as templates. */
		if (((c == 'C' || c == 'D') && mpk_is_digit(next)) || (c == 'c' && next == 'v'))
			name->has_no_return = true;
	}
	if (numbered && mpk_demangle_peek(d, 0) != 'E')
		mpk_demangle_remember(d, (struct mpk_demangle_type){ .left = scope, .right = "" });
	return scope;
}

static struct mpk_demangle_name nested(struct mpk_demangler *d, bool tag)
{
	struct mpk_demangle_name name = { .text = "", .qualifiers = "" };
	const char *scope = "";

	for (;;) {
		if (mpk_demangle_accept(d, "K"))
			name.qualifiers = mpk_demangle_text(d, "%s const", name.qualifiers);
		else if (mpk_demangle_accept(d, "V"))
			name.qualifiers = mpk_demangle_text(d, "%s volatile", name.qualifiers);
		else if (!mpk_demangle_accept(d, "r"))
			break;
	}
	if (mpk_demangle_accept(d, "R"))
		name.qualifiers = mpk_demangle_text(d, "%s &", name.qualifiers);
	else if (mpk_demangle_accept(d, "O"))
		name.qualifiers = mpk_demangle_text(d, "%s &&", name.qualifiers);
	while (!d->failed && !mpk_demangle_accept(d, "E"))
		scope = nested_part(d, scope, &name, tag);
	name.text = scope;
	return name;
}

static const char *demangle_encoding(struct mpk_demangler *d, bool is_whole);

/* "Z f(int) E x": something within a function. */
static struct mpk_demangle_name local(struct mpk_demangler *d, bool tag)
{
	const char *function = tag ? demangle_encoding(d, false) : mpk_demangle_other(d);
	struct mpk_demangle_name name = { .text = "", .qualifiers = "" };

	if (!mpk_demangle_accept(d, "E"))
		(void)mpk_demangle_fail(d);
	if (mpk_demangle_accept(d, "s")) {
		name.text = "string literal";
	} else {
		if (mpk_demangle_accept(d, "d"))
			(void)discriminator(d);
		name = mpk_demangle_name_read(d, tag);
	}
	/* "_1" or "__12_" numbers equal names, which c++filt does not print */
	if (mpk_demangle_accept(d, "__")) {
		(void)mpk_demangle_number(d);
		(void)mpk_demangle_accept(d, "_");
	} else if (mpk_demangle_peek(d, 0) == '_' && mpk_is_digit(mpk_demangle_peek(d, 1))) {
		d->at += 2;
	}
	name.text = scoped(d, function, name.text);
	return name;
}

struct mpk_demangle_name mpk_demangle_name_read(struct mpk_demangler *d, bool tag)
{
	struct mpk_demangle_name name = { .text = "", .qualifiers = "" };
	bool numbered = true;

	if (++d->depth > DEMANGLE_DEPTH) {
		name.text = mpk_demangle_fail(d);
	} else if (mpk_demangle_accept(d, "N")) {
		name = nested(d, tag);
		numbered = false;
	} else if (mpk_demangle_accept(d, "Z")) {
		name = local(d, tag);
		numbered = false;
	} else if (mpk_demangle_accept(d, "St")) {
		name.text = scoped(d, "std", unqualified(d, "std"));
	} else if (mpk_demangle_accept(d, "S")) {
		name.text = mpk_demangle_substitution(d).left;
		numbered = false;
	} else {
		name.text = unqualified(d, "");
	}
	if (mpk_demangle_peek(d, 0) == 'I') {
		if (numbered)
			mpk_demangle_remember(
				d, (struct mpk_demangle_type){ .left = name.text, .right = "" });
		d->at++;
		name.text = with_args(d, name.text, tag);
		name.is_template = true;
	}
	d->depth--;
	return name;
}

/* --- a whole symbol ------------------------------------------------------------------------------ */

static const char *special(struct mpk_demangler *d)
{
	static const struct {
		char code[3];
		const char *text;
	} rows[] = { { "TV", "vtable for " },
		     { "TI", "typeinfo for " },
		     { "TS", "typeinfo name for " },
		     { "TT", "VTT for " } };

	if (mpk_demangle_accept(d, "GV"))
		return mpk_demangle_text(d, "guard variable for %s",
					 mpk_demangle_name_read(d, false).text);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		if (mpk_demangle_accept(d, rows[i].code)) {
			struct mpk_demangle_type t = mpk_demangle_type_read(d);

			return mpk_demangle_text(d, "%s%s%s", rows[i].text, t.left, t.right);
		}
	}
	return NULL;
}

/* A name with the parameters of a function. */
static const char *demangle_encoding(struct mpk_demangler *d, bool is_whole)
{
	const char *text = special(d), *params;
	struct mpk_demangle_type returned = { .left = "", .right = "" };
	struct mpk_demangle_name name;

	if (text)
		return text;
	name = mpk_demangle_name_read(d, true);
	if (d->failed || !mpk_demangle_peek(d, 0) || strchr("E.", mpk_demangle_peek(d, 0)))
		return name.text;
	if (name.is_template && !name.has_no_return) {
		returned = mpk_demangle_type_read(d);
		if (!is_whole || !d->form.returns)
			returned = (struct mpk_demangle_type){ .left = "", .right = "" };
		else if (!*returned.right)
			returned.left = mpk_demangle_text(d, "%s ", returned.left);
	}
	params = mpk_demangle_list(d);
	if (is_whole && d->form.no_params)
		return mpk_demangle_text(d, "%s%s%s", returned.left, name.text, returned.right);
	return mpk_demangle_text(d, "%s%s(%s)%s%s", returned.left, name.text, params,
				 name.qualifiers, returned.right);
}

const char *mpk_demangle_other(struct mpk_demangler *d)
{
	size_t count = d->arg_count;
	const struct mpk_demangle_arg *args =
		mpk_arena_keep(&d->arena, d->args, count, sizeof *args);
	const char *text;

	d->spent += count * sizeof *args;
	if (!args)
		return mpk_demangle_fail(d);
	text = demangle_encoding(d, false);
	for (size_t i = 0; i < count; i++)
		d->args[i] = args[i];
	d->arg_count = count;
	return text;
}

/* ".constprop.0", ".part.1": what a compiler made of the function. */
static const char *clones(struct mpk_demangler *d, const char *text)
{
	while (!d->failed && mpk_demangle_peek(d, 0) == '.') {
		size_t begin = d->at++;
		char c = mpk_demangle_peek(d, 0);

		if (!mpk_is_digit(c) && !(c >= 'a' && c <= 'z') && c != '_') {
			d->at = begin;
			break;
		}
		while ((c = mpk_demangle_peek(d, 0)) && (c == '_' || (c >= 'a' && c <= 'z')))
			d->at++;
		while (mpk_is_digit(mpk_demangle_peek(d, 0)) ||
		       (mpk_demangle_peek(d, 0) == '.' && mpk_is_digit(mpk_demangle_peek(d, 1))))
			d->at++;
		text = mpk_demangle_text(d, "%s [clone %.*s]", text, (int)(d->at - begin),
					 (const char *)d->s.data + begin);
	}
	return text;
}

bool mpk_demangle(struct mpk_span symbol, struct mpk_demangle_form form, struct mpk_strbuf *out)
{
	struct mpk_demangler *d;
	struct mpk_arena arena = { 0 };
	const char *text;
	bool known;

	if (!mpk_span_starts(symbol, "_Z"))
		return false;
	d = mpk_arena_alloc(&arena, sizeof *d);
	if (!d)
		return false;
	*d = (struct mpk_demangler){ .s = symbol, .at = 2, .form = form, .arena = arena };
	text = clones(d, demangle_encoding(d, true));
	known = !d->failed && d->at == d->s.len && !out->failed;
	if (known)
		mpk_strbuf_puts(out, text);
	arena = d->arena;
	mpk_arena_fini(&arena);
	return known;
}
