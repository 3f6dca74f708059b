/* SPDX-License-Identifier: Apache-2.0 */
/* flags.c - the flags of a host module for compiler and linker
 *
 * A manifest may come from an untrusted place, and an untrusted process reads it. So only flags
 * that say how code is compiled are allowed, never flags that choose a program or a place for
 * files; those are given on the command line. */
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

/* --- what a compiler may be given: a list of what is fine. One of what is not would miss the next release's. ------ */

/* Flags of one letter: cflags.def. */
static const struct cflag {
	char letter;
	const char *name;
	bool alone;
	const char *values;
} cflags[] = {
#define LETTER_f 'f'
#define LETTER_g 'g'
#define LETTER_m 'm'
#define MPK_CFLAG(letter, name, alone, values) { LETTER_##letter, name, alone, values },
#include "manifest/cflags.def"
#undef MPK_CFLAG
};

/* @words   the allowed words, "a b c"; "#": any number; "*": any word */
static bool is_value(const char *value, const char *words)
{
	size_t len = strlen(value), n;

	if (strcmp(words, "#") == 0)
		return len && len == strspn(value, "0123456789");
	if (strcmp(words, "*") == 0)
		return len && flags_are_of(value, "._+-");
	for (; len && *words; words += n + (words[n] == ' ')) {
		n = strcspn(words, " ");
		if (n == len && memcmp(words, value, n) == 0)
			return true;
	}
	return false;
}

/* @name    the text after the letter: "no-NAME", "NAME=VALUE" */
static bool is_listed(char letter, const char *name)
{
	bool negated = strncmp(name, "no-", 3) == 0;
	const char *bare = negated ? name + 3 : name;
	size_t len = strcspn(bare, "=");

	for (size_t i = 0; i < MPK_ARRAY_COUNT(cflags); i++) {
		const struct cflag *f = &cflags[i];

		if (f->letter != letter || strlen(f->name) != len ||
		    memcmp(f->name, bare, len) != 0)
			continue;
		return bare[len] ? is_value(bare + len + 1, f->values) : f->alone || negated;
	}
	return false;
}

static bool is_cflag(const char *flag)
{
	static const char *const whole[] = {
		"-pthread", "-w",  "-ansi", "-pedantic", "-pedantic-errors",
		"-O",       "-O0", "-O1",   "-O2",       "-O3",
		"-Os",      "-Oz", "-Og",   "-Ofast",    "-g",
		"-g0",      "-g1", "-g2",   "-g3",
	};

	if (strncmp(flag, "-D", 2) == 0 || strncmp(flag, "-U", 2) == 0)
		return is_define(flag + 2);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(whole); i++)
		if (strcmp(flag, whole[i]) == 0)
			return true;
	if (strncmp(flag, "-std=", 5) == 0)
		return flag[5] && flags_are_of(flag + 5, "+:");
	if (strncmp(flag, "-W", 2) == 0) {
		/* Accepts "unused", "no-unused", "error=format", "format=2": no warning of any
		 * compiler names a file. -Wa, -Wl and -Wp pass words on, after a comma. */
		const char *name = flag + 2;
		size_t len = strcspn(name, "=");

		return *name >= 'a' && *name <= 'z' && len > 1 && flags_are_of(name, "+-=") &&
		       (!name[len] || (name[len + 1] && !strchr(name + len + 1, '=')));
	}
	return flag[0] == '-' && flag[1] && is_listed(flag[1], flag + 2);
}

static bool is_granted(const struct mpk_words *granted, const char *word)
{
	for (size_t i = 0; granted && i < granted->count; i++)
		if (strcmp(granted->items[i], word) == 0)
			return true;
	return false;
}

bool mpk_manifest_allows(enum mpk_manifest_word kind, const char *word,
			 const struct mpk_words *granted)
{
	if (kind == MPK_WORD_ANY)
		return true;
	if (kind == MPK_WORD_CFLAG)
		return (strncmp(word, "-I", 2) == 0 && word[2] && !strpbrk(word, "\n\r")) ||
		       is_cflag(word) || is_granted(granted, word);
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

/* A standard belongs to one language, and the module must have a source in that language. */
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

/* Refuses "libown.so", which a linker would look for as "liblibown.so.so". */
static bool is_file_of_library(const char *name)
{
	const char *dot = strrchr(name, '.');

	return strstr(name, ".so.") ||
	       (dot && dot != name &&
		(strcmp(dot, ".so") == 0 || strcmp(dot, ".a") == 0 || strcmp(dot, ".o") == 0));
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

	const struct mpk_words *granted = mpk_manifest_package(r)->granted;

	for (size_t i = 0; i < m->cflags.count; i++) {
		struct mpk_toml_str flag = m->cflags.items[i];

		if (strncmp(flag.text, "-I", 2) == 0)
			mpk_toml_read_error(
				r, flag.pos, "cflags",
				"folders with headers are given in 'include', not as '%s'",
				QUOTE(flag));
		else if (!is_cflag(flag.text) && !is_granted(granted, flag.text))
			mpk_toml_read_error(
				r, flag.pos, "cflags",
				"'%s' is none of the flags that a manifest may have, see mpack.toml(5); --allow-cflag allows it",
				QUOTE(flag));
	}
	for (size_t i = 0; i < m->defines.count; i++)
		if (!is_define(m->defines.items[i].text))
			mpk_toml_read_error(
				r, m->defines.items[i].pos, "cflags",
				"'%s' defines no macro: it is \"NAME\" or \"NAME=VALUE\"",
				QUOTE(m->defines.items[i]));

	for (size_t i = 0; i < m->libs.count; i++) {
		const char *text = m->libs.items[i].text;

		if (strchr(text, '/'))
			continue;
		if (*text == '-' || !flags_are_of(text, "-+_."))
			mpk_toml_read_error(
				r, m->libs.items[i].pos, "libs",
				"'%s' is no library: a name as in \"m\", or a path such as \"lib/libown.so\"",
				QUOTE(m->libs.items[i]));
		else if (is_file_of_library(text)) {
			struct mpk_toml_str name = m->libs.items[i];
			const char *dot = strstr(name.text, ".so"),
				   *end = dot ? dot : strrchr(name.text, '.');

			if (strncmp(name.text, "lib", 3) == 0 && end > name.text + 3 &&
			    strcmp(end, ".o") != 0)
				mpk_toml_read_error(
					r, name.pos, "libs",
					"'%s' names a file; did you mean \"./%s\", a path, or \"%s\", a library of the system?",
					QUOTE(name), QUOTE(name),
					MPK_QUOTE(mpk_span_of(name.text + 3,
							      (size_t)(end - name.text) - 3)));
			else
				mpk_toml_read_error(
					r, name.pos, "libs",
					"'%s' names a file; did you mean \"./%s\", a path?",
					QUOTE(name), QUOTE(name));
		}
	}

	if (has_source(m, compiled))
		check_std(r, m);
}
