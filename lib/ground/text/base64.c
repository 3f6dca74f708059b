/* SPDX-License-Identifier: Apache-2.0 */
/* Strict in reading: a text has one value and a value one text, so that two spellings of one key do not
 * pass for two keys. */
#include "text/base64.h"

#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void mpk_base64_put(struct mpk_strbuf *out, struct mpk_span bytes)
{
	for (size_t i = 0; i < bytes.len; i += 3) {
		size_t left = bytes.len - i;
		uint32_t group = (uint32_t)bytes.data[i] << 16;
		char text[4];

		group |= left > 1 ? (uint32_t)bytes.data[i + 1] << 8 : 0;
		group |= left > 2 ? (uint32_t)bytes.data[i + 2] : 0;
		for (unsigned k = 0; k < 4; k++)
			text[k] = k <= left ? alphabet[group >> (18 - 6 * k) & 63] : '=';
		mpk_strbuf_put(out, text, sizeof text);
	}
}

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool mpk_base64_read(struct mpk_span text, uint8_t *out, size_t room, size_t *len)
{
	uint32_t bits = 0; /* not yet given out; the lowest `held` of them count */
	unsigned held = 0;
	size_t characters = 0, padding = 0, count = 0;

	for (size_t i = 0; i < text.len; i++) {
		uint8_t c = text.data[i];
		const char *at = c ? strchr(alphabet, c) : NULL;

		if (is_blank(c))
			continue;
		characters++;
		padding += c == '=';
		if (c == '=' && padding <= 2)
			continue;
		if (!at || padding)
			return false;
		bits = bits << 6 | (uint32_t)(at - alphabet);
		held += 6;
		if (held < 8)
			continue;
		held -= 8;
		if (count == room)
			return false;
		out[count++] = (uint8_t)(bits >> held);
		bits &= (1U << held) - 1;
	}
	*len = count;
	return characters % 4 == 0 && bits == 0 && padding == (3 - count % 3) % 3;
}
