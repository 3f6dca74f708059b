/* SPDX-License-Identifier: Apache-2.0 */
/* value.c - values of callers: makes them, takes them apart, passes them on; and converts errors
 * for callers
 *
 * A value is a reference to a function's result and holds the model, as the memory may belong to
 * the runtime. Tensors in values are compact and have their own memory, so that calls use them in
 * place.
 *
 * Positions of errors become part of the sentence. Messages of a model may contain line feeds, and
 * file names any bytes.
 */
#include "library/internal/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "text/escape.h"

/* --- errors ----------------------------------------------------------------------------------- */

static int public_code(enum mpk_code code)
{
	switch (code) {
	case MPK_OK:
		return MPKR_OK;
	case MPK_E_USAGE:
	case MPK_E_RANGE:
	case MPK_E_CONFLICT:
		return MPKR_E_USAGE;
	case MPK_E_IO:
		return MPKR_E_IO;
	case MPK_E_SYNTAX:
	case MPK_E_CORRUPT:
		return MPKR_E_CORRUPT;
	case MPK_E_UNSUPPORTED:
		return MPKR_E_UNSUPPORTED;
	case MPK_E_NOTFOUND:
		return MPKR_E_NOT_FOUND;
	case MPK_E_NO_BLOB:
	case MPK_E_LOAD:
	case MPK_E_TOOL:
		return MPKR_E_LOAD;
	case MPK_E_DEVICE:
		return MPKR_E_DEVICE;
	case MPK_E_RAISED:
		return MPKR_E_RAISED;
	case MPK_E_TIMEOUT:
		return MPKR_E_STOPPED;
	case MPK_E_NOMEM:
		return MPKR_E_NO_MEMORY;
	case MPK_E_BUDGET:
		return MPKR_E_BUDGET;
	case MPK_E_DIFFERENT:
	case MPK_E_INTERNAL:
	case MPK_CODE_COUNT:
		break;
	}
	return MPKR_E_INTERNAL;
}

/* Cuts the text between characters, not within one. */
static void put_sentence(const char *text, size_t len, char *out, size_t size)
{
	if (len >= size) {
		len = size - 1;
		while (len && ((unsigned char)text[len] & 0xc0) == 0x80)
			len--;
	}
	memcpy(out, text, len);
	out[len] = '\0';
}

int mpk_run_report(const struct mpk_error *err, struct mpkr_error *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf said = { 0 };
	char where[640];

	if (!out)
		return public_code(err->code);
	out->code = public_code(err->code);
	(void)mpk_where_print(&err->at, where, sizeof where);
	mpk_escape_sentence(&said, mpk_span_str(where));
	mpk_strbuf_puts(&said, where[0] ? ": " : "");
	mpk_escape_sentence(&said, mpk_span_str(err->text));
	if (said.failed)
		put_sentence("out of memory", strlen("out of memory"), out->text, sizeof out->text);
	else
		put_sentence(mpk_strbuf_text(&said), said.len, out->text, sizeof out->text);
	return out->code;
}

int mpk_run_misuse(const char *text, struct mpkr_error *out)
{
	struct mpk_error failure;

	(void)mpk_fail(&failure, MPK_E_USAGE, "%s", text);
	return mpk_run_report(&failure, out);
}

enum { ITEMS_MAX = 1 << 20 }; /* maximum elements of a tuple */

enum mpk_code mpk_run_value(struct mpkr_model *model, struct mpk_value v, struct mpkr_value **out,
			    struct mpk_error *err)
{
	struct mpkr_value *made = calloc(1, sizeof *made);

	MPK_TRY_ALLOC(made, err);
	made->model = mpk_run_model_hold(model);
	made->value = v;
	*out = made;
	return MPK_OK;
}

void mpkr_value_drop(mpkr_value *value)
{
	if (!value)
		return;
	mpk_value_drop(&value->value);
	mpk_run_model_drop(value->model);
	free(value);
}

/* --- made of what a caller has ------------------------------------------------------------------- */

static enum mpk_code copy_tensor(const struct mpk_dltensor *t, size_t i, struct mpk_value *out,
				 struct mpk_error *err)
{
	struct mpk_tensor *made;

	if (!mpk_dldevice_is_host(t->device))
		return mpk_fail(err, MPK_E_USAGE, "input %zu is copied, and not in host memory", i);
	MPK_TRY(mpk_tensor_create(t->dtype, t->shape, (size_t)t->ndim, MPK_STORAGE_PRIVATE, &made,
				  err));
	mpk_tensor_copy_from(made, t);
	*out = mpk_value_of_tensor(made);
	return MPK_OK;
}

/* @i       index for messages
 * @out     none; owned afterwards */
static enum mpk_code make_value(enum mpkr_kind kind, const struct mpkr_tensor *tensor, size_t i,
				struct mpk_value *out, struct mpk_error *err)
{
	const struct mpk_dltensor *t = (const struct mpk_dltensor *)(const void *)tensor;

	if (kind == MPKR_KIND_NONE)
		return MPK_OK;
	if (kind < MPKR_KIND_TENSOR || kind > MPKR_KIND_TEXT)
		return mpk_fail(err, MPK_E_USAGE, "a kind of which no value is made: %d",
				(int)kind);
	if (!t)
		return mpk_fail(err, MPK_E_USAGE, "a pointer that is needed is NULL");
	MPK_TRY(mpk_run_check_tensor(t, "input", i, err));
	if (kind == MPKR_KIND_TENSOR)
		return copy_tensor(t, i, out, err);
	return mpk_run_place_plain(kind, t, i, out, err);
}

static enum mpk_code make_value_of(const struct mpkr_model *model, enum mpkr_kind kind,
				   const struct mpkr_tensor *tensor, struct mpk_value *out,
				   struct mpk_error *err)
{
	struct mpk_memory *before = mpk_run_takes(model);
	enum mpk_code code = make_value(kind, tensor, 0, out, err);

	(void)mpk_memory_swap(before);
	return code;
}

int mpkr_value_make(mpkr_model *model, enum mpkr_kind kind, const struct mpkr_tensor *tensor,
		    mpkr_value **out, struct mpkr_error *err)
{
	struct mpk_value made = { 0 };
	struct mpk_error failure;
	enum mpk_code code;

	if (!model || !out)
		code = mpk_fail(&failure, MPK_E_USAGE, "a pointer that is needed is NULL");
	else
		code = make_value_of(model, kind, tensor, &made, &failure);
	if (code == MPK_OK)
		code = mpk_run_value(model, made, out, &failure);
	if (code == MPK_OK)
		return MPKR_OK;
	mpk_value_drop(&made);
	return mpk_run_report(&failure, err);
}

static enum mpk_code fill_tuple(const struct mpkr_model *model, const struct mpkr_arg *items,
				size_t n, const struct mpk_value *out, struct mpk_error *err)
{
	for (size_t i = 0; i < n; i++) {
		struct mpk_value *v = &out->array->items[i];

		if (!items[i].value) {
			MPK_TRY(make_value(items[i].tensor ? MPKR_KIND_TENSOR : MPKR_KIND_NONE,
					   items[i].tensor, i, v, err));
			continue;
		}
		MPK_TRY(mpk_run_check_value(model, &items[i], i, err));
		*v = mpk_value_hold(items[i].value->value);
	}
	return MPK_OK;
}

static enum mpk_code make_tuple(const struct mpkr_model *model, const struct mpkr_arg *items,
				size_t n, struct mpk_value *out, struct mpk_error *err)
{
	struct mpk_memory *before = mpk_run_takes(model);
	enum mpk_code code = mpk_value_of_array(n, out, err);

	if (code == MPK_OK)
		code = fill_tuple(model, items, n, out, err);
	(void)mpk_memory_swap(before);
	return code;
}

int mpkr_value_tuple(mpkr_model *model, const struct mpkr_arg *items, size_t n, mpkr_value **out,
		     struct mpkr_error *err)
{
	struct mpk_value made = { 0 };
	struct mpk_error failure;
	enum mpk_code code;

	if (!model || !out || (n && !items))
		code = mpk_fail(&failure, MPK_E_USAGE, "a pointer that is needed is NULL");
	else if (n > ITEMS_MAX)
		code = mpk_fail(&failure, MPK_E_USAGE,
				"a tuple of %zu items; at most %d are possible", n, ITEMS_MAX);
	else
		code = make_tuple(model, items, n, &made, &failure);
	if (code == MPK_OK)
		code = mpk_run_value(model, made, out, &failure);
	if (code == MPK_OK)
		return MPKR_OK;
	mpk_value_drop(&made);
	return mpk_run_report(&failure, err);
}

static enum mpk_code call_value(mpkr_function *f, const struct mpkr_arg *in, size_t n,
				mpkr_value **out, struct mpk_error *err)
{
	struct mpk_value result = { 0 };
	enum mpk_code code;

	if (!f || !out || (n && !in))
		return mpk_fail(err, MPK_E_USAGE, "a pointer that is needed is NULL");
	MPK_TRY(mpk_run_call_value(f, in, n, false, NULL, &result, err));
	code = mpk_run_value(f->model, result, out, err);
	if (code != MPK_OK)
		mpk_value_drop(&result);
	return code;
}

int mpkr_call_value(mpkr_function *function, const struct mpkr_arg *in, size_t n, mpkr_value **out,
		    struct mpkr_error *err)
{
	struct mpk_error failure;

	if (call_value(function, in, n, out, &failure) == MPK_OK)
		return MPKR_OK;
	return mpk_run_report(&failure, err);
}

/* --- looked into --------------------------------------------------------------------------------- */

enum mpkr_kind mpkr_value_kind(const mpkr_value *value)
{
	enum mpk_value_kind kind = value ? value->value.kind : MPK_VALUE_NONE;

	switch (kind) {
	case MPK_VALUE_BOOL:
	case MPK_VALUE_INT:
	case MPK_VALUE_FLOAT:
		return MPKR_KIND_NUMBER;
	case MPK_VALUE_STR:
	case MPK_VALUE_BYTES:
		return MPKR_KIND_TEXT;
	case MPK_VALUE_SHAPE:
		return MPKR_KIND_SHAPE;
	case MPK_VALUE_TENSOR:
		return MPKR_KIND_TENSOR;
	case MPK_VALUE_ARRAY:
		return MPKR_KIND_TUPLE;
	case MPK_VALUE_DTYPE:
	case MPK_VALUE_DEVICE:
	case MPK_VALUE_STORAGE:
	case MPK_VALUE_OPAQUE:
	case MPK_VALUE_FUNCTION:
	case MPK_VALUE_MODULE:
	case MPK_VALUE_OBJECT:
		return MPKR_KIND_OBJECT;
	case MPK_VALUE_NONE:
	case MPK_VALUE_KIND_COUNT:
		break;
	}
	return MPKR_KIND_NONE;
}

const char *mpkr_value_type(const mpkr_value *value)
{
	const struct mpk_value *v = value ? &value->value : NULL;

	if (v && v->kind == MPK_VALUE_OBJECT)
		return v->object->type;
	return mpk_value_kind_name(v ? v->kind : MPK_VALUE_NONE);
}

size_t mpkr_value_count(const mpkr_value *value)
{
	return mpk_run_value_is_tuple(value) ? value->value.array->count : 0;
}

int mpkr_value_item(const mpkr_value *value, size_t i, mpkr_value **out, struct mpkr_error *err)
{
	struct mpk_error failure;
	struct mpk_value item;
	enum mpk_code code;

	if (!value || !out)
		code = mpk_fail(&failure, MPK_E_USAGE, "a pointer that is needed is NULL");
	else if (i >= mpkr_value_count(value))
		code = mpk_fail(&failure, MPK_E_NOTFOUND, "a value of %zu items has no item %zu",
				mpkr_value_count(value), i);
	else {
		item = mpk_value_hold(value->value.array->items[i]);
		code = mpk_run_value(value->model, item, out, &failure);
		if (code == MPK_OK)
			(*out)->is_lent = value->is_lent;
		else
			mpk_value_drop(&item);
	}
	return code == MPK_OK ? MPKR_OK : mpk_run_report(&failure, err);
}

/* A model reuses the memory that it lends, so tensors are copied on their devices, also those in
 * tuples.
 * @out     none; owned afterwards, also on failure */
static enum mpk_code keep_lent(struct mpkr_model *model, const struct mpk_value *v, unsigned depth,
			       struct mpk_value *out, struct mpk_error *err)
{
	*out = mpk_value_hold(*v);
	if (v->kind == MPK_VALUE_TENSOR)
		return mpk_run_own(model, &out->tensor, NULL, 0, v->tensor->dl.device, err);
	if (v->kind != MPK_VALUE_ARRAY)
		return MPK_OK;
	mpk_value_drop(out);
	if (depth == MPK_RUN_NEST_MAX)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "more than %d tuples nested",
				MPK_RUN_NEST_MAX);
	MPK_TRY(mpk_value_of_array(v->array->count, out, err));
	out->array->tag = v->array->tag;
	for (size_t i = 0; i < v->array->count; i++)
		MPK_TRY(keep_lent(model, &v->array->items[i], depth + 1, &out->array->items[i],
				  err));
	return MPK_OK;
}

int mpkr_value_hold(const mpkr_value *value, mpkr_value **out, struct mpkr_error *err)
{
	struct mpk_value held = { 0 };
	struct mpk_memory *before;
	struct mpk_error failure;
	enum mpk_code code = MPK_OK;

	if (!value || !out) {
		code = mpk_fail(&failure, MPK_E_USAGE, "a pointer that is needed is NULL");
	} else if (value->is_lent) {
		before = mpk_run_takes(value->model);
		code = keep_lent(value->model, &value->value, 0, &held, &failure);
		(void)mpk_memory_swap(before);
	} else {
		held = mpk_value_hold(value->value);
	}
	if (code == MPK_OK)
		code = mpk_run_value(value->model, held, out, &failure);
	if (code == MPK_OK)
		return MPKR_OK;
	mpk_value_drop(&held);
	return mpk_run_report(&failure, err);
}

/* Copies a tensor to a device that the caller can access. */
static enum mpk_code reach(const struct mpkr_value *value, int32_t device_type,
			   struct mpk_tensor **out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_run_tensors_fini) struct mpk_run_tensors tensors = { 0 };
	const struct mpk_dltensor *dl;

	if (value->value.kind == MPK_VALUE_NONE || value->value.kind == MPK_VALUE_ARRAY)
		return mpk_fail(err, MPK_E_USAGE, "a value that is no tensor: %s",
				mpkr_value_type(value));
	MPK_TRY(mpk_run_tensors_collect(&tensors, &value->value, err));
	dl = &tensors.items[0]->dl;
	if (mpk_dldevice_is_host(dl->device) ||
	    (!device_type && mpk_run_has_addresses(dl->device))) {
		*out = mpk_tensor_hold(tensors.items[0]);
		return MPK_OK;
	}
	return mpk_devices_copy_to_host(mpk_runtime_devices(value->model->runtime), dl, out, err);
}

static enum mpk_code value_tensor(const struct mpkr_value *value, int32_t device_type,
				  struct mpkr_result **out, struct mpk_error *err)
{
	struct mpk_memory *before;
	struct mpk_tensor *t;
	struct mpkr_result *made;
	enum mpk_code code;

	if (!value || !out)
		return mpk_fail(err, MPK_E_USAGE, "a pointer that is needed is NULL");
	if (device_type && device_type != MPKR_DEVICE_CPU)
		return mpk_fail(err, MPK_E_USAGE, "a tensor in memory of device type %d",
				(int)device_type);
	before = mpk_run_takes(value->model);
	code = reach(value, device_type, &t, err);
	(void)mpk_memory_swap(before);
	MPK_TRY(code);
	made = mpk_run_result(value->model, t);
	if (!made) {
		mpk_tensor_drop(t);
		return mpk_fail_nomem(err);
	}
	*out = made;
	return MPK_OK;
}

int mpkr_value_tensor(const mpkr_value *value, int32_t device_type, struct mpkr_result **out,
		      struct mpkr_error *err)
{
	struct mpk_error failure;

	if (value_tensor(value, device_type, out, &failure) == MPK_OK)
		return MPKR_OK;
	return mpk_run_report(&failure, err);
}
