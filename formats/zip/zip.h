/* SPDX-License-Identifier: Apache-2.0 */
/* zip.h - zip archives: Python wheels, Android packages, .npz (FORMAT.md)
 *
 * The directory at the end is read; members are looked at when they are asked for. Offsets in
 * errors count in a space that the caller names.
 */
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

/* The methods of compression that are read. */
enum mpk_zip_method { MPK_ZIP_STORED = 0, MPK_ZIP_DEFLATED = 8 };

struct mpk_zip_member {
	struct mpk_span name;   /* "pkg/lib.so", a folder's with a slash at its end; not checked */
	uint16_t flags, method; /* as stored */
	uint32_t checksum;      /* CRC-32 of the content */
	uint64_t stored, plain; /* bytes, compressed and not, as the directory says */
	uint64_t local;         /* offset of the member's own header */
	struct mpk_span entry;  /* of the directory, as it is stored */
};

/* mpk_zip_is - whether the bytes begin as a zip archive does */
bool mpk_zip_is(struct mpk_span bytes);

/* mpk_zip_list - the members of an archive, in the order of its directory
 * @space   what offsets in errors count in: "file", "npz"
 * @out     in arena; names are views of bytes
 * Returns  MPK_OK; MPK_E_CORRUPT (no directory, one that does not fit the file, or members
 *          that are more than the file); MPK_E_NOMEM
 * Format   FORMAT.md 1, 2 */
enum mpk_code mpk_zip_list(struct mpk_span bytes, const char *space, struct mpk_arena *arena,
			   struct mpk_zip_member **out, size_t *count,
			   struct mpk_error *err) MPK_MUST_CHECK;

struct mpk_zip_options {
	const char *space;  /* as above */
	const char *advice; /* ends the message about what cannot be unpacked: "unpack it" */
	bool check_stored; /* hold stored members against their checksums, too: reads all of them */
	/* Told of compressed bytes that will not be read again; NULL: nobody is. */
	const struct mpk_deflate_reader *reader;
};

/* mpk_zip_read - the content of a member
 * @arena   receives the content of a compressed one; a stored one is a view of bytes
 * Returns  MPK_OK; MPK_E_CORRUPT: it is not where the directory says, or not what its sizes and
 *          checksum say; MPK_E_UNSUPPORTED: encrypted, another method than deflate, or it unpacks
 *          to more than mpk_deflate_limit; MPK_E_NOMEM
 * Format   FORMAT.md 3 */
enum mpk_code mpk_zip_read(struct mpk_span bytes, const struct mpk_zip_member *m,
			   const struct mpk_zip_options *options, struct mpk_arena *arena,
			   struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_zip_unpack - the same without zlib (deflate/inflate.h): for what applications link; check_stored and reader are not
 *          looked at */
enum mpk_code mpk_zip_unpack(struct mpk_span bytes, const struct mpk_zip_member *m,
			     const struct mpk_zip_options *options, struct mpk_arena *arena,
			     struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_zip_stored - the same of a member that is not compressed; its checksum is not looked at
 * Returns  as above; MPK_E_UNSUPPORTED also for one that is compressed */
enum mpk_code mpk_zip_stored(struct mpk_span bytes, const struct mpk_zip_member *m,
			     const struct mpk_zip_options *options, struct mpk_span *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_zip_head - the first bytes of a member, which show its format; nothing of it is checked
 * Returns  how many there are, at most cap; 0: it has none, or cannot be unpacked */
size_t mpk_zip_head(struct mpk_span bytes, const struct mpk_zip_member *m, uint8_t *into,
		    size_t cap);

/* mpk_zip_index - the same of a deflated member, without memory for all of its content
 * @interval, @sink  as mpk_deflate_index_build; sink has seen content before it is known to be wrong
 * @out     in arena, a view of bytes; its parts come from mpk_deflate_index_read
 * Returns  as mpk_zip_read */
enum mpk_code mpk_zip_index(struct mpk_span bytes, const struct mpk_zip_member *m,
			    const struct mpk_zip_options *options, size_t interval,
			    const struct mpk_deflate_sink *sink, struct mpk_arena *arena,
			    struct mpk_deflate_index **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_zip_find - the member of this name; of several the last, which is what unpacking leaves
 * Returns  MPK_OK; MPK_E_NOTFOUND with "did you mean"; MPK_E_NOMEM */
enum mpk_code mpk_zip_find(const struct mpk_zip_member *members, size_t count, struct mpk_span name,
			   size_t *out, struct mpk_error *err) MPK_MUST_CHECK;

/* --- writing ---------------------------------------------------------------------------------- */

/* What becomes of a member. Zero-initialised: it stays. */
struct mpk_zip_change {
	const struct mpk_rope *content; /* as it is to be stored; NULL: it stays as it is */
	bool is_dropped;
	uint16_t method;   /* of content */
	uint32_t checksum; /* CRC-32 of what it unpacks to */
	uint64_t plain;    /* bytes of that */
};

/* mpk_zip_rewrite - the archive with other content of some members
 * The others are copied with their headers, names, times and rights of all stay.
 * @members of mpk_zip_list, with a change for each
 * @out     borrows bytes and contents
 * Returns  MPK_OK; MPK_E_CORRUPT: members that overlap, or are not where the directory says; MPK_E_RANGE: it would
 *          have 4 GiB or more; MPK_E_NOMEM
 * Format   FORMAT.md 1 - 3 */
enum mpk_code mpk_zip_rewrite(struct mpk_span bytes, const char *space,
			      const struct mpk_zip_member *members,
			      const struct mpk_zip_change *changes, size_t count,
			      struct mpk_rope *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
