/* SPDX-License-Identifier: Apache-2.0 */
/* fake_libcuda.c - a driver library for machines without a GPU (fake_cuda.h), of CUDA or, with FAKE_HIP, of HIP */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_cuda_state.h"

#ifdef FAKE_HIP
#define NAME "fake libamdhip64"
#define VARIABLE "FAKE_HIP_"
struct fake_state fake = { .devices = 1, .driver = 60240092, .arch = "gfx90a:sramecc+:xnack+" };
#else
#define NAME "fake libcuda"
#define VARIABLE "FAKE_CUDA_"
struct fake_state fake = { .devices = 1, .sm = 90, .driver = 12040 };
#endif

static _Thread_local struct mpk_cu_context *current;

unsigned fake_misuse(unsigned status, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (fake.misuses++ == 0)
		memcpy(fake.first_misuse, text, sizeof text);
	(void)fprintf(stderr, NAME ": misuse: %s\n", text);
	return status;
}

struct mpk_cu_context *fake_current(void)
{
	return current;
}

/* HIP's name for a function that the code here knows by CUDA's. */
static const char *exported(const char *symbol)
{
#ifdef FAKE_HIP
	static const char *const rows[][2] = {
#define ROW(name, hip) { #name, #hip },
		MPK_HIP_SHARED_SYMBOLS(ROW)
#undef ROW
	};
	size_t len = strcspn(symbol, "_");

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strlen(rows[i][0]) == len && memcmp(rows[i][0], symbol, len) == 0)
			return rows[i][1];
#endif
	return symbol;
}

static unsigned *count_of(const char *symbol)
{
	for (size_t i = 0; i < SYMBOL_MAX; i++) {
		if (!fake.counts[i].symbol[0])
			(void)snprintf(fake.counts[i].symbol, 64, "%s", symbol);
		if (strcmp(fake.counts[i].symbol, symbol) == 0)
			return &fake.counts[i].calls;
	}
	abort();
}

static unsigned injected(const char *symbol)
{
	for (size_t i = 0; i < FAIL_MAX; i++)
		if (fake.fails[i].left && strcmp(fake.fails[i].symbol, symbol) == 0 &&
		    --fake.fails[i].left == 0)
			return fake.fails[i].status;
	return 0;
}

static void add_fail(const char *symbol, unsigned nth, unsigned status)
{
	for (size_t i = 0; i < FAIL_MAX; i++)
		if (!fake.fails[i].left) {
			(void)snprintf(fake.fails[i].symbol, 64, "%s", symbol);
			fake.fails[i].left = nth;
			fake.fails[i].status = status;
			return;
		}
	abort();
}

unsigned fake_enter(const char *symbol, bool needs_context, const char *fmt, ...)
{
	va_list ap;

	symbol = exported(symbol);
	++*count_of(symbol);
	if (fake.log) {
		(void)fprintf(fake.log, "%s ", symbol);
		va_start(ap, fmt);
		(void)vfprintf(fake.log, fmt, ap);
		va_end(ap);
		(void)fputc('\n', fake.log);
		(void)fflush(fake.log);
	}
	unsigned status = injected(symbol);

	if (status)
		return status;
	if (!fake.started)
		return fake_misuse(NOT_INITIALIZED, "%s before the driver was started", symbol);
	if (fake.sticky)
		return fake.sticky;
	if (needs_context && (!current || !current->retained))
		return fake_misuse(INVALID_CONTEXT, "%s without a current context", symbol);
	return 0;
}

static int from_environment(const char *name, int otherwise)
{
	const char *text = getenv(name);

	return text ? atoi(text) : otherwise;
}

static void read_environment(void)
{
	const char *log = getenv(VARIABLE "LOG"), *fail = getenv(VARIABLE "FAIL"),
		   *arch = getenv(VARIABLE "ARCH");
	char symbol[64];
	unsigned nth, status;

	fake.devices = from_environment(VARIABLE "DEVICES", fake.devices);
	fake.sm = from_environment(VARIABLE "SM", fake.sm);
	fake.driver = from_environment(VARIABLE "DRIVER", fake.driver);
	if (arch)
		(void)snprintf(fake.arch, sizeof fake.arch, "%s", arch);
	if (log)
		fake.log = fopen(log, "a");
	if (fail && sscanf(fail, "%63[^:]:%u:%u", symbol, &nth, &status) == 3)
		add_fail(symbol, nth, status);
}

unsigned cuInit(unsigned flags)
{
	if (!fake.started)
		read_environment();
	fake.started = true;
	ENTER("cuInit", false, "flags=%u", flags);
	return fake.devices ? 0 : MPK_CU_NO_DEVICE;
}

unsigned cuDriverGetVersion(int *version)
{
	++*count_of(exported("cuDriverGetVersion")); /* the one call that may come before cuInit */
	*version = fake.driver;
	return 0;
}

#ifndef FAKE_HIP
/* NVRTC asks the driver beside it for private tables, and fails when this is missing. */
EXPORT unsigned cuGetExportTable(const void **table, const void *id);
unsigned cuGetExportTable(const void **table, const void *id)
{
	(void)table;
	(void)id;
	return MPK_CU_NOT_FOUND;
}

unsigned cuGetErrorName(unsigned status, const char **name)
{
	static const struct {
		unsigned status;
		const char *name;
	} names[] = {
		{ 1, "CUDA_ERROR_INVALID_VALUE" },
		{ 2, "CUDA_ERROR_OUT_OF_MEMORY" },
		{ 100, "CUDA_ERROR_NO_DEVICE" },
		{ 200, "CUDA_ERROR_INVALID_IMAGE" },
		{ 201, "CUDA_ERROR_INVALID_CONTEXT" },
		{ 209, "CUDA_ERROR_NO_BINARY_FOR_GPU" },
		{ 218, "CUDA_ERROR_INVALID_PTX" },
		{ 400, "CUDA_ERROR_INVALID_HANDLE" },
		{ 222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION" },
		{ 500, "CUDA_ERROR_NOT_FOUND" },
		{ 700, "CUDA_ERROR_ILLEGAL_ADDRESS" },
		{ 701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" },
		{ 719, "CUDA_ERROR_LAUNCH_FAILED" },
		{ 803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" },
		{ 912, "CUDA_ERROR_INVALID_CLUSTER_SIZE" },
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].status == status) {
			*name = names[i].name;
			return 0;
		}
	*name = NULL;
	return MPK_CU_INVALID_VALUE;
}
#endif

unsigned cuDeviceGetCount(int *count)
{
	ENTER("cuDeviceGetCount", false, "%s", "");
	*count = fake.devices;
	return 0;
}

static bool is_device(int device)
{
	return device >= 0 && device < fake.devices && device < DEVICE_MAX;
}

unsigned cuDeviceGet(int *device, int ordinal)
{
	ENTER("cuDeviceGet", false, "ordinal=%d", ordinal);
	if (!is_device(ordinal))
		return INVALID_DEVICE;
	*device = ordinal;
	return 0;
}

unsigned cuDeviceGetName(char *name, int size, int device)
{
	ENTER("cuDeviceGetName", false, "device=%d", device);
	if (!is_device(device) || size <= 0)
		return fake_misuse(INVALID_DEVICE, "cuDeviceGetName of device %d", device);
	(void)snprintf(name, (size_t)size, "Imaginary GPU %d", device);
	return 0;
}

unsigned cuDeviceTotalMem(size_t *bytes, int device)
{
	ENTER("cuDeviceTotalMem_v2", false, "device=%d", device);
	if (!is_device(device))
		return fake_misuse(INVALID_DEVICE, "cuDeviceTotalMem of device %d", device);
	*bytes = (size_t)16 << 30;
	return 0;
}

unsigned cuDeviceGetAttribute(int *value, unsigned attribute, int device)
{
	static const int limits[] = { 0,          1024,  1024,  1024,          64,
				      2147483647, 65535, 65535, SHARED_DEFAULT };

	ENTER("cuDeviceGetAttribute", false, "attribute=%u device=%d", attribute, device);
#ifdef FAKE_HIP
	attribute = fake_hip_attribute(attribute);
#endif
	if (!is_device(device))
		return fake_misuse(INVALID_DEVICE, "cuDeviceGetAttribute of device %d", device);
	if (attribute >= 1 && attribute <= MPK_CU_MAX_SHARED_PER_BLOCK)
		*value = limits[attribute];
	else if (attribute == MPK_CU_MULTIPROCESSORS)
		*value = 132;
	else if (attribute == MPK_CU_CAPABILITY_MAJOR)
		*value = fake.sm / 10;
	else if (attribute == MPK_CU_CAPABILITY_MINOR)
		*value = fake.sm % 10;
	else if (attribute == MPK_CU_MAX_SHARED_OPTIN)
		*value = SHARED_OPTIN;
	else
		return fake_misuse(MPK_CU_INVALID_VALUE, "unknown device attribute %u", attribute);
	return 0;
}

#ifndef FAKE_HIP
unsigned cuDevicePrimaryCtxRetain(struct mpk_cu_context **context, int device)
{
	ENTER("cuDevicePrimaryCtxRetain", false, "device=%d", device);
	if (!is_device(device))
		return fake_misuse(INVALID_DEVICE, "retain of device %d", device);
	fake.contexts[device].retained++;
	*context = &fake.contexts[device];
	return 0;
}
#endif

static size_t probe_live(void);

#ifndef FAKE_HIP
/* The end of a context is the end of all in it, and of the fault that stopped it. */
static void end_context(void)
{
	fake.sticky = 0;
	for (size_t i = 0; i < LIVE_MAX; i++) {
		free(fake.regions[i].host);
		fake.regions[i] = (struct region){ 0 };
	}
	for (size_t i = 0; i < fake.module_count; i++) {
		free(fake.modules[i]->image);
		fake.modules[i]->image = NULL;
		fake.modules[i]->live = false;
	}
}

unsigned cuDevicePrimaryCtxRelease(int device)
{
	unsigned faulted = fake.sticky;

	fake.sticky = 0;
	ENTER("cuDevicePrimaryCtxRelease_v2", false, "device=%d", device);
	if (!is_device(device) || !fake.contexts[device].retained)
		return fake_misuse(INVALID_CONTEXT, "release of device %d, not retained", device);
	fake.contexts[device].retained--;
	size_t live = probe_live();

	if (faulted)
		end_context();
	else if (live && fake.devices == 1 && !fake.contexts[device].retained)
		return fake_misuse(0, "release of a context with %zu things in it", live);
	return 0;
}

unsigned cuCtxSetCurrent(struct mpk_cu_context *context)
{
	ENTER("cuCtxSetCurrent", false, "device=%d", context ? (int)(context - fake.contexts) : -1);
	if (context && !context->retained)
		return fake_misuse(INVALID_CONTEXT, "cuCtxSetCurrent of a released context");
	current = context;
	return 0;
}

/* Called by the loader of standalone libraries alone. */
EXPORT unsigned cuCtxGetCurrent(struct mpk_cu_context **context);
unsigned cuCtxGetCurrent(struct mpk_cu_context **context)
{
	ENTER("cuCtxGetCurrent", false, "device=%d", current ? (int)(current - fake.contexts) : -1);
	*context = current;
	return 0;
}
#else
/* A device is entered by its number; nothing of it is given back. */
unsigned hipSetDevice(int device)
{
	ENTER("hipSetDevice", false, "device=%d", device);
	if (!is_device(device))
		return INVALID_DEVICE;
	current = &fake.contexts[device];
	current->retained = 1;
	return 0;
}
#endif

void fake_queue(struct mpk_cu_stream *stream, const char *what)
{
	if (fake.queued_any && fake.queued != stream)
		(void)fake_misuse(0, "%s while another stream may still be at work", what);
	fake.queued_any = true;
	fake.queued = stream;
	fake.last_stream = stream;
}

unsigned cuStreamSynchronize(struct mpk_cu_stream *stream)
{
	ENTER("cuStreamSynchronize", true, "stream=%p", (void *)stream);
	if (fake.queued == stream)
		fake.queued_any = false;
	return 0;
}

unsigned cuMemAlloc(unsigned long long *address, size_t bytes)
{
	ENTER("cuMemAlloc_v2", true, "bytes=%zu", bytes);
	if (bytes == 0)
		return fake_misuse(MPK_CU_INVALID_VALUE, "cuMemAlloc of 0 bytes");
	for (size_t i = 0; i < LIVE_MAX; i++) {
		struct region *r = &fake.regions[i];

		if (r->host)
			continue;
		r->host = bytes < (size_t)4 << 30 ? malloc(bytes) : NULL;
		if (!r->host)
			return MPK_CU_OUT_OF_MEMORY;
		/* As a GPU: what memory holds before it is written is nobody's zeros. */
		memset(r->host, 0xa5, bytes);
		r->bytes = bytes;
		*address = (unsigned long long)(uintptr_t)r->host | DEVICE_BIT;
		return 0;
	}
	return MPK_CU_OUT_OF_MEMORY;
}

void *fake_host(unsigned long long address, size_t bytes)
{
	uintptr_t host = (uintptr_t)(address & ~DEVICE_BIT);

	if (!(address & DEVICE_BIT))
		return NULL;
	for (size_t i = 0; i < LIVE_MAX; i++) {
		uintptr_t start = (uintptr_t)fake.regions[i].host;

		if (start && host >= start && host - start <= fake.regions[i].bytes &&
		    bytes <= fake.regions[i].bytes - (host - start))
			return (void *)host;
	}
	return NULL;
}

unsigned cuMemFree(unsigned long long address)
{
	ENTER("cuMemFree_v2", true, "address=%d", address != 0);
	for (size_t i = 0; i < LIVE_MAX; i++) {
		struct region *r = &fake.regions[i];

		if (r->host && ((uintptr_t)r->host | DEVICE_BIT) == address) {
			free(r->host);
			*r = (struct region){ 0 };
			return 0;
		}
	}
	return fake_misuse(MPK_CU_INVALID_VALUE, "cuMemFree of what is not allocated");
}

unsigned cuMemcpyHtoD(unsigned long long to, const void *from, size_t bytes)
{
	void *host = fake_host(to, bytes);

	ENTER("cuMemcpyHtoD_v2", true, "bytes=%zu", bytes);
	if (!host)
		return fake_misuse(MPK_CU_INVALID_VALUE, "copy of %zu bytes to what is not memory",
				   bytes);
	/* pageable memory: it returns when the bytes are read */
	fake_queue(NULL, "cuMemcpyHtoD");
	memcpy(host, from, bytes);
	return 0;
}

unsigned cuMemcpyDtoH(void *to, unsigned long long from, size_t bytes)
{
	const void *host = fake_host(from, bytes);

	ENTER("cuMemcpyDtoH_v2", true, "bytes=%zu", bytes);
	if (!host)
		return fake_misuse(MPK_CU_INVALID_VALUE,
				   "copy of %zu bytes from what is not memory", bytes);
	fake_queue(NULL, "cuMemcpyDtoH");
	fake.queued_any = false; /* it returns when the bytes are here */
	memcpy(to, host, bytes);
	return 0;
}

unsigned cuMemcpyDtoDAsync(unsigned long long to, unsigned long long from, size_t bytes,
			   struct mpk_cu_stream *stream)
{
	void *target = fake_host(to, bytes);
	const void *source = fake_host(from, bytes);

	ENTER("cuMemcpyDtoDAsync_v2", true, "bytes=%zu stream=%p", bytes, (void *)stream);
	if (!target || !source)
		return fake_misuse(MPK_CU_INVALID_VALUE, "copy of %zu bytes within the device",
				   bytes);
	fake_queue(stream, "cuMemcpyDtoDAsync");
	memcpy(target, source, bytes);
	return 0;
}

/* --- what tests ask --- */

static unsigned probe_calls(const char *symbol)
{
	return *count_of(symbol);
}

static unsigned probe_misuses(const char **first)
{
	if (first)
		*first = fake.first_misuse;
	return fake.misuses;
}

static size_t probe_live(void)
{
	size_t live = 0;

	for (size_t i = 0; i < LIVE_MAX; i++)
		live += fake.regions[i].host != NULL;
	for (size_t i = 0; i < fake.module_count; i++)
		live += fake.modules[i]->live;
#ifndef FAKE_HIP
	for (size_t i = 0; i < DEVICE_MAX; i++)
		live += fake.contexts[i].retained;
#endif
	return live;
}

static void probe_set_arch(const char *arch)
{
	(void)snprintf(fake.arch, sizeof fake.arch, "%s", arch);
}

static void probe_set_machine(int devices, int sm, int driver)
{
	fake.devices = devices;
	fake.sm = sm;
	fake.driver = driver;
}

static void *probe_last_stream(void)
{
	return fake.last_stream;
}

static const struct fake_launch *probe_last_launch(void)
{
	return &fake.last;
}

EXPORT const struct fake_cuda_probe fake_cuda_probe = {
	probe_calls,       add_fail,          probe_misuses,     probe_live,
	probe_set_machine, probe_last_launch, probe_last_stream, probe_set_arch,
};

/* A test that fails leaves things behind for a reason of its own; so does one that faulted. */
__attribute__((destructor)) static void report(void)
{
	size_t live = fake.sticky ? 0 : probe_live();

	if (live)
		(void)fprintf(stderr, NAME ": %zu things were never given back\n", live);
	if (live || fake.misuses)
		_exit(LEAK_STATUS);
}
