/* SPDX-License-Identifier: Apache-2.0 */
/* launch.c - where generated launch functions stand among the modules */

#include <string.h>

#include "launch/launch.h"
#include "package/internal/loader.h"

/* The module that the generated code joins: the first host module, else a new one behind
 * all others, which becomes the root unless the manifest names another. */
static size_t host_of(const struct mpk_manifest *m, struct mpk_module *modules, size_t *count,
		      size_t *root)
{
	for (size_t i = 0; i < m->module_count; i++)
		if (m->modules[i].is_host)
			return i;
	modules[*count] = (struct mpk_module){
		.name = mpk_span_str("launch functions"),
		.is_host = true,
	};
	if (!m->root.text)
		*root = *count;
	return (*count)++;
}

/* Of each module whether a host module imports it. */
static bool *imported(struct mpk_loader *l, const struct mpk_module *modules, size_t count)
{
	bool *known = mpk_arena_array(l->arena, count, sizeof *known);

	for (size_t m = 0; known && m < count; m++)
		for (size_t i = 0; modules[m].is_host && i < modules[m].import_count; i++)
			known[modules[m].imports[i]] = true;
	return known;
}

/* The code finds its kernels among the imports of the library: those that no host module
 * imports yet are added. */
static void import_kernels(struct mpk_loader *l, const struct mpk_launch *launches,
			   struct mpk_module *modules, size_t count, size_t host)
{
	size_t most = modules[host].import_count, used = most;

	for (size_t i = 0; i < l->manifest->launch_count; i++)
		most += launches[i].step_count;
	size_t *imports = mpk_arena_array(l->arena, most, sizeof *imports);
	bool *known = imported(l, modules, count);
	if (!imports || !known) {
		l->failed = true;
		return;
	}
	if (used)
		memcpy(imports, modules[host].imports, used * sizeof *imports);
	for (size_t i = 0; i < l->manifest->launch_count; i++) {
		for (size_t s = 0; s < launches[i].step_count; s++) {
			size_t module = launches[i].steps[s].module;

			if (!known[module])
				imports[used++] = module;
			known[module] = true;
		}
	}
	modules[host].imports = imports;
	modules[host].import_count = used;
}

const struct mpk_launch *mpk_loader_launches(struct mpk_loader *l, struct mpk_module *modules,
					     size_t *count, size_t *root)
{
	const struct mpk_launch *launches = NULL;
	enum mpk_code code;

	if (!l->manifest->launch_count)
		return NULL;
	code = mpk_launch_resolve(l->manifest, l->arena, l->report, &launches, NULL);
	if (code == MPK_E_NOMEM)
		l->failed = true;
	if (launches)
		mpk_loader_check_steps(l, launches);
	if (code != MPK_OK || !launches || !l->manifest->valid)
		return NULL;
	size_t host = host_of(l->manifest, modules, count, root);
	import_kernels(l, launches, modules, *count, host);
	return launches;
}
