/* SPDX-License-Identifier: Apache-2.0 */
/* instructions.h - the fields of instructions that reading compiled code needs
 *
 * x86-64 code is read one instruction after the other: its length and its operands. An instruction
 * is not interpreted: nearly all instructions name their registers and memory in the same fields.
 * Intel's manual (325383), 2.1 to 2.3, A.2.
 *
 * Of AArch64 code only the instructions are read by which it names an address: branches, adr, and
 * adrp followed by an add or a load. Arm Architecture Reference Manual (DDI 0487), C4.1.
 * Instructions are little-endian also where data is big-endian. */
#ifndef MPK_ELF_INSTRUCTIONS_H
#define MPK_ELF_INSTRUCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

enum { MPK_X86_RAX, MPK_X86_RCX, MPK_X86_RDX, MPK_X86_RSP = 4, MPK_X86_RSI = 6, MPK_X86_RDI };

/* One instruction. */
struct mpk_x86 {
	size_t len;   /* length in bytes */
	unsigned map; /* opcode map, 0: one byte; 1: after 0f; 2: after 0f 38; 3: after 0f 3a */
	uint8_t opcode;
	bool wide;      /* REX.W */
	uint8_t prefix; /* the prefix 66, f2 or f3 that selects the instruction; 0: none */
	bool is_vex;
	bool has_modrm;
	unsigned reg; /* the register in ModRM's reg field, or the number of the operation there */
	bool is_memory;  /* the operand is memory; false: a register */
	unsigned rm;     /* that register; for memory the base register */
	bool is_rip;     /* memory: relative to the address of the next instruction */
	bool is_indexed; /* memory: has an index register, or no base register */
	int32_t disp;    /* memory: displacement in bytes */
	unsigned imm_bytes;
	uint64_t imm; /* immediate operand; a signed one is extended to 64 bits */
};

/* mpk_x86_read - read the first instruction of some code
 * Returns  false: it is not known here, or does not end within the code */
bool mpk_x86_read(struct mpk_span code, struct mpk_x86 *out);

enum {
	MPK_AARCH64_XZR = 31
}; /* in these instructions also the stack pointer; no code keeps a
			        * computed address there */

static inline uint64_t mpk_aarch64_signed(uint64_t value, int bits)
{
	return value >> (bits - 1) & 1 ? value | ~(uint64_t)0 << bits : value;
}

static inline unsigned mpk_aarch64_rd(uint32_t word)
{
	return word & 31;
}

static inline unsigned mpk_aarch64_rn(uint32_t word)
{
	return word >> 5 & 31;
}

/* mpk_aarch64_branch - whether a word at address `at` is b or bl; its target */
static inline bool mpk_aarch64_branch(uint32_t word, uint64_t at, uint64_t *to)
{
	*to = at + mpk_aarch64_signed(word & 0x3ffffff, 26) * 4;
	return (word & 0x7c000000) == 0x14000000;
}

static inline uint64_t mpk_aarch64_imm21(uint32_t word)
{
	return mpk_aarch64_signed((uint64_t)(word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3), 21);
}

/* mpk_aarch64_adr - whether a word is adr Xd, address. Linkers replace adrp and add by it if the
 * target is near */
static inline bool mpk_aarch64_adr(uint32_t word, uint64_t at, uint64_t *to)
{
	*to = at + mpk_aarch64_imm21(word);
	return (word & 0x9f000000) == 0x10000000;
}

/* mpk_aarch64_adrp - whether a word is adrp Xd, page; the address of that page of 4096 bytes */
static inline bool mpk_aarch64_adrp(uint32_t word, uint64_t at, uint64_t *page)
{
	*page = (at & ~(uint64_t)0xfff) + (mpk_aarch64_imm21(word) << 12);
	return (word & 0x9f000000) == 0x90000000;
}

/* mpk_aarch64_add - whether a word is add Xd, Xn, #low */
static inline bool mpk_aarch64_add(uint32_t word, uint64_t *low)
{
	*low = word >> 10 & 0xfff;
	return (word & 0xffc00000) == 0x91000000;
}

/* mpk_aarch64_access - whether a word is a load or a store of any size at [Xn, #low] */
static inline bool mpk_aarch64_access(uint32_t word, uint64_t *low)
{
	bool is_16_bytes = (word & 0xc4800000) == 0x04800000;

	*low = (uint64_t)(word >> 10 & 0xfff) << (is_16_bytes ? 4 : word >> 30);
	return (word & 0x3b000000) == 0x39000000;
}

/* mpk_aarch64_written - the register in the lowest five bits if the instruction writes it; else
 * MPK_AARCH64_XZR */
static inline unsigned mpk_aarch64_written(uint32_t word)
{
	bool computes = (word & 0x1c000000) == 0x10000000 || (word & 0x0e000000) == 0x0a000000;
	bool loads = (word & 0x0e400000) == 0x08400000;

	return computes || loads ? mpk_aarch64_rd(word) : MPK_AARCH64_XZR;
}

#endif
