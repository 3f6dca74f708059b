/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - Tile IR bytecode: first its sections, which may have any order; then the tables that the
 * table of functions refers to */
#include "tileir/tileir.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "base/cursor.h"
#include "base/vec.h"

#define MAGIC "\x7fTileIR"

enum section_id { END, STRINGS, FUNCTIONS, DEBUG, CONSTANTS, TYPES, GLOBALS, KNOWN };

enum { IDS = 128, DEPTH_MAX = 16 };

/* A table of items, and their offsets. */
struct table {
	size_t count;
	struct mpk_span offsets; /* a u32 for each item */
	struct mpk_span content;
	uint64_t off;
};

struct reader {
	struct mpk_span bytes;
	struct mpk_arena *arena;
	struct mpk_tileir out;
	struct mpk_tileir_section by_id[IDS]; /* off 0: missing */
	struct mpk_tileir_section *sections;  /* malloc'ed */
	size_t section_count, section_cap;
	struct mpk_tileir_function *functions; /* malloc'ed */
	size_t function_count, function_cap;
	struct mpk_span *hints; /* malloc'ed */
	size_t hint_count, hint_cap;
	struct table strings, types;
	size_t params_left; /* parameters that may still be read, since many functions may share a
			     * long type */
};

static void reader_fini(struct reader *r)
{
	free(r->sections);
	free(r->functions);
	free(r->hints);
}

const char *mpk_tileir_section_name(unsigned id)
{
	static const char *const names[] = {
		[STRINGS] = "strings",     [FUNCTIONS] = "functions", [DEBUG] = "debug information",
		[CONSTANTS] = "constants", [TYPES] = "types",         [GLOBALS] = "globals",
	};

	return id < MPK_ARRAY_COUNT(names) ? names[id] : NULL;
}

bool mpk_tileir_is(struct mpk_span bytes)
{
	return mpk_span_starts(bytes, MAGIC) && bytes.len > 7 && !bytes.data[7];
}

static enum mpk_code corrupt(uint64_t off, const char *what, struct mpk_error *err)
{
	return mpk_fail_offset(err, MPK_E_CORRUPT, "payload", off, "%s", what);
}

/* --- sections ------------------------------------------------------------------------------- */

static enum mpk_code read_section(struct reader *r, struct mpk_cursor *c, uint8_t head,
				  struct mpk_error *err)
{
	struct mpk_tileir_section s = { .id = head & 0x7f };
	uint64_t align = 1;
	struct mpk_span content;

	MPK_TRY(mpk_read_uleb(c, "the bytes of a section", &s.bytes, err));
	if (head & 0x80) {
		MPK_TRY(mpk_read_uleb(c, "the alignment of a section", &align, err));
		if (!align || align & (align - 1))
			return corrupt(mpk_cursor_offset(c), "an alignment is no power of two",
				       err);
		MPK_TRY(mpk_read_bytes(c, "the padding of a section",
				       -mpk_cursor_offset(c) & (align - 1), &content, err));
	}
	s.off = mpk_cursor_offset(c);
	MPK_TRY(mpk_read_bytes(c, "a section", s.bytes, &content, err));
	if (r->by_id[s.id].off)
		return corrupt(s.off, "a section is there twice", err);
	r->by_id[s.id] = s;
	MPK_TRY_ALLOC(MPK_VEC_ROOM(r->sections, r->section_count, r->section_cap), err);
	r->sections[r->section_count++] = s;
	return MPK_OK;
}

static enum mpk_code read_sections(struct reader *r, struct mpk_error *err)
{
	struct mpk_cursor c = mpk_cursor_of(r->bytes, 0, "payload");
	struct mpk_span magic;
	uint8_t head;
	uint16_t tag;

	MPK_TRY(mpk_read_bytes(&c, "the magic number", sizeof MAGIC, &magic, err));
	if (!mpk_tileir_is(magic))
		return corrupt(0, "no Tile IR begins here", err);
	MPK_TRY(mpk_read_u8(&c, "the version", &head, err));
	r->out.major = head;
	MPK_TRY(mpk_read_u8(&c, "the version", &head, err));
	r->out.minor = head;
	MPK_TRY(mpk_read_u16(&c, "the version", &tag, err));
	r->out.tag = tag;
	for (;;) {
		MPK_TRY(mpk_read_u8(&c, "the end of the sections", &head, err));
		if (head == END)
			break;
		MPK_TRY(read_section(r, &c, head, err));
	}
	r->out.used = mpk_cursor_offset(&c);
	return MPK_OK;
}

static enum mpk_code open_section(const struct reader *r, enum section_id id, struct mpk_cursor *c,
				  struct mpk_error *err)
{
	const struct mpk_tileir_section *s = &r->by_id[id];

	if (!s->off)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "payload", r->out.used,
				       "there is no section of %s", mpk_tileir_section_name(id));
	*c = mpk_cursor_of(mpk_span_of(r->bytes.data + s->off, (size_t)s->bytes), s->off,
			   "payload");
	return MPK_OK;
}

/* --- tables ----------------------------------------------------------------------------------- */

static enum mpk_code read_table(struct reader *r, enum section_id id, size_t each,
				struct table *out, struct mpk_error *err)
{
	struct mpk_cursor c;
	struct mpk_span pad;

	MPK_TRY(open_section(r, id, &c, err));
	MPK_TRY(mpk_read_uleb_count(&c, "the number of items of a table", &out->count, err));
	MPK_TRY(mpk_read_bytes(&c, "the padding of a table", -c.pos & (each - 1), &pad, err));
	MPK_TRY(mpk_read_bytes(&c, "the offsets of a table", (uint64_t)out->count * each,
			       &out->offsets, err));
	out->off = mpk_cursor_offset(&c);
	MPK_TRY(mpk_read_bytes(&c, "the content of a table", mpk_cursor_left(&c), &out->content,
			       err));
	return MPK_OK;
}

/* An item extends to the next one. */
static bool item_of(const struct table *t, uint64_t i, struct mpk_span *out)
{
	uint64_t from, to;

	if (i >= t->count)
		return false;
	from = mpk_load_u32(t->offsets.data + 4 * i);
	to = i + 1 < t->count ? mpk_load_u32(t->offsets.data + 4 * (i + 1)) : t->content.len;
	return to >= from && mpk_span_sub(t->content, from, to - from, out);
}

static enum mpk_code string_of(const struct reader *r, uint64_t i, struct mpk_span *out,
			       struct mpk_error *err)
{
	if (!item_of(&r->strings, i, out))
		return corrupt(r->strings.off, "a name is not among the strings", err);
	return MPK_OK;
}

/* --- types -------------------------------------------------------------------------------------- */

enum type_tag { POINTER = 12, TILE = 13, FUNCTION = 16 };

static bool number_of(uint8_t tag, struct mpk_dtype *out)
{
	static const struct mpk_dtype numbers[] = {
		{ MPK_DTYPE_BOOL, 8, 1 },    { MPK_DTYPE_INT, 8, 1 },    { MPK_DTYPE_INT, 16, 1 },
		{ MPK_DTYPE_INT, 32, 1 },    { MPK_DTYPE_INT, 64, 1 },   { MPK_DTYPE_FLOAT, 16, 1 },
		{ MPK_DTYPE_BFLOAT, 16, 1 }, { MPK_DTYPE_FLOAT, 32, 1 }, { 0 }, /* TF32 */
		{ MPK_DTYPE_FLOAT, 64, 1 },
	};

	if (tag >= MPK_ARRAY_COUNT(numbers) || !numbers[tag].bits)
		return false;
	*out = numbers[tag];
	return true;
}

/* Finds a type by its index: its tag, and the bytes after the tag. */
static bool type_at(const struct reader *r, uint64_t i, uint8_t *tag, struct mpk_cursor *rest)
{
	struct mpk_span type;

	if (!item_of(&r->types, i, &type) || !type.len)
		return false;
	*rest = mpk_cursor_of(type, 0, "payload");
	return mpk_read_u8(rest, "a type", tag, NULL) == MPK_OK;
}

/* Launches pass tiles without dimensions: numbers and pointers. */
static void read_param(const struct reader *r, uint64_t type, struct mpk_tileir_param *out)
{
	struct mpk_cursor c, inner;
	bool has_flags = r->out.major > 13 || (r->out.major == 13 && r->out.minor >= 4);
	uint64_t element, rank, flags, pointee;
	uint8_t tag;

	if (!type_at(r, type, &tag, &c) || tag != TILE ||
	    mpk_read_uleb(&c, "a type", &element, NULL) != MPK_OK ||
	    mpk_read_uleb(&c, "a rank", &rank, NULL) != MPK_OK || rank ||
	    !type_at(r, element, &tag, &inner))
		return;
	if (tag != POINTER) {
		(void)number_of(tag, &out->dtype);
		return;
	}
	out->is_pointer = true;
	if ((!has_flags || mpk_read_uleb(&inner, "the flags of a type", &flags, NULL) == MPK_OK) &&
	    mpk_read_uleb(&inner, "a type", &pointee, NULL) == MPK_OK &&
	    type_at(r, pointee, &tag, &c))
		(void)number_of(tag, &out->dtype);
}

static enum mpk_code read_params(struct reader *r, uint64_t type, struct mpk_tileir_function *f,
				 struct mpk_error *err)
{
	struct mpk_tileir_param *params;
	struct mpk_cursor c;
	size_t count;
	uint8_t tag;

	if (!type_at(r, type, &tag, &c) || tag != FUNCTION ||
	    mpk_read_uleb_count(&c, "the number of parameters", &count, NULL) != MPK_OK ||
	    count > r->params_left)
		return MPK_OK;
	r->params_left -= count;
	MPK_TRY_ARRAY(params, r->arena, count, err);
	for (size_t i = 0; i < count; i++) {
		uint64_t at;

		if (mpk_read_uleb(&c, "a type", &at, NULL) != MPK_OK)
			return MPK_OK;
		read_param(r, at, &params[i]);
	}
	f->params = params;
	f->param_count = count;
	f->has_params = true;
	return MPK_OK;
}

/* --- functions --------------------------------------------------------------------------------- */

enum attribute_tag {
	INTEGER = 1,
	BOOLEAN = 3,
	TYPE = 4,
	STRING = 5,
	ARRAY = 6,
	DICTIONARY = 10,
	HINTS = 11,
};

static enum mpk_code add_hint(struct reader *r, uint64_t key, struct mpk_error *err)
{
	struct mpk_span name;

	MPK_TRY(string_of(r, key, &name, err));
	for (size_t i = 0; i < r->hint_count; i++)
		if (mpk_span_equal(r->hints[i], name))
			return MPK_OK;
	if (r->hint_count >= 64) /* more than there are processors */
		return MPK_OK;
	MPK_TRY_ALLOC(MPK_VEC_ROOM(r->hints, r->hint_count, r->hint_cap), err);
	r->hints[r->hint_count++] = name;
	return MPK_OK;
}

/* Skips an attribute. */
static enum mpk_code read_attribute(struct reader *r, struct mpk_cursor *c, unsigned depth,
				    struct mpk_error *err)
{
	uint64_t ignored, key;
	uint8_t tag, byte;
	size_t count;

	MPK_TRY(mpk_read_u8(c, "an attribute", &tag, err));
	if (depth == DEPTH_MAX)
		return corrupt(mpk_cursor_offset(c), "attributes are nested too deep", err);
	switch (tag) {
	case INTEGER:
		MPK_TRY(mpk_read_uleb(c, "the type of an attribute", &ignored, err));
		return mpk_read_uleb(c, "an attribute", &ignored, err);
	case BOOLEAN:
		return mpk_read_u8(c, "an attribute", &byte, err);
	case TYPE:
	case STRING:
		return mpk_read_uleb(c, "an attribute", &ignored, err);
	case ARRAY:
		MPK_TRY(mpk_read_uleb_count(c, "the number of attributes", &count, err));
		for (size_t i = 0; i < count; i++)
			MPK_TRY(read_attribute(r, c, depth + 1, err));
		return MPK_OK;
	case DICTIONARY:
	case HINTS:
		MPK_TRY(mpk_read_uleb_count(c, "the number of attributes", &count, err));
		for (size_t i = 0; i < count; i++) {
			MPK_TRY(mpk_read_uleb(c, "the key of an attribute", &key, err));
			if (tag == HINTS)
				MPK_TRY(add_hint(r, key, err));
			MPK_TRY(read_attribute(r, c, depth + 1, err));
		}
		return MPK_OK;
	default:
		return corrupt(mpk_cursor_offset(c), "an attribute of an unknown kind", err);
	}
}

static enum mpk_code read_function(struct reader *r, struct mpk_cursor *c, struct mpk_error *err)
{
	enum { PRIVATE = 1, KERNEL = 2, HAS_HINTS = 4 };
	/* From 13.5 on a function always has hints and attributes of parameters. */
	bool always = r->out.major > 13 || (r->out.major == 13 && r->out.minor >= 5);
	struct mpk_tileir_function f = { 0 };
	uint64_t name, type, place;
	struct mpk_span body;
	uint8_t flags;

	MPK_TRY(mpk_read_uleb(c, "the name of a function", &name, err));
	MPK_TRY(mpk_read_uleb(c, "the type of a function", &type, err));
	MPK_TRY(mpk_read_u8(c, "the flags of a function", &flags, err));
	MPK_TRY(mpk_read_uleb(c, "the place of a function", &place, err));
	f.is_private = flags & PRIVATE;
	f.is_kernel = flags & KERNEL;
	if (always ? f.is_kernel : flags & HAS_HINTS)
		MPK_TRY(read_attribute(r, c, 0, err));
	if (always)
		MPK_TRY(read_attribute(r, c, 0, err));
	MPK_TRY(mpk_read_uleb(c, "the bytes of a function", &f.body_bytes, err));
	MPK_TRY(mpk_read_bytes(c, "the body of a function", f.body_bytes, &body, err));
	MPK_TRY(string_of(r, name, &f.name, err));
	MPK_TRY(read_params(r, type, &f, err));
	MPK_TRY_ALLOC(MPK_VEC_ROOM(r->functions, r->function_count, r->function_cap), err);
	r->functions[r->function_count++] = f;
	r->out.kernel_count += f.is_kernel;
	return MPK_OK;
}

static enum mpk_code read_functions(struct reader *r, struct mpk_error *err)
{
	struct mpk_cursor c;
	size_t count;

	MPK_TRY(open_section(r, FUNCTIONS, &c, err));
	MPK_TRY(mpk_read_uleb_count(&c, "the number of functions", &count, err));
	for (size_t i = 0; i < count; i++)
		MPK_TRY(read_function(r, &c, err));
	if (mpk_cursor_left(&c))
		return corrupt(mpk_cursor_offset(&c), "bytes follow the last function", err);
	return MPK_OK;
}

/* Counts the items of a section that may be missing, and of which nothing else is read. */
static enum mpk_code count_items(const struct reader *r, enum section_id id, size_t *out,
				 struct mpk_error *err)
{
	struct mpk_cursor c;

	*out = 0;
	if (!r->by_id[id].off)
		return MPK_OK;
	MPK_TRY(open_section(r, id, &c, err));
	return mpk_read_uleb_count(&c, "the number of items of a section", out, err);
}

enum mpk_code mpk_tileir_read(struct mpk_span bytes, struct mpk_arena *arena,
			      struct mpk_tileir *out, struct mpk_error *err)
{
	MPK_CLEANUP(reader_fini)
	struct reader r = { .bytes = bytes, .arena = arena, .params_left = bytes.len };
	size_t debugged;

	MPK_TRY(read_sections(&r, err));
	MPK_TRY(read_table(&r, STRINGS, 4, &r.strings, err));
	MPK_TRY(read_table(&r, TYPES, 4, &r.types, err));
	MPK_TRY(read_functions(&r, err));
	MPK_TRY(count_items(&r, GLOBALS, &r.out.global_count, err));
	MPK_TRY(count_items(&r, CONSTANTS, &r.out.constant_count, err));
	MPK_TRY(count_items(&r, DEBUG, &debugged, err));
	r.out.string_count = r.strings.count;
	r.out.type_count = r.types.count;
	r.out.has_debug = debugged > 0;
	r.out.sections = mpk_arena_keep(arena, r.sections, r.section_count, sizeof *r.sections);
	r.out.functions = mpk_arena_keep(arena, r.functions, r.function_count, sizeof *r.functions);
	r.out.hints = mpk_arena_keep(arena, r.hints, r.hint_count, sizeof *r.hints);
	MPK_TRY_ALLOC(r.out.sections && r.out.functions && r.out.hints, err);
	r.out.section_count = r.section_count;
	r.out.function_count = r.function_count;
	r.out.hint_count = r.hint_count;
	*out = r.out;
	return MPK_OK;
}
