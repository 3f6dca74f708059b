/* SPDX-License-Identifier: Apache-2.0 */
/* Compilers put the texts of code into sections of constants and merge those that are equal or
 * the end of another. So a text that begins in the middle of one need not be a text at all: only
 * code that points there tells. Code is searched for such pointers, not decoded: a displacement
 * that meets its target by chance has one chance in 2^32 at each byte. */
#include "elf/constants.h"

#include <string.h>

#include "base/cursor.h"
#include "elf/instructions.h"

/* Where a list of pieces grows; two pieces a section at most, before and after what is skipped. */
struct pieces {
	struct mpk_constants *items;
	size_t count;
	uint64_t left; /* bytes: sections that overlap would be read again and again */
};

/* What is longer than the bytes left is dropped as a whole, never cut: half of a text would be
 * misread. */
static void constants_add(struct pieces *p, struct mpk_span bytes, uint64_t address)
{
	if (!bytes.len || bytes.len > p->left)
		return;
	p->left -= bytes.len;
	p->items[p->count++] = (struct mpk_constants){ bytes, address };
}

/* The blob is skipped: it may be gigabytes, and what looks like a text in it is data. */
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

/* Linkers that do not separate code put constants into its segment. */
static void add_segments(const struct mpk_elf *e, struct mpk_span skip, struct pieces *p)
{
	struct mpk_span bytes;
	GElf_Phdr s;

	for (size_t i = 0; mpk_elf_segment(e, i, &s); i++)
		if (s.p_type == PT_LOAD && !(s.p_flags & PF_W) &&
		    mpk_span_sub(e->bytes, s.p_offset, s.p_filesz, &bytes))
			add_around(p, bytes, s.p_vaddr, skip);
}

/* Twice the file is more than any real one has in sections. */
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
		/* Read-only data that is loaded: tables of symbols and relocations have types of
		 * their own. */
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

/* A few passes over all of it, and at least as much as small files need. */
uint64_t mpk_constants_budget(const struct mpk_constants *constants, size_t count)
{
	enum { EACH = 4, LEAST = 1 << 24 };
	uint64_t budget = LEAST;

	for (size_t i = 0; i < count; i++)
		budget += (uint64_t)constants[i].bytes.len * EACH;
	return budget;
}

/* --- code --------------------------------------------------------------------------- */

/* The displacement is the end of its instruction in every form that only computes an address. */
static uint64_t x86_64_first(struct mpk_span code, uint64_t address, uint64_t target)
{
	for (size_t i = 0; i + 4 <= code.len; i++) {
		int32_t displacement = (int32_t)mpk_load_u32(code.data + i);

		if (address + i + 4 + (uint64_t)(int64_t)displacement == target)
			return i;
	}
	return UINT64_MAX;
}

/* The add, soon after the adrp at `from`, that makes the target of the register's page, other instructions
 * between them; it ends where the register gets something else.
 * Returns  where in the code; UINT64_MAX: nowhere */
static uint64_t aarch64_add_of(struct mpk_span code, size_t from, uint64_t wanted)
{
	enum { NEAR = 32 }; /* instructions */
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

/* adr reaches 1 MiB by itself; farther addresses are an adrp, which gives a page of 4 KiB, and
 * an add. */
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

/* Objects have no addresses yet: their code is searched by relocations. */
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

/* What the first add of Xd makes of the page in Xd, soon after the adrp at `from`. */
static bool aarch64_add_to(struct mpk_span code, size_t from, uint64_t *to)
{
	enum { NEAR = 8 }; /* instructions */
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
