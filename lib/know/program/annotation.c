/* SPDX-License-Identifier: Apache-2.0 */
/* annotation.c - types: a small reader of those that TVMScript prints (R.Tensor, R.Tuple, R.Shape, R.Prim), and those of
 * registers: of operands, of symbolic extents, and out of two other types
 *
 * The texts are the only place where symbolic extents have names, so they are worth a reader. They may
 * be of any release or damaged: what is not understood becomes a type of which nothing is known, and
 * nothing here fails. Symbolic extents are slots of the shape heap in byte code; where the texts were left out, the first
 * input that has an extent gives it a name here. Types meet where branches do, where code and text speak of the same
 * value, and where a callee returns something in symbols of its own.
 */
#include "program/internal/program.h"

#include <string.h>

#include "base/num.h"
#include "base/vec.h"

enum { NEST_MAX = 16, DIMENSIONS_MAX = 32, FIELDS_MAX = 4096 };

struct reader {
	struct mpk_span rest;
	struct mpk_arena *arena;
};

/* Whether the rest begins with a word, which is then read. */
static bool annotation_take(struct reader *r, const char *word)
{
	size_t len = strlen(word);

	if (r->rest.len < len || memcmp(r->rest.data, word, len) != 0)
		return false;
	r->rest = mpk_span_from(r->rest, len);
	return true;
}

static void annotation_skip_blanks(struct reader *r)
{
	while (annotation_take(r, " "))
		;
}

/* What comes before the first of the stops that is not within brackets. */
static struct mpk_span take_item(struct reader *r, const char *stops)
{
	const uint8_t *start = r->rest.data;
	unsigned depth = 0;
	size_t i = 0;

	for (; i < r->rest.len; i++) {
		char c = (char)start[i];

		if (depth == 0 && c && strchr(stops, c))
			break;
		/* an extent may itself be a call: "T.max(n, 4)" is one item */
		depth += c == '(' || c == '[';
		depth -= depth && (c == ')' || c == ']');
	}
	r->rest = mpk_span_of(start + i, r->rest.len - i);
	return mpk_span_of(start, i);
}

static struct mpk_span trim(struct mpk_span s)
{
	while (s.len && s.data[0] == ' ')
		s = mpk_span_from(s, 1);
	while (s.len && s.data[s.len - 1] == ' ')
		s.len--;
	return s;
}

/* --- extents ------------------------------------------------------------------------------- */

/* "b * T.int64(2)" is "b * 2". */
static struct mpk_span without_wrappers(struct mpk_span text, struct mpk_arena *arena)
{
	static const char *const wrappers[] = { "T.int64(", "T.int32(" };
	struct reader r = { text, arena };
	char *out = mpk_arena_alloc(arena, text.len + 1);
	size_t len = 0;

	while (out && r.rest.len) {
		if (annotation_take(&r, wrappers[0]) || annotation_take(&r, wrappers[1])) {
			struct mpk_span inner = take_item(&r, ")");

			memcpy(out + len, inner.data, inner.len);
			len += inner.len;
			(void)annotation_take(&r, ")");
			continue;
		}
		out[len++] = (char)r.rest.data[0];
		r.rest = mpk_span_from(r.rest, 1);
	}
	return out ? mpk_span_of(out, len) : text;
}

/* "n, 4)": the extents up to the closing bracket. */
static bool read_extents(struct reader *r, const char *close, struct mpk_type *t)
{
	int64_t shape[DIMENSIONS_MAX] = { 0 };
	struct mpk_span symbols[DIMENSIONS_MAX] = { 0 };
	const char stops[] = { ',', close[0], '\0' };

	for (annotation_skip_blanks(r); !annotation_take(r, close); annotation_skip_blanks(r)) {
		struct mpk_span item = without_wrappers(trim(take_item(r, stops)), r->arena);

		if (t->ndim == DIMENSIONS_MAX || !item.len)
			return false;
		if (!mpk_parse_i64(item, &shape[t->ndim]))
			symbols[t->ndim] = item;
		t->ndim++;
		(void)annotation_take(r, ",");
	}
	t->ranked = true;
	t->shape = mpk_arena_keep(r->arena, shape, t->ndim, sizeof shape[0]);
	t->symbols = mpk_arena_keep(r->arena, symbols, t->ndim, sizeof symbols[0]);
	return t->shape && t->symbols;
}

/* --- types --------------------------------------------------------------------------------- */

static bool annotation_read_type(struct reader *r, unsigned depth, struct mpk_type *out);

/* "opencl:0:global", "llvm:-1:global": the kind of a target, a number, a memory. */
static int32_t read_vdevice(struct reader *r)
{
	static const struct {
		const char *target;
		int32_t device;
	} others[] = { { "llvm", MPK_DL_CPU }, { "c", MPK_DL_CPU }, { "nvptx", MPK_DL_CUDA } };
	struct mpk_span target = take_item(r, ":\"");
	int32_t device = 0;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(others); i++)
		if (mpk_span_is(target, others[i].target))
			return others[i].device;
	(void)mpk_dl_device_find(target, &device);
	return device;
}

/* Whether it says a rank. */
static bool read_keyword(struct mpk_span item, struct mpk_type *t)
{
	struct reader r = { item, NULL };
	int64_t ndim;

	/* the place that a tensor is to be at */
	if (annotation_take(&r, "vdevice=\""))
		t->device = read_vdevice(&r);
	else if (annotation_take(&r, "dtype=\"") && r.rest.len &&
		 r.rest.data[r.rest.len - 1] == '"')
		(void)mpk_dtype_parse(mpk_span_of(r.rest.data, r.rest.len - 1), &t->dtype);
	else if (annotation_take(&r, "ndim=") && mpk_parse_i64(r.rest, &ndim) && ndim >= 0 &&
		 ndim <= DIMENSIONS_MAX && !t->ranked) {
		t->ndim = (size_t)ndim;
		return true;
	}
	return false;
}

/* Extents of which the number alone is known. */
static bool set_unknown_extents(struct mpk_arena *arena, struct mpk_type *t)
{
	struct mpk_span *symbols = mpk_arena_array(arena, t->ndim + 1, sizeof *symbols);
	int64_t *shape = mpk_arena_array(arena, t->ndim + 1, sizeof *shape);

	if (!symbols || !shape)
		return false;
	for (size_t i = 0; i < t->ndim; i++)
		symbols[i] = mpk_span_str("?");
	t->ranked = true;
	t->shape = shape;
	t->symbols = symbols;
	return true;
}

/* "(n, 4), dtype=\"float32\")", or what R.Shape takes */
static bool read_shaped(struct reader *r, const char *open, const char *close, struct mpk_type *t)
{
	bool has_rank = false;

	for (annotation_skip_blanks(r); !annotation_take(r, ")"); annotation_skip_blanks(r)) {
		if (annotation_take(r, open)) {
			if (!read_extents(r, close, t))
				return false;
		} else {
			has_rank |= read_keyword(trim(take_item(r, ",)")), t);
		}
		if (!annotation_take(r, ",") && !r->rest.len)
			return false;
	}
	return !has_rank || t->ranked || set_unknown_extents(r->arena, t);
}

static bool read_fields(struct reader *r, unsigned depth, struct mpk_type *t)
{
	struct mpk_param *fields = NULL;
	size_t cap = 0;

	for (annotation_skip_blanks(r); !annotation_take(r, ")"); annotation_skip_blanks(r)) {
		if (t->field_count == cap) {
			struct mpk_param *more =
				mpk_arena_array(r->arena, 2 * cap + 8, sizeof *more);

			/* the list grows by doubling, and arenas do not free: at most twice what
			 * is needed */
			if (!more || cap > FIELDS_MAX)
				return false;
			if (cap)
				memcpy(more, fields, cap * sizeof *more);
			fields = more;
			cap = 2 * cap + 8;
		}
		if (!annotation_read_type(r, depth + 1, &fields[t->field_count].type))
			return false;
		t->field_count++;
		if (!annotation_take(r, ",") && !r->rest.len)
			return false;
	}
	t->fields = fields;
	return true;
}

static void read_scalar(struct mpk_span inner, struct mpk_type *t)
{
	struct reader r = { trim(inner), NULL };

	if (annotation_take(&r, "\"") && r.rest.len)
		(void)mpk_dtype_parse(mpk_span_of(r.rest.data, r.rest.len - 1), &t->dtype);
	else if (annotation_take(&r, "value="))
		t->dtype = (struct mpk_dtype){ MPK_DTYPE_INT, 64, 1 };
}

static bool starts_with(struct mpk_span s, const char *word)
{
	return s.len >= strlen(word) && memcmp(s.data, word, strlen(word)) == 0;
}

static bool annotation_read_type(struct reader *r, unsigned depth, struct mpk_type *out)
{
	struct mpk_span item;

	*out = (struct mpk_type){ 0 };
	/* a text from strangers must not recurse without end */
	if (depth == NEST_MAX)
		return false;
	if (annotation_take(r, "R.Tensor")) {
		out->kind = MPK_TYPE_TENSOR;
		return !annotation_take(r, "(") || read_shaped(r, "(", ")", out);
	}
	if (annotation_take(r, "R.Shape")) {
		out->kind = MPK_TYPE_SHAPE;
		return !annotation_take(r, "(") || read_shaped(r, "[", "]", out);
	}
	if (annotation_take(r, "R.Tuple(") || annotation_take(r, "T.Tuple(")) {
		out->kind = MPK_TYPE_TUPLE;
		return read_fields(r, depth, out);
	}
	if (annotation_take(r, "R.Prim(")) {
		out->kind = MPK_TYPE_SCALAR;
		read_scalar(take_item(r, ")"), out);
		return annotation_take(r, ")");
	}
	item = take_item(r, ",)");
	if (starts_with(item, "R.Callable"))
		out->kind = MPK_TYPE_FUNCTION;
	else if (starts_with(item, "T.") && mpk_dtype_parse(mpk_span_from(item, 2), &out->dtype))
		out->kind = MPK_TYPE_SCALAR; /* TVM 0.26: T.int64 */
	return true;                         /* R.Object, R.Any, and what may come */
}

/* --- the text ------------------------------------------------------------------------------ */

bool mpk_relax_annotation_read(struct mpk_span text, struct mpk_arena *arena,
			       struct mpk_relax_annotation *out)
{
	struct reader r = { text, arena };
	int64_t param = 0;

	*out = (struct mpk_relax_annotation){ 0 };
	if (!annotation_take(&r, "ErrorContext(fn="))
		return false;
	out->function = take_item(&r, ",");
	if (!annotation_take(&r, ", loc="))
		return false;
	out->is_return = annotation_take(&r, "return");
	if (!out->is_return) {
		if (!annotation_take(&r, "param[") || !mpk_parse_i64(take_item(&r, "]"), &param) ||
		    param < 0 || !annotation_take(&r, "], param="))
			return false;
		(void)take_item(&r, ",");
	}
	out->param = (size_t)param;
	if (!annotation_take(&r, ", annotation="))
		return false;
	if (!annotation_read_type(&r, 0, &out->type))
		out->type = (struct mpk_type){ 0 };
	return true;
}

/* --- types of registers --- */

enum {
	MATCH_IMMEDIATE = 0, /* codes of match_shape and make_shape */
	MATCH_STORE = 1,
	MATCH_LOAD = 3,
	MAKE_LOAD = 1,
};

/* An array for parts of a type; NULL when there is no room for it. */
void *mpk_relax_make_parts(struct mpk_relax_typing *r, size_t count, size_t size)
{
	void *parts;

	if (count >= r->parts)
		return NULL;
	r->parts -= count + 1;
	parts = mpk_arena_array(r->arena, count + 1, size);
	r->failed |= !parts;
	return parts;
}

/* --- operands ------------------------------------------------------------------------------ */

/* What is known of an operand, be it a register or a constant. */
struct mpk_type mpk_relax_type_at(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
				  size_t i)
{
	const struct mpk_relax_content *c = mpk_relax_content_at(r, instr, i);
	const struct mpk_relax_const *constant = mpk_relax_const_at(r, instr, i);
	struct mpk_type t = { 0 };
	int64_t *shape;

	if (c)
		return c->input ? *c->input : c->type;
	if (!constant)
		return t;
	if (constant->kind == MPK_RELAX_TENSOR)
		return mpk_type_tensor(constant->u.tensor.dtype, constant->u.tensor.shape,
				       constant->u.tensor.ndim, NULL);
	if (constant->kind != MPK_RELAX_SHAPE ||
	    constant->u.shape.len / 8 > MPK_RELAX_TYPING_DIMENSIONS)
		return t;
	shape = mpk_relax_make_parts(r, constant->u.shape.len / 8, sizeof *shape);
	if (!shape)
		return t;
	t = (struct mpk_type){ .kind = MPK_TYPE_SHAPE, .ranked = true, .shape = shape };
	for (; t.ndim < constant->u.shape.len / 8; t.ndim++)
		shape[t.ndim] = (int64_t)mpk_load_u64(constant->u.shape.data + 8 * t.ndim);
	return t;
}

/* --- extents ------------------------------------------------------------------------------- */

/* Where the name of a slot is; NULL: there are not so many, or memory is out. */
static struct mpk_span *slot_place(struct mpk_relax_typing *r, int64_t slot)
{
	if ((uint64_t)slot >= MPK_RELAX_TYPING_SLOTS)
		return NULL;
	r->failed |= !MPK_VEC_ROOM(r->slots, (size_t)slot, r->slot_room);
	while (!r->failed && r->slot_count <= (size_t)slot)
		r->slots[r->slot_count++] = (struct mpk_span){ 0 };
	return r->failed ? NULL : &r->slots[slot];
}

static bool is_slot_name(const struct mpk_relax_typing *r, struct mpk_span name)
{
	for (size_t i = 0; i < r->slot_count; i++)
		if (mpk_span_equal(r->slots[i], name))
			return true;
	return false;
}

/* A slot is an extent, and two of them are two, also where the program calls both by one name. */
static void name_slot(struct mpk_relax_typing *r, struct mpk_span *place, struct mpk_span told)
{
	struct mpk_span name = told;
	const char *made = "";

	for (size_t i = 1; made && is_slot_name(r, name); i++) {
		made = mpk_arena_printf(r->arena, "%.*s_%zu", (int)told.len,
					(const char *)told.data, i);
		name = mpk_span_str(made ? made : "");
	}
	r->failed |= !made;
	if (!made)
		return;
	r->renames |= *made != '\0';
	*place = name;
}

static struct mpk_span slot_name(struct mpk_relax_typing *r, int64_t slot)
{
	static const char *const common[] = { "n", "m", "k", "l" };
	struct mpk_span *place = slot_place(r, slot);
	const char *made;

	if (!place)
		return mpk_span_str("?");
	if (place->len)
		return *place;
	made = r->named < MPK_ARRAY_COUNT(common) ? common[r->named]
						  : mpk_arena_printf(r->arena, "n%zu", r->named);
	r->failed |= !made;
	r->named++;
	name_slot(r, place, mpk_span_str(made ? made : "?"));
	return *place;
}

static struct mpk_span told_symbol(const struct mpk_relax_pairs *p, size_t i)
{
	if (!p->told || !p->told->ranked || p->told->ndim != p->count)
		return (struct mpk_span){ 0 };
	return mpk_type_symbol(p->told, i);
}

/* What a slot of the heap is called; empty when no input names it. */
static struct mpk_span slot_at(const struct mpk_relax_typing *r, int64_t slot)
{
	return (uint64_t)slot < r->slot_count ? r->slots[slot] : (struct mpk_span){ 0 };
}

static void input_extent(struct mpk_relax_typing *r, const struct mpk_relax_pairs *p, size_t i,
			 int64_t *extent, struct mpk_span *symbol)
{
	struct mpk_span told = told_symbol(p, i);
	int64_t code = -1, operand = 0;

	*symbol = told.len ? told : mpk_span_str("?");
	if (!mpk_relax_int_at(p->instr, p->at + 2 * i, &code) ||
	    !mpk_relax_int_at(p->instr, p->at + 2 * i + 1, &operand))
		return;
	if (code == MATCH_IMMEDIATE) {
		*extent = operand;
		*symbol = (struct mpk_span){ 0 };
	} else if (code == MATCH_STORE || code == MATCH_LOAD) {
		struct mpk_span *place = slot_place(r, operand);

		if (told.len && place && !place->len)
			name_slot(r, place, told);
		*symbol = slot_name(r, operand);
	}
}

/* Of a value that is no input: slots with no name are of data, or computed from those that have. */
static void value_extent(const struct mpk_relax_typing *r, const struct mpk_relax_pairs *p,
			 size_t i, int64_t *extent, struct mpk_span *symbol)
{
	bool made = p->from == MPK_RELAX_EXTENTS_MADE;
	int64_t code = -1, operand = 0;

	*symbol = mpk_span_str("?");
	if (!mpk_relax_int_at(p->instr, p->at + 2 * i, &code) ||
	    !mpk_relax_int_at(p->instr, p->at + 2 * i + 1, &operand))
		return;
	if (code == MATCH_IMMEDIATE) {
		*extent = operand;
		*symbol = (struct mpk_span){ 0 };
	} else if ((made ? code == MAKE_LOAD : code == MATCH_LOAD) && slot_at(r, operand).len) {
		*symbol = slot_at(r, operand);
	}
}

/* Of another extent, of a name or computed from it: nothing can be said where a name means two. */
static bool is_ambiguous(const struct mpk_relax_typing *r, struct mpk_span symbol)
{
	return r->renames && symbol.len && !mpk_span_is(symbol, "_");
}

void mpk_relax_keep_slots(struct mpk_relax_typing *r, const struct mpk_relax_pairs *p,
			  struct mpk_type *t)
{
	struct mpk_span *symbols;

	if (!t->ranked || t->ndim != p->count || !t->symbols)
		return;
	symbols = mpk_relax_make_parts(r, p->count, sizeof *symbols);
	for (size_t i = 0; symbols && i < p->count; i++) {
		int64_t code = -1, operand = 0;
		bool known = mpk_relax_int_at(p->instr, p->at + 2 * i, &code) &&
			     mpk_relax_int_at(p->instr, p->at + 2 * i + 1, &operand);

		symbols[i] = t->symbols[i];
		if (known && (code == MATCH_STORE || code == MATCH_LOAD) && slot_at(r, operand).len)
			symbols[i] = slot_at(r, operand);
		else if (is_ambiguous(r, symbols[i]))
			symbols[i] = mpk_span_str("?");
	}
	if (symbols)
		t->symbols = symbols;
}

void mpk_relax_set_extents(struct mpk_relax_typing *r, const struct mpk_relax_pairs *p,
			   struct mpk_type *t)
{
	int64_t *shape = mpk_relax_make_parts(r, p->count, sizeof *shape);
	struct mpk_span *symbols = mpk_relax_make_parts(r, p->count, sizeof *symbols);

	if (!shape || !symbols)
		return;
	for (size_t i = 0; i < p->count; i++)
		if (p->from == MPK_RELAX_EXTENTS_INPUT)
			input_extent(r, p, i, &shape[i], &symbols[i]);
		else
			value_extent(r, p, i, &shape[i], &symbols[i]);
	t->ranked = true;
	t->ndim = p->count;
	t->shape = shape;
	t->symbols = symbols;
}

/* A rank without extents. */
void mpk_relax_set_rank(struct mpk_relax_typing *r, int64_t ndim, struct mpk_type *t)
{
	struct mpk_relax_instr none = { .op = MPK_RELAX_CALL };
	struct mpk_relax_pairs p = { .instr = &none,
				     .count = (size_t)ndim,
				     .from = MPK_RELAX_EXTENTS_MADE };

	if (ndim >= 0 && ndim <= MPK_RELAX_TYPING_DIMENSIONS && !t->ranked)
		mpk_relax_set_extents(r, &p, t);
}

/* --- what texts add ------------------------------------------------------------------------ */

struct mpk_type mpk_relax_refine(struct mpk_relax_typing *r, const struct mpk_type *t,
				 const struct mpk_type *told)
{
	struct mpk_type better = *t;
	struct mpk_param *fields;

	if (t->kind == MPK_TYPE_ANY)
		return *told;
	if (t->kind != told->kind || t->field_count != told->field_count ||
	    (t->ranked && (!told->ranked || t->ndim != told->ndim)))
		return better;
	for (size_t i = 0; i < t->ndim; i++)
		if (!mpk_type_symbol(t, i).len && !mpk_relax_same_extent(t, told, i))
			return better; /* they are at odds: code is right */
	if (!t->device)
		better.device = told->device;
	if (told->ranked) {
		better.ranked = true;
		better.ndim = told->ndim;
		better.shape = told->shape;
		better.symbols = told->symbols;
	}
	if (!t->field_count)
		return better;
	fields = mpk_relax_make_parts(r, t->field_count, sizeof *fields);
	if (!fields)
		return better;
	for (size_t i = 0; i < t->field_count; i++)
		fields[i].type = mpk_relax_refine(r, &t->fields[i].type, &told->fields[i].type);
	better.fields = fields;
	return better;
}
