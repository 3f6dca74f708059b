/* SPDX-License-Identifier: Apache-2.0 */
/* case_file.c - a case file: its keys, the part that the calling process gets, the calls, and the
 * verdicts
 *
 * The reader is a schema with one row for each key. With isolation, a separate process makes the
 * calls and gets a case file without expected results, so that the code under test cannot read
 * them. Its keys are written one by one; a key not written here is not passed on.
 */
#include "session/internal/session.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "session/cases.h"
#include "text/escape.h"

/* An optional key with the name of its member. */
#define FIELD(structure, member, kind_)                                                            \
	{ .name = #member, .kind = (kind_), .off = offsetof(structure, member) }

#define PLACE(member, kind_)                                                                       \
	{ .name = #member, .kind = (kind_), .off = offsetof(struct mpk_case_table, place.member) }

static const struct mpk_toml_field defaults_fields[] = {
	FIELD(struct mpk_case_place, device, MPK_TOML_FIELD_TEXT),
	FIELD(struct mpk_case_place, params, MPK_TOML_FIELD_TEXT),
	FIELD(struct mpk_case_place, atol, MPK_TOML_FIELD_NUMBER),
	FIELD(struct mpk_case_place, rtol, MPK_TOML_FIELD_NUMBER),
	FIELD(struct mpk_case_place, timeout, MPK_TOML_FIELD_NUMBER),
};

static const struct mpk_toml_schema defaults_schema = {
	.what = "[defaults]",
	.fields = defaults_fields,
	.field_count = MPK_ARRAY_COUNT(defaults_fields),
	.bytes = sizeof(struct mpk_case_place),
	.pos_off = SIZE_MAX,
};

/* The schema has two optional keys, but cannot require exactly one of them. */
static void check_arg(struct mpk_toml_reader *r, void *row)
{
	const struct mpk_case_arg *arg = row;

	if (r->report->errors == r->row_errors && !arg->input.text == !arg->out.text)
		mpk_toml_read_error(
			r, arg->pos, "argument",
			"an argument is either { input = \"V\" } or { out = \"SPEC\" }");
}

static const struct mpk_toml_field arg_fields[] = {
	FIELD(struct mpk_case_arg, input, MPK_TOML_FIELD_TEXT),
	FIELD(struct mpk_case_arg, out, MPK_TOML_FIELD_TEXT),
};

static const struct mpk_toml_schema arg_schema = {
	.what = "args = [{ input = \"V\" }, { out = \"SPEC\" }]",
	.fields = arg_fields,
	.field_count = MPK_ARRAY_COUNT(arg_fields),
	.bytes = sizeof(struct mpk_case_arg),
	.pos_off = offsetof(struct mpk_case_arg, pos),
	.done = check_arg,
};

static void check_case(struct mpk_toml_reader *r, void *row)
{
	const struct mpk_case_table *c = row;

	if (c->raises.text && c->expect.present)
		mpk_toml_read_error(r, c->raises.pos, "raises",
				    "a call that raises has no results for 'expect'");
	if (c->raises.text && c->keep.text)
		mpk_toml_read_error(r, c->raises.pos, "raises",
				    "a call that raises has no results to 'keep'");
}

static const struct mpk_toml_field case_fields[] = {
	FIELD(struct mpk_case_table, name, MPK_TOML_FIELD_TEXT),
	{ .name = "run",
	  .kind = MPK_TOML_FIELD_TEXT,
	  .required = true,
	  .off = offsetof(struct mpk_case_table, run) },
	{ .name = "args",
	  .kind = MPK_TOML_FIELD_TABLES,
	  .rows = &arg_schema,
	  .off = offsetof(struct mpk_case_table, args),
	  .count_off = offsetof(struct mpk_case_table, arg_count) },
	FIELD(struct mpk_case_table, keep, MPK_TOML_FIELD_TEXT),
	FIELD(struct mpk_case_table, expect, MPK_TOML_FIELD_TEXTS),
	FIELD(struct mpk_case_table, raises, MPK_TOML_FIELD_TEXT),
	FIELD(struct mpk_case_table, skip, MPK_TOML_FIELD_TEXT),
	PLACE(device, MPK_TOML_FIELD_TEXT),
	PLACE(params, MPK_TOML_FIELD_TEXT),
	PLACE(atol, MPK_TOML_FIELD_NUMBER),
	PLACE(rtol, MPK_TOML_FIELD_NUMBER),
	PLACE(timeout, MPK_TOML_FIELD_NUMBER),
	FIELD(struct mpk_case_table, grid, MPK_TOML_FIELD_EXPRS),
	FIELD(struct mpk_case_table, block, MPK_TOML_FIELD_EXPRS),
	FIELD(struct mpk_case_table, shared, MPK_TOML_FIELD_NUMBER),
	FIELD(struct mpk_case_table, repeat, MPK_TOML_FIELD_NUMBER),
	FIELD(struct mpk_case_table, warmup, MPK_TOML_FIELD_NUMBER),
};

static const struct mpk_toml_schema case_schema = {
	.what = "[[case]]",
	.fields = case_fields,
	.field_count = MPK_ARRAY_COUNT(case_fields),
	.bytes = sizeof(struct mpk_case_table),
	.pos_off = offsetof(struct mpk_case_table, pos),
	.done = check_case,
};

static const struct mpk_toml_field file_fields[] = {
	{ .name = "defaults",
	  .kind = MPK_TOML_FIELD_TABLE,
	  .off = offsetof(struct mpk_case_file, defaults),
	  .rows = &defaults_schema },
	{ .name = "case",
	  .kind = MPK_TOML_FIELD_TABLES,
	  .required = true,
	  .off = offsetof(struct mpk_case_file, cases),
	  .count_off = offsetof(struct mpk_case_file, count),
	  .rows = &case_schema },
};

const struct mpk_toml_schema mpk_case_file_schema = {
	.what = "a case file",
	.fields = file_fields,
	.field_count = MPK_ARRAY_COUNT(file_fields),
	.bytes = sizeof(struct mpk_case_file),
	.pos_off = SIZE_MAX,
};

/* --- the calls alone ------------------------------------------------------------------------- */

static void put_key_text(struct mpk_strbuf *out, const char *key, struct mpk_toml_str s)
{
	if (!s.text)
		return;
	mpk_strbuf_printf(out, "%s = ", key);
	mpk_escape_toml(out, mpk_toml_str_span(s), "?");
	mpk_strbuf_putc(out, '\n');
}

static void put_key_number(struct mpk_strbuf *out, const char *key, struct mpk_toml_number n)
{
	if (n.pos.line)
		mpk_strbuf_printf(out, "%s = %.17g\n", key, n.value);
}

static void put_key_list(struct mpk_strbuf *out, const char *key, const struct mpk_toml_list *list)
{
	if (!list->present)
		return;
	mpk_strbuf_printf(out, "%s = [", key);
	for (size_t i = 0; i < list->count; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		mpk_escape_toml(out, mpk_toml_str_span(list->items[i]), "?");
	}
	mpk_strbuf_puts(out, "]\n");
}

static void case_file_put_place(struct mpk_strbuf *out, const struct mpk_case_place *place)
{
	put_key_text(out, "device", place->device);
	put_key_text(out, "params", place->params);
	put_key_number(out, "timeout", place->timeout);
}

/* A skipped case keeps its place, so that results have the number of their case. */
static void put_case(struct mpk_strbuf *out, const struct mpk_case_table *t)
{
	mpk_strbuf_puts(out, "[[case]]\n");
	put_key_text(out, "run", t->run);
	put_key_text(out, "keep", t->keep);
	if (t->skip.text)
		mpk_strbuf_puts(out, "skip = \"yes\"\n");

	mpk_strbuf_puts(out, "args = [");
	for (size_t i = 0; i < t->arg_count; i++) {
		const struct mpk_case_arg *arg = &t->args[i];

		mpk_strbuf_puts(out, arg->out.text ? "{ out = " : "{ input = ");
		mpk_escape_toml(out, mpk_toml_str_span(arg->out.text ? arg->out : arg->input), "?");
		mpk_strbuf_puts(out, " }, ");
	}
	mpk_strbuf_puts(out, "]\n");

	case_file_put_place(out, &t->place);
	put_key_list(out, "grid", &t->grid);
	put_key_list(out, "block", &t->block);
	put_key_number(out, "shared", t->shared);
	put_key_number(out, "repeat", t->repeat);
	put_key_number(out, "warmup", t->warmup);
}

enum mpk_code mpk_cases_calls(const struct mpk_cases *cases, struct mpk_strbuf *out,
			      struct mpk_error *err)
{
	mpk_strbuf_puts(out, "[defaults]\n");
	case_file_put_place(out, cases->said);
	for (size_t i = 0; i < cases->count; i++)
		put_case(out, cases->items[i].said);
	return mpk_strbuf_status(out, err);
}

/* --- judging a case ------------------------------------------------------------------------- */

/* A missing device is not a failure of the case; every other error is. */
static void cases_run_fail(struct mpk_case_outcome *out, enum mpk_code code, const char *why)
{
	out->verdict = code == MPK_E_DEVICE ? MPK_CASE_SKIPPED : MPK_CASE_FAILED;
	if (out->code == MPK_OK)
		out->code = code;
	mpk_strbuf_printf(&out->why, "%s%s", out->why.len ? "; " : "", why);
}

/* Checks every expectation: the report names all results that differ. */
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

/* Messages are escaped, so the searched text must be escaped too. */
static bool contains(const char *text, const char *part)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf escaped = { 0 };

	mpk_escape(&escaped, mpk_span_str(part));
	return strstr(text, mpk_strbuf_text(&escaped)) != NULL;
}

/* Whether the function raised the error, or its arguments were refused before the call. */
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

/* --- all cases of a file ------------------------------------------------------------- */

/* Isolated code gets a process for each call, so a kept value is lost. */
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

/* Chooses the device of the call; a case without one is skipped. */
static void cases_run_prepare(const struct mpk_library_options *library, const struct mpk_case *c,
			      struct mpk_call *call, struct mpk_batch_item *item)
{
	if (c->skip)
		return;
	*call = c->call;
	if (mpk_call_choose_device(library, call, &item->error) != MPK_OK ||
	    check_kept(library, call, &item->error) != MPK_OK)
		return;
	item->call = call;
	item->timeout = c->timeout;
}

enum mpk_code mpk_cases_call(const struct mpk_library_options *library, struct mpk_cases *cases,
			     struct mpk_error *err)
{
	cases->calls = calloc(cases->count + 1, sizeof *cases->calls);
	cases->made = calloc(cases->count + 1, sizeof *cases->made);
	MPK_TRY_ALLOC(cases->calls && cases->made, err);
	for (size_t i = 0; i < cases->count; i++)
		cases_run_prepare(library, &cases->items[i], &cases->calls[i], &cases->made[i]);
	return mpk_batch_run(library, cases->made, cases->count, err);
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

/* Handles the outcomes: skipped, called, or refused before the call. */
static enum mpk_code judge_one(const struct mpk_case *c, const struct mpk_batch_item *item,
			       struct mpk_case_outcome *out, struct mpk_error *err)
{
	if (c->skip) {
		out->verdict = MPK_CASE_SKIPPED;
		mpk_escape(&out->why, mpk_span_str(c->skip));
		return MPK_OK;
	}
	if (item->call) {
		/* An expected error must come from the function or its argument check; a crash does
		 * not count. */
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
			MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf why = { 0 };

			mpk_strbuf_printf(&why, "returned, expected an error with '%s'",
					  MPK_QUOTE(mpk_span_str(c->raises)));
			cases_run_fail(out, MPK_E_DIFFERENT, mpk_strbuf_text(&why));
			return MPK_OK;
		}
		return cases_run_compare(c, r, out, err);
	}
	cases_run_fail(out, item->error.code, item->error.text);
	return MPK_OK;
}

/* Reads the file again, since the calling process did not know the expected results. */
enum mpk_code mpk_cases_judge(struct mpk_cases *cases, const struct mpk_cases *called,
			      struct mpk_error *err)
{
	struct mpk_case_outcome *out;

	if (cases->count != called->count)
		return mpk_fail(err, MPK_E_IO, "the case file changed while its cases were called");
	cases->outcomes = out = calloc(cases->count + 1, sizeof *out);
	MPK_TRY_ALLOC(out, err);
	for (size_t i = 0; i < cases->count; i++)
		MPK_TRY(judge_one(&cases->items[i], &called->made[i], &out[i], err));
	for (size_t i = 0; cases->no_skip && i < cases->count; i++)
		refuse_skip(&out[i]);
	return MPK_OK;
}
