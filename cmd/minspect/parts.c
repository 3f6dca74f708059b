/* SPDX-License-Identifier: Apache-2.0 */
/* A member is decoded twice: once to check it, and from the state in front of a byte that is read. What readers of
 * libraries look at first is kept the first time: the beginning, the tables at the end, and the headers of GPU code,
 * which stand all over a library. */
#include "minspect/parts.h"

#include <unistd.h>

#include "common/diag.h"
#include "fatbin/scan.h"
#include "io/output.h"
#include "offload/offload.h"

enum {
	/* A part costs 40 KiB for the decoder's state, and the time to decode half of it for one byte of it. */
	PART_BYTES = 512 << 10,
	PARTS_MAX = 512,
	/* Containers and images of Clang are aligned to it, and their headers take no more in most cases. */
	PAGE = 4096,
};

/* For the first time. */
struct passing {
	struct mpk_demand *demand;
	struct mpk_fatbin_scan scan;
	uint64_t off; /* of piece */
	struct mpk_span piece;
};

static void keep_header(void *arg, uint64_t off, size_t len)
{
	const struct passing *p = arg;

	mpk_demand_keep(p->demand, p->off, p->piece, off, len);
}

static void keep_offload(const struct passing *p)
{
	for (size_t at = (size_t)(-p->off % PAGE); at < p->piece.len; at += PAGE) {
		struct mpk_span rest = mpk_span_of(p->piece.data + at, p->piece.len - at);

		if (mpk_offload_is(rest) || mpk_offload_is_packed(rest) ||
		    mpk_offload_begins_image(rest))
			mpk_demand_keep(p->demand, p->off, p->piece, p->off + at, 1);
	}
}

static void pass(void *arg, uint64_t off, struct mpk_span piece)
{
	struct passing *p = arg;

	p->off = off;
	p->piece = piece;
	mpk_demand_offer(p->demand, off, piece);
	keep_offload(p);
	mpk_fatbin_scan(&p->scan, off, piece, keep_header, p);
}

/* For later reads. */
struct parts {
	struct mpk_deflate_index *index;
	const char *name;
};

static bool parts_make(void *arg, uint64_t from, uint8_t *into, size_t len)
{
	const struct parts *p = arg;

	return mpk_deflate_index_read(p->index, from, into, len);
}

static void failed(void *arg)
{
	const struct parts *p = arg;
	struct mpk_error err = { 0 };

	(void)mpk_fail(&err, MPK_E_IO, "the file changed while it was read");
	mpk_error_at_file(&err, p->name);
	mpk_output_abandon_all();
	_exit(mpk_diag_error(&err));
}

static size_t part_bytes(uint64_t plain)
{
	size_t least = (size_t)(plain / PARTS_MAX);

	return least < PART_BYTES ? PART_BYTES : (least / MPK_DEMAND_GRAIN + 1) * MPK_DEMAND_GRAIN;
}

static enum mpk_code open_parts(struct minspect_file *f, const struct mpk_zip_member *m,
				const struct mpk_zip_options *options, struct mpk_error *err)
{
	struct parts *p = mpk_arena_alloc(&f->arena, sizeof *p);
	const size_t part = part_bytes(m->plain);
	struct passing passing = { 0 };
	struct mpk_span bytes;

	MPK_TRY_ALLOC(p, err);
	f->demand = mpk_demand_open((size_t)m->plain, part, &f->arena);
	MPK_TRY_ALLOC(f->demand, err);
	passing.demand = f->demand;

	const struct mpk_deflate_sink sink = { pass, &passing };
	const struct mpk_demand_source source = { parts_make, failed, p };

	p->name = f->name;
	MPK_TRY(mpk_zip_index(f->bytes, m, options, part, &sink, &f->arena, &p->index, err));
	bytes = mpk_demand_start(f->demand, &source);
	MPK_TRY_ALLOC(bytes.data, err);
	f->bytes = bytes;
	return MPK_OK;
}

enum mpk_code minspect_parts_open(struct minspect_file *f, const struct mpk_zip_member *m,
				  const struct mpk_zip_options *options, struct mpk_error *err)
{
	enum mpk_code code = open_parts(f, m, options, err);

	if (code != MPK_OK) {
		mpk_demand_close(f->demand);
		f->demand = NULL;
	}
	return code;
}
