/* SPDX-License-Identifier: Apache-2.0 */
/* pe.c - DLLs and programs: what they export and need, by their two directories
 *
 * The directories speak in addresses relative to where a loader puts the file (RVA), which sections
 * translate into places of the file.
 */
#include "base/cursor.h"
#include "coff/internal/section.h"

enum {
	DOS_HEADER = 64,
	FLAG_DLL = 0x2000,
	EXPORT_BYTES = 40,
	IMPORT_BYTES = 20,
	NEEDED_MAX = 4096, /* no loader takes that many */
};

struct reader {
	struct mpk_span bytes;
	struct mpk_arena *arena;
	struct mpk_span optional; /* the header behind it */
	struct mpk_object object;
};

static enum mpk_code corrupt(const struct reader *r, const uint8_t *at, const char *what,
			     struct mpk_error *err)
{
	return mpk_fail_offset(err, MPK_E_CORRUPT, "file", (uint64_t)(at - r->bytes.data), "PE: %s",
			       what);
}

bool mpk_pe_is(struct mpk_span bytes)
{
	struct mpk_span headers;

	return bytes.len >= DOS_HEADER && mpk_span_starts(bytes, "MZ") &&
	       mpk_span_sub(bytes, mpk_load_u32(bytes.data + 60), 4 + MPK_COFF_HEADER, &headers) &&
	       memcmp(headers.data, "PE\0\0", 4) == 0;
}

/* The section, from 1, that has a byte for an address; 0: none. A loader wants them in order. */
static size_t section_of(const struct reader *r, uint32_t address)
{
	size_t low = 0, high = r->object.section_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->object.sections[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address - r->object.sections[low - 1].address >=
			    r->object.sections[low - 1].content.len)
		return 0;
	return low;
}

/* What the file has from an address to the end of its section; false: nothing. */
static bool at_address(const struct reader *r, uint32_t address, struct mpk_span *out)
{
	size_t index = section_of(r, address);
	const struct mpk_object_section *s = index ? &r->object.sections[index - 1] : NULL;

	return s && mpk_span_sub(s->content, address - s->address,
				 s->content.len - (address - s->address), out);
}

static const char *text_at(const struct reader *r, uint32_t address)
{
	struct mpk_span rest;

	return at_address(r, address, &rest) ? mpk_object_name(rest, 0) : NULL;
}

/* A row of the optional header's table of directories: address and size, zero when there is none. */
static void directory(const struct reader *r, size_t index, uint32_t *address, uint32_t *size)
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

/* --- exports -------------------------------------------------------------------------------- */

static void add_export(struct reader *r, const char *name, uint32_t address)
{
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

/* Three tables: addresses by ordinal, names, and the ordinal of each name. */
static enum mpk_code read_exports(struct reader *r, struct mpk_error *err)
{
	struct mpk_span d, addresses, names, ordinals;
	uint32_t at, size, functions, count;

	directory(r, 0, &at, &size);
	if (!at)
		return MPK_OK;
	if (!at_address(r, at, &d) || d.len < EXPORT_BYTES)
		return corrupt(r, r->optional.data, "the exports lie outside the sections", err);
	functions = mpk_load_u32(d.data + 20);
	count = mpk_load_u32(d.data + 24);
	if (!count)
		return MPK_OK;
	if (!at_address(r, mpk_load_u32(d.data + 28), &addresses) ||
	    !at_address(r, mpk_load_u32(d.data + 32), &names) ||
	    !at_address(r, mpk_load_u32(d.data + 36), &ordinals) || functions > addresses.len / 4 ||
	    count > names.len / 4 || count > ordinals.len / 2)
		return corrupt(r, d.data, "a table of the exports lies outside the sections", err);
	r->object.symbols = mpk_arena_array(r->arena, count, sizeof *r->object.symbols);
	MPK_TRY_ALLOC(r->object.symbols, err);
	for (uint32_t i = 0; i < count; i++) {
		const char *name = text_at(r, mpk_load_u32(names.data + 4 * (size_t)i));
		uint16_t ordinal = mpk_load_u16(ordinals.data + 2 * (size_t)i);
		uint32_t address;

		if (!name || ordinal >= functions)
			return corrupt(r, names.data + 4 * (size_t)i,
				       "an export has no name, or no address", err);
		address = mpk_load_u32(addresses.data + 4 * (size_t)ordinal);
		/* one that points into the directory stands for that of another library */
		if (address < at || address - at >= size)
			add_export(r, name, address);
	}
	return MPK_OK;
}

/* --- imports -------------------------------------------------------------------------------- */

/* Descriptors up to one without a name. */
static enum mpk_code read_imports(struct reader *r, struct mpk_error *err)
{
	struct mpk_span d;
	uint32_t at, size;
	size_t count = 0;

	directory(r, 1, &at, &size);
	if (!at)
		return MPK_OK;
	if (!at_address(r, at, &d))
		return corrupt(r, r->optional.data, "the imports lie outside the sections", err);
	while (count < NEEDED_MAX && (count + 1) * IMPORT_BYTES <= d.len &&
	       mpk_load_u32(d.data + count * IMPORT_BYTES + 12))
		count++;
	r->object.needed = mpk_arena_array(r->arena, count, sizeof *r->object.needed);
	MPK_TRY_ALLOC(r->object.needed, err);
	for (size_t i = 0; i < count; i++) {
		const uint8_t *row = d.data + i * IMPORT_BYTES;
		const char *name = text_at(r, mpk_load_u32(row + 12));

		if (!name)
			return corrupt(r, row, "an imported library has no name", err);
		r->object.needed[r->object.needed_count++] = name;
	}
	return MPK_OK;
}

enum mpk_code mpk_pe_read(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_object *out,
			  struct mpk_error *err)
{
	struct reader r = { .bytes = bytes, .arena = arena };
	const uint8_t *h;
	uint64_t off;

	if (!mpk_pe_is(bytes))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", 0,
				       "PE: no such file begins here");
	off = mpk_load_u32(bytes.data + 60) + (uint64_t)4;
	h = bytes.data + off;
	r.object = (struct mpk_object){
		.kind = mpk_load_u16(h + 18) & FLAG_DLL ? MPK_OBJECT_LIBRARY : MPK_OBJECT_PROGRAM,
		.machine = mpk_coff_machine(mpk_load_u16(h)),
		.machine_number = mpk_load_u16(h),
		.section_count = mpk_load_u16(h + 2),
	};
	if (!mpk_span_sub(bytes, off + MPK_COFF_HEADER, mpk_load_u16(h + 16), &r.optional))
		return corrupt(&r, h, "the optional header is cut off", err);
	MPK_TRY(mpk_coff_sections(bytes, off + MPK_COFF_HEADER + r.optional.len,
				  r.object.section_count, (struct mpk_span){ 0 }, arena,
				  &r.object.sections, err));
	for (size_t i = 1; i < r.object.section_count; i++)
		if (r.object.sections[i].address < r.object.sections[i - 1].address)
			return corrupt(&r, h, "sections are not in the order of their addresses",
				       err);
	MPK_TRY(read_exports(&r, err));
	MPK_TRY(read_imports(&r, err));
	MPK_TRY(mpk_object_place(&r.object, err));
	*out = r.object;
	return MPK_OK;
}
