/* SPDX-License-Identifier: Apache-2.0 */
/* lib/pack/thin/sycl*: tables of SYCL's images that lose some, and tables that no compiler wrote. What a runtime is
 * given by a thinned library is in tests/cli/mpack/thin-sycl.sh. */
#include "robust.h"

#include <stdlib.h>

#include "base/cursor.h"
#include "elf/image.h"
#include "thin/thin.h"

#define LIBRARY "tests/data/gpu/sycl.so"

enum {
	WORDS_MAX = 4,
	IMAGES = 7, /* of the newer of two tables */
	IMAGE_BYTES = 80,
	BEGIN_AT = 32,
	END_AT = 40,
	KERNELS_AT = 48,
	KERNELS_END_AT = 56,
	ADDEND_AT = 16,
};

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

struct job {
	struct mpk_thin_options o;
	struct mpk_thin_report report;
	struct mpk_error err;
	struct mpk_span words[WORDS_MAX];
};

static enum mpk_code thin(struct job *j, struct mpk_span file, const char *const *words,
			  struct mpk_span *out)
{
	struct mpk_rope rope = mpk_rope_of(&arena);
	enum mpk_code code;

	j->o.keep = j->words;
	for (j->o.keep_count = 0; words[j->o.keep_count]; j->o.keep_count++)
		j->words[j->o.keep_count] = mpk_span_str(words[j->o.keep_count]);
	code = mpk_thin_library(file, &j->o, &arena, &rope, &j->report, &j->err);
	mpk_strbuf_fini(&j->report.present);
	return code == MPK_OK ? mpk_rope_flat(&rope, out, &j->err) : code;
}

/* --- a library that is changed ------------------------------------------------------------------- */

struct library {
	struct mpk_span file;
	struct mpk_elf elf;
	uint64_t descriptor, array; /* addresses, of the newer table */
};

/* The file's bytes of an address, to be changed. */
static uint8_t *at_address(const struct library *l, uint64_t address)
{
	struct mpk_span bytes;
	uint64_t off;

	ck_assert(mpk_elf_at_address(&l->elf, address, &bytes, &off));
	return (uint8_t *)(uintptr_t)bytes.data;
}

/* The relocation of a word, to be changed. */
static uint8_t *relocation_of(const struct library *l, uint64_t address)
{
	for (size_t i = 1; i < l->elf.section_count; i++) {
		GElf_Shdr h;
		GElf_Rela r;

		ck_assert_int_eq(mpk_elf_section(&l->elf, i, &h, NULL), MPK_OK);
		for (size_t k = 0; h.sh_type == SHT_RELA && k < mpk_elf_relocations(&l->elf, &h);
		     k++) {
			ck_assert(mpk_elf_relocation(&l->elf, &h, k, &r));
			if (r.r_offset == address)
				return (uint8_t *)(uintptr_t)l->file.data + h.sh_offset + k * 24;
		}
	}
	ck_abort_msg("no relocation for 0x%llx", (unsigned long long)address);
	return NULL;
}

static uint64_t pointer_at(const struct library *l, uint64_t address)
{
	return mpk_load_u64(relocation_of(l, address) + ADDEND_AT);
}

static void set_pointer(const struct library *l, uint64_t address, uint64_t value)
{
	uint8_t *p = relocation_of(l, address) + ADDEND_AT;

	for (unsigned i = 0; i < 8; i++)
		p[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t image(const struct library *l, size_t index)
{
	return l->array + index * IMAGE_BYTES;
}

static struct library open_library(void)
{
	static const uint8_t head[8] = { 1, 0, IMAGES };
	struct library l = { .file = robust_load(&arena, LIBRARY) };
	GElf_Phdr p;

	ck_assert_int_eq(mpk_elf_open(l.file, 0, &l.elf, NULL), MPK_OK);
	for (size_t i = 0; i < l.elf.segment_count && !l.descriptor; i++) {
		const uint8_t *found;

		ck_assert(mpk_elf_segment(&l.elf, i, &p));
		if (p.p_type != PT_LOAD || !(p.p_flags & PF_W))
			continue;
		found = memmem(l.file.data + p.p_offset, p.p_filesz, head, sizeof head);
		if (found)
			l.descriptor = p.p_vaddr + (uint64_t)(found - l.file.data) - p.p_offset;
	}
	ck_assert_uint_ne(l.descriptor, 0);
	l.array = pointer_at(&l, l.descriptor + 8);
	return l;
}

/* --- what is kept ---------------------------------------------------------------------------------- */

static const struct {
	const char *words[WORDS_MAX];
	size_t dropped, count; /* of the newer table */
	enum mpk_code code;
} rows[] = {
	{ { "spir64" }, 5, 3, MPK_OK },
	{ { "spir64", "spir64_gen" }, 2, 6, MPK_OK },
	{ { "spir64", "spir64_gen", "spir64_x86_64" }, 1, 7, MPK_OK },
	{ { "nvptx64" }, 8, 0, MPK_OK },
	{ { "sm_120a" }, 8, 0, MPK_OK },
	{ { "spir64_gen" }, 0, 0, MPK_E_CONFLICT },
	{ { "spir64_x86_64" }, 0, 0, MPK_E_CONFLICT },
	{ { "spir64_fpga" }, 0, 0, MPK_E_CONFLICT },
};

START_TEST(keeps_what_is_named)
{
	struct library l = open_library(), now = l;
	struct job j = { 0 };
	size_t begins = 0;

	ck_assert_msg(thin(&j, l.file, rows[_i].words, &now.file) == rows[_i].code, "row %d: %s",
		      _i, j.err.text);
	mpk_elf_close(&l.elf);
	if (rows[_i].code != MPK_OK)
		return;
	ck_assert_uint_eq(j.report.dropped, rows[_i].dropped);
	ck_assert_uint_eq(j.report.images, IMAGES + 2);
	ck_assert_uint_eq(j.report.left, 0);
	ck_assert_int_eq(mpk_elf_open(now.file, 0, &now.elf, NULL), MPK_OK);
	ck_assert_uint_eq(mpk_load_u16(at_address(&now, now.descriptor + 2)), rows[_i].count);
	/* images that are kept have bytes, and the others none */
	for (size_t i = 0; i < IMAGES; i++) {
		uint64_t begin = pointer_at(&now, image(&now, i) + BEGIN_AT);
		uint64_t end = pointer_at(&now, image(&now, i) + END_AT);

		ck_assert(i < rows[_i].count ? begin < end : begin == end);
		begins += begin < end;
	}
	ck_assert_uint_eq(begins, rows[_i].count);
	mpk_elf_close(&now.elf);
}
END_TEST

/* --- tables that no compiler wrote --------------------------------------------------------------------- */

static void count_beyond(struct library *l)
{
	memset(at_address(l, l->descriptor + 2), 0xff, 2);
}

static void count_of_more(struct library *l)
{
	*at_address(l, l->descriptor + 2) = IMAGES + 1;
}

static void other_version(struct library *l)
{
	*at_address(l, l->descriptor) = 2;
}

static void array_beyond(struct library *l)
{
	set_pointer(l, l->descriptor + 8, UINT64_MAX - 16);
}

static void other_struct(struct library *l)
{
	*at_address(l, image(l, 3)) = 2;
}

static void other_kind(struct library *l)
{
	*at_address(l, image(l, 6) + 2) = 1;
}

static void end_in_front(struct library *l)
{
	set_pointer(l, image(l, 1) + END_AT, pointer_at(l, image(l, 1) + BEGIN_AT) - 1);
}

static void no_device(struct library *l)
{
	set_pointer(l, image(l, 0) + 8, UINT64_C(1) << 40);
}

/* What is no table of SYCL's leaves all of its images alone: two are those of the other table. */
static void (*const strangers[])(struct library *) = { count_beyond, count_of_more, other_version,
						       array_beyond, other_struct,  other_kind,
						       end_in_front, no_device };

START_TEST(leaves_strange_tables_alone)
{
	static const char *const words[] = { "gfx906", NULL };
	struct library l = open_library();
	struct job j = { .o.allow_missing = true };
	struct mpk_span made;

	strangers[_i](&l);
	ck_assert_msg(thin(&j, l.file, words, &made) == MPK_OK, "%d: %s", _i, j.err.text);
	ck_assert_uint_eq(j.report.images, 2);
	ck_assert_uint_eq(j.report.dropped, 2);
	ck_assert_uint_gt(j.report.left, 0);
	mpk_elf_close(&l.elf);
}
END_TEST

/* An image that is in a section and reaches out of it is nobody's: it stays, and so does its section. */
START_TEST(leaves_images_beyond_their_section)
{
	static const char *const words[] = { "gfx906", NULL };
	struct library l = open_library();
	struct job j = { .o.allow_missing = true };
	struct mpk_span made;

	set_pointer(&l, image(&l, 2) + END_AT, pointer_at(&l, image(&l, 2) + END_AT) + 4096);
	ck_assert_msg(thin(&j, l.file, words, &made) == MPK_OK, "%s", j.err.text);
	ck_assert_uint_eq(j.report.images, IMAGES + 1);
	ck_assert_uint_eq(j.report.left, 1);
	mpk_elf_close(&l.elf);
}
END_TEST

static void overlapping(struct library *l)
{
	set_pointer(l, image(l, 1) + END_AT, pointer_at(l, image(l, 1) + END_AT) - 4);
	set_pointer(l, image(l, 4) + BEGIN_AT, pointer_at(l, image(l, 1) + BEGIN_AT) + 8);
	set_pointer(l, image(l, 4) + END_AT, pointer_at(l, image(l, 1) + END_AT));
}

static void kernels_beyond(struct library *l)
{
	set_pointer(l, image(l, 0) + KERNELS_END_AT, UINT64_MAX - 8);
}

static void kernels_elsewhere(struct library *l)
{
	set_pointer(l, image(l, 0) + KERNELS_AT, 64);
}

static void kernel_without_name(struct library *l)
{
	set_pointer(l, pointer_at(l, image(l, 0) + KERNELS_AT) + 8, UINT64_C(1) << 50);
}

static void properties_beyond(struct library *l)
{
	set_pointer(l, image(l, 0) + 72, UINT64_MAX - 8);
}

static void (*const broken[])(struct library *) = { overlapping, kernels_beyond, kernels_elsewhere,
						    kernel_without_name, properties_beyond };

START_TEST(refuses_broken_tables)
{
	static const char *const words[] = { "spir64", NULL };
	struct library l = open_library();
	struct job j = { 0 };
	struct mpk_span made;

	broken[_i](&l);
	ck_assert_msg(thin(&j, l.file, words, &made) == MPK_E_CORRUPT, "%d: %s", _i, j.err.text);
	mpk_elf_close(&l.elf);
}
END_TEST

/* One image in two structs is kept if one of them is. */
START_TEST(shares_images)
{
	static const char *const words[] = { "spir64", NULL };
	struct library l = open_library(), now = l;
	struct job j = { 0 };

	set_pointer(&l, image(&l, 3) + BEGIN_AT, pointer_at(&l, image(&l, 4) + BEGIN_AT));
	set_pointer(&l, image(&l, 3) + END_AT, pointer_at(&l, image(&l, 4) + END_AT));
	ck_assert_msg(thin(&j, l.file, words, &now.file) == MPK_OK, "%s", j.err.text);
	ck_assert_uint_eq(j.report.dropped, 4);
	mpk_elf_close(&l.elf);
	ck_assert_int_eq(mpk_elf_open(now.file, 0, &now.elf, NULL), MPK_OK);
	ck_assert_uint_eq(mpk_load_u16(at_address(&now, now.descriptor + 2)), 4);
	ck_assert_uint_eq(pointer_at(&now, image(&now, 1) + BEGIN_AT),
			  pointer_at(&now, image(&now, 2) + BEGIN_AT));
	mpk_elf_close(&now.elf);
}
END_TEST

/* An image without kernels, which dpnp has, may be there for other images: a device that runs it keeps it, and SPIR-V of
 * kernels that are in no machine code any more. */
START_TEST(keeps_images_without_kernels)
{
	static const struct {
		const char *words[2];
		size_t image, dropped; /* 5 of 9 as the library is */
	} cases[] = { { { "spir64_gen" }, 3, 4 },
		      { { "spir64_x86_64" }, 3, 5 },
		      { { "spir64_gen" }, 1, 4 },
		      { { "spir64_x86_64" }, 1, 4 } };
	struct library l = open_library();
	struct job j = { .o.device_count = 1 };
	struct mpk_span made;
	uint64_t at = image(&l, cases[_i].image);

	set_pointer(&l, at + KERNELS_END_AT, pointer_at(&l, at + KERNELS_AT));
	ck_assert_msg(thin(&j, l.file, cases[_i].words, &made) == MPK_OK, "%s", j.err.text);
	ck_assert_uint_eq(j.report.dropped, cases[_i].dropped);
	mpk_elf_close(&l.elf);
}
END_TEST

/* --- damage ------------------------------------------------------------------------------------------ */

static enum mpk_code try_thin(struct mpk_span bytes, struct mpk_error *err)
{
	static const char *const words[] = { "spir64", NULL };
	struct job j = { .o.allow_missing = bytes.len % 2 };
	struct mpk_elf elf = { 0 };
	struct mpk_span made;
	enum mpk_code code = thin(&j, bytes, words, &made);

	*err = j.err;
	if (code == MPK_OK) {
		ck_assert_uint_le(made.len, bytes.len);
		ck_assert_int_eq(mpk_elf_open(made, 0, &elf, NULL), MPK_OK);
		mpk_elf_close(&elf);
	}
	mpk_arena_fini(&arena);
	return code;
}

START_TEST(survives_damage)
{
	robust_check(LIBRARY, try_thin, 40000);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("thin_sycl");
	TCase *t = tcase_create("all");
	SRunner *r;

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, NULL, clear);
	tcase_add_loop_test(t, keeps_what_is_named, 0, MPK_ARRAY_COUNT(rows));
	tcase_add_loop_test(t, leaves_strange_tables_alone, 0, MPK_ARRAY_COUNT(strangers));
	tcase_add_test(t, leaves_images_beyond_their_section);
	tcase_add_loop_test(t, refuses_broken_tables, 0, MPK_ARRAY_COUNT(broken));
	tcase_add_test(t, shares_images);
	tcase_add_loop_test(t, keeps_images_without_kernels, 0, 4);
	tcase_add_test(t, survives_damage);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
