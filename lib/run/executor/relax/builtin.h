/* SPDX-License-Identifier: Apache-2.0 */
/* builtin.h - declarations for builtins of the Relax VM, and checks of their arguments
 *
 * Names and type rules of builtins are in program/relax_builtins.def. */
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
 * Each is an ordinary function of values. As in TVM, those that need the machine get it as their
 * first argument, a pointer. So the same functions serve byte code and compiled functions, which
 * look them up as globals. */

/* How a plan (plan/plan.h) treats a call of the builtin. */
enum mpk_relax_effect {
	MPK_EFFECT_SHAPES,  /* depends only on types and shapes: a plan omits it */
	MPK_EFFECT_STORAGE, /* as SHAPES, but makes a storage, which the plan has too */
	MPK_EFFECT_HEAP,    /* as SHAPES, but makes the heap of symbolic extents */
	MPK_EFFECT_MATCH,   /* as SHAPES, but stores extents in a heap, its second argument */
	MPK_EFFECT_MAKE,    /* as SHAPES, but reads extents from a heap, its first argument */
	MPK_EFFECT_COPY,    /* copies the content of a tensor: a plan repeats it */
	MPK_EFFECT_CALL,    /* calls its second argument; if that is byte code of the machine, a
			     * plan contains the called steps */
	MPK_EFFECT_KERNEL,  /* calls its first argument with tensors and the extents of a shape; if
			     * that is a kernel of the program, a plan repeats it */
	MPK_EFFECT_DATA,    /* its result depends on the content of tensors: no plan */
	MPK_EFFECT_RESET,   /* changes a tuple in place, which others may use: no plan */
};

struct mpk_relax_builtin {
	const char *name;
	enum mpk_relax_effect effect;
	/* As call of struct mpk_function, but for any runtime. */
	enum mpk_code (*call)(const struct mpk_value *args, size_t count, struct mpk_value *result,
			      struct mpk_error *err);
};

/* mpk_relax_builtin_find - find a builtin by name; NULL if there is none */
const struct mpk_relax_builtin *mpk_relax_builtin_find(struct mpk_span name);

/* mpk_relax_builtin_at - builtin number i, in the order of names (program/relax_builtins.def); NULL
 * after the last */
const struct mpk_relax_builtin *mpk_relax_builtin_at(size_t i);

/* mpk_relax_builtin_function - make a builtin into a value that can be called
 * Returns  MPK_OK, one reference in *out; MPK_E_NOMEM */
enum mpk_code mpk_relax_builtin_function(const struct mpk_relax_builtin *builtin,
					 struct mpk_function **out,
					 struct mpk_error *err) MPK_MUST_CHECK;

/* The builtins of one file (family.def). */
struct mpk_relax_builtins {
	const struct mpk_relax_builtin *rows;
	size_t count;
};
extern const struct mpk_relax_builtins mpk_relax_closure_builtins, mpk_relax_memory_builtins,
	mpk_relax_print_builtins, mpk_relax_select_builtins, mpk_relax_shape_builtins;
/* Defined in executor/state; left out if MPK_RUN_STATE of profile.h is 0. */
extern const struct mpk_relax_builtins mpk_relax_attention_builtins, mpk_relax_create_builtins,
	mpk_relax_query_builtins, mpk_relax_rnn_builtins, mpk_relax_sample_builtins,
	mpk_relax_state_builtins, mpk_relax_weights_builtins, mpk_relax_window_builtins;

/* --- for the functions themselves ------------------------------------------------------------ */

struct mpk_relax_vm;

/* mpk_relax_raise - raise MPK_E_RAISED with "KIND: sentence", in the form of TVM's builtins */
enum mpk_code mpk_relax_raise(struct mpk_error *err, const char *kind, const char *fmt, ...)
	MPK_PRINTF(3, 4) MPK_MUST_CHECK;
#define mpk_relax_raise(...) mpk_failed(mpk_relax_raise(__VA_ARGS__))

/* mpk_relax_arity - check that the number of arguments is from least to most */
enum mpk_code mpk_relax_arity(const char *name, size_t count, size_t least, size_t most,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relax_int - get an integer argument; a bool counts as one
 * Returns  MPK_OK; MPK_E_RAISED, a TypeError */
enum mpk_code mpk_relax_int(const char *name, const struct mpk_value *args, size_t i, int64_t *out,
			    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relax_machine - get the first argument, the calling machine; borrowed */
enum mpk_code mpk_relax_machine(const char *name, const struct mpk_value *args,
				struct mpk_relax_vm **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relax_tensor - get an argument that must be a tensor; borrowed */
enum mpk_code mpk_relax_tensor(const char *name, const struct mpk_value *args, size_t i,
			       struct mpk_tensor **out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
