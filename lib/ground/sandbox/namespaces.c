/* SPDX-License-Identifier: Apache-2.0 */
/* Behind Landlock and seccomp, should one of them have a gap: no network interface, no System V or message
 * queue of others, no file of others, and no right over anything, for root neither. Processes have a namespace
 * before that, see apart.c. */
#include "sandbox/internal/namespaces.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/internal/mounts.h"
#include "sandbox/internal/powers.h"
#include "sandbox/internal/root.h"

enum { NOBODY = 65534 };

/* A new user has no rights outside; where there are no users to be had, root goes without. */
static void enter(const struct mpk_sandbox *s, struct mpk_sandbox_state *out)
{
	const int others = CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWNS;
	uid_t user = geteuid();
	gid_t group = getegid();

	out->own_user = unshare(CLONE_NEWUSER | others) == 0;
	out->namespaces = out->own_user || unshare(others) == 0;
	if (!out->namespaces)
		return;
	/* files in memory belong to somebody who has a number */
	out->own_root = (!out->own_user || mpk_mount_map_ids(NOBODY, user, NOBODY, group)) &&
			mpk_root_change(s, out->own_user);
}

void mpk_namespaces_enter(const struct mpk_sandbox *s, struct mpk_sandbox_state *out)
{
	int on_parent_death = 0;

	(void)prctl(PR_GET_PDEATHSIG, &on_parent_death);
	enter(s, out);
	/* with the user the kernel forgets it */
	(void)prctl(PR_SET_PDEATHSIG, (unsigned long)on_parent_death);
	if (!mpk_powers_drop_all())
		out->namespaces = out->own_user = out->own_root = false;
}

/* What a child process tells by its exit status. */
enum { HAS_NAMESPACES = 1, HAS_USER = 2, HAS_ROOT = 4 };

void mpk_namespaces_try(struct mpk_sandbox_state *out)
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
