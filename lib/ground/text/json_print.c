/* SPDX-License-Identifier: Apache-2.0 */
/* How a document looks: its text is gone through once, in pieces when somebody takes them, and set with lines
 * and blanks or without. Pieces end between values, never within one. */
#include <string.h>

#include "text/escape.h"
#include "text/json.h"

enum { PIECE_BYTES = 1 << 20 };

/* --- lines that are indented ------------------------------------------------------------------ */

static void new_line(const struct mpk_json_print *p, struct mpk_strbuf *out)
{
	static const char blanks[] = "                                ";
	size_t left = 2 * p->depth;

	mpk_strbuf_putc(out, '\n');
	for (size_t n; left; left -= n) {
		n = left < sizeof blanks - 1 ? left : sizeof blanks - 1;
		mpk_strbuf_put(out, blanks, n);
	}
}

/* The string that begins at text[at]; returns where it ends. */
static size_t json_print_put_string(struct mpk_span text, size_t at, struct mpk_strbuf *out)
{
	size_t end = at + 1;

	while (end < text.len && text.data[end] != '"')
		end += text.data[end] == '\\' ? 2 : 1;
	end = end < text.len ? end + 1 : text.len;
	mpk_escape_document(out, mpk_span_of(text.data + at, end - at));
	return end;
}

/* An empty array or object has its brackets on one line. */
static void put_close(struct mpk_json_print *p, char c, struct mpk_strbuf *out)
{
	p->depth--;
	if (!p->is_empty)
		new_line(p, out);
	p->is_empty = false;
	mpk_strbuf_putc(out, c);
}

/* The text is our own writer's: brackets and commas outside of strings are structure,
 * whatever else is there. */
static void json_print_put_lines(struct mpk_json_print *p, struct mpk_span text,
				 struct mpk_strbuf *out)
{
	for (size_t i = 0; i < text.len;) {
		char c = (char)text.data[i];

		if (c == '}' || c == ']') {
			put_close(p, c, out);
			i++;
			continue;
		}
		if (p->is_empty)
			new_line(p, out);
		p->is_empty = c == '{' || c == '[';
		if (c == '"') {
			i = json_print_put_string(text, i, out);
			continue;
		}
		mpk_strbuf_putc(out, c);
		p->depth += p->is_empty;
		if (c == ',')
			new_line(p, out);
		else if (c == ':')
			mpk_strbuf_putc(out, ' ');
		i++;
	}
}

static struct mpk_span json_print_text_of(const struct mpk_strbuf *text)
{
	return mpk_span_of(text->data, text->len);
}

typedef void put_fn(struct mpk_json_print *p, struct mpk_span text, struct mpk_strbuf *out);

/* What is there so far, and the ends of all that is open. */
/* @put is called on a copy of the state, so that a document can be printed while it still
 * grows. */
static enum mpk_code text_json_print(const struct mpk_json *j, struct mpk_strbuf *out,
				     struct mpk_error *err, put_fn *put)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf ends = { 0 };
	struct mpk_json_print p = j->print;

	mpk_json_ends(j, &ends);
	if (j->failed || j->text.failed || ends.failed)
		return mpk_fail_nomem(err);
	put(&p, json_print_text_of(&j->text), out);
	put(&p, json_print_text_of(&ends), out);
	return mpk_strbuf_status(out, err);
}

enum mpk_code mpk_json_print(const struct mpk_json *j, struct mpk_strbuf *out,
			     struct mpk_error *err)
{
	MPK_TRY(text_json_print(j, out, err, json_print_put_lines));
	mpk_strbuf_putc(out, '\n');
	return mpk_strbuf_status(out, err);
}

/* --- on one line ------------------------------------------------------------------------------ */

/* The tokenizer of HTML knows nothing of strings: "</script" ends the element anywhere, and
 * "<!--" with "<script" hides its end. Both need a '<', which JSON has within strings alone. The two
 * line ends of Unicode are none to JSON, but were to JavaScript. */
static void put_script(struct mpk_json_print *p, struct mpk_span text, struct mpk_strbuf *out)
{
	static const char ends[] = "\xe2\x80"; /* U+2028 and U+2029 begin so */
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

enum mpk_code mpk_json_print_script(const struct mpk_json *j, struct mpk_strbuf *out,
				    struct mpk_error *err)
{
	return text_json_print(j, out, err, put_script);
}

/* What UTF-16 has no unit of its own for is two. */
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

/* --- pieces ----------------------------------------------------------------------------------- */

/* Called between values. What was passed is forgotten; the depth stays in j->print for the
 * next piece. */
static void pass(struct mpk_json *j, put_fn *put)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };

	if (j->failed || j->text.failed || j->text.len < PIECE_BYTES)
		return;
	put(&j->print, json_print_text_of(&j->text), &out);
	j->failed |= out.failed;
	if (!out.failed)
		j->take(mpk_strbuf_text(&out), out.len, j->arg);
	j->text.len = 0;
}

static void pass_lines(struct mpk_json *j)
{
	pass(j, json_print_put_lines);
}

static void pass_script(struct mpk_json *j)
{
	pass(j, put_script);
}

void mpk_json_stream(struct mpk_json *j, mpk_take_text *take, void *arg)
{
	j->pass = pass_lines;
	j->take = take;
	j->arg = arg;
}

void mpk_json_stream_script(struct mpk_json *j, mpk_take_text *take, void *arg)
{
	mpk_json_stream(j, take, arg);
	j->pass = pass_script;
}
