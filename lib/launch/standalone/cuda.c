/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.c - kernels through the CUDA driver, in the primary context of the device */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "launch/standalone/loader.h"

static struct {
	int (*Init)(unsigned);
	int (*GetErrorName)(int, const char **);
	int (*DeviceGet)(int *, int);
	int (*PrimaryRetain)(void **, int);
	int (*SetCurrent)(void *);
	int (*LoadDataEx)(void **, const void *, unsigned, int *, void **);
	int (*GetFunction)(void **, void *, const char *);
	int (*SetAttribute)(void *, int, int);
	int (*Launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
		      void *, void **, void **);
	int (*Alloc)(uint64_t *, size_t);
	int (*Free)(uint64_t);
	int (*ToDevice)(uint64_t, const void *, size_t);
	int (*ToHost)(void *, uint64_t, size_t);
	int (*Synchronize)(void *);
} cu;

static const struct mpk_sa_symbol cuda_symbols[] = {
	{ "cuInit", (void **)&cu.Init },
	{ "cuGetErrorName", (void **)&cu.GetErrorName },
	{ "cuDeviceGet", (void **)&cu.DeviceGet },
	{ "cuDevicePrimaryCtxRetain", (void **)&cu.PrimaryRetain },
	{ "cuCtxSetCurrent", (void **)&cu.SetCurrent },
	{ "cuModuleLoadDataEx", (void **)&cu.LoadDataEx },
	{ "cuModuleGetFunction", (void **)&cu.GetFunction },
	{ "cuFuncSetAttribute", (void **)&cu.SetAttribute },
	{ "cuLaunchKernel", (void **)&cu.Launch },
	{ "cuMemAlloc_v2", (void **)&cu.Alloc },
	{ "cuMemFree_v2", (void **)&cu.Free },
	{ "cuMemcpyHtoD_v2", (void **)&cu.ToDevice },
	{ "cuMemcpyDtoH_v2", (void **)&cu.ToHost },
	{ "cuStreamSynchronize", (void **)&cu.Synchronize },
	{ NULL, NULL },
};

static struct {
	void *context;
	void **functions; /* by kernel index; NULL until first used */
} cuda_devices[MPK_SA_DEVICES_MAX];

static int cuda_check(int rc, const char *what)
{
	const char *name = "unknown error";

	if (rc == 0)
		return 0;
	if (cu.GetErrorName)
		(void)cu.GetErrorName(rc, &name);
	return mpk_sa_fail("%s: %s", what, name);
}

static int cuda_use(int id)
{
	static const char *const names[] = { "libcuda.so.1", NULL };
	static int state; /* 0 not tried, 1 loaded */
	int device = 0;

	if (id < 0 || id >= MPK_SA_DEVICES_MAX)
		return mpk_sa_fail("no CUDA device %d", id);
	if (!state) {
		if (mpk_sa_load(names, cuda_symbols) || cuda_check(cu.Init(0), "cuInit"))
			return -1;
		state = 1;
	}
	if (!cuda_devices[id].context) {
		if (cuda_check(cu.DeviceGet(&device, id), "cuDeviceGet") ||
		    cuda_check(cu.PrimaryRetain(&cuda_devices[id].context, device),
			       "cuDevicePrimaryCtxRetain"))
			return -1;
		cuda_devices[id].functions = calloc(mpk_sa_kernel_count, sizeof(void *));
		if (!cuda_devices[id].functions)
			return mpk_sa_fail("out of memory");
	}
	return cuda_check(cu.SetCurrent(cuda_devices[id].context), "cuCtxSetCurrent");
}

/* The stream that the framework around us works on; 0 when it says nothing. */
static void *cuda_stream(int id)
{
	static void *(*get)(int32_t, int32_t);

	if (!get)
		*(void **)&get = dlsym(RTLD_DEFAULT, "TVMFFIEnvGetStream");
	return get ? get(MPK_DL_CUDA, id) : NULL;
}

static int cuda_load(const struct mpk_sa_kernel *k, void **function)
{
	enum { ERROR_LOG = 5, ERROR_LOG_BYTES = 6 }; /* CUjit_option */
	char log[768] = "";
	int options[] = { ERROR_LOG, ERROR_LOG_BYTES };
	void *values[] = { log, (void *)(uintptr_t)sizeof log }, *module;
	char *text = malloc(k->size + 1); /* PTX must end in NUL */
	const char *name = "unknown error";

	if (!text)
		return mpk_sa_fail("out of memory");
	memcpy(text, k->data, k->size);
	text[k->size] = '\0';
	int rc = cu.LoadDataEx(&module, text, 2, options, values);
	free(text);
	if (rc) {
		(void)cu.GetErrorName(rc, &name);
		return mpk_sa_fail("kernel %s (%s) does not load: %s %s", k->name, k->format, name,
				   log);
	}
	return cuda_check(cu.GetFunction(function, module, k->name), k->name);
}

static int cuda_launch(struct mpk_sa_launch *l)
{
	enum { MAX_DYNAMIC_SHARED = 8, WITHOUT_ASKING = 48 * 1024 };
	int id = l->device;
	const unsigned *e = l->extent;

	if (cuda_use(id))
		return -1;
	void **function = &cuda_devices[id].functions[l->index];
	if (!*function && cuda_load(l->kernel, function))
		return -1;
	if (l->shared >= WITHOUT_ASKING &&
	    cuda_check(cu.SetAttribute(*function, MAX_DYNAMIC_SHARED, (int)l->shared),
		       "dynamic shared memory"))
		return -1;
	return cuda_check(cu.Launch(*function, e[0], e[1], e[2], e[3], e[4], e[5], l->shared,
				    cuda_stream(id), l->args, NULL),
			  l->kernel->name);
}

static void *cuda_alloc(int id, int64_t bytes, const void *from)
{
	uint64_t p = 0;

	if (cuda_use(id) || cuda_check(cu.Alloc(&p, (size_t)bytes), "device memory"))
		return NULL;
	/* the copy uses the default stream, for which the kernels' stream need not wait */
	if (from && (cuda_check(cu.ToDevice(p, from, (size_t)bytes), "copy to the device") ||
		     cuda_check(cu.Synchronize(NULL), "copy to the device"))) {
		(void)cu.Free(p);
		return NULL;
	}
	return (void *)(uintptr_t)p;
}

static int cuda_release(int id, void *device, void *to, int64_t bytes)
{
	int rc = cuda_use(id);

	if (!rc && to)
		rc = cuda_check(cu.Synchronize(cuda_stream(id)), "the kernels") ||
				     cuda_check(cu.ToHost(to, (uintptr_t)device, (size_t)bytes),
						"copy to the host")
			     ? -1
			     : 0;
	(void)cu.Free((uintptr_t)device);
	return rc;
}

const struct mpk_sa_driver mpk_sa_cuda = { cuda_launch, cuda_alloc, cuda_release };
