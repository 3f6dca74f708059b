/* SPDX-License-Identifier: Apache-2.0 */
#include "view/diff_host.h"

#include <inttypes.h>
#include <string.h>

#include "text/escape.h"

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

static void compare_functions(struct mpk_differ *d, struct mpk_span name, const void *a,
			      const void *b)
{
	const struct host_function *f = a, *g = b;
	const struct mpk_image_function *x = f->function, *y = g->function;

	if (compare_signatures(d, name, f->signature, g->signature))
		return;
	if (x->bytes != y->bytes)
		(void)mpk_differ_change(d, "function", name,
					"%" PRIu64 " -> %" PRIu64 " bytes of code", x->bytes,
					y->bytes);
	else if (strcmp(x->alias_of ? x->alias_of : "", y->alias_of ? y->alias_of : "") != 0)
		(void)mpk_differ_change(d, "function", name, "names '%s' -> '%s'",
					MPK_QUOTE(mpk_span_str(x->alias_of ? x->alias_of : "")),
					MPK_QUOTE(mpk_span_str(y->alias_of ? y->alias_of : "")));
}

static const struct host_function *functions_of(struct mpk_differ *d, const struct mpk_view *v,
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

void mpk_diff_host(struct mpk_differ *d, const struct mpk_view *x, const struct mpk_view *y)
{
	static const struct mpk_diff_thing function = { .what = "function",
							.bytes = sizeof(struct host_function),
							.name = function_name,
							.compare = compare_functions };
	static const struct mpk_diff_thing needed = { .what = "needed library",
						      .bytes = sizeof(const char *),
						      .name = text_of };
	const struct mpk_image *a = x->image, *b = y->image;
	size_t a_count, b_count;
	const struct host_function *a_functions = functions_of(d, x, &a_count);
	const struct host_function *b_functions = functions_of(d, y, &b_count);

	mpk_differ_words(d, "machine", machine_of(a), machine_of(b));
	mpk_differ_words(d, "generation", mpk_generation_get(a->gen)->abi,
			 mpk_generation_get(b->gen)->abi);
	mpk_differ_words(d, "blob symbol", a->blob_symbol ? a->blob_symbol : "none",
			 b->blob_symbol ? b->blob_symbol : "none");
	mpk_differ_match(d, &function, a_functions, a_count, b_functions, b_count);
	mpk_differ_match(d, &needed, a->needed, a->needed_count, b->needed, b->needed_count);
}

void mpk_diff_rest(struct mpk_differ *d, const struct mpk_view *a, struct mpk_span a_bytes,
		   const struct mpk_view *b, struct mpk_span b_bytes)
{
	(void)a;
	(void)b;
	(void)mpk_differ_bytes(d, "bytes", (struct mpk_span){ 0 }, a_bytes, b_bytes);
}
