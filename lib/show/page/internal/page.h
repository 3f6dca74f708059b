/* SPDX-License-Identifier: Apache-2.0 */
/* internal/page.h - what the files of the page share: lists of many rows, which are arrays and not objects, and the
 * lists of each file */
#ifndef MPK_PAGE_INTERNAL_PAGE_H
#define MPK_PAGE_INTERNAL_PAGE_H

#include "page/page.h"

/* Texts that many rows have are in the document once, in "strings"; a row has the number. Columns of such texts
 * begin with '$' in "columns", where each list of rows has the names of what its arrays hold, and columns of lists of
 * them with '*'. */

/* mpk_page_shared - append the number of a text to an array
 * Failures are remembered by the page.
 * mpk_page_shared_text - the same; NULL is null */
void mpk_page_shared(struct mpk_page *page, struct mpk_json *j, struct mpk_json_at *row,
		     struct mpk_span text);
void mpk_page_shared_text(struct mpk_page *page, struct mpk_json *j, struct mpk_json_at *row,
			  const char *text);

/* mpk_page_shared_member - the same as a member of an object; the text is taken and freed */
void mpk_page_shared_member(struct mpk_page *page, struct mpk_json *j, struct mpk_json_at *at,
			    const char *name, struct mpk_strbuf *text);

/* mpk_page_has_room - whether a row can be added to the page of an archive; where not it is counted as cut
 * mpk_page_uses - take bytes from what room is left */
bool mpk_page_has_room(struct mpk_page *page);
static inline void mpk_page_uses(struct mpk_page *page, uint64_t bytes)
{
	page->room_left -= bytes < page->room_left ? bytes : page->room_left;
}

/* mpk_page_compares - whether the file that is added now may be shown beside others */
static inline bool mpk_page_compares(const struct mpk_page *page)
{
	return page->several && page->file_count <= MPK_PAGE_COMPARED;
}

/* mpk_page_sources - put "sources", the source files with the rules by which each is coloured, and "times", where there
 * are such */
void mpk_page_sources(struct mpk_page *page);

/* mpk_page_modules - put "tree", the modules; "functions", "models" and "kernels", what can be called, with what kernels need
 * on each device, and where the page compares what tells them from others: the digest of their own text or code, and of
 * the text around all of them; neither where that would be too much to read; "gpu_containers" and "gpu_code"
 * @at      the object of the file
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_page_modules(struct mpk_page *page, const struct mpk_view *view,
			       struct mpk_json_at *at, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_page_devices - put "runs": of each device that the file has code for the maker of, what --check says of it, by the word
 * "yes", "ptx" (the driver compiles it), "part" or "no", the number of a text of "strings": names with blanks between them
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_page_devices(struct mpk_page *page, const struct mpk_view *view,
			       struct mpk_json_at *at, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_page_parts - put "parts": what --extract would write, and texts that stand in a container with other images; then
 * "code": listings of machine code, where the page has helpers that disassemble; "code_problems": why some of it has
 * none; "code_is_cut": there was no room for all of it; and "graphs"
 * @map     the file; NULL: its bytes are in memory
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_page_parts(struct mpk_page *page, const struct mpk_view *view,
			     const struct mpk_mapping *map, struct mpk_json_at *at,
			     struct mpk_error *err) MPK_MUST_CHECK;

#endif
