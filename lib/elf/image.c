/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/image.h"

#include <string.h>

#include "ar/ar.h"
#include "base/cursor.h"
#include "deflate/deflate.h"
#include "elf/foreign.h"
#include "elf/functions.h"
#include "elf/members.h"
#include "tar/tar.h"
#include "text/escape.h"

/* What a compressed archive may unpack to; objects are never near it. */
#define UNPACKED_MAX ((uint64_t)1 << 30)

static uint64_t unpacked_max(uint64_t packed)
{
	uint64_t limit = mpk_deflate_limit(packed);

	return limit < UNPACKED_MAX ? limit : UNPACKED_MAX;
}

static bool is_elf(struct mpk_span bytes)
{
	return mpk_span_starts(bytes, ELFMAG);
}

static enum mpk_code read_elf(struct mpk_span bytes, uint64_t off, const enum mpk_generation *gen,
			      struct mpk_arena *arena, struct mpk_image *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct mpk_image image = { 0 };

	MPK_TRY(mpk_elf_open(bytes, off, &elf, err));
	MPK_TRY(mpk_image_read_elf(&elf, gen, arena, &image, err));
	image.container = image.type == ET_REL ? MPK_CONTAINER_ELF_OBJ : MPK_CONTAINER_ELF_SO;
	*out = image;
	return MPK_OK;
}

/* --- archives -------------------------------------------------------------------- */

static unsigned worth(const struct mpk_image *image)
{
	return image->has_blob ? 2 : image->function_count > 0;
}

/* The first member with a blob, else the first with functions, else the first object. */
static enum mpk_code choose(const struct mpk_member *members, size_t count, struct mpk_arena *arena,
			    size_t *chosen, struct mpk_image *out, struct mpk_error *err)
{
	*chosen = count;
	for (size_t i = 0; i < count && (*chosen == count || worth(out) < 2); i++) {
		struct mpk_image image;
		enum mpk_code code;

		if (!is_elf(members[i].bytes))
			continue;
		code = read_elf(members[i].bytes, members[i].off, NULL, arena, &image, err);
		if (code != MPK_OK) {
			mpk_error_prefix(err,
					 "member '%s': ", MPK_QUOTE(mpk_span_str(members[i].name)));
			return code;
		}
		if (*chosen == count || worth(&image) > worth(out)) {
			*out = image;
			*chosen = i;
		}
	}
	return MPK_OK;
}

static enum mpk_code add_functions(struct mpk_image *image, const struct mpk_image *other,
				   const char *member, struct mpk_arena *arena,
				   struct mpk_error *err)
{
	size_t count = image->function_count + other->function_count;
	struct mpk_image_function *all = mpk_arena_array(arena, count, sizeof *all);

	MPK_TRY_ALLOC(all, err);
	for (size_t i = 0; i < image->function_count; i++)
		all[i] = image->functions[i];
	for (size_t i = 0; i < other->function_count; i++) {
		all[image->function_count + i] = other->functions[i];
		all[image->function_count + i].member = member;
	}
	mpk_image_sort_functions(all, count);
	image->functions = all;
	image->function_count = count;
	image->has_ctx |= other->has_ctx;
	return MPK_OK;
}

/* Objects of one archive are linked together: their functions are callable as well. */
static enum mpk_code add_others(const struct mpk_member *members, size_t count, size_t chosen,
				struct mpk_arena *arena, struct mpk_image *image,
				struct mpk_error *err)
{
	for (size_t i = 0; i < count; i++) {
		const struct mpk_member *m = &members[i];
		struct mpk_image other;

		if (i == chosen || !is_elf(m->bytes))
			continue;
		MPK_TRY(read_elf(m->bytes, m->off, &image->gen, arena, &other, err));
		if (!other.has_blob && other.function_count)
			MPK_TRY(add_functions(image, &other, m->name, arena, err));
	}
	return MPK_OK;
}

static enum mpk_code read_one(struct mpk_span bytes, uint64_t off, struct mpk_arena *arena,
			      struct mpk_image *out, struct mpk_error *err);

static enum mpk_code read_members(const struct mpk_member *members, size_t count,
				  const char *wanted, struct mpk_arena *arena,
				  struct mpk_image *out, struct mpk_error *err)
{
	const char **names = mpk_arena_array(arena, count, sizeof *names);
	struct mpk_span *contents = mpk_arena_array(arena, count, sizeof *contents);
	struct mpk_image image = { .prefix = "" };
	size_t chosen = 0;

	MPK_TRY_ALLOC(names && contents, err);
	for (size_t i = 0; i < count; i++) {
		names[i] = members[i].name;
		contents[i] = members[i].bytes;
	}
	if (wanted) {
		MPK_TRY(mpk_members_find(members, count, wanted, &chosen, err));
		MPK_TRY(read_one(members[chosen].bytes, members[chosen].off, arena, &image, err));
	} else {
		MPK_TRY(choose(members, count, arena, &chosen, &image, err));
		if (image.gen_known)
			MPK_TRY(add_others(members, count, chosen, arena, &image, err));
	}
	image.member = chosen < count ? members[chosen].name : NULL;
	image.members = names;
	image.member_bytes = contents;
	image.member_count = count;
	*out = image;
	return MPK_OK;
}

/* --- what kind of file ------------------------------------------------------------ */

/* Files people try that hold compiled code in another way. */
static enum mpk_code refuse_foreign(struct mpk_span bytes, struct mpk_error *err)
{
	static const struct {
		const char *magic;
		size_t len;
		const char *what;
	} foreign[] = {
		{ "\xcf\xfa\xed\xfe", 4, "a Mach-O file" },
		{ "\xce\xfa\xed\xfe", 4, "a Mach-O file" },
		{ "\xca\xfe\xba\xbe", 4, "a universal Mach-O file" },
		{ "MZ", 2, "a Windows program or library" },
		{ "\0asm", 4, "a WebAssembly module" },
		{ "\xfd"
		  "7zXZ",
		  5, "compressed with xz" },
		{ "\x28\xb5\x2f\xfd", 4, "compressed with zstd" },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(foreign); i++)
		if (bytes.len >= foreign[i].len &&
		    memcmp(bytes.data, foreign[i].magic, foreign[i].len) == 0)
			return mpk_fail(
				err, MPK_E_UNSUPPORTED,
				"this is %s; ELF files, archives of them and bare blobs can be read",
				foreign[i].what);
	return MPK_OK;
}

/* Bytes that are no module blob: what they are instead, as far as that can be told. */
static enum mpk_code refuse_other(struct mpk_span bytes, uint64_t off, struct mpk_error *err)
{
	struct mpk_foreign f;

	if (mpk_foreign_find(bytes, &f))
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"this is %s, which holds no compiled module; %s", f.what, f.how);
	return mpk_fail_offset(
		err, MPK_E_CORRUPT, "file", off,
		"this is neither an ELF file, nor an ar or tar archive, nor a module blob");
}

static enum mpk_code read_blob(struct mpk_span bytes, uint64_t off, struct mpk_image *out,
			       struct mpk_error *err)
{
	enum mpk_generation gen;

	if (bytes.len == 0)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", off, "there are no bytes in it");
	MPK_TRY(refuse_foreign(bytes, err));
	if (mpk_blob_guess(bytes, &gen, NULL) != MPK_OK)
		return refuse_other(bytes, off, err);
	*out = (struct mpk_image){
		.container = MPK_CONTAINER_BLOB,
		.bytes = bytes,
		.bytes_off = off,
		.has_blob = true,
		.gen = gen,
		.gen_known = true,
		.blob = bytes,
		.blob_off = off,
		.prefix = "",
	};
	return MPK_OK;
}

static enum mpk_code read_one(struct mpk_span bytes, uint64_t off, struct mpk_arena *arena,
			      struct mpk_image *out, struct mpk_error *err)
{
	return is_elf(bytes) ? read_elf(bytes, off, NULL, arena, out, err)
			     : read_blob(bytes, off, out, err);
}

static enum mpk_code read_archive(struct mpk_span bytes, const char *member,
				  struct mpk_arena *arena, struct mpk_image *out,
				  struct mpk_error *err)
{
	bool is_ar = mpk_ar_is(bytes);
	struct mpk_member *members;
	size_t count;

	MPK_TRY((is_ar ? mpk_members_ar : mpk_members_tar)(bytes, arena, &members, &count, err));
	MPK_TRY(read_members(members, count, member, arena, out, err));
	out->container = is_ar ? MPK_CONTAINER_ARCHIVE : MPK_CONTAINER_TAR;
	return MPK_OK;
}

enum mpk_code mpk_image_open(struct mpk_span bytes, const char *member, struct mpk_arena *arena,
			     struct mpk_image *out, struct mpk_error *err)
{
	struct mpk_span content = bytes;
	bool packed = mpk_gzip_is(bytes);

	if (packed)
		MPK_TRY(mpk_gzip_read(bytes, unpacked_max(bytes.len), arena, &content, err));
	if (mpk_ar_is(content) || mpk_tar_is(content))
		MPK_TRY(read_archive(content, member, arena, out, err));
	else if (member)
		return mpk_fail(err, MPK_E_NOTFOUND,
				"a member '%s' was asked for, but the file is no archive",
				MPK_QUOTE(mpk_span_str(member)));
	else
		MPK_TRY(read_one(content, 0, arena, out, err));
	out->is_packed = packed;
	return MPK_OK;
}

struct mpk_span mpk_image_blob(const struct mpk_image *image)
{
	struct mpk_span blob = image->blob;

	if (blob.len >= 8 && mpk_load_u64(blob.data) <= blob.len - 8)
		blob.len = (size_t)mpk_load_u64(blob.data) + 8;
	return blob;
}
