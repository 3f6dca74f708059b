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
	struct mpk_json_at *o = mpk_json_object(j, list, NULL);
	struct mpk_strbuf lines = { 0 };

	mpk_list_module_json(view, n, true, j, o);
	mpk_node_lines(n, "", &lines);
	mpk_json_take(j, o, "lines", &lines);
	if (n->problem)
		mpk_json_error(j, o, "problem", n->problem);
}

/* --- what can be called ----------------------------------------------------------------------- */

/* Functions of executors, with the module that has them: two modules may have the same. */
static void put_models(const struct mpk_view *view, const struct mpk_view_node *n,
		       struct mpk_json *j, struct mpk_json_at *list)
{
	for (size_t i = 0; i < n->models.count; i++) {
		const struct mpk_signature *m = &n->models.items[i];
		struct mpk_json_at *o = mpk_json_object(j, list, NULL);
		struct mpk_strbuf text = { 0 };

		mpk_json_span(j, o, "name", m->name);
		mpk_json_text(j, o, "module", n->path);
		mpk_signature_text(m, &text);
		mpk_json_take(j, o, "signature", &text);
		mpk_list_call_json(view, m->name, m, j, o);
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
	return mpk_page_kernels_json(l->page, NULL, NULL, c, l->kernels, err);
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
		mpk_list_function_json(view, i, MPK_LIST_CALL, j, list);
	list = mpk_json_array(j, at, "models");
	for (size_t i = 0; i < view->count; i++)
		put_models(view, &view->nodes[i], j, list);
	l.kernels = mpk_json_array(j, at, "kernels");
	for (size_t i = 0; i < view->count; i++)
		MPK_TRY(mpk_page_kernels_json(page, view, &view->nodes[i], NULL, l.kernels, err));
	for (size_t i = 0; i < view->image->embedded_count; i++)
		MPK_TRY(mpk_page_kernels_json(page, view, NULL, &view->embedded[i], l.kernels,
					      err));
	/* the list of kernels is still open, so containers wait in a document of their own */
	mpk_json_init_list(&l.containers);
	code = mpk_device_each(view, put_container, &l, err);
	mpk_json_document(j, at, "gpu_containers", &l.containers);
	mpk_json_fini(&l.containers);
	mpk_device_rows_json(view, j, at);
	return code;
}

/* --- parts: tensors, code, and texts with their content, as far as they go --------------------- */

/* Which colours a text gets, by the suffix that --extract gives it. */
static const struct {
	const char *suffix, *language;
} languages[] = {
	{ ".ptx", "ptx" },   { ".cl", "opencl" },    { ".cu", "cuda" },  { ".metal", "metal" },
	{ ".wgsl", "wgsl" }, { ".json", "json" },    { ".c", "c" },      { ".cc", "c" },
	{ ".h", "c" },       { ".txt", "bytecode" }, { ".hip", "cuda" }, { ".ll", "llvm" },
};

static bool ends_in(const char *name, const char *suffix)
{
	size_t len = strlen(name), end = strlen(suffix);

	return len >= end && strcmp(name + len - end, suffix) == 0;
}

/* NULL: a text of no language that the page can colour. */
static const char *language_of(const char *name)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(languages); i++)
		if (ends_in(name, languages[i].suffix))
			return languages[i].language;
	return NULL;
}

/* A text has no control characters but those that lay it out. One that is long is judged by its
 * beginning. */
static bool parts_is_text(struct mpk_span s)
{
	enum { JUDGED = 4096 };

	for (size_t i = 0; i < s.len && i < JUDGED; i++)
		if (s.data[i] == 0x7f || (s.data[i] < 0x20 && !memchr("\t\n\r\f", s.data[i], 4)))
			return false;
	return s.len > 0;
}

/* As much of a text as fits: whole lines, or at least whole characters. */
static struct mpk_span cut(struct mpk_span s, uint64_t most)
{
	size_t len = (size_t)most;

	if (s.len <= most)
		return s;
	while (len && s.data[len - 1] != '\n')
		len--;
	if (!len)
		for (len = (size_t)most; len && (s.data[len] & 0xc0) == 0x80;)
			len--;
	return mpk_span_of(s.data, len);
}

/* The content of a text. What consists of several pieces, or is a tensor, is named only. */
static void parts_put_text(struct mpk_page *page, const struct mpk_extract_file *f,
			   struct mpk_json_at *o)
{
	const struct mpk_piece *piece = f->content.count == 1 ? f->content.pieces : NULL;
	const char *language = language_of(f->name);
	uint64_t most = page->texts_left < MPK_PAGE_TEXT_MAX ? page->texts_left : MPK_PAGE_TEXT_MAX;
	struct mpk_span all, shown;

	if (!piece || !piece->data || f->tensor)
		return;
	all = mpk_span_of(piece->data, (size_t)piece->len);
	while (all.len && all.data[all.len - 1] == 0) /* PTX ends like a string of C */
		all.len--;
	if (!parts_is_text(all))
		return;
	shown = cut(all, most);
	page->texts_left -= shown.len;
	mpk_json_text(&page->json, o, "language", language ? language : "text");
	mpk_json_span(&page->json, o, "text", shown);
	if (shown.len < all.len)
		mpk_json_u64(&page->json, o, "shown", shown.len);
}

/* By digests the page finds parts that are the same in several files. */
static enum mpk_code parts_put_digest(struct mpk_page *page, struct mpk_extract_file *f,
				      const struct mpk_mapping *map, struct mpk_json_at *o,
				      struct mpk_error *err)
{
	uint8_t digest[MPK_DIGEST_BYTES];
	char digits[MPK_DIGEST_TEXT];

	/* what is large is read through windows of its file: it would count as memory */
	if (map)
		mpk_mapping_use_file(map, &f->content);
	MPK_TRY(mpk_digest_rope(MPK_DIGEST_XXH128, &f->content, NULL, digest, err));
	mpk_json_text(&page->json, o, "xxh128",
		      mpk_digest_print(digest, mpk_digest_bytes(MPK_DIGEST_XXH128), digits));
	return MPK_OK;
}

static enum mpk_code parts_put_part(struct mpk_page *page, struct mpk_extract_file *f,
				    const struct mpk_mapping *map, struct mpk_json_at *list,
				    struct mpk_error *err)
{
	struct mpk_json *j = &page->json;
	struct mpk_json_at *o = mpk_json_object(j, list, NULL);
	/* the first step of the name is the folder of the module, which the page shows anyway */
	const char *slash = strchr(f->name, '/');
	char type[MPK_DTYPE_TEXT];

	mpk_json_text(j, o, "module", f->path);
	mpk_json_text(j, o, "name", slash ? slash + 1 : f->name);
	if (f->title.len)
		mpk_json_span(j, o, "title", f->title);
	/* of an .npy file without its header, as --size counts */
	mpk_json_u64(j, o, "bytes", f->stored ? f->bytes : f->content.len);
	mpk_json_bool(j, o, "stored", f->stored);
	if (f->tensor) {
		mpk_json_text(j, o, "dtype", mpk_dtype_print(f->tensor->dtype, type));
		mpk_json_i64s(j, o, "shape", f->tensor->shape, f->tensor->ndim);
	}
	parts_put_text(page, f, o);
	return page->compares ? parts_put_digest(page, f, map, o, err) : MPK_OK;
}

/* What is packed in the file is unpacked for as long as it is looked at. */
static enum mpk_code unpack_part(struct mpk_page *page, const struct mpk_view *view,
				 struct mpk_extract_file *f, const struct mpk_mapping *map,
				 struct mpk_json_at *list, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	enum mpk_code code;

	if (!f->make)
		return parts_put_part(page, f, map, list, err);
	MPK_TRY(f->make(view, f, &scratch, err));
	code = parts_put_part(page, f, NULL, list, err);
	/* its bytes were in scratch */
	f->content = (struct mpk_rope){ 0 };
	return code;
}

/* Texts that stand in a container with other images: the PTX of a fatbin. --show calls them by these names. */
static enum mpk_code put_images(struct mpk_page *page, const struct mpk_view *view,
				const char *path, const struct mpk_code_info *code,
				struct mpk_json_at *list, struct mpk_error *err)
{
	for (size_t i = 0; i < code->image_count; i++) {
		const struct mpk_code_info *image = &code->images[i];
		struct mpk_extract_file file = { .path = path,
						 .content = { .arena = view->arena } };
		struct mpk_span target;
		bool is_ptx;

		if (!image->format || !image->format->is_text || image->problem)
			continue;
		target = mpk_span_str(mpk_device_target(image));
		/* PTX is for an architecture and all after it: "compute_90", not "sm_90" */
		is_ptx = image->format == &mpk_format_ptx && mpk_span_starts(target, "sm_");
		file.name =
			mpk_arena_printf(view->arena, "images/%s%s.%s", is_ptx ? "compute_" : "",
					 MPK_QUOTE(mpk_span_of(target.data + (is_ptx ? 3 : 0),
							       target.len - (is_ptx ? 3 : 0))),
					 mpk_device_suffix(image));
		MPK_TRY_ALLOC(file.name, err);
		mpk_rope_put_view(&file.content, image->bytes);
		MPK_TRY(mpk_rope_status(&file.content, err));
		MPK_TRY(parts_put_part(page, &file, NULL, list, err));
	}
	return MPK_OK;
}

/* Modules in the order of the tree, then the code beside it. */
static enum mpk_code put_all_images(struct mpk_page *page, const struct mpk_view *view,
				    struct mpk_json_at *list, struct mpk_error *err)
{
	const struct mpk_node_info *info;

	for (size_t i = 0; i < view->count; i++) {
		MPK_TRY(mpk_view_info(view, i, &info, err));
		for (size_t k = 0; k < info->piece_count; k++)
			MPK_TRY(put_images(page, view, view->nodes[i].path, &info->pieces[k].code,
					   list, err));
	}
	for (size_t i = 0; i < view->image->embedded_count; i++)
		MPK_TRY(put_images(page, view, view->embedded[i].path, &view->embedded[i].code,
				   list, err));
	return MPK_OK;
}

/* What a part is put into. */
struct parts {
	struct mpk_page *page;
	const struct mpk_view *view;
	const struct mpk_mapping *map;
	struct mpk_json_at *list;
};

static enum mpk_code parts_put_file(struct mpk_extract_file *f, void *arg, struct mpk_error *err)
{
	const struct parts *p = arg;

	if (ends_in(f->name, "/functions.json")) /* the page has its own table */
		return MPK_OK;
	return unpack_part(p->page, p->view, f, p->map, p->list, err);
}

static enum mpk_code put_parts(struct mpk_page *page, const struct mpk_view *view,
			       const struct mpk_mapping *map, struct mpk_json_at *at,
			       struct mpk_error *err)
{
	struct parts parts = { page, view, map, mpk_json_array(&page->json, at, "parts") };

	MPK_TRY(mpk_extract_each(view, parts_put_file, &parts, err));
	return put_all_images(page, view, parts.list, err);
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
	mpk_list_about_json(view, true, j, mpk_json_object(j, at, "about"));
	MPK_TRY(put_sizes(view, j, at, err)); /* takes most memory, the page grows later */
	list = mpk_json_array(j, at, "tree");
	for (size_t i = 0; i < view->count; i++)
		page_put_module(view, i, j, list);
	MPK_TRY(put_calls(page, view, at, err));
	MPK_TRY(put_parts(page, view, file ? file->map : NULL, at, err));
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
