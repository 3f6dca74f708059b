/* SPDX-License-Identifier: Apache-2.0 */
/* An added module shifts the paths of all modules after it, so a path is the weakest sign of
 * identity. Each step pairs modules that the steps before left over. All steps sort and merge,
 * since a hostile file has a hundred thousand modules that look alike. */
#include "diff/internal/compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "base/vec.h"
#include "io/digest.h"

/* A module of either file, with its sort keys. */
struct entry {
	const struct mpk_node *node;
	size_t index, side; /* side 0: file a, 1: file b */
	union {
		struct mpk_span name; /* a name that the module defines */
		uint8_t digest[MPK_XXH128_BYTES];
	} by;
};

struct entries {
	struct entry *items;
	size_t count, cap;
};

/* The number of names that two modules, one of each file, share. */
struct shared {
	size_t a, b, count;
	bool is_place; /* both have the same path */
};

struct shares {
	struct shared *items;
	size_t count, cap;
};

struct matcher {
	const struct mpk_view *a, *b;
	struct mpk_strmap paths; /* paths of b */
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

/* A pair is final: each step pairs only modules that the earlier, surer steps left over. */
static bool is_free(const struct matcher *m, size_t a, size_t b)
{
	return m->match->partner[a] == MPK_NO_MODULE && m->match->owner[b] == MPK_NO_MODULE;
}

static bool same_kind(const struct matcher *m, size_t a, size_t b)
{
	return mpk_span_equal(m->a->nodes[a].node->kind, m->b->nodes[b].node->kind);
}

/* Finds the module of b with the path of a module of a. Paths of deep trees are cut; then the index
 * decides. */
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

/* All steps share one array of entries, which never shrinks. */
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

/* Defines when entries are alike. */
struct likeness {
	int (*like)(const struct entry *x, const struct entry *y);
};

/* Ties are broken by file and then by position, so that equal modules pair in order, and so that
 * qsort, which is not stable, cannot change the result. */
static int by_likeness(const void *a, const void *b, void *arg)
{
	const struct likeness *l = arg;
	const struct entry *x = a, *y = b;
	int order = l->like(x, y);

	order = order ? order : order_of(x->side, y->side);
	return order ? order : order_of(x->index, y->index);
}

/* Sorts entries [at, end), and calls fn for each run of entries that are alike and occur in both
 * files: those of a are [at, middle), those of b [middle, next). */
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

/* Kind and length are compared before content: most modules differ in one of them, so their
 * payloads need not be read. */
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

/* Modules that neither moved nor changed are the majority in most files. They are paired without
 * sorting. */
static void match_equal_places(struct matcher *m)
{
	size_t b;

	for (size_t a = 0; a < m->a->count; a++)
		if (at_path(m, a, &b) && is_free(m, a, b) && same_kind(m, a, b) &&
		    mpk_span_equal(m->a->nodes[a].node->payload, m->b->nodes[b].node->payload))
			pair(m, a, b, true);
}

/* The author of a file can forge equal digests, so the comparison of the modules reads the bytes
 * again. */
static enum mpk_code pair_in_order(struct matcher *m, size_t at, size_t middle, size_t next)
{
	const struct entry *e = m->entries.items;

	for (size_t i = at, k = middle; i < middle && k < next; i++, k++)
		pair(m, e[i].index, e[k].index, false);
	return MPK_OK;
}

/* Pairs payloads of equal kind and length: two are compared directly, more of them by digest, so
 * that a payload is read a fixed number of times however many look alike. */
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

/* If a name occurs in at most so many modules of each file, all pairs of them are tried. */
enum { SHARERS = 4 };

/* Adds an entry for each name that a module defines. */
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

/* Only modules of one kind are candidates: a name shared by a CUDA module and a host module is a
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

/* Sorts pairs by the number of shared names, most first. Among equals, pairs with one path come
 * first, then the order in the files decides, so that the result does not depend on qsort. */
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

/* Adds pairs of modules that share a name: all pairs if there are few, else the first with the
 * first, the second with the second. */
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

/* Merges the entries of each pair, and counts its shared names. */
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

/* Greedy: the pair with the most shared names is made first, and both its modules are used up. A
 * best assignment would take cubic time. */
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

/* A path is a weak sign, so pairs of one kind are made before pairs of any kind. */
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

/* Adds a module that defines no name. */
static enum mpk_code add_nameless(struct matcher *m, size_t side, size_t index)
{
	size_t before = m->entries.count;

	MPK_TRY(add_defined(m, side, index));
	if (m->entries.count == before)
		return match_add_module(m, side, index);
	m->entries.count = before;
	return MPK_OK;
}

/* If each file has one unpaired module of a kind, it was rewritten so that no name survived. To a
 * reader it is still the same module. */
static enum mpk_code pair_of_kind(struct matcher *m, size_t at, size_t middle, size_t next)
{
	const struct entry *e = m->entries.items;

	if (next - at == 2)
		pair(m, e[at].index, e[middle].index, false);
	return MPK_OK;
}

/* Goes from the surest sign to the weakest; each step sees only modules that are still unpaired. */
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
