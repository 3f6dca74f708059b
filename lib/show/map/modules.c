/* SPDX-License-Identifier: Apache-2.0 */
/* modules.c - the module blob: its modules with their parts, the kernels in these and functions of byte code */
#include <string.h>

#include "map/internal/map.h"

enum { MODULES_MOST = MPK_MAP_CHILDREN_MOST - 1 };

static const char *part_kind(const struct mpk_size_item *item)
{
	if (item->tensor)
		return "tensor";
	for (size_t i = 0; i < item->data.len && i < 256; i++)
		if (item->data.data[i] < 0x20 && !memchr("\t\n\r\f", item->data.data[i], 4))
			return "code";
	return "text";
}

static const char *role_of(const struct mpk_view_node *n)
{
	switch (n->kind ? n->kind->role : MPK_ROLE_UNKNOWN) {
	case MPK_ROLE_HOST:
		return "host";
	case MPK_ROLE_DEVICE:
		return "device";
	case MPK_ROLE_EXECUTOR:
		return "executor";
	case MPK_ROLE_DATA:
		return "data";
	case MPK_ROLE_EXTERN:
		return "extern";
	case MPK_ROLE_SOURCE:
		return "source";
	case MPK_ROLE_UNKNOWN:
		break;
	}
	return "unknown";
}

static enum mpk_code add_module(struct mpk_map_maker *m, size_t blob, size_t i)
{
	const struct mpk_view_node *n = &m->view->nodes[i];
	const char *name =
		mpk_arena_printf(m->arena, "%s  %.*s", n->path, MPK_SPAN_ARG(n->node->kind));

	MPK_TRY_ALLOC(name, m->err);
	return mpk_map_add(m, blob,
			   (struct mpk_map_node){ .kind = role_of(n),
						  .name = mpk_span_str(name),
						  .path = n->path,
						  .bytes = n->node->payload.len },
			   &m->modules[i]);
}

/* The largest modules, largest first; of two of one size the earlier. */
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

/* The modules of the blob, as many as get a box: a file may have a hundred thousand. Which node a module became is
 * noted: parts and kernels come after, in any order. */
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
	return rest ? mpk_map_add_smaller(m, blob, rest, bytes) : MPK_OK;
}

/* Where the kernels of a module stand: in the part that has all of its code, or in a part each. */
struct code_parts {
	size_t *all; /* of each module, its part "kernels.*"; 0: none */
};

static bool is_kernels(struct mpk_span name)
{
	const uint8_t *slash = memchr(name.data, '/', name.len);

	if (slash)
		name = mpk_span_of(slash + 1, name.len - (size_t)(slash + 1 - name.data));
	return mpk_span_starts(name, "kernels.");
}

static enum mpk_code add_parts(struct mpk_map_maker *m, const struct code_parts *code)
{
	for (size_t i = 0; i < m->size->files.count; i++) {
		const struct mpk_size_item *item = &m->size->files.items[i];
		size_t module = item->node ? (size_t)(item->node - m->view->nodes) : 0, at;

		if (!item->node || !item->bytes || !m->modules || !m->modules[module])
			continue;
		MPK_TRY(mpk_map_add(
			m, m->modules[module],
			(struct mpk_map_node){ .kind = part_kind(item),
					       .name = item->title.len ? item->title : item->name,
					       .path = item->path,
					       .bytes = item->bytes },
			&at));
		if (is_kernels(item->name))
			code->all[module] = at;
	}
	return MPK_OK;
}

/* Below an executable its functions of byte code. */
static enum mpk_code add_byte_code(struct mpk_map_maker *m)
{
	for (size_t i = 0; i < m->size->byte_code.count; i++) {
		const struct mpk_size_item *item = &m->size->byte_code.items[i];
		size_t module = m->modules[item->node - m->view->nodes];

		if (module)
			MPK_TRY(mpk_map_add(m, module,
					    (struct mpk_map_node){ .kind = "function",
								   .name = item->name,
								   .path = item->path,
								   .bytes = item->bytes },
					    NULL));
	}
	return MPK_OK;
}

/* Kernels of machine code that is all in one part. Those that are a part of their own are there already. */
static enum mpk_code add_kernels(struct mpk_map_maker *m, const struct code_parts *code)
{
	for (size_t i = 0; i < m->size->kernels.count; i++) {
		const struct mpk_size_item *item = &m->size->kernels.items[i];
		size_t module = item->node ? (size_t)(item->node - m->view->nodes) : 0;

		if (item->node && code->all[module] && !item->data.len)
			MPK_TRY(mpk_map_add_symbol(m, code->all[module],
						   (struct mpk_map_node){ .kind = "kernel",
									  .name = item->name,
									  .path = item->path,
									  .bytes = item->bytes }));
	}
	return MPK_OK;
}

enum mpk_code mpk_map_add_blob(struct mpk_map_maker *m, size_t parent)
{
	struct code_parts code = { mpk_arena_array(m->arena, m->view->count, sizeof *code.all) };
	size_t blob;

	MPK_TRY_ALLOC(code.all, m->err);
	MPK_TRY(mpk_map_add(m, parent,
			    (struct mpk_map_node){ .kind = "blob",
						   .name = mpk_span_str("module blob"),
						   .bytes = mpk_image_blob(m->view->image).len },
			    &blob));
	MPK_TRY(add_modules(m, blob));
	MPK_TRY(add_parts(m, &code));
	MPK_TRY(add_byte_code(m));
	MPK_TRY(add_kernels(m, &code));
	for (size_t i = 0; i < m->view->count; i++)
		if (code.all[i])
			MPK_TRY(mpk_map_add_images(m, code.all[i], i));
	return MPK_OK;
}
