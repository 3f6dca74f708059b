/* SPDX-License-Identifier: Apache-2.0 */
/* part.h - finds one part of a file by name: a payload, a kernel, a tensor, one function of byte
 * code */
#ifndef MPK_PART_PART_H
#define MPK_PART_PART_H

#include "base/rope.h"
#include "code/info.h"
#include "model/view.h"

/* "/0/1#vadd", split into path and name. */
struct mpk_part_name {
	struct mpk_span path; /* "/0/1", "cubin:my_kernels", ".nv_fatbin:3"; empty means any */
	struct mpk_span name; /* "vadd"; empty if not given */
};

/* mpk_part_split - split at the first '#'. A text without '#' is a path if it begins with '/' or
 * "cubin:", or is a path of GPU code; else it is a name */
struct mpk_part_name mpk_part_split(const char *text);

/* The place of code: a module of the tree, or code outside it. */
struct mpk_part_place {
	const struct mpk_view_node *node;      /* NULL if it is outside the tree */
	size_t index;                          /* index of node in the view */
	const struct mpk_view_code *embedded;  /* NULL if no getter names it */
	const struct mpk_image_device *device; /* NULL if it is not a container of GPU code */
};

/* mpk_part_symbol - replace a kernel's C++ name, as texts show it, by its symbol:
 * "/0#scale<float>(float*, int)", also without the parameters; the first kernel with the name
 * counts
 * @arena   receives the result, unless it is text itself because no kernel has the name
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_part_symbol(const struct mpk_view *view, const char *text,
			      struct mpk_arena *arena, const char **out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_part_place - find the place that a path names
 * Returns  MPK_OK; MPK_E_NOTFOUND with "did you mean" */
enum mpk_code mpk_part_place(const struct mpk_view *view, struct mpk_span path,
			     struct mpk_part_place *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_part_find - get the bytes of a part
 * Without a name: the module's code, byte code listing or graph, or its only part. With a name,
 * one of: a tensor or a member by the name in the payload; a part by the file name of --extract
 * ("kernels.ptx", "params/w1", "3"); a kernel, if its code is text and defines it; a function of
 * byte code; an image of a fatbin or a bundle by its target ("sm_90", "compute_90",
 * "gfx90a:xnack+", "gfx90a"), the first if several have it. A file name of --extract with its
 * folder ("1-cuda/kernels.ptx") gives the same bytes.
 * @raw     get the module's payload as it is stored in the blob; needs a text without a name
 * @arena   receives generated data
 * @out     views of the file and of the arena
 * Returns  MPK_OK; MPK_E_NOTFOUND with "did you mean"; MPK_E_USAGE: several parts match equally
 *          well; MPK_E_UNSUPPORTED: a kernel that cannot be cut out of its code; MPK_E_NOMEM */
enum mpk_code mpk_part_find(const struct mpk_view *view, const char *text, bool raw,
			    struct mpk_arena *arena, struct mpk_rope *out,
			    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_part_is_image - whether a name is the target of an image of a fatbin or a bundle: "sm_90" is
 * a cubin, "compute_90" its PTX, as in NVIDIA's tools; "gfx90a" also matches "gfx90a:xnack+" */
bool mpk_part_is_image(const struct mpk_code_info *image, struct mpk_span name);

/* mpk_part_kernel_names - append the names of all kernels of some code and of its images, each once
 * mpk_part_miss - report a missing name: MPK_E_UNSUPPORTED if it is a host function's and a text
 * was asked for, else MPK_E_NOTFOUND with its place, or with the most similar existing name
 * @is_text whether the user asked for a text */
struct mpk_part_names {
	struct mpk_span *items; /* malloc'ed */
	size_t count, cap;
	bool failed;
	/* receives copies of the added names, up to some thousands; NULL if the names live long
	 * enough */
	struct mpk_arena *keep;
};
void mpk_part_names_add(struct mpk_part_names *names, struct mpk_span name);
void mpk_part_names_add_code(struct mpk_part_names *names, const struct mpk_code_info *code);
void mpk_part_names_fini(struct mpk_part_names *names);
enum mpk_code mpk_part_miss(const struct mpk_view *view, const struct mpk_part_names *names,
			    struct mpk_part_name wanted, bool is_text,
			    struct mpk_error *err) MPK_MUST_CHECK;

#endif
