/* SPDX-License-Identifier: Apache-2.0 */
/* listing.h - what the files of an archive or a folder hold: totals, then a row for each */
#ifndef MPK_CMD_MINSPECT_LISTING_H
#define MPK_CMD_MINSPECT_LISTING_H

#include "base/arena.h"
#include "list/templates.h"
#include "list/totals.h"

/* What is said of a file in a row. */
struct minspect_listed {
	uint64_t bytes; /* unpacked */
	const char *name,
		*what; /* what: "" when the file holds nothing that is looked for; both escaped */
	const char *machine; /* static; NULL: none */
};

/* Zero-initialise, add files, put, minspect_listing_fini. */
struct minspect_listing {
	struct mpk_arena arena;
	struct mpk_totals totals;
	struct mpk_templates *templates; /* NULL: no file was added yet */
	struct minspect_listed *items;   /* in the order in which they were added; malloc'ed */
	size_t count, cap;
};

void minspect_listing_fini(struct minspect_listing *l);

/* minspect_listing_add - a row of a file that opened, with its part of the totals; nothing of view is kept
 * minspect_listing_add_text - a row of one of which a text is all there is
 * @name    not escaped
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code minspect_listing_add(struct minspect_listing *l, struct mpk_span name, uint64_t bytes,
				   const struct mpk_view *view,
				   struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code minspect_listing_add_text(struct minspect_listing *l, struct mpk_span name,
					uint64_t bytes, const char *text,
					struct mpk_error *err) MPK_MUST_CHECK;

/* minspect_listing_put_machine - the machine where all files are for one: " for x86-64" */
void minspect_listing_put_machine(const struct minspect_listing *l, struct mpk_strbuf *out);

/* minspect_listing_put - the totals, the rows of the largest, and how many are left out
 * @is_whole  every file has a row */
void minspect_listing_put(const struct minspect_listing *l, bool is_whole, struct mpk_strbuf *out);

#endif
