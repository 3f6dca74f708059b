/* SPDX-License-Identifier: Apache-2.0 */
/* extents.c - how a kernel is launched: grid, block, shared memory, and the tags that carry them */
#include <string.h>

#include "launch/resolve.h"
#include "text/escape.h"

static void resolve_extent(struct mpk_resolve *r, const struct mpk_toml_str *text,
			   struct mpk_launch_extent *out)
{
	struct mpk_scan s = mpk_resolve_scan(text);
	struct mpk_error err;

	out->text = s.text;
	if (mpk_expr_scan(&s, r->arena, &out->expr, &err) != MPK_OK)
		mpk_resolve_finding(r, &err);
	else if (mpk_scan_space(&s))
		MPK_COMPLAIN(r, text->pos, "'%s' is no expression", MPK_QUOTE(s.text));
	else
		(void)mpk_resolve_names(r, out->expr, text->pos);
}

static void resolve_list(struct mpk_resolve *r, const struct mpk_toml_list *list, const char *what,
			 struct mpk_launch_extent out[3])
{
	if (list->count > 3) {
		MPK_COMPLAIN(r, list->pos, "%s has more than three extents", what);
		return;
	}
	int64_t least = strcmp(what, "block") == 0, value;

	for (size_t i = 0; i < list->count; i++) {
		resolve_extent(r, &list->items[i], &out[i]);
		if (out[i].expr && mpk_expr_constant(out[i].expr, &value) && value < least)
			MPK_COMPLAIN(r, list->items[i].pos, "a %s extent is at least %d, not %lld",
				     what, (int)least, (long long)value);
	}
}

static bool has_tag(const struct mpk_launch_step *step, enum mpk_launch_tag tag)
{
	for (size_t i = 0; i < step->tag_count; i++)
		if (step->tags[i] == tag)
			return true;
	return false;
}

/* Every extent that is given must have a tag that carries it, else it would be lost. */
static void check_tags(struct mpk_resolve *r, const struct mpk_manifest_step *m,
		       const struct mpk_launch_step *step)
{
	static const char axes[] = "xyz";

	for (unsigned i = 0; i < 3; i++) {
		int64_t one;
		bool grid_one = !step->grid[i].expr ||
				(mpk_expr_constant(step->grid[i].expr, &one) && one == 1);
		bool block_one = !step->block[i].expr ||
				 (mpk_expr_constant(step->block[i].expr, &one) && one == 1);

		if (!grid_one && !has_tag(step, (enum mpk_launch_tag)(MPK_TAG_GRID_X + i)))
			MPK_COMPLAIN(r, m->grid.pos,
				     "kernel '%s' has no launch tag blockIdx.%c for its grid",
				     step->kernel, axes[i]);
		if (!block_one && !has_tag(step, (enum mpk_launch_tag)(MPK_TAG_BLOCK_X + i)))
			MPK_COMPLAIN(r, m->block.pos,
				     "kernel '%s' has no launch tag threadIdx.%c for its block",
				     step->kernel, axes[i]);
	}
	if (m->shared.text && !has_tag(step, MPK_TAG_DYN_SHARED))
		MPK_COMPLAIN(r, m->shared.pos,
			     "kernel '%s' has no launch tag for dynamic shared memory",
			     step->kernel);
}

static void resolve_tags(struct mpk_resolve *r, const struct mpk_manifest_function *kernel,
			 struct mpk_launch_step *step)
{
	enum mpk_launch_tag *tags = mpk_resolve_array(r, kernel->launch.count, sizeof *tags);

	for (size_t i = 0; tags && i < kernel->launch.count; i++) {
		const struct mpk_toml_str *t = &kernel->launch.items[i];

		tags[i] = mpk_launch_tag_parse(mpk_span_of(t->text, t->len));
	}
	step->tags = tags;
	step->tag_count = tags ? kernel->launch.count : 0;
}

void mpk_resolve_extents(struct mpk_resolve *r, const struct mpk_manifest_step *m,
			 const struct mpk_manifest_function *kernel, struct mpk_launch_step *step)
{
	resolve_tags(r, kernel, step);
	resolve_list(r, &m->grid, "grid", step->grid);
	resolve_list(r, &m->block, "block", step->block);
	if (m->shared.text)
		resolve_extent(r, &m->shared, &step->shared);
	check_tags(r, m, step);
}
