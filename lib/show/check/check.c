/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - the run of --check: which checks there are, what a process there has loaded before the file,
 * how a check reports, and the verdict with all that it rests on, as text and JSON */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "check/check.h"
#include "check/internal/run.h"
#include "elf/reader.h"
#include "model/device_code.h"
#include "text/escape.h"
#include "verify/verify.h"

/* --- findings --------------------------------------------------------------------------- */

const char mpk_check_unsaid[] = "not said";

void mpk_check_say_text(struct mpk_check_state *s, enum mpk_severity severity, const char *path,
			const char *text)
{
	struct mpk_strbuf safe = { 0 };
	struct mpk_error e = { 0 };

	/* names of the file were quoted; whatever was not stays text all the same */
	mpk_escape_controls(&safe, mpk_span_str(text));
	s->report->failed |= safe.failed;
	(void)mpk_fail(&e, MPK_E_LOAD, "%s", mpk_strbuf_text(&safe));
	mpk_strbuf_fini(&safe);
	mpk_error_at_file(&e, s->view->name);
	if (path)
		mpk_error_at_path(&e, path);
	mpk_report_add(s->report, severity, s->name, &e);
}

void mpk_check_say(struct mpk_check_state *s, enum mpk_severity severity, const char *path,
		   const char *fmt, ...)
{
	char text[MPK_CHECK_TEXT];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	mpk_check_say_text(s, severity, path, text);
}

const char *mpk_check_where(const struct mpk_there *there)
{
	if (there->has_release)
		return there->release.name;
	if (!there->runtimes)
		return NULL;
	return there->installed ? "the TVM of this environment" : "the named libraries";
}

const char *mpk_check_place(const struct mpk_there *there)
{
	return there->libs ? "in the directory of --libs" : "on this machine";
}

bool mpk_check_needs_ffi(const struct mpk_dso *d)
{
	for (size_t i = 0; i < d->needed_count; i++)
		if (strcmp(d->needed[i], "libtvm_ffi.so") == 0)
			return true;
	return false;
}

/* --- what a process there has loaded ---------------------------------------------------- */

/* Of every process with glibc and a runtime in C++; libc.so is musl's, which has all in one. */
static const char *const base[] = { "libc.so.6",       "libm.so.6",  "libdl.so.2",
				    "libpthread.so.0", "librt.so.1", "libgcc_s.so.1",
				    "libstdc++.so.6",  "libc.so" };

/* The runtime's own: whoever loads modules has loaded these by then. */
static const char *const tvms[] = { "libtvm_ffi.so", "libtvm_runtime.so", "libtvm.so",
				    "libtvm_compiler.so", "libtvm_runtime_extra.so" };

enum { ASSUMED_MAX = MPK_ARRAY_COUNT(base) + MPK_ARRAY_COUNT(tvms) + 1 };

/* The three fields of an ELF header by which a dynamic linker refuses a library of another
 * machine (ELF gABI, ELF Header). */
static void set_machine(const struct mpk_target *t, GElf_Ehdr *out)
{
	out->e_machine = t->machine;
	out->e_ident[EI_CLASS] = t->elf_class;
	out->e_ident[EI_DATA] = t->elf_data;
}

/* Libraries that count as there without being looked for: the process has loaded them before the
 * file, or the driver's installer puts them there. */
static enum mpk_code set_assumed(struct mpk_check_state *s, struct mpk_error *err)
{
	const struct mpk_there *there = s->there;
	const char **names = mpk_arena_array(s->arena, ASSUMED_MAX, sizeof *names);
	size_t n = 0;

	MPK_TRY_ALLOC(names, err);
	for (size_t i = 0; there->libs && i < MPK_ARRAY_COUNT(base); i++)
		names[n++] = base[i]; /* a directory of one's own libraries leaves these out */
	for (size_t i = 0; i < MPK_ARRAY_COUNT(tvms); i++)
		/* of tvm-ffi alone only its own library is there */
		if (i == 0 || !there->has_release || there->release.minor)
			names[n++] = tvms[i];
	if (there->cuda.sm || there->cuda.driver.major)
		names[n++] = "libcuda.so.1";
	s->scope.assumed = names;
	s->scope.assumed_count = n;
	return MPK_OK;
}

bool mpk_check_is_runtime(const char *library)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(tvms); i++)
		if (strcmp(library, tvms[i]) == 0)
			return true;
	return false;
}

/* Whose a symbol is shows in its prefix, for names of C and for mangled ones of C++. TVM's own
 * and those of tvm-ffi count alike. */
bool mpk_check_is_tvms(const char *symbol)
{
	const char *owner = mpk_symbol_owner(symbol);

	return owner && (strcmp(owner, "tvm-ffi") == 0 || strcmp(owner, "TVM's runtime") == 0);
}

/* The scope of a process there, before it loads the file
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
static enum mpk_code scope_init(struct mpk_check_state *s, struct mpk_error *err)
{
	enum mpk_scope_state state;
	struct mpk_scope_gap gap;

	s->search = s->there->search;
	set_machine(&s->there->machine, &s->like);
	if (s->elf)
		MPK_TRY(mpk_search_with_runpath(&s->there->search, s->elf, s->view->name, s->arena,
						&s->search, err));
	s->scope = (struct mpk_scope){ .arena = s->arena, .search = &s->search, .like = &s->like };
	MPK_TRY(set_assumed(s, err));
	for (size_t i = 0; s->there->searchable && i < MPK_ARRAY_COUNT(base); i++)
		MPK_TRY(mpk_scope_need(&s->scope, base[i], &state, &gap, err));
	return MPK_OK;
}

/* --- the run ---------------------------------------------------------------------------- */

/* Whether it was asked for; by default everything is. */
static bool is_check_wanted(const struct mpk_there *there, const char *name)
{
	for (size_t i = 0; i < there->only_count; i++)
		if (strcmp(there->only[i], name) == 0)
			return true;
	return !there->only;
}

/* Every row leaves an item, also when it was skipped: a verdict that does not say what it rests
 * on is worth nothing. */
static enum mpk_code run_table(struct mpk_check_state *s, const struct mpk_check_row *rows,
			       struct mpk_check_result *result, struct mpk_error *err)
{
	for (; rows->name; rows++) {
		if (!is_check_wanted(s->there, rows->name))
			continue;

		struct mpk_check_item *item = &result->items[result->item_count++];

		*item = (struct mpk_check_item){ .name = rows->name };
		s->name = rows->name;
		MPK_TRY(rows->run(s, &item->skipped, err));
		if (item->skipped == MPK_CHECK_UNSAID)
			item->option = rows->option;
	}
	return MPK_OK;
}

/* The order matters: what runs later asks what came before, such as whether the format is another
 * or which functions are lost. */
static enum mpk_code run_all(struct mpk_check_state *s, struct mpk_check_result *result,
			     struct mpk_error *err)
{
	MPK_TRY(scope_init(s, err));
	MPK_TRY(run_table(s, mpk_check_machine, result, err));
	MPK_TRY(run_table(s, mpk_check_runtime, result, err));
	MPK_TRY(run_table(s, mpk_check_linking, result, err));
	MPK_TRY(run_table(s, mpk_check_host, result, err));
	MPK_TRY(run_table(s, mpk_check_function, result, err));
	MPK_TRY(run_table(s, mpk_check_device, result, err));
	if (s->there->abi) /* a policy that nobody named leaves nothing open */
		MPK_TRY(run_table(s, mpk_check_abis, result, err));
	MPK_TRY(mpk_check_sum_calls(s, err));
	MPK_TRY(mpk_check_read_states(s, err));
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

	result->file = view->name;
	result->there = there;
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

/* --- the verdict ---------------------------------------------------------------------------- */

/* What comes out. Without a runtime that was named nobody can say that a module loads. */
enum verdict {
	MPK_CHECK_LOADS,
	MPK_CHECK_REFUSED, /* it does not load, or its virtual machine does not start */
	MPK_CHECK_CALLS,   /* it loads, and some of its functions fail when they are called */
	MPK_CHECK_POLICY, /* nothing is known against its loading, but it breaks what it is held to */
	MPK_CHECK_OPEN,
};

/* Errors of calls do not keep a file from loading, so they are subtracted. Without a loader check
 * nobody knows whether its modules load. */
static enum verdict verdict_of(const struct mpk_check_result *result)
{
	if (result->report.errors > result->call_errors + result->policy_errors)
		return MPK_CHECK_REFUSED;
	if (result->policy_errors)
		return MPK_CHECK_POLICY;
	if (result->there->only && !result->report.errors)
		return MPK_CHECK_OPEN;
	for (size_t i = 0; i < result->item_count; i++)
		if (result->items[i].option && strcmp(result->items[i].name, "loader") == 0)
			return result->call_errors ? MPK_CHECK_CALLS : MPK_CHECK_OPEN;
	return result->call_errors ? MPK_CHECK_CALLS : MPK_CHECK_LOADS;
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

/* What the verdict rests on; then what it leaves open, with the option that closes it. What does not
 * concern the file is no news. */
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
			mpk_strbuf_printf(out, "%s%s (%s)",
					  n++ ? ", " : "; not checked: ", r->items[i].name,
					  r->items[i].option);
}

/* After the verdict, and only when there is something to count. */
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

/* Warnings are counted only where there is no error: with one they do not change the verdict. */
static void check_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	static const char *const verdicts[] = {
		[MPK_CHECK_LOADS] = ": loads",
		[MPK_CHECK_REFUSED] = ": does not load",
		[MPK_CHECK_CALLS] = ": loads",
		[MPK_CHECK_POLICY] = ": breaks the policy",
		[MPK_CHECK_OPEN] = ": nothing found against it",
	};
	const struct mpk_check_result *result = what;
	const struct mpk_report *report = &result->report;
	enum verdict verdict = verdict_of(result);

	for (size_t i = 0; i < report->count; i++)
		mpk_answer_finding.line(&report->findings[i], style, out);
	mpk_check_put_states(result, out);
	mpk_escape(out, mpk_span_str(result->file));
	mpk_strbuf_puts(out, verdicts[verdict]);
	put_there(result->there, out);
	if (verdict == MPK_CHECK_CALLS)
		put_failing(result, out);
	print_count(report->errors, "error", out);
	print_count(report->errors ? 0 : report->warnings, "warning", out);
	put_items(result, out);
	mpk_strbuf_putc(out, '\n');
}

/* --- JSON --------------------------------------------------------------------------------- */

/* null for what was not said: a script can tell "not given" from "given and empty". */
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

/* calls is in the order of the report, so that one walk joins the two lists. */
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

/* Skipped items have their reason, and the option that would have them checked. */
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

		if (!item->skipped)
			continue;
		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "check", item->name);
		mpk_json_text(j, o, "reason", item->skipped);
		mpk_json_text(j, o, "option", item->option);
	}
}

/* "unasked", "none", "other-maker", "runs", "lacks-code". */
static const char *check_gpu_name(enum mpk_check_gpu gpu)
{
	static const char *const names[] = { "unasked", "none", "other-maker", "runs",
					     "lacks-code" };

	return names[gpu];
}

/* Of the device alone: what a gate asks, whatever else keeps the file from loading here. */
static void put_gpu_json(const struct mpk_check_result *r, struct mpk_json *j,
			 struct mpk_json_at *at)
{
	struct mpk_json_at *o = mpk_json_object(j, at, "gpu");

	mpk_json_text(j, o, "verdict", check_gpu_name(r->gpu));
	mpk_json_text(j, o, "place", r->gpu_place);
	mpk_json_text(j, o, "kernel", r->gpu_kernel);
}

static void check_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	static const char *const verdicts[] = {
		[MPK_CHECK_LOADS] = "loads",
		[MPK_CHECK_REFUSED] = "does-not-load",
		[MPK_CHECK_CALLS] = "fails-when-called",
		[MPK_CHECK_POLICY] = "breaks-policy",
		[MPK_CHECK_OPEN] = "open",
	};
	const struct mpk_check_result *result = what;
	enum verdict verdict = verdict_of(result);

	mpk_json_text(j, at, "file", result->file);
	if (verdict == MPK_CHECK_OPEN || verdict == MPK_CHECK_POLICY)
		mpk_json_null(j, at, "loads");
	else
		mpk_json_bool(j, at, "loads", verdict != MPK_CHECK_REFUSED);
	mpk_json_text(j, at, "verdict", verdicts[verdict]);
	mpk_json_texts(j, at, "failing", result->failing, result->failing_count);
	mpk_check_states_json(result, j, at);
	put_there_json(result->there, j, at);
	put_gpu_json(result, j, at);
	mpk_json_u64(j, at, "errors", result->report.errors);
	mpk_json_u64(j, at, "warnings", result->report.warnings);
	mpk_json_u64(j, at, "left_out", result->report.dropped);
	put_items_json(result, j, at);
	put_findings_json(result, j, at);
}

const struct mpk_answer mpk_answer_check = { .text = check_text, .json = check_json };
