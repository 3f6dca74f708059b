/* SPDX-License-Identifier: Apache-2.0 */
/* help.h - --help and --version, from the rows of the option tables; --explain, from the catalogue of messages */
#ifndef MPK_CMD_COMMON_HELP_H
#define MPK_CMD_COMMON_HELP_H

#include <stdbool.h>
#include <stddef.h>

#include "common/options.h"

/* mpk_help_print - print the help of a command
 * @common  the rows that all commands have
 * @topic   NULL: not the help but the version, of the program, libraries and generations; "": the first screen, at most 24 lines; "all": every option; "table": the rows for scripts/completion;
 *          else the name of an action: its options, ten a screen
 * @screen  of an action's options, "2"; NULL: the first
 * Returns  an exit status: MPK_EXIT_USAGE after a message where there is no such topic; MPK_EXIT_FILE when standard
 *          output cannot be written */
int mpk_help_print(const struct mpk_command *command, const struct mpk_option *common,
		   const char *topic, const char *screen);

/* mpk_explain - print what messages mean; all of them, one a line, where no word asks for one
 * @first   the value of the option, "" when it has none
 * @more    the operands: further words
 * @json    one document instead of text
 * Returns  an exit status: MPK_EXIT_USAGE, after a message, when there is no such message */
int mpk_explain(const char *first, char *const *more, size_t count, bool json);

#endif
