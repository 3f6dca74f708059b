/* SPDX-License-Identifier: Apache-2.0 */
/* Members of zip archives such as wheels and Android packages: "app.whl!/pkg/lib.so", also
 * "app.whl!/pkg/lib.a(devc.o)" and an archive in an archive,
 * "app.aab!/base.apk!/lib/arm64-v8a/lib.so". For an archive named without a member, every library
 * in it is processed. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/diag.h"
#include "fatbin/fatbin.h"
#include "io/output.h"
#include "minspect/minspect.h"
#include "offload/offload.h"
#include "text/escape.h"
#include "zip/zip.h"

#define SEPARATOR "!/"

/* The memory limit grows with the size of a member. A member may claim any size, so at most this
 * many times its compressed size counts: objects and weights compress less than that. */
enum { RATIO_MAX = 20 };

/* A smaller member is unpacked whole, also for a listing. */
enum { PARTS_LEAST = 16 << 20 };

/* --- a large member, unpacked only where it is read ------------------------------------------
 *
 * It is decoded twice: once to check it, and later from a saved decoder state before the requested
 * byte. Bytes that readers of libraries need first are kept during the first pass: the beginning,
 * the tables at the end, and the headers of GPU code, which are spread over the library. Only this
 * process may read these bytes, not system calls (io/mapping.h). */

enum {
	/* Each part costs 40 KiB for the saved decoder state; reading one byte decodes half a part
	 * on average. */
	PART_BYTES = 512 << 10,
	PARTS_MAX = 512,
	/* Clang aligns containers and images to it, and most of their headers are not longer. */
	PAGE = 4096,
};

/* State of the first pass. */
struct passing {
	struct mpk_demand *demand;
	struct mpk_fatbin_scan scan;
	uint64_t off; /* offset of piece */
	struct mpk_span piece;
};

static void keep_header(void *arg, uint64_t off, size_t len)
{
	const struct passing *p = arg;

	mpk_demand_keep(p->demand, p->off, p->piece, off, len);
}

static void pass(void *arg, uint64_t off, struct mpk_span piece)
{
	struct passing *p = arg;

	p->off = off;
	p->piece = piece;
	mpk_demand_offer(p->demand, off, piece);

	for (size_t at = (size_t)(-p->off % PAGE); at < p->piece.len; at += PAGE) {
		struct mpk_span rest = mpk_span_from(p->piece, at);

		if (mpk_offload_is(rest) || mpk_offload_is_packed(rest) ||
		    mpk_offload_begins_image(rest))
			mpk_demand_keep(p->demand, p->off, p->piece, p->off + at, 1);
	}

	mpk_fatbin_scan(&p->scan, off, piece, keep_header, p);
}

/* State for later reads. */
struct parts {
	struct mpk_deflate_index *index;
	const char *name;
};

static bool parts_make(void *arg, uint64_t from, uint8_t *into, size_t len)
{
	const struct parts *p = arg;

	return mpk_deflate_index_read(p->index, from, into, len);
}

static void parts_failed(void *arg)
{
	const struct parts *p = arg;
	struct mpk_error err = { 0 };

	(void)mpk_fail(&err, MPK_E_IO, "the file changed while it was read");
	mpk_error_at_file(&err, p->name);
	mpk_output_abandon_all();
	_exit(mpk_diag_error(&err));
}

static size_t part_bytes(uint64_t plain)
{
	size_t least = (size_t)(plain / PARTS_MAX);

	return least < PART_BYTES ? PART_BYTES : (least / MPK_DEMAND_GRAIN + 1) * MPK_DEMAND_GRAIN;
}

static enum mpk_code open_parts(struct minspect_file *f, const struct mpk_zip_member *m,
				const struct mpk_zip_options *options, struct mpk_error *err)
{
	struct parts *p = mpk_arena_alloc(&f->arena, sizeof *p);
	const size_t part = part_bytes(m->plain);
	struct passing passing = { 0 };
	struct mpk_span bytes;

	MPK_TRY_ALLOC(p, err);
	f->demand = mpk_demand_open((size_t)m->plain, part, &f->arena);
	MPK_TRY_ALLOC(f->demand, err);
	passing.demand = f->demand;

	const struct mpk_deflate_sink sink = { pass, &passing };
	const struct mpk_demand_source source = { parts_make, parts_failed, p };

	p->name = f->name;
	MPK_TRY(mpk_zip_index(f->bytes, m, options, part, &sink, &f->arena, &p->index, err));
	bytes = mpk_demand_start(f->demand, &source);
	MPK_TRY_ALLOC(bytes.data, err);
	f->bytes = bytes;
	return MPK_OK;
}

static enum mpk_code open_in_parts(struct minspect_file *f, const struct mpk_zip_member *m,
				   const struct mpk_zip_options *options, struct mpk_error *err)
{
	enum mpk_code code = open_parts(f, m, options, err);

	if (code != MPK_OK) {
		mpk_demand_close(f->demand);
		f->demand = NULL;
	}
	return code;
}

/* --- members --------------------------------------------------------------------------------- */

/* Returns the separator that ends the path of the archive: the first one after an existing file's
 * name. A file whose own name contains a separator is not an archive. */
static const char *separator_in(const char *name, struct mpk_arena *arena)
{
	const char *first = strstr(name, SEPARATOR);

	if (!first || access(name, F_OK) == 0)
		return NULL;
	for (const char *at = first; at; at = strstr(at + 1, SEPARATOR)) {
		const char *path = mpk_arena_copy(arena, name, (size_t)(at - name));

		if (path && access(path, F_OK) == 0)
			return at;
	}
	return first;
}

enum mpk_code minspect_zip_split(struct minspect_file *f, const char **path, const char **inner,
				 struct mpk_error *err)
{
	const char *at = separator_in(f->name, &f->arena);

	*path = f->name;
	*inner = NULL;
	if (!at)
		return MPK_OK;
	*path = mpk_arena_copy(&f->arena, f->name, (size_t)(at - f->name));
	MPK_TRY_ALLOC(*path, err);
	*inner = at + strlen(SEPARATOR);
	return MPK_OK;
}

/* Finds a member, or for "lib.a(devc.o)" the archive in it. */
static enum mpk_code zip_find(const struct mpk_zip_member *members, size_t count,
			      struct mpk_span name, struct minspect_file *f, size_t *found,
			      const char **object, struct mpk_error *err)
{
	const uint8_t *open = name.len ? memrchr(name.data, '(', name.len) : NULL;
	enum mpk_code code = mpk_zip_find(members, count, name, found, err);
	struct mpk_span archive;

	if (code != MPK_E_NOTFOUND || !open || name.data[name.len - 1] != ')')
		return code;
	archive = mpk_span_of(name.data, (size_t)(open - name.data));
	MPK_TRY(mpk_zip_find(members, count, archive, found, err));
	*object = mpk_arena_copy(&f->arena, open + 1, name.len - archive.len - 2);
	return *object ? MPK_OK : mpk_fail_nomem(err);
}

static void zip_forget(void *arg, struct mpk_span bytes)
{
	const struct mpk_mapping *m = arg;
	/* Whole pages within the part: the kernel may drop them and read them again from the file.
	 * If the memory were not mapped, it would drop the only copy. */
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t begin = ((uintptr_t)bytes.data + page - 1) / page * page;
	uintptr_t end = ((uintptr_t)bytes.data + bytes.len) / page * page;

	if (m->mapped && begin < end && bytes.data >= m->bytes.data &&
	    bytes.data + bytes.len <= m->bytes.data + m->bytes.len)
		(void)madvise((void *)begin, end - begin, MADV_DONTNEED);
}

/* From now on the member is the inspected file. */
static void count_member(struct minspect_file *f, const struct mpk_zip_member *m)
{
	if (__builtin_mul_overflow(m->stored, (uint64_t)RATIO_MAX, &f->member_bytes) ||
	    f->member_bytes > m->plain)
		f->member_bytes = m->plain;
	minspect_memory_grow(f->member_bytes);
}

static struct mpk_zip_options options_for(const struct mpk_deflate_reader *reader)
{
	return (struct mpk_zip_options){ .space = "file",
					 .advice = "unpack it, and name the library",
					 .check_stored = true,
					 .reader = reader };
}

static enum mpk_code read_member(struct minspect_file *f, const struct mpk_zip_member *m,
				 struct mpk_error *err)
{
	/* Pages of the archive that were already unpacked are released, so that a large member is
	 * not in memory in both forms. */
	const struct mpk_deflate_reader reader = { zip_forget, &f->map };
	const struct mpk_zip_options options = options_for(&reader);

	return mpk_zip_read(f->bytes, m, &options, &f->arena, &f->bytes, err);
}

enum mpk_code minspect_zip_read(struct minspect_file *f, const struct mpk_zip_member *m,
				struct mpk_error *err)
{
	if (m->method)
		count_member(f, m);
	return read_member(f, m, err);
}

enum mpk_code minspect_zip_open(struct minspect_file *f, const struct mpk_zip_member *m,
				struct mpk_error *err)
{
	if (m->method != MPK_ZIP_DEFLATED || m->plain < PARTS_LEAST || m->plain > SIZE_MAX / 2)
		return minspect_zip_read(f, m, err);
	count_member(f, m);

	const struct mpk_deflate_reader reader = { zip_forget, &f->map };
	const struct mpk_zip_options options = options_for(&reader);
	enum mpk_code code = open_in_parts(f, m, &options, err);

	return code == MPK_E_NOMEM ? read_member(f, m, err) : code;
}

enum mpk_code minspect_zip_enter(struct minspect_file *f, const char *inner, const char **object,
				 struct mpk_error *err)
{
	for (;;) {
		const char *next = strstr(inner, SEPARATOR);
		size_t len = next ? (size_t)(next - inner) : strlen(inner);

		struct mpk_span name = mpk_span_of(inner, len);
		struct mpk_zip_member *members;
		size_t count, found;

		if (!mpk_zip_is(f->bytes))
			return mpk_fail(
				err, MPK_E_UNSUPPORTED,
				"a member '%s' was asked for, but the file is no zip archive",
				MPK_QUOTE(name));
		MPK_TRY(mpk_zip_list(f->bytes, "file", &f->arena, &members, &count, err));
		MPK_TRY(zip_find(members, count, name, f, &found, object, err));
		MPK_TRY(minspect_zip_read(f, &members[found], err));

		if (!next)
			return MPK_OK;
		inner = next + strlen(SEPARATOR);
	}
}

/* --- an archive by itself --------------------------------------------------------------- */

static bool ends(struct mpk_span name, const char *suffix)
{
	size_t len = strlen(suffix);

	return name.len > len && memcmp(name.data + name.len - len, suffix, len) == 0;
}

/* Recognises a library by its name. A link or a text of that name is later reported not to be
 * one. */
static bool is_library(struct mpk_span name)
{
	static const char *const suffixes[] = { ".so",  ".pyd", ".dll", ".dylib", ".a",
						".lib", ".o",   ".obj", ".blob",  ".wasm" };

	while (name.len && ((name.data[name.len - 1] >= '0' && name.data[name.len - 1] <= '9') ||
			    name.data[name.len - 1] == '.'))
		name.len--; /* "libfoo.so.1.2" */
	for (size_t i = 0; i < MPK_ARRAY_COUNT(suffixes); i++)
		if (ends(name, suffixes[i]))
			return true;
	return false;
}

/* Recognises GPU code by its first bytes, as such files have any suffix. */
static bool is_device(const struct minspect_file *f, const struct mpk_zip_member *m)
{
	uint8_t head[MINSPECT_HEAD_BYTES];
	size_t len = mpk_zip_head(f->bytes, m, head, sizeof head);

	return mpk_file_is_device(mpk_span_of(head, len));
}

bool minspect_is_zip(const char *path)
{
	char head[4];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	bool is;

	if (fd < 0)
		return false;
	is = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	     mpk_read_at(fd, head, sizeof head, 0) == (ssize_t)sizeof head &&
	     memcmp(head, "PK\3\4", sizeof head) == 0;
	(void)close(fd);
	return is;
}

enum mpk_code minspect_zip_list(struct minspect_file *f, struct mpk_error *err)
{
	struct mpk_zip_member *members;
	size_t count, n = 0;

	MPK_TRY(mpk_zip_list(f->bytes, "file", &f->arena, &members, &count, err));
	f->device_count = 0;
	for (size_t i = 0; i < count; i++) {
		bool is_code = !is_library(members[i].name) && is_device(f, &members[i]);

		f->device_count += is_code;
		if (is_code || is_library(members[i].name))
			members[n++] = members[i];
	}
	f->libraries = members;
	f->library_count = n;
	return MPK_OK;
}

char *minspect_zip_member(const struct minspect_file *f, size_t i, struct mpk_arena *arena)
{
	struct mpk_span name = f->libraries[i].name;
	size_t head = strlen(f->name) + strlen(SEPARATOR);
	char *out = mpk_arena_alloc(arena, head + name.len + 1);

	if (!out)
		return NULL;
	memcpy(out, f->name, strlen(f->name));
	memcpy(out + strlen(f->name), SEPARATOR, strlen(SEPARATOR));
	for (size_t k = 0; k < name.len; k++) /* file names contain no NUL */
		out[head + k] = name.data[k] ? (char)name.data[k] : '?';
	return out;
}

int minspect_zip_each(const struct minspect_file *archive, const char *action, bool single,
		      int (*one)(const struct minspect_file *archive, size_t library,
				 const char *name, void *arg),
		      void *arg)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_error err = { 0 };
	int status = MPK_EXIT_OK;
	size_t held = 0;

	/* One output cannot hold the parts of several libraries. */
	if (single && archive->library_count > 1)
		return mpk_diag_usage("%s takes one library, and %s has %zu: name one as %s!/%s",
				      action, MPK_QUOTE(mpk_span_str(archive->name)),
				      archive->library_count,
				      MPK_QUOTE(mpk_span_str(archive->name)),
				      MPK_QUOTE(archive->libraries[0].name));
	for (size_t i = 0; i < archive->library_count; i++) {
		const char *name = minspect_zip_member(archive, i, &arena);
		int got;

		if (!name)
			return mpk_diag_error((mpk_fail_nomem(&err), &err));
		got = one(archive, i, name, arg);
		held += got >= 0;
		status = status || got < 0 ? status : got;
	}
	if (held)
		return status;
	(void)mpk_fail(
		&err, MPK_E_NO_BLOB,
		"none of the %zu libraries in it holds a compiled module, a function to call "
		"or GPU code",
		archive->library_count);
	mpk_error_at_file(&err, archive->name);
	return mpk_diag_error(&err);
}
