/* SPDX-License-Identifier: Apache-2.0 */
/* images.h - makes fatbins from single files, and replaces images in containers of GPU code
 *
 * Files may be all that a driver or a runtime loads: cubins and PTX for CUDA, code objects for
 * AMD's GPUs. */
#ifndef MPK_PACKAGE_IMAGES_H
#define MPK_PACKAGE_IMAGES_H

#include "base/arena.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "elf/image.h"
#include "io/mapping.h"

/* A file of GPU code, borrowed. */
struct mpk_image_file {
	const char *name; /* for messages */
	struct mpk_span bytes;
	/* for mpk_images_replace: the image to replace, such as ".hip_fatbin:0" and "gfx90a:xnack+" */
	const char *container, *target;
};

/* mpk_images_join - make a fatbin with one image for each cubin or PTX file, in the order of the
 * files; images of a fatbin among them are added unchanged
 * @out     borrows the bytes
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: a file of another kind; MPK_E_CONFLICT: two images for the
 *          same architecture; MPK_E_CORRUPT and errors of readers; MPK_E_RANGE; MPK_E_NOMEM; with
 *          the file's name */
enum mpk_code mpk_images_join(const struct mpk_image_file *files, size_t count,
			      struct mpk_rope *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_images_replace - replace images in the containers of a file: fatbins and Clang's bundles,
 * compressed or not
 * The rest of a container does not change, and a compressed image is compressed in the same way. In
 * a library the host code and runtimes have the container's address, so the new container must fit
 * there; remaining bytes are zeroed. A file that consists of one container may change its length.
 * @image   image of the file itself, not of unpacked data
 * @file    bytes of the file, which are changed
 * @files   the new images; each must be for exactly the architecture of the image that it replaces
 * @out     receives the file if its length changes, borrowing from file; else nothing
 * Returns  MPK_OK; MPK_E_USAGE: no such container, or not exactly one image for a target in it;
 *          MPK_E_UNSUPPORTED: a container of another kind; MPK_E_CONFLICT: a file is for another
 *          architecture; MPK_E_RANGE: it does not fit; MPK_E_CORRUPT and errors of readers;
 *          MPK_E_NOMEM */
enum mpk_code mpk_images_replace(const struct mpk_image *image, const struct mpk_private *file,
				 const struct mpk_image_file *files, size_t count,
				 struct mpk_rope *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
