/* SPDX-License-Identifier: Apache-2.0 */
/* embedded.c - GPU code that a library has beside the tree of its modules, as sections of its own: read once,
 * and said as the code of a module is */
#include "model/embedded.h"

#include <inttypes.h>

#include "code/show.h"
#include "model/filter.h"
#include "text/escape.h"
#include "text/phrase.h"
#include "text/table.h"

enum mpk_code mpk_view_read_embedded(const struct mpk_image *image, struct mpk_arena *arena,
				     const struct mpk_view_code **out, struct mpk_error *err)
{
	struct mpk_view_code *list = mpk_arena_array(arena, image->embedded_count, sizeof *list);

	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < image->embedded_count; i++) {
		const struct mpk_image_code *at = &image->embedded[i];

		list[i].at = at;
		list[i].path = mpk_arena_printf(arena, MPK_EMBEDDED_PATH "%s", at->name);
		MPK_TRY_ALLOC(list[i].path, err);
		/* no kind of module claims a format here: the bytes say which it is */
		MPK_TRY(mpk_code_info_read(at->bytes, at->off, NULL, arena, &list[i].code, err));
	}
	*out = list;
	return MPK_OK;
}

const struct mpk_code_info *mpk_view_embedded_lister(const struct mpk_view_code *c)
{
	return c->code.problem ? NULL : mpk_code_info_lister(&c->code);
}

/* --- text ------------------------------------------------------------------------------------ */

/* The path is the name that options take. The offset counts in the file,
 * so that a hex dump shows the code there. */
static void embedded_put_title(const struct mpk_view_code *c, struct mpk_strbuf *out)
{
	mpk_escape(out, mpk_span_str(c->path));
	mpk_strbuf_puts(out, "  ");
	mpk_code_info_text(&c->code, out);
	mpk_strbuf_printf(out, ", %s at file+0x%" PRIx64, MPK_SIZE(c->at->bytes.len), c->at->off);
	if (c->at->member) {
		mpk_strbuf_puts(out, " in ");
		mpk_escape(out, mpk_span_str(c->at->member));
	}
	mpk_strbuf_putc(out, '\n');
}

void mpk_view_embedded_summary(const struct mpk_view *view, struct mpk_strbuf *out)
{
	size_t shown = 0;

	for (size_t i = 0; i < view->image->embedded_count; i++) {
		if (!mpk_view_shows_code(view, &view->embedded[i]))
			continue;
		/* the label is that of the list: whichever code a filter leaves first has it */
		mpk_strbuf_puts(out, shown++ ? "             " : "  embedded   ");
		embedded_put_title(&view->embedded[i], out);
	}
}

struct lines {
	const char *indent;
	struct mpk_strbuf *out;
};

/* A format that knows no figures of its kernels gets no line. */
static void embedded_put_figures(const struct mpk_code_info *code, size_t kernel, void *arg)
{
	const struct lines *l = arg;

	if (!code->format || !code->format->kernel_text)
		return;
	mpk_strbuf_puts(l->out, l->indent);
	code->format->kernel_text(code, kernel, l->out);
	mpk_strbuf_putc(l->out, '\n');
}

void mpk_view_code_figures(const struct mpk_view_code *c, struct mpk_span kernel,
			   const char *indent, struct mpk_strbuf *out)
{
	struct lines lines = { indent, out };

	mpk_code_info_each(&c->code, kernel, embedded_put_figures, &lines);
}

/* Names come from one lister, so that a fatbin of several images has each kernel once. Figures come
 * from every image, as they differ by architecture. */
static void embedded_put_kernels(const struct mpk_view *view, const struct mpk_view_code *c,
				 struct mpk_strbuf *out)
{
	const struct mpk_code_info *lister = mpk_view_embedded_lister(c);

	for (size_t i = 0; lister && i < lister->kernel_count; i++) {
		struct mpk_span name = lister->kernels[i].name;

		if (!mpk_view_shows_kernel(view, c, name))
			continue;
		mpk_strbuf_puts(out, "  ");
		mpk_escape(out, name);
		mpk_strbuf_putc(out, '\n');
		mpk_view_code_figures(c, name, "    ", out);
	}
}

void mpk_view_code_text(const struct mpk_view *view, const struct mpk_view_code *c,
			struct mpk_strbuf *out)
{
	embedded_put_title(c, out);
	/* of code that does not read, the title has the problem already */
	if (c->code.format && c->code.format->lines && !c->code.problem)
		c->code.format->lines(&c->code, "  ", out);
	embedded_put_kernels(view, c, out);
}

void mpk_view_embedded_functions(const struct mpk_view *view, struct mpk_strbuf *out)
{
	for (size_t i = 0; i < view->image->embedded_count; i++)
		if (mpk_view_shows_code(view, &view->embedded[i]))
			mpk_view_code_text(view, &view->embedded[i], out);
}

/* --- JSON ------------------------------------------------------------------------------------ */

struct figures {
	struct mpk_json *j;
	struct mpk_json_at *list;
};

/* "format" tells the figures of several images apart. */
static void add_figures(const struct mpk_code_info *code, size_t kernel, void *arg)
{
	const struct figures *f = arg;
	struct mpk_json_at *o;

	if (!code->format || !code->format->kernel_json)
		return;
	o = mpk_json_object(f->j, f->list, NULL);
	mpk_json_text(f->j, o, "format", code->format->word);
	code->format->kernel_json(code, kernel, f->j, o);
}

void mpk_view_code_json(const struct mpk_view *view, const struct mpk_view_code *c,
			struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_code_info *lister = mpk_view_embedded_lister(c);
	struct mpk_json_at *list, *o;

	o = mpk_json_object(j, at, "code");
	mpk_json_null(j, o, "kernel"); /* for all of them, as pieces of modules say */
	mpk_code_info_json(&c->code, j, o);
	list = mpk_json_array(j, at, "kernels");
	for (size_t i = 0; lister && i < lister->kernel_count; i++) {
		struct mpk_span name = lister->kernels[i].name;
		struct figures figures = { .j = j };

		if (!mpk_view_shows_kernel(view, c, name))
			continue;
		o = mpk_json_object(j, list, NULL);
		mpk_json_span(j, o, "name", name);
		figures.list = mpk_json_array(j, o, "figures");
		mpk_code_info_each(&c->code, name, add_figures, &figures);
	}
}

void mpk_view_embedded_json(const struct mpk_view *view, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *list = mpk_json_array(j, at, "embedded"), *o;

	for (size_t i = 0; i < view->image->embedded_count; i++) {
		const struct mpk_view_code *c = &view->embedded[i];

		if (!mpk_view_shows_code(view, c))
			continue;
		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "name", c->at->name);
		mpk_json_text(j, o, "path", c->path);
		mpk_json_text(j, o, "symbol", c->at->symbol);
		mpk_json_text(j, o, "member", c->at->member);
		/* bytes up to the symbol that ends it: a replacement may be as long */
		mpk_json_u64(j, o, "room", c->at->room_bytes);
		mpk_view_code_json(view, c, j, o);
	}
}
