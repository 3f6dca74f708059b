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

const struct mpk_codec mpk_codec_empty = { MPK_PAYLOAD_EMPTY, read_empty, write_empty, NULL };

enum mpk_code mpk_payload_read(struct mpk_cursor *c, const struct mpk_kind *kind,
			       enum mpk_generation gen, struct mpk_arena *arena,
			       struct mpk_payload *out, struct mpk_error *err)
{
	struct mpk_payload p = { .tag = kind->codec->tag, .kind = kind, .gen = gen };

	MPK_TRY(kind->codec->read(c, arena, &p, err));
	*out = p;
	return MPK_OK;
}

enum mpk_code mpk_payload_decode(const struct mpk_kind *kind, enum mpk_generation gen,
				 struct mpk_source bytes, struct mpk_arena *arena,
				 struct mpk_payload *out, struct mpk_error *err)
{
	struct mpk_cursor c = mpk_cursor_of(bytes.span, bytes.off, "blob");
	struct mpk_payload p;

	MPK_TRY(mpk_payload_read(&c, kind, gen, arena, &p, err));
	p.source = bytes;
	p.trailing += mpk_cursor_left(&c);
	*out = p;
	return MPK_OK;
}

void mpk_payload_encode(const struct mpk_payload *p, struct mpk_rope *rope)
{
	p->kind->codec->write(p, rope);
}
