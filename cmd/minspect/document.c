/* SPDX-License-Identifier: Apache-2.0 */
/* Every inspecting action is a function of one opened file; what is around it stands here once: the
 * loop over the command line, the document or the texts, errors in both forms. */
#include "minspect/document.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "common/diag.h"
#include "io/output.h"
#include "view/filter.h"

struct mpk_style minspect_style(void)
{
	(void)setlocale(LC_CTYPE, "");
	return (struct mpk_style){
		.color = mpk_color_on(stdout),
		.unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
	};
}

/* What could not be written is told once, at the end: arg is the errno of the first failure. */
static void write_piece(const char *text, size_t len, void *arg)
{
	int *failed = arg;

	if (!*failed && (fwrite(text, 1, len, stdout) != len || fflush(stdout) != 0))
		*failed = errno;
}

/* After what was written of it already, of which failed is the errno. */
static int write_rest(const struct mpk_strbuf *out, int failed)
{
	struct mpk_error err = { 0 };

	if (mpk_strbuf_status(out, &err) != MPK_OK)
		return mpk_diag_error(&err);
	write_piece(mpk_strbuf_text(out), out->len, &failed);
	if (!failed)
		return MPK_EXIT_OK;
	(void)mpk_fail_errno(&err, MPK_E_IO, failed, "cannot write to standard output");
	return mpk_diag_error(&err);
}

int minspect_write(const struct mpk_strbuf *out)
{
	return write_rest(out, 0);
}

bool minspect_filter(const struct minspect_options *o, const struct minspect_look *l)
{
	return !o->filter || mpk_view_filter(l->view, o->filter);
}

void minspect_filter_warn(const struct minspect_options *o, const struct minspect_look *l)
{
	mpk_diag_warn("%s: nothing in it is named like '%s'", l->file->name, o->filter);
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
	mpk_strbuf_puts(l->out, l->out->len || l->out->passed ? "\n" : "");
}

static int print_rest(struct mpk_json *j, int failed)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
	struct mpk_error err = { 0 };
	enum mpk_code rc = mpk_json_print(j, &out, &err);

	mpk_json_fini(j);
	return rc == MPK_OK ? write_rest(&out, failed) : mpk_diag_error(&err);
}

int minspect_print_json(struct mpk_json *j)
{
	return print_rest(j, 0);
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

/* What goes with a look through all files. */
struct looking {
	const struct minspect_options *o;
	const struct minspect_action *action;
	struct minspect_look *l;
};

static int look(struct looking *k, const char *name, bool may_be_empty);

static int look_member(const char *name, bool may_be_empty, void *arg)
{
	return look(arg, name, may_be_empty);
}

static int look_opened(struct looking *k, struct minspect_file *file, enum mpk_code code,
		       struct mpk_error *err)
{
	struct minspect_look *l = k->l;
	struct mpk_view view;

	if (code == MPK_OK)
		code = mpk_view_init(&view, file->name, file->bytes.len, &file->image, &file->tree,
				     &file->arena, err);
	view.in_archive = file->in_zip;
	l->view = &view;
	int status = code == MPK_OK                               ? k->action->look(k->o, l)
		     : k->action->refuse && code == MPK_E_CORRUPT ? k->action->refuse(l, err)
								  : minspect_report(l, err);
	/* figures of two states of a file are figures of neither */
	if (is_verdict(status) && mpk_mappings_check(err) != MPK_OK)
		status = mpk_diag_error(err);
	l->view = NULL;
	return status;
}

/* Returns  an exit status; -1: it holds nothing, and may */
static int look(struct looking *k, const char *name, bool may_be_empty)
{
	struct minspect_look *l = k->l;
	struct mpk_error err = { 0 };
	struct minspect_file file;
	enum mpk_code code = minspect_file_open(name, &file, &err);
	bool is_archive = file.library_count > 0;
	uint64_t bytes = file.map.bytes.len;
	int status = -1;

	l->file = &file;
	if (is_archive && !k->action->archive)
		status = minspect_zip_each(&file, k->action->single, k->action->single != NULL,
					   look_member, k);
	else if (code != MPK_E_NO_BLOB || !may_be_empty) {
		if (l->json)
			l->at = mpk_json_object(l->json, l->files, NULL);
		status = is_archive ? k->action->archive(l) : look_opened(k, &file, code, &err);
	}
	l->file = NULL;
	minspect_file_close(&file);
	if (may_be_empty)
		minspect_memory_shrink(bytes);
	/* without memory nothing is found, not even that there is nothing */
	if (status != MPK_EXIT_MALFORMED && mpk_memory_check(&err) != MPK_OK) {
		mpk_error_at_file(&err, name);
		status = mpk_diag_error(&err);
	}
	return status;
}

int minspect_each(const struct minspect_options *o, const struct minspect_action *action,
		  void *user)
{
	int failed = 0;
	MPK_CLEANUP(mpk_strbuf_fini)
	struct mpk_strbuf out = { .take = write_piece, .arg = &failed };
	struct mpk_json j = { 0 };
	struct minspect_look l = { .out = o->json ? NULL : &out, .user = user };
	struct looking k = { o, action, &l };
	int status = MPK_EXIT_OK;

	if (o->json) {
		mpk_json_init(&j, 1);
		mpk_json_stream(&j, write_piece, &failed);
		l.json = &j;
		l.at = j.root;
	}
	if (action->begin)
		action->begin(&l);
	if (o->json)
		l.files = mpk_json_array(&j, j.root, "files");
	for (size_t i = 0; i < o->file_count; i++) {
		int got = look(&k, o->files[i], false);

		status = status ? status : got;
	}
	int written = o->json ? print_rest(&j, failed) : write_rest(&out, failed);
	/* a difference that nobody could be told is not what went wrong */
	return written && is_verdict(status) ? written : status;
}
