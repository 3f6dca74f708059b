/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a rope from its first to its last, whatever they lie in: pieces in memory as
 * they are, ranges of files through windows that are mapped for a moment, short ranges through
 * a buffer. No piece is ever in memory as a whole. */
#include "io/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

void mpk_reader_init(struct mpk_reader *r, const struct mpk_rope *rope)
{
	r->rope = rope;
	r->piece = 0;
	r->at = 0;
	r->window = (struct mpk_window){ 0 };
}

void mpk_reader_fini(struct mpk_reader *r)
{
	mpk_window_close(&r->window);
}

/* A range that cannot be mapped is read. An end before that of the range means that
 * somebody has made the file shorter. */
static enum mpk_code read_piece(struct mpk_reader *r, const struct mpk_piece *p, size_t len,
				struct mpk_span *out, struct mpk_error *err)
{
	ssize_t n;

	do
		n = pread(p->fd, r->buffer, len, (off_t)(p->off + r->at));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot read an input file");
	if (n == 0)
		return mpk_fail(err, MPK_E_IO, "an input file became shorter while it was read");
	*out = mpk_span_of(r->buffer, (size_t)n);
	r->at += (size_t)n;
	return MPK_OK;
}

enum mpk_code mpk_reader_next(struct mpk_reader *r, struct mpk_span *out, struct mpk_error *err)
{
	mpk_reader_fini(r);
	/* pieces may be empty */
	while (r->piece < r->rope->count && r->at == r->rope->pieces[r->piece].len) {
		r->piece++;
		r->at = 0;
	}
	if (r->piece == r->rope->count) {
		*out = mpk_span_of(NULL, 0);
		return MPK_OK;
	}

	const struct mpk_piece *p = &r->rope->pieces[r->piece];
	uint64_t left = p->len - r->at;
	if (p->data) {
		*out = mpk_span_of(p->data + r->at, (size_t)left);
		r->at = p->len;
		return MPK_OK;
	}
	if (mpk_window_open(p->fd, p->off + r->at, left, &r->window)) {
		*out = r->window.bytes;
		r->at += out->len;
		return MPK_OK;
	}
	return read_piece(r, p, left < sizeof r->buffer ? (size_t)left : sizeof r->buffer, out,
			  err);
}

/* All of it, one after the other; the caller has made room for rope->len bytes. */
static enum mpk_code reader_load(struct mpk_reader *r, char *to, struct mpk_error *err)
{
	for (;;) {
		struct mpk_span some;

		MPK_TRY(mpk_reader_next(r, &some, err));
		if (!some.len)
			return MPK_OK;
		memcpy(to, some.data, some.len);
		to += some.len;
	}
}

/* A rope of one piece in memory is given as it is: no copy of a payload that is there
 * already. */
enum mpk_code mpk_rope_load(const struct mpk_rope *rope, struct mpk_arena *arena,
			    struct mpk_span *out, struct mpk_error *err)
{
	MPK_TRY(mpk_rope_status(rope, err));
	if (rope->count == 1 && rope->pieces[0].data) {
		*out = mpk_span_of(rope->pieces[0].data, (size_t)rope->len);
		return MPK_OK;
	}

	char *data = rope->len < SIZE_MAX ? mpk_arena_alloc(arena, (size_t)rope->len + 1) : NULL;
	struct mpk_reader *r = malloc(sizeof *r);
	enum mpk_code code = data && r ? MPK_OK : mpk_fail_nomem(err);
	if (code == MPK_OK) {
		mpk_reader_init(r, rope);
		code = reader_load(r, data, err);
		mpk_reader_fini(r);
	}
	free(r);
	if (code == MPK_OK)
		*out = mpk_span_of(data, (size_t)rope->len);
	return code;
}
