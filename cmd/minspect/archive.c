/* SPDX-License-Identifier: Apache-2.0 */
/* A zip archive that is named alone: the listing has a line for each library in it. */
#include "minspect/archive.h"

#include <string.h>

#include "common/diag.h"
#include "list/brief.h"
#include "model/filter.h"
#include "text/escape.h"
#include "text/table.h"
#include "zip/zip.h"

/* One library, opened and said in a line. */
static int list_one(struct minspect_look *l, size_t i, struct mpk_table *table,
		    struct mpk_json_at *list)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_zip_member *m = &l->file->libraries[i];
	const char *name = minspect_zip_member(l->file, i, &scratch);
	struct mpk_error err = { 0 };
	struct minspect_file file;
	struct mpk_view view;
	struct mpk_json_at *o = l->json ? mpk_json_object(l->json, list, NULL) : NULL;
	int status = MPK_EXIT_OK;
	enum mpk_code code;

	if (!name)
		return mpk_diag_error((mpk_fail_nomem(&err), &err));
	code = minspect_file_open_library(l->file, i, name, true, &file, &err);
	bool is_empty = code == MPK_E_NO_BLOB;
	if (code == MPK_OK || is_empty)
		code = mpk_view_init(&view, name, file.bytes.len, &file.image, &file.tree,
				     &file.arena, &err);
	if (l->json) {
		mpk_json_text(l->json, o, "file", name);
		mpk_json_u64(l->json, o, "bytes", m->plain);
		mpk_json_u64(l->json, o, "packed_bytes", m->stored);
		if (code == MPK_OK)
			mpk_brief_json(&view, l->json, o);
		else
			mpk_json_error(l->json, o, "error", &err);
	} else {
		if (code == MPK_OK)
			mpk_brief_text(&view, &text);
		else
			mpk_strbuf_printf(&text, "cannot be read: %s", err.text);
		mpk_table_row(table);
		mpk_table_cell(table, "%s", MPK_SIZE(m->plain));
		mpk_table_cell(table, "%s", MPK_QUOTE(m->name));
		mpk_table_cell(table, "%s", mpk_strbuf_text(&text));
	}
	if (code != MPK_OK)
		status = mpk_diag_error(&err);
	minspect_file_close(&file);
	return status;
}

int minspect_archive_list(struct minspect_look *l)
{
	struct mpk_table table = { .right = 1 };
	struct mpk_json_at *list = NULL;
	int status = MPK_EXIT_OK;

	if (l->json) {
		mpk_json_text(l->json, l->at, "file", l->file->name);
		mpk_json_u64(l->json, l->at, "bytes", l->file->map.bytes.len);
		mpk_json_text(l->json, l->at, "container", "zip");
		list = mpk_json_array(l->json, l->at, "libraries");
	} else {
		minspect_separate(l);
		mpk_escape(l->out, mpk_span_str(l->file->name));
		mpk_strbuf_printf(l->out,
				  ": zip archive, %s, %zu %s; look at one as FILE!/MEMBER\n",
				  MPK_SIZE(l->file->map.bytes.len), l->file->library_count,
				  l->file->library_count == 1 ? "library" : "libraries");
	}
	for (size_t i = 0; i < l->file->library_count; i++) {
		if (!mpk_view_chooses(&l->choice, l->file->libraries[i].name))
			continue;

		int got = list_one(l, i, &table, list);

		status = status ? status : got;
	}
	if (!l->json)
		mpk_table_print(&table, "  ", l->out);
	mpk_table_fini(&table);
	return status;
}
