/* SPDX-License-Identifier: Apache-2.0 */
/* Every run of code is read once for one file, whoever asks: listing, --functions, JSON, --verify,
 * --size, --diff, --extract. The linker leads the calls of each reader here (Makefile), where they
 * are counted. */
#include "payload_write.h"
#include "verify_made.h"

#include "ar/ar.h"
#include "cubin/cubin.h"
#include "diff/diff.h"
#include "extract/extract.h"
#include "factory/factory.h"
#include "fatbin/fatbin.h"
#include "graphjson/graphjson.h"
#include "list/list.h"
#include "model/node_info.h"
#include "ptx/ptx.h"
#include "size/size.h"
#include "sourcecode/sourcecode.h"
#include "spirv/spirv.h"

#define DEVICE "tests/data/device/"

/* --- counting ----------------------------------------------------------------------- */

enum { READS_MAX = 64 };

static struct mpk_span reads[READS_MAX];
static size_t read_count;

static void count(struct mpk_span bytes)
{
	for (size_t i = 0; i < read_count; i++)
		ck_assert_msg(reads[i].data != bytes.data || reads[i].len != bytes.len,
			      "%zu bytes are read twice", bytes.len);
	ck_assert_uint_lt(read_count, READS_MAX);
	reads[read_count++] = bytes;
}

#define COUNTED(reader, type)                                                                      \
	enum mpk_code __real_##reader(struct mpk_span bytes, struct mpk_arena *a,                  \
				      struct type *out, struct mpk_error *err);                    \
	enum mpk_code __wrap_##reader(struct mpk_span bytes, struct mpk_arena *a,                  \
				      struct type *out, struct mpk_error *err);                    \
	enum mpk_code __wrap_##reader(struct mpk_span bytes, struct mpk_arena *a,                  \
				      struct type *out, struct mpk_error *err)                     \
	{                                                                                          \
		count(bytes);                                                                      \
		return __real_##reader(bytes, a, out, err);                                        \
	}

COUNTED(mpk_ar_read, mpk_ar)
COUNTED(mpk_cubin_read, mpk_cubin)
COUNTED(mpk_fatbin_read, mpk_fatbin)
COUNTED(mpk_graph_json_read, mpk_graph_json)
COUNTED(mpk_ptx_read, mpk_ptx)
COUNTED(mpk_spirv_read, mpk_spirv)

enum mpk_code __real_mpk_source_code_read(struct mpk_span bytes,
					  enum mpk_source_code_language language,
					  struct mpk_arena *a, struct mpk_source_code *out,
					  struct mpk_error *err);
enum mpk_code __wrap_mpk_source_code_read(struct mpk_span bytes,
					  enum mpk_source_code_language language,
					  struct mpk_arena *a, struct mpk_source_code *out,
					  struct mpk_error *err);
enum mpk_code __wrap_mpk_source_code_read(struct mpk_span bytes,
					  enum mpk_source_code_language language,
					  struct mpk_arena *a, struct mpk_source_code *out,
					  struct mpk_error *err)
{
	count(bytes);
	return __real_mpk_source_code_read(bytes, language, a, out, err);
}

/* --- asking ------------------------------------------------------------------------- */

static void print_all(struct mpk_view *view)
{
	struct mpk_strbuf out = { 0 };
	struct mpk_json j;

	mpk_json_init(&j, 1);
	mpk_answer_summary.text(view, (struct mpk_style){ 0 }, &out);
	mpk_answer_functions.text(view, (struct mpk_style){ 0 }, &out);
	mpk_answer_summary.json(view, &j, mpk_json_object(&j, j.root, "a"));
	mpk_answer_functions.json(view, &j, mpk_json_object(&j, j.root, "b"));
	ck_assert(!out.failed && !j.failed);
	mpk_json_fini(&j);
	mpk_strbuf_fini(&out);
}

static void verify_view(struct mpk_view *view)
{
	mpk_report_fini(&report);
	ck_assert_int_eq(mpk_verify_run(view, NULL, &arena, &report, NULL), MPK_OK);
}

/* Every question there is about a blob, most of them twice.
 * Returns  how often a reader ran */
static size_t ask_all(struct mpk_span blob)
{
	struct mpk_image image = { .container = MPK_CONTAINER_BLOB,
				   .bytes = blob,
				   .gen_known = true,
				   .gen = MPK_GEN_CURRENT,
				   .has_blob = true,
				   .blob = blob,
				   .prefix = "" };
	struct mpk_extract plan;
	struct mpk_tree tree;
	struct mpk_view view;
	struct mpk_size size;
	struct mpk_diff diff;

	read_count = 0;
	ck_assert_int_eq(mpk_blob_read(blob, MPK_GEN_CURRENT, &arena, &tree, NULL), MPK_OK);
	ck_assert_int_eq(mpk_view_init(&view, "a", blob.len, &image, &tree, &arena, NULL), MPK_OK);
	ck_assert_int_eq(mpk_size_read(&view, &arena, &size, NULL), MPK_OK);
	print_all(&view);
	verify_view(&view);
	ck_assert_int_eq(mpk_view_show_info(&view, true, NULL), MPK_OK);
	print_all(&view);
	ck_assert_int_eq(mpk_size_read(&view, &arena, &size, NULL), MPK_OK);
	verify_view(&view);
	ck_assert_int_eq(mpk_view_show_info(&view, true, NULL), MPK_OK);
	ck_assert_int_eq(
		mpk_diff_views(&view, mpk_span_of(blob.data, 1), &view, blob, &arena, &diff, NULL),
		MPK_OK);
	ck_assert_int_eq(mpk_extract_plan(&view, (struct mpk_span){ 0 }, &arena, &plan, NULL),
			 MPK_OK);
	return read_count;
}

/* --- code --------------------------------------------------------------------------- */

static const struct {
	const char *kind, *fmt, *path;
	size_t reads;
} codes[] = {
	{ "cuda", "ptx", DEVICE "two.ptx", 1 },
	{ "cuda", "cubin", DEVICE "two.sm_90.cubin", 1 },
	{ "cuda", "fatbin", DEVICE "tiny.none.fatbin", 4 }, /* and its images */
	{ "cuda", "cubin", DEVICE "tiny.speed.fatbin", 4 },
	{ "cuda", "cuda", DEVICE "two.cu", 1 },
	{ "opencl", "cl", DEVICE "compute.spvasm", 1 }, /* could be OpenCL, for all one knows */
	{ "vulkan", "spirv", DEVICE "compute.spv", 1 },
	{ "cuda", "ptx", DEVICE "compute.spv", 1 }, /* a false claim */
	{ "mine", "ptx", DEVICE "two.ptx", 0 },     /* an unknown kind: nobody looks */
};

START_TEST(code)
{
	struct mpk_function_info f = { .key = mpk_span_str("scale") };
	struct mpk_span bytes = robust_load(&arena, codes[_i].path);
	struct mpk_kernel_source source = { f.key, bytes, 0 };
	struct mpk_kernels k = { .gen = MPK_GEN_CURRENT,
				 .fmt = mpk_span_str(codes[_i].fmt),
				 .functions = &f,
				 .function_count = 1,
				 .data = bytes };
	struct mpk_rope packed = { .arena = &arena };

	if (strcmp(codes[_i].kind, "vulkan") == 0) {
		k.layout = MPK_KERNELS_SHADERS_024;
		k.sources = &source;
		k.source_count = 1;
	}
	mpk_kernels_write(&k, &packed);
	ck_assert_uint_eq(ask_all(write_blob(codes[_i].kind, &packed)), codes[_i].reads);
}
END_TEST

START_TEST(archive)
{
	struct mpk_record record = { .schema = &mpk_schema_static_library };
	struct mpk_rope packed = { .arena = &arena };

	record.values[0].str = robust_load(&arena, "tests/data/archive/gnu.a");
	record_write(&packed, &record);
	ck_assert_uint_eq(ask_all(write_blob("static_library", &packed)), 1);
}
END_TEST

START_TEST(graph)
{
	struct mpk_factory f = {
		.has_graph = true,
		.graph_json = mpk_span_str(
			"{\"nodes\": [{\"op\": \"null\", \"name\": \"x\", \"inputs\": []}],"
			" \"arg_nodes\": [0], \"heads\": [[0, 0, 0]], \"node_row_ptr\": [0, 1],"
			" \"attrs\": {\"dltype\": [\"list_str\", [\"float32\"]],"
			" \"storage_id\": [\"list_int\", [0]],"
			" \"shape\": [\"list_shape\", [[4]]]}}"),
		.module_name = mpk_span_str("default"),
	};
	struct mpk_rope packed = { .arena = &arena };

	mpk_factory_write(&packed, &f);
	ck_assert_uint_eq(ask_all(write_blob("GraphExecutorFactory", &packed)), 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("read-once");
	TCase *tc = tcase_create("read-once");

	tcase_add_checked_fixture(tc, setup, finish);
	tcase_add_loop_test(tc, code, 0, (int)MPK_ARRAY_COUNT(codes));
	tcase_add_test(tc, archive);
	tcase_add_test(tc, graph);
	suite_add_tcase(s, tc);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
