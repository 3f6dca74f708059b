/* SPDX-License-Identifier: Apache-2.0 */
/* What views say of code and tensors: figures against what ptxas -v printed, statistics
 * against numbers worked out by hand (model/node_info.h, payload/payload_view.h) */
#include "harness.h"

#include "base/compiler.h"
#include "fatbin/fatbin.h"
#include "graphjson/graphjson.h"
#include "model/node_info.h"
#include "robust.h"

static struct mpk_arena test_arena;

static void clear(void)
{
	mpk_arena_fini(&test_arena);
}

/* --- statistics --------------------------------------------------------------------- */

static const struct {
	const char *dtype;
	uint8_t bytes[32];
	size_t len;
	const char *text;
} tensors[] = {
	{ "float32", { 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0 }, 8, "min -2, max 1, mean -0.5" },
	/* 1, NaN, infinity, 3 */
	{ "float32",
	  { 0, 0, 0x80, 0x3f, 0, 0, 0xc0, 0x7f, 0, 0, 0x80, 0x7f, 0, 0, 0x40, 0x40 },
	  16,
	  "min 1, max 3, mean 2, 1 NaN, 1 infinite" },
	{ "float32", { 0, 0, 0xc0, 0x7f }, 4, "1 NaN" },
	{ "float32", { 0, 0, 0x80, 0xff, 0, 0, 0x80, 0x7f }, 8, "2 infinite" },
	/* the largest double twice: their sum is none */
	{ "float64",
	  { 255, 255, 255, 255, 255, 255, 0xef, 0x7f, 255, 255, 255, 255, 255, 255, 0xef, 0x7f },
	  16,
	  "min 1.79769e+308, max 1.79769e+308, mean 1.79769e+308" },
	/* the smallest subnormal, 65504, -0.5 */
	{ "float16", { 1, 0, 0xff, 0x7b, 0, 0xb8 }, 6, "min -0.5, max 65504, mean 21834.5" },
	{ "float16", { 0, 0x7e, 0, 0x7c }, 4, "1 NaN, 1 infinite" },
	{ "bfloat16", { 0x80, 0x3f, 0x40, 0xc0 }, 4, "min -3, max 1, mean -1" },
	{ "bfloat16", { 0xc0, 0x7f, 0x80, 0x3f }, 4, "min 1, max 1, mean 1, 1 NaN" },
	{ "int8", { 0x80, 0x7f, 0xff, 4 }, 4, "min -128, max 127, mean 0.5" },
	{ "uint8", { 0x80, 0x7f, 0xff, 4 }, 4, "min 4, max 255, mean 128.5" },
	{ "int16", { 0, 0x80, 1, 0 }, 4, "min -32768, max 1, mean -16383.5" },
	{ "int32", { 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0 }, 8, "min -1, max 2, mean 0.5" },
	{ "int64",
	  { 0, 0, 0, 0, 0, 0, 0, 0x80, 1 },
	  16,
	  "min -9223372036854775808, max 1, mean -4.61169e+18" },
	{ "uint64",
	  { 255, 255, 255, 255, 255, 255, 255, 255 },
	  8,
	  "min 18446744073709551615, max 18446744073709551615, mean 1.84467e+19" },
	{ "bool", { 1, 0, 0, 1 }, 4, "min 0, max 1, mean 0.5" },
	{ "int8x4", { 1, 2, 3, 4 }, 4, "min 1, max 4, mean 2.5" },
	{ "float8_e4m3fn", { 1, 2 }, 2, "" },
	{ "int4", { 1, 2 }, 2, "" },
	{ "float32", { 0 }, 0, "" },
};

START_TEST(statistics)
{
	struct mpk_tensor_record t = { .data = mpk_span_of(tensors[_i].bytes, tensors[_i].len) };
	struct mpk_strbuf out = { 0 };
	struct mpk_stats s;

	ck_assert(mpk_dtype_parse(mpk_span_str(tensors[_i].dtype), &t.dtype));
	s = mpk_stats_of(&t);
	mpk_stats_text(&s, &out);
	ck_assert_str_eq(mpk_strbuf_text(&out), tensors[_i].text);
	mpk_strbuf_fini(&out);
}
END_TEST

/* --- kernels ------------------------------------------------------------------------ */

#define DATA "tests/data/device/"

static struct mpk_kernels kernels;
static struct mpk_view_node node;
static struct mpk_node stored;
static const struct mpk_kind *cuda;
static struct mpk_payload shown;

/* A device module with one kernel, as a view would have it, and what its code says. */
static const struct mpk_node_info *look(const char *kind, struct mpk_span code,
					const struct mpk_function_info *f)
{
	struct mpk_view view = { .nodes = &node, .count = 1, .arena = &test_arena };

	kernels = (struct mpk_kernels){
		.layout = MPK_KERNELS_PLAIN, .functions = f, .function_count = 1, .data = code
	};
	stored = (struct mpk_node){ .kind = mpk_span_str(kind), .payload = code };
	cuda = mpk_kind_find(stored.kind);
	shown = (struct mpk_payload){ .tag = MPK_PAYLOAD_KERNELS,
				      .kind = cuda,
				      .source = mpk_source_of(&stored),
				      .u.kernels = kernels };
	node = (struct mpk_view_node){
		.node = &stored, .kind = cuda, .decoded = true, .payload = &shown
	};
	ck_assert_int_eq(mpk_view_show_info(&view, false, NULL), MPK_OK);
	return node.info;
}

/* The registers, shared and stack bytes and barriers that ptxas -v gave. */
static const struct {
	const char *path, *kernel, *line;
} ptxas[] = {
	{ DATA "two.sm_52.cuda12.cubin", "gather",
	  "cubin sm_52: 30 registers, 512 B shared, 0 B stack, 360 B constant bank 0, "
	  "1 barrier, 3 parameters (40 B), " },
	{ DATA "two.sm_75.cubin", "scale",
	  "cubin sm_75: 10 registers, 0 B shared, 0 B stack, 376 B constant bank 0, "
	  "0 barriers, 4 parameters (24 B), " },
	{ DATA "two.sm_90.cubin", "gather",
	  "cubin sm_90: 30 registers, 512 B shared, 0 B stack, 568 B constant bank 0, "
	  "1 barrier, 3 parameters (40 B), " },
	{ DATA "two.sm_90a.cuda12.cubin", "gather", "cubin sm_90a: 30 registers, 512 B shared, " },
	{ DATA "shape.sm_90.cubin", "stack",
	  "cubin sm_90: 10 registers, 0 B shared, 400 B stack, 540 B constant bank 0, " },
	{ DATA "tiny.sm_120a.cubin", "tiny",
	  "cubin sm_120a: 10 registers, 0 B shared, 0 B stack, 904 B constant bank 0, " },
	{ DATA "two.ptx", "scale",
	  "PTX compute_90: 4 parameters (u64 u64 f32 u32), 0 B shared, declares 24 registers, at most 128x1x1" },
	{ DATA "two.ptx", "gather", "PTX compute_90: 3 parameters (u64 b8[24] u64), " },
};

static const char *function_text(void)
{
	struct mpk_strbuf out = { 0 };
	const char *text;

	mpk_node_kernel_lines(&node, 0, "", &out);
	ck_assert(!out.failed);
	text = mpk_arena_printf(&test_arena, "%s", mpk_strbuf_text(&out));
	mpk_strbuf_fini(&out);
	return text;
}

START_TEST(figures)
{
	struct mpk_function_info f = { .key = mpk_span_str(ptxas[_i].kernel) };
	const struct mpk_node_info *info =
		look("cuda", robust_load(&test_arena, ptxas[_i].path), &f);
	const char *text = function_text();

	ck_assert_int_eq(mpk_node_info_defines(info, &kernels, 0), MPK_CODE_DEFINED);
	ck_assert_msg(strncmp(text, ptxas[_i].line, strlen(ptxas[_i].line)) == 0, "%s", text);
}
END_TEST

START_TEST(marks)
{
	struct mpk_function_info f = { .key = mpk_span_str("helper") };
	const struct mpk_node_info *info;

	info = look("cuda",
		    mpk_span_str(".version 7.0\n.target sm_70\n.address_size 64\n"
				 ".func helper() { ret; }\n"),
		    &f);
	ck_assert_str_eq(function_text(), "a .func in the code: no driver can launch it\n");
	info = look("cuda", robust_load(&test_arena, DATA "two.sm_90.cubin"), &f);
	ck_assert_str_eq(function_text(), "not in the code\n");
	info = look("opencl", mpk_span_str("__kernel void MAKE(help, er)() {}"), &f);
	ck_assert_str_eq(function_text(), "not in the code\n");
	info = look("opencl",
		    mpk_span_str("#define MAKE(a, b) a##b\n"
				 "__kernel void MAKE(help, er)() {}"),
		    &f);
	ck_assert_str_eq(function_text(), "");
	info = look("rocm", mpk_span_str("\177ELF no list of kernels"), &f);
	ck_assert_int_eq(mpk_node_info_defines(info, &kernels, 0), MPK_CODE_POSSIBLE);
	ck_assert_str_eq(function_text(), "");
}
END_TEST

/* Packed images are told of, not read; what is not packed is read. */
START_TEST(images)
{
	struct mpk_function_info f = { .key = mpk_span_str("tiny") };
	const struct mpk_node_info *info;
	const struct mpk_code_info *c;
	const struct mpk_fatbin *fatbin;
	struct mpk_strbuf out = { 0 };

	info = look("cuda", robust_load(&test_arena, DATA "tiny.speed.fatbin"), &f);
	c = &info->pieces[0].code;
	ck_assert_ptr_eq(c->format, &mpk_format_fatbin);
	fatbin = c->content;
	ck_assert_uint_eq(fatbin->entry_count, 3);
	ck_assert_uint_eq(c->image_count, 3);
	for (size_t i = 0; i < 3; i++)
		ck_assert_ptr_eq(c->images[i].format, fatbin->entries[i].kind == MPK_FATBIN_PTX
							      ? &mpk_format_ptx
							      : &mpk_format_cubin);
	mpk_node_lines(&node, "", &out);
	ck_assert_ptr_nonnull(strstr(mpk_strbuf_text(&out),
				     "fatbin: sm_80 cubin, compute_90 PTX, sm_90 cubin\n"));
	ck_assert_ptr_nonnull(strstr(mpk_strbuf_text(&out), "1: compute_90 PTX 9.0, LZ4, "));
	mpk_strbuf_fini(&out);
}
END_TEST

/* Storage ids that several tensors share count once, with the largest of them. */
START_TEST(graph_storage)
{
	static const char graph[] =
		"{\"nodes\": [{\"op\": \"null\", \"name\": \"x\", \"inputs\": []},"
		" {\"op\": \"tvm_op\", \"name\": \"a\", \"attrs\": {\"num_outputs\": \"1\","
		" \"num_inputs\": \"1\", \"flatten_data\": \"0\", \"func_name\": \"a\"},"
		" \"inputs\": [[0, 0, 0]]},"
		" {\"op\": \"tvm_op\", \"name\": \"b\", \"attrs\": {\"num_outputs\": \"1\","
		" \"num_inputs\": \"1\", \"flatten_data\": \"0\", \"func_name\": \"b\"},"
		" \"inputs\": [[1, 0, 0]]}],"
		" \"arg_nodes\": [0], \"heads\": [[2, 0, 0]], \"node_row_ptr\": [0, 1, 2, 3],"
		" \"attrs\": {\"dltype\": [\"list_str\", [\"float32\", \"float16\", \"int8\"]],"
		" \"storage_id\": [\"list_int\", [7, 1, 7]],"
		" \"shape\": [\"list_shape\", [[4], [3, 5], [2, 9]]]}}";
	const struct mpk_payload payload = { .tag = MPK_PAYLOAD_FACTORY,
					     .u.factory = { .has_graph = true,
							    .graph_json = mpk_span_str(graph) } };
	struct mpk_view_node n = { .node = &stored, .decoded = true, .payload = &payload };
	struct mpk_view view = { .nodes = &n, .count = 1, .arena = &test_arena };
	const struct mpk_node_info *info;

	ck_assert_int_eq(mpk_models_of(&payload, &test_arena, &n.models, NULL), MPK_OK);
	ck_assert_ptr_nonnull(n.models.graph);
	ck_assert_int_eq(mpk_view_info(&view, 0, &info, NULL), MPK_OK);
	ck_assert_uint_eq(info->storage_count, 2);
	ck_assert_uint_eq(info->storage_bytes, 18 + 30);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("node-info");
	TCase *tc = tcase_create("node-info");

	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_add_loop_test(tc, statistics, 0, (int)MPK_ARRAY_COUNT(tensors));
	tcase_add_loop_test(tc, figures, 0, (int)MPK_ARRAY_COUNT(ptxas));
	tcase_add_test(tc, marks);
	tcase_add_test(tc, images);
	tcase_add_test(tc, graph_storage);
	suite_add_tcase(s, tc);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
