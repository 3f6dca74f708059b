/* SPDX-License-Identifier: Apache-2.0 */
/* --explain: its operands are words, no files */
#include "common/explain.h"

#include "minspect/minspect.h"

int minspect_explain(const struct minspect_options *o)
{
	return mpk_explain(o->explain, o->files, o->file_count, o->json);
}
