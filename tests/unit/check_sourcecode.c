/* SPDX-License-Identifier: Apache-2.0 */
/* formats/sourcecode: texts of TVM's code generators, and what else the languages allow */
#include "robust.h"

#include "base/compiler.h"
#include "sourcecode/sourcecode.h"

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

static struct mpk_source_code read_source(struct mpk_span text,
					  enum mpk_source_code_language language)
{
	struct mpk_error err = { 0 };
	struct mpk_source_code s;

	ck_assert_msg(mpk_source_code_read(text, language, &arena, &s, &err) == MPK_OK, "%u:%u: %s",
		      err.at.line, err.at.column, err.text);
	return s;
}

/* The part of a blob from a text on, up to the blob's last '}'. */
static struct mpk_span text_of(const char *path, const char *from)
{
	struct mpk_span blob = robust_load(&arena, path);
	const uint8_t *at = memmem(blob.data, blob.len, from, strlen(from));
	const uint8_t *end = memrchr(blob.data, '}', blob.len);

	ck_assert_ptr_nonnull(at);
	ck_assert(end > at);
	return mpk_span_of(at, (size_t)(end + 1 - at));
}

static void assert_kernel(const struct mpk_source_code *s, const char *name, size_t params)
{
	const struct mpk_source_code_kernel *k = NULL;

	for (size_t i = 0; i < s->kernel_count && !k; i++)
		if (mpk_span_is(s->kernels[i].name, name))
			k = &s->kernels[i];

	ck_assert_msg(k != NULL, "no kernel %s", name);
	ck_assert_msg(k->param_count == params, "%s: %zu parameters", name, k->param_count);
}

static void assert_group(const struct mpk_source_code_kernel *k, uint32_t x, uint32_t y, uint32_t z)
{
	ck_assert_uint_eq(k->group[0], x);
	ck_assert_uint_eq(k->group[1], y);
	ck_assert_uint_eq(k->group[2], z);
}

#define FORMATS "tests/data/formats/"

START_TEST(of_tvm)
{
	static const struct {
		const char *path, *from, *kernel;
		enum mpk_source_code_language language;
		size_t params;
	} rows[] = {
		{ FORMATS "01_opencl_scale.blob", "// Function", "scale_kernel",
		  MPK_SOURCE_CODE_OPENCL, 4 },
		{ FORMATS "04_metal.blob", "#include", "add_kernel", MPK_SOURCE_CODE_METAL, 5 },
		{ FORMATS "05_webgpu.blob", "//-----", "add_kernel", MPK_SOURCE_CODE_WGSL, 3 },
		{ FORMATS "02_cuda_source_dynshmem.blob", "#ifdef", "rev_kernel",
		  MPK_SOURCE_CODE_CUDA, 2 },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_source_code s =
			read_source(text_of(rows[i].path, rows[i].from), rows[i].language);

		ck_assert_uint_eq(s.kernel_count, 1);
		assert_kernel(&s, rows[i].kernel, rows[i].params);
		if (rows[i].language == MPK_SOURCE_CODE_WGSL)
			assert_group(&s.kernels[0], 4, 1, 1);
	}
}
END_TEST

START_TEST(opencl)
{
	static const char text[] =
		"#define __kernel_like __kernel \\\n  void no(\n"
		"/* __kernel void no() {} */ // kernel void no() {}\n"
		"constant char s[] = \"__kernel void no() {\"; char c = '\"';\n"
		"__kernel void declared(int a);\n"
		"__kernel __attribute__((vec_type_hint(float4))) __attribute__((reqd_work_group_size(8,\n"
		" 4, 2))) void first(__global float* a, __constant int (*f)[3], float4 b) { ; }\n"
		"kernel void second(void) {}\nvoid helper(int x) {}\n"
		"kernel void third() { }\n";
	struct mpk_source_code s = read_source(mpk_span_str(text), MPK_SOURCE_CODE_OPENCL);

	ck_assert_uint_eq(s.kernel_count, 3);
	assert_kernel(&s, "first", 3);
	assert_kernel(&s, "second", 0);
	assert_kernel(&s, "third", 0);
	assert_group(&s.kernels[0], 8, 4, 2);
	assert_group(&s.kernels[1], 0, 0, 0);
	ck_assert_uint_eq(s.kernels[0].line, 7);
	ck_assert(mpk_span_starts(s.kernels[0].params, "__global float* a"));
	ck_assert_uint_eq(s.kernels[0].params.data[s.kernels[0].params.len - 1], 'b');
	ck_assert_uint_eq(s.kernels[1].line, 8);
	ck_assert(mpk_span_starts(s.kernels[0].text, "__kernel __attribute__((vec"));
	ck_assert_uint_eq(s.kernels[0].text.data[s.kernels[0].text.len - 1], '}');
	ck_assert(mpk_span_is(s.kernels[1].text, "kernel void second(void) {}"));
	ck_assert(mpk_span_is(s.kernels[2].text, "kernel void third() { }"));
}
END_TEST

/* Where a definition begins: behind what was declared before, in front of attributes and templates. */
START_TEST(definitions)
{
	struct mpk_source_code s = read_source(
		mpk_span_str(
			"@group(0) @binding(0) var<storage> a : array<f32>;\n"
			"@compute @workgroup_size(4)\nfn first(@builtin(x) i : u32) { if (true) { } }\n"
			"struct s { x : u32 }\n@compute\nfn second() {}"),
		MPK_SOURCE_CODE_WGSL);

	ck_assert_uint_eq(s.kernel_count, 2);
	ck_assert(mpk_span_is(s.kernels[0].text,
			      "@compute @workgroup_size(4)\nfn first(@builtin(x) "
			      "i : u32) { if (true) { } }"));
	ck_assert(mpk_span_is(s.kernels[1].text, "@compute\nfn second() {}"));

	s = read_source(
		mpk_span_str("extern \"C\" { int x;\n__global__ void in(int* a) { a[0] = 1; } }\n"
			     "extern \"C\" __global__ void out() {}\n"
			     "template <int n> __global__ void made() { }"),
		MPK_SOURCE_CODE_CUDA);
	ck_assert_uint_eq(s.kernel_count, 3);
	ck_assert(mpk_span_is(s.kernels[0].text, "__global__ void in(int* a) { a[0] = 1; }"));
	ck_assert(mpk_span_is(s.kernels[1].text, "extern \"C\" __global__ void out() {}"));
	ck_assert(mpk_span_is(s.kernels[2].text, "template <int n> __global__ void made() { }"));
}
END_TEST

START_TEST(wgsl)
{
	static const char text[] =
		"@workgroup_size(2u, 3) @compute fn a(@builtin(x) p : vec3<u32>, q : array<f32, 4>,) {}\n"
		"@compute @workgroup_size(N) fn b() -> u32 { }\n"
		"fn plain(a : f32) {}\n";
	struct mpk_source_code s = read_source(mpk_span_str(text), MPK_SOURCE_CODE_WGSL);

	ck_assert_uint_eq(s.kernel_count, 2);
	assert_kernel(&s, "b", 0);
	assert_group(&s.kernels[0], 2, 3, 1);
	assert_group(&s.kernels[1], 0, 0, 0);
}
END_TEST

START_TEST(cuda)
{
	static const char text[] =
		"extern \"C\" __global__ void __launch_bounds__(128, 2) k1(float* a, int n);\n"
		"extern \"C\" __global__ void __launch_bounds__(128) k1(float* a, int n) {}\n"
		"template <int N, class T> __global__ void __cluster_dims__(2, 1, 1)\n"
		"k2(std::pair<int, T> a, float (&b)[N]) { k1<<<1, 2>>>(b, N); }\n"
		"__device__ int d(int x) { return x; }\n";
	struct mpk_source_code s = read_source(mpk_span_str(text), MPK_SOURCE_CODE_CUDA);

	ck_assert_uint_eq(s.kernel_count, 2);
	assert_kernel(&s, "k1", 2);
	assert_kernel(&s, "k2", 2);
}
END_TEST

/* kind, elements, "const", name of a declaration: "buffer float32 const A" */
static const char *declared(const char *text)
{
	static const char *const kinds[] = { "buffer", "image", "local", "number", "value" };
	char type[MPK_DTYPE_TEXT];
	struct mpk_source_code_param p;

	mpk_source_code_param_read(mpk_span_str(text), &p);
	return mpk_arena_printf(&arena, "%s %s%s " MPK_SPAN_FMT, kinds[p.kind],
				p.dtype.bits ? mpk_dtype_print(p.dtype, type) : "?",
				p.read_only ? " const" : "", MPK_SPAN_ARG(p.name));
}

START_TEST(parameters)
{
	ck_assert_str_eq(declared("__global const float *A"), "buffer float32 const A");
	ck_assert_str_eq(declared(" __global float* restrict A"), "buffer float32 A");
	ck_assert_str_eq(declared("float *const A"), "buffer float32 A");
	ck_assert_str_eq(declared("float const*"), "buffer float32 const ");
	ck_assert_str_eq(declared("__constant uchar4 *x"), "buffer uint8x4 const x");
	ck_assert_str_eq(declared("const half A[]"), "buffer float16 const A");
	ck_assert_str_eq(declared("float (&b)[N]"), "buffer float32 b");
	ck_assert_str_eq(declared("float **rows"), "buffer ? rows");
	ck_assert_str_eq(declared("void *p"), "buffer ? p");
	ck_assert_str_eq(declared("Box *p"), "buffer ? p");
	ck_assert_str_eq(declared("__local int *s"), "local int32 s");
	ck_assert_str_eq(declared("read_only image2d_t in"), "image ? const in");
	ck_assert_str_eq(declared("unsigned n"), "number uint32 n");
	ck_assert_str_eq(declared("const unsigned long long int n"), "number uint64 const n");
	ck_assert_str_eq(declared("signed char"), "number int8 ");
	ck_assert_str_eq(declared("int"), "number int32 ");
	ck_assert_str_eq(declared("size_t n"), "number uint64 n");
	ck_assert_str_eq(declared("float4 v"), "value float32x4 v");
	ck_assert_str_eq(declared("struct Box b"), "value ? b");
	ck_assert_str_eq(declared("sampler_t s"), "value ? s");
	ck_assert_str_eq(declared(""), "value ? ");
}
END_TEST

/* Words that a macro or a typedef makes, and those that merely stand in one. */
/* Lives as long as a is not freed. */
static struct mpk_source_code_index *index_in(struct mpk_arena *a, struct mpk_span bytes)
{
	struct mpk_source_code_index *index = mpk_arena_alloc(a, sizeof *index);

	ck_assert_ptr_nonnull(index);
	*index = (struct mpk_source_code_index){ .bytes = bytes, .arena = a };
	return index;
}

static struct mpk_source_code_index *index_of(const char *text)
{
	return index_in(&arena, mpk_span_str(text));
}

/* What a parameter is: b buffer, i image, l local, n number, v value with its least bytes and '*' where an address
 * may be in it, ? not known. */
static void resolve_as_text(const char *text, enum mpk_source_code_language language, char out[32])
{
	struct mpk_source_code s = read_source(mpk_span_str(text), language);
	struct mpk_source_code_index index = { .bytes = s.plain, .arena = &arena };
	const struct mpk_source_code_kernel *k = &s.kernels[s.kernel_count - 1];
	struct mpk_source_code_resolved r;
	char type[MPK_DTYPE_TEXT];

	ck_assert(mpk_source_code_resolve(mpk_source_code_param(k, 0), language, &index, &r));
	if (r.kind == MPK_SOURCE_CODE_NUMBER)
		(void)snprintf(out, 32, "n %s", mpk_dtype_print(r.dtype, type));
	else if (r.kind == MPK_SOURCE_CODE_VALUE)
		(void)snprintf(out, 32, "v%llu%s", (unsigned long long)r.least_bytes,
			       r.holds_address ? "*" : "");
	else
		(void)snprintf(out, 32, "%c", "bil..?"[r.kind]);
}

static const struct {
	const char *before, *param, *opencl, *cuda;
} resolve_rows[] = {
	{ "", "float4 v", "v16", "v16" },
	{ "", "float3 v", "v16", "v12" },
	{ "", "half2 v", "v4", "v4" },
	{ "", "sampler_t s", "v8", "v8" },
	{ "", "size_t n", "n uint64", "n uint64" },
	{ "", "image2d_t i", "i", "i" },
	{ "", "Unknown u", "?", "?" },
	{ "", "Unknown *u", "b", "b" },
	{ "", "struct Unknown u", "v0*", "v0*" },
	{ "", "int a[4]", "b", "b" },
	{ "", "MAKE(int) a", "?", "?" },
	{ "", "dim3 d", "v12", "v12" },
	{ "", "CUtensorMap m", "v128", "v128" },
	{ "", "cudaTextureObject_t t", "n uint64", "n uint64" },
	{ "typedef float4 vec;", "const vec v", "v16", "v16" },
	{ "typedef float4 vec; typedef vec more;", "more v", "v16", "v16" },
	{ "typedef float4 vec; typedef float *vec;", "vec v", "?", "?" },
	{ "typedef float array[4];", "array v", "b", "b" },
	{ "typedef float v4 __attribute__((ext_vector_type(4)));", "v4 v", "v0", "v0" },
	{ "typedef unsigned short uint16_t;", "uint16_t n", "n uint16", "n uint16" },
	{ "using V = double2; using W = V;", "W v", "v16", "v16" },
	{ "using P = float *;", "P p", "b", "b" },
	{ "template <class T> using P = T *;", "P<int> p", "?", "?" },
	{ "typedef struct { float a, b[3]; } S;", "S s", "v16", "v16" },
	{ "typedef struct S { float a; } S;", "S s", "v4", "v4" },
	{ "struct S { float a; }; typedef struct S S;", "S s", "v4", "v4" },
	{ "typedef struct S { float *a; } *S_ptr;", "S_ptr s", "b", "b" },
	{ "struct S { float *a; };", "struct S s", "v8*", "v8*" },
	{ "struct S { float *a, *b; };", "struct S s", "v8*", "v8*" },
	{ "struct S { Other a; };", "S s", "v0*", "v0*" },
	{ "struct S { S a; int b; };", "S s", "v4", "v4" },
	{ "struct S { int get() { return 1; } int b; };", "S s", "v0*", "v0*" },
	{ "struct S { public: int a; private: int b; };", "S s", "v8", "v8" },
	{ "struct B { int a; }; struct S : B { int b; };", "S s", "v0*", "v0*" },
	{ "union U { int a; double b[2]; };", "union U u", "v16", "v16" },
	{ "enum E { A };", "enum E e", "n int32", "n int32" },
	{ "enum class E : unsigned char { A };", "E e", "n uint8", "n uint8" },
	{ "typedef enum { A } E;", "E e", "n int32", "n int32" },
	{ "template <typename T> struct Box { int a, b, c; };", "Box<int *> b", "v0*", "v0*" },
	{ "namespace n { struct S { int a[4]; }; }", "n::S s", "v16", "v16" },
	{ "#define REAL float\n", "REAL r", "n float32", "n float32" },
	{ "#if X\n#define REAL float\n#endif\n", "REAL r", "?", "?" },
	{ "#define N 4\nstruct S { int a[N]; };", "S s", "v16", "v16" },
	{ "#define RESTRICT\n", "float *RESTRICT r", "b", "b" },
	{ "#define float4 float4\n", "float4 v", "?", "?" },
	{ "#define A(x) x *\n", "A(float) p", "?", "?" },
	{ "", "int /* , float *x */ n", "n int32", "n int32" },
	{ "", "in\\\nt n // n\n", "n int32", "n int32" },
};

START_TEST(parameters_through_the_types_of_a_text)
{
	char text[512], got[32];

	(void)snprintf(text, sizeof text, "%s\n__kernel void k(%s) { }", resolve_rows[_i].before,
		       resolve_rows[_i].param);
	resolve_as_text(text, MPK_SOURCE_CODE_OPENCL, got);
	ck_assert_msg(strcmp(got, resolve_rows[_i].opencl) == 0, "OpenCL: %s: %s", text, got);
	(void)snprintf(text, sizeof text, "%s\n__global__ void k(%s) { }", resolve_rows[_i].before,
		       resolve_rows[_i].param);
	resolve_as_text(text, MPK_SOURCE_CODE_CUDA, got);
	ck_assert_msg(strcmp(got, resolve_rows[_i].cuda) == 0, "CUDA: %s: %s", text, got);
}
END_TEST

static const struct {
	const char *text, *kernels; /* with the condition of each */
} condition_rows[] = {
	{ "K(a)\n#ifdef X\nK(b)\n#endif\nK(c)", "a() b(#ifdef X) c()" },
	{ "#if 0\nK(a)\n#else\nK(b)\n#endif", "b()" },
	{ "#if 1\nK(a)\n#else\nK(b)\n#endif", "a()" },
	{ "#if 0\nK(a)\n#elif X\nK(b)\n#else\nK(c)\n#endif", "b(#elif X) c(#else)" },
	{ "#if X\n#if 0\nK(a)\n#endif\nK(b)\n#endif", "b(#if X)" },
	{ "#define X\n#ifdef X\nK(a)\n#else\nK(b)\n#endif", "a()" },
	{ "#define X\n#undef X\n#ifdef X\nK(a)\n#else\nK(b)\n#endif", "b()" },
	{ "#ifdef Y\n#define X\n#endif\n#ifdef X\nK(a)\n#endif", "a(#ifdef X)" },
	{ "#ifndef G\n#define G\nK(a)\n#endif", "a()" },
	{ "#ifndef G\nK(a)\n#define G\n#endif", "a()" },
	{ "#if !defined(X) // why\nK(a)\n#endif", "a(#if !defined(X))" },
	{ "# /**/ ifdef\\\n X\nK(a)\n#endif", "a(#      ifdef  X)" },
	{ "/*\n#if 0\n*/\nK(a)\n// #if 0\nK(b)", "a() b()" },
	{ "#if 0\n\"#endif\nK(a)\n", "" },
	{ "#if X\n#if 1\nK(a)\n#endif\n#endif", "a(#if X)" },
};

START_TEST(conditions_of_kernels)
{
	struct mpk_strbuf text = { 0 }, got = { 0 };
	struct mpk_source_code s;

	for (const char *c = condition_rows[_i].text; *c; c++)
		if (c[0] == 'K' && c[1] == '(') {
			mpk_strbuf_printf(&text, "kernel void %c() { }", c[2]);
			c += 3;
		} else {
			mpk_strbuf_putc(&text, *c);
		}
	s = read_source(mpk_span_of(text.data, text.len), MPK_SOURCE_CODE_OPENCL);
	for (size_t i = 0; i < s.kernel_count; i++)
		mpk_strbuf_printf(
			&got, "%s%.*s(%.*s)", i ? " " : "", (int)s.kernels[i].name.len,
			(const char *)s.kernels[i].name.data, (int)s.kernels[i].condition.len,
			s.kernels[i].condition.len ? (const char *)s.kernels[i].condition.data
						   : "");
	ck_assert_str_eq(mpk_strbuf_text(&got), condition_rows[_i].kernels);
	mpk_strbuf_fini(&text);
	mpk_strbuf_fini(&got);
}
END_TEST

START_TEST(texts_keep_their_length_and_places)
{
	static const char *const texts[] = {
		"/*\n*/ kernel /**/ void a(int\\\n n) { } // end",
		"x = \"/* no */\\\" // no\"; kernel void a() { } /* \" */",
		"it's one;\nkernel void a(int n) { } y = 'c';",
		"R\"(kernel void no() { } /* )\"; kernel void a() { }",
		"n = 1'000'000; kernel void a() { } m = '\\'';",
		"s = \"a\\\nb\"; kernel vo\\\r\nid a() { }",
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(texts); i++) {
		struct mpk_span text = mpk_span_str(texts[i]);
		struct mpk_source_code s = read_source(text, MPK_SOURCE_CODE_METAL);

		ck_assert_uint_eq(s.plain.len, text.len);
		ck_assert_msg(s.kernel_count == 1, "%s: %zu", texts[i], s.kernel_count);
		ck_assert(mpk_span_is(s.kernels[0].name, "a"));
		ck_assert_int_eq(text.data[s.kernels[0].name.data - s.plain.data], 'a');
		ck_assert_int_eq(s.kernels[0].text.data[s.kernels[0].text.len - 1], '}');
	}
}
END_TEST

START_TEST(copies_of_kernels_are_listed_once)
{
	static const char all[] = "kernel void a() { }\nkernel void b(int n) { }\n";
	struct mpk_strbuf text = { 0 };
	struct mpk_source_code s;

	mpk_strbuf_printf(&text, "%s// Function: b\n%s// Function: a\n%s", all, all, all);
	s = read_source(mpk_span_of(text.data, text.len), MPK_SOURCE_CODE_OPENCL);
	ck_assert_uint_eq(s.kernel_count, 6);
	ck_assert_int_eq(
		mpk_source_code_drop_copies(&s, mpk_span_of(text.data, text.len), &arena, NULL),
		MPK_OK);
	ck_assert_uint_eq(s.kernel_count, 2);
	ck_assert(mpk_span_is(s.kernels[0].name, "b") && s.kernels[0].line == 5);
	ck_assert(mpk_span_is(s.kernels[1].name, "a") && s.kernels[1].line == 7);
	mpk_strbuf_fini(&text);
}
END_TEST

START_TEST(lists_of_an_index)
{
	struct mpk_source_code_index *index = index_of(
		"// gone\n/* gone too */ kept $x \n##\n # define A 64\n#define B 1\n#define B 2\n"
		"#if X\n#define C 3\n#endif\n#define D 4 * 4\n#define E 5u // five\nstruct S{ int a; };\n"
		"class T:\ntypedef struct { int in; } out;\nlast");
	static const struct {
		enum mpk_source_code_list list;
		const char *word;
		bool has;
	} rows[] = {
		{ MPK_SOURCE_CODE_WORDS, "gone", false },
		{ MPK_SOURCE_CODE_WORDS, "kept", true },
		{ MPK_SOURCE_CODE_WORDS, "$x", true },
		{ MPK_SOURCE_CODE_WORDS, "x", false },
		{ MPK_SOURCE_CODE_WORDS, "last", true },
		{ MPK_SOURCE_CODE_WORDS, "las", false },
		{ MPK_SOURCE_CODE_WORDS, "int a", false },
		{ MPK_SOURCE_CODE_WORDS, "lasts", false },
		{ MPK_SOURCE_CODE_MACROS, "A", true },
		{ MPK_SOURCE_CODE_MACROS, "X", false },
		{ MPK_SOURCE_CODE_TYPEDEFS, "out", true },
		{ MPK_SOURCE_CODE_TYPEDEFS, "in", false },
		{ MPK_SOURCE_CODE_CLASSES, "S", true },
		{ MPK_SOURCE_CODE_CLASSES, "T", false },
		{ MPK_SOURCE_CODE_TYPEDEFS, "last", false },
	};
	static const char *const hidden[] = { "B", "C", "D", "F", "x1", "" };
	uint32_t n = 0;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		ck_assert_msg(mpk_source_code_index_has(index, rows[i].list,
							mpk_span_str(rows[i].word)) == rows[i].has,
			      "row %zu", i);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(hidden); i++)
		ck_assert_msg(!mpk_source_code_constant(index, mpk_span_str(hidden[i]), &n), "%s",
			      hidden[i]);
	ck_assert(mpk_source_code_constant(index, mpk_span_str("A"), &n));
	ck_assert_uint_eq(n, 64);
	ck_assert(mpk_source_code_constant(index, mpk_span_str("E"), &n));
	ck_assert_uint_eq(n, 5);
	ck_assert(
		!mpk_source_code_index_has(index_of(""), MPK_SOURCE_CODE_WORDS, mpk_span_str("x")));
}
END_TEST

/* Whether a text may have the kernel "k" that a reader did not find. */
START_TEST(hidden_kernels)
{
	static const struct {
		const char *text;
		bool holds, defines;
	} rows[] = {
		{ "", false, false },
		{ "// k", false, false },
		{ "void k();", true, false },
		{ "#define K k\n", true, true },
		{ "#define\nk", true, false },
		{ "#define K j\n", false, false },
		{ "#define K j##k\n", true, true },
		{ "# Heading ## with words\n", false, false },
		{ "#include <k.h>\n", true, true },
		{ "#include <j.h>\n", false, false },
		{ "#include \"j.h\"\n", true, true },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_source_code_index *index = index_of(rows[i].text);

		ck_assert_msg(mpk_source_code_may_hold(index, mpk_span_str("k")) == rows[i].holds,
			      "row %zu", i);
		ck_assert_msg(mpk_source_code_may_define(index, mpk_span_str("k")) ==
				      rows[i].defines,
			      "row %zu", i);
		ck_assert(mpk_source_code_may_define(index, mpk_span_str("_Z1kv")));
	}
}
END_TEST

START_TEST(made)
{
	struct mpk_source_code_index *text = index_of("typedef struct { int w; float *p; } Dims;\n"
						      "typedef unsigned int word, *words;\n"
						      "#define REAL float\n# define N 4 * int\n"
						      "typedefs; x typedef float");
	static const struct {
		const char *param;
		bool is_made;
	} cases[] = {
		{ "Dims d", true },    { "int n", false },        { "float *p", false },
		{ "word w", true },    { "words w", true },       { "REAL r", true },
		{ "int REAL", false }, { "__global N *x", true }, { "unsigned int word", false },
		{ "w d", false },      { "Other o", false },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(cases); i++)
		ck_assert_msg(mpk_source_code_param_is_made(mpk_span_str(cases[i].param), text) ==
				      cases[i].is_made,
			      "%s", cases[i].param);
}
END_TEST

static const char *symbol_of(const char *text)
{
	struct mpk_source_code s = read_source(mpk_span_str(text), MPK_SOURCE_CODE_CUDA);
	struct mpk_strbuf out = { 0 };
	const char *symbol = "none";

	ck_assert_uint_eq(s.kernel_count, 1);
	if (mpk_source_code_symbol(&s.kernels[0], index_of(text), &out))
		symbol = mpk_arena_printf(&arena, "%s", mpk_strbuf_text(&out));
	else
		ck_assert_uint_eq(out.len, 0);
	mpk_strbuf_fini(&out);
	return symbol;
}

/* What g++ 12 calls these (tests/cli/mpack/init-cuda.sh asks the compiler that is here). */
START_TEST(symbols)
{
	ck_assert_str_eq(symbol_of("extern \"C\" __global__ void k(float *a) {}"), "k");
	ck_assert_str_eq(symbol_of("extern \"C\" { namespace a { __global__ void k(T x) {} } }"),
			 "k");
	ck_assert_str_eq(symbol_of("extern \"C\" { int x; } __global__ void k() {}"), "_Z1kv");
	ck_assert_str_eq(symbol_of("namespace a { namespace b { } __global__ void k(int) {} }"),
			 "_ZN1a1kEi");
	ck_assert_str_eq(symbol_of("using namespace a; __global__ void k(float *__restrict__ x, "
				   "const float *y, float *z, const int n) {}"),
			 "_Z1kPfPKfS_i");
	ck_assert_str_eq(
		symbol_of("__global__ void k(bool a, char b, signed char c, unsigned char d, "
			  "short e, unsigned short f, unsigned g, long h, unsigned long i, "
			  "long long j, unsigned long long l, double m, size_t n, "
			  "int64_t o, uint8_t p) {}"),
		"_Z1kbcahstjlmxydmlh");
	ck_assert_str_eq(symbol_of("struct S { }; __global__ void k(S a, const S *b, float4 c, "
				   "half d, __nv_bfloat16 *e, void *f) {}"),
			 "_Z1k1SPKS_6float46__halfP13__nv_bfloat16Pv");
	/* as many namespaces as are listed, and one more */
	ck_assert_str_eq(symbol_of("namespace a { namespace b { namespace c { namespace d { "
				   "__global__ void k(int) {} } } } }"),
			 "_ZN1a1b1c1d1kEi");
	ck_assert_str_eq(symbol_of("namespace a { namespace b { namespace c { namespace d { "
				   "namespace e { __global__ void k(int) {} } } } } }"),
			 "none");
	ck_assert_str_eq(symbol_of("namespace a { namespace { __global__ void k(int) {} } }"),
			 "none");
	/* not to be told by words */
	ck_assert_str_eq(symbol_of("template <class T> __global__ void k(T *a) {}"), "none");
	ck_assert_str_eq(symbol_of("static __global__ void k(int a) {}"), "none");
	ck_assert_str_eq(symbol_of("namespace { __global__ void k(int a) {} }"), "none");
	ck_assert_str_eq(symbol_of("namespace a::b { __global__ void k(int a) {} }"), "none");
	ck_assert_str_eq(symbol_of("typedef float R; __global__ void k(R a) {}"), "none");
	ck_assert_str_eq(symbol_of("__global__ void k(Unknown a) {}"), "none");
	ck_assert_str_eq(symbol_of("namespace a { struct S {}; __global__ void k(S a) {} }"),
			 "none");
	ck_assert_str_eq(symbol_of("__global__ void k(float **a) {}"), "none");
	ck_assert_str_eq(symbol_of("__global__ void k(volatile int *a) {}"), "none");
	ck_assert_str_eq(symbol_of("__global__ void k(int n, ) {}"), "none");
	ck_assert_str_eq(symbol_of("__global__ void k(std::array<float, 4> a) {}"), "none");
}
END_TEST

/* The body ends with its brace, the bound is the first number. */
START_TEST(bodies)
{
	struct mpk_source_code s = read_source(
		mpk_span_str("__global__ void __launch_bounds__(64, 2) a(int n) { if (n) { x; } }\n"
			     "int y; extern \"C\" __global__ void b() { z; }"),
		MPK_SOURCE_CODE_CUDA);

	ck_assert_uint_eq(s.kernels[0].max_threads, 64);
	ck_assert(mpk_span_is(s.kernels[0].body, ") { if (n) { x; } }"));
	ck_assert_uint_eq(s.kernels[1].max_threads, 0);
	ck_assert(mpk_span_is(s.kernels[1].body, ") { z; }"));
	ck_assert(!s.kernels[0].extern_c && s.kernels[1].extern_c);
}
END_TEST

/* A bound stands in front of the kernel or behind its marker; its hints and other words are passed over. */
START_TEST(bounds)
{
	static const struct {
		const char *text;
		uint32_t most;
		bool hidden;
	} rows[] = {
		{ "__launch_bounds__(64) __global__ void k() {}", 64, false },
		{ "__global__ __launch_bounds__(64, N) void k() {}", 64, false },
		{ "__global__ void __launch_bounds__(N) k() {}", 0, true },
		{ "__global__ void __launch_bounds__(2 * 32) k() {}", 0, true },
		{ "__global__ void __launch_bounds__((64)) k() {}", 0, true },
		{ "#define N 64u // threads\n__global__ void __launch_bounds__(N) k() {}", 64,
		  false },
		{ "#define N 64 * 2\n__global__ void __launch_bounds__(N) k() {}", 0, true },
		{ "#define N 64\n#undef N\n__global__ void __launch_bounds__(N) k() {}", 0, true },
		{ "#ifdef A\n#define N 64\n#endif\n__global__ void __launch_bounds__(N) k() {}", 0,
		  true },
		{ "__launch_bounds__(64) __global__ void j();\n__global__ void k() {}", 0, false },
		{ "__launch_bounds__(64) __global__ void j() {}\n__global__ void k() {}", 0,
		  false },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct mpk_source_code s =
			read_source(mpk_span_str(rows[i].text), MPK_SOURCE_CODE_CUDA);
		const struct mpk_source_code_kernel *k = &s.kernels[s.kernel_count - 1];

		ck_assert_msg(k->max_threads == rows[i].most &&
				      k->hides_max_threads == rows[i].hidden,
			      "%s: %u", rows[i].text, (unsigned)k->max_threads);
	}
}
END_TEST

/* What stands between "#if 0" and its end is no code. */
START_TEST(dead_code)
{
	struct mpk_source_code s = read_source(
		mpk_span_str(
			"# if 0 /* old */\nkernel void a() { it's\n#ifdef X\n#endif\n}\n"
			"#else\nkernel void b() {}\n#endif\n#if 01\nkernel void c() {}\n#endif\n"
			"#if 0\nkernel void d() {}"),
		MPK_SOURCE_CODE_OPENCL);

	ck_assert_uint_eq(s.kernel_count, 2);
	ck_assert(mpk_span_is(s.kernels[0].name, "b") && mpk_span_is(s.kernels[1].name, "c"));
}
END_TEST

/* Which parameter bounds the index, and what else of x is touched. */
START_TEST(reach)
{
	enum { NONE = 9 };
	static const struct {
		const char *body;
		size_t bound;
		bool otherwise;
	} rows[] = {
		{ "int i = get_global_id(0); if (i < n) x[i] = 0;", 1, false },
		{ "int i; i = (int)get_global_id(0); if (i >= (n)) return; x[i] = 0;", 1, false },
		{ "if (n > get_global_id(0)) x[get_global_id(0)] = 0;", 1, false },
		{ "if ((int)(get_global_id(0)) < (int)n && m) x[(get_global_id(0))] = 0;", 1,
		  false },
		{ "for (size_t i = get_global_id(0); i < n; i += m) x[i] = 0;", 1, false },
		{ "int i = get_local_id(0) + get_local_size(0) * get_group_id(0); if (!(i >= n)) x[i]++;",
		  1, false },
		{ "int i = get_global_id(0); if (i < n && i < m) x[i] = 0;", NONE, false },
		{ "int i = get_global_id(0); if (i <= n) x[i] = 0;", NONE, false },
		{ "int i = get_global_id(0); if (i > n) return; x[i] = 0;", NONE, false },
		{ "int i = get_global_id(0); if (i < n * m) x[i] = 0;", NONE, false },
		{ "int i = get_global_id(0); if (2 * i < n) x[i] = 0;", NONE, false },
		{ "int i = get_global_id(0); if (i << n) x[i] = 0;", NONE, false },
		{ "int i = get_global_id(0); i++; if (i < n) x[i] = 0;", NONE, true },
		{ "int i = get_global_id(0); n <<= 1; if (i < n) x[i] = 0;", NONE, false },
		{ "int i = get_global_id(0) + 1; if (i < n) x[i] = 0;", NONE, true },
		{ "int i = get_global_id(0); if (i < n) x[i + 1] = 0;", 1, true },
		{ "int i = get_global_id(0); if (i < n) *(x + i) = 0;", 1, true },
		{ "int i = get_global_id(0); if (i < n) f(&x[i]);", 1, true },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[256];
		struct mpk_source_code_reach r;

		(void)snprintf(text, sizeof text,
			       "kernel void k(global int *x, int n, int m) { %s }", rows[i].body);
		struct mpk_source_code s = read_source(mpk_span_str(text), MPK_SOURCE_CODE_OPENCL);
		ck_assert_int_eq(
			mpk_source_code_reach_read(&s.kernels[0], index_of(text), &arena, &r, NULL),
			MPK_OK);
		ck_assert_msg(r.bound[0] == (rows[i].bound == NONE ? SIZE_MAX : rows[i].bound) &&
				      r.otherwise[0] == rows[i].otherwise,
			      "%s: %zu %d", rows[i].body, r.bound[0], r.otherwise[0]);
	}
}
END_TEST

/* A body that nothing closes, and one that is empty. */
START_TEST(reach_of_nothing)
{
	static const char *const texts[] = { "kernel void k(global int *x, int n) { x[0] = n;",
					     "kernel void k(global int *x, int n) {}" };

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct mpk_source_code s =
			read_source(mpk_span_str(texts[i]), MPK_SOURCE_CODE_OPENCL);
		struct mpk_source_code_reach r;

		ck_assert_uint_eq(s.kernel_count, 1);
		ck_assert_int_eq(mpk_source_code_reach_read(&s.kernels[0], index_of(texts[i]),
							    &arena, &r, NULL),
				 MPK_OK);
		ck_assert_uint_eq(r.bound[0], SIZE_MAX);
	}
}
END_TEST

static const char *refused_of(const char *param)
{
	struct mpk_source_code_param p;

	mpk_source_code_param_read(mpk_span_str(param), &p);
	return p.refused;
}

START_TEST(refused_types)
{
	ck_assert_str_eq(refused_of("const size_t n"), "size_t");
	ck_assert_str_eq(refused_of("bool b"), "bool");
	ck_assert_str_eq(refused_of("__global int **p"), "a pointer to pointers");
	ck_assert_ptr_null(refused_of("__global size_t *p"));
	ck_assert_ptr_null(refused_of("ulong n"));
}
END_TEST

START_TEST(refuses)
{
	struct mpk_source_code s = { .kernel_count = 7 };
	struct mpk_error err;

	ck_assert_int_eq(mpk_source_code_read(mpk_span_str("\n kernel void f(int a\n"),
					      MPK_SOURCE_CODE_OPENCL, &arena, &s, &err),
			 MPK_E_SYNTAX);
	ck_assert_str_eq(err.text, "OpenCL C: this parenthesis is not closed");
	ck_assert_uint_eq(err.at.line, 2);
	ck_assert_uint_eq(err.at.column, 15);
	ck_assert_int_eq(
		mpk_source_code_read(mpk_span_str("/*"), MPK_SOURCE_CODE_METAL, &arena, &s, &err),
		MPK_E_SYNTAX);
	ck_assert_int_eq(mpk_source_code_read(mpk_span_of("a\0b", 3), MPK_SOURCE_CODE_CUDA, &arena,
					      &s, &err),
			 MPK_E_CORRUPT);
	ck_assert_uint_eq(err.at.offset, 1);
	ck_assert_uint_eq(s.kernel_count, 7);
	ck_assert_int_eq(mpk_source_code_read(mpk_span_of("\0\0", 2), MPK_SOURCE_CODE_CUDA, &arena,
					      &s, &err),
			 MPK_OK);
	ck_assert_uint_eq(s.kernel_count, 0);
}
END_TEST

START_TEST(split)
{
	static const char text[] = "dropped // Function: a\nA\nAA\n// Function: b\n"
				   "// Function: a\nlast";
	const struct mpk_source_code_piece *p;
	size_t n;

	ck_assert_int_eq(mpk_source_code_split(mpk_span_str(text), &arena, &p, &n, NULL), MPK_OK);
	ck_assert_uint_eq(n, 3);
	ck_assert(mpk_span_is(p[0].name, "a") && mpk_span_is(p[0].text, "A\nAA\n"));
	ck_assert(mpk_span_is(p[1].name, "b") && mpk_span_is(p[1].text, ""));
	ck_assert(mpk_span_is(p[2].name, "a") && mpk_span_is(p[2].text, "last"));
	ck_assert_ptr_eq(p[2].text.data, text + p[2].off);
	ck_assert_int_eq(mpk_source_code_split(mpk_span_str("none"), &arena, &p, &n, NULL), MPK_OK);
	ck_assert_uint_eq(n, 0);
	ck_assert_int_eq(
		mpk_source_code_split(mpk_span_str("// Function: end"), &arena, &p, &n, NULL),
		MPK_OK);
	ck_assert_uint_eq(n, 1);
	ck_assert(mpk_span_is(p[0].name, "end") && p[0].text.len == 0);
	ck_assert_int_eq(mpk_source_code_split(mpk_span_of(NULL, 0), &arena, &p, &n, NULL), MPK_OK);
	ck_assert_uint_eq(n, 0);
}
END_TEST

static enum mpk_code read_and_ask(struct mpk_span bytes, enum mpk_source_code_language language,
				  struct mpk_arena *a, struct mpk_source_code *s,
				  struct mpk_error *err)
{
	enum mpk_code code = mpk_source_code_read(bytes, language, a, s, err);
	struct mpk_strbuf symbol = { 0 };
	struct mpk_source_code_index *index = index_in(a, bytes);
	struct mpk_source_code_reach touched;
	struct mpk_source_code_resolved r;
	struct mpk_source_code_param p;

	ck_assert(code != MPK_OK || s->plain.len == bytes.len ||
		  (s->plain.len < bytes.len && !bytes.data[s->plain.len]));
	(void)mpk_source_code_includes(bytes);
	for (size_t i = 0; code == MPK_OK && i < s->kernel_count; i++) {
		const struct mpk_source_code_kernel *k = &s->kernels[i];

		(void)mpk_source_code_symbol(k, index, &symbol);
		ck_assert_int_eq(mpk_source_code_reach_read(k, index, a, &touched, NULL), MPK_OK);
		for (unsigned d = 0; d < 3; d++)
			ck_assert(touched.bound[d] == SIZE_MAX ||
				  touched.bound[d] < k->param_count);
		for (size_t n = 0; n < k->param_count; n++) {
			mpk_source_code_param_read(mpk_source_code_param(k, n), &p);
			ck_assert(p.name.data == NULL ||
				  (p.name.data >= s->plain.data &&
				   p.name.data < s->plain.data + s->plain.len));
			(void)mpk_source_code_param_is_made(mpk_source_code_param(k, n), index);
			ck_assert(mpk_source_code_resolve(mpk_source_code_param(k, n),
							  MPK_SOURCE_CODE_OPENCL, index, &r));
		}
	}
	mpk_strbuf_fini(&symbol);
	return code;
}

static enum mpk_code try_all(struct mpk_span bytes, struct mpk_error *err)
{
	const struct mpk_source_code_piece *pieces;
	struct mpk_arena a = { 0 };
	struct mpk_source_code s;
	enum mpk_code code = MPK_OK;
	size_t n;

	for (int l = MPK_SOURCE_CODE_OPENCL; code == MPK_OK && l <= MPK_SOURCE_CODE_CUDA; l++)
		code = read_and_ask(bytes, (enum mpk_source_code_language)l, &a, &s, err);
	ck_assert_int_eq(mpk_source_code_split(bytes, &a, &pieces, &n, NULL), MPK_OK);
	mpk_arena_fini(&a);
	return code;
}

START_TEST(hostile)
{
	static const char *const paths[] = {
		"tests/data/device/two.cu",
		FORMATS "04_metal.blob",
		FORMATS "05_webgpu.blob",
		FORMATS "01_opencl_scale.blob",
	};

	robust_check(paths[_i], try_all, 5000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sourcecode");
	TCase *tc = tcase_create("sourcecode");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, of_tvm);
	tcase_add_test(tc, opencl);
	tcase_add_test(tc, definitions);
	tcase_add_test(tc, wgsl);
	tcase_add_test(tc, cuda);
	tcase_add_test(tc, parameters);
	tcase_add_test(tc, lists_of_an_index);
	tcase_add_test(tc, hidden_kernels);
	tcase_add_test(tc, made);
	tcase_add_test(tc, symbols);
	tcase_add_test(tc, bodies);
	tcase_add_test(tc, bounds);
	tcase_add_test(tc, dead_code);
	tcase_add_test(tc, reach);
	tcase_add_test(tc, reach_of_nothing);
	tcase_add_test(tc, refused_types);
	tcase_add_loop_test(tc, parameters_through_the_types_of_a_text, 0,
			    (int)MPK_ARRAY_COUNT(resolve_rows));
	tcase_add_loop_test(tc, conditions_of_kernels, 0, (int)MPK_ARRAY_COUNT(condition_rows));
	tcase_add_test(tc, texts_keep_their_length_and_places);
	tcase_add_test(tc, copies_of_kernels_are_listed_once);
	tcase_add_test(tc, refuses);
	tcase_add_test(tc, split);
	tcase_add_loop_test(tc, hostile, 0, 4);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
