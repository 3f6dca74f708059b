/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - checks the output of other tools: objects and libraries are for the machine, and a
 * loader will find in the finished file what was packed */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ar/ar.h"
#include "elf/image.h"
#include "io/mapping.h"
#include "io/output.h"
#include "io/reader.h"
#include "text/escape.h"
#include "toolchain/toolchain.h"

static enum mpk_code check_bytes(const struct mpk_target *target, struct mpk_span bytes,
				 struct mpk_arena *arena, struct mpk_error *err)
{
	struct mpk_ar ar;

	if (!mpk_ar_is(bytes))
		return mpk_target_check(target, bytes, err);
	MPK_TRY(mpk_ar_read(bytes, arena, &ar, err));
	for (size_t i = 0; i < ar.member_count; i++) {
		enum mpk_code code = mpk_target_check(target, ar.members[i].data, err);

		if (code != MPK_OK) {
			mpk_error_prefix(err, "%s: ", MPK_QUOTE(ar.members[i].name));
			return code;
		}
	}
	return MPK_OK;
}

enum mpk_code mpk_source_check(const char *path, const struct mpk_target *target,
			       struct mpk_error *err)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { 0 };
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };

	MPK_TRY(mpk_mapping_open(path, &map, err));
	enum mpk_code code = check_bytes(target, map.bytes, &arena, err);
	if (code != MPK_OK)
		mpk_error_at_file(err, path);
	return code;
}

enum mpk_code mpk_link_check(const struct mpk_compilation *c, const char *linked,
			     struct mpk_error *err)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { 0 };

	MPK_TRY(mpk_mapping_open(linked, &map, err));
	enum mpk_code code = mpk_target_check(&c->tools->target, map.bytes, err);
	if (code != MPK_OK)
		mpk_error_prefix(err, "'%s' made ", c->tools->cc.items[0]);
	return code;
}

/* --- a finished file, read once more --------------------------------------------- */

/* Its blob was hashed while it was copied, so comparing the length and the first bytes suffices
 * to find a linker that dropped or moved it. */

static enum mpk_code confirm(struct mpk_span bytes, const struct mpk_rope *blob,
			     struct mpk_arena *arena, struct mpk_error *err)
{
	struct mpk_image image = { 0 };
	struct mpk_span packed;

	/* Each reader checks what a standalone library contains, which is as large as its model. */
	MPK_TRY(mpk_image_carrier(bytes, &packed, err));
	if (!packed.len) {
		MPK_TRY(mpk_image_open(bytes, NULL, arena, &image, err));
		packed = image.blob;
	}
	if (!blob)
		return MPK_OK;
	if (!packed.len)
		return mpk_fail(err, MPK_E_NO_BLOB, "there is no blob in it");
	if (packed.len < blob->len)
		return mpk_fail(err, MPK_E_CORRUPT,
				"its blob has %zu bytes, %" PRIu64 " were packed", packed.len,
				blob->len);

	/* Whether a blob begins like the packed one. */
	struct mpk_reader *r = malloc(sizeof *r);
	struct mpk_span some = { 0 };

	MPK_TRY_ALLOC(r, err);
	mpk_reader_init(r, blob);
	enum mpk_code code = mpk_reader_next(r, &some, err);
	size_t len = some.len < MPK_READER_BYTES ? some.len : MPK_READER_BYTES;

	if (code == MPK_OK && len && memcmp(some.data, packed.data, len) != 0)
		code = mpk_fail(err, MPK_E_CORRUPT, "its blob is not the one that was packed");
	mpk_reader_fini(r);
	free(r);
	return code;
}

enum mpk_code mpk_confirm_file(const struct mpk_mapping *file, const struct mpk_rope *blob,
			       struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_error why = { 0 };
	enum mpk_code code = confirm(file->bytes, blob, &arena, &why);

	if (code == MPK_OK)
		return MPK_OK;
	if (code == MPK_E_NOMEM)
		return mpk_fail_nomem(err);
	return mpk_fail(err, MPK_E_TOOL, "no library that can be loaded: %s", why.text);
}

enum mpk_code mpk_confirm_output(const struct mpk_output *o, const struct mpk_rope *blob,
				 struct mpk_error *err)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { .fd = -1 };

	if (mpk_output_is_through(o))
		return MPK_OK;
	MPK_TRY(mpk_mapping_of_fd(mpk_output_fd(o), "output", &map, err));
	return mpk_confirm_file(&map, blob, err);
}
