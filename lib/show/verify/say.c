/* SPDX-License-Identifier: Apache-2.0 */
/* It stands apart from the run of all checks, which knows their tables, so that neither needs the
 * other. */
#include <stdarg.h>
#include <stdio.h>

#include "verify/verify.h"

static void say(struct mpk_verify *v, enum mpk_severity severity, struct mpk_verify_position at,
		const char *fmt, va_list ap) MPK_PRINTF(4, 0);

static void say(struct mpk_verify *v, enum mpk_severity severity, struct mpk_verify_position at,
		const char *fmt, va_list ap)
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
	say(v, severity, v->position, fmt, ap);
	va_end(ap);
}

void mpk_verify_say_error(struct mpk_verify *v, const struct mpk_error *err)
{
	struct mpk_verify_position at = { .offset = err->at.offset };

	if (err->code == MPK_E_NOMEM)
		v->report->failed = true;
	at.space = err->at.has_offset ? err->at.space : NULL;
	mpk_verify_say_at(v, MPK_ERROR, at, "%s", err->text);
}

void mpk_verify_say_at(struct mpk_verify *v, enum mpk_severity severity,
		       struct mpk_verify_position at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(v, severity, at, fmt, ap);
	va_end(ap);
}
