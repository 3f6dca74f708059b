/* SPDX-License-Identifier: Apache-2.0 */
/* amdgpu.h - what is read of an AMD code object for its digests: functions, variables, what a loader fills in */
#ifndef MPK_CANON_INTERNAL_AMDGPU_H
#define MPK_CANON_INTERNAL_AMDGPU_H

#include <stdbool.h>

#include "amdgpu/amdgpu.h"
#include "base/strmap.h"
#include "canon/internal/canon.h"
#include "cubin/elf.h"

enum { MPK_CANON_SHF_ALLOC = 2 };

/* A function or variable with its bytes. */
struct mpk_canon_place {
	uint64_t address, size;
	struct mpk_span name, bytes; /* no bytes: a variable that begins as zeros */
	bool is_function, is_referred_to;
	size_t kernel; /* whose code or descriptor it is, from 1 on; 0: of none */
};

/* What a loader fills in: the address of a symbol, or of what is at an address. */
struct mpk_canon_slot {
	uint64_t address, type, target;
	struct mpk_span name; /* empty: target is an address */
};

/* Zero-initialise, set object, elf and left; mpk_canon_object_read; mpk_canon_object_fini. */
struct mpk_canon_object {
	const struct mpk_amdgpu *object;
	struct mpk_cubin_elf elf;
	uint64_t left; /* bytes that may still be read: parts of a hostile file overlap */
	/* malloc'ed: */
	struct mpk_cubin_section *sections;
	struct mpk_canon_place *places; /* by address */
	size_t place_count;
	struct mpk_canon_slot *slots; /* by address */
	size_t slot_count, slot_cap;
	/* while it is read: */
	struct mpk_span symbols, strings;
	struct mpk_strmap kernels; /* names of their functions and descriptors */
};

/* mpk_canon_object_read - fill it
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_canon_object_read(struct mpk_canon_object *o,
				    struct mpk_error *err) MPK_MUST_CHECK;
void mpk_canon_object_fini(struct mpk_canon_object *o);

#endif
