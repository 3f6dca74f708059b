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
#include "elf/linking.h"
#include "elf/reader.h"
#include "elf/symbols.h"
#include "io/mapping.h"

struct mpk_dso {
	const char *path;
	struct mpk_mapping map; /* zeroed when the bytes are the caller's */
	struct mpk_span bytes;
	struct mpk_elf elf;
	uint16_t machine; /* EM_* */
	uint8_t elf_class, elf_data;
	struct mpk_symtab table; /* dynamic symbols */
	struct mpk_hash *hash;   /* NULL: without DT_GNU_HASH names are read */
	struct mpk_strmap names; /* then the first symbol of each name, */
	uint32_t *next_of_name;  /* and for each symbol the next of its name */
	struct mpk_versions versions;
	const char *const *needed; /* DT_NEEDED */
	size_t needed_count;
	const char *soname;          /* or NULL */
	const char *rpath, *runpath; /* or NULL */
	bool no_system; /* what it needs is not looked for in the system's folders (DF_1_NODEFLIB) */
	const struct mpk_span *loaders; /* kinds of modules that it registers a loader for */
	size_t loader_count;
	struct mpk_strmap globals; /* global functions that it registers */
	bool globals_read;         /* somebody asked for them */
	bool globals_known;        /* they are known */
	const char *lacks; /* for whoever looks: why it does not open there; NULL: it does */
	struct mpk_dso *next;

	/* in a scope */
	const struct mpk_dso *by; /* whose need it is; NULL: the process's */
	const char *name;         /* that was looked for */
	bool is_new;              /* the file, or loaded for it */
	bool is_searched;         /* the folders below are known */
	const char *const *
		rpaths; /* where it has what it needs looked for, before and after the process's own */
	const char *const *runpaths;
	size_t rpath_count, runpath_count;
};

/* mpk_dso_read - read a shared library
 * @arena   receives the lists; names are views of the file, which stays open; mpk_dso_close
 * Returns  MPK_OK; MPK_E_IO; MPK_E_CORRUPT: no ELF file or a broken one; MPK_E_UNSUPPORTED: an
 *          ELF file that is no shared library; MPK_E_NOMEM. The error has the path. *out stays closed then.
 * mpk_dso_read_host - the same, of programs too: they define symbols for what they load
 * mpk_dso_of - the same of bytes that the caller keeps, of any shared object
 * @base    where they begin in the input, for messages */
enum mpk_code mpk_dso_read(const char *path, struct mpk_arena *arena, struct mpk_dso *out,
			   struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_dso_read_host(const char *path, struct mpk_arena *arena, struct mpk_dso *out,
				struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_dso_of(struct mpk_span bytes, uint64_t base, const char *path,
			 struct mpk_arena *arena, struct mpk_dso *out,
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

/* mpk_dso_defines - whether it defines a symbol, of any version
 * mpk_dso_binds - whether the dynamic linker binds a reference to a definition in it (glibc's elf/dl-lookup.c)
 * @version of the reference; NULL: it has none */
bool mpk_dso_defines(const struct mpk_dso *dso, const char *symbol);
bool mpk_dso_binds(const struct mpk_dso *dso, const char *symbol,
		   const struct mpk_version *version);

/* A library that is missing, and who needs it: names of the lists they stand in. */
struct mpk_scope_gap {
	const char *name;
	const struct mpk_dso *by; /* NULL: the name that was asked for */
};

struct mpk_scope {
	struct mpk_arena *arena;
	const struct mpk_search *search;
	const GElf_Ehdr *like;      /* machine, class and byte order of the file */
	const char *const *assumed; /* names that count as there although nobody can look */
	size_t assumed_count;
	struct mpk_dso *first, *last; /* what was read, in the order of loading */
	size_t count;
	size_t searched;               /* names */
	bool guessed;                  /* some name was taken as there unseen */
	struct mpk_dso *file;          /* what is loaded; NULL: nothing yet */
	struct mpk_scope_gap *missing; /* what it needs and what that needs, each name once */
	size_t missing_count, missing_cap;
};

/* What became of a name. */
enum mpk_scope_state { MPK_SCOPE_FOUND, MPK_SCOPE_ASSUMED, MPK_SCOPE_MISSING };

enum {
	MPK_SCOPE_MAX = 256,       /* libraries; the rest of a longer list is not looked at */
	MPK_SCOPE_SEARCHES = 4096, /* names that are looked for; the rest counts as there, unseen */
};

/* mpk_scope_need - find a library and all that it needs
 * @gap     receives what is missing when something is
 * Returns  MPK_OK with the state; MPK_E_NOMEM. A library that does not read counts as missing. */
enum mpk_code mpk_scope_need(struct mpk_scope *scope, const char *name, enum mpk_scope_state *state,
			     struct mpk_scope_gap *gap, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_scope_load - what dlopen of a file loads: all that it needs and all that this needs
 * @file    of mpk_dso_of; borrowed. What is missing is in scope->missing.
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_scope_load(struct mpk_scope *scope, struct mpk_dso *file,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* A reference that nothing of a scope is bound to. */
struct mpk_unbound {
	const char *name;
	const struct mpk_version *version; /* or NULL */
	const struct mpk_dso *by;          /* the file, or a library that was loaded for it */
	bool is_lazy; /* it waits for the first call of the function; false: dlopen fails */
};

/* mpk_scope_bind - what the dynamic linker looks for when it relocates the file and what was loaded for it, and does
 * not find there
 * Symbols that no relocation names are not looked for, and weak ones may be missing. Of a file whose tables do not
 * read, all undefined symbols count.
 * @out     by file, in the order of its symbols; in the scope's arena
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_scope_bind(const struct mpk_scope *scope, const struct mpk_unbound **out,
			     size_t *count, struct mpk_error *err) MPK_MUST_CHECK;

/* A version that a library does not define, though a file or what was loaded for it was linked with it. */
struct mpk_unversioned {
	const char *version;
	const struct mpk_dso *of, *by;
};

/* mpk_scope_versions - what the dynamic linker misses of them (glibc's elf/dl-version.c): a library that defines
 * no versions at all passes
 * Returns  as mpk_scope_bind */
enum mpk_code mpk_scope_versions(const struct mpk_scope *scope, const struct mpk_unversioned **out,
				 size_t *count, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_scope_dso - the library of that name that was read; NULL: none */
const struct mpk_dso *mpk_scope_dso(const struct mpk_scope *scope, const char *name);

void mpk_scope_fini(struct mpk_scope *scope);

/* --- Where a dynamic linker would find a library, without asking it --- */

struct mpk_search {
	const char *const *dirs; /* in their order: LD_LIBRARY_PATH, or its replacement */
	size_t dir_count;
	bool system; /* then what ld.so.cache lists, then the system's own directories */
	/* Before the system: a library of the package that the file is of, such as a wheel. NULL: there is none
	 * @by      the path of who needs it
	 * @path    receives its path in arena; untouched: there is none
	 * @bytes   receives what is in it, which outlives the scope; untouched: path is to be opened
	 * Returns  MPK_OK; MPK_E_NOMEM */
	enum mpk_code (*sibling)(void *arg, const char *name, const char *by,
				 struct mpk_arena *arena, const char **path, struct mpk_span *bytes,
				 struct mpk_error *err);
	void *sibling_arg;
};

/* mpk_search_find - the first library of that name that is for a machine
 * @name    as DT_NEEDED has it; one with a slash is a path
 * @like    whose machine, class and byte order count
 * @out     in arena; NULL: there is none
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_search_find(const struct mpk_search *search, const char *name,
			      const GElf_Ehdr *like, struct mpk_arena *arena, const char **out,
			      struct mpk_error *err) MPK_MUST_CHECK;

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
