/* What --cases says: lines, TAP or JSON. */
#include "minspect/cases.h"

#include "common/diag.h"
#include "minspect/document.h"
#include "text/escape.h"

static void put_summary(struct mpk_strbuf *out, const struct cases_run *run)
{
	mpk_strbuf_printf(out, "%zu passed, %zu failed, %zu skipped\n", run->passed, run->failed,
			  run->skipped);
}

/* --- lines -------------------------------------------------------------------------- */

static void put_times(struct mpk_strbuf *out, const struct mpk_case *c,
		      const struct mpk_case_outcome *o)
{
	if (!mpk_common.verbose || c->skip)
		return;
	mpk_strbuf_puts(out, " (");
	run_put_seconds(out, o->seconds);
	if (c->is_timed && o->calls) {
		mpk_strbuf_puts(out, "; ");
		run_put_timing(out, o->calls, &o->timing);
	}
	mpk_strbuf_putc(out, ')');
}

static void print_lines(struct mpk_strbuf *out, const struct cases_run *run)
{
	static const char *const words[] = { "ok   ", "FAIL ", "skip " };

	for (size_t i = 0; i < run->cases->count; i++) {
		const struct mpk_case *c = &run->cases->items[i];
		const struct mpk_case_outcome *o = &run->outcomes[i];

		mpk_strbuf_puts(out, words[o->verdict]);
		mpk_escape(out, mpk_span_str(c->name));
		put_times(out, c, o);
		if (o->why.len)
			mpk_strbuf_printf(out, ": %s", mpk_strbuf_text(&o->why));
		mpk_strbuf_putc(out, '\n');
	}
	put_summary(out, run);
}

/* --- TAP 13 ------------------------------------------------------------------------- */

/* One line of a description; a '#' in it would begin a directive. */
static void put_tap_text(struct mpk_strbuf *out, const char *text)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf escaped = { 0 };

	mpk_escape(&escaped, mpk_span_str(text));
	for (const char *p = mpk_strbuf_text(&escaped); *p; p++) {
		if (*p == '#')
			mpk_strbuf_putc(out, '\\');
		mpk_strbuf_putc(out, *p);
	}
	out->failed |= escaped.failed;
}

/* A double-quoted scalar of YAML; text is escaped already and so has no control bytes. */
static void put_yaml_text(struct mpk_strbuf *out, const char *text)
{
	mpk_strbuf_putc(out, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			mpk_strbuf_putc(out, '\\');
		mpk_strbuf_putc(out, *text);
	}
	mpk_strbuf_putc(out, '"');
}

static void print_tap(struct mpk_strbuf *out, const struct cases_run *run)
{
	mpk_strbuf_printf(out, "TAP version 13\n1..%zu\n", run->cases->count);
	for (size_t i = 0; i < run->cases->count; i++) {
		const struct mpk_case_outcome *o = &run->outcomes[i];
		bool failed = o->verdict == MPK_CASE_FAILED;

		mpk_strbuf_printf(out, "%sok %zu - ", failed ? "not " : "", i + 1);
		put_tap_text(out, run->cases->items[i].name);
		if (o->verdict == MPK_CASE_SKIPPED)
			mpk_strbuf_printf(out, " # SKIP %s", mpk_strbuf_text(&o->why));
		mpk_strbuf_putc(out, '\n');
		if (!failed)
			continue;
		mpk_strbuf_puts(out, "  ---\n  message: ");
		put_yaml_text(out, mpk_strbuf_text(&o->why));
		mpk_strbuf_puts(out, "\n  severity: fail\n  ...\n");
	}
	mpk_strbuf_puts(out, "# ");
	put_summary(out, run);
}

/* --- JSON --------------------------------------------------------------------------- */

static void begin_json(const struct minspect_options *o, struct mpk_json *j)
{
	mpk_json_init(j, 1);
	mpk_json_text(j, j->root, "file", o->files[0]);
	mpk_json_text(j, j->root, "cases_file", o->cases);
}

static void put_case(struct mpk_json *j, struct json_t *at, const struct mpk_case *c,
		     const struct mpk_case_outcome *o)
{
	static const char *const words[] = { "passed", "failed", "skipped" };
	struct mpk_error err;
	struct json_t *list;

	mpk_json_text(j, at, "name", c->name);
	mpk_json_text(j, at, "function", c->call.function);
	mpk_json_u64(j, at, "line", c->pos.line);
	mpk_json_text(j, at, "status", words[o->verdict]);
	if (o->verdict == MPK_CASE_SKIPPED)
		mpk_json_text(j, at, "reason", mpk_strbuf_text(&o->why));
	if (o->verdict == MPK_CASE_FAILED) {
		(void)mpk_fail(&err, o->code, "%s", mpk_strbuf_text(&o->why));
		mpk_json_error(j, at, "error", &err);
	}
	if (o->comparisons) {
		list = mpk_json_array(j, at, "comparisons");
		for (size_t i = 0; i < c->expect_count; i++)
			run_json_comparison(j, list, i, c->expects[i].is_ignored,
					    &o->comparisons[i]);
	}
	if (c->is_timed && o->calls)
		run_json_seconds(j, at, o->calls, &o->timing);
}

static int print_json(const struct cases_run *run)
{
	struct json_t *list;
	struct mpk_json j;

	begin_json(run->o, &j);
	list = mpk_json_array(&j, j.root, "cases");
	for (size_t i = 0; i < run->cases->count; i++)
		put_case(&j, mpk_json_object(&j, list, NULL), &run->cases->items[i],
			 &run->outcomes[i]);
	mpk_json_u64(&j, j.root, "passed", run->passed);
	mpk_json_u64(&j, j.root, "failed", run->failed);
	mpk_json_u64(&j, j.root, "skipped", run->skipped);
	return run_print_json(&j);
}

int cases_print_errors(const struct minspect_options *o, const struct mpk_report *report)
{
	struct json_t *list;
	struct mpk_json j;

	if (!o->json)
		return MPK_EXIT_OK;
	begin_json(o, &j);
	list = mpk_json_array(&j, j.root, "errors");
	for (size_t i = 0; i < report->count; i++)
		mpk_json_error(&j, list, NULL, &report->findings[i].error);
	return run_print_json(&j);
}

int cases_print(const struct cases_run *run)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };

	if (run->o->json)
		return print_json(run);
	if (run->o->tap)
		print_tap(&out, run);
	else
		print_lines(&out, run);
	return minspect_write(&out);
}
