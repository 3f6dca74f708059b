/* SPDX-License-Identifier: Apache-2.0 */
/* check_there.h - what the options of --check describe */
#ifndef MPK_CMD_MINSPECT_CHECK_THERE_H
#define MPK_CMD_MINSPECT_CHECK_THERE_H

#include "check/set.h"
#include "minspect/minspect.h"

/* Libraries of the packages that are checked, by which others of them are found. */
struct minspect_siblings {
	const struct minspect_options *options;
	const struct minspect_file *archive; /* that is looked at; NULL: a file by itself */
	struct minspect_file *archives;      /* the others of the command line, */
	size_t archive_count;
	bool is_open;                    /* once somebody asked */
	struct minspect_file **unpacked; /* members that were needed */
	size_t unpacked_count, unpacked_cap;
	struct mpk_arena arena;
};

/* Every release with every device. */
struct minspect_places {
	struct mpk_there *items;
	size_t count;
	struct mpk_check_set set;  /* what was found in each, of several files */
	struct mpk_strbuf details; /* the answers of the files, for --all */
	size_t devices;
	struct mpk_arena *arena;
	bool failed;   /* memory is out */
	bool is_set;   /* there are several files, or may be */
	bool is_ended; /* the set is summed up */
	struct minspect_siblings *siblings;
};

/* minspect_siblings_init - have libraries of packages found in all places
 * @o       borrowed
 * minspect_siblings_enter - what is looked at now is of this archive; NULL: of none
 * minspect_siblings_fini - release; safe on a zeroed structure */
void minspect_siblings_init(struct minspect_siblings *s, const struct minspect_options *o,
			    struct minspect_places *places);
void minspect_siblings_enter(struct minspect_siblings *s, const struct minspect_file *archive);
void minspect_siblings_fini(struct minspect_siblings *s);

/* minspect_places_set - fill them from the command line; an error was printed
 * @common  what all of them share; its runtimes are for mpk_dso_close
 * Returns  the exit status */
int minspect_places_set(const struct minspect_options *o, struct mpk_arena *arena,
			struct mpk_there *common, struct minspect_places *out);

#endif
