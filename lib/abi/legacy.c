/* The calling convention of TVM 0.2 to 0.20: an array of 8-byte values, an array of
 * codes. */
#include <stdlib.h>
#include <string.h>

#include "abi/convention.h"
#include "abi/raised.h"

/* Arguments of one call; text and shapes need a place to live while it lasts. */
struct pack {
	union mpk_tvm_value *values;
	int *codes;
	struct slot {
		struct mpk_dltensor dl;
		struct mpk_tvm_bytes bytes;
	} *slots;
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

/* Tensors of these releases have no strides when they are compact; ours always are. */
static void *tensor_handle(const struct mpk_tensor *t, struct slot *slot)
{
	slot->dl = t->dl;
	slot->dl.strides = NULL;
	return &slot->dl;
}

static enum mpk_code encode(const struct mpk_value *v, struct slot *slot, union mpk_tvm_value *out,
			    int *code, struct mpk_error *err)
{
	*out = (union mpk_tvm_value){ 0 };
	switch (v->kind) {
	case MPK_VALUE_NONE:
		*code = MPK_TVM_NULL;
		return MPK_OK;
	case MPK_VALUE_BOOL:
		/* every release takes an integer for a bool; the code came with 0.18 */
		out->v_int64 = v->boolean;
		*code = MPK_TVM_INT;
		return MPK_OK;
	case MPK_VALUE_INT:
		out->v_int64 = v->integer;
		*code = MPK_TVM_INT;
		return MPK_OK;
	case MPK_VALUE_FLOAT:
		out->v_float64 = v->real;
		*code = MPK_TVM_FLOAT;
		return MPK_OK;
	case MPK_VALUE_STR:
		out->v_str = v->text->data;
		*code = MPK_TVM_STR;
		return MPK_OK;
	case MPK_VALUE_BYTES:
		slot->bytes = (struct mpk_tvm_bytes){ v->text->data, v->text->len };
		out->v_handle = &slot->bytes;
		*code = MPK_TVM_BYTES;
		return MPK_OK;
	case MPK_VALUE_DTYPE:
		out->v_type = v->dtype;
		*code = MPK_TVM_DTYPE;
		return MPK_OK;
	case MPK_VALUE_DEVICE:
		out->v_device = v->device;
		*code = MPK_TVM_DEVICE;
		return MPK_OK;
	case MPK_VALUE_TENSOR:
		out->v_handle = tensor_handle(v->tensor, slot);
		*code = MPK_TVM_DLTENSOR;
		return MPK_OK;
	case MPK_VALUE_OPAQUE:
		out->v_handle = v->opaque;
		*code = v->opaque ? MPK_TVM_HANDLE : MPK_TVM_NULL;
		return MPK_OK;
	case MPK_VALUE_FUNCTION:
		out->v_handle = v->function;
		*code = MPK_TVM_FUNCTION;
		return MPK_OK;
	case MPK_VALUE_SHAPE:
	case MPK_VALUE_ARRAY:
	case MPK_VALUE_MODULE:
	case MPK_VALUE_OBJECT:
	case MPK_VALUE_KIND_COUNT:
		break;
	}
	return mpk_fail(err, MPK_E_UNSUPPORTED,
			"a value of type %s cannot be passed to a function of TVM 0.20 or older",
			mpk_value_kind_name(v->kind));
}

/* A DLTensor that somebody else owns becomes a tensor of ours with a copy of its content,
 * or on a device with its very data. */
static enum mpk_code copy_tensor(const struct mpk_dltensor *dl, struct mpk_value *out,
				 struct mpk_error *err)
{
	bool on_cpu = dl->device.type == MPK_DL_CPU || dl->device.type == MPK_DL_CUDA_HOST;
	struct mpk_tensor *t;

	if (dl->ndim < 0)
		return mpk_fail(err, MPK_E_RANGE, "a tensor of %d dimensions", dl->ndim);
	MPK_TRY(mpk_tensor_create(dl->dtype, dl->shape, (size_t)dl->ndim,
				  on_cpu ? MPK_TENSOR_PRIVATE : MPK_TENSOR_NO_DATA, &t, err));
	if (on_cpu) {
		mpk_tensor_copy_from(t, dl);
	} else {
		t->dl.device = dl->device;
		t->dl.data = dl->data;
		t->dl.byte_offset = dl->byte_offset;
	}
	*out = mpk_value_of_tensor(t);
	return MPK_OK;
}

static enum mpk_code decode(union mpk_tvm_value v, int code, struct mpk_value *out,
			    struct mpk_error *err)
{
	const struct mpk_tvm_bytes *bytes = v.v_handle;

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
		return copy_tensor(v.v_handle, out, err);
	case MPK_TVM_STR:
		return mpk_value_of_text(MPK_VALUE_STR, mpk_span_str(v.v_str), out, err);
	case MPK_TVM_BYTES:
		return mpk_value_of_text(MPK_VALUE_BYTES, mpk_span_of(bytes->data, bytes->size),
					 out, err);
	case MPK_TVM_FUNCTION:
		*out = mpk_value_hold(
			(struct mpk_value){ .kind = MPK_VALUE_FUNCTION, .function = v.v_handle });
		return MPK_OK;
	default:
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"a value with type code %d, which needs TVM's own runtime", code);
	}
}

enum mpk_code mpk_legacy_call(mpk_tvm_function *code, const struct mpk_value *args, size_t count,
			      struct mpk_value *result, struct mpk_error *err)
{
	MPK_CLEANUP(pack_fini) struct pack p = { 0 };
	union mpk_tvm_value returned = { 0 };
	int returned_code = MPK_TVM_NULL;

	MPK_TRY(pack_init(&p, count, err));
	for (size_t i = 0; i < count; i++) {
		enum mpk_code rc = encode(&args[i], &p.slots[i], &p.values[i], &p.codes[i], err);

		if (rc != MPK_OK) {
			mpk_error_prefix(err, "argument %zu: ", i);
			return rc;
		}
	}
	mpk_raised_get()->is_set = false;

	int status = code(p.values, p.codes, (int)count, &returned, &returned_code, NULL);
	if (status)
		return mpk_raised_take(status, err);
	return decode(returned, returned_code, result, err);
}

/* --- module code calls us ----------------------------------------------------------- */

/* Text returned to module code must outlive the call: the last one of each thread
 * does. */
static _Thread_local struct mpk_value kept_result;

static int fail(const struct mpk_error *error)
{
	mpk_raised_set_error(error);
	return -1;
}

static void drop_all(struct mpk_value *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		mpk_value_drop(&values[i]);
}

static int return_result(union mpk_tvm_value *result, int *result_code, struct mpk_value got)
{
	static _Thread_local struct slot slot;
	struct mpk_error error;

	mpk_value_drop(&kept_result);
	kept_result = got;
	return encode(&kept_result, &slot, result, result_code, &error) == MPK_OK ? 0
										  : fail(&error);
}

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
		return fail(&error);
	}

	struct mpk_value *values = calloc((size_t)count + 1, sizeof *values);
	if (!values) {
		(void)mpk_fail_nomem(&error);
		return fail(&error);
	}
	for (int i = 0; i < count && rc == MPK_OK; i++)
		rc = decode(args[i], codes[i], &values[i], &error);
	if (rc == MPK_OK)
		rc = mpk_function_call(f, values, (size_t)count, &got, &error);
	drop_all(values, (size_t)count);
	free(values);
	return rc == MPK_OK ? return_result(result, result_code, got) : fail(&error);
}
