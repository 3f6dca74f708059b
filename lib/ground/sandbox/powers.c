/* SPDX-License-Identifier: Apache-2.0 */
/* A list of what is kept: a capability that a kernel gains tomorrow is dropped. */
#include "sandbox/internal/powers.h"

#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"

typedef struct __user_cap_data_struct cap_words[_LINUX_CAPABILITY_U32S_3];

static bool set_powers(const cap_words words)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capset, &head, words) == 0;
}

bool mpk_powers_drop_all(void)
{
	const cap_words none = { { 0 } };

	return set_powers(none);
}

/* Files with their owners and modes, nodes of devices, which a driver makes when they are missing; to become
 * another user; what a server needs. Not: modules, memory and ports of the machine, other processes, limits,
 * priorities, terminals, mounts, namespaces, time, the end of the system. */
static uint64_t kept(void)
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

void mpk_powers_keep_files(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	uint64_t keep = kept();
	cap_words words;

	if (syscall(SYS_capget, &head, words) != 0)
		return;
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
		if (cap >= 64 || !(keep >> cap & 1))
			(void)prctl(PR_CAPBSET_DROP, cap);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(words); i++) {
		uint32_t mask = (uint32_t)(keep >> (32 * i));

		words[i].effective &= mask;
		words[i].permitted &= mask;
		words[i].inheritable &= mask;
	}
	(void)set_powers(words);
}
