/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - ar archives of GNU, BSD and Microsoft tools: members, long names, symbol index
 *
 * A first walk over the headers finds the tables, a second one makes the list of members, because
 * the table of long names may come after members that need it. The format does not exclude
 * overlaps: each size is compared with the file, and the length of a name with a limit. Thin
 * archives contain only names of files and are refused. */
#include "ar/ar.h"

#include <inttypes.h>

#include "base/num.h"
#include "base/vec.h"
#include "text/escape.h"

/* The meaning of a member's raw name (FORMAT.md 2). */
enum role {
	ROLE_MEMBER,
	ROLE_INDEX32, /* "/": big-endian u32 */
	ROLE_INDEX64, /* "/SYM64/": big-endian u64 */
	ROLE_BSD32,   /* "__.SYMDEF": u32 in the target's byte order */
	ROLE_BSD64,   /* "__.SYMDEF_64" */
	ROLE_NAMES,   /* "//": long names */
	ROLE_OTHER,   /* "/<...>/" and a second "/", of Microsoft; skipped */
};

struct item {
	enum role role;
	uint64_t header_off;
	uint64_t data_off;
	struct mpk_span raw_name; /* the 16 bytes without trailing spaces, or BSD's name */
	bool spelled_out;         /* raw_name is the name itself; a '/' in it has no meaning */
	struct mpk_span data;
};

/* Long names and names of a BSD index may overlap: without a limit, reading n of them
 * would take n * n steps. */
enum { NAME_LIMIT = 65536 };

/* The parts of the archive, found by the first walk. */
struct layout {
	struct mpk_span bytes;
	struct mpk_span names;
	struct item index; /* role ROLE_MEMBER: none */
	size_t member_count;
};

/* Offsets count from the first byte of the archive. */
static enum mpk_code ar_fail_at(struct mpk_error *err, uint64_t off, const char *what)
{
	return mpk_fail_offset(err, MPK_E_CORRUPT, "file", off, "ar archive: %s", what);
}

/* Fields are padded with blanks, BSD's long names with NULs. */
static struct mpk_span trim_end(struct mpk_span s, char byte)
{
	while (s.len && s.data[s.len - 1] == (uint8_t)byte)
		s.len--;
	return s;
}

/* Also accepts thin archives, so that they are refused with a reason. */
bool mpk_ar_is(struct mpk_span bytes)
{
	return mpk_span_starts(bytes, MPK_AR_MAGIC) || mpk_span_starts(bytes, MPK_AR_THIN_MAGIC);
}

/* In BSD's form the name is before the data, and its length is in the header. */
static enum mpk_code take_bsd_name(struct item *m, struct mpk_error *err)
{
	struct mpk_span digits = { m->raw_name.data + 3, m->raw_name.len - 3 };
	struct mpk_span name;
	uint64_t len;

	if (!mpk_parse_u64(digits, &len) || !mpk_span_sub(m->data, 0, len, &name))
		return ar_fail_at(err, m->header_off,
				  "the member's name is longer than the member");
	m->data_off += len;
	m->data = mpk_span_of(m->data.data + len, m->data.len - (size_t)len);
	m->raw_name = trim_end(name, '\0');
	m->spelled_out = true;
	return MPK_OK;
}

/* A long name in BSD's form is the name itself: a '/' in it has no meaning. */
static enum role role_of(const struct item *m)
{
	struct mpk_span raw = m->raw_name;

	if (mpk_span_is(raw, "__.SYMDEF") || mpk_span_is(raw, "__.SYMDEF SORTED"))
		return ROLE_BSD32;
	if (mpk_span_is(raw, "__.SYMDEF_64") || mpk_span_is(raw, "__.SYMDEF_64 SORTED"))
		return ROLE_BSD64;
	if (m->spelled_out)
		return ROLE_MEMBER;
	if (mpk_span_is(raw, "/"))
		return ROLE_INDEX32;
	if (mpk_span_is(raw, "/SYM64/"))
		return ROLE_INDEX64;
	if (mpk_span_is(raw, "//"))
		return ROLE_NAMES;
	return mpk_span_starts(raw, "/<") ? ROLE_OTHER : ROLE_MEMBER;
}

/* Reads the member at *pos; *pos moves past it and its padding. */
static enum mpk_code next_item(struct mpk_span bytes, uint64_t *pos, struct item *out,
			       struct mpk_error *err)
{
	struct item m = { .header_off = *pos, .data_off = *pos + MPK_AR_HEADER_BYTES };
	struct mpk_span head, digits;
	uint64_t len;

	if (!mpk_span_sub(bytes, *pos, MPK_AR_HEADER_BYTES, &head))
		return ar_fail_at(err, *pos, "cut off inside a member's header");
	if (memcmp(head.data + MPK_AR_END_OFF, "`\n", 2) != 0)
		return ar_fail_at(err, *pos, "no member header here");
	digits = trim_end(mpk_span_of(head.data + MPK_AR_SIZE_OFF, MPK_AR_SIZE_BYTES), ' ');
	if (!mpk_parse_u64(digits, &len))
		return ar_fail_at(err, *pos + MPK_AR_SIZE_OFF, "the member's size is no number");
	if (!mpk_span_sub(bytes, m.data_off, len, &m.data))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", *pos,
				       "ar archive: member of %" PRIu64 " bytes, %" PRIu64
				       " left in the file",
				       len, bytes.len - m.data_off);
	m.raw_name = trim_end(mpk_span_of(head.data, MPK_AR_NAME_BYTES), ' ');
	*pos = m.data_off + len;
	/* The last padding byte may be missing. */
	if (*pos % 2 && *pos < bytes.len)
		++*pos;
	if (mpk_span_starts(m.raw_name, "#1/"))
		MPK_TRY(take_bsd_name(&m, err));
	m.role = role_of(&m);
	*out = m;
	return MPK_OK;
}

/* "/123" is the text at byte 123 of the name table, up to "/\n", "\n" or NUL. */
static enum mpk_code long_name(const struct item *m, struct mpk_span table, struct mpk_span *out,
			       struct mpk_error *err)
{
	struct mpk_span digits = { m->raw_name.data + 1, m->raw_name.len - 1 };
	uint64_t off;
	size_t end;

	if (!mpk_parse_u64(digits, &off) || off >= table.len)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", m->header_off,
				       "ar archive: name '%s' is not in the table of long names",
				       MPK_QUOTE(m->raw_name));
	end = (size_t)off;
	while (end < table.len && table.data[end] != '\n' && table.data[end] != '\0') {
		if (end - off >= NAME_LIMIT)
			return ar_fail_at(err, m->header_off, "a name of 64 KiB or more");
		end++;
	}
	*out = mpk_span_of(table.data + off, end - (size_t)off);
	if (out->len && out->data[out->len - 1] == '/')
		out->len--;
	return MPK_OK;
}

/* GNU ends short names with '/', so that blanks may be part of them. */
static enum mpk_code member_of(const struct item *m, struct mpk_span table,
			       struct mpk_ar_member *out, struct mpk_error *err)
{
	struct mpk_span name = m->raw_name;

	if (!m->spelled_out && name.len > 1 && name.data[0] == '/')
		MPK_TRY(long_name(m, table, &name, err));
	else if (!m->spelled_out && name.len && name.data[name.len - 1] == '/')
		name.len--;
	if (!name.len)
		return ar_fail_at(err, m->header_off, "a member without a name");
	*out = (struct mpk_ar_member){
		.name = name,
		.data = m->data,
		.data_off = m->data_off,
		.header_off = m->header_off,
	};
	return MPK_OK;
}

/* The second walk: headers are known to be valid; names may still be wrong. */
static enum mpk_code read_members(const struct layout *l, struct mpk_ar_member *members,
				  struct mpk_error *err)
{
	size_t n = 0;

	for (uint64_t pos = MPK_AR_MAGIC_BYTES; pos < l->bytes.len;) {
		struct item m;

		MPK_TRY(next_item(l->bytes, &pos, &m, err));
		if (m.role == ROLE_MEMBER)
			MPK_TRY(member_of(&m, l->names, &members[n++], err));
	}
	return MPK_OK;
}

/* Reads an integer of the index; width is 4 or 8, and the caller has checked the bounds. */
static uint64_t ar_load(const uint8_t *p, size_t width, bool big)
{
	uint64_t v = 0;

	for (size_t i = 0; i < width; i++)
		v = v << 8 | p[big ? i : width - 1 - i];
	return v;
}

/* Members are sorted by their headers. */
static bool member_at(const struct mpk_ar *ar, uint64_t header_off, size_t *out)
{
	*out = mpk_first_from(ar->members, ar->member_count, sizeof *ar->members,
			      offsetof(struct mpk_ar_member, header_off), header_off);
	return *out < ar->member_count && ar->members[*out].header_off == header_off;
}

/* FORMAT.md 4: bytes of all pairs, pairs (name offset, header offset), bytes of all names, names */
static bool bsd_parts(struct mpk_span data, size_t width, bool big, struct mpk_span *pairs,
		      struct mpk_span *strings)
{
	uint64_t n;

	if (data.len < 2 * width)
		return false;
	n = ar_load(data.data, width, big);
	if (n > data.len - 2 * width || n % (2 * width))
		return false;
	*pairs = mpk_span_of(data.data + width, (size_t)n);
	n = ar_load(pairs->data + pairs->len, width, big);
	return mpk_span_sub(data, 2 * width + pairs->len, n, strings);
}

/* Pairs of a name's offset and a header's offset, in either byte order. */
static enum mpk_code read_bsd_index(const struct item *index, struct mpk_arena *arena,
				    struct mpk_ar *ar, struct mpk_error *err)
{
	size_t width = index->role == ROLE_BSD64 ? 8 : 4, count;
	struct mpk_ar_symbol *symbols;
	struct mpk_span pairs, strings;
	bool big = false;

	/* The byte order is that of the target, which is not stored: both are tried. */
	if (!bsd_parts(index->data, width, false, &pairs, &strings)) {
		big = true;
		if (!bsd_parts(index->data, width, true, &pairs, &strings))
			return ar_fail_at(err, index->data_off, "the symbol index does not add up");
	}
	count = pairs.len / (2 * width);
	MPK_TRY_ARRAY(symbols, arena, count, err);
	for (size_t i = 0; i < count; i++) {
		const uint8_t *pair = pairs.data + 2 * width * i;

		if (!mpk_span_text(strings, ar_load(pair, width, big), NAME_LIMIT,
				   &symbols[i].name))
			return ar_fail_at(err, index->data_off,
					  "a name of the symbol index has no end");
		if (!member_at(ar, ar_load(pair + width, width, big), &symbols[i].member))
			return ar_fail_at(err, index->data_off + width + 2 * width * i,
					  "the symbol index points to no member; run ranlib on it");
	}
	ar->symbols = symbols;
	ar->symbol_count = count;
	return MPK_OK;
}

enum mpk_code mpk_ar_read(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_ar *out,
			  struct mpk_error *err)
{
	struct layout l = { .bytes = bytes };
	struct mpk_ar_member *members;
	struct mpk_ar ar = { 0 };

	if (mpk_span_starts(bytes, MPK_AR_THIN_MAGIC))
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"a thin ar archive holds no members, only the names of files; make a whole one with `ar rcs`");
	if (!mpk_ar_is(bytes))
		return ar_fail_at(err, 0, "it does not begin with \"!<arch>\"");
	/* Only counts and remembers: nothing is allocated before the whole file is known to be valid. */
	for (uint64_t pos = MPK_AR_MAGIC_BYTES; pos < l.bytes.len;) {
		struct item m;

		MPK_TRY(next_item(l.bytes, &pos, &m, err));
		if (m.role == ROLE_MEMBER)
			l.member_count++;
		else if (m.role == ROLE_NAMES)
			l.names = m.data;
		else if (m.role != ROLE_OTHER && l.index.role == ROLE_MEMBER)
			l.index = m; /* a second "/" is Microsoft's and repeats the first */
	}
	MPK_TRY_ARRAY(members, arena, l.member_count, err);
	MPK_TRY(read_members(&l, members, err));
	ar.members = members;
	ar.member_count = l.member_count;
	ar.has_index = l.index.role != ROLE_MEMBER;
	if (l.index.role == ROLE_INDEX32 || l.index.role == ROLE_INDEX64) {
		/* FORMAT.md 3: count, that many header offsets, that many NUL-terminated names */
		const struct item *index = &l.index;
		size_t width = index->role == ROLE_INDEX64 ? 8 : 4, count, name_off = 0;
		struct mpk_ar_symbol *symbols;
		struct mpk_span strings;
		uint64_t n;

		if (index->data.len < width)
			return ar_fail_at(err, index->data_off, "the symbol index is cut off");
		n = ar_load(index->data.data, width, true);
		if (n > (index->data.len - width) / (width + 1))
			return ar_fail_at(err, index->data_off,
					  "more symbols than the index has room for");
		count = (size_t)n;
		MPK_TRY_ARRAY(symbols, arena, count, err);
		strings = mpk_span_of(index->data.data + width * (count + 1),
				      index->data.len - width * (count + 1));
		for (size_t i = 0; i < count; i++) {
			uint64_t at = ar_load(index->data.data + width * (i + 1), width, true);

			if (!mpk_span_text(strings, name_off, NAME_LIMIT, &symbols[i].name))
				return ar_fail_at(err, index->data_off,
						  "a name of the symbol index has no end");
			if (!member_at(&ar, at, &symbols[i].member))
				return ar_fail_at(
					err, index->data_off + width * (i + 1),
					"the symbol index points to no member; run ranlib on it");
			name_off += symbols[i].name.len + 1;
		}
		ar.symbols = symbols;
		ar.symbol_count = count;
	} else if (ar.has_index)
		MPK_TRY(read_bsd_index(&l.index, arena, &ar, err));
	*out = ar;
	return MPK_OK;
}
