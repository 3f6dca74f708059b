/* SPDX-License-Identifier: Apache-2.0 */
/* formats/macho and formats/coff against what clang, lld, lipo and objcopy made, and the images of
 * such files (elf/image.h) */
#include <check.h>
#include <elf.h>
#include <stdlib.h>

#include "elf/image.h"
#include "elf/target.h"
#include "hostcode/host.h"
#include "object/object.h"
#include "robust.h"

#define DATA "tests/data/objects/"

static struct mpk_arena arena;

static void teardown(void)
{
	mpk_arena_fini(&arena);
}

static struct mpk_span file(const char *name)
{
	return robust_load(&arena, mpk_arena_printf(&arena, DATA "%s", name));
}

static const struct {
	const char *file, *member;
	enum mpk_container container;
	enum mpk_file_format format;
	uint16_t machine;
	const char *section, *functions, *needed;
} files[] = {
	{ "devc.arm64.o", NULL, MPK_CONTAINER_MACHO_OBJ, MPK_FILE_MACHO, EM_AARCH64,
	  "__TEXT,__const", "", "" },
	{ "devc.armv7.o", NULL, MPK_CONTAINER_MACHO_OBJ, MPK_FILE_MACHO, EM_ARM, "__TEXT,__const",
	  "", "" },
	{ "host.arm64.o", NULL, MPK_CONTAINER_MACHO_OBJ, MPK_FILE_MACHO, EM_AARCH64, NULL, "scale",
	  "" },
	{ "universal.o", NULL, MPK_CONTAINER_MACHO_OBJ, MPK_FILE_MACHO, EM_X86_64, "__TEXT,__const",
	  "", "" },
	{ "universal.o", "arm64", MPK_CONTAINER_MACHO_OBJ, MPK_FILE_MACHO, EM_AARCH64,
	  "__TEXT,__const", "", "" },
	{ "macho.a", NULL, MPK_CONTAINER_ARCHIVE, MPK_FILE_MACHO, EM_AARCH64, "__TEXT,__const",
	  "scale", "" },
	{ "scale.x86_64.dylib", NULL, MPK_CONTAINER_MACHO_SO, MPK_FILE_MACHO, EM_X86_64,
	  "__TEXT,__const", "scale", "" },
	{ "devc.x86_64.obj", NULL, MPK_CONTAINER_COFF_OBJ, MPK_FILE_COFF, EM_X86_64, ".rdata", "",
	  "" },
	{ "devc.x86_64.big.obj", NULL, MPK_CONTAINER_COFF_OBJ, MPK_FILE_COFF, EM_X86_64, ".rdata",
	  "", "" },
	{ "devc.i686.obj", NULL, MPK_CONTAINER_COFF_OBJ, MPK_FILE_COFF, EM_386, ".rdata", "", "" },
	{ "host.x86_64.obj", NULL, MPK_CONTAINER_COFF_OBJ, MPK_FILE_COFF, EM_X86_64, NULL, "scale",
	  "" },
	{ "scale.dll", NULL, MPK_CONTAINER_PE_SO, MPK_FILE_PE, EM_X86_64, ".rdata", "scale",
	  "tvm_ffi.dll" },
};

START_TEST(image_of)
{
	struct mpk_span want = robust_load(&arena, "tests/data/formats/01_opencl_scale.blob");
	struct mpk_span bytes = file(files[_i].file);
	const struct mpk_signature *const *signatures;
	struct mpk_error err = { 0 };
	struct mpk_image image = { 0 };

	ck_assert_msg(mpk_image_open(bytes, files[_i].member, &arena, &image, &err) == MPK_OK,
		      "%s: %s", files[_i].file, err.text);
	ck_assert_int_eq(image.container, files[_i].container);
	ck_assert_int_eq(image.format, files[_i].format);
	ck_assert_int_eq(image.machine, files[_i].machine);
	ck_assert_uint_eq(image.elf_class, 0);
	ck_assert_int_eq(image.has_blob, files[_i].section != NULL);
	if (image.has_blob) {
		ck_assert_str_eq(image.blob_section, files[_i].section);
		ck_assert_str_eq(image.blob_symbol, "__tvm_ffi__library_bin");
		ck_assert_uint_eq(image.blob.len, want.len);
		ck_assert_mem_eq(image.blob.data, want.data, want.len);
		ck_assert_mem_eq(bytes.data + image.blob_off, want.data, want.len);
	}
	ck_assert_uint_eq(image.function_count, files[_i].functions[0] != 0);
	ck_assert_uint_eq(image.needed_count, files[_i].needed[0] != 0);
	if (image.needed_count)
		ck_assert_str_eq(image.needed[0], files[_i].needed);
	ck_assert_int_eq(mpk_host_signatures(&image, &arena, &signatures, NULL), MPK_OK);
	for (size_t i = 0; i < image.function_count; i++) {
		ck_assert_str_eq(image.functions[i].name, files[_i].functions);
		ck_assert_ptr_nonnull(signatures[i]);
		ck_assert_uint_eq(signatures[i]->input_count, 4);
	}
}
END_TEST

/* Not only blob and functions: what stands beside them, and where it ends. */
START_TEST(symbols)
{
	static const struct {
		const char *file;
		const struct mpk_object_reader *reader;
	} rows[] = { { "host.arm64.o", &mpk_macho_reader },
		     { "host.x86_64.obj", &mpk_coff_reader } };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_object o;
		unsigned seen = 0;

		ck_assert_int_eq(rows[i].reader->read(file(rows[i].file), &arena, &o, NULL),
				 MPK_OK);
		ck_assert_int_eq(o.kind, MPK_OBJECT_RELOCATABLE);
		for (size_t k = 0; k < o.symbol_count; k++) {
			const struct mpk_object_symbol *s = &o.symbols[k];

			if (strcmp(s->name, "helper") == 0) {
				ck_assert(s->defined && s->global && s->is_function);
				ck_assert(s->content.len >= 6 && s->content.len <= 16);
				seen |= 1;
			} else if (strcmp(s->name, "TVMFFIErrorSetRaisedFromCStrParts") == 0) {
				ck_assert(!s->defined && s->global && !s->content.len);
				seen |= 2;
			} else if (strcmp(s->name, "__tvm_ffi__library_ctx") == 0) {
				ck_assert(s->defined && !s->is_function && !s->content.len);
				seen |= 4;
			}
		}
		ck_assert_msg(seen == 7, "%s: %u", rows[i].file, seen);
	}
}
END_TEST

START_TEST(slices)
{
	struct mpk_span bytes = file("universal.o");
	struct mpk_macho_slice *list;
	size_t count;

	ck_assert(mpk_macho_is_universal(bytes));
	ck_assert_int_eq(mpk_macho_slices(bytes, &arena, &list, &count, NULL), MPK_OK);
	ck_assert_uint_eq(count, 2);
	ck_assert_str_eq(list[0].name, "x86_64");
	ck_assert_str_eq(list[1].name, "arm64");
	ck_assert(mpk_span_equal(list[1].bytes, file("devc.arm64.o")));
	/* a class file of Java 8 */
	ck_assert(!mpk_macho_is_universal(mpk_span_of("\xca\xfe\xba\xbe\0\0\0\x34", 8)));
}
END_TEST

/* One field of a sound file made unsound. */
static const struct {
	const char *file;
	size_t off, bytes;
	uint64_t value;
	const char *text;
} wounds[] = {
	{ "devc.arm64.o", 20, 4, 1 << 20, "load commands end beyond" },
	{ "devc.arm64.o", 36, 4, 4, "longer than the list" },
	{ "devc.arm64.o", 36, 4, 1 << 20, "longer than the list" },
	{ "devc.arm64.o", 32 + 64, 4, 1000, "more sections than its command" },
	{ "devc.arm64.o", 32 + 72 + 40, 8, UINT64_MAX, "a section lies beyond" },
	{ "universal.o", 16, 4, 0xffffff7f, "lies beyond the file" },
	{ "devc.x86_64.obj", 2, 2, 0xffff, "do not fit" },
	{ "devc.x86_64.obj", 12, 4, 0xffffffff, "symbol table lies beyond" },
	{ "devc.x86_64.obj", 20 + 16, 4, 0xffffff, "section 1 lies beyond" },
	{ "scale.dll", 0x7c + 2, 2, 0xffff, "do not fit" },
};

START_TEST(wounded)
{
	struct mpk_span good = file(wounds[_i].file);
	uint8_t *bytes = mpk_arena_alloc(&arena, good.len);
	struct mpk_image image = { .machine = 77 };
	struct mpk_error err = { 0 };

	memcpy(bytes, good.data, good.len);
	if (strcmp(wounds[_i].file, "scale.dll") == 0)
		ck_assert_mem_eq(bytes + 0x7c, "\x64\x86", 2);
	for (size_t i = 0; i < wounds[_i].bytes; i++)
		bytes[wounds[_i].off + i] = (uint8_t)(wounds[_i].value >> (8 * i));
	ck_assert_int_eq(mpk_image_open(mpk_span_of(bytes, good.len), NULL, &arena, &image, &err),
			 MPK_E_CORRUPT);
	ck_assert_msg(strstr(err.text, wounds[_i].text) != NULL, "%s", err.text);
	ck_assert_uint_eq(image.machine, 77);
}
END_TEST

/* A module blob begins with its length, which may be the number of a machine. */
START_TEST(blob_is_no_object)
{
	uint8_t blob[100] = { 0x64, 0x86, 1, 0, 0, 0, 0, 0, 3 };

	ck_assert(!mpk_coff_reader.is(mpk_span_of(blob, sizeof blob)));
}
END_TEST

/* An object of another system or machine is none of the target's. */
START_TEST(targets)
{
	static const struct {
		const char *file, *triple;
		const char *text; /* NULL: it fits */
	} rows[] = {
		{ "host.arm64.o", "arm64-apple-macos", NULL },
		{ "host.arm64.o", "x86_64-apple-macos", "a Mach-O object for AArch64" },
		{ "host.arm64.o", "aarch64-linux-gnu", "a Mach-O object, but the target is" },
		{ "host.x86_64.obj", "x86_64-pc-windows-msvc", NULL },
		{ "devc.i686.obj", "x86_64-pc-windows-msvc", "a COFF object for x86" },
		{ "host.x86_64.obj", "x86_64-linux-gnu", "a COFF object, but the target is" },
		{ "devc.x86_64.big.obj", "x86_64-w64-mingw32", NULL },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_target target = mpk_target_parse(rows[i].triple);
		struct mpk_error err = { 0 };
		enum mpk_code code = mpk_target_check(&target, file(rows[i].file), &err);

		ck_assert_msg(code == (rows[i].text ? MPK_E_CONFLICT : MPK_OK), "%s: %s",
			      rows[i].file, err.text);
		ck_assert_msg(!rows[i].text || strstr(err.text, rows[i].text), "%s", err.text);
	}
}
END_TEST

static enum mpk_code try_image(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_arena scratch MPK_CLEANUP(mpk_arena_fini) = { 0 };
	const struct mpk_signature *const *signatures;
	struct mpk_image image;

	MPK_TRY(mpk_image_open(bytes, NULL, &scratch, &image, err));
	return mpk_host_signatures(&image, &scratch, &signatures, err);
}

START_TEST(survives)
{
	robust_check(mpk_arena_printf(&arena, DATA "%s", files[_i].file), try_image, 6000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("objects");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, image_of, 0, MPK_ARRAY_COUNT(files));
	tcase_add_test(tc, symbols);
	tcase_add_test(tc, slices);
	tcase_add_loop_test(tc, wounded, 0, MPK_ARRAY_COUNT(wounds));
	tcase_add_test(tc, blob_is_no_object);
	tcase_add_test(tc, targets);
	tcase_add_loop_test(tc, survives, 0, MPK_ARRAY_COUNT(files));
	suite_add_tcase(suite, tc);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
