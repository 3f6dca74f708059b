/* SPDX-License-Identifier: Apache-2.0 */
/* Which module of one tree is which of another (diff/internal/compare.h), of trees that are made up */
#include "harness.h"

#include <time.h>

#include "diff/internal/compare.h"

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

/* A module: its kind, and what it holds. dnnl_json: the symbol in front of '='. */
struct made {
	const char *kind, *text;
};

static struct mpk_span record_of(const char *text)
{
	const char *end = strchr(text, '=');
	struct mpk_strbuf out = { 0 };
	uint64_t lengths[] = { (uint64_t)(end - text), strlen(end + 1), 0 };
	char raw[8];
	struct mpk_span bytes;

	for (size_t i = 0; i < 3; i++) {
		for (size_t k = 0; k < 8; k++)
			raw[k] = (char)(lengths[i] >> (8 * k));
		mpk_strbuf_put(&out, raw, 8);
		mpk_strbuf_put(&out, i ? end + 1 : text, (size_t)lengths[i]);
	}
	bytes = mpk_span_of(mpk_arena_copy(&arena, out.data, out.len), out.len);
	mpk_strbuf_fini(&out);
	return bytes;
}

/* A root with all of them as its imports, in order. */
static void make_view(struct mpk_view *view, const struct made *list, size_t count)
{
	struct mpk_tree *tree = mpk_arena_array(&arena, 1, sizeof *tree);
	struct mpk_image *image = mpk_arena_array(&arena, 1, sizeof *image);
	size_t *children = mpk_arena_array(&arena, count, sizeof *children);

	*image = (struct mpk_image){ .container = MPK_CONTAINER_BLOB,
				     .has_blob = true,
				     .prefix = "" };
	*tree = (struct mpk_tree){ .gen = MPK_GEN_CURRENT, .count = count + 1 };
	tree->nodes = mpk_arena_array(&arena, tree->count, sizeof *tree->nodes);
	tree->nodes[0] = (struct mpk_node){ .kind = mpk_span_str("_lib"),
					    .children = children,
					    .child_count = count,
					    .is_lib = true };
	for (size_t i = 0; i < count; i++) {
		children[i] = i + 1;
		tree->nodes[i + 1] =
			(struct mpk_node){ .kind = mpk_span_str(list[i].kind),
					   .payload = strchr(list[i].text, '=')
							      ? record_of(list[i].text)
							      : mpk_span_str(list[i].text) };
	}
	ck_assert_int_eq(mpk_view_init(view, "x", 0, image, tree, &arena, NULL), MPK_OK);
}

/* "1-2 2x +1": module 1 of a is module 2 of b, module 2 is gone, module 1 of b is new; "1=2" where
 * they are known to be equal */
static const char *match(const struct made *a, size_t a_count, const struct made *b, size_t b_count)
{
	struct mpk_module_match m;
	struct mpk_strbuf out = { 0 };
	struct mpk_view x, y;
	const char *text;

	make_view(&x, a, a_count);
	make_view(&y, b, b_count);
	ck_assert_int_eq(mpk_match_modules(&x, &y, &arena, &m, NULL), MPK_OK);
	ck_assert_uint_eq(m.partner[0], 0);
	for (size_t i = 1; i <= a_count; i++) {
		if (m.partner[i] == MPK_NO_MODULE)
			mpk_strbuf_printf(&out, "%zux ", i);
		else
			mpk_strbuf_printf(&out, "%zu%c%zu ", i, m.same[i] ? '=' : '-',
					  m.partner[i]);
		if (m.partner[i] != MPK_NO_MODULE)
			ck_assert_uint_eq(m.owner[m.partner[i]], i);
	}
	for (size_t i = 1; i <= b_count; i++)
		if (m.owner[i] == MPK_NO_MODULE)
			mpk_strbuf_printf(&out, "+%zu ", i);
	text = mpk_arena_printf(&arena, "%s", mpk_strbuf_text(&out));
	mpk_strbuf_fini(&out);
	return text;
}

#define MATCH(a, b) match(a, MPK_ARRAY_COUNT(a), b, MPK_ARRAY_COUNT(b))

START_TEST(content_goes_before_path)
{
	const struct made one[] = { { "k", "aa" }, { "k", "bb" } };
	const struct made front[] = { { "k", "cc" }, { "k", "aa" }, { "k", "bb" } };
	const struct made swapped[] = { { "k", "bb" }, { "k", "aa" } };
	const struct made other_kind[] = { { "q", "aa" }, { "k", "aa" } };

	ck_assert_str_eq(MATCH(one, one), "1=1 2=2 ");
	ck_assert_str_eq(MATCH(one, front), "1-2 2-3 +1 ");
	ck_assert_str_eq(MATCH(front, one), "1x 2-1 3-2 ");
	ck_assert_str_eq(MATCH(one, swapped), "1-2 2-1 ");
	/* the kind belongs to the content; what is left over stands at no common path */
	ck_assert_str_eq(MATCH(one, other_kind), "1-2 2x +1 ");
}
END_TEST

START_TEST(of_equal_ones_those_at_one_path)
{
	const struct made twice[] = { { "k", "aa" }, { "k", "aa" } };
	const struct made last[] = { { "k", "bb" }, { "k", "aa" } };

	ck_assert_str_eq(MATCH(twice, last), "1-1 2=2 ");
	ck_assert_str_eq(MATCH(last, twice), "1-1 2=2 ");
}
END_TEST

START_TEST(names_go_before_path)
{
	const struct made old[] = { { "dnnl_json", "f=1" }, { "dnnl_json", "g=2" } };
	const struct made front[] = { { "dnnl_json", "h=333" },
				      { "dnnl_json", "f=4444" },
				      { "dnnl_json", "g=5555" } };
	const struct made kinds[] = { { "tensorrt", "f=1" },
				      { "dnnl_json", "f=7777" },
				      { "dnnl_json", "g=2" } };

	ck_assert_str_eq(MATCH(old, front), "1-2 2-3 +1 ");
	ck_assert_str_eq(MATCH(old, kinds), "1-2 2-3 +1 ");
}
END_TEST

START_TEST(the_only_one_of_its_kind)
{
	const struct made old[] = { { "k", "aa" }, { "dnnl_json", "f=1" } };
	const struct made front[] = { { "q", "" }, { "k", "bbb" }, { "dnnl_json", "g=2" } };

	/* it has no names to tell otherwise; a graph that shares none is another */
	ck_assert_str_eq(MATCH(old, front), "1-2 2x +1 +3 ");
}
END_TEST

START_TEST(the_path_comes_last)
{
	const struct made old[] = { { "k", "aa" }, { "k", "bb" } };
	const struct made changed[] = { { "k", "cc" }, { "k", "ddd" } };
	const struct made kinds[] = { { "q", "cc" }, { "r", "ddd" } };

	ck_assert_str_eq(MATCH(old, changed), "1-1 2-2 ");
	ck_assert_str_eq(MATCH(old, kinds), "1-1 2-2 ");
}
END_TEST

/* A hundred thousand modules, each changed by `text` and one further behind. */
static double seconds_for(const char *kind, const char *text, bool numbered)
{
	enum { COUNT = 100000 };
	struct made *a = mpk_arena_array(&arena, COUNT, sizeof *a);
	struct made *b = mpk_arena_array(&arena, COUNT + 1, sizeof *b);
	struct mpk_module_match m;
	struct timespec from, to;
	struct mpk_view x, y;

	b[0] = (struct made){ "new", "" };
	for (size_t i = 0; i < COUNT; i++) {
		a[i] = (struct made){ kind, numbered ? mpk_arena_printf(&arena, "%zu%s", i, text)
						     : text };
		b[i + 1] =
			(struct made){ kind, numbered ? mpk_arena_printf(&arena, "%s!", a[i].text)
						      : text };
	}
	make_view(&x, a, COUNT);
	make_view(&y, b, COUNT + 1);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	ck_assert_int_eq(mpk_match_modules(&x, &y, &arena, &m, NULL), MPK_OK);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	for (size_t i = 1; i <= COUNT; i++)
		ck_assert_uint_ne(m.partner[i], MPK_NO_MODULE);
	return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
}

START_TEST(many_modules)
{
	/* each with a name of its own, all with one name, all the same, and what nothing tells apart */
	static const struct {
		const char *kind, *text;
		bool numbered;
	} cases[] = { { "dnnl_json", "=x", true },
		      { "dnnl_json", "f=x", false },
		      { "k", "x", false },
		      { "k", "x", true } };
	double seconds = seconds_for(cases[_i].kind, cases[_i].text, cases[_i].numbered);

	ck_assert_msg(seconds < 5, "%g seconds", seconds);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("diff_match");
	TCase *tc = tcase_create("diff_match");

	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_add_test(tc, content_goes_before_path);
	tcase_add_test(tc, of_equal_ones_those_at_one_path);
	tcase_add_test(tc, names_go_before_path);
	tcase_add_test(tc, the_only_one_of_its_kind);
	tcase_add_test(tc, the_path_comes_last);
	tcase_add_loop_test(tc, many_modules, 0, 4);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(s, tc);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
