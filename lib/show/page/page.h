/* SPDX-License-Identifier: Apache-2.0 */
/* page.h - minspect --html: shows files as one page for a browser
 *
 * The page is a template, assembled from lib/show/page/web when the program is built, and one JSON
 * document in it. The template's script draws the page; the document holds the data of the other
 * views of each file, each text once.
 */
#ifndef MPK_PAGE_PAGE_H
#define MPK_PAGE_PAGE_H

#include "base/rope.h"
#include "base/strmap.h"
#include "diff/diff.h"
#include "disasm/listing.h"
#include "extract/extract.h"
#include "list/templates.h"
#include "list/totals.h"
#include "model/device_code.h"
#include "model/view.h"
#include "program/memory.h"
#include "verify/verify.h"
#include "weightfile/weightfile.h"

/* Limits in bytes for one text and for all texts of a page. A longer text is cut, and the page
 * tells how to get all of it. */
#define MPK_PAGE_TEXT_MAX (UINT64_C(4) << 20)
#define MPK_PAGE_TEXTS_MAX (UINT64_C(16) << 20)

/* Limit in bytes for all listings of machine code. */
#define MPK_PAGE_CODE_MAX (UINT64_C(3) << 20)

/* The same limit for an archive, which has one page for all its libraries. */
#define MPK_PAGE_ARCHIVE_TEXT_MAX (UINT64_C(256) << 10)
#define MPK_PAGE_ARCHIVE_TEXTS_MAX (UINT64_C(2) << 20)

/* Maximum number of files shown side by side. Their parts and kernels get digests, by which the
 * page compares them. */
#define MPK_PAGE_COMPARED 8

/* A source file; names are compared by the last part of the path. */
struct mpk_page_source {
	const char *name;
	struct mpk_span text;
};

/* A page under construction: mpk_page_init, mpk_page_fini. It must not be moved. */
struct mpk_page {
	struct mpk_json json;
	struct mpk_arena arena;
	struct mpk_rope document;  /* completed parts of the document, taken out of json */
	struct mpk_strbuf rest;    /* the rest of the document */
	struct mpk_strbuf plain;   /* HTML: listings for browsers without scripts */
	size_t unlisted;           /* files without such a listing, for lack of room */
	struct mpk_json_at *files; /* NULL before the first file is added */
	/* set by the caller before the first file, borrowed: source files to show next to machine
	 * code whose debug information names them, and the JSON of minspect --run --profile, by
	 * which graphs are coloured */
	const struct mpk_page_source *sources;
	size_t source_count;
	const struct mpk_span *times;
	/* extents for the memory of models; all others are 1 */
	struct mpk_memory_ask memory;
	uint64_t texts_left; /* bytes that further texts may use */
	uint64_t text_most;  /* maximum bytes of one text */
	uint64_t code_left;  /* bytes that further listings may use */
	uint64_t lines_left; /* bytes that further text lines about kernels may use */
	/* approximate bytes that further rows may use; rows that do not fit are only counted */
	uint64_t room_left;
	/* for the file being added: kernels, containers and parts without a row */
	uint64_t cut_rows;
	/* set by a caller with helpers that disassemble; NULL: no machine code is shown */
	struct mpk_disasm *disasm;
	size_t map_most;       /* maximum number of children of a node in the map */
	uint64_t digests_left; /* bytes of code that may still be read for digests of kernels */
	/* set by the caller: the next file belongs to an archive or folder that is shown as a
	 * whole */
	bool of_set;
	uint64_t archive_bytes; /* bytes of that archive; 0 if there is none */
	bool several;           /* there are several files, or members of archives */
	size_t file_count;
	struct mpk_templates *templates; /* kernels of all files, counted as in --functions */
	struct mpk_totals totals;        /* bytes of all files by device */
	/* texts that many rows share, by number; malloc'ed, like numbers */
	struct mpk_span *strings;
	size_t string_count, string_cap;
	struct mpk_strmap numbers;
};

/* mpk_page_init - make an empty page
 * @several more than one file will be added */
void mpk_page_init(struct mpk_page *page, bool several);
void mpk_page_fini(struct mpk_page *page);

/* mpk_page_add - add one file: its tree, functions, kernels, parts and texts, sizes, graphs and the
 * findings of --verify
 * @view    its code has been read (mpk_view_show_info, mpk_verify_kernels); borrowed for the call,
 *          like file
 * @file    the file that holds the view's bytes; NULL if they are in memory
 * Returns  MPK_OK; MPK_E_CORRUPT if an ELF file no longer opens; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_page_add(struct mpk_page *page, const struct mpk_view *view,
			   const struct mpk_verify_file *file,
			   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_page_add_weights - add a file of weights: its listing with statistics of elements, and the
 * findings of verification. The page draws its map from the names of the tensors.
 * Returns  MPK_OK; errors of mpk_weightfile_verify; MPK_E_NOMEM */
enum mpk_code mpk_page_add_weights(struct mpk_page *page, const struct mpk_weightfile *f,
				   const struct mpk_tap *tap, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_page_print - append the whole page as self-contained HTML; nothing can be added afterwards
 * @out     refers to memory of the page
 * mpk_page_document - the same, but only the JSON document
 * Return   MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_page_print(struct mpk_page *page, struct mpk_rope *out,
			     struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_page_document(struct mpk_page *page, struct mpk_rope *out,
				struct mpk_error *err) MPK_MUST_CHECK;

#endif
