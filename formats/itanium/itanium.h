/* SPDX-License-Identifier: Apache-2.0 */
/* itanium.h - symbols of C++ functions, in the Itanium C++ ABI (FORMAT.md)
 *
 * Kernels of CUDA and HIP that are not extern "C" have such symbols, which contain the types of
 * parameters that a cubin lacks. mpk_itanium_read accepts the types that kernels have, not all of
 * C++. */
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
	char builtin;         /* letter of a builtin type in the ABI: 'f' float, 'i' int, ...; NUL:
			       * a class */
	struct mpk_span name; /* name of a class, without its scopes */
	unsigned lanes;       /* lanes of a vector; else 1 */
	unsigned pointers;    /* number of pointers: 2 for "float **"; a reference counts as one */
	bool is_const;        /* the data behind the pointers is const */
};

struct mpk_itanium_function {
	struct mpk_span name; /* without its scopes; a view of the symbol */
	const struct mpk_itanium_type *params;
	size_t param_count;
};

/* mpk_itanium_is - whether a symbol is one of C++: "_Z..." */
static inline bool mpk_itanium_is(struct mpk_span symbol)
{
	return mpk_span_starts(symbol, "_Z");
}

/* mpk_itanium_read - read a function and its parameters from its symbol
 * @symbol  borrowed: names are views of it
 * @arena   receives the parameters
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: not a function, or a construct that kernels do not have;
 *          MPK_E_NOMEM
 * Format   FORMAT.md */
enum mpk_code mpk_itanium_read(struct mpk_span symbol, struct mpk_arena *arena,
			       struct mpk_itanium_function *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_itanium_write - append the symbol that a compiler gives a function
 * Its parameters are builtin types, classes without a scope, and pointers to them.
 * @scopes  names of the namespaces around it, the outermost first
 * out remembers a failed append. */
void mpk_itanium_write(const struct mpk_span *scopes, size_t scope_count,
		       const struct mpk_itanium_function *f, struct mpk_strbuf *out);

/* mpk_itanium_dtype - the type of a number, or of the numbers that a pointer points to, on 64-bit
 * Linux
 * Returns  false for void, for a class that is not a number, and for a type without a dtype */
bool mpk_itanium_dtype(const struct mpk_itanium_type *t, struct mpk_dtype *out);

/* Which parts of a name are printed. */
struct mpk_demangle_form {
	bool returns;     /* print the return type, which symbols of templates contain */
	bool no_params;   /* leave out the parameters, "(float*, int)" */
	unsigned deepest; /* deepest level of template arguments that is printed; deeper ones are
			   * "<...>"; 0: print all */
};

/* mpk_demangle - append the C++ name of a symbol, as c++filt prints it, except for ">>"
 * @symbol  any bytes; names in it are appended unchanged, so the caller escapes the result
 * Returns  false, and appends nothing, if the symbol is not understood or memory is out
 * Format   FORMAT.md */
bool mpk_demangle(struct mpk_span symbol, struct mpk_demangle_form form, struct mpk_strbuf *out);

#endif
