/* SPDX-License-Identifier: Apache-2.0 */
/* block.c - the block of a launch function against the one its kernel was compiled for, which a
 * driver refuses at every call, and shared memory that no driver gives */
#include <inttypes.h>

#include "package/internal/loader.h"
#include "text/escape.h"

/* The extents of a block that do not depend on arguments. */
struct block {
	int64_t extent[3];
	bool constant[3];
	bool all; /* constant */
};

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

static const struct mpk_code_kernel *kernel_of(const struct mpk_loader *l,
					       const struct mpk_launch_step *step)
{
	const struct mpk_code_kernel **code = l->code[step->module];

	return code ? code[step->row] : NULL;
}

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

static void check_block(struct mpk_loader *l, const struct mpk_manifest_step *m,
			const struct mpk_launch_step *step, const char *function)
{
	const struct mpk_code_kernel *k = kernel_of(l, step);
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

void mpk_loader_check_steps(struct mpk_loader *l, const struct mpk_launch *launches)
{
	for (size_t i = 0; i < l->manifest->launch_count; i++)
		for (size_t s = 0; !launches[i].broken && s < launches[i].step_count; s++) {
			const struct mpk_manifest_step *m = &l->manifest->launches[i].steps[s];

			check_block(l, m, &launches[i].steps[s], launches[i].name);
			check_shared(l, m, &launches[i].steps[s], launches[i].name);
		}
}
