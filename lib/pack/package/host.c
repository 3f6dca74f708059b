/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - the sources of host modules with their flags, and the libraries that they are linked with
 *
 * All of it is for the compiler and the linker: here files are only looked for, so that a slip is found with its
 * position and together with all others.
 */
#include <string.h>

#include "package/internal/package.h"

/* The flags of one module, for C and for C++, which differ in the standard. */
struct flags {
	struct mpk_words c, cxx;
};

static void put_word(struct mpk_loader *l, const char **words, size_t *count, const char *prefix,
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
		put_word(l, words, &count, "-std=", m->std.text);
	for (size_t i = 0; i < m->defines.count; i++)
		put_word(l, words, &count, "-D", m->defines.items[i].text);
	for (size_t i = 0; i < m->include.count; i++)
		put_word(l, words, &count, "-I", folders[i]);
	for (size_t i = 0; i < m->cflags.count; i++)
		put_word(l, words, &count, "", m->cflags.items[i].text);
	return (struct mpk_words){ words, count };
}

/* Each folder is looked for once, whichever languages the module has. */
static struct flags module_flags(struct mpk_loader *l, const struct mpk_manifest_module *m)
{
	const char **folders = mpk_arena_array(l->arena, m->include.count + 1, sizeof *folders);

	l->failed |= !folders;
	if (!folders)
		return (struct flags){ 0 };
	for (size_t i = 0; i < m->include.count; i++)
		folders[i] = mpk_loader_look_for(l, m->include.items[i], false);
	return (struct flags){ host_flags(l, m, folders, false), host_flags(l, m, folders, true) };
}

/* Only what a compiler of C or C++ reads is compiled with flags. */
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

/* "m" is a library of the system, "lib/libown.so" a file of the package. */
static const char *library(struct mpk_loader *l, struct mpk_toml_str name)
{
	const char *word = strchr(name.text, '/') ? mpk_loader_look_for(l, name, true)
						  : mpk_arena_printf(l->arena, "-l%s", name.text);

	l->failed |= !word;
	return word;
}

void mpk_loader_list_sources(struct mpk_loader *l, const bool *unreached, struct mpk_package *out)
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
			const char *path = mpk_loader_look_for(l, m->sources.items[k], true);

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
