/* SPDX-License-Identifier: Apache-2.0 */
/* x86_64.h - instructions of x86-64, one after the other: how long each is, and its operands
 *
 * Code is told apart, not understood: which registers and which memory an instruction names stands in fields that nearly
 * all of them share. Intel's manual (325383), 2.1 to 2.3, A.2. */
#ifndef MPK_ELF_X86_64_H
#define MPK_ELF_X86_64_H

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
	uint8_t prefix; /* 66, f2 or f3 of those that choose an instruction; 0: none */
	bool is_vex;
	bool has_modrm;
	unsigned
		reg; /* the register that ModRM names beside the operand, or the number of the operation */
	bool is_memory;  /* the operand is memory, */
	unsigned rm;     /* else this register; of memory the base */
	bool is_rip;     /* memory: the base is the next instruction */
	bool is_indexed; /* memory: it has an index, or no base */
	int32_t disp;    /* memory: bytes from the base */
	unsigned imm_bytes;
	uint64_t imm; /* signed ones are extended */
};

/* mpk_x86_read - the first instruction of some code
 * Returns  false: it is none that is known here, or does not end in the code */
bool mpk_x86_read(struct mpk_span code, struct mpk_x86 *out);

#endif
