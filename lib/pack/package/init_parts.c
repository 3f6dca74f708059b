/* SPDX-License-Identifier: Apache-2.0 */
#include "package/internal/init_parts.h"

#include <string.h>

#include "text/escape.h"

bool mpk_init_has_suffix(const char *path, const char *const *suffixes)
{
	const char *dot = strrchr(path, '.');

	for (; dot && *suffixes; suffixes++)
		if (strcmp(dot, *suffixes) == 0)
			return true;
	return false;
}

void mpk_init_put_text(struct mpk_strbuf *out, struct mpk_span text)
{
	mpk_escape_json(out, text, "?");
}

const char *mpk_init_take_name(struct mpk_init *in, struct mpk_span wish)
{
	const char *name = mpk_arena_text(in->arena, wish);
	size_t found;

	for (unsigned i = 2; name; i++) {
		int put = mpk_strmap_put(&in->names, mpk_span_str(name), 0, &found);

		if (put)
			return put > 0 ? name : NULL;
		name = mpk_arena_printf(in->arena, MPK_SPAN_FMT "_%u", MPK_SPAN_ARG(wish), i);
	}
	return NULL;
}
