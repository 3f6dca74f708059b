/* SPDX-License-Identifier: Apache-2.0 */
/* stream.c - LLVM's bitstream, read from front to back
 *
 * A stream defines its own abbreviations, which say how the operands of a record are coded: for one
 * block or, in BLOCKINFO, for all blocks of one id. Everything takes at least one bit of the input,
 * so time and memory are linear in it; an array whose elements have no bits is refused. */
#include "bitcode/internal/stream.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "base/cursor.h"
#include "base/vec.h"

enum {
	WORD_BITS = 32,
	TOP_WIDTH = 2, /* width of abbreviation ids outside of all blocks */
	DEPTH_MAX = 32,
	BLOCKINFO = 0,
	SETBID = 1,
	/* abbreviation ids with a fixed meaning */
	END_BLOCK = 0,
	ENTER_SUBBLOCK = 1,
	DEFINE_ABBREV = 2,
	UNABBREV_RECORD = 3,
	FIRST_ABBREV = 4,
};

enum coding { LITERAL, FIXED, VBR, ARRAY, CHAR6, BLOB };

struct operand {
	enum coding coding;
	uint64_t value; /* value of a literal; else a number of bits */
};

struct abbreviation {
	size_t first, count; /* its operands */
};

/* A block that is being read. */
struct block {
	unsigned id, width, depth;
	uint64_t end; /* offset of its end in bits */
	/* The abbreviations that it may use, first those of BLOCKINFO. They are not copied, because a
	 * stream may have many of them and many blocks. */
	size_t info, info_count; /* index in infos; number of its abbreviations that apply */
	size_t *abbrevs;         /* its own abbreviations; malloc'ed */
	size_t count, cap;
};

/* The abbreviations of BLOCKINFO for all blocks of one id. */
struct for_blocks {
	unsigned id;
	size_t *abbrevs;
	size_t count, cap;
};

struct walker {
	struct mpk_span bytes;
	uint64_t at, end; /* offset of the next bit, and of the end */
	struct mpk_bitstream_visitor *visitor;
	struct operand *operands; /* malloc'ed, as the other arrays are */
	size_t operand_count, operand_cap;
	struct abbreviation *abbrevs;
	size_t abbrev_count, abbrev_cap;
	struct for_blocks *infos;
	size_t info_count, info_cap;
	size_t info_first; /* first entry of the last BLOCKINFO, which replaces earlier ones: each
			    * module has its own */
	uint64_t *ops;
	size_t op_cap;
	bool failed; /* something extends beyond the end */
};

static void walker_fini(struct walker *w)
{
	for (size_t i = 0; i < w->info_count; i++)
		free(w->infos[i].abbrevs);
	free(w->infos);
	free(w->operands);
	free(w->abbrevs);
	free(w->ops);
}

static void block_fini(struct block *b)
{
	free(b->abbrevs);
}

static enum mpk_code corrupt(const struct walker *w, struct mpk_error *err, const char *what)
{
	return mpk_fail_offset(err, MPK_E_CORRUPT, "payload", w->at / 8, "%s", what);
}

/* --- bits ------------------------------------------------------------------------------ */

/* Returns up to 64 bits; the caller has checked that they exist. */
static uint64_t bits_at(struct mpk_span bytes, uint64_t at, unsigned count)
{
	uint64_t out = 0;
	size_t byte = (size_t)(at / 8);
	unsigned shift = (unsigned)(at % 8), have = 0;

	if (bytes.len - byte > sizeof out && count < 64 - shift)
		return mpk_load_u64(bytes.data + byte) >> shift & ((UINT64_C(1) << count) - 1);
	while (have < count) {
		unsigned take = 8 - shift < count - have ? 8 - shift : count - have;

		out |= (uint64_t)(bytes.data[byte] >> shift & ((UINT64_C(1) << take) - 1)) << have;
		have += take;
		shift = 0;
		byte++;
	}
	return out;
}

static uint64_t fixed(struct walker *w, unsigned count)
{
	uint64_t out;

	if (count > w->end - w->at) {
		w->failed = true;
		w->at = w->end;
		return 0;
	}
	out = bits_at(w->bytes, w->at, count);
	w->at += count;
	return out;
}

/* A number of more than 64 bits is cut, as LLVM does. */
static uint64_t vbr_from(struct mpk_span bytes, uint64_t *at, uint64_t end, unsigned width,
			 bool *failed)
{
	uint64_t out = 0, high = UINT64_C(1) << (width - 1);

	for (unsigned shift = 0;; shift += width - 1) {
		uint64_t piece;

		if (width > end - *at) {
			*failed = true;
			*at = end;
			return 0;
		}
		piece = bits_at(bytes, *at, width);
		*at += width;
		if (shift < 64)
			out |= (piece & (high - 1)) << shift;
		if (!(piece & high))
			return out;
	}
}

static uint64_t vbr(struct walker *w, unsigned width)
{
	return vbr_from(w->bytes, &w->at, w->end, width, &w->failed);
}

uint64_t mpk_bitstream_vbr(struct mpk_span bytes, uint64_t *bit, unsigned width, bool *failed)
{
	return vbr_from(bytes, bit, (uint64_t)bytes.len * 8, width, failed);
}

static void align(struct walker *w)
{
	uint64_t to = (w->at + WORD_BITS - 1) / WORD_BITS * WORD_BITS;

	w->failed |= to > w->end;
	w->at = to > w->end ? w->end : to;
}

/* --- abbreviations ------------------------------------------------------------------------ */

static enum mpk_code add_number(size_t **list, size_t *count, size_t *cap, size_t number,
				struct mpk_error *err)
{
	MPK_TRY_ALLOC(mpk_vec_reserve(list, cap, *count + 1, sizeof **list), err);
	(*list)[(*count)++] = number;
	return MPK_OK;
}

/* An array is the last but one operand, and its element the last; a blob is the last. */
static enum mpk_code check_operands(const struct walker *w, const struct abbreviation *a,
				    struct mpk_error *err)
{
	const struct operand *o = a->count ? w->operands + a->first : NULL;

	if (!o || o[0].coding == ARRAY || o[0].coding == BLOB)
		return corrupt(w, err, "an abbreviation has no code");
	for (size_t i = 0; i < a->count; i++) {
		if (o[i].coding == BLOB && i + 1 != a->count)
			return corrupt(w, err, "something follows the blob of an abbreviation");
		if (o[i].coding == ARRAY && i + 2 != a->count)
			return corrupt(w, err, "the array of an abbreviation is not its last");
		if (i && o[i - 1].coding == ARRAY &&
		    (o[i].coding == ARRAY || o[i].coding == BLOB || o[i].coding == LITERAL))
			return corrupt(w, err, "an array of elements without bits");
	}
	return MPK_OK;
}

/* An operand without bits is zero, like a literal. */
static enum mpk_code read_operand(struct walker *w, struct mpk_error *err)
{
	struct operand o = { LITERAL, 0 };

	if (fixed(w, 1)) {
		o.value = vbr(w, 8);
	} else {
		o.coding = (enum coding)fixed(w, 3);
		if (o.coding < FIXED || o.coding > BLOB)
			return corrupt(w, err, "an abbreviation of an unknown coding");
		if (o.coding == FIXED || o.coding == VBR)
			o.value = vbr(w, 5);
		if (o.value > 64 || (o.coding == VBR && o.value == 1))
			return corrupt(w, err, "an abbreviation of a width that none has");
		if ((o.coding == FIXED || o.coding == VBR) && !o.value)
			o.coding = LITERAL;
	}
	MPK_TRY_ALLOC(MPK_VEC_ROOM(w->operands, w->operand_count, w->operand_cap), err);
	w->operands[w->operand_count++] = o;
	return MPK_OK;
}

static enum mpk_code define(struct walker *w, size_t *number, struct mpk_error *err)
{
	struct abbreviation a = { .first = w->operand_count };

	a.count = (size_t)vbr(w, 5);
	for (size_t i = 0; i < a.count; i++) {
		if (w->failed)
			return corrupt(w, err, "an abbreviation is cut off");
		MPK_TRY(read_operand(w, err));
	}
	MPK_TRY(check_operands(w, &a, err));
	MPK_TRY_ALLOC(MPK_VEC_ROOM(w->abbrevs, w->abbrev_count, w->abbrev_cap), err);
	*number = w->abbrev_count;
	w->abbrevs[w->abbrev_count++] = a;
	return MPK_OK;
}

static struct for_blocks *info_of(struct walker *w, unsigned id)
{
	for (size_t i = w->info_first; i < w->info_count; i++)
		if (w->infos[i].id == id)
			return &w->infos[i];
	return NULL;
}

static enum mpk_code add_info(struct walker *w, unsigned id, size_t number, struct mpk_error *err)
{
	enum { INFOS_MAX = 64 }; /* LLVM has 27 kinds of blocks */
	struct for_blocks *info = info_of(w, id);

	if (!info) {
		if (w->info_count - w->info_first == INFOS_MAX)
			return corrupt(w, err,
				       "abbreviations for more kinds of blocks than there are");
		MPK_TRY_ALLOC(MPK_VEC_ROOM(w->infos, w->info_count, w->info_cap), err);
		info = &w->infos[w->info_count++];
		*info = (struct for_blocks){ .id = id };
	}
	return add_number(&info->abbrevs, &info->count, &info->cap, number, err);
}

/* --- records ------------------------------------------------------------------------------- */

static enum mpk_code put_op(struct walker *w, uint64_t value, size_t *count, struct mpk_error *err)
{
	if ((*count)++ >= MPK_BITSTREAM_OPERANDS)
		return MPK_OK;
	MPK_TRY_ALLOC(mpk_vec_reserve(&w->ops, &w->op_cap, *count, sizeof *w->ops), err);
	w->ops[*count - 1] = value;
	return MPK_OK;
}

static uint64_t scalar(struct walker *w, const struct operand *o)
{
	static const char char6[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";

	switch (o->coding) {
	case LITERAL:
		return o->value;
	case FIXED:
		return fixed(w, (unsigned)o->value);
	case VBR:
		return vbr(w, (unsigned)o->value);
	case CHAR6:
		return (uint8_t)char6[fixed(w, 6)];
	case ARRAY:
	case BLOB:
		break;
	}
	return 0;
}

static enum mpk_code read_blob(struct walker *w, struct mpk_span *out, struct mpk_error *err)
{
	uint64_t len = vbr(w, 6);

	align(w);
	if (w->failed || len > (w->end - w->at) / 8)
		return corrupt(w, err, "a blob reaches beyond its block");
	*out = mpk_span_of(w->bytes.data + w->at / 8, (size_t)len);
	w->at += len * 8;
	align(w);
	return MPK_OK;
}

static enum mpk_code read_abbreviated(struct walker *w, const struct abbreviation *a,
				      struct mpk_bitstream_record *r, size_t *count,
				      struct mpk_error *err)
{
	r->code = scalar(w, &w->operands[a->first]);
	for (size_t i = 1; i < a->count; i++) {
		const struct operand *o = &w->operands[a->first + i];

		if (o->coding == BLOB) {
			MPK_TRY(read_blob(w, &r->blob, err));
		} else if (o->coding == ARRAY) {
			uint64_t len = vbr(w, 6);

			/* Each element takes at least one bit. */
			if (len > w->end - w->at)
				return corrupt(w, err, "an array reaches beyond its block");
			for (uint64_t k = 0; k < len && !w->failed; k++)
				MPK_TRY(put_op(w, scalar(w, o + 1), count, err));
			break;
		} else {
			MPK_TRY(put_op(w, scalar(w, o), count, err));
		}
	}
	return MPK_OK;
}

static enum mpk_code read_plain(struct walker *w, struct mpk_bitstream_record *r, size_t *count,
				struct mpk_error *err)
{
	enum { WIDTH = 6 };
	uint64_t len;

	r->code = vbr(w, WIDTH);
	len = vbr(w, WIDTH);
	if (len > (w->end - w->at) / WIDTH)
		return corrupt(w, err, "a record reaches beyond its block");
	for (uint64_t i = 0; i < len && !w->failed; i++)
		MPK_TRY(put_op(w, vbr(w, WIDTH), count, err));
	return MPK_OK;
}

static enum mpk_code read_record(struct walker *w, const struct block *b, uint64_t id,
				 struct mpk_bitstream_record *r, struct mpk_error *err)
{
	size_t count = 0;

	*r = (struct mpk_bitstream_record){ .block = b->id, .depth = b->depth };
	if (id == UNABBREV_RECORD)
		MPK_TRY(read_plain(w, r, &count, err));
	else if (id - FIRST_ABBREV < b->info_count)
		MPK_TRY(read_abbreviated(w,
					 &w->abbrevs[w->infos[b->info].abbrevs[id - FIRST_ABBREV]],
					 r, &count, err));
	else if (id - FIRST_ABBREV - b->info_count < b->count)
		MPK_TRY(read_abbreviated(w,
					 &w->abbrevs[b->abbrevs[id - FIRST_ABBREV - b->info_count]],
					 r, &count, err));
	else
		return corrupt(w, err, "a record with an abbreviation that is not defined");
	if (w->failed)
		return corrupt(w, err, "a record is cut off");
	r->ops = w->ops;
	r->count = count < MPK_BITSTREAM_OPERANDS ? count : MPK_BITSTREAM_OPERANDS;
	return MPK_OK;
}

/* --- blocks -------------------------------------------------------------------------------- */

static enum mpk_code walk_block(struct walker *w, struct block *b, struct mpk_error *err);

/* Reads the header of a block, then reads or skips the block. */
static enum mpk_code enter_block(struct walker *w, unsigned depth, struct mpk_error *err)
{
	const struct mpk_bitstream_visitor *v = w->visitor;
	MPK_CLEANUP(block_fini) struct block b = { 0 };
	const struct for_blocks *info;
	uint64_t outer = w->end, id = vbr(w, 8), width = vbr(w, 4), words;

	align(w);
	words = fixed(w, WORD_BITS);
	if (w->failed || words > (w->end - w->at) / WORD_BITS)
		return corrupt(w, err, "a block reaches beyond the one around it");
	if (id > UINT32_MAX || width < 2 || width > WORD_BITS)
		return corrupt(w, err, "a block of a kind or width that none has");
	b = (struct block){ .id = (unsigned)id,
			    .width = (unsigned)width,
			    .depth = depth,
			    .end = w->at + words * WORD_BITS };
	if (b.id != BLOCKINFO && v->enter && !v->enter(v->arg, b.id, depth)) {
		w->at = b.end;
		return MPK_OK;
	}
	if (depth > DEPTH_MAX)
		return corrupt(w, err, "blocks are nested deeper than any writer does");
	if (b.id == BLOCKINFO)
		w->info_first = w->info_count;
	info = info_of(w, b.id);
	b.info = info ? (size_t)(info - w->infos) : 0;
	b.info_count = info ? info->count : 0;
	w->end = b.end;
	MPK_TRY(walk_block(w, &b, err));
	w->end = outer;
	return v->leave && b.id != BLOCKINFO ? v->leave(v->arg, b.id, depth, err) : MPK_OK;
}

static enum mpk_code see_record(struct walker *w, const struct block *b, uint64_t id,
				uint64_t *info_id, struct mpk_error *err)
{
	struct mpk_bitstream_record r;

	MPK_TRY(read_record(w, b, id, &r, err));
	if (b->id != BLOCKINFO)
		return w->visitor->record(w->visitor->arg, &r, err);
	if (r.code == SETBID && r.count)
		*info_id = r.ops[0] + 1;
	return MPK_OK;
}

static enum mpk_code walk_block(struct walker *w, struct block *b, struct mpk_error *err)
{
	uint64_t info_id = 0; /* in BLOCKINFO: id of the described block, plus 1 */

	while (!w->visitor->done) {
		uint64_t id = fixed(w, b->width);
		size_t number;

		if (w->failed)
			return corrupt(w, err, "a block has no end");
		if (id == END_BLOCK) {
			align(w);
			if (w->failed || w->at != b->end)
				return corrupt(w, err, "a block ends before its length does");
			return MPK_OK;
		}
		if (id == ENTER_SUBBLOCK) {
			MPK_TRY(enter_block(w, b->depth + 1, err));
		} else if (id == DEFINE_ABBREV) {
			MPK_TRY(define(w, &number, err));
			if (b->id != BLOCKINFO)
				MPK_TRY(add_number(&b->abbrevs, &b->count, &b->cap, number, err));
			else if (info_id)
				MPK_TRY(add_info(w, (unsigned)(info_id - 1), number, err));
			else
				return corrupt(w, err, "an abbreviation for no block");
		} else {
			MPK_TRY(see_record(w, b, id, &info_id, err));
		}
	}
	return MPK_OK;
}

enum mpk_code mpk_bitstream_walk(struct mpk_span bytes, struct mpk_bitstream_visitor *visitor,
				 uint64_t *used, struct mpk_error *err)
{
	MPK_CLEANUP(walker_fini)
	struct walker w = {
		.bytes = bytes, .at = WORD_BITS, .end = (uint64_t)bytes.len * 8, .visitor = visitor
	};

	*used = 0;
	while (!visitor->done && w.end - w.at >= WORD_BITS) {
		/* Linkers pad with zeros, and no block begins with a zero. */
		if (bits_at(bytes, w.at, TOP_WIDTH) != ENTER_SUBBLOCK)
			break;
		w.at += TOP_WIDTH;
		MPK_TRY(enter_block(&w, 1, err));
		*used = w.at / 8;
	}
	return *used ? MPK_OK : corrupt(&w, err, "no block follows the magic number");
}
