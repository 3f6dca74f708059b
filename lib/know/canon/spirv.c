/* SPDX-License-Identifier: Apache-2.0 */
/* spirv.c - digests of SPIR-V: the instructions without those that only describe (FORMAT.md 6)
 *
 * Which functions an entry point reaches is not looked at: an entry point is the module and its name. Results keep
 * their numbers, as only the grammar of each instruction tells which of its words are such. */
#include "canon/internal/canon.h"

#include "base/cursor.h"

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
enum mpk_code mpk_canon_spirv(const struct mpk_code_info *info, struct mpk_arena *arena,
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
