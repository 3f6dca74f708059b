/* SPDX-License-Identifier: Apache-2.0 */
#include "code/figure.h"

#include <inttypes.h>

static const struct mpk_figure_row rows[] = {
	[MPK_FIGURE_REGISTERS] = { "registers", "registers", false, true },
	[MPK_FIGURE_SCALAR_REGISTERS] = { "scalar_registers", "scalar registers", false, true },
	[MPK_FIGURE_SPILLED_REGISTERS] = { "spilled_registers", "spilled registers", false, true },
	[MPK_FIGURE_STACK] = { "stack_bytes", "stack", true, true },
	[MPK_FIGURE_SHARED] = { "shared_bytes", "shared", true, true },
	[MPK_FIGURE_CONSTANT] = { "constant_bytes", "constant", true, false },
	[MPK_FIGURE_CODE] = { "code_bytes", "code", true, true },
};

const struct mpk_figure_row *mpk_figure_row(enum mpk_figure figure)
{
	return &rows[figure];
}

bool mpk_figure_find(struct mpk_span word, enum mpk_figure *out)
{
	for (unsigned i = 0; i < MPK_FIGURE_COUNT; i++) {
		if (mpk_span_is(word, rows[i].word)) {
			*out = (enum mpk_figure)i;
			return true;
		}
	}
	return false;
}

void mpk_figure_put(enum mpk_figure figure, uint64_t value, struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, "%" PRIu64 "%s", value, rows[figure].is_bytes ? " B" : "");
}
