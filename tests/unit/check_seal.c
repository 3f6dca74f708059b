/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures and other notes in ELF files (lib/know/trust/seal.h, elf/edit.h): of any machine, in place and
 * reproducible; what is loaded stays, whatever is changed afterwards is found, and notes that a stranger
 * made are survived. */
#include <endian.h>
#include <fcntl.h>
#include <gelf.h>

#include "elf/edit.h"
#include "elf/image.h"
#include "skip.h"
#include "trust/seal.h"
#include "workdir.h"

static const char text[] =
	"{\"type\":\"mpack-provenance\",\"version\":1,\"tools\":[],\"options\":[],"
	"\"inputs\":[]}";
static struct mpk_error err;
static struct mpk_secret_key key, other;
static char root[4096];

static void setup(void)
{
	memset(&err, 0, sizeof err);
	memset(key.seed, 7, sizeof key.seed);
	memset(other.seed, 8, sizeof other.seed);
	ck_assert_msg(mpk_ed25519_public(&key, &err) == MPK_OK, "%s", err.text);
	ck_assert_int_eq(mpk_ed25519_public(&other, &err), MPK_OK);
	ck_assert_ptr_nonnull(getcwd(root, sizeof root));
	workdir_enter();
}

static void take_fixture(const char *path, const char *name)
{
	run("cp %s/tests/data/%s %s && chmod u+w %s", root, path, name, name);
}

static enum mpk_code seal(const char *name, const struct mpk_secret_key *with, const char *made)
{
	int fd = open(name, O_RDWR | O_CLOEXEC);
	struct mpk_seal_job job = { .key = with, .provenance = made };

	ck_assert_int_ge(fd, 0);
	memset(&err, 0, sizeof err);
	enum mpk_code code = mpk_seal_file(fd, &job, &err);
	(void)close(fd);
	return code;
}

static enum mpk_code check_span(struct mpk_span bytes, const struct mpk_secret_key *with)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct mpk_public_keys keys = { .items = { with->public_key }, .count = 1 };

	memset(&err, 0, sizeof err);
	MPK_TRY(mpk_elf_open(bytes, 0, &elf, &err));
	return mpk_seal_check(&elf, &keys, NULL, &err);
}

static enum mpk_code check(const char *name, const struct mpk_secret_key *with)
{
	return check_span(read_file(name), with);
}

static struct mpk_origin origin_of(struct mpk_span bytes)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct mpk_origin o;

	ck_assert_msg(mpk_elf_open(bytes, 0, &elf, &err) == MPK_OK, "%s", err.text);
	mpk_origin_find(&elf, &o);
	return o;
}

/* --- what stays ------------------------------------------------------------------ */

/* Of tests/data, or a command that makes f.o. */
static const char *const files[] = {
	"formats/01_opencl_scale.so",
	"formats/06_relax_vm.so",
	"legacy/mlp_llvm.so",
	"embedded/embedded.so",
	"embedded/embedded.o",
	"gcc -m32 -c f.c",
	"clang-19 -target s390x-linux-gnu -c f.c",
	"clang-19 -target mips-linux-gnu -c f.c",
	"clang-19 -target aarch64-linux-gnu -c f.c",
	"gcc -shared -m32 -nostdlib f.c -o f.o -Wl,-z,norelro",
	"gcc -shared -fPIC f.c -o f.o -s",
};

static void make_file(const char *how)
{
	write_file("f.c", "int two = 2; int one(void) { return 1; }\n");
	if (strchr(how, ' '))
		run("%s && mv f.o f", how);
	else
		take_fixture(how, "f");
}

/* The program headers, and every byte that a segment or a section with bytes has. */
static void same_where_loaded(struct mpk_span old, struct mpk_span now)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf a = { 0 };
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf b = { 0 };
	GElf_Shdr s, t;
	GElf_Phdr p, q;

	ck_assert_int_eq(mpk_elf_open(old, 0, &a, &err), MPK_OK);
	ck_assert_int_eq(mpk_elf_open(now, 0, &b, &err), MPK_OK);
	ck_assert_uint_eq(a.segment_count, b.segment_count);
	for (size_t i = 0; i < a.segment_count; i++) {
		ck_assert(mpk_elf_segment(&a, i, &p) && mpk_elf_segment(&b, i, &q));
		ck_assert_mem_eq(&p, &q, sizeof p);
		ck_assert_mem_eq(old.data + p.p_offset + (p.p_offset ? 0 : 64),
				 now.data + p.p_offset + (p.p_offset ? 0 : 64),
				 p.p_filesz - (p.p_offset || p.p_filesz < 64 ? 0 : 64));
	}
	for (size_t i = 1; i < a.section_count; i++) {
		ck_assert_int_eq(mpk_elf_section(&a, i, &s, &err), MPK_OK);
		ck_assert_int_eq(mpk_elf_section(&b, i, &t, &err), MPK_OK);
		ck_assert_str_eq(mpk_elf_section_name(&a, i), mpk_elf_section_name(&b, i));
		if (i == a.header.e_shstrndx)
			continue;
		ck_assert_mem_eq(&s, &t, sizeof s);
		if (s.sh_type != SHT_NOBITS && s.sh_size)
			ck_assert_mem_eq(old.data + s.sh_offset, now.data + t.sh_offset, s.sh_size);
	}
}

START_TEST(signed_and_checked)
{
	struct mpk_span old, now, again;
	struct mpk_origin o;

	make_file(files[_i]);
	old = read_file("f");
	ck_assert_int_eq(check("f", &key), MPK_E_DIFFERENT);
	ck_assert_str_eq(err.text, "not signed");
	ck_assert_msg(seal("f", &key, _i % 2 ? text : NULL) == MPK_OK, "%s: %s", files[_i],
		      err.text);
	now = read_file("f");
	same_where_loaded(old, now);
	ck_assert_msg(check_span(now, &key) == MPK_OK, "%s: %s", files[_i], err.text);
	ck_assert_int_eq(check_span(now, &other), MPK_E_DIFFERENT);
	ck_assert_ptr_nonnull(strstr(err.text, "another key: SHA256:"));
	o = origin_of(now);
	ck_assert(o.has_seal && o.seal_count == 1 && !o.is_unknown);
	ck_assert_uint_eq(o.provenance_count, (unsigned)_i % 2);
	if (_i % 2)
		ck_assert(mpk_span_is(o.provenance, text));
	/* readers that others wrote */
	run("readelf -WSn f >listing 2>&1 && ! grep -qi 'warning\\|error' listing");

	/* the same again is the same, another key changes its own bytes alone */
	ck_assert_int_eq(seal("f", &other, NULL), MPK_OK);
	again = read_file("f");
	ck_assert_uint_eq(again.len, now.len);
	ck_assert_int_eq(check_span(again, &other), MPK_OK);
	ck_assert_int_eq(check_span(again, &key), MPK_E_DIFFERENT);
	ck_assert_int_eq(seal("f", &key, NULL), MPK_OK);
	again = read_file("f");
	ck_assert(mpk_span_equal(again, now));
}
END_TEST

/* Extended in the middle of nothing: what stands behind the section headers stays, too. */
START_TEST(bytes_behind_the_headers)
{
	struct mpk_span old, now;

	take_fixture(files[0], "f");
	run("printf 'an appended archive' >>f");
	old = read_file("f");
	ck_assert_int_eq(seal("f", &key, NULL), MPK_OK);
	now = read_file("f");
	ck_assert_mem_eq(old.data + 64, now.data + 64, old.len - 64);
	ck_assert_int_eq(check_span(now, &key), MPK_OK);
}
END_TEST

START_TEST(objects_link_without_their_notes)
{
	struct mpk_span linked;

	write_file("a.c", "int one(void) { return 1; }\n");
	run("gcc -c -fPIC a.c -o a.o");
	ck_assert_int_eq(seal("a.o", &key, text), MPK_OK);
	ck_assert_int_eq(check("a.o", &key), MPK_OK);
	run("gcc -shared a.o -o a.so");
	linked = read_file("a.so");
	ck_assert_uint_eq(origin_of(linked).seal_count, 0);
	ck_assert_uint_eq(origin_of(linked).provenance_count, 0);
}
END_TEST

/* --- what is found --------------------------------------------------------------- */

/* Every byte of a signed file, one after the other. */
START_TEST(any_changed_byte)
{
	struct mpk_span file;
	uint8_t *bytes;

	take_fixture("formats/01_opencl_scale.so", "f");
	if (_i)
		run("strip f");
	ck_assert_int_eq(seal("f", &key, text), MPK_OK);
	file = read_file("f");
	bytes = mpk_arena_copy(&arena, file.data, file.len) ? (uint8_t *)(uintptr_t)file.data
							    : NULL;
	ck_assert_ptr_nonnull(bytes);
	for (size_t i = 0; i < file.len; i += getenv("MPK_EXHAUSTIVE") ? 1 : 13) {
		bytes[i] ^= (uint8_t)(1 << i % 8);
		/* an ELF header that is none any more is another error */
		ck_assert_msg(check_span(file, &key) != MPK_OK, "the byte at 0x%zx", i);
		ck_assert(err.code == MPK_E_DIFFERENT || err.code == MPK_E_CORRUPT);
		bytes[i] ^= (uint8_t)(1 << i % 8);
	}
	ck_assert_int_eq(check_span(file, &key), MPK_OK);
	for (size_t len = 0; len < file.len; len += 97)
		ck_assert_int_ne(check_span(mpk_span_of(bytes, len), &key), MPK_OK);
}
END_TEST

START_TEST(tools_break_it)
{
	take_fixture(files[0], "f");
	ck_assert_int_eq(seal("f", &key, NULL), MPK_OK);
	run("cp f g && strip g && cp f h && echo >>h");
	ck_assert_int_eq(check("g", &key), MPK_E_DIFFERENT);
	ck_assert_int_eq(check("h", &key), MPK_E_DIFFERENT);
	ck_assert_ptr_nonnull(strstr(err.text, "was changed after it was signed"));
	ck_assert(err.at.has_offset);
	run("objcopy --remove-section " MPK_SEAL_SECTION " f");
	ck_assert_int_eq(check("f", &key), MPK_E_DIFFERENT);
	ck_assert_str_eq(err.text, "not signed");
}
END_TEST

/* --- notes of strangers ---------------------------------------------------------- */

/* A file with a second note of mpack's owner. */
static void add_note(const char *name, uint32_t type, struct mpk_span content)
{
	struct mpk_elf_append note = { ".note.x", MPK_ORIGIN_OWNER, type, content };
	struct mpk_private file;
	struct mpk_elf_appended more;
	struct mpk_span bytes = read_file(name);
	FILE *f = fopen(name, "r+");

	file = (struct mpk_private){ .data = (uint8_t *)(uintptr_t)bytes.data, .len = bytes.len };
	ck_assert_msg(mpk_elf_append(&file, &note, 1, &arena, &more, &err) == MPK_OK, "%s",
		      err.text);
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fseek(f, (long)more.tail_at, SEEK_SET), 0);
	ck_assert_uint_eq(fwrite(more.tail.data, 1, more.tail.len, f), more.tail.len);
	rewind(f);
	ck_assert_uint_eq(fwrite(more.header.data, 1, more.header.len, f), more.header.len);
	ck_assert_int_eq(fclose(f), 0);
}

START_TEST(second_signature)
{
	uint8_t made[MPK_SEAL_BYTES];
	struct mpk_seal forged = { .key = key.public_key };

	take_fixture(files[0], "f");
	ck_assert_int_eq(seal("f", &key, NULL), MPK_OK);
	mpk_seal_write(&forged, made);
	add_note("f", MPK_SEAL_TYPE, mpk_span_of(made, sizeof made));
	ck_assert_int_eq(check("f", &key), MPK_E_DIFFERENT);
	ck_assert_ptr_nonnull(strstr(err.text, "2 signatures"));
	ck_assert_int_eq(seal("f", &key, NULL), MPK_E_UNSUPPORTED);
}
END_TEST

START_TEST(unknown_signatures)
{
	uint8_t made[MPK_SEAL_BYTES] = { 2, 1 };
	const size_t lengths[] = { MPK_SEAL_BYTES, MPK_SEAL_BYTES - 4, 1, 4 };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(lengths); i++) {
		take_fixture(files[0], "f");
		add_note("f", MPK_SEAL_TYPE, mpk_span_of(made, lengths[i]));
		ck_assert_int_eq(check("f", &key), MPK_E_DIFFERENT);
		ck_assert_ptr_nonnull(strstr(err.text, "of a form"));
		ck_assert_int_eq(seal("f", &key, NULL), MPK_E_UNSUPPORTED);
	}
	/* right but for a fingerprint of another key, which a reader might believe */
	take_fixture(files[0], "f");
	ck_assert_int_eq(seal("f", &key, NULL), MPK_OK);
	struct mpk_span file = read_file("f");
	((uint8_t *)(uintptr_t)file.data)[origin_of(file).seal.off + MPK_SEAL_FINGERPRINT_AT] ^= 1;
	ck_assert_int_eq(check_span(file, &key), MPK_E_DIFFERENT);
	ck_assert_ptr_nonnull(strstr(err.text, "fingerprint"));
}
END_TEST

/* A signature in the headers that lead to it could be read where it does not cover them. */
START_TEST(signature_in_the_headers)
{
	const uint16_t one = htole16(1);
	struct mpk_span file;
	uint8_t *bytes;

	take_fixture(files[0], "f");
	ck_assert_int_eq(seal("f", &key, NULL), MPK_OK);
	file = read_file("f");
	bytes = (uint8_t *)(uintptr_t)file.data;
	const uint64_t at = origin_of(file).seal.off + MPK_SEAL_SIGNATURE_AT + 4;
	const uint64_t little = htole64(at);
	/* one program header, of no type */
	memset(bytes + at, 0, 56);
	memcpy(bytes + offsetof(Elf64_Ehdr, e_phoff), &little, 8);
	memcpy(bytes + offsetof(Elf64_Ehdr, e_phnum), &one, 2);
	ck_assert_int_eq(check_span(file, &key), MPK_E_DIFFERENT);
	ck_assert_msg(strstr(err.text, "in the headers") != NULL, "%s", err.text);
}
END_TEST

START_TEST(emptied)
{
	struct mpk_private file;
	struct mpk_span bytes;
	struct mpk_origin o;
	bool had = false;

	take_fixture(files[0], "f");
	ck_assert_int_eq(seal("f", &key, text), MPK_OK);
	bytes = read_file("f");
	file = (struct mpk_private){ .data = (uint8_t *)(uintptr_t)bytes.data, .len = bytes.len };
	o = origin_of(bytes);
	file.keep_off = (size_t)o.seal.off;
	file.keep_len = 8;
	ck_assert_int_eq(mpk_origin_void(&file, &had, &err), MPK_E_CORRUPT);
	file.keep_len = 0;
	ck_assert_int_eq(mpk_origin_void(&file, &had, &err), MPK_OK);
	ck_assert(had);
	o = origin_of(bytes);
	ck_assert(!o.has_seal && !o.seal_count && o.has_room && !o.provenance_count);
	ck_assert_int_eq(check_span(bytes, &key), MPK_E_DIFFERENT);
	ck_assert_ptr_nonnull(strstr(err.text, "was there before"));
	ck_assert_int_eq(mpk_origin_void(&file, &had, &err), MPK_OK);
	ck_assert(!had);
}
END_TEST

START_TEST(not_for_signatures)
{
	write_file("text", "no ELF\n");
	ck_assert_int_eq(seal("text", &key, NULL), MPK_E_UNSUPPORTED);
	write_file("empty", "");
	ck_assert_int_eq(seal("empty", &key, NULL), MPK_E_UNSUPPORTED);
	take_fixture(files[0], "f");
	run("head -c 5000 f >cut");
	ck_assert_int_eq(seal("cut", &key, NULL), MPK_E_CORRUPT);
}
END_TEST

/* A file of a stranger is refused or signed, and what was signed verifies: every byte of the tables. */
START_TEST(damaged_libraries)
{
	struct mpk_span file;
	uint64_t table;
	size_t done = 0;

	take_fixture(files[0], "f");
	file = read_file("f");
	memcpy(&table, file.data + offsetof(Elf64_Ehdr, e_shoff), sizeof table);
	table = le64toh(table);
	for (size_t i = 16; i < file.len; i = i == 63 ? (size_t)table : i + (i < 64 ? 1 : 7)) {
		uint8_t *byte = (uint8_t *)(uintptr_t)file.data + i, was = *byte;
		FILE *f = fopen("g", "w");

		*byte = _i ? (uint8_t)~was : (uint8_t)(was + 1);
		ck_assert_ptr_nonnull(f);
		ck_assert_uint_eq(fwrite(file.data, 1, file.len, f), file.len);
		ck_assert_int_eq(fclose(f), 0);
		*byte = was;
		if (seal("g", &key, text) != MPK_OK)
			continue;
		done++;
		ck_assert_msg(check("g", &key) == MPK_OK, "0x%zx: %s", i, err.text);
	}
	ck_assert_uint_gt(done, 20);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("seal");
	TCase *t = tcase_create("all");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, workdir_leave);
	tcase_add_loop_test(t, signed_and_checked, 0, MPK_ARRAY_COUNT(files));
	tcase_add_test(t, bytes_behind_the_headers);
	tcase_add_test(t, objects_link_without_their_notes);
	tcase_add_loop_test(t, any_changed_byte, 0, 2);
	tcase_add_test(t, tools_break_it);
	tcase_add_test(t, second_signature);
	tcase_add_test(t, unknown_signatures);
	tcase_add_test(t, signature_in_the_headers);
	tcase_add_test(t, emptied);
	tcase_add_test(t, not_for_signatures);
	tcase_add_loop_test(t, damaged_libraries, 0, 2);
	suite_add_tcase(suite, t);

	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
