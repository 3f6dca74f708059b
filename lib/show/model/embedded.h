/* SPDX-License-Identifier: Apache-2.0 */
/* embedded.h - device code beside the module tree, in every view (elf/internal/embedded.h) */
#ifndef MPK_MODEL_EMBEDDED_H
#define MPK_MODEL_EMBEDDED_H

#include "base/arena.h"
#include "code/info.h"
#include "model/view.h"

/* What --replace calls it: this and its name. */
#define MPK_EMBEDDED_PATH "cubin:"

struct mpk_view_code {
	const struct mpk_image_code *at;
	const char *path;          /* "cubin:my_kernels" */
	struct mpk_code_info code; /* offsets count in the file */
};

/* mpk_view_read_embedded - read all of it
 * Returns  MPK_OK; MPK_E_NOMEM. Linear in the code. */
enum mpk_code mpk_view_read_embedded(const struct mpk_image *image, struct mpk_arena *arena,
				     const struct mpk_view_code **out,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* of struct mpk_view: a line for each run of code in short, what it is, and where; in full with a line for each kernel,
 * and what its code says; "embedded", an array, in JSON */
extern const struct mpk_answer mpk_answer_embedded;

/* mpk_view_embedded_lister - whose kernels those of the code are, or NULL when nobody can tell */
const struct mpk_code_info *mpk_view_embedded_lister(const struct mpk_view_code *c);

#endif
