/* SPDX-License-Identifier: Apache-2.0 */
/* Whoever may signal a process may stop it, and with it the clock that holds a timeout; so may whoever
 * takes its processor, its limits or the terminal that it writes to.
 *
 * Most is held by what the process is: apart from others it has no number for them, and a session of its own
 * keeps it out of their groups and their terminal. The rules here are for where it has such numbers, and for
 * terminals, which have names as files have. */
#include <asm/sockios.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/ioctl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "sandbox/internal/sandbox.h"
#include "sandbox/sandbox.h"

/* --- capabilities ----------------------------------------------------------------- */

/* A list of what is kept: a capability that a kernel gains tomorrow is dropped. */

typedef struct __user_cap_data_struct cap_words[_LINUX_CAPABILITY_U32S_3];

static bool set_powers(const cap_words words)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capset, &head, words) == 0;
}

bool mpk_powers_drop_all(void)
{
	const cap_words none = { { 0 } };

	return set_powers(none);
}

/* Files with their owners and modes, nodes of devices, which a driver makes when they are missing; to become
 * another user; what a server needs. Not: modules, memory and ports of the machine, other processes, limits,
 * priorities, terminals, mounts, namespaces, time, the end of the system. */
static uint64_t kept(void)
{
	static const unsigned caps[] = {
		CAP_CHOWN,    CAP_DAC_OVERRIDE,     CAP_DAC_READ_SEARCH, CAP_FOWNER,
		CAP_FSETID,   CAP_SETGID,           CAP_SETUID,          CAP_SETPCAP,
		CAP_SETFCAP,  CAP_NET_BIND_SERVICE, CAP_NET_BROADCAST,   CAP_NET_RAW,
		CAP_IPC_LOCK, CAP_IPC_OWNER,        CAP_LEASE,           CAP_SYS_CHROOT,
		CAP_MKNOD,
	};
	uint64_t bits = 0;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(caps); i++)
		bits |= UINT64_C(1) << caps[i];
	return bits;
}

static void keep_file_powers(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	uint64_t keep = kept();
	cap_words words;

	if (syscall(SYS_capget, &head, words) != 0)
		return;
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
		if (cap >= 64 || !(keep >> cap & 1))
			(void)prctl(PR_CAPBSET_DROP, cap);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(words); i++) {
		uint32_t mask = (uint32_t)(keep >> (32 * i));

		words[i].effective &= mask;
		words[i].permitted &= mask;
		words[i].inheritable &= mask;
	}
	(void)set_powers(words);
}

/* --- other processes and terminals ------------------------------------------------ */

static const uint32_t REFUSE = SECCOMP_RET_ERRNO | EPERM, ALLOW = SECCOMP_RET_ALLOW;

/* Every call that takes the number of a process or a thread and does something to it, and which argument
 * that is. Our caller and the keeper have one thread each, of the same number. */
static const struct {
	long nr;
	unsigned index;
} numbered[] = {
	{ SYS_kill, 0 },
	{ SYS_tkill, 0 },
	{ SYS_tgkill, 0 },
	{ SYS_tgkill, 1 },
	{ SYS_rt_sigqueueinfo, 0 },
	{ SYS_rt_tgsigqueueinfo, 0 },
	{ SYS_rt_tgsigqueueinfo, 1 },
	{ SYS_ptrace, 1 },
	{ SYS_process_vm_readv, 0 },
	{ SYS_process_vm_writev, 0 },
	{ SYS_kcmp, 0 },
	{ SYS_kcmp, 1 },
	{ SYS_prlimit64, 0 },
	{ SYS_setpriority, 1 },
	{ SYS_ioprio_set, 1 },
	{ SYS_sched_setscheduler, 0 },
	{ SYS_sched_setparam, 0 },
	{ SYS_sched_setattr, 0 },
	{ SYS_sched_setaffinity, 0 },
	{ SYS_setpgid, 0 },
	{ SYS_setpgid, 1 },
	{ SYS_perf_event_open, 1 },
#ifdef SYS_migrate_pages
	{ SYS_migrate_pages, 0 },
	{ SYS_move_pages, 0 },
#endif
#ifdef SYS_pidfd_open
	{ SYS_pidfd_open, 0 },
#endif
};

/* Calls that name a process by a descriptor, which /proc gives to anybody. */
static const long described[] = {
#ifdef SYS_pidfd_send_signal
	SYS_pidfd_send_signal,
#endif
#ifdef SYS_pidfd_getfd
	SYS_pidfd_getfd,
#endif
#ifdef SYS_process_madvise
	SYS_process_madvise,
#endif
#ifdef SYS_process_mrelease
	SYS_process_mrelease,
#endif
};

static void refuse_process(struct mpk_filter *f, pid_t pid)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(numbered); i++)
		mpk_filter_value(f, numbered[i].nr, numbered[i].index, (uint32_t)pid, REFUSE);
	mpk_filter_value(f, SYS_kill, 0, (uint32_t)-getpgid(pid), REFUSE);
}

/* Where others have numbers: many at once, and those that a descriptor or memory names, where no filter can
 * look. */
static void refuse_others(struct mpk_filter *f, const pid_t *others, size_t count)
{
	enum {
		SCHED_CORE = 62,
		IOPRIO_WHO_PGRP = 2,
		IOPRIO_WHO_USER = 3
	}; /* of the kernel's interface */

	for (size_t i = 0; i < count; i++)
		refuse_process(f, others[i]);
	mpk_filter_value(f, SYS_kill, 0, UINT32_MAX, REFUSE); /* everybody */
	mpk_filter_value(f, SYS_setpriority, 0, PRIO_PGRP, REFUSE);
	mpk_filter_value(f, SYS_setpriority, 0, PRIO_USER, REFUSE);
	mpk_filter_value(f, SYS_ioprio_set, 0, IOPRIO_WHO_PGRP, REFUSE);
	mpk_filter_value(f, SYS_ioprio_set, 0, IOPRIO_WHO_USER, REFUSE);
	mpk_filter_value(f, SYS_prctl, 0, SCHED_CORE, REFUSE);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(described); i++)
		mpk_filter_call(f, described[i], REFUSE);
	/* a descriptor can be asked to signal its owner, and the owner be anybody */
	mpk_filter_value(f, SYS_fcntl, 1, F_SETOWN, REFUSE);
	mpk_filter_value(f, SYS_fcntl, 1, F_SETOWN_EX, REFUSE);
	mpk_filter_value(f, SYS_ioctl, 1, FIOSETOWN, REFUSE);
	mpk_filter_value(f, SYS_ioctl, 1, SIOCSPGRP, REFUSE);
}

/* A terminal can be typed into, stopped, hung up and made to stop who writes to it: it can be asked, and
 * nothing else. Its requests are a group of numbers, but for a few newer ones. */
static void refuse_terminals(struct mpk_filter *f)
{
	static const uint32_t asked[] = { TCGETS,   TIOCGWINSZ, TIOCGPGRP, TIOCGSID,
					  TIOCOUTQ, FIONREAD,   FIONBIO,   FIONCLEX,
					  FIOCLEX,  FIOASYNC,   TIOCGETD };
	const uint32_t group = TCGETS & ~0xffU;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(asked); i++)
		mpk_filter_value(f, SYS_ioctl, 1, asked[i], ALLOW);
	mpk_filter_masked(f, SYS_ioctl, 1, ~0xffU, group, REFUSE);
	for (uint32_t newer = 0x2b; newer <= 0x2d;
	     newer++) /* TCSETS2 and its like: _IOW, any size */
		mpk_filter_masked(f, SYS_ioctl, 1, 0xc000ffffU, 0x40000000U | group | newer,
				  REFUSE);
	for (uint32_t console = 0x4b00; console <= 0x5600; console += 0x5600 - 0x4b00)
		mpk_filter_masked(f, SYS_ioctl, 1, ~0xffU, console, REFUSE);
	mpk_filter_call(f, SYS_vhangup, REFUSE);
}

bool mpk_sandbox_protect(const pid_t *others, size_t count, bool keeps_rights)
{
	struct mpk_filter f;
	bool done = mpk_filter_begin(&f);

	(void)mpk_landlock_scope(); /* the same again, by what a process is and not by its number */
	if (done) {
		if (count)
			refuse_others(&f, others, count);
		refuse_terminals(&f);
		done = mpk_filter_install(&f, ALLOW);
	}
	/* last: the steps above need some of them; and a user has none but with namespaces of its own */
	if (!keeps_rights && geteuid() == 0)
		keep_file_powers();
	else if (!keeps_rights)
		(void)mpk_powers_drop_all();
	return done;
}
