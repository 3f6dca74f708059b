/* SPDX-License-Identifier: Apache-2.0 */
/* facts.h - the members of a JSON object as a table: one row for each member of a struct
 *
 * A row has the key, the type and the offset in the struct. mpk_facts_json writes the members in
 * the order of the rows; scripts/schemas reads the same rows and writes the JSON Schema, so the
 * two always agree. Tables are `static const struct mpk_fact NAME[]`, and a definition of
 * scripts/schemas.json names them. */
#ifndef MPK_TEXT_FACTS_H
#define MPK_TEXT_FACTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/span.h"
#include "text/json.h"

/* --- a number that may not be there --------------------------------------------------------- */

/* A figure of a kernel. Not every format has every figure, and a compiler may not know a figure,
 * such as the depth of a recursion. Unknown is not 0, which would pass for the best value. */
enum mpk_figure_state { MPK_FIGURE_NONE, MPK_FIGURE_KNOWN, MPK_FIGURE_UNKNOWN };

/* Packed, in nine bytes: a file may have tens of thousands of kernels, each with all figures. */
struct mpk_figure_value {
	enum mpk_figure_state state : 8;
	uint64_t number; /* 0 unless it is known */
} __attribute__((packed));

/* mpk_figure_of - a known value
 * mpk_figure_told - a value that is known if the file states it */
static inline struct mpk_figure_value mpk_figure_of(uint64_t number)
{
	return (struct mpk_figure_value){ MPK_FIGURE_KNOWN, number };
}

static inline struct mpk_figure_value mpk_figure_told(bool told, uint64_t number)
{
	return told ? mpk_figure_of(number) : (struct mpk_figure_value){ MPK_FIGURE_UNKNOWN, 0 };
}

/* mpk_figure_json - put a value: a number; null if it is unknown; no member if the kernel has
 * none */
void mpk_figure_json(struct mpk_json *j, struct mpk_json_at *at, const char *key,
		     struct mpk_figure_value value);

/* --- rows -------------------------------------------------------------------------------------- */

enum mpk_fact_kind {
	MPK_FACT_BOOL,
	MPK_FACT_COUNT, /* an unsigned integer */
	/* an unsigned integer; null where all its bits are set: the file does not state it */
	MPK_FACT_TOLD,
	MPK_FACT_I64,          /* int64_t */
	MPK_FACT_I64_IF,       /* an int64_t; no member for INT64_MIN: unknown */
	MPK_FACT_F64,          /* double */
	MPK_FACT_TEXT,         /* const char *, never NULL */
	MPK_FACT_TEXT_OR_NULL, /* const char *; null for NULL */
	MPK_FACT_NAME_OR_NULL, /* const char *; null for NULL and the empty text */
	MPK_FACT_SPAN,
	MPK_FACT_SPAN_OR_NULL, /* struct mpk_span; null if it is empty */
	MPK_FACT_SPAN_IF,      /* struct mpk_span; no member if it is empty */
	MPK_FACT_SHA256,       /* uint8_t[32], in hexadecimal digits */
	MPK_FACT_XYZ,          /* uint32_t[3]; null where the first is 0: unknown */
	/* uint32_t x, written as [x, 1, 1], where only the number of threads is known; null for
	 * 0 */
	MPK_FACT_X,
	MPK_FACT_WORDS, /* an enum or a bool, written as a word */
	MPK_FACT_GET,   /* the result of a function */
};

struct mpk_fact {
	const char *key; /* NULL: not written to JSON; only mpk_fact_number reads it */
	enum mpk_fact_kind kind;
	unsigned off, bytes;      /* offset and size of the member in the struct */
	const char *const *words; /* words of MPK_FACT_WORDS, by value */
	struct mpk_figure_value (*get)(const void *of);
	unsigned tag; /* a number that the table's owner chose for this row; 0: none */
};

/* MPK_FACT(kind, key, type, member[, about]) - a row; the compiler refuses a member of another type than the kind's
 * MPK_FACT_WORDS(key, type, member, words[, about]) - words: a table of them, static in the same file, or public
 * MPK_FACT_GET(key, get[, about])
 *
 * about describes the member in the schema, where its name does not, and is for scripts/schemas alone. All of them in
 * braces, where `.tag = n` may follow. */
#define MPK_FACT(kind_, key_, type, ...)                                                           \
	MPK_FACT_AT(kind_, key_, type, MPK_FACT_FIRST(__VA_ARGS__, 0), MPK_FACT_IS_##kind_)
#define MPK_FACT_WORDS(key_, type, member, ...)                                                    \
	MPK_FACT_AT(WORDS, key_, type, member, MPK_FACT_IS_ANY),                                   \
		.words = MPK_FACT_FIRST(__VA_ARGS__, 0)
#define MPK_FACT_GET(key_, ...)                                                                    \
	.key = (key_), .kind = MPK_FACT_GET, .get = MPK_FACT_FIRST(__VA_ARGS__, 0)
#define MPK_FACT_AT(kind_, key_, type, member, is)                                                 \
	.key = (key_), .kind = MPK_FACT_##kind_, .bytes = sizeof(((type *)0)->member),             \
	.off = offsetof(type, member) + (size_t)0 * is(((type *)0)->member)
#define MPK_FACT_FIRST(first, ...) first

/* MPK_FACTS(table) - a table as the two arguments of the functions below */
#define MPK_FACTS(table) (table), MPK_ARRAY_COUNT(table)

/* 1 if the member has the type that mpk_facts_json reads there; otherwise it does not compile. */
#define MPK_FACT_IS_ANY(x) 0
#define MPK_FACT_IS_BOOL(x) _Generic((x), bool: 1)
#define MPK_FACT_IS_COUNT(x)                                                                       \
	_Generic((x),                                                                              \
		unsigned char: 1,                                                                  \
		unsigned short: 1,                                                                 \
		unsigned: 1,                                                                       \
		unsigned long: 1,                                                                  \
		unsigned long long: 1)
#define MPK_FACT_IS_TOLD(x) MPK_FACT_IS_COUNT(x)
#define MPK_FACT_IS_I64(x) _Generic((x), int64_t: 1)
#define MPK_FACT_IS_I64_IF(x) MPK_FACT_IS_I64(x)
#define MPK_FACT_IS_F64(x) _Generic((x), double: 1)
#define MPK_FACT_IS_TEXT(x) _Generic((x), const char *: 1, char *: 1)
#define MPK_FACT_IS_TEXT_OR_NULL(x) MPK_FACT_IS_TEXT(x)
#define MPK_FACT_IS_NAME_OR_NULL(x) MPK_FACT_IS_TEXT(x)
#define MPK_FACT_IS_SPAN(x) _Generic((x), struct mpk_span: 1)
#define MPK_FACT_IS_SPAN_OR_NULL(x) MPK_FACT_IS_SPAN(x)
#define MPK_FACT_IS_SPAN_IF(x) MPK_FACT_IS_SPAN(x)
#define MPK_FACT_IS_SHA256(x) _Generic(&(x), uint8_t(*)[32]: 1, const uint8_t(*)[32]: 1)
#define MPK_FACT_IS_XYZ(x) _Generic(&(x), uint32_t(*)[3]: 1, const uint32_t(*)[3]: 1)

#define MPK_FACT_IS_X(x) _Generic((x), uint32_t: 1)

/* mpk_fact_number - the number of a row of kind COUNT, TOLD or GET */
struct mpk_figure_value mpk_fact_number(const struct mpk_fact *fact, const void *of);

/* mpk_facts_json - put the members of a struct
 * @of      the struct that the rows describe */
void mpk_facts_json(const struct mpk_fact *facts, size_t count, const void *of, struct mpk_json *j,
		    struct mpk_json_at *at);

/* mpk_facts_json_list - put an array of objects
 * @items   count structs of `bytes` bytes each */
void mpk_facts_json_list(const struct mpk_fact *facts, size_t fact_count, const char *key,
			 const void *items, size_t count, size_t bytes, struct mpk_json *j,
			 struct mpk_json_at *at);

#endif
