/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - two files by their digests: which kernels, images and modules are other code
 *
 * Rows of both are in one order. Those that both files have are passed over; of what is left, a row of each file with
 * one name is a change, and any other came or went. */
#include "digest/digest.h"

#include <stdlib.h>
#include <string.h>

/* By what it is, without the digest. */
static int by_thing(const struct mpk_code_digest *x, const struct mpk_code_digest *y)
{
	int order = strcmp(x->path, y->path);

	order = order ? order : strcmp(x->what, y->what);
	order = order ? order : strcmp(x->target, y->target);
	return order ? order : mpk_span_compare(x->name, y->name);
}

static size_t run_length(const struct mpk_code_digests *d, size_t at)
{
	size_t n = 1;

	while (at + n < d->count && by_thing(&d->items[at], &d->items[at + n]) == 0)
		n++;
	return n;
}

/* Of two sorted runs of one thing: how many of a are not among b. */
static size_t count_missing(const struct mpk_code_digest *a, size_t a_count,
			    const struct mpk_code_digest *b, size_t b_count)
{
	size_t missing = 0, k = 0;

	for (size_t i = 0; i < a_count; i++) {
		int order = 1;

		while (k < b_count &&
		       (order = memcmp(b[k].digest, a[i].digest, sizeof a[i].digest)) < 0)
			k++;
		if (k < b_count && order == 0)
			k++;
		else
			missing++;
	}
	return missing;
}

static void add(struct mpk_differ *d, enum mpk_diff_sign sign, const struct mpk_code_digest *row,
		size_t count)
{
	const char *text = count > 1 ? mpk_arena_printf(d->arena, "%zu of them", count) : "";
	struct mpk_difference *item;

	d->path = row->path;
	item = mpk_differ_add(d, sign, row->what, row->name, text);
	if (item)
		item->target = row->target;
}

static void compare_runs(struct mpk_differ *d, const struct mpk_code_digest *a, size_t a_count,
			 const struct mpk_code_digest *b, size_t b_count)
{
	size_t gone = count_missing(a, a_count, b, b_count);
	size_t came = count_missing(b, b_count, a, a_count);
	size_t changed = gone < came ? gone : came;

	if (changed)
		add(d, MPK_DIFF_CHANGED, b, changed);
	if (gone > changed)
		add(d, MPK_DIFF_REMOVED, a, gone - changed);
	if (came > changed)
		add(d, MPK_DIFF_ADDED, b, came - changed);
}

static void diff_free(struct mpk_diff *diff)
{
	free(diff->items);
}

enum mpk_code mpk_code_digests_compare(const struct mpk_code_digests *a,
				       const struct mpk_code_digests *b, struct mpk_arena *arena,
				       struct mpk_diff *out, struct mpk_error *err)
{
	MPK_CLEANUP(diff_free)
	struct mpk_diff diff = { .older = { .name = a->name, .code_digest = a->digest },
				 .newer = { .name = b->name, .code_digest = b->digest } };
	struct mpk_differ d = { .diff = &diff, .arena = arena, .path = "", .new_path = "" };
	size_t i = 0, k = 0;

	while (i < a->count || k < b->count) {
		int order = i == a->count   ? 1
			    : k == b->count ? -1
					    : by_thing(&a->items[i], &b->items[k]);
		size_t n = order <= 0 ? run_length(a, i) : 0;
		size_t m = order >= 0 ? run_length(b, k) : 0;

		compare_runs(&d, a->items + i, n, b->items + k, m);
		i += n;
		k += m;
	}
	*out = diff;
	out->items = mpk_arena_keep(arena, diff.items, diff.count, sizeof *diff.items);
	return diff.failed || !out->items ? mpk_fail_nomem(err) : MPK_OK;
}
