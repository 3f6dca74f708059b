/* SPDX-License-Identifier: Apache-2.0 */
/* cubin.h - declarations that the files of this room share */
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

/* The stack that a kernel needs with everything that it calls, if known (FORMAT.md 4.1) */

/* The facts in a file about the stack of one kernel. */
struct mpk_cubin_stack {
	bool has_frame, has_total;
	uint32_t frame; /* frame of the kernel alone; after optimisation with functions it calls */
	uint32_t total; /* stack of the kernel and everything it calls; all ones: the tools could
			 * not determine it */
	uint32_t inner; /* largest frame of the functions in the kernel's section */
	bool calls;     /* it calls functions with sections of their own */
	bool calls_out; /* it calls through a pointer, or a function that the file does not have */
};

/* mpk_cubin_stack_calls - set the calls in stacks from the call graph
 * @graph   .nv.callgraph
 * @at      returns the stack of the kernel with a symbol; NULL: not a kernel
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_cubin_stack_calls(struct mpk_span graph,
				    struct mpk_cubin_stack *(*at)(void *arg, uint32_t symbol),
				    void *arg, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_cubin_take_tool_note - read the texts of .note.nv.tkinfo, and the architecture in its options
 * (FORMAT.md 5)
 * A note in another form is not an error; it is ignored.
 * @data    content of the section
 * @out     tool, options and family_specific are set; views of data */
void mpk_cubin_take_tool_note(struct mpk_span data, struct mpk_cubin *out);

#endif
