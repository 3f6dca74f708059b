/* SPDX-License-Identifier: Apache-2.0 */
/* know/canon: names without what makes them unique, graphs of references, and digests of code that compilers wrote in
 * two ways, or that a test changed */
#include "robust.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "canon/canon.h"
#include "canon/internal/canon.h"
#include "elf/reader.h"

enum { DIGEST = MPK_DIGEST_BYTES };

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

/* --- names ------------------------------------------------------------------------------------ */

/* Of nvcc 13.0, ptxas and Clang 19; and what only looks like them. */
static const struct {
	const char *name, *canonical;
} names[] = {
	{ "", "" },
	{ "add", "add" },
	{ "_ZN31_INTERNAL_5d0836e2_4_a_cu_table6helperEf", "_ZN10_INTERNAL_6helperEf" },
	{ "_ZN33_GLOBAL__N__5d0836e2_4_a_cu_table6anon_kEPf", "_ZN11_GLOBAL__N_6anon_kEPf" },
	{ "_ZN31_INTERNAL_5d0836e2_4_a_cu_table33_GLOBAL__N__5d0836e2_4_a_cu_table6anon_vE",
	  "_ZN10_INTERNAL_11_GLOBAL__N_6anon_vE" },
	{ "__nv_static_22__5d0836e2_4_a_cu_table__Z6stat_kPf", "__unique_Z6stat_kPf" },
	{ "__nv_static_22__5d0836e2_4_a_cu_table_scounter", "__uniquescounter" },
	{ "$plain$_ZN31_INTERNAL_5d0836e2_4_a_cu_table6helperEf",
	  "$plain$_ZN10_INTERNAL_6helperEf" },
	{ "_ZN12_GLOBAL__N_14kernE", "_ZN11_GLOBAL__N_4kernE" },
	/* the digit in front ends another identifier: 133 would reach beyond the end */
	{ "_ZN3an133_GLOBAL__N__5d0836e2_4_a_cu_table1kE", "_ZN3an111_GLOBAL__N_1kE" },
	{ "$___ZZ2k0E4tile__39", "$___ZZ2k0E4tile" },
	{ "_Z5localPf.static.0123456789abcdef", "_Z5localPf.unique" },
	{ "_ZL5localPf__static__0123456789abcdef", "_ZL5localPf__unique" },
	{ "__hip_cuid_aa89c34bba51e0da", "__unique" },
	{ "_INTERNAL_5d0836e2", "_INTERNAL_5d0836e2" },
	{ "_ZN99_INTERNAL_5d0836e2E", "_ZN99_INTERNAL_5d0836e2E" },
	{ "_ZN0_INTERNAL_5d0836e2E", "_ZN0_INTERNAL_5d0836e2E" },
	{ "__nv_static_99__5d0836e2_4_a_cu_table_x", "__nv_static_99__5d0836e2_4_a_cu_table_x" },
	{ "__static__01234", "__static__01234" },
	{ "$__", "$__" },
	{ "$__7", "$__7" },
	{ "a__39", "a__39" },
};

START_TEST(names_are_canonical)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };

	mpk_canon_name(mpk_span_str(names[_i].name), &out);
	ck_assert_str_eq(mpk_strbuf_text(&out), names[_i].canonical);
}
END_TEST

/* --- graphs ------------------------------------------------------------------------------------- */

enum { NODES = 6 };

static const struct mpk_canon_edge graph[] = {
	{ 0, 1 }, { 1, 2 }, { 2, 1 }, { 2, 3 }, { 4, 3 }, { 4, 4 }, { 5, 4 }, { 5, 4 },
};

/* The same graph with node i under the number (i * step + shift) % NODES, and one node's digest changed. */
static void reach(size_t step, size_t shift, size_t changed, uint8_t out[NODES][DIGEST])
{
	uint8_t local[NODES][DIGEST] = { 0 }, whole[NODES][DIGEST];
	struct mpk_canon_edges edges = { 0 };

	for (size_t i = 0; i < NODES; i++) {
		local[(i * step + shift) % NODES][0] = (uint8_t)(i + 1);
		local[(i * step + shift) % NODES][1] = i == changed;
	}
	for (size_t i = 0; i < MPK_ARRAY_COUNT(graph); i++)
		ck_assert(mpk_canon_edge(&edges, (graph[i].from * step + shift) % NODES,
					 (graph[i].to * step + shift) % NODES));
	ck_assert_int_eq(
		mpk_canon_reach(&edges, NODES, (const uint8_t(*)[DIGEST])local, whole, NULL),
		MPK_OK);
	free(edges.items);
	for (size_t i = 0; i < NODES; i++)
		memcpy(out[i], whole[(i * step + shift) % NODES], DIGEST);
}

START_TEST(numbers_of_nodes_do_not_count)
{
	uint8_t a[NODES][DIGEST], b[NODES][DIGEST];

	reach(1, 0, NODES, a);
	for (size_t shift = 0; shift < NODES; shift++) {
		reach(1, shift, NODES, b);
		ck_assert_mem_eq(a, b, sizeof a);
		reach(5, shift, NODES, b);
		ck_assert_mem_eq(a, b, sizeof a);
	}
	/* 1 and 2 reach each other */
	ck_assert_mem_eq(a[1], a[2], DIGEST);
	ck_assert_mem_ne(a[0], a[1], DIGEST);
}
END_TEST

START_TEST(what_is_reached_counts)
{
	static const bool reaches[NODES][NODES] = {
		{ 1, 1, 1, 1, 0, 0 }, { 0, 1, 1, 1, 0, 0 }, { 0, 1, 1, 1, 0, 0 },
		{ 0, 0, 0, 1, 0, 0 }, { 0, 0, 0, 1, 1, 0 }, { 0, 0, 0, 1, 1, 1 },
	};
	uint8_t a[NODES][DIGEST], b[NODES][DIGEST];

	reach(1, 0, NODES, a);
	for (size_t changed = 0; changed < NODES; changed++) {
		reach(1, 0, changed, b);
		for (size_t i = 0; i < NODES; i++)
			ck_assert_msg((memcmp(a[i], b[i], DIGEST) != 0) == reaches[i][changed],
				      "%zu after a change of %zu", i, changed);
	}
}
END_TEST

/* A chain of functions as long as a hostile file can have, and a graph in which each leads to all that follow. */
START_TEST(graphs_take_linear_time)
{
	enum { LONG = 100000, DENSE = 700 };
	uint8_t(*local)[DIGEST] = calloc(LONG, DIGEST), (*whole)[DIGEST] = calloc(LONG, DIGEST);
	struct mpk_canon_edges edges = { 0 };

	for (size_t i = 1; i < LONG; i++)
		ck_assert(mpk_canon_edge(&edges, i - 1, i));
	ck_assert_int_eq(
		mpk_canon_reach(&edges, LONG, (const uint8_t(*)[DIGEST])local, whole, NULL),
		MPK_OK);
	ck_assert_mem_ne(whole[0], whole[1], DIGEST);
	edges.count = 0;
	for (size_t i = 0; i < DENSE; i++)
		for (size_t k = i; k < DENSE; k++)
			ck_assert(mpk_canon_edge(&edges, i, k));
	ck_assert_int_eq(
		mpk_canon_reach(&edges, DENSE, (const uint8_t(*)[DIGEST])local, whole, NULL),
		MPK_OK);
	free(edges.items);
	free(local);
	free(whole);
}
END_TEST

/* --- code ------------------------------------------------------------------------------------------ */

static struct mpk_canon_rows digests(struct mpk_span bytes)
{
	struct mpk_canon_rows rows;
	struct mpk_code_info info;
	struct mpk_error err = { 0 };

	ck_assert_int_eq(mpk_code_info_read(bytes, 0, NULL, &arena, &info, NULL), MPK_OK);
	ck_assert_msg(!info.problem, "%s", info.problem ? info.problem->text : "");
	ck_assert_msg(mpk_canon_code(&info, &arena, &rows, &err) == MPK_OK, "%s", err.text);
	return rows;
}

static const uint8_t *digest(const struct mpk_canon_rows *rows, enum mpk_canon_what what,
			     const char *name)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->items[i].what == what && mpk_span_is(rows->items[i].name, name))
			return rows->items[i].digest;
	ck_abort_msg("there is no %s", name);
	return NULL;
}

static bool same_kernel(const struct mpk_canon_rows *a, const struct mpk_canon_rows *b,
			const char *name)
{
	return memcmp(digest(a, MPK_CANON_KERNEL, name), digest(b, MPK_CANON_KERNEL, name),
		      DIGEST) == 0;
}

static bool same_image(const struct mpk_canon_rows *a, const struct mpk_canon_rows *b)
{
	return memcmp(digest(a, MPK_CANON_IMAGE, ""), digest(b, MPK_CANON_IMAGE, ""), DIGEST) == 0;
}

#define DEVICE "tests/data/device/"

/* nvcc with and without -lineinfo, and with fewer registers. */
START_TEST(line_tables_are_noise)
{
	struct mpk_canon_rows plain = digests(robust_load(&arena, DEVICE "sums.sm_90.cubin"));
	struct mpk_canon_rows lines = digests(robust_load(&arena, DEVICE "sums_lines.sm_90.cubin"));
	struct mpk_canon_rows spill = digests(robust_load(&arena, DEVICE "sums_spill.sm_90.cubin"));

	ck_assert_uint_eq(plain.count, 3);
	ck_assert_uint_eq(lines.count, 3);
	ck_assert(same_kernel(&plain, &lines, "sums"));
	ck_assert(same_kernel(&plain, &lines, "copy"));
	ck_assert(same_image(&plain, &lines));
	ck_assert(!same_kernel(&plain, &spill, "sums"));
	ck_assert_str_eq(plain.items[0].target, "sm_90");
}
END_TEST

/* A module in which two kernels share a function and one has a variable; %s are what the tests change. */
#define PTX(comment, extra, factor, table)                                                          \
	"// " comment "\n.version 8.8\n.target sm_90" extra "\n.address_size 64\n"                  \
	".const .align 4 .b8 table[4] = {" table "};\n"                                             \
	".func (.param .b32 r) half(.param .b32 x)\n{\n.reg .f32 %f<3>;\nmul.f32 %f1, %f2, " factor \
	";\nret;\n}\n"
#define KERNEL_A                                                                                      \
	".visible .entry a(.param .u64 a_param_0)\n{\n.loc 1 5 3\n$L__func_begin0:\nbra $L__BB1_2;\n" \
	"call half, (x);\n$L__BB1_2:\nret;\n}\n"
#define KERNEL_B                                                                                   \
	".visible .entry b()\n{\nld.const.u32 %r1, [table];\n$L__BB2_1:\nbra $L__BB2_1;\n}\n"

START_TEST(words_of_ptx)
{
	static const char base[] = PTX("one", "", "0f3F000000", "1, 2, 3, 4") KERNEL_A KERNEL_B;
	static const char noise[] = PTX(
		"a comment of another length", ", debug", "0f3F000000",
		"1,2,\n3,4") ".file 1 \"/other/path.cu\"\n" KERNEL_B
			     ".visible .entry a(.param .u64 a_param_0)\n{\nbra $L__BB0_9;\n.loc 1 77 2\n"
			     "call half, (x);\n$L__tmp3:\n$L__BB0_9:\nret;\n}\n"
			     ".section .debug_str { .b8 1, 2 }\n";
	static const char inner[] = PTX("one", "", "0f40000000", "1, 2, 3, 4") KERNEL_A KERNEL_B;
	static const char table[] = PTX("one", "", "0f3F000000", "1, 2, 3, 5") KERNEL_A KERNEL_B;
	struct mpk_canon_rows a = digests(mpk_span_str(base)), n = digests(mpk_span_str(noise));
	struct mpk_canon_rows i = digests(mpk_span_str(inner)), t = digests(mpk_span_str(table));

	ck_assert(same_kernel(&a, &n, "a"));
	ck_assert(same_kernel(&a, &n, "b"));
	ck_assert(!same_kernel(&a, &i, "a"));
	ck_assert(same_kernel(&a, &i, "b"));
	ck_assert(same_kernel(&a, &t, "a"));
	ck_assert(!same_kernel(&a, &t, "b"));
	ck_assert(same_image(&a, &n));
	ck_assert(!same_image(&a, &t));
}
END_TEST

/* The SPIR-V of kernel.spv with one more instruction, before its first one. */
static struct mpk_canon_rows spirv_with(uint32_t op, uint32_t words)
{
	const struct mpk_span file = robust_load(&arena, DEVICE "kernel.spv");
	const size_t header = 5 * sizeof(uint32_t), more = words * sizeof(uint32_t);
	uint8_t *bytes = mpk_arena_alloc(&arena, file.len + more);

	ck_assert_ptr_nonnull(bytes);
	memcpy(bytes, file.data, header);
	memset(bytes + header, 0, more);
	for (size_t i = 0; i < more && i < 4; i++)
		bytes[header + i] = (uint8_t)((words << 16 | op) >> 8 * i);
	memcpy(bytes + header + more, file.data + header, file.len - header);
	return digests(mpk_span_of(bytes, file.len + more));
}

START_TEST(spirv_without_what_only_describes)
{
	static const struct {
		uint32_t op, words;
		bool is_noise;
	} rows[] = {
		{ 2, 2, true },   /* OpSourceContinued */
		{ 3, 3, true },   /* OpSource */
		{ 4, 2, true },   /* OpSourceExtension */
		{ 7, 3, true },   /* OpString */
		{ 8, 4, true },   /* OpLine */
		{ 317, 1, true }, /* OpNoLine */
		{ 330, 2, true }, /* OpModuleProcessed */
		{ 0, 1, false },  /* OpNop */
		{ 1, 3, false },  /* OpUndef */
		{ 10, 2, false }, /* OpExtension */
	};
	const struct mpk_canon_rows plain = spirv_with(0, 0);

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_canon_rows with = spirv_with(rows[i].op, rows[i].words);

		ck_assert_msg(same_image(&plain, &with) == rows[i].is_noise, "operation %u",
			      rows[i].op);
	}
}
END_TEST

/* The first attribute of an entry's parameters, of 12 bytes, made one that lists the functions outside which a kernel
 * calls: numbers of symbols, whose names count and not the numbers.
 * Returns  its data */
static uint8_t *externs(uint8_t *bytes, size_t len)
{
	static const uint8_t parameter[] = { 0x04, 0x17, 12, 0 };

	for (size_t i = 0; i + sizeof parameter + 12 <= len; i += 4) {
		if (memcmp(bytes + i, parameter, sizeof parameter) != 0)
			continue;
		bytes[i + 1] = 0x0f;
		memset(bytes + i + 4, 0, 12);
		return bytes + i + 4;
	}
	ck_abort_msg("there is no parameter");
	return NULL;
}

/* Lets a symbol and the next, which nothing else names, change their places. */
static void swap_symbols(uint8_t *bytes, size_t len, size_t at)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	uint8_t kept[24], *entry = NULL;
	GElf_Shdr h;

	ck_assert_int_eq(mpk_elf_open(mpk_span_of(bytes, len), 0, &elf, NULL), MPK_OK);
	for (size_t i = 1; i < elf.section_count; i++) {
		ck_assert_int_eq(mpk_elf_section(&elf, i, &h, NULL), MPK_OK);
		if (h.sh_type == SHT_SYMTAB)
			entry = bytes + h.sh_offset + at * sizeof kept;
	}
	ck_assert_ptr_nonnull(entry);
	memcpy(kept, entry, sizeof kept);
	memcpy(entry, entry + sizeof kept, sizeof kept);
	memcpy(entry + sizeof kept, kept, sizeof kept);
}

START_TEST(externs_are_symbols)
{
	struct mpk_span good = robust_load(&arena, DEVICE "shape.sm_90.cubin");
	uint8_t *bytes = (uint8_t *)mpk_arena_copy(&arena, good.data, good.len), *data;
	struct mpk_canon_rows none, one, other;

	ck_assert_ptr_nonnull(bytes);
	data = externs(bytes, good.len);
	none = digests(mpk_span_of(bytes, good.len));
	for (size_t word = 0; word < 3; word++) {
		bool differs = false;

		/* some other symbol is another function */
		for (uint8_t symbol = 1; symbol < 26 && !differs; symbol++) {
			data[4 * word] = symbol;
			one = digests(mpk_span_of(bytes, good.len));
			differs = !same_kernel(&none, &one, "stack");
		}
		ck_assert(differs);
		/* and one symbol under another number is the same */
		data[4 * word] = 4;
		one = digests(mpk_span_of(bytes, good.len));
		swap_symbols(bytes, good.len, 4);
		data[4 * word] = 5;
		other = digests(mpk_span_of(bytes, good.len));
		swap_symbols(bytes, good.len, 4);
		ck_assert(same_kernel(&one, &other, "stack"));
		memset(data + 4 * word, 0, 4);
	}
}
END_TEST

/* --- hostile bytes ------------------------------------------------------------------------------------ */

static enum mpk_code try_code(struct mpk_span bytes, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena own = { 0 };
	struct mpk_canon_rows rows;
	struct mpk_code_info info;

	MPK_TRY(mpk_code_info_read(bytes, 0, NULL, &own, &info, err));
	return mpk_canon_code(&info, &own, &rows, err);
}

static const char *const files[] = {
	DEVICE "sums_lines.sm_90.cubin",
	DEVICE "two.sm_52.cuda12.cubin",
	DEVICE "shape.sm_90.cubin",
	DEVICE "calls_linked.sm_80.cubin",
	DEVICE "tiny.sm_100.cubin",
	DEVICE "shape.ptx",
	DEVICE "kernel.spv",
	DEVICE "tiny.speed.fatbin",
	"tests/data/gpu/mix.gfx90a.hsaco",
	"tests/data/gpu/first.bundle",
};

START_TEST(damage)
{
	robust_check(files[_i], try_code, 2500);
}
END_TEST

/* Those of them that are machine code. */
static const char *const machine[] = {
	DEVICE "sums_lines.sm_90.cubin", DEVICE "two.sm_52.cuda12.cubin",
	DEVICE "shape.sm_90.cubin",      DEVICE "calls_linked.sm_80.cubin",
	DEVICE "tiny.sm_100.cubin",      "tests/data/gpu/mix.gfx90a.hsaco",
};

/* A bit of a kernel's code, wherever: never the same digest. */
START_TEST(each_bit_of_code_counts)
{
	struct mpk_span good = robust_load(&arena, machine[_i]);
	struct mpk_canon_rows a = digests(good);
	uint8_t *bytes = (uint8_t *)mpk_arena_copy(&arena, good.data, good.len);
	struct mpk_code_info info;

	ck_assert_int_eq(mpk_code_info_read(good, 0, NULL, &arena, &info, NULL), MPK_OK);
	ck_assert(info.kernel_count && info.kernels[0].code.len);
	for (size_t k = 0; k < info.kernel_count; k++) {
		struct mpk_span code = info.kernels[k].code;
		size_t off = code.len ? (size_t)(code.data - good.data) : 0;

		for (size_t i = 0; i < code.len; i += 37) {
			struct mpk_canon_rows b;

			bytes[off + i] ^= (uint8_t)(1U << i % 8);
			b = digests(mpk_span_of(bytes, good.len));
			ck_assert_uint_eq(a.count, b.count);
			ck_assert_mem_ne(a.items[k].digest, b.items[k].digest, DIGEST);
			bytes[off + i] ^= (uint8_t)(1U << i % 8);
		}
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("canon");
	TCase *t = tcase_create("canon");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(t, NULL, clear);
	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, names_are_canonical, 0, MPK_ARRAY_COUNT(names));
	tcase_add_test(t, numbers_of_nodes_do_not_count);
	tcase_add_test(t, what_is_reached_counts);
	tcase_add_test(t, graphs_take_linear_time);
	tcase_add_test(t, line_tables_are_noise);
	tcase_add_test(t, words_of_ptx);
	tcase_add_test(t, spirv_without_what_only_describes);
	tcase_add_test(t, externs_are_symbols);
	tcase_add_loop_test(t, damage, 0, MPK_ARRAY_COUNT(files));
	tcase_add_loop_test(t, each_bit_of_code_counts, 0, MPK_ARRAY_COUNT(machine));
	suite_add_tcase(suite, t);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
