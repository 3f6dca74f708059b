/* SPDX-License-Identifier: Apache-2.0 */
/* tar.c - reads ustar, GNU and pax archives, and writes ustar
 *
 * TVM exports static libraries as tar files. Reading returns views of the bytes. A long name or a
 * pax record is kept until the member that it describes. */
#include "tar/tar.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/num.h"
#include "base/vec.h"
#include "text/escape.h"

enum { MPK_TAR_BLOCK = 512 };

/* A header block. Numbers are octal text; GNU writes large ones as base 256. */
struct mpk_tar_header {
	char name[100];
	char mode[8];
	char uid[8];
	char gid[8];
	char size[12];
	char mtime[12];
	char checksum[8];
	char type;
	char link[100];
	char magic[8]; /* "ustar\0" "00"; GNU: "ustar  \0"; v7: zeros */
	char uname[32];
	char gname[32];
	char dev_major[8];
	char dev_minor[8];
	char prefix[155]; /* ustar only */
	char pad[12];
};

_Static_assert(sizeof(struct mpk_tar_header) == MPK_TAR_BLOCK, "a tar header is one block");

/* Returns the sum of the header's bytes, with the checksum field counted as spaces. */
static inline unsigned mpk_tar_sum(const struct mpk_tar_header *h)
{
	const unsigned char *p = (const unsigned char *)h;
	unsigned sum = 0;

	for (size_t i = 0; i < sizeof *h; i++) {
		size_t at = i - offsetof(struct mpk_tar_header, checksum);

		sum += at < sizeof h->checksum ? ' ' : p[i];
	}
	return sum;
}

/* Values from extension members for the next real member (FORMAT.md 2, 3). */
struct pending {
	struct mpk_span path; /* data NULL: not given */
	uint64_t size;
	bool has_size;
};

/* State of a read. */
struct reader {
	struct mpk_span bytes;
	struct mpk_arena *arena;
	uint64_t pos;
	struct pending next;
	struct mpk_tar_member *members; /* malloc'ed */
	size_t count, cap;
};

static void tar_reader_fini(struct reader *r)
{
	free(r->members);
}

static enum mpk_code tar_fail_at(struct mpk_error *err, uint64_t off, const char *what)
{
	return mpk_fail_offset(err, MPK_E_CORRUPT, "file", off, "tar archive: %s", what);
}

/* Returns the text of a field: up to its first NUL or its end. */
static struct mpk_span field_text(const char *field, size_t size)
{
	return mpk_span_of(field, strnlen(field, size));
}

/* Reads an octal number with spaces around it, or GNU's base 256: top bit set, big-endian, not
 * negative. */
static bool field_number(const char *field, size_t size, uint64_t *out)
{
	const uint8_t *p = (const uint8_t *)field;
	uint64_t v = 0;
	size_t i = 0;

	if (p[0] == 0x80) {
		for (i = 1; i < size; i++) {
			if (v >> 56)
				return false;
			v = v << 8 | p[i];
		}
		*out = v;
		return true;
	}
	while (i < size && p[i] == ' ')
		i++;
	for (; i < size && p[i] >= '0' && p[i] <= '7'; i++)
		v = v << 3 | (uint64_t)(p[i] - '0'); /* 12 digits: 36 bits */
	for (; i < size; i++)
		if (p[i] != ' ' && p[i] != '\0')
			return false;
	*out = v;
	return true;
}

/* Old programs summed signed bytes, which is the same for a header of ASCII. */
static bool checksum_fits(const struct mpk_tar_header *h)
{
	const signed char *p = (const signed char *)h;
	uint64_t stored, high = 0;
	unsigned sum = mpk_tar_sum(h);

	if (!field_number(h->checksum, sizeof h->checksum, &stored))
		return false;
	for (size_t i = 0; i < sizeof *h; i++)
		high += p[i] < 0;
	return stored == sum || stored == (uint64_t)sum - 256 * high;
}

static bool is_zero(struct mpk_span block)
{
	for (size_t i = 0; i < block.len; i++)
		if (block.data[i])
			return false;
	return true;
}

bool mpk_tar_is(struct mpk_span bytes)
{
	struct mpk_tar_header h;

	if (bytes.len < sizeof h)
		return false;
	memcpy(&h, bytes.data, sizeof h);
	return h.name[0] && checksum_fits(&h);
}

/* Reads a pax record: "LENGTH KEY=VALUE\n"; LENGTH counts the whole record. */
static bool pax_record(struct mpk_span *rest, struct mpk_span *key, struct mpk_span *value)
{
	const uint8_t *space = rest->len ? memchr(rest->data, ' ', rest->len) : NULL;
	struct mpk_span body;
	const uint8_t *equals;
	uint64_t len;
	size_t head;

	if (!space)
		return false;
	head = (size_t)(space - rest->data) + 1;
	if (!mpk_parse_u64(mpk_span_of(rest->data, head - 1), &len) || len < head + 2 ||
	    !mpk_span_sub(*rest, head, len - head, &body) || body.data[body.len - 1] != '\n')
		return false;
	body.len--;
	equals = memchr(body.data, '=', body.len);
	if (!equals)
		return false;
	*key = mpk_span_of(body.data, (size_t)(equals - body.data));
	*value = mpk_span_of(equals + 1, body.len - key->len - 1);
	*rest = mpk_span_of(rest->data + len, rest->len - (size_t)len);
	return true;
}

static enum mpk_code read_pax(struct pending *next, struct mpk_span data, uint64_t off,
			      struct mpk_error *err)
{
	struct mpk_span rest = data, key, value;

	while (rest.len) {
		if (!pax_record(&rest, &key, &value))
			return tar_fail_at(err, off + (data.len - rest.len), "a broken pax record");
		if (mpk_span_is(key, "path")) {
			next->path = value;
		} else if (mpk_span_is(key, "size")) {
			if (!mpk_parse_u64(value, &next->size))
				return tar_fail_at(err, off,
						   "the size in a pax record is no number");
			next->has_size = true;
		} else if (mpk_span_starts(key, "GNU.sparse.")) {
			return mpk_fail_offset(
				err, MPK_E_UNSUPPORTED, "file", off,
				"tar archive: sparse members are not read; write it without --sparse");
		}
	}
	return MPK_OK;
}

static enum mpk_code member_name(struct reader *r, const struct mpk_tar_header *h, uint64_t off,
				 const char **out, struct mpk_error *err)
{
	struct mpk_span name = field_text(h->name, sizeof h->name);
	struct mpk_span prefix = field_text(h->prefix, sizeof h->prefix);
	bool ustar = memcmp(h->magic, "ustar", 6) == 0;

	if (r->next.path.data)
		name = r->next.path;
	if (!name.len || memchr(name.data, 0, name.len))
		return tar_fail_at(err, off, "a member's name is empty or holds NUL");
	if (ustar && prefix.len && !r->next.path.data)
		*out = mpk_arena_printf(r->arena, MPK_SPAN_FMT "/" MPK_SPAN_FMT,
					MPK_SPAN_ARG(prefix), MPK_SPAN_ARG(name));
	else
		*out = mpk_arena_text(r->arena, name);
	return *out ? MPK_OK : mpk_fail_nomem(err);
}

static enum mpk_tar_type tar_type_of(char type, const char *name)
{
	switch (type) {
	case '0':
	case '\0':
	case '7': /* contiguous file */
		/* v7 has no type for directories */
		return name[strlen(name) - 1] == '/' ? MPK_TAR_DIRECTORY : MPK_TAR_FILE;
	case '1':
	case '2':
		return MPK_TAR_LINK;
	case '5':
		return MPK_TAR_DIRECTORY;
	default:
		return MPK_TAR_SPECIAL;
	}
}

static enum mpk_code add_member(struct reader *r, const struct mpk_tar_header *h, uint64_t off,
				struct mpk_span data, struct mpk_error *err)
{
	struct mpk_tar_member m = { .header_off = off, .data_off = off + MPK_TAR_BLOCK };

	if (h->type == 'S' || h->type == 'M')
		return mpk_fail_offset(err, MPK_E_UNSUPPORTED, "file", off,
				       "tar archive: %s members are not read",
				       h->type == 'S' ? "sparse" : "multi-volume");
	MPK_TRY(member_name(r, h, off, &m.name, err));
	m.type = tar_type_of(h->type, m.name);
	if (m.type == MPK_TAR_FILE)
		m.data = data;
	MPK_TRY_ALLOC(mpk_vec_reserve(&r->members, &r->cap, r->count + 1, sizeof m), err);
	r->members[r->count++] = m;
	r->next = (struct pending){ 0 };
	return MPK_OK;
}

/* Finds the bytes after a header. Links, directories and devices have none, whatever their size
 * field says (a hard link may repeat the size of its target). */
static enum mpk_code take_data(struct reader *r, const struct mpk_tar_header *h,
			       struct mpk_span *out, struct mpk_error *err)
{
	bool extension = strchr("xgLK", h->type) && h->type;
	uint64_t size, padded;

	if (!field_number(h->size, sizeof h->size, &size))
		return tar_fail_at(err, r->pos + offsetof(struct mpk_tar_header, size),
				   "a member's size is no number");
	if (r->next.has_size && !extension)
		size = r->next.size;
	if (h->type >= '1' && h->type <= '6')
		size = 0;
	if (!mpk_span_sub(r->bytes, r->pos + MPK_TAR_BLOCK, size, out))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", r->pos,
				       "tar archive: member of %" PRIu64 " bytes, %" PRIu64
				       " left in the file; it was cut off",
				       size, r->bytes.len - r->pos - MPK_TAR_BLOCK);
	if (!mpk_align_up(size, MPK_TAR_BLOCK, &padded) ||
	    padded > r->bytes.len - r->pos - MPK_TAR_BLOCK)
		return tar_fail_at(err, r->bytes.len, "the archive was cut off after a member");
	r->pos += MPK_TAR_BLOCK + padded;
	return MPK_OK;
}

/* Reads a header and its data; *done at the end marker. */
static enum mpk_code next_block(struct reader *r, bool *done, struct mpk_error *err)
{
	uint64_t off = r->pos;
	struct mpk_tar_header h;
	struct mpk_span block, data;

	if (!mpk_span_sub(r->bytes, off, MPK_TAR_BLOCK, &block))
		return tar_fail_at(err, off, "no end marker (two blocks of zeros); it was cut off");
	if (is_zero(block)) {
		*done = true;
		return MPK_OK;
	}
	memcpy(&h, block.data, sizeof h);
	if (!checksum_fits(&h))
		return tar_fail_at(err, off, "a header's checksum does not fit");
	MPK_TRY(take_data(r, &h, &data, err));
	switch (h.type) {
	case 'x':
		return read_pax(&r->next, data, off + MPK_TAR_BLOCK, err);
	case 'L': /* GNU: the name, ended by NUL */
		r->next.path = mpk_span_of(data.data, strnlen((const char *)data.data, data.len));
		return MPK_OK;
	case 'g': /* defaults for all members: nothing that readers of objects need */
	case 'K': /* GNU: the target of a link */
	case 'V': /* GNU: a label */
		return MPK_OK;
	default:
		return add_member(r, &h, off, data, err);
	}
}

enum mpk_code mpk_tar_read(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_tar *out,
			   struct mpk_error *err)
{
	MPK_CLEANUP(tar_reader_fini) struct reader r = { .bytes = bytes, .arena = arena };
	struct mpk_tar_member *members;
	bool done = false;

	if (!mpk_tar_is(bytes))
		return tar_fail_at(err, 0, "it does not begin with a tar header");
	while (!done)
		MPK_TRY(next_block(&r, &done, err));
	if (r.next.path.data || r.next.has_size)
		return tar_fail_at(err, r.pos, "an extension header without its member");
	MPK_TRY_ARRAY(members, arena, r.count, err);
	if (r.count)
		memcpy(members, r.members, r.count * sizeof *members);
	*out = (struct mpk_tar){ .members = members, .member_count = r.count };
	return MPK_OK;
}

static const uint64_t octal_limit = UINT64_C(1) << 33; /* eleven octal digits */
static const uint8_t zeros[2 * MPK_TAR_BLOCK];

static void put_padding(struct mpk_rope *rope, uint64_t len)
{
	size_t over = (size_t)(len % MPK_TAR_BLOCK);

	if (over)
		mpk_rope_put_bytes(rope, mpk_span_of(zeros, MPK_TAR_BLOCK - over));
}

static void tar_put_header(struct mpk_rope *rope, struct mpk_span name, char type, uint64_t size,
			   uint64_t mtime)
{
	struct mpk_tar_header h = {
		.mode = "0000644",
		.uid = "0000000",
		.gid = "0000000",
		.type = type,
		.magic = { 'u', 's', 't', 'a', 'r', '\0', '0', '0' },
	};

	/* GNU tar and Python leave these fields empty in extension headers */
	if (type == '0') {
		memcpy(h.dev_major, "0000000", sizeof h.dev_major);
		memcpy(h.dev_minor, "0000000", sizeof h.dev_minor);
	}
	memcpy(h.name, name.data, name.len < sizeof h.name ? name.len : sizeof h.name);
	snprintf(h.size, sizeof h.size, "%011" PRIo64, size < octal_limit ? size : 0);
	snprintf(h.mtime, sizeof h.mtime, "%011" PRIo64, mtime);
	snprintf(h.checksum, sizeof h.checksum, "%06o", mpk_tar_sum(&h));
	h.checksum[7] = ' ';
	mpk_rope_put_bytes(rope, mpk_span_of(&h, sizeof h));
}

/* The length of a record includes its own digits: "27 path=...\n". */
static size_t record_bytes(const char *key, size_t value_len)
{
	size_t body = strlen(key) + value_len + 3; /* ' ', '=', '\n' */
	size_t digits = 1;

	for (size_t reach = 10; body + digits >= reach; reach *= 10)
		digits++;
	return body + digits;
}

static void put_record(struct mpk_rope *rope, const char *key, struct mpk_span value)
{
	char head[64];
	int n = snprintf(head, sizeof head, "%zu %s=", record_bytes(key, value.len), key);

	mpk_rope_put_bytes(rope, mpk_span_of(head, (size_t)n));
	mpk_rope_put_bytes(rope, value);
	mpk_rope_put_u8(rope, '\n');
}

static enum mpk_code put_member(struct mpk_rope *rope, const struct mpk_tar_entry *e,
				uint64_t mtime, struct mpk_error *err)
{
	bool long_name = e->name.len > sizeof((struct mpk_tar_header *)0)->name;
	bool large = e->content->len >= octal_limit;

	if (!e->name.len || memchr(e->name.data, 0, e->name.len))
		return mpk_fail(err, MPK_E_RANGE,
				"'%s' cannot be the name of a tar member: it is empty or holds NUL",
				MPK_QUOTE(e->name));
	if (long_name || large) {
		char digits[24];
		int n = snprintf(digits, sizeof digits, "%" PRIu64, e->content->len);
		struct mpk_span size = mpk_span_of(digits, (size_t)n);
		uint64_t len = 0;

		if (long_name)
			len += record_bytes("path", e->name.len);
		if (large)
			len += record_bytes("size", size.len);
		tar_put_header(rope, mpk_span_str("././@PaxHeader"), 'x', len, mtime);
		if (long_name)
			put_record(rope, "path", e->name);
		if (large)
			put_record(rope, "size", size);
		put_padding(rope, len);
	}
	tar_put_header(rope, e->name, '0', e->content->len, mtime);
	mpk_rope_put_rope(rope, e->content);
	put_padding(rope, e->content->len);
	return MPK_OK;
}

enum mpk_code mpk_tar_write(const struct mpk_tar_entry *entries, size_t count, uint64_t mtime,
			    struct mpk_rope *rope, struct mpk_error *err)
{
	if (mtime >= octal_limit)
		return mpk_fail(err, MPK_E_RANGE, "time %" PRIu64 " does not fit in a tar header",
				mtime);
	for (size_t i = 0; i < count; i++)
		MPK_TRY(put_member(rope, &entries[i], mtime, err));
	mpk_rope_put_bytes(rope, mpk_span_of(zeros, sizeof zeros));
	return mpk_rope_status(rope, err);
}
