/* SPDX-License-Identifier: Apache-2.0 */
#include "executor/relax/internal/argument.h"

#include <stdarg.h>
#include <stdio.h>

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
