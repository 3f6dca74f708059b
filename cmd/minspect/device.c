/* SPDX-License-Identifier: Apache-2.0 */
/* --devices: lists the devices of this machine, and whether the device code of files runs on it. */
#include "common/diag.h"
#include "minspect/document.h"
#include "model/devices.h"
#include "text/escape.h"

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
	/* Status 7 if code of a file cannot run here; CI systems treat it as "skip". */
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
