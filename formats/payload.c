#include "payload.h"

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
