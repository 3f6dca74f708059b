/* SPDX-License-Identifier: Apache-2.0 */
/* device_code.h - GPU code beside the tree of modules: what getters of TVM name, and that of any library
 *
 * Libraries have gigabytes of it. A listing reads headers alone; where kernels are asked for, one
 * container is read at a time and forgotten before the next.
 */
#ifndef MPK_MODEL_DEVICE_CODE_H
#define MPK_MODEL_DEVICE_CODE_H

#include "base/arena.h"
#include "code/format.h"
#include "code/info.h"
#include "model/view.h"

/* --- code that getters name (elf/elf_image.c) ------------------------------------------------- */

/* What --replace calls it: this and its name. */
#define MPK_EMBEDDED_PATH "cubin:"

struct mpk_view_code {
	const struct mpk_image_code *at;
	const char *path;          /* "cubin:my_kernels" */
	struct mpk_code_info code; /* offsets count in the file */
};

/* of struct mpk_view: a line for each run of code in short, what it is, and where; in full with a line for each kernel,
 * and what its code says; "embedded", an array, in JSON */
extern const struct mpk_answer mpk_answer_embedded;

/* mpk_view_embedded_lister - whose kernels those of the code are, or NULL when nobody can tell */
const struct mpk_code_info *mpk_view_embedded_lister(const struct mpk_view_code *c);

/* --- GPU code of any library (elf/image.h) ---------------------------------------------------- */

/* All images of one sort for one device. */
struct mpk_device_row {
	const char *target;          /* "sm_90", "gfx90a:xnack+"; not escaped */
	const char *what;            /* "cubin", "PTX", "code object" */
	const char *packing;         /* "stored", "zstd", "several" */
	size_t images;               /* of it */
	uint64_t bytes, plain_bytes; /* as they stand there, and unpacked */
};

struct mpk_device_rows {
	const struct mpk_device_row *items; /* in the order in which they first appear */
	size_t count;
	size_t broken; /* containers whose headers do not read: in no row, --verify has an error of each */
};

/* mpk_device_targets - the devices of what is in a section, a container or an image alone, from headers
 * @section its name, which tells the device of an image that does not
 * Returns  as mpk_code_targets; MPK_E_CORRUPT: it is neither */
enum mpk_code mpk_device_targets(const char *section, struct mpk_span bytes,
				 struct mpk_arena *arena, const struct mpk_code_target **out,
				 size_t *count, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_rows - count, from headers alone
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_device_rows(const struct mpk_view *view, struct mpk_arena *arena,
			      struct mpk_device_rows *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_container - read one container, with all its images
 * @arena   receives what is read, and what is unpacked
 * Returns  MPK_OK, also for one that does not read: its problem says why; MPK_E_NOMEM */
enum mpk_code mpk_device_container(const struct mpk_image_device *d, struct mpk_arena *arena,
				   struct mpk_view_code *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_keep - keep what is read of containers from now on, as long as their images come to no more than so many bytes:
 * for who looks at all of them several times, as unpacking them is most of the work
 * mpk_device_forget - end that; once more is no mistake
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_device_keep(struct mpk_view *view, uint64_t most_bytes,
			      struct mpk_error *err) MPK_MUST_CHECK;
void mpk_device_forget(struct mpk_view *view);

/* mpk_device_borrow - a container by its index: what was kept of it, else as mpk_device_container reads it into arena
 * @out     lives as long as arena, and the view keeps what it has
 * Returns  as mpk_device_container */
enum mpk_code mpk_device_borrow(const struct mpk_view *view, size_t index, struct mpk_arena *arena,
				const struct mpk_view_code **out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_each - read the containers, one after the other
 * @each    is handed one; what it keeps it copies: its memory is taken again. A failure of it ends
 *          the walk.
 * Returns  MPK_OK; MPK_E_NOMEM; what each returns. A container that does not read is handed on
 *          with its problem. */
enum mpk_code mpk_device_each(const struct mpk_view *view,
			      enum mpk_code (*each)(const struct mpk_view_code *c, void *arg,
						    struct mpk_error *err),
			      void *arg, struct mpk_error *err) MPK_MUST_CHECK;

/* of struct mpk_view: a line for each row in short; in full what each container is, with its images and kernels;
 * "device_code" in JSON, the containers with their images and kernels */
extern const struct mpk_answer mpk_answer_device_code;

/* mpk_device_rows_json - put "gpu_code", the rows */
void mpk_device_rows_json(const struct mpk_view *view, struct mpk_json *j, struct mpk_json_at *at);

/* mpk_device_title - what a file of code by itself is called that is more than GPU code: "LLVM bitcode"
 * Returns  NULL: it is GPU code, or another file */
const char *mpk_device_title(const struct mpk_image *image);

/* mpk_device_is_input - whether a container is for a linker and no driver takes it: by the section that it is in, or by
 * what it is, LLVM bitcode and LTO IR
 * @is_loaded  of a library, which may register it */
bool mpk_device_is_input(const char *section, bool is_loaded, struct mpk_span bytes);

/* mpk_device_path - ".nv_fatbin:3", escaped, in arena; NULL: memory is out */
const char *mpk_device_path(const struct mpk_image_device *d, struct mpk_arena *arena);

/* mpk_device_is_path - whether a text is such a path, of whatever file */
bool mpk_device_is_path(struct mpk_span text);

/* mpk_device_target - whom an image of a container is for: "sm_90a", "gfx90a"; "" when it does not say */
const char *mpk_device_target(const struct mpk_code_info *image);

/* mpk_device_suffix - of a file that an image is extracted to: "cubin", "ptx", "hsaco", "spv", "bin" */
const char *mpk_device_suffix(const struct mpk_code_info *image);

#endif
