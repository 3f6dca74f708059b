/* SPDX-License-Identifier: Apache-2.0 */
/* figures.c - statistics of the elements of a tensor, in one pass over its bytes
 *
 * A type of 8 or 16 bits has so few values that occurrences are counted, and the figures are
 * computed from the counts: exact, and as fast as memory. Wider types are processed in runs that
 * fit in the cache: first the mean of a run, then the squared distances from it. Runs are merged by
 * the rule of Chan, Golub and LeVeque, which loses no digits even if the mean is large and the
 * deviation small. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/native.h"
#include "value/element.h"
#include "weightfile/weightfile.h"

enum {
	RUN = MPK_WEIGHT_RUN,
	NARROW = 65536, /* values of 16 bits */
};

/* Moments of a set of finite elements. */
struct moments {
	uint64_t count;
	double mean, squares; /* squares: sum of the squared distances from the mean */
};

static void merge(struct moments *a, const struct moments *b)
{
	uint64_t count = a->count + b->count;
	double distance = b->mean - a->mean;

	if (!b->count)
		return;
	a->squares += b->squares +
		      distance * distance * ((double)a->count * (double)b->count / (double)count);
	a->mean += distance * ((double)b->count / (double)count);
	a->count = count;
}

/* Returns the exponent of frexp(3), from the bits, since a call for every element would be too
 * slow. Subnormal numbers get too large an exponent, but are in the first bin all the
 * same. */
static unsigned bin_of(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof bits);
	int exponent = (int)(bits >> 52 & 0x7ff) - 1022 - MPK_WEIGHT_BIN_FIRST;

	return exponent < 0                  ? 0
	       : exponent >= MPK_WEIGHT_BINS ? MPK_WEIGHT_BINS - 1
					     : (unsigned)exponent;
}

/* Adds one value that occurs `times` times. */
static void add_value(struct mpk_weight_figures *g, struct moments *all, double v, uint64_t times)
{
	const struct moments one = { times, v, 0 };

	if (!times)
		return;
	if (isnan(v)) {
		g->nans += times;
		return;
	}
	if (isinf(v)) {
		g->infinities += times;
		return;
	}
	if (v == 0)
		g->zeros += times;
	else
		g->bins[bin_of(v)] += times;
	if (!g->has_range || v < g->least)
		g->least = v;
	if (!g->has_range || v > g->greatest)
		g->greatest = v;
	g->has_range = true;
	merge(all, &one);
}

/* Adds a run of numbers, some of which may not be finite. */
static void add_run(struct mpk_weight_figures *g, struct moments *all, const double *v, size_t n)
{
	/* four separate sums, so that additions can overlap */
	double sum[4] = { 0 }, squares[4] = { 0 };
	double least = v[0], greatest = v[0];
	struct moments run = { .count = n };
	size_t whole = n / 4 * 4;

	for (size_t i = 0; i < whole; i += 4)
		for (size_t k = 0; k < 4; k++)
			sum[k] += v[i + k];
	for (size_t i = whole; i < n; i++)
		sum[0] += v[i];
	run.mean = (sum[0] + sum[1] + sum[2] + sum[3]) / (double)n;
	/* the sum contains an infinity or a NaN, or it overflowed */
	if (!isfinite(run.mean)) {
		for (size_t i = 0; i < n; i++)
			add_value(g, all, v[i], 1);
		return;
	}
	for (size_t i = 0; i < whole; i += 4)
		for (size_t k = 0; k < 4; k++)
			squares[k] += (v[i + k] - run.mean) * (v[i + k] - run.mean);
	for (size_t i = whole; i < n; i++)
		squares[0] += (v[i] - run.mean) * (v[i] - run.mean);
	run.squares = squares[0] + squares[1] + squares[2] + squares[3];
	for (size_t i = 0; i < n; i++) {
		least = v[i] < least ? v[i] : least;
		greatest = v[i] > greatest ? v[i] : greatest;
		if (v[i] == 0)
			g->zeros++;
		else
			g->bins[bin_of(v[i])]++;
	}
	if (!g->has_range || least < g->least)
		g->least = least;
	if (!g->has_range || greatest > g->greatest)
		g->greatest = greatest;
	g->has_range = true;
	merge(all, &run);
}

static double value_of(struct mpk_dtype t, const uint8_t *p, size_t width)
{
	uint8_t native[MPK_SCALAR_MAX];

	memcpy(native, p, width);
	mpk_native_from_little(native, width, width);
	return mpk_element_to_double(mpk_element_load(t, native));
}

/* Counts values for types of one and two bytes. Returns false if memory is out */
static bool count_values(struct mpk_dtype t, size_t width, struct mpk_span bytes,
			 struct mpk_weight_figures *g, struct moments *all)
{
	size_t values = width == 1 ? 256 : NARROW;
	uint64_t *counts = calloc(values, sizeof *counts);

	if (!counts)
		return false;
	for (size_t i = 0; i < bytes.len / width; i++)
		counts[width == 1 ? bytes.data[i]
				  : bytes.data[2 * i] | bytes.data[2 * i + 1] << 8]++;
	for (size_t bits = 0; bits < values; bits++) {
		const uint8_t stored[2] = { (uint8_t)bits, (uint8_t)(bits >> 8) };

		if (counts[bits])
			add_value(g, all, value_of(t, stored, width), counts[bits]);
	}
	free(counts);
	return true;
}

static void add_wide(struct mpk_dtype t, size_t width, struct mpk_span bytes,
		     struct mpk_weight_figures *g, struct moments *all)
{
	bool is_f32 = t.code == MPK_DTYPE_FLOAT && t.bits == 32;
	double run[RUN];

	for (size_t at = 0, count = bytes.len / width; at < count;) {
		size_t n = count - at < RUN ? count - at : RUN;
		const uint8_t *p = bytes.data + at * width;

		for (size_t i = 0; i < n; i++, p += width) {
			uint32_t bits = (uint32_t)p[0] | (uint32_t)p[1] << 8 |
					(uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;

			run[i] = is_f32 ? (double)mpk_f32_of_bits(bits) : value_of(t, p, width);
		}
		add_run(g, all, run, n);
		at += n;
	}
}

static void add_groups(const struct mpk_weight_groups *from, struct mpk_weight_figures *g,
		       struct moments *all)
{
	size_t of_word = 32 / from->bits, words = from->words.len / 4;
	double run[RUN];

	g->bits = from->bits;
	g->group = from->group;
	g->axis = from->axis;
	g->count = (uint64_t)words * of_word;
	for (size_t at = 0; at < words;) {
		size_t n = words - at < RUN / of_word ? words - at : RUN / of_word;

		mpk_weight_groups_read(from, at, n, run);
		add_run(g, all, run, n * of_word);
		at += n;
	}
}

/* --- quantized blocks --- */

/* Adds the values of all blocks, and the range of their scales. */
static void add_blocks(const struct mpk_weight_values *v, struct mpk_weight_figures *g,
		       struct moments *all)
{
	struct mpk_weight_figures scales = { 0 };
	struct moments of_scales = { 0 };
	double run[MPK_WEIGHT_RUN];

	g->blocks = v->bytes.len / v->blocks->bytes;
	g->block_elements = v->blocks->elements;
	for (uint64_t i = 0; i < g->blocks; i++) {
		double each[MPK_BLOCK_SCALES];
		size_t n = mpk_block_scales(v->blocks, v->bytes.data + i * v->blocks->bytes, each);

		for (size_t k = 0; k < n; k++)
			add_value(&scales, &of_scales, each[k], 1);
	}
	g->has_scales = scales.has_range;
	g->least_scale = scales.least;
	g->greatest_scale = scales.greatest;
	g->mean_scale = of_scales.mean;
	g->count = v->count;
	for (uint64_t at = 0; at < v->count;) {
		size_t n = mpk_weight_values_read(v, at, run);

		add_run(g, all, run, n);
		at += n;
	}
}

/* Whether elements take whole bytes and their type has numbers. */
static bool has_figures(const struct mpk_weight *w)
{
	struct mpk_dtype t = mpk_weight_stored(w);

	return w->coding != MPK_WEIGHT_BLOCKS && w->coding != MPK_WEIGHT_ELSEWHERE &&
	       t.lanes == 1 && t.bits % 8 == 0 && mpk_element_class(t) != MPK_ELEMENT_NONE;
}

bool mpk_weight_figures_of(const struct mpk_weight_set *set, const struct mpk_weight *w,
			   struct mpk_weight_figures *out)
{
	struct mpk_dtype t = mpk_weight_stored(w);
	size_t width = t.bits / 8u;
	struct moments all = { 0 };
	struct mpk_weight_groups groups;
	struct mpk_weight_values values;
	struct mpk_span bytes;

	*out = (struct mpk_weight_figures){ 0 };
	if (w->coding == MPK_WEIGHT_BLOCKS) {
		if (!mpk_weight_values_open(set, w, &values))
			return false;
		add_blocks(&values, out, &all);
	} else if (mpk_weight_groups_of(set, w, &groups)) {
		add_groups(&groups, out, &all);
	} else {
		if (!has_figures(w) || !mpk_weight_set_bytes(set, w, &bytes))
			return false;
		out->count = bytes.len / width;
		if (width > 2)
			add_wide(t, width, bytes, out, &all);
		else if (!count_values(t, width, bytes, out, &all))
			return false;
	}
	out->not_finite = out->nans + out->infinities;
	out->mean = all.mean;
	out->deviation = all.count ? sqrt(all.squares / (double)all.count) : 0;
	return true;
}
