/* SPDX-License-Identifier: Apache-2.0 */
/* The module around the statements: version, target, and the lists, which grow in malloc'ed
 * arrays and move to the arena at the end. */
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

#include "base/account.h"
#include "base/compiler.h"
#include "base/num.h"
#include "ptx/internal/parse.h"

static void ptx_reader_fini(struct mpk_ptx_reader *r)
{
	free(r->kernels);
	free(r->shared);
	free(r->functions);
	free(r->params);
	mpk_strmap_fini(&r->names);
}

/* --- the module: FORMAT.md 3 ------------------------------------------------------ */

/* Both parts are bounded, so that a version can be compared as two small numbers. */
static enum mpk_code read_version(struct mpk_ptx_reader *r, struct mpk_error *err)
{
	struct mpk_span text;
	const uint8_t *dot;
	uint64_t major, minor;
	size_t head;

	MPK_TRY(mpk_lexer_next(&r->lex, err));
	text = r->lex.t.text;
	dot = r->lex.t.kind == MPK_TOKEN_WORD ? memchr(text.data, '.', text.len) : NULL;
	head = dot ? (size_t)(dot - text.data) : 0;
	if (!head || !mpk_parse_u64(mpk_span_of(text.data, head), &major) ||
	    !mpk_parse_u64(mpk_span_of(dot + 1, text.len - head - 1), &minor) || major > 999 ||
	    minor > 999)
		return mpk_lexer_wanted(&r->lex, "a version such as 8.4", err);
	r->ptx.major = (unsigned)major;
	r->ptx.minor = (unsigned)minor;
	return mpk_lexer_next(&r->lex, err);
}

/* "sm_90", "sm_90a", "sm_100f" */
static bool parse_target(struct mpk_span text, unsigned *sm, char *suffix)
{
	uint64_t n;

	if (!mpk_span_starts(text, "sm_") || text.len < 4)
		return false;
	text = mpk_span_of(text.data + 3, text.len - 3);
	*suffix = '\0';
	if (text.data[text.len - 1] == 'a' || text.data[text.len - 1] == 'f')
		*suffix = (char)text.data[--text.len];
	if (!mpk_parse_u64(text, &n) || n > 9999)
		return false;
	*sm = (unsigned)n;
	return true;
}

/* A list: one sm_ target, and words such as debug or texmode_independent. */
static enum mpk_code read_target(struct mpk_ptx_reader *r, struct mpk_error *err)
{
	do {
		struct mpk_span text;

		MPK_TRY(mpk_lexer_next(&r->lex, err));
		text = r->lex.t.text;
		if (r->lex.t.kind != MPK_TOKEN_WORD)
			return mpk_lexer_wanted(&r->lex, "a target such as sm_90", err);
		if (mpk_span_starts(text, "sm_")) {
			if (!parse_target(text, &r->ptx.sm, &r->ptx.suffix))
				return mpk_lexer_wanted(&r->lex, "a target such as sm_90", err);
			r->has_target = true;
		} else if (mpk_span_is(text, "debug")) {
			r->ptx.debug = true;
		}
		MPK_TRY(mpk_lexer_next(&r->lex, err));
	} while (mpk_lexer_at(&r->lex, ','));
	return MPK_OK;
}

/* head: reads up to the target, which only the version may precede */
static enum mpk_code read_module(struct mpk_ptx_reader *r, bool head, struct mpk_error *err)
{
	MPK_TRY(mpk_lexer_next(&r->lex, err));
	if (!mpk_token_is_word(&r->lex.t, ".version"))
		return mpk_lexer_wanted(&r->lex, "'.version'", err);
	while (r->lex.t.kind != MPK_TOKEN_END && !(head && r->has_target)) {
		const struct mpk_token t = r->lex.t;

		if (mpk_token_is_word(&t, ".version"))
			MPK_TRY(read_version(r, err));
		else if (mpk_token_is_word(&t, ".target"))
			MPK_TRY(read_target(r, err));
		else if (head)
			return mpk_lexer_wanted(&r->lex, "'.target sm_NN'", err);
		else
			MPK_TRY(mpk_ptx_read_statement(r, err));
		r->before = t;
	}
	if (!r->has_target)
		return mpk_lexer_wanted(&r->lex, "'.target sm_NN'", err);
	return MPK_OK;
}

/* NULs at the end belong to no token. */
static struct mpk_span without_end(struct mpk_span bytes)
{
	while (bytes.len && bytes.data[bytes.len - 1] == '\0')
		bytes.len--;
	return bytes;
}

/* The first token decides; comments before it are skipped by the lexer. */
bool mpk_ptx_is(struct mpk_span bytes)
{
	struct mpk_lexer lex = { .bytes = bytes, .language = "PTX" };

	/* Host assemblers have a .version, too, which takes a string. */
	return mpk_lexer_next(&lex, NULL) == MPK_OK && mpk_token_is_word(&lex.t, ".version") &&
	       mpk_lexer_next(&lex, NULL) == MPK_OK && lex.t.kind == MPK_TOKEN_WORD &&
	       lex.t.text.data[0] >= '0' && lex.t.text.data[0] <= '9';
}

enum mpk_code mpk_ptx_read(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_ptx *out,
			   struct mpk_error *err)
{
	struct mpk_span text = without_end(bytes);
	MPK_CLEANUP(ptx_reader_fini)
	struct mpk_ptx_reader r = {
		.lex = { .bytes = text, .language = "PTX" },
		.arena = arena,
		.ptx = { .address_bits = 32 },
	};
	const uint8_t *nul = text.len ? memchr(text.data, 0, text.len) : NULL;

	if (nul)
		return mpk_fail_offset(
			err, MPK_E_CORRUPT, "payload", (size_t)(nul - text.data),
			"PTX: a NUL inside the text; a driver would stop reading here");
	/* the words of a text take some times longer than it took to unpack it */
	MPK_TRY(mpk_account_take(2 * (uint64_t)text.len, err));
	MPK_TRY(read_module(&r, false, err));

	/* Sets out only when all lists were copied. */
	struct mpk_ptx ptx = r.ptx;

	ptx.kernels = mpk_arena_keep(r.arena, r.kernels, ptx.kernel_count, sizeof *r.kernels);
	ptx.shared = mpk_arena_keep(r.arena, r.shared, ptx.shared_count, sizeof *r.shared);
	ptx.functions =
		mpk_arena_keep(r.arena, r.functions, ptx.function_count, sizeof *r.functions);
	MPK_TRY_ALLOC(ptx.kernels && ptx.shared && ptx.functions, err);
	*out = ptx;
	return MPK_OK;
}

/* Stops at the target: the texts of kernels may be megabytes. */
enum mpk_code mpk_ptx_read_head(struct mpk_span bytes, struct mpk_ptx *out, struct mpk_error *err)
{
	MPK_CLEANUP(ptx_reader_fini)
	struct mpk_ptx_reader r = { .lex = { .bytes = without_end(bytes), .language = "PTX" } };

	MPK_TRY(read_module(&r, true, err));
	*out = (struct mpk_ptx){
		.major = r.ptx.major, .minor = r.ptx.minor, .sm = r.ptx.sm, .suffix = r.ptx.suffix
	};
	return MPK_OK;
}
