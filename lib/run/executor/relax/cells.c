/* SPDX-License-Identifier: Apache-2.0 */
/* cells.c - the builtins that compiled functions call most, working directly on cells of tvm-ffi
 *
 * A compiled function calls one or two builtins for each of its kernels. If each call were
 * translated, it would make and free several values. The functions here read tensors, shapes and
 * storages from the cells and store results there, in the layout from TVM 0.22 on. For unexpected
 * arguments and for errors they do nothing: then the generic builtin is called with values. */
#include <stdlib.h>
#include <string.h>

#include "abi/convention.h"
#include "abi/ffi_object.h"
#include "base/vec.h"
#include "executor/relax/internal/relax.h"

/* --- Storages, tensors and shapes that compiled functions keep from one call to the next.
 *
 * In each call a compiled function requests the same objects in the same order. An object of the
 * previous call is reused if its reference count is 1: then nobody else has it, and nobody can
 * change it meanwhile. A storage keeps its tensors, and a heap of extents keeps the shapes made
 * from it. If requests come in another order, new objects are made; the order is only a guess.
 *
 * Memory that is kept cannot be shared with other lifetimes, so only small storages are kept. */

enum {
	SITES_MAX = 4096,           /* objects of one function, and shapes of one heap */
	VIEWS_MAX = 4,              /* tensors of one storage */
	STORAGE_MAX = 32 << 10,     /* bytes of one storage */
	STORAGES_BYTES = 256 << 10, /* bytes of all storages of a machine */
};

/* --- objects in the order in which they are asked for ----------------------------------------- */

/* Returns the address of the next site's object; NULL: there are too many sites, or there is no
 * memory. */
static void **next_site(struct mpk_relax_sites *s)
{
	if (s->at == s->count) {
		if (s->count == SITES_MAX || !MPK_VEC_ROOM(s->objects, s->count, s->cap))
			return NULL;
		s->objects[s->count++] = NULL;
	}
	return &s->objects[s->at++];
}

/* Keeps a new object in place of the previous one; the caller has the other reference. */
static void *keep(void **site, void *object)
{
	if (!object || !site)
		return object;
	mpk_ffi_drop(MPK_CONV_FFI, *site);
	*site = object;
	return mpk_ffi_lend(object);
}

static void sites_fini(struct mpk_relax_sites *s)
{
	for (size_t i = 0; i < s->count; i++)
		mpk_ffi_drop(MPK_CONV_FFI, s->objects[i]);
	free(s->objects);
}

void mpk_relax_kept_destroy(struct mpk_relax_kept *k, size_t functions)
{
	for (size_t i = 0; k && i < functions; i++)
		sites_fini(&k->functions[i]);
	free(k);
}

static void release_sites(void *data)
{
	sites_fini(data);
	free(data);
}

/* --- storages and tensors ------------------------------------------------------------------- */

/* Returns the attached cell of an object that is or was in a list of sites; its type tells the kind
 * of object. No other code attaches cells. NULL: the object was never kept. */
static void *kept_cell(void *object)
{
	const struct mpk_ffi_object *o = object;

	return o->padding == MPK_FFI_KEPT ? mpk_ffi_cell(MPK_CONV_FFI, object) : NULL;
}

static bool attach_sites(struct mpk_ffi_attached *attached)
{
	attached->data = calloc(1, sizeof(struct mpk_relax_sites));
	attached->release = attached->data ? release_sites : NULL;
	return attached->data != NULL;
}

static struct mpk_storage *storage_in(const void *box)
{
	const struct mpk_value *v = mpk_ffi_box_value(MPK_CONV_FFI, box);

	return v && v->kind == MPK_VALUE_STORAGE ? v->storage : NULL;
}

static unsigned holders_of(const struct mpk_storage *storage)
{
	return atomic_load_explicit(&storage->refs, memory_order_acquire);
}

/* A storage is idle if only its box and its tensors refer to it, and the tensors are idle. */
static bool is_idle(const struct mpk_storage *storage, const struct mpk_relax_sites *views)
{
	size_t i = 0;

	while (i < views->count && mpk_ffi_is_only(views->objects[i]))
		i++;
	return i == views->count && holders_of(storage) == 1 + views->count;
}

static bool is_like(const struct mpk_storage *storage, struct mpk_dldevice where, uint64_t bytes)
{
	return mpk_dldevice_equal(storage->device, where) && storage->bytes >= bytes &&
	       storage->bytes / 4 <= bytes + MPK_STORAGE_ALIGN;
}

static void *make_box(struct mpk_allocator *allocator, uint64_t bytes)
{
	struct mpk_value v = { .kind = MPK_VALUE_STORAGE };
	void *box;

	if (mpk_allocator_storage(allocator, bytes, &v.storage, NULL) != MPK_OK)
		return NULL;
	box = mpk_ffi_make_box(MPK_CONV_FFI, MPK_FFI_STORAGE, &v);
	mpk_storage_drop(v.storage);
	return box;
}

/* The relax_kept functions return an object in the form of a tvm-ffi cell: a storage on a device of
 * the machine; a tensor in such a storage; a heap of extents, all 0; a shape from a heap, whose
 * extents the caller must set (heap NULL: a shape of numbers).
 * Returns  an object with one reference for the caller; NULL: there is no memory, or the tensor
 *          does not fit the storage */
static void *relax_kept_storage(struct mpk_relax_vm *vm, size_t device, uint64_t bytes)
{
	struct mpk_relax_kept *k = vm->kept;
	void **site = k && k->now && bytes <= STORAGE_MAX ? next_site(k->now) : NULL;
	struct mpk_relax_sites *views;

	if (!site)
		return make_box(vm->allocators[device], bytes);
	if (*site && ((struct mpk_ffi_object *)*site)->type_index == MPK_FFI_STORAGE) {
		const struct mpk_ffi_box_cell *cell = mpk_ffi_cell(MPK_CONV_FFI, *site);

		views = cell->attached.data;
		if (mpk_ffi_is_only(*site) &&
		    is_like(cell->value.storage, vm->devices[device], bytes) &&
		    is_idle(cell->value.storage, views)) {
			views->at = 0;
			return mpk_ffi_lend(*site);
		}
	}

	/* Frees the site's previous object before new memory is allocated. */
	struct mpk_allocator *allocator = vm->allocators[device];
	const struct mpk_storage *storage = *site ? storage_in(*site) : NULL;
	void *box;

	if (storage)
		k->bytes -= storage->bytes;
	mpk_ffi_drop(MPK_CONV_FFI, *site);
	*site = NULL;
	box = make_box(allocator, bytes);
	storage = box ? storage_in(box) : NULL;
	if (!storage || storage->bytes > STORAGES_BYTES - k->bytes ||
	    !attach_sites(&((struct mpk_ffi_box_cell *)mpk_ffi_cell(MPK_CONV_FFI, box))->attached))
		return box;
	k->bytes += storage->bytes;
	return keep(site, box);
}

static bool is_view(const void *object, const struct mpk_dltensor *like)
{
	const struct mpk_ffi_view_cell *cell =
		(const void *)((const char *)object + sizeof(struct mpk_ffi_object));
	bool same = mpk_ffi_is_only(object) && cell->dl.ndim == like->ndim &&
		    cell->dl.byte_offset == like->byte_offset &&
		    memcmp(&cell->dl.dtype, &like->dtype, sizeof like->dtype) == 0;

	for (int32_t i = 0; same && i < like->ndim; i++)
		same = cell->extents[i] == like->shape[i];
	return same;
}

/* Reuses a tensor that has the same type and shape, beginning after the last one used; else adds
 * one, or replaces one. */
static void *relax_kept_tensor(void *box, const struct mpk_dltensor *like)
{
	const struct mpk_ffi_box_cell *cell = kept_cell(box);
	struct mpk_relax_sites *views = cell ? cell->attached.data : NULL;
	struct mpk_storage *storage = cell ? cell->value.storage : storage_in(box);

	for (size_t i = 0; views && i < views->count; i++) {
		size_t at = views->at < views->count ? views->at : 0;

		views->at = at + 1;
		if (is_view(views->objects[at], like))
			return mpk_ffi_lend(views->objects[at]);
	}
	for (size_t i = 0; views && views->count == VIEWS_MAX && i < VIEWS_MAX; i++)
		if (mpk_ffi_is_only(views->objects[i]) &&
		    mpk_ffi_change_view(views->objects[i], like))
			return mpk_ffi_lend(views->objects[i]);
	void *view = storage ? mpk_ffi_make_view(storage, like) : NULL;

	if (!view || !views || views->count == VIEWS_MAX)
		return view;
	views->at = views->count;
	return keep(next_site(views), view);
}

/* --- extents -------------------------------------------------------------------------------- */

static void *make_heap(struct mpk_allocator *allocator, int64_t slots)
{
	struct mpk_dltensor like = { .dtype = { MPK_DTYPE_INT, 64, 1 },
				     .ndim = 1,
				     .shape = &slots };
	struct mpk_storage *storage;
	void *heap;

	if (mpk_allocator_storage(allocator, (uint64_t)slots * sizeof slots, &storage, NULL) !=
	    MPK_OK)
		return NULL;
	heap = mpk_ffi_make_view(storage, &like);
	mpk_storage_drop(storage);
	return heap;
}

static bool is_idle_heap(void *heap, int64_t slots)
{
	const struct mpk_storage *storage = mpk_ffi_view_storage(heap);
	const struct mpk_dltensor *t = mpk_ffi_cell(MPK_CONV_FFI, heap);

	return storage && mpk_ffi_is_only(heap) && holders_of(storage) == 1 && t->shape[0] == slots;
}

/* Clears the slots, so that a slot that is read before it was matched is 0. */
static void *relax_kept_heap(struct mpk_relax_vm *vm, int64_t slots)
{
	void **site = vm->kept && vm->kept->now ? next_site(vm->kept->now) : NULL;
	bool again = site && *site && is_idle_heap(*site, slots);
	void *heap = again ? mpk_ffi_lend(*site)
			   : make_heap(vm->allocators[mpk_relax_vm_host(vm)], slots);
	struct mpk_ffi_view_cell *cell;
	struct mpk_relax_sites *shapes;

	if (!heap)
		return NULL;
	memset(mpk_ffi_view_storage(heap)->data, 0, (size_t)slots * sizeof slots);
	cell = mpk_ffi_cell(MPK_CONV_FFI, heap);
	shapes = cell->attached.data;
	if (shapes)
		shapes->at = 0;
	if (again || !site || !attach_sites(&cell->attached))
		return heap;
	return keep(site, heap);
}

static void *relax_kept_shape(void *heap, size_t ndim)
{
	const struct mpk_ffi_view_cell *cell = heap ? kept_cell(heap) : NULL;
	struct mpk_relax_sites *shapes = cell ? cell->attached.data : NULL;
	void **site = shapes ? next_site(shapes) : NULL;
	void *shape = site ? *site : NULL;

	if (shape && mpk_ffi_is_only(shape) &&
	    ((struct mpk_ffi_shape_cell *)mpk_ffi_cell(MPK_CONV_FFI, shape))->size == ndim)
		return mpk_ffi_lend(shape);
	return keep(site, mpk_ffi_make_shape(MPK_CONV_FFI, NULL, ndim));
}

enum { MATCH_IMMEDIATE = 0, MATCH_STORE = 1, MATCH_ANY = 2, MATCH_LOAD = 3 };
enum { MAKE_IMMEDIATE = 0, MAKE_LOAD = 1 };

/* --- arguments ----------------------------------------------------------------------------- */

struct call {
	const struct mpk_ffi_any *args;
	int32_t count;
	struct mpk_ffi_any *result;
};

static const struct mpk_dltensor *tensor_of(const struct mpk_ffi_any *any)
{
	return any->type_index == MPK_FFI_TENSOR ? mpk_ffi_cell(MPK_CONV_FFI, any->v_ptr) : NULL;
}

static bool cell_extents(const struct mpk_ffi_any *any, const int64_t **extents, int64_t *ndim)
{
	const struct mpk_dltensor *t = tensor_of(any);
	const struct mpk_ffi_shape_cell *shape;

	if (t) {
		*extents = t->shape;
		*ndim = t->ndim;
		return true;
	}
	if (any->type_index != MPK_FFI_SHAPE)
		return false;
	shape = mpk_ffi_cell(MPK_CONV_FFI, any->v_ptr);
	*extents = shape->data;
	*ndim = (int64_t)shape->size;
	return true;
}

static bool is_int(const struct mpk_ffi_any *any)
{
	return any->type_index == MPK_FFI_INT;
}

/* The memory scope may be omitted. */
static bool scope_is_plain(const struct call *c, int32_t at)
{
	static const char plain[] = "global";
	const struct mpk_ffi_any *any = &c->args[at];

	if (at == c->count)
		return true;
	if (any->type_index == MPK_FFI_SMALL_STR)
		return any->small_len == sizeof plain - 1 &&
		       memcmp(any->v_bytes, plain, sizeof plain - 1) == 0;
	return any->type_index == MPK_FFI_RAW_STR && strcmp(any->v_c_str, plain) == 0;
}

/* A heap of symbolic extents. An argument that is not a heap has no slots. */
struct heap {
	int64_t *slots;
	int64_t count;
};

static struct heap heap_of(const struct mpk_ffi_any *any)
{
	const struct mpk_dltensor *t = tensor_of(any);

	if (!t || t->ndim != 1 || t->dtype.code != MPK_DTYPE_INT || t->dtype.bits != 64 ||
	    !mpk_dldevice_is_host(t->device))
		return (struct heap){ 0 };
	return (struct heap){ mpk_dltensor_data(t), t->shape[0] };
}

static int64_t *heap_slot(struct heap heap, int64_t index)
{
	return index < 0 || index >= heap.count ? NULL : heap.slots + index;
}

static bool give_cell(const struct call *c, int32_t type, void *object)
{
	/* in one store: the caller loads the cell as a whole and would stall on stores of its parts */
	uint64_t __attribute__((vector_size(16))) whole = { (uint32_t)type, (uintptr_t)object };

	if (object)
		memcpy(c->result, &whole, sizeof whole);
	return object != NULL;
}

static bool give_nothing(const struct call *c)
{
	*c->result = (struct mpk_ffi_any){ 0 };
	return true;
}

/* --- builtins: return false to use the generic builtin -------------------------------------- */

static bool on_null_value(const struct call *c)
{
	return c->count == 0 && give_nothing(c);
}

static bool on_copy(const struct call *c)
{
	int32_t type = c->count == 1 ? c->args[0].type_index : MPK_FFI_DLTENSOR;

	if (type >= MPK_FFI_OBJECT)
		mpk_ffi_hold(MPK_CONV_FFI, c->args[0].v_ptr);
	else if (type >= MPK_FFI_DLTENSOR && type != MPK_FFI_SMALL_STR)
		return false;
	*c->result = c->args[0];
	return true;
}

static bool on_check_tensor_info(const struct call *c)
{
	const struct mpk_dltensor *t =
		c->count == 3 || c->count == 4 ? tensor_of(&c->args[0]) : NULL;

	if (!t || !is_int(&c->args[1]) ||
	    (c->args[1].v_int64 != -1 && c->args[1].v_int64 != t->ndim))
		return false;
	if (c->count == 4 && (c->args[2].type_index != MPK_FFI_DTYPE ||
			      !mpk_dtype_equal(c->args[2].v_dtype, t->dtype)))
		return false;
	return give_nothing(c);
}

static bool match_one(struct heap heap, int64_t code, int64_t operand, int64_t got)
{
	int64_t *slot;

	if (code == MATCH_IMMEDIATE)
		return got == operand;
	if (code == MATCH_ANY)
		return true;
	slot = code == MATCH_STORE || code == MATCH_LOAD ? heap_slot(heap, operand) : NULL;
	if (slot && code == MATCH_STORE)
		*slot = got;
	return slot && *slot == got;
}

/* The arguments are a code and an operand for each extent, then a text. If an extent does not
 * match, the generic builtin stores all extents again. */
static bool on_match_shape(const struct call *c)
{
	const int64_t *extents;
	struct heap heap;
	int64_t ndim;

	if (c->count < 4 || !cell_extents(&c->args[0], &extents, &ndim) || !is_int(&c->args[2]) ||
	    c->args[2].v_int64 != ndim || ndim < 0 || ndim > (c->count - 4) / 2)
		return false;
	heap = heap_of(&c->args[1]);
	for (int64_t i = 0; i < ndim; i++) {
		const struct mpk_ffi_any *pair = &c->args[3 + 2 * i];

		if (!is_int(&pair[0]) || !is_int(&pair[1]) ||
		    !match_one(heap, pair[0].v_int64, pair[1].v_int64, extents[i]))
			return false;
	}
	return give_nothing(c);
}

static bool make_one(struct heap heap, const struct mpk_ffi_any *pair, int64_t *out)
{
	const int64_t *from = &pair[1].v_int64;

	if (!is_int(&pair[0]) || !is_int(&pair[1]))
		return false;
	if (pair[0].v_int64 == MAKE_LOAD)
		from = heap_slot(heap, pair[1].v_int64);
	else if (pair[0].v_int64 != MAKE_IMMEDIATE)
		return false;
	if (from)
		*out = *from;
	return from != NULL;
}

static bool on_make_shape(const struct call *c)
{
	int64_t ndim = c->count >= 2 && is_int(&c->args[1]) ? c->args[1].v_int64 : -1;
	const struct mpk_ffi_shape_cell *cell;
	struct heap heap;
	void *shape;

	if (ndim < 0 || ndim > (c->count - 2) / 2)
		return false;
	heap = heap_of(&c->args[0]);
	shape = relax_kept_shape(heap.slots ? c->args[0].v_ptr : NULL, (size_t)ndim);
	if (!shape)
		return false;
	cell = mpk_ffi_cell(MPK_CONV_FFI, shape);
	for (int64_t i = 0; i < ndim; i++)
		if (!make_one(heap, &c->args[2 + 2 * i], (int64_t *)(uintptr_t)&cell->data[i])) {
			mpk_ffi_drop(MPK_CONV_FFI, shape);
			return false;
		}
	return give_cell(c, MPK_FFI_SHAPE, shape);
}

static struct mpk_relax_vm *machine_of(const struct mpk_ffi_any *any)
{
	return any->type_index == MPK_FFI_OPAQUE ? any->v_ptr : NULL;
}

/* TVM passes the size in bytes itself. */
static bool storage_bytes(struct mpk_dtype dtype, const int64_t *extents, int64_t ndim,
			  uint64_t *out)
{
	if (ndim == 1 && dtype.bits == 8 && dtype.lanes == 1 && extents[0] >= 0) {
		*out = (uint64_t)extents[0];
		return true;
	}
	return mpk_tensor_bytes_of(dtype, extents, (size_t)ndim, out, NULL) == MPK_OK;
}

static bool on_alloc_storage(const struct call *c)
{
	struct mpk_relax_vm *vm = c->count == 4 || c->count == 5 ? machine_of(&c->args[0]) : NULL;
	const int64_t *extents;
	uint64_t bytes;
	int64_t ndim;

	if (!vm || c->args[1].type_index != MPK_FFI_SHAPE ||
	    !cell_extents(&c->args[1], &extents, &ndim) || !is_int(&c->args[2]) ||
	    c->args[2].v_int64 < 0 || (uint64_t)c->args[2].v_int64 >= vm->device_count ||
	    c->args[3].type_index != MPK_FFI_DTYPE || !scope_is_plain(c, 4) ||
	    !storage_bytes(c->args[3].v_dtype, extents, ndim, &bytes))
		return false;
	return give_cell(c, MPK_FFI_STORAGE,
			 relax_kept_storage(vm, (size_t)c->args[2].v_int64, bytes));
}

static bool on_alloc_tensor(const struct call *c)
{
	struct mpk_dltensor like = { 0 };
	const int64_t *extents;
	int64_t ndim;

	if ((c->count != 4 && c->count != 5) || c->args[0].type_index != MPK_FFI_STORAGE ||
	    !is_int(&c->args[1]) || c->args[1].v_int64 < 0 ||
	    c->args[2].type_index != MPK_FFI_SHAPE || c->args[3].type_index != MPK_FFI_DTYPE ||
	    !scope_is_plain(c, 4) || !cell_extents(&c->args[2], &extents, &ndim) ||
	    ndim > MPK_TENSOR_NDIM_MAX)
		return false;
	like.dtype = c->args[3].v_dtype;
	like.ndim = (int32_t)ndim;
	like.shape = (int64_t *)(uintptr_t)extents;
	like.byte_offset = (uint64_t)c->args[1].v_int64;
	return give_cell(c, MPK_FFI_TENSOR, relax_kept_tensor(c->args[0].v_ptr, &like));
}

static bool on_alloc_shape_heap(const struct call *c)
{
	struct mpk_relax_vm *vm = c->count == 2 ? machine_of(&c->args[0]) : NULL;
	int64_t slots = vm && is_int(&c->args[1]) ? c->args[1].v_int64 : -1;

	if (slots < 0 || slots > MPK_RELAX_HEAP_MAX)
		return false;
	return give_cell(c, MPK_FFI_TENSOR, relax_kept_heap(vm, slots));
}

/* Makes a view of the same memory, which must not be larger than the tensor. */
static bool on_reshape(const struct call *c)
{
	const struct mpk_dltensor *t = c->count == 2 ? tensor_of(&c->args[0]) : NULL;
	struct mpk_storage *storage = t ? mpk_ffi_storage_of(c->args[0].v_ptr) : NULL;
	uint64_t have, want;
	struct mpk_dltensor like;
	const int64_t *extents;
	int64_t ndim;

	if (!storage || storage->data != t->data || c->args[1].type_index != MPK_FFI_SHAPE ||
	    !cell_extents(&c->args[1], &extents, &ndim) || !mpk_dltensor_is_compact(t) ||
	    mpk_tensor_bytes_of(t->dtype, t->shape, (size_t)t->ndim, &have, NULL) != MPK_OK ||
	    mpk_tensor_bytes_of(t->dtype, extents, (size_t)ndim, &want, NULL) != MPK_OK ||
	    want > have)
		return false;
	like = *t;
	like.ndim = (int32_t)ndim;
	like.shape = (int64_t *)(uintptr_t)extents;
	return give_cell(c, MPK_FFI_TENSOR, mpk_ffi_make_view(storage, &like));
}

/* --- by name ------------------------------------------------------------------------------- */

#define BUILTINS(X)                                                                                \
	X(alloc_shape_heap)                                                                        \
	X(alloc_storage)                                                                           \
	X(alloc_tensor)                                                                            \
	X(check_tensor_info)                                                                       \
	X(copy)                                                                                    \
	X(make_shape)                                                                              \
	X(match_shape)                                                                             \
	X(null_value)                                                                              \
	X(reshape)

#define ENTER(name)                                                                                \
	static int enter_##name(void *self, const struct mpk_ffi_any *args, int32_t count,         \
				struct mpk_ffi_any *result)                                        \
	{                                                                                          \
		return on_##name(&(struct call){ args, count, result })                            \
			       ? 0                                                                 \
			       : mpk_ffi_enter(self, args, count, result);                         \
	}
BUILTINS(ENTER)

#define ROW(name) { "vm.builtin." #name, enter_##name },
const struct mpk_relax_cells mpk_relax_cells[] = { BUILTINS(ROW){ NULL, NULL } };
