/* SPDX-License-Identifier: Apache-2.0 */
/* frame.c - the effect of x86-64 and AArch64 instructions on registers, on the stack and on memory
 * near known values
 *
 * Compilers set up the arguments of calls with few instructions: moves, lea, additions, xor of a
 * register with itself, push and pop, and moves of 16 bytes. For every other instruction only its
 * outputs are marked as unknown. */
#include <string.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "hostcode/internal/frame.h"

static struct mpk_content new_thing(struct mpk_frame *f)
{
	return (struct mpk_content){ MPK_CONTENT_THING, f->things++, 0 };
}

static struct mpk_content number(uint64_t value)
{
	return (struct mpk_content){ MPK_CONTENT_NUMBER, value, 0 };
}

/* A call changes only the registers that its caller saves. */
static bool step_call(struct mpk_frame *f, const struct mpk_x86 *i)
{
	static const uint8_t saved_by_caller[] = { 0, 1, 2, 6, 7, 8, 9, 10, 11 };

	if (i->map || (i->opcode != 0xe8 && (i->opcode != 0xff || (i->reg & 7) != 2)))
		return false;
	for (size_t r = 0; r < sizeof saved_by_caller; r++)
		f->regs[saved_by_caller[r]] = new_thing(f);
	memset(f->vectors, 0, sizeof f->vectors);
	return true;
}

/* --- memory -------------------------------------------------------------------------------- */

enum { NEAR = 64 }; /* slots that are tried for a word */

/* Returns the slot of a place in memory; else a free slot; else another one, whose content is
 * forgotten. */
static struct mpk_frame_word *frame_word_at(const struct mpk_frame *f, struct mpk_content place)
{
	uint64_t hash = (place.a * 0x9e3779b97f4a7c15u ^ (uint64_t)place.b) * 0xff51afd7ed558ccdu;
	size_t first = (size_t)(hash >> 40), i = 0;
	struct mpk_frame_word *w;

	do {
		w = &f->words[(first + i) % MPK_FRAME_WORDS];
	} while (w->round == f->round && (w->base.a != place.a || w->base.b != place.b) &&
		 ++i < NEAR);
	return w;
}

static bool is_forgotten(const struct mpk_frame *f, uint64_t when)
{
	for (size_t i = f->forgotten_count; i--;)
		if (when > f->forgotten[i].from)
			return when <= f->forgotten[i].to;
	return false;
}

/* Spans that the new one contains, and the last where there is no room, become part of it. */
void mpk_frame_forget_since(struct mpk_frame *f, uint64_t things)
{
	size_t n = f->forgotten_count;

	while (n && (f->forgotten[n - 1].to >= things || n == MPK_FRAME_SPANS)) {
		n--;
		if (f->forgotten[n].from < things)
			things = f->forgotten[n].from;
	}
	f->forgotten[n].from = things;
	f->forgotten[n].to = f->things++;
	f->forgotten_count = n + 1;
}

/* Returns the value at a place; NULL: not known. */
static const struct mpk_content *frame_find(const struct mpk_frame *f, struct mpk_content place)
{
	const struct mpk_frame_word *w = frame_word_at(f, place);

	return w->round == f->round && w->base.a == place.a && w->base.b == place.b &&
			       !is_forgotten(f, w->when)
		       ? &w->held
		       : NULL;
}

static struct mpk_content moved(struct mpk_content c, int64_t by)
{
	if (c.kind == MPK_CONTENT_THING)
		c.b = (int64_t)((uint64_t)c.b + (uint64_t)by);
	else
		c.a += (uint64_t)by;
	return c;
}

static void put_word(struct mpk_frame *f, struct mpk_content place, struct mpk_content held)
{
	struct mpk_frame_word *w;

	if (f->word_count == MPK_FRAME_WORDS / 4 * 3) { /* The table is nearly full and searches get
							 * long, so everything is forgotten. */
		f->round++;
		f->word_count = 0;
	}
	w = frame_word_at(f, place);
	f->word_count += w->round != f->round;
	*w = (struct mpk_frame_word){ place, held, f->round, f->things };
}

void mpk_frame_put(struct mpk_frame *f, struct mpk_content place, struct mpk_content held,
		   unsigned bytes)
{
	struct mpk_content last = { .kind = MPK_CONTENT_HALF };

	if (place.kind == MPK_CONTENT_ADDRESS && held.kind == MPK_CONTENT_NAMED) {
		f->named_at = place.a;
		f->named_by = held.a;
	}
	if (place.kind != MPK_CONTENT_THING)
		return;
	if (held.kind == MPK_CONTENT_NUMBER) {
		last = number(held.a >> 32);
		held = number(held.a & UINT32_MAX);
	}
	put_word(f, place, held);
	if (bytes == 8)
		put_word(f, moved(place, 4), last);
}

/* Eight bytes are a value that was stored as eight, or two numbers of four. */
static struct mpk_content join_words(struct mpk_content first, struct mpk_content last,
				     struct mpk_content otherwise)
{
	if (first.kind == MPK_CONTENT_NUMBER && last.kind == MPK_CONTENT_NUMBER)
		return number(last.a << 32 | first.a);
	if (first.kind == MPK_CONTENT_NUMBER || first.kind == MPK_CONTENT_HALF ||
	    last.kind != MPK_CONTENT_HALF)
		return otherwise;
	return first;
}

static struct mpk_content loaded_from(const struct mpk_frame *f, uint64_t address)
{
	size_t i = mpk_first_from(f->pointers, f->pointer_count, sizeof *f->pointers,
				  offsetof(struct mpk_frame_pointer, address), address);

	if (i < f->pointer_count && f->pointers[i].address == address)
		return (struct mpk_content){ MPK_CONTENT_ADDRESS, f->pointers[i].to, 0 };
	return (struct mpk_content){ MPK_CONTENT_LOADED, address, 0 };
}

struct mpk_content mpk_frame_at(struct mpk_frame *f, struct mpk_content place, unsigned bytes)
{
	struct mpk_content made = new_thing(f), first;
	const struct mpk_content *held, *last;

	if (place.kind == MPK_CONTENT_ADDRESS)
		return loaded_from(f, place.a);
	if (place.kind != MPK_CONTENT_THING)
		return made;
	held = frame_find(f, place);
	if (!held) { /* A second read returns the same value. */
		mpk_frame_put(f, place, made, bytes);
		return made;
	}
	first = *held;
	if (bytes == 4)
		return first.kind == MPK_CONTENT_HALF ? made : first;
	last = frame_find(f, moved(place, 4));
	return join_words(first, last ? *last : made, made);
}

/* Returns the address of an operand in memory. */
static struct mpk_content frame_place(struct mpk_frame *f, const struct mpk_x86 *i, uint64_t next)
{
	struct mpk_content base;

	if (i->is_indexed)
		return new_thing(f);
	if (i->is_rip)
		return (struct mpk_content){ MPK_CONTENT_ADDRESS, next + (uint64_t)(int64_t)i->disp,
					     0 };
	base = f->regs[i->rm];
	return base.kind == MPK_CONTENT_THING || base.kind == MPK_CONTENT_ADDRESS
		       ? moved(base, i->disp)
		       : new_thing(f);
}

static void forget_place(struct mpk_frame *f, struct mpk_content place, unsigned bytes)
{
	for (unsigned at = 0; at < bytes; at += 4)
		mpk_frame_put(f, moved(place, at), new_thing(f), 4);
}

/* --- vectors ------------------------------------------------------------------------------- */

/* Returns half of a vector in the image: an address that a relocation puts there, or a number. */
static struct mpk_content half_at(const struct mpk_frame *f, uint64_t address, const uint8_t *bytes)
{
	struct mpk_content c = loaded_from(f, address);

	return c.kind == MPK_CONTENT_ADDRESS ? c : number(mpk_load_u64(bytes));
}

static void take_vector(struct mpk_frame *f, unsigned reg, struct mpk_content place, bool is_half)
{
	struct mpk_span bytes;
	uint64_t off;

	f->vectors[reg].is_known = place.kind == MPK_CONTENT_THING;
	if (place.kind == MPK_CONTENT_THING) {
		f->vectors[reg].low = mpk_frame_at(f, place, 8);
		f->vectors[reg].high = is_half ? number(0) : mpk_frame_at(f, moved(place, 8), 8);
		return;
	}
	if (place.kind != MPK_CONTENT_ADDRESS ||
	    !mpk_elf_at_address(f->elf, place.a, &bytes, &off) || bytes.len < 16)
		return;
	f->vectors[reg].is_known = true;
	f->vectors[reg].low = half_at(f, place.a, bytes.data);
	f->vectors[reg].high = is_half ? number(0) : half_at(f, place.a + 8, bytes.data + 8);
}

static void put_vector(struct mpk_frame *f, unsigned reg, struct mpk_content place, bool is_half)
{
	if (!f->vectors[reg].is_known) {
		forget_place(f, place, is_half ? 8 : 16);
		return;
	}
	mpk_frame_put(f, place, f->vectors[reg].low, 8);
	if (!is_half)
		mpk_frame_put(f, moved(place, 8), f->vectors[reg].high, 8);
}

/* Handles the ways in which two words become a vector: movq from a register, movhps from memory, punpcklqdq. */
static bool step_halves(struct mpk_frame *f, const struct mpk_x86 *i, uint64_t next)
{
	if (i->is_vex)
		return false;
	if (i->opcode == 0x6e && i->prefix == 0x66 && i->wide && !i->is_memory) {
		f->vectors[i->reg].is_known = true;
		f->vectors[i->reg].low = f->regs[i->rm];
		f->vectors[i->reg].high = number(0);
		return true;
	}
	if (i->opcode == 0x16 && !i->prefix && i->is_memory) {
		f->vectors[i->reg].high = mpk_frame_at(f, frame_place(f, i, next), 8);
		return true;
	}
	if (i->opcode != 0x6c || i->prefix != 0x66 || i->is_memory)
		return false;
	f->vectors[i->reg].is_known &= f->vectors[i->rm].is_known;
	f->vectors[i->reg].high = f->vectors[i->rm].low;
	return true;
}

/* Handles SSE instructions; returns false for those that write general registers. */
static bool step_vector(struct mpk_frame *f, const struct mpk_x86 *i, uint64_t next)
{
	uint8_t op = i->opcode;
	bool scalar = i->prefix == 0xf2 || i->prefix == 0xf3, loads, stores, half;

	if (i->map != 1 || !((op >= 0x10 && op <= 0x17) || (op >= 0x28 && op <= 0x2f) ||
			     (op >= 0x50 && op <= 0x7f) || op >= 0xd0 || op == 0xc2 || op == 0xc6))
		return false;
	if (op == 0x2c || op == 0x2d || op == 0x50 || op == 0xd7 || (op == 0x7e && !scalar))
		return false;
	if (step_halves(f, i, next))
		return true;
	loads = op == 0x10 || op == 0x28 || op == 0x6f || op == 0x7e;
	stores = op == 0x11 || op == 0x13 || op == 0x17 || op == 0x29 || op == 0x2b || op == 0x7f ||
		 op == 0xd6 || op == 0xe7;
	half = op == 0x13 || op == 0x17 || op == 0x7e || op == 0xd6 ||
	       (scalar && (op == 0x10 || op == 0x11));
	if (stores && i->is_memory) {
		if (i->is_vex)
			forget_place(f, frame_place(f, i, next), 64);
		else
			put_vector(f, i->reg, frame_place(f, i, next), half);
	} else if ((op == 0x57 || op == 0xef) && !i->is_memory && i->rm == i->reg && !i->is_vex) {
		f->vectors[i->reg].is_known = true;
		f->vectors[i->reg].low = f->vectors[i->reg].high = number(0);
	} else if (loads && i->is_memory && !i->is_vex) {
		take_vector(f, i->reg, frame_place(f, i, next), half);
	} else {
		f->vectors[i->reg].is_known = false;
		f->vectors[i->rm].is_known &= i->is_memory;
	}
	return true;
}

/* --- other instructions ---------------------------------------------------------------------- */

/* Returns the value that a move of 32 bits keeps. */
static struct mpk_content as_wide(struct mpk_frame *f, const struct mpk_x86 *i,
				  struct mpk_content c)
{
	if (i->wide)
		return c;
	return c.kind == MPK_CONTENT_NUMBER ? number(c.a & UINT32_MAX) : new_thing(f);
}

static void write_operand(struct mpk_frame *f, const struct mpk_x86 *i, uint64_t next,
			  struct mpk_content c)
{
	if (i->is_memory)
		mpk_frame_put(f, frame_place(f, i, next), c, i->wide ? 8 : 4);
	else
		f->regs[i->rm] = c;
}

/* add and sub with a constant. */
static void step_add(struct mpk_frame *f, const struct mpk_x86 *i, uint64_t next)
{
	int64_t by = (i->reg & 7) == 0 ? (int64_t)i->imm : (int64_t)(0 - i->imm);
	struct mpk_content c = new_thing(f);

	if (!i->is_memory && i->wide && ((i->reg & 7) == 0 || (i->reg & 7) == 5))
		c = moved(f->regs[i->rm], by);
	if (c.kind != MPK_CONTENT_THING && c.kind != MPK_CONTENT_NUMBER &&
	    c.kind != MPK_CONTENT_ADDRESS)
		c = new_thing(f);
	write_operand(f, i, next, c);
}

/* Instructions that only read their operands: cmp, test, bt, and some without operands. */
static bool step_reads(const struct mpk_x86 *i)
{
	unsigned operation = i->reg & 7;

	if (!i->has_modrm)
		return i->map != 0 || i->opcode < 0x50 || i->opcode > 0x5f;
	if (i->map == 1)
		return i->opcode == 0xa3 || (i->opcode == 0xba && operation == 4) ||
		       (i->opcode & 0xf8) == 0x18;
	if (i->map)
		return false;
	return (i->opcode >= 0x38 && i->opcode <= 0x3b) || i->opcode == 0x84 || i->opcode == 0x85 ||
	       (i->opcode >= 0x80 && i->opcode <= 0x83 && operation == 7) ||
	       ((i->opcode == 0xf6 || i->opcode == 0xf7) && operation < 2);
}

/* Instructions without a ModRM byte: push, pop, a load of a constant, and the few that write rax
 * and rdx. */
static bool step_plain(struct mpk_frame *f, const struct mpk_x86 *i)
{
	struct mpk_content *stack = &f->regs[MPK_X86_RSP];

	if (i->has_modrm || i->map)
		return false;
	if (i->opcode >= 0x50 && i->opcode <= 0x57) {
		*stack = moved(*stack, -8);
		mpk_frame_put(f, *stack, f->regs[i->rm], 8);
	} else if (i->opcode >= 0x58 && i->opcode <= 0x5f) {
		struct mpk_content held = mpk_frame_at(f, *stack, 8);

		*stack = moved(*stack, 8);
		f->regs[i->rm] = held;
	} else if (i->opcode >= 0xb8 && i->opcode <= 0xbf) {
		f->regs[i->rm] = number(i->wide ? i->imm : i->imm & UINT32_MAX);
	} else if (i->opcode >= 0xb0 && i->opcode <= 0xb7) {
		f->regs[i->rm] = new_thing(f);
	} else {
		f->regs[MPK_X86_RAX] = new_thing(f);
		if (i->opcode == 0x99)
			f->regs[MPK_X86_RDX] = new_thing(f);
	}
	return true;
}

static bool step_move(struct mpk_frame *f, const struct mpk_x86 *i, uint64_t next)
{
	struct mpk_content c;

	if (i->map || !i->has_modrm || i->prefix)
		return false;
	switch (i->opcode) {
	case 0x89:
		write_operand(f, i, next, as_wide(f, i, f->regs[i->reg]));
		return true;
	case 0x8b:
		c = i->is_memory ? mpk_frame_at(f, frame_place(f, i, next), i->wide ? 8 : 4)
				 : f->regs[i->rm];
		f->regs[i->reg] = as_wide(f, i, c);
		return true;
	case 0x8d:
		f->regs[i->reg] = frame_place(f, i, next);
		return true;
	case 0xc7:
		write_operand(f, i, next, number(i->wide ? i->imm : i->imm & UINT32_MAX));
		return true;
	case 0x31:
	case 0x33:
		if (i->is_memory || i->rm != i->reg)
			return false;
		f->regs[i->reg] = number(0);
		return true;
	case 0x81:
	case 0x83:
		if ((i->reg & 7) == 7)
			return false;
		step_add(f, i, next);
		return true;
	default:
		return false;
	}
}

/* Opcodes for which ModRM's register field is an operation number, or unused. */
static bool is_group(const struct mpk_x86 *i)
{
	uint8_t op = i->opcode;

	if (i->map == 0)
		return (op >= 0x80 && op <= 0x83) || op == 0x8f || (op & 0xfe) == 0xc0 ||
		       (op & 0xfe) == 0xc6 || (op >= 0xd0 && op <= 0xdf) || op >= 0xf6;
	return i->map == 1 && (op < 2 || (op >= 0x90 && op <= 0x9f) || op == 0xae || op == 0xba);
}

void mpk_frame_step(struct mpk_frame *f, const struct mpk_x86 *i, uint64_t next)
{
	if (step_call(f, i) || (step_reads(i) && i->has_modrm))
		return;
	if (step_move(f, i, next) || step_plain(f, i) || step_vector(f, i, next) || !i->has_modrm)
		return;
	/* Either operand may be the one that is written. */
	if (i->is_memory)
		forget_place(f, frame_place(f, i, next), 8);
	else
		f->regs[i->rm] = new_thing(f);
	if (!is_group(i))
		f->regs[i->reg] = new_thing(f);
	if (!i->map && (i->opcode & 0xfe) == 0xf6) { /* multiplication and division */
		f->regs[MPK_X86_RAX] = new_thing(f);
		f->regs[MPK_X86_RDX] = new_thing(f);
	}
}

/* --- AArch64 -------------------------------------------------------------------------------- */

enum { SP = 31, CALLER_SAVES = 19 };

static int64_t bits_signed(uint32_t word, unsigned at, unsigned bits)
{
	return (int64_t)mpk_aarch64_signed(word >> at & ((1u << bits) - 1), (int)bits);
}

/* Loads and stores of registers of 4 and 8 bytes, alone and in pairs, with their three ways to change the base; of
 * other sizes, and of vectors, what they write is unknown. */
static bool step_access(struct mpk_frame *f, uint32_t word)
{
	bool pair = (word & 0x3a000000) == 0x28000000, scaled = (word & 0x3b000000) == 0x39000000;
	bool unscaled = (word & 0x3b200000) == 0x38000000, vector = word >> 26 & 1;
	unsigned mode = pair ? word >> 23 & 3 : word >> 10 & 3, rt = word & 31, rn = word >> 5 & 31;
	unsigned size = pair ? (word >> 31 ? 8u : 4u) : 1u << (word >> 30);
	bool loads = pair || vector ? word >> 22 & 1 : (word >> 22 & 3) != 0, before;
	struct mpk_content base = f->regs[rn], place = base;
	unsigned regs[2] = { rt, pair ? word >> 10 & 31 : rt };
	int64_t by;

	if (!pair && !scaled && (!unscaled || mode == 2))
		return false;
	if (vector)
		size = pair ? 4u << (word >> 30) : (word >> 23 & 1) ? 16u : size;
	by = pair     ? bits_signed(word, 15, 7) * size
	     : scaled ? (int64_t)(word >> 10 & 0xfff) * size
		      : bits_signed(word, 12, 9);
	before = scaled || mode != 1;
	if (before)
		place = moved(base, by);
	if (place.kind != MPK_CONTENT_THING && place.kind != MPK_CONTENT_ADDRESS)
		place = new_thing(f);
	for (unsigned i = 0; i < (pair ? 2u : 1u); i++) {
		struct mpk_content at = moved(place, (int64_t)i * size);

		if (vector && size == 16 && loads)
			take_vector(f, regs[i], at, false);
		else if (vector && loads)
			f->vectors[regs[i]].is_known = false;
		else if (vector && size == 16)
			put_vector(f, regs[i], at, false);
		else if (vector)
			forget_place(f, at, size < 4 ? 4 : size);
		else if (loads)
			f->regs[regs[i]] = regs[i] == MPK_AARCH64_XZR ? f->regs[SP]
					   : size < 4                 ? new_thing(f)
								      : mpk_frame_at(f, at, size);
		else if (size >= 4)
			mpk_frame_put(f, at,
				      regs[i] == MPK_AARCH64_XZR ? number(0) : f->regs[regs[i]],
				      size);
		else
			forget_place(f, at, 4);
	}
	if (!scaled && (mode & 1))
		f->regs[rn] = base.kind == MPK_CONTENT_THING ? moved(base, by) : new_thing(f);
	return true;
}

void mpk_frame_step_aarch64(struct mpk_frame *f, uint32_t word, uint64_t address)
{
	unsigned rd = mpk_aarch64_rd(word), rn = mpk_aarch64_rn(word);
	uint64_t to, shift = 16 * (uint64_t)(word >> 21 & 3);
	struct mpk_content c = new_thing(f);

	if ((word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000) { /* bl, blr */
		for (unsigned r = 0; r < CALLER_SAVES; r++)
			f->regs[r] = new_thing(f);
		return;
	}
	if (mpk_aarch64_adr(word, address, &to) || mpk_aarch64_adrp(word, address, &to)) {
		c = (struct mpk_content){ MPK_CONTENT_ADDRESS, to, 0 };
	} else if ((word & 0xbf800000) == 0x91000000) {
		/* add and sub of a constant; moves to and from the stack pointer are such */
		int64_t by = (int64_t)(word >> 10 & 0xfff) << (word >> 22 & 1 ? 12 : 0);

		c = f->regs[rn];
		if (c.kind == MPK_CONTENT_THING || c.kind == MPK_CONTENT_ADDRESS ||
		    c.kind == MPK_CONTENT_NUMBER)
			c = moved(c, word >> 30 & 1 ? -by : by);
		else
			c = new_thing(f);
		f->regs[rd] = c;
		return;
	} else if ((word & 0x7fe0ffe0) == 0x2a0003e0) { /* mov Xd, Xm */
		unsigned rm = word >> 16 & 31;

		c = rm == MPK_AARCH64_XZR ? number(0) : f->regs[rm];
		if (!(word >> 31) && c.kind != MPK_CONTENT_NUMBER)
			c = new_thing(f);
	} else if ((word & 0x7f800000) == 0x52800000) { /* movz */
		c = number((uint64_t)(word >> 5 & 0xffff) << shift);
	} else if ((word & 0xff800000) == 0x92800000) { /* movn */
		c = number(~((uint64_t)(word >> 5 & 0xffff) << shift));
	} else if ((word & 0xff800000) == 0xf2800000 && f->regs[rd].kind == MPK_CONTENT_NUMBER) {
		c = number((f->regs[rd].a & ~((uint64_t)0xffff << shift)) |
			   (uint64_t)(word >> 5 & 0xffff) << shift); /* movk */
	} else if ((word & 0x0a000000) == 0x08000000) {
		if (!step_access(
			    f,
			    word)) /* exclusive, by a register, of many: only what they load counts */
			f->regs[rd] = rd == SP ? f->regs[SP] : c;
		return;
	} else if ((word & 0x1c000000) != 0x10000000 && (word & 0x0e000000) != 0x0a000000) {
		return; /* branches, vectors */
	}
	if (rd != MPK_AARCH64_XZR)
		f->regs[rd] = c;
}
