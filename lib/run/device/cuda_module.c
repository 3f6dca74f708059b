/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_module.c - PTX, cubin, fatbin and CUDA C++ source to a loaded module */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/internal/cuda.h"
#include "device/internal/cuda_code.h"
#include "device/internal/nvrtc.h"
#include "text/escape.h"

enum { LOG_BYTES = 8192 };

/* What one load gets from the driver's compiler. */
struct jit_logs {
	char info[LOG_BYTES], error[LOG_BYTES];
};

static bool is_format(struct mpk_span fmt)
{
	static const char *const formats[] = { "ptx", "cubin", "fatbin", "cuda" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(formats); i++)
		if (mpk_span_is(fmt, formats[i]))
			return true;
	return false;
}

static enum mpk_code check_format(const struct mpk_kernels *k, struct mpk_error *err)
{
	if (k->layout != MPK_KERNELS_PLAIN || !is_format(k->fmt))
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"format '%s' is not one that CUDA runs (ptx, cubin, fatbin, cuda)",
				MPK_QUOTE(k->fmt));
	return MPK_OK;
}

enum mpk_code mpk_cuda_check(const struct mpk_device_info *info, const struct mpk_kernels *k,
			     struct mpk_error *err)
{
	MPK_TRY(check_format(k, err));
	return mpk_cuda_code_check(k->data, info, err);
}

static void *as_value(unsigned number)
{
	return (void *)(uintptr_t)number;
}

static unsigned load_image(const struct mpk_cuda_api *cu, const char *image, struct jit_logs *logs,
			   struct mpk_cu_module **out)
{
	unsigned options[] = { MPK_CU_JIT_INFO_LOG, MPK_CU_JIT_INFO_LOG_BYTES, MPK_CU_JIT_ERROR_LOG,
			       MPK_CU_JIT_ERROR_LOG_BYTES };
	void *values[] = { logs->info, as_value(LOG_BYTES - 1), logs->error,
			   as_value(LOG_BYTES - 1) };

	return cu->cuModuleLoadDataEx(out, image, MPK_ARRAY_COUNT(options), options, values);
}

static enum mpk_code fail_load(const struct mpk_cuda_device *device, const struct mpk_kernels *k,
			       unsigned status, const struct jit_logs *logs, struct mpk_error *err)
{
	const struct mpk_device_info *info = &device->base.info;
	struct mpk_error reason;
	char held[MPK_CUDA_CODE_TEXT];
	const char *log = logs->error[0] ? logs->error : logs->info;
	enum mpk_code code =
		mpk_cuda_fail(device->cu, &reason, status, "'%s' code does not load on %s",
			      MPK_QUOTE(k->fmt), info->name);
	size_t used = strlen(reason.text), left = sizeof reason.text - used;

	mpk_cuda_code_describe(k->data, held);
	(void)snprintf(reason.text + used, left, "; the device is %s, the code is %s", info->arch,
		       held[0] ? held : "neither cubin, fatbin nor PTX");
	return mpk_device_fail_log(err, code, reason.text, log);
}

/* A copy that ends in NUL: text of the module blob does not. */
static char *copy_image(struct mpk_span data)
{
	char *image = malloc(data.len + 1);

	if (!image)
		return NULL;
	memcpy(image, data.data, data.len);
	image[data.len] = '\0';
	return image;
}

static enum mpk_code get_image(const struct mpk_cuda_device *device, const struct mpk_kernels *k,
			       char **out, struct mpk_error *err)
{
	size_t bytes;

	if (k->data.len == 0)
		return mpk_fail(err, MPK_E_CORRUPT, "the payload holds no code");
	if (mpk_span_is(k->fmt, "cuda"))
		return mpk_nvrtc_compile(&(struct mpk_nvrtc_source){ k->data, device->base.info.sm,
								     device->base.cuda_home },
					 out, &bytes, err);
	char *image = copy_image(k->data);

	MPK_TRY_ALLOC(image, err);
	*out = image;
	return MPK_OK;
}

static enum mpk_code load_module(struct mpk_cuda_device *device, const struct mpk_kernels *k,
				 const char *image, struct mpk_cu_module **out,
				 struct mpk_error *err)
{
	struct jit_logs *logs = calloc(1, sizeof *logs);
	struct mpk_cu_module *module = NULL;

	MPK_TRY_ALLOC(logs, err);
	unsigned status = load_image(device->cu, image, logs, &module);
	enum mpk_code code = MPK_OK;

	if (status != MPK_CU_SUCCESS)
		code = fail_load(device, k, status, logs, err);
	else
		*out = module;
	free(logs);
	return code;
}

enum mpk_code mpk_cuda_load(struct mpk_device *base, const struct mpk_kernels *k,
			    struct mpk_device_module **out, struct mpk_error *err)
{
	struct mpk_cuda_device *device = mpk_cuda_device_of(base);
	char *image = NULL;

	MPK_TRY(check_format(k, err));
	MPK_TRY(mpk_cuda_enter(device, err));
	MPK_TRY(get_image(device, k, &image, err));
	struct mpk_cuda_module *module = calloc(1, sizeof *module);
	enum mpk_code code =
		module ? load_module(device, k, image, &module->module, err) : mpk_fail_nomem(err);

	free(image);
	if (code != MPK_OK) {
		free(module);
		return mpk_failed(code);
	}
	*out = &module->base;
	return MPK_OK;
}

void mpk_cuda_unload(struct mpk_device_module *base)
{
	struct mpk_cuda_module *module = (struct mpk_cuda_module *)base;
	struct mpk_cuda_device *device = mpk_cuda_device_of(base->device);

	if (mpk_cuda_enter(device, NULL) == MPK_OK)
		(void)device->cu->cuModuleUnload(module->module);
	mpk_arena_fini(&base->arena);
	free(module);
}
