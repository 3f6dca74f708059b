/* SPDX-License-Identifier: Apache-2.0 */
/* section.c - sections of which each is the code of one device, and has its name
 *
 * In an object Clang's bundler looks for them by their names, and a linker leaves them out: there a section goes as a
 * whole, with its name. In what is loaded they are SYCL's, and what tables in the host's data name is taken out with
 * its line in the table (sycl.c). What no table names stays: the runtime chooses an image for a device by the table
 * before it looks at any byte, so one without bytes would still be chosen, and no other one then.
 */
#include <string.h>

#include "offload/offload.h"
#include "thin/internal/thin.h"

#define SECTION "__CLANG_OFFLOAD_BUNDLE__"

enum mpk_code mpk_thin_section_target(const char *name, struct mpk_span bytes,
				      struct mpk_arena *arena, const struct mpk_code_target **out,
				      struct mpk_error *err)
{
	struct mpk_offload_entry entry = { .data = bytes };
	struct mpk_code_target *t;

	*out = NULL;
	if (strncmp(name, SECTION, strlen(SECTION)) != 0)
		return MPK_OK;
	t = mpk_arena_alloc(arena, sizeof *t);
	MPK_TRY_ALLOC(t, err);
	*t = (struct mpk_code_target){ .bytes = bytes.len, .plain_bytes = bytes.len };
	mpk_offload_split_id(mpk_span_str(name + strlen(SECTION)), &entry);
	mpk_code_target_of_entry(&entry, t);
	*out = t;
	return MPK_OK;
}

static enum mpk_code is_kept(struct mpk_thin *t, const struct mpk_code_target *target, bool *kept,
			     struct mpk_error *err)
{
	*kept = mpk_thin_keeps(t, target);
	return mpk_thin_keep_devices(t, target, kept, 1, err);
}

enum mpk_code mpk_thin_device(struct mpk_thin *t, struct mpk_thin_container *c,
			      struct mpk_error *err)
{
	bool kept;

	MPK_TRY(is_kept(t, c->target, &kept, err));
	t->report->images++;
	c->is_binary = true;
	c->changed = c->is_gone = !kept;
	if (kept)
		return MPK_OK;
	t->report->dropped++;
	t->report->dropped_bytes += c->bytes.len;
	return MPK_OK;
}

enum mpk_code mpk_thin_leave(struct mpk_thin *t, const struct mpk_code_target *target,
			     struct mpk_error *err)
{
	bool kept;

	MPK_TRY(is_kept(t, target, &kept, err));
	t->report->left += !kept;
	return MPK_OK;
}
