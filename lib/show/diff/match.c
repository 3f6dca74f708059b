/* SPDX-License-Identifier: Apache-2.0 */
/* One module more shifts the paths of all after it, so a path tells least of what a module is. Each
 * step pairs what the steps before left over; all of them sort and walk, since a hostile file has a
 * hundred thousand modules that look alike. */
#include "diff/internal/compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "base/vec.h"
#include "io/digest.h"

/* A module of either file, by what it is sorted by. */
struct entry {
	const struct mpk_node *node;
	size_t index, side; /* side 0: of a, 1: of b */
	union {
		struct mpk_span name; /* of one that it defines */
		uint8_t digest[MPK_XXH128_BYTES];
	} by;
};

struct entries {
	struct entry *items;
	size_t count, cap;
};

/* Names that one module of each file shares. */
struct shared {
	size_t a, b, count;
	bool is_place; /* both have one path */
};

struct shares {
	struct shared *items;
	size_t count, cap;
};

struct matcher {
	const struct mpk_view *a, *b;
	struct mpk_strmap paths; /* of b */
	struct mpk_module_match *match;
	struct entries entries;
	struct shares shares;
	struct mpk_error *err;
};

static void matcher_fini(struct matcher *m)
{
	mpk_strmap_fini(&m->paths);
	free(m->entries.items);
	free(m->shares.items);
}

static void pair(struct matcher *m, size_t a, size_t b, bool same)
{
	m->match->partner[a] = b;
	m->match->same[a] = same;
	m->match->owner[b] = a;
}

/* A pair is final once it is made: each step may only pair what earlier, surer steps left over. */
static bool is_free(const struct matcher *m, size_t a, size_t b)
{
	return m->match->partner[a] == MPK_NO_MODULE && m->match->owner[b] == MPK_NO_MODULE;
}

static bool same_kind(const struct matcher *m, size_t a, size_t b)
{
	return mpk_span_equal(m->a->nodes[a].node->kind, m->b->nodes[b].node->kind);
}

/* The module of b at the path of one of a. Paths of deep trees are cut: then the index decides. */
static bool at_path(const struct matcher *m, size_t a, size_t *b)
{
	const char *path = m->a->nodes[a].path;

	if (a < m->b->count && strcmp(path, m->b->nodes[a].path) == 0) {
		*b = a;
		return true;
	}
	return mpk_strmap_find(&m->paths, mpk_span_str(path), b);
}

static bool is_place(const struct matcher *m, size_t a, size_t b)
{
	size_t found;

	return at_path(m, a, &found) && found == b;
}

/* The entries are one array that every step fills again; it keeps the largest size that it had. */
static enum mpk_code add_entry(struct matcher *m, size_t side, size_t index, struct mpk_span name)
{
	const struct mpk_view *view = side ? m->b : m->a;
	struct entries *e = &m->entries;

	MPK_TRY_ALLOC(MPK_VEC_ROOM(e->items, e->count, e->cap), m->err);
	e->items[e->count++] = (struct entry){
		.node = view->nodes[index].node, .index = index, .side = side, .by.name = name
	};
	return MPK_OK;
}

/* Calls add for each module that has no partner yet. */
static enum mpk_code each_left(struct matcher *m,
			       enum mpk_code (*add)(struct matcher *m, size_t side, size_t index))
{
	m->entries.count = 0;
	for (size_t i = 0; i < m->a->count; i++)
		if (m->match->partner[i] == MPK_NO_MODULE)
			MPK_TRY(add(m, 0, i));
	for (size_t i = 0; i < m->b->count; i++)
		if (m->match->owner[i] == MPK_NO_MODULE)
			MPK_TRY(add(m, 1, i));
	return MPK_OK;
}

static int order_of(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

/* By which entries are alike. */
struct likeness {
	int (*like)(const struct entry *x, const struct entry *y);
};

/* Ties are ordered by file and then by position, so that of equal modules the first pairs with
 * the first, and so that qsort, which is not stable, cannot change the answer. */
static int by_likeness(const void *a, const void *b, void *arg)
{
	const struct likeness *l = arg;
	const struct entry *x = a, *y = b;
	int order = l->like(x, y);

	order = order ? order : order_of(x->side, y->side);
	return order ? order : order_of(x->index, y->index);
}

/* Sorts entries [at, end), and calls fn for each run of alike ones that both files have: those of a are [at, middle),
 * those of b [middle, next). */
static enum mpk_code each_run(struct matcher *m, size_t at, size_t end,
			      int (*like)(const struct entry *x, const struct entry *y),
			      enum mpk_code (*fn)(struct matcher *m, size_t at, size_t middle,
						  size_t next))
{
	struct likeness likeness = { like };
	struct entry *e = m->entries.items;

	if (end > at)
		qsort_r(&e[at], end - at, sizeof *e, by_likeness, &likeness);
	for (size_t middle, next; at < end; at = next) {
		for (middle = at; middle < end && like(&e[at], &e[middle]) == 0 && !e[middle].side;)
			middle++;
		for (next = middle; next < end && like(&e[at], &e[next]) == 0;)
			next++;
		if (middle > at && next > middle)
			MPK_TRY(fn(m, at, middle, next));
	}
	return MPK_OK;
}

/* --- 1: equal bytes ----------------------------------------------------------------------- */

/* Kind and length are compared before content: most modules differ in one of them, and then no
 * byte of a payload has to be read. */
static int like_length(const struct entry *x, const struct entry *y)
{
	int order = mpk_span_compare(x->node->kind, y->node->kind);

	return order ? order : order_of(x->node->payload.len, y->node->payload.len);
}

static int like_digest(const struct entry *x, const struct entry *y)
{
	return memcmp(x->by.digest, y->by.digest, sizeof x->by.digest);
}

static enum mpk_code match_add_module(struct matcher *m, size_t side, size_t index)
{
	return add_entry(m, side, index, (struct mpk_span){ 0 });
}

/* Modules that neither moved nor changed, which are most of them in most files, are paired
 * without sorting. */
static void match_equal_places(struct matcher *m)
{
	size_t b;

	for (size_t a = 0; a < m->a->count; a++)
		if (at_path(m, a, &b) && is_free(m, a, b) && same_kind(m, a, b) &&
		    mpk_span_equal(m->a->nodes[a].node->payload, m->b->nodes[b].node->payload))
			pair(m, a, b, true);
}

/* A digest proves nothing against who made the file: who compares looks again. */
static enum mpk_code pair_in_order(struct matcher *m, size_t at, size_t middle, size_t next)
{
	const struct entry *e = m->entries.items;

	for (size_t i = at, k = middle; i < middle && k < next; i++, k++)
		pair(m, e[i].index, e[k].index, false);
	return MPK_OK;
}

/* Payloads of one kind and length: a pair is compared directly, more of them by digest, so that a
 * payload is read a fixed number of times however many look alike. */
static enum mpk_code match_lengths(struct matcher *m, size_t at, size_t middle, size_t next)
{
	struct entry *e = m->entries.items;

	if (next - at == 2) {
		if (!is_place(m, e[at].index, e[middle].index) &&
		    mpk_span_equal(e[at].node->payload, e[middle].node->payload))
			pair(m, e[at].index, e[middle].index, true);
		return MPK_OK;
	}
	for (size_t i = at; i < next; i++)
		MPK_TRY(mpk_digest_span(MPK_DIGEST_XXH128, e[i].node->payload, e[i].by.digest,
					m->err));
	return each_run(m, at, next, like_digest, pair_in_order);
}

static enum mpk_code match_equal(struct matcher *m)
{
	match_equal_places(m);
	MPK_TRY(each_left(m, match_add_module));
	return each_run(m, 0, m->entries.count, like_length, match_lengths);
}

/* --- 2: shared names ------------------------------------------------------------------------ */

/* Of how many modules of each file all pairs are looked at that share a name. */
enum { SHARERS = 4 };

/* All names that a module defines. */
static enum mpk_code add_defined(struct matcher *m, size_t side, size_t index)
{
	const struct mpk_view_node *n = &(side ? m->b : m->a)->nodes[index];
	const struct mpk_payload_view *row = mpk_view_row(n);
	struct mpk_span name;

	for (size_t i = 0; i < n->models.count; i++)
		MPK_TRY(add_entry(m, side, index, n->models.items[i].name));
	for (size_t i = 0; row->defines && row->defines(n->payload, i, &name); i++)
		MPK_TRY(add_entry(m, side, index, name));
	return MPK_OK;
}

/* Only modules of one kind are candidates: a name that a CUDA module and a host module share is a
 * kernel and its caller. */
static int like_name(const struct entry *x, const struct entry *y)
{
	int order = mpk_span_compare(x->by.name, y->by.name);

	return order ? order : mpk_span_compare(x->node->kind, y->node->kind);
}

static int by_pair(const void *a, const void *b)
{
	const struct shared *x = a, *y = b;
	int order = order_of(x->a, y->a);

	return order ? order : order_of(x->b, y->b);
}

/* Pairs with the most shared names first. Of equal ones a pair at one path wins, then the order
 * in the files, so that the result does not depend on qsort. */
static int by_count(const void *a, const void *b)
{
	const struct shared *x = a, *y = b;
	int order = order_of(y->count, x->count);

	if (!order)
		order = y->is_place - x->is_place;
	return order ? order : by_pair(a, b);
}

/* A pair may be added once for each name that it shares; count_shared merges them. */
static enum mpk_code match_add_shared(struct matcher *m, const struct entry *a,
				      const struct entry *b)
{
	struct shares *s = &m->shares;

	MPK_TRY_ALLOC(MPK_VEC_ROOM(s->items, s->count, s->cap), m->err);
	s->items[s->count++] =
		(struct shared){ a->index, b->index, 1, is_place(m, a->index, b->index) };
	return MPK_OK;
}

/* Those that share a name: all pairs of few, else the first with the first, the second with the second. */
static enum mpk_code add_sharers(struct matcher *m, size_t at, size_t middle, size_t end)
{
	const struct entry *e = m->entries.items;
	bool few = middle - at <= SHARERS && end - middle <= SHARERS;

	for (size_t i = at; i < middle; i++)
		for (size_t k = middle; few && k < end; k++)
			MPK_TRY(match_add_shared(m, &e[i], &e[k]));
	for (size_t i = at, k = middle; !few && i < middle && k < end; i++, k++)
		MPK_TRY(match_add_shared(m, &e[i], &e[k]));
	return MPK_OK;
}

/* One entry for each pair of modules, with how many names they share. */
static void count_shared(struct shares *s)
{
	size_t n = 0;

	qsort(s->items, s->count, sizeof *s->items, by_pair);
	for (size_t i = 0; i < s->count; i++) {
		if (n && by_pair(&s->items[n - 1], &s->items[i]) == 0)
			s->items[n - 1].count++;
		else
			s->items[n++] = s->items[i];
	}
	s->count = n;
}

/* Greedy: the pair that shares most is made first and uses up both modules. A best assignment
 * of all pairs would cost n cubed. */
static enum mpk_code match_names(struct matcher *m)
{
	struct shares *s = &m->shares;

	MPK_TRY(each_left(m, add_defined));
	MPK_TRY(each_run(m, 0, m->entries.count, like_name, add_sharers));
	if (!s->count)
		return MPK_OK;
	count_shared(s);
	qsort(s->items, s->count, sizeof *s->items, by_count);
	for (size_t i = 0; i < s->count; i++)
		if (is_free(m, s->items[i].a, s->items[i].b))
			pair(m, s->items[i].a, s->items[i].b, false);
	return MPK_OK;
}

/* --- 3 and 4: kinds and paths --------------------------------------------------------------- */

/* A path alone is a weak sign, so pairs of one kind are made before pairs of any kind. */
static void match_places(struct matcher *m, bool of_one_kind)
{
	size_t b;

	for (size_t a = 0; a < m->a->count; a++)
		if (at_path(m, a, &b) && is_free(m, a, b) && (!of_one_kind || same_kind(m, a, b)))
			pair(m, a, b, false);
}

static int like_kind(const struct entry *x, const struct entry *y)
{
	return mpk_span_compare(x->node->kind, y->node->kind);
}

/* Those that define no name. */
static enum mpk_code add_nameless(struct matcher *m, size_t side, size_t index)
{
	size_t before = m->entries.count;

	MPK_TRY(add_defined(m, side, index));
	if (m->entries.count == before)
		return match_add_module(m, side, index);
	m->entries.count = before;
	return MPK_OK;
}

/* A kind with one module left in each file: it was rewritten so that no name survived, which is
 * still the same module to a reader. */
static enum mpk_code pair_of_kind(struct matcher *m, size_t at, size_t middle, size_t next)
{
	const struct entry *e = m->entries.items;

	if (next - at == 2)
		pair(m, e[at].index, e[middle].index, false);
	return MPK_OK;
}

/* From the surest sign to the weakest; what comes later sees only what is left. */
static enum mpk_code match_all(struct matcher *m)
{
	for (size_t i = 0; i < m->b->count; i++)
		MPK_TRY_ALLOC(
			mpk_strmap_put(&m->paths, mpk_span_str(m->b->nodes[i].path), i, NULL) >= 0,
			m->err);
	MPK_TRY(match_equal(m));
	MPK_TRY(match_names(m));
	match_places(m, true);
	MPK_TRY(each_left(m, add_nameless));
	MPK_TRY(each_run(m, 0, m->entries.count, like_kind, pair_of_kind));
	match_places(m, false);
	return MPK_OK;
}

static size_t *no_modules(struct mpk_arena *arena, size_t count)
{
	size_t *list = mpk_arena_array(arena, count, sizeof *list);

	for (size_t i = 0; list && i < count; i++)
		list[i] = MPK_NO_MODULE;
	return list;
}

enum mpk_code mpk_match_modules(const struct mpk_view *a, const struct mpk_view *b,
				struct mpk_arena *arena, struct mpk_module_match *out,
				struct mpk_error *err)
{
	struct mpk_module_match match = { no_modules(arena, a->count),
					  mpk_arena_array(arena, a->count, sizeof *match.same),
					  no_modules(arena, b->count) };
	MPK_CLEANUP(matcher_fini)
	struct matcher m = { .a = a, .b = b, .match = &match, .err = err };

	MPK_TRY_ALLOC(match.partner && match.same && match.owner, err);
	MPK_TRY(match_all(&m));
	*out = match;
	return MPK_OK;
}
