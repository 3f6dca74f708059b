/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_list.h - lists every kernel of a file by module, name and device, with the resources it
 * needs
 *
 * The list includes kernels in GPU code of any library. Their containers depend on the objects that
 * were linked, so keys do not contain them: a kernel has the same key in another build.
 */
#ifndef MPK_MODEL_KERNEL_LIST_H
#define MPK_MODEL_KERNEL_LIST_H

#include "code/show.h"
#include "cubin/cubin.h"
#include "io/digest.h"
#include "model/view.h"

/* The path of all kernels and images of a library's GPU code (device_code.h). */
#define MPK_DEVICE_PATH "gpu"

/* Figures that only some kernels have, kept apart so that lists of a hundred thousand kernels stay
 * small. */
struct mpk_kernel_facts {
	/* constraints on a launch, as in struct mpk_code_kernel */
	uint32_t block[3], max_threads[3], barriers, wavefront;
	bool wgp_mode;
	bool has_local; /* local is set: only for kernels of cubins that have a stack */
	struct mpk_cubin_local local;
};

/* A kernel in one piece of code: a fatbin has it once for each image. */
struct mpk_listed_kernel {
	struct mpk_span key;              /* made of path, target and name; unique in the file */
	const char *path;                 /* path of its module, "cubin:NAME", or MPK_DEVICE_PATH */
	const struct mpk_view_node *node; /* its module; NULL if none */
	struct mpk_span name;             /* not escaped */
	const char *target;               /* "sm_90"; "" if its code names none */
	struct mpk_figures figures;
	const struct mpk_kernel_facts *facts; /* NULL if it has none of these figures */
	struct mpk_span code;                 /* its machine code; empty if its place is unknown */
	/* The following are set only for a library's GPU code, whose code is freed: */
	const char *container; /* ".nv_fatbin:0"; else NULL */
	const char *image;     /* "cubin sm_80" */
	bool has_digest;       /* a digest of the machine code or the PTX is set */
	uint8_t digest[MPK_XXH128_BYTES];
	uint32_t copies; /* number of other kernels with this path, target and name */
	uint32_t copy; /* number of this copy, from 2 on, which its key contains; 0 for the first */
};

/* An image of a library's GPU code, unpacked. */
struct mpk_listed_image {
	const char *what; /* "cubin sm_80", "PTX compute_90", "code object gfx90a" */
	uint64_t bytes;
	uint8_t digest[MPK_XXH128_BYTES];
};

struct mpk_kernel_list {
	const struct mpk_listed_kernel *items;
	size_t count;
	/* images of a library's GPU code, with and without kernels, in file order; an unreadable
	 * container counts as one image */
	const struct mpk_listed_image *images;
	size_t image_count;
};

/* mpk_kernel_shows - whether --filter shows a kernel: by its name, or by that of its module or
 * container */
bool mpk_kernel_shows(const struct mpk_view *view, const struct mpk_listed_kernel *k);

/* mpk_kernel_key - make the key of a kernel: the same text for the same kernel in two files
 * @copy    as in struct mpk_listed_kernel
 * Returns  a span in arena; data is NULL if memory is out */
struct mpk_span mpk_kernel_key(struct mpk_arena *arena, const char *path, const char *target,
			       struct mpk_span name, size_t copy);

/* mpk_kernel_image - the name of an image of a library's GPU code: "cubin sm_80"
 * @arena   may receive the name
 * Returns  NULL if memory is out */
const char *mpk_kernel_image(struct mpk_arena *arena, const struct mpk_code_info *code);

/* The source of the kernels to list. */
enum mpk_kernels_of {
	MPK_KERNELS_OF_FILE,     /* all sources below, in this order */
	MPK_KERNELS_OF_NODE,     /* a module: kernels of its table, and those only in its code */
	MPK_KERNELS_OF_EMBEDDED, /* code outside the module tree, in view->embedded */
	MPK_KERNELS_OF_DEVICES,  /* GPU code of any library; containers are read one at a time */
};

/* mpk_kernel_list_read - list kernels
 * @index   index of the module, or of the code outside the tree
 * @arena   receives the list
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_kernel_list_read(const struct mpk_view *view, enum mpk_kernels_of of,
				   size_t index, struct mpk_arena *arena,
				   struct mpk_kernel_list *out,
				   struct mpk_error *err) MPK_MUST_CHECK;

#endif
