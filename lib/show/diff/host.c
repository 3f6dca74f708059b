/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - what differs in the library itself: machine, functions and what they take, host code, libraries
 * that it needs */
#include "diff/internal/compare.h"

#include <inttypes.h>
#include <string.h>

#include "base/strmap.h"
#include "compare/compare.h"
#include "text/escape.h"
#include "text/phrase.h"

/* A bare blob has no machine, which is worth a line when the other file has one. */
static const char *machine_of(const struct mpk_image *image)
{
	return image->machine_name ? image->machine_name : "none";
}

static const char *generation_of(const struct mpk_image *image)
{
	return image->gen_known ? mpk_generation_get(image->gen)->abi : "none";
}

/* A host function and what it takes. */
struct host_function {
	const struct mpk_image_function *function;
	const struct mpk_signature *signature; /* NULL: not known */
	struct mpk_host_code *file;
	const struct mpk_host_function *code; /* NULL: its code is not found */
};

static struct mpk_span diff_host_function_name(const void *item)
{
	const struct host_function *f = item;

	return mpk_span_str(f->function->name);
}

/* A signature that only one file tells is no difference between what the functions take. */
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

/* Bytes that differ at the same offset, up to the end of the shorter one. */
static uint64_t count_differing(struct mpk_span a, struct mpk_span b)
{
	uint64_t n = 0;

	for (size_t i = 0; i < a.len && i < b.len; i++)
		n += a.data[i] != b.data[i];
	return n;
}

/* An object has gaps that the linker fills in: its code cannot be compared with a library's. */
static bool are_of_a_kind(const struct mpk_host_code *a, const struct mpk_host_code *b)
{
	return (a->elf.header.e_type == ET_REL) == (b->elf.header.e_type == ET_REL);
}

/* Equal bytes can call another import: calls_others in host_code.c says how. */
static void say_code_differs(struct mpk_differ *d, struct mpk_span name, struct mpk_span a,
			     struct mpk_span b, bool is_alias)
{
	uint64_t count = count_differing(a, b);
	struct mpk_difference *item =
		count ? mpk_differ_change(d, "function", name,
					  "%" PRIu64 " of %zu bytes of code differ", count, a.len)
		      : mpk_differ_change(d, "function", name,
					  "the same bytes call another import");

	if (item)
		item->other_code = !is_alias;
}

/* An alias has the code of another function, which is shown there. */
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

/* One line per function, of the first thing that differs: what it takes, its size, its alias, its
 * code. A change of the first explains changes of the others. */
static void compare_functions(struct mpk_differ *d, struct mpk_span name, const void *a,
			      const void *b)
{
	const struct host_function *f = a, *g = b;
	const struct mpk_image_function *x = f->function, *y = g->function;

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
	/* symbols of a hostile file may overlap, and would have the same code compared without
	 * end */
	else if (f->code->code.len > f->file->bytes_left)
		(void)mpk_differ_change(d, "function", name,
					"%zu bytes of code were not compared: functions overlap",
					f->code->code.len);
	else if (!mpk_host_same_code(f->file, f->code, g->file, g->code))
		say_code_differs(d, name, f->code->code, g->code->code, x->alias_of != NULL);
}

/* One of the two files: its code, which functions have a line of their own, and where each symbol's is. */
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

/* A file whose symbols do not read has no code to compare. */
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

struct names {
	struct mpk_span *items;
	size_t count;
};

/* "3 removed: a, b, c". Names alone, as local functions have no signature that could be shown. */
static void put_group(struct mpk_strbuf *out, const struct names *n, const char *what, bool is_verb)
{
	if (!n->count)
		return;
	mpk_strbuf_printf(out, "%s%zu %s%s: ", out->len ? "; " : "", n->count, what,
			  n->count == 1 && is_verb ? "s" : "");
	mpk_put_names(out, n->items, n->count);
}

/* Those of x that y has not, or that differ. */
static void sort_out(struct host *x, const struct host *y, struct names *missing,
		     struct names *differing)
{
	for (size_t i = 0; i < x->code.count; i++) {
		const struct mpk_host_function *f = &x->code.functions[i];
		struct mpk_span name = mpk_span_str(f->symbol);
		size_t at;

		if (mpk_strmap_find(&x->exported, name, &at) ||
		    mpk_strmap_find(&y->exported, name, &at) ||
		    !mpk_strmap_find(&x->by_symbol, name, &at) || at != i)
			continue;
		if (!mpk_strmap_find(&y->by_symbol, name, &at))
			missing->items[missing->count++] = name;
		else if (differing &&
			 !mpk_host_same_code(&x->code, f, &y->code, &y->code.functions[at]))
			differing->items[differing->count++] = name;
	}
}

/* All local functions share one line: compilers split and clone them as they like (f.part.0,
 * f.isra.1), and a line each would bury what was changed in the source. */
static void compare_locals(struct mpk_differ *d, struct host *x, struct host *y)
{
	struct names removed = { mpk_arena_array(d->arena, x->code.count, sizeof(struct mpk_span)),
				 0 };
	struct names added = { mpk_arena_array(d->arena, y->code.count, sizeof(struct mpk_span)),
			       0 };
	struct names changed = { mpk_arena_array(d->arena, x->code.count, sizeof(struct mpk_span)),
				 0 };
	struct mpk_strbuf text = { 0 };

	if (!removed.items || !added.items || !changed.items) {
		d->diff->failed = true;
		return;
	}
	sort_out(x, y, &removed, &changed);
	/* differing ones were found in the first direction */
	sort_out(y, x, &added, NULL);
	put_group(&text, &changed, "differ", true);
	put_group(&text, &removed, "removed", false);
	put_group(&text, &added, "added", false);
	d->diff->failed |= text.failed;
	if (text.len)
		(void)mpk_differ_add(d, MPK_DIFF_CHANGED, "inner functions", (struct mpk_span){ 0 },
				     mpk_differ_take(d, &text));
	mpk_strbuf_fini(&text);
}

static struct mpk_span diff_host_text_of(const void *item)
{
	const char *const *text = item;

	return mpk_span_str(*text);
}

/* Functions of the two files are compared before what they need, as a new import is a consequence
 * of changed code and not its cause. */
void mpk_diff_host(struct mpk_differ *d, const struct mpk_view *x, const struct mpk_view *y)
{
	static const struct mpk_diff_thing function = { .what = "function",
							.bytes = sizeof(struct host_function),
							.name = diff_host_function_name,
							.compare = compare_functions };
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
