/* SPDX-License-Identifier: Apache-2.0 */
/* host_hash.c - a digest of a function's code that does not depend on where it and what it refers to lie
 *
 * As where two functions are compared (host_code.c) no x86 instruction is decoded: four bytes may be a distance where
 * the bytes in front say so, and are one when they lead out of the function to something that is known. */
#include "base/cursor.h"
#include "compare/compare.h"
#include "compare/internal/compare.h"
#include "elf/instructions.h"

enum { SEGMENTS_MAX = 64 }; /* of a file that a linker made */

static bool is_inside(const struct mpk_host_function *f, uint64_t address)
{
	return address - f->address < f->code.len;
}

/* --- x86-64 ---------------------------------------------------------------------------------- */

/* call, jmp, jcc; or a ModRM byte that says RIP-relative, whose instruction may end with an immediate. */
static bool put_distance(struct mpk_host_code *h, const struct mpk_host_function *f, size_t i,
			 struct mpk_canon_hash *out)
{
	static const uint8_t immediates[] = { 0, 1, 2, 4 };
	const uint8_t *p = f->code.data + i;
	bool branch = p[-1] == 0xe8 || p[-1] == 0xe9 ||
		      (i > 1 && p[-2] == 0x0f && (p[-1] & 0xf0) == 0x80);
	uint64_t distance = (uint64_t)(int64_t)(int32_t)mpk_load_u32(p);

	if (!branch && (p[-1] & 0xc7) != 0x05)
		return false;
	for (size_t k = 0; k < (branch ? 1 : sizeof immediates); k++) {
		uint64_t to = f->address + i + 4 + immediates[k] + distance;

		if (!is_inside(f, to) && mpk_host_put_target(h, to, true, out))
			return true;
	}
	return false;
}

static void put_x86_64(struct mpk_host_code *h, const struct mpk_host_function *f,
		       struct mpk_canon_hash *out)
{
	size_t kept = 0;

	for (size_t i = 1; i + 4 <= f->code.len; i++) {
		if (!put_distance(h, f, i, out))
			continue;
		mpk_canon_bytes(out, mpk_span_of(f->code.data + kept, i - kept));
		kept = i + 4;
		i = kept;
	}
	mpk_canon_bytes(out, mpk_span_of(f->code.data + kept, f->code.len - kept));
}

/* --- AArch64 ----------------------------------------------------------------------------------- */

/* The pages that registers hold while a function is read from its beginning to its end. */
struct pages {
	uint64_t x[32];
	uint32_t known;
};

/* An add, a load or a store relative to a page, as its word without the low part of the address. */
static bool put_use(struct mpk_host_code *h, const struct pages *p, uint32_t word,
		    struct mpk_canon_hash *out)
{
	enum { LOW = 0xfff << 10 };
	unsigned reg = mpk_aarch64_rn(word);
	uint64_t low;

	if (!(p->known >> reg & 1) ||
	    !(mpk_aarch64_add(word, &low) || mpk_aarch64_access(word, &low)) ||
	    !mpk_host_put_target(h, p->x[reg] + low, true, out))
		return false;
	mpk_canon_u64(out, word & ~(uint32_t)LOW);
	return true;
}

static bool put_branch(struct mpk_host_code *h, const struct mpk_host_function *f, uint64_t at,
		       uint32_t word, struct mpk_canon_hash *out)
{
	enum { DISTANCE = 0x3ffffff };
	uint64_t to;

	if (!mpk_aarch64_branch(word, at, &to) || is_inside(f, to) ||
	    !mpk_host_put_target(h, to, true, out))
		return false;
	mpk_canon_u64(out, word & ~(uint32_t)DISTANCE);
	return true;
}

/* Where adr stands for a page and an add, it counts as the address alone. */
static bool put_adr(struct mpk_host_code *h, const struct mpk_host_function *f, uint64_t at,
		    uint32_t word, struct mpk_canon_hash *out)
{
	uint64_t to;

	if (!mpk_aarch64_adr(word, at, &to) || is_inside(f, to) ||
	    !mpk_host_put_target(h, to, true, out))
		return false;
	mpk_canon_u64(out, mpk_aarch64_rd(word));
	return true;
}

static void put_aarch64(struct mpk_host_code *h, const struct mpk_host_function *f,
			struct mpk_canon_hash *out)
{
	struct pages pages = { 0 };

	for (size_t i = 0; i + 4 <= f->code.len; i += 4) {
		uint32_t word = mpk_load_u32(f->code.data + i);
		uint64_t at = f->address + i, page;
		unsigned reg = mpk_aarch64_rd(word);

		if (mpk_aarch64_adrp(word, at, &page) && reg != MPK_AARCH64_XZR) {
			pages.x[reg] = page;
			pages.known |= (uint32_t)1 << reg;
			mpk_canon_u64(out, reg);
			continue;
		}
		if (!put_use(h, &pages, word, out) && !put_branch(h, f, at, word, out) &&
		    !put_adr(h, f, at, word, out))
			mpk_canon_u64(out, word);
		if (mpk_aarch64_written(word) != MPK_AARCH64_XZR)
			pages.known &= ~((uint32_t)1 << mpk_aarch64_written(word));
	}
}

enum mpk_code mpk_host_hash(struct mpk_host_code *h, const struct mpk_host_function *f,
			    struct mpk_canon_hash *out, struct mpk_error *err)
{
	uint16_t machine = h->elf.header.e_machine;
	bool is_linked = h->elf.header.e_type != ET_REL && h->elf.segment_count <= SEGMENTS_MAX;

	if (f->code.len > h->bytes_left)
		return mpk_fail(err, MPK_E_CORRUPT, "functions overlap");
	h->bytes_left -= f->code.len;
	mpk_canon_u64(out, f->code.len);
	if (is_linked && machine == EM_X86_64)
		put_x86_64(h, f, out);
	else if (is_linked && machine == EM_AARCH64 && f->code.len % 4 == 0)
		put_aarch64(h, f, out);
	else
		mpk_canon_bytes(out, f->code);
	return MPK_OK;
}
