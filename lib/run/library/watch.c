/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - lets an application observe a model: the begin and end of operators, and properties of
 * its functions
 *
 * Names in a file end by length; the application gets NUL-terminated copies, cut if they are longer
 * than any compiler makes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "library/internal/library.h"
#include "runtime/observer.h"
#include "text/escape.h"

/* --- operators ----------------------------------------------------------------------------------- */

enum { NAME_MAX_BYTES = 512 };

static const char *name_of(struct mpk_span name, char *buffer)
{
	size_t len = name.len < NAME_MAX_BYTES ? name.len : NAME_MAX_BYTES - 1;

	if (len)
		memcpy(buffer, name.data, len);
	buffer[len] = '\0';
	return buffer;
}

struct mpk_dldevice mpk_run_operator_device(const struct mpk_operator *op,
					    const struct mpk_value *result)
{
	if (op->kind == MPK_OPERATOR_BUILTIN)
		return (struct mpk_dldevice){ MPK_DL_CPU, 0 };
	if (result && result->kind == MPK_VALUE_TENSOR)
		return result->tensor->dl.device;
	for (size_t i = op->count; i-- > 0;)
		if (op->operands[i].value.kind == MPK_VALUE_TENSOR)
			return op->operands[i].value.tensor->dl.device;
	return (struct mpk_dldevice){ MPK_DL_CPU, 0 };
}

enum mpkr_operator mpk_run_operator_kind(enum mpk_operator_kind kind)
{
	return kind == MPK_OPERATOR_KERNEL ? MPKR_OPERATOR_KERNEL
	       : kind == MPK_OPERATOR_COPY ? MPKR_OPERATOR_COPY
					   : MPKR_OPERATOR_BUILTIN;
}

static enum mpk_code answer(const struct mpk_operator *op, int said, const char *name,
			    struct mpk_error *err)
{
	if (said == MPKR_WATCH_SKIP && op->skips)
		*op->skips = true;
	if (said == MPKR_WATCH_GO_ON || said == MPKR_WATCH_SKIP)
		return MPK_OK;
	return mpk_fail(err, MPK_E_TIMEOUT, "the watcher ended the call at '%s'",
			MPK_QUOTE(mpk_span_str(name)));
}

/* Waits for earlier work on the device, which is not this operator's. */
static enum mpk_code report(struct mpk_run_watch *w, const struct mpk_operator *op,
			    const struct mpk_value *result, bool is_end, struct mpk_error *err)
{
	struct mpk_dldevice device = mpk_run_operator_device(op, result);
	struct mpkr_value few[12], *values = few, given = { .model = w->model, .is_lent = true };
	mpkr_value *few_places[MPK_ARRAY_COUNT(few)], **places = few_places;
	char name[NAME_MAX_BYTES], function[NAME_MAX_BYTES];
	struct mpkr_event event = { .size = sizeof event,
				    .is_end = is_end,
				    .kind = mpk_run_operator_kind(op->kind),
				    .name = name_of(op->name, name),
				    .function = name_of(op->function, function),
				    .index = op->index,
				    .device = { device.type, device.id },
				    .count = op->count };
	enum mpk_code code;

	if (!mpk_dldevice_is_host(device))
		MPK_TRY(mpk_devices_sync(mpk_runtime_devices(w->model->runtime), err));
	if (op->count > MPK_ARRAY_COUNT(few)) {
		values = calloc(op->count, sizeof *values);
		places = calloc(op->count, sizeof *places);
	}
	if (values && places) {
		for (size_t i = 0; i < op->count; i++) {
			values[i] = (struct mpkr_value){ w->model, op->operands[i].value, true };
			places[i] = &values[i];
		}
		event.args = places;
		if (result && result->kind != MPK_VALUE_NONE) {
			given.value = *result;
			event.result = &given;
		}
		event.nanoseconds = mpk_clock();
		code = answer(op, w->watcher(w->context, &event), name, err);
	} else {
		code = mpk_fail_nomem(err);
	}
	if (op->count > MPK_ARRAY_COUNT(few)) {
		free(values);
		free(places);
	}
	return code;
}

static enum mpk_code watch_begin(struct mpk_observer *self, const struct mpk_operator *op,
				 struct mpk_error *err)
{
	return report((struct mpk_run_watch *)self, op, NULL, false, err);
}

static enum mpk_code watch_end(struct mpk_observer *self, const struct mpk_operator *op,
			       const struct mpk_value *result, struct mpk_error *err)
{
	return report((struct mpk_run_watch *)self, op, result, true, err);
}

void mpkr_watch(mpkr_model *model, mpkr_watcher *watcher, void *context)
{
	struct mpk_run_watch *w;

	if (!model)
		return;
	w = &model->watch;
	w->watcher = NULL;
	if (watcher)
		*w = (struct mpk_run_watch){ .base = { .begin = watch_begin, .end = watch_end },
					     .model = model,
					     .watcher = watcher,
					     .context = context };
	mpk_run_set_observers(model);
}

/* The profile is the innermost observer, so that the work of other observers is not measured. */
void mpk_run_set_observers(struct mpkr_model *model)
{
	struct mpk_observer *first = model->profile.is_on ? &model->profile.base : NULL;

	if (model->watch.watcher) {
		model->watch.base.next = first;
		first = &model->watch.base;
	}
	mpk_runtime_set_observers(model->runtime, first);
}

/* --- what failed ---------------------------------------------------------------------------------- */

int mpkr_failed_at(const mpkr_function *f, struct mpkr_failure *out)
{
	struct mpkr_failure known = { 0 };
	const struct mpk_failed_at *at;

	if (!f || !out || out->size < sizeof out->size)
		return MPKR_E_USAGE;
	at = &f->session->stop.failed_at;
	if (!atomic_load(&at->is_noted))
		return MPKR_E_NOT_FOUND;
	known.name = at->name;
	known.function = at->function;
	known.before = at->before;
	known.instruction = at->instruction;
	mpk_run_hand_over(out, out->size, &known, sizeof known);
	return MPKR_OK;
}

/* --- functions ----------------------------------------------------------------------------------- */

const char *mpkr_extent_name(const mpkr_function *f, int is_output, size_t i, size_t axis)
{
	const struct mpk_run_leaf *leaves = is_output ? f->outputs : f->inputs;
	size_t count = is_output ? f->output_count : f->input_count;

	if (i >= count || !leaves[i].extents || axis >= leaves[i].type->ndim)
		return NULL;
	return leaves[i].extents[axis];
}

struct mpkr_device mpkr_place(const mpkr_function *f, size_t i)
{
	const struct mpk_type *type = i < f->input_count ? f->inputs[i].type : NULL;
	struct mpkr_device device = { f->where.type, f->where.id };

	if (type && type->kind == MPK_TYPE_TENSOR && type->device &&
	    type->device != device.device_type)
		device = (struct mpkr_device){ type->device, 0 };
	return device;
}
