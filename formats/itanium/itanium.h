/* SPDX-License-Identifier: Apache-2.0 */
/* itanium.h - symbols of C++ functions, as the Itanium C++ ABI spells them (FORMAT.md)
 *
 * Kernels of CUDA and HIP that are not extern "C" have such symbols. They tell what a cubin does
 * not: the types of parameters. Read is what kernels take, not all of C++.
 */
#ifndef MPK_FORMATS_ITANIUM_ITANIUM_H
#define MPK_FORMATS_ITANIUM_ITANIUM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "base/strbuf.h"
#include "dtype/dtype.h"

struct mpk_itanium_type {
	char builtin;         /* the ABI's letter: 'f' float, 'i' int, ...; NUL: a class */
	struct mpk_span name; /* of a class, without its scopes */
	unsigned lanes;       /* of a vector; else 1 */
	unsigned pointers;    /* "float **" has two; a reference counts as one */
	bool is_const;        /* what the pointers lead to is */
};

struct mpk_itanium_function {
	struct mpk_span name; /* without its scopes; a view of the symbol */
	const struct mpk_itanium_type *params;
	size_t param_count;
};

/* mpk_itanium_is - whether a symbol is that of C++: "_Z..." */
static inline bool mpk_itanium_is(struct mpk_span symbol)
{
	return mpk_span_starts(symbol, "_Z");
}

/* mpk_itanium_read - a function and its parameters from its symbol
 * @symbol  borrowed: names are views of it
 * @arena   receives the parameters
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: no function, or a construct that kernels do not have;
 *          MPK_E_NOMEM
 * Format   FORMAT.md */
enum mpk_code mpk_itanium_read(struct mpk_span symbol, struct mpk_arena *arena,
			       struct mpk_itanium_function *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_itanium_write - append the symbol that a compiler gives a function
 * Its parameters are builtin types, classes outside of all scopes, and pointers to them.
 * @scopes  names of the namespaces around it, the outermost first
 * A failed append is remembered by out. */
void mpk_itanium_write(const struct mpk_span *scopes, size_t scope_count,
		       const struct mpk_itanium_function *f, struct mpk_strbuf *out);

/* mpk_itanium_dtype - the type of a number or of what a pointer leads to, on 64-bit Linux
 * Returns  false for void, a class without numbers, and what no data type names */
bool mpk_itanium_dtype(const struct mpk_itanium_type *t, struct mpk_dtype *out);

/* Which parts are left out. */
struct mpk_demangle_form {
	bool returns;     /* the return type, which the symbols of templates have, is in */
	bool no_params;   /* without "(float*, int)" */
	unsigned deepest; /* template arguments below this level are "<...>"; 0: all are shown */
};

/* mpk_demangle - append what a symbol names, as c++filt prints it but for ">>"
 * @symbol  any bytes; names in it are appended as they are, so the caller escapes the result
 * Returns  whether it is a symbol that is known here; else, and when memory is out, nothing is appended
 * Format   FORMAT.md */
bool mpk_demangle(struct mpk_span symbol, struct mpk_demangle_form form, struct mpk_strbuf *out);

#endif
