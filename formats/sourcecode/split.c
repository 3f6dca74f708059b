/* SPDX-License-Identifier: Apache-2.0 */
#include "sourcecode/sourcecode.h"

/* The offset of the next delimiter from off on, or the length of the text. */
static size_t find_delimiter(struct mpk_span s, size_t off)
{
	const uint8_t *p = memmem(s.data + off, s.len - off, MPK_SOURCE_CODE_DELIMITER,
				  strlen(MPK_SOURCE_CODE_DELIMITER));

	return p ? (size_t)(p - s.data) : s.len;
}

/* The piece whose delimiter stands at off. */
static struct mpk_source_code_piece piece_at(struct mpk_span s, size_t off)
{
	size_t name = off + strlen(MPK_SOURCE_CODE_DELIMITER);
	const uint8_t *newline = memchr(s.data + name, '\n', s.len - name);
	size_t line_end = newline ? (size_t)(newline - s.data) : s.len;
	size_t text = newline ? line_end + 1 : s.len;

	return (struct mpk_source_code_piece){
		.name = mpk_span_of(s.data + name, line_end - name),
		.text = mpk_span_of(s.data + text, find_delimiter(s, text) - text),
		.off = text,
	};
}

enum mpk_code mpk_source_code_split(struct mpk_span bytes, struct mpk_arena *arena,
				    const struct mpk_source_code_piece **pieces, size_t *count,
				    struct mpk_error *err)
{
	struct mpk_source_code_piece *list;
	size_t n = 0, i = 0;

	if (bytes.len)
		for (size_t off = find_delimiter(bytes, 0); off < bytes.len; n++) {
			struct mpk_source_code_piece p = piece_at(bytes, off);

			off = p.off + p.text.len;
		}
	list = mpk_arena_array(arena, n, sizeof *list);
	MPK_TRY_ALLOC(list, err);
	for (size_t off = n ? find_delimiter(bytes, 0) : 0; i < n; i++) {
		list[i] = piece_at(bytes, off);
		off = list[i].off + list[i].text.len;
	}
	*pieces = list;
	*count = n;
	return MPK_OK;
}
