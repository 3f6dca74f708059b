/* SPDX-License-Identifier: Apache-2.0 */
/* dso.h - shared libraries that a file would meet where it is loaded: what they define and need,
 * and the loaders of modules that they register
 *
 * Read, never opened by the dynamic linker: their constructors would run, and libraries of other
 * machines could not be looked at.
 */
#ifndef MPK_COMPAT_DSO_H
#define MPK_COMPAT_DSO_H

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

/* mpk_dso_loads - whether it registers a loader for a kind */
bool mpk_dso_loads(const struct mpk_dso *dso, struct mpk_span kind);

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

#endif
