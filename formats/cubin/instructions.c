/* SPDX-License-Identifier: Apache-2.0 */
/* instructions.c - what the instructions of a kernel do, counted by sort (FORMAT.md 9)
 *
 * No instruction is taken apart but for its opcode and the width of its access: a disassembler says the rest. */
#include "cubin/cubin.h"

#include <string.h>

enum {
	INSTRUCTION = 16, /* bytes, from sm_70 on */
	OPCODE = 0x1ff,   /* without the three bits that tell the form of the operands */
	NOP = 0x118,      /* fills a kernel up */
	FORMS = OPCODE + 1,
};

enum sort { OTHER, FILLING, LOAD, STORE, ATOMIC, TENSOR, ASYNC };

struct row {
	uint16_t opcode;
	uint8_t sort, space;
	bool has_width; /* in bits 73-75 */
};

static const struct row rows[] = {
	{ NOP, FILLING, 0, false },
	{ 0x180, LOAD, MPK_CUBIN_GENERIC, true },  /* LD */
	{ 0x185, STORE, MPK_CUBIN_GENERIC, true }, /* ST */
	{ 0x181, LOAD, MPK_CUBIN_GLOBAL, true },   /* LDG */
	{ 0x186, STORE, MPK_CUBIN_GLOBAL, true },  /* STG */
	{ 0x184, LOAD, MPK_CUBIN_SHARED, true },   /* LDS */
	{ 0x188, STORE, MPK_CUBIN_SHARED, true },  /* STS */
	{ 0x03b, LOAD, MPK_CUBIN_SHARED, false },  /* LDSM: matrices */
	{ 0x044, STORE, MPK_CUBIN_SHARED, false }, /* STSM */
	{ 0x183, LOAD, MPK_CUBIN_LOCAL, true },    /* LDL */
	{ 0x187, STORE, MPK_CUBIN_LOCAL, true },   /* STL */
	{ 0x18a, ATOMIC, 0, false },               /* ATOM */
	{ 0x18b, ATOMIC, 0, false },               /* ATOM.CAS */
	{ 0x18c, ATOMIC, 0, false },               /* ATOMS */
	{ 0x18d, ATOMIC, 0, false },               /* ATOMS.CAS */
	{ 0x18e, ATOMIC, 0, false },               /* RED */
	{ 0x1a3, ATOMIC, 0, false },               /* ATOMG of floating point */
	{ 0x1a6, ATOMIC, 0, false },               /* REDG */
	{ 0x1a8, ATOMIC, 0, false },               /* ATOMG */
	{ 0x1a9, ATOMIC, 0, false },               /* ATOMG.CAS */
	{ 0x037, TENSOR, 0, false },               /* IMMA */
	{ 0x03c, TENSOR, 0, false },               /* HMMA */
	{ 0x03d, TENSOR, 0, false },               /* BMMA */
	{ 0x03f, TENSOR, 0, false },               /* DMMA */
	{ 0x07a, TENSOR, 0, false },               /* QMMA */
	{ 0x07f, TENSOR, 0, false },               /* OMMA */
	{ 0x1ea, TENSOR, 0, false },               /* UTCHMMA, UTCQMMA, UTCIMMA, UTCOMMA */
	{ 0x1f0, TENSOR, 0, false },               /* HGMMA */
	{ 0x1f1, TENSOR, 0, false },               /* IGMMA */
	{ 0x1f2, TENSOR, 0, false },               /* BGMMA */
	{ 0x1f3, TENSOR, 0, false },               /* QGMMA */
	{ 0x1ae, ASYNC, 0, false },                /* LDGSTS */
	{ 0x1b4, ASYNC, 0, false },                /* UTMALDG */
	{ 0x1b5, ASYNC, 0, false },                /* UTMASTG */
	{ 0x1ba, ASYNC, 0, false },                /* UBLKCP */
	{ 0x1bd, ASYNC, 0, false },                /* STAS */
};

/* Bits 73-75: signed types have codes of their own up to 16 bits. */
static unsigned width_of(const uint8_t *instruction)
{
	static const uint8_t widths[8] = { MPK_CUBIN_1B,  MPK_CUBIN_1B,   MPK_CUBIN_2B,
					   MPK_CUBIN_2B,  MPK_CUBIN_4B,   MPK_CUBIN_8B,
					   MPK_CUBIN_16B, MPK_CUBIN_OTHER };

	return widths[instruction[9] >> 1 & 7];
}

bool mpk_cubin_count_instructions(unsigned sm, struct mpk_span code,
				  struct mpk_cubin_instructions *out)
{
	struct mpk_cubin_instructions n = { 0 };
	const struct row *by_opcode[FORMS] = { 0 };

	if (sm < 70 || code.len % INSTRUCTION)
		return false;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		by_opcode[rows[i].opcode] = &rows[i];
	for (size_t at = 0; at < code.len; at += INSTRUCTION) {
		const uint8_t *p = code.data + at;
		const struct row *row = by_opcode[(p[0] | (unsigned)p[1] << 8) & OPCODE];
		unsigned width = row && row->has_width ? width_of(p) : MPK_CUBIN_OTHER;

		n.all += !row || row->sort != FILLING;
		switch (row ? (enum sort)row->sort : OTHER) {
		case LOAD:
			n.loads[row->space][width]++;
			break;
		case STORE:
			n.stores[row->space][width]++;
			break;
		case ATOMIC:
			n.atomic++;
			break;
		case TENSOR:
			n.tensor++;
			break;
		case ASYNC:
			n.async++;
			break;
		case OTHER:
		case FILLING:
			break;
		}
	}
	*out = n;
	return true;
}
