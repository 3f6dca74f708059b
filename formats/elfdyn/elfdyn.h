/* SPDX-License-Identifier: Apache-2.0 */
/* elfdyn.h - an ELF shared object as the dynamic linker of this machine sees it
 *
 * What a loader has to know before a library is opened: which names it imports and in which slots their
 * addresses will stand, what its symbols are, what it needs. Only segments are looked at, never sections.
 * Class and byte order are this machine's: others cannot be loaded. Everything that the file says of its
 * own sizes is checked against the bytes that exist.
 */
#ifndef MPK_FORMATS_ELFDYN_ELFDYN_H
#define MPK_FORMATS_ELFDYN_ELFDYN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "object/exports.h"

/* How the dynamic linker fills a slot. */
enum mpk_slot_kind {
	MPK_SLOT_CALL,    /* at the first call, unless the file says otherwise */
	MPK_SLOT_ADDRESS, /* when the library is opened; an addend may be added */
	MPK_SLOT_OTHER,   /* in a way that an address alone does not tell */
};

/* A place in memory that receives the address of an imported symbol. */
struct mpk_slot {
	const char *name;
	enum mpk_slot_kind kind;
	uint64_t address; /* before the library is placed; sizeof(void *) bytes within its memory */
	int64_t addend;   /* is added to the symbol's address */
	uint64_t entry;   /* of the symbol, its offset in the file */
};

struct mpk_elfdyn_segment {
	uint64_t address, off, file_bytes, memory_bytes;
	bool is_code; /* may be executed */
};

/* An entry of the dynamic section. */
struct mpk_elfdyn_entry {
	uint64_t off; /* in the file; 0: there is none */
	uint64_t value;
};

/* The file's bytes are borrowed; lists are in the arena. */
struct mpk_elfdyn {
	struct mpk_span bytes;
	struct mpk_elfdyn_segment *loads; /* what is loaded, in the order of the file */
	size_t load_count;
	uint64_t relro, relro_bytes; /* memory that is made read-only once it is relocated */
	struct mpk_span symbols;     /* the table; whole entries */
	size_t symbol_count;
	struct mpk_span strings;   /* up to its last NUL */
	const char *const *needed; /* DT_NEEDED */
	size_t needed_count;
	const char *run_path; /* DT_RUNPATH, else DT_RPATH; NULL: none */
	bool binds_now;       /* every slot is filled when the library is opened */
	struct mpk_elfdyn_entry init, init_array, init_array_bytes;
	const struct mpk_slot *slots; /* of symbols that the file does not define */
	size_t slot_count;
};

/* mpk_elfdyn_read - all of the above
 * @bytes   the whole file; borrowed as long as *out is used
 * @arena   receives the lists
 * Returns  MPK_OK; MPK_E_LOAD: no ELF file, no shared object, or one for another machine (both are named);
 *          MPK_E_CORRUPT with the offset in "file"; MPK_E_NOMEM */
enum mpk_code mpk_elfdyn_read(struct mpk_span bytes, struct mpk_arena *arena,
			      struct mpk_elfdyn *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_elfdyn_take_all_symbols - put the symbols that only linkers and debuggers read, static functions among them, in the
 * place of those that are loaded, unless the file has none, or none that can be read */
void mpk_elfdyn_take_all_symbols(struct mpk_elfdyn *object);

/* mpk_elfdyn_source - its symbols, for mpk_symbols_survey and mpk_exports_read; borrows object */
struct mpk_symbol_source mpk_elfdyn_source(const struct mpk_elfdyn *object);

#endif
