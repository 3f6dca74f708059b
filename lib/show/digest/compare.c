/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - compares two files by their digests: which kernels, images and modules have different
 * code
 *
 * The rows of both files have the same order. Rows that both files have are skipped. Of the others,
 * two rows with the same name, one from each file, are a change; the rest were removed or added. */
#include "digest/digest.h"

#include <stdlib.h>
#include <string.h>

#include "text/escape.h"
#include "text/facts.h"

/* Orders rows by everything except the digest. */
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

/* Counts the rows of sorted run a that sorted run b lacks. */
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

static enum mpk_code compare_lists(const struct mpk_code_digests *a,
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

enum mpk_code mpk_code_digests_compare(const struct mpk_view *a, const struct mpk_view *b,
				       struct mpk_arena *arena, struct mpk_diff *out,
				       struct mpk_error *err)
{
	struct mpk_code_digests *both = mpk_arena_alloc(arena, 2 * sizeof *both);

	MPK_TRY_ALLOC(both, err);
	MPK_TRY(mpk_code_digests_read(a, a->arena, &both[0], err));
	MPK_TRY(mpk_code_digests_read(b, arena, &both[1], err));
	return compare_lists(&both[0], &both[1], arena, out, err);
}

/* --- as sha256sum prints them, and as JSON ---------------------------------------------------- */

static void put_digest(struct mpk_strbuf *out, const uint8_t digest[MPK_DIGEST_BYTES])
{
	char text[MPK_DIGEST_TEXT];

	mpk_strbuf_puts(out, mpk_digest_print(digest, MPK_DIGEST_BYTES, text));
}

/* "HEX  code-digest-1  lib.so" */
static void digest_line(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_code_digests *d = what;

	(void)style;
	put_digest(out, d->digest);
	mpk_strbuf_puts(out, "  " MPK_CANON_NAME "  ");
	mpk_escape(out, mpk_span_str(d->name));
	mpk_strbuf_putc(out, '\n');
}

/* "HEX  /1 kernel add (sm_90)" */
static void digest_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_code_digests *d = what;

	digest_line(what, style, out);
	for (size_t i = 0; i < d->count; i++) {
		const struct mpk_code_digest *row = &d->items[i];

		put_digest(out, row->digest);
		mpk_strbuf_printf(out, "  %s%s%s", row->path, row->path[0] ? " " : "", row->what);
		if (row->name.len) {
			mpk_strbuf_putc(out, ' ');
			mpk_escape(out, row->name);
		}
		if (row->target[0])
			mpk_strbuf_printf(out, " (%s)", row->target);
		mpk_strbuf_putc(out, '\n');
		mpk_strbuf_pass(out);
	}
}

static const struct mpk_fact code_digest_facts[] = {
	{ MPK_FACT(NAME_OR_NULL, "path", struct mpk_code_digest, path,
		   "tree path; gpu: GPU code of any library; null: the library itself") },
	{ MPK_FACT(TEXT, "what", struct mpk_code_digest, what) },
	{ MPK_FACT(SPAN_OR_NULL, "name", struct mpk_code_digest, name,
		   "without what a compiler put into it to make it unique") },
	{ MPK_FACT(NAME_OR_NULL, "target", struct mpk_code_digest, target,
		   "the device that code is for") },
	{ MPK_FACT(SHA256, "digest", struct mpk_code_digest, digest) },
};

static void digest_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_code_digests *d = what;
	char text[MPK_DIGEST_TEXT];

	mpk_json_text(j, at, "file", d->name);
	mpk_json_text(j, at, "algorithm", MPK_CANON_NAME);
	mpk_json_text(j, at, "digest", mpk_digest_print(d->digest, MPK_DIGEST_BYTES, text));
	mpk_facts_json_list(MPK_FACTS(code_digest_facts), "parts", d->items, d->count,
			    sizeof *d->items, j, at);
}

const struct mpk_answer mpk_answer_code_digest = { .text = digest_text,
						   .line = digest_line,
						   .json = digest_json };
