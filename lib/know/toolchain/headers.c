/* SPDX-License-Identifier: Apache-2.0 */
/* headers.c - which files compilers read besides the sources that they were given
 *
 * A compiler writes what it read as a rule for make: "lib0.o: glue.c glue.h \", names with blanks and some others
 * escaped. GCC and Clang escape alike (GCC manual, -MD; Clang, DependencyFile.cpp). */
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "io/mapping.h"
#include "toolchain/toolchain.h"

struct headers_reader {
	const char *folder; /* names of generated sources, which belong to nobody */
	struct mpk_arena *arena;
	struct mpk_strmap known;
	const char **items; /* from malloc */
	size_t count, cap;
};

/* Returns how many bytes of a name are here, and which byte they mean; 0: the name ends. */
static size_t next_byte(struct mpk_span s, size_t at, char *out)
{
	uint8_t c = s.data[at], next = at + 1 < s.len ? s.data[at + 1] : '\n';

	*out = (char)c;
	if (c <= ' ')
		return 0;
	if (c == '$' && next == '$')
		return 2;
	/* "\\" before a blank or "#" escapes it; at the end of a line it continues the rule;
	 * elsewhere it is a backslash. */
	if (c == '\\' && (next == ' ' || next == '#')) {
		*out = (char)next;
		return 2;
	}
	return c == '\\' && (next == '\n' || next == '\r') ? 0 : 1;
}

static bool skip_blanks(struct mpk_span s, size_t *at)
{
	while (*at < s.len &&
	       (s.data[*at] <= ' ' || (s.data[*at] == '\\' && *at + 1 < s.len &&
				       s.data[*at + 1] <= ' ' && s.data[*at + 1] != ' ')))
		++*at;
	return *at < s.len;
}

static enum mpk_code add_header(struct headers_reader *r, struct mpk_span name,
				struct mpk_error *err)
{
	size_t folder = strlen(r->folder);
	const char *path;

	if (mpk_span_starts(name, r->folder) && name.len > folder && name.data[folder] == '/')
		return MPK_OK;
	if (mpk_strmap_find(&r->known, name, NULL))
		return MPK_OK;
	path = mpk_arena_text(r->arena, name);
	MPK_TRY_ALLOC(path && mpk_strmap_put(&r->known, mpk_span_str(path), 0, NULL) >= 0 &&
			      MPK_VEC_ROOM(r->items, r->count, r->cap),
		      err);
	r->items[r->count++] = path;
	return MPK_OK;
}

/* Reads the names after the first colon that a blank follows. */
static enum mpk_code read_rule(struct headers_reader *r, struct mpk_span rule,
			       struct mpk_error *err)
{
	bool is_target = true;

	for (size_t at = 0; skip_blanks(rule, &at);) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 };
		size_t len;
		char c;

		while (at < rule.len && (len = next_byte(rule, at, &c))) {
			mpk_strbuf_putc(&name, c);
			at += len;
		}
		MPK_TRY(mpk_strbuf_status(&name, err));
		if (!name.len)
			at++; /* a backslash alone */
		else if (is_target)
			is_target = name.data[name.len - 1] != ':';
		else
			MPK_TRY(add_header(r, mpk_span_of(name.data, name.len), err));
	}
	return MPK_OK;
}

static enum mpk_code read_rules(struct headers_reader *r, size_t count, struct mpk_error *err)
{
	for (size_t i = 0; i < count; i++) {
		MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { .fd = -1 };
		const char *path = mpk_arena_printf(r->arena, "%s/lib%zu.d", r->folder, i);
		enum mpk_code code;

		MPK_TRY_ALLOC(path, err);
		code = mpk_mapping_open(path, &map, err);
		/* objects and LLVM IR have none */
		if (code == MPK_E_IO)
			continue;
		MPK_TRY(code);
		MPK_TRY(read_rule(r, map.bytes, err));
	}
	return MPK_OK;
}

enum mpk_code mpk_headers_read(const char *scratch, size_t source_count, struct mpk_arena *arena,
			       struct mpk_words *out, struct mpk_error *err)
{
	struct headers_reader r = { .folder = scratch, .arena = arena };
	enum mpk_code code = read_rules(&r, source_count, err);
	const char **items = mpk_arena_keep(arena, r.items, r.count, sizeof *items);

	*out = (struct mpk_words){ items, items ? r.count : 0 };
	free(r.items);
	mpk_strmap_fini(&r.known);
	if (code == MPK_OK && !items)
		return mpk_fail_nomem(err);
	return code;
}
