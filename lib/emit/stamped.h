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
	struct mpk_stamp stamp;      /* of that file; name NULL: nothing is to be renewed */
	const struct mpk_rope *rope; /* all bytes */
	const struct mpk_rope *blob; /* those of the blob, which rope holds piece by piece */
};

/* mpk_stamped_find - the stamp of a file in memory, for struct mpk_stamped
 * To be called before the file's headers are changed.
 * @symbol  of the blob
 * Returns  MPK_OK, also for what is no ELF file or has no stamp; MPK_E_NOMEM */
enum mpk_code mpk_stamped_find(struct mpk_span file, const char *symbol,
			       struct mpk_arena *arena, struct mpk_stamp *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_stamped_write - write rope, with the stamp of the symbol telling the digest of blob
 * The build id follows when it began with the old digest. A file without a stamp, or
 * whose stamp is not laid out as ours, is written as it is. A large blob is not read for
 * this: its bytes are hashed on the side while they are copied.
 * @arena   scratch
 * Returns  MPK_OK; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_stamped_write(const struct mpk_stamped *s, struct mpk_arena *arena,
				struct mpk_output *o, struct mpk_error *err) MPK_MUST_CHECK;

#endif
