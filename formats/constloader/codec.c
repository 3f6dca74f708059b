/* SPDX-License-Identifier: Apache-2.0 */
/* codec.c - const_loader payloads: the constants that functions of other modules need, by symbol
 *
 * The layout is ConstLoaderModuleNode::SaveToBinary's (TVM, src/runtime/const_loader_module.cc):
 * first all constants, as in a parameter file, then for each function the names of the constants
 * that it needs. The length of each pair of lists is stored twice and compared, because callers
 * index one list by the other. */
#include "constloader/constloader.h"

#include "payload.h"

/* Reads a list for each symbol, in the order of the symbols. */
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
	MPK_TRY_ARRAY(needs, arena, count, err);
	for (size_t i = 0; i < count; i++)
		MPK_TRY(mpk_read_strs(c, "constants of a symbol", arena, &needs[i], err));
	l->needs = needs;
	return MPK_OK;
}

/* Reads a payload
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset; MPK_E_NOMEM */
static enum mpk_code const_loader_read(struct mpk_cursor *c, struct mpk_arena *arena,
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

/* --- as a payload (payload.h) ---------------------------------------------------------------- */

static enum mpk_code constloader_read_payload(struct mpk_cursor *c, struct mpk_arena *arena,
					      struct mpk_payload *out, struct mpk_error *err)
{
	return const_loader_read(c, arena, &out->u.consts, err);
}

static enum mpk_code constloader_list_files(const struct mpk_payload *p, struct mpk_files *files)
{
	return mpk_files_add_params(files, "constants/", &p->u.consts.consts);
}

const struct mpk_payload_reader mpk_reader_consts = { MPK_PAYLOAD_CONSTS,
						      constloader_read_payload };
const struct mpk_codec mpk_codec_consts = { &mpk_reader_consts, constloader_list_files };
