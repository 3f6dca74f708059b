/* SPDX-License-Identifier: Apache-2.0 */
/* A list of what is allowed: a call that a kernel gains tomorrow is refused. Calls that another
 * libc makes in the place of one of these fail with EPERM, as the same call would that is missing. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "sandbox/internal/sandbox.h"
#include "sandbox/sandbox.h"

/* --- filters ---------------------------------------------------------------------- */

#if defined(__x86_64__) && !defined(__ILP32__)
#define AUDIT_ARCH_HERE AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && !defined(__AARCH64EB__)
#define AUDIT_ARCH_HERE AUDIT_ARCH_AARCH64
#elif defined(__s390x__)
#define AUDIT_ARCH_HERE AUDIT_ARCH_S390X
#elif defined(__riscv) && __riscv_xlen == 64
#define AUDIT_ARCH_HERE AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define AUDIT_ARCH_HERE AUDIT_ARCH_PPC64LE
#else
#define AUDIT_ARCH_HERE 0
#endif

/* Numbers from here on are calls of x32, which have this machine's name. */
#define X32_BIT 0x40000000U

static void seccomp_add(struct mpk_filter *f, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
	if (f->len == MPK_FILTER_MAX) {
		f->failed = true;
		return;
	}
	f->code[f->len++] = (struct sock_filter){ code, yes, no, k };
}

static void seccomp_load(struct mpk_filter *f, size_t offset)
{
	seccomp_add(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static size_t argument(unsigned index)
{
	return offsetof(struct seccomp_data, args) + index * sizeof(uint64_t);
}

/* Arguments are 64 bits wide, but the kernel looks at the low half of an int: a filter that
 * compared all of it could be passed by setting high bits. */
static void load_argument(struct mpk_filter *f, unsigned index)
{
	size_t low = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0;

	seccomp_load(f, argument(index) + low);
}

static void give(struct mpk_filter *f, uint32_t action)
{
	seccomp_add(f, BPF_RET | BPF_K, action, 0, 0);
}

/* Calls of another ABI than this program's are refused. */
static void filter_begin(struct mpk_filter *f)
{
	const uint32_t refuse = SECCOMP_RET_ERRNO | EPERM;

	seccomp_load(f, offsetof(struct seccomp_data, arch));
	seccomp_add(f, BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_HERE, 1, 0);
	give(f, refuse);
#ifdef __x86_64__
	seccomp_load(f, offsetof(struct seccomp_data, nr));
	seccomp_add(f, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
	give(f, refuse);
#endif
}

/* Decides on every system call of a set. The kernel tries a new filter with each call that
 * it knows, so a rule for each of a hundred would take half a millisecond; this takes a
 * step for 32. The bit of call nr is nr % 32 of words[nr / 32]. */
static void filter_set(struct mpk_filter *f, const uint32_t words[MPK_FILTER_WORDS],
		       uint32_t action)
{
	seccomp_load(f, offsetof(struct seccomp_data, nr));
	seccomp_add(f, BPF_ALU | BPF_AND | BPF_K, 31, 0, 0);
	seccomp_add(f, BPF_MISC | BPF_TAX, 0, 0, 0);
	seccomp_load(f, offsetof(struct seccomp_data, nr));
	seccomp_add(f, BPF_ALU | BPF_RSH | BPF_K, 5, 0, 0);
	for (uint32_t i = 0; i < MPK_FILTER_WORDS; i++) {
		if (!words[i])
			continue;
		seccomp_add(f, BPF_JMP | BPF_JEQ | BPF_K, i, 0, 5);
		seccomp_add(f, BPF_LD | BPF_IMM, words[i], 0, 0);
		seccomp_add(f, BPF_ALU | BPF_RSH | BPF_X, 0, 0, 0);
		seccomp_add(f, BPF_JMP | BPF_JSET | BPF_K, 1, 0, 1);
		give(f, action);
		/* no other word has it: on to the next rule, which loads anew */
		seccomp_add(f, BPF_LD | BPF_IMM, MPK_FILTER_WORDS, 0, 0);
	}
}

void mpk_filter_add(struct mpk_filter *f, long nr, unsigned index, uint32_t mask, uint32_t value,
		    uint32_t action)
{
	bool masks = mask != UINT32_MAX;

	if (!f->len)
		filter_begin(f);
	seccomp_load(f, offsetof(struct seccomp_data, nr));
	seccomp_add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, !mask ? 1 : masks ? 4 : 3);
	if (mask) {
		load_argument(f, index);
		if (masks)
			seccomp_add(f, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
		seccomp_add(f, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	}
	give(f, action);
}

/* Decides on system call nr when the low 32 bits of an argument have a bit of mask. */
static void filter_bits(struct mpk_filter *f, long nr, unsigned index, uint32_t mask,
			uint32_t action)
{
	seccomp_load(f, offsetof(struct seccomp_data, nr));
	seccomp_add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 3);
	load_argument(f, index);
	seccomp_add(f, BPF_JMP | BPF_JSET | BPF_K, mask, 0, 1);
	give(f, action);
}

/* Decides on system call nr when all of an argument is 0, such as a pointer. */
static void filter_null(struct mpk_filter *f, long nr, unsigned index, uint32_t action)
{
	seccomp_load(f, offsetof(struct seccomp_data, nr));
	seccomp_add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 5);
	seccomp_load(f, argument(index));
	seccomp_add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3);
	seccomp_load(f, argument(index) + 4);
	seccomp_add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1);
	give(f, action);
}

bool mpk_filter_install(struct mpk_filter *f, uint32_t action)
{
	struct sock_fprog program = { .len = 0, .filter = f->code };

	give(f, action);
	program.len = f->len;
	if (f->failed || !AUDIT_ARCH_HERE)
		return false;
	/* Root may go without; anybody else must give set-user-ID programs up first. */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
		return true;
	return errno == EACCES && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* --- the calls that stay ---------------------------------------------------------- */

#define CALL(name) SYS_##name

/* Machines made later have fewer of these: older calls have newer ones that do the same. */
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
	CALL(fgetxattr), /* who wrote a file (io/output.h) */
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

static void filter_call(struct mpk_filter *f, long nr, uint32_t action)
{
	mpk_filter_add(f, nr, 0, 0, 0, action);
}

static void allow_value(struct mpk_filter *f, long nr, unsigned index, uint32_t value)
{
	mpk_filter_add(f, nr, index, UINT32_MAX, value, SECCOMP_RET_ALLOW);
}

static void seccomp_put(uint32_t words[MPK_FILTER_WORDS], const long *calls, size_t count)
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
		allow_value(f, CALL(fcntl), 1, commands[i]);
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
		filter_bits(f, CALL(mmap), 2, PROT_EXEC, refuse);
		filter_bits(f, CALL(mprotect), 2, PROT_EXEC, refuse);
	}
	filter_call(f, CALL(mmap), allow);
	filter_call(f, CALL(mprotect), allow);
	/* Threads, not processes. What clone3 is asked for lies in memory, where no filter can look: libc
	 * takes clone in its place. */
	filter_bits(f, CALL(clone), CLONE_FLAGS, CLONE_THREAD, allow);
	filter_call(f, CALL(clone3), SECCOMP_RET_ERRNO | ENOSYS);
	add_fcntl(f);
	allow_value(f, CALL(ioctl), 1, TCGETS);
	allow_value(f, CALL(ioctl), 1, TIOCGWINSZ);
	allow_value(f, CALL(kill), 0, self);
	allow_value(f, CALL(tgkill), 0, self);
	allow_value(f, CALL(tkill), 0, self); /* raise and abort of musl */
	if (runs_code) {
		/* limits can be asked for, and by root not raised again */
		filter_null(f, CALL(prlimit64), 2, allow);
		return;
	}
	filter_call(f, CALL(setrlimit), allow);
	allow_value(f, CALL(prlimit64), 0, 0);
}

/* The set first, as it has the calls that are made most: each rule before it would be tried
 * for every read. */
bool mpk_calls_restrict(const struct mpk_sandbox *s)
{
	uint32_t words[MPK_FILTER_WORDS] = { 0 };
	struct mpk_filter f = { .len = 0 };

	filter_begin(&f);
	seccomp_put(words, allowed, MPK_ARRAY_COUNT(allowed));
	if (s->writable_count)
		seccomp_put(words, allowed_writing, MPK_ARRAY_COUNT(allowed_writing));
	if (s->replaces)
		seccomp_put(words, allowed_replacing, MPK_ARRAY_COUNT(allowed_replacing));
	if (s->runs_code)
		seccomp_put(words, allowed_code, MPK_ARRAY_COUNT(allowed_code));
	filter_set(&f, words, SECCOMP_RET_ALLOW);
	add_rules(&f, s->runs_code);
	return mpk_filter_install(&f, SECCOMP_RET_ERRNO | EPERM);
}

bool mpk_calls_known(void)
{
	return AUDIT_ARCH_HERE && prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
}
