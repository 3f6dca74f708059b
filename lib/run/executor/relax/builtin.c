/* SPDX-License-Identifier: Apache-2.0 */
/* builtin.c - the table of all builtins */
#include "executor/relax/internal/builtin.h"

#include <stdlib.h>

static const struct mpk_relax_builtins *const families[] = {
	&mpk_relax_shape_builtins,  &mpk_relax_memory_builtins, &mpk_relax_closure_builtins,
	&mpk_relax_tensor_builtins, &mpk_relax_select_builtins,
};

const struct mpk_relax_builtin *mpk_relax_builtin_at(size_t i)
{
	for (size_t f = 0; f < MPK_ARRAY_COUNT(families); f++) {
		if (i < families[f]->count)
			return &families[f]->rows[i];
		i -= families[f]->count;
	}
	return NULL;
}

const struct mpk_relax_builtin *mpk_relax_builtin_find(struct mpk_span name)
{
	const struct mpk_relax_builtin *b;

	for (size_t i = 0; (b = mpk_relax_builtin_at(i)) != NULL; i++)
		if (mpk_span_is(name, b->name))
			return b;
	return NULL;
}

struct builtin_function {
	struct mpk_function base;
	const struct mpk_relax_builtin *builtin;
};

static enum mpk_code call_builtin(struct mpk_function *self, const struct mpk_args *args,
				  struct mpk_value *result, struct mpk_error *err)
{
	struct builtin_function *f = (struct builtin_function *)self;

	return f->builtin->call(args->values, args->count, result, err);
}

static void destroy_builtin(struct mpk_function *self)
{
	free(self);
}

enum mpk_code mpk_relax_builtin_function(const struct mpk_relax_builtin *builtin,
					 struct mpk_function **out, struct mpk_error *err)
{
	struct builtin_function *f = calloc(1, sizeof *f);

	if (!f)
		return mpk_fail_nomem(err);
	f->base = (struct mpk_function){
		.refs = 1,
		.name = builtin->name,
		.call = call_builtin,
		.destroy = destroy_builtin,
	};
	f->builtin = builtin;
	*out = &f->base;
	return MPK_OK;
}
