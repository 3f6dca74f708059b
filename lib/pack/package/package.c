/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a manifest and its files as a tree and a blob. Files are read from the manifest's folder,
 * or given in memory.
 *
 * An error does not end the load: the rest is still checked, so that one run reports everything. */
#include "package/package.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "manifest/manifest.h"
#include "package/internal/package.h"
#include "text/escape.h"

/* --- files ------------------------------------------------------------------------ */

/* Returns the path that opens a file of the manifest from the current folder; NULL: out of memory.
 *         Every such path is recorded as an input of the package, which a depfile lists. */
static const char *loader_path(struct mpk_loader *l, struct mpk_toml_str name)
{
	const char *dir = name.text[0] == '/' ? "" : l->manifest->dir;

	/* Here "-" names a file; only command lines use it for standard input. Compilers take
	 * "-x.c" for an option and "@x.c" for a file of options. */
	if (!dir[0] && (name.text[0] == '-' || name.text[0] == '@'))
		dir = "./";
	const char *path = mpk_arena_printf(l->arena, "%s%s", dir, name.text);
	if (!path || !MPK_VEC_ROOM(l->inputs, l->input_count, l->input_cap)) {
		l->failed = true;
		return NULL;
	}
	return l->inputs[l->input_count++] = path;
}

void mpk_loader_error(struct mpk_loader *l, struct mpk_pos pos, enum mpk_code code,
		      const char *check, const char *fmt, ...)
{
	struct mpk_error err = { .code = code, .at = { .line = pos.line, .column = pos.column } };
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(err.text, sizeof err.text, fmt, ap);
	va_end(ap);
	mpk_error_at_file(&err, l->manifest->path);
	mpk_report_add(l->report, MPK_ERROR, check, &err);
}

static const struct mpk_memory_file *loader_memory_file(const struct mpk_loader *l,
							struct mpk_toml_str name)
{
	size_t i;

	return mpk_strmap_find(&l->memory_names, mpk_toml_str_span(name), &i) ? &l->memory_files[i]
									      : NULL;
}

/* There is one struct for each path, so that all modules that name a file see the same bytes, and
 * its code is read once. */
static struct mpk_file *package_remember(struct mpk_loader *l, struct mpk_file *f)
{
	size_t ignored;

	if (mpk_strmap_put(&l->opened, mpk_span_str(f->path), (size_t)f, &ignored) < 0)
		l->failed = true;
	return f;
}

struct mpk_file *mpk_loader_open(struct mpk_loader *l, struct mpk_toml_str name)
{
	const struct mpk_memory_file *memory = loader_memory_file(l, name);
	const char *path = loader_path(l, name);
	struct mpk_error err = { 0 };
	struct mpk_file *f;

	if (!path)
		return NULL;

	/* A map stores numbers. The number here is the struct's address, valid as long as the
	 * arena. */
	size_t at;

	f = mpk_strmap_find(&l->opened, mpk_span_str(path), &at) ? (struct mpk_file *)at : NULL;
	if (f)
		return f;
	f = mpk_arena_alloc(l->arena, sizeof *f);

	if (!f) {
		l->failed = true;
		return NULL;
	}
	if (memory) { /* nothing to close, so it is not listed */
		*f = (struct mpk_file){ .map = { .bytes = memory->bytes, .fd = -1 }, .path = path };
		return package_remember(l, f);
	}
	if (mpk_mapping_open(path, &f->map, &err) != MPK_OK) {
		mpk_loader_error(l, name.pos, err.code, "payload-file", "'%s': %s",
				 MPK_QUOTE(mpk_toml_str_span(name)), err.text);
		return NULL;
	}
	/* a package may have more small files than a process has descriptors */
	if (f->map.bytes.len < MPK_LARGE_BYTES)
		mpk_mapping_close_file(&f->map);
	f->path = path;
	f->next = l->files;
	l->files = f;
	return package_remember(l, f);
}

/* Reads the code of each file once, when the first module asks: reading a fatbin may take longer
 * than copying it. */
const struct mpk_code_info *mpk_loader_code(struct mpk_loader *l, struct mpk_file *f)
{
	struct mpk_code_info *code;

	if (f->code)
		return f->code;
	code = mpk_arena_alloc(l->arena, sizeof *code);
	if (!code || mpk_code_info_read(f->map.bytes, 0, NULL, l->arena, code, NULL) != MPK_OK) {
		l->failed = true;
		return NULL;
	}
	return f->code = code;
}

/* --- files that are named but not read ------------------------------------------------- */

/* Only checks that a file for the compiler exists, so that a wrong name is reported here with its
 * position, together with all other findings. */
static const char *loader_look_for(struct mpk_loader *l, struct mpk_toml_str name, bool is_input)
{
	const char *path = loader_path(l, name);

	if (!path)
		return NULL;
	l->input_count -= !is_input; /* it was recorded last, so it can be removed again */
	if (!loader_memory_file(l, name) && access(path, R_OK) != 0)
		mpk_loader_error(l, name.pos, MPK_E_IO, "source-file", "'%s': cannot read: %s",
				 MPK_QUOTE(mpk_toml_str_span(name)), strerror(errno));
	return path;
}

/* --- host code: sources with their flags, and libraries ------------------------------- */

/* Checks that the files for compiler and linker exist, so that a wrong name is reported with its
 * position. */

/* The flags of one module, for C and for C++, which differ in the standard. */
struct flags {
	struct mpk_words c, cxx;
};

static void put_flag(struct mpk_loader *l, const char **words, size_t *count, const char *prefix,
		     const char *text)
{
	const char *word = text ? mpk_arena_printf(l->arena, "%s%s", prefix, text) : NULL;

	l->failed |= !word;
	if (word)
		words[(*count)++] = word;
}

static struct mpk_words host_flags(struct mpk_loader *l, const struct mpk_manifest_module *m,
				   const char *const *folders, bool is_cxx)
{
	size_t most = m->cflags.count + m->include.count + m->defines.count + 1, count = 0;
	const char **words = mpk_arena_array(l->arena, most, sizeof *words);

	l->failed |= !words;
	if (!words)
		return (struct mpk_words){ 0 };
	if (m->std.text && is_cxx == (strstr(m->std.text, "++") != NULL))
		put_flag(l, words, &count, "-std=", m->std.text);
	for (size_t i = 0; i < m->defines.count; i++)
		put_flag(l, words, &count, "-D", m->defines.items[i].text);
	for (size_t i = 0; i < m->include.count; i++)
		put_flag(l, words, &count, "-I", folders[i]);
	for (size_t i = 0; i < m->cflags.count; i++)
		put_flag(l, words, &count, "", m->cflags.items[i].text);
	return (struct mpk_words){ words, count };
}

/* Checks each folder once, even if the module has sources in several languages. */
static struct flags module_flags(struct mpk_loader *l, const struct mpk_manifest_module *m)
{
	const char **folders = mpk_arena_array(l->arena, m->include.count + 1, sizeof *folders);

	l->failed |= !folders;
	if (!folders)
		return (struct flags){ 0 };
	for (size_t i = 0; i < m->include.count; i++)
		folders[i] = loader_look_for(l, m->include.items[i], false);
	return (struct flags){ host_flags(l, m, folders, false), host_flags(l, m, folders, true) };
}

/* Returns the flags for a source. Only sources for a C or C++ compiler get flags. */
static struct mpk_words source_flags(const struct flags *f, const char *path)
{
	const char *dot = path ? strrchr(path, '.') : NULL;

	if (dot && strcmp(dot, ".c") == 0)
		return f->c;
	if (dot &&
	    (strcmp(dot, ".cc") == 0 || strcmp(dot, ".cpp") == 0 || strcmp(dot, ".cxx") == 0))
		return f->cxx;
	return (struct mpk_words){ 0 };
}

/* Returns the linker's word for a library: "m" is a system library, "lib/libown.so" a file of the
 *         package. */
static const char *library(struct mpk_loader *l, struct mpk_toml_str name)
{
	const char *word = strchr(name.text, '/') ? loader_look_for(l, name, true)
						  : mpk_arena_printf(l->arena, "-l%s", name.text);

	l->failed |= !word;
	return word;
}

/* @unreached  for each module, whether it cannot be reached from the root and so is not part of the
 *             package */
static void list_sources(struct mpk_loader *l, const bool *unreached, struct mpk_package *out)
{
	size_t most = 0, most_libraries = 0;

	for (size_t i = 0; i < l->manifest->module_count; i++) {
		most += l->manifest->modules[i].sources.count;
		most_libraries += l->manifest->modules[i].libs.count;
	}
	struct mpk_host_source *sources = mpk_arena_array(l->arena, most, sizeof *sources);
	const char **libraries = mpk_arena_array(l->arena, most_libraries + 1, sizeof *libraries);
	if (!sources || !libraries) {
		l->failed = true;
		return;
	}
	for (size_t i = 0; i < l->manifest->module_count; i++) {
		const struct mpk_manifest_module *m = &l->manifest->modules[i];
		struct flags flags;

		if (unreached[i])
			continue;
		flags = module_flags(l, m);
		for (size_t k = 0; k < m->sources.count; k++) {
			const char *path = loader_look_for(l, m->sources.items[k], true);

			sources[out->source_count++] = (struct mpk_host_source){
				.path = path,
				.flags = source_flags(&flags, path),
				.module = i,
				.pos = m->sources.items[k].pos,
			};
		}
		for (size_t k = 0; k < m->libs.count; k++)
			libraries[out->libraries.count++] = library(l, m->libs.items[k]);
	}
	out->sources = sources;
	out->libraries.items = libraries;
}

/* --- modules ------------------------------------------------------------------------------- */

/* Copies the modules into memory in which tables may grow. */
static struct mpk_manifest_module *own_modules(struct mpk_loader *l, struct mpk_manifest *manifest)
{
	size_t count = manifest->module_count;
	struct mpk_manifest_module *own = mpk_arena_array(l->arena, count, sizeof *own);

	if (own && count)
		memcpy(own, manifest->modules, count * sizeof *own);
	if (own)
		manifest->modules = own;
	return own;
}

/* Modules that the manifest's checks refused get an empty content, so that indices remain the
 * manifest's. */
static struct mpk_module *load_modules(struct mpk_loader *l, struct mpk_manifest_module *own)
{
	size_t count = l->manifest->module_count;
	/* one more, because launch functions may add a host module */
	struct mpk_module *modules = mpk_arena_array(l->arena, count + 1, sizeof *modules);
	struct mpk_rope *ropes = mpk_arena_array(l->arena, count, sizeof *ropes);

	if (!modules || !ropes)
		return NULL;
	l->contents = ropes;
	l->code = mpk_arena_array(l->arena, count, sizeof(const struct mpk_code_kernel **));
	if (!l->code)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		struct mpk_manifest_module *m = &own[i];

		ropes[i] = mpk_rope_of(l->arena);
		if (!m->is_host && m->valid)
			mpk_loader_put_payload(l, m, &ropes[i]);
		else if (!m->is_host) {
			/* A module with other errors cannot be packed, but missing files are still
			 * reported. */
			if (m->payload.text)
				(void)loader_look_for(l, m->payload, true);
			if (m->data.text)
				(void)loader_look_for(l, m->data, true);
		}
		l->failed |= ropes[i].failed;
		modules[i] = (struct mpk_module){
			.name = mpk_toml_str_span(m->id),
			.kind = mpk_toml_str_span(m->key),
			.is_host = m->is_host,
			.content = m->is_host ? NULL : &ropes[i],
			.imports = m->import_index,
			.import_count = m->imports.count,
		};
	}
	return modules;
}

/* --- the whole ------------------------------------------------------------------------------ */

/* Returns the first error; errors about contents take precedence over missing files. */
static enum mpk_code fail_with_first(const struct mpk_report *report, size_t from,
				     struct mpk_error *err)
{
	const struct mpk_error *first = NULL;

	for (size_t i = from; i < report->count; i++) {
		const struct mpk_finding *f = &report->findings[i];

		if (f->severity == MPK_ERROR &&
		    (!first || (first->code == MPK_E_IO && f->error.code != MPK_E_IO)))
			first = &f->error;
	}
	if (!first)
		return mpk_fail(err, MPK_E_SYNTAX, "the package has errors");
	if (err)
		*err = *first;
	return first->code;
}

/* The order matters: launch functions need the code that modules have read, and the order of the
 * tree needs both. */
static enum mpk_code package_build(struct mpk_loader *l, struct mpk_package *out,
				   struct mpk_error *err)
{
	const struct mpk_manifest *manifest = l->manifest;
	size_t count = manifest->module_count, root = manifest->root_index;
	bool *unreached = mpk_arena_array(l->arena, count + 1, sizeof *unreached);
	struct mpk_manifest_module *own = own_modules(l, &out->manifest);
	struct mpk_module *modules = own ? load_modules(l, own) : NULL;

	MPK_TRY_ALLOC(modules && unreached, err);
	mpk_loader_finish(l, modules, &count, &root, out);
	struct mpk_graph graph = { modules, count, root, manifest->keep_order };
	if (manifest->valid) {
		MPK_TRY(mpk_graph_order(&graph, manifest->gen, l->arena, &out->tree, unreached,
					err));
		out->needs_blob = mpk_graph_needs_blob(&graph, &out->tree);
	}

	/* Each node's content is one of the ropes of load_modules, in the order of the manifest. */
	size_t *of = mpk_arena_array(l->arena, out->tree.count, sizeof *of);

	MPK_TRY_ALLOC(of, err);
	for (size_t i = 0; i < out->tree.count; i++) {
		const struct mpk_rope *content = out->tree.nodes[i].content;

		of[i] = content ? (size_t)(content - l->contents) : SIZE_MAX;
	}
	out->node_module = of;

	list_sources(l, unreached, out);
	if (manifest->base.text)
		out->base = loader_look_for(l, manifest->base, true);
	return MPK_OK;
}

/* Moves the list from the heap, where it was collected, into the caller's arena. */
static bool keep_inputs(struct mpk_loader *l, struct mpk_package *out)
{
	const char **inputs = mpk_arena_array(l->arena, l->input_count, sizeof *inputs);

	if (!inputs)
		return false;
	if (l->input_count)
		memcpy(inputs, l->inputs, l->input_count * sizeof *inputs);
	out->inputs = inputs;
	out->input_count = l->input_count;
	return true;
}

static enum mpk_code package_load(struct mpk_loader *l, struct mpk_package *out,
				  struct mpk_error *err)
{
	enum mpk_code code = package_build(l, out, err);
	bool kept = keep_inputs(l, out);

	free(l->inputs);
	out->files = l->files;
	if (code == MPK_OK && (!kept || l->failed || l->report->failed))
		return mpk_fail_nomem(err);
	return code;
}

static bool name_memory_files(struct mpk_loader *l, size_t count)
{
	size_t found;

	for (size_t i = 0; i < count; i++)
		if (mpk_strmap_put(&l->memory_names, mpk_span_str(l->memory_files[i].name), i,
				   &found) < 0)
			return false;
	return true;
}

static void loader_fini(struct mpk_loader *l)
{
	mpk_strmap_fini(&l->memory_names);
	mpk_strmap_fini(&l->opened);
}

/* A manifest with mistakes is still loaded as far as possible: MPK_E_SYNTAX is returned at the
 * end, with all findings in the report. */
enum mpk_code mpk_package_load(const struct mpk_package_input *input, struct mpk_arena *arena,
			       struct mpk_report *report, struct mpk_package *out,
			       struct mpk_error *err)
{
	MPK_CLEANUP(loader_fini)
	struct mpk_loader l = {
		.manifest = &out->manifest,
		.arena = arena,
		.report = report,
		.memory_files = input->memory_files,
		.letters_left = MPK_LOADER_LETTERS,
	};
	size_t errors = report->errors, from = report->count;
	enum mpk_code code;

	*out = (struct mpk_package){ .blob = mpk_rope_of(arena) };
	code = mpk_manifest_parse(input->text, input->path, input->granted, arena, report,
				  &out->manifest, err);
	if (code != MPK_OK && code != MPK_E_SYNTAX)
		return code;
	if (input->gen)
		out->manifest.gen = *input->gen;
	MPK_TRY_ALLOC(name_memory_files(&l, input->memory_file_count), err);
	if (out->manifest.module_count)
		MPK_TRY(package_load(&l, out, err));
	if (report->errors != errors)
		return fail_with_first(report, from, err);
	return out->needs_blob ? mpk_blob_write(&out->tree, &out->blob, err) : MPK_OK;
}

void mpk_package_close(struct mpk_package *package)
{
	for (struct mpk_file *f = package->files; f; f = f->next)
		mpk_mapping_close(&f->map);
	package->files = NULL;
}
