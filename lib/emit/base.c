#include <string.h>

#include "elf/image.h"
#include "elf/replace.h"
#include "emit/build.h"
#include "io/reader.h"

/* The loader that a standalone library brings holds the place of every kernel in its blob. */
static enum mpk_code check_standalone(struct mpk_build *b, const struct mpk_image *image,
				      struct mpk_error *err)
{
	struct mpk_span now;

	MPK_TRY(mpk_rope_load(b->e->blob, b->arena, &now, err));
	if (image->blob.len >= now.len && memcmp(image->blob.data, now.data, now.len) == 0)
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_UNSUPPORTED,
		"this library loads its kernels itself, from places in its blob that its code knows: another blob cannot be put in; build it from its sources");
}

/* The base's own name of the blob, which has a prefix when it was made for a system library. */
static enum mpk_code find_symbol(struct mpk_build *b, const struct mpk_grown *g,
				 const char **symbol, struct mpk_error *err)
{
	struct mpk_image image;

	*symbol = b->symbol;
	if (mpk_image_open(g->stamped.file, NULL, b->arena, &image, NULL) != MPK_OK ||
	    !image.has_blob || image.gen != b->e->gen)
		return MPK_OK;
	if (image.standalone)
		MPK_TRY(check_standalone(b, &image, err));
	if (!*b->e->prefix && image.standalone == (b->e->symbol != NULL))
		*symbol = image.blob_symbol;
	return MPK_OK;
}

enum mpk_code mpk_build_base(struct mpk_build *b, struct mpk_error *err)
{
	struct mpk_grown g = { 0 };
	struct mpk_rope rope = mpk_rope_of(b->arena);
	const char *symbol = NULL;
	enum mpk_code code = mpk_build_grow(b, b->e->base, false, &g, err);

	b->e->hooks->step(b->e->hooks->data, "replacing the blob of the base library");
	if (code == MPK_OK)
		code = find_symbol(b, &g, &symbol, err);
	if (code == MPK_OK)
		code = mpk_stamped_find(g.stamped.file, symbol, NULL, b->arena, &g.stamped.stamp,
					err);
	if (code == MPK_OK)
		code = mpk_elf_replace(g.file, g.len, symbol, b->e->blob, b->arena, &rope, err);
	g.stamped.rope = &rope;
	if (code == MPK_OK)
		code = mpk_build_write_stamped(b, b->e->out, 0777, &g.stamped, err);
	else
		mpk_error_at_file(err, b->e->base);
	mpk_build_unmap(&g);
	return code;
}
