/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - builtins for storages, tensors in them, and tuples */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "executor/relax/internal/relax.h"
#include "runtime/devices.h"
#include "runtime/runtime.h"

/* --- storages ------------------------------------------------------------------------------ */

/* Whether memory of a scope is addressed in bytes; all other scopes are images. */
static bool relax_memory_is_plain(struct mpk_span scope)
{
	return scope.len == 0 || mpk_span_is(scope, "global");
}

static enum mpk_code shape_arg(const char *name, const struct mpk_value *args, size_t i,
			       const struct mpk_shape **out, struct mpk_error *err)
{
	if (args[i].kind != MPK_VALUE_SHAPE)
		return mpk_relax_raise(err, "TypeError", "%s: argument %zu must be a shape, not %s",
				       name, i, mpk_value_kind_name(args[i].kind));
	*out = args[i].shape;
	return MPK_OK;
}

static enum mpk_code dtype_arg(const char *name, const struct mpk_value *args, size_t i,
			       struct mpk_dtype *out, struct mpk_error *err)
{
	if (args[i].kind != MPK_VALUE_DTYPE)
		return mpk_relax_raise(err, "TypeError", "%s: argument %zu must be a type, not %s",
				       name, i, mpk_value_kind_name(args[i].kind));
	*out = args[i].dtype;
	return MPK_OK;
}

/* Returns the scope argument, which may be omitted: then memory is plain. */
static struct mpk_span scope_arg(const struct mpk_value *args, size_t count, size_t i)
{
	if (i < count && args[i].kind == MPK_VALUE_STR)
		return mpk_value_text_span(&args[i]);
	return (struct mpk_span){ 0 };
}

static enum mpk_code alloc_storage(const struct mpk_value *args, size_t count,
				   struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.alloc_storage";
	struct mpk_relax_vm *vm;
	const struct mpk_shape *shape;
	struct mpk_storage *storage;
	struct mpk_dtype dtype;
	struct mpk_span scope;
	uint64_t bytes;
	int64_t device;

	MPK_TRY(mpk_relax_arity(name, count, 4, 5, err));
	MPK_TRY(mpk_relax_machine(name, args, &vm, err));
	MPK_TRY(shape_arg(name, args, 1, &shape, err));
	MPK_TRY(mpk_relax_int(name, args, 2, &device, err));
	MPK_TRY(dtype_arg(name, args, 3, &dtype, err));
	scope = scope_arg(args, count, 4);
	if (device < 0 || (uint64_t)device >= vm->device_count)
		return mpk_relax_raise(err, "ValueError",
				       "%s: device %" PRId64
				       " of %zu: the model wants more devices",
				       name, device, vm->device_count);
	if (!relax_memory_is_plain(scope)) {
		MPK_TRY(mpk_texture_storage(mpk_runtime_devices(vm->program->base.runtime),
					    vm->devices[device],
					    &(struct mpk_texture_tensor){ .scope = scope,
									  .dtype = dtype,
									  .shape = shape->extents,
									  .ndim = shape->ndim },
					    &storage, err));
	} else {
		MPK_TRY(mpk_tensor_bytes_of(dtype, shape->extents, shape->ndim, &bytes, err));
		MPK_TRY(mpk_allocator_storage(vm->allocators[device], bytes, &storage, err));
	}
	*result = mpk_value_of_storage(storage);
	return MPK_OK;
}

/* Allocates a tensor on a virtual device whose memory is images: it has its own image and is not
 * part of the storage. A storage in host memory means that the caller named no device for the
 * virtual one; then the image is on the device of the model's tensors. */
static enum mpk_code alloc_image(const struct mpk_storage *storage,
				 const struct mpk_texture_tensor *texture, struct mpk_value *result,
				 struct mpk_error *err)
{
	struct mpk_runtime *runtime = mpk_context_get().runtime;
	struct mpk_dldevice where = storage->device;
	struct mpk_storage *image;
	struct mpk_tensor *t;
	size_t count;

	if (!runtime)
		return mpk_fail(err, MPK_E_INTERNAL, "an image is allocated outside of any call");
	if (mpk_dldevice_is_host(where))
		where = mpk_runtime_get_devices(runtime, &count, NULL)[0];
	MPK_TRY(mpk_texture_storage(mpk_runtime_devices(runtime), where, texture, &image, err));
	enum mpk_code code =
		mpk_tensor_view(image, 0, texture->dtype, texture->shape, texture->ndim, &t, err);

	mpk_storage_drop(image);
	MPK_TRY(code);
	*result = mpk_value_of_tensor(t);
	return MPK_OK;
}

static enum mpk_code alloc_tensor(const struct mpk_value *args, size_t count,
				  struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.alloc_tensor";
	const struct mpk_shape *shape;
	struct mpk_dtype dtype;
	struct mpk_tensor *t;
	int64_t offset;

	MPK_TRY(mpk_relax_arity(name, count, 4, 5, err));
	if (args[0].kind != MPK_VALUE_STORAGE)
		return mpk_relax_raise(err, "TypeError", "%s: argument 0 must be a storage, not %s",
				       name, mpk_value_kind_name(args[0].kind));
	MPK_TRY(mpk_relax_int(name, args, 1, &offset, err));
	MPK_TRY(shape_arg(name, args, 2, &shape, err));
	MPK_TRY(dtype_arg(name, args, 3, &dtype, err));
	if (offset < 0)
		return mpk_relax_raise(err, "ValueError", "%s: offset %" PRId64, name, offset);
	if (!relax_memory_is_plain(scope_arg(args, count, 4)))
		return alloc_image(args[0].storage,
				   &(struct mpk_texture_tensor){ .scope = scope_arg(args, count, 4),
								 .dtype = dtype,
								 .shape = shape->extents,
								 .ndim = shape->ndim },
				   result, err);
	MPK_TRY(mpk_tensor_view(args[0].storage, (uint64_t)offset, dtype, shape->extents,
				shape->ndim, &t, err));
	*result = mpk_value_of_tensor(t);
	return MPK_OK;
}

/* Takes no arguments and returns nothing: byte code uses it to empty registers. */
static enum mpk_code null_value(const struct mpk_value *args, size_t count,
				struct mpk_value *result, struct mpk_error *err)
{
	(void)args;
	(void)result;
	return mpk_relax_arity("vm.builtin.null_value", count, 0, 0, err);
}

/* Copies the reference, not the content: it moves constants and integers into registers. */
static enum mpk_code relax_memory_copy(const struct mpk_value *args, size_t count,
				       struct mpk_value *result, struct mpk_error *err)
{
	MPK_TRY(mpk_relax_arity("vm.builtin.copy", count, 1, 1, err));
	*result = mpk_value_hold(args[0]);
	return MPK_OK;
}

/* --- views --------------------------------------------------------------------------------- */

/* Makes a tensor over the same memory; a view of a borrowed tensor is borrowed. */
static enum mpk_code view_of(struct mpk_tensor *t, struct mpk_dtype dtype, const int64_t *shape,
			     size_t ndim, uint64_t offset, struct mpk_value *result,
			     struct mpk_error *err)
{
	struct mpk_dltensor dl = t->dl;
	struct mpk_tensor *view;

	dl.dtype = dtype;
	dl.ndim = (int32_t)ndim;
	dl.shape = (int64_t *)(uintptr_t)shape;
	dl.strides = NULL;
	dl.byte_offset += offset;
	MPK_TRY(mpk_tensor_wrap(&dl, t->storage, &view, err));
	*result = mpk_value_of_tensor(view);
	return MPK_OK;
}

static enum mpk_code reshape(const struct mpk_value *args, size_t count, struct mpk_value *result,
			     struct mpk_error *err)
{
	static const char name[] = "vm.builtin.reshape";
	const struct mpk_shape *shape;
	struct mpk_tensor *t;
	uint64_t bytes;

	MPK_TRY(mpk_relax_arity(name, count, 2, 2, err));
	MPK_TRY(mpk_relax_tensor(name, args, 0, &t, err));
	MPK_TRY(shape_arg(name, args, 1, &shape, err));
	MPK_TRY(mpk_tensor_bytes_of(t->dl.dtype, shape->extents, shape->ndim, &bytes, err));
	/* a larger view would reach past the storage */
	if (!mpk_dltensor_is_compact(&t->dl) || bytes > t->bytes)
		return mpk_relax_raise(
			err, "ValueError", "%s: %" PRIu64 " bytes of a tensor of %" PRIu64 "%s",
			name, bytes, t->bytes, mpk_dltensor_is_compact(&t->dl) ? "" : " with gaps");
	return view_of(t, t->dl.dtype, shape->extents, shape->ndim, 0, result, err);
}

/* Makes a view with any type and shape over a part of a tensor's memory. */
static enum mpk_code create_view(const struct mpk_value *args, size_t count,
				 struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "runtime.TVMTensorCreateView";
	const struct mpk_shape *shape;
	struct mpk_dtype dtype;
	struct mpk_tensor *t;
	uint64_t bytes;
	int64_t offset;

	MPK_TRY(mpk_relax_arity(name, count, 4, 4, err));
	MPK_TRY(mpk_relax_tensor(name, args, 0, &t, err));
	MPK_TRY(shape_arg(name, args, 1, &shape, err));
	MPK_TRY(dtype_arg(name, args, 2, &dtype, err));
	MPK_TRY(mpk_relax_int(name, args, 3, &offset, err));
	MPK_TRY(mpk_tensor_bytes_of(dtype, shape->extents, shape->ndim, &bytes, err));
	if (offset < 0 || bytes > t->bytes || (uint64_t)offset > t->bytes - bytes ||
	    !mpk_dltensor_is_compact(&t->dl))
		return mpk_relax_raise(err, "ValueError",
				       "%s: %" PRIu64 " bytes at byte %" PRId64
				       " of a tensor of %" PRIu64,
				       name, bytes, offset, t->bytes);
	return view_of(t, dtype, shape->extents, shape->ndim, (uint64_t)offset, result, err);
}

/* --- between devices ----------------------------------------------------------------------- */

/* Makes a copy of a tensor on a device. Builtins have no machine, so devices are those of the
 * call's context. */
static enum mpk_code copy_to(struct mpk_tensor *t, struct mpk_dldevice where,
			     struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_runtime *runtime = mpk_context_get().runtime;
	struct mpk_tensor *made;

	if (!runtime)
		return mpk_fail(err, MPK_E_INTERNAL, "a tensor is copied outside of any call");
	MPK_TRY(mpk_devices_empty(mpk_runtime_devices(runtime), t, where, &made, err));
	enum mpk_code code =
		mpk_devices_copy(mpk_runtime_devices(runtime), &t->dl, &made->dl, t->bytes, err);

	if (code != MPK_OK) {
		mpk_tensor_drop(made);
		return code;
	}
	*result = mpk_value_of_tensor(made);
	return MPK_OK;
}

/* Copies even if the tensor is on that device, because the program may write to the copy. */
static enum mpk_code to_device(const struct mpk_value *args, size_t count, struct mpk_value *result,
			       struct mpk_error *err)
{
	static const char name[] = "vm.builtin.to_device";
	struct mpk_dldevice where;
	struct mpk_tensor *t;
	int64_t type, id;

	MPK_TRY(mpk_relax_arity(name, count, 3, 4, err));
	MPK_TRY(mpk_relax_tensor(name, args, 0, &t, err));
	MPK_TRY(mpk_relax_int(name, args, 1, &type, err));
	MPK_TRY(mpk_relax_int(name, args, 2, &id, err));
	if (type < 0 || type > INT32_MAX || id < 0 || id > INT32_MAX ||
	    !mpk_dltensor_is_compact(&t->dl))
		return mpk_relax_raise(err, "ValueError", "%s: wrong arguments", name);
	where = (struct mpk_dldevice){ (int32_t)type, (int32_t)id };
	if (relax_memory_is_plain(scope_arg(args, count, 3)))
		return copy_to(t, where, result, err);

	const char *scope = args[3].text->data;
	struct mpk_runtime *runtime = mpk_context_get().runtime;
	struct mpk_tensor *image;

	if (!runtime)
		return mpk_fail(err, MPK_E_INTERNAL, "a tensor is copied outside of any call");
	MPK_TRY(mpk_texture_send(mpk_runtime_devices(runtime), t, scope, where, &image, err));
	*result = mpk_value_of_tensor(image);
	return MPK_OK;
}

/* Kernels of some devices accept no offset: returns the same memory with an adjusted address, or a
 * copy. */
static enum mpk_code ensure_zero_offset(const struct mpk_value *args, size_t count,
					struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.ensure_zero_offset";
	struct mpk_tensor *t, *view;

	MPK_TRY(mpk_relax_arity(name, count, 1, 1, err));
	MPK_TRY(mpk_relax_tensor(name, args, 0, &t, err));
	if (t->dl.byte_offset == 0) {
		*result = mpk_value_hold(args[0]);
		return MPK_OK;
	}
	/* OpenCL's memory objects have no address to add an offset to */
	if (t->dl.device.type == MPK_DL_OPENCL || t->dl.byte_offset % MPK_STORAGE_ALIGN)
		return copy_to(t, t->dl.device, result, err);
	struct mpk_dltensor dl = t->dl;

	dl.data = mpk_dltensor_data(&dl);
	dl.byte_offset = 0;
	MPK_TRY(mpk_tensor_wrap(&dl, t->storage, &view, err));
	*result = mpk_value_of_tensor(view);
	return MPK_OK;
}

/* --- tuples -------------------------------------------------------------------------------- */

static enum mpk_code make_tuple(const struct mpk_value *args, size_t count,
				struct mpk_value *result, struct mpk_error *err)
{
	MPK_TRY(mpk_value_of_array(count, result, err));
	for (size_t i = 0; i < count; i++)
		result->array->items[i] = mpk_value_hold(args[i]);
	return MPK_OK;
}

/* Gets an item of a tuple, to change it in place; borrowed. */
static enum mpk_code item_of(const char *name, const struct mpk_value *args, struct mpk_value **out,
			     struct mpk_error *err)
{
	int64_t index;

	if (args[0].kind != MPK_VALUE_ARRAY)
		return mpk_relax_raise(err, "TypeError", "%s: argument 0 must be a tuple, not %s",
				       name, mpk_value_kind_name(args[0].kind));
	MPK_TRY(mpk_relax_int(name, args, 1, &index, err));
	if (index < 0 || (uint64_t)index >= args[0].array->count)
		return mpk_relax_raise(err, "IndexError", "%s: item %" PRId64 " of %zu", name,
				       index, args[0].array->count);
	*out = &args[0].array->items[index];
	return MPK_OK;
}

static enum mpk_code tuple_getitem(const struct mpk_value *args, size_t count,
				   struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.tuple_getitem";
	struct mpk_value *item;

	MPK_TRY(mpk_relax_arity(name, count, 2, 2, err));
	MPK_TRY(item_of(name, args, &item, err));
	*result = mpk_value_hold(*item);
	return MPK_OK;
}

/* Changes the tuple in place, so that the caller's tuple changes too; that is its purpose. */
static enum mpk_code tuple_reset_item(const struct mpk_value *args, size_t count,
				      struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.tuple_reset_item";
	struct mpk_value *item;

	(void)result;
	MPK_TRY(mpk_relax_arity(name, count, 2, 2, err));
	MPK_TRY(item_of(name, args, &item, err));
	mpk_value_drop(item);
	return MPK_OK;
}

/* TVM frees its memory pools here. */
static enum mpk_code clear(const struct mpk_value *args, size_t count, struct mpk_value *result,
			   struct mpk_error *err)
{
	(void)args;
	(void)result;
	/* kept memory is limited, and freed with the machine */
	return mpk_relax_arity("vm.builtin.memory_manager.clear", count, 0, 0, err);
}

static const struct mpk_relax_builtin rows[] = {
#define MPK_ROW_memory(...) __VA_ARGS__,
#include "executor/relax/family.def"
};
const struct mpk_relax_builtins mpk_relax_memory_builtins = { rows, MPK_ARRAY_COUNT(rows) };
