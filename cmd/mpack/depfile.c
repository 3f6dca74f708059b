/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/strbuf.h"
#include "io/output.h"
#include "mpack/build.h"
#include "text/escape.h"

/* Blanks, '#' and '$' have a way to be written that all readers share. */
static void put_name(struct mpk_strbuf *text, const char *name)
{
	for (; *name; name++) {
		if (*name == ' ' || *name == '\t' || *name == '#')
			mpk_strbuf_putc(text, '\\');
		if (*name == '$')
			mpk_strbuf_putc(text, '$');
		mpk_strbuf_putc(text, *name);
	}
}

/* What would be a recipe, a variable, a pattern or another rule. */
static enum mpk_code check_name(const char *name, struct mpk_error *err)
{
	for (const char *at = name; *at; at++)
		if ((unsigned char)*at < ' ' || strchr(":;=%|", *at))
			return mpk_fail(err, MPK_E_UNSUPPORTED,
					"make cannot read the name '%s', for its '%s'",
					MPK_QUOTE(mpk_span_str(name)),
					MPK_QUOTE(mpk_span_of(at, 1)));
	return MPK_OK;
}

static void put_rules(struct mpk_strbuf *text, const char *out, const char *const *files,
		      size_t count)
{
	put_name(text, out);
	mpk_strbuf_putc(text, ':');
	for (size_t i = 0; i < count; i++) {
		mpk_strbuf_puts(text, i ? " \\\n  " : " ");
		put_name(text, files[i]);
	}
	mpk_strbuf_putc(text, '\n');
	/* So that a file that goes away is no error but a rebuild. */
	for (size_t i = 1; i < count; i++) {
		put_name(text, files[i]);
		mpk_strbuf_puts(text, ":\n");
	}
}

enum mpk_code mpk_depfile_write(const char *path, const char *out, const char *const *files,
				size_t count, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };

	MPK_TRY(check_name(out, err));
	for (size_t i = 0; i < count; i++)
		MPK_TRY(check_name(files[i], err));
	put_rules(&text, out, files, count);
	MPK_TRY(mpk_strbuf_status(&text, err));
	return mpk_output_store(path, mpk_span_of(text.data, text.len), err);
}
