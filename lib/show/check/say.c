/* SPDX-License-Identifier: Apache-2.0 */
/* Apart from the run of all checks, which knows their tables, so that neither needs the other. */
#include <stdarg.h>
#include <stdio.h>

#include "check/internal/run.h"
#include "text/escape.h"

const char mpk_check_unsaid[] = "not said";

void mpk_check_say_text(struct mpk_check_state *s, enum mpk_severity severity, const char *path,
			const char *text)
{
	struct mpk_strbuf safe = { 0 };
	struct mpk_error e = { 0 };

	/* names of the file were quoted; whatever was not stays text all the same */
	mpk_escape_controls(&safe, mpk_span_str(text));
	s->report->failed |= safe.failed;
	(void)mpk_fail(&e, MPK_E_LOAD, "%s", mpk_strbuf_text(&safe));
	mpk_strbuf_fini(&safe);
	mpk_error_at_file(&e, s->view->name);
	if (path)
		mpk_error_at_path(&e, path);
	mpk_report_add(s->report, severity, s->name, &e);
}

void mpk_check_say(struct mpk_check_state *s, enum mpk_severity severity, const char *path,
		   const char *fmt, ...)
{
	char text[MPK_CHECK_TEXT];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	mpk_check_say_text(s, severity, path, text);
}

const char *mpk_check_where(const struct mpk_there *there)
{
	if (there->has_release)
		return there->release.name;
	if (!there->runtimes)
		return NULL;
	return there->installed ? "the TVM of this environment" : "the named libraries";
}
