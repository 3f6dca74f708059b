/* SPDX-License-Identifier: Apache-2.0 */
/* --check: each file with each place that the options describe, which lib/show/check compares; then what the files of a
 * package have together for each GPU. */
#include "check/check.h"

#include "common/diag.h"
#include "minspect/check_there.h"
#include "minspect/document.h"
#include "text/escape.h"

static void check_fini(struct mpk_check_result *result)
{
	mpk_report_fini(&result->report);
}

static const char *keep_text(struct minspect_places *p, const char *text)
{
	const char *copy = text ? mpk_arena_text(p->arena, mpk_span_str(text)) : NULL;

	p->failed |= text && !copy;
	return copy;
}

static void count_gpu(struct minspect_places *p, struct minspect_coverage *c,
		      const struct mpk_check_result *r)
{
	c->covered += r->gpu == MPK_CHECK_GPU_RUNS;
	c->by_ptx += r->gpu == MPK_CHECK_GPU_RUNS && r->gpu_by_ptx;
	c->other += r->gpu == MPK_CHECK_GPU_OTHER;
	if (r->gpu != MPK_CHECK_GPU_LACKS || c->lacking++)
		return;
	c->file = keep_text(p, r->file);
	c->place = keep_text(p, r->gpu_place);
	c->kernel = keep_text(p, r->gpu_kernel);
}

static int check_file(const struct minspect_options *o, struct minspect_look *l, size_t i)
{
	MPK_CLEANUP(check_fini) struct mpk_check_result result = { 0 };
	struct minspect_places *places = l->user;
	struct mpk_there *there = &places->items[i];
	struct mpk_error err = { 0 };

	there->is_one_of_several = l->file->in_zip || l->folder_len || o->file_count > 1;
	places->is_package |= there->is_one_of_several;
	if (mpk_check_run(l->view, &l->file->map, there, &l->file->arena, &result, &err) !=
	    MPK_OK) {
		mpk_error_at_file(&err, l->file->name);
		return minspect_report(l, &err);
	}
	if (i < places->devices) /* of the other releases the same */
		count_gpu(places, &places->coverage[i], &result);
	minspect_answer(o, l, &mpk_answer_check, &result);
	return result.report.errors ? MPK_EXIT_DIFFERENT : MPK_EXIT_OK;
}

/* A verdict for each place, each an entry of its own in a document. */
static int minspect_check_look(const struct minspect_options *o, struct minspect_look *l)
{
	struct minspect_places *places = l->user;
	int status = MPK_EXIT_OK;

	minspect_siblings_enter(places->siblings, l->archive);
	for (size_t i = 0; i < places->count; i++) {
		/* minspect_each made the entry of the first place. */
		if (l->json && i)
			l->at = mpk_json_object(l->json, l->files, NULL);
		int got = check_file(o, l, i);

		status = status ? status : got;
	}
	return status;
}

/* --- all files together ------------------------------------------------------------------ */

/* The verdict of a package on one device. Where there is no GPU code at all, there is nothing to say. */
static const char *coverage_verdict(const struct minspect_coverage *c)
{
	return c->lacking ? "lacks-code" : c->covered ? "runs" : c->other ? "other-maker" : "none";
}

static void put_coverage_json(const struct minspect_places *p, struct mpk_json *j,
			      struct mpk_json_at *at)
{
	struct mpk_json_at *list = mpk_json_array(j, at, "devices"), *o, *first;

	for (size_t i = 0; i < p->devices; i++) {
		const struct minspect_coverage *c = &p->coverage[i];

		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "device", p->items[i].device);
		mpk_json_text(j, o, "verdict", coverage_verdict(c));
		mpk_json_u64(j, o, "covered", c->covered);
		mpk_json_u64(j, o, "by_ptx", c->by_ptx);
		mpk_json_u64(j, o, "lacking", c->lacking);
		if (!c->lacking) {
			mpk_json_null(j, o, "first");
			continue;
		}
		first = mpk_json_object(j, o, "first");
		mpk_json_text(j, first, "file", c->file);
		mpk_json_text(j, first, "place", c->place);
		mpk_json_text(j, first, "kernel", c->kernel);
	}
}

/* "sm_75: 1 of 2 files with code for such GPUs has none for it; first app.whl!/a.so, kernel 'f'" */
static void put_coverage(const struct minspect_places *p, size_t i, struct mpk_strbuf *out)
{
	const struct minspect_coverage *c = &p->coverage[i];
	size_t all = c->covered + c->lacking;

	mpk_strbuf_printf(out, "%s: ", p->items[i].device);
	if (!all) {
		mpk_strbuf_puts(out, c->other ? "no file has code for GPUs of its maker\n"
					      : "no file has code for particular GPUs\n");
		return;
	}
	if (!c->lacking) {
		mpk_strbuf_printf(out, "%zu of %zu %s code for it", all, all,
				  all == 1 ? "file has" : "files have");
		if (c->by_ptx)
			mpk_strbuf_printf(out, ", %zu as PTX alone", c->by_ptx);
		mpk_strbuf_puts(out, "\n");
		return;
	}
	mpk_strbuf_printf(out, "%zu of %zu %s lack%s code for it; first ", c->lacking, all,
			  all == 1 ? "file" : "files", c->lacking == 1 ? "s" : "");
	mpk_escape(out, mpk_span_str(c->file));
	if (c->kernel) {
		mpk_strbuf_puts(out, ", kernel ");
		mpk_escape(out, mpk_span_str(c->kernel));
	}
	mpk_strbuf_puts(out, "\n");
}

/* A device whose maker's code no file has is missing from the package, though no file alone is to blame. */
static int minspect_check_end(const struct minspect_options *o, struct minspect_look *l)
{
	struct minspect_places *p = l->user;
	struct mpk_error err = { 0 };
	int status = MPK_EXIT_OK;

	(void)o;
	if (p->failed)
		return mpk_diag_error((mpk_fail_nomem(&err), &err));
	if (!p->items[0].device)
		return status;
	if (l->json)
		put_coverage_json(p, l->json, l->json->root);
	for (size_t i = 0; i < p->devices; i++) {
		const struct minspect_coverage *c = &p->coverage[i];

		if (l->out && p->is_package)
			put_coverage(p, i, l->out);
		if (c->lacking || (!c->covered && c->other))
			status = MPK_EXIT_DIFFERENT;
	}
	return status;
}

int minspect_check(const struct minspect_options *o)
{
	const struct minspect_action action = { .look = minspect_check_look,
						.end = minspect_check_end,
						.takes_libraries = true,
						.takes_any = o->abi != NULL };
	struct mpk_arena arena = { 0 };
	struct mpk_there common = { 0 };
	struct minspect_places places = { .arena = &arena };
	struct minspect_siblings siblings = { 0 };
	int status = minspect_places_set(o, &arena, &common, &places);

	if (status == MPK_EXIT_OK) {
		minspect_siblings_init(&siblings, o, &places);
		status = minspect_each(o, &action, &places);
	}
	minspect_siblings_fini(&siblings);
	for (struct mpk_dso *d = common.runtimes; d; d = d->next)
		mpk_dso_close(d);
	for (struct mpk_dso *d = common.hosts; d; d = d->next)
		mpk_dso_close(d);
	mpk_arena_fini(&arena);
	return status;
}
