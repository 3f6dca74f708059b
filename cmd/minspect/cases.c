/* SPDX-License-Identifier: Apache-2.0 */
/* --cases: makes the calls of a case file in child processes and judges each result. With --isolate
 * the called code must not learn the expected results. Then a child process reads the case file and
 * passes on only the calls, and the expected results are read after all calls have ended. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/diag.h"
#include "common/find.h"
#include "common/print.h"
#include "minspect/document.h"
#include "minspect/run.h"
#include "process/process.h"
#include "results/results.h"
#include "text/escape.h"

/* --- the command line --------------------------------------------------------------- */

static int check_options(const struct minspect_options *o)
{
	if (o->tap && o->json)
		return mpk_diag_usage(
			"--tap and --json are two forms of the same output; give one of them");
	if (o->file_count != 1)
		return mpk_diag_usage("cases takes one file to call, not %zu", o->file_count);
	return MPK_EXIT_OK;
}

/* Reads the options that apply to all cases. */
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

	/* Uses the parser in the shared object at path, which stays open. */
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	mpk_toml_parser *parser = NULL;

	if (handle)
		*(void **)&parser = dlsym(handle, "mpk_toml_parse_bytes");
	if (!parser)
		return mpk_fail(
			err, MPK_E_LOAD,
			"cannot load the TOML parser, which is installed with this program: %s",
			MPK_QUOTE(mpk_span_str(dlerror())));
	*out = parser;
	return MPK_OK;
}

static enum mpk_code open_source(const struct minspect_options *o, struct run_request *request,
				 struct mpk_arena *arena, struct mpk_cases_source *out,
				 struct mpk_error *err)
{
	*out = (struct mpk_cases_source){ .path = o->cases,
					  .filter = minspect_names(o, arena),
					  .no_skip = o->no_skip };
	if (o->filters.count)
		MPK_TRY_ALLOC(out->filter, err);
	MPK_TRY(read_defaults(o, request, &out->defaults, err));
	return open_parser(arena, &out->parser, err);
}

static enum mpk_code read_cases(const struct minspect_options *o,
				const struct mpk_cases_source *source, struct mpk_cases *out,
				struct mpk_report *report, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { .fd = -1 };
	struct mpk_cases_source from = *source;

	MPK_TRY(mpk_mapping_open(o->cases, &map, err));
	from.text = map.bytes;
	return mpk_cases_read(&from, out, report, err);
}

/* --- what isolated code may know ---------------------------------------------------- */

/* Reading the case file in a process that calls nothing. It passes on only the calls, so that the
 * expected results are never in the memory that the process of a called function copies. */
struct calls_job {
	const struct minspect_options *o;
	const struct mpk_cases_source *source;
	int fd; /* receives the calls, in the form of a case file */
};

static enum mpk_code write_calls(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_report_fini) struct mpk_report problems = { 0 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	MPK_CLEANUP(mpk_cases_fini) struct mpk_cases cases = { 0 };
	const struct calls_job *job = data;

	(void)self;
	MPK_TRY(read_cases(job->o, job->source, &cases, &problems, err));
	if (problems.count)
		return mpk_fail(err, MPK_E_SYNTAX, "mistakes");
	MPK_TRY(mpk_cases_calls(&cases, &text, err));
	/* write() may write less than requested. */
	for (size_t done = 0; done < text.len;) {
		ssize_t n = write(job->fd, text.data + done, text.len - done);

		if (n <= 0)
			return mpk_fail_errno(err, MPK_E_IO, errno, "cannot write the calls");
		done += (size_t)n;
	}
	return MPK_OK;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

/* Returns  as read_cases; reports and errors are those of the whole file */
static enum mpk_code read_calls(const struct minspect_options *o,
				const struct mpk_cases_source *source, struct mpk_cases *out,
				struct mpk_report *report, struct mpk_error *err)
{
	/* A memory file: the calls are not written to disk, and the parent maps the file when the
	 * child has ended. */
	MPK_CLEANUP(close_fd) int fd = memfd_create("minspect-calls", MFD_CLOEXEC);
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { .fd = -1 };
	struct calls_job job = { o, source, fd };
	struct mpk_process reader = { .run = write_calls, .data = &job };
	struct mpk_cases_source calls = *source;
	struct mpk_process_end end;

	if (fd < 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot make a file in memory");
	MPK_TRY(mpk_process_run(&reader, 1, 1, &end, err));
	/* Nothing will be called. The file is read again here, so that its mistakes can be
	 * reported. */
	if (!mpk_process_succeeded(&end)) {
		MPK_TRY(read_cases(o, source, out, report, err));
		return report->errors ? MPK_OK
				      : mpk_fail(err, MPK_E_IO, "cannot read the calls of '%s'",
						 MPK_QUOTE(mpk_span_str(o->cases)));
	}
	MPK_TRY(mpk_mapping_of_fd(fd, o->cases, &map, err));
	calls.text = map.bytes;
	calls.filter = NULL;
	return mpk_cases_read(&calls, out, report, err);
}

/* --- the run ------------------------------------------------------------------------ */

static enum mpk_code call_all(const struct minspect_options *o, struct mpk_cases *cases,
			      struct mpk_error *err)
{
	MPK_CLEANUP(minspect_file_close) struct minspect_file file = { .map.fd = -1 };
	struct mpk_library_options library;
	enum mpk_code rc = run_file_open("cases", o->files[0], &file, err);

	if (rc == MPK_OK)
		rc = run_library_fill(o, &file, true, &library, err);
	if (rc == MPK_OK && o->isolate)
		rc = isolate_fill(&library, &file.arena, err);
	if (rc == MPK_OK)
		rc = mpk_cases_call(&library, cases, err);
	mpk_progress_end();
	if (rc != MPK_OK)
		mpk_error_at_file(err, o->files[0]);
	return rc;
}

/* The first of these statuses that any case has is the status of the run. */
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
	/* If every case was skipped because no device was found, the status says so, as with
	 * --run. */
	return no_device == report->cases->count ? MPK_EXIT_DEVICE : MPK_EXIT_OK;
}

/* --- what is said ------------------------------------------------------------------- */

static void begin_json(const struct minspect_options *o, struct mpk_json *j)
{
	mpk_json_init(j, 1);
	mpk_json_text(j, j->root, "file", o->files[0]);
	mpk_json_text(j, j->root, "cases_file", o->cases);
}

static int cases_print(const struct minspect_options *o, const struct mpk_cases_report *report)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
	struct mpk_json j;

	if (o->json) {
		begin_json(o, &j);
		mpk_answer_cases.json(report, &j, j.root);
		return minspect_print_json(&j);
	}
	(o->tap ? mpk_answer_cases.tap : mpk_answer_cases.text)(report, minspect_style(), &out);
	return minspect_write(&out);
}

static int save_junit(const char *path, const struct mpk_cases_report *report)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_rope file = mpk_rope_of(&arena);

	mpk_answer_cases.junit(report, minspect_style(), &text);
	file.failed |= text.failed;
	mpk_rope_put_view(&file, mpk_span_of(text.data, text.len));
	return minspect_save(path, &file);
}

static void print_problems(const struct minspect_options *o, struct mpk_report *problems)
{
	struct mpk_json_at *list;
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

/* Makes the calls, then judges the results. With isolation, expected results are read after the
 * calls. */
static int run_cases(const struct minspect_options *o, const struct mpk_cases_source *source,
		     struct mpk_report *problems, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_cases_fini) struct mpk_cases cases = { 0 }, whole = { 0 };
	struct mpk_cases *judged = o->isolate ? &whole : &cases;
	struct mpk_cases_source rest = *source;
	enum mpk_code rc = (o->isolate ? read_calls : read_cases)(o, source, &cases, problems, err);

	rest.judges_only = true;
	if (rc == MPK_OK && !problems->count)
		rc = call_all(o, &cases, err);
	if (rc == MPK_OK && !problems->count && o->isolate)
		rc = read_cases(o, &rest, &whole, problems, err);
	/* The caller reports problems and err. */
	if (rc != MPK_OK || problems->count || mpk_cases_judge(judged, &cases, err) != MPK_OK)
		return MPK_EXIT_OK;

	struct mpk_cases_report report =
		mpk_cases_report_of(o->files[0], o->cases, judged, judged->outcomes);
	int status = status_of(&report);
	int printed = cases_print(o, &report);
	int written = o->junit ? save_junit(o->junit, &report) : MPK_EXIT_OK;

	return status ? status : printed ? printed : written;
}

int minspect_cases(const struct minspect_options *o)
{
	MPK_CLEANUP(mpk_report_fini) struct mpk_report problems = { 0 };
	MPK_CLEANUP(run_request_fini) struct run_request request = { 0 };
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_cases_source source;
	struct mpk_error err = { 0 };
	int status = check_options(o);

	if (status != MPK_EXIT_OK)
		return status;
	if (open_source(o, &request, &arena, &source, &err) == MPK_OK)
		status = run_cases(o, &source, &problems, &err);
	if (err.code != MPK_OK)
		mpk_report_add(&problems, MPK_ERROR, NULL, &err);
	if (!problems.count)
		return status;
	print_problems(o, &problems);
	return mpk_exit_status(err.code != MPK_OK ? err.code : MPK_E_SYNTAX);
}
