/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "elf/image.h"
#include "elf/replace.h"
#include "emit/internal/build.h"
#include "io/reader.h"

/* The loader that a standalone library brings knows where every kernel is in its blob. */
static enum mpk_code check_standalone(struct mpk_build *b, const struct mpk_image *image,
				      struct mpk_error *err)
{
	struct mpk_span now;

	MPK_TRY(mpk_rope_load(b->e->blob, b->arena, &now, err));
	if (image->blob.len >= now.len && memcmp(image->blob.data, now.data, now.len) == 0)
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_UNSUPPORTED,
		"this library loads its kernels itself, from positions in its blob that its code knows: another blob cannot be put in; build it from its sources");
}

/* The base's own name of the blob, which has a prefix when it was made for a system library.
 * @blob    receives the bytes of the old one, where they are known */
static enum mpk_code find_symbol(struct mpk_build *b, struct mpk_span file, const char **symbol,
				 struct mpk_span *blob, struct mpk_error *err)
{
	struct mpk_image image;
	enum mpk_code code = mpk_image_open(file, NULL, b->arena, &image, err);

	*symbol = b->symbol;
	if (code == MPK_E_NOMEM)
		return code;
	if (code != MPK_OK || !image.has_blob || image.gen != b->e->gen)
		return MPK_OK;
	if (image.standalone)
		MPK_TRY(check_standalone(b, &image, err));
	if (!*b->e->prefix && image.standalone == (b->e->symbol != NULL))
		*symbol = image.blob_symbol;
	*blob = image.is_packed ? *blob : image.blob;
	return MPK_OK;
}

static enum mpk_code replace(struct mpk_build *b, struct mpk_build_file *f, struct mpk_error *err)
{
	struct mpk_span blob = { 0 };
	const char *symbol = NULL;

	MPK_TRY(mpk_build_file_open(b, b->e->base, f, err));
	MPK_TRY(find_symbol(b, f->map.bytes, &symbol, &blob, err));
	MPK_TRY(mpk_build_file_patch(b, blob, f, err));
	MPK_TRY(mpk_packed_note(f->map.bytes, symbol, NULL, b->arena, &f->packed.note, err));
	/* it is not what was signed any more, nor what was built from those inputs */
	MPK_TRY(mpk_origin_void(&f->data, NULL, err));
	return mpk_elf_replace(&f->data, symbol, b->e->blob, b->arena, &f->rope, err);
}

enum mpk_code mpk_build_base(struct mpk_build *b, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_build_file_close) struct mpk_build_file f = { 0 };

	b->e->hooks->step(b->e->hooks->data, "replacing the blob of the base library");
	mpk_build_settled(b);
	enum mpk_code code = replace(b, &f, err);
	if (code == MPK_OK)
		return mpk_build_write_packed(b, b->e->out, 0777, &f.packed, err);
	mpk_error_at_file(err, b->e->base);
	return code;
}
