/* SPDX-License-Identifier: Apache-2.0 */
/* memory: prints the memory that calls of a model take, over time (lib/show/memory). */
#include "minspect/model_memory.h"

#include <string.h>

#include "base/num.h"
#include "common/diag.h"
#include "memory/memory.h"
#include "minspect/document.h"
#include "text/escape.h"

int minspect_extents(const struct minspect_options *o, struct mpk_arena *arena,
		     struct mpk_memory_ask *out)
{
	struct mpk_extent_value *list = mpk_arena_array(arena, o->shapes.count + 1, sizeof *list);
	struct mpk_error err = { 0 };

	if (!list)
		return mpk_diag_error((mpk_fail_nomem(&err), &err));
	for (size_t i = 0; i < o->shapes.count; i++) {
		const char *text = o->shapes.items[i].value, *equals = strchr(text, '=');
		struct mpk_extent_value *e = &list[i];
		uint64_t number;

		if (!equals || equals == text ||
		    !mpk_parse_u64(mpk_span_str(equals + 1), &number) || number > INT64_MAX)
			return mpk_diag_usage(
				"--shape takes an extent by its name, such as n=2048, not '%s'",
				MPK_QUOTE(mpk_span_str(text)));
		*e = (struct mpk_extent_value){ mpk_span_of(text, (size_t)(equals - text)),
						(int64_t)number };
		for (size_t k = 0; k < i; k++)
			if (mpk_span_equal(list[k].name, e->name))
				return mpk_diag_usage("--shape gives '%s' twice",
						      MPK_QUOTE(e->name));
	}
	*out = (struct mpk_memory_ask){ .extents = list, .extent_count = o->shapes.count };
	return MPK_EXIT_OK;
}

static int memory_file(const struct minspect_options *o, struct minspect_look *l)
{
	const struct mpk_memory_ask *ask = l->user;
	struct mpk_error err = { 0 };
	struct mpk_memory_list list;

	minspect_filter(l);
	if (mpk_memory_read(l->view, ask, o->all, &l->file->arena, &list, &err) != MPK_OK) {
		mpk_error_at_file(&err, l->file->name);
		return minspect_report(l, &err);
	}
	minspect_answer(o, l, &mpk_answer_memory, &list);
	if (list.unused && list.count) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf names = { 0 };

		/* Lists the names of functions, if the user gave an unknown one. */
		for (size_t i = 0; i < list.count; i++)
			for (size_t k = 0; k < list.items[i].memory.function_count; k++) {
				const struct mpk_function_memory *f =
					&list.items[i].memory.functions[k];

				for (size_t e = 0; e < f->extent_count; e++) {
					mpk_strbuf_puts(&names, names.len ? ", " : "");
					mpk_escape(&names, f->extents[e].name);
					mpk_strbuf_puts(&names, " of ");
					mpk_escape(&names, f->signature->name);
				}
			}
		mpk_diag_warn("%s: no function has an extent '%s'%s%s", l->file->name,
			      MPK_QUOTE(list.unused->name), names.len ? "; there are " : "",
			      mpk_strbuf_text(&names));
	}
	return MPK_EXIT_OK;
}

int minspect_model_memory(const struct minspect_options *o)
{
	static const struct minspect_action action = { .look = memory_file,
						       .is_cut = true,
						       .each_model = true };
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_memory_ask ask = { 0 };
	int status = minspect_extents(o, &arena, &ask);

	return status == MPK_EXIT_OK ? minspect_each(o, &action, &ask) : status;
}
