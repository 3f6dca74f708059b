/* SPDX-License-Identifier: Apache-2.0 */
/* formats/graphjson: graphs of graph executors, one that TVM 0.18 wrote and broken ones */
#include "harness.h"

#include "blob/blob.h"
#include "graphjson/graphjson.h"
#include "payload.h"

/* add(x, w) as TVM 0.18 spells it, w as a parameter. */
static const char good[] =
	"{\"nodes\": [{\"op\": \"null\", \"name\": \"x\", \"inputs\": []},"
	" {\"op\": \"null\", \"name\": \"p0\", \"inputs\": []},"
	" {\"op\": \"tvm_op\", \"name\": \"add\", \"attrs\": {\"num_outputs\": \"1\","
	" \"num_inputs\": \"2\", \"flatten_data\": \"0\", \"func_name\": \"fused_add\","
	" \"hash\": \"8a\"}, \"inputs\": [[0, 0, 0], [1, 0]]}],"
	" \"arg_nodes\": [0, 1], \"heads\": [[2, 0, 0]], \"node_row_ptr\": [0, 1, 2, 3],"
	" \"attrs\": {\"dltype\": [\"list_str\", [\"float32\", \"float32\", "
	"\"float32\"]],"
	" \"storage_id\": [\"list_int\", [0, 1, 2]], \"device_index\": [\"list_int\", "
	"[1, 1, 1]],"
	" \"shape\": [\"list_shape\", [[4], [4], [2, 2]]]}, \"metadata\": {}}";

START_TEST(small_graph)
{
	struct mpk_arena arena = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_graph_json g;

	ck_assert_msg(mpk_graph_json_read(mpk_span_str(good), &arena, &g, &err) == MPK_OK, "%s",
		      err.text);
	ck_assert_uint_eq(g.node_count, 3);
	ck_assert(g.nodes[0].is_input && !g.nodes[2].is_input);
	ck_assert_str_eq(g.nodes[1].name, "p0");
	ck_assert_str_eq(g.nodes[2].func_name, "fused_add");
	ck_assert_uint_eq(g.nodes[2].input_count, 2);
	ck_assert_uint_eq(mpk_graph_json_entry(&g, g.nodes[2].inputs[1]), 1);
	ck_assert_uint_eq(g.arg_count, 2);
	ck_assert_uint_eq(mpk_graph_json_entry(&g, g.heads[0]), 2);
	ck_assert_uint_eq(g.entry_count, 3);
	ck_assert_uint_eq(g.entries[2].ndim, 2);
	ck_assert_int_eq(g.entries[2].shape[1], 2);
	ck_assert_int_eq(g.entries[2].storage_id, 2);
	ck_assert_int_eq(g.entries[2].device_type, 1);
	ck_assert_str_eq(g.entries[2].storage_scope, "");
	ck_assert_uint_eq(mpk_dtype_bytes(g.entries[0].dtype), 4);
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(graph_of_a_fixture)
{
	struct mpk_arena arena = { 0 };
	struct mpk_graph_json g;
	struct mpk_payload p;
	struct mpk_tree tree;
	struct mpk_span blob;

	blob = fixture_load("formats/23_legacy_graph.blob");
	ck_assert_int_eq(mpk_blob_read(blob, MPK_GEN_LEGACY, &arena, &tree, NULL), MPK_OK);
	ck_assert_int_eq(mpk_payload_decode(mpk_kind_find(tree.nodes[0].kind), MPK_GEN_LEGACY,
					    mpk_source_of(&tree.nodes[0]), &arena, &p, NULL),
			 MPK_OK);
	ck_assert_int_eq(mpk_graph_json_read(p.u.factory.graph_json, &arena, &g, NULL), MPK_OK);
	ck_assert(mpk_span_is(p.u.factory.module_name, "default"));
	/* README: add(x, w), where w was renamed p0 */
	ck_assert_uint_eq(g.node_count, 3);
	ck_assert_str_eq(g.nodes[0].name, "x");
	ck_assert_str_eq(g.nodes[1].name, "p0");
	ck_assert_uint_eq(g.nodes[2].input_count, 2);
	ck_assert_uint_eq(g.head_count, 1);
	ck_assert_int_eq(g.entries[1].shape[0], p.u.factory.params.tensors[0].shape[0]);
	mpk_arena_fini(&arena);
	fixture_free(blob);
}
END_TEST

/* One replacement in the good text, and what is then wrong. */
static const struct {
	const char *from, *to;
	enum mpk_code code;
	const char *says;
} faults[] = {
	{ "{\"nodes\"", "{nodes", MPK_E_SYNTAX, "graph: " },
	{ "{\"nodes\"", "[]", MPK_E_SYNTAX, "graph: " },
	{ "\"nodes\"", "\"knots\"", MPK_E_CORRUPT, "nodes is not a list" },
	{ "\"name\": \"x\"", "\"name\": 1", MPK_E_CORRUPT, "name of a node" },
	{ "\"op\": \"tvm_op\"", "\"op\": \"nop\"", MPK_E_CORRUPT, "operation \"nop\"" },
	{ "\"func_name\"", "\"f\"", MPK_E_CORRUPT, "func_name" },
	{ "\"num_outputs\": \"1\"", "\"num_outputs\": \"2\"", MPK_E_CORRUPT, "node_row_ptr" },
	{ "\"num_outputs\": \"1\"", "\"num_outputs\": 1", MPK_E_CORRUPT, "num_outputs" },
	{ "[1, 0]]", "[2, 0]]", MPK_E_CORRUPT, "before it" },
	{ "[1, 0]]", "[1, 1]]", MPK_E_CORRUPT, "before it" },
	{ "[1, 0]]", "[1]]", MPK_E_CORRUPT, "[node, index]" },
	{ "\"arg_nodes\": [0, 1]", "\"arg_nodes\": [0, 2]", MPK_E_CORRUPT, "an input node" },
	{ "\"arg_nodes\": [0, 1]", "\"arg_nodes\": [0, -1]", MPK_E_CORRUPT, "arg_nodes" },
	{ "\"heads\": [[2", "\"heads\": [[3", MPK_E_CORRUPT, "an output" },
	{ "[0, 1, 2, 3]", "[0, 1, 2]", MPK_E_CORRUPT, "node_row_ptr" },
	{ "[0, 1, 2, 3]", "[0, 2, 1, 3]", MPK_E_CORRUPT, "node_row_ptr" },
	{ "[0, 1, 2, 3]", "[0, 1, 2, 4294967295]", MPK_E_CORRUPT, "dltype" },
	{ "\"float32\", \"float32\"]", "\"float32\", \"flat32\"]", MPK_E_CORRUPT, "flat32" },
	{ "[2, 2]]", "[2, -2]]", MPK_E_CORRUPT, "shape" },
	{ "[2, 2]]", "2]", MPK_E_CORRUPT, "shape" },
	{ "[0, 1, 2]]", "[0, 1]]", MPK_E_CORRUPT, "storage_id" },
};

START_TEST(faults_are_named)
{
	struct mpk_arena arena = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_graph_json g;
	char text[sizeof good + 64];
	const char *at = strstr(good, faults[_i].from);

	ck_assert_ptr_nonnull(at);
	snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, faults[_i].to,
		 at + strlen(faults[_i].from));
	ck_assert_int_eq(mpk_graph_json_read(mpk_span_str(text), &arena, &g, &err),
			 faults[_i].code);
	ck_assert_msg(strstr(err.text, faults[_i].says), "%s", err.text);
	if (err.code == MPK_E_SYNTAX)
		ck_assert_uint_gt(err.at.line, 0);
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(prefixes_are_refused)
{
	struct guarded guard = guarded_create(sizeof good);
	struct mpk_arena arena = { 0 };
	struct mpk_graph_json g;

	for (size_t n = 0; n < sizeof good - 1; n++)
		ck_assert_int_eq(mpk_graph_json_read(guarded_put(&guard, mpk_span_of(good, n)),
						     &arena, &g, NULL),
				 MPK_E_SYNTAX);
	guarded_free(&guard);
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(depth_is_bounded)
{
	enum { DEPTH = 1000000 };
	struct mpk_graph_json g;
	char *deep = malloc(DEPTH);

	memset(deep, '[', DEPTH);
	ck_assert_int_eq(mpk_graph_json_read(mpk_span_of(deep, DEPTH), NULL, &g, NULL),
			 MPK_E_SYNTAX);
	free(deep);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("graphjson");
	TCase *t = tcase_create("graphjson");

	tcase_add_test(t, small_graph);
	tcase_add_test(t, graph_of_a_fixture);
	tcase_add_loop_test(t, faults_are_named, 0, sizeof faults / sizeof *faults);
	tcase_add_test(t, prefixes_are_refused);
	tcase_add_test(t, depth_is_bounded);
	suite_add_tcase(s, t);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
