/* SPDX-License-Identifier: Apache-2.0 */
#include "text/escape.h"
#include "verify/verify.h"

void mpk_verify_print_finding(const struct mpk_finding *f, struct mpk_style style,
			      struct mpk_strbuf *out)
{
	const char *color = f->severity == MPK_ERROR ? "\033[1;31m" : "\033[1;33m";
	char position[768];

	mpk_where_print(&f->error.at, position, sizeof position);
	mpk_escape(out, mpk_span_str(position));
	mpk_strbuf_printf(out, ": %s%s%s: ", style.color ? color : "",
			  mpk_severity_name(f->severity), style.color ? "\033[0m" : "");
	/* a finding is one line, whatever who made it forgot to escape */
	mpk_escape_sentence(out, mpk_span_str(f->error.text));
	mpk_strbuf_printf(out, " [%s]\n", f->check);
}

static void print_count(size_t count, const char *what, struct mpk_strbuf *out)
{
	if (count)
		mpk_strbuf_printf(out, ", %zu %s%s", count, what, count == 1 ? "" : "s");
}

void mpk_verify_print(const char *name, struct mpk_report *report, struct mpk_style style,
		      bool notes, struct mpk_strbuf *out)
{
	mpk_report_sort(report);
	for (size_t i = 0; i < report->count; i++)
		if (notes || report->findings[i].severity != MPK_NOTE)
			mpk_verify_print_finding(&report->findings[i], style, out);
	mpk_escape(out, mpk_span_str(name));
	if (report->errors)
		mpk_strbuf_printf(out, ": %zu error%s", report->errors,
				  report->errors == 1 ? "" : "s");
	else
		mpk_strbuf_puts(out, ": no errors");
	print_count(report->warnings, "warning", out);
	if (report->dropped)
		mpk_strbuf_printf(out, ", %zu left out", report->dropped);
	mpk_strbuf_putc(out, '\n');
}

void mpk_verify_json(const char *name, struct mpk_report *report, struct mpk_json *j,
		     struct mpk_json_at *at)
{
	struct mpk_json_at *list, *o;

	mpk_report_sort(report);
	mpk_json_text(j, at, "file", name);
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
