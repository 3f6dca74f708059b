/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_wasm - WebAssembly objects and modules, and a blob among their data */
#include "elf/image.h"
#include "fuzz.h"
#include "object/object.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_object object;
	struct mpk_image image;

	if (!mpk_wasm_reader.is(bytes))
		return;
	(void)!mpk_wasm_reader.read(bytes, arena, &object, NULL);
	(void)!mpk_image_open(bytes, NULL, arena, &image, NULL);
}
