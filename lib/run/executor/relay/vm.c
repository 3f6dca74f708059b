/* SPDX-License-Identifier: Apache-2.0 */
/* vm.c - machines: their devices and constants */
#include "executor/relay/internal/vm.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "executor/constant.h"
#include "executor/plan/plan.h"
#include "text/escape.h"

/* --- devices ------------------------------------------------------------------------------- */

static enum mpk_code choose_device(int32_t type, const struct mpk_dldevice *devices, size_t count,
				   struct mpk_dldevice *out, struct mpk_error *err)
{
	*out = (struct mpk_dldevice){ MPK_DL_CPU, 0 };
	for (size_t i = 0; i < count; i++)
		if (devices[i].type == type) {
			*out = devices[i];
			return MPK_OK;
		}
	if (type == MPK_DL_CPU)
		return MPK_OK;
	if (mpk_device_kind_from(type) == MPK_DEVICE_NONE)
		return mpk_fail(err, MPK_E_LOAD,
				"the model is compiled for devices of DLPack type %" PRId32
				", which do not run here",
				type);
	return mpk_fail(err, MPK_E_LOAD,
			"the model is compiled for %s and was given no such device",
			mpk_device_kind_name(mpk_device_kind_from(type)));
}

static enum mpk_code take_devices(struct mpk_relay_vm *vm, const struct mpk_dldevice *devices,
				  size_t count, struct mpk_error *err)
{
	const struct mpk_relay_program *p = vm->program;

	for (size_t i = 0; i < p->place_count; i++) {
		MPK_TRY(choose_device(p->places[i].type, devices, count, &vm->devices[i], err));
		MPK_TRY(mpk_devices_allocator(mpk_relay_vm_devices(vm), vm->devices[i],
					      &vm->allocators[i], err));
	}
	vm->plans = mpk_plans_create(&(struct mpk_plan_places){
		.devices = mpk_relay_vm_devices(vm),
		.where = vm->devices,
		.allocators = vm->allocators,
		.count = p->place_count,
	});
	MPK_TRY_ALLOC(vm->plans, err);
	return MPK_OK;
}

/* --- life ---------------------------------------------------------------------------------- */

enum mpk_code mpk_relay_vm_create(struct mpk_relay_program *program, mpk_relay_invoke_fn *invoke,
				  const struct mpk_dldevice *devices, size_t count,
				  struct mpk_relay_vm **out, struct mpk_error *err)
{
	struct mpk_relay_vm *vm = calloc(1, sizeof *vm);
	enum mpk_code code;

	MPK_TRY_ALLOC(vm, err);
	atomic_init(&vm->refs, 1);
	vm->invoke = invoke;
	vm->step_limit = UINT64_MAX;
	mpk_lock_init_recursive(&vm->lock);
	vm->program = mpk_relay_program_hold(program);
	vm->devices = calloc(program->place_count + 1, sizeof *vm->devices);
	vm->allocators = calloc(program->place_count + 1, sizeof(struct mpk_allocator *));
	vm->constants = calloc(program->const_count + 1, sizeof(struct mpk_tensor *));
	code = vm->devices && vm->allocators && vm->constants
		       ? take_devices(vm, devices, count, err)
		       : mpk_fail_nomem(err);
	if (code != MPK_OK) {
		mpk_relay_vm_drop(vm);
		return mpk_failed(code);
	}
	*out = vm;
	return MPK_OK;
}

struct mpk_relay_vm *mpk_relay_vm_hold(struct mpk_relay_vm *vm)
{
	(void)atomic_fetch_add_explicit(&vm->refs, 1, memory_order_relaxed);
	return vm;
}

void mpk_relay_vm_drop(struct mpk_relay_vm *vm)
{
	if (!vm || atomic_fetch_sub_explicit(&vm->refs, 1, memory_order_acq_rel) != 1)
		return;
	mpk_plans_destroy(vm->plans);
	for (size_t i = 0; vm->constants && i < vm->program->const_count; i++)
		mpk_tensor_drop(vm->constants[i]);
	free(vm->constants);
	free(vm->devices);
	free(vm->allocators);
	free(vm->stack);
	free(vm->frames);
	(void)pthread_mutex_destroy(&vm->lock);
	mpk_relay_program_drop(vm->program);
	free(vm);
}

/* --- constants ----------------------------------------------------------------------------- */

static enum mpk_code make_number(int64_t number, struct mpk_tensor **out, struct mpk_error *err)
{
	static const struct mpk_dtype i64 = { MPK_DTYPE_INT, 64, 1 };
	static const int64_t one = 1;

	MPK_TRY(mpk_tensor_create(i64, &one, 1, MPK_STORAGE_PRIVATE, out, err));
	memcpy((*out)->dl.data, &number, sizeof number);
	return MPK_OK;
}

static enum mpk_code make_stored(struct mpk_relay_vm *vm, const struct mpk_tensor_record *r,
				 struct mpk_dldevice where, struct mpk_tensor **out,
				 struct mpk_error *err)
{
	struct mpk_storage *storage;

	MPK_TRY(mpk_constant_storage(vm->program->host, r->data, r->dtype, where, &storage, err));
	enum mpk_code code = mpk_tensor_view(storage, 0, r->dtype, r->shape, r->ndim, out, err);

	mpk_storage_drop(storage);
	return code;
}

static enum mpk_code make_constant(struct mpk_relay_vm *vm, size_t index, struct mpk_tensor **out,
				   struct mpk_error *err)
{
	const struct mpk_relay_program *p = vm->program;

	if (index >= p->x.const_count)
		return make_number(p->numbers[index - p->x.const_count], out, err);
	const struct mpk_relay_const *c = &p->x.consts[index];
	uint32_t place = p->const_places[index];

	if (!mpk_relay_place_is_plain(&p->places[place]))
		return mpk_fail(err, MPK_E_UNSUPPORTED, "constant %zu is to be an image, '%s'",
				index, MPK_QUOTE(p->places[place].scope));
	if (!c->late_bound)
		return make_stored(vm, &c->tensor, vm->devices[place], out, err);
	if (!p->late[index])
		return mpk_fail(err, MPK_E_LOAD, "constant '%s' was never bound",
				MPK_QUOTE(c->name));
	return mpk_devices_send(mpk_relay_vm_devices(vm), p->late[index], vm->devices[place], out,
				err);
}

enum mpk_code mpk_relay_vm_constant(struct mpk_relay_vm *vm, size_t index, struct mpk_tensor **out,
				    struct mpk_error *err)
{
	if (!vm->constants[index])
		MPK_TRY(make_constant(vm, index, &vm->constants[index], err));
	*out = vm->constants[index];
	return MPK_OK;
}
