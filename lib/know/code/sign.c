/* SPDX-License-Identifier: Apache-2.0 */
/* sign.c - what recognisers are written with
 *
 * Apart from recognise.c, which knows the table of rows: an application that recognises CUDA code links this and no
 * reader of the other formats.
 */
#include "code/format.h"

#include <string.h>

enum { BEGINNING = 65536 }; /* bytes */

static struct mpk_span beginning(struct mpk_span s)
{
	return mpk_span_of(s.data, s.len < BEGINNING ? s.len : BEGINNING);
}

bool mpk_code_is_text(struct mpk_span bytes)
{
	/* a terminator, or padding; a large file of zeros is not looked through for its end */
	while (bytes.len && bytes.len <= BEGINNING && bytes.data[bytes.len - 1] == '\0')
		bytes.len--;
	bytes = beginning(bytes);
	for (size_t i = 0; i < bytes.len; i++)
		if (bytes.data[i] < ' ' && (bytes.data[i] < '\t' || bytes.data[i] > '\r'))
			return false;
	return bytes.len > 0;
}

bool mpk_code_has_word(struct mpk_span bytes, const char *word)
{
	struct mpk_span s = beginning(bytes);

	return s.len && memmem(s.data, s.len, word, strlen(word));
}

bool mpk_code_has_sign(const struct mpk_code_format *f, struct mpk_span bytes)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(f->magics) && f->magics[i]; i++)
		if (mpk_span_starts(bytes, f->magics[i]))
			return true;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(f->words) && f->words[i]; i++)
		if (mpk_code_has_word(bytes, f->words[i]))
			return true;
	return f->is && f->is(bytes);
}
