/* SPDX-License-Identifier: Apache-2.0 */
/* formats/blob/names.c: the names of nodes */
#include "harness.h"

#include "blob/blob.h"

START_TEST(paths_name_nodes)
{
	/* the root imports 1 and 2, both import 3 */
	static const size_t root[] = { 1, 2 }, leaf[] = { 3 };
	struct mpk_node nodes[4] = { { .children = root, .child_count = 2 },
				     { .children = leaf, .child_count = 1 },
				     { .children = leaf, .child_count = 1 } };
	struct mpk_tree tree = { .nodes = nodes, .count = 4 };
	static const char *const paths[] = { "/", "/0", "/1", "/0/0" };
	static const char *const wrong[] = {
		"", "/2", "/0/1", "/x", "//", "/0/", "0", "/0x0", "#4", "#", "/99999999999999999999"
	};
	char out[16];
	size_t at;

	for (size_t i = 0; i < 4; i++) {
		ck_assert_str_eq(mpk_tree_path(&tree, i, out, sizeof out), paths[i]);
		ck_assert(mpk_tree_find(&tree, paths[i], &at));
		ck_assert_uint_eq(at, i);
	}
	ck_assert(mpk_tree_find(&tree, "/1/0", &at));
	ck_assert_uint_eq(at, 3);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert_msg(!mpk_tree_find(&tree, wrong[i], &at), "'%s' found", wrong[i]);
	nodes[0].child_count = 1;
	ck_assert_str_eq(mpk_tree_path(&tree, 2, out, sizeof out), "#2");
	ck_assert(mpk_tree_find(&tree, "#2/0", &at));
	ck_assert_uint_eq(at, 3);
}
END_TEST

START_TEST(long_paths_lose_their_head)
{
	enum { DEPTH = 100 };
	struct mpk_node nodes[DEPTH];
	size_t child[DEPTH];
	struct mpk_tree tree = { .nodes = nodes, .count = DEPTH };
	char out[16];

	for (size_t i = 0; i < DEPTH; i++) {
		child[i] = i + 1;
		nodes[i] = (struct mpk_node){ .children = &child[i], .child_count = i + 1 < DEPTH };
	}
	ck_assert_str_eq(mpk_tree_path(&tree, DEPTH - 1, out, sizeof out), "...0/0/0/0/0/0");
	ck_assert_str_eq(mpk_tree_path(&tree, 7, out, sizeof out), "/0/0/0/0/0/0/0");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tree");
	TCase *t = tcase_create("tree");

	tcase_add_test(t, paths_name_nodes);
	tcase_add_test(t, long_paths_lose_their_head);
	suite_add_tcase(s, t);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
