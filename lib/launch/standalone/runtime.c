/* The part of a standalone library that finds a driver and runs the library's kernels.
 *
 * mpack compiles this file into libraries whose manifest says `standalone = true`, together
 * with the table mpk_sa_kernels of that library. It needs libc and nothing else: the
 * CUDA driver or the OpenCL loader is opened when the first function is called. Functions
 * named mpk_sa_* are what the generated launch functions call; none is exported.
 *
 * MPK_SA_LEGACY: arguments and errors in TVM's older convention (before tvm-ffi).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* One kernel of the library; the table is generated beside the launch functions. */
struct mpk_sa_kernel {
	const char *name;
	const char *format;             /* "ptx", "cubin", "fatbin", "cl" */
	const unsigned char *data;
	uint64_t size;                  /* bytes */
	const unsigned char (*types)[2]; /* DLPack code and bits of each argument */
	unsigned arg_count;
	const unsigned char *tags;      /* 0-2 grid, 3-5 block, 12 dynamic shared bytes */
	unsigned tag_count;
};

extern const struct mpk_sa_kernel mpk_sa_kernels[] HIDDEN;
extern const unsigned mpk_sa_kernel_count HIDDEN;
extern const int mpk_sa_device_type HIDDEN; /* 2 CUDA, 4 OpenCL */

HIDDEN void mpk_sa_raise(const char *kind, const char *text);
HIDDEN int mpk_sa_lookup(void *ctx, const char *name, void **out);
HIDDEN void *mpk_sa_alloc(int32_t type, int32_t id, int64_t bytes, int32_t code, int32_t bits);
HIDDEN int mpk_sa_free(int32_t type, int32_t id, void *p);
HIDDEN void *mpk_sa_stage(int32_t id, void *host, int64_t bytes, int32_t copy);
HIDDEN int mpk_sa_unstage(int32_t id, void *device, void *host, int64_t bytes, int32_t copy);

enum { DEVICES_MAX = 16, ARGS_MAX = 256, CUDA = 2, TAG_BLOCK = 3, TAG_SHARED = 12 };

/* --- errors ------------------------------------------------------------------------------- */

#ifdef MPK_SA_LEGACY
__attribute__((weak, visibility("default"))) void (*__TVMAPISetLastError)(const char *);
extern __attribute__((weak)) void TVMAPISetLastError(const char *text);

void mpk_sa_raise(const char *kind, const char *text)
{
	char whole[1200];

	(void)snprintf(whole, sizeof whole, "%s: %s", kind, text);
	if (__TVMAPISetLastError)
		__TVMAPISetLastError(whole);
	else if (TVMAPISetLastError)
		TVMAPISetLastError(whole);
}
#else
__attribute__((weak, visibility("default"))) void (*__TVMFFIErrorSetRaisedFromCStr)(const char *,
										    const char *);
extern __attribute__((weak)) void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *text);

void mpk_sa_raise(const char *kind, const char *text)
{
	if (__TVMFFIErrorSetRaisedFromCStr)
		__TVMFFIErrorSetRaisedFromCStr(kind, text);
	else if (TVMFFIErrorSetRaisedFromCStr)
		TVMFFIErrorSetRaisedFromCStr(kind, text);
}
#endif

__attribute__((format(printf, 1, 2))) static int fail(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	mpk_sa_raise("RuntimeError", text);
	return -1;
}

/* --- what both drivers share ------------------------------------------------------------- */

/* Guards everything below: loading happens once, and OpenCL kernels keep their arguments. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int current_device;

/* A launch as the driver wants it. */
struct launch {
	const struct mpk_sa_kernel *kernel;
	unsigned index;         /* of the kernel */
	void *args[ARGS_MAX];   /* addresses of the values */
	uint64_t values[ARGS_MAX];
	unsigned extent[6];     /* grid, block */
	unsigned shared;        /* bytes */
};

static uint64_t half_bits(double x);

/* A driver's symbols, all or none. */
struct symbol {
	const char *name;
	void **slot;
};

static int load_symbols(const char *const *names, const struct symbol *symbols)
{
	void *so = NULL;

	for (unsigned i = 0; names[i] && !so; i++)
		so = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!so)
		return fail("cannot open %s: %s", names[0], dlerror());
	for (unsigned i = 0; symbols[i].name; i++) {
		*symbols[i].slot = dlsym(so, symbols[i].name);
		if (!*symbols[i].slot)
			return fail("%s has no %s: the driver is too old", names[0], symbols[i].name);
	}
	return 0;
}

/* --- CUDA driver API ----------------------------------------------------------------------- */

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

static const struct symbol cuda_symbols[] = {
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
} cuda_devices[DEVICES_MAX];

static int cuda_check(int rc, const char *what)
{
	const char *name = "unknown error";

	if (rc == 0)
		return 0;
	if (cu.GetErrorName)
		(void)cu.GetErrorName(rc, &name);
	return fail("%s: %s", what, name);
}

static int cuda_use(int id)
{
	static const char *const names[] = { "libcuda.so.1", NULL };
	static int state; /* 0 not tried, 1 loaded */
	int device = 0;

	if (id < 0 || id >= DEVICES_MAX)
		return fail("no CUDA device %d", id);
	if (!state) {
		if (load_symbols(names, cuda_symbols) || cuda_check(cu.Init(0), "cuInit"))
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
			return fail("out of memory");
	}
	return cuda_check(cu.SetCurrent(cuda_devices[id].context), "cuCtxSetCurrent");
}

/* The stream that the framework around us works on; 0 when it says nothing. */
static void *cuda_stream(int id)
{
	static void *(*get)(int32_t, int32_t);

	if (!get)
		get = (void *(*)(int32_t, int32_t))dlsym(RTLD_DEFAULT, "TVMFFIEnvGetStream");
	return get ? get(CUDA, id) : NULL;
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
		return fail("out of memory");
	memcpy(text, k->data, k->size);
	text[k->size] = '\0';
	int rc = cu.LoadDataEx(&module, text, 2, options, values);
	free(text);
	if (rc) {
		(void)cu.GetErrorName(rc, &name);
		return fail("kernel %s (%s) does not load: %s %s", k->name, k->format, name, log);
	}
	return cuda_check(cu.GetFunction(function, module, k->name), k->name);
}

static int cuda_launch(const struct launch *l)
{
	enum { MAX_DYNAMIC_SHARED = 8, WITHOUT_ASKING = 48 * 1024 };
	int id = current_device;
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
				    cuda_stream(id), (void **)l->args, NULL), l->kernel->name);
}

static void *cuda_alloc(int id, int64_t bytes, const void *from)
{
	uint64_t p = 0;

	if (cuda_use(id) || cuda_check(cu.Alloc(&p, (size_t)bytes), "device memory"))
		return NULL;
	if (from && cuda_check(cu.ToDevice(p, from, (size_t)bytes), "copy to the device")) {
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
			     ? -1 : 0;
	(void)cu.Free((uintptr_t)device);
	return rc;
}

/* --- OpenCL ---------------------------------------------------------------------------------- */

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
	int (*Write)(void *, void *, unsigned, size_t, size_t, const void *, unsigned, void *, void *);
	int (*Read)(void *, void *, unsigned, size_t, size_t, void *, unsigned, void *, void *);
	int (*Release)(void *);
} cl;

static const struct symbol opencl_symbols[] = {
	{ "clGetPlatformIDs", (void **)&cl.Platforms },
	{ "clGetDeviceIDs", (void **)&cl.Devices },
	{ "clCreateContext", (void **)&cl.Context },
	{ "clCreateCommandQueue", (void **)&cl.Queue },
	{ "clCreateProgramWithSource", (void **)&cl.Source },
	{ "clBuildProgram", (void **)&cl.Build },
	{ "clGetProgramBuildInfo", (void **)&cl.BuildInfo },
	{ "clCreateKernel", (void **)&cl.Kernel },
	{ "clSetKernelArg", (void **)&cl.SetArg },
	{ "clEnqueueNDRangeKernel", (void **)&cl.Enqueue },
	{ "clCreateBuffer", (void **)&cl.Buffer },
	{ "clEnqueueWriteBuffer", (void **)&cl.Write },
	{ "clEnqueueReadBuffer", (void **)&cl.Read },
	{ "clReleaseMemObject", (void **)&cl.Release },
	{ NULL, NULL },
};

static struct {
	void *device, *context, *queue;
	void **kernels; /* by kernel index */
} cl_devices[DEVICES_MAX];

static int cl_check(int rc, const char *what)
{
	return rc ? fail("%s: OpenCL error %d", what, rc) : 0;
}

static unsigned cl_collect(uint64_t type, void **devices, unsigned count)
{
	void *platforms[DEVICES_MAX];
	unsigned platform_count = 0, n = 0;

	if (cl.Platforms(DEVICES_MAX, platforms, &platform_count))
		return count;
	for (unsigned p = 0; p < platform_count && p < DEVICES_MAX && count < DEVICES_MAX; p++)
		if (cl.Devices(platforms[p], type, DEVICES_MAX - count, devices + count, &n) == 0)
			count += n < DEVICES_MAX - count ? n : DEVICES_MAX - count;
	return count;
}

/* Devices are numbered GPUs first, then accelerators, then processors. */
static int cl_use(int id)
{
	enum { CPU = 2, GPU = 4, ACCELERATOR = 8 };
	static const char *const names[] = { "libOpenCL.so.1", "libOpenCL.so", NULL };
	static void *devices[DEVICES_MAX];
	static unsigned count;
	static int state;
	int rc = 0;

	if (!state) {
		if (load_symbols(names, opencl_symbols))
			return -1;
		count = cl_collect(GPU, devices, 0);
		count = cl_collect(ACCELERATOR, devices, count);
		count = cl_collect(CPU, devices, count);
		state = 1;
	}
	if (id < 0 || (unsigned)id >= count)
		return fail("no OpenCL device %d: %u found", id, count);
	if (cl_devices[id].queue)
		return 0;
	cl_devices[id].device = devices[id];
	cl_devices[id].context = cl.Context(NULL, 1, &devices[id], NULL, NULL, &rc);
	if (cl_check(rc, "clCreateContext"))
		return -1;
	cl_devices[id].kernels = calloc(mpk_sa_kernel_count, sizeof(void *));
	if (!cl_devices[id].kernels)
		return fail("out of memory");
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
		return fail("kernel %s does not build: %s", k->name, log);
	}
	*kernel = cl.Kernel(program, k->name, &rc);
	return cl_check(rc, k->name);
}

static int cl_launch(const struct launch *l)
{
	int id = current_device;
	const struct mpk_sa_kernel *k = l->kernel;
	size_t local[3], global[3];

	if (cl_use(id))
		return -1;
	void **kernel = &cl_devices[id].kernels[l->index];
	if (!*kernel && cl_load(id, k, kernel))
		return -1;
	for (unsigned i = 0; i < k->arg_count; i++) {
		size_t size = k->types[i][0] == 3 ? sizeof(void *) : (k->types[i][1] + 7u) / 8;

		if (cl_check(cl.SetArg(*kernel, i, size, l->args[i]), "clSetKernelArg"))
			return -1;
	}
	for (unsigned d = 0; d < 3; d++) {
		local[d] = l->extent[TAG_BLOCK + d];
		global[d] = local[d] * l->extent[d];
	}
	return cl_check(cl.Enqueue(cl_devices[id].queue, *kernel, 3, NULL, global, local, 0, NULL,
				   NULL), k->name);
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
	if (from && cl_check(cl.Write(cl_devices[id].queue, p, 1, 0, (size_t)bytes, from, 0, NULL,
				      NULL), "copy to the device")) {
		(void)cl.Release(p);
		return NULL;
	}
	return p;
}

static int cl_release(int id, void *device, void *to, int64_t bytes)
{
	int rc = cl_use(id);

	if (!rc && to) /* the queue is in order: the read waits for the kernels */
		rc = cl_check(cl.Read(cl_devices[id].queue, device, 1, 0, (size_t)bytes, to, 0, NULL,
				      NULL), "copy to the host");
	(void)cl.Release(device);
	return rc;
}

/* --- what the launch functions call --------------------------------------------------------- */

static char set_device_handle;

int mpk_sa_lookup(void *ctx, const char *name, void **out)
{
	(void)ctx;
	if (strcmp(name, "__tvm_set_device") == 0) {
		*out = &set_device_handle;
		return 0;
	}
	for (unsigned i = 0; i < mpk_sa_kernel_count; i++) {
		if (strcmp(mpk_sa_kernels[i].name, name) == 0) {
			*out = (void *)(uintptr_t)&mpk_sa_kernels[i];
			return 0;
		}
	}
	return fail("the library has no kernel %s", name);
}

/* binary16 by rounding to nearest even; the value came as a double. */
static uint64_t half_bits(double x)
{
	uint64_t bits, sign;
	int exponent;

	memcpy(&bits, &x, sizeof bits);
	sign = bits >> 48 & 0x8000;
	exponent = (int)(bits >> 52 & 0x7ff) - 1023;
	uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
	if (exponent == 1024)
		return sign | 0x7c00 | (fraction ? 0x200 : 0);
	if (exponent < -25)
		return sign;
	if (exponent > 15)
		return sign | 0x7c00;
	int shift = exponent >= -14 ? 42 : 42 + (-14 - exponent);
	uint64_t whole = fraction | UINT64_C(1) << 52;
	uint64_t kept = whole >> shift, rest = whole & ((UINT64_C(1) << shift) - 1);
	uint64_t tie = UINT64_C(1) << (shift - 1);
	kept += rest > tie || (rest == tie && (kept & 1));
	/* kept has its hidden bit at 10: adding the biased exponent minus one carries it in */
	return sign | (exponent >= -14 ? ((uint64_t)(exponent + 14) << 10) + kept : kept);
}

/* The bits of one kernel argument in the width that the kernel declares. */
static uint64_t narrowed(const unsigned char type[2], uint64_t cell)
{
	enum { FLOAT = 2, BFLOAT = 4 };
	double real;
	float single;
	uint32_t word;

	if (type[0] != FLOAT && type[0] != BFLOAT)
		return cell; /* little-endian: the low bytes are the narrower integer */
	memcpy(&real, &cell, sizeof real);
	if (type[0] == FLOAT && type[1] == 64)
		return cell;
	if (type[0] == FLOAT && type[1] == 16)
		return half_bits(real);
	single = (float)real;
	memcpy(&word, &single, sizeof word);
	if (type[0] == BFLOAT)
		word = (word + 0x7fff + (word >> 16 & 1)) >> 16;
	return word;
}

static int launch(const struct mpk_sa_kernel *k, const uint64_t *cells, int n)
{
	struct launch l = { .kernel = k, .index = (unsigned)(k - mpk_sa_kernels),
			    .extent = { 1, 1, 1, 1, 1, 1 } };
	int rc;

	if ((unsigned)n != k->arg_count + k->tag_count || k->arg_count > ARGS_MAX)
		return fail("kernel %s: %u arguments expected, %d given", k->name,
			    k->arg_count + k->tag_count, n);
	for (unsigned i = 0; i < k->arg_count; i++) {
		l.values[i] = narrowed(k->types[i], cells[i]);
		l.args[i] = &l.values[i];
	}
	for (unsigned i = 0; i < k->tag_count; i++) {
		unsigned value = (unsigned)cells[k->arg_count + i];

		if (k->tags[i] < 6)
			l.extent[k->tags[i]] = value ? value : 1;
		else if (k->tags[i] == TAG_SHARED)
			l.shared = value;
	}
	pthread_mutex_lock(&lock);
	rc = mpk_sa_device_type == CUDA ? cuda_launch(&l) : cl_launch(&l);
	pthread_mutex_unlock(&lock);
	return rc;
}

static int call(void *f, const uint64_t *cells, int n)
{
	if (f == &set_device_handle) {
		current_device = n == 2 ? (int)cells[1] : 0;
		return 0;
	}
	return launch(f, cells, n);
}

#ifdef MPK_SA_LEGACY
HIDDEN int mpk_sa_call(void *f, const uint64_t *args, const int *codes, int32_t n, void *ret,
		       int *ret_code);

int mpk_sa_call(void *f, const uint64_t *args, const int *codes, int32_t n, void *ret, int *ret_code)
{
	enum { NOTHING = 4 };

	(void)codes;
	(void)ret;
	*ret_code = NOTHING;
	return call(f, args, n);
}
#else
struct any {
	int32_t type;
	uint32_t padding;
	uint64_t value;
};

HIDDEN int mpk_sa_call(void *f, const struct any *args, int32_t n, struct any *result);

int mpk_sa_call(void *f, const struct any *args, int32_t n, struct any *result)
{
	uint64_t cells[ARGS_MAX + 16];

	if (n < 0 || n > ARGS_MAX + 16)
		return fail("too many arguments");
	for (int32_t i = 0; i < n; i++)
		cells[i] = args[i].value;
	result->type = 0;
	return call(f, cells, n);
}
#endif

void *mpk_sa_stage(int32_t id, void *host, int64_t bytes, int32_t copy)
{
	void *p;

	pthread_mutex_lock(&lock);
	p = mpk_sa_device_type == CUDA ? cuda_alloc(id, bytes, copy ? host : NULL)
				       : cl_alloc(id, bytes, copy ? host : NULL);
	pthread_mutex_unlock(&lock);
	return p;
}

int mpk_sa_unstage(int32_t id, void *device, void *host, int64_t bytes, int32_t copy)
{
	int rc;

	pthread_mutex_lock(&lock);
	rc = mpk_sa_device_type == CUDA ? cuda_release(id, device, copy ? host : NULL, bytes)
					: cl_release(id, device, copy ? host : NULL, bytes);
	pthread_mutex_unlock(&lock);
	return rc;
}

void *mpk_sa_alloc(int32_t type, int32_t id, int64_t bytes, int32_t code, int32_t bits)
{
	(void)type;
	(void)code;
	(void)bits;
	return mpk_sa_stage(id, NULL, bytes, 0);
}

int mpk_sa_free(int32_t type, int32_t id, void *p)
{
	(void)type;
	return mpk_sa_unstage(id, p, NULL, 0, 0);
}
