/* SPDX-License-Identifier: Apache-2.0 */
/* nvrtc.c - compiles CUDA C++ source to machine code with the NVRTC that is found at run time
 *
 * TVM's sources expect host headers; the prelude and the options below supply what NVRTC lacks. If
 * this NVRTC does not know the GPU's architecture, it makes PTX for the newest architecture that
 * both know. */
#include "device/internal/backend.h"
#include "device/internal/gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/internal/driver.h"
#include "sourcecode/sourcecode.h"

struct _nvrtcProgram;

/* X(member, exported name, need, parameters, result) - functions of NVRTC 11.1 and later, as
 * driver.h describes. A result of type int is a status. NVRTC lists its architectures since 11.2. */
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
static struct mpk_driver_result driver_result = { .lock = PTHREAD_MUTEX_INITIALIZER };
static const struct mpk_driver driver = {
	.names = names,
	.symbols = symbols,
	.table = &api,
	.without = "the kernels are CUDA source, which needs NVIDIA's run-time compiler: ",
	.result = &driver_result
};

/* --- what a source finds around it ------------------------------------------------------------ */

/* The prelude is a header included before the source, so that line numbers of the source do not
 * change. The toolkit's cuda.h needs host headers; kernels use only its type of a tensor map, which
 * is opaque to them. */
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

/* Folders of the toolkit's headers, relative to the folder of its library: as installed by NVIDIA's
 * installer, and as in packages of PyPI. */
static const char *const folders[] = { "../include", "../include/cccl",
				       "../../cuda_runtime/include", "../../cuda_cccl/include" };

enum {
	FOLDERS = MPK_ARRAY_COUNT(folders),
	FOLDERS_ALL = FOLDERS + 4, /* with the folders of two toolkits */
	OPTIONS_MAX = FOLDERS_ALL + 4 + MPK_SOURCE_CODE_NVRTC_MAX,
	PATH_BYTES = 4200,
};

struct options {
	char arch[48];
	char paths[FOLDERS_ALL][PATH_BYTES];
	char *own[MPK_SOURCE_CODE_NVRTC_MAX]; /* options from the source's first line */
	size_t own_count;
	const char *list[OPTIONS_MAX + 1];
	int count;
	bool is_ptx;
};

/* Copies the source's own options, because NVRTC takes C strings. */
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

/* Returns the value of an option that has two names, from its last occurrence; NULL if it is
 * absent. */
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

/* Skips a path that is too long: the compiler then reports the missing header. */
static void add_folder(struct options *o, size_t i, const char *dir, const char *folder)
{
	int used = snprintf(o->paths[i], PATH_BYTES, "-I%s/%s", dir, folder);

	if (used > 0 && used < PATH_BYTES)
		o->list[o->count++] = o->paths[i];
}

/* From CUDA 13 on, <cuda/std/...>, which TVM's kernels include, is in a separate folder. */
static void add_toolkit(struct options *o, size_t i, const char *dir)
{
	add_folder(o, i, dir, "include");
	add_folder(o, i + 1, dir, "include/cccl");
}

/* --- the architecture ------------------------------------------------------------------------- */

/* From Hopper on TVM's kernels use features of one specific architecture, which the letter after
 * its number selects. */
static const char *suffix_of(unsigned sm)
{
	return sm >= 90 ? "a" : "";
}

/* Returns the newest architecture that the compiler knows, at most sm; returns sm if the compiler
 * does not tell. */
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

/* Adds an architecture only if the source's options have none, because the compiler refuses two. */
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

/* Quotes the log, which has line and column; the status only says that compilation failed. */
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

/* Gets the machine code, or the PTX with a NUL at its end. */
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

/* NVRTC takes C strings, but the text of a payload has no NUL at its end. */
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

	/* the device exists; only the compiler for its code is missing, so this is MPK_E_LOAD */
	if (mpk_driver_get(&driver, err) != MPK_OK) {
		if (err)
			err->code = MPK_E_LOAD;
		return MPK_E_LOAD;
	}
	o = calloc(1, sizeof *o);
	MPK_TRY_ALLOC(o, err);
	enum mpk_code code = read_own(o, source->text, err);

	if (code == MPK_OK) {
		/* Later options win over earlier ones, and folders are searched in this order. */
		add_arch(o, source->sm);
		if (!own_value(o, "-std", "--std"))
			o->list[o->count++] = "--std=c++17";
		o->list[o->count++] = "--device-as-default-execution-space";
		o->list[o->count++] = "--device-int128";
		o->list[o->count++] = "--pre-include=mpk_prelude.h";
		/* a header is taken from the first folder that has it */
		for (size_t i = 0; i < o->own_count; i++)
			o->list[o->count++] = o->own[i];

		/* The toolkit that the user named comes before the compiler's own headers. */
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

	/* o is NULL if it was never allocated */
	for (size_t i = 0; o && i < o->own_count; i++)
		free(o->own[i]);
	free(o);
	return code;
}
