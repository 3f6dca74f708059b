/* SPDX-License-Identifier: Apache-2.0 */
/* page.c - --html: the JSON document in the page, and the page around it
 *
 * The template is built into the program, in one piece; the document goes in at its mark. All that a view of
 * the page shows is put here from what the other answers know, so that the page never says anything else. */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "code/show.h"
#include "graph/dot.h"
#include "list/list.h"
#include "model/device_code.h"
#include "model/node_info.h"
#include "page/internal/page.h"

/* The template, as the build put it together: page.html with style, script and their hashes in it. */
__asm__(".pushsection .rodata,\"a\",@progbits\n"
	".hidden mpk_page_template\n"
	".globl mpk_page_template\n"
	"mpk_page_template:\n"
	".incbin \"page/page.html\"\n"
	".byte 0\n"
	".popsection\n");
extern const char mpk_page_template[];

/* How many boxes of the map are within another. */
enum { MAP_MOST = 300, ARCHIVE_MAP_MOST = 40 };

/* Tables have what these lines say in figures: an archive has tens of thousands of them. */
enum { ARCHIVE_LINES_MOST = 1 << 19 };

/* What a browser shows at once of an archive: 5 MiB with the template, what is read without scripts, and marks of JSON. */
enum { ARCHIVE_ROOM = 4 << 20, NUMBER_BYTES = 6, CONTAINER_BYTES = 120 };

/* Where the document goes in the template, and before it what is shown where scripts are switched off. */
static const char PLAIN_MARK[] = "@PLAIN@", DATA_MARK[] = "@DATA@";

/* What is complete leaves the writer as bytes: they take less memory than its tree. */
static void page_take(const char *text, size_t len, void *arg)
{
	struct mpk_page *page = arg;

	mpk_rope_put_bytes(&page->document, mpk_span_of(text, len));
}

void mpk_page_init(struct mpk_page *page, bool several)
{
	*page = (struct mpk_page){ .texts_left = MPK_PAGE_TEXTS_MAX,
				   .text_most = MPK_PAGE_TEXT_MAX,
				   .map_most = MAP_MOST,
				   .code_left = MPK_PAGE_CODE_MAX,
				   .lines_left = UINT64_MAX,
				   .room_left = UINT64_MAX,
				   .several = several };
	page->document = mpk_rope_of(&page->arena);
	mpk_json_init(&page->json, 1);
	/* in a form that is safe inside of a script element of HTML */
	page->json.in_script = true;
	mpk_json_stream(&page->json, page_take, page);
}

void mpk_page_fini(struct mpk_page *page)
{
	mpk_json_fini(&page->json);
	mpk_strbuf_fini(&page->rest);
	mpk_strbuf_fini(&page->plain);
	mpk_strmap_fini(&page->numbers);
	free(page->strings);
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
		struct mpk_json_at *o = mpk_list_model_json(m, j, list);

		mpk_json_text(j, o, "module", n->path);
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
	struct mpk_strbuf title = { 0 }, lines = { 0 };
	struct mpk_json_at *o;

	if (!mpk_page_has_room(l->page))
		return mpk_page_kernels(l->page, NULL, NULL, c, l->kernels, err);
	o = mpk_json_object(j, j->root, NULL);
	mpk_json_text(j, o, "path", c->path);
	mpk_json_text(j, o, "member", c->at->member);
	mpk_json_u64(j, o, "offset", c->at->off);
	mpk_json_u64(j, o, "bytes", c->at->bytes.len);
	mpk_code_info_text(&c->code, &title);
	if (!c->code.problem && c->code.format->lines)
		c->code.format->lines(&c->code, "", &lines);
	mpk_page_uses(l->page, title.len + lines.len + CONTAINER_BYTES);
	mpk_json_take(j, o, "title", &title);
	mpk_json_take(j, o, "lines", &lines);
	return mpk_page_kernels(l->page, NULL, NULL, c, l->kernels, err);
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
		MPK_TRY(mpk_page_kernels(page, view, &view->nodes[i], NULL, l.kernels, err));
	for (size_t i = 0; i < view->image->embedded_count; i++)
		MPK_TRY(mpk_page_kernels(page, view, NULL, &view->embedded[i], l.kernels, err));
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
	struct mpk_json_at *list = mpk_json_array(j, at, "graphs");
	struct mpk_model_graphs graphs;

	MPK_TRY(mpk_model_graphs_read(view, &graphs, err));
	for (size_t i = 0; i < graphs.count; i++)
		put_graph(&graphs.items[i], j, list);
	return MPK_OK;
}

/* --- lists of many rows ----------------------------------------------------------------------- */

/* A wheel has tens of thousands of kernels, with the same
 * names in each library and for each device, so that a row is an array, and a text that stands in several is
 * written once. */

void mpk_page_shared(struct mpk_page *page, struct mpk_json *j, struct mpk_json_at *row,
		     struct mpk_span text)
{
	struct mpk_span key = text.len ? text : mpk_span_of("", 0);
	size_t number;
	uint8_t *copy;

	mpk_page_uses(page, NUMBER_BYTES);
	if (mpk_strmap_find(&page->numbers, key, &number)) {
		mpk_json_u64(j, row, NULL, number);
		return;
	}
	copy = (uint8_t *)mpk_arena_copy(&page->arena, key.data, key.len);
	if (!copy ||
	    !mpk_vec_reserve(&page->strings, &page->string_cap, page->string_count + 1,
			     sizeof *page->strings) ||
	    mpk_strmap_put(&page->numbers, mpk_span_of(copy, key.len), page->string_count, NULL) <
		    0) {
		j->failed = true;
		return;
	}
	mpk_json_u64(j, row, NULL, page->string_count);
	page->strings[page->string_count++] = mpk_span_of(copy, key.len);
	mpk_page_uses(page, key.len + NUMBER_BYTES);
}

bool mpk_page_has_room(struct mpk_page *page)
{
	page->cut_rows += !page->room_left;
	return page->room_left != 0;
}

void mpk_page_shared_text(struct mpk_page *page, struct mpk_json *j, struct mpk_json_at *row,
			  const char *text)
{
	if (text)
		mpk_page_shared(page, j, row, mpk_span_str(text));
	else
		mpk_json_null(j, row, NULL);
}

/* Put "columns", "figures" and "strings"; no row can be added afterwards. */
static void page_tables(struct mpk_page *page)
{
	static const char *const kernels[] = { "$name",    "$module", "$signature",
					       "$call",    "$title",  "*lines",
					       "*figures", "xxh128",  "around" };
	static const char *const parts[] = { "$module",  "$name", "$title", "bytes",
					     "stored",   "dtype", "shape",  "xxh128",
					     "language", "text",  "shown" };
	static const char *const code[] = { "$path", "$name", "$format", "$target", "text" };
	static const char *const map[] = { "depth", "$kind",   "$name", "bytes",
					   "$path", "$symbol", "plain" };
	struct mpk_json *j = &page->json;
	struct mpk_json_at *at = mpk_json_object(j, j->root, "columns"), *list, *row;

	mpk_json_texts(j, at, "kernels", kernels, MPK_ARRAY_COUNT(kernels));
	mpk_json_texts(j, at, "code", code, MPK_ARRAY_COUNT(code));
	mpk_json_texts(j, at, "map", map, MPK_ARRAY_COUNT(map));
	mpk_json_texts(j, at, "parts", parts, MPK_ARRAY_COUNT(parts));
	/* what the figures of a kernel are, which follow the device and what the code is: "sm_90|cubin|24||" */
	list = mpk_json_array(j, j->root, "figures");
	for (unsigned i = 0; i < MPK_FIGURE_COUNT; i++) {
		const struct mpk_figure_row *f = mpk_figure_row((enum mpk_figure)i);

		row = mpk_json_object(j, list, NULL);
		mpk_json_text(j, row, "word", f->word);
		mpk_json_text(j, row, "label", f->label);
		mpk_json_text(j, row, "title", f->title);
		mpk_json_bool(j, row, "is_bytes", f->is_bytes);
	}
	mpk_json_spans(j, j->root, "strings", page->strings, page->string_count);
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

/* An archive may have many libraries, most of which have the same.
 * Returns  what of the room is not for this one */
static uint64_t enter_archive(struct mpk_page *page)
{
	uint64_t kept;

	page->several = true;
	page->text_most = MPK_PAGE_ARCHIVE_TEXT_MAX;
	page->map_most = ARCHIVE_MAP_MOST;
	if (page->lines_left > ARCHIVE_LINES_MOST)
		page->lines_left = ARCHIVE_LINES_MOST;
	if (page->room_left > ARCHIVE_ROOM)
		page->room_left = ARCHIVE_ROOM;
	page->disasm = NULL; /* they are many, and code is asked for library by library */
	if (page->texts_left > MPK_PAGE_ARCHIVE_TEXTS_MAX)
		page->texts_left = MPK_PAGE_ARCHIVE_TEXTS_MAX;
	kept = page->room_left / 4;
	page->room_left -= kept;
	return kept;
}

static void put_sources(const struct mpk_page *page, struct mpk_json *j, struct mpk_json_at *list)
{
	for (size_t i = 0; i < page->source_count; i++) {
		const struct mpk_page_source *s = &page->sources[i];
		struct mpk_json_at *o = mpk_json_object(j, list, NULL);

		mpk_json_text(j, o, "name", s->name);
		mpk_json_text(j, o, "language", mpk_page_language(s->name));
		mpk_json_span(j, o, "text", s->text);
	}
}

static struct mpk_json_at *begin_file(struct mpk_page *page)
{
	struct mpk_json *j = &page->json;

	if (!page->files) {
		if (page->source_count)
			put_sources(page, j, mpk_json_array(j, j->root, "sources"));
		if (page->times)
			mpk_json_span(j, j->root, "times", *page->times);
		page->files = mpk_json_array(j, j->root, "files");
	}
	page->file_count++;
	return mpk_json_object(j, page->files, NULL);
}

enum mpk_code mpk_page_add(struct mpk_page *page, const struct mpk_view *view,
			   const struct mpk_verify_file *file, struct mpk_error *err)
{
	struct mpk_json *j = &page->json;
	struct mpk_json_at *at, *list;
	uint64_t kept = 0; /* room that one library leaves to the next ones */

	at = begin_file(page);
	page->cut_rows = 0;
	if (page->of_archive)
		kept = enter_archive(page);
	/* packed code is longer than the file; more than this only a hostile file needs */
	page->digests_left = 8 * view->file_bytes;
	mpk_list_about_json(view, true, j, mpk_json_object(j, at, "about"));
	MPK_TRY(mpk_page_sizes(page, view, at, err)); /* takes most memory, the page grows later */
	list = mpk_json_array(j, at, "tree");
	for (size_t i = 0; i < view->count; i++)
		page_put_module(view, i, j, list);
	MPK_TRY(put_calls(page, view, at, err));
	MPK_TRY(mpk_page_parts(page, view, file ? file->map : NULL, at, err));
	MPK_TRY(put_graphs(view, j, at, err));
	mpk_json_u64(j, at, "cut_rows", page->cut_rows);
	page->room_left += kept;
	MPK_TRY(put_findings(view, file, j, at, err));
	return j->failed ? mpk_fail_nomem(err) : MPK_OK;
}

enum mpk_code mpk_page_add_weights(struct mpk_page *page, const struct mpk_weightfile *f,
				   const struct mpk_tap *tap, struct mpk_error *err)
{
	const struct mpk_page_listing listing = { "What is in it", "", &mpk_answer_weights, f };
	struct mpk_weightfile shown = *f;
	struct mpk_json *j = &page->json;
	struct mpk_json_at *at = begin_file(page), *about;
	struct mpk_report report = { 0 };
	const struct mpk_verified verified = { f->name, &report };
	enum mpk_code code;

	shown.has_figures = true;
	about = mpk_json_object(j, at, "about");
	mpk_json_text(j, about, "file", f->name);
	mpk_json_u64(j, about, "bytes", f->bytes);
	mpk_json_text(j, about, "container", "weights");
	mpk_json_text(j, about, "title", f->set.weights.format->title);
	mpk_answer_weights.json(&shown, j, mpk_json_object(j, at, "weights"));
	mpk_page_listings(page, f->name, &listing, 1);
	code = mpk_weightfile_verify(f, tap, &report, err);
	if (code == MPK_OK)
		mpk_answer_verify.json(&verified, j, mpk_json_object(j, at, "verify"));
	mpk_report_fini(&report);
	return code != MPK_OK ? code : j->failed ? mpk_fail_nomem(err) : MPK_OK;
}

enum mpk_code mpk_page_document(struct mpk_page *page, struct mpk_rope *out, struct mpk_error *err)
{
	page_tables(page);
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
	/* the template is part of the program: it always has the marks */
	const char *plain = strstr(mpk_page_template, PLAIN_MARK);
	const char *data = strstr(plain, DATA_MARK);
	const char *between = plain + strlen(PLAIN_MARK);

	mpk_rope_put_view(out, mpk_span_of(mpk_page_template, (size_t)(plain - mpk_page_template)));
	mpk_rope_put_view(out, mpk_span_of(page->plain.data, page->plain.len));
	mpk_rope_put_view(out, mpk_span_of(between, (size_t)(data - between)));
	MPK_TRY(mpk_page_document(page, out, err));
	mpk_rope_put_view(out, mpk_span_str(data + strlen(DATA_MARK)));
	return mpk_rope_status(out, err);
}
