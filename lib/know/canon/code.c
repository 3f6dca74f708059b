/* SPDX-License-Identifier: Apache-2.0 */
/* code.c - the digests of any run of code, with those of the images in it, and of SPIR-V, the simplest format */
#include "canon/internal/canon.h"

#include <string.h>

#include "base/cursor.h"

/* --- SPIR-V: instructions without those that only describe (FORMAT.md 6) ---------------------- */

/* Which functions an entry point reaches is not looked at: an entry point is the module and its name. Results keep
 * their numbers, as only the grammar of each instruction tells which of its words are such. */
enum {
	HEADER_WORDS = 5, /* magic, version, generator, bound, schema */
	VERSION = 1,
	SCHEMA = 4,
	/* OpSourceContinued, OpSource, OpSourceExtension, OpName, OpMemberName, OpString, OpLine */
	FIRST_DEBUG = 2,
	LAST_DEBUG = 8,
	NO_LINE = 317,
	MODULE_PROCESSED = 330,
};

static bool is_noise(uint32_t op)
{
	return (op >= FIRST_DEBUG && op <= LAST_DEBUG) || op == NO_LINE || op == MODULE_PROCESSED;
}

static enum mpk_code hash_module(struct mpk_span s, struct mpk_canon_hash *h, struct mpk_error *err)
{
	struct mpk_span op;

	if (s.len < 4 * HEADER_WORDS || s.len % 4)
		return mpk_fail(err, MPK_E_CORRUPT, "SPIR-V: cut off");
	mpk_canon_raw(h, mpk_span_of(s.data + 4 * VERSION, 4));
	mpk_canon_raw(h, mpk_span_of(s.data + 4 * SCHEMA, 4));
	for (size_t at = 4 * HEADER_WORDS; at < s.len; at += op.len) {
		uint32_t word = mpk_load_u32(s.data + at);

		if (!(word >> 16) || !mpk_span_sub(s, at, (uint64_t)(word >> 16) * 4, &op))
			return mpk_fail(err, MPK_E_CORRUPT, "SPIR-V: an instruction is cut off");
		if (!is_noise(word & 0xffff))
			mpk_canon_raw(h, op);
	}
	return MPK_OK;
}

/* A module in the other byte order reads as an instruction that is cut off, and is taken by its bytes. */
static enum mpk_code canon_spirv(const struct mpk_code_info *info, struct mpk_arena *arena,
				 struct mpk_canon_row *rows, struct mpk_error *err)
{
	struct mpk_canon_row *image = &rows[info->kernel_count];
	struct mpk_canon_hash h;
	enum mpk_code code;

	(void)arena;
	mpk_canon_begin(&h, "SPIR-V");
	code = hash_module(info->bytes, &h, err);
	if (code != MPK_OK) {
		mpk_canon_hash_fini(&h);
		return code;
	}
	MPK_TRY(mpk_canon_end(&h, image->digest, err));
	for (size_t i = 0; i < info->kernel_count; i++) {
		mpk_canon_begin(&h, "kernel");
		mpk_canon_symbol(&h, info->kernels[i].name);
		mpk_canon_raw(&h, mpk_span_of(image->digest, sizeof image->digest));
		MPK_TRY(mpk_canon_end(&h, rows[i].digest, err));
	}
	return MPK_OK;
}

static const struct mpk_canon_reader spirv = { &mpk_format_spirv, canon_spirv };
static const struct mpk_canon_reader *const readers[] = { &mpk_canon_cubin, &mpk_canon_ptx,
							  &mpk_canon_amdgpu, &spirv };

struct rows {
	struct mpk_canon_row *items; /* in the arena */
	size_t count;
	struct mpk_arena *arena;
	struct mpk_error *err;
};

/* No more rows than kernels, and one for each image. */
static size_t most_rows(const struct mpk_code_info *info)
{
	size_t n = info->kernel_count + 1;

	for (size_t i = 0; i < info->image_count; i++)
		n += most_rows(&info->images[i]);
	return n;
}

static const char *canon_code_target_of(const struct mpk_code_info *info, struct mpk_arena *arena)
{
	const char *target = info->problem || !info->format ? "" : info->target;

	/* PTX is for an architecture and all after it */
	if (info->format == &mpk_format_ptx && strncmp(target, "sm_", 3) == 0)
		return mpk_arena_printf(arena, "compute_%s", target + 3);
	return mpk_arena_printf(arena, "%s", target);
}

/* Code by its bytes: a source's text, LLVM bitcode. Kernels of a source are the text and their name. */
static enum mpk_code canon_code_read_bytes(struct rows *r, const struct mpk_code_info *info,
					   struct mpk_canon_row *rows, size_t kernels)
{
	struct mpk_canon_row *all = &rows[kernels];
	struct mpk_canon_hash h;

	mpk_canon_begin(&h, "code");
	mpk_canon_raw(&h, info->bytes);
	MPK_TRY(mpk_canon_end(&h, all->digest, r->err));
	all->what = MPK_CANON_CODE;
	for (size_t i = 0; i < kernels; i++) {
		mpk_canon_begin(&h, "kernel");
		mpk_canon_symbol(&h, info->kernels[i].name);
		mpk_canon_raw(&h, mpk_span_of(all->digest, sizeof all->digest));
		MPK_TRY(mpk_canon_end(&h, rows[i].digest, r->err));
	}
	return MPK_OK;
}

static enum mpk_code name_rows(struct rows *r, const struct mpk_code_info *info,
			       struct mpk_canon_row *rows, size_t kernels)
{
	const char *target = canon_code_target_of(info, r->arena);

	MPK_TRY_ALLOC(target, r->err);
	for (size_t i = 0; i < kernels; i++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 };
		const char *copy;

		mpk_canon_name(info->kernels[i].name, &name);
		copy = name.failed ? NULL : mpk_arena_copy(r->arena, name.data, name.len);
		MPK_TRY_ALLOC(copy, r->err);
		rows[i].name = mpk_span_of(copy, name.len);
	}
	for (size_t i = 0; i <= kernels; i++)
		rows[i].target = target;
	return MPK_OK;
}

static enum mpk_code add_image(struct rows *r, const struct mpk_code_info *info)
{
	struct mpk_canon_row *rows = &r->items[r->count];
	size_t kernels = info->problem ? 0 : info->kernel_count;
	enum mpk_code code = MPK_E_CORRUPT;

	for (size_t i = 0; !info->problem && i < MPK_ARRAY_COUNT(readers); i++)
		if (info->format == readers[i]->format)
			code = readers[i]->read(info, r->arena, rows, r->err);
	rows[kernels].what = MPK_CANON_IMAGE;
	if (code == MPK_E_CORRUPT || code == MPK_E_SYNTAX || code == MPK_E_UNSUPPORTED)
		code = canon_code_read_bytes(r, info, rows, kernels);
	MPK_TRY(code);
	MPK_TRY(name_rows(r, info, rows, kernels));
	r->count += kernels + 1;
	return MPK_OK;
}

static enum mpk_code canon_code_add_code(struct rows *r, const struct mpk_code_info *info)
{
	if (!info->image_count)
		return info->bytes.len ? add_image(r, info) : MPK_OK;
	for (size_t i = 0; i < info->image_count; i++)
		MPK_TRY(canon_code_add_code(r, &info->images[i]));
	return MPK_OK;
}

enum mpk_code mpk_canon_code(const struct mpk_code_info *info, struct mpk_arena *arena,
			     struct mpk_canon_rows *out, struct mpk_error *err)
{
	struct rows r = { .arena = arena, .err = err };

	r.items = mpk_arena_array(arena, most_rows(info), sizeof *r.items);
	MPK_TRY_ALLOC(r.items, err);
	MPK_TRY(canon_code_add_code(&r, info));
	*out = (struct mpk_canon_rows){ r.items, r.count };
	return MPK_OK;
}
