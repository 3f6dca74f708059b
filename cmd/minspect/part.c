/* SPDX-License-Identifier: Apache-2.0 */
/* --show: writes one part of a file to standard output or to a file, byte by byte as it is. A
 * terminal gets text only, in which everything that it could take for a command is made visible. */
#include "part/part.h"

#include <stdio.h>
#include <unistd.h>

#include "code/format.h"
#include "common/diag.h"
#include "minspect/document.h"
#include "text/escape.h"

/* The file that --output names; NULL: standard output */
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
		text.len--; /* the NUL that ends a C string is no part of the text */
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
		return mpk_diag_usage("--show gives the bytes as they are; --json describes them "
				      "with --extract");
	if (o->file_count != 1)
		return mpk_diag_usage("--show takes one file");
	if (o->outputs.count > 1)
		return mpk_diag_usage("--show has one output, not %zu", o->outputs.count);
	return minspect_each(o, &action, NULL);
}
