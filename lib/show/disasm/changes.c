/* SPDX-License-Identifier: Apache-2.0 */
/* changes.c - shows the instructions of kernels and host functions that differ between two files
 *
 * A comparison lists the kernels whose code differs, by path, name, device and copy. Each file is
 * walked once in the order in which its kernels were numbered, and the listed kernels are
 * disassembled. The first file's instructions are kept, and those of the second are compared with
 * them at once. */
#include "disasm/changes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "compare/compare.h"
#include "disasm/internal/job.h"
#include "model/device_code.h"
#include "model/kernel_list.h"
#include "model/node_info.h"
#include "text/table.h"

/* Host functions come first, so their hunks are shorter: they would crowd out the rest. */
enum { CHANGES_MOST = 64, HUNKS_MOST = 16 << 10, HOST_HUNKS_MOST = 2 << 10 };
static const uint64_t IMAGE_BYTES_MOST = UINT64_C(64) << 20;

/* A kernel, an image or a host function whose code differs. */
struct change {
	struct mpk_difference *item;
	struct mpk_disasm_lines older, newer;
	bool is_found[2]; /* for each file: the code was found */
	/* for each file: the instructions of the kernel are counted */
	bool is_counted[2];
	struct mpk_work work[2];
	struct mpk_work_lines sources[2]; /* file names without folders, sorted */
};

/* The changes of a comparison that are shown. */
struct chosen {
	struct change items[CHANGES_MOST];
	size_t count, more;      /* number of changes that are shown, and that are not */
	struct mpk_arena *arena; /* arena of the comparison */
	const char *failure;     /* the first failure of a disassembler; NULL if none failed */
};

/* The walk through one of the two files. */
struct pass {
	struct mpk_disasm_job job;
	struct mpk_arena *arena; /* holds the keys */
	struct change *changes;
	size_t count;
	size_t side; /* 0: the older file, 1: the newer one */
	/* path in the keys of kernels; MPK_DEVICE_PATH for all GPU code outside modules */
	const char *path;
	struct mpk_strmap wanted;      /* maps keys of kernels and images to changes */
	struct mpk_strmap host;        /* maps names of host functions to changes */
	struct mpk_strmap inner;       /* maps symbols of local host functions to changes */
	struct mpk_span *symbols;      /* the same symbols as a list */
	struct mpk_strmap numbers;     /* maps keys without their copy number to indexes in seen */
	size_t *seen;                  /* for each such key: how many were found so far */
	struct mpk_disasm_lines *into; /* receives the listing; NULL if the code is not wanted */
	uint64_t bytes_left;           /* bytes of images that may still be disassembled */
	struct mpk_arena *kept;        /* arena of the comparison */
};

/* --- which kernels --------------------------------------------------------------------------------------- */

static const char *changes_path_of(const struct pass *p, const struct mpk_difference *item)
{
	return p->side && item->new_path[0] ? item->new_path : item->path;
}

/* Makes the key of a kernel in one of the files. An image has the key of a kernel with an empty
 * name. */
static struct mpk_span key_of(const struct pass *p, const struct mpk_difference *item, size_t copy)
{
	bool is_image = strcmp(item->what, "kernel") != 0;

	return mpk_kernel_key(p->arena, changes_path_of(p, item),
			      is_image ? (const char *)item->name.data : item->target,
			      is_image ? mpk_span_of("", 0) : item->name, copy);
}

/* Returns the map that lists a host function under its name; NULL if it is not a host function. */
static struct mpk_strmap *host_names(struct pass *p, const struct mpk_difference *item)
{
	if (strcmp(item->what, "function") == 0)
		return &p->host;
	return strcmp(item->what, "inner function") == 0 ? &p->inner : NULL;
}

static enum mpk_code index_changes(struct pass *p)
{
	p->seen = mpk_arena_array(p->arena, p->count, sizeof *p->seen);
	p->symbols = mpk_arena_array(p->arena, p->count, sizeof *p->symbols);
	MPK_TRY_ALLOC(p->seen && p->symbols, p->job.err);
	for (size_t i = 0; i < p->count; i++) {
		const struct mpk_difference *item = p->changes[i].item;
		struct mpk_strmap *host = host_names(p, item);
		struct mpk_span key, plain;

		if (item->older_code)
			continue;
		if (host) {
			if (host == &p->inner)
				p->symbols[host->count] = item->name;
			MPK_TRY_ALLOC(mpk_strmap_put(host, item->name, i, NULL) >= 0, p->job.err);
			continue;
		}
		key = key_of(p, item, item->copy);
		plain = key_of(p, item, 0);
		MPK_TRY_ALLOC(key.data && plain.data &&
				      mpk_strmap_put(&p->wanted, key, i, NULL) >= 0 &&
				      mpk_strmap_put(&p->numbers, plain, i, NULL) >= 0,
			      p->job.err);
	}
	return MPK_OK;
}

/* Finds the change of a kernel, or of an image if name is empty; NULL if it is not wanted. The
 * first of several copies is copy 0, the next ones 2 and up, as mpk_kernel_list_read counts
 * them. */
static struct change *changes_find(struct pass *p, struct mpk_arena *scratch, const char *target,
				   struct mpk_span name)
{
	struct mpk_span key = mpk_kernel_key(scratch, p->path, target, name, 0);
	size_t at, copy;

	if (!key.data || !mpk_strmap_find(&p->numbers, key, &at))
		return NULL;
	copy = ++p->seen[at];
	if (copy > 1)
		key = mpk_kernel_key(scratch, p->path, target, name, copy);
	return key.data && mpk_strmap_find(&p->wanted, key, &at) ? &p->changes[at] : NULL;
}

/* --- one file ---------------------------------------------------------------------------------------------- */

static enum mpk_code changes_put(const struct mpk_listing *listing, void *arg,
				 struct mpk_error *err)
{
	struct pass *p = arg;

	if (!p->into)
		return MPK_OK;
	mpk_disasm_lines_add(p->into, listing);
	return p->into->failed ? mpk_fail_nomem(err) : MPK_OK;
}

static int by_place(const void *a, const void *b)
{
	const struct mpk_work_line *x = a, *y = b;
	int order = strcmp(x->file, y->file);

	return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

/* Counts the instructions of a kernel, without a disassembler. */
static enum mpk_code count_change(struct pass *p, struct change *c, struct mpk_span name,
				  const struct mpk_code_info *code)
{
	struct mpk_work_lines *lines = &c->sources[p->side];
	size_t kernel;

	if (!mpk_code_info_find(code, name, &kernel) ||
	    !mpk_code_work(code, kernel, &c->work[p->side]))
		return MPK_OK;
	c->is_counted[p->side] = true;
	MPK_TRY(mpk_disasm_rows(&p->job, code));
	MPK_TRY(mpk_work_lines(code, mpk_code_of_kernel(code, kernel), &p->job.rows, p->kept, lines,
			       p->job.err));
	for (size_t i = 0; i < lines->count; i++) {
		const char *file = lines->items[i].file, *slash = strrchr(file, '/');

		/* copied, since the rows and their names are freed */
		lines->items[i].file =
			mpk_arena_text(p->kept, mpk_span_str(slash && slash[1] ? slash + 1 : file));
		MPK_TRY_ALLOC(lines->items[i].file, p->job.err);
	}
	if (lines->count)
		qsort(lines->items, lines->count, sizeof *lines->items, by_place);
	return MPK_OK;
}

/* Lists one kernel, or the whole image if name is empty. */
static enum mpk_code list_change(struct pass *p, struct change *c, struct mpk_span name,
				 const struct mpk_code_info *code)
{
	if (c->is_found[p->side])
		return MPK_OK;
	if (code->bytes.len > p->bytes_left)
		return MPK_OK;
	c->is_found[p->side] = true;
	p->into = p->side ? &c->newer : &c->older;
	p->job.wanted.name = name;
	if (name.len)
		MPK_TRY(count_change(p, c, name, code));
	return mpk_disasm_device(&p->job, p->path, code);
}

static enum mpk_code visit_kernels(struct pass *p, const struct mpk_code_info *code)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	bool found = false;

	for (size_t i = 0; i < code->kernel_count; i++) {
		struct change *c = changes_find(p, &scratch, code->target, code->kernels[i].name);

		found |= c != NULL;
		if (c)
			MPK_TRY(list_change(p, c, code->kernels[i].name, code));
	}
	/* the next code may have the same address as this one */
	mpk_disasm_forget(&p->job);
	p->bytes_left -= found && code->bytes.len <= p->bytes_left ? code->bytes.len : 0;
	return MPK_OK;
}

static enum mpk_code visit_code(struct pass *p, const struct mpk_code_info *code)
{
	if (code->problem || !code->bytes.len)
		return MPK_OK;
	MPK_TRY(visit_kernels(p, code));
	for (size_t i = 0; i < code->image_count; i++)
		MPK_TRY(visit_code(p, &code->images[i]));
	return MPK_OK;
}

static enum mpk_code visit_image(struct pass *p, const struct mpk_code_info *code)
{
	const char *what = mpk_kernel_image(p->job.arena, code);
	struct change *c;

	MPK_TRY_ALLOC(what, p->job.err);
	c = code->bytes.len ? changes_find(p, p->job.arena, what, mpk_span_of("", 0)) : NULL;
	if (c)
		MPK_TRY(list_change(p, c, mpk_span_of(NULL, 0), code));
	return visit_code(p, code);
}

static enum mpk_code visit_container(const struct mpk_view_code *c, void *arg,
				     struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_arena *before;
	enum mpk_code code = MPK_OK;
	struct pass *p = arg;

	(void)err;
	before = p->job.arena;
	p->job.arena = &scratch;
	if (!c->code.image_count)
		code = visit_image(p, &c->code);
	for (size_t i = 0; i < c->code.image_count && code == MPK_OK; i++)
		code = visit_image(p, &c->code.images[i]);
	p->job.arena = before;
	return code;
}

static enum mpk_code visit_node(struct pass *p, size_t index)
{
	const struct mpk_node_info *info;

	p->path = p->job.view->nodes[index].path;
	MPK_TRY(mpk_view_info(p->job.view, index, &info, p->job.err));
	for (size_t i = 0; i < info->piece_count; i++)
		if (!info->pieces[i].key)
			MPK_TRY(visit_code(p, &info->pieces[i].code));
	return MPK_OK;
}

/* A part without kernels is already known, so it needs no key. */
static enum mpk_code visit_parts(struct pass *p)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct mpk_difference *item = p->changes[i].item;
		const struct mpk_code_info *code = p->side ? item->newer_code : item->older_code;

		p->path = item->path;
		if (code)
			MPK_TRY(list_change(p, &p->changes[i], mpk_span_of(NULL, 0), code));
		mpk_disasm_forget(&p->job);
	}
	return MPK_OK;
}

/* If several functions have one name, as in an archive, the first counts, as in the comparison. A
 * large function comes in pieces. */
static enum mpk_code put_host(const struct mpk_listing *listing, void *arg, struct mpk_error *err)
{
	struct pass *p = arg;
	struct change *c;
	size_t at;

	if (!mpk_strmap_find(p->job.wanted.name.len ? &p->inner : &p->host, listing->name, &at))
		return MPK_OK;
	c = &p->changes[at];
	if (!listing->continues) {
		p->into = c->is_found[p->side] ? NULL : p->side ? &c->newer : &c->older;
		c->is_found[p->side] = true;
	}
	return changes_put(listing, p, err);
}

static enum mpk_code visit_host(struct pass *p)
{
	const struct mpk_disasm_sink sink = { put_host, p }, *before = p->job.sink;
	struct mpk_arena *arena = p->job.arena;
	enum mpk_code code;

	if (!p->host.count && !p->inner.count)
		return MPK_OK;
	p->job.only = &p->host;
	p->job.inner = p->symbols;
	p->job.inner_count = p->inner.count;
	p->job.sink = &sink;
	p->job.arena = p->job.view->arena;
	code = mpk_disasm_host(&p->job);
	p->job.only = NULL;
	p->job.wanted.name = (struct mpk_span){ 0 };
	p->job.sink = before;
	p->job.arena = arena;
	return code;
}

/* Visits kernels in the order in which mpk_kernel_list_read numbers them. */
static enum mpk_code walk(struct pass *p)
{
	const struct mpk_view *view = p->job.view;

	MPK_TRY(index_changes(p));
	MPK_TRY(visit_host(p));
	MPK_TRY(visit_parts(p));
	for (size_t i = 0; i < view->count; i++)
		MPK_TRY(visit_node(p, i));
	for (size_t i = 0; i < view->image->embedded_count; i++) {
		p->path = view->embedded[i].path;
		MPK_TRY(visit_code(p, &view->embedded[i].code));
	}
	p->path = MPK_DEVICE_PATH;
	return mpk_device_each(view, visit_container, p, p->job.err);
}

static enum mpk_code read_side(struct chosen *all, struct mpk_disasm *d,
			       const struct mpk_view *view, size_t side, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena keys = { 0 };
	struct pass p = {
		.arena = &keys,
		.changes = all->items,
		.count = all->count,
		.side = side,
		.bytes_left = IMAGE_BYTES_MOST,
		.kept = all->arena,
	};
	const struct mpk_disasm_sink sink = { changes_put, &p };
	enum mpk_code code;

	p.job = (struct mpk_disasm_job){ .view = view,
					 .d = d,
					 .sink = &sink,
					 .arena = &keys,
					 .keeps_answer = true,
					 .err = err };
	code = walk(&p);
	mpk_part_names_fini(&p.job.names);
	mpk_strmap_fini(&p.host);
	mpk_strmap_fini(&p.inner);
	mpk_strmap_fini(&p.wanted);
	mpk_strmap_fini(&p.numbers);
	if (code == MPK_OK && p.job.failure != MPK_OK && !all->failure) {
		all->failure = mpk_arena_text(all->arena, mpk_span_str(p.job.error.text));
		MPK_TRY_ALLOC(all->failure, err);
	}
	return code;
}

/* --- both files ---------------------------------------------------------------------------------------------- */

/* Hunks show instructions with register numbers, but were computed without them. */
static void show_window(struct mpk_text_window *w, const struct mpk_disasm_lines *l)
{
	uint32_t from = w->first && w->first <= l->count ? l->ends[w->first - 1] : 0;

	for (uint32_t i = 0; i < w->count; i++)
		w->ends[i] = l->ends[w->first + i] - from;
	w->text = mpk_span_of(l->shown.data + from, w->count ? w->ends[w->count - 1] : 0);
}

static struct mpk_span line_of(const struct mpk_disasm_lines *l, size_t i)
{
	size_t from = i ? l->ends[i - 1] : 0;

	return mpk_span_of(l->shown.data + from, l->ends[i] - from);
}

/* Counts matched instructions with different registers, labels or values. */
static size_t count_renamed(const struct change *c, const struct mpk_text_diff *text)
{
	size_t x = 0, y = 0, n = 0, at = 0;

	while (x < c->older.count && y < c->newer.count) {
		const struct mpk_text_change *next = at < text->count ? &text->changes[at] : NULL;

		if (next && x == text->a.first + next->a && y == text->b.first + next->b) {
			x += next->a_count;
			y += next->b_count;
			at++;
			continue;
		}
		n += !mpk_span_equal(line_of(&c->older, x++), line_of(&c->newer, y++));
	}
	return n;
}

static void put_counts(const struct mpk_text_diff *text, size_t renamed, size_t left_out,
		       bool is_host, struct mpk_strbuf *out)
{
	bool changed = text->removed || text->added;

	mpk_strbuf_puts(out, out->len ? "; " : "");
	if (changed)
		mpk_text_put_counts(text->removed, text->added, "instruction", out);
	else
		mpk_strbuf_puts(out, renamed   ? "same instructions"
				     : is_host ? "same instructions, with other data or addresses"
					       : "same instructions, encoded in another way");
	if (renamed)
		mpk_strbuf_printf(out, ", %zu%s in other registers", renamed,
				  changed ? " more" : "");
	if (left_out)
		mpk_strbuf_printf(out, "; %zu hunk%s not shown", left_out,
				  left_out == 1 ? "" : "s");
}

static enum mpk_code fill(struct change *c, struct mpk_arena *arena, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_text_diff_fini) struct mpk_text_diff text = { 0 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf said = { 0 }, hunks = { 0 };
	size_t hunks_most = c->older.is_host ? HOST_HUNKS_MOST : HUNKS_MOST, renamed, left_out;

	MPK_TRY(mpk_text_compare(mpk_span_of(c->older.plain.data, c->older.plain.len),
				 mpk_span_of(c->newer.plain.data, c->newer.plain.len), &text, err));
	if (text.is_too_large)
		return MPK_OK;
	/* addresses differ after every change, so they do not count */
	renamed = c->older.is_host ? 0 : count_renamed(c, &text);
	/* only registers differ, so show them */
	if (text.is_equal && renamed) {
		mpk_text_diff_fini(&text);
		MPK_TRY(mpk_text_compare(mpk_span_of(c->older.shown.data, c->older.shown.len),
					 mpk_span_of(c->newer.shown.data, c->newer.shown.len),
					 &text, err));
		text.removed = text.added = 0;
	} else {
		show_window(&text.a, &c->older);
		show_window(&text.b, &c->newer);
	}
	left_out = text.is_too_large ? 0 : mpk_text_unified(&text, hunks_most, &hunks);
	mpk_strbuf_puts(&said, c->item->text);
	put_counts(&text, renamed, left_out, c->older.is_host, &said);
	MPK_TRY(mpk_strbuf_status(&said, err));
	MPK_TRY(mpk_strbuf_status(&hunks, err));
	c->item->text = mpk_arena_text(arena, mpk_span_of(said.data, said.len));
	c->item->lines = mpk_arena_text(arena, mpk_span_of(mpk_strbuf_text(&hunks), hunks.len));
	MPK_TRY_ALLOC(c->item->text && c->item->lines, err);
	return MPK_OK;
}

static uint32_t changed_by(const struct mpk_work_change *c)
{
	uint32_t a = c->work[0].all, b = c->work[1].all;

	return a > b ? a - b : b - a;
}

/* Sorts the whole kernel first, then lines by the change of their instruction count. */
static int by_change(const void *a, const void *b)
{
	const struct mpk_work_change *x = a, *y = b;
	int order;

	if (!x->line != !y->line)
		return x->line ? 1 : -1;
	if (changed_by(x) != changed_by(y))
		return changed_by(x) > changed_by(y) ? -1 : 1;
	order = x->line ? strcmp(x->file, y->file) : 0;
	return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

/* Adds a line that both files have, or only one. */
static void put_work_change(struct mpk_work_change *list, size_t *count,
			    const struct mpk_work_line *a, const struct mpk_work_line *b)
{
	const struct mpk_work_line *any = a ? a : b;
	struct mpk_work_change *c = &list[*count];

	if (a && b && !mpk_work_differs(&a->work, &b->work))
		return;
	c->file = any->file;
	c->line = any->line;
	c->is_there[0] = a;
	c->is_there[1] = b;
	if (a)
		c->work[0] = a->work;
	if (b)
		c->work[1] = b->work;
	++*count;
}

/* Compares the instruction counts of a kernel in both files. */
static enum mpk_code fill_work(struct change *c, struct mpk_arena *arena, struct mpk_error *err)
{
	const struct mpk_work_lines *a = &c->sources[0], *b = &c->sources[1];
	struct mpk_work_change *list;
	size_t count = 0, x = 0, y = 0;

	if (!c->is_counted[0] || !c->is_counted[1])
		return MPK_OK;
	list = mpk_arena_array(arena, a->count + b->count + 1, sizeof *list);
	MPK_TRY_ALLOC(list, err);
	put_work_change(list, &count, &(struct mpk_work_line){ "", 0, c->work[0] },
			&(struct mpk_work_line){ "", 0, c->work[1] });
	/* if one release has no line numbers, all lines of the other would look new */
	while (a->count && b->count && (x < a->count || y < b->count)) {
		int order = x == a->count   ? 1
			    : y == b->count ? -1
					    : by_place(&a->items[x], &b->items[y]);

		put_work_change(list, &count, order <= 0 ? &a->items[x] : NULL,
				order >= 0 ? &b->items[y] : NULL);
		x += order <= 0;
		y += order >= 0;
	}
	if (count)
		qsort(list, count, sizeof *list, by_change);
	c->item->work = list;
	c->item->work_count = count;
	return MPK_OK;
}

/* Chooses the changes to show, in order, up to the limit. */
static void choose(struct chosen *all, struct mpk_diff *diff)
{
	for (size_t i = 0; i < diff->count; i++) {
		struct mpk_difference *item = &diff->items[i];

		if (!item->other_code || item->lines[0])
			continue;
		if (all->count < CHANGES_MOST)
			all->items[all->count++].item = item;
		else
			all->more++;
	}
}

static enum mpk_code fill_all(struct chosen *all, struct mpk_diff *diff, struct mpk_error *err)
{
	for (size_t i = 0; i < all->count; i++) {
		struct change *c = &all->items[i];

		MPK_TRY(fill_work(c, all->arena, err));
		if (c->older.count && c->newer.count && !c->older.is_cut && !c->newer.is_cut)
			MPK_TRY(fill(c, all->arena, err));
		else
			all->more++;
	}
	if (!all->more)
		return MPK_OK;
	diff->no_instructions = mpk_arena_printf(
		all->arena, "instructions of %zu not shown: %s", all->more,
		all->failure ? all->failure : "they are too many; disasm NAME lists them");
	MPK_TRY_ALLOC(diff->no_instructions, err);
	return MPK_OK;
}

enum mpk_code mpk_disasm_changes(struct mpk_disasm *d, const struct mpk_view *a,
				 const struct mpk_view *b, struct mpk_arena *arena,
				 struct mpk_diff *diff, struct mpk_error *err)
{
	struct chosen all = { .arena = arena };
	enum mpk_code code = MPK_OK;

	choose(&all, diff);
	if (all.count)
		code = read_side(&all, d, a, 0, err);
	if (code == MPK_OK && all.count)
		code = read_side(&all, d, b, 1, err);
	if (code == MPK_OK)
		code = fill_all(&all, diff, err);
	for (size_t i = 0; i < all.count; i++) {
		mpk_disasm_lines_fini(&all.items[i].older);
		mpk_disasm_lines_fini(&all.items[i].newer);
	}
	return code;
}
