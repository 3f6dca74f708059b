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
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Enough for a team of threads on each of many processors; few enough to stop a fork bomb. */
enum { THREADS_MAX = 4096 };

/* The type in which the C library declares the number of a limit. */
#ifdef __GLIBC__
typedef __rlimit_resource_t resource_number;
#else
typedef int resource_number;
#endif

/* Lowers a limit, hard and soft. A lower limit stays. */
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

/* Counts what is mapped already: the program, the inspected library, the inputs. */
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
	SCOPE_SIGNAL = 1 << 1,        /* Version 6: refuses signals to processes outside, however
				       * they are sent. */

	ALL = EXECUTE | WRITE_FILE | READ_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_CHAR | MAKE_DIR |
	      MAKE_REG | MAKE_SOCK | MAKE_FIFO | MAKE_BLOCK | MAKE_SYM | REFER | TRUNCATE,
	/* The output is read again before it gets its name. */
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
/* The structure grew; each kernel reads the part that it knows. */
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

/* Keeps files as they are, and forbids signalling or tracing processes outside. Sets
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

/* --- capabilities ----------------------------------------------------------------- */

/* Lists what is kept, so that a capability that a later kernel adds is dropped. */

typedef struct __user_cap_data_struct cap_words[_LINUX_CAPABILITY_U32S_3];

static bool set_powers(const cap_words words)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capset, &head, words) == 0;
}

/* Kept: owners and modes of files, device nodes, which a driver creates, changing the user, and
 * what a server needs. Dropped: modules, memory and ports of the machine, other processes,
 * limits, priorities, terminals, mounts, namespaces, time, shutting down. */
static uint64_t kept_powers(void)
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

static bool powers_drop(bool keeps_files)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	uint64_t keep = kept_powers();
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

	(void)landlock_scope(); /* The same once more, by kind of process instead of number. */
	done = mpk_calls_protect(others, count);
	/* Last, because the steps above need some capabilities. A user has none except in
	 * namespaces of its own. */
	if (!keeps_rights)
		(void)powers_drop(geteuid() == 0);
	return done;
}

/* --- all of it -------------------------------------------------------------------- */

/* By the limit of descriptors that there was when they were opened: nobody here lowers it. */
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

/* By what /proc lists, which is as good where the limit is millions; false: there is no /proc */
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

/* Linux before 5.9 has no such call, and a filter of a container may refuse it. */
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
	/* The kernel forgets it when the user changes. */
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
	state.calls = !s->runs_programs && mpk_calls_restrict(s);
	return state;
}

/* What a child process reports by its exit status. */
enum { HAS_NAMESPACES = 1, HAS_USER = 2, HAS_ROOT = 4 };

/* Tries in a child process what enter_namespaces would get. */
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
