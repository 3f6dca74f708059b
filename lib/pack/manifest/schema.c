/* SPDX-License-Identifier: Apache-2.0 */
/* Maps each key of mpack.toml to a struct member: a row describes a key, a schema describes a
 * table, and each table has a function with the rules that a row cannot express. The kinds of
 * modules that are built from parts are also rows. */
#include "manifest/internal/schema.h"

#include <string.h>

#include "text/escape.h"

/* --- kinds ------------------------------------------------------------------------ */

#define DEVICE(name, key, ...)                                                                     \
	{                                                                                          \
		name, key, true, { __VA_ARGS__ },                                                  \
		{ { 0 } }                                                                          \
	}

const struct mpk_manifest_kind mpk_manifest_kinds[] = {
	{ MPK_KIND_HOST, "", false, { 0 }, { { 0 } } },
	DEVICE("cuda", "cuda", "ptx", "cubin", "fatbin", "cuda"),
	DEVICE("opencl", "opencl", "cl", "xclbin", "awsxclbin", "aocx"),
	DEVICE("metal", "metal", "metal", "metallib"),
	DEVICE("vulkan", "vulkan", "vulkan"),
	DEVICE("hip", "hip", "hsaco", "hip"),
	/* "rocm" is TVM's name of the target; the module with its code has the kind "hip" */
	DEVICE("rocm", "hip", "hsaco", "hip"),
	DEVICE("hsaco", "hsaco", "hsaco"),
	DEVICE("webgpu", "webgpu", "wgsl"),
	DEVICE("hexagon", "hexagon", "so"),
	DEVICE("aocl", "aocl", "aocx"),
	DEVICE("sdaccel", "sdaccel", "xclbin", "awsxclbin"),
	{ "GraphExecutorFactory",
	  "GraphExecutorFactory",
	  false,
	  { 0 },
	  { { "name", false }, { "graph", true }, { "params", false } } },
	{ "GraphRuntimeFactory",
	  "GraphRuntimeFactory",
	  false,
	  { 0 },
	  { { "name", false }, { "graph", true }, { "params", false } } },
	{ "AotExecutorFactory",
	  "AotExecutorFactory",
	  false,
	  { 0 },
	  { { "name", false }, { "params", false } } },
	{ "metadata_module", "metadata_module", false, { 0 }, { { 0 } } },
	{ .name = NULL },
};

/* A linear search, because the list is short and each module needs only a few searches. */
const struct mpk_manifest_kind *mpk_manifest_kind_find(struct mpk_span name)
{
	for (const struct mpk_manifest_kind *k = mpk_manifest_kinds; k->name; k++)
		if (mpk_span_is(name, k->name))
			return k;
	return NULL;
}

/* --- the rules of [package] ------------------------------------------------------- */

#define QUOTE(mstr) MPK_QUOTE(mpk_toml_str_span(mstr))

/* The default is the convention of current TVM. An unknown word leaves the default, so that the
 * rest of the manifest can be checked. */
static void check_abi(struct mpk_toml_reader *r, struct mpk_manifest *m)
{
	struct mpk_span names[MPK_GENERATION_COUNT];
	char near[MPK_TOML_SUGGEST_BYTES];

	m->gen = MPK_GEN_CURRENT;
	if (!m->abi.text)
		return;
	for (unsigned g = 0; g < MPK_GENERATION_COUNT; g++) {
		names[g] = mpk_span_str(mpk_generation_get((enum mpk_generation)g)->abi);
		if (mpk_span_equal(mpk_toml_str_span(m->abi), names[g])) {
			m->gen = (enum mpk_generation)g;
			return;
		}
	}
	mpk_toml_read_error(
		r, m->abi.pos, "abi", "'abi' is ffi, ffi-0.21 or legacy, not '%s'%s", QUOTE(m->abi),
		mpk_toml_suggest(mpk_toml_str_span(m->abi), names, MPK_GENERATION_COUNT, near));
}

/* The text becomes part of a symbol in generated code. */
static void schema_check_entry(struct mpk_toml_reader *r, const struct mpk_manifest *m)
{
	const char *text = m->entry.text;

	if (!text)
		return;
	if (m->base.text)
		mpk_toml_read_error(r, m->entry.pos, "base",
				    "'base' gives finished host code, whose entry is its own");
	if (strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") !=
		    m->entry.len ||
	    (text[0] >= '0' && text[0] <= '9'))
		mpk_toml_read_error(r, m->entry.pos, "entry",
				    "'entry' is a function's name as callers say it, not '%s'",
				    QUOTE(m->entry));
}

bool mpk_manifest_is_name(const char *text)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf escaped = { 0 };

	if (!*text || *text == '-' || strchr(text, '/') || strcmp(text, ".") == 0 ||
	    strcmp(text, "..") == 0)
		return false;
	mpk_escape_sentence(&escaped, mpk_span_str(text));
	return !escaped.failed && strcmp(mpk_strbuf_text(&escaped), text) == 0;
}

/* The rules of [package] that do not depend on modules. */
static void check_package(struct mpk_toml_reader *r, void *package)
{
	struct mpk_manifest *m = package;

	check_abi(r, m);
	schema_check_entry(r, m);
	if (m->name.text && strchr(m->name.text, '/'))
		mpk_toml_read_error(r, m->name.pos, "name", "'name' is a name, not a path: '%s'",
				    QUOTE(m->name));
	else if (m->name.text && *m->name.text && !mpk_manifest_is_name(m->name.text))
		mpk_toml_read_error(
			r, m->name.pos, "name",
			"'name' becomes the name of a file: it does not begin with '-', is not '.' nor '..', and has no control characters: '%s'",
			QUOTE(m->name));
	if (m->compress.text && strcmp(m->compress.text, "zstd") != 0)
		mpk_toml_read_error(r, m->compress.pos, "compress", "'compress' takes \"zstd\"");
	else if (m->compress.text && !m->standalone)
		mpk_toml_read_error(
			r, m->compress.pos, "compress",
			"'compress' is for standalone packages: TVM's own loaders unpack nothing");
}

/* --- [package] and the file ----------------------------------------------------------- */

static const struct mpk_toml_field package_fields[] = {
	MPK_SCHEMA_KEY(TEXT, struct mpk_manifest, name, true),
	MPK_SCHEMA_KEY(TEXT, struct mpk_manifest, abi, false),
	MPK_SCHEMA_KEY(TEXT, struct mpk_manifest, root, false),
	MPK_SCHEMA_KEY(TEXT, struct mpk_manifest, target, false),
	MPK_SCHEMA_KEY(TEXT, struct mpk_manifest, base, false),
	MPK_SCHEMA_KEY(TEXT, struct mpk_manifest, entry, false),
	MPK_SCHEMA_KEY(BOOL, struct mpk_manifest, standalone, false),
	MPK_SCHEMA_KEY(TEXT, struct mpk_manifest, compress, false),
	MPK_SCHEMA_KEY(BOOL, struct mpk_manifest, dedup, false),
	MPK_SCHEMA_KEY(BOOL, struct mpk_manifest, keep_order, false),
};

static const struct mpk_toml_schema package_schema = {
	.what = "[package]",
	.fields = package_fields,
	.field_count = MPK_ARRAY_COUNT(package_fields),
	.bytes = sizeof(struct mpk_manifest),
	.pos_off = SIZE_MAX,
	.done = check_package,
};

/* [package] comes first, because it decides what modules may contain. */
static const struct mpk_toml_field file_fields[] = {
	{ .name = "package",
	  .kind = MPK_TOML_FIELD_TABLE,
	  .required = true,
	  .off = offsetof(struct mpk_manifest_draft, package),
	  MPK_SCHEMA_ROWS(package_schema) },
	MPK_SCHEMA_TABLES("module", struct mpk_manifest_draft, modules, module_count,
			  mpk_manifest_module_schema),
	MPK_SCHEMA_TABLES("function", struct mpk_manifest_draft, launches, launch_count,
			  mpk_manifest_launch_schema),
};

const struct mpk_toml_schema mpk_manifest_schema = {
	.what = "the manifest",
	.fields = file_fields,
	.field_count = MPK_ARRAY_COUNT(file_fields),
	.bytes = sizeof(struct mpk_manifest_draft),
	.pos_off = SIZE_MAX,
};
