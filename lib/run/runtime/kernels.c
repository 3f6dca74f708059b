/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.c - kernels of device nodes as functions
 *
 * A node's payload is decoded once and loaded on a device when a kernel runs there for the first
 * time. A kernel's function holds the payload, which goes with the last of them. Two modules may have kernels
 * of one name, as TVM names them after operators. So a name alone is refused where it fits two.
 */
#include "runtime/devices.h"
#include "runtime/library.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "payload.h"
#include "runtime/internal/runtime.h"
#include "runtime/stop.h"
#include "text/escape.h"

enum { SLOTS_INLINE = 48 };

/* A payload on one device. */
struct loaded {
	struct mpk_device *device;
	struct mpk_device_module *module;
};

/* The payload of one node. */
struct code {
	atomic_uint refs;
	struct mpk_devices *devices;
	enum mpk_device_kind kind;
	struct mpk_arena arena;
	struct mpk_kernels kernels;
	pthread_mutex_t lock; /* over what is loaded */
	struct loaded *loaded;
	size_t loaded_count, loaded_cap;
};

/* Kernel arguments and extents from the caller; or extents that were fixed beforehand. */
struct kernel_function {
	struct mpk_function base;
	struct code *code;
	const struct mpk_function_info *info;
	struct mpk_device_module *module; /* of kernel; the current device may change */
	struct mpk_device_kernel *kernel;
	bool is_direct;
	size_t extent_count;
	uint64_t extents[];
};

/* --- payloads ------------------------------------------------------------------------------ */

/* Modules are unloaded before the arena goes, from which they borrow. */
static void code_drop(struct code *code)
{
	if (atomic_fetch_sub_explicit(&code->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (size_t i = 0; i < code->loaded_count; i++)
		mpk_device_unload(code->loaded[i].module);
	free(code->loaded);
	mpk_arena_fini(&code->arena);
	(void)pthread_mutex_destroy(&code->lock);
	free(code);
}

/* The payload lies in the tree; what is decoded borrows from it. */
static enum mpk_code code_create(struct mpk_runtime *runtime, const struct mpk_tree *tree,
				 size_t index, struct code **out, struct mpk_error *err)
{
	const struct mpk_node *source = &tree->nodes[index];
	struct mpk_cursor c = mpk_cursor_of(source->payload, source->payload_off, "blob");
	struct code *code = calloc(1, sizeof *code);
	char path[64];

	MPK_TRY_ALLOC(code, err);
	atomic_init(&code->refs, 1);
	(void)pthread_mutex_init(&code->lock, NULL);
	code->devices = mpk_runtime_devices(runtime);
	code->kind = mpk_device_kind_of(source->kind);
	enum mpk_code rc =
		mpk_kernels_read(&c, source->kind, tree->gen, &code->arena, &code->kernels, err);

	if (rc != MPK_OK) {
		mpk_error_at_path(err, mpk_tree_path(tree, index, path, sizeof path));
		code_drop(code);
		return mpk_failed(rc);
	}
	*out = code;
	return MPK_OK;
}

static bool kernels_slot_of(const struct mpk_value *v, struct mpk_dtype type, uint64_t *out)
{
	if (type.code == MPK_DTYPE_HANDLE) {
		/* 0 is a null pointer, as compiled code passes it for tensors without elements. */
		const void *data = NULL;

		if (v->kind == MPK_VALUE_OPAQUE)
			data = v->opaque;
		else if (v->kind == MPK_VALUE_TENSOR)
			data = v->tensor->dl.data;
		else if (v->kind != MPK_VALUE_NONE &&
			 !(v->kind == MPK_VALUE_INT && v->integer == 0))
			return false;
		*out = (uint64_t)(uintptr_t)data;
		return true;
	}
	if (type.code == MPK_DTYPE_FLOAT || type.code == MPK_DTYPE_BFLOAT) {
		double real = v->real;

		if (v->kind == MPK_VALUE_INT)
			real = (double)v->integer;
		else if (v->kind != MPK_VALUE_FLOAT)
			return false;
		memcpy(out, &real, sizeof real);
		return true;
	}

	/* --- values to slots -------------------------------------------------------------- */
	if (v->kind != MPK_VALUE_INT && v->kind != MPK_VALUE_BOOL)
		return false;
	*out = v->kind == MPK_VALUE_INT ? (uint64_t)v->integer : v->boolean;
	return true;
}

/* Arguments have the types of the table; what follows them are extents. */
static enum mpk_code fill_slots(const struct kernel_function *f, const struct mpk_value *args,
				size_t count, uint64_t *slots, struct mpk_error *err)
{
	static const struct mpk_dtype extent = { MPK_DTYPE_INT, 64, 1 };
	char type[MPK_DTYPE_TEXT];

	for (size_t i = 0; i < count; i++) {
		bool is_arg = i < f->info->arg_count;
		struct mpk_dtype wanted = is_arg ? f->info->arg_types[i] : extent;

		if (!kernels_slot_of(&args[i], wanted, &slots[i]))
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

/* The kernel is kept while the device stays the same, which it nearly always does. Of the few devices a list is searched
 * faster than a map. */
static enum mpk_code find_kernel(struct kernel_function *f, struct mpk_device *device,
				 struct mpk_device_kernel **out, struct mpk_error *err)
{
	struct mpk_device_module *module = NULL;
	struct code *code = f->code;

	for (size_t i = 0; i < code->loaded_count; i++)
		if (code->loaded[i].device == device)
			module = code->loaded[i].module;
	if (!module) {
		MPK_TRY_ALLOC(MPK_VEC_ROOM(code->loaded, code->loaded_count, code->loaded_cap),
			      err);
		MPK_TRY(mpk_device_load(device, &code->kernels, &module, err));
		code->loaded[code->loaded_count++] = (struct loaded){ device, module };
	}
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
	struct mpk_device *device;

	MPK_TRY(mpk_stop_check(mpk_stop_get(), err));
	MPK_TRY(mpk_devices_get_current(f->code->devices, f->code->kind, &device, err));
	(void)pthread_mutex_lock(&f->code->lock);
	enum mpk_code code = find_kernel(f, device, &kernel, err);

	(void)pthread_mutex_unlock(&f->code->lock);
	MPK_TRY(code);
	return mpk_device_launch(kernel, slots, count, err);
}

/* Slots lie on the stack: a launch allocates nothing unless a kernel has more than 48 of them. */
static enum mpk_code call_kernel(struct mpk_function *self, const struct mpk_args *args,
				 struct mpk_value *result, struct mpk_error *err)
{
	struct kernel_function *f = (struct kernel_function *)self;
	size_t count = args->count;
	size_t total = count + f->extent_count;
	uint64_t few[SLOTS_INLINE], *slots = few;

	(void)result;
	if (f->is_direct && count != f->info->arg_count)
		return mpk_fail(err, MPK_E_RAISED,
				"TypeError: kernel '%s' takes %zu arguments, not %zu", f->base.name,
				f->info->arg_count, count);
	if (total > SLOTS_INLINE)
		slots = calloc(total, sizeof *slots);
	MPK_TRY_ALLOC(slots, err);
	enum mpk_code code = fill_slots(f, args->values, count, slots, err);

	if (code == MPK_OK)
		code = launch(f, slots, total, err);
	if (slots != few)
		free(slots);
	return code;
}

static void kernels_destroy(struct mpk_function *self)
{
	code_drop(((struct kernel_function *)self)->code);
	free(self);
}

/* The name is escaped and lies in the payload's arena, as the function holds that payload. */
static enum mpk_code kernels_make(struct code *code, const struct mpk_function_info *info,
				  size_t extent_count, struct kernel_function **out,
				  struct mpk_error *err)
{
	struct kernel_function *f = calloc(1, sizeof *f + extent_count * sizeof f->extents[0]);
	char shown[128];

	MPK_TRY_ALLOC(f, err);
	mpk_escape_to(info->key, shown, sizeof shown);
	f->base = (struct mpk_function){
		.refs = 1,
		.name = mpk_arena_text(&code->arena, mpk_span_str(shown)),
		.call = call_kernel,
		.destroy = kernels_destroy,
	};
	f->info = info;
	f->extent_count = extent_count;
	if (!f->base.name) {
		free(f);
		return mpk_fail_nomem(err);
	}
	f->code = code;
	(void)atomic_fetch_add_explicit(&code->refs, 1, memory_order_relaxed);
	*out = f;
	return MPK_OK;
}

/* --- nodes ---------------------------------------------------------------------------------- */

static bool kernels_accepts(struct mpk_span kind)
{
	return mpk_device_kind_of(kind) > MPK_DEVICE_CPU;
}

static enum mpk_code kernels_open_node(struct mpk_node_module *node, struct mpk_error *err)
{
	struct code *code;

	MPK_TRY(code_create(node->host->runtime, node->host->code.tree, node->index, &code, err));
	node->state = code;
	return MPK_OK;
}

static enum mpk_code kernels_find_function(struct mpk_node_module *node, const char *name,
					   struct mpk_function **out, struct mpk_error *err)
{
	struct code *code = node->state;
	const struct mpk_function_info *info = mpk_kernels_find(&code->kernels, mpk_span_str(name));
	struct kernel_function *f;

	*out = NULL;
	if (!info)
		return MPK_OK;
	MPK_TRY(kernels_make(code, info, 0, &f, err));
	*out = &f->base;
	return MPK_OK;
}

static void close_node(struct mpk_node_module *node)
{
	code_drop(node->state);
}

const struct mpk_loader mpk_kernel_loader = {
	.accepts = kernels_accepts,
	.open = kernels_open_node,
	.find = kernels_find_function,
	.close = close_node,
};

/* --- direct calls: extents -------------------------------------------------------------------- */

/* An axis's extent among those the user gave; NULL for clusters, which users do not give. */
static const uint64_t *given(const struct mpk_kernel_extents *e, enum mpk_launch_tag tag)
{
	if (tag <= MPK_TAG_GRID_Z)
		return &e->grid[tag - MPK_TAG_GRID_X];
	if (tag <= MPK_TAG_BLOCK_Z)
		return &e->block[tag - MPK_TAG_BLOCK_X];
	return tag == MPK_TAG_DYN_SHARED ? &e->shared_bytes : NULL;
}

/* --- direct calls: which kernel is meant ------------------------------------------------------ */

enum { PATH_BYTES = 256 };

struct mpk_kernel_codes {
	size_t count;      /* of the tree's nodes */
	struct code *of[]; /* NULL: not decoded so far, or no device code */
};

/* "add", or "/0#add" of the module at a path. */
struct wanted {
	const char *name;  /* of the kernel alone; a part of the text */
	size_t first, end; /* nodes of the tree that may hold it */
	int32_t device;    /* DLPack's type of device that the code is to be for; 0: any */
};

static enum mpk_code parse_wanted(const struct mpk_tree *tree, const char *text, struct wanted *out,
				  struct mpk_error *err)
{
	const char *hash = text[0] == '/' ? strchr(text, '#') : NULL;
	char path[PATH_BYTES];
	int len;

	out->name = text;
	out->end = tree->count;
	if (!hash)
		return MPK_OK;
	len = snprintf(path, sizeof path, "%.*s", (int)(hash - text), text);
	if (len < 0 || len >= PATH_BYTES || !mpk_tree_find(tree, path, &out->first))
		return mpk_fail(err, MPK_E_NOTFOUND, "there is no module at '%s'",
				MPK_QUOTE(mpk_span_str(path)));
	out->name = hash + 1;
	out->end = out->first + 1;
	return MPK_OK;
}

static enum mpk_code fail_ambiguous(const struct mpk_tree *tree, const char *name, size_t a,
				    size_t b, struct mpk_error *err)
{
	char path_a[PATH_BYTES], path_b[PATH_BYTES];
	struct mpk_span kernel = mpk_span_str(name);

	mpk_tree_path(tree, a, path_a, sizeof path_a);
	mpk_tree_path(tree, b, path_b, sizeof path_b);
	return mpk_fail(err, MPK_E_USAGE,
			"there are kernels '%s' in %s (%s) and in %s (%s): say %s#%s or %s#%s",
			MPK_QUOTE(kernel), path_a, MPK_QUOTE(tree->nodes[a].kind), path_b,
			MPK_QUOTE(tree->nodes[b].kind), path_a, MPK_QUOTE(kernel), path_b,
			MPK_QUOTE(kernel));
}

void mpk_kernel_set_fini(struct mpk_kernel_set *set)
{
	for (size_t i = 0; set->codes && i < set->codes->count; i++)
		if (set->codes->of[i])
			code_drop(set->codes->of[i]);
	free(set->codes);
}

static enum mpk_code kernels_not_found(const struct mpk_kernel_codes *codes, const char *name,
				       struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	size_t count = 0, near;
	struct mpk_span *names;

	for (size_t i = 0; i < codes->count; i++)
		count += codes->of[i] ? codes->of[i]->kernels.function_count : 0;
	MPK_TRY_ARRAY(names, &arena, count + 1, err);
	count = 0;
	for (size_t i = 0; i < codes->count; i++)
		for (size_t k = 0; codes->of[i] && k < codes->of[i]->kernels.function_count; k++)
			names[count++] = codes->of[i]->kernels.functions[k].key;
	near = mpk_closest(mpk_span_str(name), names, count);
	if (near < count)
		return mpk_fail(err, MPK_E_NOTFOUND, "no kernel '%s'; did you mean '%s'?",
				MPK_QUOTE(mpk_span_str(name)), MPK_QUOTE(names[near]));
	return mpk_fail(err, MPK_E_NOTFOUND, "no kernel '%s' in a module for the devices here",
			MPK_QUOTE(mpk_span_str(name)));
}

/* The one payload that holds the kernel. */
static enum mpk_code kernels_search(struct mpk_kernel_set *set, const struct wanted *w,
				    struct code **out, struct mpk_error *err)
{
	struct code **codes = set->codes->of;
	size_t found = set->tree->count, other = found;

	for (size_t i = w->first; i < w->end; i++) {
		if (!kernels_accepts(set->tree->nodes[i].kind))
			continue;
		if (!codes[i])
			MPK_TRY(code_create(set->runtime, set->tree, i, &codes[i], err));
		if (!mpk_kernels_find(&codes[i]->kernels, mpk_span_str(w->name)))
			continue;
		/* of two kinds of code, that for the device in question */
		if (found == set->tree->count ||
		    (w->device && (int32_t)codes[found]->kind != w->device))
			found = i;
		else if (other == set->tree->count &&
			 (!w->device || (int32_t)codes[i]->kind == w->device))
			other = i;
	}
	if (other < set->tree->count)
		return fail_ambiguous(set->tree, w->name, found, other, err);
	if (found == set->tree->count)
		return mpk_failed(kernels_not_found(set->codes, w->name, err));
	*out = codes[found];
	return MPK_OK;
}

enum mpk_code mpk_kernel_set_find(struct mpk_kernel_set *set, const char *name,
				  const struct mpk_kernel_extents *extents,
				  struct mpk_dldevice asked, struct mpk_kernel_found *out,
				  struct mpk_error *err)
{
	struct wanted wanted = { .device = asked.type };
	const struct mpk_function_info *info;
	size_t count = set->tree->count;
	struct kernel_function *f;
	struct code *code = NULL;

	if (!set->codes) {
		set->codes = calloc(1, sizeof *set->codes + count * sizeof *set->codes->of);
		MPK_TRY_ALLOC(set->codes, err);
		set->codes->count = count;
		mpk_devices_add_images(mpk_runtime_devices(set->runtime), set->tree);
	}
	MPK_TRY(parse_wanted(set->tree, name, &wanted, err));
	MPK_TRY(kernels_search(set, &wanted, &code, err));
	info = mpk_kernels_find(&code->kernels, mpk_span_str(wanted.name));
	if (asked.type && asked.type != (int32_t)code->kind)
		return mpk_fail(err, MPK_E_USAGE, "kernel '%s' is code for %s, not for %s",
				MPK_QUOTE(info->key), mpk_device_kind_name(code->kind),
				mpk_device_kind_name(mpk_device_kind_from(asked.type)));

	/* An extent for an axis that the kernel does not have would be dropped silently. */
	bool has[MPK_TAG_UNKNOWN + 1] = { false };

	for (size_t i = 0; i < info->launch_tag_count; i++)
		has[mpk_launch_tag_parse(info->launch_tags[i])] = true;
	for (unsigned axis = 0; axis < 3; axis++) {
		if (extents->grid[axis] > 1 && !has[MPK_TAG_GRID_X + axis])
			return mpk_fail(err, MPK_E_USAGE, "kernel '%s' has no axis blockIdx.%c",
					MPK_QUOTE(info->key), "xyz"[axis]);
		if (extents->block[axis] > 1 && !has[MPK_TAG_BLOCK_X + axis])
			return mpk_fail(err, MPK_E_USAGE, "kernel '%s' has no axis threadIdx.%c",
					MPK_QUOTE(info->key), "xyz"[axis]);
	}
	if (extents->shared_bytes && !has[MPK_TAG_DYN_SHARED])
		return mpk_fail(err, MPK_E_USAGE, "kernel '%s' takes no dynamic shared memory",
				MPK_QUOTE(info->key));

	MPK_TRY(kernels_make(code, info, info->launch_tag_count, &f, err));

	f->is_direct = true;
	f->extent_count = 0;
	for (size_t i = 0; i < f->info->launch_tag_count; i++) {
		enum mpk_launch_tag tag = mpk_launch_tag_parse(f->info->launch_tags[i]);
		const uint64_t *extent = given(extents, tag);

		if (mpk_launch_tag_takes_argument(tag))
			f->extents[f->extent_count++] = extent ? *extent : 1;
	}

	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): where search() succeeds it has set this */
	*out = (struct mpk_kernel_found){ &f->base, info, { (int32_t)code->kind, asked.id } };
	return MPK_OK;
}
