/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - writes documents as text without blanks, appending each value: a tree of values takes
 * ten times the memory, and files may have a hundred thousand modules. Rules for all documents are
 * enforced here: no number that a reader would round, no string that is not UTF-8, each failure
 * reported once. */
#include "text/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/escape.h"

/* The largest integer up to which every one is exact in an IEEE double. */
#define EXACT_MAX ((int64_t)1 << 53)

/* An open array or object. Complete ones exist as text only. */
struct mpk_json_at {
	struct mpk_json_at *above;
	bool is_array, has_members;
};

/* --- printing ---------------------------------------------------------------------------------- */

/* Walks over the text of a document once, in pieces if take is set, with or without line breaks
 * and blanks. Pieces end between values, never inside one. */
enum { PIECE_BYTES = 1 << 20 };

/* The depth of elements of a list in the root. */
enum { LIST_DEPTH = 2 };

static void new_line(const struct mpk_json_print *p, struct mpk_strbuf *out)
{
	static const char blanks[] = "                                ";
	size_t left = p->is_long ? 0 : 2 * p->depth;

	if (p->is_long && p->depth > LIST_DEPTH)
		return;

	mpk_strbuf_putc(out, '\n');
	for (size_t n; left; left -= n) {
		n = left < sizeof blanks - 1 ? left : sizeof blanks - 1;
		mpk_strbuf_put(out, blanks, n);
	}
}

/* Our own writer made the text, so brackets and commas outside strings are structure. */
static void json_print_put_lines(struct mpk_json_print *p, struct mpk_span text,
				 struct mpk_strbuf *out)
{
	for (size_t i = 0; i < text.len;) {
		char c = (char)text.data[i];

		if (c == '}' || c == ']') {
			/* An empty array or object has its brackets on one line. */
			p->depth--;
			if (!p->is_empty)
				new_line(p, out);
			p->is_empty = false;
			mpk_strbuf_putc(out, c);

			i++;
			continue;
		}
		if (p->is_empty)
			new_line(p, out);
		p->is_empty = c == '{' || c == '[';
		if (c == '"') {
			/* The string that begins at text[at]; returns its end. */
			size_t end = i + 1;

			while (end < text.len && text.data[end] != '"')
				end += text.data[end] == '\\' ? 2 : 1;
			end = end < text.len ? end + 1 : text.len;
			mpk_escape_document(out, mpk_span_of(text.data + i, end - i));
			i = end;

			continue;
		}
		mpk_strbuf_putc(out, c);
		p->depth += p->is_empty;
		if (c == ',')
			new_line(p, out);
		else if (c == ':' && !p->is_long)
			mpk_strbuf_putc(out, ' ');
		i++;
	}
}

static struct mpk_span json_print_text_of(const struct mpk_strbuf *text)
{
	return mpk_span_of(text->data, text->len);
}

/* Appends the missing closing brackets, innermost first. The document itself stays open: it can be
 * printed while more is added. */
static void json_ends(const struct mpk_json *j, struct mpk_strbuf *out)
{
	for (const struct mpk_json_at *at = j->open; at; at = at->above)
		mpk_strbuf_putc(out, at->is_array ? ']' : '}');
}

typedef void put_fn(struct mpk_json_print *p, struct mpk_span text, struct mpk_strbuf *out);

/* Prints the text so far and closes all open containers. */
/* Calls @put on a copy of the state, so that a document can be printed while it still grows. */
static enum mpk_code text_json_print(const struct mpk_json *j, struct mpk_strbuf *out,
				     struct mpk_error *err, put_fn *put)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf ends = { 0 };
	struct mpk_json_print p = j->print;

	json_ends(j, &ends);
	if (j->failed || j->text.failed || ends.failed)
		return mpk_fail_nomem(err);
	put(&p, json_print_text_of(&j->text), out);
	put(&p, json_print_text_of(&ends), out);
	return mpk_strbuf_status(out, err);
}

/* An HTML parser does not know strings: "</script" ends the element anywhere, and "<!--" with
 * "<script" hides its end. Both contain a '<', which JSON has inside strings only. U+2028 and
 * U+2029 are not line ends in JSON, but were in JavaScript. */
static void put_script(struct mpk_json_print *p, struct mpk_span text, struct mpk_strbuf *out)
{
	static const char ends[] = "\xe2\x80"; /* the first bytes of U+2028 and U+2029 */
	const uint8_t *data = text.data;
	size_t from = 0;

	(void)p;
	for (size_t i = 0; i < text.len; i++) {
		const char *as = NULL;
		size_t taken = 1;

		if (data[i] == '<') {
			as = "\\u003c";
		} else if (text.len - i >= 3 && memcmp(data + i, ends, 2) == 0 &&
			   (data[i + 2] == 0xa8 || data[i + 2] == 0xa9)) {
			as = data[i + 2] == 0xa8 ? "\\u2028" : "\\u2029";
			taken = 3;
		}
		if (!as)
			continue;
		mpk_escape_document(out, mpk_span_of(data + from, i - from));
		mpk_strbuf_puts(out, as);
		i += taken - 1;
		from = i + 1;
	}
	mpk_escape_document(out, mpk_span_of(data + from, text.len - from));
}

enum mpk_code mpk_json_print(const struct mpk_json *j, struct mpk_strbuf *out,
			     struct mpk_error *err)
{
	MPK_TRY(text_json_print(j, out, err, j->in_script ? put_script : json_print_put_lines));
	mpk_strbuf_puts(out, j->in_script ? "" : "\n");
	return mpk_strbuf_status(out, err);
}

/* A character outside of UTF-16's basic plane becomes two units. */
static void put_ascii(struct mpk_json_print *p, struct mpk_span text, struct mpk_strbuf *out)
{
	size_t from = 0;

	(void)p;
	for (size_t i = 0; i < text.len;) {
		uint32_t cp;
		size_t n = text.data[i] < 0x80 ? 0 : mpk_utf8_at(text.data + i, text.len - i, &cp);

		if (n == 0) {
			i++;
			continue;
		}
		mpk_strbuf_put(out, (const char *)text.data + from, i - from);
		if (cp < 0x10000)
			mpk_strbuf_printf(out, "\\u%04X", (unsigned)cp);
		else
			mpk_strbuf_printf(out, "\\u%04X\\u%04X",
					  (unsigned)(0xd800 + ((cp - 0x10000) >> 10)),
					  (unsigned)(0xdc00 + ((cp - 0x10000) & 0x3ff)));
		i += n;
		from = i;
	}
	mpk_strbuf_put(out, (const char *)text.data + from, text.len - from);
}

enum mpk_code mpk_json_line(const struct mpk_json *j, struct mpk_strbuf *out, struct mpk_error *err)
{
	return text_json_print(j, out, err, put_ascii);
}

/* Called between values. Drops the text that was passed on; j->print keeps the depth for the next
 * piece. */
static void json_pass(struct mpk_json *j)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };

	if (!j->take || j->failed || j->text.failed || j->text.len < PIECE_BYTES)
		return;
	(j->in_script ? put_script : json_print_put_lines)(&j->print, json_print_text_of(&j->text),
							   &out);
	j->failed |= out.failed;
	if (!out.failed)
		j->take(mpk_strbuf_text(&out), out.len, j->arg);
	j->print.is_long = true;
	j->text.len = 0;
}

struct mpk_span mpk_json_so_far(const struct mpk_json *j)
{
	return json_print_text_of(&j->text);
}

void mpk_json_stream(struct mpk_json *j, mpk_take_text *take, void *arg)
{
	j->take = take;
	j->arg = arg;
}

/* --- containers ---------------------------------------------------------------------------------- */

static struct mpk_json_at *open_container(struct mpk_json *j, bool is_array)
{
	struct mpk_json_at *at = malloc(sizeof *at);

	if (!at) {
		j->failed = true;
		return NULL;
	}
	*at = (struct mpk_json_at){ .above = j->open, .is_array = is_array };
	mpk_strbuf_putc(&j->text, is_array ? '[' : '{');
	j->open = at;
	return at;
}

static void close_container(struct mpk_json *j)
{
	struct mpk_json_at *at = j->open;

	j->open = at->above;
	free(at);
}

/* Escapes what JSON forbids in a string; control characters beyond ASCII are escaped when
 * printing. */
static void text_json_put_string(struct mpk_strbuf *out, struct mpk_span s)
{
	static const char letters[] = "\"\"\\\\\bb\ff\nn\rr\tt";
	size_t from = 0;

	mpk_strbuf_putc(out, '"');
	for (size_t i = 0; i < s.len; i++) {
		uint8_t c = s.data[i];
		size_t at = 0;

		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		mpk_strbuf_put(out, (const char *)s.data + from, i - from);
		while (letters[at] && letters[at] != (char)c)
			at += 2;
		if (c && letters[at])
			mpk_strbuf_put(out, (char[]){ '\\', letters[at + 1] }, 2);
		else
			mpk_strbuf_printf(out, "\\u%04X", c);
		from = i + 1;
	}
	if (from < s.len) /* an empty span may have no address */
		mpk_strbuf_put(out, (const char *)s.data + from, s.len - from);
	mpk_strbuf_putc(out, '"');
}

/* Makes `at` the innermost open container by closing those within it. Returns false when at is
 * NULL after an earlier failure. */
static bool text_json_begin(struct mpk_json *j, struct mpk_json_at *at, const char *key)
{
	if (!at) {
		j->failed = true;
		return false;
	}
	while (j->open != at) {
		/* at is closed already: a value was put into a container around it. */
		assert(j->open->above);
		mpk_strbuf_putc(&j->text, j->open->is_array ? ']' : '}');
		close_container(j);
	}
	assert(at->is_array == !key);
	json_pass(j);
	if (at->has_members)
		mpk_strbuf_putc(&j->text, ',');
	at->has_members = true;
	if (key) {
		text_json_put_string(&j->text, mpk_span_str(key));
		mpk_strbuf_putc(&j->text, ':');
	}
	return true;
}

void mpk_json_init(struct mpk_json *j, int schema_version)
{
	*j = (struct mpk_json){ .failed = false };
	j->root = open_container(j, false);
	if (schema_version)
		mpk_json_i64(j, j->root, "schema_version", schema_version);
}

void mpk_json_init_list(struct mpk_json *j)
{
	*j = (struct mpk_json){ .failed = false };
	j->root = open_container(j, true);
}

void mpk_json_fini(struct mpk_json *j)
{
	while (j->open)
		close_container(j);
	mpk_strbuf_fini(&j->text);
	j->root = NULL;
}

struct mpk_json_at *mpk_json_object(struct mpk_json *j, struct mpk_json_at *at, const char *key)
{
	return text_json_begin(j, at, key) ? open_container(j, false) : NULL;
}

struct mpk_json_at *mpk_json_array(struct mpk_json *j, struct mpk_json_at *at, const char *key)
{
	return text_json_begin(j, at, key) ? open_container(j, true) : NULL;
}

/* Copies another document's text unchanged, because both follow the same rules. */
void mpk_json_document(struct mpk_json *j, struct mpk_json_at *at, const char *key,
		       const struct mpk_json *document)
{
	j->failed |= document->failed || document->text.failed;
	if (!text_json_begin(j, at, key))
		return;
	mpk_strbuf_put(&j->text, mpk_strbuf_text(&document->text), document->text.len);
	json_ends(document, &j->text);
}

/* --- numbers and words ------------------------------------------------------------------------ */

/* Writes a number that a reader of doubles would round as a string of digits (EXACT_MAX). */
void mpk_json_u64(struct mpk_json *j, struct mpk_json_at *at, const char *key, uint64_t v)
{
	if (text_json_begin(j, at, key))
		mpk_strbuf_printf(&j->text,
				  v <= (uint64_t)EXACT_MAX ? "%" PRIu64 : "\"%" PRIu64 "\"", v);
}

void mpk_json_i64(struct mpk_json *j, struct mpk_json_at *at, const char *key, int64_t v)
{
	bool exact = v <= EXACT_MAX && v >= -EXACT_MAX;

	if (text_json_begin(j, at, key))
		mpk_strbuf_printf(&j->text, exact ? "%" PRId64 : "\"%" PRId64 "\"", v);
}

/* 17 digits distinguish all doubles. The decimal comma of a locale becomes a point, an exponent
 * loses its plus and leading zeros, and a whole number keeps a sign that it is no integer. */
static void put_real(struct mpk_strbuf *out, double v)
{
	char text[40];
	char *exponent, *from;

	(void)snprintf(text, sizeof text, "%.17g", v);
	for (char *p = text; *p; p++)
		if (*p == ',')
			*p = '.';
	exponent = strchr(text, 'e');
	if (!exponent) {
		mpk_strbuf_puts(out, text);
		mpk_strbuf_puts(out, strchr(text, '.') ? "" : ".0");
		return;
	}
	from = exponent + 1;
	mpk_strbuf_put(out, text, (size_t)(from - text));
	mpk_strbuf_puts(out, *from == '-' ? "-" : "");
	from += strspn(from, "+-");
	mpk_strbuf_puts(out, from + strspn(from, "0"));
}

/* JSON has no infinities and no NaN: they are strings. */
void mpk_json_f64(struct mpk_json *j, struct mpk_json_at *at, const char *key, double v)
{
	if (!text_json_begin(j, at, key))
		return;
	if (isfinite(v))
		put_real(&j->text, v);
	else
		mpk_strbuf_puts(&j->text, isnan(v) ? "\"nan\"" : v < 0 ? "\"-inf\"" : "\"inf\"");
}

void mpk_json_bool(struct mpk_json *j, struct mpk_json_at *at, const char *key, bool v)
{
	if (text_json_begin(j, at, key))
		mpk_strbuf_puts(&j->text, v ? "true" : "false");
}

void mpk_json_null(struct mpk_json *j, struct mpk_json_at *at, const char *key)
{
	if (text_json_begin(j, at, key))
		mpk_strbuf_puts(&j->text, "null");
}

/* --- strings ---------------------------------------------------------------------------------- */

/* Bytes that are no UTF-8 become escapes (escape.h), as in all other output: a string of
 * JSON cannot hold them. */
void mpk_json_span(struct mpk_json *j, struct mpk_json_at *at, const char *key, struct mpk_span s)
{
	struct mpk_strbuf escaped = { 0 };

	if (!text_json_begin(j, at, key))
		return;
	if (mpk_utf8_whole(s)) {
		text_json_put_string(&j->text, s);
		return;
	}
	mpk_escape(&escaped, s);
	j->failed |= escaped.failed;
	text_json_put_string(&j->text, mpk_span_of(escaped.data, escaped.len));
	mpk_strbuf_fini(&escaped);
}

void mpk_json_text(struct mpk_json *j, struct mpk_json_at *at, const char *key, const char *text)
{
	if (text)
		mpk_json_span(j, at, key, mpk_span_str(text));
	else
		mpk_json_null(j, at, key);
}

void mpk_json_take(struct mpk_json *j, struct mpk_json_at *at, const char *key,
		   struct mpk_strbuf *text)
{
	j->failed |= text->failed;
	mpk_json_text(j, at, key, mpk_strbuf_text(text));
	mpk_strbuf_fini(text);
}

void mpk_json_printf(struct mpk_json *j, struct mpk_json_at *at, const char *key, const char *fmt,
		     ...)
{
	char text[64];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	mpk_json_text(j, at, key, text);
}

/* --- lists and errors ------------------------------------------------------------------------- */

void mpk_json_spans(struct mpk_json *j, struct mpk_json_at *at, const char *key,
		    const struct mpk_span *items, size_t count)
{
	struct mpk_json_at *list = mpk_json_array(j, at, key);

	for (size_t i = 0; i < count; i++)
		mpk_json_span(j, list, NULL, items[i]);
}

void mpk_json_texts(struct mpk_json *j, struct mpk_json_at *at, const char *key,
		    const char *const *items, size_t count)
{
	struct mpk_json_at *list = mpk_json_array(j, at, key);

	for (size_t i = 0; i < count; i++)
		mpk_json_text(j, list, NULL, items[i]);
}

void mpk_json_i64s(struct mpk_json *j, struct mpk_json_at *at, const char *key,
		   const int64_t *items, size_t count)
{
	struct mpk_json_at *list = mpk_json_array(j, at, key);

	for (size_t i = 0; i < count; i++)
		mpk_json_i64(j, list, NULL, items[i]);
}

void mpk_json_error(struct mpk_json *j, struct mpk_json_at *at, const char *key,
		    const struct mpk_error *error)
{
	struct mpk_json_at *o = mpk_json_object(j, at, key);

	mpk_json_text(j, o, "code", mpk_code_name(error->code));
	mpk_json_text(j, o, "message", error->text);
	if (error->at.file[0])
		mpk_json_text(j, o, "file", error->at.file);
	if (error->at.line)
		mpk_json_u64(j, o, "line", error->at.line);
	if (error->at.column)
		mpk_json_u64(j, o, "column", error->at.column);
	if (error->at.has_offset) {
		mpk_json_text(j, o, "space", error->at.space);
		mpk_json_u64(j, o, "offset", error->at.offset);
	}
	if (error->at.path[0])
		mpk_json_text(j, o, "path", error->at.path);
}
