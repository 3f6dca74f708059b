/* SPDX-License-Identifier: Apache-2.0 */
/* foreign.h - files that hold no module, but that people try: what they are, and what to do with them */
#ifndef MPK_ELF_FOREIGN_H
#define MPK_ELF_FOREIGN_H

#include <stdbool.h>

#include "base/error.h"
#include "base/span.h"

#define MPK_FOREIGN_MANIFEST "a manifest"

struct mpk_foreign {
	const char *what; /* static: "PTX text", "a GGUF model" */
	char how[160];    /* "pack it as 'data' of ..."; "": there is nothing to say */
};

/* mpk_foreign_find - recognise a file that is no library, archive or blob, and kernels that are ELF
 * files: device code, arrays and parameters, models of other frameworks, packed files
 * @bytes   the whole file
 * Returns  whether it is one; *out is untouched when it is not */
bool mpk_foreign_find(struct mpk_span bytes, struct mpk_foreign *out);

/* mpk_foreign_fail - say why a file without a module has none
 * @otherwise  the sentence for a file that is not recognised
 * Returns  MPK_E_NO_BLOB */
enum mpk_code mpk_foreign_fail(struct mpk_span bytes, const char *otherwise, struct mpk_error *err);

/* mpk_foreign_refuse_code - refuse files that hold compiled code in another way, by their first bytes
 * Returns  MPK_OK: it is none of them; MPK_E_UNSUPPORTED */
enum mpk_code mpk_foreign_refuse_code(struct mpk_span bytes, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_foreign_refuse - refuse bytes that are no module blob, with what they are as far as that is known
 * @off     where they begin in the input
 * Returns  MPK_E_UNSUPPORTED; MPK_E_CORRUPT for what is not recognised */
enum mpk_code mpk_foreign_refuse(struct mpk_span bytes, uint64_t off,
				 struct mpk_error *err) MPK_MUST_CHECK;

#endif
