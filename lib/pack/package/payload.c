/* SPDX-License-Identifier: Apache-2.0 */
/* payload.c - the payload of a module: a file as it is, an executor from its parts, or code files with their table (device.c);
 * and what code files are: a suffix decides where the kind has that format
 */
#include "package/internal/package.h"

#include <string.h>

#include "base/compiler.h"
#include "code/format.h"
#include "factory/factory.h"
#include "package/package.h"
#include "sourcecode/sourcecode.h"
#include "text/escape.h"
#include "text/json_read.h"

/* --- code files ---------------------------------------------------------------------------- */

static const struct {
	const char *suffix, *format;
} suffixes[] = {
	{ ".ptx", "ptx" },       { ".cubin", "cubin" },         { ".fatbin", "fatbin" },
	{ ".cu", "cuda" },       { ".cuda", "cuda" },           { ".cl", "cl" },
	{ ".xclbin", "xclbin" }, { ".awsxclbin", "awsxclbin" }, { ".aocx", "aocx" },
	{ ".metal", "metal" },   { ".metallib", "metallib" },   { ".spv", "vulkan" },
	{ ".spirv", "vulkan" },  { ".hsaco", "hsaco" },         { ".co", "hsaco" },
	{ ".hip", "hip" },       { ".wgsl", "wgsl" },           { ".so", "so" },
};

/* A suffix is what the user says the file is; the bytes are compared with it afterwards
 * (device.c). */
static const char *format_of_suffix(const char *path)
{
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < MPK_ARRAY_COUNT(suffixes); i++)
		if (strcmp(dot, suffixes[i].suffix) == 0)
			return suffixes[i].format;
	return NULL;
}

static const char *format_find(const char *const *formats, size_t max, const char *name)
{
	for (size_t i = 0; name && i < max && formats[i]; i++)
		if (strcmp(formats[i], name) == 0)
			return formats[i];
	return NULL;
}

/* The bytes decide where the suffix says nothing, or names a format that the kind does not
 * have. */
const char *mpk_code_format_guess(const char *const *formats, size_t max, const char *kind,
				  const char *path, struct mpk_span bytes)
{
	const char *format = format_find(formats, max, format_of_suffix(path));

	return format ? format
		      : format_find(formats, max,
				    mpk_code_format_label(mpk_span_str(kind),
							  mpk_code_format_of(bytes)));
}

/* TVM's OpenCL loader compiles each kernel of a module by itself: it splits the source at
 * lines "// Function: NAME" (SplitKernels in src/runtime) and wants one part for each kernel. */
void mpk_pieces_put(struct mpk_rope *rope, struct mpk_span kernel, struct mpk_span source)
{
	while (source.len && source.data[source.len - 1] == 0)
		source.len--;
	mpk_rope_put_bytes(rope, mpk_span_str(MPK_SOURCE_CODE_DELIMITER));
	mpk_rope_put_bytes(rope, kernel);
	mpk_rope_put_bytes(rope, mpk_span_str("\n"));
	mpk_rope_put_view(rope, source);
	if (source.len && source.data[source.len - 1] != '\n')
		mpk_rope_put_bytes(rope, mpk_span_str("\n"));
}

/* --- graph and AOT executors --------------------------------------------------- */

/* The parameter file. Its tensors are copied as they stand in it, all at once: one by one, those
 * that are not large would pass through memory. */
static bool executor_params(struct mpk_loader *l, const struct mpk_manifest_module *m,
			    struct mpk_params *out, struct mpk_rope *tensors)
{
	struct mpk_toml_str name = mpk_manifest_module_extra(m, "params");
	const struct mpk_file *f = name.text ? mpk_loader_open(l, name) : NULL;
	struct mpk_error err = { 0 };

	if (!f)
		return !name.text;
	if (mpk_params_read(f->map.bytes, l->arena, out, &err) == MPK_OK) {
		mpk_loader_put(f, out->tensors_off, f->map.bytes.len - out->tensors_off, tensors);
		out->content = tensors;
		return true;
	}
	if (err.code == MPK_E_NOMEM)
		l->failed = true;
	else
		mpk_loader_error(l, name.pos, err.code, "payload-format", "'%s': at byte %llu: %s",
				 MPK_QUOTE(mpk_toml_str_span(name)),
				 (unsigned long long)err.at.offset, err.text);
	return false;
}

/* Only as far as to tell a graph from another JSON file: the executor reads it when it is
 * loaded. */
static void executor_check_graph(struct mpk_loader *l, struct mpk_toml_str name,
				 struct mpk_span text)
{
	struct mpk_json_value graph, nodes;
	struct mpk_error why = { 0 };

	if (mpk_json_read(text, &graph, &why) != MPK_OK) {
		mpk_loader_error(l, name.pos, MPK_E_CORRUPT, "payload-format",
				 "'%s': line %u, column %u: %s", MPK_QUOTE(mpk_toml_str_span(name)),
				 why.at.line, why.at.column, why.text);
		return;
	}
	nodes = mpk_json_value_get(graph, "nodes");
	if (mpk_json_value_type(nodes) != MPK_JSON_ARRAY)
		mpk_loader_error(l, name.pos, MPK_E_CORRUPT, "payload-format",
				 "'%s' is no graph: it has no array 'nodes'",
				 MPK_QUOTE(mpk_toml_str_span(name)));
}

/* A graph that is wrong was reported; its bytes are still put into the payload, which a
 * package with findings never becomes. */
static bool executor_graph(struct mpk_loader *l, const struct mpk_manifest_module *m,
			   struct mpk_factory *out, const struct mpk_file **file)
{
	struct mpk_toml_str name = mpk_manifest_module_extra(m, "graph");

	*file = name.text ? mpk_loader_open(l, name) : NULL;
	if (!*file)
		return !name.text;
	executor_check_graph(l, name, (*file)->map.bytes);
	out->has_graph = true;
	out->graph_json = (*file)->map.bytes;
	return true;
}

/* "default" is what TVM calls a module that was given no name. */
static void put_executor(struct mpk_loader *l, const struct mpk_manifest_module *m,
			 struct mpk_rope *rope)
{
	struct mpk_toml_str name = mpk_manifest_module_extra(m, "name");
	struct mpk_factory f = { .module_name = name.text ? mpk_toml_str_span(name)
							  : mpk_span_str("default") };
	struct mpk_rope tensors = mpk_rope_of(l->arena);
	const struct mpk_file *graph;
	bool has_graph = executor_graph(l, m, &f, &graph);

	if (!executor_params(l, m, &f.params, &tensors) || !has_graph)
		return;
	mpk_factory_write(rope, &f);
	if (graph)
		mpk_mapping_use_file(&graph->map, rope);
}

/* --- one module ---------------------------------------------------------------------------- */

/* A payload as it is; else what the kind makes of its parts. Kinds without a row have only
 * payloads, which the manifest's checks hold them to. */
void mpk_loader_put_payload(struct mpk_loader *l, struct mpk_manifest_module *m,
			    struct mpk_rope *rope)
{
	const struct mpk_manifest_kind *kind = mpk_manifest_kind_find(mpk_toml_str_span(m->kind));

	if (m->payload.text) {
		const struct mpk_file *f = mpk_loader_open(l, m->payload);

		if (f)
			mpk_loader_put(f, 0, f->map.bytes.len, rope);
	} else if (kind && kind->device) {
		mpk_loader_put_device(l, m, rope);
	} else if (kind && kind->keys[0].name) {
		put_executor(l, m, rope);
	}
}
