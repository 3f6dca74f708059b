/* SPDX-License-Identifier: Apache-2.0 */
/* key.h - the private key of a command line */
#ifndef MPK_CMD_MPACK_KEY_H
#define MPK_CMD_MPACK_KEY_H

#include "trust/key.h"

/* mpk_key_memory - a page for a key, which no process has that this one forks
 * Returns  NULL: no memory; to be wiped, and kept until the process ends */
struct mpk_secret_key *mpk_key_memory(void);

/* mpk_key_open - read a private key, and load what signs with it, before anything is built and while
 * the process may open files
 * @output  must be another file; NULL: not known yet
 * @key     to be wiped by the caller in every case
 * Returns  MPK_OK; MPK_E_USAGE: output is the key; as mpk_secret_key_read */
enum mpk_code mpk_key_open(const char *path, const char *output, struct mpk_secret_key *key,
			   struct mpk_error *err) MPK_MUST_CHECK;

#endif
