/* SPDX-License-Identifier: Apache-2.0 */
/* The actions that draw: --html writes all files as one page, --svg a picture of where the bytes of
 * a file are, --dot a graph for Graphviz. The page is written after all its files were read, so
 * that a failure leaves no partial page. */
#include <string.h>
#include <unistd.h>

#include "common/diag.h"
#include "common/print.h"
#include "diff/diff.h"
#include "graph/dot.h"
#include "io/mapping.h"
#include "io/output.h"
#include "map/map.h"
#include "minspect/document.h"
#include "minspect/draw_sets.h"
#include "minspect/model_memory.h"
#include "model/device_code.h"
#include "model/node_info.h"
#include "page/page.h"
#include "text/escape.h"
#include "weightfile/weightfile.h"

/* --- --html ------------------------------------------------------------------------------ */

/* Every view of a page reads all GPU code, so unpacked code is kept for all of them, up to this
 * many bytes. */
static const uint64_t KEPT_MOST = UINT64_C(160) << 20;

/* A page, and the two releases that it compares. */
struct drawing {
	struct mpk_page page;
	struct minspect_drawn_sets sets;
};

static enum mpk_code add_to_page(const struct minspect_options *o, struct minspect_look *l,
				 struct mpk_error *err)
{
	/* Findings are part of the page, so every file is verified, which reads all of it: hence
	 * the progress line. */
	const struct mpk_verify_file file = { .map = &l->file->map, .tap = &mpk_progress_tap };
	struct mpk_page *page = &((struct drawing *)l->user)->page;

	/* the page is written after its inputs are closed */
	MPK_TRY(mpk_output_check_path(o->html, err));
	MPK_TRY(mpk_view_show_info(l->view, false, err));
	MPK_TRY(mpk_view_mark_images(l->view, err));
	MPK_TRY(mpk_view_read_texts(l->view, NULL, err));
	MPK_TRY(mpk_verify_kernels(l->view, err));
	MPK_TRY(mpk_device_keep(l->view, KEPT_MOST, err));
	page->of_set = l->file->borrows_map || l->folder_len;
	page->archive_bytes = l->file->borrows_map ? l->file->map.bytes.len : 0;
	return mpk_page_add(page, l->view, &file, err);
}

/* For two libraries or two files of weights, the page shows their differences: the first is the
 * older one, and is opened again.
 * @weights  the second file; NULL if it is a library */
static enum mpk_code draw_differences(const struct minspect_options *o, struct minspect_look *l,
				      const struct mpk_weightfile *weights, struct mpk_error *err)
{
	struct mpk_weightfile older_weights = { 0 };
	struct mpk_diff diff = { 0 };
	struct drawing *d = l->user;
	struct mpk_page *page = &d->page;
	struct minspect_file older;
	enum mpk_code code;

	if (d->sets.are_two)
		return weights ? MPK_OK : minspect_drawn_sets_add(&d->sets, l, err);
	/* both may have the same name, and the first has no predecessor to compare with */
	if (o->file_count != 2 || page->file_count < 2 || strcmp(l->file->name, o->files[1]) != 0)
		return MPK_OK;
	code = minspect_file_open(o->files[0], &older, err);
	bool is_comparable = older.is_weights == (weights != NULL);

	if (older.is_weights)
		code = weights ? minspect_weights_open(&older, &older_weights, err) : MPK_OK;
	if (code == MPK_OK && is_comparable)
		code = weights ? mpk_weightfile_diff(&older_weights, weights, &l->file->arena,
						     &diff, err)
			       : minspect_compare(l, &older, false, &diff, err);
	if (code == MPK_OK && is_comparable)
		mpk_answer_diff.json(&diff, &page->json,
				     mpk_json_object(&page->json, page->json.root, "diff"));
	mpk_weight_set_close(&older_weights.set);
	minspect_file_close(&older);
	return code;
}

static int draw_add_file(const struct minspect_options *o, struct minspect_look *l)
{
	struct mpk_error err = { 0 };

	mpk_progress_begin("reading", l->view->image->blob.len);
	enum mpk_code code = add_to_page(o, l, &err);

	if (code == MPK_OK)
		code = draw_differences(o, l, NULL, &err);
	mpk_device_forget(l->view);
	mpk_progress_end();
	return code == MPK_OK ? MPK_EXIT_OK : minspect_report(l, &err);
}

static int draw_weights(const struct minspect_options *o, struct minspect_look *l,
			const struct mpk_weightfile *f)
{
	struct mpk_error err = { 0 };
	enum mpk_code code;

	minspect_weights_begin("reading", f);
	code = mpk_output_check_path(o->html, &err);
	if (code == MPK_OK)
		code = mpk_page_add_weights(&((struct drawing *)l->user)->page, f,
					    &mpk_progress_tap, &err);
	if (code == MPK_OK)
		code = draw_differences(o, l, f, &err);
	mpk_progress_end();
	return code == MPK_OK ? MPK_EXIT_OK : mpk_diag_error(&err);
}

static int save_page(const char *path, struct mpk_page *page)
{
	struct mpk_rope content = mpk_rope_of(&page->arena);
	struct mpk_error err = { 0 };

	if (mpk_page_print(page, &content, &err) != MPK_OK)
		return mpk_diag_error(&err);
	return minspect_save_and_say(path, &content);
}

/* Limits for additional inputs of the page: sources and times are short files. */
enum { READ_MOST = 8 << 20, READ_FILES = 64 };

struct read_files {
	struct mpk_mapping maps[READ_FILES];
	struct mpk_page_source sources[READ_FILES];
	struct mpk_span times;
	size_t count;
};

static void read_files_fini(struct read_files *r)
{
	while (r->count)
		mpk_mapping_close(&r->maps[--r->count]);
}

static enum mpk_code draw_read(struct read_files *r, const char *path, struct mpk_span *out,
			       struct mpk_error *err)
{
	enum mpk_code code =
		r->count == READ_FILES
			? mpk_fail(err, MPK_E_UNSUPPORTED, "--source names too many files")
			: mpk_mapping_open(path, &r->maps[r->count], err);

	if (code == MPK_OK) {
		*out = r->maps[r->count++].bytes;
		if (out->len > READ_MOST)
			code = mpk_fail(err, MPK_E_UNSUPPORTED,
					"a page has room for 8 MiB of it, not for %zu bytes",
					out->len);
	}
	if (code != MPK_OK)
		mpk_error_at_file(err, path);
	return code;
}

static enum mpk_code add_given(const struct minspect_options *o, struct read_files *r,
			       struct mpk_page *page, struct mpk_error *err)
{
	page->sources = r->sources;
	for (size_t i = 0; i < o->sources.count; i++) {
		struct mpk_page_source s = { .name = o->sources.items[i].value };

		MPK_TRY(draw_read(r, s.name, &s.text, err));
		r->sources[page->source_count++] = s;
	}
	if (o->times) {
		MPK_TRY(draw_read(r, o->times, &r->times, err));
		page->times = &r->times;
	}
	return minspect_disasm_take(&page->disasm, err);
}

static int draw_page(const struct minspect_options *given_o, struct drawing *d)
{
	static const struct minspect_action action = { .look = draw_add_file,
						       .weights = draw_weights,
						       .takes_libraries = true,
						       .is_verbatim = true };
	MPK_CLEANUP(read_files_fini) struct read_files given = { 0 };
	struct minspect_options o = *given_o;
	struct mpk_error err = { 0 };
	int status;

	if (add_given(&o, &given, &d->page, &err) != MPK_OK ||
	    minspect_drawn_sets_begin(&o, &d->sets, &err) != MPK_OK)
		return mpk_diag_error(&err);
	status = minspect_each(&o, &action, d);
	if (status != MPK_EXIT_OK)
		return status;
	if (d->sets.are_two && minspect_drawn_sets_put(&d->sets, &d->page.json, &err) != MPK_OK)
		return mpk_diag_error(&err);
	return save_page(o.html, &d->page);
}

static void drawing_fini(struct drawing *d)
{
	mpk_page_fini(&d->page);
	minspect_drawn_sets_fini(&d->sets);
}

int minspect_html(const struct minspect_options *o)
{
	MPK_CLEANUP(drawing_fini)
	struct drawing d = {
		.sets = { .older.map.fd = -1, .newer.map.fd = -1, .archive.map.fd = -1 }
	};
	int status;

	/* Several files are shown side by side; a single file fills the page. */
	mpk_page_init(&d.page, o->file_count > 1);
	if (o->json)
		return mpk_diag_usage("html writes a page; --json goes with every other action");
	if (strcmp(o->html, "-") == 0 && isatty(STDOUT_FILENO))
		return mpk_diag_usage("a page is for a browser, not for a terminal; give -o FILE");
	status = minspect_extents(o, &d.page.arena, &d.page.memory);
	status = status ? status : draw_page(o, &d);
	minspect_disasm_end();
	return status;
}

/* --- --svg ------------------------------------------------------------------------------- */

static int draw_map(const struct minspect_options *o, struct minspect_look *l)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_map map;
	const struct mpk_map_picture picture = { l->view->name, &map };
	struct mpk_error err = { 0 };
	struct mpk_size size;

	if (mpk_size_read(l->view, &scratch, &size, &err) != MPK_OK ||
	    mpk_map_read(l->view, &size, &scratch, &map, &err) != MPK_OK)
		return minspect_report(l, &err);
	minspect_answer(o, l, &mpk_answer_map, &picture);
	return MPK_EXIT_OK;
}

int minspect_svg(const struct minspect_options *o)
{
	static const struct minspect_action action = { .look = draw_map,
						       .single = "svg",
						       .is_verbatim = true };

	if (o->file_count != 1)
		return mpk_diag_usage("svg draws one file");
	if (o->json)
		return mpk_diag_usage("svg draws a picture; size --json has its numbers");
	return minspect_each(o, &action, NULL);
}

/* --- --dot ------------------------------------------------------------------------------- */

static int draw_graph(const struct minspect_options *o, struct minspect_look *l)
{
	if (strcmp(o->dot, "model") == 0) {
		struct mpk_model_graphs graphs;
		struct mpk_error err = { 0 };

		if (mpk_model_graphs_read(l->view, &graphs, &err) != MPK_OK)
			return mpk_diag_error(&err);
		/* A file with only host code or kernels has modules but no model. */
		if (graphs.count) {
			minspect_answer(o, l, &mpk_answer_dot_model, &graphs);
			return MPK_EXIT_OK;
		}
		(void)mpk_fail(
			&err, MPK_E_NO_BLOB,
			"there is no model in it whose graph can be drawn; dot tree draws its modules");
		mpk_error_at_file(&err, l->file->name);
		return mpk_diag_error(&err);
	}
	minspect_answer(o, l, &mpk_answer_dot_tree, l->view);
	return MPK_EXIT_OK;
}

int minspect_dot(const struct minspect_options *o)
{
	static const struct minspect_action action = { .look = draw_graph, .is_verbatim = true };

	if (strcmp(o->dot, "tree") != 0 && strcmp(o->dot, "model") != 0)
		return mpk_diag_usage("dot takes tree or model, not '%s'",
				      MPK_QUOTE(mpk_span_str(o->dot)));
	if (o->json)
		return mpk_diag_usage("dot is a text for Graphviz; --json shows the tree as data");
	return minspect_each(o, &action, NULL);
}
