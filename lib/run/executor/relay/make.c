/* SPDX-License-Identifier: Apache-2.0 */
/* make.c - steps that make a value: memory, tensors, constants, tuples, closures and copies
 *
 * Relay has no scalars. Sizes, offsets and conditions are tensors on the host, which steps read.
 * Every read is reported to the recorder: a plan omits these steps, so the number read must be the
 * same in every call with the same shapes. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/convention.h"
#include "executor/plan/plan.h"
#include "executor/relay/internal/relay.h"
#include "runtime/devices.h"
#include "text/escape.h"

/* --- Calls of kernels, and what a recorder notes of them.
 *
 * Relay computes shapes with compiled functions: shape functions compute later shapes from an
 * input's shape, and two small kernels compute sizes in bytes. If all inputs of a kernel follow
 * from the shapes of the call, and its outputs are a few integers on the host, then its results are
 * known too and the plan omits the kernel. */

enum { FEW = 24 }; /* arguments that fit without an allocation */

/* The arguments of one call, with tuples flattened; borrowed from registers. */
struct arguments {
	struct mpk_value few[FEW], *values;
	size_t count;
	size_t outputs; /* index of the first output */
};

static void arguments_fini(struct arguments *a)
{
	if (a->values != a->few)
		free(a->values);
}

/* Counts each field of a tuple as one argument. */
static size_t count_arguments(const struct mpk_relay_vm *vm, const struct mpk_relay_step *s)
{
	const struct mpk_value *registers = mpk_relay_registers(vm);
	size_t count = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		const struct mpk_value *v = &registers[vm->program->registers[s->first + i]];

		count += v->kind == MPK_VALUE_ARRAY ? v->array->count : 1;
	}
	return count;
}

static enum mpk_code relay_packed_put(const struct mpk_relay_vm *vm, struct arguments *a,
				      uint32_t reg, const struct mpk_value *v,
				      struct mpk_error *err)
{
	if (v->kind != MPK_VALUE_TENSOR)
		return mpk_relay_fault(vm, err, "TypeError",
				       "register %" PRIu32
				       " must hold a tensor or a tuple of tensors, not %s",
				       reg, mpk_value_kind_name(v->kind));
	a->values[a->count++] = *v;
	return MPK_OK;
}

static enum mpk_code put_register(const struct mpk_relay_vm *vm, struct arguments *a, uint32_t reg,
				  struct mpk_error *err)
{
	const struct mpk_value *v = &mpk_relay_registers(vm)[reg];

	if (v->kind != MPK_VALUE_ARRAY)
		return relay_packed_put(vm, a, reg, v, err);
	for (size_t i = 0; i < v->array->count; i++)
		MPK_TRY(relay_packed_put(vm, a, reg, &v->array->items[i], err));
	return MPK_OK;
}

static enum mpk_code relay_packed_collect(const struct mpk_relay_vm *vm,
					  const struct mpk_relay_step *s, struct arguments *a,
					  struct mpk_error *err)
{
	const uint32_t *registers = vm->program->registers + s->first;
	size_t count = count_arguments(vm, s);

	a->values = a->few;
	a->count = a->outputs = 0;
	if (count > FEW)
		a->values = malloc(count * sizeof *a->values);
	MPK_TRY_ALLOC(a->values, err);
	for (uint32_t i = 0; i < s->count; i++) {
		/* outputs come last: from here on all arguments are outputs */
		if (i == s->count - (uint32_t)s->number)
			a->outputs = a->count;
		enum mpk_code code = put_register(vm, a, registers[i], err);

		if (code != MPK_OK) {
			arguments_fini(a);
			return code;
		}
	}
	if (!s->number)
		a->outputs = a->count;
	return MPK_OK;
}

/* --- the call ------------------------------------------------------------------------------ */

/* Whether the kernel's only output has no elements: TVM does not call such a kernel. A kernel
 * without exactly one output tensor is called. */
static bool has_nothing_to_do(const struct mpk_relay_vm *vm, const struct mpk_relay_step *s)
{
	uint32_t last = s->number == 1 ? vm->program->registers[s->first + s->count - 1] : 0;
	const struct mpk_value *v = &mpk_relay_registers(vm)[last];

	if (s->number != 1 || v->kind != MPK_VALUE_TENSOR)
		return false;
	/* tests each extent, because the product of the others may overflow */
	for (int32_t i = 0; i < v->tensor->dl.ndim; i++)
		if (v->tensor->dl.shape[i] == 0)
			return true;
	return false;
}

static enum mpk_code relay_packed_call(struct mpk_function *f, const struct arguments *a,
				       struct mpk_error *err)
{
	struct mpk_value none = { 0 };

	if (f->address) {
		/* For code at an address: argument cells on the stack if they fit, to avoid an allocation. */
		_Alignas(16) char few[FEW * sizeof(struct mpk_ffi_any)];
		size_t bytes = mpk_packed_bytes(f->convention, a->count);
		void *memory = bytes <= sizeof few ? few : aligned_alloc(16, bytes);
		struct mpk_packed p;
		enum mpk_code code;

		MPK_TRY_ALLOC(memory, err);
		p = mpk_packed_at(f->convention, memory, a->count);
		for (size_t i = 0; i < a->count; i++)
			mpk_packed_set_tensor(&p, i, &a->values[i].tensor->dl);
		code = mpk_packed_call(&p, f->address, NULL, err);
		if (memory != few)
			free(memory);
		return code;
	}
	MPK_TRY(mpk_function_call(f, &(struct mpk_args){ a->values, NULL, a->count }, &none, err));
	mpk_value_drop(&none);
	return MPK_OK;
}

/* --- recording ----------------------------------------------------------------------------- */

static bool are_few_integers(const struct mpk_tensor *t)
{
	enum mpk_dtype_code code = (enum mpk_dtype_code)t->dl.dtype.code;

	return mpk_dldevice_is_host(t->dl.device) &&
	       (code == MPK_DTYPE_INT || code == MPK_DTYPE_UINT) &&
	       mpk_tensor_count(t) <= MPK_TENSOR_NDIM_MAX;
}

/* A kernel without inputs does not count: it might generate random numbers. */
static bool computes_shapes(const struct mpk_recorder *r, const struct arguments *a)
{
	for (size_t i = 0; i < a->outputs; i++)
		if (mpk_recorder_look(r, a->values[i].tensor) != MPK_RECORDED_KNOWN)
			return false;
	for (size_t i = a->outputs; i < a->count; i++)
		if (!are_few_integers(a->values[i].tensor) ||
		    mpk_recorder_look(r, a->values[i].tensor) != MPK_RECORDED_UNTOUCHED)
			return false;
	return a->outputs > 0 && a->outputs < a->count;
}

enum mpk_code mpk_relay_invoke_packed(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				      struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_function *f = vm->program->packed[s->index].function;
	struct arguments a;
	enum mpk_code code;

	(void)result;
	MPK_TRY(relay_packed_collect(vm, s, &a, err));
	code = MPK_OK;
	if (!f) {
		code = mpk_relay_fault(vm, err, "RuntimeError",
				       "nobody has packed function %" PRIu32, s->index);
	} else if (!has_nothing_to_do(vm, s)) {
		code = relay_packed_call(f, &a, err);
		if (code == MPK_OK && vm->recorder) {
			struct mpk_recorder *r = vm->recorder;
			const struct mpk_value none = { 0 };
			bool is_left_out = computes_shapes(r, &a);

			for (size_t i = a.outputs; i < a.count; i++) {
				if (is_left_out)
					mpk_record_origin(r, a.values[i].tensor->storage,
							  MPK_ORIGIN_KNOWN, 0);
				else if (mpk_recorder_look(r, a.values[i].tensor) ==
					 MPK_RECORDED_KNOWN)
					mpk_record_nothing(
						r); /* the result would be unknown in the next call */
			}
			if (!is_left_out)
				mpk_record_kernel(r, f, a.values, a.count, &none);
		}
	}
	arguments_fini(&a);
	return code;
}

/* --- constants ----------------------------------------------------------------------------- */

/* A number of LOAD_CONSTI becomes a tensor of one int64, as in TVM. */
static enum mpk_code make_number(int64_t number, struct mpk_tensor **out, struct mpk_error *err)
{
	static const struct mpk_dtype i64 = { MPK_DTYPE_INT, 64, 1 };
	static const int64_t one = 1;

	MPK_TRY(mpk_tensor_create(i64, &one, 1, MPK_STORAGE_PRIVATE, out, err));
	memcpy((*out)->dl.data, &number, sizeof number);
	return MPK_OK;
}

/* A constant is made at its first use, because one function needs few of a model's constants. */
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
	if (!c->late_bound) {
		/* A constant of the file: its own memory, or a copy (executor/constant.c). */
		struct mpk_dldevice where = vm->devices[place];
		struct mpk_storage *storage;

		MPK_TRY(mpk_program_constant(&vm->program->base, c->tensor.data, c->tensor.dtype,
					     where, &storage, err));
		enum mpk_code code = mpk_tensor_view(storage, 0, c->tensor.dtype, c->tensor.shape,
						     c->tensor.ndim, out, err);

		mpk_storage_drop(storage);
		return code;
	}
	if (!p->late[index])
		return mpk_fail(err, MPK_E_LOAD, "constant '%s' was never bound",
				MPK_QUOTE(c->name));
	return mpk_devices_send(mpk_relay_vm_devices(vm), p->late[index], vm->devices[place], out,
				err);
}

/* --- what steps read of tensors ------------------------------------------------------------- */

enum mpk_code(mpk_relay_fault)(const struct mpk_relay_vm *vm, struct mpk_error *err,
			       const char *kind, const char *fmt, ...)
{
	const struct mpk_frame *f = mpk_frames_top(&vm->frames);
	const struct mpk_relay_callee *c = &vm->program->callees[f->callee];
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return mpk_fail(err, MPK_E_RAISED, "%s: %s (%s, instruction %" PRIu32 ")", kind, text,
			MPK_QUOTE(mpk_span_str(c->name)), f->at - c->start);
}

static enum mpk_code tensor_at(const struct mpk_relay_vm *vm, uint32_t reg, struct mpk_tensor **out,
			       struct mpk_error *err)
{
	const struct mpk_value *v = &mpk_relay_registers(vm)[reg];

	if (v->kind != MPK_VALUE_TENSOR)
		return mpk_relay_fault(vm, err, "TypeError",
				       "register %" PRIu32 " must hold a tensor, not %s", reg,
				       mpk_value_kind_name(v->kind));
	*out = v->tensor;
	return MPK_OK;
}

/* Reads the first bytes of a tensor on any device. Recording continues only if these bytes are the
 * same in every call. */
static enum mpk_code make_read_content(struct mpk_relay_vm *vm, const struct mpk_tensor *t,
				       void *out, size_t bytes, struct mpk_error *err)
{
	const struct mpk_dltensor here = { .data = out, .device = { MPK_DL_CPU, 0 } };

	/* a number computed from data may differ in the next call with the same shapes */
	if (vm->recorder && mpk_recorder_look(vm->recorder, t) != MPK_RECORDED_KNOWN)
		mpk_record_nothing(vm->recorder);
	return mpk_devices_copy(mpk_relay_vm_devices(vm), &t->dl, &here, bytes, err);
}

/* Reads a signed integer of 1, 2, 4 or 8 bytes in the machine's byte order, which kernels use. */
static int64_t integer_at(const uint8_t *p, size_t bytes)
{
	int64_t i64;
	int32_t i32;
	int16_t i16;

	switch (bytes) {
	case 1:
		return (int8_t)*p;
	case 2:
		memcpy(&i16, p, sizeof i16);
		return i16;
	case 4:
		memcpy(&i32, p, sizeof i32);
		return i32;
	default:
		memcpy(&i64, p, sizeof i64);
		return i64;
	}
}

/* Reads the first element of a register's tensor, of any shape, as a signed integer. */
static enum mpk_code relay_scalar(struct mpk_relay_vm *vm, uint32_t reg, int64_t *out,
				  struct mpk_error *err)
{
	char type[MPK_DTYPE_TEXT];
	uint8_t raw[8] = { 0 };
	struct mpk_tensor *t;
	unsigned bits;

	MPK_TRY(tensor_at(vm, reg, &t, err));
	bits = t->dl.dtype.bits;
	if ((bits != 1 && bits != 8 && bits != 16 && bits != 32 && bits != 64) ||
	    t->dl.dtype.lanes != 1 || !t->bytes)
		return mpk_relay_fault(vm, err, "TypeError",
				       "register %" PRIu32 " holds a tensor of %s%s, not a number",
				       reg, mpk_dtype_print(t->dl.dtype, type),
				       t->bytes ? "" : " without elements");
	MPK_TRY(make_read_content(vm, t, raw, (bits + 7) / 8, err));
	/* in these releases bool is uint1, stored in one byte */
	*out = bits == 1 ? raw[0] != 0 : integer_at(raw, bits / 8);
	return MPK_OK;
}

/* A shape that is stored in a tensor of int32 or int64. */
struct extents {
	int64_t extents[MPK_TENSOR_NDIM_MAX];
	size_t ndim;
};

static enum mpk_code shape_at(struct mpk_relay_vm *vm, uint32_t reg, struct extents *out,
			      struct mpk_error *err)
{
	uint8_t raw[sizeof out->extents];
	char type[MPK_DTYPE_TEXT];
	struct mpk_tensor *t;

	MPK_TRY(tensor_at(vm, reg, &t, err));
	const struct mpk_dltensor *dl = &t->dl;

	out->ndim = 0;
	if (dl->ndim == 0)
		return MPK_OK; /* a tensor of rank 0 is a shape with one extent */
	if (dl->ndim != 1 || dl->shape[0] > MPK_TENSOR_NDIM_MAX || dl->dtype.lanes != 1 ||
	    dl->dtype.code != MPK_DTYPE_INT || (dl->dtype.bits != 32 && dl->dtype.bits != 64) ||
	    !mpk_dltensor_is_compact(dl))
		return mpk_relay_fault(vm, err, "TypeError",
				       "register %" PRIu32
				       " holds a tensor of %s with %d dimensions, not a shape",
				       reg, mpk_dtype_print(dl->dtype, type), dl->ndim);
	MPK_TRY(make_read_content(vm, t, raw, (size_t)t->bytes, err));
	out->ndim = (size_t)dl->shape[0];
	for (size_t i = 0; i < out->ndim; i++) {
		size_t bytes = dl->dtype.bits / 8u;

		out->extents[i] = integer_at(raw + i * bytes, bytes);
	}
	return MPK_OK;
}

/* --- storages ------------------------------------------------------------------------------ */

static enum mpk_code image_storage(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
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

static enum mpk_code alloc_storage(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				   struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_storage *storage;
	uint64_t bytes;
	int64_t size;

	if (!mpk_relay_place_is_plain(&vm->program->places[s->index])) {
		MPK_TRY(image_storage(vm, s, &storage, err));
	} else {
		/* the instruction may give a shape instead of a size */
		if (s->count) {
			MPK_TRY(mpk_tensor_bytes_of(s->dtype, vm->program->extents + s->first,
						    s->count, &bytes, err));
		} else {
			MPK_TRY(relay_scalar(vm, s->reg[0], &size, err));
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

	/* indexes in byte code were checked, but not the kinds of values in registers */
	if (storage->kind != MPK_VALUE_STORAGE)
		return mpk_relay_fault(vm, err, "TypeError",
				       "register %" PRIu32 " must hold a storage, not %s",
				       s->reg[0], mpk_value_kind_name(storage->kind));
	MPK_TRY(relay_scalar(vm, s->reg[1], &offset, err));
	if (offset < 0)
		return mpk_relay_fault(vm, err, "ValueError", "a tensor at byte %" PRId64, offset);
	MPK_TRY(mpk_tensor_view(storage->storage, (uint64_t)offset, s->dtype, shape, ndim, &t,
				err));
	*result = mpk_value_of_tensor(t);
	return MPK_OK;
}

/* Makes a tensor whose shape is in the instruction, or in a register (alloc_tensor_reg). */
static enum mpk_code alloc_tensor(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				  struct mpk_value *result, struct mpk_error *err)
{
	return tensor_in(vm, s, vm->program->extents + s->first, s->count, result, err);
}

static enum mpk_code alloc_tensor_reg(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				      struct mpk_value *result, struct mpk_error *err)
{
	struct extents shape;

	MPK_TRY(shape_at(vm, s->reg[2], &shape, err));
	return tensor_in(vm, s, shape.extents, shape.ndim, result, err);
}

/* Makes a view of the same memory. */
static enum mpk_code reshape_tensor(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				    struct mpk_value *result, struct mpk_error *err)
{
	struct extents shape;
	struct mpk_tensor *t, *view;
	struct mpk_dltensor dl;
	uint64_t bytes;

	MPK_TRY(tensor_at(vm, s->reg[0], &t, err));
	MPK_TRY(shape_at(vm, s->reg[1], &shape, err));
	MPK_TRY(mpk_tensor_bytes_of(t->dl.dtype, shape.extents, shape.ndim, &bytes, err));
	/* TVM checks neither, but a view larger than its tensor would reach past the storage */
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

/* Makes a list of numbers on the host that depend only on shapes and tags. */
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
	mpk_record_origin(vm->recorder, t->storage, MPK_ORIGIN_KNOWN, 0);
	*result = mpk_value_of_tensor(t);
	return MPK_OK;
}

static enum mpk_code shape_of(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
			      struct mpk_value *result, struct mpk_error *err)
{
	static const struct mpk_dtype i64 = { MPK_DTYPE_INT, 64, 1 };
	struct mpk_tensor *t;

	MPK_TRY(tensor_at(vm, s->reg[0], &t, err));
	return host_list(vm, i64, t->dl.shape, t->dl.ndim, result, err);
}

static enum mpk_code get_tag(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
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

static enum mpk_code device_copy(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				 struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_devices *devices = mpk_relay_vm_devices(vm);
	const struct mpk_relay_place *to = &vm->program->places[s->index];
	struct mpk_tensor *t, *made;
	enum mpk_code code;

	MPK_TRY(tensor_at(vm, s->reg[0], &t, err));
	/* arguments were already copied to their places, so another device means a damaged program */
	if (!mpk_dldevice_equal(t->dl.device, vm->devices[s->from]))
		return mpk_relay_fault(
			vm, err, "ValueError",
			"a copy from device %d of type %d finds its tensor on device %d of type %d",
			vm->devices[s->from].id, vm->devices[s->from].type, t->dl.device.id,
			t->dl.device.type);
	if (!mpk_relay_place_is_plain(to))
		return mpk_fail(err, MPK_E_UNSUPPORTED, "a copy into an image_storage, '%s'",
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

/* --- steps that make a value --------------------------------------------------------------- */

static enum mpk_code move_register(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				   struct mpk_value *result, struct mpk_error *err)
{
	(void)err;
	*result = mpk_value_hold(mpk_relay_registers(vm)[s->reg[0]]);
	return MPK_OK;
}

/* Its empty result replaces the value in the register. */
static enum mpk_code kill_register(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				   struct mpk_value *result, struct mpk_error *err)
{
	(void)vm;
	(void)s;
	(void)result;
	(void)err;
	return MPK_OK;
}

static enum mpk_code load_const(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_tensor **constant = &vm->constants[s->index];
	struct mpk_value v;

	if (!*constant)
		MPK_TRY(make_constant(vm, s->index, constant, err));
	v = mpk_value_of_tensor(*constant);
	mpk_record_constant(vm->recorder, &v);
	*result = mpk_value_hold(v);
	return MPK_OK;
}

/* Makes an array of the values in the step's registers. */
static enum mpk_code take_list(const struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
			       struct mpk_value *out, struct mpk_error *err)
{
	const uint32_t *registers = vm->program->registers + s->first;

	MPK_TRY(mpk_value_of_array(s->count, out, err));
	for (uint32_t i = 0; i < s->count; i++)
		out->array->items[i] = mpk_value_hold(mpk_relay_registers(vm)[registers[i]]);
	return MPK_OK;
}

static enum mpk_code alloc_adt(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
			       struct mpk_value *result, struct mpk_error *err)
{
	MPK_TRY(take_list(vm, s, result, err));
	result->array->tag = s->number;
	return MPK_OK;
}

static enum mpk_code alloc_closure(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				   struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_value captured;
	struct mpk_function *f;

	MPK_TRY(take_list(vm, s, &captured, err));
	MPK_TRY(mpk_relay_closure_make(vm, s->index, captured, &f, err));
	*result = mpk_value_of_function(f);
	return MPK_OK;
}

static enum mpk_code get_field(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
			       struct mpk_value *result, struct mpk_error *err)
{
	const struct mpk_value *v = &mpk_relay_registers(vm)[s->reg[0]];

	if (v->kind != MPK_VALUE_ARRAY)
		return mpk_relay_fault(vm, err, "TypeError",
				       "register %" PRIu32 " must hold a tuple, not %s", s->reg[0],
				       mpk_value_kind_name(v->kind));
	if (s->index >= v->array->count)
		return mpk_relay_fault(vm, err, "IndexError", "field %" PRIu32 " of %zu", s->index,
				       v->array->count);
	*result = mpk_value_hold(v->array->items[s->index]);
	return MPK_OK;
}

/* Like TVM, compares only 32 bits, whatever the tensors' types are. */
static enum mpk_code are_equal(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
			       struct mpk_value *result, struct mpk_error *err)
{
	int64_t test, target;

	MPK_TRY(relay_scalar(vm, s->reg[0], &test, err));
	MPK_TRY(relay_scalar(vm, s->reg[1], &target, err));
	*result = mpk_value_of_bool((uint32_t)(uint64_t)test == (uint32_t)(uint64_t)target);
	return MPK_OK;
}

mpk_relay_op_fn *const mpk_relay_makers[MPK_RELAY_OPS] = {
	[MPK_RELAY_MOVE] = move_register,
	[MPK_RELAY_INVOKE_PACKED] = mpk_relay_invoke_packed,
	[MPK_RELAY_ALLOC_TENSOR] = alloc_tensor,
	[MPK_RELAY_ALLOC_TENSOR_REG] = alloc_tensor_reg,
	[MPK_RELAY_ALLOC_ADT] = alloc_adt,
	[MPK_RELAY_ALLOC_CLOSURE] = alloc_closure,
	[MPK_RELAY_GET_FIELD] = get_field,
	[MPK_RELAY_IF] = are_equal,
	[MPK_RELAY_LOAD_CONST] = load_const,
	[MPK_RELAY_GET_TAG] = get_tag,
	[MPK_RELAY_ALLOC_STORAGE] = alloc_storage,
	[MPK_RELAY_SHAPE_OF] = shape_of,
	[MPK_RELAY_RESHAPE_TENSOR] = reshape_tensor,
	[MPK_RELAY_DEVICE_COPY] = device_copy,
	[MPK_RELAY_KILL_REGISTER] = kill_register,
};
