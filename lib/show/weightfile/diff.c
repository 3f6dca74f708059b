/* SPDX-License-Identifier: Apache-2.0 */
/* diff.c - two files of weights, tensor by tensor, by name
 *
 * What differs is a list as that of two libraries, so it prints as theirs does. The formats of the two may differ: a
 * model that was converted is compared with what it was. */
#include "compare/compare.h"
#include "weightfile/weightfile.h"

#include <stdlib.h>

#include "text/table.h"

/* A tensor of one side, with its bytes. */
struct side_tensor {
	struct mpk_span name;
	const struct mpk_weight *weight;
	struct mpk_tensor_record record;
};

static struct mpk_span side_name(const void *item)
{
	return ((const struct side_tensor *)item)->name;
}

/* Blocks have no elements that could be compared: their bytes are. */
static void compare_blocks(struct mpk_differ *d, struct mpk_span name, const struct side_tensor *a,
			   const struct side_tensor *b)
{
	bool is_equal = mpk_span_equal(a->record.data, b->record.data);
	const char *x = a->weight->type ? a->weight->type : "?";
	const char *y = b->weight->type ? b->weight->type : "?";

	if (a->weight->coding != b->weight->coding || strcmp(x, y) != 0)
		(void)mpk_differ_change(d, "tensor", name, "%s -> %s", x, y);
	else if (!is_equal)
		(void)mpk_differ_bytes(d, "tensor", name, a->record.data, b->record.data);
}

static void compare_weights(struct mpk_differ *d, struct mpk_span name, const void *a,
			    const void *b)
{
	const struct side_tensor *x = a, *y = b;

	if (x->weight->coding == MPK_WEIGHT_BLOCKS || y->weight->coding == MPK_WEIGHT_BLOCKS) {
		compare_blocks(d, name, x, y);
		return;
	}
	mpk_differ_tensors(d, name, &x->record, &y->record);
}

static struct side_tensor *side_of(const struct mpk_weightfile *f, struct mpk_arena *arena)
{
	const struct mpk_weights *w = &f->set.weights;
	struct side_tensor *out = mpk_arena_array(arena, w->count + 1, sizeof *out);

	for (size_t i = 0; out && i < w->count; i++) {
		const struct mpk_weight *t = &w->items[i];
		struct mpk_span bytes = { 0 };

		(void)mpk_weight_set_bytes(&f->set, t, &bytes); /* the set was checked */
		out[i] = (struct side_tensor){ .name = t->name,
					       .weight = t,
					       .record = { .dtype = mpk_weight_stored(t),
							   .shape = t->shape,
							   .ndim = t->ndim,
							   .data = bytes } };
	}
	return out;
}

enum mpk_code mpk_weightfile_diff(const struct mpk_weightfile *older,
				  const struct mpk_weightfile *newer, struct mpk_arena *arena,
				  struct mpk_diff *out, struct mpk_error *err)
{
	static const struct mpk_diff_thing tensor = { .what = "tensor",
						      .bytes = sizeof(struct side_tensor),
						      .name = side_name,
						      .compare = compare_weights };
	struct side_tensor *a, *b;
	struct mpk_diff diff = { .older = { .name = older->name, .bytes = older->bytes },
				 .newer = { .name = newer->name, .bytes = newer->bytes } };
	struct mpk_differ d = { &diff, arena, "", "", MPK_DIFF_LINES_MAX, 0 };

	MPK_TRY(mpk_weight_set_check(&older->set, err));
	MPK_TRY(mpk_weight_set_check(&newer->set, err));
	a = side_of(older, arena);
	b = side_of(newer, arena);
	MPK_TRY_ALLOC(a && b, err);
	mpk_differ_match(&d, &tensor, a, older->set.weights.count, b, newer->set.weights.count);
	*out = diff;
	out->items = mpk_arena_keep(arena, diff.items, diff.count, sizeof *diff.items);
	free(diff.items);
	return diff.failed || (diff.count && !out->items) ? mpk_fail_nomem(err) : MPK_OK;
}
