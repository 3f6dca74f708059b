/* SPDX-License-Identifier: Apache-2.0 */
/* relax_memory.c - byte code of the Relax VM followed with extents in place of tensors
 *
 * Every function is run with what a call would be given, but a tensor is here a shape, a type and the storage in which
 * it lies. Builtins that check, make shapes, allocate and release do what they do in a machine; a kernel is a step and
 * computes nothing. References are counted as a machine counts them, so that a storage is freed where it would be.
 *
 * Extents that are not in the code come from functions that the compiler made out of arithmetic ("shape_func"): they
 * are asked for, and where nobody answers, the texts of checks say what some of them are. A storage whose size is not
 * known is as large as the tensors that are put into it, which is how the compiler computed it.
 *
 * Where data decides, every way is followed, up to a limit, and the one that takes most memory is reported.
 */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "program/internal/memory.h"
#include "program/internal/program.h"
#include "text/escape.h"

enum {
	STEPS_MAX = 1 << 20, /* instructions that are followed in one model, and ... */
	STEPS_EACH =
		64, /* ... so often each: functions call others, and data chooses between paths */
	PARTS_MAX = 1 << 19, /* objects and extents of one path, and ... */
	PARTS_EACH = 8,      /* ... of each instruction */
	DEPTH_MAX = 64,      /* calls within calls: loops are compiled to recursion */
	FORKS_MAX = 6,       /* conditions of one path whose both sides are followed */
	HEAP_MAX = 1 << 16,  /* extents of one heap */
	ARGUMENTS_FEW = 32,  /* more are rare */
};

struct extent {
	int64_t value;
	bool known;
};

enum value_kind {
	VALUE_NONE,
	VALUE_UNKNOWN, /* something of which nothing is known */
	VALUE_INT,
	VALUE_CONST, /* index: of a constant that is no tensor, shape or integer */
	VALUE_FUNC,  /* index: of a function */
	VALUE_OBJECT,
};

struct value {
	enum value_kind kind;
	struct extent number;
	size_t index;
	struct object *object;
};

enum object_kind {
	OBJECT_TENSOR,
	OBJECT_SHAPE,
	OBJECT_STORAGE,
	OBJECT_TUPLE,
	OBJECT_CLOSURE, /* items: a function and what it captured */
	OBJECT_HEAP,
	OBJECT_STATE, /* items: its storages */
};

/* In the arena of the function that is followed: references say when memory is freed, not when the object is. */
struct object {
	enum object_kind kind;
	size_t refs;
	struct mpk_dtype dtype; /* tensor */
	struct object *memory;  /* tensor: the storage; NULL: the caller's, a constant's */
	const struct mpk_tensor_record *constant;
	struct extent *extents; /* tensor, shape, heap; NULL: not even how many is known */
	size_t extent_count;
	struct value *items; /* tuple, closure, state */
	size_t item_count;
	size_t storage; /* in the timeline */
	bool sized;     /* storage: its size is known, else it is as large as what is put into it */
	const struct mpk_span *texts; /* heap: what is known of slots, of extent_count */
};

/* One path through a function. */
struct run {
	const struct mpk_relax *x;
	const struct mpk_memory_ask *ask;
	struct mpk_arena *arena; /* of this path */
	struct mpk_timeline *timeline;
	struct mpk_span **
		texts; /* of each function, what its checks call the slots of its heap; NULL: not read */
	size_t *text_counts;
	struct object **constants; /* of each constant, once it was used; else NULL */
	uint64_t steps, parts;     /* that are left */
	uint64_t path;             /* bit i: which side of condition i is gone */
	size_t forks;              /* conditions so far */
	size_t unknown;
	const char *why;
	bool nomem, too_large;
};

static void note_unknown(struct run *r, const char *why)
{
	r->unknown++;
	if (!r->why)
		r->why = why;
}

/* --- objects ----------------------------------------------------------------------------------- */

static void *make_parts(struct run *r, size_t count, size_t size)
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

static struct object *make_object(struct run *r, enum object_kind kind)
{
	struct object *o = make_parts(r, 1, sizeof *o);

	if (o) {
		o->kind = kind;
		o->refs = 1;
	}
	return o;
}

static struct value value_of(struct object *o)
{
	return (struct value){ .kind = o ? VALUE_OBJECT : VALUE_UNKNOWN, .object = o };
}

static struct value hold(struct value v)
{
	if (v.kind == VALUE_OBJECT)
		v.object->refs++;
	return v;
}

/* Tuples nest as deep as byte code makes them: what is released is kept in a list, not on the stack. */
static void drop(struct run *r, struct value v)
{
	struct object *list = NULL;

	if (v.kind != VALUE_OBJECT || --v.object->refs)
		return;
	/* no object of a list has memory in use any more, so that its member links it */
	v.object->refs = 0;
	for (struct object *o = v.object, *next; o; o = next) {
		struct object *memory = o->memory;

		if (o->kind == OBJECT_STORAGE)
			r->nomem |= !mpk_timeline_free(r->timeline, o->storage);
		o->memory = NULL;
		if (memory && !--memory->refs) {
			memory->memory = list;
			list = memory;
		}
		for (size_t i = 0; i < o->item_count; i++) {
			struct value *item = &o->items[i];

			if (item->kind == VALUE_OBJECT && !--item->object->refs) {
				/* a tensor's own storage is released with it */
				if (item->object->memory && !--item->object->memory->refs) {
					item->object->memory->memory = list;
					list = item->object->memory;
				}
				item->object->memory = list;
				list = item->object;
			}
			item->kind = VALUE_NONE;
		}
		next = list;
		if (next) {
			list = next->memory;
			next->memory = NULL;
		}
	}
}

static const struct object *object_of(const struct value *v, enum object_kind kind)
{
	return v->kind == VALUE_OBJECT && v->object->kind == kind ? v->object : NULL;
}

/* Of a tensor whose extents are all known. */
static bool tensor_bytes(const struct object *t, uint64_t *out)
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

static struct object *make_tensor(struct run *r, const struct object *like, struct mpk_dtype dtype)
{
	struct object *t = make_object(r, OBJECT_TENSOR);

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
static struct mpk_type type_of(struct run *r, const struct object *t)
{
	struct mpk_type type = { .kind = MPK_TYPE_TENSOR, .dtype = t->dtype };
	int64_t *shape;
	struct mpk_span *symbols;

	if (!t->extents)
		return type;
	shape = make_parts(r, t->extent_count, sizeof *shape);
	symbols = make_parts(r, t->extent_count, sizeof *symbols);
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

static struct object *make_storage(struct run *r, uint64_t bytes, bool sized, int64_t device,
				   enum mpk_memory_kind kind)
{
	const struct mpk_memory_storage s = { .bytes = bytes, .kind = kind, .device = device };
	struct object *o = make_object(r, OBJECT_STORAGE);

	if (!o)
		return NULL;
	o->sized = sized;
	if (!mpk_timeline_alloc(r->timeline, &s, &o->storage)) {
		r->nomem = true;
		return NULL;
	}
	return o;
}

/* A tensor at a byte of a storage. */
static void put_tensor(struct run *r, struct object *t, struct object *memory, uint64_t offset)
{
	struct mpk_memory_storage *s = &r->timeline->storages[memory->storage];
	uint64_t bytes = 0;
	bool known = tensor_bytes(t, &bytes);

	t->memory = memory;
	memory->refs++;
	if (!s->tensor_count++)
		s->type = type_of(r, t);
	if (memory->sized)
		return;
	if (!known || __builtin_add_overflow(bytes, offset, &bytes)) {
		if (!s->at_least)
			note_unknown(r, "an extent that compiled code computes");
		s->at_least = true;
	} else if (bytes > s->bytes) {
		s->bytes = bytes;
	}
}

/* A tensor with memory of its own. */
static struct value new_tensor(struct run *r, const struct object *like, struct mpk_dtype dtype,
			       int64_t device, enum mpk_memory_kind kind)
{
	struct object *t = make_tensor(r, like, dtype);
	struct object *memory = t ? make_storage(r, 0, false, device, kind) : NULL;

	if (!memory)
		return (struct value){ .kind = VALUE_UNKNOWN };
	put_tensor(r, t, memory, 0);
	memory->refs--; /* the tensor alone has it */
	return value_of(t);
}

/* --- what texts say of extents ------------------------------------------------------------------- */

/* Texts of checks of one function: they call extents by names and expressions that match_shape compares with slots. */
static void read_texts(struct run *r, size_t func)
{
	const struct mpk_relax_func *f = &r->x->funcs[func];
	struct mpk_relax_instr instr;

	r->texts[func] = make_parts(r, 1, sizeof *r->texts[func]);
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
			    slot.value >= HEAP_MAX || !a.type.symbols[i].len)
				continue;
			if ((uint64_t)slot.value >= r->text_counts[func]) {
				grown = make_parts(r, (size_t)slot.value + 1, sizeof *grown);
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
static struct extent slot_by_text(struct run *r, const struct object *heap, size_t slot)
{
	struct mpk_extent_value *names;
	struct mpk_extent_values values = { 0 };
	struct extent e = { 0 };

	if (!heap->texts || !heap->texts[slot].len)
		return e;
	names = make_parts(r, heap->extent_count, sizeof *names);
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

static struct extent read_slot(struct run *r, const struct value *v, int64_t slot)
{
	const struct object *heap = object_of(v, OBJECT_HEAP);

	if (!heap || slot < 0 || (uint64_t)slot >= heap->extent_count)
		return (struct extent){ 0 };
	if (!heap->extents[slot].known)
		heap->extents[slot] = slot_by_text(r, heap, (size_t)slot);
	return heap->extents[slot];
}

/* --- operands -------------------------------------------------------------------------------------- */

struct frame {
	struct value *registers;
	size_t count;
	size_t func;
};

static struct value constant_of(struct run *r, size_t index)
{
	const struct mpk_relax_const *c = &r->x->consts[index];
	struct object *o = r->constants[index];

	if (o)
		return hold(value_of(o));
	switch (c->kind) {
	case MPK_RELAX_INT:
		return (struct value){ .kind = VALUE_INT, .number = { c->u.i, true } };
	case MPK_RELAX_TENSOR:
		o = make_object(r, OBJECT_TENSOR);
		if (!o)
			break;
		o->dtype = c->u.tensor.dtype;
		o->constant = &c->u.tensor;
		o->extents = make_parts(r, c->u.tensor.ndim, sizeof *o->extents);
		o->extent_count = o->extents ? c->u.tensor.ndim : 0;
		for (size_t i = 0; i < o->extent_count; i++)
			o->extents[i] = (struct extent){ c->u.tensor.shape[i], true };
		break;
	case MPK_RELAX_SHAPE:
		o = make_object(r, OBJECT_SHAPE);
		if (!o)
			break;
		o->extents = make_parts(r, c->u.shape.len / 8, sizeof *o->extents);
		o->extent_count = o->extents ? c->u.shape.len / 8 : 0;
		for (size_t i = 0; i < o->extent_count; i++)
			o->extents[i] =
				(struct extent){ (int64_t)mpk_load_u64(c->u.shape.data + 8 * i),
						 true };
		break;
	case MPK_RELAX_DTYPE:
	case MPK_RELAX_STRING:
	case MPK_RELAX_FLOAT:
	case MPK_RELAX_CONST_KINDS:
		return (struct value){ .kind = VALUE_CONST, .index = index };
	}
	r->constants[index] = o;
	return o ? hold(value_of(o)) : value_of(NULL);
}

/* A value that the caller owns. */
static struct value operand(struct run *r, const struct frame *f,
			    const struct mpk_relax_instr *instr, size_t i)
{
	struct mpk_relax_arg arg;

	if (i >= instr->arg_count)
		return (struct value){ 0 };
	arg = mpk_relax_arg(instr, i);
	switch ((enum mpk_relax_arg_kind)arg.kind) {
	case MPK_RELAX_ARG_REG:
		return arg.value >= 0 && (uint64_t)arg.value < f->count
			       ? hold(f->registers[arg.value])
			       : (struct value){ 0 };
	case MPK_RELAX_ARG_INT:
		return (struct value){ .kind = VALUE_INT, .number = { arg.value, true } };
	case MPK_RELAX_ARG_CONST:
		return constant_of(r, (size_t)arg.value);
	case MPK_RELAX_ARG_FUNC:
		return (struct value){ .kind = VALUE_FUNC, .index = (size_t)arg.value };
	}
	return (struct value){ 0 };
}

/* A call: its arguments, each of which it owns. */
struct call {
	const struct mpk_relax_instr *instr;
	struct mpk_span name;
	struct value *args;
	size_t count;
	struct frame *frame;
	unsigned depth;
	int64_t at;
};

static bool int_at(const struct call *c, size_t i, int64_t *out)
{
	if (i >= c->count || c->args[i].kind != VALUE_INT || !c->args[i].number.known)
		return false;
	*out = c->args[i].number.value;
	return true;
}

static struct mpk_dtype dtype_at(const struct run *r, const struct call *c, size_t i)
{
	if (i < c->count && c->args[i].kind == VALUE_CONST &&
	    r->x->consts[c->args[i].index].kind == MPK_RELAX_DTYPE)
		return r->x->consts[c->args[i].index].u.dtype;
	return (struct mpk_dtype){ 0 };
}

/* --- builtins: extents -------------------------------------------------------------------------------- */

static struct value alloc_shape_heap(struct run *r, struct call *c)
{
	struct object *heap;
	int64_t slots;
	size_t func = c->frame->func;

	if (!int_at(c, 1, &slots) || slots < 0 || slots > HEAP_MAX)
		return (struct value){ .kind = VALUE_UNKNOWN };
	if (!r->texts[func])
		read_texts(r, func);
	heap = make_object(r, OBJECT_HEAP);
	if (!heap)
		return (struct value){ .kind = VALUE_UNKNOWN };
	heap->extents = make_parts(r, (size_t)slots, sizeof *heap->extents);
	heap->extent_count = heap->extents ? (size_t)slots : 0;
	heap->texts = make_parts(r, (size_t)slots, sizeof *heap->texts);
	if (heap->texts && r->texts[func])
		memcpy((void *)(uintptr_t)heap->texts, r->texts[func],
		       (r->text_counts[func] < (size_t)slots ? r->text_counts[func]
							     : (size_t)slots) *
			       sizeof *heap->texts);
	return value_of(heap);
}

static void match_extent(struct run *r, struct call *c, size_t at, struct extent e)
{
	const struct object *heap = object_of(&c->args[1], OBJECT_HEAP);
	int64_t code, slot;

	if (!heap || !int_at(c, at, &code) || !int_at(c, at + 1, &slot) || slot < 0 ||
	    (uint64_t)slot >= heap->extent_count)
		return;
	/* what is compared is equal where the call goes on */
	if (code == 1 || (code == 3 && e.known && !read_slot(r, &c->args[1], slot).known))
		heap->extents[slot] = e;
}

static struct value match_shape(struct run *r, struct call *c)
{
	const struct object *o = c->count ? object_of(&c->args[0], OBJECT_TENSOR) : NULL;

	if (!o && c->count)
		o = object_of(&c->args[0], OBJECT_SHAPE);
	for (size_t i = 0; c->count >= 4 && i < (c->count - 4) / 2; i++)
		match_extent(r, c, 3 + 2 * i,
			     o && o->extents && i < o->extent_count ? o->extents[i]
								    : (struct extent){ 0 });
	return (struct value){ 0 };
}

static struct value match_prim_value(struct run *r, struct call *c)
{
	if (c->count >= 4 && c->args[0].kind == VALUE_INT)
		match_extent(r, c, 2, c->args[0].number);
	return (struct value){ 0 };
}

static struct extent made_extent(struct run *r, struct call *c, size_t at)
{
	int64_t code, number;

	if (!int_at(c, at, &code) || !int_at(c, at + 1, &number))
		return (struct extent){ 0 };
	return code ? read_slot(r, &c->args[0], number) : (struct extent){ number, true };
}

static struct value make_shape(struct run *r, struct call *c)
{
	struct object *o = make_object(r, OBJECT_SHAPE);
	int64_t count;

	if (!o || !int_at(c, 1, &count) || count < 0 || (uint64_t)count > (c->count - 2) / 2)
		return (struct value){ .kind = VALUE_UNKNOWN };
	o->extents = make_parts(r, (size_t)count, sizeof *o->extents);
	o->extent_count = o->extents ? (size_t)count : 0;
	for (size_t i = 0; i < o->extent_count; i++)
		o->extents[i] = made_extent(r, c, 2 + 2 * i);
	return value_of(o);
}

static struct value make_prim_value(struct run *r, struct call *c)
{
	return (struct value){ .kind = VALUE_INT,
			       .number = c->count >= 3 ? made_extent(r, c, 1)
						       : (struct extent){ 0 } };
}

static struct value shape_of(struct run *r, struct call *c)
{
	const struct object *t = c->count ? object_of(&c->args[0], OBJECT_TENSOR) : NULL;
	struct object *o = t ? make_object(r, OBJECT_SHAPE) : NULL;

	if (!o)
		return (struct value){ .kind = VALUE_UNKNOWN };
	o->extents = t->extents;
	o->extent_count = t->extent_count;
	return value_of(o);
}

/* The content of a constant is known; of any other tensor it is data. */
static struct value tensor_to_shape(struct run *r, struct call *c)
{
	const struct object *t = c->count ? object_of(&c->args[0], OBJECT_TENSOR) : NULL;
	struct object *o = make_object(r, OBJECT_SHAPE);

	if (!o || !t || !t->constant || t->constant->ndim != 1 ||
	    t->constant->data.len != 8 * (uint64_t)t->constant->shape[0])
		return value_of(o);
	o->extents = make_parts(r, (size_t)t->constant->shape[0], sizeof *o->extents);
	o->extent_count = o->extents ? (size_t)t->constant->shape[0] : 0;
	for (size_t i = 0; i < o->extent_count; i++)
		o->extents[i] =
			(struct extent){ (int64_t)mpk_load_u64(t->constant->data.data + 8 * i),
					 true };
	return value_of(o);
}

/* --- builtins: memory ---------------------------------------------------------------------------------- */

static struct value alloc_storage(struct run *r, struct call *c)
{
	const struct object *shape = c->count > 1 ? object_of(&c->args[1], OBJECT_SHAPE) : NULL;
	struct object t = { .dtype = dtype_at(r, c, 3) };
	uint64_t bytes = 0;
	int64_t device = 0;
	bool sized;

	if (shape) {
		t.extents = shape->extents;
		t.extent_count = shape->extent_count;
	}
	(void)int_at(c, 2, &device);
	sized = tensor_bytes(&t, &bytes);
	return value_of(make_storage(r, bytes, sized, device, MPK_MEMORY_SCRATCH));
}

static struct value alloc_tensor(struct run *r, struct call *c)
{
	struct object *t = make_tensor(
		r, c->count > 2 ? object_of(&c->args[2], OBJECT_SHAPE) : NULL, dtype_at(r, c, 3));
	const struct object *memory = c->count ? object_of(&c->args[0], OBJECT_STORAGE) : NULL;
	int64_t offset = 0;

	(void)int_at(c, 1, &offset);
	if (t && memory && offset >= 0)
		put_tensor(r, t, c->args[0].object, (uint64_t)offset);
	return value_of(t);
}

/* A tensor over the same memory, of another shape and perhaps type. */
static struct value view(struct run *r, struct call *c, size_t shape, struct mpk_dtype dtype)
{
	const struct object *from = c->count ? object_of(&c->args[0], OBJECT_TENSOR) : NULL;
	struct object *t =
		from ? make_tensor(r,
				   c->count > shape ? object_of(&c->args[shape], OBJECT_SHAPE)
						    : NULL,
				   dtype.bits ? dtype : from->dtype)
		     : NULL;

	if (t && from->memory) {
		t->memory = from->memory;
		t->memory->refs++;
	}
	return value_of(t);
}

static struct value reshape(struct run *r, struct call *c)
{
	return view(r, c, 1, (struct mpk_dtype){ 0 });
}

static struct value create_view(struct run *r, struct call *c)
{
	return view(r, c, 1, dtype_at(r, c, 2));
}

static struct value same_value(struct run *r, struct call *c)
{
	(void)r;
	return c->count ? hold(c->args[0]) : (struct value){ 0 };
}

static struct value no_value(struct run *r, struct call *c)
{
	(void)r;
	(void)c;
	return (struct value){ 0 };
}

static struct value to_device(struct run *r, struct call *c)
{
	const struct object *t = c->count ? object_of(&c->args[0], OBJECT_TENSOR) : NULL;

	if (!t)
		return (struct value){ .kind = VALUE_UNKNOWN };
	return new_tensor(r, t, t->dtype, 0, MPK_MEMORY_SCRATCH);
}

static struct value make_tuple(struct run *r, struct call *c)
{
	struct object *o = make_object(r, OBJECT_TUPLE);

	if (!o)
		return (struct value){ .kind = VALUE_UNKNOWN };
	o->items = make_parts(r, c->count, sizeof *o->items);
	o->item_count = o->items ? c->count : 0;
	for (size_t i = 0; i < o->item_count; i++)
		o->items[i] = hold(c->args[i]);
	return value_of(o);
}

static struct value *item_at(struct call *c)
{
	struct object *o = c->count ? c->args[0].object : NULL;
	int64_t index;

	if (!c->count || !object_of(&c->args[0], OBJECT_TUPLE) || !int_at(c, 1, &index) ||
	    index < 0 || (uint64_t)index >= o->item_count)
		return NULL;
	return &o->items[index];
}

static struct value tuple_getitem(struct run *r, struct call *c)
{
	struct value *item = item_at(c);

	(void)r;
	return item ? hold(*item) : (struct value){ .kind = VALUE_UNKNOWN };
}

static struct value tuple_reset_item(struct run *r, struct call *c)
{
	struct value *item = item_at(c);

	if (item) {
		drop(r, *item);
		*item = (struct value){ 0 };
	}
	return (struct value){ 0 };
}

/* --- builtins: functions --------------------------------------------------------------------------------- */

static struct value call_function(struct run *r, size_t func, const struct value *args,
				  size_t count, unsigned depth);

/* A function of the table or a closure, with arguments that the caller keeps. */
static struct value call_value(struct run *r, const struct value *f, const struct value *args,
			       size_t count, unsigned depth)
{
	const struct object *closure = object_of(f, OBJECT_CLOSURE);
	struct value *all;

	if (f->kind == VALUE_FUNC && r->x->funcs[f->index].kind == MPK_RELAX_VM)
		return call_function(r, f->index, args, count, depth + 1);
	if (!closure || !closure->item_count || closure->items[0].kind != VALUE_FUNC) {
		note_unknown(r, "a function that is called by its value");
		return (struct value){ .kind = VALUE_UNKNOWN };
	}
	all = make_parts(r, count + closure->item_count, sizeof *all);
	if (!all)
		return (struct value){ .kind = VALUE_UNKNOWN };
	if (count)
		memcpy(all, args, count * sizeof *all);
	memcpy(all + count, closure->items + 1, (closure->item_count - 1) * sizeof *all);
	return call_value(r, &closure->items[0], all, count + closure->item_count - 1, depth);
}

static struct value make_closure(struct run *r, struct call *c)
{
	struct value made = make_tuple(r, c);

	if (made.kind == VALUE_OBJECT)
		made.object->kind = OBJECT_CLOSURE;
	return made;
}

/* invoke_closure(machine, closure, arguments...) */
static struct value invoke_closure(struct run *r, struct call *c)
{
	if (c->count < 2)
		return (struct value){ .kind = VALUE_UNKNOWN };
	return call_value(r, &c->args[1], c->args + 2, c->count - 2, c->depth);
}

/* run_or_capture(machine, function, tuple of arguments, ...) */
static struct value run_or_capture(struct run *r, struct call *c)
{
	const struct object *args = c->count > 2 ? object_of(&c->args[2], OBJECT_TUPLE) : NULL;

	if (!args)
		return (struct value){ .kind = VALUE_UNKNOWN };
	return call_value(r, &c->args[1], args->items, args->item_count, c->depth);
}

/* get_cached_alloc(machine, function, index): storages that the machine keeps for later calls */
static struct value get_cached_alloc(struct run *r, struct call *c)
{
	struct value made;

	if (c->count < 2)
		return (struct value){ .kind = VALUE_UNKNOWN };
	made = call_value(r, &c->args[1], NULL, 0, c->depth);
	return hold(made); /* and never drops it */
}

/* --- builtins: caches -------------------------------------------------------------------------------------- */

static bool extent_at(const struct call *c, size_t arg, size_t i, int64_t *out)
{
	const struct object *o = arg < c->count ? object_of(&c->args[arg], OBJECT_SHAPE) : NULL;

	if (!o || !o->extents || i >= o->extent_count || !o->extents[i].known)
		return false;
	*out = o->extents[i].value;
	return true;
}

static struct object *make_state(struct run *r, size_t storages)
{
	struct object *o = make_object(r, OBJECT_STATE);

	if (!o)
		return NULL;
	o->items = make_parts(r, storages, sizeof *o->items);
	return o->items ? o : NULL;
}

/* One tensor of a state, of count extents. */
static void add_to_state(struct run *r, struct object *state, struct mpk_dtype dtype,
			 const int64_t *shape, size_t ndim)
{
	struct object like = { .extents = make_parts(r, ndim, sizeof *like.extents),
			       .extent_count = ndim };

	for (size_t i = 0; like.extents && i < ndim; i++)
		like.extents[i] = (struct extent){ shape[i], true };
	state->items[state->item_count] = new_tensor(r, &like, dtype, 0, MPK_MEMORY_CACHE);
	state->item_count += state->items[state->item_count].kind == VALUE_OBJECT;
}

static struct value unknown_state(struct run *r, const char *why)
{
	note_unknown(r, why);
	return (struct value){ .kind = VALUE_UNKNOWN };
}

/* Pages of keys and values of each layer: as many as the tokens fill, one for what is not full, and two for each
 * sequence whose window slides (state/create.c, and relax_vm/paged_kv_cache.cc of apache/tvm). */
static struct value paged_cache_create(struct run *r, struct call *c)
{
	const struct object *init = c->count > 12 ? object_of(&c->args[12], OBJECT_TENSOR) : NULL;
	const struct object *kinds = c->count > 6 ? object_of(&c->args[6], OBJECT_SHAPE) : NULL;
	int64_t sequences, tokens, page, slides, first, end, heads, dim, pages;
	struct object *state;

	if (!init || !kinds || !extent_at(c, 0, 0, &sequences) || !extent_at(c, 0, 1, &tokens) ||
	    !extent_at(c, 0, 3, &page) || !extent_at(c, 0, 4, &slides) ||
	    !extent_at(c, 1, 0, &first) || !extent_at(c, 1, 1, &end) || !int_at(c, 3, &heads) ||
	    !int_at(c, 4, &dim) || page <= 0 || page > INT32_MAX || tokens < 0 ||
	    tokens > INT32_MAX || sequences < 0 || sequences > INT32_MAX || first < 0 ||
	    end < first || (uint64_t)end > kinds->extent_count)
		return unknown_state(r,
				     "a cache of keys and values whose sizes are not in the code");
	for (size_t i = 0; i < kinds->extent_count; i++)
		if (kinds->extents[i].value ==
		    3) /* windows of layers: sequences have none of their own */
			slides = 0;
	pages = (tokens + page - 1) / page + 1 + (slides ? 2 * sequences : 0);
	state = make_state(r, (size_t)(end - first));
	for (int64_t i = first; state && i < end; i++) {
		const int64_t both[] = { pages, 2, heads, page, dim };
		const int64_t latent[] = { pages, page, dim };

		if (kinds->extents[i].value == 1)
			add_to_state(r, state, init->dtype, latent, 3);
		else
			add_to_state(r, state, init->dtype, both, 5);
	}
	return value_of(state);
}

/* The older cache: one tensor of the shape that is asked for, which doubles when it is full. */
static struct value window_cache_create(struct run *r, struct call *c)
{
	const struct object *init = c->count ? object_of(&c->args[0], OBJECT_TENSOR) : NULL;
	const struct object *shape = c->count > 1 ? object_of(&c->args[1], OBJECT_SHAPE) : NULL;
	struct object *state = init && shape && shape->extents ? make_state(r, 1) : NULL;

	if (!state)
		return unknown_state(r, "a cache whose size is not in the code");
	state->items[0] = new_tensor(r, shape, init->dtype, 0, MPK_MEMORY_CACHE);
	state->item_count = 1;
	return value_of(state);
}

/* rnn_state_create(layers, sequences, history, gets, sets, inits) */
static struct value rnn_state_create(struct run *r, struct call *c)
{
	const struct object *inits = c->count > 5 ? object_of(&c->args[5], OBJECT_TUPLE) : NULL;
	int64_t layers, sequences, history;
	struct object *state;

	if (!inits || !int_at(c, 0, &layers) || !int_at(c, 1, &sequences) ||
	    !int_at(c, 2, &history) || layers < 0 || layers > HEAP_MAX)
		return unknown_state(r, "a recurrent state whose sizes are not in the code");
	state = make_state(r, (size_t)layers * inits->item_count);
	for (int64_t i = 0; state && i < layers; i++)
		for (size_t k = 0; k < inits->item_count; k++) {
			const struct object *init = object_of(&inits->items[k], OBJECT_TENSOR);
			int64_t *shape =
				init ? make_parts(r, init->extent_count + 2, sizeof *shape) : NULL;

			if (!shape)
				return unknown_state(
					r, "a recurrent state of values that are not known");
			shape[0] = sequences;
			shape[1] = history;
			for (size_t d = 0; d < init->extent_count; d++)
				shape[2 + d] = init->extents[d].value;
			add_to_state(r, state, init->dtype, shape, init->extent_count + 2);
		}
	return value_of(state);
}

/* --- by name -------------------------------------------------------------------------------------------------- */

typedef struct value builtin_fn(struct run *r, struct call *c);

/* The builtins that make or release memory and shapes; all others are steps. */
static const struct {
	const char *name;
	builtin_fn *call;
} builtins[] = {
	{ "vm.builtin.alloc_shape_heap", alloc_shape_heap },
	{ "vm.builtin.alloc_storage", alloc_storage },
	{ "vm.builtin.alloc_tensor", alloc_tensor },
	{ "vm.builtin.check_func_info", no_value },
	{ "vm.builtin.check_prim_value_info", no_value },
	{ "vm.builtin.check_shape_info", no_value },
	{ "vm.builtin.check_string_info", no_value },
	{ "vm.builtin.check_tensor_info", no_value },
	{ "vm.builtin.check_tuple_info", no_value },
	{ "vm.builtin.copy", same_value },
	{ "vm.builtin.cuda_graph.get_cached_alloc", get_cached_alloc },
	{ "vm.builtin.cuda_graph.run_or_capture", run_or_capture },
	{ "vm.builtin.ensure_zero_offset", same_value },
	{ "vm.builtin.invoke_closure", invoke_closure },
	{ "vm.builtin.make_closure", make_closure },
	{ "vm.builtin.make_prim_value", make_prim_value },
	{ "vm.builtin.make_shape", make_shape },
	{ "vm.builtin.make_tuple", make_tuple },
	{ "vm.builtin.match_prim_value", match_prim_value },
	{ "vm.builtin.match_shape", match_shape },
	{ "vm.builtin.memory_manager.clear", no_value },
	{ "vm.builtin.null_value", no_value },
	{ "vm.builtin.reshape", reshape },
	{ "vm.builtin.shape_of", shape_of },
	{ "vm.builtin.tensor_to_shape", tensor_to_shape },
	{ "vm.builtin.tuple_getitem", tuple_getitem },
	{ "vm.builtin.tuple_reset_item", tuple_reset_item },
	{ "runtime.TVMArrayCreateView", create_view },
	{ "runtime.TVMTensorCreateView", create_view },
};

/* Builtins that are steps, and make memory that is known. */
static const struct {
	const char *name;
	builtin_fn *call;
} makers[] = {
	{ "vm.builtin.attention_kv_cache_create", window_cache_create },
	{ "vm.builtin.paged_attention_kv_cache_create", paged_cache_create },
	{ "vm.builtin.rnn_state_create", rnn_state_create },
	{ "vm.builtin.to_device", to_device },
};

/* Builtins of states that return the state, which they change. */
static bool returns_its_state(struct mpk_span name)
{
	return mpk_span_is(name, "vm.builtin.attention_kv_cache_append") ||
	       mpk_span_is(name, "vm.builtin.attention_kv_cache_append_mla_kv") ||
	       mpk_span_is(name, "vm.builtin.attention_kv_cache_update") ||
	       mpk_span_is(name, "vm.builtin.attention_kv_cache_window_override") ||
	       mpk_span_is(name, "vm.builtin.attention_kv_cache_window_override_with_sinks") ||
	       mpk_span_is(name, "vm.builtin.rnn_state_set");
}

/* --- calls ------------------------------------------------------------------------------------------------------ */

/* Whether compiled code is given extents alone: it computes others. */
static const struct object *heap_of(const struct call *c)
{
	const struct object *heap = NULL;

	for (size_t i = 0; i < c->count; i++) {
		const struct object *o = object_of(&c->args[i], OBJECT_HEAP);

		if (!o && c->args[i].kind != VALUE_INT)
			return NULL;
		heap = o ? o : heap;
	}
	return heap;
}

static void compute_extents(struct run *r, const struct call *c, const struct object *heap)
{
	int64_t *slots;

	if (!r->ask->compute)
		return;
	slots = make_parts(r, heap->extent_count, sizeof *slots);
	if (!slots)
		return;
	for (size_t i = 0; i < heap->extent_count; i++)
		slots[i] = heap->extents[i].known ? heap->extents[i].value : 0;
	if (!r->ask->compute(r->ask->arg, c->name, slots, heap->extent_count))
		return;
	for (size_t i = 0; i < heap->extent_count; i++)
		heap->extents[i] = (struct extent){ slots[i], true };
}

static struct value take_step(struct run *r, struct call *c)
{
	const struct object *heap = heap_of(c);

	if (heap && !mpk_span_starts(c->name, "vm.builtin.")) {
		compute_extents(r, c, heap);
		return (struct value){ 0 };
	}
	r->nomem |= !mpk_timeline_step(
		r->timeline, &(struct mpk_memory_step){ .name = c->name, .instruction = c->at });
	for (size_t i = 0; i < MPK_ARRAY_COUNT(makers); i++)
		if (mpk_span_is(c->name, makers[i].name))
			return makers[i].call(r, c);
	if (returns_its_state(c->name))
		return same_value(r, c);
	/* the result of a kernel is nothing; of anything else a tensor of unknown size, or no tensor */
	if (c->instr->reg >= MPK_RELAX_REG_VOID)
		return (struct value){ 0 };
	if (mpk_span_starts(c->name, "relax.run."))
		note_unknown(r, "a result as large as the data says");
	return (struct value){ .kind = VALUE_UNKNOWN };
}

static struct value call_named(struct run *r, struct call *c)
{
	const struct mpk_relax_func *f = &r->x->funcs[c->instr->func];

	if (f->kind == MPK_RELAX_VM)
		return call_function(r, (size_t)c->instr->func, c->args, c->count, c->depth + 1);
	if (f->kind == MPK_RELAX_TIR) {
		note_unknown(r, "a compiled function");
		return (struct value){ .kind = VALUE_UNKNOWN };
	}
	for (size_t i = 0; i < MPK_ARRAY_COUNT(builtins); i++)
		if (mpk_span_is(c->name, builtins[i].name))
			return builtins[i].call(r, c);
	return take_step(r, c);
}

static void set_register(struct run *r, struct frame *f, int64_t reg, struct value v)
{
	if (reg < 0 || (uint64_t)reg >= f->count) {
		drop(r, v);
		return;
	}
	struct value old = f->registers[reg];

	/* the new value is there before the old one goes */
	f->registers[reg] = v;
	drop(r, old);
}

static void take_call(struct run *r, struct frame *f, const struct mpk_relax_instr *instr,
		      int64_t at, unsigned depth)
{
	struct value few[ARGUMENTS_FEW];
	struct call c = { .instr = instr,
			  .name = r->x->funcs[instr->func].name,
			  .count = instr->arg_count,
			  .frame = f,
			  .depth = depth,
			  .at = at };

	c.args = c.count > ARGUMENTS_FEW ? calloc(c.count, sizeof *c.args) : few;
	if (!c.args) {
		r->nomem = true;
		return;
	}
	for (size_t i = 0; i < c.count; i++)
		c.args[i] = operand(r, f, instr, i);
	struct value made = call_named(r, &c);

	/* a machine borrows its arguments from registers, so that they hold nothing when the result is set */
	for (size_t i = 0; i < c.count; i++)
		drop(r, c.args[i]);
	if (c.args != few)
		free(c.args);
	set_register(r, f, instr->reg, made);
}

/* Whether the true side of a condition is gone. */
static bool choose(struct run *r, const struct frame *f, int64_t reg)
{
	const struct value *v = reg >= 0 && (uint64_t)reg < f->count ? &f->registers[reg] : NULL;

	if (v && v->kind == VALUE_INT && v->number.known)
		return v->number.value != 0;
	/* loops end on the other side */
	if (r->forks >= FORKS_MAX) {
		r->forks++;
		return r->path >> (FORKS_MAX - 1) & 1;
	}
	return r->path >> r->forks++ & 1;
}

static struct value call_function(struct run *r, size_t func, const struct value *args,
				  size_t count, unsigned depth)
{
	const struct mpk_relax_func *fn = &r->x->funcs[func];
	struct frame f = { .count = (size_t)fn->register_file_size, .func = func };
	struct value result = { .kind = VALUE_UNKNOWN };
	struct mpk_relax_instr instr;

	if (depth >= DEPTH_MAX) {
		note_unknown(r, "a loop whose rounds data counts");
		return result;
	}
	if (f.count > r->parts) { /* ends the path as too many steps do */
		r->steps = 0;
		return result;
	}
	f.registers = calloc(f.count + 1, sizeof *f.registers);
	if (!f.registers) {
		r->nomem = true;
		return result;
	}
	for (size_t i = 0; i < count && i < f.count; i++)
		f.registers[i] = hold(args[i]);
	for (int64_t at = fn->start; at < fn->end && r->steps && !r->nomem;) {
		r->steps--;
		if (mpk_relax_instr(r->x, (size_t)at, &instr, NULL) != MPK_OK)
			break;
		if (instr.op == MPK_RELAX_RET) {
			result = instr.reg >= 0 && (uint64_t)instr.reg < f.count
					 ? hold(f.registers[instr.reg])
					 : (struct value){ 0 };
			break;
		}
		if (instr.op == MPK_RELAX_CALL)
			take_call(r, &f, &instr, at, depth);
		at += instr.op == MPK_RELAX_GOTO                              ? instr.offset
		      : instr.op == MPK_RELAX_IF && !choose(r, &f, instr.reg) ? instr.offset
									      : 1;
	}
	for (size_t i = 0; i < f.count; i++)
		drop(r, f.registers[i]);
	free(f.registers);
	return result;
}

/* --- what a call is given -------------------------------------------------------------------------------------------- */

/* Extents by name, each once: those that were asked for, then those that are 1. */
struct names {
	struct mpk_extent_value *items;
	size_t count, cap, given;
	bool nomem;
};

static void add_name(struct names *n, const struct mpk_memory_ask *ask, struct mpk_span name)
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

/* An integer goes by the name of its parameter. */
static void take_names(struct names *n, const struct mpk_memory_ask *ask, const struct mpk_type *t,
		       struct mpk_span name, unsigned depth)
{
	if (t->kind == MPK_TYPE_SCALAR && t->dtype.code == MPK_DTYPE_INT && name.len)
		add_name(n, ask, name);
	for (size_t i = 0; t->ranked && i < t->ndim; i++) {
		struct mpk_span s = mpk_type_symbol(t, i);

		if (s.len && mpk_extent_is_name(s) && !mpk_span_is(s, "_"))
			add_name(n, ask, s);
	}
	for (size_t i = 0; i < t->field_count && depth < 16; i++)
		take_names(n, ask, &t->fields[i].type, t->fields[i].name, depth + 1);
}

static struct value make_input(struct run *r, const struct mpk_type *t, struct mpk_span name,
			       const struct mpk_extent_values *values, uint64_t *bytes,
			       unsigned depth)
{
	struct value number = { .kind = VALUE_INT };
	struct object *o;
	uint64_t own;

	if (t->kind == MPK_TYPE_SCALAR && t->dtype.code == MPK_DTYPE_INT) {
		for (size_t i = 0; i < values->count; i++)
			if (mpk_span_equal(values->items[i].name, name))
				number.number = (struct extent){ values->items[i].value, true };
		return number;
	}

	if (t->kind == MPK_TYPE_TUPLE && depth < 16) {
		o = make_object(r, OBJECT_TUPLE);
		if (!o)
			return value_of(NULL);
		o->items = make_parts(r, t->field_count, sizeof *o->items);
		o->item_count = o->items ? t->field_count : 0;
		for (size_t i = 0; i < o->item_count; i++)
			o->items[i] = make_input(r, &t->fields[i].type, t->fields[i].name, values,
						 bytes, depth + 1);
		return value_of(o);
	}
	if (t->kind != MPK_TYPE_TENSOR && t->kind != MPK_TYPE_SHAPE)
		return (struct value){ .kind = VALUE_UNKNOWN };
	o = make_object(r, t->kind == MPK_TYPE_TENSOR ? OBJECT_TENSOR : OBJECT_SHAPE);
	if (!o)
		return value_of(NULL);
	o->dtype = t->dtype;
	if (t->ranked) {
		o->extents = make_parts(r, t->ndim, sizeof *o->extents);
		o->extent_count = o->extents ? t->ndim : 0;
	}
	for (size_t i = 0; i < o->extent_count; i++) {
		struct mpk_span s = mpk_type_symbol(t, i);

		o->extents[i] = (struct extent){ t->shape[i], true };
		if (s.len)
			o->extents[i].known = mpk_extent_compute(s, values, &o->extents[i].value);
	}
	if (t->kind == MPK_TYPE_TENSOR) {
		if (!tensor_bytes(o, &own))
			note_unknown(r, "an input whose extents the code does not tell");
		else
			r->too_large |= __builtin_add_overflow(*bytes, own, bytes);
	}
	return value_of(o);
}

/* --- a function ------------------------------------------------------------------------------------------------------ */

/* What is returned is the caller's: its storages are no scratch. */
static void mark_results(struct run *r, const struct value *v, unsigned depth)
{
	if (v->kind != VALUE_OBJECT || depth > 16)
		return;
	if (v->object->memory) {
		struct mpk_memory_storage *s = &r->timeline->storages[v->object->memory->storage];

		if (s->kind == MPK_MEMORY_SCRATCH)
			s->kind = MPK_MEMORY_RESULT;
	}
	for (size_t i = 0; i < v->object->item_count; i++)
		mark_results(r, &v->object->items[i], depth + 1);
}

/* One path, from the inputs to the result. */
static enum mpk_code follow(struct run *r, size_t func, const struct mpk_signature *s,
			    const struct mpk_extent_values *values, struct mpk_function_memory *out,
			    struct mpk_error *err)
{
	struct value *args = make_parts(r, s->input_count, sizeof *args), result;

	MPK_TRY_ALLOC(args, err);
	for (size_t i = 0; i < s->input_count; i++)
		args[i] = make_input(r, &s->inputs[i].type, s->inputs[i].name, values,
				     &out->input_bytes, 0);
	result = call_function(r, func, args, s->input_count, 0);
	mark_results(r, &result, 0);
	if (r->nomem)
		return mpk_fail_nomem(err);
	if (!r->steps)
		return mpk_fail(err, MPK_E_RANGE,
				"%s: more instructions or values than are followed",
				MPK_QUOTE(s->name));
	if (r->too_large || !mpk_timeline_sum(r->timeline, out))
		return mpk_fail(err, MPK_E_RANGE, "%s: its memory fits no 64 bits",
				MPK_QUOTE(s->name));
	out->unknown = r->unknown;
	out->why = r->why;
	return MPK_OK;
}

/* The types of storages lie in the arena of a path. */
static bool keep_types(const struct mpk_timeline *t, struct mpk_arena *arena)
{
	for (size_t i = 0; i < t->storage_count; i++) {
		struct mpk_type *type = &t->storages[i].type;

		if (!type->ndim)
			continue;
		type->shape = mpk_arena_keep(arena, type->shape, type->ndim, sizeof *type->shape);
		type->symbols =
			mpk_arena_keep(arena, type->symbols, type->ndim, sizeof *type->symbols);
		if (!type->shape || !type->symbols)
			return false;
	}
	return true;
}

/* All paths, of which the one with the greatest peak stays. */
static enum mpk_code follow_paths(const struct mpk_relax *x, const struct mpk_memory_ask *ask,
				  size_t func, const struct mpk_extent_values *values,
				  uint64_t *steps, struct mpk_arena *arena,
				  struct mpk_function_memory *out, struct mpk_error *err)
{
	struct mpk_function_memory best = *out;
	uint64_t end = 1;
	size_t paths = 0;

	for (uint64_t path = 0; path < end; path++) {
		MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
		MPK_CLEANUP(mpk_timeline_fini) struct mpk_timeline timeline = { 0 };
		struct mpk_function_memory now = *out;
		struct run r = { .x = x,
				 .ask = ask,
				 .arena = &scratch,
				 .timeline = &timeline,
				 .steps = *steps,
				 .parts = PARTS_MAX + PARTS_EACH * mpk_relax_instr_count(x),
				 .path = path };

		r.texts = mpk_arena_array(&scratch, x->func_count, sizeof *r.texts);
		r.text_counts = mpk_arena_array(&scratch, x->func_count, sizeof *r.text_counts);
		r.constants = mpk_arena_array(&scratch, x->const_count, sizeof *r.constants);
		MPK_TRY_ALLOC(r.texts && r.text_counts && r.constants, err);
		MPK_TRY(follow(&r, func, out->signature, values, &now, err));
		*steps = r.steps;
		/* conditions within the sides that were chosen are dropped on both sides, too */
		size_t forks = r.forks < FORKS_MAX ? r.forks : FORKS_MAX;

		if (UINT64_C(1) << forks > end)
			end = UINT64_C(1) << forks;
		/* a path with fewer conditions than bits is one that was gone before */
		if (path >> forks)
			continue;
		paths++;
		if (paths > 1 && now.peak_bytes <= best.peak_bytes) {
			best.unknown = now.unknown > best.unknown ? now.unknown : best.unknown;
			best.why = best.why ? best.why : now.why;
			continue;
		}
		now.unknown = paths > 1 && best.unknown > now.unknown ? best.unknown : now.unknown;
		now.why = now.why ? now.why : best.why;
		best = now;
		MPK_TRY_ALLOC(keep_types(&timeline, arena) &&
				      mpk_timeline_keep(&timeline, arena, &best),
			      err);
	}
	best.paths = paths;
	*out = best;
	return MPK_OK;
}

static enum mpk_code function_memory(const struct mpk_relax *x, const struct mpk_memory_ask *ask,
				     size_t func, const struct mpk_signature *s, uint64_t *steps,
				     struct mpk_arena *arena, struct mpk_function_memory *out,
				     struct mpk_error *err)
{
	struct names n = { 0 };

	*out = (struct mpk_function_memory){ .signature = s, .paths = 1 };
	for (size_t i = 0; i < s->input_count; i++)
		take_names(&n, ask, &s->inputs[i].type, s->inputs[i].name, 0);
	out->extents = mpk_arena_keep(arena, n.items, n.count, sizeof *n.items);
	out->extent_count = n.count;
	out->given_count = n.given;
	free(n.items);
	MPK_TRY_ALLOC(out->extents && !n.nomem, err);
	return follow_paths(
		x, ask, func,
		&(struct mpk_extent_values){ .items = out->extents, .count = out->extent_count },
		steps, arena, out, err);
}

enum mpk_code mpk_relax_memory(const struct mpk_relax *x, const struct mpk_models *models,
			       const struct mpk_memory_ask *ask, struct mpk_arena *arena,
			       struct mpk_model_memory *out, struct mpk_error *err)
{
	struct mpk_function_memory *list = mpk_arena_array(arena, models->count + 1, sizeof *list);
	uint64_t steps = STEPS_MAX + STEPS_EACH * mpk_relax_instr_count(x);

	MPK_TRY_ALLOC(list, err);
	MPK_TRY(mpk_relax_check(x, err));
	for (size_t i = 0; i < x->const_count; i++)
		if (x->consts[i].kind == MPK_RELAX_TENSOR) {
			out->weight_bytes += x->consts[i].u.tensor.data.len;
			out->weight_count++;
		}
	for (size_t i = 0, k = 0; i < x->func_count; i++) {
		if (x->funcs[i].kind == MPK_RELAX_VM) {
			MPK_TRY(function_memory(x, ask, i, &models->items[k], &steps, arena,
						&list[out->function_count], err));
			out->function_count++;
		}
		if (x->funcs[i].kind == MPK_RELAX_TIR) {
			out->untold = "compiled functions, whose code is not read";
			out->unknown++;
		}
		k += x->funcs[i].kind != MPK_RELAX_PACKED;
	}
	out->functions = list;
	return MPK_OK;
}
