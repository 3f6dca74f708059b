/* SPDX-License-Identifier: Apache-2.0 */
/* linking.c - reports symbols that the dynamic linker cannot bind, and the functions that fail
 * because of them
 *
 * With lazy binding, a missing symbol does not keep a library from loading: the call fails. So the
 * findings name the functions whose code reaches the missing symbol, and the virtual machine
 * functions that call them. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "check/internal/run.h"
#include "elf/linking.h"
#include "text/escape.h"
#include "text/phrase.h"
#include "verify/verify.h"

/* The functions found so far, as a list and as a set. */
struct names {
	const char **items;
	size_t count, cap;
	struct mpk_strmap known;
	struct mpk_arena *arena;
};

static void names_fini(struct names *n)
{
	mpk_strmap_fini(&n->known);
	free(n->items);
}

/* @name    lives as long as the findings */
static enum mpk_code linking_add_name(struct names *n, const char *name, struct mpk_error *err)
{
	int added = mpk_strmap_put(&n->known, mpk_span_str(name), 0, NULL);

	MPK_TRY_ALLOC(added >= 0, err);
	if (!added)
		return MPK_OK;
	MPK_TRY_ALLOC(MPK_VEC_ROOM(n->items, n->count, n->cap), err);
	n->items[n->count++] = name;
	return MPK_OK;
}

static int linking_by_name(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return mpk_natural_compare(*x, *y);
}

/* --- host code --------------------------------------------------------------------------- */

enum mpk_code mpk_check_read_wants(struct mpk_check_state *s, struct mpk_error *err)
{
	if (s->wants_read || !s->elf)
		return MPK_OK;
	s->wants_read = true;
	return mpk_wants_read(s->elf, &s->wants, err);
}

struct initial {
	const bool *marked;
	bool found;
};

static void see_initializer(void *arg, size_t piece)
{
	struct initial *in = arg;

	in->found |= in->marked[piece];
}

/* Finds the pieces of code that reach the missing symbol, then the functions that begin with such a
 * piece.
 * @at_load receives whether an initializer reaches it */
static enum mpk_code linking_find_host(struct mpk_check_state *s, enum mpk_want_kind kind,
				       const char *name, bool *marked, struct names *out,
				       bool *at_load, struct mpk_error *err)
{
	const struct mpk_image *image = s->view->image;
	const struct mpk_wants *w = &s->wants;
	struct initial initial = { .marked = marked };

	for (size_t i = 0; i < w->count; i++)
		if (w->items[i].kind == kind && strcmp(w->items[i].name, name) == 0)
			marked[w->items[i].piece] = true;
	MPK_TRY(mpk_want_edges_spread(w->edges, w->edge_count, marked, w->reach.count, err));
	MPK_TRY(mpk_reach_initializers(&w->reach, see_initializer, &initial, err));
	*at_load = initial.found;
	for (size_t i = 0; i < image->function_count; i++) {
		const struct mpk_image_function *f = &image->functions[i];
		size_t piece = mpk_reach_piece(&w->reach, f->address);

		if (!f->alias_of && piece < w->reach.count && marked[piece])
			MPK_TRY(linking_add_name(out, f->name, err));
	}
	return MPK_OK;
}

/* --- virtual machines -------------------------------------------------------------------- */

struct calls {
	struct mpk_want_edge *items;
	size_t count, cap;
};

static enum mpk_code linking_add_call(void *arg, size_t from, size_t to, struct mpk_error *err)
{
	struct calls *c = arg;

	MPK_TRY_ALLOC(MPK_VEC_ROOM(c->items, c->count, c->cap), err);
	/* the mark spreads from callee to caller */
	c->items[c->count++] = (struct mpk_want_edge){ (uint32_t)to, (uint32_t)from };
	return MPK_OK;
}

/* Whether the list contains a host function, or the host function compiled from it. */
static bool is_among(const struct names *of, const struct mpk_payload_function *f)
{
	char text[256];

	if (f->kind == MPK_FUNCTION_BYTE_CODE)
		return false;
	if (f->kind == MPK_FUNCTION_IMPORTED)
		return mpk_strmap_find(&of->known, f->name, NULL);
	if (f->name.len >= sizeof text - sizeof "__vmtir__")
		return false;
	(void)snprintf(text, sizeof text, "__vmtir__%.*s", (int)f->name.len,
		       (const char *)f->name.data);
	return mpk_strmap_find(&of->known, mpk_span_str(text), NULL);
}

/* @marked  one flag for each function */
static enum mpk_code spread_machine(const struct mpk_payload_view *row, const struct mpk_payload *p,
				    size_t count, bool *marked, struct names *out,
				    struct mpk_error *err)
{
	struct calls calls = { 0 };
	struct mpk_payload_function f;
	enum mpk_code code;

	for (size_t i = 0; row->function(p, i, &f); i++)
		marked[i] = is_among(out, &f);
	code = row->calls(p, &(const struct mpk_payload_calls){ linking_add_call, &calls }, err);
	mpk_want_edges_sort(calls.items, calls.count);
	if (code == MPK_OK)
		code = mpk_want_edges_spread(calls.items, calls.count, marked, count, err);
	free(calls.items);
	for (size_t i = 0; code == MPK_OK && row->function(p, i, &f); i++) {
		const char *name;

		if (!marked[i] || f.kind == MPK_FUNCTION_IMPORTED)
			continue;
		name = mpk_arena_text(out->arena, f.name);
		code = name ? linking_add_name(out, name, err) : mpk_fail_nomem(err);
	}
	return code;
}

static size_t count_functions(const struct mpk_payload_view *row, const struct mpk_payload *p)
{
	struct mpk_payload_function f;
	size_t count = 0;

	while (row->function(p, count, &f))
		count++;
	return count;
}

/* Adds the executables' functions that reach a host function of the list. */
static enum mpk_code find_machines(struct mpk_check_state *s, struct names *out,
				   struct mpk_error *err)
{
	for (size_t i = 0; out->count && i < s->view->count; i++) {
		const struct mpk_view_node *n = &s->view->nodes[i];
		const struct mpk_payload_view *row = mpk_view_row(n);
		enum mpk_code code;
		bool *marked;
		size_t count;

		if (!row->calls)
			continue;
		count = count_functions(row, n->payload);
		marked = calloc(count + 1, sizeof *marked);
		MPK_TRY_ALLOC(marked, err);
		code = spread_machine(row, n->payload, count, marked, out, err);
		free(marked);
		MPK_TRY(code);
	}
	return MPK_OK;
}

/* --- findings ---------------------------------------------------------------------------- */

/* "f, g and 3 more" */
static void linking_put_functions(const char *const *functions, size_t count, char *out,
				  size_t size)
{
	enum { SHOWN = 2 };
	size_t shown = count > SHOWN + 1 ? SHOWN : count, n = 0;

	for (size_t i = 0; i < shown && n < size; i++)
		n += (size_t)snprintf(out + n, size - n, "%s%s",
				      !i               ? ""
				      : i + 1 == count ? " and "
						       : ", ",
				      MPK_QUOTE(mpk_span_str(functions[i])));
	if (shown < count && n < size)
		(void)snprintf(out + n, size - n, " and %zu more", count - shown);
}

/* Adds a finding that takes effect in calls of the given functions
 * @severity a warning means that it is not certain that a call fails */
static enum mpk_code add_call(struct mpk_check_state *s, enum mpk_severity severity,
			      const char *const *functions, size_t count, const char *text,
			      struct mpk_error *err)
{
	struct mpk_check_result *result = s->result;
	struct mpk_check_call *call = mpk_arena_alloc(s->arena, sizeof *call);

	MPK_TRY_ALLOC(call, err);
	*call = (struct mpk_check_call){ s->report->count, functions, count, NULL };
	if (s->report->count < MPK_REPORT_MAX) {
		if (result->last_call)
			result->last_call->next = call;
		else
			result->calls = call;
		result->last_call = call;
	}
	mpk_check_say_text(s, severity, NULL, text);
	return MPK_OK;
}

enum mpk_code mpk_check_say_call(struct mpk_check_state *s, enum mpk_severity severity,
				 struct mpk_error *err, const char *fmt, ...)
{
	char text[MPK_CHECK_TEXT];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return add_call(s, severity, NULL, 0, text, err);
}

static enum mpk_code say_failing(struct mpk_check_state *s, const char *const *functions,
				 size_t count, const char *why, struct mpk_error *err)
{
	char who[400] = "some function", text[MPK_CHECK_TEXT];

	if (count)
		linking_put_functions(functions, count, who, sizeof who);
	(void)snprintf(text, sizeof text, "%s fail%s when called: %s", who, count > 1 ? "" : "s",
		       why);
	s->result->call_errors++;
	return add_call(s, MPK_ERROR, functions, count, text, err);
}

/* Adds a finding whose functions are known to fail
 * @functions  sorted; in the arena; count 0 means that they are unknown
 * Returns  as add_call */
static MPK_PRINTF(5, 6) enum mpk_code
	say_failing_because(struct mpk_check_state *s, const char *const *functions, size_t count,
			    struct mpk_error *err, const char *fmt, ...)
{
	char why[MPK_CHECK_TEXT];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	return say_failing(s, functions, count, why, err);
}

/* Whether some code calls it. */
static bool is_called(const struct mpk_check_state *s, enum mpk_want_kind kind, const char *name)
{
	for (size_t i = 0; i < s->wants.count; i++)
		if (s->wants.items[i].kind == kind && strcmp(s->wants.items[i].name, name) == 0)
			return true;
	return false;
}

static enum mpk_code say_want(struct mpk_check_state *s, enum mpk_want_kind kind, const char *name,
			      struct names *names, const char *why, struct mpk_error *err)
{
	bool *marked = calloc(s->wants.reach.count + 1, sizeof *marked), at_load = false;
	enum mpk_code code = marked ? linking_find_host(s, kind, name, marked, names, &at_load, err)
				    : mpk_fail_nomem(err);
	const char *const *functions;

	free(marked);
	if (code == MPK_OK)
		code = find_machines(s, names, err);
	MPK_TRY(code);
	if (at_load) {
		mpk_check_say(s, MPK_ERROR, NULL, "loading it runs an initializer that fails: %s",
			      why);
		return MPK_OK;
	}
	/* all code was searched, and no function that callers reach leads to it */
	if (!names->count && s->wants.reach.count && s->wants.count < s->wants.most &&
	    s->view->image->function_count && is_called(s, kind, name))
		return mpk_check_say_call(s, MPK_WARNING, err,
					  "%s; no function of the module comes to it", why);
	if (names->count)
		qsort(names->items, names->count, sizeof *names->items, linking_by_name);
	functions = mpk_arena_keep(s->arena, names->items, names->count, sizeof *names->items);
	MPK_TRY_ALLOC(functions, err);
	return say_failing(s, functions, names->count, why, err);
}

enum mpk_code mpk_check_say_want(struct mpk_check_state *s, enum mpk_want_kind kind,
				 const char *name, struct mpk_error *err, const char *fmt, ...)
{
	struct names names = { .arena = s->arena };
	char why[MPK_CHECK_TEXT];
	enum mpk_code code;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	/* beyond the report's limit the functions need not be searched: there may be as many
	 * findings as names */
	if (s->report->count >= MPK_REPORT_MAX)
		return say_failing(s, NULL, 0, why, err);
	MPK_TRY(mpk_check_read_wants(s, err));
	code = say_want(s, kind, name, &names, why, err);
	names_fini(&names);
	return code;
}

/* --- what the linker does --------------------------------------------------------------- */

#define QUOTED(text) MPK_QUOTE(mpk_span_str(text))

/* The room that glibc keeps for thread-local variables of libraries loaded later: glibc 2.26 and
 * later, unless GLIBC_TUNABLES changes it. Measured: processes of TVM and tvm-ffi use none of it
 * (tests/interop). */
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

/* Reports functions that a lookup does not find. Either the loader fails, or the lookup ends the
 * process. */
static enum mpk_code check_functions(struct mpk_check_state *s, struct mpk_hash *h,
				     struct mpk_error *err)
{
	const struct mpk_image *image = s->view->image;
	const char **lost = mpk_arena_array(s->arena, image->function_count + 1, sizeof *lost);
	size_t count = 0;

	MPK_TRY_ALLOC(lost, err);
	for (size_t i = 0; i < image->function_count; i++) {
		const struct mpk_image_function *f = &image->functions[i];

		if (f->alias_of || f->is_entry || mpk_hash_find(h, f->symbol) == MPK_HASH_FOUND)
			continue;
		lost[count++] = f->name;
		MPK_TRY_ALLOC(mpk_strmap_put(&s->lost, mpk_span_str(f->name), 0, NULL) >= 0, err);
	}
	if (!count)
		return MPK_OK;
	return say_failing_because(s, lost, count, err,
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

/* Collects undefined references. References to the file's own symbols are relocated by name too.
 * Calls may be bound lazily. */
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
		/* a weak symbol may be missing */
		refs->told = true;
		mpk_check_say(refs->state, MPK_ERROR, NULL, DAMAGED, QUOTED(symbol.name));
	}
}

/* Whether the lookup of names that loaders ask for, present or not, leaves the hash table. */
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
	if (hash.stops_loading || strays_at_load(s, &hash)) {
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

/* Unreadable tables were already reported. */
static enum mpk_code check_tables(struct mpk_check_state *s, struct mpk_error *err)
{
	struct mpk_error ignored = { 0 };
	struct mpk_symtab symbols;
	struct mpk_linking l;
	enum mpk_code code = mpk_linking_open(s->elf, &l, &ignored);

	if (code == MPK_OK && mpk_linking_refusal(&l))
		mpk_check_say(s, MPK_ERROR, NULL, "it %s", mpk_linking_refusal(&l));
	if (code == MPK_OK)
		code = mpk_symtab_loaded(s->elf, &symbols, &ignored);
	if (code == MPK_OK)
		code = check_room(s, &l, &symbols, &ignored);
	if (code == MPK_OK)
		code = check_symbols(s, &l, &symbols, &ignored);
	return code == MPK_E_NOMEM ? mpk_fail_nomem(err) : MPK_OK;
}

static enum mpk_code check_linking(struct mpk_check_state *s, const char **skipped,
				   struct mpk_error *err)
{
	struct mpk_error error = { 0 };
	size_t from = s->report->count;

	*skipped = mpk_check_not_linked(s);
	if (*skipped)
		return MPK_OK;
	if (mpk_linking_check_header(s->elf, &error) != MPK_OK) {
		mpk_error_at_file(&error, s->view->name);
		say_error(s, &error);
	}
	if (s->view->image->cut)
		mpk_check_say(
			s, MPK_WARNING, NULL,
			"it is cut after the part that the dynamic linker maps, so it still loads, but without its table of sections strip, gdb and patchelf do not read it; was it downloaded or copied in part?");
	MPK_TRY(mpk_verify_linking(s->view, s->elf, s->arena, s->report, err));
	for (size_t i = from; i < s->report->count; i++)
		s->report->findings[i].check = s->name;
	return check_tables(s, err);
}

const struct mpk_check_row mpk_check_linking[] = {
	{ "linking", NULL, check_linking },
	{ 0 },
};
