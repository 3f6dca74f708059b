/* SPDX-License-Identifier: Apache-2.0 */
/* view.h - a file as minspect opens it, for targets that look at whole files */
#ifndef MPK_TESTS_FUZZ_VIEW_H
#define MPK_TESTS_FUZZ_VIEW_H

#include "elf/image.h"
#include "fuzz.h"
#include "model/view.h"

/* What is open: everything lives in the arena. */
struct fuzz_file {
	struct mpk_image image;
	struct mpk_tree tree;
	struct mpk_view view;
};

/* fuzz_file_open - whether the bytes are a file that minspect looks into */
static inline bool fuzz_file_open(struct mpk_span bytes, struct mpk_arena *arena,
				  struct fuzz_file *out)
{
	if (mpk_image_open(bytes, NULL, arena, &out->image, NULL) != MPK_OK)
		return false;
	if (out->image.has_blob &&
	    mpk_blob_read(out->image.blob, out->image.gen, arena, &out->tree, NULL) != MPK_OK)
		return false;
	return mpk_view_init(&out->view, "x", bytes.len, &out->image,
			     out->image.has_blob ? &out->tree : NULL, arena, NULL) == MPK_OK;
}

#endif
