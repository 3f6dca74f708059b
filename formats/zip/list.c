/* SPDX-License-Identifier: Apache-2.0 */
/* list.c - a bounded reader of the central directory, with the 64-bit extensions, and of stored
 * members
 *
 * In a file of its own, so that programs that read only stored members link no zlib. */
#include <string.h>

#include "base/cursor.h"
#include "base/strmap.h"
#include "text/escape.h"
#include "zip/internal/zip.h"

enum {
	SIG_LOCAL = 0x04034b50,
	SIG_CENTRAL = 0x02014b50,
	SIG_END = 0x06054b50,
	SIG_END64 = 0x06064b50,
	SIG_LOCATOR64 = 0x07064b50,
	END_BYTES = 22,
	END64_BYTES = 56,
	LOCATOR_BYTES = 20,
	LOCAL_BYTES = 30,
	CENTRAL_BYTES = 46,
	COMMENT_MAX = 65535,
	EXTRA_ZIP64 = 1,
};

struct directory {
	const char *space;
	uint64_t count, off;
};

bool mpk_zip_is(struct mpk_span bytes)
{
	return bytes.len >= 4 &&
	       (mpk_load_u32(bytes.data) == SIG_LOCAL || mpk_load_u32(bytes.data) == SIG_END);
}

enum mpk_code mpk_zip_bad(const char *space, uint64_t off, const char *what, struct mpk_error *err)
{
	return mpk_fail_offset(err, MPK_E_CORRUPT, space, off, "broken zip archive: %s", what);
}

/* A comment may follow the record that ends the archive. */
enum mpk_code mpk_zip_end(struct mpk_span zip, const char *space, size_t *out,
			  struct mpk_error *err)
{
	if (zip.len >= END_BYTES) {
		size_t last = zip.len - END_BYTES;
		size_t first = last > COMMENT_MAX ? last - COMMENT_MAX : 0;

		for (size_t at = last + 1; at-- > first;) {
			if (mpk_load_u32(zip.data + at) == SIG_END) {
				*out = at;
				return MPK_OK;
			}
		}
	}
	return mpk_zip_bad(space, zip.len, "the directory at its end is missing", err);
}

static enum mpk_code read_directory(struct mpk_span zip, struct directory *out,
				    struct mpk_error *err)
{
	size_t end = 0;

	MPK_TRY(mpk_zip_end(zip, out->space, &end, err));
	out->count = mpk_load_u16(zip.data + end + 10);
	out->off = mpk_load_u32(zip.data + end + 16);
	if (out->count == UINT16_MAX || out->off == UINT32_MAX) {
		struct mpk_span record;
		uint64_t off;

		if (end < LOCATOR_BYTES ||
		    mpk_load_u32(zip.data + end - LOCATOR_BYTES) != SIG_LOCATOR64)
			return mpk_zip_bad(out->space, end,
					   "no 64-bit directory where one is needed", err);
		off = mpk_load_u64(zip.data + end - LOCATOR_BYTES + 8);
		if (!mpk_span_sub(zip, off, END64_BYTES, &record) ||
		    mpk_load_u32(record.data) != SIG_END64)
			return mpk_zip_bad(out->space, end,
					   "the 64-bit directory is not where it should be", err);
		out->count = mpk_load_u64(record.data + 32);
		out->off = mpk_load_u64(record.data + 48);
	}
	if (out->off > zip.len || out->count > (zip.len - out->off) / CENTRAL_BYTES)
		return mpk_zip_bad(out->space, end, "the directory does not fit the file", err);
	return MPK_OK;
}

/* Replaces each of three values that did not fit in 32 bits, in this order. */
static enum mpk_code read_zip64(struct mpk_span extra, const char *space, struct mpk_zip_member *m,
				struct mpk_error *err)
{
	struct mpk_cursor c = mpk_cursor_of(extra, 0, space);
	uint64_t *const values[] = { &m->plain, &m->stored, &m->local };
	struct mpk_span body;
	uint16_t id, len;

	while (mpk_cursor_left(&c) >= 4) {
		MPK_TRY(mpk_read_u16(&c, "extra field", &id, err));
		MPK_TRY(mpk_read_u16(&c, "extra field", &len, err));
		MPK_TRY(mpk_read_bytes(&c, "extra field", len, &body, err));
		if (id != EXTRA_ZIP64)
			continue;

		struct mpk_cursor v = mpk_cursor_of(body, 0, space);
		for (size_t i = 0; i < MPK_ARRAY_COUNT(values); i++)
			if (*values[i] == UINT32_MAX)
				MPK_TRY(mpk_read_u64(&v, "64-bit size", values[i], err));
	}
	return MPK_OK;
}

static enum mpk_code read_member(struct mpk_cursor *c, struct mpk_zip_member *out,
				 struct mpk_error *err)
{
	struct mpk_span head, name, extra, comment;

	MPK_TRY(mpk_read_bytes(c, "directory entry", CENTRAL_BYTES, &head, err));
	if (mpk_load_u32(head.data) != SIG_CENTRAL)
		return mpk_zip_bad(c->space, mpk_cursor_offset(c) - CENTRAL_BYTES,
				   "no directory entry", err);
	MPK_TRY(mpk_read_bytes(c, "member name", mpk_load_u16(head.data + 28), &name, err));
	MPK_TRY(mpk_read_bytes(c, "extra fields", mpk_load_u16(head.data + 30), &extra, err));
	MPK_TRY(mpk_read_bytes(c, "comment", mpk_load_u16(head.data + 32), &comment, err));

	struct mpk_zip_member m = {
		.name = name,
		.flags = mpk_load_u16(head.data + 8),
		.method = mpk_load_u16(head.data + 10),
		.checksum = mpk_load_u32(head.data + 16),
		.stored = mpk_load_u32(head.data + 20),
		.plain = mpk_load_u32(head.data + 24),
		.local = mpk_load_u32(head.data + 42),
	};
	m.entry = mpk_span_of(head.data, head.len + name.len + extra.len + comment.len);
	MPK_TRY(read_zip64(extra, c->space, &m, err));
	*out = m;
	return MPK_OK;
}

enum mpk_code mpk_zip_raw(struct mpk_span zip, const struct mpk_zip_member *m, const char *space,
			  struct mpk_span *out, struct mpk_error *err)
{
	struct mpk_span head;

	if (!mpk_span_sub(zip, m->local, LOCAL_BYTES, &head) ||
	    mpk_load_u32(head.data) != SIG_LOCAL)
		return mpk_zip_bad(space, m->local, "a member is not where the directory says",
				   err);

	/* the name and extra fields of the local header may have other lengths than those of the directory */
	uint64_t data = m->local + LOCAL_BYTES + mpk_load_u16(head.data + 26) +
			mpk_load_u16(head.data + 28);
	if (!mpk_span_sub(zip, data, m->stored, out))
		return mpk_zip_bad(space, m->local, "a member reaches beyond the file", err);
	return MPK_OK;
}

enum mpk_code mpk_zip_stored(struct mpk_span zip, const struct mpk_zip_member *m,
			     const struct mpk_zip_options *o, struct mpk_span *out,
			     struct mpk_error *err)
{
	struct mpk_span stored;

	if (m->flags & 1)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "'%s' is encrypted", MPK_QUOTE(m->name));
	if (m->method != MPK_ZIP_STORED)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "'%s' is compressed by method %u; %s",
				MPK_QUOTE(m->name), m->method, o->advice);
	MPK_TRY(mpk_zip_raw(zip, m, o->space, &stored, err));
	if (m->stored != m->plain)
		return mpk_zip_bad(o->space, m->local, "a stored member has two sizes", err);
	*out = stored;
	return MPK_OK;
}

enum mpk_code mpk_zip_list(struct mpk_span bytes, const char *space, struct mpk_arena *arena,
			   struct mpk_zip_member **out, size_t *count, struct mpk_error *err)
{
	struct directory dir = { .space = space };
	struct mpk_zip_member *list;
	struct mpk_span rest;

	MPK_TRY(read_directory(bytes, &dir, err));
	MPK_TRY_ARRAY(list, arena, (size_t)dir.count + 1, err);
	if (!mpk_span_sub(bytes, dir.off, bytes.len - dir.off, &rest))
		return mpk_zip_bad(space, dir.off, "the directory does not fit the file", err);

	struct mpk_cursor c = mpk_cursor_of(rest, dir.off, space);
	uint64_t left = bytes.len;
	for (uint64_t i = 0; i < dir.count; i++) {
		MPK_TRY(read_member(&c, &list[i], err));
		/* a member beyond the end is an error only when it is read */
		if (list[i].stored > bytes.len)
			continue;
		if (list[i].stored > left) /* otherwise they would be read again and again */
			return mpk_zip_bad(
				space, dir.off,
				"its members overlap: together they are more than the file", err);
		left -= list[i].stored;
	}
	*out = list;
	*count = (size_t)dir.count;
	return MPK_OK;
}

/* --- names -------------------------------------------------------------------------------- */

static struct mpk_span last_part(struct mpk_span name)
{
	const uint8_t *slash = name.len ? memrchr(name.data, '/', name.len) : NULL;

	return slash ? mpk_span_of(slash + 1, name.len - (size_t)(slash + 1 - name.data)) : name;
}

enum mpk_code mpk_zip_find(const struct mpk_zip_member *members, size_t count, struct mpk_span name,
			   size_t *out, struct mpk_error *err)
{
	for (size_t i = count; i-- > 0;) {
		if (mpk_span_equal(members[i].name, name)) {
			*out = i;
			return MPK_OK;
		}
	}

	/* A path without folders means the member with this last part; if there is none, a similar name is
	 * suggested. */
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_span *names = mpk_arena_array(&scratch, count, sizeof *names);
	size_t near = count;

	MPK_TRY_ALLOC(names, err);
	for (size_t i = 0; i < count; i++) {
		names[i] = members[i].name;
		if (near == count && mpk_span_equal(last_part(names[i]), last_part(name)))
			near = i;
	}
	if (near == count)
		near = mpk_closest(name, names, count);
	if (near < count)
		return mpk_fail(err, MPK_E_NOTFOUND, "there is no member '%s'; did you mean '%s'?",
				MPK_QUOTE(name), MPK_QUOTE(names[near]));
	return mpk_fail(err, MPK_E_NOTFOUND, "there is no member '%s' among the %zu",
			MPK_QUOTE(name), count);
}
