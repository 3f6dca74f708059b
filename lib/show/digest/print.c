/* SPDX-License-Identifier: Apache-2.0 */
/* print.c - digests as text, as sha256sum prints them, and as JSON */
#include "digest/digest.h"

#include "text/escape.h"

static void put_digest(struct mpk_strbuf *out, const uint8_t digest[MPK_DIGEST_BYTES])
{
	char text[MPK_DIGEST_TEXT];

	mpk_strbuf_puts(out, mpk_digest_print(digest, MPK_DIGEST_BYTES, text));
}

/* "HEX  /1 kernel add (sm_90)" */
static void digest_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_code_digests *d = what;

	(void)style;
	put_digest(out, d->digest);
	mpk_strbuf_puts(out, "  " MPK_CANON_NAME "  ");
	mpk_escape(out, mpk_span_str(d->name));
	mpk_strbuf_putc(out, '\n');
	for (size_t i = 0; i < d->count; i++) {
		const struct mpk_code_digest *row = &d->items[i];

		put_digest(out, row->digest);
		mpk_strbuf_printf(out, "  %s%s%s", row->path, row->path[0] ? " " : "", row->what);
		if (row->name.len) {
			mpk_strbuf_putc(out, ' ');
			mpk_escape(out, row->name);
		}
		if (row->target[0])
			mpk_strbuf_printf(out, " (%s)", row->target);
		mpk_strbuf_putc(out, '\n');
		mpk_strbuf_pass(out);
	}
}

static void digest_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_code_digests *d = what;
	char text[MPK_DIGEST_TEXT];
	struct mpk_json_at *list, *o;

	mpk_json_text(j, at, "file", d->name);
	mpk_json_text(j, at, "algorithm", MPK_CANON_NAME);
	mpk_json_text(j, at, "digest", mpk_digest_print(d->digest, MPK_DIGEST_BYTES, text));
	list = mpk_json_array(j, at, "parts");
	for (size_t i = 0; i < d->count; i++) {
		const struct mpk_code_digest *row = &d->items[i];

		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "path", row->path[0] ? row->path : NULL);
		mpk_json_text(j, o, "what", row->what);
		if (row->name.len)
			mpk_json_span(j, o, "name", row->name);
		else
			mpk_json_null(j, o, "name");
		mpk_json_text(j, o, "target", row->target[0] ? row->target : NULL);
		mpk_json_text(j, o, "digest",
			      mpk_digest_print(row->digest, MPK_DIGEST_BYTES, text));
	}
}

const struct mpk_answer mpk_answer_code_digest = { .text = digest_text, .json = digest_json };
