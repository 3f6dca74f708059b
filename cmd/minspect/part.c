/* SPDX-License-Identifier: Apache-2.0 */
/* --show: writes one part of a file to standard output or to a file, unchanged. A terminal gets
 * only text, in which control sequences are made visible.
 * --header OUT.h: writes the declarations of the file's functions for C, and in OUT.pyi for
 * Python. */
#include "part/part.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "code/format.h"
#include "common/diag.h"
#include "io/output.h"
#include "list/list.h"
#include "minspect/document.h"
#include "text/escape.h"

/* --- --show --- */

/* Returns the file that --output names; NULL means standard output. */
static const char *output_of(const struct minspect_options *o)
{
	return o->outputs.count ? mpk_option_value(o->outputs.items[0].option, 0) : NULL;
}

static enum mpk_code to_terminal(struct minspect_look *l, const struct mpk_rope *content,
				 struct mpk_error *err)
{
	struct mpk_span text;

	MPK_TRY(mpk_rope_flat(content, &text, err));
	if (!mpk_code_is_text(text))
		return mpk_fail(
			err, MPK_E_USAGE,
			"these are %zu bytes that are no text, and standard output is a terminal; give -o FILE",
			text.len);
	while (text.len && text.data[text.len - 1] == '\0')
		text.len--; /* the NUL that ends a C string is not part of the text */
	mpk_escape_lines(l->out, text);
	if (l->out->len && l->out->data[l->out->len - 1] != '\n')
		mpk_strbuf_putc(l->out, '\n');
	return MPK_OK;
}

static int show(const struct minspect_options *o, struct minspect_look *l)
{
	const char *path = output_of(o);
	struct mpk_error err = { 0 };
	struct mpk_rope content;

	const char *part;
	enum mpk_code code = mpk_part_symbol(l->view, o->show, &l->file->arena, &part, &err);

	if (code == MPK_OK)
		code = mpk_part_find(l->view, part, o->raw, &l->file->arena, &content, &err);
	if (code == MPK_OK && !path && isatty(STDOUT_FILENO)) {
		code = to_terminal(l, &content, &err);
	} else if (code == MPK_OK) {
		mpk_mapping_use_file(&l->file->map, &content);
		return minspect_save(path ? path : "-", &content);
	}
	if (code == MPK_OK)
		return MPK_EXIT_OK;
	mpk_error_at_file(&err, l->file->name);
	return mpk_diag_error(&err);
}

int minspect_part(const struct minspect_options *o)
{
	static const struct minspect_action action = { .look = show,
						       .is_verbatim = true,
						       .single = "show" };

	if (o->json)
		return mpk_diag_usage("show gives the bytes as they are; --json describes them "
				      "with extract");
	if (o->file_count != 1)
		return mpk_diag_usage("show takes one file");
	if (o->outputs.count > 1)
		return mpk_diag_usage("show has one output, not %zu", o->outputs.count);
	return minspect_each(o, &action, NULL);
}

/* --- --header --- */

static int header_save(const char *path, const struct mpk_strbuf *text, struct mpk_arena *arena)
{
	struct mpk_rope content = { .arena = arena };
	struct mpk_error err = { 0 };

	if (mpk_strbuf_status(text, &err) != MPK_OK)
		return mpk_diag_error(&err);
	mpk_rope_put_view(&content, mpk_span_of(text->data, text->len));
	return minspect_save_and_say(path, &content);
}

static int declare(const struct minspect_options *o, struct minspect_look *l)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf c = { 0 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf python = { 0 };

	/* Returns "lib.pyi" for "lib.h"; NULL if memory is out. */
	size_t len = strlen(o->header);

	if (len > 2 && strcmp(o->header + len - 2, ".h") == 0)
		len -= 2;
	const char *stub = mpk_arena_printf(&l->file->arena, "%.*s.pyi", (int)len, o->header);
	bool to_stdout = strcmp(o->header, "-") == 0;
	struct mpk_error err = { 0 };
	int status;

	if (!stub) {
		(void)mpk_fail_nomem(&err);
		return mpk_diag_error(&err);
	}
	/* check both before one of them is written */
	if (mpk_output_check_path(o->header, &err) != MPK_OK ||
	    (!to_stdout && mpk_output_check_path(stub, &err) != MPK_OK))
		return mpk_diag_error(&err);
	mpk_answer_c_header.text(l->view, minspect_style(), &c);
	mpk_answer_python_stub.text(l->view, minspect_style(), &python);
	if (l->json) {
		mpk_json_text(l->json, l->at, "file", l->file->name);
		mpk_json_text(l->json, l->at, "header", mpk_strbuf_text(&c));
		mpk_json_text(l->json, l->at, "stub", mpk_strbuf_text(&python));
	}
	/* Standard output takes one document: only the header, or with --json both texts. */
	if (to_stdout)
		return l->json ? MPK_EXIT_OK : minspect_write(&c);
	status = header_save(o->header, &c, &l->file->arena);
	return status == MPK_EXIT_OK ? header_save(stub, &python, &l->file->arena) : status;
}

int minspect_header(const struct minspect_options *o)
{
	static const struct minspect_action action = { .look = declare,
						       .is_verbatim = true,
						       .single = "header" };

	if (o->file_count != 1)
		return mpk_diag_usage("header takes one file, not %zu", o->file_count);
	return minspect_each(o, &action, NULL);
}
