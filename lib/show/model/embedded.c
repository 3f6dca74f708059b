/* SPDX-License-Identifier: Apache-2.0 */
/* embedded.c - describes GPU code outside the module tree in the same way as code of a module
 *
 * Sections of TVM are read once; those of any library, which may be gigabytes, when they are
 * shown. */
#include "model/device_code.h"

#include <inttypes.h>
#include <string.h>

#include "code/show.h"
#include "model/node_info.h"
#include "text/escape.h"
#include "text/facts.h"
#include "text/phrase.h"
#include "text/table.h"

const struct mpk_code_info *mpk_view_embedded_lister(const struct mpk_view_code *c)
{
	return c->code.problem ? NULL : mpk_code_info_lister(&c->code);
}

/* Whether the code or one of its kernels is chosen. */
static bool shows_code(const struct mpk_view *view, const struct mpk_view_code *c)
{
	const struct mpk_code_info *lister = mpk_view_embedded_lister(c);

	if (mpk_view_shows(view, mpk_span_str(c->path)))
		return true;
	for (size_t i = 0; lister && i < lister->kernel_count; i++)
		if (mpk_view_shows(view, lister->kernels[i].name))
			return true;
	return false;
}

/* --- text ------------------------------------------------------------------------------------ */

/* The path is the name that options take. The offset is a file offset,
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

static void embedded_summary(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_view *view = what;
	size_t shown = 0;

	(void)style;
	for (size_t i = 0; i < view->image->embedded_count; i++) {
		if (!shows_code(view, &view->embedded[i]))
			continue;
		/* the first line shown has the label of the list, whatever a filter hides */
		mpk_strbuf_puts(out, shown++ ? "             " : "  embedded   ");
		embedded_put_title(&view->embedded[i], out);
	}
}

static bool shows_kernel(const struct mpk_view *view, const struct mpk_view_code *c,
			 struct mpk_span name)
{
	return mpk_view_shows(view, mpk_span_str(c->path)) || mpk_view_shows(view, name);
}

/* Names come from one image, so that a fatbin of several images lists each kernel once. Figures
 * come from every image, as they differ by architecture. */
static void embedded_put_kernels(const struct mpk_view *view, const struct mpk_view_code *c,
				 struct mpk_strbuf *out)
{
	const struct mpk_code_info *lister = mpk_view_embedded_lister(c);

	for (size_t i = 0; lister && i < lister->kernel_count; i++) {
		struct mpk_span name = lister->kernels[i].name;

		if (!shows_kernel(view, c, name))
			continue;
		mpk_strbuf_puts(out, "  ");
		mpk_escape(out, name);
		mpk_strbuf_putc(out, '\n');
		mpk_code_figure_lines(&c->code, name, "    ", true, out);
	}
}

static void code_text(const struct mpk_view *view, const struct mpk_view_code *c,
		      struct mpk_strbuf *out)
{
	embedded_put_title(c, out);
	/* if the code cannot be read, the title already has the problem */
	if (c->code.format && c->code.format->lines && !c->code.problem)
		c->code.format->lines(&c->code, "  ", out);
	embedded_put_kernels(view, c, out);
}

static void embedded_functions(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_view *view = what;

	(void)style;
	for (size_t i = 0; i < view->image->embedded_count; i++)
		if (shows_code(view, &view->embedded[i]))
			code_text(view, &view->embedded[i], out);
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void code_json(const struct mpk_view *view, const struct mpk_view_code *c,
		      struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_code_info *lister = mpk_view_embedded_lister(c);
	struct mpk_json_at *list, *o;

	o = mpk_json_object(j, at, "code");
	mpk_json_null(j, o, "kernel"); /* null means for all kernels, as for pieces of modules */
	mpk_code_info_json(&c->code, j, o);
	list = mpk_json_array(j, at, "kernels");
	for (size_t i = 0; lister && i < lister->kernel_count; i++) {
		struct mpk_span name = lister->kernels[i].name;

		if (!shows_kernel(view, c, name))
			continue;
		o = mpk_json_object(j, list, NULL);
		mpk_json_span(j, o, "name", name);
		mpk_code_figures_json(&c->code, name, j, o);
	}
}

static void embedded_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_view *view = what;
	struct mpk_json_at *list = mpk_json_array(j, at, "embedded"), *o;

	for (size_t i = 0; i < view->image->embedded_count; i++) {
		const struct mpk_view_code *c = &view->embedded[i];

		if (!shows_code(view, c))
			continue;
		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "name", c->at->name);
		mpk_json_text(j, o, "path", c->path);
		mpk_json_text(j, o, "symbol", c->at->symbol);
		mpk_json_text(j, o, "member", c->at->member);
		/* bytes up to the symbol that ends it: the maximum length of a replacement */
		mpk_json_u64(j, o, "room", c->at->room_bytes);
		code_json(view, c, j, o);
	}
}

const struct mpk_answer mpk_answer_embedded = { .text = embedded_functions,
						.line = embedded_summary,
						.json = embedded_json };

/* --- GPU code of any library ------------------------------------------------------------------ */

/* "sm_90 cubin: 3 images, 1.2 MiB, 4.1 MiB unpacked (zstd)" */
static void put_device_row(const struct mpk_device_row *r, struct mpk_strbuf *out)
{
	mpk_escape(out, mpk_span_str(r->target));
	mpk_strbuf_printf(out, "%s%s: ", *r->target ? " " : "", r->what);
	mpk_put_count(out, r->images, "image");
	if (r->bytes)
		mpk_strbuf_printf(out, ", %s", MPK_SIZE(r->bytes));
	if (r->plain_bytes != r->bytes)
		mpk_strbuf_printf(out, ", %s unpacked", MPK_SIZE(r->plain_bytes));
	if (strcmp(r->packing, "stored") != 0)
		mpk_strbuf_printf(out, " (%s)",
				  strcmp(r->packing, "several") == 0 ? "packed in several ways"
								     : r->packing);
	mpk_strbuf_putc(out, '\n');
}

static void device_summary(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_view *view = what;
	/* 13 columns, like all labels of the summary */
	const char *label = mpk_device_title(view->image) ? "  code       " : "  GPU code   ";
	struct mpk_device_rows rows;

	(void)style;
	if (!view->image->device_count)
		return;
	if (mpk_device_rows(view, &scratch, &rows, NULL) != MPK_OK) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < rows.count; i++) {
		mpk_strbuf_puts(out, i ? "             " : label);
		put_device_row(&rows.items[i], out);
	}
	if (rows.broken) {
		mpk_strbuf_puts(out, rows.count ? "             " : label);
		mpk_put_count(out, rows.broken, "container");
		mpk_strbuf_puts(out, " that cannot be read; minspect verify says why\n");
	}
}

/* Where a container is printed: a text, or a list of a document. */
struct shown {
	const struct mpk_view *view;
	struct mpk_strbuf *out;
	struct mpk_json *j;
	struct mpk_json_at *list;
};

/* Reads a container even if a filter hides it: its kernels are not known before, and a filter may
 * choose one of them. */
static enum mpk_code put_container(const struct mpk_view_code *c, void *arg, struct mpk_error *err)
{
	const struct shown *s = arg;
	struct mpk_json_at *o;

	(void)err;
	if (!shows_code(s->view, c))
		return MPK_OK;
	if (s->out) {
		code_text(s->view, c, s->out);
		return MPK_OK;
	}
	o = mpk_json_object(s->j, s->list, NULL);
	mpk_json_text(s->j, o, "path", c->path); /* a name that --disasm takes */
	mpk_json_text(s->j, o, "section", c->at->name);
	mpk_json_text(s->j, o, "member", c->at->member);
	code_json(s->view, c, s->j, o);
	return MPK_OK;
}

static void device_functions(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	struct shown s = { .view = what, .out = out };

	(void)style;
	out->failed |= mpk_device_each(what, put_container, &s, NULL) != MPK_OK;
}

static const struct mpk_fact device_row_facts[] = {
	{ MPK_FACT(TEXT, "target", struct mpk_device_row, target,
		   "sm_90, compute_90, gfx90a:xnack+") },
	{ MPK_FACT(TEXT, "image", struct mpk_device_row, what,
		   "cubin, PTX, LTO IR, code object, LLVM bitcode, SPIR-V, ...") },
	{ MPK_FACT(COUNT, "images", struct mpk_device_row, images) },
	{ MPK_FACT(COUNT, "bytes", struct mpk_device_row, bytes,
		   "as they are in the file; of images that were packed together, the share") },
	{ MPK_FACT(COUNT, "plain_bytes", struct mpk_device_row, plain_bytes, "unpacked") },
	{ MPK_FACT(TEXT, "packing", struct mpk_device_row, packing) },
};

void mpk_device_rows_json(const struct mpk_view *view, struct mpk_json *j, struct mpk_json_at *at)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_device_rows rows = { 0 };

	/* a failure leaves rows empty, so an empty list is written */
	if (mpk_device_rows(view, &scratch, &rows, NULL) != MPK_OK)
		j->failed = true;
	mpk_facts_json_list(MPK_FACTS(device_row_facts), "gpu_code", rows.items, rows.count,
			    sizeof *rows.items, j, at);
}

static void device_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	struct shown s = { .view = what, .j = j, .list = mpk_json_array(j, at, "device_code") };

	j->failed |= mpk_device_each(what, put_container, &s, NULL) != MPK_OK;
}

const struct mpk_answer mpk_answer_device_code = { .text = device_functions,
						   .line = device_summary,
						   .json = device_json };
