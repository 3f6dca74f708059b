/* SPDX-License-Identifier: Apache-2.0 */
/* The cases of a file, called and judged. */
#include "session/cases.h"

#include <stdlib.h>
#include <string.h>

#include "text/escape.h"

/* A device that is missing is no fault of the case; whatever else goes wrong is. */
static void cases_run_fail(struct mpk_case_outcome *out, enum mpk_code code, const char *why)
{
	out->verdict = code == MPK_E_DEVICE ? MPK_CASE_SKIPPED : MPK_CASE_FAILED;
	if (out->code == MPK_OK)
		out->code = code;
	mpk_strbuf_printf(&out->why, "%s%s", out->why.len ? "; " : "", why);
}

/* --- one case ----------------------------------------------------------------------- */

/* Every expectation is checked: a report names all results that differ. */
static enum mpk_code cases_run_compare(const struct mpk_case *c,
				       const struct mpk_call_result *results,
				       struct mpk_case_outcome *out, struct mpk_error *err)
{
	out->comparisons = calloc(c->expect_count + 1, sizeof *out->comparisons);
	MPK_TRY_ALLOC(out->comparisons, err);
	for (size_t i = 0; i < c->expect_count; i++) {
		struct mpk_error why;
		enum mpk_code rc = mpk_expect_check(&c->expects[i], results, i, c->tolerance,
						    &out->comparisons[i], &why);

		if (rc != MPK_OK)
			cases_run_fail(out, rc, why.text);
	}
	return MPK_OK;
}

/* Messages are escaped already; so must be what is looked for in them. */
static bool contains(const char *text, const char *part)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf escaped = { 0 };

	mpk_escape(&escaped, mpk_span_str(part));
	return strstr(text, mpk_strbuf_text(&escaped)) != NULL;
}

/* What the function raised, or what was said of its arguments before anything ran. */
static bool is_refusal(const struct mpk_batch_item *item)
{
	return !item->crashed &&
	       (item->error.code == MPK_E_RAISED || item->error.code == MPK_E_USAGE);
}

static void judge_raised(const struct mpk_case *c, const struct mpk_error *raised,
			 struct mpk_case_outcome *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf why = { 0 };

	if (contains(raised->text, c->raises))
		return;
	mpk_strbuf_printf(&why, "raised '%s', expected an error with '%s'", raised->text,
			  MPK_QUOTE(mpk_span_str(c->raises)));
	cases_run_fail(out, MPK_E_DIFFERENT, mpk_strbuf_text(&why));
}

static void judge_silent(const struct mpk_case *c, struct mpk_case_outcome *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf why = { 0 };

	mpk_strbuf_printf(&why, "returned, expected an error with '%s'",
			  MPK_QUOTE(mpk_span_str(c->raises)));
	cases_run_fail(out, MPK_E_DIFFERENT, mpk_strbuf_text(&why));
}

/* What a case expects to be raised must be the function's refusal; a crash is none. */
static enum mpk_code cases_run_judge(const struct mpk_case *c, const struct mpk_batch_item *item,
				     struct mpk_case_outcome *out, struct mpk_error *err)
{
	const struct mpk_call_result *r = &item->result;
	enum mpk_code code = item->error.code;

	out->seconds = item->seconds;
	if (c->raises && is_refusal(item)) {
		judge_raised(c, &item->error, out);
		return MPK_OK;
	}
	if (code != MPK_OK) {
		cases_run_fail(out, code, item->error.text);
		return MPK_OK;
	}
	out->calls = r->seconds_count;
	out->timing = mpk_timing_of(r->seconds, r->seconds_count);
	if (c->raises) {
		judge_silent(c, out);
		return MPK_OK;
	}
	return cases_run_compare(c, r, out, err);
}

/* --- all of them -------------------------------------------------------------------- */

/* Isolated code has a process for each call. */
static enum mpk_code check_kept(const struct mpk_library_options *library,
				const struct mpk_call *call, struct mpk_error *err)
{
	bool has_kept = call->keep != NULL;

	for (size_t i = 0; call->kept && i < call->arg_count; i++)
		has_kept |= call->kept[i].len != 0;
	if (!library->sandbox || !has_kept)
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_USAGE,
		"nothing can be kept for later calls where each call has a process of its own");
}

/* Where the call takes place; a case that has no place is skipped. */
static void cases_run_prepare(const struct mpk_library_options *library, const struct mpk_case *c,
			      struct mpk_call *call, struct mpk_batch_item *item)
{
	if (c->skip)
		return;
	*call = c->call;
	if (mpk_call_choose_device(library, call, &item->error) != MPK_OK ||
	    mpk_call_check_isolated(library, call, &item->error) != MPK_OK ||
	    check_kept(library, call, &item->error) != MPK_OK)
		return;
	item->call = call;
	item->timeout = c->timeout;
}

enum mpk_code mpk_cases_call(const struct mpk_library_options *library,
			     const struct mpk_cases *cases, struct mpk_case_calls *out,
			     struct mpk_error *err)
{
	out->count = cases->count;
	out->calls = calloc(out->count + 1, sizeof *out->calls);
	out->items = calloc(out->count + 1, sizeof *out->items);
	MPK_TRY_ALLOC(out->calls && out->items, err);
	for (size_t i = 0; i < out->count; i++)
		cases_run_prepare(library, &cases->items[i], &out->calls[i], &out->items[i]);
	return mpk_batch_run(library, out->items, out->count, err);
}

void mpk_case_calls_fini(struct mpk_case_calls *calls)
{
	for (size_t i = 0; calls->items && i < calls->count; i++)
		mpk_call_result_fini(&calls->items[i].result);
	free(calls->items);
	free(calls->calls);
	*calls = (struct mpk_case_calls){ 0 };
}

/* --- verdicts ----------------------------------------------------------------------- */

static void refuse_skip(struct mpk_case_outcome *out)
{
	if (out->verdict != MPK_CASE_SKIPPED)
		return;
	out->verdict = MPK_CASE_FAILED;
	if (out->code == MPK_OK)
		out->code = MPK_E_DIFFERENT;
}

/* Skipped, called, or refused before a call. */
static enum mpk_code judge_one(const struct mpk_case *c, const struct mpk_batch_item *item,
			       struct mpk_case_outcome *out, struct mpk_error *err)
{
	if (c->skip) {
		out->verdict = MPK_CASE_SKIPPED;
		mpk_escape(&out->why, mpk_span_str(c->skip));
		return MPK_OK;
	}
	if (item->call)
		return cases_run_judge(c, item, out, err);
	cases_run_fail(out, item->error.code, item->error.text);
	return MPK_OK;
}

/* In its own pass over the file, as the process that called did not know what was expected. */
enum mpk_code mpk_cases_judge(const struct mpk_cases *cases, const struct mpk_case_calls *calls,
			      struct mpk_case_outcome *out, struct mpk_error *err)
{
	if (cases->count != calls->count)
		return mpk_fail(err, MPK_E_IO, "the case file changed while its cases were called");
	for (size_t i = 0; i < cases->count; i++)
		MPK_TRY(judge_one(&cases->items[i], &calls->items[i], &out[i], err));
	for (size_t i = 0; cases->no_skip && i < cases->count; i++)
		refuse_skip(&out[i]);
	return MPK_OK;
}

void mpk_case_outcome_fini(struct mpk_case_outcome *outcome)
{
	mpk_strbuf_fini(&outcome->why);
	free(outcome->comparisons);
	*outcome = (struct mpk_case_outcome){ 0 };
}
