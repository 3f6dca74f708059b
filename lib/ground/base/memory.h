/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - whether memory was ever out
 *
 * Readers try: what is no code of one format may be of another, what has no signature may do without. Where an
 * allocation fails amid that, it would look like an answer. So what grows notes it here, and who ends a piece of work
 * asks before the work counts, as for files that changed (mpk_mappings_check, io/mapping.h).
 */
#ifndef MPK_BASE_MEMORY_H
#define MPK_BASE_MEMORY_H

#include "base/error.h"

/* mpk_memory_failed - note that the system gave no memory; from any thread */
void mpk_memory_failed(void);

/* mpk_memory_check - whether all that was done in this process had the memory that it asked for
 * Returns  MPK_OK; MPK_E_NOMEM, from the first failure on */
enum mpk_code mpk_memory_check(struct mpk_error *err) MPK_MUST_CHECK;

#endif
