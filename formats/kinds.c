/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.c - the table of module kinds, from kinds.def: what each is, and the codec that reads and writes it */
#include "kinds.h"

#include "base/compiler.h"
#include "kinds.def"
#include "payload.h"

#define DECLARE(key, title, role, first, last, codec, schema)                                      \
	extern const struct mpk_codec mpk_codec_##codec;
MPK_KINDS(DECLARE)

static const struct mpk_kind kinds[] = {
#define ROW(key, title, role, first, last, codec, schema)                                          \
	{ key, title, MPK_ROLE_##role, first, last, &mpk_codec_##codec, schema },
	MPK_KINDS(ROW)
};

const struct mpk_kind *mpk_kind_find(struct mpk_span name)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(kinds); i++) {
		if (mpk_span_is(name, kinds[i].name))
			return &kinds[i];
	}
	return NULL;
}

const struct mpk_kind *mpk_kind_at(size_t i)
{
	return i < MPK_ARRAY_COUNT(kinds) ? &kinds[i] : NULL;
}
