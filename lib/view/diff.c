/* SPDX-License-Identifier: Apache-2.0 */
/* Two files are compared by what they mean: things of two lists are matched by their names, so that
 * an order changes nothing, and each kind of thing says what differs between two of one name.
 * Bytes count only where nothing else tells a difference. */
#include "view/diff.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "base/vec.h"
#include "text/escape.h"
#include "text/table.h"
#include "view/embedded.h"

struct differ {
	struct mpk_diff *diff;
	struct mpk_arena *arena;
	const char *path; /* of the module that is compared; "" for the library */
};

/* A kind of thing that has a name: two lists of them are matched by name, then compared. */
struct thing {
	const char *what;
	size_t bytes; /* of an item of the lists */
	struct mpk_span (*name)(const void *item);
	/* Adds what changed between two of one name; NULL: nothing can. */
	void (*compare)(struct differ *d, struct mpk_span name, const void *a, const void *b);
	bool is_place; /* its name is the path of what is in it */
};

static void add(struct differ *d, enum mpk_diff_sign sign, const char *what, struct mpk_span name,
		const char *text)
{
	struct mpk_diff *diff = d->diff;

	if (!text ||
	    !mpk_vec_reserve(&diff->items, &diff->cap, diff->count + 1, sizeof *diff->items)) {
		diff->failed = true;
		return;
	}
	diff->items[diff->count++] = (struct mpk_difference){ sign, d->path, what, name, text };
}

static void add_whole(struct differ *d, enum mpk_diff_sign sign, const struct thing *t,
		      struct mpk_span name)
{
	if (t->is_place)
		d->path = (const char *)name.data; /* a path is a C string */
	add(d, sign, t->what, t->is_place ? (struct mpk_span){ 0 } : name, "");
}

static const void *item(const struct thing *t, const void *list, size_t i)
{
	return (const uint8_t *)list + i * t->bytes;
}

static void match(struct differ *d, const struct thing *t, const void *a, size_t a_count,
		  const void *b, size_t b_count)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap in_a = { 0 };
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap in_b = { 0 };
	size_t at;

	for (size_t i = 0; i < a_count; i++)
		d->diff->failed |= mpk_strmap_put(&in_a, t->name(item(t, a, i)), i, &at) < 0;
	for (size_t i = 0; i < b_count; i++)
		d->diff->failed |= mpk_strmap_put(&in_b, t->name(item(t, b, i)), i, &at) < 0;
	for (size_t i = 0; i < a_count; i++) {
		struct mpk_span name = t->name(item(t, a, i));

		if (!mpk_strmap_find(&in_b, name, &at))
			add_whole(d, MPK_DIFF_REMOVED, t, name);
		else if (t->compare)
			t->compare(d, name, item(t, a, i), item(t, b, at));
	}
	for (size_t i = 0; i < b_count; i++) {
		struct mpk_span name = t->name(item(t, b, i));

		if (!mpk_strmap_find(&in_a, name, &at))
			add_whole(d, MPK_DIFF_ADDED, t, name);
	}
}

/* --- the library ------------------------------------------------------------------ */

static void compare_word(struct differ *d, const char *what, const char *a, const char *b)
{
	if (strcmp(a, b) != 0)
		add(d, MPK_DIFF_CHANGED, what, (struct mpk_span){ 0 },
		    mpk_arena_printf(d->arena, "%s -> %s", a, b));
}

static const char *machine_of(const struct mpk_image *image)
{
	return image->machine_name ? image->machine_name : "none";
}

/* A host function and what it takes. */
struct host_function {
	const struct mpk_image_function *function;
	const struct mpk_signature *signature; /* NULL: not known */
};

static struct mpk_span function_name(const void *item)
{
	const struct host_function *f = item;

	return mpk_span_str(f->function->name);
}

/* What is compared as it is printed. Takes both texts over. */
static bool compare_texts(struct differ *d, const char *what, struct mpk_span name,
			  struct mpk_strbuf *a, struct mpk_strbuf *b)
{
	bool differ = strcmp(mpk_strbuf_text(a), mpk_strbuf_text(b)) != 0;

	d->diff->failed |= a->failed || b->failed;
	if (differ)
		add(d, MPK_DIFF_CHANGED, what, name,
		    mpk_arena_printf(d->arena, "%s -> %s", mpk_strbuf_text(a), mpk_strbuf_text(b)));
	mpk_strbuf_fini(a);
	mpk_strbuf_fini(b);
	return differ;
}

/* A signature that only one file tells is no difference between what the functions take. */
static bool compare_signatures(struct differ *d, struct mpk_span name,
			       const struct mpk_signature *a, const struct mpk_signature *b)
{
	struct mpk_strbuf x = { 0 }, y = { 0 };

	if (!a || !b)
		return false;
	mpk_signature_text(a, &x);
	mpk_signature_text(b, &y);
	return compare_texts(d, "function", name, &x, &y);
}

static void compare_functions(struct differ *d, struct mpk_span name, const void *a, const void *b)
{
	const struct host_function *f = a, *g = b;
	const struct mpk_image_function *x = f->function, *y = g->function;

	if (compare_signatures(d, name, f->signature, g->signature))
		return;
	if (x->bytes != y->bytes)
		add(d, MPK_DIFF_CHANGED, "function", name,
		    mpk_arena_printf(d->arena, "%" PRIu64 " -> %" PRIu64 " bytes of code", x->bytes,
				     y->bytes));
	else if (strcmp(x->alias_of ? x->alias_of : "", y->alias_of ? y->alias_of : "") != 0)
		add(d, MPK_DIFF_CHANGED, "function", name,
		    mpk_arena_printf(d->arena, "names '%s' -> '%s'",
				     MPK_QUOTE(mpk_span_str(x->alias_of ? x->alias_of : "")),
				     MPK_QUOTE(mpk_span_str(y->alias_of ? y->alias_of : ""))));
}

static const struct host_function *functions_of(struct differ *d, const struct mpk_view *v,
						size_t *count)
{
	struct host_function *list =
		mpk_arena_array(d->arena, v->image->function_count, sizeof *list);

	*count = list ? v->image->function_count : 0;
	d->diff->failed |= !list;
	for (size_t i = 0; i < *count; i++)
		list[i] = (struct host_function){ &v->image->functions[i], mpk_view_host(v, i) };
	return list;
}

static struct mpk_span text_of(const void *item)
{
	const char *const *text = item;

	return mpk_span_str(*text);
}

static void compare_images(struct differ *d, const struct mpk_view *x, const struct mpk_view *y)
{
	static const struct thing function = { "function", sizeof(struct host_function),
					       function_name, compare_functions, false };
	static const struct thing needed = { "needed library", sizeof(const char *), text_of, NULL,
					     false };

	const struct mpk_image *a = x->image, *b = y->image;
	size_t a_count, b_count;
	const struct host_function *a_functions = functions_of(d, x, &a_count);
	const struct host_function *b_functions = functions_of(d, y, &b_count);

	compare_word(d, "machine", machine_of(a), machine_of(b));
	compare_word(d, "generation", mpk_generation_get(a->gen)->abi,
		     mpk_generation_get(b->gen)->abi);
	compare_word(d, "blob symbol", a->blob_symbol ? a->blob_symbol : "none",
		     b->blob_symbol ? b->blob_symbol : "none");
	match(d, &function, a_functions, a_count, b_functions, b_count);
	match(d, &needed, a->needed, a->needed_count, b->needed, b->needed_count);
}

/* --- modules ---------------------------------------------------------------------- */

static const char *change_of(struct differ *d, struct mpk_span a, struct mpk_span b)
{
	size_t n = a.len < b.len ? a.len : b.len, at = 0, differing = 0;

	if (a.len != b.len)
		return mpk_arena_printf(d->arena, "%s -> %s", MPK_SIZE(a.len), MPK_SIZE(b.len));
	for (size_t i = n; i-- > 0;) {
		if (a.data[i] != b.data[i]) {
			at = i;
			differing++;
		}
	}
	return mpk_arena_printf(d->arena, "%zu of %zu bytes differ, from byte %zu on", differing, n,
				at);
}

static struct mpk_span file_name(const void *item)
{
	const struct mpk_extracted_file *f = item;

	return mpk_span_str(f->name);
}

static void compare_files(struct differ *d, struct mpk_span name, const void *a, const void *b)
{
	const struct mpk_extracted_file *x = a, *y = b;

	/* the function table is compared kernel by kernel */
	if (mpk_span_equal(x->data, y->data) || mpk_span_is(name, "functions.json"))
		return;
	add(d, MPK_DIFF_CHANGED, "part", name, change_of(d, x->data, y->data));
}

static struct mpk_extracted_files files_of(struct differ *d, const struct mpk_view_node *n)
{
	struct mpk_extracted_files files = { 0 };

	d->diff->failed |= mpk_payload_extract(&n->payload, d->arena, &files, NULL) != MPK_OK;
	return files;
}

static struct mpk_span kernel_name(const void *item)
{
	const struct mpk_function_info *f = item;

	return f->key;
}

static void compare_kernels(struct differ *d, struct mpk_span name, const void *a, const void *b)
{
	struct mpk_strbuf x = { 0 }, y = { 0 };

	mpk_view_kernel_text(a, true, &x);
	mpk_view_kernel_text(b, true, &y);
	(void)compare_texts(d, "kernel", name, &x, &y);
}

static struct mpk_span model_name(const void *item)
{
	const struct mpk_signature *m = item;

	return m->name;
}

static void compare_models(struct differ *d, struct mpk_span name, const void *a, const void *b)
{
	struct mpk_strbuf x = { 0 }, y = { 0 };

	mpk_signature_text(a, &x);
	mpk_signature_text(b, &y);
	(void)compare_texts(d, "model function", name, &x, &y);
}

static void compare_payloads(struct differ *d, const struct mpk_view_node *a,
			     const struct mpk_view_node *b)
{
	static const struct thing kernel = { "kernel", sizeof(struct mpk_function_info),
					     kernel_name, compare_kernels, false };
	static const struct thing model = { "model function", sizeof(struct mpk_signature),
					    model_name, compare_models, false };
	static const struct thing file = { "part", sizeof(struct mpk_extracted_file), file_name,
					   compare_files, false };
	const struct mpk_kernels *x = mpk_view_kernels(a), *y = mpk_view_kernels(b);
	struct mpk_extracted_files a_files = files_of(d, a), b_files = files_of(d, b);

	match(d, &kernel, x ? x->functions : NULL, x ? x->function_count : 0,
	      y ? y->functions : NULL, y ? y->function_count : 0);
	match(d, &model, a->models.items, a->models.count, b->models.items, b->models.count);
	match(d, &file, a_files.items, a_files.count, b_files.items, b_files.count);
}

static struct mpk_span node_path(const void *item)
{
	const struct mpk_view_node *n = item;

	return mpk_span_str(n->path);
}

static void compare_nodes(struct differ *d, struct mpk_span path, const void *left,
			  const void *right)
{
	const struct mpk_view_node *a = left, *b = right;
	size_t before = d->diff->count;

	(void)path;
	d->path = a->path;
	if (!mpk_span_equal(a->node->kind, b->node->kind)) {
		add(d, MPK_DIFF_CHANGED, "module", (struct mpk_span){ 0 },
		    mpk_arena_printf(d->arena, "%s -> %s", MPK_QUOTE(a->node->kind),
				     MPK_QUOTE(b->node->kind)));
		return;
	}
	if (a->node->child_count != b->node->child_count)
		add(d, MPK_DIFF_CHANGED, "imports", (struct mpk_span){ 0 },
		    mpk_arena_printf(d->arena, "%zu -> %zu", a->node->child_count,
				     b->node->child_count));
	if (mpk_span_equal(a->node->payload, b->node->payload))
		return;
	if (a->decoded && b->decoded)
		compare_payloads(d, a, b);
	if (d->diff->count == before)
		add(d, MPK_DIFF_CHANGED, "payload", (struct mpk_span){ 0 },
		    change_of(d, a->node->payload, b->node->payload));
}

/* --- code beside the tree ------------------------------------------------------------- */

static struct mpk_span code_path(const void *item)
{
	const struct mpk_view_code *c = item;

	return mpk_span_str(c->path);
}

static struct mpk_span code_kernel_name(const void *item)
{
	const struct mpk_code_kernel *k = item;

	return k->name;
}

static void compare_codes(struct differ *d, struct mpk_span path, const void *left,
			  const void *right)
{
	static const struct thing kernel = { "kernel", sizeof(struct mpk_code_kernel),
					     code_kernel_name, NULL, false };
	const struct mpk_view_code *a = left, *b = right;
	const struct mpk_code_info *x = mpk_view_embedded_lister(a);
	const struct mpk_code_info *y = mpk_view_embedded_lister(b);

	(void)path;
	d->path = a->path;
	if (mpk_span_equal(a->at->bytes, b->at->bytes))
		return;
	if (a->code.format != b->code.format)
		add(d, MPK_DIFF_CHANGED, "code", (struct mpk_span){ 0 },
		    mpk_arena_printf(d->arena, "%s -> %s", a->code.format->name,
				     b->code.format->name));
	else
		add(d, MPK_DIFF_CHANGED, "code", (struct mpk_span){ 0 },
		    change_of(d, a->at->bytes, b->at->bytes));
	if (x && y)
		match(d, &kernel, x->kernels, x->kernel_count, y->kernels, y->kernel_count);
}

enum mpk_code mpk_diff_views(const struct mpk_view *a, struct mpk_span a_bytes,
			     const struct mpk_view *b, struct mpk_span b_bytes,
			     struct mpk_arena *arena, struct mpk_diff *out, struct mpk_error *err)
{
	static const struct thing node = { "module", sizeof *a->nodes, node_path, compare_nodes,
					   true };
	static const struct thing code = { "code", sizeof *a->embedded, code_path, compare_codes,
					   true };
	struct differ d = { out, arena, "" };

	*out = (struct mpk_diff){ 0 };
	if (mpk_span_equal(a_bytes, b_bytes))
		return MPK_OK;
	compare_images(&d, a, b);
	match(&d, &node, a->nodes, a->count, b->nodes, b->count);
	match(&d, &code, a->embedded, a->image->embedded_count, b->embedded,
	      b->image->embedded_count);
	d.path = "";
	if (!out->count)
		add(&d, MPK_DIFF_CHANGED, "bytes", (struct mpk_span){ 0 },
		    change_of(&d, a_bytes, b_bytes));
	return out->failed ? mpk_fail_nomem(err) : MPK_OK;
}

void mpk_diff_fini(struct mpk_diff *diff)
{
	free(diff->items);
	memset(diff, 0, sizeof *diff);
}
