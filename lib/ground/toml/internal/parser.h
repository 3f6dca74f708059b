/* SPDX-License-Identifier: Apache-2.0 */
/* parser.h - the interface between the TOML parser, in C++, and the rest, in C
 *
 * Plain structures and one function. Both languages read this header, so it includes no header of
 * the project. Use it through toml/toml.h. */
#ifndef MPK_TOML_INTERNAL_PARSER_H
#define MPK_TOML_INTERNAL_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mpk_pos {
	uint32_t line, column; /* 1-based, columns in characters; 0: no position */
};

enum mpk_toml_type {
	MPK_TOML_STRING,
	MPK_TOML_INTEGER,
	MPK_TOML_FLOAT,
	MPK_TOML_BOOLEAN,
	MPK_TOML_DATETIME, /* date and time with an offset from UTC */
	MPK_TOML_LOCAL_DATETIME,
	MPK_TOML_DATE,
	MPK_TOML_TIME,
	MPK_TOML_ARRAY,
	MPK_TOML_TABLE,
};

/* One value and its content. */
struct mpk_toml {
	enum mpk_toml_type type;
	struct mpk_pos pos;
	/* strings: UTF-8, may contain NUL; dates and times: valid, as RFC 3339; NUL-terminated */
	const char *text;
	size_t len; /* bytes of text */
	union {     /* selected by the type */
		int64_t integer;
		double number;
		bool boolean;
	};
	/* tables: in the order of the file; arrays: keys are NULL */
	struct mpk_toml_entry *entries;
	size_t count;
};

struct mpk_toml_entry {
	const char *key; /* UTF-8, NUL-terminated */
	size_t key_len;
	struct mpk_pos pos; /* of the key */
	struct mpk_toml value;
};

/* Allocates all nodes: zeroed bytes, or NULL when memory is out. */
struct mpk_toml_memory {
	void *(*alloc)(void *context, size_t size);
	void *context;
};

struct mpk_toml_fault {
	struct mpk_pos pos;
	char text[512];
};

enum mpk_toml_status { MPK_TOML_PARSED, MPK_TOML_INVALID, MPK_TOML_NO_MEMORY };

enum { MPK_TOML_DEPTH_MAX = 256 }; /* deepest nesting of tables and arrays */

typedef enum mpk_toml_status mpk_toml_parser(const char *text, size_t len,
					     const struct mpk_toml_memory *memory,
					     struct mpk_toml *out, struct mpk_toml_fault *fault);

/* mpk_toml_parse_bytes - parse TOML 1.0; throws no exception
 * Also the only symbol of libexec/minspect/toml.so, because minspect must not link C++.
 * @out     the root table; set when MPK_TOML_PARSED is returned
 * @fault   position and sentence; set when MPK_TOML_INVALID is returned */
__attribute__((visibility("default"))) mpk_toml_parser mpk_toml_parse_bytes;

#ifdef __cplusplus
}
#endif

#endif
