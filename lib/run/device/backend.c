/* SPDX-License-Identifier: Apache-2.0 */
/* backend.c - what the back ends share: lists of devices, failures with a driver's words */
#include "device/internal/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "text/escape.h"

enum mpk_code mpk_device_list_push(struct mpk_device_list *list, const struct mpk_device_info *info,
				   struct mpk_error *err)
{
	MPK_TRY_ALLOC(
		mpk_vec_reserve(&list->items, &list->cap, list->count + 1, sizeof *list->items),
		err);
	list->items[list->count++] = *info;
	return MPK_OK;
}

void mpk_device_list_fini(struct mpk_device_list *list)
{
	free(list->items);
	*list = (struct mpk_device_list){ 0 };
}

enum mpk_code mpk_device_no_such(struct mpk_error *err, const char *kind, unsigned ordinal,
				 size_t count)
{
	if (count == 1)
		return mpk_fail(err, MPK_E_DEVICE, "no device %s:%u: %s:0 is the only one", kind,
				ordinal, kind);
	return mpk_fail(err, MPK_E_DEVICE, "no device %s:%u: there are %s:0 to %s:%zu", kind,
			ordinal, kind, kind, count - 1);
}

enum mpk_code mpk_device_fail_log(struct mpk_error *err, enum mpk_code code, const char *what,
				  const char *log)
{
	char shown[700];
	size_t used = 0;

	shown[0] = '\0';
	while (*log) {
		size_t len = strcspn(log, "\n");
		char line[400];

		if (len) {
			mpk_escape_to(mpk_span_of(log, len), line, sizeof line);
			if (used + strlen(line) + 4 > sizeof shown)
				break;
			used += (size_t)snprintf(shown + used, sizeof shown - used, "\n  %s", line);
		}
		log += len + (log[len] == '\n');
	}
	return mpk_fail(err, code, "%s%s%s", what, used ? ":" : "", shown);
}

enum mpk_code mpk_device_fail_status(struct mpk_error *err, const struct mpk_device_status *status,
				     const char *fmt, va_list ap)
{
	char what[512];

	(void)vsnprintf(what, sizeof what, fmt, ap);
	return mpk_fail(err, status->code, "%s: %s (%lld)%s%s", what,
			MPK_QUOTE(mpk_span_str(status->name)), status->number,
			status->cause ? ": " : "", status->cause ? status->cause : "");
}
