/* SPDX-License-Identifier: Apache-2.0 */
/* macho.h - universal files of Mach-O objects, dynamic libraries and bundles, which object/object.h has (FORMAT.md) */
#ifndef MPK_FORMATS_MACHO_MACHO_H
#define MPK_FORMATS_MACHO_MACHO_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

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
