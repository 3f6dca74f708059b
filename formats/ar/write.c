/* SPDX-License-Identifier: Apache-2.0 */
/* write.c - ar archives as GNU ar writes them, with the index that linkers need
 *
 * Deterministic like `ar D`: without times, owners or modes. The layout is computed before the
 * first byte is written, because the index comes first and has the offsets of the members. Contents
 * are ropes and are not copied. The index has 32-bit offsets unless the archive is too large. */
#include "ar/ar.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/num.h"
#include "text/escape.h"

/* Sizes of the parts before the members, in bytes without their headers. */
struct plan {
	const struct mpk_ar_entry *entries;
	size_t count;
	size_t symbol_count;
	uint64_t string_bytes; /* symbol names with their NULs */
	uint64_t name_bytes;   /* bytes of the table of long names */
	size_t width;          /* bytes of an integer in the index: 4, 8 or 0 (no index) */
};

static const uint64_t member_limit = UINT64_C(10000000000); /* the size has ten digits */

/* Members begin at even offsets. */
static uint64_t even(uint64_t n)
{
	return n + n % 2;
}

/* GNU ar ends a short name with '/', so it has space for one byte less. "#1/" begins a long name in
 * BSD's form. */
static bool is_long(struct mpk_span name)
{
	return name.len >= MPK_AR_NAME_BYTES || mpk_span_is(name, "#1");
}

static enum mpk_code ar_check_entry(const struct mpk_ar_entry *e, struct mpk_error *err)
{
	if (!e->name.len || memchr(e->name.data, '/', e->name.len) ||
	    memchr(e->name.data, '\n', e->name.len) || memchr(e->name.data, 0, e->name.len))
		return mpk_fail(
			err, MPK_E_RANGE,
			"'%s' cannot be the name of an archive member: it is empty or holds '/', a newline or NUL",
			MPK_QUOTE(e->name));
	if (e->content->len >= member_limit)
		return mpk_fail(err, MPK_E_RANGE,
				"archive member '%s' has %" PRIu64
				" bytes; ar members end at 10^10 - 1",
				MPK_QUOTE(e->name), e->content->len);
	for (size_t i = 0; i < e->symbol_count; i++)
		if (!e->symbols[i].len || memchr(e->symbols[i].data, 0, e->symbols[i].len))
			return mpk_fail(err, MPK_E_RANGE,
					"archive member '%s': a symbol name is empty or holds NUL",
					MPK_QUOTE(e->name));
	return MPK_OK;
}

/* A count, an offset for each symbol, and the names; padded to an even size. */
static uint64_t index_bytes(const struct plan *p)
{
	return even(p->width * (p->symbol_count + UINT64_C(1)) + p->string_bytes);
}

/* The offset of the first member's header. */
static uint64_t members_off(const struct plan *p)
{
	uint64_t off = MPK_AR_MAGIC_BYTES;

	if (p->width)
		off += MPK_AR_HEADER_BYTES + index_bytes(p);
	if (p->name_bytes)
		off += MPK_AR_HEADER_BYTES + even(p->name_bytes);
	return off;
}

/* Sizes come first, because the width of the index depends on the size of the archive. */
static enum mpk_code make_plan(struct plan *p, struct mpk_error *err)
{
	uint64_t end, header_bytes = 0;

	for (size_t i = 0; i < p->count; i++) {
		const struct mpk_ar_entry *e = &p->entries[i];

		MPK_TRY(ar_check_entry(e, err));
		p->symbol_count += e->symbol_count;
		for (size_t j = 0; j < e->symbol_count; j++)
			p->string_bytes += e->symbols[j].len + 1;
		if (is_long(e->name))
			p->name_bytes += e->name.len + 2;
		/* cannot wrap: each is below 10^10 */
		header_bytes += MPK_AR_HEADER_BYTES + even(e->content->len);
	}
	if (!p->symbol_count)
		return MPK_OK;
	p->width = 4;
	end = members_off(p) + header_bytes;
	if (end > UINT32_MAX)
		p->width = 8;
	if (index_bytes(p) >= member_limit)
		return mpk_fail(err, MPK_E_RANGE,
				"too many symbols for the index of an ar archive");
	return MPK_OK;
}

static void ar_put_header(struct mpk_rope *rope, const char *name, const char *meta, uint64_t size)
{
	char head[2 * MPK_AR_HEADER_BYTES];

	/* name, then time, owner, group and mode as one field of 32; make_plan has checked that size has at
	 * most ten digits */
	snprintf(head, sizeof head, "%-16.16s%-32s%-10" PRIu64 "`\n", name, meta, size);
	mpk_rope_put_bytes(rope, mpk_span_of(head, MPK_AR_HEADER_BYTES));
}

/* Numbers of the index are big-endian on every machine. */
static void put_big(struct mpk_rope *rope, uint64_t v, size_t width)
{
	uint8_t b[8];

	for (size_t i = 0; i < width; i++)
		b[i] = (uint8_t)(v >> 8 * (width - 1 - i));
	mpk_rope_put_bytes(rope, mpk_span_of(b, width));
}

/* Contents are only referred to: the rope is written piece by piece. */
enum mpk_code mpk_ar_write(const struct mpk_ar_entry *entries, size_t count, struct mpk_rope *rope,
			   struct mpk_error *err)
{
	struct plan p = { .entries = entries, .count = count };

	MPK_TRY(make_plan(&p, err));
	mpk_rope_put_bytes(rope, mpk_span_str(MPK_AR_MAGIC));
	if (p.width) {
		/* Every symbol has the offset of its member's header; the names follow in the same order. */
		uint64_t off = members_off(&p);

		ar_put_header(rope, p.width == 8 ? "/SYM64/" : "/", "0           0     0     0",
			      index_bytes(&p));
		put_big(rope, p.symbol_count, p.width);
		for (size_t i = 0; i < p.count; i++) {
			for (size_t j = 0; j < p.entries[i].symbol_count; j++)
				put_big(rope, off, p.width);
			off += MPK_AR_HEADER_BYTES + even(p.entries[i].content->len);
		}
		for (size_t i = 0; i < p.count; i++)
			for (size_t j = 0; j < p.entries[i].symbol_count; j++) {
				mpk_rope_put_bytes(rope, p.entries[i].symbols[j]);
				mpk_rope_put_u8(rope, 0);
			}
		if (p.string_bytes % 2)
			mpk_rope_put_u8(rope, 0);
	}
	if (p.name_bytes) {
		/* The table of long names: each ends with "/\n". */
		ar_put_header(rope, "//", "", even(p.name_bytes));
		for (size_t i = 0; i < p.count; i++)
			if (is_long(p.entries[i].name)) {
				mpk_rope_put_bytes(rope, p.entries[i].name);
				mpk_rope_put_bytes(rope, mpk_span_str("/\n"));
			}
		if (p.name_bytes % 2)
			mpk_rope_put_u8(rope, '\n');
	}

	/* The name of a member with a long name is its offset in the table. */
	uint64_t name_off = 0;

	for (size_t i = 0; i < p.count; i++) {
		const struct mpk_ar_entry *e = &p.entries[i];
		char name[MPK_AR_NAME_BYTES + 8];

		if (is_long(e->name)) {
			snprintf(name, sizeof name, "/%" PRIu64, name_off);
			name_off += e->name.len + 2;
		} else {
			snprintf(name, sizeof name, "%.*s/", (int)e->name.len,
				 (const char *)e->name.data);
		}
		ar_put_header(rope, name, "0           0     0     644", e->content->len);
		mpk_rope_put_rope(rope, e->content);
		if (e->content->len % 2)
			mpk_rope_put_u8(rope, '\n');
	}

	return mpk_rope_status(rope, err);
}
