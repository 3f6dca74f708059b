#include "view/verify.h"

#include <stdarg.h>
#include <stdio.h>

#include "view/inside.h"

void mpk_verify_say(struct mpk_verify *v, enum mpk_severity severity, const char *space,
		    uint64_t offset, const char *path, const char *fmt, ...)
{
	struct mpk_error e = { 0 };
	char text[sizeof e.text];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (space)
		(void)mpk_fail_offset(&e, MPK_E_CORRUPT, space, offset, "%s", text);
	else
		(void)mpk_fail(&e, MPK_E_CORRUPT, "%s", text);
	mpk_error_at_file(&e, v->view->name);
	mpk_error_at_path(&e, path);
	mpk_report_add(v->report, severity, v->check, &e);
}

static void run_table(struct mpk_verify *v, const struct mpk_check *checks)
{
	for (; checks->name; checks++) {
		v->check = checks->name;
		checks->run(v);
	}
}

static enum mpk_code read_inside(struct mpk_verify *v, struct mpk_error *err)
{
	struct mpk_inside *list = mpk_arena_array(v->arena, v->view->count, sizeof *list);

	if (!list)
		return mpk_fail_nomem(err);
	for (size_t i = 0; i < v->view->count; i++)
		MPK_TRY(mpk_inside_read(&v->view->nodes[i], v->arena, &list[i], err));
	v->inside = list;
	return MPK_OK;
}

enum mpk_code mpk_verify_run(const struct mpk_view *view, const struct mpk_verify_file *file,
			     struct mpk_arena *arena, struct mpk_report *report,
			     struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct mpk_verify v = { .view = view, .file = file, .arena = arena, .report = report };
	const struct mpk_image *image = view->image;

	MPK_TRY(read_inside(&v, err));
	if (image->elf_class) {
		MPK_TRY(mpk_elf_open(image->bytes, image->bytes_off, &elf, err));
		v.elf = &elf;
		run_table(&v, mpk_checks_elf);
	}
	run_table(&v, mpk_checks_tree);
	run_table(&v, mpk_checks_payload);
	run_table(&v, mpk_checks_code);
	return report->failed ? mpk_fail_nomem(err) : MPK_OK;
}
