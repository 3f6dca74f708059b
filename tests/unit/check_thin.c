/* SPDX-License-Identifier: Apache-2.0 */
/* lib/pack/thin: what is kept has the bytes that it had, what points to it points to it, and nothing else of memory
 * changes. The dynamic loader's and the compilers' own view is in tests/cli/mpack/thin*.sh. */
#include "robust.h"

#include <stdlib.h>

#include "base/cursor.h"
#include "code/format.h"
#include "cubin/cubin.h"
#include "elf/image.h"
#include "fatbin/fatbin.h"
#include "offload/offload.h"
#include "thin/thin.h"

#define GPU "tests/data/gpu/"
#define DEVICE "tests/data/device/"

enum { WORDS_MAX = 4 };

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

struct job {
	struct mpk_span words[WORDS_MAX];
	struct mpk_thin_options o;
	struct mpk_thin_report report;
};

/* A list of words, ended by NULL or full. */
static void set_words(struct job *j, const char *const *words)
{
	j->o.keep = j->words;
	for (j->o.keep_count = 0; j->o.keep_count < WORDS_MAX && words[j->o.keep_count];
	     j->o.keep_count++)
		j->words[j->o.keep_count] = mpk_span_str(words[j->o.keep_count]);
}

static enum mpk_code thin(struct job *j, struct mpk_span file, struct mpk_span *out,
			  struct mpk_error *err)
{
	struct mpk_rope rope = mpk_rope_of(&arena);
	enum mpk_code code = mpk_thin_library(file, &j->o, &arena, &rope, &j->report, err);

	mpk_strbuf_fini(&j->report.present);
	return code == MPK_OK ? mpk_rope_flat(&rope, out, err) : code;
}

/* --- containers ------------------------------------------------------------------------------- */

struct devices {
	struct mpk_elf elf;
	const struct mpk_image_device *items;
	size_t count;
};

static struct devices open_devices(struct mpk_span file)
{
	struct mpk_error err = { 0 };
	struct devices d = { 0 };

	ck_assert_msg(mpk_elf_open(file, 0, &d.elf, &err) == MPK_OK, "%s", err.text);
	ck_assert_int_eq(mpk_elf_device_code(&d.elf, &(struct mpk_image){ 0 }, &arena, &d.items,
					     &d.count, NULL),
			 MPK_OK);
	return d;
}

static void put_targets(const struct devices *d, struct mpk_strbuf *out)
{
	for (size_t i = 0; i < d->count; i++) {
		const struct mpk_code_target *targets;
		size_t count;

		ck_assert_int_eq(
			mpk_code_targets(d->items[i].bytes, &arena, &targets, &count, NULL),
			MPK_OK);
		mpk_strbuf_printf(out, "%s%s:", out->len ? " " : "", d->items[i].section);
		for (size_t k = 0; k < count; k++)
			mpk_strbuf_printf(out, "%s%s", k ? "," : "", targets[k].name);
	}
}

static const struct {
	const char *file, *words[WORDS_MAX];
	bool allow_missing, shrinks;
	const char *targets;
} rows[] = {
	{ GPU "cuda.so", { "sm_80" }, false, true, ".nv_fatbin:sm_80 .nv_fatbin:sm_80" },
	{ GPU "cuda.so", { "sm_90" }, false, true, ".nv_fatbin:sm_90 .nv_fatbin:sm_90" },
	{ GPU "cuda.so",
	  { "sm_90", "compute_90" },
	  false,
	  true,
	  ".nv_fatbin:sm_90,compute_90 .nv_fatbin:sm_90,compute_90" },
	{ GPU "cuda.so",
	  { "sm_90", "sm_80", "compute_90" },
	  false,
	  false,
	  ".nv_fatbin:sm_80,sm_90,compute_90 .nv_fatbin:sm_80,sm_90,compute_90" },
	{ GPU "cuda.so", { "sm_100" }, true, true, "" },
	{ GPU "hip.so", { "gfx1100" }, false, true, ".hip_fatbin:gfx1100 .hip_fatbin:gfx1100" },
	{ GPU "hip.so",
	  { "gfx90a" },
	  false,
	  true,
	  ".hip_fatbin:gfx90a:xnack+ .hip_fatbin:gfx90a:xnack+" },
	{ GPU "hip.so",
	  { "gfx90a:xnack+" },
	  false,
	  true,
	  ".hip_fatbin:gfx90a:xnack+ .hip_fatbin:gfx90a:xnack+" },
	{ GPU "hip-packed.so",
	  { "gfx1100" },
	  false,
	  false,
	  ".hip_fatbin:gfx1100 .hip_fatbin:gfx1100" },
};

START_TEST(keeps_what_is_named)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf got = { 0 };
	struct mpk_span file = robust_load(&arena, rows[_i].file), made;
	struct mpk_error err = { 0 };
	struct job j = { .o.allow_missing = rows[_i].allow_missing };
	struct devices d;

	set_words(&j, rows[_i].words);
	ck_assert_msg(thin(&j, file, &made, &err) == MPK_OK, "%s: %s", rows[_i].file, err.text);
	ck_assert_msg(rows[_i].shrinks ? made.len < file.len : made.len == file.len,
		      "row %d: %zu of %zu bytes", _i, made.len, file.len);
	d = open_devices(made);
	put_targets(&d, &got);
	ck_assert_str_eq(mpk_strbuf_text(&got), rows[_i].targets);
	mpk_elf_close(&d.elf);
}
END_TEST

/* What is thinned again to the same is the same. */
START_TEST(is_idempotent)
{
	struct mpk_span file = robust_load(&arena, rows[_i].file), once, twice;
	struct job j = { .o.allow_missing = rows[_i].allow_missing };

	set_words(&j, rows[_i].words);
	ck_assert_int_eq(thin(&j, file, &once, NULL), MPK_OK);
	ck_assert_int_eq(thin(&j, once, &twice, NULL), MPK_OK);
	ck_assert(mpk_span_equal(once, twice));
}
END_TEST

/* --- memory ----------------------------------------------------------------------------------- */

/* The byte at an address; -1: nothing is loaded there. */
static int byte_at(const struct mpk_elf *elf, uint64_t address)
{
	struct mpk_span bytes;
	uint64_t off;

	return mpk_elf_at_address(elf, address, &bytes, &off) && bytes.len ? bytes.data[0] : -1;
}

static uint64_t word_at(const struct mpk_elf *elf, uint64_t address)
{
	struct mpk_span bytes;
	uint64_t off;

	ck_assert(mpk_elf_at_address(elf, address, &bytes, &off) && bytes.len >= 8);
	return mpk_load_u64(bytes.data);
}

static bool is_among(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (strcmp(name, *names) == 0)
			return true;
	return false;
}

/* All sections that are loaded, but for those that tell of device code or of the room for a program header. */
START_TEST(leaves_memory_alone)
{
	static const char *const others[] = { ".nv_fatbin",        ".hip_fatbin", ".rela.dyn",
					      ".nvFatBinSegment",  ".dynamic",    ".gnu.hash",
					      ".hipFatBinSegment", ".dynsym",     NULL };
	struct mpk_span file = robust_load(&arena, rows[_i].file), made;
	struct job j = { .o.allow_missing = rows[_i].allow_missing };
	struct devices before, after;
	size_t compared = 0;

	set_words(&j, rows[_i].words);
	ck_assert_int_eq(thin(&j, file, &made, NULL), MPK_OK);
	before = open_devices(file);
	after = open_devices(made);
	ck_assert_uint_eq(before.elf.section_count, after.elf.section_count);
	for (size_t i = 1; i < before.elf.section_count; i++) {
		const char *name = mpk_elf_section_name(&before.elf, i);
		GElf_Shdr h;

		ck_assert_int_eq(mpk_elf_section(&before.elf, i, &h, NULL), MPK_OK);
		if (!(h.sh_flags & SHF_ALLOC) || h.sh_type == SHT_NOBITS || is_among(name, others))
			continue;
		for (uint64_t at = h.sh_addr; at < h.sh_addr + h.sh_size; at++, compared++)
			ck_assert_msg(byte_at(&before.elf, at) == byte_at(&after.elf, at),
				      "%s at 0x%llx", name, (unsigned long long)at);
	}
	ck_assert_uint_gt(compared, 0);
	mpk_elf_close(&before.elf);
	mpk_elf_close(&after.elf);
}
END_TEST

/* Words of the wrappers, 24 bytes each, whose second is relocated. */
START_TEST(wrappers_point_at_containers)
{
	struct mpk_span file = robust_load(&arena, rows[_i].file), made;
	struct job j = { .o.allow_missing = rows[_i].allow_missing };
	size_t wrappers = 0, found = 0;
	struct devices d;

	set_words(&j, rows[_i].words);
	ck_assert_int_eq(thin(&j, file, &made, NULL), MPK_OK);
	d = open_devices(made);
	for (size_t i = 1; i < d.elf.section_count; i++) {
		const char *name = mpk_elf_section_name(&d.elf, i);
		GElf_Shdr h;
		GElf_Rela r;

		ck_assert_int_eq(mpk_elf_section(&d.elf, i, &h, NULL), MPK_OK);
		if (strcmp(name, ".nvFatBinSegment") == 0 || strcmp(name, ".hipFatBinSegment") == 0)
			wrappers += (size_t)(h.sh_size / 24);
		for (size_t k = 0; h.sh_type == SHT_RELA && k < mpk_elf_relocations(&d.elf, &h);
		     k++) {
			uint64_t magic;

			ck_assert(mpk_elf_relocation(&d.elf, &h, k, &r));
			if (GELF_R_TYPE(r.r_info) != R_X86_64_RELATIVE ||
			    byte_at(&d.elf, (uint64_t)r.r_addend) < 0)
				continue;
			magic = word_at(&d.elf, (uint64_t)r.r_addend);
			found += (uint32_t)magic == 0xba55ed50 ||
				 memcmp(&magic, "__CLANG_", 8) == 0 ||
				 memcmp(&magic, "CCOB", 4) == 0;
		}
	}
	ck_assert_uint_eq(wrappers, 2);
	ck_assert_uint_eq(found, 2);
	mpk_elf_close(&d.elf);
}
END_TEST

/* --- debug sections, packing --------------------------------------------------------------------- */

static const char *const cubins[] = {
	DEVICE "sums_lines.sm_90.cubin",
	DEVICE "tiny.sm_120a.cubin",
	DEVICE "calls_linked.sm_80.cubin",
};

START_TEST(strips_cubins)
{
	struct mpk_span file = robust_load(&arena, cubins[_i]), made;
	struct mpk_rope rope = mpk_rope_of(&arena);
	const struct mpk_cubin_difference *d;
	struct mpk_cubin before, after;
	uint64_t dropped;
	size_t count;

	ck_assert_int_eq(mpk_cubin_strip(file, &rope, &dropped, NULL), MPK_OK);
	ck_assert_uint_gt(dropped, 0);
	ck_assert_int_eq(mpk_rope_flat(&rope, &made, NULL), MPK_OK);
	/* what is shorter than the alignment of code becomes zeros */
	ck_assert_uint_le(made.len, file.len);
	ck_assert_uint_lt(file.len - made.len, dropped);
	ck_assert(dropped < 1024 || made.len < file.len);
	ck_assert_int_eq(mpk_cubin_read(file, &arena, &before, NULL), MPK_OK);
	ck_assert_int_eq(mpk_cubin_read(made, &arena, &after, NULL), MPK_OK);
	ck_assert_uint_eq(before.kernel_count, after.kernel_count);
	ck_assert_int_eq(mpk_cubin_compare(file, made, &arena, &d, &count, NULL), MPK_OK);
	for (size_t i = 0; i < count; i++)
		ck_assert_msg(!d[i].is_code, "%.*s", (int)d[i].name.len, d[i].name.data);
	rope = mpk_rope_of(&arena);
	ck_assert_int_eq(mpk_cubin_strip(made, &rope, &dropped, NULL), MPK_OK);
	ck_assert_uint_eq(dropped, 0);
	ck_assert_uint_eq(rope.len, 0);
}
END_TEST

/* What is packed unpacks to what it was; and is not packed twice. */
START_TEST(compresses)
{
	struct mpk_span file = robust_load(&arena, GPU "cuda.so"), made, again;
	struct job j = { .o.compress = true };
	struct devices before, after;

	ck_assert_int_eq(thin(&j, file, &made, NULL), MPK_OK);
	ck_assert_uint_lt(made.len, file.len);
	before = open_devices(file);
	after = open_devices(made);
	ck_assert_uint_eq(before.count, after.count);
	for (size_t i = 0; i < before.count; i++) {
		uint64_t left = MPK_FATBIN_TOTAL_MAX;
		struct mpk_fatbin a, b;

		ck_assert_int_eq(mpk_fatbin_read(before.items[i].bytes, &arena, &a, NULL), MPK_OK);
		ck_assert_int_eq(mpk_fatbin_read(after.items[i].bytes, &arena, &b, NULL), MPK_OK);
		ck_assert_uint_eq(a.entry_count, b.entry_count);
		for (size_t k = 0; k < a.entry_count; k++) {
			struct mpk_span x, y;

			ck_assert_int_eq(
				mpk_fatbin_unpack(&a.entries[k], &left, NULL, &arena, &x, NULL),
				MPK_OK);
			ck_assert_int_eq(
				mpk_fatbin_unpack(&b.entries[k], &left, NULL, &arena, &y, NULL),
				MPK_OK);
			ck_assert(mpk_span_equal(x, y));
			ck_assert_int_ne(b.entries[k].packing, MPK_FATBIN_STORED);
		}
	}
	mpk_elf_close(&before.elf);
	mpk_elf_close(&after.elf);
	ck_assert_int_eq(thin(&j, made, &again, NULL), MPK_OK);
	ck_assert(mpk_span_equal(made, again));
}
END_TEST

/* --- refusals -------------------------------------------------------------------------------------- */

START_TEST(refuses_to_leave_a_device_without_code)
{
	static const char *const words[WORDS_MAX] = { "sm_86", "sm_90" };
	static const char *const ptx[WORDS_MAX] = { "compute_100", "sm_90" };
	struct mpk_span file = robust_load(&arena, GPU "cuda.so"), made;
	struct mpk_error err = { 0 };
	struct job j = { 0 };

	set_words(&j, words);
	ck_assert_int_eq(thin(&j, file, &made, &err), MPK_E_CONFLICT);
	ck_assert_ptr_nonnull(strstr(err.text, ".nv_fatbin:0 has sm_80 cubin alone for sm_86"));
	set_words(&j, ptx);
	ck_assert_int_eq(thin(&j, file, &made, &err), MPK_E_CONFLICT);
	ck_assert_ptr_nonnull(strstr(err.text, "compute_90 PTX alone for compute_100"));
	j.o.allow_missing = true;
	ck_assert_int_eq(thin(&j, file, &made, &err), MPK_OK);
}
END_TEST

START_TEST(refuses_words)
{
	static const char *const bad[] = {
		"", "90", "sm_", "sm_x", "sm_90ab", "SM_90", "a b", "-"
	};
	static const char *const good[] = { "sm_90",         "sm_90a", "compute_100f",
					    "gfx90a:xnack+", "lto_90", "spir64" };
	struct mpk_error err;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(bad); i++) {
		ck_assert_int_eq(mpk_thin_check_word("--keep", mpk_span_str(bad[i]), &err),
				 MPK_E_USAGE);
		ck_assert_uint_gt(strlen(err.text), 0);
	}
	for (size_t i = 0; i < MPK_ARRAY_COUNT(good); i++)
		ck_assert_msg(mpk_thin_check_word("--keep", mpk_span_str(good[i]), NULL) == MPK_OK,
			      "%s", good[i]);
}
END_TEST

START_TEST(refuses_other_files)
{
	static const char *const files[] = { GPU "first.cu", DEVICE "two.sm_75.cubin" };
	static const char *const words[WORDS_MAX] = { "sm_90" };
	enum { TYPE_AT = 16 };
	struct mpk_span made, object = robust_load(&arena, GPU "cuda-rdc.o");
	struct mpk_error err = { 0 };
	struct job j = { 0 };

	set_words(&j, words);
	ck_assert_int_eq(thin(&j, object, &made, &err), MPK_OK);
	((uint8_t *)(uintptr_t)object.data)[TYPE_AT] = ET_CORE;
	ck_assert_int_eq(thin(&j, object, &made, &err), MPK_E_UNSUPPORTED);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(files); i++)
		ck_assert_int_eq(thin(&j, robust_load(&arena, files[i]), &made, &err),
				 MPK_E_UNSUPPORTED);
}
END_TEST

/* Found by fuzz_thin: a section of device code without a container in it. */
START_TEST(takes_a_section_of_zeros)
{
	static const char *const words[WORDS_MAX] = { "sm_90" };
	struct mpk_span file = robust_load(&arena, GPU "cuda.so"), made;
	struct job j = { 0 };
	struct devices d = open_devices(file);

	ck_assert_uint_eq(d.count, 2);
	for (size_t i = 0; i < d.count; i++)
		memset((uint8_t *)(uintptr_t)d.items[i].bytes.data, 0, d.items[i].bytes.len);
	mpk_elf_close(&d.elf);
	set_words(&j, words);
	ck_assert_int_eq(thin(&j, file, &made, NULL), MPK_OK);
	ck_assert(mpk_span_equal(file, made));
}
END_TEST

/* --- damage ----------------------------------------------------------------------------------------- */

/* Whatever is written can be opened, and is not longer than what was read. */
static enum mpk_code try_thin(struct mpk_span bytes, struct mpk_error *err)
{
	static const char *const words[WORDS_MAX] = { "sm_90", "gfx1100" };
	struct mpk_arena own = { 0 };
	struct mpk_rope rope = mpk_rope_of(&own);
	struct mpk_span flat;
	struct mpk_elf elf = { 0 };
	struct job j = { .o = { .drop_debug = true, .allow_missing = true } };
	enum mpk_code code;

	set_words(&j, words);
	code = mpk_thin_library(bytes, &j.o, &own, &rope, &j.report, err);
	if (code == MPK_OK) {
		ck_assert_int_eq(mpk_rope_flat(&rope, &flat, NULL), MPK_OK);
		ck_assert_uint_le(flat.len, bytes.len);
		ck_assert_int_eq(mpk_elf_open(flat, 0, &elf, NULL), MPK_OK);
		mpk_elf_close(&elf);
	}
	mpk_strbuf_fini(&j.report.present);
	mpk_arena_fini(&own);
	return code;
}

static const char *const damaged[] = { GPU "cuda.so", GPU "hip.so", GPU "hip-packed.so" };

START_TEST(survives_damage)
{
	robust_check(damaged[_i], try_thin, 20000);
}
END_TEST

/* The same as a program that is linked to one address. */
static enum mpk_code try_program(struct mpk_span bytes, struct mpk_error *err)
{
	enum { TYPE_AT = 16 };
	uint8_t *copy = malloc(bytes.len + 1);
	enum mpk_code code;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, bytes.data, bytes.len);
	if (bytes.len > TYPE_AT)
		copy[TYPE_AT] = ET_EXEC;
	code = try_thin(mpk_span_of(copy, bytes.len), err);
	free(copy);
	return code;
}

START_TEST(survives_damage_as_program)
{
	robust_check(damaged[_i], try_program, 20000);
}
END_TEST

static enum mpk_code try_strip(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_arena own = { 0 };
	struct mpk_rope rope = mpk_rope_of(&own);
	uint64_t dropped;
	enum mpk_code code = mpk_cubin_strip(bytes, &rope, &dropped, err);

	if (code == MPK_OK)
		ck_assert_uint_le(rope.len, bytes.len);
	mpk_arena_fini(&own);
	return code;
}

START_TEST(strip_survives_damage)
{
	robust_check(cubins[_i], try_strip, 20000);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("thin");
	TCase *t = tcase_create("all");
	SRunner *r;

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, NULL, clear);
	tcase_add_loop_test(t, keeps_what_is_named, 0, MPK_ARRAY_COUNT(rows));
	tcase_add_loop_test(t, is_idempotent, 0, MPK_ARRAY_COUNT(rows));
	tcase_add_loop_test(t, leaves_memory_alone, 0, MPK_ARRAY_COUNT(rows));
	tcase_add_loop_test(t, wrappers_point_at_containers, 0, MPK_ARRAY_COUNT(rows));
	tcase_add_loop_test(t, strips_cubins, 0, MPK_ARRAY_COUNT(cubins));
	tcase_add_test(t, compresses);
	tcase_add_test(t, refuses_to_leave_a_device_without_code);
	tcase_add_test(t, refuses_words);
	tcase_add_test(t, refuses_other_files);
	tcase_add_test(t, takes_a_section_of_zeros);
	tcase_add_loop_test(t, survives_damage, 0, MPK_ARRAY_COUNT(damaged));
	tcase_add_loop_test(t, survives_damage_as_program, 0, MPK_ARRAY_COUNT(damaged));
	tcase_add_loop_test(t, strip_survives_damage, 0, MPK_ARRAY_COUNT(cubins));
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
