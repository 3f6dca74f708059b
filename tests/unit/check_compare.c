/* SPDX-License-Identifier: Apache-2.0 */
/* lib/show/compare: hunks that turn one text into the other, distances of tensors of every type, SPIR-V and
 * cubins that differ in names and debug information only; and the Markdown they are told in */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "base/half.h"
#include "base/native.h"
#include "compare/compare.h"
#include "compare/internal/compare.h"
#include "cubin/cubin.h"
#include "diff/internal/compare.h"
#include "harness.h"
#include "text/markup.h"

/* --- texts --------------------------------------------------------------------------- */

/* The hunks of two texts; free() them. */
static char *hunks_of(struct mpk_span a, struct mpk_span b, size_t limit, size_t *left_out)
{
	struct mpk_strbuf out = { 0 };
	struct mpk_text_diff d;

	ck_assert_int_eq(mpk_text_compare(a, b, &d, NULL), MPK_OK);
	ck_assert(!d.is_too_large);
	ck_assert_int_eq(d.is_equal, mpk_span_equal(a, b));
	*left_out = mpk_text_unified(&d, limit, &out);
	mpk_text_diff_fini(&d);
	ck_assert(!out.failed);
	return out.data ? out.data : calloc(1, 1);
}

static const struct {
	const char *a, *b, *want;
} texts[] = {
	{ "", "", "" },
	{ "a\n", "a\n", "" },
	{ "", "a\n", "@@ -0,0 +1 @@\n+a\n" },
	{ "a\nb\n", "", "@@ -1,2 +0,0 @@\n-a\n-b\n" },
	{ "a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n" },
	{ "a\nb", "a\nc",
	  "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n" },
	{ "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n",
	  "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n" },
	/* six lines between two changes are one hunk, seven are two */
	{ "a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n",
	  "@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n" },
	{ "a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n",
	  "@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n" },
	/* a function that comes is shown in one piece */
	{ "f {\n}\n", "f {\n}\ng {\n}\n", "@@ -1,2 +1,4 @@\n f {\n }\n+g {\n+}\n" },
	/* a terminal must not obey, a tab may stay */
	{ "\tx\n", "\tx\033[2J\n", "@@ -1 +1 @@\n-\tx\n+\tx\\x1b[2J\n" },
	/* the texts go on behind the change: its context must stand there */
	{ "a\nb\nb\nb\nb\nb\nb\nz\n", "a\nb\nb\nb\nb\nb\nz\n", NULL },
};

START_TEST(hunks_are_those_of_the_unified_format)
{
	size_t left_out;
	char *got =
		hunks_of(mpk_span_str(texts[_i].a), mpk_span_str(texts[_i].b), SIZE_MAX, &left_out);

	if (texts[_i].want)
		ck_assert_str_eq(got, texts[_i].want);
	ck_assert_uint_eq(left_out, 0);
	free(got);
}
END_TEST

static struct mpk_span next_line(struct mpk_span text, size_t *at)
{
	const uint8_t *p = text.data + *at, *end = memchr(p, '\n', text.len - *at);
	size_t len = end ? (size_t)(end - p) + 1 : text.len - *at;

	*at += len;
	return mpk_span_of(p, len);
}

/* What patch(1) does, with no line of tolerance: every line of context and every line that goes must be
 * where the hunk says. A hunk with less than three lines of context at an end must be at that end. */
static void apply(struct mpk_span a, const char *hunks, struct mpk_strbuf *out)
{
	struct mpk_span patch = mpk_span_str(hunks);
	size_t at = 0, line = 1;
	bool chopped = false;

	for (size_t p = 0; p < patch.len;) {
		struct mpk_span l = next_line(patch, &p);
		unsigned long from, count = 1;

		if (l.data[0] == '@') {
			char *rest;

			from = strtoul((const char *)l.data + 4, &rest, 10);
			if (*rest == ',')
				count = strtoul(rest + 1, &rest, 10);
			from += count == 0;
			for (; line < from; line++)
				mpk_strbuf_put_span(out, next_line(a, &at));
			continue;
		}
		if (l.data[0] == '\\') {
			out->len -= chopped ? 1 : 0;
			continue;
		}
		struct mpk_span text = mpk_span_of(l.data + 1, l.len - 1);

		chopped = l.data[0] == '+';
		if (l.data[0] != '+') {
			struct mpk_span old = next_line(a, &at);

			/* the marker behind it says that the line feed is not there */
			if (old.len && old.data[old.len - 1] != '\n') {
				text.len--;
				chopped = false;
			}
			ck_assert(mpk_span_equal(text, old));
			line++;
		}
		if (l.data[0] != '-')
			mpk_strbuf_put_span(out, text);
	}
	while (at < a.len)
		mpk_strbuf_put_span(out, next_line(a, &at));
}

static void put_random(struct mpk_strbuf *out, uint64_t *seed, size_t lines, uint64_t letters)
{
	for (size_t i = 0; i < lines; i++)
		mpk_strbuf_printf(out, "%c\n", (char)('a' + random_below(seed, letters)));
}

/* A copy with a few runs of lines taken out, put in or changed. */
static void put_edited(struct mpk_strbuf *out, uint64_t *seed, struct mpk_span a, uint64_t letters)
{
	for (size_t at = 0; at < a.len;) {
		struct mpk_span l = next_line(a, &at);
		uint64_t dice = random_below(seed, 24);

		if (dice == 0)
			put_random(out, seed, 1 + random_below(seed, 4), letters);
		if (dice == 1)
			mpk_strbuf_printf(out, "new %d\n", (int)random_below(seed, 5));
		if (dice > 2)
			mpk_strbuf_put_span(out, l);
	}
}

START_TEST(hunks_make_one_text_of_the_other)
{
	uint64_t seed = 0x9e3779b9u + (uint64_t)_i;

	for (int round = 0; round < 400; round++) {
		struct mpk_strbuf a = { 0 }, b = { 0 }, c = { 0 };
		uint64_t letters = 1 + random_below(&seed, 12);
		size_t left_out;

		put_random(&a, &seed, random_below(&seed, 90), letters);
		if (random_below(&seed, 4))
			put_edited(&b, &seed, mpk_span_of(a.data, a.len), letters);
		else
			put_random(&b, &seed, random_below(&seed, 90), letters);
		a.len -= a.len && random_below(&seed, 4) == 0;
		b.len -= b.len && random_below(&seed, 4) == 0;
		char *hunks = hunks_of(mpk_span_of(a.data, a.len), mpk_span_of(b.data, b.len),
				       SIZE_MAX, &left_out);

		apply(mpk_span_of(a.data, a.len), hunks, &c);
		ck_assert_msg(
			mpk_span_equal(mpk_span_of(b.data, b.len), mpk_span_of(c.data, c.len)),
			"seed %d, round %d:\n%s", _i, round, hunks);
		free(hunks);
		mpk_strbuf_fini(&a);
		mpk_strbuf_fini(&b);
		mpk_strbuf_fini(&c);
	}
}
END_TEST

/* The classic table of the longest common subsequence. */
static size_t distance(const uint32_t *a, size_t n, const uint32_t *b, size_t m)
{
	static size_t row[64][64];

	for (size_t i = 0; i <= n; i++)
		for (size_t k = 0; k <= m; k++)
			row[i][k] = !i || !k                        ? i + k
				    : a[i - 1] == b[k - 1]          ? row[i - 1][k - 1]
				    : row[i - 1][k] < row[i][k - 1] ? row[i - 1][k] + 1
								    : row[i][k - 1] + 1;
	return row[n][m];
}

START_TEST(scripts_are_shortest)
{
	uint64_t seed = 77;

	for (int round = 0; round < 4000; round++) {
		uint32_t a[60], b[60];
		bool gone[60] = { 0 }, came[60] = { 0 };
		size_t n = random_below(&seed, 60), m = random_below(&seed, 60), marked = 0;
		uint64_t letters = 1 + random_below(&seed, 6);

		for (size_t i = 0; i < n; i++)
			a[i] = (uint32_t)random_below(&seed, letters);
		for (size_t i = 0; i < m; i++)
			b[i] = (uint32_t)random_below(&seed, letters);
		ck_assert_int_eq(mpk_script_find((struct mpk_sequence){ a, n, gone },
						 (struct mpk_sequence){ b, m, came }, NULL),
				 MPK_OK);
		for (size_t i = 0, k = 0; i < n || k < m;) {
			if (i < n && gone[i]) {
				marked++, i++;
				continue;
			}
			if (k < m && came[k]) {
				marked++, k++;
				continue;
			}
			ck_assert(i < n && k < m);
			ck_assert_uint_eq(a[i++], b[k++]);
		}
		ck_assert_uint_eq(marked, distance(a, n, b, m));
	}
}
END_TEST

/* A payload that is empty may have no address at all. */
START_TEST(nothing_is_a_text)
{
	const struct mpk_span nothing = { NULL, 0 };
	size_t left_out;
	char *hunks = hunks_of(nothing, mpk_span_str("a\n"), 4096, &left_out);

	ck_assert_ptr_nonnull(strstr(hunks, "+a"));
	free(hunks);
	hunks = hunks_of(mpk_span_str("a\n"), nothing, 4096, &left_out);
	ck_assert_ptr_nonnull(strstr(hunks, "-a"));
	free(hunks);
}
END_TEST

/* Two texts that share few lines, far from in order: the search gives up on the shortest script. */
START_TEST(large_texts_end)
{
	struct mpk_strbuf a = { 0 }, b = { 0 };
	uint64_t seed = 5;
	size_t left_out;
	clock_t begin;

	for (int i = 0; i < 200000; i++) {
		mpk_strbuf_printf(&a, "%d\n", (int)random_below(&seed, 900));
		mpk_strbuf_printf(&b, "%d\n", (int)random_below(&seed, 900));
	}
	begin = clock();
	char *hunks =
		hunks_of(mpk_span_of(a.data, a.len), mpk_span_of(b.data, b.len), 4096, &left_out);

	ck_assert_msg((double)(clock() - begin) / CLOCKS_PER_SEC < 60, "it takes too long");
	ck_assert_uint_gt(left_out, 0);
	ck_assert_uint_lt(strlen(hunks), 4096 + 16);
	free(hunks);
	mpk_strbuf_fini(&a);
	mpk_strbuf_fini(&b);
}
END_TEST

START_TEST(too_many_lines_are_told)
{
	size_t lines = MPK_TEXT_LINES_MAX + 1U;
	struct mpk_strbuf a = { 0 }, b = { 0 };
	struct mpk_text_diff d;

	for (size_t i = 0; i < lines; i++) {
		mpk_strbuf_puts(&a, "a\n");
		mpk_strbuf_puts(&b, "b\n");
	}
	ck_assert_int_eq(
		mpk_text_compare(mpk_span_of(a.data, a.len), mpk_span_of(b.data, b.len), &d, NULL),
		MPK_OK);
	ck_assert(d.is_too_large && !d.is_equal);
	mpk_text_diff_fini(&d);
	/* where all but one are alike, their number does not matter */
	b.len = 0;
	mpk_strbuf_put(&b, a.data, a.len);
	b.data[lines - 1] = 'x'; /* in the middle, where a line begins */
	ck_assert_int_eq(
		mpk_text_compare(mpk_span_of(a.data, a.len), mpk_span_of(b.data, b.len), &d, NULL),
		MPK_OK);
	ck_assert(!d.is_too_large);
	ck_assert_uint_eq(d.removed, 1);
	ck_assert_uint_eq(d.added, 1);
	mpk_text_diff_fini(&d);
	mpk_strbuf_fini(&a);
	mpk_strbuf_fini(&b);
}
END_TEST

/* --- tensors --------------------------------------------------------------------------- */

static struct mpk_tensor_record tensor(const char *type, const int64_t *shape, size_t ndim,
				       const void *data, size_t len)
{
	struct mpk_tensor_record t = { .shape = shape, .ndim = ndim };

	ck_assert(mpk_dtype_parse(mpk_span_str(type), &t.dtype));
	t.data = mpk_span_of(data, len);
	return t;
}

/* Numbers of the test as a file has them: little-endian. */
static struct mpk_tensor_record filed(const struct mpk_tensor_record *t, uint8_t bytes[64])
{
	struct mpk_tensor_record f = *t;

	ck_assert_uint_le(t->data.len, 64);
	memcpy(bytes, t->data.data, t->data.len);
	mpk_native_from_little(bytes, t->data.len, mpk_dtype_number_bytes(t->dtype));
	f.data.data = bytes;
	return f;
}

static void expect_text(const struct mpk_tensor_record *a, const struct mpk_tensor_record *b,
			const char *want)
{
	uint8_t bytes[2][64];
	struct mpk_tensor_record x = filed(a, bytes[0]), y = filed(b, bytes[1]);
	struct mpk_tensor_diff d = mpk_tensor_compare(&x, &y);
	struct mpk_strbuf text = { 0 };

	mpk_tensor_diff_text(&d, &x, &y, &text);
	ck_assert_str_eq(mpk_strbuf_text(&text), want);
	mpk_strbuf_fini(&text);
}

START_TEST(tensors_of_floats)
{
	static const float x[4] = { 1, 2, -3, 4 };
	float y[4] = { 1, 2.5F, -3, 3 };
	const int64_t shape[2] = { 2, 2 }, other[1] = { 4 };
	struct mpk_tensor_record a = tensor("f32", shape, 2, x, 16), b = a, c = a;

	b.data = mpk_span_of(y, 16);
	expect_text(&a, &b, "2 of 4 elements differ, by at most 1 (element 3), 0.375 on average");
	y[0] = NAN;
	expect_text(&a, &b,
		    "3 of 4 elements differ, by at most 1 (element 3), 0.5 on average, "
		    "1 of them from or to NaN or infinity");
	c.shape = other;
	c.ndim = 1;
	expect_text(&a, &c, "f32[2, 2] -> f32[4]");
	expect_text(&a, &a, "0 of 4 elements differ");
}
END_TEST

START_TEST(zeros_and_nans_by_value)
{
	const float x[3] = { 0.0F, NAN, 1 }, y[3] = { -0.0F, -NAN, 1 };
	const int64_t shape[1] = { 3 };
	struct mpk_tensor_record a = tensor("f32", shape, 1, x, 12), b = a;

	b.data = mpk_span_of(y, 12);
	expect_text(&a, &b, "0 of 3 elements differ, 2 more only in their bits");
}
END_TEST

START_TEST(tensors_of_every_type)
{
	static const uint64_t big[2][1] = { { 0 }, { UINT64_MAX } };
	static const int64_t far[2][1] = { { INT64_MIN }, { INT64_MAX } };
	static const uint8_t bytes[2][2] = { { 0x21, 0x43 }, { 0x21, 0x73 } };
	static const float wide[2][4] = { { 1, 2, 3, 4 }, { 1, 2.5F, 3, 3.5F } };
	uint16_t brain[2][1] = { { mpk_f64_to_bf16(1) }, { mpk_f64_to_bf16(1.5) } };
	const int64_t one[1] = { 1 }, two[1] = { 2 }, four[1] = { 4 };
	const struct {
		const char *type;
		const int64_t *shape;
		const void *a, *b;
		size_t len;
		const char *want;
	} rows[] = {
		{ "u64", one, big[0], big[1], 8,
		  "1 of 1 element differs, by at most 1.84467e+19 (element 0), 1.84467e+19 on average" },
		{ "i64", one, far[0], far[1], 8,
		  "1 of 1 element differs, by at most 1.84467e+19 (element 0), 1.84467e+19 on average" },
		{ "bf16", one, brain[0], brain[1], 2,
		  "1 of 1 element differs, by at most 0.5 (element 0), 0.5 on average" },
		/* two in a byte, the first in the lowest bits: 1 2 3 4 against 1 2 3 7 */
		{ "int4", four, bytes[0], bytes[1], 2,
		  "1 of 4 elements differs, by at most 3 (element 3), 0.75 on average" },
		/* the same type, a byte each */
		{ "int4", two, bytes[0], bytes[1], 2,
		  "0 of 2 elements differ, 1 more only in their bits" },
		{ "f32x2", two, wide[0], wide[1], 16,
		  "2 of 4 elements differ, by at most 0.5 (element 1), 0.25 on average" },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_tensor_record a =
			tensor(rows[i].type, rows[i].shape, 1, rows[i].a, rows[i].len);
		struct mpk_tensor_record b = a;

		b.data = mpk_span_of(rows[i].b, rows[i].len);
		expect_text(&a, &b, rows[i].want);
	}
}
END_TEST

/* --- SPIR-V ------------------------------------------------------------------------------ */

START_TEST(names_in_spirv_are_no_code)
{
	struct mpk_span a = fixture_load("device/compute.spv");
	uint8_t *copy = malloc(a.len + 8);
	static const uint8_t line_end[4] = { 0x3d, 0x01, 0x01, 0x00 }; /* OpNoLine */

	memcpy(copy, a.data, a.len);
	copy[8] ^= 1; /* the generator */
	memcpy(copy + a.len, line_end, 4);
	ck_assert(mpk_spirv_same_code(a, mpk_span_of(copy, a.len)));
	ck_assert(mpk_spirv_same_code(a, mpk_span_of(copy, a.len + 4)));
	copy[12] ^= 1; /* the bound of ids */
	ck_assert(!mpk_spirv_same_code(a, mpk_span_of(copy, a.len)));
	copy[12] ^= 1;
	copy[a.len - 1] ^= 1;
	ck_assert(!mpk_spirv_same_code(a, mpk_span_of(copy, a.len)));
	for (size_t len = 0; len < a.len; len++) {
		memcpy(copy, a.data, a.len);
		ck_assert(!mpk_spirv_same_code(a, mpk_span_of(copy, len)));
	}
	free(copy);
	fixture_free(a);
}
END_TEST

/* --- cubins -------------------------------------------------------------------------------- */

static struct mpk_arena arena;

static void forget(void)
{
	mpk_arena_fini(&arena);
}

/* ".text.sums .nv.info ": the sections that differ, those that are no code in brackets */
static const char *differences(struct mpk_span a, struct mpk_span b)
{
	const struct mpk_cubin_difference *list;
	const char *text = "";
	size_t count;

	ck_assert_int_eq(mpk_cubin_compare(a, b, &arena, &list, &count, NULL), MPK_OK);
	for (size_t i = 0; i < count; i++)
		text = mpk_arena_printf(&arena, list[i].is_code ? "%s%.*s " : "%s(%.*s) ", text,
					MPK_SPAN_ARG(list[i].name));
	return text;
}

START_TEST(debug_information_is_no_code)
{
	struct mpk_span plain = fixture_load("device/sums.sm_90.cubin");
	struct mpk_span lines = fixture_load("device/sums_lines.sm_90.cubin");
	struct mpk_span spill = fixture_load("device/sums_spill.sm_90.cubin");
	const char *text = differences(plain, lines);

	ck_assert_str_eq(differences(plain, plain), "");
	/* symbols have other numbers there: .nv.info and .nv.callgraph are the same all the same */
	for (const char *p = text; *p; p = strchr(p, ' ') + 1)
		ck_assert_msg(*p == '(', "%s", p);
	ck_assert_ptr_nonnull(strstr(text, "(.nv_debug_line_sass)"));
	ck_assert_ptr_nonnull(strstr(differences(lines, plain), "(.nv_debug_line_sass)"));
	text = differences(plain, spill);
	ck_assert_ptr_nonnull(strstr(text, ".text.sums "));
	ck_assert_ptr_null(strstr(text, ".text.copy "));
	fixture_free(plain);
	fixture_free(lines);
	fixture_free(spill);
}
END_TEST

/* Two sections of one name: each is compared with the one in its place. */
START_TEST(sections_of_one_name)
{
	struct mpk_span sound = fixture_load("device/sums.sm_90.cubin");
	uint8_t *copy = (uint8_t *)mpk_arena_copy(&arena, sound.data, sound.len);
	enum { HEADER = 64, TYPE = 4, SIZE = 32 }; /* of an Elf64_Shdr, and fields of it */
	uint8_t *first = copy + mpk_load_u64(copy + 0x28) + HEADER, *other = first + HEADER;

	/* of one type and of different sizes */
	while (memcmp(first + TYPE, other + TYPE, 4) != 0 ||
	       memcmp(first + SIZE, other + SIZE, 8) == 0)
		other += HEADER;
	ck_assert(other + HEADER <= copy + sound.len);
	memcpy(other, first, 4);
	ck_assert_str_eq(differences(mpk_span_of(copy, sound.len), mpk_span_of(copy, sound.len)),
			 "");
	fixture_free(sound);
}
END_TEST

/* What a damaged cubin makes of the comparison: an error or a list, never a read beyond. */
START_TEST(damaged_cubins)
{
	struct mpk_span sound = fixture_load("device/sums.sm_90.cubin");
	struct mpk_span lines = fixture_load("device/sums_lines.sm_90.cubin");
	const struct mpk_cubin_difference *list;
	struct guarded g = guarded_create(lines.len);
	uint8_t *copy = malloc(lines.len);
	uint64_t seed = 11;
	size_t count;

	for (int i = 0; i < 3000; i++) {
		size_t len = i % 2 ? lines.len : random_below(&seed, lines.len);
		struct mpk_span put;

		memcpy(copy, lines.data, lines.len);
		for (int k = 0; k < 3; k++)
			copy[random_below(&seed, 4) ? random_below(&seed, lines.len)
						    : lines.len - 1 - random_below(&seed, 1472)] =
				(uint8_t)random_next(&seed);
		put = guarded_put(&g, mpk_span_of(copy, len));
		(void)!mpk_cubin_compare(sound, put, &arena, &list, &count, NULL);
		(void)!mpk_cubin_compare(put, sound, &arena, &list, &count, NULL);
		forget();
	}
	free(copy);
	guarded_free(&g);
	fixture_free(sound);
	fixture_free(lines);
}
END_TEST

/* --- host code -------------------------------------------------------------------------------- */

static bool open_host(struct mpk_span bytes, struct mpk_host_code *out)
{
	struct mpk_image image;

	return mpk_image_open(bytes, NULL, &arena, &image, NULL) == MPK_OK &&
	       mpk_host_code_open(&image, &arena, out, NULL) == MPK_OK;
}

START_TEST(host_code_is_itself)
{
	struct mpk_span bytes = fixture_load("formats/07_relax_opencl.so");
	struct mpk_host_code a, b;

	ck_assert(open_host(bytes, &a) && open_host(bytes, &b));
	ck_assert_uint_gt(a.count, 3);
	for (size_t i = 0; i < a.count; i++)
		ck_assert(mpk_host_same_code(&a, &a.functions[i], &b, &b.functions[i]));
	mpk_host_code_close(&a);
	mpk_host_code_close(&b);
	fixture_free(bytes);
}
END_TEST

/* Tables, symbols and code of a damaged library: refused, or compared without a read beyond. */
START_TEST(damaged_libraries)
{
	struct mpk_span sound = fixture_load("formats/07_relax_opencl.so");
	struct guarded g = guarded_create(sound.len);
	uint8_t *copy = malloc(sound.len);
	uint64_t seed = 3 + (uint64_t)_i;
	size_t compared = 0;

	for (int round = 0; round < 300; round++) {
		struct mpk_host_code a = { 0 }, b = { 0 };
		size_t near = random_below(&seed, sound.len);

		memcpy(copy, sound.data, sound.len);
		for (int k = 0; k < 6; k++)
			copy[(near + random_below(&seed, 400)) % sound.len] =
				(uint8_t)random_next(&seed);
		if (open_host(sound, &a) &&
		    open_host(guarded_put(&g, mpk_span_of(copy, sound.len)), &b))
			for (size_t i = 0; i < a.count && i < b.count; i++)
				compared += mpk_host_same_code(&a, &a.functions[i], &b,
							       &b.functions[i]);
		mpk_host_code_close(&a);
		mpk_host_code_close(&b);
		forget();
	}
	ck_assert_uint_gt(compared, 0);
	free(copy);
	guarded_free(&g);
	fixture_free(sound);
}
END_TEST

/* --- Markdown ------------------------------------------------------------------------------- */

static const struct {
	const char *text, *code, *html;
} markups[] = {
	{ "", "", "" },
	{ "plain", "`plain`", "plain" },
	{ "a`b", "``a`b``", "a`b" },
	{ "`", "`` ` ``", "`" },
	{ "a``b`", "``` a``b` ```", "a``b`" },
	{ "x|y", "`x\\|y`", "x|y" },
	{ "<b>&\"@me", "`<b>&\"@me`", "&#60;b&#62;&#38;&#34;&#64;me" },
	{ " a", "`  a `", " a" },
	{ "\033[1m", "`\\x1b[1m`", "\\x1b[1m" },
};

START_TEST(markdown_holds_any_text)
{
	struct mpk_strbuf code = { 0 }, html = { 0 };

	mpk_markdown_code(&code, mpk_span_str(markups[_i].text));
	mpk_markdown_html(&html, markups[_i].text);
	ck_assert_str_eq(mpk_strbuf_text(&code), markups[_i].code);
	ck_assert_str_eq(mpk_strbuf_text(&html), markups[_i].html);
	mpk_strbuf_fini(&code);
	mpk_strbuf_fini(&html);
}
END_TEST

START_TEST(fences_are_longer_than_their_text)
{
	struct mpk_strbuf out = { 0 };

	mpk_markdown_fence(&out, "diff", mpk_span_str("a\n````\n"));
	mpk_markdown_fence(&out, "", mpk_span_str("``\n"));
	ck_assert_str_eq(mpk_strbuf_text(&out), "`````diff\na\n````\n`````\n```\n``\n```\n");
	mpk_strbuf_fini(&out);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("compare");
	TCase *t = tcase_create("texts");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, hunks_are_those_of_the_unified_format, 0, MPK_ARRAY_COUNT(texts));
	tcase_add_loop_test(t, hunks_make_one_text_of_the_other, 0, 5);
	tcase_add_test(t, nothing_is_a_text);
	tcase_add_test(t, scripts_are_shortest);
	tcase_add_test(t, large_texts_end);
	tcase_add_test(t, too_many_lines_are_told);
	suite_add_tcase(s, t);
	t = tcase_create("tensors");
	tcase_add_test(t, tensors_of_floats);
	tcase_add_test(t, zeros_and_nans_by_value);
	tcase_add_test(t, tensors_of_every_type);
	suite_add_tcase(s, t);
	t = tcase_create("SPIR-V");
	tcase_add_test(t, names_in_spirv_are_no_code);
	suite_add_tcase(s, t);
	t = tcase_create("cubins");
	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, NULL, forget);
	tcase_add_test(t, debug_information_is_no_code);
	tcase_add_test(t, sections_of_one_name);
	tcase_add_test(t, damaged_cubins);
	suite_add_tcase(s, t);
	t = tcase_create("host code");
	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, NULL, forget);
	tcase_add_test(t, host_code_is_itself);
	tcase_add_loop_test(t, damaged_libraries, 0, 4);
	suite_add_tcase(s, t);
	t = tcase_create("markdown");
	tcase_add_loop_test(t, markdown_holds_any_text, 0, MPK_ARRAY_COUNT(markups));
	tcase_add_test(t, fences_are_longer_than_their_text);
	suite_add_tcase(s, t);

	SRunner *runner = srunner_create(s);

	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
