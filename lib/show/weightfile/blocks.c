/* SPDX-License-Identifier: Apache-2.0 */
/* blocks.c - unpacks the values in blocks of GGUF's quantized types
 *
 * A block holds small integers and a scale: one float16 for the block. In the K types, each 16 or
 * 32 values also have a small integer scale. The layouts are the structs that ggml publishes
 * (ggml-common.h). The arithmetic follows its dequantize_row_* functions in float32 and in the same
 * order, so the values are exactly those of the model. In the types IQ1, IQ2 and IQ3, a number
 * selects a row of values from a published grid. */
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "base/native.h"
#include "value/element.h"
#include "weightfile/weightfile.h"

#include "weightfile/grids.def"

enum { K = 256 }; /* elements in a block of the larger types */

static float half_at(const uint8_t *p)
{
	return mpk_f16_to_f32((uint16_t)(p[0] | p[1] << 8));
}

static uint32_t word_at(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* --- 32 elements: the first half of them is in the low four bits, the second in the high ones --- */

static void read_q4_0(const uint8_t *p, float *out)
{
	float d = half_at(p);

	for (int i = 0; i < 16; i++) {
		out[i] = d * (float)((p[2 + i] & 15) - 8);
		out[i + 16] = d * (float)((p[2 + i] >> 4) - 8);
	}
}

static void read_q4_1(const uint8_t *p, float *out)
{
	float d = half_at(p), least = half_at(p + 2);

	for (int i = 0; i < 16; i++) {
		out[i] = d * (float)(p[4 + i] & 15) + least;
		out[i + 16] = d * (float)(p[4 + i] >> 4) + least;
	}
}

/* The fifth bits of all elements are in a separate word. */
static void read_q5_0(const uint8_t *p, float *out)
{
	float d = half_at(p);
	uint32_t high = word_at(p + 2);

	for (int i = 0; i < 16; i++) {
		out[i] = d * (float)((int)((p[6 + i] & 15) | (high >> i & 1) << 4) - 16);
		out[i + 16] =
			d * (float)((int)((p[6 + i] >> 4) | (high >> (i + 16) & 1) << 4) - 16);
	}
}

static void read_q5_1(const uint8_t *p, float *out)
{
	float d = half_at(p), least = half_at(p + 2);
	uint32_t high = word_at(p + 4);

	for (int i = 0; i < 16; i++) {
		out[i] = d * (float)((p[8 + i] & 15) | (high >> i & 1) << 4) + least;
		out[i + 16] = d * (float)((p[8 + i] >> 4) | (high >> (i + 16) & 1) << 4) + least;
	}
}

static void read_q8_0(const uint8_t *p, float *out)
{
	float d = half_at(p);

	for (int i = 0; i < 32; i++)
		out[i] = d * (float)(int8_t)p[2 + i];
}

/* Four bits select one of sixteen values, which are denser near zero. */
static const int8_t nonlinear[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
				      1,    13,   25,  38,  53,  69,  89,  113 };

static void read_iq4_nl(const uint8_t *p, float *out)
{
	float d = half_at(p);

	for (int i = 0; i < 16; i++) {
		out[i] = d * (float)nonlinear[p[2 + i] & 15];
		out[i + 16] = d * (float)nonlinear[p[2 + i] >> 4];
	}
}

/* The values of a float of 4 bits (1 sign, 2 exponent, 1 mantissa), doubled. The scales that go with
 * them are halved. */
static const int8_t fp4_doubled[16] = { 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12 };

/* Half of 2^(exponent - 127), also where that is less than the smallest normal number. */
static float half_of_e8m0(uint8_t exponent)
{
	return mpk_f32_of_bits(exponent < 2 ? UINT32_C(0x00200000) << exponent
					    : (uint32_t)(exponent - 1) << 23);
}

static void read_mxfp4(const uint8_t *p, float *out)
{
	float d = half_of_e8m0(p[0]);

	for (int i = 0; i < 16; i++) {
		out[i] = d * (float)fp4_doubled[p[1 + i] & 15];
		out[i + 16] = d * (float)fp4_doubled[p[1 + i] >> 4];
	}
}

/* An unsigned float with 4 bits of exponent and 3 of mantissa. The code of NaN counts as zero. */
static float ue4m3(uint8_t v)
{
	int exponent = v >> 3 & 15, mantissa = v & 7;

	if (v == 127)
		return 0;
	return exponent ? ldexpf(1 + (float)mantissa / 8, exponent - 7)
			: ldexpf((float)mantissa, -9);
}

/* Four scales, then four runs of 16 elements. */
static void read_nvfp4(const uint8_t *p, float *out)
{
	for (int run = 0; run < 4; run++) {
		const uint8_t *q = p + 4 + run * 8;
		float d = ue4m3(p[run]) * 0.5f;

		for (int i = 0; i < 8; i++) {
			*out++ = d * (float)fp4_doubled[q[i] & 15];
			out[7] = d * (float)fp4_doubled[q[i] >> 4];
		}
		out += 8;
	}
}

/* A set bit is the scale, a clear one its negative. */
static void read_q1_0(const uint8_t *p, float *out)
{
	float d = half_at(p);

	for (int i = 0; i < 128; i++)
		out[i] = p[2 + i / 8] >> (i % 8) & 1 ? d : -d;
}

/* --- 256 elements --- */

/* Two bits for each element: a group of 32 bytes holds the lowest two bits of 32 elements, then the
 * next two. */
static void read_q2_k(const uint8_t *p, float *out)
{
	const uint8_t *scales = p, *q = p + 16;
	float d = half_at(p + 80), least = half_at(p + 82);

	for (int i = 0; i < K; i++) {
		uint8_t scale = scales[i / 16];
		int v = q[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;

		out[i] = d * (float)(scale & 15) * (float)v - least * (float)(scale >> 4);
	}
}

/* Unpacks sixteen 6-bit scales from twelve bytes: first all low four bits, then all high two
 * bits. */
static int scale_of_q3(const uint8_t *packed, int i)
{
	int low = i < 8 ? packed[i] & 15 : packed[i - 8] >> 4;

	return (low | (packed[8 + i % 4] >> (i / 4 * 2) & 3) << 4) - 32;
}

/* If the third bit of an element is set, 0 is subtracted, else 4. */
static void read_q3_k(const uint8_t *p, float *out)
{
	const uint8_t *high = p, *q = p + 32;
	float d = half_at(p + 108);

	for (int i = 0; i < K; i++) {
		int v = q[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;

		v -= high[i % 32] >> (i / 32) & 1 ? 0 : 4;
		out[i] = d * (float)scale_of_q3(p + 96, i / 16) * (float)v;
	}
}

/* Unpacks eight 6-bit scales and eight 6-bit minimums from twelve bytes. */
static void scales_of_q4(const uint8_t *packed, int i, uint8_t *scale, uint8_t *least)
{
	if (i < 4) {
		*scale = packed[i] & 63;
		*least = packed[i + 4] & 63;
	} else {
		*scale = (uint8_t)((packed[i + 4] & 15) | packed[i - 4] >> 6 << 4);
		*least = (uint8_t)(packed[i + 4] >> 4 | packed[i] >> 6 << 4);
	}
}

/* The low four bits of each 32 bytes are 32 elements, the high four bits the next 32. In Q5_K, the
 * fifth bits of the i-th 32 elements are bit i of 32 further bytes. */
static void read_q45_k(const uint8_t *scales, const uint8_t *high, const uint8_t *q, float *out)
{
	float d = half_at(scales - 4), down = half_at(scales - 2);

	for (int i = 0; i < K / 32; i++) {
		uint8_t scale, least;

		scales_of_q4(scales, i, &scale, &least);
		for (int k = 0; k < 32; k++) {
			int v = q[i / 2 * 32 + k] >> (i % 2 * 4) & 15;

			v |= high ? (high[k] >> i & 1) << 4 : 0;
			out[i * 32 + k] = d * (float)scale * (float)v - down * (float)least;
		}
	}
}

static void read_q4_k(const uint8_t *p, float *out)
{
	read_q45_k(p + 4, NULL, p + 16, out);
}

static void read_q5_k(const uint8_t *p, float *out)
{
	read_q45_k(p + 4, p + 16, p + 48, out);
}

/* The low four bits of each 64 bytes are the first half of 128 elements, the high four bits the
 * second half. Two more bits of each element are in 32 further bytes. */
static void read_q6_k(const uint8_t *p, float *out)
{
	float d = half_at(p + 208);

	for (int i = 0; i < K; i++) {
		const uint8_t *low = p + i / 128 * 64, *high = p + 128 + i / 128 * 32;
		int v = low[i % 64] >> (i % 128 / 64 * 4) & 15;

		v |= (high[i % 32] >> (i % 128 / 32 * 2) & 3) << 4;
		out[i] = d * (float)(int8_t)p[192 + i / 16] * (float)(v - 32);
	}
}

static void read_q8_k(const uint8_t *p, float *out)
{
	float d = mpk_f32_of_bits(word_at(p));

	for (int i = 0; i < K; i++)
		out[i] = d * (float)(int8_t)p[4 + i];
}

static void read_iq4_xs(const uint8_t *p, float *out)
{
	unsigned high = p[2] | (unsigned)p[3] << 8;
	float d = half_at(p);

	for (int i = 0; i < K / 32; i++) {
		int scale = (p[4 + i / 2] >> (i % 2 * 4) & 15) | (int)(high >> (2 * i) & 3) << 4;
		float each = d * (float)(scale - 32);

		for (int k = 0; k < 16; k++) {
			out[i * 32 + k] = each * (float)nonlinear[p[8 + i * 16 + k] & 15];
			out[i * 32 + 16 + k] = each * (float)nonlinear[p[8 + i * 16 + k] >> 4];
		}
	}
}

/* Unpacks an element of a byte, which is a fraction in base 3 with five digits: multiplying by a
 * power of three moves the digit to the top. */
static float trit(uint8_t byte, int digit)
{
	static const uint8_t powers[] = { 1, 3, 9, 27, 81 };

	return (float)((uint8_t)(byte * powers[digit]) * 3 >> 8) - 1;
}

static void read_tq1_0(const uint8_t *p, float *out)
{
	float d = half_at(p + 52);

	for (int i = 0; i < 160; i++)
		*out++ = d * trit(p[i % 32], i / 32);
	for (int i = 0; i < 80; i++)
		*out++ = d * trit(p[32 + i % 16], i / 16);
	for (int i = 0; i < 16; i++)
		*out++ = d * trit(p[48 + i % 4], i / 4);
}

static void read_tq2_0(const uint8_t *p, float *out)
{
	float d = half_at(p + 64);

	for (int i = 0; i < K; i++)
		out[i] = d * (float)((p[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3) - 1);
}

/* --- 256 elements, in rows of grids --- */

/* Unpacks eight values of IQ2: a row of a grid, with a sign for each value. */
static void put_iq2(uint16_t row, uint8_t signs, float scale, float *out)
{
	static const uint8_t values[4] = { 8, 25, 43 };

	for (int i = 0; i < 8; i++) {
		float v = scale * (float)values[row >> (2 * i) & 3];

		out[i] = signs >> i & 1 ? -v : v;
	}
}

/* Where seven bits give the signs of eight values, the eighth makes the number of negative values
 * even. */
static uint8_t signs_of(uint32_t bits)
{
	uint8_t seven = bits & 127;

	return (uint8_t)(seven | (__builtin_popcount(seven) & 1) << 7);
}

/* For each 32 elements: four row numbers in a word, then 4 * 7 bits of signs and 4 of scale. */
static void read_iq2_xxs(const uint8_t *p, float *out)
{
	float d = half_at(p);

	for (int i = 0; i < K / 8; i++) {
		const uint8_t *q = p + 2 + i / 4 * 8;
		uint32_t word = word_at(q + 4);

		put_iq2(grid_iq2_xxs[q[i % 4]], signs_of(word >> (i % 4 * 7)),
			d * (0.5f + (float)(word >> 28)) * 0.25f, out + i * 8);
	}
}

/* For each 8 elements: 9 bits of row number, 7 of signs. For each 16: 4 bits of scale. */
static void read_iq2_xs(const uint8_t *p, float *out)
{
	float d = half_at(p);

	for (int i = 0; i < K / 8; i++) {
		unsigned q = p[2 + i * 2] | (unsigned)p[3 + i * 2] << 8;
		int scale = p[66 + i / 4] >> (i / 2 % 2 * 4) & 15;

		put_iq2(grid_iq2_xs[q & 511], signs_of(q >> 9), d * (0.5f + (float)scale) * 0.25f,
			out + i * 8);
	}
}

/* The ninth and tenth bit of the row numbers are in separate bytes. */
static void read_iq2_s(const uint8_t *p, float *out)
{
	const uint8_t *q = p + 2, *signs = p + 34, *high = p + 66, *scales = p + 74;
	float d = half_at(p);

	for (int i = 0; i < K / 8; i++) {
		int row = q[i] | (high[i / 4] >> (i % 4 * 2) & 3) << 8;
		int scale = scales[i / 4] >> (i / 2 % 2 * 4) & 15;

		put_iq2(grid_iq2_s[row], signs[i], d * (0.5f + (float)scale) * 0.25f, out + i * 8);
	}
}

/* Unpacks eight values of IQ3: two rows of a grid, with a sign for each value. */
static void put_iq3(uint16_t first, uint16_t second, const uint8_t values[8], uint8_t signs,
		    float scale, float *out)
{
	uint32_t rows = first | (uint32_t)second << 16;

	for (int i = 0; i < 8; i++) {
		float v = scale * (float)values[rows >> (4 * i) & 7];

		out[i] = signs >> i & 1 ? -v : v;
	}
}

/* For each 32 elements: eight row numbers, and a word as in IQ2_XXS. */
static void read_iq3_xxs(const uint8_t *p, float *out)
{
	static const uint8_t values[8] = { 4, 12, 20, 28, 36, 44, 52, 62 };
	float d = half_at(p);

	for (int i = 0; i < K / 8; i++) {
		const uint8_t *q = p + 2 + i * 2;
		uint32_t word = word_at(p + 66 + i / 4 * 4);

		put_iq3(grid_iq3_xxs[q[0]], grid_iq3_xxs[q[1]], values,
			signs_of(word >> (i % 4 * 7)), d * (0.5f + (float)(word >> 28)) * 0.5f,
			out + i * 8);
	}
}

/* The ninth bits of the row numbers are in separate bytes. */
static void read_iq3_s(const uint8_t *p, float *out)
{
	static const uint8_t values[8] = { 1, 3, 5, 7, 9, 11, 13, 15 };
	const uint8_t *q = p + 2, *high = p + 66, *signs = p + 74, *scales = p + 106;
	float d = half_at(p);

	for (int i = 0; i < K / 8; i++) {
		unsigned bits = (unsigned)high[i / 4] >> (i % 4 * 2);
		int scale = scales[i / 8] >> (i / 4 % 2 * 4) & 15;

		put_iq3(grid_iq3_s[q[i * 2] | (bits & 1) << 8],
			grid_iq3_s[q[i * 2 + 1] | (bits >> 1 & 1) << 8], values, signs[i],
			d * (float)(1 + 2 * scale), out + i * 8);
	}
}

/* Unpacks eight values of IQ1: -1, 0 or 1, all moved by 1/8 up or down. */
static void put_iq1(uint16_t row, bool down, float scale, float *out)
{
	for (int i = 0; i < 8; i++)
		out[i] = scale * ((float)((row >> (2 * i) & 3) - 1) + (down ? -0.125f : 0.125f));
}

/* For each 32 elements, two bytes: the upper 3 bits of four row numbers, 3 bits of scale, and the
 * direction. */
static void read_iq1_s(const uint8_t *p, float *out)
{
	const uint8_t *q = p + 2;
	float d = half_at(p);

	for (int i = 0; i < K / 8; i++) {
		int high = p[34 + i / 4 * 2] | p[35 + i / 4 * 2] << 8;
		int row = q[i] | (high >> (i % 4 * 3) & 7) << 8;

		put_iq1(grid_iq1[row], high >> 15, d * (float)(2 * (high >> 12 & 7) + 1),
			out + i * 8);
	}
}

/* The scale of an IQ1_M block: its float16 is in the upper four bits of four words. */
static float scale_of_iq1_m(const uint8_t *p)
{
	return mpk_f16_to_f32((uint16_t)(p[49] >> 4 | (p[51] & 0xf0) | (p[53] & 0xf0) << 4 |
					 (p[55] & 0xf0) << 8));
}

/* For each 8 elements, four bits: the upper 3 bits of the row number, and the direction. For each
 * 16 elements: 3 bits of scale, four of these in a word. */
static void read_iq1_m(const uint8_t *p, float *out)
{
	float d = scale_of_iq1_m(p);

	for (int i = 0; i < K / 8; i++) {
		int high = p[32 + i / 2] >> (i % 2 * 4) & 15, at = 48 + i / 8 * 2;
		int scale = (p[at] | p[at + 1] << 8) >> (i / 2 % 4 * 3) & 7;

		put_iq1(grid_iq1[p[i] | (high & 7) << 8], high >> 3, d * (float)(2 * scale + 1),
			out + i * 8);
	}
}

/* --- types --- */

static const struct mpk_block_type types[] = {
	{ "Q1_0", 128, 18, MPK_SCALE_F16, 0, read_q1_0 },
	{ "Q4_0", 32, 18, MPK_SCALE_F16, 0, read_q4_0 },
	{ "Q4_1", 32, 20, MPK_SCALE_F16, 0, read_q4_1 },
	{ "Q5_0", 32, 22, MPK_SCALE_F16, 0, read_q5_0 },
	{ "Q5_1", 32, 24, MPK_SCALE_F16, 0, read_q5_1 },
	{ "Q8_0", 32, 34, MPK_SCALE_F16, 0, read_q8_0 },
	{ "MXFP4", 32, 17, MPK_SCALE_E8M0, 0, read_mxfp4 },
	{ "NVFP4", 64, 36, MPK_SCALE_UE4M3, 0, read_nvfp4 },
	{ "Q2_K", K, 84, MPK_SCALE_F16, 80, read_q2_k },
	{ "Q3_K", K, 110, MPK_SCALE_F16, 108, read_q3_k },
	{ "Q4_K", K, 144, MPK_SCALE_F16, 0, read_q4_k },
	{ "Q5_K", K, 176, MPK_SCALE_F16, 0, read_q5_k },
	{ "Q6_K", K, 210, MPK_SCALE_F16, 208, read_q6_k },
	{ "Q8_K", K, 292, MPK_SCALE_F32, 0, read_q8_k },
	{ "IQ4_NL", 32, 18, MPK_SCALE_F16, 0, read_iq4_nl },
	{ "IQ4_XS", K, 136, MPK_SCALE_F16, 0, read_iq4_xs },
	{ "TQ1_0", K, 54, MPK_SCALE_F16, 52, read_tq1_0 },
	{ "TQ2_0", K, 66, MPK_SCALE_F16, 64, read_tq2_0 },
	{ "IQ1_S", K, 50, MPK_SCALE_F16, 0, read_iq1_s },
	{ "IQ1_M", K, 56, MPK_SCALE_IQ1_M, 0, read_iq1_m },
	{ "IQ2_XXS", K, 66, MPK_SCALE_F16, 0, read_iq2_xxs },
	{ "IQ2_XS", K, 74, MPK_SCALE_F16, 0, read_iq2_xs },
	{ "IQ2_S", K, 82, MPK_SCALE_F16, 0, read_iq2_s },
	{ "IQ3_XXS", K, 98, MPK_SCALE_F16, 0, read_iq3_xxs },
	{ "IQ3_S", K, 110, MPK_SCALE_F16, 0, read_iq3_s },
};

const struct mpk_block_type *mpk_block_type_of(const char *type)
{
	for (size_t i = 0; type && i < MPK_ARRAY_COUNT(types); i++)
		if (strcmp(types[i].type, type) == 0)
			return &types[i];
	return NULL;
}

size_t mpk_block_scales(const struct mpk_block_type *type, const uint8_t *block,
			double out[MPK_BLOCK_SCALES])
{
	const uint8_t *p = block + type->scale_at;

	switch (type->scale) {
	case MPK_SCALE_F16:
		out[0] = (double)half_at(p);
		return 1;
	case MPK_SCALE_F32:
		out[0] = (double)mpk_f32_of_bits(word_at(p));
		return 1;
	case MPK_SCALE_E8M0:
		out[0] = 2 * (double)half_of_e8m0(*p);
		return 1;
	case MPK_SCALE_UE4M3:
		for (size_t i = 0; i < MPK_BLOCK_SCALES; i++)
			out[i] = (double)ue4m3(p[i]);
		return MPK_BLOCK_SCALES;
	case MPK_SCALE_IQ1_M:
		out[0] = (double)scale_of_iq1_m(p);
		return 1;
	}
	return 0;
}

/* --- the elements of any tensor --- */

bool mpk_weight_values_open(const struct mpk_weight_set *set, const struct mpk_weight *w,
			    struct mpk_weight_values *out)
{
	struct mpk_weight_values v = { .type = mpk_weight_stored(w) };

	if (w->coding == MPK_WEIGHT_ELSEWHERE || !mpk_weight_set_bytes(set, w, &v.bytes))
		return false;
	if (w->coding == MPK_WEIGHT_BLOCKS) {
		v.blocks = mpk_block_type_of(w->type);
		if (!v.blocks)
			return false;
		v.count = v.bytes.len / v.blocks->bytes * v.blocks->elements;
	} else {
		if (v.type.lanes != 1 || v.type.bits % 8 != 0 ||
		    mpk_element_class(v.type) == MPK_ELEMENT_NONE)
			return false;
		v.count = v.bytes.len / (v.type.bits / 8u);
	}
	*out = v;
	return true;
}

size_t mpk_weight_values_read(const struct mpk_weight_values *v, uint64_t first, double *out)
{
	size_t n = v->count - first < MPK_WEIGHT_RUN ? (size_t)(v->count - first) : MPK_WEIGHT_RUN;
	size_t width = v->type.bits / 8u;

	if (v->blocks) {
		for (size_t at = 0; at < n; at += v->blocks->elements) {
			float block[K];

			v->blocks->read(v->bytes.data + (first + at) / v->blocks->elements *
								v->blocks->bytes,
					block);
			for (size_t i = 0; i < v->blocks->elements; i++)
				out[at + i] = (double)block[i];
		}
		return n;
	}
	for (size_t i = 0; i < n; i++) {
		uint8_t native[MPK_SCALAR_MAX];

		memcpy(native, v->bytes.data + (first + i) * width, width);
		mpk_native_from_little(native, width, width);
		out[i] = mpk_element_to_double(mpk_element_load(v->type, native));
	}
	return n;
}
