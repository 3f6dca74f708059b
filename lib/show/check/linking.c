/* SPDX-License-Identifier: Apache-2.0 */
/* What the dynamic linker makes of the file itself: whether it can map, relocate and initialize it, has room for it,
 * and finds its symbols in it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "check/internal/run.h"
#include "elf/hash.h"
#include "text/escape.h"
#include "verify/verify.h"

#define QUOTED(text) MPK_QUOTE(mpk_span_str(text))

/* What glibc leaves for variables of threads of libraries that come later: 2.26 and later, unless GLIBC_TUNABLES says
 * otherwise. Measured with TVM's and tvm-ffi's processes, which need none of it (tests/interop). */
enum { TLS_ROOM = 1664, TLS_ALIGNMENT = 64 };

static void say_error(struct mpk_check_state *s, const struct mpk_error *error)
{
	mpk_report_add(s->report, MPK_ERROR, s->name, error);
}

static enum mpk_code check_room(struct mpk_check_state *s, const struct mpk_linking *l,
				const struct mpk_symtab *symbols, struct mpk_error *err)
{
	struct mpk_linking_tls tls;

	MPK_TRY(mpk_linking_static_tls(l, symbols, &tls, err));
	if (tls.bytes > TLS_ROOM || tls.alignment > TLS_ALIGNMENT)
		mpk_check_say(s, MPK_ERROR, NULL,
			      "its %" PRIu64
			      " bytes of thread-local variables do not fit: glibc has "
			      "%d bytes, aligned to %d, for what is loaded later; compile it with "
			      "-ftls-model=global-dynamic",
			      tls.bytes, TLS_ROOM, TLS_ALIGNMENT);
	return MPK_OK;
}

/* --- symbols ------------------------------------------------------------------------------ */

/* Functions that are not found, which a loader says, or whose search ends the process. */
static enum mpk_code check_functions(struct mpk_check_state *s, struct mpk_hash *h,
				     struct mpk_error *err)
{
	const struct mpk_image *image = s->view->image;
	const char **lost = mpk_arena_array(s->arena, image->function_count + 1, sizeof *lost);
	size_t count = 0, ignored;

	MPK_TRY_ALLOC(lost, err);
	for (size_t i = 0; i < image->function_count; i++) {
		const struct mpk_image_function *f = &image->functions[i];

		if (f->alias_of || f->is_entry || mpk_hash_find(h, f->symbol) == MPK_HASH_FOUND)
			continue;
		lost[count++] = f->name;
		MPK_TRY_ALLOC(mpk_strmap_put(&s->lost, mpk_span_str(f->name), 0, &ignored) >= 0,
			      err);
	}
	if (!count)
		return MPK_OK;
	return mpk_check_say_failing(
		s, lost, count, err,
		"the hash table of symbols is damaged, and no loader finds what "
		"they are called by; link the file again");
}

struct references {
	struct mpk_check_state *state;
	struct mpk_hash *hash;
	const struct mpk_symtab *symbols;
	bool binds_now, told;
	enum mpk_code code;
	struct mpk_error *err;
};

#define DAMAGED                                                                                    \
	"the hash table of its symbols is damaged: '%s', which it refers to, is not found; link it again"

/* What refers to a symbol of its own is relocated by its name, too; calls may wait for the first. */
static void take_reference(void *arg, const struct mpk_relocation *r)
{
	struct references *refs = arg;
	struct mpk_symbol symbol;
	enum mpk_hash_found found;
	bool waits = r->is_lazy && !refs->binds_now;

	if (refs->code != MPK_OK || !r->symbol || r->symbol >= refs->symbols->count ||
	    mpk_symtab_get(refs->symbols, r->symbol, &symbol, NULL) != MPK_OK || !symbol.defined ||
	    symbol.bind == STB_LOCAL || symbol.visibility != STV_DEFAULT)
		return;
	found = mpk_hash_find(refs->hash, symbol.name);
	if (found == MPK_HASH_FOUND)
		return;
	if (waits) {
		refs->code = mpk_check_say_want(refs->state, MPK_WANT_SYMBOL, symbol.name,
						refs->err, DAMAGED, QUOTED(symbol.name));
	} else if (!refs->told && (found == MPK_HASH_STRAYS || symbol.bind != STB_WEAK)) {
		/* a weak one may be missing */
		refs->told = true;
		mpk_check_say(refs->state, MPK_ERROR, NULL, DAMAGED, QUOTED(symbol.name));
	}
}

/* Loaders ask for these whether the file has them or not. */
static bool strays_at_load(struct mpk_check_state *s, struct mpk_hash *h)
{
	const struct mpk_generation_info *gen = mpk_generation_get(s->view->image->gen);
	const char *const names[] = { gen->blob_symbol, gen->ctx_symbol, "__TVMFFIFunctionCall",
				      "__TVMFFIEnvModLookupFromImports" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(names); i++)
		if (names[i] && mpk_hash_find(h, names[i]) == MPK_HASH_STRAYS)
			return true;
	return false;
}

static enum mpk_code check_symbols(struct mpk_check_state *s, const struct mpk_linking *l,
				   const struct mpk_symtab *symbols, struct mpk_error *err)
{
	const struct mpk_image *image = s->view->image;
	struct mpk_hash hash;
	struct references refs = {
		.state = s,
		.hash = &hash,
		.symbols = symbols,
		.binds_now = mpk_linking_binds_now(l),
		.err = err,
	};

	mpk_hash_open(l, symbols, &hash);
	if (mpk_hash_stops_loading(&hash) || strays_at_load(s, &hash)) {
		mpk_check_say(
			s, MPK_ERROR, NULL,
			"the hash table of its symbols is damaged, and ends the process that looks for one; link it again");
		return MPK_OK;
	}
	MPK_TRY(mpk_linking_relocations(l, take_reference, &refs, err));
	MPK_TRY(refs.code);
	if (image->has_blob && !image->standalone &&
	    mpk_hash_find(&hash, image->blob_symbol) != MPK_HASH_FOUND)
		mpk_check_say(s, MPK_ERROR, NULL,
			      "no module is found in it: the hash table of its symbols is damaged; "
			      "link it again");
	return check_functions(s, &hash, err);
}

/* --- all ---------------------------------------------------------------------------------- */

/* Tables that do not read were told by then. */
static enum mpk_code check_tables(struct mpk_check_state *s, struct mpk_error *err)
{
	struct mpk_error ignored = { 0 };
	struct mpk_symtab symbols;
	struct mpk_linking l;
	enum mpk_code code = mpk_linking_open(s->elf, &l, &ignored);

	if (code == MPK_OK)
		code = mpk_symtab_loaded(s->elf, &symbols, &ignored);
	if (code == MPK_OK)
		code = check_room(s, &l, &symbols, &ignored);
	if (code == MPK_OK)
		code = check_symbols(s, &l, &symbols, &ignored);
	return code == MPK_E_NOMEM ? mpk_fail_nomem(err) : MPK_OK;
}

enum mpk_code mpk_check_linking(struct mpk_check_state *s, struct mpk_error *err)
{
	struct mpk_error error = { 0 };
	size_t from = s->report->count;

	if (mpk_linking_check_header(s->elf, &error) != MPK_OK) {
		mpk_error_at_file(&error, s->view->name);
		say_error(s, &error);
	}
	MPK_TRY(mpk_verify_linking(s->view, s->elf, s->arena, s->report, err));
	for (size_t i = from; i < s->report->count; i++)
		s->report->findings[i].check = s->name;
	return check_tables(s, err);
}
