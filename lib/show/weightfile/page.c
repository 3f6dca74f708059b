/* SPDX-License-Identifier: Apache-2.0 */
/* page.c - a file of weights on the page of --html: what the listing has, with the figures of elements, and what
 * verification finds. The page draws its map from the names of the tensors. */
#include "page/page.h"
#include "verify/verify.h"
#include "weightfile/weightfile.h"

enum mpk_code mpk_weightfile_page(const struct mpk_weightfile *f, const struct mpk_tap *tap,
				  struct mpk_page *page, struct mpk_error *err)
{
	struct mpk_weightfile shown = *f;
	struct mpk_json *j = &page->json;
	struct mpk_json_at *at = mpk_page_begin_file(page), *about;
	struct mpk_report report = { 0 };
	const struct mpk_verified verified = { f->name, &report };
	enum mpk_code code;

	shown.has_figures = true;
	about = mpk_json_object(j, at, "about");
	mpk_json_text(j, about, "file", f->name);
	mpk_json_u64(j, about, "bytes", f->bytes);
	mpk_json_text(j, about, "container", "weights");
	mpk_json_text(j, about, "title", f->set.weights.format->title);
	mpk_answer_weights.json(&shown, j, mpk_json_object(j, at, "weights"));
	mpk_page_plain_name(page, f->name);
	mpk_page_plain(page, "What is in it", "", &mpk_answer_weights, f, f->name);
	code = mpk_weightfile_verify(f, tap, &report, err);
	if (code == MPK_OK)
		mpk_answer_verify.json(&verified, j, mpk_json_object(j, at, "verify"));
	mpk_report_fini(&report);
	return code != MPK_OK ? code : j->failed ? mpk_fail_nomem(err) : MPK_OK;
}
