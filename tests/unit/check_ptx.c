/* SPDX-License-Identifier: Apache-2.0 */
/* formats/ptx: texts of nvcc, of TVM, and the corners of the grammar */
#include "robust.h"

#include "base/compiler.h"
#include "lexer/lexer.h"
#include "ptx/ptx.h"

#define DATA "tests/data/device/"
#define HEAD ".version 8.4\n.target sm_90\n.address_size 64\n"

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

static struct mpk_ptx read_ptx(struct mpk_span bytes)
{
	struct mpk_error err = { 0 };
	struct mpk_ptx ptx;

	ck_assert_msg(mpk_ptx_read(bytes, &arena, &ptx, &err) == MPK_OK, "%u:%u: %s", err.at.line,
		      err.at.column, err.text);
	return ptx;
}

static void assert_param(const struct mpk_ptx_kernel *k, size_t i, const char *type, uint64_t bytes,
			 uint32_t align)
{
	ck_assert_uint_lt(i, k->param_count);
	ck_assert_msg(mpk_span_is(k->params[i].type, type), "parameter %zu", i);
	ck_assert_uint_eq(k->params[i].bytes, bytes);
	ck_assert_uint_eq(k->params[i].align, align);
}

/* Offsets and sizes agree with those of the cubins that ptxas made of the same source
 * (check_cubin.c). */
static const struct mpk_ptx_kernel *find(const struct mpk_ptx *ptx, const char *name)
{
	for (size_t i = 0; i < ptx->kernel_count; i++)
		if (mpk_span_is(ptx->kernels[i].name, name))
			return &ptx->kernels[i];
	return NULL;
}

START_TEST(nvcc_two)
{
	struct mpk_ptx ptx = read_ptx(robust_load(&arena, DATA "two.ptx"));
	const struct mpk_ptx_kernel *scale = find(&ptx, "scale");
	const struct mpk_ptx_kernel *gather = find(&ptx, "gather");

	ck_assert_uint_eq(ptx.major, 9);
	ck_assert_uint_eq(ptx.minor, 0);
	ck_assert_uint_eq(ptx.sm, 90);
	ck_assert_int_eq(ptx.suffix, '\0');
	ck_assert_uint_eq(ptx.address_bits, 64);
	ck_assert(!ptx.debug);
	ck_assert_uint_eq(ptx.kernel_count, 2);
	ck_assert_uint_eq(scale->param_count, 4);
	assert_param(scale, 0, "u64", 8, 8);
	assert_param(scale, 2, "f32", 4, 4);
	assert_param(scale, 3, "u32", 4, 4);
	ck_assert(mpk_span_is(scale->params[3].name, "scale_param_3"));
	ck_assert_uint_eq(scale->max_threads[0], 128);
	ck_assert_uint_eq(scale->max_threads[2], 1);
	ck_assert_uint_eq(gather->param_count, 3);
	assert_param(gather, 1, "b8", 24, 8);
	ck_assert_uint_eq(gather->max_threads[0], 0);
	/* those of the text, counted by hand */
	ck_assert_uint_eq(scale->registers, 5 + 7 + 12);
	ck_assert_uint_eq(scale->local_bytes, 0);
	ck_assert_uint_eq(gather->registers, 2 + 7 + 23 + 8 + 35);
	ck_assert_uint_eq(gather->local_bytes, 96);
}
END_TEST

/* What bodies declare; statements that only look like it are passed over, and so is what does not parse. */
static const struct {
	const char *body;
	uint64_t registers, local_bytes;
} bodies[] = {
	{ "", 0, 0 },
	{ ".reg .b32 %r<3>;", 3, 0 },
	{ ".reg .b32 a, b<2>, c; .reg .pred %p<9>;", 4, 0 },
	{ ".reg .v4 .f32 %f; { .reg .b64 %d<0x10>; }", 17, 0 },
	{ "l: .reg .b32 %r<1>; mov.reg .b32 x;", 1, 0 },
	{ ".reg .b32 %r<; .reg .b32 %q<2;", 0, 0 },
	{ ".reg .b32 %r<99999999999999999999>; .reg; .reg .b32 5;", 1, 0 },
	{ ".reg .b32 %r<0xffffffffffffffff>; .reg .b32 %q<2>;", UINT64_MAX, 0 },
	{ ".local .align 8 .b8 a[12], b[4]; .local .f64 c;", 0, 24 },
	{ ".local a; .local .b8 b[3]; .local .b8 c[x];", 0, 3 },
	{ ".local .b8 a[0xffffffffffffffff]; .local .b8 b[2];", 0, UINT64_MAX },
	{ ".shared .b8 s[4]; .local .b8 a[4]; .reg .b16 %h; st.local.b8 [a], %h;", 1, 4 },
};

START_TEST(declared_in_bodies)
{
	char text[256];
	struct mpk_ptx ptx;

	snprintf(text, sizeof text, HEAD ".func f() { .reg .b32 %%r<7>; } .entry k() { %s }",
		 bodies[_i].body);
	ptx = read_ptx(mpk_span_str(mpk_arena_copy(&arena, text, strlen(text))));
	ck_assert_uint_eq(ptx.kernel_count, 1);
	ck_assert_uint_eq(ptx.kernels[0].registers, bodies[_i].registers);
	ck_assert_uint_eq(ptx.kernels[0].local_bytes, bodies[_i].local_bytes);
}
END_TEST

START_TEST(nvcc_shared)
{
	struct mpk_ptx ptx = read_ptx(robust_load(&arena, DATA "two.ptx"));

	ck_assert_uint_eq(ptx.shared_count, 2);
	ck_assert(mpk_span_is(ptx.shared[0].name, "more"));
	ck_assert(ptx.shared[0].dynamic);
	ck_assert_uint_eq(ptx.shared[0].bytes, 0);
	ck_assert_uint_eq(ptx.shared[0].align, 16);
	ck_assert_uint_eq(ptx.shared[0].kernel, MPK_PTX_MODULE);
	ck_assert(!ptx.shared[1].dynamic);
	ck_assert_uint_eq(ptx.shared[1].bytes, 512);
	ck_assert_uint_lt(ptx.shared[1].kernel, 2);
	ck_assert(mpk_span_is(ptx.kernels[ptx.shared[1].kernel].name, "gather"));
}
END_TEST

START_TEST(nvcc_shape)
{
	struct mpk_ptx ptx = read_ptx(robust_load(&arena, DATA "shape.ptx"));
	const struct mpk_ptx_kernel *k;

	ck_assert_uint_eq(ptx.sm, 90);
	ck_assert_int_eq(ptx.suffix, 'a');
	k = find(&ptx, "wide");
	assert_param(k, 0, "b8", 4120, 4);
	k = find(&ptx, "cluster");
	ck_assert_uint_eq(k->cluster[0], 2);
	ck_assert_uint_eq(k->cluster[1], 1);
	k = find(&ptx, "block");
	ck_assert_uint_eq(k->block[0], 32);
	ck_assert_uint_eq(k->block[1], 2);
}
END_TEST

/* The payload of a blob that TVM wrote through LLVM. */
START_TEST(tvm)
{
	struct mpk_span blob = robust_load(&arena, "tests/data/formats/03_cuda_ptx.blob");
	const uint8_t *at = memmem(blob.data, blob.len, "//\n// Generated by LLVM", 23);
	struct mpk_ptx ptx;

	ck_assert_ptr_nonnull(at);
	ptx = read_ptx(mpk_span_of(at, (size_t)(blob.data + blob.len - at)));
	ck_assert_uint_eq(ptx.sm, 50);
	/* that LLVM no longer knows TVM's way to mark kernels: nothing can be launched */
	ck_assert_uint_eq(ptx.kernel_count, 0);
	ck_assert_uint_eq(ptx.function_count, 3); /* and two of the compiler's own */
	ck_assert(mpk_span_is(ptx.functions[0], "add_kernel"));
	ck_assert(mpk_span_is(ptx.functions[2], "__extendhfsf2"));
}
END_TEST

START_TEST(grammar)
{
	static const char text[] =
		"/* {{{ */ // .version 1.0\n"
		"\t.version 7.8 .target sm_100f, texmode_independent, debug\n"
		".file 1 \"odd \\\" } name.cu\", 12, 34\n"
		".global .align 4 .b8 table[8] = {1, 2, {3}, 4};\n"
		".extern .func (.param .b32 out) helper(.param .b32 in);\n"
		".func (.param .b32 out) inner(.param .b32 in)\n"
		"{ .shared .v4 .f32 tile[0x10][2], other; ret; }\n"
		".weak .entry bare()\n{\n"
		"  a: .shared .u16 x[0b11U], y[010]; { .shared .f64 z; mov.b32 {%r1,%r2}, %rd; }\n"
		"  ld.shared.u32 %r1, [x]; .pragma \"nounroll\"; b: ret; }\n"
		".visible .entry full (.param .u64 .ptr .global .align 16 p, .param .align 64 .b8\n"
		"q[2][3], .param .v2 .f32 r) .maxntid 64,2 .minnctapersm 3 .maxnreg 40\n"
		".noreturn { ret; }\n"
		".entry later(.param .f16 h);\n"
		".section .debug_info { .b32 5 .b8 \"}\" }\n\0\0";
	struct mpk_ptx ptx = read_ptx(mpk_span_of(text, sizeof text - 1));
	static const struct {
		const char *name;
		uint64_t bytes;
		size_t kernel;
	} shared[] = {
		{ "tile", 512, MPK_PTX_MODULE },
		{ "other", 16, MPK_PTX_MODULE },
		{ "x", 6, 0 },
		{ "y", 16, 0 },
		{ "z", 8, 0 },
	};

	ck_assert_uint_eq(ptx.major, 7);
	ck_assert_uint_eq(ptx.minor, 8);
	ck_assert_uint_eq(ptx.sm, 100);
	ck_assert_int_eq(ptx.suffix, 'f');
	ck_assert_uint_eq(ptx.address_bits, 32);
	ck_assert(ptx.debug);
	ck_assert_uint_eq(ptx.shared_count, MPK_ARRAY_COUNT(shared));
	for (size_t i = 0; i < ptx.shared_count; i++) {
		ck_assert_msg(mpk_span_is(ptx.shared[i].name, shared[i].name), "%zu", i);
		ck_assert_uint_eq(ptx.shared[i].bytes, shared[i].bytes);
		ck_assert_uint_eq(ptx.shared[i].kernel, shared[i].kernel);
	}
	ck_assert_uint_eq(ptx.function_count, 1);
	ck_assert(mpk_span_is(ptx.functions[0], "inner"));
	ck_assert_uint_eq(ptx.kernel_count, 3);
	ck_assert(mpk_span_is(ptx.kernels[0].name, "bare"));
	ck_assert_uint_eq(ptx.kernels[0].param_count, 0);
	assert_param(&ptx.kernels[1], 0, "u64", 8, 8);
	ck_assert(ptx.kernels[1].params[0].pointer);
	assert_param(&ptx.kernels[1], 1, "b8", 6, 64);
	assert_param(&ptx.kernels[1], 2, "f32", 8, 8);
	ck_assert_uint_eq(ptx.kernels[1].max_threads[1], 2);
	ck_assert_uint_eq(ptx.kernels[1].max_threads[2], 1);
	ck_assert_uint_eq(ptx.kernels[1].min_blocks, 3);
	ck_assert_uint_eq(ptx.kernels[1].max_registers, 40);
	ck_assert(ptx.kernels[1].has_body && !ptx.kernels[2].has_body);
	assert_param(&ptx.kernels[2], 0, "f16", 2, 2);
}
END_TEST

/* A declaration and its definition are one kernel. */
START_TEST(declared_and_defined)
{
	struct mpk_ptx ptx = read_ptx(
		mpk_span_str(HEAD ".entry k(.param .u32 a); .entry k(.param .u32 b) { ret; }"));

	ck_assert_uint_eq(ptx.kernel_count, 1);
	ck_assert(ptx.kernels[0].has_body);
	ck_assert(mpk_span_is(ptx.kernels[0].params[0].name, "b"));
}
END_TEST

/* The linking directive belongs to it, what stands before that does not. */
START_TEST(definition)
{
	struct mpk_ptx ptx = read_ptx(mpk_span_str(
		HEAD
		".global .u32 g;\n.visible .entry k(.param .u32 a)\n.maxntid 1, 2 { { ret; } }\n"
		".extern .func f; .entry d(); .weak .entry l() { ret; } .entry m() {} "));

	ck_assert_uint_eq(ptx.kernel_count, 4);
	ck_assert(mpk_span_is(ptx.kernels[0].text, ".visible .entry k(.param .u32 a)\n"
						   ".maxntid 1, 2 { { ret; } }"));
	ck_assert_uint_eq(ptx.kernels[1].text.len, 0);
	ck_assert(mpk_span_is(ptx.kernels[2].text, ".weak .entry l() { ret; }"));
	ck_assert(mpk_span_is(ptx.kernels[3].text, ".entry m() {}"));
}
END_TEST

START_TEST(refuses)
{
	static const struct {
		const char *text;
		enum mpk_code code;
		uint32_t line, column;
		const char *says;
	} rows[] = {
		{ "", MPK_E_SYNTAX, 1, 1, "PTX: the text ends where '.version' is wanted" },
		{ "int x;", MPK_E_SYNTAX, 1, 1, "PTX: '.version' wanted, 'int' found" },
		{ ".version 8", MPK_E_SYNTAX, 1, 10,
		  "PTX: a version such as 8.4 wanted, '8' found" },
		{ ".version 8.4\n", MPK_E_SYNTAX, 2, 1,
		  "PTX: the text ends where '.target sm_NN' is wanted" },
		{ ".version 8.4\n .target sm_9x", MPK_E_SYNTAX, 2, 10,
		  "PTX: a target such as sm_90 wanted, 'sm_9x' found" },
		{ HEAD ".entry 5() {}", MPK_E_SYNTAX, 4, 8, "PTX: a name wanted, '5' found" },
		{ HEAD ".entry k(.u32 a) {}", MPK_E_SYNTAX, 4, 10,
		  "PTX: '.param' wanted, '.u32' found" },
		{ HEAD ".entry k(.param a) {}", MPK_E_SYNTAX, 4, 17,
		  "PTX: a type such as .u32 wanted, 'a' found" },
		{ HEAD ".entry k(.param .u32 a .param)", MPK_E_SYNTAX, 4, 24,
		  "PTX: ',' or ')' wanted, '.param' found" },
		{ HEAD ".entry k()\n.maxntid x {}", MPK_E_SYNTAX, 5, 10,
		  "PTX: a number in its range wanted, 'x' found" },
		{ HEAD ".entry k() { { ret; }", MPK_E_SYNTAX, 4, 22,
		  "PTX: the text ends where '}' is wanted" },
		{ HEAD ".entry k() {} .entry k() {}", MPK_E_CONFLICT, 4, 22,
		  "PTX: a second kernel is called 'k'" },
		{ HEAD ".shared .b8 a[99999999999][99999999999];", MPK_E_SYNTAX, 4, 39,
		  "PTX: an array of less than 2^64 bytes wanted, ']' found" },
		{ HEAD ".global .b8 a", MPK_E_SYNTAX, 4, 14,
		  "PTX: the text ends where ';' is wanted" },
		{ HEAD "/* open", MPK_E_SYNTAX, 4, 1, "PTX: this comment has no end" },
		{ HEAD ".file 1 \"open\n\"", MPK_E_SYNTAX, 4, 9, "PTX: this string has no end" },
		{ ".version 8.4\n.target sm_90\n.address_size 33\n", MPK_E_SYNTAX, 4, 1,
		  "PTX: .address_size must be 32 or 64" },
	};
	struct mpk_ptx ptx = { .sm = 7 };
	struct mpk_error err;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		enum mpk_code code = mpk_ptx_read(mpk_span_str(rows[i].text), &arena, &ptx, &err);

		ck_assert_msg(code == rows[i].code, "row %zu: code %d", i, code);
		ck_assert_str_eq(err.text, rows[i].says);
		ck_assert_msg(err.at.line == rows[i].line && err.at.column == rows[i].column,
			      "row %zu: %u:%u", i, err.at.line, err.at.column);
	}
	ck_assert_int_eq(mpk_ptx_read(mpk_span_of(HEAD "\0.entry", sizeof(HEAD "\0.entry")), &arena,
				      &ptx, &err),
			 MPK_E_CORRUPT);
	ck_assert_uint_eq(err.at.offset, strlen(HEAD));
	ck_assert_uint_eq(ptx.sm, 7);
}
END_TEST

START_TEST(recognised)
{
	ck_assert(mpk_ptx_is(robust_load(&arena, DATA "two.ptx")));
	ck_assert(mpk_ptx_is(mpk_span_str(".version 1")));
	ck_assert(!mpk_ptx_is(mpk_span_str("version 8.4")));
	ck_assert(!mpk_ptx_is(mpk_span_str("")));
	ck_assert(!mpk_ptx_is(mpk_span_str("/* .version")));
}
END_TEST

static enum mpk_code try_ptx(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_arena a = { 0 };
	struct mpk_ptx ptx;
	enum mpk_code code = mpk_ptx_read(bytes, &a, &ptx, err);

	for (size_t i = 0; code == MPK_OK && i < ptx.shared_count; i++)
		ck_assert(ptx.shared[i].kernel == MPK_PTX_MODULE ||
			  ptx.shared[i].kernel < ptx.kernel_count);
	mpk_arena_fini(&a);
	return code;
}

START_TEST(hostile)
{
	static const char *const paths[] = { DATA "two.ptx", DATA "shape.ptx" };

	robust_check(paths[_i], try_ptx, 6000);
}
END_TEST

/* Statements of each sort, on their own as a piece between two .loc is. */
START_TEST(sorts_of_statements)
{
	static const struct {
		const char *text;
		uint32_t all, tensor, async, atomic;
		int space; /* of an access; -1: there is none */
		enum mpk_width width;
		bool is_store;
	} rows[] = {
		{ "ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%f1,%f2,%f3,%f4}, [%rd1];", 1, 0,
		  0, 0, MPK_SPACE_GLOBAL, MPK_WIDTH_16B, false },
		{ "@!%p1 st.shared::cta.u8 [%r1], %rs1;", 1, 0, 0, 0, MPK_SPACE_SHARED,
		  MPK_WIDTH_1B, true },
		{ "ld.v2.bf16x2 {%r1,%r2}, [%rd1];", 1, 0, 0, 0, MPK_SPACE_GENERIC, MPK_WIDTH_8B,
		  false },
		{ "st.local.bf16 [%rd1], %h1;", 1, 0, 0, 0, MPK_SPACE_LOCAL, MPK_WIDTH_2B, true },
		{ "ld.global.v8.b32 {a,b,c,d,e,f,g,h}, [%rd1];", 1, 0, 0, 0, MPK_SPACE_GLOBAL,
		  MPK_WIDTH_32B, false },
		{ "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2,%r3,%r4}, [%r5];", 1, 0, 0, 0,
		  MPK_SPACE_SHARED, MPK_WIDTH_OTHER, false },
		{ "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd1], {%f1}, %r1;", 1, 0, 0,
		  0, MPK_SPACE_GLOBAL, MPK_WIDTH_OTHER, true },
		{ "ld.param.u64 %rd1, [p]; ld.const.f32 %f1, [c];", 2, 0, 0, 0, -1, 0, false },
		{ "$L_1: atom.global.add.f32 %f1, [%rd1], %f2;", 1, 0, 0, 1, -1, 0, false },
		{ "red.shared.add.u32 [%r1], 1;", 1, 0, 0, 1, -1, 0, false },
		{ "{ .reg .b16 t; mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {a},{b},{c},{d}; }",
		  1, 1, 0, 0, -1, 0, false },
		{ "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {a}, d, e, p, 1, 1, 0, 0;"
		  "wgmma.commit_group.sync.aligned; wgmma.fence.sync.aligned;",
		  3, 1, 0, 0, -1, 0, false },
		{ "tcgen05.mma.cta_group::1.kind::f16 [d], a, b, i, p; tcgen05.ld.sync.aligned.16x64b.x1.b32 {r}, [t];",
		  2, 1, 0, 0, -1, 0, false },
		{ "cp.async.ca.shared.global [%r1], [%rd1], 16; cp.async.commit_group; cp.async.wait_group 0;",
		  3, 0, 1, 0, -1, 0, false },
		{ "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [a], [b, {c, d}], [e];",
		  1, 0, 1, 0, -1, 0, false },
		{ "cp.async.bulk.prefetch.L2.global [a], 16; cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [a], [b], 4;",
		  2, 0, 0, 0, -1, 0, false },
		{ "// ld.global.f32 a, [b];\n /* ; */ bar.sync 0; ret; .pragma \"nounroll\"; .loc 1 2 3\n",
		  2, 0, 0, 0, -1, 0, false },
		{ "call.uni (r), f, (a, b); @%p2 bra.uni $L_2;", 2, 0, 0, 0, -1, 0, false },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_work n;
		uint32_t loads = 0, stores = 0;

		ck_assert_msg(mpk_ptx_count_instructions(mpk_span_str(rows[i].text), &n), "%s",
			      rows[i].text);
		ck_assert_msg(n.all == rows[i].all && n.tensor == rows[i].tensor &&
				      n.async == rows[i].async && n.atomic == rows[i].atomic,
			      "%s: %u %u %u %u", rows[i].text, n.all, n.tensor, n.async, n.atomic);
		for (unsigned space = 0; space < MPK_SPACES; space++)
			for (unsigned w = 0; w < MPK_WIDTHS; w++) {
				loads += n.loads[space][w];
				stores += n.stores[space][w];
			}
		ck_assert_msg(loads == (rows[i].space >= 0 && !rows[i].is_store) &&
				      stores == (rows[i].space >= 0 && rows[i].is_store),
			      "%s", rows[i].text);
		if (rows[i].space >= 0)
			ck_assert_msg((rows[i].is_store
					       ? n.stores
					       : n.loads)[rows[i].space][rows[i].width] == 1,
				      "%s", rows[i].text);
		ck_assert(!n.has_stall);
	}
	ck_assert(!mpk_ptx_count_instructions(mpk_span_str("ret; /*"), &(struct mpk_work){ 0 }));
}
END_TEST

static const char with_lines[] =
	".version 9.0\n.target sm_90, debug\n.address_size 64\n"
	".visible .global .align 4 .b8 t[2] = {1, 2};\n"
	".entry a(.param .u64 p)\n{\n.reg .b64 r;\n.loc 1 10 0\nmov.u64 r, 1;\n{ .loc 2 7 3, function_name s, inlined_at 1 11 2\nadd.u64 r, r, r; }\n"
	".loc 9 5 0\nret;\n.loc 1 x 0\nret;\n.loc 1 0 0\nret;\n}\n"
	".func b() { ret; .loc 1 20 0\nret; }\n"
	".file 1 \"/src/a.cu\"\n.file 2 \"/src/b.h\", 1, 2\n.section .debug_str { s: .b8 1 }\n.loc 1 99 0\n";

START_TEST(source_lines)
{
	static const struct {
		const char *text;
		uint32_t line;
		const char *file;
	} want[] = {
		{ "mov.u64 r, 1;\n{ ", 10, "/src/a.cu" },
		{ "add.u64 r, r, r; }\n", 7, "/src/b.h" },
		{ "ret; ", 20, "/src/a.cu" },
	};
	const struct mpk_dwarf_row *rows;
	struct mpk_error err = { 0 };
	size_t count;

	/* a NUL ends what nvcc writes */
	ck_assert_msg(mpk_ptx_lines(mpk_span_of(with_lines, sizeof with_lines), &arena, &rows,
				    &count, &err) == MPK_OK,
		      "%s", err.text);
	ck_assert_uint_eq(count, MPK_ARRAY_COUNT(want));
	for (size_t i = 0; i < count; i++) {
		ck_assert_msg((size_t)(rows[i].to - rows[i].from) == strlen(want[i].text) &&
				      memcmp(with_lines + rows[i].from, want[i].text,
					     strlen(want[i].text)) == 0,
			      "%.*s", (int)(rows[i].to - rows[i].from), with_lines + rows[i].from);
		ck_assert_uint_eq(rows[i].line, want[i].line);
		ck_assert_str_eq(rows[i].file, want[i].file);
	}
	ck_assert_int_eq(mpk_ptx_lines(mpk_span_str(".file 1 \"x"), &arena, &rows, &count, &err),
			 MPK_E_SYNTAX);
}
END_TEST

static enum mpk_code try_lines(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_arena a = { 0 };
	const struct mpk_dwarf_row *rows;
	struct mpk_work work;
	size_t count;
	enum mpk_code code = mpk_ptx_lines(bytes, &a, &rows, &count, err);

	(void)mpk_ptx_count_instructions(bytes, &work);
	mpk_arena_fini(&a);
	return code;
}

START_TEST(hostile_lines)
{
	robust_damage(try_lines, mpk_span_of(with_lines, sizeof with_lines - 1), SIZE_MAX, 1,
		      sizeof with_lines - 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ptx");
	TCase *tc = tcase_create("ptx");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, nvcc_two);
	tcase_add_loop_test(tc, declared_in_bodies, 0, MPK_ARRAY_COUNT(bodies));
	tcase_add_test(tc, nvcc_shared);
	tcase_add_test(tc, nvcc_shape);
	tcase_add_test(tc, tvm);
	tcase_add_test(tc, grammar);
	tcase_add_test(tc, declared_and_defined);
	tcase_add_test(tc, definition);
	tcase_add_test(tc, refuses);
	tcase_add_test(tc, recognised);
	tcase_add_test(tc, sorts_of_statements);
	tcase_add_test(tc, source_lines);
	tcase_add_test(tc, hostile_lines);
	tcase_add_loop_test(tc, hostile, 0, 2);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
