#include "text/phrase.h"

#include <inttypes.h>
#include <string.h>

#include "text/escape.h"

void mpk_put_count(struct mpk_strbuf *out, uint64_t n, const char *what)
{
	mpk_strbuf_printf(out, "%" PRIu64 " %s%s", n, what, n == 1 ? "" : "s");
}

void mpk_put_also(struct mpk_strbuf *out, uint64_t n, const char *what)
{
	mpk_strbuf_puts(out, ", ");
	mpk_put_count(out, n, what);
}

void mpk_put_more(struct mpk_strbuf *out, size_t count)
{
	if (count > MPK_NAMES_SHOWN)
		mpk_strbuf_printf(out, " and %zu more", count - MPK_NAMES_SHOWN);
}

void mpk_put_names(struct mpk_strbuf *out, const struct mpk_span *names, size_t count)
{
	for (size_t i = 0; i < count && i < MPK_NAMES_SHOWN; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		mpk_escape(out, names[i]);
	}
	mpk_put_more(out, count);
}

void mpk_put_word(struct mpk_strbuf *out, struct mpk_span word)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:,@%=";
	struct mpk_span left = word;
	bool quote = word.len == 0;

	for (size_t i = 0; i < word.len; i++)
		quote |= !word.data[i] || !strchr(plain, word.data[i]);
	if (!quote) {
		mpk_strbuf_put_span(out, word);
		return;
	}
	mpk_strbuf_putc(out, '\'');
	while (left.len) {
		const uint8_t *end = memchr(left.data, '\'', left.len);
		size_t n = end ? (size_t)(end - left.data) : left.len;

		mpk_escape(out, mpk_span_of(left.data, n));
		mpk_strbuf_puts(out, end ? "'\\''" : "");
		left = mpk_span_of(left.data + n + (end != NULL), left.len - n - (end != NULL));
	}
	mpk_strbuf_putc(out, '\'');
}
