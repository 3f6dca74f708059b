/* SPDX-License-Identifier: Apache-2.0 */
/* dump_index.h - the files of a dump, to be found by operator (dump.h)
 *
 * Two builds of a model, for a CPU and for a GPU, have most operators in common and not all: compilers fuse
 * them in different ways. So results are found by the name of their operator, those of operators that are
 * called several times in their order.
 */
#ifndef MPK_OBSERVE_INTERNAL_DUMP_INDEX_H
#define MPK_OBSERVE_INTERNAL_DUMP_INDEX_H

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "base/strmap.h"

/* Zero-initialise; mpk_dump_index_fini. */
struct mpk_dump_index {
	struct mpk_arena arena;
	struct mpk_dump_file {
		const char *name;
		size_t next; /* of the same key, behind it; count: none */
	} *files;            /* in the order of their run */
	size_t count, cap;
	struct mpk_strmap keys; /* numbers them */
	size_t *heads;          /* of each key the first file that was not taken so far, or count */
	size_t key_count, key_cap;
};

/* mpk_dump_index_read - list a directory
 * Returns  MPK_OK; MPK_E_IO: no such directory; MPK_E_CORRUPT: no file of a dump in it, with the
 *          directory's name; MPK_E_NOMEM. mpk_dump_index_fini in every case. */
enum mpk_code mpk_dump_index_read(struct mpk_dump_index *index, const char *dir,
				  struct mpk_error *err) MPK_MUST_CHECK;
void mpk_dump_index_fini(struct mpk_dump_index *index);

/* mpk_dump_index_take - the next file with a key (mpk_result_key), which is then taken; NULL: there
 * is none left. Borrowed */
const char *mpk_dump_index_take(struct mpk_dump_index *index, struct mpk_span key);

#endif
