/* SPDX-License-Identifier: Apache-2.0 */
/* Every inspecting action is a function of one opened file; what is around it stands here once: the
 * loop over the command line, the document or the texts, errors in both forms. */
#include "minspect/document.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "common/diag.h"
#include "io/output.h"

struct mpk_style minspect_style(void)
{
	(void)setlocale(LC_CTYPE, "");
	return (struct mpk_style){
		.color = mpk_color_on(stdout),
		.unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
	};
}

int minspect_write(const struct mpk_strbuf *out)
{
	struct mpk_error err = { 0 };

	if (mpk_strbuf_status(out, &err) != MPK_OK)
		return mpk_diag_error(&err);
	if (fwrite(mpk_strbuf_text(out), 1, out->len, stdout) != out->len || fflush(stdout) != 0) {
		(void)mpk_fail_errno(&err, MPK_E_IO, errno, "cannot write to standard output");
		return mpk_diag_error(&err);
	}
	return MPK_EXIT_OK;
}

int minspect_report(struct minspect_look *l, const struct mpk_error *err)
{
	if (l->json) {
		mpk_json_text(l->json, l->at, "file", l->file->name);
		mpk_json_error(l->json, l->at, "error", err);
	}
	return mpk_diag_error(err);
}

void minspect_separate(struct minspect_look *l)
{
	mpk_strbuf_puts(l->out, l->out->len ? "\n" : "");
}

int minspect_print_json(struct mpk_json *j)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
	struct mpk_error err = { 0 };
	enum mpk_code rc = mpk_json_print(j, &out, &err);

	mpk_json_fini(j);
	return rc == MPK_OK ? minspect_write(&out) : mpk_diag_error(&err);
}

static enum mpk_code save(const char *path, const struct mpk_rope *content, struct mpk_error *err)
{
	struct mpk_output *output;

	MPK_TRY(mpk_rope_status(content, err));
	MPK_TRY(mpk_output_open(path, 0666, &output, err));
	return mpk_output_finish(output, mpk_output_write_rope(output, content, err), err);
}

int minspect_save(const char *path, const struct mpk_rope *content)
{
	struct mpk_error err = { 0 };

	if (save(path, content, &err) == MPK_OK)
		return MPK_EXIT_OK;
	mpk_error_at_file(&err, path);
	return mpk_diag_error(&err);
}

/* Whether the file could be looked at, and this is what it is like. */
static bool is_verdict(int status)
{
	return status == MPK_EXIT_OK || status == MPK_EXIT_DIFFERENT;
}

static int one(const struct minspect_options *o, const char *name, struct minspect_look *l,
	       const struct minspect_action *action)
{
	struct mpk_error err = { 0 };
	struct minspect_file file;
	struct mpk_view view;
	enum mpk_code code = minspect_file_open(name, &file, &err);

	l->file = &file;
	if (code == MPK_OK)
		code = mpk_view_init(&view, name, file.map.bytes.len, &file.image, &file.tree,
				     &file.arena, &err);
	l->view = &view;
	int status = code == MPK_OK                            ? action->look(o, l)
		     : action->refuse && code == MPK_E_CORRUPT ? action->refuse(l, &err)
							       : minspect_report(l, &err);
	/* figures of two states of a file are figures of neither */
	if (is_verdict(status) && mpk_mappings_check(&err) != MPK_OK)
		status = mpk_diag_error(&err);
	l->file = NULL;
	l->view = NULL;
	minspect_file_close(&file);
	return status;
}

int minspect_each(const struct minspect_options *o, const struct minspect_action *action,
		  void *user)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
	struct mpk_json j = { 0 };
	struct minspect_look l = { .out = o->json ? NULL : &out, .user = user };
	struct json_t *list = NULL;
	int status = MPK_EXIT_OK;

	if (o->json) {
		mpk_json_init(&j, 1);
		l.json = &j;
		l.at = j.root;
	}
	if (action->begin)
		action->begin(&l);
	if (o->json)
		list = mpk_json_array(&j, j.root, "files");
	for (size_t i = 0; i < o->file_count; i++) {
		if (o->json)
			l.at = mpk_json_object(&j, list, NULL);
		int got = one(o, o->files[i], &l, action);

		status = status ? status : got;
	}
	int written = o->json ? minspect_print_json(&j) : minspect_write(&out);
	/* a difference that nobody could be told is not what went wrong */
	return written && is_verdict(status) ? written : status;
}
