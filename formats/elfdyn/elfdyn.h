/* SPDX-License-Identifier: Apache-2.0 */
/* elfdyn.h - an ELF shared object as the dynamic linker of this machine sees it
 *
 * What a loader needs to know before it opens a library: the names that it imports and the slots
 * for their addresses, its own symbols, and the libraries that it needs. Only segments are read,
 * never sections. Class and byte order must be those of this machine. Every size in the file is
 * compared with the bytes that exist. */
#ifndef MPK_FORMATS_ELFDYN_ELFDYN_H
#define MPK_FORMATS_ELFDYN_ELFDYN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "object/exports.h"

/* When the dynamic linker fills a slot. */
enum mpk_slot_kind {
	MPK_SLOT_CALL,    /* at the first call, unless the file sets binds_now */
	MPK_SLOT_ADDRESS, /* when the library is opened; with an addend */
	MPK_SLOT_OTHER,   /* in another way than with an address */
};

/* A word in memory that receives the address of an imported symbol. */
struct mpk_slot {
	const char *name;
	enum mpk_slot_kind kind;
	uint64_t address; /* before relocation; sizeof(void *) bytes in the library's memory */
	int64_t addend;   /* added to the symbol's address */
	uint64_t entry;   /* offset of the symbol in the file */
};

struct mpk_elfdyn_segment {
	uint64_t address, off, file_bytes, memory_bytes;
	bool is_code; /* the segment is executable */
};

/* An entry of the dynamic section. */
struct mpk_elfdyn_entry {
	uint64_t off; /* offset in the file; 0: there is no such entry */
	uint64_t value;
};

/* A library. Its bytes are borrowed; lists are in the arena. */
struct mpk_elfdyn {
	struct mpk_span bytes;
	struct mpk_elfdyn_segment *loads; /* loaded segments, in file order */
	size_t load_count;
	uint64_t relro, relro_bytes; /* memory that becomes read-only after relocation */
	struct mpk_span symbols;     /* the symbol table; whole entries */
	size_t symbol_count;
	struct mpk_span strings;   /* the string table, up to its last NUL */
	const char *const *needed; /* DT_NEEDED */
	size_t needed_count;
	const char *run_path; /* DT_RUNPATH, else DT_RPATH; NULL: none */
	bool binds_now;       /* every slot is filled when the library is opened */
	struct mpk_elfdyn_entry init, init_array, init_array_bytes;
	const struct mpk_slot *slots; /* slots for symbols that the file does not define */
	size_t slot_count;
};

/* mpk_elfdyn_read - read a shared object
 * @bytes   the whole file; borrowed as long as *out is used
 * @arena   receives the lists
 * Returns  MPK_OK; MPK_E_LOAD: not an ELF file, not a shared object, or one for another machine
 *          (both are named); MPK_E_CORRUPT with the offset in "file"; MPK_E_NOMEM */
enum mpk_code mpk_elfdyn_read(struct mpk_span bytes, struct mpk_arena *arena,
			      struct mpk_elfdyn *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_elfdyn_take_all_symbols - replace the loaded symbols by those for linkers and debuggers,
 * which include static functions, if the file has such symbols and they can be read */
void mpk_elfdyn_take_all_symbols(struct mpk_elfdyn *object);

/* mpk_elfdyn_source - the symbols of a library for mpk_symbols_survey and mpk_exports_read; borrows
 * object */
struct mpk_symbol_source mpk_elfdyn_source(const struct mpk_elfdyn *object);

#endif
