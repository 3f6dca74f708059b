/* SPDX-License-Identifier: Apache-2.0 */
/* code.h - what differs between two runs of code, or two files of a payload */
#ifndef MPK_DIFF_INTERNAL_CODE_H
#define MPK_DIFF_INTERNAL_CODE_H

#include "code/info.h"
#include "diff/diff.h"
#include "model/kernel_list.h"

/* One side: bytes, and what is known of them as code. */
struct mpk_diff_code_side {
	struct mpk_span bytes;
	const struct mpk_code_info *code; /* NULL: nobody read them as code */
};

/* mpk_diff_code - changes of two texts line by line, of cubins by section, of fatbins by image, of SPIR-V
 * by whether only names and lines changed; of anything else by bytes
 * @what, @name   the thing that has the code: "part", "kernels.ptx" */
void mpk_diff_code(struct mpk_differ *d, const char *what, struct mpk_span name,
		   struct mpk_diff_code_side a, struct mpk_diff_code_side b);

/* mpk_diff_kernel - changes of the figures of one kernel, and of its machine code
 * mpk_diff_kernels - changes of the figures of kernels that both lists have, and of their machine code */
void mpk_diff_kernel(struct mpk_differ *d, const struct mpk_listed_kernel *a,
		     const struct mpk_listed_kernel *b);
void mpk_diff_kernels(struct mpk_differ *d, const struct mpk_kernel_list *a,
		      const struct mpk_kernel_list *b);

#endif
