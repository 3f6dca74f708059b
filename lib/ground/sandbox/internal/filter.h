/* SPDX-License-Identifier: Apache-2.0 */
/* filter.h - a seccomp filter as it is put together; for this room only
 *
 * Instructions of classic BPF, see bpf(2) and seccomp(2). Each rule is independent: it decides, or the
 * next one does.
 */
#ifndef MPK_SANDBOX_INTERNAL_FILTER_H
#define MPK_SANDBOX_INTERNAL_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

enum { MPK_FILTER_MAX = 512, MPK_FILTER_WORDS = 16 };

struct mpk_filter {
	struct sock_filter code[MPK_FILTER_MAX];
	unsigned short len;
	bool failed; /* too long */
};

/* mpk_filter_begin - calls of another ABI than this program's are refused
 * Returns  false: it is not known how the machine names its own */
bool mpk_filter_begin(struct mpk_filter *f);

/* mpk_filter_call - decide on system call nr with action (SECCOMP_RET_...) */
void mpk_filter_call(struct mpk_filter *f, long nr, uint32_t action);

/* mpk_filter_value - decide on system call nr when the low 32 bits of argument index are value */
void mpk_filter_value(struct mpk_filter *f, long nr, unsigned index, uint32_t value,
		      uint32_t action);

/* mpk_filter_masked - the same when the bits of mask in them are value */
void mpk_filter_masked(struct mpk_filter *f, long nr, unsigned index, uint32_t mask, uint32_t value,
		       uint32_t action);

/* mpk_filter_install - with an action for what no rule decided
 * Returns  false: the system refuses it */
bool mpk_filter_install(struct mpk_filter *f, uint32_t action);

#endif
