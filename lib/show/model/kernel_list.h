/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_list.h - every kernel of a file by module, name and device, with what it needs
 *
 * Kernels of any library's GPU code are in it, too. Their containers come and go with the objects that
 * were linked: a key has none, so that kernels are found again in another build.
 */
#ifndef MPK_MODEL_KERNEL_LIST_H
#define MPK_MODEL_KERNEL_LIST_H

#include "code/show.h"
#include "cubin/cubin.h"
#include "io/digest.h"
#include "model/view.h"

/* The path of all kernels and images of a library's GPU code (device_code.h). */
#define MPK_DEVICE_PATH "gpu"

/* What only some kernels state, so that lists of a hundred thousand others stay small. */
struct mpk_kernel_facts {
	/* what a launch is held to: as in struct mpk_code_kernel */
	uint32_t block[3], max_threads[3], barriers, wavefront;
	bool wgp_mode;
	bool has_local; /* local is filled: of a cubin whose kernel has a stack */
	struct mpk_cubin_local local;
};

/* A kernel in one run of code: a fatbin has it once for each image. */
struct mpk_listed_kernel {
	struct mpk_span key;              /* of path, target and name: unique in the file */
	const char *path;                 /* of its module, "cubin:NAME", or MPK_DEVICE_PATH */
	const struct mpk_view_node *node; /* its module; NULL: it is of none */
	struct mpk_span name;             /* not escaped */
	const char *target;               /* "sm_90"; "": its code names none */
	struct mpk_figures figures;
	const struct mpk_kernel_facts *facts; /* NULL: its code states none of them */
	struct mpk_span code; /* its machine code; empty: not known which part it is */
	/* Of a library's GPU code alone, whose code is forgotten: */
	const char *container; /* ".nv_fatbin:0"; else NULL */
	const char *image;     /* "cubin sm_80" */
	bool has_digest;       /* of the machine code or the PTX */
	uint8_t digest[MPK_XXH128_BYTES];
	uint32_t copies; /* others of this path, target and name */
	uint32_t copy;   /* which of those it is, from 2 on, as its key says; 0: the first */
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
	/* of a library's GPU code: what has the kernels, and what has none, in file order; a container that does
	 * not read is one */
	const struct mpk_listed_image *images;
	size_t image_count;
};

/* mpk_kernel_shows - whether --filter shows a kernel: by its name, or by that of its module or container */
bool mpk_kernel_shows(const struct mpk_view *view, const struct mpk_listed_kernel *k);

/* mpk_kernel_key - what tells a kernel from others: the same text for the same kernel in two files
 * @copy    as in struct mpk_listed_kernel
 * Returns  a span in arena; data NULL: memory is out */
struct mpk_span mpk_kernel_key(struct mpk_arena *arena, const char *path, const char *target,
			       struct mpk_span name, size_t copy);

/* mpk_kernel_image - what an image of a library's GPU code is called: "cubin sm_80"
 * @arena   may receive it
 * Returns  NULL: memory is out */
const char *mpk_kernel_image(struct mpk_arena *arena, const struct mpk_code_info *code);

/* Whose kernels. */
enum mpk_kernels_of {
	MPK_KERNELS_OF_FILE, /* of all below, in this order */
	MPK_KERNELS_OF_NODE, /* of a module: those of its table, and those that only its code has */
	MPK_KERNELS_OF_EMBEDDED, /* of code beside the tree, which view->embedded has */
	MPK_KERNELS_OF_DEVICES,  /* of GPU code of any library; containers are read one at a time */
};

/* mpk_kernel_list_read - list kernels
 * @index   of the module, or of the code beside the tree
 * @arena   receives the list
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_kernel_list_read(const struct mpk_view *view, enum mpk_kernels_of of,
				   size_t index, struct mpk_arena *arena,
				   struct mpk_kernel_list *out,
				   struct mpk_error *err) MPK_MUST_CHECK;

#endif
