/* SPDX-License-Identifier: Apache-2.0 */
/* figure.h - what a kernel needs of a GPU, in numbers that mean the same in every code format
 *
 * What is compared between two builds, and held against a baseline: each number that grows lets fewer
 * threads run at a time, or makes one slower.
 */
#ifndef MPK_CODE_FIGURE_H
#define MPK_CODE_FIGURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "base/strbuf.h"

enum mpk_figure {
	MPK_FIGURE_REGISTERS,         /* of a thread; AMD: vector registers with accumulators */
	MPK_FIGURE_SCALAR_REGISTERS,  /* AMD: of a wave */
	MPK_FIGURE_SPILLED_REGISTERS, /* AMD: kept in memory for want of registers */
	MPK_FIGURE_STACK,             /* bytes of a thread in local memory, spills included */
	MPK_FIGURE_SHARED,            /* bytes of a block, static */
	MPK_FIGURE_CONSTANT,          /* bytes of the constant bank of launches */
	MPK_FIGURE_CODE,              /* bytes of machine code */
	MPK_FIGURE_COUNT
};

struct mpk_figures {
	bool known[MPK_FIGURE_COUNT];
	uint64_t values[MPK_FIGURE_COUNT];
};

struct mpk_figure_row {
	const char *word;  /* in documents and CSV: "stack_bytes"; stable */
	const char *label; /* for people: "stack" */
	bool is_bytes;
	bool is_cost; /* a kernel with more of it is a worse one */
};

/* mpk_figure_row - what a figure is called; static storage */
const struct mpk_figure_row *mpk_figure_row(enum mpk_figure figure);

/* mpk_figure_find - the figure of a word
 * Returns  true and sets *out; false when it is none */
bool mpk_figure_find(struct mpk_span word, enum mpk_figure *out);

/* mpk_figures_set - for the rows of formats: the value of one */
static inline void mpk_figures_set(struct mpk_figures *f, enum mpk_figure figure, uint64_t value)
{
	f->known[figure] = true;
	f->values[figure] = value;
}

/* mpk_figure_put - append a value: "24", "1.5 KiB" */
void mpk_figure_put(enum mpk_figure figure, uint64_t value, struct mpk_strbuf *out);

#endif
