/* SPDX-License-Identifier: Apache-2.0 */
/* occupancy: prints how many warps of each kernel a multiprocessor runs at once
 * (lib/show/occupancy). */
#include "occupancy/occupancy.h"

#include "base/num.h"
#include "common/diag.h"
#include "minspect/document.h"
#include "minspect/run.h"
#include "text/escape.h"

enum { BLOCK_MAX = 1024 }; /* threads, the limit of every known GPU */

static int occupancy_file(const struct minspect_options *o, struct minspect_look *l)
{
	const struct mpk_occupancy_ask *ask = l->user;
	struct mpk_error err = { 0 };
	struct mpk_occupancy_list list;

	minspect_filter(l);
	if (mpk_occupancy_read(l->view, ask, &l->file->arena, &list, &err) != MPK_OK) {
		mpk_error_at_file(&err, l->file->name);
		return mpk_diag_error(&err);
	}
	minspect_answer(o, l, &mpk_answer_occupancy, &list);
	return MPK_EXIT_OK;
}

int minspect_occupancy(const struct minspect_options *o)
{
	static const struct minspect_action action = { .look = occupancy_file, .is_cut = true };
	struct mpk_occupancy_ask ask = { 0 };
	struct mpk_error err = { 0 };

	if (o->block) {
		uint64_t extents[3] = { 1, 1, 1 };

		if (run_parse_extents("block", o->block, extents, &err) != MPK_OK)
			return mpk_diag_error(&err);
		ask.threads = extents[0] <= BLOCK_MAX && extents[1] <= BLOCK_MAX &&
					      extents[2] <= BLOCK_MAX
				      ? (uint32_t)(extents[0] * extents[1] * extents[2])
				      : BLOCK_MAX + 1;
		if (ask.threads > BLOCK_MAX)
			return mpk_diag_usage("--block: a block has at most %d threads", BLOCK_MAX);
	}
	if (o->shared && !mpk_parse_u64(mpk_span_str(o->shared), &ask.dynamic))
		return mpk_diag_usage("--shared takes a number of bytes, not '%s'",
				      MPK_QUOTE(mpk_span_str(o->shared)));
	if (o->devices_there.count) {
		ask.device = o->devices_there.items[0].value;
		if (o->devices_there.count > 1 || !mpk_occupancy_max_threads(ask.device))
			return mpk_diag_usage(
				"--device-arch: occupancy is computed for one device that is known, "
				"such as sm_90, not for '%s'",
				MPK_QUOTE(mpk_span_str(ask.device)));
	}
	return minspect_each(o, &action, &ask);
}
