/* SPDX-License-Identifier: Apache-2.0 */
/* demangle.c - prints the C++ name of a symbol; a recursive descent parser whose functions return
 * texts
 *
 * Symbols come from untrusted files, so nesting, steps, substitutions and the bytes of all texts
 * are limited, and an unknown construct ends the reading. libiberty's demangler has no limit on its
 * output (it prints 142 MB for a symbol of 231 bytes) and cannot leave out deep template arguments. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "itanium/itanium.h"

/* The longest symbols of real code have about a hundred substitutions and twenty levels. */
enum {
	DEMANGLE_SUBSTITUTIONS = 512,
	DEMANGLE_ARGS = 256,
	DEMANGLE_DEPTH = 96,
	/* Limits of steps (types read, a pack once for each element) and of the bytes of all intermediate
	 * texts: a fixed number, and more for each byte of the symbol. A file has thousands of
	 * symbols, and each may use its limit. Of 606,000 symbols of libraries none uses half of
	 * either. */
	DEMANGLE_STEPS = 512,
	DEMANGLE_STEPS_BYTE = 4,
	DEMANGLE_TEXT = 96 << 10,
	DEMANGLE_TEXT_BYTE = 256,
	DEMANGLE_TEXT_MAX = 256 << 10,
};

struct mpk_demangle_arg;

/* A type as the text before and after the declared name: "void (*" and ")(int)". */
struct mpk_demangle_type {
	const char *left, *right;
	const struct mpk_demangle_arg *pack; /* the pack that this type is, or is an element of;
					      * NULL: none */
};

/* A template argument; a pack has elements. */
struct mpk_demangle_arg {
	struct mpk_demangle_type type;
	const struct mpk_demangle_arg *elements;
	size_t count;
	bool is_pack;
};

struct mpk_demangler {
	struct mpk_span s;
	size_t at;
	bool failed;
	unsigned depth, template_depth;
	size_t steps_left, text_left;
	struct mpk_strbuf made; /* the text that is being printed */
	struct mpk_arena arena;
	struct mpk_demangle_form form;
	struct mpk_demangle_type known[DEMANGLE_SUBSTITUTIONS];
	size_t known_count;
	/* Template arguments of the function, which T_, T0_ and so on refer to. */
	struct mpk_demangle_arg args[DEMANGLE_ARGS];
	size_t arg_count;
	/* Index of the current element in the expansion of a pack; NULL: not in an expansion. */
	const size_t *element;
	size_t expanded; /* number of elements of the pack in the pattern */
};

/* A name, and what it implies for the rest of the symbol. */
struct mpk_demangle_name {
	const char *text;
	const char *qualifiers; /* " const" after the parameters of a member function */
	bool is_template;       /* ends with template arguments, so a return type follows */
	bool has_no_return;     /* a constructor or a conversion: no return type follows */
};

/* --- Numbers, names, texts within their limits, substitutions and template arguments. */

static const struct mpk_demangle_type nothing = { .left = "", .right = "" };

static struct mpk_demangle_type demangle_type_read(struct mpk_demangler *d);
static struct mpk_demangle_name demangle_name_read(struct mpk_demangler *d, bool tag);
static const char *demangle_other(struct mpk_demangler *d);

/* Ends the reading, and returns "". */
static const char *demangle_fail(struct mpk_demangler *d)
{
	d->failed = true;
	d->at = d->s.len;
	return "";
}

static bool demangle_spend(struct mpk_demangler *d, size_t bytes)
{
	if (d->text_left < bytes)
		return false;
	d->text_left -= bytes;
	return true;
}

/* Prints a text into the arena, within the limit of all texts; "" after a failure. */
static MPK_PRINTF(2, 3) const char *demangle_text(struct mpk_demangler *d, const char *fmt, ...)
{
	const char *text;
	va_list ap;

	if (d->failed)
		return "";
	d->made.len = 0;
	va_start(ap, fmt);
	mpk_strbuf_vprintf(&d->made, fmt, ap);
	va_end(ap);
	if (d->made.failed || !demangle_spend(d, d->made.len + 1))
		return demangle_fail(d);
	text = mpk_arena_copy(&d->arena, mpk_strbuf_text(&d->made), d->made.len);
	return text ? text : demangle_fail(d);
}

/* Returns the character `ahead` bytes after the current one; NUL: beyond the end. */
static char demangle_peek(const struct mpk_demangler *d, size_t ahead)
{
	return d->s.len - d->at > ahead ? (char)d->s.data[d->at + ahead] : '\0';
}

/* Whether the next characters are a text; moves past it. */
static bool demangle_accept(struct mpk_demangler *d, const char *text)
{
	size_t n = strlen(text);

	if (d->s.len - d->at < n || memcmp(d->s.data + d->at, text, n) != 0)
		return false;
	d->at += n;
	return true;
}

/* Adds a type to the list that substitutions refer to. */
static void demangle_remember(struct mpk_demangler *d, struct mpk_demangle_type t)
{
	if (d->known_count == DEMANGLE_SUBSTITUTIONS)
		(void)demangle_fail(d);
	else
		d->known[d->known_count++] = t;
}

/* Reads a decimal number; 0 after a failure. */
static size_t demangle_number(struct mpk_demangler *d)
{
	size_t n = 0;
	char c = demangle_peek(d, 0);

	if (c < '0' || c > '9')
		(void)demangle_fail(d);
	for (; c >= '0' && c <= '9'; d->at++, c = demangle_peek(d, 0))
		n = n < d->s.len ? n * 10 + (size_t)(c - '0') : n;
	return d->failed ? 0 : n;
}

/* Reads a name with its length before it: "3foo". */
static const char *demangle_source_name(struct mpk_demangler *d)
{
	size_t n = demangle_number(d);
	struct mpk_span name;

	if (d->failed || !n || !mpk_span_sub(d->s, d->at, n, &name))
		return demangle_fail(d);
	d->at += n;
	return demangle_text(d, "%.*s", (int)name.len, (const char *)name.data);
}

/* Reads "_", "0_" or "A_" after an S: 0, 1 or 11. After a T the digits are decimal. */
static size_t demangle_sequence(struct mpk_demangler *d, unsigned base)
{
	size_t n = 0;
	bool given = false;

	for (char c = demangle_peek(d, 0); c != '_'; c = demangle_peek(d, 0), given = true) {
		bool digit = c >= '0' && c <= '9';

		if (!digit && (base == 10 || c < 'A' || c > 'Z')) {
			(void)demangle_fail(d);
			return 0;
		}
		n = n * base + (size_t)(digit ? c - '0' : c - 'A' + 10);
		n = n < DEMANGLE_SUBSTITUTIONS ? n : DEMANGLE_SUBSTITUTIONS;
		d->at++;
	}
	d->at++;
	return n + given;
}

/* Returns the type of a parameter that is a pack: the whole pack, or within an expansion the
 * current element. */
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

/* Reads a substitution after its 'S'. */
static struct mpk_demangle_type demangle_substitution(struct mpk_demangler *d)
{
	static const struct {
		char code[2];
		const char *text;
	} rows[] = { { "a", "std::allocator" }, { "b", "std::basic_string" },
		     { "s", "std::string" },    { "i", "std::istream" },
		     { "o", "std::ostream" },   { "d", "std::iostream" } };
	size_t i;

	for (i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		if (demangle_accept(d, rows[i].code))
			return (struct mpk_demangle_type){ .left = rows[i].text, .right = "" };
	i = demangle_sequence(d, 36);
	if (!d->failed && i < d->known_count)
		return d->known[i].pack ? pack_param(d, d->known[i].pack) : d->known[i];
	(void)demangle_fail(d);
	return nothing;
}

/* Reads a template parameter after its 'T'; returns its argument. */
static struct mpk_demangle_type demangle_param(struct mpk_demangler *d)
{
	size_t i = demangle_sequence(d, 10);
	const struct mpk_demangle_arg *arg;

	if (d->failed || i >= d->arg_count) {
		(void)demangle_fail(d);
		return nothing;
	}
	arg = &d->args[i];
	return arg->is_pack ? pack_param(d, arg->type.pack) : arg->type;
}

/* Reads a literal: "Lb1E" is true, "Lj4E" 4u, "LN2ns1EE2E" (ns::E)2, "L_Z1fvE" f(). */
static const char *arg_literal(struct mpk_demangler *d)
{
	static const char suffixes[][5] = { "i", "ju", "ll", "mul", "xll", "yull" };
	char code = demangle_peek(d, 0);
	struct mpk_demangle_type t;
	const char *sign;
	size_t begin;

	if (demangle_accept(d, "_Z"))
		return demangle_other(d);
	if (demangle_accept(d, "b0"))
		return "false";
	if (demangle_accept(d, "b1"))
		return "true";
	t = demangle_type_read(d);
	sign = demangle_accept(d, "n") ? "-" : "";
	begin = d->at;
	while (demangle_peek(d, 0) && demangle_peek(d, 0) != 'E')
		d->at++;
	const char *value = demangle_text(d, "%s%.*s", sign, (int)(d->at - begin),
					  (const char *)d->s.data + begin);

	for (size_t i = 0; i < MPK_ARRAY_COUNT(suffixes); i++)
		if (suffixes[i][0] == code)
			return demangle_text(d, "%s%s", value, suffixes[i] + 1);
	if (strchr("fde", code))
		return demangle_text(d, "(%s)[%s]", t.left, value);
	return demangle_text(d, "(%s%s)%s", t.left, t.right, value);
}

/* Reads an expression of the kinds that template arguments of kernels have: the address of a
 * function, a literal, a parameter. */
static const char *expression(struct mpk_demangler *d)
{
	if (demangle_accept(d, "ad"))
		return demangle_text(d, "&(%s)", expression(d));
	if (demangle_accept(d, "L")) {
		const char *text = arg_literal(d);

		return demangle_accept(d, "E") ? text : demangle_fail(d);
	}
	if (demangle_accept(d, "T"))
		return demangle_param(d).left;
	return demangle_fail(d);
}

static struct mpk_demangle_arg arg_read(struct mpk_demangler *d);

static struct mpk_demangle_arg pack_read(struct mpk_demangler *d)
{
	struct mpk_demangle_arg arg = { .is_pack = true }, *items, *kept;
	size_t cap = 0;

	items = NULL;
	while (!d->failed && !demangle_accept(d, "E")) {
		struct mpk_demangle_arg one = arg_read(d);

		if (arg.count == cap) {
			struct mpk_demangle_arg *more;

			cap = cap ? 2 * cap : 4;
			more = cap > DEMANGLE_ARGS ? NULL
						   : mpk_arena_array(&d->arena, cap, sizeof *more);
			if (!more) {
				(void)demangle_fail(d);
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
		text = demangle_text(d, "%s%s%s%s", text, *text ? ", " : "",
				     arg.elements[i].type.left, arg.elements[i].type.right);
	arg.type.left = text;

	arg.type.right = "";
	/* References to the pack live longer than this function. */
	kept = mpk_arena_keep(&d->arena, &arg, 1, sizeof arg);
	if (!kept)
		(void)demangle_fail(d);
	else
		kept->type.pack = kept;
	arg.type.pack = kept;
	return arg;
}

static struct mpk_demangle_arg arg_read(struct mpk_demangler *d)
{
	struct mpk_demangle_arg arg = { .type = nothing };

	if (++d->depth > DEMANGLE_DEPTH) {
		(void)demangle_fail(d);
	} else if (demangle_accept(d, "J")) {
		arg = pack_read(d);
	} else if (demangle_accept(d, "L") || demangle_accept(d, "X")) {
		bool is_literal = d->s.data[d->at - 1] == 'L';

		arg.type.left = is_literal ? arg_literal(d) : expression(d);
		if (!demangle_accept(d, "E"))
			(void)demangle_fail(d);
	} else {
		arg.type = demangle_type_read(d);
	}
	d->depth--;
	return arg;
}

/* Reads template arguments after their 'I'; returns "<float, 4>".
 * @tag     they are the arguments of the function, which T_ refers to */
static const char *demangle_args(struct mpk_demangler *d, bool tag)
{
	const char *text = "";
	bool shown = !d->form.deepest || d->template_depth < d->form.deepest;

	if (tag)
		d->arg_count = 0;
	d->template_depth++;
	while (!d->failed && !demangle_accept(d, "E")) {
		struct mpk_demangle_arg arg = arg_read(d);

		if (tag && d->arg_count < DEMANGLE_ARGS)
			d->args[d->arg_count++] = arg;
		if (shown && *arg.type.left)
			text = demangle_text(d, "%s%s%s%s", text, *text ? ", " : "", arg.type.left,
					     arg.type.right);
	}
	d->template_depth--;
	return shown ? demangle_text(d, "<%s>", text) : "<...>";
}

/* --- Types in the syntax of C++. A type is a text on both sides of the declared name, because the
 * name is inside of pointers to functions and of arrays. */

static const char *builtin(char c)
{
	static const char *const names[] = {
		['a' - 'a'] = "signed char", ['b' - 'a'] = "bool",
		['c' - 'a'] = "char",        ['d' - 'a'] = "double",
		['e' - 'a'] = "long double", ['f' - 'a'] = "float",
		['g' - 'a'] = "__float128",  ['h' - 'a'] = "unsigned char",
		['i' - 'a'] = "int",         ['j' - 'a'] = "unsigned int",
		['l' - 'a'] = "long",        ['m' - 'a'] = "unsigned long",
		['n' - 'a'] = "__int128",    ['o' - 'a'] = "unsigned __int128",
		['s' - 'a'] = "short",       ['t' - 'a'] = "unsigned short",
		['v' - 'a'] = "void",        ['w' - 'a'] = "wchar_t",
		['x' - 'a'] = "long long",   ['y' - 'a'] = "unsigned long long",
		['z' - 'a'] = "...",
	};

	return c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;
}

/* Adds "*", "&" or "&&" before the declared name. */
static struct mpk_demangle_type pointer(struct mpk_demangler *d, struct mpk_demangle_type t,
					const char *sign)
{
	size_t len = strlen(t.left);
	bool is_reference = len && t.left[len - 1] == '&' && *sign == '&';

	/* A reference to a reference, which template arguments may form, is one reference. */
	if (is_reference && sign[1])
		return t;
	if (is_reference) {
		len -= len > 1 && t.left[len - 2] == '&' ? 2 : 1;
		t.left = demangle_text(d, "%.*s", (int)len, t.left);
	}
	/* For a function or an array the sign is inside: "void (*)(int)", "int (*) [3]". */
	bool is_around = *t.right == '(' || *t.right == ' ';

	t.left = demangle_text(d,
			       *t.right == ' ' ? "%s (%s"
			       : is_around     ? "%s(%s"
					       : "%s%s",
			       t.left, sign);
	t.right = is_around ? demangle_text(d, ")%s", t.right) : t.right;
	t.pack = NULL;
	return t;
}

/* Reads types up to an 'E', a '.' or the end; returns them separated by commas. A single "v" means
 * none. */
static const char *demangle_list(struct mpk_demangler *d)
{
	const char *text = "";

	if (demangle_peek(d, 0) == 'v' &&
	    (!demangle_peek(d, 1) || strchr("E.", demangle_peek(d, 1)))) {
		d->at++;
		return text;
	}
	while (!d->failed && demangle_peek(d, 0) && !strchr("E.", demangle_peek(d, 0))) {
		struct mpk_demangle_type t = demangle_type_read(d);

		if (*t.left)
			text = demangle_text(d, "%s%s%s%s", text, *text ? ", " : "", t.left,
					     t.right);
	}
	return text;
}

static struct mpk_demangle_type function(struct mpk_demangler *d)
{
	struct mpk_demangle_type t;
	const char *params;

	(void)demangle_accept(d, "Y");
	t = demangle_type_read(d);
	params = demangle_list(d);
	if (!demangle_accept(d, "E"))
		(void)demangle_fail(d);
	t.left = demangle_text(d, *t.right ? "%s" : "%s ", t.left);
	t.right = demangle_text(d, "(%s)%s", params, t.right);
	return t;
}

static struct mpk_demangle_type array(struct mpk_demangler *d)
{
	const char *size =
		demangle_peek(d, 0) == '_' ? "" : demangle_text(d, "%zu", demangle_number(d));
	struct mpk_demangle_type t;

	if (!demangle_accept(d, "_"))
		(void)demangle_fail(d);
	t = demangle_type_read(d);
	t.right = demangle_text(d, " [%s]%s", size, *t.right == ' ' ? t.right + 1 : t.right);
	return t;
}

static struct mpk_demangle_type member_pointer(struct mpk_demangler *d)
{
	struct mpk_demangle_type of = demangle_type_read(d), t = demangle_type_read(d);

	if (*t.right == '(') {
		t.left = demangle_text(d, "%s(%s::*", t.left, of.left);
		t.right = demangle_text(d, ")%s", t.right);
	} else {
		t.left = demangle_text(d, "%s %s::*", t.left, of.left);
	}
	return t;
}

/* "DpT_": reads the pattern once for each element of the pack. Its types are numbered only once. */
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
		struct mpk_demangle_type t = demangle_type_read(d);

		if (i < d->expanded)
			text = demangle_text(d, "%s%s%s%s", text, *text ? ", " : "", t.left,
					     t.right);
	} while (!d->failed && ++i < d->expanded);
	d->element = outer;
	return (struct mpk_demangle_type){ .left = text, .right = "" };
}

/* Reads a type that begins with D. Sets *numbered to false for a builtin type, which substitutions
 * cannot refer to. */
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
		if (demangle_accept(d, rows[i].code)) {
			*numbered = false;
			return (struct mpk_demangle_type){ .left = rows[i].text, .right = "" };
		}
	}
	if (demangle_accept(d, "p"))
		return pack_expansion(d);
	if (demangle_accept(d, "v")) {
		size_t lanes = demangle_number(d);

		if (!demangle_accept(d, "_"))
			(void)demangle_fail(d);
		struct mpk_demangle_type t = demangle_type_read(d);

		t.left = demangle_text(d, "%s __vector(%zu)", t.left, lanes);
		return t;
	}
	if (demangle_accept(d, "oF")) {
		struct mpk_demangle_type t = function(d);

		t.right = demangle_text(d, "%s noexcept", t.right);
		return t;
	}
	(void)demangle_fail(d);
	return nothing;
}

/* "const" is printed after the type, or after the parameters of a function. */
static struct mpk_demangle_type qualified(struct mpk_demangler *d)
{
	const char *qualifiers = "";
	struct mpk_demangle_type t;

	for (;;) {
		if (demangle_accept(d, "r"))
			qualifiers = demangle_text(d, " restrict%s", qualifiers);
		else if (demangle_accept(d, "V"))
			qualifiers = demangle_text(d, " volatile%s", qualifiers);
		else if (demangle_accept(d, "K"))
			qualifiers = demangle_text(d, " const%s", qualifiers);
		else
			break;
	}
	/* The qualifiers of a member function are a part of its type. */
	t = demangle_accept(d, "F") ? function(d) : demangle_type_read(d);
	if (*t.right == '(' && !strstr(t.left, "(*"))
		t.right = demangle_text(d, "%s%s", t.right, qualifiers);
	else
		t.left = demangle_text(d, "%s%s", t.left, qualifiers);
	t.pack = NULL;
	return t;
}

/* Reads a template parameter, with arguments if it is a template itself. */
static struct mpk_demangle_type parameter(struct mpk_demangler *d)
{
	struct mpk_demangle_type t = demangle_param(d);

	if (demangle_peek(d, 0) != 'I')
		return t;
	demangle_remember(d, t);
	d->at++;
	t.left = demangle_text(d, "%s%s", t.left, demangle_args(d, false));
	return t;
}

/* Reads the name of a class or an enumeration, or a substitution. */
static struct mpk_demangle_type named_type(struct mpk_demangler *d, bool *numbered)
{
	bool is_substitution = demangle_peek(d, 0) == 'S' && demangle_peek(d, 1) != 't';

	if (is_substitution) {
		d->at++;
		struct mpk_demangle_type t = demangle_substitution(d);

		if (demangle_peek(d, 0) != 'I') {
			*numbered = false;
			return t;
		}
		d->at++;
		t.left = demangle_text(d, "%s%s", t.left, demangle_args(d, false));
		return t;
	}
	return (struct mpk_demangle_type){ .left = demangle_name_read(d, false).text, .right = "" };
}

static struct mpk_demangle_type compound(struct mpk_demangler *d, bool *numbered)
{
	struct mpk_demangle_type t;
	const char *name;

	if (demangle_accept(d, "P"))
		return pointer(d, demangle_type_read(d), "*");
	if (demangle_accept(d, "R"))
		return pointer(d, demangle_type_read(d), "&");
	if (demangle_accept(d, "O"))
		return pointer(d, demangle_type_read(d), "&&");
	if (strchr("rVK", demangle_peek(d, 0)))
		return qualified(d);
	if (demangle_accept(d, "F"))
		return function(d);
	if (demangle_accept(d, "A"))
		return array(d);
	if (demangle_accept(d, "M"))
		return member_pointer(d);
	if (demangle_accept(d, "T"))
		return parameter(d);
	if (demangle_accept(d, "D"))
		return d_type(d, numbered);
	if (demangle_accept(d, "u"))
		return (struct mpk_demangle_type){ .left = demangle_source_name(d), .right = "" };
	if (demangle_peek(d, 0) == 'U' && !strchr("lt", demangle_peek(d, 1))) {
		d->at++;
		name = demangle_source_name(d);
		t = demangle_type_read(d);
		t.left = demangle_text(d, "%s %s", t.left, name);
		return t;
	}
	if (demangle_accept(d, "C")) {
		t = demangle_type_read(d);
		t.left = demangle_text(d, "%s _Complex", t.left);
		return t;
	}
	return named_type(d, numbered);
}

/* Reads a type, and numbers it unless it is a builtin type. */
static struct mpk_demangle_type demangle_type_read(struct mpk_demangler *d)
{
	struct mpk_demangle_type t = nothing;
	const char *word = builtin(demangle_peek(d, 0));
	bool numbered = true;

	if (++d->depth > DEMANGLE_DEPTH || d->steps_left-- == 0 || !demangle_peek(d, 0)) {
		(void)demangle_fail(d);
	} else if (word) {
		d->at++;
		t.left = word;
	} else {
		t = compound(d, &numbered);
		if (numbered)
			demangle_remember(d, t);
	}
	d->depth--;
	return t;
}

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

/* Returns the class of a constructor: the last name of its scope, without template arguments. */
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
	return demangle_text(d, "%.*s",
			     (int)(end && end > begin ? end - begin : (long)strlen(begin)), begin);
}

/* Reads the number of a lambda or an unnamed type in its scope; "_" is the first. */
static size_t discriminator(struct mpk_demangler *d)
{
	size_t n = 1;

	if (mpk_is_digit(demangle_peek(d, 0)))
		n = demangle_number(d) + 2;
	if (!demangle_accept(d, "_"))
		(void)demangle_fail(d);
	return n;
}

static const char *unnamed(struct mpk_demangler *d)
{
	const char *params;

	if (demangle_accept(d, "Ut"))
		return demangle_text(d, "{unnamed type#%zu}", discriminator(d));
	if (!demangle_accept(d, "Ul"))
		return demangle_fail(d);
	params = demangle_list(d);
	if (!demangle_accept(d, "E"))
		return demangle_fail(d);
	return demangle_text(d, "{lambda(%s)#%zu}", params, discriminator(d));
}

static const char *operator_name(struct mpk_demangler *d)
{
	if (demangle_accept(d, "cv")) {
		struct mpk_demangle_type t = demangle_type_read(d);

		return demangle_text(d, "operator %s%s", t.left, t.right);
	}
	if (demangle_accept(d, "li"))
		return demangle_text(d, "operator\"\" %s", demangle_source_name(d));
	for (size_t i = 0; i < MPK_ARRAY_COUNT(operators); i++)
		if (demangle_accept(d, operators[i].code))
			return demangle_text(d, "operator%s", operators[i].text);
	return demangle_fail(d);
}

static const char *unqualified(struct mpk_demangler *d, const char *scope)
{
	char c = demangle_peek(d, 0), next = demangle_peek(d, 1);
	const char *name;

	if (c == 'L' && mpk_is_digit(next))
		d->at++;
	if (mpk_is_digit(demangle_peek(d, 0))) {
		name = demangle_source_name(d);
		if (strncmp(name, "_GLOBAL__N", 10) == 0)
			name = "(anonymous namespace)";
	} else if ((c == 'C' || c == 'D') && mpk_is_digit(next)) {
		d->at += 2;
		name = demangle_text(d, "%s%s", c == 'D' ? "~" : "", class_of(d, scope));
	} else if (c == 'U') {
		name = unnamed(d);
	} else {
		name = operator_name(d);
	}
	while (demangle_accept(d, "B"))
		name = demangle_text(d, "%s[abi:%s]", name, demangle_source_name(d));
	return name;
}

/* --- names ------------------------------------------------------------------------------------- */

static const char *scoped(struct mpk_demangler *d, const char *scope, const char *name)
{
	return *scope ? demangle_text(d, "%s::%s", scope, name) : name;
}

/* "operator<" is separated from "<" by a blank. */
static const char *with_args(struct mpk_demangler *d, const char *name, bool tag)
{
	const char *args = demangle_args(d, tag);
	size_t len = strlen(name);

	return demangle_text(d, len && name[len - 1] == '<' ? "%s %s" : "%s%s", name, args);
}

/* Reads a part of a nested name, and appends it to the parts before. The last part is not numbered
 * here. */
static const char *nested_part(struct mpk_demangler *d, const char *scope,
			       struct mpk_demangle_name *name, bool tag)
{
	bool numbered = true;

	name->is_template = false;
	if (demangle_accept(d, "St")) {
		scope = "std";
		numbered = false;
	} else if (demangle_accept(d, "S")) {
		scope = demangle_substitution(d).left;
		numbered = false;
	} else if (demangle_accept(d, "T")) {
		scope = demangle_param(d).left;
	} else if (demangle_accept(d, "I")) {
		scope = with_args(d, scope, tag);
		name->is_template = true;
	} else {
		char c = demangle_peek(d, 0), next = demangle_peek(d, 1);

		scope = scoped(d, scope, unqualified(d, scope));
		/* Constructors and conversions have no return type, even as templates. */
		if (((c == 'C' || c == 'D') && mpk_is_digit(next)) || (c == 'c' && next == 'v'))
			name->has_no_return = true;
	}
	if (numbered && demangle_peek(d, 0) != 'E')
		demangle_remember(d, (struct mpk_demangle_type){ .left = scope, .right = "" });
	return scope;
}

static struct mpk_demangle_name nested(struct mpk_demangler *d, bool tag)
{
	struct mpk_demangle_name name = { .text = "", .qualifiers = "" };
	const char *scope = "";

	for (;;) {
		if (demangle_accept(d, "K"))
			name.qualifiers = demangle_text(d, "%s const", name.qualifiers);
		else if (demangle_accept(d, "V"))
			name.qualifiers = demangle_text(d, "%s volatile", name.qualifiers);
		else if (!demangle_accept(d, "r"))
			break;
	}
	if (demangle_accept(d, "R"))
		name.qualifiers = demangle_text(d, "%s &", name.qualifiers);
	else if (demangle_accept(d, "O"))
		name.qualifiers = demangle_text(d, "%s &&", name.qualifiers);
	while (!d->failed && !demangle_accept(d, "E"))
		scope = nested_part(d, scope, &name, tag);
	name.text = scope;
	return name;
}

static const char *demangle_encoding(struct mpk_demangler *d, bool is_whole);

/* "Z f(int) E x": reads a name inside a function. */
static struct mpk_demangle_name local(struct mpk_demangler *d, bool tag)
{
	const char *function = tag ? demangle_encoding(d, false) : demangle_other(d);
	struct mpk_demangle_name name = { .text = "", .qualifiers = "" };

	if (!demangle_accept(d, "E"))
		(void)demangle_fail(d);
	if (demangle_accept(d, "s")) {
		name.text = "string literal";
	} else {
		if (demangle_accept(d, "d"))
			(void)discriminator(d);
		name = demangle_name_read(d, tag);
	}
	/* "_1" or "__12_" is the number among equal names, which c++filt does not print */
	if (demangle_accept(d, "__")) {
		(void)demangle_number(d);
		(void)demangle_accept(d, "_");
	} else if (demangle_peek(d, 0) == '_' && mpk_is_digit(demangle_peek(d, 1))) {
		d->at += 2;
	}
	name.text = scoped(d, function, name.text);
	return name;
}

/* Reads a name; tag: that of the function. */
static struct mpk_demangle_name demangle_name_read(struct mpk_demangler *d, bool tag)
{
	struct mpk_demangle_name name = { .text = "", .qualifiers = "" };
	bool numbered = true;

	if (++d->depth > DEMANGLE_DEPTH) {
		name.text = demangle_fail(d);
	} else if (demangle_accept(d, "N")) {
		name = nested(d, tag);
		numbered = false;
	} else if (demangle_accept(d, "Z")) {
		name = local(d, tag);
		numbered = false;
	} else if (demangle_accept(d, "St")) {
		name.text = scoped(d, "std", unqualified(d, "std"));
	} else if (demangle_accept(d, "S")) {
		name.text = demangle_substitution(d).left;
		numbered = false;
	} else {
		name.text = unqualified(d, "");
	}
	if (demangle_peek(d, 0) == 'I') {
		if (numbered)
			demangle_remember(
				d, (struct mpk_demangle_type){ .left = name.text, .right = "" });
		d->at++;
		name.text = with_args(d, name.text, tag);
		name.is_template = true;
	}
	d->depth--;
	return name;
}

/* --- the symbol ------------------------------------------------------------------------------ */

static const char *special(struct mpk_demangler *d)
{
	static const struct {
		char code[3];
		const char *text;
	} rows[] = { { "TV", "vtable for " },
		     { "TI", "typeinfo for " },
		     { "TS", "typeinfo name for " },
		     { "TT", "VTT for " } };

	if (demangle_accept(d, "GV"))
		return demangle_text(d, "guard variable for %s", demangle_name_read(d, false).text);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		if (demangle_accept(d, rows[i].code)) {
			struct mpk_demangle_type t = demangle_type_read(d);

			return demangle_text(d, "%s%s%s", rows[i].text, t.left, t.right);
		}
	}
	return NULL;
}

/* Reads a name with the parameters of a function. */
static const char *demangle_encoding(struct mpk_demangler *d, bool is_whole)
{
	const char *text = special(d), *params;
	struct mpk_demangle_type returned = { .left = "", .right = "" };
	struct mpk_demangle_name name;

	if (text)
		return text;
	name = demangle_name_read(d, true);
	if (d->failed || !demangle_peek(d, 0) || strchr("E.", demangle_peek(d, 0)))
		return name.text;
	if (name.is_template && !name.has_no_return) {
		returned = demangle_type_read(d);
		if (!is_whole || !d->form.returns)
			returned = (struct mpk_demangle_type){ .left = "", .right = "" };
		else if (!*returned.right)
			returned.left = demangle_text(d, "%s ", returned.left);
	}
	params = demangle_list(d);
	if (is_whole && d->form.no_params)
		return demangle_text(d, "%s%s%s", returned.left, name.text, returned.right);
	return demangle_text(d, "%s%s(%s)%s%s", returned.left, name.text, params, name.qualifiers,
			     returned.right);
}

/* Reads the name of another function, with its parameters; T_ refers to its template arguments, and
 * afterwards to the previous ones again. */
static const char *demangle_other(struct mpk_demangler *d)
{
	size_t count = d->arg_count;
	const struct mpk_demangle_arg *args =
		mpk_arena_keep(&d->arena, d->args, count, sizeof *args);
	const char *text;

	if (!args || !demangle_spend(d, count * sizeof *args))
		return demangle_fail(d);
	text = demangle_encoding(d, false);
	for (size_t i = 0; i < count; i++)
		d->args[i] = args[i];
	d->arg_count = count;
	return text;
}

/* Reads suffixes of copies that a compiler made of the function: ".constprop.0", ".part.1". */
static const char *clones(struct mpk_demangler *d, const char *text)
{
	while (!d->failed && demangle_peek(d, 0) == '.') {
		size_t begin = d->at++;
		char c = demangle_peek(d, 0);

		if (!mpk_is_digit(c) && !(c >= 'a' && c <= 'z') && c != '_') {
			d->at = begin;
			break;
		}
		while ((c = demangle_peek(d, 0)) && (c == '_' || (c >= 'a' && c <= 'z')))
			d->at++;
		while (mpk_is_digit(demangle_peek(d, 0)) ||
		       (demangle_peek(d, 0) == '.' && mpk_is_digit(demangle_peek(d, 1))))
			d->at++;
		text = demangle_text(d, "%s [clone %.*s]", text, (int)(d->at - begin),
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
	*d = (struct mpk_demangler){ .s = symbol,
				     .at = 2,
				     .form = form,
				     .arena = arena,
				     .steps_left =
					     DEMANGLE_STEPS + DEMANGLE_STEPS_BYTE * symbol.len,
				     .text_left = DEMANGLE_TEXT + DEMANGLE_TEXT_BYTE * symbol.len };
	if (d->text_left > DEMANGLE_TEXT_MAX)
		d->text_left = DEMANGLE_TEXT_MAX;
	text = clones(d, demangle_encoding(d, true));
	known = !d->failed && d->at == d->s.len && !out->failed;
	if (known)
		mpk_strbuf_puts(out, text);
	mpk_strbuf_fini(&d->made);
	arena = d->arena;
	mpk_arena_fini(&arena);
	return known;
}
