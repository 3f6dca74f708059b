/* SPDX-License-Identifier: Apache-2.0 */
/* kv_state.c - what caches and recurrent states have in common: sequences that come, grow, fork and go
 *
 * An application names its sequences by numbers, says before each forward pass which of them grow by
 * how much, and takes tokens back that turned out to be wrong. These builtins check what they are given
 * and hand it to the state.
 */
#include <stdlib.h>

#include "executor/state/internal/state.h"

/* --- the state --------------------------------------------------------------------------------- */

static void release_state(struct mpk_object *object)
{
	struct mpk_kv_state *s = (struct mpk_kv_state *)object;

	s->ops->destroy(s);
	free(s);
}

void mpk_kv_init(struct mpk_kv_state *s, const struct mpk_kv_ops *ops, const char *type)
{
	atomic_init(&s->object.refs, 1);
	s->object.type = type;
	s->object.release = release_state;
	s->ops = ops;
}

enum mpk_code mpk_kv_enter(const char *name, const struct mpk_value *args, size_t count,
			   size_t least, size_t most, const struct mpk_kv_ops *ops,
			   struct mpk_kv_state **out, struct mpk_error *err)
{
	struct mpk_object *object;
	struct mpk_kv_state *s;

	MPK_TRY(mpk_relax_arity(name, count, least, most, err));
	MPK_TRY(mpk_state_object(name, args, 0, release_state, "a state of sequences", &object,
				 err));
	s = (struct mpk_kv_state *)object;
	if (ops && s->ops != ops)
		return mpk_relax_raise(err, "TypeError", "%s: argument 0 is %s", name,
				       object->type);
	if (s->is_busy)
		return mpk_relax_raise(err, "InternalError",
				       "%s: a kernel of the state uses the state", name);
	s->is_busy = true;
	(void)mpk_value_hold(args[0]);
	*out = s;
	return MPK_OK;
}

enum mpk_code mpk_kv_leave(struct mpk_kv_state *s, enum mpk_code code)
{
	struct mpk_value held = { .kind = MPK_VALUE_OBJECT, .object = &s->object };

	s->is_busy = false;
	mpk_value_drop(&held);
	return code;
}

/* --- builtins ---------------------------------------------------------------------------------- */

static enum mpk_code kv_clear(const struct mpk_value *args, size_t count, struct mpk_value *result,
			      struct mpk_error *err)
{
	struct mpk_kv_state *s;

	(void)result;
	MPK_TRY(mpk_kv_enter("vm.builtin.kv_state_clear", args, count, 1, 1, NULL, &s, err));
	return mpk_kv_leave(s, s->ops->clear(s, err));
}

/* An operation on one sequence. */
static enum mpk_code on_sequence(const char *name, bool adds, const struct mpk_value *args,
				 size_t count, struct mpk_error *err)
{
	struct mpk_kv_state *s;
	enum mpk_code rc;
	int64_t id;

	MPK_TRY(mpk_kv_enter(name, args, count, 2, 2, NULL, &s, err));
	rc = mpk_relax_int(name, args, 1, &id, err);
	if (rc == MPK_OK)
		rc = adds ? s->ops->add(s, id, err) : s->ops->remove(s, id, err);
	return mpk_kv_leave(s, rc);
}

static enum mpk_code kv_add(const struct mpk_value *args, size_t count, struct mpk_value *result,
			    struct mpk_error *err)
{
	(void)result;
	return on_sequence("vm.builtin.kv_state_add_sequence", true, args, count, err);
}

static enum mpk_code kv_remove(const struct mpk_value *args, size_t count, struct mpk_value *result,
			       struct mpk_error *err)
{
	(void)result;
	return on_sequence("vm.builtin.kv_state_remove_sequence", false, args, count, err);
}

static enum mpk_code fork_state(const char *name, struct mpk_kv_state *s,
				const struct mpk_value *args, size_t count, struct mpk_error *err)
{
	int64_t parent, child, at = -1;

	MPK_TRY(mpk_relax_int(name, args, 1, &parent, err));
	MPK_TRY(mpk_relax_int(name, args, 2, &child, err));
	if (count == 4)
		MPK_TRY(mpk_relax_int(name, args, 3, &at, err));
	return s->ops->fork(s, parent, child, at, err);
}

/* TVM 0.27 asks for all four; that the last may be left out is what its header says. */
static enum mpk_code kv_fork(const struct mpk_value *args, size_t count, struct mpk_value *result,
			     struct mpk_error *err)
{
	static const char name[] = "vm.builtin.kv_state_fork_sequence";
	struct mpk_kv_state *s;

	(void)result;
	MPK_TRY(mpk_kv_enter(name, args, count, 3, 4, NULL, &s, err));
	return mpk_kv_leave(s, fork_state(name, s, args, count, err));
}

static enum mpk_code pop_state(const char *name, struct mpk_kv_state *s,
			       const struct mpk_value *args, struct mpk_error *err)
{
	int64_t id, n;

	MPK_TRY(mpk_relax_int(name, args, 1, &id, err));
	MPK_TRY(mpk_relax_int(name, args, 2, &n, err));
	MPK_TRY(mpk_state_check(n >= 0, err, "%lld tokens cannot be taken back", (long long)n));
	return s->ops->pop(s, id, n, err);
}

static enum mpk_code kv_popn(const struct mpk_value *args, size_t count, struct mpk_value *result,
			     struct mpk_error *err)
{
	static const char name[] = "vm.builtin.kv_state_popn";
	struct mpk_kv_state *s;

	(void)result;
	MPK_TRY(mpk_kv_enter(name, args, count, 3, 3, NULL, &s, err));
	return mpk_kv_leave(s, pop_state(name, s, args, err));
}

static enum mpk_code begin_state(const char *name, struct mpk_kv_state *s,
				 const struct mpk_value *args, size_t count, struct mpk_error *err)
{
	const struct mpk_shape *ids, *lengths, *tree = NULL;
	struct mpk_kv_batch batch;

	MPK_TRY(mpk_state_shape(name, args, 1, &ids, err));
	MPK_TRY(mpk_state_shape(name, args, 2, &lengths, err));
	if (count == 4 && args[3].kind != MPK_VALUE_NONE)
		MPK_TRY(mpk_state_shape(name, args, 3, &tree, err));
	MPK_TRY(mpk_state_check(ids->ndim == lengths->ndim, err,
				"%zu ids of sequences and %zu lengths", ids->ndim, lengths->ndim));
	batch = (struct mpk_kv_batch){ .ids = ids->extents,
				       .lengths = lengths->extents,
				       .count = ids->ndim,
				       .parents = tree ? tree->extents : NULL,
				       .parent_count = tree ? tree->ndim : 0 };
	return s->ops->begin(s, &batch, err);
}

static enum mpk_code kv_begin(const struct mpk_value *args, size_t count, struct mpk_value *result,
			      struct mpk_error *err)
{
	static const char name[] = "vm.builtin.kv_state_begin_forward";
	struct mpk_kv_state *s;

	(void)result;
	MPK_TRY(mpk_kv_enter(name, args, count, 3, 4, NULL, &s, err));
	return mpk_kv_leave(s, begin_state(name, s, args, count, err));
}

static enum mpk_code kv_end(const struct mpk_value *args, size_t count, struct mpk_value *result,
			    struct mpk_error *err)
{
	struct mpk_kv_state *s;

	(void)result;
	MPK_TRY(mpk_kv_enter("vm.builtin.kv_state_end_forward", args, count, 1, 1, NULL, &s, err));
	return mpk_kv_leave(s, s->ops->end(s, err));
}

static const struct mpk_relax_builtin rows[] = {
#define MPK_ROW_state(...) __VA_ARGS__,
#include "executor/relax/family.def"
};
const struct mpk_relax_builtins mpk_relax_state_builtins = { rows, MPK_ARRAY_COUNT(rows) };
