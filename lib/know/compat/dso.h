/* SPDX-License-Identifier: Apache-2.0 */
/* dso.h - the shared libraries that a file would find where it is loaded: what they define and
 * need, which loaders of modules they register, and which of them a process has after loading the
 * file
 *
 * The libraries are read, never opened by the dynamic linker: that would run their constructors,
 * and could not open libraries of other machines. The rules are those of dlopen that decide whether
 * loading works: every DT_NEEDED must be found, also those of the libraries found, and a name that
 * is loaded already is not searched again. */
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
	struct mpk_mapping map; /* zeroed if the bytes belong to the caller */
	struct mpk_span bytes;
	struct mpk_elf elf;
	uint16_t machine; /* EM_* */
	uint8_t elf_class, elf_data;
	struct mpk_symtab table; /* dynamic symbols */
	struct mpk_hash *hash; /* NULL: there is no DT_GNU_HASH, and the next two fields are used */
	struct mpk_strmap names; /* the last symbol of each name, */
	uint32_t *next_of_name;  /* and for each symbol the next of its name */
	struct mpk_versions versions;
	const char *const *needed; /* DT_NEEDED */
	size_t needed_count;
	const char *soname;          /* NULL: none */
	const char *rpath, *runpath; /* or NULL */
	bool no_system; /* the system's folders are not searched for the libraries that it needs
			 * (DF_1_NODEFLIB) */
	const struct mpk_span *loaders; /* kinds of modules for which it registers a loader */
	size_t loader_count;
	struct mpk_strmap globals; /* global functions that it registers */
	bool globals_read;         /* mpk_dso_read_globals was called */
	bool globals_known;        /* and found them */
	const char *lacks;         /* set by callers: why it cannot be loaded; NULL: it can */
	struct mpk_dso *next;

	/* set in a scope: */
	const struct mpk_dso *by; /* the library that needs this one; NULL: the process */
	const char *name;         /* the name by which it was searched */
	bool is_new;              /* the file itself, or a library loaded for it */
	bool is_searched;         /* rpaths is set */
	const char *const
		*rpaths; /* folders in which the libraries it needs are searched, before and after
			 * those of the process */
	const char *const *runpaths;
	size_t rpath_count, runpath_count;
};

/* mpk_dso_read - read a shared library
 * @arena   receives the lists; names are views of the file, which stays open until mpk_dso_close
 * Returns  MPK_OK; MPK_E_IO; MPK_E_CORRUPT: not an ELF file, or a broken one; MPK_E_UNSUPPORTED: an
 *          ELF file that is not a shared library; MPK_E_NOMEM. The error has the path. On failure
 *          *out stays closed.
 * mpk_dso_read_host - as mpk_dso_read, also for programs, which define symbols for the libraries
 * that they load
 * mpk_dso_of - as mpk_dso_read, for bytes of any shared object that the caller keeps
 * @base    offset of the bytes in the input, for messages */
enum mpk_code mpk_dso_read(const char *path, struct mpk_arena *arena, struct mpk_dso *out,
			   struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_dso_read_host(const char *path, struct mpk_arena *arena, struct mpk_dso *out,
				struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_dso_of(struct mpk_span bytes, uint64_t base, const char *path,
			 struct mpk_arena *arena, struct mpk_dso *out,
			 struct mpk_error *err) MPK_MUST_CHECK;
void mpk_dso_close(struct mpk_dso *dso);

/* mpk_dso_read_loaders - find the loaders of modules that a library registers
 * They are recognised by the names that they are registered under, which are constants:
 * "ffi.Module.load_from_bytes.cuda", "runtime.module.loadbinary_cuda", "module.loadbinary_cuda".
 * All loaded segments are searched.
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_dso_read_loaders(struct mpk_dso *dso, struct mpk_arena *arena,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_dso_read_globals - find the global functions that a library registers; the second call does
 * nothing
 * They are registered while the library is loaded: a name is a text that an initializer, or code
 * that it calls, points at. Names that are only looked up are in other code. Some of the texts
 * found are not names. Works for libraries of tvm-ffi on x86-64 and AArch64.
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_dso_read_globals(struct mpk_dso *dso, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_dso_registers - whether a library registers a global function; false also before
 * mpk_dso_read_globals */
bool mpk_dso_registers(const struct mpk_dso *dso, struct mpk_span name);

/* mpk_dso_defines - whether a library defines a symbol, of any version
 * mpk_dso_binds - whether the dynamic linker binds a reference to a definition in it (glibc's
 * elf/dl-lookup.c)
 * @version of the reference; NULL: none */
bool mpk_dso_defines(const struct mpk_dso *dso, const char *symbol);
bool mpk_dso_binds(const struct mpk_dso *dso, const char *symbol,
		   const struct mpk_version *version);

/* A missing library, and the library that needs it. */
struct mpk_scope_gap {
	const char *name;
	const struct mpk_dso *by; /* NULL: the process needs it */
};

struct mpk_scope {
	struct mpk_arena *arena;
	const struct mpk_search *search;
	const GElf_Ehdr *like;      /* a header with the machine, class and byte order that
				     * libraries must have */
	const char *const *assumed; /* names that count as found although they cannot be searched */
	size_t assumed_count;
	struct mpk_dso *first, *last; /* the libraries that were read, in the order of loading */
	size_t count;
	size_t searched;               /* number of names searched so far */
	bool guessed;                  /* some name was assumed to be found */
	struct mpk_dso *file;          /* the file that is loaded; NULL: none yet */
	struct mpk_scope_gap *missing; /* libraries that are missing, each name once */
	size_t missing_count, missing_cap;
};

/* The result of a search. */
enum mpk_scope_state { MPK_SCOPE_FOUND, MPK_SCOPE_ASSUMED, MPK_SCOPE_MISSING };

enum {
	MPK_SCOPE_MAX = 256,       /* most libraries; further ones in the list are not read */
	MPK_SCOPE_SEARCHES = 4096, /* most names that are searched; further ones are assumed to be
				    * found */
};

/* mpk_scope_need - find a library and all libraries that it needs
 * @gap     receives the first missing library, if the state is MPK_SCOPE_MISSING
 * Returns  MPK_OK with the state; MPK_E_NOMEM. A library that does not read counts as missing. */
enum mpk_code mpk_scope_need(struct mpk_scope *scope, const char *name, enum mpk_scope_state *state,
			     struct mpk_scope_gap *gap, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_scope_load - find everything that dlopen of a file loads
 * @file    made by mpk_dso_of; borrowed. Missing libraries are listed in scope->missing.
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_scope_load(struct mpk_scope *scope, struct mpk_dso *file,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* A reference for which no library of the scope has a definition. */
struct mpk_unbound {
	const char *name;
	const struct mpk_version *version; /* or NULL */
	const struct mpk_dso *by;          /* the library with the reference: the file, or one
					    * loaded for it */
	bool is_lazy; /* looked up at the first call of the function; false: dlopen fails */
};

/* mpk_scope_bind - list the references of the file, and of the libraries loaded for it, that the
 * dynamic linker cannot bind
 * Only symbols of relocations are looked up, and weak symbols may be missing. If the tables of a
 * file do not read, all its undefined symbols count.
 * @out     by file, in the order of its symbols; in the scope's arena
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_scope_bind(const struct mpk_scope *scope, const struct mpk_unbound **out,
			     size_t *count, struct mpk_error *err) MPK_MUST_CHECK;

/* A version that a library does not define, although the file, or a library loaded for it, requires
 * it. */
struct mpk_unversioned {
	const char *version;
	const struct mpk_dso *of, *by;
};

/* mpk_scope_versions - list the required versions that libraries do not define (glibc's
 * elf/dl-version.c). A library without any versions passes
 * Returns  as mpk_scope_bind */
enum mpk_code mpk_scope_versions(const struct mpk_scope *scope, const struct mpk_unversioned **out,
				 size_t *count, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_scope_dso - the library of this name; NULL: it was not read */
const struct mpk_dso *mpk_scope_dso(const struct mpk_scope *scope, const char *name);

void mpk_scope_fini(struct mpk_scope *scope);

/* --- The search of a dynamic linker for a library, without running it --- */

struct mpk_search {
	const char *const *dirs; /* in this order: LD_LIBRARY_PATH, or its replacement */
	size_t dir_count;
	bool system; /* then the libraries in ld.so.cache, then the built-in directories */
	/* Called before the system is searched: finds a library in the package that contains the file, such
	 * as a wheel. NULL: there is no package
	 * @by      path of the library that needs it
	 * @path    receives the library's path in arena; untouched: not found
	 * @bytes   receives its contents, which outlive the scope; untouched: open path
	 * Returns  MPK_OK; MPK_E_NOMEM */
	enum mpk_code (*sibling)(void *arg, const char *name, const char *by,
				 struct mpk_arena *arena, const char **path, struct mpk_span *bytes,
				 struct mpk_error *err);
	void *sibling_arg;
};

/* --- what a binary may require of the systems that it is for: manylinux policies, Python's stable
 * ABI ---
 *
 * The tables are in abi.def, with their sources. */

/* A policy of PEP 600, or a row of the policy before it in the list: the versions that it allows. */
struct mpk_policy {
	const char *name,
		*older; /* "manylinux_2_17", "manylinux2014"; NULL: a row of the policy before */
	const char *machines, *family, *most, *names; /* for such a row; lists are words between
						       * blanks */
};

/* From the oldest systems to the newest; the last has neither name nor machines. */
extern const struct mpk_policy mpk_policies[];

/* mpk_policy_find - find a policy by its name or older name, "manylinux2014"; NULL: none */
const struct mpk_policy *mpk_policy_find(const char *name);

/* mpk_policy_machine - the name that policies have for a machine, by fields of an ELF header:
 * "x86_64"; NULL: no policy is for it */
const char *mpk_policy_machine(uint16_t machine, bool is_little);

enum mpk_policy_answer {
	MPK_POLICY_FREE,    /* policies do not restrict versions of this family */
	MPK_POLICY_ALLOWED, /* every system of the policy has the version */
	MPK_POLICY_DENIED,
	MPK_POLICY_ELSEWHERE, /* the policy is not for this machine */
};

/* mpk_policy_allows - whether a library under a policy may require a version, "GLIBC_2.34"; "" asks
 * only about the machine
 * @machine a result of mpk_policy_machine
 * @most    receives the highest allowed version, "GLIBC_2.28", at most 40 bytes, if the answer is
 *          no; "": none is */
enum mpk_policy_answer mpk_policy_allows(const struct mpk_policy *policy, const char *machine,
					 const char *version, char most[40]);

/* mpk_python_symbol - whether a symbol belongs to Python's C API, by its name
 * @since   receives N if the stable ABI has it from Python 3.N on; 0: it is not in the stable ABI;
 *          may be NULL */
bool mpk_python_symbol(const char *name, unsigned *since);

#endif
