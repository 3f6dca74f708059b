/* SPDX-License-Identifier: Apache-2.0 */
/* explain.h - --explain of both programs: what the word in brackets after a finding means */
#ifndef MPK_CMD_COMMON_EXPLAIN_H
#define MPK_CMD_COMMON_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>

/* mpk_explain - print what messages mean; all of them, one a line, where no word asks for one
 * @first   the value of the option, "" when it has none
 * @more    the operands: further words
 * @json    one document instead of text
 * Returns  an exit status: MPK_EXIT_USAGE, after a message, when there is no such message */
int mpk_explain(const char *first, char *const *more, size_t count, bool json);

#endif
