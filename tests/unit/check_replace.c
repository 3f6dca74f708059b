/* SPDX-License-Identifier: Apache-2.0 */
/* Another blob in a finished library (elf/edit.h). The judges are the dynamic loader,
 * readelf, strip and objcopy. */
#include <dlfcn.h>
#include <elf.h>

#include "elf/edit.h"
#include "workdir.h"

static void setup(void)
{
	workdir_enter();
	write_file("lib.c",
		   "const unsigned char blob[1000] = { 1, 2, 3 };\n"
		   "static const char *const words[] = { \"a\", \"b\" };\n"
		   "__thread int t = 4; int data = 30; static char bss[9000];\n"
		   "int f(int i) { bss[5] += 1; return data + t + words[i][0] - 'a' + bss[5]; }\n");
	run("gcc -shared -fPIC -O1 lib.c -o lib.so");
}

static struct mpk_span content(size_t len)
{
	uint8_t *data = mpk_arena_alloc(&arena, len);

	ck_assert_ptr_nonnull(data);
	for (size_t i = 0; i < len; i++)
		data[i] = (uint8_t)(i * 29 + (i >> 8) + len);
	return mpk_span_of(data, len);
}

static enum mpk_code replace(const char *from, const char *to, struct mpk_span bytes,
			     struct mpk_error *err)
{
	struct mpk_span file = read_file(from), flat;
	struct mpk_rope in = mpk_rope_of(&arena), out = mpk_rope_of(&arena);

	mpk_rope_put_view(&in, bytes);
	struct mpk_private p = { .data = (uint8_t *)(uintptr_t)file.data, .len = file.len };
	MPK_TRY(mpk_elf_replace(&p, "blob", &in, &arena, &out, err));
	MPK_TRY(mpk_rope_flat(&out, &flat, err));
	FILE *f = fopen(to, "w");
	ck_assert_uint_eq(fwrite(flat.data, 1, flat.len, f), flat.len);
	ck_assert_int_eq(fclose(f), 0);
	return MPK_OK;
}

static void assert_works(const char *library, struct mpk_span bytes)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	int (*f)(int);

	ck_assert_msg(handle != NULL, "%s", dlerror());
	const void *blob = dlsym(handle, "blob");
	ck_assert_ptr_nonnull(blob);
	ck_assert_int_eq(memcmp(blob, bytes.data, bytes.len), 0);
	*(void **)&f = dlsym(handle, "f");
	ck_assert_int_eq(f(1), 30 + 4 + 1 + 1);
	dlclose(handle);
	run("nm -D -S %s | grep -qE ' 0*%zx R blob'", library, bytes.len);
	run("readelf -aW %s > /dev/null 2> warnings && test ! -s warnings", library);
}

static const size_t sizes[] = { 1, 999, 1000, 1001, 70000, 3000001 };

START_TEST(any_size)
{
	struct mpk_span bytes = content(sizes[_i]);
	struct mpk_error err = { 0 };

	ck_assert_msg(replace("lib.so", "new.so", bytes, &err) == MPK_OK, "%s", err.text);
	assert_works("./new.so", bytes);
	run("strip new.so -o s.so && objcopy --remove-section=.comment new.so o.so");
	assert_works("./s.so", bytes);
	assert_works("./o.so", bytes);
}
END_TEST

/* The new place is the last of the file: from then on it is extended. */
START_TEST(again_and_again)
{
	struct mpk_span bytes = { 0 };

	run("cp lib.so new.so");
	for (size_t len = 500; len < 2000000; len = len * 3 + 1) {
		struct mpk_error err = { 0 };

		bytes = content(len);
		ck_assert_msg(replace("new.so", "next.so", bytes, &err) == MPK_OK, "%s", err.text);
		run("mv next.so new.so");
	}
	assert_works("./new.so", bytes);
	bytes = content(20);
	ck_assert_int_eq(replace("new.so", "next.so", bytes, NULL), MPK_OK);
	assert_works("./next.so", bytes);
}
END_TEST

/* Whatever of the old file can stay stays where it was. */
START_TEST(the_rest_stays)
{
	struct mpk_span old, new;
	size_t differing = 0;

	ck_assert_int_eq(replace("lib.so", "new.so", content(70000), NULL), MPK_OK);
	old = read_file("lib.so");
	new = read_file("new.so");
	for (size_t i = 0; i < old.len; i++)
		differing += old.data[i] != new.data[i];
	/* A program header, three fields of the ELF header, two symbols; and section numbers of
	 * the few sections behind the loaded ones. */
	ck_assert_uint_le(differing, 56 + 12 + 2 * 18 + 20);
}
END_TEST

START_TEST(refused)
{
	static const struct {
		const char *make, *reason;
	} rows[] = {
		{ "gcc -c lib.c -o no.so", "not a shared library" },
		{ "gcc -shared -fPIC -Dblob=other lib.c -o no.so", "no symbol for" },
		{ "cp lib.c no.so", "not an ELF" },
		{ "gcc -shared -fPIC -fcf-protection=none -Wl,--build-id=none -nostdlib lib.c -o no.so",
		  "no program header to spare" },
	};
	struct mpk_error err = { 0 };

	run("%s", rows[_i].make);
	ck_assert_int_eq(replace("no.so", "new.so", content(5000), &err), MPK_E_UNSUPPORTED);
	ck_assert_msg(strstr(err.text, rows[_i].reason) != NULL, "%s", err.text);
}
END_TEST

/* Cut and damaged libraries give an error or a file, never a read outside the bytes. */
START_TEST(damaged)
{
	struct mpk_span bytes = content(_i ? 5000 : 10);

	run("strip lib.so");
	struct mpk_span file = read_file("lib.so");
	struct mpk_rope in = mpk_rope_of(&arena);
	mpk_rope_put_view(&in, bytes);
	for (size_t i = 0; i < 2 * file.len; i++) {
		struct mpk_arena scratch = { 0 };
		struct mpk_rope out = mpk_rope_of(&scratch);
		size_t len = i < file.len ? file.len : i - file.len;
		uint8_t *copy = malloc(len ? len : 1);

		memcpy(copy, file.data, len);
		if (i < len)
			copy[i] ^= 0xff;
		(void)!mpk_elf_replace(&(struct mpk_private){ .data = copy, .len = len }, "blob",
				       &in, &scratch, &out, NULL);
		free(copy);
		mpk_arena_fini(&scratch);
	}
}
END_TEST

/* The library with another value at `field` of structure `index` of a table. */
static enum mpk_code replace_with(uint64_t table, size_t index, size_t size, size_t field,
				  uint64_t value, struct mpk_error *err)
{
	struct mpk_span file = read_file("lib.so");
	uint8_t *data = (uint8_t *)(uintptr_t)file.data;

	memcpy(data + table + index * size + field, &value, sizeof value);
	FILE *f = fopen("hostile.so", "w");
	ck_assert_uint_eq(fwrite(data, 1, file.len, f), file.len);
	ck_assert_int_eq(fclose(f), 0);
	return replace("hostile.so", "new.so", content(5000), err);
}

/* Symbols that are patched must not be headers that are read: a symbol table within each of them. */
START_TEST(overlapping_tables)
{
	const Elf64_Ehdr *h = (const void *)read_file("lib.so").data;
	const Elf64_Shdr *sections = (const void *)((const uint8_t *)h + h->e_shoff);
	const uint64_t into[] = { 0, h->e_phoff, h->e_shoff, h->e_shoff + 24 };
	struct mpk_error err = { 0 };
	size_t tried = 0, overlaps = 0;

	for (size_t i = 0; i < h->e_shnum; i++)
		for (size_t k = 0; k < MPK_ARRAY_COUNT(into); k++) {
			if (sections[i].sh_type != SHT_SYMTAB && sections[i].sh_type != SHT_DYNSYM)
				continue;
			tried++;
			ck_assert_int_eq(replace_with(h->e_shoff, i, sizeof *sections,
						      offsetof(Elf64_Shdr, sh_offset), into[k],
						      &err),
					 MPK_E_CORRUPT);
			/* where sections are aligned to more than the headers behind them take, a table
			 * that begins among those ends beyond the file */
			overlaps += strstr(err.text, "overlaps the") != NULL;
			ck_assert_msg(strstr(err.text, "overlaps the") ||
					      strstr(err.text, "beyond the end of the file"),
				      "%s", err.text);
		}
	ck_assert_uint_eq(tried, 8);
	ck_assert_uint_ge(overlaps, 4);
}
END_TEST

/* Zeros up to the next 2^62 would be all the memory there is, or all of the disk. */
START_TEST(absurd_alignment)
{
	const Elf64_Ehdr *h = (const void *)read_file("lib.so").data;
	struct mpk_error err = { 0 };

	ck_assert_int_eq(replace_with(h->e_phoff, 0, sizeof(Elf64_Phdr),
				      offsetof(Elf64_Phdr, p_align), UINT64_C(1) << (_i ? 62 : 36),
				      &err),
			 MPK_E_CORRUPT);
	ck_assert_msg(strstr(err.text, "a segment is aligned to") != NULL, "%s", err.text);
}
END_TEST

/* Of a large blob the pages cannot be written. A file whose headers stand in the bytes of its
 * blob symbol is refused; writing there was a crash. */
START_TEST(kept_bytes)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { 0 };
	struct mpk_span bytes = content(sizes[_i]), keep;
	struct mpk_rope in = mpk_rope_of(&arena), out = mpk_rope_of(&arena);
	struct mpk_private file;
	struct mpk_error err = { 0 };

	run("gcc -shared -fPIC -O1 -Wl,-z,max-page-size=65536 lib.c -o lib.so");
	mpk_rope_put_view(&in, bytes);
	ck_assert_int_eq(mpk_mapping_open("lib.so", &map, NULL), MPK_OK);
	keep = mpk_span_of(map.bytes.data + 4000, map.bytes.len - 4000);
	ck_assert_int_eq(mpk_private_open(&map, keep, &file, NULL), MPK_OK);
	ck_assert_int_eq(mpk_elf_replace(&file, "blob", &in, &arena, &out, &err), MPK_E_CORRUPT);
	ck_assert_msg(strstr(err.text, "covers headers or symbols") != NULL, "%s", err.text);
	mpk_private_close(&map, &file);
}
END_TEST

/* The same changes whether the file is mapped, copied or read from a pipe; the file stays. */
START_TEST(private_bytes)
{
	static const char *const makes[] = {
		"gcc -shared -fPIC -O1 -Wl,-z,max-page-size=65536 lib.c -o lib.so",
		"head -c 1000 /dev/zero >lib.so",
		"mkfifo lib.so; head -c 1000 /dev/zero >lib.so &",
		": >lib.so",
	};
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { 0 };
	struct mpk_private file;

	run("rm lib.so; %s", makes[_i]);
	if (_i == 2)
		run("while [ ! -p lib.so ]; do sleep 0.01; done");
	ck_assert_int_eq(mpk_mapping_open("lib.so", &map, NULL), MPK_OK);
	ck_assert_int_eq(mpk_private_open(&map, mpk_span_of(NULL, 0), &file, NULL), MPK_OK);
	ck_assert_uint_eq(file.len, map.bytes.len);
	for (size_t i = 0; i < file.len; i++)
		file.data[i] = 'x';
	ck_assert(_i == 3 || _i == 2 || map.bytes.data[0] != 'x');
	ck_assert(_i >= 2 || read_file("lib.so").data[0] != 'x');
	mpk_private_close(&map, &file);
	mpk_private_close(&map, &file);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("replace");
	TCase *tc = tcase_create("replace");

	tcase_add_checked_fixture(tc, setup, workdir_leave);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, any_size, 0, MPK_ARRAY_COUNT(sizes));
	tcase_add_test(tc, again_and_again);
	tcase_add_test(tc, the_rest_stays);
	tcase_add_loop_test(tc, refused, 0, 4);
	tcase_add_loop_test(tc, damaged, 0, 2);
	tcase_add_test(tc, overlapping_tables);
	tcase_add_loop_test(tc, absurd_alignment, 0, 2);
	tcase_add_loop_test(tc, kept_bytes, 3, MPK_ARRAY_COUNT(sizes));
	tcase_add_loop_test(tc, private_bytes, 0, 4);
	suite_add_tcase(suite, tc);

	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
