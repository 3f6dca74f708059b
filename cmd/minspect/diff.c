/* SPDX-License-Identifier: Apache-2.0 */
/* --diff OTHER: compares each file of the command line with OTHER, part by part (lib/show/diff).
 * OTHER is the older of the two, as in diff(1). It is opened anew for each file. */
#include "diff/diff.h"

#include "common/diag.h"
#include "minspect/document.h"

static enum mpk_code diff_compare(struct minspect_look *l, struct minspect_file *other,
				  struct mpk_diff *diff, struct mpk_error *err)
{
	struct mpk_view view;

	MPK_TRY(mpk_view_init(&view, other->name, other->bytes.len, &other->image, &other->tree,
			      &other->arena, err));
	return mpk_diff_views(&view, other->bytes, l->view, l->file->bytes, &l->file->arena, diff,
			      err);
}

static int diff_file(const struct minspect_options *o, struct minspect_look *l)
{
	struct minspect_file other;
	struct mpk_error err = { 0 };
	struct mpk_diff found = { 0 };
	enum mpk_code code = minspect_file_open(o->diff, &other, &err);

	if (code == MPK_OK)
		code = diff_compare(l, &other, &found, &err);
	/* two files that do not differ have no text, and nothing is between it and the next */
	if (code == MPK_OK && (found.count || l->json || o->markdown))
		minspect_answer(o, l, &mpk_answer_diff, &found);
	int status = code != MPK_OK ? mpk_diag_error(&err)
		     : found.count  ? MPK_EXIT_DIFFERENT
				    : MPK_EXIT_OK;

	minspect_file_close(&other);
	return status;
}

int minspect_diff(const struct minspect_options *o)
{
	static const struct minspect_action action = { .look = diff_file };

	if (o->markdown && o->json)
		return mpk_diag_usage("--markdown and --json are two forms; give one of them");
	return minspect_each(o, &action, NULL);
}
