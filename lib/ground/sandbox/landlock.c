/* SPDX-License-Identifier: Apache-2.0 */
/* landlock(7): what a process may do with which files. Kernels know more rights from version to version;
 * one that is asked for a right it does not know refuses everything, so it is asked for its version
 * first. Headers may be older than the kernel. */
#include "sandbox/internal/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

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

int mpk_landlock_version(void)
{
#ifdef SYS_landlock_create_ruleset
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, VERSION_FLAG);

	return version > 0 ? (int)version : 0;
#else
	return 0;
#endif
}

#ifdef SYS_landlock_create_ruleset
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

bool mpk_landlock_restrict(const struct mpk_sandbox *s)
{
	int version = mpk_landlock_version();
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

bool mpk_landlock_scope(void)
{
	const struct ruleset r = { .scopes = SCOPE_SIGNAL };
	int rules = mpk_landlock_version() < 6
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
bool mpk_landlock_scope(void)
{
	return false;
}

bool mpk_landlock_restrict(const struct mpk_sandbox *s)
{
	(void)s;
	return false;
}
#endif
