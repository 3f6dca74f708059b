#include "view/inside.h"

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

/* A table of kernels may be long, and so may the code: a search for each must not be. */
static enum mpk_code sort_names(struct mpk_inside_code *c, struct mpk_arena *arena,
				struct mpk_error *err)
{
	size_t count = c->problem ? 0 : kernel_count(c);
	struct mpk_inside_name *names = mpk_arena_array(arena, count, sizeof *names);

	if (!names)
		return mpk_fail_nomem(err);
	for (size_t i = 0; i < count; i++)
		names[i] = (struct mpk_inside_name){ kernel_name(c, i), i };
	qsort(names, count, sizeof *names, by_name);
	c->names = names;
	c->name_count = count;
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
	return sort_names(c, arena, err);
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
	return MPK_OK;
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
	return MPK_OK;
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
	piece->code.off = n->node->payload_off +
			  (uint64_t)(data->str.data - n->node->payload.data);
	MPK_TRY(read_piece(piece, MPK_PROBE_UNKNOWN, arena, err));
	out->pieces = piece;
	out->piece_count = 1;
	return MPK_OK;
}

/* The bytes of one entry; what no memory can hold counts as the most there is. */
static uint64_t entry_bytes(const struct mpk_graph_entry *e)
{
	uint64_t bytes = mpk_dtype_bytes(e->dtype);

	for (size_t i = 0; i < e->ndim; i++)
		if (!mpk_mul_u64(bytes, (uint64_t)e->shape[i], &bytes))
			return UINT64_MAX;
	return bytes;
}

struct storage {
	int64_t id;
	uint64_t bytes;
};

static int by_storage(const void *left, const void *right)
{
	const struct storage *a = left, *b = right;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

/* Entries with one storage id share memory, as much as the largest needs. */
static enum mpk_code sum_storage(const struct mpk_graph_json *graph, struct mpk_inside *out,
				 struct mpk_error *err)
{
	struct storage *list = calloc(graph->entry_count + 1, sizeof *list);
	uint64_t total = 0;
	size_t n = 0;

	if (!list)
		return mpk_fail_nomem(err);
	for (size_t i = 0; i < graph->entry_count; i++)
		list[i] = (struct storage){ graph->entries[i].storage_id,
					    entry_bytes(&graph->entries[i]) };
	qsort(list, graph->entry_count, sizeof *list, by_storage);
	for (size_t i = 0; i < graph->entry_count; i++) {
		if (i && list[i].id == list[i - 1].id)
			continue;
		if (!mpk_add_u64(total, list[i].bytes, &total))
			total = UINT64_MAX;
		n++;
	}
	free(list);
	out->storage_bytes = total;
	out->storage_count = n;
	return MPK_OK;
}

static enum mpk_code read_graph(const struct mpk_factory *f, struct mpk_arena *arena,
				struct mpk_inside *out, struct mpk_error *err)
{
	struct mpk_graph_json *graph = mpk_arena_alloc(arena, sizeof *graph);
	enum mpk_code code;

	if (!graph)
		return mpk_fail_nomem(err);
	code = mpk_graph_json_read(f->graph_json, arena, graph, NULL);
	if (code == MPK_E_NOMEM)
		return mpk_fail_nomem(err);
	if (code != MPK_OK) /* the node's problem says why */
		return MPK_OK;
	out->graph = graph;
	return sum_storage(graph, out, err);
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
		MPK_TRY(read_graph(&node->payload.u.factory, arena, &inside, err));
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

enum mpk_code mpk_view_look_inside(struct mpk_view *view, bool tensors,
				   struct mpk_arena *arena, struct mpk_error *err)
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

bool mpk_inside_find(const struct mpk_inside_code *code, struct mpk_span name,
		     struct mpk_inside_kernel *out)
{
	const struct mpk_inside_name wanted = { name, 0 };
	size_t low = 0, high = code->name_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_name(&code->names[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == code->name_count || !mpk_span_equal(code->names[low].name, name))
		return false;

	size_t i = code->names[low].index;

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

void mpk_inside_each(const struct mpk_inside *inside, const struct mpk_kernels *table,
		     size_t index, void (*fn)(const struct mpk_inside_kernel *k, void *arg),
		     void *arg)
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

enum mpk_probe_kernel mpk_inside_state(const struct mpk_inside *inside,
				       const struct mpk_kernels *table, size_t index)
{
	const struct mpk_inside_piece *piece = piece_of(inside, index);
	struct mpk_span name = table->functions[index].key;
	struct mpk_inside_kernel k;

	if (!piece)
		return MPK_PROBE_MISSING;
	if (!name.len)
		return MPK_PROBE_POSSIBLE;
	if (mpk_inside_find(&piece->code, name, &k))
		return MPK_PROBE_DEFINED;
	return mpk_probe_find(&piece->defined, name);
}

uint64_t mpk_inside_shared(const struct mpk_ptx *ptx, size_t kernel, bool *dynamic)
{
	uint64_t bytes = 0;

	*dynamic = false;
	for (size_t i = 0; i < ptx->shared_count; i++) {
		if (ptx->shared[i].kernel != kernel)
			continue;
		*dynamic |= ptx->shared[i].dynamic;
		if (!mpk_add_u64(bytes, ptx->shared[i].bytes, &bytes))
			bytes = UINT64_MAX;
	}
	return bytes;
}
