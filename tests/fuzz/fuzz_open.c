/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_open - what kind of file any bytes are, and what stands in it, without a look at how it prints: ten
 * times as many runs as fuzz_image has for the readers of ELF */
#include "view.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_image image;

	if (mpk_image_open(bytes, NULL, arena, &image, NULL) != MPK_OK)
		return;
	fuzz_touch(image.bytes);
	if (image.has_blob) {
		fuzz_touch(image.blob);
		fuzz_touch(mpk_image_blob(&image));
	}
	for (size_t i = 0; i < image.embedded_count; i++)
		fuzz_touch(image.embedded[i].bytes);
	for (size_t i = 0; i < image.device_count; i++)
		fuzz_touch(image.devices[i].bytes);
	for (size_t i = 0; i < image.function_count; i++)
		fuzz_touch(mpk_span_str(image.functions[i].name));
}
