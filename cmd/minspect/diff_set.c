/* SPDX-License-Identifier: Apache-2.0 */
/* Folders and zip archives as sets of files, for --diff: a file that only one side has, or whose
 * bytes differ, is a difference, even if minspect cannot interpret it. For archives, the directory
 * gives CRC-32 and size of each member. For folders, files of equal size are read.
 *
 * A wheel's metadata is in a folder NAME-VERSION.dist-info (PEP 427). Files there are compared across
 * versions. */
#include "minspect/diff_set.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/vec.h"
#include "common/diag.h"
#include "io/mapping.h"
#include "text/escape.h"
#include "zip/zip.h"

enum { OPEN_FOLDERS = 32, READ_BYTES = 1 << 16 };

/* nftw() passes no argument to its callback. */
static struct {
	struct minspect_set_of_files *set;
	size_t folder_len;
	bool failed; /* memory is out */
} walk;

/* NAME is without '-', as the wheel format escapes it. */
static enum mpk_code find_key(struct minspect_set_item *item, struct mpk_arena *arena,
			      struct mpk_error *err)
{
	static const char suffix[] = ".dist-info";
	const char *name = (const char *)item->name.data;
	const char *slash = item->name.len ? memchr(name, '/', item->name.len) : NULL;
	const char *dash = slash ? memchr(name, '-', (size_t)(slash - name)) : NULL;
	const char *end = slash ? slash - strlen(suffix) : NULL;

	item->key = item->name;
	if (dash && end > dash && memcmp(end, suffix, strlen(suffix)) == 0 &&
	    !memchr(name, '\0', item->name.len)) {
		const char *key = mpk_arena_printf(arena, "%.*s%.*s", (int)(dash - name), name,
						   (int)(name + item->name.len - end), end);

		MPK_TRY_ALLOC(key, err);
		item->key = mpk_span_str(key);
	}
	return MPK_OK;
}

static bool set_add(struct minspect_set_of_files *s, struct mpk_span name, uint64_t bytes,
		    uint32_t checksum)
{
	if (!MPK_VEC_ROOM(s->items, s->count, s->cap))
		return false;
	s->items[s->count++] =
		(struct minspect_set_item){ .name = name, .bytes = bytes, .checksum = checksum };
	s->bytes += bytes;
	return true;
}

static int see_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
	const char *name;

	(void)at;
	if (type != FTW_F || !S_ISREG(st->st_mode))
		return 0;
	name = mpk_arena_text(&walk.set->arena, mpk_span_str(path + walk.folder_len));
	walk.failed = !name || !set_add(walk.set, mpk_span_str(name), (uint64_t)st->st_size, 0);
	return walk.failed;
}

static int compare_spans(struct mpk_span a, struct mpk_span b)
{
	size_t len = a.len < b.len ? a.len : b.len;
	int order = len ? memcmp(a.data, b.data, len) : 0;

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* Sorts by key, then by name; equal names stay in the order of the list. */
static int by_key(const void *a, const void *b)
{
	const struct minspect_set_item *x = a, *y = b;
	int order = compare_spans(x->key, y->key);

	order = order ? order : compare_spans(x->name, y->name);
	return order ? order : (x->order > y->order) - (x->order < y->order);
}

static enum mpk_code read_folder(struct minspect_set_of_files *s, struct mpk_error *err)
{
	size_t len = strlen(s->name);

	walk.set = s;
	walk.folder_len = len + (len && s->name[len - 1] != '/');
	walk.failed = false;
	(void)nftw(s->name, see_file, OPEN_FOLDERS, FTW_PHYS);
	return walk.failed ? mpk_fail_nomem(err) : MPK_OK;
}

static enum mpk_code read_zip(struct minspect_set_of_files *s, struct mpk_error *err)
{
	struct mpk_zip_member *members;
	size_t count;

	MPK_TRY(mpk_mapping_open(s->name, &s->map, err));
	MPK_TRY(mpk_zip_list(s->map.bytes, "file", &s->arena, &members, &count, err));
	for (size_t i = 0; i < count; i++) {
		const struct mpk_zip_member *m = &members[i];

		if (m->name.len && m->name.data[m->name.len - 1] == '/')
			continue;
		MPK_TRY_ALLOC(set_add(s, m->name, m->plain, m->checksum), err);
	}
	s->bytes = s->map.bytes.len;
	return MPK_OK;
}

enum mpk_code minspect_set_read(const char *name, bool is_folder, struct minspect_set_of_files *out,
				struct mpk_error *err)
{
	enum mpk_code code;

	*out = (struct minspect_set_of_files){ .name = name, .is_folder = is_folder, .map.fd = -1 };
	code = is_folder ? read_folder(out, err) : read_zip(out, err);
	if (code != MPK_OK) {
		mpk_error_at_file(err, name);
		return code;
	}
	for (size_t i = 0; i < out->count; i++) {
		out->items[i].order = i;
		MPK_TRY(find_key(&out->items[i], &out->arena, err));
	}
	if (out->count)
		qsort(out->items, out->count, sizeof *out->items, by_key);

	/* If an archive has a name twice, unpacking leaves the last. */
	size_t n = 0;

	for (size_t i = 0; i < out->count; i++) {
		if (n && mpk_span_equal(out->items[n - 1].name, out->items[i].name))
			n--;
		out->items[n++] = out->items[i];
	}
	out->count = n;

	return MPK_OK;
}

void minspect_set_fini(struct minspect_set_of_files *s)
{
	mpk_mapping_close(&s->map);
	mpk_arena_fini(&s->arena);
	free(s->items);
	*s = (struct minspect_set_of_files){ .map.fd = -1 };
}

static int open_item(const struct minspect_set_of_files *s, const struct minspect_set_item *i)
{
	struct mpk_strbuf path = { 0 };
	int fd;

	mpk_strbuf_puts(&path, s->name);
	mpk_strbuf_puts(&path, "/");
	mpk_strbuf_put(&path, (const char *)i->name.data, i->name.len);
	fd = path.failed ? -1 : open(mpk_strbuf_text(&path), O_RDONLY | O_CLOEXEC);
	mpk_strbuf_fini(&path);
	return fd;
}

/* Unreadable files do not count as equal. */
static bool have_same_bytes(int a, int b)
{
	static uint8_t x[READ_BYTES], y[READ_BYTES];

	for (uint64_t off = 0;; off += READ_BYTES) {
		ssize_t n = a < 0 ? -1 : mpk_read_at(a, x, sizeof x, off);
		ssize_t m = b < 0 ? -1 : mpk_read_at(b, y, sizeof y, off);

		if (n < 0 || n != m || memcmp(x, y, (size_t)n) != 0)
			return false;
		if (n < (ssize_t)sizeof x)
			return true;
	}
}

/* An unreadable file equals no other. */
static bool has_checksum(int fd, uint32_t checksum)
{
	static uint8_t x[READ_BYTES];
	uLong sum = crc32_z(0, NULL, 0);

	for (uint64_t off = 0;; off += READ_BYTES) {
		ssize_t n = fd < 0 ? -1 : mpk_read_at(fd, x, sizeof x, off);

		if (n < 0)
			return false;
		sum = crc32_z(sum, x, (size_t)n);
		if (n < (ssize_t)sizeof x)
			return sum == checksum;
	}
}

static bool is_same(const struct minspect_set_of_files *a, const struct minspect_set_item *x,
		    const struct minspect_set_of_files *b, const struct minspect_set_item *y)
{
	int from, to;
	bool same;

	if (x->bytes != y->bytes)
		return false;
	if (!a->is_folder && !b->is_folder)
		return x->checksum == y->checksum;
	from = a->is_folder ? open_item(a, x) : -1;
	to = b->is_folder ? open_item(b, y) : -1;
	same = a->is_folder && b->is_folder ? have_same_bytes(from, to)
	       : a->is_folder               ? has_checksum(from, y->checksum)
					    : has_checksum(to, x->checksum);
	if (from >= 0)
		(void)close(from);
	if (to >= 0)
		(void)close(to);
	return same;
}

enum mpk_code minspect_sets_compare(const struct minspect_set_of_files *older,
				    const struct minspect_set_of_files *newer,
				    struct mpk_arena *arena, struct minspect_set_changes *out,
				    struct mpk_error *err)
{
	struct minspect_set_changes c = { 0 };
	size_t a = 0, b = 0;

	MPK_TRY_ARRAY(c.items, arena, older->count + newer->count + 1, err);
	while (a < older->count || b < newer->count) {
		const struct minspect_set_item *x = a < older->count ? &older->items[a] : NULL;
		const struct minspect_set_item *y = b < newer->count ? &newer->items[b] : NULL;
		int order = !x ? 1 : !y ? -1 : compare_spans(x->key, y->key);

		a += order <= 0;
		b += order >= 0;
		if (order == 0 && is_same(older, x, newer, y)) {
			c.equal++;
			continue;
		}
		c.items[c.count++] = (struct minspect_set_change){ .older = order <= 0 ? x : NULL,
								   .newer = order >= 0 ? y : NULL };
		c.added += order > 0;
		c.removed += order < 0;
		c.changed += order == 0;
	}
	*out = c;
	return MPK_OK;
}
