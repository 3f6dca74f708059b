/* SPDX-License-Identifier: Apache-2.0 */
/* page.h - minspect --html: files as one page for a browser
 *
 * The page is a template, lib/show/page/web, that is put together when the program is built,
 * and one JSON document in it. What draws is the template's script; the document is what the other
 * views show of each file, once, and the texts in it.
 */
#ifndef MPK_PAGE_PAGE_H
#define MPK_PAGE_PAGE_H

#include "base/rope.h"
#include "base/strmap.h"
#include "diff/diff.h"
#include "disasm/listing.h"
#include "extract/extract.h"
#include "list/templates.h"
#include "model/device_code.h"
#include "model/view.h"
#include "program/memory.h"
#include "verify/verify.h"
#include "weightfile/weightfile.h"

/* Of one text, and of all texts of a page, bytes: beyond that a text is cut, and the page says how
 * to get all of it. */
#define MPK_PAGE_TEXT_MAX (UINT64_C(4) << 20)
#define MPK_PAGE_TEXTS_MAX (UINT64_C(16) << 20)

/* Of all listings of machine code, bytes. */
#define MPK_PAGE_CODE_MAX (UINT64_C(3) << 20)

/* The same of the libraries of an archive, which is looked at as a whole. */
#define MPK_PAGE_ARCHIVE_TEXT_MAX (UINT64_C(256) << 10)
#define MPK_PAGE_ARCHIVE_TEXTS_MAX (UINT64_C(2) << 20)

/* So many files are shown side by side: their parts and kernels get digests, by which the page tells them apart. */
#define MPK_PAGE_COMPARED 8

/* A source file; the last part of the path in its name is compared. */
struct mpk_page_source {
	const char *name;
	struct mpk_span text;
};

/* A page while files are added: mpk_page_init, mpk_page_fini. It stays where it is. */
struct mpk_page {
	struct mpk_json json;
	struct mpk_arena arena;
	struct mpk_rope document;  /* what of the document has left json */
	struct mpk_strbuf rest;    /* what was left of it in the end */
	struct mpk_strbuf plain;   /* HTML: what is read without scripts */
	size_t unlisted;           /* files without a listing there, for want of room */
	struct mpk_json_at *files; /* NULL before the first is added */
	/* set by who has them, before the first file: source files that are shown beside machine code whose debug information
	 * names them, and the JSON that minspect --run --profile wrote, by which graphs are coloured; borrowed */
	const struct mpk_page_source *sources;
	size_t source_count;
	const struct mpk_span *times;
	/* the extents that the memory of models is counted with; others are 1 */
	struct mpk_memory_ask memory;
	uint64_t texts_left; /* bytes */
	uint64_t text_most;  /* of one, bytes */
	uint64_t code_left;  /* bytes of listings */
	uint64_t lines_left; /* bytes of what code says of kernels, beside its figures */
	uint64_t
		room_left; /* bytes, about, of rows, their names and texts: what has none left is counted */
	uint64_t
		cut_rows; /* of the file that is added now: kernels, containers and parts without a row */
	struct mpk_disasm *
		disasm; /* set by who has helpers that disassemble; NULL: no machine code is shown */
	size_t map_most;       /* children of a node of the map */
	uint64_t digests_left; /* bytes of code that will still be read for digests of kernels */
	bool of_set; /* set by who adds: the next file is one of an archive or a folder that is shown as a whole */
	uint64_t archive_bytes; /* of that archive; 0: it is none */
	bool several;           /* files, or members of archives */
	size_t file_count;
	struct mpk_templates *templates; /* kernels of all files, as --functions counts them */
	/* texts that many rows have, by their number; malloc'ed, as numbers is */
	struct mpk_span *strings;
	size_t string_count, string_cap;
	struct mpk_strmap numbers;
};

/* mpk_page_init - an empty page
 * @several whether more than one file is going to be added */
void mpk_page_init(struct mpk_page *page, bool several);
void mpk_page_fini(struct mpk_page *page);

/* mpk_page_add - add one file: its tree, functions, kernels, parts and texts, sizes, graphs and what
 * verification finds
 * @view    what its code says has been read (mpk_view_show_info, mpk_verify_kernels); borrowed for
 *          the call, like file
 * @file    where the bytes of the view come from; NULL: they are in memory
 * Returns  MPK_OK; MPK_E_CORRUPT when an ELF file no longer opens; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_page_add(struct mpk_page *page, const struct mpk_view *view,
			   const struct mpk_verify_file *file,
			   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_page_add_weights - add a file of weights: what the listing has, with the figures of elements, and what verification
 * finds. The page draws its map from the names of the tensors.
 * Returns  MPK_OK; what mpk_weightfile_verify fails with; MPK_E_NOMEM */
enum mpk_code mpk_page_add_weights(struct mpk_page *page, const struct mpk_weightfile *f,
				   const struct mpk_tap *tap, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_page_print - append the whole page: HTML without a reference to anything outside of it; nothing can be
 * added then
 * @out     views what the page holds
 * mpk_page_document - the same of the document alone, instead
 * Return   MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_page_print(struct mpk_page *page, struct mpk_rope *out,
			     struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_page_document(struct mpk_page *page, struct mpk_rope *out,
				struct mpk_error *err) MPK_MUST_CHECK;

#endif
