/* SPDX-License-Identifier: Apache-2.0 */
/* Which key of mpack.toml goes where: a key is one row, a table one schema, and each table has a function
 * with the rules that a row cannot say. The kinds of modules that are built from parts are rows, too. */
#include "manifest/internal/schema.h"

#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "kernels/kernels.h"
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
	/* TVM's name of the target; the module its code becomes is of kind hip */
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

/* The list is short and read a few times a module. */
const struct mpk_manifest_kind *mpk_manifest_kind_find(struct mpk_span name)
{
	for (const struct mpk_manifest_kind *k = mpk_manifest_kinds; k->name; k++)
		if (mpk_span_is(name, k->name))
			return k;
	return NULL;
}

/* --- the rules of [package] ------------------------------------------------------- */

#define QUOTE(mstr) MPK_QUOTE(mpk_toml_str_span(mstr))

/* The default is the convention of current TVM. A wrong word leaves the default, so that
 * the rest of the manifest is judged by something. */
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

/* It becomes part of a symbol in generated code. */
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

/* The rules of [package] that need no module. */
static void check_package(struct mpk_toml_reader *r, void *package)
{
	struct mpk_manifest *m = package;

	check_abi(r, m);
	schema_check_entry(r, m);
	if (m->name.text && strchr(m->name.text, '/'))
		mpk_toml_read_error(r, m->name.pos, "name", "'name' is a name, not a path: '%s'",
				    QUOTE(m->name));
	if (m->compress.text && strcmp(m->compress.text, "zstd") != 0)
		mpk_toml_read_error(r, m->compress.pos, "compress", "'compress' takes \"zstd\"");
	else if (m->compress.text && !m->standalone)
		mpk_toml_read_error(
			r, m->compress.pos, "compress",
			"'compress' is for standalone packages: TVM's own loaders unpack nothing");
}

/* --- the rules of [[module.function]] ----------------------------------------------- */

/* What [package] said, which comes before all that needs it. */
static const struct mpk_manifest *schema_package(const struct mpk_toml_reader *r)
{
	return r->user;
}

static void unknown_dtype(struct mpk_toml_reader *r, struct mpk_toml_str name)
{
	const char *meant = mpk_dtype_suggest(mpk_toml_str_span(name));

	if (meant)
		mpk_toml_read_error(r, name.pos, "dtype",
				    "'%s' is no data type; did you mean '%s'?", QUOTE(name), meant);
	else
		mpk_toml_read_error(
			r, name.pos, "dtype",
			"'%s' is no data type: handle for a buffer, or float32, int64, uint8, ...",
			QUOTE(name));
}

static void read_args(struct mpk_toml_reader *r, struct mpk_manifest_function *f)
{
	struct mpk_dtype *args = mpk_arena_array(r->arena, f->arg_names.count, sizeof *args);

	if (!args) {
		r->failed = true;
		return;
	}
	for (size_t i = 0; i < f->arg_names.count; i++) {
		struct mpk_toml_str name = f->arg_names.items[i];

		if (!mpk_dtype_parse(mpk_toml_str_span(name), &args[i]))
			unknown_dtype(r, name);
	}
	f->args = args;
	f->arg_count = f->arg_names.count;
}

static void unknown_tag(struct mpk_toml_reader *r, struct mpk_toml_str tag)
{
	static const char *const known[] = {
		"blockIdx.x",
		"blockIdx.y",
		"blockIdx.z",
		"threadIdx.x",
		"threadIdx.y",
		"threadIdx.z",
		"clusterCtaIdx.x",
		"clusterCtaIdx.y",
		"clusterCtaIdx.z",
		"tirx.use_dyn_shared_memory",
		"tirx.use_cooperative_launch",
		"tirx.use_programtic_dependent_launch",
	};
	struct mpk_span names[MPK_ARRAY_COUNT(known)];
	char near[MPK_TOML_SUGGEST_BYTES];

	for (size_t i = 0; i < MPK_ARRAY_COUNT(known); i++)
		names[i] = mpk_span_str(known[i]);
	mpk_toml_read_error(
		r, tag.pos, "launch-tag", "'%s' is no launch tag%s", QUOTE(tag),
		mpk_toml_suggest(mpk_toml_str_span(tag), names, MPK_ARRAY_COUNT(names), near));
}

/* Older loaders know the tir. spelling, newer ones tirx.; 0.22 and 0.23 write as ffi does
 * but still say tir., so that only the old containers are certain. What loads its kernels itself
 * knows both. */
static void check_spelling(struct mpk_toml_reader *r, struct mpk_toml_str tag)
{
	if (strncmp(tag.text, "tirx.", 5) == 0 && schema_package(r)->gen != MPK_GEN_CURRENT &&
	    !schema_package(r)->standalone)
		mpk_toml_read_warn(r, tag.pos, "launch-tag",
				   "loaders of ABI %s know it as 'tir.%s'",
				   mpk_generation_get(schema_package(r)->gen)->abi, QUOTE(tag) + 5);
}

/* An axis may stand several times, as TVM's own tables have it: each takes a value. */
static void check_launch(struct mpk_toml_reader *r, const struct mpk_manifest_function *f)
{
	bool shared = false;

	for (size_t i = 0; i < f->launch.count; i++) {
		struct mpk_toml_str text = f->launch.items[i];
		enum mpk_launch_tag tag = mpk_launch_tag_parse(mpk_toml_str_span(text));

		if (tag == MPK_TAG_UNKNOWN) {
			unknown_tag(r, text);
			continue;
		}
		if (shared)
			mpk_toml_read_error(
				r, text.pos, "launch-tag",
				"'%s' stands behind dynamic shared memory, which is the last value a caller passes",
				QUOTE(text));
		check_spelling(r, text);
		shared |= tag == MPK_TAG_DYN_SHARED;
	}
}

static void check_function(struct mpk_toml_reader *r, void *function)
{
	struct mpk_manifest_function *f = function;

	read_args(r, f);
	check_launch(r, f);
}

#define ROWS(schema) .rows = &(schema)
#define KEY(kind_, type, member, required_)                                                        \
	{ .name = #member,                                                                         \
	  .kind = MPK_TOML_FIELD_##kind_,                                                          \
	  .required = (required_),                                                                 \
	  .off = offsetof(type, member) }
#define TABLES(name_, type, member, counter, schema)                                               \
	{ .name = name_,                                                                           \
	  .kind = MPK_TOML_FIELD_TABLES,                                                           \
	  .off = offsetof(type, member),                                                           \
	  .count_off = offsetof(type, counter),                                                    \
	  ROWS(schema) }
#define SCHEMA(what_, type, rows_)                                                                 \
	.what = what_, .fields = rows_, .field_count = MPK_ARRAY_COUNT(rows_),                     \
	.bytes = sizeof(type), .pos_off = offsetof(type, pos)

/* --- [[module]] and [[module.function]] -------------------------------------------- */

static const struct mpk_toml_field function_fields[] = {
	KEY(TEXT, struct mpk_manifest_function, name, true),
	{ .name = "args",
	  .kind = MPK_TOML_FIELD_TEXTS,
	  .required = true,
	  .off = offsetof(struct mpk_manifest_function, arg_names) },
	KEY(TEXTS, struct mpk_manifest_function, launch, true),
	KEY(TEXT, struct mpk_manifest_function, data, false),
	KEY(BOOL, struct mpk_manifest_function, uniform_buffer, false),
};

static const struct mpk_toml_schema function_schema = {
	SCHEMA("[[module.function]]", struct mpk_manifest_function, function_fields),
	.done = check_function,
};

static const struct mpk_toml_field module_fields[] = {
	KEY(TEXT, struct mpk_manifest_module, id, true),
	KEY(TEXT, struct mpk_manifest_module, kind, true),
	KEY(TEXT, struct mpk_manifest_module, format, false),
	KEY(TEXT, struct mpk_manifest_module, data, false),
	KEY(TEXT, struct mpk_manifest_module, payload, false),
	KEY(TEXTS, struct mpk_manifest_module, sources, false),
	KEY(TEXTS, struct mpk_manifest_module, imports, false),
	KEY(TEXTS, struct mpk_manifest_module, nvrtc_options, false),
	KEY(TEXTS, struct mpk_manifest_module, cflags, false),
	KEY(TEXTS, struct mpk_manifest_module, include, false),
	KEY(TEXTS, struct mpk_manifest_module, defines, false),
	KEY(TEXTS, struct mpk_manifest_module, libs, false),
	KEY(TEXT, struct mpk_manifest_module, std, false),
	TABLES("function", struct mpk_manifest_module, functions, function_count, function_schema),
};

/* Keys that belong to a kind are kept; which kind has which is checked afterwards. */
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

static const struct mpk_toml_schema module_schema = {
	SCHEMA("[[module]]", struct mpk_manifest_module, module_fields),
	.unknown = keep_extra,
	.done = mpk_manifest_module_check,
};

/* --- [package] and the file ----------------------------------------------------------- */

static const struct mpk_toml_field package_fields[] = {
	KEY(TEXT, struct mpk_manifest, name, true),
	KEY(TEXT, struct mpk_manifest, abi, false),
	KEY(TEXT, struct mpk_manifest, root, false),
	KEY(TEXT, struct mpk_manifest, target, false),
	KEY(TEXT, struct mpk_manifest, base, false),
	KEY(TEXT, struct mpk_manifest, entry, false),
	KEY(BOOL, struct mpk_manifest, standalone, false),
	KEY(TEXT, struct mpk_manifest, compress, false),
	KEY(BOOL, struct mpk_manifest, dedup, false),
	KEY(BOOL, struct mpk_manifest, keep_order, false),
};

static const struct mpk_toml_schema package_schema = {
	.what = "[package]",
	.fields = package_fields,
	.field_count = MPK_ARRAY_COUNT(package_fields),
	.bytes = sizeof(struct mpk_manifest),
	.pos_off = SIZE_MAX,
	.done = check_package,
};

/* [package] first: what it says decides what modules may say. */
static const struct mpk_toml_field file_fields[] = {
	{ .name = "package",
	  .kind = MPK_TOML_FIELD_TABLE,
	  .required = true,
	  .off = offsetof(struct mpk_manifest_draft, package),
	  ROWS(package_schema) },
	TABLES("module", struct mpk_manifest_draft, modules, module_count, module_schema),
	TABLES("function", struct mpk_manifest_draft, launches, launch_count,
	       mpk_manifest_launch_schema),
};

const struct mpk_toml_schema mpk_manifest_schema = {
	.what = "the manifest",
	.fields = file_fields,
	.field_count = MPK_ARRAY_COUNT(file_fields),
	.bytes = sizeof(struct mpk_manifest_draft),
	.pos_off = SIZE_MAX,
};
