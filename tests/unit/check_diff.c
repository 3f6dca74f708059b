/* SPDX-License-Identifier: Apache-2.0 */
/* lib/show/diff: what differs between two files, of trees that are made up and of a library that was changed */
#include "harness.h"

#include "answer/answer.h"
#include "diff/diff.h"
#include "elf/image.h"
#include "elf/reader.h"
#include "robust.h"

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

enum { MODULES_MAX = 8 };

/* A module of a kind that nobody knows; parent: the number of the module that imports it. */
struct made {
	const char *kind, *payload;
	size_t parent;
};

/* Modules up to one without a kind; the first is the root. */
static struct mpk_view *view_of(const char *name, const struct made *list)
{
	struct mpk_image *image = mpk_arena_alloc(&arena, sizeof *image);
	struct mpk_tree *tree = mpk_arena_alloc(&arena, sizeof *tree);
	struct mpk_view *view = mpk_arena_alloc(&arena, sizeof *view);

	ck_assert(image && tree && view);
	*image = (struct mpk_image){ .container = MPK_CONTAINER_BLOB,
				     .format = MPK_FILE_BLOB,
				     .has_blob = true,
				     .prefix = "" };
	*tree = (struct mpk_tree){ .gen = MPK_GEN_CURRENT };
	tree->nodes = mpk_arena_array(&arena, MODULES_MAX, sizeof *tree->nodes);
	ck_assert_ptr_nonnull(tree->nodes);
	for (size_t i = 0; i < MODULES_MAX && list[i].kind; i++, tree->count++) {
		tree->nodes[i] = (struct mpk_node){
			.kind = mpk_span_str(list[i].kind),
			.payload = mpk_span_str(list[i].payload),
			.children = mpk_arena_array(&arena, MODULES_MAX, sizeof(size_t)),
			.is_lib = i == 0,
		};
		ck_assert_ptr_nonnull(tree->nodes[i].children);
		if (i) {
			struct mpk_node *up = &tree->nodes[list[i].parent];

			((size_t *)(uintptr_t)up->children)[up->child_count++] = i;
		}
	}
	ck_assert_int_eq(mpk_view_init(view, name, 0, image, tree, &arena, NULL), MPK_OK);
	return view;
}

static const char *text_of(mpk_answer_text *how, const struct mpk_diff *diff,
			   struct mpk_style style)
{
	struct mpk_strbuf out = { 0 };
	const char *text;

	how(diff, style, &out);
	ck_assert(!out.failed);
	text = mpk_arena_printf(&arena, "%s", mpk_strbuf_text(&out));
	mpk_strbuf_fini(&out);
	return text;
}

static void compare(const struct mpk_view *a, const char *a_bytes, const struct mpk_view *b,
		    const char *b_bytes, struct mpk_diff *out)
{
	struct mpk_error err = { 0 };

	ck_assert_int_eq(mpk_diff_views(a, mpk_span_str(a_bytes), b, mpk_span_str(b_bytes), &arena,
					out, &err),
			 MPK_OK);
}

/* --- trees: one line for each thing that differs ----------------------------------------------- */

static const struct {
	struct made a[MODULES_MAX], b[MODULES_MAX];
	const char *lines;
} trees[] = {
	/* a payload, by its length or by its bytes */
	{ { { "root", "", 0 }, { "x", "12345", 0 } },
	  { { "root", "", 0 }, { "x", "1234567", 0 } },
	  "~ /0 payload: 5 B -> 7 B (+2 B)\n" },
	{ { { "root", "", 0 }, { "x", "12345", 0 } },
	  { { "root", "", 0 }, { "x", "1x3y5", 0 } },
	  "~ /0 payload: 2 of 5 bytes differ, from byte 1 on\n" },
	/* one that came, one that went, with what they take */
	{ { { "root", "", 0 }, { "x", "123", 0 } },
	  { { "root", "", 0 }, { "x", "123", 0 }, { "y", "12", 0 } },
	  "~ / imports: 1 -> 2\n+ /1 module: +2 B\n(file 1 B -> 1 B; modules +2 B)\n" },
	{ { { "root", "", 0 }, { "x", "123", 0 }, { "y", "12", 0 } },
	  { { "root", "", 0 }, { "x", "123", 0 } },
	  "~ / imports: 2 -> 1\n- /1 module: -2 B\n(file 1 B -> 1 B; modules -2 B)\n" },
	/* another kind at one place: nothing else is compared */
	{ { { "root", "", 0 }, { "x", "123", 0 } },
	  { { "root", "", 0 }, { "y", "45", 0 } },
	  "~ /0 module: x -> y\n" },
	/* moved, as it was; moved, with another import */
	{ { { "root", "", 0 }, { "x", "123", 0 }, { "y", "45", 0 } },
	  { { "root", "", 0 }, { "y", "45", 0 }, { "x", "123", 0 } },
	  "~ /0 -> /1 module x: moved, unchanged\n~ /1 -> /0 module y: moved, unchanged\n" },
	{ { { "root", "", 0 }, { "x", "123", 0 }, { "y", "45", 0 } },
	  { { "root", "", 0 }, { "y", "45", 0 }, { "x", "123", 0 }, { "z", "6", 2 } },
	  "~ /0 -> /1 module x: moved\n~ /0 -> /1 imports: 0 -> 1\n~ /1 -> /0 module y: moved, unchanged\n+ /1/0 module: +1 B\n(file 1 B -> 1 B; modules +1 B)\n" },
};

START_TEST(trees_differ)
{
	struct mpk_diff diff;
	const char *text;

	compare(view_of("a", trees[_i].a), "a", view_of("b", trees[_i].b), "b", &diff);
	text = text_of(mpk_answer_diff.text, &diff, (struct mpk_style){ 0 });
	ck_assert_str_eq(text, mpk_arena_printf(&arena, "--- a\n+++ b\n%s", trees[_i].lines));
}
END_TEST

/* Files of the same bytes are not looked into. Bytes that mean nothing are the last thing that is said. */
START_TEST(bytes_come_last)
{
	static const struct made one[] = { { "root", "", 0 }, { "x", "1", 0 }, { 0 } };
	static const struct made other[] = { { "root", "", 0 }, { "x", "2", 0 }, { 0 } };
	struct mpk_diff diff;

	compare(view_of("a", one), "same", view_of("b", other), "same", &diff);
	ck_assert_uint_eq(diff.count, 0);
	ck_assert_str_eq(diff.older.name, "a");
	ck_assert_str_eq(diff.newer.name, "b");
	ck_assert_uint_eq(diff.older.bytes, 4);
	compare(view_of("a", one), "abcd", view_of("b", one), "abcx", &diff);
	ck_assert_uint_eq(diff.count, 1);
	ck_assert_str_eq(diff.items[0].what, "bytes");
	ck_assert_str_eq(diff.items[0].text, "1 of 4 bytes differ, from byte 3 on");
	/* of different files that differ in something, that alone */
	compare(view_of("a", one), "abcd", view_of("b", other), "abcx", &diff);
	ck_assert_uint_eq(diff.count, 1);
	ck_assert_str_eq(diff.items[0].what, "payload");
}
END_TEST

/* --- a library ----------------------------------------------------------------------------------- */

static void open_library(struct mpk_span bytes, struct mpk_view *view)
{
	struct mpk_image *image = mpk_arena_alloc(&arena, sizeof *image);
	struct mpk_error err = { 0 };

	ck_assert_msg(mpk_image_open(bytes, NULL, &arena, image, &err) == MPK_OK, "%s", err.text);
	ck_assert_int_eq(mpk_view_init(view, "lib.so", bytes.len, image, NULL, &arena, &err),
			 MPK_OK);
}

/* One byte of a section is another one, of a library without symbols that are compared. */
static const struct {
	const char *section;
	size_t at;
	bool same_code;
	const char *text;
} sections[] = {
	{ ".comment", 0, true, "in .comment; code equal" },
	{ ".eh_frame", 0, false, "in .eh_frame" },
};

START_TEST(sections_are_named)
{
	struct mpk_span bytes = robust_load(&arena, "tests/data/gpu/cuda.so");
	uint8_t *changed = (uint8_t *)mpk_arena_copy(&arena, bytes.data, bytes.len);
	struct mpk_elf elf = { 0 };
	struct mpk_view a, b;
	struct mpk_error err = { 0 };
	struct mpk_diff diff;
	bool found = false;

	ck_assert_ptr_nonnull(changed);
	ck_assert_int_eq(mpk_elf_open(bytes, 0, &elf, &err), MPK_OK);
	for (size_t i = 1; i < elf.section_count && !found; i++) {
		GElf_Shdr h;

		ck_assert_int_eq(mpk_elf_section(&elf, i, &h, &err), MPK_OK);
		found = strcmp(mpk_elf_section_name(&elf, i), sections[_i].section) == 0;
		if (found)
			changed[h.sh_offset + sections[_i].at] ^= 1;
	}
	mpk_elf_close(&elf);
	ck_assert(found);
	open_library(bytes, &a);
	open_library(mpk_span_of(changed, bytes.len), &b);
	ck_assert_int_eq(
		mpk_diff_views(&a, bytes, &b, mpk_span_of(changed, bytes.len), &arena, &diff, &err),
		MPK_OK);
	ck_assert_uint_eq(diff.count, 1);
	ck_assert_str_eq(diff.items[0].what, "bytes");
	ck_assert_str_eq(diff.items[0].text, sections[_i].text);
	ck_assert_int_eq(diff.items[0].same_code, sections[_i].same_code);
}
END_TEST

/* What one library has for GPUs and the other has not; both ways are the same but for the sign. */
START_TEST(gpu_code_comes_and_goes)
{
	struct mpk_span bytes = robust_load(&arena, "tests/data/gpu/cuda.so");
	struct mpk_span other = robust_load(&arena, "tests/data/formats/01_opencl_scale.so");
	struct mpk_diff there, back;
	struct mpk_view a, b;
	size_t removed = 0, added = 0;

	open_library(bytes, &a);
	open_library(other, &b);
	ck_assert_int_eq(mpk_diff_views(&a, bytes, &b, other, &arena, &there, NULL), MPK_OK);
	ck_assert_int_eq(mpk_diff_views(&b, other, &a, bytes, &arena, &back, NULL), MPK_OK);
	ck_assert_uint_eq(there.count, back.count);
	for (size_t i = 0; i < there.count; i++) {
		removed += there.items[i].sign == MPK_DIFF_REMOVED;
		added += back.items[i].sign == MPK_DIFF_ADDED;
	}
	ck_assert_uint_gt(removed, 0);
	ck_assert_uint_eq(removed, added);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("diff");
	TCase *tcase = tcase_create("diff");

	tcase_add_checked_fixture(tcase, NULL, clear);
	tcase_add_loop_test(tcase, trees_differ, 0, (int)MPK_ARRAY_COUNT(trees));
	tcase_add_test(tcase, bytes_come_last);
	tcase_add_loop_test(tcase, sections_are_named, 0, (int)MPK_ARRAY_COUNT(sections));
	tcase_add_test(tcase, gpu_code_comes_and_goes);
	suite_add_tcase(suite, tcase);

	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
