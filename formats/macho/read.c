/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - Mach-O: objects, libraries and universal files
 *
 * Files of 32 and 64 bits have the same fields at different offsets: a table gives the offsets, and
 * one reader reads both. */
#include <elf.h>

#include "base/cursor.h"
#include "object/object.h"

#define MAGIC_32 0xfeedfaceU
#define MAGIC_64 0xfeedfacfU

enum {
	LC_SEGMENT = 0x1,
	LC_SYMTAB = 0x2,
	LC_LOAD_DYLIB = 0xc,
	LC_SEGMENT_64 = 0x19,
	MH_OBJECT = 1,
	MH_EXECUTE = 2,
	SECTION_TYPE = 0xff,
	S_ZEROFILL = 0x1,
	S_GB_ZEROFILL = 0xc,
	S_THREAD_LOCAL_ZEROFILL = 0x12,
	S_ATTR_SOME_INSTRUCTIONS = 0x400,
	VM_PROT_WRITE = 2,
	N_STAB = 0xe0,
	N_PEXT = 0x10,
	N_TYPE = 0x0e,
	N_SECT = 0x0e,
	N_EXT = 0x01,
	N_WEAK_DEF = 0x80,
};
#define LC_LOAD_WEAK_DYLIB 0x80000018U
#define LC_REEXPORT_DYLIB 0x8000001fU
#define S_ATTR_PURE_INSTRUCTIONS 0x80000000U

/* The offsets of fields, in bytes. */
struct layout {
	uint32_t segment_command, word;
	size_t header, initprot, nsects, sections; /* fields of a segment command */
	size_t section, size, offset, flags;       /* fields of a section */
	size_t nlist;
};

static const struct layout narrow = { LC_SEGMENT, 4, 28, 44, 48, 56, 68, 36, 40, 56, 12 };
static const struct layout wide = { LC_SEGMENT_64, 8, 32, 60, 64, 72, 80, 40, 48, 64, 16 };

struct reader {
	struct mpk_span bytes;
	const struct layout *layout;
	struct mpk_arena *arena;
	struct mpk_object object;
	struct mpk_span symtab, strings;
	size_t section_room, needed_room;
};

/* Addresses and sizes have the width of the file's class. */
static uint64_t load_word(const struct reader *r, const uint8_t *at)
{
	return r->layout->word == 8 ? mpk_load_u64(at) : mpk_load_u32(at);
}

static enum mpk_code corrupt(const struct reader *r, const uint8_t *at, const char *what,
			     struct mpk_error *err)
{
	return mpk_fail_offset(err, MPK_E_CORRUPT, "file", (uint64_t)(at - r->bytes.data),
			       "Mach-O: %s", what);
}

/* Accepts little-endian files of both widths. Big-endian ones are refused by name when an image is
 * opened. */
static bool macho_is(struct mpk_span bytes)
{
	return bytes.len >= 4 &&
	       (mpk_load_u32(bytes.data) == MAGIC_32 || mpk_load_u32(bytes.data) == MAGIC_64);
}

/* --- load commands ---------------------------------------------------------------------------- */

/* Returns the command at *at, and moves past it; empty at the end. */
static enum mpk_code next_command(const struct reader *r, struct mpk_span commands, size_t *at,
				  struct mpk_span *out, struct mpk_error *err)
{
	const uint8_t *from = commands.data + *at;
	size_t left = commands.len - *at;

	*out = (struct mpk_span){ 0 };
	if (!left)
		return MPK_OK;
	if (left < 8 || mpk_load_u32(from + 4) < 8 || mpk_load_u32(from + 4) > left)
		return corrupt(r, from, "a load command is longer than the list of them", err);
	*out = mpk_span_of(from, mpk_load_u32(from + 4));
	*at += out->len;
	return MPK_OK;
}

/* Counts the most entries that each list needs, so that it is allocated once. */
static enum mpk_code count_commands(struct reader *r, struct mpk_span commands,
				    struct mpk_error *err)
{
	struct mpk_span c;
	size_t at = 0;

	for (;;) {
		MPK_TRY(next_command(r, commands, &at, &c, err));
		if (!c.len)
			return MPK_OK;
		if (mpk_load_u32(c.data) == r->layout->segment_command)
			r->section_room += c.len / r->layout->section;
		else
			r->needed_room++;
	}
}

/* A name fills its 16 bytes, or ends with a NUL. */
static const char *section_name(const struct reader *r, const uint8_t *s)
{
	return mpk_arena_printf(r->arena, "%.16s,%.16s", (const char *)s + 16, (const char *)s);
}

static enum mpk_code read_section(struct reader *r, const uint8_t *s, bool writable,
				  struct mpk_error *err)
{
	const struct layout *l = r->layout;
	uint32_t flags = mpk_load_u32(s + l->flags), type = flags & SECTION_TYPE;
	uint64_t size = load_word(r, s + l->size), off = mpk_load_u32(s + l->offset);
	struct mpk_object_section section = {
		.name = section_name(r, s),
		.address = load_word(r, s + 32),
		.content_off = off,
		.is_code = flags & (S_ATTR_PURE_INSTRUCTIONS | S_ATTR_SOME_INSTRUCTIONS),
	};
	bool zeros = type == S_ZEROFILL || type == S_GB_ZEROFILL || type == S_THREAD_LOCAL_ZEROFILL;

	MPK_TRY_ALLOC(section.name, err);
	if (!zeros && !mpk_span_sub(r->bytes, off, size, &section.content))
		return corrupt(r, s, "a section lies beyond the end of the file", err);
	/* in an object all sections are in one segment, which is writable */
	section.is_constant = !section.is_code && strncmp(section.name, "__DATA,", 7) != 0 &&
			      (!writable || r->object.kind == MPK_OBJECT_RELOCATABLE);
	r->object.sections[r->object.section_count++] = section;
	return MPK_OK;
}

/* Finds the tables; read_symbols reads entries and names. */
static enum mpk_code read_symtab(struct reader *r, struct mpk_span c, struct mpk_error *err)
{
	uint64_t count;

	if (c.len < 24)
		return corrupt(r, c.data, "a symbol table command is too short", err);
	count = mpk_load_u32(c.data + 12);
	if (!mpk_span_sub(r->bytes, mpk_load_u32(c.data + 8), count * r->layout->nlist,
			  &r->symtab) ||
	    !mpk_span_sub(r->bytes, mpk_load_u32(c.data + 16), mpk_load_u32(c.data + 20),
			  &r->strings))
		return corrupt(r, c.data, "the symbol table lies beyond the end of the file", err);
	return MPK_OK;
}

/* Unknown commands are skipped by their size. */
static enum mpk_code read_commands(struct reader *r, struct mpk_span commands,
				   struct mpk_error *err)
{
	struct mpk_span c;
	size_t at = 0;

	for (;;) {
		MPK_TRY(next_command(r, commands, &at, &c, err));
		if (!c.len)
			return MPK_OK;

		uint32_t command = mpk_load_u32(c.data);
		if (command == r->layout->segment_command) {
			/* The number of sections is compared with the command's size, which was compared with the file's. */
			const struct layout *l = r->layout;
			uint32_t count;

			if (c.len < l->sections)
				return corrupt(r, c.data, "a segment command is too short", err);
			count = mpk_load_u32(c.data + l->nsects);
			if (count > (c.len - l->sections) / l->section)
				return corrupt(r, c.data,
					       "a segment has more sections than its command", err);
			for (uint32_t i = 0; i < count; i++)
				MPK_TRY(read_section(
					r, c.data + l->sections + i * l->section,
					mpk_load_u32(c.data + l->initprot) & VM_PROT_WRITE, err));
		} else if (command == LC_SYMTAB)
			MPK_TRY(read_symtab(r, c, err));
		else if (command == LC_LOAD_DYLIB || command == LC_LOAD_WEAK_DYLIB ||
			 command == LC_REEXPORT_DYLIB) {
			/* The offset of the name counts from the beginning of the command. */
			struct mpk_span name;

			if (c.len < 12 ||
			    !mpk_span_text(c, mpk_load_u32(c.data + 8), SIZE_MAX, &name))
				return corrupt(r, c.data,
					       "the name of a library lies outside of its command",
					       err);
			r->object.needed[r->object.needed_count++] = (const char *)name.data;
		}
	}
}

/* --- symbols ----------------------------------------------------------------------------------- */

/* Debugging entries (N_STAB) are skipped. On these systems C names have an underscore before them,
 * and loaders look them up without it. */
static enum mpk_code read_symbol(struct reader *r, const uint8_t *s, struct mpk_error *err)
{
	uint8_t type = s[4], section = s[5];
	uint16_t desc = mpk_load_u16(s + 6);
	struct mpk_object_symbol symbol = { .name = "" };

	if (type & N_STAB)
		return MPK_OK;
	if (mpk_load_u32(s)) {
		symbol.name = mpk_object_name(r->strings, mpk_load_u32(s));
		if (!symbol.name)
			return corrupt(r, s, "the name of a symbol lies outside the string table",
				       err);
		symbol.name += symbol.name[0] == '_';
	}
	symbol.global = (type & N_EXT) && !(type & N_PEXT);
	symbol.address = load_word(r, s + 8);
	symbol.defined = (type & N_TYPE) == N_SECT;
	symbol.weak = symbol.defined && (desc & N_WEAK_DEF);
	if (symbol.defined && (!section || section > r->object.section_count))
		return corrupt(r, s, "a symbol stands in a section that there is not", err);
	if (symbol.defined) {
		symbol.section = section;
		symbol.is_function = r->object.sections[section - 1].is_code;
	}
	r->object.symbols[r->object.symbol_count++] = symbol;
	return MPK_OK;
}

/* --- the file ------------------------------------------------------------------------------------ */

static const struct {
	uint32_t cpu;
	uint16_t machine;
	const char *name; /* the name that lipo prints */
} machines[] = {
	{ 0x01000007, EM_X86_64, "x86_64" },    { 0x0100000c, EM_AARCH64, "arm64" },
	{ 0x00000007, EM_386, "i386" },         { 0x0000000c, EM_ARM, "arm" },
	{ 0x0200000c, EM_AARCH64, "arm64_32" },
};

static enum mpk_code macho_read(struct mpk_span bytes, struct mpk_arena *arena,
				struct mpk_object *out, struct mpk_error *err)
{
	struct reader r = { .bytes = bytes, .arena = arena };
	struct mpk_span commands;

	/* A machine that ELF does not number keeps Mach-O's number. */
	const uint8_t *h = r.bytes.data;
	struct mpk_object *o = &r.object;

	if (!macho_is(r.bytes))
		return corrupt(&r, h, "no magic number", err);
	r.layout = mpk_load_u32(h) == MAGIC_64 ? &wide : &narrow;
	if (r.bytes.len < r.layout->header)
		return corrupt(&r, h, "the header is cut off", err);
	o->machine_number = mpk_load_u32(h + 4);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(machines); i++)
		if (machines[i].cpu == o->machine_number)
			o->machine = machines[i].machine;
	o->kind = mpk_load_u32(h + 12) == MH_OBJECT    ? MPK_OBJECT_RELOCATABLE
		  : mpk_load_u32(h + 12) == MH_EXECUTE ? MPK_OBJECT_PROGRAM
						       : MPK_OBJECT_LIBRARY;
	if (!mpk_span_sub(r.bytes, r.layout->header, mpk_load_u32(h + 20), &commands))
		return corrupt(&r, h + 20, "load commands end beyond the file", err);

	MPK_TRY(count_commands(&r, commands, err));
	r.object.sections = mpk_arena_array(arena, r.section_room, sizeof *r.object.sections);
	r.object.needed = mpk_arena_array(arena, r.needed_room, sizeof *r.object.needed);
	MPK_TRY_ALLOC(r.object.sections && r.object.needed, err);
	MPK_TRY(read_commands(&r, commands, err));

	size_t each = r.layout->nlist, count = r.symtab.len / each;

	MPK_TRY_ARRAY(r.object.symbols, r.arena, count, err);
	for (size_t i = 0; i < count; i++)
		MPK_TRY(read_symbol(&r, r.symtab.data + i * each, err));
	MPK_TRY(mpk_object_place(&r.object, err));

	*out = r.object;
	return MPK_OK;
}

const struct mpk_object_reader mpk_macho_reader = { macho_is, macho_read, NULL };

/* --- universal files ---------------------------------------------------------------------- */

/* The headers of universal files are big-endian, whatever the files in them are. */
static uint32_t load_be32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

enum { FAT_HEADER = 8, FAT_MAX = 40 };

/* Files of more than 4 GiB have offsets of 64 bits. */
static bool is_fat64(struct mpk_span bytes)
{
	return load_be32(bytes.data) == 0xcafebabfU;
}

/* In a Java class file, which has the same magic number, the count is a version of 45 or more. */
bool mpk_macho_is_universal(struct mpk_span bytes)
{
	return bytes.len >= FAT_HEADER &&
	       (load_be32(bytes.data) == 0xcafebabeU || is_fat64(bytes)) &&
	       load_be32(bytes.data + 4) > 0 && load_be32(bytes.data + 4) <= FAT_MAX;
}

/* A processor without a name is named by its number. */
static const char *slice_name(uint32_t cpu, struct mpk_arena *arena)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(machines); i++)
		if (machines[i].cpu == cpu)
			return machines[i].name;
	return mpk_arena_printf(arena, "cpu-0x%x", cpu);
}

enum mpk_code mpk_macho_slices(struct mpk_span bytes, struct mpk_arena *arena,
			       struct mpk_macho_slice **out, size_t *count, struct mpk_error *err)
{
	bool large = is_fat64(bytes);
	size_t each = large ? 32 : 20, n = load_be32(bytes.data + 4);
	struct mpk_macho_slice *list = mpk_arena_array(arena, n, sizeof *list);

	MPK_TRY_ALLOC(list, err);
	if (bytes.len < FAT_HEADER + n * each)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", bytes.len,
				       "Mach-O: the list of %zu architectures is cut off", n);
	for (size_t i = 0; i < n; i++) {
		const uint8_t *a = bytes.data + FAT_HEADER + i * each;
		uint64_t off = large ? (uint64_t)load_be32(a + 8) << 32 | load_be32(a + 12)
				     : load_be32(a + 8);
		uint64_t size = large ? (uint64_t)load_be32(a + 16) << 32 | load_be32(a + 20)
				      : load_be32(a + 12);

		list[i].name = slice_name(load_be32(a), arena);
		list[i].off = off;
		MPK_TRY_ALLOC(list[i].name, err);
		if (!mpk_span_sub(bytes, off, size, &list[i].bytes))
			return mpk_fail_offset(
				err, MPK_E_CORRUPT, "file", (uint64_t)(a - bytes.data),
				"Mach-O: the code for %s lies beyond the file", list[i].name);
	}
	*out = list;
	*count = n;
	return MPK_OK;
}
