/* SPDX-License-Identifier: Apache-2.0 */
/* minspect --verify of device code that real tools made, whole and damaged (verify/code.c) */
#include "payload_write.h"
#include "verify_made.h"

#include "spirv/spirv.h"

#define DATA "tests/data/device/"
#define GPU "tests/data/gpu/"

static const struct mpk_dtype scale_types[] = { { MPK_DTYPE_HANDLE, 64, 1 },
						{ MPK_DTYPE_HANDLE, 64, 1 },
						{ MPK_DTYPE_FLOAT, 32, 1 },
						{ MPK_DTYPE_INT, 32, 1 } };
static const struct mpk_dtype wide_types[] = { { MPK_DTYPE_HANDLE, 64, 1 },
					       { MPK_DTYPE_HANDLE, 64, 1 },
					       { MPK_DTYPE_FLOAT, 32, 1 },
					       { MPK_DTYPE_INT, 64, 1 } };
static const int32_t tensor_map[] = { 1 };
static const struct mpk_function_info scale = { .key = SPAN("scale"),
						.arg_types = scale_types,
						.arg_count = 4 };
static const struct mpk_function_info scale_wide = { .key = SPAN("scale"),
						     .arg_types = wide_types,
						     .arg_count = 4 };
static const struct mpk_function_info scale_short = { .key = SPAN("scale"),
						      .arg_types = scale_types,
						      .arg_count = 3 };
static const struct mpk_function_info tiny = { .key = SPAN("tiny"),
					       .arg_types = scale_types,
					       .arg_count = 1 };
static const struct mpk_function_info tiny_map = { .key = SPAN("tiny"),
						   .arg_types = scale_types,
						   .arg_count = 1,
						   .extra_tags = tensor_map,
						   .extra_tag_count = 1 };
static const struct mpk_function_info block = { .key = SPAN("block"),
						.arg_types = scale_types,
						.arg_count = 1 };
static const struct mpk_function_info plain = { .key = SPAN("plain"),
						.arg_types = scale_types,
						.arg_count = 1 };

static const struct mpk_function_info flip = { .key = SPAN("flip"),
					       .arg_types = scale_types,
					       .arg_count = 1 };
static const struct mpk_function_info mix_short = { .key = SPAN("mix"),
						    .arg_types = scale_types,
						    .arg_count = 1 };

enum { KEEP = 0, FATBIN_HEADER = 16, SPIRV_MINOR = 5, BUNDLE_ARCH = 136 };

/* A file with one byte changed, or its end cut off. */
static const struct {
	const char *kind, *fmt, *path;
	const struct mpk_function_info *function;
	size_t at; /* of the byte; KEEP: none */
	uint8_t byte;
	size_t cut; /* bytes */
	const char *check;
	enum mpk_severity severity;
	const char *text;
} devices[] = {
	{ "cuda", "cubin", DATA "two.sm_90.cubin", &scale, KEEP, 0, 0, NULL, MPK_NOTE, NULL },
	{ "cuda", "cubin", DATA "two.sm_90.cubin", &scale_wide, KEEP, 0, 0, "kernel-parameters",
	  MPK_ERROR,
	  "argument 3 of kernel 'scale' has 4 bytes in the code, 8 in the table (int64)" },
	{ "cuda", "cubin", DATA "two.sm_90.cubin", &scale_short, KEEP, 0, 0, "kernel-parameters",
	  MPK_ERROR, "'scale' has 4 parameters in the code, 3 in the table" },
	{ "cuda", "cubin", DATA "two.sm_75.cubin", &tiny, KEEP, 0, 0, "kernel-defined", MPK_ERROR,
	  "does not define kernel 'tiny'" },
	{ "cuda", "cubin", DATA "shape.sm_90.cubin", &block, KEEP, 0, 0, "code-format", MPK_WARNING,
	  "-rdc=true" },
	{ "cuda", "ptx", DATA "two.ptx", &scale, KEEP, 0, 0, NULL, MPK_NOTE, NULL },
	{ "cuda", "ptx", DATA "two.ptx", &scale_wide, KEEP, 0, 0, "kernel-parameters", MPK_ERROR,
	  "has 4 bytes in the code, 8 in the table" },
	{ "cuda", "ptx", DATA "two.ptx", &scale_short, KEEP, 0, 0, "kernel-parameters", MPK_ERROR,
	  "4 parameters in the code, 3" },
	{ "cuda", "cubin", DATA "tiny.sm_120a.cubin", &tiny_map, KEEP, 0, 0, "kernel-parameters",
	  MPK_ERROR, "has 8 bytes in the code, 128 in the table (handle)" },
	{ "cuda", "cubin", DATA "tiny.speed.fatbin", &tiny, KEEP, 0, 0, NULL, MPK_NOTE, NULL },
	{ "cuda", "fatbin", DATA "tiny.size.fatbin", &tiny, KEEP, 0, 0, NULL, MPK_NOTE, NULL },
	{ "cuda", "cubin", DATA "tiny.none.fatbin", &tiny, KEEP, 0, 64, "fatbin-image", MPK_ERROR,
	  "" },
	{ "cuda", "cubin", DATA "tiny.none.fatbin", &tiny, FATBIN_HEADER + 28, 87, 0,
	  "fatbin-image", MPK_WARNING, "image 0: it is for sm_80, its entry says 87" },
	{ "cuda", "cubin", DATA "tiny.none.fatbin", &tiny, FATBIN_HEADER + 64, 0, 0, "fatbin-image",
	  MPK_ERROR, "image 0: " },
	{ "hip", "hsaco", GPU "first.bundle", &flip, KEEP, 0, 0, NULL, MPK_NOTE, NULL },
	{ "hip", "hsaco", GPU "first.bundle", &tiny, KEEP, 0, 0, "kernel-defined", MPK_ERROR,
	  "does not define kernel 'tiny'" },
	{ "hip", "hsaco", GPU "mix.gfx906.hsaco", &mix_short, KEEP, 0, 0, "kernel-parameters",
	  MPK_ERROR, "'mix' has 5 parameters in the code, 1 in the table" },
	{ "hip", "hsaco", GPU "first.bundle", &flip, KEEP, 0, 64, "offload-image", MPK_ERROR,
	  "lies beyond the end" },
	{ "hip", "hsaco", GPU "first.bundle", &flip, BUNDLE_ARCH, '2', 0, "offload-image",
	  MPK_WARNING, "image 1: it is for gfx1100, its entry says gfx1200" },
	{ "rocm", "hsaco", GPU "mix.gfx906.hsaco", &flip, KEEP, 0, 0, "kernel-defined", MPK_ERROR,
	  "does not define kernel 'flip'" },
	{ "vulkan", "spirv", DATA "compute.spv", &plain, KEEP, 0, 0, NULL, MPK_NOTE, NULL },
	{ "vulkan", "spirv", DATA "compute_be.spv", &plain, KEEP, 0, 0, "spirv-module", MPK_WARNING,
	  "big-endian" },
	{ "vulkan", "spirv", DATA "compute.spv", &plain, SPIRV_MINOR, 9, 0, "spirv-module",
	  MPK_WARNING, "SPIR-V 1.9" },
	{ "vulkan", "spirv", DATA "compute.spv", &scale, KEEP, 0, 0, "kernel-defined", MPK_ERROR,
	  "does not define kernel 'scale'" },
	{ "vulkan", "spirv", DATA "compute.spv", &plain, KEEP, 0, 12, "code-format", MPK_ERROR,
	  "" },
};

START_TEST(device_rows)
{
	struct mpk_span file = robust_load(&arena, devices[_i].path);
	uint8_t *bytes = (uint8_t *)mpk_arena_copy(&arena, file.data, file.len);
	struct mpk_kernel_source source = { devices[_i].function->key, { 0 }, 0 };
	struct mpk_kernels k = { .gen = MPK_GEN_CURRENT,
				 .fmt = mpk_span_str(devices[_i].fmt),
				 .functions = devices[_i].function,
				 .function_count = 1 };
	struct mpk_rope packed = { .arena = &arena };

	if (devices[_i].at)
		bytes[devices[_i].at] = devices[_i].byte;
	k.data = source.data = mpk_span_of(bytes, file.len - devices[_i].cut);
	if (strcmp(devices[_i].kind, "vulkan") == 0) {
		k.layout = MPK_KERNELS_SHADERS_024;
		k.sources = &source;
		k.source_count = 1;
	}
	mpk_kernels_write(&k, &packed);
	verify_bytes(write_blob(devices[_i].kind, &packed));
	expect(devices[_i].check, devices[_i].severity, devices[_i].text);
}
END_TEST

#define KERNEL(params) "__kernel void tiny(" params ") { }\n"

/* What is no OpenCL C where there are no other files. */
static const struct {
	const char *text, *check, *says;
} opencl_texts[] = {
	{ KERNEL("__global float *x"), NULL, NULL },
	{ "#include <opencl-c-base.h>\n" KERNEL("__global float *x"), NULL, NULL },
	{ "#include \"common.h\"\n" KERNEL("__global float *x"), "opencl-source",
	  "includes \"common.h\"" },
	{ KERNEL("__global float *x, size_t n"), "opencl-source", "is size_t" },
	{ KERNEL("__global float **x"), "opencl-source", "" },
};

START_TEST(opencl_rows)
{
	/* its parameters are another check's */
	bool two = strchr(opencl_texts[_i].text, ',') != NULL;
	const struct mpk_dtype types[] = { { MPK_DTYPE_HANDLE, 64, 1 }, { MPK_DTYPE_INT, 64, 1 } };
	const struct mpk_function_info kernel = { .key = SPAN("tiny"),
						  .arg_types = types,
						  .arg_count = two ? 2 : 1 };
	struct mpk_rope packed = { .arena = &arena };
	const struct mpk_kernels k = { .gen = MPK_GEN_CURRENT,
				       .fmt = SPAN("cl"),
				       .functions = &kernel,
				       .function_count = 1,
				       .data = mpk_span_str(
					       mpk_arena_printf(&arena, "// Function: tiny\n%s",
								opencl_texts[_i].text)) };

	mpk_kernels_write(&k, &packed);
	verify_bytes(write_blob("opencl", &packed));
	expect(opencl_texts[_i].check, MPK_WARNING, opencl_texts[_i].says);
}
END_TEST

/* Shaders for another kind of runtime: TVM's Vulkan looks for compute shaders. */
START_TEST(shader_model)
{
	struct mpk_span file = robust_load(&arena, DATA "kernel.spv");
	struct mpk_spirv spirv;
	struct mpk_rope packed = { .arena = &arena };

	ck_assert_int_eq(mpk_spirv_read(file, &arena, &spirv, NULL), MPK_OK);

	struct mpk_span name = mpk_span_str(spirv.entries[0].name);
	struct mpk_function_info f = { .key = name };
	struct mpk_kernel_source source = { name, file, 0 };
	struct mpk_kernels k = { .layout = MPK_KERNELS_SHADERS_024,
				 .gen = MPK_GEN_CURRENT,
				 .fmt = mpk_span_str("spirv"),
				 .functions = &f,
				 .function_count = 1,
				 .sources = &source,
				 .source_count = 1 };

	mpk_kernels_write(&k, &packed);
	verify_bytes(write_blob("vulkan", &packed));
	ck_assert_uint_eq(report.count, spirv.entry_count);
	for (size_t i = 0; i < report.count; i++) {
		ck_assert_str_eq(report.findings[i].check, "spirv-module");
		ck_assert_ptr_nonnull(strstr(report.findings[i].error.text,
					     "is of execution model Kernel, not GLCompute"));
	}
}
END_TEST

/* --- byte code ---------------------------------------------------------------------- */

/* A file whose executable is read, changed and written again. */
static void verify_changed(const char *path, void (*change)(struct mpk_payload *payload))
{
	struct mpk_mapping file = { 0 };
	struct mpk_image image;
	struct mpk_tree tree;
	struct mpk_view view;
	struct mpk_node *nodes;

	ck_assert_int_eq(mpk_mapping_open(path, &file, NULL), MPK_OK);
	ck_assert_int_eq(mpk_image_open(file.bytes, NULL, &arena, &image, NULL), MPK_OK);
	ck_assert_int_eq(mpk_blob_read(image.blob, image.gen, &arena, &tree, NULL), MPK_OK);
	ck_assert_int_eq(mpk_view_init(&view, "a.so", 0, &image, &tree, &arena, NULL), MPK_OK);
	nodes = mpk_arena_array(&arena, tree.count, sizeof *nodes);
	for (size_t i = 0; i < tree.count; i++) {
		struct mpk_payload p = *view.nodes[i].payload;
		struct mpk_rope rope = mpk_rope_of(&arena);

		nodes[i] = tree.nodes[i];
		if (p.tag != MPK_PAYLOAD_RELAX && p.tag != MPK_PAYLOAD_RELAY)
			continue;
		change(&p);
		payload_write(&rope, &p);
		ck_assert_int_eq(mpk_rope_flat(&rope, &nodes[i].payload, NULL), MPK_OK);
	}
	tree.nodes = nodes;
	ck_assert_int_eq(mpk_view_init(&view, "a.so", 0, &image, &tree, &arena, NULL), MPK_OK);
	ck_assert_int_eq(mpk_verify_payloads(&view, &arena, &report, NULL), MPK_OK);
	mpk_mapping_close(&file);
}

static void turn_range(struct mpk_payload *p)
{
	struct mpk_relax_func *funcs =
		mpk_arena_array(&arena, p->u.relax.func_count, sizeof *funcs);

	memcpy(funcs, p->u.relax.funcs, p->u.relax.func_count * sizeof *funcs);
	for (size_t i = 0; i < p->u.relax.func_count; i++)
		if (funcs[i].kind == MPK_RELAX_VM) {
			funcs[i].start = 64;
			funcs[i].end = 7;
		}
	p->u.relax.funcs = funcs;
}

static void take_registers(struct mpk_payload *p)
{
	struct mpk_relay_func *funcs =
		mpk_arena_array(&arena, p->u.relay.func_count, sizeof *funcs);

	memcpy(funcs, p->u.relay.funcs, p->u.relay.func_count * sizeof *funcs);
	for (size_t i = 0; i < p->u.relay.func_count; i++) {
		struct mpk_span *info = mpk_arena_array(&arena, funcs[i].info.count, sizeof *info);

		memcpy(info, funcs[i].info.items, funcs[i].info.count * sizeof *info);
		info[1] = mpk_span_str("1");
		funcs[i].info.items = info;
		funcs[i].register_file_size = 1;
	}
	p->u.relay.funcs = funcs;
}

START_TEST(byte_code_of_relax)
{
	verify_changed("tests/data/formats/06_relax_vm.blob", turn_range);
	expect("byte-code", MPK_ERROR, "instructions 64 to 7");
}
END_TEST

START_TEST(byte_code_of_relay)
{
	verify_changed("tests/data/formats/25_legacy_relay_vm.blob", take_registers);
	expect("byte-code", MPK_ERROR, "does not exist");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("verify-code");
	TCase *tc = tcase_create("verify-code");

	tcase_add_checked_fixture(tc, setup, finish);
	tcase_add_loop_test(tc, device_rows, 0, (int)MPK_ARRAY_COUNT(devices));
	tcase_add_loop_test(tc, opencl_rows, 0, (int)MPK_ARRAY_COUNT(opencl_texts));
	tcase_add_test(tc, shader_model);
	tcase_add_test(tc, byte_code_of_relax);
	tcase_add_test(tc, byte_code_of_relay);
	suite_add_tcase(s, tc);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
