/* SPDX-License-Identifier: Apache-2.0 */
/* Launch functions within a package: checked against what the code of their kernels
 * demands, and placed among the modules. A driver refuses a block that a kernel was not
 * compiled for at every call, so this is reported when the package is built. */
#include <inttypes.h>
#include <string.h>

#include "launch/launch.h"
#include "package/internal/package.h"
#include "text/escape.h"

/* --- blocks and shared memory ----------------------------------------------------- */

/* The extents of a block that do not depend on arguments. */
struct block {
	int64_t extent[3];
	bool constant[3];
	bool all; /* constant */
};

/* An extent that is not given is 1, as in the generated code. */
static struct block block_of(const struct mpk_launch_step *step)
{
	struct block b = { .all = true };

	for (size_t i = 0; i < 3; i++) {
		b.extent[i] = 1;
		b.constant[i] = !step->block[i].expr ||
				mpk_expr_constant(step->block[i].expr, &b.extent[i]);
		b.all &= b.constant[i];
	}
	return b;
}

/* Extents are at least 1 and drivers count to 1024: what does not fit is too many, too. */
static uint64_t threads(const int64_t extent[3])
{
	uint64_t n = 1;

	for (size_t i = 0; i < 3; i++)
		if (__builtin_mul_overflow(n, (uint64_t)extent[i], &n))
			return UINT64_MAX;
	return n;
}

static const struct mpk_code_kernel *package_launch_kernel_of(const struct mpk_loader *l,
							      const struct mpk_launch_step *step)
{
	const struct mpk_code_kernel **code = l->code[step->module];

	return code ? code[step->row] : NULL;
}

/* OpenCL passes local memory as an argument of the kernel, and TVM's loader has none to
 * give. */
static void check_shared(struct mpk_loader *l, const struct mpk_manifest_step *m,
			 const struct mpk_launch_step *step, const char *function)
{
	const struct mpk_manifest_module *module = &l->manifest->modules[step->module];

	if (m->shared.text && mpk_span_is(mpk_toml_str_span(module->key), "opencl"))
		mpk_loader_error(
			l, m->shared.pos, MPK_E_CONFLICT, "launch-function",
			"function '%s': OpenCL has no dynamic shared memory: kernel '%s' would not get it",
			function, step->kernel);
}

/* The code knows what it was compiled for: reqd_work_group_size, .reqntid and the like in
 * block, .maxntid in max_threads. Extents that depend on arguments are left to the driver. */
static void check_block(struct mpk_loader *l, const struct mpk_manifest_step *m,
			const struct mpk_launch_step *step, const char *function)
{
	const struct mpk_code_kernel *k = package_launch_kernel_of(l, step);
	struct mpk_pos pos = m->block.count ? m->block.pos : m->pos;
	struct block b = block_of(step);
	bool other = false;

	for (size_t i = 0; k && k->block[0] && i < 3; i++)
		other |= b.constant[i] && b.extent[i] != k->block[i];
	if (other) {
		mpk_loader_error(l, pos, MPK_E_CONFLICT, "launch-block",
				 "function '%s': kernel '%s' was compiled for a block of %" PRIu32
				 "x%" PRIu32 "x%" PRIu32 " and runs in no other",
				 function, step->kernel, k->block[0], k->block[1], k->block[2]);
		return;
	}
	if (!k || !k->max_threads[0] || !b.all)
		return;
	uint64_t most = (uint64_t)k->max_threads[0] * k->max_threads[1] * k->max_threads[2];
	if (threads(b.extent) > most)
		mpk_loader_error(l, pos, MPK_E_CONFLICT, "launch-block",
				 "function '%s': kernel '%s' was compiled for at most %" PRIu64
				 " threads, but a block has %" PRIu64,
				 function, step->kernel, most, threads(b.extent));
}

static void check_steps(struct mpk_loader *l, const struct mpk_launch *launches)
{
	for (size_t i = 0; i < l->manifest->launch_count; i++)
		for (size_t s = 0; !launches[i].broken && s < launches[i].step_count; s++) {
			const struct mpk_manifest_step *m = &l->manifest->launches[i].steps[s];

			check_block(l, m, &launches[i].steps[s], launches[i].name);
			check_shared(l, m, &launches[i].steps[s], launches[i].name);
		}
}

/* --- their place ------------------------------------------------------------------ */

/* The module that the generated code joins: the first host module, otherwise a new one after
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

/* Blocks are checked also when other functions do not hold, so that one run finds all
 * mistakes. */
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
		check_steps(l, launches);
	if (code != MPK_OK || !launches || !l->manifest->valid)
		return NULL;
	size_t host = host_of(l->manifest, modules, count, root);
	import_kernels(l, launches, modules, *count, host);
	return launches;
}
