/* SPDX-License-Identifier: Apache-2.0 */
/* templates.h - kernels of one file or of many as a table of their templates
 *
 * A library has the same few kernels for many types, sizes and devices: tens of thousands of lines that differ in
 * numbers. What a person looks for stands in one line for each template, from the least to the most that it needs.
 */
#ifndef MPK_LIST_TEMPLATES_H
#define MPK_LIST_TEMPLATES_H

#include "answer/answer.h"
#include "model/kernel_list.h"

struct mpk_templates;

/* mpk_templates_create - an empty table
 * Returns  NULL: memory is out; mpk_templates_destroy in every case */
struct mpk_templates *mpk_templates_create(void);
void mpk_templates_destroy(struct mpk_templates *t);

/* mpk_templates_add - count the kernels of one more file that its filter shows
 * @list    of view; nothing of either is kept
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_templates_add(struct mpk_templates *t, const struct mpk_view *view,
				const struct mpk_kernel_list *list,
				struct mpk_error *err) MPK_MUST_CHECK;

/* By what rows are sorted: of numbers the largest comes first, but of occupancy the lowest. */
enum mpk_templates_order {
	MPK_TEMPLATES_BY_CODE,
	MPK_TEMPLATES_BY_REGISTERS,
	MPK_TEMPLATES_BY_STACK,
	MPK_TEMPLATES_BY_SHARED,
	MPK_TEMPLATES_BY_VARIANTS,
	MPK_TEMPLATES_BY_NAME,
	MPK_TEMPLATES_BY_OCCUPANCY,
	MPK_TEMPLATES_ORDERS
};

/* The words of --sort, in this order. */
extern const char *const mpk_templates_orders[MPK_TEMPLATES_ORDERS];

/* How the table is printed. */
struct mpk_templates_form {
	const struct mpk_templates *table;
	enum mpk_templates_order order;
	size_t top;       /* rows at most; 0: as many as a screen has room for */
	const char *file; /* for the command that is named; not escaped */
	bool many;        /* there were several files */
};

/* Of struct mpk_templates_form.
 * mpk_answer_templates - how many kernels there are, and a line for each template; .line is the count alone
 * mpk_answer_spills - a line for each kernel with a stack: what of it is known to be spills, and what may be; in JSON "spills",
 *          of the page alone, which has the first `top` of them, and "with_stack", how many there are */
extern const struct mpk_answer mpk_answer_templates, mpk_answer_spills;

/* mpk_templates_rows - how many kernels, one for each device, are in the table */
size_t mpk_templates_rows(const struct mpk_templates *t);

#endif
