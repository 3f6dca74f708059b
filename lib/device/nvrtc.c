/* SPDX-License-Identifier: Apache-2.0 */
/* nvrtc.c - CUDA C++ source to machine code; which release of NVRTC is here is found out at run time */
#include "device/nvrtc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/backend.h"
#include "device/driver.h"

struct _nvrtcProgram;

/* X(function, parameters) - what is called of NVRTC 11.1 and later; each returns a status */
#define NVRTC_SYMBOLS(X)                                                                           \
	X(nvrtcCreateProgram,                                                                      \
	  (struct _nvrtcProgram * *program, const char *source, const char *name, int headers,     \
	   const char *const *texts, const char *const *names))                                    \
	X(nvrtcCompileProgram,                                                                     \
	  (struct _nvrtcProgram * program, int count, const char *const *options))                 \
	X(nvrtcGetCUBINSize, (struct _nvrtcProgram * program, size_t *bytes))                      \
	X(nvrtcGetCUBIN, (struct _nvrtcProgram * program, char *cubin))                            \
	X(nvrtcGetProgramLogSize, (struct _nvrtcProgram * program, size_t *bytes))                 \
	X(nvrtcGetProgramLog, (struct _nvrtcProgram * program, char *log))                         \
	X(nvrtcDestroyProgram, (struct _nvrtcProgram * *program))

struct nvrtc_api {
#define MEMBER(name, params) int(*name) params;
	NVRTC_SYMBOLS(MEMBER)
#undef MEMBER
	const char *(*nvrtcGetErrorString)(int status);
};

static struct nvrtc_api api;

static const struct mpk_driver_symbol symbols[] = {
#define SYMBOL(name, params) { #name, offsetof(struct nvrtc_api, name), true },
	NVRTC_SYMBOLS(SYMBOL)
#undef SYMBOL
		{ "nvrtcGetErrorString", offsetof(struct nvrtc_api, nvrtcGetErrorString), true },
	{ 0 },
};

static const char *const names[] = {
	"libnvrtc.so.13",
	"libnvrtc.so.12",
	"libnvrtc.so.11.2",
	"libnvrtc.so.11.1",
	"/usr/local/cuda/lib64/libnvrtc.so",
	NULL,
};
static struct mpk_driver driver = {
	.names = names,
	.symbols = symbols,
	.table = &api,
	.without = "the kernels are CUDA source, which needs NVIDIA's run-time compiler: ",
	.lock = PTHREAD_MUTEX_INITIALIZER
};

/* "-I<dir>/../include" and its cccl: the toolkit's headers lie beside its library. */
struct includes {
	char plain[4200], cccl[4200];
};

static bool find_includes(struct includes *out)
{
	Dl_info info;
	void *address;
	char *real, *slash;

	memcpy(&address, &api.nvrtcCompileProgram, sizeof address);
	if (!dladdr(address, &info) || !(real = realpath(info.dli_fname, NULL)))
		return false;
	slash = strrchr(real, '/');
	if (slash)
		*slash = '\0';
	int used = snprintf(out->plain, sizeof out->plain, "-I%s/../include", real);

	(void)snprintf(out->cccl, sizeof out->cccl, "-I%s/../include/cccl", real);
	free(real);
	return used > 0 && (size_t)used < sizeof out->plain;
}

static int compile(struct _nvrtcProgram *program, unsigned sm)
{
	struct includes includes;
	char arch[40];
	const char *options[4] = { arch, "--std=c++17", includes.plain, includes.cccl };

	(void)snprintf(arch, sizeof arch, "--gpu-architecture=sm_%u", sm);
	return api.nvrtcCompileProgram(program, find_includes(&includes) ? 4 : 2, options);
}

static enum mpk_code fail_compile(struct _nvrtcProgram *program, int status, unsigned sm,
				  struct mpk_error *err)
{
	char what[200];
	size_t bytes = 0;
	char *log = NULL;

	(void)snprintf(what, sizeof what, "CUDA source does not compile for sm_%u: %s", sm,
		       api.nvrtcGetErrorString(status));
	if (api.nvrtcGetProgramLogSize(program, &bytes) == 0)
		log = calloc(bytes + 1, 1);
	if (log && api.nvrtcGetProgramLog(program, log) != 0)
		log[0] = '\0';
	enum mpk_code code = mpk_device_fail_log(err, MPK_E_LOAD, what, log ? log : "");

	free(log);
	return mpk_failed(code);
}

static enum mpk_code get_cubin(struct _nvrtcProgram *program, char **out, size_t *out_bytes,
			       struct mpk_error *err)
{
	size_t bytes = 0;
	int status = api.nvrtcGetCUBINSize(program, &bytes);
	char *cubin = status == 0 ? malloc(bytes + 1) : NULL;

	if (status == 0 && !cubin)
		return mpk_fail_nomem(err);
	if (status == 0)
		status = api.nvrtcGetCUBIN(program, cubin);
	if (status != 0) {
		free(cubin);
		return mpk_fail(err, MPK_E_LOAD, "NVRTC gave no code: %s",
				api.nvrtcGetErrorString(status));
	}
	*out = cubin;
	*out_bytes = bytes;
	return MPK_OK;
}

enum mpk_code mpk_nvrtc_compile(struct mpk_span source, unsigned sm, char **out, size_t *out_bytes,
				struct mpk_error *err)
{
	struct _nvrtcProgram *program = NULL;

	/* the device is there: what is missing is a library to make the code ready for it */
	if (mpk_driver_get(&driver, err) != MPK_OK) {
		if (err)
			err->code = MPK_E_LOAD;
		return MPK_E_LOAD;
	}
	char *text = strndup((const char *)source.data, source.len);

	MPK_TRY_ALLOC(text, err);
	int status = api.nvrtcCreateProgram(&program, text, "kernels.cu", 0, NULL, NULL);

	free(text);
	if (status != 0)
		return mpk_fail(err, MPK_E_LOAD, "NVRTC refuses the source: %s",
				api.nvrtcGetErrorString(status));
	status = compile(program, sm);
	enum mpk_code code = status == 0 ? get_cubin(program, out, out_bytes, err)
					 : fail_compile(program, status, sm, err);

	(void)api.nvrtcDestroyProgram(&program);
	return code;
}
