/* SPDX-License-Identifier: Apache-2.0 */
/* wants.h - the code of a library in pieces: what each piece refers to, what it asks other
 * libraries for at run time, and which exported functions lead there
 *
 * Pieces are functions, parts of them, or code that nothing separates: they begin where symbols and
 * unwind tables say that code begins. Code is searched, not decoded, so some references may be
 * wrong: compare them with addresses that mean something. x86-64 and AArch64.
 *
 * A library asks for symbols that it does not define, for pointers that its loader must set
 * (__TVM...), and for functions by their names, through TVMFFIEnvModLookupFromImports,
 * TVMBackendGetFuncFromEnv, TVMFFIFunctionGetGlobal and TVMFuncGetGlobal. A name that is computed
 * is not found. */
#ifndef MPK_ELF_WANTS_H
#define MPK_ELF_WANTS_H

#include "base/error.h"
#include "elf/symbols.h"

/* Zero-initialise; mpk_reach_open; mpk_reach_close. */
struct mpk_reach {
	const struct mpk_elf *elf;
	struct mpk_plt_names plt;
	uint64_t *starts; /* addresses, sorted, each once */
	size_t count;
};

enum mpk_reach_kind {
	MPK_REACH_CODE,   /* the beginning of another piece: a call, or an address */
	MPK_REACH_SYMBOL, /* a symbol, through the global offset table or the procedure linkage
			   * table */
	MPK_REACH_DATA,   /* an address of the library at which no piece begins */
	MPK_REACH_LOAD,   /* an address that the instruction loads from */
};

struct mpk_reach_ref {
	enum mpk_reach_kind kind;
	uint64_t from;      /* address of the instruction */
	uint64_t to;        /* the address that it refers to */
	size_t piece;       /* for CODE: the index of the piece */
	const char *symbol; /* for SYMBOL: its name */
	unsigned reg;       /* machine number of the argument register that receives the address;
			     * ~0u: none */
};

/* mpk_reach_open - find the pieces of a library
 * @e       borrowed
 * Returns  MPK_OK, without pieces for objects and for machines whose code is not searched;
 *          MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_reach_open(const struct mpk_elf *e, struct mpk_reach *out,
			     struct mpk_error *err) MPK_MUST_CHECK;
void mpk_reach_close(struct mpk_reach *r);

/* mpk_reach_piece - the index of the piece that begins at an address; r->count: none */
size_t mpk_reach_piece(const struct mpk_reach *r, uint64_t address);

/* mpk_reach_code - the code of a piece, up to the next one */
struct mpk_span mpk_reach_code(const struct mpk_reach *r, size_t piece);

/* mpk_reach_each - call take for what a piece refers to, in the order of its code */
void mpk_reach_each(const struct mpk_reach *r, size_t piece,
		    void (*take)(void *arg, const struct mpk_reach_ref *ref), void *arg);

/* mpk_reach_initializers - call take for the pieces that the dynamic linker calls after loading:
 * DT_INIT and DT_INIT_ARRAY
 * Returns  MPK_OK, also with none; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_reach_initializers(const struct mpk_reach *r,
				     void (*take)(void *arg, size_t piece), void *arg,
				     struct mpk_error *err) MPK_MUST_CHECK;

enum mpk_want_kind {
	MPK_WANT_SYMBOL, /* a symbol that is undefined, a pointer that the loader sets, or a defined
			  * symbol used through the procedure linkage table */
	MPK_WANT_NAME,   /* the name of a function that is looked up */
};

struct mpk_want {
	const char *name; /* a view of the file */
	uint32_t piece;   /* index of the piece that wants it */
	uint8_t kind;     /* enum mpk_want_kind */
};

/* A reference from one piece to another piece or to a want. */
struct mpk_want_edge {
	uint32_t to, from;
};

/* Zero-initialise; mpk_wants_read; mpk_wants_fini. */
struct mpk_wants {
	struct mpk_reach reach;
	struct mpk_want *items; /* in the order of the code */
	size_t count, cap;
	struct mpk_want_edge *edges; /* sorted by `to` */
	size_t edge_count, edge_cap;
	size_t most; /* limit of each list: as many entries as a compiler may make */
};

/* mpk_wants_read - search all code of a library
 * Returns  MPK_OK, with empty lists for machines whose code is not searched; MPK_E_CORRUPT;
 *          MPK_E_NOMEM */
enum mpk_code mpk_wants_read(const struct mpk_elf *e, struct mpk_wants *out,
			     struct mpk_error *err) MPK_MUST_CHECK;
void mpk_wants_fini(struct mpk_wants *w);

/* mpk_want_edges_sort - sort edges for mpk_want_edges_spread
 * mpk_want_edges_spread - mark everything that leads to a marked entry
 * @marked  has `count` entries
 * Returns  MPK_OK; MPK_E_NOMEM */
void mpk_want_edges_sort(struct mpk_want_edge *edges, size_t edge_count);
enum mpk_code mpk_want_edges_spread(const struct mpk_want_edge *edges, size_t edge_count,
				    bool *marked, size_t count,
				    struct mpk_error *err) MPK_MUST_CHECK;

#endif
