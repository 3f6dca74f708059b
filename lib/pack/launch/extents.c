/* SPDX-License-Identifier: Apache-2.0 */
/* extents.c - how a kernel is launched: grid, block, shared memory, and the tags that carry them */
#include <string.h>

#include "launch/internal/resolve.h"
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
	int64_t least = strcmp(what, "grid") != 0, value;

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

static bool is_one(const struct mpk_launch_extent *extent)
{
	int64_t value;

	return !extent->expr || (mpk_expr_constant(extent->expr, &value) && value == 1);
}

/* Extents that no tag carries would be lost. */
static void check_carried(struct mpk_resolve *r, const struct mpk_launch_step *step,
			  const struct mpk_launch_extent extents[3], const char *what,
			  const char *tag, enum mpk_launch_tag first, struct mpk_pos pos)
{
	for (unsigned i = 0; i < 3; i++)
		if (!is_one(&extents[i]) && !has_tag(step, (enum mpk_launch_tag)(first + i)))
			MPK_COMPLAIN(r, pos, "kernel '%s' has no launch tag %s.%c for its %s",
				     step->kernel, tag, "xyz"[i], what);
}

/* What only CUDA has, and what a tag must carry. */
static void check_attributes(struct mpk_resolve *r, const struct mpk_manifest_step *m,
			     const struct mpk_launch_step *step)
{
	const struct {
		bool given;
		enum mpk_launch_tag tag;
		const char *key, *name;
	} attributes[] = {
		{ m->cooperative, MPK_TAG_COOPERATIVE, "cooperative", "use_cooperative_launch" },
		{ m->pdl, MPK_TAG_PROGRAMMATIC, "pdl", "use_programtic_dependent_launch" },
	};
	bool cuda = r->launch->device_type == MPK_DL_CUDA;

	if (m->cluster.present && !cuda)
		MPK_COMPLAIN(r, m->cluster.pos, "only cuda kernels have clusters");
	for (size_t i = 0; i < MPK_ARRAY_COUNT(attributes); i++) {
		if (attributes[i].given && !cuda)
			MPK_COMPLAIN(r, m->kernel.pos, "'%s' is for cuda kernels",
				     attributes[i].key);
		else if (attributes[i].given && !has_tag(step, attributes[i].tag))
			MPK_COMPLAIN(r, m->kernel.pos,
				     "kernel '%s' has no launch tag tirx.%s for '%s'", step->kernel,
				     attributes[i].name, attributes[i].key);
	}
}

static void check_tags(struct mpk_resolve *r, const struct mpk_manifest_step *m,
		       const struct mpk_launch_step *step)
{
	check_carried(r, step, step->grid, "grid", "blockIdx", MPK_TAG_GRID_X, m->grid.pos);
	check_carried(r, step, step->block, "block", "threadIdx", MPK_TAG_BLOCK_X, m->block.pos);
	check_carried(r, step, step->cluster, "cluster", "clusterCtaIdx", MPK_TAG_CLUSTER_X,
		      m->cluster.pos);
	if (m->shared.text && !has_tag(step, MPK_TAG_DYN_SHARED))
		MPK_COMPLAIN(r, m->shared.pos,
			     "kernel '%s' has no launch tag for dynamic shared memory",
			     step->kernel);
	check_attributes(r, m, step);
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
	if (kernel)
		resolve_tags(r, kernel, step);
	resolve_list(r, &m->grid, "grid", step->grid);
	resolve_list(r, &m->block, "block", step->block);
	resolve_list(r, &m->cluster, "cluster", step->cluster);
	if (m->shared.text)
		resolve_extent(r, &m->shared, &step->shared);
	if (kernel)
		check_tags(r, m, step);
}
