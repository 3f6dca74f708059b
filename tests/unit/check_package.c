/* Packages against real blobs: each is taken apart with the readers of formats/, written as
 * a manifest with payload files, and must come back byte for byte. */
#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "io/mapping.h"
#include "kernels/kernels.h"
#include "package/package.h"

static char folder[64];

static const char *in_folder(const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static void make_folder(void)
{
	(void)snprintf(folder, sizeof folder, "/tmp/check_package.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static void remove_folder(void)
{
	(void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void write_file(const char *name, struct mpk_span bytes)
{
	FILE *f = fopen(in_folder(name), "wb");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(bytes.data ? (const void *)bytes.data : "", 1, bytes.len, f),
			  bytes.len);
	ck_assert_int_eq(fclose(f), 0);
}

static void write_text(const char *name, const char *text)
{
	write_file(name, mpk_span_str(text));
}

/* --- a package, its report and its memory ------------------------------------------------ */

struct loaded {
	struct mpk_arena arena;
	struct mpk_report report;
	struct mpk_package package;
	struct mpk_error err;
	enum mpk_code code;
};

static void load(struct loaded *l, const char *manifest)
{
	struct mpk_package_input input = { .text = mpk_span_str(manifest),
					   .path = in_folder("mpack.toml") };

	memset(l, 0, sizeof *l);
	l->code = mpk_package_load(&input, &l->arena, &l->report, &l->package, &l->err);
}

static void unload(struct loaded *l)
{
	mpk_package_close(&l->package);
	mpk_report_fini(&l->report);
	mpk_arena_fini(&l->arena);
}

static struct mpk_span flat(struct loaded *l)
{
	struct mpk_span bytes = { 0 };

	ck_assert_msg(l->code == MPK_OK, "%u:%u: %s", l->err.at.line, l->err.at.column,
		      l->err.text);
	ck_assert_int_eq(mpk_rope_flat(&l->package.blob, &bytes, NULL), MPK_OK);
	return bytes;
}

/* --- real blobs ----------------------------------------------------------------------------- */

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
	bool optional; /* lies beside the project, not in it */
} blobs[] = {
	{ "tests/data/formats/01_opencl_scale.blob", MPK_GEN_CURRENT, false },
	{ "tests/data/formats/02_cuda_source_dynshmem.blob", MPK_GEN_CURRENT, false },
	{ "tests/data/formats/03_cuda_ptx.blob", MPK_GEN_CURRENT, false },
	{ "tests/data/formats/04_metal.blob", MPK_GEN_CURRENT, false },
	{ "tests/data/formats/05_webgpu.blob", MPK_GEN_CURRENT, false },
	{ "tests/data/formats/06_relax_vm.blob", MPK_GEN_CURRENT, false },
	{ "tests/data/formats/07_relax_opencl.blob", MPK_GEN_CURRENT, false },
	{ "tests/data/formats/08_const_loader.blob", MPK_GEN_CURRENT, false },
	{ "../shared/fixtures/formats/20_legacy_opencl.blob", MPK_GEN_LEGACY, true },
	{ "../shared/fixtures/formats/23_legacy_graph.blob", MPK_GEN_LEGACY, true },
	{ "../shared/fixtures/formats/24_legacy_aot.blob", MPK_GEN_LEGACY, true },
};

START_TEST(real_blobs_come_back)
{
	struct mpk_mapping blob = { 0 };
	struct mpk_arena arena = { 0 };
	struct mpk_strbuf toml = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_tree tree;
	struct loaded l;

	if (blobs[_i].optional && access(blobs[_i].file, R_OK) != 0) {
		(void)printf("SKIP: %s is not here\n", blobs[_i].file);
		return;
	}
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

/* --- OpenCL source in pieces ------------------------------------------------------------------ */

#define OPENCL_HEAD                                                                      \
	"[package]\nname = \"m\"\n[[module]]\nid = \"k\"\nkind = \"opencl\"\n"
#define FUNCTION(name) "[[module.function]]\nname = \"" name "\"\nargs = []\nlaunch = []\n"

static const struct {
	const char *manifest, *data;
} opencl_rows[] = {
	{ OPENCL_HEAD "data = \"two.cl\"\n" FUNCTION("a"),
	  "// Function: a\n__kernel void a() {}\n__kernel void b() {}\n" },
	{ OPENCL_HEAD "data = \"two.cl\"\n" FUNCTION("b") FUNCTION("a"),
	  "// Function: b\n__kernel void a() {}\n__kernel void b() {}\n"
	  "// Function: a\n__kernel void a() {}\n__kernel void b() {}\n" },
	{ OPENCL_HEAD "data = \"pieces.cl\"\n" FUNCTION("a") FUNCTION("b"),
	  "// Function: a\n__kernel void a() {}\n// Function: b\n__kernel void b() {}" },
	{ OPENCL_HEAD FUNCTION("a") "data = \"a.cl\"\n" FUNCTION("b") "data = \"b.cl\"\n",
	  "// Function: a\n__kernel void a() {}\n// Function: b\n__kernel void b() {}\n" },
};

START_TEST(opencl_has_a_piece_for_each_kernel)
{
	struct loaded l;
	struct mpk_tree tree;
	struct mpk_kernels k;

	write_text("two.cl", "__kernel void a() {}\n__kernel void b() {}");
	write_text("pieces.cl", opencl_rows[2].data);
	write_text("a.cl", "__kernel void a() {}\n");
	write_text("b.cl", "__kernel void b() {}");
	load(&l, opencl_rows[_i].manifest);
	ck_assert_int_eq(mpk_blob_read(flat(&l), MPK_GEN_CURRENT, &l.arena, &tree, NULL), MPK_OK);

	struct mpk_cursor c = mpk_cursor_of(tree.nodes[0].payload, 0, "payload");
	ck_assert_int_eq(mpk_kernels_read(&c, tree.nodes[0].kind, MPK_GEN_CURRENT, &l.arena, &k,
					  NULL),
			 MPK_OK);
	ck_assert_msg(mpk_span_is(k.data, opencl_rows[_i].data), MPK_SPAN_FMT,
		      MPK_SPAN_ARG(k.data));
	ck_assert(mpk_span_is(k.fmt, "cl"));
	unload(&l);
}
END_TEST

/* --- layouts of the generations ---------------------------------------------------------------- */

START_TEST(kernel_tables_follow_the_generation)
{
	static const struct {
		const char *abi;
		enum mpk_generation gen;
		size_t name_len, extra_tags;
	} rows[] = { { "legacy", MPK_GEN_LEGACY, 0, 0 }, { "ffi-0.21", MPK_GEN_HYBRID, 0, 2 },
		     { "ffi", MPK_GEN_CURRENT, 4, 2 } };
	char manifest[512];
	struct loaded l;
	struct mpk_tree tree;
	struct mpk_kernels k;

	write_text("k.ptx", ".version 8.0\n.target sm_90\n.visible .entry kern(.param .u64 p) {}");
	(void)snprintf(manifest, sizeof manifest,
		       "[package]\nname = \"m\"\nabi = \"%s\"\n[[module]]\nid = \"k\"\nkind = "
		       "\"cuda\"\ndata = \"k.ptx\"\n[[module.function]]\nname = \"kern\"\nargs = "
		       "[\"handle\", \"int32\"]\nlaunch = [\"blockIdx.x\"]\n",
		       rows[_i].abi);
	load(&l, manifest);
	ck_assert_int_eq(mpk_blob_read(flat(&l), rows[_i].gen, &l.arena, &tree, NULL), MPK_OK);

	struct mpk_cursor c = mpk_cursor_of(tree.nodes[0].payload, 0, "payload");
	ck_assert_int_eq(mpk_kernels_read(&c, tree.nodes[0].kind, rows[_i].gen, &l.arena, &k, NULL),
			 MPK_OK);
	ck_assert_uint_eq(k.functions[0].name.len, rows[_i].name_len);
	ck_assert_uint_eq(k.functions[0].extra_tag_count, rows[_i].extra_tags);
	ck_assert(mpk_span_is(k.fmt, "ptx"));
	unload(&l);
}
END_TEST

START_TEST(generation_can_be_given)
{
	static const char manifest[] = "[package]\nname = \"m\"\n[[module]]\nid = \"a\"\nkind = "
				       "\"x\"\npayload = \"a.bin\"\n";
	enum mpk_generation gen = MPK_GEN_LEGACY;
	struct mpk_package_input input = { .text = mpk_span_str(manifest),
					   .path = in_folder("mpack.toml"), .gen = &gen };
	struct loaded l = { 0 };

	write_text("a.bin", "bytes");
	l.code = mpk_package_load(&input, &l.arena, &l.report, &l.package, &l.err);
	ck_assert_uint_eq(flat(&l).len, 8 + 8 + (8 + 1) + 5 + (8 + 12) + 8 * 3 + 8);
	ck_assert_int_eq(l.package.tree.gen, MPK_GEN_LEGACY);
	unload(&l);
}
END_TEST

/* --- sizes and numbers ---------------------------------------------------------------------- */

START_TEST(large_payloads_stay_in_their_file)
{
	static const char manifest[] = "[package]\nname = \"m\"\n[[module]]\nid = \"a\"\nkind = "
				       "\"x\"\npayload = \"big.bin\"\n";
	const uint64_t size = UINT64_C(5) << 30;
	uint64_t in_memory = 0, in_files = 0;
	struct loaded l;

	write_text("big.bin", "");
	ck_assert_int_eq(truncate(in_folder("big.bin"), (off_t)size), 0);
	load(&l, manifest);
	ck_assert_int_eq(l.code, MPK_OK);
	for (size_t i = 0; i < l.package.blob.count; i++) {
		const struct mpk_piece *p = &l.package.blob.pieces[i];

		*(p->data ? &in_memory : &in_files) += p->len;
		ck_assert(p->data || p->fd >= 0);
	}
	ck_assert_uint_eq(in_files, size);
	ck_assert_uint_lt(in_memory, 100);
	unload(&l);
}
END_TEST

enum { MANY = 3000 };

START_TEST(more_payloads_than_descriptors)
{
	struct mpk_strbuf toml = { 0 };
	struct loaded l;

	mpk_strbuf_puts(&toml, "[package]\nname = \"m\"\n");
	write_text("p.bin", "payload");
	for (unsigned i = 0; i < MANY; i++)
		mpk_strbuf_printf(&toml,
				  "[[module]]\nid = \"m%u\"\nkind = \"x\"\npayload = \"p.bin\"\n"
				  "imports = [%s%u%s]\n",
				  i, i + 1 < MANY ? "\"m" : "#", i + 1, i + 1 < MANY ? "\"" : "\n");
	load(&l, mpk_strbuf_text(&toml));
	ck_assert_uint_gt(flat(&l).len, MANY * 7);
	ck_assert_uint_eq(l.package.tree.count, MANY);
	unload(&l);
	mpk_strbuf_fini(&toml);
}
END_TEST

/* --- what the package knows ------------------------------------------------------------------ */

START_TEST(sources_and_inputs_are_listed)
{
	static const char manifest[] =
		"[package]\nname = \"m\"\n[[module]]\nid = \"h\"\nkind = \"host\"\nsources = "
		"[\"a.c\", \"b.c\"]\nimports = [\"w\"]\n[[module]]\nid = \"w\"\nkind = \"x\"\npayload"
		" = \"w.bin\"\n[[module]]\nid = \"left out\"\nkind = \"host\"\nsources = "
		"[\"c.c\"]\n";
	struct loaded l;

	write_text("a.c", "");
	write_text("b.c", "");
	write_text("w.bin", "w");
	load(&l, manifest);
	ck_assert_int_eq(l.code, MPK_OK);
	ck_assert_uint_eq(l.package.source_count, 2);
	ck_assert_str_eq(l.package.sources[1].path, in_folder("b.c"));
	ck_assert_uint_eq(l.package.sources[1].pos.line, 6);
	ck_assert_uint_eq(l.package.sources[1].pos.column, 19);
	ck_assert_uint_eq(l.package.input_count, 3);
	ck_assert_str_eq(l.package.inputs[0], in_folder("w.bin"));
	ck_assert_uint_eq(l.report.warnings, 1);
	unload(&l);
}
END_TEST

START_TEST(contents_outweigh_missing_files)
{
	static const char manifest[] =
		"[package]\nname = \"m\"\n[[module]]\nid = \"a\"\nkind = \"x\"\npayload = \"no\"\n"
		"imports = [\"b\"]\n[[module]]\nid = \"b\"\nkind = \"cuda\"\ndata = \"k.cubin\"\n"
		"[[module.function]]\nname = \"f\"\nargs = []\nlaunch = []\n";
	struct loaded l;

	write_text("k.cubin", "no cubin");
	load(&l, manifest);
	ck_assert_int_eq(l.code, MPK_E_CORRUPT);
	ck_assert_uint_eq(l.report.errors, 2);
	unload(&l);
}
END_TEST

/* --- real code files -------------------------------------------------------------------------- */

/* The cubin that nvcc made, out of a library that TVM exported. */
static struct mpk_span kernels_of(struct mpk_span file, struct mpk_arena *arena,
				  struct mpk_kernels *k)
{
	/* the blob's place in the file is not this test's business: look for the kind */
	static const char mark[] = "\4\0\0\0\0\0\0\0cuda";
	const uint8_t *at = memmem(file.data, file.len, mark, sizeof mark - 1);

	ck_assert_ptr_nonnull(at);
	at += sizeof mark - 1 + 8;
	struct mpk_cursor c = mpk_cursor_of(
		mpk_span_of(at, (size_t)(file.data + file.len - at)), 0, "payload");
	ck_assert_int_eq(mpk_kernels_read(&c, mpk_span_str("cuda"), MPK_GEN_CURRENT, arena, k, NULL),
			 MPK_OK);
	return k->data;
}

static const struct {
	const char *file, *format, *kernel;
	enum mpk_code code;
} code_rows[] = {
	{ "tests/data/cuda/cubin/vadd_cuda.so", "cubin", "vadd_kernel", MPK_OK },
	{ "tests/data/cuda/cubin/vadd_cuda.so", "cubin", "vsub_kernel", MPK_E_CONFLICT },
	{ "tests/data/cuda/ptx/vadd_cuda.so", "ptx", "vadd_kernel", MPK_OK },
	{ "tests/data/cuda/ptx/vadd_cuda.so", "ptx", "vsub_kernel", MPK_E_CONFLICT },
	{ "tests/data/cuda/ptx/vadd_cuda.so", "cubin", "vadd_kernel", MPK_E_CORRUPT },
	{ "tests/data/cuda/cubin/vadd_cuda.so", "ptx", "vadd_kernel", MPK_E_CORRUPT },
	{ "tests/data/cuda/fatbin/vadd_cuda.so", "fatbin", "vadd_kernel", MPK_OK },
	{ "tests/data/cuda/fatbin/vadd_cuda.so", "cubin", "vadd_kernel", MPK_OK },
};

START_TEST(code_of_real_compilers_is_recognised)
{
	struct mpk_mapping file = { 0 };
	struct mpk_arena arena = { 0 };
	struct mpk_kernels k;
	char manifest[512];
	struct loaded l;

	ck_assert_int_eq(mpk_mapping_open(code_rows[_i].file, &file, NULL), MPK_OK);
	write_file("code", kernels_of(file.bytes, &arena, &k));
	(void)snprintf(manifest, sizeof manifest,
		       "[package]\nname = \"m\"\n[[module]]\nid = \"k\"\nkind = \"cuda\"\nformat = "
		       "\"%s\"\ndata = \"code\"\n[[module.function]]\nname = \"%s\"\nargs = []\n"
		       "launch = []\n",
		       code_rows[_i].format, code_rows[_i].kernel);
	load(&l, manifest);
	ck_assert_msg(l.code == code_rows[_i].code, "%s as %s: %d %s", code_rows[_i].file,
		      code_rows[_i].format, l.code, l.err.text);
	unload(&l);
	mpk_arena_fini(&arena);
	mpk_mapping_close(&file);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("package");
	TCase *tc = tcase_create("load");

	tcase_add_checked_fixture(tc, make_folder, remove_folder);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, real_blobs_come_back, 0, (int)MPK_ARRAY_COUNT(blobs));
	tcase_add_loop_test(tc, opencl_has_a_piece_for_each_kernel, 0,
			    (int)MPK_ARRAY_COUNT(opencl_rows));
	tcase_add_loop_test(tc, kernel_tables_follow_the_generation, 0, 3);
	tcase_add_test(tc, generation_can_be_given);
	tcase_add_test(tc, large_payloads_stay_in_their_file);
	tcase_add_test(tc, more_payloads_than_descriptors);
	tcase_add_test(tc, sources_and_inputs_are_listed);
	tcase_add_test(tc, contents_outweigh_missing_files);
	tcase_add_loop_test(tc, code_of_real_compilers_is_recognised, 0,
			    (int)MPK_ARRAY_COUNT(code_rows));
	suite_add_tcase(s, tc);

	SRunner *sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	int failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
