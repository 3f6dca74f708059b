/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_name.c - kernels as a user says them: "add", or "/0#add" for the module at a path
 *
 * Two modules of a library may have kernels of one name, as TVM names them after operators. So a
 * name alone is refused where it fits two, with both paths to choose from.
 */
#include "runtime/internal/runtime.h"

#include <stdio.h>
#include <string.h>

#include "text/escape.h"

enum { PATH_BYTES = 256 };

enum mpk_code mpk_kernel_name_parse(const struct mpk_tree *tree, const char *text, int32_t device,
				    struct mpk_kernel_name *out, struct mpk_error *err)
{
	struct mpk_kernel_name name = { .name = text, .end = tree->count, .device = device };
	const char *hash = text[0] == '/' ? strchr(text, '#') : NULL;
	char path[PATH_BYTES];

	if (hash) {
		int len = snprintf(path, sizeof path, "%.*s", (int)(hash - text), text);

		if (len < 0 || len >= PATH_BYTES || !mpk_tree_find(tree, path, &name.first))
			return mpk_fail(err, MPK_E_NOTFOUND, "there is no module at '%s'",
					MPK_QUOTE(mpk_span_str(path)));
		name.name = hash + 1;
		name.end = name.first + 1;
	}
	*out = name;
	return MPK_OK;
}

enum mpk_code mpk_kernel_name_ambiguous(const struct mpk_tree *tree,
					const struct mpk_kernel_name *name, size_t a, size_t b,
					struct mpk_error *err)
{
	char path_a[PATH_BYTES], path_b[PATH_BYTES];
	struct mpk_span kernel = mpk_span_str(name->name);

	mpk_tree_path(tree, a, path_a, sizeof path_a);
	mpk_tree_path(tree, b, path_b, sizeof path_b);
	return mpk_fail(err, MPK_E_USAGE,
			"there are kernels '%s' in %s (%s) and in %s (%s): say %s#%s or %s#%s",
			MPK_QUOTE(kernel), path_a, MPK_QUOTE(tree->nodes[a].kind), path_b,
			MPK_QUOTE(tree->nodes[b].kind), path_a, MPK_QUOTE(kernel), path_b,
			MPK_QUOTE(kernel));
}
