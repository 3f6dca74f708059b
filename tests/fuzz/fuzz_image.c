/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_image - a file that minspect is given: ELF, archive, tar, blob; all that inspection says of it, as
 * text and as JSON */
#include "view.h"

#include "bom/bom.h"
#include "digest/digest.h"
#include "extract/extract.h"
#include "list/list.h"
#include "model/node_info.h"
#include "size/size.h"
#include "verify/verify.h"

static void verify(const struct mpk_view *view, struct mpk_arena *arena, struct mpk_strbuf *out)
{
	static const struct mpk_mapping no_file = { .fd = -1 };
	/* a key that signed nothing: whatever the file says, it is not signed by it */
	static const struct mpk_public_keys keys = { .items = { { { 1 } } }, .count = 1 };
	const struct mpk_verify_file file = { .map = &no_file, .keys = &keys };
	struct mpk_report report = { 0 };

	if (mpk_verify_run(view, &file, arena, &report, NULL) == MPK_OK)
		mpk_answer_verify.text(&(struct mpk_verified){ "x", &report, false },
				       (struct mpk_style){ .verbose = true }, out);
	FUZZ_REQUIRE(report.failed || report.errors);
	mpk_report_fini(&report);
}

static void document(struct mpk_view *view, struct mpk_strbuf *out)
{
	const struct mpk_bom_author author = { .name = "x", .version = "1", .builder = "x:y" };
	const struct mpk_mapping map = { .bytes = view->image->bytes, .fd = -1 };
	struct mpk_json j;
	struct mpk_bom b;

	if (mpk_bom_read(view, &map, map.bytes, &author, &b, NULL) != MPK_OK)
		return;
	mpk_json_init(&j, 0);
	mpk_answer_cyclonedx.json(&b, &j, mpk_json_object(&j, j.root, "a"));
	mpk_answer_spdx.json(&b, &j, mpk_json_object(&j, j.root, "b"));
	if (b.has_provenance)
		mpk_answer_statement.json(&b, &j, mpk_json_object(&j, j.root, "c"));
	FUZZ_REQUIRE(mpk_json_print(&j, out, NULL) == MPK_OK);
	mpk_json_fini(&j);
}

static void show(struct mpk_view *view, struct mpk_arena *arena, struct mpk_strbuf *out)
{
	const struct mpk_style style = { .unicode = true };
	struct mpk_json j;
	struct mpk_size size;
	struct mpk_extract plan;
	struct mpk_code_digests digests;

	FUZZ_REQUIRE(mpk_view_show_info(view, true, NULL) == MPK_OK);
	mpk_answer_summary.text(view, style, out);
	mpk_answer_functions.text(view, style, out);
	if (mpk_size_read(view, arena, &size, NULL) == MPK_OK)
		mpk_answer_size.text(&size, style, out);
	if (mpk_code_digests_read(view, arena, &digests, NULL) == MPK_OK)
		mpk_answer_code_digest.text(&digests, style, out);
	(void)!mpk_extract_plan(view, (struct mpk_span){ 0 }, arena, &plan, NULL);
	verify(view, arena, out);
	mpk_json_init(&j, 1);
	mpk_answer_summary.json(view, &j, j.root);
	FUZZ_REQUIRE(mpk_json_print(&j, out, NULL) == MPK_OK);
	mpk_json_fini(&j);
	document(view, out);
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
	struct fuzz_file file;

	if (!fuzz_file_open(bytes, arena, &file))
		return;
	show(&file.view, arena, &out);
	fuzz_printable(&out);
}
