/* SPDX-License-Identifier: Apache-2.0 */
/* --cases: the calls of a case file, each judged; for CI. */
#include <stdlib.h>

#include "common/diag.h"
#include "common/libexec.h"
#include "common/progress.h"
#include "minspect/document.h"
#include "minspect/run.h"
#include "view/cases.h"

/* --- the command line --------------------------------------------------------------- */

static int check_options(const struct minspect_options *o)
{
	if (o->tap && o->json)
		return mpk_diag_usage(
			"--tap and --json are two forms of the same output; give one of them");
	if (o->file_count != 1)
		return mpk_diag_usage("--cases takes one file to call, not %zu", o->file_count);
	return MPK_EXIT_OK;
}

/* What the options say for all cases. */
static enum mpk_code read_defaults(const struct minspect_options *o, struct run_request *request,
				   struct mpk_case_defaults *out, struct mpk_error *err)
{
	MPK_TRY(run_request_parse(o, request, err));
	*out = (struct mpk_case_defaults){
		.device = request->device.device,
		.tolerance = request->tolerance,
		.timeout = request->timeout,
		.params = request->params,
	};
	return MPK_OK;
}

/* --- the case file ------------------------------------------------------------------ */

static enum mpk_code open_parser(struct mpk_arena *arena, mpk_toml_parser **out,
				 struct mpk_error *err)
{
	const char *path = mpk_libexec_find(arena, "minspect/toml.so");

	MPK_TRY_ALLOC(path, err);
	return mpk_toml_open(path, out, err);
}

static enum mpk_code read_cases(const struct minspect_options *o, struct run_request *request,
				struct mpk_cases *out, struct mpk_report *report,
				struct mpk_error *err)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { .fd = -1 };
	struct mpk_cases_source source = { .path = o->cases,
					   .filter = o->filter,
					   .no_skip = o->no_skip };

	MPK_TRY(read_defaults(o, request, &source.defaults, err));
	MPK_TRY(mpk_mapping_open(o->cases, &map, err));
	MPK_TRY(open_parser(&out->arena, &source.parser, err));
	source.text = map.bytes;
	return mpk_cases_read(&source, out, report, err);
}

/* --- the run ------------------------------------------------------------------------ */

static enum mpk_code call_all(const struct minspect_options *o, const struct mpk_cases *cases,
			      struct mpk_case_outcome *outcomes, struct mpk_error *err)
{
	MPK_CLEANUP(minspect_file_close) struct minspect_file file = { .map.fd = -1 };
	struct mpk_library_options library;
	enum mpk_code rc = run_file_open("cases", o->files[0], &file, err);

	if (rc == MPK_OK)
		rc = run_library_fill(o, &file, true, &library, err);
	if (rc == MPK_OK)
		rc = mpk_cases_run(&library, cases, outcomes, err);
	mpk_progress_end();
	if (rc != MPK_OK)
		mpk_error_at_file(err, o->files[0]);
	return rc;
}

/* The first of these that any case has is the status of all. */
static const int by_weight[] = {
	MPK_EXIT_INTERNAL,  MPK_EXIT_DIFFERENT, MPK_EXIT_RAISED,  MPK_EXIT_TIMEOUT, MPK_EXIT_LOAD,
	MPK_EXIT_MALFORMED, MPK_EXIT_FILE,      MPK_EXIT_NO_BLOB, MPK_EXIT_USAGE,   MPK_EXIT_DEVICE,
};

static int status_of(const struct mpk_cases_report *report)
{
	size_t weight = MPK_ARRAY_COUNT(by_weight), no_device = 0;

	for (size_t i = 0; i < report->cases->count; i++) {
		const struct mpk_case_outcome *out = &report->outcomes[i];
		int status = mpk_exit_status(out->code);

		no_device += out->verdict == MPK_CASE_SKIPPED && out->code == MPK_E_DEVICE;
		for (size_t k = 0; out->verdict == MPK_CASE_FAILED && k < weight; k++)
			if (by_weight[k] == status)
				weight = k;
	}
	if (report->failed)
		return weight < MPK_ARRAY_COUNT(by_weight) ? by_weight[weight] : MPK_EXIT_INTERNAL;
	return no_device == report->cases->count ? MPK_EXIT_DEVICE : MPK_EXIT_OK;
}

/* --- what is said ------------------------------------------------------------------- */

static void begin_json(const struct minspect_options *o, struct mpk_json *j)
{
	mpk_json_init(j, 1);
	mpk_json_text(j, j->root, "file", o->files[0]);
	mpk_json_text(j, j->root, "cases_file", o->cases);
}

static int print(const struct minspect_options *o, const struct mpk_cases_report *report)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
	struct mpk_json j;

	if (o->json) {
		begin_json(o, &j);
		mpk_cases_json(report, &j, j.root);
		return minspect_print_json(&j);
	}
	if (o->tap)
		mpk_cases_tap(report, &out);
	else
		mpk_cases_text(report, mpk_common.verbose > 0, &out);
	return minspect_write(&out);
}

static int save_junit(const char *path, const struct mpk_cases_report *report)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_rope file = mpk_rope_of(&arena);

	mpk_cases_junit(report, &text);
	file.failed |= text.failed;
	mpk_rope_put_view(&file, mpk_span_of(text.data, text.len));
	return minspect_save(path, &file);
}

static int report_all(const struct minspect_options *o, const struct mpk_cases *cases,
		      const struct mpk_case_outcome *outcomes)
{
	struct mpk_cases_report report =
		mpk_cases_report_of(o->files[0], o->cases, cases, outcomes);
	int status = status_of(&report);
	int printed = print(o, &report);
	int written = o->junit ? save_junit(o->junit, &report) : MPK_EXIT_OK;

	return status ? status : printed ? printed : written;
}

static void print_problems(const struct minspect_options *o, struct mpk_report *problems)
{
	struct json_t *list;
	struct mpk_json j;

	mpk_diag_report(problems);
	if (!o->json)
		return;
	begin_json(o, &j);
	list = mpk_json_array(&j, j.root, "errors");
	for (size_t i = 0; i < problems->count; i++)
		mpk_json_error(&j, list, NULL, &problems->findings[i].error);
	(void)minspect_print_json(&j);
}

static int run_cases(const struct minspect_options *o, const struct mpk_cases *cases,
		     struct mpk_report *problems, struct mpk_error *err)
{
	struct mpk_case_outcome *outcomes = calloc(cases->count, sizeof *outcomes);
	int status = MPK_EXIT_OK;

	if (!outcomes)
		(void)mpk_fail_nomem(err);
	else if (call_all(o, cases, outcomes, err) == MPK_OK)
		status = report_all(o, cases, outcomes);
	if (err->code != MPK_OK)
		mpk_report_add(problems, MPK_ERROR, NULL, err);
	for (size_t i = 0; outcomes && i < cases->count; i++)
		mpk_case_outcome_fini(&outcomes[i]);
	free(outcomes);
	return status;
}

int minspect_cases(const struct minspect_options *o)
{
	MPK_CLEANUP(mpk_report_fini) struct mpk_report problems = { 0 };
	MPK_CLEANUP(run_request_fini) struct run_request request = { 0 };
	MPK_CLEANUP(mpk_cases_fini) struct mpk_cases cases = { 0 };
	struct mpk_error err = { 0 };
	int status = check_options(o);

	if (status != MPK_EXIT_OK)
		return status;
	if (read_cases(o, &request, &cases, &problems, &err) != MPK_OK)
		mpk_report_add(&problems, MPK_ERROR, NULL, &err);
	if (!problems.count)
		status = run_cases(o, &cases, &problems, &err);
	if (!problems.count)
		return status;
	print_problems(o, &problems);
	return mpk_exit_status(err.code != MPK_OK ? err.code : MPK_E_SYNTAX);
}
