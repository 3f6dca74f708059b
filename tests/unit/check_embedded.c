/* SPDX-License-Identifier: Apache-2.0 */
/* Device code beside the blob (elf/elf_image.c), and other code in its place (package/swap.c):
 * files of tvm-ffi's own tool, and such as no tool makes. */
#include <unistd.h>

#include "image_made.h"
#include "model/device_code.h"
#include "package/package.h"

static struct mpk_image open_image(struct mpk_span bytes)
{
	struct mpk_image image = { 0 };
	struct mpk_error err = { 0 };

	ck_assert_msg(mpk_image_open(bytes, NULL, &arena, &image, &err) == MPK_OK, "%s", err.text);
	return image;
}

static const char *const real_files[] = { "tests/data/embedded/embedded.o",
					  "tests/data/embedded/embedded.so" };

static const struct {
	const char *name, *symbol, *file, *kernel;
	size_t kernels;
} codes[] = {
	{ "kernels", "__tvm_ffi__cubin_kernels", "tests/data/device/two.sm_75.cubin", "gather", 2 },
	{ "images", "__tvm_ffi__cubin_images", "tests/data/device/tiny.none.fatbin", "tiny", 1 },
	{ "text", "__tvm_ffi__cubin_text", "tests/data/device/two.ptx", "scale", 2 },
};

START_TEST(real)
{
	struct mpk_span bytes = load(real_files[_i]);
	struct mpk_image image = open_image(bytes);
	struct mpk_view view;

	ck_assert_uint_eq(image.embedded_count, MPK_ARRAY_COUNT(codes));
	ck_assert_int_eq(mpk_view_init(&view, "lib.so", bytes.len, &image, NULL, &arena, NULL),
			 MPK_OK);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(codes); i++) {
		const struct mpk_image_code *c = &image.embedded[i];
		const struct mpk_code_info *lister = mpk_view_embedded_lister(&view.embedded[i]);

		ck_assert_str_eq(c->name, codes[i].name);
		ck_assert_str_eq(c->symbol, codes[i].symbol);
		ck_assert(mpk_span_equal(c->bytes, load(codes[i].file)));
		ck_assert_uint_eq(c->room_bytes, c->bytes.len);
		ck_assert_mem_eq(bytes.data + c->off, c->bytes.data, c->bytes.len);
		ck_assert_ptr_nonnull(lister);
		ck_assert_uint_eq(lister->kernel_count, codes[i].kernels);
		ck_assert(mpk_span_is(lister->kernels[0].name, codes[i].kernel));
	}
}
END_TEST

/* An object with these symbols, relocatable-linked of two parts. */
static struct mpk_image made(const char *first, const char *second)
{
	FILE *f;
	char path[128];

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%s/%d.s", dir, i);
		f = fopen(path, "w");
		ck_assert_ptr_nonnull(f);
		ck_assert_int_ge(fprintf(f, ".section .rodata\n%s\n", i ? second : first), 0);
		ck_assert_int_eq(fclose(f), 0);
		ck_assert(run("cc -c %s -o %s/%d.o", path, dir, i));
	}
	ck_assert(run("ld -r %s/0.o %s/1.o -o %s/all.o", dir, dir, dir));
	snprintf(path, sizeof path, "%s/all.o", dir);
	return open_image(load(path));
}

#define CODE(name, bytes) "__tvm_ffi__cubin_" name ": " bytes "\n__tvm_ffi__cubin_" name "_end:\n"

START_TEST(same_name_twice)
{
	struct mpk_image image = made(CODE("a", ".ascii \"one\"") CODE("b", ".ascii \"x\""),
				      CODE("a", ".ascii \"second\""));

	ck_assert_uint_eq(image.embedded_count, 3);
	ck_assert_str_eq(image.embedded[0].name, "a");
	ck_assert(mpk_span_is(image.embedded[0].bytes, "one"));
	ck_assert_str_eq(image.embedded[1].name, "b");
	ck_assert_str_eq(image.embedded[2].name, "a.2");
	ck_assert(mpk_span_is(image.embedded[2].bytes, "second"));
}
END_TEST

START_TEST(odd_symbols)
{
	static const struct {
		const char *text;
		size_t count;
	} rows[] = {
		{ "__tvm_ffi__cubin_a: .ascii \"no end\"\n", 0 },
		{ "__tvm_ffi__cubin_a_end:\n", 0 },
		{ CODE("a", ""), 0 },
		{ "__tvm_ffi__cubin_a_end: .ascii \"x\"\n__tvm_ffi__cubin_a:\n", 0 },
		/* "a_end" is a name, too, and then ends a */
		{ CODE("a", ".ascii \"x\"") ".ascii \"y\"\n__tvm_ffi__cubin_a_end_end:\n", 2 },
		/* overlapping ones: the first counts */
		{ "__tvm_ffi__cubin_a: .ascii \"x\"\n__tvm_ffi__cubin_b: .ascii \"y\"\n"
		  "__tvm_ffi__cubin_a_end: .ascii \"z\"\n__tvm_ffi__cubin_b_end:\n",
		  1 },
		{ ".bss\n" CODE("a", ".zero 8"), 0 },
		{ "__tvm_ffi__cubin_a: .ascii \"x\"\n.data\n__tvm_ffi__cubin_a_end:\n", 0 },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		ck_assert_msg(made(rows[i].text, "").embedded_count == rows[i].count, "row %zu", i);
}
END_TEST

/* What is shorter than its room is followed by zeros that are none of it. */
START_TEST(shorter_than_room)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(codes); i++) {
		char text[300];
		struct mpk_image image;
		struct mpk_span want = load(codes[i].file);
		bool is_text = strcmp(codes[i].name, "text") == 0;

		snprintf(text, sizeof text,
			 "__tvm_ffi__cubin_a: .incbin \"%s\"\n.zero 100\n__tvm_ffi__cubin_a_end:\n",
			 codes[i].file);
		image = made(text, "");
		ck_assert_uint_eq(image.embedded_count, 1);
		ck_assert_uint_eq(image.embedded[0].room_bytes, want.len + 100);
		ck_assert_uint_eq(image.embedded[0].bytes.len, want.len + is_text);
	}
}
END_TEST

/* --- swapping ------------------------------------------------------------------------------ */

static struct mpk_private copy_of(struct mpk_span bytes)
{
	struct mpk_private file = { .data = mpk_arena_alloc(&arena, bytes.len), .len = bytes.len };

	memcpy(file.data, bytes.data, bytes.len);
	return file;
}

START_TEST(swaps)
{
	struct mpk_span bytes = load(real_files[_i]),
			new = load("tests/data/device/two.sm_52.cuda12.cubin");
	struct mpk_image image = open_image(bytes), after;
	struct mpk_private file = copy_of(bytes);
	const struct mpk_image_code *c = &image.embedded[0];
	struct mpk_report report = { 0 };
	struct mpk_error err = { 0 };

	ck_assert_msg(mpk_swap_code(&image, &file, "cubin:kernels", new, "new", &arena, &report,
				    &err) == MPK_OK,
		      "%s", err.text);
	ck_assert_uint_eq(report.count, 0);
	ck_assert_mem_eq(file.data, bytes.data, c->off);
	ck_assert_mem_eq(file.data + c->off + c->room_bytes, bytes.data + c->off + c->room_bytes,
			 bytes.len - c->off - c->room_bytes);
	after = open_image(mpk_span_of(file.data, file.len));
	ck_assert(mpk_span_equal(after.embedded[0].bytes, new));
	/* and back */
	ck_assert_int_eq(mpk_swap_code(&after, &file, "cubin:kernels", c->bytes, "old", &arena,
				       &report, &err),
			 MPK_OK);
	ck_assert_mem_eq(file.data, bytes.data, bytes.len);
	mpk_report_fini(&report);
}
END_TEST

static const struct {
	const char *what, *file;
	enum mpk_code code;
	const char *text;
	size_t warnings;
} swaps_bad[] = {
	{ "cubin:kernel", "device/two.sm_75.cubin", MPK_E_USAGE, "did you mean 'cubin:kernels'?",
	  0 },
	{ "cubin:kernels", "device/two.sm_90.cubin", MPK_E_RANGE,
	  "7600 bytes do not fit into the 6496", 0 },
	{ "cubin:kernels", "device/tiny.none.fatbin", MPK_E_RANGE, "do not fit", 0 },
	{ "cubin:kernels", "device/two.cu", MPK_E_CORRUPT, "this is CUDA C++ source", 0 },
	{ "cubin:kernels", "device/compute.spvasm", MPK_E_CORRUPT, "is wanted here", 0 },
	{ "cubin:kernels", "device/compute.spv", MPK_E_CORRUPT, "is wanted here", 0 },
	/* a NUL behind it would be one byte too many */
	{ "cubin:text", "device/two.ptx", MPK_E_RANGE, "4544 bytes do not fit into the 4543", 0 },
	{ "cubin:images", "device/two.ptx", MPK_OK, "", 1 },
};

START_TEST(refuses_swap)
{
	struct mpk_span bytes = load(real_files[1]);
	struct mpk_span new = load(mpk_arena_printf(&arena, "tests/data/%s", swaps_bad[_i].file));
	struct mpk_image image = open_image(bytes);
	struct mpk_private file = copy_of(bytes);
	struct mpk_report report = { 0 };
	struct mpk_error err = { 0 };
	enum mpk_code code =
		mpk_swap_code(&image, &file, swaps_bad[_i].what, new, "new", &arena, &report, &err);

	ck_assert_msg(code == swaps_bad[_i].code, "%s", err.text);
	ck_assert_msg(strstr(err.text, swaps_bad[_i].text) != NULL, "%s", err.text);
	ck_assert_uint_eq(report.count, swaps_bad[_i].warnings);
	if (code != MPK_OK)
		ck_assert_mem_eq(file.data, bytes.data, bytes.len);
	mpk_report_fini(&report);
}
END_TEST

/* What --verify finds in code is found here, too: an image that does not read is an error, a cubin
 * made for a link a warning. */
START_TEST(verifies)
{
	struct mpk_span bytes = load(real_files[1]);
	struct mpk_image image = open_image(bytes);
	struct mpk_private file = copy_of(bytes), link, broken;
	struct mpk_report report = { 0 };
	struct mpk_error err = { 0 };

	broken = copy_of(load("tests/data/device/tiny.none.fatbin"));
	uint8_t *version = memmem(broken.data, broken.len, ".version", 8);
	ck_assert_ptr_nonnull(version);
	memcpy(version, ".verzion", 8);
	ck_assert_int_eq(mpk_swap_code(&image, &file, "cubin:images",
				       mpk_span_of(broken.data, broken.len), "new", &arena, &report,
				       &err),
			 MPK_E_SYNTAX);
	ck_assert_msg(strstr(err.text, ".verzion") != NULL, "%s", err.text);
	ck_assert_mem_eq(file.data, bytes.data, bytes.len);
	ck_assert_uint_eq(report.count, 0);

	link = copy_of(load("tests/data/device/two.sm_52.cuda12.cubin"));
	link.data[16] = ET_REL;
	ck_assert_int_eq(mpk_swap_code(&image, &file, "cubin:kernels",
				       mpk_span_of(link.data, link.len), "new", &arena, &report,
				       &err),
			 MPK_OK);
	ck_assert_uint_eq(report.count, 1);
	ck_assert_msg(strstr(report.findings[0].error.text, "made for a link") != NULL, "%s",
		      report.findings[0].error.text);
	mpk_report_fini(&report);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("embedded");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, real, 0, MPK_ARRAY_COUNT(real_files));
	tcase_add_test(tc, same_name_twice);
	tcase_add_test(tc, odd_symbols);
	tcase_add_test(tc, shorter_than_room);
	tcase_add_loop_test(tc, swaps, 0, MPK_ARRAY_COUNT(real_files));
	tcase_add_loop_test(tc, refuses_swap, 0, MPK_ARRAY_COUNT(swaps_bad));
	tcase_add_test(tc, verifies);
	suite_add_tcase(suite, tc);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
