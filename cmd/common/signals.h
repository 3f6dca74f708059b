/* SPDX-License-Identifier: Apache-2.0 */
/* signals.h - what the programs do about signals that a caller or a disk sends them */
#ifndef MPK_CMD_COMMON_SIGNALS_H
#define MPK_CMD_COMMON_SIGNALS_H

/* mpk_signals_init - at the start of main, before a file is opened
 * A file that becomes shorter while it is mapped raises SIGBUS where it is read: the program says
 * which file it was, removes what it was writing and ends with MPK_EXIT_FILE. A size limit
 * (SIGXFSZ) is an error of write(). Children can be waited for even if the caller ignores SIGCHLD. */
void mpk_signals_init(void);

/* mpk_signals_fork - in a child that is not to have what this process has open: its handler opens what it needs */
void mpk_signals_fork(void);

/* mpk_interrupt_catch - handle SIGINT, SIGTERM and SIGHUP; those that the caller ignores stay ignored
 * @handler NULL: they stop copying (mpk_copy_stop) and end children (mpk_process_stop), so that what is
 *          being written is abandoned as after an error */
void mpk_interrupt_catch(void (*handler)(int sig));

/* mpk_interrupt_raise - end the process by the signal that was caught, if there was one */
void mpk_interrupt_raise(void);

#endif
