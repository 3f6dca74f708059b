/* SPDX-License-Identifier: Apache-2.0 */
/* In a file of its own: only programs that call it link the C++ parser. */
#include "toml/toml.h"

enum mpk_code mpk_toml_parse(struct mpk_span text, struct mpk_arena *arena, struct mpk_toml *out,
			     struct mpk_error *err)
{
	return mpk_toml_parse_by(mpk_toml_parse_bytes, text, arena, out, err);
}
