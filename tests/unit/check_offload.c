/* SPDX-License-Identifier: Apache-2.0 */
/* formats/offload and the splitting of sections: what Clang wrote, and what it writes in versions that
 * are not at hand */
#include "robust.h"

#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "amdgpu/amdgpu.h"
#include "base/compiler.h"
#include "base/cursor.h"
#include "code/info.h"
#include "elf/image.h"
#include "offload/offload.h"

#define DATA "tests/data/gpu/"

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

static struct mpk_image open_image(const char *path)
{
	struct mpk_error err = { 0 };
	struct mpk_image image;

	ck_assert_msg(mpk_image_open(robust_load(&arena, path), NULL, &arena, &image, &err) ==
			      MPK_OK,
		      "%s: %s", path, err.text);
	return image;
}

/* --- sections ---------------------------------------------------------------------------- */

static const struct {
	const char *path, *section;
	size_t count, images; /* containers; images of all of them that are no host's */
} libraries[] = {
	{ DATA "cuda.so", ".nv_fatbin", 2, 6 },
	{ DATA "cuda-rdc.o", "__nv_relfatbin", 1, 2 },
	{ DATA "hip.so", ".hip_fatbin", 2, 4 },
	{ DATA "hip-packed.so", ".hip_fatbin", 2, 4 },
	{ DATA "offload.o", ".llvm.offloading", 2, 2 },
	{ DATA "bundled.o", "__CLANG_OFFLOAD_BUNDLE__openmp-amdgcn-amd-amdhsa--gfx90a", 1, 0 },
};

/* The first member has an odd length, and the second begins behind a line end; zeros fill the section. */
START_TEST(archives_end_behind_their_last_member)
{
#define MEMBER(size) "a/              0           0     0     644     " size "         `\n"
	static const char text[] = "!<arch>\n" MEMBER("3") "abc\n" MEMBER("2") "xy";
	uint8_t section[sizeof text + 15] = { 0 };

	memcpy(section, text, sizeof text);
	ck_assert_uint_eq(mpk_offload_image_bytes(mpk_span_of(section, sizeof section)),
			  sizeof text - 1);
	/* a member that is cut off */
	ck_assert_uint_eq(mpk_offload_image_bytes(mpk_span_of(section, sizeof text - 2)), 0);
#undef MEMBER
}
END_TEST

START_TEST(sections)
{
	struct mpk_image image = open_image(libraries[_i].path);
	size_t images = 0;

	ck_assert_uint_eq(image.device_count, libraries[_i].count);
	for (size_t i = 0; i < image.device_count; i++) {
		const struct mpk_image_device *d = &image.devices[i];
		struct mpk_code_info code;

		ck_assert_str_eq(d->section, libraries[_i].section);
		ck_assert_uint_eq(d->index, i);
		ck_assert_ptr_eq(d->bytes.data, image.bytes.data + d->off);
		ck_assert_int_eq(mpk_code_info_read(d->bytes, d->off, NULL, &arena, &code, NULL),
				 MPK_OK);
		ck_assert_ptr_null(mpk_code_info_problem(&code));
		for (size_t k = 0; k < code.image_count; k++)
			images += code.images[k].format != NULL;
	}
	ck_assert_uint_eq(images, libraries[_i].images);
}
END_TEST

/* Padding, empty containers, and bytes that no compiler wrote. */
START_TEST(what_is_none)
{
	static const uint8_t junk[64] = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3 };
	static const uint8_t empty[24] = { 0x50, 0xed, 0x55, 0xba, 1, 0, 16 };
	struct mpk_image_device *items = NULL;
	size_t count = 0, cap = 0;

	ck_assert_int_eq(mpk_device_code_split(mpk_span_of(empty, sizeof empty), 0, "s", &items,
					       &count, &cap, NULL),
			 MPK_OK);
	ck_assert_uint_eq(count, 0);
	ck_assert_int_eq(mpk_device_code_split(mpk_span_of(junk, sizeof junk), 100, "s", &items,
					       &count, &cap, NULL),
			 MPK_OK);
	ck_assert_uint_eq(count, 1);
	ck_assert_uint_eq(items[0].off, 108);
	ck_assert_uint_eq(items[0].bytes.len, 56);
	free(items);
}
END_TEST

static struct mpk_span plain_bundle(void);
static struct mpk_span pack(unsigned version, unsigned method, struct mpk_span plain);

/* --- among other data -------------------------------------------------------------------- */

static const char *const embedded[] = {
	"tests/data/device/sums.sm_90.cubin",
	"tests/data/device/tiny.size.fatbin",
	"tests/data/device/kernel.spv",
	DATA "mix.gfx90a.hsaco",
	DATA "first.bundle",
};

static size_t find(struct mpk_span bytes, size_t *at)
{
	size_t len;

	ck_assert_int_eq(mpk_device_find(bytes, at, &len, NULL), MPK_OK);
	return len;
}

/* At every alignment, between bytes that a generator made, and with the magic number of another sort in front. */
START_TEST(found)
{
	struct mpk_span code = robust_load(&arena, embedded[_i]);
	size_t room = code.len + 512;
	uint8_t *data = mpk_arena_alloc(&arena, room);
	uint32_t seed = 1;

	for (size_t begin = 100; begin < 180; begin++) {
		size_t at = 0, len;

		for (size_t i = 0; i < room; i++)
			data[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
		memcpy(data + begin - 40, "CCOB\2\0\1\0\177ELF\2\1\1\x33\x50\xed\x55\xba\1\0\20",
		       24);
		memcpy(data + begin, code.data, code.len);
		len = find(mpk_span_of(data, room), &at);
		ck_assert_uint_eq(at, begin);
		ck_assert_uint_eq(len, code.len);
		at += len;
		ck_assert_uint_eq(find(mpk_span_of(data, room), &at), 0);
		/* cut off, it is none; an image within a bundle may be whole */
		at = 0;
		len = find(mpk_span_of(data, begin + code.len - 20), &at);
		ck_assert(!len || at > begin);
	}
}
END_TEST

static enum mpk_code try_find(struct mpk_span bytes, struct mpk_error *err)
{
	size_t at = 0, len;

	(void)err;
	while ((len = find(bytes, &at)) != 0) {
		ck_assert_uint_le(at, bytes.len);
		ck_assert_uint_le(len, bytes.len - at);
		at += len;
	}
	return MPK_OK;
}

START_TEST(finding_survives_damage)
{
	struct mpk_span code = robust_load(&arena, embedded[_i]);

	robust_damage(try_find, code, 300, 97, 400);
}
END_TEST

/* Compressed bundles of every version, two of them with a byte between. */
START_TEST(found_packed)
{
	struct mpk_span one = pack((unsigned)_i, 1, plain_bundle());
	uint8_t *data = mpk_arena_alloc(&arena, 2 * one.len + 9);
	size_t at = 0;

	memset(data, 0xff, 2 * one.len + 9);
	memcpy(data + 3, one.data, one.len);
	memcpy(data + 4 + one.len, one.data, one.len);
	ck_assert_uint_eq(find(mpk_span_of(data, 2 * one.len + 9), &at), one.len);
	ck_assert_uint_eq(at, 3);
	at += one.len;
	ck_assert_uint_eq(find(mpk_span_of(data, 2 * one.len + 9), &at), one.len);
	ck_assert_uint_eq(at, 4 + one.len);
}
END_TEST

/* --- compressed bundles --------------------------------------------------------------------- */

static struct mpk_span plain_bundle(void)
{
	struct mpk_image image = open_image(DATA "hip.so");

	return image.devices[0].bytes;
}

static uint8_t *put(uint8_t *p, uint64_t v, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		*p++ = (uint8_t)(v >> 8 * i);
	return p;
}

/* As OffloadBundler.cpp writes them. */
static struct mpk_span pack(unsigned version, unsigned method, struct mpk_span plain)
{
	size_t head = version == 1 ? 20 : version == 2 ? 24 : 32, room = plain.len + 4096;
	uint8_t *out = mpk_arena_alloc(&arena, head + room), *p = out;
	uLongf n = room;

	if (method)
		n = ZSTD_compress(out + head, room, plain.data, plain.len, 3);
	else
		ck_assert_int_eq(compress(out + head, &n, plain.data, plain.len), Z_OK);
	memcpy(p, "CCOB", 4);
	p = put(put(p + 4, version, 2), method, 2);
	if (version > 1)
		p = put(p, head + n, version == 2 ? 4 : 8);
	p = put(p, plain.len, version == 3 ? 8 : 4);
	put(p, 0x1234, 8);
	return mpk_span_of(out, head + n);
}

START_TEST(versions_and_methods)
{
	struct mpk_span plain = plain_bundle();

	for (unsigned version = 1; version <= 3; version++)
		for (unsigned method = 0; method <= 1; method++) {
			struct mpk_span packed = pack(version, method, plain), got;
			struct mpk_offload_packed p;
			struct mpk_code_info code;

			ck_assert(mpk_offload_is_packed(packed));
			ck_assert_int_eq(mpk_offload_read_packed(packed, &p, NULL), MPK_OK);
			ck_assert_uint_eq(p.version, version);
			ck_assert_uint_eq(p.plain_bytes, plain.len);
			ck_assert_uint_eq(p.used, packed.len);
			ck_assert_int_eq(mpk_offload_unpack(&p, SIZE_MAX, &arena, &got, NULL),
					 MPK_OK);
			ck_assert(mpk_span_equal(got, plain));
			ck_assert_int_eq(mpk_offload_unpack(&p, 100, &arena, &got, NULL), MPK_OK);
			ck_assert(mpk_span_equal(got, mpk_span_of(plain.data, 100)));
			ck_assert_int_eq(mpk_code_info_read(packed, 0, NULL, &arena, &code, NULL),
					 MPK_OK);
			ck_assert_uint_eq(code.image_count, 3);
			ck_assert_str_eq(code.images[2].target, "gfx90a:xnack+");
			ck_assert_uint_eq(code.images[1].kernel_count, 2);
		}
}
END_TEST

/* Version 1 does not say how long it is: the next one begins on a page. */
START_TEST(version_1_in_a_section)
{
	struct mpk_span one = pack(1, 1, plain_bundle());
	size_t room = (one.len + 4095) / 4096 * 4096;
	uint8_t *section = mpk_arena_alloc(&arena, 2 * room);
	struct mpk_image_device *items = NULL;
	size_t count = 0, cap = 0;

	memcpy(section, one.data, one.len);
	memcpy(section + room, one.data, one.len);
	ck_assert_int_eq(mpk_device_code_split(mpk_span_of(section, 2 * room), 0, "s", &items,
					       &count, &cap, NULL),
			 MPK_OK);
	ck_assert_uint_eq(count, 2);
	ck_assert_uint_eq(items[1].off, room);
	free(items);
}
END_TEST

START_TEST(broken_bundles)
{
	struct mpk_span good = pack(2, 1, plain_bundle()), out;
	uint8_t *bytes = (uint8_t *)mpk_arena_copy(&arena, good.data, good.len);
	struct mpk_offload_packed p;
	struct mpk_error err;

	bytes[4] = 9;
	ck_assert_int_eq(mpk_offload_read_packed(mpk_span_of(bytes, good.len), &p, &err),
			 MPK_E_UNSUPPORTED);
	bytes[4] = 2;
	ck_assert_int_eq(mpk_offload_read_packed(mpk_span_of(bytes, good.len - 1), &p, &err),
			 MPK_E_CORRUPT);
	bytes[12]++; /* one byte more than there is */
	ck_assert_int_eq(mpk_offload_read_packed(mpk_span_of(bytes, good.len), &p, &err), MPK_OK);
	ck_assert_int_eq(mpk_offload_unpack(&p, SIZE_MAX, &arena, &out, &err), MPK_E_CORRUPT);
	bytes[12] = (uint8_t)(bytes[12] - 2); /* one byte less */
	ck_assert_int_eq(mpk_offload_read_packed(mpk_span_of(bytes, good.len), &p, &err), MPK_OK);
	ck_assert_int_eq(mpk_offload_unpack(&p, SIZE_MAX, &arena, &out, &err), MPK_E_CORRUPT);
	p.plain_bytes = MPK_OFFLOAD_PLAIN_MAX + 1;
	ck_assert_int_eq(mpk_offload_unpack(&p, SIZE_MAX, &arena, &out, &err), MPK_E_UNSUPPORTED);
}
END_TEST

/* --- bundles ------------------------------------------------------------------------------- */

START_TEST(entries)
{
	struct mpk_offload o;

	ck_assert_int_eq(mpk_offload_read(plain_bundle(), &arena, &o, NULL), MPK_OK);
	ck_assert_uint_eq(o.entry_count, 3);
	ck_assert(o.entries[0].is_host);
	ck_assert(mpk_span_is(o.entries[0].triple, "x86_64-unknown-linux"));
	ck_assert_uint_eq(o.entries[0].arch.len, 0);
	ck_assert(mpk_span_is(o.entries[2].kind, "hipv4"));
	ck_assert(mpk_span_is(o.entries[2].triple, "amdgcn-amd-amdhsa"));
	ck_assert(mpk_span_is(o.entries[2].arch, "gfx90a:xnack+"));
	ck_assert(mpk_amdgpu_is(o.entries[2].data));
	o = (struct mpk_offload){ 0 };
	ck_assert_int_eq(
		mpk_offload_read(open_image(DATA "offload.o").devices[1].bytes, &arena, &o, NULL),
		MPK_OK);
	ck_assert(mpk_span_is(o.entries[0].kind, "hip"));
	ck_assert(mpk_span_is(o.entries[0].arch, "gfx90a:xnack+"));
	ck_assert(mpk_span_starts(o.entries[0].data, "BC\xc0\xde"));
}
END_TEST

/* Images one over the other would be read as often as there are entries. */
START_TEST(entries_that_overlap)
{
	struct mpk_span good = plain_bundle();
	uint8_t *bytes = (uint8_t *)mpk_arena_copy(&arena, good.data, good.len), *second;
	struct mpk_offload o;
	struct mpk_error err;

	second = memmem(bytes, good.len, "hipv4-amdgcn-amd-amdhsa--gfx90a", 31);
	ck_assert_ptr_nonnull(second);
	memcpy(second - 24, bytes + 32 + 24 + 27, 8); /* the offset of the one before it */
	ck_assert_int_eq(mpk_offload_read(mpk_span_of(bytes, good.len), &arena, &o, &err),
			 MPK_E_CORRUPT);
}
END_TEST

static enum mpk_code try_code(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_arena scratch = { 0 };
	struct mpk_code_info code;
	enum mpk_code rc = mpk_code_info_read(bytes, 0, NULL, &scratch, &code, err);

	mpk_arena_fini(&scratch);
	return rc;
}

static enum mpk_code try_image(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_arena scratch = { 0 };
	struct mpk_image image = { 0 };
	enum mpk_code code = mpk_image_open(bytes, NULL, &scratch, &image, err);

	for (size_t i = 0; code == MPK_OK && i < image.device_count; i++)
		code = try_code(image.devices[i].bytes, err);
	mpk_arena_fini(&scratch);
	return code;
}

START_TEST(survives_damage)
{
	robust_check(libraries[_i].path, try_image, 4000);
}
END_TEST

START_TEST(survives_damaged_containers)
{
	struct mpk_image image = open_image(libraries[_i].path);

	robust_damage(try_code, image.devices[0].bytes, 300, 97, 400);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("offload");
	TCase *tc = tcase_create("offload");
	int all = (int)MPK_ARRAY_COUNT(libraries), failed;
	SRunner *runner;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_add_loop_test(tc, sections, 0, all);
	tcase_add_test(tc, archives_end_behind_their_last_member);
	tcase_add_test(tc, what_is_none);
	tcase_add_loop_test(tc, found, 0, (int)MPK_ARRAY_COUNT(embedded));
	tcase_add_loop_test(tc, finding_survives_damage, 0, (int)MPK_ARRAY_COUNT(embedded));
	tcase_add_loop_test(tc, found_packed, 1, 4);
	tcase_add_test(tc, versions_and_methods);
	tcase_add_test(tc, version_1_in_a_section);
	tcase_add_test(tc, broken_bundles);
	tcase_add_test(tc, entries);
	tcase_add_test(tc, entries_that_overlap);
	tcase_add_loop_test(tc, survives_damage, 0, all);
	tcase_add_loop_test(tc, survives_damaged_containers, 0, all);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
