/* SPDX-License-Identifier: Apache-2.0 */
/* instructions.h - as much of instructions as reading compiled code needs
 *
 * Of x86-64 one after the other: how long each is, and its operands. Instructions are delimited, not interpreted: which registers
 * and which memory an instruction names is in fields that nearly all of them share. Intel's manual (325383), 2.1 to 2.3,
 * A.2.
 *
 * Of AArch64 those by which code names an address: branches, adr, and adrp with an add or a load after it. Arm
 * Architecture Reference Manual (DDI 0487), C4.1. Words are little-endian also where data is not. */
#ifndef MPK_ELF_INSTRUCTIONS_H
#define MPK_ELF_INSTRUCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

enum { MPK_X86_RAX, MPK_X86_RCX, MPK_X86_RDX, MPK_X86_RSP = 4, MPK_X86_RSI = 6, MPK_X86_RDI };

/* One instruction. */
struct mpk_x86 {
	size_t len;   /* bytes of it */
	unsigned map; /* 0: one byte; 1: after 0f; 2: after 0f 38; 3: after 0f 3a */
	uint8_t opcode;
	bool wide;      /* REX.W */
	uint8_t prefix; /* the prefix 66, f2 or f3 that selects the instruction; 0: none */
	bool is_vex;
	bool has_modrm;
	unsigned reg;    /* the register in ModRM's reg field, or the number of the operation */
	bool is_memory;  /* the operand is memory, */
	unsigned rm;     /* else this register; for memory the base */
	bool is_rip;     /* memory: the base is the next instruction */
	bool is_indexed; /* memory: it has an index, or no base */
	int32_t disp;    /* memory: displacement in bytes */
	unsigned imm_bytes;
	uint64_t imm; /* signed ones are extended */
};

/* mpk_x86_read - the first instruction of some code
 * Returns  false: it is none that is known here, or does not end in the code */
bool mpk_x86_read(struct mpk_span code, struct mpk_x86 *out);

enum { MPK_AARCH64_XZR = 31 }; /* or the stack pointer: no computed address stays there */

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

/* mpk_aarch64_branch - b and bl: where one at address `at` leads */
static inline bool mpk_aarch64_branch(uint32_t word, uint64_t at, uint64_t *to)
{
	*to = at + mpk_aarch64_signed(word & 0x3ffffff, 26) * 4;
	return (word & 0x7c000000) == 0x14000000;
}

static inline uint64_t mpk_aarch64_imm21(uint32_t word)
{
	return mpk_aarch64_signed((uint64_t)(word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3), 21);
}

/* mpk_aarch64_adr - adr Xd, address: linkers put it for an adrp and an add whose target is near */
static inline bool mpk_aarch64_adr(uint32_t word, uint64_t at, uint64_t *to)
{
	*to = at + mpk_aarch64_imm21(word);
	return (word & 0x9f000000) == 0x10000000;
}

/* mpk_aarch64_adrp - adrp Xd, page: the address of the page, of 4096 bytes */
static inline bool mpk_aarch64_adrp(uint32_t word, uint64_t at, uint64_t *page)
{
	*page = (at & ~(uint64_t)0xfff) + (mpk_aarch64_imm21(word) << 12);
	return (word & 0x9f000000) == 0x90000000;
}

/* mpk_aarch64_add - add Xd, Xn, #low */
static inline bool mpk_aarch64_add(uint32_t word, uint64_t *low)
{
	*low = word >> 10 & 0xfff;
	return (word & 0xffc00000) == 0x91000000;
}

/* mpk_aarch64_access - a load or a store of any size at [Xn, #low] */
static inline bool mpk_aarch64_access(uint32_t word, uint64_t *low)
{
	bool is_16_bytes = (word & 0xc4800000) == 0x04800000;

	*low = (uint64_t)(word >> 10 & 0xfff) << (is_16_bytes ? 4 : word >> 30);
	return (word & 0x3b000000) == 0x39000000;
}

/* mpk_aarch64_written - the register that the lowest five bits name when the instruction writes it and it holds
 * addresses, else MPK_AARCH64_XZR */
static inline unsigned mpk_aarch64_written(uint32_t word)
{
	bool computes = (word & 0x1c000000) == 0x10000000 || (word & 0x0e000000) == 0x0a000000;
	bool loads = (word & 0x0e400000) == 0x08400000;

	return computes || loads ? mpk_aarch64_rd(word) : MPK_AARCH64_XZR;
}

#endif
