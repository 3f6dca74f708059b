/* SPDX-License-Identifier: Apache-2.0 */
/* The run of all checks. It knows the tables; checks know only what they are handed. */
#include "verify/verify.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "model/node_info.h"

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

static enum mpk_code read_code(const struct mpk_view *view, struct mpk_error *err)
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

enum mpk_code mpk_verify_payloads(const struct mpk_view *view, struct mpk_arena *arena,
				  struct mpk_report *report, struct mpk_error *err)
{
	struct mpk_verify v = { .view = view, .arena = arena, .report = report };

	MPK_TRY(read_code(view, err));
	run_table(&v, mpk_checks_payload);
	run_table(&v, mpk_checks_code);
	return report->failed ? mpk_fail_nomem(err) : MPK_OK;
}

/* What is found of one node's kernels. Each is to have its own findings, however many there are: what is needed of
 * one is kept, a few words. */
struct finder {
	struct mpk_arena *arena;
	struct mpk_view_finding *list; /* from malloc */
	size_t count, cap;
	bool failed;
};

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

static int by_kernel(const void *a, const void *b)
{
	const struct mpk_view_finding *x = a, *y = b;
	int order = strcmp(x->kernel, y->kernel);

	return order ? order : x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void run_kernel_checks(struct mpk_verify *v, const struct mpk_check *checks,
			      const struct mpk_view_node *node)
{
	for (; checks->name; checks++) {
		v->check = checks->name;
		if (checks->of_kernels)
			run_node(v, checks, node);
	}
}

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
	enum mpk_code code = read_code(view, err);

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
		MPK_TRY(mpk_elf_open(image->bytes, image->bytes_off, &elf, err));
		v.elf = &elf;
		run_table(&v, mpk_checks_elf);
		run_table(&v, mpk_checks_dynamic);
	}
	run_table(&v, mpk_checks_tree);
	run_table(&v, mpk_checks_embedded);
	run_table(&v, mpk_checks_origin);
	return mpk_verify_payloads(view, arena, report, err);
}
