/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - WebAssembly: objects of compilers, and linked modules
 *
 * Each data segment is a section, and all code is one section. Objects have a symbol table. The
 * symbols of a linked module are its exports and imports, and the functions of TVM in its table of
 * names, which a module registers at its start instead of exporting them. */
#include "object/object.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/cursor.h"
#include "base/vec.h"

#define MAGIC "\0asm"

enum section_id {
	CUSTOM,
	IMPORTS = 2,
	FUNCTIONS = 3,
	MEMORIES = 5,
	GLOBALS = 6,
	EXPORTS = 7,
	START = 8,
	CODE = 10,
	DATA = 11,
	IDS = 14
};

enum kind { FUNCTION, TABLE, MEMORY, GLOBAL, TAG };

enum { HEADER_BYTES = 8, VERSION = 1 };

struct function {
	const char *name; /* name of its import or its export; NULL: none */
	struct mpk_span body;
	uint64_t body_off;
	bool is_imported, is_exported;
};

/* An address, if its expression is one constant. */
struct global {
	const char *name; /* name of its import */
	uint64_t value;
	bool is_address, is_imported;
};

struct reader {
	struct mpk_span bytes;
	struct mpk_arena *arena;
	struct mpk_object object;
	struct mpk_cursor by_id[IDS]; /* bytes.data NULL: missing */
	struct mpk_cursor linking, names, dylink;
	/* malloc'ed */
	struct function *functions;
	size_t function_count, function_cap;
	struct global *globals;
	size_t global_count, global_cap;
	struct mpk_object_section *sections; /* data segments, then code */
	size_t section_count, section_cap, segment_count;
	struct mpk_object_symbol *symbols;
	size_t symbol_count, symbol_cap;
	const char **needed;
	size_t needed_count, needed_cap;
};

static void reader_fini(struct reader *r)
{
	free(r->functions);
	free(r->globals);
	free(r->sections);
	free(r->symbols);
	free(r->needed);
}

static bool wasm_is(struct mpk_span bytes)
{
	return bytes.len >= HEADER_BYTES && memcmp(bytes.data, MAGIC, 4) == 0 &&
	       mpk_load_u32(bytes.data + 4) == VERSION;
}

static enum mpk_code corrupt(const struct mpk_cursor *c, const char *what, struct mpk_error *err)
{
	return mpk_fail_offset(err, MPK_E_CORRUPT, "file", mpk_cursor_offset(c), "WebAssembly: %s",
			       what);
}

/* --- names and parts ------------------------------------------------------------------------ */

static enum mpk_code read_name(struct reader *r, struct mpk_cursor *c, const char **out,
			       struct mpk_error *err)
{
	struct mpk_span name;
	uint64_t len;

	MPK_TRY(mpk_read_uleb(c, "the length of a name", &len, err));
	MPK_TRY(mpk_read_bytes(c, "a name", len, &name, err));
	*out = mpk_arena_text(r->arena, name);
	MPK_TRY_ALLOC(*out, err);
	return MPK_OK;
}

/* Reads a part with its length before it, and moves past it. */
static enum mpk_code read_part(struct mpk_cursor *c, const char *what, struct mpk_cursor *out,
			       struct mpk_error *err)
{
	struct mpk_span part;
	uint64_t len, off;

	MPK_TRY(mpk_read_uleb(c, what, &len, err));
	off = mpk_cursor_offset(c);
	MPK_TRY(mpk_read_bytes(c, what, len, &part, err));
	*out = mpk_cursor_of(part, off, "file");
	return MPK_OK;
}

/* --- sections ----------------------------------------------------------------------------------- */

static enum mpk_code see_custom(struct reader *r, struct mpk_cursor c, struct mpk_error *err)
{
	const char *name;

	MPK_TRY(read_name(r, &c, &name, err));
	if (strcmp(name, "linking") == 0)
		r->linking = c;
	else if (strcmp(name, "name") == 0)
		r->names = c;
	else if (strcmp(name, "dylink.0") == 0)
		r->dylink = c;
	return MPK_OK;
}

static enum mpk_code list_sections(struct reader *r, struct mpk_error *err)
{
	struct mpk_cursor c = mpk_cursor_of(r->bytes, 0, "file"), part;
	struct mpk_span head;

	MPK_TRY(mpk_read_bytes(&c, "the header", HEADER_BYTES, &head, err));
	while (mpk_cursor_left(&c)) {
		uint8_t id;

		MPK_TRY(mpk_read_u8(&c, "a section", &id, err));
		MPK_TRY(read_part(&c, "a section", &part, err));
		if (id == CUSTOM) {
			MPK_TRY(see_custom(r, part, err));
		} else if (id >= IDS) {
			return corrupt(&part, "a section of an unknown kind", err);
		} else if (r->by_id[id].bytes.data) {
			return corrupt(&part, "a section is there twice", err);
		} else {
			r->by_id[id] = part;
		}
	}
	return MPK_OK;
}

/* Returns false if there is no such section. */
static bool open_section(const struct reader *r, enum section_id id, struct mpk_cursor *out)
{
	*out = r->by_id[id];
	return out->bytes.data != NULL;
}

/* Skips the type of a value: a byte; for a reference a type of the module follows. */
static enum mpk_code pass_type(struct mpk_cursor *c, struct mpk_error *err)
{
	enum { REFERENCE_NULL = 0x63, REFERENCE = 0x64 };
	uint64_t ignored;
	uint8_t type;

	MPK_TRY(mpk_read_u8(c, "a type", &type, err));
	return type == REFERENCE_NULL || type == REFERENCE
		       ? mpk_read_sleb(c, "a type", &ignored, err)
		       : MPK_OK;
}

static enum mpk_code pass_limits(struct mpk_cursor *c, bool *is_64, struct mpk_error *err)
{
	enum { HAS_MOST = 1, IS_64 = 4, HAS_PAGE = 8 };
	uint64_t ignored;
	uint8_t flags;

	MPK_TRY(mpk_read_u8(c, "limits", &flags, err));
	*is_64 = flags & IS_64;
	MPK_TRY(mpk_read_uleb(c, "limits", &ignored, err));
	if (flags & HAS_MOST)
		MPK_TRY(mpk_read_uleb(c, "limits", &ignored, err));
	return flags & HAS_PAGE ? mpk_read_uleb(c, "limits", &ignored, err) : MPK_OK;
}

static void see_memory(struct reader *r, bool is_64)
{
	if (is_64)
		r->object.machine_number = 64;
}

/* --- imports ------------------------------------------------------------------------------------ */

static enum mpk_code add_function(struct reader *r, struct function f, struct mpk_error *err)
{
	MPK_TRY_ALLOC(MPK_VEC_ROOM(r->functions, r->function_count, r->function_cap), err);
	r->functions[r->function_count++] = f;
	return MPK_OK;
}

static enum mpk_code add_global(struct reader *r, struct global g, struct mpk_error *err)
{
	MPK_TRY_ALLOC(MPK_VEC_ROOM(r->globals, r->global_count, r->global_cap), err);
	r->globals[r->global_count++] = g;
	return MPK_OK;
}

/* "env" stands for names in C; another module is a part of the name. */
static enum mpk_code import_name(struct reader *r, struct mpk_cursor *c, const char **out,
				 struct mpk_error *err)
{
	const char *module;

	MPK_TRY(read_name(r, c, &module, err));
	MPK_TRY(read_name(r, c, out, err));
	if (strcmp(module, "env") == 0 || r->linking.bytes.data)
		return MPK_OK;
	*out = mpk_arena_printf(r->arena, "%s.%s", module, *out);
	MPK_TRY_ALLOC(*out, err);
	return MPK_OK;
}

static enum mpk_code read_imports(struct reader *r, struct mpk_error *err)
{
	struct mpk_cursor c;
	size_t count;

	if (!open_section(r, IMPORTS, &c))
		return MPK_OK;
	MPK_TRY(mpk_read_uleb_count(&c, "the number of imports", &count, err));
	for (size_t i = 0; i < count; i++) {
		const char *name;
		uint64_t ignored;
		uint8_t kind, byte;
		bool is_64;

		MPK_TRY(import_name(r, &c, &name, err));
		MPK_TRY(mpk_read_u8(&c, "the kind of an import", &kind, err));
		switch (kind) {
		case FUNCTION:
			MPK_TRY(mpk_read_uleb(&c, "the type of an import", &ignored, err));
			MPK_TRY(add_function(
				r, (struct function){ .name = name, .is_imported = true }, err));
			break;
		case TABLE:
			MPK_TRY(pass_type(&c, err));
			MPK_TRY(pass_limits(&c, &is_64, err));
			break;
		case MEMORY:
			MPK_TRY(pass_limits(&c, &is_64, err));
			see_memory(r, is_64);
			break;
		case GLOBAL:
			MPK_TRY(pass_type(&c, err));
			MPK_TRY(mpk_read_u8(&c, "the type of an import", &byte, err));
			MPK_TRY(add_global(r, (struct global){ .name = name, .is_imported = true },
					   err));
			break;
		case TAG:
			MPK_TRY(mpk_read_u8(&c, "the type of an import", &byte, err));
			MPK_TRY(mpk_read_uleb(&c, "the type of an import", &ignored, err));
			break;
		default:
			return corrupt(&c, "an import of an unknown kind", err);
		}
	}
	return MPK_OK;
}

static enum mpk_code read_memories(struct reader *r, struct mpk_error *err)
{
	struct mpk_cursor c;
	size_t count;

	if (!open_section(r, MEMORIES, &c))
		return MPK_OK;
	MPK_TRY(mpk_read_uleb_count(&c, "the number of memories", &count, err));
	for (size_t i = 0; i < count; i++) {
		bool is_64;

		MPK_TRY(pass_limits(&c, &is_64, err));
		see_memory(r, is_64);
	}
	return MPK_OK;
}

/* --- definitions -------------------------------------------------------------------------------- */

/* Reads an expression of constants; *is_constant: it is a single one. */
static enum mpk_code read_expression(struct mpk_cursor *c, uint64_t *value, bool *is_constant,
				     struct mpk_error *err)
{
	enum {
		END = 0x0b,
		GLOBAL_GET = 0x23,
		I32 = 0x41,
		I64 = 0x42,
		F32 = 0x43,
		F64 = 0x44,
		NULL_REFERENCE = 0xd0,
		FUNCTION_REFERENCE = 0xd2,
		VECTOR = 0xfd,
	};
	struct mpk_span ignored;
	uint64_t number;
	uint8_t op;

	*value = 0;
	*is_constant = false;
	for (size_t i = 0;; i++) {
		MPK_TRY(mpk_read_u8(c, "an expression", &op, err));
		switch (op) {
		case END:
			*is_constant &= i == 1;
			return MPK_OK;
		case I32:
		case I64:
			MPK_TRY(mpk_read_sleb(c, "a constant", value, err));
			*value = op == I32 ? (uint32_t)*value : *value;
			*is_constant = i == 0;
			break;
		case F32:
			MPK_TRY(mpk_read_bytes(c, "a constant", 4, &ignored, err));
			break;
		case F64:
			MPK_TRY(mpk_read_bytes(c, "a constant", 8, &ignored, err));
			break;
		case GLOBAL_GET:
		case NULL_REFERENCE:
		case FUNCTION_REFERENCE:
			MPK_TRY(mpk_read_sleb(c, "an expression", &number, err));
			break;
		case VECTOR:
			MPK_TRY(mpk_read_uleb(c, "a constant", &number, err));
			MPK_TRY(mpk_read_bytes(c, "a constant", 16, &ignored, err));
			break;
		default: /* additions and multiplications have no operands of their own */
			if (op < 0x6a || op > 0x7e)
				return corrupt(c, "an expression that is no constant", err);
			break;
		}
	}
}

static enum mpk_code read_globals(struct reader *r, struct mpk_error *err)
{
	struct mpk_cursor c;
	size_t count;

	if (!open_section(r, GLOBALS, &c))
		return MPK_OK;
	MPK_TRY(mpk_read_uleb_count(&c, "the number of globals", &count, err));
	for (size_t i = 0; i < count; i++) {
		struct global g = { 0 };
		uint8_t is_mutable;
		bool is_constant;

		MPK_TRY(pass_type(&c, err));
		MPK_TRY(mpk_read_u8(&c, "a global", &is_mutable, err));
		MPK_TRY(read_expression(&c, &g.value, &is_constant, err));
		g.is_address = is_constant && !is_mutable;
		MPK_TRY(add_global(r, g, err));
	}
	return MPK_OK;
}

static enum mpk_code read_code(struct reader *r, struct mpk_error *err)
{
	struct mpk_cursor c, body;
	size_t declared = 0, count = 0;

	if (open_section(r, FUNCTIONS, &c))
		MPK_TRY(mpk_read_uleb_count(&c, "the number of functions", &declared, err));
	if (open_section(r, CODE, &c))
		MPK_TRY(mpk_read_uleb_count(&c, "the number of functions", &count, err));
	if (count != declared)
		return corrupt(&c, "functions and their bodies are not as many", err);
	for (size_t i = 0; i < count; i++) {
		MPK_TRY(read_part(&c, "the body of a function", &body, err));
		MPK_TRY(add_function(
			r, (struct function){ .body = body.bytes, .body_off = body.base }, err));
	}
	return MPK_OK;
}

static enum mpk_code add_section(struct reader *r, struct mpk_object_section s,
				 struct mpk_error *err)
{
	MPK_TRY_ALLOC(MPK_VEC_ROOM(r->sections, r->section_count, r->section_cap), err);
	r->sections[r->section_count++] = s;
	return MPK_OK;
}

static enum mpk_code read_data(struct reader *r, struct mpk_error *err)
{
	enum { PASSIVE = 1, ACTIVE_IN = 2 };
	struct mpk_cursor c, part;
	size_t count;

	if (!open_section(r, DATA, &c))
		return MPK_OK;
	MPK_TRY(mpk_read_uleb_count(&c, "the number of data segments", &count, err));
	for (size_t i = 0; i < count; i++) {
		struct mpk_object_section s = { .name = "data" };
		uint64_t flags, ignored;
		bool is_constant;

		MPK_TRY(mpk_read_uleb(&c, "a data segment", &flags, err));
		if (flags > ACTIVE_IN)
			return corrupt(&c, "a data segment of an unknown kind", err);
		if (flags == ACTIVE_IN)
			MPK_TRY(mpk_read_uleb(&c, "the memory of a data segment", &ignored, err));
		if (flags != PASSIVE)
			MPK_TRY(read_expression(&c, &s.address, &is_constant, err));
		MPK_TRY(read_part(&c, "a data segment", &part, err));
		s.content = part.bytes;
		s.content_off = part.base;
		MPK_TRY(add_section(r, s, err));
	}
	r->segment_count = r->section_count;
	return MPK_OK;
}

static enum mpk_code add_code_section(struct reader *r, struct mpk_error *err)
{
	struct mpk_cursor c;

	if (!open_section(r, CODE, &c))
		return MPK_OK;
	return add_section(r,
			   (struct mpk_object_section){ .name = "code",
							.content = c.bytes,
							.content_off = c.base,
							.is_code = true },
			   err);
}

/* --- symbols ------------------------------------------------------------------------------------- */

static enum mpk_code add_symbol(struct reader *r, struct mpk_object_symbol s, struct mpk_error *err)
{
	MPK_TRY_ALLOC(MPK_VEC_ROOM(r->symbols, r->symbol_count, r->symbol_cap), err);
	r->symbols[r->symbol_count++] = s;
	return MPK_OK;
}

static void place_function(const struct reader *r, const struct function *f,
			   struct mpk_object_symbol *s)
{
	s->is_function = true;
	s->defined = !f->is_imported;
	if (!s->defined)
		return;
	s->section = r->section_count; /* code is the last section */
	s->address = s->content_off = f->body_off;
	s->content = f->body;
	s->bytes = f->body.len;
}

/* Finds the bytes at an address of memory, up to the end of its segment. */
static void place_address(const struct reader *r, uint64_t address, struct mpk_object_symbol *s)
{
	for (size_t i = 0; i < r->segment_count; i++) {
		const struct mpk_object_section *at = &r->sections[i];

		if (address < at->address || address - at->address >= at->content.len)
			continue;
		s->section = i + 1;
		s->content_off = at->content_off + (address - at->address);
		s->content = mpk_span_of(at->content.data + (address - at->address),
					 at->content.len - (size_t)(address - at->address));
		return;
	}
}

static enum mpk_code read_exports(struct reader *r, struct mpk_error *err)
{
	struct mpk_cursor c;
	size_t count;

	if (!open_section(r, EXPORTS, &c))
		return MPK_OK;
	MPK_TRY(mpk_read_uleb_count(&c, "the number of exports", &count, err));
	for (size_t i = 0; i < count; i++) {
		struct mpk_object_symbol s = { .global = true, .defined = true };
		uint64_t index;
		uint8_t kind;

		MPK_TRY(read_name(r, &c, &s.name, err));
		MPK_TRY(mpk_read_u8(&c, "the kind of an export", &kind, err));
		MPK_TRY(mpk_read_uleb(&c, "the index of an export", &index, err));
		if (kind > TAG)
			return corrupt(&c, "an export of an unknown kind", err);
		if ((kind == FUNCTION && index >= r->function_count) ||
		    (kind == GLOBAL && index >= r->global_count))
			return corrupt(&c, "an export of what is not there", err);
		if (kind == FUNCTION) {
			r->functions[index].is_exported = true;
			place_function(r, &r->functions[index], &s);
			s.defined = true; /* defined for the users of the module */
		} else if (kind == GLOBAL && r->globals[index].is_address) {
			s.address = r->globals[index].value;
			place_address(r, s.address, &s);
		} else {
			continue;
		}
		MPK_TRY(add_symbol(r, s, err));
	}
	return MPK_OK;
}

static enum mpk_code add_imports(struct reader *r, struct mpk_error *err)
{
	for (size_t i = 0; i < r->function_count; i++)
		if (r->functions[i].is_imported)
			MPK_TRY(add_symbol(r,
					   (struct mpk_object_symbol){ .name = r->functions[i].name,
								       .global = true,
								       .is_function = true },
					   err));
	return MPK_OK;
}

/* Adds the functions of TVM in a linked module that it does not export, because it registers them
 * at its start. */
static enum mpk_code read_function_names(struct reader *r, struct mpk_cursor c,
					 struct mpk_error *err)
{
	size_t count;

	MPK_TRY(mpk_read_uleb_count(&c, "the number of names", &count, err));
	for (size_t i = 0; i < count; i++) {
		struct mpk_object_symbol s = { 0 };
		uint64_t index;

		MPK_TRY(mpk_read_uleb(&c, "the index of a name", &index, err));
		MPK_TRY(read_name(r, &c, &s.name, err));
		if (index >= r->function_count || r->functions[index].is_imported ||
		    r->functions[index].is_exported)
			continue;
		place_function(r, &r->functions[index], &s);
		s.global = strncmp(s.name, "__tvm_ffi_", strlen("__tvm_ffi_")) == 0;
		MPK_TRY(add_symbol(r, s, err));
	}
	return MPK_OK;
}

static enum mpk_code name_segments(struct reader *r, struct mpk_cursor c, struct mpk_error *err)
{
	size_t count;

	MPK_TRY(mpk_read_uleb_count(&c, "the number of names", &count, err));
	for (size_t i = 0; i < count; i++) {
		const char *name;
		uint64_t index;

		MPK_TRY(mpk_read_uleb(&c, "the index of a name", &index, err));
		MPK_TRY(read_name(r, &c, &name, err));
		if (index < r->segment_count)
			r->sections[index].name = name;
	}
	return MPK_OK;
}

static enum mpk_code read_needed(struct reader *r, struct mpk_error *err)
{
	enum { NEEDED = 2 };
	size_t count;

	while (mpk_cursor_left(&r->dylink)) {
		struct mpk_cursor part;
		uint8_t kind;

		MPK_TRY(mpk_read_u8(&r->dylink, "a part of dylink.0", &kind, err));
		MPK_TRY(read_part(&r->dylink, "a part of dylink.0", &part, err));
		if (kind != NEEDED)
			continue;
		MPK_TRY(mpk_read_uleb_count(&part, "the number of libraries", &count, err));
		for (size_t i = 0; i < count; i++) {
			const char *name;

			MPK_TRY(read_name(r, &part, &name, err));
			MPK_TRY_ALLOC(MPK_VEC_ROOM(r->needed, r->needed_count, r->needed_cap), err);
			r->needed[r->needed_count++] = name;
		}
	}
	return MPK_OK;
}

/* --- objects --------------------------------------------------------------------------------------- */

enum { WEAK = 1, LOCAL = 2, UNDEFINED = 16, EXPLICIT_NAME = 64 };

static enum mpk_code read_data_symbol(struct reader *r, struct mpk_cursor *c, uint64_t flags,
				      struct mpk_object_symbol *s, struct mpk_error *err)
{
	uint64_t segment, off;

	MPK_TRY(read_name(r, c, &s->name, err));
	if (flags & UNDEFINED)
		return MPK_OK;
	MPK_TRY(mpk_read_uleb(c, "the segment of a symbol", &segment, err));
	MPK_TRY(mpk_read_uleb(c, "the offset of a symbol", &off, err));
	MPK_TRY(mpk_read_uleb(c, "the bytes of a symbol", &s->bytes, err));
	if (segment >= r->segment_count ||
	    !mpk_span_sub(r->sections[segment].content, off, s->bytes, &s->content))
		return corrupt(c, "a symbol is outside of its segment", err);
	s->section = (size_t)segment + 1;
	s->content_off = r->sections[segment].content_off + off;
	s->address = r->sections[segment].address + off;
	return MPK_OK;
}

static enum mpk_code read_indexed_symbol(struct reader *r, struct mpk_cursor *c, bool is_function,
					 uint64_t flags, struct mpk_object_symbol *s,
					 struct mpk_error *err)
{
	uint64_t index;

	MPK_TRY(mpk_read_uleb(c, "the index of a symbol", &index, err));
	if (!(flags & UNDEFINED) || flags & EXPLICIT_NAME)
		MPK_TRY(read_name(r, c, &s->name, err));
	if (!is_function)
		return MPK_OK;
	if (index >= r->function_count)
		return corrupt(c, "a symbol of a function that is not there", err);
	if (!s->name)
		s->name = r->functions[index].name;
	place_function(r, &r->functions[index], s);
	return MPK_OK;
}

static enum mpk_code read_symbols(struct reader *r, struct mpk_cursor c, struct mpk_error *err)
{
	enum { OF_FUNCTION, OF_DATA, OF_GLOBAL, OF_SECTION, OF_TAG, OF_TABLE };
	size_t count;

	MPK_TRY(mpk_read_uleb_count(&c, "the number of symbols", &count, err));
	for (size_t i = 0; i < count; i++) {
		struct mpk_object_symbol s = { 0 };
		uint64_t flags, ignored;
		uint8_t kind;

		MPK_TRY(mpk_read_u8(&c, "the kind of a symbol", &kind, err));
		MPK_TRY(mpk_read_uleb(&c, "the flags of a symbol", &flags, err));
		if (kind == OF_SECTION) {
			MPK_TRY(mpk_read_uleb(&c, "the section of a symbol", &ignored, err));
			continue;
		}
		if (kind > OF_TABLE)
			return corrupt(&c, "a symbol of an unknown kind", err);
		s.weak = flags & WEAK;
		s.global = !(flags & LOCAL);
		s.defined = !(flags & UNDEFINED);
		if (kind == OF_DATA)
			MPK_TRY(read_data_symbol(r, &c, flags, &s, err));
		else
			MPK_TRY(read_indexed_symbol(r, &c, kind == OF_FUNCTION, flags, &s, err));
		if (kind == OF_DATA || kind == OF_FUNCTION)
			MPK_TRY(add_symbol(r, s, err));
	}
	return MPK_OK;
}

static enum mpk_code read_segment_infos(struct reader *r, struct mpk_cursor c,
					struct mpk_error *err)
{
	size_t count;

	MPK_TRY(mpk_read_uleb_count(&c, "the number of segments", &count, err));
	for (size_t i = 0; i < count; i++) {
		const char *name;
		uint64_t ignored;

		MPK_TRY(read_name(r, &c, &name, err));
		MPK_TRY(mpk_read_uleb(&c, "the alignment of a segment", &ignored, err));
		MPK_TRY(mpk_read_uleb(&c, "the flags of a segment", &ignored, err));
		if (i < r->segment_count)
			r->sections[i].name = name;
	}
	return MPK_OK;
}

static enum mpk_code read_linking(struct reader *r, struct mpk_error *err)
{
	enum { LINKING_VERSION = 2, SEGMENTS = 5, SYMBOLS = 8 };
	uint64_t version;

	MPK_TRY(mpk_read_uleb(&r->linking, "the version of the symbols", &version, err));
	if (version != LINKING_VERSION)
		return corrupt(&r->linking, "symbols of another version", err);
	while (mpk_cursor_left(&r->linking)) {
		struct mpk_cursor part;
		uint8_t kind;

		MPK_TRY(mpk_read_u8(&r->linking, "a part of the symbols", &kind, err));
		MPK_TRY(read_part(&r->linking, "a part of the symbols", &part, err));
		if (kind == SEGMENTS)
			MPK_TRY(read_segment_infos(r, part, err));
		else if (kind == SYMBOLS)
			MPK_TRY(read_symbols(r, part, err));
	}
	return MPK_OK;
}

/* --- the file ----------------------------------------------------------------------------- */

static bool is_program(const struct reader *r)
{
	for (size_t i = 0; i < r->symbol_count; i++)
		if (r->symbols[i].global && r->symbols[i].defined &&
		    strcmp(r->symbols[i].name, "_start") == 0)
			return true;
	return false;
}

static enum mpk_code wasm_read(struct mpk_span bytes, struct mpk_arena *arena,
			       struct mpk_object *out, struct mpk_error *err)
{
	MPK_CLEANUP(reader_fini) struct reader r = { .bytes = bytes, .arena = arena };

	r.object.machine_number = 32;
	MPK_TRY(list_sections(&r, err));
	MPK_TRY(read_imports(&r, err));
	MPK_TRY(read_memories(&r, err));
	MPK_TRY(read_globals(&r, err));
	MPK_TRY(read_code(&r, err));
	MPK_TRY(read_data(&r, err));
	MPK_TRY(add_code_section(&r, err));
	MPK_TRY(read_needed(&r, err));
	if (r.linking.bytes.data) {
		r.object.kind = MPK_OBJECT_RELOCATABLE;
		MPK_TRY(read_linking(&r, err));
	} else {
		MPK_TRY(read_exports(&r, err));
		MPK_TRY(add_imports(&r, err));
		enum { OF_FUNCTIONS = 1, OF_SEGMENTS = 9 };

		while (mpk_cursor_left(&r.names)) {
			struct mpk_cursor part;
			uint8_t kind;

			MPK_TRY(mpk_read_u8(&r.names, "names", &kind, err));
			MPK_TRY(read_part(&r.names, "names", &part, err));
			if (kind == OF_FUNCTIONS)
				MPK_TRY(read_function_names(&r, part, err));
			else if (kind == OF_SEGMENTS)
				MPK_TRY(name_segments(&r, part, err));
		}
		r.object.kind = is_program(&r) ? MPK_OBJECT_PROGRAM : MPK_OBJECT_LIBRARY;
	}

	struct mpk_object *o = &r.object;

	for (size_t i = 0; i < r.symbol_count; i++)
		if (!r.symbols[i].name)
			r.symbols[i].name = "";
	o->sections = mpk_arena_keep(r.arena, r.sections, r.section_count, sizeof *o->sections);
	o->symbols = mpk_arena_keep(r.arena, r.symbols, r.symbol_count, sizeof *o->symbols);
	o->needed = mpk_arena_keep(r.arena, r.needed, r.needed_count, sizeof(char *));
	MPK_TRY_ALLOC(o->sections && o->symbols && o->needed, err);
	o->section_count = r.section_count;
	o->symbol_count = r.symbol_count;
	o->needed_count = r.needed_count;
	o->machine_name = o->machine_number == 64 ? "wasm64" : "wasm32";
	*out = r.object;
	return MPK_OK;
}

const struct mpk_object_reader mpk_wasm_reader = { .is = wasm_is, .read = wasm_read };
