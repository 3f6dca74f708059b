/* SPDX-License-Identifier: Apache-2.0 */
/* members.h - the files inside an archive or a universal file, as one list */
#ifndef MPK_ELF_MEMBERS_H
#define MPK_ELF_MEMBERS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

struct mpk_member {
	const char *name; /* in the arena */
	struct mpk_span bytes;
	uint64_t off; /* in the archive */
};

/* mpk_members_ar, mpk_members_tar - list the files
 * Returns  as mpk_ar_read and mpk_tar_read */
enum mpk_code mpk_members_ar(struct mpk_span bytes, struct mpk_arena *arena,
			     struct mpk_member **out, size_t *count,
			     struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_members_tar(struct mpk_span bytes, struct mpk_arena *arena,
			      struct mpk_member **out, size_t *count,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_members_universal - the files of a universal Mach-O file, by their architectures
 * Returns  as mpk_macho_slices */
enum mpk_code mpk_members_universal(struct mpk_span bytes, struct mpk_arena *arena,
				    struct mpk_member **out, size_t *count,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_member_is_source - whether a member is C or C++ by its name */
bool mpk_member_is_source(const char *name);

/* mpk_members_find - the member with this name
 * Returns  MPK_OK; MPK_E_NOTFOUND with "did you mean"; MPK_E_NOMEM */
enum mpk_code mpk_members_find(const struct mpk_member *members, size_t count, const char *name,
			       size_t *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
