/* SPDX-License-Identifier: Apache-2.0 */
/* scope.h - the libraries of a process that loads a file: what it has, what it needs, and theirs
 *
 * The rules of dlopen as far as they decide whether loading works: each DT_NEEDED must be found,
 * those of what is found too, and a name that is there already is not searched again.
 */
#ifndef MPK_COMPAT_SCOPE_H
#define MPK_COMPAT_SCOPE_H

#include "base/arena.h"
#include "compat/dso.h"
#include "elf/reader.h"

struct mpk_scope {
	struct mpk_arena *arena;
	const struct mpk_search *search;
	const GElf_Ehdr *like;      /* machine, class and byte order of the file */
	const char *const *assumed; /* names that count as there although nobody can look */
	size_t assumed_count;
	struct mpk_dso *first, *last; /* what was read, in the order of loading */
	size_t count;
	size_t searched; /* names */
	bool guessed;    /* some name was taken as there unseen */
};

/* What became of a name. */
enum mpk_scope_state { MPK_SCOPE_FOUND, MPK_SCOPE_ASSUMED, MPK_SCOPE_MISSING };

/* A library that is missing, and who needs it: names of the lists they stand in. */
struct mpk_scope_gap {
	const char *name;
	const struct mpk_dso *by; /* NULL: the name that was asked for */
};

enum {
	MPK_SCOPE_MAX = 256,       /* libraries; the rest of a longer list is not looked at */
	MPK_SCOPE_SEARCHES = 4096, /* names that are looked for; the rest counts as there, unseen */
};

/* mpk_scope_need - find a library and all that it needs
 * @gap     receives what is missing when something is
 * Returns  MPK_OK with the state; MPK_E_NOMEM. A library that does not read counts as missing. */
enum mpk_code mpk_scope_need(struct mpk_scope *scope, const char *name, enum mpk_scope_state *state,
			     struct mpk_scope_gap *gap, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_scope_dso - the library of that name that was read; NULL: none */
const struct mpk_dso *mpk_scope_dso(const struct mpk_scope *scope, const char *name);

/* mpk_scope_defines - whether one that was read defines a symbol */
bool mpk_scope_defines(const struct mpk_scope *scope, const char *symbol);

void mpk_scope_fini(struct mpk_scope *scope);

/* --- Where a dynamic linker would find a library, without asking it --- */

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
