/* SPDX-License-Identifier: Apache-2.0 */
/* opencl.c - kernels through OpenCL; each device has one in-order queue */
#include <stdlib.h>

#include "launch/standalone/loader.h"

static struct {
	int (*Platforms)(unsigned, void **, unsigned *);
	int (*Devices)(void *, uint64_t, unsigned, void **, unsigned *);
	void *(*Context)(const intptr_t *, unsigned, void *const *, void *, void *, int *);
	void *(*Queue)(void *, void *, uint64_t, int *);
	void *(*Source)(void *, unsigned, const char **, const size_t *, int *);
	int (*Build)(void *, unsigned, void *const *, const char *, void *, void *);
	int (*BuildInfo)(void *, void *, unsigned, size_t, void *, size_t *);
	void *(*Kernel)(void *, const char *, int *);
	int (*SetArg)(void *, unsigned, size_t, const void *);
	int (*Enqueue)(void *, void *, unsigned, const size_t *, const size_t *, const size_t *,
		       unsigned, void *, void *);
	void *(*Buffer)(void *, uint64_t, size_t, void *, int *);
	int (*Write)(void *, void *, unsigned, size_t, size_t, const void *, unsigned, void *,
		     void *);
	int (*Read)(void *, void *, unsigned, size_t, size_t, void *, unsigned, void *, void *);
	int (*Release)(void *);
} cl;

static const struct mpk_sa_symbol opencl_symbols[] = {
	{ "clGetPlatformIDs", (void **)&cl.Platforms, 0 },
	{ "clGetDeviceIDs", (void **)&cl.Devices, 0 },
	{ "clCreateContext", (void **)&cl.Context, 0 },
	{ "clCreateCommandQueue", (void **)&cl.Queue, 0 },
	{ "clCreateProgramWithSource", (void **)&cl.Source, 0 },
	{ "clBuildProgram", (void **)&cl.Build, 0 },
	{ "clGetProgramBuildInfo", (void **)&cl.BuildInfo, 0 },
	{ "clCreateKernel", (void **)&cl.Kernel, 0 },
	{ "clSetKernelArg", (void **)&cl.SetArg, 0 },
	{ "clEnqueueNDRangeKernel", (void **)&cl.Enqueue, 0 },
	{ "clCreateBuffer", (void **)&cl.Buffer, 0 },
	{ "clEnqueueWriteBuffer", (void **)&cl.Write, 0 },
	{ "clEnqueueReadBuffer", (void **)&cl.Read, 0 },
	{ "clReleaseMemObject", (void **)&cl.Release, 0 },
	{ NULL, NULL, 0 },
};

static struct {
	void *device, *context, *queue;
	void **kernels; /* for each kernel */
} cl_devices[MPK_SA_DEVICES_MAX];

static int cl_check(int rc, const char *what)
{
	return rc ? mpk_sa_fail("%s: OpenCL error %d", what, rc) : 0;
}

static unsigned cl_collect(uint64_t type, void **devices, unsigned count)
{
	void *platforms[MPK_SA_DEVICES_MAX];
	unsigned platform_count = 0, n = 0;

	if (cl.Platforms(MPK_SA_DEVICES_MAX, platforms, &platform_count))
		return count;
	for (unsigned p = 0;
	     p < platform_count && p < MPK_SA_DEVICES_MAX && count < MPK_SA_DEVICES_MAX; p++)
		if (cl.Devices(platforms[p], type, MPK_SA_DEVICES_MAX - count, devices + count,
			       &n) == 0)
			count += n < MPK_SA_DEVICES_MAX - count ? n : MPK_SA_DEVICES_MAX - count;
	return count;
}

/* Devices are numbered: GPUs first, then accelerators, then processors. */
static int cl_use(int id)
{
	enum { CPU = 2, GPU = 4, ACCELERATOR = 8 };
	static const char *const names[] = { "libOpenCL.so.1", "libOpenCL.so", NULL };
	static void *devices[MPK_SA_DEVICES_MAX];
	static unsigned count;
	static int state;
	int rc = 0;

	if (!state) {
		if (mpk_sa_load(names, opencl_symbols,
				"; install OpenCL's loader (Debian: ocl-icd-libopencl1)"))
			return -1;
		count = cl_collect(GPU, devices, 0);
		count = cl_collect(ACCELERATOR, devices, count);
		count = cl_collect(CPU, devices, count);
		state = 1;
	}
	if (id < 0 || (unsigned)id >= count)
		return mpk_sa_fail("no OpenCL device %d: %u found", id, count);
	if (cl_devices[id].queue)
		return 0;
	cl_devices[id].device = devices[id];
	cl_devices[id].context = cl.Context(NULL, 1, &devices[id], NULL, NULL, &rc);
	if (cl_check(rc, "clCreateContext"))
		return -1;
	cl_devices[id].kernels = calloc(mpk_sa_kernel_count, sizeof(void *));
	if (!cl_devices[id].kernels)
		return mpk_sa_fail("out of memory");
	cl_devices[id].queue = cl.Queue(cl_devices[id].context, devices[id], 0, &rc);
	return cl_check(rc, "clCreateCommandQueue");
}

static int cl_load(int id, const struct mpk_sa_kernel *k, void **kernel)
{
	enum { BUILD_LOG = 0x1183 };
	const char *text = (const char *)k->data;
	size_t size = k->size;
	char log[768] = "";
	int rc = 0;
	void *program = cl.Source(cl_devices[id].context, 1, &text, &size, &rc);

	if (cl_check(rc, "clCreateProgramWithSource"))
		return -1;
	if (cl.Build(program, 1, &cl_devices[id].device, NULL, NULL, NULL)) {
		(void)cl.BuildInfo(program, cl_devices[id].device, BUILD_LOG, sizeof log - 1, log,
				   NULL);
		return mpk_sa_fail("kernel %s does not build: %s", k->name, log);
	}
	*kernel = cl.Kernel(program, k->name, &rc);
	return cl_check(rc, k->name);
}

static int cl_launch(struct mpk_sa_launch *l)
{
	int id = l->device;
	const struct mpk_sa_kernel *k = l->kernel;
	size_t local[3], global[3];

	if (cl_use(id))
		return -1;
	void **kernel = &cl_devices[id].kernels[l->index];
	if (!*kernel && cl_load(id, k, kernel))
		return -1;
	for (unsigned i = 0; i < k->arg_count; i++) {
		size_t size = k->types[i][0] == MPK_DTYPE_HANDLE ? sizeof(void *)
								 : (k->types[i][1] + 7u) / 8;

		if (cl_check(cl.SetArg(*kernel, i, size, l->args[i]), "clSetKernelArg"))
			return -1;
	}
	for (unsigned d = 0; d < 3; d++) {
		local[d] = l->extent[MPK_SA_TAG_BLOCK + d];
		global[d] = local[d] * l->extent[d];
	}
	return cl_check(
		cl.Enqueue(cl_devices[id].queue, *kernel, 3, NULL, global, local, 0, NULL, NULL),
		k->name);
}

static void *cl_alloc(int id, int64_t bytes, const void *from)
{
	enum { READ_WRITE = 1 };
	int rc = 0;

	if (cl_use(id))
		return NULL;
	void *p = cl.Buffer(cl_devices[id].context, READ_WRITE, (size_t)bytes, NULL, &rc);
	if (cl_check(rc, "device memory"))
		return NULL;
	if (from &&
	    cl_check(cl.Write(cl_devices[id].queue, p, 1, 0, (size_t)bytes, from, 0, NULL, NULL),
		     "copy to the device")) {
		(void)cl.Release(p);
		return NULL;
	}
	return p;
}

static int cl_release(int id, void *device, void *to, int64_t bytes)
{
	int rc = cl_use(id);

	if (!rc && to) /* the queue is in order: the read waits for the kernels */
		rc = cl_check(cl.Read(cl_devices[id].queue, device, 1, 0, (size_t)bytes, to, 0,
				      NULL, NULL),
			      "copy to the host");
	(void)cl.Release(device);
	return rc;
}

const struct mpk_sa_driver mpk_sa_opencl = { cl_launch, cl_alloc, cl_release };
