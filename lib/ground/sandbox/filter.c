/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/internal/filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <stddef.h>
#include <sys/prctl.h>

#if defined(__x86_64__) && !defined(__ILP32__)
#define AUDIT_ARCH_HERE AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && !defined(__AARCH64EB__)
#define AUDIT_ARCH_HERE AUDIT_ARCH_AARCH64
#elif defined(__s390x__)
#define AUDIT_ARCH_HERE AUDIT_ARCH_S390X
#elif defined(__riscv) && __riscv_xlen == 64
#define AUDIT_ARCH_HERE AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define AUDIT_ARCH_HERE AUDIT_ARCH_PPC64LE
#else
#define AUDIT_ARCH_HERE 0
#endif

/* Numbers from here on are calls of x32, which have this machine's name. */
#define X32_BIT 0x40000000U

static void add(struct mpk_filter *f, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
	if (f->len == MPK_FILTER_MAX) {
		f->failed = true;
		return;
	}
	f->code[f->len++] = (struct sock_filter){ code, yes, no, k };
}

static void load(struct mpk_filter *f, size_t offset)
{
	add(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static size_t argument(unsigned index)
{
	return offsetof(struct seccomp_data, args) + index * sizeof(uint64_t);
}

/* Its low half. */
static void load_argument(struct mpk_filter *f, unsigned index)
{
	size_t low = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0;

	load(f, argument(index) + low);
}

static void give(struct mpk_filter *f, uint32_t action)
{
	add(f, BPF_RET | BPF_K, action, 0, 0);
}

bool mpk_filter_begin(struct mpk_filter *f)
{
	const uint32_t refuse = SECCOMP_RET_ERRNO | EPERM;

	f->len = 0;
	f->failed = false;
	load(f, offsetof(struct seccomp_data, arch));
	add(f, BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_HERE, 1, 0);
	give(f, refuse);
#ifdef __x86_64__
	load(f, offsetof(struct seccomp_data, nr));
	add(f, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
	give(f, refuse);
#endif
	return AUDIT_ARCH_HERE != 0;
}

void mpk_filter_set(struct mpk_filter *f, const uint32_t words[MPK_FILTER_WORDS], uint32_t action)
{
	load(f, offsetof(struct seccomp_data, nr));
	add(f, BPF_ALU | BPF_AND | BPF_K, 31, 0, 0);
	add(f, BPF_MISC | BPF_TAX, 0, 0, 0);
	load(f, offsetof(struct seccomp_data, nr));
	add(f, BPF_ALU | BPF_RSH | BPF_K, 5, 0, 0);
	for (uint32_t i = 0; i < MPK_FILTER_WORDS; i++) {
		if (!words[i])
			continue;
		add(f, BPF_JMP | BPF_JEQ | BPF_K, i, 0, 5);
		add(f, BPF_LD | BPF_IMM, words[i], 0, 0);
		add(f, BPF_ALU | BPF_RSH | BPF_X, 0, 0, 0);
		add(f, BPF_JMP | BPF_JSET | BPF_K, 1, 0, 1);
		give(f, action);
		/* no other word has it: on to the next rule, which loads anew */
		add(f, BPF_LD | BPF_IMM, MPK_FILTER_WORDS, 0, 0);
	}
}

void mpk_filter_call(struct mpk_filter *f, long nr, uint32_t action)
{
	load(f, offsetof(struct seccomp_data, nr));
	add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 1);
	give(f, action);
}

void mpk_filter_bits(struct mpk_filter *f, long nr, unsigned index, uint32_t mask, uint32_t action)
{
	load(f, offsetof(struct seccomp_data, nr));
	add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 3);
	load_argument(f, index);
	add(f, BPF_JMP | BPF_JSET | BPF_K, mask, 0, 1);
	give(f, action);
}

void mpk_filter_value(struct mpk_filter *f, long nr, unsigned index, uint32_t value,
		      uint32_t action)
{
	load(f, offsetof(struct seccomp_data, nr));
	add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 3);
	load_argument(f, index);
	add(f, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	give(f, action);
}

void mpk_filter_masked(struct mpk_filter *f, long nr, unsigned index, uint32_t mask, uint32_t value,
		       uint32_t action)
{
	load(f, offsetof(struct seccomp_data, nr));
	add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 4);
	load_argument(f, index);
	add(f, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
	add(f, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	give(f, action);
}

void mpk_filter_null(struct mpk_filter *f, long nr, unsigned index, uint32_t action)
{
	load(f, offsetof(struct seccomp_data, nr));
	add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 5);
	load(f, argument(index));
	add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3);
	load(f, argument(index) + 4);
	add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1);
	give(f, action);
}

bool mpk_filter_install(struct mpk_filter *f, uint32_t action)
{
	struct sock_fprog program = { .len = 0, .filter = f->code };

	give(f, action);
	program.len = f->len;
	if (f->failed)
		return false;
	/* Root may go without; anybody else must give set-user-ID programs up first. */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
		return true;
	return errno == EACCES && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
