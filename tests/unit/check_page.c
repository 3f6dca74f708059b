/* SPDX-License-Identifier: Apache-2.0 */
/* What --html and --dot say of a file: the document of a page, texts that are cut, graphs of models */
#include <endian.h>
#include <jansson.h>

#include "graph/dot.h"
#include "harness.h"
#include "io/mapping.h"
#include "model/node_info.h"
#include "page/page.h"

static struct mpk_arena arena;

static void teardown(void)
{
	mpk_arena_fini(&arena);
}

/* --- a document within a script element -------------------------------------------------------- */

static const char *script_of(const char *text)
{
	struct mpk_strbuf out = { 0 };
	struct mpk_json j;
	const char *kept;

	mpk_json_init(&j, 0);
	j.in_script = true;
	mpk_json_text(&j, j.root, "t", text);
	ck_assert_int_eq(mpk_json_print(&j, &out, NULL), MPK_OK);
	kept = mpk_arena_printf(&arena, "%s", mpk_strbuf_text(&out));
	mpk_strbuf_fini(&out);
	mpk_json_fini(&j);
	return kept;
}

START_TEST(script_has_no_markup)
{
	ck_assert_str_eq(script_of("</script>"), "{\"t\":\"\\u003c/script>\"}");
	ck_assert_str_eq(script_of("<!--<script>"), "{\"t\":\"\\u003c!--\\u003cscript>\"}");
	ck_assert_str_eq(script_of("a\u2028b\u2029c\u2027d"),
			 "{\"t\":\"a\\u2028b\\u2029c\u2027d\"}");
	ck_assert_str_eq(script_of("\u2028"), "{\"t\":\"\\u2028\"}");
	/* the same beginning, cut short, is no UTF-8 and shown as its bytes */
	ck_assert_str_eq(script_of("\xe2\x80"), "{\"t\":\"\\\\xe2\\\\x80\"}");
}
END_TEST

START_TEST(script_is_the_same_document)
{
	static const char text[] = "<a href=\"x\">\\u003c</a>\n\t<!-- \u2028 \u202e -->";
	json_t *read = json_loads(script_of(text), 0, NULL);

	ck_assert_str_eq(json_string_value(json_object_get(read, "t")), text);
	json_decref(read);
}
END_TEST

/* --- files ------------------------------------------------------------------------------------ */

struct opened {
	struct mpk_mapping map;
	struct mpk_image image;
	struct mpk_tree tree;
	struct mpk_view view;
};

static void open_file(const char *path, struct opened *o)
{
	*o = (struct opened){ .map.fd = -1 };
	ck_assert_int_eq(mpk_mapping_open(path, &o->map, NULL), MPK_OK);
	ck_assert_int_eq(mpk_image_open(o->map.bytes, NULL, &arena, &o->image, NULL), MPK_OK);
	if (o->image.has_blob)
		ck_assert_int_eq(mpk_blob_read(o->image.blob, o->image.gen, &arena, &o->tree, NULL),
				 MPK_OK);
	ck_assert_int_eq(mpk_view_init(&o->view, path, o->map.bytes.len, &o->image,
				       o->image.has_blob ? &o->tree : NULL, &arena, NULL),
			 MPK_OK);
}

/* Rows of arrays as objects, by the names of their columns; "$" and "*" are numbers of texts and lists of them. */
static json_t *rows_of(const json_t *root, const json_t *file, const char *key)
{
	const json_t *columns = json_object_get(json_object_get(root, "columns"), key);
	const json_t *rows = json_object_get(file, key),
		     *strings = json_object_get(root, "strings");
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(rows); i++) {
		json_t *row = json_array_get(rows, i), *o = json_object();

		ck_assert_uint_le(json_array_size(row), json_array_size(columns));
		for (size_t k = 0; k < json_array_size(row); k++) {
			const char *name = json_string_value(json_array_get(columns, k));
			json_t *value = json_array_get(row, k);

			if (json_is_null(value))
				continue;
			if (*name == '$')
				value = json_array_get(strings, (size_t)json_integer_value(value));
			ck_assert_ptr_nonnull(value);
			json_object_set(o, name + (*name == '$' || *name == '*'), value);
		}
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *hydrated(json_t *root)
{
	json_t *file = json_array_get(json_object_get(root, "files"), 0);
	const char *const keys[] = { "kernels", "parts", "map" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(keys); i++)
		json_object_set_new(file, keys[i], rows_of(root, file, keys[i]));
	return json_incref(file);
}

/* The page's data of one file; the caller's. */
static json_t *data_of(const char *path, bool several)
{
	struct mpk_rope out = mpk_rope_of(&arena);
	struct mpk_page page;
	struct mpk_span text;
	const char *begin, *end;
	struct opened o;
	json_t *root, *data;

	open_file(path, &o);
	ck_assert_int_eq(mpk_view_show_info(&o.view, false, NULL), MPK_OK);
	mpk_page_init(&page, several);
	ck_assert_int_eq(mpk_page_add(&page, &o.view, NULL, NULL), MPK_OK);
	ck_assert_int_eq(mpk_page_print(&page, &out, NULL), MPK_OK);
	ck_assert_int_eq(mpk_rope_flat(&out, &text, NULL), MPK_OK);
	begin = memmem(text.data, text.len, "type=\"application/json\">", 24);
	ck_assert_ptr_nonnull(begin);
	begin = strchr(begin, '>') + 1;
	end = memmem(begin, text.len - (size_t)((const uint8_t *)begin - text.data), "</script>",
		     9);
	ck_assert_ptr_nonnull(end);
	root = json_loadb(begin, (size_t)(end - begin), 0, NULL);
	ck_assert_ptr_nonnull(root);
	data = hydrated(root);
	json_decref(root);
	mpk_page_fini(&page);
	mpk_mapping_close(&o.map);
	return data;
}

static const json_t *part_of(const json_t *file, const char *name)
{
	const json_t *parts = json_object_get(file, "parts");

	for (size_t i = 0; i < json_array_size(parts); i++)
		if (strcmp(json_string_value(json_object_get(json_array_get(parts, i), "name")),
			   name) == 0)
			return json_array_get(parts, i);
	return NULL;
}

START_TEST(page_has_what_the_views_have)
{
	json_t *file = data_of("tests/data/relax/gelu_opencl.so", true);
	const json_t *kernels = json_object_get(file, "kernels"), *part;

	ck_assert_uint_eq(json_array_size(json_object_get(file, "tree")), 3);
	ck_assert_uint_eq(json_array_size(json_object_get(file, "functions")), 3);
	ck_assert_uint_eq(json_array_size(kernels), 3);
	ck_assert_uint_eq(json_array_size(json_object_get(file, "models")), 1);
	ck_assert_int_eq(
		json_integer_value(json_object_get(json_object_get(file, "verify"), "errors")), 0);
	for (size_t i = 0; i < 3; i++) {
		const json_t *kernel = json_array_get(kernels, i);

		ck_assert_uint_eq(json_string_length(json_object_get(kernel, "xxh128")), 32);
		ck_assert_uint_eq(json_string_length(json_object_get(kernel, "around")), 32);
	}
	part = part_of(file, "kernels.cl");
	ck_assert_str_eq(json_string_value(json_object_get(part, "language")), "opencl");
	ck_assert_uint_eq(json_string_length(json_object_get(part, "text")), 114016);
	ck_assert_ptr_null(json_object_get(part, "shown"));
	part = part_of(file, "constants/10.npy");
	ck_assert_int_eq(json_integer_value(json_object_get(part, "bytes")), 4608);
	ck_assert_str_eq(json_string_value(json_object_get(part, "dtype")), "float32");
	ck_assert_uint_eq(json_string_length(json_object_get(part, "xxh128")), 32);
	ck_assert_ptr_null(json_object_get(part, "text"));
	json_decref(file);
}
END_TEST

START_TEST(machine_code_is_told_apart)
{
	json_t *file = data_of("tests/data/cuda/cubin/vadd_cuda.so", true), *kernel;

	kernel = json_array_get(json_object_get(file, "kernels"), 0);
	ck_assert_uint_eq(json_string_length(json_object_get(kernel, "xxh128")), 32);
	/* what stands beside a kernel in a cubin is no text that it uses */
	ck_assert_ptr_null(json_object_get(kernel, "around"));
	json_decref(file);
	file = data_of("tests/data/cuda/fatbin/vadd_cuda.so", true);
	kernel = json_array_get(json_object_get(file, "kernels"), 0);
	ck_assert_uint_eq(json_string_length(json_object_get(kernel, "xxh128")), 32);
	ck_assert_str_eq(
		json_string_value(json_object_get(part_of(file, "compute_90.ptx"), "language")),
		"ptx");
	json_decref(file);
}
END_TEST

START_TEST(page_of_one_file_takes_no_digests)
{
	json_t *file = data_of("tests/data/relax/gelu_opencl.so", false);

	ck_assert_ptr_null(json_object_get(part_of(file, "constants/10.npy"), "xxh128"));
	ck_assert_ptr_null(
		json_object_get(json_array_get(json_object_get(file, "kernels"), 0), "xxh128"));
	json_decref(file);
}
END_TEST

/* One module of an unknown kind, whose payload is a text. */
static json_t *data_of_text(struct mpk_span text, uint64_t left)
{
	struct mpk_image image = { .container = MPK_CONTAINER_BLOB,
				   .has_blob = true,
				   .prefix = "" };
	struct mpk_node node = { .kind = mpk_span_str("any"), .payload = text };
	struct mpk_tree tree = { .gen = MPK_GEN_CURRENT, .nodes = &node, .count = 1 };
	struct mpk_rope out = mpk_rope_of(&arena);
	struct mpk_span printed;
	struct mpk_page page;
	struct mpk_view view;
	json_t *root, *data;

	ck_assert_int_eq(mpk_view_init(&view, "x", 0, &image, &tree, &arena, NULL), MPK_OK);
	mpk_page_init(&page, false);
	page.texts_left = left;
	ck_assert_int_eq(mpk_page_add(&page, &view, NULL, NULL), MPK_OK);
	ck_assert_uint_le(page.texts_left, left);
	ck_assert_int_eq(mpk_page_document(&page, &out, NULL), MPK_OK);
	ck_assert_int_eq(mpk_rope_flat(&out, &printed, NULL), MPK_OK);
	root = json_loadb((const char *)printed.data, printed.len, 0, NULL);
	data = hydrated(root);
	json_decref(root);
	mpk_page_fini(&page);
	return data;
}

static void check_cut(const char *text, uint64_t left, const char *wanted)
{
	json_t *file = data_of_text(mpk_span_str(text), left);
	const json_t *part = part_of(file, "payload.bin");

	ck_assert_str_eq(json_string_value(json_object_get(part, "text")), wanted);
	if (strlen(wanted) < strlen(text))
		ck_assert_int_eq(json_integer_value(json_object_get(part, "shown")),
				 (json_int_t)strlen(wanted));
	else
		ck_assert_ptr_null(json_object_get(part, "shown"));
	json_decref(file);
}

START_TEST(texts_are_cut_between_lines)
{
	check_cut("one\ntwo\nthree\n", 100, "one\ntwo\nthree\n");
	check_cut("one\ntwo\nthree\n", 14, "one\ntwo\nthree\n");
	check_cut("one\ntwo\nthree\n", 13, "one\ntwo\n");
	check_cut("one\ntwo\nthree\n", 8, "one\ntwo\n");
	check_cut("one\ntwo\nthree\n", 7, "one\n");
	check_cut("one\ntwo\nthree\n", 0, "");
	/* a line that does not fit: between characters */
	check_cut("aa\u00e9\u00e9", 5, "aa\u00e9");
	check_cut("aa\u00e9\u00e9", 4, "aa\u00e9");
	check_cut("aa\u00e9\u00e9", 3, "aa");
}
END_TEST

START_TEST(bytes_are_no_text)
{
	json_t *file = data_of_text(mpk_span_of("\x7f"
						"ELF\1\1",
						6),
				    100);

	ck_assert_ptr_null(json_object_get(part_of(file, "payload.bin"), "text"));
	json_decref(file);
	file = data_of_text(mpk_span_of("a\0", 2), 100);
	ck_assert_str_eq(json_string_value(json_object_get(part_of(file, "payload.bin"), "text")),
			 "a");
	json_decref(file);
}
END_TEST

/* --- graphs ------------------------------------------------------------------------------------- */

/* "x>layer_norm ...": each edge by the labels of its ends, with its own behind a colon */
static const char *edges_of(const struct mpk_model_graph *g)
{
	struct mpk_strbuf out = { 0 };
	const char *text;

	for (size_t i = 0; i < g->edge_count; i++) {
		const struct mpk_model_edge *e = &g->edges[i];

		ck_assert_uint_lt(e->from, g->node_count);
		ck_assert_uint_lt(e->to, g->node_count);
		mpk_strbuf_printf(&out, "%s%s>%s%s%s", i ? " " : "", g->nodes[e->from].label,
				  g->nodes[e->to].label, e->label[0] ? ":" : "", e->label);
	}
	text = mpk_arena_printf(&arena, "%s", mpk_strbuf_text(&out));
	mpk_strbuf_fini(&out);
	return text;
}

static struct mpk_model_graphs graphs_of(const char *path)
{
	struct mpk_model_graphs graphs;
	struct opened o;

	open_file(path, &o);
	ck_assert_int_eq(mpk_model_graphs_read(&o.view, &graphs, NULL), MPK_OK);
	mpk_mapping_close(&o.map);
	return graphs;
}

START_TEST(relax_values)
{
	const struct mpk_model_graphs g = graphs_of("tests/data/relax/gelu_opencl.so");

	ck_assert_uint_eq(g.count, 1);
	ck_assert(!g.items[0].is_flow);
	ck_assert_str_eq(edges_of(&g.items[0]),
			 "x>layer_norm layer_norm>fused_matmul_add_gelu x>fused_matmul1_add1_add2 "
			 "fused_matmul_add_gelu>fused_matmul1_add1_add2 "
			 "fused_matmul1_add1_add2>result");
}
END_TEST

START_TEST(relax_blocks)
{
	const struct mpk_model_graphs g = graphs_of("tests/data/formats/15_relax_cond.blob");

	ck_assert_uint_eq(g.count, 1);
	ck_assert(g.items[0].is_flow);
	ck_assert_str_eq(edges_of(&g.items[0]), "0 - 4\nread_if_cond>5 - 6\ncopy:then "
						"0 - 4\nread_if_cond>7 - 11\nadd\ncopy:else "
						"5 - 6\ncopy>12 7 - 11\nadd\ncopy>12");
}
END_TEST

#define DENSE "fused_nn_contrib_dense_pack_add_tanh_add"

START_TEST(graph_executor_without_weights)
{
	const struct mpk_model_graphs g = graphs_of("tests/data/legacy/mlp_llvm.so");

	ck_assert_uint_eq(g.count, 1);
	ck_assert_str_eq(edges_of(&g.items[0]),
			 "data>tvmgen_default_" DENSE " extra>tvmgen_default_" DENSE
			 " tvmgen_default_" DENSE ">tvmgen_default_fused_nn_relu"
			 " tvmgen_default_" DENSE ">tvmgen_default_fused_sum"
			 " tvmgen_default_fused_nn_relu>result 0"
			 " tvmgen_default_fused_sum>result 1");
}
END_TEST

START_TEST(relay_values)
{
	const struct mpk_model_graphs g = graphs_of("tests/data/legacy/mlp_vm.so");

	ck_assert_uint_eq(g.count, 1);
	ck_assert_str_eq(edges_of(&g.items[0]),
			 "data>vm_mod_" DENSE " extra>vm_mod_" DENSE " vm_mod_" DENSE
			 ">vm_mod_fused_nn_relu vm_mod_" DENSE ">vm_mod_fused_sum"
			 " vm_mod_fused_nn_relu>alloc_adt vm_mod_fused_sum>alloc_adt"
			 " alloc_adt>result");
}
END_TEST

START_TEST(no_model_no_graph)
{
	ck_assert_uint_eq(graphs_of("tests/data/formats/01_opencl_scale.so").count, 0);
}
END_TEST

START_TEST(registers_that_a_file_claims)
{
	/* no memory is taken for them, and no graph drawn */
	static const struct mpk_relax_func f = {
		.kind = MPK_RELAX_VM,
		.name = { (const uint8_t *)"main", 4 },
		.end = 1,
		.register_file_size = INT64_C(1) << 50,
	};
	static const int64_t offset = 0;
	const uint64_t code[] = { htole64(MPK_RELAX_RET), 0 };
	const struct mpk_relax x = {
		.funcs = &f,
		.func_count = 1,
		.instr_offset = mpk_span_of(&offset, sizeof offset),
		.instr_data = mpk_span_of(code, sizeof code),
	};
	struct mpk_node node = { .kind = mpk_span_str("relax.VMExecutable") };
	struct mpk_payload payload = { .tag = MPK_PAYLOAD_RELAX, .u.relax = x };
	struct mpk_view_node shown = {
		.node = &node, .decoded = true, .path = "/", .payload = &payload
	};
	const struct mpk_view view = { .nodes = &shown, .count = 1, .arena = &arena };
	struct mpk_model_graphs graphs;

	ck_assert_int_eq(mpk_relax_check(&x, NULL), MPK_OK);
	ck_assert_int_eq(mpk_model_graphs_read(&view, &graphs, NULL), MPK_OK);
	ck_assert_uint_eq(graphs.count, 0);
}
END_TEST

/* --- Graphviz ------------------------------------------------------------------------------------- */

START_TEST(dot_quotes)
{
	struct mpk_image image = { .container = MPK_CONTAINER_BLOB,
				   .has_blob = true,
				   .prefix = "" };
	struct mpk_node node = { .kind = mpk_span_str("a\"b\\c\n") };
	struct mpk_tree tree = { .gen = MPK_GEN_CURRENT, .nodes = &node, .count = 1 };
	struct mpk_strbuf out = { 0 };
	struct mpk_view view;

	ck_assert_int_eq(mpk_view_init(&view, "\"]x", 0, &image, &tree, &arena, NULL), MPK_OK);
	mpk_answer_dot_tree.text(&view, (struct mpk_style){ 0 }, &out);
	ck_assert_ptr_nonnull(strstr(mpk_strbuf_text(&out), "digraph \"\\\"]x\" {\n"));
	ck_assert_ptr_nonnull(strstr(mpk_strbuf_text(&out),
				     "n0 [label=\"a\\\"b\\\\\\\\c\\\\n\\nunknown kind\\n0 B\""));
	mpk_strbuf_fini(&out);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("page");
	TCase *c = tcase_create("page");

	tcase_add_checked_fixture(c, NULL, teardown);
	tcase_add_test(c, script_has_no_markup);
	tcase_add_test(c, script_is_the_same_document);
	tcase_add_test(c, page_has_what_the_views_have);
	tcase_add_test(c, page_of_one_file_takes_no_digests);
	tcase_add_test(c, machine_code_is_told_apart);
	tcase_add_test(c, texts_are_cut_between_lines);
	tcase_add_test(c, bytes_are_no_text);
	tcase_add_test(c, relax_values);
	tcase_add_test(c, relax_blocks);
	tcase_add_test(c, graph_executor_without_weights);
	tcase_add_test(c, relay_values);
	tcase_add_test(c, no_model_no_graph);
	tcase_add_test(c, registers_that_a_file_claims);
	tcase_add_test(c, dot_quotes);
	suite_add_tcase(s, c);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
