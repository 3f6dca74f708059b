/* SPDX-License-Identifier: Apache-2.0 */
/* Sections of GPU code: all that compilers put there is told apart and read, and what the listing cannot read
 * --verify has an error of, whatever is damaged. */
#include "robust.h"

#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "base/compiler.h"
#include "elf/image.h"
#include "model/device_code.h"
#include "offload/offload.h"
#include "verify/verify.h"

#define SECTION "__CLANG_OFFLOAD_BUNDLE__sycl-spir64-unknown-unknown"

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

/* --- what stands in sections ------------------------------------------------------------ */

static struct mpk_span load(const char *path)
{
	return robust_load(&arena, path);
}

static struct mpk_span frame(struct mpk_span plain, bool sized)
{
	size_t room = ZSTD_compressBound(plain.len), n;
	uint8_t *to = mpk_arena_alloc(&arena, room);
	ZSTD_CCtx *c = ZSTD_createCCtx();

	ck_assert(to && c);
	(void)ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, sized);
	n = ZSTD_compress2(c, to, room, plain.data, plain.len);
	ck_assert(!ZSTD_isError(n));
	ZSTD_freeCCtx(c);
	return mpk_span_of(to, n);
}

static uint8_t *put(uint8_t *p, uint64_t v, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		*p++ = (uint8_t)(v >> (8 * i));
	return p;
}

static struct mpk_span packed(unsigned version, unsigned method, struct mpk_span plain)
{
	uLongf n = compressBound(plain.len);
	uint8_t *to = mpk_arena_alloc(&arena, n + 64), *p = to;
	struct mpk_span data = frame(plain, true);

	if (method == 0) {
		uint8_t *z = mpk_arena_alloc(&arena, n);

		ck_assert_int_eq(compress(z, &n, plain.data, plain.len), Z_OK);
		data = mpk_span_of(z, n);
	}
	memcpy(p, "CCOB", 4);
	p = put(p + 4, version, 2);
	p = put(p, method, 2);
	if (version > 1)
		p = put(p, (version == 3 ? 32 : 24) + data.len, version == 3 ? 8 : 4);
	p = put(p, plain.len, version == 3 ? 8 : 4);
	p = put(p, 0x0123456789abcdef, 8);
	memcpy(p, data.data, data.len);
	return mpk_span_of(to, (size_t)(p - to) + data.len);
}

static struct mpk_span bundle(void)
{
	struct mpk_span b = load("tests/data/gpu/first.bundle");
	struct mpk_offload o;

	ck_assert_int_eq(mpk_offload_read(b, &arena, &o, NULL), MPK_OK);
	b.len = (size_t)o.used;
	return b;
}

/* LLVM bitcode, as an offload binary of Clang's has it. */
static struct mpk_span bitcode(void)
{
	struct mpk_span o = load("tests/data/gpu/offload.o");
	const uint8_t *at = memmem(o.data, o.len, "BC\xc0\xde", 4);

	ck_assert_ptr_nonnull(at);
	o = mpk_span_of(at, o.len - (size_t)(at - o.data));
	o.len = (size_t)mpk_offload_image_bytes(o);
	ck_assert_uint_gt(o.len, 1000);
	return o;
}

static struct mpk_span archive(struct mpk_span member)
{
	uint8_t *to = mpk_arena_alloc(&arena, member.len + 80);
	int n = sprintf((char *)to, "!<arch>\n%-16s%-12d%-6d%-6d%-8o%-10zu`\n", "gen9/", 0, 0, 0,
			0644U, member.len);

	memcpy(to + n, member.data, member.len);
	to[(size_t)n + member.len] = '\n';
	return mpk_span_of(to, ((size_t)n + member.len + 1) & ~(size_t)1);
}

static struct mpk_span one_of(int i)
{
	struct mpk_span spv = load("tests/data/device/kernel.spv"), plain = bundle();

	switch (i) {
	case 0:
		return spv;
	case 1:
		return frame(spv, true);
	case 2:
		return frame(spv, false);
	case 3:
		return load("tests/data/gpu/mix.gfx906.hsaco");
	case 4:
		return load("tests/data/device/tiny.sm_100.cubin");
	case 5:
		return bitcode();
	case 6:
		return frame(bitcode(), true);
	case 7:
		return archive(load("tests/data/gpu/mix.gfx906.hsaco"));
	case 8:
		return plain;
	case 9:
		return packed(1, 0, plain);
	case 10:
		return packed(1, 1, plain);
	case 11:
		return packed(2, 0, plain);
	case 12:
		return packed(2, 1, plain);
	case 13:
		return packed(3, 0, plain);
	case 14:
		return packed(3, 1, plain);
	case 15:
		return load("tests/data/device/tiny.size.fatbin");
	default:
		return load("tests/data/device/buffers.spv");
	}
}

enum { KINDS = 17 };

/* One after the other, each at a multiple of 16, as linkers place them. */
static struct mpk_span section_of(const int *kinds, size_t count, uint64_t *offs)
{
	uint8_t *to = mpk_arena_alloc(&arena, 1 << 20);
	size_t at = 0;

	for (size_t i = 0; i < count; i++) {
		struct mpk_span s = one_of(kinds[i]);

		at = (at + 15) & ~(size_t)15;
		offs[i] = at;
		ck_assert_uint_lt(at + s.len, 1 << 20);
		memcpy(to + at, s.data, s.len);
		at += s.len;
	}
	return mpk_span_of(to, at);
}

static struct mpk_image_device *split(struct mpk_span section, size_t *count)
{
	struct mpk_image_device *items = NULL;
	size_t cap = 0;

	*count = 0;
	ck_assert_int_eq(mpk_device_code_split(section, 0, SECTION, &items, count, &cap, NULL),
			 MPK_OK);
	return items;
}

/* --- a view of it ------------------------------------------------------------------------ */

struct answer {
	size_t devices, broken, errors;
};

static struct answer ask(struct mpk_span section)
{
	struct mpk_arena scratch = { 0 };
	struct mpk_image image = { 0 };
	struct mpk_image_device *items;
	struct mpk_tree tree = { 0 };
	struct mpk_report report = { 0 };
	struct mpk_device_rows rows;
	struct mpk_view view;
	struct answer a = { 0 };

	image.devices = items = split(section, &image.device_count);
	image.bytes = section;
	ck_assert_int_eq(mpk_view_init(&view, "x", section.len, &image, &tree, &scratch, NULL),
			 MPK_OK);
	ck_assert_int_eq(mpk_device_rows(&view, &scratch, &rows, NULL), MPK_OK);
	ck_assert_int_eq(mpk_verify_run(&view, NULL, &scratch, &report, NULL), MPK_OK);
	a = (struct answer){ image.device_count, rows.broken, report.errors };
	mpk_report_fini(&report);
	free(items);
	mpk_arena_fini(&scratch);
	return a;
}

START_TEST(each_is_sound)
{
	uint64_t off;
	struct answer a = ask(section_of(&_i, 1, &off));

	ck_assert_msg(a.devices == 1 && !a.broken && !a.errors, "%d: %zu, %zu, %zu", _i, a.devices,
		      a.broken, a.errors);
}
END_TEST

/* Any two, in both orders: where the first ends only it can tell. */
START_TEST(each_ends_where_the_next_begins)
{
	for (int next = 0; next < KINDS; next++) {
		const int kinds[] = { _i, next, _i };
		uint64_t offs[3];
		struct mpk_span section = section_of(kinds, 3, offs);
		struct answer a = ask(section);
		struct mpk_image_device *items;
		size_t count;

		ck_assert_msg(a.devices == 3 && !a.broken && !a.errors, "%d and %d: %zu, %zu, %zu",
			      _i, next, a.devices, a.broken, a.errors);
		items = split(section, &count);
		for (size_t i = 0; i < count; i++)
			ck_assert_uint_eq(items[i].off, offs[i]);
		free(items);
		clear();
	}
}
END_TEST

/* The law: the listing says "--verify says why" of nothing that --verify has no error of. */
START_TEST(what_is_not_read_has_an_error)
{
	uint64_t off;
	struct mpk_span good = section_of(&_i, 1, &off);
	uint8_t *bytes = mpk_arena_alloc(&arena, good.len);
	size_t step = good.len / 400 + 1, broken = 0;

	for (size_t i = 0; i < good.len; i += i < 300 ? 1 : step)
		for (unsigned mask = 1; mask < 256; mask = mask * 4 + 3) {
			struct answer a;

			memcpy(bytes, good.data, good.len);
			bytes[i] ^= (uint8_t)mask;
			a = ask(mpk_span_of(bytes, good.len));
			ck_assert_msg(!a.broken || a.errors, "%d: byte %zu ^ %#x", _i, i, mask);
			broken += a.broken;
		}
	for (size_t len = 0; len < good.len; len += len < 300 ? 1 : step) {
		struct answer a = ask(mpk_span_of(good.data, len));

		ck_assert_msg(!a.broken || a.errors, "%d: %zu bytes", _i, len);
		broken += a.broken;
	}
	ck_assert_uint_gt(broken, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("device-listing");
	TCase *tc = tcase_create("device-listing");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_add_loop_test(tc, each_is_sound, 0, KINDS);
	tcase_add_loop_test(tc, each_ends_where_the_next_begins, 0, KINDS);
	tcase_add_loop_test(tc, what_is_not_read_has_an_error, 0, KINDS);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
