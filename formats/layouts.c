/* SPDX-License-Identifier: Apache-2.0 */
/* layouts.c - how the payload of each kind reads, from kinds.def, for who writes none
 *
 * A container that does not say how long a payload is needs the readers of all kinds (blob/read.c). Apart from
 * kinds.c, whose codecs also write, and list what a payload consists of.
 */
#include "base/compiler.h"
#include "kinds.def"
#include "payload.h"

const struct mpk_record_schema mpk_schema_json_runtime =
	FIELDS(STR("symbol"), FILE_AS("graph_json", "graph.json"), STRS("const_names"));
const struct mpk_record_schema mpk_schema_static_library =
	FIELDS(FILE_AS("data", "library.o"), STRS("func_names"));

#define DECLARE(key, title, role, first, last, codec, schema)                                      \
	extern const struct mpk_payload_reader mpk_reader_##codec;
MPK_KINDS(DECLARE)

static const struct mpk_kind_layout layouts[] = {
#define ROW(key, title, role, first, last, codec, schema) { key, &mpk_reader_##codec, schema },
	MPK_KINDS(ROW)
};

const struct mpk_kind_layout *mpk_kind_layout_find(struct mpk_span name)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(layouts); i++)
		if (mpk_span_is(name, layouts[i].name))
			return &layouts[i];
	return NULL;
}
