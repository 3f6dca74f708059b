/* SPDX-License-Identifier: Apache-2.0 */
/* bare.c - the length of an image in a section without a container
 *
 * Compilers put several images there, one after the other with zeros between, and only the bytes of
 * an image show where it ends. Nothing is checked here; the reader of the image does that. In a
 * file of its own, because read.c needs no zstd. */
#include <zstd.h>

#include "ar/ar.h"
#include "base/num.h"
#include "offload/offload.h"
#include "spirv/spirv.h"

enum {
	ELF_HEADER_BYTES = 64,
	ELF_CLASS64 = 2,
	ELF_SECTION_BYTES = 64,
	ELF_SEGMENT_BYTES = 56,
	SHT_NOBITS_TYPE = 8,
	SPIRV_HEADER_BYTES = 20,
	BITCODE_WRAPPER_BYTES = 20,
	BITCODE_BLOCK = 1, /* abbreviation id of ENTER_SUBBLOCK, in two bits */
};

bool mpk_offload_is_frame(struct mpk_span bytes)
{
	return mpk_span_starts(bytes, "\x28\xb5\x2f\xfd");
}

static bool is_elf(struct mpk_span bytes)
{
	return mpk_span_starts(bytes, "\177ELF");
}

static bool is_bitcode(struct mpk_span bytes)
{
	return mpk_span_starts(bytes, "BC\xc0\xde");
}

static bool is_wrapped_bitcode(struct mpk_span bytes)
{
	return mpk_span_starts(bytes, "\xde\xc0\x17\x0b");
}

/* --- the length of an image of each format; 0: not known --------------------------------- */

static uint64_t frame_bytes(struct mpk_span bytes)
{
	size_t n = ZSTD_findFrameCompressedSize(bytes.data, bytes.len);

	return ZSTD_isError(n) ? 0 : n;
}

/* A module is a list of instructions with lengths. It ends where another image could begin. */
static uint64_t spirv_bytes(struct mpk_span bytes)
{
	bool swapped = bytes.data[0] == 0x07;
	size_t at = SPIRV_HEADER_BYTES;

	while (at + 4 <= bytes.len && !mpk_offload_begins_image(mpk_span_from(bytes, at))) {
		const uint8_t *p = bytes.data + at;
		size_t words = swapped ? (size_t)p[0] << 8 | p[1] : (size_t)p[3] << 8 | p[2];

		if (!words)
			return at;
		if (words > (bytes.len - at) / 4)
			return 0;
		at += 4 * words;
	}
	return at + 4 <= bytes.len ? at : bytes.len;
}

/* Extends *end to the end of a table of ELF headers, and of everything that they refer to. Returns
 * false if that lies beyond the end of the bytes. */
static bool add_table(struct mpk_span bytes, uint64_t off, size_t count, size_t entry_bytes,
		      size_t off_at, size_t size_at, uint64_t *end)
{
	struct mpk_span table;

	if (!count)
		return true;
	if (!mpk_span_sub(bytes, off, (uint64_t)count * entry_bytes, &table))
		return false;
	*end = off + table.len > *end ? off + table.len : *end;
	for (size_t i = 0; i < count; i++) {
		const uint8_t *p = table.data + i * entry_bytes;
		uint64_t last;

		if (entry_bytes == ELF_SECTION_BYTES && mpk_load_u32(p + 4) == SHT_NOBITS_TYPE)
			continue;
		if (!mpk_add_u64(mpk_load_u64(p + off_at), mpk_load_u64(p + size_at), &last) ||
		    last > bytes.len)
			return false;
		*end = last > *end ? last : *end;
	}
	return true;
}

static uint64_t elf_bytes(struct mpk_span bytes)
{
	uint64_t end = ELF_HEADER_BYTES;
	const uint8_t *p = bytes.data;

	if (bytes.len < ELF_HEADER_BYTES || p[4] != ELF_CLASS64 || p[5] != 1)
		return 0;
	if (!add_table(bytes, mpk_load_u64(p + 40), mpk_load_u16(p + 60), ELF_SECTION_BYTES, 24, 32,
		       &end) ||
	    !add_table(bytes, mpk_load_u64(p + 32), mpk_load_u16(p + 56), ELF_SEGMENT_BYTES, 8, 32,
		       &end))
		return 0;
	return end;
}

/* Bitcode is a list of blocks, each with its length in words. */
static uint64_t bitcode_bytes(struct mpk_span bytes)
{
	size_t at = 4;

	while (at + 8 <= bytes.len && (bytes.data[at] & 3) == BITCODE_BLOCK) {
		uint64_t words = mpk_load_u32(bytes.data + at + 4);

		if (words > (bytes.len - at - 8) / 4)
			return 0;
		at += 8 + 4 * (size_t)words;
	}
	return at > 4 ? at : 0;
}

static uint64_t wrapped_bytes(struct mpk_span bytes)
{
	if (bytes.len < BITCODE_WRAPPER_BYTES)
		return 0;
	return (uint64_t)mpk_load_u32(bytes.data + 8) + mpk_load_u32(bytes.data + 12);
}

static uint64_t archive_bytes(struct mpk_span bytes)
{
	size_t at = MPK_AR_MAGIC_BYTES;
	uint64_t size;

	while (at + MPK_AR_HEADER_BYTES <= bytes.len &&
	       memcmp(bytes.data + at + MPK_AR_END_OFF, "`\n", 2) == 0) {
		struct mpk_span digits =
			mpk_span_of(bytes.data + at + MPK_AR_SIZE_OFF, MPK_AR_SIZE_BYTES);

		while (digits.len && digits.data[digits.len - 1] == ' ')
			digits.len--;
		if (!mpk_parse_u64(digits, &size) || size > bytes.len - at - MPK_AR_HEADER_BYTES)
			return 0;
		at += MPK_AR_HEADER_BYTES + (size_t)size;
		at += at % 2 && at < bytes.len; /* members begin at even offsets */
	}
	return at;
}

/* --- images ------------------------------------------------------------------------------- */

static const struct {
	bool (*is)(struct mpk_span bytes);
	uint64_t (*bytes)(struct mpk_span bytes);
} images[] = {
	{ mpk_offload_is_frame, frame_bytes },
	{ mpk_spirv_is, spirv_bytes },
	{ is_elf, elf_bytes },
	{ is_bitcode, bitcode_bytes },
	{ is_wrapped_bitcode, wrapped_bytes },
	{ mpk_ar_is, archive_bytes },
};

bool mpk_offload_begins_image(struct mpk_span bytes)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(images); i++)
		if (images[i].is(bytes))
			return true;
	return false;
}

uint64_t mpk_offload_image_bytes(struct mpk_span bytes)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(images); i++) {
		if (images[i].is(bytes)) {
			uint64_t n = images[i].bytes(bytes);

			return n <= bytes.len ? n : 0;
		}
	}
	return 0;
}
