/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_image - any bytes as a file that a user names: library, object, archive, export, source
 *
 * What opens is looked at as every action does: signatures of host functions, embedded code, the
 * module tree. */
#include <stdint.h>

#include "base/compiler.h"
#include "elf/image.h"
#include "view/embedded.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mpk_arena arena MPK_CLEANUP(mpk_arena_fini) = { 0 };
	struct mpk_strbuf out MPK_CLEANUP(mpk_strbuf_fini) = { 0 };
	struct mpk_style style = { 0 };
	struct mpk_image image;
	struct mpk_tree tree;
	struct mpk_view view;
	const struct mpk_tree *t = NULL;

	if (mpk_image_open(mpk_span_of(data, size), NULL, &arena, &image, NULL) != MPK_OK)
		return 0;
	if (image.has_blob) {
		if (mpk_blob_read(image.blob, image.gen, &arena, &tree, NULL) != MPK_OK)
			return 0;
		t = &tree;
	}
	if (mpk_view_init(&view, "a", size, &image, t, &arena, NULL) != MPK_OK)
		return 0;
	mpk_view_summary(&view, style, &out);
	return 0;
}
