/* SPDX-License-Identifier: Apache-2.0 */
/* signals.h - handling of signals from callers and from the kernel */
#ifndef MPK_CMD_COMMON_SIGNALS_H
#define MPK_CMD_COMMON_SIGNALS_H

/* mpk_signals_init - call it at the start of main, before a file is opened
 * A file that becomes shorter while it is mapped raises SIGBUS when it is read: the program then
 * names the file, removes unfinished outputs and ends with MPK_EXIT_FILE. A size limit (SIGXFSZ)
 * becomes an error of write(). Children can be waited for even if the caller ignores SIGCHLD. */
void mpk_signals_init(void);

/* mpk_signals_fork - call it in a child that must not have the parent's open files: the handler
 * opens its own */
void mpk_signals_fork(void);

/* mpk_interrupt_catch - handle SIGINT, SIGTERM and SIGHUP; those that the caller ignores stay
 * ignored
 * @handler NULL: stop copying (mpk_copy_stop) and end children (mpk_process_stop), so that
 *          unfinished outputs are removed as after an error */
void mpk_interrupt_catch(void (*handler)(int sig));

/* mpk_interrupt_raise - end the process by the signal that was caught, if any */
void mpk_interrupt_raise(void);

#endif
