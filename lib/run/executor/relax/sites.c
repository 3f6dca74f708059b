/* SPDX-License-Identifier: Apache-2.0 */
/* sites.c - storages, tensors and shapes that compiled functions keep from one call to the next
 *
 * In each call a compiled function asks for the same objects in the same order. Those of the call before are
 * given again where nobody else has them any more: a count of references that is 1 says so, and that nobody
 * can change it meanwhile. A storage keeps the tensors in it, a heap of extents the shapes that were made
 * from it. What a function asks for in another order is made anew, so that the order is a guess and no more.
 *
 * What is kept is not shared by what is alive at other times, so that only small storages are.
 */
#include "executor/relax/internal/relax.h"

#include <stdlib.h>
#include <string.h>

#include "abi/ffi_object.h"
#include "base/vec.h"

enum {
	SITES_MAX = 4096,           /* a function, and shapes a heap */
	VIEWS_MAX = 4,              /* a storage */
	STORAGE_MAX = 32 << 10,     /* bytes of one */
	STORAGES_BYTES = 256 << 10, /* of all, a machine */
};

/* --- objects in the order in which they are asked for ----------------------------------------- */

/* Where the object of the next site is; NULL: there are too many, or memory is out. */
static void **next_site(struct mpk_relax_sites *s)
{
	if (s->at == s->count) {
		if (s->count == SITES_MAX ||
		    !mpk_vec_reserve(&s->objects, &s->cap, s->count + 1, sizeof *s->objects))
			return NULL;
		s->objects[s->count++] = NULL;
	}
	return &s->objects[s->at++];
}

/* Keeps an object that was made just now in place of the one before; the other reference is the caller's. */
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

/* The cell of an object that a list of sites has or had: its type says of which kind. Nobody else attaches anything.
 * NULL: the object was never kept. */
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

/* Besides the box each of its tensors has a reference, and is idle itself. */
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

void *mpk_relax_kept_storage(struct mpk_relax_vm *vm, size_t device, uint64_t bytes)
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

	/* In place of what was at the site, which is gone before memory is asked for. */
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

/* One that is the same already, the one after the last first; else a new one, else another one in its place. */
void *mpk_relax_kept_tensor(void *box, const struct mpk_dltensor *like)
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

/* A slot that is read before it was matched is 0, not what was there. */
void *mpk_relax_kept_heap(struct mpk_relax_vm *vm, int64_t slots)
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

void *mpk_relax_kept_shape(void *heap, size_t ndim)
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
