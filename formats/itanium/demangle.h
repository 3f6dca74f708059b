/* SPDX-License-Identifier: Apache-2.0 */
/* demangle.h - symbols of C++ as a person reads them, "scale<float>(float*, int)" (FORMAT.md) */
#ifndef MPK_FORMATS_ITANIUM_DEMANGLE_H
#define MPK_FORMATS_ITANIUM_DEMANGLE_H

#include <stdbool.h>

#include "base/span.h"
#include "base/strbuf.h"

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
