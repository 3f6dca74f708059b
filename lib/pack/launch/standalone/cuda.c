/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.c - kernels through the CUDA driver, in the primary context of the device
 *
 * The process may use other devices and contexts. So the context that was current when a function
 * was called is current again when it returns. All work is queued on the stream of the calling
 * framework. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "launch/standalone/loader.h"

/* CUlaunchAttribute, CUlaunchConfig */
struct cuda_attribute {
	unsigned id, padding;
	unsigned value[16]; /* three dimensions, or a flag */
};

struct cuda_config {
	unsigned extent[6], shared;
	void *stream;
	struct cuda_attribute *attributes;
	unsigned count;
};

static struct {
	int (*Init)(unsigned);
	int (*GetErrorName)(int, const char **);
	int (*DeviceGet)(int *, int);
	int (*PrimaryRetain)(void **, int);
	int (*SetCurrent)(void *);
	int (*GetCurrent)(void **);
	int (*LoadDataEx)(void **, const void *, unsigned, int *, void **);
	int (*GetFunction)(void **, void *, const char *);
	int (*SetAttribute)(void *, int, int);
	int (*Launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
		      void *, void **, void **);
	int (*LaunchEx)(const struct cuda_config *, void *, void **, void **);
	int (*Alloc)(uint64_t *, size_t);
	int (*Free)(uint64_t);
	int (*ToDevice)(uint64_t, const void *, size_t);
	int (*ToHost)(void *, uint64_t, size_t);
	int (*Synchronize)(void *);
} cu;

static const struct mpk_sa_symbol cuda_symbols[] = {
	{ "cuInit", (void **)&cu.Init, 0 },
	{ "cuGetErrorName", (void **)&cu.GetErrorName, 0 },
	{ "cuDeviceGet", (void **)&cu.DeviceGet, 0 },
	{ "cuDevicePrimaryCtxRetain", (void **)&cu.PrimaryRetain, 0 },
	{ "cuCtxSetCurrent", (void **)&cu.SetCurrent, 0 },
	{ "cuCtxGetCurrent", (void **)&cu.GetCurrent, 0 },
	{ "cuModuleLoadDataEx", (void **)&cu.LoadDataEx, 0 },
	{ "cuModuleGetFunction", (void **)&cu.GetFunction, 0 },
	{ "cuFuncSetAttribute", (void **)&cu.SetAttribute, 0 },
	{ "cuLaunchKernel", (void **)&cu.Launch, 0 },
	{ "cuLaunchKernelEx", (void **)&cu.LaunchEx, 1 }, /* since CUDA 11.6 */
	{ "cuMemAlloc_v2", (void **)&cu.Alloc, 0 },
	{ "cuMemFree_v2", (void **)&cu.Free, 0 },
	{ "cuMemcpyHtoD_v2", (void **)&cu.ToDevice, 0 },
	{ "cuMemcpyDtoH_v2", (void **)&cu.ToHost, 0 },
	{ "cuStreamSynchronize", (void **)&cu.Synchronize, 0 },
	{ NULL, NULL, 0 },
};

static struct {
	void *context;
	/* for each kernel; NULL until first used. Kernels with the same code share its module, and
	 * so its variables */
	void **functions, **modules;
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

static int cuda_open(int id)
{
	static const char *const names[] = { "libcuda.so.1", NULL };
	static int state; /* 0 not tried, 1 loaded */
	int device = 0;

	if (id < 0 || id >= MPK_SA_DEVICES_MAX)
		return mpk_sa_fail("no CUDA device %d", id);
	if (!state) {
		if (mpk_sa_load(names, cuda_symbols, "") || cuda_check(cu.Init(0), "cuInit"))
			return -1;
		state = 1;
	}
	if (cuda_devices[id].context)
		return 0;
	cuda_devices[id].functions = calloc(mpk_sa_kernel_count, sizeof(void *));
	cuda_devices[id].modules = calloc(mpk_sa_kernel_count, sizeof(void *));
	if (!cuda_devices[id].functions || !cuda_devices[id].modules)
		return mpk_sa_fail("out of memory");
	return cuda_check(cu.DeviceGet(&device, id), "cuDeviceGet") ||
			       cuda_check(cu.PrimaryRetain(&cuda_devices[id].context, device),
					  "cuDevicePrimaryCtxRetain")
		       ? -1
		       : 0;
}

/* Makes the device's context current; *before receives the previous context, for cuda_leave. */
static int cuda_enter(int id, void **before)
{
	*before = NULL;
	if (cuda_open(id) || cuda_check(cu.GetCurrent(before), "cuCtxGetCurrent"))
		return -1;
	return cuda_check(cu.SetCurrent(cuda_devices[id].context), "cuCtxSetCurrent");
}

static void cuda_leave(void *before)
{
	(void)cu.SetCurrent(before);
}

/* Returns the stream that the calling framework uses; 0 if it sets none. */
static void *cuda_stream(int id)
{
	static void *(*get)(int32_t, int32_t);

	if (!get)
		*(void **)&get = dlsym(RTLD_DEFAULT, "TVMFFIEnvGetStream");
	return get ? get(MPK_DL_CUDA, id) : NULL;
}

/* Returns the module that another kernel with the same code has loaded, or NULL. */
static void *cuda_module_of(int id, const struct mpk_sa_kernel *k)
{
	for (unsigned i = 0; i < mpk_sa_kernel_count; i++)
		if (cuda_devices[id].modules[i] && mpk_sa_kernels[i].data == k->data)
			return cuda_devices[id].modules[i];
	return NULL;
}

static int cuda_load(const struct mpk_sa_kernel *k, void **module)
{
	enum { ERROR_LOG = 5, ERROR_LOG_BYTES = 6 }; /* CUjit_option */
	char log[768] = "";
	int options[] = { ERROR_LOG, ERROR_LOG_BYTES };
	void *values[] = { log, (void *)(uintptr_t)sizeof log };
	char *text = malloc(k->size + 1); /* PTX must end in NUL */
	const char *name = "unknown error";

	if (!text)
		return mpk_sa_fail("out of memory");
	memcpy(text, k->data, k->size);
	text[k->size] = '\0';
	int rc = cu.LoadDataEx(module, text, 2, options, values);
	free(text);
	if (rc) {
		*module = NULL;
		(void)cu.GetErrorName(rc, &name);
		return mpk_sa_fail("kernel %s (%s) does not load: %s %s", k->name, k->format, name,
				   log);
	}
	return 0;
}

static int cuda_function(int id, const struct mpk_sa_launch *l, void **out)
{
	void **function = &cuda_devices[id].functions[l->index];
	void **module = &cuda_devices[id].modules[l->index];

	if (!*module)
		*module = cuda_module_of(id, l->kernel);
	if (!*module && cuda_load(l->kernel, module))
		return -1;
	if (!*function &&
	    cuda_check(cu.GetFunction(function, *module, l->kernel->name), l->kernel->name))
		return -1;
	*out = *function;
	return 0;
}

static void cuda_add(struct cuda_config *c, unsigned id, unsigned x, unsigned y, unsigned z)
{
	c->attributes[c->count++] = (struct cuda_attribute){ .id = id, .value = { x, y, z } };
}

/* Launches with attributes, in the same order as TVM. */
static int cuda_launch_extended(struct mpk_sa_launch *l, void *function, void *stream)
{
	enum { COOPERATIVE = 2, CLUSTER = 4, PROGRAMMATIC = 6, PREFERRED_CLUSTER = 11 };
	enum { NON_PORTABLE_CLUSTER = 14, PORTABLE = 8 };
	const unsigned *c = l->extent + MPK_SA_TAG_CLUSTER;
	const unsigned *p = l->extent + MPK_SA_TAG_PREFERRED_CLUSTER;
	struct cuda_attribute attributes[4];
	struct cuda_config config = { .shared = l->shared,
				      .stream = stream,
				      .attributes = attributes };

	memcpy(config.extent, l->extent, sizeof config.extent);
	if (c[0] > 1 || c[1] > 1 || c[2] > 1)
		cuda_add(&config, CLUSTER, c[0], c[1], c[2]);
	if (p[0] > 1 || p[1] > 1 || p[2] > 1)
		cuda_add(&config, PREFERRED_CLUSTER, p[0], p[1], p[2]);
	if (l->kernel->programmatic)
		cuda_add(&config, PROGRAMMATIC, 1, 0, 0);
	if (l->kernel->cooperative)
		cuda_add(&config, COOPERATIVE, 1, 0, 0);
	if (!cu.LaunchEx)
		return mpk_sa_fail("kernel %s needs launch attributes: the driver is too old",
				   l->kernel->name);
	if (((uint64_t)c[0] * c[1] * c[2] > PORTABLE || (uint64_t)p[0] * p[1] * p[2] > PORTABLE) &&
	    cuda_check(cu.SetAttribute(function, NON_PORTABLE_CLUSTER, 1), "a large cluster"))
		return -1;
	return cuda_check(cu.LaunchEx(&config, function, l->args, NULL), l->kernel->name);
}

static int cuda_start(int id, struct mpk_sa_launch *l)
{
	enum { MAX_DYNAMIC_SHARED = 8, WITHOUT_ASKING = 48 * 1024 };
	const unsigned *e = l->extent;
	int extended = l->kernel->programmatic || l->kernel->cooperative;
	void *function, *stream = cuda_stream(id);

	if (cuda_function(id, l, &function))
		return -1;
	if (l->shared >= WITHOUT_ASKING &&
	    cuda_check(cu.SetAttribute(function, MAX_DYNAMIC_SHARED, (int)l->shared),
		       "dynamic shared memory"))
		return -1;
	for (unsigned i = MPK_SA_TAG_CLUSTER; i < MPK_SA_TAG_SHARED; i++)
		extended |= e[i] > 1;
	if (extended)
		return cuda_launch_extended(l, function, stream);
	return cuda_check(cu.Launch(function, e[0], e[1], e[2], e[3], e[4], e[5], l->shared, stream,
				    l->args, NULL),
			  l->kernel->name);
}

static int cuda_launch(struct mpk_sa_launch *l)
{
	void *before;
	int rc = -1;

	if (!cuda_enter(l->device, &before)) {
		rc = cuda_start(l->device, l);
		cuda_leave(before);
	}
	return rc;
}

static void *cuda_alloc(int id, int64_t bytes, const void *from)
{
	void *before;
	uint64_t p = 0;

	if (cuda_enter(id, &before))
		return NULL;
	if (cuda_check(cu.Alloc(&p, (size_t)bytes), "device memory"))
		p = 0;
	/* The copy uses the default stream, which the kernels' stream need not wait for. */
	if (p && from &&
	    (cuda_check(cu.ToDevice(p, from, (size_t)bytes), "copy to the device") ||
	     cuda_check(cu.Synchronize(NULL), "copy to the device"))) {
		(void)cu.Free(p);
		p = 0;
	}
	cuda_leave(before);
	return (void *)(uintptr_t)p;
}

/* Kernels may use the memory until they have ended, on whatever stream they run. */
static int cuda_release(int id, void *device, void *to, int64_t bytes)
{
	void *before;
	int rc = cuda_enter(id, &before);

	if (rc)
		return rc;
	rc = cuda_check(cu.Synchronize(cuda_stream(id)), "the kernels");
	if (!rc && to)
		rc = cuda_check(cu.ToHost(to, (uintptr_t)device, (size_t)bytes),
				"copy to the host");
	(void)cu.Free((uintptr_t)device);
	cuda_leave(before);
	return rc;
}

const struct mpk_sa_driver mpk_sa_cuda = { cuda_launch, cuda_alloc, cuda_release };
