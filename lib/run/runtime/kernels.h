/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.h - device code of a tree: kernels as functions */
#ifndef MPK_RUNTIME_KERNELS_H
#define MPK_RUNTIME_KERNELS_H

#include "base/error.h"
#include "kernels/kernels.h"
#include "runtime/devices.h"
#include "runtime/runtime.h"
#include "value/function.h"

/* Brings nodes with kernels to life. Their functions take what a launch takes: a value for
 * each parameter, then one for each launch tag that takes one. */
extern const struct mpk_loader mpk_kernel_loader;

/* What a direct call of a kernel says beside its arguments. 0: not given, counts as 1 */
struct mpk_kernel_extents {
	uint64_t grid[3], block[3];
	uint64_t shared_bytes;
};

/* The device code of a tree whose host code stays closed. */
struct mpk_kernel_set;

/* mpk_kernel_set_create - payloads are decoded when a kernel is looked for, and loaded on a device
 * once, however many calls follow
 * @tree    borrowed until destroy
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_kernel_set_create(struct mpk_runtime *runtime, const struct mpk_tree *tree,
				    struct mpk_kernel_set **out,
				    struct mpk_error *err) MPK_MUST_CHECK;
/* mpk_kernel_set_destroy - functions of it stay as long as they are held. NULL is fine */
void mpk_kernel_set_destroy(struct mpk_kernel_set *set);

/* A kernel that was found. */
struct mpk_kernel_found {
	struct mpk_function *function; /* one reference */
	const struct mpk_function_info
		*info;             /* its row of the module's table; while the function is held */
	struct mpk_dldevice where; /* where it runs, and its tensors are to be */
};

/* mpk_kernel_set_find - a kernel of any node with kernels as a function of its own
 * parameters alone (tensors, numbers); the extents are fixed
 * @name    of the kernel, or "/0#name" of the module at a path (mpk_tree_path)
 * @asked   the device; type 0: the first of the kind that the code is for. Of several modules that have the
 *          name, the one for this kind is meant
 * Returns  MPK_OK; MPK_E_NOTFOUND with "did you mean", also when there is no
 *          such module; MPK_E_USAGE: an extent for an axis that the kernel does not have, a name
 *          of several kernels, which are named, or code for another kind of device than asked; MPK_E_CORRUPT */
enum mpk_code mpk_kernel_set_find(struct mpk_kernel_set *set, const char *name,
				  const struct mpk_kernel_extents *extents,
				  struct mpk_dldevice asked, struct mpk_kernel_found *out,
				  struct mpk_error *err) MPK_MUST_CHECK;

#endif
