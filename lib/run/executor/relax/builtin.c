/* SPDX-License-Identifier: Apache-2.0 */
/* builtin.c - the table of all builtins, as functions of a runtime, and what they do with their arguments
 *
 * The rows are in program/relax_builtins.def, the functions in four files, by what they work on: shapes,
 * memory, closures, selections; those of caches and other states are in executor/state. Byte code finds
 * them by name when it is loaded, compiled functions as globals of the runtime. Both pass whatever the
 * model says, so that each argument is checked for its kind. Errors have the words of TVM's own builtins.
 */
#include "executor/relax/internal/relax.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/profile.h"
#include "executor/executor.h"
#include "runtime/runtime.h"

/* Every builtin with the family that has its row. */
static const struct {
	const char *name;
	const struct mpk_relax_builtins *family;
} names[] = {
#if !MPK_RUN_STATE
#define MPK_RELAX_STATE(...)
#endif
#define MPK_RELAX_BUILTIN(name, effect, family, call, typing)                                      \
	{ name, &mpk_relax_##family##_builtins },
#include "program/relax_builtins.def"
#undef MPK_RELAX_BUILTIN
};

const struct mpk_relax_builtin *mpk_relax_builtin_at(size_t i)
{
	size_t row = 0;

	if (i >= MPK_ARRAY_COUNT(names))
		return NULL;
	/* rows of a family are in the order of this table */
	while (strcmp(names[i].family->rows[row].name, names[i].name) != 0)
		row++;
	return &names[i].family->rows[row];
}

const struct mpk_relax_builtin *mpk_relax_builtin_find(struct mpk_span name)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(names); i++)
		if (mpk_span_is(name, names[i].name))
			return mpk_relax_builtin_at(i);
	return NULL;
}

/* A builtin as a value; one row, without the machine: who needs it passes it as the first
 * argument. */
struct builtin_function {
	struct mpk_function base;
	const struct mpk_relax_builtin *builtin;
	struct mpk_runtime *runtime; /* for calls that no module code makes; NULL: there are none */
};

static enum mpk_code call_builtin(struct mpk_function *self, const struct mpk_args *args,
				  struct mpk_value *result, struct mpk_error *err)
{
	struct builtin_function *f = (struct builtin_function *)self;

	struct mpk_context before = mpk_context_get(), own = before;
	enum mpk_code code;

	if (before.runtime || !f->runtime)
		return f->builtin->call(args->values, args->count, result, err);
	own.runtime = f->runtime;
	(void)mpk_context_swap(own);
	code = f->builtin->call(args->values, args->count, result, err);
	(void)mpk_context_swap(before);
	return code;
}

static void destroy_builtin(struct mpk_function *self)
{
	free(self);
}

static void *cells_of(const char *builtin)
{
	const struct mpk_relax_cells *row = mpk_relax_cells;

	while (row->name && strcmp(row->name, builtin) != 0)
		row++;
	return (void *)(uintptr_t)row->code;
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
		.cells = cells_of(builtin->name),
	};
	f->builtin = builtin;
	*out = &f->base;
	return MPK_OK;
}

enum mpk_code mpk_relax_add_globals(struct mpk_runtime *runtime, struct mpk_error *err)
{
	const struct mpk_relax_builtin *b;

	for (size_t i = 0; (b = mpk_relax_builtin_at(i)) != NULL; i++) {
		struct mpk_function *f;

		MPK_TRY(mpk_relax_builtin_function(b, &f, err));
		((struct builtin_function *)f)->runtime = runtime;
		MPK_TRY(mpk_runtime_add_function(runtime, f, err));
	}
	return MPK_OK;
}

/* --- arguments ------------------------------------------------------------------------------ */

enum mpk_code(mpk_relax_raise)(struct mpk_error *err, const char *kind, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	return mpk_fail(err, MPK_E_RAISED, "%s: %s", kind, text);
}

enum mpk_code mpk_relax_arity(const char *name, size_t count, size_t least, size_t most,
			      struct mpk_error *err)
{
	if (count >= least && count <= most)
		return MPK_OK;
	return mpk_relax_raise(err, "TypeError", "%s got %zu arguments", name, count);
}

enum mpk_code mpk_relax_int(const char *name, const struct mpk_value *args, size_t i, int64_t *out,
			    struct mpk_error *err)
{
	if (args[i].kind == MPK_VALUE_INT)
		*out = args[i].integer;
	else if (args[i].kind == MPK_VALUE_BOOL)
		*out = args[i].boolean;
	else
		return mpk_relax_raise(err, "TypeError", "%s: argument %zu must be an int, not %s",
				       name, i, mpk_value_kind_name(args[i].kind));
	return MPK_OK;
}

enum mpk_code mpk_relax_machine(const char *name, const struct mpk_value *args,
				struct mpk_relax_vm **out, struct mpk_error *err)
{
	/* byte code has no other way to a pointer than the machine's own register */
	if (args[0].kind != MPK_VALUE_OPAQUE || !args[0].opaque)
		return mpk_relax_raise(err, "TypeError",
				       "%s: argument 0 must be the machine, not %s", name,
				       mpk_value_kind_name(args[0].kind));
	*out = args[0].opaque;
	return MPK_OK;
}

enum mpk_code mpk_relax_tensor(const char *name, const struct mpk_value *args, size_t i,
			       struct mpk_tensor **out, struct mpk_error *err)
{
	if (args[i].kind != MPK_VALUE_TENSOR)
		return mpk_relax_raise(err, "TypeError",
				       "%s: argument %zu must be a tensor, not %s", name, i,
				       mpk_value_kind_name(args[i].kind));
	*out = args[i].tensor;
	return MPK_OK;
}
