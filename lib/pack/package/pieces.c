/* SPDX-License-Identifier: Apache-2.0 */
/* TVM's OpenCL loader compiles each kernel of a module by itself: it splits the source at
 * lines "// Function: NAME" (SplitKernels in src/runtime) and wants one part for each kernel. */
#include "package/internal/package.h"

#include "sourcecode/sourcecode.h"

void mpk_pieces_put(struct mpk_rope *rope, struct mpk_span kernel, struct mpk_span source)
{
	while (source.len && source.data[source.len - 1] == 0)
		source.len--;
	mpk_rope_put_bytes(rope, mpk_span_str(MPK_SOURCE_CODE_DELIMITER));
	mpk_rope_put_bytes(rope, kernel);
	mpk_rope_put_bytes(rope, mpk_span_str("\n"));
	mpk_rope_put_view(rope, source);
	if (source.len && source.data[source.len - 1] != '\n')
		mpk_rope_put_bytes(rope, mpk_span_str("\n"));
}
