/* kernels.c - kernels of device nodes as functions */
#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "base/vec.h"
#include "payload.h"
#include "runtime/kernel_node.h"
#include "text/escape.h"

enum { SLOTS_INLINE = 48 };

/* Kernel arguments and extents from the caller; or extents that were fixed beforehand. */
struct kernel_function {
	struct mpk_function base;
	struct mpk_kernel_node *node;
	const struct mpk_function_info *info;
	struct mpk_device_module
		*module; /* what kernel belongs to; the current device may change */
	struct mpk_device_kernel *kernel;
	bool is_direct;
	size_t extent_count;
	uint64_t extents[];
};

/* --- nodes -------------------------------------------------------------------------------- */

static enum mpk_code decode(struct mpk_kernel_node *node, const struct mpk_tree *tree, size_t index,
			    struct mpk_error *err)
{
	const struct mpk_node *source = &tree->nodes[index];
	const struct mpk_kind *kind = mpk_kind_find(source->kind);
	struct mpk_payload payload;
	char path[64];

	if (!kind)
		return mpk_fail(err, MPK_E_INTERNAL, "a device kind without a codec");
	enum mpk_code code = mpk_payload_decode(kind, tree->gen, mpk_source_of(source),
						&node->arena, &payload, err);

	if (code != MPK_OK) {
		mpk_error_at_path(err, mpk_tree_path(tree, index, path, sizeof path));
		return mpk_failed(code);
	}
	node->kernels = payload.u.kernels;
	return MPK_OK;
}

enum mpk_code mpk_kernel_node_create(struct mpk_devices *devices, const struct mpk_tree *tree,
				     size_t index, struct mpk_kernel_node **out,
				     struct mpk_error *err)
{
	struct mpk_kernel_node *node = calloc(1, sizeof *node);

	if (!node)
		return mpk_fail_nomem(err);
	node->devices = devices;
	node->kind = mpk_device_kind_of(tree->nodes[index].kind);
	enum mpk_code code = decode(node, tree, index, err);

	if (code != MPK_OK) {
		mpk_kernel_node_destroy(node);
		return mpk_failed(code);
	}
	(void)pthread_mutex_lock(&devices->lock);
	node->next = devices->nodes;
	devices->nodes = node;
	(void)pthread_mutex_unlock(&devices->lock);
	*out = node;
	return MPK_OK;
}

void mpk_kernel_node_destroy(struct mpk_kernel_node *node)
{
	mpk_arena_fini(&node->arena);
	free(node->loaded);
	free(node);
}

static enum mpk_code load(struct mpk_kernel_node *node, struct mpk_device *device,
			  struct mpk_device_module **out, struct mpk_error *err)
{
	for (size_t i = 0; i < node->loaded_count; i++)
		if (node->loaded[i].device == device) {
			*out = node->loaded[i].module;
			return MPK_OK;
		}
	if (!mpk_vec_reserve(&node->loaded, &node->loaded_cap, node->loaded_count + 1,
			     sizeof *node->loaded))
		return mpk_fail_nomem(err);
	MPK_TRY(mpk_device_load(device, &node->kernels, out, err));
	node->loaded[node->loaded_count++] = (struct mpk_loaded_node){ device, *out };
	return MPK_OK;
}

enum mpk_code mpk_kernel_node_module(struct mpk_kernel_node *node, struct mpk_device_module **out,
				     struct mpk_error *err)
{
	struct mpk_dldevice where = { (int32_t)node->kind, node->devices->current[node->kind] };
	struct mpk_device *device;

	MPK_TRY(mpk_devices_get(node->devices, where, &device, err));
	return load(node, device, out, err);
}

/* --- values to slots ----------------------------------------------------------------------- */

static bool slot_of_handle(const struct mpk_value *v, uint64_t *out)
{
	const void *data = NULL;

	if (v->kind == MPK_VALUE_OPAQUE)
		data = v->opaque;
	else if (v->kind == MPK_VALUE_TENSOR)
		data = v->tensor->dl.data;
	else if (v->kind != MPK_VALUE_NONE)
		return false;
	*out = (uint64_t)(uintptr_t)data;
	return true;
}

static bool slot_of_integer(const struct mpk_value *v, uint64_t *out)
{
	if (v->kind != MPK_VALUE_INT && v->kind != MPK_VALUE_BOOL)
		return false;
	*out = v->kind == MPK_VALUE_INT ? (uint64_t)v->integer : v->boolean;
	return true;
}

static bool slot_of_real(const struct mpk_value *v, uint64_t *out)
{
	double real = v->real;

	if (v->kind == MPK_VALUE_INT)
		real = (double)v->integer;
	else if (v->kind != MPK_VALUE_FLOAT)
		return false;
	memcpy(out, &real, sizeof real);
	return true;
}

static bool slot_of(const struct mpk_value *v, struct mpk_dtype type, uint64_t *out)
{
	if (type.code == MPK_DTYPE_HANDLE)
		return slot_of_handle(v, out);
	if (type.code == MPK_DTYPE_FLOAT || type.code == MPK_DTYPE_BFLOAT)
		return slot_of_real(v, out);
	return slot_of_integer(v, out);
}

static enum mpk_code fill_slots(const struct kernel_function *f, const struct mpk_value *args,
				size_t count, uint64_t *slots, struct mpk_error *err)
{
	static const struct mpk_dtype extent = { MPK_DTYPE_INT, 64, 1 };
	char type[MPK_DTYPE_TEXT];

	for (size_t i = 0; i < count; i++) {
		bool is_arg = i < f->info->arg_count;
		struct mpk_dtype wanted = is_arg ? f->info->arg_types[i] : extent;

		if (!slot_of(&args[i], wanted, &slots[i]))
			return mpk_fail(err, MPK_E_RAISED,
					"TypeError: kernel '%s': argument %zu must be %s, not %s",
					f->base.name, i, mpk_dtype_print(wanted, type),
					mpk_value_kind_name(args[i].kind));
	}
	for (size_t i = 0; i < f->extent_count; i++)
		slots[count + i] = f->extents[i];
	return MPK_OK;
}

/* --- functions ------------------------------------------------------------------------------ */

static enum mpk_code find_kernel(struct kernel_function *f, struct mpk_device_kernel **out,
				 struct mpk_error *err)
{
	struct mpk_device_module *module = NULL;

	MPK_TRY(mpk_kernel_node_module(f->node, &module, err));
	if (module != f->module) {
		MPK_TRY(mpk_device_get_kernel(module, f->info->key, &f->kernel, err));
		f->module = module;
	}
	*out = f->kernel;
	return MPK_OK;
}

static enum mpk_code launch(struct kernel_function *f, const uint64_t *slots, size_t count,
			    struct mpk_error *err)
{
	struct mpk_device_kernel *kernel;

	(void)pthread_mutex_lock(&f->node->devices->lock);
	enum mpk_code code = find_kernel(f, &kernel, err);

	(void)pthread_mutex_unlock(&f->node->devices->lock);
	MPK_TRY(code);
	return mpk_device_launch(kernel, slots, count, err);
}

static enum mpk_code call_kernel(struct mpk_function *self, const struct mpk_value *args,
				 size_t count, struct mpk_value *result, struct mpk_error *err)
{
	struct kernel_function *f = (struct kernel_function *)self;
	size_t total = count + f->extent_count;
	uint64_t few[SLOTS_INLINE], *slots = few;

	(void)result;
	if (f->is_direct && count != f->info->arg_count)
		return mpk_fail(err, MPK_E_RAISED,
				"TypeError: kernel '%s' takes %zu arguments, not %zu", f->base.name,
				f->info->arg_count, count);
	if (total > SLOTS_INLINE)
		slots = calloc(total, sizeof *slots);
	if (!slots)
		return mpk_fail_nomem(err);
	enum mpk_code code = fill_slots(f, args, count, slots, err);

	if (code == MPK_OK)
		code = launch(f, slots, total, err);
	if (slots != few)
		free(slots);
	return code;
}

static void destroy(struct mpk_function *self)
{
	free(self);
}

static enum mpk_code make(struct mpk_kernel_node *node, const struct mpk_function_info *info,
			  size_t extent_count, struct kernel_function **out, struct mpk_error *err)
{
	struct kernel_function *f = calloc(1, sizeof *f + extent_count * sizeof f->extents[0]);
	char shown[128];

	if (!f)
		return mpk_fail_nomem(err);
	f->base.refs = 1;
	f->base.call = call_kernel;
	f->base.destroy = destroy;
	mpk_escape_to(info->key, shown, sizeof shown);
	f->base.name = mpk_arena_text(&node->arena, mpk_span_str(shown));
	f->node = node;
	f->info = info;
	f->extent_count = extent_count;
	if (!f->base.name) {
		free(f);
		return mpk_fail_nomem(err);
	}
	*out = f;
	return MPK_OK;
}

enum mpk_code mpk_kernel_function(struct mpk_kernel_node *node, const char *name,
				  struct mpk_function **out, struct mpk_error *err)
{
	const struct mpk_function_info *info = mpk_kernels_find(&node->kernels, mpk_span_str(name));
	struct kernel_function *f;

	*out = NULL;
	if (!info)
		return MPK_OK;
	MPK_TRY(make(node, info, 0, &f, err));
	*out = &f->base;
	return MPK_OK;
}

/* --- direct calls ---------------------------------------------------------------------------- */

/* Where an axis's extent stands among those the user gave; NULL for clusters. */
static const uint64_t *given(const struct mpk_kernel_extents *e, enum mpk_launch_tag tag)
{
	if (tag <= MPK_TAG_GRID_Z)
		return &e->grid[tag - MPK_TAG_GRID_X];
	if (tag <= MPK_TAG_BLOCK_Z)
		return &e->block[tag - MPK_TAG_BLOCK_X];
	return tag == MPK_TAG_DYN_SHARED ? &e->shared_bytes : NULL;
}

static enum mpk_code check_axes(const struct mpk_function_info *info,
				const struct mpk_kernel_extents *e, struct mpk_error *err)
{
	bool has[MPK_TAG_UNKNOWN + 1] = { false };

	for (size_t i = 0; i < info->launch_tag_count; i++)
		has[mpk_launch_tag_parse(info->launch_tags[i])] = true;
	for (unsigned axis = 0; axis < 3; axis++) {
		if (e->grid[axis] > 1 && !has[MPK_TAG_GRID_X + axis])
			return mpk_fail(err, MPK_E_USAGE, "kernel '%s' has no axis blockIdx.%c",
					MPK_QUOTE(info->key), "xyz"[axis]);
		if (e->block[axis] > 1 && !has[MPK_TAG_BLOCK_X + axis])
			return mpk_fail(err, MPK_E_USAGE, "kernel '%s' has no axis threadIdx.%c",
					MPK_QUOTE(info->key), "xyz"[axis]);
	}
	if (e->shared_bytes && !has[MPK_TAG_DYN_SHARED])
		return mpk_fail(err, MPK_E_USAGE, "kernel '%s' takes no dynamic shared memory",
				MPK_QUOTE(info->key));
	return MPK_OK;
}

static void fix_extents(struct kernel_function *f, const struct mpk_kernel_extents *e)
{
	f->is_direct = true;
	f->extent_count = 0;
	for (size_t i = 0; i < f->info->launch_tag_count; i++) {
		enum mpk_launch_tag tag = mpk_launch_tag_parse(f->info->launch_tags[i]);
		const uint64_t *extent;

		if (!mpk_launch_tag_takes_argument(tag))
			continue;
		extent = given(e, tag);
		f->extents[f->extent_count++] = extent ? *extent : 1;
	}
}

/* A node that holds a kernel of that name; NULL and every kernel's name when there is none. */
struct search {
	struct mpk_kernel_node *node;
	struct mpk_span *names;
	size_t count, cap;
};

static enum mpk_code search_node(struct search *s, struct mpk_kernel_node *node, const char *name,
				 struct mpk_error *err)
{
	const struct mpk_kernels *k = &node->kernels;

	if (mpk_kernels_find(k, mpk_span_str(name)))
		s->node = node;
	if (!mpk_vec_reserve(&s->names, &s->cap, s->count + k->function_count, sizeof *s->names))
		return mpk_fail_nomem(err);
	for (size_t i = 0; i < k->function_count; i++)
		s->names[s->count++] = k->functions[i].key;
	return MPK_OK;
}

static enum mpk_code search_tree(struct search *s, struct mpk_devices *devices,
				 const struct mpk_tree *tree, const char *name,
				 struct mpk_error *err)
{
	for (size_t i = 0; i < tree->count && !s->node; i++) {
		struct mpk_kernel_node *node;

		if (mpk_device_kind_of(tree->nodes[i].kind) <= MPK_DEVICE_CPU)
			continue;
		MPK_TRY(mpk_kernel_node_create(devices, tree, i, &node, err));
		MPK_TRY(search_node(s, node, name, err));
	}
	if (s->node)
		return MPK_OK;
	size_t near = mpk_closest(mpk_span_str(name), s->names, s->count);

	if (near < s->count)
		return mpk_fail(err, MPK_E_NOTFOUND, "no kernel '%s'; did you mean '%s'?",
				MPK_QUOTE(mpk_span_str(name)), MPK_QUOTE(s->names[near]));
	return mpk_fail(err, MPK_E_NOTFOUND, "no kernel '%s' in an opencl or cuda module",
			MPK_QUOTE(mpk_span_str(name)));
}

enum mpk_code mpk_devices_kernel(struct mpk_devices *devices, const struct mpk_tree *tree,
				 const char *name, const struct mpk_kernel_extents *extents,
				 struct mpk_function **out, struct mpk_dldevice *where,
				 struct mpk_error *err)
{
	const struct mpk_function_info *info;
	struct kernel_function *f;
	struct search s = { 0 };
	enum mpk_code code = search_tree(&s, devices, tree, name, err);

	free(s.names);
	MPK_TRY(code);
	info = mpk_kernels_find(&s.node->kernels, mpk_span_str(name));
	MPK_TRY(check_axes(info, extents, err));
	MPK_TRY(make(s.node, info, info->launch_tag_count, &f, err));
	fix_extents(f, extents);
	*where = (struct mpk_dldevice){ (int32_t)s.node->kind, 0 };
	*out = &f->base;
	return MPK_OK;
}
