/* SPDX-License-Identifier: Apache-2.0 */
/* powers.h - what a process may do without asking, as capabilities(7); for this room only */
#ifndef MPK_SANDBOX_INTERNAL_POWERS_H
#define MPK_SANDBOX_INTERNAL_POWERS_H

#include <stdbool.h>

/* mpk_powers_drop_all - keep none; programs that are started later may have them
 * Returns  false: the system refuses */
bool mpk_powers_drop_all(void);

/* mpk_powers_keep_files - keep those over files and users, and no others; programs that are started later get
 * no others either */
void mpk_powers_keep_files(void);

#endif
