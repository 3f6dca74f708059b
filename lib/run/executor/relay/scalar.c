/* SPDX-License-Identifier: Apache-2.0 */
/* scalar.c - what byte code reads of tensors: conditions, sizes, shapes */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "executor/plan/plan.h"
#include "executor/relay/internal/ops.h"
#include "text/escape.h"

enum mpk_code(mpk_relay_fault)(const struct mpk_relay_vm *vm, struct mpk_error *err,
			       const char *kind, const char *fmt, ...)
{
	const struct mpk_relay_frame *f = &vm->frames[vm->frame_count - 1];
	const struct mpk_relay_callee *c = &vm->program->callees[f->callee];
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return mpk_fail(err, MPK_E_RAISED, "%s: %s (%s, instruction %" PRIu32 ")", kind, text,
			MPK_QUOTE(mpk_span_str(c->name)), f->at - c->start);
}

enum mpk_code mpk_relay_tensor(const struct mpk_relay_vm *vm, uint32_t reg, struct mpk_tensor **out,
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

/* The first bytes of a tensor, wherever it lies. A plan goes on only if they never change. */
static enum mpk_code read_content(struct mpk_relay_vm *vm, const struct mpk_tensor *t, void *out,
				  size_t bytes, struct mpk_error *err)
{
	const struct mpk_dltensor here = { .data = out, .device = { MPK_DL_CPU, 0 } };

	if (vm->recorder && !mpk_recorder_knows(vm->recorder, t))
		mpk_record_nothing(vm->recorder);
	return mpk_devices_copy(mpk_relay_vm_devices(vm), &t->dl, &here, bytes, err);
}

/* A signed integer of 1, 2, 4 or 8 bytes in this machine's order: kernels wrote it. */
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

enum mpk_code mpk_relay_scalar(struct mpk_relay_vm *vm, uint32_t reg, int64_t *out,
			       struct mpk_error *err)
{
	char type[MPK_DTYPE_TEXT];
	uint8_t raw[8] = { 0 };
	struct mpk_tensor *t;
	unsigned bits;

	MPK_TRY(mpk_relay_tensor(vm, reg, &t, err));
	bits = t->dl.dtype.bits;
	if ((bits != 1 && bits != 8 && bits != 16 && bits != 32 && bits != 64) ||
	    t->dl.dtype.lanes != 1 || !t->bytes)
		return mpk_relay_fault(vm, err, "TypeError",
				       "register %" PRIu32 " holds a tensor of %s%s, not a number",
				       reg, mpk_dtype_print(t->dl.dtype, type),
				       t->bytes ? "" : " without elements");
	MPK_TRY(read_content(vm, t, raw, (bits + 7) / 8, err));
	*out = bits == 1 ? raw[0] != 0 : integer_at(raw, bits / 8);
	return MPK_OK;
}

enum mpk_code mpk_relay_shape_in(struct mpk_relay_vm *vm, uint32_t reg,
				 struct mpk_relay_extents *out, struct mpk_error *err)
{
	uint8_t raw[sizeof out->extents];
	char type[MPK_DTYPE_TEXT];
	struct mpk_tensor *t;

	MPK_TRY(mpk_relay_tensor(vm, reg, &t, err));
	const struct mpk_dltensor *dl = &t->dl;

	out->ndim = 0;
	if (dl->ndim == 0)
		return MPK_OK; /* a tensor of rank 0 stands for the shape of one */
	if (dl->ndim != 1 || dl->shape[0] > MPK_TENSOR_NDIM_MAX || dl->dtype.lanes != 1 ||
	    dl->dtype.code != MPK_DTYPE_INT || (dl->dtype.bits != 32 && dl->dtype.bits != 64) ||
	    !mpk_dltensor_is_compact(dl))
		return mpk_relay_fault(vm, err, "TypeError",
				       "register %" PRIu32
				       " holds a tensor of %s with %d dimensions, not a shape",
				       reg, mpk_dtype_print(dl->dtype, type), dl->ndim);
	MPK_TRY(read_content(vm, t, raw, (size_t)t->bytes, err));
	out->ndim = (size_t)dl->shape[0];
	for (size_t i = 0; i < out->ndim; i++) {
		size_t bytes = dl->dtype.bits / 8u;

		out->extents[i] = integer_at(raw + i * bytes, bytes);
	}
	return MPK_OK;
}
