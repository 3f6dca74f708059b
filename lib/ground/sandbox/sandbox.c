/* SPDX-License-Identifier: Apache-2.0 */
/* Enters a sandbox in the only order that works: limits and namespaces first, because later
 * steps refuse the calls that make them; then Landlock for files; seccomp last.
 *
 * Each version of landlock(7) knows more rights, and a kernel refuses a ruleset with a right
 * that it does not know, so its version is asked for first. Headers may be older than the
 * kernel; therefore the numbers are defined here.
 *
 * Code under test is kept away from other processes before it enters a sandbox, too. Who can
 * signal a process can stop it, and with it the clock that enforces a timeout; the same holds
 * for its processor, its limits and its terminal. A namespace of processes leaves the code
 * without numbers for others, and a session of its own keeps it out of their groups and
 * terminals. The filter covers systems where it has such numbers, and terminals, which have
 * names like files. */
#include <asm/sockios.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/ioctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/num.h"
#include "sandbox/internal/sandbox.h"
#include "sandbox/sandbox.h"

/* --- Filters of seccomp(2). A sandboxed process has a list of allowed calls, so that a call that a
 * later kernel adds is refused; a process that runs foreign code is refused every call that
 * reaches other processes. Calls that another libc makes instead of an allowed one fail with
 * EPERM, like a missing call. */

/* --- filters ---------------------------------------------------------------------- */

static const uint32_t REFUSE = SECCOMP_RET_ERRNO | EPERM;

/* Classic BPF, see bpf(2) and seccomp(2). Each rule is independent: it decides, or passes the call
 * on to the next rule. */
enum { FILTER_MAX = 512, FILTER_WORDS = 16 };

struct filter {
	struct sock_filter code[FILTER_MAX];
	unsigned short len;
	bool failed; /* the filter is too long */
};

/* Numbers from here on are calls of x32, which has the same architecture name. */
#define X32_BIT 0x40000000U

static bool landlock_scope(void);
static bool landlock_restrict(const struct mpk_sandbox *s);

static void seccomp_add(struct filter *f, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
	if (f->len == FILTER_MAX) {
		f->failed = true;
		return;
	}
	f->code[f->len++] = (struct sock_filter){ code, yes, no, k };
}

static void seccomp_load(struct filter *f, size_t offset)
{
	seccomp_add(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* Half of an argument. Arguments have 64 bits, but for an int the kernel reads the low half: a
 * filter that compared all 64 could be bypassed by setting high bits. */
enum { LOW = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ };

static void load_argument(struct filter *f, unsigned index, size_t half)
{
	seccomp_load(f, offsetof(struct seccomp_data, args) + index * sizeof(uint64_t) + half * 4);
}

/* Skips this many instructions unless the call is nr. */
static void load_call(struct filter *f, long nr, uint8_t others_skip)
{
	seccomp_load(f, offsetof(struct seccomp_data, nr));
	seccomp_add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, others_skip);
}

static void give(struct filter *f, uint32_t action)
{
	seccomp_add(f, BPF_RET | BPF_K, action, 0, 0);
}

/* Refuses calls of another ABI than this program's. */
static void filter_begin(struct filter *f)
{
	seccomp_load(f, offsetof(struct seccomp_data, arch));
	seccomp_add(f, BPF_JMP | BPF_JEQ | BPF_K, MPK_AUDIT_ARCH, 1, 0);
	give(f, REFUSE);
#ifdef __x86_64__
	seccomp_load(f, offsetof(struct seccomp_data, nr));
	seccomp_add(f, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
	give(f, REFUSE);
#endif
}

/* Decides on system call nr when the bits of mask in the argument's low 32 bits equal value; a
 * mask of 0 always matches. */
static void filter_add(struct filter *f, long nr, unsigned index, uint32_t mask, uint32_t value,
		       uint32_t action)
{
	bool masks = mask != UINT32_MAX;

	if (!f->len)
		filter_begin(f);
	load_call(f, nr, !mask ? 1 : masks ? 4 : 3);
	if (mask) {
		load_argument(f, index, LOW);
		if (masks)
			seccomp_add(f, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
		seccomp_add(f, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	}
	give(f, action);
}

/* Decides on system call nr when the low 32 bits of an argument have a bit of mask. */
static void filter_bits(struct filter *f, long nr, unsigned index, uint32_t mask, uint32_t action)
{
	load_call(f, nr, 3);
	load_argument(f, index, LOW);
	seccomp_add(f, BPF_JMP | BPF_JSET | BPF_K, mask, 0, 1);
	give(f, action);
}

/* Decides on system call nr when all 64 bits of an argument are 0, such as a NULL pointer. */
static void filter_null(struct filter *f, long nr, unsigned index, uint32_t action)
{
	load_call(f, nr, 5);
	load_argument(f, index, 0);
	seccomp_add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3);
	load_argument(f, index, 1);
	seccomp_add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1);
	give(f, action);
}

static bool filter_install(struct filter *f, uint32_t action)
{
	struct sock_fprog program = { .len = 0, .filter = f->code };

	give(f, action);
	program.len = f->len;
	if (f->failed || !MPK_AUDIT_ARCH)
		return false;
	/* Root may do this directly; other users must set no_new_privs first. */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
		return true;
	return errno == EACCES && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* --- the calls that stay ---------------------------------------------------------- */

#define CALL(name) SYS_##name

/* Younger architectures lack older calls that have newer equivalents. */
static const long allowed[] = {
	/* files; Landlock decides which ones */
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
	/* memory; rules below check the arguments of mmap and mprotect */
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
	CALL(setitimer), /* progress reports */
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

/* Calls that create, rename and remove files. */
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

/* Calls that change modes, and the attribute that records who wrote a file (io/output.h). */
static const long allowed_replacing[] = { CALL(fchmod), CALL(fchown), CALL(fgetxattr),
					  CALL(fsetxattr) };

/* Calls that OpenMP, a C++ runtime or a just-in-time compiler makes. */
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

static void filter_call(struct filter *f, long nr, uint32_t action)
{
	filter_add(f, nr, 0, 0, 0, action);
}

static void allow_value(struct filter *f, long nr, unsigned index, uint32_t value)
{
	filter_add(f, nr, index, UINT32_MAX, value, SECCOMP_RET_ALLOW);
}

static void seccomp_put(uint32_t words[FILTER_WORDS], const long *calls, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (calls[i] >= 0 && calls[i] / 32 < FILTER_WORDS)
			words[calls[i] / 32] |= UINT32_C(1) << (calls[i] % 32);
}

/* Rules for calls whose arguments decide. */
static void add_rules(struct filter *f, bool runs_code)
{
	/* A descriptor can be asked to signal its owner, and any process can be its owner. */
	static const uint32_t commands[] = { F_GETFD, F_SETFD, F_GETFL,
					     F_SETFL, F_DUPFD, F_DUPFD_CLOEXEC };
	const uint32_t allow = SECCOMP_RET_ALLOW, self = (uint32_t)getpid();
#ifdef __s390x__
	enum { CLONE_FLAGS = 1 };
#else
	enum { CLONE_FLAGS = 0 };
#endif

	if (!runs_code) {
		filter_bits(f, CALL(mmap), 2, PROT_EXEC, REFUSE);
		filter_bits(f, CALL(mprotect), 2, PROT_EXEC, REFUSE);
	}
	filter_call(f, CALL(mmap), allow);
	filter_call(f, CALL(mprotect), allow);
	/* Threads, not processes. The arguments of clone3 are in memory, where no filter can
	 * look; libc falls back to clone. */
	filter_bits(f, CALL(clone), CLONE_FLAGS, CLONE_THREAD, allow);
	filter_call(f, CALL(clone3), SECCOMP_RET_ERRNO | ENOSYS);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(commands); i++)
		allow_value(f, CALL(fcntl), 1, commands[i]);
	allow_value(f, CALL(ioctl), 1, TCGETS);
	allow_value(f, CALL(ioctl), 1, TIOCGWINSZ);
	allow_value(f, CALL(kill), 0, self);
	allow_value(f, CALL(tgkill), 0, self);
	allow_value(f, CALL(tkill), 0, self); /* raise and abort of musl */
	if (runs_code) {
		/* Limits may be read but not set, so that not even root can raise them again. */
		filter_null(f, CALL(prlimit64), 2, allow);
		return;
	}
	filter_call(f, CALL(setrlimit), allow);
	allow_value(f, CALL(prlimit64), 0, 0);
}

/* Allows reading and writing open files, memory that is not executable, threads, time; and what s
 * adds: new files, modes of replaced files, code.
 * Returns  false where the system does not support filters
 *
 * The set of frequent calls comes first: a rule before it would run for every read. */
static bool calls_restrict(const struct mpk_sandbox *s)
{
	uint32_t words[FILTER_WORDS] = { 0 };
	struct filter f = { .len = 0 };

	filter_begin(&f);
	seccomp_put(words, allowed, MPK_ARRAY_COUNT(allowed));
	if (s->writable_count)
		seccomp_put(words, allowed_writing, MPK_ARRAY_COUNT(allowed_writing));
	if (s->replaces)
		seccomp_put(words, allowed_replacing, MPK_ARRAY_COUNT(allowed_replacing));
	if (s->runs_code)
		seccomp_put(words, allowed_code, MPK_ARRAY_COUNT(allowed_code));

	/* Decides on every system call of a set. The kernel tries a new filter with each call
	 * that it knows, so one rule for each of a hundred calls would take half a millisecond;
	 * this filter takes one step for 32 calls. Call nr is bit nr % 32 of words[nr / 32]. */
	seccomp_load(&f, offsetof(struct seccomp_data, nr));
	seccomp_add(&f, BPF_ALU | BPF_AND | BPF_K, 31, 0, 0);
	seccomp_add(&f, BPF_MISC | BPF_TAX, 0, 0, 0);
	seccomp_load(&f, offsetof(struct seccomp_data, nr));
	seccomp_add(&f, BPF_ALU | BPF_RSH | BPF_K, 5, 0, 0);
	for (uint32_t i = 0; i < FILTER_WORDS; i++) {
		if (!words[i])
			continue;
		seccomp_add(&f, BPF_JMP | BPF_JEQ | BPF_K, i, 0, 5);
		seccomp_add(&f, BPF_LD | BPF_IMM, words[i], 0, 0);
		seccomp_add(&f, BPF_ALU | BPF_RSH | BPF_X, 0, 0, 0);
		seccomp_add(&f, BPF_JMP | BPF_JSET | BPF_K, 1, 0, 1);
		give(&f, SECCOMP_RET_ALLOW);
		/* The call is in no other word: go on to the next rule, which reloads the
		 * number. */
		seccomp_add(&f, BPF_LD | BPF_IMM, FILTER_WORDS, 0, 0);
	}

	add_rules(&f, s->runs_code);
	return filter_install(&f, REFUSE);
}

/* --- other processes and terminals ------------------------------------------------ */

/* Every call that affects a process or thread by its number, and which argument has that number.
 * Our caller and the supervisor have one thread each, so their thread number is their process
 * number. */
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

/* Calls that name a process by a descriptor, which anybody can open in /proc. */
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

static void refuse_call(struct filter *f, long nr, unsigned index, uint32_t value)
{
	filter_add(f, nr, index, UINT32_MAX, value, REFUSE);
}

static void refuse_process(struct filter *f, pid_t pid)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(numbered); i++)
		refuse_call(f, numbered[i].nr, numbered[i].index, (uint32_t)pid);
	refuse_call(f, SYS_kill, 0, (uint32_t)-getpgid(pid));
}

/* The filter of mpk_sandbox_protect
 * Returns  false where the system does not support filters */
static bool calls_protect(const pid_t *others, size_t count)
{
	struct filter f = { .len = 0 };

	if (count) {
		/* Where other processes have numbers: calls that name many processes, or name
		 * one by a descriptor or in memory, where no filter can look. */
		/* numbers of the kernel's interface */
		enum { SCHED_CORE = 62, IOPRIO_WHO_PGRP = 2, IOPRIO_WHO_USER = 3 };

		for (size_t i = 0; i < count; i++)
			refuse_process(&f, others[i]);
		refuse_call(&f, SYS_kill, 0, UINT32_MAX); /* everybody */
		refuse_call(&f, SYS_setpriority, 0, PRIO_PGRP);
		refuse_call(&f, SYS_setpriority, 0, PRIO_USER);
		refuse_call(&f, SYS_ioprio_set, 0, IOPRIO_WHO_PGRP);
		refuse_call(&f, SYS_ioprio_set, 0, IOPRIO_WHO_USER);
		refuse_call(&f, SYS_prctl, 0, SCHED_CORE);
		for (size_t i = 0; i < MPK_ARRAY_COUNT(described); i++)
			filter_add(&f, described[i], 0, 0, 0, REFUSE);
		refuse_call(&f, SYS_fcntl, 1, F_SETOWN);
		refuse_call(&f, SYS_fcntl, 1, F_SETOWN_EX);
		refuse_call(&f, SYS_ioctl, 1, FIOSETOWN);
		refuse_call(&f, SYS_ioctl, 1, SIOCSPGRP);
	}

	/* On a terminal a process could type, stop it, hang it up, or make it stop its writers. So
	 * only requests that read its state are allowed. Requests are one range of numbers and a
	 * few newer ones. */
	static const uint32_t asked[] = { TCGETS,   TIOCGWINSZ, TIOCGPGRP, TIOCGSID,
					  TIOCOUTQ, FIONREAD,   FIONBIO,   FIONCLEX,
					  FIOCLEX,  FIOASYNC,   TIOCGETD };
	const uint32_t group = TCGETS & ~0xffU;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(asked); i++)
		filter_add(&f, SYS_ioctl, 1, UINT32_MAX, asked[i], SECCOMP_RET_ALLOW);
	filter_add(&f, SYS_ioctl, 1, ~0xffU, group, REFUSE);
	for (uint32_t newer = 0x2b; newer <= 0x2d;
	     newer++) /* TCSETS2 and similar requests: _IOW, any size */
		filter_add(&f, SYS_ioctl, 1, 0xc000ffffU, 0x40000000U | group | newer, REFUSE);
	for (uint32_t console = 0x4b00; console <= 0x5600; console += 0x5600 - 0x4b00)
		filter_add(&f, SYS_ioctl, 1, ~0xffU, console, REFUSE);
	filter_add(&f, SYS_vhangup, 0, 0, 0, REFUSE);

	return filter_install(&f, SECCOMP_RET_ALLOW);
}

/* Enough for a team of threads on each of many processors; few enough to stop a fork bomb. */
enum { THREADS_MAX = 4096 };

/* The C library's type for the number of a limit. */
#ifdef __GLIBC__
typedef __rlimit_resource_t resource_number;
#else
typedef int resource_number;
#endif

/* Lowers a hard and soft limit; a lower existing limit stays. */
static void sandbox_set(resource_number resource, uint64_t most)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) != 0)
		return;
	if (limit.rlim_max != RLIM_INFINITY && (uint64_t)limit.rlim_max < most)
		most = (uint64_t)limit.rlim_max;
	limit.rlim_cur = limit.rlim_max = (rlim_t)most;
	(void)setrlimit(resource, &limit);
}

/* Returns  the bytes that are mapped already: the program, the inspected library, the
 *          inputs. */
static uint64_t address_space_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	if (!f || fscanf(f, "%lu", &pages) != 1)
		pages = 0;
	if (f)
		(void)fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void set_limits(uint64_t memory_bytes)
{
	uint64_t most;

	sandbox_set(RLIMIT_CORE, 0);
	/* A sanitizer's shadow memory takes terabytes. */
	if (!memory_bytes || MPK_IS_SANITIZED)
		return;
	if (!__builtin_add_overflow(address_space_bytes(), memory_bytes, &most))
		sandbox_set(RLIMIT_AS, most);
	sandbox_set(RLIMIT_FSIZE, memory_bytes);
}

/* --- Landlock --------------------------------------------------------------------- */

/* Bits of the kernel's interface, in its order (Documentation/userspace-api/landlock.rst), with
 * the version that introduced them. */
enum {
	EXECUTE = 1 << 0,
	WRITE_FILE = 1 << 1,
	READ_FILE = 1 << 2,
	READ_DIR = 1 << 3,
	REMOVE_DIR = 1 << 4,
	REMOVE_FILE = 1 << 5,
	MAKE_CHAR = 1 << 6,
	MAKE_DIR = 1 << 7,
	MAKE_REG = 1 << 8,
	MAKE_SOCK = 1 << 9,
	MAKE_FIFO = 1 << 10,
	MAKE_BLOCK = 1 << 11,
	MAKE_SYM = 1 << 12,
	REFER = 1 << 13,    /* version 2 */
	TRUNCATE = 1 << 14, /* version 3 */
	BIND_TCP = 1 << 0,
	CONNECT_TCP = 1 << 1,         /* version 4 */
	SCOPE_ABSTRACT_UNIX = 1 << 0, /* abstract Unix sockets */
	SCOPE_SIGNAL = 1 << 1,        /* Version 6: refuses signals to processes outside, however
				       * they are sent. */

	ALL = EXECUTE | WRITE_FILE | READ_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_CHAR | MAKE_DIR |
	      MAKE_REG | MAKE_SOCK | MAKE_FIFO | MAKE_BLOCK | MAKE_SYM | REFER | TRUNCATE,
	/* Rights on output folders. Reading is included, because an output is read again before it
	 * gets its name. */
	WRITE = WRITE_FILE | READ_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | REFER |
		TRUNCATE,
	OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE,
};

struct ruleset {
	uint64_t files, network, scopes;
};

struct path_rule {
	uint64_t allowed;
	int32_t fd;
} __attribute__((packed));

enum { RULE_PATH = 1, VERSION_FLAG = 1 };

static int landlock_version(void)
{
#ifdef SYS_landlock_create_ruleset
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, VERSION_FLAG);

	return version > 0 ? (int)version : 0;
#else
	return 0;
#endif
}

#ifdef SYS_landlock_create_ruleset
/* Creates a ruleset. The structure has grown; each kernel reads the part that it knows. */
static int create(int version, bool hides_names, struct ruleset *r)
{
	const size_t sizes[] = { sizeof r->files, 2 * sizeof r->files, sizeof *r };

	*r = (struct ruleset){ .files = ALL,
			       .network = BIND_TCP | CONNECT_TCP,
			       .scopes = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL };
	if (hides_names)
		r->files |= READ_DIR;
	if (version < 2)
		r->files &= ~(uint64_t)REFER;
	if (version < 3)
		r->files &= ~(uint64_t)TRUNCATE;
	return (int)syscall(SYS_landlock_create_ruleset, r,
			    sizes[version < 4   ? 0
				  : version < 6 ? 1
						: 2],
			    0);
}

/* A path that cannot be opened is skipped: a missing file needs no right. */
static void allow(int rules, const struct ruleset *r, const char *path, uint64_t rights)
{
	struct path_rule rule;
	struct stat st;

	do
		rule.fd = open(path, O_PATH | O_CLOEXEC);
	while (rule.fd < 0 && errno == EINTR);
	if (rule.fd < 0)
		return;
	rule.allowed = rights & r->files;
	if (fstat(rule.fd, &st) == 0 && !S_ISDIR(st.st_mode))
		rule.allowed &= OF_FILES;
	(void)syscall(SYS_landlock_add_rule, rules, RULE_PATH, &rule, 0);
	(void)close(rule.fd);
}

static bool landlock_restrict(const struct mpk_sandbox *s)
{
	int version = landlock_version();
	struct ruleset r;
	int rules = version ? create(version, s->runs_code, &r) : -1;

	if (rules < 0)
		return false;
	for (size_t i = 0; i < s->readable_count; i++)
		allow(rules, &r, s->readable[i],
		      READ_FILE | READ_DIR | (s->runs_programs ? EXECUTE : 0));
	for (size_t i = 0; i < s->writable_count; i++)
		allow(rules, &r, s->writable[i], WRITE | READ_DIR);
	if (s->emptied)
		allow(rules, &r, s->emptied, REMOVE_DIR);
	bool done = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		    syscall(SYS_landlock_restrict_self, rules, 0) == 0;
	(void)close(rules);
	return done;
}

/* Allows all file access, but forbids signalling or tracing processes outside. Sets no_new_privs
 * unless the process may do without. */
static bool landlock_scope(void)
{
	const struct ruleset r = { .scopes = SCOPE_SIGNAL };
	int rules = landlock_version() < 6
			    ? -1
			    : (int)syscall(SYS_landlock_create_ruleset, &r, sizeof r, 0);
	bool done;

	if (rules < 0)
		return false;
	done = syscall(SYS_landlock_restrict_self, rules, 0) == 0 ||
	       (errno == EPERM && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		syscall(SYS_landlock_restrict_self, rules, 0) == 0);
	(void)close(rules);
	return done;
}
#else
static bool landlock_scope(void)
{
	return false;
}

static bool landlock_restrict(const struct mpk_sandbox *s)
{
	(void)s;
	return false;
}
#endif

/* --- capabilities ----------------------------------------------------------------- */

/* Lists what is kept, so that a capability that a later kernel adds is dropped. */

typedef struct __user_cap_data_struct cap_words[_LINUX_CAPABILITY_U32S_3];

static bool set_powers(const cap_words words)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capset, &head, words) == 0;
}

static bool powers_drop(bool keeps_files)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };

	/* Kept: owners and modes of files, device nodes (a driver creates them), changing the
	 * user, and what a server needs. Dropped: kernel modules, raw memory and ports, other
	 * processes, limits, priorities, terminals, mounts, namespaces, time, shutting down. */
	static const unsigned caps[] = {
		CAP_CHOWN,    CAP_DAC_OVERRIDE,     CAP_DAC_READ_SEARCH, CAP_FOWNER,
		CAP_FSETID,   CAP_SETGID,           CAP_SETUID,          CAP_SETPCAP,
		CAP_SETFCAP,  CAP_NET_BIND_SERVICE, CAP_NET_BROADCAST,   CAP_NET_RAW,
		CAP_IPC_LOCK, CAP_IPC_OWNER,        CAP_LEASE,           CAP_SYS_CHROOT,
		CAP_MKNOD,
	};
	uint64_t keep = 0;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(caps); i++)
		keep |= UINT64_C(1) << caps[i];
	cap_words words = { { 0 } };

	if (!keeps_files)
		return set_powers(words);
	if (syscall(SYS_capget, &head, words) != 0)
		return false;
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
		if (cap >= 64 || !(keep >> cap & 1))
			(void)prctl(PR_CAPBSET_DROP, cap);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(words); i++) {
		uint32_t mask = (uint32_t)(keep >> (32 * i));

		words[i].effective &= mask;
		words[i].permitted &= mask;
		words[i].inheritable &= mask;
	}
	return set_powers(words);
}

bool mpk_sandbox_protect(const pid_t *others, size_t count, bool keeps_rights)
{
	bool done;

	/* The same protection once more by Landlock, which does not depend on process numbers. */
	(void)landlock_scope();
	done = calls_protect(others, count);
	/* Last, because the steps above need some capabilities. A user has none except in
	 * namespaces of its own. */
	if (!keeps_rights)
		(void)powers_drop(geteuid() == 0);
	return done;
}

/* --- all of it -------------------------------------------------------------------- */

/* Up to the limit of descriptors. It must be the limit under which they were opened; nothing here
 * lowers it. */
static bool close_each(unsigned first, unsigned end)
{
	struct rlimit limit;
	unsigned most;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return false;
	most = limit.rlim_max < INT_MAX ? (unsigned)limit.rlim_max : INT_MAX;
	for (unsigned fd = first; fd < end && fd < most; fd++)
		(void)close((int)fd);
	return true;
}

/* Closes the descriptors that /proc lists, which is faster where the limit is millions. Returns
 * false: no /proc. */
static bool close_listed(unsigned first, unsigned end)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;

	if (!dir)
		return false;
	while ((entry = readdir(dir)) != NULL) {
		unsigned long fd = strtoul(entry->d_name, NULL, 10);

		if (entry->d_name[0] != '.' && fd >= first && fd < end &&
		    fd != (unsigned long)dirfd(dir))
			(void)close((int)fd);
	}
	(void)closedir(dir);
	return true;
}

/* Linux before 5.9 lacks this call, and a container's filter may refuse it. */
static bool close_range_of(unsigned first, unsigned end)
{
	if (first >= end)
		return true;
#ifdef SYS_close_range
	if (syscall(SYS_close_range, first, end - 1, 0) == 0)
		return true;
#endif
	return close_listed(first, end) || close_each(first, end);
}

bool mpk_close_others(int first, const int *kept, size_t count)
{
	bool closed = true;

	for (size_t i = 0; i < count; i++) {
		if (kept[i] < first)
			continue;
		closed &= close_range_of((unsigned)first, (unsigned)kept[i]);
		first = kept[i] + 1;
	}
	return close_range_of((unsigned)first, ~0U) && closed;
}

static void enter_namespaces(const struct mpk_sandbox *s, struct mpk_sandbox_state *out)
{
	int on_parent_death = 0;

	(void)prctl(PR_GET_PDEATHSIG, &on_parent_death);
	mpk_namespaces_enter(s, out);
	/* The kernel clears it when the user changes, so set it again. */
	(void)prctl(PR_SET_PDEATHSIG, (unsigned long)on_parent_death);
	if (!powers_drop(false))
		out->namespaces = out->own_user = out->own_root = false;
}

struct mpk_sandbox_state mpk_sandbox_enter(const struct mpk_sandbox *s)
{
	struct mpk_sandbox_state state = { 0 };

	if (s->runs_code) {
		set_limits(s->memory_bytes);
		enter_namespaces(s, &state);
		if (state.namespaces)
			sandbox_set(RLIMIT_NPROC, THREADS_MAX);
	}
	/* Descriptors that our caller left open would stay usable, whatever they refer to. */
	state.files = (!s->kept || mpk_close_others(STDERR_FILENO + 1, s->kept, s->kept_count)) &&
		      landlock_restrict(s);
	/* Last: the filter refuses the calls above. */
	state.calls = !s->runs_programs && calls_restrict(s);
	return state;
}

/* What a child process reports by its exit status. */
enum { HAS_NAMESPACES = 1, HAS_USER = 2, HAS_ROOT = 4 };

/* Tries in a child process what mpk_namespaces_enter would achieve. */
static void try_namespaces(struct mpk_sandbox_state *out)
{
	static const struct mpk_sandbox nothing = { .runs_code = true };
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		enter_namespaces(&nothing, out);
		_exit((out->namespaces ? HAS_NAMESPACES : 0) | (out->own_user ? HAS_USER : 0) |
		      (out->own_root ? HAS_ROOT : 0));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return;
	out->namespaces = WEXITSTATUS(status) & HAS_NAMESPACES;
	out->own_user = WEXITSTATUS(status) & HAS_USER;
	out->own_root = WEXITSTATUS(status) & HAS_ROOT;
}

struct mpk_sandbox_state mpk_sandbox_support(void)
{
	struct mpk_sandbox_state can = { .files = landlock_version() > 0,
					 .calls = MPK_AUDIT_ARCH &&
						  prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0 };

	try_namespaces(&can);
	return can;
}
