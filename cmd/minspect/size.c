/* SPDX-License-Identifier: Apache-2.0 */
/* --size as text, JSON, CSV or Markdown, and --budget, which gives status 1 if a file is larger. */
#include "size/size.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "common/diag.h"
#include "list/totals.h"
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

/* The files of a set by size, printed instead of the tables of each file if these are too long. */
struct measured {
	struct minspect_aside aside;
	struct mpk_size_row *rows; /* malloc'ed */
	size_t count, cap;
	struct mpk_arena arena; /* holds the names */
	struct mpk_totals totals;
};

static void measured_fini(struct measured *m)
{
	minspect_aside_fini(&m->aside);
	free(m->rows);
	mpk_totals_fini(&m->totals);
	mpk_arena_fini(&m->arena);
}

static enum mpk_code add_file(const struct minspect_options *o, struct minspect_look *l,
			      const struct mpk_size *size, struct mpk_error *err)
{
	struct measured *m = l->user;
	const char *name = mpk_arena_text(&m->arena, mpk_span_str(l->file->name));

	MPK_TRY_ALLOC(name, err);
	MPK_TRY_ALLOC(MPK_VEC_ROOM(m->rows, m->count, m->cap), err);
	m->rows[m->count++] = mpk_size_row(size, name);
	MPK_TRY(mpk_totals_add(&m->totals, l->view, err));
	minspect_answer_aside(o, l, &m->aside, &mpk_answer_size, size);
	return MPK_OK;
}

static void size_sum(const struct minspect_options *o, struct minspect_look *l)
{
	struct measured *m = l->user;
	struct mpk_size_rows rows = { .items = m->rows, .count = m->count };

	size_t len = strlen(o->files[0]);

	/* libraries of one archive: it is named once */
	if (o->file_count == 1 && m->count && strncmp(m->rows[0].name, o->files[0], len) == 0 &&
	    strncmp(m->rows[0].name + len, "!/", 2) == 0) {
		rows.set = o->files[0];
		rows.prefix = len + strlen("!/");
	}
	if (!m->aside.is_too_much) {
		minspect_aside_print(l, &m->aside);
		return;
	}
	mpk_answer_size_rows.line(&rows, minspect_style(), l->out);
	mpk_answer_totals.text(&m->totals, minspect_style(), l->out);
	mpk_answer_size_rows.text(&rows, minspect_style(), l->out);
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
	if (l->is_next_model) {
		/* Bytes that several models of a file share are counted only for the first
		 * model. */
		size.sections.count = 0;
		size.function_count = 0;
		size.gpu.count = 0;
		size.other = 0;
	}
	if (!l->user || !l->in_set)
		minspect_answer(o, l, &mpk_answer_size, &size);
	else if (add_file(o, l, &size, &err) != MPK_OK)
		return mpk_diag_error(&err);
	return l->is_next_model ? MPK_EXIT_OK : over_budget(l, budget);
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
					  .each_model = true,
					  .begin = o->csv ? begin_csv : NULL };

	if (o->csv + o->markdown + o->json > 1)
		return mpk_diag_usage(
			"--csv, --markdown and --json are three forms; give one of them");
	if (o->csv || o->markdown || o->json || o->all)
		return minspect_each(o, &action, NULL);

	MPK_CLEANUP(measured_fini) struct measured m = { 0 };

	action.sum = size_sum;
	action.sum_of_set = true;
	action.is_cut = true;
	return minspect_each(o, &action, &m);
}
