/* SPDX-License-Identifier: Apache-2.0 */
/* module.c - the kernels of a payload on a device: finding, binding and launching
 *
 * A kernel is bound when it is first requested. Binding makes its launch plan, which tells how each
 * 64-bit slot of a packed call becomes an argument or an extent; a launch only follows the plan.
 * The rules are TVM's (src/runtime/pack_args.h, thread_storage_scope.h) and the same for all back
 * ends. */
#include "device/internal/backend.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/native.h"
#include "base/num.h"
#include "base/strmap.h"
#include "text/escape.h"

/* --- slots to extents and arguments ---------------------------------------------------------- */

/* Determines how a slot becomes an argument of a type, and the argument's size in bytes. Returns
 * false for types that no driver passes by value. TVM packs scalars in the same way
 * (src/runtime/pack_args.h). */
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

/* Returns the axis (0 to 2) of a grid or block tag; -1 for other tags. */
static int tag_axis(enum mpk_launch_tag tag)
{
	return tag <= MPK_TAG_BLOCK_Z ? (int)tag % 3 : -1;
}

/* Tags that take a slot are kept in the order of the slots. Other tags are flags for every launch. */
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

	/* Types are examined when the kernel is bound, so that a launch need not. */
	MPK_TRY_ARRAY(made.args, arena, info->arg_count + 1, err);
	made.arg_count = info->arg_count;
	for (size_t i = 0; i < info->arg_count; i++) {
		int32_t extra = i < info->extra_tag_count ? info->extra_tags[i] : 0;
		char type[MPK_DTYPE_TEXT];

		if (!arg_form(info->arg_types[i], extra, &made.args[i]))
			return mpk_fail(
				err, MPK_E_UNSUPPORTED,
				"kernel '%s': parameter %zu has type %s, which cannot be passed to a kernel",
				MPK_QUOTE(info->key), i, mpk_dtype_print(info->arg_types[i], type));
	}

	MPK_TRY_ARRAY(made.tags, arena, info->launch_tag_count, err);
	for (size_t i = 0; i < info->launch_tag_count; i++)
		MPK_TRY(plan_tag(&made, info->launch_tags[i], err));
	*plan = made;
	return MPK_OK;
}

/* Tags are numbered grid, block, cluster, preferred cluster, each with x, y, z: dividing by 3 gives
 * the group and the axis. */
static uint64_t *shape_field(struct mpk_launch_shape *shape, enum mpk_launch_tag tag)
{
	uint64_t *const groups[] = { shape->grid, shape->block, shape->cluster,
				     shape->preferred_cluster };

	if (tag == MPK_TAG_DYN_SHARED)
		return &shape->shared_bytes;
	return &groups[tag / 3][tag % 3];
}

/* Whether the product of the extents fits. Back ends multiply extents without checking. */
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
		/* an axis that no tag names has extent 1 */
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
		/* If several tags name an axis, the last value that is not 0 counts. */
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

/* Drivers get an address, so the argument must be the value's first bytes in memory. On big-endian
 * machines these are not the low bytes of the 64-bit number. */
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

/* --- modules and kernels --------------------------------------------------------------------- */

/* The back end makes the module with a zeroed base; the common fields are filled in here. */
enum mpk_code mpk_device_load(struct mpk_device *device, const struct mpk_kernels *kernels,
			      struct mpk_device_module **out, struct mpk_error *err)
{
	struct mpk_device_module *module;

	if (!device->ops->code)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "device kernels do not run on the %s",
				mpk_device_kind_name(device->info.kind));
	MPK_TRY(device->ops->code->load(device, kernels, &module, err));
	module->device = device;
	module->kernels = *kernels;
	module->bound =
		mpk_arena_array(&module->arena, kernels->function_count + 1, sizeof *module->bound);
	module->next = device->modules;
	device->modules = module;
	if (!module->bound) {
		mpk_device_unload(module);
		return mpk_fail_nomem(err);
	}
	*out = module;
	return MPK_OK;
}

static void unbind(struct mpk_device_kernel *kernel)
{
	const struct mpk_device_code_ops *ops = kernel->module->device->ops->code;

	if (ops->unbind)
		ops->unbind(kernel);
	(void)pthread_mutex_destroy(&kernel->lock);
}

/* Waits for the device first, because kernels of the module may still run. */
void mpk_device_unload(struct mpk_device_module *module)
{
	if (!module)
		return;
	const struct mpk_device_ops *ops = module->device->ops;
	struct mpk_device_module **link = &module->device->modules;

	while (*link != module)
		link = &(*link)->next;
	*link = module->next;
	/* The error is ignored: the next call that can report a fault will report it. */
	(void)ops->sync(module->device, NULL);
	for (size_t i = 0; module->bound && i < module->kernels.function_count; i++)
		if (module->bound[i])
			unbind(module->bound[i]);
	ops->code->unload(module);
}

/* Refuses a key with a NUL: drivers take C strings and would use another kernel. */
static enum mpk_code bind_kernel(struct mpk_device_module *module,
				 const struct mpk_function_info *info,
				 struct mpk_device_kernel **out, struct mpk_error *err)
{
	const struct mpk_device_code_ops *ops = module->device->ops->code;
	struct mpk_device_kernel *kernel = mpk_arena_alloc(&module->arena, ops->kernel_bytes);

	MPK_TRY_ALLOC(kernel, err);
	kernel->module = module;
	kernel->info = info;
	kernel->name = mpk_arena_text(&module->arena, info->key);
	MPK_TRY_ALLOC(kernel->name, err);
	mpk_escape_to(info->key, kernel->shown, sizeof kernel->shown);
	if (memchr(kernel->name, '\0', info->key.len + 1) != kernel->name + info->key.len)
		return mpk_fail(err, MPK_E_CORRUPT, "kernel name '%s' contains a NUL byte",
				kernel->shown);
	MPK_TRY(mpk_launch_plan_make(info, &module->arena, &kernel->plan, err));
	MPK_TRY(ops->bind(kernel, err));
	(void)pthread_mutex_init(&kernel->lock, NULL);
	*out = kernel;
	return MPK_OK;
}

enum mpk_code mpk_device_get_kernel(struct mpk_device_module *module, struct mpk_span key,
				    struct mpk_device_kernel **out, struct mpk_error *err)
{
	const struct mpk_function_info *info = mpk_kernels_find(&module->kernels, key);

	if (!info) {
		/* Suggests a similar name, because compilers choose the names of kernels. */
		const struct mpk_kernels *k = &module->kernels;
		struct mpk_span *names = calloc(k->function_count + 1, sizeof *names);

		MPK_TRY_ALLOC(names, err);
		for (size_t i = 0; i < k->function_count; i++)
			names[i] = k->functions[i].key;
		size_t near = mpk_closest(key, names, k->function_count);

		free(names);
		if (near < k->function_count)
			return mpk_fail(err, MPK_E_NOTFOUND, "no kernel '%s'; did you mean '%s'?",
					MPK_QUOTE(key), MPK_QUOTE(k->functions[near].key));
		return mpk_fail(err, MPK_E_NOTFOUND, "no kernel '%s' in this module",
				MPK_QUOTE(key));
	}
	size_t index = (size_t)(info - module->kernels.functions);

	if (!module->bound[index])
		MPK_TRY(bind_kernel(module, info, &module->bound[index], err));
	*out = module->bound[index];
	return MPK_OK;
}

/* The arguments of a kernel are stored in the driver's kernel object (OpenCL) or in its buffer here
 * (CUDA). So launches of the same kernel take turns; those of different kernels do not wait for
 * each other. */
enum mpk_code mpk_device_launch(struct mpk_device_kernel *kernel, const uint64_t *slots,
				size_t count, struct mpk_error *err)
{
	struct mpk_launch_shape shape;

	MPK_TRY(mpk_launch_shape_of(&kernel->plan, slots, count, &shape, err));
	(void)pthread_mutex_lock(&kernel->lock);
	enum mpk_code code = kernel->module->device->ops->code->launch(kernel, slots, &shape, err);

	(void)pthread_mutex_unlock(&kernel->lock);
	return code;
}
