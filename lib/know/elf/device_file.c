/* SPDX-License-Identifier: Apache-2.0 */
/* device_file.c - code for GPUs in a file of its own as an image: no blob, no function, one container or several
 *
 * Compilers write such files (a cubin, PTX, a code object, SPIR-V), and so do those that gather them (a fatbin, an
 * offload bundle). As an image each is what a section of a library holds, so that every answer which knows the GPU code
 * of a library knows these files. Only headers are read here: a fatbin may be gigabytes. */
#include <stdio.h>
#include <stdlib.h>

#include "code/target.h"
#include "elf/internal/elf.h"
#include "fatbin/fatbin.h"
#include "offload/offload.h"

bool mpk_file_is_device(struct mpk_span bytes)
{
	return mpk_code_format_of(bytes)->is_file;
}

static void free_items(struct mpk_image_device **items)
{
	free(*items);
}

/* Images by themselves have no length but that of the file. */
static bool begins_with_container(struct mpk_span bytes)
{
	return mpk_fatbin_is(bytes) || mpk_offload_is(bytes) || mpk_offload_is_packed(bytes);
}

/* Containers may follow one another, as they do in a section. What is no container, or one without images, is taken
 * whole. */
static enum mpk_code list_containers(struct mpk_span bytes, uint64_t off, struct mpk_arena *arena,
				     struct mpk_image *image, struct mpk_error *err)
{
	const struct mpk_image_device whole = { .section = MPK_DEVICE_FILE,
						.bytes = bytes,
						.off = off };
	MPK_CLEANUP(free_items) struct mpk_image_device *items = NULL;
	size_t count = 0, cap = 0;

	if (begins_with_container(bytes))
		MPK_TRY(mpk_device_code_split(bytes, off, MPK_DEVICE_FILE, &items, &count, &cap,
					      err));
	image->device_count = count ? count : 1;
	image->devices = mpk_arena_keep(arena, count ? items : &whole, image->device_count,
					sizeof *image->devices);
	return image->devices ? MPK_OK : mpk_fail_nomem(err);
}

enum mpk_code mpk_device_file_check(const struct mpk_image *image, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_image_device *d = &image->devices[0];
	const struct mpk_code_target *targets;
	size_t count;
	enum mpk_code code = mpk_code_targets(d->bytes, &scratch, &targets, &count, err);

	if (code == MPK_E_CORRUPT && err && err->at.has_offset) {
		(void)snprintf(err->at.space, sizeof err->at.space, "file");
		err->at.offset += d->off;
	}
	return code;
}

static enum mpk_code read_device_file(enum mpk_file_format format, struct mpk_span bytes,
				      uint64_t off, const enum mpk_generation *gen,
				      struct mpk_arena *arena, struct mpk_image *image,
				      struct mpk_error *err)
{
	(void)gen;
	*image = (struct mpk_image){
		.container = MPK_CONTAINER_DEVICE,
		.format = format,
		.bytes = bytes,
		.bytes_off = off,
		.gen = MPK_GEN_CURRENT,
		.prefix = "",
	};
	return list_containers(bytes, off, arena, image, err);
}

const struct mpk_image_reader mpk_device_images = { read_device_file };
