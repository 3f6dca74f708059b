/* SPDX-License-Identifier: Apache-2.0 */
/* abi.c - the tables of abi.def, and look-ups in them */
#include "compat/dso.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

#ifndef EM_LOONGARCH
#define EM_LOONGARCH 258 /* not in older headers */
#endif

/* --- policies ------------------------------------------------------------------------------ */

const struct mpk_policy mpk_policies[] = {
#define POLICY(name, older) { name, older, NULL, NULL, NULL, NULL },
#define VERSIONS(machines, family, most, names) { NULL, NULL, machines, family, most, names },
#define STABLE(minor, symbols)
#include "compat/abi.def"
#undef POLICY
#undef VERSIONS
#undef STABLE
	{ 0 },
};

const struct mpk_policy *mpk_policy_find(const char *name)
{
	for (const struct mpk_policy *p = mpk_policies; p->name || p->machines; p++)
		if (p->name &&
		    (strcmp(p->name, name) == 0 || (*name && strcmp(p->older, name) == 0)))
			return p;
	return NULL;
}

const char *mpk_policy_machine(uint16_t machine, bool is_little)
{
	switch (machine) {
	case EM_X86_64:
		return "x86_64";
	case EM_386:
		return "i686";
	case EM_AARCH64:
		return "aarch64";
	case EM_ARM:
		return "armv7l";
	case EM_PPC64:
		return is_little ? "ppc64le" : "ppc64";
	case EM_S390:
		return "s390x";
	case EM_RISCV:
		return "riscv64";
	case EM_LOONGARCH:
		return "loongarch64";
	default:
		return NULL;
	}
}

/* Whether a list of words has one. */
static bool has_word(const char *words, const char *word, size_t len)
{
	for (; *words; words += strspn(words, " ")) {
		size_t n = strcspn(words, " ");

		if (n == len && memcmp(words, word, len) == 0)
			return true;
		words += n;
	}
	return false;
}

/* Reads up to four numbers. Returns false if the text is a name. */
static bool parse_version(const char *text, unsigned long out[4])
{
	char *end = (char *)(uintptr_t)text;

	memset(out, 0, 4 * sizeof *out);
	for (unsigned i = 0; i < 4; i++) {
		if (*end < '0' || *end > '9')
			return false;
		out[i] = strtoul(end, &end, 10);
		if (!*end)
			return true;
		if (*end++ != '.')
			return false;
	}
	return false;
}

static bool is_at_most(const unsigned long a[4], const unsigned long b[4])
{
	for (unsigned i = 0; i < 4; i++)
		if (a[i] != b[i])
			return a[i] < b[i];
	return true;
}

/* Returns the row for a family of versions on a machine; NULL: the policy has none. */
static const struct mpk_policy *row_of(const struct mpk_policy *policy, const char *machine,
				       const char *family, size_t len)
{
	for (const struct mpk_policy *row = policy + 1; row->machines; row++)
		if ((!family ||
		     (strlen(row->family) == len && memcmp(row->family, family, len) == 0)) &&
		    has_word(row->machines, machine, strlen(machine)))
			return row;
	return NULL;
}

enum mpk_policy_answer mpk_policy_allows(const struct mpk_policy *policy, const char *machine,
					 const char *version, char most[40])
{
	size_t len = strcspn(version, "_");
	const struct mpk_policy *row = row_of(policy, machine, version, len);
	unsigned long wanted[4], highest[4];

	if (!row_of(policy, machine, NULL, 0))
		return MPK_POLICY_ELSEWHERE;
	if (!row || !version[len])
		return MPK_POLICY_FREE;
	if (has_word(row->names, version + len + 1, strlen(version + len + 1)))
		return MPK_POLICY_ALLOWED;
	if (parse_version(version + len + 1, wanted) && parse_version(row->most, highest) &&
	    is_at_most(wanted, highest))
		return MPK_POLICY_ALLOWED;
	(void)snprintf(most, 40, "%s%s%s", *row->most ? row->family : "", *row->most ? "_" : "",
		       row->most);
	return MPK_POLICY_DENIED;
}

/* --- Python --------------------------------------------------------------------------------- */

static const struct {
	unsigned minor;
	const char *symbols;
} stable[] = {
#define POLICY(name, older)
#define VERSIONS(machines, family, most, names)
#define STABLE(minor, symbols) { minor, symbols },
#include "compat/abi.def"
#undef POLICY
#undef VERSIONS
#undef STABLE
};

static unsigned stable_since(const char *name)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(stable); i++)
		if (has_word(stable[i].symbols, name, strlen(name)))
			return stable[i].minor;
	return 0;
}

bool mpk_python_symbol(const char *name, unsigned *since)
{
	if (since)
		*since = stable_since(name);
	name += *name == '_';
	return strncmp(name, "Py", 2) == 0 &&
	       ((name[2] >= 'A' && name[2] <= 'Z') || name[2] == '_');
}
