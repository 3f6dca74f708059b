/* SPDX-License-Identifier: Apache-2.0 */
/* --verify: prints the findings of lib/show/verify. An unreadable file is also a finding, so the
 * exit status is 1, not that of an error. Keys are read before the sandbox is entered. */
#include "verify/verify.h"

#include <string.h>

#include "common/diag.h"
#include "common/print.h"
#include "io/digest.h"
#include "minspect/document.h"

static struct mpk_public_keys keys; /* keys of --pubkey */

/* Findings of several files are listed if they are few; many are counted by their text. */
struct verifying {
	struct mpk_verified_set set;
	struct minspect_aside aside;
	bool is_whole;
};

static int verify_finish(const struct minspect_options *o, struct minspect_look *l,
			 struct mpk_report *report)
{
	const struct mpk_verified verified = { l->file->name, report, l->in_set };
	int status = report->errors ? MPK_EXIT_DIFFERENT : MPK_EXIT_OK;

	struct verifying *v = l->user;
	struct mpk_error err = { 0 };

	if (l->json || !l->in_set || v->is_whole)
		minspect_answer(o, l, &mpk_answer_verify, &verified);
	else
		minspect_answer_aside(o, l, &v->aside, &mpk_answer_verify, &verified);
	if (mpk_verified_add(&v->set, l->file->name, report, &err) != MPK_OK)
		status = mpk_diag_error(&err);
	mpk_report_fini(report);
	return status;
}

static int verify_file(const struct minspect_options *o, struct minspect_look *l)
{
	const struct mpk_verify_file file = { .map = &l->file->map,
					      .tap = &mpk_progress_tap,
					      .keys = o->pubkey ? &keys : NULL };
	struct mpk_report report = { 0 };
	struct mpk_error err = { 0 };

	/* A signature covers the whole file, so with a key the whole file is read. */
	mpk_progress_begin("verifying",
			   l->view->image->blob.len + (o->pubkey ? l->file->map.bytes.len : 0));
	enum mpk_code code = mpk_verify_run(l->view, &file, &l->file->arena, &report, &err);
	mpk_progress_end();
	if (code != MPK_OK) {
		mpk_report_fini(&report);
		return mpk_diag_error(&err);
	}
	return verify_finish(o, l, &report);
}

static int verify_weights(const struct minspect_options *o, struct minspect_look *l,
			  const struct mpk_weightfile *f)
{
	struct mpk_report report = { 0 };
	struct mpk_error err = { 0 };

	minspect_weights_begin("verifying", f);
	enum mpk_code code = mpk_weightfile_verify(f, &mpk_progress_tap, &report, &err);
	mpk_progress_end();
	if (code == MPK_OK)
		return verify_finish(o, l, &report);
	mpk_report_fini(&report);
	return mpk_diag_error(&err);
}

/* An unreadable file is reported as a finding. */
static int verify_refuse(const struct minspect_options *o, struct minspect_look *l,
			 const struct mpk_error *err)
{
	struct mpk_report report = { 0 };

	/* The check name tells whether the blob or the file around it is damaged. */
	mpk_report_add(&report, MPK_ERROR,
		       strcmp(err->at.space, "blob") == 0 ? "container" : "file", err);
	return verify_finish(o, l, &report);
}

int minspect_verify_prepare(const struct minspect_options *o)
{
	struct mpk_error err = { 0 };

	/* Loads the checksum library for shards. A plain listing does not need it. */
	if (o->verify || o->html)
		mpk_digest_prepare(MPK_DIGEST_MD5);
	if (!o->pubkey || (mpk_public_keys_read(o->pubkey, &keys, &err) == MPK_OK &&
			   mpk_ed25519_prepare(&err) == MPK_OK))
		return MPK_EXIT_OK;
	return mpk_diag_error(&err);
}

static void verify_sum(const struct minspect_options *o, struct minspect_look *l)
{
	struct verifying *v = l->user;

	v->set.files = l->set->files;
	v->set.bytes = l->set->bytes;
	v->set.unreadable = l->set->unreadable;
	v->set.has_causes = v->aside.is_too_much;
	minspect_answer(o, l, &mpk_answer_verified, &v->set);
	if (!l->json && !v->aside.is_too_much)
		minspect_aside_print(l, &v->aside);
}

int minspect_verify(const struct minspect_options *o)
{
	static const struct minspect_action action = { .doing = "verifying",
						       .look = verify_file,
						       .refuse = verify_refuse,
						       .takes_libraries = true,
						       .each_model = true,
						       .weights = verify_weights,
						       .sum = verify_sum,
						       .sum_of_set = true,
						       .is_cut = true };
	struct verifying v = { .is_whole = minspect_is_whole(o) || mpk_common.verbose > 0 };
	int status = minspect_each(o, &action, &v);

	minspect_aside_fini(&v.aside);
	mpk_verified_set_fini(&v.set);
	return status;
}
