/* SPDX-License-Identifier: Apache-2.0 */
/* outputs.h - what a command line would write, looked at before anything is done
 *
 * The rows of a command's table say which values name outputs. Those must have names, all different; no
 * file is overwritten that the command reads, nor one that the program did not write (io/place.h). An
 * output is asked again when it is opened: this here only comes before the work. */
#ifndef MPK_CMD_COMMON_OUTPUTS_H
#define MPK_CMD_COMMON_OUTPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/options.h"

/* mpk_outputs_begin - at the start of a program: who it is, by mpk_common.program
 * @mark    what its files have in them, as mpk_overwrite_author takes it; "" for none
 * @len     of mark */
void mpk_outputs_begin(const char *mark, size_t len);

/* mpk_outputs_check - whether all that the options name can be written
 * @operands  count words, of which each may be a file
 * Returns  MPK_EXIT_OK, or another after a message */
int mpk_outputs_check(const struct mpk_option *options, char *const *operands, size_t count);

#endif
