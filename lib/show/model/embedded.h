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

/* mpk_view_code_figures - append a line of what the code, and one of what each of its images, tells
 * of a kernel that it has */
void mpk_view_code_figures(const struct mpk_view_code *c, struct mpk_span kernel,
			   const char *indent, struct mpk_strbuf *out);

/* mpk_view_code_text - append what a run of code is, where it is, its images, its kernels
 * mpk_view_code_json - put "code" and "kernels" into an object */
void mpk_view_code_text(const struct mpk_view *view, const struct mpk_view_code *c,
			struct mpk_strbuf *out);
void mpk_view_code_json(const struct mpk_view *view, const struct mpk_view_code *c,
			struct mpk_json *j, struct mpk_json_at *at);

/* mpk_view_embedded_summary - append a line for each: what it is, and where
 * mpk_view_embedded_functions - the same with a line for each kernel, and what its code says */
void mpk_view_embedded_summary(const struct mpk_view *view, struct mpk_strbuf *out);
void mpk_view_embedded_functions(const struct mpk_view *view, struct mpk_strbuf *out);

/* mpk_view_embedded_json - put "embedded", an array */
void mpk_view_embedded_json(const struct mpk_view *view, struct mpk_json *j,
			    struct mpk_json_at *at);

/* mpk_view_embedded_lister - whose kernels those of the code are, or NULL when nobody can tell */
const struct mpk_code_info *mpk_view_embedded_lister(const struct mpk_view_code *c);

#endif
