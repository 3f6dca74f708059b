/* SPDX-License-Identifier: Apache-2.0 */
/* Fills in what the library is to be loaded on ("there"): the machine, glibc, TVM, its libraries, GPU and driver; and
 * what it is held to. Options say it; what they leave out is taken from this machine where that has the same
 * architecture. */
#include "minspect/check_there.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "amdgpu/amdgpu.h"
#include "base/strmap.h"
#include "common/diag.h"
#include "io/path.h"
#include "minspect/document.h"
#include "minspect/model_memory.h"
#include "minspect/run.h"
#include "text/escape.h"
#include "text/table.h"

/* --- the machine ------------------------------------------------------------------------ */

/* Names that uname, package managers and ELF tools have, and how a target triple begins. */
static const char *const machines[][2] = {
	{ "x86_64", "x86_64" },   { "x86-64", "x86_64" },
	{ "amd64", "x86_64" },    { "aarch64", "aarch64" },
	{ "arm64", "aarch64" },   { "i386", "i386" },
	{ "i686", "i686" },       { "x86", "i386" },
	{ "arm", "arm" },         { "armv7l", "arm" },
	{ "armhf", "arm" },       { "riscv64", "riscv64" },
	{ "ppc64le", "ppc64le" }, { "ppc64", "ppc64" },
	{ "s390x", "s390x" },     { "loongarch64", "loongarch64" },
};

static int set_machine(const char *word, struct mpk_there *out)
{
	const char *triple = NULL;

	for (size_t i = 0; word && i < MPK_ARRAY_COUNT(machines); i++)
		if (strcmp(word, machines[i][0]) == 0)
			triple = machines[i][1];
	if (word && !triple) {
		struct mpk_span names[MPK_ARRAY_COUNT(machines)];
		size_t near;

		for (size_t i = 0; i < MPK_ARRAY_COUNT(machines); i++)
			names[i] = mpk_span_str(machines[i][0]);
		near = mpk_closest(mpk_span_str(word), names, MPK_ARRAY_COUNT(names));
		return mpk_diag_usage(
			"--machine: '%s' is no machine that is known here; did you mean %s?", word,
			near < MPK_ARRAY_COUNT(names) ? machines[near][0]
						      : "x86_64, aarch64, riscv64, ...");
	}
	out->machine = mpk_target_parse(triple);
	out->machine_name = mpk_elf_machine(out->machine.machine);
	return MPK_EXIT_OK;
}

/* Whether it has this machine's code, which "x86_64" and no option at all mean here. */
static bool minspect_check_is_here(const struct mpk_target *t)
{
	const struct mpk_target here = mpk_target_parse(NULL);

	return t->machine == here.machine && t->elf_class == here.elf_class &&
	       t->elf_data == here.elf_data;
}

static int set_glibc(const char *text, struct mpk_there *out)
{
	unsigned *major = &out->glibc_major, *minor = &out->glibc_minor;
	char rest;

#ifdef __GLIBC__
	/* Of another machine nobody knows the glibc unless --glibc says it. */
	if (!text && minspect_check_is_here(&out->machine))
		text = gnu_get_libc_version();
#endif
	if (!text || (sscanf(text, "%u.%u%c", major, minor, &rest) == 2 && *major > 0))
		return MPK_EXIT_OK;
	return mpk_diag_usage("--glibc takes a version such as 2.28, not '%s'", text);
}

/* --- libraries -------------------------------------------------------------------------- */

static size_t parts_of(const char *path)
{
	size_t n = path && *path ? 1 : 0;

	for (; path && *path; path++)
		n += *path == ':';
	return n;
}

/* LD_LIBRARY_PATH, or the directories of --libs; then those of the named libraries, which find
 * their own beside them. */
static enum mpk_code set_search(const struct minspect_options *o, struct mpk_arena *arena,
				struct mpk_there *out, struct mpk_error *err)
{
	const char *path = o->libs.count ? NULL : getenv("LD_LIBRARY_PATH");
	size_t n = 0, most = parts_of(path) + o->runtimes.count + o->libs.count;
	const char **dirs = mpk_arena_array(arena, most, sizeof *dirs);

	MPK_TRY_ALLOC(dirs, err);
	for (size_t i = 0; i < o->libs.count; i++) {
		dirs[n++] = o->libs.items[i].value;
		out->libs =
			out->libs ? mpk_arena_printf(arena, "%s:%s", out->libs, dirs[i]) : dirs[i];
		MPK_TRY_ALLOC(out->libs, err);
	}
	for (size_t len; path && *path; path += len + (path[len] == ':')) {
		len = strcspn(path, ":");
		if (!len)
			continue;
		dirs[n] = mpk_arena_text(arena, mpk_span_of(path, len));
		MPK_TRY_ALLOC(dirs[n++], err);
	}
	for (size_t i = 0; i < o->runtimes.count; i++) {
		const char *file = o->runtimes.items[i].value, *name = mpk_path_name(file);

		dirs[n] = name == file
				  ? "."
				  : mpk_arena_text(arena, mpk_span_of(file, (size_t)(name - file)));
		MPK_TRY_ALLOC(dirs[n++], err);
	}
	/* With --libs only those folders count: the libraries of this machine are not there. */
	out->search = (struct mpk_search){ .dirs = dirs, .dir_count = n, .system = !out->libs };
	out->searchable = out->libs || minspect_check_is_here(&out->machine);
	return MPK_OK;
}

static enum mpk_code add_runtime(const char *path, struct mpk_arena *arena, struct mpk_there *out,
				 struct mpk_error *err)
{
	struct mpk_dso *dso = mpk_arena_alloc(arena, sizeof *dso);

	MPK_TRY_ALLOC(dso, err);
	MPK_TRY(mpk_dso_read(path, arena, dso, err));
	dso->next = out->runtimes;
	out->runtimes = dso;
	return mpk_dso_read_loaders(dso, arena, err);
}

/* Nobody says which runtime: that of this machine's Python environment, if there is one. */
static enum mpk_code find_installed(struct mpk_arena *arena, struct mpk_there *out,
				    struct mpk_error *err)
{
	struct mpk_tvm_ffi_search search = { 0 };
	const char *found = NULL;

	MPK_TRY(minspect_tvm_ffi_paths(arena, &search, err));
	found = search.explicit_path;
	for (size_t i = 0; !found && i < search.path_count; i++)
		if (access(search.paths[i], R_OK) == 0)
			found = search.paths[i];
	if (!found || access(found, R_OK) != 0)
		return MPK_OK;
	out->installed = true;

	/* TVM's own libraries are in the package tvm, in the same folder of packages as tvm_ffi. */
	/* As the wheels of TVM have them; a release has some of these. */
	static const char *const files[] = { "libtvm_runtime_cuda.so", "libtvm_runtime_extra.so",
					     "libtvm_compiler.so", "libtvm_runtime.so" };
	static const char beside[] = "tvm_ffi/lib/libtvm_ffi.so";
	size_t len = strlen(found), tail = sizeof beside - 1;

	for (size_t i = 0;
	     len > tail && strcmp(found + len - tail, beside) == 0 && i < MPK_ARRAY_COUNT(files);
	     i++) {
		const char *path = mpk_arena_printf(arena, "%.*stvm/lib/%s", (int)(len - tail),
						    found, files[i]);

		MPK_TRY_ALLOC(path, err);
		if (access(path, R_OK) == 0)
			MPK_TRY(add_runtime(path, arena, out, err));
	}
	return add_runtime(found, arena, out, err);
}

static int set_libraries(const struct minspect_options *o, struct mpk_arena *arena,
			 struct mpk_there *out)
{
	struct mpk_error err = { 0 };
	enum mpk_code code = set_search(o, arena, out, &err);
	struct stat st;

	for (size_t i = 0; i < o->libs.count; i++) {
		const char *dir = o->libs.items[i].value;

		if (stat(dir, &st) != 0 || !S_ISDIR(st.st_mode))
			return mpk_diag_usage("--libs: '%s' is no directory", dir);
	}
	/* Each is put in front of the list, so the last comes first to keep the order of the
	 * command line. */
	for (size_t i = o->runtimes.count; code == MPK_OK && i-- > 0;)
		code = add_runtime(o->runtimes.items[i].value, arena, out, &err);
	if (code == MPK_OK && !out->has_release && !out->runtimes && !out->libs && !o->machine)
		code = find_installed(arena, out, &err);
	return code == MPK_OK ? MPK_EXIT_OK : mpk_diag_error(&err);
}

/* A path is that of a program or library; anything else is a name, or a pattern of names. */
static int set_provided(const struct minspect_options *o, struct mpk_arena *arena,
			struct mpk_there *out)
{
	const char **names = mpk_arena_array(arena, o->provides.count, sizeof *names);
	struct mpk_error err = { 0 };

	if (!names)
		return mpk_diag_error((mpk_fail_nomem(&err), &err));
	for (size_t i = 0; i < o->provides.count; i++) {
		const char *value = o->provides.items[i].value;
		struct mpk_dso *host;

		if (strchr(value, '*') ||
		    (!strchr(value, '/') && !strstr(value, ".so") && access(value, F_OK) != 0)) {
			names[out->provided_count++] = value;
			continue;
		}
		host = mpk_arena_alloc(arena, sizeof *host);
		if (!host)
			return mpk_diag_error((mpk_fail_nomem(&err), &err));
		if (mpk_dso_read_host(value, arena, host, &err) != MPK_OK)
			return mpk_diag_error(&err);
		host->next = out->hosts;
		out->hosts = host;
	}
	out->provided = names;
	return MPK_EXIT_OK;
}

/* --- runtime and device ----------------------------------------------------------------- */

static int set_release(const char *text, struct mpk_there *out)
{
	if (!text)
		return MPK_EXIT_OK;
	out->has_release = mpk_release_parse(text, &out->release);
	if (out->has_release)
		return MPK_EXIT_OK;
	return mpk_diag_usage("--tvm takes a release from 0.2 to 0.%u, or ffi for tvm-ffi alone, "
			      "not '%s'; a later build is named with --runtime",
			      MPK_RELEASE_NEWEST, text);
}

/* Without its features. */
static bool is_amd_processor(const char *arch)
{
	struct mpk_span name = mpk_span_of(arch, strcspn(arch, ":"));
	const char *known;

	for (size_t i = 0; (known = mpk_amdgpu_processor(i)) != NULL; i++)
		if (mpk_span_is(name, known))
			return true;
	return false;
}

/* compute_90 is no device: PTX that serves those which are yet to come. */
static int minspect_check_set_device(const char *arch, bool own_code, struct mpk_there *out)
{
	if (own_code)
		out->cuda.wants = MPK_CUDA_OWN;
	if (arch && strncmp(arch, "compute_", 8) == 0)
		out->cuda.wants = MPK_CUDA_AHEAD;
	if (!arch)
		return MPK_EXIT_OK;
	out->device = arch;
	/* AMD's architectures are names such as gfx90a; NVIDIA's are numbers. */
	if (strncmp(arch, "gfx", 3) == 0)
		out->amd = arch;
	else
		out->cuda.sm = mpk_cuda_device_parse(arch);
	if (out->amd ? is_amd_processor(arch) : out->cuda.sm != 0)
		return MPK_EXIT_OK;

	/* A device that is none, with those that are nearest. */
	struct mpk_span names[256];
	size_t count = 0, near;
	const char *known;
	unsigned sm[2];

	if (strncmp(arch, "gfx", 3) == 0) {
		while (count < MPK_ARRAY_COUNT(names) &&
		       (known = mpk_amdgpu_processor(count)) != NULL)
			names[count++] = mpk_span_str(known);
		near = mpk_closest(mpk_span_of(arch, strcspn(arch, ":")), names, count);
		return mpk_diag_usage("--device-arch: there is no '%s'; did you mean %s?", arch,
				      near < count ? (const char *)names[near].data : "gfx90a");
	}
	if ((strncmp(arch, "sm_", 3) == 0 || strncmp(arch, "compute_", 8) == 0) &&
	    arch[strcspn(arch, "0123456789")]) {
		bool both = mpk_cuda_device_near(arch, sm) == 2;

		return both ? mpk_diag_usage(
				      "--device-arch: there is no '%s'; did you mean sm_%u or sm_%u?",
				      arch, sm[0], sm[1])
			    : mpk_diag_usage("--device-arch: there is no '%s'; did you mean sm_%u?",
					     arch, sm[0]);
	}
	return mpk_diag_usage("--device-arch takes a GPU such as sm_90 or gfx90a, not '%s'", arch);
}

static int set_driver(const char *text, struct mpk_there *out)
{
	if (!text || mpk_cuda_driver_parse(text, &out->cuda.driver))
		return MPK_EXIT_OK;
	return mpk_diag_usage("--driver takes the CUDA version of a driver, such as 12.4, "
			      "or its own, such as 550.54, not '%s'",
			      text);
}

/* --- places ----------------------------------------------------------------------------- */

static const char *value_of(const struct mpk_option_list *list, size_t i)
{
	return list->count ? list->items[i].value : NULL;
}

/* The words of a list between commas; NULL: memory is out. */
static const char **split_words(const char *text, struct mpk_arena *arena, size_t *count)
{
	size_t most = 1, len;
	const char **words;

	for (const char *p = text; *p; p++)
		most += *p == ',';
	words = mpk_arena_array(arena, most, sizeof *words);
	*count = 0;
	for (; words; text += len + 1) {
		len = strcspn(text, ",");
		words[*count] = mpk_arena_copy(arena, text, len);
		if (!words[(*count)++])
			return NULL;
		if (!text[len])
			return words;
	}
	return NULL;
}

/* Every architecture that was named, in whichever option. */
static enum mpk_code list_devices(const struct minspect_options *o, struct mpk_arena *arena,
				  const char ***out, size_t *count, struct mpk_error *err)
{
	size_t most = 0, n;

	*count = 0;
	for (size_t i = 0; i < o->devices_there.count; i++)
		for (const char *p = o->devices_there.items[i].value - 1; p; p = strchr(p + 1, ','))
			most++;
	*out = mpk_arena_array(arena, most + 1, sizeof **out);
	MPK_TRY_ALLOC(*out, err);
	for (size_t i = 0; i < o->devices_there.count; i++) {
		const char **words = split_words(o->devices_there.items[i].value, arena, &n);

		MPK_TRY_ALLOC(words, err);
		for (size_t k = 0; k < n; k++)
			(*out)[(*count)++] = words[k];
	}
	return MPK_OK;
}

static int set_only(const char *text, struct mpk_arena *arena, struct mpk_there *out)
{
	static const char *const names[] = { "machine",  "format",       "loader",  "payload",
					     "linking",  "glibc",        "library", "symbol",
					     "function", "registration", "device",  "driver",
					     "abi",      "memory" };
	struct mpk_error err = { 0 };

	if (!text)
		return MPK_EXIT_OK;
	out->only = split_words(text, arena, &out->only_count);
	if (!out->only)
		return mpk_diag_error((mpk_fail_nomem(&err), &err));
	for (size_t i = 0; i < out->only_count; i++) {
		size_t k = 0;

		while (k < MPK_ARRAY_COUNT(names) && strcmp(names[k], out->only[i]) != 0)
			k++;
		if (k == MPK_ARRAY_COUNT(names))
			return mpk_diag_usage(
				"--only takes names of checks, such as device, glibc or symbol, not '%s'",
				out->only[i]);
	}
	return MPK_EXIT_OK;
}

/* "abi3", "abi3-3.9" */
static bool parse_abi3(const char *word, struct mpk_check_abi *out)
{
	unsigned minor = 0;
	char rest;

	if (strcmp(word, "abi3") != 0 &&
	    (sscanf(word, "abi3-3.%u%c", &minor, &rest) != 1 || minor < 2 || minor > 99))
		return false;
	out->is_abi3 = true;
	out->python_minor = minor;
	return true;
}

static bool parse_abi(const char *word, struct mpk_check_abi *out)
{
	const struct mpk_policy *policy = mpk_policy_find(word);

	if (policy)
		out->policy = policy;
	else if (strcmp(word, "cxx11") == 0)
		out->cxx11 = true;
	else if (strcmp(word, "tvm-ffi") == 0)
		out->tvm_ffi = true;
	else if (strcmp(word, "torch-stable") == 0)
		out->torch_stable = true;
	else
		return strcmp(word, "any") == 0 || parse_abi3(word, out);
	return true;
}

static int set_abi(const char *text, struct mpk_arena *arena, struct mpk_there *out)
{
	struct mpk_check_abi *abi = mpk_arena_alloc(arena, sizeof *abi);
	struct mpk_error err = { 0 };
	const char **words;
	size_t count = 0;

	if (!text)
		return MPK_EXIT_OK;
	words = split_words(text, arena, &count);
	if (!abi || !words)
		return mpk_diag_error((mpk_fail_nomem(&err), &err));
	*abi = (struct mpk_check_abi){ 0 };
	for (size_t i = 0; i < count; i++)
		if (!parse_abi(words[i], abi))
			return mpk_diag_usage(
				"--abi takes a policy such as manylinux_2_28, abi3, abi3-3.9, cxx11, tvm-ffi, torch-stable or any, not '%s'",
				words[i]);
	out->abi = abi;
	return MPK_EXIT_OK;
}

static int set_memory(const struct minspect_options *o, struct mpk_arena *arena,
		      struct mpk_there *out)
{
	struct mpk_memory_ask *ask = mpk_arena_alloc(arena, sizeof *ask);
	struct mpk_error err = { 0 };

	if (!ask)
		return mpk_diag_error((mpk_fail_nomem(&err), &err));
	if (!o->memory_budget)
		return o->shapes.count ? mpk_diag_usage("--shape goes with --memory") : MPK_EXIT_OK;
	if (!mpk_size_parse(mpk_span_str(o->memory_budget), &out->memory_bytes))
		return mpk_diag_usage("--memory takes a size such as 2GiB, 500MB or 4096, not '%s'",
				      MPK_QUOTE(mpk_span_str(o->memory_budget)));
	out->memory = ask;
	return minspect_extents(o, arena, ask);
}

/* What all of them share: the libraries are opened once. */
static int set_common(const struct minspect_options *o, struct mpk_arena *arena,
		      struct mpk_there *out)
{
	int status = set_machine(o->machine, out);

	out->strict = o->strict;
	out->allow_part = o->allow_part;
	out->has_release = o->releases.count > 0; /* of which none is found on this machine */
	if (status == MPK_EXIT_OK)
		status = set_glibc(o->glibc, out);
	if (status == MPK_EXIT_OK)
		status = set_driver(o->driver, out);
	if (status == MPK_EXIT_OK)
		status = set_only(o->only, arena, out);
	if (status == MPK_EXIT_OK)
		status = set_abi(o->abi, arena, out);
	if (status == MPK_EXIT_OK)
		status = set_memory(o, arena, out);
	if (status == MPK_EXIT_OK)
		status = set_provided(o, arena, out);
	return status == MPK_EXIT_OK ? set_libraries(o, arena, out) : status;
}

static int set_places(const struct minspect_options *o, const struct mpk_there *common,
		      struct mpk_arena *arena, struct minspect_places *out)
{
	size_t releases = o->releases.count ? o->releases.count : 1;
	struct mpk_error err = { 0 };
	int status = MPK_EXIT_OK;
	const char **archs;
	size_t devices;

	if (list_devices(o, arena, &archs, &devices, &err) != MPK_OK)
		return mpk_diag_error(&err);
	devices += !devices; /* archs ends in NULL: none */
	out->devices = devices;
	out->items = mpk_arena_array(arena, releases * devices, sizeof *out->items);
	if (!out->items) {
		(void)mpk_fail_nomem(&err);
		return mpk_diag_error(&err);
	}
	for (size_t i = 0; i < releases * devices && status == MPK_EXIT_OK; i++) {
		struct mpk_there *there = &out->items[out->count++];

		*there = *common;
		status = set_release(value_of(&o->releases, i / devices), there);
		if (status == MPK_EXIT_OK)
			status = minspect_check_set_device(archs[i % devices], o->own_code, there);
	}
	return status;
}

int minspect_places_set(const struct minspect_options *o, struct mpk_arena *arena,
			struct mpk_there *common, struct minspect_places *out)
{
	int status;

	if (o->own_code && !o->devices_there.count)
		return mpk_diag_usage("--own-code goes with --device-arch");
	if ((o->strict || o->allow_part) && !o->devices_there.count && !o->driver)
		return mpk_diag_usage("%s goes with --device-arch or --driver",
				      o->strict ? "--strict" : "--allow-part");
	status = set_common(o, arena, common);
	return status == MPK_EXIT_OK ? set_places(o, common, arena, out) : status;
}
