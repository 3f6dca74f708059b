/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "elf/extend.h"
#include "emit/internal/build.h"

enum mpk_code mpk_build_file_open(struct mpk_build *b, const char *path, struct mpk_build_file *out,
				  struct mpk_error *err)
{
	MPK_TRY(mpk_mapping_open(path, &out->map, err));
	out->rope = mpk_rope_of(b->arena);
	mpk_rope_put_view(&out->rope, out->map.bytes);
	out->packed = (struct mpk_packed){ .rope = &out->rope, .blob = b->e->blob };
	return mpk_rope_status(&out->rope, err);
}

enum mpk_code mpk_build_file_patch(struct mpk_build *b, struct mpk_span keep,
				   struct mpk_build_file *f, struct mpk_error *err)
{
	MPK_TRY(mpk_private_open(&f->map, keep, &f->data, err));
	f->rope = mpk_rope_of(b->arena);
	f->packed.file = &f->data;
	return MPK_OK;
}

enum mpk_code mpk_build_file_extend(struct mpk_build *b, const char *path,
				    struct mpk_build_file *out, struct mpk_error *err)
{
	MPK_TRY(mpk_build_file_open(b, path, out, err));
	MPK_TRY(mpk_build_file_patch(b, mpk_span_of(NULL, 0), out, err));
	MPK_TRY(mpk_packed_note(out->map.bytes, b->symbol, b->id, b->arena, &out->packed.note,
				err));
	return mpk_elf_extend(&out->data, b->symbol, b->e->blob, &out->rope, err);
}

void mpk_build_file_close(struct mpk_build_file *f)
{
	mpk_private_close(&f->map, &f->data);
	mpk_mapping_close(&f->map);
	memset(f, 0, sizeof *f);
}
