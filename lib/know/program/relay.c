/* SPDX-License-Identifier: Apache-2.0 */
/* relay.c - the functions in Relay byte code, which has the names of their inputs alone */
#include "program/model.h"

/* Parameters of which the names alone are known. */
static struct mpk_param *untyped(struct mpk_strs names, struct mpk_arena *arena)
{
	struct mpk_param *list = mpk_arena_array(arena, names.count, sizeof *list);

	for (size_t i = 0; list && i < names.count; i++)
		list[i].name = names.items[i];
	return list;
}

enum mpk_code mpk_relay_signatures(const struct mpk_relay *x, struct mpk_arena *arena,
				   const struct mpk_signature **out, struct mpk_error *err)
{
	struct mpk_signature *list = mpk_arena_array(arena, x->func_count, sizeof *list);

	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < x->func_count; i++) {
		const struct mpk_relay_func *f = &x->funcs[i];

		list[i] = (struct mpk_signature){
			.name = f->info.count ? f->info.items[0] : (struct mpk_span){ 0 },
			.named_inputs = true,
			.inputs = untyped(f->params, arena),
			.input_count = f->params.count,
		};
		MPK_TRY_ALLOC(list[i].inputs, err);
	}
	*out = list;
	return MPK_OK;
}
