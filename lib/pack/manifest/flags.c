/* SPDX-License-Identifier: Apache-2.0 */
/* flags.c - what a host module says to the compiler and the linker
 *
 * A manifest may come from elsewhere, and is read by a process that is not believed. So flags are those that say how
 * code is compiled, never which program does it or where its files go: who needs others gives them on the command line.
 */
#include <string.h>

#include "base/compiler.h"
#include "manifest/internal/schema.h"
#include "text/escape.h"

#define QUOTE(mstr) MPK_QUOTE(mpk_toml_str_span(mstr))

static bool flags_are_of(const char *text, const char *others)
{
	for (; *text; text++)
		if (!((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
		      (*text >= '0' && *text <= '9') || strchr(others, *text)))
			return false;
	return true;
}

static bool flags_begin_with(const char *text, const char *const *prefixes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

/* "NAME" or "NAME=VALUE" */
static bool is_define(const char *text)
{
	size_t len = strcspn(text, "=");

	for (size_t i = 0; i < len; i++)
		if (!((text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z') ||
		      text[i] == '_' || (i && text[i] >= '0' && text[i] <= '9')))
			return false;
	return len > 0 && !strpbrk(text, "\n\r");
}

static bool is_cflag(const char *flag)
{
	static const char *const whole[] = { "-pthread", "-w", "-ansi" };
	static const char *const fine[] = { "-O", "-g", "-f", "-m", "-W", "-std=", "-pedantic" };
	static const char *const others[] = { "-fplugin",  "-fpass-plugin",  "-fuse-ld",
					      "-fprofile", "-fdump",         "-fmodule",
					      "-foffload", "-fauto-profile", "-ftest-coverage",
					      "-mllvm",    "-mmlir",         "-gen",
					      "-fcrash",   "-fsave" };

	if (strncmp(flag, "-D", 2) == 0 || strncmp(flag, "-U", 2) == 0)
		return is_define(flag + 2);
	if (strncmp(flag, "-I", 2) == 0) /* made of 'include' */
		return flag[2] != 0 && !strpbrk(flag, "\n\r");
	for (size_t i = 0; i < MPK_ARRAY_COUNT(whole); i++)
		if (strcmp(flag, whole[i]) == 0)
			return true;
	/* no comma: "-Wl," and its like pass words on */
	return flags_begin_with(flag, fine, MPK_ARRAY_COUNT(fine)) &&
	       !flags_begin_with(flag, others, MPK_ARRAY_COUNT(others)) &&
	       flags_are_of(flag, "-=+_.");
}

bool mpk_manifest_allows(enum mpk_manifest_word kind, const char *word)
{
	if (kind != MPK_WORD_LIBRARY)
		return kind == MPK_WORD_ANY || is_cflag(word);
	if (strncmp(word, "-l", 2) == 0)
		return word[2] != 0 && word[2] != '-' && flags_are_of(word + 2, "-+_.");
	return *word && *word != '-' && *word != '@';
}

/* --- the keys of a module ------------------------------------------------------------------------ */

static bool has_source(const struct mpk_manifest_module *m, const char *const *suffixes)
{
	for (size_t i = 0; i < m->sources.count; i++) {
		const char *dot = strrchr(m->sources.items[i].text, '.');

		for (size_t k = 0; dot && suffixes[k]; k++)
			if (strcmp(dot, suffixes[k]) == 0)
				return true;
	}
	return false;
}

static void check_cflags(struct mpk_toml_reader *r, const struct mpk_manifest_module *m)
{
	for (size_t i = 0; i < m->cflags.count; i++) {
		struct mpk_toml_str flag = m->cflags.items[i];

		if (strncmp(flag.text, "-I", 2) == 0)
			mpk_toml_read_error(
				r, flag.pos, "cflags",
				"folders with headers are given in 'include', not as '%s'",
				QUOTE(flag));
		else if (!is_cflag(flag.text))
			mpk_toml_read_error(
				r, flag.pos, "cflags",
				"'%s' is no flag for a manifest: those begin with -O, -g, -f, -m, -W, -D or -U and name no program and no file; --cflag takes it",
				QUOTE(flag));
	}
	for (size_t i = 0; i < m->defines.count; i++)
		if (!is_define(m->defines.items[i].text))
			mpk_toml_read_error(
				r, m->defines.items[i].pos, "cflags",
				"'%s' defines no macro: it is \"NAME\" or \"NAME=VALUE\"",
				QUOTE(m->defines.items[i]));
}

/* One standard is of one language, and there must be a source in it. */
static void check_std(struct mpk_toml_reader *r, const struct mpk_manifest_module *m)
{
	static const char *const c[] = { ".c", NULL };
	static const char *const cxx[] = { ".cc", ".cpp", ".cxx", NULL };
	const char *std = m->std.text;
	bool is_cxx = std && strstr(std, "++");

	if (!std)
		return;
	if ((strncmp(std, "c", 1) != 0 && strncmp(std, "gnu", 3) != 0 &&
	     strncmp(std, "iso", 3) != 0) ||
	    !flags_are_of(std, "+:"))
		mpk_toml_read_error(r, m->std.pos, "cflags",
				    "'%s' is no standard: as in \"c17\" or \"gnu++20\"",
				    QUOTE(m->std));
	else if (!has_source(m, is_cxx ? cxx : c))
		mpk_toml_read_error(r, m->std.pos, "cflags",
				    "'%s' is a standard of %s, and none of the sources is %s",
				    QUOTE(m->std), is_cxx ? "C++" : "C", is_cxx ? "C++" : "C");
}

/* "libown.so", which a linker would look for as "liblibown.so.so". */
static bool is_file_of_library(const char *name)
{
	const char *dot = strrchr(name, '.');

	return strstr(name, ".so.") ||
	       (dot && dot != name &&
		(strcmp(dot, ".so") == 0 || strcmp(dot, ".a") == 0 || strcmp(dot, ".o") == 0));
}

static void say_what_library(struct mpk_toml_reader *r, struct mpk_toml_str name)
{
	const char *dot = strstr(name.text, ".so"), *end = dot ? dot : strrchr(name.text, '.');

	if (strncmp(name.text, "lib", 3) == 0 && end > name.text + 3 && strcmp(end, ".o") != 0)
		mpk_toml_read_error(
			r, name.pos, "libs",
			"'%s' names a file; did you mean \"./%s\", a path, or \"%s\", a library of the system?",
			QUOTE(name), QUOTE(name),
			MPK_QUOTE(mpk_span_of(name.text + 3, (size_t)(end - name.text) - 3)));
	else
		mpk_toml_read_error(r, name.pos, "libs",
				    "'%s' names a file; did you mean \"./%s\", a path?",
				    QUOTE(name), QUOTE(name));
}

static void check_libs(struct mpk_toml_reader *r, const struct mpk_manifest_module *m)
{
	for (size_t i = 0; i < m->libs.count; i++) {
		const char *text = m->libs.items[i].text;

		if (strchr(text, '/'))
			continue;
		if (*text == '-' || !flags_are_of(text, "-+_."))
			mpk_toml_read_error(
				r, m->libs.items[i].pos, "libs",
				"'%s' is no library: a name as in \"m\", or a path such as \"lib/libown.so\"",
				QUOTE(m->libs.items[i]));
		else if (is_file_of_library(text))
			say_what_library(r, m->libs.items[i]);
	}
}

void mpk_manifest_flags_check(struct mpk_toml_reader *r, const struct mpk_manifest_module *m)
{
	static const char *const compiled[] = { ".c", ".cc", ".cpp", ".cxx", NULL };
	const struct {
		struct mpk_pos pos;
		const char *key;
		bool is_library;
	} keys[] = {
		{ m->cflags.pos, "cflags", false },   { m->include.pos, "include", false },
		{ m->defines.pos, "defines", false }, { m->std.pos, "std", false },
		{ m->libs.pos, "libs", true },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(keys); i++) {
		if (!keys[i].pos.line)
			continue;
		if (!m->is_host)
			mpk_toml_read_error(
				r, keys[i].pos, "misplaced-key",
				"'%s' has no place here: it is for sources of host modules",
				keys[i].key);
		else if (!keys[i].is_library && !has_source(m, compiled))
			mpk_toml_read_error(
				r, keys[i].pos, "misplaced-key",
				"'%s' has no place here: none of the sources is C or C++",
				keys[i].key);
	}
	if (!m->is_host)
		return;
	check_cflags(r, m);
	check_libs(r, m);
	if (has_source(m, compiled))
		check_std(r, m);
}
