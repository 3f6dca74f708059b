/* SPDX-License-Identifier: Apache-2.0 */
/* What is the same for all formats. It knows rows only through pointers, so that a row may use it
 * in turn: a fatbin reads its images with it. */
#include "code/info.h"

#include <string.h>

static enum mpk_code keep_problem(const struct mpk_error *problem, struct mpk_arena *arena,
				  struct mpk_code_info *out, struct mpk_error *err)
{
	struct mpk_error *kept = mpk_arena_alloc(arena, sizeof *kept);

	MPK_TRY_ALLOC(kept, err);
	*kept = *problem;
	out->problem = kept;
	return MPK_OK;
}

enum mpk_code mpk_code_info_read_as(const struct mpk_code_format *f, struct mpk_arena *arena,
				    struct mpk_code_info *out, struct mpk_error *err)
{
	struct mpk_code_info empty = {
		.bytes = out->bytes, .off = out->off, .format = f, .pointer_bytes = 8
	};
	void *content = mpk_arena_alloc(arena, f->content_bytes);
	struct mpk_error problem = { 0 };
	enum mpk_code code;

	MPK_TRY_ALLOC(content, err);
	if (f->is_source) {
		empty.source = mpk_arena_alloc(arena, sizeof *empty.source);
		MPK_TRY_ALLOC(empty.source, err);
		empty.source->index.bytes = out->bytes;
		empty.source->index.arena = arena;
	}
	*out = empty;
	out->content = content;
	code = f->read ? f->read(out, content, arena, &problem) : MPK_OK;
	if (code == MPK_E_NOMEM)
		return mpk_fail_nomem(err);
	if (code != MPK_OK) {
		*out = empty;
		MPK_TRY(keep_problem(&problem, arena, out, err));
	}
	_Static_assert(offsetof(struct mpk_code_kernel, name) == 0, "names stand first in rows");
	MPK_TRY(mpk_names_of(out->kernels, sizeof *out->kernels, out->kernel_count, arena,
			     &out->kernel_names, err));
	return mpk_names_of(out->functions, sizeof *out->functions, out->function_count, arena,
			    &out->function_names, err);
}

enum mpk_code mpk_code_info_unplace(struct mpk_code_info *info, struct mpk_arena *arena,
				    struct mpk_error *err)
{
	struct mpk_error problem = *info->problem;

	problem.at.has_offset = false;
	return keep_problem(&problem, arena, info, err);
}

struct mpk_code_kernel *mpk_code_info_add_kernels(struct mpk_code_info *info, size_t count,
						  struct mpk_arena *arena)
{
	struct mpk_code_kernel *kernels = mpk_arena_array(arena, count, sizeof *kernels);

	info->kernels = kernels;
	info->kernel_count = kernels ? count : 0;
	return kernels;
}

const struct mpk_error *mpk_code_info_problem(const struct mpk_code_info *info)
{
	for (size_t i = 0; !info->problem && i < info->image_count; i++)
		if (info->images[i].problem)
			return info->images[i].problem;
	return info->problem;
}

const struct mpk_code_info *mpk_code_info_lister(const struct mpk_code_info *info)
{
	return info->image_count ? info->main_image : info;
}

bool mpk_code_info_find(const struct mpk_code_info *info, struct mpk_span name, size_t *kernel)
{
	return mpk_names_find(&info->kernel_names, name, kernel) ||
	       (info->format && info->format->find_symbol &&
		info->format->find_symbol(info, name, kernel));
}

enum mpk_code_defines mpk_code_info_defines(const struct mpk_code_info *info, struct mpk_span name)
{
	const struct mpk_code_info *lister = mpk_code_info_lister(info);
	bool (*may_define)(const struct mpk_code_info *, struct mpk_span) =
		info->format->may_define;

	if (!name.len)
		return MPK_CODE_POSSIBLE;
	if (mpk_names_find(&info->kernel_names, name, NULL))
		return MPK_CODE_DEFINED;
	for (size_t i = 0; i < info->image_count; i++)
		if (mpk_names_find(&info->images[i].kernel_names, name, NULL))
			return MPK_CODE_DEFINED;
	if (!lister)
		return MPK_CODE_POSSIBLE;
	if (mpk_names_find(&lister->function_names, name, NULL))
		return MPK_CODE_FUNCTION;
	if (lister->complete)
		return MPK_CODE_MISSING;
	return may_define && !may_define(info, name) ? MPK_CODE_MISSING : MPK_CODE_POSSIBLE;
}
