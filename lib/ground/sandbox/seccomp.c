/* SPDX-License-Identifier: Apache-2.0 */
/* Filters of seccomp(2). A sandboxed process has a list of allowed calls, so that a call that a
 * later kernel adds is refused; a process that runs foreign code is refused every call that
 * reaches other processes. Calls that another libc makes instead of an allowed one fail with
 * EPERM, like a missing call. */
#include <asm/sockios.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/ioctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "sandbox/internal/sandbox.h"

/* --- filters ---------------------------------------------------------------------- */

static const uint32_t REFUSE = SECCOMP_RET_ERRNO | EPERM;

/* Classic BPF, see bpf(2) and seccomp(2). Each rule is independent: it decides, or the next one does. */
enum { FILTER_MAX = 512, FILTER_WORDS = 16 };

struct filter {
	struct sock_filter code[FILTER_MAX];
	unsigned short len;
	bool failed; /* too long */
};

/* Numbers from here on are calls of x32, which has the same architecture name. */
#define X32_BIT 0x40000000U

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

/* Skips this many steps for every call but nr. */
static void load_call(struct filter *f, long nr, uint8_t others_skip)
{
	seccomp_load(f, offsetof(struct seccomp_data, nr));
	seccomp_add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, others_skip);
}

static void give(struct filter *f, uint32_t action)
{
	seccomp_add(f, BPF_RET | BPF_K, action, 0, 0);
}

/* Calls of another ABI than this program's are refused. */
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

/* Decides on system call nr when all of an argument is 0, such as a pointer. */
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
	/* Root may skip this; everybody else must give up set-user-ID programs first. */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
		return true;
	return errno == EACCES && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* --- the calls that stay ---------------------------------------------------------- */

#define CALL(name) SYS_##name

/* Younger architectures lack older calls that have newer equivalents. */
static const long allowed[] = {
	/* Files; Landlock decides which. */
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
	/* Memory; for mmap and mprotect the arguments decide, below. */
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
	CALL(setitimer), /* what shows that long work goes on */
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

/* The attribute that says who wrote a file (io/output.h). */
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

/* Calls whose arguments decide. */
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
		/* Limits may be read, and even root must not raise them again. */
		filter_null(f, CALL(prlimit64), 2, allow);
		return;
	}
	filter_call(f, CALL(setrlimit), allow);
	allow_value(f, CALL(prlimit64), 0, 0);
}

/* The set comes first because it has the most frequent calls: a rule before it would run for
 * every read. */
bool mpk_calls_restrict(const struct mpk_sandbox *s)
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
		/* No other word has this call: go on to the next rule, which loads anew. */
		seccomp_add(&f, BPF_LD | BPF_IMM, FILTER_WORDS, 0, 0);
	}

	add_rules(&f, s->runs_code);
	return filter_install(&f, REFUSE);
}

/* --- other processes and terminals ------------------------------------------------ */

/* Every call that does something to a process or thread given by number, and which argument the
 * number is. Our caller and the supervisor have one thread each, whose number is the process's. */
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

bool mpk_calls_protect(const pid_t *others, size_t count)
{
	struct filter f = { .len = 0 };

	if (count) {
		/* Where other processes have numbers: calls that name many processes, or name
		 * one by a descriptor or in memory, where no filter can look. */
		/* of the kernel's interface */
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

	/* A terminal can be typed into, stopped, hung up, and made to stop its writers. So it
	 * may be asked, and nothing else. Its requests are one range of numbers and a few newer
	 * ones. */
	static const uint32_t asked[] = { TCGETS,   TIOCGWINSZ, TIOCGPGRP, TIOCGSID,
					  TIOCOUTQ, FIONREAD,   FIONBIO,   FIONCLEX,
					  FIOCLEX,  FIOASYNC,   TIOCGETD };
	const uint32_t group = TCGETS & ~0xffU;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(asked); i++)
		filter_add(&f, SYS_ioctl, 1, UINT32_MAX, asked[i], SECCOMP_RET_ALLOW);
	filter_add(&f, SYS_ioctl, 1, ~0xffU, group, REFUSE);
	for (uint32_t newer = 0x2b; newer <= 0x2d;
	     newer++) /* TCSETS2 and its like: _IOW, any size */
		filter_add(&f, SYS_ioctl, 1, 0xc000ffffU, 0x40000000U | group | newer, REFUSE);
	for (uint32_t console = 0x4b00; console <= 0x5600; console += 0x5600 - 0x4b00)
		filter_add(&f, SYS_ioctl, 1, ~0xffU, console, REFUSE);
	filter_add(&f, SYS_vhangup, 0, 0, 0, REFUSE);

	return filter_install(&f, SECCOMP_RET_ALLOW);
}
