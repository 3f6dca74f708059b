/* SPDX-License-Identifier: Apache-2.0 */
/* instructions.c - the number of instructions of each kind in a kernel, and their scheduling
 * (FORMAT.md 9, 10)
 *
 * Only the opcode of an instruction and the width of its access are read; a disassembler shows the
 * rest. */
#include "cubin/cubin.h"

#include "base/cursor.h"

enum {
	INSTRUCTION = 16,       /* bytes, from sm_70 on */
	OPCODE = 0x1ff,         /* without the three bits for the form of the operands */
	HAS_WIDTH = MPK_WIDTHS, /* the width is in bits 73-75 */
};

/* Indexed by opcode; the width of a load or store is an enum mpk_width or HAS_WIDTH. */
static const struct row {
	uint8_t sort, space, width;
} rows[OPCODE + 1] = {
	[0x118] = { MPK_WORK_FILLING, 0, 0 },                            /* NOP */
	[0x180] = { MPK_WORK_LOAD, MPK_SPACE_GENERIC, HAS_WIDTH },       /* LD */
	[0x185] = { MPK_WORK_STORE, MPK_SPACE_GENERIC, HAS_WIDTH },      /* ST */
	[0x181] = { MPK_WORK_LOAD, MPK_SPACE_GLOBAL, HAS_WIDTH },        /* LDG */
	[0x186] = { MPK_WORK_STORE, MPK_SPACE_GLOBAL, HAS_WIDTH },       /* STG */
	[0x17e] = { MPK_WORK_LOAD, MPK_SPACE_GLOBAL, MPK_WIDTH_32B },    /* LDG.ENL2.256 */
	[0x17f] = { MPK_WORK_STORE, MPK_SPACE_GLOBAL, MPK_WIDTH_32B },   /* STG.ENL2.256 */
	[0x184] = { MPK_WORK_LOAD, MPK_SPACE_SHARED, HAS_WIDTH },        /* LDS */
	[0x188] = { MPK_WORK_STORE, MPK_SPACE_SHARED, HAS_WIDTH },       /* STS */
	[0x03b] = { MPK_WORK_LOAD, MPK_SPACE_SHARED, MPK_WIDTH_OTHER },  /* LDSM: matrices */
	[0x044] = { MPK_WORK_STORE, MPK_SPACE_SHARED, MPK_WIDTH_OTHER }, /* STSM */
	[0x183] = { MPK_WORK_LOAD, MPK_SPACE_LOCAL, HAS_WIDTH },         /* LDL */
	[0x187] = { MPK_WORK_STORE, MPK_SPACE_LOCAL, HAS_WIDTH },        /* STL */
	[0x18a] = { MPK_WORK_ATOMIC, 0, 0 },                             /* ATOM */
	[0x18b] = { MPK_WORK_ATOMIC, 0, 0 },                             /* ATOM.CAS */
	[0x18c] = { MPK_WORK_ATOMIC, 0, 0 },                             /* ATOMS */
	[0x18d] = { MPK_WORK_ATOMIC, 0, 0 },                             /* ATOMS.CAS */
	[0x18e] = { MPK_WORK_ATOMIC, 0, 0 },                             /* RED */
	[0x1a3] = { MPK_WORK_ATOMIC, 0, 0 }, /* ATOMG of floating point */
	[0x1a6] = { MPK_WORK_ATOMIC, 0, 0 }, /* REDG */
	[0x1a8] = { MPK_WORK_ATOMIC, 0, 0 }, /* ATOMG */
	[0x1a9] = { MPK_WORK_ATOMIC, 0, 0 }, /* ATOMG.CAS */
	[0x037] = { MPK_WORK_TENSOR, 0, 0 }, /* IMMA */
	[0x03c] = { MPK_WORK_TENSOR, 0, 0 }, /* HMMA */
	[0x03d] = { MPK_WORK_TENSOR, 0, 0 }, /* BMMA */
	[0x03f] = { MPK_WORK_TENSOR, 0, 0 }, /* DMMA */
	[0x07a] = { MPK_WORK_TENSOR, 0, 0 }, /* QMMA */
	[0x07f] = { MPK_WORK_TENSOR, 0, 0 }, /* OMMA */
	[0x1ea] = { MPK_WORK_TENSOR, 0, 0 }, /* UTCHMMA, UTCQMMA, UTCIMMA, UTCOMMA */
	[0x1f0] = { MPK_WORK_TENSOR, 0, 0 }, /* HGMMA */
	[0x1f1] = { MPK_WORK_TENSOR, 0, 0 }, /* IGMMA */
	[0x1f2] = { MPK_WORK_TENSOR, 0, 0 }, /* BGMMA */
	[0x1f3] = { MPK_WORK_TENSOR, 0, 0 }, /* QGMMA */
	[0x1ae] = { MPK_WORK_ASYNC, 0, 0 },  /* LDGSTS */
	[0x1b4] = { MPK_WORK_ASYNC, 0, 0 },  /* UTMALDG */
	[0x1b5] = { MPK_WORK_ASYNC, 0, 0 },  /* UTMASTG */
	[0x1ba] = { MPK_WORK_ASYNC, 0, 0 },  /* UBLKCP */
	[0x1bd] = { MPK_WORK_ASYNC, 0, 0 },  /* STAS */
};

/* Reads bits 73-75. Signed types of up to 16 bits have codes of their own. */
static unsigned width_of(const uint8_t *instruction)
{
	static const uint8_t widths[8] = { MPK_WIDTH_1B,  MPK_WIDTH_1B,   MPK_WIDTH_2B,
					   MPK_WIDTH_2B,  MPK_WIDTH_4B,   MPK_WIDTH_8B,
					   MPK_WIDTH_16B, MPK_WIDTH_OTHER };

	return widths[instruction[9] >> 1 & 7];
}

struct mpk_cubin_control mpk_cubin_control(const uint8_t *instruction)
{
	uint64_t bits = mpk_load_u64(instruction + 8) >> 41;

	return (struct mpk_cubin_control){
		.stall = bits & 15,
		.yield = !(bits >> 4 & 1),
		.write = bits >> 5 & 7,
		.read = bits >> 8 & 7,
		.wait = bits >> 11 & 63,
		.reuse = bits >> 17 & 15,
	};
}

bool mpk_cubin_count_instructions(unsigned sm, struct mpk_span code, struct mpk_work *out)
{
	struct mpk_work n = { .has_stall = true };

	if (sm < 70 || code.len % INSTRUCTION)
		return false;
	for (size_t at = 0; at < code.len; at += INSTRUCTION) {
		const uint8_t *p = code.data + at;
		const struct row *row = &rows[mpk_load_u16(p) & OPCODE];
		unsigned width = row->width == HAS_WIDTH ? width_of(p) : row->width;

		if (row->sort != MPK_WORK_FILLING)
			n.stall_cycles += mpk_cubin_control(p).stall;
		mpk_work_add(&n, row->sort, row->space, width);
	}
	*out = n;
	return true;
}
