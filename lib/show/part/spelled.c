/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels by the names that texts show: "scale<float>(float*, int)" for its symbol. Every kernel of the file is
 * demangled and compared, as a name of C++ can be spelled in few ways but mangled only by a compiler. */
#include "part/part.h"

#include <string.h>

#include "itanium/demangle.h"
#include "model/kernel_list.h"

/* Whether it is the symbol of this name, with or without its parameters. */
static bool is_spelled(struct mpk_span symbol, struct mpk_span name)
{
	bool with_params = memchr(name.data, '(', name.len);
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	const struct mpk_demangle_form form = { .no_params = !with_params };

	return mpk_demangle(symbol, form, &text) && mpk_span_is(name, mpk_strbuf_text(&text));
}

/* A name that no symbol can be. */
static bool is_name_of_cxx(struct mpk_span name)
{
	return mpk_span_has(name, "(") || mpk_span_has(name, "<") || mpk_span_has(name, "::");
}

enum mpk_code mpk_part_symbol(const struct mpk_view *view, const char *text,
			      struct mpk_arena *arena, const char **out, struct mpk_error *err)
{
	struct mpk_part_name wanted = mpk_part_split(text);
	struct mpk_kernel_list list;

	*out = text;
	if (!is_name_of_cxx(wanted.name))
		return MPK_OK;
	MPK_TRY(mpk_kernel_list_read(view, MPK_KERNELS_OF_FILE, 0, arena, &list, err));
	for (size_t i = 0; i < list.count; i++) {
		struct mpk_span symbol = list.items[i].name;

		if (!is_spelled(symbol, wanted.name))
			continue;
		*out = mpk_arena_printf(arena, "%.*s%s%.*s", (int)wanted.path.len,
					wanted.path.len ? (const char *)wanted.path.data : "",
					wanted.path.len ? "#" : "", (int)symbol.len,
					(const char *)symbol.data);
		return *out ? MPK_OK : mpk_fail_nomem(err);
	}
	return MPK_OK;
}
