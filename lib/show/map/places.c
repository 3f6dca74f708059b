/* SPDX-License-Identifier: Apache-2.0 */
/* places.c - what is in the sections of a file: GPU code by device and kernel, code that getters of TVM name, and
 * host functions. Code of a device is packed in most files; its kernels then share the bytes that it takes there by
 * the sizes that they have unpacked. */
#include <string.h>

#include "map/internal/map.h"
#include "model/device_code.h"
#include "model/node_info.h"

/* --- devices ------------------------------------------------------------------------------------ */

/* The node of a name below a parent, which is made when it is first asked for. */
static enum mpk_code group_of(struct mpk_map_maker *m, size_t parent, struct mpk_span name,
			      const struct mpk_map_node *made, size_t *out)
{
	const char *key = mpk_arena_printf(m->arena, "%zu %.*s", parent, MPK_SPAN_ARG(name));

	MPK_TRY_ALLOC(key, m->err);
	if (mpk_strmap_find(&m->groups, mpk_span_str(key), out))
		return MPK_OK;
	if (made->kind[0] == 'k') /* "kernel" */
		MPK_TRY(mpk_map_add_symbol(m, parent, *made));
	else
		MPK_TRY(mpk_map_add(m, parent, *made, NULL));
	*out = m->count - 1;
	MPK_TRY_ALLOC(mpk_strmap_put(&m->groups, mpk_span_str(key), *out, NULL) >= 0, m->err);
	return MPK_OK;
}

/* What the headers of a container say: a device has the bytes of all its images. The key of machine code is the
 * device alone, by which kernels are found. */
static enum mpk_code add_targets(struct mpk_map_maker *m, size_t parent,
				 const struct mpk_code_target *targets, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct mpk_code_target *t = &targets[i];
		const char *what = t->what                       ? t->what
				   : t->kind == MPK_TARGET_PTX   ? "PTX"
				   : t->kind == MPK_TARGET_LTO   ? "LTO IR"
				   : t->kind == MPK_TARGET_OTHER ? "other code"
								 : "cubin";
		bool is_binary = t->kind == MPK_TARGET_BINARY;
		const char *name = mpk_arena_printf(m->arena, "%s %s", t->name, what);
		struct mpk_map_node made = { .kind = is_binary ? "gpu" : "text" };
		size_t at;

		MPK_TRY_ALLOC(name, m->err);
		made.name = mpk_span_str(name);
		MPK_TRY(group_of(m, parent,
				 is_binary ? mpk_span_str(mpk_arena_printf(m->arena, "%s", t->name))
					   : made.name,
				 &made, &at));
		m->nodes[at].bytes += t->bytes;
		m->nodes[at].plain_bytes += t->plain_bytes ? t->plain_bytes : t->bytes;
	}
	return MPK_OK;
}

/* The share of a part in what its whole takes in the file, rounded down, so that the shares never are more than it. */
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
	const char *key = mpk_arena_printf(m->arena, "%zu %.*s", parent, MPK_SPAN_ARG(target));
	struct mpk_map_node made = { .kind = "kernel", .name = kernel, .path = path };
	size_t device, at;

	MPK_TRY_ALLOC(key, m->err);
	if (!bytes || !mpk_strmap_find(&m->groups, mpk_span_str(key), &device))
		return MPK_OK;
	MPK_TRY(group_of(m, device, kernel, &made, &at));
	m->nodes[at].plain_bytes += bytes;
	m->nodes[at].bytes = share_of(m->nodes[at].plain_bytes, m->nodes[device].bytes,
				      m->nodes[device].plain_bytes);
	return MPK_OK;
}

/* A module with code for one device alone has its kernels already. */
enum mpk_code mpk_map_add_images(struct mpk_map_maker *m, size_t part, size_t module)
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

/* Paths of kernels are ".nv_fatbin:0 sm_90": the section is what is in front of the last colon. */
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

/* A file may have as many containers as sections: names are looked up once and for all. */
static enum mpk_code name_sections(struct mpk_map_maker *m, struct mpk_strmap *names)
{
	for (size_t i = 0; i < m->section_count; i++)
		MPK_TRY_ALLOC(mpk_strmap_put(names, mpk_span_str(m->sections[i].name),
					     m->sections[i].node, NULL) >= 0,
			      m->err);
	return MPK_OK;
}

/* A file that is GPU code alone has it directly below the file. */
static bool named_section(const struct mpk_map_maker *m, const struct mpk_strmap *names,
			  struct mpk_span name, size_t *out)
{
	*out = 0;
	return m->view->image->format == MPK_FILE_DEVICE || mpk_strmap_find(names, name, out);
}

/* Containers that do not read are the rest of their section: --verify says why. */
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

static enum mpk_code add_device_code(struct mpk_map_maker *m)
{
	struct mpk_strmap names = { 0 };
	enum mpk_code code = MPK_OK;

	if (m->view->image->device_count) {
		code = name_sections(m, &names);
		code = code == MPK_OK ? add_containers(m, &names) : code;
		code = code == MPK_OK ? add_container_kernels(m, &names) : code;
	}
	mpk_strmap_fini(&names);
	return code;
}

static struct mpk_map_section *section_of(struct mpk_map_maker *m, uint64_t off)
{
	for (size_t i = 0; i < m->section_count; i++)
		if (off >= m->sections[i].off && off - m->sections[i].off < m->sections[i].bytes)
			return &m->sections[i];
	return NULL;
}

/* Code that getters of TVM name, and its kernels. */
static enum mpk_code add_embedded(struct mpk_map_maker *m)
{
	const struct mpk_image *image = m->view->image;

	for (size_t i = 0; i < image->embedded_count; i++) {
		const struct mpk_view_code *c = &m->view->embedded[i];
		const struct mpk_map_section *s =
			c->at->off >= image->bytes_off
				? section_of(m, c->at->off - image->bytes_off)
				: NULL;
		size_t at;

		MPK_TRY(mpk_map_add(m, s ? s->node : 0,
				    (struct mpk_map_node){ .kind = "gpu",
							   .name = mpk_span_str(c->path),
							   .path = c->path,
							   .bytes = c->at->bytes.len },
				    &at));
		for (size_t k = 0;
		     c->code.format && c->code.format->has_code_bytes && k < c->code.kernel_count;
		     k++)
			MPK_TRY(mpk_map_add_symbol(
				m, at,
				(struct mpk_map_node){ .kind = "kernel",
						       .name = c->code.kernels[k].name,
						       .path = c->path,
						       .bytes = c->code.kernels[k].code_bytes }));
	}
	return MPK_OK;
}

/* --- host functions ------------------------------------------------------------------------------- */

/* What is not shown of a section's functions, as a node would say it. */
struct beyond {
	size_t shown, count;
	uint64_t bytes;
};

/* Sections of code by their numbers, which functions have. */
static enum mpk_code code_sections(const struct mpk_map_maker *m, struct mpk_arena *arena,
				   const struct mpk_map_section ***out, size_t *count)
{
	*count = 0;
	for (size_t i = 0; i < m->section_count; i++)
		if (m->sections[i].index >= *count)
			*count = m->sections[i].index + 1;
	*out = mpk_arena_array(arena, *count, sizeof **out);
	MPK_TRY_ALLOC(*out, m->err);
	for (size_t i = 0; i < m->section_count; i++)
		if (m->sections[i].is_code)
			(*out)[m->sections[i].index] = &m->sections[i];
	return MPK_OK;
}

/* Below each section of code the host functions in it, as many as get a box; the largest come first. */
static enum mpk_code add_host_functions(struct mpk_map_maker *m)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_map_section **sections;
	struct beyond *beyond;
	size_t count;

	MPK_TRY(code_sections(m, &scratch, &sections, &count));
	beyond = mpk_arena_array(&scratch, count, sizeof *beyond);
	MPK_TRY_ALLOC(beyond, m->err);
	for (size_t i = 0; i < m->size->function_count; i++) {
		const struct mpk_size_function *f = &m->size->functions[i];

		if (f->section >= count || !sections[f->section])
			continue;
		if (beyond[f->section].shown < MPK_MAP_CHILDREN_MOST - 1) {
			MPK_TRY(mpk_map_add_symbol(
				m, sections[f->section]->node,
				(struct mpk_map_node){ .kind = "function",
						       .name = mpk_span_str(f->symbol),
						       .bytes = f->bytes }));
			beyond[f->section].shown++;
		} else {
			beyond[f->section].count++;
			beyond[f->section].bytes += f->bytes;
		}
	}
	for (size_t i = 0; i < count; i++)
		if (beyond[i].count)
			MPK_TRY(mpk_map_add_smaller(m, sections[i]->node, beyond[i].count,
						    beyond[i].bytes));
	return MPK_OK;
}

enum mpk_code mpk_map_add_places(struct mpk_map_maker *m)
{
	MPK_TRY(add_embedded(m));
	MPK_TRY(add_device_code(m));
	return add_host_functions(m);
}
