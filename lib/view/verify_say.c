/* What checks are written with. It stands apart from the run of all checks, which knows their
 * tables, so that neither needs the other. */
#include <stdarg.h>
#include <stdio.h>

#include "view/verify.h"

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

void mpk_verify_kernels(struct mpk_verify *v,
			void (*fn)(struct mpk_verify *v, const struct mpk_view_node *n,
				   const struct mpk_kernels *k))
{
	for (size_t i = 0; i < v->view->count; i++) {
		const struct mpk_kernels *k = mpk_view_kernels(&v->view->nodes[i]);

		if (k)
			fn(v, &v->view->nodes[i], k);
	}
}
