/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_name.h - kernels as a user says them: "add", or "/0#add" of the module at a path */
#ifndef MPK_RUNTIME_INTERNAL_KERNEL_NAME_H
#define MPK_RUNTIME_INTERNAL_KERNEL_NAME_H

#include "base/error.h"
#include "blob/blob.h"

struct mpk_kernel_name {
	const char *name;  /* of the kernel alone; a part of the text */
	size_t first, end; /* nodes of the tree that may hold it */
	int32_t device;    /* DLPack's type of device that the code is to be for; 0: any */
};

/* mpk_kernel_name_parse - take a text apart
 * Returns  MPK_OK; MPK_E_NOTFOUND: no module at that path */
enum mpk_code mpk_kernel_name_parse(const struct mpk_tree *tree, const char *text, int32_t device,
				    struct mpk_kernel_name *out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_kernel_name_ambiguous - MPK_E_USAGE that says how to name the one in node a and that in b */
enum mpk_code mpk_kernel_name_ambiguous(const struct mpk_tree *tree,
					const struct mpk_kernel_name *name, size_t a, size_t b,
					struct mpk_error *err);

#endif
