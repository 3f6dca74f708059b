/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - the payload of a device module: code files and the kernel table */

#include <stdio.h>
#include <string.h>

#include "base/strmap.h"
#include "code/info.h"
#include "kernels/kernels.h"
#include "package/internal/package.h"
#include "sourcecode/sourcecode.h"
#include "text/escape.h"
#include "text/table.h"

#define QUOTE(mstr) MPK_QUOTE(mpk_toml_str_span(mstr))

/* One module on its way. */
struct device {
	struct mpk_loader *l;
	struct mpk_manifest_module *m;
	const struct mpk_manifest_kind *kind;
	struct mpk_file *shared; /* the module's data; NULL: it has none that is valid */
	const char *format;      /* NULL: not known yet, or none fits */
	struct mpk_file **files; /* of each kernel; all the same when the module has one */
	const struct mpk_code_kernel **code; /* of each kernel, as its file says */
	enum mpk_kernels_layout layout;
	struct mpk_span
		*names; /* of the file's kernels, to choose a hint from; NULL: not listed yet */
	bool own_files; /* kernels bring files of their own */
	bool valid;     /* no finding so far */
};

/* How TVM stores the kernels of a kind changed between releases
 * (formats/kernels/FORMAT.md). */
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

/* The file of function i: its own, else the module's. */
static struct mpk_toml_str data_of(const struct device *d, size_t i)
{
	const struct mpk_manifest_function *f = &d->m->functions[i];

	return f->data.text ? f->data : d->m->data;
}

/* --- files ------------------------------------------------------------------------------- */

enum { HINT_BYTES = 160 };

/* ": this is PTX text; kind = \"cuda\"?", or format where the kind has it; otherwise, when it cannot
 * be known, what the caller says. */
static const char *what_it_is(const struct device *d, struct mpk_span bytes, const char *otherwise,
			      char out[HINT_BYTES])
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

/* The format is one for the whole module: as the manifest says, else as the first file is. */
static void package_device_check_format(struct device *d, struct mpk_toml_str name,
					const struct mpk_file *f)
{
	struct mpk_span kind = mpk_span_str(d->kind->key), format;
	char hint[HINT_BYTES];

	if (!d->format)
		d->format =
			d->m->format.text
				? d->m->format.text
				: mpk_code_format_guess(d->kind->formats, MPK_MANIFEST_KIND_FORMATS,
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

static struct mpk_file *open_checked(struct device *d, struct mpk_toml_str name)
{
	struct mpk_file *f = mpk_loader_open(d->l, name);

	if (f)
		package_device_check_format(d, name, f);
	else
		d->valid = false;
	return f;
}

/* The module's own file, and the table that it completes. */
static bool open_data(struct device *d)
{
	if (d->m->data.text)
		d->shared = open_checked(d, d->m->data);
	mpk_loader_fill_table(d->l, d->m, d->shared, d->valid);
	return d->m->function_count != 0;
}

/* Every file is opened, also after one that fails, so that all findings come in one run. */
static bool open_files(struct device *d)
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

/* The kernel that the user probably meant, or count. Thousands that are missing where there are thousands of
 * others get no hints in the end. */
static size_t closest_kernel(struct device *d, struct mpk_span name, size_t count)
{
	uint64_t letters = 0;

	for (size_t k = 0; k < count; k++)
		letters += (uint64_t)name.len * d->names[k].len;
	if (letters > d->l->letters_left)
		return count;
	d->l->letters_left -= letters;
	return mpk_closest(name, d->names, count);
}

static bool list_names(struct device *d, const struct mpk_code_info *lister, size_t count)
{
	if (d->names)
		return true;
	d->names = mpk_arena_array(d->l->arena, count, sizeof *d->names);
	for (size_t k = 0; d->names && k < count; k++)
		d->names[k] = lister->kernels[k].name;
	return d->names != NULL;
}

static void missing_kernel(struct device *d, size_t i, const struct mpk_code_info *found)
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
			 "'%s' has no kernel '%s'%s", QUOTE(data_of(d, i)), QUOTE(name), hint);
	d->valid = false;
}

/* For warnings, which mpk_loader_error has none of. */
static struct mpk_toml_reader findings_of(const struct device *d)
{
	return (struct mpk_toml_reader){ .report = d->l->report, .path = d->l->manifest->path };
}

/* What its reader found wrong with a file; a preprocessor may leave valid text of a source. */
static void broken_file(struct device *d, size_t i, const struct mpk_code_info *found)
{
	const struct mpk_error *err = mpk_code_info_problem(found);
	struct mpk_toml_reader findings = findings_of(d);
	struct mpk_toml_str name = data_of(d, i);

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

/* The kernels of one file: function i and those after it that have the same file. */
static void check_kernels_from(struct device *d, size_t i)
{
	const struct mpk_code_info *found = mpk_loader_code(d->l, d->files[i]);

	if (!found)
		return;
	if (mpk_code_info_problem(found)) {
		broken_file(d, i, found);
		return;
	}
	d->names = NULL; /* were another file's */
	for (size_t k = i; k < d->m->function_count && d->files[k] == d->files[i]; k++) {
		struct mpk_span name = mpk_toml_str_span(d->m->functions[k].name);

		d->code[k] = kernel_in(found, name);
		if (mpk_code_info_defines(found, name) == MPK_CODE_MISSING)
			missing_kernel(d, k, found);
	}
}

static void check_kernels(struct device *d)
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

/* The kernel table of the payload, in the order of the manifest, which loaders and launch
 * functions do not depend on. */
static struct mpk_function_info *build_table(struct device *d)
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
		/* as TVM writes them: names from 0.24 on, no tags in webgpu tables */
		if (gen == MPK_GEN_CURRENT)
			table[i].name = table[i].key;
		if (gen != MPK_GEN_LEGACY && d->layout != MPK_KERNELS_WEBGPU)
			table[i].extra_tag_count = f->arg_count;
	}
	return table;
}

/* --- code -------------------------------------------------------------------------------- */

/* What loaders make of a source that comes with lines of its own. */
static void check_pieces(struct device *d, const struct mpk_source_code_piece *pieces, size_t count)
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
					 QUOTE(data_of(d, i)), QUOTE(name));
	}
	if (count != d->m->function_count)
		mpk_loader_error(d->l, d->m->data.pos, MPK_E_CONFLICT, "pieces",
				 "'%s' has %zu '" MPK_SOURCE_CODE_DELIMITER
				 "' lines for %zu kernels; loaders want one for each",
				 QUOTE(d->m->data), count, d->m->function_count);
}

/* A source without lines that name kernels: one piece of it for each kernel. */
static void put_pieces(struct device *d, struct mpk_rope *code)
{
	for (size_t i = 0; i < d->m->function_count; i++) {
		mpk_pieces_put(code, mpk_toml_str_span(d->m->functions[i].name),
			       d->files[i]->map.bytes);
		mpk_mapping_use_file(&d->files[i]->map, code);
	}
}

/* Every kernel of one source brings all of it along, to the blob and to the driver's compiler. */
static void warn_copies(struct device *d)
{
	enum { NOTEWORTHY = 256 * 1024 }; /* bytes of copies */
	struct mpk_toml_reader findings = findings_of(d);
	size_t count = d->m->function_count, len = d->files[0]->map.bytes.len;

	if (d->own_files || count < 2 || len < NOTEWORTHY / (count - 1))
		return;
	mpk_toml_read_warn(
		&findings, d->m->data.pos, "pieces",
		"'%s' is stored and compiled once for each of its %zu kernels, %s in all; divide it by '" MPK_SOURCE_CODE_DELIMITER
		"NAME' lines, or give kernels files of their own: 'data' of [[module.function]]",
		QUOTE(d->m->data), count, MPK_SIZE((uint64_t)len * count));
}

/* OpenCL source is one text in which a line names the kernel that the text after it is
 * for: loaders compile each piece by itself. */
static void put_opencl(struct device *d, struct mpk_rope *code)
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
		mpk_loader_put(first, 0, first->map.bytes.len, code);
	} else {
		warn_copies(d);
		put_pieces(d, code);
	}
}

/* Options of the compilation at run time, for which a module has no other place. */
static void put_nvrtc(struct device *d, struct mpk_rope *code)
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

static void put_plain(struct device *d, struct mpk_rope *code)
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
	mpk_loader_put(f, 0, f->map.bytes.len, code);
}

static struct mpk_kernel_source *build_sources(struct device *d)
{
	size_t count = d->m->function_count;
	struct mpk_kernel_source *sources = mpk_arena_array(d->l->arena, count, sizeof *sources);

	for (size_t i = 0; sources && i < count; i++)
		sources[i] = (struct mpk_kernel_source){
			.key = mpk_toml_str_span(d->m->functions[i].name),
			.data = d->files[i]->map.bytes,
			.flag = d->m->functions[i].uniform_buffer,
		};
	return sources;
}

/* Only a module without findings is encoded; a table that lacked memory shows in functions
 * or code. */
static void encode(struct device *d, struct mpk_rope *rope)
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
	else
		k.sources = build_sources(d);
	if (!k.functions || code.failed || (d->layout != MPK_KERNELS_PLAIN && !k.sources))
		d->l->failed = true;
	else
		mpk_kernels_write(&k, rope);
}

void mpk_loader_put_device(struct mpk_loader *l, struct mpk_manifest_module *m,
			   struct mpk_rope *rope)
{
	struct device d = { .l = l,
			    .m = m,
			    .kind = mpk_manifest_kind_find(mpk_toml_str_span(m->kind)),
			    .valid = true };

	d.layout = layout_of(d.kind->key, l->manifest->gen);
	if (!open_data(&d) || !open_files(&d))
		return;
	check_kernels(&d);
	if (d.valid && d.format) /* without files, which the manifest refuses, there is none */
		encode(&d, rope);
}
