/* SPDX-License-Identifier: Apache-2.0 */
/* hash.c - digests of fields, of parts in any order, and of nodes with everything that they reach
 *
 * All digests are SHA-256. A digest that is a field of another one represents everything it was
 * made from. So the digest of a kernel covers the functions that it calls, and each function is
 * read once. */
#include "canon/internal/canon.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/vec.h"
#include "canon/canon.h"

enum { DIGEST = MPK_DIGEST_BYTES };

/* --- fields --------------------------------------------------------------------------------- */

static void flush(struct mpk_canon_hash *h)
{
	if (h->code == MPK_OK && h->used)
		h->code = mpk_digest_update(&h->digest, mpk_span_of(h->buffer, h->used), NULL);
	h->used = 0;
}

void mpk_canon_raw(struct mpk_canon_hash *h, struct mpk_span bytes)
{
	if (!bytes.len || h->code != MPK_OK)
		return;
	if (bytes.len > sizeof h->buffer - h->used)
		flush(h);
	if (bytes.len > sizeof h->buffer) {
		if (h->code == MPK_OK)
			h->code = mpk_digest_update(&h->digest, bytes, NULL);
		return;
	}
	memcpy(h->buffer + h->used, bytes.data, bytes.len);
	h->used += bytes.len;
}

void mpk_canon_u64(struct mpk_canon_hash *h, uint64_t number)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(number >> 8 * i);
	mpk_canon_raw(h, mpk_span_of(bytes, sizeof bytes));
}

void mpk_canon_bytes(struct mpk_canon_hash *h, struct mpk_span bytes)
{
	mpk_canon_u64(h, bytes.len);
	mpk_canon_raw(h, bytes);
}

void mpk_canon_begin(struct mpk_canon_hash *h, const char *what)
{
	*h = (struct mpk_canon_hash){ 0 };
	h->code = mpk_digest_init(&h->digest, MPK_DIGEST_SHA256, NULL);
	mpk_canon_bytes(h, mpk_span_str(what));
}

void mpk_canon_hash_fini(struct mpk_canon_hash *h)
{
	mpk_digest_fini(&h->digest);
}

enum mpk_code mpk_canon_end(struct mpk_canon_hash *h, uint8_t out[DIGEST], struct mpk_error *err)
{
	struct mpk_digest again = { 0 };
	enum mpk_code code;

	flush(h);
	code = h->code;
	if (code == MPK_OK)
		code = mpk_digest_final(&h->digest, out, err);
	else if (code == MPK_E_LOAD) /* the message of the first failure was not kept */
		code = mpk_digest_init(&again, MPK_DIGEST_SHA256, err);
	else
		code = code == MPK_E_NOMEM ? mpk_fail_nomem(err)
					   : mpk_fail(err, code, "SHA-256 could not be computed");
	mpk_digest_fini(&again);
	mpk_canon_hash_fini(h);
	return code;
}

enum mpk_code mpk_canon_spend(uint64_t *left, const char *format, uint64_t bytes,
			      struct mpk_error *err)
{
	if (bytes > *left)
		return mpk_fail(err, MPK_E_CORRUPT, "%s: its parts overlap", format);
	*left -= bytes;
	return MPK_OK;
}

/* --- parts ---------------------------------------------------------------------------------- */

bool mpk_canon_part(struct mpk_canon_parts *parts, size_t to, const uint8_t digest[DIGEST])
{
	struct mpk_canon_part *p;

	if (to > UINT32_MAX || !MPK_VEC_ROOM(parts->items, parts->count, parts->cap))
		return false;
	p = &parts->items[parts->count++];
	p->to = (uint32_t)to;
	memcpy(p->digest, digest, DIGEST);
	return true;
}

static int by_node(const void *a, const void *b)
{
	const struct mpk_canon_part *x = a, *y = b;

	return x->to != y->to ? (x->to > y->to ? 1 : -1) : memcmp(x->digest, y->digest, DIGEST);
}

enum mpk_code mpk_canon_sum(struct mpk_canon_parts *parts, size_t count,
			    const uint8_t (*own)[DIGEST], uint8_t (*out)[DIGEST],
			    struct mpk_error *err)
{
	size_t at = 0;

	if (parts->count)
		qsort(parts->items, parts->count, sizeof *parts->items, by_node);
	for (size_t i = 0; i < count; i++) {
		struct mpk_canon_hash h;

		mpk_canon_begin(&h, "parts");
		if (own)
			mpk_canon_raw(&h, mpk_span_of(own[i], DIGEST));
		for (; at < parts->count && parts->items[at].to == i; at++)
			mpk_canon_raw(&h, mpk_span_of(parts->items[at].digest, DIGEST));
		MPK_TRY(mpk_canon_end(&h, out[i], err));
	}
	return MPK_OK;
}

/* --- nodes and what they reach: Tarjan's algorithm, without recursion ------------------------ */

bool mpk_canon_edge(struct mpk_canon_edges *edges, size_t from, size_t to)
{
	if (from == to)
		return true;
	if (from > UINT32_MAX || to > UINT32_MAX ||
	    !MPK_VEC_ROOM(edges->items, edges->count, edges->cap))
		return false;
	edges->items[edges->count++] = (struct mpk_canon_edge){ (uint32_t)from, (uint32_t)to };
	return true;
}

MPK_ORDER_BY2(by_from, struct mpk_canon_edge, from, to)

struct visit {
	uint32_t order; /* number of the node in the order of the first visit, from 1; 0: not
			 * visited */
	uint32_t low;   /* lowest order on the stack that the node is known to reach */
	uint32_t next;  /* its next edge to follow */
	uint32_t end;   /* end of its edges */
	bool on_stack;
};

struct walk {
	const struct mpk_canon_edge *edges;
	const uint8_t (*local)[DIGEST];
	uint8_t (*out)[DIGEST];
	struct visit *visits;
	uint32_t *path, *stack; /* nodes on the way to this one; nodes that belong to no component
				 * yet */
	size_t depth, height;
	uint32_t met;
	struct mpk_canon_parts parts; /* parts of the component that is being closed */
	struct mpk_error *err;
};

static void canon_hash_walk_fini(struct walk *w)
{
	free(w->visits);
	free(w->path);
	free(w->stack);
	free(w->parts.items);
}

static void meet(struct walk *w, uint32_t node)
{
	struct visit *v = &w->visits[node];

	v->order = v->low = ++w->met;
	v->on_stack = true;
	w->path[w->depth++] = node;
	w->stack[w->height++] = node;
}

/* All components that this one leads to are closed already; their digests are parts of its digest.
 * Parts for 0 are its members, parts for 1 are the components that it leads to. */
static enum mpk_code close_component(struct walk *w, uint32_t root)
{
	size_t first = w->height;
	struct mpk_canon_hash h;
	uint8_t digest[DIGEST];

	while (w->stack[--first] != root)
		;
	w->parts.count = 0;
	for (size_t i = first; i < w->height; i++)
		MPK_TRY_ALLOC(mpk_canon_part(&w->parts, 0, w->local[w->stack[i]]), w->err);
	for (size_t i = first; i < w->height; i++) {
		uint32_t node = w->stack[i], from = w->visits[node].end;

		while (from && w->edges[from - 1].from == node) {
			const struct visit *to = &w->visits[w->edges[--from].to];

			if (!to->on_stack)
				MPK_TRY_ALLOC(
					mpk_canon_part(&w->parts, 1, w->out[w->edges[from].to]),
					w->err);
		}
	}
	qsort(w->parts.items, w->parts.count, sizeof *w->parts.items, by_node);
	mpk_canon_begin(&h, "reach");
	mpk_canon_u64(&h, w->height - first);
	for (size_t i = 0; i < w->parts.count; i++)
		if (!w->parts.items[i].to || !i ||
		    by_node(&w->parts.items[i], &w->parts.items[i - 1]) != 0)
			mpk_canon_raw(&h, mpk_span_of(w->parts.items[i].digest, DIGEST));
	MPK_TRY(mpk_canon_end(&h, digest, w->err));
	for (size_t i = first; i < w->height; i++) {
		memcpy(w->out[w->stack[i]], digest, DIGEST);
		w->visits[w->stack[i]].on_stack = false;
	}
	w->height = first;
	return MPK_OK;
}

static enum mpk_code canon_hash_walk_from(struct walk *w, uint32_t start)
{
	meet(w, start);
	while (w->depth) {
		uint32_t node = w->path[w->depth - 1];
		struct visit *v = &w->visits[node];

		if (v->next < v->end) {
			uint32_t to = w->edges[v->next++].to;
			const struct visit *other = &w->visits[to];

			if (!other->order)
				meet(w, to);
			else if (other->on_stack && other->order < v->low)
				v->low = other->order;
			continue;
		}
		w->depth--;
		if (v->low == v->order)
			MPK_TRY(close_component(w, node));
		if (w->depth) {
			struct visit *above = &w->visits[w->path[w->depth - 1]];

			above->low = v->low < above->low && v->on_stack ? v->low : above->low;
		}
	}
	return MPK_OK;
}

enum mpk_code mpk_canon_reach(struct mpk_canon_edges *edges, size_t count,
			      const uint8_t (*local)[DIGEST], uint8_t (*out)[DIGEST],
			      struct mpk_error *err)
{
	MPK_CLEANUP(canon_hash_walk_fini)
	struct walk w = { .local = local, .out = out, .err = err };
	size_t at = 0;

	if (count >= UINT32_MAX || edges->count >= UINT32_MAX)
		return mpk_fail_nomem(err);
	w.visits = calloc(count + 1, sizeof *w.visits);
	w.path = calloc(count + 1, sizeof *w.path);
	w.stack = calloc(count + 1, sizeof *w.stack);
	MPK_TRY_ALLOC(w.visits && w.path && w.stack, err);
	if (edges->count)
		qsort(edges->items, edges->count, sizeof *edges->items, by_from);
	w.edges = edges->items;
	for (size_t i = 0; i < count; i++) {
		w.visits[i].next = (uint32_t)at;
		while (at < edges->count && edges->items[at].from == i)
			at++;
		w.visits[i].end = (uint32_t)at;
	}
	for (size_t i = 0; i < count; i++)
		if (!w.visits[i].order)
			MPK_TRY(canon_hash_walk_from(&w, (uint32_t)i));
	return MPK_OK;
}
