/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_images.c - which architectures PTX, a cubin or a fatbin is for, from headers alone
 *
 * Nothing is unpacked and no kernel is read, so that a listing of a large library is quick and a program that
 * only runs models needs neither LZ4 nor zstd.
 */
#include "code/cuda_images.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"
#include "cubin/cubin.h"
#include "fatbin/fatbin.h"
#include "ptx/ptx.h"

/* --- one image ------------------------------------------------------------------------- */

static enum mpk_code ptx_targets(struct mpk_span bytes, struct mpk_arena *arena,
				 struct mpk_code_target **out, size_t *count, struct mpk_error *err)
{
	struct mpk_code_target *t = mpk_arena_alloc(arena, sizeof *t);
	struct mpk_ptx p;

	MPK_TRY_ALLOC(t, err);
	MPK_TRY(mpk_ptx_read_head(bytes, &p, err));
	*t = (struct mpk_code_target){ .kind = MPK_TARGET_PTX,
				       .sm = p.sm,
				       .suffix = p.suffix,
				       .ptx_major = p.major,
				       .ptx_minor = p.minor,
				       .bytes = bytes.len,
				       .plain_bytes = bytes.len };
	(void)snprintf(t->name, sizeof t->name, "compute_%u%.*s", p.sm, p.suffix ? 1 : 0,
		       &p.suffix);
	*out = t;
	*count = 1;
	return MPK_OK;
}

static enum mpk_code cubin_targets(struct mpk_span bytes, struct mpk_arena *arena,
				   struct mpk_code_target **out, size_t *count,
				   struct mpk_error *err)
{
	struct mpk_code_target *t = mpk_arena_alloc(arena, sizeof *t);
	struct mpk_cubin c;

	MPK_TRY_ALLOC(t, err);
	MPK_TRY(mpk_cubin_read_head(bytes, &c, err));
	*t = (struct mpk_code_target){ .kind = MPK_TARGET_BINARY,
				       .sm = c.sm,
				       .suffix = c.arch_specific ? 'a' : '\0',
				       .abi = c.abi,
				       .what = "cubin",
				       .packing = "stored",
				       .bytes = bytes.len,
				       .plain_bytes = bytes.len,
				       .relocatable = c.relocatable };
	(void)snprintf(t->name, sizeof t->name, "sm_%u%s", c.sm, c.arch_specific ? "a" : "");
	*out = t;
	*count = 1;
	return MPK_OK;
}

/* --- a fatbin -------------------------------------------------------------------------- */

struct target_list {
	struct mpk_code_target *items;
	size_t count, cap;
};

/* What the entries announce: drivers choose by that. */
static enum mpk_code add_target(const struct mpk_fatbin_entry *e, void *arg, struct mpk_error *err)
{
	static const struct {
		enum mpk_code_target_kind kind;
		const char *prefix;
	} rows[] = {
		[MPK_FATBIN_PTX] = { MPK_TARGET_PTX, "compute" },
		[MPK_FATBIN_ELF] = { MPK_TARGET_BINARY, "sm" },
		[MPK_FATBIN_LTO] = { MPK_TARGET_LTO, "lto" },
		[MPK_FATBIN_OTHER] = { MPK_TARGET_OTHER, "other" },
	};
	struct target_list *list = arg;
	struct mpk_code_target *t;

	MPK_TRY_ALLOC(mpk_vec_reserve(&list->items, &list->cap, list->count + 1, sizeof *t), err);
	t = &list->items[list->count++];
	*t = (struct mpk_code_target){ .kind = rows[e->kind].kind,
				       .sm = e->sm,
				       .ptx_major = e->ptx_major,
				       .ptx_minor = e->ptx_minor,
				       .kind_code = e->kind_code,
				       .zstd = e->packing == MPK_FATBIN_ZSTD };
	t->what = mpk_fatbin_kind_name(e->kind);
	t->packing = mpk_fatbin_packing_name(e->packing);
	t->bytes = e->data.len;
	t->plain_bytes = e->plain_bytes;
	t->suffix = e->arch_specific ? 'a' : e->family_specific ? 'f' : '\0';
	(void)snprintf(t->name, sizeof t->name, "%s_%u%s", rows[e->kind].prefix, e->sm,
		       mpk_fatbin_suffix(e));
	return MPK_OK;
}

static enum mpk_code fatbin_targets(struct mpk_span bytes, struct mpk_arena *arena,
				    struct mpk_code_target **out, size_t *count,
				    struct mpk_error *err)
{
	struct target_list list = { 0 };
	enum mpk_code code = mpk_fatbin_head(bytes, add_target, &list, err);

	if (code == MPK_OK) {
		*out = mpk_arena_keep(arena, list.items, list.count, sizeof *list.items);
		*count = list.count;
		code = *out ? MPK_OK : mpk_fail_nomem(err);
	}
	free(list.items);
	return code;
}

/* --- any of the three ------------------------------------------------------------------ */

/* Recognised as the table of formats does it: a text is PTX by its first word. */
enum mpk_code mpk_cuda_images(struct mpk_span bytes, struct mpk_arena *arena,
			      struct mpk_code_target **out, size_t *count, struct mpk_error *err)
{
	struct mpk_code_target *targets = NULL;
	size_t n = 0;

	if (mpk_code_is_text(bytes) && mpk_ptx_is(bytes))
		MPK_TRY(ptx_targets(bytes, arena, &targets, &n, err));
	else if (mpk_cubin_is(bytes))
		MPK_TRY(cubin_targets(bytes, arena, &targets, &n, err));
	else if (mpk_fatbin_is(bytes))
		MPK_TRY(fatbin_targets(bytes, arena, &targets, &n, err));
	*out = targets;
	*count = n;
	return MPK_OK;
}
