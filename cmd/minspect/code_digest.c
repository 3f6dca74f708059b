/* SPDX-License-Identifier: Apache-2.0 */
/* code-digest: SHA-256 of the code in files (lib/show/digest). A short result is printed in full, a
 * line for each part; a longer one has only the digest of each file, which tells whether two files
 * have the same code. */
#include "common/diag.h"
#include "digest/digest.h"
#include "minspect/document.h"
#include "text/phrase.h"

struct digests {
	struct minspect_aside aside; /* all parts of all files */
	struct mpk_strbuf files;     /* a line for each file */
	size_t parts, lines;
	bool is_whole;
};

static int digest_file(const struct minspect_options *o, struct minspect_look *l)
{
	struct digests *d = l->user;
	struct mpk_error err = { 0 };
	struct mpk_code_digests found;

	if (mpk_code_digests_read(l->view, &l->file->arena, &found, &err) != MPK_OK) {
		mpk_error_at_file(&err, l->file->name);
		return mpk_diag_error(&err);
	}
	if (d->is_whole) {
		minspect_answer(o, l, &mpk_answer_code_digest, &found);
		return MPK_EXIT_OK;
	}
	d->parts += found.count;
	if (d->lines++ < MINSPECT_LINES)
		mpk_answer_code_digest.line(&found, minspect_style(), &d->files);
	/* many parts are known to be too long a text before they are written */
	d->aside.is_too_much |= d->parts > MINSPECT_LINES;
	minspect_answer_aside(o, l, &d->aside, &mpk_answer_code_digest, &found);
	return MPK_EXIT_OK;
}

static void digest_sum(const struct minspect_options *o, struct minspect_look *l)
{
	struct digests *d = l->user;

	(void)o;
	if (d->is_whole)
		return;
	if (!d->aside.is_too_much) {
		minspect_aside_print(l, &d->aside);
		return;
	}
	mpk_strbuf_put(l->out, d->files.data, d->files.len);
	l->out->failed |= d->files.failed;
	if (d->lines > MINSPECT_LINES) {
		mpk_strbuf_puts(l->out, "and ");
		mpk_put_number(l->out, d->lines - MINSPECT_LINES);
		mpk_strbuf_puts(l->out, " more files\n");
	}
	mpk_strbuf_puts(l->out, "the digests of ");
	mpk_put_number(l->out, d->parts);
	mpk_strbuf_puts(l->out, " kernels, images, modules and functions: --all or --json\n");
}

void minspect_code_digest_prepare(const struct minspect_options *o)
{
	if (o->code_digest || o->ignore)
		mpk_digest_prepare(MPK_DIGEST_SHA256);
}

int minspect_code_digest(const struct minspect_options *o)
{
	static const struct minspect_action action = {
		.doing = "reading code", .look = digest_file, .each_model = true, .sum = digest_sum
	};
	struct digests d = { .is_whole = minspect_is_whole(o) };
	int status = minspect_each(o, &action, &d);

	minspect_aside_fini(&d.aside);
	mpk_strbuf_fini(&d.files);
	return status;
}
