/* SPDX-License-Identifier: Apache-2.0 */
/* names.h - names in order, to be searched: code may have thousands of kernels */
#ifndef MPK_CODE_INTERNAL_NAMES_H
#define MPK_CODE_INTERNAL_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

struct mpk_names_item;

struct mpk_names {
	const struct mpk_names_item *items;
	size_t count;
};

/* mpk_names_of - sort the names that rows begin with
 * @rows    count structures of stride bytes, each with a struct mpk_span at its beginning
 * @out     in arena; the names are borrowed
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_names_of(const void *rows, size_t stride, size_t count, struct mpk_arena *arena,
			   struct mpk_names *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_names_find - whether there is such a name; *row is the first row that has it
 * @row     may be NULL; untouched when there is none */
bool mpk_names_find(const struct mpk_names *names, struct mpk_span name, size_t *row);

#endif
