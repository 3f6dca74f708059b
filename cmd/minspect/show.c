/* The actions that print what a file holds: the summary, --functions */
#include "minspect/minspect.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "common/diag.h"
#include "text/json.h"
#include "view/view.h"

/* One way to look at a file; text and JSON of it. */
struct look {
	void (*text)(const struct mpk_view *view, struct mpk_style style,
		     struct mpk_strbuf *out);
	void (*json)(const struct mpk_view *view, struct mpk_json *j, struct json_t *at);
};

static struct mpk_style terminal_style(void)
{
	(void)setlocale(LC_CTYPE, "");
	return (struct mpk_style){
		.color = mpk_color_on(stdout),
		.unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
	};
}

static int write_out(const struct mpk_strbuf *out)
{
	struct mpk_error err = { 0 };

	if (mpk_strbuf_status(out, &err) != MPK_OK)
		return mpk_diag_error(&err);
	if (fwrite(mpk_strbuf_text(out), 1, out->len, stdout) != out->len ||
	    fflush(stdout) != 0) {
		(void)mpk_fail_errno(&err, MPK_E_IO, errno, "cannot write to standard output");
		return mpk_diag_error(&err);
	}
	return MPK_EXIT_OK;
}

/* Opens a file and appends what look makes of it. */
static int look_at(const char *name, const struct look *look, struct mpk_strbuf *out,
		   struct mpk_json *j, struct json_t *list)
{
	struct json_t *at = j ? mpk_json_object(j, list, NULL) : NULL;
	struct minspect_file f;
	struct mpk_error err = { 0 };
	struct mpk_view view;
	enum mpk_code code = minspect_file_open(name, &f, &err);
	int status = MPK_EXIT_OK;

	if (code == MPK_OK)
		code = mpk_view_init(&view, name, f.map.bytes.len, &f.image, &f.tree, &f.arena,
				     &err);
	if (code != MPK_OK) {
		status = mpk_diag_error(&err);
		if (j) {
			mpk_json_text(j, at, "file", name);
			mpk_json_error(j, at, "error", &err);
		}
	} else if (j) {
		look->json(&view, j, at);
	} else {
		mpk_strbuf_puts(out, out->len ? "\n" : "");
		look->text(&view, terminal_style(), out);
	}
	minspect_file_close(&f);
	return status;
}

/* The first status that is not 0 wins; every file is looked at. */
static int look_at_all(const struct minspect_options *o, const struct look *look)
{
	struct mpk_strbuf out = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_json j = { 0 };
	struct json_t *list = NULL;
	int status = MPK_EXIT_OK;

	if (o->json) {
		mpk_json_init(&j, 1);
		list = mpk_json_array(&j, j.root, "files");
	}
	for (size_t i = 0; i < o->file_count; i++) {
		int one = look_at(o->files[i], look, &out, o->json ? &j : NULL, list);

		status = status ? status : one;
	}
	if (o->json && mpk_json_print(&j, &out, &err) != MPK_OK)
		out.failed = true;
	int written = write_out(&out);

	mpk_json_fini(&j);
	mpk_strbuf_fini(&out);
	return status ? status : written;
}

int minspect_show(const struct minspect_options *o)
{
	static const struct look summary = { mpk_view_summary, mpk_view_summary_json };

	return look_at_all(o, &summary);
}

int minspect_functions(const struct minspect_options *o)
{
	static const struct look functions = { mpk_view_functions, mpk_view_functions_json };

	return look_at_all(o, &functions);
}
