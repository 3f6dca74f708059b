/* SPDX-License-Identifier: Apache-2.0 */
/* parts.c - writes the contents of modules into the page's document: parts as --extract would write
 * them; the content of texts, up to a limit; source files; listings of machine code; graphs */
#include <string.h>

#include "graph/dot.h"
#include "model/device_code.h"
#include "model/kernel_list.h"
#include "model/node_info.h"
#include "page/internal/page.h"
#include "text/escape.h"

/* The colouring rules of a text, by the suffix that --extract gives it. */
static const struct {
	const char *suffix, *language;
} languages[] = {
	{ ".ptx", "ptx" },   { ".cl", "opencl" }, { ".cu", "cuda" }, { ".metal", "metal" },
	{ ".wgsl", "wgsl" }, { ".json", "json" }, { ".c", "c" },     { ".cc", "c" },
	{ ".cpp", "c" },     { ".cuh", "cuda" },  { ".h", "c" },     { ".txt", "bytecode" },
	{ ".hip", "cuda" },  { ".ll", "llvm" },
};

static bool ends_in(const char *name, const char *suffix)
{
	size_t len = strlen(name), end = strlen(suffix);

	return len >= end && strcmp(name + len - end, suffix) == 0;
}

static const char *source_language(const char *name)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(languages); i++)
		if (ends_in(name, languages[i].suffix))
			return languages[i].language;
	return "text";
}

void mpk_page_sources(struct mpk_page *page)
{
	struct mpk_json *j = &page->json;
	struct mpk_json_at *o,
		*list = page->source_count ? mpk_json_array(j, j->root, "sources") : NULL;

	for (size_t i = 0; i < page->source_count; i++) {
		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "name", page->sources[i].name);
		mpk_json_text(j, o, "language", source_language(page->sources[i].name));
		mpk_json_span(j, o, "text", page->sources[i].text);
	}
	if (page->times)
		mpk_json_span(j, j->root, "times", *page->times);
}

/* A text has no control characters except for layout. A long one is judged by its beginning. */
static bool parts_is_text(struct mpk_span s)
{
	enum { JUDGED = 4096 };

	for (size_t i = 0; i < s.len && i < JUDGED; i++)
		if (s.data[i] == 0x7f || (s.data[i] < 0x20 && !memchr("\t\n\r\f", s.data[i], 4)))
			return false;
	return s.len > 0;
}

/* Cuts a text to the limit, after a whole line, or at least after a whole character. */
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

/* Writes the content of a text. For a tensor, or a text of several pieces, it writes only the
 * name. */
static void parts_put_text(struct mpk_page *page, const struct mpk_extract_file *f,
			   struct mpk_json_at *row)
{
	const struct mpk_piece *piece = f->content.count == 1 ? f->content.pieces : NULL;
	uint64_t most = page->texts_left < page->text_most ? page->texts_left : page->text_most;
	struct mpk_span all, shown;

	most = most < page->room_left ? most : page->room_left;
	if (!piece || !piece->data || f->tensor)
		return;
	all = mpk_span_of(piece->data, (size_t)piece->len);
	while (all.len && all.data[all.len - 1] == 0) /* PTX ends with a NUL */
		all.len--;
	if (!parts_is_text(all))
		return;
	shown = cut(all, most);
	page->texts_left -= shown.len;
	mpk_page_uses(page, shown.len);
	mpk_json_text(&page->json, row, NULL, source_language(f->name));
	mpk_json_span(&page->json, row, NULL, shown);
	if (shown.len < all.len)
		mpk_json_u64(&page->json, row, NULL, shown.len);
}

/* The page compares parts of several files by digest. */
static enum mpk_code parts_put_digest(struct mpk_page *page, struct mpk_extract_file *f,
				      const struct mpk_mapping *map, struct mpk_json_at *row,
				      struct mpk_error *err)
{
	uint8_t digest[MPK_DIGEST_BYTES];
	char digits[MPK_DIGEST_TEXT];

	/* large parts are read through windows of the file, since a mapping would count as
	 * memory */
	if (map)
		mpk_mapping_use_file(map, &f->content);
	MPK_TRY(mpk_digest_rope(MPK_DIGEST_XXH128, &f->content, NULL, digest, err));
	mpk_json_text(&page->json, row, NULL,
		      mpk_digest_print(digest, mpk_digest_bytes(MPK_DIGEST_XXH128), digits));
	return MPK_OK;
}

static void parts_put_tensor(struct mpk_page *page, const struct mpk_tensor_record *tensor,
			     struct mpk_json_at *row)
{
	struct mpk_json *j = &page->json;
	char type[MPK_DTYPE_TEXT];

	if (tensor) {
		mpk_json_text(j, row, NULL, mpk_dtype_print(tensor->dtype, type));
		mpk_json_i64s(j, row, NULL, tensor->shape, tensor->ndim);
		return;
	}
	mpk_json_null(j, row, NULL);
	mpk_json_null(j, row, NULL);
}

static enum mpk_code parts_put_part(struct mpk_page *page, struct mpk_extract_file *f,
				    const struct mpk_mapping *map, struct mpk_json_at *list,
				    struct mpk_error *err)
{
	struct mpk_json *j = &page->json;
	struct mpk_json_at *row;
	/* the first step of the name is the module's folder, which the page shows elsewhere */
	const char *slash = strchr(f->name, '/');

	if (!mpk_page_has_room(page))
		return MPK_OK;
	row = mpk_json_array(j, list, NULL);
	mpk_page_shared_text(page, j, row, f->path);
	mpk_page_shared_text(page, j, row, slash ? slash + 1 : f->name);
	if (f->title.len)
		mpk_page_shared(page, j, row, f->title);
	else
		mpk_json_null(j, row, NULL);
	/* for an .npy file, without its header, as --size counts */
	mpk_json_u64(j, row, NULL, f->stored ? f->bytes : f->content.len);
	mpk_json_bool(j, row, NULL, f->stored);
	parts_put_tensor(page, f->tensor, row);
	if (mpk_page_compares(page))
		MPK_TRY(parts_put_digest(page, f, map, row, err));
	else
		mpk_json_null(j, row, NULL);
	parts_put_text(page, f, row);
	return MPK_OK;
}

/* Unpacks a packed part while it is being read. */
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
	/* the content was in scratch */
	f->content = (struct mpk_rope){ 0 };
	return code;
}

/* Adds texts in a container with other images, such as the PTX of a fatbin, under the names that
 * --show takes. */
static enum mpk_code put_images(struct mpk_page *page, const struct mpk_view *view,
				const char *path, const struct mpk_code_info *code,
				struct mpk_json_at *list, struct mpk_error *err)
{
	for (size_t i = 0; i < code->image_count; i++) {
		const struct mpk_code_info *image = &code->images[i];
		struct mpk_extract_file file = { .path = path,
						 .content = { .arena = view->arena } };

		if (!image->format || !image->format->is_text || image->problem)
			continue;
		file.name = mpk_arena_printf(view->arena, "images/%s.%s",
					     MPK_QUOTE(mpk_span_str(image->target)),
					     mpk_device_suffix(image));
		MPK_TRY_ALLOC(file.name, err);
		mpk_rope_put_view(&file.content, image->bytes);
		MPK_TRY(mpk_rope_status(&file.content, err));
		MPK_TRY(parts_put_part(page, &file, NULL, list, err));
	}
	return MPK_OK;
}

/* Visits modules in the order of the tree, then the code outside it. */
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

/* Where the rows of the parts are written. */
struct parts {
	struct mpk_page *page;
	const struct mpk_view *view;
	const struct mpk_mapping *map;
	struct mpk_json_at *list;
};

static enum mpk_code parts_put_file(struct mpk_extract_file *f, void *arg, struct mpk_error *err)
{
	const struct parts *p = arg;

	if (ends_in(f->name, "/functions.json")) /* the page has its own table of functions */
		return MPK_OK;
	return unpack_part(p->page, p->view, f, p->map, p->list, err);
}

/* --- listings of machine code ----------------------------------------------------------------- */

/* Adds the listings of --disasm: host functions, and GPU code that no
 * text of the file shows, while there is room. The lines contain source line numbers from debug
 * information; the page's script connects them with source files. */

struct code_put {
	struct mpk_page *page;
	struct mpk_json_at *list;
	struct mpk_json problems; /* a list of its own, as listings are still being added */
	struct mpk_strmap said;   /* problems already listed */
	bool is_full;
};

/* A text is already among the sources. */
static bool is_text(const struct mpk_listing *l)
{
	static const char *const machine[] = { "cubin", "spirv" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(machine); i++)
		if (strcmp(l->format, machine[i]) == 0)
			return false;
	return !l->symbol;
}

/* Writes the instruction counts of each source line of a kernel in a listing: [kernel, file, line,
 * instructions, all instructions of the kernel, "global loads 4 of 16 B"]; the page shows them next
 * to the source. */
static enum mpk_code put_work(const struct mpk_listing *l, struct mpk_json *j,
			      struct mpk_json_at *row, struct mpk_error *err)
{
	struct mpk_json_at *list = mpk_json_array(j, row, NULL), *o;

	for (size_t k = 0; l->code && !l->continues && k < l->code->kernel_count; k++) {
		MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
		struct mpk_span name = l->code->kernels[k].name;
		struct mpk_work_lines lines;
		struct mpk_work whole;

		if ((l->name.len && !mpk_span_equal(l->name, name)) ||
		    !mpk_code_work(l->code, k, &whole))
			continue;
		MPK_TRY(mpk_work_lines(l->code, mpk_code_of_kernel(l->code, k), l->rows, &arena,
				       &lines, err));
		for (size_t i = 0; i < lines.count; i++) {
			struct mpk_strbuf what = { 0 };

			o = mpk_json_array(j, list, NULL);
			mpk_json_span(j, o, NULL, name);
			mpk_json_text(j, o, NULL, lines.items[i].file);
			mpk_json_u64(j, o, NULL, lines.items[i].line);
			mpk_json_u64(j, o, NULL, lines.items[i].work.all);
			mpk_json_u64(j, o, NULL, whole.all);
			mpk_work_put_rest(&lines.items[i].work, &what);
			mpk_json_take(j, o, NULL, &what);
		}
	}
	return MPK_OK;
}

/* A listing in several pieces gives several rows. */
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
	return put_work(l, j, row, err);
}

/* Lists each reason for a missing listing once. A temporary failure is an error. */
/* @container  the container to list; NULL means that text names the code */
static enum mpk_code ask_code(struct code_put *p, const struct mpk_view *view, const char *what,
			      const struct mpk_image_device *container, struct mpk_error *err)
{
	const struct mpk_disasm_sink sink = { code_put, p };
	struct mpk_error error = { 0 };
	const char *text;
	enum mpk_code code;

	if (p->is_full)
		return MPK_OK;
	code = container
		       ? mpk_view_disasm_container(view, container, p->page->disasm, &sink, &error)
		       : mpk_view_disasm(view, what, p->page->disasm, &sink, &error);
	if (code == MPK_OK || p->is_full)
		return MPK_OK;
	if (code == MPK_E_NOMEM || code == MPK_E_IO) {
		*err = error;
		return code;
	}
	text = mpk_arena_text(&p->page->arena, mpk_span_str(error.text));
	MPK_TRY_ALLOC(text, err);
	/* a text, or a file without code, is not a problem */
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
	const struct mpk_image *image = view->image;

	if (image->function_count)
		MPK_TRY(ask_code(p, view, NULL, NULL, err));
	for (size_t i = 0; i < view->count; i++)
		if (has_machine_code(&view->nodes[i]))
			MPK_TRY(ask_code(p, view, view->nodes[i].path, NULL, err));
	for (size_t i = 0; i < image->embedded_count; i++)
		if (is_machine_code(&view->embedded[i].code))
			MPK_TRY(ask_code(p, view, view->embedded[i].path, NULL, err));
	for (size_t i = 0; i < image->device_count; i++)
		MPK_TRY(ask_code(p, view, NULL, &image->devices[i], err));
	return MPK_OK;
}

static enum mpk_code put_code(struct mpk_page *page, const struct mpk_view *view,
			      struct mpk_json_at *at, struct mpk_error *err)
{
	struct mpk_json *j = &page->json;
	struct code_put put = { .page = page };
	enum mpk_code code = MPK_OK;

	if (!page->disasm)
		return MPK_OK;

	put.list = mpk_json_array(j, at, "code");
	mpk_json_init_list(&put.problems);
	code = ask_all(&put, view, err);
	j->failed |= put.problems.failed;
	mpk_json_document(j, at, "code_problems", &put.problems);
	mpk_json_bool(j, at, "code_is_cut", put.is_full);
	mpk_json_fini(&put.problems);
	mpk_strmap_fini(&put.said);
	return code == MPK_OK ? MPK_OK : mpk_failed(code);
}

/* --- graphs ----------------------------------------------------------------------------------- */

/* Graphs have thousands of nodes, so nodes are identified by position and edges are short lists. */
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
		if (g->nodes[i].constants[0])
			mpk_json_text(j, o, "constants", g->nodes[i].constants);
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
	struct mpk_model_graphs graphs;
	struct mpk_json_at *list;

	MPK_TRY(mpk_model_graphs_read(view, &graphs, err));
	list = graphs.count ? mpk_json_array(j, at, "graphs") : NULL;
	for (size_t i = 0; i < graphs.count; i++)
		put_graph(&graphs.items[i], j, list);
	return MPK_OK;
}

enum mpk_code mpk_page_parts(struct mpk_page *page, const struct mpk_view *view,
			     const struct mpk_mapping *map, struct mpk_json_at *at,
			     struct mpk_error *err)
{
	struct parts parts = { page, view, map, mpk_json_array(&page->json, at, "parts") };

	MPK_TRY(mpk_extract_each(view, parts_put_file, &parts, err));
	MPK_TRY(put_all_images(page, view, parts.list, err));
	MPK_TRY(put_code(page, view, at, err));
	return put_graphs(view, &page->json, at, err);
}
