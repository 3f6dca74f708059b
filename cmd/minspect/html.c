/* SPDX-License-Identifier: Apache-2.0 */
/* --html OUT: the files of the command line as one page. They are read one after the other; the page
 * is written when all have been. */
#include <stdlib.h>
#include <string.h>

#include "common/diag.h"
#include "common/progress.h"
#include "io/output.h"
#include "minspect/document.h"
#include "model/node_info.h"
#include "page/page.h"

static void see(void *data, struct mpk_span bytes)
{
	(void)data;
	mpk_progress_add(bytes.len);
}

static enum mpk_code add(const struct minspect_options *o, struct minspect_look *l,
			 struct mpk_error *err)
{
	static const struct mpk_tap tap = { see, NULL };
	const struct mpk_verify_file file = { .map = &l->file->map, .tap = &tap };

	/* the page is written when its inputs are closed */
	MPK_TRY(mpk_output_check_path(o->html, err));
	MPK_TRY(mpk_view_show_info(l->view, false, err));
	MPK_TRY(mpk_view_mark_images(l->view, err));
	MPK_TRY(mpk_view_read_texts(l->view, err));
	MPK_TRY(mpk_verify_kernels(l->view, err));
	return mpk_page_add(l->user, l->view, &file, err);
}

static int look(const struct minspect_options *o, struct minspect_look *l)
{
	struct mpk_error err = { 0 };

	mpk_progress_begin("reading", l->view->image->blob.len);
	enum mpk_code code = add(o, l, &err);
	mpk_progress_end();
	return code == MPK_OK ? MPK_EXIT_OK : minspect_report(l, &err);
}

static int save(const char *path, struct mpk_page *page)
{
	struct mpk_rope content = mpk_rope_of(&page->arena);
	struct mpk_error err = { 0 };

	if (mpk_page_print(page, &content, &err) != MPK_OK)
		return mpk_diag_error(&err);
	return minspect_save(path, &content);
}

int minspect_html(const struct minspect_options *o)
{
	static const struct minspect_action action = { .look = look };
	MPK_CLEANUP(mpk_page_fini) struct mpk_page page;

	mpk_page_init(&page, o->file_count > 1);
	if (o->json)
		return mpk_diag_usage("--html writes a page; --json goes with every other action");
	int status = minspect_each(o, &action, &page);

	return status == MPK_EXIT_OK ? save(o->html, &page) : status;
}
