/* SPDX-License-Identifier: Apache-2.0 */
/* diff_set.h - folders and zip archives as sets of files, and which files of two sets differ */
#ifndef MINSPECT_DIFF_SET_H
#define MINSPECT_DIFF_SET_H

#include "base/arena.h"
#include "base/error.h"
#include "io/mapping.h"

struct minspect_set_item {
	struct mpk_span name; /* the path below the folder, or in the archive */
	uint64_t bytes;       /* unpacked */
	uint32_t checksum;    /* CRC-32; of a folder 0 */
	size_t order;         /* in which it was listed */
};

/* minspect_set_read; minspect_set_fini in every case. */
struct minspect_set_of_files {
	const char *name; /* as the user typed it; borrowed */
	bool is_folder;
	struct minspect_set_item *items; /* by name, each once */
	size_t count, cap;
	uint64_t bytes;         /* of the archive, or of all files in a folder */
	struct mpk_mapping map; /* of an archive */
	struct mpk_arena arena;
};

/* minspect_set_read - list the files of a folder or an archive
 * Returns  MPK_OK; MPK_E_IO; MPK_E_CORRUPT: the archive's directory does not read; MPK_E_NOMEM; with the file's name */
enum mpk_code minspect_set_read(const char *name, bool is_folder, struct minspect_set_of_files *out,
				struct mpk_error *err) MPK_MUST_CHECK;
void minspect_set_fini(struct minspect_set_of_files *s);

/* A file that is not the same in both: older NULL: it was added; newer NULL: it was removed. */
struct minspect_set_change {
	const struct minspect_set_item *older, *newer;
};

struct minspect_set_changes {
	struct minspect_set_change *items; /* by name */
	size_t count, added, removed, changed, equal;
};

/* minspect_sets_compare - which files differ; those of folders are read where their sizes do not tell, and
 * compared by CRC-32 with members of an archive
 * @arena   receives the list
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code minspect_sets_compare(const struct minspect_set_of_files *older,
				    const struct minspect_set_of_files *newer,
				    struct mpk_arena *arena, struct minspect_set_changes *out,
				    struct mpk_error *err) MPK_MUST_CHECK;

#endif
