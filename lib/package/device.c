/* device.c - the payload of a device module: code files and the kernel table */

#include <stdio.h>
#include <string.h>

#include "base/strmap.h"
#include "kernels/kernels.h"
#include "manifest/mkind.h"
#include "package/format.h"
#include "package/loader.h"
#include "text/escape.h"

#define DELIMITER "// Function: "
#define QUOTE(mstr) MPK_QUOTE(mpk_mstr_span(mstr))

/* One module on its way. */
struct device {
	struct mpk_loader *l;
	const struct mpk_mmodule *m;
	const struct mpk_mkind *kind;
	const struct mpk_code_format *format;
	const struct mpk_file **files; /* of each kernel; all the same when the module has one */
	enum mpk_kernels_layout layout;
	bool own_files;                /* kernels bring files of their own */
	bool sound;                    /* no finding so far */
};

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

static struct mpk_mstr data_of(const struct device *d, size_t i)
{
	const struct mpk_mfunction *f = &d->m->functions[i];

	return f->data.text ? f->data : d->m->data;
}

/* --- files ------------------------------------------------------------------------------- */

/* The format is one for the whole module: as the manifest says, else as the first file is. */
static void check_format(struct device *d, struct mpk_mstr name, const struct mpk_file *f)
{
	struct mpk_mstr said = d->m->format;
	const char *const *formats = d->kind->formats;

	if (!d->format)
		d->format = said.text ? mpk_code_format_find(said.text) :
					mpk_code_format_guess(formats, MPK_MKIND_FORMATS,
							      f->path, f->map.bytes);
	if (!f->map.bytes.len) {
		mpk_loader_error(d->l, name.pos, MPK_E_CORRUPT, "payload-format",
				 "'%s' is empty", QUOTE(name));
	} else if (!d->format) {
		mpk_loader_error(d->l, name.pos, MPK_E_CORRUPT, "payload-format",
				 "'%s' is in no format of kind '%s': say 'format' if it is",
				 QUOTE(name), d->kind->name);
	} else if (d->format->fits && !d->format->fits(f->map.bytes)) {
		mpk_loader_error(d->l, name.pos, MPK_E_CORRUPT, "payload-format",
				 "'%s' is not %s (format '%s')", QUOTE(name), d->format->what,
				 d->format->name);
	} else {
		return;
	}
	d->sound = false;
}

static const struct mpk_file *open_checked(struct device *d, struct mpk_mstr name)
{
	const struct mpk_file *f = mpk_loader_open(d->l, name);

	if (f)
		check_format(d, name, f);
	else
		d->sound = false;
	return f;
}

static bool open_files(struct device *d)
{
	size_t count = d->m->function_count;
	const struct mpk_file *shared = NULL;

	d->files = mpk_arena_array(d->l->arena, count, sizeof(struct mpk_file *));
	if (!d->files) {
		d->l->failed = true;
		return false;
	}
	if (d->m->data.text)
		shared = open_checked(d, d->m->data);
	for (size_t i = 0; i < count; i++) {
		struct mpk_mstr own = d->m->functions[i].data;

		d->own_files |= own.text != NULL;
		d->files[i] = own.text ? open_checked(d, own) : shared;
	}
	return d->sound;
}

/* --- kernels --------------------------------------------------------------------------- */

static bool is_among(struct mpk_span name, const struct mpk_span *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (mpk_span_equal(names[i], name))
			return true;
	return false;
}

static void missing_kernel(struct device *d, size_t i, const struct mpk_span *names,
			   size_t count)
{
	struct mpk_mstr name = d->m->functions[i].name;
	size_t near = mpk_closest(mpk_mstr_span(name), names, count);
	char hint[160] = "";

	if (near < count)
		(void)snprintf(hint, sizeof hint, "; did you mean '%s'?", MPK_QUOTE(names[near]));
	else if (count == 1)
		(void)snprintf(hint, sizeof hint, "; it has '%s'", MPK_QUOTE(names[0]));
	mpk_loader_error(d->l, name.pos, MPK_E_CONFLICT, "missing-kernel",
			 "'%s' has no kernel '%s'%s", QUOTE(data_of(d, i)), QUOTE(name), hint);
	d->sound = false;
}

/* Macros may build names in sources that no scan can see. */
static bool may_hide_names(struct mpk_span text)
{
	return memmem(text.data, text.len, "##", 2) != NULL;
}

/* The kernels of the file that function i and maybe others lie in. */
static void check_kernels_from(struct device *d, size_t i)
{
	struct mpk_span bytes = d->files[i]->map.bytes, *names;
	size_t count;

	if (!d->format->list || !d->format->list(bytes, d->l->arena, &names, &count))
		return;
	for (size_t k = i; k < d->m->function_count; k++) {
		struct mpk_span name = mpk_mstr_span(d->m->functions[k].name);

		if (d->files[k] != d->files[i] || is_among(name, names, count))
			continue;
		if (d->format->exact ||
		    (!may_hide_names(bytes) && !mpk_text_has_word(bytes, name)))
			missing_kernel(d, k, names, count);
		else if (d->format->unlisted)
			mpk_manifest_add(d->l->report, d->l->manifest->path,
					 d->m->functions[k].name.pos, MPK_WARNING,
					 "missing-kernel", "'%s' %s",
					 QUOTE(d->m->functions[k].name), d->format->unlisted);
	}
}

static void check_kernels(struct device *d)
{
	for (size_t i = 0; i < d->m->function_count; i++)
		if (i == 0 || d->files[i] != d->files[i - 1])
			check_kernels_from(d, i);
}

static struct mpk_function_info *build_table(struct device *d)
{
	enum mpk_generation gen = d->l->manifest->gen;
	size_t count = d->m->function_count;
	struct mpk_function_info *table = mpk_arena_array(d->l->arena, count, sizeof *table);

	for (size_t i = 0; table && i < count; i++) {
		const struct mpk_mfunction *f = &d->m->functions[i];
		struct mpk_span *tags =
			mpk_arena_array(d->l->arena, f->launch.count, sizeof *tags);
		int32_t *extra = mpk_arena_array(d->l->arena, f->arg_count, sizeof *extra);

		if (!tags || !extra)
			return NULL;
		for (size_t k = 0; k < f->launch.count; k++)
			tags[k] = mpk_mstr_span(f->launch.items[k]);
		table[i] = (struct mpk_function_info){
			.key = mpk_mstr_span(f->name), .arg_types = f->args,
			.arg_count = f->arg_count, .launch_tags = tags,
			.launch_tag_count = f->launch.count, .extra_tags = extra,
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

/* How many pieces the loader will see, and whether one of them is for this kernel. */
static size_t count_pieces(struct mpk_span source, struct mpk_span kernel, bool *found)
{
	size_t count = 0, n = sizeof DELIMITER - 1;
	const uint8_t *at = source.data, *end = source.data + source.len;

	*found = false;
	while (at < end && (at = memmem(at, (size_t)(end - at), DELIMITER, n))) {
		bool begins_line = at == source.data || at[-1] == '\n';
		const uint8_t *stop;

		at += n;
		stop = memchr(at, '\n', (size_t)(end - at));
		count += begins_line;
		*found |= begins_line && stop &&
			  mpk_span_equal(mpk_span_of(at, (size_t)(stop - at)), kernel);
	}
	return count;
}

static void check_pieces(struct device *d, size_t pieces)
{
	for (size_t i = 0; i < d->m->function_count; i++) {
		struct mpk_mstr name = d->m->functions[i].name;
		bool found;

		(void)count_pieces(d->files[i]->map.bytes, mpk_mstr_span(name), &found);
		if (!found)
			mpk_loader_error(d->l, name.pos, MPK_E_CONFLICT, "missing-kernel",
					 "'%s' has '" DELIMITER "' lines, but none for '%s'",
					 QUOTE(data_of(d, i)), QUOTE(name));
	}
	if (pieces != d->m->function_count)
		mpk_loader_error(d->l, d->m->data.pos, MPK_E_CONFLICT, "pieces",
				 "'%s' has %zu '" DELIMITER "' lines for %zu kernels; loaders "
				 "want one for each",
				 QUOTE(d->m->data), pieces, d->m->function_count);
}

/* OpenCL source is one text in which a line names the kernel that the text behind it is
 * for: loaders compile each piece by itself. A source without such lines becomes one
 * piece for each kernel. */
static void put_opencl(struct device *d, struct mpk_rope *code)
{
	const struct mpk_file *first = d->files[0];
	bool found;
	size_t pieces = d->own_files ? 0 :
				       count_pieces(first->map.bytes, (struct mpk_span){ 0 },
						    &found);

	if (pieces) {
		check_pieces(d, pieces);
		mpk_loader_put(first, 0, first->map.bytes.len, code);
		return;
	}
	for (size_t i = 0; i < d->m->function_count; i++) {
		struct mpk_span source = d->files[i]->map.bytes;

		while (source.len && source.data[source.len - 1] == 0)
			source.len--;
		mpk_rope_put_bytes(code, mpk_span_str(DELIMITER));
		mpk_rope_put_bytes(code, mpk_mstr_span(d->m->functions[i].name));
		mpk_rope_put_bytes(code, mpk_span_str("\n"));
		mpk_loader_put(d->files[i], 0, source.len, code);
		if (source.len && source.data[source.len - 1] != '\n')
			mpk_rope_put_bytes(code, mpk_span_str("\n"));
	}
}

static void put_plain(struct device *d, struct mpk_rope *code)
{
	const struct mpk_file *f = d->files[0];

	if (strcmp(d->format->name, "cl") == 0) {
		put_opencl(d, code);
		return;
	}
	for (size_t i = 0; i < d->m->function_count; i++)
		if (d->m->functions[i].data.text)
			mpk_loader_error(d->l, d->m->functions[i].data.pos, MPK_E_CONFLICT,
					 "misplaced-key",
					 "kind '%s' has one file for all kernels: 'data' of the "
					 "module",
					 d->kind->name);
	mpk_loader_put(f, 0, f->map.bytes.len, code);
}

static struct mpk_kernel_source *build_sources(struct device *d)
{
	size_t count = d->m->function_count;
	struct mpk_kernel_source *sources =
		mpk_arena_array(d->l->arena, count, sizeof *sources);

	for (size_t i = 0; sources && i < count; i++)
		sources[i] = (struct mpk_kernel_source){
			.key = mpk_mstr_span(d->m->functions[i].name),
			.data = d->files[i]->map.bytes,
			.flag = d->m->functions[i].uniform_buffer,
		};
	return sources;
}

static void encode(struct device *d, struct mpk_rope *rope)
{
	struct mpk_rope code = mpk_rope_of(d->l->arena);
	struct mpk_kernels k = {
		.layout = d->layout, .gen = d->l->manifest->gen,
		.fmt = mpk_span_str(d->format->name), .functions = build_table(d),
		.function_count = d->m->function_count, .source_count = d->m->function_count,
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

void mpk_loader_put_device(struct mpk_loader *l, const struct mpk_mmodule *m, struct mpk_rope *rope)
{
	struct device d = { .l = l, .m = m, .kind = mpk_mkind_find(mpk_mstr_span(m->kind)),
			    .sound = true };

	d.layout = layout_of(d.kind->key, l->manifest->gen);
	if (!open_files(&d))
		return;
	check_kernels(&d);
	if (d.sound)
		encode(&d, rope);
}
