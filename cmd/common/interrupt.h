/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.h - Ctrl-C while a directory is being written: clean up, then end by it */
#ifndef MPK_CMD_COMMON_INTERRUPT_H
#define MPK_CMD_COMMON_INTERRUPT_H

/* mpk_interrupt_catch - let SIGINT, SIGTERM and SIGHUP stop copying (mpk_copy_stop) and end
 * children (mpk_process_stop), so that what is being written is abandoned as after an error;
 * signals that the caller ignores stay ignored */
void mpk_interrupt_catch(void);

/* mpk_interrupt_handle - let another function handle these signals, unless they are ignored */
void mpk_interrupt_handle(void (*handler)(int sig));

/* mpk_interrupt_raise - end the process by the signal that was caught, if there was one */
void mpk_interrupt_raise(void);

#endif
