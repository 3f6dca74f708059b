/* SPDX-License-Identifier: Apache-2.0 */
/* --diff OTHER: compares each file of the command line with OTHER, part by part (lib/show/diff).
 * OTHER is the older of the two, as in diff(1). It is opened anew for each file. */
#include "diff/diff.h"

#include "common/diag.h"
#include "minspect/document.h"
#include "text/escape.h"

static struct mpk_diff_side side(const struct minspect_file *f)
{
	return (struct mpk_diff_side){ f->name, f->bytes.len,
				       f->image.has_blob ? mpk_image_blob(&f->image).len : 0 };
}

static int report(const struct minspect_options *o, struct minspect_look *l,
		  const struct minspect_file *older, const struct mpk_diff *diff)
{
	const char *other = older->name;

	if (o->markdown) {
		minspect_separate(l);
		mpk_diff_markdown(diff, side(older), side(l->file), l->out);
	} else if (l->json) {
		mpk_json_text(l->json, l->at, "file", l->file->name);
		mpk_json_text(l->json, l->at, "other", other);
		mpk_diff_json(diff, l->json, l->at);
	} else if (diff->count) {
		minspect_separate(l);
		mpk_strbuf_puts(l->out, "--- ");
		mpk_escape(l->out, mpk_span_str(other));
		mpk_strbuf_puts(l->out, "\n+++ ");
		mpk_escape(l->out, mpk_span_str(l->file->name));
		mpk_strbuf_putc(l->out, '\n');
		mpk_diff_text(diff, minspect_style(), l->out);
	}
	return diff->count ? MPK_EXIT_DIFFERENT : MPK_EXIT_OK;
}

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
	int status = code == MPK_OK ? report(o, l, &other, &found) : mpk_diag_error(&err);

	mpk_diff_fini(&found);
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
