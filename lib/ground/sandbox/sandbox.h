/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox.h - a process gives up what it will not need: the kernel holds it to that
 *
 * Two facilities of Linux, each of which a system may lack: Landlock for files, seccomp for system
 * calls. For code that is run there are namespaces and limits, too. None of them needs rights, none can
 * be undone, and all hold for threads and children made later. What is refused fails with EACCES or EPERM, so that the program says what it could not do.
 */
#ifndef MPK_SANDBOX_SANDBOX_H
#define MPK_SANDBOX_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What stays open to the process; borrowed. A path that is not there is left out. */
struct mpk_sandbox {
	const char *const *readable; /* files, and folders with all below */
	size_t readable_count;
	const char *const
		*writable; /* folders, with all below: files are made, replaced, removed */
	size_t writable_count;
	bool replaces; /* files that are replaced hand their modes and owners on: those of any open file can
			* be changed then, which Landlock knows nothing of */
	const char
		*emptied; /* a folder in which empty folders may be removed, below it, too; NULL */
	bool runs_programs; /* those among the readable may be started; system calls stay free then,
			     * as nobody knows what a program needs */
	bool runs_code; /* libraries may be loaded, and make memory executable; no other folder is
			     * listed */
	uint64_t
		memory_bytes; /* runs_code: address space beyond what is mapped already, and the most that
				* a file in memory may hold; 0: no limit */
	/* Descriptors that stay open, ascending; standard streams do, too. NULL: all of them. */
	const int *kept;
	size_t kept_count;
};

/* What holds. */
struct mpk_sandbox_state {
	bool files;      /* no other file can be opened, made, changed or removed */
	bool calls;      /* no program can be started, no connection made, no memory made executable
		     * (unless runs_code), no other process signalled or traced */
	bool namespaces; /* runs_code: network, IPC and mounts are its own, with nothing in them */
	bool own_user;   /* the user, too */
	bool own_root;   /* other files are not to be seen, not even that they are there */
};

/* mpk_sandbox_enter - from now on only what s says; the process must have one thread
 * Descriptors that stay open stay usable.
 * Returns  what holds; a facility that the system lacks does not */
struct mpk_sandbox_state mpk_sandbox_enter(const struct mpk_sandbox *s);

/* mpk_sandbox_support - what mpk_sandbox_enter would be able to do here */
struct mpk_sandbox_state mpk_sandbox_support(void);

/* mpk_close_others - close all descriptors from first on but those that are kept
 * @kept    ascending
 * One after the other where the kernel has no call for all of them.
 * Returns  false: the system says neither which there are nor how many there can be */
bool mpk_close_others(int first, const int *kept, size_t count);

/* mpk_sandbox_pid_namespace - in the first process of its namespaces: /proc shows it and what it starts and
 * nobody else, so that what it can neither see nor name it cannot reach; of root, too, the files that command the
 * kernel cannot be written
 * What the system does not let it hide stays as it is.
 * @namespaces  in which it was made, flags of clone(2): of processes and mounts; and of users, in which the user
 *          stays the same, unless it may make mounts without
 * @user, group  effective ones of the process that made it
 * Returns  false: it would not have them */
bool mpk_sandbox_pid_namespace(uint64_t namespaces, uid_t user, gid_t group);

/* mpk_sandbox_protect - from now on this process and what it starts can do nothing to others: neither signal
 * nor trace them, nor change their memory, limits, priority or terminal; and it has no rights over the system, as
 * root neither, but those over files
 * For code that is run and not trusted: its caller's clock must go on. A process whose effective user
 * is root keeps the right to run set-user-ID programs, any other loses it.
 * @others  processes that it has a number for and must not reach; with 0 it has none
 * @keeps_rights  until it enters a sandbox (runs_code), which needs them and leaves none
 * Returns  false where the system has no seccomp */
bool mpk_sandbox_protect(const pid_t *others, size_t count, bool keeps_rights);

#endif
