/* SPDX-License-Identifier: Apache-2.0 */
/* object.c - COFF objects: a header of either size, sections, symbols, strings */
#include <elf.h>

#include "base/cursor.h"
#include "coff/internal/section.h"

enum {
	BIG_HEADER = 56,
	BIG_VERSION = 2,
	CLASS_EXTERNAL = 2,
	CLASS_WEAK = 105,
	TYPE_FUNCTION = 0x20,
};

/* Both headers say this. */
struct header {
	bool big;
	uint16_t machine;
	uint32_t section_count, symbols_off, symbol_count;
	size_t end, each; /* of the header, of a symbol; bytes */
};

struct reader {
	struct mpk_span bytes;
	struct mpk_arena *arena;
	struct header h;
	struct mpk_span symbols, strings;
	struct mpk_object object;
};

static bool is_big(struct mpk_span bytes)
{
	static const uint8_t class_id[] = { 0xc7, 0xa1, 0xba, 0xd1, 0xee, 0xba, 0xa9, 0x4b,
					    0xaf, 0x20, 0xfa, 0xf6, 0x6a, 0xa4, 0xdc, 0xb8 };

	return bytes.len >= BIG_HEADER && mpk_load_u32(bytes.data) == 0xffff0000U &&
	       mpk_load_u16(bytes.data + 4) >= BIG_VERSION &&
	       memcmp(bytes.data + 12, class_id, sizeof class_id) == 0;
}

/* False: this is no object, by its header or by where it says its symbols are. */
static bool read_header(struct mpk_span bytes, struct header *out)
{
	const uint8_t *b = bytes.data;

	if (is_big(bytes))
		*out = (struct header){ true,
					mpk_load_u16(b + 6),
					mpk_load_u32(b + 44),
					mpk_load_u32(b + 48),
					mpk_load_u32(b + 52),
					BIG_HEADER,
					20 };
	else if (bytes.len >= MPK_COFF_HEADER && mpk_load_u16(b + 16) == 0)
		*out = (struct header){ false,
					mpk_load_u16(b),
					mpk_load_u16(b + 2),
					mpk_load_u32(b + 8),
					mpk_load_u32(b + 12),
					MPK_COFF_HEADER,
					18 };
	else
		return false;
	return mpk_coff_machine(out->machine) && out->section_count && out->symbol_count &&
	       out->symbols_off >= out->end;
}

bool mpk_coff_is(struct mpk_span bytes)
{
	struct header h;

	return read_header(bytes, &h) && h.symbols_off < bytes.len;
}

/* The name of a symbol: in its eight bytes, or where the string table has it. */
static enum mpk_code read_name(struct reader *r, const uint8_t *s, const char **out,
			       struct mpk_error *err)
{
	if (mpk_load_u32(s)) {
		*out = mpk_arena_copy(r->arena, s, strnlen((const char *)s, 8));
		return *out ? MPK_OK : mpk_fail_nomem(err);
	}
	*out = mpk_object_name(r->strings, mpk_load_u32(s + 4));
	if (*out)
		return MPK_OK;
	return mpk_fail_offset(err, MPK_E_CORRUPT, "file", (uint64_t)(s - r->bytes.data),
			       "COFF: the name of a symbol lies outside the string table");
}

static enum mpk_code read_symbol(struct reader *r, const uint8_t *s, struct mpk_error *err)
{
	/* sections are numbered with a sign: -1 and -2 stand for no place in the file */
	int32_t section = r->h.big ? (int32_t)mpk_load_u32(s + 12) : (int16_t)mpk_load_u16(s + 12);
	const uint8_t *rest = s + (r->h.big ? 16 : 14);
	struct mpk_object_symbol symbol = {
		.defined = section > 0,
		.global = rest[2] == CLASS_EXTERNAL || rest[2] == CLASS_WEAK,
		.weak = rest[2] == CLASS_WEAK,
		.address = mpk_load_u32(s + 8),
	};

	if (section > 0 && (size_t)section > r->object.section_count)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", (uint64_t)(s - r->bytes.data),
				       "COFF: a symbol stands in section %d of %zu", section,
				       r->object.section_count);
	MPK_TRY(read_name(r, s, &symbol.name, err));
	if (r->object.machine == EM_386 && symbol.name[0] == '_')
		symbol.name++;
	if (symbol.defined) {
		symbol.section = (size_t)section;
		symbol.is_function = (mpk_load_u16(rest) & 0xf0) == TYPE_FUNCTION ||
				     r->object.sections[section - 1].is_code;
	}
	r->object.symbols[r->object.symbol_count++] = symbol;
	return MPK_OK;
}

/* Auxiliary records follow the symbol that they say more of. */
static enum mpk_code read_symbols(struct reader *r, struct mpk_error *err)
{
	size_t each = r->h.each, count = r->symbols.len / each;

	r->object.symbols = mpk_arena_array(r->arena, count, sizeof *r->object.symbols);
	MPK_TRY_ALLOC(r->object.symbols, err);
	for (size_t i = 0; i < count; i++) {
		const uint8_t *s = r->symbols.data + i * each;

		MPK_TRY(read_symbol(r, s, err));
		i += s[each - 1];
	}
	return mpk_object_place(&r->object, err);
}

enum mpk_code mpk_coff_read(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_object *out,
			    struct mpk_error *err)
{
	struct reader r = { .bytes = bytes, .arena = arena };
	uint64_t end;

	if (!read_header(bytes, &r.h))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", 0,
				       "COFF: no object begins here");
	end = (uint64_t)r.h.symbols_off + (uint64_t)r.h.symbol_count * r.h.each;
	if (!mpk_span_sub(bytes, r.h.symbols_off, end - r.h.symbols_off, &r.symbols))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", r.h.end,
				       "COFF: the symbol table lies beyond the end of the file");
	/* its size counts itself, and so do offsets into it */
	r.strings = mpk_span_of(bytes.data + end, bytes.len - (size_t)end);
	if (r.strings.len >= 4 && mpk_load_u32(r.strings.data) < r.strings.len)
		r.strings.len = mpk_load_u32(r.strings.data);
	r.object = (struct mpk_object){ .kind = MPK_OBJECT_RELOCATABLE,
					.machine = mpk_coff_machine(r.h.machine),
					.machine_number = r.h.machine,
					.section_count = r.h.section_count };
	MPK_TRY(mpk_coff_sections(bytes, r.h.end, r.object.section_count, r.strings, arena,
				  &r.object.sections, err));
	/* objects are not laid out yet: symbols count from the beginning of their section */
	for (size_t i = 0; i < r.object.section_count; i++)
		r.object.sections[i].address = 0;
	MPK_TRY(read_symbols(&r, err));
	*out = r.object;
	return MPK_OK;
}
