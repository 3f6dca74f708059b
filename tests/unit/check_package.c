/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of the files that a manifest names. Real blobs: check_package_blobs.c. */
#include "package_made.h"
#include "tensor/tensor.h"

/* --- OpenCL source in pieces ------------------------------------------------------------------ */

#define OPENCL_HEAD "[package]\nname = \"m\"\n[[module]]\nid = \"k\"\nkind = \"opencl\"\n"
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
	ck_assert_int_eq(
		mpk_kernels_read(&c, tree.nodes[0].kind, MPK_GEN_CURRENT, &l.arena, &k, NULL),
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
	} rows[] = { { "legacy", MPK_GEN_LEGACY, 0, 0 },
		     { "ffi-0.21", MPK_GEN_HYBRID, 0, 2 },
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
					   .path = in_folder("mpack.toml"),
					   .gen = &gen };
	struct loaded l = { 0 };

	write_text("a.bin", "bytes");
	l.code = mpk_package_load(&input, &l.arena, &l.report, &l.package, &l.err);
	ck_assert_uint_eq(flat(&l).len, 8 + 8 + (8 + 1) + 5 + (8 + 12) + 8 * 3 + 8);
	ck_assert_int_eq(l.package.tree.gen, MPK_GEN_LEGACY);
	unload(&l);
}
END_TEST

/* --- sizes and numbers ---------------------------------------------------------------------- */

static void count_bytes(const struct loaded *l, uint64_t *in_memory, uint64_t *in_files)
{
	for (size_t i = 0; i < l->package.blob.count; i++) {
		const struct mpk_piece *p = &l->package.blob.pieces[i];

		*(p->data ? in_memory : in_files) += p->len;
		ck_assert(p->data || p->fd >= 0);
	}
}

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
	count_bytes(&l, &in_memory, &in_files);
	ck_assert_uint_eq(in_files, size);
	ck_assert_uint_lt(in_memory, 100);
	unload(&l);
}
END_TEST

/* Parameters of a few KiB each are copied as one range of their file all the same. */
START_TEST(small_tensors_stay_in_their_file)
{
	enum { COUNT = 1000, ELEMENTS = 1024, RECORD = MPK_TENSOR_MIN + 8 + 4 * ELEMENTS };
	static const float zeros[ELEMENTS];
	static const int64_t shape[] = { ELEMENTS };
	static struct mpk_tensor_record tensors[COUNT];
	static struct mpk_span names[COUNT];
	struct mpk_params params = { .names = { names, COUNT }, .tensors = tensors };
	struct mpk_arena arena = { 0 };
	struct mpk_rope rope = mpk_rope_of(&arena);
	uint64_t in_memory = 0, in_files = 0;
	struct mpk_span file;
	struct loaded l;

	for (size_t i = 0; i < COUNT; i++) {
		names[i] = mpk_span_str(mpk_arena_printf(&arena, "p%03zu", i));
		tensors[i] = (struct mpk_tensor_record){ .dtype = { MPK_DTYPE_FLOAT, 32, 1 },
							 .shape = shape,
							 .ndim = 1,
							 .data = mpk_span_of(zeros, sizeof zeros) };
	}
	mpk_params_write(&rope, &params);
	ck_assert_int_eq(mpk_rope_flat(&rope, &file, NULL), MPK_OK);
	write_file("w.params", file);
	write_text("g.json", "{\"nodes\": []}");
	load(&l, "[package]\nname = \"m\"\nabi = \"legacy\"\n[[module]]\nid = \"a\"\n"
		 "kind = \"GraphExecutorFactory\"\ngraph = \"g.json\"\nparams = \"w.params\"\n");
	ck_assert_msg(l.code == MPK_OK, "%s", l.err.text);
	count_bytes(&l, &in_memory, &in_files);
	ck_assert_uint_eq(in_files, (uint64_t)COUNT * RECORD);
	ck_assert_uint_lt(in_memory, COUNT * 12 + 200);
	unload(&l);
	mpk_arena_fini(&arena);
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

/* --- twins --------------------------------------------------------------------------------------- */

#define TWIN_HEAD "[package]\nname = \"m\"\n"
#define HOST(imports)                                                                              \
	"[[module]]\nid = \"h\"\nkind = \"host\"\nsources = [\"a.c\"]\nimports = [" imports "]\n"
#define DATA(id, kind, file, imports)                                                              \
	"[[module]]\nid = \"" id "\"\nkind = \"" kind "\"\npayload = \"" file                      \
	"\"\nimports = [" imports "]\n"

static const struct {
	const char *manifest;
	size_t nodes;
} twin_rows[] = {
	/* off; on; another kind; other bytes of the same length; twins that import twins; twins
	 * that import different ones; large files; the root is a twin */
	{ TWIN_HEAD HOST("\"a\", \"b\"") DATA("a", "x", "1", "") DATA("b", "x", "1", ""), 3 },
	{ TWIN_HEAD "dedup = true\n" HOST("\"a\", \"b\"") DATA("a", "x", "1", "")
		  DATA("b", "x", "1b", ""),
	  2 },
	{ TWIN_HEAD "dedup = true\n" HOST("\"a\", \"b\"") DATA("a", "x", "1", "")
		  DATA("b", "y", "1b", ""),
	  3 },
	{ TWIN_HEAD "dedup = true\n" HOST("\"a\", \"b\"") DATA("a", "x", "1", "")
		  DATA("b", "x", "2", ""),
	  3 },
	{ TWIN_HEAD "dedup = true\n" HOST("\"a\", \"b\"") DATA("a", "x", "1", "\"c\"")
		  DATA("b", "x", "1", "\"d\"") DATA("c", "x", "2", "") DATA("d", "x", "2", ""),
	  3 },
	{ TWIN_HEAD "dedup = true\n" HOST("\"a\", \"b\"") DATA("a", "x", "1", "\"c\"")
		  DATA("b", "x", "1", "\"d\"") DATA("c", "x", "2", "") DATA("d", "y", "2", ""),
	  5 },
	{ TWIN_HEAD "dedup = true\n" HOST("\"a\", \"b\", \"c\"") DATA("a", "x", "big", "")
		  DATA("b", "x", "big copy", "") DATA("c", "x", "big other", ""),
	  3 },
	{ TWIN_HEAD "root = \"b\"\ndedup = true\n" DATA("a", "x", "1", "") DATA("b", "x", "1", ""),
	  1 },
};

START_TEST(twins_are_stored_once)
{
	static const char *const big[] = { "big", "big copy", "big other" };
	struct loaded l;

	write_text("a.c", "");
	write_text("1", "one");
	write_text("1b", "one");
	write_text("2", "two");
	for (size_t i = 0; i < MPK_ARRAY_COUNT(big); i++) {
		write_text(big[i], i == 2 ? "y" : "x");
		ck_assert_int_eq(truncate(in_folder(big[i]), 3 << 20), 0);
	}
	load(&l, twin_rows[_i].manifest);
	ck_assert_msg(l.code == MPK_OK, "%s", l.err.text);
	ck_assert_uint_eq(l.package.tree.count, twin_rows[_i].nodes);
	unload(&l);
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
	struct mpk_cursor c =
		mpk_cursor_of(mpk_span_of(at, (size_t)(file.data + file.len - at)), 0, "payload");
	ck_assert_int_eq(
		mpk_kernels_read(&c, mpk_span_str("cuda"), MPK_GEN_CURRENT, arena, k, NULL),
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

#define DEVICE "tests/data/device/"

static const struct {
	const char *file, *kind, *kernel;
	enum mpk_code code;
} kernel_rows[] = {
	{ DEVICE "two.sm_75.cubin", "cuda", "scale", MPK_OK },
	{ DEVICE "two.sm_75.cubin", "cuda", "scael", MPK_E_CONFLICT },
	{ DEVICE "tiny.none.fatbin", "cuda", "tiny", MPK_OK },
	{ DEVICE "tiny.none.fatbin", "cuda", "tyni", MPK_E_CONFLICT },
	{ DEVICE "tiny.size.fatbin", "cuda", "tyni", MPK_E_CONFLICT },
	{ DEVICE "two.ptx", "cuda", "scael", MPK_E_CONFLICT },
	{ DEVICE "two.cu", "cuda", "scale", MPK_OK },
	{ DEVICE "two.cu", "cuda", "scael", MPK_E_CONFLICT },
	{ DEVICE "two.cu", "cuda", "_Z5scaelPf", MPK_OK },
	{ DEVICE "compute.spv", "vulkan", "plain", MPK_OK },
	{ DEVICE "compute.spv", "vulkan", "plane", MPK_E_CONFLICT },
};

static void load_code(struct loaded *l, const char *kind, const char *kernel)
{
	char manifest[512];

	(void)snprintf(manifest, sizeof manifest,
		       "[package]\nname = \"m\"\n[[module]]\nid = \"k\"\nkind = \"%s\"\n"
		       "data = \"code\"\n[[module.function]]\nname = \"%s\"\nargs = []\n"
		       "launch = []\n",
		       kind, kernel);
	load(l, manifest);
}

START_TEST(kernels_are_looked_up_in_code)
{
	struct mpk_mapping file = { 0 };
	struct loaded l;

	ck_assert_int_eq(mpk_mapping_open(kernel_rows[_i].file, &file, NULL), MPK_OK);
	write_file("code", file.bytes);
	load_code(&l, kernel_rows[_i].kind, kernel_rows[_i].kernel);
	ck_assert_msg(l.code == kernel_rows[_i].code, "%s in %s: %d %s", kernel_rows[_i].kernel,
		      kernel_rows[_i].file, l.code, l.err.text);
	unload(&l);
	mpk_mapping_close(&file);
}
END_TEST

static const struct {
	const char *kind, *text;
	enum mpk_code code;
	size_t findings;
} text_rows[] = {
	{ "cuda", ".version 8.0\n.target sm_90\n.visible .entry f() { ret; }\n", MPK_OK, 0 },
	{ "cuda", ".version 8.0\n.target sm_90\n.visible .func f() { ret; }\n", MPK_OK, 0 },
	{ "cuda", ".version 8.0\n.target sm_90\n.entry f(", MPK_E_SYNTAX, 1 },
	{ "opencl", "__kernel void g() {} // f", MPK_E_CONFLICT, 1 },
	{ "opencl", "#define K(n) __kernel void n##_k() {}\nK(f)\n", MPK_OK, 0 },
	{ "opencl", "__kernel void f(\n", MPK_OK, 1 },
};

START_TEST(texts_are_read_by_their_language)
{
	struct loaded l;

	write_text("code", text_rows[_i].text);
	load_code(&l, text_rows[_i].kind, "f");
	ck_assert_msg(l.code == text_rows[_i].code, "%s: %d %s", text_rows[_i].text, l.code,
		      l.err.text);
	ck_assert_msg(l.report.count == text_rows[_i].findings, "%s", text_rows[_i].text);
	unload(&l);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("package");
	TCase *tc = tcase_create("load");

	tcase_add_checked_fixture(tc, make_folder, remove_folder);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, opencl_has_a_piece_for_each_kernel, 0,
			    (int)MPK_ARRAY_COUNT(opencl_rows));
	tcase_add_loop_test(tc, kernel_tables_follow_the_generation, 0, 3);
	tcase_add_test(tc, generation_can_be_given);
	tcase_add_test(tc, large_payloads_stay_in_their_file);
	tcase_add_test(tc, small_tensors_stay_in_their_file);
	tcase_add_test(tc, more_payloads_than_descriptors);
	tcase_add_loop_test(tc, twins_are_stored_once, 0, (int)MPK_ARRAY_COUNT(twin_rows));
	tcase_add_test(tc, sources_and_inputs_are_listed);
	tcase_add_test(tc, contents_outweigh_missing_files);
	tcase_add_loop_test(tc, code_of_real_compilers_is_recognised, 0,
			    (int)MPK_ARRAY_COUNT(code_rows));
	tcase_add_loop_test(tc, kernels_are_looked_up_in_code, 0,
			    (int)MPK_ARRAY_COUNT(kernel_rows));
	tcase_add_loop_test(tc, texts_are_read_by_their_language, 0,
			    (int)MPK_ARRAY_COUNT(text_rows));
	suite_add_tcase(s, tc);

	SRunner *sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	int failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
