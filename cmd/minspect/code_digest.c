/* SPDX-License-Identifier: Apache-2.0 */
/* --code-digest: one digest for a file and one for each kernel, which a clean build of the same source has, too
 * (lib/show/digest). */
#include "digest/digest.h"

#include "common/diag.h"
#include "minspect/document.h"

static int digest_file(const struct minspect_options *o, struct minspect_look *l)
{
	struct mpk_error err = { 0 };
	struct mpk_code_digests found;

	if (mpk_code_digests_read(l->view, &l->file->arena, &found, &err) != MPK_OK) {
		mpk_error_at_file(&err, l->file->name);
		return mpk_diag_error(&err);
	}
	minspect_answer(o, l, &mpk_answer_code_digest, &found);
	return MPK_EXIT_OK;
}

void minspect_code_digest_prepare(const struct minspect_options *o)
{
	if (o->code_digest || o->ignore)
		mpk_digest_prepare(MPK_DIGEST_SHA256);
}

int minspect_code_digest(const struct minspect_options *o)
{
	static const struct minspect_action action = { .look = digest_file };

	return minspect_each(o, &action, NULL);
}
