/* symbols.h - what an object defines, for an archive's index */
#ifndef MPK_EMIT_SYMBOLS_H
#define MPK_EMIT_SYMBOLS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

/* mpk_object_symbols - the global and weak symbols that an ELF object defines, in the
 * order of its symbol table
 * @out     views into bytes, the array in arena; none for other object formats
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_object_symbols(struct mpk_span bytes, struct mpk_arena *arena,
				 const struct mpk_span **out, size_t *count,
				 struct mpk_error *err) MPK_MUST_CHECK;

#endif
