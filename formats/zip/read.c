/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - stored and deflated members, compared with their checksums */
#include <string.h>
#include <zlib.h>

#include "base/account.h"
#include "deflate/deflate.h"
#include "text/escape.h"
#include "zip/internal/zip.h"

static bool zip_holds(struct mpk_span data, const struct mpk_zip_member *m)
{
	return data.len == m->plain &&
	       crc32_z(crc32_z(0, NULL, 0), data.data, data.len) == m->checksum;
}

/* Finds the compressed bytes of a member, if it can be decompressed. */
static enum mpk_code open_deflated(struct mpk_span zip, const struct mpk_zip_member *m,
				   const struct mpk_zip_options *o, struct mpk_span *out,
				   struct mpk_error *err)
{
	if (m->flags & 1)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "'%s' is encrypted", MPK_QUOTE(m->name));
	if (m->method != MPK_ZIP_DEFLATED)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "'%s' is compressed by method %u; %s",
				MPK_QUOTE(m->name), m->method, o->advice);
	MPK_TRY(mpk_zip_raw(zip, m, o->space, out, err));
	if (m->plain > mpk_deflate_limit(out->len))
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"'%s' unpacks to more than 128 times its size; %s",
				MPK_QUOTE(m->name), o->advice);
	return mpk_account_take(m->plain, err);
}

static enum mpk_code fail_in_member(const struct mpk_zip_member *m, enum mpk_code code,
				    struct mpk_error *err)
{
	if (err)
		err->at.has_offset = false; /* the offset counts in the member */
	mpk_error_prefix(err, "'%s': ", MPK_QUOTE(m->name));
	return code;
}

static enum mpk_code fail_checksum(const struct mpk_zip_member *m, const char *space,
				   struct mpk_error *err)
{
	return mpk_zip_bad(space, m->local, "a compressed member is not what its checksum says",
			   err);
}

enum mpk_code mpk_zip_read(struct mpk_span zip, const struct mpk_zip_member *m,
			   const struct mpk_zip_options *o, struct mpk_arena *arena,
			   struct mpk_span *out, struct mpk_error *err)
{
	struct mpk_span stored, data;

	if (m->method != MPK_ZIP_DEFLATED) {
		MPK_TRY(mpk_zip_stored(zip, m, o, &stored, err));
		if (o->check_stored && !zip_holds(stored, m))
			return mpk_zip_bad(o->space, m->local,
					   "a stored member is not what its checksum says", err);
		*out = stored;
		return MPK_OK;
	}
	MPK_TRY(open_deflated(zip, m, o, &stored, err));

	enum mpk_code code = mpk_deflate_read(stored, m->plain, o->reader, arena, &data, err);

	if (code != MPK_OK)
		return fail_in_member(m, code, err);
	if (!zip_holds(data, m))
		return fail_checksum(m, o->space, err);
	*out = data;
	return MPK_OK;
}

size_t mpk_zip_head(struct mpk_span zip, const struct mpk_zip_member *m, uint8_t *into, size_t cap)
{
	struct mpk_span stored;
	size_t len;

	if ((m->flags & 1) || mpk_zip_raw(zip, m, "file", &stored, NULL) != MPK_OK)
		return 0;
	if (m->method == MPK_ZIP_DEFLATED)
		return mpk_deflate_head(stored, into, cap);
	if (m->method != MPK_ZIP_STORED)
		return 0;
	len = stored.len < cap ? stored.len : cap;
	if (len)
		memcpy(into, stored.data, len);
	return len;
}

/* --- a member in parts ------------------------------------------------------------------- */

struct summing {
	const struct mpk_deflate_sink *sink;
	unsigned long sum;
	uint64_t bytes;
};

static void zip_put(void *arg, uint64_t off, struct mpk_span piece)
{
	struct summing *s = arg;

	s->sum = crc32_z(s->sum, piece.data, piece.len);
	s->bytes += piece.len;
	s->sink->put(s->sink->arg, off, piece);
}

enum mpk_code mpk_zip_index(struct mpk_span zip, const struct mpk_zip_member *m,
			    const struct mpk_zip_options *o, size_t interval,
			    const struct mpk_deflate_sink *sink, struct mpk_arena *arena,
			    struct mpk_deflate_index **out, struct mpk_error *err)
{
	struct summing summing = { sink, crc32_z(0, NULL, 0), 0 };
	const struct mpk_deflate_sink both = { zip_put, &summing };
	struct mpk_deflate_index *x = NULL;
	struct mpk_span stored;

	MPK_TRY(open_deflated(zip, m, o, &stored, err));

	enum mpk_code code = mpk_deflate_index_build(stored, m->plain, interval, o->reader, &both,
						     arena, &x, err);

	if (code != MPK_OK)
		return fail_in_member(m, code, err);
	if (summing.bytes != m->plain || summing.sum != m->checksum)
		return fail_checksum(m, o->space, err);
	*out = x;
	return MPK_OK;
}
