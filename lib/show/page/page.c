/* SPDX-License-Identifier: Apache-2.0 */
/* page.c - --html: the JSON document in the page, and the page around it
 *
 * The template is built into the program, in one piece; the document goes in at its mark. All that a view of
 * the page shows is put here from what the other answers know, so that the page never says anything else. */
#include "page/page.h"

#include <string.h>

#include "code/info.h"
#include "code/show.h"
#include "graph/dot.h"
#include "list/list.h"
#include "model/device_code.h"
#include "model/node_info.h"
#include "size/size.h"
#include "text/escape.h"

/* The template, as the build put it together: page.html with style, script and their hashes in it. */
__asm__(".pushsection .rodata,\"a\",@progbits\n"
	".hidden mpk_page_template\n"
	".globl mpk_page_template\n"
	"mpk_page_template:\n"
	".incbin \"page/page.html\"\n"
	".byte 0\n"
	".popsection\n");
extern const char mpk_page_template[];

/* Where the document goes in the template. */
static const char DATA_MARK[] = "@DATA@";

/* What is complete leaves the writer as bytes: they take less memory than its tree. */
static void page_take(const char *text, size_t len, void *arg)
{
	struct mpk_page *page = arg;

	mpk_rope_put_bytes(&page->document, mpk_span_of(text, len));
}

void mpk_page_init(struct mpk_page *page, bool several)
{
	*page = (struct mpk_page){ .texts_left = MPK_PAGE_TEXTS_MAX, .compares = several };
	page->document = mpk_rope_of(&page->arena);
	mpk_json_init(&page->json, 1);
	/* in a form that is safe inside of a script element of HTML */
	page->json.in_script = true;
	mpk_json_stream(&page->json, page_take, page);
	page->files = mpk_json_array(&page->json, page->json.root, "files");
}

void mpk_page_fini(struct mpk_page *page)
{
	mpk_json_fini(&page->json);
	mpk_strbuf_fini(&page->rest);
	mpk_arena_fini(&page->arena);
}

/* --- modules ---------------------------------------------------------------------------------- */

/* Children are positions in the list, from which the page draws the tree. */
static void page_put_module(const struct mpk_view *view, size_t index, struct mpk_json *j,
			    struct mpk_json_at *list)
{
	const struct mpk_view_node *n = &view->nodes[index];
	struct mpk_json_at *o = mpk_json_object(j, list, NULL), *children;
	struct mpk_strbuf counts = { 0 }, lines = { 0 };

	mpk_json_text(j, o, "path", n->path);
	mpk_json_span(j, o, "kind", n->node->kind);
	mpk_json_text(j, o, "title", mpk_view_title(n));
	mpk_json_text(j, o, "role", mpk_view_role_name(n->kind));
	mpk_json_u64(j, o, "offset", n->node->payload_off);
	mpk_json_u64(j, o, "bytes", n->node->payload.len);
	mpk_view_counts(n, &counts);
	mpk_json_take(j, o, "counts", &counts);
	children = mpk_json_array(j, o, "children");
	for (size_t i = 0; i < n->node->child_count; i++)
		mpk_json_u64(j, children, NULL, n->node->children[i]);
	if (mpk_view_format(n).len)
		mpk_json_span(j, o, "format", mpk_view_format(n));
	mpk_view_targets_json(view, n, j, o);
	mpk_node_lines(n, "", &lines);
	mpk_json_take(j, o, "lines", &lines);
	if (n->problem)
		mpk_json_error(j, o, "problem", n->problem);
}

/* --- what can be called ----------------------------------------------------------------------- */

static void page_put_signature(const struct mpk_signature *s, struct mpk_json *j,
			       struct mpk_json_at *o)
{
	struct mpk_strbuf text = { 0 };

	if (!s) {
		mpk_json_null(j, o, "signature");
		return;
	}
	mpk_signature_text(s, &text);
	mpk_json_take(j, o, "signature", &text);
}

static void page_put_call(const struct mpk_view *view, struct mpk_span name,
			  const struct mpk_signature *s, struct mpk_json *j, struct mpk_json_at *o)
{
	struct mpk_strbuf call = { 0 };

	mpk_view_call(view, name, s, &call);
	mpk_json_take(j, o, "call", &call);
}

static void page_put_function(const struct mpk_view *view, size_t index, struct mpk_json *j,
			      struct mpk_json_at *list)
{
	const struct mpk_image_function *f = &view->image->functions[index];
	const struct mpk_signature *model = mpk_view_called_instead(view, index);
	const struct mpk_signature *s = mpk_view_host(view, index);
	struct mpk_json_at *o = mpk_json_object(j, list, NULL);

	mpk_json_text(j, o, "name", f->name);
	mpk_json_text(j, o, "symbol", f->symbol);
	mpk_json_u64(j, o, "bytes", f->bytes);
	mpk_json_bool(j, o, "entry", f->is_entry);
	mpk_json_text(j, o, "alias_of", f->alias_of);
	mpk_json_text(j, o, "member", f->member);
	mpk_json_text(j, o, "device", s ? mpk_dl_device_name(s->device) : NULL);
	page_put_signature(s, j, o);
	if (mpk_view_doc(view, index).len)
		mpk_json_span(j, o, "doc", mpk_view_doc(view, index));
	/* as --functions says: an executor's function goes before the compiled one of its name */
	page_put_call(view, model ? model->name : mpk_span_str(mpk_view_called(view, index)),
		      model ? model : s, j, o);
}

/* Functions of executors, with the module that has them: two modules may have the same. */
static void put_models(const struct mpk_view *view, const struct mpk_view_node *n,
		       struct mpk_json *j, struct mpk_json_at *list)
{
	for (size_t i = 0; i < n->models.count; i++) {
		const struct mpk_signature *m = &n->models.items[i];
		struct mpk_json_at *o = mpk_json_object(j, list, NULL);

		mpk_json_span(j, o, "name", m->name);
		mpk_json_text(j, o, "module", n->path);
		page_put_signature(m, j, o);
		page_put_call(view, m->name, m, j, o);
	}
}

/* GPU code of any library is read one container at a time: what is said of it is written at once. */
struct device_lists {
	struct mpk_page *page;
	struct mpk_json_at *kernels;
	struct mpk_json containers; /* a list of its own, until the kernels are complete */
};

static enum mpk_code put_container(const struct mpk_view_code *c, void *arg, struct mpk_error *err)
{
	struct device_lists *l = arg;
	struct mpk_json *j = &l->containers;
	struct mpk_json_at *o = mpk_json_object(j, j->root, NULL);
	struct mpk_strbuf title = { 0 }, lines = { 0 };

	mpk_json_text(j, o, "path", c->path);
	mpk_json_text(j, o, "member", c->at->member);
	mpk_json_u64(j, o, "offset", c->at->off);
	mpk_json_u64(j, o, "bytes", c->at->bytes.len);
	mpk_code_info_text(&c->code, &title);
	mpk_json_take(j, o, "title", &title);
	if (!c->code.problem && c->code.format->lines)
		c->code.format->lines(&c->code, "", &lines);
	mpk_json_take(j, o, "lines", &lines);
	return mpk_page_code_kernels_json(l->page, c, l->kernels, err);
}

/* Functions and kernels of all modules in lists of their own: the page has a table for each. */
static enum mpk_code put_calls(struct mpk_page *page, const struct mpk_view *view,
			       struct mpk_json_at *at, struct mpk_error *err)
{
	struct mpk_json *j = &page->json;
	struct mpk_json_at *list = mpk_json_array(j, at, "functions");
	struct device_lists l = { .page = page };
	enum mpk_code code;

	for (size_t i = 0; i < view->image->function_count; i++)
		page_put_function(view, i, j, list);
	list = mpk_json_array(j, at, "models");
	for (size_t i = 0; i < view->count; i++)
		put_models(view, &view->nodes[i], j, list);
	l.kernels = mpk_json_array(j, at, "kernels");
	for (size_t i = 0; i < view->count; i++)
		MPK_TRY(mpk_page_kernels_json(page, view, &view->nodes[i], l.kernels, err));
	for (size_t i = 0; i < view->image->embedded_count; i++)
		MPK_TRY(mpk_page_code_kernels_json(page, &view->embedded[i], l.kernels, err));
	/* the list of kernels is still open, so containers wait in a document of their own */
	mpk_json_init_list(&l.containers);
	code = mpk_device_each(view, put_container, &l, err);
	mpk_json_document(j, at, "gpu_containers", &l.containers);
	mpk_json_fini(&l.containers);
	mpk_device_rows_json(view, j, at);
	return code;
}

/* --- graphs ----------------------------------------------------------------------------------- */

/* Nodes are known by their position and edges are short lists, as graphs have thousands of them. */
static void put_graph(const struct mpk_model_graph *g, struct mpk_json *j, struct mpk_json_at *list)
{
	static const char *const node_kinds[] = {
		[MPK_MODEL_INPUT] = "input",     [MPK_MODEL_OPERATOR] = "operator",
		[MPK_MODEL_BUILTIN] = "builtin", [MPK_MODEL_BLOCK] = "block",
		[MPK_MODEL_OUTPUT] = "output",
	};
	struct mpk_json_at *graph = mpk_json_object(j, list, NULL), *o, *nodes, *edges;

	mpk_json_text(j, graph, "module", g->path);
	mpk_json_span(j, graph, "name", g->name);
	mpk_json_bool(j, graph, "is_flow", g->is_flow);
	nodes = mpk_json_array(j, graph, "nodes");
	for (size_t i = 0; i < g->node_count; i++) {
		o = mpk_json_object(j, nodes, NULL);
		mpk_json_text(j, o, "kind", node_kinds[g->nodes[i].kind]);
		mpk_json_text(j, o, "label", g->nodes[i].label);
		if (g->nodes[i].detail[0])
			mpk_json_text(j, o, "detail", g->nodes[i].detail);
		if (g->nodes[i].type[0])
			mpk_json_text(j, o, "type", g->nodes[i].type);
	}
	edges = mpk_json_array(j, graph, "edges");
	for (size_t i = 0; i < g->edge_count; i++) {
		o = mpk_json_array(j, edges, NULL);
		mpk_json_u64(j, o, NULL, g->edges[i].from);
		mpk_json_u64(j, o, NULL, g->edges[i].to);
		if (g->edges[i].label[0])
			mpk_json_text(j, o, NULL, g->edges[i].label);
	}
}

static enum mpk_code put_graphs(const struct mpk_view *view, struct mpk_json *j,
				struct mpk_json_at *at, struct mpk_error *err)
{
	struct mpk_json_at *list = mpk_json_array(j, at, "graphs");
	struct mpk_model_graphs graphs;

	MPK_TRY(mpk_model_graphs_read(view, &graphs, err));
	for (size_t i = 0; i < graphs.count; i++)
		put_graph(&graphs.items[i], j, list);
	return MPK_OK;
}

/* --- the whole -------------------------------------------------------------------------------- */

static enum mpk_code put_sizes(const struct mpk_view *view, struct mpk_json *j,
			       struct mpk_json_at *at, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_size size;

	MPK_TRY(mpk_size_read(view, &scratch, &size, err));
	size.files.count = size.modules.count = 0; /* the page has its modules and parts already */
	mpk_answer_size.json(&size, j, mpk_json_object(j, at, "size"));
	return MPK_OK;
}

/* The report of --verify, so that the page and the command never differ. */
static enum mpk_code put_findings(const struct mpk_view *view, const struct mpk_verify_file *file,
				  struct mpk_json *j, struct mpk_json_at *at, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_report report = { 0 };
	const struct mpk_verified verified = { view->name, &report };
	enum mpk_code code = mpk_verify_run(view, file, &scratch, &report, err);

	if (code == MPK_OK)
		mpk_answer_verify.json(&verified, j, mpk_json_object(j, at, "verify"));
	mpk_report_fini(&report);
	return code;
}

enum mpk_code mpk_page_add(struct mpk_page *page, const struct mpk_view *view,
			   const struct mpk_verify_file *file, struct mpk_error *err)
{
	struct mpk_json *j = &page->json;
	struct mpk_json_at *at = mpk_json_object(j, page->files, NULL), *list;

	page->compares |= view->in_archive; /* an archive may have several */
	/* packed code is longer than the file; more than this only a hostile file needs */
	page->digests_left = 8 * view->file_bytes;
	mpk_list_about_json(view, j, mpk_json_object(j, at, "about"));
	MPK_TRY(put_sizes(view, j, at, err)); /* takes most memory, the page grows later */
	list = mpk_json_array(j, at, "tree");
	for (size_t i = 0; i < view->count; i++)
		page_put_module(view, i, j, list);
	MPK_TRY(put_calls(page, view, at, err));
	MPK_TRY(mpk_page_parts_json(page, view, file ? file->map : NULL, at, err));
	MPK_TRY(put_graphs(view, j, at, err));
	MPK_TRY(put_findings(view, file, j, at, err));
	return j->failed ? mpk_fail_nomem(err) : MPK_OK;
}

enum mpk_code mpk_page_document(struct mpk_page *page, struct mpk_rope *out, struct mpk_error *err)
{
	MPK_TRY(mpk_rope_status(&page->document, err));
	MPK_TRY(mpk_json_print(&page->json, &page->rest, err));
	mpk_json_fini(&page->json);
	/* first what was passed on before, then what was open until now */
	mpk_rope_put_rope(out, &page->document);
	mpk_rope_put_view(out, mpk_span_of(page->rest.data, page->rest.len));
	return mpk_rope_status(out, err);
}

enum mpk_code mpk_page_print(struct mpk_page *page, struct mpk_rope *out, struct mpk_error *err)
{
	/* the template is part of the program: it always has the mark */
	const char *mark = strstr(mpk_page_template, DATA_MARK);
	size_t before = (size_t)(mark - mpk_page_template);

	mpk_rope_put_view(out, mpk_span_of(mpk_page_template, before));
	MPK_TRY(mpk_page_document(page, out, err));
	mpk_rope_put_view(out, mpk_span_str(mark + strlen(DATA_MARK)));
	return mpk_rope_status(out, err);
}
