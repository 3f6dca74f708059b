/* SPDX-License-Identifier: Apache-2.0 */
/* ar.h - static archives: members, long names, symbol index (FORMAT.md)
 *
 * Reads what GNU, LLVM, BSD and Darwin ar write; writes what GNU ar writes with `rcsD`.
 */
#ifndef MPK_FORMATS_AR_AR_H
#define MPK_FORMATS_AR_AR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"

struct mpk_ar_member {
	struct mpk_span name; /* without padding and '/'; never empty; may have any bytes, also
			       * slashes and "..": check it before making a file of it */
	struct mpk_span data;
	uint64_t data_off;   /* offset of data in the archive, bytes */
	uint64_t header_off; /* offset of the member's header in the archive, bytes */
};

struct mpk_ar_symbol {
	struct mpk_span name;
	size_t member; /* index of the member that defines it */
};

struct mpk_ar {
	const struct mpk_ar_member
		*members; /* in file order, without the index and the name table */
	size_t member_count;
	const struct mpk_ar_symbol *symbols; /* in the order of the index */
	size_t symbol_count;
	bool has_index;
};

/* mpk_ar_is - whether the bytes begin with the magic number of an archive, also a thin one */
bool mpk_ar_is(struct mpk_span bytes);

/* mpk_ar_read - list the members and the symbol index
 * @bytes   the whole archive; borrowed
 * @arena   receives both lists; names and data are views of bytes
 * Returns  MPK_OK, also for an archive without members;
 *          MPK_E_CORRUPT with the offset in "file": no archive, a broken header, a member
 *          beyond the end, a long name that is not in the table, an index entry that
 *          names no member; MPK_E_UNSUPPORTED: a thin archive; MPK_E_NOMEM.
 * Format   FORMAT.md 1 - 4 */
enum mpk_code mpk_ar_read(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_ar *out,
			  struct mpk_error *err) MPK_MUST_CHECK;

/* A member to write. */
struct mpk_ar_entry {
	struct mpk_span name;           /* a file name: not empty, no '/', newline or NUL */
	const struct mpk_rope *content; /* must live until the archive is written */
	const struct mpk_span
		*symbols; /* symbols that the member defines, as the index lists them */
	size_t symbol_count;
};

/* mpk_ar_write - append an archive: index "/", long names "//", members in the given order
 * Times, owners and the index's mode are 0, members have mode 0644: the bytes depend on the entries
 * only and equal those of `ar rcsD`. The index is written if any entry has symbols; it has 64-bit
 * offsets ("/SYM64/") if a header lies beyond 4 GiB.
 * Returns  MPK_OK; MPK_E_RANGE (an invalid name, a symbol that is empty or has a NUL, a member of
 *          10^10 bytes or more); MPK_E_NOMEM. On failure the rope's content is undefined. */
enum mpk_code mpk_ar_write(const struct mpk_ar_entry *entries, size_t count, struct mpk_rope *rope,
			   struct mpk_error *err) MPK_MUST_CHECK;

/* --- used by reader and writer: FORMAT.md 1, 2 ------------------------------------------- */

#define MPK_AR_MAGIC "!<arch>\n"
#define MPK_AR_THIN_MAGIC "!<thin>\n"

enum {
	MPK_AR_MAGIC_BYTES = 8,
	MPK_AR_HEADER_BYTES = 60,
	MPK_AR_NAME_BYTES = 16, /* at offset 0, then date 12, uid 6, gid 6, mode 8 */
	MPK_AR_SIZE_OFF = 48,   /* 10 decimal digits */
	MPK_AR_SIZE_BYTES = 10,
	MPK_AR_END_OFF = 58, /* "`\n" */
};

#endif
