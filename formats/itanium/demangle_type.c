/* SPDX-License-Identifier: Apache-2.0 */
/* Types of a symbol as C++ writes them. A type is text on both sides of what would be declared,
 * because the declarator is inside of pointers to functions and arrays. */
#include <string.h>

#include "itanium/internal/demangler.h"

static const struct mpk_demangle_type nothing = { .left = "", .right = "" };

static const char *builtin(char c)
{
	static const struct {
		char code;
		const char *text;
	} rows[] = {
		{ 'v', "void" },        { 'w', "wchar_t" },
		{ 'b', "bool" },        { 'c', "char" },
		{ 'a', "signed char" }, { 'h', "unsigned char" },
		{ 's', "short" },       { 't', "unsigned short" },
		{ 'i', "int" },         { 'j', "unsigned int" },
		{ 'l', "long" },        { 'm', "unsigned long" },
		{ 'x', "long long" },   { 'y', "unsigned long long" },
		{ 'n', "__int128" },    { 'o', "unsigned __int128" },
		{ 'f', "float" },       { 'd', "double" },
		{ 'e', "long double" }, { 'g', "__float128" },
		{ 'z', "..." },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		if (rows[i].code == c)
			return rows[i].text;
	return NULL;
}

/* "*", "&" or "&&" in front of what would be declared. */
static struct mpk_demangle_type pointer(struct mpk_demangler *d, struct mpk_demangle_type t,
					const char *sign)
{
	size_t len = strlen(t.left);
	bool is_reference = len && t.left[len - 1] == '&' && *sign == '&';

	/* A reference to a reference, as template arguments make them, is one. */
	if (is_reference && sign[1])
		return t;
	if (is_reference) {
		len -= len > 1 && t.left[len - 2] == '&' ? 2 : 1;
		t.left = mpk_demangle_text(d, "%.*s", (int)len, t.left);
	}
	/* A function and an array stand around the sign: "void (*)(int)", "int (*) [3]". */
	bool is_around = *t.right == '(' || *t.right == ' ';

	t.left = mpk_demangle_text(d,
				   *t.right == ' ' ? "%s (%s"
				   : is_around     ? "%s(%s"
						   : "%s%s",
				   t.left, sign);
	t.right = is_around ? mpk_demangle_text(d, ")%s", t.right) : t.right;
	t.pack = NULL;
	return t;
}

const char *mpk_demangle_list(struct mpk_demangler *d)
{
	const char *text = "";

	if (mpk_demangle_peek(d, 0) == 'v' &&
	    (!mpk_demangle_peek(d, 1) || strchr("E.", mpk_demangle_peek(d, 1)))) {
		d->at++;
		return text;
	}
	while (!d->failed && mpk_demangle_peek(d, 0) && !strchr("E.", mpk_demangle_peek(d, 0))) {
		struct mpk_demangle_type t = mpk_demangle_type_read(d);

		if (*t.left)
			text = mpk_demangle_text(d, "%s%s%s%s", text, *text ? ", " : "", t.left,
						 t.right);
	}
	return text;
}

static struct mpk_demangle_type function(struct mpk_demangler *d)
{
	struct mpk_demangle_type t;
	const char *params;

	(void)mpk_demangle_accept(d, "Y");
	t = mpk_demangle_type_read(d);
	params = mpk_demangle_list(d);
	if (!mpk_demangle_accept(d, "E"))
		(void)mpk_demangle_fail(d);
	t.left = mpk_demangle_text(d, *t.right ? "%s" : "%s ", t.left);
	t.right = mpk_demangle_text(d, "(%s)%s", params, t.right);
	return t;
}

static struct mpk_demangle_type array(struct mpk_demangler *d)
{
	const char *size = mpk_demangle_peek(d, 0) == '_'
				   ? ""
				   : mpk_demangle_text(d, "%zu", mpk_demangle_number(d));
	struct mpk_demangle_type t;

	if (!mpk_demangle_accept(d, "_"))
		(void)mpk_demangle_fail(d);
	t = mpk_demangle_type_read(d);
	t.right = mpk_demangle_text(d, " [%s]%s", size, *t.right == ' ' ? t.right + 1 : t.right);
	return t;
}

static struct mpk_demangle_type member_pointer(struct mpk_demangler *d)
{
	struct mpk_demangle_type of = mpk_demangle_type_read(d), t = mpk_demangle_type_read(d);

	if (*t.right == '(') {
		t.left = mpk_demangle_text(d, "%s(%s::*", t.left, of.left);
		t.right = mpk_demangle_text(d, ")%s", t.right);
	} else {
		t.left = mpk_demangle_text(d, "%s %s::*", t.left, of.left);
	}
	return t;
}

/* "DpT_": the pattern once for each element. It is read as often; what it numbers, it numbers once. */
static struct mpk_demangle_type pack_expansion(struct mpk_demangler *d)
{
	const size_t *outer = d->element, begin = d->at, known = d->known_count;
	size_t i = 0;
	const char *text = "";

	d->element = &i;
	do {
		d->at = begin;
		d->known_count = known;
		d->expanded = 1;
		struct mpk_demangle_type t = mpk_demangle_type_read(d);

		if (i < d->expanded)
			text = mpk_demangle_text(d, "%s%s%s%s", text, *text ? ", " : "", t.left,
						 t.right);
	} while (!d->failed && ++i < d->expanded);
	d->element = outer;
	return (struct mpk_demangle_type){ .left = text, .right = "" };
}

/* Types that begin with a D. Returns  those of the language, which are not numbered, by *numbered false */
static struct mpk_demangle_type d_type(struct mpk_demangler *d, bool *numbered)
{
	static const struct {
		char code[5];
		const char *text;
	} rows[] = { { "h", "half" },      { "F16_", "_Float16" },    { "F16b", "std::bfloat16_t" },
		     { "a", "auto" },      { "c", "decltype(auto)" }, { "n", "decltype(nullptr)" },
		     { "i", "char32_t" },  { "s", "char16_t" },       { "u", "char8_t" },
		     { "f", "decimal32" }, { "d", "decimal64" },      { "e", "decimal128" } };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		if (mpk_demangle_accept(d, rows[i].code)) {
			*numbered = false;
			return (struct mpk_demangle_type){ .left = rows[i].text, .right = "" };
		}
	}
	if (mpk_demangle_accept(d, "p"))
		return pack_expansion(d);
	if (mpk_demangle_accept(d, "v")) {
		size_t lanes = mpk_demangle_number(d);

		if (!mpk_demangle_accept(d, "_"))
			(void)mpk_demangle_fail(d);
		struct mpk_demangle_type t = mpk_demangle_type_read(d);

		t.left = mpk_demangle_text(d, "%s __vector(%zu)", t.left, lanes);
		return t;
	}
	if (mpk_demangle_accept(d, "oF")) {
		struct mpk_demangle_type t = function(d);

		t.right = mpk_demangle_text(d, "%s noexcept", t.right);
		return t;
	}
	(void)mpk_demangle_fail(d);
	return nothing;
}

/* "const" follows the type, or the parameters of a function. */
static struct mpk_demangle_type qualified(struct mpk_demangler *d)
{
	const char *qualifiers = "";
	struct mpk_demangle_type t;

	for (;;) {
		if (mpk_demangle_accept(d, "r"))
			qualifiers = mpk_demangle_text(d, " restrict%s", qualifiers);
		else if (mpk_demangle_accept(d, "V"))
			qualifiers = mpk_demangle_text(d, " volatile%s", qualifiers);
		else if (mpk_demangle_accept(d, "K"))
			qualifiers = mpk_demangle_text(d, " const%s", qualifiers);
		else
			break;
	}
	/* Those of a member function are part of its type. */
	t = mpk_demangle_accept(d, "F") ? function(d) : mpk_demangle_type_read(d);
	if (*t.right == '(' && !strstr(t.left, "(*"))
		t.right = mpk_demangle_text(d, "%s%s", t.right, qualifiers);
	else
		t.left = mpk_demangle_text(d, "%s%s", t.left, qualifiers);
	t.pack = NULL;
	return t;
}

/* A template parameter; one that is a template has arguments. */
static struct mpk_demangle_type parameter(struct mpk_demangler *d)
{
	struct mpk_demangle_type t = mpk_demangle_param(d);

	if (mpk_demangle_peek(d, 0) != 'I')
		return t;
	mpk_demangle_remember(d, t);
	d->at++;
	t.left = mpk_demangle_text(d, "%s%s", t.left, mpk_demangle_args(d, false));
	return t;
}

/* A class, an enumeration, or what was there before. */
static struct mpk_demangle_type named_type(struct mpk_demangler *d, bool *numbered)
{
	bool is_substitution = mpk_demangle_peek(d, 0) == 'S' && mpk_demangle_peek(d, 1) != 't';

	if (is_substitution) {
		d->at++;
		struct mpk_demangle_type t = mpk_demangle_substitution(d);

		if (mpk_demangle_peek(d, 0) != 'I') {
			*numbered = false;
			return t;
		}
		d->at++;
		t.left = mpk_demangle_text(d, "%s%s", t.left, mpk_demangle_args(d, false));
		return t;
	}
	return (struct mpk_demangle_type){ .left = mpk_demangle_name_read(d, false).text,
					   .right = "" };
}

static struct mpk_demangle_type compound(struct mpk_demangler *d, bool *numbered)
{
	struct mpk_demangle_type t;
	const char *name;

	if (mpk_demangle_accept(d, "P"))
		return pointer(d, mpk_demangle_type_read(d), "*");
	if (mpk_demangle_accept(d, "R"))
		return pointer(d, mpk_demangle_type_read(d), "&");
	if (mpk_demangle_accept(d, "O"))
		return pointer(d, mpk_demangle_type_read(d), "&&");
	if (strchr("rVK", mpk_demangle_peek(d, 0)))
		return qualified(d);
	if (mpk_demangle_accept(d, "F"))
		return function(d);
	if (mpk_demangle_accept(d, "A"))
		return array(d);
	if (mpk_demangle_accept(d, "M"))
		return member_pointer(d);
	if (mpk_demangle_accept(d, "T"))
		return parameter(d);
	if (mpk_demangle_accept(d, "D"))
		return d_type(d, numbered);
	if (mpk_demangle_accept(d, "u"))
		return (struct mpk_demangle_type){ .left = mpk_demangle_source_name(d),
						   .right = "" };
	if (mpk_demangle_peek(d, 0) == 'U' && !strchr("lt", mpk_demangle_peek(d, 1))) {
		d->at++;
		name = mpk_demangle_source_name(d);
		t = mpk_demangle_type_read(d);
		t.left = mpk_demangle_text(d, "%s %s", t.left, name);
		return t;
	}
	if (mpk_demangle_accept(d, "C")) {
		t = mpk_demangle_type_read(d);
		t.left = mpk_demangle_text(d, "%s _Complex", t.left);
		return t;
	}
	return named_type(d, numbered);
}

struct mpk_demangle_type mpk_demangle_type_read(struct mpk_demangler *d)
{
	struct mpk_demangle_type t = nothing;
	const char *word = builtin(mpk_demangle_peek(d, 0));
	bool numbered = true;

	if (++d->depth > DEMANGLE_DEPTH || ++d->steps > DEMANGLE_STEPS ||
	    !mpk_demangle_peek(d, 0)) {
		(void)mpk_demangle_fail(d);
	} else if (word) {
		d->at++;
		t.left = word;
	} else {
		t = compound(d, &numbered);
		if (numbered)
			mpk_demangle_remember(d, t);
	}
	d->depth--;
	return t;
}
