/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - compares the library itself: machine, functions and their parameters, host code, needed
 * libraries */
#include "diff/internal/compare.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "compare/compare.h"
#include "text/escape.h"
#include "text/phrase.h"

/* A bare blob has no machine, which is reported if the other file has one. */
static const char *machine_of(const struct mpk_image *image)
{
	return image->machine_name ? image->machine_name : "none";
}

static const char *generation_of(const struct mpk_image *image)
{
	return image->gen_known ? mpk_generation_get(image->gen)->abi : "none";
}

/* A host function and its parameters. */
struct host_function {
	const struct mpk_image_function *function;
	const struct mpk_signature *signature; /* NULL if not known */
	struct mpk_host_code *file;
	const struct mpk_host_function *code; /* NULL if its code was not found */
};

static struct mpk_span diff_host_function_name(const void *item)
{
	const struct host_function *f = item;

	return mpk_span_str(f->function->name);
}

/* An alias has no code of its own. */
static uint64_t host_function_bytes(const void *item)
{
	const struct host_function *f = item;

	return f->function->alias_of ? 0 : f->function->bytes;
}

/* If only one file states the signature, the parameters do not count as different. */
static bool compare_signatures(struct mpk_differ *d, struct mpk_span name,
			       const struct mpk_signature *a, const struct mpk_signature *b)
{
	struct mpk_strbuf x = { 0 }, y = { 0 };

	if (!a || !b)
		return false;
	mpk_signature_text(a, &x);
	mpk_signature_text(b, &y);
	return mpk_differ_texts(d, "function", name, &x, &y);
}

/* Counts differing bytes at equal offsets, up to the end of the shorter run. */
static uint64_t count_differing(struct mpk_span a, struct mpk_span b)
{
	uint64_t n = 0;

	for (size_t i = 0; i < a.len && i < b.len; i++)
		n += a.data[i] != b.data[i];
	return n;
}

/* An object has gaps that the linker fills, so its code cannot be compared with a library's. */
static bool are_of_a_kind(const struct mpk_host_code *a, const struct mpk_host_code *b)
{
	return (a->elf.header.e_type == ET_REL) == (b->elf.header.e_type == ET_REL);
}

/* Equal bytes may still call different imports: see calls_others in host_code.c. */
static struct mpk_difference *say_code_differs(struct mpk_differ *d, const char *what,
					       struct mpk_span name, struct mpk_span a,
					       struct mpk_span b)
{
	uint64_t count = count_differing(a, b);

	return count ? mpk_differ_change(d, what, name, "%" PRIu64 " of %zu bytes of code differ",
					 count, a.len)
		     : mpk_differ_change(d, what, name, "the same bytes call another import");
}

/* An alias shares its code with another function, which is reported instead. */
static void say_size_differs(struct mpk_differ *d, struct mpk_span name,
			     const struct host_function *f, const struct host_function *g)
{
	struct mpk_difference *item =
		mpk_differ_change(d, "function", name, "%" PRIu64 " -> %" PRIu64 " bytes of code",
				  f->function->bytes, g->function->bytes);

	if (item)
		item->other_code = f->code && g->code && are_of_a_kind(f->file, g->file) &&
				   f->file->elf.header.e_machine == g->file->elf.header.e_machine &&
				   !f->function->alias_of && !g->function->alias_of;
}

/* Adds one line for each function, with the first thing that differs: parameters, size, alias,
 * code. A change of one explains the later ones. */
static void compare_functions(struct mpk_differ *d, struct mpk_span name, const void *a,
			      const void *b)
{
	const struct host_function *f = a, *g = b;
	const struct mpk_image_function *x = f->function, *y = g->function;
	struct mpk_difference *item;

	if (compare_signatures(d, name, f->signature, g->signature))
		return;
	if (x->bytes != y->bytes)
		say_size_differs(d, name, f, g);
	else if (strcmp(x->alias_of ? x->alias_of : "", y->alias_of ? y->alias_of : "") != 0)
		(void)mpk_differ_change(d, "function", name, "names '%s' -> '%s'",
					MPK_QUOTE(mpk_span_str(x->alias_of ? x->alias_of : "")),
					MPK_QUOTE(mpk_span_str(y->alias_of ? y->alias_of : "")));
	else if (!f->code || !g->code || !are_of_a_kind(f->file, g->file))
		return;
	/* symbols of a hostile file may overlap, and would have the same code compared again and
	 * again */
	else if (f->code->code.len > f->file->bytes_left)
		(void)mpk_differ_change(d, "function", name,
					"%zu bytes of code were not compared: functions overlap",
					f->code->code.len);
	else if (!mpk_host_same_code(f->file, f->code, g->file, g->code)) {
		item = say_code_differs(d, "function", name, f->code->code, g->code->code);
		if (item)
			item->other_code = !x->alias_of;
	}
}

/* One of the two files: its code, the functions with a line of their own, and the code of each
 * symbol. */
struct host {
	struct mpk_host_code code;
	struct mpk_strmap by_symbol, exported;
	const struct host_function *functions;
	size_t count;
};

static void host_fini(struct host *h)
{
	mpk_host_code_close(&h->code);
	mpk_strmap_fini(&h->by_symbol);
	mpk_strmap_fini(&h->exported);
}

/* If the symbols cannot be read, no code is compared. */
static void host_open(struct mpk_differ *d, const struct mpk_view *v, struct host *h)
{
	const struct mpk_image *image = v->image;
	struct host_function *list = mpk_arena_array(d->arena, image->function_count, sizeof *list);
	size_t at;

	d->diff->failed |=
		!list || mpk_host_code_open(image, d->arena, &h->code, NULL) == MPK_E_NOMEM;
	for (size_t i = 0; i < h->code.count; i++)
		d->diff->failed |=
			mpk_strmap_put(&h->by_symbol, mpk_span_str(h->code.functions[i].symbol), i,
				       &at) < 0;
	h->functions = list;
	h->count = list ? image->function_count : 0;
	for (size_t i = 0; i < h->count; i++) {
		struct mpk_span symbol = mpk_span_str(image->functions[i].symbol);

		list[i] = (struct host_function){ .function = &image->functions[i],
						  .signature = mpk_view_host(v, i),
						  .file = &h->code };
		if (mpk_strmap_find(&h->by_symbol, symbol, &at))
			list[i].code = &h->code.functions[at];
		d->diff->failed |= mpk_strmap_put(&h->exported, symbol, i, &at) < 0;
	}
}

/* --- functions that nobody calls from outside --------------------------------------------- */

enum { INNER_MOST = 32 }; /* number of local functions with a line of their own */

/* A local function of one file or of both. */
struct inner {
	const struct mpk_host_function *older, *newer; /* NULL if that file does not have it */
};

struct inners {
	struct inner *items;
	size_t count;
};

static const char *inner_symbol(const struct inner *f)
{
	return (f->older ? f->older : f->newer)->symbol;
}

static size_t inner_bytes(const struct mpk_host_function *f)
{
	return f ? f->code.len : 0;
}

/* Sorts by the change of size, largest first, then by name. */
static int by_gain(const void *a, const void *b)
{
	const struct inner *x = a, *y = b;
	size_t p = inner_bytes(x->older), q = inner_bytes(x->newer);
	size_t r = inner_bytes(y->older), s = inner_bytes(y->newer);
	size_t left = p > q ? p - q : q - p, right = r > s ? r - s : s - r;

	if (left != right)
		return left > right ? -1 : 1;
	return strcmp(inner_symbol(x), inner_symbol(y));
}

/* Appends "3 removed: a, b, c". Local functions have no signature to show. */
static void put_group(struct mpk_differ *d, struct mpk_strbuf *out, const struct inners *list,
		      size_t first, const char *what)
{
	size_t count = list->count - first;
	struct mpk_span *names = mpk_arena_array(d->arena, count, sizeof *names);

	d->diff->failed |= !names;
	if (!names || !count)
		return;
	for (size_t i = 0; i < count; i++)
		names[i] = mpk_span_str(inner_symbol(&list->items[first + i]));
	mpk_strbuf_printf(out, "%s%zu %s: ", out->len ? "; " : "", count, what);
	mpk_put_names(out, names, count);
}

/* Finds the functions of x that y lacks, and those that differ. If several have one name, the first
 * counts. */
static void sort_out(struct host *x, const struct host *y, struct inners *missing,
		     struct inners *differing)
{
	for (size_t i = 0; i < x->code.count; i++) {
		const struct mpk_host_function *f = &x->code.functions[i], *g;
		struct mpk_span name = mpk_span_str(f->symbol);
		size_t at;

		if (mpk_strmap_find(&x->exported, name, &at) ||
		    mpk_strmap_find(&y->exported, name, &at) ||
		    !mpk_strmap_find(&x->by_symbol, name, &at) || at != i)
			continue;
		g = mpk_strmap_find(&y->by_symbol, name, &at) ? &y->code.functions[at] : NULL;
		if (!g)
			missing->items[missing->count++] =
				differing ? (struct inner){ f, NULL } : (struct inner){ NULL, f };
		else if (differing && !mpk_host_same_code(&x->code, f, &y->code, g))
			differing->items[differing->count++] = (struct inner){ f, g };
	}
}

static void add_inner(struct mpk_differ *d, const struct inner *f)
{
	struct mpk_span name = mpk_span_str(f->older->symbol), a = f->older->code,
			b = f->newer->code;
	struct mpk_difference *item;

	if (a.len == b.len)
		item = say_code_differs(d, "inner function", name, a, b);
	else
		item = mpk_differ_change(d, "inner function", name, "%zu -> %zu bytes of code",
					 a.len, b.len);
	mpk_differ_note_bytes(item, a.len, b.len);
	if (item)
		item->other_code = true;
}

static struct inners inners_of(struct mpk_differ *d, size_t most)
{
	struct inners list = { mpk_arena_array(d->arena, most, sizeof *list.items), 0 };

	d->diff->failed |= !list.items;
	return list;
}

/* Each changed function has a line, up to INNER_MOST. The others, and the removed and added ones,
 * share one line: compilers split and clone local functions as they like (f.part.0, f.isra.1). */
static void compare_locals(struct mpk_differ *d, struct host *x, struct host *y)
{
	static const char *const words[] = { "more differ", "removed", "added" };
	struct inners all[] = { inners_of(d, x->code.count), inners_of(d, x->code.count),
				inners_of(d, y->code.count) };
	size_t shown = INNER_MOST;
	uint64_t older = 0, newer = 0;
	struct mpk_strbuf text = { 0 };

	if (d->diff->failed)
		return;
	sort_out(x, y, &all[1], &all[0]);
	/* the first call has found the functions that differ */
	sort_out(y, x, &all[2], NULL);
	for (size_t k = 0; k < MPK_ARRAY_COUNT(all); k++, shown = 0) {
		if (all[k].count)
			qsort(all[k].items, all[k].count, sizeof *all[k].items, by_gain);
		if (shown > all[k].count)
			shown = all[k].count;
		for (size_t i = 0; i < shown; i++)
			add_inner(d, &all[k].items[i]);
		put_group(d, &text, &all[k], shown, words[k]);
		for (size_t i = shown; i < all[k].count; i++) {
			older += inner_bytes(all[k].items[i].older);
			newer += inner_bytes(all[k].items[i].newer);
		}
	}
	d->diff->failed |= text.failed;
	if (text.len)
		mpk_differ_note_bytes(mpk_differ_add(d, MPK_DIFF_CHANGED, "inner functions",
						     (struct mpk_span){ 0 },
						     mpk_differ_take(d, &text)),
				      older, newer);
	mpk_strbuf_fini(&text);
}

static struct mpk_span diff_host_text_of(const void *item)
{
	const char *const *text = item;

	return mpk_span_str(*text);
}

/* Functions come before needed libraries: a new import is the consequence of changed code, not its
 * cause. */
void mpk_diff_host(struct mpk_differ *d, const struct mpk_view *x, const struct mpk_view *y)
{
	static const struct mpk_diff_thing function = { .what = "function",
							.bytes = sizeof(struct host_function),
							.name = diff_host_function_name,
							.compare = compare_functions,
							.bytes_of = host_function_bytes };
	static const struct mpk_diff_thing needed = { .what = "needed library",
						      .bytes = sizeof(const char *),
						      .name = diff_host_text_of };
	const struct mpk_image *a = x->image, *b = y->image;
	MPK_CLEANUP(host_fini) struct host p = { 0 }, q = { 0 };

	host_open(d, x, &p);
	host_open(d, y, &q);
	mpk_differ_words(d, "machine", machine_of(a), machine_of(b));
	mpk_differ_words(d, "generation", generation_of(a), generation_of(b));
	mpk_differ_words(d, "blob symbol", a->blob_symbol ? a->blob_symbol : "none",
			 b->blob_symbol ? b->blob_symbol : "none");
	mpk_differ_match(d, &function, p.functions, p.count, q.functions, q.count);
	if (a->machine == b->machine && p.code.count && q.code.count &&
	    are_of_a_kind(&p.code, &q.code))
		compare_locals(d, &p, &q);
	mpk_differ_match(d, &needed, a->needed, a->needed_count, b->needed, b->needed_count);
}
