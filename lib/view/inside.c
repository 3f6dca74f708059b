#include "view/inside.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/num.h"
#include "base/strmap.h"

/* --- one run of code ---------------------------------------------------------------- */

static int by_name(const void *left, const void *right)
{
	const struct mpk_inside_name *a = left, *b = right;
	size_t len = a->name.len < b->name.len ? a->name.len : b->name.len;
	int order = len ? memcmp(a->name.data, b->name.data, len) : 0;

	if (order)
		return order;
	if (a->name.len != b->name.len)
		return a->name.len < b->name.len ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

static size_t kernel_count(const struct mpk_inside_code *c)
{
	if (c->probe == MPK_PROBE_PTX)
		return c->u.ptx.kernel_count;
	if (c->probe == MPK_PROBE_CUBIN)
		return c->u.cubin.kernel_count;
	if (c->probe == MPK_PROBE_SPIRV)
		return c->u.spirv.entry_count;
	return mpk_probe_is_source(c->probe) ? c->u.source.kernel_count : 0;
}

static struct mpk_span kernel_name(const struct mpk_inside_code *c, size_t i)
{
	if (c->probe == MPK_PROBE_PTX)
		return c->u.ptx.kernels[i].name;
	if (c->probe == MPK_PROBE_CUBIN)
		return c->u.cubin.kernels[i].name;
	if (c->probe == MPK_PROBE_SPIRV)
		return mpk_span_str(c->u.spirv.entries[i].name);
	return c->u.source.kernels[i].name;
}

/* The names that count rows, each `stride` bytes long, begin with. */
static enum mpk_code sort_names(const void *rows, size_t stride, size_t count,
				struct mpk_arena *arena, struct mpk_inside_names *out,
				struct mpk_error *err)
{
	struct mpk_inside_name *names = mpk_arena_array(arena, count, sizeof *names);

	if (!names)
		return mpk_fail_nomem(err);
	for (size_t i = 0; i < count; i++) {
		memcpy(&names[i].name, (const uint8_t *)rows + i * stride, sizeof names[i].name);
		names[i].index = i;
	}
	if (count)
		qsort(names, count, sizeof *names, by_name);
	*out = (struct mpk_inside_names){ names, count };
	return MPK_OK;
}

static enum mpk_code sort_kernels(struct mpk_inside_code *c, struct mpk_arena *arena,
				  struct mpk_error *err)
{
	size_t count = c->problem ? 0 : kernel_count(c);
	struct mpk_span *names = mpk_arena_array(arena, count, sizeof *names);

	if (!names)
		return mpk_fail_nomem(err);
	for (size_t i = 0; i < count; i++)
		names[i] = kernel_name(c, i);
	return sort_names(names, sizeof *names, count, arena, &c->names, err);
}

static enum mpk_code sum_shared(struct mpk_inside_code *c, struct mpk_arena *arena,
				struct mpk_error *err)
{
	const struct mpk_ptx *p = &c->u.ptx;
	struct mpk_inside_shared *sums = mpk_arena_array(arena, p->kernel_count + 1, sizeof *sums);

	if (!sums)
		return mpk_fail_nomem(err);
	for (size_t i = 0; i < p->shared_count; i++) {
		const struct mpk_ptx_shared *v = &p->shared[i];
		struct mpk_inside_shared *sum =
			&sums[v->kernel == MPK_PTX_MODULE ? p->kernel_count : v->kernel];

		sum->dynamic |= v->dynamic;
		if (!mpk_add_u64(sum->bytes, v->bytes, &sum->bytes))
			sum->bytes = UINT64_MAX;
	}
	c->shared = sums;
	return MPK_OK;
}

enum mpk_clsource_language mpk_inside_language(enum mpk_probe probe)
{
	if (probe == MPK_PROBE_METAL)
		return MPK_CLSOURCE_METAL;
	if (probe == MPK_PROBE_WGSL)
		return MPK_CLSOURCE_WGSL;
	return probe == MPK_PROBE_CUDA ? MPK_CLSOURCE_CUDA : MPK_CLSOURCE_OPENCL;
}

static enum mpk_code read_plain(struct mpk_inside_code *c, struct mpk_arena *arena,
				struct mpk_error *err)
{
	if (c->probe == MPK_PROBE_PTX)
		return mpk_ptx_read(c->bytes, arena, &c->u.ptx, err);
	if (c->probe == MPK_PROBE_CUBIN)
		return mpk_cubin_read(c->bytes, arena, &c->u.cubin, err);
	if (c->probe == MPK_PROBE_FATBIN)
		return mpk_fatbin_read(c->bytes, arena, &c->u.fatbin, err);
	if (c->probe == MPK_PROBE_SPIRV)
		return mpk_spirv_read(c->bytes, arena, &c->u.spirv, err);
	if (c->probe == MPK_PROBE_AR)
		return mpk_ar_read(c->bytes, arena, &c->u.ar, err);
	if (c->probe != MPK_PROBE_TEXT && mpk_probe_is_source(c->probe))
		return mpk_clsource_read(c->bytes, mpk_inside_language(c->probe), arena,
					 &c->u.source, err);
	return MPK_OK;
}

/* bytes, off and probe are set. A reader's failure is the code's problem. */
static enum mpk_code read_code(struct mpk_inside_code *c, struct mpk_arena *arena,
			       struct mpk_error *err)
{
	struct mpk_error problem = { 0 };
	enum mpk_code code = read_plain(c, arena, &problem);

	if (code == MPK_E_NOMEM)
		return mpk_fail_nomem(err);
	if (code != MPK_OK) {
		struct mpk_error *kept = mpk_arena_alloc(arena, sizeof *kept);

		if (!kept)
			return mpk_fail_nomem(err);
		*kept = problem;
		c->problem = kept;
	}
	if (c->probe == MPK_PROBE_PTX && !c->problem)
		MPK_TRY(sum_shared(c, arena, err));
	return sort_kernels(c, arena, err);
}

/* Images hold no images: what a fatbin claims is PTX or machine code is read as that. */
static enum mpk_code read_images(struct mpk_inside_code *c, struct mpk_arena *arena,
				 struct mpk_error *err)
{
	const struct mpk_fatbin *f = &c->u.fatbin;
	struct mpk_inside_code *images = mpk_arena_array(arena, f->entry_count, sizeof *images);

	if (!images)
		return mpk_fail_nomem(err);
	for (size_t i = 0; i < f->entry_count; i++) {
		const struct mpk_fatbin_entry *e = &f->entries[i];

		images[i].bytes = e->data;
		images[i].off = c->off + e->data_off;
		if (e->packing != MPK_FATBIN_STORED)
			continue;
		if (e->kind == MPK_FATBIN_PTX)
			images[i].probe = MPK_PROBE_PTX;
		else if (e->kind == MPK_FATBIN_ELF)
			images[i].probe = MPK_PROBE_CUBIN;
		else
			continue;
		MPK_TRY(read_code(&images[i], arena, err));
	}
	c->images = images;
	return MPK_OK;
}

/* @claimed  what the format says; decides for texts that could be in any language */
static enum mpk_code read_piece(struct mpk_inside_piece *p, enum mpk_probe claimed,
				struct mpk_arena *arena, struct mpk_error *err)
{
	struct mpk_inside_code *c = &p->code;

	c->probe = mpk_probe(c->bytes);
	if (c->probe == MPK_PROBE_TEXT && mpk_probe_is_source(claimed))
		c->probe = claimed;
	MPK_TRY(read_code(c, arena, err));
	if (c->probe == MPK_PROBE_FATBIN && !c->problem)
		MPK_TRY(read_images(c, arena, err));
	if (mpk_probe_kernels(c->bytes, arena, &p->defined, NULL) == MPK_E_NOMEM)
		return mpk_fail_nomem(err);
	return sort_names(p->defined.functions, sizeof *p->defined.functions,
			  p->defined.function_count, arena, &p->functions, err);
}

/* --- modules ------------------------------------------------------------------------ */

/* Which piece each kernel of the table has; the first of several with its name. */
static enum mpk_code match_pieces(const struct mpk_kernels *k, struct mpk_arena *arena,
				  struct mpk_inside *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap names = { 0 };
	size_t *piece_of = mpk_arena_array(arena, k->function_count, sizeof *piece_of);
	size_t found;

	if (!piece_of)
		return mpk_fail_nomem(err);
	for (size_t i = 0; i < out->piece_count; i++)
		if (out->pieces[i].key &&
		    mpk_strmap_put(&names, *out->pieces[i].key, i, &found) < 0)
			return mpk_fail_nomem(err);
	for (size_t i = 0; i < k->function_count; i++) {
		if (k->layout == MPK_KERNELS_PLAIN)
			piece_of[i] = 0;
		else if (mpk_strmap_find(&names, k->functions[i].key, &found))
			piece_of[i] = found;
		else
			piece_of[i] = SIZE_MAX;
	}
	out->piece_of = piece_of;
	_Static_assert(offsetof(struct mpk_function_info, key) == 0, "names stand first in rows");
	return sort_names(k->functions, sizeof *k->functions, k->function_count, arena, &out->table,
			  err);
}

static enum mpk_code read_kernels(const struct mpk_view_node *n, struct mpk_arena *arena,
				  struct mpk_inside *out, struct mpk_error *err)
{
	const struct mpk_kernels *k = &n->payload.u.kernels;
	enum mpk_probe claimed = mpk_probe_expected(n->node->kind, k->fmt);
	size_t count = k->layout == MPK_KERNELS_PLAIN ? 1 : k->source_count;
	struct mpk_inside_piece *pieces = mpk_arena_array(arena, count, sizeof *pieces);

	if (!pieces)
		return mpk_fail_nomem(err);
	for (size_t i = 0; i < count; i++) {
		struct mpk_span data = k->data;
		uint64_t at = k->data_off;

		if (k->layout != MPK_KERNELS_PLAIN) {
			data = k->sources[i].data;
			/* pieces are views of the payload */
			at = data.len ? (uint64_t)(data.data - n->node->payload.data) : 0;
			pieces[i].key = &k->sources[i].key;
		}
		pieces[i].code.bytes = data;
		pieces[i].code.off = n->node->payload_off + at;
		MPK_TRY(read_piece(&pieces[i], claimed, arena, err));
	}
	out->pieces = pieces;
	out->piece_count = count;
	return match_pieces(k, arena, out, err);
}

static enum mpk_code read_library(const struct mpk_view_node *n, struct mpk_arena *arena,
				  struct mpk_inside *out, struct mpk_error *err)
{
	const struct mpk_record_value *data = mpk_record_get(&n->payload.u.record, "data");
	struct mpk_inside_piece *piece;

	if (n->payload.u.record.schema != &mpk_schema_static_library || !data || !data->str.len)
		return MPK_OK;
	piece = mpk_arena_alloc(arena, sizeof *piece);
	if (!piece)
		return mpk_fail_nomem(err);
	piece->code.bytes = data->str;
	piece->code.off = n->node->payload_off + (uint64_t)(data->str.data - n->node->payload.data);
	MPK_TRY(read_piece(piece, MPK_PROBE_UNKNOWN, arena, err));
	out->pieces = piece;
	out->piece_count = 1;
	return MPK_OK;
}

enum mpk_code mpk_inside_read(const struct mpk_view_node *node, struct mpk_arena *arena,
			      struct mpk_inside *out, struct mpk_error *err)
{
	struct mpk_inside inside = { 0 };

	if (node->decoded && node->payload.tag == MPK_PAYLOAD_KERNELS)
		MPK_TRY(read_kernels(node, arena, &inside, err));
	else if (node->decoded && node->payload.tag == MPK_PAYLOAD_RECORD)
		MPK_TRY(read_library(node, arena, &inside, err));
	else if (node->decoded && node->payload.tag == MPK_PAYLOAD_FACTORY &&
		 node->payload.u.factory.has_graph)
		MPK_TRY(mpk_inside_read_graph(&node->payload.u.factory, arena, &inside, err));
	*out = inside;
	return MPK_OK;
}

/* The payload's own name for a part, else the last step of its file name. */
static const char *tensor_name(const struct mpk_part *part, struct mpk_arena *arena)
{
	const char *slash = strrchr(part->name, '/');

	if (part->title.len)
		return mpk_arena_text(arena, part->title);
	return slash ? slash + 1 : part->name;
}

enum mpk_code mpk_inside_measure(const struct mpk_view_node *node, struct mpk_arena *arena,
				 struct mpk_inside *out, struct mpk_error *err)
{
	struct mpk_inside_tensor *list;
	struct mpk_parts parts;
	size_t n = 0;

	if (!node->decoded)
		return MPK_OK;
	MPK_TRY(mpk_payload_parts(&node->payload, arena, &parts, err));
	list = mpk_arena_array(arena, parts.count, sizeof *list);
	if (!list)
		return mpk_fail_nomem(err);
	for (size_t i = 0; i < parts.count; i++) {
		const struct mpk_part *part = &parts.items[i];

		if (!part->tensor)
			continue;
		list[n] = (struct mpk_inside_tensor){ tensor_name(part, arena), part->tensor,
						      mpk_stats_of(part->tensor) };
		if (!list[n++].name)
			return mpk_fail_nomem(err);
	}
	out->measured = true;
	out->tensors = list;
	out->tensor_count = n;
	return MPK_OK;
}

enum mpk_code mpk_view_look_inside(struct mpk_view *view, bool tensors, struct mpk_arena *arena,
				   struct mpk_error *err)
{
	struct mpk_inside *list = mpk_arena_array(arena, view->count, sizeof *list);

	if (!list)
		return mpk_fail_nomem(err);
	for (size_t i = 0; i < view->count; i++) {
		MPK_TRY(mpk_inside_read(&view->nodes[i], arena, &list[i], err));
		if (tensors)
			MPK_TRY(mpk_inside_measure(&view->nodes[i], arena, &list[i], err));
		view->nodes[i].inside = &list[i];
	}
	return MPK_OK;
}

/* --- questions ---------------------------------------------------------------------- */

const struct mpk_inside_name *mpk_inside_has(const struct mpk_inside_names *names,
					     struct mpk_span name)
{
	const struct mpk_inside_name wanted = { name, 0 };
	size_t low = 0, high = names->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_name(&names->items[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == names->count || !mpk_span_equal(names->items[low].name, name))
		return NULL;
	return &names->items[low];
}

bool mpk_inside_find(const struct mpk_inside_code *code, struct mpk_span name,
		     struct mpk_inside_kernel *out)
{
	const struct mpk_inside_name *found = mpk_inside_has(&code->names, name);

	if (!found)
		return false;

	size_t i = found->index;

	*out = (struct mpk_inside_kernel){ .code = code };
	if (code->probe == MPK_PROBE_PTX)
		out->ptx = &code->u.ptx.kernels[i];
	else if (code->probe == MPK_PROBE_CUBIN)
		out->cubin = &code->u.cubin.kernels[i];
	else if (code->probe == MPK_PROBE_SPIRV)
		out->spirv = &code->u.spirv.entries[i];
	else
		out->source = &code->u.source.kernels[i];
	return true;
}

static const struct mpk_inside_piece *piece_of(const struct mpk_inside *inside, size_t index)
{
	size_t i = inside->piece_of[index];

	return i == SIZE_MAX ? NULL : &inside->pieces[i];
}

void mpk_inside_each(const struct mpk_inside *inside, const struct mpk_kernels *table, size_t index,
		     void (*fn)(const struct mpk_inside_kernel *k, void *arg), void *arg)
{
	const struct mpk_inside_piece *piece = piece_of(inside, index);
	struct mpk_span name = table->functions[index].key;
	struct mpk_inside_kernel k;

	if (!piece)
		return;
	if (mpk_inside_find(&piece->code, name, &k))
		fn(&k, arg);
	for (size_t i = 0; piece->code.images && i < piece->code.u.fatbin.entry_count; i++)
		if (mpk_inside_find(&piece->code.images[i], name, &k))
			fn(&k, arg);
}

/* As mpk_probe_find, but by search where the code has lists. */
enum mpk_probe_kernel mpk_inside_defines(const struct mpk_inside_piece *piece, struct mpk_span name)
{
	const struct mpk_inside_code *c = &piece->code;

	if (!name.len)
		return MPK_PROBE_POSSIBLE;
	if (mpk_inside_has(&c->names, name))
		return MPK_PROBE_DEFINED;
	for (size_t i = 0; c->images && i < c->u.fatbin.entry_count; i++)
		if (mpk_inside_has(&c->images[i].names, name))
			return MPK_PROBE_DEFINED;
	if (mpk_inside_has(&piece->functions, name))
		return MPK_PROBE_FUNCTION;
	return piece->defined.complete ? MPK_PROBE_MISSING : mpk_probe_find(&piece->defined, name);
}

enum mpk_probe_kernel mpk_inside_state(const struct mpk_inside *inside,
				       const struct mpk_kernels *table, size_t index)
{
	const struct mpk_inside_piece *piece = piece_of(inside, index);

	return piece ? mpk_inside_defines(piece, table->functions[index].key) : MPK_PROBE_MISSING;
}
