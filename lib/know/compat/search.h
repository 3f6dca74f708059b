/* SPDX-License-Identifier: Apache-2.0 */
/* search.h - where a dynamic linker would find a library, without asking it */
#ifndef MPK_COMPAT_SEARCH_H
#define MPK_COMPAT_SEARCH_H

#include "base/arena.h"
#include "elf/reader.h"

struct mpk_search {
	const char *const *dirs; /* in their order; searched first */
	size_t dir_count;
	bool system; /* then what ld.so.cache lists, then the system's own directories */
};

/* mpk_search_find - the first library of that name that is for a machine
 * @name    as DT_NEEDED has it; one with a slash is a path
 * @like    whose machine, class and byte order count
 * @out     in arena; NULL: there is none
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_search_find(const struct mpk_search *search, const char *name,
			      const GElf_Ehdr *like, struct mpk_arena *arena, const char **out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_search_with_runpath - search as a library that stands at path does: DT_RUNPATH or DT_RPATH, with
 * $ORIGIN, then what search has
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_search_with_runpath(const struct mpk_search *search, const struct mpk_elf *e,
				      const char *path, struct mpk_arena *arena,
				      struct mpk_search *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
