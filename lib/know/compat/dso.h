/* SPDX-License-Identifier: Apache-2.0 */
/* dso.h - shared libraries that a file would meet where it is loaded: what they define and need, the loaders of modules
 * that they register, and which of them a process has that loads the file
 *
 * Read, never opened by the dynamic linker: their constructors would run, and libraries of other
 * machines could not be looked at. The rules are those of dlopen as far as they decide whether loading works: each
 * DT_NEEDED must be found, those of what is found too, and a name that is there already is not searched again.
 */
#ifndef MPK_COMPAT_DSO_H
#define MPK_COMPAT_DSO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/strmap.h"
#include "elf/reader.h"
#include "elf/symbols.h"
#include "io/mapping.h"

struct mpk_dso {
	const char *path;
	struct mpk_mapping map;
	uint16_t machine; /* EM_* */
	uint8_t elf_class, elf_data;
	struct mpk_strmap symbols;   /* defined, dynamic */
	const char *const *versions; /* that it defines */
	size_t version_count;
	const char *const *needed; /* DT_NEEDED */
	size_t needed_count;
	const char *soname;             /* or NULL */
	const struct mpk_span *loaders; /* kinds of modules that it registers a loader for */
	size_t loader_count;
	struct mpk_strmap globals; /* global functions that it registers */
	bool globals_read;         /* somebody asked for them */
	bool globals_known;        /* they are known */
	const char *lacks; /* for whoever looks: why it does not open there; NULL: it does */
	struct mpk_dso *next;
};

/* mpk_dso_read - read a shared library
 * @arena   receives the lists; names are views of the file, which stays open; mpk_dso_close
 * Returns  MPK_OK; MPK_E_IO; MPK_E_CORRUPT: no ELF file or a broken one; MPK_E_UNSUPPORTED: an
 *          ELF file that is no shared library; MPK_E_NOMEM. The error has the path. */
enum mpk_code mpk_dso_read(const char *path, struct mpk_arena *arena, struct mpk_dso *out,
			   struct mpk_error *err) MPK_MUST_CHECK;
void mpk_dso_close(struct mpk_dso *dso);

/* mpk_dso_read_loaders - find the loaders that it registers
 * They are recognised by the names they are registered under, which stand in its constants:
 * "ffi.Module.load_from_bytes.cuda", "runtime.module.loadbinary_cuda", "module.loadbinary_cuda".
 * All that is loaded of the file is searched.
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_dso_read_loaders(struct mpk_dso *dso, struct mpk_arena *arena,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_dso_read_globals - find the global functions that it registers, if that was not done yet
 * What registers them runs as the library is loaded: a name is what an initializer, or code that it calls, points
 * at. Names that are only looked up stand in other code. Some texts that are no names are among them. Known are
 * those of libraries for tvm-ffi, on x86-64 and AArch64.
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_dso_read_globals(struct mpk_dso *dso, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_dso_registers - whether it registers a global function; false also when nobody read them */
bool mpk_dso_registers(const struct mpk_dso *dso, struct mpk_span name);

/* mpk_dso_defines - whether it defines a symbol */
bool mpk_dso_defines(const struct mpk_dso *dso, const char *symbol);

struct mpk_scope {
	struct mpk_arena *arena;
	const struct mpk_search *search;
	const GElf_Ehdr *like;      /* machine, class and byte order of the file */
	const char *const *assumed; /* names that count as there although nobody can look */
	size_t assumed_count;
	struct mpk_dso *first, *last; /* what was read, in the order of loading */
	size_t count;
	size_t searched; /* names */
	bool guessed;    /* some name was taken as there unseen */
};

/* What became of a name. */
enum mpk_scope_state { MPK_SCOPE_FOUND, MPK_SCOPE_ASSUMED, MPK_SCOPE_MISSING };

/* A library that is missing, and who needs it: names of the lists they stand in. */
struct mpk_scope_gap {
	const char *name;
	const struct mpk_dso *by; /* NULL: the name that was asked for */
};

enum {
	MPK_SCOPE_MAX = 256,       /* libraries; the rest of a longer list is not looked at */
	MPK_SCOPE_SEARCHES = 4096, /* names that are looked for; the rest counts as there, unseen */
};

/* mpk_scope_need - find a library and all that it needs
 * @gap     receives what is missing when something is
 * Returns  MPK_OK with the state; MPK_E_NOMEM. A library that does not read counts as missing. */
enum mpk_code mpk_scope_need(struct mpk_scope *scope, const char *name, enum mpk_scope_state *state,
			     struct mpk_scope_gap *gap, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_scope_dso - the library of that name that was read; NULL: none */
const struct mpk_dso *mpk_scope_dso(const struct mpk_scope *scope, const char *name);

void mpk_scope_fini(struct mpk_scope *scope);

/* --- Where a dynamic linker would find a library, without asking it --- */

struct mpk_search {
	const char *const *dirs; /* in their order; searched first */
	size_t dir_count;
	bool system; /* then what ld.so.cache lists, then the system's own directories */
};

/* mpk_search_find - the first library of that name that is for a machine
 * @name    as DT_NEEDED has it; one with a slash is a path
 * @like    whose machine, class and byte order count
 * @out     in arena; NULL: there is none
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_search_find(const struct mpk_search *search, const char *name,
			      const GElf_Ehdr *like, struct mpk_arena *arena, const char **out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_search_with_runpath - search as a library at path does: DT_RUNPATH or DT_RPATH, with
 * $ORIGIN, then what search has
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_search_with_runpath(const struct mpk_search *search, const struct mpk_elf *e,
				      const char *path, struct mpk_arena *arena,
				      struct mpk_search *out, struct mpk_error *err) MPK_MUST_CHECK;

/* --- what a binary may want of the systems it is made for: manylinux policies, Python's stable ABI ---
 *
 * The tables are in abi.def, with their sources. */

/* PEP 600. In one list: a policy is followed by its versions. */
struct mpk_policy {
	const char *name,
		*older; /* "manylinux_2_17", "manylinux2014"; NULL: a row of the policy above */
	const char *machines, *family, *most, *names; /* of such a row; words between blanks */
};

/* From the oldest systems to the newest; ended by one without name and machines. */
extern const struct mpk_policy mpk_policies[];

/* mpk_policy_find - by its name or its older one, "manylinux2014"; NULL: there is none */
const struct mpk_policy *mpk_policy_find(const char *name);

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
