/* SPDX-License-Identifier: Apache-2.0 */
/* jansson keeps the document; here stand the rules that all documents share: no number that a
 * reader would round, no string that is not UTF-8, no failure that is reported twice. */
#include "text/json.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "text/escape.h"

/* The largest integer up to which every one is exact in an IEEE double. */
#define EXACT_MAX ((int64_t)1 << 53)

/* Whether value, whose reference goes over in any case, is in the document now. */
static bool put(struct mpk_json *j, json_t *at, const char *key, json_t *value)
{
	int rc = -1;

	if (at && value)
		rc = key ? json_object_set_new_nocheck(at, key, value)
			 : json_array_append_new(at, value);
	else
		json_decref(value);
	if (rc != 0)
		j->failed = true;
	return rc == 0;
}

void mpk_json_init(struct mpk_json *j, int schema_version)
{
	*j = (struct mpk_json){ .root = json_object() };
	j->failed = !j->root;
	if (schema_version)
		mpk_json_i64(j, j->root, "schema_version", schema_version);
}

void mpk_json_fini(struct mpk_json *j)
{
	json_decref(j->root);
	j->root = NULL;
}

static json_t *put_container(struct mpk_json *j, json_t *at, const char *key, json_t *value)
{
	return put(j, at, key, value) ? value : NULL;
}

struct json_t *mpk_json_object(struct mpk_json *j, struct json_t *at, const char *key)
{
	return at ? put_container(j, at, key, json_object()) : NULL;
}

struct json_t *mpk_json_array(struct mpk_json *j, struct json_t *at, const char *key)
{
	return at ? put_container(j, at, key, json_array()) : NULL;
}

void mpk_json_u64(struct mpk_json *j, struct json_t *at, const char *key, uint64_t v)
{
	char digits[24];

	if (v <= (uint64_t)EXACT_MAX) {
		(void)put(j, at, key, json_integer((json_int_t)v));
		return;
	}
	(void)snprintf(digits, sizeof digits, "%" PRIu64, v);
	(void)put(j, at, key, json_string(digits));
}

void mpk_json_i64(struct mpk_json *j, struct json_t *at, const char *key, int64_t v)
{
	char digits[24];

	if (v <= EXACT_MAX && v >= -EXACT_MAX) {
		(void)put(j, at, key, json_integer((json_int_t)v));
		return;
	}
	(void)snprintf(digits, sizeof digits, "%" PRId64, v);
	(void)put(j, at, key, json_string(digits));
}

void mpk_json_f64(struct mpk_json *j, struct json_t *at, const char *key, double v)
{
	if (isfinite(v))
		(void)put(j, at, key, json_real(v));
	else
		(void)put(j, at, key, json_string(isnan(v) ? "nan" : v < 0 ? "-inf" : "inf"));
}

void mpk_json_bool(struct mpk_json *j, struct json_t *at, const char *key, bool v)
{
	(void)put(j, at, key, json_boolean(v));
}

void mpk_json_null(struct mpk_json *j, struct json_t *at, const char *key)
{
	(void)put(j, at, key, json_null());
}

void mpk_json_span(struct mpk_json *j, struct json_t *at, const char *key, struct mpk_span s)
{
	const char *text = s.len ? (const char *)s.data : "";
	struct mpk_strbuf escaped = { 0 };
	/* json_stringn refuses what is not UTF-8, and only that or memory can be wrong */
	json_t *value = json_stringn(text, s.len);

	if (!value) {
		mpk_escape(&escaped, s);
		value = json_string(mpk_strbuf_text(&escaped));
		j->failed |= escaped.failed;
	}
	(void)put(j, at, key, value);
	mpk_strbuf_fini(&escaped);
}

void mpk_json_text(struct mpk_json *j, struct json_t *at, const char *key, const char *text)
{
	if (text)
		mpk_json_span(j, at, key, mpk_span_str(text));
	else
		mpk_json_null(j, at, key);
}

void mpk_json_spans(struct mpk_json *j, struct json_t *at, const char *key,
		    const struct mpk_span *items, size_t count)
{
	struct json_t *list = mpk_json_array(j, at, key);

	for (size_t i = 0; i < count; i++)
		mpk_json_span(j, list, NULL, items[i]);
}

void mpk_json_i64s(struct mpk_json *j, struct json_t *at, const char *key, const int64_t *items,
		   size_t count)
{
	struct json_t *list = mpk_json_array(j, at, key);

	for (size_t i = 0; i < count; i++)
		mpk_json_i64(j, list, NULL, items[i]);
}

void mpk_json_printf(struct mpk_json *j, struct json_t *at, const char *key, const char *fmt, ...)
{
	char text[64];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	mpk_json_text(j, at, key, text);
}

void mpk_json_error(struct mpk_json *j, struct json_t *at, const char *key,
		    const struct mpk_error *error)
{
	json_t *o = mpk_json_object(j, at, key);

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

static int append(const char *data, size_t len, void *out)
{
	mpk_escape_document(out, mpk_span_of(data, len));
	return 0;
}

enum mpk_code mpk_json_print(const struct mpk_json *j, struct mpk_strbuf *out,
			     struct mpk_error *err)
{
	if (j->failed || json_dump_callback(j->root, append, out, JSON_INDENT(2)) != 0)
		return mpk_fail_nomem(err);
	mpk_strbuf_putc(out, '\n');
	return mpk_strbuf_status(out, err);
}

/* The tokenizer of HTML knows nothing of strings: "</script" ends the element wherever it stands, and
 * "<!--" with "<script" hides its end. Both need a '<', which JSON has within strings alone. The two
 * line ends of Unicode are none to JSON, but were to JavaScript. */
static int append_script(const char *data, size_t len, void *out)
{
	static const char ends[] = "\xe2\x80"; /* U+2028 and U+2029 begin so */
	size_t from = 0;

	for (size_t i = 0; i < len; i++) {
		const char *as = NULL;
		size_t taken = 1;

		if (data[i] == '<') {
			as = "\\u003c";
		} else if (len - i >= 3 && memcmp(data + i, ends, 2) == 0 &&
			   (data[i + 2] == '\xa8' || data[i + 2] == '\xa9')) {
			as = data[i + 2] == '\xa8' ? "\\u2028" : "\\u2029";
			taken = 3;
		}
		if (!as)
			continue;
		mpk_escape_document(out, mpk_span_of(data + from, i - from));
		mpk_strbuf_puts(out, as);
		i += taken - 1;
		from = i + 1;
	}
	mpk_escape_document(out, mpk_span_of(data + from, len - from));
	return 0;
}

enum mpk_code mpk_json_print_script(const struct mpk_json *j, struct mpk_strbuf *out,
				    struct mpk_error *err)
{
	if (j->failed || json_dump_callback(j->root, append_script, out, JSON_COMPACT) != 0)
		return mpk_fail_nomem(err);
	return mpk_strbuf_status(out, err);
}

/* json_dumps would lose parts of the text without an error where there is no memory for them; a
 * strbuf remembers. */
static int append_ascii(const char *data, size_t len, void *out)
{
	mpk_strbuf_put(out, data, len);
	return 0;
}

enum mpk_code mpk_json_line(const struct mpk_json *j, struct mpk_strbuf *out, struct mpk_error *err)
{
	if (j->failed ||
	    json_dump_callback(j->root, append_ascii, out, JSON_COMPACT | JSON_ENSURE_ASCII) != 0)
		return mpk_fail_nomem(err);
	return mpk_strbuf_status(out, err);
}

void mpk_json_take(struct mpk_json *j, struct json_t *at, const char *key, struct mpk_strbuf *text)
{
	j->failed |= text->failed;
	mpk_json_text(j, at, key, mpk_strbuf_text(text));
	mpk_strbuf_fini(text);
}
