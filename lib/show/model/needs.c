/* SPDX-License-Identifier: Apache-2.0 */
/* What loading a tree takes: loaders for its modules, devices for its code. */
#include "base/strmap.h"
#include "code/target.h"
#include "model/view.h"

enum mpk_code mpk_view_loaders(const struct mpk_view *view, const struct mpk_span **out,
			       size_t *count, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap known = { 0 };
	struct mpk_span *kinds = mpk_arena_array(view->arena, view->count, sizeof *kinds);
	size_t n = 0, ignored;

	MPK_TRY_ALLOC(kinds, err);
	for (size_t i = 0; i < view->count; i++) {
		const struct mpk_node *node = view->nodes[i].node;
		int added = node->is_lib ? 0 : mpk_strmap_put(&known, node->kind, 0, &ignored);

		MPK_TRY_ALLOC(added >= 0, err);
		if (added)
			kinds[n++] = node->kind;
	}
	*out = kinds;
	*count = n;
	return MPK_OK;
}

enum mpk_code mpk_view_targets(const struct mpk_view *view, const struct mpk_view_node *node,
			       const struct mpk_code_target **out, size_t *count,
			       struct mpk_error *err)
{
	const struct mpk_kernels *k = mpk_view_kernels(node);
	struct mpk_error problem = { 0 };

	*count = 0;
	if (!k || k->layout != MPK_KERNELS_PLAIN || !mpk_code_kind_has_targets(node->node->kind))
		return MPK_OK;
	if (mpk_code_targets(k->data, view->arena, out, count, &problem) != MPK_OK)
		*count = 0; /* --verify tells why */
	return problem.code == MPK_E_NOMEM ? mpk_fail_nomem(err) : MPK_OK;
}
