/* SPDX-License-Identifier: Apache-2.0 */
/* page.c - --html: writes the JSON document of the page, and the page around it
 *
 * The template is built into the program as one text; the document is inserted at its mark. All
 * data come from the printers of other commands, so the page and the commands always agree. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "code/show.h"
#include "list/list.h"
#include "map/map.h"
#include "memory/memory.h"
#include "model/kernel_list.h"
#include "occupancy/occupancy.h"
#include "page/internal/page.h"
#include "size/size.h"
#include "text/escape.h"
#include "text/facts.h"

/* The template from the build: page.html with style, script and their hashes inserted. */
#ifdef __wasm__
__asm__(".section .rodata.page,\"\",@\n"
	".globl mpk_page_template\n"
	".type mpk_page_template,@object\n"
	"mpk_page_template:\n"
	".incbin \"page/page.html\"\n"
	".byte 0\n"
	".size mpk_page_template, .-mpk_page_template\n");
#else
__asm__(".pushsection .rodata,\"a\",@progbits\n"
	".hidden mpk_page_template\n"
	".globl mpk_page_template\n"
	"mpk_page_template:\n"
	".incbin \"page/page.html\"\n"
	".byte 0\n"
	".popsection\n");
#endif
extern const char mpk_page_template[];

enum {
	/* boxes of the map within another box */
	MAP_MOST = 300,
	ARCHIVE_MAP_MOST = 40,
	/* the tables of an archive have tens of thousands of kernels, so their text lines are
	 * limited */
	ARCHIVE_LINES_MOST = 1 << 19,
	/* what a browser displays without delay: 5 MiB with the template, the listings without
	 * scripts, and JSON syntax */
	ARCHIVE_ROOM = 4 << 20,
	NUMBER_BYTES = 6,
	SPILLS_MOST = 10, /* kernels listed in "spills" */
};

/* Marks in the template: for the document, and before it for the listings without scripts. */
static const char PLAIN_MARK[] = "@PLAIN@", DATA_MARK[] = "@DATA@";

/* Completed parts leave the JSON writer as bytes, which take less memory than its tree. */
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
	page->templates = mpk_templates_create();
	mpk_json_init(&page->json, 1);
	/* escape for a script element of HTML */
	page->json.in_script = true;
	mpk_json_stream(&page->json, page_take, page);
}

void mpk_page_fini(struct mpk_page *page)
{
	mpk_templates_destroy(page->templates);
	mpk_totals_fini(&page->totals);
	mpk_json_fini(&page->json);
	mpk_strbuf_fini(&page->rest);
	mpk_strbuf_fini(&page->plain);
	mpk_strmap_fini(&page->numbers);
	free(page->strings);
	mpk_arena_fini(&page->arena);
}

/* --- lists of many rows ----------------------------------------------------------------------- */

/* A wheel has tens of thousands of kernels, with the same
 * names in each library and for each device. So a row is an array, and repeated texts are stored
 * once. */

/* Returns the number of a text in "strings", and adds it if it is new. */
static size_t number_of(struct mpk_page *page, struct mpk_json *j, struct mpk_span text)
{
	struct mpk_span key = text.len ? text : mpk_span_of("", 0);
	size_t number = 0;
	uint8_t *copy;

	mpk_page_uses(page, NUMBER_BYTES);
	if (mpk_strmap_find(&page->numbers, key, &number))
		return number;
	copy = (uint8_t *)mpk_arena_copy(&page->arena, key.data, key.len);
	if (!copy ||
	    !mpk_vec_reserve(&page->strings, &page->string_cap, page->string_count + 1,
			     sizeof *page->strings) ||
	    mpk_strmap_put(&page->numbers, mpk_span_of(copy, key.len), page->string_count, NULL) <
		    0) {
		j->failed = true;
		return 0;
	}
	page->strings[page->string_count] = mpk_span_of(copy, key.len);
	mpk_page_uses(page, key.len + NUMBER_BYTES);
	return page->string_count++;
}

void mpk_page_shared(struct mpk_page *page, struct mpk_json *j, struct mpk_json_at *row,
		     struct mpk_span text)
{
	mpk_json_u64(j, row, NULL, number_of(page, j, text));
}

void mpk_page_shared_member(struct mpk_page *page, struct mpk_json *j, struct mpk_json_at *at,
			    const char *name, struct mpk_strbuf *text)
{
	j->failed |= text->failed;
	mpk_json_u64(j, at, name, number_of(page, j, mpk_span_of(text->data, text->len)));
	mpk_strbuf_fini(text);
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

/* Puts "kernels", the counts of --functions over all files, "totals", the lines of the listing of a
 * set, and "spills", the first rows of --spills. */
static void page_count(struct mpk_page *page)
{
	const struct mpk_templates_form form = { .table = page->templates,
						 .many = page->file_count > 1,
						 .top = SPILLS_MOST };
	struct mpk_strbuf line = { 0 }, totals = { 0 };

	if (page->totals.count && page->file_count > 1) {
		mpk_answer_totals.text(&page->totals, (struct mpk_style){ .unicode = true },
				       &totals);
		mpk_json_take(&page->json, page->json.root, "totals", &totals);
	}
	if (!page->templates || !mpk_templates_rows(page->templates))
		return;
	mpk_answer_templates.line(&form, (struct mpk_style){ 0 }, &line);
	mpk_json_take(&page->json, page->json.root, "kernels", &line);
	mpk_answer_spills.json(&form, &page->json, page->json.root);
}

/* Puts "columns", "figures" and "strings"; no row can be added afterwards. */
static void page_tables(struct mpk_page *page)
{
	static const char *const kernels[] = { "$name",    "$module", "$signature",
					       "$call",    "$title",  "*lines",
					       "*figures", "xxh128",  "around" };
	static const char *const parts[] = { "$module",  "$name", "$title", "bytes",
					     "stored",   "dtype", "shape",  "xxh128",
					     "language", "text",  "shown" };
	static const char *const occupancy[] = { "$name",  "$target", "percent", "threads",
						 "$block", "$limit",  "lanes",   "$chart" };
	static const char *const steps[] = { "$name", "bytes" };
	static const char *const storages[] = {
		"bytes", "$kind", "first", "end", "$type", "tensors"
	};
	static const char *const code[] = {
		"$path", "$name", "$format", "$target", "text", "work"
	};
	static const char *const map[] = { "depth", "$kind",   "$name", "bytes",
					   "$path", "$symbol", "plain" };
	struct mpk_json *j = &page->json;
	struct mpk_json_at *at = mpk_json_object(j, j->root, "columns"), *list, *row;

	mpk_json_texts(j, at, "kernels", kernels, MPK_ARRAY_COUNT(kernels));
	mpk_json_texts(j, at, "code", code, MPK_ARRAY_COUNT(code));
	mpk_json_texts(j, at, "occupancy", occupancy, MPK_ARRAY_COUNT(occupancy));
	mpk_json_texts(j, at, "steps", steps, MPK_ARRAY_COUNT(steps));
	mpk_json_texts(j, at, "storages", storages, MPK_ARRAY_COUNT(storages));
	mpk_json_texts(j, at, "map", map, MPK_ARRAY_COUNT(map));
	mpk_json_texts(j, at, "parts", parts, MPK_ARRAY_COUNT(parts));
	/* meaning of a kernel's figures, which follow the device and the format:
	 * "sm_90|cubin|24||" */
	list = mpk_json_array(j, j->root, "figures");
	for (unsigned i = 0; i < MPK_FIGURE_COUNT; i++) {
		const struct mpk_figure_row *f = mpk_figure_row((enum mpk_figure)i);

		row = mpk_json_object(j, list, NULL);
		mpk_json_text(j, row, "word", f->word);
		mpk_json_text(j, row, "label", f->label);
		mpk_json_text(j, row, "title", f->title);
		mpk_json_bool(j, row, "is_bytes", f->is_bytes);
		mpk_json_bool(j, row, "is_percent", f->is_percent);
	}
	mpk_json_spans(j, j->root, "strings", page->strings, page->string_count);
}

/* --- listings for browsers without scripts
 * --------------------------------------------------------
 *
 * They are in <noscript>, so that a browser with scripts does not build them. */

/* A terminal command whose output is shown if scripts are switched off. */
struct listing {
	/* action: the option that prints all of it; "" for the plain listing */
	const char *title, *action;
	const struct mpk_answer *answer;
	const void *what;
};

/* Limits in bytes for one file, and for all of a page: the page of a wheel with many files must
 * stay small. */
enum { PLAIN_FILE_MOST = 64 << 10, PLAIN_MOST = 192 << 10 };

/* A tree with more modules is omitted, since most of it would be cut off. */
enum { PLAIN_MODULES_MOST = 5000 };

/* Numbers of copies and of names listed. */
enum { COPIES_MOST = 50, NAMED_MOST = 6 };

/* The state of one listing. */
struct plain {
	struct mpk_strbuf *out;
	size_t left;       /* bytes that may still be written */
	uint64_t left_out; /* number of lines left out */
};

static void put_html(struct mpk_strbuf *out, char c)
{
	const char *mark = c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : NULL;

	if (mark)
		mpk_strbuf_puts(out, mark);
	else
		mpk_strbuf_putc(out, c);
}

/* Writes a file name as a terminal would show it. */
static void put_html_name(struct mpk_page *page, const char *file)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 };

	mpk_escape(&name, mpk_span_str(file));
	page->json.failed |= name.failed;
	for (const char *p = mpk_strbuf_text(&name); *p; p++)
		put_html(&page->plain, *p);
}

/* Writes whole lines while there is room. */
static void plain_take(const char *text, size_t len, void *arg)
{
	struct plain *p = arg;

	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t line = end ? (size_t)(end - text) - at + 1 : len - at;

		if (line > p->left) {
			p->left = 0;
			p->left_out++;
		} else {
			p->left -= line;
			for (size_t i = 0; i < line; i++)
				put_html(p->out, text[at + i]);
		}
		at += line;
	}
}

static void put_answer(struct mpk_page *page, const struct listing *l, const char *file)
{
	static const struct mpk_style style = { .unicode = true };
	size_t left = page->plain.len < PLAIN_MOST ? PLAIN_MOST - page->plain.len : 0;
	struct plain p = { .out = &page->plain,
			   .left = left < PLAIN_FILE_MOST ? left : PLAIN_FILE_MOST };
	struct mpk_strbuf text = { .take = plain_take, .arg = &p };

	mpk_strbuf_printf(&page->plain, "<h3>%s</h3>\n<pre>", l->title);
	if (l->answer->text)
		l->answer->text(l->what, style, &text);
	else
		l->answer->line(l->what, style, &text);
	if (text.len)
		plain_take(text.data, text.len, &p);
	mpk_strbuf_puts(&page->plain, "</pre>\n");
	if (p.left_out) {
		mpk_strbuf_printf(&page->plain, "<p>%" PRIu64 " more lines: minspect %s%s",
				  p.left_out, l->action, *l->action ? " " : "");
		put_html_name(page, file);
		mpk_strbuf_puts(&page->plain, "</p>\n");
	}
	page->json.failed |= text.failed || page->plain.failed;
	mpk_strbuf_fini(&text);
}

static void put_listings(struct mpk_page *page, const char *file, const struct listing *listings,
			 size_t count)
{
	if (page->plain.len >= PLAIN_MOST) {
		page->unlisted++;
		return;
	}
	mpk_strbuf_puts(&page->plain, "<h2>");
	put_html_name(page, file);
	mpk_strbuf_puts(&page->plain, "</h2>\n");
	for (size_t i = 0; i < count; i++)
		put_answer(page, &listings[i], file);
}

/* --- copies and the map ------------------------------------------------------------------------ */

static const struct mpk_fact copied_kernel_facts[] = {
	{ MPK_FACT(SPAN, "name", struct mpk_size_kernel, item.name) },
	{ MPK_FACT(TEXT, "target", struct mpk_size_kernel, target) },
	{ MPK_FACT(COUNT, "bytes", struct mpk_size_kernel, item.bytes) },
	{ MPK_FACT(COUNT, "count", struct mpk_size_kernel, count) },
};

/* Lists bytes that the file contains twice, for the table of duplicates. */
static void put_copies(const struct mpk_size *size, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *list = mpk_json_array(j, at, "duplicates"), *o, *names;
	size_t count = size->same_kernel_count;
	uint64_t same = 0;

	for (size_t i = 0; i < size->copy_count && i < COPIES_MOST; i++) {
		const struct mpk_size_copies *c = &size->copies[i];

		o = mpk_json_object(j, list, NULL);
		mpk_json_u64(j, o, "bytes", size->sorted.items[c->first].bytes);
		mpk_json_u64(j, o, "count", c->count);
		names = mpk_json_array(j, o, "copies");
		for (size_t k = c->first; k < c->first + c->count && k < c->first + NAMED_MOST;
		     k++) {
			struct mpk_strbuf name = { 0 };

			mpk_strbuf_printf(&name, "%s ", size->sorted.items[k].path);
			mpk_strbuf_put_span(&name, size->sorted.items[k].name);
			mpk_json_take(j, names, NULL, &name);
		}
	}
	mpk_json_u64(j, at, "wasted", size->wasted);
	for (size_t i = 0; i < count; i++)
		same += size->same_kernels[i].item.bytes * (size->same_kernels[i].count - 1);
	mpk_facts_json_list(MPK_FACTS(copied_kernel_facts), "same_kernels", size->same_kernels,
			    count < COPIES_MOST ? count : COPIES_MOST, sizeof *size->same_kernels,
			    j, at);
	mpk_json_u64(j, at, "same_bytes", same);
}

/* Writes a row of the map: depth, kind, name, bytes; then the optional fields. */
static void put_map_row(struct mpk_page *page, const struct mpk_map_node *n,
			struct mpk_json_at *list)
{
	struct mpk_json *j = &page->json;
	struct mpk_json_at *row = mpk_json_array(j, list, NULL);
	bool is_packed = n->plain_bytes && n->plain_bytes != n->bytes;

	mpk_json_u64(j, row, NULL, n->depth);
	mpk_page_shared_text(page, j, row, n->kind);
	mpk_page_shared(page, j, row, n->name);
	mpk_json_u64(j, row, NULL, n->bytes);
	if (!n->symbol.len && !n->path && !is_packed)
		return;
	mpk_page_shared_text(page, j, row, n->path);
	if (!n->symbol.len && !is_packed)
		return;
	if (n->symbol.len)
		mpk_page_shared(page, j, row, n->symbol);
	else
		mpk_json_null(j, row, NULL);
	if (is_packed)
		mpk_json_u64(j, row, NULL, n->plain_bytes);
}

/* The depth of the map is bounded by the code that builds it, not by the file. For an archive, only
 * the largest children are written. */
static void put_map_node(struct mpk_page *page, const struct mpk_map *map, size_t at,
			 struct mpk_json_at *list)
{
	const struct mpk_map_node *n = &map->nodes[at];
	struct mpk_map_node rest = { .kind = "rest", .depth = n->depth + 1 };
	size_t count = 0;

	put_map_row(page, n, list);
	for (size_t i = n->first; i; i = map->nodes[i].next)
		/* what has no name of its own, such as headers, is not one of the smaller ones */
		if (strcmp(map->nodes[i].kind, "rest") == 0 || count++ < page->map_most)
			put_map_node(page, map, i, list);
		else
			rest.bytes += map->nodes[i].bytes;
	if (count > page->map_most) {
		char name[40];
		size_t left = count - page->map_most;

		(void)snprintf(name, sizeof name, "%zu smaller one%s", left, left == 1 ? "" : "s");
		rest.name = mpk_span_str(name);
		put_map_row(page, &rest, list);
	}
}

static enum mpk_code put_sizes(struct mpk_page *page, const struct mpk_view *view,
			       struct mpk_json_at *at, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_json *j = &page->json;
	struct mpk_size size;
	struct mpk_map map;
	const struct listing listings[] = {
		{ "What is in it", "",
		  view->count > PLAIN_MODULES_MOST ? &mpk_answer_brief : &mpk_answer_summary,
		  view },
		{ "Functions and kernels", "functions", &mpk_answer_functions, view },
		{ "Sizes", "size", &mpk_answer_size, &size },
	};

	MPK_TRY(mpk_size_read(view, &scratch, &size, err));
	put_listings(page, view->name, listings,
		     /* before the map: both take much memory while they are made */
		     MPK_ARRAY_COUNT(listings));
	if (size.copy_count || size.same_kernel_count)
		put_copies(&size, j, mpk_json_object(j, at, "size"));
	MPK_TRY(mpk_map_read(view, &size, &scratch, &map, err));
	put_map_node(page, &map, 0, mpk_json_array(j, at, "map"));
	return MPK_OK;
}

/* --- files ---------------------------------------------------------------------------------------- */

/* Divides the room among the libraries of a set, most of which have similar content.
 * Returns  the room that this library may not use */
static uint64_t enter_set(struct mpk_page *page)
{
	uint64_t kept;

	page->several = true;
	page->text_most = MPK_PAGE_ARCHIVE_TEXT_MAX;
	page->map_most = ARCHIVE_MAP_MOST;
	if (page->lines_left > ARCHIVE_LINES_MOST)
		page->lines_left = ARCHIVE_LINES_MOST;
	if (page->room_left > ARCHIVE_ROOM)
		page->room_left = ARCHIVE_ROOM;
	page->disasm = NULL; /* there are many, and the page requests code library by library */
	if (page->texts_left > MPK_PAGE_ARCHIVE_TEXTS_MAX)
		page->texts_left = MPK_PAGE_ARCHIVE_TEXTS_MAX;
	kept = page->room_left / 4;
	page->room_left -= kept;
	return kept;
}

static struct mpk_json_at *begin_file(struct mpk_page *page)
{
	if (!page->files) {
		mpk_page_sources(page);
		page->files = mpk_json_array(&page->json, page->json.root, "files");
	}
	page->file_count++;
	return mpk_json_object(&page->json, page->files, NULL);
}

/* Adds the report of --verify last, so that the page and the command always agree.
 * @code    result of writing the file so far */
static enum mpk_code end_file(struct mpk_page *page, struct mpk_json_at *at, const char *name,
			      struct mpk_report *report, enum mpk_code code, struct mpk_error *err)
{
	struct mpk_json *j = &page->json;

	if (code == MPK_OK)
		mpk_answer_verify.json(&(struct mpk_verified){ name, report, false }, j,
				       mpk_json_object(j, at, "verify"));
	mpk_report_fini(report);
	return code != MPK_OK ? code : j->failed ? mpk_fail_nomem(err) : MPK_OK;
}

static enum mpk_code count_kernels(struct mpk_page *page, const struct mpk_view *view,
				   struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_kernel_list list;

	MPK_TRY_ALLOC(page->templates, err);
	MPK_TRY(mpk_totals_add(&page->totals, view, err));
	MPK_TRY(mpk_kernel_list_read(view, MPK_KERNELS_OF_FILE, 0, &scratch, &list, err));
	return mpk_templates_add(page->templates, view, &list, err);
}

/* Puts the result of --occupancy for each kernel; for other block sizes, percent by warps per
 * block, "25 50 75". */
static enum mpk_code put_occupancy(struct mpk_page *page, const struct mpk_view *view,
				   struct mpk_json_at *at, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_occupancy_ask ask = { .by_block = true };
	struct mpk_json *j = &page->json;
	struct mpk_json_at *list, *row;
	struct mpk_occupancy_list all;

	MPK_TRY(mpk_occupancy_read(view, &ask, &scratch, &all, err));
	list = all.count ? mpk_json_array(j, at, "occupancy") : NULL;
	for (size_t i = 0; i < all.count; i++) {
		const struct mpk_occupancy_row *r = &all.items[i];
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf chart = { 0 };

		for (size_t k = 0; k < r->block_sizes; k++)
			mpk_strbuf_printf(&chart, "%s%u", k ? " " : "", r->by_block[k]);
		j->failed |= chart.failed;
		row = mpk_json_array(j, list, NULL);
		mpk_page_shared(page, j, row, r->name);
		mpk_page_shared_text(page, j, row, r->device);
		mpk_json_u64(j, row, NULL, r->percent);
		mpk_json_u64(j, row, NULL, r->threads);
		mpk_page_shared_text(page, j, row, mpk_block_from_words[r->block_from]);
		mpk_page_shared_text(page, j, row, mpk_occupancy_limit_words[r->limit]);
		mpk_json_u64(j, row, NULL, r->warp_lanes);
		mpk_page_shared(page, j, row, mpk_span_of(chart.data, chart.len));
	}
	return MPK_OK;
}

/* Writes a function's call: steps and storages are compact rows, since a hostile file may have any
 * number of them. */
static void put_call(struct mpk_page *page, const struct mpk_function_memory *f,
		     struct mpk_json_at *list)
{
	enum { ROWS_MAX = 50000 };
	struct mpk_json *j = &page->json;
	struct mpk_json_at *at = mpk_json_object(j, list, NULL), *rows, *row;

	mpk_memory_about_json(f, j, at);
	if (f->step_count > ROWS_MAX || f->storage_count > ROWS_MAX)
		return;
	rows = mpk_json_array(j, at, "steps");
	for (size_t i = 0; i < f->step_count; i++) {
		row = mpk_json_array(j, rows, NULL);
		mpk_page_shared(page, j, row, f->steps[i].name);
		mpk_json_u64(j, row, NULL, f->steps[i].bytes);
	}
	rows = mpk_json_array(j, at, "storages");
	for (size_t i = 0; i < f->storage_count; i++) {
		const struct mpk_memory_storage *s = &f->storages[i];
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf type = { 0 };

		if (s->type.kind != MPK_TYPE_ANY)
			mpk_type_text(&s->type, &type);
		j->failed |= type.failed;
		row = mpk_json_array(j, rows, NULL);
		mpk_json_u64(j, row, NULL, s->bytes);
		mpk_page_shared_text(page, j, row, mpk_memory_kind_word(s->kind));
		mpk_json_u64(j, row, NULL, s->first);
		mpk_json_u64(j, row, NULL, s->end);
		mpk_page_shared(page, j, row, mpk_span_of(type.data, type.len));
		mpk_json_u64(j, row, NULL, s->tensor_count);
	}
}

/* Writes the result of the memory action for each model. A model whose memory cannot be computed is
 * omitted; the action reports the reason. */
static enum mpk_code put_memory(struct mpk_page *page, const struct mpk_view *view,
				struct mpk_json_at *at, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_json *j = &page->json;
	struct mpk_json_at *list = NULL, *o, *functions;
	struct mpk_memory_list all;
	struct mpk_error problem = { 0 };
	enum mpk_code code = mpk_memory_read(view, &page->memory, true, &scratch, &all, &problem);

	if (code != MPK_OK)
		return code == MPK_E_NOMEM ? mpk_fail_nomem(err) : MPK_OK;
	for (size_t i = 0; i < all.count; i++) {
		const struct mpk_model_memory *m = &all.items[i].memory;

		if (!m->function_count)
			continue;
		list = list ? list : mpk_json_array(j, at, "memory");
		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "module", all.items[i].path);
		mpk_memory_model_json(m, j, o);
		functions = mpk_json_array(j, o, "functions");
		for (size_t k = 0; k < m->function_count; k++)
			put_call(page, &m->functions[k], functions);
	}
	return MPK_OK;
}

enum mpk_code mpk_page_add(struct mpk_page *page, const struct mpk_view *view,
			   const struct mpk_verify_file *file, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_json *j = &page->json;
	struct mpk_json_at *at = begin_file(page);
	struct mpk_report report = { 0 };
	uint64_t kept = 0; /* room reserved for the following libraries */

	page->cut_rows = 0;
	if (page->of_set)
		kept = enter_set(page);
	/* unpacked code is longer than the file; only a hostile file needs more than this */
	page->digests_left = 8 * view->file_bytes;
	mpk_list_about_json(view, true, j, mpk_json_object(j, at, "about"));
	if (page->of_set && !page->archive_bytes)
		mpk_json_bool(j, at, "in_folder", true);
	if (page->archive_bytes)
		mpk_json_u64(j, at, "archive_bytes", page->archive_bytes);
	MPK_TRY(mpk_page_devices(page, view, at, err));
	MPK_TRY(count_kernels(page, view, err));
	/* takes most memory, so it comes before the page grows */
	MPK_TRY(put_sizes(page, view, at, err));
	MPK_TRY(mpk_page_modules(page, view, at, err));
	if (!page->of_set) /* each library's own page has this */
		MPK_TRY(put_occupancy(page, view, at, err));
	if (!page->of_set)
		MPK_TRY(put_memory(page, view, at, err));
	MPK_TRY(mpk_page_parts(page, view, file ? file->map : NULL, at, err));
	if (page->cut_rows)
		mpk_json_u64(j, at, "cut_rows", page->cut_rows);
	page->room_left += kept;
	return end_file(page, at, view->name, &report,
			mpk_verify_run(view, file, &scratch, &report, err), err);
}

enum mpk_code mpk_page_add_weights(struct mpk_page *page, const struct mpk_weightfile *f,
				   const struct mpk_tap *tap, struct mpk_error *err)
{
	const struct listing listing = { "What is in it", "", &mpk_answer_weights, f };
	struct mpk_weightfile shown = *f;
	struct mpk_json *j = &page->json;
	struct mpk_json_at *at = begin_file(page), *about = mpk_json_object(j, at, "about");
	struct mpk_report report = { 0 };

	shown.has_figures = true;
	mpk_json_text(j, about, "file", f->name);
	mpk_json_u64(j, about, "bytes", f->bytes);
	mpk_json_text(j, about, "container", "weights");
	mpk_json_text(j, about, "title", f->set.weights.format->title);
	mpk_answer_weights.json(&shown, j, mpk_json_object(j, at, "weights"));
	put_listings(page, f->name, &listing, 1);
	return end_file(page, at, f->name, &report, mpk_weightfile_verify(f, tap, &report, err),
			err);
}

enum mpk_code mpk_page_document(struct mpk_page *page, struct mpk_rope *out, struct mpk_error *err)
{
	page_count(page);
	page_tables(page);
	MPK_TRY(mpk_rope_status(&page->document, err));
	MPK_TRY(mpk_json_print(&page->json, &page->rest, err));
	mpk_json_fini(&page->json);
	/* first the completed parts, then the rest */
	mpk_rope_put_rope(out, &page->document);
	mpk_rope_put_view(out, mpk_span_of(page->rest.data, page->rest.len));
	return mpk_rope_status(out, err);
}

enum mpk_code mpk_page_print(struct mpk_page *page, struct mpk_rope *out, struct mpk_error *err)
{
	/* the built-in template always has the marks */
	const char *plain = strstr(mpk_page_template, PLAIN_MARK);
	const char *data = strstr(plain, DATA_MARK);
	const char *between = plain + strlen(PLAIN_MARK);

	mpk_rope_put_view(out, mpk_span_of(mpk_page_template, (size_t)(plain - mpk_page_template)));
	if (page->unlisted)
		mpk_strbuf_printf(&page->plain, "<p>%zu more files: minspect FILE</p>\n",
				  page->unlisted);
	if (page->plain.failed)
		return mpk_fail_nomem(err);
	mpk_rope_put_view(out, mpk_span_of(page->plain.data, page->plain.len));
	mpk_rope_put_view(out, mpk_span_of(between, (size_t)(data - between)));
	MPK_TRY(mpk_page_document(page, out, err));
	mpk_rope_put_view(out, mpk_span_str(data + strlen(DATA_MARK)));
	return mpk_rope_status(out, err);
}
