/* SPDX-License-Identifier: Apache-2.0 */
/* libcrypto.h - OpenSSL's libcrypto, loaded when it is first needed
 *
 * Programs start in a millisecond and work without it; what needs cryptography says what to
 * install where it is missing. Its functions are declared by those who call them: the types are
 * opaque in OpenSSL's own headers, too, and the interface of OpenSSL 3 is kept by its soname.
 */
#ifndef MPK_IO_LIBCRYPTO_H
#define MPK_IO_LIBCRYPTO_H

#include <stddef.h>

#include "base/error.h"

/* mpk_libcrypto_load - the functions of these names, in their order
 * The library stays loaded: there is no moment at which nobody will want it again.
 * @what    needs it, for the message: "SHA-256"
 * @table   a struct of count function pointers; untouched on failure
 * Returns  MPK_OK; MPK_E_LOAD: it is not installed, or lacks a name. Not thread-safe at the
 *          first call of a process. */
enum mpk_code mpk_libcrypto_load(const char *what, const char *const *names, size_t count,
				 void *table, struct mpk_error *err) MPK_MUST_CHECK;

#endif
