/* SPDX-License-Identifier: Apache-2.0 */
/* images.h - code for several GPUs in one piece: a fatbin of single files, and other images in a container
 *
 * Both take what a driver or a runtime takes: cubins and PTX for CUDA, code objects for AMD's GPUs. */
#ifndef MPK_PACKAGE_IMAGES_H
#define MPK_PACKAGE_IMAGES_H

#include "base/arena.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "elf/image.h"
#include "io/mapping.h"

/* A file of code, borrowed. */
struct mpk_image_file {
	const char *name; /* for messages */
	struct mpk_span bytes;
	/* mpk_images_replace: what it replaces, ".hip_fatbin:0" and "gfx90a:xnack+" */
	const char *container, *target;
};

/* mpk_images_join - a fatbin: one image a cubin or PTX file, in the order of the files; those of a fatbin as they are
 * in it
 * @out     borrows the bytes
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: a file is none of these; MPK_E_CONFLICT: two images are for one architecture;
 *          MPK_E_CORRUPT and what readers find; MPK_E_RANGE; MPK_E_NOMEM; with the file's name */
enum mpk_code mpk_images_join(const struct mpk_image_file *files, size_t count,
			      struct mpk_rope *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_images_replace - a file with other images in its containers of GPU code: fatbins and bundles of Clang, compressed or
 * not
 * All else of a container stays, and an image that was packed is packed the same way. In a library host code and runtimes
 * know where it is: it must fit there, and what is left of its room is zeroed. A file that is one container is as long
 * as that.
 * @image   of the file, none that was unpacked
 * @file    its bytes, which are changed
 * @files   the new images; each is for the very architecture of the image that it replaces
 * @out     receives the file where it has another length, borrowing from file; else nothing
 * Returns  MPK_OK; MPK_E_USAGE: there is no such container, no image for a target in it, or several; MPK_E_UNSUPPORTED: a
 *          container of another kind; MPK_E_CONFLICT: a file is for another architecture; MPK_E_RANGE: it does not fit;
 *          MPK_E_CORRUPT and what readers find; MPK_E_NOMEM */
enum mpk_code mpk_images_replace(const struct mpk_image *image, const struct mpk_private *file,
				 const struct mpk_image_file *files, size_t count,
				 struct mpk_rope *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
