/* SPDX-License-Identifier: Apache-2.0 */
/* cfunction.h - functions that a text of C declares, and what their callers pass (FORMAT.md 5) */
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
	MPK_CFUNCTION_VOID,    /* of a result: there is none */
	MPK_CFUNCTION_NUMBER,  /* of dtype */
	MPK_CFUNCTION_POINTER, /* a pointer to numbers of dtype; 0 bits: to void, or to what
			        * refusal says */
	MPK_CFUNCTION_OTHER,   /* cannot be passed, refusal says why */
};

/* An extent of the data that a pointer leads to. */
struct mpk_cfunction_extent {
	size_t param;    /* the parameter that is the extent; SIZE_MAX: it is a number */
	uint32_t number; /* of elements */
};

/* A parameter, or the result. Texts are views of the plain text (mpk_cfunctions_read). */
struct mpk_cfunction_value {
	struct mpk_span text; /* as it is declared */
	struct mpk_span name; /* empty: it has none */
	enum mpk_cfunction_kind kind;
	struct mpk_dtype dtype;
	bool read_only;      /* the pointer leads to const data */
	const char *refusal; /* a sentence after "it", without its end; static storage */
	/* Extents of that data, where the declaration or the loops of the body tell, outermost
	 * first. */
	struct mpk_cfunction_extent dims[MPK_CFUNCTION_DIMS];
	size_t dim_count; /* 0: the text does not tell */
};

struct mpk_cfunction {
	struct mpk_span name; /* which is its symbol */
	struct mpk_cfunction_value result;
	const struct mpk_cfunction_value *params;
	size_t param_count;
	uint32_t line;       /* line of the name, from 1 */
	bool is_defined;     /* it has a body */
	bool is_local;       /* static or inline, which refusal mentions, too */
	bool returns_status; /* all its results are numbers, including 0, or words in capitals */
	bool returns_value;  /* one of its results is computed */
	const char
		*refusal; /* why no other file can call it by its name; a sentence as above; NULL */
	struct mpk_span
		condition; /* "#ifdef NAME": the line that decides whether it is there; empty: none */
};

/* mpk_cfunctions_read - find the functions that a text declares or defines, each once, in its order
 * Nothing is preprocessed but conditions that the text decides itself. Sizes are those of LP64. What no form
 * of a plain C declaration has is passed over.
 * @bytes   the text; NULs at its end do not count; borrowed
 * @is_cxx  C++: only what is extern "C" has its name as its symbol
 * @arena   receives the lists and the plain text
 * Returns  MPK_OK, also for a text without functions; MPK_E_SYNTAX with line and column (a comment without
 *          end); MPK_E_CORRUPT with the offset in "payload" (a NUL inside the text); MPK_E_NOMEM.
 * Format   FORMAT.md 5 */
enum mpk_code mpk_cfunctions_read(struct mpk_span bytes, bool is_cxx, struct mpk_arena *arena,
				  const struct mpk_cfunction **out, size_t *count,
				  struct mpk_error *err) MPK_MUST_CHECK;

#endif
