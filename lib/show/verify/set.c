/* SPDX-License-Identifier: Apache-2.0 */
/* set.c - --verify of several files: one sentence, and the most frequent findings */
#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "base/vec.h"
#include "text/escape.h"
#include "text/phrase.h"
#include "text/table.h"
#include "verify/verify.h"

enum { CAUSES_SHOWN = 16 };

void mpk_verified_set_fini(struct mpk_verified_set *set)
{
	free(set->causes);
	mpk_strmap_fini(&set->by_text);
	mpk_arena_fini(&set->arena);
}

/* Counts a finding. The same finding in another file or another place adds to the count, not a
 * line. */
static enum mpk_code add_cause(struct mpk_verified_set *set, const struct mpk_finding *f,
			       const char *file, struct mpk_error *err)
{
	const char *key = mpk_arena_printf(&set->arena, "%d %s %s", (int)f->severity, f->check,
					   f->error.text);
	struct mpk_verified_cause *c;
	size_t at;
	int rc;

	MPK_TRY_ALLOC(key, err);
	rc = mpk_strmap_put(&set->by_text, mpk_span_str(key), set->cause_count, &at);
	MPK_TRY_ALLOC(rc >= 0, err);
	if (rc) {
		MPK_TRY_ALLOC(mpk_vec_reserve(&set->causes, &set->cause_cap, set->cause_count + 1,
					      sizeof *set->causes),
			      err);
		set->causes[set->cause_count++] = (struct mpk_verified_cause){
			.severity = f->severity,
			.check = f->check,
			.text = mpk_arena_text(&set->arena, mpk_span_str(f->error.text)),
			.first = file,
			.place = mpk_arena_text(&set->arena, mpk_span_str(f->error.at.path)),
		};
	}
	c = &set->causes[at];
	MPK_TRY_ALLOC(c->text && c->place, err);
	c->count++;
	c->files += c->last != file;
	c->last = file;
	return MPK_OK;
}

enum mpk_code mpk_verified_add(struct mpk_verified_set *set, const char *file,
			       const struct mpk_report *report, struct mpk_error *err)
{
	const char *copy = NULL;

	set->errors += report->errors;
	set->warnings += report->warnings;
	set->bad_files += report->errors > 0;
	set->warned_files += report->warnings > 0;
	for (size_t i = 0; i < report->count; i++) {
		if (report->findings[i].severity == MPK_NOTE)
			continue;
		copy = copy ? copy : mpk_arena_text(&set->arena, mpk_span_str(file));
		MPK_TRY_ALLOC(copy, err);
		MPK_TRY(add_cause(set, &report->findings[i], copy, err));
	}
	return MPK_OK;
}

static void put_in_files(const struct mpk_verified_set *set, size_t n, const char *what,
			 size_t files, struct mpk_strbuf *out)
{
	mpk_put_number(out, n);
	mpk_strbuf_printf(out, " %s%s", what, n == 1 ? "" : "s");
	if (set->files == 1)
		return;
	mpk_strbuf_puts(out, " in ");
	mpk_put_number(out, files);
	mpk_strbuf_printf(out, " file%s", files == 1 ? "" : "s");
}

static void put_set_verdict(const struct mpk_verified_set *set, struct mpk_strbuf *out)
{
	mpk_put_number(out, set->files);
	mpk_strbuf_printf(out, " file%s, %s: ", set->files == 1 ? "" : "s", MPK_SIZE(set->bytes));
	if (set->errors)
		put_in_files(set, set->errors, "error", set->bad_files, out);
	else
		mpk_strbuf_puts(out, set->unreadable == set->files && set->files
					     ? "nothing could be read"
					     : "no errors");
	if (set->warnings) {
		mpk_strbuf_puts(out, ", ");
		put_in_files(set, set->warnings, "warning", set->warned_files, out);
	}
	if (set->unreadable && set->unreadable < set->files) {
		mpk_strbuf_puts(out, "; ");
		mpk_put_number(out, set->unreadable);
		mpk_strbuf_puts(out, " could not be read");
	}
}

/* Sorts errors first, then by frequency. */
static int by_weight(const void *a, const void *b)
{
	const struct mpk_verified_cause *const *x = a, *const *y = b;

	if ((*x)->severity != (*y)->severity)
		return (*x)->severity > (*y)->severity ? -1 : 1;
	if ((*x)->count != (*y)->count)
		return (*x)->count > (*y)->count ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

static void put_cause(const struct mpk_verified_cause *c, struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, "  %s: %s [%s]: ", mpk_severity_name(c->severity), c->text,
			  c->check);
	if (c->count > 1) {
		mpk_put_number(out, c->count);
		mpk_strbuf_puts(out, " in ");
		mpk_put_count(out, c->files, "file");
		mpk_strbuf_puts(out, ", first ");
	}
	mpk_escape(out, mpk_span_str(c->first));
	if (*c->place) {
		mpk_strbuf_puts(out, ": ");
		mpk_escape(out, mpk_span_str(c->place));
	}
	mpk_strbuf_putc(out, '\n');
}

static void put_causes(const struct mpk_verified_set *set, struct mpk_strbuf *out)
{
	const struct mpk_verified_cause **rows = calloc(set->cause_count + 1, sizeof *rows);

	out->failed |= !rows;
	for (size_t i = 0; rows && i < set->cause_count; i++)
		rows[i] = &set->causes[i];
	if (rows)
		qsort(rows, set->cause_count, sizeof *rows, by_weight);
	for (size_t i = 0; rows && i < set->cause_count && i < CAUSES_SHOWN; i++)
		put_cause(rows[i], out);
	if (set->cause_count > CAUSES_SHOWN)
		mpk_strbuf_printf(out, "  and %zu more sorts\n", set->cause_count - CAUSES_SHOWN);
	mpk_strbuf_puts(out, "each of them: --all\n");
	free(rows);
}

static void verified_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_verified_set *set = what;

	(void)style;
	put_set_verdict(set, out);
	mpk_strbuf_putc(out, '\n');
	if (set->has_causes && set->cause_count)
		put_causes(set, out);
}

static void verified_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_strbuf verdict = { 0 };

	put_set_verdict(what, &verdict);
	mpk_json_take(j, at, "verdict", &verdict);
}

const struct mpk_answer mpk_answer_verified = { .text = verified_text, .json = verified_json };
