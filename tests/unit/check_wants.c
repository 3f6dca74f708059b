/* SPDX-License-Identifier: Apache-2.0 */
/* Global functions by release, what the code of a library wants of others, and how the dynamic linker finds its
 * symbols; also in files that are damaged. */
#include <stdlib.h>
#include <string.h>

#include "compat/release.h"
#include "elf/linking.h"
#include "elf/wants.h"
#include "hostcode/registered.h"
#include "robust.h"

#define HOST "tests/data/formats/14_llvm_noblob.so"
#define DEVICE "tests/data/formats/01_opencl_scale.so"
#define REGISTERS "tests/data/ffi/registers.so"

static struct mpk_arena arena;

static void finish(void)
{
	mpk_arena_fini(&arena);
}

/* --- the table --------------------------------------------------------------------------- */

#define G(where, names) names,
static const char *const groups[] = {
#include "compat/globals.def"
};
#undef G

/* Each name is in one group, between blanks, and the releases find it. */
START_TEST(table_is_whole)
{
	const struct mpk_release r = { .minor = 27 };
	size_t total = 0;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(groups); i++) {
		const char *at = groups[i], *end;

		for (; at[1]; at = end, total++) {
			char name[130];
			size_t holders = 0;

			ck_assert_int_eq(at[0], ' ');
			end = strchr(at + 1, ' ');
			ck_assert_ptr_nonnull(end);
			ck_assert_int_lt(end - at, 100);
			snprintf(name, sizeof name, "%.*s", (int)(end - at + 1), at);
			for (size_t k = 0; k < MPK_ARRAY_COUNT(groups); k++) {
				const char *held = strstr(groups[k], name);

				holders += held != NULL;
				ck_assert(!held || !strstr(held + 1, name));
			}
			ck_assert_msg(holders == 1, "'%s' %zu times", name, holders);
			ck_assert_int_ne(
				mpk_release_global(&r, mpk_span_of(at + 1, (size_t)(end - at - 1)),
						   NULL),
				MPK_GLOBAL_UNKNOWN);
		}
		ck_assert_str_eq(at, " ");
	}
	ck_assert_uint_gt(total, 2000);
}
END_TEST

/* Neither a part of a name nor two of them. */
START_TEST(only_whole_names)
{
	const struct mpk_release r = { .minor = 27 };
	static const char *const no[] = { "",
					  " ",
					  "vm.builtin.reshap",
					  "m.builtin.reshape",
					  "vm.builtin.reshape ",
					  "vm.builtin.read_if_cond vm.builtin.register_py_func" };

	ck_assert_int_eq(mpk_release_global(&r, mpk_span_str("vm.builtin.reshape"), NULL),
			 MPK_GLOBAL_THERE);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(no); i++)
		ck_assert_int_eq(mpk_release_global(&r, mpk_span_str(no[i]), NULL),
				 MPK_GLOBAL_MISSING);
	ck_assert_int_eq(mpk_release_global(&r, mpk_span_of("vm.builtin.reshape\0x", 20), NULL),
			 MPK_GLOBAL_MISSING);
}
END_TEST

static enum mpk_global_state state_of(const char *release, const char *name,
				      struct mpk_global_info *info)
{
	struct mpk_release r;

	ck_assert(mpk_release_parse(release, &r));
	return mpk_release_global(&r, mpk_span_str(name), info);
}

START_TEST(releases)
{
	static const struct {
		const char *release, *name;
		enum mpk_global_state state;
		const char *option, *releases;
	} cases[] = {
		{ "0.27", "vm.builtin.copy", MPK_GLOBAL_THERE, NULL, "TVM 0.25, 0.26 and 0.27" },
		{ "ffi", "vm.builtin.copy", MPK_GLOBAL_MISSING, NULL, "TVM 0.25, 0.26 and 0.27" },
		{ "ffi", "ffi.Array", MPK_GLOBAL_THERE, NULL, "TVM 0.25, 0.26 and 0.27" },
		{ "0.25", "vm.builtin.check_string_info", MPK_GLOBAL_MISSING, NULL, "TVM 0.27" },
		{ "0.27", "vm.builtin.check_string_info", MPK_GLOBAL_THERE, NULL, "TVM 0.27" },
		{ "0.27", "tvm.contrib.cblas.matmul", MPK_GLOBAL_MISSING, "USE_BLAS", "" },
		{ "0.26", "runtime.DNNLJSONRuntimeCreate", MPK_GLOBAL_MISSING, "USE_DNNL", "" },
		{ "0.27", "relax.run.print", MPK_GLOBAL_PYTHON, NULL, "TVM 0.25, 0.26 and 0.27" },
		{ "0.27", "vm.builtin.cuda_graph.run_or_capture", MPK_GLOBAL_SIDECAR, NULL,
		  "TVM 0.25, 0.26 and 0.27" },
		{ "0.27", "vm.builtin.no_such", MPK_GLOBAL_MISSING, NULL, "" },
		{ "0.27", "", MPK_GLOBAL_MISSING, NULL, "" },
		{ "0.24", "vm.builtin.copy", MPK_GLOBAL_UNKNOWN, NULL, "TVM 0.25, 0.26 and 0.27" },
	};
	struct mpk_global_info info;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(cases); i++) {
		ck_assert_msg(state_of(cases[i].release, cases[i].name, &info) == cases[i].state,
			      "%s %s", cases[i].release, cases[i].name);
		ck_assert_pstr_eq(info.option, cases[i].option);
		ck_assert_str_eq(info.releases, cases[i].releases);
	}
	(void)state_of("0.27", "relax.run.print", &info);
	ck_assert(info.is_pythons);
	(void)state_of("0.27", "vm.builtin.copy", &info);
	ck_assert(!info.is_pythons);
}
END_TEST

/* --- wants ------------------------------------------------------------------------------- */

static size_t count_wants(const struct mpk_wants *w, enum mpk_want_kind kind, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < w->count; i++)
		n += w->items[i].kind == kind && (!name || strcmp(w->items[i].name, name) == 0);
	return n;
}

static void read_wants(const char *path, struct mpk_elf *elf, struct mpk_wants *out)
{
	ck_assert_int_eq(mpk_elf_open(robust_load(&arena, path), 0, elf, NULL), MPK_OK);
	ck_assert_int_eq(mpk_wants_read(elf, out, NULL), MPK_OK);
}

START_TEST(wants_of_libraries)
{
	struct mpk_elf elf = { 0 };
	struct mpk_wants w;

	read_wants(DEVICE, &elf, &w);
	ck_assert_uint_gt(count_wants(&w, MPK_WANT_NAME, "scale_kernel"), 0);
	ck_assert_uint_gt(count_wants(&w, MPK_WANT_NAME, "__tvm_set_device"), 0);
	ck_assert_uint_eq(count_wants(&w, MPK_WANT_NAME, NULL), 2);
	ck_assert_uint_gt(count_wants(&w, MPK_WANT_SYMBOL, "__TVMFFIEnvModLookupFromImports"), 0);
	ck_assert_uint_gt(count_wants(&w, MPK_WANT_SYMBOL, "TVMFFIErrorSetRaisedFromCStrParts"), 0);
	mpk_wants_fini(&w);
	mpk_elf_close(&elf);
	read_wants(HOST, &elf, &w);
	ck_assert_uint_eq(count_wants(&w, MPK_WANT_NAME, NULL), 0);
	mpk_wants_fini(&w);
	mpk_elf_close(&elf);
}
END_TEST

/* What comes to the second comes to what calls it, and to nothing that it calls. */
START_TEST(spread)
{
	struct mpk_want_edge edges[] = {
		{ 3, 2 }, { 1, 0 }, { 2, 1 }, { 4, 1 }, { 0, 5 }, { 1, 2 }
	};
	bool marked[] = { false, false, true, false, false, false };

	mpk_want_edges_sort(edges, MPK_ARRAY_COUNT(edges));
	ck_assert_int_eq(mpk_want_edges_spread(edges, MPK_ARRAY_COUNT(edges), marked, 6, NULL),
			 MPK_OK);
	ck_assert(marked[0] && marked[1] && marked[2] && marked[5]);
	ck_assert(!marked[3] && !marked[4]);
}
END_TEST

/* --- the hash table ---------------------------------------------------------------------- */

static uint64_t hash_at(const struct mpk_elf *elf)
{
	for (size_t i = 1; i < elf->section_count; i++) {
		GElf_Shdr s;

		if (mpk_elf_section(elf, i, &s, NULL) == MPK_OK && s.sh_type == SHT_GNU_HASH)
			return s.sh_offset;
	}
	ck_abort_msg("no hash table");
	return 0;
}

/* @at, @value  a word of the table that is changed first; at is UINT64_MAX for none */
static enum mpk_hash_found find(const char *name, uint64_t at, uint32_t value)
{
	struct mpk_span bytes = robust_load(&arena, HOST);
	uint8_t *copy = (uint8_t *)mpk_arena_copy(&arena, bytes.data, bytes.len);
	struct mpk_elf elf = { 0 };
	struct mpk_symtab symbols;
	struct mpk_linking l;
	struct mpk_hash h;
	enum mpk_hash_found found;

	ck_assert_int_eq(mpk_elf_open(mpk_span_of(copy, bytes.len), 0, &elf, NULL), MPK_OK);
	if (at != UINT64_MAX)
		memcpy(copy + hash_at(&elf) + at, &value, sizeof value);
	ck_assert_int_eq(mpk_linking_open(&elf, &l, NULL), MPK_OK);
	ck_assert_int_eq(mpk_symtab_loaded(&elf, &symbols, NULL), MPK_OK);
	mpk_hash_open(&l, &symbols, &h);
	found = mpk_hash_find(&h, name);
	if (at == 8)
		ck_assert(h.stops_loading == ((value & (value - 1)) != 0));
	mpk_elf_close(&elf);
	return found;
}

START_TEST(hash_table)
{
	ck_assert_int_eq(find("__tvm_ffi_add", UINT64_MAX, 0), MPK_HASH_FOUND);
	ck_assert_int_eq(find("__tvm_ffi_main", UINT64_MAX, 0), MPK_HASH_FOUND);
	ck_assert_int_eq(find("nobody", UINT64_MAX, 0), MPK_HASH_LOST);
	ck_assert_int_eq(find("__tvm_ffi_add", 0, 0), MPK_HASH_LOST); /* buckets */
	ck_assert_int_eq(find("__tvm_ffi_add", 0, 0x7fffffff), MPK_HASH_STRAYS);
	(void)find("__tvm_ffi_add", 8, 3);
}
END_TEST

/* --- what it registers ------------------------------------------------------------------- */

START_TEST(registered_names)
{
	static const char *const names[] = { "shop.twice",  "shop.a_name_with_more_than_fifteen",
					     "shop.cut",    "shop.old",
					     "shop.table0", "shop.table1" };
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 }, other = { 0 };
	struct mpk_global_names got;

	ck_assert_int_eq(mpk_elf_open(robust_load(&arena, REGISTERS), 0, &elf, NULL), MPK_OK);
	ck_assert_int_eq(mpk_registered_read(&elf, &arena, &got, NULL), MPK_OK);
	ck_assert_uint_eq(got.count, MPK_ARRAY_COUNT(names));
	for (size_t i = 0; i < got.count; i++)
		ck_assert(mpk_span_is(got.names[i], names[i]));
	ck_assert(got.has_more);
	ck_assert_int_eq(mpk_elf_open(robust_load(&arena, HOST), 0, &other, NULL), MPK_OK);
	ck_assert_int_eq(mpk_registered_read(&other, &arena, &got, NULL), MPK_OK);
	ck_assert(!got.count && !got.has_more);
}
END_TEST

static enum mpk_code read_registered(struct mpk_span bytes, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct mpk_global_names got;

	MPK_TRY(mpk_elf_open(bytes, 0, &elf, err));
	return mpk_registered_read(&elf, &scratch, &got, err);
}

START_TEST(damaged_registers)
{
	robust_check(REGISTERS, read_registered, 2000);
}
END_TEST

/* --- damage ------------------------------------------------------------------------------ */

static enum mpk_code read_all(struct mpk_span bytes, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct mpk_linking_tls tls;
	struct mpk_symtab symbols;
	struct mpk_linking l;
	struct mpk_wants w;
	struct mpk_hash h;

	MPK_TRY(mpk_elf_open(bytes, 0, &elf, err));
	MPK_TRY(mpk_wants_read(&elf, &w, err));
	mpk_wants_fini(&w);
	MPK_TRY(mpk_linking_open(&elf, &l, err));
	MPK_TRY(mpk_symtab_loaded(&elf, &symbols, err));
	mpk_hash_open(&l, &symbols, &h);
	(void)mpk_hash_find(&h, "__tvm_ffi_scale");
	MPK_TRY(mpk_linking_check_header(&elf, err));
	return mpk_linking_static_tls(&l, &symbols, &tls, err);
}

START_TEST(damaged_files)
{
	robust_check(DEVICE, read_all, 20000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("wants");
	TCase *tc = tcase_create("wants");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, NULL, finish);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, table_is_whole);
	tcase_add_test(tc, only_whole_names);
	tcase_add_test(tc, releases);
	tcase_add_test(tc, wants_of_libraries);
	tcase_add_test(tc, spread);
	tcase_add_test(tc, hash_table);
	tcase_add_test(tc, registered_names);
	tcase_add_test(tc, damaged_registers);
	tcase_add_test(tc, damaged_files);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
