/* SPDX-License-Identifier: Apache-2.0 */
/* abi.h - what a binary may want of the systems it is made for: manylinux policies, Python's stable ABI
 *
 * The tables are in abi.def, with their sources. */
#ifndef MPK_COMPAT_ABI_H
#define MPK_COMPAT_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* PEP 600. In one list: a policy is followed by its versions. */
struct mpk_policy {
	const char *name,
		*older; /* "manylinux_2_17", "manylinux2014"; NULL: a row of the policy above */
	const char *machines, *family, *most, *names; /* of such a row; words between blanks */
};

/* mpk_policy_find - by its name or its older one, "manylinux2014"; NULL: there is none
 * mpk_policy_at - of all, from the oldest systems to the newest; NULL after the last */
const struct mpk_policy *mpk_policy_find(const char *name);
const struct mpk_policy *mpk_policy_at(size_t i);

/* mpk_policy_machine - what policies call a machine, by fields of an ELF header: "x86_64"; NULL: none is for it */
const char *mpk_policy_machine(uint16_t machine, bool is_little);

enum mpk_policy_answer {
	MPK_POLICY_FREE,    /* the version is of no family that policies name */
	MPK_POLICY_ALLOWED, /* every system of the policy has it */
	MPK_POLICY_DENIED,
	MPK_POLICY_ELSEWHERE, /* the policy is not for the machine */
};

/* mpk_policy_allows - whether a version of a symbol, "GLIBC_2.34", may be wanted; "" asks for the machine alone
 * @machine as mpk_policy_machine says
 * @most    receives the highest that may, "GLIBC_2.28", at most 40 bytes, when it is denied; "" when there is none */
enum mpk_policy_answer mpk_policy_allows(const struct mpk_policy *policy, const char *machine,
					 const char *version, char most[40]);

/* mpk_python_symbol - whether a symbol is one of Python's, by its name
 * @since   receives since which 3.N the stable ABI has it, 0: it is not in it; may be NULL */
bool mpk_python_symbol(const char *name, unsigned *since);

#endif
