/* SPDX-License-Identifier: Apache-2.0 */
/* The run of all checks. It knows the tables; checks know only what they are handed. */
#include "view/verify.h"

#include <string.h>

#include "view/node_info.h"

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

enum mpk_code mpk_verify_payloads(const struct mpk_view *view, struct mpk_arena *arena,
				  struct mpk_report *report, struct mpk_error *err)
{
	struct mpk_verify v = { .view = view, .arena = arena, .report = report };

	MPK_TRY(read_code(view, err));
	run_table(&v, mpk_checks_payload);
	run_table(&v, mpk_checks_code);
	return report->failed ? mpk_fail_nomem(err) : MPK_OK;
}

static void run_kernel_checks(struct mpk_verify *v, const struct mpk_check *checks)
{
	for (; checks->name; checks++) {
		v->check = checks->name;
		for (size_t i = 0; checks->of_kernels && i < v->view->count; i++)
			run_node(v, checks, &v->view->nodes[i]);
	}
}

/* What was found of each kernel, beside its node. */
static enum mpk_code keep_findings(const struct mpk_view *view, const struct mpk_report *report,
				   struct mpk_error *err)
{
	for (size_t n = 0; n < view->count; n++) {
		struct mpk_view_node *node = &view->nodes[n];
		struct mpk_view_finding *list =
			mpk_arena_array(view->arena, report->count + 1, sizeof *list);
		size_t count = 0;

		MPK_TRY_ALLOC(list, err);
		for (size_t i = 0; i < report->count; i++) {
			const struct mpk_finding *f = &report->findings[i];

			if (!f->about || strcmp(f->error.at.path, node->path) != 0)
				continue;
			list[count] = (struct mpk_view_finding){
				.severity = f->severity,
				.check = f->check,
				.kernel = mpk_arena_text(view->arena, mpk_span_str(f->about)),
				.text = mpk_arena_text(view->arena, mpk_span_str(f->error.text)),
			};
			MPK_TRY_ALLOC(list[count].kernel && list[count].text, err);
			count++;
		}
		node->findings = list;
		node->finding_count = count;
	}
	return MPK_OK;
}

enum mpk_code mpk_verify_kernels(const struct mpk_view *view, struct mpk_error *err)
{
	/* each kernel is to have its own, however many there are */
	MPK_CLEANUP(mpk_report_fini) struct mpk_report report = { .max = SIZE_MAX };
	struct mpk_verify v = { .view = view, .arena = view->arena, .report = &report };

	MPK_TRY(read_code(view, err));
	run_kernel_checks(&v, mpk_checks_payload);
	run_kernel_checks(&v, mpk_checks_code);
	if (report.failed)
		return mpk_fail_nomem(err);
	return report.count ? keep_findings(view, &report, err) : MPK_OK;
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
	}
	run_table(&v, mpk_checks_tree);
	run_table(&v, mpk_checks_embedded);
	run_table(&v, mpk_checks_origin);
	return mpk_verify_payloads(view, arena, report, err);
}
