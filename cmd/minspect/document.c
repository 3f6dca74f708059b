#include "minspect/document.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "common/diag.h"

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

static int one(const struct minspect_options *o, const char *name, struct minspect_look *l,
	       int (*look)(const struct minspect_options *o, struct minspect_look *l),
	       int (*refuse)(struct minspect_look *l, const struct mpk_error *err))
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
	int status = code == MPK_OK                    ? look(o, l)
		     : refuse && code == MPK_E_CORRUPT ? refuse(l, &err)
						       : minspect_report(l, &err);

	l->file = NULL;
	l->view = NULL;
	minspect_file_close(&file);
	return status;
}

int minspect_each(const struct minspect_options *o,
		  int (*look)(const struct minspect_options *o, struct minspect_look *l),
		  int (*refuse)(struct minspect_look *l, const struct mpk_error *err))
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
	struct json_t *list = NULL;
	struct mpk_json j = { 0 };
	int status = MPK_EXIT_OK;

	if (o->json) {
		mpk_json_init(&j, 1);
		list = mpk_json_array(&j, j.root, "files");
	}
	for (size_t i = 0; i < o->file_count; i++) {
		struct minspect_look l = { .out = o->json ? NULL : &out };

		if (o->json) {
			l.json = &j;
			l.at = mpk_json_object(&j, list, NULL);
		}
		int got = one(o, o->files[i], &l, look, refuse);

		status = status ? status : got;
	}
	if (o->json && mpk_json_print(&j, &out, NULL) != MPK_OK)
		out.failed = true;
	mpk_json_fini(&j);

	int written = minspect_write(&out);
	return status ? status : written;
}
