/* SPDX-License-Identifier: Apache-2.0 */
/* toml.c - the parser's interface in C, and what it leaves open
 *
 * The parser (parser.cc) is C++ and nothing else is: it is linked into mpack, and opened by
 * minspect only where cases are read. It trusts its caller with the length of dotted keys and with
 * the escaping of what its messages quote; both are seen to here.
 */
#include "toml/toml.h"

#include <dlfcn.h>
#include <string.h>

#include "text/escape.h"

/* A value takes two bytes of a file and some hundreds of memory. */
enum { KEY_PARTS_MAX = 64, VALUES_MIN = 180000, BYTES_PER_VALUE = 8 };

static void *alloc_in_arena(void *context, size_t size)
{
	return mpk_arena_alloc(context, size);
}

static void unescape_backslashes(char *text)
{
	for (char *from = text; (*text = *from); text++, from++)
		from += from[0] == '\\' && from[1] == '\\';
}

/* The length of the string or comment that begins at s; 0 when none does. What is wrong in
 * it is the parser's business. */
static size_t opaque_length(struct mpk_span s)
{
	const char *text = (const char *)s.data;
	char quote = text[0];
	bool tripled = s.len >= 3 && text[1] == quote && text[2] == quote;
	size_t quotes = 0, want = tripled ? 3 : 1, i = want;

	if (quote == '#') {
		const char *end = memchr(text, '\n', s.len);
		return end ? (size_t)(end - text) : s.len;
	}
	if (quote != '"' && quote != '\'')
		return 0;
	for (; i < s.len && quotes < want; i++) {
		if (!tripled && text[i] == '\n')
			break;
		quotes = text[i] == quote ? quotes + 1 : 0;
		i += quote == '"' && text[i] == '\\';
	}
	return i < s.len ? i : s.len;
}

/* The parser recurses once for each part of a dotted key, and takes as much memory as values ask for, which
 * nothing in it bounds. Signs outside of strings are counted: every value and every part of a key has one.
 * Returns  what is too much, or NULL; *line is where it is then */
static const char *find_excess(struct mpk_span text, uint32_t *line)
{
	static const char ends[] = "\n=,[{"; /* of keys */
	size_t dots = 0, signs = 0;
	size_t most = text.len / BYTES_PER_VALUE;
	bool begins_line = true;

	most = most > VALUES_MIN ? most : VALUES_MIN;
	*line = 1;
	for (size_t i = 0; text.data && i < text.len;) {
		struct mpk_span rest = mpk_span_of(text.data + i, text.len - i);
		size_t skip = opaque_length(rest);

		for (size_t k = 0; k < skip; k++)
			*line += rest.data[k] == '\n';
		i += skip;
		if (skip)
			continue;
		*line += rest.data[0] == '\n';
		if (memchr(ends, rest.data[0], sizeof ends - 1))
			dots = 0;
		if (rest.data[0] == '.' && ++dots >= KEY_PARTS_MAX)
			return "a key of more than 64 parts";
		/* a table under a header of its own takes twice as much */
		signs += memchr("=,[{.", rest.data[0], 5) != NULL;
		signs += rest.data[0] == '[' && begins_line;
		begins_line = rest.data[0] == '\n' ||
			      (begins_line && (rest.data[0] == ' ' || rest.data[0] == '\t'));
		if (signs > most)
			return "more values, tables and parts of keys than a file of this size may have: 180000, or one in 8 bytes";
		i++;
	}
	return NULL;
}

enum mpk_code mpk_toml_parse_by(mpk_toml_parser *parser, struct mpk_span text,
				struct mpk_arena *arena, struct mpk_toml *out,
				struct mpk_error *err)
{
	const struct mpk_toml_memory memory = { .alloc = alloc_in_arena, .context = arena };
	const char *bytes = text.data ? (const char *)text.data : "";
	struct mpk_toml_fault fault = { 0 };
	char escaped[sizeof fault.text];
	uint32_t line;
	const char *excess = find_excess(text, &line);

	if (excess)
		return mpk_fail_line(err, MPK_E_SYNTAX, line, 1, "%s", excess);
	switch (parser(bytes, text.len, &memory, out, &fault)) {
	case MPK_TOML_PARSED:
		return MPK_OK;
	case MPK_TOML_NO_MEMORY:
		return mpk_fail_nomem(err);
	case MPK_TOML_INVALID:
		break;
	}
	/* the parser escapes what it quotes, and only that has backslashes */
	mpk_escape_to(mpk_span_str(fault.text), escaped, sizeof escaped);
	unescape_backslashes(escaped);
	return mpk_fail_line(err, MPK_E_SYNTAX, fault.pos.line, fault.pos.column, "%s", escaped);
}

enum mpk_code mpk_toml_open(const char *path, mpk_toml_parser **out, struct mpk_error *err)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	mpk_toml_parser *parser = NULL;

	if (handle)
		*(void **)&parser = dlsym(handle, "mpk_toml_parse_bytes");
	if (!parser)
		return mpk_fail(
			err, MPK_E_LOAD,
			"cannot load the TOML parser, which is installed with this program: %s",
			MPK_QUOTE(mpk_span_str(dlerror())));
	*out = parser;
	return MPK_OK;
}

const struct mpk_toml_entry *mpk_toml_find(const struct mpk_toml *table, const char *key)
{
	for (size_t i = 0; i < table->count; i++)
		if (mpk_span_is(mpk_toml_key(&table->entries[i]), key))
			return &table->entries[i];
	return NULL;
}

const char *mpk_toml_type_name(enum mpk_toml_type type)
{
	static const char *const names[] = {
		[MPK_TOML_STRING] = "a string",
		[MPK_TOML_INTEGER] = "an integer",
		[MPK_TOML_FLOAT] = "a floating-point number",
		[MPK_TOML_BOOLEAN] = "true or false",
		[MPK_TOML_DATETIME] = "a date and time",
		[MPK_TOML_LOCAL_DATETIME] = "a date and time",
		[MPK_TOML_DATE] = "a date",
		[MPK_TOML_TIME] = "a time",
		[MPK_TOML_ARRAY] = "an array",
		[MPK_TOML_TABLE] = "a table",
	};

	return names[type];
}
