/* SPDX-License-Identifier: Apache-2.0 */
/* The views of a module tree: drawing, sizes, and that no damage to a blob can hurt them */
#include "diff/diff.h"
#include "extract/extract.h"
#include "harness.h"
#include "list/list.h"
#include "model/node_info.h"
#include "robust.h"
#include "size/size.h"
#include "text/table.h"
#include "verify/verify.h"

static struct mpk_arena arena;

static void teardown(void)
{
	mpk_arena_fini(&arena);
}

/* --- trees as text ---------------------------------------------------------------- */

/* A tree of unknown kinds: node i has the children in edges[i], -1 ends. */
static const char *draw(const int (*edges)[4], size_t count, bool unicode)
{
	struct mpk_image image = { .container = MPK_CONTAINER_BLOB,
				   .has_blob = true,
				   .prefix = "" };
	struct mpk_tree tree = { .gen = MPK_GEN_CURRENT, .count = count };
	struct mpk_strbuf out = { 0 };
	struct mpk_view view;
	const char *text;

	tree.nodes = mpk_arena_array(&arena, count, sizeof *tree.nodes);
	for (size_t i = 0; i < count; i++) {
		size_t *children = mpk_arena_array(&arena, 4, sizeof *children), n = 0;

		while (n < 4 && edges[i][n] > 0) {
			children[n] = (size_t)edges[i][n];
			n++;
		}
		tree.nodes[i] = (struct mpk_node){ .kind = mpk_span_str("k"),
						   .children = children,
						   .child_count = n,
						   .is_lib = true };
	}
	ck_assert_int_eq(mpk_view_init(&view, "x", 0, &image, &tree, &arena, NULL), MPK_OK);
	for (size_t i = 0; i < count; i++) {
		char path[MPK_VIEW_PATH];

		ck_assert_str_eq(view.nodes[i].path, mpk_tree_path(&tree, i, path, sizeof path));
	}
	mpk_view_tree(&view, (struct mpk_style){ .unicode = unicode }, &out);
	ck_assert(!out.failed);
	text = mpk_arena_printf(&arena, "%s", mpk_strbuf_text(&out));
	mpk_strbuf_fini(&out);
	return text;
}

START_TEST(draws_branches)
{
	static const int edges[][4] = { { 1, 3 }, { 2 }, { 0 }, { 0 } };

	ck_assert_str_eq(draw(edges, 4, false), "/: k  unknown kind\n"
						"|- /0: k  unknown kind\n"
						"|  `- /0/0: k  unknown kind\n"
						"`- /1: k  unknown kind\n");
	ck_assert_str_eq(draw(edges, 4, true), "/: k  unknown kind\n"
					       "\u251c\u2500 /0: k  unknown kind\n"
					       "\u2502  \u2514\u2500 /0/0: k  unknown kind\n"
					       "\u2514\u2500 /1: k  unknown kind\n");
}
END_TEST

START_TEST(draws_shared_once)
{
	static const int edges[][4] = { { 1, 2 }, { 3 }, { 3 }, { 0 }, { 0 } };

	ck_assert_str_eq(draw(edges, 5, false), "/: k  unknown kind\n"
						"|- /0: k  unknown kind\n"
						"|  `- /0/0: k  unknown kind\n"
						"`- /1: k  unknown kind\n"
						"   `- see /0/0: k\n"
						"#4: k  unknown kind\n");
}
END_TEST

/* A chain as deep as a hostile file can make it: no recursion, no quadratic text. */
START_TEST(draws_deep_chain)
{
	enum { DEPTH = 20000 };
	int(*edges)[4] = mpk_arena_array(&arena, DEPTH, sizeof *edges);
	struct mpk_strbuf unused = { 0 };

	for (int i = 0; i + 1 < 60; i++)
		edges[i][0] = i + 1;
	const char *text = draw((const int(*)[4])edges, 60, false);

	/* lines down to level 32, and below that the level as a number */
	ck_assert_ptr_null(strstr(text, "depth 32: "));
	ck_assert_ptr_nonnull(strstr(text, "depth 33: ..."));
	ck_assert_ptr_nonnull(strstr(text, "depth 59: ..."));

	struct mpk_image image = { .container = MPK_CONTAINER_BLOB, .has_blob = true };
	struct mpk_tree tree = { .count = DEPTH };
	struct mpk_view view;
	size_t *next = mpk_arena_array(&arena, DEPTH, sizeof *next);

	tree.nodes = mpk_arena_array(&arena, DEPTH, sizeof *tree.nodes);
	for (size_t i = 0; i < DEPTH; i++) {
		next[i] = i + 1;
		tree.nodes[i] = (struct mpk_node){ .kind = mpk_span_str("k"),
						   .children = &next[i],
						   .child_count = i + 1 < DEPTH };
	}
	ck_assert_int_eq(mpk_view_init(&view, "x", 0, &image, &tree, &arena, NULL), MPK_OK);
	mpk_view_tree(&view, (struct mpk_style){ 0 }, &unused);
	ck_assert(!unused.failed);
	ck_assert_uint_lt(unused.len, (size_t)DEPTH * 256);
	mpk_strbuf_fini(&unused);
}
END_TEST

/* --- sizes ------------------------------------------------------------------------ */

static const struct {
	const char *text;
	bool ok;
	uint64_t bytes;
} budgets[] = {
	{ "0", true, 0 },
	{ "4096", true, 4096 },
	{ "2GiB", true, 2147483648 },
	{ "2 GiB", true, 2147483648 },
	{ "500MB", true, 500000000 },
	{ "1kB", true, 1000 },
	{ "7B", true, 7 },
	{ "", false, 0 },
	{ "GiB", false, 0 },
	{ "-1", false, 0 },
	{ "1.5GiB", false, 0 },
	{ "2gib", false, 0 },
	{ "18446744073709551615", true, UINT64_MAX },
	{ "18446744073709551616", false, 0 },
	{ "99999999TiB", false, 0 },
};

START_TEST(size_parse)
{
	uint64_t bytes = 77;

	ck_assert_int_eq(mpk_size_parse(mpk_span_str(budgets[_i].text), &bytes), budgets[_i].ok);
	if (budgets[_i].ok)
		ck_assert_uint_eq(bytes, budgets[_i].bytes);
}
END_TEST

/* --- damaged blobs ------------------------------------------------------------------ */

static const struct {
	const char *file;
	enum mpk_generation gen;
} blobs[] = {
	{ "formats/01_opencl_scale.blob", MPK_GEN_CURRENT },
	{ "formats/04_metal.blob", MPK_GEN_CURRENT },
	{ "formats/05_webgpu.blob", MPK_GEN_CURRENT },
	{ "formats/07_relax_opencl.blob", MPK_GEN_CURRENT },
	{ "formats/08_const_loader.blob", MPK_GEN_CURRENT },
	{ "formats/20_legacy_opencl.blob", MPK_GEN_LEGACY },
	{ "formats/23_legacy_graph.blob", MPK_GEN_LEGACY },
	{ "formats/24_legacy_aot.blob", MPK_GEN_LEGACY },
	{ "formats/25_legacy_relay_vm.blob", MPK_GEN_LEGACY },
};

static void json_views(const struct mpk_view *view, const struct mpk_size *size)
{
	struct mpk_strbuf out = { 0 };
	struct mpk_json j;

	mpk_json_init(&j, 1);
	mpk_answer_summary.json(view, &j, mpk_json_object(&j, j.root, "a"));
	mpk_answer_functions.json(view, &j, mpk_json_object(&j, j.root, "b"));
	mpk_answer_size.json(size, &j, mpk_json_object(&j, j.root, "c"));
	ck_assert_int_eq(mpk_json_print(&j, &out, NULL), MPK_OK);
	mpk_json_fini(&j);
	mpk_strbuf_fini(&out);
}

/* One answer for the whole text: Check writes a record for each assertion that holds. Tabs stand in the
 * indented hunks of --diff, for patch(1), and nowhere else. */
static bool is_printable(const struct mpk_strbuf *text)
{
	bool in_hunk = false;

	for (size_t i = 0; i < text->len; i++) {
		if (i == 0 || text->data[i - 1] == '\n')
			in_hunk = text->len - i > 2 && memcmp(text->data + i, "  ", 2) == 0;
		if (text->data[i] != '\n' && text->data[i] != '\033' &&
		    (text->data[i] != '\t' || !in_hunk) && (unsigned char)text->data[i] < ' ')
			return false;
	}
	return true;
}

/* Every view of a blob, and the difference to another: none may fail or read beyond. */
static void all_views(struct mpk_span blob, enum mpk_generation gen, const struct mpk_view *other)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_image image = { .container = MPK_CONTAINER_BLOB,
				   .bytes = blob,
				   .gen = gen,
				   .gen_known = true,
				   .has_blob = true,
				   .blob = blob,
				   .prefix = "" };
	struct mpk_report report = { 0 };
	struct mpk_strbuf out = { 0 };
	struct mpk_extract plan;
	struct mpk_diff diff;
	struct mpk_tree tree;
	struct mpk_view view;
	struct mpk_size size;

	if (mpk_blob_read(blob, gen, &scratch, &tree, NULL) != MPK_OK)
		return;
	ck_assert_int_eq(mpk_view_init(&view, "x", blob.len, &image, &tree, &scratch, NULL),
			 MPK_OK);
	ck_assert_int_eq(mpk_size_read(&view, &scratch, &size, NULL), MPK_OK);
	mpk_answer_summary.text(&view, (struct mpk_style){ .color = true, .unicode = true }, &out);
	mpk_answer_functions.text(&view, (struct mpk_style){ 0 }, &out);
	mpk_answer_size.text(&size, (struct mpk_style){ 0 }, &out);
	json_views(&view, &size);
	ck_assert_int_eq(mpk_view_show_info(&view, true, NULL), MPK_OK);
	mpk_answer_summary.text(&view, (struct mpk_style){ 0 }, &out);
	mpk_answer_functions.text(&view, (struct mpk_style){ 0 }, &out);
	json_views(&view, &size);
	ck_assert_int_eq(mpk_verify_run(&view, NULL, &scratch, &report, NULL), MPK_OK);
	mpk_answer_verify.text(&(struct mpk_verified){ "x", &report, false },
			       (struct mpk_style){ .verbose = true }, &out);
	ck_assert_int_eq(mpk_extract_plan(&view, (struct mpk_span){ 0 }, &scratch, &plan, NULL),
			 MPK_OK);
	if (other) {
		ck_assert_int_eq(mpk_diff_views(other, other->image->bytes, &view, blob, &scratch,
						&diff, NULL),
				 MPK_OK);
		ck_assert_uint_gt(diff.count, 0);
		mpk_answer_diff.text(&diff, (struct mpk_style){ 0 }, &out);
	}
	ck_assert(!out.failed);
	/* nothing from the file reaches a terminal raw */
	ck_assert(is_printable(&out));
	mpk_report_fini(&report);
	mpk_strbuf_fini(&out);
}

START_TEST(damaged_blob)
{
	struct mpk_image image = { .container = MPK_CONTAINER_BLOB,
				   .has_blob = true,
				   .prefix = "" };
	uint64_t state = 1 + (uint64_t)_i;
	struct mpk_span bytes, put;
	struct mpk_tree tree;
	struct mpk_view sound;
	struct guarded g;

	bytes = fixture_load(blobs[_i].file);
	image.bytes = image.blob = bytes;
	image.gen = blobs[_i].gen;
	ck_assert_int_eq(mpk_blob_read(bytes, image.gen, &arena, &tree, NULL), MPK_OK);
	ck_assert_int_eq(mpk_view_init(&sound, "y", bytes.len, &image, &tree, &arena, NULL),
			 MPK_OK);
	g = guarded_create(bytes.len);
	put = guarded_put(&g, bytes);
	all_views(put, image.gen, NULL);
	for (size_t i = 0; i < bytes.len; i++) {
		uint8_t *at = (uint8_t *)(uintptr_t)put.data + i, old = *at;

		*at ^= (uint8_t)(1 + random_below(&state, 255));
		all_views(put, image.gen, &sound);
		*at = old;
	}
	guarded_free(&g);
	fixture_free(bytes);
}
END_TEST

/* Device code of real tools in a module of its own; one in so many bytes is damaged. */
static const struct {
	const char *file, *kind, *fmt, *kernel;
	size_t step;
} codes[] = {
	{ "tests/data/device/tiny.none.fatbin", "cuda", "cubin", "tiny", 31 },
	{ "tests/data/device/tiny.lto.fatbin", "cuda", "fatbin", "tiny", 31 },
	{ "tests/data/device/two.sm_90.cubin", "cuda", "cubin", "scale", 37 },
	{ "tests/data/device/two.ptx", "cuda", "ptx", "scale", 17 },
	{ "tests/data/device/compute.spv", "vulkan", "spirv", "plain", 3 },
};

static struct mpk_span wrap_code(size_t row)
{
	static const size_t child[] = { 1 };
	struct mpk_function_info f = { .key = mpk_span_str(codes[row].kernel) };
	struct mpk_kernel_source source = { f.key, robust_load(&arena, codes[row].file), 0 };
	struct mpk_kernels k = { .gen = MPK_GEN_CURRENT,
				 .fmt = mpk_span_str(codes[row].fmt),
				 .functions = &f,
				 .function_count = 1,
				 .data = source.data,
				 .sources = &source,
				 .source_count = 1 };
	struct mpk_rope packed = { .arena = &arena }, rope = { .arena = &arena };
	struct mpk_node nodes[] = {
		{ .kind = mpk_span_str("_lib"),
		  .is_lib = true,
		  .children = child,
		  .child_count = 1 },
		{ .kind = mpk_span_str(codes[row].kind), .content = &packed },
	};
	struct mpk_tree tree = {
		.gen = MPK_GEN_CURRENT, .nodes = nodes, .count = 2, .has_tree = true
	};
	struct mpk_span blob;

	if (strcmp(codes[row].kind, "vulkan") == 0)
		k.layout = MPK_KERNELS_SHADERS_024;
	mpk_kernels_write(&k, &packed);
	ck_assert_int_eq(mpk_blob_write(&tree, &rope, NULL), MPK_OK);
	ck_assert_int_eq(mpk_rope_flat(&rope, &blob, NULL), MPK_OK);
	return blob;
}

START_TEST(damaged_code)
{
	struct mpk_span blob = wrap_code((size_t)_i), put;
	uint64_t state = 7 + (uint64_t)_i;
	struct guarded g = guarded_create(blob.len);

	put = guarded_put(&g, blob);
	for (size_t i = 0; i < blob.len; i += codes[_i].step) {
		uint8_t *at = (uint8_t *)(uintptr_t)put.data + i, old = *at;

		*at ^= (uint8_t)(1 + random_below(&state, 255));
		all_views(put, MPK_GEN_CURRENT, NULL);
		*at = old;
	}
	guarded_free(&g);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("view");
	TCase *tc = tcase_create("view"), *damaged = tcase_create("damaged");

	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_checked_fixture(damaged, NULL, teardown);
	tcase_set_timeout(tc, 120);
	tcase_set_timeout(damaged, 120);
	tcase_add_test(tc, draws_branches);
	tcase_add_test(tc, draws_shared_once);
	tcase_add_test(tc, draws_deep_chain);
	tcase_add_loop_test(tc, size_parse, 0, (int)MPK_ARRAY_COUNT(budgets));
	tcase_add_loop_test(damaged, damaged_blob, 0, (int)MPK_ARRAY_COUNT(blobs));
	tcase_add_loop_test(damaged, damaged_code, 0, (int)MPK_ARRAY_COUNT(codes));
	suite_add_tcase(s, tc);
	suite_add_tcase(s, damaged);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
