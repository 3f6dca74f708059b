/* SPDX-License-Identifier: Apache-2.0 */
/* toml.h - TOML text as a tree in which every key and every value knows its position */
#ifndef MPK_TOML_TOML_H
#define MPK_TOML_TOML_H

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "toml/internal/parser.h"

/* mpk_toml_parse - TOML 1.0 text as a tree
 * @text    whole document, UTF-8; need not outlive the call
 * @arena   receives the tree
 * @out     the root table
 * Returns  MPK_OK; MPK_E_SYNTAX with line and column; MPK_E_NOMEM */
enum mpk_code mpk_toml_parse(struct mpk_span text, struct mpk_arena *arena, struct mpk_toml *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_toml_parse_by - the same by a parser that the caller found (mpk_toml_open) */
enum mpk_code mpk_toml_parse_by(mpk_toml_parser *parser, struct mpk_span text,
				struct mpk_arena *arena, struct mpk_toml *out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_toml_open - the parser in the shared object at path; it stays open
 * Returns  MPK_OK; MPK_E_LOAD with the loader's reason */
enum mpk_code mpk_toml_open(const char *path, mpk_toml_parser **out,
			    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_toml_find - the entry with this key, or NULL */
const struct mpk_toml_entry *mpk_toml_find(const struct mpk_toml *table, const char *key);

/* mpk_toml_type_name - "a string", "an array", ...: static text for messages */
const char *mpk_toml_type_name(enum mpk_toml_type type);

static inline struct mpk_span mpk_toml_text(const struct mpk_toml *v)
{
	return mpk_span_of(v->text, v->len);
}

static inline struct mpk_span mpk_toml_key(const struct mpk_toml_entry *e)
{
	return mpk_span_of(e->key, e->key_len);
}

#endif
