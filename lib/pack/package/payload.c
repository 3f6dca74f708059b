/* SPDX-License-Identifier: Apache-2.0 */
/* payload.c - makes the payload of a module: a given file unchanged, an executor from its parts, or
 * code files with their kernel table */
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/strmap.h"
#include "code/format.h"
#include "code/info.h"
#include "factory/factory.h"
#include "kernels/kernels.h"
#include "package/internal/package.h"
#include "package/package.h"
#include "sourcecode/sourcecode.h"
#include "text/escape.h"
#include "text/json_read.h"
#include "text/table.h"

/* --- The code files of a device module: their formats, and the kernels that the module lists. */

#define QUOTE(mstr) MPK_QUOTE(mpk_toml_str_span(mstr))

/* --- files ------------------------------------------------------------------------------- */

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

/* Returns the format that the suffix names. The bytes are compared with it afterwards. */
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

/* Reads the bytes if the suffix tells nothing, or tells a format that the kind does not accept. */
static const char *guess_format(const char *const *formats, size_t max, const char *kind,
				const char *path, struct mpk_span bytes)
{
	const char *format = format_find(formats, max, format_of_suffix(path));

	return format ? format
		      : format_find(formats, max,
				    mpk_code_format_label(mpk_span_str(kind),
							  mpk_code_format_of(bytes)));
}

enum { HINT_BYTES = 160 };

/* Describes the bytes for a message: ": this is PTX text; kind = \"cuda\"?", or only the format if
 * the kind accepts it. Returns the caller's text if the format is unknown. */
static const char *what_it_is(const struct mpk_device_code *d, struct mpk_span bytes,
			      const char *otherwise, char out[HINT_BYTES])
{
	const struct mpk_code_format *f = mpk_code_format_of(bytes);
	bool known = f != &mpk_format_unknown && f != &mpk_format_text;
	const char *label = mpk_code_format_label(mpk_span_str(d->kind->key), f);
	const char *word = label ? label : f->claims[0].kind;

	if (!known)
		(void)snprintf(out, HINT_BYTES, "%s", otherwise);
	else
		(void)snprintf(out, HINT_BYTES, ": this is %s%s%s%s", f->name,
			       !word   ? ""
			       : label ? "; format = \""
				       : "; kind = \"",
			       word ? word : "", word ? "\"?" : "");
	return out;
}

/* All files of a module have the same format: the one in the manifest, else that of the first
 * file. */
static void package_device_check_format(struct mpk_device_code *d, struct mpk_toml_str name,
					const struct mpk_file *f)
{
	struct mpk_span kind = mpk_span_str(d->kind->key), format;
	char hint[HINT_BYTES];

	if (!d->format)
		d->format = d->m->format.text
				    ? d->m->format.text
				    : guess_format(d->kind->formats, MPK_MANIFEST_KIND_FORMATS,
						   d->kind->key, f->path, f->map.bytes);
	format = mpk_span_str(d->format ? d->format : "");
	if (!f->map.bytes.len) {
		mpk_loader_error(d->l, name.pos, MPK_E_CORRUPT, "payload-format", "'%s' is empty",
				 QUOTE(name));
	} else if (!d->format) {
		mpk_loader_error(d->l, name.pos, MPK_E_CORRUPT, "payload-format",
				 "'%s' is in no format of kind '%s'%s", QUOTE(name), d->kind->name,
				 what_it_is(d, f->map.bytes, ": say 'format' if it is", hint));
	} else if (!mpk_code_format_fits(kind, format, mpk_code_format_of(f->map.bytes))) {
		mpk_loader_error(d->l, name.pos, MPK_E_CORRUPT, "payload-format",
				 "'%s' is not %s (format '%s')%s", QUOTE(name),
				 mpk_code_format_claimed(kind, format)->name, d->format,
				 what_it_is(d, f->map.bytes, "", hint));
	} else {
		return;
	}
	d->valid = false;
}

static struct mpk_file *open_checked(struct mpk_device_code *d, struct mpk_toml_str name)
{
	struct mpk_file *f = mpk_loader_open(d->l, name);

	if (f)
		package_device_check_format(d, name, f);
	else
		d->valid = false;
	return f;
}

/* Opens the module's own file, and completes the kernel table from it. */
static bool open_data(struct mpk_device_code *d)
{
	if (d->m->data.text)
		d->shared = open_checked(d, d->m->data);
	mpk_loader_fill_table(d->l, d->m, d->shared, d->valid);
	return d->m->function_count != 0;
}

/* Opens every file, even after a failure, so that one run reports all findings. */
static bool open_files(struct mpk_device_code *d)
{
	size_t count = d->m->function_count;

	d->files = mpk_arena_array(d->l->arena, count, sizeof(struct mpk_file *));
	if (!d->files) {
		d->l->failed = true;
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		struct mpk_toml_str own = d->m->functions[i].data;

		d->own_files |= own.text != NULL;
		d->files[i] = own.text ? open_checked(d, own) : d->shared;
		d->valid &= d->files[i] != NULL;
	}
	return d->valid;
}

/* --- kernels --------------------------------------------------------------------------- */

/* Returns the kernel that the user probably meant, or count. If thousands of kernels are missing,
 *         the last of them get no suggestion, which would take too long. */
static size_t closest_kernel(struct mpk_device_code *d, struct mpk_span name, size_t count)
{
	uint64_t letters = 0;

	for (size_t k = 0; k < count; k++)
		letters += (uint64_t)name.len * d->names[k].len;
	if (letters > d->l->letters_left)
		return count;
	d->l->letters_left -= letters;
	return mpk_closest(name, d->names, count);
}

static bool list_names(struct mpk_device_code *d, const struct mpk_code_info *lister, size_t count)
{
	if (d->names)
		return true;
	d->names = mpk_arena_array(d->l->arena, count, sizeof *d->names);
	for (size_t k = 0; d->names && k < count; k++)
		d->names[k] = lister->kernels[k].name;
	return d->names != NULL;
}

static void missing_kernel(struct mpk_device_code *d, size_t i, const struct mpk_code_info *found)
{
	const struct mpk_code_info *lister = mpk_code_info_lister(found);
	size_t count = lister ? lister->kernel_count : 0, near;
	struct mpk_toml_str name = d->m->functions[i].name;
	char hint[160] = "";

	if (!list_names(d, lister, count)) {
		d->l->failed = true;
		return;
	}
	near = closest_kernel(d, mpk_toml_str_span(name), count);
	if (near < count)
		(void)snprintf(hint, sizeof hint, "; did you mean '%s'?",
			       MPK_QUOTE(d->names[near]));
	else if (count == 1)
		(void)snprintf(hint, sizeof hint, "; it has '%s'", MPK_QUOTE(d->names[0]));
	mpk_loader_error(d->l, name.pos, MPK_E_CONFLICT, "missing-kernel",
			 "'%s' has no kernel '%s'%s", QUOTE(mpk_device_code_file(d, i)),
			 QUOTE(name), hint);
	d->valid = false;
}

/* Reports the error that the reader of a file found. The text before preprocessing may be broken
 * although the result is valid, so for sources this is not fatal. */
static void broken_file(struct mpk_device_code *d, size_t i, const struct mpk_code_info *found)
{
	const struct mpk_error *err = mpk_code_info_problem(found);
	struct mpk_toml_reader findings = mpk_device_code_findings(d);
	struct mpk_toml_str name = mpk_device_code_file(d, i);

	if (found->format->is_source) {
		mpk_toml_read_warn(&findings, name.pos, "payload-format", "'%s': %s", QUOTE(name),
				   err->text);
		return;
	}
	mpk_loader_error(d->l, name.pos, err->code, "payload-format", "'%s': %s", QUOTE(name),
			 err->text);
	d->valid = false;
}

static const struct mpk_code_kernel *kernel_in(const struct mpk_code_info *found,
					       struct mpk_span name)
{
	const struct mpk_code_info *lister = mpk_code_info_lister(found);
	size_t k;

	return lister && mpk_code_info_find(lister, name, &k) ? &lister->kernels[k] : NULL;
}

/* Checks the kernels of one file: function i, and those after it with the same file. */
static void check_kernels_from(struct mpk_device_code *d, size_t i)
{
	const struct mpk_code_info *found = mpk_loader_code(d->l, d->files[i]);

	if (!found)
		return;
	if (mpk_code_info_problem(found)) {
		broken_file(d, i, found);
		return;
	}
	d->names = NULL; /* the names were those of another file */
	for (size_t k = i; k < d->m->function_count && d->files[k] == d->files[i]; k++) {
		struct mpk_span name = mpk_toml_str_span(d->m->functions[k].name);

		d->code[k] = kernel_in(found, name);
		if (mpk_code_info_defines(found, name) == MPK_CODE_MISSING)
			missing_kernel(d, k, found);
	}
}

static void check_kernels(struct mpk_device_code *d)
{
	d->code = mpk_arena_array(d->l->arena, d->m->function_count,
				  sizeof(const struct mpk_code_kernel *));
	if (!d->code) {
		d->l->failed = true;
		return;
	}
	d->l->code[d->m - d->l->manifest->modules] = d->code;
	for (size_t i = 0; i < d->m->function_count; i++)
		if (i == 0 || d->files[i] != d->files[i - 1])
			check_kernels_from(d, i);
}

/* Opens the code files of a device module, completes its table with rows from launch functions,
 * and looks for the kernels; problems become findings
 * Returns  true: the module has kernels, and d->valid and d->format say whether it can be
 *          written */
static bool device_code_read(struct mpk_device_code *d)
{
	if (!open_data(d) || !open_files(d))
		return false;
	check_kernels(d);
	return true;
}

/* --- pieces of a source ------------------------------------------------------------------- */

/* TVM's OpenCL loader compiles each kernel of a module separately: it splits the source at lines
 * "// Function: NAME" (SplitKernels in src/runtime) and expects one part for each kernel. */
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

/* Adds a large file to the rope as a range, whose bytes the operating system copies later. A small
 * file is already in memory, and its descriptor is closed. */
static void put_file_range(const struct mpk_file *f, uint64_t off, uint64_t len,
			   struct mpk_rope *rope)
{
	struct mpk_span view;

	if (f->map.fd >= 0 && f->map.mapped)
		mpk_rope_put_file(rope, f->map.fd, off, len);
	else if (mpk_span_sub(f->map.bytes, off, len, &view))
		mpk_rope_put_view(rope, view);
}

/* --- graph and AOT executors --------------------------------------------------- */

/* Adds the tensors of the parameter file, unchanged and as one piece: if added one by one, small
 * tensors would be copied through memory. */
static bool executor_params(struct mpk_loader *l, const struct mpk_manifest_module *m,
			    struct mpk_params *out, struct mpk_rope *tensors)
{
	struct mpk_toml_str name = mpk_manifest_module_extra(m, "params");
	const struct mpk_file *f = name.text ? mpk_loader_open(l, name) : NULL;
	struct mpk_error err = { 0 };

	if (!f)
		return !name.text;
	if (mpk_params_read(f->map.bytes, l->arena, out, &err) == MPK_OK) {
		put_file_range(f, out->tensors_off, f->map.bytes.len - out->tensors_off, tensors);
		out->content = tensors;
		return true;
	}
	if (err.code == MPK_E_NOMEM)
		l->failed = true;
	else
		mpk_loader_error(l, name.pos, err.code, "payload-format", "'%s': at byte %llu: %s",
				 QUOTE(name), (unsigned long long)err.at.offset, err.text);
	return false;
}

/* Reads only enough to distinguish a graph from another JSON file; the executor parses the graph
 * when it is loaded. */
static void executor_check_graph(struct mpk_loader *l, struct mpk_toml_str name,
				 struct mpk_span text)
{
	struct mpk_json_value graph, nodes;
	struct mpk_error why = { 0 };

	if (mpk_json_read(text, &graph, &why) != MPK_OK) {
		mpk_loader_error(l, name.pos, MPK_E_CORRUPT, "payload-format",
				 "'%s': line %u, column %u: %s", QUOTE(name), why.at.line,
				 why.at.column, why.text);
		return;
	}
	nodes = mpk_json_value_get(graph, "nodes");
	if (mpk_json_value_type(nodes) != MPK_JSON_ARRAY)
		mpk_loader_error(l, name.pos, MPK_E_CORRUPT, "payload-format",
				 "'%s' is no graph: it has no array 'nodes'", QUOTE(name));
}

/* A wrong graph has been reported by now. Its bytes are added all the same: a package with findings
 * is never written. */
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

/* TVM calls a module without a name "default". */
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

/* --- code files and their table ------------------------------------------------------------------ */

/* Returns how this TVM release stores the kernels of a kind (formats/kernels/FORMAT.md). */
static enum mpk_kernels_layout layout_of(const char *key, enum mpk_generation gen)
{
	bool current = gen == MPK_GEN_CURRENT;

	if (strcmp(key, "metal") == 0)
		return current ? MPK_KERNELS_SOURCES : MPK_KERNELS_METAL_013;
	if (strcmp(key, "vulkan") == 0)
		return current ? MPK_KERNELS_SHADERS_024 : MPK_KERNELS_SHADERS;
	if (strcmp(key, "webgpu") == 0)
		return MPK_KERNELS_WEBGPU;
	return MPK_KERNELS_PLAIN;
}

/* Makes the kernel table of the payload in the order of the manifest. Loaders and launch functions
 * accept any order. */
static struct mpk_function_info *build_table(struct mpk_device_code *d)
{
	enum mpk_generation gen = d->l->manifest->gen;
	size_t count = d->m->function_count;
	struct mpk_function_info *table = mpk_arena_array(d->l->arena, count, sizeof *table);

	for (size_t i = 0; table && i < count; i++) {
		const struct mpk_manifest_function *f = &d->m->functions[i];
		struct mpk_span *tags = mpk_arena_array(d->l->arena, f->launch.count, sizeof *tags);
		int32_t *extra = mpk_arena_array(d->l->arena, f->arg_count, sizeof *extra);

		if (!tags || !extra)
			return NULL;
		for (size_t k = 0; k < f->launch.count; k++)
			tags[k] = mpk_toml_str_span(f->launch.items[k]);
		table[i] = (struct mpk_function_info){
			.key = mpk_toml_str_span(f->name),
			.arg_types = f->args,
			.arg_count = f->arg_count,
			.launch_tags = tags,
			.launch_tag_count = f->launch.count,
			.extra_tags = extra,
		};
		/* TVM writes names from 0.24 on, and no tags in webgpu tables. */
		if (gen == MPK_GEN_CURRENT)
			table[i].name = table[i].key;
		if (gen != MPK_GEN_LEGACY && d->layout != MPK_KERNELS_WEBGPU)
			table[i].extra_tag_count = f->arg_count;
	}
	return table;
}

/* --- code -------------------------------------------------------------------------------- */

/* Checks how loaders will split a source that has its own separating lines. */
static void check_pieces(struct mpk_device_code *d, const struct mpk_source_code_piece *pieces,
			 size_t count)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap names = { 0 };
	size_t ignored;

	for (size_t i = 0; i < count; i++)
		d->l->failed |= mpk_strmap_put(&names, pieces[i].name, i, &ignored) < 0;
	for (size_t i = 0; !d->l->failed && i < d->m->function_count; i++) {
		struct mpk_toml_str name = d->m->functions[i].name;

		if (!mpk_strmap_find(&names, mpk_toml_str_span(name), &ignored))
			mpk_loader_error(d->l, name.pos, MPK_E_CONFLICT, "missing-kernel",
					 "'%s' has '" MPK_SOURCE_CODE_DELIMITER
					 "' lines, but none for '%s'",
					 QUOTE(mpk_device_code_file(d, i)), QUOTE(name));
	}
	if (count != d->m->function_count)
		mpk_loader_error(d->l, d->m->data.pos, MPK_E_CONFLICT, "pieces",
				 "'%s' has %zu '" MPK_SOURCE_CODE_DELIMITER
				 "' lines for %zu kernels; loaders need one for each",
				 QUOTE(d->m->data), count, d->m->function_count);
}

/* Warns if a source is repeated for each of its kernels: each copy enlarges the blob and is
 * compiled by the driver. */
static void warn_copies(struct mpk_device_code *d)
{
	enum { NOTEWORTHY = 256 * 1024 }; /* bytes of copies that are worth a warning */
	struct mpk_toml_reader findings = mpk_device_code_findings(d);
	size_t count = d->m->function_count, len = d->files[0]->map.bytes.len;

	if (d->own_files || count < 2 || len < NOTEWORTHY / (count - 1))
		return;
	mpk_toml_read_warn(
		&findings, d->m->data.pos, "pieces",
		"'%s' is stored and compiled once for each of its %zu kernels, %s in all; divide it by '" MPK_SOURCE_CODE_DELIMITER
		"NAME' lines, or give kernels files of their own: 'data' of [[module.function]]",
		QUOTE(d->m->data), count, MPK_SIZE((uint64_t)len * count));
}

/* OpenCL source is one text. A line before each part names the kernel that the part is for; loaders
 * compile each part separately. */
static void put_opencl(struct mpk_device_code *d, struct mpk_rope *code)
{
	const struct mpk_file *first = d->files[0];
	const struct mpk_source_code_piece *pieces;
	size_t count = 0;

	if (!d->own_files &&
	    mpk_source_code_split(first->map.bytes, d->l->arena, &pieces, &count, NULL) != MPK_OK) {
		d->l->failed = true;
		return;
	}
	if (count) {
		check_pieces(d, pieces, count);
		put_file_range(first, 0, first->map.bytes.len, code);
	} else {
		warn_copies(d);

		/* A source without separating lines is repeated, once for each kernel. */
		for (size_t i = 0; i < d->m->function_count; i++) {
			mpk_pieces_put(code, mpk_toml_str_span(d->m->functions[i].name),
				       d->files[i]->map.bytes);
			mpk_mapping_use_file(&d->files[i]->map, code);
		}
	}
}

/* Stores options for the compilation at run time as a comment in the source: the module has no
 * other place for them. */
static void put_nvrtc(struct mpk_device_code *d, struct mpk_rope *code)
{
	const struct mpk_toml_list *list = &d->m->nvrtc_options;

	if (!list->present)
		return;
	if (strcmp(d->format, "cuda") != 0)
		mpk_loader_error(d->l, list->pos, MPK_E_CONFLICT, "nvrtc-options",
				 "'%s' is compiled already: 'nvrtc_options' are for CUDA source",
				 QUOTE(d->m->data));
	else if (mpk_span_starts(d->files[0]->map.bytes, MPK_SOURCE_CODE_NVRTC))
		mpk_loader_error(d->l, list->pos, MPK_E_CONFLICT, "nvrtc-options",
				 "'%s' has options of its own in its first line",
				 QUOTE(d->m->data));
	mpk_rope_put_bytes(code, mpk_span_str(MPK_SOURCE_CODE_NVRTC));
	for (size_t i = 0; i < list->count; i++) {
		mpk_rope_put_bytes(code, mpk_span_str(" "));
		mpk_rope_put_bytes(code, mpk_toml_str_span(list->items[i]));
	}
	mpk_rope_put_bytes(code, mpk_span_str("\n"));
}

static void put_plain(struct mpk_device_code *d, struct mpk_rope *code)
{
	const struct mpk_file *f = d->files[0];

	if (strcmp(d->format, "cl") == 0) {
		put_opencl(d, code);
		return;
	}
	for (size_t i = 0; i < d->m->function_count; i++)
		if (d->m->functions[i].data.text)
			mpk_loader_error(
				d->l, d->m->functions[i].data.pos, MPK_E_CONFLICT, "misplaced-key",
				"kind '%s' has one file for all kernels: 'data' of the module",
				d->kind->name);
	put_nvrtc(d, code);
	put_file_range(f, 0, f->map.bytes.len, code);
}

/* Encodes a module without findings. A failed allocation is noticed later, in functions or code. */
static void encode(struct mpk_device_code *d, struct mpk_rope *rope)
{
	struct mpk_rope code = mpk_rope_of(d->l->arena);
	struct mpk_kernels k = {
		.layout = d->layout,
		.gen = d->l->manifest->gen,
		.fmt = mpk_span_str(d->format),
		.functions = build_table(d),
		.function_count = d->m->function_count,
		.source_count = d->m->function_count,
		.content = &code,
	};

	if (d->layout == MPK_KERNELS_PLAIN)
		put_plain(d, &code);
	else {
		size_t count = d->m->function_count;
		struct mpk_kernel_source *sources =
			mpk_arena_array(d->l->arena, count, sizeof *sources);

		for (size_t i = 0; sources && i < count; i++)
			sources[i] = (struct mpk_kernel_source){
				.key = mpk_toml_str_span(d->m->functions[i].name),
				.data = d->files[i]->map.bytes,
				.flag = d->m->functions[i].uniform_buffer,
			};
		k.sources = sources;
	}
	if (!k.functions || code.failed || (d->layout != MPK_KERNELS_PLAIN && !k.sources))
		d->l->failed = true;
	else
		mpk_kernels_write(&k, rope);
}

/* --- one module ---------------------------------------------------------------------------- */

/* Makes the payload: the given one, else one made from the parts. Kinds without a row here can only
 * be given as a payload, which the manifest's checks ensure. */
void mpk_loader_put_payload(struct mpk_loader *l, struct mpk_manifest_module *m,
			    struct mpk_rope *rope)
{
	const struct mpk_manifest_kind *kind = mpk_manifest_kind_find(mpk_toml_str_span(m->kind));

	if (m->payload.text) {
		const struct mpk_file *f = mpk_loader_open(l, m->payload);

		if (f)
			put_file_range(f, 0, f->map.bytes.len, rope);
	} else if (kind && kind->device) {
		struct mpk_device_code d = { .l = l,
					     .m = m,
					     .kind = mpk_manifest_kind_find(
						     mpk_toml_str_span(m->kind)),
					     .valid = true };

		d.layout = layout_of(d.kind->key, l->manifest->gen);
		if (device_code_read(&d) && d.valid &&
		    d.format) /* without files there is no format; the manifest refuses this */
			encode(&d, rope);
	} else if (kind && kind->keys[0].name) {
		put_executor(l, m, rope);
	}
}
