/* SPDX-License-Identifier: Apache-2.0 */
/* cubin.h - what the files of this folder share, and nobody else includes */
#ifndef MPK_CUBIN_INTERNAL_CUBIN_H
#define MPK_CUBIN_INTERNAL_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "cubin/cubin.h"
#include "cubin/elf.h"

/* How much stack a kernel needs with everything that it calls, where that is known (FORMAT.md
 * 4.1) */

/* What the sections of a file say of one kernel's stack. */
struct mpk_cubin_stack {
	bool has_frame, has_total;
	uint32_t frame; /* frame of the kernel only; optimized, with what it calls */
	uint32_t total; /* stack of it and everything it calls; all ones: the tools could not
			 * determine it */
	uint32_t inner; /* the largest frame of the functions in the kernel's own section */
	bool calls;     /* functions that have sections of their own */
	bool calls_out; /* a call through a pointer, of a function that the file does not have */
};

/* mpk_cubin_stack_calls - note in stacks who calls what
 * @graph   .nv.callgraph
 * @at      finds the stack of the kernel with a symbol; NULL: no kernel
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_cubin_stack_calls(struct mpk_span graph,
				    struct mpk_cubin_stack *(*at)(void *arg, uint32_t symbol),
				    void *arg, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_cubin_take_tool_note - the texts of .note.nv.tkinfo, and what its options say of the architecture (FORMAT.md 5)
 * A note of another shape is not an error: nothing comes from it.
 * @data    of the section
 * @out     tool, options and family_specific are set; views of data */
void mpk_cubin_take_tool_note(struct mpk_span data, struct mpk_cubin *out);

#endif
