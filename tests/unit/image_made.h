/* SPDX-License-Identifier: Apache-2.0 */
/* image_made.h - libraries that the image tests compile themselves, so that blob and
 * functions are known */
#ifndef MPK_TESTS_UNIT_IMAGE_MADE_H
#define MPK_TESTS_UNIT_IMAGE_MADE_H

#include <check.h>
#include <elf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/image.h"
#include "harness.h"

static struct mpk_arena arena;
static char dir[64];

HARNESS_FN void setup(void)
{
	(void)snprintf(dir, sizeof dir, "/tmp/check_image.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

HARNESS_FN bool run(const char *fmt, ...) MPK_PRINTF(1, 2);

HARNESS_FN bool run(const char *fmt, ...)
{
	char command[2048];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(command, sizeof command, fmt, ap);
	va_end(ap);
	return system(command) == 0;
}

HARNESS_FN void teardown(void)
{
	mpk_arena_fini(&arena);
	ck_assert(run("rm -rf %s", dir));
}

HARNESS_FN struct mpk_span load(const char *path)
{
	FILE *f = fopen(path, "rb");

	ck_assert_msg(f != NULL, "%s is missing", path);
	ck_assert_int_eq(fseek(f, 0, SEEK_END), 0);
	size_t len = (size_t)ftell(f);
	char *data = mpk_arena_alloc(&arena, len + 1);
	ck_assert_ptr_nonnull(data);
	rewind(f);
	ck_assert_uint_eq(fread(data, 1, len, f), len);
	ck_assert_int_eq(fclose(f), 0);
	return mpk_span_of(data, len);
}

HARNESS_FN struct mpk_span load_made(const char *name)
{
	return load(mpk_arena_printf(&arena, "%s/%s", dir, name));
}

static const uint8_t content[] = "0123456789 a blob of no meaning, with a \377 and a \0 in it";

struct source {
	const char *blob;
	enum mpk_generation gen;
	const char *functions; /* expected */
	const char *code;
};

#define NOISE                                                                                      \
	"int helper_data; static int local(void) { return 1; }"                                    \
	"__attribute__((weak)) int _ZN3foo3barEv(void) { return local(); }"                        \
	"int __extendhfsf2(void) { return 0; }"                                                    \
	"int TVMBackendParallelLaunch(void) { return 0; }"                                         \
	"int unseen(void) __attribute__((visibility(\"hidden\")));"                                \
	"int unseen(void) { return 2; }"

static const struct source sources[] = {
	{ "__tvm_ffi__library_bin", MPK_GEN_CURRENT, "_odd add main!",
	  NOISE "int plain(void) { return 0; } int __tvm_ffi_add(void) { return 0; }"
		"__attribute__((weak)) int __tvm_ffi_main(void) { return 0; }"
		"int __tvm_ffi__odd(void) { return 0; }"
		"int __tvm_ffi__metadata_add(void) { return 0; }"
		"int __tvm_ffi__doc_add(void) { return 0; }"
		"void *__tvm_ffi__library_ctx; void *__TVMFFIFunctionCall;" },
	{ "__tvm_ffi_library_bin", MPK_GEN_HYBRID, "__tvm_main__=add! add",
	  NOISE "int add(void) { return 0; } void *__tvm_ffi_library_ctx;"
		"const char __tvm_main__[] = \"add\"; void *__TVMFFIFunctionCall;" },
	{ "__tvm_dev_mblob", MPK_GEN_LEGACY, "__tvm_main__! add",
	  NOISE "int add(void) { return 0; } int __tvm_main__(void) { return 0; }"
		"void *__tvm_module_ctx; void *__TVMFuncCall;" },
};

/* sized: whether the blob symbol has a st_size */
HARNESS_FN void write_source(const struct source *s, const char *prefix, bool sized)
{
	FILE *f = fopen(mpk_arena_printf(&arena, "%s/a.c", dir), "w");

	ck_assert_ptr_nonnull(f);
	(void)fprintf(f,
		      "__asm__(\".section .rodata\\n.globl %s%s\\n.type %s%s,%%object\\n%s%s:\\n"
		      ".ascii \\\""
		      "%s"
		      "\\\"\\n.byte 0\\n",
		      prefix, s->blob, prefix, s->blob, prefix, s->blob,
		      "0123456789 a blob of no meaning, with a \\\\377 and a \\\\000 in it");
	if (sized)
		(void)fprintf(f, ".size %s%s, %zu\\n", prefix, s->blob, sizeof content);
	(void)fprintf(f, ".previous\\n\");\n%s\n", s->code);
	ck_assert_int_eq(fclose(f), 0);
}

HARNESS_FN bool build(const char *cc, const char *flags)
{
	return run("cd %s && %s -ffreestanding -fno-stack-protector -fPIC -O1 -c a.c -o a.o "
		   "2>err && %s -shared -nostdlib %s a.o -o a.so 2>>err",
		   dir, cc, cc, flags);
}

/* A copy whose section headers are gone, as tools that shrink libraries leave it. */
HARNESS_FN struct mpk_span without_sections(struct mpk_span s)
{
	uint8_t *copy = mpk_arena_alloc(&arena, s.len);
	bool wide = s.data[EI_CLASS] == ELFCLASS64;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, s.data, s.len);
	memset(copy + (wide ? offsetof(Elf64_Ehdr, e_shoff) : offsetof(Elf32_Ehdr, e_shoff)), 0,
	       wide ? 8 : 4);
	memset(copy + (wide ? offsetof(Elf64_Ehdr, e_shnum) : offsetof(Elf32_Ehdr, e_shnum)), 0, 4);
	return mpk_span_of(copy, s.len);
}

#endif
