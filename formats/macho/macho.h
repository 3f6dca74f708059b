/* SPDX-License-Identifier: Apache-2.0 */
/* macho.h - Mach-O objects, dynamic libraries and bundles, and universal files of them (FORMAT.md) */
#ifndef MPK_FORMATS_MACHO_MACHO_H
#define MPK_FORMATS_MACHO_MACHO_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "object/object.h"

/* mpk_macho_is - whether a little-endian Mach-O file begins here, of 32 or 64 bit */
bool mpk_macho_is(struct mpk_span bytes);

/* mpk_macho_read - sections, symbols and needed libraries
 * @bytes   the file; borrowed: names and contents are views of it
 * @arena   receives the lists
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset in "file"; MPK_E_NOMEM. Linear in the file but
 *          for the sort of its symbols.
 * Format   FORMAT.md 1 */
enum mpk_code mpk_macho_read(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_object *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* One file of a universal one. */
struct mpk_macho_slice {
	const char *name; /* "arm64", "x86_64"; in the arena when the machine has no name */
	struct mpk_span bytes;
	uint64_t off;
};

/* mpk_macho_is_universal - whether this is a universal file; class files of Java, which begin
 * alike, are none */
bool mpk_macho_is_universal(struct mpk_span bytes);

/* mpk_macho_slices - the files of a universal file
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset in "file"; MPK_E_NOMEM
 * Format   FORMAT.md 2 */
enum mpk_code mpk_macho_slices(struct mpk_span bytes, struct mpk_arena *arena,
			       struct mpk_macho_slice **out, size_t *count,
			       struct mpk_error *err) MPK_MUST_CHECK;

#endif
