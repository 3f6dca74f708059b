/* SPDX-License-Identifier: Apache-2.0 */
/* wants.c - the symbols and functions that the code of a library asks others for
 *
 * Compiled code passes a name to a function that finds others by it: as the second argument, or to
 * the functions for globals as the first or in a structure. Code that is not optimised moves the
 * name before it passes it. So for a direct call the text right before the call is the name, if it
 * has the form of one. If the function is called through a pointer, every text that the piece puts
 * into that argument's register is a name, because compilers load the pointer once for several
 * calls. */
#include "elf/wants.h"

#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "base/vec.h"

/* Functions that find others by name, and the index of the argument that is the name. */
static const struct lookup {
	const char *symbol;
	unsigned argument;
} lookups[] = {
	{ "TVMFFIEnvModLookupFromImports", 1 },
	{ "TVMBackendGetFuncFromEnv", 1 },
	{ "TVMFFIFunctionGetGlobal", 0 },
	{ "TVMFuncGetGlobal", 0 },
};

enum {
	NAME_MAX_BYTES = 256,
	BEFORE_BYTES = 96,
	ASIDE_BYTES = 128,   /* most distance from the computation of an address to its use */
	BYTES_EACH = 16,     /* bytes of code for each name, at least */
	PIECE_MAX = 1 << 16, /* most texts and look-ups of one piece */
};

/* A text that code points at. */
struct text {
	uint64_t from;
	const char *name;
	unsigned reg;
};

struct found_lookup {
	uint64_t from;
	unsigned argument;
	bool by_pointer;
};

/* The piece that is being read; its lists are reused for the next piece. */
struct work {
	struct mpk_wants *out;
	struct mpk_strmap own;     /* functions that the library defines, by name: their pieces */
	struct mpk_strmap missing; /* symbols that the library does not define */
	struct pointer {
		uint64_t address;
		const char *name;
	} *pointers;
	size_t pointer_count, pointer_cap;
	size_t piece;
	struct text *texts;
	size_t text_count, text_cap;
	struct found_lookup *found;
	size_t found_count, found_cap;
	bool failed;
};

static bool is_pointer_name(const char *name)
{
	return strncmp(name, "__TVM", 5) == 0;
}

MPK_ORDER_BY(by_pointer, struct pointer, address)

static enum mpk_code take_symbol(struct work *w, const struct mpk_symbol *s, struct mpk_error *err)
{
	const struct mpk_reach *r = &w->out->reach;
	size_t piece = s->defined ? mpk_reach_piece(r, s->value) : r->count, ignored;
	bool is_code = s->type == STT_FUNC || s->type == STT_GNU_IFUNC;
	int added = 0;

	if (!s->name[0])
		return MPK_OK;
	if (s->defined && is_pointer_name(s->name)) {
		/* --- symbols -------------------------------------------------------------- */
		MPK_TRY_ALLOC(MPK_VEC_ROOM(w->pointers, w->pointer_count, w->pointer_cap), err);
		w->pointers[w->pointer_count++] = (struct pointer){ s->value, s->name };
		return MPK_OK;
	}
	if (is_code && piece < r->count)
		added = mpk_strmap_put(&w->own, mpk_span_str(s->name), piece, &ignored);
	else if (!s->defined && s->bind == STB_GLOBAL)
		added = mpk_strmap_put(&w->missing, mpk_span_str(s->name), 0, &ignored);
	MPK_TRY_ALLOC(added >= 0, err);
	return MPK_OK;
}

static enum mpk_code take_symbols(struct work *w, struct mpk_error *err)
{
	struct mpk_symtab table;
	struct mpk_symbol s;

	MPK_TRY(mpk_symtab_dynamic(w->out->reach.elf, &table, err));
	for (size_t i = 1; i < table.count; i++) {
		MPK_TRY(mpk_symtab_get(&table, i, &s, err));
		MPK_TRY(take_symbol(w, &s, err));
	}
	if (w->pointer_count)
		qsort(w->pointers, w->pointer_count, sizeof *w->pointers, by_pointer);
	return MPK_OK;
}

static const char *pointer_at(const struct work *w, uint64_t address)
{
	size_t at;

	MPK_FIND_FIRST(at, w->pointer_count, i, w->pointers[i].address < address);
	return at < w->pointer_count && w->pointers[at].address == address ? w->pointers[at].name
									   : NULL;
}

/* --- a piece ----------------------------------------------------------------------------- */

static void add_want(struct work *w, enum mpk_want_kind kind, const char *name)
{
	struct mpk_wants *out = w->out;
	const struct mpk_want want = { name, (uint32_t)w->piece, (uint8_t)kind };

	if (out->count == out->most)
		return;
	if (MPK_VEC_ROOM(out->items, out->count, out->cap))
		out->items[out->count++] = want;
	else
		w->failed = true;
}

static void add_edge(struct work *w, size_t to)
{
	struct mpk_wants *out = w->out;

	if (to == w->piece || out->edge_count == out->most)
		return;
	if (MPK_VEC_ROOM(out->edges, out->edge_count, out->edge_cap))
		out->edges[out->edge_count++] =
			(struct mpk_want_edge){ (uint32_t)to, (uint32_t)w->piece };
	else
		w->failed = true;
}

static void add_lookup(struct work *w, const char *symbol, bool by_pointer, uint64_t from)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(lookups); i++) {
		if (strcmp(symbol, lookups[i].symbol) != 0 || w->found_count == PIECE_MAX)
			continue;
		if (!MPK_VEC_ROOM(w->found, w->found_count, w->found_cap)) {
			w->failed = true;
			return;
		}
		w->found[w->found_count++] =
			(struct found_lookup){ from, lookups[i].argument, by_pointer };
	}
}

static void take_reference(struct work *w, const char *symbol, uint64_t from)
{
	const struct mpk_span name = mpk_span_str(symbol);
	size_t piece;

	if (mpk_strmap_find(&w->own, name, &piece)) {
		/* Another library may define it first. */
		add_edge(w, piece);
		add_want(w, MPK_WANT_SYMBOL, symbol);
		return;
	}
	if (is_pointer_name(symbol)) {
		add_want(w, MPK_WANT_SYMBOL, symbol);
		add_lookup(w, symbol + 2, true, from);
		return;
	}
	if (mpk_strmap_find(&w->missing, name, &piece))
		add_want(w, MPK_WANT_SYMBOL, symbol);
	add_lookup(w, symbol, false, from);
}

/* Names of global functions have no blanks; the texts of messages nearly always have. */
static bool wants_is_name(struct mpk_span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.data[i] <= ' ' || s.data[i] >= 0x7f)
			return false;
	return s.len > 1;
}

static void wants_take_text(struct work *w, const struct mpk_reach_ref *ref)
{
	struct mpk_span bytes;
	const uint8_t *nul;
	uint64_t off;

	if (w->text_count == PIECE_MAX ||
	    !mpk_elf_at_address(w->out->reach.elf, ref->to, &bytes, &off))
		return;
	if (bytes.len > NAME_MAX_BYTES)
		bytes.len = NAME_MAX_BYTES;
	nul = memchr(bytes.data, 0, bytes.len);
	if (!nul || !wants_is_name(mpk_span_of(bytes.data, (size_t)(nul - bytes.data))))
		return;
	if (MPK_VEC_ROOM(w->texts, w->text_count, w->text_cap))
		w->texts[w->text_count++] =
			(struct text){ ref->from, (const char *)bytes.data, ref->reg };
	else
		w->failed = true;
}

static void take_ref(void *arg, const struct mpk_reach_ref *ref)
{
	struct work *w = arg;
	const char *pointer;

	switch (ref->kind) {
	case MPK_REACH_CODE:
		add_edge(w, ref->piece);
		return;
	case MPK_REACH_SYMBOL:
		take_reference(w, ref->symbol, ref->from);
		return;
	case MPK_REACH_DATA:
	case MPK_REACH_LOAD:
		pointer = pointer_at(w, ref->to);
		if (pointer)
			take_reference(w, pointer, ref->from);
		else if (ref->kind == MPK_REACH_DATA)
			wants_take_text(w, ref);
		return;
	}
}

/* --- names ------------------------------------------------------------------------------- */

/* The register of the first (0) or second (1) argument of a call. */
static unsigned register_of_argument(const struct mpk_elf *e, unsigned index)
{
	static const unsigned x86_64[] = { 7, 6 }; /* rdi, rsi */

	return e->header.e_machine == EM_X86_64 ? x86_64[index] : index;
}

/* Returns the last text before a call; a text in the register of the argument is preferred.
 * @first   index of the first text that may be near; moves on with the calls */
static void name_of_call(struct work *w, const struct found_lookup *f, size_t *first)
{
	unsigned reg = register_of_argument(w->out->reach.elf, f->argument);
	const struct text *best = NULL;

	while (*first < w->text_count &&
	       w->texts[*first].from + BEFORE_BYTES + ASIDE_BYTES < f->from)
		++*first;
	for (size_t i = *first; i < w->text_count; i++) {
		const struct text *t = &w->texts[i];

		if (t->from > f->from + ASIDE_BYTES)
			break;
		if (t->from < f->from && f->from - t->from <= BEFORE_BYTES &&
		    (!best || best->reg != reg || t->reg == reg))
			best = t;
	}
	if (best)
		add_want(w, MPK_WANT_NAME, best->name);
}

static void names_of_pointer(struct work *w, unsigned argument)
{
	unsigned reg = register_of_argument(w->out->reach.elf, argument);

	for (size_t i = 0; i < w->text_count; i++)
		if (w->texts[i].reg == reg)
			add_want(w, MPK_WANT_NAME, w->texts[i].name);
}

static void sweep(struct work *w, size_t piece)
{
	bool done[2] = { false, false };
	size_t first = 0;

	w->piece = piece;
	w->text_count = w->found_count = 0;
	mpk_reach_each(&w->out->reach, piece, take_ref, w);
	for (size_t i = 0; i < w->found_count; i++) {
		const struct found_lookup *f = &w->found[i];

		if (!f->by_pointer)
			name_of_call(w, f, &first);
		else if (!done[f->argument])
			names_of_pointer(w, f->argument);
		done[f->argument] |= f->by_pointer;
	}
}

/* --- all --------------------------------------------------------------------------------- */

MPK_ORDER_BY(by_to, struct mpk_want_edge, to)

enum mpk_code mpk_wants_read(const struct mpk_elf *e, struct mpk_wants *out, struct mpk_error *err)
{
	struct work w = { .out = out };
	enum mpk_code code;

	*out = (struct mpk_wants){ 0 };
	MPK_TRY(mpk_reach_open(e, &out->reach, err));
	out->most = e->bytes.len / BYTES_EACH + PIECE_MAX;
	code = take_symbols(&w, err);
	for (size_t i = 0; code == MPK_OK && i < out->reach.count && !w.failed; i++)
		sweep(&w, i);
	mpk_want_edges_sort(out->edges, out->edge_count);
	if (w.failed && code == MPK_OK)
		code = mpk_fail_nomem(err);

	mpk_strmap_fini(&w.own);
	mpk_strmap_fini(&w.missing);
	free(w.pointers);
	free(w.texts);
	free(w.found);

	if (code != MPK_OK)
		mpk_wants_fini(out);
	return code;
}

void mpk_wants_fini(struct mpk_wants *w)
{
	mpk_reach_close(&w->reach);
	free(w->items);
	free(w->edges);
	*w = (struct mpk_wants){ 0 };
}

/* --- pieces that lead to others -------------------------------------------------------------- */

void mpk_want_edges_sort(struct mpk_want_edge *edges, size_t edge_count)
{
	if (edge_count)
		qsort(edges, edge_count, sizeof *edges, by_to);
}

enum mpk_code mpk_want_edges_spread(const struct mpk_want_edge *edges, size_t edge_count,
				    bool *marked, size_t count, struct mpk_error *err)
{
	uint32_t *queue = calloc(count + 1, sizeof *queue);
	size_t n = 0;

	MPK_TRY_ALLOC(queue, err);
	for (size_t i = 0; i < count; i++)
		if (marked[i])
			queue[n++] = (uint32_t)i;
	for (size_t at = 0; at < n; at++) {
		const struct mpk_want_edge key = { .to = queue[at] };
		size_t i = mpk_lower_bound(edges, edge_count, sizeof key, &key, by_to);

		for (; i < edge_count && edges[i].to == queue[at]; i++) {
			if (marked[edges[i].from])
				continue;
			marked[edges[i].from] = true;
			queue[n++] = edges[i].from;
		}
	}
	free(queue);
	return MPK_OK;
}
