/* SPDX-License-Identifier: Apache-2.0 */
/* device_code.h - GPU code outside the module tree: images that getters of TVM name, and GPU code
 * of any library
 *
 * Libraries have gigabytes of it. A listing reads only headers; kernel lists read one container at
 * a time and free it before the next.
 */
#ifndef MPK_MODEL_DEVICE_CODE_H
#define MPK_MODEL_DEVICE_CODE_H

#include "base/arena.h"
#include "code/format.h"
#include "code/info.h"
#include "model/view.h"

/* --- code that getters name (elf/elf_image.c) ------------------------------------------------- */

/* The prefix of an image's path, which --replace also takes; the name follows. */
#define MPK_EMBEDDED_PATH "cubin:"

struct mpk_view_code {
	const struct mpk_image_code *at;
	const char *path;          /* "cubin:my_kernels" */
	struct mpk_code_info code; /* its offsets are file offsets */
};

/* Printer of struct mpk_view: one line for each image in short, with its format and place; in full
 * also a line for each kernel, with its figures; "embedded", an array, in JSON */
extern const struct mpk_answer mpk_answer_embedded;

/* mpk_view_embedded_lister - the code that lists the kernels; NULL if they cannot be listed */
const struct mpk_code_info *mpk_view_embedded_lister(const struct mpk_view_code *c);

/* --- GPU code of any library (elf/image.h) ---------------------------------------------------- */

/* All images of one kind for one device. */
struct mpk_device_row {
	const char *target;          /* "sm_90", "gfx90a:xnack+"; not escaped */
	const char *what;            /* "cubin", "PTX", "code object" */
	const char *packing;         /* "stored", "zstd", "several" */
	size_t images;               /* number of images */
	uint64_t bytes, plain_bytes; /* as stored in the file, and unpacked */
};

struct mpk_device_rows {
	const struct mpk_device_row *items; /* in the order of first appearance */
	size_t count;
	/* containers with unreadable headers: in no row; --verify reports each as an error */
	size_t broken;
};

/* mpk_device_targets - read the target devices of a section, a container or a single image from
 * headers
 * @section its name, which tells the device of an image without one
 * Returns  as mpk_code_targets; MPK_E_CORRUPT: neither a container nor an image */
enum mpk_code mpk_device_targets(const char *section, struct mpk_span bytes,
				 struct mpk_arena *arena, const struct mpk_code_target **out,
				 size_t *count, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_rows - count images by device, from headers only
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_device_rows(const struct mpk_view *view, struct mpk_arena *arena,
			      struct mpk_device_rows *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_container - read one container with all its images
 * @arena   receives the result and unpacked bytes
 * Returns  MPK_OK, also if the container cannot be read: its problem says why; MPK_E_NOMEM */
enum mpk_code mpk_device_container(const struct mpk_image_device *d, struct mpk_arena *arena,
				   struct mpk_view_code *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_keep - keep containers that are read from now on, up to a total size of their images.
 * This saves time if all of them are read several times, since unpacking is most of the work
 * mpk_device_forget - free them and keep no more; may be called again
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_device_keep(struct mpk_view *view, uint64_t most_bytes,
			      struct mpk_error *err) MPK_MUST_CHECK;
void mpk_device_forget(struct mpk_view *view);

/* mpk_device_release - free one kept container, which nobody reads any more; nothing if it is not kept */
void mpk_device_release(const struct mpk_view *view, size_t index);

/* mpk_device_borrow - get a container by index: a kept one, else read it into arena as
 * mpk_device_container does
 * @out     valid as long as both arena and the kept containers
 * Returns  as mpk_device_container */
enum mpk_code mpk_device_borrow(const struct mpk_view *view, size_t index, struct mpk_arena *arena,
				const struct mpk_view_code **out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_each - read the containers one after the other
 * @each    is called for each; must copy what it keeps, as the memory is reused. If it fails, the
 *          walk ends.
 * Returns  MPK_OK; MPK_E_NOMEM; what each returns. A container that cannot be read is passed with
 *          its problem. */
enum mpk_code mpk_device_each(const struct mpk_view *view,
			      enum mpk_code (*each)(const struct mpk_view_code *c, void *arg,
						    struct mpk_error *err),
			      void *arg, struct mpk_error *err) MPK_MUST_CHECK;

/* Printer of struct mpk_view: a line for each row in short; in full also each container with its
 * images and kernels; "device_code" in JSON, the containers with their images and kernels */
extern const struct mpk_answer mpk_answer_device_code;

/* mpk_device_rows_json - put the rows as "gpu_code" */
void mpk_device_rows_json(const struct mpk_view *view, struct mpk_json *j, struct mpk_json_at *at);

/* mpk_device_title - the title of a file that consists of code but is not only GPU code: "LLVM
 * bitcode"
 * Returns  NULL if it is GPU code or another file */
const char *mpk_device_title(const struct mpk_image *image);

/* mpk_device_is_input - whether a container is for a device linker and no driver takes it: by its
 * section or by its format (LLVM bitcode, LTO IR)
 * @is_loaded  the section is loaded with a library, which may register it */
bool mpk_device_is_input(const char *section, bool is_loaded, struct mpk_span bytes);

/* mpk_device_path - make the path of a container, ".nv_fatbin:3", escaped, in arena; NULL if memory
 * is out */
const char *mpk_device_path(const struct mpk_image_device *d, struct mpk_arena *arena);

/* mpk_device_is_path - whether a text has the form of such a path, for any file */
bool mpk_device_is_path(struct mpk_span text);

/* mpk_device_target - the device of an image: "sm_90a", "gfx90a"; "" if it names none */
const char *mpk_device_target(const struct mpk_code_info *image);

/* mpk_device_suffix - the suffix of the file to which --extract writes an image: "cubin", "ptx",
 * "hsaco", "spv", "bin" */
const char *mpk_device_suffix(const struct mpk_code_info *image);

#endif
