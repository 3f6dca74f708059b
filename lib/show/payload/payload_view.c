/* SPDX-License-Identifier: Apache-2.0 */
/* payload_view.c - the table of printers by kind of payload, and statistics of tensors
 *
 * The table is generated from the list of payloads in formats/payload.h. A payload without printers
 * does not link, so callers need not check which payload they have. */
#include "payload/payload_view.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cursor.h"
#include "base/half.h"
#include "text/escape.h"
#include "text/phrase.h"
#include "text/table.h"

/* For modules that have no payload: host code. */
static const struct mpk_payload_view view_of_nothing = { 0 };

/* Arm Ethos-N networks are opaque programs: only their bytes can be extracted. */
const struct mpk_payload_view mpk_payload_view_ethosn = { 0 };

#define DECLARE(TAG, member, type) extern const struct mpk_payload_view mpk_payload_view_##member;
MPK_PAYLOADS(DECLARE)

const struct mpk_payload_view *mpk_payload_view_of(const struct mpk_payload *p)
{
	static const struct mpk_payload_view *const rows[] = { [MPK_PAYLOAD_EMPTY] =
								       &view_of_nothing,
#define ROW(TAG, member, type) [MPK_PAYLOAD_##TAG] = &mpk_payload_view_##member,
							       MPK_PAYLOADS(ROW) };

	return p ? rows[p->tag] : &view_of_nothing;
}

void mpk_put_tensor_counts(size_t count, uint64_t bytes, const char *what, struct mpk_strbuf *out)
{
	mpk_put_also(out, count, what);
	if (bytes)
		mpk_strbuf_printf(out, " (%s)", MPK_SIZE(bytes));
}

/* --- tensors --------------------------------------------------------------------------------
 *
 * NaNs and infinities are counted separately: one of them would make the minimum or mean
 * useless. */

/* The sum of the values: long double holds the sum of any number of doubles without overflow, and
 * of integers without a visible error. */
struct sum {
	struct mpk_stats *s;
	long double total;
	uint64_t n;
};

/* Merges one value into the member of the range for its type. */
#define ADD(sum, member, v)                                                                        \
	do {                                                                                       \
		struct mpk_stats *s_ = (sum)->s;                                                   \
		if (!(sum)->n || (v) < s_->range.member.min)                                       \
			s_->range.member.min = (v);                                                \
		if (!(sum)->n || (v) > s_->range.member.max)                                       \
			s_->range.member.max = (v);                                                \
		(sum)->total += (long double)(v);                                                  \
		(sum)->n++;                                                                        \
	} while (0)

static void add_float(struct sum *sum, double v)
{
	if (isnan(v))
		sum->s->nans++;
	else if (isinf(v))
		sum->s->infs++;
	else
		ADD(sum, f, v);
}

/* Loads an unaligned little-endian number, as tensors in a blob are. */
static uint64_t stats_load(const uint8_t *p, size_t width)
{
	switch (width) {
	case 1:
		return *p;
	case 2:
		return mpk_load_u16(p);
	case 4:
		return mpk_load_u32(p);
	default:
		return mpk_load_u64(p);
	}
}

/* Converts bits of 2, 4 or 8 bytes to a number; brain selects bfloat16 for 2 bytes. */
static double to_float(uint64_t bits, size_t width, bool brain)
{
	uint32_t low = (uint32_t)bits;
	double d;
	float f;

	if (width == 2)
		return (double)(brain ? mpk_bf16_to_f32((uint16_t)bits)
				      : mpk_f16_to_f32((uint16_t)bits));
	if (width == 4) {
		memcpy(&f, &low, sizeof f);
		return (double)f;
	}
	memcpy(&d, &bits, sizeof d);
	return d;
}

static int64_t to_signed(uint64_t bits, size_t width)
{
	/* flipping the sign bit and subtracting it copies it to all higher bits,
	 * without shifting a negative number */
	uint64_t sign = UINT64_C(1) << (8 * width - 1);
	uint64_t extended = (bits ^ sign) - sign; /* intentionally modulo 2^64 */
	int64_t v;

	memcpy(&v, &extended, sizeof v);
	return v;
}

/* Types of other widths are packed or have several encodings, so they get no statistics. */
static enum mpk_stats_kind stats_kind_of(struct mpk_dtype t)
{
	bool whole = t.bits == 8 || t.bits == 16 || t.bits == 32 || t.bits == 64;

	if (mpk_dtype_is_bool(t))
		return MPK_STATS_UNSIGNED;
	if (t.code == MPK_DTYPE_INT && whole)
		return MPK_STATS_SIGNED;
	if (t.code == MPK_DTYPE_UINT && whole)
		return MPK_STATS_UNSIGNED;
	if (t.code == MPK_DTYPE_FLOAT && whole && t.bits != 8)
		return MPK_STATS_FLOAT;
	return t.code == MPK_DTYPE_BFLOAT && t.bits == 16 ? MPK_STATS_FLOAT : MPK_STATS_NONE;
}

struct mpk_stats mpk_stats_of(const struct mpk_tensor_record *t)
{
	/* a bool takes a byte, though its type may have one bit */
	size_t width = t->dtype.bits < 8 ? 1 : t->dtype.bits / 8U;
	struct mpk_stats s = { .kind = stats_kind_of(t->dtype) };
	struct sum sum = { .s = &s };

	if (s.kind == MPK_STATS_NONE || t->data.len % width)
		return (struct mpk_stats){ 0 };
	s.count = t->data.len / width;
	for (size_t at = 0; at < t->data.len; at += width) {
		uint64_t bits = stats_load(t->data.data + at, width);

		if (s.kind == MPK_STATS_FLOAT)
			add_float(&sum, to_float(bits, width, t->dtype.code == MPK_DTYPE_BFLOAT));
		else if (s.kind == MPK_STATS_SIGNED)
			ADD(&sum, i, to_signed(bits, width));
		else
			ADD(&sum, u, bits);
	}
	/* a tensor of only NaNs has no mean */
	if (sum.n)
		s.mean = (double)(sum.total / (long double)sum.n);
	return s;
}

/* Range and mean cover the finite values, and are omitted if there are none. */
void mpk_stats_text(const struct mpk_stats *s, struct mpk_strbuf *out)
{
	const char *comma = "";

	if (s->count > s->nans + s->infs) {
		if (s->kind == MPK_STATS_FLOAT)
			mpk_strbuf_printf(out, "min %.6g, max %.6g", s->range.f.min,
					  s->range.f.max);
		else if (s->kind == MPK_STATS_SIGNED)
			mpk_strbuf_printf(out, "min %" PRId64 ", max %" PRId64, s->range.i.min,
					  s->range.i.max);
		else
			mpk_strbuf_printf(out, "min %" PRIu64 ", max %" PRIu64, s->range.u.min,
					  s->range.u.max);
		mpk_strbuf_printf(out, ", mean %.6g", s->mean);
		comma = ", ";
	}
	if (s->nans)
		mpk_strbuf_printf(out, "%s%" PRIu64 " NaN", comma, s->nans);
	if (s->infs)
		mpk_strbuf_printf(out, "%s%" PRIu64 " infinite", s->nans ? ", " : comma, s->infs);
}

void mpk_tensor_text(struct mpk_span name, const struct mpk_tensor_record *t,
		     const struct mpk_stats *stats, struct mpk_strbuf *out)
{
	const struct mpk_type type = mpk_type_tensor(t->dtype, t->shape, t->ndim, NULL);

	mpk_escape(out, name);
	mpk_strbuf_puts(out, ": ");
	mpk_type_text(&type, out);
	mpk_strbuf_printf(out, " (%s)", MPK_SIZE(t->data.len));
	if (!stats)
		return;
	mpk_strbuf_puts(out, stats->count ? "  " : "");
	mpk_stats_text(stats, out);
}
