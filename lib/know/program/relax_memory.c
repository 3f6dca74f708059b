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

#include "program/internal/path.h"
#include "text/escape.h"

enum {
	STEPS_MAX = 1 << 20, /* instructions that are followed in one model, and ... */
	STEPS_EACH =
		64, /* ... so often each: functions call others, and data chooses between paths */
	PARTS_MAX = 1 << 19, /* objects and extents of one path, and ... */
	PARTS_EACH = 8,      /* ... of each instruction */
	DEPTH_MAX = 64,      /* calls within calls: loops are compiled to recursion */
	FORKS_MAX = 6,       /* conditions of one path whose both sides are followed */
	ARGUMENTS_FEW = 32,  /* more are rare */
};
/* --- operands -------------------------------------------------------------------------------------- */

struct frame {
	struct mpk_path_value *registers;
	size_t count;
	size_t func;
};

static struct mpk_path_value constant_of(struct mpk_path *r, size_t index)
{
	const struct mpk_relax_const *c = &r->x->consts[index];
	struct mpk_path_object *o = r->constants[index];

	if (o)
		return mpk_path_hold(mpk_path_value_of(o));
	switch (c->kind) {
	case MPK_RELAX_INT:
		return (struct mpk_path_value){ .kind = MPK_PATH_INT, .number = { c->u.i, true } };
	case MPK_RELAX_TENSOR:
		o = mpk_path_make(r, MPK_PATH_TENSOR);
		if (!o)
			break;
		o->dtype = c->u.tensor.dtype;
		o->constant = &c->u.tensor;
		o->extents = mpk_path_parts(r, c->u.tensor.ndim, sizeof *o->extents);
		o->extent_count = o->extents ? c->u.tensor.ndim : 0;
		for (size_t i = 0; i < o->extent_count; i++)
			o->extents[i] = (struct mpk_path_extent){ c->u.tensor.shape[i], true };
		break;
	case MPK_RELAX_SHAPE:
		o = mpk_path_make(r, MPK_PATH_SHAPE);
		if (!o)
			break;
		o->extents = mpk_path_parts(r, c->u.shape.len / 8, sizeof *o->extents);
		o->extent_count = o->extents ? c->u.shape.len / 8 : 0;
		for (size_t i = 0; i < o->extent_count; i++)
			o->extents[i] = (struct mpk_path_extent){
				(int64_t)mpk_load_u64(c->u.shape.data + 8 * i), true
			};
		break;
	case MPK_RELAX_DTYPE:
	case MPK_RELAX_STRING:
	case MPK_RELAX_FLOAT:
	case MPK_RELAX_CONST_KINDS:
		return (struct mpk_path_value){ .kind = MPK_PATH_CONST, .index = index };
	}
	r->constants[index] = o;
	return o ? mpk_path_hold(mpk_path_value_of(o)) : mpk_path_value_of(NULL);
}

/* A value that the caller owns. */
static struct mpk_path_value operand(struct mpk_path *r, const struct frame *f,
				     const struct mpk_relax_instr *instr, size_t i)
{
	struct mpk_relax_arg arg;

	if (i >= instr->arg_count)
		return (struct mpk_path_value){ 0 };
	arg = mpk_relax_arg(instr, i);
	switch ((enum mpk_relax_arg_kind)arg.kind) {
	case MPK_RELAX_ARG_REG:
		return arg.value >= 0 && (uint64_t)arg.value < f->count
			       ? mpk_path_hold(f->registers[arg.value])
			       : (struct mpk_path_value){ 0 };
	case MPK_RELAX_ARG_INT:
		return (struct mpk_path_value){ .kind = MPK_PATH_INT,
						.number = { arg.value, true } };
	case MPK_RELAX_ARG_CONST:
		return constant_of(r, (size_t)arg.value);
	case MPK_RELAX_ARG_FUNC:
		return (struct mpk_path_value){ .kind = MPK_PATH_FUNC, .index = (size_t)arg.value };
	}
	return (struct mpk_path_value){ 0 };
}

/* A call: its arguments, each of which it owns. */
struct call {
	const struct mpk_relax_instr *instr;
	struct mpk_span name;
	struct mpk_path_value *args;
	size_t count;
	struct frame *frame;
	unsigned depth;
	int64_t at;
};

static bool int_at(const struct call *c, size_t i, int64_t *out)
{
	if (i >= c->count || c->args[i].kind != MPK_PATH_INT || !c->args[i].number.known)
		return false;
	*out = c->args[i].number.value;
	return true;
}

static struct mpk_dtype dtype_at(const struct mpk_path *r, const struct call *c, size_t i)
{
	if (i < c->count && c->args[i].kind == MPK_PATH_CONST &&
	    r->x->consts[c->args[i].index].kind == MPK_RELAX_DTYPE)
		return r->x->consts[c->args[i].index].u.dtype;
	return (struct mpk_dtype){ 0 };
}

/* --- builtins: extents -------------------------------------------------------------------------------- */

static struct mpk_path_value alloc_shape_heap(struct mpk_path *r, struct call *c)
{
	struct mpk_path_object *heap;
	int64_t slots;
	size_t func = c->frame->func;

	if (!int_at(c, 1, &slots) || slots < 0 || slots > MPK_PATH_HEAP_MAX)
		return (struct mpk_path_value){ .kind = MPK_PATH_UNKNOWN };
	if (!r->texts[func])
		mpk_path_read_texts(r, func);
	heap = mpk_path_make(r, MPK_PATH_HEAP);
	if (!heap)
		return (struct mpk_path_value){ .kind = MPK_PATH_UNKNOWN };
	heap->extents = mpk_path_parts(r, (size_t)slots, sizeof *heap->extents);
	heap->extent_count = heap->extents ? (size_t)slots : 0;
	heap->texts = mpk_path_parts(r, (size_t)slots, sizeof *heap->texts);
	if (heap->texts && r->texts[func])
		memcpy((void *)(uintptr_t)heap->texts, r->texts[func],
		       (r->text_counts[func] < (size_t)slots ? r->text_counts[func]
							     : (size_t)slots) *
			       sizeof *heap->texts);
	return mpk_path_value_of(heap);
}

static void match_extent(struct mpk_path *r, struct call *c, size_t at, struct mpk_path_extent e)
{
	const struct mpk_path_object *heap = mpk_path_object_of(&c->args[1], MPK_PATH_HEAP);
	int64_t code, slot;

	if (!heap || !int_at(c, at, &code) || !int_at(c, at + 1, &slot) || slot < 0 ||
	    (uint64_t)slot >= heap->extent_count)
		return;
	/* what is compared is equal where the call goes on */
	if (code == 1 || (code == 3 && e.known && !mpk_path_read_slot(r, &c->args[1], slot).known))
		heap->extents[slot] = e;
}

static struct mpk_path_value match_shape(struct mpk_path *r, struct call *c)
{
	const struct mpk_path_object *o =
		c->count ? mpk_path_object_of(&c->args[0], MPK_PATH_TENSOR) : NULL;

	if (!o && c->count)
		o = mpk_path_object_of(&c->args[0], MPK_PATH_SHAPE);
	for (size_t i = 0; c->count >= 4 && i < (c->count - 4) / 2; i++)
		match_extent(r, c, 3 + 2 * i,
			     o && o->extents && i < o->extent_count
				     ? o->extents[i]
				     : (struct mpk_path_extent){ 0 });
	return (struct mpk_path_value){ 0 };
}

static struct mpk_path_value match_prim_value(struct mpk_path *r, struct call *c)
{
	if (c->count >= 4 && c->args[0].kind == MPK_PATH_INT)
		match_extent(r, c, 2, c->args[0].number);
	return (struct mpk_path_value){ 0 };
}

static struct mpk_path_extent made_extent(struct mpk_path *r, struct call *c, size_t at)
{
	int64_t code, number;

	if (!int_at(c, at, &code) || !int_at(c, at + 1, &number))
		return (struct mpk_path_extent){ 0 };
	return code ? mpk_path_read_slot(r, &c->args[0], number)
		    : (struct mpk_path_extent){ number, true };
}

static struct mpk_path_value make_shape(struct mpk_path *r, struct call *c)
{
	struct mpk_path_object *o = mpk_path_make(r, MPK_PATH_SHAPE);
	int64_t count;

	if (!o || !int_at(c, 1, &count) || count < 0 || (uint64_t)count > (c->count - 2) / 2)
		return (struct mpk_path_value){ .kind = MPK_PATH_UNKNOWN };
	o->extents = mpk_path_parts(r, (size_t)count, sizeof *o->extents);
	o->extent_count = o->extents ? (size_t)count : 0;
	for (size_t i = 0; i < o->extent_count; i++)
		o->extents[i] = made_extent(r, c, 2 + 2 * i);
	return mpk_path_value_of(o);
}

static struct mpk_path_value make_prim_value(struct mpk_path *r, struct call *c)
{
	return (struct mpk_path_value){ .kind = MPK_PATH_INT,
					.number = c->count >= 3 ? made_extent(r, c, 1)
								: (struct mpk_path_extent){ 0 } };
}

static struct mpk_path_value shape_of(struct mpk_path *r, struct call *c)
{
	const struct mpk_path_object *t =
		c->count ? mpk_path_object_of(&c->args[0], MPK_PATH_TENSOR) : NULL;
	struct mpk_path_object *o = t ? mpk_path_make(r, MPK_PATH_SHAPE) : NULL;

	if (!o)
		return (struct mpk_path_value){ .kind = MPK_PATH_UNKNOWN };
	o->extents = t->extents;
	o->extent_count = t->extent_count;
	return mpk_path_value_of(o);
}

/* The content of a constant is known; of any other tensor it is data. */
static struct mpk_path_value tensor_to_shape(struct mpk_path *r, struct call *c)
{
	const struct mpk_path_object *t =
		c->count ? mpk_path_object_of(&c->args[0], MPK_PATH_TENSOR) : NULL;
	struct mpk_path_object *o = mpk_path_make(r, MPK_PATH_SHAPE);

	if (!o || !t || !t->constant || t->constant->ndim != 1 ||
	    t->constant->data.len != 8 * (uint64_t)t->constant->shape[0])
		return mpk_path_value_of(o);
	o->extents = mpk_path_parts(r, (size_t)t->constant->shape[0], sizeof *o->extents);
	o->extent_count = o->extents ? (size_t)t->constant->shape[0] : 0;
	for (size_t i = 0; i < o->extent_count; i++)
		o->extents[i] = (struct mpk_path_extent){
			(int64_t)mpk_load_u64(t->constant->data.data + 8 * i), true
		};
	return mpk_path_value_of(o);
}

/* --- builtins: memory ---------------------------------------------------------------------------------- */

static struct mpk_path_value alloc_storage(struct mpk_path *r, struct call *c)
{
	const struct mpk_path_object *shape =
		c->count > 1 ? mpk_path_object_of(&c->args[1], MPK_PATH_SHAPE) : NULL;
	struct mpk_path_object t = { .dtype = dtype_at(r, c, 3) };
	uint64_t bytes = 0;
	int64_t device = 0;
	bool sized;

	if (shape) {
		t.extents = shape->extents;
		t.extent_count = shape->extent_count;
	}
	(void)int_at(c, 2, &device);
	sized = mpk_path_tensor_bytes(&t, &bytes);
	return mpk_path_value_of(
		mpk_path_make_storage(r, bytes, sized, device, MPK_MEMORY_SCRATCH));
}

static struct mpk_path_value alloc_tensor(struct mpk_path *r, struct call *c)
{
	struct mpk_path_object *t = mpk_path_make_tensor(
		r, c->count > 2 ? mpk_path_object_of(&c->args[2], MPK_PATH_SHAPE) : NULL,
		dtype_at(r, c, 3));
	const struct mpk_path_object *memory =
		c->count ? mpk_path_object_of(&c->args[0], MPK_PATH_STORAGE) : NULL;
	int64_t offset = 0;

	(void)int_at(c, 1, &offset);
	if (t && memory && offset >= 0)
		mpk_path_put_tensor(r, t, c->args[0].object, (uint64_t)offset);
	return mpk_path_value_of(t);
}

/* A tensor over the same memory, of another shape and perhaps type. */
static struct mpk_path_value view(struct mpk_path *r, struct call *c, size_t shape,
				  struct mpk_dtype dtype)
{
	const struct mpk_path_object *from =
		c->count ? mpk_path_object_of(&c->args[0], MPK_PATH_TENSOR) : NULL;
	struct mpk_path_object *t =
		from ? mpk_path_make_tensor(r,
					    c->count > shape ? mpk_path_object_of(&c->args[shape],
										  MPK_PATH_SHAPE)
							     : NULL,
					    dtype.bits ? dtype : from->dtype)
		     : NULL;

	if (t && from->memory) {
		t->memory = from->memory;
		t->memory->refs++;
	}
	return mpk_path_value_of(t);
}

static struct mpk_path_value reshape(struct mpk_path *r, struct call *c)
{
	return view(r, c, 1, (struct mpk_dtype){ 0 });
}

static struct mpk_path_value create_view(struct mpk_path *r, struct call *c)
{
	return view(r, c, 1, dtype_at(r, c, 2));
}

static struct mpk_path_value same_value(struct mpk_path *r, struct call *c)
{
	(void)r;
	return c->count ? mpk_path_hold(c->args[0]) : (struct mpk_path_value){ 0 };
}

static struct mpk_path_value no_value(struct mpk_path *r, struct call *c)
{
	(void)r;
	(void)c;
	return (struct mpk_path_value){ 0 };
}

static struct mpk_path_value to_device(struct mpk_path *r, struct call *c)
{
	const struct mpk_path_object *t =
		c->count ? mpk_path_object_of(&c->args[0], MPK_PATH_TENSOR) : NULL;

	if (!t)
		return (struct mpk_path_value){ .kind = MPK_PATH_UNKNOWN };
	return mpk_path_new_tensor(r, t, t->dtype, 0, MPK_MEMORY_SCRATCH);
}

static struct mpk_path_value make_tuple(struct mpk_path *r, struct call *c)
{
	struct mpk_path_object *o = mpk_path_make(r, MPK_PATH_TUPLE);

	if (!o)
		return (struct mpk_path_value){ .kind = MPK_PATH_UNKNOWN };
	o->items = mpk_path_parts(r, c->count, sizeof *o->items);
	o->item_count = o->items ? c->count : 0;
	for (size_t i = 0; i < o->item_count; i++)
		o->items[i] = mpk_path_hold(c->args[i]);
	return mpk_path_value_of(o);
}

static struct mpk_path_value *item_at(struct call *c)
{
	struct mpk_path_object *o = c->count ? c->args[0].object : NULL;
	int64_t index;

	if (!c->count || !mpk_path_object_of(&c->args[0], MPK_PATH_TUPLE) ||
	    !int_at(c, 1, &index) || index < 0 || (uint64_t)index >= o->item_count)
		return NULL;
	return &o->items[index];
}

static struct mpk_path_value tuple_getitem(struct mpk_path *r, struct call *c)
{
	struct mpk_path_value *item = item_at(c);

	(void)r;
	return item ? mpk_path_hold(*item) : (struct mpk_path_value){ .kind = MPK_PATH_UNKNOWN };
}

static struct mpk_path_value tuple_reset_item(struct mpk_path *r, struct call *c)
{
	struct mpk_path_value *item = item_at(c);

	if (item) {
		mpk_path_drop(r, *item);
		*item = (struct mpk_path_value){ 0 };
	}
	return (struct mpk_path_value){ 0 };
}

/* --- builtins: functions --------------------------------------------------------------------------------- */

static struct mpk_path_value call_function(struct mpk_path *r, size_t func,
					   const struct mpk_path_value *args, size_t count,
					   unsigned depth);

/* A function of the table or a closure, with arguments that the caller keeps. */
static struct mpk_path_value call_value(struct mpk_path *r, const struct mpk_path_value *f,
					const struct mpk_path_value *args, size_t count,
					unsigned depth)
{
	const struct mpk_path_object *closure = mpk_path_object_of(f, MPK_PATH_CLOSURE);
	struct mpk_path_value *all;

	if (f->kind == MPK_PATH_FUNC && r->x->funcs[f->index].kind == MPK_RELAX_VM)
		return call_function(r, f->index, args, count, depth + 1);
	if (!closure || !closure->item_count || closure->items[0].kind != MPK_PATH_FUNC) {
		mpk_path_note_unknown(r, "a function that is called by its value");
		return (struct mpk_path_value){ .kind = MPK_PATH_UNKNOWN };
	}
	all = mpk_path_parts(r, count + closure->item_count, sizeof *all);
	if (!all)
		return (struct mpk_path_value){ .kind = MPK_PATH_UNKNOWN };
	if (count)
		memcpy(all, args, count * sizeof *all);
	memcpy(all + count, closure->items + 1, (closure->item_count - 1) * sizeof *all);
	return call_value(r, &closure->items[0], all, count + closure->item_count - 1, depth);
}

static struct mpk_path_value make_closure(struct mpk_path *r, struct call *c)
{
	struct mpk_path_value made = make_tuple(r, c);

	if (made.kind == MPK_PATH_OBJECT)
		made.object->kind = MPK_PATH_CLOSURE;
	return made;
}

/* invoke_closure(machine, closure, arguments...) */
static struct mpk_path_value invoke_closure(struct mpk_path *r, struct call *c)
{
	if (c->count < 2)
		return (struct mpk_path_value){ .kind = MPK_PATH_UNKNOWN };
	return call_value(r, &c->args[1], c->args + 2, c->count - 2, c->depth);
}

/* run_or_capture(machine, function, tuple of arguments, ...) */
static struct mpk_path_value run_or_capture(struct mpk_path *r, struct call *c)
{
	const struct mpk_path_object *args =
		c->count > 2 ? mpk_path_object_of(&c->args[2], MPK_PATH_TUPLE) : NULL;

	if (!args)
		return (struct mpk_path_value){ .kind = MPK_PATH_UNKNOWN };
	return call_value(r, &c->args[1], args->items, args->item_count, c->depth);
}

/* get_cached_alloc(machine, function, index): storages that the machine keeps for later calls */
static struct mpk_path_value get_cached_alloc(struct mpk_path *r, struct call *c)
{
	struct mpk_path_value made;

	if (c->count < 2)
		return (struct mpk_path_value){ .kind = MPK_PATH_UNKNOWN };
	made = call_value(r, &c->args[1], NULL, 0, c->depth);
	return mpk_path_hold(made); /* and never drops it */
}

/* --- builtins: caches -------------------------------------------------------------------------------------- */

static bool extent_at(const struct call *c, size_t arg, size_t i, int64_t *out)
{
	const struct mpk_path_object *o =
		arg < c->count ? mpk_path_object_of(&c->args[arg], MPK_PATH_SHAPE) : NULL;

	if (!o || !o->extents || i >= o->extent_count || !o->extents[i].known)
		return false;
	*out = o->extents[i].value;
	return true;
}

static struct mpk_path_object *make_state(struct mpk_path *r, size_t storages)
{
	struct mpk_path_object *o = mpk_path_make(r, MPK_PATH_STATE);

	if (!o)
		return NULL;
	o->items = mpk_path_parts(r, storages, sizeof *o->items);
	return o->items ? o : NULL;
}

/* One tensor of a state, of count extents. */
static void add_to_state(struct mpk_path *r, struct mpk_path_object *state, struct mpk_dtype dtype,
			 const int64_t *shape, size_t ndim)
{
	struct mpk_path_object like = { .extents = mpk_path_parts(r, ndim, sizeof *like.extents),
					.extent_count = ndim };

	for (size_t i = 0; like.extents && i < ndim; i++)
		like.extents[i] = (struct mpk_path_extent){ shape[i], true };
	state->items[state->item_count] = mpk_path_new_tensor(r, &like, dtype, 0, MPK_MEMORY_CACHE);
	state->item_count += state->items[state->item_count].kind == MPK_PATH_OBJECT;
}

static struct mpk_path_value unknown_state(struct mpk_path *r, const char *why)
{
	mpk_path_note_unknown(r, why);
	return (struct mpk_path_value){ .kind = MPK_PATH_UNKNOWN };
}

/* Pages of keys and values of each layer: as many as the tokens fill, one for what is not full, and two for each
 * sequence whose window slides (state/create.c, and relax_vm/paged_kv_cache.cc of apache/tvm). */
static struct mpk_path_value paged_cache_create(struct mpk_path *r, struct call *c)
{
	const struct mpk_path_object *init =
		c->count > 12 ? mpk_path_object_of(&c->args[12], MPK_PATH_TENSOR) : NULL;
	const struct mpk_path_object *kinds =
		c->count > 6 ? mpk_path_object_of(&c->args[6], MPK_PATH_SHAPE) : NULL;
	int64_t sequences, tokens, page, slides, first, end, heads, dim, pages;
	struct mpk_path_object *state;

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
	return mpk_path_value_of(state);
}

/* The older cache: one tensor of the shape that is asked for, which doubles when it is full. */
static struct mpk_path_value window_cache_create(struct mpk_path *r, struct call *c)
{
	const struct mpk_path_object *init =
		c->count ? mpk_path_object_of(&c->args[0], MPK_PATH_TENSOR) : NULL;
	const struct mpk_path_object *shape =
		c->count > 1 ? mpk_path_object_of(&c->args[1], MPK_PATH_SHAPE) : NULL;
	struct mpk_path_object *state = init && shape && shape->extents ? make_state(r, 1) : NULL;

	if (!state)
		return unknown_state(r, "a cache whose size is not in the code");
	state->items[0] = mpk_path_new_tensor(r, shape, init->dtype, 0, MPK_MEMORY_CACHE);
	state->item_count = 1;
	return mpk_path_value_of(state);
}

/* rnn_state_create(layers, sequences, history, gets, sets, inits) */
static struct mpk_path_value rnn_state_create(struct mpk_path *r, struct call *c)
{
	const struct mpk_path_object *inits =
		c->count > 5 ? mpk_path_object_of(&c->args[5], MPK_PATH_TUPLE) : NULL;
	int64_t layers, sequences, history;
	struct mpk_path_object *state;

	if (!inits || !int_at(c, 0, &layers) || !int_at(c, 1, &sequences) ||
	    !int_at(c, 2, &history) || layers < 0 || layers > MPK_PATH_HEAP_MAX)
		return unknown_state(r, "a recurrent state whose sizes are not in the code");
	state = make_state(r, (size_t)layers * inits->item_count);
	for (int64_t i = 0; state && i < layers; i++)
		for (size_t k = 0; k < inits->item_count; k++) {
			const struct mpk_path_object *init =
				mpk_path_object_of(&inits->items[k], MPK_PATH_TENSOR);
			int64_t *shape =
				init ? mpk_path_parts(r, init->extent_count + 2, sizeof *shape)
				     : NULL;

			if (!shape)
				return unknown_state(
					r, "a recurrent state of values that are not known");
			shape[0] = sequences;
			shape[1] = history;
			for (size_t d = 0; d < init->extent_count; d++)
				shape[2 + d] = init->extents[d].value;
			add_to_state(r, state, init->dtype, shape, init->extent_count + 2);
		}
	return mpk_path_value_of(state);
}

/* --- by name -------------------------------------------------------------------------------------------------- */

typedef struct mpk_path_value builtin_fn(struct mpk_path *r, struct call *c);

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
static const struct mpk_path_object *heap_of(const struct call *c)
{
	const struct mpk_path_object *heap = NULL;

	for (size_t i = 0; i < c->count; i++) {
		const struct mpk_path_object *o = mpk_path_object_of(&c->args[i], MPK_PATH_HEAP);

		if (!o && c->args[i].kind != MPK_PATH_INT)
			return NULL;
		heap = o ? o : heap;
	}
	return heap;
}

static void compute_extents(struct mpk_path *r, const struct call *c,
			    const struct mpk_path_object *heap)
{
	int64_t *slots;

	if (!r->ask->compute)
		return;
	slots = mpk_path_parts(r, heap->extent_count, sizeof *slots);
	if (!slots)
		return;
	for (size_t i = 0; i < heap->extent_count; i++)
		slots[i] = heap->extents[i].known ? heap->extents[i].value : 0;
	if (!r->ask->compute(r->ask->arg, c->name, slots, heap->extent_count))
		return;
	for (size_t i = 0; i < heap->extent_count; i++)
		heap->extents[i] = (struct mpk_path_extent){ slots[i], true };
}

static struct mpk_path_value take_step(struct mpk_path *r, struct call *c)
{
	const struct mpk_path_object *heap = heap_of(c);

	if (heap && !mpk_span_starts(c->name, "vm.builtin.")) {
		compute_extents(r, c, heap);
		return (struct mpk_path_value){ 0 };
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
		return (struct mpk_path_value){ 0 };
	if (mpk_span_starts(c->name, "relax.run."))
		mpk_path_note_unknown(r, "a result as large as the data says");
	return (struct mpk_path_value){ .kind = MPK_PATH_UNKNOWN };
}

static struct mpk_path_value call_named(struct mpk_path *r, struct call *c)
{
	const struct mpk_relax_func *f = &r->x->funcs[c->instr->func];

	if (f->kind == MPK_RELAX_VM)
		return call_function(r, (size_t)c->instr->func, c->args, c->count, c->depth + 1);
	if (f->kind == MPK_RELAX_TIR) {
		mpk_path_note_unknown(r, "a compiled function");
		return (struct mpk_path_value){ .kind = MPK_PATH_UNKNOWN };
	}
	for (size_t i = 0; i < MPK_ARRAY_COUNT(builtins); i++)
		if (mpk_span_is(c->name, builtins[i].name))
			return builtins[i].call(r, c);
	return take_step(r, c);
}

static void set_register(struct mpk_path *r, struct frame *f, int64_t reg, struct mpk_path_value v)
{
	if (reg < 0 || (uint64_t)reg >= f->count) {
		mpk_path_drop(r, v);
		return;
	}
	struct mpk_path_value old = f->registers[reg];

	/* the new value is there before the old one goes */
	f->registers[reg] = v;
	mpk_path_drop(r, old);
}

static void take_call(struct mpk_path *r, struct frame *f, const struct mpk_relax_instr *instr,
		      int64_t at, unsigned depth)
{
	struct mpk_path_value few[ARGUMENTS_FEW];
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
	struct mpk_path_value made = call_named(r, &c);

	/* a machine borrows its arguments from registers, so that they hold nothing when the result is set */
	for (size_t i = 0; i < c.count; i++)
		mpk_path_drop(r, c.args[i]);
	if (c.args != few)
		free(c.args);
	set_register(r, f, instr->reg, made);
}

/* Whether the true side of a condition is gone. */
static bool choose(struct mpk_path *r, const struct frame *f, int64_t reg)
{
	const struct mpk_path_value *v =
		reg >= 0 && (uint64_t)reg < f->count ? &f->registers[reg] : NULL;

	if (v && v->kind == MPK_PATH_INT && v->number.known)
		return v->number.value != 0;
	/* loops end on the other side */
	if (r->forks >= FORKS_MAX) {
		r->forks++;
		return r->path >> (FORKS_MAX - 1) & 1;
	}
	return r->path >> r->forks++ & 1;
}

static struct mpk_path_value call_function(struct mpk_path *r, size_t func,
					   const struct mpk_path_value *args, size_t count,
					   unsigned depth)
{
	const struct mpk_relax_func *fn = &r->x->funcs[func];
	size_t words = r->x->instr_data.len / 8 + count; /* that could name a register */
	struct frame f = { .count = (size_t)fn->register_file_size, .func = func };
	struct mpk_path_value result = { .kind = MPK_PATH_UNKNOWN };
	struct mpk_relax_instr instr;

	if (depth >= DEPTH_MAX) {
		mpk_path_note_unknown(r, "a loop whose rounds data counts");
		return result;
	}
	if (f.count > words)
		f.count = words;
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
		f.registers[i] = mpk_path_hold(args[i]);
	for (int64_t at = fn->start; at < fn->end && r->steps && !r->nomem;) {
		r->steps--;
		if (mpk_relax_instr(r->x, (size_t)at, &instr, NULL) != MPK_OK)
			break;
		if (instr.op == MPK_RELAX_RET) {
			result = instr.reg >= 0 && (uint64_t)instr.reg < f.count
					 ? mpk_path_hold(f.registers[instr.reg])
					 : (struct mpk_path_value){ 0 };
			break;
		}
		if (instr.op == MPK_RELAX_CALL)
			take_call(r, &f, &instr, at, depth);
		at += instr.op == MPK_RELAX_GOTO                              ? instr.offset
		      : instr.op == MPK_RELAX_IF && !choose(r, &f, instr.reg) ? instr.offset
									      : 1;
	}
	for (size_t i = 0; i < f.count; i++)
		mpk_path_drop(r, f.registers[i]);
	free(f.registers);
	return result;
}

/* --- a function ------------------------------------------------------------------------------------------------------ */

/* What is returned is the caller's: its storages are no scratch. */
static void mark_results(struct mpk_path *r, const struct mpk_path_value *v, unsigned depth)
{
	if (v->kind != MPK_PATH_OBJECT || depth > 16)
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
static enum mpk_code follow(struct mpk_path *r, size_t func, const struct mpk_signature *s,
			    const struct mpk_extent_values *values, struct mpk_function_memory *out,
			    struct mpk_error *err)
{
	struct mpk_path_value *args = mpk_path_parts(r, s->input_count, sizeof *args), result;

	MPK_TRY_ALLOC(args, err);
	for (size_t i = 0; i < s->input_count; i++)
		args[i] = mpk_path_make_input(r, &s->inputs[i].type, s->inputs[i].name, values,
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
		struct mpk_path r = { .x = x,
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
	struct mpk_path_names n = { 0 };

	*out = (struct mpk_function_memory){ .signature = s, .paths = 1 };
	for (size_t i = 0; i < s->input_count; i++)
		mpk_path_take_names(&n, ask, &s->inputs[i].type, s->inputs[i].name, 0);
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
