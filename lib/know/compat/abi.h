/* SPDX-License-Identifier: Apache-2.0 */
/* abi.h - what a binary may want of the systems it is made for: manylinux policies, Python's stable ABI
 *
 * The tables are in abi.def, with their sources. */
#ifndef MPK_COMPAT_ABI_H
#define MPK_COMPAT_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mpk_policy; /* PEP 600: "manylinux_2_28" */

/* mpk_policy_find - by its name or its older one, "manylinux2014"; NULL: there is none
 * mpk_policy_at - of all, from the oldest systems to the newest; NULL behind the last
 * mpk_policy_name - "manylinux_2_17" */
const struct mpk_policy *mpk_policy_find(const char *name);
const struct mpk_policy *mpk_policy_at(size_t i);
const char *mpk_policy_name(const struct mpk_policy *policy);

/* mpk_policy_machine - what policies call a machine, by fields of an ELF header: "x86_64"; NULL: none is for it */
const char *mpk_policy_machine(uint16_t machine, bool is_little);

enum mpk_policy_answer {
	MPK_POLICY_FREE,    /* the version is of no family that policies name */
	MPK_POLICY_ALLOWED, /* every system of the policy has it */
	MPK_POLICY_DENIED,
};

/* mpk_policy_allows - whether a version of a symbol, "GLIBC_2.34", may be wanted
 * @machine as mpk_policy_machine says
 * @most    receives the highest that may, "GLIBC_2.28", at most 40 bytes, when it is denied; "" when there is none */
enum mpk_policy_answer mpk_policy_allows(const struct mpk_policy *policy, const char *machine,
					 const char *version, char most[40]);

/* mpk_policy_has_machine - whether a policy is for that machine at all */
bool mpk_policy_has_machine(const struct mpk_policy *policy, const char *machine);

/* mpk_python_symbol - whether a symbol is one of Python's, by its name
 * mpk_python_stable - since which 3.N the stable ABI has it; 0: it is not in it */
bool mpk_python_symbol(const char *name);
unsigned mpk_python_stable(const char *name);

#endif
