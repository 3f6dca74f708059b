/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf.h - which source line an address is of: the line programs of DWARF 2 to 5 (FORMAT.md)
 *
 * Programs are run, not kept: of what they say about a whole library only the rows of the addresses that
 * were asked for stay.
 */
#ifndef MPK_FORMATS_DWARF_DWARF_H
#define MPK_FORMATS_DWARF_DWARF_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

/* The sections of a file, as far as it has them; little-endian. */
struct mpk_dwarf {
	struct mpk_span line;     /* .debug_line */
	struct mpk_span line_str; /* .debug_line_str */
	struct mpk_span str;      /* .debug_str */
};

/* Addresses [from, to) are of one line. */
struct mpk_dwarf_row {
	uint64_t from, to;
	uint32_t line;    /* 1-based */
	const char *file; /* "/src/host.c", as it was given to the compiler */
};

/* mpk_dwarf_rows - the lines of addresses [from, to)
 * @budget  how many bytes of .debug_line may be read, less what was: runs over one file share it, as many
 *          functions of a large file would take forever
 * @arena   receives rows and names
 * @out     sorted by address; of rows that overlap the first is first
 * Returns  MPK_OK, also with none, with the first 1048576 of more, and when the budget is spent; MPK_E_CORRUPT with the offset in
 *          "debug_line"; MPK_E_NOMEM
 * Format   FORMAT.md */
enum mpk_code mpk_dwarf_rows(const struct mpk_dwarf *d, uint64_t from, uint64_t to,
			     uint64_t *budget, struct mpk_arena *arena,
			     const struct mpk_dwarf_row **out, size_t *count,
			     struct mpk_error *err) MPK_MUST_CHECK;

#endif
