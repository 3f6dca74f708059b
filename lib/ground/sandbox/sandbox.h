/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox.h - a process gives up rights that it will not need, and the kernel enforces it
 *
 * Uses two facilities of Linux, each of which a system may lack: Landlock for files, seccomp for
 * system calls. Code under test gets namespaces and limits, too. All work without privileges,
 * cannot be undone, and apply to threads and children made later. A refused call fails with EACCES
 * or EPERM, so that the program can report it. */
#ifndef MPK_SANDBOX_SANDBOX_H
#define MPK_SANDBOX_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What the process may still use; borrowed. Paths that do not exist are ignored. */
struct mpk_sandbox {
	const char *const *readable; /* files; folders with their content */
	size_t readable_count;
	const char *const
		/* folders in which files may be created, replaced and removed, at any depth */
		*writable;
	size_t writable_count;
	/* new files take modes and owners of the files they replace; this also allows changing
	 * those of any open file, because Landlock does not cover that */
	bool replaces;
	const char
		/* a folder in which empty folders may be removed, at any depth; may be NULL */
		*emptied;
	/* readable files may be executed; system calls are not restricted, because a program may
	 * need any */
	bool runs_programs;
	/* libraries may be loaded, and memory made executable; no other folder may be listed */
	bool runs_code;
	uint64_t
		/* runs_code: limit of address space beyond what is mapped now, and of a file in
		 * memory; 0: no limit */
		memory_bytes;
	/* Descriptors that stay open besides the standard streams, ascending. NULL: all stay
	 * open. */
	const int *kept;
	size_t kept_count;
};

/* Which restrictions took effect. */
struct mpk_sandbox_state {
	bool files; /* no other file can be opened, created, changed or removed */
	/* no program can be started, no connection made, no memory made executable (unless
	 * runs_code), no other process signalled or traced */
	bool calls;
	bool namespaces; /* runs_code: it has its own empty network, IPC and mount namespaces */
	bool own_user;   /* it has its own user namespace */
	bool own_root;   /* other files are invisible: not even their existence can be tested */
};

/* mpk_sandbox_enter - restrict this process to what s lists; it must have one thread
 * Descriptors that stay open stay usable.
 * Returns  which restrictions took effect; the system may lack some */
struct mpk_sandbox_state mpk_sandbox_enter(const struct mpk_sandbox *s);

/* mpk_sandbox_support - which restrictions mpk_sandbox_enter could apply here */
struct mpk_sandbox_state mpk_sandbox_support(void);

/* mpk_close_others - close all descriptors from first on, except those in kept
 * Closes one after the other where the kernel has no call for a range.
 * @kept    ascending
 * Returns  false: the open descriptors are unknown, and so is their limit */
bool mpk_close_others(int first, const int *kept, size_t count);

/* mpk_sandbox_pid_namespace - set up the first process of a PID namespace: /proc shows only that
 * namespace, so processes outside can be neither seen nor named. For root, files that control the
 * kernel become read-only. What cannot be hidden stays visible.
 * @namespaces flags of clone(2) with which it was made: PID and mount; also user,
 *          unless the user may mount without; the user keeps its number
 * @user, group effective ones of the process that made it
 * Returns  false: the namespace would not protect */
bool mpk_sandbox_pid_namespace(uint64_t namespaces, uid_t user, gid_t group);

/* mpk_sandbox_protect - from now on this process and its children cannot affect other processes:
 * not signal or trace them, nor change their memory, limits, priority or terminal. They lose all
 * rights over the system, even as root, except those over files.
 * For untrusted code whose caller must keep its clock. With an effective user of root it may still
 * run set-user-ID programs; other users lose that.
 * @others  processes that it has numbers for and must not reach; count 0: none
 * @keeps_rights keep capabilities until mpk_sandbox_enter (runs_code), which needs them
 *          and drops them
 * Returns  false where the system has no seccomp */
bool mpk_sandbox_protect(const pid_t *others, size_t count, bool keeps_rights);

#endif
