/* SPDX-License-Identifier: Apache-2.0 */
/* The run of all checks of --check. It knows their tables; checks know only what they are handed. */
#include "check/check.h"

#include "check/internal/run.h"
#include "elf/reader.h"

static enum mpk_code run_table(struct mpk_check_state *s, const struct mpk_check_row *rows,
			       struct mpk_check_result *result, struct mpk_error *err)
{
	for (; rows->name; rows++) {
		struct mpk_check_item *item = &result->items[result->item_count++];

		*item = (struct mpk_check_item){ .name = rows->name };
		s->name = rows->name;
		MPK_TRY(rows->run(s, &item->skipped, err));
		if (item->skipped == MPK_CHECK_UNSAID)
			item->option = rows->option;
	}
	return MPK_OK;
}

static enum mpk_code run_all(struct mpk_check_state *s, struct mpk_check_result *result,
			     struct mpk_error *err)
{
	MPK_TRY(mpk_check_scope_init(s, err));
	MPK_TRY(run_table(s, mpk_check_machine, result, err));
	MPK_TRY(run_table(s, mpk_check_runtime, result, err));
	MPK_TRY(run_table(s, mpk_check_host, result, err));
	MPK_TRY(run_table(s, mpk_check_function, result, err));
	MPK_TRY(run_table(s, mpk_check_device, result, err));
	MPK_TRY(mpk_check_sum_calls(s, err));
	return result->report.failed ? mpk_fail_nomem(err) : MPK_OK;
}

enum mpk_code mpk_check_run(const struct mpk_view *view, const struct mpk_mapping *map,
			    const struct mpk_there *there, struct mpk_arena *arena,
			    struct mpk_check_result *result, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct mpk_check_state s = {
		.view = view,
		.map = map,
		.there = there,
		.arena = arena,
		.report = &result->report,
		.result = result,
	};
	enum mpk_code code;

	if (view->image->elf_class) {
		MPK_TRY(mpk_elf_open(view->image->bytes, view->image->bytes_off, &elf, err));
		s.elf = &elf;
	}
	code = run_all(&s, result, err);
	mpk_scope_fini(&s.scope);
	mpk_wants_fini(&s.wants);
	mpk_strmap_fini(&s.lost);
	return code;
}
