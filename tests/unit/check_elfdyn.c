/* SPDX-License-Identifier: Apache-2.0 */
/* formats/elfdyn: libraries as the dynamic linker sees them, held against what libelf reads of them, and damaged */
#include <dlfcn.h>
#include <elf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "elf/image.h"
#include "elf/linking.h"
#include "elf/reader.h"
#include "elfdyn/elfdyn.h"
#include "module_made.h"
#include "robust.h"

static const char *const libraries[] = { "ffi", "ffi021", "legacy", "ffi_now", "ffi_noplt" };
enum { LIBRARIES = MPK_ARRAY_COUNT(libraries) };

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

static struct mpk_span load_module(int i)
{
	char path[4100];

	(void)snprintf(path, sizeof path, "%s/%s.so", modules, libraries[i]);
	return robust_load(&arena, path);
}

static struct mpk_elfdyn read_module(int i)
{
	struct mpk_error err = { 0 };
	struct mpk_elfdyn d;

	ck_assert_ok(mpk_elfdyn_read(load_module(i), &arena, &d, &err), err);
	return d;
}

START_TEST(agrees_with_libelf)
{
	struct mpk_span bytes = load_module(_i);
	struct mpk_survey found = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_exports exports;
	struct mpk_image image;
	struct mpk_elfdyn d;

	ck_assert_ok(mpk_image_open(bytes, NULL, &arena, &image, &err), err);
	ck_assert_ok(mpk_elfdyn_read(bytes, &arena, &d, &err), err);
	const struct mpk_symbol_source source = mpk_elfdyn_source(&d);

	ck_assert_ok(mpk_symbols_survey(&source, &found, &err), err);
	ck_assert_ok(mpk_exports_read(&source, &found, NULL, &arena, &exports, &err), err);
	ck_assert_int_eq(exports.convention, image.convention);
	ck_assert_int_eq(exports.gen, image.gen);
	ck_assert_uint_eq(d.needed_count, image.needed_count);
	for (size_t i = 0; i < d.needed_count; i++)
		ck_assert_str_eq(d.needed[i], image.needed[i]);
	ck_assert_uint_gt(exports.function_count, 10);
	ck_assert_uint_eq(exports.function_count, image.function_count);
	for (size_t i = 0; i < exports.function_count; i++) {
		ck_assert_str_eq(exports.functions[i].name, image.functions[i].name);
		ck_assert_uint_eq(exports.functions[i].address, image.functions[i].address);
	}
	ck_assert_uint_eq(exports.undefined_count, image.undefined_count);
	for (size_t i = 0; i < exports.undefined_count; i++)
		ck_assert_str_eq(exports.undefined[i], image.undefined[i]);
}
END_TEST

static bool has_symbol(const struct mpk_elfdyn *d, const char *name)
{
	const struct mpk_symbol_source source = mpk_elfdyn_source(d);
	struct mpk_error err = { 0 };
	struct mpk_symbol s;

	for (size_t i = 0; i < source.count; i++) {
		ck_assert_ok(source.get(source.self, i, &s, &err), err);
		if (strcmp(s.name, name) == 0 && s.defined)
			return true;
	}
	return false;
}

/* Static functions are in the table that is not loaded, and that may be missing. */
START_TEST(symbols_that_are_not_loaded)
{
	struct mpk_elfdyn d = read_module(_i), all = d;
	uint8_t *copy = mpk_arena_alloc(&arena, d.bytes.len);

	mpk_elfdyn_take_all_symbols(&all);
	ck_assert(!has_symbol(&d, "frame_dummy"));
	ck_assert(has_symbol(&all, "frame_dummy"));
	ck_assert_ptr_nonnull(copy);
	memcpy(copy, d.bytes.data, d.bytes.len);
	memset(copy + offsetof(Elf64_Ehdr, e_shnum), 0, 2);
	all = d;
	all.bytes = mpk_span_of(copy, d.bytes.len);
	mpk_elfdyn_take_all_symbols(&all);
	ck_assert_ptr_eq(all.symbols.data, d.symbols.data);
	ck_assert_uint_eq(all.symbol_count, d.symbol_count);
}
END_TEST

struct seen {
	const struct mpk_elf *elf;
	struct mpk_span bytes;
	size_t count, lazy, relative;
};

/* What a relocation says of itself is what is at its offset of the file. */
static void take_seen(void *arg, const struct mpk_relocation *r)
{
	struct seen *s = arg;
	Elf64_Rela x;

	s->count++;
	s->lazy += r->is_lazy;
	s->relative += r->is_relative;
	ck_assert(r->has_addend);
	ck_assert_uint_le(r->off + sizeof x, s->bytes.len);
	memcpy(&x, s->bytes.data + r->off, sizeof x);
	ck_assert_uint_eq(x.r_offset, r->address);
	ck_assert_int_eq(x.r_addend, r->addend);
	ck_assert_uint_eq(ELF64_R_SYM(x.r_info), r->symbol);
	ck_assert_uint_eq(ELF64_R_TYPE(x.r_info), r->type);
}

START_TEST(relocations_are_where_they_say)
{
	struct seen s = { .bytes = load_module(_i) };
	struct mpk_error err = { 0 };
	struct mpk_linking l;
	struct mpk_elf elf;
	Elf_Data *dynamic;
	uint64_t slots = 0;
	size_t entries;

	ck_assert_ok(mpk_elf_open(s.bytes, 0, &elf, &err), err);
	s.elf = &elf;
	ck_assert_ok(mpk_linking_open(&elf, &l, &err), err);
	ck_assert_ok(mpk_linking_relocations(&l, take_seen, &s, &err), err);
	/* those of the C library's start, and what is imported. Clang gives a PLT to the calls that it makes of its own, whatever
	 * the flags are. */
	ck_assert_uint_gt(s.count, 5);
	ck_assert_uint_ge(s.relative, 3);
	ck_assert_ok(mpk_dynamic_open(&elf, &dynamic, &entries, &err), err);
	(void)mpk_dynamic_find(dynamic, entries, DT_PLTRELSZ, &slots);
	ck_assert_uint_eq(s.lazy, slots / sizeof(Elf64_Rela));
	mpk_elf_close(&elf);
}
END_TEST

/* Each function that is imported has a slot, of the kind that its flags of linking make. */
START_TEST(every_import_has_a_slot)
{
	struct mpk_elfdyn d = read_module(_i);
	bool by_address = strstr(libraries[_i], "noplt");
	size_t ours = 0;

	ck_assert_int_eq(d.binds_now, strstr(libraries[_i], "_now") != NULL);
	for (size_t i = 0; i < d.slot_count; i++) {
		const struct mpk_slot *s = &d.slots[i];

		if (strncmp(s->name, "TVM", 3) != 0)
			continue;
		ours++;
		ck_assert_int_eq(s->kind, by_address ? MPK_SLOT_ADDRESS : MPK_SLOT_CALL);
		ck_assert_int_eq(s->addend, 0);
		ck_assert_uint_lt(s->entry, d.bytes.len);
	}
	/* the others have their functions through pointers of their own */
	ck_assert_uint_eq(ours, strncmp(libraries[_i], "ffi", 3) == 0 ? 2 : 0);
}
END_TEST

/* Reads each. */
static size_t has_any(const struct mpk_elfdyn *d)
{
	const struct mpk_symbol_source source = mpk_elfdyn_source(d);
	struct mpk_symbol s;
	size_t bytes = 0;

	for (size_t i = 0; i < source.count && i < 1000; i++)
		if (source.get(source.self, i, &s, NULL) == MPK_OK)
			bytes += strlen(s.name);
	return bytes;
}

static enum mpk_code elfdyn_reader(struct mpk_span bytes, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena own = { 0 };
	struct mpk_survey found = { 0 };
	struct mpk_exports exports;
	struct mpk_elfdyn d;

	MPK_TRY(mpk_elfdyn_read(bytes, &own, &d, err));
	const struct mpk_symbol_source source = mpk_elfdyn_source(&d);

	MPK_TRY(mpk_symbols_survey(&source, &found, err));
	struct mpk_elfdyn all = d;

	mpk_elfdyn_take_all_symbols(&all);
	(void)has_any(&all);
	return mpk_exports_read(&source, &found, NULL, &own, &exports, err);
}

/* At each length up to the dynamic section and past it in steps; one byte at a time in what is looked at. */
START_TEST(damaged_libraries_are_refused_or_read)
{
	struct mpk_span whole = load_module(_i);
	struct mpk_error err = { 0 };
	uint8_t *copy = mpk_arena_alloc(&arena, whole.len);
	unsigned random = 7;
	Elf64_Ehdr header;

	ck_assert_ptr_nonnull(copy);
	for (size_t len = 0; len < whole.len; len += len < 1024 ? 1 : 997)
		robust_try(elfdyn_reader, mpk_span_of(whole.data, len), "truncated");
	for (int i = 0; i < 20000; i++) {
		random = random * 1664525 + 1013904223;
		memcpy(copy, whole.data, whole.len);
		/* headers, symbols, hashes and relocations stand first, the dynamic section late */
		copy[random >> 8 & 1 ? (random >> 9) % 0x1000 % whole.len
				     : (random >> 9) % whole.len] ^= (uint8_t)(1 << (random & 7));
		(void)elfdyn_reader(mpk_span_of(copy, whole.len), &err);
	}
	memcpy(&header, whole.data, sizeof header);
	memcpy(copy, whole.data, whole.len);
	header.e_machine = EM_68K;
	memcpy(copy, &header, sizeof header);
	ck_assert_int_eq(elfdyn_reader(mpk_span_of(copy, whole.len), &err), MPK_E_LOAD);
	ck_assert_ptr_nonnull(strstr(err.text, "another machine: ELF machine 4, 64 bits"));
	header.e_ident[EI_DATA] ^= ELFDATA2LSB ^ ELFDATA2MSB;
	header.e_machine = EM_68K << 8;
	memcpy(copy, &header, sizeof header);
	ck_assert_int_eq(elfdyn_reader(mpk_span_of(copy, whole.len), &err), MPK_E_LOAD);
	ck_assert_ptr_nonnull(strstr(err.text, "another machine: ELF machine 4, 64 bits"));
	header.e_ident[EI_DATA] ^= ELFDATA2LSB ^ ELFDATA2MSB;
	header.e_machine = whole.data[EI_NIDENT + 2] == EM_AARCH64 ? EM_X86_64 : EM_AARCH64;
	memcpy(copy, &header, sizeof header);
	ck_assert_int_eq(elfdyn_reader(mpk_span_of(copy, whole.len), &err), MPK_E_LOAD);
	ck_assert_ptr_nonnull(strstr(err.text, header.e_machine == EM_AARCH64
						       ? "aarch64, 64 bits, little-endian; here"
						       : "x86-64, 64 bits, little-endian; here"));
	ck_assert_int_eq(elfdyn_reader(mpk_span_str("\x1f\x8b\x08 and more"), &err), MPK_E_LOAD);
	ck_assert_ptr_nonnull(strstr(err.text, "compressed by gzip"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("elfdyn");
	TCase *tc = tcase_create("all");
	SRunner *runner;

	if (!find_modules())
		return EXIT_FAILURE;
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_add_loop_test(tc, agrees_with_libelf, 0, LIBRARIES);
	tcase_add_loop_test(tc, every_import_has_a_slot, 0, LIBRARIES);
	tcase_add_loop_test(tc, relocations_are_where_they_say, 0, LIBRARIES);
	tcase_add_loop_test(tc, symbols_that_are_not_loaded, 0, LIBRARIES);
	tcase_add_loop_test(tc, damaged_libraries_are_refused_or_read, 0, LIBRARIES);
	suite_add_tcase(s, tc);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
