/* SPDX-License-Identifier: Apache-2.0 */
/* wrap_launch.c - how a kernel is launched: from notes, from what is compiled into it, or as somebody says; else it is
 * an error, as a wrong block or too little shared memory is a fault on the device */
#include "package/internal/wrap.h"

#include <inttypes.h>
#include <string.h>

#include "launch/launch.h"
#include "text/escape.h"

/* Up to three expressions; their names are looked at where the manifest is read. */
static enum mpk_code read_expressions(const struct mpk_wrap *w, const char *text, const char *what,
				      const char *out[3])
{
	const struct mpk_span *items;
	size_t count;

	MPK_TRY(mpk_wrap_split(text, w->arena, &items, &count, w->err));
	if (!count || count > 3)
		return mpk_fail(w->err, MPK_E_SYNTAX, "%s: up to three expressions, not %zu", what,
				count);
	for (size_t i = 0; i < count; i++) {
		struct mpk_scan s = { .text = items[i] };
		const struct mpk_expr *e;
		enum mpk_code code = mpk_expr_scan(&s, w->arena, &e, w->err);

		w->err->at = (struct mpk_where){ 0 };
		if (code == MPK_OK && s.at < items[i].len)
			code = mpk_fail(w->err, MPK_E_SYNTAX, "'%s' is no expression",
					MPK_QUOTE(items[i]));
		if (code != MPK_OK) {
			mpk_error_prefix(w->err, "%s: ", what);
			return code;
		}
		out[i] = mpk_arena_text(w->arena, items[i]);
		MPK_TRY_ALLOC(out[i], w->err);
	}
	return MPK_OK;
}

static enum mpk_code put_numbers(const struct mpk_wrap *w, const uint32_t *numbers, size_t count,
				 const char *out[3])
{
	for (size_t i = 0; i < count; i++) {
		out[i] = mpk_arena_printf(w->arena, "%" PRIu32, numbers[i]);
		MPK_TRY_ALLOC(out[i], w->err);
	}
	return MPK_OK;
}

/* TileLang launches as many threads as it promises the compiler; along which dimensions, the code tells where it asks
 * for an index along y or z. */
static bool is_tilelang_block(const struct mpk_wrap *w)
{
	struct mpk_span text = w->source ? w->source->bytes : (struct mpk_span){ 0 };

	return mpk_span_has(text, "tl_templates/") && !mpk_span_has(text, "threadIdx.y") &&
	       !mpk_span_has(text, "threadIdx.z") && w->kernel->max_threads[0] &&
	       w->kernel->max_threads[1] <= 1 && w->kernel->max_threads[2] <= 1;
}

static enum mpk_code choose_block(const struct mpk_wrap *w, struct mpk_wrap_launch *l)
{
	const struct mpk_cubin_kernel *k = w->kernel;

	if (w->triton && k->block[0] &&
	    (k->block[0] != w->triton->threads || k->block[1] > 1 || k->block[2] > 1))
		return mpk_fail(w->err, MPK_E_CONFLICT,
				"Triton's metadata have blocks of %" PRIu32
				" threads, and the cubin is made for %" PRIu32 "x%" PRIu32
				"x%" PRIu32 ": they are of another kernel",
				w->triton->threads, k->block[0], k->block[1], k->block[2]);
	if (w->triton)
		return put_numbers(w, &w->triton->threads, 1, l->block);
	if (w->how->block)
		return read_expressions(w, w->how->block, "block", l->block);
	if (k->block[0])
		return put_numbers(w, k->block,
				   k->block[2] > 1   ? 3
				   : k->block[1] > 1 ? 2
						     : 1,
				   l->block);
	if (is_tilelang_block(w))
		return put_numbers(w, k->max_threads, 1, l->block);
	return mpk_fail(w->err, MPK_E_UNSUPPORTED,
			"nothing says which block kernel '%s' is launched with: give it",
			MPK_QUOTE(k->name));
}

/* An extent of the grid as a factor: a name or a number, else in brackets. */
static const char *factor(const struct mpk_wrap *w, const struct mpk_wrap_launch *l, unsigned i)
{
	const char *text = l->grid[i] ? l->grid[i] : "1", *bracketed;

	if (!strpbrk(text, " +-*/%"))
		return text;
	bracketed = mpk_arena_printf(w->arena, "(%s)", text);
	return bracketed ? bracketed : text; /* the next allocation fails, too */
}

/* The grid that a caller gives counts clusters, as Triton has it. */
static enum mpk_code multiply_grid(const struct mpk_wrap *w, const uint32_t *cluster,
				   struct mpk_wrap_launch *l)
{
	for (unsigned i = 0; i < 3; i++) {
		if (cluster[i] == 1)
			continue;
		l->grid[i] =
			mpk_arena_printf(w->arena, "%s * %" PRIu32, factor(w, l, i), cluster[i]);
		MPK_TRY_ALLOC(l->grid[i], w->err);
	}
	return put_numbers(w, cluster, 3, l->cluster);
}

static enum mpk_code choose_cluster(const struct mpk_wrap *w, struct mpk_wrap_launch *l)
{
	const uint32_t *cluster = w->triton ? w->triton->cluster : NULL;

	if (w->how->cluster)
		return read_expressions(w, w->how->cluster, "cluster", l->cluster);
	if (cluster && (cluster[0] > 1 || cluster[1] > 1 || cluster[2] > 1))
		return multiply_grid(w, cluster, l);
	/* a size that is compiled in needs no attribute */
	return MPK_OK;
}

static enum mpk_code choose_grid(const struct mpk_wrap *w, struct mpk_wrap_launch *l)
{
	if (w->how->grid)
		return read_expressions(w, w->how->grid, "grid", l->grid);
	l->grid[0] = "grid_x";
	l->grid[1] = "grid_y";
	l->grid[2] = "grid_z";
	l->grid_is_argument = true;
	return MPK_OK;
}

/* Dynamic shared memory has no size in the code: it is known, or somebody says it. */
static enum mpk_code choose_shared(const struct mpk_wrap *w, struct mpk_wrap_launch *l)
{
	const char *texts[3] = { 0 };

	if (w->triton && w->triton->shared_bytes) {
		l->shared = mpk_arena_printf(w->arena, "%" PRIu64, w->triton->shared_bytes);
		MPK_TRY_ALLOC(l->shared, w->err);
	} else if (w->how->shared) {
		MPK_TRY(read_expressions(w, w->how->shared, "shared", texts));
		l->shared = texts[0];
	} else if (w->source && mpk_span_has(w->source->bytes, "extern __shared__")) {
		return mpk_fail(
			w->err, MPK_E_UNSUPPORTED,
			"its source has dynamic shared memory, and nothing says of how many bytes: give them, also when they are 0");
	}
	return MPK_OK;
}

enum mpk_code mpk_wrap_choose_launch(const struct mpk_wrap *w, struct mpk_wrap_launch *l)
{
	const struct mpk_wrap_options *how = w->how;

	*l = (struct mpk_wrap_launch){ .cooperative = how->cooperative,
				       .programmatic = how->programmatic };
	if (w->triton &&
	    (how->block || how->cluster || how->shared || how->cooperative || how->programmatic))
		return mpk_fail(
			w->err, MPK_E_USAGE,
			"Triton's metadata have the block, the cluster, the shared memory and attributes: only a grid and a signature can be given");
	if (w->triton) {
		l->cooperative = w->triton->cooperative;
		l->programmatic = w->triton->programmatic;
	}
	MPK_TRY(choose_grid(w, l));
	MPK_TRY(choose_block(w, l));
	MPK_TRY(choose_cluster(w, l));
	MPK_TRY(choose_shared(w, l));
	l->blocks = mpk_arena_printf(w->arena, "%s * %s * %s", factor(w, l, 0), factor(w, l, 1),
				     factor(w, l, 2));
	MPK_TRY_ALLOC(l->blocks, w->err);
	return MPK_OK;
}
