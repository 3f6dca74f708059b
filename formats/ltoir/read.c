/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - the header of a container of NVVM IR */
#include "ltoir/ltoir.h"

#include "base/cursor.h"

#define MAGIC "\xed\x43\x4e\x7f"

bool mpk_ltoir_is(struct mpk_span bytes)
{
	return mpk_span_starts(bytes, MAGIC);
}

static enum mpk_code corrupt(uint64_t off, const char *what, struct mpk_error *err)
{
	return mpk_fail_offset(err, MPK_E_CORRUPT, "payload", off, "%s", what);
}

/* Reads a version of two bytes. */
static enum mpk_code read_version(struct mpk_cursor *c, const char *what, unsigned *major,
				  unsigned *minor, struct mpk_error *err)
{
	uint16_t both;

	MPK_TRY(mpk_read_u16(c, what, &both, err));
	*major = both & 0xff;
	*minor = both >> 8;
	return MPK_OK;
}

enum mpk_code mpk_ltoir_read(struct mpk_span bytes, struct mpk_ltoir *out, struct mpk_error *err)
{
	enum { ARCH = 1, ARCH_ONLY = 32, FIELDS_AT = 24, FIELD_BYTES = 4 };
	struct mpk_cursor c = mpk_cursor_of(bytes, 0, "payload");
	struct mpk_ltoir l = { 0 };
	uint32_t fields_end, header_end, arch = 0;
	uint16_t fields, level;
	struct mpk_span magic;

	MPK_TRY(mpk_read_bytes(&c, "the magic number", 4, &magic, err));
	if (!mpk_ltoir_is(magic))
		return corrupt(0, "no container of NVVM IR begins here", err);
	MPK_TRY(read_version(&c, "the version of the container", &l.major, &l.minor, err));
	MPK_TRY(read_version(&c, "the version of NVVM IR", &l.ir_major, &l.ir_minor, err));
	MPK_TRY(read_version(&c, "the version of debug information", &l.debug_major, &l.debug_minor,
			     err));
	MPK_TRY(read_version(&c, "the version of LLVM", &l.llvm_major, &l.llvm_minor, err));
	MPK_TRY(mpk_read_u16(&c, "the place of the fields", &fields, err));
	MPK_TRY(mpk_read_u16(&c, "the level", &level, err));
	MPK_TRY(mpk_read_u32(&c, "the end of the fields", &fields_end, err));
	MPK_TRY(mpk_read_u32(&c, "the end of the header", &header_end, err));
	if (fields < FIELDS_AT || fields_end < fields || header_end < fields_end ||
	    header_end >= bytes.len)
		return corrupt(12, "the header of the container reaches beyond the file", err);
	for (uint32_t at = fields; at + FIELD_BYTES <= fields_end; at += FIELD_BYTES) {
		uint16_t number = mpk_load_u16(bytes.data + at);
		uint16_t value = mpk_load_u16(bytes.data + at + 2);

		if (number == ARCH)
			arch = value;
		l.arch_specific |= number == ARCH_ONLY && value;
	}
	if (!arch || arch % 10)
		return corrupt(fields, "the container does not say for which architecture it is",
			       err);
	l.sm = arch / 10;
	l.ir_bytes = bytes.len - header_end;
	*out = l;
	return MPK_OK;
}
