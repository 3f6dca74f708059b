/* SPDX-License-Identifier: Apache-2.0 */
/* phrase.c - parts that many messages share: a count with its noun, a list cut after a few names,
 * a word quoted for a shell, so that printed commands can be pasted; and the natural order of
 * names. */
#include "text/phrase.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "text/escape.h"

void mpk_put_number(struct mpk_strbuf *out, uint64_t n)
{
	if (n >= 1000) {
		mpk_put_number(out, n / 1000);
		mpk_strbuf_printf(out, ",%03u", (unsigned)(n % 1000));
	} else {
		mpk_strbuf_printf(out, "%u", (unsigned)n);
	}
}

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

/* Names come from files, so they are escaped; a message with a thousand of them helps
 * nobody. */
void mpk_put_names(struct mpk_strbuf *out, const struct mpk_span *names, size_t count)
{
	for (size_t i = 0; i < count && i < MPK_NAMES_SHOWN; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		mpk_escape(out, names[i]);
	}
	mpk_put_more(out, count);
}

/* Plain characters mean nothing to any shell in any word but a command's first. The exception is
 * '=' at the beginning, which zsh replaces by the path of a command. */
static bool shell_is_plain(struct mpk_span word)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+./:,@%=";

	for (size_t i = 0; i < word.len; i++)
		if (!memchr(plain, word.data[i], sizeof plain - 1))
			return false;
	return word.len > 0 && word.data[0] != '=';
}

/* Quotes cannot show these characters; printf can. */
static bool shell_is_control(uint8_t c)
{
	return (c < 0x20 && c != '\n') || c == 0x7f;
}

void mpk_shell_quote(struct mpk_strbuf *out, struct mpk_span word)
{
	if (shell_is_plain(word)) {
		mpk_strbuf_put_span(out, word);
		return;
	}
	mpk_strbuf_putc(out, '\'');
	for (size_t i = 0; i < word.len; i++) {
		uint8_t c = word.data[i];

		if (c == '\'')
			mpk_strbuf_puts(out, "'\\''");
		else if (shell_is_control(c))
			mpk_strbuf_printf(out, "'\"$(printf '\\%03o')\"'", c);
		else
			mpk_strbuf_putc(out, (char)c);
	}
	mpk_strbuf_putc(out, '\'');
}

void mpk_put_word(struct mpk_strbuf *out, struct mpk_span word)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf safe = { 0 };

	mpk_escape(&safe, word);
	mpk_shell_quote(out, mpk_span_of(safe.data, safe.len));
	out->failed |= safe.failed;
}

/* --- the order in which people list names --- */

/* Compares bytes whatever the locale is, so that output has one order everywhere. Names that
 * differ only in zeros ("k2", "k02") are compared by strcmp, so that only equal names compare
 * equal. */

static size_t count_digits(const char *text)
{
	size_t n = 0;

	while (mpk_is_digit(text[n]))
		n++;
	return n;
}

/* Compares two numbers without leading zeros: the longer one is larger. */
static int compare_numbers(const char **a, const char **b)
{
	*a += strspn(*a, "0");
	*b += strspn(*b, "0");

	size_t n = count_digits(*a), m = count_digits(*b);
	int order = n != m ? (n < m ? -1 : 1) : strncmp(*a, *b, n);

	*a += n;
	*b += m;
	return order;
}

/* Digits on both sides are compared as numbers, everything else byte by byte. */
int mpk_natural_compare(const char *a, const char *b)
{
	const char *x, *y;
	size_t same = 0;

	/* Skip the common prefix, but compare a number from its first digit: paths of modules may
	 * share a thousand parts. */
	while (a[same] && a[same] == b[same])
		same++;
	while (same && mpk_is_digit(a[same - 1]))
		same--;
	x = a + same;
	y = b + same;
	while (*x && *y) {
		int order;

		if (mpk_is_digit(*x) && mpk_is_digit(*y)) {
			order = compare_numbers(&x, &y);
		} else {
			order = (unsigned char)*x - (unsigned char)*y;
			x++;
			y++;
		}
		if (order)
			return order;
	}
	if (*x || *y)
		return *x ? 1 : -1;
	return strcmp(a, b);
}
