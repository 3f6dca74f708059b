/* SPDX-License-Identifier: Apache-2.0 */
/* map.c - the tree of where bytes are. It is put together from what --size found, so that the picture never says
 * anything else; sections are read here once more, because what is in them is found by their place. */
#include "map/map.h"

#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "base/vec.h"
#include "elf/foreign.h"
#include "elf/reader.h"
#include "map/internal/map.h"
#include "model/device_code.h"

enum { NAME_WIDTH = 120 };

static const struct {
	const char *kind, *title, *rest;
} kinds[] = {
	{ "file", "file", "headers and padding" },
	{ "section", "section", "the rest of the section" },
	{ "debug", "debug information", "the rest of the section" },
	{ "blob", "module blob", "names and links" },
	{ "host", "host code", "other code" },
	{ "executor", "executor", "fields" },
	{ "device", "device code", "fields" },
	{ "gpu", "code of a device", "constants, tables and names" },
	{ "data", "data", "fields" },
	{ "extern", "other runtime", "fields" },
	{ "source", "source", "fields" },
	{ "unknown", "unknown kind", "fields" },
	{ "tensor", "tensor", "" },
	{ "text", "text", "the rest of the text" },
	{ "code", "code", "constants, tables and names" },
	{ "kernel", "kernel", "" },
	{ "function", "function", "" },
	{ "rest", "the rest", "" },
};

const char *mpk_map_kind_title(const char *kind)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(kinds); i++)
		if (strcmp(kinds[i].kind, kind) == 0)
			return kinds[i].title;
	return kind;
}

static const char *rest_of(const char *kind)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(kinds); i++)
		if (strcmp(kinds[i].kind, kind) == 0)
			return kinds[i].rest;
	return "";
}

/* --- nodes -------------------------------------------------------------------------------------- */

enum mpk_code mpk_map_add(struct mpk_map_maker *m, size_t parent, struct mpk_map_node node,
			  size_t *out)
{
	MPK_TRY_ALLOC(mpk_vec_reserve(&m->nodes, &m->cap, m->count + 1, sizeof *m->nodes), m->err);
	node.parent = parent;
	node.depth = m->count ? m->nodes[parent].depth + 1 : 0;
	if (out)
		*out = m->count;
	m->nodes[m->count++] = node;
	return MPK_OK;
}

/* Symbols of C++ get the names that were written; the symbol stays beside it. */
enum mpk_code mpk_map_add_symbol(struct mpk_map_maker *m, size_t parent, struct mpk_map_node node)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };

	if (mpk_symbol_name(node.name, false, NAME_WIDTH, &text) && !text.failed) {
		const char *copy = mpk_arena_copy(m->arena, text.data, text.len);

		MPK_TRY_ALLOC(copy, m->err);
		node.symbol = node.name;
		node.name = mpk_span_of(copy, text.len);
	}
	return mpk_map_add(m, parent, node, NULL);
}

enum mpk_code mpk_map_add_smaller(struct mpk_map_maker *m, size_t parent, size_t count,
				  uint64_t bytes)
{
	const char *name = mpk_arena_printf(m->arena, "%zu smaller ones", count);

	MPK_TRY_ALLOC(name, m->err);
	return mpk_map_add(
		m, parent,
		(struct mpk_map_node){ .kind = "rest", .name = mpk_span_str(name), .bytes = bytes },
		NULL);
}

/* --- the whole ---------------------------------------------------------------------------------- */

static bool holds_blob(const struct mpk_map_maker *m, const char *section, uint64_t bytes)
{
	const struct mpk_image *image = m->view->image;

	return image->has_blob && image->blob_section && section &&
	       strcmp(section, image->blob_section) == 0 && bytes >= mpk_image_blob(image).len;
}

static enum mpk_code elf_sections(struct mpk_map_maker *m)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	const struct mpk_image *image = m->view->image;

	MPK_TRY(mpk_elf_open(image->bytes, image->bytes_off, &elf, m->err));
	m->sections = mpk_arena_array(m->arena, elf.section_count, sizeof *m->sections);
	MPK_TRY_ALLOC(m->sections, m->err);
	for (size_t i = 1; i < elf.section_count; i++) {
		const char *name = mpk_elf_section_name(&elf, i);
		GElf_Shdr h;

		MPK_TRY(mpk_elf_section(&elf, i, &h, m->err));
		if (h.sh_type == SHT_NOBITS || !h.sh_size)
			continue;
		/* the file is closed before the names are shown */
		name = mpk_arena_text(m->arena, mpk_span_str(name ? name : ""));
		MPK_TRY_ALLOC(name, m->err);
		m->sections[m->section_count++] =
			(struct mpk_map_section){ .name = name,
						  .off = h.sh_offset,
						  .bytes = h.sh_size,
						  .index = i,
						  .is_code = h.sh_flags & SHF_EXECINSTR };
	}
	return MPK_OK;
}

static enum mpk_code object_sections(struct mpk_map_maker *m)
{
	const struct mpk_image *image = m->view->image;
	struct mpk_object object = { 0 };

	MPK_TRY(mpk_file_read_object(image->format, image->bytes, m->arena, &object, m->err));
	m->sections = mpk_arena_array(m->arena, object.section_count, sizeof *m->sections);
	MPK_TRY_ALLOC(m->sections, m->err);
	for (size_t i = 0; i < object.section_count; i++)
		if (object.sections[i].content.len)
			m->sections[m->section_count++] = (struct mpk_map_section){
				.name = object.sections[i].name ? object.sections[i].name : "",
				.off = object.sections[i].content_off,
				.bytes = object.sections[i].content.len,
				.index = i + 1,
				.is_code = object.sections[i].is_code,
			};
	return MPK_OK;
}

/* Fill sections, with those that take bytes of the file. */
static enum mpk_code map_read_sections(struct mpk_map_maker *m)
{
	switch (m->view->image->format) {
	case MPK_FILE_BLOB:
	case MPK_FILE_DEVICE: /* what has no sections */
		return MPK_OK;
	case MPK_FILE_ELF:
		return elf_sections(m);
	case MPK_FILE_MACHO:
	case MPK_FILE_COFF:
	case MPK_FILE_PE:
	case MPK_FILE_C:
		break;
	}
	return object_sections(m);
}

/* A format without section headers has its blob directly below the file. */
static enum mpk_code add_sections(struct mpk_map_maker *m)
{
	bool placed = !m->view->image->has_blob;

	MPK_TRY(map_read_sections(m));
	for (size_t i = 0; i < m->section_count; i++) {
		struct mpk_map_section *s = &m->sections[i];
		bool is_debug = strstr(s->name, "debug") == s->name + (*s->name == '.') ||
				strncmp(s->name, ".zdebug", 7) == 0;

		MPK_TRY(mpk_map_add(m, 0,
				    (struct mpk_map_node){
					    .kind = s->is_code ? "host"
						    : is_debug ? "debug"
							       : "section",
					    .name = mpk_span_str(*s->name ? s->name : "(no name)"),
					    .bytes = s->bytes },
				    &s->node));
		if (placed || !holds_blob(m, s->name, s->bytes))
			continue;
		MPK_TRY(mpk_map_add_blob(m, s->node));
		placed = true;
	}
	return placed ? MPK_OK : mpk_map_add_blob(m, 0);
}

/* What children are sorted by: by parent, then the largest first, then by name, and where all of it is the same by their
 * order, so that the picture does not depend on qsort. */
struct child {
	size_t parent, index;
	uint64_t bytes;
	struct mpk_span name;
};

static int by_parent(const void *a, const void *b)
{
	const struct child *x = a, *y = b;
	int order;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	order = mpk_span_compare(x->name, y->name);
	return order ? order : x->index < y->index ? -1 : 1;
}

/* Another child after those that are linked. */
static enum mpk_code add_rest(struct mpk_map_maker *m, size_t parent, size_t *last,
			      const char *name, uint64_t bytes)
{
	size_t at;

	MPK_TRY_ALLOC(name, m->err);
	MPK_TRY(mpk_map_add(
		m, parent,
		(struct mpk_map_node){ .kind = "rest", .name = mpk_span_str(name), .bytes = bytes },
		&at));
	m->nodes[*last].next = at;
	*last = at;
	return MPK_OK;
}

/* Links the children of one node, as many as are worth a box; parts that overlap are no parts of a whole, and stay
 * out. */
static enum mpk_code link_children(struct mpk_map_maker *m, const struct child *list, size_t count)
{
	size_t parent = list[0].parent, last = list[0].index, shown, small = 0;
	uint64_t sum = 0, small_bytes = 0, whole = m->nodes[parent].bytes;

	for (size_t i = 0; i < count; i++)
		if (list[i].bytes > whole - sum)
			return MPK_OK;
		else
			sum += list[i].bytes;
	shown = count > MPK_MAP_CHILDREN_MOST ? MPK_MAP_CHILDREN_MOST - 1 : count;
	m->nodes[parent].first = list[0].index;
	for (size_t i = 1; i < shown; i++) {
		m->nodes[last].next = list[i].index;
		last = list[i].index;
	}
	for (size_t i = shown; i < count; i++) {
		small++;
		small_bytes += list[i].bytes;
	}
	if (small)
		MPK_TRY(add_rest(m, parent, &last,
				 mpk_arena_printf(m->arena, "%zu smaller ones", small),
				 small_bytes));
	if (sum < whole)
		MPK_TRY(add_rest(m, parent, &last, rest_of(m->nodes[parent].kind), whole - sum));
	return MPK_OK;
}

static enum mpk_code link_all(struct mpk_map_maker *m)
{
	size_t count = m->count - 1, end; /* the file is nobody's child */
	struct child *list = count ? malloc(count * sizeof *list) : NULL;
	enum mpk_code code = MPK_OK;

	if (count && !list)
		return mpk_fail_nomem(m->err);
	for (size_t i = 0; i < count; i++)
		list[i] = (struct child){ m->nodes[i + 1].parent, i + 1, m->nodes[i + 1].bytes,
					  m->nodes[i + 1].name };
	if (count)
		qsort(list, count, sizeof *list, by_parent);
	for (size_t i = 0; code == MPK_OK && i < count; i = end) {
		for (end = i + 1; end < count && list[end].parent == list[i].parent;)
			end++;
		code = link_children(m, list + i, end - i);
	}
	free(list);
	return code;
}

static void maker_fini(struct mpk_map_maker *m)
{
	free(m->nodes);
	mpk_strmap_fini(&m->groups);
}

enum mpk_code mpk_map_read(const struct mpk_view *view, const struct mpk_size *size,
			   struct mpk_arena *arena, struct mpk_map *out, struct mpk_error *err)
{
	MPK_CLEANUP(maker_fini)
	struct mpk_map_maker m = { .view = view, .size = size, .arena = arena, .err = err };
	const char *slash = strrchr(view->name, '/');
	const char *name = slash && slash[1] ? slash + 1 : view->name;

	MPK_TRY(mpk_map_add(&m, 0,
			    (struct mpk_map_node){ .kind = "file",
						   .name = mpk_span_str(name),
						   /* of what is packed, what it unpacks to */
						   .bytes = view->image->is_packed
								    ? view->image->bytes.len
								    : view->file_bytes },
			    NULL));
	MPK_TRY(add_sections(&m));
	MPK_TRY(mpk_map_add_places(&m));
	MPK_TRY(link_all(&m));
	out->nodes = mpk_arena_keep(arena, m.nodes, m.count, sizeof *m.nodes);
	out->count = m.count;
	return out->nodes ? MPK_OK : mpk_fail_nomem(err);
}
