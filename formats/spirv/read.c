/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - SPIR-V modules
 *
 * One pass over the instructions collects what kernels need: entry points, execution modes, and
 * constants that these may refer to. Ids may be used before they are defined, so they are resolved
 * at the end, by search in sorted lists. */
#include "spirv/spirv.h"

#include <stdlib.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "text/escape.h"

#define MAGIC UINT32_C(0x07230203)

enum { HEADER_WORDS = 5 };

/* The numbers of the specification, FORMAT.md 2. */
enum {
	OP_MEMORY_MODEL = 14,
	OP_ENTRY_POINT = 15,
	OP_EXECUTION_MODE = 16,
	OP_CAPABILITY = 17,
	OP_CONSTANT = 43,
	OP_CONSTANT_COMPOSITE = 44,
	OP_SPEC_CONSTANT = 50,
	OP_SPEC_CONSTANT_COMPOSITE = 51,
	OP_FUNCTION = 54,
	OP_DECORATE = 71,
	OP_EXECUTION_MODE_ID = 331,
	MODE_LOCAL_SIZE = 17,
	MODE_LOCAL_SIZE_HINT = 18,
	MODE_LOCAL_SIZE_ID = 38,
	MODE_LOCAL_SIZE_HINT_ID = 39,
	DECORATION_BUILT_IN = 11,
	BUILT_IN_WORKGROUP_SIZE = 25,
};

struct instruction {
	uint16_t op;
	uint16_t words; /* its length in words, the first one included; at least 1 */
	size_t at;      /* index of the first word */
};

/* The definition of an id. */
struct definition {
	uint32_t id;
	uint16_t op;
	size_t at; /* word index of the defining instruction */
	uint16_t words;
};

/* An execution mode. It is applied after all entry points have been read. */
struct mode {
	uint32_t function;
	uint32_t mode;
	uint32_t operands[3];
	size_t at;
};

struct reader {
	struct mpk_span bytes;
	size_t word_count;
	struct mpk_arena *arena;
	struct mpk_spirv out;
	struct mpk_spirv_entry *entries; /* malloc'ed until the end, as are the others */
	size_t entry_cap;
	uint32_t *capabilities;
	size_t capability_cap;
	struct definition *definitions;
	size_t definition_count, definition_cap;
	struct mode *modes;
	size_t mode_count, mode_cap;
	uint32_t workgroup_size; /* id of the constant with the built-in decoration WorkgroupSize;
				  * 0: none */
	bool has_memory_model;
};

static void spirv_reader_fini(struct reader *r)
{
	free(r->entries);
	free(r->capabilities);
	free(r->definitions);
	free(r->modes);
}

/* Converts a word index to an offset in bytes. */
static enum mpk_code spirv_fail_at(struct mpk_error *err, size_t word, const char *what)
{
	return mpk_fail_offset(err, MPK_E_CORRUPT, "payload", word * UINT64_C(4), "SPIR-V: %s",
			       what);
}

/* The caller has checked that the word exists. */
static uint32_t spirv_word_at(const struct reader *r, size_t i)
{
	uint32_t v = mpk_load_u32(r->bytes.data + 4 * i);

	return r->out.big_endian ? __builtin_bswap32(v) : v;
}

/* Accepts both byte orders, which the magic number shows. */
bool mpk_spirv_is(struct mpk_span bytes)
{
	uint32_t magic = bytes.len >= 4 ? mpk_load_u32(bytes.data) : 0;

	return magic == MAGIC || magic == __builtin_bswap32(MAGIC);
}

/* Checks the number of words before operands are read by index. */
static enum mpk_code need(const struct instruction *i, uint16_t words, struct mpk_error *err)
{
	return i->words >= words ? MPK_OK
				 : spirv_fail_at(err, i->at, "an instruction lacks operands");
}

/* Reads an id from word n of the instruction. */
static enum mpk_code take_id(const struct reader *r, const struct instruction *i, size_t n,
			     uint32_t *out, struct mpk_error *err)
{
	uint32_t id = spirv_word_at(r, i->at + n);

	if (id == 0 || id >= r->out.bound)
		return spirv_fail_at(err, i->at + n, "an id is 0 or not below the bound");
	*out = id;
	return MPK_OK;
}

/* Reads a literal string from word n on; *end receives the index of the word after it, within the
 * instruction. */
static enum mpk_code take_string(struct reader *r, const struct instruction *i, size_t n,
				 const char **out, size_t *end, struct mpk_error *err)
{
	char *text = mpk_arena_alloc(r->arena, (i->words - n) * 4 + 1);

	MPK_TRY_ALLOC(text, err);
	for (size_t k = n; k < i->words; k++) {
		uint32_t w = spirv_word_at(r, i->at + k);

		for (size_t b = 0; b < 4; b++)
			text[(k - n) * 4 + b] = (char)(w >> 8 * b);
		if (!(w >> 24)) {
			*out = text;
			*end = k + 1;
			return MPK_OK;
		}
	}
	return spirv_fail_at(err, i->at + n, "a name has no end");
}

/* --- instructions: FORMAT.md 2 ------------------------------------------------------- */

/* Unknown numbers are kept, because capabilities are only listed. */
static enum mpk_code take_capability(struct reader *r, const struct instruction *i,
				     struct mpk_error *err)
{
	size_t n = r->out.capability_count;

	MPK_TRY(need(i, 2, err));
	MPK_TRY_ALLOC(
		mpk_vec_reserve(&r->capabilities, &r->capability_cap, n + 1, sizeof(uint32_t)),
		err);
	r->capabilities[r->out.capability_count++] = spirv_word_at(r, i->at + 1);
	return MPK_OK;
}

/* A module has exactly one; its place is not checked. */
static enum mpk_code take_memory_model(struct reader *r, const struct instruction *i,
				       struct mpk_error *err)
{
	MPK_TRY(need(i, 3, err));
	if (r->has_memory_model)
		return spirv_fail_at(err, i->at, "a second memory model");
	r->has_memory_model = true;
	r->out.addressing = spirv_word_at(r, i->at + 1);
	r->out.memory = spirv_word_at(r, i->at + 2);
	return MPK_OK;
}

/* After the name come the ids of the interface, up to the end of the instruction. */
static enum mpk_code take_entry(struct reader *r, const struct instruction *i,
				struct mpk_error *err)
{
	struct mpk_spirv_entry e = { 0 };
	uint32_t *ids;
	size_t n;

	MPK_TRY(need(i, 4, err));
	e.model = spirv_word_at(r, i->at + 1);
	MPK_TRY(take_id(r, i, 2, &e.function, err));
	MPK_TRY(take_string(r, i, 3, &e.name, &n, err));
	e.interface_count = i->words - n;
	ids = mpk_arena_array(r->arena, e.interface_count, sizeof *ids);
	if (!ids || !mpk_vec_reserve(&r->entries, &r->entry_cap, r->out.entry_count + 1, sizeof e))
		return mpk_fail_nomem(err);
	for (size_t k = 0; k < e.interface_count; k++)
		MPK_TRY(take_id(r, i, n + k, &ids[k], err));
	e.interface = ids;
	r->entries[r->out.entry_count++] = e;
	return MPK_OK;
}

/* Other modes are ignored. */
static bool is_size_mode(uint32_t mode)
{
	return mode == MODE_LOCAL_SIZE || mode == MODE_LOCAL_SIZE_HINT ||
	       mode == MODE_LOCAL_SIZE_ID || mode == MODE_LOCAL_SIZE_HINT_ID;
}

/* Operands that are not sizes are ignored. */
static enum mpk_code take_mode(struct reader *r, const struct instruction *i, struct mpk_error *err)
{
	struct mode m = { .at = i->at };

	MPK_TRY(need(i, 3, err));
	MPK_TRY(take_id(r, i, 1, &m.function, err));
	m.mode = spirv_word_at(r, i->at + 2);
	if (is_size_mode(m.mode)) {
		MPK_TRY(need(i, 6, err));
		for (size_t k = 0; k < 3; k++)
			m.operands[k] = spirv_word_at(r, i->at + 3 + k);
	}
	MPK_TRY_ALLOC(mpk_vec_reserve(&r->modes, &r->mode_cap, r->mode_count + 1, sizeof m), err);
	r->modes[r->mode_count++] = m;
	return MPK_OK;
}

/* The result type is in word 1, the result id in word 2. */
static enum mpk_code take_definition(struct reader *r, const struct instruction *i,
				     struct mpk_error *err)
{
	struct definition d = { .op = i->op, .at = i->at, .words = i->words };

	MPK_TRY(need(i, i->op == OP_FUNCTION ? 5 : 3, err));
	MPK_TRY(take_id(r, i, 2, &d.id, err));
	MPK_TRY_ALLOC(mpk_vec_reserve(&r->definitions, &r->definition_cap, r->definition_count + 1,
				      sizeof d),
		      err);
	r->definitions[r->definition_count++] = d;
	r->out.function_count += i->op == OP_FUNCTION;
	return MPK_OK;
}

static enum mpk_code take_instruction(struct reader *r, const struct instruction *i,
				      struct mpk_error *err)
{
	switch (i->op) {
	case OP_CAPABILITY:
		return take_capability(r, i, err);
	case OP_MEMORY_MODEL:
		return take_memory_model(r, i, err);
	case OP_ENTRY_POINT:
		return take_entry(r, i, err);
	case OP_EXECUTION_MODE:
	case OP_EXECUTION_MODE_ID:
		return take_mode(r, i, err);
	case OP_DECORATE:
		/* Only the built-in WorkgroupSize is read, which takes precedence over execution modes. */
		MPK_TRY(need(i, 3, err));
		if (i->words >= 4 && spirv_word_at(r, i->at + 2) == DECORATION_BUILT_IN &&
		    spirv_word_at(r, i->at + 3) == BUILT_IN_WORKGROUP_SIZE)
			return take_id(r, i, 1, &r->workgroup_size, err);
		return MPK_OK;
	case OP_CONSTANT:
	case OP_CONSTANT_COMPOSITE:
	case OP_SPEC_CONSTANT:
	case OP_SPEC_CONSTANT_COMPOSITE:
	case OP_FUNCTION:
		return take_definition(r, i, err);
	default:
		return MPK_OK;
	}
}

static enum mpk_code spirv_read_walk(struct reader *r, struct mpk_error *err)
{
	struct instruction i = { .at = HEADER_WORDS };

	for (; i.at < r->word_count; i.at += i.words) {
		uint32_t head = spirv_word_at(r, i.at);

		i.op = (uint16_t)head;
		i.words = (uint16_t)(head >> 16);
		if (i.words == 0)
			return spirv_fail_at(err, i.at, "an instruction of 0 words");
		if (i.words > r->word_count - i.at)
			return spirv_fail_at(err, i.at, "an instruction reaches beyond the end");
		MPK_TRY(take_instruction(r, &i, err));
		r->out.instruction_count++;
	}
	if (!r->has_memory_model)
		return spirv_fail_at(err, r->word_count, "no memory model");
	return MPK_OK;
}

/* --- ids: FORMAT.md 3 ---------------------------------------------------------------- */

static int compare_definitions(const void *a, const void *b)
{
	uint32_t x = ((const struct definition *)a)->id, y = ((const struct definition *)b)->id;

	return (x > y) - (x < y);
}

/* Searches the sorted definitions. */
static const struct definition *find_definition(const struct reader *r, uint32_t id)
{
	struct definition key = { .id = id };

	return r->definition_count ? bsearch(&key, r->definitions, r->definition_count, sizeof key,
					     compare_definitions)
				   : NULL;
}

/* Returns the (default) value of a constant of one word; 0 for anything else. */
static uint32_t constant_of(const struct reader *r, uint32_t id)
{
	const struct definition *d = find_definition(r, id);

	if (!d || (d->op != OP_CONSTANT && d->op != OP_SPEC_CONSTANT) || d->words != 4)
		return 0;
	return spirv_word_at(r, d->at + 3);
}

/* Returns what a mode sets: of two modes of a function that set the same, one counts. */
static int subject(const struct mode *m)
{
	if (!is_size_mode(m->mode))
		return 0;
	return m->mode == MODE_LOCAL_SIZE_HINT || m->mode == MODE_LOCAL_SIZE_HINT_ID ? 2 : 1;
}

/* Modes with ids came with SPIR-V 1.2. Their constants may be specialised; the default counts here. */
static void apply_mode(const struct reader *r, struct mpk_spirv_entry *e, const struct mode *m)
{
	bool ids = m->mode == MODE_LOCAL_SIZE_ID || m->mode == MODE_LOCAL_SIZE_HINT_ID;
	uint32_t *size = subject(m) == 2 ? e->size_hint : e->local_size;

	for (size_t k = 0; k < 3; k++)
		size[k] = ids ? constant_of(r, m->operands[k]) : m->operands[k];
}

/* A constant with the built-in decoration WorkgroupSize takes precedence over execution modes. */
static void apply_workgroup_size(struct reader *r)
{
	const struct definition *d = find_definition(r, r->workgroup_size);

	if (!d || d->words != 6 ||
	    (d->op != OP_CONSTANT_COMPOSITE && d->op != OP_SPEC_CONSTANT_COMPOSITE))
		return;
	for (size_t i = 0; i < r->out.entry_count; i++)
		for (size_t k = 0; k < 3; k++)
			r->entries[i].local_size[k] =
				constant_of(r, spirv_word_at(r, d->at + 3 + k));
}

static int compare_functions(const void *a, const void *b)
{
	uint32_t x = ((const struct mode *)a)->function, y = ((const struct mode *)b)->function;

	return (x > y) - (x < y);
}

static int compare_modes(const void *a, const void *b)
{
	const struct mode *x = a, *y = b;
	int order = compare_functions(a, b);

	if (!order)
		order = subject(x) - subject(y);
	return order ? order : (x->at > y->at) - (x->at < y->at);
}

/* Sorts modes, and keeps the last of those that set the same. */
static void fold_modes(struct reader *r)
{
	size_t kept = 0;

	if (r->mode_count)
		qsort(r->modes, r->mode_count, sizeof *r->modes, compare_modes);
	for (size_t i = 0; i < r->mode_count; i++) {
		const struct mode *m = &r->modes[i], *next = m + 1;
		bool last = i + 1 == r->mode_count || next->function != m->function ||
			    subject(next) != subject(m);

		if (last && subject(m))
			r->modes[kept++] = *m;
	}
	r->mode_count = kept;
}

/* A mode names a function, which several entry points may share. */
static enum mpk_code apply_modes(struct reader *r, struct mpk_error *err)
{
	for (size_t i = 0; i < r->mode_count; i++) {
		const struct definition *d = find_definition(r, r->modes[i].function);

		if (!d || d->op != OP_FUNCTION)
			return spirv_fail_at(err, r->modes[i].at,
					     "an execution mode without its function");
	}
	fold_modes(r);
	for (size_t i = 0; r->mode_count && i < r->out.entry_count; i++) {
		struct mode key = { .function = r->entries[i].function };
		const struct mode *m =
			bsearch(&key, r->modes, r->mode_count, sizeof key, compare_functions);

		if (m && m > r->modes && m[-1].function == key.function)
			m--;
		for (; m && m < r->modes + r->mode_count && m->function == key.function; m++)
			apply_mode(r, &r->entries[i], m);
	}
	return MPK_OK;
}

/* Functions come after the entry points in the file, so this is checked at the end. */
static enum mpk_code check_entries(const struct reader *r, struct mpk_error *err)
{
	for (size_t i = 0; i < r->out.entry_count; i++) {
		const struct mpk_spirv_entry *e = &r->entries[i];
		const struct definition *d = find_definition(r, e->function);

		if (!d || d->op != OP_FUNCTION)
			return mpk_fail(err, MPK_E_CORRUPT,
					"SPIR-V: entry point '%s' has no function",
					MPK_QUOTE(mpk_span_str(e->name)));
	}
	return MPK_OK;
}

/* --- the module: FORMAT.md 1 --------------------------------------------------------- */

enum mpk_code mpk_spirv_read(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_spirv *out,
			     struct mpk_error *err)
{
	MPK_CLEANUP(spirv_reader_fini) struct reader r = { .bytes = bytes, .arena = arena };

	/* The number of the generator is shown, never interpreted. */
	uint32_t version;

	if (!mpk_spirv_is(r.bytes))
		return spirv_fail_at(err, 0, "no SPIR-V magic number");
	if (r.bytes.len % 4)
		return spirv_fail_at(err, r.bytes.len / 4,
				     "not a multiple of 4 bytes; it was cut off");
	r.word_count = r.bytes.len / 4;
	if (r.word_count < HEADER_WORDS)
		return spirv_fail_at(err, r.word_count, "cut off inside its header");
	r.out.big_endian = mpk_load_u32(r.bytes.data) != MAGIC;
	version = spirv_word_at(&r, 1);
	r.out.major = version >> 16 & 0xff;
	r.out.minor = version >> 8 & 0xff;
	r.out.generator = spirv_word_at(&r, 2);
	r.out.bound = spirv_word_at(&r, 3);

	MPK_TRY(spirv_read_walk(&r, err));

	/* An id with two definitions would have two meanings. */
	struct definition *d = r.definitions;

	if (r.definition_count)
		qsort(d, r.definition_count, sizeof *d, compare_definitions);
	for (size_t i = 1; i < r.definition_count; i++)
		if (d[i - 1].id == d[i].id)
			return spirv_fail_at(err, d[i].at > d[i - 1].at ? d[i].at : d[i - 1].at,
					     "an id is defined a second time");

	MPK_TRY(check_entries(&r, err));
	MPK_TRY(apply_modes(&r, err));
	apply_workgroup_size(&r);

	/* Copies the growing arrays to the arena. */
	struct mpk_spirv spirv = r.out;

	spirv.entries = mpk_arena_keep(r.arena, r.entries, spirv.entry_count, sizeof *r.entries);
	spirv.capabilities = mpk_arena_keep(r.arena, r.capabilities, spirv.capability_count,
					    sizeof *r.capabilities);
	MPK_TRY_ALLOC(spirv.entries && spirv.capabilities, err);
	*out = spirv;
	return MPK_OK;
}
