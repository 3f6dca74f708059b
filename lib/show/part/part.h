/* SPDX-License-Identifier: Apache-2.0 */
/* part.h - one part of a file by its name: a payload, a kernel, a tensor, one function of byte code */
#ifndef MPK_PART_PART_H
#define MPK_PART_PART_H

#include "base/rope.h"
#include "code/info.h"
#include "model/view.h"

/* "/0/1#vadd", split. */
struct mpk_part_name {
	struct mpk_span path; /* "/0/1", "cubin:my_kernels", ".nv_fatbin:3"; empty: anywhere */
	struct mpk_span name; /* "vadd"; empty: not given */
};

/* mpk_part_split - at the first '#'; what begins with neither '/' nor "cubin:" and is no path of GPU code is a
 * name alone */
struct mpk_part_name mpk_part_split(const char *text);

/* Where code is: a module of the tree, or code beside it. */
struct mpk_part_place {
	const struct mpk_view_node *node;      /* NULL: beside the tree */
	size_t index;                          /* of node in the view */
	const struct mpk_view_code *embedded;  /* NULL: it is none that a getter names */
	const struct mpk_image_device *device; /* NULL: no container of GPU code */
};

/* mpk_part_symbol - the same part with the symbol of a kernel in the place of its name in C++, as texts show it:
 * "/0#scale<float>(float*, int)", also without the parameters; the first that is named so
 * @arena   receives it, unless it is text itself, as where no kernel has the name
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_part_symbol(const struct mpk_view *view, const char *text,
			      struct mpk_arena *arena, const char **out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_part_place - what a path leads to
 * Returns  MPK_OK; MPK_E_NOTFOUND with "did you mean" */
enum mpk_code mpk_part_place(const struct mpk_view *view, struct mpk_span path,
			     struct mpk_part_place *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_part_find - the bytes of a part
 * Without a name: the module's code, byte code listing or graph, or its one part. With a name: a tensor
 * or a member by the name that the payload gives it; a part as --extract names its file ("kernels.ptx",
 * "params/w1", "3"); a kernel, as far as its code is text and defines it; a function of byte code; an
 * image of a fatbin or a bundle by its target ("sm_90", "compute_90", "gfx90a:xnack+", "gfx90a"), the
 * first where several have it. A file name of --extract with its folder
 * ("1-cuda/kernels.ptx") leads to the same bytes.
 * @raw     the module's payload as it is stored in the blob; without a name
 * @arena   receives what is made
 * @out     views of the file and of the arena
 * Returns  MPK_OK; MPK_E_NOTFOUND with "did you mean"; MPK_E_USAGE: several parts, none of which is meant;
 *          MPK_E_UNSUPPORTED: a kernel that cannot be cut out of its code; MPK_E_NOMEM */
enum mpk_code mpk_part_find(const struct mpk_view *view, const char *text, bool raw,
			    struct mpk_arena *arena, struct mpk_rope *out,
			    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_part_is_image - whether a user means an image of a fatbin or a bundle by its target: "sm_90" is a
 * cubin, "compute_90" the PTX for it, as NVIDIA's tools call them; "gfx90a" also one of "gfx90a:xnack+" */
bool mpk_part_is_image(const struct mpk_code_info *image, struct mpk_span name);

/* mpk_part_kernel_names - append the names of all kernels of a run of code and of its images, once each
 * mpk_part_miss - an error for a name that is not there: MPK_E_UNSUPPORTED when it is a host function's and
 * texts were looked for, else MPK_E_NOTFOUND with where it is, or with the nearest of those that there are
 * @is_text whether what was looked for is a text */
struct mpk_part_names {
	struct mpk_span *items; /* malloc'ed */
	size_t count, cap;
	bool failed;
	struct mpk_arena
		*keep; /* receives copies of what is added, of some thousands of names; NULL: they
				 * live long enough */
};
void mpk_part_names_add(struct mpk_part_names *names, struct mpk_span name);
void mpk_part_names_add_code(struct mpk_part_names *names, const struct mpk_code_info *code);
void mpk_part_names_fini(struct mpk_part_names *names);
enum mpk_code mpk_part_miss(const struct mpk_view *view, const struct mpk_part_names *names,
			    struct mpk_part_name wanted, bool is_text,
			    struct mpk_error *err) MPK_MUST_CHECK;

#endif
