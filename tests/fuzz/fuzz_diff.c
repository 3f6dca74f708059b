/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_diff - two files in one input: what differs in them; a file differs in nothing from itself
 *
 * The first two bytes are the length of the first file. One that does not open is compared as the other. */
#include "view.h"

#include "diff/diff.h"

static void compare(const struct fuzz_file *a, struct mpk_span a_bytes, const struct fuzz_file *b,
		    struct mpk_span b_bytes, struct mpk_arena *arena)
{
	struct mpk_strbuf out = { 0 };
	struct mpk_diff diff = { 0 };
	struct mpk_json j;

	if (mpk_diff_views(&a->view, a_bytes, &b->view, b_bytes, arena, &diff, NULL) == MPK_OK) {
		FUZZ_REQUIRE(a != b || diff.count == 0);
		mpk_answer_diff.text(&diff, (struct mpk_style){ 0 }, &out);
		mpk_answer_diff.markdown(&diff, (struct mpk_style){ 0 }, &out);
		mpk_json_init(&j, 1);
		mpk_answer_diff.json(&diff, &j, j.root);
		FUZZ_REQUIRE(mpk_json_print(&j, &out, NULL) == MPK_OK);
		mpk_json_fini(&j);
		fuzz_printable(&out);
	}
	mpk_strbuf_fini(&out);
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_span rest = bytes, head = fuzz_take(&rest, 2), first;
	struct fuzz_file a, b;

	if (head.len < 2)
		return;
	first = fuzz_take(&rest, head.data[0] | (size_t)head.data[1] << 8);
	if (!fuzz_file_open(first, arena, &a))
		return;
	if (fuzz_file_open(rest, arena, &b))
		compare(&a, first, &b, rest, arena);
	else
		compare(&a, first, &a, first, arena);
}
