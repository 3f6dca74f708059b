/* SPDX-License-Identifier: Apache-2.0 */
/* A list of what is allowed: a call that a kernel gains tomorrow is refused. Calls that another
 * libc makes in the place of one of these fail with EPERM, as the same call would that is missing. */
#include "sandbox/internal/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "sandbox/internal/filter.h"

#define CALL(name) SYS_##name

/* Machines made later have fewer of these: each stands for a newer one. */
static const long allowed[] = {
	/* files; which ones is not asked here */
	CALL(read),
	CALL(pread64),
	CALL(readv),
	CALL(write),
	CALL(pwrite64),
	CALL(writev),
	CALL(close),
	CALL(fstat),
	CALL(lseek),
	CALL(openat),
	CALL(dup),
	CALL(getdents64),
	CALL(flock),
	CALL(faccessat),
	CALL(readlinkat),
	CALL(copy_file_range),
	CALL(sendfile),
	CALL(statfs),
	CALL(fstatfs),
	CALL(getcwd),
	CALL(umask),
	CALL(close_range),
	CALL(statx),
#ifdef SYS_newfstatat
	CALL(newfstatat),
#endif
#ifdef SYS_fadvise64
	CALL(fadvise64),
#endif
#ifdef SYS_faccessat2
	CALL(faccessat2),
#endif
#ifdef SYS_open
	CALL(open),
	CALL(stat),
	CALL(lstat),
	CALL(access),
	CALL(readlink),
	CALL(dup2),
	CALL(poll),
#endif
	/* memory; mmap and mprotect depend on what for */
	CALL(munmap),
	CALL(mremap),
	CALL(madvise),
	CALL(brk),
	/* threads and time */
	CALL(futex),
	CALL(set_robust_list),
	CALL(sched_yield),
	CALL(sched_getaffinity),
	CALL(clock_gettime),
	CALL(clock_nanosleep),
	CALL(nanosleep),
	CALL(ppoll),
	CALL(exit),
#ifdef SYS_rseq
	CALL(rseq),
#endif
	/* the process itself */
	CALL(exit_group),
	CALL(rt_sigaction),
	CALL(rt_sigprocmask),
	CALL(rt_sigreturn),
	CALL(sigaltstack),
	CALL(getpid),
	CALL(gettid),
	CALL(getuid),
	CALL(geteuid),
	CALL(getgid),
	CALL(getegid),
	CALL(getrandom),
	CALL(getrlimit),
	CALL(uname),
	CALL(sysinfo),
	CALL(getrusage),
	CALL(restart_syscall),
#ifdef SYS_arch_prctl
	CALL(arch_prctl),
#endif
};

/* Where files may appear. */
static const long allowed_writing[] = {
	CALL(mkdirat),   CALL(unlinkat), CALL(linkat),    CALL(renameat2), CALL(ftruncate),
	CALL(fallocate), CALL(fsync),    CALL(fdatasync), CALL(syncfs),
#ifdef SYS_renameat
	CALL(renameat),
#endif
#ifdef SYS_open
	CALL(mkdir),     CALL(rmdir),    CALL(unlink),    CALL(rename),    CALL(link),
#endif
};

static const long allowed_replacing[] = {
	CALL(fchmod),
	CALL(fchown),
	CALL(fgetxattr), /* who wrote a file (io/overwrite.h) */
	CALL(fsetxattr),
};

/* What OpenMP, a C++ runtime or a just-in-time compiler does beside. */
static const long allowed_code[] = {
	CALL(ftruncate),
	CALL(fallocate),
	CALL(sched_setaffinity),
	CALL(sched_getparam),
	CALL(sched_getscheduler),
	CALL(getcpu),
	CALL(gettimeofday),
	CALL(clock_getres),
	CALL(set_tid_address),
	CALL(getppid),
	CALL(mlock),
	CALL(munlock),
	CALL(pipe2),
	CALL(eventfd2),
	CALL(epoll_create1),
	CALL(epoll_ctl),
	CALL(epoll_pwait),
	CALL(dup3),
	CALL(rt_sigtimedwait),
	CALL(rt_sigsuspend),
	CALL(get_robust_list),
	CALL(times),
	CALL(getpgid),
	CALL(msync),
	CALL(mincore),
#ifdef SYS_membarrier
	CALL(membarrier),
#endif
#ifdef SYS_time
	CALL(time),
	CALL(pause),
#endif
};

static void put(uint32_t words[MPK_FILTER_WORDS], const long *calls, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (calls[i] >= 0 && calls[i] / 32 < MPK_FILTER_WORDS)
			words[calls[i] / 32] |= UINT32_C(1) << (calls[i] % 32);
}

/* A descriptor can be asked to signal its owner, and the owner be anybody. */
static void add_fcntl(struct mpk_filter *f)
{
	static const uint32_t commands[] = { F_GETFD, F_SETFD, F_GETFL,
					     F_SETFL, F_DUPFD, F_DUPFD_CLOEXEC };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(commands); i++)
		mpk_filter_value(f, CALL(fcntl), 1, commands[i], SECCOMP_RET_ALLOW);
}

/* Those that depend on their arguments. */
static void add_rules(struct mpk_filter *f, bool runs_code)
{
	const uint32_t refuse = SECCOMP_RET_ERRNO | EPERM, allow = SECCOMP_RET_ALLOW;
	const uint32_t self = (uint32_t)getpid();
#ifdef __s390x__
	enum { CLONE_FLAGS = 1 };
#else
	enum { CLONE_FLAGS = 0 };
#endif

	if (!runs_code) {
		mpk_filter_bits(f, CALL(mmap), 2, PROT_EXEC, refuse);
		mpk_filter_bits(f, CALL(mprotect), 2, PROT_EXEC, refuse);
	}
	mpk_filter_call(f, CALL(mmap), allow);
	mpk_filter_call(f, CALL(mprotect), allow);
	/* Threads, not processes. What clone3 is asked for lies in memory, where no filter can look: libc
	 * takes clone in its place. */
	mpk_filter_bits(f, CALL(clone), CLONE_FLAGS, CLONE_THREAD, allow);
	mpk_filter_call(f, CALL(clone3), SECCOMP_RET_ERRNO | ENOSYS);
	add_fcntl(f);
	mpk_filter_value(f, CALL(ioctl), 1, TCGETS, allow);
	mpk_filter_value(f, CALL(ioctl), 1, TIOCGWINSZ, allow);
	mpk_filter_value(f, CALL(kill), 0, self, allow);
	mpk_filter_value(f, CALL(tgkill), 0, self, allow);
	mpk_filter_value(f, CALL(tkill), 0, self, allow); /* raise and abort of musl */
	if (runs_code) {
		/* limits can be asked for, and by root not raised again */
		mpk_filter_null(f, CALL(prlimit64), 2, allow);
		return;
	}
	mpk_filter_call(f, CALL(setrlimit), allow);
	mpk_filter_value(f, CALL(prlimit64), 0, 0, allow);
}

bool mpk_calls_restrict(const struct mpk_sandbox *s)
{
	uint32_t words[MPK_FILTER_WORDS] = { 0 };
	struct mpk_filter f;

	if (!mpk_filter_begin(&f))
		return false;
	put(words, allowed, MPK_ARRAY_COUNT(allowed));
	if (s->writable_count)
		put(words, allowed_writing, MPK_ARRAY_COUNT(allowed_writing));
	if (s->replaces)
		put(words, allowed_replacing, MPK_ARRAY_COUNT(allowed_replacing));
	if (s->runs_code)
		put(words, allowed_code, MPK_ARRAY_COUNT(allowed_code));
	mpk_filter_set(&f, words, SECCOMP_RET_ALLOW);
	add_rules(&f, s->runs_code);
	return mpk_filter_install(&f, SECCOMP_RET_ERRNO | EPERM);
}

bool mpk_calls_known(void)
{
	struct mpk_filter f;

	return mpk_filter_begin(&f) && prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
}
