/* SPDX-License-Identifier: Apache-2.0 */
/* lines.c - line programs of DWARF. A name of a unit is looked up when a wanted row needs it; most
 * are never needed. */
#include "dwarf/dwarf.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/vec.h"

struct unit {
	struct mpk_cursor program;
	struct mpk_span names; /* from the list of directories to the line program */
	uint16_t version;
	bool wide; /* the 64-bit format */
	uint8_t step, line_range, opcode_base;
	int8_t line_base;
	struct mpk_span operands; /* number of operands of each standard opcode */
};

/* The registers of a line program. */
struct state {
	uint64_t address;
	uint64_t file, line;
};

enum { NAMES_KEPT = 256 };

struct reader {
	const struct mpk_dwarf *d;
	uint64_t from, to;
	uint64_t *budget;
	struct mpk_arena *arena;
	struct mpk_dwarf_row *rows; /* malloc'ed while they grow */
	size_t count, cap;
	/* last names of the unit: inlined code alternates between files */
	struct name {
		uint64_t file;
		const char *text; /* NULL: not looked up */
	} names[NAMES_KEPT];
};

static void dwarf_reader_fini(struct reader *r)
{
	free(r->rows);
}

/* Takes bytes from the budget. Returns false if fewer are left. */
static bool dwarf_spend(struct reader *r, uint64_t bytes)
{
	if (*r->budget < bytes)
		return false;
	*r->budget -= bytes;
	return true;
}

/* --- numbers ---------------------------------------------------------------------------------- */

static enum mpk_code read_offset(struct mpk_cursor *c, bool wide, uint64_t *out,
				 struct mpk_error *err)
{
	uint32_t narrow;

	if (wide)
		return mpk_read_u64(c, "offset", out, err);
	MPK_TRY(mpk_read_u32(c, "offset", &narrow, err));
	*out = narrow;
	return MPK_OK;
}

static enum mpk_code dwarf_read_text(struct mpk_cursor *c, struct mpk_span *out,
				     struct mpk_error *err)
{
	if (!mpk_span_text(c->bytes, c->pos, SIZE_MAX, out))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "debug_line", mpk_cursor_offset(c),
				       "a name without an end");
	c->pos += out->len + 1;
	return MPK_OK;
}

/* --- names: FORMAT.md 2 ----------------------------------------------------------------------- */

enum { NAME_MOST = 4096, ROWS_MOST = 1 << 20 };

/* Versions 2 to 4: finds entry `index` of a list of names, from 1; the cursor moves past the list. */
static enum mpk_code old_list(struct mpk_cursor *c, bool files, uint64_t index,
			      struct mpk_span *name, uint64_t *directory, struct mpk_error *err)
{
	struct mpk_span text;
	uint64_t in = 0, ignored;

	for (uint64_t i = 1;; i++) {
		MPK_TRY(dwarf_read_text(c, &text, err));
		if (!text.len)
			return MPK_OK;
		if (files) {
			MPK_TRY(mpk_read_uleb(c, "LEB128", &in, err));
			MPK_TRY(mpk_read_uleb(c, "LEB128", &ignored, err));
			MPK_TRY(mpk_read_uleb(c, "LEB128", &ignored, err));
		}
		if (i == index) {
			*name = text;
			*directory = in;
		}
	}
}

static enum mpk_code dwarf_skip(struct mpk_cursor *c, uint64_t bytes, struct mpk_error *err)
{
	struct mpk_span ignored;

	return mpk_read_bytes(c, "entry", bytes, &ignored, err);
}

/* Reads a value in a form: a text, a number, or neither. */
static enum mpk_code read_form(const struct mpk_dwarf *d, struct mpk_cursor *c, bool wide,
			       uint64_t form, struct mpk_span *text, uint64_t *number,
			       struct mpk_error *err)
{
	uint8_t byte;
	uint16_t half;
	uint64_t at;

	switch (form) {
	case 0x08:
		return dwarf_read_text(c, text, err);
	case 0x0e:
	case 0x1f:
		MPK_TRY(read_offset(c, wide, &at, err));
		(void)mpk_span_text(form == 0x0e ? d->str : d->line_str, at, NAME_MOST, text);
		return MPK_OK;
	case 0x0f:
		return mpk_read_uleb(c, "LEB128", number, err);
	case 0x0b:
		MPK_TRY(mpk_read_u8(c, "data1", &byte, err));
		*number = byte;
		return MPK_OK;
	case 0x05:
		MPK_TRY(mpk_read_u16(c, "data2", &half, err));
		*number = half;
		return MPK_OK;
	case 0x06:
		return dwarf_skip(c, 4, err);
	case 0x07:
		return dwarf_skip(c, 8, err);
	case 0x1e:
		return dwarf_skip(c, 16, err);
	case 0x09:
		MPK_TRY(mpk_read_uleb(c, "LEB128", &at, err));
		return dwarf_skip(c, at, err);
	default:
		return mpk_fail_offset(err, MPK_E_CORRUPT, "debug_line", mpk_cursor_offset(c),
				       "a name of form 0x%llx", (unsigned long long)form);
	}
}

/* Version 5: finds entry `index`, from 0. */
static enum mpk_code new_list(const struct mpk_dwarf *d, struct mpk_cursor *c, bool wide,
			      uint64_t index, struct mpk_span *name, uint64_t *directory,
			      struct mpk_error *err)
{
	struct {
		uint64_t content, form;
	} formats[UINT8_MAX];
	uint64_t count;
	uint8_t width;

	MPK_TRY(mpk_read_u8(c, "format count", &width, err));
	for (size_t i = 0; i < width; i++) {
		MPK_TRY(mpk_read_uleb(c, "LEB128", &formats[i].content, err));
		MPK_TRY(mpk_read_uleb(c, "LEB128", &formats[i].form, err));
	}
	MPK_TRY(mpk_read_uleb(c, "LEB128", &count, err));
	/* an entry without bytes could be repeated any number of times */
	if (!width || count > mpk_cursor_left(c))
		return count ? mpk_fail_offset(err, MPK_E_CORRUPT, "debug_line",
					       mpk_cursor_offset(c), "more names than bytes")
			     : MPK_OK;
	for (uint64_t i = 0; i < count; i++) {
		struct mpk_span text = { 0 };
		uint64_t in = 0;

		for (size_t k = 0; k < width; k++) {
			uint64_t number = 0;
			struct mpk_span own = { 0 };

			MPK_TRY(read_form(d, c, wide, formats[k].form, &own, &number, err));
			if (formats[k].content == 1)
				text = own;
			else if (formats[k].content == 2)
				in = number;
		}
		if (i == index) {
			*name = text;
			*directory = in;
		}
	}
	return MPK_OK;
}

static enum mpk_code find_name(const struct reader *r, const struct unit *u, bool files,
			       uint64_t index, struct mpk_span *name, uint64_t *directory,
			       struct mpk_error *err)
{
	struct mpk_cursor c = mpk_cursor_of(u->names, 0, "debug_line");
	uint64_t ignored;
	struct mpk_span unused;

	if (u->version < 5) {
		MPK_TRY(old_list(&c, false, files ? 0 : index, files ? &unused : name,
				 files ? &ignored : directory, err));
		return files ? old_list(&c, true, index, name, directory, err) : MPK_OK;
	}
	MPK_TRY(new_list(r->d, &c, u->wide, files ? UINT64_MAX : index, files ? &unused : name,
			 files ? &ignored : directory, err));
	return files ? new_list(r->d, &c, u->wide, index, name, directory, err) : MPK_OK;
}

static enum mpk_code file_name(struct reader *r, const struct unit *u, uint64_t file,
			       const char **out, struct mpk_error *err)
{
	struct mpk_span name = { 0 }, folder = { 0 };
	struct name *kept = &r->names[file % NAMES_KEPT];
	uint64_t directory = 0, ignored;

	if (kept->file == file && kept->text) {
		*out = kept->text;
		return MPK_OK;
	}
	if (dwarf_spend(r, 2 * u->names.len))
		MPK_TRY(find_name(r, u, true, file, &name, &directory, err));
	if (name.len && name.data[0] != '/' && (directory || u->version >= 5))
		MPK_TRY(find_name(r, u, false, directory, &folder, &ignored, err));
	kept->text = mpk_arena_printf(r->arena, "%.*s%s%.*s", MPK_SPAN_ARG(folder),
				      folder.len ? "/" : "", MPK_SPAN_ARG(name));
	MPK_TRY_ALLOC(kept->text, err);
	kept->file = file;
	*out = kept->text;
	return MPK_OK;
}

/* --- programs: FORMAT.md 3 ---------------------------------------------------------------------- */

/* Ends the previous row where this one begins. */
static enum mpk_code dwarf_add_row(struct reader *r, const struct unit *u,
				   const struct state *before, uint64_t to, struct mpk_error *err)
{
	struct mpk_dwarf_row *row;
	const char *file;

	if (before->address >= to || before->address >= r->to || to <= r->from || !before->line ||
	    before->line > UINT32_MAX || r->count == ROWS_MOST)
		return MPK_OK;
	MPK_TRY(file_name(r, u, before->file, &file, err));
	if (!*file)
		return MPK_OK;
	MPK_TRY_ALLOC(MPK_VEC_ROOM(r->rows, r->count, r->cap), err);
	row = &r->rows[r->count++];
	*row = (struct mpk_dwarf_row){ before->address, to, (uint32_t)before->line, file };
	return MPK_OK;
}

struct run {
	struct state now, last;
	bool has_last; /* the last row has no end yet */
};

static enum mpk_code dwarf_put_row(struct reader *r, const struct unit *u, struct run *run,
				   struct mpk_error *err)
{
	if (run->has_last)
		MPK_TRY(dwarf_add_row(r, u, &run->last, run->now.address, err));
	run->last = run->now;
	run->has_last = true;
	return MPK_OK;
}

static enum mpk_code extended(struct reader *r, struct unit *u, struct run *run,
			      struct mpk_error *err)
{
	struct mpk_span bytes;
	uint64_t len;

	MPK_TRY(mpk_read_uleb(&u->program, "LEB128", &len, err));
	MPK_TRY(mpk_read_bytes(&u->program, "extended opcode", len, &bytes, err));
	if (!bytes.len)
		return MPK_OK;
	if (bytes.data[0] == 1) { /* the end of a sequence */
		MPK_TRY(dwarf_put_row(r, u, run, err));
		*run = (struct run){ .now = { 0, 1, 1 } };
	} else if (bytes.data[0] == 2 && bytes.len == 9) {
		run->now.address = mpk_load_u64(bytes.data + 1);
	} else if (bytes.data[0] == 2 && bytes.len == 5) {
		run->now.address = mpk_load_u32(bytes.data + 1);
	}
	return MPK_OK;
}

static enum mpk_code standard(struct reader *r, struct unit *u, uint8_t opcode, struct run *run,
			      struct mpk_error *err)
{
	uint64_t operand;
	uint16_t fixed;

	switch (opcode) {
	case 1: /* copy */
		return dwarf_put_row(r, u, run, err);
	case 2: /* advance_pc */
		MPK_TRY(mpk_read_uleb(&u->program, "LEB128", &operand, err));
		run->now.address += operand * u->step;
		return MPK_OK;
	case 3: /* advance_line */
		MPK_TRY(mpk_read_sleb(&u->program, "LEB128", &operand, err));
		run->now.line += operand;
		return MPK_OK;
	case 4: /* set_file */
		return mpk_read_uleb(&u->program, "LEB128", &run->now.file, err);
	case 8: /* const_add_pc */
		run->now.address += (uint64_t)((255 - u->opcode_base) / u->line_range) * u->step;
		return MPK_OK;
	case 9: /* fixed_advance_pc */
		MPK_TRY(mpk_read_u16(&u->program, "advance", &fixed, err));
		run->now.address += fixed;
		return MPK_OK;
	default:
		for (uint8_t i = 0; i < u->operands.data[opcode - 1]; i++)
			MPK_TRY(mpk_read_uleb(&u->program, "LEB128", &operand, err));
		return MPK_OK;
	}
}

/* --- units: FORMAT.md 1 --------------------------------------------------------------------------- */

static enum mpk_code dwarf_read_header(struct mpk_cursor *c, struct unit *u, struct mpk_error *err)
{
	struct mpk_span ignored;
	uint64_t header;

	if (u->version >= 5)
		MPK_TRY(mpk_read_bytes(c, "address size", 2, &ignored, err));
	MPK_TRY(read_offset(c, u->wide, &header, err));
	if (header > mpk_cursor_left(c))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "debug_line", mpk_cursor_offset(c),
				       "the header ends behind its unit");
	u->program = mpk_cursor_of(c->bytes, c->base, c->space);
	u->program.pos = c->pos + (size_t)header;

	/* The steps in which the program counts instructions and lines. */
	uint8_t byte;

	MPK_TRY(mpk_read_u8(c, "minimum_instruction_length", &u->step, err));
	if (u->version >= 4)
		MPK_TRY(mpk_read_u8(c, "maximum_operations_per_instruction", &byte, err));
	MPK_TRY(mpk_read_u8(c, "default_is_stmt", &byte, err));
	MPK_TRY(mpk_read_u8(c, "line_base", &byte, err));
	u->line_base = (int8_t)byte;
	MPK_TRY(mpk_read_u8(c, "line_range", &u->line_range, err));
	MPK_TRY(mpk_read_u8(c, "opcode_base", &u->opcode_base, err));
	if (!u->line_range || !u->opcode_base)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "debug_line", mpk_cursor_offset(c),
				       "a line range or opcode base of 0");

	MPK_TRY(mpk_read_bytes(c, "standard_opcode_lengths", u->opcode_base - 1U, &u->operands,
			       err));
	if (u->program.pos < c->pos)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "debug_line", mpk_cursor_offset(c),
				       "the header is longer than it says");
	u->names = mpk_span_of(c->bytes.data + c->pos, u->program.pos - c->pos);
	return MPK_OK;
}

static enum mpk_code read_unit(struct reader *r, struct mpk_cursor *all, struct mpk_error *err)
{
	struct unit u = { 0 };
	struct mpk_cursor c;
	struct mpk_span bytes;
	uint32_t narrow;
	uint64_t len;

	MPK_TRY(mpk_read_u32(all, "unit_length", &narrow, err));
	len = narrow;
	u.wide = narrow == UINT32_MAX;
	if (u.wide)
		MPK_TRY(mpk_read_u64(all, "unit_length", &len, err));
	else if (narrow >= 0xfffffff0)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "debug_line", mpk_cursor_offset(all),
				       "a unit of a length that has no meaning");
	c = mpk_cursor_of((struct mpk_span){ 0 }, mpk_cursor_offset(all), "debug_line");
	MPK_TRY(mpk_read_bytes(all, "unit", len, &bytes, err));
	c.bytes = bytes;
	MPK_TRY(mpk_read_u16(&c, "version", &u.version, err));
	if (u.version < 2 || u.version > 5)
		return MPK_OK;
	MPK_TRY(dwarf_read_header(&c, &u, err));

	struct run run = { .now = { 0, 1, 1 } };
	uint8_t opcode;

	memset(r->names, 0, sizeof r->names);
	while (mpk_cursor_left(&u.program)) {
		MPK_TRY(mpk_read_u8(&u.program, "opcode", &opcode, err));
		if (opcode >= u.opcode_base) {
			opcode = (uint8_t)(opcode - u.opcode_base);
			run.now.address += (uint64_t)(opcode / u.line_range) * u.step;
			run.now.line += (uint64_t)(u.line_base + opcode % u.line_range);
			MPK_TRY(dwarf_put_row(r, &u, &run, err));
		} else if (opcode == 0) {
			MPK_TRY(extended(r, &u, &run, err));
		} else {
			MPK_TRY(standard(r, &u, opcode, &run, err));
		}
	}
	return MPK_OK;
}

static int compare_rows(const void *a, const void *b)
{
	const struct mpk_dwarf_row *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return strcmp(x->file, y->file);
}

enum mpk_code mpk_dwarf_rows(const struct mpk_dwarf *d, uint64_t from, uint64_t to,
			     uint64_t *budget, struct mpk_arena *arena,
			     const struct mpk_dwarf_row **out, size_t *count, struct mpk_error *err)
{
	MPK_CLEANUP(dwarf_reader_fini)
	struct reader r = { .d = d, .from = from, .to = to, .budget = budget, .arena = arena };
	struct mpk_cursor c = mpk_cursor_of(d->line, 0, "debug_line");
	struct mpk_dwarf_row *rows;

	if (dwarf_spend(&r, d->line.len))
		while (mpk_cursor_left(&c))
			MPK_TRY(read_unit(&r, &c, err));
	if (r.count)
		qsort(r.rows, r.count, sizeof *r.rows, compare_rows);
	rows = mpk_arena_keep(arena, r.rows, r.count, sizeof *rows);
	MPK_TRY_ALLOC(rows, err);
	*out = rows;
	*count = r.count;
	return MPK_OK;
}
