/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - selects the content of a file that counts, and computes its digests
 *
 * Each thing has a row, and the file's digest covers all rows. So two files have the same digest if
 * and only if they have the same rows, and differing rows show what differs. */
#include "digest/digest.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "canon/hash.h"
#include "compare/compare.h"
#include "elf/instructions.h"
#include "model/device_code.h"
#include "model/kernel_list.h"
#include "model/node_info.h"

enum { DIGEST = MPK_DIGEST_BYTES };

/* The rows of a file while they are collected. */
struct digest_rows {
	const struct mpk_view *view;
	struct mpk_arena *arena;
	struct mpk_code_digest *items; /* malloc'ed */
	size_t count, cap;
	struct mpk_error *err;
};

static void rows_fini(struct digest_rows *r)
{
	free(r->items);
}

/* Adds a row; fails only with MPK_E_NOMEM. */
static enum mpk_code digest_rows_add(struct digest_rows *r, const struct mpk_code_digest *row)
{
	MPK_TRY_ALLOC(MPK_VEC_ROOM(r->items, r->count, r->cap), r->err);
	r->items[r->count++] = *row;
	return MPK_OK;
}

/* --- code --------------------------------------------------------------------------------------- */

/* --- functions that TVM calls, and what they share -------------------------------------------- */

/* If TVM calls no function of a library, only its GPU code counts, not its host code. Host code
 * that cannot be split into functions counts by the bytes of the file. Then two builds may differ
 * although their code is the same, but different code never counts as the same. */

enum { DATA_FACTOR = 16, DATA_BASE = 1 << 24 };

static enum mpk_code add_function(struct digest_rows *r, const char *what, const char *name,
				  struct mpk_canon_hash *h)
{
	struct mpk_code_digest row = {
		.path = "", .what = what, .name = mpk_span_str(name), .target = ""
	};

	MPK_TRY(mpk_canon_end(h, row.digest, r->err));
	return digest_rows_add(r, &row);
}

/* Host code that cannot be split: an object, a file of another system, or a file whose functions
 * overlap. */
static enum mpk_code digest_host_add_bytes(struct digest_rows *r)
{
	struct mpk_canon_hash h;

	mpk_canon_begin(&h, "host code");
	mpk_canon_raw(&h, r->view->image->bytes);
	return add_function(r, "host code", "", &h);
}

/* All functions by symbol, with a mark on those exported to TVM. */
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

static enum mpk_code open_functions(struct digest_rows *r, struct functions *f)
{
	MPK_TRY(mpk_host_code_open(r->view->image, r->arena, &f->code, r->err));
	/* referenced data is hashed for each place that refers to it */
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

/* --- host functions: where they and what they refer to lie does not count ---------------------- */

/* As in compare/host_code.c, no x86 instruction is decoded. Four bytes count as a distance if the
 * bytes before them allow it and they lead out of the function to a known target. */

enum { SEGMENTS_MAX = 64 }; /* limit for files that a linker made */

static bool is_inside(const struct mpk_host_function *f, uint64_t address)
{
	return address - f->address < f->code.len;
}

/* The pages that registers hold while a function is read from beginning to end. */
struct pages {
	uint64_t x[32];
	uint32_t known;
};

/* Handles the distance after call, jmp, jcc, or after a RIP-relative ModRM byte, whose instruction
 * may end with an immediate. */
static bool put_distance(struct mpk_host_code *h, const struct mpk_host_function *f, size_t i,
			 struct mpk_canon_hash *out)
{
	static const uint8_t immediates[] = { 0, 1, 2, 4 };
	const uint8_t *p = f->code.data + i;
	bool branch = p[-1] == 0xe8 || p[-1] == 0xe9 ||
		      (i > 1 && p[-2] == 0x0f && (p[-1] & 0xf0) == 0x80);
	uint64_t distance = (uint64_t)(int64_t)(int32_t)mpk_load_u32(p);

	if (!branch && (p[-1] & 0xc7) != 0x05)
		return false;
	for (size_t k = 0; k < (branch ? 1 : sizeof immediates); k++) {
		uint64_t to = f->address + i + 4 + immediates[k] + distance;

		if (!is_inside(f, to) && mpk_host_put_target(h, to, true, out))
			return true;
	}
	return false;
}

static void put_x86_64(struct mpk_host_code *h, const struct mpk_host_function *f,
		       struct mpk_canon_hash *out)
{
	size_t kept = 0;

	for (size_t i = 1; i + 4 <= f->code.len; i++) {
		if (!put_distance(h, f, i, out))
			continue;
		mpk_canon_bytes(out, mpk_span_of(f->code.data + kept, i - kept));
		kept = i + 4;
		i = kept;
	}
	mpk_canon_bytes(out, mpk_span_from(f->code, kept));
}

/* Hashes an add, a load or a store relative to a page: the instruction without the low part of the
 * address. */
static bool put_use(struct mpk_host_code *h, const struct pages *p, uint32_t word,
		    struct mpk_canon_hash *out)
{
	enum { LOW = 0xfff << 10 };
	unsigned reg = mpk_aarch64_rn(word);
	uint64_t low;

	if (!(p->known >> reg & 1) ||
	    !(mpk_aarch64_add(word, &low) || mpk_aarch64_access(word, &low)) ||
	    !mpk_host_put_target(h, p->x[reg] + low, true, out))
		return false;
	mpk_canon_u64(out, word & ~(uint32_t)LOW);
	return true;
}

static bool put_branch(struct mpk_host_code *h, const struct mpk_host_function *f, uint64_t at,
		       uint32_t word, struct mpk_canon_hash *out)
{
	enum { DISTANCE = 0x3ffffff };
	uint64_t to;

	if (!mpk_aarch64_branch(word, at, &to) || is_inside(f, to) ||
	    !mpk_host_put_target(h, to, true, out))
		return false;
	mpk_canon_u64(out, word & ~(uint32_t)DISTANCE);
	return true;
}

/* An adr instruction can replace adrp and add, so it counts only by its address. */
static bool put_adr(struct mpk_host_code *h, const struct mpk_host_function *f, uint64_t at,
		    uint32_t word, struct mpk_canon_hash *out)
{
	uint64_t to;

	if (!mpk_aarch64_adr(word, at, &to) || is_inside(f, to) ||
	    !mpk_host_put_target(h, to, true, out))
		return false;
	mpk_canon_u64(out, mpk_aarch64_rd(word));
	return true;
}

static void put_aarch64(struct mpk_host_code *h, const struct mpk_host_function *f,
			struct mpk_canon_hash *out)
{
	struct pages pages = { 0 };

	for (size_t i = 0; i + 4 <= f->code.len; i += 4) {
		uint32_t word = mpk_load_u32(f->code.data + i);
		uint64_t at = f->address + i, page;
		unsigned reg = mpk_aarch64_rd(word);

		if (mpk_aarch64_adrp(word, at, &page) && reg != MPK_AARCH64_XZR) {
			pages.x[reg] = page;
			pages.known |= (uint32_t)1 << reg;
			mpk_canon_u64(out, reg);
			continue;
		}
		if (!put_use(h, &pages, word, out) && !put_branch(h, f, at, word, out) &&
		    !put_adr(h, f, at, word, out))
			mpk_canon_u64(out, word);
		if (mpk_aarch64_written(word) != MPK_AARCH64_XZR)
			pages.known &= ~((uint32_t)1 << mpk_aarch64_written(word));
	}
}

/* host_hash - add a function's code to a digest, with the targets of distances instead of the
 * distances. Two files get the same digest if mpk_host_same_code says that their functions are the
 * same, except for rare bytes that only look like a distance. Works for x86-64 and AArch64; other
 * code is hashed as bytes.
 * Returns  MPK_OK; MPK_E_CORRUPT: functions overlap so much that their sum far exceeds the file */
static enum mpk_code host_hash(struct mpk_host_code *h, const struct mpk_host_function *f,
			       struct mpk_canon_hash *out, struct mpk_error *err)
{
	uint16_t machine = h->elf.header.e_machine;
	bool is_linked = h->elf.header.e_type != ET_REL && h->elf.segment_count <= SEGMENTS_MAX;

	if (f->code.len > h->bytes_left)
		return mpk_fail(err, MPK_E_CORRUPT, "functions overlap");
	h->bytes_left -= f->code.len;
	mpk_canon_u64(out, f->code.len);
	if (is_linked && machine == EM_X86_64)
		put_x86_64(h, f, out);
	else if (is_linked && machine == EM_AARCH64 && f->code.len % 4 == 0)
		put_aarch64(h, f, out);
	else
		mpk_canon_bytes(out, f->code);
	return MPK_OK;
}

/* Adds a function under the name by which TVM calls it. A function without code of its own is an
 * alias of another. */
static enum mpk_code add_exported(struct digest_rows *r, struct functions *f,
				  const struct mpk_image_function *fn)
{
	struct mpk_canon_hash h;
	enum mpk_code code = MPK_OK;
	size_t at;

	mpk_canon_begin(&h, "function");
	mpk_canon_bytes(&h, mpk_span_str(fn->alias_of ? fn->alias_of : ""));
	if (mpk_strmap_find(&f->by_symbol, mpk_span_str(fn->symbol), &at)) {
		f->is_exported[at] = true;
		code = host_hash(&f->code, &f->code.functions[at], &h, r->err);
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

/* Compilers split and clone local functions as they like, so all of them share one row. */
static enum mpk_code add_inner(struct digest_rows *r, struct functions *f)
{
	struct mpk_canon_hash h;

	for (size_t i = 0; i < f->code.count; i++) {
		enum mpk_code code;

		if (f->is_exported[i])
			continue;
		mpk_canon_begin(&h, "inner");
		mpk_canon_symbol(&h, mpk_span_str(f->code.functions[i].symbol));
		code = host_hash(&f->code, &f->code.functions[i], &h, r->err);
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

static enum mpk_code add_functions(struct digest_rows *r)
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

/* Adds the rows of the host code if TVM calls the library
 * Returns  MPK_OK; MPK_E_NOMEM; as mpk_canon_end */
static enum mpk_code digest_rows_host(struct digest_rows *r)
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

static const char *word_of(enum mpk_canon_what what)
{
	static const char *const words[] = { [MPK_CANON_KERNEL] = "kernel",
					     [MPK_CANON_IMAGE] = "image",
					     [MPK_CANON_CODE] = "code" };

	return words[what];
}

/* @key     key of the module's only kernel, to which the code belongs; NULL if the code is for all
 * kernels */
static enum mpk_code digest_add_code(struct digest_rows *r, const char *path,
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
		MPK_TRY(digest_rows_add(r, &row));
	}
	return MPK_OK;
}

/* --- modules --------------------------------------------------------------------------------------- */

/* Hashes the table by which host code launches kernels. */
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

/* Hashes a module: its kind, its number of imports and its payload. For a device module, hash the
 * kernel table instead of the payload, since its code has rows of its own. */
static enum mpk_code digest_add_node(struct digest_rows *r, size_t index)
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
	MPK_TRY(digest_rows_add(r, &row));
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

/* Orders rows by all fields. GPU code has rows that are equal except for their digest: objects
 * share templates. */
static int by_all(const void *a, const void *b)
{
	const struct mpk_code_digest *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	order = order ? order : strcmp(x->what, y->what);
	order = order ? order : strcmp(x->target, y->target);
	order = order ? order : mpk_span_compare(x->name, y->name);
	return order ? order : memcmp(x->digest, y->digest, DIGEST);
}

static enum mpk_code sum_up(struct digest_rows *r, uint8_t out[DIGEST])
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
	struct digest_rows r = { .view = view, .arena = arena, .err = err };
	struct mpk_code_digests digests = { .name = view->name };

	for (size_t i = 0; i < view->count; i++)
		MPK_TRY(digest_add_node(&r, i));
	for (size_t i = 0; i < view->image->embedded_count; i++)
		MPK_TRY(digest_add_code(&r, view->embedded[i].path, &view->embedded[i].code, NULL));
	MPK_TRY(mpk_device_each(view, digest_add_container, &r, err));
	MPK_TRY(digest_rows_host(&r));
	if (r.count)
		qsort(r.items, r.count, sizeof *r.items, by_all);
	MPK_TRY(sum_up(&r, digests.digest));
	digests.items = mpk_arena_keep(arena, r.items, r.count, sizeof *r.items);
	MPK_TRY_ALLOC(digests.items, err);
	digests.count = r.count;
	*out = digests;
	return MPK_OK;
}
