/* SPDX-License-Identifier: Apache-2.0 */
/* internal/page.h - declarations shared by the page: compact lists with arrays as rows, and the
 * lists of each file */
#ifndef MPK_PAGE_INTERNAL_PAGE_H
#define MPK_PAGE_INTERNAL_PAGE_H

#include "page/page.h"

/* A text that many rows share is stored once, in "strings"; a row has its number. Each list of rows
 * names its columns in "columns": a name with a leading '$' marks a column of such texts, and '*' a
 * column of lists of such texts. */

/* mpk_page_shared - append the number of a text to an array
 * The page remembers failures.
 * mpk_page_shared_text - the same; NULL becomes null */
void mpk_page_shared(struct mpk_page *page, struct mpk_json *j, struct mpk_json_at *row,
		     struct mpk_span text);
void mpk_page_shared_text(struct mpk_page *page, struct mpk_json *j, struct mpk_json_at *row,
			  const char *text);

/* mpk_page_shared_member - the same as a member of an object; frees the text */
void mpk_page_shared_member(struct mpk_page *page, struct mpk_json *j, struct mpk_json_at *at,
			    const char *name, struct mpk_strbuf *text);

/* mpk_page_has_room - whether a row can be added to the page of an archive; if not, the row is
 * counted as cut
 * mpk_page_uses - deduct bytes from the remaining room */
bool mpk_page_has_room(struct mpk_page *page);
static inline void mpk_page_uses(struct mpk_page *page, uint64_t bytes)
{
	page->room_left -= bytes < page->room_left ? bytes : page->room_left;
}

/* mpk_page_compares - whether the page may show the current file next to others */
static inline bool mpk_page_compares(const struct mpk_page *page)
{
	return page->several && page->file_count <= MPK_PAGE_COMPARED;
}

/* mpk_page_sources - put "sources", the source files with their colouring rules, and "times", if
 * there are any */
void mpk_page_sources(struct mpk_page *page);

/* mpk_page_modules - put "tree", the modules; "functions", "models" and "kernels", what can be
 * called and the resources of kernels on each device; "gpu_containers" and "gpu_code"
 * If the page compares files, kernels also get two digests: one of their own text or code, and
 * one of the surrounding text. Both are omitted if too much would have to be read.
 * @at      the object of the file
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_page_modules(struct mpk_page *page, const struct mpk_view *view,
			       struct mpk_json_at *at, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_page_devices - put "runs": the verdict of --check for each device of a maker that the file
 * has code for. Its members "yes", "ptx" (the driver compiles the code), "part" and "no" are
 * numbers of texts in "strings": device names with blanks between them
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_page_devices(struct mpk_page *page, const struct mpk_view *view,
			       struct mpk_json_at *at, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_page_parts - put "parts": the files that --extract would write, and texts in a container with
 * other images; "code": listings of machine code, if the page has helpers that disassemble;
 * "code_problems": why some listings are missing; "code_is_cut": some did not fit; and "graphs"
 * @map     the file; NULL if its bytes are in memory
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_page_parts(struct mpk_page *page, const struct mpk_view *view,
			     const struct mpk_mapping *map, struct mpk_json_at *at,
			     struct mpk_error *err) MPK_MUST_CHECK;

#endif
