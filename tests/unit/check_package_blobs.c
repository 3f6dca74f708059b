/* SPDX-License-Identifier: Apache-2.0 */
/* Packages against real blobs: each is taken apart with the readers of formats/, written as
 * a manifest with payload files, and must come back byte for byte. */
#include "package_made.h"

static void put_function(struct mpk_strbuf *toml, const struct mpk_function_info *f,
			 const char *data)
{
	char dtype[MPK_DTYPE_TEXT];

	mpk_strbuf_printf(toml, "[[module.function]]\nname = \"" MPK_SPAN_FMT "\"\nargs = [",
			  MPK_SPAN_ARG(f->key));
	for (size_t i = 0; i < f->arg_count; i++)
		mpk_strbuf_printf(toml, "\"%s\",", mpk_dtype_print(f->arg_types[i], dtype));
	mpk_strbuf_puts(toml, "]\nlaunch = [");
	for (size_t i = 0; i < f->launch_tag_count; i++)
		mpk_strbuf_printf(toml, "'" MPK_SPAN_FMT "',", MPK_SPAN_ARG(f->launch_tags[i]));
	mpk_strbuf_puts(toml, "]\n");
	if (data)
		mpk_strbuf_printf(toml, "data = \"%s\"\n", data);
}

static void put_kernels(struct mpk_strbuf *toml, const struct mpk_node *node, size_t index,
			enum mpk_generation gen, struct mpk_arena *arena)
{
	struct mpk_cursor c = mpk_cursor_of(node->payload, 0, "payload");
	struct mpk_kernels k;
	char name[64];

	ck_assert_int_eq(mpk_kernels_read(&c, node->kind, gen, arena, &k, NULL), MPK_OK);
	if (k.fmt.len)
		mpk_strbuf_printf(toml, "format = \"" MPK_SPAN_FMT "\"\n", MPK_SPAN_ARG(k.fmt));
	if (!k.source_count) {
		(void)snprintf(name, sizeof name, "%zu.data", index);
		write_file(name, k.data);
		mpk_strbuf_printf(toml, "data = \"%s\"\n", name);
	}
	for (size_t i = 0; i < k.function_count; i++) {
		for (size_t s = 0; s < k.source_count; s++) {
			if (!mpk_span_equal(k.sources[s].key, k.functions[i].key))
				continue;
			(void)snprintf(name, sizeof name, "%zu.%zu.data", index, s);
			write_file(name, k.sources[s].data);
		}
		put_function(toml, &k.functions[i], k.source_count ? name : NULL);
	}
}

/* GraphExecutorFactory: str json ; u64 n ; vec<str> names ; n tensors ; str name. The
 * parameter file is the same tensors with a header of its own. */
static void put_graph(struct mpk_strbuf *toml, const struct mpk_node *node)
{
	struct mpk_cursor c = mpk_cursor_of(node->payload, 0, "payload");
	struct mpk_span json, name;
	struct mpk_arena arena = { 0 };
	struct mpk_rope params = mpk_rope_of(&arena);
	struct mpk_span bytes;
	uint64_t count, again;

	ck_assert_int_eq(mpk_read_str(&c, "json", &json, NULL), MPK_OK);
	write_file("graph.json", json);
	ck_assert_int_eq(mpk_read_u64(&c, "n", &count, NULL), MPK_OK);

	size_t names = c.pos;
	ck_assert_int_eq(mpk_read_u64(&c, "n", &again, NULL), MPK_OK);
	ck_assert_uint_eq(count, again);
	for (uint64_t i = 0; i < count; i++)
		ck_assert_int_eq(mpk_read_str(&c, "name", &name, NULL), MPK_OK);

	size_t tensors = c.pos, end = node->payload.len - 8 - strlen("default");
	mpk_rope_put_u64(&params, UINT64_C(0xf7e58d4f05049cb7));
	mpk_rope_put_u64(&params, 0);
	mpk_rope_put_view(&params, mpk_span_of(node->payload.data + names, tensors - names));
	mpk_rope_put_u64(&params, count);
	mpk_rope_put_view(&params, mpk_span_of(node->payload.data + tensors, end - tensors));
	ck_assert_int_eq(mpk_rope_flat(&params, &bytes, NULL), MPK_OK);
	write_file("weights.params", bytes);
	mpk_strbuf_puts(toml, "graph = \"graph.json\"\nparams = \"weights.params\"\n"
			      "name = \"default\"\n");
	mpk_arena_fini(&arena);
}

static bool is_device(struct mpk_span kind)
{
	static const char *const kinds[] = { "cuda", "opencl", "metal", "webgpu" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(kinds); i++)
		if (mpk_span_is(kind, kinds[i]))
			return true;
	return false;
}

static void put_node(struct mpk_strbuf *toml, const struct mpk_tree *tree, size_t i,
		     struct mpk_arena *arena)
{
	const struct mpk_node *node = &tree->nodes[i];
	char name[32];

	mpk_strbuf_printf(toml, "[[module]]\nid = \"m%zu\"\nimports = [", i);
	for (size_t k = 0; k < node->child_count; k++)
		mpk_strbuf_printf(toml, "\"m%zu\",", node->children[k]);
	mpk_strbuf_puts(toml, "]\n");
	if (node->is_lib) {
		mpk_strbuf_puts(toml, "kind = \"host\"\nsources = [\"host.c\"]\n");
		write_text("host.c", "");
		return;
	}
	mpk_strbuf_printf(toml, "kind = \"" MPK_SPAN_FMT "\"\n", MPK_SPAN_ARG(node->kind));
	if (is_device(node->kind)) {
		put_kernels(toml, node, i, tree->gen, arena);
	} else if (mpk_span_is(node->kind, "GraphExecutorFactory")) {
		put_graph(toml, node);
	} else {
		(void)snprintf(name, sizeof name, "%zu.bin", i);
		write_file(name, node->payload);
		mpk_strbuf_printf(toml, "payload = \"%s\"\n", name);
	}
}

static const struct {
	const char *file;
	enum mpk_generation gen;
} blobs[] = {
	{ "tests/data/formats/01_opencl_scale.blob", MPK_GEN_CURRENT },
	{ "tests/data/formats/02_cuda_source_dynshmem.blob", MPK_GEN_CURRENT },
	{ "tests/data/formats/03_cuda_ptx.blob", MPK_GEN_CURRENT },
	{ "tests/data/formats/04_metal.blob", MPK_GEN_CURRENT },
	{ "tests/data/formats/05_webgpu.blob", MPK_GEN_CURRENT },
	{ "tests/data/formats/06_relax_vm.blob", MPK_GEN_CURRENT },
	{ "tests/data/formats/07_relax_opencl.blob", MPK_GEN_CURRENT },
	{ "tests/data/formats/08_const_loader.blob", MPK_GEN_CURRENT },
	{ "tests/data/formats/20_legacy_opencl.blob", MPK_GEN_LEGACY },
	{ "tests/data/formats/23_legacy_graph.blob", MPK_GEN_LEGACY },
	{ "tests/data/formats/24_legacy_aot.blob", MPK_GEN_LEGACY },
};

START_TEST(real_blobs_come_back)
{
	struct mpk_mapping blob = { 0 };
	struct mpk_arena arena = { 0 };
	struct mpk_strbuf toml = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_tree tree;
	struct loaded l;

	ck_assert_int_eq(mpk_mapping_open(blobs[_i].file, &blob, NULL), MPK_OK);
	ck_assert_msg(mpk_blob_read(blob.bytes, blobs[_i].gen, &arena, &tree, &err) == MPK_OK,
		      "%s: %s", blobs[_i].file, err.text);
	mpk_strbuf_printf(&toml, "[package]\nname = \"again\"\nabi = \"%s\"\n",
			  mpk_generation_get(blobs[_i].gen)->abi);
	for (size_t i = 0; i < tree.count; i++)
		put_node(&toml, &tree, i, &arena);

	load(&l, mpk_strbuf_text(&toml));
	struct mpk_span again = flat(&l);
	ck_assert_msg(mpk_span_equal(again, blob.bytes), "%s: %zu bytes became %zu others",
		      blobs[_i].file, blob.bytes.len, again.len);
	unload(&l);
	mpk_strbuf_fini(&toml);
	mpk_arena_fini(&arena);
	mpk_mapping_close(&blob);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("package_blobs");
	TCase *tc = tcase_create("load");

	tcase_add_checked_fixture(tc, make_folder, remove_folder);
	tcase_add_loop_test(tc, real_blobs_come_back, 0, (int)MPK_ARRAY_COUNT(blobs));
	suite_add_tcase(s, tc);

	SRunner *sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	int failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
