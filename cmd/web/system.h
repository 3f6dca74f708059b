/* SPDX-License-Identifier: Apache-2.0 */
/* system.h - Linux declarations that wasi-libc lacks, included before every source (scripts/web)
 *
 * Functions that only change this process (a limit, a timer, a signal handler) do nothing and
 * succeed. Functions that would need the kernel fail with ENOSYS; their callers report that or do
 * without, as on an old system. */
#ifndef MPK_WEB_SYSTEM_H
#define MPK_WEB_SYSTEM_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static inline int mpk_web_refuse(void)
{
	errno = ENOSYS;
	return -1;
}

/* files */
enum { O_TMPFILE = 1 << 30, F_DUPFD_CLOEXEC = 1030, SEEK_DATA = 3, SEEK_HOLE = 4 };
#define dup2(from, to) ((void)(from), (void)(to), mpk_web_refuse())
#define realpath(path, into) ((void)(into), strdup(path))
#define fchmod(fd, mode) ((void)(fd), (void)(mode), mpk_web_refuse())
#define fchown(fd, user, group) ((void)(fd), (void)(user), (void)(group), mpk_web_refuse())

/* programs */
#define memfd_create(name, flags) ((void)(name), (void)(flags), mpk_web_refuse())
#define execve(path, arguments, environment)                                                       \
	((void)(path), (void)(arguments), (void)(environment), mpk_web_refuse())

/* memory: the pages of an emulated mapping are ordinary memory */
#undef madvise
#define MADV_DONTNEED 4
#define MADV_DONTFORK 10
#define madvise(at, len, advice) ((void)(at), (void)(len), 0)
#define mprotect(at, len, rights) ((void)(at), (void)(len), (void)(rights), 0)

/* limits */
struct rlimit {
	unsigned long long rlim_cur, rlim_max;
};
typedef unsigned long long rlim_t;
enum { RLIMIT_CPU, RLIMIT_DATA, RLIMIT_CORE, RLIMIT_NOFILE };
#define getrlimit(kind, limit) ((void)(kind), (void)(limit), mpk_web_refuse())
#define setrlimit(kind, limit) ((void)(kind), (void)(limit), 0)

/* timers and signals */
struct itimerval {
	struct timeval it_interval, it_value;
};
enum { ITIMER_REAL };
#define setitimer(kind, timer, before) ((void)(kind), (void)(timer), (void)(before), 0)
typedef struct {
	void *si_addr;
} siginfo_t;
struct sigaction {
	void (*sa_handler)(int);
	void (*sa_sigaction)(int, siginfo_t *, void *);
	int sa_flags;
};
enum { SA_RESTART = 1, SA_SIGINFO = 2 };
#define sigaction(number, action, before) ((void)(number), (void)(action), (void)(before), 0)

/* terminals */
struct winsize {
	unsigned short ws_row, ws_col;
};
#define TIOCGWINSZ 0x5413

/* qsort_r of glibc, with the context last */
void qsort_r(void *base, size_t count, size_t size,
	     int (*order)(const void *, const void *, void *), void *context);

#endif
