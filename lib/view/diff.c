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

/* Things of two lists that have names: matched by name, then compared. */
struct named {
	struct mpk_span name;
	const void *thing;
};

struct differ {
	struct mpk_diff *diff;
	struct mpk_arena *arena;
	const char *path; /* of the module that is compared; "" for the library */
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

/* A module is called by its path, which is a C string. */
static void add_module(struct differ *d, enum mpk_diff_sign sign, struct mpk_span path)
{
	d->path = (const char *)path.data;
	add(d, sign, "module", (struct mpk_span){ 0 }, "");
}

static struct named *list_of(struct differ *d, size_t count)
{
	struct named *list = mpk_arena_array(d->arena, count, sizeof *list);

	d->diff->failed |= !list;
	return list;
}

/* @what     NULL: modules, whose names are their paths
 * @compare  appends what changed; called for every pair of one name */
static void match(struct differ *d, const char *what, const struct named *a, size_t a_count,
		  const struct named *b, size_t b_count,
		  void (*compare)(struct differ *d, struct mpk_span name, const void *a,
				  const void *b))
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap in_a = { 0 };
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap in_b = { 0 };
	size_t at;

	if (!a || !b)
		return;
	for (size_t i = 0; i < a_count; i++)
		d->diff->failed |= mpk_strmap_put(&in_a, a[i].name, i, &at) < 0;
	for (size_t i = 0; i < b_count; i++)
		d->diff->failed |= mpk_strmap_put(&in_b, b[i].name, i, &at) < 0;
	for (size_t i = 0; i < a_count; i++) {
		if (mpk_strmap_find(&in_b, a[i].name, &at))
			compare(d, a[i].name, a[i].thing, b[at].thing);
		else if (what)
			add(d, MPK_DIFF_REMOVED, what, a[i].name, "");
		else
			add_module(d, MPK_DIFF_REMOVED, a[i].name);
	}
	for (size_t i = 0; i < b_count; i++) {
		if (mpk_strmap_find(&in_a, b[i].name, &at))
			continue;
		if (what)
			add(d, MPK_DIFF_ADDED, what, b[i].name, "");
		else
			add_module(d, MPK_DIFF_ADDED, b[i].name);
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

static void compare_functions(struct differ *d, struct mpk_span name, const void *a, const void *b)
{
	const struct mpk_image_function *x = a, *y = b;

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

static struct named *functions_of(struct differ *d, const struct mpk_image *image)
{
	struct named *list = list_of(d, image->function_count);

	for (size_t i = 0; list && i < image->function_count; i++)
		list[i] = (struct named){ mpk_span_str(image->functions[i].name),
					  &image->functions[i] };
	return list;
}

static void same_text(struct differ *d, struct mpk_span name, const void *a, const void *b)
{
	(void)d, (void)name, (void)a, (void)b;
}

static void compare_needed(struct differ *d, const struct mpk_image *a, const struct mpk_image *b)
{
	struct named *x = list_of(d, a->needed_count), *y = list_of(d, b->needed_count);

	for (size_t i = 0; x && i < a->needed_count; i++)
		x[i].name = mpk_span_str(a->needed[i]);
	for (size_t i = 0; y && i < b->needed_count; i++)
		y[i].name = mpk_span_str(b->needed[i]);
	match(d, "needed library", x, a->needed_count, y, b->needed_count, same_text);
}

static void compare_images(struct differ *d, const struct mpk_image *a, const struct mpk_image *b)
{
	compare_word(d, "machine", machine_of(a), machine_of(b));
	compare_word(d, "generation", mpk_generation_get(a->gen)->abi,
		     mpk_generation_get(b->gen)->abi);
	compare_word(d, "blob symbol", a->blob_symbol ? a->blob_symbol : "none",
		     b->blob_symbol ? b->blob_symbol : "none");
	match(d, "function", functions_of(d, a), a->function_count, functions_of(d, b),
	      b->function_count, compare_functions);
	compare_needed(d, a, b);
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

static void compare_files(struct differ *d, struct mpk_span name, const void *a, const void *b)
{
	const struct mpk_extracted_file *x = a, *y = b;

	/* the function table is compared kernel by kernel */
	if (mpk_span_equal(x->data, y->data) || mpk_span_is(name, "functions.json"))
		return;
	add(d, MPK_DIFF_CHANGED, "part", name, change_of(d, x->data, y->data));
}

static struct named *files_of(struct differ *d, const struct mpk_view_node *n, size_t *count)
{
	struct mpk_extracted_files files = { 0 };
	struct named *list;

	*count = 0;
	if (mpk_payload_extract(&n->payload, d->arena, &files, NULL) != MPK_OK) {
		d->diff->failed = true;
		return NULL;
	}
	list = list_of(d, files.count);
	for (size_t i = 0; list && i < files.count; i++)
		list[i] = (struct named){ mpk_span_str(files.items[i].name), &files.items[i] };
	*count = files.count;
	return list;
}

static const char *kernel_text(struct differ *d, const struct mpk_function_info *f)
{
	struct mpk_strbuf text = { 0 };
	const char *copy;

	mpk_view_kernel_text(f, true, &text);
	d->diff->failed |= text.failed;
	copy = mpk_arena_printf(d->arena, "%s", mpk_strbuf_text(&text));
	mpk_strbuf_fini(&text);
	return copy;
}

static void compare_kernels(struct differ *d, struct mpk_span name, const void *a, const void *b)
{
	const char *x = kernel_text(d, a), *y = kernel_text(d, b);

	if (x && y && strcmp(x, y) != 0)
		add(d, MPK_DIFF_CHANGED, "kernel", name,
		    mpk_arena_printf(d->arena, "%s -> %s", x, y));
}

static struct named *kernels_of(struct differ *d, const struct mpk_view_node *n, size_t *count)
{
	const struct mpk_kernels *k = mpk_view_kernels(n);
	struct named *list;

	*count = k ? k->function_count : 0;
	list = list_of(d, *count);
	for (size_t i = 0; list && i < *count; i++)
		list[i] = (struct named){ k->functions[i].key, &k->functions[i] };
	return list;
}

static const char *model_text(struct differ *d, const struct mpk_model *m)
{
	struct mpk_strbuf text = { 0 };
	const char *copy;

	mpk_view_model_text(m, &text);
	d->diff->failed |= text.failed;
	copy = mpk_arena_printf(d->arena, "%s", mpk_strbuf_text(&text));
	mpk_strbuf_fini(&text);
	return copy;
}

static void compare_models(struct differ *d, struct mpk_span name, const void *a, const void *b)
{
	const char *x = model_text(d, a), *y = model_text(d, b);

	if (x && y && strcmp(x, y) != 0)
		add(d, MPK_DIFF_CHANGED, "model function", name,
		    mpk_arena_printf(d->arena, "%s -> %s", x, y));
}

static struct named *models_of(struct differ *d, const struct mpk_view_node *n)
{
	struct named *list = list_of(d, n->models.count);

	for (size_t i = 0; list && i < n->models.count; i++)
		list[i] = (struct named){ n->models.items[i].name, &n->models.items[i] };
	return list;
}

static void compare_imports(struct differ *d, const struct mpk_view_node *a,
			    const struct mpk_view_node *b)
{
	if (a->node->child_count != b->node->child_count)
		add(d, MPK_DIFF_CHANGED, "imports", (struct mpk_span){ 0 },
		    mpk_arena_printf(d->arena, "%zu -> %zu", a->node->child_count,
				     b->node->child_count));
}

static void compare_nodes(struct differ *d, struct mpk_span path, const void *left,
			  const void *right)
{
	const struct mpk_view_node *a = left, *b = right;
	size_t before = d->diff->count, x_count, y_count;
	struct named *x, *y;

	(void)path;
	d->path = a->path;
	if (!mpk_span_equal(a->node->kind, b->node->kind)) {
		add(d, MPK_DIFF_CHANGED, "module", (struct mpk_span){ 0 },
		    mpk_arena_printf(d->arena, "%s -> %s", MPK_QUOTE(a->node->kind),
				     MPK_QUOTE(b->node->kind)));
		return;
	}
	compare_imports(d, a, b);
	if (mpk_span_equal(a->node->payload, b->node->payload))
		return;
	if (a->decoded && b->decoded) {
		x = kernels_of(d, a, &x_count);
		y = kernels_of(d, b, &y_count);
		match(d, "kernel", x, x_count, y, y_count, compare_kernels);
		match(d, "model function", models_of(d, a), a->models.count, models_of(d, b),
		      b->models.count, compare_models);
		x = files_of(d, a, &x_count);
		y = files_of(d, b, &y_count);
		match(d, "part", x, x_count, y, y_count, compare_files);
	}
	if (d->diff->count == before)
		add(d, MPK_DIFF_CHANGED, "payload", (struct mpk_span){ 0 },
		    change_of(d, a->node->payload, b->node->payload));
}

static struct named *nodes_of(struct differ *d, const struct mpk_view *v)
{
	struct named *list = list_of(d, v->count);

	for (size_t i = 0; list && i < v->count; i++)
		list[i] = (struct named){ mpk_span_str(v->nodes[i].path), &v->nodes[i] };
	return list;
}

enum mpk_code mpk_diff_views(const struct mpk_view *a, struct mpk_span a_bytes,
			     const struct mpk_view *b, struct mpk_span b_bytes,
			     struct mpk_arena *arena, struct mpk_diff *out, struct mpk_error *err)
{
	struct differ d = { out, arena, "" };

	*out = (struct mpk_diff){ 0 };
	if (mpk_span_equal(a_bytes, b_bytes))
		return MPK_OK;
	compare_images(&d, a->image, b->image);
	match(&d, NULL, nodes_of(&d, a), a->count, nodes_of(&d, b), b->count, compare_nodes);
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
