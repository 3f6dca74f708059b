/* SPDX-License-Identifier: Apache-2.0 */
/* --header OUT.h: declares the functions of a file for C, and next to it in OUT.pyi for Python. */
#include "header/header.h"

#include <string.h>

#include "common/diag.h"
#include "io/output.h"
#include "minspect/document.h"
#include "text/escape.h"

/* "lib.h" -> "lib.pyi"; NULL when memory is out. */
static const char *stub_name(const char *header, struct mpk_arena *arena)
{
	size_t len = strlen(header);

	if (len > 2 && strcmp(header + len - 2, ".h") == 0)
		len -= 2;
	return mpk_arena_printf(arena, "%.*s.pyi", (int)len, header);
}

static int header_save(const char *path, const struct mpk_strbuf *text, struct mpk_arena *arena)
{
	struct mpk_rope content = { .arena = arena };
	struct mpk_error err = { 0 };

	if (mpk_strbuf_status(text, &err) != MPK_OK)
		return mpk_diag_error(&err);
	mpk_rope_put_view(&content, mpk_span_of(text->data, text->len));
	return minspect_save(path, &content);
}

static int declare(const struct minspect_options *o, struct minspect_look *l)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf c = { 0 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf python = { 0 };
	const char *stub = stub_name(o->header, &l->file->arena);
	bool to_stdout = strcmp(o->header, "-") == 0;
	struct mpk_error err = { 0 };
	int status;

	if (!stub) {
		(void)mpk_fail_nomem(&err);
		return mpk_diag_error(&err);
	}
	/* both, before one of them is written */
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
	/* Standard output takes one document: the header alone, or with --json both texts. */
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
		return mpk_diag_usage("--header takes one file, not %zu", o->file_count);
	return minspect_each(o, &action, NULL);
}
