/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf.h - the source line of an address: the line programs of DWARF 2 to 5 (FORMAT.md)
 *
 * Line programs are executed, and only the rows for the requested addresses are kept. */
#ifndef MPK_FORMATS_DWARF_DWARF_H
#define MPK_FORMATS_DWARF_DWARF_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

/* The sections of a file, little-endian; missing ones are empty. */
struct mpk_dwarf {
	struct mpk_span line;     /* .debug_line */
	struct mpk_span line_str; /* .debug_line_str */
	struct mpk_span str;      /* .debug_str */
};

/* Addresses [from, to) belong to one line. */
struct mpk_dwarf_row {
	uint64_t from, to;
	uint32_t line;    /* 1-based */
	const char *file; /* "/src/host.c", the name that the compiler was given */
};

/* mpk_dwarf_rows - the source lines of addresses [from, to)
 * @budget  bytes of .debug_line that may be read; decreases. All calls for one file share it,
 *          because a call for each function of a large file would take very long
 * @arena   receives rows and names
 * @out     sorted by address; of overlapping rows the first one comes first
 * Returns  MPK_OK, also with none, with the first 1048576 rows, and when the budget is used up;
 *          MPK_E_CORRUPT with the offset in "debug_line"; MPK_E_NOMEM
 * Format   FORMAT.md */
enum mpk_code mpk_dwarf_rows(const struct mpk_dwarf *d, uint64_t from, uint64_t to,
			     uint64_t *budget, struct mpk_arena *arena,
			     const struct mpk_dwarf_row **out, size_t *count,
			     struct mpk_error *err) MPK_MUST_CHECK;

#endif
