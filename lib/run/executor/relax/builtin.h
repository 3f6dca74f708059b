/* SPDX-License-Identifier: Apache-2.0 */
/* builtin.h - builtins of the Relax VM: what one is, and what its function may ask of its arguments
 *
 * Their names, and what they mean for types, are in program/relax_builtins.def.
 */
#ifndef MPK_EXECUTOR_RELAX_BUILTIN_H
#define MPK_EXECUTOR_RELAX_BUILTIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "value/function.h"
#include "value/value.h"

/* The functions that byte code of the Relax VM calls by name
 *
 * Each is a function of values like any other; those that take the machine have it as their first
 * argument, a pointer, as TVM's have. So the same functions serve byte code and compiled
 * functions, which look them up as globals.
 */

/* What a plan (plan/plan.h) may make of a call. */
enum mpk_relax_effect {
	MPK_EFFECT_SHAPES,  /* depends on types and shapes alone: a plan leaves it out */
	MPK_EFFECT_STORAGE, /* the same; makes a storage, of which a plan has one, too */
	MPK_EFFECT_HEAP,    /* the same; makes the heap of symbolic extents */
	MPK_EFFECT_MATCH,   /* the same; stores extents in a heap, its second argument */
	MPK_EFFECT_MAKE,    /* the same; reads extents of a heap, its first argument */
	MPK_EFFECT_COPY,    /* moves the content of a tensor: a plan repeats it */
	MPK_EFFECT_CALL,    /* calls its second argument: a plan has what that does, if it is byte
			     * code of the machine */
	MPK_EFFECT_KERNEL,  /* calls its first argument, with tensors and the extents of a shape: a
			     * plan repeats it, if it is a kernel of the program */
	MPK_EFFECT_DATA,    /* its result depends on the content of tensors: no plan */
	MPK_EFFECT_RESET,   /* changes a tuple that others have, too: no plan */
};

struct mpk_relax_builtin {
	const char *name;
	enum mpk_relax_effect effect;
	/* As mpk_function.call, for any runtime. */
	enum mpk_code (*call)(const struct mpk_value *args, size_t count, struct mpk_value *result,
			      struct mpk_error *err);
};

/* mpk_relax_builtin_find - NULL when there is none of that name */
const struct mpk_relax_builtin *mpk_relax_builtin_find(struct mpk_span name);

/* mpk_relax_builtin_at - all of them, in the order of their names (program/relax_builtins.def); NULL
 * after the last */
const struct mpk_relax_builtin *mpk_relax_builtin_at(size_t i);

/* mpk_relax_builtin_function - a builtin as a value that can be called
 * Returns  MPK_OK, one reference in *out; MPK_E_NOMEM */
enum mpk_code mpk_relax_builtin_function(const struct mpk_relax_builtin *builtin,
					 struct mpk_function **out,
					 struct mpk_error *err) MPK_MUST_CHECK;

/* The rows of one file (family.def). */
struct mpk_relax_builtins {
	const struct mpk_relax_builtin *rows;
	size_t count;
};
extern const struct mpk_relax_builtins mpk_relax_closure_builtins, mpk_relax_memory_builtins,
	mpk_relax_print_builtins, mpk_relax_select_builtins, mpk_relax_shape_builtins;
/* In executor/state; MPK_RUN_STATE of profile.h leaves them out. */
extern const struct mpk_relax_builtins mpk_relax_attention_builtins, mpk_relax_create_builtins,
	mpk_relax_query_builtins, mpk_relax_rnn_builtins, mpk_relax_sample_builtins,
	mpk_relax_state_builtins, mpk_relax_weights_builtins, mpk_relax_window_builtins;

/* --- for the functions themselves ------------------------------------------------------------ */

struct mpk_relax_vm;

/* mpk_relax_raise - MPK_E_RAISED "KIND: sentence", as TVM's builtins raise */
enum mpk_code mpk_relax_raise(struct mpk_error *err, const char *kind, const char *fmt, ...)
	MPK_PRINTF(3, 4) MPK_MUST_CHECK;
#define mpk_relax_raise(...) mpk_failed(mpk_relax_raise(__VA_ARGS__))

/* mpk_relax_arity - that there are least to most arguments */
enum mpk_code mpk_relax_arity(const char *name, size_t count, size_t least, size_t most,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relax_int - an argument that counts as an integer, bools too
 * Returns  MPK_OK; MPK_E_RAISED, a TypeError */
enum mpk_code mpk_relax_int(const char *name, const struct mpk_value *args, size_t i, int64_t *out,
			    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relax_machine - the first argument, the machine that calls; borrowed */
enum mpk_code mpk_relax_machine(const char *name, const struct mpk_value *args,
				struct mpk_relax_vm **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relax_tensor - an argument that is a tensor; borrowed */
enum mpk_code mpk_relax_tensor(const char *name, const struct mpk_value *args, size_t i,
			       struct mpk_tensor **out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
