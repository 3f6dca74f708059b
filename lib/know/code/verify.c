/* SPDX-License-Identifier: Apache-2.0 */
#include "code/verify.h"

#include <stdarg.h>
#include <stdio.h>

void mpk_code_say(const struct mpk_code_verify *v, enum mpk_severity severity, uint64_t off,
		  const char *fmt, ...)
{
	struct mpk_error e = { 0 };
	char text[sizeof e.text];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	(void)mpk_fail_offset(&e, MPK_E_CORRUPT, v->space ? v->space : "blob", off, "%s", text);
	mpk_error_at_file(&e, v->file);
	mpk_error_at_path(&e, v->path);
	mpk_report_add(v->report, severity, v->check, &e);
}

void mpk_code_say_problem(const struct mpk_code_verify *v, const struct mpk_code_info *info,
			  const char *what)
{
	const struct mpk_error *e = info->problem;
	char line[32] = "";

	if (e->at.line)
		(void)snprintf(line, sizeof line, "line %u: ", (unsigned)e->at.line);
	mpk_code_say(v, MPK_ERROR, info->off + (e->at.has_offset ? e->at.offset : 0), "%s%s%s",
		     what, line, e->text);
}
