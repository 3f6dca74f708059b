/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - digests of the functions that TVM calls, and of those that they share
 *
 * A library that TVM calls nothing of is code for GPUs with whatever is around it: its host code does not count. Host
 * code that is not taken apart here counts by the bytes of the file: then each build is other code, which is true of
 * some more than of others, and never wrong the other way. */
#include "digest/internal/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "compare/compare.h"

enum { DIGEST = MPK_DIGEST_BYTES, DATA_FACTOR = 16, DATA_BASE = 1 << 24 };

static enum mpk_code add_function(struct mpk_digest_rows *r, const char *what, const char *name,
				  struct mpk_canon_hash *h)
{
	struct mpk_code_digest row = {
		.path = "", .what = what, .name = mpk_span_str(name), .target = ""
	};

	MPK_TRY(mpk_canon_end(h, row.digest, r->err));
	return mpk_digest_rows_add(r, &row);
}

/* Not taken apart: an object, a file of another system, or one whose functions overlap. */
static enum mpk_code digest_host_add_bytes(struct mpk_digest_rows *r)
{
	struct mpk_canon_hash h;

	mpk_canon_begin(&h, "host code");
	mpk_canon_raw(&h, r->view->image->bytes);
	return add_function(r, "host code", "", &h);
}

/* All functions by symbol, and which of them are exported to TVM. */
struct functions {
	struct mpk_host_code code;
	struct mpk_strmap by_symbol;
	bool *is_exported;
	uint8_t (*inner)[DIGEST];
	size_t inner_count;
};

static void functions_fini(struct functions *f)
{
	mpk_host_code_close(&f->code);
	mpk_strmap_fini(&f->by_symbol);
	free(f->is_exported);
	free(f->inner);
}

static enum mpk_code open_functions(struct mpk_digest_rows *r, struct functions *f)
{
	MPK_TRY(mpk_host_code_open(r->view->image, r->arena, &f->code, r->err));
	/* what code refers to is hashed for each place that does */
	f->code.data_left = DATA_BASE + DATA_FACTOR * (uint64_t)r->view->image->bytes.len;
	f->is_exported = calloc(f->code.count + 1, sizeof *f->is_exported);
	f->inner = calloc(f->code.count + 1, sizeof *f->inner);
	MPK_TRY_ALLOC(f->is_exported && f->inner, r->err);
	for (size_t i = 0; i < f->code.count; i++)
		MPK_TRY_ALLOC(mpk_strmap_put(&f->by_symbol,
					     mpk_span_str(f->code.functions[i].symbol), i,
					     NULL) >= 0,
			      r->err);
	return MPK_OK;
}

/* A function under the name that TVM calls it by. One without code of its own is an alias of another. */
static enum mpk_code add_exported(struct mpk_digest_rows *r, struct functions *f,
				  const struct mpk_image_function *fn)
{
	struct mpk_canon_hash h;
	enum mpk_code code = MPK_OK;
	size_t at;

	mpk_canon_begin(&h, "function");
	mpk_canon_bytes(&h, mpk_span_str(fn->alias_of ? fn->alias_of : ""));
	if (mpk_strmap_find(&f->by_symbol, mpk_span_str(fn->symbol), &at)) {
		f->is_exported[at] = true;
		code = mpk_host_hash(&f->code, &f->code.functions[at], &h, r->err);
	}
	if (code != MPK_OK) {
		mpk_canon_hash_fini(&h);
		return code;
	}
	return add_function(r, "function", fn->name, &h);
}

static int by_digest(const void *a, const void *b)
{
	return memcmp(a, b, DIGEST);
}

/* Compilers split and clone inner functions as they like: all of them are one row. */
static enum mpk_code add_inner(struct mpk_digest_rows *r, struct functions *f)
{
	struct mpk_canon_hash h;

	for (size_t i = 0; i < f->code.count; i++) {
		enum mpk_code code;

		if (f->is_exported[i])
			continue;
		mpk_canon_begin(&h, "inner");
		mpk_canon_symbol(&h, mpk_span_str(f->code.functions[i].symbol));
		code = mpk_host_hash(&f->code, &f->code.functions[i], &h, r->err);
		if (code != MPK_OK) {
			mpk_canon_hash_fini(&h);
			return code;
		}
		MPK_TRY(mpk_canon_end(&h, f->inner[f->inner_count++], r->err));
	}
	if (!f->inner_count)
		return MPK_OK;
	qsort(f->inner, f->inner_count, sizeof *f->inner, by_digest);
	mpk_canon_begin(&h, "inner functions");
	for (size_t i = 0; i < f->inner_count; i++)
		mpk_canon_raw(&h, mpk_span_of(f->inner[i], DIGEST));
	return add_function(r, "inner functions", "", &h);
}

static enum mpk_code add_functions(struct mpk_digest_rows *r)
{
	MPK_CLEANUP(functions_fini) struct functions f = { 0 };
	const struct mpk_image *image = r->view->image;

	MPK_TRY(open_functions(r, &f));
	if (!f.code.count || f.code.elf.header.e_type == ET_REL)
		return digest_host_add_bytes(r);
	for (size_t i = 0; i < image->function_count; i++)
		MPK_TRY(add_exported(r, &f, &image->functions[i]));
	return add_inner(r, &f);
}

enum mpk_code mpk_digest_rows_host(struct mpk_digest_rows *r)
{
	size_t before = r->count;
	enum mpk_code code;

	if (!r->view->image->function_count)
		return MPK_OK;
	code = add_functions(r);
	if (code != MPK_E_CORRUPT)
		return code;
	r->count = before;
	return digest_host_add_bytes(r);
}
