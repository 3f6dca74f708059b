/* SPDX-License-Identifier: Apache-2.0 */
/* Where the bytes of a file are: sections of the library around the blob, files that its payloads
 * would make, machine code by kernel. Equal content is found by sorting, not by digests: what is
 * reported as a copy is one. */
#include "size/size.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/vec.h"
#include "elf/object_image.h"
#include "elf/reader.h"
#include "model/embedded.h"
#include "model/filter.h"
#include "model/node_info.h"
#include "size/internal/device.h"
#include "text/names.h"

enum { COPY_MIN = 64 }; /* shorter pieces are alike by chance, and not worth a line */

/* A list while it grows; moved to the arena at the end. */
struct growing {
	struct mpk_size_item *items;
	size_t count, cap;
};

struct sizer {
	const struct mpk_view *view;
	struct mpk_arena *arena;
	struct mpk_error *err;
	struct growing sections, modules, files, kernels;
	const struct mpk_view_node
		*whole; /* the module whose rows are added, where it is shown whole */
	bool shows_all; /* the code beside the tree whose rows are added is */
};

static void sizer_fini(struct sizer *s)
{
	free(s->sections.items);
	free(s->modules.items);
	free(s->files.items);
	free(s->kernels.items);
}

/* Every row passes here, so that the filter is applied in one place: modules that are shown
 * whole, parts of them, or what is beside the tree. */
static enum mpk_code size_add(const struct sizer *s, struct growing *g, struct mpk_size_item item)
{
	if (s->whole ? !mpk_view_shows_part(s->whole, item.name)
		     : !s->shows_all && !mpk_view_shows(s->view, item.name))
		return MPK_OK;
	MPK_TRY_ALLOC(mpk_vec_reserve(&g->items, &g->cap, g->count + 1, sizeof *g->items), s->err);
	g->items[g->count++] = item;
	return MPK_OK;
}

/* Arrays grow in malloc and are moved to the arena once: growing there would leave each smaller
 * copy in it. */
static enum mpk_code size_settle(const struct sizer *s, struct growing *g,
				 struct mpk_size_list *out)
{
	out->items = mpk_arena_keep(s->arena, g->items, g->count, sizeof *g->items);
	out->count = g->count;
	free(g->items);
	*g = (struct growing){ 0 };
	return out->items ? MPK_OK : mpk_fail_nomem(s->err);
}

/* Equal kernels of several images stay in the order of their paths, whatever qsort does with ties. */
static int size_larger_first(const void *a, const void *b)
{
	const struct mpk_size_item *x = a, *y = b;
	int order;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	order = mpk_span_compare(x->name, y->name);
	return order || !x->path || !y->path ? order : mpk_natural_compare(x->path, y->path);
}

static void sort_largest(struct growing *g)
{
	if (g->count)
		qsort(g->items, g->count, sizeof *g->items, size_larger_first);
}

/* Names are copied, since the ELF file is closed before they are printed. */
static enum mpk_code size_add_section(struct sizer *s, const char *name, uint64_t bytes,
				      uint64_t *sum)
{
	name = mpk_arena_text(s->arena, mpk_span_str(name ? name : ""));
	MPK_TRY_ALLOC(name, s->err);
	/* sections of a hostile file may overlap: the sum is then beyond the file */
	*sum = *sum > UINT64_MAX - bytes ? UINT64_MAX : *sum + bytes;
	return size_add(s, &s->sections,
			(struct mpk_size_item){ .name = mpk_span_str(name), .bytes = bytes });
}

/* SHT_NOBITS takes no bytes of the file (ELF gABI, Sections). Index 0 is reserved and empty. */
static enum mpk_code read_elf_sections(struct sizer *s, uint64_t *sum)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	const struct mpk_image *image = s->view->image;

	MPK_TRY(mpk_elf_open(image->bytes, image->bytes_off, &elf, s->err));
	for (size_t i = 1; i < elf.section_count; i++) {
		GElf_Shdr h;

		MPK_TRY(mpk_elf_section(&elf, i, &h, s->err));
		if (h.sh_type != SHT_NOBITS && h.sh_size)
			MPK_TRY(size_add_section(s, mpk_elf_section_name(&elf, i), h.sh_size, sum));
	}
	return MPK_OK;
}

/* What no section covers is headers, padding and, in archives, other members; overlapping
 * sections leave 0 of it. */
static enum mpk_code size_read_sections(struct sizer *s, uint64_t *other)
{
	const struct mpk_image *image = s->view->image;
	struct mpk_object object = { 0 };
	uint64_t sum = 0;

	if (image->format == MPK_FILE_ELF)
		MPK_TRY(read_elf_sections(s, &sum));
	else if (image->format != MPK_FILE_BLOB)
		MPK_TRY(mpk_file_read_object(image->format, image->bytes, s->arena, &object,
					     s->err));
	for (size_t i = 0; i < object.section_count; i++)
		if (object.sections[i].content.len)
			MPK_TRY(size_add_section(s, object.sections[i].name,
						 object.sections[i].content.len, &sum));
	sort_largest(&s->sections);
	*other = sum < s->view->file_bytes ? s->view->file_bytes - sum : 0;
	return MPK_OK;
}

/* A payload that did not decode is one part: its bytes are there all the same and must be in the
 * sum. */
static enum mpk_code read_files(struct sizer *s, const struct mpk_view_node *n)
{
	struct mpk_extracted_files files = { 0 };
	struct mpk_span payload = n->node->payload;

	if (!n->decoded)
		return payload.len
			       ? size_add(s, &s->files,
					  (struct mpk_size_item){ .path = n->path,
								  .node = n,
								  .name = mpk_span_str("payload"),
								  .data = payload,
								  .bytes = payload.len })
			       : MPK_OK;
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

/* Kernels with code of their own, or in code that says how long each is. What is wrong with code
 * that does not read, --verify tells. */
static enum mpk_code size_read_kernels(struct sizer *s, size_t index)
{
	const struct mpk_view_node *n = &s->view->nodes[index];
	const struct mpk_kernels *k = mpk_view_kernels(n);
	const struct mpk_code_info *code;
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
	code = &info->pieces[0].code;
	for (size_t i = 0; i < code->kernel_count; i++)
		MPK_TRY(size_add(s, &s->kernels,
				 (struct mpk_size_item){ .path = n->path,
							 .node = n,
							 .name = code->kernels[i].name,
							 .bytes = code->kernels[i].code_bytes }));
	return MPK_OK;
}

/* A module's own row has the bytes of its payload, of which the parts are a breakdown: the two
 * lists must not be added. */
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
		MPK_TRY(size_read_kernels(s, i));
	}
	s->whole = NULL;
	return MPK_OK;
}

/* Longest first, then by bytes, so that equal content is adjacent. Most comparisons end at the
 * length. */
static int by_content(const void *a, const void *b)
{
	const struct mpk_size_item *x = a, *y = b;
	int order;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	order = mpk_span_compare(x->data, y->data);
	if (order)
		return order;
	/* equal content stays in stored order */
	return x->data.data < y->data.data ? -1 : x->data.data > y->data.data;
}

/* Compares whole contents of adjacent files, which sorting has brought together; an array of all
 * files is large enough for the runs. */
static enum mpk_code find_copies(struct mpk_arena *arena, struct mpk_size *out,
				 struct mpk_error *err)
{
	size_t count = 0, runs = 0, end;
	struct mpk_size_item *sorted;
	struct mpk_size_copies *copies;

	for (size_t i = 0; i < out->files.count; i++)
		count += out->files.items[i].bytes >= COPY_MIN;
	sorted = mpk_arena_array(arena, count, sizeof *sorted);
	copies = mpk_arena_array(arena, count, sizeof *copies);
	MPK_TRY_ALLOC(sorted && copies, err);
	for (size_t i = 0, to = 0; i < out->files.count; i++)
		if (out->files.items[i].bytes >= COPY_MIN)
			sorted[to++] = out->files.items[i];
	if (count)
		qsort(sorted, count, sizeof *sorted, by_content);
	for (size_t i = 0; i < count; i = end) {
		for (end = i + 1; end < count && mpk_span_equal(sorted[i].data, sorted[end].data);
		     end++)
			out->wasted += sorted[i].bytes;
		if (end > i + 1)
			copies[runs++] = (struct mpk_size_copies){ i, end - i };
	}
	out->sorted = (struct mpk_size_list){ sorted, count };
	out->copies = copies;
	out->copy_count = runs;
	return MPK_OK;
}

/* Code beside the tree: a part of its own, and its kernels. */
static enum mpk_code read_embedded(struct sizer *s, const struct mpk_view_code *c)
{
	const struct mpk_code_info *code = &c->code;

	s->shows_all = mpk_view_shows(s->view, mpk_span_str(c->path));
	MPK_TRY(size_add(s, &s->files,
			 (struct mpk_size_item){ .path = c->path,
						 .name = mpk_span_str(c->at->name),
						 .data = c->at->bytes,
						 .bytes = c->at->bytes.len }));
	for (size_t i = 0; code->format->has_code_bytes && i < code->kernel_count; i++)
		MPK_TRY(size_add(s, &s->kernels,
				 (struct mpk_size_item){ .path = c->path,
							 .name = code->kernels[i].name,
							 .bytes = code->kernels[i].code_bytes }));
	return MPK_OK;
}

static enum mpk_code add_part(void *arg, struct mpk_size_item item)
{
	struct sizer *s = arg;

	return size_add(s, &s->files, item);
}

static enum mpk_code size_add_kernel(void *arg, struct mpk_size_item item)
{
	struct sizer *s = arg;

	return size_add(s, &s->kernels, item);
}

enum mpk_code mpk_size_read(const struct mpk_view *view, struct mpk_arena *arena,
			    struct mpk_size *out, struct mpk_error *err)
{
	MPK_CLEANUP(sizer_fini) struct sizer s = { .view = view, .arena = arena, .err = err };
	struct mpk_size size = { .view = view };
	const struct mpk_size_sink sink = { arena, add_part, size_add_kernel, &s };

	MPK_TRY(size_read_sections(&s, &size.other));
	MPK_TRY(read_modules(&s));
	for (size_t i = 0; i < view->image->embedded_count; i++)
		MPK_TRY(read_embedded(&s, &view->embedded[i]));
	s.shows_all = false;
	MPK_TRY(mpk_size_read_devices(view, &sink, &size, err));
	/* Modules stay in the order of the tree: there are few, and their paths are looked for. */
	sort_largest(&s.files);
	sort_largest(&s.kernels);
	MPK_TRY(size_settle(&s, &s.sections, &size.sections));
	MPK_TRY(size_settle(&s, &s.modules, &size.modules));
	MPK_TRY(size_settle(&s, &s.files, &size.files));
	MPK_TRY(size_settle(&s, &s.kernels, &size.kernels));
	MPK_TRY(find_copies(arena, &size, err));
	*out = size;
	return MPK_OK;
}

/* Binary and decimal units, as in IEC 80000-13: KiB is 1024, kB is 1000. A product that overflows
 * is refused and not clipped. */
bool mpk_size_parse(struct mpk_span text, uint64_t *out)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} units[] = {
		{ "", 1 },
		{ "B", 1 },
		{ "KiB", 1024 },
		{ "MiB", 1 << 20 },
		{ "GiB", 1 << 30 },
		{ "TiB", (uint64_t)1 << 40 },
		/* a letter alone as in ls, dd and du */
		{ "K", 1024 },
		{ "M", 1 << 20 },
		{ "G", 1 << 30 },
		{ "T", (uint64_t)1 << 40 },
		{ "kB", 1000 },
		{ "KB", 1000 },
		{ "MB", 1000000 },
		{ "GB", 1000000000 },
		{ "TB", 1000000000000 },
	};
	struct mpk_span number = text, unit;
	uint64_t value;

	for (number.len = 0; number.len < text.len; number.len++)
		if (text.data[number.len] < '0' || text.data[number.len] > '9')
			break;
	unit = mpk_span_of(text.data + number.len, text.len - number.len);
	while (unit.len && unit.data[0] == ' ')
		unit = mpk_span_of(unit.data + 1, unit.len - 1);
	if (!mpk_parse_u64(number, &value))
		return false;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(units); i++)
		if (mpk_span_is(unit, units[i].name))
			return mpk_mul_u64(value, units[i].bytes, out);
	return false;
}
