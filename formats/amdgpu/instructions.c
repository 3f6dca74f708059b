/* SPDX-License-Identifier: Apache-2.0 */
/* instructions.c - the number of instructions of each kind in a kernel for an AMD GPU (FORMAT.md 5)
 *
 * Instructions have 4 to 20 bytes, so each must be measured to find the next one. Only its encoding,
 * its opcode and the operands that add bytes are read; a disassembler shows the rest. */
#include "amdgpu/amdgpu.h"

#include <string.h>

#include "base/compiler.h"
#include "base/cursor.h"
#include "work/work.h"

/* Processors whose instructions are encoded alike. */
enum family {
	GFX8,
	GFX10,
	GFX11,
	GFX12,
	UNKNOWN
}; /* GFX8: also gfx9, with gfx90a, gfx942 and gfx950 */

/* Opcodes from first to last. Flat, global, scratch and buffer instructions share most opcodes. */
struct range {
	uint8_t first, last;
	uint8_t sort, width;
};

static const struct range memory_gfx8[] = {
	{ 16, 17, MPK_WORK_LOAD, MPK_WIDTH_1B },
	{ 18, 19, MPK_WORK_LOAD, MPK_WIDTH_2B },
	{ 20, 20, MPK_WORK_LOAD, MPK_WIDTH_4B },
	{ 21, 21, MPK_WORK_LOAD, MPK_WIDTH_8B },
	{ 22, 22, MPK_WORK_LOAD, MPK_WIDTH_12B },
	{ 23, 23, MPK_WORK_LOAD, MPK_WIDTH_16B },
	{ 24, 25, MPK_WORK_STORE, MPK_WIDTH_1B },
	{ 26, 27, MPK_WORK_STORE, MPK_WIDTH_2B },
	{ 28, 28, MPK_WORK_STORE, MPK_WIDTH_4B },
	{ 29, 29, MPK_WORK_STORE, MPK_WIDTH_8B },
	{ 30, 30, MPK_WORK_STORE, MPK_WIDTH_12B },
	{ 31, 31, MPK_WORK_STORE, MPK_WIDTH_16B },
	{ 32, 35, MPK_WORK_LOAD, MPK_WIDTH_1B },
	{ 36, 37, MPK_WORK_LOAD, MPK_WIDTH_2B },
	{ 38, 42, MPK_WORK_ASYNC, 0 },
	{ 64, 82, MPK_WORK_ATOMIC, 0 },
	{ 96, 108, MPK_WORK_ATOMIC, 0 },
	{ 125, 126, MPK_WORK_ASYNC, 0 },
};
static const struct range memory_gfx10[] = {
	{ 8, 9, MPK_WORK_LOAD, MPK_WIDTH_1B },
	{ 10, 11, MPK_WORK_LOAD, MPK_WIDTH_2B },
	{ 12, 12, MPK_WORK_LOAD, MPK_WIDTH_4B },
	{ 13, 13, MPK_WORK_LOAD, MPK_WIDTH_8B },
	{ 14, 14, MPK_WORK_LOAD, MPK_WIDTH_16B },
	{ 15, 15, MPK_WORK_LOAD, MPK_WIDTH_12B },
	{ 22, 22, MPK_WORK_LOAD, MPK_WIDTH_4B },
	{ 23, 23, MPK_WORK_STORE, MPK_WIDTH_4B },
	{ 24, 25, MPK_WORK_STORE, MPK_WIDTH_1B },
	{ 26, 27, MPK_WORK_STORE, MPK_WIDTH_2B },
	{ 28, 28, MPK_WORK_STORE, MPK_WIDTH_4B },
	{ 29, 29, MPK_WORK_STORE, MPK_WIDTH_8B },
	{ 30, 30, MPK_WORK_STORE, MPK_WIDTH_16B },
	{ 31, 31, MPK_WORK_STORE, MPK_WIDTH_12B },
	{ 32, 35, MPK_WORK_LOAD, MPK_WIDTH_1B },
	{ 36, 37, MPK_WORK_LOAD, MPK_WIDTH_2B },
	{ 38, 38, MPK_WORK_LOAD, MPK_WIDTH_2B },
	{ 39, 39, MPK_WORK_STORE, MPK_WIDTH_2B },
	{ 48, 64, MPK_WORK_ATOMIC, 0 },
	{ 80, 96, MPK_WORK_ATOMIC, 0 },
};
static const struct range memory_gfx11[] = {
	{ 16, 17, MPK_WORK_LOAD, MPK_WIDTH_1B },
	{ 18, 19, MPK_WORK_LOAD, MPK_WIDTH_2B },
	{ 20, 20, MPK_WORK_LOAD, MPK_WIDTH_4B },
	{ 21, 21, MPK_WORK_LOAD, MPK_WIDTH_8B },
	{ 22, 22, MPK_WORK_LOAD, MPK_WIDTH_12B },
	{ 23, 23, MPK_WORK_LOAD, MPK_WIDTH_16B },
	{ 24, 24, MPK_WORK_STORE, MPK_WIDTH_1B },
	{ 25, 25, MPK_WORK_STORE, MPK_WIDTH_2B },
	{ 26, 26, MPK_WORK_STORE, MPK_WIDTH_4B },
	{ 27, 27, MPK_WORK_STORE, MPK_WIDTH_8B },
	{ 28, 28, MPK_WORK_STORE, MPK_WIDTH_12B },
	{ 29, 29, MPK_WORK_STORE, MPK_WIDTH_16B },
	{ 30, 31, MPK_WORK_LOAD, MPK_WIDTH_1B },
	{ 32, 32, MPK_WORK_LOAD, MPK_WIDTH_2B },
	{ 33, 34, MPK_WORK_LOAD, MPK_WIDTH_1B },
	{ 35, 35, MPK_WORK_LOAD, MPK_WIDTH_2B },
	{ 36, 36, MPK_WORK_STORE, MPK_WIDTH_1B },
	{ 37, 37, MPK_WORK_STORE, MPK_WIDTH_2B },
	{ 38, 38, MPK_WORK_LOAD, MPK_WIDTH_2B },
	{ 39, 39, MPK_WORK_STORE, MPK_WIDTH_2B },
	{ 40, 40, MPK_WORK_LOAD, MPK_WIDTH_4B },
	{ 41, 41, MPK_WORK_STORE, MPK_WIDTH_4B },
	{ 45, 50, MPK_WORK_ASYNC, 0 },
	{ 51, 77, MPK_WORK_ATOMIC, 0 },
	{ 80, 82, MPK_WORK_ATOMIC, 0 },
	{ 83, 83, MPK_WORK_LOAD, MPK_WIDTH_OTHER }, /* blocks of registers */
	{ 84, 84, MPK_WORK_STORE, MPK_WIDTH_OTHER },
	{ 86, 86, MPK_WORK_ATOMIC, 0 },
	{ 87, 88, MPK_WORK_LOAD, MPK_WIDTH_OTHER }, /* global_load_tr: a matrix, transposed */
	{ 89, 90, MPK_WORK_ATOMIC, 0 },
	{ 115, 115, MPK_WORK_ATOMIC, 0 },
};

/* Of LDS. Two values of one instruction count as one access of both widths together. */
static const struct range lds_gfx8[] = {
	{ 0, 12, MPK_WORK_ATOMIC, 0 },
	{ 13, 13, MPK_WORK_STORE, MPK_WIDTH_4B },
	{ 14, 15, MPK_WORK_STORE, MPK_WIDTH_8B },
	{ 16, 24, MPK_WORK_ATOMIC, 0 },
	{ 29, 29, MPK_WORK_STORE, MPK_WIDTH_4B },
	{ 30, 30, MPK_WORK_STORE, MPK_WIDTH_1B },
	{ 31, 31, MPK_WORK_STORE, MPK_WIDTH_2B },
	{ 32, 53, MPK_WORK_ATOMIC, 0 },
	{ 54, 54, MPK_WORK_LOAD, MPK_WIDTH_4B },
	{ 55, 56, MPK_WORK_LOAD, MPK_WIDTH_8B },
	{ 57, 58, MPK_WORK_LOAD, MPK_WIDTH_1B },
	{ 59, 60, MPK_WORK_LOAD, MPK_WIDTH_2B },
	{ 64, 76, MPK_WORK_ATOMIC, 0 },
	{ 77, 77, MPK_WORK_STORE, MPK_WIDTH_8B },
	{ 78, 79, MPK_WORK_STORE, MPK_WIDTH_16B },
	{ 80, 83, MPK_WORK_ATOMIC, 0 },
	{ 84, 84, MPK_WORK_STORE, MPK_WIDTH_1B },
	{ 85, 85, MPK_WORK_STORE, MPK_WIDTH_2B },
	{ 86, 89, MPK_WORK_LOAD, MPK_WIDTH_1B },
	{ 90, 91, MPK_WORK_LOAD, MPK_WIDTH_2B },
	{ 92, 92, MPK_WORK_ATOMIC, 0 },
	{ 96, 115, MPK_WORK_ATOMIC, 0 },
	{ 118, 118, MPK_WORK_LOAD, MPK_WIDTH_8B },
	{ 119, 120, MPK_WORK_LOAD, MPK_WIDTH_16B },
	{ 124, 126, MPK_WORK_ATOMIC, 0 },
	{ 128, 139, MPK_WORK_ATOMIC, 0 },
	{ 141, 141, MPK_WORK_STORE, MPK_WIDTH_4B },
	{ 146, 149, MPK_WORK_ATOMIC, 0 },
	{ 182, 182, MPK_WORK_LOAD, MPK_WIDTH_4B },
	{ 183, 184, MPK_WORK_ATOMIC, 0 },
	{ 189, 190, MPK_WORK_ATOMIC, 0 },
	{ 192, 203, MPK_WORK_ATOMIC, 0 },
	{ 205, 205, MPK_WORK_STORE, MPK_WIDTH_8B },
	{ 210, 211, MPK_WORK_ATOMIC, 0 },
	{ 222, 222, MPK_WORK_STORE, MPK_WIDTH_12B },
	{ 223, 223, MPK_WORK_STORE, MPK_WIDTH_16B },
	{ 224, 227, MPK_WORK_LOAD, MPK_WIDTH_OTHER }, /* gfx950: a matrix, transposed */
	{ 254, 254, MPK_WORK_LOAD, MPK_WIDTH_12B },
	{ 255, 255, MPK_WORK_LOAD, MPK_WIDTH_16B },
};
static const struct range lds_gfx10[] = {
	{ 0, 12, MPK_WORK_ATOMIC, 0 },
	{ 13, 13, MPK_WORK_STORE, MPK_WIDTH_4B },
	{ 14, 15, MPK_WORK_STORE, MPK_WIDTH_8B },
	{ 16, 19, MPK_WORK_ATOMIC, 0 },
	{ 21, 21, MPK_WORK_ATOMIC, 0 },
	{ 30, 30, MPK_WORK_STORE, MPK_WIDTH_1B },
	{ 31, 31, MPK_WORK_STORE, MPK_WIDTH_2B },
	{ 32, 52, MPK_WORK_ATOMIC, 0 },
	{ 54, 54, MPK_WORK_LOAD, MPK_WIDTH_4B },
	{ 55, 56, MPK_WORK_LOAD, MPK_WIDTH_8B },
	{ 57, 58, MPK_WORK_LOAD, MPK_WIDTH_1B },
	{ 59, 60, MPK_WORK_LOAD, MPK_WIDTH_2B },
	{ 61, 62, MPK_WORK_ATOMIC, 0 },
	{ 64, 76, MPK_WORK_ATOMIC, 0 },
	{ 77, 77, MPK_WORK_STORE, MPK_WIDTH_8B },
	{ 78, 79, MPK_WORK_STORE, MPK_WIDTH_16B },
	{ 80, 85, MPK_WORK_ATOMIC, 0 },
	{ 96, 115, MPK_WORK_ATOMIC, 0 },
	{ 118, 118, MPK_WORK_LOAD, MPK_WIDTH_8B },
	{ 119, 120, MPK_WORK_LOAD, MPK_WIDTH_16B },
	{ 121, 121, MPK_WORK_ATOMIC, 0 },
	{ 126, 126, MPK_WORK_ATOMIC, 0 },
	{ 128, 139, MPK_WORK_ATOMIC, 0 },
	{ 141, 141, MPK_WORK_STORE, MPK_WIDTH_4B },
	{ 146, 155, MPK_WORK_ATOMIC, 0 },
	{ 160, 160, MPK_WORK_STORE, MPK_WIDTH_1B },
	{ 161, 161, MPK_WORK_STORE, MPK_WIDTH_2B },
	{ 162, 165, MPK_WORK_LOAD, MPK_WIDTH_1B },
	{ 166, 167, MPK_WORK_LOAD, MPK_WIDTH_2B },
	{ 168, 171, MPK_WORK_ATOMIC, 0 },
	{ 176, 176, MPK_WORK_STORE, MPK_WIDTH_4B },
	{ 177, 177, MPK_WORK_LOAD, MPK_WIDTH_4B },
	{ 192, 203, MPK_WORK_ATOMIC, 0 },
	{ 205, 205, MPK_WORK_STORE, MPK_WIDTH_8B },
	{ 210, 211, MPK_WORK_ATOMIC, 0 },
	{ 222, 222, MPK_WORK_STORE, MPK_WIDTH_12B },
	{ 223, 223, MPK_WORK_STORE, MPK_WIDTH_16B },
	{ 254, 254, MPK_WORK_LOAD, MPK_WIDTH_12B },
	{ 255, 255, MPK_WORK_LOAD, MPK_WIDTH_16B },
};

/* Packed arithmetic, of which these opcodes are matrix instructions. gfx950's came into the gaps. */
static const struct range packed_gfx8[] = {
	{ 45, 46, MPK_WORK_TENSOR, 0 },
	{ 53, 87, MPK_WORK_TENSOR, 0 },
	{ 90, 91, MPK_WORK_TENSOR, 0 },
	{ 93, 127, MPK_WORK_TENSOR, 0 },
};
static const struct range packed_gfx11[] = {
	{ 64, 74, MPK_WORK_TENSOR, 0 },
	{ 80, 90, MPK_WORK_TENSOR, 0 },
};

static const struct range *range_in(const struct range *list, size_t count, unsigned op)
{
	for (size_t i = 0; i < count; i++)
		if (op >= list[i].first && op <= list[i].last)
			return &list[i];
	return NULL;
}

#define RANGE_IN(list, op) range_in(list, MPK_ARRAY_COUNT(list), op)

static const struct range *memory_range(enum family family, unsigned op)
{
	switch (family) {
	case GFX8:
		return RANGE_IN(memory_gfx8, op);
	case GFX10:
		return RANGE_IN(memory_gfx10, op);
	case GFX11:
	case GFX12:
		return RANGE_IN(memory_gfx11, op);
	case UNKNOWN:
		break;
	}
	return NULL;
}

/* The part of "gfx90a:xnack+" or "gfx10-3-generic" that names the family. gfx12.5 has encodings of
 * its own. */
static enum family family_of(const char *target)
{
	size_t len = strcspn(target, ":");
	unsigned major = 0, minor = 0;
	const char *p = target + 3;

	if (strncmp(target, "gfx", 3) != 0)
		return UNKNOWN;
	if (memchr(target, '-', len)) { /* gfxMAJOR-generic or gfxMAJOR-MINOR-generic */
		for (; *p >= '0' && *p <= '9' && major < 100; p++)
			major = 10 * major + (unsigned)(*p - '0');
		minor = p[0] == '-' && p[1] >= '0' && p[1] <= '9' ? (unsigned)(p[1] - '0') : 0;
	} else { /* gfxMAJORMS, with one character for minor and one for stepping */
		if (len < 6)
			return UNKNOWN;
		for (; p < target + len - 2 && *p >= '0' && *p <= '9' && major < 100; p++)
			major = 10 * major + (unsigned)(*p - '0');
		minor = (unsigned)(target[len - 2] - '0');
	}
	switch (major) {
	case 8:
	case 9:
		return GFX8;
	case 10:
		return GFX10;
	case 11:
		return GFX11;
	case 12:
		return minor == 0 ? GFX12 : UNKNOWN;
	default:
		return UNKNOWN;
	}
}

struct instruction {
	uint8_t bytes; /* 0: not a known encoding */
	uint8_t sort, space, width;
};

/* The numbers of operands that say that more bytes follow. */
enum {
	DPP8 = 233,
	DPP8_FI = 234,
	SDWA = 249,
	DPP = 250,
	LITERAL = 255, /* a constant of 32 bits */
};

static struct instruction with_range(unsigned bytes, enum mpk_space space, const struct range *r)
{
	struct instruction n = { .bytes = (uint8_t)bytes };

	if (r) {
		n.sort = r->sort;
		n.space = (uint8_t)space;
		n.width = r->width;
	}
	return n;
}

/* Loads and stores that convert what they access have 1 to 4 components, of 4 bytes or of 2. */
static struct instruction formatted(unsigned bytes, unsigned op, bool is_half)
{
	static const uint8_t widths[2][4] = {
		{ MPK_WIDTH_4B, MPK_WIDTH_8B, MPK_WIDTH_12B, MPK_WIDTH_16B },
		{ MPK_WIDTH_2B, MPK_WIDTH_4B, MPK_WIDTH_8B, MPK_WIDTH_8B },
	};

	return (struct instruction){ .bytes = (uint8_t)bytes,
				     .sort = op & 4 ? MPK_WORK_STORE : MPK_WORK_LOAD,
				     .space = MPK_SPACE_BUFFER,
				     .width = widths[is_half][op & 3] };
}

/* Scalar arithmetic and jumps: the 9 bits at the top tell the form. */
static struct instruction scalar(enum family family, uint32_t word)
{
	unsigned op = word >> 23 & 0x7f;
	bool has_literal;

	if (op == 0x7f) /* SOPP */
		return (struct instruction){ .bytes = 4,
					     .sort = family != GFX8 && (word >> 16 & 0x7f) == 31
							     ? MPK_WORK_FILLING
							     : MPK_WORK_OTHER };
	if (op == 0x7d) /* SOP1 */
		has_literal = (word & 0xff) == LITERAL;
	else if (op >= 0x60 && op != 0x7e) /* SOPK: s_setreg_imm32_b32 */
		has_literal = (op & 0x1f) == (family == GFX8 ? 20 : family == GFX10 ? 21 : 19);
	else /* SOP2, SOPC */
		has_literal = (word & 0xff) == LITERAL || (word >> 8 & 0xff) == LITERAL ||
			      ((family == GFX11 || family == GFX12) && (op == 69 || op == 70));
	return (struct instruction){ .bytes = has_literal ? 8 : 4 };
}

/* VOP1, VOP2, VOPC: the highest bit is 0. Multiplying and adding with a constant has it behind it. */
static struct instruction vector(enum family family, uint32_t word)
{
	unsigned op = word >> 25, source = word & 0x1ff;
	bool has_constant = family == GFX8 ? op == 23 || op == 24 || op == 36 || op == 37
					   : op == 44 || op == 45 || op == 55 || op == 56 ||
						     (family == GFX10 && (op == 32 || op == 33));
	bool is_longer = has_constant || source == LITERAL || source == DPP ||
			 (source == SDWA && (family == GFX8 || family == GFX10)) ||
			 ((source == DPP8 || source == DPP8_FI) && family != GFX8);

	return (struct instruction){ .bytes = is_longer ? 8 : 4 };
}

/* Bytes of VOP3 and VOP3P: from gfx10 on they may have a constant, from gfx11 on DPP. */
static unsigned long_vector_bytes(enum family family, uint32_t second)
{
	unsigned a = second & 0x1ff, b = second >> 9 & 0x1ff, c = second >> 18 & 0x1ff;

	if (family == GFX8)
		return 8;
	if (a == LITERAL || b == LITERAL || c == LITERAL ||
	    (family != GFX10 && (a == DPP || a == DPP8 || a == DPP8_FI)))
		return 12;
	return 8;
}

/* VOPD: two operations at once, of which v_dual_fmamk_f32 and v_dual_fmaak_f32 have a constant. */
static unsigned dual_bytes(uint32_t first, uint32_t second)
{
	unsigned x = first >> 22 & 15, y = first >> 17 & 31;

	return x == 1 || x == 2 || y == 1 || y == 2 || (first & 0x1ff) == LITERAL ||
			       (second & 0x1ff) == LITERAL
		       ? 12
		       : 8;
}

/* Scalar memory: loads of constants, cache control, and the atomics of gfx9 and gfx10. */
static struct instruction scalar_memory(enum family family, uint32_t word)
{
	unsigned op = word >> 18 & 0xff;
	bool is_atomic =
		family != GFX11 && family != GFX12 && op >= 64 && op < 192 && (op & 31) <= 12;

	return (struct instruction){ .bytes = 8,
				     .sort = is_atomic ? MPK_WORK_ATOMIC : MPK_WORK_OTHER };
}

/* @op      of an image instruction; its loads and stores are not counted by width, which the image's
 *          descriptor tells */
static struct instruction image(enum family family, unsigned bytes, unsigned op)
{
	bool is_atomic = family == GFX8    ? op >= 16 && op <= 28
			 : family == GFX10 ? op >= 15 && op <= 31
					   : (op >= 10 && op <= 22) ||
						     (family == GFX12 && op >= 131 && op <= 135);

	return (struct instruction){ .bytes = (uint8_t)bytes,
				     .sort = is_atomic ? MPK_WORK_ATOMIC : MPK_WORK_OTHER };
}

static enum mpk_space flat_space(unsigned segment)
{
	return segment == 0   ? MPK_SPACE_GENERIC
	       : segment == 1 ? MPK_SPACE_SCRATCH
			      : MPK_SPACE_GLOBAL;
}

static struct instruction decode_gfx8(uint32_t first)
{
	unsigned top = first >> 26, op = first >> 18 & 0x7f;

	if (first >> 16 ==
	    0xd3ac) /* gfx950: the scales of the matrix instruction behind it, in one */
		return (struct instruction){ .bytes = 16, .sort = MPK_WORK_TENSOR };
	if (first >> 23 == 0x1a7) /* VOP3P */
		return with_range(8, 0, RANGE_IN(packed_gfx8, first >> 16 & 0x7f));
	switch (top) {
	case 0x30: /* SMEM */
		return scalar_memory(GFX8, first);
	case 0x31: /* EXP */
	case 0x34: /* VOP3 */
		return (struct instruction){ .bytes = 8 };
	case 0x3c: /* MIMG */
		return image(GFX8, 8, op);
	case 0x35: /* VINTRP */
		return (struct instruction){ .bytes = 4 };
	case 0x36: /* DS */
		return with_range(8, MPK_SPACE_SHARED, RANGE_IN(lds_gfx8, first >> 17 & 0xff));
	case 0x37: /* FLAT */
		return with_range(8, flat_space(first >> 14 & 3), memory_range(GFX8, op));
	case 0x38: /* MUBUF */
		if (first >> 16 & 1)
			return (struct instruction){ .bytes = 8, .sort = MPK_WORK_ASYNC };
		if (op < 16)
			return formatted(8, op, op & 8);
		if (op == 38 || op == 39) /* a load and a store of one formatted half */
			return formatted(8, op == 39 ? 4 : 0, true);
		return with_range(8, MPK_SPACE_BUFFER, memory_range(GFX8, op));
	case 0x3a: /* MTBUF */
		return formatted(8, first >> 15 & 15, first >> 18 & 1);
	default:
		return (struct instruction){ 0 };
	}
}

static struct instruction decode_gfx10(enum family family, uint32_t first, uint32_t second)
{
	unsigned top = first >> 26, op = first >> 18 & 0x7f;
	const struct range *packed = NULL;

	switch (top) {
	case 0x32: /* VINTRP; VOPD */
		return (struct instruction){
			.bytes = (uint8_t)(family == GFX10 ? 4 : dual_bytes(first, second))
		};
	case 0x33:                       /* VOP3P, and two forms of gfx11 and later */
		if (first >> 24 == 0xce) /* LDSDIR */
			return (struct instruction){ .bytes = 4 };
		if (first >> 24 == 0xcd) /* VINTERP */
			return (struct instruction){ .bytes = 8 };
		if (family != GFX10)
			packed = RANGE_IN(packed_gfx11, first >> 16 & 0x7f);
		return with_range(long_vector_bytes(family, second), 0, packed);
	case 0x35: /* VOP3 */
		return (struct instruction){ .bytes = (uint8_t)long_vector_bytes(family, second) };
	case 0x36: /* DS */
		return with_range(8, MPK_SPACE_SHARED, RANGE_IN(lds_gfx10, first >> 18 & 0xff));
	case 0x37: /* FLAT */
		return with_range(8, flat_space(first >> (family == GFX10 ? 14 : 16) & 3),
				  memory_range(family, op));
	case 0x38: /* MUBUF */
		if (family == GFX10 && first >> 16 & 1)
			return (struct instruction){ .bytes = 8, .sort = MPK_WORK_ASYNC };
		if (op < (family == GFX10 ? 8 : 16))
			return formatted(8, op, family == GFX10 ? first >> 25 & 1 : op & 8);
		return with_range(8, MPK_SPACE_BUFFER, memory_range(family, op));
	case 0x3a: /* MTBUF */
		if (family == GFX10)
			return formatted(8, first >> 16 & 7, second >> 21 & 1);
		return formatted(8, first >> 15 & 15, first >> 18 & 1);
	case 0x3c: /* MIMG: more addresses follow */
		if (family == GFX10)
			return image(family, 8 + 4 * (first >> 1 & 3), op | (first & 1) << 7);
		return image(family, 8 + 4 * (first & 1), first >> 18 & 0xff);
	case 0x3d: /* SMEM */
		return scalar_memory(family, first);
	case 0x3e: /* EXP */
		return (struct instruction){ .bytes = 8 };
	default:
		return (struct instruction){ 0 };
	}
}

static struct instruction decode_gfx12(uint32_t first, uint32_t second)
{
	unsigned op = first >> 14 & 0xff;

	switch (first >> 26) {
	case 0x31: /* VBUFFER */
		if (op >= 128 || op < 16)
			return formatted(12, op, op & 8);
		return with_range(12, MPK_SPACE_BUFFER, memory_range(GFX12, op));
	case 0x34: /* VIMAGE */
		return image(GFX12, 12, op);
	case 0x39: /* VSAMPLE */
		return (struct instruction){ .bytes = 12 };
	case 0x3b: /* VFLAT, VGLOBAL, VSCRATCH */
		return with_range(12, flat_space(first >> 24 & 3), memory_range(GFX12, op));
	case 0x37:
	case 0x38:
	case 0x3a:
	case 0x3c:
		return (struct instruction){ 0 };
	default:
		return decode_gfx10(GFX12, first, second);
	}
}

static struct instruction decode(enum family family, uint32_t first, uint32_t second)
{
	if (first >> 31 == 0)
		return vector(family, first);
	if (first >> 30 == 2)
		return scalar(family, first);
	if (family == GFX8)
		return decode_gfx8(first);
	return family == GFX12 ? decode_gfx12(first, second) : decode_gfx10(family, first, second);
}

bool mpk_amdgpu_count_instructions(const char *target, struct mpk_span code, struct mpk_work *out)
{
	struct mpk_work n = { .is_amd = true };
	enum family family = family_of(target);
	struct instruction i;

	if (family == UNKNOWN)
		return false;
	for (size_t at = 0; at < code.len; at += i.bytes) {
		if (code.len - at < 4)
			return false;
		i = decode(family, mpk_load_u32(code.data + at),
			   code.len - at < 8 ? 0 : mpk_load_u32(code.data + at + 4));
		if (!i.bytes || i.bytes > code.len - at)
			return false;
		mpk_work_add(&n, i.sort, i.space, i.width);
	}
	*out = n;
	return true;
}
