/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which TVM numbers modules, host modules that merge, cycles (manifest/manifest.h) */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "manifest/manifest.h"

enum { MODULES_MAX = 64 };

/* In the order that follows from the imports. */
#define GRAPH(modules, count, root) (&(struct mpk_graph){ modules, count, root, false })

/* A graph as text: "*h:a,b a b": host module h imports a and b. The first is the root. */
struct graph {
	struct mpk_module modules[MODULES_MAX];
	size_t imports[MODULES_MAX][MODULES_MAX];
	char text[1024];
	size_t count;
};

static size_t find(const struct graph *g, const char *name)
{
	for (size_t i = 0; i < g->count; i++)
		if (mpk_span_is(g->modules[i].name, name))
			return i;
	ck_abort_msg("the test's graph has no module %s", name);
	return 0;
}

static void parse_graph(struct graph *g, const char *text)
{
	char *words[MODULES_MAX], *save = NULL;

	memset(g, 0, sizeof *g);
	(void)snprintf(g->text, sizeof g->text, "%s", text);
	for (char *w = strtok_r(g->text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		words[g->count++] = w;
	for (size_t i = 0; i < g->count; i++) {
		struct mpk_module *m = &g->modules[i];

		m->is_host = words[i][0] == '*';
		words[i] += m->is_host;
		m->name = mpk_span_of(words[i], strcspn(words[i], ":"));
		m->kind = m->name;
		m->imports = g->imports[i];
	}
	for (size_t i = 0; i < g->count; i++) {
		char *list = strchr(words[i], ':');

		for (char *w = list ? strtok_r(list + 1, ",", &save) : NULL; w;
		     w = strtok_r(NULL, ",", &save))
			g->imports[i][g->modules[i].import_count++] = find(g, w);
	}
}

static void print_tree(const struct mpk_tree *tree, struct mpk_strbuf *out)
{
	for (size_t i = 0; i < tree->count; i++) {
		const struct mpk_node *n = &tree->nodes[i];

		mpk_strbuf_puts(out, i ? " " : "");
		mpk_strbuf_put_span(out, n->kind);
		for (size_t k = 0; k < n->child_count; k++)
			mpk_strbuf_printf(out, "%c%zu", k ? ',' : ':', n->children[k]);
		ck_assert_int_eq(n->is_lib, mpk_span_is(n->kind, MPK_KIND_LIB));
	}
}

static void expect_tree(const char *row, const char *text, const char *expected)
{
	static struct graph g;
	struct mpk_arena arena = { 0 };
	struct mpk_strbuf got = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_tree tree = { 0 };

	parse_graph(&g, text);
	ck_assert_msg(mpk_graph_order(GRAPH(g.modules, g.count, 0), MPK_GEN_CURRENT, &arena, &tree,
				      NULL, &err) == MPK_OK,
		      "%s: %s", row, err.text);
	print_tree(&tree, &got);
	ck_assert_msg(strcmp(mpk_strbuf_text(&got), expected) == 0, "%s: %s, not %s", row,
		      mpk_strbuf_text(&got), expected);
	ck_assert_int_eq(tree.gen, MPK_GEN_CURRENT);
	ck_assert(tree.has_tree);
	mpk_strbuf_fini(&got);
	mpk_arena_fini(&arena);
}

/* What TVM 0.27 made of each graph (tests/interop/graphs.py): index order and children. */
static const struct {
	const char *name, *graph, *tree;
} tvm_rows[] = {
	{ "host_only", "*h", "_lib" },
	{ "hosts_only", "*h:i *i", "_lib" },
	{ "data_only", "d", "d" },
	{ "chain", "*h:a a:b b", "_lib:1 a:2 b" },
	{ "data_chain", "a:b b:c c", "a:1 b:2 c" },
	{ "fan", "*h:a,b,c a b c", "_lib:1,2,3 c b a" },
	{ "shared_by_hosts", "*h:i,a *i:a a", "_lib:1 a" },
	{ "shared", "*h:c,a,b a:c b:c c", "_lib:1,2,3 b:3 a:3 c" },
	{ "diamond", "d:a,b a:h b:h *h", "d:1,2 b:3 a:3 _lib" },
	{ "data_root", "d:h *h", "d:1 _lib" },
	{ "data_root_deep", "d:h,e *h:f e f", "d:1,2 e _lib:3 f" },
	{ "host_deep", "a:b b:c c:h *h:e e", "a:1 b:2 c:3 _lib:4 e" },
	{ "two_hosts", "*h:i,a *i:b a b", "_lib:1,2 a b" },
	{ "three_hosts", "d:h,i *h:a,j *i:b *j:c a b c", "d:1 _lib:2,3,4 c a b" },
	{ "hosts_share", "d:h,i *h:a *i:a a", "d:1 _lib:2 a" },
	{ "repeated", "*h:a,a,b a b", "_lib:1,2 b a" },
	{ "wide",
	  "r:m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11 m0 m1 *m2 m3 m4 m5 m6 *m7 m8 "
	  "m9 m10 m11",
	  "r:1,2,3,4,5,6,7,8,9,10,11 m11 m10 m9 m8 m6 m5 m4 m3 m1 m0 _lib" },
	{ "ladder", "a0:a1,b1 a1:h b1:h *h:z,a3,b3 a3:z b3:z z",
	  "a0:1,2 b1:3 a1:3 _lib:4,5,6 b3:6 a3:6 z" },
};

START_TEST(order_is_that_of_tvm)
{
	expect_tree(tvm_rows[_i].name, tvm_rows[_i].graph, tvm_rows[_i].tree);
}
END_TEST

/* Graphs without a cycle that TVM refuses: parents come first, siblings keep TVM's order. */
static const struct {
	const char *name, *graph, *tree;
} sorted_rows[] = {
	{ "late_parent", "r:a,b a:b b", "r:1,2 a:2 b" },
	{ "late_host", "r:h,b *h:b b:c c", "r:1,2 _lib:2 b:3 c" },
	{ "late_deep", "*h:a,c a:b b:c c", "_lib:1,3 a:2 b:3 c" },
	{ "diamond_of_data", "d:a,b a:e b:e e", "d:1,2 b:3 a:3 e" },
	{ "diamond_below_host", "*h:a,b a:c b:c c", "_lib:1,2 b:3 a:3 c" },
	{ "diamond_with_tail", "d:a,b,t a:e b:e e:f f t", "d:1,2,3 t b:4 a:4 e:5 f" },
};

START_TEST(shared_modules_come_after_all_importers)
{
	expect_tree(sorted_rows[_i].name, sorted_rows[_i].graph, sorted_rows[_i].tree);
}
END_TEST

static const struct {
	const char *name, *graph, *message;
} cycle_rows[] = {
	{ "self", "a:a", "modules import each other: a -> a" },
	{ "two", "a:b b:a", "modules import each other: a -> b -> a" },
	{ "behind", "r:a a:b b:c c:a", "modules import each other: a -> b -> c -> a" },
	{ "hosts", "*h:i *i:h", "modules import each other: h -> i -> h" },
	{ "unreached", "r a:b b:a", "modules import each other: a -> b -> a" },
	{ "merged", "*h:d d:i *i",
	  "modules import each other once the host modules 'h' and 'i' become one library: "
	  "h -> d -> i" },
	{ "merged_far", "r:h,i *h:a a:b b:j *j *i:c c",
	  "modules import each other once the host modules 'h' and 'j' become one library: "
	  "h -> a -> b -> j" },
	{ "long", "a:b b:c c:d d:e e:f f:g g:h h:i i:j j:k k:l l:m m:n n:a",
	  "modules import each other: a -> b -> c -> d -> e -> f -> ... (2 more) -> i -> j -> "
	  "k -> l -> m -> n -> a" },
};

START_TEST(cycles_are_named)
{
	static struct graph g;
	struct mpk_arena arena = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_tree tree = { .count = 77 };

	parse_graph(&g, cycle_rows[_i].graph);
	ck_assert_int_eq(mpk_graph_order(GRAPH(g.modules, g.count, 0), MPK_GEN_LEGACY, &arena,
					 &tree, NULL, &err),
			 MPK_E_CONFLICT);
	ck_assert_str_eq(err.text, cycle_rows[_i].message);
	ck_assert_uint_eq(tree.count, 77);
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(ring_of_unreached_hosts_is_no_cycle)
{
	/* only what root reaches is merged */
	expect_tree("unreached hosts", "r *h:d d:i *i", "r");
}
END_TEST

START_TEST(listed_modules_keep_their_order)
{
	static struct graph g;
	struct mpk_arena arena = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_tree tree = { 0 };
	struct mpk_strbuf got = { 0 };

	/* the walk gives r b d a c */
	parse_graph(&g, "r:a,b a:c b:d c d");
	ck_assert_int_eq(mpk_graph_order(&(struct mpk_graph){ g.modules, g.count, 0, true },
					 MPK_GEN_CURRENT, &arena, &tree, NULL, &err),
			 MPK_OK);
	print_tree(&tree, &got);
	ck_assert_str_eq(mpk_strbuf_text(&got), "r:1,2 a:3 b:4 c d");
	parse_graph(&g, "a r:a");
	ck_assert_int_eq(mpk_graph_order(&(struct mpk_graph){ g.modules, g.count, 1, true },
					 MPK_GEN_CURRENT, &arena, &tree, NULL, &err),
			 MPK_E_CONFLICT);
	ck_assert_str_eq(err.text, "the order of modules cannot be kept: 'a' stands before 'r', "
				   "which imports it");
	mpk_strbuf_fini(&got);
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(unreached_modules_are_told)
{
	static struct graph g;
	struct mpk_arena arena = { 0 };
	struct mpk_tree tree = { 0 };
	bool unreached[4] = { true, true, false, false };

	parse_graph(&g, "r:a a b:a *h");
	ck_assert_int_eq(mpk_graph_order(GRAPH(g.modules, g.count, 0), MPK_GEN_HYBRID, &arena,
					 &tree, unreached, NULL),
			 MPK_OK);
	ck_assert_uint_eq(tree.count, 2);
	ck_assert(!unreached[0] && !unreached[1] && unreached[2] && unreached[3]);
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(indices_out_of_range_are_refused)
{
	struct mpk_arena arena = { 0 };
	size_t import = 1;
	struct mpk_module m = { .name = mpk_span_str("m"), .imports = &import, .import_count = 1 };
	struct mpk_tree tree;

	ck_assert_int_eq(
		mpk_graph_order(GRAPH(&m, 1, 0), MPK_GEN_CURRENT, &arena, &tree, NULL, NULL),
		MPK_E_RANGE);
	import = 0;
	ck_assert_int_eq(
		mpk_graph_order(GRAPH(&m, 1, 1), MPK_GEN_CURRENT, &arena, &tree, NULL, NULL),
		MPK_E_RANGE);
	ck_assert_int_eq(
		mpk_graph_order(GRAPH(&m, 0, 0), MPK_GEN_CURRENT, &arena, &tree, NULL, NULL),
		MPK_E_RANGE);
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(content_and_host_flag_reach_the_nodes)
{
	static struct graph g;
	struct mpk_arena arena = { 0 };
	struct mpk_rope content = mpk_rope_of(&arena);
	struct mpk_tree tree = { 0 };

	parse_graph(&g, "*h:a a");
	g.modules[1].content = &content;
	ck_assert_int_eq(mpk_graph_order(GRAPH(g.modules, g.count, 0), MPK_GEN_CURRENT, &arena,
					 &tree, NULL, NULL),
			 MPK_OK);
	ck_assert(tree.nodes[0].is_lib && !tree.nodes[0].content);
	ck_assert_ptr_eq(tree.nodes[1].content, &content);
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(host_code_alone_needs_no_blob)
{
	static struct graph g;
	static const struct {
		const char *graph;
		bool needed;
	} rows[] = { { "*h", false }, { "*h:i *i", true }, { "*h:a a", true }, { "a", true } };
	struct mpk_arena arena = { 0 };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_tree tree = { 0 };

		parse_graph(&g, rows[i].graph);
		ck_assert_int_eq(mpk_graph_order(GRAPH(g.modules, g.count, 0), MPK_GEN_CURRENT,
						 &arena, &tree, NULL, NULL),
				 MPK_OK);
		ck_assert_int_eq(mpk_graph_needs_blob(GRAPH(g.modules, g.count, 0), &tree),
				 rows[i].needed);
	}
	mpk_arena_fini(&arena);
}
END_TEST

enum { MANY = 10000 };

/* Every parent before its children, every child list ascending and unique. */
static void expect_sound(const struct mpk_tree *tree, size_t count)
{
	ck_assert_uint_eq(tree->count, count);
	for (size_t i = 0; i < tree->count; i++) {
		const struct mpk_node *n = &tree->nodes[i];

		for (size_t k = 0; k < n->child_count; k++)
			ck_assert_uint_gt(n->children[k], k ? n->children[k - 1] : i);
	}
}

/* Module i imports i + 1 .. i + reach; host_tail: the last hundred are host code. */
static struct mpk_module *make_many(struct mpk_arena *arena, size_t reach, bool host_tail)
{
	struct mpk_module *modules = mpk_arena_array(arena, MANY, sizeof *modules);

	ck_assert_ptr_nonnull(modules);
	for (size_t i = 0; i < MANY; i++) {
		size_t left = MANY - 1 - i;
		size_t *imports = mpk_arena_array(arena, reach, sizeof *imports);

		ck_assert_ptr_nonnull(imports);
		for (size_t k = 0; k < reach; k++)
			imports[k] = i + 1 + k;
		modules[i] = (struct mpk_module){
			.name = mpk_span_str("m"),
			.kind = mpk_span_str("data"),
			.is_host = host_tail && i >= MANY - 100,
			.imports = imports,
			.import_count = left < reach ? left : reach,
		};
	}
	return modules;
}

static const struct {
	size_t reach;
	bool host_tail;
	size_t nodes;
} many_rows[] = { { 1, false, MANY }, { 3, false, MANY }, { 7, true, MANY - 99 } };

START_TEST(ten_thousand_modules_deep)
{
	struct mpk_arena arena = { 0 };
	struct mpk_module *modules =
		make_many(&arena, many_rows[_i].reach, many_rows[_i].host_tail);
	struct mpk_tree tree = { 0 };

	ck_assert_int_eq(mpk_graph_order(GRAPH(modules, MANY, 0), MPK_GEN_CURRENT, &arena, &tree,
					 NULL, NULL),
			 MPK_OK);
	expect_sound(&tree, many_rows[_i].nodes);
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(ten_thousand_modules_wide)
{
	struct mpk_arena arena = { 0 };
	struct mpk_module *modules = mpk_arena_array(&arena, MANY, sizeof *modules);
	size_t *imports = mpk_arena_array(&arena, MANY, sizeof *imports);
	struct mpk_tree tree = { 0 };

	ck_assert(modules && imports);
	for (size_t i = 1; i < MANY; i++)
		imports[i - 1] = i;
	modules[0] = (struct mpk_module){ .is_host = true,
					  .imports = imports,
					  .import_count = MANY - 1 };
	ck_assert_int_eq(mpk_graph_order(GRAPH(modules, MANY, 0), MPK_GEN_CURRENT, &arena, &tree,
					 NULL, NULL),
			 MPK_OK);
	expect_sound(&tree, MANY);
	ck_assert_uint_eq(tree.nodes[0].child_count, MANY - 1);
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(ring_of_ten_thousand)
{
	struct mpk_arena arena = { 0 };
	struct mpk_module *modules = make_many(&arena, 1, false);
	size_t first = 0;
	struct mpk_cycle cycle = { 0 };
	struct mpk_error err = { 0 };

	modules[MANY - 1].imports = &first;
	modules[MANY - 1].import_count = 1;
	ck_assert_int_eq(mpk_graph_find_cycle(GRAPH(modules, MANY, 0), &arena, &cycle, NULL),
			 MPK_OK);
	ck_assert_uint_eq(cycle.count, MANY);
	ck_assert(!cycle.merged);
	ck_assert_int_eq(mpk_cycle_fail(&cycle, modules, &err), MPK_E_CONFLICT);
	ck_assert_ptr_nonnull(strstr(err.text, "... (9988 more)"));
	mpk_arena_fini(&arena);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("graph");
	TCase *tc = tcase_create("order");

	tcase_add_loop_test(tc, order_is_that_of_tvm, 0, (int)MPK_ARRAY_COUNT(tvm_rows));
	tcase_add_loop_test(tc, shared_modules_come_after_all_importers, 0,
			    (int)MPK_ARRAY_COUNT(sorted_rows));
	tcase_add_loop_test(tc, cycles_are_named, 0, (int)MPK_ARRAY_COUNT(cycle_rows));
	tcase_add_test(tc, ring_of_unreached_hosts_is_no_cycle);
	tcase_add_test(tc, listed_modules_keep_their_order);
	tcase_add_test(tc, unreached_modules_are_told);
	tcase_add_test(tc, indices_out_of_range_are_refused);
	tcase_add_test(tc, content_and_host_flag_reach_the_nodes);
	tcase_add_test(tc, host_code_alone_needs_no_blob);
	tcase_add_loop_test(tc, ten_thousand_modules_deep, 0, (int)MPK_ARRAY_COUNT(many_rows));
	tcase_add_test(tc, ten_thousand_modules_wide);
	tcase_add_test(tc, ring_of_ten_thousand);
	suite_add_tcase(s, tc);

	SRunner *sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	int failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
