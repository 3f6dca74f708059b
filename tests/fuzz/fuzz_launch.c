/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_launch - a parameter of a launch function, or an expression: the first byte chooses */
#include "fuzz.h"
#include "launch/launch.h"

static void read_expression(struct mpk_span text, struct mpk_arena *arena)
{
	struct mpk_scan scan = { .text = text, .line = 1, .column = 1 };
	const struct mpk_expr *e;
	int64_t value;

	if (mpk_expr_scan(&scan, arena, &e, NULL) != MPK_OK)
		return;
	FUZZ_REQUIRE(scan.at <= text.len);
	(void)mpk_expr_constant(e, &value);
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_span text = fuzz_rest(bytes);
	struct mpk_launch_param param;
	struct mpk_toml_str word = { .text = mpk_arena_text(arena, text),
				     .len = text.len,
				     .pos = { 1, 1 } };

	if (fuzz_choice(bytes, 2))
		read_expression(text, arena);
	else if (mpk_launch_param_parse(&word, arena, &param, NULL) == MPK_OK)
		fuzz_touch(param.name);
}
