#include <string.h>

#include "elf/replace.h"
#include "emit/build.h"

enum mpk_code mpk_build_base(struct mpk_build *b, struct mpk_error *err)
{
	struct mpk_grown g = { 0 };
	struct mpk_rope rope = mpk_rope_of(b->arena);
	enum mpk_code code = mpk_build_grow(b, b->e->base, false, &g, err);

	b->e->hooks->step(b->e->hooks->data, "replacing the blob of the base library");
	if (code == MPK_OK)
		code = mpk_elf_replace(g.file, g.len, b->symbol, b->e->blob, b->arena, &rope, err);
	if (code == MPK_OK)
		code = mpk_build_write(b, &rope, 0777, err);
	else
		mpk_error_at_file(err, b->e->base);
	mpk_build_unmap(&g);
	return code;
}
