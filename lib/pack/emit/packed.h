/* SPDX-License-Identifier: Apache-2.0 */
/* packed.h - writing a file with a blob packed into it, so that its package note tells the
 * digest of the blob
 *
 * A small blob is read first, to be hashed. A large one is hashed while it is copied, and the
 * note, which is out by then, is written once more.
 */
#ifndef MPK_EMIT_PACKED_H
#define MPK_EMIT_PACKED_H

#include "base/arena.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "elf/note.h"
#include "io/mapping.h"
#include "io/output.h"

/* A file made from another one by putting in a blob. All borrowed. */
struct mpk_packed {
	const struct mpk_private *file; /* the file it is made from; rope has views of it */
	struct mpk_note note;           /* of that file; no offsets: nothing is to be renewed */
	const struct mpk_rope *rope;    /* all bytes */
	const struct mpk_rope *blob;    /* those of the blob, which rope holds piece by piece */
	const struct mpk_rope *old;     /* the blob before, which must have the digest of the note;
				      * NULL: that does not matter */
};

/* mpk_packed_note - the package note of a file in memory, for struct mpk_packed
 * To be called before the file's headers are changed.
 * @symbol  of the blob
 * @id      the build id that the linker was given, 16 bytes, to be looked for; NULL: the one
 *          that the note tells
 * Returns  MPK_OK, also for what is no ELF file or has no note; MPK_E_NOMEM */
enum mpk_code mpk_packed_note(struct mpk_span file, const char *symbol, const uint8_t *id,
			      struct mpk_arena *arena, struct mpk_note *out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_packed_write - write rope, with the note of the symbol telling the digest of blob
 * The build id follows when it began with the old digest. A file without a package note, or
 * whose note is not laid out as ours, is written as it is. s->file is changed, too.
 * Returns  MPK_OK; MPK_E_CORRUPT: old is not what the note tells, and must not be passed
 *          off as valid; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_packed_write(const struct mpk_packed *s, struct mpk_output *o,
			       struct mpk_error *err) MPK_MUST_CHECK;

#endif
