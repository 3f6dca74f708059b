/* SPDX-License-Identifier: Apache-2.0 */
/* The actions that print what a file holds: the summary, --functions. */
#include "common/diag.h"
#include "minspect/archive.h"
#include "minspect/document.h"
#include "minspect/metadata.h"
#include "model/node_info.h"
#include "verify/verify.h"

/* Of two ways to say the same, the one that was asked for. */
static int
print(struct minspect_look *l,
      void (*text)(const struct mpk_view *view, struct mpk_style style, struct mpk_strbuf *out),
      void (*json)(const struct mpk_view *view, struct mpk_json *j, struct mpk_json_at *at))
{
	if (l->json) {
		json(l->view, l->json, l->at);
	} else {
		minspect_separate(l);
		text(l->view, minspect_style(), l->out);
	}
	return MPK_EXIT_OK;
}

static int show(const struct minspect_options *o, struct minspect_look *l)
{
	struct mpk_error err = { 0 };

	(void)o;
	minspect_filter(l);
	if (mpk_common.verbose && (mpk_view_show_info(l->view, true, &err) != MPK_OK ||
				   mpk_verify_kernels(l->view, &err) != MPK_OK))
		return mpk_diag_error(&err);
	l->view->show_origin = mpk_common.verbose > 0;
	return print(l, mpk_view_summary, mpk_view_summary_json);
}

static enum mpk_code read_functions(const struct minspect_options *o, struct minspect_look *l,
				    struct mpk_error *err)
{
	MPK_TRY(mpk_view_show_info(l->view, false, err));
	MPK_TRY(mpk_view_mark_images(l->view, err));
	if (o->call_metadata)
		MPK_TRY(minspect_call_metadata(o, l->file, l->view, err));
	l->view->show_docs = mpk_common.verbose > 0;
	return mpk_view_read_texts(l->view, err);
}

static int functions(const struct minspect_options *o, struct minspect_look *l)
{
	struct mpk_error err = { 0 };

	minspect_filter(l);
	if (read_functions(o, l, &err) != MPK_OK)
		return minspect_report(l, &err);
	if (mpk_verify_kernels(l->view, &err) != MPK_OK)
		return mpk_diag_error(&err);
	return print(l, mpk_view_functions, mpk_view_functions_json);
}

int minspect_show(const struct minspect_options *o)
{
	static const struct minspect_action action = { .look = show,
						       .archive = minspect_archive_list };

	return minspect_each(o, &action, NULL);
}

int minspect_functions(const struct minspect_options *o)
{
	static const struct minspect_action action = { .look = functions };

	return minspect_each(o, &action, NULL);
}
