/* SPDX-License-Identifier: Apache-2.0 */
/* x86_64.c - the length of an x86-64 instruction, from its prefixes, opcode and ModRM byte
 *
 * Ranges of opcodes are followed by the same kinds of bytes. The tables list these ranges by their
 * last opcode. */
#include "elf/instructions.h"

#include "base/cursor.h"

/* The bytes after an opcode. */
enum follows {
	NONE,
	IMM8,
	IMM16,
	IMM32,    /* 32 bits; with prefix 66, 16 bits */
	IMM_FULL, /* with REX.W 64 bits; else as IMM32 */
	OFFSET,   /* an address of 64 bits */
	ENTER,    /* 16 bits, then 8 bits */
	MODRM,
	MODRM_IMM8,
	MODRM_IMM32,
	MODRM_TEST8, /* ModRM, and an immediate of 8 bits if the operation is 0 or 1 */
	MODRM_TEST32,
	UNKNOWN, /* unknown, or invalid in 64-bit mode */
};

struct block {
	uint8_t last; /* last opcode of the range */
	uint8_t follows;
};

/* Opcodes below 40 are eight groups of eight with the same layout. */
static const struct block arithmetic[] = {
	{ 3, MODRM }, { 4, IMM8 }, { 5, IMM32 }, { 7, UNKNOWN }
};

static const struct block one_byte[] = {
	{ 0x4f, UNKNOWN },     { 0x5f, NONE },         { 0x62, UNKNOWN },     { 0x63, MODRM },
	{ 0x67, UNKNOWN },     { 0x68, IMM32 },        { 0x69, MODRM_IMM32 }, { 0x6a, IMM8 },
	{ 0x6b, MODRM_IMM8 },  { 0x6f, NONE },         { 0x7f, IMM8 },        { 0x80, MODRM_IMM8 },
	{ 0x81, MODRM_IMM32 }, { 0x82, UNKNOWN },      { 0x83, MODRM_IMM8 },  { 0x8f, MODRM },
	{ 0x99, NONE },        { 0x9a, UNKNOWN },      { 0x9f, NONE },        { 0xa3, OFFSET },
	{ 0xa7, NONE },        { 0xa8, IMM8 },         { 0xa9, IMM32 },       { 0xaf, NONE },
	{ 0xb7, IMM8 },        { 0xbf, IMM_FULL },     { 0xc1, MODRM_IMM8 },  { 0xc2, IMM16 },
	{ 0xc3, NONE },        { 0xc5, UNKNOWN },      { 0xc6, MODRM_IMM8 },  { 0xc7, MODRM_IMM32 },
	{ 0xc8, ENTER },       { 0xc9, NONE },         { 0xca, IMM16 },       { 0xcc, NONE },
	{ 0xcd, IMM8 },        { 0xce, UNKNOWN },      { 0xcf, NONE },        { 0xd3, MODRM },
	{ 0xd6, UNKNOWN },     { 0xd7, NONE },         { 0xdf, MODRM },       { 0xe7, IMM8 },
	{ 0xe9, IMM32 },       { 0xea, UNKNOWN },      { 0xeb, IMM8 },        { 0xef, NONE },
	{ 0xf0, UNKNOWN },     { 0xf1, NONE },         { 0xf3, UNKNOWN },     { 0xf5, NONE },
	{ 0xf6, MODRM_TEST8 }, { 0xf7, MODRM_TEST32 }, { 0xfd, NONE },        { 0xff, MODRM },
};

static const struct block two_bytes[] = {
	{ 0x03, MODRM },   { 0x04, UNKNOWN },    { 0x09, NONE },       { 0x0a, UNKNOWN },
	{ 0x0b, NONE },    { 0x0c, UNKNOWN },    { 0x0d, MODRM },      { 0x0f, UNKNOWN },
	{ 0x23, MODRM },   { 0x27, UNKNOWN },    { 0x2f, MODRM },      { 0x37, NONE },
	{ 0x3f, UNKNOWN }, { 0x6f, MODRM },      { 0x73, MODRM_IMM8 }, { 0x76, MODRM },
	{ 0x77, NONE },    { 0x7f, MODRM },      { 0x8f, IMM32 },      { 0x9f, MODRM },
	{ 0xa2, NONE },    { 0xa3, MODRM },      { 0xa4, MODRM_IMM8 }, { 0xa5, MODRM },
	{ 0xa7, UNKNOWN }, { 0xaa, NONE },       { 0xab, MODRM },      { 0xac, MODRM_IMM8 },
	{ 0xb9, MODRM },   { 0xba, MODRM_IMM8 }, { 0xc1, MODRM },      { 0xc2, MODRM_IMM8 },
	{ 0xc3, MODRM },   { 0xc6, MODRM_IMM8 }, { 0xc7, MODRM },      { 0xcf, NONE },
	{ 0xff, MODRM },
};

static enum follows follows_of(const struct block *blocks, uint8_t opcode)
{
	while (blocks->last < opcode)
		blocks++;
	return (enum follows)blocks->follows;
}

static enum follows follows_opcode(const struct mpk_x86 *i)
{
	if (i->map == 3)
		return MODRM_IMM8;
	if (i->map == 2)
		return MODRM;
	if (i->map == 1)
		return follows_of(two_bytes, i->opcode);
	return i->opcode < 0x40 ? follows_of(arithmetic, i->opcode & 7)
				: follows_of(one_byte, i->opcode);
}

/* --- parts --------------------------------------------------------------------------------- */

struct reader {
	struct mpk_span code;
	size_t at;
	bool is_short; /* the code ends inside the instruction */
	unsigned rex;
	bool narrow; /* prefix 66: 16-bit operands */
};

static uint8_t next_byte(struct reader *r)
{
	if (r->at == r->code.len) {
		r->is_short = true;
		return 0;
	}
	return r->code.data[r->at++];
}

static uint64_t next_signed(struct reader *r, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)next_byte(r) << 8 * i;
	if (bytes && bytes < 8 && value >> (8 * bytes - 1))
		value |= ~(uint64_t)0 << 8 * bytes;
	return value;
}

static void read_prefixes(struct reader *r, struct mpk_x86 *out)
{
	uint8_t byte = next_byte(r);

	for (; !r->is_short; byte = next_byte(r)) {
		if (byte == 0x66 || byte == 0xf2 || byte == 0xf3) {
			r->narrow |= byte == 0x66;
			out->prefix = byte;
		} else if (byte != 0x2e && byte != 0x3e && byte != 0x64 && byte != 0x65 &&
			   byte != 0x67 && byte != 0xf0) {
			break;
		}
	}
	if ((byte & 0xf0) == 0x40) {
		r->rex = byte & 15;
		byte = next_byte(r);
	} else if (byte == 0xc4 || byte == 0xc5 || byte == 0x62) {
		/* The prefix that the last two bits of a vector prefix select. A vector prefix also contains REX's
		 * bits and the map. */
		static const uint8_t prefixes[] = { 0, 0x66, 0xf3, 0xf2 };
		uint8_t a = next_byte(r), b = a;

		out->is_vex = true;
		out->map = 1;
		r->rex = (unsigned)(~a >> 5 & 4);
		if (byte != 0xc5) {
			out->map = a & (byte == 0xc4 ? 31 : 3);
			r->rex = (unsigned)(~a >> 5 & 7);
			b = next_byte(r);
			r->rex |= b >> 4 & 8;
		}
		out->prefix = prefixes[b & 3];
		if (byte == 0x62)
			(void)next_byte(r);
		out->opcode = next_byte(r);

		return;
	}
	if (byte == 0x0f) {
		out->map = 1;
		byte = next_byte(r);
		if (byte == 0x38 || byte == 0x3a) {
			out->map = byte == 0x38 ? 2 : 3;
			byte = next_byte(r);
		}
	}
	out->opcode = byte;
}

static void read_modrm(struct reader *r, struct mpk_x86 *out)
{
	uint8_t byte = next_byte(r), sib = 0;
	unsigned mod = byte >> 6, low = byte & 7;

	out->has_modrm = true;
	out->reg = (byte >> 3 & 7u) | (r->rex & 4) << 1;
	out->rm = low | (r->rex & 1) << 3;
	out->is_memory = mod != 3;
	if (!out->is_memory)
		return;
	if (low == 4) {
		sib = next_byte(r);
		out->rm = (sib & 7u) | (r->rex & 1) << 3;
		out->is_indexed = (sib >> 3 & 7) != 4 || r->rex & 2;
	}
	if (mod == 0 && low == 5)
		out->is_rip = true;
	if (mod == 0 && low == 4 && (sib & 7) == 5)
		out->is_indexed = true;
	if (mod == 1)
		out->disp = (int32_t)next_signed(r, 1);
	else if (mod == 2 || out->is_rip || (mod == 0 && low == 4 && (sib & 7) == 5))
		out->disp = (int32_t)next_signed(r, 4);
}

static unsigned immediate_bytes(enum follows follows, const struct reader *r,
				const struct mpk_x86 *i)
{
	unsigned full = r->narrow ? 2 : 4;

	switch (follows) {
	case IMM8:
	case MODRM_IMM8:
		return 1;
	case IMM16:
		return 2;
	case ENTER:
		return 3;
	case IMM32: /* A branch has 32 bits, also after prefix 66. */
		return i->opcode == 0xe8 || i->opcode == 0xe9 || i->map == 1 ? 4 : full;
	case MODRM_IMM32:
		return full;
	case IMM_FULL:
		return i->wide ? 8 : full;
	case OFFSET:
		return 8;
	case MODRM_TEST8:
		return (i->reg & 7) < 2 ? 1 : 0;
	case MODRM_TEST32:
		return (i->reg & 7) < 2 ? full : 0;
	case NONE:
	case MODRM:
	case UNKNOWN:
		break;
	}
	return 0;
}

/* Processors refuse longer instructions. */
enum { BYTES_MAX = 15 };

bool mpk_x86_read(struct mpk_span code, struct mpk_x86 *out)
{
	struct reader r = { .code = mpk_span_of(code.data,
						code.len < BYTES_MAX ? code.len : BYTES_MAX) };
	enum follows follows;

	*out = (struct mpk_x86){ 0 };
	read_prefixes(&r, out);
	if (r.is_short || out->map > 3)
		return false;
	out->wide = r.rex & 8;
	follows = follows_opcode(out);
	if (follows == UNKNOWN)
		return false;
	if (follows >= MODRM)
		read_modrm(&r, out);
	else
		out->rm = (out->opcode & 7u) | (r.rex & 1) << 3; /* the register in the opcode of
								  * push, pop, mov */
	out->imm_bytes = immediate_bytes(follows, &r, out);
	out->imm = next_signed(&r, out->imm_bytes);
	out->len = r.at;
	return !r.is_short;
}
