/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - what of a file counts, and its digests
 *
 * Each thing has a row; the file's digest is that of all rows. So two files have one digest if and only if they have
 * the same rows, and what differs between them are rows. */
#include "digest/internal/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "canon/hash.h"
#include "model/device_code.h"
#include "model/kernel_list.h"
#include "model/node_info.h"

enum { DIGEST = MPK_DIGEST_BYTES };

static void rows_fini(struct mpk_digest_rows *r)
{
	free(r->items);
}

enum mpk_code mpk_digest_rows_add(struct mpk_digest_rows *r, const struct mpk_code_digest *row)
{
	MPK_TRY_ALLOC(mpk_vec_reserve(&r->items, &r->cap, r->count + 1, sizeof *r->items), r->err);
	r->items[r->count++] = *row;
	return MPK_OK;
}

/* --- code --------------------------------------------------------------------------------------- */

static const char *word_of(enum mpk_canon_what what)
{
	static const char *const words[] = { [MPK_CANON_KERNEL] = "kernel",
					     [MPK_CANON_IMAGE] = "image",
					     [MPK_CANON_CODE] = "code" };

	return words[what];
}

/* @key     of the one kernel of its module that the code is for; NULL: it is for all of them */
static enum mpk_code digest_add_code(struct mpk_digest_rows *r, const char *path,
				     const struct mpk_code_info *code, const struct mpk_span *key)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_canon_rows rows;

	MPK_TRY(mpk_canon_code(code, &scratch, &rows, r->err));
	for (size_t i = 0; i < rows.count; i++) {
		const struct mpk_canon_row *c = &rows.items[i];
		struct mpk_code_digest row = {
			.path = path,
			.what = word_of(c->what),
			.name = mpk_span_of(mpk_arena_text(r->arena, c->name), c->name.len),
			.target = mpk_arena_text(r->arena, mpk_span_str(c->target)),
		};

		MPK_TRY_ALLOC(row.name.data && row.target, r->err);
		memcpy(row.digest, c->digest, DIGEST);
		if (key) {
			struct mpk_canon_hash h;

			mpk_canon_begin(&h, "piece");
			mpk_canon_bytes(&h, *key);
			mpk_canon_bytes(&h, mpk_span_of(c->digest, DIGEST));
			MPK_TRY(mpk_canon_end(&h, row.digest, r->err));
		}
		MPK_TRY(mpk_digest_rows_add(r, &row));
	}
	return MPK_OK;
}

/* --- modules --------------------------------------------------------------------------------------- */

/* The table of kernels, by which host code launches them. */
static void put_table(struct mpk_canon_hash *h, const struct mpk_kernels *k)
{
	mpk_canon_u64(h, k->layout);
	mpk_canon_bytes(h, k->fmt);
	mpk_canon_u64(h, k->function_count);
	for (size_t i = 0; i < k->function_count; i++) {
		const struct mpk_function_info *fn = &k->functions[i];

		mpk_canon_bytes(h, fn->key);
		mpk_canon_bytes(h, fn->name);
		mpk_canon_u64(h, fn->arg_count);
		for (size_t a = 0; a < fn->arg_count; a++) {
			mpk_canon_u64(h, fn->arg_types[a].code);
			mpk_canon_u64(h, fn->arg_types[a].bits);
			mpk_canon_u64(h, fn->arg_types[a].lanes);
		}
		mpk_canon_u64(h, fn->launch_tag_count);
		for (size_t t = 0; t < fn->launch_tag_count; t++)
			mpk_canon_bytes(h, fn->launch_tags[t]);
		mpk_canon_u64(h, fn->extra_tag_count);
		for (size_t t = 0; t < fn->extra_tag_count; t++)
			mpk_canon_u64(h, (uint64_t)fn->extra_tags[t]);
	}
	mpk_canon_u64(h, k->source_count);
	for (size_t i = 0; i < k->source_count; i++) {
		mpk_canon_bytes(h, k->sources[i].key);
		mpk_canon_u64(h, k->sources[i].flag);
	}
}

/* A module is its kind, how many modules it imports, and its payload; of a device module the table, as its code has
 * rows of its own. */
static enum mpk_code digest_add_node(struct mpk_digest_rows *r, size_t index)
{
	const struct mpk_view_node *n = &r->view->nodes[index];
	const struct mpk_kernels *table = mpk_view_kernels(n);
	struct mpk_code_digest row = {
		.path = n->path, .what = "module", .name = n->node->kind, .target = ""
	};
	const struct mpk_node_info *info;
	struct mpk_canon_hash h;

	MPK_TRY(mpk_view_info(r->view, index, &info, r->err));
	mpk_canon_begin(&h, "module");
	mpk_canon_bytes(&h, n->node->kind);
	mpk_canon_u64(&h, n->node->child_count);
	if (table)
		put_table(&h, table);
	else
		mpk_canon_bytes(&h, n->node->payload);
	MPK_TRY(mpk_canon_end(&h, row.digest, r->err));
	MPK_TRY(mpk_digest_rows_add(r, &row));
	for (size_t i = 0; table && i < info->piece_count; i++)
		MPK_TRY(digest_add_code(r, n->path, &info->pieces[i].code, info->pieces[i].key));
	return MPK_OK;
}

static enum mpk_code digest_add_container(const struct mpk_view_code *c, void *arg,
					  struct mpk_error *err)
{
	(void)err;
	return digest_add_code(arg, MPK_DEVICE_PATH, &c->code, NULL);
}

/* --- all of it ------------------------------------------------------------------------------------- */

/* In a library's GPU code there are rows that are equal but for their digest: objects have templates in common. */
static int by_all(const void *a, const void *b)
{
	const struct mpk_code_digest *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	order = order ? order : strcmp(x->what, y->what);
	order = order ? order : strcmp(x->target, y->target);
	order = order ? order : mpk_span_compare(x->name, y->name);
	return order ? order : memcmp(x->digest, y->digest, DIGEST);
}

static enum mpk_code sum_up(struct mpk_digest_rows *r, uint8_t out[DIGEST])
{
	struct mpk_canon_hash h;

	mpk_canon_begin(&h, MPK_CANON_NAME);
	for (size_t i = 0; i < r->count; i++) {
		const struct mpk_code_digest *row = &r->items[i];

		mpk_canon_bytes(&h, mpk_span_str(row->path));
		mpk_canon_bytes(&h, mpk_span_str(row->what));
		mpk_canon_bytes(&h, mpk_span_str(row->target));
		mpk_canon_bytes(&h, row->name);
		mpk_canon_bytes(&h, mpk_span_of(row->digest, DIGEST));
	}
	return mpk_canon_end(&h, out, r->err);
}

enum mpk_code mpk_code_digests_read(const struct mpk_view *view, struct mpk_arena *arena,
				    struct mpk_code_digests *out, struct mpk_error *err)
{
	MPK_CLEANUP(rows_fini)
	struct mpk_digest_rows r = { .view = view, .arena = arena, .err = err };
	struct mpk_code_digests digests = { .name = view->name };

	for (size_t i = 0; i < view->count; i++)
		MPK_TRY(digest_add_node(&r, i));
	for (size_t i = 0; i < view->image->embedded_count; i++)
		MPK_TRY(digest_add_code(&r, view->embedded[i].path, &view->embedded[i].code, NULL));
	MPK_TRY(mpk_device_each(view, digest_add_container, &r, err));
	MPK_TRY(mpk_digest_rows_host(&r));
	if (r.count)
		qsort(r.items, r.count, sizeof *r.items, by_all);
	MPK_TRY(sum_up(&r, digests.digest));
	digests.items = mpk_arena_keep(arena, r.items, r.count, sizeof *r.items);
	MPK_TRY_ALLOC(digests.items, err);
	digests.count = r.count;
	*out = digests;
	return MPK_OK;
}
