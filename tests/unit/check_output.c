/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs that appear whole or not at all (io/output.h) and range copies (io/copy.h). */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/account.h"
#include "base/arena.h"
#include "io/digest.h"
#include "io/mapping.h"
#include "io/output.h"
#include "io/reader.h"

static char dir[64];
static bool no_unnamed_files;

/* Stands in front of the C library's: without /proc an output needs a temporary name. */
int access(const char *path, int mode)
{
	if (no_unnamed_files && strcmp(path, "/proc/self/fd") == 0) {
		errno = ENOENT;
		return -1;
	}
	return faccessat(AT_FDCWD, path, mode, 0);
}

static void setup(void)
{
	no_unnamed_files = false;
	strcpy(dir, "/tmp/mpk-output-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
}

static size_t entries(void)
{
	DIR *d = opendir(".");
	size_t count = 0;

	ck_assert_ptr_nonnull(d);
	for (struct dirent *e; (e = readdir(d)) != NULL;)
		count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(d);
	return count;
}

static void teardown(void)
{
	char command[128];

	(void)snprintf(command, sizeof command, "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}

static void put_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
}

static void assert_file(const char *name, const char *text)
{
	char data[256] = "";
	FILE *f = fopen(name, "r");

	ck_assert_msg(f != NULL, "%s is missing", name);
	size_t n = fread(data, 1, sizeof data - 1, f);
	fclose(f);
	ck_assert_uint_eq(n, strlen(text));
	ck_assert_str_eq(data, text);
}

static struct mpk_output *begin(const char *name, const char *text)
{
	struct mpk_output *o = NULL;
	struct mpk_error err = { 0 };

	ck_assert_msg(mpk_output_open(name, 0666, &o, &err) == MPK_OK, "%s", err.text);
	ck_assert_int_eq(mpk_output_write(o, mpk_span_str(text), &err), MPK_OK);
	return o;
}

/* Each test below runs with unnamed files and with temporary names. */
START_TEST(commit_replaces)
{
	no_unnamed_files = _i == 1;
	put_file("x.so", "old");

	struct mpk_output *o = begin("x.so", "new content");
	assert_file("x.so", "old");
	ck_assert_int_eq(mpk_output_commit(o, NULL), MPK_OK);
	assert_file("x.so", "new content");
	ck_assert_uint_eq(entries(), 1);
}
END_TEST

START_TEST(commit_creates)
{
	struct stat st;

	no_unnamed_files = _i == 1;
	umask(027);
	ck_assert_int_eq(mpk_output_commit(begin("sub.so", "x"), NULL), MPK_OK);
	assert_file("sub.so", "x");
	ck_assert_int_eq(stat("sub.so", &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0640);
	ck_assert_uint_eq(entries(), 1);
}
END_TEST

START_TEST(abandon_keeps_old)
{
	no_unnamed_files = _i == 1;
	put_file("x.so", "old");
	mpk_output_abandon(begin("x.so", "new"));
	mpk_output_abandon(NULL);
	assert_file("x.so", "old");
	ck_assert_uint_eq(entries(), 1);
}
END_TEST

START_TEST(link_is_followed)
{
	struct stat st;

	no_unnamed_files = _i == 1;
	put_file("real.so", "old");
	ck_assert_int_eq(symlink("real.so", "link.so"), 0);
	ck_assert_int_eq(mpk_output_commit(begin("link.so", "new"), NULL), MPK_OK);
	assert_file("real.so", "new");
	ck_assert_int_eq(lstat("link.so", &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
}
END_TEST

START_TEST(long_name)
{
	char name[251];

	no_unnamed_files = _i == 1;
	memset(name, 'n', sizeof name);
	name[sizeof name - 1] = '\0';
	put_file(name, "old");
	ck_assert_int_eq(mpk_output_commit(begin(name, "new"), NULL), MPK_OK);
	assert_file(name, "new");
	ck_assert_uint_eq(entries(), 1);
}
END_TEST

START_TEST(killed_writer_leaves_nothing)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		(void)begin("x.so", "half");
		(void)raise(SIGKILL);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
	ck_assert_uint_eq(entries(), 0);
}
END_TEST

static void on_term(int sig)
{
	mpk_output_abandon_all();
	_exit(128 + sig);
}

START_TEST(handler_removes_temporary_names)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		no_unnamed_files = true;
		signal(SIGTERM, on_term);
		(void)begin("x.so", "half");
		if (entries() == 1)
			(void)raise(SIGTERM);
		_exit(1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(WEXITSTATUS(status), 128 + SIGTERM);
	ck_assert_uint_eq(entries(), 0);
}
END_TEST

START_TEST(not_regular_is_written_through)
{
	char data[8] = "";

	ck_assert_int_eq(mkfifo("pipe", 0666), 0);
	int fd = open("pipe", O_RDWR);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(mpk_output_commit(begin("pipe", "hello"), NULL), MPK_OK);
	ck_assert_int_eq(read(fd, data, sizeof data), 5);
	ck_assert_str_eq(data, "hello");
	close(fd);
}
END_TEST

START_TEST(bad_targets)
{
	static const struct {
		const char *path;
		int sys_errno;
	} rows[] = {
		{ ".", EISDIR },
		{ "no/such/x.so", ENOENT },
		{ "file/x.so", ENOTDIR },
	};
	struct mpk_output *o = NULL;
	struct mpk_error err = { 0 };

	put_file("file", "");
	ck_assert_int_eq(mpk_output_open(rows[_i].path, 0666, &o, &err), MPK_E_IO);
	ck_assert_ptr_null(o);
	ck_assert_int_eq(err.sys_errno, rows[_i].sys_errno);
	ck_assert_str_eq(err.at.file, rows[_i].path);
}
END_TEST

START_TEST(full_disk)
{
	struct mpk_output *o = NULL;
	struct mpk_error err = { 0 };

	ck_assert_int_eq(mpk_output_open("/dev/full", 0666, &o, &err), MPK_OK);
	ck_assert_int_eq(mpk_output_write(o, mpk_span_str("x"), &err), MPK_E_IO);
	ck_assert_int_eq(err.sys_errno, ENOSPC);
	ck_assert_str_eq(err.at.file, "/dev/full");
	mpk_output_abandon(o);
}
END_TEST

/* --- range copies ---------------------------------------------------------------- */

enum { BIG = 700 * 1024 + 13 };

static uint8_t byte_at(size_t i)
{
	return (uint8_t)(i * 131 + (i >> 8) * 17);
}

static int big_file(const char *name)
{
	static uint8_t data[BIG];
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	for (size_t i = 0; i < BIG; i++)
		data[i] = byte_at(i);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, data, BIG, 0), BIG);
	return fd;
}

static void assert_copied(int fd, size_t at, size_t from, size_t len)
{
	static uint8_t data[BIG];

	ck_assert_int_eq(pread(fd, data, len, (off_t)at), (ssize_t)len);
	size_t same = 0; /* one assertion: Check writes a record for each that holds */
	while (same < len && data[same] == byte_at(from + same))
		same++;
	ck_assert_msg(same == len, "byte %zu differs", same);
}

START_TEST(rope_of_pieces)
{
	static const uint8_t piece = 0x5a;
	struct mpk_arena arena = { 0 };
	struct mpk_rope rope = mpk_rope_of(&arena);
	struct mpk_output *o = NULL;
	int in = big_file("in");

	/* More pieces than one system call takes, memory and file mixed. */
	for (size_t i = 0; i < 600; i++)
		mpk_rope_put_view(&rope, mpk_span_of(&piece, 1));
	mpk_rope_put_file(&rope, in, 100, 5000);
	mpk_rope_put_view(&rope, mpk_span_str("mid"));
	mpk_rope_put_file(&rope, in, 0, BIG);
	ck_assert_int_eq(mpk_output_open("out", 0666, &o, NULL), MPK_OK);
	ck_assert_int_eq(mpk_output_write_rope(o, &rope, NULL, NULL), MPK_OK);
	ck_assert_int_eq(lseek(mpk_output_fd(o), 0, SEEK_CUR), 600 + 5000 + 3 + BIG);
	assert_copied(mpk_output_fd(o), 600, 100, 5000);
	assert_copied(mpk_output_fd(o), 5603, 0, BIG);
	ck_assert_int_eq(mpk_output_commit(o, NULL), MPK_OK);
	mpk_arena_fini(&arena);
	close(in);
}
END_TEST

START_TEST(copy_to_offset)
{
	int in = big_file("in"), out = open("out", O_RDWR | O_CREAT, 0600);

	ck_assert_int_eq(mpk_copy_range(in, 7, out, &(uint64_t){ 4096 }, 300000, NULL), MPK_OK);
	assert_copied(out, 4096, 7, 300000);
	ck_assert_int_eq(lseek(out, 0, SEEK_CUR), 0);
}
END_TEST

START_TEST(copy_to_other_file_system)
{
	char name[] = "/dev/shm/mpk-copy-XXXXXX";
	int in = big_file("in"), out = mkstemp(name);

	ck_assert_int_ge(out, 0);
	ck_assert_int_eq(unlink(name), 0);
	ck_assert_int_eq(mpk_copy_range(in, 3, out, NULL, BIG - 3, NULL), MPK_OK);
	assert_copied(out, 0, 3, BIG - 3);
}
END_TEST

START_TEST(copy_appends)
{
	int in = big_file("in"), out = open("log", O_RDWR | O_CREAT | O_APPEND, 0600);

	ck_assert_int_eq(write(out, "ab", 2), 2);
	ck_assert_int_eq(mpk_copy_range(in, 0, out, NULL, BIG, NULL), MPK_OK);
	assert_copied(out, 2, 0, BIG);
}
END_TEST

START_TEST(copy_from_pipe)
{
	int ends[2], out = open("out", O_RDWR | O_CREAT, 0600);
	uint8_t data[1000];

	for (size_t i = 0; i < sizeof data; i++)
		data[i] = byte_at(i);
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(write(ends[1], data, sizeof data), (ssize_t)sizeof data);
	ck_assert_int_eq(mpk_copy_range(ends[0], 0, out, NULL, sizeof data, NULL), MPK_OK);
	assert_copied(out, 0, 0, sizeof data);
}
END_TEST

START_TEST(copy_sparse)
{
	int in = big_file("in"), out = open("out", O_RDWR | O_CREAT, 0600);
	uint8_t tail[2] = { 1, 1 };

	ck_assert_int_eq(ftruncate(in, 8 << 20), 0);
	ck_assert_int_eq(mpk_copy_range(in, 0, out, NULL, 8 << 20, NULL), MPK_OK);
	assert_copied(out, 0, 0, BIG);
	ck_assert_int_eq(pread(out, tail, 2, (8 << 20) - 2), 2);
	ck_assert_uint_eq(tail[0] | tail[1], 0);
}
END_TEST

/* A hole in front, one between data and one at the end take no blocks in the copy; where a file goes on behind the
 * place of the hole, zeros are written. */
START_TEST(copy_keeps_holes)
{
	int in = open("in", O_RDWR | O_CREAT, 0600), out = open("out", O_RDWR | O_CREAT, 0600);
	uint64_t far = UINT64_C(1) << 36, at = 4096;
	struct stat st;
	uint8_t got = 0;

	ck_assert_int_eq(ftruncate(in, (off_t)(2 * far)), 0);
	ck_assert_int_eq(pwrite(in, "a", 1, 1 << 20), 1);
	ck_assert_int_eq(pwrite(in, "b", 1, (off_t)far), 1);
	ck_assert_int_eq(mpk_copy_range(in, 0, out, NULL, 2 * far, NULL), MPK_OK);
	ck_assert_int_eq(fstat(out, &st), 0);
	ck_assert_int_eq(st.st_size, (off_t)(2 * far));
	ck_assert_int_lt(st.st_blocks, (4 << 20) / 512);
	ck_assert_int_eq(pread(out, &got, 1, 1 << 20), 1);
	ck_assert_uint_eq(got, 'a');
	ck_assert_int_eq(pread(out, &got, 1, (off_t)far), 1);
	ck_assert_uint_eq(got, 'b');

	/* over old bytes */
	ck_assert_int_eq(pwrite(out, "old", 3, 200000), 3);
	ck_assert_int_eq(mpk_copy_range(in, 2 << 20, out, &at, 1 << 20, NULL), MPK_OK);
	ck_assert_int_eq(pread(out, &got, 1, 200001), 1);
	ck_assert_uint_eq(got, 0);
	ck_assert_int_eq(close(in) | close(out), 0);
}
END_TEST

/* More than two windows (io/reader.h), and no whole number of them. */
enum { LARGE = 9 << 20 };

struct sums {
	struct mpk_digest digest;
	uint64_t total;
};

static void hash_bytes(void *data, struct mpk_span bytes)
{
	struct sums *s = data;

	s->total += bytes.len;
	ck_assert_int_eq(mpk_digest_update(&s->digest, bytes, NULL), MPK_OK);
}

/* Row: how far source and target lie apart within a page; 0 goes inside the kernel. */
START_TEST(tap_sees_every_byte)
{
	static const uint8_t head[4096 + 107];
	static const size_t heads[] = { 0, 107, 4096, 4096 + 107 };
	struct mpk_arena arena = { 0 };
	struct mpk_rope rope = mpk_rope_of(&arena);
	struct mpk_output *o = NULL;
	struct sums seen = { .total = 0 }, stored = { .total = 0 };
	uint8_t digest[MPK_DIGEST_BYTES], again[MPK_DIGEST_BYTES];
	struct mpk_tap tap = { hash_bytes, &seen };
	struct mpk_reader *r = malloc(sizeof *r);
	struct mpk_span some;
	int in = big_file("in");

	ck_assert_int_eq(ftruncate(in, LARGE + 5), 0);
	ck_assert_int_eq(pwrite(in, "tail", 4, LARGE + 1), 4);
	mpk_rope_put_view(&rope, mpk_span_of(head, heads[_i]));
	mpk_rope_put_file(&rope, in, 0, LARGE + 5);
	mpk_rope_put_view(&rope, mpk_span_str("end"));
	ck_assert_int_eq(mpk_digest_init(&seen.digest, MPK_DIGEST_XXH128, NULL), MPK_OK);
	ck_assert_int_eq(mpk_digest_init(&stored.digest, MPK_DIGEST_XXH128, NULL), MPK_OK);
	ck_assert_int_eq(mpk_output_open("out", 0666, &o, NULL), MPK_OK);
	ck_assert_int_eq(mpk_output_write_rope(o, &rope, &tap, NULL), MPK_OK);

	struct mpk_piece whole = { .fd = mpk_output_fd(o), .len = rope.len };
	struct mpk_rope written = { .pieces = &whole, .count = 1, .len = rope.len };
	assert_copied(whole.fd, heads[_i], 0, BIG);
	mpk_reader_init(r, &written);
	do {
		ck_assert_int_eq(mpk_reader_next(r, &some, NULL), MPK_OK);
		hash_bytes(&stored, some);
	} while (some.len);
	mpk_reader_fini(r);
	free(r);
	ck_assert_uint_eq(stored.total, heads[_i] + LARGE + 5 + 3);
	ck_assert_uint_eq(seen.total, stored.total);
	ck_assert_int_eq(mpk_digest_final(&seen.digest, digest, NULL), MPK_OK);
	ck_assert_int_eq(mpk_digest_final(&stored.digest, again, NULL), MPK_OK);
	ck_assert_mem_eq(digest, again, MPK_XXH128_BYTES);
	mpk_digest_fini(&seen.digest);
	mpk_digest_fini(&stored.digest);
	mpk_output_abandon(o);
	mpk_arena_fini(&arena);
	close(in);
}
END_TEST

/* The private copy of a sparse file: what nobody changed of a hole stays one and is not read, what was changed is there. */
START_TEST(private_holes)
{
	const uint64_t far = UINT64_C(1) << 36, middle = far / 2;
	struct mpk_output *o = NULL;
	struct mpk_private p = { 0 };
	struct mpk_mapping m = { 0 };
	struct stat st;
	char got[8] = { 0 };
	int in = open("in", O_RDWR | O_CREAT, 0600), out;

	ck_assert_int_eq(pwrite(in, "begin", 5, 0), 5);
	ck_assert_int_eq(pwrite(in, "middle", 6, (off_t)middle), 6);
	ck_assert_int_eq(ftruncate(in, (off_t)far), 0);
	close(in);
	ck_assert_int_eq(mpk_mapping_open("in", &m, NULL), MPK_OK);
	ck_assert_int_eq(mpk_private_open(&m, mpk_span_of(NULL, 0), &p, NULL), MPK_OK);
	ck_assert_uint_eq(mpk_private_hole(mpk_span_of(p.data, p.len)), 0);
	ck_assert_uint_gt(mpk_private_hole(mpk_span_of(p.data + (16 << 20), p.len - (16 << 20))),
			  1 << 30);
	ck_assert_uint_eq(mpk_private_hole(mpk_span_of(p.data + (16 << 20), 1000)), 1000);
	/* the mapping itself is no private copy */
	ck_assert_uint_eq(mpk_private_hole(mpk_span_of(m.bytes.data + (16 << 20), 1000)), 0);
	/* at the end of a hole, before and behind its edge */
	ck_assert_int_eq(mpk_private_touch(&p, middle - 3, 6, NULL), MPK_OK);
	memcpy(p.data + middle - 3, "MIDDLE", 6);
	ck_assert_int_eq(mpk_private_touch(&p, 0, 5, NULL), MPK_OK);
	memcpy(p.data, "BEGIN", 5);
	ck_assert_uint_eq(mpk_private_hole(mpk_span_of(p.data + (16 << 20), 1000)), 0);
	ck_assert_uint_gt(mpk_private_hole(mpk_span_of(p.data + middle + (16 << 20), far / 4)),
			  1 << 30);

	/* the part whose hole is whole; that before it would be read to its end */
	ck_assert_int_eq(mpk_output_open("out", 0600, &o, NULL), MPK_OK);
	ck_assert_int_eq(
		mpk_output_write(o, mpk_span_of(p.data + middle - 4096, far - middle + 4096), NULL),
		MPK_OK);
	ck_assert_int_eq(mpk_output_commit(o, NULL), MPK_OK);
	mpk_private_close(&m, &p);
	mpk_mapping_close(&m);
	out = open("out", O_RDONLY);
	ck_assert_int_eq(fstat(out, &st), 0);
	ck_assert_uint_eq((uint64_t)st.st_size, far - middle + 4096);
	ck_assert_int_lt(st.st_blocks, (4 << 20) / 512);
	ck_assert_int_eq(pread(out, got, 6, 4096 - 3), 6);
	ck_assert_str_eq(got, "MIDDLE");
	close(out);
}
END_TEST

START_TEST(copy_of_short_file_fails)
{
	struct mpk_error err = { 0 };
	int in = big_file("in"), out = open("out", O_RDWR | O_CREAT, 0600);

	ck_assert_int_eq(mpk_copy_range(in, BIG - 10, out, NULL, 11, &err), MPK_E_IO);
	ck_assert_ptr_nonnull(strstr(err.text, "shorter"));
}
END_TEST

/* --- how much may be written (base/account.h); each test is a process of its own --- */

START_TEST(limit_is_of_all_outputs)
{
	struct mpk_span ten = mpk_span_str("0123456789");
	struct mpk_directory d = { 0 };
	struct mpk_output *o = NULL;
	struct mpk_error err = { 0 };

	mpk_account_limit_output(30);
	ck_assert_int_eq(mpk_output_store("a", ten, &err), MPK_OK);
	ck_assert_int_eq(mpk_output_open("b", 0666, &o, &err), MPK_OK);
	ck_assert_int_eq(mpk_output_write(o, ten, &err), MPK_OK);
	/* what may not be written is not: neither of it nor later */
	ck_assert_int_eq(mpk_account_may_write(11, &err), MPK_E_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.text, "--max-output"));
	ck_assert_int_eq(mpk_account_may_write(10, &err), MPK_OK);
	ck_assert_int_eq(mpk_output_write(o, ten, &err), MPK_OK);
	ck_assert_int_eq(mpk_output_write(o, mpk_span_str("1"), &err), MPK_E_UNSUPPORTED);
	ck_assert_str_eq(err.at.file, "b");
	ck_assert_int_eq(mpk_output_finish(o, MPK_E_UNSUPPORTED, &err), MPK_E_UNSUPPORTED);
	ck_assert_uint_eq(entries(), 1);

	ck_assert_int_eq(mpk_directory_open("d", &d, &err), MPK_OK);

	struct mpk_piece piece = { .data = (const uint8_t *)"x", .fd = -1, .len = 1 };
	struct mpk_rope rope = { .pieces = &piece, .count = 1, .len = 1 };

	ck_assert_int_eq(mpk_directory_write(&d, "x", &rope, &err), MPK_E_UNSUPPORTED);
	ck_assert_str_eq(err.at.file, "d/x");
	mpk_directory_abandon(&d);
	ck_assert_uint_eq(entries(), 1);
}
END_TEST

/* The inputs of a program; one that is read twice, under whichever name, is one. */
START_TEST(limit_grows_with_inputs)
{
	const uint64_t base = MPK_OUTPUT_BASE, ratio = MPK_OUTPUT_RATIO;
	struct mpk_mapping first = { 0 }, again = { 0 }, other = { 0 };
	int fd = open("in", O_RDWR | O_CREAT, 0600);

	ck_assert_int_eq(ftruncate(fd, 1000), 0);
	close(fd);
	fd = open("other", O_RDWR | O_CREAT, 0600);
	ck_assert_int_eq(ftruncate(fd, 100000), 0);
	close(fd);
	ck_assert_int_eq(link("in", "name"), 0);
	/* nothing is limited before somebody asks for it */
	ck_assert_int_eq(mpk_account_may_write(UINT64_MAX, NULL), MPK_OK);
	mpk_mappings_keep();
	mpk_account_limit_output(0);
	ck_assert_int_eq(mpk_account_may_write(base, NULL), MPK_OK);
	ck_assert_int_eq(mpk_account_may_write(base + 1, NULL), MPK_E_UNSUPPORTED);
	ck_assert_int_eq(mpk_mapping_open("in", &first, NULL), MPK_OK);
	ck_assert_int_eq(mpk_account_may_write(base + ratio * 1000, NULL), MPK_OK);
	ck_assert_int_eq(mpk_account_may_write(base + ratio * 1000 + 1, NULL), MPK_E_UNSUPPORTED);
	ck_assert_int_eq(mpk_mapping_open("name", &again, NULL), MPK_OK);
	mpk_mapping_close(&again);
	mpk_mapping_close(&first);
	ck_assert_int_eq(mpk_mapping_open("in", &again, NULL), MPK_OK);
	mpk_mapping_close(&again);
	ck_assert_int_eq(mpk_account_may_write(base + ratio * 1000, NULL), MPK_OK);
	ck_assert_int_eq(mpk_account_may_write(base + ratio * 1000 + 1, NULL), MPK_E_UNSUPPORTED);
	ck_assert_int_eq(mpk_mapping_open("other", &other, NULL), MPK_OK);
	mpk_mapping_close(&other);
	ck_assert_int_eq(mpk_account_write(base + ratio * 101000, NULL), MPK_OK);
	ck_assert_int_eq(mpk_account_write(1, NULL), MPK_E_UNSUPPORTED);
	mpk_account_limit_output(MPK_OUTPUT_ANY);
	ck_assert_int_eq(mpk_account_write(UINT64_MAX, NULL), MPK_OK);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("output");
	TCase *whole = tcase_create("whole or not at all"), *copy = tcase_create("copy");

	tcase_add_checked_fixture(whole, setup, teardown);
	tcase_add_loop_test(whole, commit_replaces, 0, 2);
	tcase_add_loop_test(whole, commit_creates, 0, 2);
	tcase_add_loop_test(whole, abandon_keeps_old, 0, 2);
	tcase_add_loop_test(whole, link_is_followed, 0, 2);
	tcase_add_loop_test(whole, long_name, 0, 2);
	tcase_add_test(whole, killed_writer_leaves_nothing);
	tcase_add_test(whole, handler_removes_temporary_names);
	tcase_add_test(whole, not_regular_is_written_through);
	tcase_add_loop_test(whole, bad_targets, 0, 3);
	tcase_add_test(whole, full_disk);
	tcase_add_test(whole, limit_is_of_all_outputs);
	tcase_add_test(whole, limit_grows_with_inputs);
	suite_add_tcase(suite, whole);

	tcase_add_checked_fixture(copy, setup, teardown);
	tcase_add_test(copy, rope_of_pieces);
	tcase_add_test(copy, copy_to_offset);
	tcase_add_test(copy, copy_to_other_file_system);
	tcase_add_test(copy, copy_appends);
	tcase_add_test(copy, copy_from_pipe);
	tcase_add_test(copy, copy_sparse);
	tcase_add_test(copy, copy_keeps_holes);
	tcase_add_test(copy, private_holes);
	tcase_add_loop_test(copy, tap_sees_every_byte, 0, 4);
	tcase_add_test(copy, copy_of_short_file_fails);
	suite_add_tcase(suite, copy);

	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
