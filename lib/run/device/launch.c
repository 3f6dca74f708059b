/* SPDX-License-Identifier: Apache-2.0 */
/* launch.c - packed values to launch extents and arguments, for all back ends alike */
#include "device/internal/launch.h"

#include <inttypes.h>
#include <string.h>

#include "base/half.h"
#include "base/native.h"
#include "base/num.h"
#include "text/escape.h"

static bool arg_form(struct mpk_dtype t, int32_t extra, struct mpk_kernel_param *out)
{
	size_t bytes = t.bits / 8u;

	if (t.lanes != 1)
		return false;
	out->bytes = (uint8_t)bytes;
	switch (t.code) {
	case MPK_DTYPE_HANDLE:
		out->form = extra == 1 ? MPK_PARAM_TENSOR_MAP : MPK_PARAM_HANDLE;
		out->bytes = 8;
		return t.bits == 64;
	case MPK_DTYPE_BOOL:
	case MPK_DTYPE_INT:
	case MPK_DTYPE_UINT:
		out->form = MPK_PARAM_BITS;
		if (mpk_dtype_is_bool(t))
			out->bytes = 1;
		return mpk_dtype_is_bool(t) || t.bits == 8 || t.bits == 16 || t.bits == 32 ||
		       t.bits == 64;
	case MPK_DTYPE_FLOAT:
		out->form = bytes == 8   ? MPK_PARAM_FLOAT64
			    : bytes == 4 ? MPK_PARAM_FLOAT32
					 : MPK_PARAM_FLOAT16;
		return t.bits == 64 || t.bits == 32 || t.bits == 16;
	case MPK_DTYPE_BFLOAT:
		out->form = MPK_PARAM_BFLOAT16;
		return t.bits == 16;
	default:
		return false;
	}
}

static enum mpk_code plan_args(const struct mpk_function_info *info, struct mpk_arena *arena,
			       struct mpk_launch_plan *plan, struct mpk_error *err)
{
	plan->args = mpk_arena_array(arena, info->arg_count + 1, sizeof *plan->args);
	MPK_TRY_ALLOC(plan->args, err);
	plan->arg_count = info->arg_count;
	for (size_t i = 0; i < info->arg_count; i++) {
		int32_t extra = i < info->extra_tag_count ? info->extra_tags[i] : 0;
		char type[MPK_DTYPE_TEXT];

		if (!arg_form(info->arg_types[i], extra, &plan->args[i]))
			return mpk_fail(
				err, MPK_E_UNSUPPORTED,
				"kernel '%s': parameter %zu has type %s, which cannot be passed to a kernel",
				MPK_QUOTE(info->key), i, mpk_dtype_print(info->arg_types[i], type));
	}
	return MPK_OK;
}

/* The axis (0 - 2) of grid and block tags; -1 for others. */
static int tag_axis(enum mpk_launch_tag tag)
{
	return tag <= MPK_TAG_BLOCK_Z ? (int)tag % 3 : -1;
}

static enum mpk_code plan_tag(struct mpk_launch_plan *plan, struct mpk_span text,
			      struct mpk_error *err)
{
	enum mpk_launch_tag tag = mpk_launch_tag_parse(text);

	if (tag == MPK_TAG_UNKNOWN)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "kernel '%s': unknown launch tag '%s'",
				MPK_QUOTE(plan->key), MPK_QUOTE(text));
	plan->cooperative = plan->cooperative || tag == MPK_TAG_COOPERATIVE;
	plan->programmatic = plan->programmatic || tag == MPK_TAG_PROGRAMMATIC;
	if (!mpk_launch_tag_takes_argument(tag))
		return MPK_OK;
	if (tag == MPK_TAG_DYN_SHARED && plan->takes_shared)
		return mpk_fail(err, MPK_E_CORRUPT, "kernel '%s': launch tag '%s' stands twice",
				MPK_QUOTE(plan->key), MPK_QUOTE(text));
	plan->takes_shared = plan->takes_shared || tag == MPK_TAG_DYN_SHARED;
	plan->tags[plan->tag_count++] = tag;
	if (tag_axis(tag) + 1 > (int)plan->work_dim)
		plan->work_dim = (unsigned)tag_axis(tag) + 1;
	return MPK_OK;
}

enum mpk_code mpk_launch_plan_make(const struct mpk_function_info *info, struct mpk_arena *arena,
				   struct mpk_launch_plan *plan, struct mpk_error *err)
{
	struct mpk_launch_plan made = { .key = info->key, .work_dim = 1 };

	MPK_TRY(plan_args(info, arena, &made, err));
	made.tags = mpk_arena_array(arena, info->launch_tag_count, sizeof *made.tags);
	MPK_TRY_ALLOC(made.tags, err);
	for (size_t i = 0; i < info->launch_tag_count; i++)
		MPK_TRY(plan_tag(&made, info->launch_tags[i], err));
	*plan = made;
	return MPK_OK;
}

static uint64_t *shape_field(struct mpk_launch_shape *shape, enum mpk_launch_tag tag)
{
	uint64_t *const groups[] = { shape->grid, shape->block, shape->cluster,
				     shape->preferred_cluster };

	if (tag == MPK_TAG_DYN_SHARED)
		return &shape->shared_bytes;
	return &groups[tag / 3][tag % 3];
}

static bool product_fits(const uint64_t dims[3])
{
	uint64_t product;

	return mpk_mul_u64(dims[0], dims[1], &product) && mpk_mul_u64(product, dims[2], &product);
}

enum mpk_code mpk_launch_shape_of(const struct mpk_launch_plan *plan, const uint64_t *slots,
				  size_t count, struct mpk_launch_shape *shape,
				  struct mpk_error *err)
{
	struct mpk_launch_shape made = {
		.grid = { 1, 1, 1 },
		.block = { 1, 1, 1 },
		.cluster = { 1, 1, 1 },
		.preferred_cluster = { 1, 1, 1 },
	};

	if (count != plan->arg_count + plan->tag_count)
		return mpk_fail(
			err, MPK_E_RANGE,
			"kernel '%s' takes %zu values (%zu arguments, %zu launch extents), but %zu were passed",
			MPK_QUOTE(plan->key), plan->arg_count + plan->tag_count, plan->arg_count,
			plan->tag_count, count);
	for (size_t i = 0; i < plan->tag_count; i++) {
		uint64_t value = slots[plan->arg_count + i];

		if (value > INT64_MAX)
			return mpk_fail(err, MPK_E_RANGE,
					"kernel '%s': launch extent %zu is negative (%" PRId64 ")",
					MPK_QUOTE(plan->key), i, (int64_t)value);
		/* Of an axis that stands several times the last value counts that is not 0. */
		if (value || plan->tags[i] == MPK_TAG_DYN_SHARED)
			*shape_field(&made, plan->tags[i]) = value;
	}
	if (!product_fits(made.grid) || !product_fits(made.block))
		return mpk_fail(err, MPK_E_RAISED, "kernel '%s': the grid or block is too large",
				MPK_QUOTE(plan->key));
	*shape = made;
	return MPK_OK;
}

uint64_t mpk_launch_block_size(const struct mpk_launch_shape *shape)
{
	return shape->block[0] * shape->block[1] * shape->block[2];
}

static double slot_double(uint64_t slot)
{
	double value;

	memcpy(&value, &slot, sizeof value);
	return value;
}

void mpk_launch_pack(const struct mpk_kernel_param *arg, uint64_t slot, uint64_t *value)
{
	float narrow;

	*value = 0;
	switch (arg->form) {
	case MPK_PARAM_HANDLE:
	case MPK_PARAM_TENSOR_MAP:
	case MPK_PARAM_FLOAT64:
		*value = slot;
		return;
	case MPK_PARAM_BITS:
		mpk_native_store(value, slot, arg->bytes);
		return;
	case MPK_PARAM_FLOAT32:
		narrow = (float)slot_double(slot);
		memcpy(value, &narrow, sizeof narrow);
		return;
	case MPK_PARAM_FLOAT16:
		mpk_native_store(value, mpk_f64_to_f16(slot_double(slot)), sizeof(uint16_t));
		return;
	case MPK_PARAM_BFLOAT16:
		mpk_native_store(value, mpk_f64_to_bf16(slot_double(slot)), sizeof(uint16_t));
		return;
	}
}
