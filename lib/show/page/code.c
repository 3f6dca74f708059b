/* SPDX-License-Identifier: Apache-2.0 */
/* code.c - machine code in the document of the page: listings of --disasm, of host functions and of all GPU code that no
 * text of the file shows, as far as there is room for them. Their lines tell the source lines that debug information
 * has; what ties them to sources is the page's script. */
#include <string.h>

#include "model/device_code.h"
#include "page/internal/page.h"

struct code_put {
	struct mpk_page *page;
	struct mpk_json_at *list;
	struct mpk_json
		problems; /* a list of its own, as the listings are not complete while they are found */
	struct mpk_strmap said; /* those that are in it */
	bool is_full;
};

/* Texts are among the sources already. */
static bool is_text(const struct mpk_listing *l)
{
	static const char *const machine[] = { "cubin", "spirv" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(machine); i++)
		if (strcmp(l->format, machine[i]) == 0)
			return false;
	return !l->symbol;
}

/* A listing that comes in pieces is one of several rows. */
static enum mpk_code code_put(const struct mpk_listing *l, void *arg, struct mpk_error *err)
{
	struct code_put *p = arg;
	struct mpk_json *j = &p->page->json;
	struct mpk_json_at *row;
	struct mpk_strbuf text = { 0 };

	if (is_text(l))
		return MPK_OK;
	mpk_answer_listing.text(l, (struct mpk_style){ 0 }, &text);
	if (text.len > p->page->code_left) {
		mpk_strbuf_fini(&text);
		p->is_full = true;
		return mpk_fail(err, MPK_E_UNSUPPORTED, "there is no room for more");
	}
	p->page->code_left -= text.len;
	row = mpk_json_array(j, p->list, NULL);
	mpk_page_shared_text(p->page, j, row, l->path);
	mpk_page_shared(p->page, j, row, l->name);
	mpk_page_shared_text(p->page, j, row, l->format);
	mpk_page_shared_text(p->page, j, row, l->target);
	mpk_json_take(j, row, NULL, &text);
	return MPK_OK;
}

/* Why something has no listing is said once; what fails today and not tomorrow is an error. */
static enum mpk_code ask_code(struct code_put *p, const struct mpk_view *view, const char *what,
			      struct mpk_error *err)
{
	const struct mpk_disasm_sink sink = { code_put, p };
	struct mpk_error error = { 0 };
	const char *text;
	enum mpk_code code;

	if (p->is_full)
		return MPK_OK;
	code = mpk_view_disasm(view, what, p->page->disasm, &sink, &error);
	if (code == MPK_OK || p->is_full)
		return MPK_OK;
	if (code == MPK_E_NOMEM || code == MPK_E_IO) {
		*err = error;
		return code;
	}
	text = mpk_arena_text(&p->page->arena, mpk_span_str(error.text));
	MPK_TRY_ALLOC(text, err);
	/* what is text, or has no code at all, is no problem */
	if (code == MPK_E_NOTFOUND || mpk_strmap_put(&p->said, mpk_span_str(text), 0, NULL) != 1)
		return MPK_OK;
	mpk_json_text(&p->problems, p->problems.root, NULL, text);
	return MPK_OK;
}

static bool is_machine_code(const struct mpk_code_info *code)
{
	if (code->problem || !code->format)
		return false;
	for (size_t i = 0; i < code->image_count; i++)
		if (is_machine_code(&code->images[i]))
			return true;
	return !code->image_count && !code->format->is_text;
}

static bool has_machine_code(const struct mpk_view_node *n)
{
	for (size_t i = 0; n->info && i < n->info->piece_count; i++)
		if (is_machine_code(&n->info->pieces[i].code))
			return true;
	return false;
}

static enum mpk_code ask_all(struct code_put *p, const struct mpk_view *view, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_image *image = view->image;

	if (image->function_count)
		MPK_TRY(ask_code(p, view, NULL, err));
	for (size_t i = 0; i < view->count; i++)
		if (has_machine_code(&view->nodes[i]))
			MPK_TRY(ask_code(p, view, view->nodes[i].path, err));
	for (size_t i = 0; i < image->embedded_count; i++)
		if (is_machine_code(&view->embedded[i].code))
			MPK_TRY(ask_code(p, view, view->embedded[i].path, err));
	for (size_t i = 0; i < image->device_count; i++) {
		const char *path = mpk_device_path(&image->devices[i], &scratch);

		MPK_TRY_ALLOC(path, err);
		MPK_TRY(ask_code(p, view, path, err));
	}
	return MPK_OK;
}

enum mpk_code mpk_page_code(struct mpk_page *page, const struct mpk_view *view,
			    struct mpk_json_at *at, struct mpk_error *err)
{
	struct mpk_json *j = &page->json;
	struct code_put put = { .page = page };
	enum mpk_code code = MPK_OK;

	put.list = mpk_json_array(j, at, "code");
	mpk_json_init_list(&put.problems);
	if (page->disasm)
		code = ask_all(&put, view, err);
	j->failed |= put.problems.failed;
	mpk_json_document(j, at, "code_problems", &put.problems);
	mpk_json_bool(j, at, "code_is_cut", put.is_full);
	mpk_json_fini(&put.problems);
	mpk_strmap_fini(&put.said);
	return code == MPK_OK ? MPK_OK : mpk_failed(code);
}
