/* SPDX-License-Identifier: Apache-2.0 */
/* modules.c - writes the modules of a file into the page's document, and what can be called:
 * functions, models, kernels
 *
 * The page compares kernels of several files by digests. A kernel has two: one of its own
 * definition or machine code and, if the code is text, one of the text around the definitions:
 * functions and macros that it may use. */
#include <inttypes.h>
#include <string.h>

#include "answer/answer.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "code/show.h"
#include "list/list.h"
#include "model/device_code.h"
#include "model/kernel_list.h"
#include "model/node_info.h"
#include "page/internal/page.h"
#include "sourcecode/sourcecode.h"

enum {
	PAGE_NAME_WIDTH = 160,
	CONTAINER_BYTES = 120 /* estimated bytes of a row besides its texts */
};

/* A text that consists of several programs, each named after its kernel. */
struct programs {
	const struct mpk_code_info *code;
	const struct mpk_source_code_piece *pieces;
	struct mpk_strmap names;
	bool has_around; /* digest of the text around all definitions */
	uint8_t around[MPK_XXH128_BYTES];
};

struct digests {
	struct mpk_page *page;
	struct mpk_arena arena;
	struct programs programs; /* the programs of the last text */
	struct mpk_digest own, around;
	bool has_own, has_around;
	bool cut; /* too much would have to be read, so the kernel gets no digest */
	enum mpk_code code;
	struct mpk_error *err;
};

static void digests_fini(struct digests *d)
{
	mpk_strmap_fini(&d->programs.names);
	mpk_digest_fini(&d->own);
	mpk_digest_fini(&d->around);
	mpk_arena_fini(&d->arena);
}

/* Limits the bytes to hash, since kernels of a hostile file may share their code. */
static bool may_read(struct digests *d, size_t bytes)
{
	if (bytes > d->page->digests_left) {
		d->cut = true;
		return false;
	}
	d->page->digests_left -= bytes;
	return true;
}

/* Adds to the digest of the kernel itself: a part for each image, in the order of the code. */
static enum mpk_code kernels_put_own(struct digests *d, struct mpk_span bytes)
{
	if (!may_read(d, bytes.len))
		return MPK_OK;
	d->has_own = true;
	return mpk_digest_update(&d->own, bytes, d->err);
}

/* Splits a text into its programs. The result is kept, as consecutive kernels of a module use the
 * same text. */
static enum mpk_code find_programs(struct digests *d, const struct mpk_code_info *code)
{
	struct programs *p = &d->programs;
	size_t count;

	if (p->code == code)
		return MPK_OK;
	mpk_strmap_fini(&p->names);
	mpk_arena_fini(&d->arena);
	*p = (struct programs){ .code = code };
	if (!may_read(d, code->bytes.len)) {
		p->code = NULL;
		return MPK_OK;
	}
	MPK_TRY(mpk_source_code_split(code->bytes, &d->arena, &p->pieces, &count, d->err));
	for (size_t i = 0; i < count; i++)
		MPK_TRY_ALLOC(mpk_strmap_put(&p->names, p->pieces[i].name, i, NULL) >= 0, d->err);
	return MPK_OK;
}

/* Returns the first definition that begins at or after p: definitions are in file order. */
static size_t first_definition(const struct mpk_code_info *code, const uint8_t *p)
{
	size_t at;

	MPK_FIND_FIRST(at, code->definition_count, i, code->definitions[i].data < p);
	return at;
}

/* Hashes a gap without the blanks at its ends, which change with the definitions around it. */
static enum mpk_code put_gap(const uint8_t *at, const uint8_t *end, struct mpk_digest *to,
			     struct mpk_error *err)
{
	while (at < end && *at <= ' ')
		at++;
	while (at < end && end[-1] <= ' ')
		end--;
	return mpk_digest_update(to, mpk_span_of(at, (size_t)(end - at)), err);
}

/* Hashes the text between the definitions in a run of text. */
static enum mpk_code put_gaps(const struct mpk_code_info *code, struct mpk_span run,
			      struct mpk_digest *to, struct mpk_error *err)
{
	const uint8_t *at = run.data, *end = run.data + run.len;

	for (size_t i = first_definition(code, at); i < code->definition_count; i++) {
		struct mpk_span text = code->definitions[i];

		if (text.data < at || text.data + text.len > end)
			break;
		MPK_TRY(put_gap(at, text.data, to, err));
		at = text.data + text.len;
	}
	return put_gap(at, end, to, err);
}

/* If a text is one program, the text around its kernels is the same for all of them. */
static enum mpk_code put_around_all(struct digests *d, const struct mpk_code_info *code)
{
	MPK_CLEANUP(mpk_digest_fini) struct mpk_digest whole = { 0 };
	struct programs *p = &d->programs;
	uint8_t out[MPK_DIGEST_BYTES];

	if (!p->has_around) {
		MPK_TRY(mpk_digest_init(&whole, MPK_DIGEST_XXH128, d->err));
		MPK_TRY(put_gaps(code, code->bytes, &whole, d->err));
		MPK_TRY(mpk_digest_final(&whole, out, d->err));
		memcpy(p->around, out, sizeof p->around);
		p->has_around = true;
	}
	return mpk_digest_update(&d->around, mpk_span_of(p->around, sizeof p->around), d->err);
}

static bool is_within(const struct mpk_code_info *code, size_t kernel, struct mpk_span run)
{
	const uint8_t *at = code->kernels[kernel].text.data;

	return at >= run.data && at < run.data + run.len;
}

/* For a text, the kernel's own part is its definition, and the rest is all text outside
 * definitions: an edit of one kernel then does not change the others. */
static enum mpk_code kernels_put_definition(struct digests *d, const struct mpk_code_info *code,
					    size_t kernel)
{
	struct mpk_span name = code->kernels[kernel].name, run;
	size_t piece;

	MPK_TRY(find_programs(d, code));
	if (d->cut)
		return MPK_OK;
	d->has_around = true;
	if (!mpk_strmap_find(&d->programs.names, name, &piece)) {
		MPK_TRY(kernels_put_own(d, code->kernels[kernel].text));
		return put_around_all(d, code);
	}
	run = d->programs.pieces[piece].text;
	if (!may_read(d, run.len))
		return MPK_OK;
	/* the program may contain other kernels; its own is the one with its name */
	while (kernel && is_within(code, kernel, run) && is_within(code, kernel - 1, run))
		kernel--;
	for (; kernel < code->kernel_count && is_within(code, kernel, run); kernel++)
		if (mpk_span_equal(code->kernels[kernel].name, name))
			MPK_TRY(kernels_put_own(d, code->kernels[kernel].text));
	return put_gaps(code, run, &d->around, d->err);
}

/* Called for each piece of code that has the kernel: for a text, hashes its definition; for machine
 * code, its bytes, or the whole image if they are not known. */
static void kernels_put_code(const struct mpk_code_info *code, size_t kernel, void *arg)
{
	const struct mpk_code_kernel *k = &code->kernels[kernel];
	struct digests *d = arg;

	if (d->code != MPK_OK)
		return;
	if (k->text.len)
		d->code = kernels_put_definition(d, code, kernel);
	else
		d->code = kernels_put_own(d, k->code.len ? k->code : code->bytes);
}

static enum mpk_code kernels_put_digest(struct digests *d, struct mpk_json_at *row,
					struct mpk_digest *from)
{
	uint8_t digest[MPK_DIGEST_BYTES];
	char digits[MPK_DIGEST_TEXT];

	MPK_TRY(mpk_digest_final(from, digest, d->err));
	mpk_json_text(&d->page->json, row, NULL,
		      mpk_digest_print(digest, MPK_XXH128_BYTES, digits));
	return MPK_OK;
}

/* Starts the digests of one kernel; the programs of a text are kept for the next. */
static enum mpk_code kernels_begin(struct digests *d)
{
	mpk_digest_fini(&d->own);
	mpk_digest_fini(&d->around);
	d->has_own = d->has_around = d->cut = false;
	MPK_TRY(mpk_digest_init(&d->own, MPK_DIGEST_XXH128, d->err));
	return mpk_digest_init(&d->around, MPK_DIGEST_XXH128, d->err);
}

/* If the reading was cut off, the kernel gets no digest: a partial digest would make different
 * kernels look equal. */
static enum mpk_code kernels_end(struct digests *d, struct mpk_json_at *row)
{
	MPK_TRY(d->code);
	if (d->cut || (!d->has_own && !d->has_around))
		return MPK_OK;
	/* a kernel of the table without code gets no digest */
	if (d->has_own)
		MPK_TRY(kernels_put_digest(d, row, &d->own));
	else
		mpk_json_null(&d->page->json, row, NULL);
	return d->has_around ? kernels_put_digest(d, row, &d->around) : MPK_OK;
}

/* --- rows ------------------------------------------------------------------------------------- */

struct kernels_put {
	struct mpk_page *page;
	struct mpk_json_at *list;
};

/* Writes the device, the format and the figures in a fixed order: empty if the format does not have
 * the figure, "?" if it is unknown. The text is shared, since kernels of several libraries have the
 * same figures. */
static void kernels_put_figures(const struct mpk_code_info *code, size_t kernel, void *arg)
{
	const struct kernels_put *p = arg;
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	struct mpk_figures figures;

	(void)mpk_code_figures(code, kernel, &figures);
	mpk_strbuf_printf(&text, "%s|%s", code->target,
			  code->format->word ? code->format->word : "");
	for (unsigned i = 0; i < MPK_FIGURE_COUNT; i++) {
		mpk_strbuf_putc(&text, '|');
		if (figures.values[i].state == MPK_FIGURE_KNOWN)
			mpk_strbuf_printf(&text, "%" PRIu64, figures.values[i].number);
		else if (figures.values[i].state == MPK_FIGURE_UNKNOWN)
			mpk_strbuf_putc(&text, '?');
	}
	p->page->json.failed |= text.failed;
	mpk_page_shared(p->page, &p->page->json, p->list, mpk_span_of(text.data, text.len));
}

/* Writes a line for each image while there is room. Lines are shared by all kernels and
 * libraries. */
static void kernels_put_lines(struct mpk_page *page, struct mpk_json_at *row,
			      struct mpk_strbuf *lines)
{
	struct mpk_json_at *list = mpk_json_array(&page->json, row, NULL);
	struct mpk_span left = mpk_span_of(lines->data, lines->len);

	while (left.len) {
		const uint8_t *end = memchr(left.data, '\n', left.len);
		size_t len = end ? (size_t)(end - left.data) : left.len;

		if (len <= page->lines_left) {
			page->lines_left -= len;
			mpk_page_shared(page, &page->json, list, mpk_span_of(left.data, len));
		}
		len += end != NULL;
		left = mpk_span_from(left, len);
	}
	page->json.failed |= lines->failed;
	mpk_strbuf_fini(lines);
}

/* The data common to the rows of a module or of code outside the tree. */
struct kernels_of {
	const struct mpk_view *view;
	const struct mpk_view_node *n;
	const struct mpk_view_code *c;
	const struct mpk_kernels *table; /* NULL for code outside the tree, which has no table */
};

/* Writes what the code says: a line and figures for each image. */
static void kernels_put_known(struct mpk_page *page, const struct kernels_of *of, size_t index,
			      struct mpk_span name, struct mpk_json_at *row)
{
	struct mpk_strbuf lines = { 0 };
	struct kernels_put put = { .page = page };

	if (of->table)
		mpk_node_kernel_lines(of->n, index, "", &lines);
	else
		mpk_code_figure_lines(&of->c->code, name, "", false, &lines);
	kernels_put_lines(page, row, &lines);
	put.list = mpk_json_array(&page->json, row, NULL);
	if (of->table && of->n->info)
		mpk_node_info_each(of->n->info, of->table, index, kernels_put_figures, &put);
	else if (!of->table)
		mpk_code_info_each(&of->c->code, name, kernels_put_figures, &put);
}

static void page_shared_take(struct mpk_page *page, struct mpk_json *j, struct mpk_json_at *row,
			     struct mpk_strbuf *text)
{
	if (text->len)
		mpk_page_shared(page, j, row, mpk_span_of(text->data, text->len));
	else
		mpk_json_null(j, row, NULL);
	j->failed |= text->failed;
	mpk_strbuf_fini(text);
}

static void kernels_put_row(struct mpk_page *page, const struct kernels_of *of, size_t index,
			    struct mpk_span name, struct mpk_json_at *row)
{
	struct mpk_strbuf signature = { 0 }, call = { 0 }, title = { 0 };
	struct mpk_json *j = &page->json;

	mpk_page_shared(page, j, row, name);
	mpk_page_shared_text(page, j, row, of->table ? of->n->path : of->c->path);
	if (of->table) {
		mpk_view_kernel_text(&of->table->functions[index], true, &signature);
		mpk_view_kernel_call(of->view, of->n, index, &call);
	}
	page_shared_take(page, j, row, &signature);
	page_shared_take(page, j, row, &call);
	(void)mpk_symbol_name(name, false, PAGE_NAME_WIDTH, &title);
	page_shared_take(page, j, row, &title);
	kernels_put_known(page, of, index, name, row);
}

/* Code outside the tree has no table, which would give the parameters of kernels. */
static enum mpk_code page_kernels(struct mpk_page *page, const struct mpk_view *view,
				  const struct mpk_view_node *n, const struct mpk_view_code *c,
				  struct mpk_json_at *list, struct mpk_error *err)
{
	MPK_CLEANUP(digests_fini) struct digests d = { .page = page, .err = err };
	const struct kernels_of of = { view, n, c, n ? mpk_view_kernels(n) : NULL };
	const struct mpk_code_info *lister = n ? NULL : mpk_view_embedded_lister(c);
	size_t count = of.table ? of.table->function_count : lister ? lister->kernel_count : 0;

	for (size_t i = 0; i < count; i++) {
		struct mpk_span name =
			of.table ? of.table->functions[i].key : lister->kernels[i].name;
		struct mpk_json_at *row;

		if (!mpk_page_has_room(page))
			continue;
		row = mpk_json_array(&page->json, list, NULL);
		kernels_put_row(page, &of, i, name, row);
		if (!mpk_page_compares(page) || (of.table && !n->info))
			continue;
		MPK_TRY(kernels_begin(&d));
		if (of.table)
			mpk_node_info_each(n->info, of.table, i, kernels_put_code, &d);
		else
			mpk_code_info_each(&c->code, name, kernels_put_code, &d);
		MPK_TRY(kernels_end(&d, row));
	}
	return MPK_OK;
}

/* --- modules ---------------------------------------------------------------------------------- */

/* Children are indexes into the list, from which the page draws the tree. */
static void page_put_module(const struct mpk_view *view, size_t index, struct mpk_json *j,
			    struct mpk_json_at *list)
{
	const struct mpk_view_node *n = &view->nodes[index];
	struct mpk_json_at *o = mpk_json_object(j, list, NULL);
	struct mpk_strbuf lines = { 0 };

	mpk_list_module_json(view, n, true, j, o);
	mpk_node_lines(n, "", &lines);
	mpk_json_take(j, o, "lines", &lines);
	if (n->problem)
		mpk_json_error(j, o, "problem", n->problem);
}

/* --- what can be called ----------------------------------------------------------------------- */

/* Lists functions of executors with their module: two modules may have the same functions. */
static void put_models(const struct mpk_view *view, const struct mpk_view_node *n,
		       struct mpk_json *j, struct mpk_json_at *list)
{
	for (size_t i = 0; i < n->models.count; i++) {
		const struct mpk_signature *m = &n->models.items[i];
		struct mpk_json_at *o = mpk_list_model_json(m, j, list);

		mpk_json_text(j, o, "module", n->path);
		mpk_list_call_json(view, m->name, m, j, o);
	}
}

/* GPU code of any library is read one container at a time, and described before the next is
 * read. */
struct device_lists {
	struct mpk_page *page;
	struct mpk_json_at *kernels;
	struct mpk_json containers; /* collected separately until the list of kernels is complete */
};

static enum mpk_code put_container(const struct mpk_view_code *c, void *arg, struct mpk_error *err)
{
	struct device_lists *l = arg;
	struct mpk_json *j = &l->containers;
	struct mpk_strbuf title = { 0 }, lines = { 0 };
	struct mpk_json_at *o;

	if (!mpk_page_has_room(l->page))
		return page_kernels(l->page, NULL, NULL, c, l->kernels, err);
	o = mpk_json_object(j, j->root, NULL);
	mpk_json_text(j, o, "path", c->path);
	if (c->at->member)
		mpk_json_text(j, o, "member", c->at->member);
	mpk_json_u64(j, o, "offset", c->at->off);
	mpk_json_u64(j, o, "bytes", c->at->bytes.len);
	mpk_code_info_text(&c->code, &title);
	if (!c->code.problem && c->code.format->lines)
		c->code.format->lines(&c->code, "", &lines);
	mpk_page_uses(l->page, lines.len + CONTAINER_BYTES);
	mpk_page_shared_member(l->page, j, o, "title", &title);
	if (lines.len)
		mpk_json_take(j, o, "lines", &lines);
	mpk_strbuf_fini(&lines);
	return page_kernels(l->page, NULL, NULL, c, l->kernels, err);
}

/* Functions and kernels of all modules are in separate lists: the page has a table for each. */
enum mpk_code mpk_page_modules(struct mpk_page *page, const struct mpk_view *view,
			       struct mpk_json_at *at, struct mpk_error *err)
{
	struct mpk_json *j = &page->json;
	struct device_lists l = { .page = page };
	struct mpk_json_at *list;
	enum mpk_code code;

	/* a folder may have thousands of files without any of these */
	if (view->count) {
		list = mpk_json_array(j, at, "tree");
		for (size_t i = 0; i < view->count; i++)
			page_put_module(view, i, j, list);
	}
	if (view->image->function_count) {
		list = mpk_json_array(j, at, "functions");
		for (size_t i = 0; i < view->image->function_count; i++)
			mpk_list_function_json(view, i, MPK_LIST_CALL, j, list);
	}
	if (view->count) {
		list = mpk_json_array(j, at, "models");
		for (size_t i = 0; i < view->count; i++)
			put_models(view, &view->nodes[i], j, list);
	}
	l.kernels = mpk_json_array(j, at, "kernels");
	for (size_t i = 0; i < view->count; i++)
		MPK_TRY(page_kernels(page, view, &view->nodes[i], NULL, l.kernels, err));
	for (size_t i = 0; i < view->image->embedded_count; i++)
		MPK_TRY(page_kernels(page, view, NULL, &view->embedded[i], l.kernels, err));
	/* the list of kernels is still open, so containers are collected in another document */
	mpk_json_init_list(&l.containers);
	code = mpk_device_each(view, put_container, &l, err);
	mpk_json_document(j, at, "gpu_containers", &l.containers);
	mpk_json_fini(&l.containers);
	mpk_device_rows_json(view, j, at);
	return code;
}
