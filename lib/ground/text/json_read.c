/* SPDX-License-Identifier: Apache-2.0 */
/* json_read.c - checks a JSON document, and finds values in a checked one
 *
 * Only mpk_json_read handles untrusted bytes; it keeps one bit for each open array or object, so
 * that depth costs no stack. All other functions rely on its having accepted the document. */
#include "text/json_read.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "text/escape.h"

struct parser {
	const uint8_t *at, *end;
	const char *fault; /* what is wrong at this position; NULL: nothing so far */
	unsigned depth;
	/* one bit per level: 1 for an object, 0 for an array */
	uint64_t objects[MPK_JSON_DEPTH_MAX / 64];
};

static bool json_read_fail(struct parser *p, const char *fault)
{
	p->fault = fault;
	return false;
}

static bool is_space(uint8_t c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static void skip_space(struct parser *p)
{
	while (p->at < p->end && is_space(*p->at))
		p->at++;
}

static bool json_read_take(struct parser *p, char c)
{
	if (p->at == p->end || *p->at != (uint8_t)c)
		return false;
	p->at++;
	return true;
}

/* --- strings ------------------------------------------------------------------------------ */

static int hex_value(uint8_t c)
{
	if (mpk_is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads four hexadecimal digits; returns more than 0xffff when there are none. */
static uint32_t read_hex4(const uint8_t *at, const uint8_t *end)
{
	uint32_t v = 0;

	if (end - at < 4)
		return UINT32_MAX;
	for (int i = 0; i < 4; i++) {
		int digit = hex_value(at[i]);

		if (digit < 0)
			return UINT32_MAX;
		v = v << 4 | (uint32_t)digit;
	}
	return v;
}

/* The character of a "\u", its digits at *at. Two surrogates are one character.
 * Returns  false: no digits, NUL, half of a pair */
static bool read_unicode(const uint8_t **at, const uint8_t *end, uint32_t *cp)
{
	uint32_t high = read_hex4(*at, end), low;

	if (high == 0 || high > 0xffff || (high >= 0xdc00 && high <= 0xdfff))
		return false;
	*at += 4;
	*cp = high;
	if (high < 0xd800 || high > 0xdbff)
		return true;
	if (end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u')
		return false;
	low = read_hex4(*at + 2, end);
	if (low < 0xdc00 || low > 0xdfff)
		return false;
	*at += 6;
	*cp = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
	return true;
}

/* One character of a string, after a backslash.
 * Returns  false: no such escape */
static bool read_escape(const uint8_t **at, const uint8_t *end, uint32_t *cp)
{
	static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	const char *letter;

	if (*at == end || !**at)
		return false;
	if (**at == 'u') {
		++*at;
		return read_unicode(at, end, cp);
	}
	letter = strchr(letters, **at);
	if (!letter)
		return false;
	*cp = (uint8_t)meanings[letter - letters];
	++*at;
	return true;
}

/* Reads a string from after its opening quote to after its closing quote. */
static bool json_read_string(struct parser *p)
{
	uint32_t cp;
	size_t len;

	while (p->at < p->end && *p->at != '"') {
		if (*p->at < 0x20)
			return json_read_fail(p, "a control character in a string");
		if (*p->at == '\\') {
			const uint8_t *at = p->at + 1;

			if (!read_escape(&at, p->end, &cp))
				return json_read_fail(p, "an escape that means nothing");
			p->at = at;
		} else {
			len = *p->at < 0x80 ? 1 : mpk_utf8_at(p->at, (size_t)(p->end - p->at), &cp);
			if (!len)
				return json_read_fail(p, "a byte that is no UTF-8");
			p->at += len;
		}
	}
	return json_read_take(p, '"') || json_read_fail(p, "a string without its end");
}

/* --- the grammar -------------------------------------------------------------------------- */

static bool read_digits(struct parser *p)
{
	const uint8_t *from = p->at;

	while (p->at < p->end && mpk_is_digit(*p->at))
		p->at++;
	return p->at > from || json_read_fail(p, "expected a digit");
}

static bool read_scalar(struct parser *p)
{
	static const char *const words[] = { "null", "true", "false" };
	size_t left = (size_t)(p->end - p->at);

	if (json_read_take(p, '"'))
		return json_read_string(p);
	if (left && (*p->at == '-' || mpk_is_digit(*p->at))) {
		/* RFC 8259: no leading zeros, and at least one digit after a point or an
		 * exponent. */
		(void)json_read_take(p, '-');
		if (!json_read_take(p, '0') && !read_digits(p))
			return false;
		if (json_read_take(p, '.') && !read_digits(p))
			return false;
		if (!json_read_take(p, 'e') && !json_read_take(p, 'E'))
			return true;
		if (!json_read_take(p, '+'))
			(void)json_read_take(p, '-');
		return read_digits(p);
	}
	for (size_t i = 0; i < MPK_ARRAY_COUNT(words); i++) {
		size_t len = strlen(words[i]);

		if (left < len || memcmp(p->at, words[i], len) != 0)
			continue;
		p->at += len;
		return true;
	}
	return json_read_fail(p, "expected a value");
}

/* Depth is bounded by the bits of objects, and costs no stack. */
static bool open_level(struct parser *p, bool object)
{
	unsigned level = p->depth;

	if (level == MPK_JSON_DEPTH_MAX)
		return json_read_fail(p, "nested too deep");
	p->depth++;
	p->objects[level / 64] &= ~(UINT64_C(1) << level % 64);
	p->objects[level / 64] |= (uint64_t)object << level % 64;
	return true;
}

static bool read_key(struct parser *p)
{
	skip_space(p);
	if (!json_read_take(p, '"'))
		return json_read_fail(p, "expected a name in quotes");
	if (!json_read_string(p))
		return false;
	skip_space(p);
	return json_read_take(p, ':') || json_read_fail(p, "expected ':'");
}

/* Reads a scalar, an empty array or object, or the beginning of one up to its first element. */
static bool json_read_value(struct parser *p)
{
	for (;;) {
		bool object;

		skip_space(p);
		object = json_read_take(p, '{');
		if (!object && !json_read_take(p, '['))
			return read_scalar(p);
		if (!open_level(p, object))
			return false;
		skip_space(p);
		if (json_read_take(p, object ? '}' : ']')) {
			p->depth--;
			return true;
		}
		if (object && !read_key(p))
			return false;
	}
}

/* A loop instead of recursion: a file of a million brackets must not end in a crash. */
static bool read_document(struct parser *p)
{
	if (!json_read_value(p))
		return false;
	while (p->depth) {
		unsigned level = p->depth - 1;

		bool object = p->objects[level / 64] >> level % 64 & 1;

		skip_space(p);
		if (json_read_take(p, object ? '}' : ']'))
			p->depth--;
		else if (!json_read_take(p, ','))
			return json_read_fail(p, object ? "expected ',' or '}'"
							: "expected ',' or ']'");
		else if ((object && !read_key(p)) || !json_read_value(p))
			return false;
	}
	skip_space(p);
	return p->at == p->end || json_read_fail(p, "more text after the document");
}

enum mpk_code mpk_json_read(struct mpk_span text, struct mpk_json_value *out, struct mpk_error *err)
{
	uint32_t line = 1, column = 1;

	if (!text.len)
		return mpk_fail_line(err, MPK_E_SYNTAX, 1, 1, "not JSON: there is no text");
	struct parser p = { .at = text.data, .end = text.data + text.len };
	if (read_document(&p)) {
		while (is_space(text.data[0]))
			text = mpk_span_from(text, 1);
		while (is_space(text.data[text.len - 1]))
			text.len--;
		*out = (struct mpk_json_value){ text };
		return MPK_OK;
	}
	for (const uint8_t *at = text.data; at < p.at; at++) {
		line += *at == '\n';
		column = *at == '\n' ? 1 : column + 1;
	}
	return mpk_fail_line(err, MPK_E_SYNTAX, line, column, "not JSON: %s%s", p.fault,
			     p.at == p.end ? ", but the text ends" : "");
}

/* --- values ------------------------------------------------------------------------------- */

enum mpk_json_type mpk_json_value_type(struct mpk_json_value v)
{
	static const enum mpk_json_type types[256] = {
		['{'] = MPK_JSON_OBJECT, ['['] = MPK_JSON_ARRAY,   ['"'] = MPK_JSON_STRING,
		['n'] = MPK_JSON_NULL,   ['t'] = MPK_JSON_BOOLEAN, ['f'] = MPK_JSON_BOOLEAN,
	};
	enum mpk_json_type type = v.text.len ? types[v.text.data[0]] : MPK_JSON_NONE;

	return v.text.len && !type ? MPK_JSON_NUMBER : type;
}

/* Returns the byte after the string whose opening quote is at `at`. */
static const uint8_t *skip_string(const uint8_t *at)
{
	for (at++; *at != '"'; at++)
		at += *at == '\\';
	return at + 1;
}

/* Returns the byte after the value that begins at `at`. */
static const uint8_t *skip_value(const uint8_t *at, const uint8_t *end)
{
	size_t depth = 0;

	do {
		if (*at == '"') {
			at = skip_string(at);
		} else if (*at == '[' || *at == '{') {
			depth++;
			at++;
		} else if (*at == ']' || *at == '}') {
			depth--;
			at++;
		} else if (depth) {
			at++; /* numbers, words, commas, colons, blanks */
		} else {
			while (at < end && !is_space(*at) && !strchr(",]}", *at))
				at++;
		}
	} while (depth);
	return at;
}

static const uint8_t *skip_to(const uint8_t *at, const uint8_t *end)
{
	while (at < end && (is_space(*at) || *at == ',' || *at == ':'))
		at++;
	return at;
}

struct mpk_json_items mpk_json_items(struct mpk_json_value v)
{
	enum mpk_json_type type = mpk_json_value_type(v);
	struct mpk_json_items items = { .in_object = type == MPK_JSON_OBJECT };

	if (type == MPK_JSON_OBJECT || type == MPK_JSON_ARRAY)
		items.rest = mpk_span_from(v.text, 1);
	return items;
}

static struct mpk_json_value json_read_take_value(struct mpk_json_items *items)
{
	const uint8_t *end = items->rest.data + items->rest.len;
	const uint8_t *at = skip_to(items->rest.data, end), *behind;
	struct mpk_json_value v = { { NULL, 0 } };

	if (at == end || *at == ']' || *at == '}') {
		items->rest = mpk_span_of(end, 0);
		return v;
	}
	behind = skip_value(at, end);
	v.text = mpk_span_of(at, (size_t)(behind - at));
	items->rest = mpk_span_of(behind, (size_t)(end - behind));
	return v;
}

bool mpk_json_next(struct mpk_json_items *items, struct mpk_json_value *out)
{
	*out = (struct mpk_json_value){ { NULL, 0 } };
	if (!items->rest.len)
		return false;
	if (items->in_object)
		items->key = json_read_take_value(items);
	*out = json_read_take_value(items);
	return out->text.len > 0;
}

size_t mpk_json_value_count(struct mpk_json_value v)
{
	struct mpk_json_items items = mpk_json_items(v);
	struct mpk_json_value ignored;
	size_t count = 0;

	while (mpk_json_next(&items, &ignored))
		count++;
	return count;
}

struct mpk_json_value mpk_json_value_get(struct mpk_json_value object, const char *name)
{
	struct mpk_json_value v, found = { { NULL, 0 } };
	struct mpk_json_items items = mpk_json_items(object);

	while (items.in_object && mpk_json_next(&items, &v)) {
		if (!mpk_json_value_is(items.key, name))
			continue;
		if (found.text.len)
			return (struct mpk_json_value){ { NULL, 0 } };
		found = v;
	}
	return found;
}

/* --- texts and numbers -------------------------------------------------------------------- */

/* cp as UTF-8, 1 to 4 bytes. */
static size_t put_utf8(uint32_t cp, uint8_t out[4])
{
	if (cp < 0x80) {
		out[0] = (uint8_t)cp;
		return 1;
	}
	size_t len = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;

	for (size_t i = len - 1; i; i--, cp >>= 6)
		out[i] = (uint8_t)(0x80 | (cp & 0x3f));
	out[0] = (uint8_t)(0xf00u >> len | cp);
	return len;
}

/* Decodes the next character of a string to UTF-8. Returns the number of bytes, 1 to 4; 0: the
 * closing quote */
static size_t next_bytes(const uint8_t **at, const uint8_t *end, uint8_t out[4])
{
	uint32_t cp;

	if (**at == '"')
		return 0;
	if (**at != '\\') {
		out[0] = *(*at)++;
		return 1;
	}
	++*at;
	return read_escape(at, end, &cp) ? put_utf8(cp, out) : 0;
}

bool mpk_json_value_is(struct mpk_json_value v, const char *text)
{
	const uint8_t *at, *end;
	uint8_t bytes[4];
	size_t n;

	if (mpk_json_value_type(v) != MPK_JSON_STRING)
		return false;
	at = v.text.data + 1;
	end = v.text.data + v.text.len;
	while ((n = next_bytes(&at, end, bytes)) != 0) {
		if (strncmp(text, (const char *)bytes, n) != 0)
			return false;
		text += n;
	}
	return !*text;
}

enum mpk_code mpk_json_value_text(struct mpk_json_value v, struct mpk_arena *arena,
				  const char **out, struct mpk_error *err)
{
	const uint8_t *at, *end;
	uint8_t bytes[4];
	size_t len = 0, n;
	char *text;

	*out = NULL;
	if (mpk_json_value_type(v) != MPK_JSON_STRING)
		return MPK_OK;
	/* No character is longer than its escape, and there are two quotes, so text.len bytes are
	 * enough. */
	text = mpk_arena_alloc(arena, v.text.len);
	MPK_TRY_ALLOC(text, err);
	at = v.text.data + 1;
	end = v.text.data + v.text.len;
	while ((n = next_bytes(&at, end, bytes)) != 0) {
		memcpy(text + len, bytes, n);
		len += n;
	}
	text[len] = '\0';
	*out = text;
	return MPK_OK;
}

bool mpk_json_value_i64(struct mpk_json_value v, int64_t *out)
{
	int64_t number;

	/* A number that mpk_parse_i64 refuses has a fraction or an exponent. */
	if (mpk_json_value_type(v) != MPK_JSON_NUMBER || !mpk_parse_i64(v.text, &number))
		return false;
	*out = number;
	return true;
}

bool mpk_json_value_f64(struct mpk_json_value v, double *out)
{
	double number;

	if (mpk_json_value_type(v) != MPK_JSON_NUMBER || !mpk_parse_f64(v.text, &number) ||
	    !isfinite(number))
		return false;
	*out = number;
	return true;
}
