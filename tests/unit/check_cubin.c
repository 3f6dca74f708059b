/* SPDX-License-Identifier: Apache-2.0 */
/* formats/cubin: figures against what ptxas -v printed and the driver of an H100 answered */
#include "robust.h"

#include <string.h>

#include "base/compiler.h"
#include "base/cursor.h"
#include "cubin/cubin.h"
#include "cubin/internal/cubin.h"

#define DATA "tests/data/device/"

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

static struct mpk_cubin open_cubin(const char *path)
{
	struct mpk_error err = { 0 };
	struct mpk_cubin cubin;

	ck_assert_msg(mpk_cubin_read(robust_load(&arena, path), &arena, &cubin, &err) == MPK_OK,
		      "%s: %s", path, err.text);
	return cubin;
}

static const struct mpk_cubin_kernel *find(const struct mpk_cubin *cubin, const char *name)
{
	for (size_t i = 0; i < cubin->kernel_count; i++)
		if (mpk_span_is(cubin->kernels[i].name, name))
			return &cubin->kernels[i];
	return NULL;
}

static const struct {
	const char *path;
	unsigned sm, abi;
	bool arch_specific, relocatable;
	size_t kernel_count;
	uint64_t constant_bytes;
} files[] = {
	{ DATA "two.sm_52.cuda12.cubin", 52, 7, false, false, 2, 64 },
	{ DATA "two.sm_75.cubin", 75, 8, false, false, 2, 64 },
	{ DATA "two.sm_90.cubin", 90, 8, false, false, 2, 64 },
	{ DATA "two.sm_90a.cuda12.cubin", 90, 7, true, false, 2, 64 },
	{ DATA "shape.sm_90.cubin", 90, 8, false, true, 4, 0 },
	{ DATA "tiny.sm_100.cubin", 100, 8, false, false, 1, 0 },
	{ DATA "tiny.sm_120a.cubin", 120, 8, true, false, 1, 0 },
};

START_TEST(architecture)
{
	struct mpk_cubin c = open_cubin(files[_i].path);
	const char *path = files[_i].path;

	ck_assert_msg(c.sm == files[_i].sm, "%s: sm_%u", path, c.sm);
	ck_assert_msg(c.abi == files[_i].abi, "%s: abi %u", path, c.abi);
	ck_assert_msg(c.arch_specific == files[_i].arch_specific, "%s", path);
	ck_assert_msg(c.relocatable == files[_i].relocatable, "%s", path);
	ck_assert_msg(c.kernel_count == files[_i].kernel_count, "%s", path);
	ck_assert_msg(c.constant_bytes == files[_i].constant_bytes, "%s", path);
}
END_TEST

static const struct {
	const char *path, *kernel;
	uint32_t registers, shared, stack, barriers, bank0, max_threads, param_bytes;
	uint32_t params[4][2]; /* offset, bytes */
} kernels[] = {
	{ DATA "two.sm_52.cuda12.cubin",
	  "gather",
	  30,
	  512,
	  0,
	  1,
	  360,
	  0,
	  40,
	  { { 0, 8 }, { 8, 24 }, { 32, 8 } } },
	{ DATA "two.sm_52.cuda12.cubin",
	  "scale",
	  7,
	  0,
	  0,
	  0,
	  344,
	  128,
	  24,
	  { { 0, 8 }, { 8, 8 }, { 16, 4 }, { 20, 4 } } },
	{ DATA "two.sm_75.cubin",
	  "gather",
	  30,
	  512,
	  0,
	  1,
	  392,
	  0,
	  40,
	  { { 0, 8 }, { 8, 24 }, { 32, 8 } } },
	{ DATA "two.sm_75.cubin",
	  "scale",
	  10,
	  0,
	  0,
	  0,
	  376,
	  128,
	  24,
	  { { 0, 8 }, { 8, 8 }, { 16, 4 }, { 20, 4 } } },
	{ DATA "two.sm_90.cubin",
	  "gather",
	  30,
	  512,
	  0,
	  1,
	  568,
	  0,
	  40,
	  { { 0, 8 }, { 8, 24 }, { 32, 8 } } },
	{ DATA "two.sm_90.cubin",
	  "scale",
	  12,
	  0,
	  0,
	  0,
	  552,
	  128,
	  24,
	  { { 0, 8 }, { 8, 8 }, { 16, 4 }, { 20, 4 } } },
	{ DATA "two.sm_90a.cuda12.cubin",
	  "gather",
	  30,
	  512,
	  0,
	  1,
	  568,
	  0,
	  40,
	  { { 0, 8 }, { 8, 24 }, { 32, 8 } } },
	{ DATA "shape.sm_90.cubin", "stack", 10, 0, 400, 0, 540, 0, 12, { { 0, 8 }, { 8, 4 } } },
	{ DATA "shape.sm_90.cubin",
	  "wide",
	  8,
	  0,
	  0,
	  0,
	  4660,
	  0,
	  4132,
	  { { 0, 4120 }, { 4120, 8 }, { 4128, 4 } } },
	{ DATA "calls.sm_80.cubin", "chain", 16, 0, 208, 0, 364, 0, 12, { { 0, 8 }, { 8, 4 } } },
	{ DATA "calls_linked.sm_80.cubin",
	  "chain",
	  38,
	  0,
	  224,
	  0,
	  364,
	  0,
	  12,
	  { { 0, 8 }, { 8, 4 } } },
	{ DATA "tiny.sm_100.cubin", "tiny", 10, 0, 0, 0, 904, 0, 8, { { 0, 8 } } },
	{ DATA "tiny.sm_120a.cubin", "tiny", 10, 0, 0, 0, 904, 0, 8, { { 0, 8 } } },
};

/* cuobjdump: UNKNOWN for the recursion that was linked, 0 for the others. */
static const struct {
	const char *path, *kernel;
	bool known;
} stacks[] = {
	{ DATA "calls.sm_80.cubin", "none", true },
	{ DATA "calls.sm_80.cubin", "recursion", false },
	{ DATA "calls_linked.sm_80.cubin", "none", true },
	{ DATA "calls_linked.sm_80.cubin", "recursion", false },
	{ DATA "calls_linked.sm_80.cubin", "pointer", false },
	{ DATA "calls_rdc.sm_80.cubin", "none", true },
	{ DATA "calls_rdc.sm_80.cubin", "chain", false },
	{ DATA "calls_rdc.sm_80.cubin", "recursion", false },
	{ DATA "calls_rdc.sm_80.cubin", "pointer", false },
};

START_TEST(stack_is_unknown)
{
	struct mpk_cubin c = open_cubin(stacks[_i].path);
	const struct mpk_cubin_kernel *k = find(&c, stacks[_i].kernel);

	ck_assert_ptr_nonnull(k);
	ck_assert_msg(k->has_stack == stacks[_i].known, "%s: %s", stacks[_i].path, k->name.data);
	ck_assert_uint_eq(k->stack_bytes, 0);
}
END_TEST

START_TEST(figures)
{
	struct mpk_cubin c = open_cubin(kernels[_i].path);
	const struct mpk_cubin_kernel *k = find(&c, kernels[_i].kernel);
	size_t n = 0;

	ck_assert_ptr_nonnull(k);
	ck_assert_uint_eq(k->registers, kernels[_i].registers);
	ck_assert_uint_eq(k->shared_bytes, kernels[_i].shared);
	ck_assert(k->has_stack);
	ck_assert_uint_eq(k->stack_bytes, kernels[_i].stack);
	ck_assert_uint_eq(k->barriers, kernels[_i].barriers);
	ck_assert_uint_eq(k->bank0_bytes, kernels[_i].bank0);
	ck_assert_uint_eq(k->max_threads[0], kernels[_i].max_threads);
	ck_assert_uint_eq(k->param_bytes, kernels[_i].param_bytes);
	ck_assert_uint_eq(k->code_bytes % 128 * (c.sm > 52), 0);
	while (n < 4 && kernels[_i].params[n][1])
		n++;
	ck_assert_uint_eq(k->param_count, n);
	for (size_t i = 0; i < n; i++) {
		ck_assert_uint_eq(k->params[i].offset, kernels[_i].params[i][0]);
		ck_assert_uint_eq(k->params[i].bytes, kernels[_i].params[i][1]);
	}
}
END_TEST

START_TEST(launch_shapes)
{
	struct mpk_cubin c = open_cubin(DATA "shape.sm_90.cubin");
	const struct mpk_cubin_kernel *k = find(&c, "cluster");

	ck_assert_uint_eq(k->cluster[0], 2);
	ck_assert_uint_eq(k->cluster[1], 1);
	ck_assert_uint_eq(k->block[0], 0);
	k = find(&c, "block");
	ck_assert_uint_eq(k->block[0], 32);
	ck_assert_uint_eq(k->block[1], 2);
	ck_assert_uint_eq(k->block[2], 1);
	ck_assert_ptr_null(find(&c, "blocks"));
}
END_TEST

START_TEST(tool)
{
	struct mpk_cubin c = open_cubin(DATA "two.sm_90.cubin");

	ck_assert(mpk_span_is(c.tool, "Cuda compilation tools, release 13.0, V13.0.88"));
	ck_assert(mpk_span_is(c.options, "-arch sm_90 -m 64"));
	c = open_cubin(DATA "two.sm_52.cuda12.cubin");
	ck_assert_uint_eq(c.tool.len, 0);
}
END_TEST

/* What a load of each library's cubin found; TVM labels it, nvcc wrote it. */
START_TEST(inside_a_library)
{
	struct mpk_span so = robust_load(&arena, "tests/data/cuda/cubin/vadd_cuda.so");
	const uint8_t *at = so.data + 1, *end = so.data + so.len;
	struct mpk_cubin c;

	while ((at = memmem(at, (size_t)(end - at), "\177ELF", 4)) != NULL &&
	       !mpk_cubin_is(mpk_span_of(at, (size_t)(end - at))))
		at++;
	ck_assert_ptr_nonnull(at);
	ck_assert_int_eq(mpk_cubin_read(mpk_span_of(at, (size_t)(end - at)), &arena, &c, NULL),
			 MPK_OK);
	ck_assert_uint_eq(c.sm, 90);
	ck_assert_uint_eq(c.kernel_count, 1);
	ck_assert_uint_eq(c.kernels[0].param_count, 3);
}
END_TEST

START_TEST(refuses)
{
	static const struct {
		size_t off;
		uint8_t value;
		enum mpk_code code;
		uint64_t at;
		const char *text;
	} rows[] = {
		{ 4, 1, MPK_E_UNSUPPORTED, 4, "cubin: only 64-bit little-endian files are read" },
		{ 5, 2, MPK_E_UNSUPPORTED, 4, "cubin: only 64-bit little-endian files are read" },
		{ 18, 62, MPK_E_CORRUPT, 18,
		  "cubin: an ELF file for machine 62, not for CUDA (190)" },
		{ 47, 1, MPK_E_CORRUPT, 40, "cubin: the section table lies beyond the end" },
		{ 58, 40, MPK_E_CORRUPT, 58, "cubin: section headers are not of 64 bytes" },
		{ 62, 200, MPK_E_CORRUPT, 62, "cubin: no table of section names" },
	};
	struct mpk_span good = robust_load(&arena, DATA "two.sm_90.cubin");
	uint8_t *bytes = mpk_arena_alloc(&arena, good.len);
	struct mpk_cubin c = { .sm = 7 };
	struct mpk_error err;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		memcpy(bytes, good.data, good.len);
		bytes[rows[i].off] = rows[i].value;
		ck_assert_int_eq(mpk_cubin_read(mpk_span_of(bytes, good.len), &arena, &c, &err),
				 rows[i].code);
		ck_assert_str_eq(err.text, rows[i].text);
		ck_assert_uint_eq(err.at.offset, rows[i].at);
	}
	for (size_t n = 1; n < 64; n++)
		ck_assert_int_eq(
			mpk_cubin_read(mpk_span_of(good.data, good.len - n), &arena, &c, &err),
			MPK_E_CORRUPT);
	ck_assert_uint_eq(c.sm, 7);
	ck_assert_int_eq(mpk_cubin_read(mpk_span_str("text"), &arena, &c, &err), MPK_E_CORRUPT);
}
END_TEST

START_TEST(attributes)
{
	static const uint8_t list[] = { 4, 0x2f, 4, 0, 1, 2,    3, 4, 2, 0x4c, 7, 1,
					3, 0x19, 8, 1, 1, 0x3e, 9, 9, 5, 0,    0, 0 };
	struct mpk_cursor c = mpk_cursor_of(mpk_span_of(list, sizeof list), 100, "payload");
	struct mpk_cubin_attribute a;
	struct mpk_error err;

	ck_assert_int_eq(mpk_cubin_attribute_next(&c, &a, NULL), MPK_OK);
	ck_assert_uint_eq(a.id, 0x2f);
	ck_assert_uint_eq(a.data.len, 4);
	ck_assert_int_eq(mpk_cubin_attribute_need(&a, 4, NULL), MPK_OK);
	ck_assert_int_eq(mpk_cubin_attribute_need(&a, 8, &err), MPK_E_CORRUPT);
	ck_assert_uint_eq(err.at.offset, 100);
	ck_assert_int_eq(mpk_cubin_attribute_next(&c, &a, NULL), MPK_OK);
	ck_assert_uint_eq(a.value, 7); /* one byte */
	ck_assert_int_eq(mpk_cubin_attribute_next(&c, &a, NULL), MPK_OK);
	ck_assert_uint_eq(a.value, 0x108);
	ck_assert_int_eq(mpk_cubin_attribute_next(&c, &a, NULL), MPK_OK);
	ck_assert_uint_eq(a.id, 0x3e);
	ck_assert_int_eq(mpk_cubin_attribute_next(&c, &a, &err), MPK_E_CORRUPT);
	ck_assert_str_eq(err.text, "cubin: attribute 0x00 has the unknown form 5");
	ck_assert_uint_eq(err.at.offset, 120);
}
END_TEST

static struct mpk_span code_of(const char *path, const char *name, unsigned *sm)
{
	struct mpk_span bytes = robust_load(&arena, path), code = { 0 };
	struct mpk_cubin c = open_cubin(path);
	const struct mpk_cubin_kernel *k = find(&c, name);

	*sm = c.sm;
	ck_assert(k && mpk_span_sub(bytes, k->code_off, k->code_bytes, &code));
	return code;
}

/* The numbers are those of nvdisasm's listing. */
START_TEST(local_memory)
{
	struct mpk_cubin_local got = { 7, 7, 7 };
	struct mpk_span code;
	unsigned sm;

	code = code_of(DATA "sums_spill.sm_90.cubin", "sums", &sm);
	ck_assert(mpk_cubin_local_accesses(sm, code, &got));
	ck_assert_uint_eq(got.stores, 64);
	ck_assert_uint_eq(got.loads, 70);
	ck_assert_uint_eq(got.computed, 0);
	/* no instructions, or those of an older GPU */
	ck_assert(!mpk_cubin_local_accesses(sm, mpk_span_of(code.data, code.len - 1), &got));
	ck_assert(!mpk_cubin_local_accesses(60, code, &got));
	ck_assert_uint_eq(got.stores, 64);
	code = code_of(DATA "sums.sm_90.cubin", "sums", &sm);
	ck_assert(mpk_cubin_local_accesses(sm, code, &got));
	ck_assert_uint_eq(got.stores + got.loads + got.computed, 0);
}
END_TEST

/* Of machine code: what nvdisasm lists. Of single instructions: the lower 16 bits that it prints for what ptxas 13 made
 * of one instruction of PTX each; the upper half has the width. */
START_TEST(sorts_of_instructions)
{
	static const struct {
		const char *said;
		uint16_t low;
		uint32_t tensor, async, atomic;
	} single[] = {
		{ "HGMMA.64x8x16.F32", 0x79f0, 1, 0, 0 },
		{ "IGMMA.64x8x32.S8.S8", 0x79f1, 1, 0, 0 },
		{ "BGMMA.64x8x256.AND.POPC", 0x79f2, 1, 0, 0 },
		{ "QGMMA.64x8x32.F32.E4M3.E4M3", 0x79f3, 1, 0, 0 },
		{ "HMMA.SP.16832.F32", 0x723c, 1, 0, 0 },
		{ "IMMA.16832.S8.S8", 0x7237, 1, 0, 0 },
		{ "DMMA.884", 0x723f, 1, 0, 0 },
		{ "BMMA.168256.XOR.POPC", 0x723d, 1, 0, 0 },
		{ "QMMA.16832.F32.E4M3.E4M3", 0x727a, 1, 0, 0 },
		{ "HFMA2.MMA", 0x7435, 0, 0, 0 },
		{ "REDUX.SUM", 0x73c4, 0, 0, 0 },
		{ "UBLKCP.S.G", 0x73ba, 0, 1, 0 },
		{ "ATOMG.E.ADD.STRONG.GPU", 0x09a8, 0, 0, 1 },
		{ "ATOMG.E.CAS.STRONG.GPU", 0x73a9, 0, 0, 1 },
		{ "ATOM.E.ADD.STRONG.GPU", 0x098a, 0, 0, 1 },
		{ "ATOM.E.CAS.STRONG.GPU", 0x738b, 0, 0, 1 },
		{ "ATOMS.ADD", 0x038c, 0, 0, 1 },
		{ "ATOMS.CAS", 0x738d, 0, 0, 1 },
		{ "RED.E.ADD.STRONG.GPU", 0x098e, 0, 0, 1 },
	};
	static const uint32_t widths[8] = { 1, 1, 2, 2, 4, 8, 16, 0 };
	static const uint32_t bytes_of[MPK_WIDTHS] = { 1, 2, 4, 8, 12, 16, 32, 0 };
	struct mpk_work n;
	struct mpk_span code;
	uint8_t one[16];
	unsigned sm;

	code = code_of(DATA "sums_spill.sm_90.cubin", "sums", &sm);
	ck_assert(mpk_cubin_count_instructions(sm, code, &n));
	ck_assert_uint_eq(n.all, 636);
	ck_assert_uint_eq(n.loads[MPK_SPACE_GLOBAL][MPK_WIDTH_4B], 76);
	ck_assert_uint_eq(n.stores[MPK_SPACE_GLOBAL][MPK_WIDTH_4B], 32);
	ck_assert_uint_eq(n.loads[MPK_SPACE_LOCAL][MPK_WIDTH_4B], 70);
	ck_assert_uint_eq(n.stores[MPK_SPACE_LOCAL][MPK_WIDTH_4B], 64);
	ck_assert_uint_eq(n.tensor + n.async + n.atomic, 0);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(single); i++) {
		memset(one, 0, sizeof one);
		one[0] = (uint8_t)single[i].low;
		one[1] = (uint8_t)(single[i].low >> 8);
		ck_assert(mpk_cubin_count_instructions(90, mpk_span_of(one, sizeof one), &n));
		ck_assert_msg(n.all == 1 && n.tensor == single[i].tensor &&
				      n.async == single[i].async && n.atomic == single[i].atomic,
			      "%s", single[i].said);
	}
	/* LDG.E and its widths */
	for (unsigned w = 0; w < 8; w++) {
		memset(one, 0, sizeof one);
		one[0] = 0x81;
		one[1] = 0x79;
		one[9] = (uint8_t)(w << 1 | 0x11);
		ck_assert(mpk_cubin_count_instructions(90, mpk_span_of(one, sizeof one), &n));
		for (unsigned k = 0; k < MPK_WIDTHS; k++)
			ck_assert_uint_eq(n.loads[MPK_SPACE_GLOBAL][k], bytes_of[k] == widths[w]);
	}
	/* LDG.E.ENL2.256, STG.E.ENL2.256 */
	memset(one, 0, sizeof one);
	one[0] = 0x7e;
	one[1] = 0xc9;
	ck_assert(mpk_cubin_count_instructions(100, mpk_span_of(one, sizeof one), &n));
	ck_assert_uint_eq(n.loads[MPK_SPACE_GLOBAL][MPK_WIDTH_32B], 1);
	one[0] = 0x7f;
	ck_assert(mpk_cubin_count_instructions(100, mpk_span_of(one, sizeof one), &n));
	ck_assert_uint_eq(n.stores[MPK_SPACE_GLOBAL][MPK_WIDTH_32B], 1);
	n.all = 7;
	ck_assert(!mpk_cubin_count_instructions(60, code, &n));
	ck_assert(!mpk_cubin_count_instructions(80, mpk_span_of(code.data, code.len - 1), &n));
	ck_assert_uint_eq(n.all, 7);
}
END_TEST

/* "LDG.E R8, desc[UR4][R2.64]" and "IMAD.WIDE.U32 R2, R5, 0x4, R2" of a kernel for sm_90, and one with all that there is. */
START_TEST(scheduling)
{
	static const struct {
		uint64_t high;
		struct mpk_cubin_control want;
	} rows[] = {
		{ 0x000162000c1e1900, { 1, false, 5, 0, 0, 0 } },
		{ 0x001fca00078e0002, { 5, true, 7, 7, 1, 0 } },
		{ 0x7efd2e0000000000, { 7, false, 4, 6, 47, 15 } },
	};
	uint8_t one[16] = { 0 };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_cubin_control c;

		for (unsigned k = 0; k < 8; k++)
			one[8 + k] = (uint8_t)(rows[i].high >> 8 * k);
		c = mpk_cubin_control(one);
		ck_assert_uint_eq(c.stall, rows[i].want.stall);
		ck_assert_int_eq(c.yield, rows[i].want.yield);
		ck_assert_uint_eq(c.write, rows[i].want.write);
		ck_assert_uint_eq(c.read, rows[i].want.read);
		ck_assert_uint_eq(c.wait, rows[i].want.wait);
		ck_assert_uint_eq(c.reuse, rows[i].want.reuse);
	}
}
END_TEST

/* As nvdisasm -g prints them. */
START_TEST(source_lines)
{
	struct mpk_span bytes = robust_load(&arena, DATA "sums_lines.sm_90.cubin");
	struct mpk_span code = mpk_cubin_code(bytes, mpk_span_str(".text.copy"));
	const struct mpk_dwarf_row *rows;
	struct mpk_error err = { 0 };
	size_t count;
	uint64_t at = (uint64_t)(code.data - bytes.data);

	ck_assert_uint_eq(code.len, 0x180);
	ck_assert_msg(mpk_cubin_lines(bytes, &arena, &rows, &count, &err) == MPK_OK, "%s",
		      err.text);
	ck_assert_uint_gt(count, 10);
	/* copy is first in the file */
	ck_assert_uint_eq(rows[0].from, at);
	ck_assert_uint_eq(rows[0].to, at + 0x10);
	ck_assert_uint_eq(rows[0].line, 17);
	ck_assert_str_eq(rows[0].file, "/tmp/one/sums.cu");
	ck_assert_uint_eq(rows[1].from, at + 0x10);
	ck_assert_uint_eq(rows[1].line, 19);
	ck_assert_uint_le(rows[count - 1].to, bytes.len);
	ck_assert_uint_eq(mpk_cubin_code(bytes, mpk_span_str(".text.none")).len, 0);
	/* made without -lineinfo */
	ck_assert_int_eq(mpk_cubin_lines(robust_load(&arena, DATA "sums.sm_90.cubin"), &arena,
					 &rows, &count, &err),
			 MPK_OK);
	ck_assert_uint_eq(count, 0);
}
END_TEST

/* Relocations of another type, beyond the program, and of symbols that are not there, move nothing: no kernel has these
 * lines. */
START_TEST(lines_that_nothing_moves)
{
	enum { RELOCATIONS = 0x2888, STEP = 24 };
	static const struct {
		size_t at;
		uint8_t value;
	} rows[] = { { 2, 0xff }, { 8, 3 }, { 14, 0xff } };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_span bytes = robust_load(&arena, DATA "sums_lines.sm_90.cubin");
		uint8_t *copy = (uint8_t *)mpk_arena_copy(&arena, bytes.data, bytes.len);
		const struct mpk_dwarf_row *out;
		size_t count;

		for (size_t k = 0; k < 2; k++)
			copy[RELOCATIONS + k * STEP + rows[i].at] = rows[i].value;
		ck_assert_int_eq(
			mpk_cubin_lines(mpk_span_of(copy, bytes.len), &arena, &out, &count, NULL),
			MPK_OK);
		ck_assert_uint_eq(count, 0);
	}
}
END_TEST

static enum mpk_code try_lines(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_arena a = { 0 };
	const struct mpk_dwarf_row *rows;
	size_t count;
	enum mpk_code code = mpk_cubin_lines(bytes, &a, &rows, &count, err);

	mpk_arena_fini(&a);
	return code;
}

START_TEST(hostile_lines)
{
	robust_check(DATA "sums_lines.sm_90.cubin", try_lines, 10000);
}
END_TEST

static enum mpk_code try_cubin(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_arena a = { 0 };
	struct mpk_cubin c;
	enum mpk_code code = mpk_cubin_read(bytes, &a, &c, err);

	mpk_arena_fini(&a);
	return code;
}

START_TEST(hostile)
{
	robust_check(files[_i].path, try_cubin, 10000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cubin");
	TCase *tc = tcase_create("cubin");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, architecture, 0, (int)MPK_ARRAY_COUNT(files));
	tcase_add_loop_test(tc, figures, 0, (int)MPK_ARRAY_COUNT(kernels));
	tcase_add_loop_test(tc, stack_is_unknown, 0, (int)MPK_ARRAY_COUNT(stacks));
	tcase_add_test(tc, launch_shapes);
	tcase_add_test(tc, tool);
	tcase_add_test(tc, inside_a_library);
	tcase_add_test(tc, refuses);
	tcase_add_test(tc, attributes);
	tcase_add_test(tc, local_memory);
	tcase_add_test(tc, sorts_of_instructions);
	tcase_add_test(tc, scheduling);
	tcase_add_test(tc, source_lines);
	tcase_add_test(tc, lines_that_nothing_moves);
	tcase_add_test(tc, hostile_lines);
	tcase_add_loop_test(tc, hostile, 0, (int)MPK_ARRAY_COUNT(files));
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
