/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_show - one part of a file by a name: up to the first NUL the input is what follows --show, then
 * comes the file. Also the code that --disasm hands to a disassembler, with its names and lines. */
#include <string.h>

#include "view.h"

#include "elf/code.h"
#include "part/part.h"

enum { NAME_MAX_BYTES = 64, FUNCTIONS = 8, ADDRESSES = 16 };

static void read_function(struct mpk_code_file *f, const struct mpk_code_function *fn,
			  struct mpk_arena *arena, struct mpk_strbuf *out)
{
	const struct mpk_dwarf_row *rows;
	size_t count;

	fuzz_touch(fn->bytes);
	(void)!mpk_code_file_lines(f, fn, arena, &rows, &count, NULL);
	for (size_t i = 0; i < fn->bytes.len && i < ADDRESSES; i++) {
		(void)mpk_code_file_put_name(f, fn->section, fn->address + i, out);
		(void)mpk_code_file_is_data(f, fn->section, fn->address + i);
		(void)mpk_code_file_put_relocation(f, fn->section, fn->address + i, 4, out);
	}
}

static void read_code(const struct mpk_image *image, struct mpk_arena *arena,
		      struct mpk_strbuf *out)
{
	struct mpk_code_file f = { 0 };
	struct mpk_span names[FUNCTIONS];

	if (mpk_code_file_open(image->bytes, image->format, arena, &f, NULL) == MPK_OK) {
		size_t count = mpk_code_file_symbols(&f, names, FUNCTIONS);

		for (size_t i = 0; i < count; i++) {
			const char *symbol = mpk_arena_text(arena, names[i]);
			struct mpk_code_function fn;

			if (symbol && mpk_code_file_find(&f, symbol, &fn))
				read_function(&f, &fn, arena, out);
		}
	}
	mpk_code_file_close(&f);
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
	const uint8_t *end =
		bytes.len ? memchr(bytes.data, 0,
				   bytes.len < NAME_MAX_BYTES ? bytes.len : NAME_MAX_BYTES)
			  : NULL;
	struct mpk_rope content;
	struct fuzz_file file;
	struct mpk_span rest, flat;

	if (!end)
		return;
	rest = mpk_span_of(end + 1, bytes.len - (size_t)(end + 1 - bytes.data));
	if (!fuzz_file_open(rest, arena, &file))
		return;
	for (int raw = 0; raw < 2; raw++)
		if (mpk_part_find(&file.view, (const char *)bytes.data, raw, arena, &content,
				  NULL) == MPK_OK &&
		    mpk_rope_flat(&content, &flat, NULL) == MPK_OK)
			fuzz_touch(flat);
	read_code(&file.image, arena, &out);
}
