/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox.h - what the files of this folder share, and nobody else includes */
#ifndef MPK_SANDBOX_INTERNAL_SANDBOX_H
#define MPK_SANDBOX_INTERNAL_SANDBOX_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

#include "sandbox/sandbox.h"

/* A seccomp filter as it is put together; for this room only
 *
 * Instructions of classic BPF, see bpf(2) and seccomp(2). Each rule is independent: it decides, or the
 * next one does.
 */

enum { MPK_FILTER_MAX = 512, MPK_FILTER_WORDS = 16 };

/* Zero-initialise; add rules; install. Calls of another ABI than this program's are refused. */
struct mpk_filter {
	struct sock_filter code[MPK_FILTER_MAX];
	unsigned short len;
	bool failed; /* too long */
};

/* mpk_filter_add - decide on system call nr with action (SECCOMP_RET_...)
 * @index, mask, value  of an argument, the low 32 bits: the rule decides when those of mask in them are
 *          value; a mask of 0: always */
void mpk_filter_add(struct mpk_filter *f, long nr, unsigned index, uint32_t mask, uint32_t value,
		    uint32_t action);

/* mpk_filter_install - with an action for what no rule decided
 * Returns  false: the system refuses it, or it is not known how the machine names its own ABI */
bool mpk_filter_install(struct mpk_filter *f, uint32_t action);

/* What the files of this room do for each other: system calls, signals, namespaces and
 * capabilities that a process gives up
 */

/* mpk_calls_restrict - to reading and writing open files, memory that is not executable, threads, time; and
 * to what s adds: files that appear, modes of those that are replaced, code
 * Returns  false where the system cannot */
bool mpk_calls_restrict(const struct mpk_sandbox *s);

/* mpk_calls_known - whether mpk_calls_restrict would work here */
bool mpk_calls_known(void);

/* mpk_namespaces_enter - user, network, IPC and mount namespaces of its own, with no file but what s says is
 * readable, nobody's user and group, and no capability in any
 * The process must have one thread.
 * @out     namespaces, own_user and own_root: which of it the system let this process have; the capabilities
 *          go in any case */
void mpk_namespaces_enter(const struct mpk_sandbox *s, struct mpk_sandbox_state *out);

/* mpk_powers_drop - keep no capabilities(7), or with keeps_files those over files; in the second case programs
 * that are started later have no others, either
 * Returns  false: the system refuses */
bool mpk_powers_drop(bool keeps_files);

#endif
