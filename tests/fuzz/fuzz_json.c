/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_json - any bytes as a JSON document: what is accepted can be walked, each value is a document
 * by itself and reads as the same */
#include <string.h>

#include "fuzz.h"
#include "text/json_read.h"

static void walk(struct mpk_json_value v, struct mpk_arena *arena, unsigned depth)
{
	struct mpk_json_items items = mpk_json_items(v);
	struct mpk_json_value item, again;
	const char *text;
	int64_t number;
	double real;

	fuzz_touch(v.text);
	FUZZ_REQUIRE(mpk_json_value_type(v) != MPK_JSON_NONE);
	FUZZ_REQUIRE(mpk_json_read(v.text, &again, NULL) == MPK_OK);
	FUZZ_REQUIRE(again.text.data == v.text.data && again.text.len == v.text.len);
	FUZZ_REQUIRE(mpk_json_value_text(v, arena, &text, NULL) == MPK_OK);
	FUZZ_REQUIRE(!text == (mpk_json_value_type(v) != MPK_JSON_STRING));
	FUZZ_REQUIRE(!text || (mpk_json_value_is(v, text) && strlen(text) < v.text.len));
	(void)mpk_json_value_i64(v, &number);
	(void)mpk_json_value_f64(v, &real);
	(void)mpk_json_value_get(v, "nodes");
	while (depth < 8 && mpk_json_next(&items, &item)) {
		if (items.in_object)
			walk(items.key, arena, 8);
		walk(item, arena, depth + 1);
	}
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_error err = { 0 };
	struct mpk_json_value root;

	if (mpk_json_read(bytes, &root, &err) == MPK_OK)
		walk(root, arena, 0);
	else
		FUZZ_REQUIRE(err.code == MPK_E_SYNTAX && err.at.line && err.at.column &&
			     err.text[0]);
}
