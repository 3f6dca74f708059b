/* SPDX-License-Identifier: Apache-2.0 */
/* row.c - the keys of a [[module]], and the rules for them, which depend on the module's kind */
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/strmap.h"
#include "kernels/kernels.h"
#include "kinds.h"
#include "manifest/internal/schema.h"
#include "sourcecode/sourcecode.h"
#include "text/escape.h"

/* --- The flags that a host module gives to compiler and linker.
 *
 * A manifest may be untrusted. So only flags that affect how code is compiled are allowed, and no
 * flags that choose a program or a place for files. The user can give those on the command line. */

#define QUOTE(mstr) MPK_QUOTE(mpk_toml_str_span(mstr))

static bool flags_are_of(const char *text, const char *others)
{
	for (; *text; text++)
		if (!((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
		      (*text >= '0' && *text <= '9') || strchr(others, *text)))
			return false;
	return true;
}

/* Whether the text is "NAME" or "NAME=VALUE". */
static bool is_define(const char *text)
{
	size_t len = strcspn(text, "=");

	for (size_t i = 0; i < len; i++)
		if (!((text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z') ||
		      text[i] == '_' || (i && text[i] >= '0' && text[i] <= '9')))
			return false;
	return len > 0 && !strpbrk(text, "\n\r");
}

/* --- allowed compiler flags: a list of forbidden ones would miss flags of future releases ----- */

/* The allowed flags by their first letter, from cflags.def. */
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

/* @words   the allowed words, such as "a b c"; "#": any number; "*": any word */
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
		/* Accepts "unused", "no-unused", "error=format", "format=2": in no compiler does a
		 * warning name a file. Refuses -Wa, -Wl and -Wp, which pass the words after a comma
		 * to other programs. */
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

/* A standard belongs to one language, so the module must have a source in that language. */
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

/* Refuses "libown.so", for which a linker would search as "liblibown.so.so". */
static bool is_file_of_library(const char *name)
{
	const char *dot = strrchr(name, '.');

	return strstr(name, ".so.") ||
	       (dot && dot != name &&
		(strcmp(dot, ".so") == 0 || strcmp(dot, ".a") == 0 || strcmp(dot, ".o") == 0));
}

/* Checks the keys of a [[module]] for its compiler and linker. */
static void manifest_flags_check(struct mpk_toml_reader *r, const struct mpk_manifest_module *m)
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

enum { NAMES_MAX = 128 };

/* Returns the value of a key that only one kind has; its text is NULL for other kinds. */
struct mpk_toml_str mpk_manifest_module_extra(const struct mpk_manifest_module *module,
					      const char *key)
{
	for (size_t i = 0; i < module->extra_count; i++)
		if (strcmp(module->extras[i].key.text, key) == 0)
			return module->extras[i].value;
	return (struct mpk_toml_str){ 0 };
}

/* --- [[module]] --------------------------------------------------------------------- */

/* Reports a key that has no meaning for this kind. Its position shows whether the key is
 * present. */
static void row_refuse(struct mpk_toml_reader *r, struct mpk_pos pos, const char *key,
		       const char *because)
{
	if (pos.line)
		mpk_toml_read_error(r, pos, "misplaced-key", "'%s' has no place here: %s", key,
				    because);
}

static void refuse_functions(struct mpk_toml_reader *r, const struct mpk_manifest_module *m,
			     const char *because)
{
	if (m->function_count)
		row_refuse(r, m->functions[0].pos, "function", because);
}

static void refuse_extras(struct mpk_toml_reader *r, const struct mpk_manifest_module *m,
			  const char *because)
{
	for (size_t i = 0; i < m->extra_count; i++)
		row_refuse(r, m->extras[i].key.pos, MPK_QUOTE(mpk_toml_str_span(m->extras[i].key)),
			   because);
}

/* Checks only the suffix; whether the file exists is found out when it is opened. */
static void check_source(struct mpk_toml_reader *r, struct mpk_toml_str source)
{
	static const char *const suffixes[] = { ".ll",  ".bc",  ".c", ".cc",
						".cpp", ".cxx", ".o", ".a" };
	const char *dot = strrchr(source.text, '.');

	for (size_t i = 0; dot && i < MPK_ARRAY_COUNT(suffixes); i++)
		if (strcmp(dot, suffixes[i]) == 0)
			return;
	mpk_toml_read_error(r, source.pos, "source-suffix",
			    "'%s' is no host source: they end in .ll, .bc, .c, .cc, .cpp, .o or .a",
			    QUOTE(source));
}

/* The finding lists the formats that the kind accepts, because there are few. */
static void row_check_format(struct mpk_toml_reader *r, const struct mpk_manifest_module *m,
			     const struct mpk_manifest_kind *kind)
{
	struct mpk_span names[MPK_MANIFEST_KIND_FORMATS];
	char near[MPK_TOML_SUGGEST_BYTES], list[128] = "";
	size_t count = 0;

	if (!m->format.text)
		return;
	for (; count < MPK_MANIFEST_KIND_FORMATS && kind->formats[count]; count++) {
		names[count] = mpk_span_str(kind->formats[count]);
		if (mpk_span_equal(mpk_toml_str_span(m->format), names[count]))
			return;
		if (count)
			strncat(list, ", ", sizeof list - strlen(list) - 1);
		strncat(list, kind->formats[count], sizeof list - strlen(list) - 1);
	}
	mpk_toml_read_error(r, m->format.pos, "format",
			    "kind '%s' has no format '%s' (it has %s)%s", kind->name,
			    QUOTE(m->format), list,
			    mpk_toml_suggest(mpk_toml_str_span(m->format), names, count, near));
}

/* Whether every kernel has a file of its own. */
static bool has_own_data(const struct mpk_manifest_module *m)
{
	for (size_t i = 0; i < m->function_count; i++)
		if (!m->functions[i].data.text)
			return false;
	return m->function_count > 0;
}

static void row_check_device(struct mpk_toml_reader *r, const struct mpk_manifest_module *m,
			     const struct mpk_manifest_kind *kind)
{
	row_check_format(r, m, kind);

	/* The text is written as words of a comment line (sourcecode/sourcecode.h). */
	const struct mpk_toml_list *list = &m->nvrtc_options;

	if (list->present && strcmp(m->key.text, "cuda") != 0)
		row_refuse(r, list->pos, "nvrtc_options", "it is for CUDA source, kind 'cuda'");
	if (list->count > MPK_SOURCE_CODE_NVRTC_MAX)
		mpk_toml_read_error(r, list->pos, "nvrtc-options", "more than %d options",
				    MPK_SOURCE_CODE_NVRTC_MAX);
	for (size_t i = 0; i < list->count; i++) {
		struct mpk_toml_str option = list->items[i];

		if (option.text[0] != '-')
			mpk_toml_read_error(r, option.pos, "nvrtc-options",
					    "'%s' is no option of NVRTC: they begin with '-'",
					    QUOTE(option));
		for (size_t k = 0; k < option.len; k++) {
			if ((unsigned char)option.text[k] > ' ' && option.text[k] != 0x7f)
				continue;
			mpk_toml_read_error(
				r, option.pos, "nvrtc-options",
				"'%s' has a blank or a control character: give each word by itself, and '-DX=1', '-I/path' as one",
				QUOTE(option));
			break;
		}
	}

	refuse_extras(r, m, "no device kind has such a key");
	if (!m->data.text && !has_own_data(m))
		mpk_toml_read_error(r, m->pos, "missing-key",
				    "[[module]] of kind '%s' needs 'data' (or 'payload')",
				    kind->name);
	/* If there is a code file, the package completes the table or proposes rows. */
	if (!m->function_count && !m->data.text)
		mpk_toml_read_error(
			r, m->pos, "missing-key",
			"[[module]] of kind '%s' needs [[module.function]]: a code file does not say how its kernels are launched",
			kind->name);
}

/* Checks executors and metadata modules, which have no code but keys of their own. */
static void check_structured(struct mpk_toml_reader *r, const struct mpk_manifest_module *m,
			     const struct mpk_manifest_kind *kind)
{
	static const char why[] = "only device kinds have it";

	row_refuse(r, m->data.pos, "data", why);
	row_refuse(r, m->format.pos, "format", why);
	row_refuse(r, m->nvrtc_options.pos, "nvrtc_options", why);
	refuse_functions(r, m, why);

	static const char *const common[] = { "id", "kind", "imports", "payload" };
	struct mpk_span names[MPK_ARRAY_COUNT(common) + MPK_MANIFEST_KIND_KEYS];
	char what[96];
	size_t count = 0, known = 0;

	for (; known < MPK_MANIFEST_KIND_KEYS && kind->keys[known].name; known++) {
		const struct mpk_manifest_kind_key *key = &kind->keys[known];

		names[count++] = mpk_span_str(key->name);
		if (key->required && !mpk_manifest_module_extra(m, key->name).text)
			mpk_toml_read_error(r, m->pos, "missing-key",
					    "[[module]] of kind '%s' needs '%s' (or 'payload')",
					    kind->name, key->name);
	}
	for (size_t i = 0; i < MPK_ARRAY_COUNT(common); i++)
		names[count++] = mpk_span_str(common[i]);
	(void)snprintf(what, sizeof what, "[[module]] of kind '%s'", kind->name);
	for (size_t i = 0; i < m->extra_count; i++) {
		size_t k = 0;

		while (k < known && !mpk_span_equal(mpk_toml_str_span(m->extras[i].key), names[k]))
			k++;
		if (k == known)
			mpk_toml_read_unknown(r, what, m->extras[i].key, names, count);
	}
}

/* Returns the kind for a word that users may write instead: a file type, a language or a vendor. */
static const char *kind_of_word(struct mpk_span word)
{
	static const struct {
		const char *word, *kind;
	} others[] = {
		{ "cpu", MPK_KIND_HOST },
		{ "llvm", MPK_KIND_HOST },
		{ "c++", MPK_KIND_HOST },
		{ "cpp", MPK_KIND_HOST },
		{ "_lib", MPK_KIND_HOST },
		{ "object", MPK_KIND_HOST },
		{ "cu", "cuda" },
		{ "gpu", "cuda" },
		{ "nvidia", "cuda" },
		{ "nvptx", "cuda" },
		{ "nvcc", "cuda" },
		{ "ocl", "opencl" },
		{ "clc", "opencl" },
		{ "spirv", "vulkan" },
		{ "spv", "vulkan" },
		{ "amdgpu", "hip" },
		{ "graph", "GraphExecutorFactory" },
	};
	for (size_t i = 0; i < MPK_ARRAY_COUNT(others); i++)
		if (mpk_span_is(word, others[i].word))
			return others[i].kind;
	for (const struct mpk_manifest_kind *kind = mpk_manifest_kinds; kind->name; kind++)
		for (size_t k = 0; k < MPK_MANIFEST_KIND_FORMATS && kind->formats[k]; k++)
			if (mpk_span_is(word, kind->formats[k]))
				return kind->name;
	return NULL;
}

/* Returns the kind that was probably meant, or NULL. */
/* Searches the kinds that are built from parts, and TVM's kinds that are given as bytes. */
static const char *nearest_kind(struct mpk_span word)
{
	struct mpk_span names[NAMES_MAX];
	const char *texts[NAMES_MAX];
	const struct mpk_kind *k;
	size_t count = 0, near;

	for (const struct mpk_manifest_kind *m = mpk_manifest_kinds; count < NAMES_MAX && m->name;
	     m++)
		texts[count++] = m->name;
	for (size_t i = 0; count < NAMES_MAX && (k = &mpk_kinds[i])->name; i++)
		texts[count++] = k->name;
	for (size_t i = 0; i < count; i++)
		names[i] = mpk_span_str(texts[i]);
	near = mpk_closest(word, names, count);
	return near < count ? texts[near] : NULL;
}

static void unknown_kind(struct mpk_toml_reader *r, const struct mpk_manifest_module *m)
{
	const char *meant;

	if (mpk_kind_find(mpk_toml_str_span(m->kind))) {
		mpk_toml_read_error(r, m->kind.pos, "missing-key",
				    "kind '%s' is packed from its bytes: 'payload'",
				    QUOTE(m->kind));
		return;
	}
	meant = kind_of_word(mpk_toml_str_span(m->kind));
	if (!meant)
		meant = nearest_kind(mpk_toml_str_span(m->kind));
	if (meant)
		mpk_toml_read_error(r, m->kind.pos, "kind",
				    "kind '%s' is not known; did you mean '%s'?", QUOTE(m->kind),
				    meant);
	else
		mpk_toml_read_error(r, m->kind.pos, "kind",
				    "kind '%s' is not known, so it needs 'payload', its bytes",
				    QUOTE(m->kind));
}

/* Words that the container formats use themselves. */
static bool is_reserved(struct mpk_toml_str kind)
{
	return strcmp(kind.text, MPK_KIND_LIB) == 0 || strcmp(kind.text, "_import_tree") == 0;
}

/* Reports an old kind in a new container, or the reverse, which no loader knows. */
static void check_age(struct mpk_toml_reader *r, const struct mpk_manifest_module *m)
{
	static const struct {
		unsigned first, last;
	} ages[MPK_GENERATION_COUNT] = {
		[MPK_GEN_LEGACY] = { 2, 20 },
		[MPK_GEN_HYBRID] = { 21, 21 },
		[MPK_GEN_CURRENT] = { 22, MPK_RELEASE_NOW },
	};
	const struct mpk_kind *kind = mpk_kind_find(mpk_toml_str_span(m->key));
	enum mpk_generation gen = mpk_manifest_package(r)->gen;

	if (!kind)
		return;
	if (kind->last < ages[gen].first)
		mpk_toml_read_warn(r, m->kind.pos, "kind",
				   "no loader of ABI %s knows kind '%s': TVM 0.%u was the last",
				   mpk_generation_get(gen)->abi, QUOTE(m->kind), kind->last);
	if (kind->first > ages[gen].last)
		mpk_toml_read_warn(r, m->kind.pos, "kind",
				   "no loader of ABI %s knows kind '%s': TVM 0.%u is the first",
				   mpk_generation_get(gen)->abi, QUOTE(m->kind), kind->first);
}

/* The kind decides which other keys are allowed, so it is checked first. */
static void row_check_kind(struct mpk_toml_reader *r, struct mpk_manifest_module *m)
{
	const struct mpk_manifest_kind *kind = mpk_manifest_kind_find(mpk_toml_str_span(m->kind));

	m->is_host = strcmp(m->kind.text, MPK_KIND_HOST) == 0;
	/* For a given payload, the kind is written into the blob as it is, whatever the word means
	 * elsewhere. */
	m->key = m->kind;
	if (kind && !m->payload.text)
		m->key = (struct mpk_toml_str){ kind->key, strlen(kind->key), m->kind.pos };
	manifest_flags_check(r, m);
	if (!m->is_host)
		row_refuse(r, m->sources.pos, "sources", "only host modules have sources");
	if (is_reserved(m->kind)) {
		mpk_toml_read_error(r, m->kind.pos, "kind",
				    "'%s' is the container's own; host code is kind 'host'",
				    QUOTE(m->kind));
	} else if (m->is_host) {
		static const char why[] = "a host module has 'sources'";

		row_refuse(r, m->data.pos, "data", why);
		row_refuse(r, m->format.pos, "format", why);
		row_refuse(r, m->payload.pos, "payload", why);
		row_refuse(r, m->nvrtc_options.pos, "nvrtc_options", why);
		refuse_functions(r, m, why);
		for (size_t i = 0; i < m->sources.count; i++)
			check_source(r, m->sources.items[i]);
		if (mpk_manifest_package(r)->base.text && m->sources.present)
			mpk_toml_read_error(
				r, m->sources.pos, "base",
				"'base' gives the host code: leave 'sources' out, or 'base'");

		refuse_extras(
			r, m,
			"a host module has 'id', 'kind', 'sources', 'imports', 'cflags', 'include', 'defines', 'std' and 'libs'");
	} else if (m->payload.text) {
		/* If the payload is given as bytes, keys that describe its parts are refused. */
		static const char why[] = "'payload' is the whole module";

		row_refuse(r, m->data.pos, "data", why);
		row_refuse(r, m->format.pos, "format", why);
		row_refuse(r, m->nvrtc_options.pos, "nvrtc_options", why);
		refuse_functions(r, m, why);
		refuse_extras(r, m, why);
	} else if (!kind) {
		unknown_kind(r, m);
	} else if (kind->device) {
		row_check_device(r, m, kind);
	} else {
		check_structured(r, m, kind);
	}
	check_age(r, m);
}

/* A module is valid if no finding was made since its table began. The package loads only valid
 * modules. */
static void check_module(struct mpk_toml_reader *r, void *module)
{
	struct mpk_manifest_module *m = module;

	if (m->kind.text)
		row_check_kind(r, m);
	m->valid = r->report->errors == r->row_errors;
}

/* --- its keys -------------------------------------------------------------------------- */

static const struct mpk_toml_field module_fields[] = {
	MPK_SCHEMA_KEY(TEXT, struct mpk_manifest_module, id, true),
	MPK_SCHEMA_KEY(TEXT, struct mpk_manifest_module, kind, true),
	MPK_SCHEMA_KEY(TEXT, struct mpk_manifest_module, format, false),
	MPK_SCHEMA_KEY(TEXT, struct mpk_manifest_module, data, false),
	MPK_SCHEMA_KEY(TEXT, struct mpk_manifest_module, payload, false),
	MPK_SCHEMA_KEY(TEXTS, struct mpk_manifest_module, sources, false),
	MPK_SCHEMA_KEY(TEXTS, struct mpk_manifest_module, imports, false),
	MPK_SCHEMA_KEY(TEXTS, struct mpk_manifest_module, nvrtc_options, false),
	MPK_SCHEMA_KEY(TEXTS, struct mpk_manifest_module, cflags, false),
	MPK_SCHEMA_KEY(TEXTS, struct mpk_manifest_module, include, false),
	MPK_SCHEMA_KEY(TEXTS, struct mpk_manifest_module, defines, false),
	MPK_SCHEMA_KEY(TEXTS, struct mpk_manifest_module, libs, false),
	MPK_SCHEMA_KEY(TEXT, struct mpk_manifest_module, std, false),
	MPK_SCHEMA_TABLES("function", struct mpk_manifest_module, functions, function_count,
			  mpk_manifest_kernel_schema),
};

/* Stores a key that some kind has; whether this kind has it is checked afterwards. */
static bool keep_extra(struct mpk_toml_reader *r, const struct mpk_toml *table,
		       const struct mpk_toml_entry *entry, void *out)
{
	struct mpk_manifest_module *m = out;
	const struct mpk_toml *v = &entry->value;

	if (v->type != MPK_TOML_STRING || !v->len || memchr(v->text, 0, v->len))
		return false;
	if (!m->extras)
		m->extras = mpk_arena_array(r->arena, table->count, sizeof *m->extras);
	if (!m->extras) {
		r->failed = true;
		return true;
	}
	m->extras[m->extra_count++] = (struct mpk_manifest_extra){
		.key = { entry->key, entry->key_len, entry->pos },
		.value = { v->text, v->len, v->pos },
	};
	return true;
}

const struct mpk_toml_schema mpk_manifest_module_schema = {
	MPK_SCHEMA_OF("[[module]]", struct mpk_manifest_module, module_fields),
	.unknown = keep_extra,
	.done = check_module,
};
