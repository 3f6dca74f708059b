/* SPDX-License-Identifier: Apache-2.0 */
/* versions.h - symbol versions: which a library wants of others (.gnu.version_r), which it has
 * (.gnu.version_d); found through the dynamic section, as a loader finds them */
#ifndef MPK_ELF_VERSIONS_H
#define MPK_ELF_VERSIONS_H

#include "base/arena.h"
#include "elf/reader.h"

struct mpk_version_need {
	const char *file;    /* "libc.so.6" */
	const char *version; /* "GLIBC_2.34" */
	bool weak;           /* a loader goes on without it */
};

/* mpk_versions_needed, mpk_versions_defined - in file order
 * @out     names are views of the file; the list is in arena
 * Returns  MPK_OK, also with none; MPK_E_CORRUPT with the file offset; MPK_E_NOMEM */
enum mpk_code mpk_versions_needed(const struct mpk_elf *e, struct mpk_arena *arena,
				  const struct mpk_version_need **out, size_t *count,
				  struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_versions_defined(const struct mpk_elf *e, struct mpk_arena *arena,
				   const char *const **out, size_t *count,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* An undefined dynamic symbol that a loader must find. */
struct mpk_undefined {
	const char *name;
	size_t index;     /* of the symbol */
	bool has_version; /* it belongs to a library with symbol versions */
	bool any_version; /* the file wants versions of some library */
};

/* mpk_versions_undefined - the undefined dynamic symbols but weak ones, in file order
 * Returns  as mpk_versions_needed */
enum mpk_code mpk_versions_undefined(const struct mpk_elf *e, struct mpk_arena *arena,
				     const struct mpk_undefined **out, size_t *count,
				     struct mpk_error *err) MPK_MUST_CHECK;

#endif
