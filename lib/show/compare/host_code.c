/* SPDX-License-Identifier: Apache-2.0 */
/* host_code.c - finds the target of an address in machine code, and whether two functions are the
 * same code apart from their addresses and those they refer to
 *
 * When a function grows, all functions after it move. Two distances in code are equal if they lead
 * to the same name or to the same bytes in both files. No instruction is decoded. At each byte that
 * differs, the code tests whether the byte may be part of a distance (x86) or of an instruction
 * relative to its own address (AArch64), and whether both lead to the same target. Anything not
 * recognised counts as different. */
#include <string.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "compare/compare.h"
#include "compare/internal/compare.h"
#include "elf/instructions.h"
#include "elf/symbols.h"

enum { SEGMENTS_MAX = 64 /* limit for files that a linker made */, TEXT_MAX = 4096, DATA_MIN = 64 };

/* --- what an address means ---------------------------------------------------------------- */

/* Returns the word at exactly this address if a loader fills it. */
static const struct mpk_host_slot *slot_at(const struct mpk_host_code *h, uint64_t address)
{
	size_t at = mpk_first_from(h->slots, h->slot_count, sizeof *h->slots,
				   offsetof(struct mpk_host_slot, at), address);

	return at < h->slot_count && h->slots[at].at == address ? &h->slots[at] : NULL;
}

/* Returns the first place that begins after an address. */
static size_t place_after(const struct mpk_host_place *places, size_t count, uint64_t address)
{
	return address == UINT64_MAX
		       ? count
		       : mpk_first_from(places, count, sizeof *places,
					offsetof(struct mpk_host_place, begin), address + 1);
}

/* Returns the last place that begins at or before an address and contains it; NULL if there is
 * none. */
static const struct mpk_host_place *find_place(const struct mpk_host_place *places, size_t count,
					       uint64_t address)
{
	size_t next = place_after(places, count, address);
	const struct mpk_host_place *last = next ? &places[next - 1] : NULL;

	return last && address - last->begin < last->bytes ? last : NULL;
}

/* Returns the symbol that begins last before the address and contains it. An enclosing symbol that
 * began earlier is not searched. */
static const struct mpk_host_place *place_at(const struct mpk_host_code *h, uint64_t address)
{
	return find_place(h->places, h->place_count, address);
}

static const struct mpk_host_place *section_at(const struct mpk_host_code *h, uint64_t address)
{
	return find_place(h->sections, h->section_count, address);
}

/* Returns the slot through which an entry of the PLT jumps; NULL if it is not such an entry. */
static const struct mpk_host_slot *plt_slot(const struct mpk_host_code *h, uint64_t address)
{
	uint64_t slot;

	return mpk_plt_slot(&h->elf, address, &slot) ? slot_at(h, slot) : NULL;
}

/* Section symbols have empty names: two of them need not be the same. */
static bool same_symbol(const char *a, const char *b)
{
	return a && b && a[0] && strcmp(a, b) == 0;
}

/* Compares two data items: as texts, or as the bytes of both symbols. Without symbols, it compares
 * enough bytes for any vector load. */
static bool same_data(struct mpk_host_code *a, uint64_t x, const struct mpk_host_code *b,
		      uint64_t y)
{
	const struct mpk_host_place *p = place_at(a, x), *q = place_at(b, y);
	struct mpk_span s, t, text, other;
	uint64_t off, len = DATA_MIN;

	if (!mpk_elf_at_address(&a->elf, x, &s, &off) || !mpk_elf_at_address(&b->elf, y, &t, &off))
		return false;
	if (p && q) {
		len = p->bytes - (x - p->begin);
		if (len != q->bytes - (y - q->begin))
			return false;
	} else if (mpk_span_text(s, 0, TEXT_MAX, &text) && mpk_span_text(t, 0, TEXT_MAX, &other) &&
		   text.len > 3) {
		return mpk_span_equal(text, other);
	}
	if (len > s.len || len > t.len || len > a->data_left)
		return false;
	a->data_left -= len;
	return memcmp(s.data, t.data, (size_t)len) == 0;
}

static bool same_target(struct mpk_host_code *a, uint64_t x, const struct mpk_host_code *b,
			uint64_t y, bool again)
{
	const struct mpk_host_slot *p = slot_at(a, x), *q = slot_at(b, y);
	const struct mpk_host_place *m, *n;
	const struct mpk_host_place *s = section_at(a, x), *t = section_at(b, y);

	if (p && q) {
		/* the loader overwrites the bytes in the file, so the relocation counts */
		if (p->name || q->name)
			return same_symbol(p->name, q->name) && p->addend == q->addend;
		/* one step only: a pointer to itself would never end */
		return again && same_target(a, p->addend, b, q->addend, false);
	}
	if (p || q || !s || !t || strcmp(s->name, t->name) != 0)
		return false;
	if (strncmp(s->name, ".plt", 4) == 0) {
		p = plt_slot(a, x);
		q = plt_slot(b, y);
		return p && q && same_symbol(p->name, q->name);
	}
	/* compilers name constants by numbers that change, so their content is compared */
	if (!(s->flags & (SHF_EXECINSTR | SHF_WRITE)))
		return same_data(a, x, b, y);
	m = place_at(a, x);
	n = place_at(b, y);
	if (m && n)
		return same_symbol(m->name, n->name) && x - m->begin == y - n->begin;
	return !m && !n && !(s->flags & SHF_EXECINSTR) && x - s->begin == y - t->begin;
}

/* Whether two addresses certainly lead to different imports: both are PLT entries, and the symbols
 * of their slots have different names. */
static bool other_import(const struct mpk_host_code *a, uint64_t x, const struct mpk_host_code *b,
			 uint64_t y)
{
	const struct mpk_host_place *s = section_at(a, x), *t = section_at(b, y);
	const struct mpk_host_slot *m, *n;

	if (!s || !t || strncmp(s->name, ".plt", 4) != 0 || strncmp(t->name, ".plt", 4) != 0)
		return false;
	m = plt_slot(a, x);
	n = plt_slot(b, y);
	return m && n && m->name && n->name && strcmp(m->name, n->name) != 0;
}

/* --- the same of one file alone ------------------------------------------------------------- */

/* Hashes the data at an address: a text, or the rest of a symbol. Without a symbol it hashes enough
 * bytes for any vector load, up to the next symbol or the end of the section. */
static bool host_put_data(struct mpk_host_code *h, const struct mpk_host_place *section, uint64_t x,
			  struct mpk_canon_hash *out)
{
	const struct mpk_host_place *p = place_at(h, x);
	size_t next = place_after(h->places, h->place_count, x);
	uint64_t off, len = section->bytes - (x - section->begin);
	struct mpk_span s;
	size_t text;

	if (!mpk_elf_at_address(&h->elf, x, &s, &off))
		return false;
	if (next < h->place_count && h->places[next].begin - x < len)
		len = h->places[next].begin - x;
	if (len > s.len)
		return false;
	text = strnlen((const char *)s.data, len < TEXT_MAX ? (size_t)len : TEXT_MAX);
	if (p)
		len = p->bytes - (x - p->begin);
	else if (text > 3 && text < TEXT_MAX)
		len = text;
	else if (len > DATA_MIN)
		len = DATA_MIN;
	if (len > s.len || len > h->data_left)
		return false;
	h->data_left -= len;
	/* trailing zeros may be padding in front of the next symbol */
	while (!p && len && !s.data[len - 1])
		len--;
	mpk_canon_bytes(out, mpk_span_str("data"));
	mpk_canon_bytes(out, mpk_span_of(s.data, (size_t)len));
	return true;
}

static void put_name(struct mpk_canon_hash *out, const char *what, const char *name,
		     uint64_t distance)
{
	mpk_canon_bytes(out, mpk_span_str(what));
	mpk_canon_symbol(out, mpk_span_str(name));
	mpk_canon_u64(out, distance);
}

bool mpk_host_put_target(struct mpk_host_code *h, uint64_t x, bool again,
			 struct mpk_canon_hash *out)
{
	const struct mpk_host_slot *slot = slot_at(h, x);
	const struct mpk_host_place *s = section_at(h, x), *p;

	if (slot && !slot->name)
		return again && mpk_host_put_target(h, slot->addend, false, out);
	if (!slot && !s)
		return false;
	if (!slot && strncmp(s->name, ".plt", 4) == 0) {
		slot = plt_slot(h, x);
		if (!slot || !slot->name)
			return false;
	}
	if (slot) {
		put_name(out, "import", slot->name, slot->addend);
		return true;
	}
	if (!(s->flags & (SHF_EXECINSTR | SHF_WRITE)))
		return host_put_data(h, s, x, out);
	p = place_at(h, x);
	if (!p && s->flags & SHF_EXECINSTR)
		return false;
	put_name(out, p ? "symbol" : "section", p ? p->name : s->name,
		 x - (p ? p->begin : s->begin));
	return true;
}

/* --- two functions ------------------------------------------------------------------------------ */

/* Two functions of equal length, one from each file. */
struct pair {
	struct mpk_host_code *a;
	const struct mpk_host_code *b;
	const struct mpk_host_function *f, *g;
};

/* Whether the four bytes at i may be a distance: after the opcode of call, jmp or jcc, or after a
 * RIP-relative ModRM byte. */
static bool is_distance(struct mpk_span code, size_t i, bool *branch)
{
	uint8_t last = code.data[i - 1];

	*branch = last == 0xe8 || last == 0xe9 ||
		  (i > 1 && code.data[i - 2] == 0x0f && (last & 0xf0) == 0x80);
	return *branch || (last & 0xc7) == 0x05;
}

/* Distances count from the end of the instruction, so after the immediate operand if there is
 * one. */
static bool same_distance(const struct pair *p, size_t i)
{
	static const uint8_t immediates[] = { 0, 1, 2, 4 };
	struct mpk_span x = p->f->code, y = p->g->code;
	bool branch;

	if (i < 1 || i + 4 > x.len || !is_distance(x, i, &branch) || !is_distance(y, i, &branch))
		return false;
	for (size_t k = 0; k < (branch ? 1 : MPK_ARRAY_COUNT(immediates)); k++) {
		uint64_t end = i + 4 + immediates[k];
		uint64_t to_x =
			p->f->address + end + (uint64_t)(int64_t)(int32_t)mpk_load_u32(x.data + i);
		uint64_t to_y =
			p->g->address + end + (uint64_t)(int64_t)(int32_t)mpk_load_u32(y.data + i);

		if (same_target(p->a, to_x, p->b, to_y, true))
			return true;
	}
	return false;
}

/* Compares byte by byte and skips distances with equal targets. A differing byte may be any of the
 * four bytes of a distance. */
static bool same_x86_64(const struct pair *p)
{
	struct mpk_span x = p->f->code, y = p->g->code;

	for (size_t i = 0; i < x.len;) {
		size_t begin = i;

		if (x.data[i] == y.data[i]) {
			i++;
			continue;
		}
		/* the distance may begin up to three bytes before this byte */
		while (i - begin < 3 && begin && !same_distance(p, begin))
			begin--;
		if (!same_distance(p, begin))
			return false;
		i = begin + 4;
	}
	return true;
}

/* The contents of the AArch64 registers while both functions are read from beginning to end. */
struct pages {
	uint64_t x[32], y[32];
	uint32_t known; /* bit per register: it holds a page address in both files */
	uint32_t moved; /* bit per register: its adrp instructions differ */
	/* bit per register: its adrp instructions differ, and no instruction has used the register
	 * yet */
	uint32_t unused;
};

/* A register is overwritten. Returns false if it held differing pages that no use has shown to be
 * equal. */
static bool host_code_forget(struct pages *p, unsigned reg)
{
	bool told = !(p->unused >> reg & 1);

	p->known &= ~((uint32_t)1 << reg);
	p->moved &= p->known;
	p->unused &= p->known;
	return told;
}

/* Whether the instructions v and w at i are both adrp; if so, notes their pages. */
static bool is_page(struct pages *p, const struct pair *f, size_t i, uint32_t v, uint32_t w,
		    bool *same)
{
	uint64_t x, y;
	unsigned reg = mpk_aarch64_rd(v);

	if (!mpk_aarch64_adrp(v, f->f->address + i, &x) ||
	    !mpk_aarch64_adrp(w, f->g->address + i, &y) || reg != mpk_aarch64_rd(w) ||
	    reg == MPK_AARCH64_XZR)
		return false;
	*same = host_code_forget(p, reg);
	p->x[reg] = x;
	p->y[reg] = y;
	p->known |= (uint32_t)1 << reg;
	p->moved |= (uint32_t)(v != w) << reg;
	p->unused |= (uint32_t)(v != w) << reg;
	return true;
}

/* Whether the instructions v and w are an add, a load or a store relative to a page. */
static bool is_use(struct pages *p, const struct pair *f, uint32_t v, uint32_t w, bool *same)
{
	enum { LOW = 0xfff << 10 };
	unsigned reg = mpk_aarch64_rn(v);
	uint64_t x, y;

	if ((v ^ w) & ~(uint32_t)LOW || !(p->known >> reg & 1) ||
	    !(mpk_aarch64_add(v, &x) || mpk_aarch64_access(v, &x)) ||
	    !(mpk_aarch64_add(w, &y) || mpk_aarch64_access(w, &y)))
		return false;
	p->unused &= ~((uint32_t)1 << reg);
	if (v != w || p->moved >> reg & 1)
		*same = same_target(f->a, p->x[reg] + x, f->b, p->y[reg] + y, true);
	return true;
}

/* Whether the instructions v and w at i are two branches of one kind, or two adr to one
 * register. */
static bool is_relative(const struct pair *p, size_t i, uint32_t v, uint32_t w, bool *same)
{
	uint64_t at = p->f->address + i, other = p->g->address + i, x, y;
	bool branches = (v ^ w) >> 26 == 0 && mpk_aarch64_branch(v, at, &x) &&
			mpk_aarch64_branch(w, other, &y);

	if (!branches && (mpk_aarch64_rd(v) != mpk_aarch64_rd(w) || !mpk_aarch64_adr(v, at, &x) ||
			  !mpk_aarch64_adr(w, other, &y)))
		return false;
	*same = v == w || same_target(p->a, x, p->b, y, true);
	return true;
}

/* A called function may overwrite x0 to x18. */
static bool forget_called(struct pages *p, uint32_t word)
{
	enum { CALLERS = 19 };
	bool same = true;

	if ((word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000)
		for (unsigned reg = 0; reg < CALLERS; reg++)
			same &= host_code_forget(p, reg);
	return same;
}

/* Differing pages count as equal if the addresses computed from them lead to the same target. */
static bool same_aarch64(const struct pair *p)
{
	struct pages pages = { 0 };

	for (size_t i = 0; i + 4 <= p->f->code.len; i += 4) {
		uint32_t v = mpk_load_u32(p->f->code.data + i);
		uint32_t w = mpk_load_u32(p->g->code.data + i);
		bool same = v == w;

		if (is_page(&pages, p, i, v, w, &same)) {
			if (!same)
				return false;
			continue;
		}
		if (!is_use(&pages, p, v, w, &same))
			(void)is_relative(p, i, v, w, &same);
		if (!same || !forget_called(&pages, v) ||
		    !host_code_forget(&pages, mpk_aarch64_written(v)))
			return false;
	}
	return !pages.unused;
}

/* Reads a call or jump with a 32-bit distance from its own end: 5 bytes on x86-64 (0xe8, 0xe9). */
static bool branch_at(const struct mpk_host_function *f, size_t i, bool is_arm, uint64_t *to)
{
	const uint8_t *at = f->code.data + i;

	if (is_arm)
		return mpk_aarch64_branch(mpk_load_u32(at), f->address + i, to);
	*to = f->address + i + 5 + (uint64_t)(int64_t)(int32_t)mpk_load_u32(at + 1);
	return at[0] == 0xe8 || at[0] == 0xe9;
}

/* Whether two equal branch instructions lead to different imports. When the PLT grows by an entry,
 * the code moves by the size of the entry, so the distance to the new entry can equal the old
 * distance to another one. */
static bool calls_others(const struct pair *p, bool is_arm)
{
	struct mpk_span x = p->f->code, y = p->g->code;
	size_t bytes = is_arm ? 4 : 5;
	uint64_t to_x, to_y;

	for (size_t i = 0; i + bytes <= x.len; i += is_arm ? 4 : 1)
		if (memcmp(x.data + i, y.data + i, bytes) == 0 &&
		    branch_at(p->f, i, is_arm, &to_x) && branch_at(p->g, i, is_arm, &to_y) &&
		    other_import(p->a, to_x, p->b, to_y))
			return true;
	return false;
}

bool mpk_host_same_code(struct mpk_host_code *a, const struct mpk_host_function *f,
			const struct mpk_host_code *b, const struct mpk_host_function *g)
{
	const struct pair p = { a, b, f, g };
	uint16_t machine = a->elf.header.e_machine;
	bool equal, is_arm = machine == EM_AARCH64 && f->code.len % 4 == 0;

	if (f->code.len != g->code.len || f->code.len > a->bytes_left)
		return false;
	a->bytes_left -= f->code.len;
	equal = mpk_span_equal(f->code, g->code);
	if (a->elf.segment_count > SEGMENTS_MAX || b->elf.segment_count > SEGMENTS_MAX ||
	    machine != b->elf.header.e_machine || a->elf.header.e_type == ET_REL ||
	    b->elf.header.e_type == ET_REL || (machine != EM_X86_64 && !is_arm))
		return equal;
	return (equal || (is_arm ? same_aarch64(&p) : same_x86_64(&p))) &&
	       !calls_others(&p, is_arm);
}
