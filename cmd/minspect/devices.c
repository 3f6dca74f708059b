/* SPDX-License-Identifier: Apache-2.0 */
/* --devices: what can run here, and whether the device code of files can */
#include "model/devices.h"

#include "common/diag.h"
#include "minspect/document.h"
#include "text/escape.h"

static void begin(struct minspect_look *l)
{
	if (l->json)
		mpk_device_groups_json(l->user, l->json, l->at);
	else
		mpk_device_groups_text(l->user, l->out);
}

static int look(const struct minspect_options *o, struct minspect_look *l)
{
	(void)o;
	if (l->json) {
		mpk_json_text(l->json, l->at, "file", l->file->name);
	} else {
		minspect_separate(l);
		mpk_escape(l->out, mpk_span_str(l->file->name));
		mpk_strbuf_putc(l->out, '\n');
	}
	return mpk_view_devices(l->view, l->user, l->out, l->json, l->at) ? MPK_EXIT_OK
									  : MPK_EXIT_DEVICE;
}

int minspect_devices(const struct minspect_options *o)
{
	static const struct minspect_action action = { .look = look, .begin = begin };
	MPK_CLEANUP(mpk_device_groups_fini) struct mpk_device_groups groups = { 0 };
	struct mpk_error err = { 0 };

	if (mpk_device_groups_find(&groups, &err) != MPK_OK)
		return mpk_diag_error(&err);
	return minspect_each(o, &action, &groups);
}
