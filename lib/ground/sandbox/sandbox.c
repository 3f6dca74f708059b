/* SPDX-License-Identifier: Apache-2.0 */
/* Entering a sandbox, in the order that works: limits and namespaces first, because later
 * steps refuse the calls that make them; then files, by Landlock; system calls last.
 *
 * landlock(7) knows more rights from version to version. A kernel that is asked for a right
 * that it does not know refuses the whole ruleset, so it is asked for its version first.
 * Headers may be older than the kernel, hence the numbers of its interface here.
 *
 * Code that is run is kept from others before it enters a sandbox, too: whoever may signal a process may stop
 * it, and with it the clock that holds a timeout; so may whoever takes its processor, its limits or the terminal
 * that it writes to. Most of that is held by what the process is: apart from others it has no number for them,
 * and a session of its own keeps it out of their groups and their terminal. The rules here are for where it has
 * such numbers, and for terminals, which have names as files have. */
#include <asm/sockios.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
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

/* --- limits ----------------------------------------------------------------------- */

/* Enough for a team of threads on each of many processors, and for no flood of them. */
enum { THREADS_MAX = 4096 };

/* How the C library declares a number of a limit. */
#ifdef __GLIBC__
typedef __rlimit_resource_t resource_number;
#else
typedef int resource_number;
#endif

/* Lowers a limit, hard and soft; one that is lower already stays. */
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

/* What is mapped already: the program, the library that it inspected, inputs. */
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
	/* the shadow of a sanitizer takes terabytes */
	if (!memory_bytes || MPK_IS_SANITIZED)
		return;
	if (!__builtin_add_overflow(address_space_bytes(), memory_bytes, &most))
		sandbox_set(RLIMIT_AS, most);
	sandbox_set(RLIMIT_FSIZE, memory_bytes);
}

static void limit_threads(void)
{
	sandbox_set(RLIMIT_NPROC, THREADS_MAX);
}

/* --- Landlock --------------------------------------------------------------------- */

/* Bits of the kernel's interface, in its order (Documentation/userspace-api/landlock.rst). */
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
	SCOPE_ABSTRACT_UNIX = 1 << 0, /* sockets without a file */
	SCOPE_SIGNAL = 1 << 1,        /* version 6: of processes outside, however it is sent */

	ALL = EXECUTE | WRITE_FILE | READ_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_CHAR | MAKE_DIR |
	      MAKE_REG | MAKE_SOCK | MAKE_FIFO | MAKE_BLOCK | MAKE_SYM | REFER | TRUNCATE,
	/* what is written is read again before it takes its name */
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
/* Each version of the kernel takes the part of the structure that it knows. */
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

/* A path that cannot be opened is left out: what is not there needs no right. */
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

/* Files stay as they are; but no process outside is signalled, however that is done, or traced. Sets
 * no_new_privs unless the process may do without. */
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

/* --- other processes and terminals ------------------------------------------------ */

static const uint32_t REFUSE = SECCOMP_RET_ERRNO | EPERM;

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

static void refuse_call(struct mpk_filter *f, long nr, unsigned index, uint32_t value)
{
	mpk_filter_add(f, nr, index, UINT32_MAX, value, REFUSE);
}

static void refuse_process(struct mpk_filter *f, pid_t pid)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(numbered); i++)
		refuse_call(f, numbered[i].nr, numbered[i].index, (uint32_t)pid);
	refuse_call(f, SYS_kill, 0, (uint32_t)-getpgid(pid));
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
	refuse_call(f, SYS_kill, 0, UINT32_MAX); /* everybody */
	refuse_call(f, SYS_setpriority, 0, PRIO_PGRP);
	refuse_call(f, SYS_setpriority, 0, PRIO_USER);
	refuse_call(f, SYS_ioprio_set, 0, IOPRIO_WHO_PGRP);
	refuse_call(f, SYS_ioprio_set, 0, IOPRIO_WHO_USER);
	refuse_call(f, SYS_prctl, 0, SCHED_CORE);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(described); i++)
		mpk_filter_add(f, described[i], 0, 0, 0, REFUSE);
	/* a descriptor can be asked to signal its owner, and the owner be anybody */
	refuse_call(f, SYS_fcntl, 1, F_SETOWN);
	refuse_call(f, SYS_fcntl, 1, F_SETOWN_EX);
	refuse_call(f, SYS_ioctl, 1, FIOSETOWN);
	refuse_call(f, SYS_ioctl, 1, SIOCSPGRP);
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
		mpk_filter_add(f, SYS_ioctl, 1, UINT32_MAX, asked[i], SECCOMP_RET_ALLOW);
	mpk_filter_add(f, SYS_ioctl, 1, ~0xffU, group, REFUSE);
	for (uint32_t newer = 0x2b; newer <= 0x2d;
	     newer++) /* TCSETS2 and its like: _IOW, any size */
		mpk_filter_add(f, SYS_ioctl, 1, 0xc000ffffU, 0x40000000U | group | newer, REFUSE);
	for (uint32_t console = 0x4b00; console <= 0x5600; console += 0x5600 - 0x4b00)
		mpk_filter_add(f, SYS_ioctl, 1, ~0xffU, console, REFUSE);
	mpk_filter_add(f, SYS_vhangup, 0, 0, 0, REFUSE);
}

bool mpk_sandbox_protect(const pid_t *others, size_t count, bool keeps_rights)
{
	struct mpk_filter f = { .len = 0 };
	bool done;

	(void)landlock_scope(); /* the same again, by what a process is and not by its number */
	if (count)
		refuse_others(&f, others, count);
	refuse_terminals(&f);
	done = mpk_filter_install(&f, SECCOMP_RET_ALLOW);
	/* last: the steps above need some of them; and a user has none but with namespaces of its own */
	if (!keeps_rights)
		(void)mpk_powers_drop(geteuid() == 0);
	return done;
}

/* --- all of it -------------------------------------------------------------------- */

/* Without the call (Linux before 5.9) nothing is closed, and the sandbox counts as one that
 * does not hold files. */
static bool close_range_of(unsigned first, unsigned end)
{
#ifdef SYS_close_range
	return first >= end || syscall(SYS_close_range, first, end - 1, 0) == 0;
#else
	(void)first;
	(void)end;
	return false;
#endif
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

struct mpk_sandbox_state mpk_sandbox_enter(const struct mpk_sandbox *s)
{
	struct mpk_sandbox_state state = { 0 };

	if (s->runs_code) {
		set_limits(s->memory_bytes);
		mpk_namespaces_enter(s, &state);
		if (state.namespaces)
			limit_threads();
	}
	/* descriptors that our caller left open would stay usable, whatever files they are of */
	state.files = (!s->kept || mpk_close_others(STDERR_FILENO + 1, s->kept, s->kept_count)) &&
		      landlock_restrict(s);
	/* last: the calls above are none of those that stay */
	state.calls = !s->runs_programs && mpk_calls_restrict(s);
	return state;
}

/* What a child process tells by its exit status. */
enum { HAS_NAMESPACES = 1, HAS_USER = 2, HAS_ROOT = 4 };

/* What mpk_namespaces_enter would get; tried in a child process. */
static void try_namespaces(struct mpk_sandbox_state *out)
{
	static const struct mpk_sandbox nothing = { .runs_code = true };
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		mpk_namespaces_enter(&nothing, out);
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
					 .calls = mpk_calls_known() };

	try_namespaces(&can);
	return can;
}
