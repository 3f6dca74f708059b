/* SPDX-License-Identifier: Apache-2.0 */
/* --diff OTHER: compares each file of the command line with OTHER, part by part (lib/show/diff).
 * OTHER is the older of the two, as in diff(1), and opened anew for each file. Where it is a folder or an archive, what
 * one side alone has is a difference, too. With --ignore=noise the code of both is compared (lib/show/digest). */
#include "diff/diff.h"

#include <string.h>

#include "common/diag.h"
#include "digest/digest.h"
#include "disasm/changes.h"
#include "minspect/document.h"
#include "minspect/older.h"
#include "text/escape.h"

/* What each file does, and not how it is written down. */
static enum mpk_code compare_digests(struct minspect_look *l, const struct mpk_view *other,
				     struct mpk_diff *diff, struct mpk_error *err)
{
	struct mpk_code_digests *both = mpk_arena_alloc(&l->file->arena, 2 * sizeof *both);

	MPK_TRY_ALLOC(both, err);
	MPK_TRY(mpk_code_digests_read(other, other->arena, &both[0], err));
	MPK_TRY(mpk_code_digests_read(l->view, &l->file->arena, &both[1], err));
	return mpk_code_digests_compare(&both[0], &both[1], &l->file->arena, diff, err);
}

static enum mpk_code diff_compare(struct minspect_look *l, struct minspect_file *other,
				  bool ignores_noise, struct mpk_diff *diff, struct mpk_error *err)
{
	struct mpk_disasm *disasm;
	struct mpk_view view;

	MPK_TRY(mpk_view_init(&view, other->name, other->bytes.len, &other->image, &other->tree,
			      &other->arena, err));
	if (ignores_noise)
		return compare_digests(l, &view, diff, err);
	MPK_TRY(minspect_disasm_take(&disasm, err));
	MPK_TRY(mpk_diff_views(&view, other->bytes, l->view, l->file->bytes, &l->file->arena, diff,
			       err));
	return mpk_disasm_changes(disasm, &view, l->view, &l->file->arena, diff, err);
}

/* Of many files that differ a text says once what is missing. */
static void say_once(const struct minspect_look *l, struct mpk_diff *diff)
{
	static bool said;

	if (said && !l->json)
		diff->no_instructions = NULL;
	said |= diff->no_instructions != NULL;
}

static int answer_diff(const struct minspect_options *o, struct minspect_look *l,
		       enum mpk_code code, const struct mpk_diff *found,
		       const struct mpk_error *err)
{
	if (code != MPK_OK)
		return mpk_diag_error(err);
	/* two files that do not differ have no text, and nothing is between it and the next */
	if (found->count || l->json || o->markdown || o->ignore)
		minspect_answer(o, l, o->ignore ? &mpk_answer_verdict : &mpk_answer_diff, found);
	return found->count ? MPK_EXIT_DIFFERENT : MPK_EXIT_OK;
}

/* A file that one side alone has. */
static int answer_file(const struct minspect_options *o, struct minspect_look *l,
		       enum mpk_diff_sign sign, struct mpk_diff_side older,
		       struct mpk_diff_side newer)
{
	struct mpk_difference file = { .sign = sign,
				       .path = "",
				       .new_path = "",
				       .what = "file",
				       .text = "",
				       .lines = "",
				       .target = "" };
	const struct mpk_diff found = {
		.older = older, .newer = newer, .items = &file, .count = 1
	};

	file.name = mpk_span_str(sign == MPK_DIFF_ADDED ? newer.name : older.name);
	return answer_diff(o, l, MPK_OK, &found, NULL);
}

static int answer_added(const struct minspect_options *o, struct minspect_look *l)
{
	const struct mpk_diff_side older = { .name = o->diff },
				   newer = { .name = l->file->name, .bytes = l->file->bytes.len };

	return answer_file(o, l, MPK_DIFF_ADDED, older, newer);
}

static int diff_removed(const struct minspect_options *o, struct minspect_look *l)
{
	struct minspect_older *older = l->user;
	struct mpk_diff_side gone = { 0 }, newer = { .name = o->files[0] };
	int status = MPK_EXIT_OK;

	if (o->folder_lens && o->folder_lens[0])
		newer.name = mpk_arena_printf(&older->arena, "%.*s", (int)o->folder_lens[0] - 1,
					      newer.name);
	newer.name = newer.name ? newer.name : "";
	for (size_t at = 0; minspect_older_left(older, &at, &gone.name);) {
		if (l->json)
			l->at = mpk_json_object(l->json, l->files, NULL);
		status = answer_file(o, l, MPK_DIFF_REMOVED, gone, newer);
	}
	return status;
}

static int diff_file(const struct minspect_options *o, struct minspect_look *l)
{
	struct minspect_file other;
	struct mpk_error err = { 0 };
	struct mpk_diff found = { 0 };
	enum mpk_code code = minspect_older_file(l->user, l, &other, &err);

	if (code == MPK_E_NOTFOUND) {
		minspect_file_close(&other);
		return answer_added(o, l);
	}
	if (code == MPK_OK)
		code = diff_compare(l, &other, o->ignore != NULL, &found, &err);
	say_once(l, &found);
	int status = answer_diff(o, l, code, &found, &err);

	minspect_file_close(&other);
	return status;
}

static enum mpk_code diff_open_weights(struct minspect_file *file, struct mpk_weightfile *out,
				       struct mpk_error *err)
{
	*out = (struct mpk_weightfile){ 0 };
	if (file->is_weights)
		return minspect_weights_open(file, out, err);
	(void)mpk_fail(err, MPK_E_UNSUPPORTED,
		       "this is no file of weights, which the other one is");
	mpk_error_at_file(err, file->name);
	return MPK_E_UNSUPPORTED;
}

static int diff_weights(const struct minspect_options *o, struct minspect_look *l,
			const struct mpk_weightfile *f)
{
	struct minspect_file other;
	struct mpk_weightfile older = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_diff found = { 0 };
	enum mpk_code code = MPK_OK;

	if (o->ignore)
		return mpk_diag_usage("--ignore=noise compares code; '%s' holds weights",
				      MPK_QUOTE(mpk_span_str(l->file->name)));
	code = minspect_older_file(l->user, l, &other, &err);
	if (code == MPK_E_NOTFOUND) {
		minspect_file_close(&other);
		return answer_added(o, l);
	}
	if (code == MPK_OK || other.is_weights)
		code = diff_open_weights(&other, &older, &err);
	if (code == MPK_OK)
		code = mpk_weightfile_diff(&older, f, &l->file->arena, &found, &err);
	int status = answer_diff(o, l, code, &found, &err);

	mpk_weight_set_close(&older.set);
	minspect_file_close(&other);
	return status;
}

int minspect_diff(const struct minspect_options *o)
{
	static const struct minspect_action action = { .look = diff_file,
						       .weights = diff_weights,
						       .end = diff_removed };
	MPK_CLEANUP(minspect_older_close)
	struct minspect_older older = { .archive.map.fd = -1 };
	struct mpk_error err = { 0 };

	if (o->markdown && o->json)
		return mpk_diag_usage("--markdown and --json are two forms; give one of them");
	if (o->ignore && strcmp(o->ignore, "noise") != 0)
		return mpk_diag_usage("--ignore takes noise, not '%s'",
				      MPK_QUOTE(mpk_span_str(o->ignore)));
	if (minspect_older_open(o->diff, &older, &err) != MPK_OK)
		return mpk_diag_error(&err);
	int status = minspect_each(o, &action, &older);

	minspect_disasm_end();
	return status;
}
