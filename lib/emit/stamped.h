/* stamped.h - writing a file whose note tells the digest of the blob in it */
#ifndef MPK_EMIT_STAMPED_H
#define MPK_EMIT_STAMPED_H

#include "base/arena.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "elf/stamp.h"
#include "io/output.h"

/* A file made from another one by putting in a blob. All borrowed. */
struct mpk_stamped {
	struct mpk_span file;        /* the file it is made from; rope has views of it */
	struct mpk_stamp stamp;      /* of that file; no offsets: nothing is to be renewed */
	const struct mpk_rope *rope; /* all bytes */
	const struct mpk_rope *blob; /* those of the blob, which rope holds piece by piece */
	const struct mpk_rope *old;  /* the blob before, which must have the stamp's digest; NULL:
				      * that does not matter */
};

/* mpk_stamped_find - the stamp of a file in memory, for struct mpk_stamped
 * To be called before the file's headers are changed.
 * @symbol  of the blob
 * @id      the build id that the linker was given, 16 bytes, to be looked for; NULL: the one
 *          that the stamp tells
 * Returns  MPK_OK, also for what is no ELF file or has no stamp; MPK_E_NOMEM */
enum mpk_code mpk_stamped_find(struct mpk_span file, const char *symbol, const uint8_t *id,
			       struct mpk_arena *arena, struct mpk_stamp *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_stamped_write - write rope, with the stamp of the symbol telling the digest of blob
 * The build id follows when it began with the old digest. A file without a stamp, or
 * whose stamp is not laid out as ours, is written as it is. A large blob is not read for
 * this: its bytes are hashed on the side while they are copied, and so are those of old.
 * @arena   scratch
 * Returns  MPK_OK; MPK_E_CORRUPT: old is not what the stamp tells, and must not be passed
 *          off as sound; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_stamped_write(const struct mpk_stamped *s, struct mpk_arena *arena,
				struct mpk_output *o, struct mpk_error *err) MPK_MUST_CHECK;

#endif
