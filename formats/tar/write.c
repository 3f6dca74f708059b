/* SPDX-License-Identifier: Apache-2.0 */
#include "tar/tar.h"

#include <inttypes.h>
#include <stdio.h>

#include "tar/internal/layout.h"
#include "text/escape.h"

static const uint64_t octal_limit = UINT64_C(1) << 33; /* eleven octal digits */
static const uint8_t zeros[2 * MPK_TAR_BLOCK];

static void put_padding(struct mpk_rope *rope, uint64_t len)
{
	size_t over = (size_t)(len % MPK_TAR_BLOCK);

	if (over)
		mpk_rope_put_bytes(rope, mpk_span_of(zeros, MPK_TAR_BLOCK - over));
}

static void put_header(struct mpk_rope *rope, struct mpk_span name, char type, uint64_t size,
		       uint64_t mtime)
{
	struct mpk_tar_header h = {
		.mode = "0000644",
		.uid = "0000000",
		.gid = "0000000",
		.type = type,
		.magic = { 'u', 's', 't', 'a', 'r', '\0', '0', '0' },
	};

	/* GNU tar and Python leave them empty in extension headers */
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

/* A record counts its own length, digits included: "27 path=...\n". */
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

static void put_pax(struct mpk_rope *rope, const struct mpk_tar_entry *e, bool long_name,
		    bool large, uint64_t mtime)
{
	char digits[24];
	int n = snprintf(digits, sizeof digits, "%" PRIu64, e->content->len);
	struct mpk_span size = mpk_span_of(digits, (size_t)n);
	uint64_t len = 0;

	if (long_name)
		len += record_bytes("path", e->name.len);
	if (large)
		len += record_bytes("size", size.len);
	put_header(rope, mpk_span_str("././@PaxHeader"), 'x', len, mtime);
	if (long_name)
		put_record(rope, "path", e->name);
	if (large)
		put_record(rope, "size", size);
	put_padding(rope, len);
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
	if (long_name || large)
		put_pax(rope, e, long_name, large, mtime);
	put_header(rope, e->name, '0', e->content->len, mtime);
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
