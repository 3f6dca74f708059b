/* SPDX-License-Identifier: Apache-2.0 */
/* Small parts of sentences that many messages have: a count with its noun, a list cut off
 * after a few names, a word as a shell takes it. */
#include "text/phrase.h"

#include <inttypes.h>

#include "text/escape.h"
#include "text/shell.h"

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

void mpk_put_word(struct mpk_strbuf *out, struct mpk_span word)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf safe = { 0 };

	mpk_escape(&safe, word);
	mpk_shell_quote(out, mpk_span_of(safe.data, safe.len));
	out->failed |= safe.failed;
}
