#include <string.h>

#include "base/strbuf.h"
#include "io/output.h"
#include "mpack/build.h"

/* make has no way to write a newline or a ':' in a name that all its readers share; blanks,
 * '#' and '$' have one. */
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
	struct mpk_strbuf text = { 0 };
	struct mpk_output *o = NULL;

	put_rules(&text, out, files, count);
	enum mpk_code code = mpk_strbuf_status(&text, err);
	if (code == MPK_OK)
		code = mpk_output_open(path, 0666, &o, err);
	if (code == MPK_OK)
		code = mpk_output_write(o, mpk_span_of(text.data, text.len), err);
	mpk_strbuf_fini(&text);
	if (code == MPK_OK)
		return mpk_output_commit(o, err);
	mpk_output_abandon(o);
	return code;
}
