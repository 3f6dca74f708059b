/* SPDX-License-Identifier: Apache-2.0 */
/* The edit graph has a point (x, y) for each prefix of a and of b; a diagonal is x - y. One search
 * starts at the first point of a box, another at its last, and they run towards each other. A
 * shortest path passes through the point where their furthest paths meet, so the box is cut in two
 * at this point. */
#include "compare/internal/compare.h"

#include <stdlib.h>

/* after so many steps of each search, the furthest point is used instead */
enum { COST_MAX = 512 };

struct search {
	struct mpk_sequence a, b;
	/* furthest x of each diagonal; the first diagonal is -(b.count + 1) */
	int32_t *forward, *backward;
};

struct box {
	int32_t x0, x1, y0, y1; /* elements [x0, x1) of a, [y0, y1) of b */
};

struct point {
	int32_t x, y;
};

/* The diagonals that one search has reached. */
struct front {
	int32_t *x;     /* furthest x on each diagonal */
	int32_t lo, hi; /* diagonals examined in this step */
	int32_t end;    /* value for diagonals that no path has reached: -1, or beyond all */
};

/* Elements are line numbers, so comparing two lines means comparing two integers. */
static bool same(const struct search *s, int32_t x, int32_t y)
{
	return s->a.ids[x] == s->b.ids[y];
}

/* Adds one diagonal on either side, within the box. A side outside the box moves back by one, which
 * keeps the parity. */
static void widen(struct front *f, int32_t lo_min, int32_t hi_max)
{
	if (f->lo > lo_min)
		f->x[--f->lo - 1] = f->end;
	else
		f->lo++;
	if (f->hi < hi_max)
		f->x[++f->hi + 1] = f->end;
	else
		f->hi--;
}

/* One step of the search from the beginning. Returns whether it met the other search, at *meet. */
static bool step_forward(const struct search *s, const struct box *box, struct front *f,
			 const struct front *other, bool may_meet, struct point *meet)
{
	for (int32_t d = f->hi; d >= f->lo; d -= 2) {
		int32_t x = f->x[d - 1] >= f->x[d + 1] ? f->x[d - 1] + 1 : f->x[d + 1];

		while (x < box->x1 && x - d < box->y1 && same(s, x, x - d))
			x++;
		f->x[d] = x;
		if (may_meet && d >= other->lo && d <= other->hi && other->x[d] <= x &&
		    x <= box->x1 && x - d <= box->y1) {
			*meet = (struct point){ x, x - d };
			return true;
		}
	}
	return false;
}

/* The mirror of step_forward: it looks for the least x on each diagonal, and moves towards the
 * beginning of the box. */
static bool step_backward(const struct search *s, const struct box *box, struct front *f,
			  const struct front *other, bool may_meet, struct point *meet)
{
	for (int32_t d = f->hi; d >= f->lo; d -= 2) {
		int32_t x = f->x[d - 1] < f->x[d + 1] ? f->x[d - 1] : f->x[d + 1] - 1;

		while (x > box->x0 && x - d > box->y0 && same(s, x - 1, x - d - 1))
			x--;
		f->x[d] = x;
		if (may_meet && d >= other->lo && d <= other->hi && x <= other->x[d] &&
		    x >= box->x0 && x - d >= box->y0) {
			*meet = (struct point){ x, x - d };
			return true;
		}
	}
	return false;
}

static int32_t least(int32_t a, int32_t b)
{
	return a < b ? a : b;
}

static int32_t most(int32_t a, int32_t b)
{
	return a > b ? a : b;
}

/* If a split takes too long, returns the point with the most progress that a search reached. Each
 * step makes progress, so neither part is the whole box. */
static struct point furthest(const struct box *box, const struct front *f, const struct front *b)
{
	struct point best = { box->x0, box->y0 }, back = { box->x1, box->y1 };

	for (int32_t d = f->lo; d <= f->hi; d += 2) {
		int32_t x = least(least(f->x[d], box->x1), box->y1 + d);

		if (x >= box->x0 && x - d >= box->y0 &&
		    (int64_t)x + x - d > (int64_t)best.x + best.y)
			best = (struct point){ x, x - d };
	}
	for (int32_t d = b->lo; d <= b->hi; d += 2) {
		int32_t x = most(most(b->x[d], box->x0), box->y0 + d);

		if (x <= box->x1 && x - d <= box->y1 &&
		    (int64_t)x + x - d < (int64_t)back.x + back.y)
			back = (struct point){ x, x - d };
	}
	if ((int64_t)best.x - box->x0 + best.y - box->y0 <
	    (int64_t)box->x1 - back.x + box->y1 - back.y)
		return back;
	return best;
}

/* Returns a point within the box through which the script passes. */
static struct point script_split(const struct search *s, const struct box *box)
{
	int32_t lo_min = box->x0 - box->y1, hi_max = box->x1 - box->y0;
	int32_t f_mid = box->x0 - box->y0, b_mid = box->x1 - box->y1;
	/* Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), section 4b: the parity
	 * of the difference in length tells in which of the two half steps the searches can meet */
	bool odd = ((f_mid - b_mid) & 1) != 0;
	struct front f = { s->forward, f_mid, f_mid, -1 };
	struct front b = { s->backward, b_mid, b_mid, INT32_MAX };
	struct point meet;

	f.x[f_mid] = box->x0;
	b.x[b_mid] = box->x1;
	for (int cost = 0; cost < COST_MAX; cost++) {
		widen(&f, lo_min, hi_max);
		if (step_forward(s, box, &f, &b, odd, &meet))
			return meet;
		widen(&b, lo_min, hi_max);
		if (step_backward(s, box, &b, &f, !odd, &meet))
			return meet;
	}
	return furthest(box, &f, &b);
}

/* Removes common elements at the beginning and the end: they are on a shortest path, and cost one
 * comparison each. */
static struct box shrink(const struct search *s, struct box box)
{
	while (box.x0 < box.x1 && box.y0 < box.y1 && same(s, box.x0, box.y0)) {
		box.x0++;
		box.y0++;
	}
	while (box.x0 < box.x1 && box.y0 < box.y1 && same(s, box.x1 - 1, box.y1 - 1)) {
		box.x1--;
		box.y1--;
	}
	return box;
}

/* 64 bits: the sum of two sides of 2^31 elements would overflow 32 bits. */
static int64_t room(const struct box *box)
{
	return (int64_t)box->x1 - box->x0 + box->y1 - box->y0;
}

/* Recurses into the smaller part and loops over the larger one, so the stack depth is
 * logarithmic. */
static void solve(const struct search *s, struct box box)
{
	for (;;) {
		box = shrink(s, box);
		if (box.x0 == box.x1 || box.y0 == box.y1)
			break;
		struct point at = script_split(s, &box);
		struct box first = { box.x0, at.x, box.y0, at.y };
		struct box second = { at.x, box.x1, at.y, box.y1 };
		bool first_is_smaller = room(&first) < room(&second);

		/* cannot happen; if it did, the whole box would still be a valid script */
		if (!room(&first) || !room(&second))
			break;
		solve(s, first_is_smaller ? first : second);
		box = first_is_smaller ? second : first;
	}
	for (int32_t x = box.x0; x < box.x1; x++)
		s->a.changed[x] = true;
	for (int32_t y = box.y0; y < box.y1; y++)
		s->b.changed[y] = true;
}

enum mpk_code mpk_script_find(struct mpk_sequence a, struct mpk_sequence b, struct mpk_error *err)
{
	/* diagonals -b.count .. a.count, and one more on either side */
	size_t diagonals = a.count + b.count + 3;
	int32_t *fronts = calloc(2 * diagonals, sizeof *fronts);

	MPK_TRY_ALLOC(fronts, err);
	struct search s = { a, b, fronts + b.count + 1, fronts + diagonals + b.count + 1 };

	solve(&s, (struct box){ 0, (int32_t)a.count, 0, (int32_t)b.count });
	free(fronts);
	return MPK_OK;
}
