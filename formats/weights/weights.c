/* SPDX-License-Identifier: Apache-2.0 */
/* weights.c - the formats of weights as rows, and the layout of tensors in a file
 *
 * Readers refuse files that cannot be used. Faults of the layout, such as bytes that belong to no
 * tensor, are found by mpk_weights_lay_out, for verification. */
#include "weights/weights.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/num.h"
#include "base/strmap.h"
#include "text/escape.h"

static const struct mpk_weights_format *const formats[] = {
	&mpk_weights_params,      &mpk_weights_npz,          &mpk_weights_gguf,
	&mpk_weights_safetensors, &mpk_weights_tensor_cache, &mpk_weights_safetensors_index,
};

const struct mpk_weights_format *mpk_weights_format_of(struct mpk_span file)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(formats); i++)
		if (formats[i]->is(file))
			return formats[i];
	return NULL;
}

enum mpk_code mpk_weights_read(struct mpk_span file, struct mpk_arena *arena,
			       struct mpk_weights *out, struct mpk_error *err)
{
	const struct mpk_weights_format *format = mpk_weights_format_of(file);
	struct mpk_weights w = { .format = format, .align = 1 };

	if (!format)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "this is no file of weights");
	MPK_TRY(format->read(file, arena, &w, err));

	/* The hash differs in each process, so that no file can make names collide. */
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap names = { 0 };
	size_t first;

	for (size_t i = 0; i < w.count; i++) {
		int put = mpk_strmap_put(&names, w.items[i].name, i, &first);

		MPK_TRY_ALLOC(put >= 0, err);
		if (put == 0)
			return mpk_fail(err, MPK_E_CORRUPT, "two tensors are named '%s'",
					MPK_QUOTE(w.items[i].name));
	}
	*out = w;
	return MPK_OK;
}

/* --- the layout of tensors ------------------------------------------------------------------ */

static int by_place(const void *a, const void *b)
{
	const struct mpk_weight *x = *(const struct mpk_weight *const *)a;
	const struct mpk_weight *y = *(const struct mpk_weight *const *)b;

	if (x->shard != y->shard)
		return x->shard < y->shard ? -1 : 1;
	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	if (x->len != y->len)
		return x->len < y->len ? -1 : 1;
	return x < y ? -1 : x > y; /* in the order of the document; qsort does not keep the order of
				    * equal elements */
}

struct layout {
	const struct mpk_weights *w;
	const uint64_t *bytes;
	struct mpk_report *report;
};

static void add_finding(struct layout *l, enum mpk_severity severity, const char *check,
			size_t shard, uint64_t off, struct mpk_error *e)
{
	struct mpk_span name = l->w->shards[shard].name;

	e->at = (struct mpk_where){ .offset = off, .has_offset = true, .space = "file" };
	if (name.len)
		mpk_error_prefix(e, "%s: ", MPK_QUOTE(name));
	mpk_report_add(l->report, severity, check, e);
}

/* @before  the tensor before it in its shard; NULL: it is the first
 * @end     largest end of all tensors before it in its shard */
static void check_place(struct layout *l, const struct mpk_weight *before, uint64_t end,
			const struct mpk_weight *t)
{
	struct mpk_error e;
	uint64_t bytes = l->bytes[t->shard];

	if (t->off > bytes || t->len > bytes - t->off) {
		(void)mpk_fail(&e, MPK_E_CORRUPT,
			       "tensor '%s' ends at %" PRIu64 ", and the file at %" PRIu64,
			       MPK_QUOTE(t->name), t->off + t->len, bytes);
		add_finding(l, MPK_ERROR, "tensor-bounds", t->shard, t->off, &e);
	}
	if (t->len && before && t->off < end) {
		(void)mpk_fail(&e, MPK_E_CORRUPT, "tensor '%s' lies over '%s'", MPK_QUOTE(t->name),
			       MPK_QUOTE(before->name));
		add_finding(l, MPK_ERROR, "tensor-overlap", t->shard, t->off, &e);
	} else if (t->off > end && !l->w->has_headers) {
		uint64_t gap = t->off - end;
		bool fills_up = !l->w->is_gapless && gap < l->w->align;

		(void)mpk_fail(&e, MPK_E_CORRUPT,
			       "%" PRIu64 " bytes before tensor '%s' belong to none", gap,
			       MPK_QUOTE(t->name));
		if (!fills_up)
			add_finding(l, l->w->is_gapless ? MPK_ERROR : MPK_WARNING, "tensor-gap",
				    t->shard, end, &e);
	}
	if (t->off % l->w->align) {
		(void)mpk_fail(&e, MPK_E_CORRUPT, "tensor '%s' is not aligned to %" PRIu64 " bytes",
			       MPK_QUOTE(t->name), l->w->align);
		add_finding(l, MPK_ERROR, "tensor-align", t->shard, t->off, &e);
	}
}

static void check_tail(struct layout *l, size_t shard, uint64_t end)
{
	uint64_t bytes = l->bytes[shard];
	struct mpk_error e;

	if (bytes == UINT64_MAX || bytes <= end || l->w->has_headers)
		return;
	if (!l->w->is_gapless && bytes - end < l->w->align)
		return;
	(void)mpk_fail(&e, MPK_E_CORRUPT, "%" PRIu64 " byte%s after the last tensor", bytes - end,
		       bytes - end == 1 ? "" : "s");
	add_finding(l, l->w->is_gapless ? MPK_ERROR : MPK_WARNING, "tensor-gap", shard, end, &e);
}

enum mpk_code mpk_weights_lay_out(const struct mpk_weights *w, const uint64_t *bytes,
				  struct mpk_report *report, struct mpk_error *err)
{
	const struct mpk_weight **sorted = calloc(w->count + 1, sizeof *sorted);
	struct layout l = { w, bytes, report };
	size_t count = 0;

	MPK_TRY_ALLOC(sorted, err);
	for (size_t i = 0; i < w->count; i++)
		if (w->items[i].coding != MPK_WEIGHT_ELSEWHERE)
			sorted[count++] = &w->items[i];
	qsort(sorted, count, sizeof *sorted, by_place);

	uint64_t end = 0;
	const struct mpk_weight *before = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct mpk_weight *t = sorted[i];

		if (!i || sorted[i - 1]->shard != t->shard) {
			if (i)
				check_tail(&l, sorted[i - 1]->shard, end);
			before = NULL;
			end = l.w->shards[t->shard].data_off;
		}
		check_place(&l, before, end, t);
		if (t->len && t->off + t->len >= end) {
			end = t->off + t->len;
			before = t;
		}
	}
	if (count)
		check_tail(&l, sorted[count - 1]->shard, end);

	free(sorted);
	return report->failed ? mpk_fail_nomem(err) : MPK_OK;
}
