/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - COFF objects and PE files: sections and symbols
 *
 * Both have the same section headers and machine numbers. The symbol table of an object has no
 * sizes, which are inferred. The functions of a library are in its export directory, which is found
 * by addresses of the loaded image. */
#include "object/object.h"

#include <elf.h>

#include "base/cursor.h"
#include "base/num.h"
#include "base/vec.h"

enum { MPK_COFF_HEADER = 20, MPK_COFF_SECTION = 40 };

enum {
	SCN_CNT_CODE = 0x20,
	SCN_CNT_ZEROS = 0x80,
};
#define SCN_MEM_EXECUTE 0x20000000U
#define SCN_MEM_WRITE 0x80000000U

/* Returns EM_* for a machine number; 0: ELF has no number for it. */
static uint16_t coff_machine(uint16_t number)
{
	static const struct {
		uint16_t number, machine;
	} machines[] = {
		{ 0x8664, EM_X86_64 },  { 0xaa64, EM_AARCH64 }, { 0xa641, EM_AARCH64 },
		{ 0xa64e, EM_AARCH64 }, { 0x014c, EM_386 },     { 0x01c4, EM_ARM },
		{ 0x5064, EM_RISCV },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(machines); i++)
		if (machines[i].number == number)
			return machines[i].machine;
	return 0;
}

/* Returns eight bytes, with a NUL if there is space for it; "/123": the name is in the string
 * table. */
static const char *section_name(const uint8_t *header, struct mpk_span strings,
				struct mpk_arena *arena)
{
	struct mpk_span name = mpk_span_of(header, strnlen((const char *)header, 8));
	uint64_t off;

	if (name.len > 1 && name.data[0] == '/' && mpk_parse_u64(mpk_span_from(name, 1), &off))
		(void)mpk_span_text(strings, off, SIZE_MAX, &name);
	return mpk_arena_text(arena, name);
}

/* Reads the section headers at off
 * @strings  long names of objects; empty in PE files
 * @out      count sections; addresses are 0 in objects */
static enum mpk_code coff_sections(struct mpk_span bytes, uint64_t off, size_t count,
				   struct mpk_span strings, struct mpk_arena *arena,
				   struct mpk_object_section **out, struct mpk_error *err)
{
	struct mpk_object_section *list;
	struct mpk_span headers;

	if (!mpk_span_sub(bytes, off, (uint64_t)count * MPK_COFF_SECTION, &headers))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", off,
				       "COFF: %zu section headers do not fit into the file", count);
	MPK_TRY_ARRAY(list, arena, count, err);
	for (size_t i = 0; i < count; i++) {
		const uint8_t *h = headers.data + i * MPK_COFF_SECTION;
		uint32_t flags = mpk_load_u32(h + 36), virtual_size = mpk_load_u32(h + 8);
		uint64_t size = mpk_load_u32(h + 16);
		struct mpk_object_section *s = &list[i];

		/* bytes beyond the size in memory pad the section in the file */
		if (virtual_size && virtual_size < size)
			size = virtual_size;
		s->name = section_name(h, strings, arena);
		s->address = mpk_load_u32(h + 12);
		s->content_off = mpk_load_u32(h + 20);
		s->is_code = flags & (SCN_CNT_CODE | SCN_MEM_EXECUTE);
		s->is_constant = !s->is_code && !(flags & SCN_MEM_WRITE);
		MPK_TRY_ALLOC(s->name, err);
		if (!(flags & SCN_CNT_ZEROS) && s->content_off &&
		    !mpk_span_sub(bytes, s->content_off, size, &s->content))
			return mpk_fail_offset(
				err, MPK_E_CORRUPT, "file", off + i * MPK_COFF_SECTION,
				"COFF: section %zu lies beyond the end of the file", i + 1);
	}
	*out = list;
	return MPK_OK;
}

/* --- COFF objects: a header of either size, sections, symbols, strings --- */

enum {
	BIG_HEADER = 56,
	BIG_VERSION = 2,
	CLASS_EXTERNAL = 2,
	CLASS_WEAK = 105,
	TYPE_FUNCTION = 0x20,
};

/* Fields that both kinds of headers have. */
struct header {
	bool big;
	uint16_t machine;
	uint32_t section_count, symbols_off, symbol_count;
	size_t end, each; /* offset of the header's end, size of a symbol, in bytes */
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

/* Returns false if this is not an object, by its header or by the place of its symbols. */
static bool coff_read_header(struct mpk_span bytes, struct header *out)
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
	return coff_machine(out->machine) && out->section_count && out->symbol_count &&
	       out->symbols_off >= out->end;
}

/* An object begins with its machine number, a big one with zeros and a class identifier. */
static bool coff_is(struct mpk_span bytes)
{
	struct header h;

	return coff_read_header(bytes, &h) && h.symbols_off < bytes.len;
}

/* Reads the name of a symbol, from its eight bytes or from the string table. */
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

/* Auxiliary records follow the symbol that they belong to. */
static enum mpk_code coff_read_symbols(struct reader *r, struct mpk_error *err)
{
	size_t each = r->h.each, count = r->symbols.len / each;

	MPK_TRY_ARRAY(r->object.symbols, r->arena, count, err);
	for (size_t i = 0; i < count; i++) {
		const uint8_t *s = r->symbols.data + i * each;

		/* section numbers are signed: -1 and -2 are symbols without a place in the file */
		int32_t section =
			r->h.big ? (int32_t)mpk_load_u32(s + 12) : (int16_t)mpk_load_u16(s + 12);
		const uint8_t *rest = s + (r->h.big ? 16 : 14);
		struct mpk_object_symbol symbol = {
			.defined = section > 0,
			.global = rest[2] == CLASS_EXTERNAL || rest[2] == CLASS_WEAK,
			.weak = rest[2] == CLASS_WEAK,
			.address = mpk_load_u32(s + 8),
		};

		if (section > 0 && (size_t)section > r->object.section_count)
			return mpk_fail_offset(err, MPK_E_CORRUPT, "file",
					       (uint64_t)(s - r->bytes.data),
					       "COFF: a symbol stands in section %d of %zu",
					       section, r->object.section_count);
		MPK_TRY(read_name(r, s, &symbol.name, err));
		if (r->object.machine == EM_386 && symbol.name[0] == '_')
			symbol.name++;
		if (symbol.defined) {
			symbol.section = (size_t)section;
			symbol.is_function = (mpk_load_u16(rest) & 0xf0) == TYPE_FUNCTION ||
					     r->object.sections[section - 1].is_code;
		}
		r->object.symbols[r->object.symbol_count++] = symbol;

		i += s[each - 1];
	}
	return mpk_object_place(&r->object, err);
}

static enum mpk_code coff_read(struct mpk_span bytes, struct mpk_arena *arena,
			       struct mpk_object *out, struct mpk_error *err)
{
	struct reader r = { .bytes = bytes, .arena = arena };
	uint64_t end;

	if (!coff_read_header(bytes, &r.h))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", 0,
				       "COFF: no object begins here");
	end = (uint64_t)r.h.symbols_off + (uint64_t)r.h.symbol_count * r.h.each;
	if (!mpk_span_sub(bytes, r.h.symbols_off, end - r.h.symbols_off, &r.symbols))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", r.h.end,
				       "COFF: the symbol table lies beyond the end of the file");
	/* its size includes the size field, and offsets count from that field */
	r.strings = mpk_span_of(bytes.data + end, bytes.len - (size_t)end);
	if (r.strings.len >= 4 && mpk_load_u32(r.strings.data) < r.strings.len)
		r.strings.len = mpk_load_u32(r.strings.data);
	r.object = (struct mpk_object){ .kind = MPK_OBJECT_RELOCATABLE,
					.machine = coff_machine(r.h.machine),
					.machine_number = r.h.machine,
					.section_count = r.h.section_count };
	MPK_TRY(coff_sections(bytes, r.h.end, r.object.section_count, r.strings, arena,
			      &r.object.sections, err));
	/* objects have no layout yet: symbols count from the beginning of their section */
	for (size_t i = 0; i < r.object.section_count; i++)
		r.object.sections[i].address = 0;
	MPK_TRY(coff_read_symbols(&r, err));
	*out = r.object;
	return MPK_OK;
}

/* DLLs and programs: exports and imports, from two directories
 *
 * The directories contain addresses relative to the loaded image (RVA), which the sections map to
 * offsets in the file. */

enum {
	DOS_HEADER = 64,
	FLAG_DLL = 0x2000,
	EXPORT_BYTES = 40,
	IMPORT_BYTES = 20,
	NEEDED_MAX = 4096, /* no loader accepts as many */
};

struct pe_reader {
	struct mpk_span bytes;
	struct mpk_arena *arena;
	struct mpk_span optional; /* the header after it */
	struct mpk_object object;
};

/* The error names the offset of the wrong field. */
static enum mpk_code pe_corrupt(const struct pe_reader *r, const uint8_t *at, const char *what,
				struct mpk_error *err)
{
	return mpk_fail_offset(err, MPK_E_CORRUPT, "file", (uint64_t)(at - r->bytes.data), "PE: %s",
			       what);
}

/* The DOS header has the offset of the PE header at byte 60. */
static bool pe_is(struct mpk_span bytes)
{
	struct mpk_span headers;

	return bytes.len >= DOS_HEADER && mpk_span_starts(bytes, "MZ") &&
	       mpk_span_sub(bytes, mpk_load_u32(bytes.data + 60), 4 + MPK_COFF_HEADER, &headers) &&
	       memcmp(headers.data, "PE\0\0", 4) == 0;
}

/* Returns the section, from 1, that contains an address; 0: none. Loaders require sections in
 * order. */
static size_t section_of(const struct pe_reader *r, uint32_t address)
{
	size_t low = mpk_first_from(
		r->object.sections, r->object.section_count, sizeof *r->object.sections,
		offsetof(struct mpk_object_section, address), (uint64_t)address + 1);

	if (!low || address - r->object.sections[low - 1].address >=
			    r->object.sections[low - 1].content.len)
		return 0;
	return low;
}

/* Finds the bytes of the file from an address to the end of its section; false: none. */
static bool at_address(const struct pe_reader *r, uint32_t address, struct mpk_span *out)
{
	size_t index = section_of(r, address);
	const struct mpk_object_section *s = index ? &r->object.sections[index - 1] : NULL;

	return s && mpk_span_sub(s->content, address - s->address,
				 s->content.len - (address - s->address), out);
}

static const char *coff_text_at(const struct pe_reader *r, uint32_t address)
{
	struct mpk_span rest;

	return at_address(r, address, &rest) ? mpk_object_name(rest, 0) : NULL;
}

/* Reads a row of the table of directories in the optional header: address and size, zeros if there
 * is none. */
static void directory(const struct pe_reader *r, size_t index, uint32_t *address, uint32_t *size)
{
	bool wide = r->optional.len >= 2 && mpk_load_u16(r->optional.data) == 0x20b;
	size_t off = (wide ? 112 : 96) + 8 * index;

	*address = *size = 0;
	if (r->optional.len < off + 8 ||
	    mpk_load_u32(r->optional.data + (wide ? 108 : 92)) <= index)
		return;
	*address = mpk_load_u32(r->optional.data + off);
	*size = mpk_load_u32(r->optional.data + off + 4);
}

/* Reads three tables: addresses by ordinal, names, and the ordinal of each name. */
static enum mpk_code read_exports(struct pe_reader *r, struct mpk_error *err)
{
	struct mpk_span d, addresses, names, ordinals;
	uint32_t at, size, functions, count;

	directory(r, 0, &at, &size);
	if (!at)
		return MPK_OK;
	if (!at_address(r, at, &d) || d.len < EXPORT_BYTES)
		return pe_corrupt(r, r->optional.data, "the exports lie outside the sections", err);
	functions = mpk_load_u32(d.data + 20);
	count = mpk_load_u32(d.data + 24);
	if (!count)
		return MPK_OK;
	if (!at_address(r, mpk_load_u32(d.data + 28), &addresses) ||
	    !at_address(r, mpk_load_u32(d.data + 32), &names) ||
	    !at_address(r, mpk_load_u32(d.data + 36), &ordinals) || functions > addresses.len / 4 ||
	    count > names.len / 4 || count > ordinals.len / 2)
		return pe_corrupt(r, d.data, "a table of the exports lies outside the sections",
				  err);
	MPK_TRY_ARRAY(r->object.symbols, r->arena, count, err);
	for (uint32_t i = 0; i < count; i++) {
		const char *name = coff_text_at(r, mpk_load_u32(names.data + 4 * (size_t)i));
		uint16_t ordinal = mpk_load_u16(ordinals.data + 2 * (size_t)i);
		uint32_t address;

		if (!name || ordinal >= functions)
			return pe_corrupt(r, names.data + 4 * (size_t)i,
					  "an export has no name, or no address", err);
		address = mpk_load_u32(addresses.data + 4 * (size_t)ordinal);
		/* an address inside the directory forwards to another library */
		if (address < at || address - at >= size) {
			/* --- exports ---------------------------------------------------------- --- */
			size_t section = section_of(r, address);

			r->object.symbols[r->object.symbol_count++] = (struct mpk_object_symbol){
				.name = name,
				.defined = true,
				.global = true,
				.section = section,
				.address = address,
				.is_function = section && r->object.sections[section - 1].is_code,
			};
		}
	}
	return MPK_OK;
}

/* --- imports -------------------------------------------------------------------------------- */

/* Reads descriptors up to one without a name. */
static enum mpk_code read_imports(struct pe_reader *r, struct mpk_error *err)
{
	struct mpk_span d;
	uint32_t at, size;
	size_t count = 0;

	directory(r, 1, &at, &size);
	if (!at)
		return MPK_OK;
	if (!at_address(r, at, &d))
		return pe_corrupt(r, r->optional.data, "the imports lie outside the sections", err);
	while (count < NEEDED_MAX && (count + 1) * IMPORT_BYTES <= d.len &&
	       mpk_load_u32(d.data + count * IMPORT_BYTES + 12))
		count++;
	MPK_TRY_ARRAY(r->object.needed, r->arena, count, err);
	for (size_t i = 0; i < count; i++) {
		const uint8_t *row = d.data + i * IMPORT_BYTES;
		const char *name = coff_text_at(r, mpk_load_u32(row + 12));

		if (!name)
			return pe_corrupt(r, row, "an imported library has no name", err);
		r->object.needed[r->object.needed_count++] = name;
	}
	return MPK_OK;
}

static enum mpk_code pe_read(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_object *out,
			     struct mpk_error *err)
{
	struct pe_reader r = { .bytes = bytes, .arena = arena };
	const uint8_t *h;
	uint64_t off;

	if (!pe_is(bytes))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", 0,
				       "PE: no such file begins here");
	off = mpk_load_u32(bytes.data + 60) + (uint64_t)4;
	h = bytes.data + off;
	r.object = (struct mpk_object){
		.kind = mpk_load_u16(h + 18) & FLAG_DLL ? MPK_OBJECT_LIBRARY : MPK_OBJECT_PROGRAM,
		.machine = coff_machine(mpk_load_u16(h)),
		.machine_number = mpk_load_u16(h),
		.section_count = mpk_load_u16(h + 2),
	};
	if (!mpk_span_sub(bytes, off + MPK_COFF_HEADER, mpk_load_u16(h + 16), &r.optional))
		return pe_corrupt(&r, h, "the optional header is cut off", err);
	MPK_TRY(coff_sections(bytes, off + MPK_COFF_HEADER + r.optional.len, r.object.section_count,
			      (struct mpk_span){ 0 }, arena, &r.object.sections, err));
	for (size_t i = 1; i < r.object.section_count; i++)
		if (r.object.sections[i].address < r.object.sections[i - 1].address)
			return pe_corrupt(&r, h, "sections are not in the order of their addresses",
					  err);
	MPK_TRY(read_exports(&r, err));
	MPK_TRY(read_imports(&r, err));
	MPK_TRY(mpk_object_place(&r.object, err));
	*out = r.object;
	return MPK_OK;
}

const struct mpk_object_reader mpk_coff_reader = { coff_is, coff_read, NULL };
const struct mpk_object_reader mpk_pe_reader = { pe_is, pe_read, NULL };
