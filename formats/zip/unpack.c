/* SPDX-License-Identifier: Apache-2.0 */
/* unpack.c - decompresses members for programs that link no zlib */
#include "deflate/deflate.h"
#include "deflate/inflate.h"
#include "zip/internal/zip.h"

enum mpk_code mpk_zip_unpack(struct mpk_span zip, const struct mpk_zip_member *m,
			     const struct mpk_zip_options *o, struct mpk_arena *arena,
			     struct mpk_span *out, struct mpk_error *err)
{
	struct mpk_span packed;
	uint8_t *data;

	if (m->method != MPK_ZIP_DEFLATED || (m->flags & 1))
		return mpk_zip_stored(zip, m, o, out, err);
	MPK_TRY(mpk_zip_raw(zip, m, o->space, &packed, err));
	if (m->plain > mpk_deflate_limit(packed.len))
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"it unpacks to more than 128 times its size; %s", o->advice);
	data = mpk_arena_alloc(arena, (size_t)m->plain + 1);
	MPK_TRY_ALLOC(data, err);
	MPK_TRY(mpk_inflate(packed, data, (size_t)m->plain, err));
	*out = mpk_span_of(data, (size_t)m->plain);
	if (mpk_inflate_sum(*out) != m->checksum)
		return mpk_zip_bad(o->space, m->local,
				   "a compressed member is not what its checksum says", err);
	return MPK_OK;
}
