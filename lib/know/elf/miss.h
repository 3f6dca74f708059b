/* SPDX-License-Identifier: Apache-2.0 */
/* miss.h - a function that was meant to be callable, in a library in which none is */
#ifndef MPK_ELF_MISS_H
#define MPK_ELF_MISS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "blob/blob.h"

enum mpk_miss_kind {
	MPK_MISS_NONE,    /* nothing looks like one */
	MPK_MISS_MANGLED, /* a C++ name: extern "C" is missing */
	MPK_MISS_SPELLED, /* the prefix is another */
	MPK_MISS_HIDDEN,  /* the name is right, but it is not exported */
	MPK_MISS_PLAIN,   /* a function without the prefix; where there is none, it is callable */
};

struct mpk_miss {
	enum mpk_miss_kind kind;
	const char *symbol; /* as it is there */
	const char *wanted; /* what it would be called */
};

/* mpk_miss_find - the nearest miss among the functions of an ELF file
 * @gen     whose convention is missed
 * @out     the worst mistake in the order above comes last; texts in arena
 * Returns  MPK_OK, also when bytes are no ELF file; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_miss_find(struct mpk_span bytes, enum mpk_generation gen, struct mpk_arena *arena,
			    struct mpk_miss *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
