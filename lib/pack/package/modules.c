/* SPDX-License-Identifier: Apache-2.0 */
/* Places launch functions among the modules and merges equal modules, after the manifest was read
 * and before the tree is made. Launch functions are checked against the requirements of their
 * kernels' code: a driver would refuse a block that a kernel was not compiled for at every call, so
 * the error is reported when the package is built. Of equal modules one remains, with several
 * importers. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "launch/launch.h"
#include "package/internal/package.h"

/* --- blocks and shared memory ----------------------------------------------------- */

/* The extents of a block that do not depend on arguments. */
struct block {
	int64_t extent[3];
	bool constant[3];
	bool all; /* all three are constant */
};

/* A missing extent is 1, as in the generated code. */
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

/* Returns the number of threads. Extents are at least 1 and drivers allow at most 1024 threads, so
 *         an overflow is reported as too large. */
static uint64_t threads(const int64_t extent[3])
{
	uint64_t n = 1;

	for (size_t i = 0; i < 3; i++)
		if (__builtin_mul_overflow(n, (uint64_t)extent[i], &n))
			return UINT64_MAX;
	return n;
}

/* OpenCL passes local memory as a kernel argument, which TVM's loader cannot do. */
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

/* Compares a block with the one that the code was compiled for: block has reqd_work_group_size,
 * .reqntid and the like, max_threads has .maxntid. Extents that depend on arguments are checked by
 * the driver at run time. */
static void check_block(struct mpk_loader *l, const struct mpk_manifest_step *m,
			const struct mpk_launch_step *step, const char *function)
{
	const struct mpk_code_kernel **code = step->callee ? NULL : l->code[step->module];

	const struct mpk_code_kernel *k = code ? code[step->row] : NULL;
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

/* --- the place of launch functions among the modules ------------------------------ */

/* Returns the module that gets the generated code: the first host module. If there is none, a new
 *         module is added at the end; it becomes the root unless the manifest names another. */
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

/* For each module, whether a host module imports it. */
static bool *imported(struct mpk_loader *l, const struct mpk_module *modules, size_t count)
{
	bool *known = mpk_arena_array(l->arena, count, sizeof *known);

	for (size_t m = 0; known && m < count; m++)
		for (size_t i = 0; modules[m].is_host && i < modules[m].import_count; i++)
			known[modules[m].imports[i]] = true;
	return known;
}

/* Generated code looks for its kernels among the library's imports. So modules that no host module
 * imports yet are added to the imports. */
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

			/* a C function needs no import: it is linked */
			if (launches[i].steps[s].callee)
				continue;
			if (!known[module])
				imports[used++] = module;
			known[module] = true;
		}
	}
	modules[host].imports = imports;
	modules[host].import_count = used;
}

/* Checks blocks even if other rules failed, so that one run reports all mistakes. */
static const struct mpk_launch *place_launches(struct mpk_loader *l, struct mpk_module *modules,
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

/* --- equal modules ------------------------------------------------------------- */

/* Returns the bytes of a piece, from memory or from the mapping of its file. */
static const uint8_t *piece_bytes(const struct mpk_loader *l, const struct mpk_piece *p)
{
	struct mpk_span view;

	if (p->data)
		return p->data;
	for (const struct mpk_file *f = l->files; f; f = f->next)
		if (f->map.fd == p->fd && mpk_span_sub(f->map.bytes, p->off, p->len, &view))
			return view.data;
	return NULL;
}

/* Compares bytes; the two ropes may be cut into pieces differently. */
static bool same_content(const struct mpk_loader *l, const struct mpk_rope *a,
			 const struct mpk_rope *b)
{
	size_t i = 0, k = 0;
	uint64_t a_off = 0, b_off = 0;

	while (i < a->count && k < b->count) {
		uint64_t a_left = a->pieces[i].len - a_off, b_left = b->pieces[k].len - b_off;
		uint64_t n = a_left < b_left ? a_left : b_left;
		const uint8_t *x = piece_bytes(l, &a->pieces[i]);
		const uint8_t *y = piece_bytes(l, &b->pieces[k]);

		if (!x || !y || (x + a_off != y + b_off && memcmp(x + a_off, y + b_off, n) != 0))
			return false;
		a_off = n == a_left ? 0 : a_off + n;
		b_off = n == b_left ? 0 : b_off + n;
		i += n == a_left;
		k += n == b_left;
	}
	return true;
}

static bool same_module(const struct mpk_loader *l, const struct mpk_module *a,
			const struct mpk_module *b)
{
	return a->content->len == b->content->len && mpk_span_equal(a->kind, b->kind) &&
	       a->import_count == b->import_count &&
	       (a->import_count == 0 ||
		memcmp(a->imports, b->imports, a->import_count * sizeof *a->imports) == 0) &&
	       same_content(l, a->content, b->content);
}

/* Sorts candidates: by size, then kind, then position in the manifest. */
struct candidate {
	const struct mpk_module *module;
	size_t index;
};

/* Equal modules have equal lengths and kinds, so the search for equal modules can stop where the
 * length or kind changes. */
static int dedup_compare(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	uint64_t x_len = x->module->content->len, y_len = y->module->content->len;
	int r = mpk_span_compare(x->module->kind, y->module->kind);

	if (x_len != y_len)
		return x_len < y_len ? -1 : 1;
	return r ? r : (x->index > y->index) - (x->index < y->index);
}

static size_t list_candidates(const struct mpk_module *modules, const size_t *twin, size_t count,
			      struct candidate *out)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++)
		if (!modules[i].is_host && twin[i] == i)
			out[used++] = (struct candidate){ &modules[i], i };
	qsort(out, used, sizeof *out, dedup_compare);
	return used;
}

/* Finds equal modules among those whose imports will not change any more. Returns true if it found
 * any. */
static bool find_twins(const struct mpk_loader *l, const struct mpk_module *modules, size_t *twin,
		       size_t count, struct candidate *c)
{
	size_t used = list_candidates(modules, twin, count, c);
	bool found = false;

	for (size_t i = 0; i < used; i++) {
		if (twin[c[i].index] != c[i].index)
			continue;
		for (size_t k = i + 1; k < used; k++) {
			if (c[k].module->content->len != c[i].module->content->len)
				break;
			if (twin[c[k].index] == c[k].index &&
			    same_module(l, c[i].module, c[k].module)) {
				twin[c[k].index] = c[i].index;
				found = true;
			}
		}
	}
	return found;
}

/* Copies a list of imports before changing it: the manifest's own arrays must keep what the user
 * wrote. */
static bool redirect(struct mpk_loader *l, struct mpk_module *modules, const size_t *twin,
		     size_t count, size_t *root)
{
	for (size_t i = 0; i < count; i++) {
		size_t *imports =
			mpk_arena_array(l->arena, modules[i].import_count, sizeof *imports);

		if (!imports)
			return false;
		for (size_t k = 0; k < modules[i].import_count; k++)
			imports[k] = twin[modules[i].imports[k]];
		modules[i].imports = imports;
	}
	*root = twin[*root];
	return true;
}

/* Kernels of a dropped module are taken from the equal module that remains. */
static const struct mpk_launch *follow_twins(struct mpk_loader *l,
					     const struct mpk_launch *launches, const size_t *twin)
{
	size_t count = launches ? l->manifest->launch_count : 0;
	struct mpk_launch *copy = mpk_arena_keep(l->arena, launches, count, sizeof *copy);

	for (size_t i = 0; copy && i < count; i++) {
		struct mpk_launch_step *steps =
			mpk_arena_keep(l->arena, copy[i].steps, copy[i].step_count, sizeof *steps);

		copy[i].steps = steps;
		if (!steps)
			return NULL;
		for (size_t k = 0; k < copy[i].step_count; k++) {
			if (steps[k].callee)
				continue;
			while (twin[steps[k].module] != steps[k].module)
				steps[k].module = twin[steps[k].module];
			steps[k].id = l->manifest->modules[steps[k].module].id.text;
		}
	}
	return copy;
}

/* Merging modules may make their importers equal, so this repeats until nothing is found. */
static void dedup(struct mpk_loader *l, struct mpk_module *modules, size_t count, size_t *root,
		  const struct mpk_launch **launches)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	size_t *twin = mpk_arena_array(&scratch, count, sizeof *twin);
	struct candidate *c = mpk_arena_array(&scratch, count, sizeof *c);

	if (!twin || !c) {
		l->failed = true;
		return;
	}
	for (size_t i = 0; i < count; i++)
		twin[i] = i;
	while (find_twins(l, modules, twin, count, c)) {
		if (!redirect(l, modules, twin, count, root)) {
			l->failed = true;
			return;
		}
	}
	if (!*launches)
		return;
	*launches = follow_twins(l, *launches, twin);
	l->failed |= !*launches;
}

/* Lists the C functions that launch functions call, in the order of the manifest. */
static void list_called(struct mpk_loader *l, struct mpk_package *out)
{
	struct mpk_called *list;
	size_t most = 0, count = 0;

	for (size_t i = 0; i < out->launch_count; i++)
		most += out->launches[i].step_count;
	list = mpk_arena_array(l->arena, most, sizeof *list);
	l->failed |= !list;
	for (size_t i = 0; list && i < out->launch_count; i++) {
		const struct mpk_launch *launch = &out->launches[i];

		for (size_t k = 0; k < launch->step_count; k++) {
			struct mpk_pos pos = l->manifest->launches[i].steps[k].calls.pos;

			if (launch->steps[k].callee)
				list[count++] =
					(struct mpk_called){ launch->steps[k].kernel, launch->name,
							     pos.line, pos.column };
		}
	}
	out->called = list;
	out->called_count = count;
}

void mpk_loader_finish(struct mpk_loader *l, struct mpk_module *modules, size_t *count,
		       size_t *root, struct mpk_package *out)
{
	const struct mpk_launch *launches = place_launches(l, modules, count, root);

	if (l->manifest->dedup && l->manifest->valid && !l->report->errors && !l->failed)
		dedup(l, modules, *count, root, &launches);
	out->launches = launches;
	out->launch_count = launches ? l->manifest->launch_count : 0;
	list_called(l, out);
}
