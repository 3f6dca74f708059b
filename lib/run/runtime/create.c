/* SPDX-License-Identifier: Apache-2.0 */
/* create.c - what every runtime has: one row for each function that module code looks up by name
 * wherever it runs, and the loader of device code */

#include "base/compiler.h"
#include "runtime/devices.h"
#include "runtime/kernels.h"
#include "runtime/runtime.h"
#include "runtime/textures.h"

static enum mpk_code set_device(struct mpk_runtime *runtime, const struct mpk_args *args,
				struct mpk_value *result, struct mpk_error *err)
{
	const struct mpk_value *v = args->values;

	(void)result;
	if (args->count != 2 || v[0].kind != MPK_VALUE_INT || v[1].kind != MPK_VALUE_INT)
		return mpk_fail(err, MPK_E_RAISED, "__tvm_set_device takes two integers");
	return mpk_devices_use(
		mpk_runtime_devices(runtime),
		(struct mpk_dldevice){ (int32_t)v[0].integer, (int32_t)v[1].integer }, err);
}

static const struct mpk_global globals[] = {
	{ "__tvm_set_device", set_device },
	{ "device_api.opencl.alloc_nd", mpk_texture_alloc },
	{ "device_api.opencl.free_nd", mpk_texture_free },
};

enum mpk_code mpk_runtime_create(const struct mpk_runtime_options *options,
				 struct mpk_runtime **out, struct mpk_error *err)
{
	struct mpk_runtime *runtime;

	MPK_TRY(mpk_runtime_create_empty(options, &runtime, err));
	enum mpk_code code =
		mpk_runtime_add_globals(runtime, globals, MPK_ARRAY_COUNT(globals), err);

	if (code == MPK_OK)
		code = mpk_runtime_add_loader(runtime, &mpk_kernel_loader, err);
	if (code != MPK_OK) {
		mpk_runtime_destroy(runtime);
		return mpk_failed(code);
	}
	*out = runtime;
	return MPK_OK;
}
