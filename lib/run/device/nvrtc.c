/* SPDX-License-Identifier: Apache-2.0 */
/* nvrtc.c - CUDA C++ source to machine code; which release of NVRTC is here is found out at run time
 *
 * Sources of TVM are made for a compilation in which host headers are at hand: what NVRTC lacks of
 * that is in the prelude and in the options. Where this NVRTC does not know the architecture,
 * the driver gets PTX for the newest that both know.
 */
#include "device/internal/backend.h"
#include "device/internal/gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/internal/driver.h"
#include "sourcecode/sourcecode.h"

struct _nvrtcProgram;

/* X(member, exported name, need, parameters, result) - what is called of NVRTC 11.1 and later, as
 * driver.h describes. A result of int is a status. Which architectures it knows, it says since 11.2. */
#define NVRTC_SYMBOLS(X)                                                                           \
	X(nvrtcCreateProgram, "nvrtcCreateProgram", MPK_DRIVER_NEEDS,                              \
	  (struct _nvrtcProgram * *program, const char *source, const char *name, int headers,     \
	   const char *const *texts, const char *const *names),                                    \
	  int)                                                                                     \
	X(nvrtcCompileProgram, "nvrtcCompileProgram", MPK_DRIVER_NEEDS,                            \
	  (struct _nvrtcProgram * program, int count, const char *const *options), int)            \
	X(nvrtcGetCUBINSize, "nvrtcGetCUBINSize", MPK_DRIVER_NEEDS,                                \
	  (struct _nvrtcProgram * program, size_t *bytes), int)                                    \
	X(nvrtcGetCUBIN, "nvrtcGetCUBIN", MPK_DRIVER_NEEDS,                                        \
	  (struct _nvrtcProgram * program, char *cubin), int)                                      \
	X(nvrtcGetPTXSize, "nvrtcGetPTXSize", MPK_DRIVER_NEEDS,                                    \
	  (struct _nvrtcProgram * program, size_t *bytes), int)                                    \
	X(nvrtcGetPTX, "nvrtcGetPTX", MPK_DRIVER_NEEDS,                                            \
	  (struct _nvrtcProgram * program, char *ptx), int)                                        \
	X(nvrtcGetProgramLogSize, "nvrtcGetProgramLogSize", MPK_DRIVER_NEEDS,                      \
	  (struct _nvrtcProgram * program, size_t *bytes), int)                                    \
	X(nvrtcGetProgramLog, "nvrtcGetProgramLog", MPK_DRIVER_NEEDS,                              \
	  (struct _nvrtcProgram * program, char *log), int)                                        \
	X(nvrtcDestroyProgram, "nvrtcDestroyProgram", MPK_DRIVER_NEEDS,                            \
	  (struct _nvrtcProgram * *program), int)                                                  \
	X(nvrtcGetNumSupportedArchs, "nvrtcGetNumSupportedArchs", MPK_DRIVER_MAY_LACK,             \
	  (int *count), int)                                                                       \
	X(nvrtcGetSupportedArchs, "nvrtcGetSupportedArchs", MPK_DRIVER_MAY_LACK, (int *archs),     \
	  int)                                                                                     \
	X(nvrtcGetErrorString, "nvrtcGetErrorString", MPK_DRIVER_NEEDS, (int status), const char *)

struct nvrtc_api {
#define MEMBER(member, name, need, params, result) result(*member) params;
	NVRTC_SYMBOLS(MEMBER)
#undef MEMBER
};

static struct nvrtc_api api;

static const struct mpk_driver_symbol symbols[] = {
#define SYMBOL(member, name, need, params, result)                                                 \
	MPK_DRIVER_SYMBOL(struct nvrtc_api, member, name, need)
	NVRTC_SYMBOLS(SYMBOL)
#undef SYMBOL
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

/* --- what a source finds around it ------------------------------------------------------------ */

/* The prelude is read in front of the source, by name, so that its lines keep their numbers. The
 * toolkit's cuda.h needs headers of the host; of what it has, kernels use the type of a tensor map,
 * which is opaque to them. */
static const char *const header_names[] = { "mpk_prelude.h", "cuda.h" };
static const char *const headers[] = {
	"#ifndef INFINITY\n"
	"#define INFINITY __int_as_float(0x7f800000)\n"
	"#endif\n"
	"#ifndef NAN\n"
	"#define NAN __int_as_float(0x7fffffff)\n"
	"#endif\n"
	"struct alignas(64) CUtensorMap_st { unsigned long long opaque[16]; };\n"
	"typedef CUtensorMap_st CUtensorMap;\n",
	"",
};

/* Where the toolkit's headers may lie, from the folder of its library: beside it in an installation,
 * in packages of their own where Python's installer put them. */
static const char *const folders[] = { "../include", "../include/cccl",
				       "../../cuda_runtime/include", "../../cuda_cccl/include" };

enum {
	FOLDERS = MPK_ARRAY_COUNT(folders),
	FOLDERS_ALL = FOLDERS + 4, /* with those of two toolkits */
	OPTIONS_MAX = FOLDERS_ALL + 4 + MPK_SOURCE_CODE_NVRTC_MAX,
	PATH_BYTES = 4200,
};

struct options {
	char arch[48];
	char paths[FOLDERS_ALL][PATH_BYTES];
	char *own[MPK_SOURCE_CODE_NVRTC_MAX]; /* of the source's first line */
	size_t own_count;
	const char *list[OPTIONS_MAX + 1];
	int count;
	bool is_ptx;
};

/* Options of the source itself, copied because NVRTC wants C strings. */
static enum mpk_code read_own(struct options *o, struct mpk_span text, struct mpk_error *err)
{
	struct mpk_span words[MPK_SOURCE_CODE_NVRTC_MAX];
	size_t count;

	if (!mpk_source_code_nvrtc(text, words, &count))
		return mpk_fail(err, MPK_E_CORRUPT,
				"the source's first line, '" MPK_SOURCE_CODE_NVRTC
				"', is to hold at most %d options, each of which begins with '-'",
				MPK_SOURCE_CODE_NVRTC_MAX);
	for (size_t i = 0; i < count; i++) {
		o->own[i] = strndup((const char *)words[i].data, words[i].len);
		MPK_TRY_ALLOC(o->own[i], err);
		o->own_count++;
	}
	return MPK_OK;
}

/* What follows one of two names of an option and '=', in the last option of that name; NULL. */
static const char *own_value(const struct options *o, const char *brief, const char *name)
{
	const char *found = NULL;

	for (size_t i = 0; i < o->own_count; i++) {
		const char *equals = strchr(o->own[i], '=');
		size_t len = equals ? (size_t)(equals - o->own[i]) : 0;

		if (equals && ((strlen(brief) == len && !strncmp(o->own[i], brief, len)) ||
			       (strlen(name) == len && !strncmp(o->own[i], name, len))))
			found = equals + 1;
	}
	return found;
}

/* A path that is too long is left out: no toolkit lies that deep, and the compiler says what it
 * lacks. */
static void add_folder(struct options *o, size_t i, const char *dir, const char *folder)
{
	int used = snprintf(o->paths[i], PATH_BYTES, "-I%s/%s", dir, folder);

	if (used > 0 && used < PATH_BYTES)
		o->list[o->count++] = o->paths[i];
}

/* From CUDA 13 on <cuda/std/...>, which TVM's kernels include, is in a folder of its own. */
static void add_toolkit(struct options *o, size_t i, const char *dir)
{
	add_folder(o, i, dir, "include");
	add_folder(o, i + 1, dir, "include/cccl");
}

/* --- the architecture ------------------------------------------------------------------------- */

/* Features of one architecture alone, which TVM's kernels use from Hopper on, have a letter after
 * its number. */
static const char *suffix_of(unsigned sm)
{
	return sm >= 90 ? "a" : "";
}

/* The newest architecture that the compiler knows, sm at most; sm itself when it does not say. */
static unsigned newest_known(unsigned sm)
{
	int count = 0, *archs;
	unsigned best = 0;

	if (!api.nvrtcGetNumSupportedArchs || !api.nvrtcGetSupportedArchs ||
	    api.nvrtcGetNumSupportedArchs(&count) != 0 || count <= 0)
		return sm;
	archs = calloc((size_t)count, sizeof *archs);
	if (archs && api.nvrtcGetSupportedArchs(archs) == 0)
		for (int i = 0; i < count; i++)
			if (archs[i] > 0 && (unsigned)archs[i] <= sm && (unsigned)archs[i] > best)
				best = (unsigned)archs[i];
	free(archs);
	return best ? best : sm;
}

/* Ours as far as the source has none of its own, which the compiler would refuse to get twice. */
static void add_arch(struct options *o, unsigned sm)
{
	const char *own = own_value(o, "-arch", "--gpu-architecture");
	unsigned known = newest_known(sm);

	o->is_ptx = own ? strncmp(own, "compute_", 8) == 0 : known != sm;
	if (own)
		return;
	(void)snprintf(o->arch, sizeof o->arch, "--gpu-architecture=%s_%u%s",
		       o->is_ptx ? "compute" : "sm", known, o->is_ptx ? "" : suffix_of(sm));
	o->list[o->count++] = o->arch;
}

/* The log has the line and column; the status alone says only that compilation failed. */
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

/* Machine code, or PTX with the NUL at its end. */
static enum mpk_code get_code(struct _nvrtcProgram *program, bool is_ptx, char **out,
			      size_t *out_bytes, struct mpk_error *err)
{
	size_t bytes = 0;
	int status = is_ptx ? api.nvrtcGetPTXSize(program, &bytes)
			    : api.nvrtcGetCUBINSize(program, &bytes);
	char *code = status == 0 ? malloc(bytes + 1) : NULL;

	if (status == 0 && !code)
		return mpk_fail_nomem(err);
	if (status == 0)
		status = is_ptx ? api.nvrtcGetPTX(program, code) : api.nvrtcGetCUBIN(program, code);
	if (status != 0) {
		free(code);
		return mpk_fail(err, MPK_E_LOAD, "NVRTC gave no code: %s",
				api.nvrtcGetErrorString(status));
	}
	*out = code;
	*out_bytes = bytes;
	return MPK_OK;
}

/* NVRTC takes C strings, while the text of a payload has no NUL at its end. */
static enum mpk_code compile(const struct mpk_nvrtc_source *source, const struct options *o,
			     char **out, size_t *out_bytes, struct mpk_error *err)
{
	struct _nvrtcProgram *program = NULL;
	char *text = strndup((const char *)source->text.data, source->text.len);

	MPK_TRY_ALLOC(text, err);
	int status = api.nvrtcCreateProgram(&program, text, "kernels.cu",
					    (int)MPK_ARRAY_COUNT(headers), headers, header_names);

	free(text);
	if (status != 0)
		return mpk_fail(err, MPK_E_LOAD, "NVRTC refuses the source: %s",
				api.nvrtcGetErrorString(status));
	status = api.nvrtcCompileProgram(program, o->count, o->list);
	enum mpk_code code = status == 0 ? get_code(program, o->is_ptx, out, out_bytes, err)
					 : fail_compile(program, status, source->sm, err);

	(void)api.nvrtcDestroyProgram(&program);
	return code;
}

enum mpk_code mpk_nvrtc_compile(const struct mpk_nvrtc_source *source, char **out,
				size_t *out_bytes, struct mpk_error *err)
{
	struct options *o;

	/* the device is there: what is missing is a library to make the code ready for it */
	if (mpk_driver_get(&driver, err) != MPK_OK) {
		if (err)
			err->code = MPK_E_LOAD;
		return MPK_E_LOAD;
	}
	o = calloc(1, sizeof *o);
	MPK_TRY_ALLOC(o, err);
	enum mpk_code code = read_own(o, source->text, err);

	if (code == MPK_OK) {
		/* In the order in which later options win, and in which folders are searched. */
		add_arch(o, source->sm);
		if (!own_value(o, "-std", "--std"))
			o->list[o->count++] = "--std=c++17";
		o->list[o->count++] = "--device-as-default-execution-space";
		o->list[o->count++] = "--device-int128";
		o->list[o->count++] = "--pre-include=mpk_prelude.h";
		/* the first folder that has a header gives it */
		for (size_t i = 0; i < o->own_count; i++)
			o->list[o->count++] = o->own[i];

		/* A toolkit that the user named comes first, then what belongs to the compiler. */
		const char *home = source->home;
		Dl_info info;
		void *address;
		char *real = NULL, *slash;

		memcpy(&address, &api.nvrtcCompileProgram, sizeof address);
		if (dladdr(address, &info))
			real = realpath(info.dli_fname, NULL);
		slash = real ? strrchr(real, '/') : NULL;
		if (slash)
			*slash = '\0';
		if (home)
			add_toolkit(o, FOLDERS + 2, home);
		for (size_t i = 0; slash && i < FOLDERS; i++)
			add_folder(o, i, real, folders[i]);
		add_toolkit(o, FOLDERS, "/usr/local/cuda");
		free(real);

		code = compile(source, o, out, out_bytes, err);
	}

	/* NULL is fine: what failed before it was made has none. */
	for (size_t i = 0; o && i < o->own_count; i++)
		free(o->own[i]);
	free(o);
	return code;
}
