/* SPDX-License-Identifier: Apache-2.0 */
/* packed.c - decompresses images with the libraries that the toolkit uses, and writes entries and
 * containers with other images
 *
 * The decompressed size is read from the file, so it is compared with limits before memory is
 * allocated. When an entry is written, the old header is copied and only the fields about the image
 * are changed, because a newer toolkit may use other fields in an unknown way. In a file of its
 * own, so that readers of fatbins link no compressor. */
#include "fatbin/fatbin.h"

#include <inttypes.h>
#include <lz4.h>
#include <lz4hc.h>
#include <string.h>
#include <zstd.h>

#include "base/account.h"
#include "base/cursor.h"
#include "base/num.h"
#include "fatbin/internal/container.h"

/* Most bytes that a byte of an LZ4 block expands to. */
enum { LZ4_RATIO = 255 };

static enum mpk_code check_bounds(const struct mpk_fatbin_entry *e, uint64_t plain_bytes,
				  uint64_t left, struct mpk_error *err)
{
	if (e->packing == MPK_FATBIN_LZ4 && plain_bytes / LZ4_RATIO > e->data.len)
		return mpk_fail(err, MPK_E_CORRUPT,
				"fatbin: %zu packed bytes cannot become %" PRIu64, e->data.len,
				plain_bytes);
	if (plain_bytes > MPK_FATBIN_PLAIN_MAX || plain_bytes > left)
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"fatbin: images that unpack to %" PRIu64
				" bytes and more are not looked into",
				plain_bytes);
	return MPK_OK;
}

/* Returns whether data decompresses to exactly len bytes. */
static bool fatbin_unpack(enum mpk_fatbin_packing packing, struct mpk_span data, void *to,
			  size_t len)
{
	if (packing == MPK_FATBIN_ZSTD)
		return ZSTD_decompress(to, len, data.data, data.len) == len;
	return data.len <= LZ4_MAX_INPUT_SIZE &&
	       LZ4_decompress_safe((const char *)data.data, to, (int)data.len, (int)len) ==
		       (int)len;
}

enum mpk_code mpk_fatbin_unpack(const struct mpk_fatbin_entry *e, uint64_t *left,
				struct mpk_fatbin_unpacked *last, struct mpk_arena *arena,
				struct mpk_span *out, struct mpk_error *err)
{
	uint64_t bytes = e->piece_bytes ? e->piece_bytes : e->plain_bytes;
	struct mpk_span all;

	if (e->packing == MPK_FATBIN_STORED) {
		*out = e->data;
		return MPK_OK;
	}
	if (last && e->piece_bytes && last->from.data == e->data.data && last->to.len == bytes) {
		all = last->to;
	} else {
		MPK_TRY(check_bounds(e, bytes, *left, err));
		MPK_TRY(mpk_account_take(bytes, err));
		void *plain = mpk_arena_alloc(arena, (size_t)bytes + 1);
		MPK_TRY_ALLOC(plain, err);
		if (!e->data.len || !fatbin_unpack(e->packing, e->data, plain, (size_t)bytes))
			return mpk_fail(err, MPK_E_CORRUPT,
					"fatbin: %s data that does not unpack to %" PRIu64 " bytes",
					e->packing == MPK_FATBIN_LZ4 ? "LZ4" : "zstd", bytes);
		*left -= bytes;
		all = mpk_span_of(plain, (size_t)bytes);
		if (last)
			*last = (struct mpk_fatbin_unpacked){ e->data, all };
	}
	*out = e->piece_bytes ? mpk_span_of(all.data + e->piece_off, (size_t)e->plain_bytes) : all;
	return MPK_OK;
}

enum {
	/* offsets in the header of an entry, FORMAT.md 2 */
	HEAD_BYTES_AT = 4, /* in a table of images: offset of the image, FORMAT.md 4 */
	DATA_BYTES_AT = 8,
	PACKED_BYTES_AT = 16,
	OPTIONS_AT = 20,
	FLAGS_AT = 40,
	PLAIN_BYTES_AT = 56,
	/* The highest level of zstd that takes about as long as a copy to a slow disk. */
	ZSTD_LEVEL = 9,
	/* The highest level needs ten times the memory of a window as large as the image; level 9 has a
	 * window of 8 MiB. */
	ZSTD_LEVEL_LAST = 22,
	ZSTD_LEVEL_LARGE = 19,
	LARGE_BYTES = 8 << 20,
};

void mpk_fatbin_put_header(struct mpk_rope *out, uint64_t entry_bytes)
{
	mpk_rope_put_u32(out, MPK_FATBIN_MAGIC);
	mpk_rope_put_u16(out, FATBIN_VERSION);
	mpk_rope_put_u16(out, MPK_FATBIN_HEADER_BYTES);
	mpk_rope_put_u64(out, entry_bytes);
}

static void fatbin_store(uint8_t *at, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t flags_with(uint64_t flags, enum mpk_fatbin_packing packing, bool debug)
{
	flags &= ~(uint64_t)(FLAG_LZ4 | FLAG_ZSTD | FLAG_DEBUG);
	if (packing == MPK_FATBIN_ZSTD)
		flags |= FLAG_ZSTD;
	if (packing == MPK_FATBIN_LZ4)
		flags |= FLAG_LZ4;
	return debug ? flags | FLAG_DEBUG : flags;
}

enum mpk_code mpk_fatbin_put_image(struct mpk_rope *out, const struct mpk_fatbin_entry *e,
				   const struct mpk_rope *image, enum mpk_fatbin_packing packing,
				   uint64_t plain_bytes, bool debug, struct mpk_error *err)
{
	static const uint8_t zeros[MPK_FATBIN_ALIGN];
	uint8_t *head = (uint8_t *)mpk_arena_copy(out->arena, e->whole.data, e->head_bytes);
	bool packed = packing != MPK_FATBIN_STORED;
	uint64_t room;

	MPK_TRY_ALLOC(head, err);
	if ((packed && image->len > UINT32_MAX) ||
	    !mpk_align_up(image->len, MPK_FATBIN_ALIGN, &room))
		return mpk_fail(err, MPK_E_RANGE, "fatbin: an image is too large");
	fatbin_store(head + HEAD_BYTES_AT, e->head_bytes, 4);
	fatbin_store(head + DATA_BYTES_AT, room, 8);
	fatbin_store(head + PACKED_BYTES_AT, packed ? image->len : 0, 4);
	fatbin_store(head + FLAGS_AT, flags_with(mpk_load_u64(head + FLAGS_AT), packing, debug), 8);
	fatbin_store(head + PLAIN_BYTES_AT, packed ? plain_bytes : 0, 8);
	mpk_rope_put_view(out, mpk_span_of(head, e->head_bytes));
	mpk_rope_put_rope(out, image);
	mpk_rope_put_view(out, mpk_span_of(zeros, (size_t)(room - image->len)));
	return mpk_rope_status(out, err);
}

enum mpk_code mpk_fatbin_put_new(struct mpk_rope *out, const struct mpk_fatbin_entry *e,
				 const struct mpk_rope *image, unsigned abi, struct mpk_error *err)
{
	enum { OPTIONS = 8, MOST = 80 };
	uint8_t head[MOST] = { 0 };
	bool ptx = e->kind == MPK_FATBIN_PTX;
	size_t len = ptx ? MOST : ENTRY_BYTES;
	struct mpk_fatbin_entry blank = { .whole = mpk_span_of(head, len), .head_bytes = len };

	fatbin_store(head, ptx ? KIND_PTX : KIND_ELF, 2);
	fatbin_store(head + 2, ENTRY_VERSION, 2);
	fatbin_store(head + 4, len, 4);
	/* cuobjdump refuses PTX without a place for options, which may be empty */
	fatbin_store(head + 20, ptx ? ENTRY_BYTES : 0, 4);
	fatbin_store(head + ENTRY_BYTES, ptx ? ENTRY_BYTES + OPTIONS : 0, 4);
	fatbin_store(head + 24, ptx ? e->ir_minor : abi, 2);
	fatbin_store(head + 26, ptx ? e->ir_major : 1, 2);
	fatbin_store(head + 28, e->sm, 4);
	fatbin_store(head + FLAGS_AT,
		     FLAG_64_BIT | FLAG_LINUX | (e->arch_specific ? FLAG_ARCH : 0) |
			     (e->family_specific ? FLAG_FAMILY : 0),
		     8);
	return mpk_fatbin_put_image(out, &blank, image, MPK_FATBIN_STORED, 0, false, err);
}

/* The buffer for the worst case is larger than the result; only the result stays in the arena. */
enum mpk_code mpk_fatbin_pack(struct mpk_span plain, enum mpk_fatbin_packing packing, bool smallest,
			      struct mpk_arena *arena, struct mpk_span *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	bool zstd = packing == MPK_FATBIN_ZSTD;
	int last = plain.len > LARGE_BYTES ? ZSTD_LEVEL_LARGE : ZSTD_LEVEL_LAST;
	size_t most, len;
	void *to;

	if (!zstd && plain.len > LZ4_MAX_INPUT_SIZE)
		return mpk_fail(err, MPK_E_RANGE, "fatbin: an image is too large for LZ4");
	most = zstd ? ZSTD_compressBound(plain.len) : (size_t)LZ4_compressBound((int)plain.len);
	to = mpk_arena_alloc(&scratch, most + 1);
	MPK_TRY_ALLOC(to, err);
	if (zstd)
		len = ZSTD_compress(to, most, plain.data, plain.len, smallest ? last : ZSTD_LEVEL);
	else
		len = (size_t)(smallest ? LZ4_compress_HC((const char *)plain.data, to,
							  (int)plain.len, (int)most,
							  LZ4HC_CLEVEL_MAX)
					: LZ4_compress_default((const char *)plain.data, to,
							       (int)plain.len, (int)most));
	if (zstd ? ZSTD_isError(len) : len == 0)
		return mpk_fail_nomem(err);
	to = mpk_arena_copy(arena, to, len);
	MPK_TRY_ALLOC(to, err);
	*out = mpk_span_of(to, len);
	return MPK_OK;
}

enum mpk_code mpk_fatbin_put_together(struct mpk_rope *out, const struct mpk_fatbin_entry *const *e,
				      const struct mpk_span *images, const bool *debug,
				      size_t count, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_rope plain = mpk_rope_of(&scratch), packed = mpk_rope_of(out->arena);
	static const uint8_t zeros[MPK_FATBIN_ALIGN];
	size_t head_bytes = ENTRY_BYTES + TOGETHER_BYTES, at = head_bytes;
	struct mpk_fatbin_entry outer = { .head_bytes = ENTRY_BYTES };
	struct mpk_span flat, bytes;
	bool any_debug = false;
	uint8_t *head;

	for (size_t i = 0; i < count; i++)
		head_bytes += e[i]->head_bytes;
	head = mpk_arena_alloc(out->arena, head_bytes);
	MPK_TRY_ALLOC(head, err);
	/* The header of the entry, without the texts that may be in it. */
	memcpy(head, e[0]->piece.data, ENTRY_BYTES);
	fatbin_store(head + OPTIONS_AT, ENTRY_BYTES, 4);
	fatbin_store(head + ENTRY_BYTES, count, 4);
	fatbin_store(head + ENTRY_BYTES + 4, head_bytes - ENTRY_BYTES, 4);
	for (size_t i = 0; i < count; i++) {
		uint64_t room;

		if (plain.len > UINT32_MAX || !mpk_align_up(images[i].len, MPK_FATBIN_ALIGN, &room))
			return mpk_fail(err, MPK_E_RANGE, "fatbin: an image is too large");
		memcpy(head + at, e[i]->whole.data, e[i]->head_bytes);
		fatbin_store(head + at + HEAD_BYTES_AT, plain.len, 4);
		fatbin_store(head + at + DATA_BYTES_AT, room, 8);
		fatbin_store(
			head + at + FLAGS_AT,
			flags_with(mpk_load_u64(head + at + FLAGS_AT), MPK_FATBIN_STORED, debug[i]),
			8);
		mpk_rope_put_view(&plain, images[i]);
		mpk_rope_put_view(&plain, mpk_span_of(zeros, (size_t)(room - images[i].len)));
		any_debug |= debug[i];
		at += e[i]->head_bytes;
	}
	MPK_TRY(mpk_rope_flat(&plain, &flat, err));
	MPK_TRY(mpk_fatbin_pack(flat, e[0]->packing, false, out->arena, &bytes, err));
	mpk_rope_put_view(&packed, bytes);
	outer.whole = count == 1 ? e[0]->whole : mpk_span_of(head, head_bytes);
	outer.head_bytes = count == 1 ? e[0]->head_bytes : head_bytes;
	return mpk_fatbin_put_image(out, &outer, &packed, e[0]->packing, flat.len, any_debug, err);
}
