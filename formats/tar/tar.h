/* SPDX-License-Identifier: Apache-2.0 */
/* tar.h - tape archives of object files (FORMAT.md)
 *
 * Reads v7, ustar, GNU and pax archives; writes ustar, with pax records if a name or a size needs
 * one. The caller decompresses an archive first (deflate/deflate.h): TVM's own .tar files are gzip
 * files. */
#ifndef MPK_FORMATS_TAR_TAR_H
#define MPK_FORMATS_TAR_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"

enum mpk_tar_type {
	MPK_TAR_FILE,
	MPK_TAR_DIRECTORY,
	MPK_TAR_LINK,    /* hard or symbolic */
	MPK_TAR_SPECIAL, /* device, fifo, or an unknown type */
};

struct mpk_tar_member {
	const char *name; /* in the arena; may be absolute or contain "..": check it before making a
			   * file of it */
	enum mpk_tar_type type;
	struct mpk_span data; /* files only; else empty */
	uint64_t data_off;    /* offset of data in the archive, bytes */
	uint64_t header_off;  /* offset of the member's own header, bytes */
};

struct mpk_tar {
	const struct mpk_tar_member *members; /* in file order */
	size_t member_count;
};

/* mpk_tar_is - whether the bytes begin with a tar header (with a correct checksum) */
bool mpk_tar_is(struct mpk_span bytes);

/* mpk_tar_read - list the members
 * @bytes   the whole archive, not compressed; borrowed
 * @arena   receives the list and the names; data are views of bytes
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset in "file": not an archive, a wrong checksum, a
 *          field that is not a number, a member beyond the end, a name that is empty or contains a
 *          NUL, a broken pax record, no end marker; MPK_E_UNSUPPORTED: sparse and multi-volume
 *          members; MPK_E_NOMEM.
 * Format   FORMAT.md 1 - 3 */
enum mpk_code mpk_tar_read(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_tar *out,
			   struct mpk_error *err) MPK_MUST_CHECK;

/* A regular file to write. */
struct mpk_tar_entry {
	struct mpk_span name;           /* relative path: not empty, no NUL */
	const struct mpk_rope *content; /* must live until the archive is written */
};

/* mpk_tar_write - append an archive of regular files: mode 0644, owner 0
 * @mtime   seconds since 1970 for every member; 0 unless the user asked for another time
 * Ends with two zero blocks. The bytes depend on the arguments only.
 * Returns  MPK_OK; MPK_E_RANGE (an invalid name, mtime of 2^33 or more); MPK_E_NOMEM. On failure
 *          the rope's content is undefined. */
enum mpk_code mpk_tar_write(const struct mpk_tar_entry *entries, size_t count, uint64_t mtime,
			    struct mpk_rope *rope, struct mpk_error *err) MPK_MUST_CHECK;

#endif
