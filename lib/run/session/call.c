/* SPDX-License-Identifier: Apache-2.0 */
/* call.c - one call, and the calls of a case file: where each runs, its result, what is said of it
 *
 * A single call is a batch of one. Which device a function wants its tensors on is written nowhere
 * in a library: it is guessed from the kernels in it (mpk_devices_default). Where the guess, or what
 * the user said, was wrong, host code says so in words of its own, or crashes on a pointer of the
 * other memory. The error then gets the devices that are left.
 */
#include "session/call.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "device/device.h"
#include "program/model.h"
#include "session/cases.h"
#include "text/escape.h"
#include "value/parse.h"

/* --- results --------------------------------------------------------------------------------- */

void mpk_call_result_fini(struct mpk_call_result *r)
{
	for (size_t i = 0; i < r->count; i++)
		mpk_value_drop(&r->values[i]);
	free(r->values);
	free(r->seconds);
	for (size_t i = 0; i < MPK_WATCHER_COUNT; i++)
		if (mpk_watchers[i]->fini)
			mpk_watchers[i]->fini(&r->seen);
	*r = (struct mpk_call_result){ 0 };
}

static int compare_seconds(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Nearest rank for p95, and the mean of the middle two for the median of an even count. */
struct mpk_timing mpk_timing_of(double *seconds, size_t count)
{
	struct mpk_timing t = { 0 };
	size_t p95 = (count * 95 + 99) / 100;

	qsort(seconds, count, sizeof *seconds, compare_seconds);
	for (size_t i = 0; i < count; i++)
		t.mean += seconds[i] / (double)count;
	t.min = seconds[0];
	t.median = (seconds[(count - 1) / 2] + seconds[count / 2]) / 2;
	t.p95 = seconds[p95 - 1];
	return t;
}

enum mpk_code mpk_expect_parse(const char *text, struct mpk_expect *out, struct mpk_error *err)
{
	struct mpk_expect e = {
		.is_ignored = strcmp(text, "ignored") == 0 || strcmp(text, "(ignored)") == 0,
	};

	if (!e.is_ignored)
		MPK_TRY(mpk_value_parse(text, &e.value, err));
	*out = e;
	return MPK_OK;
}

/* A result that is not there differs, like one of another value. */
enum mpk_code mpk_expect_check(const struct mpk_expect *expect,
			       const struct mpk_call_result *results, size_t i,
			       struct mpk_tolerance tolerance, struct mpk_comparison *out,
			       struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf why = { 0 };
	struct mpk_comparison c = { 0 };

	if (expect->is_ignored)
		return MPK_OK;
	if (i >= results->count)
		mpk_strbuf_printf(&why, "there is no such result; there are %zu", results->count);
	else
		MPK_TRY(mpk_value_compare(&results->values[i], &expect->value, tolerance, &c, &why,
					  err));
	*out = c;
	if (c.is_equal)
		return MPK_OK;
	return mpk_fail(err, MPK_E_DIFFERENT, "result %zu: %s", i, mpk_strbuf_text(&why));
}

/* --- the hint -------------------------------------------------------------------------------- */

/* The kinds of device that the tree has kernels for and that run here, each once. */
static size_t list_device_kinds(const struct mpk_tree *tree, enum mpk_device_kind *kinds,
				size_t most)
{
	size_t count = 0;

	for (size_t i = 0; tree && i < tree->count; i++) {
		enum mpk_device_kind kind = mpk_device_kind_of(tree->nodes[i].kind);
		size_t k = 0;

		if (kind == MPK_DEVICE_NONE || kind == MPK_DEVICE_CPU)
			continue;
		while (k < count && kinds[k] != kind)
			k++;
		if (k == count && count < most)
			kinds[count++] = kind;
	}
	return count;
}

/* TVM's checks of devices name "device_type", ours end in "is on cpu"; whoever takes a handle for
 * an address crashes. */
static bool is_about_devices(const struct mpk_error *err)
{
	return strstr(err->text, "device_type") || strstr(err->text, ", is on ") ||
	       strstr(err->text, "SIGSEGV") || strstr(err->text, "SIGBUS");
}

/* Launch functions of mpack name the device they want. */
static bool is_wanted(const struct mpk_error *err, enum mpk_device_kind kind)
{
	static const char begin[] = "' must be on ";
	const char *at = strstr(err->text, begin), *name = mpk_device_kind_name(kind);

	if (!at)
		return true;
	at += sizeof begin - 1;
	return strncmp(at, name, strlen(name)) == 0 && at[strlen(name)] == ',';
}

/* A model may want one input here and another there. */
static bool is_model(const struct mpk_tree *tree)
{
	for (size_t i = 0; tree && i < tree->count; i++)
		if (mpk_model_is_kind(tree->nodes[i].kind))
			return true;
	return false;
}

/* Only for errors of called code: what we refuse ourselves says already what is wrong. */
static void add_device_hint(const struct mpk_library_options *library, const struct mpk_call *call,
			    struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	enum mpk_device_kind kinds[4];
	size_t count = list_device_kinds(library->tree, kinds, MPK_ARRAY_COUNT(kinds)), said = 0;
	bool listed = false;

	if (!err || err->code != MPK_E_RAISED || !count || call->kernel ||
	    library->image->standalone || !is_about_devices(err))
		return;
	size_t used = strlen(err->text);

	for (size_t i = 0; i < count; i++)
		listed |= (int32_t)kinds[i] == call->device.type;
	if (listed)
		mpk_strbuf_printf(
			&text, "; its tensors were on %s: if it runs on the host, add --device cpu",
			mpk_device_kind_name(mpk_device_kind_from(call->device.type)));
	for (size_t i = 0; i < count && !listed; i++)
		if (is_wanted(err, kinds[i]))
			mpk_strbuf_printf(&text, "%s--device %s", said++ ? " or " : "; add ",
					  mpk_device_kind_name(kinds[i]));
	if (is_model(library->tree) && (listed || said))
		mpk_strbuf_printf(&text, "; for one input alone, --input VALUE@%s",
				  listed ? "cpu" : mpk_device_kind_name(kinds[0]));
	if (mpk_strbuf_status(&text, NULL) == MPK_OK && used + text.len < sizeof err->text)
		memcpy(err->text + used, mpk_strbuf_text(&text), text.len + 1);
}

/* --- calls ----------------------------------------------------------------------------------- */

enum mpk_code mpk_call_choose_device(const struct mpk_library_options *library,
				     struct mpk_call *call, struct mpk_error *err)
{
	if (call->kernel || call->device.type)
		return MPK_OK;
	call->device_is_guess = true;
	/* a standalone library moves its tensors to its device itself */
	if (library->image->standalone) {
		call->device.type = MPK_DL_CPU;
		return MPK_OK;
	}
	enum mpk_code code = mpk_devices_default(library->tree, &call->device, err);

	if (code != MPK_OK)
		mpk_hint_add(err);
	return code;
}

/* Said before the child starts: in the sandbox a driver would fail with whatever it makes of it. */
static enum mpk_code call_check_isolated(const struct mpk_library_options *library,
					 const struct mpk_call *call, struct mpk_error *err)
{
	bool on_device = call->device.type > MPK_DL_CPU;

	for (size_t i = 0; call->places && i < call->arg_count; i++)
		on_device |= call->places[i].type > MPK_DL_CPU;
	if (!library->sandbox || !on_device)
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_USAGE,
		"--isolate is for code on the CPU, as drivers of devices need more; a function that takes host tensors runs with --device cpu");
}

enum mpk_code mpk_call_run(const struct mpk_library_options *library, const struct mpk_call *call,
			   double timeout, struct mpk_call_result *out, struct mpk_error *err)
{
	struct mpk_batch_item item = { .call = call, .timeout = timeout };

	MPK_TRY(call_check_isolated(library, call, err));
	if (!call->kernel)
		MPK_TRY(mpk_library_check(library, err));
	MPK_TRY(mpk_batch_run(library, &item, 1, err));
	if (item.error.code != MPK_OK) {
		add_device_hint(library, call, &item.error);
		if (err)
			*err = item.error;
		return mpk_failed(item.error.code);
	}
	*out = item.result;
	return MPK_OK;
}

/* --- judging a case ------------------------------------------------------------------------- */

/* A device that is missing is no fault of the case; whatever else goes wrong is. */
static void cases_run_fail(struct mpk_case_outcome *out, enum mpk_code code, const char *why)
{
	out->verdict = code == MPK_E_DEVICE ? MPK_CASE_SKIPPED : MPK_CASE_FAILED;
	if (out->code == MPK_OK)
		out->code = code;
	mpk_strbuf_printf(&out->why, "%s%s", out->why.len ? "; " : "", why);
}

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

/* --- all cases of a file ------------------------------------------------------------- */

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
	    call_check_isolated(library, call, &item->error) != MPK_OK ||
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
	for (size_t i = 0; calls->outcomes && i < calls->count; i++) {
		mpk_strbuf_fini(&calls->outcomes[i].why);
		free(calls->outcomes[i].comparisons);
	}
	free(calls->outcomes);
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
enum mpk_code mpk_cases_judge(const struct mpk_cases *cases, struct mpk_case_calls *calls,
			      struct mpk_error *err)
{
	struct mpk_case_outcome *out;

	if (cases->count != calls->count)
		return mpk_fail(err, MPK_E_IO, "the case file changed while its cases were called");
	calls->outcomes = out = calloc(calls->count + 1, sizeof *out);
	MPK_TRY_ALLOC(out, err);
	for (size_t i = 0; i < cases->count; i++)
		MPK_TRY(judge_one(&cases->items[i], &calls->items[i], &out[i], err));
	for (size_t i = 0; cases->no_skip && i < cases->count; i++)
		refuse_skip(&out[i]);
	return MPK_OK;
}
