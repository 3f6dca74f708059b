/* document.h - what the inspecting actions share: one look per file, text or JSON */
#ifndef MPK_CMD_MINSPECT_DOCUMENT_H
#define MPK_CMD_MINSPECT_DOCUMENT_H

#include "base/strbuf.h"
#include "minspect/minspect.h"
#include "text/json.h"
#include "view/view.h"

/* One file under one action. */
struct minspect_look {
	struct minspect_file *file;
	struct mpk_view *view;
	struct mpk_strbuf *out; /* text; NULL when JSON was asked for */
	struct mpk_json *json;  /* JSON; NULL when text is wanted */
	struct json_t *at;      /* this file's object in the document */
};

/* mpk_style that standard output can show */
struct mpk_style minspect_style(void);

/* minspect_write - buffer to standard output; returns an exit status */
int minspect_write(const struct mpk_strbuf *out);

/* minspect_report - an error about the file that is looked at: on standard error, and as
 * "file" and "error" of its object in the document; returns its exit status */
int minspect_report(struct minspect_look *l, const struct mpk_error *err);

/* minspect_each - open every file of the command line and let look at it
 * Prints one document, or the texts with an empty line between. A file that does not
 * open is reported, unless refuse takes the error over (may be NULL: then it does not).
 * @look, @refuse  return an exit status
 * Returns  the first exit status that is not 0 */
int minspect_each(const struct minspect_options *o,
		  int (*look)(const struct minspect_options *o, struct minspect_look *l),
		  int (*refuse)(struct minspect_look *l, const struct mpk_error *err));

#endif
