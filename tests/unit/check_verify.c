/* SPDX-License-Identifier: Apache-2.0 */
/* minspect --verify: each check finds what it is for, and sound files pass (verify/verify.h) */
#include "verify_made.h"

#include "code/format.h"
/* --- trees and payloads ------------------------------------------------------------- */

#define PTX                                                                                        \
	".version 6.0\n.target sm_30\n.address_size 64\n.visible .entry f(.param .u64 a) "         \
	"{ ret; }\n"

#define CL "// Function: f\n"

static const struct mpk_dtype handle = { MPK_DTYPE_HANDLE, 64, 1 };
static const struct mpk_dtype wide[] = { { MPK_DTYPE_FLOAT, 32, 4 } };
static const struct mpk_span grid[] = { SPAN("blockIdx.x") };
static const struct mpk_span dyn_first[] = { SPAN("tir.use_dyn_shared_memory"),
					     SPAN("threadIdx.x") };
static const struct mpk_span twice[] = { SPAN("threadIdx.x"), SPAN("threadIdx.x") };
static const struct mpk_span strange[] = { SPAN("warpIdx.x") };
static const int32_t extra[] = { 0, 0 };

#define FUNCTION(symbol, types, tags)                                                              \
	{ .key = SPAN(symbol),                                                                     \
	  .arg_types = (types),                                                                    \
	  .arg_count = 1,                                                                          \
	  .launch_tags = (tags),                                                                   \
	  .launch_tag_count = sizeof(tags) / sizeof *(tags) }

static const struct mpk_function_info good[] = { FUNCTION("f", &handle, grid) };
static const struct mpk_function_info unnamed[] = { FUNCTION("", &handle, grid) };
static const struct mpk_function_info missing[] = { FUNCTION("entr", &handle, grid) };
static const struct mpk_function_info doubled[] = { FUNCTION("f", &handle, grid),
						    FUNCTION("f", &handle, grid) };
static const struct mpk_function_info two[] = { FUNCTION("f", &handle, grid),
						FUNCTION("entr", &handle, grid) };
static const struct mpk_function_info vectors[] = { FUNCTION("f", wide, grid) };
static const struct mpk_dtype bits8[] = { { MPK_DTYPE_INT, 8, 1 } };
static const struct mpk_dtype bits16[] = { { MPK_DTYPE_FLOAT, 16, 1 } };
static const struct mpk_dtype bits64[] = { { MPK_DTYPE_INT, 64, 1 } };
static const struct mpk_function_info byte[] = { FUNCTION("f", bits8, grid) };
static const struct mpk_function_info half[] = { FUNCTION("f", bits16, grid) };
static const struct mpk_function_info wide_int[] = { FUNCTION("f", bits64, grid) };
static const struct mpk_function_info unordered[] = { FUNCTION("f", &handle, dyn_first) };
static const struct mpk_function_info tag_twice[] = { FUNCTION("f", &handle, twice) };
static const struct mpk_function_info tag_strange[] = { FUNCTION("f", &handle, strange) };
static const struct mpk_function_info over_tagged[] = {
	{ .key = SPAN("f"),
	  .arg_types = &handle,
	  .arg_count = 1,
	  .extra_tags = extra,
	  .extra_tag_count = 2 },
};
static const struct mpk_kernel_source source_f[] = { { SPAN("f"), SPAN("kernel void f() {}"), 0 } };
static const struct mpk_kernel_source source_fg[] = {
	{ SPAN("f"), SPAN("kernel void f() {}"), 0 }, { SPAN("g"), SPAN("kernel void g() {}"), 0 }
};

#define PLAIN(kind_, fmt_, data_, table)                                                           \
	kind_,                                                                                     \
	{                                                                                          \
		.layout = MPK_KERNELS_PLAIN, .gen = MPK_GEN_CURRENT, .fmt = SPAN(fmt_),            \
		.data = SPAN(data_), .functions = (table),                                         \
		.function_count = sizeof(table) / sizeof *(table)                                  \
	}
#define PIECES(table, pieces)                                                                      \
	"metal",                                                                                   \
	{                                                                                          \
		.layout = MPK_KERNELS_SOURCES, .gen = MPK_GEN_CURRENT, .fmt = SPAN("metal"),       \
		.functions = (table), .function_count = sizeof(table) / sizeof *(table),           \
		.sources = (pieces), .source_count = sizeof(pieces) / sizeof *(pieces)             \
	}

static const struct {
	const char *kind;
	struct mpk_kernels kernels;
	size_t extra_bytes; /* zeros behind the payload */
	const char *check;
	enum mpk_severity severity;
	const char *text;
} payloads[] = {
	{ PLAIN("cuda", "ptx", PTX, good), 0, NULL, MPK_NOTE, NULL },
	{ PLAIN("cuda", "ptx", PTX, unnamed), 0, "kernel-name", MPK_ERROR, "has no name" },
	{ PLAIN("cuda", "ptx", PTX, doubled), 0, "kernel-name", MPK_ERROR, "twice" },
	{ PLAIN("cuda", "ptx", PTX, unordered), 0, "launch-tag", MPK_ERROR, "last launch tag" },
	{ PLAIN("cuda", "ptx", PTX, tag_twice), 0, NULL, MPK_NOTE, NULL },
	{ PLAIN("cuda", "ptx", PTX, tag_strange), 0, "launch-tag", MPK_WARNING, "warpIdx.x" },
	{ PLAIN("cuda", "ptx", PTX, vectors), 0, "kernel-argument", MPK_ERROR, "float32x4" },
	{ PLAIN("cuda", "ptx", PTX, byte), 0, "kernel-argument", MPK_ERROR, "int8, which no" },
	{ PLAIN("metal", "metallib", "MTLB", half), 0, "kernel-argument", MPK_ERROR,
	  "float16, which" },
	{ PLAIN("cuda", "ptx", PTX, over_tagged), 0, "kernel-argument", MPK_WARNING, "more" },
	{ PLAIN("cuda", "ptx", PTX, missing), 0, "kernel-defined", MPK_ERROR,
	  "does not define kernel 'entr'" },
	{ PLAIN("cuda", "ptx",
		"\x7f"
		"ELF no",
		good),
	  0, "code-format", MPK_ERROR, "" },
	{ PLAIN("cuda", "ptx", ".version 6.0\n.entry f()", good), 0, "code-format", MPK_ERROR, "" },
	{ PLAIN("cuda", "ptx", ".version 6.0\n.target sm_30\n.func f() { ret; }\n", good), 0,
	  "kernel-defined", MPK_WARNING, "is a .func" },
	{ PLAIN("opencl", "cl", CL "#define f(x) x\n__kernel void f();", good), 0, NULL, MPK_NOTE,
	  NULL },
	{ PLAIN("opencl", "cl", CL "__kernel void f(__global int *a, int n) {}", good), 0,
	  "kernel-parameters", MPK_ERROR, "has 2 parameters in the code, 1 in the table" },
	{ PLAIN("opencl", "cl", CL "#define TWO , int n\n__kernel void f(__global int *a TWO) {}",
		good),
	  0, NULL, MPK_NOTE, NULL },
	{ PLAIN("opencl", "cl", CL "typedef int t;\n__kernel void f(__global int *a, t n) {}",
		good),
	  0, "kernel-parameters", MPK_ERROR, "has 2 parameters in the code, 1 in the table" },
	{ PLAIN("opencl", "cl", CL "__kernel void f(__local float *a) {}", good), 0,
	  "kernel-parameters", MPK_ERROR, "'__local float *a': no runtime passes local memory" },
	{ PLAIN("opencl", "cl", CL "__kernel void f(const int n) {}", good), 0, "kernel-parameters",
	  MPK_ERROR, "is 'const int n' in the code, handle in the table" },
	{ PLAIN("opencl", "cl", CL "__kernel void f(int n) {}", wide_int), 0, "kernel-parameters",
	  MPK_ERROR, "is 'int n' in the code, int64 in the table" },
	{ PLAIN("opencl", "cl", CL "__kernel void f(double n) {}", wide_int), 0,
	  "kernel-parameters", MPK_ERROR, "is 'double n' in the code, int64 in the table" },
	{ PLAIN("opencl", "cl", CL "__kernel void f(ulong n) {}", wide_int), 0, NULL, MPK_NOTE,
	  NULL },
	{ PLAIN("opencl", "cl", CL "__kernel void f(read_only image2d_array_t t) {}", good), 0,
	  NULL, MPK_NOTE, NULL },
	{ PLAIN("opencl", "cl", CL "__kernel void f(__global int *a) {}", good), 0, NULL, MPK_NOTE,
	  NULL },
	{ PLAIN("cuda", "cuda", "__global__ void g() {} // f", good), 0, "kernel-defined",
	  MPK_ERROR, "does not define kernel 'f'" },
	{ PLAIN("cuda", "cuda", "__global__ void f(int *a);", good), 0, "kernel-defined", MPK_ERROR,
	  "does not define kernel 'f'" },
	{ PLAIN("opencl", "cl", "__kernel void f(__global int *a) {}", good), 0, "opencl-pieces",
	  MPK_ERROR, "no '// Function: ' lines" },
	{ PLAIN("opencl", "cl",
		CL "__kernel void f(__global int *a) {}\n" CL "__kernel void f(__global int *a) {}",
		good),
	  0, "opencl-pieces", MPK_ERROR, "2 '// Function: ' lines for 1 kernel" },
	{ PLAIN("opencl", "cl", "// Function: g\n__kernel void f(__global int *a) {}", good), 0,
	  "opencl-pieces", MPK_ERROR, "no line '// Function: f'" },
	{ PLAIN("opencl", "cl",
		CL "__kernel void f(__global int *a);\n"
		   "// Function: entr\n__kernel void f(__global int *a) {}\n"
		   "__kernel void entr(__global int *a) {}",
		two),
	  0, "opencl-pieces", MPK_ERROR, "the program of kernel 'f' does not define it" },
	{ PLAIN("cuda", "cubin",
		"\x7f"
		"ELF\2\1\1",
		good),
	  0, "code-format", MPK_ERROR, "" },
	{ PLAIN("cuda", "ptx", PTX, good), 3, "payload-tail", MPK_WARNING, "3 bytes follow" },
	{ PLAIN("opengl", "gl", "{}", good), 0, "kind-release", MPK_WARNING, "TVM 0.2 - 0.6" },
	{ PLAIN("my_kind", "x", "y", good), 0, "kind", MPK_WARNING, "'my_kind' is unknown" },
	{ PIECES(good, source_f), 0, NULL, MPK_NOTE, NULL },
	{ PIECES(two, source_f), 0, "kernel-code", MPK_ERROR, "no code for kernel 'entr'" },
	{ PIECES(good, source_fg), 0, "kernel-code", MPK_WARNING, "code for 'g'" },
};

START_TEST(payload_rows)
{
	struct mpk_rope packed = { .arena = &arena };

	mpk_kernels_write(&payloads[_i].kernels, &packed);
	mpk_rope_put_bytes(&packed, mpk_span_of("\0\0\0\0", payloads[_i].extra_bytes));
	verify_bytes(write_blob(payloads[_i].kind, &packed));
	expect(payloads[_i].check, payloads[_i].severity, payloads[_i].text);
}
END_TEST

START_TEST(broken_payload)
{
	struct mpk_rope packed = { .arena = &arena };

	mpk_rope_put_u64(&packed, 1000);
	verify_bytes(write_blob("cuda", &packed));
	expect("payload", MPK_ERROR, "");
	ck_assert_str_eq(report.findings[0].error.at.path, "/0");
	ck_assert_str_eq(report.findings[0].error.at.space, "blob");
}
END_TEST

/* row pointers, children and kinds of a current container, spelled out */
static const struct {
	uint64_t words[12]; /* from indptr's count on */
	size_t count;
	size_t libs;
	size_t tail;
	const char *check;
	enum mpk_severity severity;
	const char *text;
} containers[] = {
	{ { 2, 0, 0, 0 }, 4, 1, 0, NULL, MPK_NOTE, NULL },
	{ { 2, 0, 0, 0 }, 4, 1, 5, "blob-tail", MPK_WARNING, "5 bytes follow" },
	{ { 3, 0, 0, 0, 0 }, 5, 2, 0, "*", MPK_WARNING, "nothing imports" },
	{ { 3, 0, 2, 2, 2, 1, 1 }, 7, 2, 0, "*", MPK_NOTE, "not ascending" },
};

static bool found(const char *text)
{
	for (size_t i = 0; i < report.count; i++)
		if (strstr(report.findings[i].error.text, text))
			return true;
	return false;
}

START_TEST(container_rows)
{
	struct mpk_rope body = { .arena = &arena }, rope = { .arena = &arena };
	struct mpk_span blob;

	for (size_t i = 0; i < containers[_i].count; i++)
		mpk_rope_put_u64(&body, containers[_i].words[i]);
	for (size_t i = 0; i < containers[_i].libs; i++)
		mpk_rope_put_str(&body, mpk_span_str("_lib"));
	mpk_rope_put_bytes(&body, mpk_span_of("\0\0\0\0\0\0", containers[_i].tail));
	ck_assert_int_eq(mpk_rope_flat(&body, &blob, NULL), MPK_OK);
	mpk_rope_put_u64(&rope, blob.len);
	mpk_rope_put_bytes(&rope, blob);
	ck_assert_int_eq(mpk_rope_flat(&rope, &blob, NULL), MPK_OK);
	verify_bytes(blob);
	if (containers[_i].libs == 1) {
		expect(containers[_i].check, containers[_i].severity, containers[_i].text);
		return;
	}
	ck_assert(found(containers[_i].text));
	ck_assert(found("a second _lib"));
	ck_assert_uint_eq(report.count, 2);
}
END_TEST

/* --- libraries ---------------------------------------------------------------------- */

#define BLOB(section)                                                                              \
	"__asm__(\"" section "\\n.globl __tvm_ffi__library_bin\\n"                                 \
	".type __tvm_ffi__library_bin,%%object\\n__tvm_ffi__library_bin: .incbin "                 \
	"\\\"%s/blob\\\"\\n.size __tvm_ffi__library_bin,.-__tvm_ffi__library_bin\\n"               \
	".previous\");\n"
#define RODATA BLOB(".section .rodata")
#define Q(text) "\\\\\\\"" text "\\\\\\\""
#define NOTE(digits)                                                                               \
	"__asm__(\".pushsection .note.package,\\\"a\\\",%%note\\n.balign 4\\n"                     \
	".long 4, 2f-1f, 0xcafe1a7e\\n.asciz \\\"FDO\\\"\\n1: .asciz \\\""                         \
	"{" Q("type") ":" Q("mpack") "," Q("name") ":" Q("x") "," Q("blob") ":" Q(                 \
		"__tvm_ffi__library_bin") "," Q("xxh128") ":" Q(digits) "}\\\"\\n2: .balign 4\\n.popsection\");\n"

static const struct {
	const char *code;
	const char *check;
	enum mpk_severity severity;
	const char *text;
} libraries[] = {
	{ RODATA "int __tvm_ffi_f(void) { return 0; }", NULL, MPK_NOTE, NULL },
	{ RODATA, "host-code", MPK_WARNING, "no functions" },
	{ RODATA "int __tvm_ffi_f(void) { return 0; } void *__TVMSomething;", "context-symbol",
	  MPK_WARNING, "no loader is known" },
	{ RODATA "int TVMFFIEnvModLookupFromImports(void *, const char *, void **);"
		 "int __tvm_ffi_f(void) { return TVMFFIEnvModLookupFromImports(0, 0, 0); }",
	  "library-context", MPK_ERROR, "there is no __tvm_ffi__library_ctx" },
	{ BLOB(".section .data") "int __tvm_ffi_f(void) { return 0; }", "blob-segment", MPK_NOTE,
	  "writable" },
	{ BLOB(".section .text") "int __tvm_ffi_f(void) { return 0; }", "blob-section", MPK_WARNING,
	  "executable" },
	{ NOTE("00112233445566778899aabbccddeeff") "int __tvm_ffi_f(void) { return 0; }",
	  "blob-symbol", MPK_ERROR, "no symbol has that name" },
	{ RODATA NOTE("00112233445566778899aabbccddeeff") "int __tvm_ffi_f(void) { return 0; }",
	  "blob-digest", MPK_ERROR, "is damaged" },
	/* as xxh128sum prints it for the blob */
	{ RODATA NOTE("0b60dc99a961ea2b93a699e2bd13d0b6") "int __tvm_ffi_f(void) { return 0; }",
	  "blob-digest", MPK_NOTE, "is what was packed" },
	{ "const char __tvm_main__[] = \"gone\"; void *__tvm_module_ctx;"
	  "int here(void) { return 0; }",
	  "entry-function", MPK_ERROR, "'gone' is not defined" },
};

static void make_library(const char *code)
{
	FILE *f = fopen(mpk_arena_printf(&arena, "%s/a.c", dir), "w");
	struct mpk_rope packed = { .arena = &arena };
	struct mpk_span blob;

	mpk_kernels_write(&payloads[0].kernels, &packed);
	blob = write_blob("cuda", &packed);
	ck_assert_ptr_nonnull(f);
	for (const char *at = code; *at; at++) {
		if (at[0] == '%' && at[1] == 's')
			(void)fputs(dir, f), at++;
		else if (at[0] == '%' && at[1] == '%')
			(void)fputc('%', f), at++;
		else
			(void)fputc(*at, f);
	}
	ck_assert_int_eq(fclose(f), 0);
	f = fopen(mpk_arena_printf(&arena, "%s/blob", dir), "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(blob.data, 1, blob.len, f), blob.len);
	ck_assert_int_eq(fclose(f), 0);
	/* The first segment has headers only, so that it can be moved without the blob. */
	ck_assert(build("gcc", "-Wl,-z,separate-code"));
}

START_TEST(library_rows)
{
	make_library(libraries[_i].code);
	verify_bytes(load_made("a.so"));
	expect(libraries[_i].check, libraries[_i].severity, libraries[_i].text);
}
END_TEST

/* Tools that only look at sections would lose this blob. */
START_TEST(blob_outside_sections)
{
	struct mpk_span s;
	Elf64_Ehdr h;

	make_library(libraries[0].code);
	s = load_made("a.so");
	memcpy(&h, s.data, sizeof h);
	for (size_t i = 1; i < h.e_shnum; i++) {
		uint8_t *at = (uint8_t *)(uintptr_t)s.data + h.e_shoff + i * sizeof(Elf64_Shdr);
		Elf64_Shdr shdr;

		memcpy(&shdr, at, sizeof shdr);
		if (shdr.sh_type == SHT_PROGBITS && shdr.sh_flags == SHF_ALLOC)
			shdr.sh_size = 1;
		memcpy(at, &shdr, sizeof shdr);
	}
	verify_bytes(s);
	expect("blob-section", MPK_ERROR, "is in no section");
}
END_TEST

START_TEST(segments_that_no_loader_maps)
{
	static const struct {
		uint64_t align;
		const char *text;
	} rows[] = {
		{ UINT64_C(1) << 62, "aligned to 4611686018427387904" },
		{ UINT64_C(1) << 31, "aligned to 2147483648" },
		{ 12288, "aligned to 12288" },
		{ UINT64_C(1) << 30, "offset and address differ" },
	};
	struct mpk_span s;
	Elf64_Ehdr h;
	Elf64_Phdr p = { 0 };
	uint8_t *at = NULL;

	make_library(libraries[0].code);
	s = load_made("a.so");
	memcpy(&h, s.data, sizeof h);
	/* what is written to stands pages further in memory than in the file */
	for (size_t i = 0; i < h.e_phnum && (p.p_type != PT_LOAD || p.p_vaddr == p.p_offset); i++) {
		at = (uint8_t *)(uintptr_t)s.data + h.e_phoff + i * sizeof p;
		memcpy(&p, at, sizeof p);
	}
	ck_assert(p.p_type == PT_LOAD && p.p_vaddr > p.p_offset);
	p.p_align = rows[_i].align;
	memcpy(at, &p, sizeof p);
	verify_bytes(s);
	expect("segment-alignment", MPK_ERROR, rows[_i].text);
}
END_TEST

START_TEST(symbol_size_differs)
{
	make_library(libraries[0].code);
	ck_assert(run("cd %s && printf '\\0\\0\\0' >>blob && "
		      "gcc -ffreestanding -fPIC -O1 -c a.c -o a.o && "
		      "gcc -shared -nostdlib a.o -o a.so",
		      dir));
	verify_bytes(load_made("a.so"));
	expect("blob-size", MPK_WARNING, "but the blob says");
}
END_TEST

static bool is_tested(const char *check)
{
	static const char *const elsewhere[] = {
		"blob-size",      "blob-section",    "segment-alignment",
		"payload",        "several-libs",    "unreached",
		"child-order",    "container", /* and in check_verify_code.c */
		"fatbin-image",   "offload-image",   "spirv-module",
		"byte-code",      "opencl-source",   "embedded-code",
		"gpu-code",       "signature",       "provenance",
		"bitcode-module", "ltoir-container", "tileir-module" /* by cases of tests/cli */
	};
	bool tested = false;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(payloads); i++)
		tested |= payloads[i].check && !strcmp(payloads[i].check, check);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(libraries); i++)
		tested |= libraries[i].check && !strcmp(libraries[i].check, check);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(containers); i++)
		tested |= containers[i].check && !strcmp(containers[i].check, check);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(elsewhere); i++)
		tested |= !strcmp(elsewhere[i], check);
	return tested;
}

/* Every name in the tables, and of the rows of code formats, is one that a test asks for. */
START_TEST(every_check_is_tested)
{
	static const struct mpk_check *const tables[] = { mpk_checks_elf, mpk_checks_contents,
							  mpk_checks_payload, mpk_checks_code };

	for (size_t t = 0; t < MPK_ARRAY_COUNT(tables); t++)
		for (const struct mpk_check *c = tables[t]; c->name; c++) {
			ck_assert_msg(is_tested(c->name), "%s", c->name);
			ck_assert_ptr_nonnull(c->about);
		}
	for (size_t i = 0; mpk_code_formats[i]; i++)
		if (mpk_code_formats[i]->check)
			ck_assert_msg(is_tested(mpk_code_formats[i]->check), "%s",
				      mpk_code_formats[i]->check);
}
END_TEST

/* A legacy container with a module of unknown kind whose end cannot be known. */
START_TEST(legacy_unknown_kind)
{
	struct mpk_rope body = { .arena = &arena }, rope = { .arena = &arena };
	struct mpk_image image = { .container = MPK_CONTAINER_BLOB,
				   .has_blob = true,
				   .prefix = "" };
	struct mpk_tree tree;
	struct mpk_span blob;

	mpk_rope_put_u64(&body, 2);
	mpk_rope_put_str(&body, mpk_span_str("mystery"));
	mpk_rope_put_u64(&body, 0x1234567812345678);
	ck_assert_int_eq(mpk_rope_flat(&body, &blob, NULL), MPK_OK);
	mpk_rope_put_u64(&rope, blob.len);
	mpk_rope_put_bytes(&rope, blob);
	ck_assert_int_eq(mpk_rope_flat(&rope, &image.blob, NULL), MPK_OK);
	ck_assert_int_eq(mpk_blob_read(image.blob, MPK_GEN_LEGACY, &arena, &tree, NULL), MPK_OK);
	verify_image(&image, &tree);
	ck_assert(found("'mystery' is unknown"));
	ck_assert_str_eq(report.findings[0].check, "container");
}
END_TEST

static const char *const sound[] = {
	"formats/01_opencl_scale.so",
	"formats/02_cuda_source_dynshmem.so",
	"formats/04_metal.blob",
	"formats/05_webgpu.blob",
	"formats/06_relax_vm.so",
	"formats/07_relax_opencl.so",
	"formats/08_const_loader.blob",
	"formats/12_syslib_prefix.tar",
	"formats/13_chost_opencl.so",
	"formats/14_llvm_noblob.so",
	"ffi/ffi_cpp.so",
	"relax/gelu.so",
	"relax/gelu_opencl.so",
	"cuda/cubin/vadd_cuda.so",
	"cuda/fatbin/vadd_cuda.so",
	"cuda/ptx/vadd_cuda.so",
	"formats/20_legacy_opencl.so",
	"formats/21_legacy_metal_off.blob",
	"formats/22_legacy_webgpu.blob",
	"formats/23_legacy_graph.so",
	"formats/24_legacy_aot.so",
	"formats/25_legacy_relay_vm.blob",
	"legacy/mlp_aot.so",
	"legacy/mlp_llvm.so",
	"legacy/mlp_opencl.so",
	"legacy/mlp_vm.so",
};

START_TEST(sound_files)
{
	struct mpk_span bytes;

	bytes = fixture_load(sound[_i]);
	verify_bytes(bytes);
	expect(NULL, MPK_NOTE, NULL);
	fixture_free(bytes);
}
END_TEST

int main(void)
{
	const struct {
		const TTest *fn;
		int rows;
	} tests[] = {
		{ payload_rows, (int)MPK_ARRAY_COUNT(payloads) },
		{ container_rows, (int)MPK_ARRAY_COUNT(containers) },
		{ library_rows, (int)MPK_ARRAY_COUNT(libraries) },
		{ broken_payload, 1 },
		{ blob_outside_sections, 1 },
		{ symbol_size_differs, 1 },
		{ segments_that_no_loader_maps, 4 },
		{ legacy_unknown_kind, 1 },
		{ every_check_is_tested, 1 },
		{ sound_files, (int)MPK_ARRAY_COUNT(sound) },
	};
	Suite *s = suite_create("verify");
	TCase *tc = tcase_create("verify");

	tcase_add_checked_fixture(tc, setup, finish);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(tests); i++)
		tcase_add_loop_test(tc, tests[i].fn, 0, tests[i].rows);
	suite_add_tcase(s, tc);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
