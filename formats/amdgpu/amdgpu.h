/* SPDX-License-Identifier: Apache-2.0 */
/* amdgpu.h - for which AMD GPUs a code object, or a bundle of several, is (FORMAT.md)
 *
 * Headers alone are read: the code itself is passed on to the driver as it is.
 */
#ifndef MPK_FORMATS_AMDGPU_AMDGPU_H
#define MPK_FORMATS_AMDGPU_AMDGPU_H

#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

enum { MPK_AMDGPU_TARGET = 40 };

struct mpk_amdgpu_object {
	char target[MPK_AMDGPU_TARGET]; /* "gfx90a", "gfx90a:sramecc+:xnack-", "gfx11-generic";
					 * a number for a processor that has no name here */
};

/* mpk_amdgpu_read - list the code objects
 * @bytes   one code object, or a bundle of them; borrowed
 * @arena   receives the list
 * Returns  MPK_OK, also for a bundle without any; MPK_E_CORRUPT with the offset in "payload";
 *          MPK_E_NOMEM
 * Format   FORMAT.md 1 - 3 */
enum mpk_code mpk_amdgpu_read(struct mpk_span bytes, struct mpk_arena *arena,
			      const struct mpk_amdgpu_object **out, size_t *count,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_amdgpu_runs - whether code for one target runs on a device: the same processor, or a generic
 * one that stands for it, and no feature that one has on and the other off
 * @target, @device   as above; a device without features is one of either sort */
bool mpk_amdgpu_runs(const char *target, const char *device);

#endif
