/* SPDX-License-Identifier: Apache-2.0 */
/* size.c - collects the sizes in a file: sections around the blob, the files that --extract would
 * make of its payloads, machine code by kernel */
#include "size/size.h"

#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "base/vec.h"
#include "elf/foreign.h"
#include "elf/reader.h"
#include "io/digest.h"
#include "model/device_code.h"
#include "model/node_info.h"
#include "size/internal/size.h"
#include "text/phrase.h"

/* A growing list, moved to the arena at the end. */
struct growing {
	struct mpk_size_item *items;
	size_t count, cap;
};

struct sizer {
	const struct mpk_view *view;
	struct mpk_arena *arena;
	struct mpk_error *err;
	struct growing sections, modules, files, byte_code, kernels;
	const struct mpk_view_node
		*whole; /* the module whose rows are being added, if it is shown whole; else NULL */
	bool shows_all; /* the code outside the tree whose rows are being added is shown whole */
};

static void sizer_fini(struct sizer *s)
{
	free(s->sections.items);
	free(s->modules.items);
	free(s->files.items);
	free(s->byte_code.items);
	free(s->kernels.items);
}

/* Adds a row if the filter allows it: every row passes here, for whole modules, for parts, and for
 * code outside the tree. */
static enum mpk_code size_add(const struct sizer *s, struct growing *g, struct mpk_size_item item)
{
	if (s->whole ? !mpk_view_shows_part(s->whole, item.name)
		     : !s->shows_all && !mpk_view_shows(s->view, item.name))
		return MPK_OK;
	MPK_TRY_ALLOC(MPK_VEC_ROOM(g->items, g->count, g->cap), s->err);
	g->items[g->count++] = item;
	return MPK_OK;
}

/* Copies an array to the arena: growing there would leave each smaller array behind. */
static enum mpk_code size_settle(const struct sizer *s, struct growing *g,
				 struct mpk_size_list *out)
{
	out->items = mpk_arena_keep(s->arena, g->items, g->count, sizeof *g->items);
	out->count = g->count;
	free(g->items);
	*g = (struct growing){ 0 };
	return out->items ? MPK_OK : mpk_fail_nomem(s->err);
}

/* Equal kernels of several images are sorted by path, so that the order does not depend on
 * qsort. */
static int size_larger_first(const void *a, const void *b)
{
	const struct mpk_size_item *x = a, *y = b;
	int order = mpk_span_compare(x->name, y->name);

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return order || !x->path || !y->path ? order : mpk_natural_compare(x->path, y->path);
}

static void sort_largest(struct growing *g)
{
	if (g->count)
		qsort(g->items, g->count, sizeof *g->items, size_larger_first);
}

/* SHT_NOBITS takes no bytes of the file (ELF gABI, Sections). Index 0 is reserved and empty. Names
 * are copied, since the ELF file is closed before they are printed. */
static enum mpk_code read_elf_sections(const struct sizer *s, struct mpk_size *out)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	const struct mpk_image *image = s->view->image;
	struct mpk_size_section *list;

	MPK_TRY(mpk_elf_open(image->bytes, image->bytes_off, &elf, s->err));
	MPK_TRY_ARRAY(list, s->arena, elf.section_count, s->err);
	out->every_section = list;
	for (size_t i = 1; i < elf.section_count; i++) {
		const char *name = mpk_elf_section_name(&elf, i);
		GElf_Shdr h;

		MPK_TRY(mpk_elf_section(&elf, i, &h, s->err));
		if (h.sh_type == SHT_NOBITS || !h.sh_size)
			continue;
		name = mpk_arena_text(s->arena, mpk_span_str(name ? name : ""));
		MPK_TRY_ALLOC(name, s->err);
		list[out->every_section_count++] =
			(struct mpk_size_section){ name, h.sh_offset, h.sh_size, i,
						   h.sh_flags & SHF_EXECINSTR };
	}
	return MPK_OK;
}

static enum mpk_code read_object_sections(const struct sizer *s, struct mpk_size *out)
{
	const struct mpk_image *image = s->view->image;
	struct mpk_object object = { 0 };
	struct mpk_size_section *list;

	MPK_TRY(mpk_file_read_object(image->format, image->bytes, s->arena, &object, s->err));
	MPK_TRY_ARRAY(list, s->arena, object.section_count, s->err);
	out->every_section = list;
	for (size_t i = 0; i < object.section_count; i++)
		if (object.sections[i].content.len)
			list[out->every_section_count++] = (struct mpk_size_section){
				object.sections[i].name ? object.sections[i].name : "",
				object.sections[i].content_off, object.sections[i].content.len,
				i + 1, object.sections[i].is_code
			};
	return MPK_OK;
}

/* Bytes outside all sections are headers, padding and, in archives, other members; if sections
 * overlap, 0 is left. */
static enum mpk_code size_read_sections(struct sizer *s, struct mpk_size *out)
{
	enum mpk_file_format format = s->view->image->format;
	uint64_t sum = 0;

	if (format == MPK_FILE_ELF)
		MPK_TRY(read_elf_sections(s, out));
	else if (format != MPK_FILE_BLOB && format != MPK_FILE_DEVICE)
		MPK_TRY(read_object_sections(s, out));
	for (size_t i = 0; i < out->every_section_count; i++) {
		const struct mpk_size_section *section = &out->every_section[i];
		uint64_t bytes = section->bytes;

		/* sections of a hostile file may overlap, so the sum may exceed the file */
		sum = sum > UINT64_MAX - bytes ? UINT64_MAX : sum + bytes;
		MPK_TRY(size_add(s, &s->sections,
				 (struct mpk_size_item){ .name = mpk_span_str(section->name),
							 .bytes = bytes }));
	}
	sort_largest(&s->sections);
	out->other = sum < s->view->file_bytes ? s->view->file_bytes - sum : 0;
	return MPK_OK;
}

/* A payload that was not decoded is one part, so that its bytes are in the sum. */
static enum mpk_code read_files(struct sizer *s, const struct mpk_view_node *n)
{
	struct mpk_extracted_files files = { 0 };
	struct mpk_span payload = n->node->payload;

	if (!n->decoded && payload.len)
		return size_add(s, &s->files,
				(struct mpk_size_item){ .path = n->path,
							.node = n,
							.name = mpk_span_str("payload"),
							.data = payload,
							.bytes = payload.len });
	if (!n->decoded)
		return MPK_OK;
	MPK_TRY(mpk_payload_extract(n->payload, s->arena, &files, s->err));
	for (size_t i = 0; i < files.count; i++) {
		const struct mpk_extracted_file *f = &files.items[i];

		if (f->stored)
			MPK_TRY(size_add(s, &s->files,
					 (struct mpk_size_item){ n->path, n, mpk_span_str(f->name),
								 f->data, f->data.len, f->tensor,
								 f->title }));
	}
	return MPK_OK;
}

/* Adds kernels if the code gives their lengths. */
static enum mpk_code add_kernels_of(struct sizer *s, const char *path,
				    const struct mpk_view_node *n, const struct mpk_code_info *code)
{
	for (size_t i = 0; i < code->kernel_count; i++)
		MPK_TRY(size_add(s, &s->kernels,
				 (struct mpk_size_item){ .path = path,
							 .node = n,
							 .name = code->kernels[i].name,
							 .bytes = code->kernels[i].code_bytes }));
	return MPK_OK;
}

/* Adds kernels of pieces or of the common code. If the code cannot be read, --verify says why. */
static enum mpk_code size_read_kernels(struct sizer *s, size_t index)
{
	const struct mpk_view_node *n = &s->view->nodes[index];
	const struct mpk_kernels *k = mpk_view_kernels(n);
	const struct mpk_node_info *info;

	for (size_t i = 0; k && i < k->source_count; i++)
		MPK_TRY(size_add(s, &s->kernels,
				 (struct mpk_size_item){ .path = n->path,
							 .node = n,
							 .name = k->sources[i].key,
							 .data = k->sources[i].data,
							 .bytes = k->sources[i].data.len }));
	if (!k || k->layout != MPK_KERNELS_PLAIN || !mpk_code_format_of(k->data)->has_code_bytes)
		return MPK_OK;
	MPK_TRY(mpk_view_info(s->view, index, &info, s->err));
	return add_kernels_of(s, n->path, n, &info->pieces[0].code);
}

/* Adds functions of an executable that have byte code. */
static enum mpk_code read_byte_code(struct sizer *s, const struct mpk_view_node *n)
{
	const struct mpk_payload_view *row = mpk_view_row(n);
	struct mpk_payload_function f;

	for (size_t i = 0; n->decoded && row->function && row->function(n->payload, i, &f); i++)
		if (f.bytes)
			MPK_TRY(size_add(s, &s->byte_code,
					 (struct mpk_size_item){ .path = n->path,
								 .node = n,
								 .name = f.name,
								 .bytes = f.bytes }));
	return MPK_OK;
}

/* A module's own row has the bytes of its payload, and parts are a breakdown of it: the two lists
 * must not be added together. */
static enum mpk_code read_modules(struct sizer *s)
{
	for (size_t i = 0; i < s->view->count; i++) {
		const struct mpk_view_node *n = &s->view->nodes[i];

		s->whole = mpk_view_shows_whole(n) ? n : NULL;
		MPK_TRY(size_add(s, &s->modules,
				 (struct mpk_size_item){ .path = n->path,
							 .node = n,
							 .name = n->node->kind,
							 .bytes = n->node->payload.len }));
		MPK_TRY(read_files(s, n));
		MPK_TRY(read_byte_code(s, n));
		MPK_TRY(size_read_kernels(s, i));
	}
	s->whole = NULL;
	return MPK_OK;
}

/* Adds code outside the tree as one part, and its kernels. */
static enum mpk_code read_embedded(struct sizer *s, const struct mpk_view_code *c)
{
	s->shows_all = mpk_view_shows(s->view, mpk_span_str(c->path));
	MPK_TRY(size_add(s, &s->files,
			 (struct mpk_size_item){ .path = c->path,
						 .name = mpk_span_str(c->at->name),
						 .data = c->at->bytes,
						 .bytes = c->at->bytes.len }));
	return c->code.format->has_code_bytes ? add_kernels_of(s, c->path, NULL, &c->code) : MPK_OK;
}

/* --- GPU code of any library ---------------------------------------------------------------- */

/* One kernel of one image. */
struct seen {
	const char *path, *target;
	struct mpk_span name;
	uint64_t bytes;
	uint8_t digest[MPK_XXH128_BYTES];
};

/* A container is freed before the next is read. For each kernel its name, its device and the digest
 * of its code are kept. */
struct reading {
	struct sizer *s;
	struct mpk_strmap names; /* shared names: every image of a container has the same kernels */
	const char **kept;       /* indexed by the number in names; malloc'ed */
	size_t kept_cap;
	struct seen *seen; /* malloc'ed */
	size_t count, cap;
};

static void reading_fini(struct reading *r)
{
	mpk_strmap_fini(&r->names);
	free(r->kept);
	free(r->seen);
}

/* Keeps one copy of each text: a library has a million kernels with a few thousand names. */
static enum mpk_code size_keep_name(struct reading *r, struct mpk_span text, const char **out,
				    struct mpk_error *err)
{
	size_t n;
	const char *copy;

	if (mpk_strmap_find(&r->names, text, &n)) {
		*out = r->kept[n];
		return MPK_OK;
	}
	copy = mpk_arena_text(r->s->arena, text);
	MPK_TRY_ALLOC(copy, err);
	MPK_TRY_ALLOC(MPK_VEC_ROOM(r->kept, r->names.count, r->kept_cap), err);
	r->kept[r->names.count] = copy;
	if (mpk_strmap_put(&r->names, mpk_span_of(copy, text.len), r->names.count, &n) < 0)
		return mpk_fail_nomem(err);
	*out = copy;
	return MPK_OK;
}

/* Machine code shorter than MPK_SIZE_COPY_MIN bytes is listed but not compared. */
static enum mpk_code size_add_kernel(struct reading *r, const char *path, const char *target,
				     const struct mpk_code_kernel *k, struct mpk_error *err)
{
	struct seen s = { .path = path, .target = target, .bytes = k->code_bytes };
	const char *name;

	MPK_TRY(size_keep_name(r, k->name, &name, err));
	s.name = mpk_span_of(name, k->name.len);
	MPK_TRY(size_add(r->s, &r->s->kernels,
			 (struct mpk_size_item){ .path = path, .name = s.name, .bytes = s.bytes }));
	if (k->code.len < MPK_SIZE_COPY_MIN)
		return MPK_OK;
	MPK_TRY(mpk_digest_span(MPK_DIGEST_XXH128, k->code, s.digest, err));
	MPK_TRY_ALLOC(mpk_vec_reserve(&r->seen, &r->cap, r->count + 1, sizeof s), err);
	r->seen[r->count++] = s;
	return MPK_OK;
}

/* Adds an image, or a whole container without images. */
static enum mpk_code size_add_image(struct reading *r, const char *container,
				    const struct mpk_code_info *image, struct mpk_error *err)
{
	const char *target, *path;

	if (!image->format || !image->format->has_code_bytes || !image->kernel_count)
		return MPK_OK;
	MPK_TRY(size_keep_name(r, mpk_span_str(mpk_device_target(image)), &target, err));
	path = mpk_arena_printf(r->s->arena, "%s %s", container, target);
	MPK_TRY_ALLOC(path, err);
	for (size_t i = 0; i < image->kernel_count; i++)
		MPK_TRY(size_add_kernel(r, path, target, &image->kernels[i], err));
	return MPK_OK;
}

/* Parts are containers as stored in the file: if packed bytes are equal, unpacked ones are too. */
static enum mpk_code size_read_container(const struct mpk_view_code *c, void *arg,
					 struct mpk_error *err)
{
	struct reading *r = arg;
	const char *path, *name, *word = c->code.format->word;

	MPK_TRY(size_keep_name(r, mpk_span_str(c->path), &path, err));
	MPK_TRY(size_keep_name(r, mpk_span_str(word ? word : "other"), &name, err));
	MPK_TRY(size_add(r->s, &r->s->files,
			 (struct mpk_size_item){ .path = path,
						 .name = mpk_span_str(name),
						 .data = c->at->bytes,
						 .bytes = c->at->bytes.len }));
	if (!c->code.image_count)
		return size_add_image(r, path, &c->code, err);
	for (size_t i = 0; i < c->code.image_count; i++)
		MPK_TRY(size_add_image(r, path, &c->code.images[i], err));
	return MPK_OK;
}

/* Compares the digest first, since it decides nearly always. */
static int like_code(const struct seen *x, const struct seen *y)
{
	int order = memcmp(x->digest, y->digest, sizeof x->digest);

	order = order ? order : mpk_span_compare(x->name, y->name);
	return order ? order : strcmp(x->target, y->target);
}

/* The path makes the order complete, so that the output does not depend on qsort. */
static int by_code(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;
	int order = like_code(x, y);

	return order ? order : strcmp(x->path, y->path);
}

/* Sorts by possible saving: one copy stays, so the first of equal kernels does not count. */
static int most_first(const void *a, const void *b)
{
	const struct mpk_size_kernel *x = a, *y = b;
	uint64_t left = x->item.bytes * (x->count - 1), right = y->item.bytes * (y->count - 1);
	int order = mpk_span_compare(x->item.name, y->item.name);

	if (left != right)
		return left > right ? -1 : 1;
	order = order ? order : strcmp(x->target, y->target);
	return order ? order : strcmp(x->item.path, y->item.path);
}

/* Equal 128-bit digests count as equal code, since the code was freed. A group has at least two
 * members, so the array has room for half the number of kernels. */
static enum mpk_code find_same(struct reading *r, struct mpk_size *out, struct mpk_error *err)
{
	struct mpk_size_kernel *same = mpk_arena_array(r->s->arena, r->count / 2, sizeof *same);
	size_t n = 0, end;

	MPK_TRY_ALLOC(same, err);
	if (r->count)
		qsort(r->seen, r->count, sizeof *r->seen, by_code);
	for (size_t i = 0; i < r->count; i = end) {
		const struct seen *s = &r->seen[i];

		for (end = i + 1; end < r->count && s->bytes == r->seen[end].bytes &&
				  like_code(s, &r->seen[end]) == 0;)
			end++;
		if (end == i + 1)
			continue;
		same[n++] = (struct mpk_size_kernel){
			.item = { .path = s->path, .name = s->name, .bytes = s->bytes },
			.target = s->target,
			.count = end - i,
		};
	}
	if (n)
		qsort(same, n, sizeof *same, most_first);
	out->same_kernels = same;
	out->same_kernel_count = n;
	return MPK_OK;
}

/* Adds a line for each device and kind of code, "sm_90 cubin", from the rows that the listing shows
 * too. */
static enum mpk_code read_rows(const struct sizer *s, struct mpk_size *out)
{
	struct mpk_device_rows rows;
	struct mpk_size_item *items;

	MPK_TRY(mpk_device_rows(s->view, s->arena, &rows, s->err));
	MPK_TRY_ARRAY(items, s->arena, rows.count, s->err);
	for (size_t i = 0; i < rows.count; i++) {
		const struct mpk_device_row *r = &rows.items[i];
		const char *name = mpk_arena_printf(s->arena, "%s%s%s", r->target,
						    *r->target ? " " : "", r->what);

		MPK_TRY_ALLOC(name, s->err);
		items[i] = (struct mpk_size_item){ .name = mpk_span_str(name), .bytes = r->bytes };
	}
	out->gpu = (struct mpk_size_list){ items, rows.count };
	return MPK_OK;
}

/* Adds the images, their kernels, and the kernels with equal name, device and machine code.
 * Compression does not find those, as each image is compressed separately. */
static enum mpk_code read_devices(struct sizer *s, struct mpk_size *out)
{
	MPK_CLEANUP(reading_fini) struct reading r = { .s = s };

	if (!s->view->image->device_count)
		return MPK_OK;
	MPK_TRY(read_rows(s, out));
	MPK_TRY(mpk_device_each(s->view, size_read_container, &r, s->err));
	return find_same(&r, out, s->err);
}

enum mpk_code mpk_size_read(const struct mpk_view *view, struct mpk_arena *arena,
			    struct mpk_size *out, struct mpk_error *err)
{
	MPK_CLEANUP(sizer_fini) struct sizer s = { .view = view, .arena = arena, .err = err };
	struct mpk_size size = { .view = view };

	MPK_TRY(size_read_sections(&s, &size));
	MPK_TRY(read_modules(&s));
	for (size_t i = 0; i < view->image->embedded_count; i++)
		MPK_TRY(read_embedded(&s, &view->embedded[i]));
	s.shows_all = false;
	MPK_TRY(read_devices(&s, &size));
	/* modules stay in tree order: they are few, and readers look for their paths */
	sort_largest(&s.files);
	sort_largest(&s.byte_code);
	sort_largest(&s.kernels);
	MPK_TRY(size_settle(&s, &s.sections, &size.sections));
	MPK_TRY(size_settle(&s, &s.modules, &size.modules));
	MPK_TRY(size_settle(&s, &s.files, &size.files));
	MPK_TRY(size_settle(&s, &s.byte_code, &size.byte_code));
	MPK_TRY(size_settle(&s, &s.kernels, &size.kernels));
	MPK_TRY(mpk_size_complete(view, arena, &size, err));
	*out = size;
	return MPK_OK;
}
