/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox.h - what the files of this folder share, and nobody else includes: system calls, signals and namespaces that a
 * process gives up */
#ifndef MPK_SANDBOX_INTERNAL_SANDBOX_H
#define MPK_SANDBOX_INTERNAL_SANDBOX_H

#include <linux/audit.h>
#include <stdbool.h>

#include "sandbox/sandbox.h"

/* The AUDIT_ARCH of this machine's ABI, for filters; 0: unknown, so no filter is used. */
#if defined(__x86_64__) && !defined(__ILP32__)
#define MPK_AUDIT_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && !defined(__AARCH64EB__)
#define MPK_AUDIT_ARCH AUDIT_ARCH_AARCH64
#elif defined(__s390x__)
#define MPK_AUDIT_ARCH AUDIT_ARCH_S390X
#elif defined(__riscv) && __riscv_xlen == 64
#define MPK_AUDIT_ARCH AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define MPK_AUDIT_ARCH AUDIT_ARCH_PPC64LE
#else
#define MPK_AUDIT_ARCH 0
#endif

/* mpk_namespaces_enter - enter new user, network, IPC and mount namespaces that contain only the
 * files that s lists as readable, as nobody's user and group. The caller then drops the
 * capabilities that it has there. The process must have one thread.
 * @out     namespaces, own_user and own_root: which of these succeeded */
void mpk_namespaces_enter(const struct mpk_sandbox *s, struct mpk_sandbox_state *out);

#endif
