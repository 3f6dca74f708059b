/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - instructions that make storages, tensors in them, and copies */
#include <inttypes.h>
#include <string.h>

#include "executor/plan/plan.h"
#include "executor/relay/internal/ops.h"
#include "runtime/textures.h"
#include "text/escape.h"

/* --- storages ------------------------------------------------------------------------------ */

static enum mpk_code image(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
			   struct mpk_storage **out, struct mpk_error *err)
{
	const struct mpk_relay_place *place = &vm->program->places[s->index];
	struct mpk_texture_tensor texture = { .scope = place->scope,
					      .dtype = s->dtype,
					      .shape = vm->program->extents + s->first,
					      .ndim = s->count };

	if (!s->count)
		return mpk_relay_fault(vm, err, "ValueError",
				       "a storage of scope '%s' has no shape",
				       MPK_QUOTE(place->scope));
	return mpk_texture_storage(mpk_relay_vm_devices(vm), vm->devices[s->index], &texture, out,
				   err);
}

enum mpk_code mpk_relay_alloc_storage(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				      struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_storage *storage;
	uint64_t bytes;
	int64_t size;

	if (!mpk_relay_place_is_plain(&vm->program->places[s->index])) {
		MPK_TRY(image(vm, s, &storage, err));
	} else {
		if (s->count) {
			MPK_TRY(mpk_tensor_bytes_of(s->dtype, vm->program->extents + s->first,
						    s->count, &bytes, err));
		} else {
			MPK_TRY(mpk_relay_scalar(vm, s->reg[0], &size, err));
			if (size < 0)
				return mpk_relay_fault(vm, err, "ValueError",
						       "a storage of %" PRId64 " bytes", size);
			bytes = (uint64_t)size;
		}
		MPK_TRY(mpk_allocator_storage(vm->allocators[s->index], bytes, &storage, err));
	}
	mpk_record_storage(vm->recorder, storage);
	*result = mpk_value_of_storage(storage);
	return MPK_OK;
}

/* --- tensors ------------------------------------------------------------------------------- */

static enum mpk_code tensor_in(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
			       const int64_t *shape, size_t ndim, struct mpk_value *result,
			       struct mpk_error *err)
{
	const struct mpk_value *storage = &mpk_relay_registers(vm)[s->reg[0]];
	struct mpk_tensor *t;
	int64_t offset;

	if (storage->kind != MPK_VALUE_STORAGE)
		return mpk_relay_fault(vm, err, "TypeError",
				       "register %" PRIu32 " must hold a storage, not %s",
				       s->reg[0], mpk_value_kind_name(storage->kind));
	MPK_TRY(mpk_relay_scalar(vm, s->reg[1], &offset, err));
	if (offset < 0)
		return mpk_relay_fault(vm, err, "ValueError", "a tensor at byte %" PRId64, offset);
	MPK_TRY(mpk_tensor_view(storage->storage, (uint64_t)offset, s->dtype, shape, ndim, &t,
				err));
	*result = mpk_value_of_tensor(t);
	return MPK_OK;
}

enum mpk_code mpk_relay_alloc_tensor(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				     struct mpk_value *result, struct mpk_error *err)
{
	return tensor_in(vm, s, vm->program->extents + s->first, s->count, result, err);
}

enum mpk_code mpk_relay_alloc_tensor_reg(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
					 struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_relay_extents shape;

	MPK_TRY(mpk_relay_shape_in(vm, s->reg[2], &shape, err));
	return tensor_in(vm, s, shape.extents, shape.ndim, result, err);
}

/* A view of the same memory. */
enum mpk_code mpk_relay_reshape_tensor(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				       struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_relay_extents shape;
	struct mpk_tensor *t, *view;
	struct mpk_dltensor dl;
	uint64_t bytes;

	MPK_TRY(mpk_relay_tensor(vm, s->reg[0], &t, err));
	MPK_TRY(mpk_relay_shape_in(vm, s->reg[1], &shape, err));
	MPK_TRY(mpk_tensor_bytes_of(t->dl.dtype, shape.extents, shape.ndim, &bytes, err));
	if (!mpk_dltensor_is_compact(&t->dl) || bytes > t->bytes)
		return mpk_relay_fault(vm, err, "ValueError",
				       "a view of %" PRIu64 " bytes of a tensor of %" PRIu64 "%s",
				       bytes, t->bytes,
				       mpk_dltensor_is_compact(&t->dl) ? "" : " with gaps");
	dl = t->dl;
	dl.ndim = (int32_t)shape.ndim;
	dl.shape = shape.extents;
	dl.strides = NULL;
	MPK_TRY(mpk_tensor_wrap(&dl, t->storage, &view, err));
	*result = mpk_value_of_tensor(view);
	return MPK_OK;
}

/* --- what the machine writes itself -------------------------------------------------------- */

/* A list of numbers on the host, whose content follows from shapes and tags. */
static enum mpk_code host_list(struct mpk_relay_vm *vm, struct mpk_dtype dtype, const void *numbers,
			       int64_t count, struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_storage *storage;
	struct mpk_tensor *t;
	enum mpk_code code;

	MPK_TRY(mpk_allocator_storage(vm->allocators[vm->program->host_place],
				      (uint64_t)count * mpk_dtype_bytes(dtype), &storage, err));
	code = mpk_tensor_view(storage, 0, dtype, &count, 1, &t, err);
	mpk_storage_drop(storage);
	MPK_TRY(code);
	if (t->bytes)
		memcpy(t->dl.data, numbers, (size_t)t->bytes);
	mpk_record_known(vm->recorder, t);
	*result = mpk_value_of_tensor(t);
	return MPK_OK;
}

enum mpk_code mpk_relay_shape_of(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				 struct mpk_value *result, struct mpk_error *err)
{
	static const struct mpk_dtype i64 = { MPK_DTYPE_INT, 64, 1 };
	struct mpk_tensor *t;

	MPK_TRY(mpk_relay_tensor(vm, s->reg[0], &t, err));
	return host_list(vm, i64, t->dl.shape, t->dl.ndim, result, err);
}

enum mpk_code mpk_relay_get_tag(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				struct mpk_value *result, struct mpk_error *err)
{
	static const struct mpk_dtype i32 = { MPK_DTYPE_INT, 32, 1 };
	const struct mpk_value *v = &mpk_relay_registers(vm)[s->reg[0]];

	if (v->kind != MPK_VALUE_ARRAY)
		return mpk_relay_fault(vm, err, "TypeError",
				       "register %" PRIu32 " must hold a data type, not %s",
				       s->reg[0], mpk_value_kind_name(v->kind));
	return host_list(vm, i32, &v->array->tag, 1, result, err);
}

/* --- between devices ----------------------------------------------------------------------- */

enum mpk_code mpk_relay_device_copy(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				    struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_devices *devices = mpk_relay_vm_devices(vm);
	const struct mpk_relay_place *to = &vm->program->places[s->index];
	struct mpk_tensor *t, *made;
	enum mpk_code code;

	MPK_TRY(mpk_relay_tensor(vm, s->reg[0], &t, err));
	if (!mpk_dldevice_equal(t->dl.device, vm->devices[s->from]))
		return mpk_relay_fault(
			vm, err, "ValueError",
			"a copy from device %d of type %d finds its tensor on device %d of type %d",
			vm->devices[s->from].id, vm->devices[s->from].type, t->dl.device.id,
			t->dl.device.type);
	if (!mpk_relay_place_is_plain(to))
		return mpk_fail(err, MPK_E_UNSUPPORTED, "a copy into an image, '%s'",
				MPK_QUOTE(to->scope));
	MPK_TRY(mpk_devices_empty(devices, t, vm->devices[s->index], &made, err));
	code = mpk_devices_copy(devices, &t->dl, &made->dl, t->bytes, err);
	if (code != MPK_OK) {
		mpk_tensor_drop(made);
		return mpk_failed(code);
	}
	mpk_record_copy(vm->recorder, t, made);
	*result = mpk_value_of_tensor(made);
	return MPK_OK;
}
