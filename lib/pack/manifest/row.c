/* SPDX-License-Identifier: Apache-2.0 */
/* row.c - the keys of a [[module]], and its rules, which depend on its kind */

#include <stdio.h>
#include <string.h>

#include "base/strmap.h"
#include "kernels/kernels.h"
#include "kinds.h"
#include "manifest/internal/schema.h"
#include "sourcecode/sourcecode.h"
#include "text/escape.h"

enum { NAMES_MAX = 128 };

#define QUOTE(mstr) MPK_QUOTE(mpk_toml_str_span(mstr))

/* Keys that only one kind has; the text is NULL where it has none. */
struct mpk_toml_str mpk_manifest_module_extra(const struct mpk_manifest_module *module,
					      const char *key)
{
	for (size_t i = 0; i < module->extra_count; i++)
		if (strcmp(module->extras[i].key.text, key) == 0)
			return module->extras[i].value;
	return (struct mpk_toml_str){ 0 };
}

/* --- [[module]] --------------------------------------------------------------------- */

/* Reports a key that is present, as its position shows, but has no meaning for this kind. */
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

/* Judges by the suffix only: opening the file shows whether it exists. */
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

/* Where the bytes are given, nothing can be said about the parts of a module. */
static void check_payload_only(struct mpk_toml_reader *r, const struct mpk_manifest_module *m)
{
	static const char why[] = "'payload' is the whole module";

	row_refuse(r, m->data.pos, "data", why);
	row_refuse(r, m->format.pos, "format", why);
	row_refuse(r, m->nvrtc_options.pos, "nvrtc_options", why);
	refuse_functions(r, m, why);
	refuse_extras(r, m, why);
}

/* The finding lists the formats of the kind, as they are few. */
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

/* Whether every kernel brings a file of its own. */
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

	/* The text becomes words of a comment line (sourcecode/sourcecode.h). */
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
	/* With a code file the package completes the table, or proposes rows. */
	if (!m->function_count && !m->data.text)
		mpk_toml_read_error(
			r, m->pos, "missing-key",
			"[[module]] of kind '%s' needs [[module.function]]: a code file does not say how its kernels are launched",
			kind->name);
}

/* Executors and metadata modules: no code, but keys of their own. */
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

/* Names that people give to a kind when they think of a file, a language or a maker. */
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
/* Searches kinds that are built from parts and kinds of TVM that are packed from bytes. */
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

/* Keys that the containers use themselves. */
static bool is_reserved(struct mpk_toml_str kind)
{
	return strcmp(kind.text, MPK_KIND_LIB) == 0 || strcmp(kind.text, "_import_tree") == 0;
}

/* An old kind in a new container, or the reverse, is known to no loader. */
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
	/* Raw bytes have the kind that the blob is to name, whatever else that word means. */
	m->key = m->kind;
	if (kind && !m->payload.text)
		m->key = (struct mpk_toml_str){ kind->key, strlen(kind->key), m->kind.pos };
	mpk_manifest_flags_check(r, m);
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
		check_payload_only(r, m);
	} else if (!kind) {
		unknown_kind(r, m);
	} else if (kind->device) {
		row_check_device(r, m, kind);
	} else {
		check_structured(r, m, kind);
	}
	check_age(r, m);
}

/* A module is valid when no finding was made since its table began; the package then loads it. */
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

/* Keeps keys that some kind has; which kind has which key is checked afterwards. */
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
