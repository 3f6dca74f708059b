/* SPDX-License-Identifier: Apache-2.0 */
/* convention.c - calls of host code, whatever its convention: from values, or prepared
 *
 * A call from values allocates what its arguments need. Kernels of a model are called thousands of
 * times with tensors that stay where they are, so their arguments are laid out once (convention.h).
 */
#include <stdlib.h>
#include <string.h>

#include "abi/convention.h"
#include "abi/ffi_object.h"
#include "abi/internal/data.h"

/* --- the convention of TVM 0.2 to 0.20 ------------------------------------------------------- */

/* An array of 8-byte values and one of codes. Nothing in it is counted: what an argument points to lies in the
 * caller's frame, what a result points to is kept until the thread's next one, or until no code of this convention is
 * running in it. */

/* What this thread returned last to module code, which must outlive the call. */
static _Thread_local struct {
	struct mpk_value result;
	struct mpk_legacy_slot slot;
	unsigned depth; /* calls between us and module code, either way, that have not returned */
} kept;

static const uint64_t BOX_MAGIC = UINT64_C(0x6d706b20626f7820);

/* Arguments of one call, with what some of them point to. */
struct pack {
	union mpk_tvm_value *values;
	int *codes;
	struct mpk_legacy_slot *slots;
};

static void pack_fini(struct pack *p)
{
	free(p->values);
	free(p->codes);
	free(p->slots);
}

static enum mpk_code pack_init(struct pack *p, size_t count, struct mpk_error *err)
{
	size_t room = count ? count : 1;

	if (count > MPK_ARGS_MAX)
		return mpk_fail(err, MPK_E_RANGE, "%zu arguments; at most %d", count, MPK_ARGS_MAX);
	p->values = calloc(room, sizeof *p->values);
	p->codes = calloc(room, sizeof *p->codes);
	p->slots = calloc(room, sizeof *p->slots);
	return p->values && p->codes && p->slots ? MPK_OK : mpk_fail_nomem(err);
}

/* Tensors of these releases have no strides when they are compact. */
static void *tensor_handle(const struct mpk_tensor *t, struct mpk_legacy_slot *slot)
{
	slot->dl = t->dl;
	if (mpk_dltensor_is_compact(&slot->dl))
		slot->dl.strides = NULL;
	return &slot->dl;
}

enum mpk_code mpk_legacy_encode(const struct mpk_value *v, struct mpk_legacy_slot *slot,
				union mpk_tvm_value *out, int *code, struct mpk_error *err)
{
	struct mpk_plain plain;

	if (mpk_plain_of(v, &plain)) {
		*out = plain.bits;
		*code = plain.legacy;
		return MPK_OK;
	}
	*out = (union mpk_tvm_value){ 0 };
	switch (v->kind) {
	case MPK_VALUE_STR:
		out->v_str = v->text->data;
		*code = MPK_TVM_STR;
		return MPK_OK;
	case MPK_VALUE_BYTES:
		slot->bytes = (struct mpk_tvm_bytes){ v->text->data, v->text->len };
		out->v_handle = &slot->bytes;
		*code = MPK_TVM_BYTES;
		return MPK_OK;
	case MPK_VALUE_TENSOR:
		out->v_handle = tensor_handle(v->tensor, slot);
		*code = MPK_TVM_DLTENSOR;
		return MPK_OK;
	case MPK_VALUE_FUNCTION:
		out->v_handle = v->function;
		*code = MPK_TVM_FUNCTION;
		return MPK_OK;
	case MPK_VALUE_MODULE:
		out->v_handle = v->module;
		*code = MPK_TVM_MODULE;
		return MPK_OK;
	case MPK_VALUE_SHAPE:
	case MPK_VALUE_STORAGE:
	case MPK_VALUE_ARRAY:
	case MPK_VALUE_OBJECT:
		slot->box = (struct mpk_legacy_box){ BOX_MAGIC, *v };
		out->v_handle = &slot->box;
		*code = MPK_TVM_OBJECT;
		return MPK_OK;
	case MPK_VALUE_NONE:
	case MPK_VALUE_BOOL:
	case MPK_VALUE_INT:
	case MPK_VALUE_FLOAT:
	case MPK_VALUE_DTYPE:
	case MPK_VALUE_DEVICE:
	case MPK_VALUE_OPAQUE:
	case MPK_VALUE_KIND_COUNT:
		break;
	}
	return mpk_fail(err, MPK_E_UNSUPPORTED,
			"a value of type %s cannot be passed to a function of TVM 0.20 or older",
			mpk_value_kind_name(v->kind));
}

enum mpk_code mpk_legacy_decode(union mpk_tvm_value v, int code, enum mpk_lifetime lifetime,
				struct mpk_value *out, struct mpk_error *err)
{
	const struct mpk_tvm_bytes *bytes = v.v_handle;
	const struct mpk_legacy_box *box = v.v_handle;

	switch (code) {
	case MPK_TVM_NULL:
		*out = (struct mpk_value){ 0 };
		return MPK_OK;
	case MPK_TVM_INT:
	case MPK_TVM_UINT:
		*out = mpk_value_of_int(v.v_int64);
		return MPK_OK;
	case MPK_TVM_BOOL:
		*out = mpk_value_of_bool(v.v_int64 != 0);
		return MPK_OK;
	case MPK_TVM_FLOAT:
		*out = mpk_value_of_float(v.v_float64);
		return MPK_OK;
	case MPK_TVM_HANDLE:
		*out = mpk_value_of_opaque(v.v_handle);
		return MPK_OK;
	case MPK_TVM_DTYPE:
		*out = (struct mpk_value){ .kind = MPK_VALUE_DTYPE, .dtype = v.v_type };
		return MPK_OK;
	case MPK_TVM_DEVICE:
		*out = (struct mpk_value){ .kind = MPK_VALUE_DEVICE, .device = v.v_device };
		return MPK_OK;
	case MPK_TVM_DLTENSOR:
	case MPK_TVM_NDARRAY: /* the handle of an NDArray is its DLTensor */
		return mpk_dltensor_decode(v.v_handle, NULL, lifetime, out, err);
	case MPK_TVM_STR:
		return mpk_value_of_text(MPK_VALUE_STR, mpk_span_str(v.v_str), out, err);
	case MPK_TVM_BYTES:
		return mpk_value_of_text(MPK_VALUE_BYTES, mpk_span_of(bytes->data, bytes->size),
					 out, err);
	case MPK_TVM_FUNCTION:
		*out = mpk_value_hold(mpk_value_of_function(v.v_handle));
		return MPK_OK;
	case MPK_TVM_MODULE:
		*out = mpk_value_hold(mpk_value_of_module(v.v_handle));
		return MPK_OK;
	case MPK_TVM_OBJECT:
		if (!box || box->magic != BOX_MAGIC)
			return mpk_fail(err, MPK_E_UNSUPPORTED,
					"an object that TVM's own runtime would have made");
		*out = mpk_value_hold(box->value);
		return MPK_OK;
	default:
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"a value with type code %d, which needs TVM's own runtime", code);
	}
}

void mpk_legacy_forget_result(void)
{
	if (!kept.depth)
		mpk_value_drop(&kept.result);
}

/* Memory of a device is not copied: what module code passes on is then still ours to hold. */
static enum mpk_code take_result(union mpk_tvm_value returned, int code, struct mpk_value *result,
				 struct mpk_error *err)
{
	if (kept.result.kind == MPK_VALUE_TENSOR && returned.v_handle == &kept.slot.dl &&
	    (code == MPK_TVM_DLTENSOR || code == MPK_TVM_NDARRAY) &&
	    !mpk_dldevice_is_host(kept.slot.dl.device)) {
		*result = mpk_value_hold(kept.result);
		return MPK_OK;
	}
	return mpk_legacy_decode(returned, code, MPK_LIFETIME_OWNED, result, err);
}

/* The sixth argument, the resource handle, is for packed functions made by TVM's own runtime. */
static enum mpk_code legacy_call_values(mpk_tvm_function *code, union mpk_tvm_value *values,
					int *codes, size_t count, struct mpk_value *result,
					struct mpk_error *err)
{
	union mpk_tvm_value returned = { 0 };
	int returned_code = MPK_TVM_NULL;

	mpk_raised_get()->is_set = false;
	kept.depth++;

	int status = code(values, codes, (int)count, &returned, &returned_code, NULL);
	enum mpk_code rc = status ? mpk_raised_take(status, err)
				  : take_result(returned, returned_code, result, err);
	kept.depth--;
	mpk_legacy_forget_result();
	return rc;
}

/* Slots hold what arguments point to; they stay until the call has returned. */
static enum mpk_code legacy_call(mpk_tvm_function *code, const struct mpk_args *args,
				 struct mpk_value *result, struct mpk_error *err)
{
	MPK_CLEANUP(pack_fini) struct pack p = { 0 };

	MPK_TRY(pack_init(&p, args->count, err));
	for (size_t i = 0; i < args->count; i++) {
		enum mpk_code rc = mpk_legacy_encode(&args->values[i], &p.slots[i], &p.values[i],
						     &p.codes[i], err);

		if (rc != MPK_OK) {
			mpk_error_prefix(err, "argument %zu: ", i);
			return rc;
		}
	}
	return legacy_call_values(code, p.values, p.codes, args->count, result, err);
}

/* --- module code calls us ----------------------------------------------------------- */

static int legacy_fail(const struct mpk_error *error)
{
	mpk_raised_set_error(error);
	return -1;
}

/* Arguments that were decoded before one failed are dropped as well: the rest is zero. */
static void drop_all(struct mpk_value *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		mpk_value_drop(&values[i]);
}

static int return_result(union mpk_tvm_value *result, int *result_code, struct mpk_value got)
{
	struct mpk_error error;

	mpk_value_drop(&kept.result);
	kept.result = got;
	return mpk_legacy_encode(&kept.result, &kept.slot, result, result_code, &error) == MPK_OK
		       ? 0
		       : legacy_fail(&error);
}

/* Compiled code calls compiled code of its own convention directly. */
int mpk_legacy_enter(void *handle, union mpk_tvm_value *args, int *codes, int count,
		     union mpk_tvm_value *result, int *result_code)
{
	struct mpk_function *f = handle;
	struct mpk_value got = { 0 };
	struct mpk_error error;
	enum mpk_code rc = MPK_OK;

	if (f->address && f->convention == MPK_CONV_LEGACY)
		return MPK_CODE(mpk_tvm_function, f->address)(args, codes, count, result,
							      result_code, NULL);
	if (count < 0 || count > MPK_ARGS_MAX) {
		(void)mpk_fail(&error, MPK_E_RANGE, "%d arguments", count);
		return legacy_fail(&error);
	}

	/* one more than there are, as calloc of nothing may give NULL */
	struct mpk_value *values = calloc((size_t)count + 1, sizeof *values);
	if (!values) {
		(void)mpk_fail_nomem(&error);
		return legacy_fail(&error);
	}
	for (int i = 0; i < count && rc == MPK_OK; i++)
		rc = mpk_legacy_decode(args[i], codes[i], MPK_LIFETIME_CALL, &values[i], &error);
	/* an argument may be what was returned last */
	kept.depth++;
	if (rc == MPK_OK)
		rc = mpk_function_call(f, &(struct mpk_args){ values, NULL, (size_t)count }, &got,
				       &error);
	kept.depth--;
	drop_all(values, (size_t)count);
	free(values);
	return rc == MPK_OK ? return_result(result, result_code, got) : legacy_fail(&error);
}

/* The address has the type of its convention; nothing in it says so, the library's generation
 * does. */
enum mpk_code mpk_conv_call(enum mpk_convention conv, void *address, const struct mpk_args *args,
			    struct mpk_value *result, struct mpk_error *err)
{
	switch (conv) {
	case MPK_CONV_LEGACY:
		return legacy_call(MPK_CODE(mpk_tvm_function, address), args, result, err);
	case MPK_CONV_FFI021:
	case MPK_CONV_FFI:
		return mpk_ffi_call(
			&(struct mpk_ffi_code){ conv, MPK_CODE(mpk_ffi_safe_call, address), NULL },
			args, result, err);
	case MPK_CONV_NONE:
		break;
	}
	return mpk_fail(err, MPK_E_INTERNAL, "host code without a calling convention");
}

/* --- prepared arguments ---------------------------------------------------------------------- */

/* Legacy arguments are an array of 8-byte values and one of type codes; those of tvm-ffi are one
 * array of cells. */
size_t mpk_packed_bytes(enum mpk_convention conv, size_t count)
{
	size_t each = conv == MPK_CONV_LEGACY ? sizeof(union mpk_tvm_value) + sizeof(int)
					      : sizeof(struct mpk_ffi_any);

	return (count * each + 15) / 16 * 16;
}

/* All null at first: an argument that is not set must not be read as a pointer. */
struct mpk_packed mpk_packed_at(enum mpk_convention conv, void *memory, size_t count)
{
	struct mpk_packed p = { .conv = conv, .count = count };

	memset(memory, 0, mpk_packed_bytes(conv, count));
	if (conv != MPK_CONV_LEGACY) {
		p.cells = memory;
		return p;
	}
	p.values = memory;
	p.codes = (int *)(void *)(p.values + count);
	for (size_t i = 0; i < count; i++)
		p.codes[i] = MPK_TVM_NULL;
	return p;
}

/* One argument: the number that each family of conventions has for its kind, and its bits. */
static void set_packed(const struct mpk_packed *p, size_t i, int32_t ffi, int legacy,
		       union mpk_tvm_value bits)
{
	if (p->cells) {
		p->cells[i] = (struct mpk_ffi_any){ .type_index = ffi, .v_int64 = bits.v_int64 };
		return;
	}
	p->values[i] = bits;
	p->codes[i] = legacy;
}

/* The DLTensor is passed by its address: what is in it may change between calls. */
void mpk_packed_set_tensor(const struct mpk_packed *p, size_t i, struct mpk_dltensor *t)
{
	set_packed(p, i, MPK_FFI_DLTENSOR, MPK_TVM_DLTENSOR,
		   (union mpk_tvm_value){ .v_handle = t });
}

void mpk_packed_set_pointer(const struct mpk_packed *p, size_t i, void *pointer)
{
	set_packed(p, i, MPK_FFI_OPAQUE, MPK_TVM_HANDLE,
		   (union mpk_tvm_value){ .v_handle = pointer });
}

/* Texts are passed as C strings, which need no object in either convention. */
enum mpk_code mpk_packed_set(const struct mpk_packed *p, size_t i, const struct mpk_value *v,
			     struct mpk_error *err)
{
	struct mpk_plain plain;

	if (mpk_plain_of(v, &plain))
		set_packed(p, i, plain.ffi, plain.legacy, plain.bits);
	else if (v->kind == MPK_VALUE_STR)
		set_packed(p, i, MPK_FFI_RAW_STR, MPK_TVM_STR,
			   (union mpk_tvm_value){ .v_str = v->text->data });
	else if (v->kind == MPK_VALUE_TENSOR)
		mpk_packed_set_tensor(p, i, &v->tensor->dl);
	else
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"a value of type %s cannot be passed in place",
				mpk_value_kind_name(v->kind));
	return MPK_OK;
}

/* The hot path of models: no allocation, no reference counted. */
enum mpk_code mpk_packed_call(const struct mpk_packed *p, void *address, struct mpk_value *result,
			      struct mpk_error *err)
{
	struct mpk_value got = { 0 };
	enum mpk_code code;

	if (p->cells)
		code = mpk_ffi_call_cells(
			&(struct mpk_ffi_code){ p->conv, MPK_CODE(mpk_ffi_safe_call, address),
						NULL },
			p->cells, p->count, &got, err);
	else
		code = legacy_call_values(MPK_CODE(mpk_tvm_function, address), p->values, p->codes,
					  p->count, &got, err);
	if (result)
		*result = got;
	else
		mpk_value_drop(&got);
	return code;
}
