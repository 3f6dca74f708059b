/* SPDX-License-Identifier: Apache-2.0 */
/* Words for a shell: what is printed as a command can be pasted. Control bytes go through
 * printf, as no quotes would show them. */
#include "text/shell.h"

/* Plain are characters that mean nothing to any shell, wherever they stand in a word that is not
 * a command's first; but for '=' at the beginning, which zsh takes for a command's path. */
static bool shell_is_plain(struct mpk_span word)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+./:,@%=";

	for (size_t i = 0; i < word.len; i++)
		if (!memchr(plain, word.data[i], sizeof plain - 1))
			return false;
	return word.len > 0 && word.data[0] != '=';
}

static bool is_control(uint8_t c)
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
		else if (is_control(c))
			mpk_strbuf_printf(out, "'\"$(printf '\\%03o')\"'", c);
		else
			mpk_strbuf_putc(out, (char)c);
	}
	mpk_strbuf_putc(out, '\'');
}
