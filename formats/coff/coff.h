/* SPDX-License-Identifier: Apache-2.0 */
/* coff.h - COFF objects, also of /bigobj, and PE libraries and programs (FORMAT.md) */
#ifndef MPK_FORMATS_COFF_COFF_H
#define MPK_FORMATS_COFF_COFF_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "object/object.h"

/* mpk_coff_is - whether this is a COFF object of a known machine that has sections and symbols
 * Objects have no magic number; a module blob is none, for it has zeros where symbols are counted.
 * mpk_pe_is - whether this is a PE file: a DLL or a program; programs of DOS are none */
bool mpk_coff_is(struct mpk_span bytes);
bool mpk_pe_is(struct mpk_span bytes);

/* mpk_coff_read - sections and symbols of an object
 * mpk_pe_read - sections, exported symbols and needed libraries of a DLL or program
 * @bytes   the file; borrowed: contents and most names are views of it
 * @arena   receives the lists
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset in "file"; MPK_E_NOMEM. Linear in the file but
 *          for the sort of its symbols.
 * Format   FORMAT.md 1, 2 */
enum mpk_code mpk_coff_read(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_object *out,
			    struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_pe_read(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_object *out,
			  struct mpk_error *err) MPK_MUST_CHECK;

#endif
