/* SPDX-License-Identifier: Apache-2.0 */
/* zip.h - zip archives: Python wheels, Android packages, .npz (FORMAT.md)
 *
 * The directory at the end is read; members are read when they are asked for. Offsets in errors
 * count in a space that the caller names. */
#ifndef MPK_FORMATS_ZIP_ZIP_H
#define MPK_FORMATS_ZIP_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "deflate/deflate.h"

/* The methods of compression that can be read. */
enum mpk_zip_method { MPK_ZIP_STORED = 0, MPK_ZIP_DEFLATED = 8 };

struct mpk_zip_member {
	struct mpk_span name;   /* "pkg/lib.so"; a folder has a slash at its end; not checked */
	uint16_t flags, method; /* as stored */
	uint32_t checksum;      /* CRC-32 of the content */
	uint64_t stored, plain; /* bytes compressed and decompressed, according to the directory */
	uint64_t local;         /* offset of the member's own header */
	struct mpk_span entry;  /* its entry in the directory, as stored */
};

/* mpk_zip_is - whether the bytes begin with the magic number of a zip archive */
bool mpk_zip_is(struct mpk_span bytes);

/* mpk_zip_list - list the members of an archive, in the order of its directory
 * @space   the space in which offsets of errors count: "file", "npz"
 * @out     in arena; names are views of bytes
 * Returns  MPK_OK; MPK_E_CORRUPT (no directory, one that does not fit in the file, or members
 *          larger than the file); MPK_E_NOMEM
 * Format   FORMAT.md 1, 2 */
enum mpk_code mpk_zip_list(struct mpk_span bytes, const char *space, struct mpk_arena *arena,
			   struct mpk_zip_member **out, size_t *count,
			   struct mpk_error *err) MPK_MUST_CHECK;

struct mpk_zip_options {
	const char *space;  /* space of offsets, as for mpk_zip_list */
	const char *advice; /* end of the message about a member that cannot be decompressed:
			     * "unpack it" */
	bool check_stored;  /* also compare stored members with their checksums, which reads all
			    * their bytes */
	/* Called with compressed bytes that will not be read again; may be NULL. */
	const struct mpk_deflate_reader *reader;
};

/* mpk_zip_read - the content of a member
 * @arena   receives the content of a compressed member; a stored one is a view of bytes
 * Returns  MPK_OK; MPK_E_CORRUPT: it is not where the directory says, or does not have its sizes
 *          and checksum; MPK_E_UNSUPPORTED: encrypted, another method than deflate, or it
 *          decompresses to more than mpk_deflate_limit; MPK_E_NOMEM
 * Format   FORMAT.md 3 */
enum mpk_code mpk_zip_read(struct mpk_span bytes, const struct mpk_zip_member *m,
			   const struct mpk_zip_options *options, struct mpk_arena *arena,
			   struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_zip_unpack - as mpk_zip_read without zlib (deflate/inflate.h), for code that applications
 * link; check_stored and reader are ignored */
enum mpk_code mpk_zip_unpack(struct mpk_span bytes, const struct mpk_zip_member *m,
			     const struct mpk_zip_options *options, struct mpk_arena *arena,
			     struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_zip_stored - as mpk_zip_read for a stored member; its checksum is not compared
 * Returns  as mpk_zip_read; MPK_E_UNSUPPORTED also for a compressed member */
enum mpk_code mpk_zip_stored(struct mpk_span bytes, const struct mpk_zip_member *m,
			     const struct mpk_zip_options *options, struct mpk_span *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_zip_head - the first bytes of a member, which show its format; nothing is checked
 * Returns  their number, at most cap; 0: the member is empty, or cannot be decompressed */
size_t mpk_zip_head(struct mpk_span bytes, const struct mpk_zip_member *m, uint8_t *into,
		    size_t cap);

/* mpk_zip_index - check a deflated member, and make an index of its parts, without memory for all
 * of its content
 * @interval, @sink  as for mpk_deflate_index_build; sink receives content before it is known to be
 *          valid
 * @out     in arena, a view of bytes; mpk_deflate_index_read reads its parts
 * Returns  as mpk_zip_read */
enum mpk_code mpk_zip_index(struct mpk_span bytes, const struct mpk_zip_member *m,
			    const struct mpk_zip_options *options, size_t interval,
			    const struct mpk_deflate_sink *sink, struct mpk_arena *arena,
			    struct mpk_deflate_index **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_zip_find - the member of this name; if there are several the last, which unpacking would
 * leave
 * Returns  MPK_OK; MPK_E_NOTFOUND with "did you mean"; MPK_E_NOMEM */
enum mpk_code mpk_zip_find(const struct mpk_zip_member *members, size_t count, struct mpk_span name,
			   size_t *out, struct mpk_error *err) MPK_MUST_CHECK;

/* --- writing ---------------------------------------------------------------------------------- */

/* How a member changes. Zero-initialised: not at all. */
struct mpk_zip_change {
	const struct mpk_rope *content; /* its new bytes as stored; NULL: unchanged */
	bool is_dropped;
	uint16_t method;   /* method of compression of content */
	uint32_t checksum; /* CRC-32 of the decompressed content */
	uint64_t plain;    /* bytes of the decompressed content */
};

/* mpk_zip_rewrite - copy an archive with other contents for some members
 * Other members are copied with their headers; names, times and permissions of all members stay.
 * @members of mpk_zip_list, with a change for each
 * @out     borrows bytes and contents
 * Returns  MPK_OK; MPK_E_CORRUPT: members overlap, or are not where the directory says;
 *          MPK_E_RANGE: the result would have 4 GiB or more; MPK_E_NOMEM
 * Format   FORMAT.md 1 - 3 */
enum mpk_code mpk_zip_rewrite(struct mpk_span bytes, const char *space,
			      const struct mpk_zip_member *members,
			      const struct mpk_zip_change *changes, size_t count,
			      struct mpk_rope *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
