/* SPDX-License-Identifier: Apache-2.0 */
/* wants.h - the code of a library in pieces: what each calls, jumps to and points at; and what all of it asks others for
 * when it runs, and which functions come to that
 *
 * Pieces are functions, their parts, or what nobody tells apart: they begin where symbols and unwind tables
 * say that code begins. Code is searched, not decoded, so some of what is found may be by chance: what counts is
 * what is named by exactly that address. x86-64 and AArch64.
 *
 * Asked for are symbols that it does not define, pointers that its loader is to fill (__TVM...), and functions
 * by their names, through TVMFFIEnvModLookupFromImports, TVMBackendGetFuncFromEnv, TVMFFIFunctionGetGlobal and
 * TVMFuncGetGlobal. A name that is computed is not seen.
 */
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
	MPK_REACH_CODE, /* another piece that is called or passed on */
	MPK_REACH_SYMBOL, /* by way of the global offset table or its procedures: a call, or an address */
	MPK_REACH_DATA, /* an address of the library that is no beginning of a piece */
	MPK_REACH_LOAD, /* the same, for reading */
};

struct mpk_reach_ref {
	enum mpk_reach_kind kind;
	uint64_t from;      /* address of the instruction */
	uint64_t to;        /* address that is meant */
	size_t piece;       /* CODE: its index */
	const char *symbol; /* SYMBOL */
	unsigned reg;       /* argument that receives it, by machine number; ~0u: none */
};

/* mpk_reach_open - find the pieces
 * @e       borrowed
 * Returns  MPK_OK, with none of objects and of machines whose code is not searched; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_reach_open(const struct mpk_elf *e, struct mpk_reach *out,
			     struct mpk_error *err) MPK_MUST_CHECK;
void mpk_reach_close(struct mpk_reach *r);

/* mpk_reach_piece - the piece that begins at an address; count: none */
size_t mpk_reach_piece(const struct mpk_reach *r, uint64_t address);

/* mpk_reach_code - the code of a piece, up to the next one */
struct mpk_span mpk_reach_code(const struct mpk_reach *r, size_t piece);

/* mpk_reach_each - what a piece refers to, in the order of its code
 * @take    called for each */
void mpk_reach_each(const struct mpk_reach *r, size_t piece,
		    void (*take)(void *arg, const struct mpk_reach_ref *ref), void *arg);

/* mpk_reach_initializers - the pieces that the dynamic linker calls when it has loaded the library: DT_INIT and
 * DT_INIT_ARRAY
 * @take    called for each
 * Returns  MPK_OK, also with none; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_reach_initializers(const struct mpk_reach *r,
				     void (*take)(void *arg, size_t piece), void *arg,
				     struct mpk_error *err) MPK_MUST_CHECK;

enum mpk_want_kind {
	MPK_WANT_SYMBOL, /* undefined, or a pointer to be filled, or its own through a procedure
			  * linkage table */
	MPK_WANT_NAME,   /* name of a function that is looked up */
};

struct mpk_want {
	const char *name; /* in the file */
	uint32_t piece;   /* mpk_reach: whose code wants it */
	uint8_t kind;     /* enum mpk_want_kind */
};

/* Something that another refers to, such as a piece. */
struct mpk_want_edge {
	uint32_t to, from;
};

/* Zero-initialise; mpk_wants_read; mpk_wants_fini. */
struct mpk_wants {
	struct mpk_reach reach;
	struct mpk_want *items; /* in the order of the code */
	size_t count, cap;
	struct mpk_want_edge *edges; /* by to */
	size_t edge_count, edge_cap;
	size_t most; /* most entries of each list: as many as compilers may make */
};

/* mpk_wants_read - search all code of a library
 * Returns  MPK_OK, with nothing where code is not searched; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_wants_read(const struct mpk_elf *e, struct mpk_wants *out,
			     struct mpk_error *err) MPK_MUST_CHECK;
void mpk_wants_fini(struct mpk_wants *w);

/* mpk_want_edges_sort - as mpk_want_edges_spread wants them
 * mpk_want_edges_spread - add to what is marked all that come to it
 * @marked  count of them
 * Returns  MPK_OK; MPK_E_NOMEM */
void mpk_want_edges_sort(struct mpk_want_edge *edges, size_t edge_count);
enum mpk_code mpk_want_edges_spread(const struct mpk_want_edge *edges, size_t edge_count,
				    bool *marked, size_t count,
				    struct mpk_error *err) MPK_MUST_CHECK;

#endif
