/* SPDX-License-Identifier: Apache-2.0 */
/* answer.c - prints the result of --check as text and JSON */
#include "answer/answer.h"
#include "check/internal/run.h"
#include "text/escape.h"
#include "text/phrase.h"
#include "verify/verify.h"

/* --- the verdict ---------------------------------------------------------------------------- */

static bool has_checked(const struct mpk_check_result *r)
{
	for (size_t i = 0; i < r->item_count; i++)
		if (!r->items[i].skipped)
			return true;
	return r->item_count == 0;
}

/* Errors of calls, devices and policies do not keep a file from loading, so they are subtracted.
 * Without the loader check or without a named runtime, it is unknown whether the modules load. */
enum mpk_check_outcome mpk_check_outcome(const struct mpk_check_result *result)
{
	if (result->report.errors > result->call_errors + result->device_errors +
					    result->registration_errors + result->policy_errors)
		return MPK_CHECK_REFUSED;
	if (result->device_errors)
		return result->gpu_counts.units_run ? MPK_CHECK_RUNS_PARTLY : MPK_CHECK_RUNS_NOT;
	if (result->registration_errors)
		return MPK_CHECK_UNREGISTERED;
	if (result->policy_errors)
		return MPK_CHECK_POLICY;
	if (result->lacks && !result->report.errors)
		return MPK_CHECK_NOTHING;
	if (result->there->only && !result->report.errors)
		return MPK_CHECK_OPEN;
	if (result->system_prefix && !result->call_errors)
		return MPK_CHECK_SYSTEM;
	if (!has_checked(result))
		return MPK_CHECK_OPEN;
	for (size_t i = 0; i < result->item_count; i++)
		if (result->items[i].part ||
		    (result->items[i].option && strcmp(result->items[i].name, "loader") == 0))
			return result->call_errors ? MPK_CHECK_CALLS : MPK_CHECK_OPEN;
	return result->call_errors ? MPK_CHECK_CALLS : MPK_CHECK_LOADS;
}

const char *mpk_check_outcome_word(enum mpk_check_outcome outcome)
{
	static const char *const words[] = {
		[MPK_CHECK_LOADS] = "loads",
		[MPK_CHECK_REFUSED] = "does-not-load",
		[MPK_CHECK_RUNS_NOT] = "does-not-run",
		[MPK_CHECK_RUNS_PARTLY] = "runs-in-part",
		[MPK_CHECK_UNREGISTERED] = "not-registered",
		[MPK_CHECK_CALLS] = "fails-when-called",
		[MPK_CHECK_POLICY] = "breaks-policy",
		[MPK_CHECK_NOTHING] = "nothing-checked",
		[MPK_CHECK_OPEN] = "open",
		[MPK_CHECK_SYSTEM] = "to-be-linked",
	};

	return words[outcome];
}

bool mpk_check_outcome_is_error(enum mpk_check_outcome outcome)
{
	return outcome != MPK_CHECK_LOADS && outcome != MPK_CHECK_OPEN &&
	       outcome != MPK_CHECK_SYSTEM && outcome != MPK_CHECK_NOTHING;
}

/* " in TVM 0.27 on x86-64" */
static void put_there(const struct mpk_there *there, struct mpk_strbuf *out)
{
	const char *where = mpk_check_where(there);

	if (where)
		mpk_strbuf_printf(out, " %s %s", there->has_release ? "in" : "with", where);
	mpk_strbuf_printf(out, " on %s", there->machine_name);
	if (there->device)
		mpk_strbuf_printf(out, " with %s", there->device);
}

/* Lists the basis of the verdict, then the checks left open, each with the option that would run
 * it. Checks that do not concern the file are omitted. */
static void put_items(const struct mpk_check_result *r, struct mpk_strbuf *out)
{
	size_t n = 0;

	mpk_strbuf_puts(out, "; checked: ");
	for (size_t i = 0; i < r->item_count; i++)
		if (!r->items[i].skipped)
			mpk_strbuf_printf(out, "%s%s", n++ ? ", " : "", r->items[i].name);
	mpk_strbuf_puts(out, n ? "" : "nothing");
	n = 0;
	for (size_t i = 0; i < r->item_count; i++)
		if (r->items[i].option)
			mpk_strbuf_printf(out, "%s%s (%s)", n++ ? ", " : "; not checked: ",
					  r->items[i].part ? r->items[i].part : r->items[i].name,
					  r->items[i].option);
}

/* Prints a count behind the verdict, unless the count is 0. */
static void print_count(size_t count, const char *what, struct mpk_strbuf *out)
{
	if (count)
		mpk_strbuf_printf(out, ": %zu %s%s", count, what, count == 1 ? "" : "s");
}

/* ", but f, g and 3 more fail when called" */
static void put_failing(const struct mpk_check_result *r, struct mpk_strbuf *out)
{
	enum { SHOWN = 3 };
	size_t shown = r->failing_count > SHOWN + 1 ? SHOWN : r->failing_count;

	mpk_strbuf_puts(out, shown ? ", but " : ", but some of its functions");
	for (size_t i = 0; i < shown; i++) {
		mpk_strbuf_puts(out, !i ? "" : i + 1 == r->failing_count ? " and " : ", ");
		mpk_escape(out, mpk_span_str(r->failing[i]));
	}
	if (shown < r->failing_count)
		mpk_strbuf_printf(out, " and %zu more", r->failing_count - shown);
	mpk_strbuf_puts(out, r->failing_count == 1 ? " fails when called" : " fail when called");
}

static void put_functions(const char *what, const struct mpk_check_functions *list,
			  struct mpk_strbuf *out)
{
	for (size_t i = 0; i < list->count; i++) {
		mpk_strbuf_puts(out, !i ? what : i + 1 == list->count ? " and " : ", ");
		mpk_escape(out, mpk_span_str(list->items[i]));
	}
}

static void put_states(const struct mpk_check_result *r, struct mpk_strbuf *out)
{
	for (size_t i = 0; i < r->held_count; i++) {
		const struct mpk_check_held *h = &r->held[i];

		mpk_escape(out, mpk_span_str(r->file));
		mpk_strbuf_puts(out, ": ");
		mpk_escape(out, mpk_span_str(h->title));
		put_functions(": made by ", &h->makers, out);
		put_functions(h->makers.count ? ", taken by " : ": taken by ", &h->takers, out);
		mpk_strbuf_putc(out, '\n');
	}
}

/* "; runs there: 2 of 14 containers, 27 of 404 kernels" */
static void put_counts(const struct mpk_check_gpu_counts *n, struct mpk_strbuf *out)
{
	if (!n->units)
		return;
	mpk_strbuf_puts(out, "; runs there: ");
	mpk_put_number(out, n->units_run);
	mpk_strbuf_puts(out, " of ");
	mpk_put_number(out, n->units);
	mpk_strbuf_printf(out, " %s%s", mpk_check_unit_word(n), n->units == 1 ? "" : "s");
	if (n->kernels) {
		mpk_strbuf_puts(out, ", ");
		mpk_put_number(out, n->kernels_run);
		mpk_strbuf_puts(out, " of ");
		mpk_put_number(out, n->kernels);
		mpk_strbuf_puts(out, n->kernels == 1 ? " kernel" : " kernels");
	}
}

/* Warnings are counted only if there is no error: next to an error they do not change the
 * verdict. */
void mpk_check_put_verdict(const struct mpk_check_result *result, struct mpk_strbuf *out)
{
	static const char *const verdicts[] = {
		[MPK_CHECK_LOADS] = "loads",
		[MPK_CHECK_REFUSED] = "does not load",
		[MPK_CHECK_RUNS_NOT] = "does not run",
		[MPK_CHECK_RUNS_PARTLY] = "runs in part",
		[MPK_CHECK_UNREGISTERED] = "loads",
		[MPK_CHECK_CALLS] = "loads",
		[MPK_CHECK_POLICY] = "breaks the policy",
		[MPK_CHECK_NOTHING] = "nothing checked",
		[MPK_CHECK_OPEN] = "nothing found against it",
		[MPK_CHECK_SYSTEM] =
			"is to be linked into a program: load_module gives no executable of it",
	};
	const struct mpk_report *report = &result->report;
	enum mpk_check_outcome outcome = mpk_check_outcome(result);

	mpk_strbuf_puts(out, verdicts[outcome]);
	if (outcome == MPK_CHECK_RUNS_NOT || outcome == MPK_CHECK_RUNS_PARTLY) {
		mpk_strbuf_puts(out, " on ");
		mpk_check_put_device(result->there, out);
	} else if (outcome == MPK_CHECK_NOTHING) {
		if (result->there->device || result->there->cuda.driver.major) {
			mpk_strbuf_puts(out, " for ");
			mpk_check_put_device(result->there, out);
		}
		if (result->lacks == mpk_check_unsaid)
			mpk_strbuf_printf(out, ": nothing to compare with was given (%s)",
					  result->lacks_option);
		else
			mpk_strbuf_printf(out, ": %s", result->lacks);
	} else if (outcome == MPK_CHECK_SYSTEM) {
		mpk_strbuf_puts(out, ", system_lib('");
		mpk_escape(out, mpk_span_str(result->system_prefix));
		mpk_strbuf_puts(out, "') does there;");
		put_there(result->there, out);
	} else {
		put_there(result->there, out);
	}
	if (outcome == MPK_CHECK_UNREGISTERED)
		mpk_strbuf_puts(
			out,
			", but the runtime that its GPU code is registered with does not get all of it");
	if (outcome == MPK_CHECK_CALLS)
		put_failing(result, out);
	print_count(report->errors, "error", out);
	print_count(report->errors ? 0 : report->warnings, "warning", out);
	put_counts(&result->gpu_counts, out);
}

/* The verdict comes first; the reasons follow. */
static void check_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_check_result *result = what;
	const struct mpk_report *report = &result->report;

	mpk_escape(out, mpk_span_str(result->file));
	mpk_strbuf_puts(out, ": ");
	mpk_check_put_verdict(result, out);
	put_items(result, out);
	mpk_strbuf_putc(out, '\n');
	for (size_t i = 0; i < report->count; i++)
		mpk_answer_finding.line(&report->findings[i], style, out);
	put_states(result, out);
}

/* --- JSON --------------------------------------------------------------------------------- */

/* Writes null for options that were not given, so that a script can tell "not given" from "given
 * and empty". */
static void put_there_json(const struct mpk_there *there, struct mpk_json *j,
			   struct mpk_json_at *at)
{
	struct mpk_json_at *o = mpk_json_object(j, at, "there"), *list;

	mpk_json_text(j, o, "release", there->has_release ? there->release.name : NULL);
	list = mpk_json_array(j, o, "runtimes");
	for (const struct mpk_dso *d = there->runtimes; d; d = d->next) {
		struct mpk_json_at *r = mpk_json_object(j, list, NULL);

		mpk_json_text(j, r, "file", d->path);
		mpk_json_spans(j, r, "loaders", d->loaders, d->loader_count);
	}
	mpk_json_text(j, o, "machine", there->machine_name);
	if (there->glibc_major)
		mpk_json_printf(j, o, "glibc", "%u.%u", there->glibc_major, there->glibc_minor);
	else
		mpk_json_null(j, o, "glibc");
	mpk_json_text(j, o, "libs", there->libs);
	mpk_json_text(j, o, "device", there->device);
	if (there->cuda.driver.major)
		mpk_json_printf(j, o, "driver", "%u.%u", there->cuda.driver.major,
				there->cuda.driver.minor);
	else
		mpk_json_null(j, o, "driver");
}

/* calls has the order of the report, so one walk joins the two lists. */
static void put_findings_json(const struct mpk_check_result *result, struct mpk_json *j,
			      struct mpk_json_at *at)
{
	struct mpk_json_at *list = mpk_json_array(j, at, "findings"), *o;
	const struct mpk_report *report = &result->report;
	const struct mpk_check_call *call = result->calls;

	for (size_t i = 0; i < report->count; i++) {
		const struct mpk_finding *f = &report->findings[i];
		bool is_call = call && call->finding == i;
		const char *path = f->error.at.path;

		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "check", f->check);
		mpk_json_text(j, o, "severity", mpk_severity_name(f->severity));
		mpk_json_text(j, o, "path", path[0] ? path : NULL);
		mpk_json_text(j, o, "message", f->error.text);
		mpk_json_text(j, o, "when", is_call ? "call" : "load");
		mpk_json_texts(j, o, "functions", is_call ? call->functions : NULL,
			       is_call ? call->count : 0);
		call = is_call ? call->next : call;
	}
}

/* Each skipped check has its reason and the option that would run it. */
static void put_items_json(const struct mpk_check_result *result, struct mpk_json *j,
			   struct mpk_json_at *at)
{
	struct mpk_json_at *list = mpk_json_array(j, at, "checked"), *o;

	for (size_t i = 0; i < result->item_count; i++)
		if (!result->items[i].skipped)
			mpk_json_text(j, list, NULL, result->items[i].name);
	list = mpk_json_array(j, at, "not_checked");
	for (size_t i = 0; i < result->item_count; i++) {
		const struct mpk_check_item *item = &result->items[i];

		if (!item->skipped && !item->part)
			continue;
		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "check", item->name);
		mpk_json_text(j, o, "reason", item->skipped ? item->skipped : item->part);
		mpk_json_text(j, o, "option", item->option);
	}
}

/* Returns "unasked", "none", "portable", "other-maker", "runs", "runs-in-part" or "lacks-code". */
static const char *check_gpu_name(enum mpk_check_gpu gpu)
{
	static const char *const names[] = { "unasked", "none",         "portable",  "other-maker",
					     "runs",    "runs-in-part", "lacks-code" };

	return names[gpu];
}

/* Writes the result for the device only, independent of all other reasons why the file may not
 * load. */
static void put_gpu_json(const struct mpk_check_result *r, struct mpk_json *j,
			 struct mpk_json_at *at)
{
	struct mpk_json_at *o = mpk_json_object(j, at, "gpu");

	mpk_json_text(j, o, "verdict", check_gpu_name(r->gpu));
	mpk_json_u64(j, o, "containers", r->gpu_counts.units);
	mpk_json_u64(j, o, "containers_run", r->gpu_counts.units_run);
	mpk_json_u64(j, o, "extras", r->gpu_counts.extras);
	mpk_json_u64(j, o, "holes", r->gpu_counts.holes);
	mpk_json_u64(j, o, "kernels", r->gpu_counts.kernels);
	mpk_json_u64(j, o, "kernels_run", r->gpu_counts.kernels_run);
	mpk_json_text(j, o, "place", r->gpu_place);
	mpk_json_text(j, o, "kernel", r->gpu_kernel);
}

static void put_states_json(const struct mpk_check_result *r, struct mpk_json *j,
			    struct mpk_json_at *at)
{
	struct mpk_json_at *list = mpk_json_array(j, at, "states"), *o;

	for (size_t i = 0; i < r->held_count; i++) {
		const struct mpk_check_held *h = &r->held[i];

		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "state", h->title);
		mpk_json_texts(j, o, "made_by", h->makers.items, h->makers.count);
		mpk_json_texts(j, o, "taken_by", h->takers.items, h->takers.count);
	}
}

static void check_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_check_result *result = what;
	enum mpk_check_outcome outcome = mpk_check_outcome(result);
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf sentence = { 0 };

	mpk_check_put_verdict(result, &sentence);
	mpk_json_text(j, at, "file", result->file);
	if (outcome == MPK_CHECK_REFUSED || outcome == MPK_CHECK_LOADS ||
	    outcome == MPK_CHECK_UNREGISTERED || outcome == MPK_CHECK_CALLS)
		mpk_json_bool(j, at, "loads", outcome != MPK_CHECK_REFUSED);
	else
		mpk_json_null(j, at, "loads");
	mpk_json_text(j, at, "verdict", mpk_check_outcome_word(outcome));
	mpk_json_text(j, at, "sentence", mpk_strbuf_text(&sentence));
	mpk_json_texts(j, at, "failing", result->failing, result->failing_count);
	put_states_json(result, j, at);
	put_there_json(result->there, j, at);
	put_gpu_json(result, j, at);
	mpk_json_u64(j, at, "errors", result->report.errors);
	mpk_json_u64(j, at, "warnings", result->report.warnings);
	mpk_json_u64(j, at, "left_out", result->report.dropped);
	put_items_json(result, j, at);
	put_findings_json(result, j, at);
}

const struct mpk_answer mpk_answer_check = { .text = check_text, .json = check_json };
