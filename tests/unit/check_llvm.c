/* SPDX-License-Identifier: Apache-2.0 */
/* Objects through LLVM (llvm/llvm.h). nm, readelf and ld of binutils are the judges of ELF
 * objects; of the others the magic number, since binutils may not know them. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "llvm/llvm.h"

static struct mpk_arena arena;
static char name[64];

static void setup(void)
{
	int fd;

	strcpy(name, "/tmp/mpk-llvm-XXXXXX");
	fd = mkstemp(name);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(close(fd), 0);
	ck_assert_int_eq(setenv("F", name, 1), 0);
}

static void teardown(void)
{
	mpk_arena_fini(&arena);
	ck_assert_int_eq(unlink(name), 0);
}

static void save(struct mpk_span bytes)
{
	FILE *f = fopen(name, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(bytes.data, 1, bytes.len, f), bytes.len);
	ck_assert_int_eq(fclose(f), 0);
}

/* What a command prints about the saved object, which is $F. */
static const char *ask(const char *command)
{
	char *text = mpk_arena_alloc(&arena, 16384);
	FILE *p = popen(command, "r");

	ck_assert_ptr_nonnull(p);
	(void)!fread(text, 1, 16383, p);
	ck_assert_int_ne(pclose(p), -1);
	return text;
}

static void assert_says(const char *command, const char *want)
{
	const char *got = ask(command);

	ck_assert_msg(strstr(got, want) != NULL, "no '%s' in:\n%s", want, got);
}

static struct mpk_llvm_blob blob_for(const char *triple)
{
	return (struct mpk_llvm_blob){ .triple = triple,
				       .format = mpk_target_parse(triple).format,
				       .symbol = "__tvm_ffi__library_bin",
				       .bytes = mpk_span_of("\x04\0\0\0\0\0\0\0bl\0b", 12),
				       .align = 16,
				       .prefix = "" };
}

static struct mpk_span emit(const struct mpk_llvm_blob *blob)
{
	struct mpk_span out = { 0 };
	struct mpk_error err = { 0 };

	ck_assert_msg(mpk_llvm_table()->emit_blob(blob, &arena, &out, &err) == MPK_OK, "%s: %s",
		      blob->triple, err.text);
	return out;
}

/* flags: what a linker of a distribution refuses to mix with another */
static const struct {
	const char *triple, *says, *data, *flags;
} elf[] = {
	{ "x86_64-linux-gnu", "Advanced Micro Devices X86-64", "little endian", "0x0" },
	{ "aarch64-linux-gnu", "AArch64", "little endian", "0x0" },
	{ "riscv64-linux-gnu", "RISC-V", "little endian", "double-float ABI" },
	{ "loongarch64-linux-gnu", "LoongArch", "little endian", "DOUBLE-FLOAT" },
	{ "s390x-linux-gnu", "IBM S/390", "big endian", "0x0" },
	{ "powerpc64-linux-gnu", "PowerPC64", "big endian", "0x0" },
	{ "powerpc64le-linux-gnu", "PowerPC64", "little endian", "abiv2" },
	{ "armv7-linux-gnueabihf", "ARM", "little endian", "Version5 EABI" },
};

START_TEST(elf_objects)
{
	struct mpk_llvm_blob blob = blob_for(elf[_i].triple);
	struct mpk_span object = emit(&blob);

	save(object);
	assert_says("readelf -hW $F", elf[_i].says);
	assert_says("readelf -hW $F", elf[_i].data);
	assert_says("readelf -hW $F | grep Flags", elf[_i].flags);
	assert_says("readelf -hW $F", "REL (Relocatable file)");
	assert_says("nm $F", "R __tvm_ffi__library_bin");
	assert_says("readelf -sW $F", "12 OBJECT  GLOBAL DEFAULT");
	/* The blob is bytes, not numbers: no byte order of a machine touches it. */
	ck_assert_ptr_nonnull(memmem(object.data, object.len, blob.bytes.data, blob.bytes.len));
}
END_TEST

START_TEST(large_section)
{
	struct mpk_llvm_blob blob = blob_for("x86_64-linux-gnu");

	blob.large = true;
	blob.align = 4096;
	save(emit(&blob));
	assert_says("readelf -SW $F", ".lrodata");
	assert_says("readelf -SW $F | grep lrodata", " Al ");
	assert_says("readelf -SW $F | grep lrodata", " 4096");
}
END_TEST

START_TEST(other_formats)
{
	static const struct {
		const char *triple, *magic, *symbol;
	} rows[] = {
		{ "arm64-apple-macos", "\xcf\xfa\xed\xfe", "___tvm_ffi__library_bin" },
		{ "x86_64-apple-macos", "\xcf\xfa\xed\xfe", "___tvm_ffi__library_bin" },
		{ "x86_64-w64-windows-gnu", "\x64\x86", "__tvm_ffi__library_bin" },
		{ "x86_64-pc-windows-msvc", "\x64\x86", "/EXPORT:__tvm_ffi__library_bin" },
	};
	struct mpk_llvm_blob blob = blob_for(rows[_i].triple);
	struct mpk_span o = emit(&blob);

	ck_assert_int_eq(memcmp(o.data, rows[_i].magic, strlen(rows[_i].magic)), 0);
	ck_assert_ptr_nonnull(memmem(o.data, o.len, rows[_i].symbol, strlen(rows[_i].symbol)));
	ck_assert_ptr_nonnull(memmem(o.data, o.len, blob.bytes.data, blob.bytes.len));
}
END_TEST

START_TEST(registration)
{
	struct mpk_llvm_blob blob = blob_for("x86_64-linux-gnu");

	blob.register_fn = "TVMFFIEnvModRegisterSystemLibSymbol";
	blob.symbol = "p___tvm_ffi__library_bin";
	blob.prefix = "p_";
	save(emit(&blob));
	assert_says("nm $F", "U TVMFFIEnvModRegisterSystemLibSymbol");
	assert_says("nm $F", "t _GLOBAL__sub_I_p_devc");
	assert_says("readelf -SW $F", ".init_array");
	assert_says("readelf -p .rodata.str1.1 $F", "p___tvm_ffi__library_bin");
}
END_TEST

START_TEST(same_bytes_twice)
{
	struct mpk_llvm_blob blob = blob_for("x86_64-linux-gnu");
	struct mpk_span a = emit(&blob), b = emit(&blob);

	ck_assert_uint_eq(a.len, b.len);
	ck_assert_mem_eq(a.data, b.data, a.len);
}
END_TEST

START_TEST(unknown_triple)
{
	struct mpk_llvm_blob blob = blob_for(_i ? "pdp11-dec-ultrix" : "nvptx64-nvidia-cuda");
	struct mpk_span out;
	struct mpk_error err = { 0 };

	ck_assert_int_eq(mpk_llvm_table()->emit_blob(&blob, &arena, &out, &err), MPK_E_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.text, "LLVM 19"));
}
END_TEST

static enum mpk_code compile(const char *triple, struct mpk_span bytes, struct mpk_span *out,
			     struct mpk_error *err)
{
	struct mpk_llvm_source source = { .triple = triple, .name = "host.ll", .bytes = bytes };

	return mpk_llvm_table()->compile(&source, &arena, out, err);
}

static const char good[] = "define i32 @f(i32 %x) {\n  %y = add i32 %x, 1\n  ret i32 %y\n}\n";

START_TEST(text_ir)
{
	static const char *const triples[] = { "x86_64-linux-gnu", "s390x-linux-gnu",
					       "aarch64-linux-gnu", "riscv64-linux-gnu",
					       "loongarch64-linux-gnu" };
	struct mpk_span out;
	struct mpk_error err = { 0 };

	ck_assert_msg(compile(triples[_i], mpk_span_str(good), &out, &err) == MPK_OK, "%s",
		      err.text);
	save(out);
	assert_says("nm $F", "T f");
	assert_says("readelf -sW $F", "FILE    LOCAL  DEFAULT  ABS host.ll");
}
END_TEST

START_TEST(bad_ir)
{
	static const struct {
		const char *text;
		enum mpk_code code;
		const char *says;
	} rows[] = {
		{ "define i32 @f() {\n  ret i32 %nope\n}\n", MPK_E_SYNTAX, "undefined value" },
		{ "hello", MPK_E_SYNTAX, "expected top-level entity" },
		{ "target triple = \"aarch64-linux-gnu\"\n", MPK_E_CONFLICT, "aarch64" },
		{ "BC\xc0\xdegarbage!", MPK_E_CORRUPT, "bitcode" },
		{ "module asm \"no_such_instruction\"\n", MPK_E_TOOL, "LLVM" },
		{ "define void @f() {\n call void asm \"nonsense\", \"\"()\n ret void\n}\n",
		  MPK_E_TOOL, "nonsense" },
	};
	struct mpk_span out = { 0 };
	struct mpk_error err = { 0 };

	ck_assert_int_eq(compile("x86_64-linux-gnu", mpk_span_str(rows[_i].text), &out, &err),
			 rows[_i].code);
	ck_assert_msg(strstr(err.text, rows[_i].says) != NULL, "%s", err.text);
	ck_assert_ptr_null(out.data);
	if (_i == 0) {
		ck_assert_uint_eq(err.at.line, 2);
		ck_assert_uint_eq(err.at.column, 11);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("llvm");
	TCase *blob = tcase_create("blob"), *ir = tcase_create("ir");

	tcase_add_checked_fixture(blob, setup, teardown);
	tcase_add_loop_test(blob, elf_objects, 0, MPK_ARRAY_COUNT(elf));
	tcase_add_test(blob, large_section);
	tcase_add_loop_test(blob, other_formats, 0, 4);
	tcase_add_test(blob, registration);
	tcase_add_test(blob, same_bytes_twice);
	tcase_add_loop_test(blob, unknown_triple, 0, 2);
	suite_add_tcase(suite, blob);
	tcase_add_checked_fixture(ir, setup, teardown);
	tcase_add_loop_test(ir, text_ir, 0, 5);
	tcase_add_loop_test(ir, bad_ir, 0, 6);
	suite_add_tcase(suite, ir);

	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
