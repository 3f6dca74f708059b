/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - the code files of a device module: their formats, and the kernels that the module lists */

#include <stdio.h>
#include <string.h>

#include "base/strmap.h"
#include "code/format.h"
#include "code/info.h"
#include "kernels/kernels.h"
#include "package/internal/package.h"
#include "sourcecode/sourcecode.h"
#include "text/escape.h"
#include "text/table.h"

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

/* A suffix is the user's claim about the file; the bytes are compared with it afterwards. */
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

/* Reads the bytes where the suffix says nothing, or names a format that the kind does not have. */
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

/* Returns ": this is PTX text; kind = \"cuda\"?", or only the format where the kind has it; the
 * caller's text where the format is unknown. */
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

/* A module has one format: the manifest's, else that of its first file. */
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

/* The module's own file, and the table that it completes. */
static bool open_data(struct mpk_device_code *d)
{
	if (d->m->data.text)
		d->shared = open_checked(d, d->m->data);
	mpk_loader_fill_table(d->l, d->m, d->shared, d->valid);
	return d->m->function_count != 0;
}

/* Opens every file, also after a failure, so that all findings come in one run. */
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

/* Returns the kernel that the user probably meant, or count. When thousands are missing among
 * thousands of others, the last ones get no hints. */
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

/* Reports what its reader found wrong with a file; a preprocessor may leave valid text of a
 * source. */
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

/* The kernels of one file: function i and those after it with the same file. */
static void check_kernels_from(struct mpk_device_code *d, size_t i)
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

bool mpk_device_code_read(struct mpk_device_code *d)
{
	if (!open_data(d) || !open_files(d))
		return false;
	check_kernels(d);
	return true;
}

/* --- pieces of a source ------------------------------------------------------------------- */

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
