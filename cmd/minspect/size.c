/* SPDX-License-Identifier: Apache-2.0 */
/* --size as text, JSON, CSV or Markdown, and --budget, which makes the status 1 for a file that
 * is larger. */
#include "size/size.h"

#include "common/diag.h"
#include "minspect/document.h"
#include "text/escape.h"
#include "text/table.h"

static int over_budget(const struct minspect_look *l, uint64_t budget)
{
	struct mpk_error err = { 0 };
	uint64_t bytes = l->view->file_bytes;

	if (bytes <= budget)
		return MPK_EXIT_OK;
	(void)mpk_fail(&err, MPK_E_DIFFERENT, "%s is %s over the budget of %s", MPK_SIZE(bytes),
		       MPK_SIZE(bytes - budget), MPK_SIZE(budget));
	mpk_error_at_file(&err, l->file->name);
	return mpk_diag_error(&err);
}

static int size_measure(const struct minspect_options *o, struct minspect_look *l)
{
	struct mpk_error err = { 0 };
	uint64_t budget = UINT64_MAX;
	struct mpk_size size;

	if (o->budget && !mpk_size_parse(mpk_span_str(o->budget), &budget))
		return mpk_diag_usage("--budget takes a size such as 2GiB, 500MB or 4096, not '%s'",
				      MPK_QUOTE(mpk_span_str(o->budget)));
	minspect_filter(l);
	if (mpk_size_read(l->view, &l->file->arena, &size, &err) != MPK_OK) {
		mpk_error_at_file(&err, l->file->name);
		return mpk_diag_error(&err);
	}
	minspect_answer(o, l, &mpk_answer_size, &size);
	return over_budget(l, budget);
}

static void begin_csv(const struct minspect_options *o, struct minspect_look *l)
{
	(void)o;
	mpk_answer_size.csv_head(NULL, minspect_style(), l->out);
}

int minspect_size(const struct minspect_options *o)
{
	struct minspect_action action = { .doing = "measuring",
					  .look = size_measure,
					  .begin = o->csv ? begin_csv : NULL };

	if (o->csv + o->markdown + o->json > 1)
		return mpk_diag_usage(
			"--csv, --markdown and --json are three forms; give one of them");
	return minspect_each(o, &action, NULL);
}
