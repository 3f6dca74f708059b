/* SPDX-License-Identifier: Apache-2.0 */
/* payload.c - any payload, by the codec of its kind */
#include "payload.h"

static enum mpk_code read_empty(struct mpk_cursor *c, struct mpk_arena *arena,
				struct mpk_payload *out, struct mpk_error *err)
{
	(void)c, (void)arena, (void)out, (void)err;
	return MPK_OK;
}

static void write_empty(const struct mpk_payload *p, struct mpk_rope *rope)
{
	(void)p, (void)rope;
}

const struct mpk_payload_reader mpk_reader_empty = { MPK_PAYLOAD_EMPTY, read_empty };
const struct mpk_codec mpk_codec_empty = { &mpk_reader_empty, write_empty, NULL };

/* start: with all that a reader may ask of what it fills. */
static enum mpk_code decode(const struct mpk_payload *start,
			    const struct mpk_payload_reader *reader, struct mpk_source bytes,
			    struct mpk_arena *arena, struct mpk_payload *out, struct mpk_error *err)
{
	struct mpk_cursor c = mpk_cursor_of(bytes.span, bytes.off, "blob");
	struct mpk_payload p = *start;

	MPK_TRY(reader->read(&c, arena, &p, err));
	p.source = bytes;
	p.trailing += mpk_cursor_left(&c);
	*out = p;
	return MPK_OK;
}

enum mpk_code mpk_payload_decode(const struct mpk_kind *kind, enum mpk_generation gen,
				 struct mpk_source bytes, struct mpk_arena *arena,
				 struct mpk_payload *out, struct mpk_error *err)
{
	const struct mpk_payload_reader *reader = kind->codec->reader;
	const struct mpk_payload start = { .tag = reader->tag, .kind = kind, .gen = gen };

	return decode(&start, reader, bytes, arena, out, err);
}

enum mpk_code mpk_payload_decode_as(const struct mpk_payload_reader *reader,
				    enum mpk_generation gen, struct mpk_source bytes,
				    struct mpk_arena *arena, struct mpk_payload *out,
				    struct mpk_error *err)
{
	const struct mpk_payload start = { .tag = reader->tag, .gen = gen };

	return decode(&start, reader, bytes, arena, out, err);
}

void mpk_payload_encode(const struct mpk_payload *p, struct mpk_rope *rope)
{
	p->kind->codec->write(p, rope);
}
