/* SPDX-License-Identifier: Apache-2.0 */
/* The actions that draw: --html writes the files of the command line as one page, --svg a picture of
 * where the bytes of one are, --dot a graph for Graphviz. The files of a page are read one after the other, and the page is written when
 * all of them were read, so that a failure leaves no half of a page. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/diag.h"
#include "common/progress.h"
#include "graph/dot.h"
#include "io/output.h"
#include "map/map.h"
#include "minspect/document.h"
#include "model/node_info.h"
#include "page/page.h"
#include "text/escape.h"

/* --- --html ------------------------------------------------------------------------------ */

static void draw_see(void *data, struct mpk_span bytes)
{
	(void)data;
	mpk_progress_add(bytes.len);
}

static enum mpk_code add_to_page(const struct minspect_options *o, struct minspect_look *l,
				 struct mpk_error *err)
{
	/* Findings are part of the page, so every file is verified, which reads all of it: hence
	 * the progress. */
	static const struct mpk_tap tap = { draw_see, NULL };
	const struct mpk_verify_file file = { .map = &l->file->map, .tap = &tap };

	/* the page is written when its inputs are closed */
	MPK_TRY(mpk_output_check_path(o->html, err));
	MPK_TRY(mpk_view_show_info(l->view, false, err));
	MPK_TRY(mpk_view_mark_images(l->view, err));
	MPK_TRY(mpk_view_read_texts(l->view, NULL, err));
	MPK_TRY(mpk_verify_kernels(l->view, err));
	return mpk_page_add(l->user, l->view, &file, err);
}

static int draw_add_file(const struct minspect_options *o, struct minspect_look *l)
{
	struct mpk_error err = { 0 };

	mpk_progress_begin("reading", l->view->image->blob.len);
	enum mpk_code code = add_to_page(o, l, &err);
	mpk_progress_end();
	return code == MPK_OK ? MPK_EXIT_OK : minspect_report(l, &err);
}

static int save_page(const char *path, struct mpk_page *page)
{
	struct mpk_rope content = mpk_rope_of(&page->arena);
	struct mpk_error err = { 0 };

	if (mpk_page_print(page, &content, &err) != MPK_OK)
		return mpk_diag_error(&err);
	return minspect_save(path, &content);
}

int minspect_html(const struct minspect_options *o)
{
	static const struct minspect_action action = { .look = draw_add_file, .is_verbatim = true };
	MPK_CLEANUP(mpk_page_fini) struct mpk_page page;

	/* Several files are shown side by side, one has the page for itself. */
	mpk_page_init(&page, o->file_count > 1);
	if (o->json)
		return mpk_diag_usage("--html writes a page; --json goes with every other action");
	if (strcmp(o->html, "-") == 0 && isatty(STDOUT_FILENO))
		return mpk_diag_usage("a page is for a browser, not for a terminal; give -o FILE");
	int status = minspect_each(o, &action, &page);

	return status == MPK_EXIT_OK ? save_page(o->html, &page) : status;
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
		return mpk_diag_usage("--svg draws one file");
	if (o->json)
		return mpk_diag_usage("--svg draws a picture; --size --json has its numbers");
	return minspect_each(o, &action, NULL);
}

/* --- --dot ------------------------------------------------------------------------------- */

static int draw_model(const struct minspect_options *o, struct minspect_look *l)
{
	struct mpk_model_graphs graphs;
	struct mpk_error err = { 0 };

	if (mpk_model_graphs_read(l->view, &graphs, &err) != MPK_OK)
		return mpk_diag_error(&err);
	/* A file of host code or kernels has modules but no model. */
	if (graphs.count) {
		minspect_answer(o, l, &mpk_answer_dot_model, &graphs);
		return MPK_EXIT_OK;
	}
	(void)mpk_fail(
		&err, MPK_E_NO_BLOB,
		"there is no model in it whose graph can be drawn; --dot tree draws its modules");
	mpk_error_at_file(&err, l->file->name);
	return mpk_diag_error(&err);
}

static int draw_graph(const struct minspect_options *o, struct minspect_look *l)
{
	if (strcmp(o->dot, "model") == 0)
		return draw_model(o, l);
	minspect_answer(o, l, &mpk_answer_dot_tree, l->view);
	return MPK_EXIT_OK;
}

int minspect_dot(const struct minspect_options *o)
{
	static const struct minspect_action action = { .look = draw_graph, .is_verbatim = true };

	if (strcmp(o->dot, "tree") != 0 && strcmp(o->dot, "model") != 0)
		return mpk_diag_usage("--dot takes tree or model, not '%s'",
				      MPK_QUOTE(mpk_span_str(o->dot)));
	if (o->json)
		return mpk_diag_usage(
			"--dot is a text for Graphviz; --json shows the tree as data");
	return minspect_each(o, &action, NULL);
}
