/* SPDX-License-Identifier: Apache-2.0 */
/* cfunction.h - the functions that a C text declares, and the values that callers pass (FORMAT.md
 * 5) */
#ifndef MPK_FORMATS_SOURCECODE_CFUNCTION_H
#define MPK_FORMATS_SOURCECODE_CFUNCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "dtype/dtype.h"

enum { MPK_CFUNCTION_DIMS = 4 };

enum mpk_cfunction_kind {
	MPK_CFUNCTION_VOID,    /* only for a result: none */
	MPK_CFUNCTION_NUMBER,  /* a number of type dtype */
	MPK_CFUNCTION_POINTER, /* a pointer to numbers of type dtype; 0 bits: to void, or as refusal
			        * says */
	MPK_CFUNCTION_OTHER,   /* cannot be passed, as refusal says */
};

/* An extent of the array that a pointer points to. */
struct mpk_cfunction_extent {
	size_t param;    /* index of the parameter that is the extent; SIZE_MAX: a number */
	uint32_t number; /* that number of elements */
};

/* A parameter, or the result. Texts are views of the plain text (mpk_cfunctions_read). */
struct mpk_cfunction_value {
	struct mpk_span text; /* its declaration */
	struct mpk_span name; /* empty: none */
	enum mpk_cfunction_kind kind;
	struct mpk_dtype dtype;
	bool read_only;      /* a pointer to const data */
	const char *refusal; /* why it cannot be passed: a predicate such as "is a struct"; static
			      * storage */
	/* Extents of the array, the outermost first, from the declaration or the loops of the body. */
	struct mpk_cfunction_extent dims[MPK_CFUNCTION_DIMS];
	size_t dim_count; /* 0: not known */
};

struct mpk_cfunction {
	struct mpk_span name; /* also its symbol */
	struct mpk_cfunction_value result;
	const struct mpk_cfunction_value *params;
	size_t param_count;
	uint32_t line;       /* line of the name, from 1 */
	bool is_defined;     /* it has a body */
	bool is_local;       /* static or inline, which refusal mentions, too */
	bool returns_status; /* all its results are constants, including 0, or words in capitals */
	bool returns_value;  /* one of its results is computed */
	const char *
		refusal; /* why other files cannot call it by its name; a predicate; NULL: they can */
	struct mpk_span
		condition; /* the line that decides whether it is compiled, "#ifdef NAME"; empty:
			    * none */
};

/* mpk_cfunctions_read - list the functions that a text declares or defines, each once, in their
 * order
 * Only conditions that the text itself decides are preprocessed. Sizes are those of LP64. Text that
 * is not a plain C declaration is skipped.
 * @bytes   the text; NULs at its end do not count; borrowed
 * @is_cxx  C++: only functions in extern "C" have their name as symbol
 * @arena   receives the lists and the plain text
 * Returns  MPK_OK, also for a text without functions; MPK_E_SYNTAX with line and column (a comment
 *          without end); MPK_E_CORRUPT with the offset in "payload" (a NUL inside the text);
 *          MPK_E_NOMEM.
 * Format   FORMAT.md 5 */
enum mpk_code mpk_cfunctions_read(struct mpk_span bytes, bool is_cxx, struct mpk_arena *arena,
				  const struct mpk_cfunction **out, size_t *count,
				  struct mpk_error *err) MPK_MUST_CHECK;

#endif
