/* SPDX-License-Identifier: Apache-2.0 */
#include "constloader/constloader.h"

static enum mpk_code read_needs(struct mpk_cursor *c, struct mpk_arena *arena,
				struct mpk_const_loader *l, struct mpk_error *err)
{
	uint64_t start = mpk_cursor_offset(c);
	struct mpk_strs *needs;
	size_t count;

	MPK_TRY(mpk_read_count(c, "constants of symbols", 8, &count, err));
	if (count != l->symbols.count)
		return mpk_fail_offset(err, MPK_E_CORRUPT, c->space, start,
				       "%zu lists of constants for %zu symbols", count,
				       l->symbols.count);
	needs = mpk_arena_array(arena, count, sizeof *needs);
	MPK_TRY_ALLOC(needs, err);
	for (size_t i = 0; i < count; i++)
		MPK_TRY(mpk_read_strs(c, "constants of a symbol", arena, &needs[i], err));
	l->needs = needs;
	return MPK_OK;
}

enum mpk_code mpk_const_loader_read(struct mpk_cursor *c, struct mpk_arena *arena,
				    struct mpk_const_loader *out, struct mpk_error *err)
{
	struct mpk_const_loader l = { 0 };
	struct mpk_cursor at = *c;
	uint64_t count;

	MPK_TRY(mpk_read_strs(&at, "constant names", arena, &l.consts.names, err));
	MPK_TRY(mpk_read_u64(&at, "constant count", &count, err));
	MPK_TRY(mpk_tensors_read(&at, l.consts.names, count, arena, &l.consts.tensors, err));
	MPK_TRY(mpk_read_strs(&at, "symbols", arena, &l.symbols, err));
	MPK_TRY(read_needs(&at, arena, &l, err));
	*out = l;
	*c = at;
	return MPK_OK;
}
