/* SPDX-License-Identifier: Apache-2.0 */
/* Behind Landlock and seccomp, should one of them have a gap: no network interface, no System V or message
 * queue of others, no mount of others, and no right over anything, for root neither.
 *
 * No namespace of processes: its first process is its init, to which signals that it sends itself do nothing
 * by default, so called code that aborts would end otherwise; and another process between would have to stand
 * in for it. What that namespace hides, the filter of system calls leaves no call for. */
#include "sandbox/namespaces.h"

#include <linux/capability.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A new user namespace gives all capabilities within it. */
static bool drop_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	return syscall(SYS_capset, &head, none) == 0;
}

bool mpk_namespaces_enter(void)
{
	return unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWNS) == 0 &&
	       drop_capabilities();
}

bool mpk_namespaces_known(void)
{
	pid_t pid = fork();
	int status = 1;

	if (pid == 0)
		_exit(mpk_namespaces_enter() ? 0 : 1);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}
