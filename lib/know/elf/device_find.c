/* SPDX-License-Identifier: Apache-2.0 */
/* device_find.c - finds GPU code in other data by its magic number, and checks its structure
 *
 * Compilers have special sections for GPU code. Code that a program embeds by other means (a C
 * array, #embed, .incbin, ld -b binary) is somewhere in its data, and only its bytes identify it. A
 * magic number may occur by chance, or as a constant of a program that reads such files. So headers
 * are followed, and everything that they refer to must be there. One pass over the data compares
 * many pairs of bytes at a time. */
#include <string.h>

#include "base/cursor.h"
#include "cubin/elf.h"
#include "elf/image.h"
#include "fatbin/fatbin.h"
#include "io/reader.h"
#include "offload/offload.h"

enum {
	SPIRV_HEADER_BYTES = 20,
	SPIRV_IDS_MAX = 1 << 22, /* the specification's universal limits, 2.16 */
	AMDGPU_MACHINE = 224,
	ELF_MACHINE_AT = 18,
	ELF_HEADER_BYTES = 64,
	BUNDLE_HEAD_BYTES = 256, /* decompressed to see whether it is a bundle */
};

/* Returns whether a read succeeded. Notes that memory was out: then the answer is not known. */
static bool reads(enum mpk_code code, bool *no_memory)
{
	*no_memory |= code == MPK_E_NOMEM;
	return code == MPK_OK;
}

/* --- the length of a container of each format; 0: the bytes are not one ------------------- */

static size_t fatbin_bytes(struct mpk_span bytes, bool *no_memory)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_fatbin list;

	/* A container without images has nothing to show. */
	if (!reads(mpk_fatbin_read(bytes, &scratch, &list, NULL), no_memory) || !list.entry_count)
		return 0;
	for (size_t i = 0; i < list.entry_count; i++)
		if (!list.entries[i].kind_code || !list.entries[i].data.len)
			return 0;
	return (size_t)list.used;
}

/* An ELF file for a GPU. */
static size_t elf_bytes(struct mpk_span bytes, bool *no_memory)
{
	struct mpk_cubin_elf elf;
	struct mpk_cubin_section s;
	uint16_t machine;

	(void)no_memory; /* needs no memory */
	if (bytes.len < ELF_HEADER_BYTES)
		return 0;
	machine = mpk_load_u16(bytes.data + ELF_MACHINE_AT);
	if ((machine != MPK_CUBIN_EM_CUDA && machine != AMDGPU_MACHINE) ||
	    mpk_cubin_elf_open(bytes, machine, "", &elf, NULL) != MPK_OK || !elf.section_count)
		return 0;
	for (size_t i = 0; i < elf.section_count; i++)
		if (mpk_cubin_elf_section(&elf, i, &s, NULL) != MPK_OK)
			return 0;
	return (size_t)mpk_offload_image_bytes(bytes);
}

static bool is_printed(struct mpk_span text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] <= ' ' || text.data[i] > '~')
			return false;
	return text.len > 0;
}

static size_t bundle_bytes(struct mpk_span bytes, bool *no_memory)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_offload list;

	if (!reads(mpk_offload_read(bytes, &scratch, &list, NULL), no_memory) || !list.entry_count)
		return 0;
	for (size_t i = 0; i < list.entry_count; i++)
		if (!is_printed(list.entries[i].kind) && !is_printed(list.entries[i].triple))
			return 0;
	return (size_t)list.used;
}

/* Compressed bytes must decompress to the beginning of a bundle. */
static size_t packed_bytes(struct mpk_span bytes, bool *no_memory)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_offload_packed p;
	struct mpk_span head;
	uint64_t used;

	if (!reads(mpk_offload_read_packed(bytes, &p, NULL), no_memory) || !p.version ||
	    !reads(mpk_offload_unpack(&p, BUNDLE_HEAD_BYTES, &scratch, &head, NULL), no_memory) ||
	    !mpk_offload_is(head))
		return 0;
	used = p.version == 1 ? mpk_offload_packed_bytes(&p) : p.used;
	return used <= bytes.len ? (size_t)used : 0;
}

/* A module has no length field. It is little-endian, like all embedded modules, and it ends after
 * its last function; between functions there are only line instructions. */
static size_t spirv_bytes(struct mpk_span bytes, bool *no_memory)
{
	enum {
		NO_LINE = 317,
		LINE = 8,
		EXT_INST = 12,
		MEMORY_MODEL = 14,
		CAPABILITY = 17,
		FUNCTION = 54,
		FUNCTION_END = 56,
		OPCODES_MAX = 8192,
	};
	bool has_model = false, is_open = false;
	size_t end = 0;
	uint32_t version, bound;

	(void)no_memory; /* needs no memory */
	if (bytes.len < SPIRV_HEADER_BYTES)
		return 0;
	version = mpk_load_u32(bytes.data + 4);
	bound = mpk_load_u32(bytes.data + 12);
	if (version >> 16 != 1 || version & 0xff || (version >> 8 & 0xff) > 9 || bound < 2 ||
	    bound > SPIRV_IDS_MAX || mpk_load_u32(bytes.data + 16))
		return 0;
	for (size_t at = SPIRV_HEADER_BYTES; at + 4 <= bytes.len;) {
		uint32_t head = mpk_load_u32(bytes.data + at), op = head & 0xffff;
		size_t words = head >> 16;

		/* Another function may follow, or the module ends. */
		if (end == at && !((op == FUNCTION && words == 5) || (op == LINE && words == 4) ||
				   (op == NO_LINE && words == 1) || (op == EXT_INST && words > 4)))
			return end;
		if (!words || words > (bytes.len - at) / 4 || op > OPCODES_MAX)
			return end;
		if (at == SPIRV_HEADER_BYTES && (op != CAPABILITY || words != 2))
			return 0;
		has_model |= op == MEMORY_MODEL && words == 3;
		if (op == FUNCTION && (words != 5 || is_open || !has_model))
			return end;
		is_open |= op == FUNCTION;
		at += 4 * words;
		if (op == FUNCTION_END && words == 1 && is_open) {
			is_open = false;
			end = at;
		} else if (end && !is_open) {
			end = end == at - 4 * words ? at : end; /* line instructions between
								 * functions */
		}
	}
	return end;
}

/* --- by magic -------------------------------------------------------------------------------------------- */

/* A magic number, and the pair of its bytes to search for: the pair that is rarest in other data. */
static const struct magic {
	uint8_t bytes[4];
	uint8_t pair; /* offset of the pair in the magic number */
	size_t (*length)(struct mpk_span bytes, bool *no_memory);
} magics[] = {
	{ { 0x50, 0xed, 0x55, 0xba }, 0, fatbin_bytes },
	{ { 0x7f, 'E', 'L', 'F' }, 0, elf_bytes },
	{ { '_', '_', 'C', 'L' }, 2, bundle_bytes },
	{ { 'C', 'C', 'O', 'B' }, 0, packed_bytes },
	{ { 0x10, 0xff, 0x10, 0xad }, 2, bundle_bytes },
	{ { 0x03, 0x02, 0x23, 0x07 }, 2, spirv_bytes },
};

/* Sixteen bytes, which every supported machine compares in one or a few instructions. */
typedef uint8_t chunk __attribute__((vector_size(16)));
typedef uint64_t words __attribute__((vector_size(16)));

enum { CHUNK_BYTES = sizeof(chunk), STEP_BYTES = 64, HOLE_BYTES = 1 << 20 };

static inline chunk load(const uint8_t *at)
{
	chunk out;

	memcpy(&out, at, sizeof out);
	return out;
}

/* Sets a byte to 0xff where one of the pairs begins. */
static inline chunk pairs_at(const uint8_t *at)
{
	chunk x = load(at), y = load(at + 1);

	return (chunk)((x == 0x50) & (y == 0xed)) | (chunk)((x == 0x7f) & (y == 'E')) |
	       (chunk)((x == 'C') & ((y == 'L') | (y == 'C'))) |
	       (chunk)((x == 0x10) & (y == 0xad)) | (chunk)((x == 0x23) & (y == 0x07));
}

/* Returns the first block of STEP_BYTES, from `at` on, that may contain a pair. The last incomplete
 * block is always returned. */
static const uint8_t *skip_others(const uint8_t *at, const uint8_t *end)
{
	for (; (size_t)(end - at) > STEP_BYTES; at += STEP_BYTES) {
		words found = (words)(pairs_at(at) | pairs_at(at + CHUNK_BYTES) |
				      pairs_at(at + (size_t)2 * CHUNK_BYTES) |
				      pairs_at(at + (size_t)3 * CHUNK_BYTES));

		if (found[0] | found[1])
			break;
	}
	return at;
}

/* Returns the magic number whose pair begins at an offset; NULL: none. */
static const struct magic *magic_of_pair(struct mpk_span bytes, size_t at)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(magics); i++) {
		const struct magic *m = &magics[i];

		if (at >= m->pair && bytes.len - at >= 4u - m->pair &&
		    memcmp(bytes.data + at - m->pair, m->bytes, 4) == 0)
			return m;
	}
	return NULL;
}

enum mpk_code mpk_device_find(struct mpk_span bytes, size_t *at, size_t *len, struct mpk_error *err)
{
	size_t first = *at, next_hole = 0;

	*len = 0;
	for (size_t i = first; i + 4 <= bytes.len;) {
		size_t until;

		/* Holes of a sparse file are zeros; they are skipped without being read. */
		if (i >= next_hole) {
			i += mpk_window_hole(mpk_span_from(bytes, i));
			next_hole = i + HOLE_BYTES;
			if (i + 4 > bytes.len)
				return MPK_OK;
		}
		until = next_hole < bytes.len ? next_hole : bytes.len;
		i = (size_t)(skip_others(bytes.data + i, bytes.data + until) - bytes.data);
		until = i + STEP_BYTES < until ? i + STEP_BYTES : until;
		for (; i < until; i++) {
			const struct magic *m = magic_of_pair(bytes, i);
			size_t begin = m ? i - m->pair : 0, own;
			bool no_memory = false;

			if (!m || begin < first)
				continue;
			own = m->length(mpk_span_from(bytes, begin), &no_memory);
			if (no_memory)
				return mpk_fail_nomem(err);
			if (!own || own > bytes.len - begin)
				continue;
			*at = begin;
			*len = own;
			return MPK_OK;
		}
	}
	return MPK_OK;
}
