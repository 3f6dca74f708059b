/* SPDX-License-Identifier: Apache-2.0 */
/* diff_set.h - folders and zip archives as sets of files, and the differences between two sets */
#ifndef MINSPECT_DIFF_SET_H
#define MINSPECT_DIFF_SET_H

#include "base/arena.h"
#include "base/error.h"
#include "io/mapping.h"

struct minspect_set_item {
	struct mpk_span name; /* path below the folder, or in the archive */
	struct mpk_span key;  /* the name, in NAME-VERSION.dist-info/ without the version */
	uint64_t bytes;       /* unpacked size */
	uint32_t checksum;    /* CRC-32; 0 in a folder */
	size_t order;         /* position in the list */
};

/* Read with minspect_set_read; call minspect_set_fini in every case. */
struct minspect_set_of_files {
	const char *name; /* the name that the user gave; borrowed */
	bool is_folder;
	struct minspect_set_item *items; /* sorted by key, without duplicates */
	size_t count, cap;
	uint64_t bytes;         /* size of the archive, or of all files in a folder */
	struct mpk_mapping map; /* mapping of an archive */
	struct mpk_arena arena;
};

/* minspect_set_read - list the files of a folder or an archive
 * Returns  MPK_OK; MPK_E_IO; MPK_E_CORRUPT: the archive's directory cannot be read; MPK_E_NOMEM;
 *          errors have the file's name */
enum mpk_code minspect_set_read(const char *name, bool is_folder, struct minspect_set_of_files *out,
				struct mpk_error *err) MPK_MUST_CHECK;
void minspect_set_fini(struct minspect_set_of_files *s);

/* A file that differs: older is NULL if it was added; newer is NULL if it was removed. */
struct minspect_set_change {
	const struct minspect_set_item *older, *newer;
};

struct minspect_set_changes {
	struct minspect_set_change *items; /* sorted by key */
	size_t count, added, removed, changed, equal;
};

/* minspect_sets_compare - list the files that differ; files in folders are read if their sizes are
 * equal, and compared by CRC-32 with members of an archive
 * @arena   receives the list
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code minspect_sets_compare(const struct minspect_set_of_files *older,
				    const struct minspect_set_of_files *newer,
				    struct mpk_arena *arena, struct minspect_set_changes *out,
				    struct mpk_error *err) MPK_MUST_CHECK;

#endif
