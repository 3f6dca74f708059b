/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - the entries of a fatbin
 *
 * Entries are read twice, first to count them and then into an array of that size: no field gives
 * their number, and each entry gives the offset of the next one. */
#include "fatbin/fatbin.h"

#include <inttypes.h>
#include <string.h>

#include "base/cursor.h"
#include "fatbin/internal/container.h"

#define WRAPPER_MAGIC UINT32_C(0x466243b1)

/* An entry's fixed header, FORMAT.md 2. */
struct head {
	uint16_t kind;
	uint32_t head_bytes;
	uint64_t data_bytes;
	uint32_t packed_bytes, options_off;
	uint16_t minor, major;
	uint32_t sm;
	uint32_t name_off, name_bytes;
	uint64_t flags;
	uint64_t plain_bytes;
};

static enum mpk_code fatbin_fail_at(struct mpk_error *err, uint64_t off, const char *what)
{
	return mpk_fail_offset(err, MPK_E_CORRUPT, "payload", off, "fatbin: %s", what);
}

bool mpk_fatbin_is(struct mpk_span bytes)
{
	uint32_t magic = bytes.len >= 4 ? mpk_load_u32(bytes.data) : 0;

	return magic == MPK_FATBIN_MAGIC || magic == WRAPPER_MAGIC;
}

static enum mpk_fatbin_kind fatbin_kind_of(uint16_t code)
{
	switch (code) {
	case KIND_PTX:
		return MPK_FATBIN_PTX;
	case KIND_ELF:
		return MPK_FATBIN_ELF;
	case KIND_LTO:
		return MPK_FATBIN_LTO;
	case KIND_TILE:
		return MPK_FATBIN_TILE;
	default:
		return MPK_FATBIN_OTHER;
	}
}

static enum mpk_fatbin_packing fatbin_packing_of(uint64_t flags)
{
	if (flags & FLAG_ZSTD)
		return MPK_FATBIN_ZSTD;
	return flags & FLAG_LZ4 ? MPK_FATBIN_LZ4 : MPK_FATBIN_STORED;
}

/* A compressed image may be shorter than the bytes reserved for it. */
static enum mpk_code take_data(const struct head *h, struct mpk_fatbin_entry *e, uint64_t off,
			       struct mpk_error *err)
{
	e->plain_bytes = h->data_bytes;
	if (e->packing == MPK_FATBIN_STORED)
		return MPK_OK;
	if (h->packed_bytes > e->data.len)
		return fatbin_fail_at(err, off + 16, "a packed image is longer than its entry");
	e->data.len = h->packed_bytes;
	e->plain_bytes = h->plain_bytes;
	return MPK_OK;
}

static enum mpk_code fatbin_take_name(struct mpk_span head, const struct head *h,
				      struct mpk_fatbin_entry *e, uint64_t off,
				      struct mpk_error *err)
{
	if (!h->name_off)
		return MPK_OK;
	if (!mpk_span_sub(head, h->name_off, h->name_bytes, &e->name))
		return fatbin_fail_at(err, off + 32, "an image's name lies outside its header");
	return MPK_OK;
}

static struct head head_at(const uint8_t *p)
{
	return (struct head){
		.kind = mpk_load_u16(p),
		.head_bytes = mpk_load_u32(p + 4),
		.data_bytes = mpk_load_u64(p + 8),
		.packed_bytes = mpk_load_u32(p + 16),
		.options_off = mpk_load_u32(p + 20),
		.minor = mpk_load_u16(p + 24),
		.major = mpk_load_u16(p + 26),
		.sm = mpk_load_u32(p + 28),
		.name_off = mpk_load_u32(p + 32),
		.name_bytes = mpk_load_u32(p + 36),
		.flags = mpk_load_u64(p + 40),
		.plain_bytes = mpk_load_u64(p + 56),
	};
}

/* Reads the facts about an image from its header. */
static void take_head(const struct head *h, struct mpk_fatbin_entry *e)
{
	e->kind_code = h->kind;
	e->kind = fatbin_kind_of(h->kind);
	e->sm = h->sm;
	e->arch_specific = h->flags & FLAG_ARCH;
	e->family_specific = h->flags & FLAG_FAMILY;
	e->debug = h->flags & FLAG_DEBUG;
	if (e->kind == MPK_FATBIN_PTX) {
		e->ir_major = h->major;
		e->ir_minor = h->minor;
	} else if (e->kind == MPK_FATBIN_TILE) {
		e->ir_major = h->major >> 8;
		e->ir_minor = h->major & 0xff;
	} else if (e->kind == MPK_FATBIN_ELF) {
		e->abi = h->minor;
	}
}

typedef enum mpk_code take_entry(const struct mpk_fatbin_entry *e, void *arg,
				 struct mpk_error *err);

/* --- images that were compressed together, FORMAT.md 4 --- */

/* Such a header has no field for its own length: it ends with a name, or options, and a NUL. */
static enum mpk_code together_bytes(struct mpk_span table, const struct head *h, uint64_t *out,
				    struct mpk_error *err)
{
	uint64_t end = ENTRY_BYTES, off, len;

	for (int i = 0; i < 2; i++) {
		struct mpk_span record;

		off = i ? h->options_off : h->name_off;
		len = h->name_bytes;
		if (!off)
			continue;
		if (i) {
			if (!mpk_span_sub(table, off, 8, &record))
				return fatbin_fail_at(
					err, 0, "the options of an image lie outside its header");
			off = mpk_load_u32(record.data);
			len = mpk_load_u32(record.data + 4);
		}
		off = (off + len + 1 + MPK_FATBIN_ALIGN - 1) / MPK_FATBIN_ALIGN * MPK_FATBIN_ALIGN;
		end = off > end ? off : end;
	}
	*out = end;
	return MPK_OK;
}

/* @outer   the entry that contains the images
 * @head    its header */
static enum mpk_code read_together(const struct mpk_fatbin_entry *outer, struct mpk_span head,
				   uint64_t off, take_entry *each, void *arg, struct mpk_error *err)
{
	uint32_t count, bytes;
	struct mpk_span table;

	if (head.len < ENTRY_BYTES + TOGETHER_BYTES)
		return fatbin_fail_at(err, off, "images that were packed together have no table");
	count = mpk_load_u32(head.data + ENTRY_BYTES);
	bytes = mpk_load_u32(head.data + ENTRY_BYTES + 4);
	if (bytes < TOGETHER_BYTES || !mpk_span_sub(head, ENTRY_BYTES, bytes, &table))
		return fatbin_fail_at(
			err, off + ENTRY_BYTES,
			"the table of images that were packed together lies outside its header");
	table = mpk_span_from(table, TOGETHER_BYTES);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t at = (uint64_t)(table.data - head.data) + off, len;
		struct mpk_fatbin_entry e = *outer;
		struct head h;

		if (table.len < ENTRY_BYTES)
			return fatbin_fail_at(
				err, at,
				"the table of images that were packed together is cut off");
		h = head_at(table.data);
		MPK_TRY(together_bytes(table, &h, &len, err));
		if (!mpk_span_sub(table, 0, len, &e.whole))
			return fatbin_fail_at(
				err, at,
				"the table of images that were packed together is cut off");
		e.head_bytes = e.whole.len;
		take_head(&h, &e);
		e.piece = outer->whole;
		e.piece_bytes = outer->plain_bytes;
		e.piece_off = h.head_bytes; /* that field is the offset of the image here */
		e.plain_bytes = h.data_bytes;
		if (e.piece_off > e.piece_bytes || e.plain_bytes > e.piece_bytes - e.piece_off)
			return fatbin_fail_at(
				err, at + 4,
				"an image lies outside of those that it was packed with");
		MPK_TRY(fatbin_take_name(e.whole, &h, &e, at, err));
		MPK_TRY(each(&e, arg, err));
		table = mpk_span_of(table.data + e.head_bytes, table.len - e.head_bytes);
	}
	return MPK_OK;
}

/* Reads an entry, which may have several images; the cursor counts offsets in the payload. */
static enum mpk_code fatbin_read_entry(struct mpk_cursor *c, take_entry *each, void *arg,
				       struct mpk_error *err)
{
	uint64_t off = mpk_cursor_offset(c);
	struct mpk_cursor at = *c;
	struct mpk_fatbin_entry e = { .kind = MPK_FATBIN_OTHER };
	struct mpk_span head;

	MPK_TRY(mpk_read_bytes(&at, "fatbin: header of an image", ENTRY_BYTES, &head, err));

	const struct head h = head_at(head.data);

	if (h.head_bytes < ENTRY_BYTES)
		return fatbin_fail_at(err, off + 4,
				      "the header of an image is shorter than 64 bytes");
	at = *c;
	MPK_TRY(mpk_read_bytes(&at, "fatbin: header of an image", h.head_bytes, &head, err));
	e.data_off = mpk_cursor_offset(&at);
	MPK_TRY(mpk_read_bytes(&at, "fatbin: image", h.data_bytes, &e.data, err));
	take_head(&h, &e);
	e.packing = fatbin_packing_of(h.flags);
	MPK_TRY(take_data(&h, &e, off, err));
	e.whole = mpk_span_of(c->bytes.data + c->pos, at.pos - c->pos);
	e.head_bytes = h.head_bytes;
	*c = at;
	/* No tool stores such images uncompressed. */
	if (h.kind == KIND_TOGETHER && e.packing != MPK_FATBIN_STORED)
		return read_together(&e, head, off, each, arg, err);
	MPK_TRY(fatbin_take_name(head, &h, &e, off, err));
	return each(&e, arg, err);
}

/* Finds the bytes of the entries. */
static enum mpk_code open_container(struct mpk_span bytes, struct mpk_cursor *entries,
				    struct mpk_error *err)
{
	struct mpk_span body;

	if (!mpk_fatbin_is(bytes))
		return fatbin_fail_at(err, 0, "no fatbin magic");
	if (mpk_load_u32(bytes.data) == WRAPPER_MAGIC)
		return mpk_fail_offset(
			err, MPK_E_UNSUPPORTED, "payload", 0,
			"fatbin: this is the wrapper of an executable, which holds only an address; take the section .nv_fatbin instead");
	if (bytes.len < MPK_FATBIN_HEADER_BYTES)
		return fatbin_fail_at(err, bytes.len, "cut off inside its header");
	if (mpk_load_u16(bytes.data + 4) != FATBIN_VERSION ||
	    mpk_load_u16(bytes.data + 6) != MPK_FATBIN_HEADER_BYTES)
		return mpk_fail_offset(err, MPK_E_UNSUPPORTED, "payload", 4,
				       "fatbin: version %u with a header of %u bytes is not known",
				       mpk_load_u16(bytes.data + 4), mpk_load_u16(bytes.data + 6));
	if (!mpk_span_sub(bytes, MPK_FATBIN_HEADER_BYTES, mpk_load_u64(bytes.data + 8), &body))
		return fatbin_fail_at(err, 8, "the images reach beyond the end; it was cut off");
	*entries = mpk_cursor_of(body, MPK_FATBIN_HEADER_BYTES, "payload");
	return MPK_OK;
}

enum mpk_code mpk_fatbin_head(struct mpk_span bytes, take_entry *each, void *arg,
			      struct mpk_error *err)
{
	struct mpk_cursor c;

	MPK_TRY(open_container(bytes, &c, err));
	while (mpk_cursor_left(&c))
		MPK_TRY(fatbin_read_entry(&c, each, arg, err));
	return MPK_OK;
}

struct listing {
	struct mpk_fatbin_entry *entries; /* NULL: only count them */
	size_t count;
};

static enum mpk_code list_entry(const struct mpk_fatbin_entry *e, void *arg, struct mpk_error *err)
{
	struct listing *l = arg;

	(void)err;
	if (l->entries)
		l->entries[l->count] = *e;
	l->count++;
	return MPK_OK;
}

enum mpk_code mpk_fatbin_read(struct mpk_span bytes, struct mpk_arena *arena,
			      struct mpk_fatbin *out, struct mpk_error *err)
{
	struct listing list = { 0 };

	MPK_TRY(mpk_fatbin_head(bytes, list_entry, &list, err));
	MPK_TRY_ARRAY(list.entries, arena, list.count, err);
	list.count = 0;
	MPK_TRY(mpk_fatbin_head(bytes, list_entry, &list, err));
	*out = (struct mpk_fatbin){
		.entries = list.entries,
		.entry_count = list.count,
		.used = MPK_FATBIN_HEADER_BYTES + mpk_load_u64(bytes.data + 8),
	};
	return MPK_OK;
}

uint64_t mpk_fatbin_entry_bytes(const struct mpk_fatbin_entry *e)
{
	return e->piece_bytes ? (uint64_t)((double)e->data.len * (double)e->plain_bytes /
					   (double)e->piece_bytes)
			      : e->data.len;
}

/* --- content that is read once, piece by piece -----------------------------------------------
 *
 * Containers are found by their first eight bytes, their images by the lengths in headers
 * (FORMAT.md 1, 2). */

/* Magic, version 1 and a header of 16 bytes. Containers are aligned to 8 bytes. */
#define CONTAINER_BEGIN UINT64_C(0x00100001ba55ed50)

enum {
	ALIGN = 8,
	BLOCK = 64,
	TABLE_BYTES =
		64 << 10, /* longest header that is followed, with the headers of images compressed
		        * together */
};

/* Returns the offset of the next container from at on; len: none. Tests a block at a time, because
 * most have none. */
static size_t find_container(const uint8_t *p, size_t at, size_t len)
{
	for (; at + BLOCK <= len; at += BLOCK) {
		unsigned hits = 0;

		for (size_t i = 0; i < BLOCK; i += ALIGN)
			hits |= mpk_load_u64(p + at + i) == CONTAINER_BEGIN;
		if (hits)
			break;
	}
	for (; at + ALIGN <= len; at += ALIGN)
		if (mpk_load_u64(p + at) == CONTAINER_BEGIN)
			return at;
	return len;
}

/* Continues after a header and the len bytes after it. */
static void fatbin_skip(struct mpk_fatbin_scan *s, uint64_t head, uint64_t len)
{
	s->known = 0;
	if (__builtin_add_overflow(s->next, head, &s->next) ||
	    __builtin_add_overflow(s->next, len, &s->next))
		s->next = UINT64_MAX;
}

/* Handles the header at s->next, which has been read whole. */
static void fatbin_follow(struct mpk_fatbin_scan *s,
			  void (*found)(void *arg, uint64_t off, size_t len), void *arg)
{
	uint64_t len = mpk_load_u64(s->head + 8), head;
	bool is_table;

	if (s->next >= s->end) {
		found(arg, s->next, MPK_FATBIN_SCAN_BYTES);
		fatbin_skip(s, MPK_FATBIN_SCAN_BYTES, 0);
		if (__builtin_add_overflow(s->next, len, &s->end))
			s->end = 0;
		return;
	}
	head = mpk_load_u32(s->head + 4);
	is_table = mpk_load_u16(s->head) == KIND_TOGETHER && head >= ENTRY_BYTES &&
		   head <= TABLE_BYTES;
	found(arg, s->next, is_table ? head : ENTRY_BYTES);
	if (head < ENTRY_BYTES)
		s->end = 0; /* this is not a container */
	fatbin_skip(s, head < ENTRY_BYTES ? MPK_FATBIN_SCAN_BYTES : head,
		    head < ENTRY_BYTES ? 0 : len);
}

void mpk_fatbin_scan(struct mpk_fatbin_scan *s, uint64_t off, struct mpk_span piece,
		     void (*found)(void *arg, uint64_t off, size_t len), void *arg)
{
	while (s->next + s->known < off + piece.len) {
		size_t at = (size_t)(s->next + s->known - off), len;

		if (s->next >= s->end && !s->known) {
			at += (size_t)(-s->next % ALIGN);
			at = at < piece.len ? find_container(piece.data, at, piece.len) : at;
			s->next = off + at;
			if (at >= piece.len)
				return;
		}
		len = MPK_FATBIN_SCAN_BYTES - s->known < piece.len - at
			      ? (size_t)(MPK_FATBIN_SCAN_BYTES - s->known)
			      : piece.len - at;
		memcpy(s->head + s->known, piece.data + at, len);
		s->known += len;
		if (s->known == MPK_FATBIN_SCAN_BYTES)
			fatbin_follow(s, found, arg);
	}
}

const char *mpk_fatbin_kind_name(enum mpk_fatbin_kind kind)
{
	static const char *const names[] = {
		[MPK_FATBIN_PTX] = "PTX",     [MPK_FATBIN_ELF] = "cubin",
		[MPK_FATBIN_LTO] = "LTO IR",  [MPK_FATBIN_TILE] = "Tile IR",
		[MPK_FATBIN_OTHER] = "other",
	};

	return names[kind];
}

const char *mpk_fatbin_packing_name(enum mpk_fatbin_packing packing)
{
	static const char *const names[] = {
		[MPK_FATBIN_STORED] = "stored",
		[MPK_FATBIN_LZ4] = "LZ4",
		[MPK_FATBIN_ZSTD] = "zstd",
	};

	return names[packing];
}

const char *mpk_fatbin_suffix(const struct mpk_fatbin_entry *e)
{
	return e->arch_specific ? "a" : e->family_specific ? "f" : "";
}
