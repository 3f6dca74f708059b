/* SPDX-License-Identifier: Apache-2.0 */
/* path.c - objects of a path: what is allocated and freed while byte code is followed
 *
 * A storage whose size is not known is as large as the tensors that are put into it, which is how the compiler computed
 * it. Extents that nothing computed come from the texts of checks.
 */
#include <string.h>

#include "base/vec.h"
#include "program/internal/path.h"

void *mpk_path_parts(struct mpk_path *r, size_t count, size_t size)
{
	void *parts = NULL;

	if (count < r->parts) {
		r->parts -= count + 1;
		parts = mpk_arena_array(r->arena, count + 1, size);
		r->nomem |= !parts;
	} else {
		r->steps = 0; /* ends the path as too many steps do */
	}
	return parts;
}

struct mpk_path_object *mpk_path_make(struct mpk_path *r, enum mpk_path_object_kind kind)
{
	struct mpk_path_object *o = mpk_path_parts(r, 1, sizeof *o);

	if (o) {
		o->kind = kind;
		o->refs = 1;
	}
	return o;
}

/* Tuples nest as deep as byte code makes them: what is released is kept in a list, not on the stack. */
void mpk_path_drop(struct mpk_path *r, struct mpk_path_value v)
{
	struct mpk_path_object *list = NULL;

	if (v.kind != MPK_PATH_OBJECT || --v.object->refs)
		return;
	/* no object of a list has memory in use any more, so that its member links it */
	v.object->refs = 0;
	for (struct mpk_path_object *o = v.object, *next; o; o = next) {
		struct mpk_path_object *memory = o->memory;

		if (o->kind == MPK_PATH_STORAGE)
			r->nomem |= !mpk_timeline_free(r->timeline, o->storage);
		o->memory = NULL;
		if (memory && !--memory->refs) {
			memory->memory = list;
			list = memory;
		}
		for (size_t i = 0; i < o->item_count; i++) {
			struct mpk_path_value *item = &o->items[i];

			if (item->kind == MPK_PATH_OBJECT && !--item->object->refs) {
				/* a tensor's own storage is released with it */
				if (item->object->memory && !--item->object->memory->refs) {
					item->object->memory->memory = list;
					list = item->object->memory;
				}
				item->object->memory = list;
				list = item->object;
			}
			item->kind = MPK_PATH_NONE;
		}
		next = list;
		if (next) {
			list = next->memory;
			next->memory = NULL;
		}
	}
}

bool mpk_path_tensor_bytes(const struct mpk_path_object *t, uint64_t *out)
{
	uint64_t bytes = mpk_dtype_bytes(t->dtype);

	if (!t->extents || !t->dtype.bits)
		return false;
	for (size_t i = 0; i < t->extent_count; i++)
		if (!t->extents[i].known || t->extents[i].value < 0 ||
		    __builtin_mul_overflow(bytes, (uint64_t)t->extents[i].value, &bytes))
			return false;
	*out = bytes;
	return true;
}

struct mpk_path_object *mpk_path_make_tensor(struct mpk_path *r, const struct mpk_path_object *like,
					     struct mpk_dtype dtype)
{
	struct mpk_path_object *t = mpk_path_make(r, MPK_PATH_TENSOR);

	if (!t)
		return NULL;
	t->dtype = dtype;
	if (like) {
		t->extents = like->extents; /* final, once made */
		t->extent_count = like->extent_count;
	}
	return t;
}

/* A type for whoever prints it; an extent that is not known is "?". */
static struct mpk_type type_of(struct mpk_path *r, const struct mpk_path_object *t)
{
	struct mpk_type type = { .kind = MPK_TYPE_TENSOR, .dtype = t->dtype };
	int64_t *shape;
	struct mpk_span *symbols;

	if (!t->extents)
		return type;
	shape = mpk_path_parts(r, t->extent_count, sizeof *shape);
	symbols = mpk_path_parts(r, t->extent_count, sizeof *symbols);
	if (!shape || !symbols)
		return type;
	for (size_t i = 0; i < t->extent_count; i++) {
		shape[i] = t->extents[i].value;
		if (!t->extents[i].known)
			symbols[i] = mpk_span_str("?");
	}
	return (struct mpk_type){ .kind = MPK_TYPE_TENSOR,
				  .dtype = t->dtype,
				  .ranked = true,
				  .ndim = t->extent_count,
				  .shape = shape,
				  .symbols = symbols };
}

struct mpk_path_object *mpk_path_make_storage(struct mpk_path *r, uint64_t bytes, bool sized,
					      int64_t device, enum mpk_memory_kind kind)
{
	const struct mpk_memory_storage s = { .bytes = bytes, .kind = kind, .device = device };
	struct mpk_path_object *o = mpk_path_make(r, MPK_PATH_STORAGE);

	if (!o)
		return NULL;
	o->sized = sized;
	if (!mpk_timeline_alloc(r->timeline, &s, &o->storage)) {
		r->nomem = true;
		return NULL;
	}
	return o;
}

void mpk_path_put_tensor(struct mpk_path *r, struct mpk_path_object *t,
			 struct mpk_path_object *memory, uint64_t offset)
{
	struct mpk_memory_storage *s = &r->timeline->storages[memory->storage];
	uint64_t bytes = 0;
	bool known = mpk_path_tensor_bytes(t, &bytes);

	t->memory = memory;
	memory->refs++;
	if (!s->tensor_count++)
		s->type = type_of(r, t);
	if (memory->sized)
		return;
	if (!known || __builtin_add_overflow(bytes, offset, &bytes)) {
		if (!s->at_least)
			mpk_path_note_unknown(r, "an extent that compiled code computes");
		s->at_least = true;
	} else if (bytes > s->bytes) {
		s->bytes = bytes;
	}
}

struct mpk_path_value mpk_path_new_tensor(struct mpk_path *r, const struct mpk_path_object *like,
					  struct mpk_dtype dtype, int64_t device,
					  enum mpk_memory_kind kind)
{
	struct mpk_path_object *t = mpk_path_make_tensor(r, like, dtype);
	struct mpk_path_object *memory =
		t ? mpk_path_make_storage(r, 0, false, device, kind) : NULL;

	if (!memory)
		return (struct mpk_path_value){ .kind = MPK_PATH_UNKNOWN };
	mpk_path_put_tensor(r, t, memory, 0);
	memory->refs--; /* the tensor alone has it */
	return mpk_path_value_of(t);
}

/* --- what texts say of extents ------------------------------------------------------------------- */

void mpk_path_read_texts(struct mpk_path *r, size_t func)
{
	const struct mpk_relax_func *f = &r->x->funcs[func];
	struct mpk_relax_instr instr;

	r->texts[func] = mpk_path_parts(r, 1, sizeof *r->texts[func]);
	for (int64_t at = f->start; at < f->end && r->texts[func]; at++) {
		const struct mpk_relax_const *last;
		struct mpk_relax_annotation a;
		struct mpk_relax_arg arg;

		if (mpk_relax_instr(r->x, (size_t)at, &instr, NULL) != MPK_OK ||
		    instr.op != MPK_RELAX_CALL || instr.arg_count < 4 ||
		    !mpk_span_is(r->x->funcs[instr.func].name, "vm.builtin.match_shape"))
			continue;
		arg = mpk_relax_arg(&instr, instr.arg_count - 1);
		if (arg.kind != MPK_RELAX_ARG_CONST)
			continue;
		last = &r->x->consts[arg.value];
		if (last->kind != MPK_RELAX_STRING ||
		    !mpk_relax_annotation_read(last->u.string, r->arena, &a) || !a.type.symbols ||
		    a.type.ndim != (instr.arg_count - 4) / 2)
			continue;
		for (size_t i = 0; i < a.type.ndim; i++) {
			struct mpk_relax_arg code = mpk_relax_arg(&instr, 3 + 2 * i);
			struct mpk_relax_arg slot = mpk_relax_arg(&instr, 4 + 2 * i);
			struct mpk_span *grown;

			/* 1 stores into a slot, 3 compares with one */
			if ((code.value != 1 && code.value != 3) || slot.value < 0 ||
			    slot.value >= MPK_PATH_HEAP_MAX || !a.type.symbols[i].len)
				continue;
			if ((uint64_t)slot.value >= r->text_counts[func]) {
				grown = mpk_path_parts(r, (size_t)slot.value + 1, sizeof *grown);
				if (!grown)
					return;
				memcpy(grown, r->texts[func], r->text_counts[func] * sizeof *grown);
				r->texts[func] = grown;
				r->text_counts[func] = (size_t)slot.value + 1;
			}
			if (!r->texts[func][slot.value].len)
				r->texts[func][slot.value] = a.type.symbols[i];
		}
	}
}

/* A slot that nothing set, by the expression that a text has for it, in names of slots that are set. */
static struct mpk_path_extent slot_by_text(struct mpk_path *r, const struct mpk_path_object *heap,
					   size_t slot)
{
	struct mpk_extent_value *names;
	struct mpk_extent_values values = { 0 };
	struct mpk_path_extent e = { 0 };

	if (!heap->texts || !heap->texts[slot].len)
		return e;
	names = mpk_path_parts(r, heap->extent_count, sizeof *names);
	if (!names)
		return e;
	for (size_t i = 0; i < heap->extent_count; i++)
		if (heap->extents[i].known && heap->texts[i].len &&
		    mpk_extent_is_name(heap->texts[i]))
			names[values.count++] =
				(struct mpk_extent_value){ heap->texts[i], heap->extents[i].value };
	values.items = names;
	e.known = mpk_extent_compute(heap->texts[slot], &values, &e.value);
	return e;
}

struct mpk_path_extent mpk_path_read_slot(struct mpk_path *r, const struct mpk_path_value *v,
					  int64_t slot)
{
	const struct mpk_path_object *heap = mpk_path_object_of(v, MPK_PATH_HEAP);

	if (!heap || slot < 0 || (uint64_t)slot >= heap->extent_count)
		return (struct mpk_path_extent){ 0 };
	if (!heap->extents[slot].known)
		heap->extents[slot] = slot_by_text(r, heap, (size_t)slot);
	return heap->extents[slot];
}

/* --- what a call is given --- */

static void add_name(struct mpk_path_names *n, const struct mpk_memory_ask *ask,
		     struct mpk_span name)
{
	struct mpk_extent_value made = { name, 1 };
	bool is_given = false;
	size_t at;

	for (size_t i = 0; i < n->count; i++)
		if (mpk_span_equal(n->items[i].name, name))
			return;
	for (size_t i = 0; i < ask->extent_count; i++)
		if (mpk_span_equal(ask->extents[i].name, name)) {
			made.value = ask->extents[i].value;
			is_given = true;
		}
	if (!MPK_VEC_ROOM(n->items, n->count, n->cap)) {
		n->nomem = true;
		return;
	}
	at = is_given ? n->given++ : n->count;
	memmove(n->items + at + 1, n->items + at, (n->count - at) * sizeof *n->items);
	n->items[at] = made;
	n->count++;
}

void mpk_path_take_names(struct mpk_path_names *n, const struct mpk_memory_ask *ask,
			 const struct mpk_type *t, struct mpk_span name, unsigned depth)
{
	if (t->kind == MPK_TYPE_SCALAR && t->dtype.code == MPK_DTYPE_INT && name.len)
		add_name(n, ask, name);
	for (size_t i = 0; t->ranked && i < t->ndim; i++) {
		struct mpk_span s = mpk_type_symbol(t, i);

		if (s.len && mpk_extent_is_name(s) && !mpk_span_is(s, "_"))
			add_name(n, ask, s);
	}
	for (size_t i = 0; i < t->field_count && depth < 16; i++)
		mpk_path_take_names(n, ask, &t->fields[i].type, t->fields[i].name, depth + 1);
}

struct mpk_path_value mpk_path_make_input(struct mpk_path *r, const struct mpk_type *t,
					  struct mpk_span name,
					  const struct mpk_extent_values *values, uint64_t *bytes,
					  unsigned depth)
{
	struct mpk_path_value number = { .kind = MPK_PATH_INT };
	struct mpk_path_object *o;
	uint64_t own;

	if (t->kind == MPK_TYPE_SCALAR && t->dtype.code == MPK_DTYPE_INT) {
		for (size_t i = 0; i < values->count; i++)
			if (mpk_span_equal(values->items[i].name, name))
				number.number =
					(struct mpk_path_extent){ values->items[i].value, true };
		return number;
	}

	if (t->kind == MPK_TYPE_TUPLE && depth < 16) {
		o = mpk_path_make(r, MPK_PATH_TUPLE);
		if (!o)
			return mpk_path_value_of(NULL);
		o->items = mpk_path_parts(r, t->field_count, sizeof *o->items);
		o->item_count = o->items ? t->field_count : 0;
		for (size_t i = 0; i < o->item_count; i++)
			o->items[i] = mpk_path_make_input(r, &t->fields[i].type, t->fields[i].name,
							  values, bytes, depth + 1);
		return mpk_path_value_of(o);
	}
	if (t->kind != MPK_TYPE_TENSOR && t->kind != MPK_TYPE_SHAPE)
		return (struct mpk_path_value){ .kind = MPK_PATH_UNKNOWN };
	o = mpk_path_make(r, t->kind == MPK_TYPE_TENSOR ? MPK_PATH_TENSOR : MPK_PATH_SHAPE);
	if (!o)
		return mpk_path_value_of(NULL);
	o->dtype = t->dtype;
	if (t->ranked) {
		o->extents = mpk_path_parts(r, t->ndim, sizeof *o->extents);
		o->extent_count = o->extents ? t->ndim : 0;
	}
	for (size_t i = 0; i < o->extent_count; i++) {
		struct mpk_span s = mpk_type_symbol(t, i);

		o->extents[i] = (struct mpk_path_extent){ t->shape[i], true };
		if (s.len)
			o->extents[i].known = mpk_extent_compute(s, values, &o->extents[i].value);
	}
	if (t->kind == MPK_TYPE_TENSOR) {
		if (!mpk_path_tensor_bytes(o, &own))
			mpk_path_note_unknown(r, "an input whose extents the code does not tell");
		else
			r->too_large |= __builtin_add_overflow(*bytes, own, bytes);
	}
	return mpk_path_value_of(o);
}
