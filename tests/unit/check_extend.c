/* SPDX-License-Identifier: Apache-2.0 */
/* Extending a stub (elf/edit.h). The oracle is GNU ld: the extended file must be, byte for
 * byte, what ld makes of an object with the full content. */
#include "elf/edit.h"
#include "skip.h"
#include "workdir.h"

#ifdef __x86_64__ /* .lrodata exists there only */

/* Content of len bytes that repeats nowhere near, in memory and in a file. */
static struct mpk_span content(size_t len, const char *name)
{
	uint8_t *data = mpk_arena_alloc(&arena, len + 1);
	FILE *f = fopen(name, "w");

	ck_assert_ptr_nonnull(data);
	ck_assert_ptr_nonnull(f);
	for (size_t i = 0; i < len; i++)
		data[i] = (uint8_t)(i * 7 + (i >> 8) * 13 + 1);
	ck_assert_uint_eq(fwrite(data, 1, len, f), len);
	ck_assert_int_eq(fclose(f), 0);
	return mpk_span_of(data, len);
}

static void assemble(const char *name, const char *bytes, size_t len)
{
	char text[512];

	(void)snprintf(text, sizeof text,
		       "\t.section .lrodata,\"al\",@progbits\n\t.balign 4096\n\t.globl blob\n"
		       "\t.type blob,@object\n\t.size blob,%zu\nblob:\n\t.incbin \"%s\"\n"
		       "\t.section .note.GNU-stack,\"\",@progbits\n",
		       len, bytes);
	write_file("blob.s", text);
	run("gcc -c blob.s -o %s", name);
}

static void setup(void)
{
	workdir_enter();
	write_file("host.c",
		   "#include <stdio.h>\n"
		   "extern const unsigned char blob[];\n"
		   "__thread int tls = 3; int data[5] = { 1 }; static char bss[5000];\n"
		   "static const char *const table[] = { \"a\", \"bc\" };\n"
		   "__attribute__((constructor)) static void start(void) { bss[1] = 1; }\n"
		   "static int one(void) { return 1; }\n"
		   "static int (*resolve(void))(void) { return one; }\n"
		   "int chosen(void) __attribute__((ifunc(\"resolve\")));\n"
		   "int sum(void) { puts(table[1]); return tls + data[0] + bss[1] + chosen()"
		   " + blob[0]; }\n");
	run("gcc -c -O1 -g -fPIC host.c -o host.o");
	(void)content(MPK_STUB_BYTES, "stub.bin");
	assemble("stub.o", "stub.bin", MPK_STUB_BYTES);
}

static enum mpk_code extend(const char *name, struct mpk_span bytes, struct mpk_span *out,
			    struct mpk_error *err)
{
	struct mpk_span file = read_file(name);
	struct mpk_rope full = mpk_rope_of(&arena), extended = mpk_rope_of(&arena);

	/* In two pieces, as a blob has a header and payloads. */
	mpk_rope_put_view(&full, mpk_span_of(bytes.data, bytes.len / 2));
	mpk_rope_put_view(&full,
			  mpk_span_of(bytes.data + bytes.len / 2, bytes.len - bytes.len / 2));
	MPK_TRY(mpk_elf_extend(
		&(struct mpk_private){ .data = (uint8_t *)(uintptr_t)file.data, .len = file.len },
		"blob", &full, &extended, err));
	return mpk_rope_flat(&extended, out, err);
}

static const size_t sizes[] = { 64,   65,   71,    72,    127,   4032,   4095,
				4096, 4097, 65535, 65537, 99991, 3000001 };

static void assert_same_as_ld(const char *flags, size_t len)
{
	struct mpk_span bytes = content(len, "full.bin"), extended = { 0 };
	struct mpk_error err = { 0 };

	assemble("full.o", "full.bin", len);
	run("gcc -shared -Wl,--build-id=0x1234 %s host.o stub.o -o stub.so", flags);
	run("gcc -shared -Wl,--build-id=0x1234 %s host.o full.o -o full.so", flags);
	ck_assert_msg(extend("stub.so", bytes, &extended, &err) == MPK_OK, "%s: %s", flags,
		      err.text);

	struct mpk_span want = read_file("full.so");
	ck_assert_uint_eq(extended.len, want.len);
	size_t same = 0; /* one assertion: Check writes a record for each that holds */
	while (same < want.len && extended.data[same] == want.data[same])
		same++;
	ck_assert_msg(same == want.len, "%zu bytes, '%s': byte %#zx differs", len, flags, same);
}

START_TEST(same_as_ld)
{
	assert_same_as_ld("-fuse-ld=bfd", sizes[_i]);
}
END_TEST

static const char *const flags[] = {
	"-fuse-ld=bfd -Wl,-z,noseparate-code",
	"-fuse-ld=bfd -Wl,-z,max-page-size=65536",
	"-fuse-ld=bfd -s",
	"-fuse-ld=bfd -Wl,-z,relro,-z,now",
	"-fuse-ld=bfd -Wl,--gc-sections",
	"-fuse-ld=bfd -Wl,--hash-style=both",
	"-fuse-ld=bfd -Wl,--emit-relocs",
};

START_TEST(same_as_ld_with_options)
{
	assert_same_as_ld(flags[_i], 70001);
}
END_TEST

/* Objects are not laid out by a linker: the oracle is a link of the extended object. */
START_TEST(extended_object)
{
	struct mpk_span bytes = content(12345, "full.bin"), extended = { 0 };
	struct mpk_error err = { 0 };
	FILE *f = fopen("extended.o", "w");

	ck_assert_msg(extend("stub.o", bytes, &extended, &err) == MPK_OK, "%s", err.text);
	ck_assert_uint_eq(fwrite(extended.data, 1, extended.len, f), extended.len);
	ck_assert_int_eq(fclose(f), 0);
	assemble("full.o", "full.bin", bytes.len);
	run("ld -shared extended.o -o a.so && ld -shared full.o -o b.so && cmp a.so b.so");
	run("readelf -aW extended.o > /dev/null 2> warnings && test ! -s warnings");
}
END_TEST

static const struct {
	const char *what, *source, *command, *reason;
} refused[] = {
	{ "a host object with .ldata", "int big[9] __attribute__((section(\".ldata\"))) = {1};",
	  "gcc -shared -fuse-ld=bfd more.o stub.o -o stub.so", "behind the blob" },
	{ "host .lrodata after the stub",
	  "const int big[9] __attribute__((section(\".lrodata\"))) = {1};",
	  "gcc -shared -fuse-ld=bfd stub.o more.o -o stub.so", "not the last thing" },
	{ "a stub in .rodata", "const char blob[64] = {1}; const char next[64] = {2};",
	  "gcc -shared -fuse-ld=bfd more.o -o stub.so", "not the last thing" },
	{ "code that uses _end", "extern char _end[]; char *e(void) { return _end; }",
	  "gcc -shared -fuse-ld=bfd more.o stub.o -o stub.so", "another symbol" },
	{ "no such symbol", "int x;", "gcc -shared -fuse-ld=bfd more.o -o stub.so",
	  "no symbol for" },
	{ "a writable blob", "char blob[64] = {1};", "gcc -shared -fuse-ld=bfd more.o -o stub.so",
	  "read-only" },
	{ "bytes behind the headers", "int x;",
	  "gcc -shared -fuse-ld=bfd more.o stub.o -o stub.so && echo x >> stub.so",
	  "follow the section headers" },
	{ "not an ELF file", "int x;", "head -c 500 more.c /dev/zero > stub.so", "not an ELF" },
};

START_TEST(refusals)
{
	struct mpk_span bytes = content(5000, "full.bin"), extended;
	struct mpk_error err = { 0 };

	write_file("more.c", refused[_i].source);
	run("gcc -c -fPIC more.c -o more.o");
	run("%s", refused[_i].command);
	ck_assert_msg(extend("stub.so", bytes, &extended, &err) == MPK_E_UNSUPPORTED, "%s",
		      refused[_i].what);
	ck_assert_msg(strstr(err.text, refused[_i].reason) != NULL, "%s: %s", refused[_i].what,
		      err.text);
}
END_TEST

/* Cut and damaged files give an error or a file, never a read outside the bytes (the
 * heap copy is exact, so that a sanitizer sees it). */
START_TEST(damaged)
{
	struct mpk_span bytes = content(5000, "full.bin");

	run("gcc -shared -fuse-ld=bfd -s -nostdlib stub.o -o stub.so");
	struct mpk_span file = read_file("stub.so");
	struct mpk_rope full = mpk_rope_of(&arena);
	mpk_rope_put_view(&full, bytes);
	for (size_t i = 0; i < file.len; i++) {
		struct mpk_arena scratch = { 0 };
		struct mpk_rope out = mpk_rope_of(&scratch);
		size_t len = _i ? file.len : i;
		uint8_t *copy = malloc(len ? len : 1);

		memcpy(copy, file.data, len);
		if (_i)
			copy[i] ^= (uint8_t)(_i == 1 ? 0xff : 0x01);
		(void)!mpk_elf_extend(&(struct mpk_private){ .data = copy, .len = len }, "blob",
				      &full, &out, NULL);
		free(copy);
		mpk_arena_fini(&scratch);
	}
}
END_TEST

#else
START_TEST(on_another_machine)
{
	SKIP_TEST(".lrodata exists on x86-64 only");
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("extend");
	TCase *same = tcase_create("same as GNU ld"), *no = tcase_create("refused");

#if defined __x86_64__
	tcase_add_checked_fixture(same, setup, workdir_leave);
	tcase_add_loop_test(same, same_as_ld, 0, MPK_ARRAY_COUNT(sizes));
	tcase_add_loop_test(same, same_as_ld_with_options, 0, MPK_ARRAY_COUNT(flags));
	tcase_add_test(same, extended_object);
	tcase_add_checked_fixture(no, setup, workdir_leave);
	tcase_add_loop_test(no, refusals, 0, MPK_ARRAY_COUNT(refused));
	tcase_add_loop_test(no, damaged, 0, 3);
	tcase_set_timeout(same, 60);
	tcase_set_timeout(no, 60);
#else
	tcase_add_test(same, on_another_machine);
#endif
	suite_add_tcase(suite, same);
	suite_add_tcase(suite, no);

	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
