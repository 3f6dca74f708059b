/* SPDX-License-Identifier: Apache-2.0 */
/* Whoever may signal a process may stop it, and with it the clock that holds a timeout. */
#include <asm/sockios.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/filter.h"
#include "sandbox/sandbox.h"

bool mpk_sandbox_protect(pid_t pid)
{
	const uint32_t refuse = SECCOMP_RET_ERRNO | EPERM, target = (uint32_t)pid;
	struct mpk_filter f;

	if (!mpk_filter_begin(&f))
		return false;
	/* it alone, its group, everybody */
	mpk_filter_value(&f, SYS_kill, 0, target, refuse);
	mpk_filter_value(&f, SYS_kill, 0, (uint32_t)-getpgid(pid), refuse);
	mpk_filter_value(&f, SYS_kill, 0, UINT32_MAX, refuse);
	mpk_filter_value(&f, SYS_tgkill, 0, target, refuse);
	mpk_filter_value(&f, SYS_tkill, 0, target, refuse);
	mpk_filter_value(&f, SYS_rt_sigqueueinfo, 0, target, refuse);
	mpk_filter_value(&f, SYS_rt_tgsigqueueinfo, 0, target, refuse);
	mpk_filter_value(&f, SYS_ptrace, 1, target, refuse);
	mpk_filter_value(&f, SYS_process_vm_writev, 0, target, refuse);
	/* a descriptor of it would do for signals */
#ifdef SYS_pidfd_open
	mpk_filter_value(&f, SYS_pidfd_open, 0, target, refuse);
#endif
#ifdef SYS_pidfd_send_signal
	mpk_filter_call(&f, SYS_pidfd_send_signal, refuse);
#endif
	/* so would one that signals its owner; which process that becomes may stand in memory, where no
	 * filter can look */
	mpk_filter_value(&f, SYS_fcntl, 1, F_SETOWN, refuse);
	mpk_filter_value(&f, SYS_fcntl, 1, F_SETOWN_EX, refuse);
	mpk_filter_value(&f, SYS_ioctl, 1, FIOSETOWN, refuse);
	mpk_filter_value(&f, SYS_ioctl, 1, SIOCSPGRP, refuse);
	return mpk_filter_install(&f, SECCOMP_RET_ALLOW);
}
