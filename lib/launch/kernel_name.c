/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_name.c - which kernel of which module "MODULE.KERNEL" is */
#include <string.h>

#include "launch/resolve.h"
#include "text/escape.h"
#include "toml/reader.h"

/* The manifest's lists, as names to choose from. */
static const struct mpk_span *module_names(struct mpk_resolve *r)
{
	struct mpk_span *names = mpk_resolve_array(r, r->manifest->module_count, sizeof *names);

	for (size_t m = 0; names && m < r->manifest->module_count; m++)
		names[m] = mpk_toml_str_span(r->manifest->modules[m].id);
	return names;
}

/* A module that has no id, and rows without names, are other mistakes: nobody meant them. */
static const char *suggest(struct mpk_resolve *r, struct mpk_span word,
			   const struct mpk_span *names, size_t count,
			   char near[MPK_TOML_SUGGEST_BYTES])
{
	struct mpk_span *known = mpk_resolve_array(r, count, sizeof *known);
	size_t used = 0;

	for (size_t i = 0; known && names && i < count; i++)
		if (names[i].len)
			known[used++] = names[i];
	return mpk_toml_suggest(word, known, used, near);
}

/* A module that lacks its id may be the one that is meant. */
static bool lacks_ids(const struct mpk_span *modules, size_t count)
{
	for (size_t i = 0; modules && i < count; i++)
		if (!modules[i].len)
			return true;
	return false;
}

/* Whether what a table lacks may be due to a mistake that is reported already: the file that would
 * have completed it, or one in the module. */
static bool may_lack_rows(const struct mpk_manifest_module *module)
{
	return !module->valid || (module->data.text && !module->function_count);
}

static const struct mpk_span *kernel_names(struct mpk_resolve *r,
					   const struct mpk_manifest_module *module)
{
	struct mpk_span *names = mpk_resolve_array(r, module->function_count, sizeof *names);

	for (size_t k = 0; names && k < module->function_count; k++)
		names[k] = mpk_toml_str_span(module->functions[k].name);
	return names;
}

static size_t find_name(const struct mpk_span *names, size_t count, struct mpk_span name)
{
	size_t i = 0;

	while (names && i < count && !mpk_span_equal(names[i], name))
		i++;
	return i;
}

/* A name without a module: the first module that has such a kernel was meant. */
static void bare_kernel(struct mpk_resolve *r, const struct mpk_toml_str *name)
{
	struct mpk_span text = mpk_toml_str_span(*name);

	for (size_t m = 0; m < r->manifest->module_count; m++) {
		const struct mpk_manifest_module *module = &r->manifest->modules[m];

		if (find_name(kernel_names(r, module), module->function_count, text) ==
		    module->function_count)
			continue;
		MPK_COMPLAIN(r, name->pos, "'%s' names no kernel; did you mean '%s.%s'?",
			     MPK_QUOTE(text), MPK_QUOTE(mpk_toml_str_span(module->id)),
			     MPK_QUOTE(text));
		return;
	}
	MPK_COMPLAIN(r, name->pos, "'%s' names no kernel; it is written MODULE.KERNEL",
		     MPK_QUOTE(text));
}

const struct mpk_manifest_function *mpk_resolve_kernel(struct mpk_resolve *r,
						       const struct mpk_toml_str *name,
						       struct mpk_launch_step *step)
{
	struct mpk_span text = mpk_toml_str_span(*name), id, key;
	const char *dot = memchr(name->text, '.', name->len);
	const struct mpk_span *modules = module_names(r), *kernels;
	const struct mpk_manifest_module *module;
	char near[MPK_TOML_SUGGEST_BYTES];
	size_t k;

	if (!dot) {
		bare_kernel(r, name);
		return NULL;
	}
	id = mpk_span_of(text.data, (size_t)(dot - name->text));
	key = mpk_span_of(dot + 1, text.len - id.len - 1);
	step->module = find_name(modules, r->manifest->module_count, id);
	if (!modules || step->module == r->manifest->module_count) {
		if (!lacks_ids(modules, r->manifest->module_count))
			MPK_COMPLAIN(r, name->pos, "no module '%s'%s", MPK_QUOTE(id),
				     suggest(r, id, modules, r->manifest->module_count, near));
		return NULL;
	}
	module = &r->manifest->modules[step->module];
	kernels = kernel_names(r, module);
	k = find_name(kernels, module->function_count, key);
	if (!kernels || k == module->function_count) {
		if (!may_lack_rows(module))
			MPK_COMPLAIN(r, name->pos, "module '%s' lists no kernel '%s'%s",
				     MPK_QUOTE(id), MPK_QUOTE(key),
				     suggest(r, key, kernels, module->function_count, near));
		return NULL;
	}
	step->kernel = module->functions[k].name.text;
	return &module->functions[k];
}
