/* SPDX-License-Identifier: Apache-2.0 */
/* write.c - an archive with other contents for some of its members
 *
 * The archive is copied from header to header, so that bytes between members, such as a record of
 * sizes after the content, stay with the member before them. Entries of the directory are copied,
 * too, except the fields about the content. Numbers of 64 bits are read and not written: package
 * indices accept no archive that needs them. */
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "zip/internal/zip.h"

enum {
	LOCAL_BYTES = 30,
	CENTRAL_BYTES = 46,
	END_BYTES = 22,
	EXTRA_ZIP64 = 1,
	FLAG_SIZES_FOLLOW = 8, /* sizes and checksum follow the content */
};

struct rewriting {
	struct mpk_span zip;
	const char *space;
	const struct mpk_zip_member *members;
	const struct mpk_zip_change *changes;
	size_t count;
	uint64_t *places; /* new offsets, by member */
	struct mpk_rope *out;
	struct mpk_error *err;
};

static enum mpk_code fail_range(struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_RANGE, "an archive of 4 GiB and more is not written");
}

static void zip_store(uint8_t *at, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

/* --- members ---------------------------------------------------------------------------------- */

/* Writes a header without 64-bit sizes, which the new sizes do not need. */
static enum mpk_code zip_put_local(struct rewriting *w, size_t i)
{
	const struct mpk_zip_member *m = &w->members[i];
	const struct mpk_zip_change *c = &w->changes[i];
	struct mpk_span head;
	uint8_t copy[LOCAL_BYTES];

	if (!mpk_span_sub(w->zip, m->local, LOCAL_BYTES, &head))
		return mpk_zip_bad(w->space, m->local, "a member is not in the archive", w->err);
	if (c->content->len >= UINT32_MAX || c->plain >= UINT32_MAX)
		return fail_range(w->err);
	memcpy(copy, head.data, LOCAL_BYTES);
	zip_store(copy + 6, mpk_load_u16(copy + 6) & ~(unsigned)FLAG_SIZES_FOLLOW, 2);
	zip_store(copy + 8, c->method, 2);
	zip_store(copy + 14, c->checksum, 4);
	zip_store(copy + 18, c->content->len, 4);
	zip_store(copy + 22, c->plain, 4);
	zip_store(copy + 26, m->name.len, 2);
	zip_store(copy + 28, 0, 2);
	mpk_rope_put_bytes(w->out, mpk_span_of(copy, LOCAL_BYTES));
	mpk_rope_put_view(w->out, m->name);
	mpk_rope_put_rope(w->out, c->content);
	return MPK_OK;
}

/* @end     offset of the next member, or of the directory */
static enum mpk_code zip_put_member(struct rewriting *w, size_t i, uint64_t end)
{
	const struct mpk_zip_member *m = &w->members[i];
	struct mpk_span data;

	MPK_TRY(mpk_zip_raw(w->zip, m, w->space, &data, w->err));
	if ((uint64_t)(data.data - w->zip.data) + data.len > end)
		return mpk_zip_bad(w->space, m->local, "its members overlap", w->err);
	if (w->changes[i].is_dropped)
		return MPK_OK;
	w->places[i] = w->out->len;
	if (w->changes[i].content)
		return zip_put_local(w, i);
	mpk_rope_put_view(w->out, mpk_span_of(w->zip.data + m->local, (size_t)(end - m->local)));
	return mpk_rope_status(w->out, w->err);
}

struct placed {
	uint64_t local;
	size_t index;
};

MPK_ORDER_BY2(by_local_place, struct placed, local, index)

static enum mpk_code zip_put_members(struct rewriting *w, uint64_t directory)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct placed *order = mpk_arena_array(&scratch, w->count + 1, sizeof *order);

	MPK_TRY_ALLOC(order, w->err);
	for (size_t i = 0; i < w->count; i++)
		order[i] = (struct placed){ w->members[i].local, i };
	qsort(order, w->count, sizeof *order, by_local_place);
	if (order[0].local > directory)
		return mpk_zip_bad(w->space, directory, "members follow the directory", w->err);
	mpk_rope_put_view(w->out, mpk_span_of(w->zip.data, (size_t)order[0].local));
	for (size_t i = 0; i < w->count; i++)
		MPK_TRY(zip_put_member(w, order[i].index,
				       i + 1 < w->count ? order[i + 1].local : directory));
	return MPK_OK;
}

/* --- the directory ------------------------------------------------------------------------------- */

/* Copies the extra fields without 64-bit sizes. */
static void zip_put_extra(struct mpk_span extra, struct mpk_rope *out)
{
	while (extra.len >= 4) {
		size_t len = 4 + (size_t)mpk_load_u16(extra.data + 2);

		len = len < extra.len ? len : extra.len;
		if (mpk_load_u16(extra.data) != EXTRA_ZIP64)
			mpk_rope_put_view(out, mpk_span_of(extra.data, len));
		extra = mpk_span_from(extra, len);
	}
}

static enum mpk_code zip_put_entry(struct rewriting *w, size_t i)
{
	const struct mpk_zip_member *m = &w->members[i];
	const struct mpk_zip_change *c = &w->changes[i];
	size_t name = m->name.len, extra = mpk_load_u16(m->entry.data + 30);
	uint64_t stored = c->content ? c->content->len : m->stored;
	uint64_t plain = c->content ? c->plain : m->plain, before = w->out->len;
	struct mpk_rope fields = mpk_rope_of(w->out->arena);
	uint8_t copy[CENTRAL_BYTES];

	if (stored >= UINT32_MAX || plain >= UINT32_MAX || w->places[i] >= UINT32_MAX)
		return fail_range(w->err);
	memcpy(copy, m->entry.data, CENTRAL_BYTES);
	zip_put_extra(mpk_span_of(m->entry.data + CENTRAL_BYTES + name, extra), &fields);
	if (c->content) {
		zip_store(copy + 8, m->flags & ~(unsigned)FLAG_SIZES_FOLLOW, 2);
		zip_store(copy + 10, c->method, 2);
		zip_store(copy + 16, c->checksum, 4);
	}
	zip_store(copy + 20, stored, 4);
	zip_store(copy + 24, plain, 4);
	zip_store(copy + 30, fields.len, 2);
	zip_store(copy + 42, w->places[i], 4);
	mpk_rope_put_bytes(w->out, mpk_span_of(copy, CENTRAL_BYTES));
	mpk_rope_put_view(w->out, m->name);
	mpk_rope_put_rope(w->out, &fields);
	mpk_rope_put_view(w->out, mpk_span_of(m->entry.data + CENTRAL_BYTES + name + extra,
					      m->entry.len - CENTRAL_BYTES - name - extra));
	return w->out->len > before ? MPK_OK : mpk_rope_status(w->out, w->err);
}

static enum mpk_code zip_put_end(struct rewriting *w, uint64_t directory, size_t entries)
{
	uint8_t copy[END_BYTES];
	size_t end;

	MPK_TRY(mpk_zip_end(w->zip, w->space, &end, w->err));
	if (entries >= UINT16_MAX || w->out->len >= UINT32_MAX)
		return fail_range(w->err);
	memcpy(copy, w->zip.data + end, END_BYTES);
	zip_store(copy + 8, entries, 2);
	zip_store(copy + 10, entries, 2);
	zip_store(copy + 12, w->out->len - directory, 4);
	zip_store(copy + 16, directory, 4);
	mpk_rope_put_bytes(w->out, mpk_span_of(copy, END_BYTES));
	mpk_rope_put_view(w->out,
			  mpk_span_of(w->zip.data + end + END_BYTES, w->zip.len - end - END_BYTES));
	return mpk_rope_status(w->out, w->err);
}

enum mpk_code mpk_zip_rewrite(struct mpk_span bytes, const char *space,
			      const struct mpk_zip_member *members,
			      const struct mpk_zip_change *changes, size_t count,
			      struct mpk_rope *out, struct mpk_error *err)
{
	struct rewriting w = { .zip = bytes,
			       .space = space,
			       .members = members,
			       .changes = changes,
			       .count = count,
			       .out = out,
			       .err = err };
	size_t entries = 0;
	uint64_t directory;

	if (!count) {
		mpk_rope_put_view(out, bytes);
		return mpk_rope_status(out, err);
	}
	MPK_TRY_ARRAY(w.places, out->arena, count, err);
	MPK_TRY(zip_put_members(&w, (uint64_t)(members[0].entry.data - bytes.data)));
	directory = out->len;
	for (size_t i = 0; i < count; i++) {
		if (changes[i].is_dropped)
			continue;
		MPK_TRY(zip_put_entry(&w, i));
		entries++;
	}
	return zip_put_end(&w, directory, entries);
}
