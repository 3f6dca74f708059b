/* SPDX-License-Identifier: Apache-2.0 */
/* contents.c - builds the nodes of the map: sections, the module blob down to kernels and functions
 * of byte code, GPU code by device and kernel, host functions. All data come from --size, so the
 * picture and --size always agree. GPU code is compressed in most files, so the bytes of a
 * container are divided among its kernels by their unpacked sizes. */
#include <string.h>

#include "answer/answer.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "map/internal/map.h"
#include "model/device_code.h"
#include "model/node_info.h"

enum { NAME_WIDTH = 120, MODULES_MOST = MPK_MAP_CHILDREN_MOST - 1 };

static const char CODE_SECTION[] = "host"; /* kind of a section whose functions have nodes */

/* @path    NULL if it belongs to no module and no code outside the tree
 * @out     receives the index of the node; may be NULL */
static enum mpk_code map_add(struct mpk_map_maker *m, size_t parent, const char *kind,
			     struct mpk_span name, const char *path, uint64_t bytes, size_t *out)
{
	unsigned depth = m->count ? m->nodes[parent].depth + 1 : 0;

	MPK_TRY_ALLOC(mpk_vec_reserve(&m->nodes, &m->cap, m->count + 1, sizeof *m->nodes), m->err);
	if (out)
		*out = m->count;
	m->nodes[m->count++] = (struct mpk_map_node){ .kind = kind,
						      .name = name,
						      .path = path,
						      .bytes = bytes,
						      .parent = parent,
						      .depth = depth };
	return MPK_OK;
}

/* Adds a node with the demangled name of a C++ symbol; the node also keeps the symbol. */
static enum mpk_code map_add_symbol(struct mpk_map_maker *m, size_t parent, const char *kind,
				    struct mpk_span symbol, const char *path, uint64_t bytes)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	const char *name;
	size_t known;
	int rc = mpk_strmap_put(&m->symbols, symbol, m->count, &known);

	MPK_TRY_ALLOC(rc >= 0, m->err);
	if (!rc) { /* demangling is slow, and each device has the same kernels */
		MPK_TRY(map_add(m, parent, kind, m->nodes[known].name, path, bytes, NULL));
		m->nodes[m->count - 1].symbol = m->nodes[known].symbol;
		return MPK_OK;
	}
	if (!mpk_symbol_name(symbol, false, NAME_WIDTH, &text) || text.failed)
		return map_add(m, parent, kind, symbol, path, bytes, NULL);
	name = mpk_arena_copy(m->arena, text.data, text.len);
	MPK_TRY_ALLOC(name, m->err);
	MPK_TRY(map_add(m, parent, kind, mpk_span_of(name, text.len), path, bytes, NULL));
	m->nodes[m->count - 1].symbol = symbol;
	return MPK_OK;
}

static enum mpk_code add_smaller(struct mpk_map_maker *m, size_t parent, size_t count,
				 uint64_t bytes)
{
	const char *name = mpk_arena_printf(m->arena, "%zu smaller ones", count);

	MPK_TRY_ALLOC(name, m->err);
	return map_add(m, parent, "rest", mpk_span_str(name), NULL, bytes, NULL);
}

/* --- the module blob ---------------------------------------------------------------------------- */

static const char *part_kind(const struct mpk_size_item *item)
{
	if (item->tensor)
		return "tensor";
	for (size_t i = 0; i < item->data.len && i < 256; i++)
		if (item->data.data[i] < 0x20 && !memchr("\t\n\r\f", item->data.data[i], 4))
			return "code";
	return "text";
}

static enum mpk_code add_module(struct mpk_map_maker *m, size_t blob, size_t i)
{
	const struct mpk_view_node *n = &m->view->nodes[i];
	const char *name =
		mpk_arena_printf(m->arena, "%s  %.*s", n->path, MPK_SPAN_ARG(n->node->kind));

	MPK_TRY_ALLOC(name, m->err);
	return map_add(m, blob, mpk_view_role(n), mpk_span_str(name), n->path, n->node->payload.len,
		       &m->modules[i]);
}

/* Finds the largest modules, largest first; modules of equal size stay in file order. */
static size_t largest_modules(const struct mpk_view *view, size_t out[MODULES_MOST])
{
	size_t count = 0;

	for (size_t i = 0; i < view->count; i++) {
		size_t len = view->nodes[i].node->payload.len, at = count;

		while (at && view->nodes[out[at - 1]].node->payload.len < len)
			at--;
		if (!len || at == MODULES_MOST)
			continue;
		count += count < MODULES_MOST;
		memmove(&out[at + 1], &out[at], (count - at - 1) * sizeof *out);
		out[at] = i;
	}
	return count;
}

/* Adds the modules of the blob, at most MODULES_MOST, since a file may have a hundred thousand.
 * Notes the node of each module, since parts and kernels are added later in any order. */
static enum mpk_code add_modules(struct mpk_map_maker *m, size_t blob)
{
	size_t shown[MODULES_MOST], count = largest_modules(m->view, shown), rest = 0;
	uint64_t bytes = 0;

	m->modules = mpk_arena_array(m->arena, m->view->count, sizeof *m->modules);
	MPK_TRY_ALLOC(m->modules, m->err);
	for (size_t i = 0; i < count; i++)
		MPK_TRY(add_module(m, blob, shown[i]));
	for (size_t i = 0; i < m->view->count; i++)
		if (!m->modules[i] && m->view->nodes[i].node->payload.len) {
			rest++;
			bytes += m->view->nodes[i].node->payload.len;
		}
	return rest ? add_smaller(m, blob, rest, bytes) : MPK_OK;
}

static bool is_kernels(struct mpk_span name)
{
	const uint8_t *slash = memchr(name.data, '/', name.len);

	if (slash)
		name = mpk_span_of(slash + 1, name.len - (size_t)(slash + 1 - name.data));
	return mpk_span_starts(name, "kernels.");
}

static enum mpk_code add_parts(struct mpk_map_maker *m)
{
	for (size_t i = 0; i < m->size->files.count; i++) {
		const struct mpk_size_item *item = &m->size->files.items[i];
		size_t module = item->node ? (size_t)(item->node - m->view->nodes) : 0, at;

		if (!item->node || !item->bytes || !m->modules || !m->modules[module])
			continue;
		MPK_TRY(map_add(m, m->modules[module], part_kind(item),
				item->title.len ? item->title : item->name, item->path, item->bytes,
				&at));
		if (is_kernels(item->name))
			m->code_parts[module] = at;
	}
	return MPK_OK;
}

/* Adds the functions of byte code below their executable. */
static enum mpk_code add_byte_code(struct mpk_map_maker *m)
{
	for (size_t i = 0; i < m->size->byte_code.count; i++) {
		const struct mpk_size_item *item = &m->size->byte_code.items[i];
		size_t module = m->modules[item->node - m->view->nodes];

		if (module)
			MPK_TRY(map_add(m, module, "function", item->name, item->path, item->bytes,
					NULL));
	}
	return MPK_OK;
}

/* Adds kernels whose machine code is together in one part. Kernels that are parts of their own
 * already have a node. */
static enum mpk_code add_kernels(struct mpk_map_maker *m)
{
	for (size_t i = 0; i < m->size->kernels.count; i++) {
		const struct mpk_size_item *item = &m->size->kernels.items[i];
		size_t module = item->node ? (size_t)(item->node - m->view->nodes) : 0;

		if (item->node && m->code_parts[module] && !item->data.len)
			MPK_TRY(map_add_symbol(m, m->code_parts[module], "kernel", item->name,
					       item->path, item->bytes));
	}
	return MPK_OK;
}

/* --- code of devices ---------------------------------------------------------------------------- */

/* Returns the key of a name below a parent, in the arena; NULL if memory is out. */
static const char *group_key(struct mpk_map_maker *m, size_t parent, struct mpk_span name)
{
	return mpk_arena_printf(m->arena, "%zu %.*s", parent, MPK_SPAN_ARG(name));
}

/* Returns the node of a key, and makes it on first use. */
static enum mpk_code group_of(struct mpk_map_maker *m, size_t parent, const char *key,
			      const char *kind, struct mpk_span name, const char *path, size_t *out)
{

	MPK_TRY_ALLOC(key, m->err);
	if (mpk_strmap_find(&m->groups, mpk_span_str(key), out))
		return MPK_OK;
	if (kind[0] == 'k') /* "kernel" */
		MPK_TRY(map_add_symbol(m, parent, kind, name, path, 0));
	else
		MPK_TRY(map_add(m, parent, kind, name, path, 0, NULL));
	*out = m->count - 1;
	MPK_TRY_ALLOC(mpk_strmap_put(&m->groups, mpk_span_str(key), *out, NULL) >= 0, m->err);
	return MPK_OK;
}

/* Adds the devices of a container from its headers: a device has the bytes of all its images. The
 * key of machine code is only the device, by which kernels are found. */
static enum mpk_code add_targets(struct mpk_map_maker *m, size_t parent,
				 const struct mpk_code_target *targets, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct mpk_code_target *t = &targets[i];
		const char *what = t->what                       ? t->what
				   : t->kind == MPK_TARGET_PTX   ? "PTX"
				   : t->kind == MPK_TARGET_LTO   ? "LTO IR"
				   : t->kind == MPK_TARGET_TILE  ? "Tile IR"
				   : t->kind == MPK_TARGET_OTHER ? "other code"
								 : "cubin";
		bool is_binary = t->kind == MPK_TARGET_BINARY;
		const char *name = mpk_arena_printf(m->arena, "%s %s", t->name, what);
		size_t at;

		MPK_TRY_ALLOC(name, m->err);
		MPK_TRY(group_of(m, parent,
				 group_key(m, parent, mpk_span_str(is_binary ? t->name : name)),
				 is_binary ? "gpu" : "text", mpk_span_str(name), NULL, &at));
		m->nodes[at].bytes += t->bytes;
		m->nodes[at].plain_bytes += t->plain_bytes ? t->plain_bytes : t->bytes;
	}
	return MPK_OK;
}

/* Returns the part's share of the bytes that the whole takes in the file, rounded down, so that the
 * sum does not exceed the whole. */
static uint64_t share_of(uint64_t part, uint64_t whole, uint64_t plain)
{
	unsigned shift = 0;

	while (part >> shift && whole > UINT64_MAX / (part >> shift))
		shift++;
	return plain ? (part >> shift) * whole / ((plain >> shift) + (shift != 0)) : 0;
}

static enum mpk_code add_device_kernel(struct mpk_map_maker *m, size_t parent,
				       struct mpk_span target, struct mpk_span kernel,
				       const char *path, uint64_t bytes)
{
	const char *key = group_key(m, parent, target);
	size_t device, at;

	MPK_TRY_ALLOC(key, m->err);
	if (!bytes || !mpk_strmap_find(&m->groups, mpk_span_str(key), &device))
		return MPK_OK;
	MPK_TRY(group_of(m, device, group_key(m, device, kernel), "kernel", kernel, path, &at));
	m->nodes[at].plain_bytes += bytes;
	m->nodes[at].bytes = share_of(m->nodes[at].plain_bytes, m->nodes[device].bytes,
				      m->nodes[device].plain_bytes);
	return MPK_OK;
}

/* A module with code for a single device already has its kernels. */
static enum mpk_code add_images(struct mpk_map_maker *m, size_t part, size_t module)
{
	const struct mpk_view_node *n = &m->view->nodes[module];
	const struct mpk_code_target *targets;
	const struct mpk_node_info *info;
	size_t count;

	MPK_TRY(mpk_view_targets(m->view, n, &targets, &count, m->err));
	MPK_TRY(mpk_view_info(m->view, module, &info, m->err));
	if (info->piece_count != 1 || !info->pieces[0].code.image_count)
		return MPK_OK;
	MPK_TRY(add_targets(m, part, targets, count));
	for (size_t i = 0; i < info->pieces[0].code.image_count; i++) {
		const struct mpk_code_info *image = &info->pieces[0].code.images[i];

		if (!image->format || !image->format->has_code_bytes)
			continue;
		for (size_t k = 0; k < image->kernel_count; k++)
			MPK_TRY(add_device_kernel(m, part, mpk_span_str(mpk_device_target(image)),
						  image->kernels[k].name, n->path,
						  image->kernels[k].code_bytes));
	}
	return MPK_OK;
}

static enum mpk_code add_blob(struct mpk_map_maker *m, size_t parent)
{
	size_t blob;

	m->code_parts = mpk_arena_array(m->arena, m->view->count, sizeof *m->code_parts);
	MPK_TRY_ALLOC(m->code_parts, m->err);
	MPK_TRY(map_add(m, parent, "blob", mpk_span_str("module blob"), NULL,
			mpk_image_blob(m->view->image).len, &blob));
	MPK_TRY(add_modules(m, blob));
	MPK_TRY(add_parts(m));
	MPK_TRY(add_byte_code(m));
	MPK_TRY(add_kernels(m));
	for (size_t i = 0; i < m->view->count; i++)
		if (m->code_parts[i])
			MPK_TRY(add_images(m, m->code_parts[i], i));
	return MPK_OK;
}

/* --- sections ----------------------------------------------------------------------------------- */

static bool holds_blob(const struct mpk_image *image, const struct mpk_size_section *s)
{
	return image->has_blob && image->blob_section &&
	       strcmp(s->name, image->blob_section) == 0 && s->bytes >= mpk_image_blob(image).len;
}

/* If the format has no section headers, the blob is directly below the file. */
static enum mpk_code add_sections(struct mpk_map_maker *m)
{
	bool placed = !m->view->image->has_blob;

	if (m->size->every_section_count)
		m->section_room =
			m->size->every_section[m->size->every_section_count - 1].index + 1;
	m->sections = mpk_arena_array(m->arena, m->section_room, sizeof *m->sections);
	MPK_TRY_ALLOC(m->sections, m->err);
	for (size_t i = 0; i < m->size->every_section_count; i++) {
		const struct mpk_size_section *s = &m->size->every_section[i];
		bool is_debug = strstr(s->name, "debug") == s->name + (*s->name == '.') ||
				strncmp(s->name, ".zdebug", 7) == 0;

		MPK_TRY(map_add(m, 0,
				s->is_code ? CODE_SECTION
				: is_debug ? "debug"
					   : "section",
				mpk_span_str(*s->name ? s->name : "(no name)"), NULL, s->bytes,
				&m->sections[s->index]));
		if (placed || !holds_blob(m->view->image, s))
			continue;
		MPK_TRY(add_blob(m, m->sections[s->index]));
		placed = true;
	}
	return placed ? MPK_OK : add_blob(m, 0);
}

/* Splits paths of kernels such as ".nv_fatbin:0 sm_90": the section is the text before the last
 * colon. */
static bool split_path(const char *path, struct mpk_span *section, struct mpk_span *target)
{
	const char *blank = strrchr(path, ' '), *colon = blank;

	while (colon && colon > path && *colon != ':')
		colon--;
	if (!colon || *colon != ':')
		return false;
	*section = mpk_span_of(path, (size_t)(colon - path));
	*target = mpk_span_str(blank + 1);
	return true;
}

/* If the file consists of GPU code only, the code is directly below the file. */
static bool named_section(const struct mpk_map_maker *m, const struct mpk_strmap *names,
			  struct mpk_span name, size_t *out)
{
	*out = 0;
	return m->view->image->format == MPK_FILE_DEVICE || mpk_strmap_find(names, name, out);
}

/* Unreadable containers are part of the rest of their section: --verify says why. */
static enum mpk_code add_containers(struct mpk_map_maker *m, const struct mpk_strmap *names)
{
	const struct mpk_image *image = m->view->image;

	for (size_t i = 0; i < image->device_count; i++) {
		const struct mpk_image_device *d = &image->devices[i];
		size_t parent, count;
		const struct mpk_code_target *targets;
		struct mpk_error problem = { 0 };

		if (!named_section(m, names, mpk_span_str(d->section), &parent))
			continue;
		if (mpk_device_targets(d->section, d->bytes, m->arena, &targets, &count,
				       &problem) == MPK_OK)
			MPK_TRY(add_targets(m, parent, targets, count));
		else if (problem.code == MPK_E_NOMEM)
			return mpk_fail_nomem(m->err);
	}
	return MPK_OK;
}

static enum mpk_code add_container_kernels(struct mpk_map_maker *m, const struct mpk_strmap *names)
{
	struct mpk_span section, target;

	for (size_t i = 0; i < m->size->kernels.count; i++) {
		const struct mpk_size_item *k = &m->size->kernels.items[i];
		size_t parent;

		if (k->node || !k->path || !split_path(k->path, &section, &target))
			continue;
		if (named_section(m, names, section, &parent))
			MPK_TRY(add_device_kernel(m, parent, target, k->name, NULL, k->bytes));
	}
	return MPK_OK;
}

/* A file may have as many containers as sections, so section names are put into a hash table
 * once. */
static enum mpk_code add_device_code(struct mpk_map_maker *m)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap names = { 0 };
	const struct mpk_size_section *s = m->size->every_section;

	if (!m->view->image->device_count)
		return MPK_OK;
	for (size_t i = 0; i < m->size->every_section_count; i++)
		MPK_TRY_ALLOC(mpk_strmap_put(&names, mpk_span_str(s[i].name),
					     m->sections[s[i].index], NULL) >= 0,
			      m->err);
	MPK_TRY(add_containers(m, &names));
	return add_container_kernels(m, &names);
}

/* Returns the node of the section that contains an offset; the file's node if there is none. */
static size_t section_of(const struct mpk_map_maker *m, uint64_t off)
{
	const struct mpk_size_section *s = m->size->every_section;

	for (size_t i = 0; i < m->size->every_section_count; i++)
		if (off >= s[i].off && off - s[i].off < s[i].bytes)
			return m->sections[s[i].index];
	return 0;
}

/* Adds images that getters of TVM name, and their kernels. */
static enum mpk_code add_embedded(struct mpk_map_maker *m)
{
	const struct mpk_image *image = m->view->image;

	for (size_t i = 0; i < image->embedded_count; i++) {
		const struct mpk_view_code *c = &m->view->embedded[i];
		size_t at = c->at->off >= image->bytes_off
				    ? section_of(m, c->at->off - image->bytes_off)
				    : 0;

		MPK_TRY(map_add(m, at, "gpu", mpk_span_str(c->path), c->path, c->at->bytes.len,
				&at));
		for (size_t k = 0;
		     c->code.format && c->code.format->has_code_bytes && k < c->code.kernel_count;
		     k++)
			MPK_TRY(map_add_symbol(m, at, "kernel", c->code.kernels[k].name, c->path,
					       c->code.kernels[k].code_bytes));
	}
	return MPK_OK;
}

/* --- host functions ------------------------------------------------------------------------------- */

/* The functions of a section that have no node of their own, as one node. */
struct beyond {
	size_t shown, count;
	uint64_t bytes;
};

/* Adds host functions below each code section, the largest first, up to a limit. */
static enum mpk_code add_host_functions(struct mpk_map_maker *m)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct beyond *beyond = mpk_arena_array(&scratch, m->section_room, sizeof *beyond);

	MPK_TRY_ALLOC(beyond, m->err);
	for (size_t i = 0; i < m->size->function_count; i++) {
		const struct mpk_size_function *f = &m->size->functions[i];

		if (f->section >= m->section_room || !m->sections[f->section] ||
		    strcmp(m->nodes[m->sections[f->section]].kind, CODE_SECTION) != 0)
			continue;
		if (beyond[f->section].shown < MPK_MAP_CHILDREN_MOST - 1) {
			MPK_TRY(map_add_symbol(m, m->sections[f->section], "function",
					       mpk_span_str(f->symbol), NULL, f->bytes));
			beyond[f->section].shown++;
		} else {
			beyond[f->section].count++;
			beyond[f->section].bytes += f->bytes;
		}
	}
	for (size_t i = 0; i < m->section_room; i++)
		if (beyond[i].count)
			MPK_TRY(add_smaller(m, m->sections[i], beyond[i].count, beyond[i].bytes));
	return MPK_OK;
}

enum mpk_code mpk_map_collect(struct mpk_map_maker *m)
{
	const struct mpk_view *view = m->view;
	const char *slash = strrchr(view->name, '/');

	MPK_TRY(map_add(m, 0, "file", mpk_span_str(slash && slash[1] ? slash + 1 : view->name),
			NULL, view->image->is_packed ? view->image->bytes.len : view->file_bytes,
			NULL));
	MPK_TRY(add_sections(m));
	MPK_TRY(add_embedded(m));
	MPK_TRY(add_device_code(m));
	return add_host_functions(m);
}
