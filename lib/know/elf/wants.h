/* SPDX-License-Identifier: Apache-2.0 */
/* wants.h - what the code of a library asks others for when it runs, and which of its functions come to that
 *
 * Asked for are symbols that it does not define, pointers that its loader is to fill (__TVM...), and functions
 * by their names, through TVMFFIEnvModLookupFromImports, TVMBackendGetFuncFromEnv, TVMFFIFunctionGetGlobal and
 * TVMFuncGetGlobal. A name that is computed is not seen.
 */
#ifndef MPK_ELF_WANTS_H
#define MPK_ELF_WANTS_H

#include "elf/reach.h"

enum mpk_want_kind {
	MPK_WANT_SYMBOL, /* undefined, or a pointer to be filled, or its own by way of a procedure linkage table */
	MPK_WANT_NAME, /* of a function that is looked up */
};

struct mpk_want {
	const char *name; /* in the file */
	uint32_t piece;   /* of mpk_reach: whose code wants it */
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
	size_t most; /* of each list: as many as compilers may make; a file of nothing else has more */
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
