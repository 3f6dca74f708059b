/* SPDX-License-Identifier: Apache-2.0 */
/* --check: each file with each place that the options describe, which lib/show/check compares. One file is answered for
 * itself; of several the verdict comes first, so that nothing is printed before the last. */
#include "check/check.h"

#include <string.h>

#include "check/set.h"
#include "common/diag.h"
#include "minspect/check_there.h"
#include "minspect/document.h"

static void check_fini(struct mpk_check_result *result)
{
	mpk_report_fini(&result->report);
}

static int status_of(enum mpk_check_outcome outcome)
{
	return mpk_check_outcome_is_error(outcome) ? MPK_EXIT_DIFFERENT
	       : outcome == MPK_CHECK_NOTHING      ? MPK_EXIT_NO_BLOB
						   : MPK_EXIT_OK;
}

/* Answers of files that are kept until it is known how many lines there are. */
enum { DETAILS_MOST = 64 << 10, DETAILS_LINES = 36 };

/* What comes of a file among several shows when all are there. */
static void take_result(const struct minspect_options *o, struct minspect_look *l,
			struct mpk_check_result *result, size_t place)
{
	struct minspect_places *places = l->user;
	struct mpk_error err = { 0 };

	places->failed |= mpk_check_set_add(&places->set, result, place, &err) != MPK_OK;
	if (l->json || !l->in_set)
		minspect_answer(o, l, &mpk_answer_check, result);
	else if (o->all || (places->details.len < DETAILS_MOST &&
			    mpk_check_outcome(result) != MPK_CHECK_NOTHING))
		mpk_answer_check.text(result, minspect_style(), &places->details);
}

static int check_file(const struct minspect_options *o, struct minspect_look *l, size_t i,
		      struct mpk_check_code *code)
{
	MPK_CLEANUP(check_fini) struct mpk_check_result result = { 0 };
	struct minspect_places *places = l->user;
	struct mpk_there *there = &places->items[i];
	struct mpk_error err = { 0 };

	there->is_one_of_several = l->in_set;
	places->is_set |= l->in_set;
	if (mpk_check_run(l->view, &l->file->map, there, &l->file->arena, code, &result, &err) !=
	    MPK_OK) {
		mpk_error_at_file(&err, l->file->name);
		return minspect_report(l, &err);
	}
	take_result(o, l, &result, i);
	return l->in_set ? MPK_EXIT_OK : status_of(mpk_check_outcome(&result));
}

/* A verdict for each place, each an entry of its own in a document. */
static int minspect_check_look(const struct minspect_options *o, struct minspect_look *l)
{
	struct minspect_places *places = l->user;
	struct mpk_check_code code = { 0 };
	int status = MPK_EXIT_OK;

	minspect_siblings_enter(places->siblings, l->archive);
	for (size_t i = 0; i < places->count; i++) {
		/* minspect_each made the entry of the first place. */
		if (l->json && i)
			l->at = mpk_json_object(l->json, l->files, NULL);
		int got = check_file(o, l, i, &code);

		status = status == MPK_EXIT_DIFFERENT || !got ? status : got;
	}
	return status;
}

/* --- all files together ------------------------------------------------------------------ */

/* Counted once, by whichever of the two below comes first. */
static bool end_set(struct minspect_places *p)
{
	struct mpk_error err = { 0 };

	if (!p->is_ended)
		p->failed |= mpk_check_set_sum(&p->set, &err) != MPK_OK;
	p->is_ended = true;
	return !p->failed;
}

/* Of one file in one place the sentence is its own. */
static void put_json(const struct minspect_places *p, struct mpk_json *j, struct mpk_json_at *at)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf verdict = { 0 };

	if (p->items[0].device)
		mpk_answer_check_set.json(&p->set, j, at);
	if (p->is_set || p->set.count != 1)
		mpk_check_set_put_verdict(&p->set, &verdict);
	else
		mpk_strbuf_puts(&verdict, p->set.items[0].sentence);
	mpk_json_text(j, at, "verdict", mpk_strbuf_text(&verdict));
}

static int minspect_check_end(const struct minspect_options *o, struct minspect_look *l)
{
	struct minspect_places *p = l->user;
	struct mpk_error err = { 0 };

	if (!end_set(p))
		return mpk_diag_error((mpk_fail_nomem(&err), &err));
	if (l->json && o->json_lines)
		put_json(p, l->json, l->json->root);
	return p->is_set ? status_of(mpk_check_set_outcome(&p->set)) : MPK_EXIT_OK;
}

static size_t count_lines(const struct mpk_strbuf *text)
{
	size_t n = 0;

	for (const char *p = mpk_strbuf_text(text); (p = strchr(p, '\n')) != NULL; p++)
		n++;
	return n;
}

static void check_sum(const struct minspect_options *o, struct minspect_look *l)
{
	struct minspect_places *p = l->user;

	if (!end_set(p))
		return;
	if (l->json) {
		put_json(p, l->json, l->at);
	} else if (p->is_set) {
		p->set.is_short = count_lines(&p->details) <= DETAILS_LINES;
		minspect_answer(o, l, &mpk_answer_check_set, &p->set);
		if (p->set.is_short || o->all)
			mpk_strbuf_puts(l->out, mpk_strbuf_text(&p->details));
		l->out->failed |= p->details.failed;
	}
}

/* How the set is called: what was named, or how many that were. */
static const char *name_of(const struct minspect_options *o, struct mpk_arena *arena)
{
	size_t len = o->file_count && o->folder_lens ? o->folder_lens[0] : 0;

	while (len > 1 && o->files[0][len - 1] == '/')
		len--;
	if (len)
		return mpk_arena_text(arena, mpk_span_of(o->files[0], len));
	return o->file_count == 1 ? o->files[0]
				  : mpk_arena_printf(arena, "%zu files", o->file_count);
}

int minspect_check(const struct minspect_options *o)
{
	const struct minspect_action action = { .look = minspect_check_look,
						.end = minspect_check_end,
						.sum = check_sum,
						.is_cut = true,
						.takes_libraries = true,
						.each_model = true,
						.takes_any = o->abi != NULL };
	struct mpk_arena arena = { 0 };
	struct mpk_there common = { 0 };
	struct minspect_places places = { .arena = &arena };
	struct minspect_siblings siblings = { 0 };
	struct mpk_error err = { 0 };
	int status = minspect_places_set(o, &arena, &common, &places);

	places.set = (struct mpk_check_set){ .name = name_of(o, &arena),
					     .places = places.items,
					     .device_count = places.devices,
					     .all = o->all,
					     .arena = &arena };
	if (status == MPK_EXIT_OK && !places.set.name)
		status = mpk_diag_error((mpk_fail_nomem(&err), &err));
	if (status == MPK_EXIT_OK) {
		minspect_siblings_init(&siblings, o, &places);
		status = minspect_each(o, &action, &places);
	}
	minspect_siblings_fini(&siblings);
	for (struct mpk_dso *d = common.runtimes; d; d = d->next)
		mpk_dso_close(d);
	for (struct mpk_dso *d = common.hosts; d; d = d->next)
		mpk_dso_close(d);
	mpk_check_set_fini(&places.set);
	mpk_strbuf_fini(&places.details);
	mpk_arena_fini(&arena);
	return status;
}
