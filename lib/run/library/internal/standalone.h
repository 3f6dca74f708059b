/* SPDX-License-Identifier: Apache-2.0 */
/* standalone.h - standalone libraries: what their code calls, and how cells cross
 *
 * mpack writes the declarations of mpkr_... into the source of each library (pack/package/standalone.c).
 */
#ifndef MPK_LIBRARY_INTERNAL_STANDALONE_H
#define MPK_LIBRARY_INTERNAL_STANDALONE_H

#include "abi/convention.h"
#include "library/internal/library.h"

/* --- for the code of a library -------------------------------------------------------------------- */

/* Not for whoever takes the library as it is. */
#pragma GCC visibility push(hidden)

/* A symbol of host code that is linked into the library. */
struct mpkr_symbol {
	const char *name;
	const void *address;
};

/* A function of the carried model. */
struct mpkr_entry {
	const void *model; /* standalone/standalone.h; for the whole process */
	/* ascending by the bytes of their names, ended by a NULL; NULL: the code is carried, to be opened from memory */
	const struct mpkr_symbol *symbols;
	const char *name; /* as mpkr_find takes it */
	void *function;   /* what was found; NULL at first */
};

/* mpkr_enter - call it; any thread
 * @args    count cells of 16 bytes; borrowed
 * @result  a cell, owned by the caller
 * Returns  0; -1 with the error raised, in the real libtvm_ffi.so where one is in the process */
int mpkr_enter(struct mpkr_entry *entry, const void *args, int count, void *result);

/* mpkr_answer - a text as a result */
int mpkr_answer(const char *text, void *result);

/* mpkr_raised - what failed last in this thread, "ValueError: ..."; "" when nothing has */
const char *mpkr_raised(void);

/* mpkr_item - result i of an array of results
 * @out     a cell, owned by the caller
 * Returns  0; -1: there is none */
int mpkr_item(const void *from, unsigned long i, void *out);

/* mpkr_forget - give a result back; its cell is none then */
void mpkr_forget(void *result);

#pragma GCC visibility pop

/* --- cells ---------------------------------------------------------------------------------------- */

struct mpk_run_scalar; /* what is no tensor, as one */

/* Arguments as tensors, as mpk_run_call_value takes them; arrays count as what is in them. Zero-initialise. */
struct mpk_run_cells {
	const struct mpkr_tensor **tensors;
	struct mpk_run_scalar **scalars; /* NULL for tensors */
	size_t count, cap, scalar_cap;
	struct mpk_ffi_any *items; /* of arrays, owned */
	size_t item_count, item_cap;
};

/* mpk_run_cells_take - count cells, borrowed until mpk_run_cells_fini
 * Returns  MPK_OK; MPK_E_CONFLICT: a kind of value that no model takes; MPK_E_NOMEM */
enum mpk_code mpk_run_cells_take(struct mpk_run_cells *a, const struct mpk_ffi_any *cells,
				 size_t count, struct mpk_error *err) MPK_MUST_CHECK;
void mpk_run_cells_fini(struct mpk_run_cells *a);

/* mpk_run_cell_put - a result as a cell: where the caller has set how tensors are allocated, in such
 * Returns  MPK_OK; MPK_E_UNSUPPORTED; MPK_E_NOMEM */
enum mpk_code mpk_run_cell_put(const struct mpk_value *v, struct mpk_ffi_any *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_cell_fail - raise an error, as TVM and Python call such ones
 * Returns  -1 */
int mpk_run_cell_fail(const struct mpk_error *err);

#endif
