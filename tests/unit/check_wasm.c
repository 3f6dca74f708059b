/* SPDX-License-Identifier: Apache-2.0 */
/* formats/wasm: objects of clang and modules of wasm-ld 19, and what TVM's blob and functions are in them */
#include "robust.h"

#include <stdlib.h>
#include <string.h>

#include "assert_error.h"
#include "base/compiler.h"
#include "elf/image.h"
#include "object/object.h"

#define DATA "tests/data/objects/"

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

static struct mpk_object open_wasm(const char *path)
{
	struct mpk_error err = { 0 };
	struct mpk_object o;

	ck_assert_msg(mpk_wasm_reader.read(robust_load(&arena, path), &arena, &o, &err) == MPK_OK,
		      "%s: %s", path, err.text);
	return o;
}

static const struct mpk_object_symbol *symbol_of(const struct mpk_object *o, const char *name)
{
	for (size_t i = 0; i < o->symbol_count; i++)
		if (strcmp(o->symbols[i].name, name) == 0)
			return &o->symbols[i];
	ck_abort_msg("there is no %s", name);
}

/* As llvm-nm prints them. */
START_TEST(object)
{
	struct mpk_object o = open_wasm(DATA "host.wasm32.o");
	const struct mpk_object_symbol *s = symbol_of(&o, "__tvm_ffi_scale");

	ck_assert_int_eq(o.kind, MPK_OBJECT_RELOCATABLE);
	ck_assert_str_eq(o.machine_name, "wasm32");
	ck_assert(s->defined && s->global && s->is_function && s->content.len > 10);
	s = symbol_of(&o, "TVMFFIErrorSetRaisedFromCStrParts");
	ck_assert(!s->defined && s->global && s->is_function && !s->content.len);
	s = symbol_of(&o, "helper");
	ck_assert(s->defined && s->is_function && s->content.len);
}
END_TEST

static const struct {
	const char *path, *machine, *section;
	enum mpk_object_kind kind;
	enum mpk_container container;
	bool has_symbol;
} blobs[] = {
	{ DATA "devc.wasm32.o", "wasm32", ".rodata.__tvm_ffi__library_bin", MPK_OBJECT_RELOCATABLE,
	  MPK_CONTAINER_WASM_OBJ, true },
	{ DATA "devc.wasm64.o", "wasm64", ".rodata.__tvm_ffi__library_bin", MPK_OBJECT_RELOCATABLE,
	  MPK_CONTAINER_WASM_OBJ, true },
	{ DATA "scale.exported.wasm", "wasm32", "data", MPK_OBJECT_LIBRARY, MPK_CONTAINER_WASM_SO,
	  true },
	{ DATA "scale.wasm", "wasm32", ".rodata", MPK_OBJECT_LIBRARY, MPK_CONTAINER_WASM_SO,
	  false },
};

/* By its symbol, by an exported address, and among the data of a module that exports neither. */
START_TEST(blob)
{
	struct mpk_span want = robust_load(&arena, "tests/data/formats/01_opencl_scale.blob");
	struct mpk_span bytes = robust_load(&arena, blobs[_i].path);
	struct mpk_object o = open_wasm(blobs[_i].path);
	struct mpk_error err = { 0 };
	struct mpk_image image;

	ck_assert_int_eq(o.kind, blobs[_i].kind);
	ck_assert_ok(mpk_image_open(bytes, NULL, &arena, &image, &err), err);
	ck_assert_int_eq(image.format, MPK_FILE_WASM);
	ck_assert_int_eq(image.container, blobs[_i].container);
	ck_assert_str_eq(image.machine_name, blobs[_i].machine);
	ck_assert(image.has_blob);
	ck_assert_uint_eq(image.blob.len, want.len);
	ck_assert_mem_eq(image.blob.data, want.data, want.len);
	ck_assert_mem_eq(bytes.data + image.blob_off, want.data, want.len);
	ck_assert_str_eq(image.blob_section, blobs[_i].section);
	ck_assert_int_eq(image.blob_symbol != NULL, blobs[_i].has_symbol);
}
END_TEST

/* Exported, or known by name alone; what is imported is undefined. */
START_TEST(functions)
{
	static const char *const paths[] = { DATA "host.wasm32.o", DATA "scale.wasm",
					     DATA "scale.exported.wasm" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(paths); i++) {
		struct mpk_error err = { 0 };
		struct mpk_image image;

		ck_assert_ok(
			mpk_image_open(robust_load(&arena, paths[i]), NULL, &arena, &image, &err),
			err);
		ck_assert_uint_eq(image.function_count, 1);
		ck_assert_str_eq(image.functions[0].name, "scale");
		ck_assert_uint_gt(image.functions[0].bytes, 10);
		ck_assert_uint_eq(image.undefined_count, 1);
		ck_assert_str_eq(image.undefined[0], "TVMFFIErrorSetRaisedFromCStrParts");
	}
}
END_TEST

/* A module that holds a blob's beginning and not all of it has none. */
START_TEST(cut_blob)
{
	struct mpk_span good = robust_load(&arena, DATA "scale.wasm");
	uint8_t *bytes = (uint8_t *)mpk_arena_copy(&arena, good.data, good.len);
	struct mpk_error err = { 0 };
	struct mpk_image image;

	ck_assert_ok(mpk_image_open(good, NULL, &arena, &image, &err), err);
	bytes[image.blob_off + 1] = 0x7f; /* its length */
	ck_assert_ok(mpk_image_open(mpk_span_of(bytes, good.len), NULL, &arena, &image, &err), err);
	ck_assert(!image.has_blob);
}
END_TEST

#define HEAD "\0asm\1\0\0\0"
#define BYTES(text) mpk_span_of(text, sizeof text - 1)

START_TEST(is)
{
	ck_assert(mpk_wasm_reader.is(BYTES(HEAD)));
	ck_assert(!mpk_wasm_reader.is(BYTES("\0asm\x0d\0\1\0"))); /* a component */
	ck_assert(!mpk_wasm_reader.is(BYTES("\0asm")));
}
END_TEST

static void assert_corrupt(struct mpk_span bytes, const char *text)
{
	struct mpk_error err = { 0 };
	struct mpk_object o;

	ck_assert_int_eq(mpk_wasm_reader.read(bytes, &arena, &o, &err), MPK_E_CORRUPT);
	ck_assert(err.at.has_offset);
	ck_assert_str_eq(err.at.space, "file");
	ck_assert_msg(strstr(err.text, text), "%s", err.text);
}

START_TEST(refuses)
{
	struct mpk_object o;

	ck_assert_int_eq(mpk_wasm_reader.read(BYTES(HEAD), &arena, &o, NULL), MPK_OK);
	assert_corrupt(BYTES(HEAD "\1\5\0"), "a section");
	assert_corrupt(BYTES(HEAD "\x2a\1\0"), "an unknown kind");
	assert_corrupt(BYTES(HEAD "\1\1\0\1\1\0"), "twice");
	assert_corrupt(BYTES(HEAD "\2\1\5"), "does not fit in the");
	assert_corrupt(BYTES(HEAD "\2\6\1\1e\1f\x9"), "an import of an unknown kind");
	assert_corrupt(BYTES(HEAD "\3\2\1\0"), "not as many");
	assert_corrupt(BYTES(HEAD "\7\5\1\1f\0\0"), "of what is not there");
	assert_corrupt(BYTES(HEAD "\6\5\1\x7f\0\0\xb"), "no constant");
	assert_corrupt(BYTES(HEAD "\xb\2\1\7"), "a data segment of an unknown kind");
	assert_corrupt(BYTES(HEAD "\0\x9\7linking\3"), "symbols of another version");
	assert_corrupt(BYTES(HEAD "\0\x10\7linking\2\x8\5\1\1\0\1a"), "a symbol");
	assert_corrupt(BYTES(HEAD "\1\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\0"), "64 bits");
}
END_TEST

static enum mpk_code read_image(struct mpk_span bytes, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena own = { 0 };
	struct mpk_image image;

	return mpk_image_open(bytes, NULL, &own, &image, err);
}

static const char *const damaged[] = { DATA "host.wasm32.o", DATA "devc.wasm64.o",
				       DATA "scale.wasm", DATA "scale.exported.wasm" };

START_TEST(damage)
{
	robust_check(damaged[_i], read_image, 10000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("wasm");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, object);
	tcase_add_loop_test(tc, blob, 0, MPK_ARRAY_COUNT(blobs));
	tcase_add_test(tc, functions);
	tcase_add_test(tc, cut_blob);
	tcase_add_test(tc, is);
	tcase_add_test(tc, refuses);
	tcase_add_loop_test(tc, damage, 0, MPK_ARRAY_COUNT(damaged));
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
