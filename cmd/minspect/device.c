/* SPDX-License-Identifier: Apache-2.0 */
/* Devices: where a call runs (--device, --grid, --block, --shared), and --devices, which lists
 * what this machine has and whether the device code of files runs on it. */
#include "minspect/run.h"

#include <string.h>

#include "base/num.h"
#include "common/diag.h"
#include "minspect/document.h"
#include "model/devices.h"
#include "text/escape.h"

/* --- where a call runs ------------------------------------------------------------------- */

/* "X", "X,Y" or "X,Y,Z", each from 1 to 2^31 - 1 */
static enum mpk_code parse_extents(const char *option, const char *text, uint64_t out[3],
				   struct mpk_error *err)
{
	const char *at = text;

	for (unsigned axis = 0; text && axis < 3; axis++) {
		size_t len = strcspn(at, ",");

		if (!mpk_parse_u64(mpk_span_of(at, len), &out[axis]) || out[axis] == 0 ||
		    out[axis] > INT32_MAX)
			break;
		at += len;
		if (!*at)
			return MPK_OK;
		at++;
	}
	if (!text)
		return MPK_OK;
	return mpk_fail(err, MPK_E_USAGE,
			"--%s: expected X, X,Y or X,Y,Z, each from 1 to 2147483647, got '%s'",
			option, MPK_QUOTE(mpk_span_str(text)));
}

enum mpk_code run_device_parse(const struct minspect_options *o, struct run_device *out,
			       struct mpk_error *err)
{
	struct run_device where = { .is_kernel = o->grid || o->block || o->shared };
	enum mpk_device_kind kind = MPK_DEVICE_NONE;
	unsigned ordinal = 0;

	if (o->device && mpk_device_parse(mpk_span_str(o->device), &kind, &ordinal, err)) {
		mpk_error_prefix(err, "--device: ");
		return MPK_E_USAGE;
	}
	/* A device of kind none means that --device was not given; mpk_call_choose_device then
	 * chooses. */
	where.device = (struct mpk_dldevice){ (int32_t)kind, (int32_t)ordinal };
	MPK_TRY(parse_extents("grid", o->grid, where.extents.grid, err));
	MPK_TRY(parse_extents("block", o->block, where.extents.block, err));
	if (o->shared && (!mpk_parse_u64(mpk_span_str(o->shared), &where.extents.shared_bytes) ||
			  where.extents.shared_bytes > INT32_MAX))
		return mpk_fail(
			err, MPK_E_USAGE,
			"--shared: expected a number of bytes from 0 to 2147483647, got '%s'",
			MPK_QUOTE(mpk_span_str(o->shared)));
	*out = where;
	return MPK_OK;
}

enum mpk_code run_device_fill(const struct run_device *where,
			      const struct mpk_library_options *library, struct mpk_call *call,
			      struct mpk_error *err)
{
	call->device = where->device;
	if (where->is_kernel)
		/* Borrowed: the extents live as long as the request. */
		call->kernel = &where->extents;
	return mpk_call_choose_device(library, call, err);
}

/* --- --devices --------------------------------------------------------------------------- */

static void begin_devices(const struct minspect_options *o, struct minspect_look *l)
{
	minspect_answer(o, l, &mpk_answer_devices, l->user);
}

static int look_for_devices(const struct minspect_options *o, struct minspect_look *l)
{
	(void)o;
	if (l->json) {
		mpk_json_text(l->json, l->at, "file", l->file->name);
	} else {
		minspect_separate(l);
		mpk_escape(l->out, mpk_span_str(l->file->name));
		mpk_strbuf_putc(l->out, '\n');
	}
	/* Status 7 where code of a file cannot run here, which a CI takes for "skip". */
	return mpk_view_devices(l->view, l->user, l->out, l->json, l->at) ? MPK_EXIT_OK
									  : MPK_EXIT_DEVICE;
}

int minspect_devices(const struct minspect_options *o)
{
	static const struct minspect_action action = { .look = look_for_devices,
						       .begin = begin_devices };
	struct mpk_device_groups groups = { 0 };
	struct mpk_error err = { 0 };
	int status = mpk_device_groups_find(&groups, &err) == MPK_OK
			     ? minspect_each(o, &action, &groups)
			     : mpk_diag_error(&err);

	mpk_device_list_fini(&groups.list);
	return status;
}
