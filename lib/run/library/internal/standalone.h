/* SPDX-License-Identifier: Apache-2.0 */
/* standalone.h - standalone libraries: what their code calls
 *
 * mpack writes the declarations of mpkr_... into the source of each library (pack/package/standalone.c).
 */
#ifndef MPK_LIBRARY_INTERNAL_STANDALONE_H
#define MPK_LIBRARY_INTERNAL_STANDALONE_H

#include <stddef.h>

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
	/* ZSTD_decompress, where parts of the model are packed and zstd is linked in; NULL */
	size_t (*decode)(void *to, size_t room, const void *frame, size_t bytes);
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

#endif
