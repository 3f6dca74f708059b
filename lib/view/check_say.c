/* SPDX-License-Identifier: Apache-2.0 */
/* Apart from the run of all checks, which knows their tables, so that neither needs the other. */
#include <stdarg.h>
#include <stdio.h>

#include "view/check_run.h"

const char mpk_check_unsaid[] = "not said";

void mpk_check_say(struct mpk_check_state *s, enum mpk_severity severity, const char *path,
		   const char *fmt, ...)
{
	struct mpk_error e = { 0 };
	char text[sizeof e.text];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	(void)mpk_fail(&e, MPK_E_LOAD, "%s", text);
	mpk_error_at_file(&e, s->view->name);
	if (path)
		mpk_error_at_path(&e, path);
	mpk_report_add(s->report, severity, s->name, &e);
}

const char *mpk_check_where(const struct mpk_there *there)
{
	if (there->has_release)
		return there->release.name;
	if (!there->runtimes)
		return NULL;
	return there->installed ? "the TVM of this environment" : "the named libraries";
}
