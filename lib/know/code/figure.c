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

bool mpk_figures_differ(const struct mpk_figures *a, const struct mpk_figures *b,
			enum mpk_figure figure)
{
	struct mpk_figure_value x = a->values[figure], y = b->values[figure];

	return x.state && y.state && (x.state != y.state || x.number != y.number);
}

void mpk_figure_put(enum mpk_figure figure, struct mpk_figure_value value, struct mpk_strbuf *out)
{
	if (value.state == MPK_FIGURE_KNOWN)
		mpk_strbuf_printf(out, "%" PRIu64 "%s", value.number,
				  rows[figure].is_bytes ? " B" : "");
	else
		mpk_strbuf_puts(out, "unknown");
}

void mpk_figure_put_percent(struct mpk_figure_value before, struct mpk_figure_value after,
			    struct mpk_strbuf *out)
{
	if (before.number && after.state == MPK_FIGURE_KNOWN)
		mpk_strbuf_printf(out, "%+.1f%%",
				  100 * ((double)after.number / (double)before.number - 1));
}

void mpk_figure_json(struct mpk_json *j, struct mpk_json_at *at, const char *key,
		     struct mpk_figure_value value)
{
	if (value.state == MPK_FIGURE_KNOWN)
		mpk_json_u64(j, at, key, value.number);
	else if (value.state == MPK_FIGURE_UNKNOWN)
		mpk_json_null(j, at, key);
}
