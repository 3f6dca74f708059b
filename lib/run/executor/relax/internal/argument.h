/* SPDX-License-Identifier: Apache-2.0 */
/* argument.h - what the builtins do with their arguments, and how they raise */
#ifndef MPK_EXECUTOR_RELAX_INTERNAL_ARGUMENT_H
#define MPK_EXECUTOR_RELAX_INTERNAL_ARGUMENT_H

#include "base/error.h"
#include "value/value.h"

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
