/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cuda_module.c - modules, kernels and launches of the fake */
#include <stdlib.h>
#include <string.h>

#include "fake_cuda_state.h"

#ifdef FAKE_HIP
static unsigned check_image(struct mpk_cu_module *module, const char *image, char *log,
			    size_t log_bytes)
{
	(void)log;
	(void)log_bytes;
	return fake_hip_check(module, image);
}
#else
/* A number of a cubin or fatbin: little-endian whatever the machine. */
static uint64_t load(const char *p, size_t bytes)
{
	uint64_t value = 0;

	while (bytes-- > 0)
		value = value << 8 | (uint8_t)p[bytes];
	return value;
}

/* The sm of a cubin's ELF header; toolkits from 12.8 on store it one byte higher. */
static int cubin_sm(const char *image)
{
	unsigned flags = (unsigned)load(image + 48, 4);

	return (int)(image[8] == 8 ? flags >> 8 & 0xff : flags & 0xff);
}

static size_t cubin_bytes(const char *image)
{
	return (size_t)(load(image + 40, 8) + load(image + 60, 2) * load(image + 58, 2));
}

static void set_log(char *log, size_t size, const char *text)
{
	if (log)
		(void)snprintf(log, size, "%s", text);
}

static unsigned check_ptx(const char *image, char *log, size_t log_bytes)
{
	const char *target = strstr(image, ".target sm_");

	if (!target || !strstr(image, ".version")) {
		set_log(log, log_bytes, "ptxas fatal   : no .version or .target\n");
		return MPK_CU_INVALID_PTX;
	}
	if (strstr(image, "syntax error")) {
		set_log(log, log_bytes,
			"ptxas application ptx input, line 5; fatal : Parsing error near 'syntax'\n"
			"ptxas fatal   : Ptx assembly aborted due to errors\n");
		return MPK_CU_INVALID_PTX;
	}
	return atoi(target + 11) > fake.sm ? MPK_CU_NO_BINARY_FOR_GPU : 0;
}

static unsigned check_image(struct mpk_cu_module *module, const char *image, char *log,
			    size_t log_bytes)
{
	if (memcmp(image, "\177ELF", 4) == 0) {
		module->bytes = cubin_bytes(image);
		if (cubin_sm(image) / 10 != fake.sm / 10 || cubin_sm(image) > fake.sm)
			return MPK_CU_NO_BINARY_FOR_GPU;
		return load(image + 18, 2) == 190 ? 0 : MPK_CU_INVALID_IMAGE;
	}
	if (load(image, 4) == 0xba55ed50u) {
		module->bytes = (size_t)(load(image + 6, 2) + load(image + 8, 8));
		return 0;
	}
	module->is_ptx = true;
	module->bytes = strlen(image); /* a missing NUL is an over-read for the sanitizer */
	if (!strstr(image, ".version"))
		return MPK_CU_INVALID_IMAGE;
	return check_ptx(image, log, log_bytes);
}
#endif

static char *log_option(unsigned count, const unsigned *options, void **values, unsigned which,
			size_t *bytes)
{
	char *log = NULL;

	for (unsigned i = 0; i < count; i++) {
		if (options[i] == which)
			log = values[i];
		if (options[i] == which + 1)
			*bytes = (size_t)(uintptr_t)values[i];
	}
	return log;
}

unsigned cuModuleLoadDataEx(struct mpk_cu_module **out, const void *image, unsigned count,
			    unsigned *options, void **values)
{
	struct mpk_cu_module *module = calloc(1, sizeof *module);
	size_t log_bytes = 0;
	char *log = log_option(count, options, values, MPK_CU_JIT_ERROR_LOG, &log_bytes);
	unsigned status = fake_enter("cuModuleLoadDataEx", true, "options=%u", count);

	if (!module || fake.module_count == MODULE_MAX)
		abort();
	if (!status)
		status = check_image(module, image, log, log_bytes);
	if (status) {
		free(module);
		return status;
	}
	module->image = calloc(module->bytes + 1, 1);
	memcpy(module->image, image, module->bytes);
	module->given = image;
	module->context = fake_current();
	module->live = true;
	fake.modules[fake.module_count++] = module;
	*out = module;
	return 0;
}

static bool is_module(const struct mpk_cu_module *module)
{
	for (size_t i = 0; i < fake.module_count; i++)
		if (fake.modules[i] == module)
			return module->live;
	return false;
}

/* HIP reads the image for as long as the module is loaded, and a module is of the device that was entered then. */
static void check_module(const struct mpk_cu_module *module, const char *what)
{
#ifdef FAKE_HIP
	if (memcmp(module->given, module->image, module->bytes) != 0)
		(void)fake_misuse(0, "%s: the image changed or is gone", what);
#endif
	if (module->context != fake_current())
		(void)fake_misuse(0, "%s on another device than the module's", what);
}

unsigned cuModuleUnload(struct mpk_cu_module *module)
{
	ENTER("cuModuleUnload", true, "%s", "");
	if (!is_module(module))
		return fake_misuse(INVALID_HANDLE, "cuModuleUnload of what is not loaded");
	check_module(module, "cuModuleUnload");
	free(module->image);
	module->image = NULL;
	module->live = false; /* the struct stays, to know its functions when they are used */
	return 0;
}

static bool has_kernel(const struct mpk_cu_module *module, const char *name)
{
	char pattern[300];

	if (module->is_packed)
		return fake_kernel_find(name) != NULL;
	(void)snprintf(pattern, sizeof pattern, module->is_ptx ? ".entry %s" : "%s", name);
	return memmem(module->image, module->bytes, pattern, strlen(pattern)) != NULL;
}

unsigned cuModuleGetFunction(struct mpk_cu_function **out, struct mpk_cu_module *module,
			     const char *name)
{
	ENTER("cuModuleGetFunction", true, "%s", name);
	if (!is_module(module))
		return fake_misuse(INVALID_HANDLE, "cuModuleGetFunction of what is not loaded");
	check_module(module, "cuModuleGetFunction");
	if (!has_kernel(module, name))
		return MPK_CU_NOT_FOUND;
	struct mpk_cu_function *f = &module->functions[module->function_count++];

	(void)snprintf(f->name, sizeof f->name, "%s", name);
	f->module = module;
	f->dynamic_shared = SHARED_DEFAULT;
	*out = f;
	return 0;
}

unsigned cuFuncGetAttribute(int *value, unsigned attribute, struct mpk_cu_function *f)
{
	ENTER("cuFuncGetAttribute", true, "attribute=%u %s", attribute, f->name);
	if (attribute == MPK_CU_FUNC_MAX_THREADS)
		*value = 1024;
	else if (attribute == MPK_CU_FUNC_SHARED_BYTES)
		*value = 0;
	else
		return fake_misuse(MPK_CU_INVALID_VALUE, "unknown function attribute %u",
				   attribute);
	return 0;
}

#ifndef FAKE_HIP
unsigned cuFuncSetAttribute(struct mpk_cu_function *f, unsigned attribute, int value)
{
	ENTER("cuFuncSetAttribute", true, "attribute=%u value=%d", attribute, value);
	if (attribute == MPK_CU_FUNC_MAX_DYNAMIC_SHARED) {
		if (value > SHARED_OPTIN)
			return MPK_CU_INVALID_VALUE;
		f->dynamic_shared = (unsigned)value;
	} else if (attribute == MPK_CU_FUNC_NON_PORTABLE_CLUSTER) {
		f->big_cluster = value != 0;
	} else {
		return fake_misuse(MPK_CU_INVALID_VALUE, "unknown function attribute %u",
				   attribute);
	}
	return 0;
}
#endif

static unsigned check_launch(const struct mpk_cu_function *f, const struct fake_launch *l)
{
	static const unsigned long long limits[6] = { 2147483647, 65535, 65535, 1024, 1024, 64 };
	unsigned long long threads = 1;

	if (!is_module(f->module))
		return fake_misuse(INVALID_HANDLE, "launch of '%s' after its module was unloaded",
				   f->name);
	check_module(f->module, "a launch");
	for (unsigned i = 0; i < 6; i++) {
		unsigned dim = i < 3 ? l->grid[i] : l->block[i - 3];

		if (dim == 0 || dim > limits[i])
			return fake_misuse(MPK_CU_INVALID_VALUE, "launch dimension %u is %u", i,
					   dim);
		threads *= i < 3 ? 1 : dim;
	}
	if (threads > 1024 || l->shared_bytes > f->dynamic_shared)
		return fake_misuse(MPK_CU_INVALID_VALUE, "launch of %llu threads, %u shared bytes",
				   threads, l->shared_bytes);
	for (unsigned i = 0; i < l->attribute_count; i++) {
		const struct fake_attribute *a = &l->attributes[i];

		if (a->id != MPK_CU_LAUNCH_CLUSTER)
			continue;
		if (!a->x || !a->y || !a->z || l->grid[0] % a->x || l->grid[1] % a->y ||
		    l->grid[2] % a->z || (a->x * a->y * a->z > 8 && !f->big_cluster))
			return MPK_CU_INVALID_CLUSTER_SIZE;
	}
	return 0;
}

static unsigned run(struct mpk_cu_function *f, const struct fake_launch *launch)
{
	const struct fake_kernel *kernel = fake_kernel_find(f->name);
	unsigned status = check_launch(f, launch);

	if (status)
		return status;
	fake_queue(launch->stream, "a launch");
	fake.last = *launch;
	(void)snprintf(fake.last_kernel, sizeof fake.last_kernel, "%s", f->name);
	fake.last.kernel = fake.last_kernel;
	fake.last.params = NULL;
	if (kernel)
		fake.sticky = kernel->run(launch); /* told at the next call, as a GPU does */
	return 0;
}

unsigned cuLaunchKernel(struct mpk_cu_function *f, unsigned grid_x, unsigned grid_y,
			unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
			unsigned shared_bytes, struct mpk_cu_stream *stream, void **params,
			void **extra)
{
	struct fake_launch launch = {
		.grid = { grid_x, grid_y, grid_z },
		.block = { block_x, block_y, block_z },
		.shared_bytes = shared_bytes,
		.stream = stream,
		.params = params,
	};

	ENTER("cuLaunchKernel", true, "%s grid=%u,%u,%u block=%u,%u,%u shared=%u", f->name, grid_x,
	      grid_y, grid_z, block_x, block_y, block_z, shared_bytes);
	if (extra)
		return fake_misuse(MPK_CU_INVALID_VALUE,
				   "cuLaunchKernel with both kinds of arguments");
	return run(f, &launch);
}

#ifdef FAKE_HIP
unsigned hipModuleLaunchCooperativeKernel(struct mpk_cu_function *f, unsigned grid_x,
					  unsigned grid_y, unsigned grid_z, unsigned block_x,
					  unsigned block_y, unsigned block_z, unsigned shared_bytes,
					  struct mpk_cu_stream *stream, void **params)
{
	struct fake_launch launch = {
		.grid = { grid_x, grid_y, grid_z },
		.block = { block_x, block_y, block_z },
		.shared_bytes = shared_bytes,
		.stream = stream,
		.params = params,
		.attributes = { { MPK_CU_LAUNCH_COOPERATIVE, 1, 0, 0 } },
		.attribute_count = 1,
	};

	ENTER("hipModuleLaunchCooperativeKernel", true, "%s grid=%u,%u,%u block=%u,%u,%u shared=%u",
	      f->name, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes);
	return run(f, &launch);
}
#elif !defined FAKE_CUDA_OLD_DRIVER
unsigned cuFuncGetParamInfo(struct mpk_cu_function *f, size_t index, size_t *offset, size_t *bytes)
{
	const struct fake_kernel *kernel = fake_kernel_find(f->name);

	ENTER("cuFuncGetParamInfo", true, "index=%zu", index);
	if (!kernel || index >= FAKE_PARAMS || !kernel->param_bytes[index])
		return MPK_CU_INVALID_VALUE;
	*offset = 0;
	*bytes = kernel->param_bytes[index];
	return 0;
}

unsigned cuLaunchKernelEx(const struct mpk_cu_launch_config *c, struct mpk_cu_function *f,
			  void **params, void **extra)
{
	struct fake_launch launch = {
		.grid = { c->grid_x, c->grid_y, c->grid_z },
		.block = { c->block_x, c->block_y, c->block_z },
		.shared_bytes = c->shared_bytes,
		.stream = c->stream,
		.params = params,
		.attribute_count = c->attribute_count,
	};

	char attributes[200] = "";
	size_t used = 0;

	for (unsigned i = 0; i < c->attribute_count && used < sizeof attributes; i++)
		used += (size_t)snprintf(
			attributes + used, sizeof attributes - used, " %u=%u,%u,%u",
			c->attributes[i].id, c->attributes[i].value.dims.x,
			c->attributes[i].value.dims.y, c->attributes[i].value.dims.z);
	ENTER("cuLaunchKernelEx", true, "%s grid=%u,%u,%u block=%u,%u,%u shared=%u attributes%s",
	      f->name, c->grid_x, c->grid_y, c->grid_z, c->block_x, c->block_y, c->block_z,
	      c->shared_bytes, attributes);
	if (extra || c->attribute_count > 8)
		return fake_misuse(MPK_CU_INVALID_VALUE, "cuLaunchKernelEx: extra or attributes");
	for (unsigned i = 0; i < c->attribute_count; i++) {
		const struct mpk_cu_launch_attribute *a = &c->attributes[i];

		launch.attributes[i] = (struct fake_attribute){ .id = a->id };
		if (a->id == MPK_CU_LAUNCH_COOPERATIVE || a->id == MPK_CU_LAUNCH_PROGRAMMATIC) {
			launch.attributes[i].x = (unsigned)a->value.flag;
		} else {
			launch.attributes[i].x = a->value.dims.x;
			launch.attributes[i].y = a->value.dims.y;
			launch.attributes[i].z = a->value.dims.z;
		}
	}
	return run(f, &launch);
}
#endif
