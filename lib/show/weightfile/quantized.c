/* SPDX-License-Identifier: Apache-2.0 */
/* quantized.c - reads values that are packed into words, with a scale for each group, as MLC LLM
 * writes them
 *
 * A file does not state how its words are packed, so it is deduced: the words and the scales have
 * the same shape except for one axis, and no value of 4 bits is 15, none of 8 bits 255, since
 * values count from 0 to twice the maximum. Other words are not interpreted. That includes values
 * of 3 bits: their groups of 40 do not fill most rows, and the file does not tell how many values
 * of the last group are padding. */
#include <string.h>

#include "base/native.h"
#include "value/element.h"
#include "weightfile/weightfile.h"

enum {
	WORD = 4,          /* bytes */
	LOOK_AROUND = 256, /* number of tensors before and after in which the scales are searched */
};

static uint32_t word_at(struct mpk_span words, uint64_t i)
{
	const uint8_t *p = words.data + i * WORD;

	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Whether two names are "x.q_weight" and "x.q_scale". */
static bool is_scale_of(struct mpk_span scale, struct mpk_span weight)
{
	static const char of_weight[] = "q_weight", of_scale[] = "q_scale";
	size_t len = weight.len - strlen(of_weight);

	return weight.len >= strlen(of_weight) && scale.len == len + strlen(of_scale) &&
	       memcmp(weight.data + len, of_weight, strlen(of_weight)) == 0 &&
	       memcmp(scale.data + len, of_scale, strlen(of_scale)) == 0 &&
	       memcmp(scale.data, weight.data, len) == 0;
}

/* Writers put both tensors near each other. A limit keeps the time linear in the number of
 * tensors. */
static const struct mpk_weight *scale_of(const struct mpk_weights *all, const struct mpk_weight *w)
{
	size_t at = (size_t)(w - all->items);

	for (size_t n = 1; n <= LOOK_AROUND; n++) {
		if (at + n < all->count && is_scale_of(all->items[at + n].name, w->name))
			return &all->items[at + n];
		if (at >= n && is_scale_of(all->items[at - n].name, w->name))
			return &all->items[at - n];
	}
	return NULL;
}

static uint64_t elements_of(const struct mpk_weight *w)
{
	uint64_t count = 1;

	/* the reader has checked the product for overflow */
	for (size_t i = 0; i < w->ndim; i++)
		count *= (uint64_t)w->shape[i];
	return count;
}

/* Finds the one axis in which the extents of words and scales differ; the former must be a multiple
 * of the latter. */
static bool find_axis(const struct mpk_weight *w, const struct mpk_weight *scale,
		      struct mpk_weight_groups *out)
{
	bool found = false;

	if (w->ndim != scale->ndim)
		return false;
	for (size_t i = 0; i < w->ndim; i++) {
		if (w->shape[i] == scale->shape[i])
			continue;
		if (found || !scale->shape[i] || w->shape[i] % scale->shape[i] != 0)
			return false;
		found = true;
		out->axis = i;
	}
	if (!found)
		return false;
	out->words_long = (uint64_t)w->shape[out->axis];
	out->scales_long = (uint64_t)scale->shape[out->axis];
	out->inner = 1;
	for (size_t i = out->axis + 1; i < w->ndim; i++)
		out->inner *= (uint64_t)w->shape[i];
	return true;
}

/* Returns  4 or 8; 0 if neither fits */
static unsigned bits_of(struct mpk_span words, uint64_t words_of_group)
{
	uint32_t nibbles = 0, bytes = 0, any = 0;

	for (uint64_t i = 0; i < words.len / WORD; i++) {
		uint32_t w = word_at(words, i), two = w & w >> 1, four = two & two >> 2;

		any |= w;
		nibbles |= four & 0x11111111;           /* 15 */
		bytes |= four & four >> 4 & 0x01010101; /* 255 */
	}
	/* ten values of 3 bits leave the two highest bits of every word unused */
	if (words_of_group == 4 && !(any >> 30))
		return 0;
	return !nibbles ? 4 : !bytes ? 8 : 0;
}

bool mpk_weight_groups_of(const struct mpk_weight_set *set, const struct mpk_weight *w,
			  struct mpk_weight_groups *out)
{
	static const struct mpk_dtype u32 = { MPK_DTYPE_UINT, 32, 1 };
	struct mpk_weight_groups g = { 0 };
	const struct mpk_weight *scale;

	if (w->coding != MPK_WEIGHT_PLAIN || !mpk_dtype_equal(w->dtype, u32))
		return false;
	scale = scale_of(&set->weights, w);
	if (!scale || scale->coding == MPK_WEIGHT_BLOCKS || scale->coding == MPK_WEIGHT_ELSEWHERE)
		return false;
	g.scale_type = mpk_weight_stored(scale);
	if (g.scale_type.lanes != 1 ||
	    (g.scale_type.code != MPK_DTYPE_FLOAT && g.scale_type.code != MPK_DTYPE_BFLOAT) ||
	    (g.scale_type.bits != 16 && g.scale_type.bits != 32) || !find_axis(w, scale, &g) ||
	    !mpk_weight_set_bytes(set, w, &g.words) ||
	    !mpk_weight_set_bytes(set, scale, &g.scales) || !g.words.len ||
	    g.words.len != elements_of(w) * WORD ||
	    g.scales.len != elements_of(scale) * (g.scale_type.bits / 8u))
		return false;
	g.bits = bits_of(g.words, g.words_long / g.scales_long);
	if (!g.bits)
		return false;
	g.group = g.words_long / g.scales_long * (32 / g.bits);
	*out = g;
	return true;
}

static double scale_at(const struct mpk_weight_groups *g, uint64_t i)
{
	size_t width = g->scale_type.bits / 8u;
	uint8_t native[MPK_SCALAR_MAX];

	memcpy(native, g->scales.data + i * width, width);
	mpk_native_from_little(native, width, width);
	return mpk_element_to_double(mpk_element_load(g->scale_type, native));
}

void mpk_weight_groups_read(const struct mpk_weight_groups *g, uint64_t first, size_t words,
			    double *out)
{
	uint64_t of_group = g->words_long / g->scales_long;
	uint32_t mask = g->bits == 4 ? 15 : 255;
	double greatest = mask >> 1;

	for (uint64_t i = first; i < first + words; i++) {
		uint64_t along = i / g->inner % g->words_long, outer = i / g->inner / g->words_long;
		double scale = scale_at(g, (outer * g->scales_long + along / of_group) * g->inner +
						   i % g->inner);

		for (uint32_t w = word_at(g->words, i), k = 0; k < 32; k += g->bits)
			*out++ = ((double)(w >> k & mask) - greatest) * scale;
	}
}
