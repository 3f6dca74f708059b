/* SPDX-License-Identifier: Apache-2.0 */
/* verify_made.h - what the tests of minspect --verify share: blobs made and their findings */
#ifndef MPK_TESTS_UNIT_VERIFY_MADE_H
#define MPK_TESTS_UNIT_VERIFY_MADE_H

#include "robust.h"

#include "base/report.h"
#include "image_made.h"
#include "verify/verify.h"

#define SPAN(text) { (const uint8_t *)(text), sizeof(text) - 1 }

static struct mpk_report report;

HARNESS_FN void finish(void)
{
	mpk_report_fini(&report);
	teardown();
}

/* What is said of every library that mpack did not pack is none of a test's findings. */
HARNESS_FN void leave_out_missing_digest(void)
{
	size_t kept = 0;

	for (size_t i = 0; i < report.count; i++)
		if (report.findings[i].severity != MPK_NOTE ||
		    !strstr(report.findings[i].error.text, "no digest was stored"))
			report.findings[kept++] = report.findings[i];
	report.count = kept;
}

HARNESS_FN void verify_image(const struct mpk_image *image, const struct mpk_tree *tree)
{
	struct mpk_view view;

	ck_assert_int_eq(mpk_view_init(&view, "a.so", 0, image, tree, &arena, NULL), MPK_OK);
	ck_assert_int_eq(mpk_verify_run(&view, NULL, &arena, &report, NULL), MPK_OK);
	leave_out_missing_digest();
}

HARNESS_FN void verify_bytes(struct mpk_span bytes)
{
	struct mpk_error err = { 0 };
	struct mpk_image image;
	struct mpk_tree tree;

	ck_assert_msg(mpk_image_open(bytes, NULL, &arena, &image, &err) == MPK_OK, "%s", err.text);
	if (image.has_blob)
		ck_assert_msg(mpk_blob_read(image.blob, image.gen, &arena, &tree, &err) == MPK_OK,
			      "%s", err.text);
	verify_image(&image, image.has_blob ? &tree : NULL);
}

/* Exactly one finding, or, without a check, none. */
HARNESS_FN void expect(const char *check, enum mpk_severity severity, const char *text)
{
	for (size_t i = 0; i < report.count; i++)
		ck_assert_msg(check && strcmp(report.findings[i].check, check) == 0, "%s: %s",
			      report.findings[i].check, report.findings[i].error.text);
	if (!check)
		return;
	ck_assert_uint_eq(report.count, 1);
	ck_assert_int_eq(report.findings[0].severity, severity);
	ck_assert_msg(strstr(report.findings[0].error.text, text) != NULL, "%s",
		      report.findings[0].error.text);
	ck_assert_str_eq(report.findings[0].error.at.file, "a.so");
}

/* A tree of _lib and one module, written and read back. */
HARNESS_FN struct mpk_span write_blob(const char *kind, const struct mpk_rope *packed)
{
	static const size_t child[] = { 1 };
	struct mpk_node nodes[] = {
		{ .kind = mpk_span_str("_lib"),
		  .is_lib = true,
		  .children = child,
		  .child_count = 1 },
		{ .kind = mpk_span_str(kind), .content = packed },
	};
	struct mpk_tree tree = {
		.gen = MPK_GEN_CURRENT, .nodes = nodes, .count = 2, .has_tree = true
	};
	struct mpk_rope rope = { .arena = &arena };
	struct mpk_span blob;

	ck_assert_int_eq(mpk_blob_write(&tree, &rope, NULL), MPK_OK);
	ck_assert_int_eq(mpk_rope_flat(&rope, &blob, NULL), MPK_OK);
	return blob;
}

#endif
