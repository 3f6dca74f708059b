/* SPDX-License-Identifier: Apache-2.0 */
/* --check: compares each file with each target that the options describe (lib/show/check). For a
 * single file the result is printed at once; for several files the verdict comes first, so printing
 * waits for the last file. */
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
#include "base/vec.h"
#include "check/check.h"
#include "check/set.h"
#include "common/diag.h"
#include "io/path.h"
#include "minspect/document.h"
#include "minspect/model_memory.h"
#include "minspect/run.h"
#include "text/escape.h"
#include "text/table.h"

/* The packages of the command line, in which needed libraries are searched. */
struct minspect_siblings {
	const struct minspect_options *options;
	/* the current archive; NULL if the current file is not in an archive */
	const struct minspect_file *archive;
	struct minspect_file *archives; /* the other archives of the command line */
	size_t archive_count;
	bool is_open;                    /* archives have been opened */
	struct minspect_file **unpacked; /* members that were needed */
	size_t unpacked_count, unpacked_cap;
	struct mpk_arena arena;
};

/* All combinations of releases and devices. */
struct minspect_places {
	struct mpk_there *items;
	size_t count;
	struct mpk_check_set set;  /* results for each target, if there are several files */
	struct mpk_strbuf details; /* results of the files, printed with --all */
	size_t devices;
	struct mpk_arena *arena;
	bool failed;   /* memory is out */
	bool is_set;   /* there are several files, or there may be */
	bool is_ended; /* set has been summed up */
	struct minspect_siblings *siblings;
};

/* --- Finds libraries in the packages being checked. A needed library may be in the same wheel or
 * in another one of the command line, whose installed path is unknown. If several have the name,
 * the one whose path shares most with that of the library that needs it is used. Members of
 * archives are unpacked when they are needed, and kept. */

/* The best match so far. */
struct candidate {
	const char *path;
	size_t common;
	const struct minspect_file *archive; /* NULL if path is that of a file */
	size_t member;
};

static void consider(struct candidate *best, const char *path, const char *by,
		     const struct minspect_file *archive, size_t member)
{
	size_t common = 0;

	while (path[common] && path[common] == by[common])
		common++;

	if (!best->path || common > best->common)
		*best = (struct candidate){ path, common, archive, member };
}

static bool is_named(struct mpk_span path, const char *name)
{
	size_t len = strlen(name);

	return path.len >= len && memcmp(path.data + path.len - len, name, len) == 0 &&
	       (path.len == len || path.data[path.len - len - 1] == '/');
}

static enum mpk_code consider_members(struct candidate *best, const struct minspect_file *archive,
				      const char *name, const char *by, struct mpk_arena *arena,
				      struct mpk_error *err)
{
	for (size_t i = 0; i < archive->library_count; i++) {
		const char *path;

		if (!is_named(archive->libraries[i].name, name))
			continue;
		path = minspect_zip_member(archive, i, arena);
		MPK_TRY_ALLOC(path, err);
		consider(best, path, by, archive, i);
	}
	return MPK_OK;
}

/* Opens the other archives of the command line on first use. An unreadable one counts as empty: its
 * own check reports the error. */
static enum mpk_code open_archives(struct minspect_siblings *s, struct mpk_error *err)
{
	s->is_open = true;
	s->archives = calloc(s->options->file_count + 1, sizeof *s->archives);
	MPK_TRY_ALLOC(s->archives, err);
	for (size_t i = 0; i < s->options->file_count; i++) {
		struct minspect_file *f = &s->archives[s->archive_count];
		const char *name = s->options->files[i];
		enum mpk_code code;

		if ((s->archive && strcmp(s->archive->name, name) == 0) || !minspect_is_zip(name))
			continue;
		code = minspect_file_open(name, f, NULL);
		s->archive_count++;
		if (code == MPK_E_NOMEM)
			return mpk_fail_nomem(err);
	}
	return MPK_OK;
}

static enum mpk_code unpack(struct minspect_siblings *s, const struct candidate *c,
			    struct mpk_span *bytes, struct mpk_error *err)
{
	const struct mpk_zip_member *m = &c->archive->libraries[c->member];
	struct mpk_error problem = { 0 };
	struct minspect_file *f;

	for (size_t i = 0; i < s->unpacked_count; i++)
		if (strcmp(s->unpacked[i]->name, c->path) == 0) {
			*bytes = s->unpacked[i]->bytes;
			return MPK_OK;
		}
	MPK_TRY_ALLOC(MPK_VEC_ROOM(s->unpacked, s->unpacked_count, s->unpacked_cap), err);
	f = mpk_arena_alloc(&s->arena, sizeof *f);
	MPK_TRY_ALLOC(f, err);
	*f = (struct minspect_file){ .map = c->archive->map,
				     .borrows_map = true,
				     .bytes = c->archive->map.bytes,
				     .in_zip = true };
	f->name = mpk_arena_text(&s->arena, mpk_span_str(c->path));
	MPK_TRY_ALLOC(f->name, err);
	if (minspect_zip_open(f, m, &problem) != MPK_OK)
		f->bytes = (struct mpk_span){ 0 };
	s->unpacked[s->unpacked_count++] = f;
	*bytes = f->bytes;
	return problem.code == MPK_E_NOMEM ? mpk_fail_nomem(err) : MPK_OK;
}

static enum mpk_code find_sibling(void *arg, const char *name, const char *by,
				  struct mpk_arena *arena, const char **path,
				  struct mpk_span *bytes, struct mpk_error *err)
{
	struct minspect_siblings *s = arg;
	const struct minspect_options *o = s->options;
	struct candidate best = { 0 };

	if (s->archive)
		MPK_TRY(consider_members(&best, s->archive, name, by, arena, err));
	if (!s->is_open)
		MPK_TRY(open_archives(s, err));
	for (size_t i = 0; i < s->archive_count; i++)
		MPK_TRY(consider_members(&best, &s->archives[i], name, by, arena, err));
	for (size_t i = 0; i < o->file_count; i++)
		if (o->folder_lens && o->folder_lens[i] &&
		    is_named(mpk_span_str(o->files[i]), name))
			consider(&best, o->files[i], by, NULL, 0);
	if (!best.path)
		return MPK_OK;
	if (best.archive)
		MPK_TRY(unpack(s, &best, bytes, err));
	if (!best.archive || bytes->len)
		*path = best.path;
	return MPK_OK;
}

static void minspect_siblings_init(struct minspect_siblings *s, const struct minspect_options *o,
				   struct minspect_places *places)
{
	*s = (struct minspect_siblings){ .options = o };
	for (size_t i = 0; i < places->count; i++) {
		places->items[i].search.sibling = find_sibling;
		places->items[i].search.sibling_arg = s;
	}
	places->siblings = s;
}

/* Members unpacked from another archive are freed with it. */
static void minspect_siblings_fini(struct minspect_siblings *s)
{
	for (size_t i = 0; i < s->unpacked_count; i++)
		minspect_file_close(s->unpacked[i]);
	for (size_t i = 0; i < s->archive_count; i++)
		minspect_file_close(&s->archives[i]);
	free(s->unpacked);
	free(s->archives);
	mpk_arena_fini(&s->arena);
	*s = (struct minspect_siblings){ .options = s->options };
}

static void minspect_siblings_enter(struct minspect_siblings *s,
				    const struct minspect_file *archive)
{
	if (s->archive == archive)
		return;
	minspect_siblings_fini(s);
	s->archive = archive;
}

/* --- Fills in the target of the check ("there"): the machine, glibc, TVM, its libraries, GPU and
 * driver, and the ABI policy. Options describe it. Anything they omit is taken from this machine if
 * the architecture is the same. */

/* --- the machine ------------------------------------------------------------------------ */

/* Names used by uname, package managers and ELF tools, and the beginning of the target triple. */
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

/* Whether the target has this machine's architecture, as with "x86_64" or no option. */
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
	/* The glibc of another machine is unknown unless --glibc gives it. */
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

/* Sets the search path: LD_LIBRARY_PATH or the directories of --libs, then the folders of the named
 * libraries, which find their own dependencies there. */
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
	/* With --libs only those folders count, not the libraries of this machine. */
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

/* If no runtime is named, uses that of this machine's Python environment, if there is one. */
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

	/* TVM's own libraries are in the package tvm, in the same site-packages folder as
	 * tvm_ffi. */
	/* Names in the wheels of TVM; each release has some of them. */
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

/* A word with a path names a program or library; any other word is a symbol name or a pattern of
 * them. */
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

/* Whether the name is an AMD processor, without features. */
static bool is_amd_processor(const char *arch)
{
	struct mpk_span name = mpk_span_of(arch, strcspn(arch, ":"));
	const char *known;

	for (size_t i = 0; (known = mpk_amdgpu_processor(i)) != NULL; i++)
		if (mpk_span_is(name, known))
			return true;
	return false;
}

/* compute_90 is not a device but PTX for future devices. */
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

	/* An unknown device: lists the most similar names. */
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

/* Splits a comma-separated list into words; NULL if memory is out. */
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

/* Lists all architectures from all options that give some. */
static enum mpk_code list_devices(const struct minspect_options *o, struct mpk_arena *arena,
				  const char ***out, size_t *count, struct mpk_error *err)
{
	size_t most = 0, n;

	*count = 0;
	for (size_t i = 0; i < o->devices_there.count; i++)
		for (const char *p = o->devices_there.items[i].value - 1; p; p = strchr(p + 1, ','))
			most++;
	MPK_TRY_ARRAY(*out, arena, most + 1, err);
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

/* Parses "abi3", "abi3-3.9". */
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

/* Sets what all targets share: the libraries are opened once. */
static int set_common(const struct minspect_options *o, struct mpk_arena *arena,
		      struct mpk_there *out)
{
	int status = set_machine(o->machine, out);

	out->strict = o->strict;
	out->allow_part = o->allow_part;
	out->has_release = o->releases.count > 0; /* then no runtime of this machine is used */
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
	devices += !devices; /* archs ends with NULL: no device */
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

static int minspect_places_set(const struct minspect_options *o, struct mpk_arena *arena,
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

static void check_fini(struct mpk_check_result *result)
{
	mpk_report_fini(&result->report);
}

static int status_of(enum mpk_check_outcome outcome)
{
	return mpk_check_outcome_is_error(outcome) ? MPK_EXIT_DIFFERENT
	       : outcome == MPK_CHECK_NOTHING      ? MPK_EXIT_NO_BLOB
						   : MPK_EXIT_OK;
}

/* Results of files that are kept until the number of lines is known. */
enum { DETAILS_MOST = 64 << 10, DETAILS_LINES = 6, DETAILS_OF_ABI = 36 };

/* Keeps the result of a file among several until all are there. */
static void take_result(const struct minspect_options *o, struct minspect_look *l,
			struct mpk_check_result *result, size_t place)
{
	struct minspect_places *places = l->user;
	struct mpk_error err = { 0 };

	places->failed |= mpk_check_set_add(&places->set, result, place, &err) != MPK_OK;
	if (l->json || !l->in_set)
		minspect_answer(o, l, &mpk_answer_check, result);
	else if (o->all || (places->details.len < DETAILS_MOST &&
			    mpk_check_outcome(result) != MPK_CHECK_NOTHING))
		mpk_answer_check.text(result, minspect_style(), &places->details);
}

static int check_file(const struct minspect_options *o, struct minspect_look *l, size_t i,
		      struct mpk_check_code *code)
{
	MPK_CLEANUP(check_fini) struct mpk_check_result result = { 0 };
	struct minspect_places *places = l->user;
	struct mpk_there *there = &places->items[i];
	struct mpk_error err = { 0 };

	there->is_one_of_several = l->in_set;
	places->is_set |= l->in_set;
	if (mpk_check_run(l->view, &l->file->map, there, &l->file->arena, code, &result, &err) !=
	    MPK_OK) {
		mpk_error_at_file(&err, l->file->name);
		return minspect_report(l, &err);
	}
	take_result(o, l, &result, i);
	return l->in_set ? MPK_EXIT_OK : status_of(mpk_check_outcome(&result));
}

/* Checks one file: a verdict for each target, each an entry of its own in a document. */
static int minspect_check_look(const struct minspect_options *o, struct minspect_look *l)
{
	struct minspect_places *places = l->user;
	struct mpk_check_code code = { 0 };
	int status = MPK_EXIT_OK;

	minspect_siblings_enter(places->siblings, l->archive);
	for (size_t i = 0; i < places->count; i++) {
		/* minspect_each made the entry of the first target. */
		if (l->json && i)
			l->at = mpk_json_object(l->json, l->files, NULL);
		int got = check_file(o, l, i, &code);

		status = status == MPK_EXIT_DIFFERENT || !got ? status : got;
	}
	return status;
}

/* --- all files together ------------------------------------------------------------------ */

/* Sums up the results once. Both functions below call it, in either order. */
static bool end_set(struct minspect_places *p)
{
	struct mpk_error err = { 0 };

	if (!p->is_ended)
		p->failed |= mpk_check_set_sum(&p->set, &err) != MPK_OK;
	p->is_ended = true;
	return !p->failed;
}

/* For a single file at a single target, the verdict's sentence names the file. */
static void put_json(const struct minspect_places *p, struct mpk_json *j, struct mpk_json_at *at)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf verdict = { 0 };

	if (p->items[0].device)
		mpk_answer_check_set.json(&p->set, j, at);
	if (p->is_set || p->set.count != 1)
		mpk_check_set_put_verdict(&p->set, &verdict);
	else
		mpk_strbuf_puts(&verdict, p->set.items[0].sentence);
	mpk_json_text(j, at, "verdict", mpk_strbuf_text(&verdict));
}

static int minspect_check_end(const struct minspect_options *o, struct minspect_look *l)
{
	struct minspect_places *p = l->user;
	struct mpk_error err = { 0 };

	if (!end_set(p))
		return mpk_diag_error((mpk_fail_nomem(&err), &err));
	if (l->json && o->json_lines)
		put_json(p, l->json, l->json->root);
	return p->is_set ? status_of(mpk_check_set_outcome(&p->set)) : MPK_EXIT_OK;
}

static void check_sum(const struct minspect_options *o, struct minspect_look *l)
{
	struct minspect_places *p = l->user;

	if (!end_set(p))
		return;
	if (l->json) {
		put_json(p, l->json, l->at);
	} else if (p->is_set) {
		/* with --abi, the short form would omit the notes with the system requirements of
		 * each file */
		p->set.is_short = mpk_span_count(mpk_span_of(p->details.data, p->details.len),
						 '\n') <= (o->abi ? DETAILS_OF_ABI : DETAILS_LINES);
		minspect_answer(o, l, &mpk_answer_check_set, &p->set);
		if (p->set.is_short || o->all)
			mpk_strbuf_puts(l->out, mpk_strbuf_text(&p->details));
		l->out->failed |= p->details.failed;
	}
}

/* Returns the name of the set: the only operand, or the number of operands. */
static const char *name_of(const struct minspect_options *o, struct mpk_arena *arena)
{
	size_t len = o->file_count && o->folder_lens ? o->folder_lens[0] : 0;

	while (len > 1 && o->files[0][len - 1] == '/')
		len--;
	if (len)
		return mpk_arena_text(arena, mpk_span_of(o->files[0], len));
	return o->file_count == 1 ? o->files[0]
				  : mpk_arena_printf(arena, "%zu files", o->file_count);
}

int minspect_check(const struct minspect_options *o)
{
	const struct minspect_action action = { .look = minspect_check_look,
						.end = minspect_check_end,
						.sum = check_sum,
						.is_cut = true,
						.takes_libraries = true,
						.takes_cut = true,
						.each_model = true,
						.takes_any = o->abi != NULL };
	struct mpk_arena arena = { 0 };
	struct mpk_there common = { 0 };
	struct minspect_places places = { .arena = &arena };
	struct minspect_siblings siblings = { 0 };
	struct mpk_error err = { 0 };
	int status = minspect_places_set(o, &arena, &common, &places);

	places.set = (struct mpk_check_set){ .name = name_of(o, &arena),
					     .places = places.items,
					     .device_count = places.devices,
					     .all = o->all,
					     .arena = &arena };
	if (status == MPK_EXIT_OK && !places.set.name)
		status = mpk_diag_error((mpk_fail_nomem(&err), &err));
	if (status == MPK_EXIT_OK) {
		minspect_siblings_init(&siblings, o, &places);
		status = minspect_each(o, &action, &places);
	}
	minspect_siblings_fini(&siblings);
	for (struct mpk_dso *d = common.runtimes; d; d = d->next)
		mpk_dso_close(d);
	for (struct mpk_dso *d = common.hosts; d; d = d->next)
		mpk_dso_close(d);
	mpk_check_set_fini(&places.set);
	mpk_strbuf_fini(&places.details);
	mpk_arena_fini(&arena);
	return status;
}
