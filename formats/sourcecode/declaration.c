/* SPDX-License-Identifier: Apache-2.0 */
/* declaration.c - what a C declaration says about one value: a number, a pointer to numbers, or
 * something else
 *
 * Words are looked up in the typedefs of the text. An unknown word beside a type of C is taken for
 * a macro that expands to an attribute, else for a type of a header. */
#include <string.h>

#include "base/compiler.h"
#include "sourcecode/internal/sourcecode.h"

/* Limits, because hostile texts have types that expand to types that expand to types. */
enum { DEPTH_MAX = 16, WORDS_MAX = 256 };

enum base { NONE, INT, CHAR, FLOAT, DOUBLE, VOID, FIXED };

/* A declaration that is being read. */
struct declaration {
	struct mpk_source_code_index *index;
	struct mpk_cfunction_value *out;
	const struct mpk_cfunction_value *others;
	size_t other_count;
	enum base base;
	struct mpk_dtype fixed; /* the type, if base is FIXED */
	unsigned longs, shorts, stars;
	bool is_unsigned, is_signed, is_const, is_record, is_enum, is_open, is_odd;
	bool is_reference, is_function;
	size_t words;
};

static const struct {
	const char *word;
	uint8_t code, bits;
} fixed_types[] = {
	{ "int8_t", MPK_DTYPE_INT, 8 },       { "int16_t", MPK_DTYPE_INT, 16 },
	{ "int32_t", MPK_DTYPE_INT, 32 },     { "int64_t", MPK_DTYPE_INT, 64 },
	{ "uint8_t", MPK_DTYPE_UINT, 8 },     { "uint16_t", MPK_DTYPE_UINT, 16 },
	{ "uint32_t", MPK_DTYPE_UINT, 32 },   { "uint64_t", MPK_DTYPE_UINT, 64 },
	{ "size_t", MPK_DTYPE_UINT, 64 },     { "ssize_t", MPK_DTYPE_INT, 64 },
	{ "ptrdiff_t", MPK_DTYPE_INT, 64 },   { "intptr_t", MPK_DTYPE_INT, 64 },
	{ "uintptr_t", MPK_DTYPE_UINT, 64 },  { "intmax_t", MPK_DTYPE_INT, 64 },
	{ "uintmax_t", MPK_DTYPE_UINT, 64 },  { "_Bool", MPK_DTYPE_BOOL, 8 },
	{ "bool", MPK_DTYPE_BOOL, 8 },        { "_Float16", MPK_DTYPE_FLOAT, 16 },
	{ "__fp16", MPK_DTYPE_FLOAT, 16 },    { "__bf16", MPK_DTYPE_BFLOAT, 16 },
	{ "_Float32", MPK_DTYPE_FLOAT, 32 },  { "_Float64", MPK_DTYPE_FLOAT, 64 },
	{ "__int8_t", MPK_DTYPE_INT, 8 },     { "__int16_t", MPK_DTYPE_INT, 16 },
	{ "__int32_t", MPK_DTYPE_INT, 32 },   { "__int64_t", MPK_DTYPE_INT, 64 },
	{ "__uint8_t", MPK_DTYPE_UINT, 8 },   { "__uint16_t", MPK_DTYPE_UINT, 16 },
	{ "__uint32_t", MPK_DTYPE_UINT, 32 }, { "__uint64_t", MPK_DTYPE_UINT, 64 },
};

static void write_out(struct declaration *d, struct mpk_span text, unsigned depth);

/* Words of C that do not change how the value is passed. */
static bool is_mark(struct mpk_span word)
{
	static const char *const words[] = {
		"extern",    "static",        "inline",    "__inline",     "__inline__",
		"register",  "volatile",      "restrict",  "__restrict",   "auto",
		"_Noreturn", "__extension__", "constexpr", "__restrict__", "_Thread_local",
		"struct",    "union",         "class",     "enum",         "noexcept",
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(words); i++)
		if (mpk_span_is(word, words[i]))
			return true;
	return false;
}

static void set_base(struct declaration *d, enum base base)
{
	d->is_odd |= d->base != NONE && d->base != base;
	d->base = base;
}

/* Reads a type of the language, or of its standard headers. */
static bool take_type(struct declaration *d, struct mpk_span word)
{
	static const struct {
		const char *word;
		enum base base;
	} bases[] = {
		{ "int", INT },       { "char", CHAR }, { "float", FLOAT },
		{ "double", DOUBLE }, { "void", VOID },
	};
	static const char *const odd[] = { "_Complex",   "__complex__", "complex",    "__int128",
					   "__int128_t", "__uint128_t", "__float128", "_Float128",
					   "_BitInt",    "_Decimal64",  "__m128",     "__m256",
					   "__m512" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(bases); i++) {
		if (mpk_span_is(word, bases[i].word)) {
			/* "long int" and "short int" are one type each. */
			set_base(d, bases[i].base);
			return true;
		}
	}
	for (size_t i = 0; i < MPK_ARRAY_COUNT(odd); i++) {
		if (mpk_span_is(word, odd[i])) {
			d->is_odd = true;
			return true;
		}
	}
	for (size_t i = 0; i < MPK_ARRAY_COUNT(fixed_types); i++) {
		if (mpk_span_is(word, fixed_types[i].word)) {
			set_base(d, FIXED);
			d->fixed =
				(struct mpk_dtype){ fixed_types[i].code, fixed_types[i].bits, 1 };
			return true;
		}
	}
	return false;
}

static bool take_modifier(struct declaration *d, struct mpk_span word)
{
	bool is_unsigned = mpk_span_is(word, "unsigned"), is_long = mpk_span_is(word, "long");
	bool is_signed = mpk_span_is(word, "signed") || mpk_span_is(word, "__signed__");
	bool is_short = mpk_span_is(word, "short"), is_const = mpk_span_is(word, "const");

	d->is_unsigned |= is_unsigned;
	d->is_signed |= is_signed;
	d->longs += is_long;
	d->shorts += is_short;
	d->is_const |= is_const && !d->stars; /* after a star, the pointer itself is const */
	return is_unsigned || is_long || is_signed || is_short || is_const;
}

static bool has_type(const struct declaration *d)
{
	return d->base != NONE || d->is_record || d->is_enum || d->is_open || d->is_odd ||
	       d->is_unsigned || d->is_signed || d->longs || d->shorts;
}

/* Reads a type that the text defines. */
static bool take_alias(struct declaration *d, struct mpk_span word, unsigned depth)
{
	struct mpk_source_code_type *type = mpk_source_code_find_type(d->index, word);
	bool was_const = d->is_const;
	unsigned stars = d->stars;

	if (!type || (type->is_macro && type->kind == MPK_SOURCE_CODE_TYPE_OPEN))
		return false; /* perhaps a macro for an attribute */
	switch (type->kind) {
	case MPK_SOURCE_CODE_TYPE_RECORD:
		d->is_record = true;
		return true;
	case MPK_SOURCE_CODE_TYPE_ENUM:
		d->is_enum = true;
		return true;
	case MPK_SOURCE_CODE_TYPE_VECTOR:
	case MPK_SOURCE_CODE_TYPE_OPEN:
		d->is_open = true;
		return true;
	case MPK_SOURCE_CODE_TYPE_ALIAS:
		break;
	}
	if (depth == DEPTH_MAX || d->words > WORDS_MAX) {
		d->is_open = true;
		return true;
	}
	if (stars == 0)
		d->is_const = false;
	write_out(d, type->words, depth + 1);
	d->stars += type->is_pointer;
	/* "const" before the name of a pointer applies to the pointer; before that of a number, to the
	 * number */
	if (stars == 0 && d->stars == 0)
		d->is_const |= was_const;
	return true;
}

static void take_word(struct declaration *d, struct mpk_span word, bool tagged, unsigned depth)
{
	d->words++;
	if (tagged) /* the name after "struct" */
		return;
	if (take_modifier(d, word) || take_type(d, word)) {
		if (!depth) /* The word before was a macro. */
			d->out->name = (struct mpk_span){ 0 };
	} else if (is_mark(word)) {
		d->is_record |= mpk_span_is(word, "struct") || mpk_span_is(word, "union") ||
				mpk_span_is(word, "class");
		d->is_enum |= mpk_span_is(word, "enum");
	} else if (has_type(d) || !take_alias(d, word, depth)) {
		/* the name of the value; if another word follows, this one was a macro or a type of a header */
		if (!depth && (word.data[0] < '0' || word.data[0] > '9'))
			d->out->name = word;
	}
}

/* --- extents ---------------------------------------------------------------------------------- */

/* Reads "[n]", "[static n]", "[4]" or "[]". */
static struct mpk_cfunction_extent read_extent(struct declaration *d, struct mpk_span text)
{
	struct mpk_cfunction_extent extent = { SIZE_MAX, 0 };
	struct mpk_span word, last = { 0 };
	size_t at = 0, words = 0;

	while ((word = mpk_source_code_next_word(text, &at)).len) {
		if (mpk_span_is(word, "static") || mpk_span_is(word, "const") ||
		    mpk_span_is(word, "restrict"))
			continue;
		last = word;
		words++;
	}
	for (size_t i = 0; i < text.len; i++) /* An expression is not a plain extent. */
		if (!mpk_source_code_is_word(text.data[i]) && text.data[i] > ' ')
			return extent;
	for (size_t i = 0; words == 1 && i < d->other_count; i++)
		if (mpk_span_equal(d->others[i].name, last) &&
		    d->others[i].kind == MPK_CFUNCTION_NUMBER)
			extent.param = i;
	if (words == 1 && extent.param == SIZE_MAX &&
	    !mpk_source_code_constant(d->index, last, &extent.number))
		extent.number = 0;
	return extent;
}

static size_t skip_to(struct mpk_span s, size_t i, char open, char close)
{
	size_t depth = 0;

	for (; i < s.len; i++) {
		depth += s.data[i] == (uint8_t)open;
		depth -= depth && s.data[i] == (uint8_t)close;
		if (!depth)
			break;
	}
	return i;
}

/* An array of arrays is one block of numbers; only the outermost extent may be missing. */
static void take_brackets(struct declaration *d, struct mpk_span inner)
{
	struct mpk_cfunction_value *v = d->out;

	if (v->dim_count < MPK_CFUNCTION_DIMS)
		v->dims[v->dim_count] = read_extent(d, inner);
	else
		d->is_open = true;
	v->dim_count++;
}

/* --- the declaration ---------------------------------------------------------------------------- */

static void write_out(struct declaration *d, struct mpk_span text, unsigned depth)
{
	bool tagged = false, attribute = false;

	for (size_t i = 0; i < text.len; i++) {
		char c = (char)text.data[i];

		if (mpk_source_code_is_word(text.data[i])) {
			size_t at = i;
			struct mpk_span word = mpk_source_code_next_word(text, &at);
			bool tag = mpk_span_is(word, "struct") || mpk_span_is(word, "union") ||
				   mpk_span_is(word, "class") || mpk_span_is(word, "enum");

			attribute = mpk_span_is(word, "__attribute__") ||
				    mpk_span_is(word, "__declspec");
			if (!attribute)
				take_word(d, word, tagged, depth);
			tagged = tag;
			i = at - 1;
			continue;
		}
		if (c == '=')
			break;
		if (c == '"') {
			const uint8_t *end = memchr(text.data + i + 1, '"', text.len - i - 1);

			i = end ? (size_t)(end - text.data) : text.len;
		} else if (c == '(' || c == '[') {
			size_t end = skip_to(text, i, c, c == '(' ? ')' : ']');
			size_t from = i + 1 < end ? i + 1 : end;

			d->is_function |= c == '(' && !attribute;
			if (c == '[' && depth)
				d->is_open = true;
			else if (c == '[' && !(i + 1 < text.len && text.data[i + 1] == '['))
				take_brackets(d, mpk_span_of(text.data + from, end - from));
			i = end;
		} else if (c == '*') {
			d->stars++;
		} else if (c == '&') {
			d->is_reference = true;
		} else if (c == '<' || c == ':') {
			d->is_open = true;
		}
		attribute = false;
	}
}

static struct mpk_dtype number_type(const struct declaration *d)
{
	bool integer = d->base == INT || d->base == NONE || d->base == CHAR;
	struct mpk_dtype t = { 0, 0, 1 };

	if (d->base == FIXED)
		return d->fixed;
	if (d->base == FLOAT || d->base == DOUBLE)
		return (struct mpk_dtype){ MPK_DTYPE_FLOAT, d->base == FLOAT ? 32 : 64, 1 };
	if (!integer)
		return t;
	t.code = d->is_unsigned ? MPK_DTYPE_UINT : MPK_DTYPE_INT;
	t.bits = d->base == CHAR ? 8 : d->longs ? 64 : d->shorts ? 16 : 32;
	return t;
}

/* Combinations that are not types here: "long double", "unsigned float". */
static bool is_no_number(const struct declaration *d)
{
	bool sign = d->is_unsigned || d->is_signed, length = d->longs || d->shorts;

	return d->is_odd || d->longs > 2 || d->shorts > 1 || (d->longs && d->shorts) ||
	       (d->is_unsigned && d->is_signed) || (d->base == CHAR && length) ||
	       (d->base >= FLOAT && (sign || length));
}

static const char *value_refusal(const struct declaration *d)
{
	bool plain_char = d->base == CHAR && !d->is_unsigned && !d->is_signed;
	size_t pointers = d->stars + (d->out->dim_count > 0);

	if (d->is_function)
		return "is a function pointer or has a declarator in parentheses";
	if (d->is_reference)
		return "is a reference, which C callers do not pass";
	if (d->is_open || !has_type(d))
		return "is of a type that the text does not explain; write its plain type, as in 'float'";
	if (d->is_record)
		return pointers
			       ? "points to a struct or union, and tensors hold numbers"
			       : "is a struct or union by value; take its members, or a pointer to numbers";
	if (pointers > 1)
		return "is a pointer to pointers, and tensors hold numbers";
	if (is_no_number(d))
		return "is of a type that no tensor and no argument has";
	if (pointers && plain_char)
		return "is text by its type; take 'int8_t *' or 'uint8_t *' for numbers";
	if (!pointers && (d->fixed.bits == 16 && d->base == FIXED && mpk_dtype_is_real(d->fixed)))
		return "is a 16-bit real number by value, which compilers pass in different ways; take 'float'";
	return NULL;
}

void mpk_cfunction_value_read(struct mpk_span text, struct mpk_source_code_index *index,
			      const struct mpk_cfunction_value *others, size_t count,
			      struct mpk_cfunction_value *out)
{
	struct declaration d = {
		.index = index, .out = out, .others = others, .other_count = count
	};
	size_t pointers;

	*out = (struct mpk_cfunction_value){ .text = text, .kind = MPK_CFUNCTION_OTHER };
	write_out(&d, text, 0);
	pointers = d.stars + (out->dim_count > 0);
	out->refusal = value_refusal(&d);
	if (d.is_enum)
		d.base = INT;
	out->read_only = d.is_const && pointers;
	if (out->refusal) {
		if (pointers && !d.is_function && !d.is_reference && !d.is_open)
			out->kind = MPK_CFUNCTION_POINTER;
		out->dim_count = 0;
		return;
	}
	out->dtype = number_type(&d);
	out->kind = pointers         ? MPK_CFUNCTION_POINTER
		    : d.base == VOID ? MPK_CFUNCTION_VOID
				     : MPK_CFUNCTION_NUMBER;
	for (size_t i = 0; i < out->dim_count; i++) /* If one extent is unknown, all are. */
		if (out->dims[i].param == SIZE_MAX && !out->dims[i].number)
			out->dim_count = 0;
}
