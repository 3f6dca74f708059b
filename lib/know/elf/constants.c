/* SPDX-License-Identifier: Apache-2.0 */
/* constants.c - the constant data of compiled code, and the addresses that code computes
 *
 * Compilers put texts into sections of constants and merge equal texts, and texts that are the end
 * of another one. So a text that begins inside another one may be no text at all: it is one if code
 * points at it. The code is searched for such pointers without being decoded: at each byte, a
 * displacement meets a given target by chance once in 2^32. */
#include "elf/constants.h"

#include <string.h>

#include "base/cursor.h"
#include "elf/instructions.h"

/* The list of pieces while it grows. A section gives two pieces at most: before and after the bytes
 * to skip. */
struct pieces {
	struct mpk_constants *items;
	size_t count;
	uint64_t left; /* bytes that may still be added: overlapping sections would be read again
		        * and again */
};

/* Adds a piece. One with more bytes than are left is dropped as a whole, because half of a text
 * would be misread. */
static void constants_add(struct pieces *p, struct mpk_span bytes, uint64_t address)
{
	if (!bytes.len || bytes.len > p->left)
		return;
	p->left -= bytes.len;
	p->items[p->count++] = (struct mpk_constants){ bytes, address };
}

/* Adds a section without the blob: the blob may have gigabytes, and what looks like a text in it is
 * data. */
static void add_around(struct pieces *p, struct mpk_span bytes, uint64_t address,
		       struct mpk_span skip)
{
	const uint8_t *end, *skip_end;

	if (!bytes.len || !skip.len) {
		constants_add(p, bytes, address);
		return;
	}
	end = bytes.data + bytes.len;
	skip_end = skip.data + skip.len;
	if (skip.data >= end || skip_end <= bytes.data) {
		constants_add(p, bytes, address);
		return;
	}
	if (skip.data > bytes.data)
		constants_add(p, mpk_span_of(bytes.data, (size_t)(skip.data - bytes.data)),
			      address);
	if (skip_end < end)
		constants_add(p, mpk_span_of(skip_end, (size_t)(end - skip_end)),
			      address + (uint64_t)(skip_end - bytes.data));
}

/* Adds segments with code, too: some linkers put constants and code into one segment. */
static void add_segments(const struct mpk_elf *e, struct mpk_span skip, struct pieces *p)
{
	struct mpk_span bytes;
	GElf_Phdr s;

	for (size_t i = 0; mpk_elf_segment(e, i, &s); i++)
		if (s.p_type == PT_LOAD && !(s.p_flags & PF_W) &&
		    mpk_span_sub(e->bytes, s.p_offset, s.p_filesz, &bytes))
			add_around(p, bytes, s.p_vaddr, skip);
}

/* The limit is twice the file, which is more than the sections of any real file have. */
enum mpk_code mpk_elf_constants(const struct mpk_elf *e, struct mpk_span skip,
				struct mpk_arena *arena, struct mpk_constants **out, size_t *count,
				struct mpk_error *err)
{
	size_t most = 2 * (e->section_count > 1 ? e->section_count : e->segment_count);
	struct pieces p = {
		.items = mpk_arena_array(arena, most, sizeof *p.items),
		.left = 2 * (uint64_t)e->bytes.len,
	};

	MPK_TRY_ALLOC(p.items, err);
	if (e->section_count > 1) {
		/* Read-only data that is loaded. The tables of symbols and relocations have types of their own. */
		for (size_t i = 1; i < e->section_count; i++) {
			struct mpk_span bytes;
			GElf_Shdr s;

			if (mpk_elf_section(e, i, &s, NULL) != MPK_OK ||
			    s.sh_type != SHT_PROGBITS || !(s.sh_flags & SHF_ALLOC) ||
			    s.sh_flags & (SHF_EXECINSTR | SHF_WRITE))
				continue;
			if (mpk_span_sub(e->bytes, s.sh_offset, s.sh_size, &bytes))
				add_around(&p, bytes, s.sh_addr, skip);
		}
	} else
		add_segments(e, skip, &p);
	*out = p.items;
	*count = p.count;
	return MPK_OK;
}

/* A few passes over all constants, and at least the bytes that small files need. */
uint64_t mpk_constants_budget(const struct mpk_constants *constants, size_t count)
{
	enum { EACH = 4, LEAST = 1 << 24 };
	uint64_t budget = LEAST;

	for (size_t i = 0; i < count; i++)
		budget += (uint64_t)constants[i].bytes.len * EACH;
	return budget;
}

/* --- code --------------------------------------------------------------------------- */

/* In every instruction that only computes an address, the displacement is the last four bytes. */
static uint64_t x86_64_first(struct mpk_span code, uint64_t address, uint64_t target)
{
	for (size_t i = 0; i + 4 <= code.len; i++) {
		int32_t displacement = (int32_t)mpk_load_u32(code.data + i);

		if (address + i + 4 + (uint64_t)(int64_t)displacement == target)
			return i;
	}
	return UINT64_MAX;
}

/* Finds the add that follows the adrp at `from` within a few instructions and adds the target's
 * offset to the page. The search ends where the register gets another value.
 * Returns  the offset in the code; UINT64_MAX: none is found */
static uint64_t aarch64_add_of(struct mpk_span code, size_t from, uint64_t wanted)
{
	enum { NEAR = 32 }; /* in instructions */
	unsigned page_in = mpk_aarch64_rd(mpk_load_u32(code.data + from));
	uint64_t low;

	for (size_t i = from + 4, n = 0; n < NEAR && i + 4 <= code.len; i += 4, n++) {
		uint32_t word = mpk_load_u32(code.data + i);

		if (mpk_aarch64_add(word, &low) && mpk_aarch64_rn(word) == page_in && low == wanted)
			return i;
		if (mpk_aarch64_written(word) == page_in)
			break;
	}
	return UINT64_MAX;
}

/* adr reaches 1 MiB. For addresses farther away the compiler emits adrp, which gives a page of 4
 * KiB, and add. */
static uint64_t aarch64_first(struct mpk_span code, uint64_t address, uint64_t target)
{
	uint64_t first = UINT64_MAX, to;

	for (size_t i = 0; i + 4 <= code.len && i < first; i += 4) {
		uint32_t word = mpk_load_u32(code.data + i);

		if (mpk_aarch64_adr(word, address + i, &to) && to == target)
			return i;
		if (mpk_aarch64_adrp(word, address + i, &to) && to == (target & ~(uint64_t)0xfff)) {
			uint64_t at = aarch64_add_of(code, i, target & 0xfff);

			first = at < first ? at : first;
		}
	}
	return first;
}

/* Objects are refused: their code has no addresses yet. */
static bool find_code(const struct mpk_elf *e, uint64_t address, uint64_t bytes,
		      struct mpk_span *out)
{
	uint64_t off;

	return e->header.e_type != ET_REL && mpk_elf_at_address(e, address, out, &off) &&
	       mpk_span_sub(*out, 0, bytes, out);
}

/* UINT64_MAX also for machines whose code is not searched: then nothing is said about them. */
uint64_t mpk_elf_code_first(const struct mpk_elf *e, uint64_t address, uint64_t bytes,
			    uint64_t target)
{
	struct mpk_span code;

	if (!find_code(e, address, bytes, &code))
		return UINT64_MAX;
	switch (e->header.e_machine) {
	case EM_X86_64:
		return x86_64_first(code, address, target);
	case EM_AARCH64:
		return aarch64_first(code, address, target);
	default:
		return UINT64_MAX;
	}
}

/* lea disp32(%rip), %reg with 64-bit operands */
static size_t x86_64_addresses(struct mpk_span code, uint64_t address, struct mpk_code_address *out,
			       size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i + 7 <= code.len && n < max; i++) {
		const uint8_t *at = code.data + i;
		uint64_t displacement = (uint64_t)(int64_t)(int32_t)mpk_load_u32(at + 3);

		if ((at[0] & 0xfb) == 0x48 && at[1] == 0x8d && (at[2] & 0xc7) == 0x05)
			out[n++] = (struct mpk_code_address){ address + i,
							      address + i + 7 + displacement };
	}
	return n;
}

/* Sets *to to the address that the first add to the register of the adrp at `from` makes, if it
 * follows soon. */
static bool aarch64_add_to(struct mpk_span code, size_t from, uint64_t *to)
{
	enum { NEAR = 8 }; /* in instructions */
	unsigned page_in = mpk_aarch64_rd(mpk_load_u32(code.data + from));
	uint64_t low;

	for (size_t i = from + 4; i + 4 <= code.len && i <= from + (size_t)4 * NEAR; i += 4) {
		uint32_t word = mpk_load_u32(code.data + i);

		if (!mpk_aarch64_add(word, &low) || mpk_aarch64_rn(word) != page_in)
			continue;
		*to += low;
		return true;
	}
	return false;
}

static size_t aarch64_addresses(struct mpk_span code, uint64_t address,
				struct mpk_code_address *out, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i + 4 <= code.len && n < max; i += 4) {
		uint32_t word = mpk_load_u32(code.data + i);
		uint64_t to;

		if (mpk_aarch64_adr(word, address + i, &to) ||
		    (mpk_aarch64_adrp(word, address + i, &to) && aarch64_add_to(code, i, &to)))
			out[n++] = (struct mpk_code_address){ address + i, to };
	}
	return n;
}

size_t mpk_elf_code_addresses(const struct mpk_elf *e, uint64_t address, uint64_t bytes,
			      struct mpk_span *code, struct mpk_code_address *out, size_t max)
{
	if (!find_code(e, address, bytes, code))
		return 0;
	return e->header.e_machine == EM_X86_64    ? x86_64_addresses(*code, address, out, max)
	       : e->header.e_machine == EM_AARCH64 ? aarch64_addresses(*code, address, out, max)
						   : 0;
}
