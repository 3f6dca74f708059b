/* SPDX-License-Identifier: Apache-2.0 */
/* listing.h - the contents of an archive or a folder: totals, then a row for each file */
#ifndef MPK_CMD_MINSPECT_LISTING_H
#define MPK_CMD_MINSPECT_LISTING_H

#include "base/arena.h"
#include "list/templates.h"
#include "list/totals.h"

/* A row about one file. */
struct minspect_listed {
	uint64_t bytes; /* unpacked size */
	const char *name,
		*what;       /* what: its content, "" if it has nothing of interest; both escaped */
	const char *machine; /* static; NULL if none */
};

/* Zero-initialise, add files, print, free with minspect_listing_fini. */
struct minspect_listing {
	struct mpk_arena arena;
	struct mpk_totals totals;
	struct mpk_templates *templates; /* NULL until the first file is added */
	struct minspect_listed *items;   /* in the order of addition; malloc'ed */
	size_t count, cap;
};

void minspect_listing_fini(struct minspect_listing *l);

/* minspect_listing_add - add a row for an opened file, and its share of the totals; nothing of view
 * is kept
 * minspect_listing_add_text - add a row for a file with the given text only
 * @name    not escaped
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code minspect_listing_add(struct minspect_listing *l, struct mpk_span name, uint64_t bytes,
				   const struct mpk_view *view,
				   struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code minspect_listing_add_text(struct minspect_listing *l, struct mpk_span name,
					uint64_t bytes, const char *text,
					struct mpk_error *err) MPK_MUST_CHECK;

/* minspect_listing_put_machine - append " for x86-64" if all files are for one machine */
void minspect_listing_put_machine(const struct minspect_listing *l, struct mpk_strbuf *out);

/* minspect_listing_put - append the totals, the rows of the largest files, and the number of the
 * others
 * @is_whole  print a row for every file */
void minspect_listing_put(const struct minspect_listing *l, bool is_whole, struct mpk_strbuf *out);

#endif
