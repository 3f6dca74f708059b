/* SPDX-License-Identifier: Apache-2.0 */
/* verify.c - runs --verify: calls the checks, collects their findings, and prints them
 *
 * A check knows only the file, the node or the piece of code that it is given; the loops are here.
 * The report is the same list for --verify, --check and mpack's checks of payloads before they are
 * packed. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "model/node_info.h"
#include "text/escape.h"
#include "text/phrase.h"
#include "text/table.h"
#include "verify/verify.h"

/* Runs one check on one module. The position is set before each call, so that a check that sets no
 * position still reports a useful one. */
static void run_node(struct mpk_verify *v, const struct mpk_check *check,
		     const struct mpk_view_node *n)
{
	const struct mpk_kernels *k = mpk_view_kernels(n);

	v->kernel = (struct mpk_span){ 0 };
	if (check->node) {
		v->position = (struct mpk_verify_position){ "blob", n->node->kind_off, n->path };
		check->node(v, n);
	}
	if (check->kernels && k) {
		v->position = (struct mpk_verify_position){ "blob", n->node->payload_off, n->path };
		check->kernels(v, n);
	}
	for (size_t i = 0; check->code && k && i < n->info->piece_count; i++) {
		v->position = (struct mpk_verify_position){ "blob", n->info->pieces[i].code.off,
							    n->path };
		check->code(v, n, &n->info->pieces[i]);
	}
	v->kernel = (struct mpk_span){ 0 };
}

/* A check with a function for the whole file runs once, others for each module. The position is
 * that of the blob until a check on a module sets its own. */
static void run_table(struct mpk_verify *v, const struct mpk_check *checks)
{
	const struct mpk_image *image = v->view->image;

	for (; checks->name; checks++) {
		v->check = checks->name;
		v->position =
			(struct mpk_verify_position){ "file", image->blob_off, image->blob_symbol };
		if (checks->whole)
			checks->whole(v);
		for (size_t i = 0; !checks->whole && i < v->view->count; i++)
			run_node(v, checks, &v->view->nodes[i]);
	}
}

/* Reads the code of all modules first, since checks cannot return an error of reading. */
static enum mpk_code verify_read_code(const struct mpk_view *view, struct mpk_error *err)
{
	const struct mpk_node_info *info;

	for (size_t i = 0; i < view->count; i++)
		MPK_TRY(mpk_view_info(view, i, &info, err));
	return MPK_OK;
}

enum mpk_code mpk_verify_linking(const struct mpk_view *view, const struct mpk_elf *elf,
				 struct mpk_arena *arena, struct mpk_report *report,
				 struct mpk_error *err)
{
	struct mpk_verify v = {
		.view = view, .elf = elf, .arena = arena, .report = report, .skips_hash = true
	};

	run_table(&v, mpk_checks_dynamic);
	return report->failed ? mpk_fail_nomem(err) : MPK_OK;
}

enum mpk_code mpk_verify_registered(const struct mpk_view *view, const struct mpk_elf *elf,
				    struct mpk_arena *arena, struct mpk_report *report,
				    struct mpk_error *err)
{
	struct mpk_verify v = { .view = view, .elf = elf, .arena = arena, .report = report };

	run_table(&v, mpk_checks_registration);
	return report->failed ? mpk_fail_nomem(err) : MPK_OK;
}

enum mpk_code mpk_verify_payloads(const struct mpk_view *view, struct mpk_arena *arena,
				  struct mpk_report *report, struct mpk_error *err)
{
	struct mpk_verify v = { .view = view, .arena = arena, .report = report };

	MPK_TRY(verify_read_code(view, err));
	run_table(&v, mpk_checks_payload);
	run_table(&v, mpk_checks_code);
	return report->failed ? mpk_fail_nomem(err) : MPK_OK;
}

/* Findings about the kernels of one node. Each kernel keeps all its findings, however many there
 * are, so only a few words of each are kept. */
struct finder {
	struct mpk_arena *arena;
	struct mpk_view_finding *list; /* malloc'ed */
	size_t count, cap;
	bool failed;
};

/* Receives each finding when it is reported. The report keeps a limited number; here all are kept,
 * so they are copied to the arena. */
static void keep_finding(const struct mpk_finding *f, void *arg)
{
	struct finder *finder = arg;
	struct mpk_view_finding kept = { .severity = f->severity, .check = f->check };

	if (!f->about)
		return;
	kept.kernel = mpk_arena_text(finder->arena, mpk_span_str(f->about));
	kept.text = mpk_arena_text(finder->arena, mpk_span_str(f->error.text));
	kept.rank = finder->count;
	if (!kept.kernel || !kept.text ||
	    !mpk_vec_reserve(&finder->list, &finder->cap, finder->count + 1, sizeof *finder->list))
		finder->failed = true;
	else
		finder->list[finder->count++] = kept;
}

/* Sorts by kernel, for a binary search; findings of one kernel stay in the order in which they were
 * found. */
static int by_kernel(const void *a, const void *b)
{
	const struct mpk_view_finding *x = a, *y = b;
	int order = strcmp(x->kernel, y->kernel);

	return order ? order : x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Runs only checks with of_kernels: findings about a module have no kernel's row. */
static void run_kernel_checks(struct mpk_verify *v, const struct mpk_check *checks,
			      const struct mpk_view_node *node)
{
	for (; checks->name; checks++) {
		v->check = checks->name;
		if (checks->of_kernels)
			run_node(v, checks, node);
	}
}

/* Reuses the list for the next module, and copies it to the arena in its final size. */
static enum mpk_code find_in_node(struct mpk_verify *v, struct finder *f,
				  struct mpk_view_node *node, struct mpk_error *err)
{
	f->count = 0;
	run_kernel_checks(v, mpk_checks_payload, node);
	run_kernel_checks(v, mpk_checks_code, node);
	if (v->report->failed || f->failed)
		return mpk_fail_nomem(err);
	if (!f->count)
		return MPK_OK;
	qsort(f->list, f->count, sizeof *f->list, by_kernel);
	node->findings = mpk_arena_keep(f->arena, f->list, f->count, sizeof *f->list);
	MPK_TRY_ALLOC(node->findings, err);
	node->finding_count = f->count;
	return MPK_OK;
}

enum mpk_code mpk_verify_kernels(const struct mpk_view *view, struct mpk_error *err)
{
	struct finder finder = { .arena = view->arena };
	struct mpk_report report = { .take = keep_finding, .arg = &finder };
	struct mpk_verify v = { .view = view, .arena = view->arena, .report = &report };
	enum mpk_code code = verify_read_code(view, err);

	for (size_t i = 0; i < view->count && code == MPK_OK; i++)
		code = find_in_node(&v, &finder, &view->nodes[i], err);
	free(finder.list);
	mpk_report_fini(&report);
	return code;
}

enum mpk_code mpk_verify_run(const struct mpk_view *view, const struct mpk_verify_file *file,
			     struct mpk_arena *arena, struct mpk_report *report,
			     struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct mpk_verify v = { .view = view, .file = file, .arena = arena, .report = report };
	const struct mpk_image *image = view->image;

	if (image->elf_class) {
		MPK_TRY(mpk_elf_open_mapped(image->bytes, image->bytes_off, &elf, NULL, err));
		v.elf = &elf;
		run_table(&v, mpk_checks_elf);
		run_table(&v, mpk_checks_dynamic);
	}
	run_table(&v, mpk_checks_registration);
	run_table(&v, mpk_checks_contents);
	return mpk_verify_payloads(view, arena, report, err);
}

/* --- what a check reports --------------------------------------------------------------- */

static void say_finding(struct mpk_verify *v, enum mpk_severity severity,
			struct mpk_verify_position at, const char *fmt, va_list ap)
	MPK_PRINTF(4, 0);

static void say_finding(struct mpk_verify *v, enum mpk_severity severity,
			struct mpk_verify_position at, const char *fmt, va_list ap)
{
	struct mpk_error e = { 0 };
	char text[sizeof e.text];

	(void)vsnprintf(text, sizeof text, fmt, ap);
	if (at.space)
		(void)mpk_fail_offset(&e, MPK_E_CORRUPT, at.space, at.offset, "%s", text);
	else
		(void)mpk_fail(&e, MPK_E_CORRUPT, "%s", text);
	mpk_error_at_file(&e, v->view->name);
	mpk_error_at_path(&e, at.path);
	mpk_report_add_about(v->report, severity, v->check, &e, v->kernel);
}

void mpk_verify_say(struct mpk_verify *v, enum mpk_severity severity, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_finding(v, severity, v->position, fmt, ap);
	va_end(ap);
}

void mpk_verify_say_at(struct mpk_verify *v, enum mpk_severity severity,
		       struct mpk_verify_position at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_finding(v, severity, at, fmt, ap);
	va_end(ap);
}

/* --- as text and JSON ------------------------------------------------------------------- */

static void finding_line(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_finding *f = what;
	const char *color = f->severity == MPK_ERROR ? "\033[1;31m" : "\033[1;33m";
	char position[768];

	mpk_where_print(&f->error.at, position, sizeof position);
	mpk_escape(out, mpk_span_str(position));
	mpk_strbuf_printf(out, ": %s%s%s: ", style.color ? color : "",
			  mpk_severity_name(f->severity), style.color ? "\033[0m" : "");
	/* ensures that a finding is one line, even if a check did not escape its text */
	mpk_escape_sentence(out, mpk_span_str(f->error.text));
	mpk_strbuf_printf(out, " [%s]\n", f->check);
}

const struct mpk_answer mpk_answer_finding = { .line = finding_line };

/* A user who asked for a signature sees that there is one, even if other notes are omitted. */
static void put_signed(const struct mpk_verified *v, struct mpk_strbuf *out)
{
	for (size_t i = 0; i < v->report->count; i++) {
		const struct mpk_finding *f = &v->report->findings[i];

		if (f->severity != MPK_NOTE || strcmp(f->check, "signature") != 0)
			continue;
		mpk_escape(out, mpk_span_str(v->file));
		mpk_strbuf_puts(out, ": ");
		mpk_escape_sentence(out, mpk_span_str(f->error.text));
		mpk_strbuf_putc(out, '\n');
	}
}

/* "no errors", "2 errors, 1 warning" */
static void put_verdict(const struct mpk_report *report, struct mpk_strbuf *out)
{
	if (report->errors)
		mpk_put_count(out, report->errors, "error");
	else
		mpk_strbuf_puts(out, "no errors");
	if (report->warnings)
		mpk_put_also(out, report->warnings, "warning");
	if (report->dropped)
		mpk_strbuf_printf(out, ", %zu left out", report->dropped);
}

static void verify_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_verified *v = what;
	struct mpk_report *report = v->report;

	mpk_report_sort(report);
	for (size_t i = 0; i < report->count; i++)
		if (style.verbose || report->findings[i].severity != MPK_NOTE)
			finding_line(&report->findings[i], style, out);
	if (!v->in_set || report->errors || report->warnings) {
		mpk_escape(out, mpk_span_str(v->file));
		mpk_strbuf_puts(out, ": ");
		put_verdict(report, out);
		mpk_strbuf_putc(out, '\n');
	}
	if (!style.verbose)
		put_signed(v, out);
}

static void verify_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_verified *v = what;
	struct mpk_report *report = v->report;
	struct mpk_json_at *list, *o;

	mpk_report_sort(report);
	struct mpk_strbuf verdict = { 0 };

	put_verdict(report, &verdict);
	mpk_json_text(j, at, "file", v->file);
	mpk_json_take(j, at, "verdict", &verdict);
	mpk_json_u64(j, at, "errors", report->errors);
	mpk_json_u64(j, at, "warnings", report->warnings);
	mpk_json_u64(j, at, "left_out", report->dropped);
	list = mpk_json_array(j, at, "findings");
	for (size_t i = 0; i < report->count; i++) {
		const struct mpk_finding *f = &report->findings[i];
		const struct mpk_where *w = &f->error.at;

		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "check", f->check);
		mpk_json_text(j, o, "severity", mpk_severity_name(f->severity));
		mpk_json_text(j, o, "path", w->path[0] ? w->path : NULL);
		mpk_json_text(j, o, "kernel", f->about);
		mpk_json_text(j, o, "space", w->has_offset ? w->space : NULL);
		if (w->has_offset)
			mpk_json_u64(j, o, "offset", w->offset);
		else
			mpk_json_null(j, o, "offset");
		mpk_json_text(j, o, "message", f->error.text);
	}
}

const struct mpk_answer mpk_answer_verify = { .text = verify_text, .json = verify_json };
