/* SPDX-License-Identifier: Apache-2.0 */
/* --diff OTHER: what FILE has that OTHER has not, and the other way. */
#include "view/diff.h"

#include "common/diag.h"
#include "minspect/document.h"
#include "text/escape.h"

static int report(struct minspect_look *l, const char *other, const struct mpk_diff *diff)
{
	if (l->json) {
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

static enum mpk_code compare(struct minspect_look *l, struct minspect_file *other,
			     struct mpk_diff *diff, struct mpk_error *err)
{
	struct mpk_view view;

	MPK_TRY(mpk_view_init(&view, other->name, other->bytes.len, &other->image, &other->tree,
			      &other->arena, err));
	return mpk_diff_views(&view, other->bytes, l->view, l->file->bytes, &l->file->arena, diff,
			      err);
}

static int diff(const struct minspect_options *o, struct minspect_look *l)
{
	struct minspect_file other;
	struct mpk_error err = { 0 };
	struct mpk_diff found = { 0 };
	enum mpk_code code = minspect_file_open(o->diff, &other, &err);

	if (code == MPK_OK)
		code = compare(l, &other, &found, &err);
	int status = code == MPK_OK ? report(l, o->diff, &found) : mpk_diag_error(&err);

	mpk_diff_fini(&found);
	minspect_file_close(&other);
	return status;
}

int minspect_diff(const struct minspect_options *o)
{
	static const struct minspect_action action = { .look = diff };

	return minspect_each(o, &action, NULL);
}
